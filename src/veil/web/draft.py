"""The plan as a draft: one document, its changes with undo and redo, and the recipe made from it.

Unlike a recipe, a draft may be incomplete: columns without a role, quasi-identifiers without a hierarchy, no
promise. Its gaps are listed in the order of the pages.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Collection, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from veil.base.declare import explain
from veil.errors import InputError, ParameterError
from veil.plan.plan import ASK, Plan
from veil.recipe import Recipe
from veil.recipe.about import read_about
from veil.recipe.document import document_text
from veil.recipe.project import step_in
from veil.tables.spelling import Person, read_person
from veil.web.problems import Refused

Role = Literal["identifying", "quasi-identifying", "sensitive", "insensitive", "drop"]
Treatment = Literal["remove", "mask", "pseudonym"]

KEY_FILE = "pseudonyms.key"
"""The name of the key file in recipes. The key is in the session only, and no file of this name is read."""

MOST_CHANGES = 500
"""Changes that can be undone."""


class Pin(BaseModel):
    """A bookmarked transformation with a note."""

    model_config = ConfigDict(extra="forbid")

    levels: dict[str, int]
    note: Annotated[str, Field(max_length=500)] = ""


class Draft(BaseModel):
    """The choices so far. The names are those of recipes, except for the roles by column."""

    model_config = ConfigDict(extra="forbid")

    table: str | None = None
    roles: dict[str, Role] = Field(default_factory=dict)
    treatments: dict[str, Treatment] = Field(default_factory=dict)
    keyed: Annotated[bool, Field(description="pseudonyms with the key of the session, not random ones")] = (
        False
    )
    hierarchies: dict[str, Any] = Field(default_factory=dict)
    levels: dict[str, tuple[int, int | None]] = Field(default_factory=dict)
    person: str | None = ASK
    spelling: Annotated[
        Literal["folded", "as written"] | None,
        Field(
            description="whether values of that column which differ in blanks, case or Unicode form only are one person"
        ),
    ] = None
    knows: Literal["one row", "all rows"] = "one row"
    weights: Annotated[str | None, Field(description="column of sampling weights, for Risk")] = None
    household: Annotated[str | None, Field(description="column that tells who lives together, for Risk")] = (
        None
    )
    response: Annotated[str | None, Field(description="column that is to be predicted, for Use")] = None
    linked: Annotated[
        dict[str, str], Field(description="columns whose cells are left out with those of another, for masks")
    ] = Field(default_factory=dict)
    models: list[dict[str, Any]] = Field(default_factory=list, max_length=100)
    preset: str | None = None
    quality: Any = "loss"
    suppression_limit: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] = 0.0
    suppressed_rows: Literal["blank", "keep cells", "drop"] = "blank"
    order: Annotated[
        Literal["random", "input"], Field(description="order of the rows of a release, as recipes say it")
    ] = "random"
    strategy: Any = "auto"
    time_limit: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    recoding: Any = None
    way: Literal["search", "masks"] = "search"
    masks: list[dict[str, Any]] = Field(default_factory=list, max_length=50)
    about: Annotated[dict[str, Any], Field(description="what the first page of the report says")] = Field(
        default_factory=dict
    )
    notes: Annotated[str, Field(max_length=100_000)] = ""
    pins: Annotated[list[Pin], Field(max_length=50)] = Field(default_factory=list)

    @model_validator(mode="before")
    @classmethod
    def _split_person(cls, data: Any) -> Any:
        """Accept `person` as recipes write it, too: with the choice of spellings."""
        person = read_person(data.get("person")) if isinstance(data, Mapping) else None
        if not isinstance(person, Person):
            return data
        return {**data, "person": str(person), "spelling": person.spelling}

    @field_validator("about")
    @classmethod
    def _is_known(cls, about: dict[str, Any]) -> dict[str, Any]:
        read_about(about)
        return about

    @property
    def whom(self) -> str | None:
        """The `person` column as recipes write it."""
        return (
            self.person if self.person is None or self.spelling is None else f"{self.person}={self.spelling}"
        )

    def columns(self, role: Role) -> list[str]:
        """Return the columns that have a role."""
        return [name for name, each in self.roles.items() if each == role]

    def missing(self, columns: Sequence[str]) -> list[dict[str, str]]:
        """List the gaps of the plan, each with the page that asks for it."""
        gaps = []
        if self.table is None:
            return [{"step": "table", "what": "no table"}]
        undecided = [name for name in columns if name not in self.roles]
        if undecided:
            gaps.append({"step": "roles", "what": "undecided", "columns": ", ".join(undecided)})
        quasi = self.columns("quasi-identifying")
        if not quasi:
            gaps.append({"step": "roles", "what": "no quasi-identifier"})
        if self.way == "masks":
            return gaps if self.masks else [*gaps, {"step": "search", "what": "no method"}]
        without = [name for name in quasi if name not in self.hierarchies]
        if without:
            gaps.append({"step": "levels", "what": "no hierarchy", "columns": ", ".join(without)})
        if not self.models:
            gaps.append({"step": "promises", "what": "no promise"})
        return gaps

    @property
    def pseudonyms(self) -> list[str]:
        """The identifying columns that get pseudonyms: in a search at most the `person` column."""
        columns = [name for name in self.columns("identifying") if self.treatments.get(name) == "pseudonym"]
        return [name for name in columns if self.way == "masks" or name == self.person]

    def _identifying(self) -> list[str] | dict[str, str]:
        columns = [
            name for name in self.columns("identifying") if name != self.person or name in self.pseudonyms
        ]
        treatments: dict[str, str] = {name: self.treatments.get(name, "remove") for name in columns}
        return treatments if {"mask", "pseudonym"} & set(treatments.values()) else columns

    def steps(self) -> list[dict[str, Any]]:
        """Return the masking methods: pseudonyms first, then the masks of the draft with linked columns."""
        result: list[dict[str, Any]] = []
        if self.pseudonyms:
            kind = (
                {"kind": "KeyedPseudonyms", "key_file": KEY_FILE}
                if self.keyed
                else {"kind": "RandomPseudonyms"}
            )
            result.append({**kind, "columns": self.pseudonyms})
        for each in self.masks:
            columns = each.get("columns", ())
            along = {name: to for name, to in self.linked.items() if to in columns and name not in columns}
            linked = along if each.get("kind") == "LocalSuppression" else {}
            result.append({**each, "linked": linked} if linked else each)
        return result

    def document(self) -> dict[str, Any]:
        """Return the recipe of a search, or the steps of masking methods."""
        if self.way == "search":
            return self.recipe()
        left = [*self.columns("identifying"), *self.columns("drop")]
        left = [name for name in left if name not in self.pseudonyms]
        return {
            "steps": self.steps(),
            "person": self.whom,
            "without": [name for name in left if name != self.person],
            "quasi_identifiers": self.columns("quasi-identifying"),
            "order": self.order,
        }

    def text_of(self, table: str, recipe: Mapping[str, Any]) -> str:
        """Return a recipe for a table as the text of a file, with the first page of the report."""
        about = {"about": self.about} if self.about else {}
        return document_text({"input": table, "output": "release.csv", **recipe, **about})

    def recipe(self) -> dict[str, Any]:
        """Return the recipe as plain data, without defaults."""
        quasi = self.columns("quasi-identifying")
        bounds = {name: each for name, each in self.levels.items() if name in quasi}
        step: dict[str, Any] = {
            "kind": "Generalize",
            "quasi_identifiers": {name: self.hierarchies.get(name, "auto") for name in quasi},
            "sensitive": self.columns("sensitive"),
            "insensitive": self.columns("insensitive"),
            "identifying": self._identifying(),
            "others": "drop" if self.columns("drop") else None,
            "minimum_levels": {name: low for name, (low, _) in bounds.items() if low},
            "maximum_levels": {name: high for name, (_, high) in bounds.items() if high is not None},
        } | {name: getattr(self, name) for name in _AS_IN_RECIPES}
        fields: dict[str, Any] = {} if self.person == ASK else {"person": self.whom}
        if self.person not in (ASK, None) and (self.knows == "all rows" or self.pseudonyms):
            fields["knows"] = "all rows"  # pseudonyms show which rows belong together
        if self.order != "random":
            fields["order"] = self.order
        if self.pseudonyms and self.keyed:
            step["pseudonym_key"] = KEY_FILE
        needed = ("quasi_identifiers", "models")
        step = {name: value for name, value in step.items() if name in needed or value not in ([], {}, None)}
        return {**fields, "steps": [step]}


def draft_of_recipe(recipe: Mapping[str, Any]) -> dict[str, Any]:
    """Return the draft of a recipe, which may be incomplete."""
    recipe = {**recipe, **step_in(recipe)}
    for name in ("quasi_identifiers", "minimum_levels", "maximum_levels"):
        if not isinstance(recipe.get(name, {}), Mapping):
            raise InputError(f"`{name}` of the project's recipe should name columns")
    quasi = dict(recipe.get("quasi_identifiers", {}))
    roles = dict.fromkeys(quasi, "quasi-identifying")
    for role in ("sensitive", "insensitive", "identifying"):
        columns = recipe.get(role, ())
        roles |= dict.fromkeys([columns] if isinstance(columns, str) else columns, role)
    treated = recipe.get("identifying")
    treated = treated if isinstance(treated, Mapping) else {}
    low, high = recipe.get("minimum_levels", {}), recipe.get("maximum_levels", {})
    levels = {name: [low.get(name, 0), high.get(name)] for name in {*low, *high}}
    same_names = Draft.model_fields.keys() & recipe.keys() - {"table", "levels"}
    return {
        **{name: recipe[name] for name in same_names},
        "keyed": recipe.get("pseudonym_key") is not None,
        "roles": roles,
        "treatments": {name: how for name, how in treated.items() if how != "remove"},
        "hierarchies": quasi,
        "levels": levels,
    }


_AS_IN_RECIPES = (
    "models",
    "recoding",
    "quality",
    "suppression_limit",
    "suppressed_rows",
    "strategy",
    "time_limit",
)


class DraftHistory:
    """A draft and its changes, each with a description."""

    def __init__(self, draft: Draft | None = None, version: int = 0) -> None:
        """Begin with an empty or a given draft."""
        self.version = version
        self._drafts = [draft or Draft()]
        self._words: list[str] = []
        self._at = 0

    @property
    def draft(self) -> Draft:
        """The draft as it is now."""
        return self._drafts[self._at]

    def change(self, version: int | None, words: str, patch: Mapping[str, Any]) -> None:
        """Merge a change into the draft (RFC 7396: null removes); refuse it if made for another version."""
        if version is not None and version != self.version:
            raise Refused(
                "the plan has changed meanwhile: look at it and change it again",
                HTTPStatus.CONFLICT,
                "Conflict",
            )
        if "person" in patch:
            patch = {"spelling": None, **patch}  # the old one was about another column
        try:
            draft = Draft.model_validate(_merge(self.draft.model_dump(), patch))
        except ValidationError as error:
            raise ParameterError(explain(error, data=dict(patch))) from None
        self._drafts = [*self._drafts[: self._at + 1], draft][-MOST_CHANGES:]
        self._words = [*self._words[: self._at], words][-MOST_CHANGES + 1 :]
        self._at = len(self._drafts) - 1
        self.version += 1

    def replace(self, words: str, fields: Mapping[str, Any]) -> None:
        """Replace fields as a whole, where a change would merge them."""
        whole = {
            name: {**dict.fromkeys(getattr(self.draft, name)), **fields[name]}
            for name in _MERGED
            if name in fields
        }
        self.change(None, words, {**fields, **whole})

    def step(self, by: Literal[-1, 1]) -> None:
        """Undo or redo a change."""
        if not 0 <= self._at + by < len(self._drafts):
            raise Refused(
                f"there is nothing to {'undo' if by < 0 else 'redo'}", HTTPStatus.CONFLICT, "Conflict"
            )
        self._at += by
        self.version += 1

    @property
    def changes(self) -> tuple[str, ...]:
        """The changes so far, the oldest first."""
        return tuple(self._words[: self._at])

    @property
    def undone(self) -> str | None:
        """The change that can be redone, if any."""
        return next(iter(self._words[self._at :]), None)


def _merge(target: Any, patch: Any) -> Any:
    """Merge as in RFC 7396, but set fields for which None is a value to None."""
    if not isinstance(patch, Mapping):
        return copy.deepcopy(patch)
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None and name not in _NULL_IS_A_VALUE:
            result.pop(name, None)
        else:
            result[name] = _merge(result.get(name), value) if name in _MERGED else copy.deepcopy(value)
    return result


_NULL_IS_A_VALUE = frozenset(
    ["person", "time_limit", "recoding", "table", "preset", "weights", "household", "response"]
)
_MERGED = ("roles", "treatments", "hierarchies", "levels", "linked", "about")
"""Fields that are merged name by name; all others are replaced."""


def checked_recipe(data: Mapping[str, Any]) -> Recipe:
    """Read an untrusted recipe; refuse files and keys of this machine in it."""
    return Recipe.from_elsewhere(data, [KEY_FILE])


def without_fields(document: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return a recipe whose steps lack some fields."""
    steps = document.get("steps")
    if not isinstance(steps, list):
        return dict(document)
    shorter = [
        {name: value for name, value in step.items() if name not in names}
        if isinstance(step, Mapping)
        else step
        for step in steps
    ]
    return {**document, "steps": shorter}


