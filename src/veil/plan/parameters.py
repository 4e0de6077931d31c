"""Parameters of partitioning methods: columns with or without hierarchies, and privacy models.

Both are given as Python values or as in recipes, and serialized as in recipes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import pydantic
from pydantic import BeforeValidator, Field, InstanceOf, PlainSerializer, TypeAdapter

from veil.base.declare import explain, show_value
from veil.errors import HierarchyError, ParameterError
from veil.hierarchies import AnyBuilder, Hierarchy, Table
from veil.models import Model, PrivacyModel

_MODEL: TypeAdapter[Any] = TypeAdapter(Model)


def _hierarchy(value: Any) -> Any:
    return None if value is None else hierarchy_builder(value)


def _columns(value: Any) -> Any:
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, Iterable):
        raise ValueError(
            "`quasi_identifiers` should be column names, or a mapping from column names to hierarchies, "
            f'for example {{"age": None, "sex": h.suppression()}}, not {value!r}'
        )
    if isinstance(names, Mapping):
        return names
    columns: dict[str, None] = {}
    for name in names:
        if name in columns:
            raise ValueError(f"`quasi_identifiers` names column {name!r} twice")
        columns[name] = None
    return columns


def _models(value: Any) -> Any:
    return [value] if isinstance(value, PrivacyModel | Mapping) else value


def _model(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    try:
        return _MODEL.validate_python(dict(value))
    except pydantic.ValidationError as error:
        raise ValueError("privacy model: " + explain(error)) from None


def _spell_parameter(value: Any) -> Any:
    """Serialize a declared value as in recipes, with its kind."""
    if value is None:
        return None
    if isinstance(value, Hierarchy):
        value = Table(tuple(value.to_rows()))
    return {"kind": value.kind, **TypeAdapter(type(value)).dump_python(value, exclude_defaults=True)}


ColumnHierarchy = Annotated[
    Any,
    BeforeValidator(_hierarchy, json_schema_input_type=str | AnyBuilder | None),
    PlainSerializer(_spell_parameter),
]
Columns = Annotated[
    dict[str, ColumnHierarchy],
    Field(min_length=1),
    BeforeValidator(_columns, json_schema_input_type=str | list[str] | dict[str, ColumnHierarchy]),
]
"""Names of columns, each with a hierarchy or None."""

Models = Annotated[
    tuple[
        Annotated[
            InstanceOf[PrivacyModel],
            BeforeValidator(_model, json_schema_input_type=Model),
            PlainSerializer(_spell_parameter),
        ],
        ...,
    ],
    Field(min_length=1),
    BeforeValidator(_models),
    Field(description="privacy models that judge class by class; the result fulfils every one"),
]
"""One or more privacy models."""


_BUILDER: TypeAdapter[Any] = TypeAdapter(AnyBuilder)


def hierarchy_builder(value: Any) -> Any:
    """Return the hierarchy builder that a user or a recipe gives for a quasi-identifier.

    >>> hierarchy_builder("suppression")
    Suppression()
    """
    if hasattr(value, "build") and not isinstance(value, type):
        return value
    if isinstance(value, str):
        value = {"kind": "file", "path": value} if "." in value or "/" in value else {"kind": value}
    if isinstance(value, Mapping):
        try:
            return _BUILDER.validate_python(dict(value))
        except pydantic.ValidationError as error:
            raise ParameterError("hierarchy: " + explain(error, data=dict(value))) from None
    raise HierarchyError(
        f"a quasi-identifier needs a hierarchy, not {show_value(value)}. Use veil.hierarchies (as h), for example "
        "h.intervals(5, 10), h.redaction(), h.read('file.csv') or h.auto()"
    )
