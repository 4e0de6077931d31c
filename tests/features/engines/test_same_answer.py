"""One plan, one answer: from frames, files, databases and clusters."""

from __future__ import annotations

import dataclasses
import random
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import veil
from support.engines.answers import (
    LEVELS,
    RECODING,
    SUBSET,
    TRAPS,
    WAYS,
    Holder,
    all_types,
    assert_same,
    compared,
    recoded,
)
from support.engines.people import TYPED, people, plan, records
from veil import hierarchies as h
from veil import models as m
from veil.quality import Ambiguity, EntropyBased, KullbackLeibler, Loss, PublisherPayout, QualityModel


@pytest.fixture(params=["in_duckdb", "in_a_folder", "in_sqlite"])
def holder(request: pytest.FixtureRequest) -> Holder:
    found: Holder = request.getfixturevalue(request.param)
    return found


# --- every type ---------------------------------------------------------------------------------------

BY_TYPE = [(name, level) for name in TYPED for level in ((0, 1) if name not in ("city", "smoker") else (0,))]


@pytest.mark.slow
@pytest.mark.parametrize(("column", "level"), BY_TYPE)
def test_every_type(holder: Holder, column: str, level: int) -> None:
    """Kept as they are, cells are compared by value; generalized, they are text."""
    options = plan([column], minimum_levels={column: level}, maximum_levels={column: level})
    held, _ = compared(holder, people(), options)
    assert held.classes > 1


@pytest.mark.parametrize("generalized", [(), ("age", "height", "born", "seen", "fee")])
def test_every_type_on_postgres(in_postgres: Holder, generalized: tuple[str, ...]) -> None:
    held, _ = compared(in_postgres, people(), all_types(*generalized))
    assert 0 < held.suppressed < held.records


def test_every_type_on_spark(in_spark: Holder) -> None:
    held, _ = compared(in_spark, people(), all_types("height", "seen"))
    assert 0 < held.suppressed < held.records
    assert type(held.table).__name__ == "DataFrame"


def test_frames_of_every_kind() -> None:
    options = plan(["age", "city"])
    frames = [people(), people().to_pandas(), pl.DataFrame(people())]
    first, *others = [veil.anonymize(frame, **options) for frame in frames]
    assert [type(each.table) for each in (first, *others)] == [pa.Table, pd.DataFrame, pl.DataFrame]
    for each in others:
        assert (each.transformation, each.score) == (first.transformation, first.score)
        assert records(each.arrow) == records(first.arrow)


def test_text_of_a_file_is_what_it_is_in_memory(tmp_path: Path) -> None:
    """1.5 and 1.50 are one number, and 02139 is not a number at all."""
    path = tmp_path / "people.csv"
    rows = [
        "1.5,02139,2020-01-31",
        "1.50,02139,2020-01-31",
        "2,02140,2020-02-01",
        "2.0,02140,",
        ",02140,2020-02-01",
    ]
    path.write_text("height,zip,born\n" + "\n".join(rows * 2) + "\n")
    options = plan(
        sensitive=[],
        identifying={},
        quasi_identifiers={"height": h.intervals(1, 2), "zip": h.redaction(), "born": h.dates("year")},
    )
    for changes in (
        {},
        {"maximum_levels": {"height": 0, "zip": 0, "born": 0}},
        {"minimum_levels": {"height": 1}},
    ):
        memory = veil.anonymize(str(path), engine="memory", **options | changes)
        held = veil.anonymize(str(path), engine="duckdb", **options | changes)
        assert (held.transformation, held.score) == (memory.transformation, memory.score)
        assert_same(held, memory)


# --- every way to release -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_every_way_to_release(in_duckdb: Holder, way: str) -> None:
    further, changes = WAYS[way]
    compared(in_duckdb, people(**further), plan(["age", "city"], **changes))


@pytest.mark.parametrize("way", list(WAYS)[::3])
def test_ways_to_release_on_sqlite(in_sqlite: Holder, way: str) -> None:
    further, changes = WAYS[way]
    compared(in_sqlite, people(**further), plan(["age", "city"], **changes))


@pytest.mark.parametrize("way", ["columns with names of ours, generalized", "a research subset, rows gone"])
def test_ways_to_release_on_postgres(in_postgres: Holder, way: str) -> None:
    further, changes = WAYS[way]
    compared(in_postgres, people(**further), plan(["age", "city"], **changes))


def test_ways_to_release_on_spark(in_spark: Holder) -> None:
    further, changes = WAYS["a research subset, rows gone"]
    compared(in_spark, people(**further), plan(["age", "city"], **changes))


# --- what could depend on the order of rows, and does not ---------------------------------------------

