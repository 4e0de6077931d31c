"""Sets of items that are to become k^m-anonymous: the cost of a recoding, and its rare combinations."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from veil.base.arrays import Integers
from veil.errors import ParameterError
from veil.masking.items.counting import count_rare, publish
from veil.masking.items.taxonomy import LEFT_OUT, ItemTaxonomy

Recoding = Integers
"""The node that each item becomes, or `LEFT_OUT`: a group takes all items below it that are not left out."""

_DENSE = 1 << 23
"""Combinations that are counted in an array."""

_LISTED = 1 << 20
"""Rare combinations that are listed at a time."""

_KEYS = 1 << 62


class Rare(NamedTuple):
    """Combinations of nodes, one a row, that too few records hold, and for each a set that has it."""

    nodes: Integers
    sets: Integers
    number: int
    """The number of all, also if not all are listed."""


@dataclass(frozen=True, eq=False)
class ItemProblem:
    """Distinct sets, each with its number of records and its part.

    Set r has the items `items[starts[r] : starts[r + 1]]`. Every combination of at most m nodes that a record
    of a part publishes is to be published by at least k records of that part.
    """

    taxonomy: ItemTaxonomy
    starts: Integers
    items: Integers
    records: Integers
    parts: Integers
    k: int
    m: int

    @functools.cached_property
    def occurrences(self) -> Integers:
        """The number of records of each item."""
        counts = np.repeat(self.records, np.diff(self.starts))
        totals = np.zeros(self.taxonomy.items, np.int64)
        np.add.at(totals, self.items, counts)
        return totals

    def costs(self, recoding: Recoding) -> Integers:
        """Return the cost of each occurrence of an item."""
        tree = self.taxonomy
        return np.where(recoding == LEFT_OUT, tree.gone, tree.cost[recoding])

    def loss(self, recoding: Recoding) -> int:
        """Return the cost of a recoding, an integer."""
        return int(self.occurrences @ self.costs(recoding))

    def share(self, loss: int) -> float:
        """Return the normalized certainty penalty (NCP): 1 if every item is generalized to the whole domain."""
        everything = int(self.occurrences.sum()) * self.taxonomy.unit
        return loss / everything if everything else 0.0

    def start(self) -> Recoding:
        """Return the recoding that changes nothing."""
        return np.arange(self.taxonomy.items)

    # --- rare combinations ------------------------------------------------------------------------

    def rare(self, recoding: Recoding, size: int) -> Rare:
        """Return the combinations of `size` nodes that too few records of a part hold."""
        return next(self._find_rare(recoding, [size]))

    def first_rare(self, recoding: Recoding) -> Rare | None:
        """Return the smallest rare combinations; None if there are none."""
        by_size = self._find_rare(recoding, range(1, self.m + 1))
        return next((each for each in by_size if each.number), None)

    def rare_with(self, recoding: Recoding, nodes: Sequence[int]) -> Rare | None:
        """Return the smallest rare combinations with one of some nodes; None if there are none."""
        by_size = self._find_rare(recoding, range(1, self.m + 1), nodes)
        return next((each for each in by_size if each.number), None)

    def has_rare_with(self, recoding: Recoding, nodes: Sequence[int]) -> bool:
        """Whether a rare combination has one of some nodes, without listing any."""
        by_size = self._find_rare(recoding, range(1, self.m + 1), nodes, most=0)
        return any(each.number for each in by_size)

    def _find_rare(
        self,
        recoding: Recoding,
        sizes: Iterable[int],
        nodes: Sequence[int] | None = None,
        most: int = _LISTED,
    ) -> Iterator[Rare]:
        """Yield the rare combinations, size by size: among all, or those with one of some nodes."""
        tree, sets = self.taxonomy, None
        marked = np.ones(tree.nodes, np.bool_)
        order = np.arange(tree.nodes)
        starts, items, records, parts = self.starts, self.items, self.records, self.parts
        if nodes is not None:
            marked[:] = False
            marked[nodes] = True
            order[marked] -= tree.nodes
            sets = self._sets_with(np.flatnonzero((recoding >= 0) & marked[recoding]))
            place, starts = rows_of(starts, sets)
            items, records, parts = items[place], records[sets], parts[sets]
        published_nodes, lengths = np.empty(items.size, np.int64), np.zeros(records.size, np.int64)
        publish(starts, items, recoding, order, published_nodes, lengths)
        published_mask = np.zeros(tree.nodes, np.bool_)
        published_mask[recoding[recoding >= 0]] = True
        rank, width = np.cumsum(published_mask) - 1, max(1, int(published_mask.sum()))
        first = published_mask & marked  # first nodes of combinations, often few
        first_rank, firsts = np.cumsum(first) - 1, max(1, int(first.sum()))
        number_of_parts = int(parts.max(initial=0)) + 1
        for size in sizes:
            space = number_of_parts * firsts * width ** (size - 1)
            if space >= _KEYS:
                raise ParameterError(
                    f"`m` of ItemGeneralization should be less than {size}: there are too many combinations of {size} "
                    f"out of {width} items"
                )
            dense = space if space <= min(_DENSE, 16 * max(1 << 10, items.size)) else 0
            rare_nodes, rare_sets, number = count_rare(
                starts, published_nodes, lengths, records, parts, first_rank, firsts, rank, width, dense, marked, size, self.k,
                most,
            )  # fmt: skip
            yield Rare(rare_nodes, rare_sets if sets is None else sets[rare_sets], number)

    # --- sets of items ----------------------------------------------------------------------------

    @functools.cached_property
    def _holders(self) -> tuple[Integers, Integers]:
        """The sets of each item, one item after the other, and where those of each item begin."""
        sets = np.repeat(np.arange(self.records.size), np.diff(self.starts))
        order = np.argsort(self.items, kind="stable")
        begins = np.searchsorted(self.items[order], np.arange(self.taxonomy.items + 1))
        return sets[order], begins

    def _sets_with(self, items: Integers) -> Integers:
        """Return the sets that have one of some items."""
        sets, begins = self._holders
        marked = np.zeros(self.records.size, np.bool_)
        for item in items.tolist():
            marked[sets[begins[item] : begins[item + 1]]] = True
        return np.flatnonzero(marked)


def select(
    problem: ItemProblem, sets: Integers, grow: Callable[[Integers], ItemTaxonomy]
) -> tuple[ItemProblem, Integers]:
    """Return the problem of some of the sets, with items renumbered, and the original number of each.

    `grow` builds the taxonomy of those items.
    """
    place, starts = rows_of(problem.starts, sets)
    items, codes = np.unique(problem.items[place], return_inverse=True)
    parts = np.unique(problem.parts[sets], return_inverse=True)[1]
    subproblem = ItemProblem(
        grow(items),
        starts,
        codes.astype(np.int64),
        problem.records[sets],
        parts.astype(np.int64),
        problem.k,
        problem.m,
    )
    return subproblem, items


def rows_of(starts: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """Return the places of some rows, one after the other, and where each of them then begins."""
    lengths = starts[rows + 1] - starts[rows]
    begins = np.append(0, np.cumsum(lengths))
    return np.arange(begins[-1]) + np.repeat(starts[rows] - begins[:-1], lengths), begins
