"""Risks of a release: before and after, and attacks."""

from __future__ import annotations

import dataclasses
from http import HTTPStatus
from typing import Annotated, Any, Literal

import pyarrow as pa
from fastapi import APIRouter
from pydantic import Field

import veil
from veil.web.draft import require_key
from veil.web.problems import Refused
from veil.web.routes.base import Body, InSession, TaskStatus, status_of
from veil.web.routes.facts import plain
from veil.web.routes.tables import Name
from veil.web.session import SessionRelease
from veil.web.tasks import Task

router = APIRouter(tags=["releases"])


class Threshold(Body):
    """A threshold of risk, the population as a size or a region, and columns of weights and households."""

    threshold: Annotated[float, Field(gt=0, le=1)] = 0.2
    population: Annotated[int, Field(ge=1, le=10**11)] | Annotated[str, Field(max_length=100)] | None = None
    weights: Annotated[Name | None, Field(description="column of sampling weights")] = None
    household: Annotated[Name | None, Field(description="column that tells who lives together")] = None


@router.post("/releases/{id}/risk", status_code=HTTPStatus.ACCEPTED)
def risk(id: str, options: Threshold, session: InSession) -> TaskStatus:
    """Measure the risks: three attackers, the distribution of risk, and the columns that cause it."""
    entry = session.release(id)
    for name in (options.weights, options.household):
        if name is not None:
            entry.table.require(name)

    def work(task: Task) -> dict[str, Any]:
        task.report_progress("measuring the risks of the input", 0, 2)
        limits: dict[str, Any] = {"threshold": options.threshold, "population": options.population}
        sampling: dict[str, Any] = {"weights": options.weights, "household": options.household}
        quasi, left, person = _quasi_before(entry), _quasi_after(entry), _person(entry)
        before = veil.risk.analyze(_whole(entry), quasi, untouched=True, person=person, **limits, **sampling)
        task.report_progress("measuring the risks of the release", 1, 2)
        if options.weights is None and options.household is None:
            after = veil.risk.analyze(entry.release, left, **limits)
        else:
            outcome = entry.release.outcome
            names = outcome.quasi_identifiers if left is None else left
            after = veil.risk.analyze(
                _with_columns(entry, sampling), names, marker=outcome.marker, **limits, **sampling
            )
        return {
            "before": plain(before.to_dict()),
            "after": plain(after.to_dict()),
            "certain": _certain(entry, quasi, left, person),
        }

    return status_of(session.start("risk", work))


def _whole(entry: SessionRelease) -> Any:
    return entry.table.arrow if entry.table.relation is None else entry.table.relation.table


def _quasi_before(entry: SessionRelease) -> list[str]:
    """Return the quasi-identifiers of the input."""
    return list(entry.roles["quasi_identifiers"])


def _quasi_after(entry: SessionRelease) -> list[str] | None:
    """Return the quasi-identifiers of a masked release; None if a plan has made it and knows them."""
    if not entry.is_masked:
        return None
    return [name for name in _quasi_before(entry) if name in entry.release.arrow.column_names]


def _person(entry: SessionRelease) -> str | None:
    outcome = entry.release.outcome
    return None if outcome.before.owners.are_records else outcome.person_column


def _with_columns(entry: SessionRelease, columns: dict[str, str | None]) -> pa.Table:
    """Return the release with columns of the input, row by row: sampling weights stay valid."""
    table = entry.release.arrow
    for name in columns.values():
        if name is not None and name not in table.column_names:
            table = table.append_column(name, entry.table.arrow[name].take(entry.release.outcome.origins))
    return table


def _certain(
    entry: SessionRelease, quasi: list[str], left: list[str] | None, person: str | None
) -> list[dict[str, Any]]:
    """Return the shares of people whose sensitive values are certain, before and after."""
    if entry.table.relation is not None:
        return []
    names = [name for name in entry.roles.get("sensitive", []) if name in entry.release.arrow.column_names]
    before = veil.risk.certain_values(entry.table.arrow, quasi, names, person=person, untouched=True)
    after = veil.risk.certain_values(entry.release, left, names)
    return [
        {"column": old.column, "before": old.share, "after": new.share}
        for old, new in zip(before, after, strict=True)
    ]


class Seen(Body):
    """The table to look at, and whether values are returned."""

    of: Literal["before", "after"] = "before"
    values: Annotated[bool, Field(description="show the values, which are personal data")] = False


@router.post("/releases/{id}/riskiest", status_code=HTTPStatus.ACCEPTED)
def riskiest(id: str, options: Seen, session: InSession) -> TaskStatus:
    """Return the ten combinations with the highest risk; their values only on request."""
    entry = session.release(id)

    def work(task: Task) -> dict[str, Any]:
        task.report_progress("looking for the riskiest combinations")
        if options.of == "before":
            combinations = veil.risk.riskiest(
                _whole(entry), _quasi_before(entry), person=_person(entry), untouched=True
            )
        else:
            combinations = veil.risk.riskiest(entry.release, _quasi_after(entry))
        rows = [dataclasses.asdict(each) for each in combinations]
        if not options.values:
            rows = [{**each, "values": None} for each in rows]
        return {"of": options.of, "combinations": plain(rows)}

    return status_of(session.start("riskiest", work))


class AttackerBody(Body):
    """Columns an attacker knows or wants to learn; by default quasi-identifiers and sensitive columns."""

    known: Annotated[list[Name], Field(min_length=1, max_length=500)] | None = None
    secrets: Annotated[list[Name], Field(max_length=50)] | None = None


@router.post("/releases/{id}/attack", status_code=HTTPStatus.ACCEPTED)
def attack(id: str, session: InSession, body: AttackerBody | None = None) -> TaskStatus:
    """Run attacks: link the people of the input with the release; with held-out people as a control, single
    out, link and infer.
    """
    entry = session.release(id)
    attacker = body or AttackerBody()
    for name in (*(attacker.known or ()), *(attacker.secrets or ())):
        entry.table.require(name)
    require_key(entry.recipe, session.key_file)  # for the release of one half of the people

    def work(task: Task) -> dict[str, Any]:
        if entry.table.relation is not None:
            raise Refused(
                HTTPStatus.UNPROCESSABLE_ENTITY, "an engine holds the rows, and linking needs them in memory"
            )
        outcome, there = entry.release.outcome, entry.release.arrow.column_names
        columns = [name for name in attacker.known or _quasi_before(entry) if name in there]
        attempts = entry.release.attacks(
            known=columns, secrets=attacker.secrets, progress=task.report_progress, cancel=task.is_stopped
        )
        task.check()
        task.report_progress("linking records")
        linkage = veil.risk.linkage_experiment(
            entry.table.arrow,
            entry.release.arrow,
            columns,
            hierarchies=outcome.hierarchies if outcome.prepared is not None else None,
            origins=outcome.origins,
            marker=outcome.marker,
            person=None,  # by record; the attacks above count people
        )
        return {"linkage": plain(dataclasses.asdict(linkage)), "tried": plain(attempts.to_dict())}

    return status_of(session.start("attack", work))
