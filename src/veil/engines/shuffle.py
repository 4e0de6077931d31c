"""Rows in an order that reveals nothing of their original one.

Why the order cannot be undone. A secret key of 256 bits is drawn from the operating system, and the engine
sorts by the SHA-256 digest of the key and of a value that differs from row to row (the number of the row, or
an identifier that the engine makes up). Without the key, digests of different texts are independent fair
draws, so every order is equally likely, however bad its random numbers are. The key is forgotten afterwards.

Rows are sorted last. A join may return rows by the original values that it has compared, so an order that was
drawn before it could be lost in it.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from veil.base.randomness import Randomness
from veil.engines.dialects import Dialect, dialect_of

if TYPE_CHECKING:
    import ibis


def shuffled(table: ibis.Table) -> ibis.Table:
    """Return the rows in a random order; the engine sorts on disk what exceeds its memory.

    >>> import ibis
    >>> rows = shuffled(ibis.memtable({"age": list(range(1000))})).execute()
    >>> sorted(rows.age) == list(range(1000)), list(rows.age) == list(range(1000))
    (True, False)
    """
    dialect = dialect_of(table._find_backend(use_default=True))
    names = table.columns
    table, digest = with_digests(table, dialect, dialect.differing(), Randomness())
    return dialect.sort(table, digest, names)


def with_digests(
    table: ibis.Table, dialect: Dialect, differing: Any, randomness: Randomness
) -> tuple[ibis.Table, str]:
    """Add the digest of a secret key and of a value that differs from row to row; return its name, too."""
    import ibis

    key = "".join(f"{int(word):016x}" for word in randomness.bits(4))
    row, digest = (f"veil_{each}_{secrets.token_hex(4)}" for each in ("row", "digest"))
    table = table.mutate(**{row: differing})
    keyed = ibis.literal(f"{key}:") + table[row].cast("string")
    return table.mutate(**{digest: dialect.digest(keyed)}), digest
