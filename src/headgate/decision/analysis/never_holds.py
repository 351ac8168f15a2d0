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
        answer = context.reasoner.together(context.known(policy)).answer
        if answer is Answer.NO:
            yield _impossible(context, policy)
        elif answer is Answer.UNKNOWN:
            yield from context.undecided(f"whether `{policy.id}` can ever hold", policy)
        # What nobody's profile has is reported on its own (`unknown_names.py`).
        names = profile_names(policy)
        if answer is not Answer.NO and context.material.users is not None and names and names <= _attributes(context):
            yield from _for_users(context, policy)


def _attributes(context: Context) -> frozenset[str]:
    return frozenset(name.lower() for user in (context.material.users or {}).values() for name in user.profile)


def impossible(context: Context, policy: Policy) -> bool:
    """Whether the policy can never apply, so that nothing else is worth saying of it."""
    return context.reasoner.together(context.known(policy)).answer is Answer.NO


def _impossible(context: Context, policy: Policy) -> Finding:
    for key, part in context.conditions.parts(policy).items():
        if part is not None and context.reasoner.together(context.reasoner.know(part)).answer is Answer.NO:
            what = _what(key, policy)
            break
    else:
        what = "`where`, `during` and `when` can never hold together"
    return context.finding(Severity.ERROR, Kind.NEVER_HOLDS, f"{what}{_so(policy)}", policy)


def _what(key: str, policy: Policy) -> str:
    if key == "during":
        return "the period is empty"
    expression = policy.where if key == "where" else policy.when
    assert expression is not None
    return f"`{key}` can never hold: {to_text(expression, qualified=policy.joint)}"


def _so(policy: Policy) -> str:
    verbs = [verb for verb, given in (("allows", policy.allow), ("denies", policy.deny)) if given]
    return f", so `{policy.id}` {' and '.join(verbs)} nothing"


def _for_users(context: Context, policy: Policy) -> Iterator[Finding]:
    """Whether the policy can apply to any of the users it concerns, by their profiles."""
    users = context.profiles(context.material.concerned(policy), policy)
    if not users:
        return
    for user in users:
        yield from _not_understood(context, policy, user)
    answers = [_answer(context, policy, user) for user in users]
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


def _answer(context: Context, policy: Policy, user: User) -> Answer:
    known = context.known_for(policy, Viewer(user))
    return Answer.UNKNOWN if known is None else context.reasoner.together(known).answer
