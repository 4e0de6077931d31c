"""Spark: DataFrames go in and out, and no session is started."""

from __future__ import annotations

import datetime as dt
import gc
from pathlib import Path
from typing import Any

import ibis

from support.refusals import refused
from veil.engines import Relation, relation_of
from veil.engines.relation import Handed
from veil.errors import InputError


def opened(source: Any, **options: Any) -> Relation:
    relation = relation_of(source, **options)
    assert relation is not None
    return relation


def rows(relation: Relation) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = relation.batches(relation.table).read_all().to_pydict()
    return found


def test_a_spark_frame_goes_in_and_out(spark: Any) -> None:
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    seen = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
    frame = spark.createDataFrame(
        [(30, "02139", seen), (None, None, None)], "age int, zip string, seen timestamp"
    )
    relation = opened(frame)
    assert (relation.kind, relation.frame, relation.location) == ("pyspark", "frame", Handed("pyspark"))
    assert rows(relation) == {"age": [30, None], "zip": ["02139", None], "seen": [seen, None]}
    grown = relation.restore(relation.table.filter(ibis._.age > 20).select("age", "zip"))
    assert isinstance(grown, type(frame))
    assert grown.sparkSession is spark
    assert [tuple(row) for row in grown.collect()] == [(30, "02139")]
    # Of the session itself nothing is changed, and nothing is left behind.
    assert spark.conf.get("spark.sql.session.timeZone") == "America/New_York"
    del relation
    gc.collect()
    assert [table.name for table in spark.catalog.listTables() if table.name.startswith("veil")] == []
    assert grown.count() == 1


def test_a_table_of_the_running_spark_session(spark: Any) -> None:
    spark.range(3).createOrReplaceTempView("numbers")
    relation = opened("spark:#numbers")
    assert relation.name == "table numbers of the Spark session"
    assert sorted(rows(relation)["id"]) == [0, 1, 2]
    assert relation.restore(relation.table).count() == 3
    with refused(InputError, "Spark session", "no table 'numbres'", "mean 'numbers'"):
        relation_of("spark:#numbres")
    with refused(InputError, "no schema 'nowhere'", "Spark session"):
        relation_of("spark:#nowhere.numbers")
    spark.catalog.dropTempView("numbers")


def test_spark_frames_that_are_no_tables(spark: Any) -> None:
    with refused(InputError, "stream", "no end"):
        relation_of(spark.readStream.format("rate").load())
    with refused(InputError, "more than one", "'id'"):
        relation_of(spark.range(1).selectExpr("id", "id"))


def test_without_a_spark_session_none_is_started() -> None:
    import subprocess
    import sys

    import veil

    code = (
        "from veil.engines import relation_of\n"
        "try: relation_of('spark:#t')\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    path = {"PYTHONPATH": str(Path(veil.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=path)
    assert "InputError spark:#table" in done.stdout
    assert "none is running" in done.stdout
