"""XACML 3.0 and 2.0: policies in, requests in, decisions out.

A policy's way through this folder: `safe_xml` → `read_policy` → `syntax` → `compile_policy` → `index` → `pdp`.
A request's way: `read_request` or `json_request` → `multiple` → `context` → `pdp` → `write_response` or
`json_response`.
"""

from headgate.decision.xacml.combining import (
    DENY_OVERRIDES,
    DENY_UNLESS_PERMIT,
    ONLY_ONE_APPLICABLE,
    PERMIT_OVERRIDES,
)
from headgate.decision.xacml.context import AttributeFinder, Clock
from headgate.decision.xacml.files import evaluate_files, validate_file
from headgate.decision.xacml.json_request import read_json_request, read_json_request_file, write_json_request
from headgate.decision.xacml.json_response import read_json_response, write_json_response
from headgate.decision.xacml.multiple import Hierarchy
from headgate.decision.xacml.outcome import (
    Assignment,
    Decision,
    Effect,
    MissingAttribute,
    Obligation,
    PolicyIdentifier,
    Status,
)
from headgate.decision.xacml.pdp import Pdp
from headgate.decision.xacml.read_policy import read_policy, read_policy_file
from headgate.decision.xacml.read_request import read_request, read_request_file
from headgate.decision.xacml.read_response import read_response
from headgate.decision.xacml.request import Attribute, Attributes, RawValue, Request, build_request
from headgate.decision.xacml.response import Response, Result
from headgate.decision.xacml.syntax import Policy, PolicySet
from headgate.decision.xacml.write_policy import write_policy
from headgate.decision.xacml.write_request import write_request, write_request_v2
from headgate.decision.xacml.write_response import write_response, write_response_v2

__all__ = [
    "DENY_OVERRIDES",
    "DENY_UNLESS_PERMIT",
    "ONLY_ONE_APPLICABLE",
    "PERMIT_OVERRIDES",
    "Assignment",
    "Attribute",
    "AttributeFinder",
    "Attributes",
    "Clock",
    "Decision",
    "Effect",
    "Hierarchy",
    "MissingAttribute",
    "Obligation",
    "Pdp",
    "Policy",
    "PolicyIdentifier",
    "PolicySet",
    "RawValue",
    "Request",
    "Response",
    "Result",
    "Status",
    "build_request",
    "evaluate_files",
    "read_json_request",
    "read_json_request_file",
    "read_json_response",
    "read_policy",
    "read_policy_file",
    "read_request",
    "read_request_file",
    "read_response",
    "validate_file",
    "write_json_request",
    "write_json_response",
    "write_policy",
    "write_request",
    "write_request_v2",
    "write_response",
    "write_response_v2",
]
