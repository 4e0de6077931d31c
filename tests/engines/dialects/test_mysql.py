"""MariaDB, whose collations take different texts for equal, which Veil must never do."""

from __future__ import annotations

import dataclasses
import datetime as dt
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from support.engines.answers import LEVELS, RECODING, TRAPS, WAYS, Holder, all_types, compared, recoded
from support.engines.people import TYPED, people, plan, records, with_nobody, without_nan
from support.engines.servers import MySQL
from support.refusals import refused
from veil import hierarchies as h
from veil import models as m
from veil.base.randomness import Randomness
from veil.engines import relation_of
from veil.engines.condense import condense
from veil.engines.database import Database, connect
from veil.engines.dialects import collect
from veil.engines.random_sample import draw_rows
from veil.errors import InputError, OutputError, VerificationError

# --- the same answer as from everywhere ---------------------------------------------------------------


@pytest.mark.parametrize("generalized", [(), ("age", "height", "born", "seen", "fee")])
def test_every_type(in_mysql: Holder, generalized: tuple[str, ...]) -> None:
    held, _ = compared(in_mysql, people(), all_types(*generalized))
    assert 0 < held.suppressed < held.records


@pytest.mark.parametrize("way", list(WAYS))
def test_every_way_to_release(in_mysql: Holder, way: str) -> None:
    further, changes = WAYS[way]
    compared(in_mysql, people(**further), plan(["age", "city"], **changes))


@pytest.mark.parametrize("changes", [{}, {"suppressed_rows": "drop"}])
def test_local_recoding(in_mysql: Holder, changes: dict[str, Any]) -> None:
    assert recoded(in_mysql, people(**TRAPS), plan(["age", "city"], **RECODING | changes)).passes


# --- texts that look alike ----------------------------------------------------------------------------

ALIKE = ["a", "A", "a ", " a", "á", "", " ", "straße", "strasse", "😀", "🙈", "\\", "'", "%s", None]


@pytest.mark.parametrize("collation", ["utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_bin"])
def test_texts_are_told_apart(mysql: MySQL, tmp_path: Path, collation: str) -> None:
    character_set = collation.partition("_")[0]
    mysql.execute(
        "DROP TABLE IF EXISTS alike, shown",
        f"CREATE TABLE alike (word VARCHAR(20) CHARACTER SET {character_set} COLLATE {collation}, note TEXT)",
    )
    table = pa.table({"word": [word for word in ALIKE for _ in range(2)], "note": ["é"] * 2 * len(ALIKE)})
    insert(mysql, "alike", table)
    found = condense(relation_of(mysql.url("alike")), ["word"])  # type: ignore[arg-type]
    assert sorted(found.table["word"].to_pylist(), key=str) == sorted(ALIKE, key=str)
    assert found.weights.tolist() == [2] * len(ALIKE)
    options: dict[str, Any] = {
        "quasi_identifiers": {"word": h.suppression()},
        "models": m.KAnonymity(2),
        "maximum_levels": {"word": 0},
        "others": "keep",
        "progress": False,
    }
    memory = veil.anonymize(table, **options)
    held = veil.anonymize(mysql.url("alike"), **options)
    assert (held.classes, held.suppressed) == (memory.classes, memory.suppressed)
    held.save(tmp_path / "shown.parquet")
    assert records(pq.read_table(tmp_path / "shown.parquet")) == records(memory.arrow)
    held.save(mysql.url("shown"))
    rows = mysql.rows("SELECT word, note FROM shown")
    assert sorted(rows, key=str) == sorted(zip(*table.to_pydict().values(), strict=True), key=str)


