"""Exact positions of values on a number line or a time line.

Interval borders must not depend on rounding: with steps of 0.1, the value 0.3 starts an interval, although it
lies below by the nearest doubles. So values become integers over one common denominator, read from their
decimal text, and all comparisons are between integers. Times are days since Monday, 1 January of the year 1,
so that intervals of seven days begin on Mondays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import BeforeValidator, TypeAdapter

from veil.base.untrusted import MOST_DIGITS
from veil.errors import HierarchyError, Say
from veil.tables.columns import is_text
from veil.tables.text import canonical_text


def _read(value: Any) -> Any:
    """Read numbers, dates and durations, which may be text; floats by their shortest decimal text."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        value = Decimal(repr(value))
    if isinstance(value, str):
        for parse in (int, Decimal, date.fromisoformat, datetime.fromisoformat, _DURATION.validate_python):
            try:
                value = parse(value)
                break
            except (ValueError, ArithmeticError):
                continue
    if isinstance(value, Decimal) and not value.is_finite():
        raise ValueError(f"a bound or width should be finite, not {value}")
    return value


def _without_zone(value: Any) -> Any:
    """Read a bound; refuse an offset from UTC, as values are compared by local time."""
    bound = _read(value)
    if isinstance(bound, datetime) and bound.tzinfo is not None:
        raise ValueError(
            f"the bound {bound.isoformat()} has an offset from UTC, but bounds are what clocks show in the zone of the "
            f"column. Say it as they do there, without the offset, such as {bound.replace(tzinfo=None).isoformat()}"
        )
    return bound


def _point(value: Any) -> Any:
    bound = _without_zone(value)
    if isinstance(bound, bool) or not isinstance(bound, (int, Decimal, date)):
        raise ValueError(f"a bound should be a number, a date or a time, not {value!r}")
    return bound


def _moment_of(value: Any) -> Any:
    bound = _without_zone(value)
    if not isinstance(bound, date):
        raise ValueError(f"a bound should be a date or a time, not {value!r}")
    return bound


def _step(value: Any) -> Any:
    width = _read(value)
    if isinstance(width, bool) or not isinstance(width, (int, Decimal, timedelta)):
        raise ValueError(f"a width should be a number or a duration, not {value!r}")
    return width


_DURATION = TypeAdapter(timedelta)

Point = Annotated[int | Decimal | datetime | date, BeforeValidator(_point)]
Moment = Annotated[datetime | date, BeforeValidator(_moment_of)]
Step = Annotated[int | Decimal | timedelta, BeforeValidator(_step)]

_THOUSANDS = re.compile(r"\s*[+-]?[1-9][0-9]{0,2}(\.[0-9]{3})+\s*")

EPOCH_DAY = date(1970, 1, 1).toordinal() - 1
DAY_LENGTH = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@dataclass(frozen=True)
class Axis:
    """The meaning of the positions of a column, and their spelling."""

    kind: Literal["number", "date", "timestamp"]
    whole: bool
    """Whether only integral positions are values, as for integers and dates."""

    def show(self, position: Fraction) -> str:
        """Write a position as the column writes its values.

        >>> Axis("number", True).show(Fraction(5)), Axis("number", False).show(Fraction(1, 4))
        ('5', '0.25')
        >>> Axis("date", True).show(place(date(2020, 1, 31)))
        '2020-01-31'
        """
        if self.kind == "number":
            return _number_text(position)
        try:
            moment = datetime(1, 1, 1) + timedelta(microseconds=int(position * DAY_LENGTH["us"]))
        except OverflowError:
            return f"day {_number_text(position)}"
        return moment.date().isoformat() if position.denominator == 1 else moment.isoformat()

    def point(self, point: Point, column: str) -> Fraction:
        """Return the position of a bound of the user."""
        temporal = isinstance(point, date)
        if temporal != (self.kind != "number"):
            expected = "a number" if self.kind == "number" else "a date"
            raise HierarchyError(
                f"the bound {point} of the intervals of column {column!r} should be {expected}"
            )
        return place(point)

    def step(self, step: Step, column: str) -> Fraction:
        """Return the length of a width of the user; on a time line, plain numbers are days."""
        if isinstance(step, timedelta) and self.kind == "number":
            raise HierarchyError(f"the width {step} of the intervals of column {column!r} should be a number")
        return length(step)


def place(point: Point) -> Fraction:
    """Return the exact position of a number, date or time."""
    if isinstance(point, datetime):
        return length(point.replace(tzinfo=None) - datetime(1, 1, 1))
    if isinstance(point, date):
        return Fraction(point.toordinal() - 1)
    return Fraction(point)


def length(step: Step) -> Fraction:
    """Return the exact length of a step; times in days."""
    if isinstance(step, timedelta):
        return Fraction(step // timedelta(microseconds=1), DAY_LENGTH["us"])
    return Fraction(step)


def nice_width(least: Fraction) -> Fraction:
    """Return the smallest of 1, 2 and 5 times a power of ten that is at least `least`."""
    power = Fraction(1)
    while power > least:
        power /= 10
    while power * 10 <= least:
        power *= 10
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= least)


