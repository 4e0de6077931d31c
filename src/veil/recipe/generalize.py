"""The step Generalize of a recipe: the fields of a plan as a file spells them, and the plan."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

from pydantic import BeforeValidator, Field

from veil.base.declare import declared
from veil.base.spell import spell_value
from veil.hierarchies import File
from veil.plan.plan import Plan, Treatment
from veil.recipe.parts import (
    HierarchySpec,
    ModelSpec,
    Names,
    QualitySpec,
    RecodingSpec,
    StrategySpec,
    builder_of,
    one_or_more,
    shorten,
)

COMMON = ("person", "knows", "order")
"""Fields of a plan that are fields of the recipe: they are about the table, not about one step."""


def _treatments(value: Any) -> Any:
    value = one_or_more(value)
    return {str(name): "remove" for name in value} if isinstance(value, list | tuple) else value


_AS_TEXT: dict[str, Any] = {
    "quasi_identifiers": Annotated[dict[str, HierarchySpec], Field(json_schema_extra={"minProperties": 1})],
    "items": dict[str, HierarchySpec | None],
    "models": Annotated[list[ModelSpec], Field(min_length=1)],
    "sensitive": Names,
    "insensitive": Names,
    "identifying": Annotated[
        dict[str, Treatment],
        BeforeValidator(_treatments, json_schema_input_type=str | list[str] | dict[str, Treatment]),
    ],
    "quality": QualitySpec,
    "recoding": RecodingSpec,
    "strategy": StrategySpec,
}
"""Fields of a plan whose values are spelled differently in a file. The others are as in Python."""


def _plan_fields(names: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the types and the defaults of fields of a plan, in types that a file can hold."""
    hints = get_type_hints(Plan, include_extras=True)
    types: dict[str, Any] = {}
    defaults: dict[str, Any] = {}
    for name in names:
        declaration = Plan.__pydantic_fields__[name]  # type: ignore[attr-defined]
        default = declaration.get_default(call_default_factory=True)
        types[name] = Annotated[_AS_TEXT.get(name, hints[name]), Field(description=declaration.description)]
        if isinstance(default, dict | tuple):
            defaults[name] = Field(default_factory=dict if isinstance(default, dict) else list)
        elif hasattr(default, "kind"):
            defaults[name] = Field(default_factory=declaration.default_factory)
        elif not declaration.is_required():
            defaults[name] = default
    return types, defaults


FIELDS = tuple(each.name for each in dataclasses.fields(Plan) if each.name not in COMMON)

if TYPE_CHECKING:

    class GeneralizeSpec:
        """The step that searches for a transformation."""

        def __init__(self, **fields: Any) -> None: ...

        __pydantic_fields__: dict[str, Any]

        def __getattr__(self, name: str) -> Any: ...
else:

    def _declaration() -> type[Any]:
        types, defaults = _plan_fields(FIELDS)
        types["kind"] = Literal["Generalize"]
        defaults["kind"] = Field(default="Generalize", repr=False, kw_only=True)
        content = {
            "__doc__": "The step that searches for a transformation with which all models hold.",
            "__module__": __name__,
            "__annotations__": types,
        }
        return declared(type("GeneralizeSpec", (), content | defaults))

    GeneralizeSpec = _declaration()


def step_of(plan: Plan) -> GeneralizeSpec:
    """Return the step of a plan. Hierarchies given as tables are written out in full."""
    fields = {name: getattr(plan, name) for name in FIELDS}
    fields["quasi_identifiers"] = {
        name: builder_of(each, name) for name, each in plan.quasi_identifiers.items()
    }
    fields["items"] = {name: each and builder_of(each, name) for name, each in plan.items.items()}
    return GeneralizeSpec(
        **{name: list(each) if isinstance(each, tuple) else each for name, each in fields.items()}
    )


def spell_generalize(step: GeneralizeSpec) -> dict[str, Any]:
    """Return the step as a file spells it, without defaults."""
    result: dict[str, Any] = {"kind": "Generalize"}
    for name in FIELDS:
        value = getattr(step, name)
        default = GeneralizeSpec.__pydantic_fields__[name].get_default(call_default_factory=True)
        if value == default:
            continue
        if name in ("quasi_identifiers", "items"):
            value = {column: each and _spell_hierarchy(each) for column, each in value.items()}
        elif name == "models":
            value = [spell_value(each) for each in value]
        elif name in ("quality", "strategy", "recoding"):
            value = spell_value(value)
        elif name == "identifying" and set(value.values()) == {"remove"}:
            value = list(value)
        result[name] = value
    return result


def _spell_hierarchy(builder: Any) -> Any:
    spec = spell_value(builder)
    is_path = isinstance(builder, File) and set(spec) == {"kind", "path"} and "." in spec["path"]
    return spec["path"] if is_path else shorten(spec)
