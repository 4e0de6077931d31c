"""Releases: made, and told about."""

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
from veil.web.jobs import Cancelled, Task
from veil.web.routes.base import Body, InSession, JobTold, told
from veil.web.routes.budgets import budget_of
from veil.web.routes.facts import LOOKING, facts, kept, score
from veil.web.routes.tables import Name
from veil.web.session import BrowserSession, OpenTable, SessionRelease

router = APIRouter(tags=["releases"])


class Masks(Body):
    """Masking methods in their order, what they leave out, and what an attacker may know of what they make."""

    steps: Annotated[list[dict[str, Any]], Field(min_length=1, max_length=50)]
    quasi_identifiers: Annotated[list[Name], Field(min_length=1, max_length=500)]
    without: Annotated[list[Name], Field(max_length=5000)] = Field(default_factory=list)
    person: Name | None = ASK
    order: Literal["random", "input"] = "random"


class Wish(Body):
    """A table and a recipe as plain data; without them, those of the session."""

    table: Name | None = None
    recipe: dict[str, Any] | None = None
    masks: Annotated[Masks | None, Field(description="masking methods, instead of a recipe")] = None


@router.post("/releases", status_code=HTTPStatus.ACCEPTED)
def make(wish: Wish, session: InSession) -> JobTold:
    """Anonymize a table: search, apply, verify; or let masking methods change it."""
    draft = session.history.draft
    table = session.table(wish.table or draft.table or "")
    if wish.masks is not None or (wish.recipe is None and draft.way == "masks"):
        masks = wish.masks or Masks(**draft.document())
        return told(session.start("anonymize", _masking(session, table, masks)))
    asked = draft.recipe() if wish.recipe is None else wish.recipe
    recipe = checked_recipe(asked)
    plan = recipe.plan()
    plan.check_columns(list(table.arrow.column_names))
    plan = with_key(plan, session.key_file)
    budget = budget_of(session, table) if safepub_of(plan) is not None else None

    def work(job: Task) -> dict[str, Any]:
        try:
            release = veil.anonymize(
                table.whole,
                plan,
                local=recipe.local_recoding,
                accountant=budget,
                progress=job.progress,
                cancel=job.asked_to_stop,
            )
        except NoSolutionError:
            if job.asked_to_stop():
                raise Cancelled from None  # before anything was found: there is no best so far
            raise
        job.tell(LOOKING, 0, 0, "")
        return kept(session, job, SessionRelease(release, table, asked, facts(release)))

    return told(session.start("anonymize", work))


def _masking(session: BrowserSession, table: OpenTable, asked: Masks) -> Callable[[Task], dict[str, Any]]:
    methods = checked_steps(asked.steps, session.key_file)
    for name in (*asked.without, *asked.quasi_identifiers):
        table.require(name)

    def work(job: Task) -> dict[str, Any]:
        if table.held is not None:
            source: Any = table.held.table.drop(*asked.without) if asked.without else table.held.table
        else:
            source = table.arrow.drop_columns(asked.without)
        release = veil.mask(source, methods, person=asked.person, order=asked.order, progress=job.tell)
        job.tell(LOOKING, 0, 0, "")
        quasi = [name for name in asked.quasi_identifiers if name in release.arrow.column_names]
        document = asked.model_dump()
        return kept(session, job, SessionRelease(release, table, document, facts(release, quasi)))

    return work


@router.post("/releases/relax", status_code=HTTPStatus.ACCEPTED)
def relax(wish: Wish, session: InSession) -> JobTold:
    """Tell what would have to be relaxed where nothing fulfils all promises, the cheapest first."""
    draft = session.history.draft
    table = session.table(wish.table or draft.table or "")
    recipe = checked_recipe(draft.recipe() if wish.recipe is None else wish.recipe)
    plan = recipe.plan()
    plan.check_columns(list(table.arrow.column_names))

    def work(job: Task) -> dict[str, Any]:
        found = veil.relax(table.whole, plan, progress=job.tell, cancel=job.asked_to_stop)
        return {"relaxations": [_relaxation(each, plan) for each in found]}

    return told(session.start("relax", work))


def _relaxation(each: Relaxation, plan: Plan) -> dict[str, Any]:
    """Tell a way out, with the change of the plan that it is."""
    spelled = Recipe.of(each.plan).spell()
    if each.kind == "levels":
        assert each.after is not None
        change: dict[str, Any] = {"levels": {each.name: [plan.minimum_levels.get(each.name, 0), each.after]}}
    elif each.kind == "suppression":
        change = {"suppression_limit": each.after}
    else:
        change = {"models": spelled["models"], "preset": None}
    told = {name: getattr(each, name) for name in _TOLD}
    return {**told, "keeps_promises": each.keeps_promises, "said": str(each), "set": change}


_TOLD = ("kind", "name", "parameter", "before", "after", "share", "proven")


@router.get("/releases/{id}")
def look(id: str, session: InSession) -> dict[str, Any]:
    """Tell what a release is, what it promises and what is left of risk."""
    made = session.release(id)
    draft = session.history.draft
    return {
        "id": made.id,
        "table": made.table.id,
        "name": made.table.name,
        "stem": made.table.stem,
        "outdated": draft.table != made.table.id or draft.document() != made.recipe,
        "engine": None if made.table.held is None else made.table.held.kind,
        "order": made.recipe.get("order", "random"),
        "not_anonymous": made.not_anonymous,
        "steps": [{"name": str(each.method), "said": str(each)} for each in made.release.steps],
        "search": None if made.release.search is None else _search(made.release.search),
        **made.facts,
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
