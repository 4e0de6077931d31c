"""Releases: made and described."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field

import veil
from veil.api.cell_search import CellSearch
from veil.api.relax import Relaxation
from veil.api.release import Release
from veil.api.search import SearchResult
from veil.dp.publish import safepub_of
from veil.errors import NoSolutionError
from veil.outcome.cell_trace import CellTrace
from veil.plan.plan import ASK, Plan
from veil.recipe import Recipe
from veil.web.body import Body, Name
from veil.web.draft import checked_recipe, checked_steps, with_key, without_fields
from veil.web.facts import Facts, score
from veil.web.languages import LANGUAGES, translate
from veil.web.open_table import OpenTable
from veil.web.routes.base import InSession, OfRelease, keep_release
from veil.web.routes.budgets import budget_of
from veil.web.session import BrowserSession
from veil.web.tasks import Cancelled, Task, TaskStatus

router = APIRouter(tags=["releases"])


class Masks(Body):
    """Masking methods in order, the columns left out, and the quasi-identifiers of the output."""

    steps: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=50)]
    quasi_identifiers: Annotated[list[Name], Field(min_length=1, max_length=500)]
    without: Annotated[list[Name], Field(max_length=5000)] = Field(default_factory=list)
    person: Name | None = ASK
    order: Literal["random", "input"] = "random"


class TableAndRecipe(Body):
    """A table and a recipe as plain data; by default those of the session."""

    table: Name | None = None
    recipe: dict[str, Any] | None = None

    def table_and_recipe(
        self, session: BrowserSession, without: Sequence[str] = ()
    ) -> tuple[OpenTable, dict[str, Any], Plan]:
        """Return the table, and the recipe as plain data and as a plan that fits the table, without some fields."""
        table = session.table(self.table)
        document = session.history.draft.recipe() if self.recipe is None else self.recipe
        plan = checked_recipe(without_fields(document, without)).plan_of_input()
        plan.check_columns(list(table.arrow.column_names))
        return table, document, plan


class ReleaseBody(TableAndRecipe):
    """A table, and a recipe or masking methods; by default those of the session."""

    masks: Annotated[Masks | None, Field(description="masking methods, instead of a recipe")] = None


@router.post("/releases", status_code=HTTPStatus.ACCEPTED)
def make(body: ReleaseBody, session: InSession) -> TaskStatus:
    """Anonymize a table: search, apply, verify; or apply masking methods."""
    draft = session.history.draft
    if body.masks is not None or (body.recipe is None and draft.way == "masks"):
        return _mask(session, session.table(body.table), body.masks or Masks(**draft.document()))
    table, document, plan = body.table_and_recipe(session)
    plan = with_key(plan, session.key_file)
    budget = budget_of(session, table) if safepub_of(plan) is not None else None

    def work(task: Task) -> dict[str, str]:
        try:
            release = veil.anonymize(
                table.whole,
                plan,
                accountant=budget,
                progress=task.progress,
                cancel=task.is_stopped,
            )
        except NoSolutionError:
            if task.is_stopped():
                raise Cancelled from None  # there is no best solution so far
            raise
        return keep_release(session, task, release, table, document)

    return session.start("anonymize", work)


def _mask(session: BrowserSession, table: OpenTable, masks: Masks) -> TaskStatus:
    methods = checked_steps(masks.steps, session.key_file)
    for name in (*masks.without, *masks.quasi_identifiers):
        table.require(name)

    def work(task: Task) -> dict[str, str]:
        release = veil.mask(
            table.as_table(masks.without),
            methods,
            person=masks.person,
            order=masks.order,
            progress=task.report_progress,
        )
        return keep_release(session, task, release, table, masks.model_dump())

    return session.start("anonymize", work)


@router.post("/releases/relax", status_code=HTTPStatus.ACCEPTED)
def relax(body: TableAndRecipe, session: InSession) -> TaskStatus:
    """Return relaxations of a plan whose promises cannot all be kept, the cheapest first."""
    table, _, plan = body.table_and_recipe(session)

    def work(task: Task) -> dict[str, list[dict[str, object]]]:
        relaxations = veil.relax(table.whole, plan, progress=task.report_progress, cancel=task.is_stopped)
        return {"relaxations": [_relaxation(each, plan) for each in relaxations]}

    return session.start("relax", work)


def _relaxation(relaxation: Relaxation, plan: Plan) -> dict[str, object]:
    """Return a relaxation with its change of the plan."""
    if relaxation.kind == "levels":
        assert relaxation.after is not None
        lowest = plan.minimum_levels.get(relaxation.name, 0)
        change: dict[str, object] = {"levels": {relaxation.name: [lowest, relaxation.after]}}
    elif relaxation.kind == "suppression":
        change = {"suppression_limit": relaxation.after}
    else:
        change = {"models": Recipe.of(relaxation.plan).spell()["steps"][0]["models"], "preset": None}
    figures = {name: getattr(relaxation, name) for name in _FIELDS}
    return {**figures, "said": str(relaxation), "set": change}


_FIELDS = ("kind", "name", "parameter", "before", "after", "share", "proven", "keeps_promises")


@dataclass(frozen=True, kw_only=True)
class ReleaseStatus(Facts):
    """A release with its figures, the masking methods that made it, or its search.

    `search` is that of one level for each column, `recoding` that of labels for each value or record.
    """

    id: str
    table: str
    name: str
    stem: str
    outdated: bool
    engine: str | None
    order: str
    not_anonymous: str | None
    steps: list[dict[str, str]]
    search: dict[str, Any] | None
    recoding: dict[str, Any] | None


@router.get("/releases/{id}")
def look(entry: OfRelease, session: InSession) -> ReleaseStatus:
    """Return a release with its promises and the remaining risk."""
    draft = session.history.draft
    return ReleaseStatus(
        **vars(entry.facts),
        id=entry.id,
        table=entry.table.id,
        name=entry.table.name,
        stem=entry.table.stem,
        outdated=draft.table != entry.table.id or draft.document() != entry.recipe,
        engine=entry.table.engine,
        order=entry.recipe.get("order", "random"),
        not_anonymous=entry.not_anonymous,
        steps=[{"name": str(each.method), "said": str(each)} for each in entry.release.steps],
        search=None if entry.release.lattice is None else _search(entry.release.lattice),
        recoding=_recoding(entry.release),
    )


def _search(search: SearchResult) -> dict[str, Any]:
    explored, hierarchies = search.explored, search._outcome.hierarchies
    return {name: getattr(search, name) for name in _OF_SEARCH} | {
        "levels": {name: list(each.level_names) for name, each in hierarchies.items()},
        "score": score(search.score),
        "size": explored.size,
        "evaluated": len(explored.evaluated),
        "minimum": list(explored.minimum),
        "maximum": list(explored.maximum),
        "curve": [[seconds, checks, score[0]] for seconds, checks, score in search.curve],
    }


def _recoding(release: Release) -> dict[str, Any] | None:
    trace = release.outcome.trace(CellTrace)
    if trace is None or not isinstance(release.search, CellSearch) or release.plan is None:
        return None
    seconds = itertools.accumulate((max(0.0, at) for at, _ in release.search.curve), max)
    return {name: getattr(release.search, name) for name in _OF_RECODING} | {
        "kind": type(release.plan.recoding).__name__,
        "sentence": {language: translate(trace.sentence, language) for language in LANGUAGES},
        # Times without those of compiling may go back.
        "curve": [[at, None, loss] for at, (_, loss) in zip(seconds, release.search.curve, strict=True)],
    }


_OF_RECODING = ("score", "lower_bound", "gap", "proven_optimal", "ending")
_OF_SEARCH = ("transformation", "level_names", "is_optimum", "proven_optimal", "gap", "ending")
