"""Roles: what each column of a release is, whether a plan or masks made it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from veil.plan.plan import Plan, Role
from veil.tables.rows import Knows

if TYPE_CHECKING:
    from veil.outcome.method import Method


@dataclass(frozen=True)
class Roles:
    """What each column of a release is, and what becomes of suppressed records.

    Attributes
    ----------
    quasi_identifiers : tuple of str
        Columns of the output that an attacker may know.
    sensitive : tuple of str
        Columns that must not be learned.
    identifying : dict
        Columns that name people, with how they are treated: remove, mask or pseudonym.
    dropped : set
        Columns of the input that the output does not have.
    person : str, optional
        The column of the owners; None if every record is a person, or nothing is known of people.
    knows : str
        What an attacker may know of an owner: "one row" or "all rows".
    marker : str, optional
        Text of suppressed cells; None if these are missing.
    suppressed_rows : str
        What becomes of suppressed records: "blank", "keep cells" or "drop"; "none" if no record is suppressed.
    suppression_limit : float
        Largest share of the people who may lose a record.
    """

    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    identifying: Mapping[str, str]
    dropped: frozenset[str]
    person: str | None
    knows: Knows
    marker: str | None
    suppressed_rows: Literal["blank", "keep cells", "drop", "none"]
    suppression_limit: float

    def role_of(self, column: str) -> Role:
        """Return the role of a column."""
        if column in self.identifying:
            return "identifying"
        if column in self.sensitive:
            return "sensitive"
        if column in self.dropped:
            return "dropped"
        return "quasi-identifying" if column in self.quasi_identifiers else "insensitive"

    @property
    def removed(self) -> frozenset[str]:
        """Columns of the input that the output does not have, identifying ones among them."""
        return self.dropped | {name for name, treatment in self.identifying.items() if treatment == "remove"}


def roles_of_plan(plan: Plan, columns: Sequence[str], generalized: Sequence[str]) -> Roles:
    """Return the roles that a plan gives to the columns of a table; `generalized` are those with a hierarchy."""
    return Roles(
        quasi_identifiers=(*generalized, *plan.aggregated),
        sensitive=plan.sensitive,
        identifying=plan.identifying,
        dropped=frozenset(name for name in columns if plan.role_of(name) == "dropped"),
        person=plan.person_column,
        knows=plan.knows,
        marker=plan.marker,
        suppressed_rows=plan.suppressed_rows,
        suppression_limit=plan.suppression_limit,
    )


def roles_of_masks(
    methods: Sequence[Method], columns: Sequence[str], released: Sequence[str], person: str | None
) -> Roles:
    """Return the roles of columns after masking: those that methods name may be known, else all unchanged ones."""
    named = dict.fromkeys(name for method in methods for name in method.known_columns if name in released)
    changed = {name for method in methods for name in method.column_names}
    unchanged = [name for name in released if name not in changed and name in columns]
    return Roles(
        quasi_identifiers=tuple(named or unchanged or released),
        sensitive=(),
        identifying={},
        dropped=frozenset(columns) - frozenset(released),
        person=person,
        knows="one row",
        marker=None,
        suppressed_rows="none",
        suppression_limit=0,
    )
