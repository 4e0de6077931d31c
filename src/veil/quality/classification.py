"""Classification accuracy: how well the quasi-identifiers still predict a response."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field

from veil.base.arrays import Codes, Integers, Marks
from veil.base.compiled import kernel
from veil.base.declare import declared
from veil.base.exact import decimal_fraction
from veil.classes import kernels
from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.errors import PlanError, did_you_mean
from veil.quality.base import Measure, Node, QualityModel, Score
from veil.quality.factors import Factor, exact_factors


@declared(kind_of=QualityModel)
class Classification(QualityModel):
    """Share of records whose response a majority vote within their class would get wrong.

    For each response column: a suppressed record costs f (the factor itself), a record that differs from the
    unique majority of its class costs g, and every record of a class without unique majority costs s. A
    response that is a quasi-identifier is voted on among all kept records that agree on the other
    quasi-identifiers, with its generalized values. With z = 1 - (distinct values - 1) / (distinct original
    values - 1), the costs g and s then become g(1 - z) + Pz and s(1 - z) + Pz, where P = max(f, g, s); once
    one value is left (z = 1) every kept record costs P. The score is the sum over all responses divided by
    P * N; with several responses it may exceed 1. Iyengar (2002).

    >>> Classification(["diagnosis"])
    Classification(responses=['diagnosis'], factor=0.5)
    """

    responses: Annotated[
        list[str], Field(min_length=1, description="columns whose values a reader wants to predict")
    ]
    factor: Factor = 0.5
    kind: Literal["Classification"] = Field(default="Classification", repr=False, kw_only=True)

    synonyms: ClassVar[tuple[str, ...]] = ("classification_accuracy",)

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The responses."""
        return tuple(self.responses)

    def bind(self, sample: Sample) -> Measure:
        return _Classification(sample, self.responses, self.factor)


class _Inner(NamedTuple):
    """A response among the quasi-identifiers, with a record's penalties by level.

    They apply to a record with a minority response, and to one of a group without majority; where one value
    is left, there is no majority and every record costs the worst penalty.
    """

    attribute: int
    minority: list[int]
    tie: list[int]
    one_left: list[bool]


