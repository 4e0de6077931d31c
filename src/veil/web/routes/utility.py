"""Utility of a release: rows, pairs of columns, and comparisons of before and after."""

from __future__ import annotations

import dataclasses
from http import HTTPStatus
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from fastapi import APIRouter
from numpy.typing import NDArray
from pydantic import Field

from veil.outcome.outcome import Outcome
from veil.utility import Comparison, contingency, count_query, distribution
from veil.web.problems import Refused, not_found
from veil.web.routes.base import Body, InSession, TaskStatus, status_of
from veil.web.routes.facts import plain
from veil.web.routes.tables import PAGE, Name
from veil.web.session import SessionRelease, as_text
from veil.web.tasks import Task

router = APIRouter(tags=["releases"])

Cell = Annotated[str, Field(max_length=1000)]


class ReleasePage(Body):
    """A selection and order of rows of the release."""

    start: Annotated[int, Field(ge=0, le=10**12)] = 0
    count: Annotated[int, Field(ge=1, le=PAGE)] = PAGE
    by_class: Annotated[
        bool, Field(description="rows that look alike beside each other, suppressed ones last")
    ] = False


@router.post("/releases/{id}/rows")
def rows(id: str, page: ReleasePage, session: InSession) -> dict[str, Any]:
    """Return some rows of the release as text, each with its class and its row of the input."""
    entry = session.release(id)
    outcome, table = entry.release.outcome, entry.release.arrow
    order = _by_class(outcome) if page.by_class else np.arange(table.num_rows)
    here = order[page.start : page.start + page.count]
    part = table.take(pa.array(here))
    answer: dict[str, Any] = {
        "start": page.start,
        "total": table.num_rows,
        "columns": list(table.column_names),
        "rows": as_text(part),
    }
    if entry.table.relation is not None:
        return {
            **answer,
            "classes": [None] * here.size,
            "input_columns": [],
            "input": [],
            "suppressed": [False] * here.size,
        }
    origins, classes = outcome.origins[here], _classes(outcome)[here]
    return {
        **answer,
        "classes": [None if each < 0 else int(each) for each in classes],
        "input_columns": list(entry.table.arrow.column_names),
        "input": as_text(entry.table.arrow.take(pa.array(origins))),
        "suppressed": [bool(entry.release.suppressed_rows[row]) for row in origins],
    }


def _classes(outcome: Outcome) -> NDArray[np.int64]:
    """Return the class of each row of a release; -1 for suppressed ones."""
    classes = np.full(outcome.table.num_rows, -1, np.int64)
    classes[~outcome.by_records.suppressed] = outcome.by_records.classes
    return classes


def _by_class(outcome: Outcome) -> NDArray[np.int64]:
    classes = _classes(outcome)
    return np.argsort(np.where(classes < 0, np.iinfo(np.int64).max, classes), kind="stable")


MOST_VALUES = 500
"""Values of a column that are returned."""


class OneColumn(Body):
    """A column; with `coarsened`, its values before are counted by the labels of the release."""

    column: Name
    coarsened: bool = False


@router.post("/releases/{id}/distribution")
def distribution_of(id: str, body: OneColumn, session: InSession) -> dict[str, Any]:
    """Count the values of a column before and after, with their distance; at most 500 values are returned."""
    outcome = _in_memory(session.release(id)).release.outcome
    if body.column not in outcome.table.column_names or body.column not in outcome.original.column_names:
        raise not_found("column")
    counts = distribution(Comparison.of(outcome), body.column, coarsened=body.coarsened)
    answer = counts.to_dict()
    for side in ("before", "after"):
        first = {name: values[:MOST_VALUES] for name, values in answer[side].items()}
        answer[side] = {**first, "different": len(answer[side]["values"])}
    return answer


class Pair(Body):
    """Two columns."""

    row: Name
    column: Name


@router.post("/releases/{id}/pairs")
def pairs(id: str, pair: Pair, session: InSession) -> dict[str, Any]:
    """Count the pairs of values of two columns, before and after; many values are binned."""
    comparison = Comparison.of(_in_memory(session.release(id)).release.outcome)
    before, after = contingency(comparison, pair.row, pair.column, at_most=12)
    return {"before": plain(dataclasses.asdict(before)), "after": plain(dataclasses.asdict(after))}


@router.post("/releases/{id}/associations", status_code=HTTPStatus.ACCEPTED)
def associations(id: str, session: InSession) -> TaskStatus:
    """Return the association of each two columns (Cramér's V), before and after."""
    entry = _in_memory(session.release(id))

    def work(task: Task) -> dict[str, Any]:
        from veil.report.content.measured import Findings  # here, so that the workbench starts without it

        task.report_progress("comparing pairs of columns")
        return plain(Findings(entry.release.outcome, exact=True).associations)  # type: ignore[no-any-return]

    return status_of(session.start("associations", work))


class Window(Body):
    """A condition on a column: a first and a last value, or a list of values."""

    first: Cell = ""
    last: Cell = ""
    values: Annotated[list[Cell], Field(max_length=1000)] | None = None


class Count(Body):
    """A count query: conditions by column, all of which a record has to fulfil."""

    conditions: Annotated[dict[Name, Window], Field(min_length=1, max_length=20)]


@router.post("/releases/{id}/count")
def count(id: str, query: Count, session: InSession) -> dict[str, Any]:
    """Count records in the input, and estimate the count from the release."""
    entry = _in_memory(session.release(id))
    outcome = entry.release.outcome
    for name in query.conditions:
        if name not in outcome.table.column_names or name not in outcome.original.column_names:
            raise not_found("column")
    others = [name for name in query.conditions if name not in outcome.quasi_identifiers]
    comparison = Comparison.of(outcome, [*outcome.quasi_identifiers, *others])
    conditions = {
        name: (each.first, each.last) if each.values is None else each.values
        for name, each in query.conditions.items()
    }
    return dataclasses.asdict(count_query(comparison, conditions))


def _in_memory(entry: SessionRelease) -> SessionRelease:
    if entry.table.relation is not None:
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "an engine holds the rows, and comparing them before and after needs all of them in memory",
        )
    return entry


class Use(Body):
    """The columns to predict, if any."""

    targets: Annotated[list[Name], Field(max_length=5)] = Field(default_factory=list)


@router.post("/releases/{id}/utility", status_code=HTTPStatus.ACCEPTED)
def utility(id: str, use: Use, session: InSession) -> TaskStatus:
    """Measure the utility of a release."""
    entry = session.release(id)

    def work(task: Task) -> dict[str, Any]:
        task.report_progress("comparing before and after")
        _in_memory(entry)
        return {"utility": plain(entry.release.utility(targets=use.targets).to_dict())}

    return status_of(session.start("utility", work))
