"""XACML policies, 2.0 and 3.0, as grants: what grants can say of them, and a list of what they cannot.

A permit that cannot be said in full is left out. A deny that cannot be said in full is made to deny more; where even
that cannot be said, nothing of the document is converted. So whatever the grants let a user do, the document does too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from headgate.decision.exacml.conditions import UnsayableError, from_condition
from headgate.decision.exacml.draft import Draft, folded, numbered
from headgate.decision.exacml.duties import Stated, stated_by
from headgate.decision.exacml.finding import ConversionFinding, Loss
from headgate.decision.exacml.overlap import without_overlaps
from headgate.decision.exacml.rules import FlatRule, RefusedError, flat_rules
from headgate.decision.exacml.targets import Line, described, lines_of
from headgate.decision.exacml.to_xacml import GRANTS
from headgate.decision.xacml.outcome import Effect
from headgate.decision.xacml.syntax import Policy, PolicySet
from headgate.errors import InputError
from headgate.model.expression.print import to_text
from headgate.model.privilege import PRIVILEGES, READ
from headgate.model.schema import StreamCatalog
from headgate.policy import model


@dataclass(frozen=True)
class Imported:
    """The grants, and what they do not say."""

    policies: model.PolicySet
    findings: tuple[ConversionFinding, ...]


def from_xacml(document: Policy | PolicySet, catalog: StreamCatalog) -> Imported:
    """The document as grants over the streams of the catalog."""
    return _Importer(document, catalog).result()


class _Importer:
    def __init__(self, document: Policy | PolicySet, catalog: StreamCatalog) -> None:
        self.document = document
        self.catalog = catalog
        self.findings: list[ConversionFinding] = []
        # In a set of grants what permits give adds up; elsewhere the obligations of all permits bind together.
        self.additive = document.id == GRANTS

    def result(self) -> Imported:
        try:
            rules = flat_rules(self.document, self.findings)
            drafts = [draft for rule in rules for draft in self._drafts(rule)]
            if not self.additive:
                drafts = without_overlaps(drafts, rules, self.findings)
            policies = self._resolved(drafts)
        except RefusedError as error:
            text = f"nothing is converted: {error.message}"
            refused = ConversionFinding(Loss.LOST, self.document.id, text, error.place)
            return Imported(model.PolicySet(), (*self.findings, refused))
        return Imported(model.PolicySet(tuple(policies)), tuple(dict.fromkeys(self.findings)))

    def _find(self, loss: Loss, flat: FlatRule, text: str) -> None:
        self.findings.append(ConversionFinding(loss, flat.policy, text, flat.rule.place))

    # From a rule to drafts --------------------------------------------------------------------------------------------

    def _drafts(self, flat: FlatRule) -> Iterator[Draft]:
        is_deny = flat.rule.effect is Effect.DENY
        try:
            lines = list(lines_of(flat.any_ofs, careful=is_deny))
            stated = stated_by(flat, binding=not is_deny, conditional=self.additive)
        except UnsayableError as error:
            if is_deny:
                raise RefusedError(
                    f"a deny of `{flat.policy}` cannot be said: {error.message}", place=flat.rule.place
                ) from None
            self._find(Loss.LOST, flat, f"the permit is left out: {error.message}")
            return
        for note in stated.notes:
            self._find(Loss.NOTE, flat, note)
        when, said = self._when(flat)
        if not said:
            return
        for line in lines:
            yield from self._of_line(line, flat, stated, when)

    def _when(self, flat: FlatRule) -> tuple[str | None, bool]:
        """The condition, and whether the rule can be said with it."""
        if flat.rule.condition is None:
            return None, True
        try:
            return to_text(from_condition(flat.rule.condition)), True
        except UnsayableError as error:
            if flat.rule.effect is Effect.DENY:
                self._find(Loss.NARROWER, flat, f"the deny is made unconditional: {error.message}")
                return None, True
            self._find(Loss.LOST, flat, f"the permit is left out: {error.message}")
            return None, False

    def _of_line(self, line: Line, flat: FlatRule, stated: Stated, when: str | None) -> Iterator[Draft]:
        is_deny = flat.rule.effect is Effect.DENY
        for match in line.unsaid:
            what = described(match)
            if not is_deny:
                self._find(Loss.LOST, flat, f"the permit is left out: {what} cannot be said of a grant")
                return
            self._find(Loss.NARROWER, flat, f"the deny is made wider: {what} cannot be said of a grant")
        if not line.subject:
            if is_deny:
                raise RefusedError(
                    f"`{flat.policy}` denies something to everybody, which a grant cannot say", place=flat.rule.place
                )
            self._find(Loss.LOST, flat, "the permit is left out: it is for everybody, which a grant cannot say")
            return
        for stream, attributes in self._cells(line, flat):
            privileges = self._privileges(line, flat)
            if privileges:
                yield from stated.drafts(flat, line.subject, stream, attributes, privileges, when)

    def _cells(self, line: Line, flat: FlatRule) -> Iterator[tuple[str, tuple[str, ...] | None]]:
        """The streams that are meant, each with its columns; None for all."""
        wanted = line.named.get("stream")
        streams = [one for one in self.catalog if wanted is None or one.name.lower() == wanted.lower()]
        column = line.named.get("attribute")
        for stream in streams:
            found = stream.find(column) if column is not None else None
            if column is None:
                yield stream.name, None
            elif found is not None:
                yield stream.name, (found.name,)
            elif wanted is not None:
                self._find(Loss.LOST, flat, f"the stream `{stream.name}` has no column `{column}`")
        if not streams:
            self._find(Loss.LOST, flat, f"there is no stream `{wanted}`")

    def _privileges(self, line: Line, flat: FlatRule) -> frozenset[str]:
        action = line.named.get("action")
        if action is None:
            return frozenset(PRIVILEGES)
        if action in PRIVILEGES:
            return frozenset((action,))
        self._find(Loss.LOST, flat, f"the action `{action}` is not a privilege")
        return frozenset()

    # From drafts to grants --------------------------------------------------------------------------------------------

    def _resolved(self, drafts: Iterable[Draft]) -> list[model.Policy]:
        grants = folded((draft for draft in drafts if self._checked(draft)), self.catalog)
        reading_only = [one for one in grants if READ in one.allow and not one.implied and not one.window]
        for draft in reading_only:
            text = "whoever may `read` may also aggregate: a grant cannot give the one without the other"
            if self.additive:  # there the privileges are grants' own: one that is not listed is not given
                grants.remove(draft)
                self.findings.append(ConversionFinding(Loss.LOST, draft.policy, text, draft.place))
            else:
                self.findings.append(ConversionFinding(Loss.NOTE, draft.policy, text, draft.place))
        if reading_only:
            grants = [self._denying_all(draft) for draft in grants]
        return [draft.resolved(self.catalog) for draft in numbered(grants)]

    def _denying_all(self, draft: Draft) -> Draft:
        """What `read` was made to give beside itself, a deny of `read` must take away."""
        every = frozenset(PRIVILEGES)
        if READ not in draft.deny or draft.deny >= every:
            return draft
        text = "the deny is made wider: whoever may not `read` here may not aggregate either"
        self.findings.append(ConversionFinding(Loss.NARROWER, draft.policy, text, draft.place))
        return replace(draft, deny=every)

    def _checked(self, draft: Draft) -> bool:
        try:
            draft.resolved(self.catalog)
        except InputError as error:
            if draft.deny:
                raise RefusedError(
                    f"a deny of `{draft.policy}` cannot be said: {error.message}", place=draft.place
                ) from None
            text = f"the permit is left out: {error.message}"
            self.findings.append(ConversionFinding(Loss.LOST, draft.policy, text, draft.place))
            return False
        return True
