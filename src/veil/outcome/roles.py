"""The role of each column of a release, by a plan or by masks."""

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
    """The role of each column of a release, and the treatment of suppressed records.

    Attributes
    ----------
    quasi_identifiers : tuple of str
        Columns of the output that an attacker may know.
    sensitive, insensitive : tuple of str
        Columns that must not be learned; columns that are released as they are.
    identifying : dict
        Columns that name people, with how they are treated: remove, mask or pseudonym.
    microaggregated : tuple of str
        Columns that show one value for each class.
    others : str
        Role of every other column: "insensitive" or "dropped".
    person : str, optional
        The column of the owners; None if every record is a person, or owners are unknown.
    knows : str
        What an attacker may know of an owner: "one row" or "all rows".
    marker : str, optional
        Text of suppressed cells; None if these are missing.
    suppressed_rows : str
        What becomes of suppressed records: "blank", "keep cells" or "drop"; "none" if none is suppressed.
    suppression_limit : float
        Largest share of the people who may lose a record.
    flag : str, optional
        Column of the output that marks its suppressed rows, where the cells alone are ambiguous.
    """

    quasi_identifiers: tuple[str, ...]
    sensitive: tuple[str, ...]
    insensitive: tuple[str, ...]
    identifying: Mapping[str, str]
    microaggregated: tuple[str, ...]
    others: Literal["insensitive", "dropped"]
    person: str | None
    knows: Knows
    marker: str | None
    suppressed_rows: Literal["blank", "keep cells", "drop", "none"]
    suppression_limit: float
    flag: str | None

    def role_of(self, column: str) -> Role:
        """Return the role of a column."""
        if column in self.quasi_identifiers:
            return "quasi-identifying"
        if column in self.sensitive:
            return "sensitive"
        if column in self.insensitive:
            return "insensitive"
        return "identifying" if column in self.identifying else self.others

    def is_released(self, column: str) -> bool:
        """Whether the output has a column of the input."""
        return self.role_of(column) != "dropped" and self.identifying.get(column) != "remove"


def roles_of_plan(plan: Plan, generalized: Sequence[str], flag: str | None = None) -> Roles:
    """Return the roles of columns by a plan; `generalized` are those with a hierarchy, in the table's order.

    Nothing else of the table is used: that of a private release must not be read.
    """
    return Roles(
        quasi_identifiers=(*generalized, *plan.aggregated),
        sensitive=plan.sensitive,
        identifying=plan.identifying,
        insensitive=plan.insensitive,
        microaggregated=tuple(plan.microaggregated),
        others="insensitive" if plan.others == "keep" else "dropped",
        person=plan.person_column,
        knows=plan.knows,
        marker=plan.marker,
        suppressed_rows=plan.suppressed_rows,
        suppression_limit=plan.suppression_limit,
        flag=flag,
    )


def roles_of_masks(
    methods: Sequence[Method],
    columns: Sequence[str],
    output_columns: Sequence[str],
    person: str | None,
    others: Literal["insensitive", "dropped"],
) -> Roles:
    """Return the roles after masking: quasi-identifiers are what methods name, else all unchanged columns."""
    known_names = [name for method in methods for name in method.known_columns if name in output_columns]
    changed = {name for method in methods for name in method.column_names}
    unchanged = [name for name in output_columns if name not in changed and name in columns]
    return Roles(
        quasi_identifiers=tuple(dict.fromkeys(known_names) or unchanged or output_columns),
        sensitive=(),
        identifying={},
        insensitive=tuple(output_columns),
        microaggregated=(),
        others=others,
        person=person,
        knows="one row",
        marker=None,
        suppressed_rows="none",
        suppression_limit=0,
        flag=None,
    )
