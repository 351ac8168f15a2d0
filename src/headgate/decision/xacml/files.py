"""From files to a decision in one call, for command lines and conformance tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from headgate.decision.xacml.context import AttributeFinder
from headgate.decision.xacml.datatypes import DATA_TYPES
from headgate.decision.xacml.multiple import Hierarchy
from headgate.decision.xacml.pdp import Pdp
from headgate.decision.xacml.read_policy import read_policy_file
from headgate.decision.xacml.read_request import read_request_file
from headgate.decision.xacml.response import Result
from headgate.decision.xacml.syntax import Policy, PolicySet
from headgate.errors import InputError


def evaluate_files(
    policy_paths: Sequence[str | Path],
    request_path: str | Path,
    *,
    roots: int = 1,
    pip: Sequence[Mapping[str, str]] | None = None,
    hierarchy: Hierarchy | None = None,
) -> dict[str, Any]:
    """Decide the request of one file by the policies of others.

    The first `roots` policies are evaluated, the others are there to be referred to. `pip` lists attributes that the
    request may lack, each with `category`, `id`, `type` and `value`; `hierarchy` gives the children of resources.
    Answers `{"decision": ..., "obligations": [ids], "advice": [ids]}`, or `{"results": [...]}` if several decisions
    were asked for, or `{"rejected": True, "error": ...}` if a root policy or the request is not valid.
    """
    try:
        pdp = Pdp.from_files(
            policy_paths[:roots], references=policy_paths[roots:], finder=_finder(pip), hierarchy=hierarchy
        )
        request = read_request_file(request_path)
    except InputError as problem:
        return {"rejected": True, "error": str(problem)}
    results = [_summary(result) for result in pdp.decide(request).results]
    return results[0] if len(results) == 1 else {"results": results}


def validate_file(path: str | Path) -> Policy | PolicySet:
    """The policy in a file, after checking all that can be checked without a request; InputError if it is not valid.

    References to other policies are not followed: they may live elsewhere.
    """
    policy = read_policy_file(path)
    Pdp([policy])
    return policy


def _summary(result: Result) -> dict[str, Any]:
    return {
        "decision": result.decision.public_name,
        "obligations": [obligation.id for obligation in result.obligations],
        "advice": [advice.id for advice in result.advice],
    }


def _finder(attributes: Sequence[Mapping[str, str]] | None) -> AttributeFinder | None:
    if not attributes:
        return None

    def find(category: str, attribute_id: str, data_type: str, issuer: str | None) -> Sequence[str]:
        if issuer is not None:
            return ()
        return [
            attribute["value"]
            for attribute in attributes
            if (attribute["category"], attribute["id"]) == (category, attribute_id)
            and DATA_TYPES.get(attribute["type"]) is DATA_TYPES.get(data_type)
        ]

    return find
