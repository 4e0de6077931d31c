"""One plan, one answer: from frames, files, databases and clusters."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
import sqlite3
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from engines.people import TYPED, people, plan, records
from veil import hierarchies as h
from veil import models as m
from veil.api.face import Anonymized
from veil.engines.dialects import collect
from veil.local_recoding import FastIterative
from veil.models.subset import Where
from veil.quality import Ambiguity, EntropyBased, KullbackLeibler, Loss, PublisherPayout, QualityModel

Source = Any
Holder = Callable[[pa.Table], Source]


# --- where a table can be ---------------------------------------------------------------------------


@pytest.fixture
def in_duckdb() -> Holder:
    import ibis

    connection = ibis.duckdb.connect()
    return lambda table: connection.create_table("people", table, overwrite=True)


@pytest.fixture
def in_a_folder(tmp_path: Path) -> Holder:
    def hold(table: pa.Table) -> str:
        folder = tmp_path / "people"
        folder.mkdir(exist_ok=True)
        for number, start in enumerate(range(0, table.num_rows, 7)):
            pq.write_table(table.slice(start, 7), folder / f"{number}.parquet")
        return str(folder)

    return hold


_SQLITE_TYPES = {
    pa.int64(): "BIGINT",
    pa.float64(): "REAL",
    pa.string(): "TEXT",
    pa.bool_(): "BOOLEAN",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.decimal128(8, 2): "DECIMAL(8, 2)",
}


@pytest.fixture
def in_sqlite(tmp_path: Path) -> Holder:
    def hold(table: pa.Table) -> str:
        columns = ", ".join(f'"{each.name}" {_SQLITE_TYPES[each.type]}' for each in table.schema)
        cells = [
            [str(cell) if isinstance(cell, dt.date | Decimal) else cell for cell in column.to_pylist()]
            for column in table.columns
        ]
        connection = sqlite3.connect(tmp_path / "people.sqlite")
        connection.execute("DROP TABLE IF EXISTS people")
        connection.execute(f"CREATE TABLE people ({columns})")
        slots = ", ".join("?" * table.num_columns)
        connection.executemany(f"INSERT INTO people VALUES ({slots})", zip(*cells, strict=True))
        connection.commit()
        connection.close()
        return f"sqlite://{tmp_path}/people.sqlite#people"

    return hold


@pytest.fixture
def in_postgres(postgres: Any) -> Iterator[Holder]:
    import ibis

    connection = ibis.connect(postgres.url())
    yield lambda table: connection.create_table("people", table, overwrite=True)
    connection.disconnect()


@pytest.fixture
def in_spark(spark: Any) -> Holder:
    def hold(table: pa.Table) -> Any:
        frame = spark.createDataFrame(table)
        # Arrow's timestamps are without time zone, and so must be those of Spark.
        return (
            frame.withColumn("seen", frame.seen.cast("timestamp_ntz")) if "seen" in frame.columns else frame
        )

    return hold


@pytest.fixture(params=["in_duckdb", "in_a_folder", "in_sqlite"])
def holder(request: pytest.FixtureRequest) -> Holder:
    found: Holder = request.getfixturevalue(request.param)
    return found


# --- what is compared ---------------------------------------------------------------------------------


def shown(release: Anonymized) -> pa.Table:
    """What a release of any source shows, in memory."""
    frame = release.table
    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    return collect(frame._find_backend(), frame)


def assert_same(held: Anonymized, memory: Anonymized) -> None:
    table = shown(held)
    assert sorted(table.column_names) == sorted(memory.arrow.column_names)
    assert records(table.select(memory.arrow.column_names)) == records(memory.arrow)
    assert (held.records, held.suppressed) == (memory.records, memory.suppressed)
    assert held.risk() == memory.risk()
    assert held.measures() == pytest.approx(memory.measures())
    assert held.verification.holds


def compared(holder: Holder, table: pa.Table, options: dict[str, Any]) -> tuple[Any, Any]:
    memory = veil.anonymize(table, **options)
    held = veil.anonymize(holder(table), **options)
    assert held.transformation == memory.transformation
    assert held.score == memory.score
    assert held.classes == memory.classes
    assert_same(held, memory)
    return held, memory


# --- every type ---------------------------------------------------------------------------------------

BY_TYPE = [(name, level) for name in TYPED for level in ((0, 1) if name not in ("city", "smoker") else (0,))]


@pytest.mark.parametrize(("column", "level"), BY_TYPE)
def test_every_type(holder: Holder, column: str, level: int) -> None:
    """Kept as they are, cells are compared by value; generalized, they are text."""
    options = plan([column], minimum_levels={column: level}, maximum_levels={column: level})
    held, _ = compared(holder, people(), options)
    assert held.classes > 1


def all_types(*generalized: str) -> dict[str, Any]:
    levels = {name: int(name in generalized) for name in TYPED}
    return plan(TYPED, minimum_levels=levels, maximum_levels=levels)


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
    """1.5 and 1.50 are one number, and 02139 is no number at all."""
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

TRAPS = {
    "suppressed": pa.array(["x", None] * 10),
    "Veil_suppressed": pa.array(["x", "y"] * 10),
    "veil_part": pa.array(range(20)),
    "veil_0": pa.array(range(20)),
    "veil_0_l1": pa.array(["y"] * 20),
    "veil_k0_hit": pa.array(range(20)),
    "veil_records": pa.array(range(20)),
    "Order by": pa.array(range(20)),
    "veil_0_right": pa.array(range(20)),
}
LEVELS = {"maximum_levels": {"age": 0, "city": 0}}
SUBSET = Where("smoker = true or (`age` is missing and diagnosis != 'gout') or city = 'Zürich'")

WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "suppressed rows stay": ({}, LEVELS),
    "suppressed rows go": ({}, LEVELS | {"suppressed_rows": "drop"}),
    "no marker": ({}, LEVELS | {"marker": None}),
    "another marker": ({}, LEVELS | {"marker": 'it\'s "hidden"'}),
    "identifying column removed": ({}, LEVELS | {"identifying": {"name": "remove"}}),
    "masked without a marker": ({}, LEVELS | {"marker": None, "suppressed_rows": "drop"}),
    "others dropped": ({}, LEVELS | {"others": "drop"}),
    "others dropped and generalized": ({}, {"others": "drop", "minimum_levels": {"age": 1}}),
    "columns with names of ours": (TRAPS, LEVELS),
    "columns with names of ours, generalized": (TRAPS, {"minimum_levels": {"age": 1}}),
    "all suppressed": ({}, LEVELS | {"models": m.KAnonymity(20)}),
    "all suppressed and gone": ({}, LEVELS | {"models": m.KAnonymity(20), "suppressed_rows": "drop"}),
    "nothing suppressed": ({}, {"suppression_limit": 0.0}),
    "one class": ({}, {"minimum_levels": {"age": 3, "city": 1}}),
    "diversity": ({}, {"models": [m.KAnonymity(2), m.DistinctLDiversity("diagnosis", 2)]}),
    "closeness": ({}, {"models": m.TCloseness("diagnosis", 0.4)}),
    "a research subset": ({}, LEVELS | {"models": m.KMap(3, subset=SUBSET)}),
    "a research subset, generalized": (
        {},
        {"models": [m.KAnonymity(2), m.DeltaPresence(0, 0.8, subset=SUBSET)]},
    ),
    "a research subset, rows gone": (TRAPS, {"models": m.KMap(3, subset=SUBSET), "suppressed_rows": "drop"}),
}


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


def recoded(holder: Holder, table: pa.Table, options: dict[str, Any]) -> Any:
    memory = veil.anonymize(table, **options).local_recoding(FastIterative(0.05))
    held = veil.anonymize(holder(table), **options).local_recoding(FastIterative(0.05))
    assert held.passes == memory.passes
    assert_same(held, memory)
    return held


RECODING = {"quality": Loss(factor=0), "models": m.KAnonymity(3)}


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
