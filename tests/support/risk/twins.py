"""The measures of risk from their definitions: plain Python over lists of rows, slow and obvious.

Rows are tuples of cells; None is a missing value, "*" a suppressed cell. Nothing here imports Veil.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

Row = tuple[str | None, ...]

BINS = [
    *(Fraction(1, 10**power) for power in range(8, 2, -1)),
    *(Fraction(each, 100) for each in range(1, 11)),
    *map(Fraction, ("0.125", "0.143", "0.167", "0.2", "0.25", "0.334", "0.5", "1")),
]


def shown(rows: Sequence[Row]) -> list[Row]:
    """Leave out rows that show nothing."""
    return [row for row in rows if any(cell != "*" for cell in row)]


def mean(numbers: Sequence[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0)) / len(numbers) if numbers else Fraction(0)


def attack(rows: Sequence[Row], people: Sequence[Row], threshold: Fraction) -> dict[str, Fraction]:
    """An attacker who finds a row among all people that look like it."""
    kept = shown(rows)
    everybody = Counter(people)
    risks = [Fraction(1, everybody[row]) for row in kept]
    if not kept:
        names = "highest lowest average at_risk success_rate affected_by_highest affected_by_lowest"
        return dict.fromkeys(names.split(), Fraction(0))
    classes = set(kept)
    return {
        "highest": max(risks),
        "lowest": min(risks),
        "average": mean(risks),
        "at_risk": Fraction(sum(risk > threshold for risk in risks), len(kept)),
        "success_rate": max(Fraction(len(classes), sum(everybody[each] for each in classes)), mean(risks)),
        "affected_by_highest": Fraction(risks.count(max(risks)), len(kept)),
        "affected_by_lowest": Fraction(risks.count(min(risks)), len(kept)),
    }


def distribution(rows: Sequence[Row]) -> list[Fraction]:
    kept = shown(rows)
    sizes = Counter(kept)
    shares = [Fraction(0)] * len(BINS)
    for row in kept:
        risk = Fraction(1, sizes[row])
        place = next(at for at, upper in enumerate(BINS) if upper >= risk)
        shares[place] += Fraction(1, len(kept))
    return shares


def matching(one: Row, other: Row) -> bool:
    return all(a == b or "*" in (a, b) for a, b in zip(one, other, strict=True))


def safe_size(threshold: Fraction) -> float:
    """κ of the reference."""
    if threshold == 0:
        return math.inf
    size = math.floor(1 / threshold)
    return size + 1 if Fraction(1, size) - threshold >= threshold / 100 else size


def wildcards(rows: Sequence[Row], threshold: Fraction) -> dict[str, Fraction]:
    kept = shown(rows)
    sizes = [sum(matching(row, other) for other in kept) for row in kept]
    risks = [Fraction(1, size) for size in sizes]
    return {
        "highest": max(risks, default=Fraction(0)),
        "lowest": min(risks, default=Fraction(0)),
        "average": mean(risks),
        "at_risk": mean([Fraction(size < safe_size(threshold)) for size in sizes]),
    }


def separation(rows: Sequence[Row], columns: Sequence[int]) -> tuple[Fraction, Fraction]:
    """Distinction and separation of some columns."""
    parts = shown([tuple(row[j] for j in columns) for row in rows])
    pairs = list(combinations(parts, 2))
    return (
        Fraction(len(set(parts)), len(parts)) if parts else Fraction(0),
        Fraction(sum(a != b for a, b in pairs), len(pairs)) if pairs else Fraction(0),
    )


def subsets(columns: int, largest: int | None = None) -> list[tuple[int, ...]]:
    most = columns if largest is None else min(columns, largest)
    return [each for size in range(1, most + 1) for each in combinations(range(columns), size)]


def minimal_uniques(rows: Sequence[Row], largest: int | None = None) -> list[list[tuple[int, ...]]]:
    """Minimal sample uniques of each row, by the definition; cells without a value are in none."""
    columns = len(rows[0]) if rows else 0

    def unique(at: int, chosen: tuple[int, ...]) -> bool:
        mine = [rows[at][j] for j in chosen]
        if any(cell in (None, "*") for cell in mine):
            return False
        return sum([row[j] for j in chosen] == mine for row in rows) == 1

    found = []
    for at in range(len(rows)):
        alone = [set(chosen) for chosen in subsets(columns, largest) if unique(at, chosen)]
        found.append([tuple(sorted(one)) for one in alone if not any(other < one for other in alone)])
    return found


def suda(
    rows: Sequence[Row], fraction: float = 0.01, ihsn: bool = False, largest: int | None = None
) -> tuple[list[float], list[float], list[list[float]]]:
    """Scores, DIS-SUDA scores and contributions as sdcMicro defines them."""
    columns = len(rows[0]) if rows else 0
    scores, parts = [], []
    for uniques in minimal_uniques(rows, largest):
        weights = []
        for each in uniques:
            left = columns - len(each)
            weights.append(
                (2**left - 1) * math.factorial(len(each)) * math.factorial(left) / math.factorial(columns)
                if ihsn
                else math.factorial(left)
            )
        score = float(sum(weights))
        scores.append(score)
        parts.append(
            [
                sum(w for w, each in zip(weights, uniques, strict=True) if j in each) / score
                if score
                else 0.0
                for j in range(columns)
            ]
        )
    sizes = Counter(shown(rows))
    alone = sum(size == 1 for size in sizes.values())
    paired = 2 * sum(size == 2 for size in sizes.values())
    if not alone:
        return scores, [0.0] * len(rows), parts
    dis = alone * fraction / (alone * fraction + paired * (1 - fraction))
    q = 1 + (8 - columns) / 20
    adjustment = sum(score**-q for score in scores if score)
    chances = [
        1 / (1 + (alone / dis - alone) / (score**q * adjustment)) if score else 0.0 for score in scores
    ]
    return scores, chances, parts
