"""Risks before and after: of the input of an outcome, as it was collected, and of its output."""

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
    """The risks before and after, which notebooks show side by side."""

    __slots__ = ()

    def _repr_html_(self) -> str:
        before, after = self
        names = ("highest", "average", "at_risk", "uniques", "classes", "records")
        rows = [
            (name.replace("_", " "), *(_format_figure(getattr(each, name)) for each in (before, after)))
            for name in names
        ]
        return html_table(
            ("", "before", "after"), rows, f"Risks of re-identification (threshold {before.threshold:g})"
        )


def _format_figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.2%}"


def risks_of(
    outcome: Outcome, threshold: float = 0.2, quasi_identifiers: str | Iterable[str] | None = None
) -> tuple[Risk, Risk]:
    """Return the re-identification risks of the input and of the output."""
    after = published_by(outcome, quasi_identifiers)
    before = sample_risk(_input_sizes(outcome, after.names), threshold)
    return Risks((before, sample_risk(after.sizes, threshold)))


def _input_sizes(outcome: Outcome, names: list[str]) -> NDArray[np.int64]:
    """Return the class sizes of the input; columns that only the output has are ignored."""
    source, original = outcome.source, outcome.original
    there = [name for name in names if name in original.column_names]
    if isinstance(source, EngineSource) and outcome.prepared is None:
        return source.class_sizes(there)
    return Published(outcome.before, there, suppressed="none").sizes
