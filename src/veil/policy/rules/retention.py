"""How long data may be kept: from the retention in a policy to a day."""

from __future__ import annotations

import calendar
import functools
import re
from collections.abc import Mapping
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

from veil.errors import ParameterError, PlanError, did_you_mean
from veil.policy.documents.elements import Policy, Retention, cached_by_identity

_DURATION = re.compile(
    r"P(?=[0-9T])(?:([0-9]+)Y)?(?:([0-9]+)M)?(?:([0-9]+)W)?(?:([0-9]+)D)?"
    r"(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)S)?)?"
)

KINDS = ("indefinite", "afterpurpose", "fixeddate")


class Duration(NamedTuple):
    """A duration of the calendar: months do not have the same number of days."""

    months: int
    days: int

    def after(self, start: date) -> date:
        """Return the day that is this much later; the last day of the month if it has no such day.

        >>> duration("P1M").after(date(2026, 1, 31))
        datetime.date(2026, 2, 28)
        """
        years, month = divmod(start.year * 12 + start.month - 1 + self.months, 12)
        if years > date.max.year:
            return date.max
        day = min(start.day, calendar.monthrange(years, month + 1)[1])
        try:
            return date(years, month + 1, day) + timedelta(days=self.days)
        except OverflowError:
            return date.max


@functools.cache
def duration(text: str) -> Duration:
    """Read a duration of ISO 8601. Parts of a day are dropped: data due during a day are due that day.

    >>> duration("P2Y6M"), duration("P3W")
    (Duration(months=30, days=0), Duration(months=0, days=21))
    """
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise PlanError(
            f"{text!r} is not a duration. Write years, months and days as ISO 8601 does: P2Y, P18M, P30D"
        )
    if any(len(each) > 6 for each in match.groups(default="0")):
        raise PlanError(f"{text!r} is too long. Use `indefinite` if that is what you mean")
    years, months, weeks, days, hours, *_ = (int(each) for each in match.groups(default="0"))
    return Duration(12 * years + months, 7 * weeks + days + hours // 24)


@functools.cache
def day(text: str) -> date:
    """Read a date: ISO 8601, or seconds since 1970 as points of acceptance are.

    >>> day("2026-12-31"), day("1735689600")
    (datetime.date(2026, 12, 31), datetime.date(2025, 1, 1))
    """
    text = text.strip()
    try:
        if text.isascii() and text.isdigit() and len(text) > 8:
            seconds = int(text)
            if seconds >= 10**11:  # milliseconds, as JavaScript has them
                seconds //= 1000
            return datetime.fromtimestamp(seconds, UTC).date()
        return datetime.fromisoformat(text).date()
    except (ValueError, OverflowError, OSError):
        raise PlanError(f"{text!r} is not a date. Write it as 2026-12-31") from None


def as_day(moment: date | str) -> date:
    """Return the day of a date, a time or a text.

    >>> as_day("2026-12-31") == as_day(datetime(2026, 12, 31, 23)) == date(2026, 12, 31)
    True
    """
    if isinstance(moment, str):
        return day(moment)
    if not isinstance(moment, date):
        raise ParameterError(f"a day should be a date, not {moment!r}. Write datetime.date(2026, 12, 31)")
    return moment.date() if isinstance(moment, datetime) else moment


def kind_of(retention: Retention) -> str:
    """Return the type of a retention in lower case, without separators."""
    return (retention.type or "").replace("_", "").replace("-", "").replace(" ", "").lower()


@cached_by_identity
def check_retention(retention: Retention) -> None:
    """Refuse a retention from which no day follows."""
    kind = kind_of(retention)
    if kind not in KINDS:
        raise PlanError(
            f"a retention should be indefinite, afterPurpose or fixedDate, not {retention.type!r}"
        )
    if kind == "indefinite":
        if retention.point_in_time not in (None, "", "P0D"):
            raise PlanError(
                f"a retention without an end has no pointInTime, and this one says {retention.point_in_time!r}. "
                "Write afterPurpose or fixedDate"
            )
        return
    if not retention.point_in_time:
        what = "a duration such as P2Y" if kind == "afterpurpose" else "a date such as 2026-12-31"
        raise PlanError(f"a retention of the type {retention.type!r} needs {what}: add pointInTime")
    duration(retention.point_in_time) if kind == "afterpurpose" else day(retention.point_in_time)


def due_day(retention: Retention | None, ended: date | None) -> date | None:
    """Return the day on which data must be deleted, if known. `ended` is the day on which the purpose ended.

    >>> due_day(Retention("afterPurpose", "P2Y"), date(2024, 12, 31))
    datetime.date(2026, 12, 31)
    >>> due_day(Retention("FIXEDDATE", "2026-12-31"), None)
    datetime.date(2026, 12, 31)
    """
    if retention is None:
        return None
    check_retention(retention)
    kind = kind_of(retention)
    if kind == "fixeddate":
        return day(str(retention.point_in_time))
    if kind == "afterpurpose" and ended is not None:
        return duration(str(retention.point_in_time)).after(ended)
    return None


def withdrawals(days: Mapping[str, date] | None, policies: Mapping[str, Policy]) -> dict[str, date]:
    """Return the days of withdrawal; refuse an id that no policy has, as no record would be left out."""
    for name in days or {}:
        if name not in policies:
            hint = did_you_mean(name, list(policies)[:50])
            raise PlanError(
                f"consent to policy {name!r} was withdrawn, and there is no such policy.{hint} Correct the id, or "
                "leave it out"
            )
    return {name: as_day(each) for name, each in (days or {}).items()}


class DueData(NamedTuple):
    """Data that must be deleted."""

    policy: str
    purpose: str
    since: date
    reason: str

    def __str__(self) -> str:
        return f"{self.policy}, purpose {self.purpose!r}: {self.reason} since {self.since}"


def due(
    policies: dict[str, Policy],
    on: date,
    *,
    ended: dict[str, date] | None = None,
    withdrawn: dict[str, date] | None = None,
) -> list[DueData]:
    """List the data that must be deleted by a day: as retention has ended, or consent was withdrawn.

    Parameters
    ----------
    ended
        The day on which each purpose ended, by its name. A purpose that goes on is not among them.
    withdrawn
        The day on which consent was withdrawn, by the id of the policy.

    Past releases are not affected: a record cannot be taken back from its recipients.
    """
    result: list[DueData] = []
    withdrawal_days = withdrawals(withdrawn, policies)
    for name, policy in policies.items():
        withdrawal = withdrawal_days.get(name)
        for purpose in policy.purposes:
            if withdrawal is not None and withdrawal <= on:
                result.append(DueData(name, str(purpose.name), withdrawal, "consent withdrawn"))
                continue
            since = due_day(purpose.retention, (ended or {}).get(str(purpose.name)))
            if since is not None and since <= on:
                result.append(DueData(name, str(purpose.name), since, "retention over"))
    return result
