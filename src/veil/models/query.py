"""The query language of research subsets: comparisons of columns with values, joined by and, or and not."""

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any, NamedTuple, NoReturn

import pyarrow as pa
import pyarrow.compute as pc

from veil.errors import PlanError, did_you_mean

Condition = Callable[[Any], pa.Array]
"""Returns for each row of a table whether a condition is true, false or (null) unknown."""

_DEEPEST = 50
"""Largest depth of nested brackets and negations."""

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
_RELATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<>": operator.ne, "≠": operator.ne,
    "<": operator.lt, "<=": operator.le, "≤": operator.le, ">": operator.gt, ">=": operator.ge, "≥": operator.ge,
}  # fmt: skip
_OF_FLOATS = {
    operator.eq: pc.equal, operator.ne: pc.not_equal, operator.lt: pc.less, operator.le: pc.less_equal,
    operator.gt: pc.greater, operator.ge: pc.greater_equal,
}  # fmt: skip
"""The comparisons for whole columns of floats, which have about as many distinct values as rows."""
_KEYWORDS = ("and", "or", "not", "is", "null", "missing", "true", "false")


class Token(NamedTuple):
    """A word, a sign or a value of a query."""

    kind: str
    text: str
    start: int

    @property
    def word(self) -> str:
        """The keyword in lower case; empty for other tokens."""
        return self.text.lower() if self.kind == "word" and self.text.lower() in _KEYWORDS else ""

    @property
    def content(self) -> str:
        """The text between the quotes."""
        return self.text[1:-1].replace(self.text[0] * 2, self.text[0])


