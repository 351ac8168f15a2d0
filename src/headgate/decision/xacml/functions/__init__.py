"""The functions of XACML, one family per module; `registry` finds them by identifier."""
