"""Research subsets: which rows of a table are released, while the whole table is the population.

Four ways to choose them, each a declared value that a recipe can name: `RowNumbers` by number, `Matching` by
another table, `Where` by a query, `Random` by chance. `subset_of` turns a user's value into one of them.
"""

from __future__ import annotations

import os
import secrets
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, Field, PlainSerializer, TypeAdapter, WithJsonSchema

from veil.base.arrays import Integers, Mask
from veil.base.declare import declared
from veil.base.exact import decimal_fraction
from veil.base.references import MARK, Reference
from veil.base.wording import plural
from veil.errors import InputError, ParameterError, PlanError, VeilError, did_you_mean
from veil.models.query import Query, is_number
from veil.tables import Csv, Source, read
from veil.tables.columns import encode_values
from veil.tables.formats import format_of
from veil.tables.frames import frame_of
from veil.tables.text import canonical_text

_SHOWN = 5
"""Most row numbers or cells in a text."""


def _row_numbers(value: Any) -> Any:
    if isinstance(value, str | bytes | Mapping):
        raise ValueError(f"`rows` of RowNumbers should be a list of row numbers, not {value!r}")
    if isinstance(value, set | frozenset):
        value = sorted(value)
    return (
        value.tolist() if hasattr(value, "tolist") else list(value) if isinstance(value, Iterable) else value
    )


@declared
class RowNumbers:
    """Rows by number, the first row of the table being 0. A number that is listed twice counts once.

    >>> RowNumbers([0, 2]).mask(pa.table({"age": [30, 40, 50]})).tolist()
    [True, False, True]
    """

    rows: Annotated[
        tuple[Annotated[int, Field(ge=0, strict=True)], ...],
        BeforeValidator(_row_numbers, json_schema_input_type=list[int]),
        Field(description="row numbers, from 0"),
    ]
    total: Annotated[
        int | None, Field(ge=1, description="rows of the table the numbers are meant for; checked if given")
    ] = None
    kind: Literal["RowNumbers"] = Field(default="RowNumbers", repr=False, kw_only=True)

    def mask(self, table: pa.Table) -> Mask:
        if self.total is not None and self.total != table.num_rows:
            raise ParameterError(
                f"`total` of RowNumbers should be {table.num_rows}, the number of rows of the table, not {self.total}: "
                "the mask or the row numbers are meant for another table"
            )
        if self.rows and max(self.rows) >= table.num_rows:
            wrong = next(row for row in self.rows if row >= table.num_rows)
            raise ParameterError(
                f"`rows` of RowNumbers should be between 0 and {table.num_rows - 1}, as the table has "
                f"{plural(table.num_rows, 'row')}, not {wrong}"
            )
        row_mask = np.zeros(table.num_rows, np.bool_)
        row_mask[np.array(self.rows, np.int64)] = True
        return row_mask

    def __repr__(self) -> str:
        if len(self.rows) <= 2 * _SHOWN:
            return f"RowNumbers({list(self.rows)})"
        first = ", ".join(map(str, self.rows[:_SHOWN]))
        return f"RowNumbers([{first}, … {len(self.rows)} row numbers])"


def _table_or_path(value: Any) -> str | pa.Table:
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    if frame_of(value) is None:
        raise ValueError(f"`source` of Matching should be a path or a table, not a {type(value).__name__}")
    try:
        return read(value).table
    except InputError as error:
        raise ValueError(f"`source` of Matching: {error}") from None


def _path(value: str | pa.Table) -> str:
    if isinstance(value, str):
        return value
    raise PlanError(
        "the research subset is a table in memory, which a recipe cannot contain: save it to a file and use "
        "Matching('subset.csv')"
    )


_FILE = Reference("a file with a research subset", "say it as a query or by row numbers instead")


