"""Policies whose condition can never hold: contradictions, empty periods, and conditions no user's profile can meet."""

from __future__ import annotations

from collections.abc import Iterator

from headgate.decision.analysis.condition import Viewer, profile_names
from headgate.decision.analysis.context import Context
from headgate.decision.analysis.finding import Finding, Kind, Severity
from headgate.decision.solver import Answer
from headgate.errors import InputError
from headgate.model.expression.print import to_text
from headgate.model.subject import User
from headgate.policy.model import Policy


def never_holds(context: Context) -> Iterator[Finding]:
    """One finding for each policy that can never apply, and one for each that cannot apply to any user there is."""
    for policy in context.material.all:
        answers = {deny: _can_hold(context, policy, deny) for deny in _effects(policy)}
        never = [deny for deny, answer in answers.items() if answer is Answer.NO]
        if never:
            yield _impossible(context, policy, never)
        elif Answer.UNKNOWN in answers.values():
            yield from context.undecided(f"whether `{policy.id}` can ever hold", policy)
        # What nobody's profile has is reported on its own (`unknown_names.py`).
        names = profile_names(policy)
        if not never and context.material.users is not None and names and names <= _attributes(context):
            yield from _for_users(context, policy)


def _effects(policy: Policy) -> list[bool]:
    """Whether it denies, for each of the two things a policy may do: they can hold at different times."""
    return [deny for deny, given in ((False, policy.allow), (True, policy.deny)) if given]


def _can_hold(context: Context, policy: Policy, deny: bool) -> Answer:
    return context.reasoner.together(context.known(policy, deny)).answer


def _attributes(context: Context) -> frozenset[str]:
    return frozenset(name.lower() for user in (context.material.users or {}).values() for name in user.profile)


def impossible(context: Context, policy: Policy) -> bool:
    """Whether the policy can never allow anything, so that nothing else is worth saying of its allow."""
    return _can_hold(context, policy, deny=False) is Answer.NO


def _impossible(context: Context, policy: Policy, never: list[bool]) -> Finding:
    for key, part in context.conditions.parts(policy, deny=never[0]).items():
        if part is not None and context.reasoner.together(context.reasoner.know(part)).answer is Answer.NO:
            what = _what(key, policy)
            break
    else:
        what = "`where`, `during` and `when` can never hold together"
    verbs = " and ".join("denies" if deny else "allows" for deny in never)
    message = f"{what}, so `{policy.id}` {verbs} nothing"
    return context.finding(Severity.ERROR, Kind.NEVER_HOLDS, message, policy)


def _what(key: str, policy: Policy) -> str:
    if key == "during":
        return "the period is empty"
    expression = policy.where if key == "where" else policy.when
    assert expression is not None
    return f"`{key}` can never hold: {to_text(expression, qualified=policy.joint)}"


def _for_users(context: Context, policy: Policy) -> Iterator[Finding]:
    """Whether the policy can apply to any of the users it concerns, by their profiles."""
    users = context.profiles(context.material.concerned(policy), policy)
    if not users:
        return
    for user in users:
        yield from _not_understood(context, policy, user)
    answers = [_answer(context, policy, user, deny) for user in users for deny in _effects(policy)]
    if all(answer is Answer.NO for answer in answers):
        message = f"`{policy.id}` can hold for none of the users it concerns, as their profiles are"
        yield context.finding(Severity.WARNING, Kind.NEVER_HOLDS, message, policy)


def _not_understood(context: Context, policy: Policy, user: User) -> Iterator[Finding]:
    try:
        context.conditions.whole(policy, Viewer(user))
    except InputError as error:
        effects = [text for text, given in _EFFECTS if getattr(policy, given)]
        message = (
            f"for `{user.id}` the condition of `{policy.id}` has no meaning ({error.message}): {' and '.join(effects)}"
        )
        hint = "correct the profile, or compare values of one type"
        yield context.finding(Severity.WARNING, Kind.INVALID, message, policy, hint=hint)


_EFFECTS = (("it allows nothing", "allow"), ("it denies everything it names", "deny"))


def _answer(context: Context, policy: Policy, user: User, deny: bool) -> Answer:
    known = context.known_for(policy, Viewer(user), deny)
    return Answer.UNKNOWN if known is None else context.reasoner.together(known).answer
