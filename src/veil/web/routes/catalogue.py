"""Lists of privacy models, quality models, strategies, hierarchies, masks and presets."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from fastapi import APIRouter, Response
from pydantic import TypeAdapter

from veil.base.describe import Parameter, definition, help_on, parameters
from veil.models.base import PrivacyModel
from veil.web.help import place_of
from veil.web.languages import Language, paragraphs, translate

router = APIRouter(tags=["catalogue"])


@dataclass(frozen=True)
class RecipeParameter(Parameter):
    """A parameter of a part of recipes, with its limits."""

    required: bool
    schema: dict[str, Any]


@dataclass(frozen=True)
class RecipePart:
    """A part of recipes with its parameters; a privacy model also with the attacks it protects against."""

    kind: str
    definition: str
    about: str
    paragraphs: list[dict[str, str]]
    parameters: list[RecipeParameter]
    help: str | None
    attacks: Sequence[str]


@router.get("/models")
def models(language: Language = "en") -> list[RecipePart]:
    """List the privacy models, each with its parameters and the attacks it protects against."""
    from veil.recipe.parts import MODELS

    return _describe(MODELS, language)


@router.get("/qualities")
def qualities(language: Language = "en") -> list[RecipePart]:
    """List the quality models."""
    from veil.quality import QUALITIES

    return _describe(QUALITIES, language)


@router.get("/strategies")
def strategies(language: Language = "en") -> list[RecipePart]:
    """List the search strategies."""
    from veil.lattice import STRATEGIES

    return _describe(STRATEGIES, language)


@router.get("/hierarchies")
def hierarchies(language: Language = "en") -> list[RecipePart]:
    """List the kinds of hierarchies."""
    from veil.hierarchies import BUILDERS

    return _describe({kind: each for kind, each in BUILDERS.items() if kind != "file"}, language)


@router.get("/masks")
def masks(language: Language = "en") -> list[RecipePart]:
    """List the masking methods."""
    from veil.masking import METHODS

    return _describe(METHODS, language)


@router.get("/presets")
def presets() -> Response:
    """List the presets: promises to start from, with the source of every number."""
    return Response(files("veil.web").joinpath("presets.json").read_bytes(), media_type="application/json")


def _describe(family: Mapping[str, type[Any]], language: Language) -> list[RecipePart]:
    return [_part(kind, cls, language) for kind, cls in family.items()]


_LIMITS = ("type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "default")


def _part(kind: str, cls: type[Any], language: Language) -> RecipePart:
    properties = TypeAdapter(cls).json_schema()["properties"]
    fields = [
        RecipeParameter(
            each.name,
            each.values,
            each.default,
            translate(help_on(kind, each.name, each.about), language),
            each.default == "required",
            {name: value for name, value in properties[each.name].items() if name in _LIMITS},
        )
        for each in parameters(cls)
    ]
    about = (inspect.getdoc(cls) or "").split("\n>>>")[0].strip()
    summary = help_on(kind, "definition", definition(cls))
    return RecipePart(
        kind,
        translate(summary, language),
        about,
        paragraphs(about, language, summary),
        fields,
        place_of(cls.__name__),
        cls.attacks if issubclass(cls, PrivacyModel) else (),
    )
