"""What an engine has written is checked from outside: whatever was tampered with is found, and nothing else."""

from __future__ import annotations

import contextlib
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from support.engines.people import people, plan, records, with_nobody
from veil import hierarchies as h
from veil import models as m
from veil.engines.dialects import collect
from veil.engines.verify import verify_output
from veil.errors import VerificationError
from veil.models.subset import Where
from veil.quality import Loss
from veil.recoding import FastIterative
from veil.report import check_certificate

COUNTS = "every combination of cells occurs as often as it should"
COLUMNS = "the table has the columns of the plan and no others"
MASKED = "identifying column 'name' is masked"
KEPT = plan(["age", "city"], maximum_levels={"age": 0, "city": 0})
GENERALIZED = plan(["age", "city"], minimum_levels={"age": 1})
DROPPED = KEPT | {"suppressed_rows": "drop"}
UNMARKED = KEPT | {"marker": None}
SUBSET = KEPT | {"models": m.KMap(3, subset=Where("smoker = true or city = 'Zürich'"))}

# Ibis 12 puts days into SQLite in a way that Python warns of from 3.12 on.
DATES_BY_IBIS = pytest.mark.filterwarnings("ignore:The default date adapter is deprecated")


def staged(connection: Any, options: dict[str, Any], table: Any = None, *, recode: bool = False) -> Any:
    """Anonymize a table of a database and write the release beside it, as it should be."""
    connection.create_table("people", people() if table is None else table, overwrite=True)
    release = veil.anonymize(connection.table("people"), **options | {"order": "input"})
    if recode:
        release = release.local_recoding(FastIterative(0.05))
    connection.create_table("staged", obj=collect(connection, release.table), overwrite=True)
    return release


def broken(connection: Any, release: Any) -> list[str]:
    found = verify_output(release.outcome, release.outcome.source, connection.table("staged"))
    return [finding.promise for finding in found.findings if not finding.holds]


@pytest.fixture(scope="module")
def connection() -> Any:
    import ibis

    return ibis.duckdb.connect()


@pytest.mark.parametrize(
    ("options", "recode"),
    [
        *((options, False) for options in (KEPT, GENERALIZED, DROPPED, SUBSET, UNMARKED)),
        *((options, True) for options in (KEPT, GENERALIZED, DROPPED, UNMARKED)),
    ],
)
def test_what_is_right_is_found_right(connection: Any, options: dict[str, Any], recode: bool) -> None:
    release = staged(connection, options | ({"quality": Loss(factor=0)} if recode else {}), recode=recode)
    found = verify_output(release.outcome, release.outcome.source, connection.table("staged"))
    assert found.holds, str(found)
    assert {COUNTS, COLUMNS, MASKED} <= {finding.promise for finding in found.findings}


TAMPERING = {
    "a cell is changed": ("UPDATE staged SET age = '[50, 60[' WHERE rowid = 0", [COUNTS]),
    "a cell shows the original": ("UPDATE staged SET age = '99' WHERE rowid = 0", ["3-anonymity", COUNTS]),
    "a cell is emptied": ("UPDATE staged SET city = NULL WHERE rowid = 0", [COUNTS]),
    "a sensitive cell is changed": ("UPDATE staged SET diagnosis = 'plague' WHERE rowid = 3", ["column 'diagnosis' is unchanged"]),
    "a row is missing": ("DELETE FROM staged WHERE rowid = 2", [COUNTS]),
    "a row is there twice": ("INSERT INTO staged SELECT * FROM staged WHERE rowid = 2", [COUNTS]),
    "a name is shown": ("UPDATE staged SET name = 'person 7' WHERE rowid = 7", [MASKED]),
    "a name is missing": ("UPDATE staged SET name = NULL WHERE rowid = 7", [MASKED]),
    "a column that passes is changed": ("UPDATE staged SET cost = 17.5 WHERE rowid = 3", ["column 'cost' is unchanged"]),
    "text that passes is changed": ("UPDATE staged SET note = 'A,b' WHERE note = 'a,b'", ["column 'note' is unchanged"]),
    "a missing cell is filled": ("UPDATE staged SET cost = 0 WHERE cost IS NULL", ["column 'cost' is unchanged"]),
    "there is a column more": ("ALTER TABLE staged ADD COLUMN original BIGINT", [COLUMNS]),
    "there is a column less": ("ALTER TABLE staged DROP COLUMN note", [COLUMNS]),
    "a column has another name": ("ALTER TABLE staged RENAME COLUMN note TO notes", [COLUMNS]),
}  # fmt: skip


