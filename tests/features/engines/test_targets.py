"""Every target: what it writes, what it refuses, and what it leaves behind."""

from __future__ import annotations

import datetime as dt
import gc
import gzip
import os
import shutil
import sqlite3
import subprocess
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil import tables
from veil.engines.database import Database
from veil.engines.dialects import dialect_of
from veil.engines.relation import Relation, relation_of
from veil.engines.write import locks as exchange
from veil.engines.write.tables import backend_of
from veil.engines.write.writing import write
from veil.errors import OutputError, Say, VerificationError

FEW = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


MANY = 1_000


def opened(source: Any, **options: Any) -> Relation:
    relation = relation_of(source, **options)
    assert relation is not None
    return relation


def same(table: Any) -> Any:
    return table


def fine(staged: Any) -> None:
    assert staged.count().to_pyarrow().as_py() is not None


def sent(relation: Relation, target: Any, **options: Any) -> Any:
    return write(relation, same, target, **{"check": fine, "token": "t", "chunk_rows": 300, **options})


def multiset(table: pa.Table) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*table.to_pydict().values(), strict=True))


def rows_of(source: Any) -> Counter[tuple[Any, ...]]:
    relation = opened(source, engine="duckdb") if not isinstance(source, Relation) else source
    return multiset(relation.table.to_pyarrow())


def staging_tables(backend: Any) -> list[str]:
    return [each for each in dialect_of(backend).tables() if "veil" in each]


def remains(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if "veil" in each.name)


@pytest.fixture
def people(tmp_path: Path) -> Relation:
    """A Parquet file with every type that plans can handle, missing values among them."""
    table = pa.table(
        {
            "id": pa.array(range(MANY), pa.int64()),
            "name": [None if i % 11 == 0 else f'O\'Brien, "{i % 7}"' if i % 3 else "" for i in range(MANY)],
            "weight": [None if i % 13 == 0 else i / 7 for i in range(MANY)],
            "born": [dt.date(1950, 1, 1) + dt.timedelta(days=i) for i in range(MANY)],
            "seen": [dt.datetime(2024, 5, 6, 7, 8, i % 60) for i in range(MANY)],
            "smoker": [(True, False, None)[i % 3] for i in range(MANY)],
            "cost": pa.array([Decimal(i) / 100 for i in range(MANY)], pa.decimal128(12, 2)),
        }
    )
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "people.parquet")
    return opened(str(tmp_path / "in" / "people.parquet"), engine="duckdb")


@pytest.mark.parametrize(
    "name", ["release", "release.d/", "release.parquet", "release.csv", "release.csv.gz"]
)
def test_a_release_as_files(people: Relation, tmp_path: Path, name: str) -> None:
    written = sent(people, f"{tmp_path}/{name}")
    assert (written.pieces, written.continued) == (4, 0)
    place = tmp_path / name
    assert place.is_dir() == (name in ("release", "release.d/"))
    if ".csv" in name:
        table = tables.read(str(place)).table
        before = people.table.to_pyarrow()
        assert multiset(table.select(["id", "name", "weight"])) == multiset(
            before.select(["id", "name", "weight"])
        )
    else:
        assert rows_of(str(place)) == rows_of(people)
    assert remains(tmp_path) == []


@pytest.mark.parametrize("name", ["release", "release.parquet", "release.csv"])
def test_an_existing_target_is_replaced_only_when_asked(people: Relation, tmp_path: Path, name: str) -> None:
    sent(people, tmp_path / name)
    before = snapshot(tmp_path / name)
    with refused(OutputError, Say("overwrite", True), "already exists"):
        sent(people, tmp_path / name, token="other")
    assert snapshot(tmp_path / name) == before
    few = opened(people.table.limit(10))
    sent(few, tmp_path / name, token="other", overwrite=True)
    assert snapshot(tmp_path / name) != before
    assert remains(tmp_path) == []


def snapshot(place: Path) -> dict[str, bytes]:
    files = [place] if place.is_file() else sorted(place.iterdir())
    return {file.name: file.read_bytes() for file in files}


def test_a_folder_that_is_no_release_is_never_replaced(people: Relation, tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "photos").mkdir(parents=True)
    with refused(OutputError, "'photos'", "be removed"):
        sent(people, home, overwrite=True)
    assert [each.name for each in home.iterdir()] == ["photos"]
    assert remains(tmp_path) == []