@declared
class Matching:
    """Rows by another table: each of its rows takes one equal row that is not taken yet, the first there is.

    All columns of the other table are compared, by value: 4, 4.0 and the text 4 are equal, and so are two
    missing values. If it lacks a column, and equal rows differ there, so that it matters which one is taken,
    the subset is refused.

    >>> people = pa.table({"age": [30, 40, 30], "sex": ["f", "m", "f"]})
    >>> Matching(pa.table({"age": [30], "sex": ["f"]})).mask(people).tolist()
    [True, False, False]
    """

    source: Annotated[
        str | pa.Table,
        BeforeValidator(_table_or_path),
        _FILE,
        PlainSerializer(_path),
        WithJsonSchema({"type": "string", MARK: True}),
        Field(description="path of a file with the rows, or the rows as a table"),
    ]
    kind: Literal["Matching"] = Field(default="Matching", repr=False, kw_only=True)

    def mask(self, table: pa.Table) -> Mask:
        other = read(self.source)
        names = other.table.column_names
        for name in names:
            if name not in table.column_names:
                raise PlanError(
                    f"{self._name} has a column {name!r}, which the table does not "
                    f"have.{did_you_mean(name, table.column_names)}"
                )
        numbers, other_numbers = row_numbers([table, other.table], names)
        groups = int(max(numbers.max(initial=-1), other_numbers.max(initial=-1))) + 1
        places, demand = np.bincount(numbers, minlength=groups), np.bincount(other_numbers, minlength=groups)
        if (demand > places).any():
            raise PlanError(self._without_match(other, other_numbers, places))
        if len(names) < table.num_columns:
            self._refuse_arbitrary(table, numbers, (demand > 0) & (demand < places))
        return _place_in_group(numbers) < demand[numbers]

    def _without_match(self, other: Source, other_numbers: Integers, places: Integers) -> str:
        row = int(np.flatnonzero(_place_in_group(other_numbers) >= places[other_numbers])[0])
        cells = other.table.slice(row, 1).to_pylist()[0]
        text = ", ".join(f"{name} {value!r}" for name, value in list(cells.items())[:_SHOWN])
        text += ", …" if len(cells) > _SHOWN else ""
        equal = int(places[other_numbers[row]])
        why = f"has only {plural(equal, 'such row')}, taken already" if equal else "has no such row"
        return f"{self._name}, {_where(other, row)}: no match for {text}: the table {why}"

    def _refuse_arbitrary(self, table: pa.Table, numbers: Integers, partly: Mask) -> None:
        rows = np.flatnonzero(partly[numbers])
        for name in table.column_names:
            value_numbers = row_numbers([table.select([name]).take(pa.array(rows))], [name])[0]
            order = np.lexsort((value_numbers, numbers[rows]))
            group, value = numbers[rows][order], value_numbers[order]
            differs = np.flatnonzero((group[1:] == group[:-1]) & (value[1:] != value[:-1]))
            if differs.size:
                pair = rows[order[differs[0]]], rows[order[differs[0] + 1]]
                raise PlanError(
                    f"{self._name} does not distinguish rows {min(pair)} and {max(pair)} of the table, but "
                    f"contains only some of such rows: add the column {name!r}, in which they differ"
                )

    @property
    def _name(self) -> str:
        return self.source if isinstance(self.source, str) else "the table of the research subset"

    def __repr__(self) -> str:
        source = (
            repr(self.source)
            if isinstance(self.source, str)
            else f"<table of {plural(self.source.num_rows, 'row')}>"
        )
        return f"Matching({source})"


@declared
class Where:
    """Rows that a query is true of: comparisons of columns with values, joined by and, or, not and brackets.

    Comparisons are = (or ==), !=, <, <=, >, >=, `is missing` and `is not missing` (or null). Text is in
    quotes; numbers, dates (2020-01-31, 2020-01-31T12:00), true and false are not. Names that are not one word
    go between backticks. Comparisons with a missing value, and their negations, are neither true nor false.

    >>> people = pa.table({"age": [30, 40, None], "birth place": ["Rome", "Oslo", "Rome"]})
    >>> Where("age < 35 or not `birth place` = 'Oslo'").mask(people).tolist()
    [True, False, True]
    >>> Where("age >= and sex = 'f'")
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `query` of Where, character 8: a value should follow, not 'and', in "age >= and sex = 'f'"
    """

    query: Annotated[str, Field(description="what is true of the rows, such as age >= 30 and sex = 'f'")]
    kind: Literal["Where"] = Field(default="Where", repr=False, kw_only=True)

    def __post_init__(self) -> None:
        Query(self.query).condition()

    def mask(self, table: pa.Table) -> Mask:
        try:
            truth = Query(self.query).condition()(table)
        except ValueError as error:
            raise PlanError(str(error)) from None
        return np.array(pc.fill_null(truth, False), dtype=np.bool_)


