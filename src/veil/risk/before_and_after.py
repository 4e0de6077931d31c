"""The tables of an outcome as an attacker sees them: the input, as it was collected, and what was made of it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from veil.base.html import html_table
from veil.engines.engine_source import EngineSource
from veil.outcome.outcome import Outcome
from veil.published.table import Published
from veil.risk.grouping import published_by
from veil.risk.reidentification import Risk, sample_risk


class Risks(tuple[Risk, Risk]):
    """The risks before and after, which notebooks show beside each other."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        before, after = self
        names = ("highest", "average", "at_risk", "uniques", "classes", "records")
        rows = [
            (name.replace("_", " "), *(_told(getattr(each, name)) for each in (before, after)))
            for name in names
        ]
        return html_table(
            ("", "before", "after"), rows, f"Risks of re-identification (threshold {before.threshold:g})"
        )


def _told(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.2%}"


def risks_of(
    outcome: Outcome, threshold: float = 0.2, quasi_identifiers: str | Iterable[str] | None = None
) -> tuple[Risk, Risk]:
    """Return the re-identification risks of the input and of what was made of it."""
    after = published_by(outcome, quasi_identifiers)
    before = sample_risk(_input_sizes(outcome, after.names), threshold)
    return Risks((before, sample_risk(after.sizes, threshold)))


def _input_sizes(outcome: Outcome, names: list[str]) -> NDArray[np.int64]:
    """Sizes of the classes of the input; a column that only the output has tells nothing about it."""
    source, original = outcome.source, outcome.original
    there = [name for name in names if name in original.column_names]
    if isinstance(source, EngineSource) and outcome.prepared is None:
        return source.class_sizes(there)
    weights = source.weights if outcome.prepared is None else outcome.prepared.weights
    return Published(original, there, untouched=True, weights=weights, persons=outcome.persons).sizes
