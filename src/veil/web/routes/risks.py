"""What could still go wrong with a release: risks before and after, and attacks that are tried."""

from __future__ import annotations

import dataclasses
from http import HTTPStatus
from typing import Annotated, Any, Literal

import pyarrow as pa
from fastapi import APIRouter
from pydantic import Field

import veil
from veil.web.draft import require_key
from veil.web.jobs import Task
from veil.web.problems import Refused
from veil.web.routes.base import Body, InSession, JobTold, told
from veil.web.routes.facts import plain
from veil.web.routes.tables import Name
from veil.web.session import SessionRelease

router = APIRouter(tags=["releases"])


class Threshold(Body):
    """The risk above which a record is at risk; the people the table was drawn from, as a number or a region; and columns with
    the sampling weight of each record and with the household it belongs to.
    """

    threshold: Annotated[float, Field(gt=0, le=1)] = 0.2
    population: Annotated[int, Field(ge=1, le=10**11)] | Annotated[str, Field(max_length=100)] | None = None
    weights: Annotated[Name | None, Field(description="column of sampling weights")] = None
    household: Annotated[Name | None, Field(description="column that tells who lives together")] = None


@router.post("/releases/{id}/risk", status_code=HTTPStatus.ACCEPTED)
def risk(id: str, asked: Threshold, session: InSession) -> JobTold:
    """Tell what could still go wrong: three attackers, the distribution of risk, and which columns do it."""
    made = session.release(id)
    for name in (asked.weights, asked.household):
        if name is not None:
            made.table.require(name)

    def work(job: Task) -> dict[str, Any]:
        job.tell("measuring the risks of the input", 0, 2, "")
        limits: dict[str, Any] = {"threshold": asked.threshold, "population": asked.population}
        drawn: dict[str, Any] = {"weights": asked.weights, "household": asked.household}
        known, left, person = _known(made), _left(made), _person(made)
        before = veil.risk.analyze(_whole(made), known, untouched=True, person=person, **limits, **drawn)
        job.tell("measuring the risks of the release", 1, 2, "")
        if asked.weights is None and asked.household is None:
            after = veil.risk.analyze(made.release, left, **limits)
        else:
            outcome = made.release.outcome
            names = outcome.quasi_identifiers if left is None else left
            after = veil.risk.analyze(
                _with_columns(made, drawn), names, marker=outcome.marker, **limits, **drawn
            )
        return {
            "before": plain(before.to_dict()),
            "after": plain(after.to_dict()),
            "certain": _certain(made, known, left, person),
        }

    return told(session.start("risk", work))


def _whole(made: SessionRelease) -> Any:
    return made.table.arrow if made.table.held is None else made.table.held.table


def _known(made: SessionRelease) -> list[str]:
    """Return what an attacker may know of the input."""
    return list(made.recipe["quasi_identifiers"])


def _left(made: SessionRelease) -> list[str] | None:
    """Return what an attacker may know of the release: of a plan it says so itself."""
    if made.recipe.get("steps") is None:
        return None
    return [name for name in _known(made) if name in made.release.arrow.column_names]


def _person(made: SessionRelease) -> str | None:
    outcome = made.release.outcome
    return None if outcome.before.owners.are_records else outcome.person_column


def _with_columns(made: SessionRelease, columns: dict[str, str | None]) -> pa.Table:
    """Return the release with columns of the input, row by row: what a sampling weight says stays true of what was made."""
    table = made.release.arrow
    for name in columns.values():
        if name is not None and name not in table.column_names:
            table = table.append_column(name, made.table.arrow[name].take(made.release.outcome.origins))
    return table


def _certain(
    made: SessionRelease, known: list[str], left: list[str] | None, person: str | None
) -> list[dict[str, Any]]:
    """Tell whose sensitive values are learned for certain, before and after."""
    if made.table.held is not None:
        return []
    names = [name for name in made.recipe.get("sensitive", []) if name in made.release.arrow.column_names]
    before = veil.risk.certain_values(made.table.arrow, known, names, person=person, untouched=True)
    after = veil.risk.certain_values(made.release, left, names)
    return [
        {"column": old.column, "before": old.share, "after": new.share}
        for old, new in zip(before, after, strict=True)
    ]


class Seen(Body):
    """Of which table, and whether the values themselves may be shown."""

    of: Literal["before", "after"] = "before"
    values: Annotated[bool, Field(description="show the values, which are personal data")] = False


@router.post("/releases/{id}/riskiest", status_code=HTTPStatus.ACCEPTED)
def riskiest(id: str, asked: Seen, session: InSession) -> JobTold:
    """Tell the ten combinations by which people are found most easily; their values only if that is asked for."""
    made = session.release(id)

    def work(job: Task) -> dict[str, Any]:
        job.tell("looking for the riskiest combinations", 0, 0, "")
        if asked.of == "before":
            found = veil.risk.riskiest(_whole(made), _known(made), person=_person(made), untouched=True)
        else:
            found = veil.risk.riskiest(made.release, _left(made))
        shown = [dataclasses.asdict(each) for each in found]
        if not asked.values:
            shown = [{**each, "values": None} for each in shown]
        return {"of": asked.of, "combinations": plain(shown)}

    return told(session.start("riskiest", work))


class AttackerBody(Body):
    """What the attacker is taken to know, and wants to learn; without it, the quasi-identifiers and the sensitive columns."""

    known: Annotated[list[Name], Field(min_length=1, max_length=500)] | None = None
    secrets: Annotated[list[Name], Field(max_length=50)] | None = None


@router.post("/releases/{id}/attack", status_code=HTTPStatus.ACCEPTED)
def attack(id: str, session: InSession, asked: AttackerBody | None = None) -> JobTold:
    """Try attacks: link the people of the input with the release; and against people who were held out, single out, link
    and infer.
    """
    made = session.release(id)
    wanted = asked or AttackerBody()
    for name in (*(wanted.known or ()), *(wanted.secrets or ())):
        made.table.require(name)
    require_key(made.recipe, session.key_file)  # a release is made of half of the people

    def work(job: Task) -> dict[str, Any]:
        if made.table.held is not None:
            raise Refused(
                HTTPStatus.UNPROCESSABLE_ENTITY, "an engine holds the rows, and linking needs them in memory"
            )
        outcome, there = made.release.outcome, made.release.arrow.column_names
        known = [name for name in wanted.known or _known(made) if name in there]
        tried = made.release.attacks(
            known=known, secrets=wanted.secrets, progress=job.tell, cancel=job.asked_to_stop
        )
        job.check()
        job.tell("linking records", 0, 0, "")
        found = veil.risk.linkage_experiment(
            made.table.arrow,
            made.release.arrow,
            known,
            hierarchies=outcome.hierarchies if outcome.prepared is not None else None,
            origins=outcome.origins,
            marker=outcome.marker,
            person=None,  # record by record, beside the attacks that know who is who
        )
        return {"linkage": plain(dataclasses.asdict(found)), "tried": plain(tried.to_dict())}

    return told(session.start("attack", work))
