"""Differences of Spark: a running session, DataFrames in and out, and no transactions."""

from __future__ import annotations

import contextlib
import secrets
import sys
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from veil.engines.dialects.base import ROWS, Adopted, Dialect, register
from veil.engines.dialects.urls import UrlParts, table_and_schema
from veil.engines.settings import Settings
from veil.errors import InputError, OutputError
from veil.tables.frames import check_names

if TYPE_CHECKING:
    import ibis

    from veil.engines.database import Database

_EXACT = "UTF8_BINARY"
"""The collation that distinguishes all texts."""


@register
class Spark(Dialect):
    """The running Spark session of this process, also by Spark Connect."""

    name = "pyspark"
    schemes = ("spark",)
    takes_short_urls = True
    extra = "spark"
    drivers = frozenset({"pyspark", "py4j"})
    copying = "if asked"
    why_not_copied = (
        "what Spark holds is not brought over. Leave `bring_over` out, or write it as Parquet files, and give their "
        "folder"
    )
    own_rows_only = (
        "only what Spark holds can be written to its tables. Write a Parquet folder, and read it with "
        "spark.read.parquet"
    )
    transaction = None

    @classmethod
    def split(cls, scheme: str, url: str) -> UrlParts:
        location, _, fragment = url.partition(":")[2].partition("#")
        if location.strip("/"):
            raise ValueError(
                "`url` of Database for Spark should be spark:#table, a table of the running session"
            )
        return UrlParts("spark:", *table_and_schema(fragment), {})

    @classmethod
    def place(cls, url: str) -> str:
        return "the Spark session"

    @classmethod
    def connect(cls, database: Database, secrets: dict[str, str], settings: Settings) -> Any:
        return cls._connect_to(_active_session())

    @classmethod
    def _connect_to(cls, session: Any) -> Any:
        """Connect to a session of the user, and restore the settings that Ibis changes."""
        changed = ("spark.sql.session.timeZone", "spark.sql.mapKeyDedupPolicy")
        before = {name: session.conf.get(name) for name in changed}
        backend = cls.driver().connect(session)
        for name, value in before.items():
            session.conf.set(name, value)
        return backend

    # --- read -----------------------------------------------------------------------------------------

    @classmethod
    def adopt(cls, frame: Any) -> Adopted | None:
        """Return a Spark DataFrame as a table."""
        if not _is_frame(frame):
            return None
        if frame.isStreaming:
            raise InputError("the Spark DataFrame is a stream, which has no end. Use a batch DataFrame")
        check_names(frame.columns)
        session = frame.sparkSession
        backend = cls._connect_to(session)
        view = f"veil_{secrets.token_hex(8)}"
        frame.createOrReplaceTempView(view)
        if not _is_remote(session):
            # Expressions on the view no longer need it; a plan of Spark Connect looks it up each time.
            weakref.finalize(backend, _drop_view, session, view).atexit = False
        return Adopted(backend.table(view), backend, "the Spark DataFrame")

    def restore(self, expression: ibis.Table) -> Any:
        """Return an expression as a DataFrame of the session that has its tables."""
        self.backend._run_pre_execute_hooks(expression)
        return self.backend._session.sql(self.backend.compile(expression))

    def batches(self, expression: ibis.Table, rows: int = ROWS) -> pa.RecordBatchReader:
        # By way of pandas, as in Ibis, integers with a missing value would become floats.
        table = self.restore(expression).toArrow()
        return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=rows))

    # --- compare, sample ------------------------------------------------------------------------------

    def collated(self, table: ibis.Table, texts: Sequence[str]) -> set[str]:
        fields = self.restore(table.select(texts)).schema.fields
        return {each.name for each in fields if getattr(each.dataType, "collation", _EXACT) != _EXACT}

    def as_released(self, column: Any) -> Any:
        """Keep float32, which Spark widens because of the zero."""
        value = super().as_released(column)
        return value.cast("float64").cast("float32") if column.type().is_float32() else value

    def row_number(self) -> Any:
        import ibis

        # A window over everything would put all rows into one partition.
        return ibis.udf.scalar.builtin(_monotonically_increasing_id, name="monotonically_increasing_id")()

    def keep(self, rows: ibis.Table, pieces: int | None = None) -> ibis.Table:
        name = f"veil_sample_{secrets.token_hex(6)}"
        # Row numbers may differ if Spark computes them again; after the checkpoint it has no reason to.
        frame = self.restore(rows)
        frame = frame if pieces is None else frame.coalesce(pieces)
        frame.localCheckpoint().createOrReplaceTempView(name)
        return self.backend.table(name)

    # --- write ----------------------------------------------------------------------------------------

    def write_parquet(self, rows: ibis.Table, place: Path, name: str, most: int | None = None) -> list[Path]:
        """Let the workers write a folder, each its part."""
        self.backend.to_parquet(rows, place.as_uri(), mode="overwrite", compression="zstd")
        if not (place / "_SUCCESS").exists():
            raise OutputError(
                f"{name}: Spark's workers wrote to a disk that this machine does not see. Choose a folder "
                "that all of them share, or write to a table (spark:#name)"
            )
        return sorted(place.glob("part-*.parquet"))

    def read_parquet(self, folder: Path, files: Sequence[Path]) -> ibis.Table:
        return self.backend.read_parquet(folder.as_uri())

    def rename(self, old: str, new: str, schema: str | None) -> str:
        return f"ALTER TABLE {self.quote(schema, old)} RENAME TO {self.quote(schema, new)}"


def _active_session() -> Any:
    """Return the running Spark session, or raise an `InputError`. None is ever started here."""
    for module in ("pyspark.sql.session", "pyspark.sql.connect.session"):
        loaded = sys.modules.get(module)
        session = loaded.SparkSession.getActiveSession() if loaded is not None else None
        if session is not None:
            return session
    raise InputError(
        "spark:#table is a table of the running Spark session, and none is running in this process. Start one "
        "first (SparkSession.builder.getOrCreate()), or pass a DataFrame"
    )


def _is_frame(source: Any) -> bool:
    loaded = sys.modules.get("pyspark.sql")
    if loaded is None:
        return False
    connected = sys.modules.get("pyspark.sql.connect.dataframe")
    kinds = (loaded.DataFrame, *(() if connected is None else (connected.DataFrame,)))
    return isinstance(source, kinds)


def _is_remote(session: Any) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def _drop_view(session: Any, view: str) -> None:
    with contextlib.suppress(Exception):  # the session may have been stopped
        session.catalog.dropTempView(view)


def _monotonically_increasing_id() -> int: ...  # type: ignore[empty-body]  # of Spark; Ibis learns its type from this
