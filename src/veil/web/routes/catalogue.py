"""Lists of privacy models, quality models, strategies, hierarchies, masks and presets."""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from fastapi import APIRouter
from pydantic import TypeAdapter

from veil.base.describe import definition, help_on, parameters
from veil.models.base import PrivacyModel
from veil.web.help import place_of
from veil.web.languages import Language, paragraphs, translate

router = APIRouter(tags=["catalogue"])


@router.get("/models")
def models(language: Language = "en") -> list[dict[str, Any]]:
    """List the privacy models, each with its parameters and the attacks it protects against."""
    from veil.recipe.parts import MODELS

    return _describe_family(MODELS, language)


@router.get("/qualities")
def qualities(language: Language = "en") -> list[dict[str, Any]]:
    """List the quality models."""
    from veil.quality import QUALITIES

    return _describe_family(QUALITIES, language)


@router.get("/strategies")
def strategies(language: Language = "en") -> list[dict[str, Any]]:
    """List the search strategies."""
    from veil.lattice import STRATEGIES

    return _describe_family(STRATEGIES, language)


@router.get("/hierarchies")
def hierarchies(language: Language = "en") -> list[dict[str, Any]]:
    """List the kinds of hierarchies."""
    from veil.hierarchies import BUILDERS

    return _describe_family({kind: each for kind, each in BUILDERS.items() if kind != "file"}, language)


@router.get("/masks")
def masks(language: Language = "en") -> list[dict[str, Any]]:
    """List the masking methods."""
    from veil.masking import METHODS

    return _describe_family(METHODS, language)


@router.get("/presets")
def presets() -> list[dict[str, Any]]:
    """List the presets: promises to start from, with the source of every number."""
    return _presets()


@functools.cache
def _presets() -> list[dict[str, Any]]:
    presets: list[dict[str, Any]] = json.loads(files("veil.web").joinpath("presets.json").read_text("utf-8"))
    return presets


def _describe_family(family: Mapping[str, type[Any]], language: Language) -> list[dict[str, Any]]:
    return [_describe(kind, cls, language) for kind, cls in family.items()]


def _describe(kind: str, cls: type[Any], language: Language) -> dict[str, Any]:
    schema = TypeAdapter(cls).json_schema()
    properties = schema["properties"]
    fields = [
        {
            "name": each.name,
            "values": each.values,
            "default": each.default,
            "about": translate(help_on(kind, each.name, each.about), language),
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
    summary = help_on(kind, "definition", definition(cls))
    entry: dict[str, Any] = {
        "kind": kind,
        "definition": translate(summary, language),
        "about": about,
        "paragraphs": paragraphs(about, language, summary),
        "parameters": fields,
    }
    entry["help"] = place_of(cls.__name__)
    if issubclass(cls, PrivacyModel):
        entry["attacks"] = list(cls.attacks)
    return entry
