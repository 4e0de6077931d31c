"""Recodings of a whole table: one for all of its parts, or one for each, and parts that are made for that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from veil.masking.items.apriori import good_recoding
from veil.masking.items.counting import count_holders
from veil.masking.items.optimal import ItemRecoding, best_recoding
from veil.masking.items.problem import ItemProblem, select
from veil.masking.items.taxonomy import LEFT_OUT, ItemTaxonomy

Integers = NDArray[np.int64]

Strategy = Literal["auto", "optimal", "apriori"]

_WORK = 3_000_000
"""Items that are looked through for a proof, if nobody insists on one."""

_WORTHWHILE = 20
"""Recodings without which it is not worth while to begin with a proof."""

_HOPELESS = 40
"""Rare items above which a proof is not begun: each of them needs a change of its own, or is raised with a few others."""

_CUTS = 3
"""Ways to divide a part that are tried; of a large one, where each takes a while, only the first."""

_LARGE = 100_000
"""Items of all different sets together from which on a part is large."""


@dataclass(frozen=True, eq=False)
class ItemPart:
    """Some of the different sets, by number, with the taxonomy of their items and what these become."""

    sets: Integers
    taxonomy: ItemTaxonomy
    items: Integers
    """The item, among those of the whole table, that each one of the taxonomy is."""
    recoding: Integers
    loss: int
    bound: int


Grow = Callable[[Integers], ItemTaxonomy]
"""Makes the taxonomy of some items."""


@dataclass(frozen=True, eq=False)
class Recoder:
    """Finds recodings for parts of a table, whose sets are numbered with those of `problem`."""

    problem: ItemProblem
    grow: Grow
    strategy: Strategy
    leave_out: bool

    def whole(self) -> list[ItemPart] | None:
        """One recoding for everything, that is fine in every part; None if there is none."""
        made = self._solve(np.arange(self.problem.records.size))
        return None if made is None else [made]

    def each(self) -> list[ItemPart] | None:
        """A recoding for each part, and for parts of these if that costs less; None if there is none for one."""
        order = np.argsort(self.problem.parts, kind="stable")
        first = np.flatnonzero(np.diff(self.problem.parts[order], prepend=-1))
        found: list[ItemPart] = []
        for sets in np.split(order, first[1:]):
            made = self._solve(sets)
            if made is None:
                return None
            found += self._divided(made)
        return found

    def _solve(self, sets: Integers) -> ItemPart | None:
        part, items = select(self.problem, sets, self.grow)
        found = self._search(part)
        if found.recoding is None:
            return None
        bound = 0 if found.bound is None else found.bound
        return ItemPart(sets, part.taxonomy, items, found.recoding, part.loss(found.recoding), bound)

    def _search(self, part: ItemProblem) -> ItemRecoding:
        known = good_recoding(part, leave_out=self.leave_out)
        if known is None or self.strategy == "apriori":
            return ItemRecoding(known, 0)
        most = None if self.strategy == "optimal" else _WORK // (1000 + part.items.size * part.m)
        if most is not None and (most < _WORTHWHILE or part.rare(part.start(), 1).number > _HOPELESS):
            return ItemRecoding(known, 0)
        return best_recoding(part, leave_out=self.leave_out, known=known, most=most)

    def _divided(self, part: ItemPart) -> list[ItemPart]:
        """Divide a part in two by a node that some have and others have not, as long as that costs less."""
        if part.loss == 0:
            return [part]
        for inside in self._cuts(part):
            halves = [self._solve(part.sets[inside]), self._solve(part.sets[~inside])]
            first, second = halves
            if first is not None and second is not None and first.loss + second.loss < part.loss:
                return [*self._divided(first), *self._divided(second)]
        return [part]

    def _cuts(self, part: ItemPart) -> list[NDArray[np.bool_]]:
        """Which sets have a node: for the few nodes that about half of the records have."""
        problem, _ = select(self.problem, part.sets, lambda _: part.taxonomy)
        everybody, k = int(problem.records.sum()), problem.k
        tree = part.taxonomy
        held = np.zeros(tree.nodes, np.int64)
        count_holders(problem.starts, problem.items, problem.records, tree.parent, held)
        possible = np.flatnonzero((held >= k) & (held <= everybody - k))
        order = np.argsort(np.abs(2 * held[possible] - everybody), kind="stable")
        chosen = possible[order[: _CUTS if problem.items.size < _LARGE else 1]]
        owner = np.repeat(np.arange(problem.records.size), np.diff(problem.starts))
        cuts = []
        for node in chosen.tolist():
            inside = np.zeros(problem.records.size, np.bool_)
            inside[owner[tree.below(node)[problem.items]]] = True
            cuts.append(inside)
        return cuts


def becomes(part: ItemPart, items: int, names: dict[tuple[int, int], int]) -> Integers:
    """Return the name, by number, of what each item of the whole table becomes in a part; name what is new."""
    made = np.full(items, LEFT_OUT, np.int64)
    for item, node in zip(part.items.tolist(), part.recoding.tolist(), strict=True):
        if node != LEFT_OUT:
            made[item] = names.setdefault(part.taxonomy.places[node], len(names))
    return made
