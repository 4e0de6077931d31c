"""The lists of many people as one hierarchy.

A policy lists the chain of one person's value: 25 → 20-30 → <50. Chains of different people must fit together: one value
has one chain, and a label belongs to one level and has one parent. A list may be shorter than others, and then ends in the
same top.

Values that are generalized for one person enter the hierarchy as values of their own, which stay as they are up to their
level: so classes form by what is published.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise

from veil.errors import HierarchyError
from veil.hierarchies import Hierarchy

Chain = tuple[str, ...]

HOLDER = "the hierarchy of the data holder"


@dataclass
class Chains:
    """The joint hierarchy of one column, made of chains.

    >>> chains = Chains("age", {("25", "20-30", "<50"): "Alice", ("26", "20-30", "<50"): "Axel"})
    >>> chains.at("26", 1), chains.height
    ('20-30', 2)
    """

    column: str
    given: Mapping[Chain, str]
    """Chains, each with the name of a policy that lists it."""
    height: int = field(init=False)
    _of: dict[str, Chain] = field(init=False)
    _level: dict[str, int] = field(init=False)
    _parent: dict[str, tuple[str, Chain]] = field(init=False)

    def __post_init__(self) -> None:
        ordered = sorted(self.given, key=len, reverse=True)
        self.height = len(ordered[0]) - 1
        self._level, self._parent = {}, {}
        tops = {chain[-1] for chain in ordered if len(chain) == len(ordered[0])}
        seen: dict[str, Chain] = {}
        for chain in ordered:
            is_short = len(chain) <= self.height
            if is_short and chain[-1] not in tops:
                longest = ordered[0]
                self._refuse(
                    chain,
                    longest,
                    f"a shorter list ends in the same top, {longest[-1]!r}, not in {chain[-1]!r}",
                )
            other = seen.get(chain[0])
            if other is not None and not _fits(chain, other):
                self._refuse(chain, other, f"the value {chain[0]!r} has one list")
            if other is None:
                seen[chain[0]] = chain
                self._enter(chain, is_short)
        self._of = {value: self._complete(chain) for value, chain in seen.items()}

    def _enter(self, chain: Chain, is_short: bool) -> None:
        ends = len(chain) - 1 if is_short else len(chain)
        for level, label in enumerate(chain[:ends]):
            if self._level.setdefault(label, level) != level:
                other = next(each for each in self.given if label in each and each.index(label) != level)
                self._refuse(
                    chain, other, f"{label!r} belongs to one level, not to {self._level[label]} and {level}"
                )
            if level + 1 < ends:
                above = chain[level + 1]
                known = self._parent.setdefault(label, (above, chain))
                if known[0] != above:
                    self._refuse(chain, known[1], f"{label!r} has one parent, not {known[0]!r} and {above!r}")

    def _complete(self, chain: Chain) -> Chain:
        """Return a chain with as many levels as the longest: by parents that others know, or by the top again."""
        if len(chain) > self.height:
            return chain
        made = list(chain[:-1])
        while len(made) < self.height and made[-1] in self._parent:
            made.append(self._parent[made[-1]][0])
        return (*made, *(chain[-1],) * (self.height + 1 - len(made)))

    def __contains__(self, value: str) -> bool:
        return value in self._of

    def at(self, value: str, level: int) -> str:
        """Return the label of a value on a level."""
        return self._of[value][min(level, self.height)]

    def level_of(self, label: str) -> int:
        """Return the level of a label; that of the top is the last."""
        return self._level.get(label, self.height)

    def above(self, labels: Collection[str]) -> set[str]:
        """Return those of some labels that are above others of them.

        >>> Chains("age", {("25", "20-30", "<50"): "Alice", ("41", "40-50", "<50"): "Axel"}).above(["25", "20-30", "40-50"])
        {'20-30'}
        """
        return {above for label in labels for above in self._row(label) if above != label} & set(labels)

    def cap(self, most: int, chain: Chain) -> int:
        """Return a person's greatest level in the joint hierarchy: the end of a shorter list is the top."""
        return self.height if chain and most >= len(chain) - 1 else most

    def hierarchy(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of some values, of which some may be labels."""
        rows = [self._row(value) for value in dict.fromkeys(values)]
        return Hierarchy.from_rows(rows, missing=None, source=f"the lists of {self.column!r}")

    def _row(self, value: str) -> Chain:
        if value in self._of:
            return self._of[value]
        level = self.level_of(value)
        row = [value] * (level + 1)
        while len(row) <= self.height:
            row.append(self._above[row[-1]])
        return tuple(row)

    @cached_property
    def _above(self) -> Mapping[str, str]:
        return {below: above for chain in self._of.values() for below, above in pairwise(chain)}

    def _refuse(self, one: Chain, other: Chain, why: str) -> None:
        raise HierarchyError(
            f"the lists of {self.column!r} of policies {self.given[one]!r} and {self.given[other]!r} do not fit together: "
            f"{' → '.join(one)} and {' → '.join(other)}; {why}. Correct one of them"
        )


def _fits(chain: Chain, other: Chain) -> bool:
    """Whether two chains of one value are the same, but for levels that the shorter one lacks."""
    short, long = sorted((chain, other), key=len)
    return short[:-1] == long[: len(short) - 1] and short[-1] == long[-1]
