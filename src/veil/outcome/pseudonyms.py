"""The column that tells people apart, replaced by pseudonyms, random or keyed: the rows of a person stay together, nameless."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.keys import read_referred_key, start_hmac
from veil.base.randomness import Randomness
from veil.errors import PlanError
from veil.outcome.apply import blank_cells, decode_column
from veil.plan.prepare import Prepared
from veil.tables.arrow import in_new_memory
from veil.tables.spelling import key_text
from veil.tables.text import canonical_text

KEY = "pseudonyms"
"""Name of the table that turns them back, which is kept apart."""

DIGITS = 16
"""Hexadecimal digits of a pseudonym."""


def with_pseudonyms(
    table: pa.Table, prepared: Prepared, rows: NDArray[np.int64] | None, hidden: NDArray[np.bool_]
) -> tuple[pa.Table, dict[str, pa.Table]]:
    """Add pseudonyms to a released table, if the plan asks for them. Also return what turns them back, by name.

    `rows` are the rows of the input that are in the table (None: all, in their order), and `hidden` says which rows of
    the input are suppressed. Who is shown nowhere gets no pseudonym: also the key tells of released people only.
    """
    plan, people = prepared.plan, prepared.people
    name = plan.person_column
    if people is None or name is None or plan.identifying.get(name) != "pseudonym":
        return table, {}
    origins = np.arange(people.size) if rows is None else rows
    here, gone = people[origins], hidden[origins]
    shown = np.unique(here[~gone])
    first = np.full(int(people.max()) + 1, -1, np.int64)
    first[people[::-1]] = np.arange(people.size)[::-1]
    values = decode_column(prepared.table[name].take(pa.array(first[shown]))).combine_chunks()
    texts = canonical_text(values, column=name)
    made_up = (
        Randomness().tokens(shown.size, DIGITS)
        if plan.pseudonym_key is None
        else _keyed(plan.pseudonym_key, [key_text(text, name) for text in texts])
    )
    spelled = pa.array(made_up, pa.string())
    cells = spelled.take(pa.array(np.searchsorted(shown, here), mask=gone))
    cells = blank_cells(cells, gone, plan.marker) if gone.any() else cells
    columns = [each for each in prepared.table.column_names if each in table.column_names or each == name]
    columns += [each for each in table.column_names if each not in columns]
    made = pa.table({each: cells if each == name else table[each] for each in columns})
    key = pa.table({"value": pa.array(texts, pa.string()), "pseudonym": spelled})
    # What an engine holds is never handed out from here.
    return made if prepared.weights is not None else in_new_memory(made), {KEY: key}


def _keyed(reference: str, texts: Sequence[str]) -> list[str]:
    """Return the pseudonym of each person under a key: those that `KeyedPseudonyms` makes, as far as they go."""
    start = start_hmac(read_referred_key(reference), "")
    made = []
    for text in texts:
        digest = start.copy()
        digest.update(text.encode())
        made.append(digest.hexdigest()[:DIGITS])
    if len(set(made)) < len(made):
        raise PlanError(
            "two people would share a pseudonym under this key, which is a one-in-a-billion coincidence. "
            "Use another key"
        )
    return made
