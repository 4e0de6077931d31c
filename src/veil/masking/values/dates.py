"""Dates of a person: shifted by one secret number of days each, or counted from the first one."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from veil.base.arrays import Codes, Floats, Integers, Mask
from veil.base.declare import declared
from veil.base.keys import Key, KeyFile, KeyVariable, check_key, read_key, start_hmac
from veil.base.randomness import Randomness
from veil.base.wording import plural
from veil.errors import InputError, PlanError
from veil.masking.parameters import Columns
from veil.outcome.method import ColumnMethod, MaskedTable, Method
from veil.plan.owners import number_people
from veil.tables.columns import column_of, is_quantity, replace_column, whole_numbers
from veil.tables.rows import Rows
from veil.tables.spelling import PERSON, encode_people, key_text
from veil.tables.text import canonical_text

_Dates = Annotated[Columns, Field(description="columns of dates or times")]
_Person = Annotated[str, *PERSON, Field(description="column that tells people apart")]

_YEAR = 365.2425
_SEASON = 15
"""Days by which a shift may differ from whole years if the season is to stay."""

_IN_STEP = 0.95
"""Share of neighbours in the order of a column above which it reveals the order of dates."""

_FARTHEST = 2.0**63 - 2.0**53
"""Largest distance of a date from 1970, in its unit, at which it can still be moved."""

_TRIES = 100
"""Draws for a person whose shifted dates are at times that clocks skip."""

Days = Integers


class OwnerDates(ColumnMethod):
    """Base of methods that treat all dates of a person alike."""

    columns: tuple[str, ...]
    person: str

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage", "attribute linkage")

    @model_validator(mode="after")
    def _tells_people_apart(self) -> Self:
        if self.person in self.columns:
            raise ValueError(
                f"`person` of {type(self).__name__} should be another column than the dates: {self.person!r} is both"
            )
        return self

    @property
    def known_columns(self) -> tuple[str, ...]:
        """None: attackers do not know the distance to the date that is shown."""
        return ()

    def _people(self, table: pa.Table) -> Codes:
        return number_people(column_of(table, self.person, self), self.person)

    def _dates(self, table: pa.Table, name: str) -> tuple[Days, Mask, int]:
        """Return local times in the column's unit, a mask of missing values, and the units of a day."""
        column = column_of(table, name, self)
        kind = column.type
        if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
            raise InputError(
                f"{self}: column {name!r} holds values of type {kind}, not dates. Turn it into dates first, for example with "
                f'pandas.to_datetime(frame["{name}"])'
            )
        missing = np.array(column.is_null(), dtype=np.bool_)
        if pa.types.is_timestamp(kind) and kind.tz is not None:
            column = pc.local_timestamp(column)
        counts = np.array(whole_numbers(column).fill_null(0), dtype=np.int64)
        return counts, missing, _units_of_day(kind)


def _units_of_day(kind: pa.DataType) -> int:
    if pa.types.is_date32(kind):
        return 1
    unit = "ms" if pa.types.is_date64(kind) else kind.unit
    return 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]


def _as_dates(counts: Days, missing: Mask, kind: pa.DataType) -> pa.Array:
    """Return dates from local times: the first of ambiguous ones; skipped ones are moved on by the gap."""
    if pa.types.is_date32(kind):
        return pa.array(counts, mask=missing).cast(pa.int32()).cast(kind)
    if pa.types.is_date64(kind) or kind.tz is None:
        return pa.array(counts, mask=missing).cast(kind)
    local = pa.array(counts, pa.timestamp(kind.unit), mask=missing)
    before = pc.assume_timezone(local, kind.tz, ambiguous="earliest", nonexistent="earliest")
    skipped = pc.subtract(local.cast(pa.int64()), pc.local_timestamp(before).cast(pa.int64()))
    return pc.add(before.cast(pa.int64()), skipped).cast(kind)


def _is_skipped(counts: Days, kind: pa.DataType) -> Mask:
    """Whether clocks skip these local times, as they go forward there."""
    if not pa.types.is_timestamp(kind) or kind.tz is None:
        return np.zeros(counts.size, np.bool_)
    there = pc.local_timestamp(_as_dates(counts, np.zeros(counts.size, np.bool_), kind))
    skipped: Mask = np.array(there.cast(pa.int64())) != counts
    return skipped


def _short_days(first: int, last: int, kind: pa.DataType) -> Days:
    """Return the days in a range that are shorter than others, as clocks go forward."""
    days, length = np.arange(first, last + 2), _units_of_day(kind)
    midnights = _as_dates(days * length, np.zeros(days.size, np.bool_), kind).cast(pa.int64())
    return days[:-1][np.diff(np.array(midnights)) < length]


