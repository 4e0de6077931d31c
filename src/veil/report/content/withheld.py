"""The recipe of a release without the original values that are written in it.

Hierarchies that list values, research subsets by query or by rows, and models that list values disclose
possible values of cells that the release does not show. They are replaced by their number of values or rows
only: guesses could be tested against a fingerprint, and few guesses suffice where there are few values.
Columns, kinds, widths and all other parameters stay.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from veil.base.references import file_name, relocate
from veil.base.spell import spell_value
from veil.hierarchies import Builder, File, Hierarchy, Suppression
from veil.models.base import PrivacyModel
from veil.models.subset import Matching, Random, RowNumbers
from veil.plan.plan import Plan
from veil.tables import Format
from veil.tables.text import canonical_text

_CHECKED_VALUES = 100_000
"""Largest number of released values that the lists of a model are compared with."""


def spell_recipe(
    plan: Plan, table: pa.Table, *, input: str | None = None, format: Format | None = None
) -> dict[str, Any]:
    """Return the recipe of a plan as plain data, without original values.

    >>> from veil import KAnonymity, hierarchies as h
    >>> plan = Plan({"job": h.categories({"care": ["nurse", "doctor"]})}, KAnonymity(2))
    >>> recipe = spell_recipe(plan, pa.table({"job": ["care", "care"]}))
    >>> recipe["steps"][0]["quasi_identifiers"]["job"]["withheld"]["values"]
    2
    """
    from veil.recipe import Recipe

    plan = relocate(plan, file_name)
    plain = {name: each for name, each in plan.quasi_identifiers.items() if _is_plain(each, table, name)}
    stand_in = dataclasses.replace(
        plan,
        quasi_identifiers={name: plain.get(name, Suppression()) for name in plan.quasi_identifiers},
        models=tuple(_bare(model) for model in plan.models),
        items=dict.fromkeys(plan.items),
    )
    recipe = Recipe.of(stand_in, input=input, format=format).spell()
    step = recipe["steps"][0]
    step["quasi_identifiers"] = {
        name: step["quasi_identifiers"][name] if name in plain else withheld_hierarchy(each)
        for name, each in plan.quasi_identifiers.items()
    }
    # A hierarchy of items may name items that were removed everywhere.
    if plan.items:
        step["items"] = {name: each and withheld_hierarchy(each) for name, each in plan.items.items()}
    step["models"] = spell_models(plan.models, table)
    return recipe


def spell_models(models: Iterable[PrivacyModel], table: pa.Table) -> list[dict[str, Any]]:
    """Return models as a recipe spells them, without folders and values that the release does not show."""
    return [_spell_model(relocate(model, file_name), table) for model in models]


def withheld_hierarchy(builder: Any) -> dict[str, Any]:
    """Return a hierarchy without the values of its column, with their number only."""
    if isinstance(builder, Hierarchy):
        return {"kind": "table", "withheld": {"values": builder.size}}
    if not isinstance(builder, Builder):
        return {"kind": type(builder).__name__, "withheld": {}}
    spec, values_by_field = spell_value(builder), builder.withheld(_never)
    plain = {name: value for name, value in spec.items() if name not in values_by_field}
    return {**plain, "withheld": {"values": len(_values(values_by_field))}}


def _never(texts: Iterable[str]) -> bool:
    return False


def _values(values_by_field: Mapping[str, set[str]]) -> set[str]:
    return set().union(*values_by_field.values())


def _is_plain(builder: Any, table: pa.Table, name: str) -> bool:
    """Whether a hierarchy can be shown unchanged."""
    return isinstance(builder, Builder) and not builder.withheld(lambda ends: _all_shown(ends, table, name))


def _all_shown(ends: Iterable[str], table: pa.Table, name: str) -> bool:
    """Whether the labels of the released column show all limits anyway."""
    if name not in table.column_names:
        return False
    labels = "\n".join(text for text in canonical_text(pc.unique(table[name])) if text is not None)
    return all(end in labels for end in ends)


# --- models -----------------------------------------------------------------------------------------------


def _bare(model: PrivacyModel) -> PrivacyModel:
    """Return a model with a placeholder for its research subset, so that it can be spelled."""
    if model.subset is None or "subset" not in _names(model):
        return model
    return dataclasses.replace(model, subset=RowNumbers((0,)))  # type: ignore[type-var]


def _names(model: PrivacyModel) -> list[str]:
    return [field.name for field in dataclasses.fields(model)]  # type: ignore[arg-type]


def _spell_model(model: PrivacyModel, table: pa.Table) -> dict[str, Any]:
    spec: dict[str, Any] = spell_value(_bare(model))
    if "subset" in spec:
        spec["subset"] = _spell_subset(model.subset)
    lists = {name: _members(value) for name, value in spec.items() if isinstance(value, list | tuple)}
    reading = lists or "hierarchy" in spec
    shown_values = _shown_values(table, getattr(model, "attribute", None)) if reading else set()
    for name, members in lists.items():
        if name == "order" and members & shown_values:
            spec[name] = [each for each in spec[name] if each in shown_values]
        elif not members <= shown_values | set(table.column_names):
            spec[name] = {"withheld": {"values": len(members)}}
    if isinstance(spec.get("hierarchy"), Mapping):
        builder = getattr(model, "hierarchy", None)
        plain = isinstance(builder, Builder) and _values(builder.withheld(_never)) <= shown_values
        if not plain and not isinstance(builder, File):
            spec["hierarchy"] = withheld_hierarchy(builder)
    return spec


def _members(entry: Any) -> set[str]:
    """Return the entries of a list and of lists in it."""
    if isinstance(entry, list | tuple):
        return set().union(*map(_members, entry))
    return {str(entry)}


def _shown_values(table: pa.Table, column: str | None) -> set[str]:
    if column is None or column not in table.column_names:
        return set()
    values = pc.unique(table[column])
    if len(values) > _CHECKED_VALUES or pa.types.is_nested(values.type):
        return set()
    return {text for text in canonical_text(values) if text is not None}


def _spell_subset(subset: Any) -> dict[str, Any]:
    """Describe how the subset was chosen, without its rows and values."""
    if isinstance(subset, Random):
        return {"kind": "Random", "probability": subset.probability}
    if isinstance(subset, RowNumbers):
        return {"kind": "RowNumbers", "withheld": {"rows": len(subset.rows)}}
    if isinstance(subset, Matching):
        if isinstance(subset.source, str):
            return {"kind": "Matching", "source": subset.source}
        return {"kind": "Matching", "withheld": {"rows": subset.source.num_rows}}
    return {"kind": "Where", "withheld": {}}


def withholds_part(spec: Any) -> bool:
    """Whether a part of a spelled recipe or model is withheld."""
    if isinstance(spec, Mapping):
        return "withheld" in spec or any(map(withholds_part, spec.values()))
    return isinstance(spec, list | tuple) and any(map(withholds_part, spec))
