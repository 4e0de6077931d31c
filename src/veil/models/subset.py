"""Research subsets: which rows of a table are released, while the whole table stands for the population.

Four ways to choose them, each a declared value that a recipe can name: `Rows` by number, `Matching` by another
table, `Where` by a query, `Random` by chance. `subset_of` finds the right one for what a user has at hand.
"""

from __future__ import annotations

import functools
import operator
import os
import re
import secrets
import threading
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, PlainSerializer, TypeAdapter, WithJsonSchema

from veil.declare import declared
from veil.errors import InputError, ParameterError, PlanError, VeilError, did_you_mean
from veil.exact import decimal_fraction
from veil.published import encoded
from veil.tables import Csv, Source, read
from veil.tables.formats import format_of
from veil.tables.frames import frame_of
from veil.tables.text import canonical_text

_SHOWN = 5
"""Row numbers or cells that a text shows before it stops."""


def _row_numbers(value: Any) -> Any:
    if isinstance(value, str | bytes | Mapping):
        raise ValueError(f"`rows` of Rows should be a list of row numbers, not {value!r}")
    if isinstance(value, set | frozenset):
        value = sorted(value)
    return (
        value.tolist() if hasattr(value, "tolist") else list(value) if isinstance(value, Iterable) else value
    )


@declared
class Rows:
    """Rows by number, the first row of the table being 0. A number that is listed twice counts once.

    >>> Rows([0, 2]).mask(pa.table({"age": [30, 40, 50]})).tolist()
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
    kind: Literal["Rows"] = Field(default="Rows", repr=False, kw_only=True)

    def mask(self, table: pa.Table) -> NDArray[np.bool_]:
        """Tell for each row of the table whether it is chosen."""
        if self.total is not None and self.total != table.num_rows:
            raise ParameterError(
                f"`total` of Rows should be {table.num_rows}, the number of rows of the table, not {self.total}: "
                "the mask or the row numbers are meant for another table"
            )
        if self.rows and max(self.rows) >= table.num_rows:
            wrong = next(row for row in self.rows if row >= table.num_rows)
            raise ParameterError(
                f"`rows` of Rows should be between 0 and {table.num_rows - 1}, as the table has "
                f"{table.num_rows} rows, not {wrong}"
            )
        chosen = np.zeros(table.num_rows, np.bool_)
        chosen[np.array(self.rows, np.int64)] = True
        return chosen

    def __repr__(self) -> str:
        if len(self.rows) <= 2 * _SHOWN:
            return f"Rows({list(self.rows)})"
        first = ", ".join(map(str, self.rows[:_SHOWN]))
        return f"Rows([{first}, … {len(self.rows)} row numbers])"


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
        "the research subset is a table in memory, which a recipe cannot name: save it to a file and say "
        "Matching('subset.csv')"
    )


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
        PlainSerializer(_path),
        WithJsonSchema({"type": "string"}),
        Field(description="path of a file with the rows, or the rows as a table"),
    ]
    kind: Literal["Matching"] = Field(default="Matching", repr=False, kw_only=True)

    def mask(self, table: pa.Table) -> NDArray[np.bool_]:
        """Tell for each row of the table whether it is chosen."""
        found = read(self.source)
        names = found.table.column_names
        for name in names:
            if name not in table.column_names:
                raise PlanError(
                    f"{self._name} has a column {name!r}, and the table has not.{did_you_mean(name, table.column_names)}"
                )
        have, wanted = row_numbers([table, found.table], names)
        groups = int(max(have.max(initial=-1), wanted.max(initial=-1))) + 1
        places, demand = np.bincount(have, minlength=groups), np.bincount(wanted, minlength=groups)
        if (demand > places).any():
            raise PlanError(self._without_match(found, wanted, places))
        if len(names) < table.num_columns:
            self._refuse_arbitrary(table, have, (demand > 0) & (demand < places))
        return _place_in_group(have) < demand[have]

    def _without_match(self, found: Source, wanted: NDArray[np.int64], places: NDArray[np.int64]) -> str:
        row = int(np.flatnonzero(_place_in_group(wanted) >= places[wanted])[0])
        cells = found.table.slice(row, 1).to_pylist()[0]
        shown = ", ".join(f"{name} {value!r}" for name, value in list(cells.items())[:_SHOWN])
        shown += ", …" if len(cells) > _SHOWN else ""
        equal = int(places[wanted[row]])
        why = f"has only {equal} such rows, all taken" if equal else "has no such row"
        return f"{self._name}, {_where(found, row)}: no match for {shown}: the table {why}"

    def _refuse_arbitrary(self, table: pa.Table, have: NDArray[np.int64], partly: NDArray[np.bool_]) -> None:
        rows = np.flatnonzero(partly[have])
        for name in table.column_names:
            number = row_numbers([table.select([name]).take(pa.array(rows))], [name])[0]
            order = np.lexsort((number, have[rows]))
            group, value = have[rows][order], number[order]
            differs = np.flatnonzero((group[1:] == group[:-1]) & (value[1:] != value[:-1]))
            if differs.size:
                pair = rows[order[differs[0]]], rows[order[differs[0] + 1]]
                raise PlanError(
                    f"{self._name} does not tell rows {min(pair)} and {max(pair)} of the table apart, and takes only "
                    f"some of such rows: add the column {name!r}, in which they differ"
                )

    @property
    def _name(self) -> str:
        return self.source if isinstance(self.source, str) else "the table of the research subset"

    def __repr__(self) -> str:
        shown = (
            repr(self.source) if isinstance(self.source, str) else f"<table of {self.source.num_rows} rows>"
        )
        return f"Matching({shown})"


@declared
class Where:
    """Rows that a query is true of: comparisons of columns with values, joined by and, or, not and brackets.

    Comparisons are = (or ==), !=, <, <=, >, >=, `is missing` and `is not missing` (or null). Text stands in
    quotes; numbers, dates (2020-01-31, 2020-01-31T12:00), true and false do not. Names that are not one word go
    between backticks. A comparison with a missing value is neither true nor false, and neither is its negation.

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
        _Query(self.query).condition()

    def mask(self, table: pa.Table) -> NDArray[np.bool_]:
        """Tell for each row of the table whether it is chosen."""
        try:
            truth = _Query(self.query).condition()(table)
        except ValueError as error:
            raise PlanError(str(error)) from None
        return np.array(pc.fill_null(truth, False), dtype=np.bool_)


