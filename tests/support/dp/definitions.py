"""Score functions as the paper writes them down (Bild, Kuhn and Prasser 2018, Section 5), in plain Python.

A table is a list of records, a hierarchy a list of rows (value, label on level 1, ...). `STAR` marks a suppressed record.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

Record = tuple[str, ...]
Table = Sequence[Record]
Hierarchies = Sequence[Sequence[Sequence[str]]]
Levels = tuple[int, ...]
STAR = "suppressed"


def schemes(hierarchies: Hierarchies) -> Iterator[Levels]:
    """All full-domain generalization schemes."""
    return itertools.product(*(range(len(rows[0])) for rows in hierarchies))


def generalize(table: Table, hierarchies: Hierarchies, levels: Levels) -> list[Record]:
    labels = [{row[0]: row[level] for row in rows} for rows, level in zip(hierarchies, levels, strict=True)]
    return [tuple(label[value] for label, value in zip(labels, record, strict=True)) for record in table]


def shows(hierarchies: Hierarchies, levels: Levels) -> list[bool]:
    """Whether each attribute has more than one label; with one it shows the root, which says nothing."""
    return [len({row[level] for row in rows}) > 1 for rows, level in zip(hierarchies, levels, strict=True)]


def suppress(generalized: list[Record], k: int) -> list[Record | str]:
    times = Counter(generalized)
    return [record if times[record] >= k else STAR for record in generalized]


def granularity(table: Table, hierarchies: Hierarchies, levels: Levels, k: int) -> Fraction:
    total = Fraction(0)
    for record in suppress(generalize(table, hierarchies, levels), k):
        for j, (rows, level) in enumerate(zip(hierarchies, levels, strict=True)):
            leaves = len(rows) if record == STAR else sum(row[level] == record[j] for row in rows)
            total += Fraction(leaves, len(rows))
    return -total


def intensity(table: Table, hierarchies: Hierarchies, levels: Levels, k: int) -> Fraction:
    total = Fraction(0)
    for record in suppress(generalize(table, hierarchies, levels), k):
        for rows, level in zip(hierarchies, levels, strict=True):
            total += 1 if record == STAR else Fraction(level, max(1, len(rows[0]) - 1))
    return -total


def phi(values: Sequence[object]) -> Fraction:
    """Equation (7): squared class sizes over the number of records, and suppressed records apart."""
    if not values:
        return Fraction(0)
    times = Counter(values)
    stars = times.pop(STAR, 0)
    return Fraction(sum(n * n for n in times.values()), len(values)) + stars


def discernibility(table: Table, hierarchies: Hierarchies, levels: Levels, k: int) -> Fraction:
    return -phi(suppress(generalize(table, hierarchies, levels), k))


def entropy(table: Table, hierarchies: Hierarchies, levels: Levels, k: int) -> Fraction:
    released = suppress(generalize(table, hierarchies, levels), k)
    total = Fraction(0)
    for j, shown in enumerate(shows(hierarchies, levels)):
        total += phi([STAR if record == STAR or not shown else record[j] for record in released])
    return -total


def groups(table: Table, hierarchies: Hierarchies, levels: Levels, k: int) -> Fraction:
    if not any(shows(hierarchies, levels)):
        return Fraction(0)
    released = suppress(generalize(table, hierarchies, levels), k)
    return Fraction(len({record for record in released if record != STAR}))


def classification(
    table: Table, hierarchies: Hierarchies, levels: Levels, k: int, response: int = 0
) -> Fraction:
    visible = shows(hierarchies, levels)
    if not any(visible[:response] + visible[response + 1 :]):
        return Fraction(0)
    released = [r for r in suppress(generalize(table, hierarchies, levels), k) if r != STAR]
    votes: dict[Record, Counter[str]] = {}
    for record in released:
        features = record[:response] + record[response + 1 :]
        votes.setdefault(features, Counter())[record[response]] += 1
    right = sum(max(counter.values()) for counter in votes.values())
    # The paper never generalizes the response; where it is, ARX's factor keeps that from paying off.
    height = max(1, len(hierarchies[response][0]) - 1)
    return right * (1 - Fraction(levels[response], height))


Definition = Callable[[Table, Hierarchies, Levels, int], Fraction]
DEFINITIONS: dict[str, tuple[Definition, Callable[[int, int], int]]] = {
    "Granularity": (granularity, lambda n, m: m * n),
    "Intensity": (intensity, lambda n, m: m * n),
    "Discernibility": (discernibility, lambda n, m: n),
    "Entropy": (entropy, lambda n, m: m * n),
    "GroupSize": (groups, lambda n, m: 0),
    "Classification": (classification, lambda n, m: 0),
}
"""Each definition, and by how much Veil's form of it is larger (n records, m attributes)."""


def weight(size: int, low: int, high: int) -> Fraction:
    if size <= low:
        return Fraction(0)
    return Fraction(size) if size >= high else Fraction(high * (size - low), high - low)


