"""What packages export is a promise: it changes here, on purpose, or not at all."""

from __future__ import annotations

import ast
import importlib
from pathlib import Path

import pytest
from repository_tree import module_name, module_paths, tree_of

SURFACE = {
    "headgate": """
        ConflictError FileError GoneError HeadgateError InputError ParseError Place StoreError TypeMismatchError
        UnknownNameError WindowError
    """,
    "headgate.decision.xacml": """
        Assignment Attribute AttributeFinder Attributes Clock DENY_OVERRIDES DENY_UNLESS_PERMIT Decision Effect
        Hierarchy MissingAttribute ONLY_ONE_APPLICABLE Obligation PERMIT_OVERRIDES Pdp Policy PolicyIdentifier
        PolicySet RawValue Request Response Result Status build_request evaluate_files read_json_request
        read_json_request_file read_json_response read_policy read_policy_file read_request read_request_file
        read_response validate_file write_json_request write_json_response write_policy write_request
        write_request_v2 write_response write_response_v2
    """,
    "headgate.decision.timeline": "Audience Cell RoleColumn Sight Steps Timeline Tuples Version from_json to_json",
    "headgate.delivery": """
        AccessRequest Answer Client Deliver Duties DutyRecord EnforcementPoint Engine Handle PolicyBook Proxy
        ReferenceEngine Running Subscription Verdict
    """,
    "headgate.guard": """
        Given Guard Limits Notification Outcome Settings Source Untold Used catalog_of describe explain session
        table_schema without_dropped
    """,
    "headgate.network": """
        AuthorisationClass CostModel Edge Kind MergedNetwork Network NetworkView Pruner Switch SwitchPunctuation
        SwitchState SwitchType Vertex classes_of common_prefixes cost explain_network is_common_prefix is_shared merge
        merge_groups place_shields place_switches restore_switches shared_vertices to_document to_dot to_mermaid to_svg
        view_network with_query without_query worth_materialising
    """,
    "headgate.policy.store": "Catalog Change Delta Kind Role Snapshot Version",
    "headgate.simulator": """
        Charge CostModel Experiment PRINTED_COSTS Parameters Point PointResult Sample Totals compare generate measure
        points_of prepare_folder run_points to_document write_results
    """,
}
"""The packages that export names, and the names. All others are used module by module."""

PACKAGES = [path for path in module_paths() if path.name == "__init__.py"]


@pytest.mark.parametrize("path", PACKAGES, ids=module_name)
def test_a_package_exports_what_is_pinned(path: Path) -> None:
    pinned = SURFACE.get(module_name(path), "").split()
    assert sorted(exported(path)) == sorted(pinned)


@pytest.mark.parametrize("name", SURFACE)
def test_exported_names_exist(name: str) -> None:
    module = importlib.import_module(name)
    missing = [one for one in module.__all__ if not hasattr(module, one)]
    assert missing == []


def exported(path: Path) -> list[str]:
    """The names a package binds without an underscore; `__all__` must say the same."""
    bound: list[str] = []
    declared: list[str] = []
    for node in tree_of(path).body:
        if isinstance(node, ast.Import | ast.ImportFrom) and getattr(node, "module", None) != "__future__":
            bound.extend(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign):
            declared = list(ast.literal_eval(node.value))
    assert sorted(bound) == sorted(declared), f"{module_name(path)}: __all__ and the imports differ"
    return bound
