"""Databases by URL: what they are called, how they are opened, and what goes wrong on the way.

A password never leaves this module but to the driver. It is taken out of a URL when a `Database` is made, so
that no representation, recipe, manifest or message can hold it; and what a driver says is repeated only where
it does not hold the password either.

DuckDB, SQLite, PostgreSQL, MariaDB and Spark are tested against the real thing. SQL Server is opened through Ibis in
the same way, but no test has a server of it; it only stores rows (see `veil.engines.copy`).
"""

from __future__ import annotations

import contextlib
import importlib
import os
import re
import sys
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, cast
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from pydantic import Field, model_validator

from veil.base.declare import declared
from veil.engines.dialects import mssql as sqlserver
from veil.engines.dialects import mysql
from veil.engines.failures import from_driver, reason, told
from veil.engines.settings import Settings
from veil.errors import InputError, MissingDependencyError, VeilError, did_you_mean

if TYPE_CHECKING:
    from ibis.backends import BaseBackend
    from ibis.expr.types import Table

Kind = Literal["duckdb", "sqlite", "postgres", "mysql", "mssql", "pyspark"]

SCHEMES: dict[str, Kind] = {
    "duckdb": "duckdb",
    "sqlite": "sqlite",
    "postgres": "postgres",
    "postgresql": "postgres",
    "mysql": "mysql",
    "mariadb": "mysql",
    "mssql": "mssql",
    "sqlserver": "mssql",
    "spark": "pyspark",
}
_EXTRAS = {"duckdb": "engines", "pyspark": "spark"}
_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):(?://|#|(?<=spark:)|(?<=duckdb:)|(?<=sqlite:))")
_SECRET = re.compile(r"pass|pwd|secret|token|key|credential", re.IGNORECASE)
_TIMEOUT = {"postgres": ("connect_timeout", 10), "mysql": ("connect_timeout", 10), "mssql": ("timeout", 10)}


@declared
class Database:
    """A table of a database, or a place for one.

    The table may also stand in the URL, behind ``#``. A password may stand there as well, with special
    characters percent-encoded, but is better kept in an environment variable or where the driver looks for it
    by itself (``PGPASSWORD``, ``~/.pgpass``).

    >>> Database("postgres://veil:s3cret@db.example.org/clinic#public.patients")
    Database(url='postgres://veil@db.example.org/clinic', table='patients', schema='public')
    """

    url: Annotated[str, Field(description="such as postgres://user@host/database or duckdb:///file.db")]
    table: Annotated[str | None, Field(description="name of the table")] = None
    schema: Annotated[str | None, Field(description="schema that holds it; the default one if not given")] = (
        None
    )
    password_variable: Annotated[
        str | None, Field(description="environment variable that holds the password")
    ] = None
    kind: Literal["Database"] = Field(default="Database", repr=False, kw_only=True)

    @model_validator(mode="after")
    def _check(self) -> Database:
        parts = _taken_apart(self.url)
        if parts.table is not None and (self.table is not None or self.schema is not None):
            raise ValueError(
                f"`url` of Database names the table {parts.table!r} behind #, and `table` or `schema` name it "
                "as well: leave one out"
            )
        object.__setattr__(self, "url", parts.url)
        object.__setattr__(self, "table", parts.table if self.table is None else self.table)
        object.__setattr__(self, "schema", parts.schema if self.schema is None else self.schema)
        object.__setattr__(self, "_secrets", parts.secrets)
        return self

    def __repr__(self) -> str:
        given = {name: getattr(self, name) for name in ("url", "table", "schema", "password_variable")}
        inner = ", ".join(f"{name}={value!r}" for name, value in given.items() if value is not None)
        return f"Database({inner})"

    def __str__(self) -> str:
        table = ".".join(each for each in (self.schema, self.table) if each is not None)
        return f"table {table} of {self.place}" if table else self.place

    @property
    def place(self) -> str:
        """The database without the table, for messages."""
        return "the Spark session" if self.engine == "pyspark" else self.url

    @property
    def engine(self) -> Kind:
        """The name that Ibis has for this kind of database."""
        return SCHEMES[self.url.partition(":")[0]]

    @property
    def file(self) -> Path | None:
        """The file of a DuckDB or SQLite database."""
        if self.engine not in ("duckdb", "sqlite"):
            return None
        path = unquote(self.url.partition(":")[2]).removeprefix("//")
        return Path(path.removeprefix("/") if re.match(r"^/[A-Za-z]:", path) else re.sub("^/+", "/", path))

    def with_table(self, table: str | None, schema: str | None = None) -> Database:
        """Return another table of the same database, with the same password."""
        other = Database(self.url, table, schema, self.password_variable)
        object.__setattr__(other, "_secrets", self.__dict__["_secrets"])
        return other

    @property
    def has_password(self) -> bool:
        """Whether the password stands in the URL that was given."""
        return bool(self.__dict__["_secrets"])

    def secrets(self) -> dict[str, str]:
        """Return what only the driver may see."""
        secrets: dict[str, str] = self.__dict__["_secrets"]
        if self.password_variable is None:
            return secrets
        if (password := os.environ.get(self.password_variable)) is None:
            raise InputError(
                f"{self.url}: the environment variable {self.password_variable} that should hold the password "
                "is not set. Set it, or leave `password_variable` out where the driver finds it by itself"
            )
        return {**secrets, "password": password}


class _Parts(NamedTuple):
    url: str
    table: str | None
    schema: str | None
    secrets: dict[str, str]


def is_url(text: str) -> bool:
    """Whether a text names a database and not a file.

    >>> is_url("postgres://localhost/clinic"), is_url("spark:#patients"), is_url("C:/patients.csv")
    (True, True, False)
    """
    return _URL.match(text) is not None


def database_of(text: str) -> Database | None:
    """Return the database that a text names, or ``None`` if it names a file."""
    return Database(text) if is_url(text) else None


def connect(database: Database, settings: Settings | None = None) -> BaseBackend:
    """Open a database, or raise an `InputError` that says what is wrong with it."""
    ibis = import_ibis()
    kind = database.engine
    if kind == "pyspark":
        raise InputError(
            "spark:#table is read from the running session; a Spark cluster has no URL of its own"
        )
    secrets = database.secrets()
    driver = driver_of(ibis, kind)
    try:
        if database.file is not None:
            return _opened(driver, database, database.file, settings or Settings())
        arguments = {**_arguments(database), **secrets}
        opened = {"mysql": mysql.connected, "mssql": sqlserver.connected}.get(kind)
        return _ours(driver.connect(**arguments) if opened is None else opened(driver, arguments))
    except VeilError:
        raise
    except Exception as error:
        if not from_driver(error):
            raise
        why = reason(database, error, secrets)
    # Outside of the handler: the driver's error, which may hold more, is no part of this one.
    raise InputError(f"{database.url}: {why}")


def open_table(backend: BaseBackend, database: Database) -> Table:
    """Return a table of an open database; an unknown one raises an `InputError` with what there is."""
    from ibis.common.exceptions import IbisError, TableNotFound

    place = {} if database.schema is None else {"database": database.schema}
    with told(database):
        if database.schema is not None and database.schema not in (schemas := _schemas(backend)):
            raise InputError(
                f"{database.place}: there is no schema {database.schema!r}.{did_you_mean(database.schema, schemas)}"
            )
        tables = table_names(backend, place)
        if database.table is None:
            raise InputError(
                f"{database.place}: no table is named. Add #table to the URL, or say `table`."
                f"{did_you_mean('', sorted(tables)[:20])}"
            )
        try:
            return backend.table(database.table, **place)
        except (IbisError, TableNotFound):
            if database.table in tables:
                raise
    raise InputError(
        f"{database.place}: there is no table {database.table!r}"
        f"{f' in schema {database.schema!r}' if database.schema else ''}."
        f"{did_you_mean(database.table, sorted(tables)[:20])}"
    )


# Ibis 12 asks DuckDB 2 for these lists by methods that it no longer has.
def _schemas(backend: Any) -> list[str]:
    if backend.name == "duckdb":
        rows = backend.raw_sql("SELECT DISTINCT schema_name FROM information_schema.schemata").fetchall()
        return [name for (name,) in rows]
    return list(backend.list_databases())


def table_names(backend: Any, place: dict[str, str]) -> list[str]:
    """List the tables and views of a database or schema."""
    if backend.name == "duckdb":
        schema = place.get("database", backend.current_database).replace("'", "''")
        rows = backend.raw_sql(
            f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{schema}'"
        ).fetchall()
        return [name for (name,) in rows]
    return list(backend.list_tables(**place))


def import_ibis() -> Any:
    """Return the module `ibis`, or say how to install it."""
    try:
        return importlib.import_module("ibis")
    except ImportError:
        raise MissingDependencyError(
            "files beyond memory, databases and Spark are read through Ibis, which is not installed: "
            "pip install 'veil-anonymizer[engines]'"
        ) from None


def _taken_apart(url: str) -> _Parts:
    """Split a URL into what may be shown, the table, and the secrets."""
    scheme, colon, rest = url.partition(":")
    scheme = scheme.lower()
    if not colon or scheme not in SCHEMES:
        # Of a text that cannot be read, nothing but the scheme is repeated: the rest may hold a password.
        shown = scheme if colon and re.fullmatch(r"[a-z0-9+.-]{1,20}", scheme) else "text"
        network = shown in ("s3", "gs", "http", "https", "abfs", "hdfs", "ftp")
        raise ValueError(
            f"`url` of Database should begin with one of {', '.join(f'{each}://' for each in SCHEMES)}, not with "
            f"{shown!r}.{did_you_mean(shown, SCHEMES) if not network else ' Copy the files to this machine first'}"
        )
    if SCHEMES[scheme] == "pyspark":
        location, _, fragment = rest.partition("#")
        if location.strip("/"):
            raise ValueError(
                "`url` of Database for Spark should be spark:#table, a table of the running session"
            )
        return _Parts("spark:", *_table(fragment, scheme), {})
    if SCHEMES[scheme] in ("duckdb", "sqlite"):
        location, _, fragment = rest.partition("#")
        if not location.strip("/") or location.strip("/") == ":memory:":
            raise ValueError(f"`url` of Database should name a file: {scheme}:///folder/file.db#table")
        if "?" in location:
            raise ValueError(
                f"`url` of Database ({scheme}:) should name a file and a table, and no options after a question mark. "
                "Open the connection yourself with Ibis, and give its table"
            )
        return _Parts(f"{scheme}:{location}", *_table(fragment, scheme), {})
    return _server(scheme, url)


def _server(scheme: str, url: str) -> _Parts:
    encode = (
        f"`url` of Database ({scheme}://...) cannot be read. It should be {scheme}://user@host:port/database#table; "
        "characters such as / # ? @ : in a password should be percent-encoded, for example %23 for #"
    )
    try:
        split = urlsplit(url)
        port = split.port
    except ValueError:
        raise ValueError(encode) from None
    # A password that is not encoded ends the host too early and leaves its @ behind it.
    if "@" in split.path + split.query + split.fragment or not url[len(scheme) + 1 :].startswith("//"):
        raise ValueError(encode)
    secrets = {"password": unquote(split.password)} if split.password else {}
    options = []
    for name, value in parse_qsl(split.query, keep_blank_values=True):
        if _SECRET.search(name):
            secrets[name] = value
        else:
            options.append((name, value))
    user = "" if not split.username else f"{split.username}@"
    host = split.hostname or ""
    host = f"[{host}]" if ":" in host else host
    place = f"{user}{host}{f':{port}' if port else ''}"
    query = f"?{urlencode(options, quote_via=quote)}" if options else ""
    return _Parts(f"{scheme}://{place}{split.path}{query}", *_table(split.fragment, scheme), secrets)


def _table(fragment: str, scheme: str) -> tuple[str | None, str | None]:
    """Return table and schema; names with a dot are given as `table` and `schema`."""
    if not fragment:
        return None, None
    name = unquote(fragment)
    schema, dot, table = name.partition(".")
    return (table, schema) if dot and SCHEMES[scheme] != "sqlite" else (name, None)


def _arguments(database: Database) -> dict[str, Any]:
    split = urlsplit(database.url)
    arguments: dict[str, Any] = {
        "host": split.hostname,
        "port": split.port,
        "user": unquote(split.username) if split.username else None,
        "database": unquote(split.path.strip("/")) or None,
        **dict(parse_qsl(split.query)),
    }
    name, seconds = _TIMEOUT[database.engine]
    given = str(arguments.get(name, seconds))
    if not given.isdigit():
        raise InputError(f"{database.url}: `{name}` should be a number of seconds, not {given!r}")
    arguments[name] = int(given)
    return {name: value for name, value in arguments.items() if value is not None}


def driver_of(ibis: Any, kind: str) -> Any:
    """Return what connects to a kind of engine, or say what to install."""
    try:
        return getattr(ibis, kind)
    except (ImportError, AttributeError) as error:
        extra = _EXTRAS.get(kind, kind)
        missing = f" ({error.name} is missing)" if isinstance(error, ImportError) and error.name else ""
        raise MissingDependencyError(
            f"the driver for {kind} is not installed{missing}: pip install 'veil-anonymizer[{extra}]'"
        ) from None


def _opened(driver: Any, database: Database, file: Path, settings: Settings) -> BaseBackend:
    """Open a database file that exists; both libraries would make a new one."""
    if not file.is_file():
        relative = Path(str(file).lstrip("/"))
        scheme = database.url.partition(":")[0]
        hint = (
            f" Did you mean {scheme}://{relative.as_posix()}, with two slashes for a relative path?"
            if file.is_absolute() and relative.is_file()
            else " Check the path"
        )
        raise InputError(f"{file}: no such file.{hint}")
    if database.engine == "sqlite":
        return _ours(driver.connect(file))
    try:
        backend = driver.connect(file)
    except Exception:
        # Open for reading elsewhere, or nothing may be written there: reading is all that is needed here.
        backend = driver.connect(file, read_only=True)
    settings.apply(backend)
    return backend


def _ours(backend: Any) -> BaseBackend:
    """Close the connection when nobody needs it any more."""
    weakref.finalize(backend, _close, backend.con)
    return cast("BaseBackend", backend)


def _close(connection: Any) -> None:
    with contextlib.suppress(Exception):  # closed already, or lost
        connection.close()


def active_spark_session() -> Any:
    """Return the Spark session that is running, or raise an `InputError`. None is ever started here."""
    for module in ("pyspark.sql.session", "pyspark.sql.connect.session"):
        loaded = sys.modules.get(module)
        session = loaded.SparkSession.getActiveSession() if loaded is not None else None
        if session is not None:
            return session
    raise InputError(
        "spark:#table is a table of the running Spark session, and none is running in this process. Start one "
        "first (SparkSession.builder.getOrCreate()), or give a DataFrame"
    )
