"""Dates of people: intervals stay, and what is handed over does not tell by how much they moved."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support import awkward_dates
from support.masking.running import outcome
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.errors import InputError, ParameterError, PlanError
from veil.masking import DateShifting, DaysSinceFirst
from veil.masking.values.dates import _SEASON, _YEAR

_DAY = date(2024, 1, 1)
_VISITS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 600)), min_size=1, max_size=25)


def _table(visits: list[tuple[int, int]], **more: Any) -> pa.Table:
    dates = [_DAY + timedelta(day) for _, day in visits]
    return pa.table({"patient": [p for p, _ in visits], "visit": dates, **more})


def _moved(method: DateShifting, table: pa.Table, column: str = "visit") -> list[tuple[Any, timedelta]]:
    made = outcome(method, table).table
    return [
        (p, after - before)
        for p, before, after in zip(
            *(each.to_pylist() for each in (table["patient"], table[column], made[column])), strict=True
        )
    ]


def _spread(people: int = 30, seed: int = 3) -> list[tuple[int, int]]:
    """Visits that stay well inside of the period, but for the first and the last person."""
    rng = np.random.default_rng(seed)
    inner = [(p, int(day)) for p in range(people) for day in 400 + rng.integers(0, 200, 3)]
    return [*inner, (people, 0), (people, 5), (people + 1, 1000), (people + 1, 990)]


@settings(deadline=None)
@given(_VISITS, st.sampled_from(["nothing", "weekday", "season", "weekday and season"]))
def test_all_dates_of_a_person_move_by_the_same_admissible_shift(
    visits: list[tuple[int, int]], keep: Any
) -> None:
    method = DateShifting("visit", "patient", 800, keep=keep, least=1)
    try:
        moved = _moved(method, _table(visits))
    except PlanError as error:
        assert "same date" in str(error)  # noqa: PT017
        return
    by_person = defaultdict(set)
    for person, shift in moved:
        by_person[person].add(shift.days)
    for shifts in by_person.values():
        (shift,) = shifts
        assert abs(shift) <= 800
        if "weekday" in keep:
            assert shift % 7 == 0
        if "season" in keep:
            assert min(abs(shift - years * _YEAR) for years in range(-3, 4)) <= _SEASON


@pytest.mark.parametrize("keep", ["nothing", "weekday"])
def test_every_admissible_shift_is_as_likely_as_the_others(keep: Any) -> None:
    people = 4000
    rng = np.random.default_rng(1)
    table = _table([(p, int(day)) for p, day in enumerate(rng.integers(0, 3000, people))])
    method = DateShifting("visit", "patient", 14, keep=keep, least=1)
    counts = Counter(shift.days for _, shift in _moved(method, table))
    assert sorted(counts) == method.shifts.tolist()  # nearly everybody is far from the ends of the period
    expected = people / len(counts)
    assert all(abs(count - expected) < 6 * expected**0.5 for count in counts.values())


def test_shifts_are_drawn_anew_and_those_of_a_key_stay() -> None:
    table = _table(_spread())
    drawn = {tuple(_moved(DateShifting("visit", "patient", 90), table)) for _ in range(3)}
    assert len(drawn) == 3
    keyed = DateShifting("visit", "patient", 90, key="9f2c71e05ad84b36c1f7a40d2e8b9563")
    assert _moved(keyed, table) == _moved(keyed, table)
    other = DateShifting(
        "visit", "patient", 90, key="9f2c71e05ad84b36c1f7a40d2e8b9563", context="another study"
    )
    assert _moved(other, table) != _moved(keyed, table)
    # The same people in another table and another order.
    upside = table.take(pa.array(np.arange(table.num_rows)[::-1]))
    assert dict(_moved(keyed, upside)) == dict(_moved(keyed, table))
    assert "0f0f" not in repr(keyed)


@settings(max_examples=40)
@given(_VISITS, st.integers(1, 400), st.sampled_from(["nothing", "weekday"]))
def test_possible_shifts_are_those_that_trying_all_of_them_leaves(
    visits: list[tuple[int, int]], days: int, keep: Any
) -> None:
    table = _table(visits)
    try:
        method = DateShifting("visit", "patient", max(days, 14), keep=keep, least=1)
        made = outcome(method, table)
    except PlanError:
        return
    # The attacker knows the period of the table, and tries to undo every shift.
    begin, end = min(table["visit"].to_pylist()), max(table["visit"].to_pylist())
    dates = defaultdict(list)
    for person, day in zip(made.table["patient"].to_pylist(), made.table["visit"].to_pylist(), strict=True):
        dates[person].append(day)
    left = [
        sum(all(begin <= day - timedelta(int(shift)) <= end for day in of_person) for shift in method.shifts)
        for of_person in dates.values()
    ]
    assert made.facts["fewest possible"] == min(left) >= 1


def test_whoever_fills_the_period_is_refused() -> None:
    visits = [*_spread(), (99, 0), (99, 1000)]
    with refused(PlanError, "1 person", "span"):
        outcome(DateShifting("visit", "patient", 90), _table(visits))
    assert (
        outcome(DateShifting("visit", "patient", 90, least=1), _table(visits)).facts["fewest possible"] == 1
    )


def test_a_date_that_most_people_share_is_refused() -> None:
    visits = [(p, 7) for p in range(20)] + [(p, 100 + 31 * p) for p in range(20)]
    with refused(PlanError, "20 of 20", "'visit'"):
        outcome(DateShifting("visit", "patient", 90), _table(visits))


def test_a_column_in_the_order_of_dates_is_refused() -> None:
    visits = sorted(_spread(), key=lambda each: each[1])
    with refused(PlanError, "'number'", "order of 'visit'"):
        outcome(DateShifting("visit", "patient", 90), _table(visits, number=list(range(len(visits)))))
    rng = np.random.default_rng(0)
    noise = rng.permutation(len(visits)).tolist()
    outcome(DateShifting("visit", "patient", 90), _table(visits, number=noise))


def test_rows_never_leave_in_the_order_they_came_in() -> None:
    table = _table(_spread())
    for method in (DateShifting("visit", "patient", 90), DaysSinceFirst("visit", "patient")):
        with pytest.raises(PlanError, match='order="random"'):
            veil.mask(table, method, order="input")
        made = veil.mask(table, method)
        assert made.table["patient"].to_pylist() != table["patient"].to_pylist()


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns", "Europe/Berlin")]
)
def test_types_times_of_day_and_gaps_stay(kind: pa.DataType) -> None:
    times = [datetime(2024, 1, 1, 13, 30) + timedelta(day) for _, day in _spread()]
    column = pa.array([*times[:-1], None], pa.timestamp("us")).cast(kind, safe=False)
    table = pa.table({"patient": [p for p, _ in _spread()], "visit": column})
    made = outcome(DateShifting("visit", "patient", 90), table).table["visit"]
    assert made.type == kind
    assert made.null_count == 1
    if pa.types.is_timestamp(kind) and kind.tz is None:
        assert {each.time() for each in made.to_pylist()[:-1]} == {times[0].time()}


def test_several_columns_move_together() -> None:
    visits = _spread()
    table = _table(visits, left=[_DAY + timedelta(day + 3) for _, day in visits])
    made = outcome(DateShifting(["visit", "left"], "patient", 60), table).table
    pairs = zip(made["visit"].to_pylist(), made["left"].to_pylist(), strict=True)
    assert {(b - a).days for a, b in pairs} == {3}


@given(_VISITS)
def test_days_since_the_first_are_those_of_plain_python(visits: list[tuple[int, int]]) -> None:
    first = {p: min(day for q, day in visits if q == p) for p, _ in visits}
    made = outcome(DaysSinceFirst("visit", "patient"), _table(visits)).table["visit"].to_pylist()
    assert made == [day - first[p] for p, day in visits]


def test_days_since_another_date() -> None:
    table = pa.table(
        {
            "patient": [1, 1, 2, 3],
            "visit": [_DAY, _DAY + timedelta(9), None, _DAY],
            "birth": [_DAY - timedelta(30), _DAY - timedelta(30), _DAY, None],
        }
    )
    made = outcome(DaysSinceFirst("visit", "patient", since="birth"), table).table
    assert made.to_pydict() == {"patient": [1, 1, 2, 3], "visit": [30, 39, None, None]}


def test_days_since_the_first_visit_are_a_quasi_identifier() -> None:
    table = _table(_spread(60))
    days = veil.mask(table, DaysSinceFirst("visit", "patient")).table
    release = veil.anonymize(
        days,
        quasi_identifiers={"visit": h.intervals(30, 90, 360)},
        models=KAnonymity(3),
        person="patient",
        knows="all rows",
        identifying={"patient": "pseudonym"},
        suppression_limit=0.4,
    )
    shown = defaultdict(list)
    for row in release.table.to_pylist():
        if row["patient"] != "*":
            shown[row["patient"]].append(row["visit"])
    assert all(people >= 3 for people in Counter(tuple(sorted(each)) for each in shown.values()).values())


def test_bad_parameters_say_what_is_wrong() -> None:
    with pytest.raises(ParameterError, match="Raise `days`"):
        DateShifting("visit", "patient", 5, keep="weekday")
    with refused(ParameterError, "one key"):
        DateShifting("visit", "patient", 90, key="9f2c71e05ad84b36c1f7a40d2e8b9563", key_file="x")
    with refused(ParameterError, "that column itself"):
        DaysSinceFirst("visit", "patient", since="visit")
    with refused(InputError, "'visit'", "string", "not dates"):
        outcome(DateShifting("visit", "patient", 90), pa.table({"patient": [1], "visit": ["2024"]}))
    with refused(InputError, "in 1 row"):
        outcome(DaysSinceFirst("visit", "patient"), pa.table({"patient": [None], "visit": [_DAY]}))


def test_recipes_and_the_command_line_know_them(tmp_path: Path) -> None:
    lines = [f"{p},{_DAY + timedelta(day)}" for p, day in _spread()]
    (tmp_path / "visits.csv").write_text("patient,visit\n" + "\n".join(lines) + "\n")
    (tmp_path / "recipe.yaml").write_text(
        "input: visits.csv\noutput: out.csv\nsteps:\n"
        "  - {kind: DateShifting, columns: visit, person: patient, days: 90, keep: weekday}\n"
    )
    veil.run(tmp_path / "recipe.yaml")
    assert len((tmp_path / "out.csv").read_text().splitlines()) == len(lines) + 1


def test_dates_do_not_tell_people_apart() -> None:
    for make in (lambda: DateShifting("d", person="d", days=30), lambda: DaysSinceFirst("d", person="d")):
        with refused(ParameterError, "'d' is both"):
            make()


_BERLIN = ZoneInfo("Europe/Berlin")


def _midnights(people: int = 40) -> pa.Table:
    """One visit each, at midnight by the clocks of Berlin, on Mondays on either side of the change of clocks."""
    days = [datetime(2024, 2, 5, tzinfo=_BERLIN) + timedelta(weeks=n % 20) for n in range(people)]
    return pa.table(
        {"patient": list(range(people)), "visit": pa.array(days, pa.timestamp("us", "Europe/Berlin"))}
    )


@pytest.mark.parametrize("keep", ["nothing", "weekday"])
def test_the_hour_does_not_tell_who_crossed_the_change_of_clocks(keep: Any) -> None:
    method = DateShifting("visit", "patient", 70, keep=keep, least=4)
    release = veil.mask(_midnights(), method, person=None)
    shown = release.table["visit"].to_pylist()
    assert {each.astimezone(_BERLIN).time() for each in shown} == {time(0)}
    if keep == "weekday":
        assert {each.astimezone(_BERLIN).weekday() for each in shown} == {0}


def test_times_that_clocks_skip_or_show_twice() -> None:
    """At 2:30 on the last Sunday of March no clock stood, and on that of October it did so twice."""
    for day, expected in ((date(2024, 3, 31), time(3, 30)), (date(2024, 10, 27), time(2, 30))):
        start = datetime.combine(day - timedelta(9), time(2, 30), _BERLIN)
        days = [start - timedelta(40), start, start + timedelta(4), start + timedelta(60)]
        table = pa.table(
            {"patient": [1, 2, 2, 3], "visit": pa.array(days, pa.timestamp("s", "Europe/Berlin"))}
        )
        for number in range(40):
            key = {"key": "9f2c71e05ad84b36c1f7a40d2e8b9563", "context": str(number)}
            made = outcome(DateShifting("visit", "patient", 9, least=1, **key), table)
            for each in made.table["visit"].to_pylist():
                clock = each.astimezone(_BERLIN)
                assert clock.time() == (expected if clock.date() == day else time(2, 30))
                assert clock.fold == 0


def _exists(clock: datetime) -> bool:
    return clock.replace(tzinfo=_BERLIN).astimezone(UTC).astimezone(_BERLIN).replace(tzinfo=None) == clock


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 40), st.sampled_from([1, 2, 3])), min_size=6),
    st.integers(0, 9),
)
def test_drawn_shifts_avoid_times_that_clocks_skip(visits: list[tuple[int, int, int]], seed: int) -> None:
    """Times of day and intervals on the wall stay; an attacker knows that nothing happened at skipped times, and counts so."""
    clocks = [datetime(2024, 3, 11, hour, 30) + timedelta(day) for _, day, hour in visits]
    visits = [each for each, clock in zip(visits, clocks, strict=True) if _exists(clock)]
    clocks = [clock for clock in clocks if _exists(clock)]
    column = pa.array([each.replace(tzinfo=_BERLIN) for each in clocks], pa.timestamp("s", "Europe/Berlin"))
    table = pa.table({"patient": [p for p, _, _ in visits], "visit": column})
    method = DateShifting("visit", "patient", 12, least=1)
    try:
        made = outcome(method, table, seed)
    except PlanError as error:
        assert "same date" in str(error)  # noqa: PT017
        return
    shown = awkward_dates.clocks(made.table["visit"])
    moved = [after - before for before, after in zip(clocks, shown, strict=True)]
    of_person = {
        person: [at for (p, _, _), at in zip(visits, shown, strict=True) if p == person]
        for person, _, _ in visits
    }
    left = {
        person: sum(
            all(
                min(clocks) <= at - timedelta(days) <= max(clocks) and _exists(at - timedelta(days))
                for at in theirs
            )
            for days in range(-12, 13)
        )
        for person, theirs in of_person.items()
    }
    assert made.verification.holds
    assert all(each % timedelta(1) == timedelta(0) for each in moved)
    assert made.facts["fewest possible"] == min(left.values())
    assert made.verification.findings[1].measured == f"{min(left.values())} at least"


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), awkward_dates.instants()), min_size=1, max_size=12),
    st.sampled_from(awkward_dates.TYPES),
    st.sampled_from(["nothing", "weekday", "season"]),
)
def test_awkward_dates_move_by_whole_days_of_their_own_calendar(
    visits: list[tuple[int, datetime]], kind: pa.DataType, keep: Any
) -> None:
    column = awkward_dates.column([when for _, when in visits], kind)
    table = pa.table({"patient": [p for p, _ in visits], "visit": column})
    method = DateShifting("visit", "patient", 800, keep=keep, least=1)
    try:
        made = outcome(method, table)
    except PlanError as error:
        assert "same date" in str(error)  # noqa: PT017
        return
    by_person = defaultdict(set)
    for (person, _), before, after in zip(
        visits, awkward_dates.clocks(table["visit"]), awkward_dates.clocks(made.table["visit"]), strict=True
    ):
        by_person[person].add((after - before).days)  # a skipped hour is below a day
    assert all(len(each) == 1 for each in by_person.values())


@settings(max_examples=60)
@given(
    st.lists(st.tuples(st.integers(0, 3), awkward_dates.instants()), min_size=1, max_size=12),
    st.sampled_from(awkward_dates.TYPES),
)
def test_days_since_the_first_are_those_of_the_calendar_on_the_wall(
    visits: list[tuple[int, datetime]], kind: pa.DataType
) -> None:
    table = pa.table(
        {"patient": [p for p, _ in visits], "visit": awkward_dates.column([when for _, when in visits], kind)}
    )
    days = [each.date() for each in awkward_dates.clocks(table["visit"])]
    first = {p: min(day for (q, _), day in zip(visits, days, strict=True) if q == p) for p, _ in visits}
    made = outcome(DaysSinceFirst("visit", "patient"), table)
    assert made.table["visit"].to_pylist() == [
        (day - first[p]).days for (p, _), day in zip(visits, days, strict=True)
    ]


def test_dates_too_far_away_to_be_moved_are_refused() -> None:
    far = pa.table({"patient": [1, 2], "visit": pa.array([2**63 - 2**40, 0], pa.timestamp("ns"))})
    method = DateShifting("visit", "patient", 9_000, least=1, key="9f2c71e05ad84b36c1f7a40d2e8b9563")
    with refused(InputError, "beyond", "timestamp"):
        outcome(method, far)
