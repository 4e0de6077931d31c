"""What there is: privacy models, quality models, strategies, hierarchies, masks and presets, as they declare themselves."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from fastapi import APIRouter
from pydantic import TypeAdapter

from veil.base.describe import definition, parameters
from veil.models.base import PrivacyModel
from veil.web.help import place_of
from veil.web.languages import Language, paragraphs, say

router = APIRouter(tags=["catalogue"])


@router.get("/models")
def models(language: Language = "en") -> list[dict[str, Any]]:
    """List the privacy models, each with its parameters and the attacks that it is against."""
    from veil.recipe.parts import MODELS

    return _declared(MODELS, language)


@router.get("/qualities")
def qualities(language: Language = "en") -> list[dict[str, Any]]:
    """List the quality models."""
    from veil.quality import QUALITIES

    return _declared(QUALITIES, language)


@router.get("/strategies")
def strategies(language: Language = "en") -> list[dict[str, Any]]:
    """List the search strategies."""
    from veil.lattice import STRATEGIES

    return _declared(STRATEGIES, language)


@router.get("/hierarchies")
def hierarchies(language: Language = "en") -> list[dict[str, Any]]:
    """List the kinds of hierarchies."""
    from veil.hierarchies import BUILDERS

    return _declared({kind: each for kind, each in BUILDERS.items() if kind != "file"}, language)


@router.get("/masks")
def masks(language: Language = "en") -> list[dict[str, Any]]:
    """List the masking methods."""
    from veil.masking import METHODS

    return _declared(METHODS, language)


@router.get("/presets")
def presets() -> list[dict[str, Any]]:
    """List the presets: promises to start from, with the source of every number."""
    return _presets()


@functools.cache
def _presets() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(files("veil.web").joinpath("presets.json").read_text("utf-8"))
    return found


def _declared(family: Mapping[str, type[Any]], language: Language) -> list[dict[str, Any]]:
    return [_described(kind, cls, language) for kind, cls in family.items()]


def _described(kind: str, cls: type[Any], language: Language) -> dict[str, Any]:
    schema = TypeAdapter(cls).json_schema()
    properties = schema["properties"]
    told = [
        {
            "name": each.name,
            "values": each.values,
            "default": each.default,
            "about": say(each.about, language),
            "required": each.default == "required",
            "schema": {
                name: value
                for name, value in properties[each.name].items()
                if name
                in ("type", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "enum", "default")
            },
        }
        for each in parameters(cls)
    ]
    about = (inspect.getdoc(cls) or "").split("\n>>>")[0].strip()
    made: dict[str, Any] = {
        "kind": kind,
        "definition": say(definition(cls), language),
        "about": about,
        "paragraphs": paragraphs(about, language),
        "parameters": told,
    }
    made["help"] = place_of(cls.__name__)
    if issubclass(cls, PrivacyModel):
        made["attacks"] = list(cls.attacks)
    return made