CHOOSING: dict[str, m.PrivacyModel] = {
    "average risk": m.AverageReidentificationRisk(0.4),
    "sample uniqueness": m.SampleUniqueness(0.1),
    "population uniqueness": m.PopulationUniqueness(0.002, 1000, "zayatz"),
}


def crowd() -> pa.Table:
    """Eighty people, many of them alone in their class or in twos, so that models have to choose among equals."""
    rng = random.Random(5)
    columns: dict[str, list[Any]] = {
        "age": [rng.choice([None, *range(30, 34), 34 + int(30 * rng.random() ** 2)]) for _ in range(80)],
        "city": [rng.choice(["Wien", "Graz", "", None, "Šiauliai"]) for _ in range(80)],
        "name": [f"person {number}" for number in range(80)],
        "diagnosis": [rng.choice(["flu", "gout"]) for _ in range(80)],
    }
    return pa.table(columns)


@pytest.mark.parametrize("quality", [Loss(), KullbackLeibler()])
@pytest.mark.parametrize("model", CHOOSING)
def test_models_that_choose_among_equal_classes(holder: Holder, model: str, quality: QualityModel) -> None:
    held, _ = compared(holder, crowd(), plan(**LEVELS, models=CHOOSING[model], quality=quality))
    assert 0 < held.suppressed < held.records


@pytest.mark.parametrize("model", CHOOSING)
def test_models_that_choose_among_equal_classes_on_postgres(in_postgres: Holder, model: str) -> None:
    compared(in_postgres, crowd(), plan(**LEVELS, models=CHOOSING[model], quality=KullbackLeibler()))


@pytest.mark.parametrize("quality", [KullbackLeibler(), Ambiguity(), EntropyBased(), PublisherPayout()])
def test_scores_that_are_sums_over_classes(holder: Holder, quality: QualityModel) -> None:
    compared(holder, people(), plan(["age", "height", "city", "born"], quality=quality))
    compared(holder, crowd(), plan(quality=quality))


# --- local recoding -----------------------------------------------------------------------------------


@pytest.mark.parametrize("changes", [{}, {"suppressed_rows": "drop"}, {"marker": None}])
def test_local_recoding_in_several_passes(holder: Holder, changes: dict[str, Any]) -> None:
    held = recoded(holder, people(**TRAPS), plan(["age", "city"], **RECODING | changes))
    assert len(held.passes) > 1


def test_local_recoding_on_postgres(in_postgres: Holder) -> None:
    assert recoded(in_postgres, people(), plan(["age", "city", "height"], **RECODING)).passes


def test_local_recoding_on_spark(in_spark: Holder) -> None:
    assert recoded(in_spark, people(), plan(["age", "city"], **RECODING)).passes


# --- many classes -------------------------------------------------------------------------------------


def test_more_classes_than_one_integer_tells_apart(holder: Holder) -> None:
    """Fourteen columns of fifty values each: 50**14 combinations, for which two words are needed."""
    rows = [[(number * (j + 3)) % 50 for j in range(14)] for number in range(50)]
    rows += rows[:20]
    table = pa.table({f"c{j}": pa.array([row[j] for row in rows], pa.int64()) for j in range(14)})
    options = plan(
        sensitive=[],
        identifying={},
        quasi_identifiers={name: h.suppression() for name in table.column_names},
        models=m.KAnonymity(2),
        maximum_levels=dict.fromkeys(table.column_names, 0),
    )
    held, _ = compared(holder, table, options)
    assert (held.suppressed, held.classes) == (30, 20)


# --- tables as they are ---------------------------------------------------------------------------------


def test_a_table_is_assessed_where_it_is(holder: Holder) -> None:
    options: dict[str, Any] = {
        "quasi_identifiers": ["age", "city"],
        "sensitive": ["diagnosis"],
        "population": 1000,
    }
    table = people()
    held = holder(table)
    for changes in ({}, {"subset": SUBSET}):
        assert veil.assess(held, **options | changes) == veil.assess(table, **options | changes)


@pytest.mark.parametrize("options", [LEVELS, {"minimum_levels": {"age": 1}}])
def test_a_release_is_verified_where_it_is(holder: Holder, options: dict[str, Any]) -> None:
    release = veil.anonymize(people(), **plan(["age", "city"], **options))
    found = veil.verify(holder(release.arrow), release.plan)
    assert found.holds
    assert str(found) == str(veil.verify(release.arrow, release.plan))
    stricter = dataclasses.replace(release.plan, models=m.KAnonymity(5))
    assert not veil.verify(holder(release.arrow), stricter).holds


def test_an_ibis_table_comes_out_where_one_went_in(in_duckdb: Holder) -> None:
    import ibis

    table = veil.anonymize(in_duckdb(people()), **plan(["age", "city"])).table
    assert isinstance(table, ibis.Table)
    assert table.filter(table.age.isnull()).count().to_pyarrow().as_py() < 20
