"""The values of XACML's data types that Python has no type for, one kind per module."""
