"""The releases of Soria-Comas (2013, chapter 6): independent noise for each record and each column.

They are not differentially private, and marked as such. A changed record moves records from block to block,
so all blocks change; independent draws average out over a block; and columns, each with the whole epsilon,
add up. Draws are not exact, as there is no promise that rounding could break.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veil.base.randomness import Randomness
from veil.private_table.mechanisms.columns import CategoricalColumn, Numbers
from veil.private_table.mechanisms.taxonomy import ConceptTaxonomy

Rows = Sequence[NDArray[np.int64]]
"""The rows of each block."""


def published_numbers(
    column: Numbers, blocks: Rows, k: int, epsilon: float, randomness: Randomness
) -> NDArray[np.float64]:
    """Return a column by algorithm 6.2, in the order of the input: Laplace noise on the mean of a block."""
    means = np.empty(len(column.steps))
    for rows in blocks:
        means[rows] = int(column.steps[rows].sum()) / len(rows)
    size = -np.log1p(-randomness.uniform(len(means))) * column.reach / (k * epsilon)
    sign = np.where(randomness.uniform(len(means)) < 0.5, -1, 1)
    return column.values(means + sign * size)


def published_concepts(
    column: CategoricalColumn, taxonomy: ConceptTaxonomy, blocks: Rows, epsilon: float, randomness: Randomness
) -> NDArray[np.int64]:
    """Return a column by algorithm 6.3, in the order of the input: a concept for each record of a block."""
    concepts = np.empty(len(column.codes), np.int64)
    for rows in blocks:
        reached = np.cumsum(np.exp(published_logs(column, taxonomy, rows, epsilon)))
        concepts[rows] = np.searchsorted(reached / reached[-1], randomness.uniform(len(rows)), side="right")
    return np.minimum(concepts, len(taxonomy.labels) - 1)


def published_logs(
    column: CategoricalColumn, taxonomy: ConceptTaxonomy, rows: NDArray[np.int64], epsilon: float
) -> NDArray[np.float64]:
    """Return the log-probability of each concept for a block: e^(-epsilon m / 2D), D the diameter."""
    counts = np.bincount(np.argsort(taxonomy.walk)[column.codes[rows]], minlength=len(taxonomy.walk))
    away = (counts @ taxonomy.steps).astype(np.float64)
    logs = -epsilon * (away - away.min()) / (2 * max(1, taxonomy.diameter))
    return np.asarray(logs - np.log(np.exp(logs).sum()), np.float64)