@declared
class Random:
    """Each row by itself with the given probability, by random numbers of the operating system.

    Rows are drawn once for each table that is read: all models of a plan that name the same probability get the
    same rows, and the next run draws others. So a recipe says how rows are drawn and never which; to fix
    them, write their numbers down (`Rows`).

    >>> Random(0.5).mask(pa.table({"age": [30] * 1000})).mean() > 0.3
    np.True_
    """

    probability: Annotated[float, Field(gt=0, le=1, description="chance of each row to be in the subset")]
    for_testing_seed: int | None = Field(
        default=None,
        ge=0,
        kw_only=True,
        description="makes the draw repeatable; who knows it knows the rows, so never for a real release",
    )
    kind: Literal["Random"] = Field(default="Random", repr=False, kw_only=True)

    def mask(self, table: pa.Table) -> NDArray[np.bool_]:
        """Tell for each row of the table whether it is chosen; the same answer for the same table."""
        with _DRAWING:
            drawn = _draws_of(table)
            key = (self.probability, self.for_testing_seed)
            if key not in drawn:
                drawn[key] = self._draw(table.num_rows)
            return drawn[key].copy()

    def _draw(self, rows: int) -> NDArray[np.bool_]:
        """Compare 64 random bits a row with the first 64 bits of the probability, and further bits where equal."""
        draw: Callable[[int], bytes] = secrets.SystemRandom().randbytes
        if self.for_testing_seed is not None:
            draw = np.random.default_rng(self.for_testing_seed).bytes
        rest = decimal_fraction(self.probability)
        if rest == 1:
            return np.ones(rows, np.bool_)
        chosen = np.zeros(rows, np.bool_)
        open_rows = np.arange(rows)
        while open_rows.size:
            bits = np.frombuffer(draw(8 * open_rows.size), np.uint64)
            threshold, rest = divmod(rest * 2**64, 1)
            chosen[open_rows] = bits < threshold
            open_rows = open_rows[bits == threshold] if rest else open_rows[:0]
        return chosen


