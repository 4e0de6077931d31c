"""Risks of a release: before and after, and attacks."""

from __future__ import annotations

import dataclasses
from http import HTTPStatus
from typing import Annotated, Any, Literal

import pyarrow as pa
from fastapi import APIRouter
from pydantic import Field

import veil
from veil.web.body import Body, Name
from veil.web.draft import require_key
from veil.web.routes.base import InSession, OfRelease
from veil.web.session import SessionRelease
from veil.web.tasks import Task, TaskStatus

router = APIRouter(tags=["releases"])


class Threshold(Body):
    """A threshold of risk, the population as a size or a region, and columns of weights and households."""

    threshold: Annotated[float, Field(gt=0, le=1)] = 0.2
    population: Annotated[int, Field(ge=1, le=10**11)] | Annotated[str, Field(max_length=100)] | None = None
    weights: Annotated[Name | None, Field(description="column of sampling weights")] = None
    household: Annotated[Name | None, Field(description="column that tells who lives together")] = None


@router.post("/releases/{id}/risk", status_code=HTTPStatus.ACCEPTED)
def risk(options: Threshold, entry: OfRelease, session: InSession) -> TaskStatus:
    """Measure the risks: three attackers, the distribution of risk, and the columns that cause it."""
    for name in (options.weights, options.household):
        if name is not None:
            entry.table.require(name)

    def work(task: Task) -> dict[str, object]:
        task.report_progress("measuring the risks of the input", 0, 2)
        limits: dict[str, Any] = {"threshold": options.threshold, "population": options.population}
        sampling: dict[str, Any] = {"weights": options.weights, "household": options.household}
        quasi, left, person = entry.roles["quasi_identifiers"], entry.quasi_identifiers, _person(entry)
        before = veil.risk.analyze(
            entry.table.as_table(), list(quasi), untouched=True, person=person, **limits, **sampling
        )
        task.report_progress("measuring the risks of the release", 1, 2)
        if options.weights is None and options.household is None:
            after = veil.risk.analyze(entry.release, left, **limits)
        else:
            outcome = entry.release.outcome
            names = outcome.quasi_identifiers if left is None else left
            after = veil.risk.analyze(
                _with_columns(entry, sampling), names, marker=outcome.marker, **limits, **sampling
            )
        return {"before": before.to_dict(), "after": after.to_dict(), "certain": _certain(entry, person)}

    return session.start("risk", work)


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


def _certain(entry: SessionRelease, person: str | None) -> list[dict[str, str | float]]:
    """Return the shares of people whose sensitive values are certain, before and after."""
    if entry.table.engine is not None:
        return []
    names = [name for name in entry.roles.get("sensitive", []) if name in entry.release.arrow.column_names]
    quasi = list(entry.roles["quasi_identifiers"])
    before = veil.risk.certain_values(entry.table.arrow, quasi, names, person=person, untouched=True)
    after = veil.risk.certain_values(entry.release, entry.quasi_identifiers, names)
    return [
        {"column": old.column, "before": old.share, "after": new.share}
        for old, new in zip(before, after, strict=True)
    ]


class RiskiestBody(Body):
    """The table to look at, and whether values are returned."""

    of: Literal["before", "after"] = "before"
    values: Annotated[bool, Field(description="show the values, which are personal data")] = False


@router.post("/releases/{id}/riskiest", status_code=HTTPStatus.ACCEPTED)
def riskiest(options: RiskiestBody, entry: OfRelease, session: InSession) -> TaskStatus:
    """Return the ten combinations with the highest risk; their values only on request."""

    def work(task: Task) -> dict[str, object]:
        task.report_progress("looking for the riskiest combinations")
        if options.of == "before":
            quasi = list(entry.roles["quasi_identifiers"])
            combinations = veil.risk.riskiest(
                entry.table.as_table(), quasi, person=_person(entry), untouched=True
            )
        else:
            combinations = veil.risk.riskiest(entry.release, entry.quasi_identifiers)
        withheld = {} if options.values else {"values": None}
        return {
            "of": options.of,
            "combinations": [dataclasses.asdict(each) | withheld for each in combinations],
        }

    return session.start("riskiest", work)


class AttackerBody(Body):
    """Columns an attacker knows or wants to learn; by default quasi-identifiers and sensitive columns."""

    known: Annotated[list[Name], Field(min_length=1, max_length=500)] | None = None
    secrets: Annotated[list[Name], Field(max_length=50)] | None = None


@router.post("/releases/{id}/attack", status_code=HTTPStatus.ACCEPTED)
def attack(entry: OfRelease, session: InSession, body: AttackerBody | None = None) -> TaskStatus:
    """Run attacks: link the people of the input with the release; with held-out people as a control, single
    out, link and infer.
    """
    attacker = body or AttackerBody()
    for name in (*(attacker.known or ()), *(attacker.secrets or ())):
        entry.table.require(name)
    require_key(entry.recipe, session.key_file)  # for the release of one half of the people

    def work(task: Task) -> dict[str, object]:
        rows = entry.table.in_memory(", and linking needs them in memory")
        outcome, there = entry.release.outcome, entry.release.arrow.column_names
        columns = [name for name in attacker.known or entry.roles["quasi_identifiers"] if name in there]
        attempts = entry.release.attacks(
            known=columns, secrets=attacker.secrets, progress=task.report_progress, cancel=task.is_stopped
        )
        task.check()
        task.report_progress("linking records")
        linkage = veil.risk.linkage_experiment(
            rows,
            entry.release.arrow,
            columns,
            hierarchies=outcome.hierarchies if outcome.prepared is not None else None,
            origins=outcome.origins,
            marker=outcome.marker,
            person=None,  # by record; the attacks above count people
        )
        return {"linkage": linkage, "tried": attempts.to_dict()}

    return session.start("attack", work)
