"""Tables for the tests of risks: the reference's example, and random ones with gaps."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from veil.published.table import Published
from veil.tables.rows import Rows

often = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
sometimes = settings(often, max_examples=60)

NAMES = ["A", "G", "Z"]
E1 = pa.table(
    {
        "A": [21, 23, 21, 35, 38, 35, 38, 23, 35, 21],
        "G": list("ffmmmffmmf"),
        "Z": ["110", "112", "110", "110", "241", "243", "241", "112", "243", "110"],
    }
)
"""The reference's example: ten people."""

AGES = {21: "20-29", 23: "20-29", 35: "30-39", 38: "30-39"}


def generalized(sex: bool = False) -> pa.Table:
    """The example at the levels (1, 0, 1), or (1, 1, 1)."""
    return pa.table(
        {
            "A": [AGES[age] for age in E1["A"].to_pylist()],
            "G": ["*"] * 10 if sex else E1["G"],
            "Z": [code[:2] + "*" for code in E1["Z"].to_pylist()],
        }
    )


def suppressed(table: pa.Table, rows: set[int]) -> pa.Table:
    return pa.table(
        {
            name: ["*" if at in rows else cell for at, cell in enumerate(table[name].to_pylist())]
            for name in table.column_names
        }
    )


def table_of(rows: list[tuple[str | None, ...]], width: int) -> pa.Table:
    return pa.table({f"q{j}": pa.array([row[j] for row in rows], pa.string()) for j in range(width)})


def published(rows: list[tuple[str | None, ...]], width: int) -> Published:
    return Published(Rows.of(table_of(rows, width)), [f"q{j}" for j in range(width)])


@st.composite
def tables(
    draw: st.DrawFn, max_width: int = 4, max_rows: int = 25, gaps: bool = True, min_rows: int = 0
) -> tuple[list[tuple[str | None, ...]], int]:
    """Draw rows of few values, with suppressed and missing cells, and their width."""
    width = draw(st.integers(1, max_width))
    cells = st.sampled_from(["a", "b", "c", *(["*", "*", None] if gaps else [])])
    pool = draw(st.lists(st.tuples(*[cells] * width), min_size=1, max_size=12))
    rows = draw(st.lists(st.sampled_from(pool), min_size=min_rows, max_size=max_rows))
    return rows, width


def seeded(rows: int, columns: int, values: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({f"q{j}": rng.integers(0, values, rows) for j in range(columns)})
