"""The made-up table has the shape the demo and the documentation count on."""

from __future__ import annotations

from collections import Counter
from datetime import date

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from support.refusals import refused
from veil.errors import ParameterError
from veil.synthetic import patients

SCHEMA = pa.schema(
    {
        "name": pa.string(),
        "age": pa.int64(),
        "sex": pa.string(),
        "zip": pa.string(),
        "admission": pa.date32(),
        "education": pa.string(),
        "occupation": pa.string(),
        "diagnosis": pa.string(),
        "stay": pa.int64(),
        "cost": pa.decimal128(10, 2),
    }
)


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return patients(20_000)


@pytest.mark.parametrize("n", [0, 1, 2000])
def test_columns_and_types_do_not_depend_on_the_size(n: int) -> None:
    made = patients(n)
    assert made.schema == SCHEMA
    assert made.num_rows == n


def test_the_same_seed_gives_the_same_table_and_another_seed_another() -> None:
    assert patients(500).equals(patients(500))
    assert patients(500, seed=1).equals(patients(500, seed=1))
    assert not patients(500, seed=1).equals(patients(500, seed=2))


@pytest.mark.parametrize("arguments", [{"n": -1}, {"seed": -1}])
def test_a_negative_parameter_is_named(arguments: dict[str, int]) -> None:
    (name,) = arguments
    with refused(ParameterError, f"`{name}` of patients", "not -1"):
        patients(**arguments)


def test_values_stay_in_their_ranges(table: pa.Table) -> None:
    assert 0 <= pc.min(table["age"]).as_py() <= pc.max(table["age"]).as_py() <= 100
    assert pc.min(table["stay"]).as_py() >= 1
    assert pc.min(table["cost"]).as_py() > 0
    assert date(2022, 1, 1) <= pc.min(table["admission"]).as_py()
    assert pc.max(table["admission"]).as_py() <= date(2024, 12, 31)


def test_postcodes_are_five_digits_and_most_begin_with_a_zero(table: pa.Table) -> None:
    codes = table["zip"].to_pylist()
    assert all(len(code) == 5 and code.isdigit() for code in codes)
    assert len(codes) / 2 < sum(code.startswith("0") for code in codes) < len(codes)


def test_values_are_missing_where_documented_and_nowhere_else(table: pa.Table) -> None:
    missing = {name for name in table.column_names if table[name].null_count}
    assert missing == {"age", "education", "occupation", "cost"}
    assert all(table[name].null_count < 0.1 * table.num_rows for name in missing)


def test_places_and_diagnoses_are_skewed(table: pa.Table) -> None:
    for column in ("zip", "diagnosis"):
        counts = Counter(table[column].to_pylist()).most_common()
        assert counts[0][1] > 10 * counts[-1][1]


def test_columns_depend_on_each_other(table: pa.Table) -> None:
    def mean_age(diagnosis: str) -> float:
        return float(pc.mean(table.filter(pc.field("diagnosis") == diagnosis)["age"]).as_py())

    assert mean_age("dementia") > mean_age("hypertension") > mean_age("migraine") > mean_age("asthma")
    old = table.filter(pc.field("age") >= 65)
    young = table.filter(pc.field("age") < 40)
    assert pc.mean(old["stay"]).as_py() > 1.5 * pc.mean(young["stay"]).as_py()


def test_nobody_has_what_they_cannot_have(table: pa.Table) -> None:
    births = table.filter(pc.field("diagnosis") == "childbirth")
    assert births.num_rows > 0
    assert set(births["sex"].to_pylist()) <= {"female", "other"}
    assert pc.min(births["age"]).as_py() >= 18
    infants = table.filter(pc.field("age") < 6)
    assert set(infants["occupation"].to_pylist()) == {"child", None}
    assert set(infants["education"].to_pylist()) == {"none", None}
    assert "child" not in table.filter(pc.field("age") >= 6)["occupation"].to_pylist()


def test_with_three_quasi_identifiers_many_rows_are_unique() -> None:
    """What the demo shows: without names, half the people of a small table still stand out."""
    rows = Counter(zip(*(patients()[name].to_pylist() for name in ("age", "sex", "zip")), strict=True))
    assert sum(count == 1 for count in rows.values()) > 0.4 * patients().num_rows