@declared
class Random:
    """Each row by itself with the given probability, by random numbers of the operating system.

    Rows are drawn once for each table that is read: all models of a plan that name the same probability get
    the same rows, and the next run draws others. So a recipe defines how rows are drawn and never which; to
    fix them, write their numbers down (`RowNumbers`).

    >>> Random(0.5).mask(pa.table({"age": [30] * 1000})).mean() > 0.3
    np.True_
    """

    probability: Annotated[float, Field(gt=0, le=1, description="probability that a row is in the subset")]
    for_testing_seed: int | None = Field(
        default=None,
        ge=0,
        kw_only=True,
        description="makes the draw repeatable; who knows it knows the rows, so never for a real release",
    )
    kind: Literal["Random"] = Field(default="Random", repr=False, kw_only=True)

    def mask(self, table: pa.Table) -> Mask:
        """Return a mask of the rows of the subset; the same for the same table."""
        with _DRAWING:
            draws = _draws_of(table)
            key = (self.probability, self.for_testing_seed)
            if key not in draws:
                draws[key] = self._draw(table.num_rows)
            return draws[key].copy()

    def _draw(self, rows: int) -> Mask:
        """Compare 64 random bits a row with the first 64 bits of the probability; if equal, further bits."""
        draw: Callable[[int], bytes] = secrets.SystemRandom().randbytes
        if self.for_testing_seed is not None:
            draw = np.random.default_rng(self.for_testing_seed).bytes
        rest = decimal_fraction(self.probability)
        if rest == 1:
            return np.ones(rows, np.bool_)
        row_mask = np.zeros(rows, np.bool_)
        open_rows = np.arange(rows)
        while open_rows.size:
            bits = np.frombuffer(draw(8 * open_rows.size), np.uint64)
            threshold, rest = divmod(rest * 2**64, 1)
            row_mask[open_rows] = bits < threshold
            open_rows = open_rows[bits == threshold] if rest else open_rows[:0]
        return row_mask


_Draws = dict[tuple[float, int | None], Mask]
_DRAWN: dict[int, tuple[weakref.ref[Any], _Draws]] = {}
_DRAWING = threading.Lock()


def _draws_of(table: pa.Table) -> _Draws:
    """Return the draws of a table, which live as long as the table."""
    entry = _DRAWN.get(id(table))
    if entry is None or entry[0]() is not table:
        for number in [key for key, (alive, _) in _DRAWN.items() if alive() is None]:
            del _DRAWN[number]
        entry = _DRAWN[id(table)] = (weakref.ref(table), {})
    return entry[1]


AnySubset = Annotated[RowNumbers | Matching | Where | Random, Field(discriminator="kind")]
SUBSETS: dict[str, type[RowNumbers | Matching | Where | Random]] = {
    "RowNumbers": RowNumbers,
    "Matching": Matching,
    "Where": Where,
    "Random": Random,
}


def subset_of(value: Any) -> RowNumbers | Matching | Where | Random:
    """Turn a value of a user or a recipe into a research subset.

    Row numbers, a mask with one truth value for each row, a query, the path of a file, a frame with the rows,
    or a mapping with a `kind`. Text that ends like a table file (.csv, .parquet, …) is a path, other text a
    query.

    >>> subset_of([0, 5]), subset_of("age > 30"), subset_of("subset.csv"), subset_of([True, False])
    (RowNumbers([0, 5]), Where(query='age > 30'), Matching('subset.csv'), RowNumbers([0]))
    """
    if isinstance(value, RowNumbers | Matching | Where | Random):
        return value
    if isinstance(value, str):
        return Matching(value) if _is_path(value) else Where(value)
    if isinstance(value, os.PathLike):
        return Matching(value)
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if frame_of(value) is not None:
        return Matching(value)
    numbers = _row_numbers(value)
    if not isinstance(numbers, Sequence):
        raise ParameterError(
            f"a research subset should be row numbers, a mask, a query, a path or a frame, not {value!r}"
        )
    if numbers and all(isinstance(each, bool) for each in numbers):
        return RowNumbers(tuple(np.flatnonzero(numbers).tolist()), len(numbers))
    return RowNumbers(tuple(numbers))


def _from_mapping(value: Mapping[Any, Any]) -> RowNumbers | Matching | Where | Random:
    kind, fields = value.get("kind"), {str(name): each for name, each in value.items() if name != "kind"}
    if kind not in SUBSETS:
        problem = "`kind` is required" if kind is None else f"there is no kind {kind!r} of research subset"
        raise ParameterError(f"{problem}.{did_you_mean(str(kind), SUBSETS)}")
    return SUBSETS[kind](**fields)


