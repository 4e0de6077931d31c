"""Items of a plan, generalized within the classes of its search: (k, k^m)-anonymity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from veil.base.randomness import Randomness
from veil.masking.items.method import ItemGeneralization
from veil.models.item_sets import KMAnonymity
from veil.outcome.apply import blank_cells
from veil.outcome.outcome import Outcome
from veil.plan.plan import Plan
from veil.tables.arrow import in_new_memory
from veil.tables.columns import groups, replace_column
from veil.tables.rows import Rows


def with_items(outcome: Outcome) -> Outcome:
    """Return an outcome whose sets are generalized by its plan; unchanged if the plan has no items.

    Items of suppressed records are neither counted nor released.
    """
    plan, hidden = outcome.plan, outcome.link.pick(outcome.suppressed_mask)
    if plan is None or not plan.items:
        return outcome
    rows = pa.array(np.flatnonzero(~hidden))
    classes = groups(outcome.table.take(rows), tuple(outcome.quasi_identifiers), plan)
    place = pa.array(np.cumsum(~hidden) - 1, mask=hidden)
    table, facts = outcome.table, dict(outcome.facts)
    for name in plan.items if len(rows) else ():
        class_column = "class" if name != "class" else "class of a record"
        before = pa.table({class_column: pa.array(classes), name: table[name].take(rows)})
        masked = _method(plan, name, class_column).mask(Rows.of(before), Randomness())
        column = masked.table[name].take(place)
        table = replace_column(
            table, name, blank_cells(column, hidden, plan.marker) if hidden.any() else column
        )
        facts |= {f"{name}: {what}": fact for what, fact in masked.facts.items()}
    return outcome.changed(table=in_new_memory(table), facts=facts)


def _method(plan: Plan, name: str, class_column: str) -> Any:
    """Return the mask that fulfils the model of a column within each class."""
    (model,) = [each for each in plan.models if isinstance(each, KMAnonymity) and each.attribute == name]
    return ItemGeneralization(
        name, model.k, model.m, plan.items[name], within=(class_column,), separator=model.separator
    )
