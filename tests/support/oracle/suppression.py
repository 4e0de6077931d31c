"""From rejected classes to suppressed records, and the criteria judged on the whole sample."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from .arithmetic import Number, exact
from .models import DeltaPresence, DifferentialPrivacy, Model, SubsetKAnonymity
from .population import uniques
from .privacy import in_small_group, rejects
from .problem import Class, Node, Problem, class_labels, classes, members
from .quality import VECTOR_MODELS, Quality, domain_part, weights_of


@dataclass(frozen=True)
class SampleUniqueness:
    """Share of records that are alone in their class at most the threshold."""

    threshold: Number


@dataclass(frozen=True)
class AverageReidentificationRisk:
    """Classes per record at most the average.

    Optionally also at most a share at_risk of the records above the highest risk.
    """

    average: Number
    highest: Number | None = None
    at_risk: Number | None = None


@dataclass(frozen=True)
class PopulationUniqueness:
    """Estimated share of uniques in the population at most the threshold."""

    threshold: Number
    population: int
    model: str = "Dankar"  # or "Zayatz", "SNB", "Pitman"


SampleModel = SampleUniqueness | AverageReidentificationRisk | PopulationUniqueness
AnyModel = Model | SampleModel


class Evaluation(NamedTuple):
    """What the privacy models make of a transformation: verdict and suppressed (relevant) rows."""

    anonymous: bool
    suppressed: frozenset[int]


def evaluate(
    problem: Problem,
    models: Sequence[AnyModel],
    levels: Node,
    limit: Number = 0,
    quality: Quality | None = None,
    utility_driven: bool = True,
) -> Evaluation:
    """Suppress what violates the models and judge the rest.

    1. Classes that a class-based model rejects are suppressed. 2. Classes that attribute-subset anonymity
    rejects, counted over what is left, until none is. 3. Sample-based criteria, one after the other. The
    transformation is anonymous iff at most floor(limit * N) records went, no empty class violates presence,
    and every criterion of steps 2 and 3 holds for what is finally left.

    Difference from ARX: it does not look again. A later criterion may suppress records that an earlier,
    non-monotone one (population uniqueness) needed, and the bisection may end on a list that violates it.
    The quality model matters only to the order in which sample-based criteria suppress equally large classes.
    """
    groups = classes(problem, levels)
    by_class = [model for model in models if not isinstance(model, SampleModel | SubsetKAnonymity)]
    by_subsets = [model for model in models if isinstance(model, SubsetKAnonymity)]
    by_sample = [model for model in models if isinstance(model, SampleModel)]

    present = [cls for cls in groups if members(problem, cls)]
    empty = [cls for cls in groups if not members(problem, cls)]
    rejected = any(
        rejects(model, problem, levels, cls)
        for model in by_class
        if isinstance(model, DeltaPresence)
        for cls in empty
    )
    kept = [cls for cls in present if not any(rejects(model, problem, levels, cls) for model in by_class)]
    kept = without_small_groups(problem, by_subsets, levels, kept)
    for criterion in by_sample:
        cut = suppression_prefix(problem, criterion, levels, kept, quality, utility_driven)
        kept = [cls for cls in kept if cls not in cut]

    satisfied = without_small_groups(problem, by_subsets, levels, kept) == kept and all(
        fulfils(criterion, sizes_of(problem, kept)) for criterion in by_sample
    )
    left = {row for cls in kept for row in members(problem, cls)}
    suppressed = problem.relevant - left
    budget = maximal_suppression(problem, models, limit)
    return Evaluation(satisfied and not rejected and len(suppressed) <= budget, frozenset(suppressed))


def maximal_suppression(problem: Problem, models: Sequence[AnyModel], limit: Number) -> int:
    """Return B = floor(limit * N), the limit as its decimal text says; N for differential privacy."""
    if any(isinstance(model, DifferentialPrivacy) for model in models):
        return problem.size
    return math.floor(exact(limit) * problem.size)


def without_small_groups(
    problem: Problem, models: Sequence[SubsetKAnonymity], levels: Node, kept: list[Class]
) -> list[Class]:
    """Drop classes that fall in too small a group of some attribute set, until the rest has none.

    What is left is the largest union of classes that satisfies the models: a union of two that do does as
    well.
    """
    while True:
        rows = frozenset(row for cls in kept for row in members(problem, cls))
        after = [c for c in kept if not any(in_small_group(m, problem, levels, c, rows) for m in models)]
        if after == kept:
            return kept
        kept = after


# --- sample-based criteria ------------------------------------------------------------------------


def sizes_of(problem: Problem, kept: list[Class]) -> list[int]:
    """Return the sizes of some classes, relevant records only."""
    return [len(members(problem, cls)) for cls in kept]


def suppression_prefix(
    problem: Problem,
    criterion: SampleModel,
    levels: Node,
    kept: list[Class],
    quality: Quality | None,
    utility_driven: bool,
) -> list[Class]:
    """Return the classes to suppress: a prefix of the list from small to large, found by bisection.

    The tool stops early once more than B records are gone and the criterion is still violated. As the
    prefix never becomes shorter than one found too short, that changes no verdict, and is left out here.
    """
    order = kept
    order.sort(key=lambda cls: suppression_key(problem, levels, cls, quality if utility_driven else None))
    sizes = sizes_of(problem, order)
    if fulfils(criterion, sizes):
        return []
    low, high = 0, len(order) - 1
    middle = half(low + high)
    while low <= high:
        if fulfils(criterion, sizes[middle + 1 :]):
            high = middle - 1
        else:
            low = middle + 1
        middle = half(low + high)
    if not fulfils(criterion, sizes[middle + 1 :]):
        middle += 1
    return order[: middle + 1]


def half(number: int) -> int:
    """Divide by two, truncating towards zero: half of -1 is 0."""
    return int(Fraction(number, 2))


def suppression_key(
    problem: Problem, levels: Node, cls: Class, quality: Quality | None
) -> tuple[object, ...]:
    """Order classes by size, then by class loss, then by labels.

    Labels stand in the order of the hierarchy's rows and are compared from the last attribute to the first.
    Difference from ARX: it compares the numbers of representative rows instead, so that other records may go if
    the rows of the table are put in another order.
    """
    inside = members(problem, cls)
    places = [
        problem.label_order[j][levels[j]].index(label)
        for j, label in enumerate(class_labels(problem, levels, cls))
    ]
    return len(inside), class_loss(problem, levels, inside, quality), places[::-1]


def class_loss(problem: Problem, levels: Node, inside: Class, quality: Quality | None) -> object:
    """Return a number that orders classes of equal size as their loss does; a constant where size is all.

    Roots and logarithms are left out, as they keep the order and would cost exactness.
    """
    labels = class_labels(problem, levels, inside)
    match quality.name if quality is not None else None:
        case "Loss":
            assert quality is not None
            entries = [problem.share(j, levels[j], label) for j, label in enumerate(labels)]
            entries += [problem.distinct_share(name, inside) for name in problem.microaggregated]
            weights = weights_of(quality, len(entries))
            weighted = [len(inside) * v * w for v, w in zip(entries, weights, strict=True)]
            match quality.aggregate or VECTOR_MODELS["Loss"]:
                case "rank":
                    return sorted(weighted, reverse=True)
                case "maximum":
                    return max(weighted)
                case "geometric_mean":
                    return math.prod((entry + 1 for entry in weighted), start=Fraction(1))
                case _:
                    return sum(weighted, Fraction(0))
        case "Ambiguity":
            shares = (problem.materialized_share(j, levels[j], label) for j, label in enumerate(labels))
            return math.prod(shares, start=Fraction(1))
        case "EntropyBased":
            assert quality is not None
            covered, possible = domain_part(problem, levels, inside)
            return max(covered, 1 / possible) if quality.g else Fraction(0)
    return Fraction(0)


def fulfils(criterion: SampleModel, sizes: Sequence[int]) -> bool:
    """Say whether classes of the given sizes satisfy a criterion. No classes satisfy every one."""
    if not sizes:
        return True
    n, histogram = sum(sizes), Counter(sizes)
    match criterion:
        case SampleUniqueness():
            return Fraction(histogram[1], n) <= exact(criterion.threshold)
        case AverageReidentificationRisk():
            if Fraction(len(sizes), n) > exact(criterion.average):
                return False
            if criterion.highest is None:
                return True
            safe = smallest_safe_size(criterion.highest)
            risky = n if safe is None else sum(size for size in sizes if size < safe)
            return Fraction(risky, n) <= exact(criterion.at_risk or 0)
        case PopulationUniqueness():
            estimate = uniques(criterion.model, dict(histogram), criterion.population)
            if estimate == 0:
                return histogram[1] == 0
            return 0 < Fraction(estimate) / criterion.population <= exact(criterion.threshold)
    raise TypeError(criterion)


def smallest_safe_size(risk: Number) -> int | None:
    """Return kappa: the class size whose risk counts as at most the given one; None if there is none.

    A threshold within one percent below 1/y is read as 1/y, so that 0.33333 means three.
    """
    r = exact(risk)
    if r == 0:
        return None
    y = math.floor(1 / r)
    return y + 1 if Fraction(1, y) - r >= r / 100 else y
