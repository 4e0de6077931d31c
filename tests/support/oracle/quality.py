"""Quality models: what a transformation loses. Smaller is better.

Straight from the definitions. Where the reference tool divides zero by zero, the loss is 0 here: an attribute
with a single domain value (Loss) or a constant column (normalized entropy) has nothing to lose.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction

from flint import arb, ctx

from .arithmetic import BITS, Number, Real, as_float, ball, exact, log2, middle, truncate
from .problem import Class, Node, Problem, Value, class_labels, classes, generalize, members

Score = float | tuple[float, ...]

VECTOR_MODELS = {
    "Height": "sum",
    "Static": "sum",
    "Precision": "arithmetic_mean",
    "Loss": "geometric_mean",
    "NonUniformEntropy": "sum",
    "NormalizedNonUniformEntropy": "sum",
}
SINGLE_MODELS = (
    "AverageClassSize",
    "Discernibility",
    "Ambiguity",
    "KullbackLeibler",
    "EntropyBased",
    "PublisherPayout",
    "Classification",
)
AGGREGATES = ("sum", "maximum", "arithmetic_mean", "geometric_mean", "rank")


@dataclass(frozen=True)
class Quality:
    """A quality model by name with its parameters; those that a model does not know are ignored by it.

    aggregate: one of AGGREGATES, None for the model's default. weights: one for each quasi-identifier,
    generalized ones first, then microaggregated. losses: for Static, loss by attribute and level.
    responses: for Classification, a quasi-identifier by position or a further column by name. attacker:
    "prosecutor" or "journalist".
    """

    name: str
    gs: Number = 0.5
    aggregate: str | None = None
    weights: Sequence[Number] | None = None
    monotonic: bool = False
    losses: Sequence[Sequence[Number]] = ()
    responses: Sequence[int | str] = ()
    benefit: Number = 1200
    loss: Number = 300
    gain: Number = 300
    cost: Number = 4
    attacker: str = "prosecutor"

    @property
    def s(self) -> Fraction:
        """Return the factor of suppression."""
        gs = exact(self.gs)
        return 2 * gs if gs < Fraction(1, 2) else Fraction(1)

    @property
    def g(self) -> Fraction:
        """Return the factor of generalization."""
        gs = exact(self.gs)
        return Fraction(1) if gs <= Fraction(1, 2) else 2 - 2 * gs


def score(problem: Problem, quality: Quality, levels: Node, suppressed: Collection[int] = ()) -> Score:
    """Return the loss of a transformation with the given records suppressed; a tuple for rank aggregation.

    Suppression takes whole classes: a class is suppressed iff its first relevant record is listed.
    """
    with ctx.workprec(BITS):
        kept, lost = split(problem, levels, suppressed)
        if quality.name in VECTOR_MODELS:
            return aggregate(quality, vector(problem, quality, levels, kept, lost))
        return as_float(single(problem, quality, levels, kept, lost))


def score_vector(
    problem: Problem, quality: Quality, levels: Node, suppressed: Collection[int] = ()
) -> list[float]:
    """Return the unweighted entries behind a multi-dimensional score."""
    with ctx.workprec(BITS):
        kept, lost = split(problem, levels, suppressed)
        return [float(entry) for entry in vector(problem, quality, levels, kept, lost)]


def split(problem: Problem, levels: Node, suppressed: Collection[int]) -> tuple[list[Class], list[Class]]:
    """Return kept and suppressed classes, relevant records only; classes without any are left out."""
    taken = set(suppressed)
    groups = [members(problem, cls) for cls in classes(problem, levels)]
    groups = [group for group in groups if group]
    return [c for c in groups if c[0] not in taken], [c for c in groups if c[0] in taken]


def records(groups: list[Class]) -> int:
    """Return how many records some classes hold."""
    return sum(len(group) for group in groups)


# --- multi-dimensional scores ---------------------------------------------------------------------


def vector(
    problem: Problem, quality: Quality, levels: Node, kept: list[Class], lost: list[Class]
) -> list[Fraction]:
    """Return one loss for each generalized, then for each microaggregated quasi-identifier."""
    entries = range(problem.width)
    match quality.name:
        case "Height":
            return [Fraction(level) for level in levels]
        case "Static":
            return [exact(quality.losses[j][levels[j]]) for j in entries]
        case "Precision":
            plain = [precision(problem, quality, levels, lost, j) for j in entries]
            if quality.monotonic:
                return plain
            return plain + [
                aggregated_loss(problem, quality, kept, lost, name) for name in problem.microaggregated
            ]
        case "Loss":
            plain = [loss(problem, quality, levels, kept, lost, j) for j in entries]
            micro = [aggregated_loss(problem, quality, kept, lost, name) for name in problem.microaggregated]
            return [truncate(max(Fraction(0), entry)) for entry in plain + micro]
        case "NonUniformEntropy":
            without = [] if quality.monotonic else lost
            return [
                truncate(-non_uniform_entropy(problem, levels, without, j, quality.g, quality.s))
                for j in entries
            ]
        case "NormalizedNonUniformEntropy":
            one = Fraction(1)
            raw = [truncate(-non_uniform_entropy(problem, levels, lost, j, one, one)) for j in entries]
            full = [full_entropy(problem, j) for j in entries]
            return [entry / most if most else Fraction(0) for entry, most in zip(raw, full, strict=True)]
    raise ValueError(quality.name)


def precision(problem: Problem, quality: Quality, levels: Node, lost: list[Class], j: int) -> Fraction:
    """Return one attribute's share of the hierarchy climbed, suppressed records counting as the top."""
    climbed = Fraction(levels[j], problem.heights[j]) if problem.heights[j] else Fraction(0)
    if quality.monotonic:
        return quality.g * climbed
    gone = records(lost)
    return ((problem.size - gone) * climbed * quality.g + gone * quality.s) / problem.size


