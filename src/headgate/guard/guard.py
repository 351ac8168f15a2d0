"""The guard: takes descriptions of plans, answers with recipes, and keeps a record of both.

One guard holds one version of the policies at a time; replacing it is one assignment, so that every plan is decided by
one version as a whole. A running stream asks again for each micro-batch and so follows by itself. A plan that was
decided on before, by the same version for the same user, is answered as before.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from threading import Lock
from uuid import uuid4

from headgate.decision.decide import Decider
from headgate.errors import FAILURES, InputError, UnknownNameError
from headgate.guard.beforehand import unresolvable
from headgate.guard.closed import objections
from headgate.guard.compliance import Access, Compliance
from headgate.guard.given import uses_given
from headgate.guard.objects import Layout, Objects
from headgate.guard.outcome import (
    ALL_ROWS,
    Given,
    Notification,
    Outcome,
    Tell,
    Untold,
    Used,
    explanation_lines,
    refusal_text,
)
from headgate.guard.plan import Description, Node, read_description
from headgate.guard.purposes import Purposes, analyse
from headgate.guard.reading import chosen
from headgate.guard.recipe import Recipe
from headgate.guard.settings import Settings
from headgate.guard.streams import Checkpoints, state_objections, taken_by_others
from headgate.guard.use import Use
from headgate.guard.vocabulary import ADMINISTRATORS_ONLY, COMMANDS, GOVERNED, STREAM_START
from headgate.guard.write_recipe import write_recipe
from headgate.model.closest import closest
from headgate.model.schema import StreamCatalog
from headgate.model.subject import User
from headgate.policy.bind import Environment
from headgate.policy.model import AssistDenied, Defaults, PolicySet

KEPT = 1_000
"""How many decisions and notifications are kept for whoever asks."""


@dataclass(frozen=True)
class _Decided:
    """A decision, for whom and where it was made, and what owners are told of it."""

    user: User | None
    environment: Environment
    outcome: Outcome
    notifications: tuple[Notification, ...] = ()


@dataclass(frozen=True)
class Judged:
    """What a decision is made of: the purposes of a plan, what the policies say to them, and the recipe."""

    description: Description
    purposes: Purposes
    accesses: Mapping[int, Access]
    recipe: Recipe


@dataclass(frozen=True)
class _Version:
    """What one decision is made by, and what has been decided by it."""

    decider: Decider
    compliance: Compliance
    defaults: Defaults
    users: Mapping[str, User]
    answers: dict[str, tuple[_Decided, str]] = field(default_factory=dict)
    """Permits by the SHA-256 of the description, each with the recipe's text."""


