"""Databases by URL: their names, connections and errors.

A password never leaves this module but to the driver. It is taken out of a URL when a `Database` is made, so
that no representation, recipe, manifest or message can hold it; and a driver's message is repeated only if it
does not hold the password either.

DuckDB, SQLite, PostgreSQL, MariaDB and Spark are tested against the real thing. SQL Server is opened through
Ibis in the same way, but without a test on a server; it only stores rows (see `veil.engines.copy`).
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, cast

from pydantic import Field, model_validator

from veil.base.declare import declared
from veil.base.paths import usable
from veil.engines.dialects import Dialect, dialect_of, dialect_of_scheme, import_ibis, schemes
from veil.engines.dialects.connections import within
from veil.engines.dialects.urls import UrlParts
from veil.engines.failures import explain_errors, from_driver, reason
from veil.engines.settings import Settings
from veil.errors import InputError, VeilError, did_you_mean

if TYPE_CHECKING:
    from ibis.backends import BaseBackend
    from ibis.expr.types import Table

_URL = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):(//|#)?")


@declared
class Database:
    """A table of a database, or a place for one.

    The URL may also name the table, behind ``#``. It may hold a password as well, with special characters
    percent-encoded, but that is better kept in an environment variable or where the driver looks for it by
    itself (``PGPASSWORD``, ``~/.pgpass``).

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
        parts = _take_apart(self.url)
        if parts.table is not None and (self.table is not None or self.schema is not None):
            raise ValueError(
                f"`url` of Database names the table {parts.table!r} after #, and so does `table` or "
                "`schema`: leave one out"
            )
        object.__setattr__(self, "url", parts.url)
        object.__setattr__(self, "table", parts.table if self.table is None else self.table)
        object.__setattr__(self, "schema", parts.schema if self.schema is None else self.schema)
        object.__setattr__(self, "_secrets", parts.secrets)
        return self

    def __repr__(self) -> str:
        fields = {name: getattr(self, name) for name in ("url", "table", "schema", "password_variable")}
        inner = ", ".join(f"{name}={value!r}" for name, value in fields.items() if value is not None)
        return f"Database({inner})"

    def __str__(self) -> str:
        table = ".".join(each for each in (self.schema, self.table) if each is not None)
        return f"table {table} of {self.place}" if table else self.place

    @property
    def place(self) -> str:
        """The database without the table, for messages."""
        return self.dialect.place(self.url)

    @property
    def dialect(self) -> type[Dialect]:
        """The dialect of this kind of database."""
        return _dialect(self.url.partition(":")[0])

    @property
    def engine(self) -> str:
        """The name of this kind of database in Ibis."""
        return self.dialect.name

    @property
    def file(self) -> Path | None:
        """The file, if databases of this kind are files."""
        path = self.dialect.file_of(self.url)
        return None if path is None else usable(path)

    def with_table(self, table: str | None, schema: str | None = None) -> Database:
        """Return another table of the same database, with the same password."""
        other = Database(self.url, table, schema, self.password_variable)
        object.__setattr__(other, "_secrets", self.__dict__["_secrets"])
        return other

    @property
    def has_password(self) -> bool:
        """Whether the given URL had a password."""
        return bool(self.__dict__["_secrets"])

    def secrets(self) -> dict[str, str]:
        """Return the arguments that only the driver may see."""
        secrets: dict[str, str] = self.__dict__["_secrets"]
        if self.password_variable is None:
            return secrets
        if (password := os.environ.get(self.password_variable)) is None:
            raise InputError(
                f"{self.url}: the environment variable {self.password_variable} that should hold the password "
                "is not set. Set it, or leave `password_variable` out if the driver finds the password itself"
            )
        return {**secrets, "password": password}


def is_url(text: str) -> bool:
    """Whether a text names a database and not a file.

    >>> is_url("postgres://localhost/clinic"), is_url("spark:#patients"), is_url("C:/patients.csv")
    (True, True, False)
    """
    match = _URL.match(text)
    if match is None or match[2] is not None:
        return match is not None
    dialect = dialect_of_scheme(match[1])
    return dialect is not None and dialect.takes_short_urls


def database_of(place: object) -> Database | None:
    """Return a database, or the one that a text names; None for anything else."""
    if isinstance(place, str) and is_url(place):
        return Database(place)
    return place if isinstance(place, Database) else None


def connect(database: Database, settings: Settings | None = None) -> BaseBackend:
    """Open a database, or raise an `InputError` that explains the fault."""
    import_ibis()
    secrets = database.secrets()
    try:
        return cast("BaseBackend", database.dialect.connect(database, secrets, settings or Settings()))
    except VeilError:
        raise
    except Exception as error:
        if not from_driver(error):
            raise
        why = reason(database, error, secrets)
    # Outside of the handler: the driver's error, which may hold more, is no part of this one.
    raise InputError(f"{database.url}: {why}")


def open_table(backend: BaseBackend, database: Database) -> Table:
    """Return a table of an open database; raise an `InputError` that lists the tables if it is unknown."""
    from ibis.common.exceptions import IbisError, TableNotFound

    dialect = dialect_of(backend)
    with explain_errors(database):
        if database.schema is not None and database.schema not in (schemas := dialect.schemas()):
            raise InputError(
                f"{database.place}: there is no schema {database.schema!r}.{did_you_mean(database.schema, schemas)}"
            )
        tables = dialect.tables(database.schema)
        if database.table is None:
            raise InputError(
                f"{database.place}: no table is named. Add #table to the URL, or give `table`."
                f"{did_you_mean('', sorted(tables)[:20])}"
            )
        try:
            return backend.table(database.table, **within(database.schema))
        except (IbisError, TableNotFound):
            if database.table in tables:
                raise
    raise InputError(
        f"{database.place}: there is no table "
        f"{database.table!r}{f' in schema {database.schema!r}' if database.schema else ''}.{did_you_mean(database.table, sorted(tables)[:20])}"
    )


def _take_apart(url: str) -> UrlParts:
    """Split a URL into what may be shown, the table, and the secrets."""
    scheme, colon, _ = url.partition(":")
    scheme = scheme.lower()
    if not colon:
        raise _unknown("text")
    return _dialect(scheme).split(scheme, url)


def _dialect(scheme: str) -> type[Dialect]:
    dialect = dialect_of_scheme(scheme)
    if dialect is None:
        # Only the scheme of an unreadable text is repeated: the rest may hold a password.
        raise _unknown(scheme if re.fullmatch(r"[a-z0-9+.-]{1,20}", scheme) else "text")
    return dialect


def _unknown(scheme: str) -> ValueError:
    supported = schemes()
    network = scheme in ("s3", "gs", "http", "https", "abfs", "hdfs", "ftp")
    return ValueError(
        f"`url` of Database should begin with one of {', '.join(f'{each}://' for each in supported)}, not with "
        f"{scheme!r}.{did_you_mean(scheme, supported) if not network else ' Copy the files to this machine first'}"
    )