def loss(
    problem: Problem, quality: Quality, levels: Node, kept: list[Class], lost: list[Class], j: int
) -> Fraction:
    """Return one attribute's share of the domain covered, scaled so that the original data give 0."""

    def covered(cls: Class) -> Fraction:
        return len(cls) * problem.share(j, levels[j], class_labels(problem, levels, cls)[j])

    total = contributions(quality, [(len(c), covered(c)) for c in kept], [(len(c), covered(c)) for c in lost])
    least = quality.g * problem.size / problem.domain_size(j)
    return (total - least) / (problem.size - least) if problem.size != least else Fraction(0)


def aggregated_loss(
    problem: Problem, quality: Quality, kept: list[Class], lost: list[Class], name: str
) -> Fraction:
    """Return the loss of a microaggregated attribute, by its share of distinct values."""

    def covered(cls: Class) -> Fraction:
        return len(cls) * problem.distinct_share(name, cls)

    total = contributions(quality, [(len(c), covered(c)) for c in kept], [(len(c), covered(c)) for c in lost])
    return total / problem.size


def contributions(
    quality: Quality, kept: list[tuple[int, Fraction]], lost: list[tuple[int, Fraction]]
) -> Fraction:
    """Add up tau over (class size, covered part) pairs."""
    total = Fraction(0)
    for _, covered in kept:
        total += quality.g * covered
    for count, covered in lost:
        total += count if quality.s == 1 else covered + quality.s * (count - covered)
    return total


def non_uniform_entropy(
    problem: Problem, levels: Node, lost: list[Class], j: int, g: Fraction, s: Fraction
) -> arb:
    """Return E_j, at most 0: bits lost by generalization, and by suppression among the suppressed records."""
    labels = [record[j] for record in generalize(problem, levels)]
    original = Counter(problem.rows[row][j] for row in problem.relevant)
    general = Counter(labels[row] for row in problem.relevant)
    label_of = {problem.rows[row][j]: labels[row] for row in problem.relevant}
    total = arb(0)
    for value, count in original.items():
        total += ball(g * count) * log2(Fraction(count, general[label_of[value]]))
    gone = [row for cls in lost for row in cls]
    for count in Counter(labels[row] for row in gone).values():
        total += ball(s * count) * log2(Fraction(count, len(gone)))
    return total


