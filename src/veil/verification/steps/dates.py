"""Checks of methods that shift the dates of a person, by local time in the zone of the column."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.base.wording import Phrase, plural
from veil.published.finding import Finding
from veil.tables.spelling import encode_people
from veil.verification.steps.rows import Integers, MaskStep

_DAY = 86_400
_YEAR, _SEASON = 365.2425, 15
"""Days of a year, and by how many a shift that keeps the season may differ from whole years."""


def _wall_clock(column: pa.ChunkedArray) -> tuple[Integers, NDArray[np.bool_], int]:
    """Return local times in the column's units since 1970, a mask of missing ones, and the units of a day."""
    kind = column.type
    if pa.types.is_date(kind):
        days = column.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
        return np.array(days.fill_null(0)), np.array(column.is_null()), 1
    local = column if kind.tz is None else pc.local_timestamp(column)
    counts = np.array(local.cast(pa.int64()).fill_null(0))
    return (
        counts,
        np.array(column.is_null()),
        _DAY * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit],
    )


def _people(step: MaskStep) -> Integers:
    codes = encode_people(step.source[step.method.person], step.method.person)[1].astype(np.int64)
    return step.origins.pick(codes)


def _admissible(days: int, keep: str) -> list[int]:
    """Return, in order, all shifts of at most some days that keep weekday or season as declared."""
    return [
        shift
        for shift in range(-days, days + 1)
        if ("weekday" not in keep or shift % 7 == 0)
        and ("season" not in keep or abs(shift - _YEAR * round(shift / _YEAR)) <= _SEASON)
    ]


def _date_shifting(step: MaskStep) -> Iterator[Finding]:
    method, people = step.method, _people(step)
    shifts = np.array(_admissible(method.days, method.keep), np.int64)
    number = int(people.max(initial=-1)) + 1
    # The least and greatest shift of each person, and the shifts that would lead out of the period if undone.
    least, most = np.full(number, np.iinfo(np.int64).max), np.full(number, np.iinfo(np.int64).min)
    low, high = np.full(number, -method.days), np.full(number, method.days)
    wrong, skipped = 0, [np.zeros((0, 2), np.int64)]
    for name in method.columns:
        old, missing_before, day = _wall_clock(step.old(name))
        new, missing_after, _ = _wall_clock(step.new(name))
        wrong += int(np.count_nonzero(missing_before != missing_after))
        there = ~(missing_before | missing_after)
        old, new, whose = old[there], new[there], people[there]
        shift, rest = np.divmod(new - old, day)
        wrong += int(np.count_nonzero(rest[~_does_not_exist(old + shift * day, step.new(name).type)]))
        np.minimum.at(least, whose, shift)
        np.maximum.at(most, whose, shift)
        every, nowhere, _ = _wall_clock(step.source[name])
        if there.any():
            first, last = int(every[~nowhere].min()), int(every[~nowhere].max())
            np.maximum.at(low, whose, -((last - new) // day))
            np.minimum.at(high, whose, (new - first) // day)
            period, kind = (first // day, last // day), step.new(name).type
            skipped.append(_undone_to_skipped_times(new, whose, day, period, method.days, kind))
    shifted_mask = least <= most
    wrong += int(np.count_nonzero((least != most)[shifted_mask] | ~np.isin(least[shifted_mask], shifts)))
    yield Finding(
        "all dates of a person moved by the same number of days, the shift is a declared one, and times of day stay, unless "
        "clocks were put forward there",
        not wrong,
        plural(wrong, "does not", "do not") if wrong else "everybody",
    )
    left = np.searchsorted(shifts, high, "right") - np.searchsorted(shifts, low, "left")
    whose, shift = np.unique(np.concatenate(skipped), axis=0).T
    counted = (low[whose] <= shift) & (shift <= high[whose]) & np.isin(shift, shifts)
    left -= np.bincount(whose[counted], minlength=number)
    fewest = int(left.min(initial=shifts.size))
    promise = Phrase(
        "at least {least} shifts are possible for everybody, given the period of the table",
        least=method.least,
    )
    yield Finding(promise, fewest >= method.least, f"{fewest} at least")


def _does_not_exist(counts: Integers, kind: pa.DataType) -> NDArray[np.bool_]:
    """Return a mask of local times skipped when clocks went forward; shifted dates show a later time then."""
    if pa.types.is_date(kind) or kind.tz is None:
        return np.zeros(counts.size, np.bool_)
    local = pa.array(counts, pa.timestamp(kind.unit))
    early, late = (
        pc.assume_timezone(local, kind.tz, ambiguous="earliest", nonexistent=side)
        for side in ("earliest", "latest")
    )
    return np.array(pc.not_equal(early, late), dtype=np.bool_)


def _undone_to_skipped_times(
    new: Integers, whose: Integers, day: int, period: tuple[int, int], farthest: int, kind: pa.DataType
) -> Integers:
    """Return impossible pairs of person and shift: undone, they would lead to a skipped local time."""
    if pa.types.is_date(kind) or kind.tz is None:
        return np.zeros((0, 2), np.int64)
    # Two noons are less than a day apart if and only if clocks went forward between them.
    days = np.arange(period[0] - 1, period[1] + 2)
    noons = pc.assume_timezone(
        pa.array(days * day + day // 2, pa.timestamp(kind.unit)),
        kind.tz,
        ambiguous="earliest",
        nonexistent="earliest",
    )
    before = days[:-1][np.diff(np.array(noons.cast(pa.int64()))) < day]
    changes = np.union1d(before, before + 1)
    start = np.searchsorted(changes, new // day - farthest)
    number = np.searchsorted(changes, new // day + farthest, "right") - start
    rows = np.repeat(np.arange(new.size), number)
    change = changes[
        np.concatenate([np.arange(a, a + n) for a, n in zip(start, number, strict=True)] or [rows])
    ]
    gone = _does_not_exist(change * day + new[rows] % day, kind)
    return np.stack([whose[rows], new[rows] // day - change], axis=1)[gone]


def _days_since_first(step: MaskStep) -> Iterator[Finding]:
    method = step.method
    _, people = encode_people(step.source[method.person], method.person)
    first: dict[int, int] = {}
    for name in method.columns if method.since is None else (method.since,):
        counts, missing, day = _wall_clock(step.source[name])
        for person, count in zip(people[~missing].tolist(), (counts[~missing] // day).tolist(), strict=True):
            first[person] = min(count, first.get(person, count))
    wrong = 0
    for name in method.columns:
        counts, missing, day = _wall_clock(step.old(name))
        expected = [
            None if gone or person not in first else count - first[person]
            for person, count, gone in zip(
                _people(step).tolist(), (counts // day).tolist(), missing.tolist(), strict=True
            )
        ]
        wrong += sum(one != other for one, other in zip(expected, step.new(name).to_pylist(), strict=True))
    names = ", ".join(map(repr, method.columns))
    since = "first date" if method.since is None else repr(method.since)
    measured = plural(wrong, "cell differs", "cells differ") if wrong else "every cell"
    yield Finding(f"{names}: days since each person's {since}", not wrong, measured)


CHECKS: Mapping[str, Callable[[MaskStep], Iterator[Finding]]] = {
    "DateShifting": _date_shifting,
    "DaysSinceFirst": _days_since_first,
}
