"""The tables of an outcome as an attacker sees them: the input, as it was collected, and what was made of it."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from veil.engines.held import EngineHeld
from veil.outcome.outcome import Outcome
from veil.published.table import Published
from veil.risk.grouping import published_by
from veil.risk.reidentification import Risk, sample_risk


def risks_of(
    outcome: Outcome, threshold: float = 0.2, quasi_identifiers: str | Iterable[str] | None = None
) -> tuple[Risk, Risk]:
    """Return the re-identification risks of the input and of what was made of it."""
    after = published_by(outcome, quasi_identifiers)
    return sample_risk(_input_sizes(outcome, after.names), threshold), sample_risk(after.sizes, threshold)


def _input_sizes(outcome: Outcome, names: list[str]) -> NDArray[np.int64]:
    """Sizes of the classes of the input; a column that only the output has tells nothing about it."""
    source, original = outcome.source, outcome.original
    there = [name for name in names if name in original.column_names]
    if isinstance(source, EngineHeld) and outcome.prepared is None:
        return source.class_sizes(there)
    weights = source.weights if outcome.prepared is None else outcome.prepared.weights
    return Published(original, there, untouched=True, weights=weights, persons=outcome.persons).sizes
