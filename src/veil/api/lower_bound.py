"""The check of a lower bound by the data holder, who has the input and the prices that prove it."""

from __future__ import annotations

import os
from typing import Any

from veil.api.open import Engine, fetch_all, open_for_plan, open_source
from veil.base.progress import Progress
from veil.outcome.lower_bound import NO_BOUND
from veil.outcome.price_table import NUMBERS, columns_of_cells, proof_of_table
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.plan import Plan
from veil.plan.prepare import prepare
from veil.published.finding import Finding
from veil.tables import Csv, Format
from veil.tables.formats import TypeName
from veil.verification.lower_bound import verify_lower_bound


def check_lower_bound(
    original: Any, plan: Plan, prices: Any, format: Format | None = None, engine: Engine = "auto"
) -> Finding:
    """Check the lower bound of a plan for an input, by the table with its prices or its file."""
    source = open_for_plan(original, plan, format, engine, Progress())
    prepared = prepare(source.table, plan, source.weights, source.columns)
    size = forced_size(prepared)
    if not isinstance(size, ForcedSize):
        return Finding(NO_BOUND, False, size)
    names = prepared.encoding.names
    texts: dict[str, TypeName] = dict.fromkeys([*columns_of_cells(names, size.attribute), *NUMBERS], "string")
    is_file = isinstance(prices, str | os.PathLike)
    table = open_source(prices, Csv(types=texts) if is_file else None, "memory", fetch_all).table
    return verify_lower_bound(prepared, proof_of_table(table, prepared.rows, names, size))
