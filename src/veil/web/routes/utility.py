"""What a release is still good for: rows, pairs of columns, and everything that is compared before and after."""

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
from veil.web.jobs import Task
from veil.web.problems import Refused, not_found
from veil.web.routes.base import Body, InSession, JobTold, told
from veil.web.routes.facts import plain
from veil.web.routes.tables import PAGE, Name
from veil.web.session import SessionRelease, as_text

router = APIRouter(tags=["releases"])

Cell = Annotated[str, Field(max_length=1000)]


class ReleasePage(Body):
    """Which rows of the release, and in which order."""

    start: Annotated[int, Field(ge=0, le=10**12)] = 0
    count: Annotated[int, Field(ge=1, le=PAGE)] = PAGE
    by_class: Annotated[
        bool, Field(description="rows that look alike beside each other, suppressed ones last")
    ] = False


@router.post("/releases/{id}/rows")
def rows(id: str, page: ReleasePage, session: InSession) -> dict[str, Any]:
    """Return some rows of the release as text, each with its class and beside the row of the input that it was made of."""
    made = session.release(id)
    outcome, table = made.release.outcome, made.release.arrow
    order = _by_class(outcome) if page.by_class else np.arange(table.num_rows)
    here = order[page.start : page.start + page.count]
    shown = table.take(pa.array(here))
    told: dict[str, Any] = {
        "start": page.start,
        "total": table.num_rows,
        "columns": list(table.column_names),
        "rows": as_text(shown),
    }
    if made.table.held is not None:
        return {
            **told,
            "classes": [None] * here.size,
            "input_columns": [],
            "input": [],
            "suppressed": [False] * here.size,
        }
    origins, classes = outcome.origins[here], _classes(outcome)[here]
    return {
        **told,
        "classes": [None if each < 0 else int(each) for each in classes],
        "input_columns": list(made.table.arrow.column_names),
        "input": as_text(made.table.arrow.take(pa.array(origins))),
        "suppressed": [bool(made.release.suppressed_rows[row]) for row in origins],
    }


def _classes(outcome: Outcome) -> NDArray[np.int64]:
    """Return the class of each row of a release; -1 for suppressed ones."""
    found = np.full(outcome.table.num_rows, -1, np.int64)
    found[~outcome.by_records.suppressed] = outcome.by_records.classes
    return found


def _by_class(outcome: Outcome) -> NDArray[np.int64]:
    classes = _classes(outcome)
    return np.argsort(np.where(classes < 0, np.iinfo(np.int64).max, classes), kind="stable")


MOST_VALUES = 500
"""Values of a column that are told."""


class OneColumn(Body):
    """A column, whose values before are counted by the labels of the release if they are to be `coarsened`."""

    column: Name
    coarsened: bool = False


@router.post("/releases/{id}/distribution")
def distribution_of(id: str, asked: OneColumn, session: InSession) -> dict[str, Any]:
    """Count the values of a column before and after, and tell how far the two are apart; of very many, the first are told."""
    outcome = _in_memory(session.release(id)).release.outcome
    if asked.column not in outcome.table.column_names or asked.column not in outcome.original.column_names:
        raise not_found("column")
    found = distribution(Comparison.of(outcome), asked.column, coarsened=asked.coarsened)
    told = found.to_dict()
    for side in ("before", "after"):
        shown = {name: values[:MOST_VALUES] for name, values in told[side].items()}
        told[side] = {**shown, "different": len(told[side]["values"])}
    return told


class Pair(Body):
    """Two columns."""

    row: Name
    column: Name


@router.post("/releases/{id}/pairs")
def pairs(id: str, asked: Pair, session: InSession) -> dict[str, Any]:
    """Count the pairs of values of two columns, before and after, neighbours together where there are many."""
    comparison = Comparison.of(_in_memory(session.release(id)).release.outcome)
    before, after = contingency(comparison, asked.row, asked.column, at_most=12)
    return {"before": plain(dataclasses.asdict(before)), "after": plain(dataclasses.asdict(after))}


@router.post("/releases/{id}/associations", status_code=HTTPStatus.ACCEPTED)
def associations(id: str, session: InSession) -> JobTold:
    """Tell how strongly each two columns depend on each other (Cramér's V), before and after."""
    made = _in_memory(session.release(id))

    def work(job: Task) -> dict[str, Any]:
        from veil.report.content.measured import Findings  # here, so that the workbench starts without it

        job.tell("comparing pairs of columns", 0, 0, "")
        return plain(Findings(made.release.outcome, exact=True).associations)  # type: ignore[no-any-return]

    return told(session.start("associations", work))


class Window(Body):
    """The first and the last value that count, or some values."""

    first: Cell = ""
    last: Cell = ""
    values: Annotated[list[Cell], Field(max_length=1000)] | None = None


class Count(Body):
    """Conditions by column: records that fulfil all of them are counted."""

    conditions: Annotated[dict[Name, Window], Field(min_length=1, max_length=20)]


@router.post("/releases/{id}/count")
def count(id: str, asked: Count, session: InSession) -> dict[str, Any]:
    """Count records in the input, and tell what readers of the release would answer instead."""
    made = _in_memory(session.release(id))
    outcome = made.release.outcome
    for name in asked.conditions:
        if name not in outcome.table.column_names or name not in outcome.original.column_names:
            raise not_found("column")
    others = [name for name in asked.conditions if name not in outcome.quasi_identifiers]
    comparison = Comparison.of(outcome, [*outcome.quasi_identifiers, *others])
    conditions = {
        name: (each.first, each.last) if each.values is None else each.values
        for name, each in asked.conditions.items()
    }
    return dataclasses.asdict(count_query(comparison, conditions))


def _in_memory(made: SessionRelease) -> SessionRelease:
    if made.table.held is not None:
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY,
            "an engine holds the rows, and comparing them before and after needs all of them in memory",
        )
    return made


class Use(Body):
    """What is to be predicted, if anything."""

    targets: Annotated[list[Name], Field(max_length=5)] = Field(default_factory=list)


@router.post("/releases/{id}/utility", status_code=HTTPStatus.ACCEPTED)
def utility(id: str, asked: Use, session: InSession) -> JobTold:
    """Tell what the release is still good for."""
    made = session.release(id)

    def work(job: Task) -> dict[str, Any]:
        job.tell("comparing before and after", 0, 0, "")
        _in_memory(made)
        return {"utility": plain(made.release.utility(targets=asked.targets).to_dict())}

    return told(session.start("utility", work))
