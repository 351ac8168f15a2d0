"""The package as users see it: what it exports, and the examples in its documentation."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import headgate.decision.xacml as xacml

EXPORTED = """
    Assignment Attribute AttributeFinder Attributes Clock DENY_OVERRIDES DENY_UNLESS_PERMIT Decision Effect Hierarchy
    MissingAttribute ONLY_ONE_APPLICABLE Obligation PERMIT_OVERRIDES Pdp Policy PolicyIdentifier PolicySet RawValue
    Request Response Result Status build_request evaluate_files read_json_request read_json_request_file
    read_json_response read_policy read_policy_file read_request read_request_file read_response validate_file
    write_json_request write_json_response write_policy write_request write_request_v2 write_response
    write_response_v2
"""


def test_the_exported_names_are_these_and_exist() -> None:
    assert sorted(xacml.__all__) == sorted(EXPORTED.split())
    assert all(hasattr(xacml, name) for name in xacml.__all__)


def test_the_examples_in_docstrings_hold() -> None:
    attempted = 0
    for module in pkgutil.walk_packages(xacml.__path__, xacml.__name__ + "."):
        outcome = doctest.testmod(importlib.import_module(module.name))
        assert outcome.failed == 0, module.name
        attempted += outcome.attempted
    assert attempted > 10


def test_no_module_imports_more_of_headgate_than_it_needs() -> None:
    for module in pkgutil.walk_packages(xacml.__path__, xacml.__name__ + "."):
        names = vars(importlib.import_module(module.name)).values()
        homes = {getattr(value, "__module__", None) or "" for value in names}
        foreign = {home for home in homes if home.startswith("headgate.") and not home.startswith(xacml.__name__)}
        assert foreign <= {"headgate.errors", "headgate.model.safe_xml"}, module.name
