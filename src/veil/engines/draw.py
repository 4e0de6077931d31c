"""A random sample of the rows of an engine, drawn with the operating system's randomness.

Engines have random numbers of their own, of which nobody knows how good they are. Here the driver draws a secret key,
and the engine compares the SHA-256 digest of the key and the number of each row with the probability: to everybody who
does not know the key, these are fair and independent draws. The key is forgotten afterwards. Rows come in the order of
their digests, so their places tell nothing either.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import secrets
import weakref
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from veil.base.randomness import Randomness
from veil.engines.dialects import mysql
from veil.engines.dialects.rows import spark_frame
from veil.engines.relation import Handed, Relation
from veil.errors import PlanError

if TYPE_CHECKING:
    import ibis

_BITS = 256


def sampled(relation: Relation, probability: Fraction, randomness: Randomness) -> Relation:
    """Draw each row with the given probability, rounded down to a multiple of 2^-256, and keep what is drawn.

    The rows are a temporary table of the engine, which is gone with its session.
    """
    key = "".join(f"{int(word):016x}" for word in randomness.bits(4))
    table, names = relation.table, relation.table.columns
    row, digest = (f"veil_{each}_{secrets.token_hex(4)}" for each in ("row", "digest"))
    table = table.mutate(**{row: _row_number(relation)})
    table = table.mutate(**{digest: _digest(relation, key, table[row])})
    threshold = int(probability * 2**_BITS)
    if threshold < 2**_BITS:
        table = table.filter(table[digest] < f"{threshold:0{_BITS // 4}x}")
    drawn = _kept(relation, table.order_by(digest).select(names))
    return dataclasses.replace(
        relation,
        table=drawn,
        name=f"a random sample of {relation.name}",
        location=Handed(relation.kind),
        scan=None,
    )


def stored(relation: Relation, table: ibis.Table) -> Relation:
    """Keep what was made of a sample: as one piece, so that nothing tells how many rows are gone."""
    return dataclasses.replace(relation, table=_kept(relation, table, pieces=1))


def _row_number(relation: Relation) -> Any:
    """Number the rows, in any order, each number once."""
    import ibis

    if relation.kind != "pyspark":
        return ibis.row_number()
    # A window over everything would put all rows into one partition.
    return ibis.udf.scalar.builtin(_monotonically_increasing_id, name="monotonically_increasing_id")()


def _digest(relation: Relation, key: str, number: Any) -> Any:
    """SHA-256 of the key and a number, as 64 hexadecimal digits."""
    import ibis
    import ibis.expr.operations as operations

    backend: Any = relation.backend
    text = ibis.literal(f"{key}:") + number.cast("string")
    if backend.has_operation(operations.HexDigest):
        return text.hexdigest("sha256")
    if relation.kind == "postgres":
        known = {"convert_to": _convert_to, "sha256": _sha256_of, "encode": _encode}
        call = {name: ibis.udf.scalar.builtin(each, name=name) for name, each in known.items()}
        return call["encode"](call["sha256"](call["convert_to"](text, "UTF8")), "hex")
    if relation.kind == "mysql":
        return ibis.udf.scalar.builtin(_sha2, name="sha2")(text, _BITS)
    if relation.kind == "sqlite":
        backend.con.create_function("veil_sha256", 1, _sha256, deterministic=True)
        return ibis.udf.scalar.builtin(_veil_sha256, name="veil_sha256")(text)
    raise PlanError(
        f"no random sample can be drawn by {relation.kind}, as Ibis knows no SHA-256 there. Copy the table to DuckDB, "
        "PostgreSQL, MySQL or Spark, or read it into memory"
    )


def _kept(relation: Relation, table: ibis.Table, pieces: int | None = None) -> ibis.Table:
    """Store rows in the engine, for this session; in Spark in so many partitions."""
    backend: Any = relation.backend
    name = f"veil_sample_{secrets.token_hex(6)}"
    if relation.kind == "pyspark":
        # Numbers of rows may differ when Spark computes them again; now it has no reason to.
        frame = spark_frame(backend, table)
        frame = frame if pieces is None else frame.coalesce(pieces)
        frame.localCheckpoint().createOrReplaceTempView(name)
        return backend.table(name)
    if relation.kind == "mysql":
        return mysql.kept(backend, table)
    made = backend.create_table(name, table, temp=True)
    weakref.finalize(made, _drop, backend, name).atexit = False
    return made


def _drop(backend: Any, name: str) -> None:
    with contextlib.suppress(Exception):  # the session may be over
        backend.drop_table(name, force=True)


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


# Functions that engines bring along; Ibis learns their types from these.


def _monotonically_increasing_id() -> int: ...  # type: ignore[empty-body]


def _convert_to(text: str, encoding: str) -> bytes: ...  # type: ignore[empty-body]


def _sha256_of(data: bytes) -> bytes: ...  # type: ignore[empty-body]


def _encode(data: bytes, form: str) -> str: ...  # type: ignore[empty-body]


def _sha2(text: str, bits: int) -> str: ...  # type: ignore[empty-body]


def _veil_sha256(text: str) -> str: ...  # type: ignore[empty-body]
