"""Utility of a release: rows, pairs of columns, and comparisons of before and after."""

from __future__ import annotations

from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from fastapi import APIRouter, Depends
from numpy.typing import NDArray
from pydantic import Field

from veil.api.release import Release
from veil.utility import Comparison, contingency, count_query, distribution
from veil.utility.counts import CountAnswer
from veil.utility.distributions import Contingency
from veil.web.body import Body, Cell, Name
from veil.web.open_table import Originals, Page, TableRows, as_text, classes_of
from veil.web.problems import not_found
from veil.web.routes.base import InSession, OfRelease
from veil.web.tasks import Task, TaskStatus

router = APIRouter(tags=["releases"])


def _in_memory(entry: OfRelease) -> Release:
    entry.table.in_memory(", and comparing them before and after needs all of them in memory")
    return entry.release


InMemory = Annotated[Release, Depends(_in_memory)]


class ReleasePage(Page):
    """A selection and order of rows of the release."""

    by_class: Annotated[
        bool, Field(description="rows that look alike beside each other, suppressed ones last")
    ] = False


@dataclass(frozen=True)
class ReleaseRows(Originals, TableRows):
    """Rows of a release, with those of the input."""


@router.post("/releases/{id}/rows")
def rows(page: ReleasePage, entry: OfRelease) -> ReleaseRows:
    """Return some rows of the release as text, each with its class and its row of the input."""
    table = entry.release.arrow
    order = _by_class(entry.release) if page.by_class else np.arange(table.num_rows)
    here = order[page.start : page.start + page.count]
    return ReleaseRows(
        **vars(entry.table.beside(entry.release, here)),
        start=page.start,
        total=table.num_rows,
        columns=list(table.column_names),
        rows=as_text(table.take(pa.array(here))),
    )


def _by_class(release: Release) -> NDArray[np.int64]:
    classes = classes_of(release)
    return np.argsort(np.where(classes < 0, np.iinfo(np.int64).max, classes), kind="stable")


MOST_VALUES = 500
"""Values of a column that are returned."""


class OneColumn(Body):
    """A column; with `coarsened`, its values before are counted by the labels of the release."""

    column: Name
    coarsened: bool = False


@router.post("/releases/{id}/distribution")
def distribution_of(body: OneColumn, release: InMemory) -> dict[str, Any]:
    """Count the values of a column before and after, with their distance; at most 500 values are returned."""
    _require(release, body.column)
    counts = distribution(Comparison.of(release.outcome), body.column, coarsened=body.coarsened)
    answer = counts.to_dict()
    for side in ("before", "after"):
        first = {name: values[:MOST_VALUES] for name, values in answer[side].items()}
        answer[side] = {**first, "different": len(answer[side]["values"])}
    return answer


def _require(release: Release, column: str) -> None:
    for table in (release.outcome.table, release.outcome.original):
        if column not in table.column_names:
            raise not_found("column")


class Pair(Body):
    """Two columns."""

    row: Name
    column: Name


@router.post("/releases/{id}/pairs")
def pairs(pair: Pair, release: InMemory) -> dict[str, Contingency]:
    """Count the pairs of values of two columns, before and after; many values are binned."""
    before, after = contingency(Comparison.of(release.outcome), pair.row, pair.column, at_most=12)
    return {"before": before, "after": after}


@router.post("/releases/{id}/associations", status_code=HTTPStatus.ACCEPTED)
def associations(release: InMemory, session: InSession) -> TaskStatus:
    """Return the association of each two columns (Cramér's V), before and after."""

    def work(task: Task) -> object:
        from veil.report.content.measured import Findings  # here, so that the workbench starts without it

        task.report_progress("comparing pairs of columns")
        return Findings(release.outcome, exact=True).associations

    return session.start("associations", work)


class Window(Body):
    """A condition on a column: a first and a last value, or a list of values."""

    first: Cell = ""
    last: Cell = ""
    values: Annotated[list[Cell], Field(max_length=1000)] | None = None


class Count(Body):
    """A count query: conditions by column, all of which a record has to fulfil."""

    conditions: Annotated[dict[Name, Window], Field(min_length=1, max_length=20)]


@router.post("/releases/{id}/count")
def count(query: Count, release: InMemory) -> CountAnswer:
    """Count records in the input, and estimate the count from the release."""
    outcome = release.outcome
    for name in query.conditions:
        _require(release, name)
    others = [name for name in query.conditions if name not in outcome.quasi_identifiers]
    comparison = Comparison.of(outcome, [*outcome.quasi_identifiers, *others])
    conditions = {
        name: (each.first, each.last) if each.values is None else each.values
        for name, each in query.conditions.items()
    }
    return count_query(comparison, conditions)


class Use(Body):
    """The columns to predict, if any."""

    targets: Annotated[list[Name], Field(max_length=5)] = Field(default_factory=list)


@router.post("/releases/{id}/utility", status_code=HTTPStatus.ACCEPTED)
def utility(use: Use, entry: OfRelease, session: InSession) -> TaskStatus:
    """Measure the utility of a release."""

    def work(task: Task) -> dict[str, dict[str, Any]]:
        task.report_progress("comparing before and after")
        return {"utility": _in_memory(entry).utility(targets=use.targets).to_dict()}

    return session.start("utility", work)