def full_entropy(problem: Problem, j: int) -> Fraction:
    """Return U_j, the entropy that the normalized model divides by; it relates to the whole data set."""
    original = Counter(problem.rows[row][j] for row in problem.relevant)
    total = arb(0)
    for count in original.values():
        total -= count * log2(Fraction(count, len(problem.rows)))
    return truncate(total)


def weights_of(quality: Quality, length: int) -> list[Fraction]:
    """Return the weights divided by the largest; all zero becomes all one."""
    given = [exact(weight) for weight in quality.weights] if quality.weights is not None else []
    given = given or [Fraction(1, 2)] * length
    assert len(given) == length, "one weight for each quasi-identifier"
    largest = max(given)
    return [weight / largest for weight in given] if largest else [Fraction(1)] * length


def aggregate(quality: Quality, entries: list[Fraction]) -> Score:
    """Join the entries of a multi-dimensional score."""
    weighted = [v * w for v, w in zip(entries, weights_of(quality, len(entries)), strict=True)]
    match quality.aggregate or VECTOR_MODELS[quality.name]:
        case "sum":
            return float(sum(weighted, Fraction(0)))
        case "maximum":
            return float(max(Fraction(0), *weighted))
        case "arithmetic_mean":
            return float(sum(weighted, Fraction(0)) / len(weighted))
        case "geometric_mean":
            return geometric_mean(weighted)
        case "rank":
            return tuple(float(entry) for entry in sorted(weighted, reverse=True))
    raise ValueError(quality.aggregate)


def geometric_mean(entries: list[Fraction]) -> float:
    """Return the geometric mean of the entries plus one, less one."""
    product = math.prod((entry + 1 for entry in entries), start=Fraction(1))
    return as_float(ball(product).root(len(entries)) - 1)


# --- scores with a single number ------------------------------------------------------------------


def single(
    problem: Problem, quality: Quality, levels: Node, kept: list[Class], lost: list[Class]
) -> Real | float:
    """Return the exact score of a model with a single number."""
    n, gone, g, s = problem.size, records(lost), quality.g, quality.s
    match quality.name:
        case "AverageClassSize":
            # The roles of s and g are swapped in this one, on purpose.
            count = s * len(kept) + (g if gone else 0)
            return n / count if count else math.inf
        case "Discernibility":
            if quality.monotonic:
                return Fraction(sum(len(cls) ** 2 for cls in kept + lost))
            return Fraction(sum(len(cls) ** 2 for cls in kept) + n * gone)
        case "Ambiguity":
            everything = math.prod(len(domain) for domain in problem.domains)
            return sum((len(c) * cells(problem, levels, c) for c in kept), Fraction(gone * everything))
        case "KullbackLeibler":
            return kullback_leibler(problem, levels, kept, lost)
        case "EntropyBased":
            total = ball(s * gone)
            for cls in kept:
                total += ball(g * len(cls)) * information_loss(problem, levels, cls)
            return total
        case "PublisherPayout":
            total = ball(s * exact(quality.benefit) * gone)
            population = {
                c[0]: whole for whole in classes(problem, levels) for c in [members(problem, whole)] if c
            }
            for cls in kept:
                payout = class_payout(problem, quality, levels, cls, len(population[cls[0]]))
                total += ball(g * len(cls)) * (ball(exact(quality.benefit)) - payout)
            return total
        case "Classification":
            return classification(problem, quality, levels, kept, lost)
    raise ValueError(quality.name)


def cells(problem: Problem, levels: Node, cls: Class) -> Fraction:
    """Return how many combinations of domain values a class's labels cover (materialized shares)."""
    labels = class_labels(problem, levels, cls)
    return math.prod(
        (
            problem.materialized_share(j, levels[j], label) * len(problem.domains[j])
            for j, label in enumerate(labels)
        ),
        start=Fraction(1),
    )


