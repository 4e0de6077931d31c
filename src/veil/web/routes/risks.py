"""What could still go wrong with a release: risks before and after, and attacks that are tried."""

from __future__ import annotations

import dataclasses
from http import HTTPStatus
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import Field

import veil
from veil.web.jobs import Job
from veil.web.problems import Refused
from veil.web.routes.base import Body, InSession, JobTold, told
from veil.web.routes.facts import plain
from veil.web.routes.tables import Name

router = APIRouter(tags=["releases"])


class Threshold(Body):
    """The risk above which a record is at risk; and the people the table was drawn from, as a number or a region."""

    threshold: Annotated[float, Field(gt=0, le=1)] = 0.2
    population: Annotated[int, Field(ge=1, le=10**11)] | Annotated[str, Field(max_length=100)] | None = None
    weights: Annotated[Name | None, Field(description="column of sampling weights")] = None
    household: Annotated[Name | None, Field(description="column that tells who lives together")] = None


@router.post("/releases/{id}/risk", status_code=HTTPStatus.ACCEPTED)
def risk(id: str, asked: Threshold, session: InSession) -> JobTold:
    """Tell what could still go wrong: three attackers, the distribution of risk, and which columns do it."""
    made = session.release(id)

    def work(job: Job) -> dict[str, Any]:
        job.tell("measuring the risks of the input", 0, 2, "")
        masked = made.recipe.get("steps") is not None
        quasi = list(made.recipe["quasi_identifiers"])
        whole = made.table.arrow if made.table.held is None else made.table.held.table
        drawn: Any = {"weights": asked.weights, "household": asked.household}
        before = veil.risk.analyze(
            whole, quasi, threshold=asked.threshold, population=asked.population, untouched=True, **drawn
        )
        job.tell("measuring the risks of the release", 1, 2, "")
        left = [name for name in quasi if name in made.release.arrow.column_names]
        after = veil.risk.analyze(
            made.release,
            left if masked else None,
            threshold=asked.threshold,
            population=asked.population,
            **drawn,
        )
        return {"before": plain(before.to_dict()), "after": plain(after.to_dict())}

    return told(session.start("risk", work))


@router.post("/releases/{id}/attack", status_code=HTTPStatus.ACCEPTED)
def attack(id: str, session: InSession) -> JobTold:
    """Try to find the people of the input in the release: link each record with the nearest by what an attacker knows."""
    made = session.release(id)

    def work(job: Job) -> dict[str, Any]:
        job.tell("linking records", 0, 0, "")
        if made.table.held is not None:
            raise Refused(
                HTTPStatus.UNPROCESSABLE_ENTITY, "an engine holds the rows, and linking needs them in memory"
            )
        outcome = made.release.outcome
        columns = [
            name for name in made.recipe["quasi_identifiers"] if name in made.release.arrow.column_names
        ]
        found = veil.risk.linkage_experiment(
            made.table.arrow,
            made.release.arrow,
            columns,
            hierarchies=outcome.hierarchies if outcome.prepared is not None else None,
            origins=outcome.origins,
            marker=outcome.marker,
        )
        return {"linkage": plain(dataclasses.asdict(found))}

    return told(session.start("attack", work))
