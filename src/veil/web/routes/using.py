"""What a release is still good for: rows, pairs of columns, and everything that is compared before and after."""

from __future__ import annotations

import dataclasses
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

from veil.utility import Comparison, contingency
from veil.web.jobs import Job
from veil.web.problems import Refused
from veil.web.routes.base import Body, InSession, JobTold, told
from veil.web.routes.facts import plain
from veil.web.routes.tables import PAGE, Name
from veil.web.session import as_text

router = APIRouter(tags=["releases"])


class Page(Body):
    """Which rows of the release."""

    start: Annotated[int, Field(ge=0, le=10**12)] = 0
    count: Annotated[int, Field(ge=1, le=PAGE)] = PAGE


@router.post("/releases/{id}/rows")
def rows(id: str, page: Page, session: InSession) -> dict[str, Any]:
    """Return some rows of the release as text, each beside the row of the input that it was made of."""
    made = session.release(id)
    outcome, table = made.release.outcome, made.release.arrow
    if made.table.held is not None:
        return {
            "start": page.start,
            "total": table.num_rows,
            "columns": list(table.column_names),
            "rows": as_text(table.slice(page.start, page.count)),
            "input_columns": [],
            "input": [],
            "suppressed": [False] * max(0, min(page.count, table.num_rows - page.start)),
        }
    picked = outcome.origins[page.start : page.start + page.count]
    return {
        "start": page.start,
        "total": table.num_rows,
        "columns": list(table.column_names),
        "rows": as_text(table.slice(page.start, page.count)),
        "input_columns": list(made.table.arrow.column_names),
        "input": as_text(made.table.arrow.take(picked)),
        "suppressed": [bool(made.release.suppressed_rows[row]) for row in picked],
    }


class Pair(Body):
    """Two columns."""

    row: Name
    column: Name


@router.post("/releases/{id}/pairs")
def pairs(id: str, asked: Pair, session: InSession) -> dict[str, Any]:
    """Count the pairs of values of two columns, before and after, neighbours together where there are many."""
    made = session.release(id)
    if made.table.held is not None:
        raise Refused(
            HTTPStatus.UNPROCESSABLE_ENTITY, "an engine holds the rows, and comparing needs them in memory"
        )
    comparison = Comparison.of(made.release.outcome)
    before, after = contingency(comparison, asked.row, asked.column, at_most=12)
    return {"before": plain(dataclasses.asdict(before)), "after": plain(dataclasses.asdict(after))}


class Use(Body):
    """What is to be predicted, if anything."""

    targets: Annotated[list[Name], Field(max_length=5)] = Field(default_factory=list)


@router.post("/releases/{id}/utility", status_code=HTTPStatus.ACCEPTED)
def utility(id: str, asked: Use, session: InSession) -> JobTold:
    """Tell what the release is still good for."""
    made = session.release(id)

    def work(job: Job) -> dict[str, Any]:
        job.tell("comparing before and after", 0, 0, "")
        if made.table.held is not None:
            raise Refused(
                HTTPStatus.UNPROCESSABLE_ENTITY,
                "an engine holds the rows, and comparing them before and after needs all of them in memory",
            )
        return {"utility": plain(made.release.utility(targets=asked.targets).to_dict())}

    return told(session.start("utility", work))