class _Classification(Measure):
    """Records are counted by kind of penalty, and costs are whole numbers in a common unit: scores are exact.

    Merging classes never lowers the number of records outside the majority, so for a response that is no
    quasi-identifier each record of a class costs, there and at everything more general, at least the smallest
    of: its class's share of minority records times that penalty, the penalty for no majority, and the one for
    suppression. For a response that is a quasi-identifier only one thing is sure: with one value left every
    record costs at least the penalty of suppression, which is never above P.
    """

    def __init__(self, sample: Sample, responses: list[str], factor: float) -> None:
        names = sample.encoding.names
        self.sample = sample
        responses = list(dict.fromkeys(responses))
        self.further = [name for name in responses if name not in names]
        columns = [attribute.name for attribute in sample.attributes]
        for name in self.further:
            if name not in columns:
                hint = did_you_mean(name, [*columns, *names])
                raise PlanError(f"response {name!r} is not a column of the plan.{hint}")
        inner = [names.index(name) for name in responses if name in names]
        distinct = {j: _distinct(sample, j) for j in inner}
        f = decimal_fraction(factor)
        unit = f.denominator * math.lcm(*(max(1, counts[0] - 1) for counts in distinct.values()))
        s, g = (int(each * unit) for each in exact_factors(factor))
        self.suppressed, self.tie, self.minority = int(f * unit), s, g
        self.worst = max(self.suppressed, s, g)
        self.whole = self.worst * sample.records
        self.inner = []
        for j, counts in distinct.items():
            steps = max(1, counts[0] - 1)
            losses = [counts[0] - count for count in counts]  # z is gone / steps
            minority, tie = (
                [(penalty * (steps - loss) + self.worst * loss) // steps for loss in losses]
                for penalty in (g, s)
            )
            self.inner.append(_Inner(j, minority, tie, [0 < loss == steps for loss in losses]))

    def score(self, node: Node) -> Score:
        total = node.tally.suppressed * self.suppressed * (len(self.further) + len(self.inner))
        kept_count = self.sample.records - node.tally.suppressed
        for name in self.further:
            histogram = self.sample.histogram(node.table, name)
            minority, tie = _votes(histogram.classes, histogram.counts, node.rejected)
            total += minority * self.minority + tie * self.tie
        for response in self.inner:
            level = node.levels[response.attribute]
            if response.one_left[level]:
                total += kept_count * self.worst
            else:
                minority, tie = self._votes_without(node, response.attribute)
                total += minority * response.minority[level] + tie * response.tie[level]
        return (total / self.whole,)

    def base(self, node: Node) -> Score:
        """Add up the bounds of classes; the cheaper outcome is decided in doubles, hence the margin."""
        total = self._least_inner(node.levels, 0)
        most = min(self.tie, self.suppressed)
        for name in self.further:
            histogram = self.sample.histogram(node.table, name)
            minority, others = _least_votes(
                histogram.classes, histogram.counts, node.table.count, self.minority / self.worst,
                most / self.worst,
            )  # fmt: skip
            total += minority * self.minority + others * most
        return (total / self.whole * (1.0 - 2.0**-48),)

    def bound(self, levels: Levels, least: int, room: int) -> Score:
        total = self._least_inner(levels, least) + least * self.suppressed * len(self.further)
        return (total / self.whole,)

    def extremes(self, minimum: Levels | None = None, maximum: Levels | None = None) -> tuple[Score, Score]:
        return (0.0,), (1.0,)

    def _least_inner(self, levels: Levels, least: int) -> int:
        """Return the least cost of the responses among the quasi-identifiers."""
        return sum(
            self.suppressed
            * (self.sample.records if response.one_left[levels[response.attribute]] else least)
            for response in self.inner
        )

    def _votes_without(self, node: Node, attribute: int) -> tuple[int, int]:
        """Count minority and undecided records among kept classes that agree on all but one attribute.

        Each value of the response is one class of its group, so class sizes are the response's counts.
        """
        encoding = self.sample.encoding
        word, shift, mask = encoding.layout[attribute].tolist()
        places = np.flatnonzero((node.rejected == 0) & (node.table.count > 0))
        counts = node.table.count[places]
        keys = tuple(
            keys[places] & np.uint64(~(mask << shift) % 2**64) if w == word else keys[places]
            for w, keys in enumerate(node.table.keys)
        )
        levels = np.array(node.levels)
        groups = np.empty(places.size, np.int32)
        room = tuple(np.empty(places.size + 1, np.uint64) for _ in keys)
        count = kernels.group(
            keys, (counts,), levels, levels, encoding.layout, encoding.offsets, encoding.changes,
            encoding.cardinalities, node.work.slots, room, (np.empty(places.size, np.int64),), groups
        )  # fmt: skip
        votes: tuple[int, int] = _votes(groups, counts, np.zeros(count, np.uint8))
        return votes


def _distinct(sample: Sample, attribute: int) -> list[int]:
    """Return the number of values of an attribute on each of its levels in the whole table."""
    encoding = sample.encoding
    word, shift, mask = encoding.layout[attribute].tolist()
    codes = np.empty(len(sample.table), np.int32)
    kernels.unpack(sample.table.keys[word], shift, mask, codes)
    hierarchy = encoding.hierarchies[attribute]
    present = np.unique(codes)
    return [np.unique(hierarchy.label_map(level)[present]).size for level in range(hierarchy.height + 1)]


@kernel
def _votes(groups: Codes, counts: Integers, rejected: Marks) -> tuple[int, int]:
    """Count, over kept groups, records outside a unique majority, and records of groups without one.

    Each entry of `counts` is the frequency of one response in its group.
    """
    size = np.zeros(rejected.size, np.int64)
    first = np.zeros(rejected.size, np.int64)
    second = np.zeros(rejected.size, np.int64)
    for e in range(groups.size):
        g = groups[e]
        size[g] += counts[e]
        if counts[e] > first[g]:
            first[g], second[g] = counts[e], first[g]
        elif counts[e] > second[g]:
            second[g] = counts[e]
    minority = tie = 0
    for g in range(rejected.size):
        if not rejected[g]:
            if first[g] != second[g]:
                minority += size[g] - first[g]
            else:
                tie += size[g]
    return minority, tie


@kernel
def _least_votes(
    groups: Codes, counts: Integers, sizes: Integers, minority: float, most: float
) -> tuple[int, int]:
    """Count minority records of groups where they are the cheapest outcome, and all records of the others."""
    first = np.zeros(sizes.size, np.int64)
    for e in range(groups.size):
        first[groups[e]] = max(first[groups[e]], counts[e])
    few = others = 0
    for g in range(sizes.size):
        if (sizes[g] - first[g]) * minority < sizes[g] * most:
            few += sizes[g] - first[g]
        else:
            others += sizes[g]
    return few, others