def _is_path(text: str) -> bool:
    try:
        format_of(Path(text))
    except VeilError:
        return False
    return True


def _read_subset(value: Any) -> Any:
    try:
        return None if value is None else subset_of(value)
    except ParameterError as error:  # a ValueError gets the line of the recipe
        raise ValueError(str(error)) from None


def _spell_subset(value: RowNumbers | Matching | Where | Random | None) -> Any:
    if value is None:
        return None
    fields = TypeAdapter(type(value)).dump_python(value, exclude_defaults=True)
    return {"kind": value.kind, **fields}


SubsetField = Annotated[
    AnySubset | None,
    BeforeValidator(_read_subset, json_schema_input_type=str | list[int] | AnySubset | None),
    PlainSerializer(_spell_subset),
]
"""The type of a parameter for a research subset in any of its forms."""


def row_numbers(tables: Sequence[pa.Table], names: Sequence[str]) -> list[Integers]:
    """Number the rows of tables such that equal rows have equal numbers, from 0 without gaps.

    >>> [each.tolist() for each in row_numbers([pa.table({"a": ["1", "2"]}), pa.table({"a": [2]})], ["a"])]
    [[0, 1], [1]]
    """
    numbers, _ = _dense(numbers_with_gaps(tables, names))
    return np.split(numbers, np.cumsum([table.num_rows for table in tables])[:-1])


def numbers_with_gaps(tables: Sequence[pa.Table], names: Sequence[str]) -> Integers:
    """Number the rows of all tables, one table after the other, such that equal rows have equal numbers."""
    numbers = np.zeros(sum(table.num_rows for table in tables), np.int64)
    different = 1
    for name in names:
        # Compare the distinct values of each table, which are fewer than its rows.
        columns = [encode_values(table[name]) for table in tables]
        values, codes = encode_values(_comparable([pa.chunked_array([distinct]) for distinct, _ in columns]))
        if different * len(values) >= 2**63:
            numbers, different = _dense(numbers)
        numbers *= len(values)
        different *= len(values)
        row = first = 0
        for distinct, places in columns:
            numbers[row : row + places.size] += codes[first : first + len(distinct)][places]
            row, first = row + places.size, first + len(distinct)
    return numbers


def _dense(numbers: Integers) -> tuple[Integers, int]:
    """Number distinct integers in order of first appearance; also return how many there are."""
    encoded = pa.array(numbers).dictionary_encode()
    return np.array(encoded.indices, dtype=np.int64), len(encoded.dictionary)


def _comparable(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Concatenate columns, as text if their types differ."""
    plain = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in columns
    ]
    if len({column.type for column in plain}) > 1:
        numeric = all(is_number(column.type) for column in plain)
        plain = [_as_text(column, shortest=numeric) for column in plain]
    return pa.chunked_array([chunk for column in plain for chunk in column.chunks], plain[0].type)


def _as_text(column: pa.ChunkedArray, *, shortest: bool) -> pa.ChunkedArray:
    encoded = column.combine_chunks().dictionary_encode()
    texts = canonical_text(encoded.dictionary)
    if shortest:  # decimals keep their places, so 4.50 is not the text of 4.5
        texts = [text.rstrip("0").rstrip(".") if text and "." in text else text for text in texts]
    return pa.chunked_array([pa.array(texts, pa.string()).take(encoded.indices)])


def _place_in_group(numbers: Integers) -> Integers:
    """Count the equal entries before each entry."""
    order = np.argsort(numbers, kind="stable")
    ranked = numbers[order]
    starts = np.flatnonzero(np.diff(ranked, prepend=-1))
    places = np.empty(numbers.size, np.int64)
    places[order] = np.arange(numbers.size) - np.repeat(starts, np.diff(starts, append=numbers.size))
    return places


def _where(source: Source, row: int) -> str:
    """Return the place of a row for a message: its line in a CSV file, else its number."""
    if not isinstance(source.format, Csv):
        return f"row {row}"
    breaks = 0
    for column in source.table.slice(0, row).columns:
        if pa.types.is_string(column.type):
            breaks += sum(text.count("\n") for text in column.to_pylist() if text)
    return f"line {row + breaks + (2 if source.format.header else 1) + source.format.skip} (row {row})"
