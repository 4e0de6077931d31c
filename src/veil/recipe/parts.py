"""The parts of a recipe: what may stand for a hierarchy, a model and a quality model, and how each is written down
again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

from pydantic import BeforeValidator, Field, TypeAdapter

from veil import lattice
from veil import quality as qualities
from veil.dp.safepub import SafePub
from veil.errors import PlanError, VeilError, did_you_mean
from veil.hierarchies import Builder, Hierarchy, Table
from veil.local_recoding.modes import LocalRecoding
from veil.models import Model
from veil.quality import Quality


def members(union: Any) -> dict[str, type[Any]]:
    """Return the classes of a union of declared classes by their `kind`.

    >>> members(Model)["KAnonymity"].__name__
    'KAnonymity'
    """
    if get_origin(union) is Annotated:
        union = get_args(union)[0]
    classes = get_args(union) or (union,)
    return {each.__pydantic_fields__["kind"].default: each for each in classes}


# Hierarchies, models, quality models

BUILDERS = members(Builder)
MODELS = {**members(Model), "SafePub": SafePub}
QUALITIES = members(Quality)
STRATEGIES = members(lattice.AnyStrategy)
RECODINGS = members(LocalRecoding)


def with_kind(value: Any, known: Mapping[str, Any], expected: str) -> Any:
    """Refuse a mapping whose `kind` is absent or unknown, in words that help more than pydantic's."""
    if isinstance(value, Mapping):
        kind = value.get("kind")
        if kind is None:
            raise ValueError(f"`kind` is required, one of {', '.join(known)}")
        if kind not in known:
            raise ValueError(f"there is no kind {kind!r}.{did_you_mean(str(kind), known)}")
    elif getattr(value, "kind", None) not in known:
        raise ValueError(f"{expected} is needed, not {value!r}")
    return value


def is_path(text: str) -> bool:
    """Whether a word names a file rather than a kind of hierarchy.

    >>> is_path("job.csv"), is_path("hierarchies/job"), is_path("redaction")
    (True, True, False)
    """
    return re.search(r"[./\\]", text) is not None


def _hierarchy(value: Any) -> Any:
    if isinstance(value, str):
        value = {"kind": "file", "path": value} if is_path(value) else {"kind": value}
    return with_kind(value, BUILDERS, "a hierarchy, such as `suppression`, `auto` or a path,")


def _model(value: Any) -> Any:
    return with_kind(value, MODELS, "a privacy model, such as {kind: KAnonymity, k: 5},")


def _quality(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = qualities.by_name(value)
        except VeilError as error:
            raise ValueError(str(error)) from None
    return with_kind(value, QUALITIES, "a quality model, such as `loss`,")


def _strategy(value: Any) -> Any:
    if isinstance(value, str):
        try:
            value = lattice.by_name(value)
        except VeilError as error:
            raise ValueError(str(error)) from None
    return with_kind(value, STRATEGIES, "a search strategy, such as `auto`,")


def _recoding(value: Any) -> Any:
    known = "a mode of local recoding, such as {kind: FastIterative},"
    return with_kind({"kind": value} if isinstance(value, str) else value, RECODINGS, known)


def _is_complete(cls: type[Any]) -> bool:
    """Whether a kind needs no parameters, so that its name is enough."""
    try:
        cls()
    except VeilError:
        return False
    return True


_Word = Annotated[
    str, Field(json_schema_extra={"enum": [kind for kind, each in BUILDERS.items() if _is_complete(each)]})
]
_FilePath = Annotated[str, Field(pattern=r"[./\\]", description="path of a hierarchy file")]

HierarchySpec = Annotated[
    Builder, BeforeValidator(_hierarchy, json_schema_input_type=_Word | _FilePath | Builder)
]
"""A kind of hierarchy with its parameters, its mere name, or the path of a hierarchy file."""

ModelSpec = Annotated[Annotated[Model | SafePub, Field(discriminator="kind")], BeforeValidator(_model)]

QualitySpec = Annotated[Quality, BeforeValidator(_quality, json_schema_input_type=str | Quality)]

StrategySpec = Annotated[
    lattice.AnyStrategy, BeforeValidator(_strategy, json_schema_input_type=str | lattice.AnyStrategy)
]


RecodingSpec = Annotated[
    LocalRecoding, BeforeValidator(_recoding, json_schema_input_type=str | LocalRecoding)
]


def builder_of(hierarchy: Any, column: str) -> Any:
    """Return something that can be written down and builds the same hierarchy."""
    if isinstance(hierarchy, Hierarchy):
        made = Table(tuple(hierarchy.to_rows()))
        if Hierarchy.from_rows(made.rows) != hierarchy:
            raise PlanError(
                f"the hierarchy of column {column!r} has shares of its own, or the text 'NULL' as a value, "
                "which rows alone do not tell: put the builder that made it into the plan instead"
            )
        return made
    if getattr(hierarchy, "kind", None) not in BUILDERS:
        raise PlanError(
            f"the hierarchy of column {column!r} is a {type(hierarchy).__name__}, which a recipe cannot "
            "name: build it, save it with Hierarchy.save and put h.file('…') into the plan"
        )
    return hierarchy


# Written down again


def spelled(value: Any) -> Any:
    """Write a declared value as a mapping that begins with its kind and leaves out what is as by default."""
    dumped = TypeAdapter(type(value)).dump_python(value, exclude_defaults=True)
    dumped.pop("kind", None)
    return {"kind": value.kind, **_plain(dumped)}


def shortened(spec: dict[str, Any]) -> Any:
    """Return the kind alone if there is nothing else to say."""
    return spec["kind"] if len(spec) == 1 else spec


def _plain(value: Any) -> Any:
    """Turn values into what YAML knows, without losing a digit."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Decimal):
        return float(value) if Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Path):
        return value.as_posix()
    if isinstance(value, timedelta):
        return TypeAdapter(timedelta).dump_python(value, mode="json")
    return value