def test_a_class_of_two_spellings_is_two_classes(mysql: MySQL) -> None:
    """The server would count three records of one class, of which two are alone."""
    mysql.execute("DROP TABLE IF EXISTS spelled", "CREATE TABLE spelled (name VARCHAR(9), age INT)")
    insert(mysql, "spelled", pa.table({"name": ["Ann", "ann", "ANN "], "age": [1, 1, 1]}))
    assert len(mysql.rows("SELECT name FROM spelled GROUP BY name")) == 1
    found = veil.assess(mysql.url("spelled"), quasi_identifiers=["name", "age"])
    spelled = pa.table({"name": ["Ann", "ann", "ANN "], "age": [1, 1, 1]})
    assert found == veil.assess(spelled, quasi_identifiers=["name", "age"])


def test_a_column_of_another_character_set(mysql: MySQL) -> None:
    mysql.execute("DROP TABLE IF EXISTS old", "CREATE TABLE old (city VARCHAR(9) CHARACTER SET latin1)")
    insert(mysql, "old", pa.table({"city": ["Zürich", "Zurich", "zürich", "Zürich"]}))
    found = condense(relation_of(mysql.url("old")), ["city"])  # type: ignore[arg-type]
    assert dict(zip(found.table["city"].to_pylist(), found.weights.tolist(), strict=True)) == {
        "Zurich": 1,
        "Zürich": 2,
        "zürich": 1,
    }


def test_long_texts_are_compared_in_full_or_not_at_all(mysql: MySQL) -> None:
    mysql.execute("DROP TABLE IF EXISTS essays", "CREATE TABLE essays (text LONGTEXT)")
    insert(mysql, "essays", pa.table({"text": ["x" * 1023, "x" * 1022 + "y"]}))
    essays: Any = relation_of(mysql.url("essays"))
    assert condense(essays, ["text"]).weights.tolist() == [1, 1]
    insert(mysql, "essays", pa.table({"text": ["x" * 3000 + "1", "x" * 3000 + "2"]}))
    with refused(InputError, "'text'", "3001 bytes", "first 1024"):
        condense(essays, ["text"])


# --- types --------------------------------------------------------------------------------------------


def test_types_of_a_table_by_url(mysql: MySQL, tmp_path: Path) -> None:
    mysql.execute(
        "DROP TABLE IF EXISTS typed",
        "CREATE TABLE typed (small TINYINT(1), bits BIT(3), big BIGINT, huge BIGINT UNSIGNED, short FLOAT, "
        "fee DECIMAL(30, 12), seen DATETIME(6), stored TIMESTAMP NULL, born DATE, kind ENUM('a', 'B'), noon TIME)",
        "INSERT INTO typed VALUES (1, b'101', -9223372036854775808, 18446744073709551615, 0.1, 1.000000000001, "
        "'2024-01-02 03:04:05.000001', '2024-01-02 03:04:05', '0999-12-31', 'a', '12:00:00')",
        "INSERT INTO typed SELECT * FROM typed",
        "INSERT INTO typed VALUES (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)",
    )
    names = ["small", "bits", "big", "huge", "short", "fee", "seen", "stored", "born", "kind"]
    relation: Any = relation_of(mysql.url("typed"))
    found = condense(relation, names)
    assert found.weights.tolist() == [2, 1]
    row = found.table.to_pylist()[0]
    assert row["short"] == pytest.approx(0.1, abs=1e-7)
    assert row["stored"].utcoffset() == dt.timedelta(0)
    assert row | {"short": None, "stored": None} == {
        "small": 1,
        "bits": 5,
        "big": -(2**63),
        "huge": 2**64 - 1,
        "short": None,
        "fee": Decimal("1.000000000001"),
        "seen": dt.datetime(2024, 1, 2, 3, 4, 5, 1),
        "stored": None,
        "born": dt.date(999, 12, 31),
        "kind": "a",
    }
    release = veil.anonymize(
        mysql.url("typed"),
        quasi_identifiers={name: h.suppression() for name in names},
        models=m.KAnonymity(2),
        suppression_limit=1.0,
        maximum_levels=dict.fromkeys(names, 0),
        others="keep",
        progress=False,
    )
    assert release.suppressed == 1
    release.save(tmp_path / "typed.parquet")
    written = pq.read_table(tmp_path / "typed.parquet")
    assert written.filter(pa.compute.is_valid(written["big"])).num_rows == 2
    assert set(written["noon"].to_pylist()) == {dt.time(12), None}
    mysql.execute("DROP TABLE IF EXISTS shown")
    release.save(mysql.url("shown"))
    columns = ", ".join("bits + 0" if name == "bits" else name for name in [*names, "noon"])
    there = f"SELECT {columns} FROM {{}} WHERE big IS NOT NULL"
    assert mysql.rows(there.format("shown")) == mysql.rows(there.format("typed"))


