"""Identifying columns and roles: every category by name and by content, thresholds, and what is not meant."""

from __future__ import annotations

import datetime

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from support.risk.tables import sometimes
from veil.errors import ParameterError
from veil.risk import detect_identifiers
from veil.risk.identify.detection import levenshtein, match_name
from veil.risk.identify.vocabulary import (
    COLUMN_NAMES,
)

TODAY = datetime.date(2026, 6, 1)


def categories(values, name="c", **options):
    table = pa.table({name: values})
    return {
        each.category for each in detect_identifiers(table, today=TODAY, **options) if each.test == "content"
    }


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


# --- by content -----------------------------------------------------------------------------------


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


def test_categories_of_pandas_are_texts():
    frame = pd.DataFrame({"c": pd.Categorical(["anna", "peter", "anna"])})
    (found,) = detect_identifiers(frame)
    assert (found.category, found.confidence) == ("first name", 1)


def test_the_threshold_is_checked():
    with refused(ParameterError, "`threshold`", "below 1", "not 1"):
        detect_identifiers(pa.table({"a": [1]}), threshold=1)
