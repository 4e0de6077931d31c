from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from veil.hierarchies import Builds, Hierarchy

Build = Callable[..., Hierarchy]


@pytest.fixture(scope="session")
def build() -> Build:
    """Build a hierarchy for plain Python values."""

    def run(
        builder: Builds,
        values: Sequence[Any],
        counts: Sequence[int] | None = None,
        column: str = "x",
        type: pa.DataType | None = None,
    ) -> Hierarchy:
        times = np.ones(len(values), dtype=np.int64) if counts is None else np.array(counts)
        return builder.build(pa.array(values, type), times, column)

    return run
