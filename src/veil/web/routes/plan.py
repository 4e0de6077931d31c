"""The plan: read, changed, undone, and written as code; and previews of its hierarchies."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
from fastapi import APIRouter
from numpy.typing import NDArray
from pydantic import Field

from veil.base.keys import read_key
from veil.errors import ParameterError, VeilError
from veil.hierarchies import Categories, Preview, ProposedHierarchy, preview
from veil.hierarchies import proposals as suggest
from veil.models import KAnonymity
from veil.plan.plan import ASK, Plan
from veil.plan.recoding import RECODINGS
from veil.recipe.as_code import python_code
from veil.recipe.document import parse
from veil.recipe.recipe import Recipe
from veil.tables.spelling import read_person
from veil.tables.text import canonical_text
from veil.web.body import Body, Cell, Name
from veil.web.draft import KEY_FILE, Draft, checked_recipe, draft_of_recipe, without_fields
from veil.web.open_table import OpenTable
from veil.web.problems import Refused, sentence
from veil.web.routes.base import InSession
from veil.web.session import BrowserSession

router = APIRouter(tags=["plan"])


@dataclass(frozen=True)
class PlanCode:
    """The plan as a recipe, in Python, and as a command."""

    recipe: str
    python: str
    command: str


@dataclass(frozen=True)
class PlanStatus:
    """The draft, the changes that can be undone and redone, its gaps, its problem, and its code.

    `refused` has the reason of each kind of recoding that the rest of the plan does not allow.
    """

    version: int
    draft: Draft
    undo: str | None
    redo: str | None
    changes: Sequence[str]
    missing: list[dict[str, str]]
    problem: str | None
    refused: dict[str, str]
    code: PlanCode | None
    has_key: bool


def describe_plan(session: BrowserSession) -> PlanStatus:
    """Return the draft, its gaps, its problem, and its code."""
    history, draft, table = session.history, session.history.draft, session.current_table
    columns = [] if table is None else list(table.arrow.column_names)
    missing = draft.missing(columns)
    if table is not None and draft.way == "search" and (open_ := _uncovered(draft, table)):
        after = [at for at, each in enumerate(missing) if each["step"] == "promises"]
        gap = {"step": "levels", "what": "not covered", "columns": ", ".join(open_)}
        missing.insert(after[0] if after else len(missing), gap)
    if draft.keyed and draft.pseudonyms and session.key_file is None:
        missing.insert(0, {"step": "roles", "what": "no key"})
    problem, code, refused = None, None, {}
    if not missing and table is not None:
        try:
            code = _code(draft, table.name, columns)
        except (VeilError, Refused) as error:
            problem = sentence(error)
        if draft.way == "search":
            refused = _refused_recodings(draft)
    changes = history.changes
    undo, has_key = changes[-1] if changes else None, session.key_file is not None
    return PlanStatus(
        history.version, draft, undo, history.undone, changes, missing, problem, refused, code, has_key
    )


def _uncovered(draft: Draft, table: OpenTable) -> list[str]:
    """Return the columns with values that an explicit hierarchy does not have."""
    columns = []
    for name in draft.columns("quasi-identifying"):
        spec = draft.hierarchies.get(name)
        if isinstance(spec, Mapping) and spec.get("kind") in ("table", "categories"):
            try:
                builder = checked_recipe(_recipe(name, spec)).generalize.quasi_identifiers[name]
            except (VeilError, Refused):
                continue  # reported once the plan is complete
            columns += [name] if table.uncovered(name, builder) else []
    return columns


def _code(draft: Draft, table: str, columns: list[str]) -> PlanCode:
    if draft.way == "masks":
        return _masking_code(draft, table)
    recipe = checked_recipe(draft.recipe())
    plan = recipe.plan()
    plan.check_columns(columns)
    plan.recoding.first(plan)
    return PlanCode(
        draft.text_of(table, recipe.spell()),
        python_code(recipe, table),
        "veil anonymize recipe.yaml --certificate certificate.json --report report.html",
    )


def _refused_recodings(draft: Draft) -> dict[str, str]:
    """Return why kinds of recoding are refused; nothing if something else is wrong with the plan."""
    try:
        plan = checked_recipe(without_fields(draft.recipe(), ["recoding"])).plan()
    except (VeilError, Refused):
        return {}
    refused = {}
    for kind, recoding in RECODINGS.items():
        try:
            changed = dataclasses.replace(plan, recoding=recoding())
            changed.recoding.first(changed)
        except VeilError as error:
            refused[kind] = sentence(error)
    return refused


def _masking_code(draft: Draft, table: str) -> PlanCode:
    document = draft.document()
    fields = {name: document[name] for name in ("person", "order", "steps")}
    python = python_code(checked_recipe(fields), table, without=document["without"])
    if document["without"]:
        # A recipe of masking methods cannot leave columns out: identifying columns would be in its output.
        return PlanCode("", python, "")
    fields = {name: value for name, value in fields.items() if value not in (ASK, "random")}
    return PlanCode(draft.text_of(table, fields), python, "veil mask recipe.yaml")


@router.get("/plan")
def look(session: InSession) -> PlanStatus:
    """Return the plan."""
    return describe_plan(session)


class Change(Body):
    """A change of the plan with a description. In `set`, null removes a field (RFC 7396)."""

    version: int | None = None
    words: Annotated[str, Field(min_length=1, max_length=500)]
    set: dict[str, Any]


@router.patch("/plan")
def change(patch: Change, session: InSession) -> PlanStatus:
    """Change the plan; 409 if it has changed since `version`."""
    with session.lock:
        session.history.change(patch.version, patch.words, patch.set)
        return describe_plan(session)


@router.post("/plan/undo")
def undo(session: InSession) -> PlanStatus:
    """Undo the last change."""
    with session.lock:
        session.history.step(-1)
        return describe_plan(session)


@router.post("/plan/redo")
def redo(session: InSession) -> PlanStatus:
    """Redo a change that was undone."""
    with session.lock:
        session.history.step(1)
        return describe_plan(session)


class Secret(Body):
    """The key of pseudonyms in hexadecimal digits; without one, a new one is created."""

    key: Annotated[str, Field(min_length=1, max_length=1000)] | None = None


@router.put("/plan/key")
def keep_key(secret: Secret, session: InSession) -> dict[str, str | None]:
    """Store the key of pseudonyms, or create one. A new one is in this answer only: keep it.

    It is in no recipe, project or log, and is removed with the session.
    """
    new_key = secrets.token_hex(32) if secret.key is None else None
    key = read_key(new_key or secret.key, None, None).hex()
    with session.lock:
        session.keep_key(key)
    return {"key": new_key, "file": KEY_FILE}


@router.delete("/plan/key")
def forget_key(session: InSession) -> dict[str, bool]:
    """Forget the key of pseudonyms."""
    with session.lock:
        session.keep_key(None)
    return {"forgotten": True}


class RecipeText(Body):
    """A recipe as text."""

    text: Annotated[str, Field(max_length=500_000)]


@router.put("/plan/recipe")
def write(recipe: RecipeText, session: InSession) -> PlanStatus:
    """Replace the plan by the text of a recipe; messages about it name the line."""
    document = parse(recipe.text, "recipe")
    data = {name: value for name, value in document.data.items() if name not in ("input", "output")}
    checked = checked_recipe(data)
    plan = checked.plan()
    fields = Draft.model_validate(draft_of_recipe(checked.spell())).model_dump(include=_IN_RECIPES)
    roles: dict[str, str] = {}
    with session.lock:
        if (table := session.current_table) is not None:
            columns = list(table.arrow.column_names)
            plan.check_columns(columns)
            if plan.others is not None:
                roles = dict.fromkeys(columns, "drop" if plan.others == "drop" else "insensitive")
        roles |= {name: role for role, names in plan.roles.items() for name in names if role != "dropped"}
        session.history.replace("recipe written as text", {**fields, "roles": roles, "preset": None})
        return describe_plan(session)


_IN_RECIPES = {
    *("treatments", "keyed", "person", "spelling", "knows", "hierarchies", "levels", "about", "models"),
    *("quality", "suppression_limit", "suppressed_rows", "order", "strategy", "time_limit", "recoding"),
}


class HierarchyBody(Body):
    """A column, and a hierarchy as recipes write it."""

    table: Name
    column: Name
    builder: dict[str, Any] | Annotated[str, Field(max_length=100)]


@router.post("/hierarchies/preview")
def show(body: HierarchyBody, session: InSession) -> dict[str, Any]:
    """Preview the levels of a hierarchy for a column, without values it does not cover, which are listed."""
    table, builder = session.table(body.table), _builder(body)
    open_ = table.uncovered(body.column, builder)
    levels = _preview_covered(table, body.column, builder, open_, read_person(session.history.draft.whom))
    spelling = checked_recipe(_recipe(body.column, body.builder)).spell()["steps"][0]["quasi_identifiers"]
    return {"builder": spelling[body.column], **levels.to_dict(), **_list_uncovered(open_)}


def _list_uncovered(values: Sequence[str]) -> dict[str, list[str] | int]:
    return {"uncovered": list(values[:MOST_NAMED]), "number": len(values)}


def _preview_covered(
    table: OpenTable, column: str, builder: Any, uncovered: Collection[str], person: str | None
) -> Preview:
    values, counts, covered_mask = _covered_values(table, column, uncovered)
    holders = None if person in (None, ASK, column) else table.holders(column, person)
    if holders is not None:
        there = covered_mask[holders[0]]
        holders = (np.cumsum(covered_mask) - 1)[holders[0][there]], holders[1][there]
    return preview(builder, values, counts, column, holders)


def _covered_values(
    table: OpenTable, column: str, uncovered: Collection[str]
) -> tuple[pa.Array, NDArray[np.int64], NDArray[np.bool_]]:
    """Return the values of a column that a hierarchy covers, their counts, and their mask among all values.

    All values are returned if it covers none.
    """
    values, counts = table.distinct(column)
    missing = set(uncovered)
    mask = np.array([each not in missing for each in canonical_text(values)] if missing else True, np.bool_)
    mask = np.broadcast_to(mask if mask.any() else np.True_, len(values))
    return values.filter(pa.array(mask)), counts[mask], mask


def _recipe(column: str, builder: Any) -> dict[str, Any]:
    return {"steps": [{"kind": "Generalize", "quasi_identifiers": {column: builder}, "models": [_ANY]}]}


_ANY = {"kind": "KAnonymity", "k": 2}


MOST_NAMED = 500
"""Uncovered values that are listed; if there are more, only their number is returned."""


@router.post("/hierarchies/coverage")
def coverage(body: HierarchyBody, session: InSession) -> dict[str, list[str] | int]:
    """Return the number of levels of a hierarchy for a column, and the values it does not cover."""
    table, builder = session.table(body.table), _builder(body)
    open_ = table.uncovered(body.column, builder)
    values, counts, _ = _covered_values(table, body.column, open_)
    levels = builder.build(values, counts, body.column).height + 1 if len(values) else 0
    return {"levels": levels, "values": len(table.distinct(body.column)[0]), **_list_uncovered(open_)}


MOST_GROUPED = 5000


@router.post("/hierarchies/groups")
def groups(body: HierarchyBody, session: InSession) -> dict[str, dict[str, Any]]:
    """Return a hierarchy as groups of values: a tree of names for editing by hand."""
    values, counts = session.table(body.table).distinct(body.column)
    if len(values) > MOST_GROUPED:
        raise ParameterError(
            f"column {body.column!r} has {len(values):,} values, and more than {MOST_GROUPED:,} are not grouped by hand: "
            "take a hierarchy from a file"
        )
    categories = Categories.of(_builder(body).build(values, counts, body.column))
    return {"builder": {"kind": "categories", "tree": categories.tree}}


def _builder(body: HierarchyBody) -> Any:
    return checked_recipe(_recipe(body.column, body.builder)).generalize.quasi_identifiers[body.column]


@router.post("/hierarchies/rows")
def rows(body: HierarchyBody, session: InSession) -> dict[str, list[tuple[Any, ...]]]:
    """Return a hierarchy for a column as rows: each value, then its label on every level."""
    values, counts = session.table(body.table).distinct(body.column)
    return {"rows": _builder(body).build(values, counts, body.column).to_rows()}


class Domain(HierarchyBody):
    """All possible values, independent of the table: integers from first to last, or a list."""

    first: Annotated[int, Field(ge=-(10**9), le=10**9)] | None = None
    last: Annotated[int, Field(ge=-(10**9), le=10**9)] | None = None
    values: Annotated[list[Cell], Field(max_length=100_000)] | None = None


@router.post("/hierarchies/written")
def write_down(domain: Domain, session: InSession) -> dict[str, dict[str, Any]]:
    """Return a hierarchy over all possible values, which reveals nothing of those that occur."""
    kind = session.table(domain.table).require(domain.column).type
    builder = _builder(domain)
    if domain.values is None:
        if domain.first is None or domain.last is None or not 0 <= domain.last - domain.first < 100_000:
            raise ParameterError(
                "say the first and the last possible value, at most 100,000 apart, or list them"
            )
        texts = [str(each) for each in range(domain.first, domain.last + 1)]
    else:
        texts = list(dict.fromkeys(domain.values))
    if not texts:
        raise ParameterError(f"list the possible values of column {domain.column!r}")
    try:
        values = pa.array(texts, pa.string()).cast(kind)
    except pa.ArrowInvalid:
        raise ParameterError(
            f"column {domain.column!r} holds {kind}, and a value of the list is none"
        ) from None
    built = builder.build(values, np.ones(len(values), np.int64), domain.column)
    rows = built.with_missing().to_rows()  # must not reveal whether a value is missing either
    return {"builder": {"kind": "table", "rows": [list(row) for row in rows]}}


class ColumnsBody(Body):
    """Columns that need a hierarchy."""

    table: Name
    columns: Annotated[list[Name], Field(max_length=500)]


@router.post("/hierarchies/proposals")
def proposals(body: ColumnsBody, session: InSession) -> dict[str, dict[str, Any]]:
    """Propose a hierarchy for each column, as recipes write it; and alternatives, each with the reason."""
    table = session.table(body.table)
    choices = {
        name: [_choice(name, each) for each in suggest(table.distinct(name)[0], name)]
        for name in body.columns
    }
    return {"hierarchies": {name: each[0]["builder"] for name, each in choices.items()}, "choices": choices}


def _choice(column: str, proposed: ProposedHierarchy) -> dict[str, Any]:
    plan = Plan({column: proposed.builder}, (KAnonymity(2),))
    builder = Recipe.of(plan).spell()["steps"][0]["quasi_identifiers"][column]
    return {"builder": builder, "name": proposed.name, "reason": proposed.reason}
