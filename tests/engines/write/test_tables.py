"""Tables that are replaced: whose they are, who may read them, what is no table, and what somebody else has locked."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from support.engines.servers import OWNER
from support.refusals import refused
from veil.engines.relation import Relation, relation_of
from veil.engines.write.tables import TableTarget
from veil.engines.write.writing import STANDS, write
from veil.errors import OutputError


@pytest.fixture
def people() -> Relation:
    import ibis

    relation = relation_of(
        ibis.duckdb.connect().create_table("people", pa.table({"id": [1, 2, 3], "sex": ["f", "m", "f"]}))
    )
    assert relation is not None
    return relation


def sent(relation: Relation, target: str, **options: Any) -> None:
    given: dict[str, Any] = {"check": lambda staged: None, "token": "t", "overwrite": True}
    write(relation, lambda rows: rows, target, **given | options)


def staged(postgres: Any, table: str) -> list[str]:
    with postgres.connect() as connection:
        query = f"SELECT tablename FROM pg_tables WHERE tablename LIKE '{table}__veil%'"
        return [name for (name,) in connection.execute(query).fetchall()]


def test_who_may_read_a_table_may_read_the_next_one_on_postgres(people: Relation, postgres: Any) -> None:
    sent(people, postgres.url("shared"))
    postgres.execute(
        'CREATE ROLE "a reader"',
        "CREATE ROLE teller",
        'GRANT SELECT ON shared TO "a reader" WITH GRANT OPTION',
        "GRANT SELECT ON shared TO PUBLIC",
        "GRANT UPDATE (sex) ON shared TO teller",
    )
    rights = (
        "SELECT relacl::text, pg_get_userbyid(relowner), (SELECT array_agg(attname || attacl::text) FROM pg_attribute "
        "WHERE attrelid = pg_class.oid AND attacl IS NOT NULL) FROM pg_class WHERE relname = 'shared'"
    )
    with postgres.connect() as connection:
        before = connection.execute(rights).fetchone()
        sent(people, postgres.url("shared"), token="other")
        after = connection.execute(rights).fetchone()
        assert connection.execute("SELECT count(*) FROM shared").fetchone() == (3,)
    assert before[0] is not None
    assert sorted(after[0].strip("{}").split(",")) == sorted(before[0].strip("{}").split(","))
    assert after[1:] == before[1:]
    assert after[1] == OWNER


def test_a_right_to_a_column_that_is_gone_is_said_on_postgres(people: Relation, postgres: Any) -> None:
    postgres.execute("CREATE TABLE older (id int, town text)", f"ALTER TABLE older OWNER TO {OWNER}")
    postgres.execute("GRANT SELECT (town) ON older TO PUBLIC")
    with refused(OutputError, "SELECT", "'town'"):
        sent(people, postgres.url("older"), resume=False)
    assert staged(postgres, "older") == []


def test_row_level_security_is_not_lost_on_postgres(people: Relation, postgres: Any) -> None:
    postgres.execute("CREATE TABLE guarded (id int)", "ALTER TABLE guarded ENABLE ROW LEVEL SECURITY")
    with refused(OutputError, "row-level security"):
        sent(people, postgres.url("guarded"))


def test_a_view_is_refused_before_the_work_on_postgres(people: Relation, postgres: Any) -> None:
    postgres.execute(
        "CREATE VIEW a_view AS SELECT 1 AS id", "CREATE MATERIALIZED VIEW a_copy AS SELECT 1 AS id"
    )
    for name in ("a_view", "a_copy"):
        with refused(OutputError, f"table {name} of", "a view"):
            sent(people, postgres.url(name), check=lambda _: pytest.fail("there was work"))


def test_a_locked_table_is_said_within_seconds_on_postgres(people: Relation, postgres: Any) -> None:
    sent(people, postgres.url("locked"))
    with postgres.connect() as connection, connection.transaction():
        connection.execute("LOCK TABLE locked IN ACCESS SHARE MODE")
        with refused(OutputError, "table locked of", "else has locked"):
            sent(people, postgres.url("locked"), token="other")
    assert staged(postgres, "locked") == []


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_view_is_refused_before_the_work(
    people: Relation, engine: str, duckdb: Callable[..., str], sqlite: Callable[..., str]
) -> None:
    url = {"duckdb": duckdb, "sqlite": sqlite}[engine](
        "CREATE TABLE t (id int)", "CREATE VIEW seen AS SELECT * FROM t"
    )
    with refused(OutputError, "table seen of", "a view"):
        sent(people, f"{url}#seen", check=lambda _: pytest.fail("there was work"))


def test_a_view_and_a_lock_on_mysql(people: Relation, mysql: Any) -> None:
    mysql.execute("CREATE TABLE busy (id int)", "CREATE VIEW seen AS SELECT * FROM busy")
    with refused(OutputError, "table seen of", "a view"):
        sent(people, mysql.url("seen"))
    connection = mysql.connect(database=mysql.database)
    for statement in ("LOCK TABLES busy WRITE", "LOCK TABLES busy READ", "SELECT * FROM busy"):
        connection.cursor().execute("UNLOCK TABLES")
        connection.autocommit(False)
        connection.cursor().execute(statement)
        with refused(OutputError, "table busy of", "else has locked"):
            sent(people, mysql.url("busy"), check=lambda _: pytest.fail("there was work"))
    connection.close()
    sent(people, mysql.url("busy"))


def test_a_locked_file_of_sqlite_is_said(
    people: Relation, sqlite: Callable[..., str], tmp_path: Path
) -> None:
    url = sqlite("CREATE TABLE t (id int)")
    connection = sqlite3.connect(tmp_path / "clinic.sqlite", isolation_level=None)
    connection.execute("BEGIN EXCLUSIVE")
    with pytest.raises(OutputError, match="locked|in another"):
        sent(people, f"{url}#t")
    connection.close()


@pytest.mark.parametrize("removable", [True, False])
def test_a_stop_while_checking_leaves_nothing_or_says_what(
    people: Relation,
    sqlite: Callable[..., str],
    tmp_path: Path,
    removable: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where nobody can go on from the pieces that are done, nothing of them may stay, unless that is said."""
    url = sqlite("CREATE TABLE t (id int)")

    def stop(_: Any) -> None:
        if not removable:
            monkeypatch.setattr(TableTarget, "abandon", lambda self: 1 / 0)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        sent(people, f"{url}#release", check=stop, resume=False)
    connection = sqlite3.connect(tmp_path / "clinic.sqlite")
    names = {name for (name,) in connection.execute("SELECT name FROM sqlite_master")}
    connection.close()
    notes = getattr(caught.value, "__notes__", [])
    assert (names == {"t"}) is removable
    assert any(STANDS in note and "release__veil_" in note for note in notes) is not removable
