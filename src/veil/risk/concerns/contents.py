"""Contact data and free text in columns that are published as they are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from veil.risk.concerns.concern import Concern
from veil.risk.concerns.context import ReleasedColumn, View
from veil.risk.identify.detection import named_by_content
from veil.tables.columns import is_list, is_text

_ENOUGH = 2_000
"""Different values of a column that are looked at; more tell nothing new."""


def telling_texts(view: View) -> list[Concern]:
    """Find columns of names, numbers and addresses of people, and of sentences, in which anything may stand."""
    made = []
    for name in view.kept:
        column = view.outcome.table[name]
        holds_items = pa.types.is_dictionary(column.type) or is_list(column.type)
        if not is_text(column.type.value_type if holds_items else column.type):
            continue
        found = _look(view, view.glance(name), view.sample.size)
        if found is not None and found[0] == "free text":  # of labels, a sample has few of each
            found = _look(view, view.column(name), view.records)
        if found is None:
            continue
        category, reason = found
        if category == "free text":
            statement = f"{name!r} holds free text, which may contain anything about anybody: {reason}."
            made.append(
                Concern("free text", (name,), statement, f"Remove {name!r}, or make categories of it.")
            )
        else:
            statement = f"{name!r} looks like {category}: {reason}."
            made.append(Concern("contact data", (name,), statement, f"Remove it: make {name!r} identifying."))
    return made


def _look(view: View, column: ReleasedColumn, records: int) -> tuple[str, str] | None:
    there = np.flatnonzero(column.counts)
    some = there[:: max(1, -(-there.size // _ENOUGH))]
    values = column.values.take(pa.array(some))
    return named_by_content(values, different=there.size, records=records, marker=view.outcome.marker)