def positions(values: pa.Array, column: str) -> tuple[Axis, list[int], int]:
    """Return the axis of present values, and their positions: numerators and a common denominator."""
    kind = values.type
    if pa.types.is_integer(kind):
        return Axis("number", True), values.to_pylist(), 1
    if pa.types.is_date(kind):
        days = values.cast(pa.date32()).cast(pa.int32()).to_pylist()
        return Axis("date", True), [day + EPOCH_DAY for day in days], 1
    if pa.types.is_timestamp(kind):
        if kind.tz is not None:
            values = pc.local_timestamp(values)
        day_length = DAY_LENGTH[kind.unit]
        ticks = values.cast(pa.int64()).to_pylist()
        return Axis("timestamp", False), [tick + EPOCH_DAY * day_length for tick in ticks], day_length
    if pa.types.is_boolean(kind):
        raise HierarchyError(
            f"column {column!r} holds true and false, which are not numbers; use `suppression()`"
        )
    texts = [text for text in canonical_text(values, column=column) if text is not None]
    if texts and not _is_number(texts[0]) and is_iso(texts[0]):
        moments = [place(_moment(text, column)) for text in texts]
        day_length = DAY_LENGTH["us"]
        whole = all(moment.denominator == 1 for moment in moments)
        axis = Axis("date" if whole else "timestamp", whole)
        return axis, [int(each * day_length) for each in moments], day_length
    if is_text(kind):
        _refuse_thousands(texts, column)
    numerators, denominator = _numbers(texts, column)
    whole = denominator == 1 and not (pa.types.is_floating(kind) or pa.types.is_decimal(kind))
    return Axis("number", whole), numerators, denominator


def _refuse_thousands(texts: Sequence[str], column: str) -> None:
    """Refuse text whose point may mark thousands or decimals: a label would be right for one of them only."""
    for text in texts:
        if _THOUSANDS.fullmatch(text):
            raise HierarchyError(
                f"the value {text!r} of column {column!r} is text, which may mean {text.strip().replace('.', '')} or "
                f"{text.strip()}: a point can mark thousands or decimals. Say which (of a CSV file, with ",
                Say("format", "Csv", thousands="."),
                " or ",
                Say("format", "Csv", decimal="."),
                "), or turn the column into numbers",
            )


def _numbers(texts: Sequence[str], column: str) -> tuple[list[int], int]:
    plain = _plain_numbers(texts)
    return _any_numbers(texts, column) if plain is None else plain


def _plain_numbers(texts: Sequence[str]) -> tuple[list[int], int] | None:
    """Read plain numbers, all at once; None if a text is not digits with at most one point, or very long."""
    array = pa.array(texts, pa.string())
    if not pc.all(
        pc.match_substring_regex(array, r"^-?[0-9]{1,1000}(\.[0-9]{1,1000})?$"), min_count=0
    ).as_py():
        return None
    point = pc.find_substring(array, ".").to_numpy(zero_copy_only=False)
    lengths = pc.utf8_length(array).to_numpy(zero_copy_only=False)
    places = np.where(point < 0, 0, lengths - point - 1)
    most = int(places.max(initial=0))
    digits = pc.replace_substring(array, ".", "")
    if int((lengths - places).max(initial=0)) + most > _DIGITS:
        tens = [10**lacking for lacking in range(most + 1)]
        lacking = (most - places).tolist()
        return [int(each) * tens[at] for each, at in zip(digits.to_pylist(), lacking, strict=True)], 10**most
    whole = digits.cast(pa.int64()).to_numpy(zero_copy_only=False)
    return (whole * 10 ** (most - places).astype(np.int64)).tolist(), 10**most


def _any_numbers(texts: Sequence[str], column: str) -> tuple[list[int], int]:
    parts: list[tuple[int, int]] = []
    for text in texts:
        try:
            number = Decimal(text.strip())
        except InvalidOperation:
            raise HierarchyError(
                f"the value {text!r} of column {column!r} is not a number; intervals need numbers or dates. "
                "Replace it in the data, by a missing value for example (of a CSV file, ",
                Say("format", "Csv", missing=...),
                " lists texts that mean one), or use another kind of hierarchy",
            ) from None
        if not number.is_finite():
            raise HierarchyError(
                f"the value {text!r} of column {column!r} is not finite, so it is in no interval"
            )
        sign, digits, exponent = number.as_tuple()
        if max(len(digits), abs(int(exponent))) > MOST_DIGITS:
            raise HierarchyError(
                f"the value {text[:20]!r}… of column {column!r} has more than {MOST_DIGITS:,} digits. Replace it in the data, by "
                "a missing value for example, or use another kind of hierarchy"
            )
        whole = int("".join(map(str, digits)))
        parts.append((-whole if sign else whole, int(exponent)))
    lowest = min((exponent for _, exponent in parts if exponent < 0), default=0)
    return [whole * 10 ** (exponent - lowest) for whole, exponent in parts], 10**-lowest


_DIGITS = 18
"""Characters of a number that always fits into 64 bits."""


def _is_number(text: str) -> bool:
    try:
        return Decimal(text.strip()).is_finite()
    except InvalidOperation:
        return False


def is_iso(text: str) -> bool:
    """Whether a text is a date or time in ISO 8601."""
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _moment(text: str, column: str) -> datetime:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise HierarchyError(
            f"the value {text!r} of column {column!r} is not a date such as 2020-01-31, although others "
            "are; correct it in the data"
        ) from None


def _number_text(position: Fraction) -> str:
    """Return the shortest text: digits of an integer, else decimals, exact if they are finite."""
    if position.denominator == 1:
        return str(position.numerator)
    short = repr(float(position)) if abs(position) < 10**300 else ""
    if short and Fraction(Decimal(short)) == position:
        return short
    places, rest = 0, position.denominator
    while rest % 10 == 0 or rest % 5 == 0 or rest % 2 == 0:
        rest //= 10 if rest % 10 == 0 else 5 if rest % 5 == 0 else 2
        places += 1
    if rest > 1:
        return short or str(position)
    digits = abs(position.numerator) * 10**places // position.denominator
    text = str(digits).rjust(places + 1, "0")
    return ("-" if position < 0 else "") + text[:-places] + "." + text[-places:].rstrip("0")
