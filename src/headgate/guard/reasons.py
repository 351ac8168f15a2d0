"""What is said of a plan whose uses are not covered: to the user who asked, by the policies it is for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from headgate.decision.guard import Clause
from headgate.guard.compliance import Access, cover_of
from headgate.guard.plan import Description
from headgate.guard.use import Use
from headgate.model.privilege import READ


class Reasons:
    """The words for one plan."""

    def __init__(self, description: Description) -> None:
        self._description = description

    def called(self, access: Access, column: int) -> str:
        """A column as users know it."""
        return f"`{access.table}.{access.names.get(column, self._description.names[column])}`"

    def use(self, access: Access, use: Use) -> str:
        """A use as it is told."""
        return f"{use.privilege} of {self.called(access, use.column)}"

    def of_column(self, access: Access, uses: Sequence[Use]) -> Iterator[str]:
        """What is withheld of a column, for each of its uses."""
        for use in uses:
            cover, what = cover_of(access, use, self._description), self.use(access, use)
            if cover.never and not access.cover(use.column, use.privilege).never:
                yield f"{what} is withheld: of single values, it needs {READ}"
            elif cover.never:
                yield f"{what} is withheld{because(access, use)}"
            elif not cover.always:
                yield f"{what} is withheld in part{_in_some_rows(access, use)}"
            elif cover.need is not None and use.at >= 0 and not access.of_any_group(use):
                yield f"{what} is given of groups that are large enough"


def because(access: Access, use: Use) -> str:
    """Why a use is allowed nowhere."""
    denials = access.denies(use.column, use.privilege)
    return f": denied by {_policies(denials)}" if denials else ": no policy allows it"


def nowhere(access: Access, uses: Mapping[int, Sequence[Use]]) -> str:
    """Why no use of a table's columns is allowed."""
    denials = [one for column in uses for use in uses[column] for one in access.denies(column, use.privilege)]
    return f": denied by {_policies(sorted(denials, key=_name))}" if denials else ": no policy allows it"


def _in_some_rows(access: Access, use: Use) -> str:
    denials = access.denies(use.column, use.privilege)
    by = (
        f"denied by {_policies(denials)}"
        if denials
        else f"allowed by {_policies(access.allows(use.column, use.privilege))}"
    )
    return f": {by} in some rows"


def _policies(clauses: Iterable[Clause]) -> str:
    return ", ".join(dict.fromkeys(f"`{one.policy}`" for one in clauses))


def _name(clause: Clause) -> str:
    return clause.policy
