"""Private-PGM as the code that makes noisy counts fit together."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from veil.dp import Accountant
from veil.errors import MissingDependencyError
from veil.private_table import MarginalTree, private_table


def test_without_the_library_it_is_refused_before_anything_is_paid(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mbi", None)
    budget = Accountant(2, "1e-3")
    with pytest.raises(MissingDependencyError, match="needs Private-PGM"):
        private_table(
            pa.table({"a": [0, 1]}),
            MarginalTree(library="mbi"),
            1,
            delta="1e-6",
            neighbours="one more or less",
            domains={"a": [0, 1]},
            missing={"a": 0},
            accountant=budget,
            person=None,
        )
    assert float(budget.remaining.epsilon) == 2


def test_private_pgm_fits_the_same_counts() -> None:
    """With a large budget both find the tables of the data; with a small one, they are alike."""
    pytest.importorskip("mbi")
    rng = np.random.default_rng(1)
    a = rng.integers(0, 3, 4000)
    b = np.where(rng.random(4000) < 0.8, a, rng.integers(0, 3, 4000))
    table, domains = pa.table({"a": a, "b": b}), {"a": [0, 1, 2], "b": [0, 1, 2]}
    truth = np.histogram2d(a, b, 3)[0] / 4000

    def far(library: Any, rho: Any) -> float:
        made = private_table(
            table,
            MarginalTree(library=library),
            rho=rho,
            neighbours="one changed",
            domains=domains,
            missing={"a": 0, "b": 0},
            for_testing_seed=1,
            person=None,
        ).table
        return float(np.abs(np.histogram2d(made["a"], made["b"], 3)[0] / 4000 - truth).sum() / 2)

    assert far("mbi", 10**6) < 0.005
    assert abs(far("mbi", "1/100") - far("own", "1/100")) < 0.05
