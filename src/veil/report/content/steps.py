"""Masking methods in a report: parameters and figures that disclose no value of the table."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pyarrow as pa

from veil.base.describe import definition, help_on
from veil.base.spell import spell_value
from veil.outcome.method import Method
from veil.outcome.outcome import Outcome
from veil.report.content.withheld import spell_models
from veil.utility.step import StepSummary

_NOTHING = pa.table({})
"""A table that shows no value."""

_MEASURES = ("average class size", "loss", "share of the cells", "share kept")
"""Fractional facts that disclose no person's value."""


def spell_step(method: Method, columns: Sequence[str]) -> dict[str, Any]:
    """Return a method as a recipe spells it. Keys, and possible values of the table, are withheld."""
    fields = {field.name: field for field in dataclasses.fields(method)}  # type: ignore[arg-type]
    spec, hints = spell_value(method), get_type_hints(type(method))
    result: dict[str, Any] = {"kind": spec["kind"]}
    for name, value in spec.items():
        if name == "kind" or not fields[name].repr:
            continue
        if name == "models":
            result[name] = spell_models(method.privacy_models, _NOTHING)
        else:
            words = {*columns, *_choices(hints[name])}
            result[name] = value if _is_plain(value, words) else "withheld"
    return result


def _is_plain(value: Any, words: Container[str]) -> bool:
    """Whether a parameter consists of numbers, switches, names of columns and its own choices only."""
    if isinstance(value, Mapping):
        return all(_is_plain([key, each], words) for key, each in value.items())
    if isinstance(value, list | tuple):
        return all(_is_plain(each, words) for each in value)
    return value is None or isinstance(value, bool | int | float) or value in words


def _choices(hint: Any) -> set[str]:
    """Return the words that a parameter is chosen from."""
    if get_origin(hint) is Literal:
        return {each for each in get_args(hint) if isinstance(each, str)}
    return {word for each in get_args(hint) for word in _choices(each)}


def describe_step(method: Method, outcome: Outcome) -> dict[str, Any]:
    """Return the method, parameters, facts, loss and remaining risk of a step."""
    description: dict[str, Any] = {
        "kind": type(method).__name__,
        "definition": help_on(type(method).__name__, "definition", definition(type(method))),
        "attacks": list(method.attacks),
        "columns": list(method.column_names),
        "parameters": {
            name: value
            for name, value in spell_step(method, outcome.columns).items()
            if name not in ("kind", "columns", "column")
        },
    }
    steps = [each for each in (result.trace(StepSummary) for result in outcome.steps) if each is not None]
    of_method = [step for step in steps if step.method is method]
    facts = of_method[0].facts if of_method else outcome.facts  # an engine measures no step
    description["facts"] = {
        name: value
        for name, value in facts.items()
        if isinstance(value, str | int) or (isinstance(value, float) and name in _MEASURES)
    }
    for step in of_method[:1]:
        summary = step.summary
        description["figures"] = {
            "records": list(summary.records),
            "changed": {each.column: round(each.changed, 4) for each in summary.columns},
            "smallest_class": list(summary.smallest_class),
            "uniques": [round(each, 4) for each in summary.uniques],
            "linked": [round(summary.linkage.forward, 4), round(summary.linkage.backward, 4)],
        }
    return description
