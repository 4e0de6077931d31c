"""Identifying columns and roles: every category by name and by content, thresholds, and what is not meant."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from support.risk.tables import sometimes
from veil.errors import ParameterError
from veil.risk import detect_identifiers, propose_roles
from veil.risk.identify.content import PATTERNS
from veil.risk.identify.detection import levenshtein, match_name
from veil.risk.identify.vocabulary import (
    CITIES,
    COLUMN_NAMES,
    FIRST_NAMES,
    LAST_NAMES,
    QUASI_IDENTIFYING_NAMES,
    SENSITIVE_NAMES,
    STATES,
    plain,
)

TODAY = datetime.date(2026, 6, 1)


def categories(values, name="c", **options):
    table = pa.table({name: values})
    return {
        each.category for each in detect_identifiers(table, today=TODAY, **options) if each.test == "content"
    }


def role_of(name, values=("?",)):
    (proposal,) = propose_roles(pa.table({name: list(values)}), today=TODAY)
    return proposal.role


# --- by name --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "category"),
    [
        ("Vorname", "first name"),
        ("GIVEN_NAME", "first name"),
        ("lastName", "last name"),
        ("Nachnahme", "last name"),  # one typing error in nine letters
        ("Straße", "address"),
        (" Wohnort ", "city"),
        ("PLZ", "zip"),
        ("zip-code", "zip"),
        ("Bundesland", "state"),
        ("Landkreis", "geography"),
        ("date.of.birth", "date"),
        ("Geburtsdatum", "date"),
        ("Geburtstdatum", "date"),
        ("Alter", "age"),
        ("AGE", "age"),
        ("Telefonnummer", "phone"),
        ("home_phone", "phone"),
        ("phone2", "phone"),
        ("Fax", "fax"),
        ("E-Mail", "email"),
        ("emailAddress", "email"),
        ("SSN", "social security"),
        ("Sozialversicherungsnummer", "social security"),
        ("Medical Record Number", "medical record"),
        ("Versichertennummer", "health plan"),
        ("Kontonummer", "account"),
        ("IBAN", "account"),
        ("Führerschein-Nr", "certificate"),
        ("license_plate", "vehicle"),
        ("Kfz-Kennzeichen", "vehicle"),
        ("MAC address", "device"),
        ("homepage", "url"),
        ("ip", "ip address"),
        ("Fingerabdruck", "biometric"),
        ("photo", "photo"),
        ("patient_id", "identifier"),
        ("Kundennummer", "identifier"),
    ],
)
def test_columns_are_known_by_name(column, category):
    (found,) = detect_identifiers(pa.table({column: ["?"]}))
    assert (found.column, found.category, found.test) == (column, category, "name")
    assert 0 < found.confidence <= 1


@pytest.mark.parametrize(
    "column", ["wage", "status", "update", "image", "capacity", "x", "17", "", "_", "fame"]
)
def test_columns_that_only_sound_similar_are_not(column):
    assert detect_identifiers(pa.table({column: ["?"]})) == ()


def test_confidence_is_the_share_of_the_name_that_fits():
    assert match_name("Telefonnummer", COLUMN_NAMES) == ("phone", 1.0, "telefonnummer")
    assert match_name("Telefonnumer", COLUMN_NAMES) == ("phone", 1 - 1 / 12, "telefonnummer")
    assert match_name("my_phone", COLUMN_NAMES) == ("phone", 5 / 7, "phone")
    assert match_name("ip_address", COLUMN_NAMES)[0] == "ip address"  # and not an address


@sometimes
@given(st.text("abc", max_size=6), st.text("abc", max_size=6))
def test_levenshtein_agrees_with_its_recursion(a, b):
    def distance(i, j):
        if not i or not j:
            return i + j
        return min(
            distance(i - 1, j) + 1, distance(i, j - 1) + 1, distance(i - 1, j - 1) + (a[i - 1] != b[j - 1])
        )

    assert levenshtein(a, b) == distance(len(a), len(b))


def test_the_lists_are_in_plain_spelling():
    lists = [FIRST_NAMES, LAST_NAMES, CITIES, STATES, QUASI_IDENTIFYING_NAMES, SENSITIVE_NAMES]
    for words in [*lists, *COLUMN_NAMES.values()]:
        assert all(plain(word) == word and word for word in words)
        assert all(word.isascii() for word in words)


# --- by content -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("category", "values"),
    [
        ("first name", ["Anna", "JÜRGEN ", "peter"]),
        ("last name", ["Müller", "Mueller", "Smith"]),
        ("name", ["Anna Huber", "Huber, Anna", "Dr. Peter Schmidt", "Mary Ann Smith"]),
        ("city", ["München", "New York", "Köln"]),
        ("state", ["Bayern", "TX", "Rheinland-Pfalz", "ohio"]),
        ("zip", ["80331", "01067", "12345-6789", "D-10115"]),
        ("date", ["2020-02-03", "1.2.1999", "02/03/2001", "20201231", "3. März 2020", "Feb 3, 2020"]),
        ("date", ["2020-02-03T10:11:12", "2020-02-03 10:11", "1999/12/31"]),
        ("date", ["1935", "1900", "1897"]),  # 91, 126 and 129 years before the day of the test
        ("age", ["0", "17", "99", "130"]),
        ("phone", ["+49 89 1234567", "089/123456", "(555) 123-4567", "555-123-4567", "0171 2345678"]),
        ("email", ["a@b.de", "first.last+tag@sub.example.org"]),
        ("social security", ["123-45-6789", "987654321"]),
        ("social security", ["12 345678 M 012", "65170839J008"]),  # German pension insurance
        ("health plan", ["A123456789", "X987654321"]),
        ("account", ["DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19", "4111 1111 1111 1111"]),
        ("vehicle", ["WVWZZZ1JZXW000001", "M-AB 1234", "HH-ZZ 1"]),
        ("device", ["00:1A:2B:3C:4D:5E", "00-1a-2b-3c-4d-5f"]),
        ("url", ["https://example.org/x?y=1", "www.example.org", "ftp://example.org"]),
        ("ip address", ["192.168.0.1", "255.255.255.255", "fe80::1", "2001:db8:0:0:0:0:0:1"]),
        ("identifier", ["550e8400-e29b-41d4-a716-446655440000"]),
        ("address", ["Hauptstraße 12", "Bahnhofstr. 7a", "12 Main Street", "221b Baker St."]),
        ("geography", ["48.13743, 11.57549", "-33.8688 151.2093"]),
    ],
)
def test_values_are_known_by_content(category, values):
    assert category in categories(values)


@pytest.mark.parametrize(
    ("category", "values"),
    [
        ("date", ["2020-13-01", "32.1.2020", "1936", "1896", "2026"]),
        ("age", ["131", "-1", "17.5", "007"]),
        ("ip address", ["256.1.1.1", "1.2.3", "00:1A:2B:3C:4D:5E"]),
        ("email", ["a@b", "@b.de", "a b@c.de"]),
        ("social security", ["123-456-789", "12345678"]),
        ("phone", ["123-45-6789", "2020-02-03", "192.168.0.1", "81234567", "12"]),
        ("zip", ["1234", "123456"]),
        ("vehicle", ["12345678901234567", "abcdefghjklmnprst"]),
        ("name", ["Anna", "Anna 7", "big blue house"]),
        ("url", ["example", "http//x"]),
    ],
)
def test_values_of_another_form_are_not(category, values):
    assert category not in categories(values)


def test_the_threshold_is_strict_and_counts_different_values():
    values = ["anna", "peter", "x", "y"]
    assert categories(values) == set()  # a half is not more than a half
    assert categories([*values, "julia"]) == {"first name"}
    assert categories(["anna"] * 97 + ["x", "y", "z"]) == set()  # one of four
    assert categories(values, threshold=0.4) == {"first name"}
    (found,) = detect_identifiers(pa.table({"c": [*values, "julia"]}), today=TODAY)
    assert found.confidence == 3 / 5


def test_missing_and_suppressed_cells_are_no_values():
    assert categories(["anna", None, "*", "*", ""]) == {"first name"}
    assert categories(["anna", "#", "?"], marker="#") == set()
    assert categories([None, None]) == set()
    assert categories(pa.array([], pa.string())) == set()


def test_dates_by_type_and_numbers_only_for_what_numbers_are():
    assert categories(pa.array([datetime.date(2020, 1, 1)])) == {"date"}
    assert categories(pa.array([datetime.datetime(2020, 1, 1)])) == {"date"}
    assert categories([17, 30, 99]) == {"age"}
    assert categories([17.0, 30.0]) == {"age"}
    assert categories([80331, 10115]) == set()  # as a number, it may be an amount
    assert categories([123456789, 987654321]) == {"social security"}
    assert categories([True, False]) == set()
    assert categories([[1], [2]]) == set()


def test_categories_of_pandas_are_texts():
    frame = pd.DataFrame({"c": pd.Categorical(["anna", "peter", "anna"])})
    (found,) = detect_identifiers(frame)
    assert (found.category, found.confidence) == ("first name", 1)


def test_hipaa_zip_codes_of_areas_with_few_people_are_counted():
    (found,) = detect_identifiers(pa.table({"c": ["03601", "80331", "82112-0001"]}))
    assert found.reason.endswith("2 of them in US areas of 20,000 people or fewer")


def test_each_pattern_belongs_to_a_category():
    assert PATTERNS.keys() <= COLUMN_NAMES.keys()


def test_the_threshold_is_checked():
    with refused(ParameterError, "`threshold`", "below 1", "not 1"):
        detect_identifiers(pa.table({"a": [1]}), threshold=1)


# --- roles ----------------------------------------------------------------------------------------


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
