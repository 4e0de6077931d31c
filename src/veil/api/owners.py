"""Who the rows of a table to be masked are about: what is said of it, and what masking methods make of that."""

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
    """What was said of whom the rows are about, with the methods that have to know and the order of what they make."""

    said: str | None
    methods: tuple[Method, ...]
    order: str

    @property
    def person(self) -> str | None:
        """The column that tells people apart; None if every row is a person, or nobody has said."""
        return None if self.said == ASK else self.said

    @property
    def counting(self) -> tuple[Method, ...]:
        """The methods whose promises would count records."""
        return tuple(method for method in self.methods if method.counts_records)

    @property
    def changed(self) -> bool:
        """Whether a step changes the column that tells people apart, so that it may stay."""
        return any(self.person in method.column_names for method in self.methods)

    def have_several_rows(self, table: pa.Table) -> bool:
        """Tell whether people have several rows, by what was said; refuse a table that seems so and nobody has spoken of."""
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
        """Refuse a table that seems to have several rows of a person, where promises count and nobody has spoken of them."""
        if self.counting:
            check_people(table, self.said)

    def _refuse_links(self) -> None:
        """Refuse what tells which rows belong to one person: whoever knows one row would find them all."""
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