def kullback_leibler(problem: Problem, levels: Node, kept: list[Class], lost: list[Class]) -> arb:
    """Return the divergence, summed over records: an original tuple that occurs twice counts twice."""
    n, gone = problem.size, records(lost)
    tuples = Counter(problem.rows[row] for row in problem.relevant)
    everything = math.prod(len(domain) for domain in problem.domains)
    estimates = [(cls, Fraction(len(cls), n) / cells(problem, levels, cls)) for cls in kept]
    estimates += [(cls, Fraction(gone, n) / everything) for cls in lost]
    total = arb(0)
    for cls, estimate in estimates:
        for row in cls:
            frequency = Fraction(tuples[problem.rows[row]], n)
            total += ball(frequency) * log2(frequency / estimate)
    return total


def information_loss(problem: Problem, levels: Node, cls: Class) -> arb:
    """Return lambda of a class in [0, 1]: 0 as precise as the data can be, 1 nothing known."""
    covered, possible = domain_part(problem, levels, cls)
    if possible == 1:
        return arb(0)
    value = 1 + ball(covered).log() / ball(possible).log()
    return min(max(value, arb(0)), arb(1))


def domain_part(problem: Problem, levels: Node, cls: Class) -> tuple[Fraction, Fraction]:
    """Return the product of the shares that a class covers, and the product of the domain sizes."""
    labels = class_labels(problem, levels, cls)
    covered, possible = Fraction(1), Fraction(1)
    for j, label in enumerate(labels):
        covered *= problem.share(j, levels[j], label)
        possible *= problem.domain_size(j)
    for name in problem.microaggregated:
        covered *= problem.distinct_share(name, cls)
        possible *= len(set(problem.sensitive[name]))
    return covered, possible


def class_payout(problem: Problem, costs: Quality, levels: Node, cls: Class, population: int) -> arb:
    """Return pi: what the publisher earns with a record of a class, given a rational attacker."""
    success = Fraction(1, len(cls) if costs.attacker == "prosecutor" else population)
    attacked = exact(costs.gain) * success - exact(costs.cost) > 0
    harm = exact(costs.loss) * success if attacked else Fraction(0)
    return ball(exact(costs.benefit)) * (1 - information_loss(problem, levels, cls)) - ball(harm)


def classification(
    problem: Problem, quality: Quality, levels: Node, kept: list[Class], lost: list[Class]
) -> Fraction:
    """Return the penalties of all response variables, as a share of the worst."""
    suppressed, minority, tie = exact(quality.gs), quality.g, quality.s
    worst = max(suppressed, minority, tie)
    total = Fraction(0)
    for response in quality.responses:
        total += records(lost) * suppressed
        if isinstance(response, str):
            for cls in kept:
                total += penalty(problem.count(response, cls), minority, tie)
            continue
        z = coarseness(problem, levels, response)
        for counts in groups_without(problem, levels, kept, response):
            if z == 1:
                total += sum(counts.values()) * worst
            else:
                total += penalty(counts, minority * (1 - z) + worst * z, tie * (1 - z) + worst * z)
    return total / (worst * problem.size)


def penalty(counts: Counter[Value], minority: Fraction, tie: Fraction) -> Fraction:
    """Return what a group with the given responses costs."""
    ranked = [*sorted(counts.values(), reverse=True), 0]
    size = sum(ranked)
    return (size - ranked[0]) * minority if ranked[0] != ranked[1] else size * tie


def coarseness(problem: Problem, levels: Node, j: int) -> Fraction:
    """Return z: how far the generalized response has lost its values; 0 as in the data, 1 all one."""
    original = len({row[j] for row in problem.rows})
    general = len({record[j] for record in generalize(problem, levels)})
    return 1 - Fraction(general - 1, original - 1) if original > 1 else Fraction(0)


