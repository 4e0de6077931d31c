"""Linked tables as single outcomes, whose concerns are collected one by one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.wording import Phrase
from veil.hierarchies import identity
from veil.models import KAnonymity
from veil.outcome.linked_tables import TableOut
from veil.outcome.outcome import Outcome
from veil.outcome.result import Privacy, StepResult, SuppressedRows
from veil.outcome.roles import roles_of_plan
from veil.plan.linked_tables import Stacked
from veil.plan.plan import Plan
from veil.risk.concerns.concern import Concern
from veil.tables.rows import Owners, Rows
from veil.tables.source import Source


def each_table(outcome: Outcome, stacked: Stacked) -> dict[str, Outcome]:
    """Return each of several tables as an outcome of its own, with its part of the plan."""
    return {
        name: _alone(stacked, name, outcome.tables[name], outcome.suppressed_mask[span])
        for name, span in stacked.spans.items()
    }


def _alone(stacked: Stacked, name: str, output: TableOut, hidden: NDArray[np.bool_]) -> Outcome:
    # The table of a row is public, so every table has a quasi-identifier: its name.
    before = output.source.table.append_column(stacked.label, _constant(name, output.source.table.num_rows))
    after = output.table.append_column(stacked.label, _constant(name, output.table.num_rows))
    plan = _part_of_plan(stacked, output.source.table.column_names)
    rows = Rows.of(before, owners=Owners.of(before, plan.person_column, plan.knows))
    result = StepResult(
        plan,
        rows.showing(after, output.rows),
        output.origins,
        SuppressedRows(hidden, int(hidden.sum())),
        roles_of_plan(plan, list(plan.quasi_identifiers)),
        (),
        (),
        {},
        Privacy(),
        (),
    )
    return Outcome.of(Source(before, "pyarrow"), rows, result)


def _constant(text: str, number: int) -> pa.Array:
    return pa.array([text] * number, pa.string())


def _part_of_plan(stacked: Stacked, columns: list[str]) -> Plan:
    plan = stacked.asked

    def here(options: Mapping[str, Any]) -> dict[str, Any]:
        return {name: each for name, each in options.items() if name in columns}

    models = tuple(model for model in plan.models if set(model.attribute_names) <= set(columns))
    return dataclasses.replace(
        plan,
        quasi_identifiers={stacked.label: identity(), **here(plan.quasi_identifiers)},
        models=models or (KAnonymity(1),),
        sensitive=tuple(name for name in plan.sensitive if name in columns),
        insensitive=tuple(name for name in plan.insensitive if name in columns),
        identifying=here(plan.identifying),
        minimum_levels=here(plan.minimum_levels),
        maximum_levels=here(plan.maximum_levels),
    )


def about(table: str, concern: Concern) -> Concern:
    """Return a concern with the name of its table."""
    columns = tuple(f"{table}.{name}" for name in concern.columns) or (table,)
    return dataclasses.replace(
        concern,
        columns=columns,
        statement=Phrase("Table {table!r}: {statement}", table=table, statement=concern.statement),
    )
