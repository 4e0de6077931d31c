"""Databases that are files, with tables whose rows have ids: the common part of DuckDB and SQLite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from veil.base.paths import usable
from veil.engines.dialects.base import Dialect
from veil.engines.dialects.connections import close_at_the_end, stored_name
from veil.engines.dialects.spans import Chunk, Span, between, ranges
from veil.engines.dialects.urls import UrlParts, file_of, file_parts
from veil.engines.settings import Settings
from veil.errors import InputError

if TYPE_CHECKING:
    import ibis

    from veil.engines.database import Database

_RANGES = 10_000  # at most, even if row ids are sparse


class InFile(Dialect):
    """An engine whose databases are files."""

    takes_short_urls = True

    path_query: ClassVar[str]
    """Query for the file of the open database."""

    divide: ClassVar[str]
    """Operator of integer division."""

    @classmethod
    def split(cls, scheme: str, url: str) -> UrlParts:
        return file_parts(scheme, url, has_schemas=cls.has_schemas)

    @classmethod
    def file_of(cls, url: str) -> Path:
        return file_of(url)

    @classmethod
    def connect(cls, database: Database, secrets: dict[str, str], settings: Settings) -> Any:
        """Open an existing database file; both libraries would create a missing one."""
        file = usable(cls.file_of(database.url))
        if not file.is_file():
            relative = Path(str(file).lstrip("/"))
            scheme = database.url.partition(":")[0]
            hint = (
                f" Did you mean {scheme}://{relative.as_posix()}, with two slashes for a relative path?"
                if file.is_absolute() and relative.is_file()
                else " Check the path"
            )
            raise InputError(f"{file}: no such file.{hint}")
        return cls.open_file(file, settings)

    @classmethod
    def open_file(cls, file: Path, settings: Settings) -> Any:
        """Open an existing file."""
        return close_at_the_end(cls.driver().connect(file))

    @classmethod
    def explain(cls, message: str) -> str | None:
        if "lock" in message:
            return "is open in another process. Close it there, or copy the file"
        if "not a database" in message or "not a valid duckdb" in message or "no magic" in message:
            return f"is not a {cls.name} file. Check the path and the beginning of the URL"
        if "permission" in message or "unable to open" in message:
            return "no permission to read it. Ask its owner, or run as a user who may"
        return None

    def file(self) -> Path | None:
        ((path,),) = self.rows(self.path_query)
        return Path(path) if path else None

    def is_same(self, other: Dialect) -> bool:
        if self.backend.name != other.backend.name:
            return False
        here, there = self.file(), other.file()
        return here is not None and there is not None and here.samefile(there)

    def pieces(self, table: ibis.Table, rows: int) -> list[Chunk] | None:
        name = self.name_with_row_ids(table)
        if name is None:
            return None
        self.checkpoint()
        ((low, high),) = self.rows(f"SELECT min(rowid), max(rowid) FROM {name}")
        if low is None:
            return [Chunk("everything", 0, table)]
        step = max(rows, -(-(high - low + 1) // _RANGES))
        counted = self.rows(
            f"SELECT (rowid - ({low})) {self.divide} {step} AS piece, count(*) FROM {name} GROUP BY 1 ORDER BY 1"
        )
        spans = (Span(low + number * step, count) for number, count in counted)
        row_id = table.rowid()

        def piece(start: int, stop: int | None) -> ibis.Table:
            return between(table, row_id, start, stop)

        return ranges(table, spans, rows, "row ids", piece)

    def checkpoint(self) -> None:
        """Move rows now that would otherwise be moved while others are written."""

    def name_with_row_ids(self, table: ibis.Table) -> str | None:
        """Return the quoted name of a table whose rows have ids; None for anything else."""
        name = stored_name(self.backend, table)
        if name is None or any(column.lower() == "rowid" for column in table.columns):
            return None  # a column of that name hides the row id
        try:
            self.rows(f"SELECT rowid FROM {name} LIMIT 1")
        except Exception:  # a view of DuckDB, or a table of SQLite that was made without row ids
            return None
        return name