def test_a_date_that_is_none_is_not_taken_for_a_missing_one(mysql: MySQL) -> None:
    mysql.execute(
        "DROP TABLE IF EXISTS dated",
        "CREATE TABLE dated (born DATE)",
        "SET sql_mode = ''",
        "INSERT INTO dated VALUES ('0000-00-00'), (NULL)",
    )
    with refused(InputError, "'born'", "0000-00-00", "type date"):
        condense(relation_of(mysql.url("dated")), ["born"])  # type: ignore[arg-type]


# --- writing ------------------------------------------------------------------------------------------


def test_a_table_is_exchanged_in_one_step(in_mysql: Holder, mysql: MySQL) -> None:
    mysql.execute("DROP TABLE IF EXISTS shown")
    in_mysql(people())
    options = plan(["age", "city"], **LEVELS)
    release = veil.anonymize(mysql.url("people"), **options)
    release.save(mysql.url("shown"))
    with pytest.raises(OutputError, match="shown"):
        release.save(mysql.url("shown"))
    mysql.execute("CREATE TABLE shown__veil_0123456789ab_old (x INT)")  # what a killed run may leave
    release.save(mysql.url("shown"), overwrite=True)
    tables = [name for (name,) in mysql.rows("SHOW TABLES") if name.startswith("shown")]
    assert tables == ["shown"]
    written = collect(relation_of(mysql.url("shown")).backend, relation_of(mysql.url("shown")).table)  # type: ignore[union-attr]
    assert written.num_rows == 20
    memory = veil.anonymize(pa.Table.from_pylist(without_nan(people()), people().schema), **options)
    names = [name for name in memory.arrow.column_names if name not in ("smoker", "suppressed")]
    assert records(written.select(names)) == records(memory.arrow.select(names))


def test_the_source_is_not_written_over(in_mysql: Holder, mysql: MySQL) -> None:
    in_mysql(people())
    release = veil.anonymize(mysql.url("people"), **plan(["age", "city"]))
    host = mysql.url("people").replace("127.0.0.1", "localhost")
    for target in (mysql.url("people"), host, mysql.url("clinic.people")):
        with refused(OutputError, "is the input"):
            release.save(target, overwrite=True)


def test_what_was_changed_in_staging_is_not_published(
    in_mysql: Holder, mysql: MySQL, monkeypatch: Any
) -> None:
    from veil.engines.write.tables import TableTarget

    mysql.execute("DROP TABLE IF EXISTS shown")
    in_mysql(people())
    release = veil.anonymize(
        mysql.url("people"), **plan(["age", "city"], maximum_levels={"age": 0, "city": 0})
    )
    staged = TableTarget.staged_rows

    def tampered(self: TableTarget) -> Any:
        mysql.execute(f"UPDATE `{self.temporary}` SET city = 'ZÜRICH ' WHERE city = 'Zürich' LIMIT 1")
        return staged(self)

    monkeypatch.setattr(TableTarget, "staged_rows", tampered)
    with refused(VerificationError, "every combination"):
        release.save(mysql.url("shown"))
    assert not mysql.rows("SHOW TABLES LIKE 'shown%'")