def sloped(
    name: str, table: Table, hierarchies: Hierarchies, levels: Levels, low: int, high: int
) -> Fraction:
    """The same scores, with weights that rise from 0 at `low` records to `high` at `high`."""
    sizes = Counter(generalize(table, hierarchies, levels))
    weights = {record: weight(size, low, high) for record, size in sizes.items()}
    n, visible = len(table), shows(hierarchies, levels)
    total = Fraction(0)
    if name in ("Granularity", "Intensity"):
        for record, w in weights.items():
            for j, (rows, level) in enumerate(zip(hierarchies, levels, strict=True)):
                share = Fraction(sum(row[level] == record[j] for row in rows), len(rows))
                rise = Fraction(level, max(1, len(rows[0]) - 1))
                total += w * (1 - (share if name == "Granularity" else rise))
    elif name == "Discernibility":
        total = sum((w * (1 - Fraction(sizes[record], n)) for record, w in weights.items()), total)
    elif name == "Entropy":
        for j in range(len(hierarchies)):
            by_label: Counter[str] = Counter()
            for record, w in weights.items():
                by_label[record[j]] += w  # type: ignore[assignment]
            if visible[j]:
                total += sum(f * (1 - Fraction(f) / n) for f in by_label.values())
    elif name == "GroupSize":
        if any(visible):
            total = sum(
                (
                    min(Fraction(1), max(Fraction(0), Fraction(size - low, high - low)))
                    for size in sizes.values()
                ),
                total,
            )
    elif any(visible[1:]):
        features = {record[1:] for record in weights}
        best = sum(max(w for record, w in weights.items() if record[1:] == each) for each in features)
        total = best * (1 - Fraction(levels[0], max(1, len(hierarchies[0][0]) - 1)))
    return total


# --- the search, as a distribution --------------------------------------------------------------------


def walks(
    scores: dict[Levels, Fraction], rate: float, minimum: Levels, maximum: Levels, steps: int
) -> Iterator[tuple[float, list[Levels], list[Levels]]]:
    """Every way a walk can go: its probability, the pivots, and all schemes it looked at."""

    def go(
        probability: float, pivots: list[Levels], seen: list[Levels], left: int
    ) -> Iterator[tuple[float, list[Levels], list[Levels]]]:
        candidates = [levels for levels in seen if levels not in pivots]
        if left > 0:
            last, new = pivots[-1], []
            for j, level in enumerate(last):
                below = (*last[:j], level - 1, *last[j + 1 :])
                if level > minimum[j] and below not in seen:
                    new.append(below)
            seen, candidates = seen + new, candidates + new
        if left == 0 or not candidates:
            yield probability, pivots, seen
            return
        for levels, chance in exponential({each: scores[each] for each in candidates}, rate).items():
            yield from go(probability * chance, [*pivots, levels], seen, left - 1)

    return go(1.0, [maximum], [maximum], steps)


def exponential(scores: dict[Levels, Fraction], rate: float) -> dict[Levels, float]:
    """Probabilities proportional to exp(rate * score)."""
    best = max(scores.values())
    weights = {levels: math.exp(rate * float(score - best)) for levels, score in scores.items()}
    total = math.fsum(weights.values())
    return {levels: weight / total for levels, weight in weights.items()}


def private_choice(
    scores: dict[Levels, Fraction], spread: Fraction, epsilon: float, steps: int, share: Fraction
) -> dict[Levels, float]:
    """How likely the private search is to choose each scheme."""
    low, high = min(scores), max(scores)
    step, last = (epsilon * float(part / spread) for part in ((1 - share) / steps, share))
    chosen = dict.fromkeys(scores, 0.0)
    for probability, _, seen in walks(scores, step, low, high, steps):
        for levels, chance in exponential({each: scores[each] for each in seen}, last).items():
            chosen[levels] += probability * chance
    return chosen


def published_choice(
    scores: dict[Levels, Fraction], sensitivity: Fraction, epsilon: float, steps: int
) -> dict[Levels, float]:
    """How likely the search as published is to choose each scheme."""
    chosen = dict.fromkeys(scores, 0.0)
    rate = epsilon / steps / (2 * float(sensitivity))
    for probability, pivots, _ in walks(scores, rate, min(scores), max(scores), steps):
        best = pivots[0]
        for levels in pivots:
            if scores[levels] > scores[best]:
                best = levels
        chosen[best] += probability
    return chosen


def samples(table: Table, beta: float) -> Iterator[tuple[float, Table]]:
    """Every random sample of a table, with its probability."""
    for drawn in itertools.product([True, False], repeat=len(table)):
        taken = sum(drawn)
        yield beta**taken * (1 - beta) ** (len(table) - taken), tuple(itertools.compress(table, drawn))


Output = tuple[Levels, tuple[tuple[Record, int], ...]]


def published_table(sample: Table, hierarchies: Hierarchies, levels: Levels, k: int) -> Output:
    """What a release shows: the scheme, and how often each generalized record occurs."""
    times = Counter(generalize(sample, hierarchies, levels))
    return levels, tuple(sorted((record, n) for record, n in times.items() if n >= k))


def excess(one: dict[Output, float], other: dict[Output, float], epsilon: float) -> float:
    """The least delta for which no event is likelier by more than e^epsilon and delta."""
    return math.fsum(max(0.0, p - math.exp(epsilon) * other.get(output, 0.0)) for output, p in one.items())