def test_an_empty_folder_is_a_free_place(people: Relation, tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    sent(people, tmp_path / "release")
    assert rows_of(str(tmp_path / "release")) == rows_of(people)


def test_behind_a_link_the_file_is_replaced_with_its_permissions(people: Relation, tmp_path: Path) -> None:
    real = tmp_path / "real.csv"
    real.write_text("old")
    real.chmod(0o640)
    (tmp_path / "link.csv").symlink_to(real)
    sent(people, tmp_path / "link.csv", overwrite=True)
    assert (tmp_path / "link.csv").is_symlink()
    assert real.stat().st_mode & 0o777 == 0o640
    assert real.read_text().startswith("id,name")


def test_nobody_else_can_look_at_what_has_not_been_checked(people: Relation, tmp_path: Path) -> None:
    def look(staged: Any) -> None:
        (folder,) = (each for each in tmp_path.glob(".release.veil-*") if each.is_dir())
        assert folder.stat().st_mode & 0o077 == 0

    sent(people, tmp_path / "release", check=look)
    assert (tmp_path / "release").stat().st_mode & 0o777 == 0o777 & ~_umask()


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found


# DuckDB takes -0.0 and 0.0 for one value when it writes Parquet.
FLOAT = st.floats(allow_nan=False, width=32).map(lambda number: number + 0.0)


TEXT = st.none() | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)


@FEW
@given(
    rows=st.lists(
        st.tuples(TEXT, st.none() | st.integers(-(2**40), 2**40), st.none() | FLOAT),
        min_size=1,
        max_size=30,
    ),
    chunk=st.integers(1, 40),
    packed=st.booleans(),
)
def test_csv_is_byte_for_byte_what_the_writer_of_veil_gives(
    tmp_path_factory: Any, rows: list[Any], chunk: int, packed: bool
) -> None:
    folder = tmp_path_factory.mktemp("csv")
    columns = list(zip(*rows, strict=True))
    table = pa.table(
        {"a b": pa.array(columns[0], pa.string()), "n": pa.array(columns[1], pa.int64()), "f": pa.array(columns[2], pa.float64())}
    )  # fmt: skip
    pq.write_table(table, folder / "in.parquet")
    ending = ".csv.gz" if packed else ".csv"
    sent(opened(str(folder / "in.parquet"), engine="duckdb"), folder / f"out{ending}", chunk_rows=chunk)
    tables.write(table, folder / f"twin{ending}")
    got, wanted = (_bytes(folder / f"{name}{ending}") for name in ("out", "twin"))
    if chunk >= len(rows):
        assert got == wanted
    # Whole records, because a field may hold a line end.
    assert multiset(tables.read(str(folder / f"out{ending}")).table) == multiset(
        tables.read(str(folder / f"twin{ending}")).table
    )


