"""How users, streams and what they do with them are named in XACML: standard ids where there are some, else our own."""

from __future__ import annotations

from typing import Final

from headgate.decision.xacml.identifiers import XACML_1, XACML_2

SUBJECT_ID: Final = XACML_1 + "subject:subject-id"
SUBJECT_ROLE: Final = XACML_2 + "subject:role"
ACTION_ID: Final = XACML_1 + "action:action-id"
"""A privilege: `read`, `assist`, or an aggregate function."""

ATTRIBUTE_ID: Final = "headgate:resource:attribute"
"""A column of the stream that `resource-id` names."""

PROFILE: Final = "headgate:subject:"
"""Before the name of an attribute of a user's profile."""

ENVIRONMENT_NAME: Final = "headgate:environment:"
"""Before the name of an attribute of the environment."""
