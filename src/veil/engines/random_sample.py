"""A random sample of the rows of an engine, drawn with the operating system's randomness.

The quality of random numbers of engines is unknown. So a secret key is drawn here, and the engine compares
the SHA-256 digest of the key and the number of each row with the probability: without the key, these are fair
and independent draws. The key is forgotten afterwards. Rows come in the order of their digests, so their
places reveal nothing either.
"""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from typing import TYPE_CHECKING

from veil.base.randomness import Randomness
from veil.engines.relation import Handed, Relation
from veil.engines.scan.scan import EngineRows
from veil.engines.shuffle import with_digests

if TYPE_CHECKING:
    import ibis

_BITS = 256


def draw_rows(relation: Relation, probability: Fraction, randomness: Randomness) -> Relation:
    """Draw each row with the given probability, rounded down to a multiple of 2^-256, and store the sample.

    The sample is a temporary table of the engine, which ends with its session.
    """
    names, dialect = relation.table.columns, relation.dialect
    table, digest = with_digests(relation.table, dialect, dialect.row_number(), randomness)
    threshold = int(probability * 2**_BITS)
    if threshold < 2**_BITS:
        table = table.filter(table[digest] < f"{threshold:0{_BITS // 4}x}")
    sample = dialect.keep(table.order_by(digest).select(names))
    return dataclasses.replace(
        relation,
        table=sample,
        name=f"a random sample of {relation.name}",
        location=Handed(relation.kind),
        scan=EngineRows(),
    )


def store_rows(relation: Relation, table: ibis.Table) -> Relation:
    """Store rows of a sample, as one piece, so that the pieces do not show how many rows are missing."""
    return dataclasses.replace(relation, table=relation.dialect.keep(table, pieces=1))
