"""Releases: made and described."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any, Literal

from fastapi import APIRouter
from pydantic import Field

import veil
from veil.api.relax import Relaxation
from veil.api.search import SearchResult
from veil.dp.publish import safepub_of
from veil.errors import NoSolutionError
from veil.plan.plan import ASK, Plan
from veil.recipe import Recipe
from veil.web.draft import checked_recipe, checked_steps, with_key
from veil.web.routes.base import Body, InSession, TaskStatus, status_of
from veil.web.routes.budgets import budget_of
from veil.web.routes.facts import LOOKING, facts, keep_release, score
from veil.web.routes.tables import Name
from veil.web.session import BrowserSession, OpenTable, SessionRelease
from veil.web.tasks import Cancelled, Task

router = APIRouter(tags=["releases"])


class Masks(Body):
    """Masking methods in order, the columns left out, and the quasi-identifiers of the output."""

    steps: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=50)]
    quasi_identifiers: Annotated[list[Name], Field(min_length=1, max_length=500)]
    without: Annotated[list[Name], Field(max_length=5000)] = Field(default_factory=list)
    person: Name | None = ASK
    order: Literal["random", "input"] = "random"


class Wish(Body):
    """A table and a recipe as plain data; by default those of the session."""

    table: Name | None = None
    recipe: dict[str, Any] | None = None
    masks: Annotated[Masks | None, Field(description="masking methods, instead of a recipe")] = None


@router.post("/releases", status_code=HTTPStatus.ACCEPTED)
def make(wish: Wish, session: InSession) -> TaskStatus:
    """Anonymize a table: search, apply, verify; or apply masking methods."""
    draft = session.history.draft
    table = session.table(wish.table or draft.table or "")
    if wish.masks is not None or (wish.recipe is None and draft.way == "masks"):
        masks = wish.masks or Masks(**draft.document())
        return status_of(session.start("anonymize", _masking(session, table, masks)))
    document = draft.recipe() if wish.recipe is None else wish.recipe
    recipe = checked_recipe(document)
    plan = recipe.plan()
    plan.check_columns(list(table.arrow.column_names))
    plan = with_key(plan, session.key_file)
    budget = budget_of(session, table) if safepub_of(plan) is not None else None

    def work(task: Task) -> dict[str, Any]:
        try:
            release = veil.anonymize(
                table.whole,
                plan,
                local=recipe.recoding,
                accountant=budget,
                progress=task.progress,
                cancel=task.is_stopped,
            )
        except NoSolutionError:
            if task.is_stopped():
                raise Cancelled from None  # there is no best solution so far
            raise
        task.report_progress(LOOKING)
        return keep_release(session, task, SessionRelease(release, table, document, facts(release)))

    return status_of(session.start("anonymize", work))


def _masking(session: BrowserSession, table: OpenTable, masks: Masks) -> Callable[[Task], dict[str, Any]]:
    methods = checked_steps(masks.steps, session.key_file)
    for name in (*masks.without, *masks.quasi_identifiers):
        table.require(name)

    def work(task: Task) -> dict[str, Any]:
        if table.relation is not None:
            source: Any = table.relation.table.drop(*masks.without) if masks.without else table.relation.table
        else:
            source = table.arrow.drop_columns(masks.without)
        release = veil.mask(
            source, methods, person=masks.person, order=masks.order, progress=task.report_progress
        )
        task.report_progress(LOOKING)
        quasi = [name for name in masks.quasi_identifiers if name in release.arrow.column_names]
        document = masks.model_dump()
        return keep_release(session, task, SessionRelease(release, table, document, facts(release, quasi)))

    return work


@router.post("/releases/relax", status_code=HTTPStatus.ACCEPTED)
def relax(wish: Wish, session: InSession) -> TaskStatus:
    """Return relaxations of a plan whose promises cannot all be kept, the cheapest first."""
    draft = session.history.draft
    table = session.table(wish.table or draft.table or "")
    recipe = checked_recipe(draft.recipe() if wish.recipe is None else wish.recipe)
    plan = recipe.plan()
    plan.check_columns(list(table.arrow.column_names))

    def work(task: Task) -> dict[str, Any]:
        relaxations = veil.relax(table.whole, plan, progress=task.report_progress, cancel=task.is_stopped)
        return {"relaxations": [_relaxation(each, plan) for each in relaxations]}

    return status_of(session.start("relax", work))


def _relaxation(relaxation: Relaxation, plan: Plan) -> dict[str, Any]:
    """Return a relaxation with its change of the plan."""
    step = Recipe.of(relaxation.plan).spell()["steps"][0]
    if relaxation.kind == "levels":
        assert relaxation.after is not None
        lowest = plan.minimum_levels.get(relaxation.name, 0)
        change: dict[str, Any] = {"levels": {relaxation.name: [lowest, relaxation.after]}}
    elif relaxation.kind == "suppression":
        change = {"suppression_limit": relaxation.after}
    else:
        change = {"models": step["models"], "preset": None}
    figures = {name: getattr(relaxation, name) for name in _FIELDS}
    return {**figures, "said": str(relaxation), "set": change}


_FIELDS = ("kind", "name", "parameter", "before", "after", "share", "proven", "keeps_promises")


@router.get("/releases/{id}")
def look(id: str, session: InSession) -> dict[str, Any]:
    """Return a release with its promises and the remaining risk."""
    entry = session.release(id)
    draft = session.history.draft
    return {
        "id": entry.id,
        "table": entry.table.id,
        "name": entry.table.name,
        "stem": entry.table.stem,
        "outdated": draft.table != entry.table.id or draft.document() != entry.recipe,
        "engine": None if entry.table.relation is None else entry.table.relation.kind,
        "order": entry.recipe.get("order", "random"),
        "not_anonymous": entry.not_anonymous,
        "steps": [{"name": str(each.method), "said": str(each)} for each in entry.release.steps],
        "search": None if entry.release.search is None else _search(entry.release.search),
        **entry.facts,
    }


def _search(search: SearchResult) -> dict[str, Any]:
    hierarchies = search._outcome.hierarchies
    return {
        "transformation": search.transformation,
        "level_names": search.level_names,
        "levels": {name: list(each.level_names) for name, each in hierarchies.items()},
        "score": score(search.score),
        "is_optimum": search.is_optimum,
        "proven_optimal": search.proven_optimal,
        "gap": search.gap,
        "ending": search.ending,
        "size": search.explored.size,
        "evaluated": len(search.explored.evaluated),
        "minimum": list(search.explored.minimum),
        "maximum": list(search.explored.maximum),
        "curve": [[seconds, checks, score[0]] for seconds, checks, score in search.curve],
    }