def _bytes(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"])
@pytest.mark.parametrize("other", [False, True])
def test_tables(people: Relation, tmp_path: Path, engine: str, other: bool, request: Any) -> None:
    """Into an empty database from files; then within that database, or from it back to a file."""
    base = _base(engine, tmp_path, request)
    names = ["id", "name", "weight", "born"] if engine == "sqlite" else list(people.table.columns)
    source = opened(people.table.select(names))
    sent(source, f"{base}#first", overwrite=True)
    first = opened(f"{base}#first")
    assert spelled(first) == spelled(source)
    if other:
        sent(first, tmp_path / "back")
        assert spelled(opened(str(tmp_path / "back"))) == spelled(source)
    else:
        assert sent(first, f"{base}#second", overwrite=True).pieces > 1
        assert spelled(opened(f"{base}#second")) == spelled(source)
    assert staging_tables(first.backend) == []
    first.backend.disconnect()


def test_a_type_that_an_engine_does_not_have(tmp_path: Path) -> None:
    fees = ibis.duckdb.connect().create_table("fees", pa.table({"n": [1], "fee": [Decimal("1.25")]}))
    told = r"table fees of sqlite://.*: column 'fee' has type decimal\(3, 2\), which sqlite does not have. Write to Parquet"
    with pytest.raises(OutputError, match=told):
        sent(opened(fees), f"sqlite://{tmp_path}/clinic.db#fees")
    assert not [each for each in tmp_path.iterdir() if "veil" in each.name]


@pytest.mark.parametrize("there", ["duckdb", "sqlite", "postgres"])
@pytest.mark.parametrize("here", ["duckdb", "sqlite", "postgres"])
def test_from_one_database_to_another(
    people: Relation, tmp_path: Path, here: str, there: str, request: Any
) -> None:
    """Each engine reads in threads of its own, in which not every other one answers."""
    source = opened(people.table.select(["id", "name", "weight"]))
    (tmp_path / "other").mkdir()
    sent(source, f"{_base(here, tmp_path, request)}#first", overwrite=True)
    target = f"{_base(there, tmp_path / 'other', request)}#second"
    sent(opened(f"{_base(here, tmp_path, request)}#first"), target, overwrite=True)
    assert spelled(opened(target)) == spelled(source)


def _base(engine: str, tmp_path: Path, request: Any) -> str:
    if engine == "postgres":
        return str(request.getfixturevalue("postgres").url())
    return f"{engine}://{tmp_path}/clinic.db"


def spelled(relation: Relation) -> Counter[tuple[Any, ...]]:
    """Rows as text, because SQLite has no dates."""
    table = relation.table.to_pyarrow()
    return Counter(
        tuple(None if each is None else str(each) for each in row) for row in multiset(table).elements()
    )


def test_text_that_a_copy_to_postgres_could_take_for_something_else(postgres: Any, tmp_path: Path) -> None:
    values = ["\\.", "", None, '"', "a\nb", "\\N", "NULL", "é,", " x ", "\r"]
    pq.write_table(pa.table({"t": values}), tmp_path / "in.parquet")
    source = opened(str(tmp_path / "in.parquet"), engine="duckdb")
    sent(source, postgres.url("odd"))
    found = opened(postgres.url("odd"))
    assert rows_of(found) == rows_of(source)
    sent(found, tmp_path / "back")
    assert rows_of(str(tmp_path / "back")) == rows_of(source)
    found.backend.disconnect()


def test_values_that_a_copy_from_postgres_could_spell_otherwise(postgres: Any, tmp_path: Path) -> None:
    postgres.execute(
        "CREATE TABLE spelled (f float8, g real, b boolean, d date, s timestamp, n numeric(8, 3), i bigint)",
        "INSERT INTO spelled VALUES ('infinity', 0.1, true, '0031-02-03', '2024-05-06 07:08:09.123456', 1.5, -1), "
        "('-infinity', 1e-30, false, '9999-12-31', '1582-10-04', 12345.678, 9223372036854775807), "
        "(0.1, NULL, NULL, NULL, NULL, NULL, NULL)",
        f"ALTER DATABASE {postgres.database} SET datestyle = 'SQL, DMY'",
        "GRANT SELECT ON spelled TO veil",
    )
    found = opened(postgres.url("spelled"))
    for number, columns in enumerate((["f", "g", "b", "d", "s", "i"], ["n", "i"])):  # by COPY, and by rows
        source = opened(found.table.select(columns))
        sent(source, tmp_path / f"back{number}")
        expected = multiset(source.table.to_pyarrow())
        assert rows_of(str(tmp_path / f"back{number}")) == expected
    found.backend.disconnect()
    postgres.execute(f"ALTER DATABASE {postgres.database} RESET datestyle")


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"])
def test_a_table_is_replaced_only_when_asked(
    people: Relation, tmp_path: Path, engine: str, request: Any
) -> None:
    base = _base(engine, tmp_path, request)
    source = opened(people.table.select("id"))
    name = (
        "a name with \"quotes' " + "x" * 40 if engine != "postgres" else "a name with \"quotes' " + "x" * 30
    )
    database = Database(base, name)
    sent(source, database)
    with pytest.raises(OutputError, match="already exists"):
        sent(source, database)
    sent(opened(source.table.limit(3)), database, overwrite=True)
    found = opened(database)
    assert rows_of(found).total() == 3
    assert staging_tables(found.backend) == []
    found.backend.disconnect()


def test_names_that_begin_alike_do_not_share_a_staging_table(people: Relation, tmp_path: Path) -> None:
    from veil.engines.write.open import target_of

    url = f"duckdb://{tmp_path}/clinic.db"
    places = [target_of(Database(url, "x" * 60 + end), people, token="t") for end in "ab"]
    stagings = {place.staging for place in places}
    assert len(stagings) == 2
    assert all(len(each.rpartition(" of ")[0].removeprefix("table ")) <= 58 for each in stagings)


def test_views_on_a_table_that_would_be_replaced(people: Relation, postgres: Any) -> None:
    source = opened(people.table.select("id"))
    sent(source, postgres.url("based"))
    postgres.execute("CREATE VIEW on_based AS SELECT * FROM based")
    with refused(OutputError, "depend on it"):
        sent(opened(source.table.limit(3)), postgres.url("based"), overwrite=True, token="other")
    found = opened(postgres.url("based"))
    assert rows_of(found) == rows_of(source)
    found.backend.disconnect()


def test_the_source_is_never_the_target(people: Relation, tmp_path: Path, duckdb: Any, postgres: Any) -> None:
    folder = opened(str(tmp_path / "in"))
    for target in (tmp_path / "in", tmp_path / "in" / "people.parquet", tmp_path):
        with refused(OutputError, "contains the input"):
            sent(folder, target, overwrite=True)
    with refused(OutputError, "inside the input"):
        sent(folder, tmp_path / "in" / "release.parquet")
    url = duckdb("CREATE TABLE t AS SELECT 1 AS id")
    with refused(OutputError, "the input table"):
        sent(opened(f"{url}#t"), f"{url}#t", overwrite=True)
    with refused(OutputError, "the input database"):
        sent(opened(f"{url}#t"), tmp_path / "clinic.db", overwrite=True, format=tables.Csv())
    postgres.execute("CREATE TABLE own AS SELECT 1 AS id", "GRANT SELECT ON own TO veil")
    relation = opened(postgres.url("own"))
    for target in (
        postgres.url("own"),
        postgres.url("public.own"),
        postgres.url("own").replace("127.0.0.1", "localhost"),
    ):
        with refused(OutputError, "is the input"):
            sent(relation, target, overwrite=True)
    relation.backend.disconnect()
    assert people.table.count().to_pyarrow().as_py() == MANY


def test_a_folder_that_is_missing(people: Relation, tmp_path: Path) -> None:
    with refused(OutputError, "nowhere", "not exist"):
        sent(people, tmp_path / "nowhere" / "release.csv")
    with refused(OutputError, "folder", "not exist"):
        sent(people, f"duckdb://{tmp_path}/nowhere/clinic.db#t")


def test_formats_that_no_engine_writes(people: Relation, tmp_path: Path) -> None:
    with refused(OutputError, "engine", "CSV and Parquet"):
        sent(people, tmp_path / "release.xlsx")
    with refused(OutputError, "'.doc'", "unknown"):
        sent(people, tmp_path / "release.doc")


def test_a_file_where_a_folder_is_asked_for(people: Relation, tmp_path: Path) -> None:
    (tmp_path / "release").write_text("mine")
    with refused(OutputError, "not a folder"):
        sent(people, tmp_path / "release", overwrite=True)
    assert (tmp_path / "release").read_text() == "mine"


def test_a_table_without_a_name(people: Relation, tmp_path: Path) -> None:
    with refused(OutputError, "no table", "named"):
        sent(people, f"duckdb://{tmp_path}/clinic.db")


def test_two_runs_at_once_on_one_folder(people: Relation, tmp_path: Path) -> None:
    def second(staged: Any) -> None:
        with refused(OutputError, "another run"):
            sent(people, tmp_path / "release", token="other")

    sent(people, tmp_path / "release", check=second)
    assert rows_of(str(tmp_path / "release")) == rows_of(people)
    assert remains(tmp_path) == []


@pytest.mark.parametrize("engine", ["duckdb", "sqlite", "postgres"])
def test_two_runs_at_once_on_one_table(people: Relation, tmp_path: Path, engine: str, request: Any) -> None:
    base = _base(engine, tmp_path, request)
    source = opened(people.table.select("id"))

    def second(staged: Any) -> None:
        with refused(OutputError, "another run"):
            sent(source, f"{base}#busy", token="other")

    sent(source, f"{base}#busy", check=second)
    found = opened(f"{base}#busy")
    assert rows_of(found) == rows_of(source)
    found.backend.disconnect()


@pytest.mark.parametrize("native", [True, False])
def test_a_folder_takes_the_place_of_another(tmp_path: Path, monkeypatch: Any, native: bool) -> None:
    if not native:
        monkeypatch.setattr(exchange, "_renameat2", lambda *_: False)
    for name in ("new", "old"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "part").write_text(name)
    where = exchange.take_place(tmp_path / "new", tmp_path / "old", overwrite=True)
    assert where is not None
    assert (where / "part").read_text() == "old"
    assert (tmp_path / "old" / "part").read_text() == "new"
    shutil.rmtree(where)
    (tmp_path / "more").mkdir()
    with pytest.raises(FileExistsError):
        exchange.take_place(tmp_path / "more", tmp_path / "old", overwrite=False)
    (tmp_path / "file").write_text("mine")
    (tmp_path / "other").write_text("other")
    with pytest.raises(FileExistsError):
        exchange.take_place(tmp_path / "other", tmp_path / "file", overwrite=False)
    assert (tmp_path / "file").read_text() == "mine"
    exchange._rename_to_free_place(tmp_path / "other", tmp_path / "free")
    with pytest.raises(FileExistsError):
        exchange._rename_to_free_place(tmp_path / "file", tmp_path / "free")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=300k", "tmpfs", place], capture_output=True)
    if mounted.returncode:
        pytest.skip("needs the right to mount a small file system")
    yield place
    subprocess.run(["umount", place], check=True)


@pytest.mark.parametrize("name", ["release", "release.parquet", "release.csv"])
def test_a_full_disk(small_disk: Path, tmp_path: Path, name: str) -> None:
    noise = [os.urandom(30).hex() for _ in range(20_000)]
    pq.write_table(pa.table({"t": noise}), tmp_path / "in.parquet")
    source = opened(str(tmp_path / "in.parquet"), engine="duckdb")
    with refused(OutputError, "disk is full"):
        sent(source, small_disk / name, chunk_rows=2_000)
    assert not (small_disk / name).exists()


def test_a_full_disk_says_what_is_kept(small_disk: Path, tmp_path: Path) -> None:
    noise = [os.urandom(30).hex() for _ in range(20_000)]
    pq.write_table(pa.table({"t": noise}), tmp_path / "in.parquet")
    source = opened(str(tmp_path / "in.parquet"), engine="duckdb")
    with refused(OutputError, "of 10 pieces", "kept"):
        sent(source, small_disk / "release", chunk_rows=2_000)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write(people: Relation, tmp_path: Path) -> None:
    (tmp_path / "closed").mkdir(mode=0o500)
    with refused(OutputError, "no permission"):
        sent(people, tmp_path / "closed" / "release")


def test_a_file_system_that_cannot_be_written(people: Relation) -> None:
    if not Path("/proc/self").exists():
        pytest.skip("needs a /proc")
    with pytest.raises(OutputError, match="^/proc/release: "):
        sent(people, "/proc/release")


def test_a_role_without_the_right_to_create_tables(people: Relation, postgres: Any) -> None:
    postgres.execute(
        "DROP ROLE IF EXISTS visitor",
        "CREATE ROLE visitor LOGIN PASSWORD 'permission'",
        "REVOKE CREATE ON SCHEMA public FROM PUBLIC",
    )
    target = postgres.url("release", user="visitor", password="permission")
    with refused(OutputError, "to create tables") as caught:
        sent(people, target)
    assert ":permission" not in str(caught.value)
    assert "permission@" not in str(caught.value)


def test_a_failed_check_leaves_nothing(people: Relation, tmp_path: Path, postgres: Any) -> None:
    def broken(staged: Any) -> None:
        raise VerificationError(f"{staged.count().to_pyarrow().as_py()} rows, none of them right")

    source = opened(people.table.select("id"))
    for target in (tmp_path / "release", tmp_path / "release.csv", f"duckdb://{tmp_path}/x.db#release", postgres.url("wrong")):  # fmt: skip
        with refused(VerificationError, "1000 rows", "none"):
            sent(source, target, check=broken)
    assert not (tmp_path / "release").exists()
    assert not (tmp_path / "release.csv").exists()
    assert remains(tmp_path) == []
    import duckdb

    with duckdb.connect(str(tmp_path / "x.db")) as connection:
        assert connection.execute("SELECT * FROM duckdb_tables()").fetchall() == []
    with postgres.connect() as connection:
        assert connection.execute("SELECT 1 FROM pg_class WHERE relname LIKE 'wrong%'").fetchall() == []


def test_spark_to_a_folder_a_file_and_a_table(spark: Any, tmp_path: Path) -> None:
    frame = spark.createDataFrame([(i, f"x{i % 7}") for i in range(500)], "id long, t string")
    relation = opened(frame)
    expected = Counter((i, f"x{i % 7}") for i in range(500))
    for name in ("release", "release.csv"):
        sent(relation, tmp_path / name)
        assert rows_of(opened(str(tmp_path / name), engine="duckdb")).total() == 500
    assert rows_of(str(tmp_path / "release")) == expected
    sent(opened(frame.limit(5)), "spark:#released")
    with pytest.raises(OutputError, match="already exists"):
        sent(relation, "spark:#released")
    sent(relation, "spark:#released", overwrite=True)
    assert Counter(map(tuple, spark.table("released").collect())) == expected
    assert [each.name for each in spark.catalog.listTables() if "__veil" in each.name] == []
    spark.sql("DROP TABLE released")
    other = opened(str(tmp_path / "release"))
    with refused(OutputError, "only what Spark"):
        sent(other, "spark:#released")


def test_a_connection_to_a_new_file_is_closed_when_nobody_needs_it(tmp_path: Path) -> None:
    backend = backend_of(Database(f"sqlite://{tmp_path}/new.sqlite"), [])
    connection = backend.con
    connection.execute("SELECT 1")
    del backend
    gc.collect()
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        connection.execute("SELECT 1")
