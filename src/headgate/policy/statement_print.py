"""From policies to GRANT and DENY statements that read back as the same policies."""

from __future__ import annotations

import re

from headgate.errors import InputError
from headgate.model.expression.nodes import Expression
from headgate.model.expression.print import quote_text, to_text
from headgate.model.subject import ProfileValue
from headgate.policy.model import Mask, Policy, PolicySet, Subject, WindowCondition

# A dash may stand inside a bare name (`own-platoon`), as most ids of policies are written like that.
_BARE_NAME = re.compile(r"(?!.*__)(?!.{100})[A-Za-z_][A-Za-z0-9_]*(-[A-Za-z0-9_]+)*")
_BARE_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\.[A-Za-z_][A-Za-z0-9_]*")
_KEYWORDS = frozenset(
    (
        *("and", "as", "deny", "during", "false", "from", "grant", "group", "mask", "min", "null", "on", "policy"),
        *("profile", "revoke", "role", "size", "step", "stream", "table", "to", "true", "user", "when", "where"),
        "window",
    )
)
"""Words of the grammar; as names they are printed in quotes so that nobody has to wonder."""


def print_statements(policies: PolicySet) -> str:
    """Every policy of the set; its events and defaults have no spelling as statements and stay with the set."""
    return "".join(f"{statement};\n" for policy in policies.policies for statement in print_policy(policy))


def print_policy(policy: Policy) -> list[str]:
    """One statement, or two with one id where a policy both allows and denies."""
    return [f"{statement} AS {name_text(policy.id)}" for statement in print_content(policy)]


def print_content(policy: Policy) -> list[str]:
    """The statements without their id, from which an id can be derived."""
    sides = (("GRANT", policy.allow), ("DENY", policy.deny))
    rest = " ".join(_clauses(policy))
    attributes = "" if policy.attributes is None else f" ({', '.join(map(_attribute, policy.attributes))})"
    return [f"{word} {', '.join(privileges).upper()}{attributes} {rest}" for word, privileges in sides if privileges]


def _clauses(policy: Policy) -> list[str]:
    clauses = [f"ON STREAM {', '.join(map(name_text, policy.streams))}"]
    if policy.where is not None:
        clauses.append(f"WHERE {_expression(policy.where, policy)}")
    clauses.append(f"TO {', '.join(map(_subject, policy.subjects))}")
    if policy.during.start is not None or policy.during.end is not None:
        clauses.append(f"DURING ({_moment(policy.during.start)}, {_moment(policy.during.end)})")
    clauses += _window(policy.window)
    if policy.min_group is not None:
        clauses.append(f"MIN GROUP {policy.min_group}")
    if policy.mask is not None:
        clauses.append(f"MASK {_mask(policy.mask, policy)}")
    if policy.when is not None:
        clauses.append(f"WHEN ({to_text(policy.when)})")
    return clauses


def name_text(name: str) -> str:
    """A name as it can stand in a statement: in quotes where it would not be read back as that name.

    >>> name_text("own-platoon"), name_text("role"), name_text('a "b"')
    ('own-platoon', '"role"', '"a ""b""\"')
    """
    if _BARE_NAME.fullmatch(name) and name.lower() not in _KEYWORDS:
        return name
    return '"' + name.replace('"', '""') + '"'


def _attribute(attribute: str) -> str:
    return attribute if _BARE_PATH.fullmatch(attribute) else name_text(attribute)


def _subject(subject: Subject) -> str:
    named = (("USER", subject.user), ("ROLE", subject.role))
    parts = [f"{word} {name_text(name)}" for word, name in named if name is not None]
    for name, value in subject.profile:
        if name in ("user", "role"):
            raise InputError(
                f"a profile attribute called `{name}` cannot be written in a policy", hint="give it another name"
            )
        parts.append(f"PROFILE {name_text(name)} = {_literal(value)}")
    if not parts:
        raise InputError("a subject that names nobody cannot be written", hint="name a user, a role or an attribute")
    return " AND ".join(parts)


def _literal(value: ProfileValue) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return quote_text(value)
    if value is None or not -(10**400) < value < 10**400:  # nor does infinity lie between
        raise InputError(f"the value `{value}` of a profile cannot be written", hint="write a text or a number")
    return repr(value)


def _expression(expression: Expression, policy: Policy) -> str:
    if policy.joint and any(stream.lower() == "self" for stream in policy.streams):
        # `self.x` would read back as the profile's x.
        raise InputError("a condition on a stream called `self` and others cannot be written", hint="rename the stream")
    return to_text(expression, qualified=policy.joint)


def _moment(moment: Expression | None) -> str:
    return "*" if moment is None else to_text(moment)


def _window(window: WindowCondition) -> list[str]:
    parts = (("SIZE", window.min_size), ("STEP", window.min_step))
    text = ", ".join(f"{word} {extent}" for word, extent in parts if extent is not None)
    return [f"WINDOW ({text})"] if text else []


def _mask(mask: Mask, policy: Policy) -> str:
    # In parentheses, so that a column called `hash` is not taken for the mask of that name.
    return mask.kind.value if mask.expression is None else f"({_expression(mask.expression, policy)})"