class Query:
    """A query, parsed once from left to right: `or` binds least, then `and`, then `not`."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[Token] = []
        at = 0
        while at < len(text):
            match = _TOKEN.match(text, at)
            if match is None:
                hint = ": a quote that is not closed" if text[at] in "'\"`" else ""
                raise self.error(at, f"{text[at]!r} does not belong here{hint}")
            at = match.end()
            if match.lastgroup != "space":
                # The last group to close is the group around the parts of a moment.
                self.tokens.append(Token(str(match.lastgroup), match.group(), match.start()))
        self.tokens.append(Token("end", "the end", len(text)))
        self.next = 0

    def error(self, at: int, message: str) -> ValueError:
        return ValueError(f"`query` of Where, character {at + 1}: {message}, in {self.text!r}")

    def raise_expected(self, what: str) -> NoReturn:
        token = self.tokens[self.next]
        text = token.text if token.kind == "end" else repr(token.text)
        raise self.error(token.start, f"{what} should follow, not {text}")

    def take(self, *words: str) -> Token | None:
        """Return the next token and step over it, if it is one of these words or kinds."""
        token = self.tokens[self.next]
        if not {token.kind, token.word, token.text} & {*words}:
            return None
        self.next += 1
        return token

    @property
    def columns(self) -> list[str]:
        """The columns of the query, each once.

        >>> Query("age > 30 and (`birth place` = 'Rome' or age is missing)").columns
        ['age', 'birth place']
        """
        names = (each for each in self.tokens if each.kind in ("word", "name") and not each.word)
        return list(dict.fromkeys(each.content if each.kind == "name" else each.text for each in names))

    def condition(self) -> Condition:
        expression = self.either(0)
        if not self.take("end"):
            self.raise_expected("`and`, `or` or the end")
        return expression

    def either(self, depth: int) -> Condition:
        parts = [self.both(depth)]
        while self.take("or"):
            parts.append(self.both(depth))
        return _join_conditions(pc.or_kleene, parts)

    def both(self, depth: int) -> Condition:
        parts = [self.single(depth)]
        while self.take("and"):
            parts.append(self.single(depth))
        return _join_conditions(pc.and_kleene, parts)

    def single(self, depth: int) -> Condition:
        if depth > _DEEPEST:
            raise self.error(self.tokens[self.next].start, f"more than {_DEEPEST} nested parentheses")
        if self.take("not"):
            inner = self.single(depth + 1)
            return lambda table: pc.invert(inner(table))
        if self.take("("):
            inner = self.either(depth + 1)
            if not self.take(")"):
                self.raise_expected("`)`, `and` or `or`")
            return inner
        return self.comparison()

    def comparison(self) -> Condition:
        name = self.take("name") or (None if self.tokens[self.next].word else self.take("word"))
        if name is None:
            self.raise_expected("a column name")
        column = name.content if name.kind == "name" else name.text
        if self.take("is"):
            negated = self.take("not")
            if not self.take("missing", "null"):
                self.raise_expected("`missing`")

            def missing(table: pa.Table) -> pa.Array:
                mask = self.is_missing(self.column(table, column, name.start))
                return pc.invert(mask) if negated else mask

            return missing
        relation = self.take("relation")
        if relation is None:
            self.raise_expected("a comparison such as `=`")
        value = self.take("number", "moment", "text", "true", "false")
        if value is None:
            token = self.tokens[self.next]
            if token.word in ("null", "missing"):
                raise self.error(token.start, f"write `{name.text} is missing` instead")
            self.raise_expected(
                "a value" if token.word or token.kind != "word" else "a value (text needs quotes)"
            )
        if value.kind == "moment":
            self.call_at(seconds_of, value, value.text)

        def compare(table: pa.Table) -> pa.Array:
            cells = self.column(table, column, name.start)
            return self.call_at(self.compare, value, cells, _RELATIONS[relation.text], value)

        return compare

    def is_missing(self, column: Any) -> pa.Array:
        """Return a mask of the rows without a value in a column."""
        return pc.is_null(column)

    def compare(self, column: Any, relation: Callable[[Any, Any], Any], value: Token) -> pa.Array:
        """Return for each row whether a comparison is true; null for missing values."""
        return _compare(column, relation, value)

    def column(self, table: Any, name: str, at: int) -> Any:
        """Return a column of the table."""
        if name not in table.column_names:
            hint = did_you_mean(name, table.column_names)
            raise PlanError(f"{self.error(at, f'the table has no column {name!r}')}.{hint}")
        values = table[name]
        # Categories may contain a null, which Arrow handles since version 26 only.
        return values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values

    def call_at(self, function: Callable[..., Any], token: Token, *args: Any) -> Any:
        """Call a function, and add the position of a token to its error."""
        try:
            return function(*args)
        except ValueError as error:
            raise self.error(token.start, str(error)) from None


def _join_conditions(function: Callable[[Any, Any], pa.Array], parts: list[Condition]) -> Condition:
    return lambda table: functools.reduce(function, (part(table) for part in parts))


def _compare(column: pa.ChunkedArray, relation: Callable[[Any, Any], Any], value: Token) -> pa.Array:
    """Compare the distinct values of a column, exactly, in the type of the column."""
    if pa.types.is_nested(column.type):
        raise ValueError(f"a column of type {column.type} cannot be compared")
    if pa.types.is_floating(column.type) and value.kind == "number":
        _, right = _sides(pa.array([], column.type), value)
        return _OF_FLOATS[relation](column, pa.scalar(right, column.type)).combine_chunks()
    encoded = column.combine_chunks().dictionary_encode()
    left, right = _sides(encoded.dictionary, value)
    if isinstance(right, bool) and relation not in (operator.eq, operator.ne):
        raise ValueError("true and false have no order: compare with = or !=")
    truth = pa.array([relation(each, right) for each in left], pa.bool_())
    return truth.take(encoded.indices)


def _sides(values: pa.Array, token: Token) -> tuple[list[Any], Any]:
    """Return both sides of a comparison, as numbers or texts that Python compares without rounding."""
    kind, types = values.type, pa.types
    if is_number(kind):
        if token.kind != "number":
            raise ValueError(f"a number should follow, as the column holds numbers, not {token.text}")
        if types.is_floating(kind):  # the nearest float at the column's precision
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
        seconds, has_zone = seconds_of(token.text if token.kind == "moment" else token.content)
        if has_zone != (getattr(kind, "tz", None) is not None):
            rule = "without an offset from UTC" if has_zone else "with its offset, as 2020-01-31T12:00+01:00,"
            raise ValueError(f"a time {rule} should follow, as the column holds such times, not {token.text}")
        units = {"s": 1, "ms": 1000, "us": 10**6, "ns": 10**9}
        unit = Fraction(1, 86400) if types.is_date32(kind) else units[getattr(kind, "unit", "ms")]
        ticks = (
            values.cast(pa.int32()).to_pylist()
            if types.is_date32(kind)
            else values.cast(pa.int64()).to_pylist()
        )
        return ticks, seconds * unit
    raise ValueError(f"a column of type {kind} cannot be compared")


def seconds_of(text: str) -> tuple[Fraction, bool]:
    """Return the seconds from 1970 to a date or time, and whether it has an offset from UTC."""
    match = _MOMENT.fullmatch(text)
    try:
        if match is None:
            raise ValueError
        date, time, part, zone = match.groups()
        moment = datetime.fromisoformat(f"{date}T{time or '00:00'}{zone or '+00:00'}")
    except ValueError:
        raise ValueError(
            f"{text!r} is not a date or time such as 2020-01-31 or 2020-01-31T12:00:00"
        ) from None
    days, rest = divmod(moment - datetime(1970, 1, 1, tzinfo=UTC), timedelta(days=1))
    return Fraction(days * 86400 + rest.seconds) + Fraction(f"0{part}" if part else 0), zone is not None


def is_number(kind: pa.DataType) -> bool:
    """Whether a column of this type holds numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))