@pytest.mark.parametrize("what", TAMPERING)
def test_tampering_is_found(connection: Any, what: str) -> None:
    statement, expected = TAMPERING[what]
    release = staged(connection, GENERALIZED)
    assert broken(connection, release) == []
    connection.raw_sql(statement)
    found = broken(connection, release)
    assert set(expected) <= set(found)
    if expected == [COUNTS]:
        # Rows that pass are counted with the others; no promise is broken that has nothing to do with it.
        assert MASKED not in found
        assert COLUMNS not in found


@pytest.mark.parametrize("options", [DROPPED, SUBSET])
def test_tampering_is_found_where_rows_are_gone(connection: Any, options: dict[str, Any]) -> None:
    release = staged(connection, options)
    assert broken(connection, release) == []
    connection.raw_sql("UPDATE staged SET note = 'plague' WHERE note = 'a,b'")
    assert broken(connection, release) == ["column 'note' is unchanged"]


@DATES_BY_IBIS
def test_tampering_is_found_where_an_engine_knows_no_hashes(tmp_path: Path) -> None:
    """SQLite: columns that pass are compared by their extremes, and the number of different values."""
    import ibis

    connection = ibis.sqlite.connect(tmp_path / "people.sqlite")
    table = people().drop_columns(["fee", "seen"])
    connection.create_table("people", table)
    release = veil.anonymize(connection.table("people"), **GENERALIZED)
    connection.create_table("staged", obj=release.table)
    assert broken(connection, release) == []
    for statement, name in (
        ("UPDATE staged SET cost = 1234.5 WHERE cost = 1.25", "cost"),
        ("UPDATE staged SET note = 'ab' WHERE note = ''", "note"),
        ("UPDATE staged SET born = '1980-01-01' WHERE born < '1980-01-01'", "born"),
    ):
        connection.raw_sql(statement)
        assert f"column {name!r} is unchanged" in broken(connection, release)
    connection.disconnect()


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE staged SET suppressed = NOT suppressed WHERE rowid = 0",
        "UPDATE staged SET age = 31 WHERE suppressed",
    ],
)
def test_a_false_flag_is_found(connection: Any, statement: str) -> None:
    release = staged(connection, KEPT, with_nobody())
    assert release.outcome.flag == "suppressed"
    connection.raw_sql(statement)
    assert COUNTS in broken(connection, release)


def test_a_record_outside_the_research_subset_is_found(connection: Any) -> None:
    release = staged(connection, SUBSET)
    connection.raw_sql("UPDATE staged SET city = 'Šiauliai' WHERE city = 'Zürich'")
    assert COUNTS in broken(connection, release)


def test_one_cell_of_a_recoded_part_is_found(connection: Any) -> None:
    release = staged(connection, KEPT | {"quality": Loss(factor=0), "maximum_levels": {}}, recode=True)
    assert len(release.passes) > 1
    connection.raw_sql(
        "UPDATE staged SET age = '[30, 50[' WHERE rowid = (SELECT min(rowid) FROM staged WHERE age = '31')"
    )
    assert COUNTS in broken(connection, release)


# --- between condensing and writing -------------------------------------------------------------------

CHANGES = {
    "a new value": "INSERT INTO people SELECT * REPLACE (999 AS age) FROM people WHERE rowid = 0",
    "a new combination of known values": "INSERT INTO people SELECT * REPLACE (70 AS age) FROM people WHERE rowid = 0",
    "one record more": "INSERT INTO people SELECT * FROM people WHERE rowid = 0",
    "one record less": "DELETE FROM people WHERE rowid = 0",
    "another value": "UPDATE people SET age = 72 WHERE age = 71",
    "a missing value where there was none": "UPDATE people SET city = NULL WHERE city = '*'",
}


