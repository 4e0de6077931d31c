"""Recodings of a whole table: one for all its parts, or one for each, with parts chosen for that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from veil.base.arrays import Integers, Mask
from veil.masking.items.apriori import good_recoding
from veil.masking.items.counting import count_holders
from veil.masking.items.optimal import ItemRecoding, best_recoding
from veil.masking.items.problem import ItemProblem, select
from veil.masking.items.taxonomy import LEFT_OUT, ItemTaxonomy

Strategy = Literal["auto", "optimal", "apriori"]

_WORK = 3_000_000
"""Items to examine for a proof, unless the optimum is required."""

_WORTHWHILE = 20
"""Least number of recodings for which a proof is attempted."""

_HOPELESS = 40
"""Rare items above which no proof is attempted: each needs a change, or is raised with a few others."""

_CUTS = 3
"""Ways to divide a part that are tried; for a large one, only the first."""

_LARGE = 100_000
"""Items of all distinct sets together from which on a part is large."""


@dataclass(frozen=True, eq=False)
class ItemPart:
    """Some of the distinct sets, by number, with the taxonomy of their items and its recoding."""

    sets: Integers
    taxonomy: ItemTaxonomy
    items: Integers
    """The item of the whole table for each item of the taxonomy."""
    recoding: Integers
    loss: int
    bound: int


Grow = Callable[[Integers], ItemTaxonomy]
"""Builds the taxonomy of some items."""


@dataclass(frozen=True, eq=False)
class Recoder:
    """Finds recodings for parts of a table, whose sets are numbered as in `problem`."""

    problem: ItemProblem
    grow: Grow
    strategy: Strategy
    leave_out: bool

    def whole(self) -> list[ItemPart] | None:
        """Return one recoding for everything, valid in every part; None if there is none."""
        part = self._solve(np.arange(self.problem.records.size))
        return None if part is None else [part]

    def each(self) -> list[ItemPart] | None:
        """Return a recoding for each part, or for parts of it if that costs less; None if a part has none."""
        order = np.argsort(self.problem.parts, kind="stable")
        first = np.flatnonzero(np.diff(self.problem.parts[order], prepend=-1))
        parts: list[ItemPart] = []
        for sets in np.split(order, first[1:]):
            part = self._solve(sets)
            if part is None:
                return None
            parts += self._divide(part)
        return parts

    def _solve(self, sets: Integers) -> ItemPart | None:
        part, items = select(self.problem, sets, self.grow)
        solution = self._search(part)
        if solution.recoding is None:
            return None
        bound = 0 if solution.bound is None else solution.bound
        return ItemPart(sets, part.taxonomy, items, solution.recoding, part.loss(solution.recoding), bound)

    def _search(self, part: ItemProblem) -> ItemRecoding:
        incumbent = good_recoding(part, leave_out=self.leave_out)
        if incumbent is None or self.strategy == "apriori":
            return ItemRecoding(incumbent, 0)
        most = None if self.strategy == "optimal" else _WORK // (1000 + part.items.size * part.m)
        if most is not None and (most < _WORTHWHILE or part.rare(part.start(), 1).number > _HOPELESS):
            return ItemRecoding(incumbent, 0)
        return best_recoding(part, leave_out=self.leave_out, incumbent=incumbent, most=most)

    def _divide(self, part: ItemPart) -> list[ItemPart]:
        """Divide a part by a node that some sets have and others do not, as long as that costs less."""
        if part.loss == 0:
            return [part]
        for inside in self._cuts(part):
            halves = [self._solve(part.sets[inside]), self._solve(part.sets[~inside])]
            first, second = halves
            if first is not None and second is not None and first.loss + second.loss < part.loss:
                return [*self._divide(first), *self._divide(second)]
        return [part]

    def _cuts(self, part: ItemPart) -> list[Mask]:
        """Return masks of the sets with a node, for the few nodes that about half of the records have."""
        problem, _ = select(self.problem, part.sets, lambda _: part.taxonomy)
        everybody, k = int(problem.records.sum()), problem.k
        tree = part.taxonomy
        holder_counts = np.zeros(tree.nodes, np.int64)
        count_holders(problem.starts, problem.items, problem.records, tree.parent, holder_counts)
        possible = np.flatnonzero((holder_counts >= k) & (holder_counts <= everybody - k))
        order = np.argsort(np.abs(2 * holder_counts[possible] - everybody), kind="stable")
        nodes = possible[order[: _CUTS if problem.items.size < _LARGE else 1]]
        owner = np.repeat(np.arange(problem.records.size), np.diff(problem.starts))
        cuts = []
        for node in nodes.tolist():
            inside = np.zeros(problem.records.size, np.bool_)
            inside[owner[tree.below(node)[problem.items]]] = True
            cuts.append(inside)
        return cuts


def published_names(part: ItemPart, items: int, names: dict[tuple[int, int], int]) -> Integers:
    """Return the number of the published name of each item in a part; number new names."""
    recoding = np.full(items, LEFT_OUT, np.int64)
    for item, node in zip(part.items.tolist(), part.recoding.tolist(), strict=True):
        if node != LEFT_OUT:
            recoding[item] = names.setdefault(part.taxonomy.places[node], len(names))
    return recoding
