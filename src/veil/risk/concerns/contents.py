"""Contact data and free text in columns that are published as they are."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from veil.risk.concerns.concern import Concern
from veil.risk.concerns.context import ReleaseContext, ReleasedColumn
from veil.risk.identify.detection import classify_personal_text
from veil.tables.columns import is_list, is_text

_ENOUGH = 2_000
"""Different values of a column that are looked at; more tell nothing new."""


def identifying_texts(context: ReleaseContext) -> list[Concern]:
    """Find columns of names, numbers and addresses of people, and of sentences, in which anything may stand."""
    concerns = []
    for name in context.unchanged:
        column = context.outcome.table[name]
        holds_items = pa.types.is_dictionary(column.type) or is_list(column.type)
        if not is_text(column.type.value_type if holds_items else column.type):
            continue
        match = _classify(context, context.sampled_column(name), context.sample.size)
        if match is not None and match[0] == "free text":  # of labels, a sample has few of each
            match = _classify(context, context.column(name), context.records)
        if match is None:
            continue
        category, reason = match
        if category == "free text":
            statement = f"{name!r} holds free text, which may contain anything about anybody: {reason}."
            concerns.append(
                Concern("free text", (name,), statement, f"Remove {name!r}, or make categories of it.")
            )
        else:
            statement = f"{name!r} looks like {category}: {reason}."
            concerns.append(
                Concern("contact data", (name,), statement, f"Remove it: make {name!r} identifying.")
            )
    return concerns


def _classify(context: ReleaseContext, column: ReleasedColumn, records: int) -> tuple[str, str] | None:
    there = np.flatnonzero(column.counts)
    some = there[:: max(1, -(-there.size // _ENOUGH))]
    values = column.values.take(pa.array(some))
    return classify_personal_text(
        values, different=there.size, records=records, marker=context.outcome.marker
    )
