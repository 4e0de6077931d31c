"""The interface of quality models: a score to minimize, and bounds for pruning the search.

A score is a tuple of numbers compared in order; all models but those that aggregate by rank use one number. A
model is declared without data (`Loss()`); `bind` returns its measure for a sample, which the search calls at
every node. Measures are independent of the search.
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import numpy as np

from veil.base.arrays import Floats, Marks
from veil.classes import kernels
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, Workspace

Score = tuple[float, ...]

NO_BOUND: Score = (float("-inf"),)


class ClassSums(NamedTuple):
    """Sums over the classes of a node; `veil.classes.kernels.tally` defines them."""

    classes: int
    kept: int
    suppressed: int
    squares: int
    kept_squares: int


class Node(NamedTuple):
    """A node under evaluation: its classes and which of them the privacy models reject."""

    levels: Levels
    table: ClassTable
    rejected: Marks
    tally: ClassSums
    work: Workspace


def count_suppressed_values(sample: Sample, node: Node) -> None:
    """Count the suppressed records of a node by value, into `node.work.value_counts`."""
    encoding, levels, counts = sample.encoding, np.array(node.levels), node.work.value_counts
    few_kept = 2 * node.tally.kept < node.tally.classes  # then counting the kept ones is quicker
    kernels.value_counts(
        node.table.keys, node.table.count, node.rejected, 0 if few_kept else 1, encoding.layout, levels,
        encoding.value_starts, counts,
    )  # fmt: skip
    if few_kept:
        kernels.subtract_from(sample.value_totals, levels, encoding.value_starts, counts)


class Evaluation(NamedTuple):
    """The results of evaluating a node.

    `score` is None where the node is not anonymous and was not requested. `base` is a lower bound on the
    score of the node and everything more general; `least` is a lower bound on the records that the node and
    everything more specific suppress, down to the node whose class table it was evaluated from. `possible` is
    False where the node and everything more specific cannot be anonymous. `lost` is the number of people
    who lose a row, where people may have several.
    """

    levels: Levels
    anonymous: bool
    tally: ClassSums
    score: Score | None
    base: Score
    least: int
    possible: bool = True
    lost: int | None = None


class Measure:
    """A quality model bound to a sample.

    With `counts_classes`, bounds depend on the number of classes that can be kept, which the search then
    bounds itself and passes as `room`.
    """

    counts_classes = False

    @property
    def bounds_by_corners(self) -> bool:
        """Whether evaluating a node gives a better bound for everything more general than its levels do."""
        return self.counts_classes or type(self).base is not Measure.base

    def score(self, node: Node) -> Score:
        """Return the score of a node with its rejected classes suppressed: a loss, never negative."""
        raise NotImplementedError

    def base(self, node: Node) -> Score:
        """Return a lower bound on the score of the node and everything more general."""
        return NO_BOUND

    def bound(self, levels: Levels, least: int, room: int) -> Score:
        """Return a lower bound on the score of every node at or above `levels`.

        It may be assumed that at least `least` records are suppressed and at most `room` classes kept. The
        claim must hold for the scores as computed in floating point, not only for their ideal values.
        """
        return NO_BOUND

    def class_losses(self, table: ClassTable) -> Floats | None:
        """Return the loss of each class if published, to choose among equally large ones; None if equal."""
        return None

    def extremes(self, minimum: Levels | None = None, maximum: Levels | None = None) -> tuple[Score, Score]:
        """Return the best and the worst score by the definition, as a scale for display.

        `minimum` and `maximum` are the levels to choose from, by default all; few models use them.
        """
        raise NotImplementedError

    def normalized(self, score: Score, minimum: Levels | None = None, maximum: Levels | None = None) -> float:
        """Return a score as a share of the way from the best to the worst; 0 where both are the same.

        The worst is one of the definition, not of the data, and some models can exceed it.
        """
        low, high = self.extremes(minimum, maximum)
        return (score[0] - low[0]) / (high[0] - low[0]) if high[0] != low[0] else 0.0


class QualityModel:
    """Base of all quality models. The docstring of a model states its formula.

    Attributes
    ----------
    needs_squares
        Whether the sample must carry the squared multiplicities of original rows.
    synonyms
        Further names of the model.
    """

    needs_squares: ClassVar[bool] = False
    synonyms: ClassVar[tuple[str, ...]] = ()

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """Columns that the model reads in addition to the generalized quasi-identifiers.

        Those among them that are quasi-identifiers themselves are read from the classes; the sample must
        carry the histograms of the others.
        """
        return ()

    def bind(self, sample: Sample) -> Measure:
        """Return the measure of this model for a sample."""
        raise NotImplementedError
