"""Privacy models judged class by class.

Decisions are exact: rational definitions are compared as fractions, logarithms as balls refined until the
sign shows. Where equality is possible at all it is decided by algebra first (the logarithm of a rational
other than 1 is transcendental, so it never equals a rational threshold).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import combinations, combinations_with_replacement

from flint import arb, ctx

from .arithmetic import ball, exact, middle, sign
from .models import (
    AlphaKAnonymity,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    DifferentialPrivacy,
    DistinctLDiversity,
    EntropyLDiversity,
    Inclusion,
    KAnonymity,
    KMAnonymity,
    KMap,
    Model,
    NoAttack,
    Profitability,
    RatioDistance,
    RecursiveCLDiversity,
    SubsetKAnonymity,
    TCloseness,
)
from .problem import Class, Node, Problem, Value, class_labels, generalize, members
from .quality import domain_part


def rejects(model: Model, problem: Problem, levels: Node, cls: Class) -> bool:
    """Say whether a class (all its rows, relevant or not) violates a model.

    A class without relevant records holds nobody to protect; only presence can be violated by it.
    """
    inside = members(problem, cls)
    size, population = len(inside), len(cls)
    if getattr(model, "missing", "a value") != "a value":
        return rejects_visible(model, problem, levels, cls)
    if isinstance(model, DeltaPresence):
        return not exact(model.minimum) <= Fraction(size, population) <= exact(model.maximum)
    if size == 0:
        return False
    match model:
        case KAnonymity():
            return size < model.k
        case KMap():
            if model.population is None:
                return population < model.k
            return size < estimated_k(model, len(problem.rows))
        case DistinctLDiversity():
            return len(problem.count(model.attribute, cls)) < model.l
        case EntropyLDiversity():
            counts = sorted(problem.count(model.attribute, cls).values())
            return len(counts) < math.ceil(exact(model.l)) or entropy_below(tuple(counts), model)
        case RecursiveCLDiversity():
            ranked = sorted(problem.count(model.attribute, cls).values(), reverse=True)
            return len(ranked) < model.l or ranked[0] >= exact(model.c) * sum(ranked[model.l - 1 :])
        case TCloseness():
            return distance(model, problem, cls) > exact(model.t)
        case DeltaDisclosure():
            return any(
                discloses(lift, exact(model.delta)) for lift, _ in lifts(problem, model.attribute, cls)
            )
        case RatioDistance():
            found = lifts(problem, model.attribute, cls)
            lacking = len(found) < len(+problem.baselines[model.attribute])
            return lacking or any(max(lift, 1 / lift) > exact(model.t) for lift, _ in found)
        case BetaLikeness():
            return any(
                exceeds_likeness(model, lift - 1, p) for lift, p in lifts(problem, model.attribute, cls)
            )
        case Inclusion():
            return False
        case Profitability():
            return not profitable(model, problem, levels, inside, population)
        case NoAttack():
            needed = no_attack_size(model)
            return needed is None or (size if model.attacker == "prosecutor" else population) < needed
        case DifferentialPrivacy():
            return size < private_k(exact(model.epsilon), exact(model.delta))
        case AlphaKAnonymity():
            counts_by_value = problem.count(model.attribute, cls)
            watched = counts_by_value if model.values is None else model.values
            return size < model.k or any(
                Fraction(counts_by_value[value], size) > exact(model.alpha) for value in watched
            )
        case KMAnonymity():
            return any(count < model.k for count in itemsets(model, problem, inside).values())
        case SubsetKAnonymity():
            return in_small_group(model, problem, levels, cls, problem.relevant)
    raise TypeError(model)


def rejects_visible(model: Model, problem: Problem, levels: Node, cls: Class) -> bool:
    """Say whether a class violates a model of a sensitive attribute, where cells without a value are not one.

    Left out, they are in no distribution: the table is that of the records with a value, and a class without any holds, but
    for its size. At worst, each is any value that the table shows; with none, nothing holds.
    """
    column = problem.sensitive[model.attribute]
    shown = [row for row in problem.relevant if is_value(column[row])]
    if isinstance(model, AlphaKAnonymity) and 0 < len(members(problem, cls)) < model.k:
        return True
    if model.missing == "left out":
        values = [column[row] if is_value(column[row]) else LEFT_OUT for row in range(len(column))]
        seen = replace(
            problem, sensitive={**problem.sensitive, model.attribute: values}, subset=frozenset(shown)
        )
        judged = replace(model, missing="a value", **({"k": 1} if isinstance(model, AlphaKAnonymity) else {}))
        return bool(members(seen, cls)) and rejects(judged, seen, levels, cls)
    blank = [row for row in members(problem, cls) if not is_value(column[row])]
    domain = sorted({column[row] for row in shown})
    for filling in combinations_with_replacement(domain, len(blank)):
        values = [cell if is_value(cell) else LEFT_OUT for cell in column]
        for row, value in zip(blank, filling, strict=True):
            values[row] = value
        filled = replace(problem, sensitive={**problem.sensitive, model.attribute: values})
        # The table's own distribution is that of what it shows.
        table = Counter(column[row] for row in shown)
        object.__setattr__(filled, "baselines", {**problem.baselines, model.attribute: table})
        if rejects(replace(model, missing="a value"), filled, levels, cls):
            return True
    return bool(blank) and not domain


LEFT_OUT = "left out"


def is_value(cell: Value) -> bool:
    """Say whether a cell of a sensitive attribute is a value: neither missing nor withheld."""
    return cell is not None and str(cell).strip() not in ("", "*")


def minimal_class_size(models: Sequence[object], problem: Problem) -> int | None:
    """Return K_min, the largest class size that some model needs on its own, or None."""
    sizes: list[int] = []
    for model in models:
        match model:
            case KAnonymity() | AlphaKAnonymity() | KMAnonymity():
                sizes.append(model.k)
            case DistinctLDiversity() | EntropyLDiversity() | RecursiveCLDiversity() if (
                model.missing != "left out" or all(map(is_value, problem.sensitive[model.attribute]))
            ):
                sizes.append(math.ceil(exact(model.l)))
            case KMap() if model.population is not None:
                sizes.append(estimated_k(model, len(problem.rows)))
            case NoAttack(attacker="prosecutor"):
                sizes.append(no_attack_size(model) or problem.size + 1)
            case DifferentialPrivacy():
                sizes.append(private_k(exact(model.epsilon), exact(model.delta)))
    return max(sizes, default=None)


# --- diversity ------------------------------------------------------------------------------------


def entropy_below(counts: tuple[int, ...], model: EntropyLDiversity) -> bool:
    """Say whether the entropy of some counts is below ln l."""
    l = exact(model.l)
    n = sum(counts)
    if model.estimator == "Shannon":
        # sum f ln f <= n (ln n - ln l), as integers: prod f^f * l^n <= n^n.
        spread = math.prod(f**f for f in counts)
        return bool(spread * l.numerator**n > n**n * l.denominator**n)
    if l == 1:
        return False  # G never decreases, so the entropy estimate is at least 0

    def excess() -> arb:
        # The constant in G cancels, as the counts add up to n. What is left is rational, never ln l.
        total = sum((f * grassberger(f) for f in counts), arb(0))
        return total - n * (grassberger(n) - ball(l).log())

    return sign(excess) > 0


def grassberger(n: int) -> arb:
    """Return G(n) + gamma + ln 2, which is rational: the sum of 2/(2j-1) for j up to n // 2."""
    return harmonic(n // 2, ctx.prec)


@cache
def harmonic(i: int, bits: int) -> arb:
    """Return the sum of 2/(2j-1) for j = 1..i; the precision is part of the key of the cache."""
    total = arb(0)
    for j in range(1, i + 1):
        total += ball(Fraction(2, 2 * j - 1))
    return total


# --- distances between distributions --------------------------------------------------------------


def distance(model: TCloseness, problem: Problem, cls: Class) -> Fraction:
    """Return the earth mover's distance between a class and the relevant table."""
    inside = problem.count(model.attribute, cls)
    table = problem.baselines[model.attribute]
    n, size = sum(table.values()), sum(inside.values())
    domain = set(problem.sensitive[model.attribute]) - {LEFT_OUT}
    extra = {v: Fraction(inside[v], size) - Fraction(table[v], n) for v in domain}
    match model.distance:
        case "equal":
            return sum((abs(e) for e in extra.values()), Fraction(0)) / 2
        case "ordered":
            order = model.order or sorted(extra, key=lambda v: (v is None, v or ""))
            order = [value for value in order if value in extra]
            assert len(order) == len(extra), "the order misses a value"
            if len(order) == 1:
                return Fraction(0)
            running, total = Fraction(0), Fraction(0)
            for value in order:
                running += extra[value]
                total += abs(running)
            return total / (len(order) - 1)
        case "hierarchical":
            assert model.hierarchy is not None
            return tree_distance(extra, model.hierarchy)
    raise ValueError(model.distance)


def tree_distance(extra: dict[Value, Fraction], table: Sequence[Sequence[Value]]) -> Fraction:
    """Return what it costs to move the extras along a tree: at each inner node what its children exchange."""
    height = len(table[0]) - 1
    rows = {row[0]: row for row in table}
    level_extra: dict[Value, Fraction] = dict(extra)
    total = Fraction(0)
    for level in range(1, height + 1):
        parent = {rows[value][level - 1]: rows[value][level] for value in extra}
        children: dict[Value, list[Fraction]] = {}
        for label, amount in level_extra.items():
            children.setdefault(parent[label], []).append(amount)
        for amounts in children.values():
            positive = sum((a for a in amounts if a > 0), Fraction(0))
            negative = sum((-a for a in amounts if a < 0), Fraction(0))
            total += Fraction(level, height) * min(positive, negative)
        level_extra = {label: sum(amounts, Fraction(0)) for label, amounts in children.items()}
    return total


def lifts(problem: Problem, attribute: str, cls: Class) -> list[tuple[Fraction, Fraction]]:
    """Return q/p and p for each sensitive value that occurs in a class."""
    inside = problem.count(attribute, cls)
    table = problem.baselines[attribute]
    size, n = sum(inside.values()), sum(table.values())
    return [(Fraction(f * n, size * table[v]), Fraction(table[v], n)) for v, f in inside.items()]


def discloses(lift: Fraction, delta: Fraction) -> bool:
    """Say whether |log2 lift| >= delta, for a positive delta."""
    ratio = max(lift, 1 / lift)
    if ratio == 1:
        return False

    def equal() -> bool:
        # A rational whose binary logarithm is rational is a power of two.
        return delta.denominator == 1 and ratio == Fraction(2) ** int(delta)

    return sign(lambda: ball(ratio).log() - ball(delta) * arb(2).log(), zero=equal) >= 0


def exceeds_likeness(model: BetaLikeness, gain: Fraction, p: Fraction) -> bool:
    """Say whether a value's relative gain is above beta, or above -ln p in the enhanced form."""
    if gain > exact(model.beta):
        return True
    if not model.enhanced or p == 1:  # with p = 1 there is one value and nothing to gain
        return False
    return sign(lambda: ball(gain) + ball(p).log()) > 0


# --- populations, costs, samples ------------------------------------------------------------------


def estimated_k(model: KMap, records: int) -> int:
    """Return k': the class size that makes k records in the population likely."""
    assert model.population is not None
    rate = Fraction(model.k * records, model.population)
    target = 1 - exact(model.significance)
    truncated = model.estimator == "ZeroTruncatedPoisson"
    least, further = (1, 1) if truncated else (0, 2)
    cap = min(model.k, records)
    for c in range(least, cap + 1):
        terms = sum((rate**i / math.factorial(i) for i in range(c + 1)), Fraction(0))

        def short(terms: Fraction = terms) -> arb:
            none = ball(-rate).exp()
            reached = ball(terms) * none
            return ball(target) - ((reached - none) / (1 - none) if truncated else reached)

        if target <= 0 or (target < 1 and sign(short) < 0):
            return min(c + further, cap)
    return cap


def profitable(model: Profitability, problem: Problem, levels: Node, inside: Class, population: int) -> bool:
    """Say whether benefit * (1 - lambda) exceeds the expected harm."""
    benefit, size = exact(model.benefit), len(inside)
    success = Fraction(1, size if model.attacker == "prosecutor" else population)
    attacked = exact(model.gain) * success > exact(model.cost)
    harm = exact(model.loss) * success if attacked else Fraction(0)
    covered, possible = domain_part(problem, levels, inside)
    if possible == 1:
        return benefit > harm
    # 1 - lambda = -ln covered / ln possible, clipped to [0, 1]
    if covered * possible <= 1:
        return benefit > harm
    if covered == 1 or benefit == 0:
        return False
    share = harm / benefit
    return (
        sign(
            lambda: -ball(covered).log() - ball(share) * ball(possible).log(),
            zero=lambda: covered**-share.denominator == possible**share.numerator,
        )
        > 0
    )


def no_attack_size(model: NoAttack) -> int | None:
    """Return the smallest class size that makes an attack unprofitable; None if there is none."""
    gain, cost = exact(model.gain), exact(model.cost)
    if gain == 0:
        return 1
    return None if cost == 0 else math.floor(gain / cost) + 1


@cache
def private_k(epsilon: Fraction, delta: Fraction) -> int:
    """Return k_DP, the class size of (epsilon, delta)-differential privacy by sampling and k-anonymity.

    With beta = 1 - e^-epsilon and gamma = 1 - e^-2epsilon (which is (e^eps - 1 + beta) / e^eps), k fails
    iff some a_n >= delta with n >= k/gamma - 1, and no n fails once the Chernoff bound on a_n is below
    delta. As a rational epsilon makes gamma transcendental, n * gamma is never an integer and every floor
    is decided.
    """
    with ctx.workprec(256):
        beta = 1 - ball(-epsilon).exp()
        gamma = 1 - ball(-2 * epsilon).exp()
        rate = gamma * (gamma / beta).log() - (gamma - beta)
        goal = ball(delta)
        last_failure, n = 0, 1
        while not (-n * rate).exp() < goal:
            tail = arb(0)
            for j in range(floor_of(n * gamma) + 1, n + 1):
                tail += math.comb(n, j) * beta**j * (1 - beta) ** (n - j)
            if not tail < goal:
                last_failure = n
            n += 1
        k = 1
        while floor_of(k / gamma - 1) + 1 <= last_failure:  # the ceiling: k / gamma is never an integer
            k += 1
        return k + 1


def floor_of(value: arb) -> int:
    """Return the floor of a ball that holds no integer."""
    low, high = (math.floor(middle(bound)) for bound in (value.lower(), value.upper()))
    assert low == high, "the ball holds an integer"
    return low


# --- known items, known attributes ----------------------------------------------------------------


def itemsets(model: KMAnonymity, problem: Problem, inside: Class) -> Counter[tuple[str, ...]]:
    """Count for every set of at most m items that some record holds the records that hold it."""
    found: Counter[tuple[str, ...]] = Counter()
    for row in inside:
        text = problem.sensitive[model.attribute][row]
        items = sorted(set(text.split(model.separator))) if text else []
        for known in range(model.m + 1):
            found.update(combinations(items, known))
    return found


def in_small_group(
    model: SubsetKAnonymity, problem: Problem, levels: Node, cls: Class, among: frozenset[int]
) -> bool:
    """Say whether a class shares the values of some attribute set with fewer than k of the given records."""
    labels = class_labels(problem, levels, cls)
    table = generalize(problem, levels)
    for subset in model.attribute_sets(problem.width):
        if sum(all(table[row][j] == labels[j] for j in subset) for row in among) < model.k:
            return True
    return False
