"""A table of a session, in memory or on an engine, with cached figures about it."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import secrets
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import Field

import veil
from veil.api.open import Place, find_relation
from veil.api.release import Release
from veil.engines.relation import Relation
from veil.hierarchies import Holders, uncovered
from veil.plan.prepare import distinct_values
from veil.risk import find_repeats, propose_roles, singled_out
from veil.risk.identify.repeats import Repeated
from veil.risk.identify.roles import Proposal
from veil.risk.singling_out import SingledOut, SinglingOut
from veil.tables import Source
from veil.tables.arrow import dictionary_encoded
from veil.tables.columns import encode_values
from veil.tables.csv.bad_cells import Mistakes, find_mistakes
from veil.tables.profile import ColumnProfile
from veil.tables.snapshot import UnfinishedWarning
from veil.tables.spelling import Person, encode_people
from veil.tables.text import canonical_text
from veil.web.body import Body, Name
from veil.web.problems import Refused, not_found
from veil.web.reading import with_rows
from veil.web.tasks import Task

_FORMAT = ("kind", "separator", "encoding", "decimal", "thousands", "skip", "header", "missing", "types")
PAGE = 100
"""Rows of a page at most."""


class Page(Body):
    """A selection of rows."""

    start: Annotated[int, Field(ge=0, le=10**12)] = 0
    count: Annotated[int, Field(ge=1, le=PAGE)] = PAGE


@dataclass(frozen=True)
class TableRows:
    """Some rows as text, and the number of all."""

    start: int
    total: int
    columns: list[str]
    rows: list[list[str | None]]


class RowFilter(Body):
    """Rows whose value in a column is from `first` to `last`, like a bar of the profile, or missing."""

    column: Name
    first: Annotated[str, Field(max_length=10_000)] = ""
    last: Annotated[str, Field(max_length=10_000)] = ""
    missing: bool = False


@dataclass(frozen=True)
class TableSummary:
    """Name, size, columns and format of a table; `shown` rows are in memory, and `notes` are about opening it."""

    id: str
    name: str
    rows: int
    shown: int
    engine: str | None
    columns: list[str]
    format: dict[str, Any] | None
    notes: list[str]


@dataclass(frozen=True)
class Originals:
    """The rows of the input beside those of a release: their cells, classes, and whether they are suppressed."""

    classes: list[int | None]
    input_columns: list[str]
    input: list[list[str | None]]
    suppressed: list[bool]


def plain_name(text: str) -> str:
    """Return a text with the characters that are safe in file names on all systems.

    >>> plain_name("Aufnahmen März/2025")
    'Aufnahmen-M-rz-2025'
    """
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text)


def _records_digest(table: pa.Table) -> str:
    """Return a SHA-256 of column names and records that depends on neither order nor format nor types.

    >>> one, other = pa.table({"a": [1, 2], "b": ["x", None]}), pa.table({"b": ["NA", "X"], "a": ["2.0", "1"]})
    >>> _records_digest(one) == _records_digest(other)
    True
    """
    names = sorted(table.column_names)
    records = np.zeros((table.num_rows, 4), np.uint64)
    for name in names:
        values, codes = encode_values(table[name])
        cells = [
            hashlib.sha256(json.dumps([name, _alike(text)], default=str).encode()).digest()
            for text in (values.to_pylist() if pa.types.is_nested(values.type) else canonical_text(values))
        ]
        digests = np.frombuffer(b"".join(cells), np.uint64).reshape(-1, 4)
        records = records * np.uint64(0x9E3779B97F4A7C15) + digests[codes]
    records = records[np.lexsort(records.T)]
    return hashlib.sha256(json.dumps(names).encode() + records.tobytes()).hexdigest()


_MISSING = frozenset(["", "na", "nan", "none", "null", "n/a", "#n/a"])
_MIDNIGHT = re.compile(r"(?<=\d)[t ]0?0:00(:00(\.0+)?)?$")


def _alike(cell: Any) -> Any:
    """Normalize a cell across programs; one budget for two tables is safe, two for the same records are not.

    >>> [_alike(each) for each in ("77.0", "7.70e1", " False", "NA", None, "1992-04-30T00:00:00")]
    ['77', '77', 'false', '', '', '1992-04-30']
    """
    if cell is not None and not isinstance(cell, str):
        return cell
    text = (cell or "").strip().casefold()
    if text in _MISSING:
        return ""
    try:
        return str(Decimal(text).normalize()) if len(text) < 40 else text
    except ArithmeticError:
        return _MIDNIGHT.sub("", text)


class OpenTable:
    """A table of a session in memory, with cached figures about it."""

    engine: str | None = None
    """The engine that holds the rows, as Ibis calls it."""

    def __init__(self, name: str, source: Source, again: Callable[[], OpenTable | None]) -> None:
        """Take a table; `again`, which can be pickled, opens it after a crash."""
        self.id = secrets.token_urlsafe(12)
        self.name, self.source, self.again = name, source, again
        self.rows = source.table.num_rows
        self.notes: list[str] = []
        self.beneath: Source | None = None
        """The source whose file this one is read from, too; the reference keeps the file."""
        self._distinct: dict[str, tuple[pa.Array, NDArray[np.int64]]] = {}
        self._holders: dict[tuple[str, str], Holders] = {}
        self._singled: dict[tuple[frozenset[str], str], SingledOut] = {}
        self._orders: dict[tuple[str, bool], NDArray[np.int64]] = {}
        self._uncovered: dict[str, tuple[str, tuple[str, ...]]] = {}

    @property
    def stem(self) -> str:
        """The stem of names of files made from it: that of its own file, or the table of a database."""
        return plain_name(Path(self.name).stem) or "table"

    @property
    def arrow(self) -> pa.Table:
        """The rows in memory: all of them, or a sample if an engine holds them."""
        return self.source.table

    @functools.cached_property
    def fingerprint(self) -> str:
        """The identity of the records, in any file and order; a budget belongs to it."""
        return _records_digest(self.arrow)

    @property
    def whole(self) -> Any:
        """The whole table as an argument of Veil's functions."""
        return self.source

    def as_table(self, without: Sequence[str] = ()) -> Any:
        """Return all rows as a table of Arrow or of the engine, without some columns."""
        return self.arrow.drop_columns(list(without))

    def in_memory(self, reason: str) -> pa.Table:
        """Return all rows; refuse a table whose rows are on an engine."""
        return self.arrow

    def beside(self, release: Release, rows: NDArray[np.int64]) -> Originals:
        """Return the input of some rows of a release."""
        origins, classes = release.outcome.origins[rows], classes_of(release)[rows]
        return Originals(
            [None if each < 0 else int(each) for each in classes],
            list(self.arrow.column_names),
            as_text(self.arrow.take(pa.array(origins))),
            [bool(release.suppressed_rows[row]) for row in origins],
        )

    @functools.cached_property
    def profile(self) -> tuple[ColumnProfile, ...]:
        """The profiles of its columns."""
        return veil.profile(self.arrow)

    @functools.cached_property
    def mistakes(self) -> tuple[Mistakes, ...]:
        """The cells that prevent columns from being numbers or dates."""
        return find_mistakes(self.arrow)

    @functools.cached_property
    def proposals(self) -> tuple[Proposal, ...]:
        """The proposed roles of its columns."""
        return propose_roles(self.arrow)

    @functools.cached_property
    def repeated(self) -> tuple[Repeated, ...]:
        """The evidence that rows are about the same people."""
        return find_repeats(self.arrow)

    def look_at_columns(self, task: Task) -> None:
        """Compute the cached properties that the first pages need."""
        parts = ("profile", "proposals", "repeated", "mistakes")
        for at, part in enumerate(parts):
            task.report_progress("looking at the columns", at, len(parts))
            getattr(self, part)

    @functools.cached_property
    def _singling_out(self) -> SinglingOut:
        return SinglingOut(self.arrow)

    def require(self, name: str) -> pa.ChunkedArray:
        """Return a column."""
        if name not in self.arrow.column_names:
            raise not_found("column")
        return self.arrow[name]

    def distinct(self, name: str) -> tuple[pa.Array, NDArray[np.int64]]:
        """Return the distinct values of a column and their counts."""
        if name not in self._distinct:
            self._distinct[name] = distinct_values(self.require(name))
        return self._distinct[name]

    def uncovered(self, name: str, builder: Any) -> tuple[str, ...]:
        """Return the values of a column that a hierarchy does not cover; the last answer is cached."""
        spelling = repr(builder)
        if self._uncovered.get(name, ("", ()))[0] != spelling:
            self._uncovered[name] = spelling, uncovered(builder, self.distinct(name)[0])
        return self._uncovered[name][1]

    def holders(self, name: str, person: str) -> Holders:
        """Return distinct pairs of value and owner codes; by default spellings are different people."""
        person = person if isinstance(person, Person) else Person(person, "as written")
        if (name, repr(person)) not in self._holders:
            _, codes = dictionary_encoded(self.require(name))
            _, people = encode_people(self.require(person), person)
            width = int(people.max(initial=0)) + 1
            pairs = np.unique(codes.astype(np.int64) * width + people)
            self._holders[name, repr(person)] = np.divmod(pairs, width)
        return self._holders[name, repr(person)]

    def singled_out(self, columns: list[str], person: str | None) -> SingledOut:
        """Return how many people some columns single out; answers are cached."""
        for name in columns if person is None else [*columns, person]:
            self.require(name)
        question = (frozenset(columns), repr(person))
        if question not in self._singled:
            self._singled[question] = self._count_singled_out(columns, person)
        return self._singled[question]

    def _count_singled_out(self, columns: list[str], person: str | None) -> SingledOut:
        return self._singling_out(columns, person=person)

    def page(
        self, start: int, count: int, sort: str | None, descending: bool, filters: Sequence[RowFilter] = ()
    ) -> tuple[list[list[str | None]], int]:
        """Return a page of the filtered rows as text, in the order of a column, and their number."""
        order = None if sort is None else self._order(sort, descending)
        if filters:
            kept_mask = np.logical_and.reduce([self._mask(each) for each in filters])
            order = np.flatnonzero(kept_mask) if order is None else order[kept_mask[order]]
        if order is None:
            return as_text(self.arrow.slice(start, count)), self.arrow.num_rows
        return as_text(self.arrow.take(pa.array(order[start : start + count]))), len(order)

    def _mask(self, condition: RowFilter) -> NDArray[np.bool_]:
        """Return a mask of the rows with a value from first to last, or with a missing value."""
        column = self.require(condition.column)
        if condition.missing:
            return np.asarray(column.is_null().to_numpy(), np.bool_)
        try:
            if condition.first == condition.last:
                mask = pc.equal(column.cast(pa.string()), condition.first)
            else:
                first, last = (
                    pa.scalar(each, pa.string()).cast(column.type)
                    for each in (condition.first, condition.last)
                )
                mask = pc.and_(pc.greater_equal(column, first), pc.less_equal(column, last))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            raise Refused(f"column {condition.column!r} cannot be filtered by these values") from None
        return np.asarray(mask.fill_null(False).to_numpy(), np.bool_)

    def _order(self, name: str, descending: bool) -> NDArray[np.int64]:
        if (name, descending) not in self._orders:
            direction = "descending" if descending else "ascending"
            try:
                order = pc.sort_indices(self.require(name), sort_keys=[("", direction)])
            except pa.ArrowNotImplementedError:
                raise Refused(f"column {name!r} has values that have no order") from None
            self._orders = {(name, descending): order.to_numpy()}  # the last one only
        return self._orders[name, descending]

    def summary(self) -> TableSummary:
        """Return name, size, columns and format of the table."""
        names, shown, format = list(self.arrow.column_names), self.arrow.num_rows, self.source.format
        fields = {name: getattr(format, name) for name in _FORMAT if hasattr(format, name)} or None
        return TableSummary(self.id, self.name, self.rows, shown, self.engine, names, fields, self.notes)