def groups_without(problem: Problem, levels: Node, kept: list[Class], j: int) -> list[Counter[Value]]:
    """Merge the kept classes that agree on everything but response j; return the responses of each group."""
    merged: dict[tuple[Value, ...], Counter[Value]] = {}
    for cls in kept:
        labels = class_labels(problem, levels, cls)
        merged.setdefault(labels[:j] + labels[j + 1 :], Counter())[labels[j]] += len(cls)
    return list(merged.values())


# --- normalization --------------------------------------------------------------------------------


def bounds(problem: Problem, quality: Quality, min_levels: Node, max_levels: Node) -> tuple[Score, Score]:
    """Return a model's theoretical (min, max), aggregated like its scores."""
    with ctx.workprec(BITS):
        if quality.name in VECTOR_MODELS:
            low, high = vector_bounds(problem, quality, min_levels, max_levels)
            return aggregate(quality, low), aggregate(quality, high)
        n = problem.size
        everything = math.prod(len(domain) for domain in problem.domains)
        match quality.name:
            case "AverageClassSize":
                return 1.0, float(n)
            case "Discernibility":
                return float(n), float(n * n)
            case "Ambiguity":
                return float(n), float(n * everything)
            case "KullbackLeibler":
                tuples = Counter(problem.rows[row] for row in problem.relevant)
                most = arb(0)
                for count in tuples.values():
                    most += ball(Fraction(count * count, n)) * log2(Fraction(count, n) * everything)
                return 0.0, as_float(most)
            case "EntropyBased":
                return 0.0, float(n)
            case "PublisherPayout":
                return 0.0, float(n * exact(quality.benefit))
            case "Classification":
                return 0.0, 1.0
    raise ValueError(quality.name)


def vector_bounds(
    problem: Problem, quality: Quality, min_levels: Node, max_levels: Node
) -> tuple[list[Fraction], list[Fraction]]:
    """Return the smallest and largest entries of a multi-dimensional score."""
    width, total = problem.width, len(problem.rows)
    factor = max(quality.g, quality.s)
    match quality.name:
        case "Height":
            return [Fraction(level) for level in min_levels], [Fraction(level) for level in max_levels]
        case "Static":
            low = [exact(quality.losses[j][min_levels[j]]) for j in range(width)]
            return low, [exact(quality.losses[j][max_levels[j]]) for j in range(width)]
        case "NonUniformEntropy":
            most = middle(total * log2(Fraction(total)) * ball(factor)) * (1 if quality.monotonic else 2)
            return [Fraction(0)] * width, [most] * width
        case "Precision":
            length = width + (0 if quality.monotonic else len(problem.microaggregated))
            return [Fraction(0)] * length, [factor] * length
        case "Loss":
            length = width + len(problem.microaggregated)
            return [Fraction(0)] * length, [Fraction(1)] * length
        case "NormalizedNonUniformEntropy":
            return [Fraction(0)] * width, [Fraction(1)] * width
    raise ValueError(quality.name)


def normalized(
    problem: Problem,
    quality: Quality,
    levels: Node,
    suppressed: Collection[int],
    min_levels: Node,
    max_levels: Node,
) -> float:
    """Return the score as a share of its theoretical range; only rank scores are clipped to [0, 1]."""
    if quality.aggregate == "rank":
        with ctx.workprec(BITS):
            kept, lost = split(problem, levels, suppressed)
            low, high = (geometric_mean(v) for v in vector_bounds(problem, quality, min_levels, max_levels))
            value = geometric_mean(vector(problem, quality, levels, kept, lost))
        return min(1.0, max(0.0, (value - low) / (high - low))) if high != low else 0.0
    least, most = bounds(problem, quality, min_levels, max_levels)
    whole = score(problem, quality, levels, suppressed)
    assert isinstance(whole, float)
    assert isinstance(least, float)
    assert isinstance(most, float)
    return (whole - least) / (most - least) if most != least else 0.0
