"""A proposal for a column from its type and its values."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field

from veil.base.declare import declared
from veil.hierarchies._axis import is_iso, nice_width, positions
from veil.hierarchies._basic import Suppression
from veil.hierarchies._builders import Builder
from veil.hierarchies._common import present
from veil.hierarchies._dates import Dates, form_of, forms_of
from veil.hierarchies._intervals import Intervals
from veil.hierarchies._places import places
from veil.hierarchies._priority import Priority
from veil.hierarchies._redaction import Redaction
from veil.hierarchies.hierarchy import Hierarchy
from veil.tables.canonical import widened
from veil.tables.columns import is_text
from veil.tables.text import canonical_text

Proposal = Suppression | Intervals | Dates | Redaction | Priority

_ISO = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
    r"([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6})?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)?)?"
)
_DAY = len("2020-12-31")
_DATE_LIKE = re.compile(r"(\d{1,2}[./-]\d{1,2}[./-](\d{4}|\d\d)|\d{4}[./-]\d{1,2}[./-]\d{1,2})([ T].*)?")
_PLAIN_NUMBER = re.compile(r"-?(0|[1-9]\d*)(\.\d+)?")
_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9./_-]*")
_LONGEST_CODE = 12
_INTERVALS = 20  # on level 1, about


@declared(kind_of=Builder)
class Auto(Builder):
    """Propose a hierarchy for a column. The first rule that fits decides.

    1. Dates: month, year, decade; times: day, month, year, decade; with a root.
    2. True and false, and columns with at most `few` distinct values: suppression.
    3. Numbers: intervals whose width is 1, 2 or 5 times a power of ten, about 20 of them on level 1, and
       twice as wide on every further level.
    4. Text that is all ISO dates or times (2020-12-31, 2020-12-31 08:30:00, 2020-12-31T08:30:00Z): as these. So is text that
       is all dates of one other form (31.12.2020, 31/12/2020, 12/31/2020 or 2020/12/31, each also with a time of day), unless a
       second form fits all of it too, as with days up to 12 only.
    5. Text that is all dates in several forms, each of which can be read in one way only: as dates. Text of which most looks
       like dates, but cannot be read so: suppression, as a part of such a text is the day of some and the year of others.
    6. Text of equal length that is all digits, such as postal codes: redaction from the right.
    7. Text that is all numbers, written without leading zeros: as numbers.
    8. Text that looks like codes (at most 12 letters, digits and signs without spaces, most with a digit):
       redaction from the right.
    9. Anything else: by frequency, the rarest values are suppressed first.

    The proposal depends on the data. For a plan that is used again and again, call `propose` once and write
    down what it returns.

    >>> import numpy as np, pyarrow as pa
    >>> Auto().build(pa.array(range(17, 91)), np.ones(74), "age").to_rows()[0]
    ('17', '[15, 20[', '[10, 20[', '[0, 20[', '[0, 40[', '*')
    """

    few: Annotated[int, Field(ge=1, description="up to so many distinct values are simply suppressed")] = 5
    kind: Literal["auto"] = Field(default="auto", repr=False, kw_only=True)

    names_values: ClassVar[bool] = False
    reads_data: ClassVar[str | None] = (
        "the kind of hierarchy and the widths of intervals follow from all values"
    )

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Build the proposed hierarchy."""
        return self.propose(values, column).build(values, counts, column)

    def propose(self, values: pa.Array, column: str = "") -> Proposal:
        """Return the builder that fits the values, without building.

        >>> Auto().propose(pa.array(["8010", "8020", "8045", "1010", "1020", "6020"]))
        Redaction(align='left', start='right', character='*', padding='*', ...)
        """
        present_values = present(values, column)
        kind = present_values.type
        if pa.types.is_timestamp(kind):
            return _calendar(days=True)
        if pa.types.is_date(kind):
            return _calendar()
        if pa.types.is_boolean(kind) or len(present_values) <= self.few:
            return Suppression()
        if pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
            return _nice_intervals(present_values, column)
        texts = [text or "" for text in canonical_text(present_values, column=column)]
        if all(map(_ISO.fullmatch, texts)) and all(map(is_iso, texts)):
            return _calendar(days=any(len(text) > _DAY for text in texts))
        if (form := form_of(texts)) is not None:
            return _calendar(form, days="%H" in form)
        if look_like_dates(texts):
            forms = forms_of(texts)
            return Suppression() if forms is None else _calendar(forms)
        if len({len(text) for text in texts}) == 1 and all(text.isdigit() for text in texts):
            return Redaction()
        if all(map(_PLAIN_NUMBER.fullmatch, texts)):
            return _nice_intervals(present_values, column)
        if _look_like_codes(texts):
            return Redaction()
        return Priority()


def propose(values: pa.Array, column: str = "", *, few: int = 5) -> Proposal:
    """Propose a builder for the distinct values of a column; see `Auto` for the rules.

    >>> propose(pa.array([17, 25, 38, 44, 61, 90]), "age").widths
    (5, 10, 20, 40)
    """
    return Auto(few).propose(values, column)


def _calendar(format: str | tuple[str, ...] | None = None, *, days: bool = False) -> Dates:
    return Dates((*(("day",) if days else ()), "month", "year", "decade"), format=format, root=True)


def _nice_intervals(values: pa.Array, column: str) -> Proposal:
    values = widened(values)
    if pa.types.is_floating(values.type) and not pc.all(pc.is_finite(values), min_count=0).as_py():
        return Priority()
    if is_text(values.type):
        placed = places(values, column)
        texts = placed.sorted.texts
        whole, ends = placed.axis.whole, pa.array([texts[0].as_py(), texts[-1].as_py()])
    else:
        both = pc.min_max(values)
        whole, ends = (
            pa.types.is_integer(values.type),
            pa.array([both["min"].as_py(), both["max"].as_py()], values.type),
        )
    _, (least, most), denominator = positions(ends, column)
    span = Fraction(most - least, denominator)
    width = nice_width(span / _INTERVALS)
    if whole:
        width = max(width, Fraction(2))
    widths = [width]
    while widths[-1] * 2 < span:
        widths.append(widths[-1] * 2)
    return Intervals(tuple(_number(each) for each in widths))


def _number(exact: Fraction) -> int | Decimal:
    if exact.denominator == 1:
        return int(exact)
    return Decimal(exact.numerator) / Decimal(exact.denominator)


def look_like_dates(texts: Collection[str]) -> bool:
    """Whether most texts look like dates of any form.

    >>> look_like_dates(["31.12.2020", "2020-12-31", "31/12/20", "unknown"]), look_like_dates(["A1.5", "B2.7"])
    (True, False)
    """
    return sum(map(bool, map(_DATE_LIKE.fullmatch, texts))) * 2 > len(texts)


def _look_like_codes(texts: list[str]) -> bool:
    with_digit = sum(any(map(str.isdigit, text)) for text in texts)
    fits = all(len(text) <= _LONGEST_CODE and _CODE.fullmatch(text) for text in texts)
    return fits and with_digit * 2 > len(texts)