@pytest.mark.slow
@pytest.mark.parametrize("options", [KEPT, GENERALIZED, DROPPED])
@pytest.mark.parametrize("change", CHANGES)
def test_a_source_that_changed_after_it_was_read_is_withheld(
    connection: Any, tmp_path: Path, change: str, options: dict[str, Any]
) -> None:
    connection.create_table("people", people(), overwrite=True)
    release = veil.anonymize(connection.table("people"), **options)
    connection.raw_sql(CHANGES[change])
    target = tmp_path / "release.parquet"
    refused = None
    try:
        release.save(target)
    except VerificationError as error:
        refused = str(error)
    if refused is not None:
        assert "withheld" in refused
        assert not list(tmp_path.iterdir())
        return
    # Rows that are suppressed anyway may change: what is written is what was decided.
    assert options is not GENERALIZED
    memory = veil.anonymize(people(), **options).arrow
    assert records(pq.read_table(target).select(memory.column_names)) == records(memory)


# --- what is written ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("options", [KEPT, GENERALIZED, DROPPED, SUBSET])
@pytest.mark.parametrize("name", ["release.parquet", "release", "release.csv"])
def test_what_is_saved_is_what_memory_makes(
    connection: Any, tmp_path: Path, options: dict[str, Any], name: str
) -> None:
    connection.create_table("people", people(), overwrite=True)
    release = veil.anonymize(connection.table("people"), **options)
    release.save(str(tmp_path / name))
    memory = veil.anonymize(people(), **options)
    memory.save(tmp_path / f"memory{Path(name).suffix or '.parquet'}")
    read = veil.tables.read if name.endswith(".csv") else pq.read_table
    written, expected = read(tmp_path / name), read(next(tmp_path.glob("memory*")))
    if name.endswith(".csv"):
        written, expected = written.table, expected.table
    assert records(written.select(expected.column_names)) == records(expected)


def test_what_is_saved_as_text_passes_the_check(tmp_path: Path, connection: Any) -> None:
    source = tmp_path / "people.csv"
    rows = ["31,02139,a", "31,02139,b", "31,02139,", "72,02140,c", "72.0,02140,d"]
    source.write_text("age,zip,note\n" + "\n".join(rows) + "\n")
    options = plan(sensitive=[], identifying={}) | {
        "quasi_identifiers": {"age": "suppression", "zip": "suppression"},
        "models": m.KAnonymity(2),
        "suppression_limit": 0.0,
    }
    release = veil.anonymize(str(source), engine="duckdb", **options)
    release.save(tmp_path / "release.csv")
    memory = veil.anonymize(str(source), engine="memory", **options)
    memory.save(tmp_path / "memory.csv")
    held, expected = (veil.tables.read(tmp_path / each).table for each in ("release.csv", "memory.csv"))
    assert records(held) == records(expected)
    assert release.transformation == memory.transformation


def test_a_release_without_rows_is_written(connection: Any, tmp_path: Path) -> None:
    """Everything is suppressed, and suppressed rows go."""
    connection.create_table("people", people(), overwrite=True)
    release = veil.anonymize(connection.table("people"), **DROPPED | {"models": m.KAnonymity(20)})
    release.save(tmp_path / "release.parquet")
    written = pq.read_table(tmp_path / "release.parquet")
    assert written.num_rows == 0
    memory = veil.anonymize(people(), **DROPPED | {"models": m.KAnonymity(20)}).arrow
    assert sorted(written.column_names) == sorted(memory.column_names)


def test_labels_that_look_like_numbers_are_what_they_are(tmp_path: Path) -> None:
    """Text of a file is read as numbers where it looks so; labels that the release has put there are not."""
    source = tmp_path / "people.csv"
    source.write_text("zip,note\n" + "\n".join(["a,1", "b,2", "c,3", "d,4"]) + "\n")
    hierarchy = h.table([["a", "1.50"], ["b", "1.50"], ["c", "2.5"], ["d", "2.5"]])
    release = veil.anonymize(
        str(source),
        engine="duckdb",
        quasi_identifiers={"zip": hierarchy},
        models=m.KAnonymity(2),
        others="keep",
        progress=False,
    )
    release.save(tmp_path / "release.parquet")
    assert sorted(pq.read_table(tmp_path / "release.parquet")["zip"].to_pylist()) == [
        "1.50",
        "1.50",
        "2.5",
        "2.5",
    ]


