"""Check of partitions: the models, and labels that are public wherever that is promised.

What a label may be follows from the declared grid, or from the distinct values of the column alone; nothing of the
partition is looked at. Exact arithmetic: an end that misses a line by the last digit is refused.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import pyarrow as pa

from veil.base.wording import plural
from veil.published.finding import Finding
from veil.tables.columns import is_number
from veil.verification.release import verify_models
from veil.verification.steps.rows import MaskStep

PUBLIC = "labels of columns without a hierarchy are public ones, above the values they stand for"

_CLOSED = re.compile(r"\[([^,]+), ([^,]+)\[")
_MIXED = re.compile(r"\{(.+), NULL\}", re.DOTALL)
_YEAR_ONE = datetime(1, 1, 1)
_CLOCK = {
    "second": Fraction(1, 86_400),
    "minute": Fraction(1, 1_440),
    "hour": Fraction(1, 24),
    "day": Fraction(1),
}
_CALENDAR = {"month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200}
_FEW, _CELLS, _SKEWED, _SET = 5, 50, 20, 8

Pairs = Sequence[tuple[str | None, str | None]]


def verify_partition(step: MaskStep) -> Iterator[Finding]:
    """Check the models, and public labels."""
    method = step.method
    yield from verify_models(step.published(method.known_columns), method.privacy_models)
    names = [name for name, hierarchy in method.quasi_identifiers.items() if hierarchy is None]
    if method.labels == "public" and names:
        wrong = sum(_count_wrong(step, name, method.grids.get(name)) for name in names)
        yield Finding(PUBLIC, not wrong, f"{plural(wrong, 'is', 'are')} not" if wrong else "every one")


def _count_wrong(step: MaskStep, name: str, grid: Any) -> int:
    kind = step.old(name).type
    pairs = [(_plain(old), new) for old, new in step.texts(name)]
    values = list(dict.fromkeys(old for old, _ in pairs if old is not None))
    on_line = is_number(kind) or pa.types.is_date(kind) or pa.types.is_timestamp(kind)
    if grid is None and not (on_line and len(values) > _FEW):
        allowed = _groups(sorted(values, key=Fraction if is_number(kind) else None))
        return sum(new not in (old, "*") and new not in allowed.get(old, ()) for old, new in pairs)
    place = Fraction if is_number(kind) else _days
    places = [place(value) for value in values]
    is_line = _lines_of(grid, is_number(kind)) if grid is not None else _round_lines(places, kind)
    return sum(not _fits(old, new, place, is_line) for old, new in pairs)


def _plain(text: str | None) -> str | None:
    """Return a value as labels spell it: not-a-number is missing, and minus zero is zero."""
    return None if text == "NaN" else "0" if text == "-0" else text


def _fits(
    old: str | None, new: str | None, place: Callable[[str], Fraction], is_line: Callable[[Fraction], bool]
) -> bool:
    """Whether a label is an interval between lines with the value in it, or stands for missing values as well."""
    if new is None:
        return old is None
    mixed = _MIXED.fullmatch(new)
    text = mixed[1] if mixed else new
    if text == "*":
        return True
    if closed := _CLOSED.fullmatch(text):
        lower, upper = place(closed[1]), place(closed[2])
    elif text.startswith("<"):
        lower, upper = None, place(text[1:])
    elif text.startswith(">="):
        lower, upper = place(text[2:]), None
    else:
        return False
    if not all(end is None or is_line(end) for end in (lower, upper)):
        return False
    if old is None:
        return mixed is not None
    value = place(old)
    return (lower is None or lower <= value) and (upper is None or value < upper)


def _days(text: str) -> Fraction:
    """Return days from 1 January of the year 1 to what clocks show."""
    clock, point, rest = text.partition(".")
    digits = re.match(r"[0-9]*", rest)
    moment = datetime.fromisoformat(re.sub(r"(Z|[+-][0-9:]+)$", "", clock) if "T" in clock else clock)
    seconds = (moment - _YEAR_ONE) // timedelta(seconds=1)
    fraction = Fraction(f"0.{digits[0]}") if point and digits and digits[0] else Fraction(0)
    return (seconds + fraction) / 86_400


def _lines_of(grid: Any, numbers: bool) -> Callable[[Fraction], bool]:
    """Return whether a place is a line of a declared grid."""
    if grid.edges:
        edges = {_place_of(edge) for edge in grid.edges}
        return edges.__contains__
    if isinstance(grid.width, str):
        return _is_start(grid.width)
    width = (
        Fraction(grid.width.total_seconds()) / 86_400
        if isinstance(grid.width, timedelta)
        else Fraction(grid.width)
    )
    origin = Fraction(0) if grid.origin is None else _place_of(grid.origin)
    return lambda place: (place - origin) % width == 0


def _place_of(edge: Any) -> Fraction:
    return _days(edge.isoformat()) if isinstance(edge, date) else Fraction(edge)


def _is_start(unit: str) -> Callable[[Fraction], bool]:
    if unit in _CLOCK:
        return lambda place: place % _CLOCK[unit] == 0

    def starts(place: Fraction) -> bool:
        if place.denominator != 1:
            return False
        day = (_YEAR_ONE + timedelta(days=int(place))).date()
        months = 12 * day.year + day.month - 1
        # No interval can begin before the year 1, in which the first decade and century begin.
        return day == date(1, 1, 1) or (day.day == 1 and months % _CALENDAR[unit] == 0)

    return starts


def _round_lines(places: Sequence[Fraction], kind: pa.DataType) -> Callable[[Fraction], bool]:
    """Return whether a place is a line of the grid that is proposed for the values at some places."""
    span = max(places) - min(places)
    if not is_number(kind):
        lengths = {**_CLOCK, **{unit: Fraction(365 * months, 12) for unit, months in _CALENDAR.items()}}
        units = [
            unit
            for unit in lengths
            if pa.types.is_timestamp(kind) or unit not in ("second", "minute", "hour")
        ]
        return _is_start(next((unit for unit in units if span / lengths[unit] <= _CELLS), "century"))
    whole = pa.types.is_integer(kind)
    sizes = sorted(abs(float(place)) for place in places)
    if sizes[len(sizes) // 2] * _SKEWED < sizes[-1]:
        least = max(abs(place) for place in places) / 100_000
        # Lines are zero, and numbers of one digit that is not zero, over five powers of ten.
        return lambda place: (
            place == 0 or (abs(place) >= max(least, 10 * whole) and _has_one_digit(abs(place)))
        )
    power = Fraction(1)
    while power * _CELLS > span:
        power /= 10
    while power * 10 * _CELLS < span:
        power *= 10
    width = next(each * power for each in (1, 2, 5, 10) if each * power * _CELLS >= span)
    width = max(width, Fraction(2)) if whole else width
    return lambda place: place % width == 0


def _has_one_digit(number: Fraction) -> bool:
    while number >= 10:
        number /= 10
    while number < 1:
        number *= 10
    return number.denominator == 1


def _groups(values: Sequence[str]) -> Mapping[str | None, set[str]]:
    """Return the groups that each of the sorted values is in: aligned blocks of 2, 4, 8, … neighbours."""
    groups: dict[str | None, set[str]] = {value: set() for value in values}
    for size in itertools.takewhile(lambda size: size < len(values), (2**level for level in range(1, 64))):
        for start in range(0, len(values), size):
            block = values[start : start + size]
            listed = "{" + ", ".join(block) + "}" if len(block) <= _SET else f"[{block[0]}, {block[-1]}]"
            for value in block:
                groups[value].add(listed)
    return groups