def test_what_a_killed_run_left_is_gone_on_with_or_removed(
    in_mysql: Holder, mysql: MySQL, monkeypatch: Any
) -> None:
    from veil.engines.write.tables import TableTarget

    mysql.execute("DROP TABLE IF EXISTS shown")
    in_mysql(people())
    release = veil.anonymize(mysql.url("people"), **plan(["age", "city"], **LEVELS))

    def killed(self: TableTarget) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as context:
        context.setattr(TableTarget, "commit", killed)
        with pytest.raises(KeyboardInterrupt):
            release.save(mysql.url("shown"))
    assert not mysql.rows("SHOW TABLES LIKE 'shown'")
    again = veil.anonymize(mysql.url("people"), **plan(["age", "city"], **LEVELS))
    again.save(mysql.url("shown"))
    assert [name for (name,) in mysql.rows("SHOW TABLES") if name.startswith("shown")] == ["shown"]
    assert mysql.rows("SELECT COUNT(*) FROM shown") == [(20,)]


def test_from_files_to_mysql(mysql: MySQL, tmp_path: Path) -> None:
    mysql.execute("DROP TABLE IF EXISTS shown")
    pq.write_table(people(), tmp_path / "people.parquet")
    options = plan(TYPED, maximum_levels=dict.fromkeys(TYPED, 0))
    release = veil.anonymize(tmp_path / "people.parquet", engine="duckdb", **options)
    release.save(mysql.url("shown"))
    assert mysql.rows("SELECT COUNT(*) FROM shown") == [(20,)]


def test_a_release_is_verified_where_it_is(in_mysql: Holder, mysql: MySQL) -> None:
    """MySQL has no truth values, and yet its flag shows which rows are suppressed."""
    mysql.execute("DROP TABLE IF EXISTS shown")
    in_mysql(with_nobody())
    release = veil.anonymize(mysql.url("people"), **plan(["age", "city"], **LEVELS))
    assert release.outcome.flag is not None
    release.save(mysql.url("shown"))
    assert veil.verify(mysql.url("shown"), release.plan).holds
    stricter = dataclasses.replace(release.plan, models=m.KAnonymity(5))
    assert not veil.verify(mysql.url("shown"), stricter).holds


# --- samples, connections -----------------------------------------------------------------------------


def test_a_sample(mysql: MySQL) -> None:
    mysql.execute(
        "DROP TABLE IF EXISTS many", "CREATE TABLE many (number INT, word TEXT CHARACTER SET utf8mb4)"
    )
    insert(mysql, "many", pa.table({"number": range(2000), "word": ["😀"] * 2000}))
    some = draw_rows(relation_of(mysql.url("many")), Fraction(1, 4), Randomness.for_testing(1))  # type: ignore[arg-type]
    drawn = collect(some.backend, some.table)
    numbers = drawn["number"].to_pylist()
    assert len(set(numbers)) == len(numbers)
    assert 400 < len(numbers) < 600
    assert numbers != sorted(numbers)
    assert set(drawn["word"].to_pylist()) == {"😀"}


def test_a_connection_that_cannot_write_all_texts(in_mysql: Holder, mysql: MySQL) -> None:
    in_mysql(people())
    connection: Any = connect(Database(mysql.url() + "?charset=latin1"))
    with pytest.raises(InputError, match='uses latin1.*charset="utf8mb4"'):
        condense(relation_of(connection.table("people")), ["city"])  # type: ignore[arg-type]


def test_a_wrong_password(mysql: MySQL) -> None:
    with refused(InputError, "user and password") as caught:
        relation_of(mysql.url("people", password="s3cret"))
    assert "s3cret" not in str(caught.value)


def insert(mysql: MySQL, name: str, table: pa.Table) -> None:
    connection = mysql.connect(database=mysql.database)
    marks = ", ".join(["%s"] * table.num_columns)
    with connection.cursor() as cursor:
        rows = list(zip(*table.to_pydict().values(), strict=True))
        cursor.executemany(f"INSERT INTO {name} VALUES ({marks})", rows)
    connection.close()
