"""The parts of a recipe: how hierarchies, models and quality models are read and written."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any, get_args, get_origin

from pydantic import AfterValidator, BeforeValidator, Field

from veil import lattice, models
from veil import quality as qualities
from veil.base.references import MARK
from veil.base.registry import find
from veil.dp.safepub import SafePub
from veil.errors import PlanError, VeilError, did_you_mean
from veil.hierarchies import BUILDERS, AnyBuilder, Hierarchy, Table
from veil.lattice import STRATEGIES, AnyStrategy
from veil.models import PrivacyModel
from veil.plan import recoding as recodings
from veil.plan.recoding import RECODINGS, AnyRecoding
from veil.quality import QUALITIES, Quality


def one_or_more(value: Any) -> Any:
    """Return a single text as a list."""
    return [value] if isinstance(value, str) else value


Names = Annotated[list[str], BeforeValidator(one_or_more, json_schema_input_type=str | list[str])]


def _finite(value: int | float | str) -> int | float | str:
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"a finite number is needed, not {value}")
    return value


Number = Annotated[int | float | str, AfterValidator(_finite)]
"""A number, or a text such as ln(3)."""


def members(union: Any) -> dict[str, type[Any]]:
    """Return the classes of a union of declared classes by their `kind`.

    >>> members(AnyRecoding)["Iterative"].__name__
    'Iterative'
    """
    if get_origin(union) is Annotated:
        union = get_args(union)[0]
    classes = get_args(union) or (union,)
    return {each.__pydantic_fields__["kind"].default: each for each in classes}


# Hierarchies, models, quality models

MODELS = models.MODELS.plus(SafePub)
"""The models of a plan: those that a search checks, and SafePub, which has its own search."""


def with_kind(value: Any, kinds: Mapping[str, Any], expected: str) -> Any:
    """Refuse a mapping whose `kind` is absent or unknown, with a better message than that of pydantic."""
    if isinstance(value, Mapping):
        kind = value.get("kind")
        if kind is None:
            raise ValueError(f"`kind` is required, one of {', '.join(kinds)}")
        if not isinstance(kind, str):
            raise ValueError(f"`kind` should be a word, one of {', '.join(kinds)}, not {kind!r}")
        if kind not in kinds and (cls := find(kinds, kind)) is not None:
            return {**value, "kind": next(name for name, each in kinds.items() if each is cls)}
        if kind not in kinds:
            raise ValueError(f"there is no kind {kind!r}.{did_you_mean(str(kind), kinds)}")
    elif getattr(value, "kind", None) not in kinds:
        raise ValueError(f"{expected} is needed, not {value!r}")
    return value


def is_path(text: str) -> bool:
    """Return whether a word names a file rather than a kind of hierarchy.

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
    if isinstance(value, str):
        try:
            value = recodings.by_name(value)
        except VeilError as error:
            raise ValueError(str(error)) from None
    return with_kind(value, RECODINGS, "a way of recoding, such as `cells`,")


def _is_complete(cls: type[Any]) -> bool:
    """Return whether a kind needs no parameters, so that its name is enough."""
    try:
        cls()
    except VeilError:
        return False
    return True


def _list_words(schema: dict[str, Any]) -> None:
    schema["enum"] = [kind for kind, each in BUILDERS.items() if _is_complete(each)]


_Word = Annotated[str, Field(json_schema_extra=_list_words)]
_FilePath = Annotated[
    str, Field(pattern=r"[./\\]", description="path of a hierarchy file", json_schema_extra={MARK: True})
]

HierarchySpec = Annotated[
    AnyBuilder, BeforeValidator(_hierarchy, json_schema_input_type=_Word | _FilePath | AnyBuilder)
]
"""A kind of hierarchy with its parameters, its name alone, or the path of a hierarchy file."""

ModelSpec = Annotated[PrivacyModel, MODELS, BeforeValidator(_model)]

QualitySpec = Annotated[Quality, BeforeValidator(_quality, json_schema_input_type=str | Quality)]

StrategySpec = Annotated[AnyStrategy, BeforeValidator(_strategy, json_schema_input_type=str | AnyStrategy)]

RecodingSpec = Annotated[AnyRecoding, BeforeValidator(_recoding, json_schema_input_type=str | AnyRecoding)]


def builder_of(hierarchy: Any, column: str) -> Any:
    """Return a builder of the same hierarchy that a recipe can contain."""
    if isinstance(hierarchy, Hierarchy):
        table = Table(tuple(hierarchy.to_rows()))
        if Hierarchy.from_rows(table.rows) != hierarchy:
            raise PlanError(
                f"the hierarchy of column {column!r} has its own shares, or the text 'NULL' as a value, "
                "which rows alone cannot express: use the builder that made it in the plan instead"
            )
        return table
    if getattr(hierarchy, "kind", None) not in BUILDERS:
        raise PlanError(
            f"the hierarchy of column {column!r} is a {type(hierarchy).__name__}, which a recipe cannot "
            "contain: build it, save it with Hierarchy.save and use h.file('…') in the plan"
        )
    return hierarchy


def shorten(spec: dict[str, Any]) -> Any:
    """Return the kind alone if there are no parameters."""
    return spec["kind"] if len(spec) == 1 else spec
