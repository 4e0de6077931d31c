"""Recoded sets as they are published: names of items and groups, in the order of the names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.base.arrays import Integers, Mask
from veil.errors import PlanError
from veil.hierarchies.hierarchy import Hierarchy
from veil.masking.items.baskets import Baskets
from veil.masking.items.counting import publish
from veil.masking.items.parts import ItemPart, published_names
from veil.masking.items.problem import ItemProblem, rows_of


@dataclass(frozen=True, eq=False)
class PublishedSets:
    """The published form of each distinct set: set s is `names.take(codes[starts[s] : starts[s + 1]])`.

    Set s is in part `part_of[s]`, whose items become `recodings[part_of[s]]`, by the number of the name.
    """

    names: pa.Array
    starts: Integers
    codes: Integers
    part_of: Integers
    recodings: Integers

    @staticmethod
    def of(
        problem: ItemProblem,
        parts: Sequence[ItemPart],
        baskets: Baskets,
        hierarchy: Hierarchy | None,
        column: str,
    ) -> PublishedSets:
        """Name the recoded items of each part, and list them set by set."""
        places: dict[tuple[int, int], int] = {}
        recodings = [published_names(part, len(baskets.items), places) for part in parts]
        names = _names(list(places), recodings, baskets.items, hierarchy, column)
        sortable = names.cast(pa.int8()) if pa.types.is_boolean(names.type) else names
        order = np.empty(len(names), np.int64)
        order[np.array(pc.array_sort_indices(sortable), dtype=np.int64)] = np.arange(len(names))
        lengths = np.zeros(problem.records.size, np.int64)
        codes = np.empty(problem.items.size, np.int64)
        part_of = np.empty(problem.records.size, np.int64)
        for number_of_part, (part, recoding) in enumerate(zip(parts, recodings, strict=True)):
            part_of[part.sets] = number_of_part
            place, starts = rows_of(problem.starts, part.sets)
            nodes, number = np.empty(place.size, np.int64), np.zeros(part.sets.size, np.int64)
            publish(starts, problem.items[place], recoding, order, nodes, number)
            codes[place], lengths[part.sets] = nodes, number
        starts = np.append(0, np.cumsum(lengths))
        place = np.arange(starts[-1]) + np.repeat(problem.starts[:-1] - starts[:-1], lengths)
        table = np.array(recodings, np.int64).reshape(len(parts), len(baskets.items))
        return PublishedSets(names, starts, codes[place], part_of, table)

    def as_lists(self, sets: Integers, kind: pa.DataType) -> pa.ChunkedArray:
        """Return the sets of some records as lists, large or not as another type."""
        lists = pa.LargeListArray.from_arrays(pa.array(self.starts), self.names.take(pa.array(self.codes)))
        large = pa.types.is_large_list(kind)
        list_type = pa.large_list(self.names.type) if large else pa.list_(self.names.type)
        return pa.chunked_array([lists.take(pa.array(sets)).cast(list_type)])

    def as_text(self, sets: Integers, separator: str, column: str) -> pa.ChunkedArray:
        """Return the sets of some records as text with a separator."""
        for name in self.names.to_pylist():
            if separator in name:
                raise PlanError(
                    f"column {column!r}: the name {name!r} contains the separator {separator!r}, so it "
                    "would look like two items. Give the group another name in the hierarchy, or use lists "
                    "instead of text"
                )
        lists = pa.LargeListArray.from_arrays(pa.array(self.starts), self.names.take(pa.array(self.codes)))
        texts = pc.binary_join(lists, separator).cast(pa.string())
        return pa.chunked_array([texts.take(pa.array(sets))])

    def as_rows(self, sets: Integers, owners: Integers, items: Integers) -> tuple[Integers, pa.Array]:
        """Return one row for each remaining item of a person: its origin, and its name.

        The i-th person has the i-th of the sets. `owners` and `items` are the person and the item (-1 if
        missing) of each input row. A person without an item keeps their first row, without an item.
        """
        width = len(self.names) + 1  # the last one is a missing item
        recoding = self.recodings[self.part_of[sets[owners]], items] if items.size else items
        there = (items >= 0) & (recoding >= 0)
        has_some = np.zeros(sets.size, np.bool_)
        has_some[owners[there]] = True
        candidates = np.flatnonzero(there | ~has_some[owners])
        names = np.where(there, recoding, width - 1)[candidates]
        _, first = np.unique(owners[candidates] * width + names, return_index=True)
        names = names[first]
        return candidates[first], self.names.take(pa.array(names, mask=names == width - 1))


def _names(
    places: list[tuple[int, int]],
    recodings: Sequence[Integers],
    items: pa.Array,
    hierarchy: Hierarchy | None,
    column: str,
) -> pa.Array:
    """Return the name of each place of the hierarchy, derived from published values alone."""
    if hierarchy is None:
        return items.take(pa.array([code for _, code in places], pa.int64()))
    codes = hierarchy.encode(items, column)
    level_of = np.array([level for level, _ in places], np.int64)
    published: dict[int, Mask] = {}
    for recoding in recodings:
        there = np.flatnonzero(recoding >= 0)
        for level in np.unique(level_of[recoding[there]]).tolist():
            mask = published.setdefault(level, np.zeros(hierarchy.size, np.bool_))
            mask[codes[there[level_of[recoding[there]] == level]]] = True
    renamed = hierarchy.named_by(published)
    return pa.array([renamed.labels[level][code] for level, code in places], pa.string())
