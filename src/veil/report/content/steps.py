"""Masking methods as a report may tell of them: parameters without values of the table, figures that tell of nobody."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pyarrow as pa

from veil.base.describe import definition
from veil.base.spell import spell_value
from veil.outcome.method import Method
from veil.outcome.outcome import Outcome
from veil.report.content.withheld import spell_models
from veil.utility.step import StepSummary

_NOTHING = pa.table({})
"""A table that shows no value."""

_MEASURES = ("average class size", "loss", "share of the cells", "share kept")
"""Facts that are no whole numbers, and tell of nobody."""


def spell_step(method: Method, columns: Sequence[str]) -> dict[str, Any]:
    """Return a method as a recipe spells it. Keys, and whatever may be a value of the table, are withheld."""
    known = {field.name: field for field in dataclasses.fields(method)}  # type: ignore[arg-type]
    spec, hints = spell_value(method), get_type_hints(type(method))
    made: dict[str, Any] = {"kind": spec["kind"]}
    for name, value in spec.items():
        if name == "kind" or not known[name].repr:
            continue
        if name == "models":
            made[name] = spell_models(method.privacy_models, _NOTHING)
        else:
            words = {*columns, *_choices(hints[name])}
            made[name] = value if _is_plain(value, words) else "withheld"
    return made


def _is_plain(value: Any, words: Container[str]) -> bool:
    """Whether a parameter holds numbers, switches, names of columns and words that it is chosen from only."""
    if isinstance(value, Mapping):
        return all(_is_plain([key, each], words) for key, each in value.items())
    if isinstance(value, list | tuple):
        return all(_is_plain(each, words) for each in value)
    return value is None or isinstance(value, bool | int | float) or value in words


def _choices(hint: Any) -> set[str]:
    """Words that a parameter is chosen from."""
    if get_origin(hint) is Literal:
        return {each for each in get_args(hint) if isinstance(each, str)}
    return {word for each in get_args(hint) for word in _choices(each)}


def describe_step(method: Method, outcome: Outcome) -> dict[str, Any]:
    """Tell what a step was, and what it cost and still reveals."""
    made: dict[str, Any] = {
        "kind": type(method).__name__,
        "definition": definition(type(method)).replace("`", ""),
        "attacks": list(method.attacks),
        "columns": list(method.column_names),
        "parameters": {
            name: value
            for name, value in spell_step(method, outcome.columns).items()
            if name not in ("kind", "columns", "column")
        },
    }
    steps: Sequence[StepSummary] = outcome.story if isinstance(outcome.story, tuple) else ()
    of_method = [step for step in steps if step.method is method]
    facts = of_method[0].facts if of_method else outcome.facts
    made["facts"] = {
        name: value
        for name, value in facts.items()
        if isinstance(value, str | int) or (isinstance(value, float) and name in _MEASURES)
    }
    for step in of_method[:1]:
        found = step.summary
        made["figures"] = {
            "records": list(found.records),
            "changed": {each.column: round(each.changed, 4) for each in found.columns},
            "smallest_class": list(found.smallest_class),
            "uniques": [round(each, 4) for each in found.uniques],
            "linked": [round(found.linkage.forward, 4), round(found.linkage.backward, 4)],
        }
    return made