@dataclass
class Guard:
    """Decides on Spark plans for users, by the same policies as everything else."""

    catalog: StreamCatalog
    policies: PolicySet | None
    users: Mapping[str, User]
    settings: Settings = field(default_factory=Settings)
    environment: Environment = field(default_factory=dict)
    tell: Tell | None = None

    def __post_init__(self) -> None:
        self.id = uuid4().hex
        self._changing = Lock()
        self.objects = Objects(self.catalog.names, self.settings.sources)
        self.checkpoints = Checkpoints()
        self.outcomes: deque[Outcome] = deque(maxlen=KEPT)
        self.notifications: deque[Notification] = deque(maxlen=KEPT)
        self.untold: deque[Untold] = deque(maxlen=KEPT)
        for name in self.settings.sources:
            self.catalog.stream(name)
        self._version = self._made(self.policies, self.users)

    def replace_policies(self, policies: PolicySet | None, users: Mapping[str, User] | None = None) -> None:
        """Put another policy set in force, all at once; the next plan and the next micro-batch follow it.

        With `users` these are replaced together with it: no plan is decided by the ones and the others.
        """
        version = self._made(policies, users if users is not None else self.users)
        with self._changing:
            self.policies, self.users = policies, version.users
            self._version = version

    def _made(self, policies: PolicySet | None, users: Mapping[str, User]) -> _Version:
        decider = Decider(policies, self.catalog)
        return _Version(decider, Compliance(decider), policies.defaults if policies else Defaults(), users)

    def settle(
        self,
        name: str,
        location: str,
        provider: str,
        partitions: tuple[str, ...] = (),
        options: Mapping[str, str] | None = None,
        padded: tuple[str, ...] = (),
    ) -> None:
        """Note where a catalog table's files are, how they are to be read, and which columns blanks fill up."""
        with self._changing:
            filled = frozenset(one.lower() for one in padded)
            if self.objects.settle(name, location, Layout(provider.lower(), partitions, dict(options or {}), filled)):
                # INVARIANT: what was decided while the place was not known is decided again.
                self._version = replace(self._version, answers={})

    def user(self, name: str) -> User:
        """The user of that id, or an error with the closest one as a hint."""
        return _user(name, self.users)

    def recall(self, digest: str, runs: bool) -> str | None:
        """The answer to the description with this SHA-256, if it was decided on and would be decided alike.

        It is put on record if the plan runs, and not if somebody only looks at it.
        """
        version = self._version
        decided, text = version.answers.get(digest, (None, None))
        if decided is None or decided.user is None:
            return None
        if decided.user != version.users.get(decided.user.id) or decided.environment != self.environment:
            return None
        if runs:
            self._record(decided)
        return text

    def answer(self, text: str, runs: bool = True) -> str:
        """The decision on a description as the hook takes it, put on record if the plan runs."""
        version = self._version
        decided = self._decided(text, version)
        if runs:
            self._record(decided)
        if not decided.outcome.permitted:
            return json.dumps({"refuse": refusal_text(decided.outcome.reasons, version.defaults.disclosure)})
        recipe = json.dumps(decided.outcome.recipe, separators=(",", ":"))
        if len(version.answers) >= KEPT:
            version.answers.clear()
        version.answers[sha256(text.encode()).hexdigest()] = decided, recipe
        return recipe

    def explanation(self, text: str) -> str:
        """What the user of a described plan is told of it, as the hook takes it; nothing is put on record."""
        version = self._version
        outcome = self._decided(text, version).outcome
        return json.dumps(
            {"permitted": outcome.permitted, "told": explanation_lines(outcome, version.defaults.disclosure)}
        )

    def decide(self, text: str, policies: PolicySet | None = None) -> Outcome:
        """The decision on a described plan that is not run, by other policies if given; nothing is put on record."""
        version = self._version if policies is None else self._made(policies, self.users)
        return self._decided(text, version).outcome

    def judged(self, text: str) -> Judged | None:
        """What the decision on a described plan is made of; None if it is refused before it comes to that."""
        try:
            description = read_description(text)
            user = self.user(description.user)
            if self._objections(description, user):
                return None
            return self._judge(description, user, dict(self.environment), self._version)
        except FAILURES:
            return None

    def _record(self, decided: _Decided) -> None:
        self.outcomes.append(decided.outcome)
        for note in decided.notifications:
            self.notifications.append(note)
            if self.tell is not None:
                self._pass_on(note, self.tell)

    def _pass_on(self, note: Notification, tell: Tell) -> None:
        try:
            tell(note)
        except Exception as error:
            # It is the platform's own code: whatever goes wrong with it, the query goes on as it was decided.
            self.untold.append(Untold(note, f"{type(error).__name__}: {error}"))

    def _decided(self, text: str, version: _Version) -> _Decided:
        """The decision. Whatever goes wrong is a refusal."""
        environment = dict(self.environment)
        name = "?"
        description: Description | None = None
        try:
            description = read_description(text)
            name = description.user
            return self._decide(description, _user(name, version.users), environment, version)
        except FAILURES as error:
            # INVARIANT: a failure while deciding is a refusal.
            message = error.message if isinstance(error, InputError) else type(error).__name__
            reason = f"the decision failed: {message}"
            attempted = self._attempted(description) if description is not None else ()
            outcome = Outcome(name, False, (reason,), uses=attempted)
            return _Decided(None, environment, outcome, self._notifications(outcome))

    def _decide(self, description: Description, user: User, environment: Environment, version: _Version) -> _Decided:
        refused = self._objections(description, user)
        if refused:
            outcome = Outcome(user.id, False, refused, uses=self._attempted(description))
            return _Decided(user, environment, outcome, self._notifications(outcome))
        command = description.root.name in COMMANDS | ADMINISTRATORS_ONLY | {STREAM_START}
        judged = self._judge(description, user, environment, version)
        recipe = judged.recipe
        permitted = not recipe.refusals
        outcome = Outcome(
            user.id,
            permitted,
            tuple(dict.fromkeys(recipe.withheld if permitted else recipe.refusals)),
            tuple(dict.fromkeys(recipe.warnings)),
            recipe.to_json() if permitted else {},
            () if command else uses_given(description, judged.purposes, judged.accesses, recipe),
            tuple(recipe.dropped),
            command,
        )
        return _Decided(user, environment, outcome, self._notifications(outcome))

    def _objections(self, description: Description, user: User) -> tuple[str, ...]:
        """Why a plan is refused, whatever the policies say about data."""
        refused = tuple(dict.fromkeys(objections(description, user, self.objects, self.catalog, self.settings)))
        if not refused and description.root.name == STREAM_START:
            refused = tuple(taken_by_others(description.root, user, self.settings, self.checkpoints))
        return refused

    def _judge(self, description: Description, user: User, environment: Environment, version: _Version) -> Judged:
        purposes = analyse(description)
        accesses = dict(self._accesses(description, purposes, user, environment, version.compliance))
        on_assist_denied = version.defaults.on_assist_denied if version.decider.policies else AssistDenied.REFUSE
        recipe = write_recipe(description, purposes, accesses, on_assist_denied)
        hidden = bool(recipe.quiet or recipe.groups or recipe.copies)
        recipe.refusals.extend(state_objections(description, hidden))
        if not self.settings.compare_answers:
            recipe.releases.clear()
        return Judged(description, purposes, accesses, recipe)

    def _attempted(self, description: Description) -> tuple[Used, ...]:
        """The tables that a plan names, where it is not known what they were wanted for."""
        try:
            tables = sorted({table for node in description.nodes if (table := self._table_of(node)) is not None})
        except FAILURES:
            return ()
        return tuple(Used(table, ALL_ROWS, None, False, Given.NOTHING) for table in tables)

    def _notifications(self, outcome: Outcome) -> tuple[Notification, ...]:
        owned = [(self.catalog.stream(one.table).owner, one) for one in outcome.uses]
        return tuple(
            Notification(
                owner, outcome.user, one.table, one.column, one.privilege, one.output, one.given, outcome.permitted
            )
            for owner, one in owned
            if owner is not None and owner != outcome.user
        )

    def unresolvable(self, text: str, name: str) -> str | None:
        """Why Spark must not look for the columns of a described source, or do something else, before it is decided."""
        version, environment = self._version, dict(self.environment)
        user = _user(name, version.users)
        return unresolvable(text, self.objects, partial(_may_choose, version, user, environment), user, self.settings)

    def _accesses(
        self,
        description: Description,
        purposes: Purposes,
        user: User,
        environment: Environment,
        compliance: Compliance,
    ) -> Iterable[tuple[int, Access]]:
        if compliance.decider.policies is None:
            return
        # What is left of a query without a predicate may be rows of a table, of which it names no column.
        removing = compliance.decider.policies.defaults.on_assist_denied is AssistDenied.REMOVE
        uses: dict[int, list[Use]] = {}
        for use in (*purposes.uses, *purposes.idle):
            uses.setdefault(use.node, []).append(use)
        for node in description.nodes:
            table = self._table_of(node)
            if table is not None:
                yield (
                    node.id,
                    compliance.judge(
                        node,
                        table,
                        description.names,
                        description.types,
                        uses.get(node.id, []),
                        node.id in purposes.counted.leaves or removing,
                        chosen(node, self.objects) if node.name in GOVERNED else (),
                        user,
                        environment,
                        description.padded | self._filled_up(node, table, description.names),
                    ),
                )

    def _filled_up(self, node: Node, table: str, names: Mapping[int, str]) -> frozenset[int]:
        """The columns of a leaf that are CHARs of the catalog's table, however its files are read."""
        known = self.objects.layout(table).filled
        return frozenset(one for one in node.out if names[one].lower() in known)

    def _table_of(self, node: Node) -> str | None:
        if node.name == "View" and not node.facts["temporary"]:
            return self.objects.table(node.facts["name"])
        if node.name in GOVERNED and node.out:
            return self.objects.object_of(node)
        return None


def _user(name: str, users: Mapping[str, User]) -> User:
    found = users.get(name)
    if found is None:
        raise UnknownNameError(f"unknown user `{name}`", hint=closest(name, users))
    return found


def _may_choose(version: _Version, user: User, environment: Environment, table: str, column: str) -> bool:
    return version.decider.policies is None or version.compliance.may_choose(user, table, column, environment)


__all__ = ["KEPT", "Guard", "Judged", "Recipe"]
