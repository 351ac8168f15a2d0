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
from headgate.guard.objects import Layout, Objects
from headgate.guard.outcome import Notification, Outcome, Tell, explanation_lines, refusal_text
from headgate.guard.plan import Description, Node, read_description
from headgate.guard.purposes import Purposes, Use, analyse
from headgate.guard.reading import chosen
from headgate.guard.recipe import Recipe, write_recipe
from headgate.guard.settings import Settings
from headgate.guard.streams import Checkpoints, taken_by_others
from headgate.guard.vocabulary import ADMINISTRATORS_ONLY, COMMANDS, GOVERNED, STREAM_START
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
class _Version:
    """What one decision is made by, and what has been decided by it."""

    decider: Decider
    compliance: Compliance
    defaults: Defaults
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
        for name in self.settings.sources:
            self.catalog.stream(name)
        self._version = self._made(self.policies)

    def replace_policies(self, policies: PolicySet | None) -> None:
        """Put another policy set in force, all at once; the next plan and the next micro-batch follow it."""
        version = self._made(policies)
        with self._changing:
            self.policies = policies
            self._version = version

    def _made(self, policies: PolicySet | None) -> _Version:
        decider = Decider(policies, self.catalog)
        return _Version(decider, Compliance(decider), policies.defaults if policies else Defaults())

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
        found = self.users.get(name)
        if found is None:
            raise UnknownNameError(f"unknown user `{name}`", hint=closest(name, self.users))
        return found

    def recall(self, digest: str, runs: bool) -> str | None:
        """The answer to the description with this SHA-256, if it was decided on and would be decided alike.

        It is put on record if the plan runs, and not if somebody only looks at it.
        """
        decided, text = self._version.answers.get(digest, (None, None))
        if decided is None or decided.user is None:
            return None
        if decided.user != self.users.get(decided.user.id) or decided.environment != self.environment:
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

    def decide(self, text: str) -> Outcome:
        """The decision on a described plan, for the record."""
        decided = self._decided(text, self._version)
        self._record(decided)
        return decided.outcome

    def _record(self, decided: _Decided) -> None:
        for note in decided.notifications:
            self.notifications.append(note)
            if self.tell is not None:
                self.tell(note)
        self.outcomes.append(decided.outcome)

    def _decided(self, text: str, version: _Version) -> _Decided:
        """The decision. Whatever goes wrong is a refusal."""
        environment = dict(self.environment)
        name = "?"
        try:
            description = read_description(text)
            name = description.user
            return self._decide(description, self.user(name), environment, version)
        except FAILURES as error:
            # INVARIANT: a failure while deciding is a refusal.
            message = error.message if isinstance(error, InputError) else type(error).__name__
            return _Decided(None, environment, Outcome(name, False, (f"the decision failed: {message}",)))

    def _decide(self, description: Description, user: User, environment: Environment, version: _Version) -> _Decided:
        refused = tuple(dict.fromkeys(objections(description, user, self.objects, self.catalog, self.settings)))
        if not refused and description.root.name == STREAM_START:
            refused = tuple(taken_by_others(description.root, user, self.settings, self.checkpoints))
        if refused:
            return _Decided(user, environment, Outcome(user.id, False, refused))
        command = description.root.name in COMMANDS | ADMINISTRATORS_ONLY | {STREAM_START}
        purposes = analyse(description)
        accesses = dict(self._accesses(description, purposes, user, environment, version.compliance))
        on_assist_denied = version.defaults.on_assist_denied if version.decider.policies else AssistDenied.REFUSE
        recipe = write_recipe(description, purposes, accesses, on_assist_denied)
        if not self.settings.compare_answers:
            recipe.releases.clear()
        used = tuple(_used(purposes, accesses))
        permitted = not recipe.refusals
        outcome = Outcome(
            user.id,
            permitted,
            tuple(dict.fromkeys(recipe.withheld if permitted else recipe.refusals)),
            tuple(dict.fromkeys(recipe.warnings)),
            recipe.to_json() if permitted else {},
            used,
            tuple(recipe.dropped),
            command,
        )
        return _Decided(user, environment, outcome, tuple(_notifications(user, used, accesses, permitted)))

    def unresolvable(self, text: str, name: str) -> str | None:
        """Why Spark must not look for the columns of a described source, or do something else, before it is decided."""
        user, version, environment = self.user(name), self._version, dict(self.environment)
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
        uses: dict[int, list[Use]] = {}
        for use in (*purposes.uses, *purposes.idle):
            uses.setdefault(use.node, []).append(use)
        counted = {leaf for leaf, _, _ in purposes.counted}
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
                        node.id in counted,
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


def _may_choose(version: _Version, user: User, environment: Environment, table: str, column: str) -> bool:
    return version.decider.policies is None or version.compliance.may_choose(user, table, column, environment)


def _notifications(
    user: User, used: Iterable[tuple[str, str, str, bool]], accesses: Mapping[int, Access], permitted: bool
) -> Iterable[Notification]:
    owners = {access.table: access.owner for access in accesses.values()}
    for table, column, privilege, shown in used:
        owner = owners[table]
        if owner is not None and owner != user.id:
            yield Notification(owner, user.id, table, column, privilege, shown, permitted)


def _used(purposes: Purposes, accesses: Mapping[int, Access]) -> Iterable[tuple[str, str, str, bool]]:
    found = {
        (access.table, access.names.get(use.column, "?"), use.privilege, use.shown): None
        for use in purposes.uses
        if (access := accesses.get(use.node)) is not None
    }
    return sorted(found)


__all__ = ["KEPT", "Guard", "Recipe"]
