"""Score functions of generalization schemes, and bounds on the influence of a single record.

A scheme g divides a table of n records into classes. A class of c records has the weight w(c), the records
that the release keeps of it: 0 up to `low` records, all c from `high` records on, and in between a straight
line from 0 to `high`. With low = k - 1 and high = k this is suppression below k, as in Bild, Kuhn and
Prasser (2018). There, the k-th record of a class brings k records back at once, and the noise of the search
has to hide that. A release keeps a class with some probability that grows with its size, because records are
drawn at random; a slope models this as well as a step, and no record changes a weight by more than the
*steepness* L = high / (high - low).

Scores are larger for better schemes. An added record changes the score of a scheme by at least
`least` and by at most `most`, for every table and scheme, and drawing a scheme with probability
proportional to exp(ε score / (most - least)) is ε-differentially private: the weight of a scheme changes by
a factor of exp(ε x) with x between least / (most - least) and most / (most - least), the sum of all weights
too, and the quotient of both by a factor between e^-ε and e^ε (McSherry and Talwar 2007; Durfee and Rogers
2019). The difference most - least, the *spread*, is never more than twice the sensitivity max(|least|,
|most|), and half of that for most of these scores.

Let d be the increase of the weight of a class of c records by another record: d = 0 or 1 <= d <= L, as
the line is at least as steep as the diagonal it ends on, and w(c) <= c. With m attributes:

* *Granularity*: the sum over classes of w(c) * (m - the shares of the domain that its labels cover). One
  class changes, by d times a number from 0 to m: least = 0, most = L m.
* *Intensity*: the same with level / height in place of the share.
* *Discernibility*: the sum of w(c)(1-c/n). The class of the record changes by (n-c)/(n+1) * (d-w(c)/n),
  which is from 0 to L since w(c) <= c <= n and w(c) > 0 only where d >= 1. Every other class gains
  w(c)c/(n(n+1)), together at most 1. So least = 0, most = L + 1.
* *Non-uniform entropy*: for each attribute that shows more than one label, the sum over its labels of
  F(1-F/n), F being the weight of all classes with that label. The label of the record gains d, and the
  attribute d(1-(2F+d)/(n+1)) + S/(n(n+1)) with S, the sum of all squared F, at most n^2. The second term is
  from 0 to 1. As F + d <= n + 1, the first is from -d to d, and if d >= 1 the sum falls with F, so that it
  is least for F = n+1-d and then 1-d+(d-1)^2/n. So an attribute changes by 1-L to 1+L: least = (1-L)m, most
  = (1+L)m.
* *Group size*: the number of classes, each counted by how far up the line it is, from 0 to 1: least = 0,
  most = 1/(high-low). Nothing where no attribute shows more than one label.
* *Statistical classification*: for each response, the sum over all combinations of the other attributes of
  the largest weight of a class, one class for each label of the response. One weight grows by d, the
  largest by 0 to d. Times 1 - level / height of the response, so that giving it up earns nothing, and
  divided by the number of responses: least = 0, most = L. Nothing where no other attribute shows more than
  one label.

With low = k - 1 and high = k these are the published scores, but for a constant that all schemes of a table
share and that no choice depends on: those here are larger by mn, mn, n, mn, 0 and 0. `published` is the
sensitivity that is given there (Theorems 6 to 9). All are exact fractions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil import quality as qualities
from veil.base.compiled import kernel
from veil.classes import kernels
from veil.classes.encoding import Encoding, Levels
from veil.classes.table import ClassTable
from veil.errors import PlanError, did_you_mean

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class RetentionScore:
    """The weight of a class: nothing up to `low` records, everything from `high` on, and a line in between.

    >>> [str(RetentionScore(2, 4).weight(size)) for size in range(6)]
    ['0', '0', '0', '2', '4', '5']
    """

    low: int
    high: int

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high:
            raise ValueError(f"`low` should be from 0 to `high` - 1 = {self.high - 1}, not {self.low}")

    @staticmethod
    def below(k: int) -> RetentionScore:
        """Suppress classes with fewer than k records, as the paper does."""
        return RetentionScore(k - 1, k)

    @property
    def width(self) -> int:
        """Number of sizes from no weight to full weight."""
        return self.high - self.low

    @property
    def steepness(self) -> Fraction:
        """The most that one record adds to the weight of its class."""
        return Fraction(self.high, self.width)

    def weight(self, size: int) -> Fraction:
        """Return the weight of a class of so many records."""
        return Fraction(int(self.scale(np.array([size], np.int64))[0]), self.width)

    def scale(self, sizes: Integers) -> Integers:
        """Return the weights of many classes as whole numbers, times `width`."""
        out = np.empty(sizes.size, np.int64)
        _weights(sizes, self.low, self.high, out)
        return out


class WeightedClasses(NamedTuple):
    """The classes of one scheme with a weight above 0; weights are times `RetentionScore.width`."""

    levels: Levels
    records: int
    places: Integers
    sizes: Integers
    weights: Integers
    table: ClassTable


class ScoreFunction:
    """Base of all score functions.

    An added record changes every score by at least `least` and by at most `most`; the module has the proof.
    """

    least: Fraction
    most: Fraction

    def __init__(self, encoding: Encoding, retention: RetentionScore) -> None:
        self.encoding = encoding
        self.retention = retention
        self.steepness = retention.steepness
        self.attributes = len(encoding.names)
        self._values = np.zeros(encoding.value_count, np.int64)

    @property
    def spread(self) -> Fraction:
        """The difference of `most` and `least`."""
        return self.most - self.least

    @staticmethod
    def published(k: int, attributes: int) -> Fraction:
        """Return the sensitivity that the paper proves, for suppression below k."""
        raise NotImplementedError

    def score(self, table: ClassTable) -> Fraction:
        """Return the score of the scheme with these classes."""
        weights = self.retention.scale(table.count)
        places = np.flatnonzero(weights)
        if not places.size:
            return Fraction(0)
        sizes, records = table.count[places], int(table.count.sum())
        return self._score(WeightedClasses(table.levels, records, places, sizes, weights[places], table))

    def _score(self, classes: WeightedClasses) -> Fraction:
        raise NotImplementedError

    def _shows(self, levels: Levels) -> list[bool]:
        """Return for each attribute whether it has more than one label."""
        return [bool(self.encoding.cardinalities[j, level] > 1) for j, level in enumerate(levels)]

    def _by_label(self, classes: WeightedClasses) -> list[Integers]:
        """Return, for each attribute, the weight of each of its labels."""
        encoding, values = self.encoding, self._values
        keys = tuple(word[classes.places] for word in classes.table.keys)
        levels, all_mask = np.array(classes.levels), np.ones(classes.places.size, np.uint8)
        starts = encoding.value_starts
        kernels.value_counts(keys, classes.weights, all_mask, 1, encoding.layout, levels, starts, values)
        return [values[starts[j, level] : starts[j, level + 1]] for j, level in enumerate(classes.levels)]


class Granularity(ScoreFunction):
    """Share of its domain that each cell does not cover, for the quality model `Loss`."""

    def __init__(self, encoding: Encoding, retention: RetentionScore) -> None:
        super().__init__(encoding, retention)
        self.least, self.most = Fraction(0), self.steepness * self.attributes
        sizes = [hierarchy.size for hierarchy in encoding.hierarchies]
        self.unit = math.lcm(*sizes)
        # For each attribute, level and label: the leaves outside its subtree.
        self.outside = [
            [hierarchy.size - rows for rows in hierarchy.rows] for hierarchy in encoding.hierarchies
        ]
        self.factors = [self.unit // size for size in sizes]

    @staticmethod
    def published(k: int, attributes: int) -> Fraction:
        return Fraction(max(1, k - 1) * attributes)

    def _score(self, classes: WeightedClasses) -> Fraction:
        most = classes.records * self.retention.width
        total = sum(
            factor * _dot(weights, outside[level], most * self.unit)
            for weights, outside, level, factor in zip(
                self._by_label(classes), self.outside, classes.levels, self.factors, strict=True
            )
        )
        return Fraction(total, self.unit * self.retention.width)


class Intensity(ScoreFunction):
    """Distance of each cell from the top of its hierarchy, for the quality model `Precision`."""

    def __init__(self, encoding: Encoding, retention: RetentionScore) -> None:
        super().__init__(encoding, retention)
        self.least, self.most = Fraction(0), self.steepness * self.attributes

    @staticmethod
    def published(k: int, attributes: int) -> Fraction:
        return Granularity.published(k, attributes)

    def _score(self, classes: WeightedClasses) -> Fraction:
        below = sum(
            1 - Fraction(level, max(1, height))
            for level, height in zip(classes.levels, self.encoding.heights, strict=True)
        )
        return below * Fraction(int(classes.weights.sum()), self.retention.width)


class DiscernibilityScore(ScoreFunction):
    """Smallness of the classes, for the quality model of the same name."""

    def __init__(self, encoding: Encoding, retention: RetentionScore) -> None:
        super().__init__(encoding, retention)
        self.least, self.most = Fraction(0), self.steepness + 1

    @staticmethod
    def published(k: int, attributes: int) -> Fraction:
        return Fraction(5) if k == 1 else Fraction(k * k, k - 1) + 1

    def _score(self, classes: WeightedClasses) -> Fraction:
        most = classes.records * self.retention.width
        return Fraction(_dot(classes.weights, classes.records - classes.sizes, most * classes.records), most)


class Entropy(ScoreFunction):
    """Diversity of the labels of each attribute, for the quality model `NonUniformEntropy`."""

    def __init__(self, encoding: Encoding, retention: RetentionScore) -> None:
        super().__init__(encoding, retention)
        self.least = (1 - self.steepness) * self.attributes
        self.most = (1 + self.steepness) * self.attributes

    @staticmethod
    def published(k: int, attributes: int) -> Fraction:
        return DiscernibilityScore.published(k, attributes) * attributes

    def _score(self, classes: WeightedClasses) -> Fraction:
        most = classes.records * self.retention.width
        total = sum(
            _dot(weights, most - weights, most * most)
            for weights, shows in zip(self._by_label(classes), self._shows(classes.levels), strict=True)
            if shows
        )
        return Fraction(total, most * self.retention.width)


class GroupSize(ScoreFunction):
    """Number of classes, for the quality model `AverageClassSize`."""

    def __init__(self, encoding: Encoding, retention: RetentionScore) -> None:
        super().__init__(encoding, retention)
        self.least, self.most = Fraction(0), Fraction(1, retention.width)

    @staticmethod
    def published(k: int, attributes: int) -> Fraction:
        return Fraction(1)

    def _score(self, classes: WeightedClasses) -> Fraction:
        if not any(self._shows(classes.levels)):
            return Fraction(0)
        low, width = self.retention.low, self.retention.width
        return Fraction(int(np.minimum(classes.sizes - low, width).sum()), width)


class ClassificationScore(ScoreFunction):
    """Records that a majority vote within classes predicts, for the quality model of the same name."""

    def __init__(self, encoding: Encoding, retention: RetentionScore, responses: Sequence[str]) -> None:
        super().__init__(encoding, retention)
        self.least, self.most = Fraction(0), self.steepness
        self.responses = [encoding.names.index(name) for name in dict.fromkeys(responses)]

    @staticmethod
    def published(k: int, attributes: int) -> Fraction:
        return Fraction(k)

    def _score(self, classes: WeightedClasses) -> Fraction:
        shows, total = self._shows(classes.levels), Fraction(0)
        for j in self.responses:
            if any(shows[:j] + shows[j + 1 :]):
                left = 1 - Fraction(classes.levels[j], max(1, self.encoding.heights[j]))
                total += left * self._votes(classes, j)
        return total / (len(self.responses) * self.retention.width)

    def _votes(self, classes: WeightedClasses, response: int) -> int:
        """Add up the largest weight among the classes that differ in the response alone."""
        encoding = self.encoding
        word, shift, mask = encoding.layout[response].tolist()
        others = np.uint64(~(mask << shift) % 2**64)
        keys = tuple(
            each[classes.places] & others if w == word else each[classes.places]
            for w, each in enumerate(classes.table.keys)
        )
        number = classes.places.size
        groups = np.empty(number, np.int32)
        levels = np.array(classes.levels)
        count = kernels.group(
            keys, (classes.weights,), levels, levels, encoding.layout, encoding.offsets, encoding.changes,
            encoding.cardinalities, np.empty(max(2, 4 * number), np.int32),
            tuple(np.empty(number + 1, np.uint64) for _ in keys), (np.empty(number, np.int64),), groups,
        )  # fmt: skip
        return int(_sum_of_largest(groups, classes.weights, count))


def score_function(
    quality: qualities.QualityModel, encoding: Encoding, retention: RetentionScore
) -> ScoreFunction:
    """Return the score function of a quality model.

    >>> from veil.hierarchies import Hierarchy
    >>> sex = Encoding(["sex"], [Hierarchy.from_rows([["f", "*"], ["m", "*"]])])
    >>> type(score_function(qualities.Loss(), sex, RetentionScore.below(5))).__name__
    'Granularity'
    """
    if isinstance(quality, qualities.Classification):
        _require_plain(quality, qualities.Classification(quality.responses))
        for name in quality.responses:
            if name not in encoding.names:
                raise PlanError(
                    f"response {name!r} should be a quasi-identifier: with SafePub no other column is "
                    f"published.{did_you_mean(name, encoding.names)}"
                )
        return ClassificationScore(encoding, retention, quality.responses)
    score_class = _BY_QUALITY.get(type(quality))
    if score_class is None:
        names = sorted([each.__name__ for each in _BY_QUALITY] + ["Classification"])
        raise PlanError(
            f"SafePub has no score function for {quality}: one person's influence on it is not bounded. "
            f"Choose from: {', '.join(names)}"
        )
    _require_plain(quality, type(quality)())
    return score_class(encoding, retention)


_BY_QUALITY: dict[type[qualities.QualityModel], type[ScoreFunction]] = {
    qualities.Loss: Granularity,
    qualities.Precision: Intensity,
    qualities.Discernibility: DiscernibilityScore,
    qualities.NonUniformEntropy: Entropy,
    qualities.AverageClassSize: GroupSize,
}


def _require_plain(quality: qualities.QualityModel, plain: qualities.QualityModel) -> None:
    if quality != plain:
        raise PlanError(f"score functions of SafePub take no other parameters: use {plain}, not {quality}")


def _dot(left: Integers, right: Integers, most: int) -> int:
    """Return the exact sum of products of whole numbers, which is at most `most`."""
    if most >= 2**63:
        return sum(a * b for a, b in zip(left.tolist(), right.tolist(), strict=True))
    return int(np.dot(left, right))


@kernel
def _weights(sizes: Integers, low: int, high: int, out: Integers) -> None:
    for i in range(sizes.size):
        size = sizes[i]
        out[i] = 0 if size <= low else size * (high - low) if size >= high else high * (size - low)


@kernel
def _sum_of_largest(groups: NDArray[np.int32], weights: Integers, count: int) -> int:
    largest = np.zeros(count, np.int64)
    for i in range(groups.size):
        largest[groups[i]] = max(largest[groups[i]], weights[i])
    return int(largest.sum())
