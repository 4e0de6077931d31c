"""Roles that are proposed for columns."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from veil.risk import detect_identifiers, propose_roles

TODAY = datetime.date(2026, 6, 1)


def categories(values, name="c", **options):
    table = pa.table({name: values})
    return {
        each.category for each in detect_identifiers(table, today=TODAY, **options) if each.test == "content"
    }


def role_of(name, values=("?",)):
    (proposal,) = propose_roles(pa.table({name: list(values)}), today=TODAY)
    return proposal.role


@pytest.mark.parametrize(
    ("column", "role"),
    [
        ("Name", "identifying"),
        ("E-Mail", "identifying"),
        ("Straße", "identifying"),
        ("SSN", "identifying"),
        ("zip", "quasi-identifying"),
        ("Geburtsdatum", "quasi-identifying"),
        ("sex", "quasi-identifying"),
        ("Familienstand", "quasi-identifying"),
        ("native-country", "quasi-identifying"),
        ("Diagnose", "sensitive"),
        ("disease", "sensitive"),
        ("Einkommen", "sensitive"),
        ("salary-class", "sensitive"),
        ("Religion", "sensitive"),
        ("x1", "insensitive"),
    ],
)
def test_roles_by_name(column, role):
    assert role_of(column) == role


def test_roles_by_content():
    assert role_of("c", ["a@b.de", "c@d.de"]) == "identifying"
    assert role_of("c", ["München", "Köln"]) == "quasi-identifying"
    assert role_of("c", ["A01", "B20.1", "C34"]) == "sensitive"  # ICD-10
    assert role_of("c", [1, 2, 3]) == "insensitive"  # not every small number is an age


def test_a_column_of_own_values_is_a_key_unless_it_is_known_for_something_else():
    numbers = list(range(1000, 1100))
    assert role_of("c", numbers) == "identifying"
    assert role_of("c", numbers[:10]) == "insensitive"  # ten values prove nothing
    assert (
        role_of("c", [float(each) for each in numbers]) == "identifying"
    )  # a key that gaps have made floats of
    assert role_of("c", [Decimal(each) for each in numbers]) == "identifying"
    assert role_of("c", [*map(float, numbers), float("nan")]) == "identifying"
    assert role_of("salary", numbers) == "sensitive"
    assert role_of("c", [each // 2 for each in numbers]) == "insensitive"


@pytest.mark.parametrize("number", [lambda each: each / 7, lambda each: Decimal(each) / 8])
def test_measurements_and_amounts_are_no_keys(number):
    numbers = [number(each) for each in range(1000, 1100)]
    (proposal,) = propose_roles(pa.table({"c": numbers}))
    assert proposal.role == "quasi-identifying"
    assert "sensitive if nobody" in proposal.reasons[0]
    assert role_of("height", numbers) == "quasi-identifying"
    assert role_of("phone", numbers) == "identifying"


def test_reasons_are_told():
    (proposal,) = propose_roles(pa.table({"Vorname": ["Anna", "Peter"]}))
    assert proposal.confidence == 1
    assert set(proposal.reasons) == {
        "column name matches 'vorname'",
        "2 of 2 distinct values look like first names",
    }
    (unknown,) = propose_roles(pa.table({"x": [1]}))
    assert (unknown.role, unknown.confidence) == ("insensitive", 0)


def test_answers_on_a_scale_are_no_ages() -> None:
    assert categories([1, 2, 3, 4, 5, 99]) == set()
    assert categories([1, 2, 3, 4, 5, 33]) == {"age"}


def test_survey_weights_are_no_body_weights() -> None:
    weights = pa.table(
        {
            "weight": [512.25, 730.5, 99.75],
            "gewicht": [0.81234, 1.20561, 0.999],
            "Gewicht": [61.5, 80.2, 75.0],
        }
    )
    told = {each.column: each.reasons[0] for each in propose_roles(weights)}
    assert "survey weight" in told["weight"]
    assert "survey weight" in told["gewicht"]
    assert "survey weight" not in told["Gewicht"]