class EngineTable(OpenTable):
    """A table on an engine, of which only a sample of the rows is in memory."""

    def __init__(self, relation: Relation, again: Callable[[], OpenTable | None]) -> None:
        from veil.engines.sample_rows import sample_rows  # here, as it needs Ibis

        sample = sample_rows(relation)
        super().__init__(relation.name, Source(sample.table, "pyarrow"), again)
        self.engine, self.relation, self.rows = relation.kind, relation, sample.total

    @property
    def stem(self) -> str:
        match = re.fullmatch(r"table (\S+) of .*", self.name)
        return plain_name(match[1]) if match else super().stem

    @functools.cached_property
    def fingerprint(self) -> str:
        return hashlib.sha256(self.name.encode()).hexdigest()

    @property
    def whole(self) -> Any:
        return self.as_table()

    def as_table(self, without: Sequence[str] = ()) -> Any:
        return self.relation.table.drop(*without) if without else self.relation.table

    def in_memory(self, reason: str) -> pa.Table:
        raise Refused(f"an engine holds the rows{reason}")

    def beside(self, release: Release, rows: NDArray[np.int64]) -> Originals:
        return Originals([None] * rows.size, [], [], [False] * rows.size)

    @functools.cached_property
    def repeated(self) -> tuple[Repeated, ...]:
        return find_repeats(self.relation)  # a small sample has hardly any person twice

    def _count_singled_out(self, columns: list[str], person: str | None) -> SingledOut:
        return singled_out(self.as_table(), columns, person=person)


