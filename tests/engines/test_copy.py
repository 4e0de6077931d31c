"""Rows that are brought over from engines that nobody can vouch for: the same values, the same answers, nothing left."""

from __future__ import annotations

import datetime as dt
import gc
import math
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.engines import people as p
from support.engines.people import in_memory, people, plan, records
from support.engines.servers import PASSWORD
from support.refusals import refused
from veil import Plan, risk
from veil import hierarchies as h
from veil import models as m
from veil.base.progress import Reported
from veil.dp import SafePub
from veil.engines import Database, Relation, Settings, relation_of
from veil.engines.condense import condense
from veil.engines.copy import _type_in_duckdb, bring_over
from veil.engines.source import for_plan
from veil.errors import InputError, OutputError
from veil.masking import Mondrian
from veil.models.subset import Where

Make = Callable[..., str]


def unknown(table: pa.Table) -> Any:
    """A table of an engine that Veil has never heard of: Polars, by way of Ibis."""
    return ibis.polars.connect({"people": pl.from_arrow(table)}).table("people")


def opened(source: Any, folder: Path | None = None, **options: Any) -> Relation:
    relation = relation_of(source, settings=Settings(temporary=folder, **options))
    assert relation is not None
    return relation


def rows(relation: Relation) -> pa.Table:
    return relation.batches(relation.table).read_all()


def read(place: str | Path) -> pa.Table:
    if str(place).endswith(".csv"):
        return veil.tables.read(place).table
    relation = relation_of(place, engine="duckdb")
    assert relation is not None
    return rows(relation)