@DATES_BY_IBIS
@pytest.mark.parametrize("suffix", [".parquet", ".csv"])
@pytest.mark.parametrize("options", [KEPT, GENERALIZED])
def test_sqlite_and_postgres_write_files_that_pass(
    postgres: Any, tmp_path: Path, options: dict[str, Any], suffix: str
) -> None:
    """The rows go from one engine to another, where no hashes can be compared."""
    import ibis

    for name, connection in (
        ("sqlite", ibis.sqlite.connect(tmp_path / "people.sqlite")),
        ("postgres", ibis.connect(postgres.url())),
    ):
        with contextlib.closing(connection.con):
            table = people().drop_columns(["fee", "seen"]) if name == "sqlite" else people()
            connection.create_table("people", table, overwrite=True)
            veil.anonymize(connection.table("people"), **options).save(tmp_path / f"{name}{suffix}")
        veil.anonymize(table, **options).save(tmp_path / f"memory{suffix}", overwrite=True)
        written, expected = (
            veil.tables.read(tmp_path / f"{each}{suffix}").table for each in (name, "memory")
        )
        assert records(written.select(expected.column_names)) == records(expected)


# --- by those who get it, with its certificate -----------------------------------------------------

CERTIFIED = {
    "nothing": ("SELECT 1", []),
    "a row is gone": ("DELETE FROM staged WHERE rowid = 0", ["the table has 20 rows"]),
    "a name is told": (
        "UPDATE staged SET name = 'person 3' WHERE rowid = (SELECT min(rowid) FROM staged WHERE diagnosis <> '*')",
        [MASKED],
    ),
    "a column is added": (
        "ALTER TABLE staged ADD COLUMN phone TEXT",
        ["the table has the certified columns and no others"],
    ),
    "a column is gone": (
        "ALTER TABLE staged DROP COLUMN city",
        ["the table has the certified columns and no others", "the quasi-identifiers are there"],
    ),
    "a cell is told": ("UPDATE staged SET age = '99' WHERE rowid = 0", ["3-anonymity"]),
}


@pytest.mark.parametrize("tampering", CERTIFIED)
@pytest.mark.parametrize("options", [KEPT, GENERALIZED])
def test_a_certificate_is_checked_on_what_an_engine_holds(
    connection: Any, tmp_path: Path, options: dict[str, Any], tampering: str
) -> None:
    statement, expected = CERTIFIED[tampering]
    release = staged(connection, options)
    release.certificate(tmp_path / "certificate.json")
    connection.raw_sql(statement)
    table = connection.table("staged")
    for published in (table, collect(connection, table)):
        found = check_certificate(tmp_path / "certificate.json", published)
        assert [finding.promise for finding in found.findings if not finding.holds] == expected, str(found)


def test_a_certificate_names_the_flag_that_the_engine_writes(connection: Any, tmp_path: Path) -> None:
    """A column that no promise is about has the usual name of the flag, and must not be taken for it."""
    taken = with_nobody(suppressed=[False] * 20)
    connection.create_table("people", taken, overwrite=True)
    release = veil.anonymize(connection.table("people"), **KEPT)
    assert release.outcome.flag == "suppressed"
    connection.create_table("staged", obj=collect(connection, release.table), overwrite=True)
    release.certificate(tmp_path / "certificate.json")
    found = check_certificate(tmp_path / "certificate.json", connection.table("staged"))
    assert found.holds, str(found)
    assert "3-anonymity" in str(found)
    assert '"flag": "veil_suppressed"' in (tmp_path / "certificate.json").read_text()


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_times_in_seconds_are_as_they_were(ending: str, tmp_path: Path) -> None:
    """DuckDB has a type for them, and files have none: a right release was withheld as changed."""
    import ibis

    seen = pa.array([0, 86_400, None, 7] * 3, pa.timestamp("s"))
    held = ibis.duckdb.connect().create_table("people", pa.table({"sex": ["f"] * 12, "seen": seen}))
    release = veil.anonymize(
        held, quasi_identifiers={"sex": "suppression"}, insensitive=["seen"], models=[m.KAnonymity(2)]
    )
    release.save(tmp_path / f"out.{ending}")
    found = veil.tables.read(tmp_path / f"out.{ending}").table["seen"].cast(pa.timestamp("s")).to_pylist()
    assert Counter(found) == Counter(seen.to_pylist())