_Draws = dict[tuple[float, int | None], NDArray[np.bool_]]
_DRAWN: dict[int, tuple[weakref.ref[Any], _Draws]] = {}
_DRAWING = threading.Lock()


def _draws_of(table: pa.Table) -> _Draws:
    """What has been drawn for a table; forgotten when the table is."""
    known = _DRAWN.get(id(table))
    if known is None or known[0]() is not table:
        for gone in [key for key, (alive, _) in _DRAWN.items() if alive() is None]:
            del _DRAWN[gone]
        known = _DRAWN[id(table)] = (weakref.ref(table), {})
    return known[1]


AnySubset = Annotated[Rows | Matching | Where | Random, Field(discriminator="kind")]
SUBSETS: dict[str, type[Rows | Matching | Where | Random]] = {
    "Rows": Rows,
    "Matching": Matching,
    "Where": Where,
    "Random": Random,
}


def subset_of(value: Any) -> Rows | Matching | Where | Random:
    """Turn what a user or a recipe has at hand into a research subset.

    Row numbers, a mask with one truth value for each row, a query, the path of a file or a frame with the rows, or
    a mapping with a `kind`. Text that ends like a table file (.csv, .parquet, …) is a path, other text a query.

    >>> subset_of([0, 5]), subset_of("age > 30"), subset_of("subset.csv"), subset_of([True, False])
    (Rows([0, 5]), Where(query='age > 30'), Matching('subset.csv'), Rows([0]))
    """
    if isinstance(value, Rows | Matching | Where | Random):
        return value
    if isinstance(value, str):
        return Matching(value) if _is_path(value) else Where(value)
    if isinstance(value, os.PathLike):
        return Matching(value)
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if frame_of(value) is not None:
        return Matching(value)
    listed = _row_numbers(value)
    if not isinstance(listed, Sequence):
        raise ParameterError(
            f"a research subset is given by row numbers, a mask, a query, a path or a frame, not {value!r}"
        )
    if listed and all(isinstance(each, bool) for each in listed):
        return Rows(tuple(np.flatnonzero(listed).tolist()), len(listed))
    return Rows(tuple(listed))


def _from_mapping(value: Mapping[Any, Any]) -> Rows | Matching | Where | Random:
    kind, fields = value.get("kind"), {str(name): each for name, each in value.items() if name != "kind"}
    if kind not in SUBSETS:
        given = "`kind` is required" if kind is None else f"there is no kind {kind!r} of research subset"
        raise ParameterError(f"{given}.{did_you_mean(str(kind), SUBSETS)}")
    return SUBSETS[kind](**fields)


def _is_path(text: str) -> bool:
    try:
        format_of(Path(text))
    except VeilError:
        return False
    return True


def _given(value: Any) -> Any:
    try:
        return None if value is None else subset_of(value)
    except ParameterError as error:  # as a ValueError, so that a recipe can say on which line
        raise ValueError(str(error)) from None


def _spelled(value: Rows | Matching | Where | Random | None) -> Any:
    if value is None:
        return None
    fields = TypeAdapter(type(value)).dump_python(value, exclude_defaults=True)
    return {"kind": value.kind, **fields}


SubsetField = Annotated[
    AnySubset | None,
    BeforeValidator(_given, json_schema_input_type=str | list[int] | AnySubset | None),
    PlainSerializer(_spelled),
]
"""The type of a parameter that takes a research subset in any of its forms."""


