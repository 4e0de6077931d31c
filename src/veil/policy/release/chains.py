"""The chains of many people as one hierarchy.

A policy lists the chain of one person's value: 25 → 20-30 → <50. Chains of different people must fit
together: a value has one chain, a label has one level and one parent. A shorter chain ends in the same top.

Values that are generalized for one person enter the hierarchy as further values, which are unchanged up to
their level: so classes are formed by the published labels.
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
    sources: Mapping[Chain, str]
    """Chains, each with the name of a policy that lists it."""
    height: int = field(init=False)
    _chain_of: dict[str, Chain] = field(init=False)
    _level_of: dict[str, int] = field(init=False)
    _parent_of: dict[str, tuple[str, Chain]] = field(init=False)

    def __post_init__(self) -> None:
        ordered = sorted(self.sources, key=len, reverse=True)
        self.height = len(ordered[0]) - 1
        self._level_of, self._parent_of = {}, {}
        tops = {chain[-1] for chain in ordered if len(chain) == len(ordered[0])}
        chains: dict[str, Chain] = {}
        for chain in ordered:
            is_short = len(chain) <= self.height
            if is_short and chain[-1] not in tops:
                longest = ordered[0]
                self._refuse(
                    chain,
                    longest,
                    f"a shorter list ends in the same top, {longest[-1]!r}, not in {chain[-1]!r}",
                )
            other = chains.get(chain[0])
            if other is not None and not _fits(chain, other):
                self._refuse(chain, other, f"the value {chain[0]!r} has one list")
            if other is None:
                chains[chain[0]] = chain
                self._enter(chain, is_short)
        self._chain_of = {value: self._complete(chain) for value, chain in chains.items()}

    def _enter(self, chain: Chain, is_short: bool) -> None:
        ends = len(chain) - 1 if is_short else len(chain)
        for level, label in enumerate(chain[:ends]):
            if self._level_of.setdefault(label, level) != level:
                other = next(each for each in self.sources if label in each and each.index(label) != level)
                self._refuse(
                    chain,
                    other,
                    f"{label!r} belongs to one level, not to {self._level_of[label]} and {level}",
                )
            if level + 1 < ends:
                above = chain[level + 1]
                parent, other = self._parent_of.setdefault(label, (above, chain))
                if parent != above:
                    self._refuse(chain, other, f"{label!r} has one parent, not {parent!r} and {above!r}")

    def _complete(self, chain: Chain) -> Chain:
        """Extend a chain to the height of the hierarchy, by parents in other chains or by the top again."""
        if len(chain) > self.height:
            return chain
        labels = list(chain[:-1])
        while len(labels) < self.height and labels[-1] in self._parent_of:
            labels.append(self._parent_of[labels[-1]][0])
        return (*labels, *(chain[-1],) * (self.height + 1 - len(labels)))

    def __contains__(self, value: str) -> bool:
        return value in self._chain_of

    def at(self, value: str, level: int) -> str:
        """Return the label of a value at a level."""
        return self._chain_of[value][min(level, self.height)]

    def level_of(self, label: str) -> int:
        """Return the level of a label; that of the top is the last."""
        return self._level_of.get(label, self.height)

    def above(self, labels: Collection[str]) -> set[str]:
        """Return the labels that are above others of the same collection.

        >>> Chains("age", {("25", "20+"): "Alice", ("41", "40+"): "Axel"}).above(["25", "20+", "40+"])
        {'20+'}
        """
        return {above for label in labels for above in self._row(label) if above != label} & set(labels)

    def cap(self, most: int, chain: Chain) -> int:
        """Return a person's greatest level in the joint hierarchy: the end of a shorter chain is the top."""
        return self.height if chain and most >= len(chain) - 1 else most

    def hierarchy(self, values: Iterable[str]) -> Hierarchy:
        """Return the hierarchy of some values, which may also be labels."""
        rows = [self._row(value) for value in dict.fromkeys(values)]
        return Hierarchy.from_rows(rows, missing=None, source=f"the lists of {self.column!r}")

    def _row(self, value: str) -> Chain:
        if value in self._chain_of:
            return self._chain_of[value]
        level = self.level_of(value)
        row = [value] * (level + 1)
        while len(row) <= self.height:
            row.append(self._above[row[-1]])
        return tuple(row)

    @cached_property
    def _above(self) -> Mapping[str, str]:
        return {below: above for chain in self._chain_of.values() for below, above in pairwise(chain)}

    def _refuse(self, one: Chain, other: Chain, why: str) -> None:
        raise HierarchyError(
            f"the lists of {self.column!r} of policies {self.sources[one]!r} and {self.sources[other]!r} do not fit together: "
            f"{' → '.join(one)} and {' → '.join(other)}; {why}. Correct one of them"
        )


def _fits(chain: Chain, other: Chain) -> bool:
    """Return whether two chains of one value agree, except for levels that the shorter one lacks."""
    short, long = sorted((chain, other), key=len)
    return short[:-1] == long[: len(short) - 1] and short[-1] == long[-1]
