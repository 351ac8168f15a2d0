"""eXACML+ on top of XACML: obligations about streams, and grants turned into XACML and back."""