def row_numbers(tables: Sequence[pa.Table], names: Sequence[str]) -> list[NDArray[np.int64]]:
    """Number the rows of tables such that equal rows have equal numbers, counted from 0 without gaps.

    >>> [each.tolist() for each in row_numbers([pa.table({"a": ["1", "2"]}), pa.table({"a": [2]})], ["a"])]
    [[0, 1], [1]]
    """
    numbers = np.zeros(sum(table.num_rows for table in tables), np.int64)
    different = 1
    for name in names:
        values, codes = encoded(_comparable([table[name] for table in tables]))
        if different * len(values) >= 2**63:
            numbers, different = _dense(numbers)
        numbers = numbers * len(values) + codes
        different *= len(values)
    numbers, _ = _dense(numbers)
    return np.split(numbers, np.cumsum([table.num_rows for table in tables])[:-1])


def _dense(numbers: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    found, inverse = np.unique(numbers, return_inverse=True)
    return inverse.astype(np.int64), found.size


def _comparable(columns: Sequence[pa.ChunkedArray]) -> pa.ChunkedArray:
    """Put columns below each other, as text where their types differ."""
    plain = [
        column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column
        for column in columns
    ]
    if len({column.type for column in plain}) > 1:
        numeric = all(_is_number(column.type) for column in plain)
        plain = [_as_text(column, shortest=numeric) for column in plain]
    return pa.chunked_array([chunk for column in plain for chunk in column.chunks], plain[0].type)


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _as_text(column: pa.ChunkedArray, *, shortest: bool) -> pa.ChunkedArray:
    encoded = column.combine_chunks().dictionary_encode()
    texts = canonical_text(encoded.dictionary)
    if shortest:  # decimals keep their places, so 4.50 is not the text of 4.5
        texts = [text.rstrip("0").rstrip(".") if text and "." in text else text for text in texts]
    return pa.chunked_array([pa.array(texts, pa.string()).take(encoded.indices)])


def _place_in_group(numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count for each entry the equal ones before it."""
    order = np.argsort(numbers, kind="stable")
    ranked = numbers[order]
    starts = np.flatnonzero(np.diff(ranked, prepend=-1))
    places = np.empty(numbers.size, np.int64)
    places[order] = np.arange(numbers.size) - np.repeat(starts, np.diff(starts, append=numbers.size))
    return places


def _where(found: Source, row: int) -> str:
    """Say where a row stands: by line in a CSV file, else by number."""
    if not isinstance(found.format, Csv):
        return f"row {row}"
    breaks = 0
    for column in found.table.slice(0, row).columns:
        if pa.types.is_string(column.type):
            breaks += sum(text.count("\n") for text in column.to_pylist() if text)
    return f"line {row + breaks + (2 if found.format.header else 1)} (row {row})"


# --- the query language of Where ------------------------------------------------------------------

_Condition = Callable[[pa.Table], pa.Array]
"""Tells of each row of a table whether something is true, false or (missing) neither."""

_DEEPEST = 50
"""Brackets and negations within each other."""

_MOMENT = re.compile(r"(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(\.\d{1,9})?(Z|[+-]\d\d:\d\d)?)?")
_TOKEN = re.compile(
    rf"""(?P<space>\s+)
    | (?P<moment>{_MOMENT.pattern})(?![\w.])
    | (?P<number>[+-]?(?:\d{{1,99}}\.?\d{{0,99}}|\.\d{{1,99}})(?:[eE][+-]?\d{{1,3}})?)(?![\w.])
    | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
    | (?P<name>`(?:[^`]|``)+`)
    | (?P<word>[^\W\d][\w.-]*)
    | (?P<relation><=|>=|!=|<>|==|[=<>≠≤≥])
    | (?P<bracket>[()])""",
    re.VERBOSE,
)
_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<>": operator.ne, "≠": operator.ne,
    "<": operator.lt, "<=": operator.le, "≤": operator.le, ">": operator.gt, ">=": operator.ge, "≥": operator.ge,
}  # fmt: skip
_KEYWORDS = ("and", "or", "not", "is", "null", "missing", "true", "false")


class _Token(NamedTuple):
    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        """The keyword it is, in small letters."""
        return self.text.lower() if self.kind == "word" and self.text.lower() in _KEYWORDS else ""

    @property
    def content(self) -> str:
        """What stands between quotes."""
        return self.text[1:-1].replace(self.text[0] * 2, self.text[0])


class _Query:
    """A query, read once from left to right: `or` binds least, then `and`, then `not`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[_Token] = []
        at = 0
        while at < len(text):
            found = _TOKEN.match(text, at)
            if found is None:
                hint = ": a quote that is not closed" if text[at] in "'\"`" else ""
                raise self.error(at, f"{text[at]!r} does not belong here{hint}")
            at = found.end()
            if found.lastgroup != "space":
                # The last group to close is the named one around the parts of a moment.
                self.tokens.append(_Token(str(found.lastgroup), found.group(), found.start()))
        self.tokens.append(_Token("end", "the end", len(text)))
        self.next = 0

    def error(self, at: int, message: str) -> ValueError:
        return ValueError(f"`query` of Where, character {at + 1}: {message}, in {self.text!r}")

    def expected(self, what: str) -> NoReturn:
        token = self.tokens[self.next]
        shown = token.text if token.kind == "end" else repr(token.text)
        raise self.error(token.start, f"{what} should follow, not {shown}")

    def take(self, *words: str) -> _Token | None:
        """Return the next token and step over it, if it is one of these words or kinds."""
        token = self.tokens[self.next]
        if not {token.kind, token.word, token.text} & {*words}:
            return None
        self.next += 1
        return token

    def condition(self) -> _Condition:
        found = self.either(0)
        if not self.take("end"):
            self.expected("`and`, `or` or the end")
        return found

    def either(self, depth: int) -> _Condition:
        parts = [self.both(depth)]
        while self.take("or"):
            parts.append(self.both(depth))
        return _joined(pc.or_kleene, parts)

    def both(self, depth: int) -> _Condition:
        parts = [self.single(depth)]
        while self.take("and"):
            parts.append(self.single(depth))
        return _joined(pc.and_kleene, parts)

    def single(self, depth: int) -> _Condition:
        if depth > _DEEPEST:
            raise self.error(self.tokens[self.next].start, f"more than {_DEEPEST} brackets within each other")
        if self.take("not"):
            inner = self.single(depth + 1)
            return lambda table: pc.invert(inner(table))
        if self.take("("):
            inner = self.either(depth + 1)
            if not self.take(")"):
                self.expected("`)`, `and` or `or`")
            return inner
        return self.comparison()

    def comparison(self) -> _Condition:
        name = self.take("name") or (None if self.tokens[self.next].word else self.take("word"))
        if name is None:
            self.expected("a column name")
        column = name.content if name.kind == "name" else name.text
        if self.take("is"):
            negated = self.take("not")
            if not self.take("missing", "null"):
                self.expected("`missing`")
            test = pc.is_valid if negated else pc.is_null
            return lambda table: test(self.column(table, column, name.start))
        relation = self.take("relation")
        if relation is None:
            self.expected("a comparison such as `=`")
        value = self.take("number", "moment", "text", "true", "false")
        if value is None:
            token = self.tokens[self.next]
            if token.word in ("null", "missing"):
                raise self.error(token.start, f"write `{name.text} is missing` instead")
            self.expected("a value" if token.word or token.kind != "word" else "a value (text needs quotes)")
        if value.kind == "moment":
            self.compared(_seconds, value, value.text)

        def compare(table: pa.Table) -> pa.Array:
            found = self.column(table, column, name.start)
            return self.compared(_compare, value, found, _RELATIONS[relation.text], value)

        return compare

    def column(self, table: pa.Table, name: str, at: int) -> pa.ChunkedArray:
        if name not in table.column_names:
            hint = did_you_mean(name, table.column_names)
            raise PlanError(f"{self.error(at, f'the table has no column {name!r}')}.{hint}")
        return table[name]

    def compared(self, function: Callable[..., Any], token: _Token, *args: Any) -> Any:
        """Call a function, and say where its complaint comes from."""
        try:
            return function(*args)
        except ValueError as error:
            raise self.error(token.start, str(error)) from None


def _joined(function: Callable[[Any, Any], pa.Array], parts: list[_Condition]) -> _Condition:
    return lambda table: functools.reduce(function, (part(table) for part in parts))


def _compare(column: pa.ChunkedArray, relation: Callable[[Any, Any], bool], value: _Token) -> pa.Array:
    """Compare the distinct values of a column, exactly, each as what the column holds."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_nested(column.type):
        raise ValueError(f"a column of type {column.type} cannot be compared")
    encoded = column.combine_chunks().dictionary_encode()
    left, right = _sides(encoded.dictionary, value)
    if isinstance(right, bool) and relation not in (operator.eq, operator.ne):
        raise ValueError("true and false have no order: compare with = or !=")
    truth = pa.array([relation(each, right) for each in left], pa.bool_())
    return truth.take(encoded.indices)


def _sides(values: pa.Array, token: _Token) -> tuple[list[Any], Any]:
    """Both sides of a comparison, as numbers or texts that Python compares without rounding."""
    kind, types = values.type, pa.types
    if _is_number(kind):
        if token.kind != "number":
            raise ValueError(f"a number should follow, as the column holds numbers, not {token.text}")
        if types.is_floating(kind):  # the float that the decimal number stands for, at the column's precision
            return values.to_pylist(), pa.scalar(float(token.text)).cast(kind).as_py()
        number = Fraction(token.text)
        if types.is_decimal(kind):
            return [Fraction(value) for value in values.to_pylist()], number
        return values.to_pylist(), int(number) if number.denominator == 1 else number
    if types.is_string(kind) or types.is_large_string(kind):
        if token.kind != "text":
            raise ValueError(f"text in quotes should follow, as the column holds text, not {token.text}")
        return values.to_pylist(), token.content
    if types.is_boolean(kind):
        if token.kind != "word":
            raise ValueError(
                f"true or false should follow, as the column holds truth values, not {token.text}"
            )
        return values.to_pylist(), token.word == "true"
    if types.is_date(kind) or types.is_timestamp(kind):
        if token.kind not in ("moment", "text"):
            raise ValueError(
                f"a date such as 2020-01-31 should follow, as the column holds dates, not {token.text}"
            )
        seconds, has_zone = _seconds(token.text if token.kind == "moment" else token.content)
        if has_zone != (getattr(kind, "tz", None) is not None):
            rule = "without an offset from UTC" if has_zone else "with its offset, as 2020-01-31T12:00+01:00,"
            raise ValueError(f"a time {rule} should follow, as the column holds such, not {token.text}")
        units = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
        unit = Fraction(1, 86400) if types.is_date32(kind) else units[getattr(kind, "unit", "ms")]
        ticks = (
            values.cast(pa.int32()).to_pylist()
            if types.is_date32(kind)
            else values.cast(pa.int64()).to_pylist()
        )
        return ticks, seconds * unit
    raise ValueError(f"a column of type {kind} cannot be compared")


def _seconds(text: str) -> tuple[Fraction, bool]:
    """Seconds from 1970 to a date or time, and whether its offset from UTC is said."""
    found = _MOMENT.fullmatch(text)
    try:
        if found is None:
            raise ValueError
        date, time, part, zone = found.groups()
        moment = datetime.fromisoformat(f"{date}T{time or '00:00'}{zone or '+00:00'}")
    except ValueError:
        raise ValueError(
            f"{text!r} is not a date or time such as 2020-01-31 or 2020-01-31T12:00:00"
        ) from None
    days, rest = divmod(moment - datetime(1970, 1, 1, tzinfo=UTC), timedelta(days=1))
    return Fraction(days * 86400 + rest.seconds) + Fraction(f"0{part}" if part else 0), zone is not None
