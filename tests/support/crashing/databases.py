"""Tables of databases, one or several, with a report."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

from support.cli import PLAN
from support.crashing.case import command, is_page, overwriting
from support.crashing.engines import OfEngine, write_recipe


class OfDatabase(OfEngine):
    """A table of a database, and a report."""

    targets: ClassVar = {"out/report.html": is_page}
    released: ClassVar = {"published": "6"}
    """Tables by name, and how many rows they get."""

    def url(self, table: str) -> str:
        """The database, or a table of it."""
        raise NotImplementedError

    def ask(self, place: Path) -> dict[str, str]:
        """All tables by name: how many rows they have, or that they are old."""
        raise NotImplementedError

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command(
            "anonymize", "patients.csv", *PLAN, "-o", self.url("published"), "--report", "out/report.html",
            "--engine", "duckdb", "-q", *overwriting(overwrite),
        )  # fmt: skip

    def states(self, place: Path) -> dict[str, str]:
        found = self.ask(place)
        there = {name: found[name] for name in self.released if name in found}
        old = dict.fromkeys(self.released, "old")
        state = "new" if there == self.released else "old" if there == old else "broken" if there else "none"
        return {**super().states(place), "release": state}

    def left(self, place: Path) -> list[str]:
        return super().left(place) + [
            f"table {each}" for each in self.ask(place) if each not in self.released
        ]


class OfDuckDB(OfDatabase):
    """A table in a file of DuckDB."""

    name = "table of DuckDB"
    kept: ClassVar = ("patients.csv", "clinic.db")

    def url(self, table: str) -> str:
        return f"duckdb://clinic.db{'#' if table else ''}{table}"

    def set_up(self, place: Path, old: bool) -> None:
        super().set_up(place, old)
        shutil.copy(self._prepared(place.parent, old), place / "clinic.db")

    def _prepared(self, folder: Path, old: bool) -> Path:
        """Made by another process: DuckDB has threads, and this one forks."""
        made = folder / f"clinic-{old}.db"
        if not made.exists():
            script = f"import duckdb; d = duckdb.connect({str(made)!r}); d.execute('CREATE TABLE other AS SELECT 1 AS n')\n"
            for each in self.released if old else ():
                script += f"d.execute('CREATE TABLE {each} AS SELECT 1 AS old')\n"
            subprocess.run([sys.executable, "-c", script], check=True)
        return made

    def ask(self, place: Path) -> dict[str, str]:
        """In another process, which has imported DuckDB already."""
        found, told = os.pipe()
        process = os.fork()
        if not process:
            with contextlib.suppress(BaseException):
                os.write(told, json.dumps(_tables_of(place / "clinic.db")).encode())
            os._exit(0)
        os.close(told)
        with open(found) as answer:
            tables = dict(json.loads(answer.read()))
        os.waitpid(process, 0)
        return tables


def _tables_of(file: Path) -> dict[str, str]:
    import duckdb

    connection = duckdb.connect(str(file))
    names = [name for (name,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall()]
    tables = {}
    for name in names:
        found = connection.execute(f'FROM "{name}"')
        columns = [column[0] for column in found.description]
        tables[name] = "old" if columns == ["old"] else str(len(found.fetchall()))
    return {name: told for name, told in tables.items() if name != "other"}


class OfServer(OfDatabase):
    """A table of a server, which this process starts and ends."""

    database: Any
    connection: Any
    """One that stays open: to log in takes time."""

    def start(self) -> Any:
        """Start the server; return what a context manager makes of it."""
        raise NotImplementedError

    def open(self) -> Any:
        """Connect as the superuser."""
        raise NotImplementedError

    def run(self, *statements: str) -> None:
        """Run statements as the superuser."""
        cursor = self.connection.cursor()
        for each in statements:
            cursor.execute(each)
        cursor.close()

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """What the superuser sees."""
        cursor = self.connection.cursor()
        cursor.execute(query)
        found = list(cursor.fetchall())
        cursor.close()
        return found

    def disconnect(self) -> None:
        """End what a killed run has left open, so that the next case finds nothing locked."""
        raise NotImplementedError

    def names(self) -> list[str]:
        """List the tables."""
        raise NotImplementedError

    def make_old(self, table: str) -> None:
        """Make a table that is to be replaced."""
        raise NotImplementedError

    def import_all(self) -> None:
        self.stack = contextlib.ExitStack()
        self.database = self.stack.enter_context(self.start())
        self.connection = self.stack.enter_context(contextlib.closing(self.open()))
        super().import_all()

    def end(self) -> None:
        self.stack.close()

    def url(self, table: str) -> str:
        return str(self.database.url(table))

    def set_up(self, place: Path, old: bool) -> None:
        super().set_up(place, old)
        self.disconnect()
        self.run(*(f"DROP TABLE {each}" for each in self.names()))
        for each in self.released if old else ():
            self.make_old(each)

    def ask(self, place: Path) -> dict[str, str]:
        for _ in range(100):
            with contextlib.suppress(
                Exception
            ):  # a server drops or renames a table that a killed run has asked for
                return {each: self._told(each) for each in self.names()}
        raise AssertionError("the tables do not come to rest")

    def _told(self, table: str) -> str:
        columns = self.rows(
            f"SELECT column_name FROM information_schema.columns WHERE table_name = '{table}'"
        )
        return "old" if columns == [("old",)] else str(self.rows(f"SELECT count(*) FROM {table}")[0][0])


class OfPostgres(OfServer):
    """A table of a PostgreSQL server."""

    name = "table of PostgreSQL"

    def start(self) -> Any:
        import ibis.backends.postgres  # noqa: F401

        from support.engines import servers

        @contextlib.contextmanager
        def started() -> Any:
            programs = servers.postgres_programs()
            assert programs is not None
            with servers.postgres_server(programs) as server:
                yield servers.new_database(server)

        return started()

    def disconnect(self) -> None:
        self.run("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'veil'")

    def names(self) -> list[str]:
        return [name for (name,) in self.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")]

    def open(self) -> Any:
        return self.database.connect()

    def make_old(self, table: str) -> None:
        self.run(f"CREATE TABLE {table} AS SELECT 1 AS old", f"ALTER TABLE {table} OWNER TO veil")


class OfMariaDB(OfServer):
    """A table of a MariaDB server, which cannot take back definitions."""

    name = "table of MariaDB"

    def start(self) -> Any:
        import ibis.backends.mysql  # noqa: F401

        from support.engines import servers

        programs = servers.mysql_programs()
        assert programs is not None
        return servers.mysql_server(programs)

    def disconnect(self) -> None:
        open_ones = self.rows("SELECT id FROM information_schema.processlist WHERE user = 'veil'")
        for (each,) in open_ones:
            with contextlib.suppress(Exception):  # ended by itself meanwhile
                self.run(f"KILL {each}")

    def names(self) -> list[str]:
        return [name for (name,) in self.rows("SHOW TABLES")]

    def open(self) -> Any:
        return self.database.connect(database=self.database.database)

    def make_old(self, table: str) -> None:
        self.run(f"CREATE TABLE {table} AS SELECT 1 AS old")


class Several(OfDatabase):
    """Several tables of a database, which appear together."""

    released: ClassVar = {"patients": "6", "visits": "4"}

    def set_up(self, place: Path, old: bool) -> None:
        super().set_up(place, old)
        # A recipe refuses passwords.
        url = urlsplit(self.url(""))
        output = {"url": url._replace(netloc=re.sub(":[^@]*@", "@", url.netloc)).geturl()}
        if url.password is not None:
            os.environ["CLINIC_PASSWORD"] = unquote(url.password)
            output["password_variable"] = "CLINIC_PASSWORD"
        write_recipe(place, json.dumps(output))

    def job(self, place: Path, *, overwrite: bool) -> Callable[[], object]:
        return command("anonymize", "recipe.yaml", "-q", *overwriting(overwrite))

    def left(self, place: Path) -> list[str]:
        return [each for each in super().left(place) if each not in ("visits.csv", "recipe.yaml")]


class SeveralOfDuckDB(Several, OfDuckDB):
    """Several tables in a file of DuckDB."""

    name = "several tables of DuckDB"


class SeveralOfPostgres(Several, OfPostgres):
    """Several tables of a PostgreSQL server."""

    name = "several tables of PostgreSQL"


class SeveralOfMariaDB(Several, OfMariaDB):
    """Several tables of a MariaDB server."""

    name = "several tables of MariaDB"