@pytest.fixture
def scratch(tmp_path: Path) -> Path:
    """A folder for temporary files, to be looked into."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    return folder


# The whole way.


@pytest.mark.parametrize("target", ["shown/", "shown.parquet", "shown.csv", "duckdb://{}/shown.db#shown"])
def test_a_release_is_that_of_the_table_in_memory(tmp_path: Path, scratch: Path, target: str) -> None:
    options = plan(("age", "height", "city", "smoker", "born", "seen"), models=m.KAnonymity(2))
    memory = in_memory(people(), options)
    release = veil.anonymize(unknown(people()), **options, engine=Settings(temporary=scratch))
    assert release.transformation == memory.transformation
    assert (release.score, release.suppressed) == (memory.score, memory.suppressed)
    assert isinstance(release.table, ibis.Table)
    place = target.format(tmp_path) if "://" in target else str(tmp_path / target)
    written = release.save(place)
    assert records(read(place).select(memory.arrow.column_names)) == records(memory.arrow)
    (folder,) = scratch.iterdir()
    assert "20 rows" in written.note
    assert "people of polars" in written.note
    assert folder.stat().st_mode & 0o777 == 0o700
    del release, memory
    gc.collect()
    assert not list(scratch.iterdir())


def test_only_what_is_released_is_brought_over(scratch: Path) -> None:
    table = people(blob=pa.array([[1]] * 20), secret=pa.array(["x"] * 20))
    options = plan(
        insensitive=["cost"], identifying={"name": "mask", "secret": "remove"}, others="drop", person=None
    )
    release = veil.anonymize(unknown(table), **options, engine=Settings(temporary=scratch))
    copy = release.outcome.source.relation
    assert copy.table.columns == ("age", "city", "name", "cost", "diagnosis")
    assert set(rows(copy)["name"].to_pylist()) == {None}  # shown as * anyway
    assert set(release.table.to_pyarrow()["name"].to_pylist()) == {"*"}
    with refused(InputError, "people of polars", "'blob'", "type list", "brought over"):
        veil.anonymize(unknown(table), **plan(), engine=Settings(temporary=scratch))


@pytest.mark.parametrize(
    "changes",
    [
        {"models": m.Inclusion(Where("study is missing or age > 40"))},
        {"models": m.DeltaPresence(0.0, 0.95, Where("study = 'yes' or age > 40"))},
        {"models": m.KMap(2, Where("not study = 'yes'"))},
        {"quality": veil.quality.Classification(["study"])},
    ],
    ids=["missing", "presence", "not", "quality"],
)
@pytest.mark.parametrize("mask", ["mask", "remove"])
def test_what_is_masked_but_read_is_brought_over(changes: dict[str, Any], mask: str, scratch: Path) -> None:
    """A subset that is told by an identifying column is that subset."""
    table = people(study=pa.array(["yes", None, "no", "yes"] * 5))
    options = plan(identifying={"name": "remove", "study": mask}, person=None) | changes
    memory = in_memory(table, options)
    release = veil.anonymize(unknown(table), **options, engine=Settings(temporary=scratch))
    assert release.transformation == memory.transformation
    assert (release.score, release.suppressed) == (memory.score, memory.suppressed)
    released = release.table.to_pyarrow()
    assert records(released.select(memory.arrow.column_names)) == records(memory.arrow)
    assert mask == "mask" or "study" not in released.column_names
    assert "yes" not in (released["study"].to_pylist() if mask == "mask" else [])


def test_every_verb() -> None:
    table = people()
    columns = ["age", "city"]
    published = pa.table({"age": ["2*", "2*", "3*"], "city": ["a", "A", "a"]})
    checked = Plan({"age": "suppression", "city": "suppression"}, m.KAnonymity(2))
    assert str(veil.verify(unknown(published), checked)) == str(veil.verify(published, checked))
    found, known = (veil.assess(each, quasi_identifiers=columns) for each in (unknown(table), table))
    assert found == known
    measured, expected = (
        risk.analyze(each, quasi_identifiers=columns, untouched=True) for each in (unknown(table), table)
    )
    assert str(measured) == str(expected)


def test_mondrian_and_parts(tmp_path: Path) -> None:
    table = people().select(["age", "city", "note", "fee"])
    method = Mondrian(columns := ["age", "city"], m.KAnonymity(2))
    for most in (None, 4):
        masked = veil.mask(unknown(table), method, most_combinations=most)
        written = masked.save(tmp_path / "masked.parquet", overwrite=True)
        assert "were brought over" in written.note
        in_memory = veil.mask(table, method)
        assert records(read(tmp_path / "masked.parquet")) == records(in_memory.arrow)
    hierarchies = {name: p.HIERARCHIES[name] for name in columns}
    by_part = Plan(hierarchies, m.KAnonymity(2), identifying=["note"], others="drop")
    parts = veil.anonymize(unknown(table), by_part, parts=4)
    parts.save(tmp_path / "parts.parquet")
    shown = read(tmp_path / "parts.parquet")
    assert set(shown.column_names) == set(columns)
    assert min(Counter(zip(*(shown[name].to_pylist() for name in columns), strict=True)).values()) >= 2
    assert veil.anonymize(unknown(table), by_part).measures()["classes"] > 0


def test_a_random_sample(tmp_path: Path) -> None:
    size = 2000
    table = pa.table(
        {"sex": ["fF"[row % 2] for row in range(size)], "age": [row % 40 for row in range(size)]}
    )
    hierarchies = {
        "sex": h.table([["f", "*"], ["F", "*"]]),
        "age": h.table([[str(n), "*"] for n in range(40)]),
    }
    model = SafePub(2, 1e-4, generalization={"sex": 0, "age": 1})
    release = veil.anonymize(unknown(table), quasi_identifiers=hierarchies, models=model, person=None)
    assert release.is_private
    release.save(tmp_path / "shown.parquet")
    assert set(read(tmp_path / "shown.parquet")["sex"].to_pylist()) == {"f", "F"}


# Values.


@settings(max_examples=20, deadline=None)
@given(st.lists(st.none() | st.text("aAáß \u0301sS", max_size=3), min_size=1, max_size=30))
def test_texts_are_counted_letter_by_letter(words: list[str | None]) -> None:
    copy = bring_over(opened(unknown(pa.table({"word": pa.array(words, pa.string())}))))
    found = condense(copy, ["word"])
    counts = zip(found.table["word"].to_pylist(), found.weights.tolist(), strict=True)
    assert dict(counts) == Counter(words)


LONG = "é" * 3_000_000


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, None, 2**63 - 1, -(2**63)]),
        pa.array([0, None, 2**64 - 1], pa.uint64()),
        pa.array([-128, None, 127], pa.int8()),
        pa.array([0.1, None, -0.0, 0.0, math.inf, -math.inf, math.nan, 5e-324]),
        pa.array([0.1, None, 1e38], pa.float32()),
        pa.array([True, None, False]),
        pa.array(["a", "A", "a ", "á", "a\u0301", "", None, "\U0001f600", "a\nb\r\n", LONG]),
        pa.array([b"\x00\xff", b"", None]),
        pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
        pa.array([dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999), None]),
        pa.array([-1, 0, 2**62, None], pa.timestamp("ns")),
        pa.array([-1, 0, None], pa.timestamp("ms")),
        pa.array([dt.datetime(2024, 7, 1, tzinfo=dt.UTC), None], pa.timestamp("us", "UTC")),
        pa.array([dt.datetime(2024, 7, 1, tzinfo=dt.UTC), None], pa.timestamp("ms", "Europe/Berlin")),
        pa.array([dt.time(23, 59, 59, 999999), dt.time(0), None], pa.time64("ns")),
        pa.array([Decimal("0.10"), Decimal("-99999999.99"), None], pa.decimal128(10, 2)),
        pa.array([Decimal(10**37), Decimal(1), None], pa.decimal128(38, 0)),
        pa.array(["b", "a", None, "b"]).dictionary_encode(),
        pa.nulls(3),
    ],
    ids=lambda values: str(values.type),
)  # fmt: skip
def test_values_are_what_they_were(values: pa.Array, scratch: Path) -> None:
    copy = bring_over(opened(unknown(pa.table({"x": values, "row": pa.array(range(len(values)))})), scratch))
    found = copy.batches(copy.table.order_by("row").select("x")).read_all()["x"]
    seen = copy.arrow_view("x", found)
    plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
    memory = opened(ibis.memtable(pa.table({"x": [1]}))).arrow_view("x", plain)
    if pa.types.is_floating(plain.type):
        # None for not-a-number in both, and the sign of zero.
        assert list(map(str, seen.to_pylist())) == list(map(str, memory.to_pylist()))
        assert [math.isnan(each) for each in found.drop_null().to_pylist()] == [
            math.isnan(each) for each in plain.drop_null().to_pylist()
        ]
    elif pa.types.is_time(plain.type) or (pa.types.is_timestamp(plain.type) and plain.type.unit != "ns"):
        assert seen.to_pylist() == memory.to_pylist()  # in microseconds, which are finer
    else:
        assert seen.equals(memory.cast(seen.type))
        assert seen.type == memory.type


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1], pa.timestamp("ns", "UTC")),
        pa.array([1], pa.time64("ns")),
        pa.array([1], pa.duration("us")),
        pa.array([{"a": 1}]),
        pa.array([[1]]),
    ],
    ids=lambda values: str(values.type),
)
def test_values_that_would_not_be_the_same_are_refused(values: pa.Array, scratch: Path) -> None:
    relation = opened(unknown(pa.table({"x": values})), scratch)
    with refused(InputError, "people of polars", "'x'", "brought over"):
        bring_over(relation)
    assert not list(scratch.iterdir())


def test_types_that_engines_hand_over_as_they_like() -> None:
    assert _type_in_duckdb(pa.decimal256(30, 1), "t", "x") == pa.decimal128(30, 1)
    assert _type_in_duckdb(pa.json_(), "t", "x") == pa.string()
    for kind in (pa.decimal128(5, -2), pa.decimal256(50, 0), pa.uuid()):
        with refused(InputError, "t: column 'x'", "brought over"):
            _type_in_duckdb(kind, "t", "x")


def test_columns_that_duckdb_takes_for_one(scratch: Path) -> None:
    relation = opened(unknown(pa.table({"age": [1], "Age": [2]})), scratch)
    with refused(InputError, "'age' and 'Age'", "in case"):
        bring_over(relation)
    assert rows(bring_over(relation, ["Age"])).to_pydict() == {"Age": [2]}


# What goes wrong on the way.


@pytest.mark.parametrize("trouble", [KeyboardInterrupt, RuntimeError])
def test_nothing_is_left_when_it_is_stopped(scratch: Path, trouble: type[BaseException]) -> None:
    told = []

    def stop(phase: str, done: int, total: int, note: str) -> None:
        told.append((phase, done, total, note))
        if done > 100_000:
            (folder,) = scratch.iterdir()
            assert (folder / "new" / "rows.duckdb").exists()
            assert note == f"to {folder}"
            raise trouble

    numbers = range(300_000)
    relation = opened(unknown(pa.table({"n": numbers, "word": [str(n) for n in numbers]})), scratch)
    with pytest.raises(trouble):
        for_plan(relation, Plan({"word": "suppression"}, m.KAnonymity(2), others="drop"), Reported(stop))
    assert not list(scratch.iterdir())
    assert told[0][0] == "bringing rows over from polars"
    assert [each[1] for each in told[1:]] == [65_536, 131_072]
    assert {each[2] for each in told[1:]} == {300_000}


def test_memory_holds_a_few_batches_and_no_more(sqlite: Make, scratch: Path) -> None:
    size = 400_000
    url = sqlite(
        "CREATE TABLE long (word TEXT)",
        f"WITH RECURSIVE rows(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM rows WHERE n < {size}) "
        "INSERT INTO long SELECT n || 'a word of about fifty letters, or perhaps a few more' FROM rows",
    )
    held: list[int] = []
    progress = Reported(lambda *told: held.append(pa.total_allocated_bytes()))
    copy = bring_over(opened(f"{url}#long", scratch, bring_over=True), progress=progress)
    assert copy.table.count().execute() == size
    assert len(held) == 2 + size // 65_536
    assert max(held[1:]) - held[0] < 3 * 65_536 * 64  # of seven batches


def test_ctrl_c(sqlite: Make, scratch: Path) -> None:
    """A real one, while rows are copied, and in another process."""
    url = sqlite(
        "CREATE TABLE long (n INTEGER)",
        "WITH RECURSIVE rows(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM rows WHERE n < 2000000) "
        "INSERT INTO long SELECT n FROM rows",
    )
    code = (
        "import time\n"
        "from veil.base.progress import Reported\n"
        "from veil.engines import Settings, relation_of\n"
        "from veil.engines.copy import bring_over\n"
        f"chosen = Settings(temporary={str(scratch)!r}, bring_over=True)\n"
        f"relation = relation_of('{url}#long', settings=chosen)\n"
        "def tell(phase, done, due, note):\n"
        "    print(done, flush=True)\n"
        "    if 0 < due == done:\n"
        "        time.sleep(3600)  # for a signal that comes late\n"
        "bring_over(relation, progress=Reported(tell))\n"
    )
    path = {"PYTHONPATH": str(Path(veil.__file__).parents[1])}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert [process.stdout.readline() for _ in range(3)] == ["0\n", "65536\n", "131072\n"]
        assert list(scratch.glob("*/new/rows.duckdb"))
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=300)
    assert said.rstrip().endswith("KeyboardInterrupt")
    assert not list(scratch.iterdir())


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with refused(InputError, "no temporary files"):
        bring_over(opened(unknown(pa.table({"x": [1]})), tmp_path / "nowhere"))


# Engines that Veil knows, where somebody wants it so.


def test_engines_by_choice(sqlite: Make, duckdb: Make, tmp_path: Path, scratch: Path) -> None:
    statements = [
        "CREATE TABLE stays (word TEXT, n INTEGER)",
        "INSERT INTO stays VALUES ('a', 1), ('A', 1), ('a', 2), ('A', 2)",
    ]
    held = opened(f"{duckdb(*statements)}#stays", scratch, bring_over=True)
    assert bring_over(held) is held  # is DuckDB already
    source = sqlite(*statements)
    release = veil.anonymize(
        f"{source}#stays",
        quasi_identifiers={"word": h.suppression()},
        models=m.KAnonymity(2),
        others="keep",
        engine=Settings(temporary=scratch, bring_over=True),
    )
    assert (release.outcome.source.relation.kind, release.classes) == ("duckdb", 2)
    with refused(OutputError, "stays of", "the input table"):
        release.save(f"{source}#stays", overwrite=True)
    with refused(OutputError, "input database"):
        release.save(source.removeprefix("sqlite://"), overwrite=True)
    release.save(f"{source}#shown")
    assert records(read(f"{source}#shown")) == records(read(f"{source}#stays"))


def test_spark_is_not_brought_over(spark: Any) -> None:
    with refused(InputError, "Spark", "Parquet"):
        bring_over(opened(spark.range(3), bring_over=True))


def test_a_table_that_changes_meanwhile(postgres: Any, scratch: Path) -> None:
    postgres.execute(
        "DROP VIEW IF EXISTS growing",
        "CREATE SEQUENCE IF NOT EXISTS larger",
        "CREATE VIEW growing AS SELECT n FROM generate_series(1, nextval('larger')) AS n",
        "GRANT ALL ON growing, larger TO veil",
    )
    with refused(InputError, "growing of", "rows", "changed"):
        bring_over(opened(postgres.url("growing"), scratch, bring_over=True))
    assert not list(scratch.iterdir())


def test_numbers_of_postgres_have_as_few_places_as_they_need(postgres: Any) -> None:
    postgres.execute(
        "DROP TABLE IF EXISTS fees",
        "CREATE TABLE fees (fee numeric)",
        "INSERT INTO fees VALUES (1.50), (2.25), (NULL)",
        "GRANT ALL ON fees TO veil",
    )
    copy = bring_over(opened(postgres.url("fees"), bring_over=True))
    seen = copy.arrow_view("fee", rows(copy)["fee"])
    assert (seen.type, set(seen.to_pylist())) == (
        pa.decimal128(38, 2),
        {Decimal("1.50"), Decimal("2.25"), None},
    )


def test_no_message_holds_the_password(postgres: Any, scratch: Path) -> None:
    postgres.execute(
        "DROP TABLE IF EXISTS going", "CREATE TABLE going AS SELECT 1 AS n", "GRANT ALL ON going TO veil"
    )
    relation = opened(postgres.url("going"), scratch, bring_over=True)
    postgres.execute("DROP TABLE going")
    with refused(InputError, "going of postgres://veil@", "gone") as caught:
        bring_over(relation)
    assert PASSWORD not in f"{caught.value!r} {caught.value.__cause__!r}"
    assert not list(scratch.iterdir())


@pytest.mark.parametrize("server", ["postgres", "mysql"])
def test_to_another_table_of_the_same_server(
    server: str, request: pytest.FixtureRequest, scratch: Path
) -> None:
    held = request.getfixturevalue(server)
    table = people().drop_columns(["height", "cost"])  # of which MariaDB knows no not-a-number
    held.execute("DROP TABLE IF EXISTS stays", "DROP TABLE IF EXISTS shown")
    if server == "postgres":
        held.execute("GRANT ALL ON SCHEMA public TO veil")
    _load(held.url("stays"), table)
    options = plan(("age", "city", "smoker", "born", "seen"), models=m.KAnonymity(2))
    memory = in_memory(table, options)
    chosen = Settings(temporary=scratch, bring_over=True)
    release = veil.anonymize(held.url("stays"), **options, engine=chosen)
    with refused(OutputError, "is the input"):
        release.save(held.url("stays"), overwrite=True)
    written = release.save(held.url("shown"))
    assert written.verification.holds
    assert PASSWORD not in written.note
    relation = opened(held.url("shown"))
    found = rows(relation)
    if server == "mysql":  # which has no truth values, only numbers
        for name in ("smoker", "suppressed"):
            if name in found.column_names and pa.types.is_integer(found[name].type):
                place = found.column_names.index(name)
                found = found.set_column(place, name, found[name].cast(pa.bool_()))
    assert records(found.select(memory.arrow.column_names)) == records(memory.arrow)


def test_what_was_written_is_not_compared_by_the_server_either(
    postgres: Any, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres.execute("DROP TABLE IF EXISTS shown", "GRANT ALL ON SCHEMA public TO veil")
    kinds = []

    def counted(relation: Relation, columns: Any) -> Any:
        kinds.append((relation.kind, len(list(scratch.iterdir()))))
        return condense(relation, columns)

    monkeypatch.setattr("veil.engines.verify.condense", counted)
    chosen = Settings(temporary=scratch, bring_over=True)
    release = veil.anonymize(unknown(people()), **plan(), engine=chosen)
    release.save(postgres.url("shown"))
    assert kinds == [("duckdb", 2)]  # the rows that came, and those that were written
    gc.collect()
    assert len(list(scratch.iterdir())) == 1


def test_long_texts_and_no_rows_of_postgres(postgres: Any) -> None:
    postgres.execute(
        "DROP TABLE IF EXISTS long",
        "CREATE TABLE long AS SELECT 1 AS n, repeat('é', 3000000) AS word UNION ALL SELECT 2, ''",
        "GRANT ALL ON long TO veil",
    )
    relation = opened(postgres.url("long"), bring_over=True)
    copy = bring_over(relation)
    assert dict(zip(*rows(copy).to_pydict().values(), strict=True)) == {1: LONG, 2: ""}
    nothing = relation.table.filter(relation.table.n > 2)
    assert relation.batches(nothing).read_all().to_pydict() == {"n": [], "word": []}


def _load(url: str, table: pa.Table) -> None:
    """Write a table as it is to a table of a database."""
    from veil.engines.write.writing import write

    relation = opened(ibis.duckdb.connect().create_table("people", table))
    write(relation, lambda each: each, Database(url), check=lambda staged: None, token="as it is")


def test_a_file_is_read_where_it_is(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "a.parquet")
    relation = relation_of(tmp_path / "a.parquet", engine="duckdb", settings=Settings(bring_over=True))
    assert relation is not None
    assert bring_over(relation) is relation
