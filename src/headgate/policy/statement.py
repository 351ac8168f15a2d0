"""GRANT, DENY and REVOKE: policies as statements, the third spelling beside YAML and XACML.

    GRANT AVG (Pos) ON STREAM Position WHERE Platoon <> self.Platoon TO ROLE Doctor
        DURING (start(a), end(a)) WINDOW (SIZE 1 HOUR, STEP 1 HOUR) AS average-of-the-others;
    REVOKE POLICY average-of-the-others;

A text is parsed as a whole, then applied as a whole: a set of policies is never left half changed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from pydantic import ValidationError

from headgate.errors import InputError, ParseError, Place, UnknownNameError
from headgate.model.closest import closest
from headgate.model.privilege import COMPUTE, listed_by
from headgate.model.schema import StreamCatalog
from headgate.policy.entry import PolicyEntry
from headgate.policy.model import NamedEvent, Policy, PolicySet, Subject
from headgate.policy.resolve import resolve_policy
from headgate.policy.statement_parse import StatementReader
from headgate.policy.statement_print import print_content, print_policy, print_statements
from headgate.policy.statement_tokens import Source, cut_statements, statement_tokens

__all__ = [
    "Grant",
    "Revoke",
    "RevokePolicy",
    "Statement",
    "apply_statements",
    "parse_statements",
    "print_policy",
    "print_statements",
]

_NOWHERE = Place()


@dataclass(frozen=True)
class Grant:
    """A policy to add: from GRANT, DENY, or both with one id."""

    policy: Policy
    place: Place = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class RevokePolicy:
    """A policy to remove, whatever it says."""

    id: str
    place: Place = field(default=_NOWHERE, compare=False)


@dataclass(frozen=True)
class Revoke:
    """Privileges to take away on some cells, from the policies with exactly these subjects.

    It takes back what was allowed; what was denied stays denied, as a REVOKE should not open anything.
    """

    privileges: tuple[str, ...]
    cells: frozenset[tuple[str, str]]
    subjects: tuple[Subject, ...]
    place: Place = field(default=_NOWHERE, compare=False)


Statement = Grant | Revoke | RevokePolicy


def parse_statements(
    text: str, catalog: StreamCatalog, events: Mapping[str, NamedEvent] | None = None, file: str = "<text>"
) -> list[Statement]:
    """Read statements; those with the same id that differ only in what is allowed and denied are one."""
    source = Source(text, file)
    statements: list[Statement] = []
    joinable: dict[str, int] = {}
    known = dict(events or {})
    for tokens in cut_statements(statement_tokens(source)):
        statement = _resolve(StatementReader(source, tokens), catalog, known)
        if not isinstance(statement, Grant):
            joinable = {}  # what stands before a REVOKE is done when it comes
        elif (earlier := joinable.get(statement.policy.id)) is not None:
            joined = _join(statements[earlier], statement)
            if joined is not None:
                statements[earlier] = joined
                continue
        else:
            joinable[statement.policy.id] = len(statements)
        statements.append(statement)
    return statements


def _resolve(read: StatementReader, catalog: StreamCatalog, events: dict[str, NamedEvent]) -> Statement:
    place = read.place()
    if read.verb == "REVOKE POLICY":
        return RevokePolicy(read.content["id"], place)
    # A statement without an id is resolved under its verb, which its derived id then starts with.
    named = {"id": read.verb.lower()} | read.content
    try:
        policy = resolve_policy(PolicyEntry.model_validate(named), catalog, events, read.place)
    except ValidationError as error:
        raise _complaint(error, read) from None
    if read.verb == "REVOKE":
        return Revoke(policy.allow, policy.cells, policy.subjects, place)
    return Grant(policy if "id" in read.content else _identified(policy), place)


def _complaint(error: ValidationError, read: StatementReader) -> ParseError:
    detail = error.errors()[0]
    message, _, hint = str(detail["msg"]).removeprefix("Value error, ").partition("; ")
    what = "" if message.startswith("`") else f"`{'.'.join(map(str, detail['loc']))}`: "
    return ParseError(
        f"{what}{message[0].lower()}{message[1:]}", place=read.place(*detail["loc"]), hint=hint or "correct the value"
    )


def _identified(policy: Policy) -> Policy:
    """The policy with an id derived from what it says, so that saying it twice changes nothing."""
    content = "\n".join(print_content(policy))
    return replace(policy, id=f"{policy.id}-{hashlib.sha256(content.encode()).hexdigest()[:10]}")


def _join(earlier: Statement, later: Grant) -> Grant | None:
    """Both as one policy, or None where they differ in more than privileges."""
    assert isinstance(earlier, Grant)
    first, second = earlier.policy, later.policy
    if not _same(replace(first, allow=(), deny=()), replace(second, allow=(), deny=())):
        return None
    allow, deny = (tuple(dict.fromkeys(a + b)) for a, b in ((first.allow, second.allow), (first.deny, second.deny)))
    return replace(earlier, policy=replace(first, allow=allow, deny=deny))


def _same(first: Policy, second: Policy) -> bool:
    # To Python a profile that says 1 equals one that says true; to a policy it does not.
    return first == second and repr(first.subjects) == repr(second.subjects)


def apply_statements(policies: PolicySet, statements: Iterable[Statement]) -> PolicySet:
    """The set after these statements, in order; the one given is not changed."""
    by_id = {policy.id: policy for policy in policies.policies}
    for statement in statements:
        match statement:
            case Grant(policy, place):
                if not _same(by_id.setdefault(policy.id, policy), policy):
                    raise InputError(
                        f"there is another policy with the id `{policy.id}`",
                        place=place,
                        hint="use another id, or `REVOKE POLICY` the other first",
                    )
            case RevokePolicy(identifier, place):
                if by_id.pop(identifier, None) is None:
                    raise UnknownNameError(
                        f"there is no policy `{identifier}`", place=place, hint=closest(identifier, by_id)
                    )
            case Revoke():
                by_id = _revoked(by_id, statement)
    return replace(policies, policies=tuple(by_id.values()))


def _revoked(by_id: dict[str, Policy], revoke: Revoke) -> dict[str, Policy]:
    """The policies less what is revoked. Nothing of it may be left over, or the statement would only seem to work."""
    taken = frozenset(one for privilege in revoke.privileges for one in listed_by(privilege))
    wanted = _subject_keys(revoke.subjects)
    found: set[str] = set()
    result = dict(by_id)
    for policy in by_id.values():
        if _subject_keys(policy.subjects) != wanted or not policy.cells & revoke.cells:
            continue
        allow, removed = _without(policy.allow, taken)
        implied = replace(policy, allow=allow).allowed & taken
        if implied:
            raise InputError(
                f"`{min(implied)}` follows from `read`, which policy `{policy.id}` allows",
                place=revoke.place,
                hint=f"revoke `read` as well, or write `DENY {min(implied).upper()} ...`",
            )
        if removed:
            found |= removed
            del result[policy.id]
            for part in _parts(policy, allow, revoke.cells, result):
                result[part.id] = part
    missing = [privilege for privilege in revoke.privileges if not listed_by(privilege) & found]
    if missing:
        raise InputError(
            f"nothing to revoke: no policy with exactly these subjects allows `{missing[0]}` there",
            place=revoke.place,
            hint=_near(by_id, revoke),
        )
    return result


def _subject_keys(subjects: tuple[Subject, ...]) -> frozenset[object]:
    return frozenset(
        (one.user, one.role, frozenset((name, isinstance(value, bool), value) for name, value in one.profile))
        for one in subjects
    )


def _without(allow: tuple[str, ...], taken: frozenset[str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """What is left of a list of privileges, and what was taken; `compute` stands for every aggregate."""
    spelt = [
        one
        for privilege in allow
        for one in (sorted(listed_by(COMPUTE)) if privilege == COMPUTE and listed_by(COMPUTE) & taken else [privilege])
    ]
    return tuple(dict.fromkeys(one for one in spelt if one not in taken)), frozenset(spelt) & taken


def _parts(
    policy: Policy, allow: tuple[str, ...], cells: frozenset[tuple[str, str]], others: dict[str, Policy]
) -> Iterable[Policy]:
    """The policy on the cells that keep all of `allow`, and what is left of it on the others."""
    outside = policy.cells - cells
    if outside:
        yield _narrowed(policy, outside)
    if allow or policy.deny:
        rest = replace(policy, allow=allow)
        if outside:
            free = next(one for n in count(2) if (one := f"{policy.id}-{n}") not in others)
            rest = replace(_narrowed(rest, policy.cells & cells), id=free)
        yield rest


def _narrowed(policy: Policy, cells: frozenset[tuple[str, str]]) -> Policy:
    spelt = (f"{stream}.{column}" if policy.joint else column for stream, column in cells)
    return replace(policy, cells=cells, attributes=tuple(sorted(spelt)))


def _near(by_id: dict[str, Policy], revoke: Revoke) -> str:
    near = [policy.id for policy in by_id.values() if policy.cells & revoke.cells]
    if not near:
        return "no policy speaks of these cells"
    return f"policy `{near[0]}` speaks of these cells: name the subjects and privileges that it does"
