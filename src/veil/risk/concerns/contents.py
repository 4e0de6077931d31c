"""Contact data and free text in columns that are published unchanged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from veil.base.wording import Phrase
from veil.risk.concerns.concern import Concern
from veil.risk.concerns.context import ReleaseContext, ReleasedColumn
from veil.risk.identify.detection import personal_category
from veil.tables.columns import is_list, is_text

_ENOUGH = 2_000
"""Maximum number of different values of a column to examine."""


def identifying_texts(context: ReleaseContext) -> Iterator[Concern]:
    """Find columns with names, numbers and addresses of people, and with free text."""
    for name in context.unchanged:
        column = context.outcome.table[name]
        holds_items = pa.types.is_dictionary(column.type) or is_list(column.type)
        if not is_text(column.type.value_type if holds_items else column.type):
            continue
        match = _classify(context, context.sampled(name), context.sample.size)
        if match is not None and match[0] == "free text":  # long labels repeat only among all records
            match = _classify(context, context.column(name), context.records)
        if match is None:
            continue
        category, reason = match
        if category == "free text":
            template = "{column!r} holds free text, which may contain anything about anybody: {reason}."
            statement = Phrase(template, column=name, reason=reason)
            remedy = Phrase("Remove {column!r}, or make categories of it.", column=name)
            yield Concern("free text", (name,), statement, remedy)
        else:
            template = "{column!r} looks like {category}: {reason}."
            statement = Phrase(template, column=name, category=category, reason=reason)
            yield Concern(
                "contact data",
                (name,),
                statement,
                Phrase("Remove it: make {column!r} identifying.", column=name),
            )


def _classify(context: ReleaseContext, column: ReleasedColumn, records: int) -> tuple[str, str] | None:
    there = np.flatnonzero(column.counts)
    some = there[:: max(1, -(-there.size // _ENOUGH))]
    values = column.values.take(pa.array(some))
    return personal_category(values, different=there.size, records=records, marker=context.outcome.marker)
