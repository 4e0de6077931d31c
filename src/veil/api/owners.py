"""Owners of the rows of a table to be masked."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from veil.engines.relation import Relation
from veil.errors import PlanError, Say, did_you_mean
from veil.outcome.method import Method
from veil.plan.owners import number_people
from veil.plan.plan import ASK
from veil.risk.identify.repeats import check_people


@dataclass(frozen=True)
class Who:
    """The `person` option of a mask, with its methods and the order of its output."""

    said: str | None
    methods: tuple[Method, ...]
    order: str

    @property
    def person(self) -> str | None:
        """The column that distinguishes people; None if every row is a person, or it is undecided."""
        return None if self.said == ASK else self.said

    @property
    def counting(self) -> tuple[Method, ...]:
        """The methods whose promises count records."""
        return tuple(method for method in self.methods if method.counts_records)

    @property
    def changed(self) -> bool:
        """Whether a step changes the column that distinguishes people, so that it may stay."""
        return any(self.person in method.column_names for method in self.methods)

    def have_several_rows(self, table: pa.Table) -> bool:
        """Whether people have several rows; refuse a table where this is likely and undecided."""
        self.check_people(table)
        if self.person is None:
            return False
        if self.person not in table.column_names:
            hint = did_you_mean(self.person, table.column_names)
            raise PlanError(
                "the table has no column ", repr(self.person), ", which ", Say("person"), f" names.{hint}"
            )
        people = int(number_people(table[self.person], self.person).max(initial=-1)) + 1
        several: bool = people < table.num_rows
        if several:
            self._refuse_links()
        return several

    def check_people(self, table: pa.Table | Relation) -> None:
        """Refuse a table where people seem to have several rows, if a promise counts and `person` is open."""
        if self.counting:
            check_people(table, self.said)

    def _refuse_links(self) -> None:
        """Refuse outputs that show which rows belong to one person: one known row would lead to all."""
        for method in self.counting:
            if self.order == "input":
                raise PlanError(
                    "in the order of the input, the rows of a person are next to each other, so that "
                    f"anyone who knows one row finds the others, and {type(method).__name__} can promise "
                    "nothing then. Use a random order (",
                    Say("order", "random"),
                    ")",
                )
            if self.changed:
                raise PlanError(
                    f"the values that a step gives to {self.person!r} show which rows belong to one person, "
                    f"so that anyone who knows one row finds all of them, and {type(method).__name__} can "
                    "promise nothing then. Leave that step out, so that the column is removed; or use "
                    "`veil.anonymize` with ",
                    Say("knows", "all rows"),
                )
