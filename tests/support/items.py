"""Recodings of items, slow and obvious: every one of them is tried, on plain Python sets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations, product

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

Tree = Sequence[Sequence[str]]
"""Rows of a hierarchy: an item and its labels, level by level."""

Recoding = Mapping[str, str | None]
"""What each item becomes; None if it is left out."""

PAPER: list[list[str]] = [["a1", "b1", "b2"], ["a2", "b1"], ["a2", "b1", "b2"], ["a1", "a2", "b2"]]
"""The example of Terrovitis, Mamoulis and Kalnis (2008)."""

TREE: Tree = [["a1", "A", "*"], ["a2", "A", "*"], ["b1", "B", "*"], ["b2", "B", "*"]]

TREES: list[Tree] = [
    TREE,
    [["a1"], ["a2"], ["b1"], ["b2"]],
    [["a1", "A"], ["a2", "A"], ["b1", "B"], ["b2", "B"]],
    [["a1", "A", "*"], ["a2", "A", "*"], ["b1", "b1", "*"], ["b2", "b2", "*"]],
    [["a1", "A", "AB"], ["a2", "A", "AB"], ["b1", "B", "AB"], ["b2", "c", "c"]],
    [["a1", "*"], ["a2", "*"], ["b1", "*"], ["b2", "*"], ["never", "*"]],
]


def examples(number: int) -> settings:
    """So many examples, however long each takes: the first one may compile kernels."""
    return settings(max_examples=number, deadline=None, suppress_health_check=list(HealthCheck))


baskets = st.lists(st.lists(st.sampled_from(["a1", "a2", "b1", "b2"]), max_size=4), min_size=3, max_size=12)


def recodings(tree: Tree, *, leave_out: bool) -> Iterator[Recoding]:
    """Every way to recode: who shares a published group becomes that group, too, or is left out."""
    below = {label: {row[0] for row in tree if label in row} for row in tree for label in row}
    choices = [[*dict.fromkeys(row), *([None] if leave_out else [])] for row in tree]
    for chosen in product(*choices):
        made = dict(zip((row[0] for row in tree), chosen, strict=True))
        if all(
            made[other] in (label, None) for label in chosen if label is not None for other in below[label]
        ):
            yield made


def publish(sets: Sequence[Sequence[str]], recoding: Recoding) -> list[frozenset[str]]:
    """What is published of each set."""
    return [frozenset(label for item in each if (label := recoding[item]) is not None) for each in sets]


def rarest(published: Sequence[frozenset[str]], m: int) -> int:
    """How few records hold a combination of at most m items that one of them holds, the empty one included."""
    least = len(published)
    for size in range(m + 1):
        for known in {each for one in published for each in combinations(sorted(one), size)}:
            least = min(least, sum(set(known) <= one for one in published))
    return least


def loss(sets: Sequence[Sequence[str]], recoding: Recoding, tree: Tree, left_out: Fraction) -> Fraction:
    """The NCP: the share of the domain that each occurrence of an item becomes; `left_out` for those that go."""
    total, spent = 0, Fraction(0)
    for each in sets:
        for item in set(each):
            label = recoding[item]
            total += 1
            if label is None:
                spent += left_out
            elif label != item:
                spent += Fraction(sum(label in row for row in tree), len(tree))
    return spent / total if total else Fraction(0)


def least_loss(
    sets: Sequence[Sequence[str]], tree: Tree, k: int, m: int, *, left_out: Fraction | None
) -> Fraction | None:
    """The least loss of all recodings that keep the promise; None if none does."""
    fine = (
        loss(sets, each, tree, left_out or Fraction(1))
        for each in recodings(tree, leave_out=left_out is not None)
        if rarest(publish(sets, each), m) >= k
    )
    return min(fine, default=None)


def attack(
    sets: Sequence[Sequence[str]], published: Sequence[frozenset[str]], recoding: Recoding, m: int
) -> int:
    """The fewest records that somebody is left with who knows up to m items of a person and what items have become."""
    least = len(sets)
    for each in sets:
        for size in range(m + 1):
            for known in combinations(sorted(set(each)), size):
                sought = {label for item in known if (label := recoding[item]) is not None}
                least = min(least, sum(sought <= one for one in published))
    return least


def recoding_behind(
    sets: Sequence[Sequence[str]], published: Sequence[frozenset[str]], tree: Tree
) -> Recoding | None:
    """A recoding that makes what is published of the sets; None if there is none."""
    tried = recodings(tree, leave_out=True)
    return next((each for each in tried if publish(sets, each) == list(published)), None)


def apriori(sets: Sequence[Sequence[str]], tree: Tree, k: int, m: int) -> Recoding | None:
    """The Apriori anonymization of Terrovitis, Mamoulis and Kalnis (2008), which Amnesia carries out; None if it finds none.

    Combinations of one item are made frequent first, then those of two, and so on, each of them by itself and in their
    order: by the generalization of its items that costs least among those that enough records hold. Whoever has a label
    of which another item becomes part becomes it, too. Nothing is left out.
    """
    rows = {row[0]: list(dict.fromkeys(row)) for row in tree}
    made: dict[str, str] = {item: item for item in rows}
    for size in range(1, m + 1):
        for known in sorted(
            {each for one in publish(sets, made) for each in combinations(sorted(one), size)}
        ):
            now = publish(sets, made)
            if not 0 < sum(set(known) <= one for one in now) < k:
                continue  # frequent, or changed together with an earlier one
            choices = [_above(label, rows) for label in known]
            possible = [_raised(made, chosen, rows) for chosen in product(*choices)]
            enough = [
                (loss(sets, each, tree, Fraction(1)), at, each)
                for at, (each, chosen) in enumerate(zip(possible, product(*choices), strict=True))
                if sum({_shown(label, each, rows) for label in chosen} <= one for one in publish(sets, each))
                >= k
            ]
            if not enough:
                return None
            made = dict(min(enough)[2])
    return made if rarest(publish(sets, made), m) >= k else None


def _above(label: str, rows: Mapping[str, Sequence[str]]) -> list[str]:
    """A label and all those above it."""
    row = next(row for row in rows.values() if label in row)
    return list(row[row.index(label) :])


def _raised(made: Recoding, chosen: Sequence[str], rows: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """A recoding in which all items below some labels become the widest of these."""
    found = {}
    for item, row in rows.items():
        at = max([row.index(str(made[item])), *(row.index(label) for label in chosen if label in row)])
        found[item] = row[at]
    return found


def _shown(label: str, made: Recoding, rows: Mapping[str, Sequence[str]]) -> str:
    """What a label of a recoding has become, where wider ones were chosen beside it."""
    return str(next(made[item] for item, row in rows.items() if label in row))