def open_rows(name: str, source: Source, arrow_file: Path) -> OpenTable:
    """Open the rows of a file that were read before and are in `arrow_file`."""
    return OpenTable(
        name, with_rows(source, arrow_file), functools.partial(open_rows, name, source, arrow_file)
    )


def open_relation(place: Place) -> OpenTable | None:
    """Open a table that an engine reads; None if memory reads it. The rows stay in the engine."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", UnfinishedWarning)
        relation = find_relation(place, None, "auto")
    if relation is None:
        return None
    table = EngineTable(relation, functools.partial(open_relation, place))
    notes = [str(each.message) for each in caught if issubclass(each.category, UnfinishedWarning)]
    table.notes = [*notes, *([relation.note] if relation.note else [])]
    return table


def classes_of(release: Release) -> NDArray[np.int64]:
    """Return the class of each row of a release; -1 for suppressed ones."""
    outcome = release.outcome
    classes = np.full(outcome.table.num_rows, -1, np.int64)
    classes[~outcome.by_records.suppressed] = outcome.by_records.classes
    return classes


def as_text(rows: pa.Table) -> list[list[str | None]]:
    """Return the cells as text, row by row; missing ones as None."""
    columns = [
        [None if each is None else str(each) for each in rows[name].to_pylist()] for name in rows.column_names
    ]
    return [list(cells) for cells in zip(*columns, strict=True)]
