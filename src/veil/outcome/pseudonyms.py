"""Pseudonyms, random or keyed, in place of the column that distinguishes people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.keys import read_referred_key, start_hmac
from veil.base.randomness import Randomness
from veil.errors import PlanError
from veil.outcome.apply import blank_cells
from veil.outcome.result import Origins
from veil.plan.prepare import Prepared
from veil.tables.arrow import decode_column
from veil.tables.spelling import key_text
from veil.tables.text import canonical_text

KEY = "pseudonyms"
"""Name of the table that maps pseudonyms back to values, which is kept apart."""

DIGITS = 16
"""Hexadecimal digits of a pseudonym."""


def with_pseudonyms(
    table: pa.Table, prepared: Prepared, origins: Origins, suppressed_mask: NDArray[np.bool_]
) -> tuple[pa.Table, dict[str, pa.Table]]:
    """Add pseudonyms to a released table, if the plan asks for them. Also return the key, by name.

    `suppressed_mask` is about input rows. People without any released row get no pseudonym: the key, too, contains released people only.
    """
    plan, owner_codes = prepared.plan, prepared.rows.owners.array
    name = plan.person_column
    if name is None or plan.identifying.get(name) != "pseudonym":
        return table, {}
    row_owners, blank_mask = origins.pick(owner_codes), origins.pick(suppressed_mask)
    released_codes = np.unique(row_owners[~blank_mask])
    first = np.full(int(owner_codes.max()) + 1, -1, np.int64)
    first[owner_codes[::-1]] = np.arange(owner_codes.size)[::-1]
    values = decode_column(prepared.table[name].take(pa.array(first[released_codes]))).combine_chunks()
    texts = canonical_text(values, column=name)
    tokens = (
        Randomness().tokens(released_codes.size, DIGITS)
        if plan.pseudonym_key is None
        else _keyed_pseudonyms(plan.pseudonym_key, [key_text(text, name) for text in texts])
    )
    pseudonyms = pa.array(tokens, pa.string())
    cells = pseudonyms.take(pa.array(np.searchsorted(released_codes, row_owners), mask=blank_mask))
    cells = blank_cells(cells, blank_mask, plan.marker) if blank_mask.any() else cells
    columns = [each for each in prepared.table.column_names if each in table.column_names or each == name]
    columns += [each for each in table.column_names if each not in columns]
    result = pa.table({each: cells if each == name else table[each] for each in columns})
    key = pa.table({"value": pa.array(texts, pa.string()), "pseudonym": pseudonyms})
    return result, {KEY: key}


def _keyed_pseudonyms(reference: str, texts: Sequence[str]) -> list[str]:
    """Return the pseudonym of each person under a key: a prefix of those of `KeyedPseudonyms`."""
    start = start_hmac(read_referred_key(reference), "")
    pseudonyms = []
    for text in texts:
        digest = start.copy()
        digest.update(text.encode())
        pseudonyms.append(digest.hexdigest()[:DIGITS])
    if len(set(pseudonyms)) < len(pseudonyms):
        raise PlanError(
            "two people would share a pseudonym under this key, which is a one-in-a-billion coincidence. "
            "Use another key"
        )
    return pseudonyms