def with_key(plan: Plan, key: Path | None) -> Plan:
    """Return a plan whose keyed pseudonyms use the key of the session."""
    if plan.pseudonym_key != KEY_FILE:
        return plan
    return dataclasses.replace(plan, pseudonym_key=str(_required(key)))


def require_key(recipe: Mapping[str, Any], key: Path | None) -> None:
    """Refuse to repeat a release whose keyed pseudonyms need a forgotten key."""
    if step_in(recipe).get("pseudonym_key") == KEY_FILE:
        _required(key)


def _required(key: Path | None) -> Path:
    if key is None:
        raise Refused(
            "the pseudonyms need a key, and this session has none: it is kept nowhere else, so give it again under Roles",
            kind="PlanError",
        )
    return key


def checked_steps(steps: Sequence[Mapping[str, Any]], key: Path | None = None) -> list[Any]:
    """Read untrusted masking methods; refuse files and keys of this machine in them.

    Keyed pseudonyms that name the key of the session get it from the file `key`.
    """
    methods = list(checked_recipe({"steps": [dict(each) for each in steps]}).steps)
    for at, method in enumerate(methods):
        if getattr(method, "key_file", None) is not None:
            secret = _required(key).read_text("ascii").strip()
            methods[at] = dataclasses.replace(method, key_file=None, key=secret)
    return methods