@declared(kind_of=Method)
class DateShifting(OwnerDates):
    """All dates of a person move by one secret number of days, at most `days` to either side.

    Intervals between the dates of a person stay, and so do times of day. Days are those of the column's own
    calendar: a time with a zone moves in local time, so midnight stays midnight on either side of a change of
    clocks, and intervals are those of local clocks. Times that clocks show twice become the first, also
    without a shift: the second would reveal who was not moved. The shift is drawn uniformly from all after
    which no date is outside of the period of its column or at a time that clocks skip, 0 among them, and is
    not stored. With a key, or for a person without such a shift, a time that clocks skip is moved on by the
    gap. With a key, the shift is the HMAC-SHA-256 of the person's number, the same in every table and run
    with the same key and context; then dates may leave the period, which reveals more. Optionally weekdays
    stay (shifts by whole weeks), which also keeps visits off closing days, or seasons (shifts by whole years,
    and 15 days at most to either side). Missing dates stay missing. Rows leave in a random order, as one by
    time would reveal the shifts.

    Limits of shifting: a person whose dates fill the whole period of the table can have been moved by few
    days only, as the period is known. So the method counts, for each person, the shifts that could be undone
    without leaving the period, and refuses tables in which a person has fewer than `least`. A date that most
    people share, such as the first day of a study, would reveal their shifts: such columns are refused as
    well, and so are tables with another column that grows with the dates, such as a running number. An
    attacker who knows one true date of a person knows all: shifting is no substitute for a privacy model.

    >>> from datetime import date
    >>> visits = {"patient": [1, 1, 2], "visit": [date(2024, 1, 8), date(2024, 1, 11), date(2024, 6, 3)]}
    >>> made = DateShifting("visit", "patient", 60).mask(Rows.of(pa.table(visits)), Randomness()).table["visit"].to_pylist()
    >>> (made[1] - made[0]).days
    3
    """

    columns: _Dates
    person: _Person
    days: Annotated[int, Field(ge=1, le=36_525, description="largest shift to either side, in days")]
    keep: Annotated[
        Literal["nothing", "weekday", "season", "weekday and season"],
        Field(description="what a date has to keep: nothing, its weekday, its season, or both"),
    ] = "nothing"
    least: Annotated[
        int,
        Field(
            ge=1, description="shifts that have to be possible for everybody, given the period of the table"
        ),
    ] = 5
    key_file: KeyFile = None
    key_variable: KeyVariable = None
    key: Key = Field(default=None, repr=False)
    context: Annotated[str, Field(description="what the shifts are for; they differ in another context")] = ""
    kind: Literal["DateShifting"] = Field(default="DateShifting", repr=False, kw_only=True)

    shuffles: ClassVar[bool] = True

    @model_validator(mode="after")
    def _can_shift(self) -> DateShifting:
        if self._has_key:
            check_key("DateShifting", self.key, self.key_file, self.key_variable)
        needed = max(2, 2 * self.least - 1)  # at an end of the period, half of them are possible
        if self.shifts.size < needed:
            raise ValueError(
                f"DateShifting: there {plural(self.shifts.size, 'shift is', 'shifts are')} of at most {self.days} days that "
                f"would keep {self.keep}, and at least {needed} are needed. Raise `days`"
            )
        return self

    @property
    def shifts(self) -> Days:
        """All admissible shifts, in days."""
        every = np.arange(-self.days, self.days + 1, dtype=np.int64)
        if "weekday" in self.keep:
            every = every[every % 7 == 0]
        if "season" in self.keep:
            every = every[np.abs(every - _YEAR * np.rint(every / _YEAR)) <= _SEASON]
        return every

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        people = self._people(table)
        shift = self._keyed_shifts(table) if self._has_key else self._draw(table, people, randomness)
        dates = {name: self._dates(table, name) for name in self.columns}
        for name, (counts, missing, _) in dates.items():
            self._refuse_anchor(name, counts, missing, people)
            self._refuse_order(table, name, counts, missing)
        for name, (counts, missing, day) in dates.items():
            table = replace_column(
                table, name, self._moved(table, name, counts, missing, day * shift[people])
            )
        possible = self._possible(table, rows.table, people)
        fewest = int(possible.min())
        if fewest < self.least:
            few = int(np.count_nonzero(possible < self.least))
            raise PlanError(
                f"{self}: the dates of {plural(few, 'person', 'people')} span so much of the period of the "
                f"table that fewer than {self.least} shifts are possible ({fewest} for one of them), and "
                "anyone who knows the period could reverse them. Leave such people or their outermost "
                "dates out; shift by more days, if that is what bounds it; or "
                "lower `least` if nobody can know the period"
            )
        unmoved = [
            name
            for name in table.column_names
            if name not in self.columns and pa.types.is_temporal(table[name].type)
        ]
        facts: dict[str, object] = {
            "people": possible.size,
            "different shifts": self.shifts.size,
            "fewest possible": fewest,
        }
        facts |= {"dates that stay as they are": ", ".join(unmoved)} if unmoved else {}
        return MaskedTable(table, facts=facts)

    def _moved(self, table: pa.Table, name: str, counts: Days, missing: Mask, by: Days) -> pa.Array:
        kind = column_of(table, name, self).type
        far = np.abs(counts.astype(np.float64)).max(initial=0) + np.abs(by).max(initial=0)
        try:
            if far < _FARTHEST:
                return _as_dates(counts + by, missing, kind)
        except pa.ArrowInvalid:
            pass
        raise InputError(
            f"{self}: moved by up to {self.days} days, dates of column {name!r} lie beyond what its type {kind} can "
            "hold. Leave out the dates that are that far away, or cast the column to a coarser unit"
        )

    @property
    def _has_key(self) -> bool:
        return (self.key, self.key_file, self.key_variable) != (None, None, None)

    def _draw(self, table: pa.Table, people: Codes, randomness: Randomness) -> Days:
        """Draw the shift of each person, among those that keep all dates in the period of their column."""
        low, high = self._range(table, table, people)
        # Moved by d, a date stays in the period iff it would, moved back by -d.
        first, last = self._places(-high, -low)
        places, again = np.empty(first.size, np.int64), np.arange(first.size)
        for _ in range(_TRIES):
            for number in np.unique((last - first)[again]).tolist():
                some = again[(last - first)[again] == number]
                places[some] = first[some] + randomness.integers(number, some.size)
            again = self._at_skipped_times(table, people, self.shifts[places], again)
            if not again.size:
                break
        return self.shifts[places]

    def _at_skipped_times(self, table: pa.Table, people: Codes, shift: Days, some: Integers) -> Integers:
        """Return those of some people with a shifted date at a time that clocks skip."""
        skipped = np.zeros(shift.size, np.bool_)
        for name in self.columns:
            counts, missing, day = self._dates(table, name)
            rows = np.flatnonzero(~missing & np.isin(people, some))
            moved = counts[rows] + day * shift[people[rows]]
            skipped[people[rows][_is_skipped(moved, table[name].type)]] = True
        return np.flatnonzero(skipped)

    def _keyed_shifts(self, table: pa.Table) -> Days:
        """Return the shift of each person by the key, the same in every table."""
        shifts = self.shifts
        values, _ = encode_people(column_of(table, self.person, self), self.person)
        start = start_hmac(read_key(self.key, self.key_file, self.key_variable), "dates", self.context)
        places = []
        for value in canonical_text(values, column=self.person):
            digest = start.copy()
            digest.update(key_text(value, self.person).encode())
            places.append(int.from_bytes(digest.digest(), "big") % shifts.size)
        return shifts[np.array(places, np.int64)]

    def _refuse_anchor(self, name: str, counts: Days, missing: Mask, people: Codes) -> None:
        """Refuse a date that more than half of the people have, such as a common start: it reveals shifts."""
        pairs = np.unique(np.stack([counts[~missing], people[~missing].astype(np.int64)]), axis=1)
        _, had = np.unique(pairs[0], return_counts=True)
        everybody = np.unique(pairs[1]).size
        if everybody > 1 and 2 * int(had.max(initial=0)) > everybody:
            raise PlanError(
                f"{self}: {int(had.max()):,} of {everybody:,} people have the same date in column {name!r}, "
                "and anyone who knows it can see by how much they were shifted. Leave the column out of "
                "the table"
            )

    def _refuse_order(self, table: pa.Table, name: str, counts: Days, missing: Mask) -> None:
        """Refuse another column whose order is that of the dates."""
        for other in table.column_names:
            column = table[other]
            if other in self.columns or other == self.person or not is_quantity(column.type):
                continue
            there = ~missing & np.array(column.is_valid(), dtype=np.bool_)
            values = _numbers(column.filter(pa.array(there)))
            if np.unique(values).size < max(20, values.size // 2):
                continue  # a value that many rows share reveals little about their dates
            steps = np.diff(counts[there][np.argsort(values, kind="stable")])
            steps = steps[steps != 0]
            if steps.size >= 20 and max((steps > 0).mean(), (steps < 0).mean()) > _IN_STEP:
                raise PlanError(
                    f"{self}: column {other!r} is in the order of {name!r}, and so reveals between which "
                    "dates a row was. Leave it out of the table, or shift it as well if it holds dates"
                )

    def _possible(self, after: pa.Table, before: pa.Table, people: Codes) -> Days:
        """Count for each person the shifts that can be undone without leaving the period of the column."""
        low, high = self._range(after, before, people)
        first, last = self._places(low, high)
        # All dates are times that clocks show, so no shift can be undone to a time that they skip.
        impossible = [np.zeros((0, 2), np.int64)]
        for name in self.columns:
            moved, missing, day = self._dates(after, name)
            kind, rows = after[name].type, np.flatnonzero(~missing)
            if not rows.size or not pa.types.is_timestamp(kind) or kind.tz is None:
                continue
            counts = self._dates(before, name)[0][rows]
            short = _short_days(int(counts.min()) // day, int(counts.max()) // day, kind)
            begin = np.searchsorted(short, moved[rows] // day - high[people[rows]])
            number = np.searchsorted(short, moved[rows] // day - low[people[rows]], "right") - begin
            which = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number - begin, number)
            rows = np.repeat(rows, number)
            shift = moved[rows] // day - short[which]
            there = _is_skipped(moved[rows] - day * shift, kind) & np.isin(shift, self.shifts)
            impossible.append(np.stack([people[rows], shift], axis=1)[there])
        different = np.unique(np.concatenate(impossible), axis=0)
        return last - first - np.bincount(different[:, 0], minlength=first.size)

    def _places(self, low: Days, high: Days) -> tuple[Days, Days]:
        """Return where the shifts between two limits begin and end."""
        shifts = self.shifts
        return np.searchsorted(shifts, low, side="left"), np.searchsorted(shifts, high, side="right")

    def _range(self, after: pa.Table, before: pa.Table, people: Codes) -> tuple[Days, Days]:
        """Return the limits of the shifts that can be undone without leaving the period of the column."""
        size = int(people.max()) + 1
        low, high = np.full(size, -self.days, np.int64), np.full(size, self.days, np.int64)
        for name in self.columns:
            counts, missing, day = self._dates(before, name)
            moved, _, _ = self._dates(after, name)
            if missing.all():
                continue
            begin, end = counts[~missing].min(), counts[~missing].max()
            # Undone, the last date is still at or before the end, and the first at or after the beginning.
            np.maximum.at(low, people[~missing], -((end - moved[~missing]) // day))
            np.minimum.at(high, people[~missing], (moved[~missing] - begin) // day)
        return low, high


def _numbers(column: pa.ChunkedArray) -> Floats:
    if pa.types.is_temporal(column.type):
        column = whole_numbers(column)
    return np.array(column.cast(pa.float64(), safe=False), dtype=np.float64)


@declared(kind_of=Method)
class DaysSinceFirst(OwnerDates):
    """Dates become the number of days since the person's first one, for hierarchies to generalize.

    The first of all named columns counts, so intervals between columns stay as well; with `since` it is a
    date of that column, which goes. Only distances of dates remain. An attacker may still know the days of
    all visits of a person: name the column a quasi-identifier and use `knows="all rows"`.

    >>> from datetime import date
    >>> visits = {"patient": [1, 1, 2], "visit": [date(2024, 1, 8), date(2024, 1, 11), date(2024, 6, 3)]}
    >>> DaysSinceFirst("visit", "patient").mask(Rows.of(pa.table(visits)), Randomness()).table["visit"].to_pylist()
    [0, 3, 0]
    """

    columns: _Dates
    person: _Person
    since: Annotated[
        str | None, Field(description="column with the date to count from, if not the first")
    ] = None
    kind: Literal["DaysSinceFirst"] = Field(default="DaysSinceFirst", repr=False, kw_only=True)

    shuffles: ClassVar[bool] = True

    @model_validator(mode="after")
    def _is_another(self) -> DaysSinceFirst:
        if self.since in self.columns:
            raise ValueError(
                f"DaysSinceFirst: days since {self.since!r} cannot be counted in that column itself"
            )
        return self

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        people = self._people(table)
        first = np.full(int(people.max()) + 1, np.iinfo(np.int64).max, np.int64)
        for name in self.columns if self.since is None else (self.since,):
            counts, missing, day = self._dates(table, name)
            np.minimum.at(first, people[~missing], np.floor_divide(counts[~missing], day))
        unknown = first == np.iinfo(np.int64).max
        for name in self.columns:
            counts, missing, day = self._dates(table, name)
            lacking = missing | unknown[people]
            days = np.where(lacking, 0, np.floor_divide(counts, day) - np.where(unknown, 0, first)[people])
            table = replace_column(table, name, pa.array(days, mask=lacking))
        if self.since is not None:
            table = table.drop_columns([self.since])
        return MaskedTable(table, facts={"people": first.size})
