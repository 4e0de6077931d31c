"""Figures that compare outcomes of any method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from veil.outcome.outcome import Outcome, prepared_part
from veil.plan.prepare import Prepared
from veil.quality.figures import quality

_NAMES = ("classes", "average class size", "discernibility", "loss")


def measures_of(outcome: Outcome) -> dict[str, float | int]:
    """Return classes, average class size, discernibility and, where it is known, loss.

    Records that show nothing are one class, cost as many as there are records each (discernibility) and cover
    their whole domain (loss). Loss is that of `veil.quality.Loss`, neutral and without weights.
    """
    figures = {name: outcome.facts[name] for name in _NAMES if name in outcome.facts}
    if len(figures) == len(_NAMES):
        return figures
    if outcome.prepared is None:
        sizes = outcome.by_records.sizes
        return {
            "classes": int(sizes.size),
            "average class size": float(sizes.sum() / max(1, sizes.size)),
            "discernibility": int((sizes * sizes).sum()),
        }
    return _of_parts(outcome, outcome.prepared)


def kept_by_column(outcome: Outcome) -> dict[str, float]:
    """Return how much information each generalized column keeps: 0 if nothing, 1 if it is unchanged.

    Suppressed records keep nothing.
    """
    if not outcome.hierarchies:
        return {}
    covered, records, _ = _covered(outcome, outcome.searched)
    shares_kept = {}
    for (name, hierarchy), share in zip(outcome.hierarchies.items(), covered / max(1, records), strict=False):
        least = 1 / hierarchy.domain_size
        shares_kept[name] = float(1 - (share - least) / (1 - least)) if least < 1 else 1.0
    return shares_kept


def _covered(outcome: Outcome, prepared: Prepared) -> tuple[NDArray[np.float64], int, NDArray[np.int64]]:
    """Return the sum of each column's shares of its domain, the number of records, and of distinct values."""
    hierarchies, suppressed = prepared.encoding.hierarchies, outcome.suppressed
    distinct = prepared.sample.distinct_microaggregated
    covered = np.full(len(hierarchies) + distinct.size, float(suppressed))
    levels = outcome.cell_levels
    released = np.flatnonzero(levels.part >= 0)
    weights, by_row = prepared.weights_of(released), levels.of_rows[released]
    for j, hierarchy in enumerate(hierarchies):
        for level in np.unique(by_row[:, j]).tolist():
            here = np.flatnonzero(by_row[:, j] == level)
            shares = hierarchy.shares[level][hierarchy.label_map(level)][prepared.codes[j][released[here]]]
            covered[j] += shares.sum() if weights is None else shares @ weights[here]
    for part in outcome.parts if distinct.size else ():
        if part.rows.size:
            sample = prepared_part(prepared, part.rows).sample
            classes, _ = sample.classes_of_rows(part.levels)
            covered[len(hierarchies) :] += sample.distinct_in_classes(classes) @ classes.count / distinct
    records = suppressed + prepared.records(released)
    return covered, records, distinct


def _of_parts(outcome: Outcome, prepared: Prepared) -> dict[str, float | int]:
    hierarchies = prepared.encoding.hierarchies
    covered, records, distinct = _covered(outcome, prepared)
    sizes = outcome.by_records.sizes
    bare = records - int(sizes.sum())
    # A microaggregated column loses nothing only in classes of one value: no least share is subtracted.
    domains = [hierarchy.domain_size for hierarchy in hierarchies] + [float("inf")] * distinct.size
    sizes = np.append(sizes, bare) if bare else sizes
    figures = quality(sizes, (covered / max(1, records)).tolist(), domains)
    return {**figures, "discernibility": int(figures["discernibility"]) + bare * (records - bare)}
