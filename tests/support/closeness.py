"""t-closeness as asked of the oracle and of Veil, and samples of given counts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from support import oracle, strategies
from veil.models.closeness.model import TCloseness


def ours(asked: oracle.TCloseness) -> TCloseness:
    return TCloseness(asked.attribute, asked.t, asked.distance, asked.hierarchy, missing=asked.missing)


@st.composite
def asked(draw: st.DrawFn, problem: oracle.Problem, distance: str) -> oracle.TCloseness:
    name = draw(st.sampled_from(["S", "T"]))
    values = sorted(set(problem.sensitive[name]), key=lambda value: (value is None, value or ""))
    t = draw(st.sampled_from([0, 0.1, 0.2, 0.25, 0.3, 1 / 3, 0.5, 0.6000000000000001, 0.75, 1, 1e-9]))
    hierarchy = draw(strategies.taxonomies(values)) if distance == "hierarchical" else None
    missing = draw(st.sampled_from(["left out", "a value"]))
    return oracle.TCloseness(name, t, distance, hierarchy=hierarchy, missing=missing)


def sample_of_counts(records: int, masses: list[int]) -> Any:
    """Return of a sample what a criterion reads when it is made."""
    return SimpleNamespace(
        whole_of=lambda _: records, largest_size=lambda _: records, distribution=lambda _: np.array(masses)
    )
