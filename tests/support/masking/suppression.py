"""Slow twins of local suppression: rows are tuples, None is missing."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
from hypothesis import strategies as st


def match(a, b):
    return all(x is None or y is None or x == y for x, y in zip(a, b, strict=True))


def counts(rows):
    return [sum(match(a, b) for b in rows) for a in rows]


def fulfils(rows, k, missing):
    if missing == "own_value":
        return min(Counter(rows).values()) >= k
    return min(counts(rows)) >= k


def least_weight(rows, k, missing, weights):
    """Try every set of cells, the lightest first."""
    cells = [(i, j) for i in range(len(rows)) for j in range(len(rows[0])) if rows[i][j] is not None]
    chosen = (each for size in range(len(cells) + 1) for each in combinations(cells, size))
    best = None
    for each in chosen:
        weight = sum(weights[j] for _, j in each)
        if best is not None and weight >= best:
            continue
        made = [
            tuple(None if (i, j) in each else cell for j, cell in enumerate(row))
            for i, row in enumerate(rows)
        ]
        if fulfils(made, k, missing):
            best = weight
    return best


def rows_of(table):
    return list(zip(*table.values(), strict=True))


def table_of(rows):
    columns = zip(*rows, strict=True)
    return {f"c{at}": list(column) for at, column in enumerate(columns)}


def codes_of(rows):
    return np.array([[-1 if cell is None else cell for cell in row] for row in rows], np.int32)


def random_tables(columns, rows, values=3, gaps=True):
    cell = st.integers(0, values - 1)
    return st.lists(
        st.tuples(*[cell | st.none() if gaps else cell] * columns), min_size=rows[0], max_size=rows[1]
    )
