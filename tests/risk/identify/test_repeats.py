"""Rows about the same people are noticed; first names, ZIP codes and namesakes raise no alarm."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from veil.risk import find_repeats
from veil.risk.identify.vocabulary import FIRST_NAMES, LAST_NAMES
from veil.synthetic import patients

_RNG = np.random.default_rng(11)


def _columns(table: pa.Table, *identifying: str) -> list[tuple[str, ...]]:
    return [each.columns for each in find_repeats(table, identifying)]


def _visits(values: list[object], each: int = 6) -> pa.Array:
    repeated = [value for value in values for _ in range(each)]
    return pa.array([repeated[i] for i in _RNG.permutation(len(repeated))])


_NUMBERS = {
    "number": list(range(20)),
    "large number": [10_000 + 7 * i for i in range(20)],
    "digits of a ZIP code": [f"{10_000 + 7 * i}" for i in range(20)],
    "text": [f"P-{i:03}" for i in range(20)],
    "float, as gaps make of numbers": [float(i) for i in range(20)],
    "uuid": [f"0000{i:04x}-aaaa-bbbb-cccc-0123456789ab" for i in range(20)],
}


@pytest.mark.parametrize("values", _NUMBERS.values(), ids=_NUMBERS)
@pytest.mark.parametrize("name", ["patient", "Patient_ID", "subject", "person_id", "Kundennummer", "pid"])
def test_twenty_patients_with_six_visits_are_noticed_whatever_the_role(
    name: str, values: list[object]
) -> None:
    table = pa.table({name: _visits(values), "age": [30] * 120})
    assert _columns(table) == _columns(table, name) == [(name,)]
    found = find_repeats(table)[0]
    assert (found.people, found.rows, found.most) == (20, 120, 6)


@pytest.mark.parametrize("values", _NUMBERS.values(), ids=_NUMBERS)
@pytest.mark.parametrize("name", ["x", "code", "visitor", "name", "key"])
def test_twenty_patients_with_six_visits_are_noticed_in_any_identifying_column(
    name: str, values: list[object]
) -> None:
    assert _columns(pa.table({name: _visits(values)}), name) == [(name,)]


@pytest.mark.parametrize("email", ["email", "contact", "x"])
def test_addresses_of_twenty_patients_are_noticed(email: str) -> None:
    values: list[object] = [f"p{i}@example.org" for i in range(20)]
    assert _columns(pa.table({email: _visits(values)}), email) == [(email,)]


def test_names_of_twenty_patients_are_noticed_in_one_column_or_two() -> None:
    first = sorted(FIRST_NAMES)[:20]
    last = sorted(LAST_NAMES)[:20]
    order = _RNG.permutation(120) % 20
    whole = pa.array([f"{first[i].title()} {last[i].title()}" for i in order])
    assert _columns(pa.table({"name": whole}), "name") == [("name",)]
    assert _columns(pa.table({"x": whole}), "x") == [("x",)]
    apart = pa.table({"vorname": [first[i] for i in order], "nachname": [last[i] for i in order]})
    assert _columns(apart, "vorname", "nachname") == [("vorname", "nachname")]
    assert _columns(apart, "vorname") == _columns(apart, "nachname") == []


@given(st.integers(2, 6), st.integers(2, 40), st.integers(0, 2**32))
def test_people_with_a_number_are_always_noticed(each: int, people: int, seed: int) -> None:
    order = np.random.default_rng(seed).permutation(each * people) % people
    assert _columns(pa.table({"mrn": order}), "mrn") == [("mrn",)]


def test_one_number_that_is_there_twice_is_enough() -> None:
    assert _columns(pa.table({"patient_id": [*range(1000), 7]})) == [("patient_id",)]
    assert _columns(pa.table({"patient_id": [*range(1000)]})) == []


_SHARED = {
    "first name": sorted(FIRST_NAMES)[:30],
    "surname": sorted(LAST_NAMES)[:30],
    "vorname": ["Ayşe", "Çağla", "Jürgen"],
    "zip": [f"{80_000 + i}" for i in range(40)],
    "PLZ": list(range(80_000, 80_040)),
    "city": ["Ulm", "Köln", "Bonn"],
    "date of birth": [f"19{i}-05-01" for i in range(50, 90)],
    "birthdate": [f"1.5.19{i}" for i in range(50, 90)],
    "employer": ["A & B", "C GmbH", "D Inc."],
}


@pytest.mark.parametrize("name", _SHARED)
def test_what_many_people_share_raises_no_alarm(name: str) -> None:
    values = pa.array(_SHARED[name]).take(pa.array(_RNG.integers(0, len(_SHARED[name]), 500)))
    assert _columns(pa.table({name: values}), name) == []


def test_places_that_go_together_raise_no_alarm() -> None:
    place = _RNG.integers(0, 30, 500)
    table = pa.table({"zip": [f"{80_000 + i}" for i in place], "city": [f"City {i // 3}" for i in place]})
    assert _columns(table, "zip", "city") == []


@pytest.mark.parametrize("rows", [50, 300, 2000, 20_000])
@pytest.mark.parametrize("seed", range(5))
def test_namesakes_raise_no_alarm(rows: int, seed: int) -> None:
    assert _columns(patients(rows, seed), "name") == []
    rng = np.random.default_rng(seed)
    first, last = sorted(FIRST_NAMES), sorted(LAST_NAMES)
    frequent = 1 / np.arange(1, 251)  # as names are: a few are very frequent
    drawn = rng.choice(250, (2, rows), p=frequent / frequent.sum())
    apart = pa.table({"first name": [first[i] for i in drawn[0]], "last name": [last[i] for i in drawn[1]]})
    assert _columns(apart, "first name", "last name") == []


def test_families_with_one_phone_raise_no_alarm_beside_their_names() -> None:
    home = np.arange(600) // 3
    table = pa.table({"name": patients(600)["name"], "phone": [f"0171 {1_000_000 + i}" for i in home]})
    assert _columns(table, "name", "phone") == []


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("member", ["yes", "no", "unknown"]),
        ("user", [True, False]),
        ("persons", [1, 2, 3, 4, 5, 6, 7]),
        ("patient_age", list(range(20, 60))),
        ("visit_id", [1, 2, 3]),
        ("hospital_id", list(range(30))),
        ("household", list(range(200))),
    ],
)
def test_columns_that_tell_something_else_raise_no_alarm(name: str, values: list[object]) -> None:
    column = pa.array(values).take(pa.array(_RNG.integers(0, len(values), 500)))
    assert _columns(pa.table({name: column})) == []


def test_what_stands_for_no_value_is_none() -> None:
    table = pa.table({"ssn": ["1", "2", "unknown", "N/A", "", None, "unknown"]})
    assert _columns(table, "ssn") == []


@pytest.mark.parametrize("values", [["yes", "no"], [True, False], ["x", "x"], [1, 0], ["m", None]])
def test_what_somebody_is_does_not_tell_who(values: list[object]) -> None:
    """An identifying column of one or two values; as soon as it is called like a number of people, it counts."""
    assert find_repeats(pa.table({"consent": values * 20}), ["consent"]) == ()
    assert find_repeats(pa.table({"patient_id": values * 20}), ["patient_id"])
    assert find_repeats(pa.table({"consent": ["a", "b", "c"] * 20}), ["consent"])
