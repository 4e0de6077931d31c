"""The classes of a table as arrays, from which all measures of risk are computed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.engines.relation import relation_of
from veil.errors import PlanError, did_you_mean
from veil.outcome.outcome import Outcome, outcome_of
from veil.plan.owners import rows_of_people
from veil.plan.plan import ASK
from veil.published.flag import find_flag
from veil.published.table import Published
from veil.tables import read
from veil.tables.rows import Knows, Rows
from veil.tables.spelling import read_person


@dataclass(frozen=True, eq=False)
class Grouped:
    """The classes of a table: records that agree in every quasi-identifier.

    Attributes
    ----------
    names
        The quasi-identifiers.
    of_record
        Class of each record; -1 if the record is suppressed.
    sizes
        Number of records in each class.
    codes
        One row a class, one column a quasi-identifier: equal numbers are equal values.
    blank
        Which cells of the classes look suppressed. None does in a table as it was collected.
    missing
        Which cells are blank or missing.
    all_records
        Number of records, suppressed ones included.
    """

    names: tuple[str, ...]
    of_record: NDArray[np.int32]
    sizes: NDArray[np.int64]
    codes: NDArray[np.int32]
    blank: NDArray[np.bool_]
    missing: NDArray[np.bool_]
    all_records: int

    @property
    def records(self) -> int:
        """Number of records that are not suppressed."""
        return int(self.sizes.sum())

    def spread(self, values: NDArray[Any], suppressed: float = 0) -> NDArray[Any]:
        """Return for each record the value of its class.

        >>> grouped = group_records(Published(Rows.of(pa.table({"a": ["x", "*", "x"]})), ["a"]))
        >>> grouped.spread(grouped.sizes).tolist()
        [2, 0, 2]
        """
        record_values = np.full(self.of_record.size, suppressed, values.dtype)
        visible_mask = self.of_record >= 0
        record_values[visible_mask] = values[self.of_record[visible_mask]]
        return record_values


def group_records(published: Published, *, untouched: bool = False) -> Grouped:
    """Group the records of a published table.

    With `untouched`, the table is as it was collected: missing values are values, and nothing is suppressed.
    If people are counted, each counts once in each class.

    >>> table = pa.table({"age": ["20", "*", "20"], "sex": ["f", "m", "f"]})
    >>> grouped = group_records(Published(Rows.of(table), ["age", "sex"]))
    >>> grouped.sizes.tolist(), grouped.codes.tolist(), grouped.blank.tolist()
    ([2, 1], [[0, 0], [1, 1]], [[False, False], [True, False]])
    """
    published = published.by_one_row()
    rows = np.flatnonzero(~published.suppressed)
    of_record = np.full(published.table.num_rows, -1, np.int32)
    of_record[rows] = published.classes
    member = np.empty(published.sizes.size, np.int64)
    member[published.classes] = rows  # any record of each class
    shape = (member.size, len(published.names))
    codes, blank, missing = np.empty(shape, np.int32), np.zeros(shape, np.bool_), np.zeros(shape, np.bool_)
    for j, name in enumerate(published.names):
        values, of_cells = published.encode(name)
        codes[:, j] = of_cells[member]
        if not untouched:
            blank[:, j] = published.blank(name)[member]
        missing[:, j] = np.array(pc.is_null(values), dtype=np.bool_)[codes[:, j]] | blank[:, j]
    names = tuple(published.names)
    return Grouped(names, of_record, published.sizes, codes, blank, missing, published.records)


def published_of(
    source: Any,
    quasi_identifiers: str | Iterable[str] | None,
    *,
    marker: str | None = "*",
    untouched: bool = False,
    population: pa.Table | None = None,
    person: str | None = ASK,
    knows: Knows = "one row",
) -> Published:
    """Return any table as a published one.

    A column `suppressed` that is no quasi-identifier marks suppressed rows, as in a release of Veil. `person`
    is the column that identifies people, if they are to be counted; a release has its own. With the default,
    a table in which people seem to have several rows is refused.
    """
    if isinstance(source, Published):
        if quasi_identifiers is not None and list(column_names(quasi_identifiers)) != source.names:
            raise PlanError(
                "`quasi_identifiers` should be left out for a published table, which has its own: "
                + ", ".join(map(repr, source.names))
            )
        return source
    outcome = outcome_of(source)
    if outcome is not None:
        return published_by(outcome, quasi_identifiers, population)
    names = column_names(quasi_identifiers)
    rows = rows_of(source, names, person, knows)
    return Published(
        rows,
        names,
        marker=marker,
        flag=find_flag(rows.table, names),
        suppressed="none" if untouched else "by cells",
        population=None if population is None else rows_of_population(population, rows, person),
    )


def published_by(
    outcome: Outcome, quasi_identifiers: str | Iterable[str] | None = None, population: pa.Table | None = None
) -> Published:
    """Return the output as published, by its own quasi-identifiers or by others."""
    if quasi_identifiers is None and population is None:
        return outcome.by_people
    names = outcome.quasi_identifiers if quasi_identifiers is None else column_names(quasi_identifiers)
    check_columns(outcome.table, names)
    if population is None:
        return outcome.seen_by(names)
    return outcome.seen_by(names, rows_of_population(population, outcome.after, outcome.person_column))


def rows_of_population(table: pa.Table, rows: Rows, person: str | None) -> Rows:
    """Return the population of some rows with its owners, if these have several rows."""
    if rows.owners.know_all_rows:
        raise PlanError(
            "people with the same rows cannot be counted in a table of the population: give its size instead, or "
            "assume that attackers know one row"
        )
    if rows.owners.are_records:
        return Rows.of(table)
    column = read_person(person)
    if column not in table.column_names:
        raise PlanError(
            f"the population has no column {column!r}, and without it only its rows could be counted, not its people"
        )
    return rows_of_people(table, column)


def rows_of(source: Any, names: Iterable[str], person: str | None, knows: Knows = "one row") -> Rows:
    """Read some columns of a table with the owners of its rows; a release has its own.

    From an engine, these are the combinations of cells in the columns, with the count of each.
    """
    from veil.risk.identify.repeats import check_people  # which imports this module

    outcome = outcome_of(source)
    if outcome is not None:
        return outcome.after
    whose = None if person == ASK else read_person(person)
    columns = [*names] if whose is None else [*names, whose]
    relation = relation_of(source)
    if relation is None:
        table, weights = table_of(source), None
        check_people(table, person)
    else:
        check_people(relation, person)
        from veil.engines.source import of_release

        combinations = of_release(relation, [each for each in columns if each in relation.table.columns])
        table, weights = combinations.table, combinations.weights
    check_columns(table, columns)
    return rows_of_people(table, whose, weights, knows, published=True)


def require_single_records(rows: Rows) -> None:
    """Refuse rows of people with several, and combinations of cells with counts, where single records are judged."""
    if not rows.owners.are_records:
        raise PlanError(
            "`subset`, `weights` and `household` assume that every row is a person, as the risk of single records does: "
            "give one row of each person"
        )
    if not rows.weights.are_one:
        raise PlanError(
            "`subset`, `weights` and `household` need single records, but a table of an engine is only read as "
            "combinations of cells with their counts: read it into memory first"
        )


def table_of(source: Any) -> pa.Table:
    """Read a table; only an Arrow table may be empty."""
    outcome = outcome_of(source)
    if outcome is not None:
        return outcome.table
    if isinstance(source, pa.Table) and not source.num_rows:
        return source
    return read(source).table


def column_names(columns: str | Iterable[str] | None) -> tuple[str, ...]:
    """Return the names of columns, one or several; refuse none, and duplicates."""
    names = (columns,) if isinstance(columns, str) else tuple(columns or ())
    if not names:
        raise PlanError("`quasi_identifiers` should name at least one column that an attacker may know")
    for name in names:
        if names.count(name) > 1:
            raise PlanError(f"column {name!r} is named twice")
    return names


def check_columns(table: pa.Table, names: Iterable[str]) -> None:
    """Refuse names of columns that the table does not have."""
    for name in names:
        if not isinstance(name, str):
            raise PlanError(
                f"name a column of the table, not a {type(name).__name__}: add the values to the table first"
            )
        if name not in table.column_names:
            raise PlanError(f"the table has no column {name!r}.{did_you_mean(name, table.column_names)}")


def histogram(sizes: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different class sizes in ascending order, and the number of classes of each.

    >>> [each.tolist() for each in histogram(np.array([3, 1, 3]))]
    [[1, 3], [1, 2]]
    """
    different, counts = np.unique(sizes, return_counts=True)
    return different.astype(np.int64), counts.astype(np.int64)
