"""Dates and times, generalized to coarser and coarser units of the calendar."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from veil.base.arrays import Integers
from veil.base.declare import declared
from veil.errors import HierarchyError, Say
from veil.hierarchies._axis import Moment
from veil.hierarchies._builders import Builder
from veil.hierarchies._common import by_key, finish, finish_sorted, present, runs
from veil.hierarchies._places import moments
from veil.hierarchies.hierarchy import ROOT, Hierarchy, Level
from veil.tables.columns import is_text
from veil.tables.text import canonical_array, canonical_text

Granularity = Literal[
    "second", "minute", "hour", "day", "week_of_month", "week_of_year", "month", "quarter", "weekday", "week",
    "quarter_of_year", "year", "decade", "century", "millennium",
]  # fmt: skip

_YEARS = ("year", "decade", "century", "millennium")
_DAY_UP = get_args(Granularity)[4:]

# The coarser units that contain each unit as a whole. Weeks cross the borders of months and years, so only
# their number contains them; ARX's label of a week, which names the calendar year, also lies within years.
_WITHIN: dict[str, tuple[str, ...]] = {
    "second": ("minute", "hour", "day", *_DAY_UP),
    "minute": ("hour", "day", *_DAY_UP),
    "hour": ("day", *_DAY_UP),
    "day": _DAY_UP,
    "week_of_month": ("month", "quarter", "quarter_of_year", *_YEARS),
    "week_of_year": ("week",),
    "month": ("quarter", "quarter_of_year", *_YEARS),
    "quarter": ("quarter_of_year", *_YEARS),
    "year": _YEARS[1:],
    "decade": _YEARS[2:],
    "century": _YEARS[3:],
}


@declared(kind_of=Builder)
class Dates(Builder):
    """One level for each unit, from fine to coarse.

    | unit | `style="iso"` | `style="arx"` |
    |---|---|---|
    | `second`, `minute`, `hour` | `2019-12-31T23:05:59`, `…T23:05`, `…T23` | `31.12.2019-23:05:59`, … |
    | `day` | `2019-12-31` | `31.12.2019` |
    | `week_of_month` | `2019-12 week 5` | `5/12.2019` |
    | `week_of_year` | `2020-W01` | `01/2019` |
    | `month` | `2019-12` | `12/2019` |
    | `quarter` | `2019-Q4` | `Q4 2019` |
    | `weekday`, `week`, `quarter_of_year` | `2`, `1`, `Q4` | `2`, `1`, `Q4` |
    | `year` | `2019` | `2019` |
    | `decade`, `century`, `millennium` | `[2010, 2020[`, … | `[2010, 2020[`, … |

    Weeks follow ISO 8601 (from Monday; week 1 has at least four days in the year) or the rule of the USA
    (from Sunday; week 1 holds 1 January). The last days of a year can lie in week 1 of the next: the iso
    style then names the year of the week; the arx style names the calendar year, and so gives the same label
    to the two ends of a year.

    What lies before `bottom` is coded `<bottom`, what lies at or after `top` is coded `>=top`. There is no
    root unless `root=True`. Text is read as ISO dates, or by `format` as of `datetime.strptime`; where a
    column writes dates in several ways, `format` lists them, and the first that fits is taken.

    >>> import numpy as np, pyarrow as pa
    >>> Dates(("month", "year")).build(pa.array([date(2020, 1, 31)]), np.ones(1), "born").to_rows()
    [('2020-01-31', '2020-01', '2020')]
    """

    units: Annotated[
        tuple[Granularity, ...], Field(min_length=1, description="unit of each level, fine to coarse")
    ]
    style: Annotated[Literal["iso", "arx"], Field(description="how labels are written")] = "iso"
    weeks: Annotated[Literal["iso", "us"], Field(description="when weeks start and which is the first")] = (
        "iso"
    )
    bottom: Annotated[Moment | None, Field(description="earlier dates are coded")] = None
    top: Annotated[Moment | None, Field(description="dates from here on are coded")] = None
    format: Annotated[
        str | tuple[str, ...] | None,
        Field(description="how text columns write dates; several ways as a list"),
    ] = None
    root: Annotated[bool, Field(description="whether to add a last level `*`")] = False
    kind: Literal["dates"] = Field(default="dates", repr=False, kw_only=True)

    names_values: ClassVar[bool] = False
    reads_data: ClassVar[str | None] = None

    @model_validator(mode="after")
    def _check_nesting(self) -> Dates:
        for finer, coarser in zip(self.units, self.units[1:], strict=False):
            within = _WITHIN.get(finer, ())
            if self.style == "arx" and finer == "week_of_year":
                within = (*within, *_YEARS)
            if coarser not in within:
                choice = f" Choose from: {', '.join(within)}." if within else ""
                raise ValueError(
                    f"`units` of Dates: {coarser} cannot follow {finer}, because it can span two of "
                    f"them.{choice}"
                )
        if self.bottom is not None and self.top is not None and _moment(self.bottom) >= _moment(self.top):
            raise ValueError(f"`bottom` of Dates should be before `top`, not {self.bottom} and {self.top}")
        return self

    def build(self, values: pa.Array, counts: npt.ArrayLike, column: str) -> Hierarchy:
        """Label each moment on each level."""
        present_values = present(values, column)
        names, root = [column, *self.units], [ROOT] if self.root else []
        names += ["all"] if self.root else []
        ticks = self._ticks(present_values) if len(present_values) >= _MANY else None
        if ticks is None:
            columns = self._slow_columns(present_values, column)
            columns += [[each] * len(present_values) for each in root]
            return finish(columns, values, column, names=names)
        placed = by_key(ticks, canonical_array(present_values))
        group, levels = self._levels(ticks[placed.order])
        levels += [(np.zeros(len(levels[0][0]), np.intp), [each]) for each in root]
        return finish_sorted(placed, group, levels, values, column, names=names)

    def _ticks(self, values: pa.Array) -> Integers | None:
        """Return microseconds from 1970 to each moment; None if moments have to be read one by one."""
        if pa.types.is_timestamp(values.type):
            local = values if values.type.tz is None else pc.local_timestamp(values)
            floored = pc.floor_temporal(local, unit="microsecond").cast(pa.timestamp("us"), safe=False)
            ticks = floored.cast(pa.int64()).to_numpy(zero_copy_only=False)
        elif is_text(values.type) and self.format is None:
            ticks = moments(values)
        else:
            return None
        return ticks if ticks is not None and ticks.min() >= _FIRST and ticks.max() <= _LAST else None

    def _levels(self, ticks: Integers) -> tuple[npt.NDArray[np.intp], list[Level]]:
        """Group sorted moments by second, hour or day, and label each group once."""
        side = np.zeros(ticks.size, np.int64)
        if self.bottom is not None:
            side[: np.searchsorted(ticks, _tick(self.bottom))] = -1
        if self.top is not None:
            side[np.searchsorted(ticks, _tick(self.top)) :] = 1
        finest = min(_LENGTHS.get(unit, _LENGTHS["day"]) for unit in self.units)
        first, group = runs(np.where(side == 0, ticks // finest * finest, _LAST * side))
        ticks, side = ticks[first], side[first]
        levels: list[Level] = []
        for unit in self.units:
            starts, codes = runs(ticks // _LENGTHS.get(unit, _LENGTHS["day"]))
            labels = self._spell(unit, ticks[starts])
            for which, bound, sign in ((-1, self.bottom, "<"), (1, self.top, ">=")):
                if bound is not None:
                    codes = np.where(side == which, len(labels), codes)
                    labels.append(f"{sign}{bound.isoformat()}")
            levels.append((codes, labels))
        return group, levels

    def _spell(self, unit: str, ticks: Integers) -> list[str]:
        """Return the labels of the periods of some moments."""
        if unit not in _CLOCKS or ticks.size < _MANY:
            label = _labeller(unit, self.style, self.weeks)
            return [label(_EPOCH + timedelta(microseconds=at)) for at in ticks.tolist()]
        iso = canonical_array(pa.array(ticks // _LENGTHS["second"], pa.timestamp("s")))
        clock = pc.utf8_slice_codeunits(iso, 11, _CLOCKS[unit])
        if self.style == "iso":
            labels = pc.binary_join_element_wise(pc.utf8_slice_codeunits(iso, 0, 10), clock, "T")
        else:
            day = pc.binary_join_element_wise(
                *(pc.utf8_slice_codeunits(iso, *each) for each in ((8, 10), (5, 7), (0, 4))), "."
            )
            clock = pc.binary_join_element_wise(clock, ":00" if unit == "hour" else "", "")
            labels = pc.binary_join_element_wise(day, clock, "-")
        result: list[str] = labels.to_pylist()
        return result

    def _slow_columns(self, values: pa.Array, column: str) -> list[Sequence[str]]:
        """Return the columns with a label for each moment, one by one."""
        pairs = sorted(zip(self._moments(values, column), canonical_text(values, column=column), strict=True))
        moments = [moment for moment, _ in pairs]
        columns: list[Sequence[str]] = [[text or "" for _, text in pairs]]
        coded = [self._coding_label(moment) for moment in moments]
        for unit in self.units:
            label = _labeller(unit, self.style, self.weeks)
            columns.append([code or label(moment) for code, moment in zip(coded, moments, strict=True)])
        return columns

    def _moments(self, values: pa.Array, column: str) -> list[datetime]:
        kind = values.type
        if pa.types.is_date(kind):
            return [_moment(day) for day in _as_python(values.cast(pa.date32()), column)]
        if pa.types.is_timestamp(kind):
            if kind.tz is not None:
                values = pc.local_timestamp(values)
            # Rounded down before the cast, which would round moments before 1970 up.
            floored = pc.floor_temporal(values, unit="microsecond").cast(pa.timestamp("us"), safe=False)
            return _as_python(floored, column)
        texts = [text or "" for text in canonical_text(values, column=column)]
        return [self._parse(text, column, texts) for text in texts]

    def _parse(self, text: str, column: str, texts: Sequence[str]) -> datetime:
        try:
            if self.format is None:
                return datetime.fromisoformat(text).replace(tzinfo=None)
            forms = (self.format,) if isinstance(self.format, str) else self.format
            return datetime.strptime(text, next((form for form in forms if _fits(text, form)), forms[0]))
        except ValueError:
            expected = "ISO 8601, such as 2020-01-31" if self.format is None else " or ".join(forms)
            ways: list[str | Say] = []
            for form in _fitting(texts) or ([] if self.format else ["%d.%m.%Y"]):
                ways += [" or " if ways else ", or say how dates are written there: "]
                ways += [Say("quasi_identifiers", "dates", format=form)]
            raise HierarchyError(
                f"the value {text!r} of column {column!r} is not a date ({expected}); correct it in the data",
                *ways,
            ) from None

    def _coding_label(self, moment: datetime) -> str | None:
        if self.bottom is not None and moment < _moment(self.bottom):
            return f"<{self.bottom.isoformat()}"
        if self.top is not None and moment >= _moment(self.top):
            return f">={self.top.isoformat()}"
        return None


def dates(
    *units: Granularity,
    style: Literal["iso", "arx"] = "iso",
    weeks: Literal["iso", "us"] = "iso",
    bottom: datetime | date | None = None,
    top: datetime | date | None = None,
    format: str | Sequence[str] | None = None,
    root: bool = False,
) -> Dates:
    """Return a builder for dates and times by units of the calendar, from fine to coarse; see `Dates`.

    >>> dates("month", "year", "decade", root=True).units
    ('month', 'year', 'decade')
    """
    forms = format if format is None or isinstance(format, str) else tuple(format)
    return Dates(units, style, weeks, bottom, top, forms, root)


_MANY = 1_000
"""Moments from which on labelling whole days and hours pays off."""

_EPOCH = datetime(1970, 1, 1)
_LENGTHS = {"second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6, "day": 86_400 * 10**6}
"""Microseconds of units up to a day, of which all longer ones consist."""

_CLOCKS = {"second": 19, "minute": 16, "hour": 13}
"""Length of ISO 8601 up to a unit shorter than a day."""

_FIRST = (datetime.min - _EPOCH) // timedelta(microseconds=1)
_LAST = (datetime.max - _EPOCH) // timedelta(microseconds=1)
"""The range of moments in Python."""

_DAYS = {
    "%d.%m.%Y": r"[0-9]{1,2}\.[0-9]{1,2}\.[0-9]{4}",
    "%d/%m/%Y": r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}",
    "%m/%d/%Y": r"[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}",
    "%Y/%m/%d": r"[0-9]{4}/[0-9]{1,2}/[0-9]{1,2}",
}
_TIMES = {"": "", " %H:%M": " [0-9]{1,2}:[0-9]{2}", " %H:%M:%S": " [0-9]{1,2}:[0-9]{2}:[0-9]{2}"}
_ISO_DAY = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_SEVERAL = 4  # forms; more of them are no dates
_FORMS = {
    day + time: re.compile(look + clock) for day, look in _DAYS.items() for time, clock in _TIMES.items()
}


def form_of(texts: Sequence[str]) -> str | None:
    """Return the only form of dates, for `format`, that fits all texts; None if there is not exactly one.

    Nothing is guessed: 3/4/2020 is in March or in April, unless another text of the column decides.

    >>> form_of(["31.12.2020", "3.4.2021"]), form_of(["12/31/2020", "3/4/2021"]), form_of(["3/4/2021"])
    ('%d.%m.%Y', '%m/%d/%Y', None)
    >>> form_of(["31.12.2020 8:30", "3.4.2021 17:05"])
    '%d.%m.%Y %H:%M'
    """
    fitting = _fitting(texts)
    return fitting[0] if texts and len(fitting) == 1 else None


def forms_of(texts: Sequence[str]) -> tuple[str, ...] | None:
    """Return the forms of dates in texts if there are several and all are unambiguous; else None.

    >>> forms_of(["31.12.2020", "2020-12-30", "3.4.2021"]), forms_of(["31.12.2020", "3/4/2021"])
    (('%d.%m.%Y', '%Y-%m-%d'), None)
    """
    alike: dict[str, list[str]] = {}
    for text in texts:
        shape = re.sub("[0-9]{3,}", "y", re.sub(r"\b[0-9]{1,2}\b", "d", text))
        alike.setdefault(shape, []).append(text)
    if not 1 < len(alike) <= _SEVERAL:
        return None
    forms = [
        "%Y-%m-%d"
        if all(_ISO_DAY.fullmatch(text) and _fits(text, "%Y-%m-%d") for text in same)
        else form_of(same)
        for same in alike.values()
    ]
    return None if None in forms else tuple(form for form in forms if form)


def _fitting(texts: Sequence[str]) -> list[str]:
    return [
        form
        for form, look in _FORMS.items()
        if all(look.fullmatch(text) and _fits(text, form) for text in texts)
    ]


def _fits(text: str, form: str) -> bool:
    try:
        datetime.strptime(text, form)
    except ValueError:
        return False
    return True


def week_of(day: date, weeks: Literal["iso", "us"]) -> tuple[int, int]:
    """Return the year of the week of a day, and the number of the week in that year.

    >>> week_of(date(2019, 12, 31), "us"), week_of(date(2021, 1, 1), "iso"), week_of(date(2021, 1, 1), "us")
    ((2020, 1), (2020, 53), (2021, 1))
    """
    if weeks == "iso":
        year, week, _ = day.isocalendar()
        return year, week
    ahead = 6 - day.isoweekday() % 7  # days to Saturday; the week with 1 January is the first
    if day.month == 12 and day.day + ahead > 31:
        return day.year + 1, 1
    return day.year, (day.timetuple().tm_yday + ahead - 1) // 7 + 1


def week_of_month(day: date, weeks: Literal["iso", "us"]) -> int:
    """Return the week of a day in its month; a first ISO week of less than four days is week 0."""
    first = day.replace(day=1)
    offset = first.isoweekday() - 1 if weeks == "iso" else first.isoweekday() % 7
    counts = weeks == "us" or 7 - offset >= 4
    return (day.day - 1 + offset) // 7 + (1 if counts else 0)


def _labeller(unit: str, style: str, weeks: Literal["iso", "us"]) -> Callable[[datetime], str]:
    if unit in ("decade", "century", "millennium"):
        length = {"decade": 10, "century": 100, "millennium": 1000}[unit]
        return lambda at: f"[{at.year // length * length}, {at.year // length * length + length}["
    plain: dict[str, Callable[[datetime], str]] = {
        "weekday": lambda at: str(at.isoweekday() if weeks == "iso" else at.isoweekday() % 7 + 1),
        "week": lambda at: str(week_of(at.date(), weeks)[1]),
        "quarter_of_year": lambda at: f"Q{_quarter(at)}",
        "year": lambda at: f"{at.year:04}",
    }
    iso: dict[str, Callable[[datetime], str]] = {
        "second": lambda at: at.isoformat(timespec="seconds"),
        "minute": lambda at: at.isoformat(timespec="minutes"),
        "hour": lambda at: at.isoformat(timespec="hours"),
        "day": lambda at: at.date().isoformat(),
        "week_of_month": lambda at: f"{at.year:04}-{at.month:02} week {week_of_month(at.date(), weeks)}",
        "week_of_year": lambda at: "{:04}-W{:02}".format(*week_of(at.date(), weeks)),
        "month": lambda at: f"{at.year:04}-{at.month:02}",
        "quarter": lambda at: f"{at.year:04}-Q{_quarter(at)}",
    }
    arx: dict[str, Callable[[datetime], str]] = {
        "second": lambda at: f"{_day(at)}-{at:%H:%M:%S}",
        "minute": lambda at: f"{_day(at)}-{at:%H:%M}",
        "hour": lambda at: f"{_day(at)}-{at:%H}:00",
        "day": _day,
        "week_of_month": lambda at: f"{week_of_month(at.date(), weeks)}/{at.month:02}.{at.year:04}",
        "week_of_year": lambda at: f"{week_of(at.date(), weeks)[1]:02}/{at.year:04}",
        "month": lambda at: f"{at.month:02}/{at.year:04}",
        "quarter": lambda at: f"Q{_quarter(at)} {at.year:04}",
    }
    return ({**plain, **iso} if style == "iso" else {**plain, **arx})[unit]


def _as_python(values: pa.Array, column: str) -> list[Any]:
    """Return dates or times as Python objects; refuse years beyond 9999."""
    try:
        moments: list[Any] = values.to_pylist()
    except (OverflowError, ValueError):
        years = pc.year(values).to_numpy(zero_copy_only=False)
        place = int(np.flatnonzero((years < 1) | (years > 9999))[0])
        text = canonical_text(values[place : place + 1])[0]
        raise HierarchyError(
            f"the value {text} of column {column!r} is beyond the years 1 to 9999, which the calendar has; correct it in the "
            "data, or set it to missing"
        ) from None
    return moments


def _day(at: datetime) -> str:
    return f"{at.day:02}.{at.month:02}.{at.year:04}"


def _quarter(at: datetime) -> int:
    return (at.month + 2) // 3


def _moment(day: datetime | date) -> datetime:
    if isinstance(day, datetime):
        return day.replace(tzinfo=None)
    return datetime(day.year, day.month, day.day)


def _tick(day: datetime | date) -> int:
    return (_moment(day) - _EPOCH) // timedelta(microseconds=1)
