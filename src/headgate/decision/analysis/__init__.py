"""Policy analysis: what is wrong with a set of policies, what changes between two, and who can use a column."""
