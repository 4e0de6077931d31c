"""The recipe of a release without the original values that are written in it.

Hierarchies that are written down value by value, research subsets by query or by rows, and models that list values
say what stands, or may stand, in cells that the release does not show. In their place comes how many values or rows
they hold, and nothing else: a fingerprint could be tried with every guess, and few guesses are needed where there are
few values. Columns, kinds, widths and all other parameters stay.
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
"""Values that a model may list and still be compared with the release."""


def spell_recipe(
    plan: Plan, released: pa.Table, *, input: str | None = None, format: Format | None = None
) -> dict[str, Any]:
    """Return the recipe of a plan as plain data, without original values.

    >>> from veil import KAnonymity, hierarchies as h
    >>> plan = Plan({"job": h.categories({"care": ["nurse", "doctor"]})}, KAnonymity(2))
    >>> spell_recipe(plan, pa.table({"job": ["care", "care"]}))["quasi_identifiers"]["job"]["withheld"]["values"]
    2
    """
    from veil.recipe import Recipe

    plan = relocate(plan, file_name)
    kept = {name: each for name, each in plan.quasi_identifiers.items() if _is_plain(each, released, name)}
    stand_in = dataclasses.replace(
        plan,
        quasi_identifiers={name: kept.get(name, Suppression()) for name in plan.quasi_identifiers},
        models=tuple(_bare(model) for model in plan.models),
        items=dict.fromkeys(plan.items),
    )
    made = Recipe.of(stand_in, input=input, format=format).spell()
    made["quasi_identifiers"] = {
        name: made["quasi_identifiers"][name] if name in kept else withheld_hierarchy(each)
        for name, each in plan.quasi_identifiers.items()
    }
    # A hierarchy of items may name some that were left out everywhere.
    if plan.items:
        made["items"] = {name: each and withheld_hierarchy(each) for name, each in plan.items.items()}
    made["models"] = spell_models(plan.models, released)
    return made


def spell_models(models: Iterable[PrivacyModel], released: pa.Table) -> list[dict[str, Any]]:
    """Return models as a recipe spells them, without folders and without values that the release does not show."""
    return [_spell_model(relocate(model, file_name), released) for model in models]


def withheld_hierarchy(builder: Any) -> dict[str, Any]:
    """Return what may be said of a hierarchy that names values of its column."""
    if isinstance(builder, Hierarchy):
        return {"kind": "table", "withheld": {"values": builder.size}}
    if not isinstance(builder, Builder):
        return {"kind": type(builder).__name__, "withheld": {}}
    spec, named = spell_value(builder), builder.withheld(_never)
    plain = {name: value for name, value in spec.items() if name not in named}
    return {**plain, "withheld": {"values": len(_values(named))}}


def _never(texts: Iterable[str]) -> bool:
    return False


def _values(named: Mapping[str, set[str]]) -> set[str]:
    return set().union(*named.values())


def _is_plain(builder: Any, released: pa.Table, name: str) -> bool:
    """Whether a hierarchy can be written down as it is."""
    return isinstance(builder, Builder) and not builder.withheld(
        lambda ends: _all_shown(ends, released, name)
    )


def _all_shown(ends: Iterable[str], released: pa.Table, name: str) -> bool:
    """Whether each of some limits can be read in the labels of the released column anyway."""
    if name not in released.column_names:
        return False
    labels = "\n".join(text for text in canonical_text(pc.unique(released[name])) if text is not None)
    return all(end in labels for end in ends)


# --- models -----------------------------------------------------------------------------------------------


def _bare(model: PrivacyModel) -> PrivacyModel:
    """Return a model that can be spelled whatever its research subset is."""
    if model.subset is None or "subset" not in _names(model):
        return model
    return dataclasses.replace(model, subset=RowNumbers((0,)))  # type: ignore[type-var]


def _names(model: PrivacyModel) -> list[str]:
    return [field.name for field in dataclasses.fields(model)]  # type: ignore[arg-type]


def _spell_model(model: PrivacyModel, released: pa.Table) -> dict[str, Any]:
    spec: dict[str, Any] = spell_value(_bare(model))
    if "subset" in spec:
        spec["subset"] = _spell_subset(model.subset)
    lists = {name: _members(value) for name, value in spec.items() if isinstance(value, list | tuple)}
    reading = lists or "hierarchy" in spec
    shown = _shown_values(released, getattr(model, "attribute", None)) if reading else set()
    for name, members in lists.items():
        if name == "order" and members & shown:
            spec[name] = [each for each in spec[name] if each in shown]  # whose order is all that matters
        elif not members <= shown | set(released.column_names):
            spec[name] = {"withheld": {"values": len(members)}}
    if isinstance(spec.get("hierarchy"), Mapping):
        builder = getattr(model, "hierarchy", None)
        plain = isinstance(builder, Builder) and _values(builder.withheld(_never)) <= shown
        if not plain and not isinstance(builder, File):
            spec["hierarchy"] = withheld_hierarchy(builder)
    return spec


def _members(listed: Any) -> set[str]:
    """Everything that stands in a list, or in lists in it."""
    if isinstance(listed, list | tuple):
        return set().union(*map(_members, listed))
    return {str(listed)}


def _shown_values(released: pa.Table, column: str | None) -> set[str]:
    if column is None or column not in released.column_names:
        return set()
    values = pc.unique(released[column])
    if len(values) > _CHECKED_VALUES or pa.types.is_nested(values.type):
        return set()
    return {text for text in canonical_text(values) if text is not None}


def _spell_subset(subset: Any) -> dict[str, Any]:
    """Say how the rows to release were chosen, but neither which they are nor by what values."""
    if isinstance(subset, Random):
        return {"kind": "Random", "probability": subset.probability}
    if isinstance(subset, RowNumbers):
        return {"kind": "RowNumbers", "withheld": {"rows": len(subset.rows)}}
    if isinstance(subset, Matching):
        if isinstance(subset.source, str):
            return {"kind": "Matching", "source": subset.source}
        return {"kind": "Matching", "withheld": {"rows": subset.source.num_rows}}
    return {"kind": "Where", "withheld": {}}
