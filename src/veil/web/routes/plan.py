"""The plan: looked at, changed, undone, and written as code."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Collection, Mapping
from pathlib import Path
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
from veil.recipe.as_code import masking_code, python_code
from veil.recipe.document import parse
from veil.recipe.recipe import Recipe
from veil.tables.spelling import read_person
from veil.tables.text import canonical_text
from veil.web.draft import KEY_FILE, Draft, checked_recipe, checked_steps
from veil.web.problems import Refused, sentence
from veil.web.routes.base import Body, InSession
from veil.web.routes.tables import Name
from veil.web.session import BrowserSession, OpenTable

router = APIRouter(tags=["plan"])


def plan_told(session: BrowserSession) -> dict[str, Any]:
    """The draft, what is missing, what is wrong with it, and the code that it makes."""
    draft, made = session.history.draft, session.history.told()
    table = session.tables.get(draft.table or "")
    columns = [] if table is None else list(table.arrow.column_names)
    missing = draft.missing(columns)
    if table is not None and draft.way == "search" and (open_ := _uncovered(draft, table)):
        after = [at for at, each in enumerate(missing) if each["step"] == "promises"]
        told = {"step": "levels", "what": "not covered", "columns": ", ".join(open_)}
        missing.insert(after[0] if after else len(missing), told)
    made |= {"missing": missing, "problem": None, "code": None, "has_key": session.key_file is not None}
    if draft.keyed and draft.pseudonyms and session.key_file is None:
        missing.insert(0, {"step": "roles", "what": "no key"})
    if not missing and table is not None:
        try:
            if draft.way == "masks":
                made["code"] = _masking_code(draft, table.name, session.key_file)
            else:
                recipe = checked_recipe(draft.recipe())
                recipe.plan().check_columns(columns)
                made["code"] = _code(draft, recipe, table.name)
        except (VeilError, Refused) as error:
            made["problem"] = sentence(error)
    return made


def _uncovered(draft: Draft, table: OpenTable) -> list[str]:
    """Return the columns with values that a hierarchy which is written down does not have."""
    found = []
    for name in draft.columns("quasi-identifying"):
        spec = draft.hierarchies.get(name)
        if isinstance(spec, Mapping) and spec.get("kind") in ("table", "categories"):
            try:
                builder = checked_recipe(_recipe(name, spec)).quasi_identifiers[name]
            except (VeilError, Refused):
                continue  # which is told once the plan is complete
            found += [name] if table.uncovered(name, builder) else []
    return found


def _masking_code(draft: Draft, table: str, key: Path | None) -> dict[str, str]:
    document = draft.document()
    order = document["order"]
    given = {} if document["person"] == ASK else {"person": document["person"]}
    given |= {} if order == "random" else {"order": order}
    recipe = draft.text_of(table, {**given, "steps": document["steps"]})
    # A recipe of masking methods cannot leave columns out: one that names people would be in what it makes.
    text = "" if document["without"] else recipe
    steps = [
        dataclasses.replace(each, key=None, key_file=KEY_FILE) if getattr(each, "key", None) else each  # type: ignore[type-var]
        for each in checked_steps(document["steps"], key)
    ]
    return {
        "recipe": text,
        "python": masking_code(
            steps, table, person=document["person"], without=document["without"], order=order
        ),
        "command": "" if document["without"] else "veil mask recipe.yaml",
    }


def _code(draft: Draft, recipe: Recipe, table: str) -> dict[str, str]:
    return {
        "recipe": draft.text_of(table, recipe.spell()),
        "python": python_code(recipe, table),
        "command": "veil anonymize recipe.yaml --certificate certificate.json --report report.html",
    }


@router.get("/plan")
def look(session: InSession) -> dict[str, Any]:
    """Return the plan."""
    return plan_told(session)


class Change(Body):
    """A change of the plan, named in words. In `set`, null takes something away (RFC 7396)."""

    version: int | None = None
    words: Annotated[str, Field(min_length=1, max_length=500)]
    set: dict[str, Any]


@router.patch("/plan")
def change(asked: Change, session: InSession) -> dict[str, Any]:
    """Change the plan; 409 if it has changed since the version that was looked at."""
    with session.lock:
        session.history.change(asked.version, asked.words, asked.set)
        return plan_told(session)


@router.post("/plan/undo")
def undo(session: InSession) -> dict[str, Any]:
    """Take back the last change."""
    with session.lock:
        session.history.step(-1)
        return plan_told(session)


@router.post("/plan/redo")
def redo(session: InSession) -> dict[str, Any]:
    """Make a change again that was taken back."""
    with session.lock:
        session.history.step(1)
        return plan_told(session)


class Secret(Body):
    """The key of pseudonyms in hexadecimal text; without one, a new one is made."""

    key: Annotated[str, Field(min_length=1, max_length=1000)] | None = None


@router.put("/plan/key")
def keep_key(secret: Secret, session: InSession) -> dict[str, Any]:
    """Take the key of pseudonyms, or make one. A new one is in this answer, and in no other one: keep it.

    It is in no recipe, project or log, and goes with the session.
    """
    made = secrets.token_hex(32) if secret.key is None else None
    key = read_key(made or secret.key, None, None).hex()
    with session.lock:
        session.keep_key(key)
    return {"key": made, "file": KEY_FILE}


@router.delete("/plan/key")
def forget_key(session: InSession) -> dict[str, Any]:
    """Forget the key of pseudonyms."""
    with session.lock:
        session.keep_key(None)
    return {"forgotten": True}


class RecipeText(Body):
    """A recipe as text."""

    text: Annotated[str, Field(max_length=500_000)]


@router.put("/plan/recipe")
def write(recipe: RecipeText, session: InSession) -> dict[str, Any]:
    """Take the plan from the text of a recipe; what is wrong with it is told with its line."""
    document = parse(recipe.text, "recipe")
    data = {name: value for name, value in document.data.items() if name not in ("input", "output")}
    made = checked_recipe(data)
    plan = made.plan()
    spelled = made.spell()
    roles: dict[str, Any] = dict.fromkeys(session.history.draft.roles)
    with session.lock:
        table = session.tables.get(session.history.draft.table or "")
        columns = [] if table is None else list(table.arrow.column_names)
        if table is not None:
            plan.check_columns(columns)
        if plan.others is not None:
            roles |= dict.fromkeys(columns, "drop" if plan.others == "drop" else "insensitive")
        roles |= {name: role for role, names in plan.roles.items() for name in names if role != "dropped"}
        hierarchies = dict.fromkeys(session.history.draft.hierarchies) | spelled["quasi_identifiers"]
        low, high = plan.minimum_levels, plan.maximum_levels
        bounds = {name: [low.get(name, 0), high.get(name)] for name in {*low, *high}}
        kept = (
            "quality",
            "suppression_limit",
            "suppressed_rows",
            "order",
            "strategy",
            "time_limit",
            "local_recoding",
            "person",
        )
        changes = {name: spelled.get(name) for name in kept}
        if "person" not in spelled:
            changes["person"] = plan.person
        session.history.change(
            None,
            "recipe written as text",
            {
                "roles": roles,
                "treatments": dict.fromkeys(session.history.draft.treatments)
                | {name: how for name, how in plan.identifying.items() if how != "remove"},
                "keyed": plan.pseudonym_key is not None,
                "knows": plan.knows,
                "hierarchies": hierarchies,
                "levels": dict.fromkeys(session.history.draft.levels) | bounds,
                "about": dict.fromkeys(session.history.draft.about) | spelled.get("about", {}),
                "models": spelled["models"],
                "preset": None,
                **changes,
            },
        )
        return plan_told(session)


class HierarchyBody(Body):
    """A column, and a kind of hierarchy with its parameters, as recipes write it."""

    table: Name
    column: Name
    builder: dict[str, Any] | Annotated[str, Field(max_length=100)]


@router.post("/hierarchies/preview")
def show(asked: HierarchyBody, session: InSession) -> dict[str, Any]:
    """Tell what a hierarchy makes of a column, level by level; values that it does not cover are named, and left out."""
    table, builder = session.table(asked.table), _builder(asked)
    open_ = table.uncovered(asked.column, builder)
    made = _previewed(table, asked.column, builder, open_, read_person(session.history.draft.whom))
    spelled = checked_recipe(_recipe(asked.column, asked.builder)).spell()["quasi_identifiers"][asked.column]
    return {"builder": spelled, **made.to_dict(), "uncovered": list(open_[:MOST_NAMED]), "number": len(open_)}


def _previewed(
    table: OpenTable, column: str, builder: Any, uncovered: Collection[str], person: str | None
) -> Preview:
    values, counts, kept = _covered(table, column, uncovered)
    holders = None if person in (None, ASK, column) else table.holders(column, person)
    if holders is not None:
        there = kept[holders[0]]
        holders = (np.cumsum(kept) - 1)[holders[0][there]], holders[1][there]
    return preview(builder, values, counts, column, holders)


def _covered(
    table: OpenTable, column: str, uncovered: Collection[str]
) -> tuple[pa.Array, NDArray[np.int64], NDArray[np.bool_]]:
    """Return the values of a column that a hierarchy covers, how often each occurs, and which of all values they are.

    They are all of them if it covers none.
    """
    values, counts = table.distinct(column)
    named = set(uncovered)
    kept = np.array([each not in named for each in canonical_text(values)] if named else True, np.bool_)
    kept = np.broadcast_to(kept if kept.any() else np.True_, len(values))
    return values.filter(pa.array(kept)), counts[kept], kept


def _recipe(column: str, builder: Any) -> dict[str, Any]:
    return {"quasi_identifiers": {column: builder}, "models": [_ANY]}


_ANY = {"kind": "KAnonymity", "k": 2}


MOST_NAMED = 500
"""Values that are not covered and named; of more, how many there are."""


@router.post("/hierarchies/coverage")
def coverage(asked: HierarchyBody, session: InSession) -> dict[str, Any]:
    """Tell how many levels a hierarchy has for a column, and which values it does not cover."""
    table, builder = session.table(asked.table), _builder(asked)
    open_ = table.uncovered(asked.column, builder)
    values, counts, _ = _covered(table, asked.column, open_)
    levels = builder.build(values, counts, asked.column).height + 1 if len(values) else 0
    return {
        "levels": levels,
        "values": len(table.distinct(asked.column)[0]),
        "uncovered": list(open_[:MOST_NAMED]),
        "number": len(open_),
    }


MOST_GROUPED = 5000


@router.post("/hierarchies/groups")
def groups(asked: HierarchyBody, session: InSession) -> dict[str, Any]:
    """Write a hierarchy as groups of values, a tree of names that can be changed by hand."""
    values, counts = session.table(asked.table).distinct(asked.column)
    if len(values) > MOST_GROUPED:
        raise ParameterError(
            f"column {asked.column!r} has {len(values):,} values, and more than {MOST_GROUPED:,} are not grouped by hand: "
            "take a hierarchy from a file"
        )
    made = Categories.of(_builder(asked).build(values, counts, asked.column))
    return {"builder": {"kind": "categories", "tree": made.tree}}


def _builder(asked: HierarchyBody) -> Any:
    return checked_recipe(_recipe(asked.column, asked.builder)).quasi_identifiers[asked.column]


@router.post("/hierarchies/rows")
def rows(asked: HierarchyBody, session: InSession) -> dict[str, Any]:
    """Write out what a hierarchy makes of a column: each value, then its label on every level."""
    values, counts = session.table(asked.table).distinct(asked.column)
    recipe = checked_recipe({"quasi_identifiers": {asked.column: asked.builder}, "models": [_ANY]})
    built = recipe.quasi_identifiers[asked.column].build(values, counts, asked.column)
    return {"rows": [list(row) for row in built.to_rows()]}


class Domain(HierarchyBody):
    """All values that are possible, whoever is in the table: whole numbers from first to last, or a list."""

    first: Annotated[int, Field(ge=-(10**9), le=10**9)] | None = None
    last: Annotated[int, Field(ge=-(10**9), le=10**9)] | None = None
    values: Annotated[list[Annotated[str, Field(max_length=1000)]], Field(max_length=100_000)] | None = None


@router.post("/hierarchies/written")
def write_down(asked: Domain, session: InSession) -> dict[str, Any]:
    """Write a hierarchy down over all values that are possible, so that it tells nothing of those that occur."""
    kind = session.table(asked.table).require(asked.column).type
    recipe = checked_recipe({"quasi_identifiers": {asked.column: asked.builder}, "models": [_ANY]})
    if asked.values is None:
        if asked.first is None or asked.last is None or not 0 <= asked.last - asked.first < 100_000:
            raise ParameterError(
                "say the first and the last possible value, at most 100,000 apart, or list them"
            )
        texts = [str(each) for each in range(asked.first, asked.last + 1)]
    else:
        texts = list(dict.fromkeys(asked.values))
    if not texts:
        raise ParameterError(f"list the possible values of column {asked.column!r}")
    try:
        values = pa.array(texts, pa.string()).cast(kind)
    except pa.ArrowInvalid:
        raise ParameterError(
            f"column {asked.column!r} holds {kind}, and a value of the list is none"
        ) from None
    built = recipe.quasi_identifiers[asked.column].build(values, np.ones(len(values), np.int64), asked.column)
    rows = built.with_missing().to_rows()  # whether anything is missing must not be told either
    return {"builder": {"kind": "table", "rows": [list(row) for row in rows]}}


class ColumnsBody(Body):
    """Columns that need a hierarchy."""

    table: Name
    columns: Annotated[list[Name], Field(max_length=500)]


@router.post("/hierarchies/proposals")
def proposals(asked: ColumnsBody, session: InSession) -> dict[str, Any]:
    """Propose a hierarchy for each column, as recipes write it; and others that suit it too, each with why."""
    table = session.table(asked.table)
    choices = {
        name: [_choice(name, each) for each in suggest(table.distinct(name)[0], name)]
        for name in asked.columns
    }
    return {"hierarchies": {name: each[0]["builder"] for name, each in choices.items()}, "choices": choices}


def _choice(column: str, proposed: ProposedHierarchy) -> dict[str, Any]:
    plan = Plan({column: proposed.builder}, (KAnonymity(2),))
    builder = Recipe.of(plan).spell()["quasi_identifiers"][column]
    return {"builder": builder, "name": proposed.name, "reason": proposed.reason}
