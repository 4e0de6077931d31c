"""Values by which columns are known."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

from veil.risk import detect_identifiers
from veil.risk.identify.content import PATTERNS
from veil.risk.identify.vocabulary import (
    COLUMN_NAMES,
)

TODAY = datetime.date(2026, 6, 1)


def categories(values, name="c", **options):
    table = pa.table({name: values})
    return {
        each.category for each in detect_identifiers(table, today=TODAY, **options) if each.test == "content"
    }


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


def test_dates_by_type_and_numbers_only_for_what_numbers_are():
    assert categories(pa.array([datetime.date(2020, 1, 1)])) == {"date"}
    assert categories(pa.array([datetime.datetime(2020, 1, 1)])) == {"date"}
    assert categories([17, 30, 99]) == {"age"}
    assert categories([17.0, 30.0]) == {"age"}
    assert categories([80331, 10115]) == set()  # as a number, it may be an amount
    assert categories([123456789, 987654321]) == {"social security"}
    assert categories([True, False]) == set()
    assert categories([[1], [2]]) == set()


def test_hipaa_zip_codes_of_areas_with_few_people_are_counted():
    (found,) = detect_identifiers(pa.table({"c": ["03601", "80331", "82112-0001"]}))
    assert found.reason.endswith("2 of them in US areas of 20,000 people or fewer")


def test_each_pattern_belongs_to_a_category():
    assert PATTERNS.keys() <= COLUMN_NAMES.keys()
