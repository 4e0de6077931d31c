"""Owners of the rows of a table to be masked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import pyarrow as pa

from veil.engines.relation import Relation
from veil.errors import PlanError, Say, did_you_mean
from veil.outcome.method import Method
from veil.plan.owners import rows_of_people
from veil.plan.plan import ASK
from veil.risk.identify.repeats import check_people
from veil.tables.rows import Rows


def check_repeats(table: pa.Table | Relation, person: str | None, methods: Iterable[Method]) -> None:
    """Refuse a table where people seem to have several rows, if a promise counts and `person` is undecided."""
    if any(method.counts_records for method in methods):
        check_people(table, person)


def rows_to_mask(table: pa.Table, person: str | None, methods: Sequence[Method], order: str) -> Rows:
    """Return a table with the owners of its rows: those that `person` names, unless each of them has one row.

    Refused are methods that cannot count people, and outputs that show which rows belong to one person: one
    known row would lead to all.
    """
    check_repeats(table, person, methods)
    if person in (None, ASK):
        return Rows.of(table)
    if person not in table.column_names:
        hint = did_you_mean(person, table.column_names)
        raise PlanError("the table has no column ", repr(person), ", which ", Say("person"), f" names.{hint}")
    rows = rows_of_people(table, person).reduced()
    if not rows.owners.are_records:
        for method in methods:
            _refuse_links(method, person, methods, order)
            method.check_owners(rows.owners)
    return rows


def _refuse_links(method: Method, person: str, methods: Iterable[Method], order: str) -> None:
    if not method.counts_records:
        return
    if order == "input":
        raise PlanError(
            "in the order of the input, the rows of a person are next to each other, so that "
            f"anyone who knows one row finds the others, and {type(method).__name__} can promise "
            "nothing then. Use a random order (",
            Say("order", "random"),
            ")",
        )
    if any(person in each.column_names for each in methods):
        raise PlanError(
            f"the values that a step gives to {person!r} show which rows belong to one person, "
            f"so that anyone who knows one row finds all of them, and {type(method).__name__} can "
            "promise nothing then. Leave that step out, so that the column is removed; or use "
            "`veil.anonymize` with ",
            Say("knows", "all rows"),
        )
