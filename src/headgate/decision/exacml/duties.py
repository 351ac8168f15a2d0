"""What the obligations of a rule make of a grant: conditions, columns, windows, groups, masks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from headgate.decision.exacml.conditions import UnsayableError
from headgate.decision.exacml.draft import Draft
from headgate.decision.exacml.rules import FlatRule
from headgate.decision.exacml.stream_obligations import StreamObligations, WindowDuty, stream_obligations
from headgate.decision.xacml.outcome import Assignment, Effect, Obligation
from headgate.decision.xacml.syntax import Literal, ObligationExpression
from headgate.errors import InputError
from headgate.model.privilege import ASSIST, PRIVILEGES, READ

EVERY_TUPLE = "*"
_ALIASES = {"lastval": "last", "lastvalue": "last", "firstval": "first", "firstvalue": "first", "average": "avg"}


@dataclass(frozen=True)
class Stated:
    """The obligations of one rule, as far as grants can say them: which is all of them, or there is no `Stated`."""

    obligations: StreamObligations
    effect: Effect
    notes: tuple[str, ...] = ()

    @property
    def window(self) -> WindowDuty | None:
        return self.obligations.windows[0] if self.obligations.windows else None

    def drafts(
        self,
        flat: FlatRule,
        subject: dict[str, Any],
        stream: str,
        attributes: tuple[str, ...] | None,
        privileges: frozenset[str],
        when: str | None,
    ) -> Iterator[Draft]:
        """The grants of one line of the rule's target."""
        if self.effect is Effect.DENY:
            yield self._draft(flat, subject, stream, attributes, when, deny=privileges)
            return
        shown = self._mapped(attributes)
        if self.window is None:
            implied = READ not in privileges or privileges >= frozenset(PRIVILEGES)
            yield self._draft(flat, subject, stream, shown, when, allow=privileges, implied=implied)
            return
        # A permit to read under a window is one to aggregate as the window says, and to select what is aggregated.
        if privileges & {READ, ASSIST}:
            yield self._draft(flat, subject, stream, shown, when, allow=frozenset((ASSIST,)))
        size, step, _ = self.window
        window = tuple((key, text) for key, text in (("min_size", size), ("min_step", step)) if text is not None)
        for attribute, function in self._functions():
            given = READ in privileges or function in privileges
            columns = shown if attribute == EVERY_TUPLE else (attribute,)
            if given and (shown is None or columns is None or {*_folded(columns)} <= {*_folded(shown)}):
                allow = frozenset((function,))
                yield self._draft(flat, subject, stream, columns, when, allow=allow, window=window)

    def _functions(self) -> Iterator[tuple[str, str]]:
        assert self.window is not None
        for text in self.window.functions:
            attribute, _, function = (part.strip() for part in text.rpartition(":"))
            yield attribute, _ALIASES.get(function.lower(), function.lower())

    def _mapped(self, attributes: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """The columns that the target and all maps let through."""
        for names in self.obligations.maps:
            allowed = {*_folded(names)}
            attributes = names if attributes is None else tuple(one for one in attributes if one.lower() in allowed)
        return attributes

    def _draft(
        self,
        flat: FlatRule,
        subject: dict[str, Any],
        stream: str,
        attributes: tuple[str, ...] | None,
        when: str | None,
        **given: Any,
    ) -> Draft:
        stated = self.obligations
        conditions = stated.conditions
        where = conditions[0] if len(conditions) == 1 else " AND ".join(f"({one})" for one in conditions)
        start, end = stated.periods[0] if stated.periods else (None, None)
        return Draft(
            flat.policy,
            (tuple((name, type(value).__name__, value) for name, value in subject.items()),),
            stream,
            attributes,
            where=where or None,
            during=tuple((key, at) for key, at in (("from", start), ("to", end)) if at is not None),
            min_group=stated.min_group,
            mask=stated.mask,
            when=when,
            place=flat.rule.place,
            origin=flat,
            **given,
        )


def _folded(names: tuple[str, ...]) -> Iterator[str]:
    return (name.lower() for name in names)


def stated_by(flat: FlatRule, binding: bool, conditional: bool) -> Stated:
    """The obligations of a rule.

    `binding` is for a permit: one that cannot be said makes the permit unsayable. The obligations of a deny say when it
    denies only in a set of grants (`conditional`); elsewhere a deny is a deny, and what goes with it is left out.
    """
    own = [duty for duty in flat.duties if duty.applies_to is flat.rule.effect]
    notes = [f"the advice `{duty.id}` is left out" for duty in own if duty.is_advice]
    members = [duty for duty in own if not duty.is_advice]
    if not binding and not conditional:
        notes += [f"the obligation `{duty.id}` of a deny is left out" for duty in members]
        return Stated(StreamObligations(), flat.rule.effect, tuple(notes))
    try:
        stated = stream_obligations(_obligation(duty) for duty in members)
    except InputError as error:
        raise UnsayableError(error.message, place=flat.rule.place, hint=error.hint) from None
    _require_sayable(stated, flat)
    return Stated(stated, flat.rule.effect, tuple(notes))


def _require_sayable(stated: StreamObligations, flat: FlatRule) -> None:
    problem = None
    if stated.others:
        problem = f"the obligation `{stated.others[0].id}` cannot be said of a grant"
    elif stated.single_window:
        problem = "that only one window may be open at a time cannot be said of a grant"
    elif len(stated.windows) > 1 or len(stated.periods) > 1:
        problem = "several windows or periods at once cannot be said of a grant"
    elif flat.rule.effect is Effect.DENY and (stated.maps or stated.windows):
        problem = "a deny has no map and no window"
    if problem is not None:
        raise UnsayableError(problem, place=flat.rule.place)


def _obligation(duty: ObligationExpression) -> Obligation:
    assignments = []
    for one in duty.assignments:
        if not isinstance(one.expression, Literal):
            raise UnsayableError(f"the obligation `{duty.id}` holds values that depend on the request")
        literal = one.expression
        assignments.append(Assignment(one.attribute_id, literal.data_type, literal.value, one.category, one.issuer))
    return Obligation(duty.id, duty.applies_to, tuple(assignments))
