"""Policy files: read, and written back so that they read as the same policies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from headgate.model.document import Document, parse_document, read_document, validate
from headgate.model.expression.print import to_text
from headgate.model.instant import format_timestamp
from headgate.model.schema import StreamCatalog
from headgate.policy.entry import PolicyFile
from headgate.policy.model import Defaults, Mask, MaskKind, NamedEvent, Policy, PolicySet, Subject
from headgate.policy.resolve import resolve_file


def read_policy_file(path: Path, catalog: StreamCatalog) -> PolicySet:
    """The policies of a file."""
    return policies_from(read_document(path), catalog)


def parse_policies(text: str, catalog: StreamCatalog, file: str = "<text>") -> PolicySet:
    """The policies of a YAML text."""
    return policies_from(parse_document(text, file), catalog)


def policies_from(document: Document, catalog: StreamCatalog) -> PolicySet:
    """The policies of a parsed document."""
    return resolve_file(validate(PolicyFile, document), catalog, document)


def print_policies(policies: PolicySet) -> str:
    """The policy set as YAML."""
    return yaml.safe_dump(policies_to_json(policies), sort_keys=False, allow_unicode=True, width=120)


def policies_to_json(policies: PolicySet) -> dict[str, Any]:
    """The policy set as plain values, with the keys of the YAML file."""
    content: dict[str, Any] = {"version": 1}
    if policies.defaults != Defaults():
        content["defaults"] = {
            "on_assist_denied": policies.defaults.on_assist_denied.value,
            "disclosure": policies.defaults.disclosure.value,
        }
    if policies.events:
        content["events"] = {name: _event(event) for name, event in policies.events.items()}
    content["policies"] = [policy_to_json(policy) for policy in policies.policies]
    return content


def _event(event: NamedEvent) -> dict[str, Any]:
    moments = {"start": event.start, "end": event.end}
    content: dict[str, Any] = {key: format_timestamp(at) for key, at in moments.items() if at is not None}
    return content if event.target is None else content | {"target": event.target}


def policy_to_json(policy: Policy) -> dict[str, Any]:
    """One policy as plain values; keys that say nothing are left out."""
    subjects = [_subject(subject) for subject in policy.subjects]
    target: dict[str, Any] = {"streams": list(policy.streams)}
    if policy.attributes is not None:
        target["attributes"] = list(policy.attributes)
    if policy.where is not None:
        target["where"] = to_text(policy.where, qualified=policy.joint)
    during = {"from": policy.during.start, "to": policy.during.end}
    window = {"min_size": policy.window.min_size, "min_step": policy.window.min_step}
    content: dict[str, Any] = {
        "id": policy.id,
        "subject": subjects[0] if len(subjects) == 1 else subjects,
        "object": target,
        "allow": list(policy.allow),
        "deny": list(policy.deny),
        "during": {key: _moment(to_text(at)) for key, at in during.items() if at is not None},
        "window": {key: str(extent) for key, extent in window.items() if extent is not None},
        "min_group": policy.min_group,
        "mask": mask_text(policy.mask) if policy.mask else None,
        "when": to_text(policy.when) if policy.when is not None else None,
    }
    return {key: value for key, value in content.items() if value not in (None, [], {})}


def _subject(subject: Subject) -> dict[str, Any]:
    named = {"user": subject.user, "role": subject.role}
    return {key: value for key, value in named.items() if value is not None} | dict(subject.profile)


def _moment(text: str) -> str:
    # `TIMESTAMP '...'` is how an expression prints a time; a file says it plainly.
    return text.removeprefix("TIMESTAMP '").removesuffix("'") if text.startswith("TIMESTAMP '") else text


def mask_text(mask: Mask) -> str:
    """A mask as it is written."""
    if mask.kind is MaskKind.EXPRESSION:
        assert mask.expression is not None
        text = to_text(mask.expression)
        return f"({text})" if text.lower() in set(MaskKind) else text  # a column called `hash`, not the mask
    return mask.kind.value
