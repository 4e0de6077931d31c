"""A table on an engine as a partition sees it: columns by rank in memory, rows on the engine.

The frequency of each value of each column is in memory. The engine is asked for everything else, in ranks and
codes: their frequencies in a part of the table, and the combinations there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.engines.condense import Condensed, condense, fetch_integers
from veil.engines.lookups import Digit, Lookup, Packing, free_prefix
from veil.engines.relation import Relation, check_columns
from veil.errors import InputError
from veil.masking.partition.columns import Scheme
from veil.masking.partition.items import Entries
from veil.masking.partition.mondrian import Mondrian
from veil.masking.partition.partitioning import Partitioning
from veil.tables.columns import count_codes
from veil.tables.rows import Rows

if TYPE_CHECKING:
    import ibis


class RankRange(NamedTuple):
    """A part of the table: the lowest and the highest rank of each quasi-identifier."""

    lows: tuple[int, ...]
    highs: tuple[int, ...]

    def cut(self, column: int, low: int, high: int) -> RankRange:
        """Return the part between two ranks of one column."""
        lows, highs = list(self.lows), list(self.highs)
        lows[column], highs[column] = low, high
        return RankRange(tuple(lows), tuple(highs))


class Marginals(NamedTuple):
    """Invented rows that have each rank of each column as often as a part of the table."""

    ranks: NDArray[np.int32]
    weights: NDArray[np.int64]


class Combinations(NamedTuple):
    """The combinations in a part of the table.

    Attributes
    ----------
    words
        The items, packed: different combinations of quasi-identifiers, or of these and the attributes.
    packings
        How they are packed.
    work
        The same as items, ready for partitioning.
    item_of_row, codes, weights
        Combinations with attributes: quasi-identifiers, codes of the attributes, and number of records.
    """

    words: NDArray[np.int64]
    packings: tuple[Packing, ...]
    work: Partitioning
    item_of_row: NDArray[np.int64]
    codes: list[NDArray[np.int32]]
    weights: NDArray[np.int64]


def couple_columns(counts: Sequence[NDArray[np.int64]]) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
    """Invent few rows in which every column has its values as often as given: their places, and weights.

    >>> places, weights = couple_columns([np.array([3, 1]), np.array([2, 2])])
    >>> [each.tolist() for each in places], weights.tolist()
    ([[0, 0, 1], [0, 1, 1]], [2, 1, 1])
    """
    reached = [np.cumsum(each) for each in counts]
    ends = np.unique(np.concatenate(reached))
    return [np.searchsorted(each, ends) for each in reached], np.diff(ends, prepend=0)


class RankedRelation:
    """A relation with numbers for cells: ranks of quasi-identifiers, codes of attributes.

    `work` is the table as Mondrian sees it, made of the values of single columns. That is enough for ranks,
    widths and labels, and for models, which compare classes with the whole table by single attributes.
    """

    def __init__(self, relation: Relation, method: Mondrian) -> None:
        self.relation, self.method = relation, method
        attributes = dict.fromkeys(name for model in method.models for name in model.attribute_names)
        self.names = list(method.quasi_identifiers)
        names = [*self.names, *(name for name in attributes if name not in method.quasi_identifiers)]
        check_columns(relation, names)
        with relation.explain_errors():
            counts = {name: condense(relation, [name]) for name in names}
        self.require_unchanged(len({int(each.weights.sum()) for each in counts.values()}) == 1)
        self.counts = counts
        self._require_finite(counts)
        places, self.weights = couple_columns([each.weights for each in counts.values()])
        columns = zip(counts.items(), places, strict=True)
        self.sketch = pa.table(
            {name: each.table[name].take(pa.array(place)) for (name, each), place in columns}
        )
        self.work = Partitioning(
            Rows.of(self.sketch, self.weights),
            method.quasi_identifiers,
            method.models,
            style=method.labels,
            grids=method.grids,
        )
        self.scheme = Scheme.of(self.work.columns)
        self.tag = free_prefix(relation.table.columns)
        self.attributes = [each.name for each in self.work.attributes]
        self.sizes = [column.size for column in self.work.columns]
        self.domains = [len(each.values) for each in self.work.attributes]
        ranks = self.work.ranks[self.work.item_of_row]
        numbers = {name: ranks[:, j] for j, name in enumerate(self.names)}
        numbers |= {each.name: each.codes for each in self.work.attributes}
        self.lookups = {
            name: self._lookup(f"{self.tag}_{number}", name, place, numbers[name])
            for number, (name, place) in enumerate(zip(names, places, strict=True))
        }
        self.keys = Packing(f"{self.tag}_k", self._digits(self.names, self.sizes))
        self._values = Packing(f"{self.tag}_v", self._digits(self.attributes, self.domains))

    def require_unchanged(self, is_unchanged: bool) -> None:
        """Refuse a table of which two counts do not agree."""
        if not is_unchanged:
            raise InputError(
                f"{self.relation.name}: was changed while it was being read. Run it again when nobody is "
                "changing the table"
            )

    def _require_finite(self, counts: dict[str, Condensed]) -> None:
        for name, hierarchy in self.method.quasi_identifiers.items():
            values = counts[name].values(name)
            if hierarchy is None and pa.types.is_floating(values.type) and pc.any(pc.is_inf(values)).as_py():
                raise InputError(
                    f"{self.relation.name}: column {name!r} holds an infinite number, and no interval that "
                    "contains it has a width: replace it with a number or a missing value"
                )

    def _lookup(self, tag: str, name: str, place: NDArray[np.int64], numbers: NDArray[np.int32]) -> Lookup:
        condensed = self.counts[name]
        of_value = np.empty(len(condensed.values(name)), np.int64)
        of_value[condensed.codes(name)[place]] = numbers
        return condensed.lookup(tag, name, {"n": pa.array(of_value)})

    def _digits(self, names: Sequence[str], sizes: Sequence[int]) -> list[Digit]:
        return [Digit(self.lookups[name], "n", size) for name, size in zip(names, sizes, strict=True)]

    @property
    def whole(self) -> RankRange:
        """The range of all ranks."""
        return RankRange((0,) * len(self.sizes), tuple(size - 1 for size in self.sizes))

    @property
    def whole_marginals(self) -> Marginals:
        """The frequencies of ranks in the whole table."""
        return Marginals(self.work.ranks, self.work.weights)

    def cells(self, name: str, codes: NDArray[np.int32]) -> pa.DictionaryArray:
        """Return the values of codes of an attribute."""
        attribute = self.work.attributes[self.attributes.index(name)]
        row = np.empty(len(attribute.values), np.int64)
        row[attribute.codes] = np.arange(attribute.codes.size)
        values = self.sketch[name].take(pa.array(row)).combine_chunks().dictionary_decode()
        return pa.DictionaryArray.from_arrays(pa.array(codes), values)

    # --- expressions --------------------------------------------------------------------------------

    def join_numbers(self, table: ibis.Table, names: Iterable[str]) -> ibis.Table:
        """Join the numbers of some columns."""
        for name in names:
            table = self.lookups[name].join_to(table)
        return table

    def inside(self, table: ibis.Table, box: RankRange) -> Any:
        """Return an expression that is true where a row, with the numbers joined to it, is in a part."""
        import ibis

        condition: Any = ibis.literal(True)
        for name, low, high, size in zip(self.names, *box, self.sizes, strict=True):
            if low > 0:
                condition = condition & (self.lookups[name].cell(table, "n") >= low)
            if high < size - 1:
                condition = condition & (self.lookups[name].cell(table, "n") <= high)
        return condition

    def _bounded_columns(self, boxes: Sequence[RankRange]) -> list[str]:
        """Return the columns that decide which box a row is in."""
        return [
            name
            for j, name in enumerate(self.names)
            if any(box.lows[j] > 0 or box.highs[j] < self.sizes[j] - 1 for box in boxes)
        ]

    def _rows_of_boxes(self, boxes: Sequence[RankRange], names: Sequence[str]) -> tuple[ibis.Table, Any]:
        """Return the rows of disjoint boxes with the numbers of some columns, and the column of their box."""
        import ibis

        needed = list(dict.fromkeys([*names, *self._bounded_columns(boxes)]))
        table = self.join_numbers(self.relation.table.select(needed), needed)
        cases = [(self.inside(table, box), ibis.literal(p, type="int64")) for p, box in enumerate(boxes)]
        part = ibis.cases(*cases, else_=ibis.literal(-1, type="int64"))
        table = table.mutate(**{f"{self.tag}_part": part})
        return table.filter(table[f"{self.tag}_part"] >= 0), f"{self.tag}_part"

    def _count_rows(self, table: ibis.Table, by: Sequence[str]) -> list[NDArray[np.int64]]:
        grouped = table.group_by(list(by)).agg(**{f"{self.tag}_records": table.count()})
        with self.relation.explain_errors():
            # Every value had a number.
            return fetch_integers(
                self.relation, grouped, lambda column: self.require_unchanged(not column.null_count)
            )

    # --- what the engine counts ---------------------------------------------------------------------

    def marginals(self, boxes: Sequence[RankRange]) -> list[Marginals]:
        """Count each rank of each column in each part."""
        ranks: list[list[NDArray[np.int64]]] = [[] for _ in boxes]
        counts: list[list[NDArray[np.int64]]] = [[] for _ in boxes]
        for name in self.names:
            part, number, records = self._by_number(boxes, name)
            for p in range(len(boxes)):
                ranks[p].append(number[part == p])
                counts[p].append(records[part == p])
        marginals = []
        for ranks_of_part, counts_of_part in zip(ranks, counts, strict=True):
            self.require_unchanged(len({int(each.sum()) for each in counts_of_part}) == 1)
            places, weights = couple_columns(counts_of_part)
            columns = [each[place] for each, place in zip(ranks_of_part, places, strict=True)]
            marginals.append(Marginals(np.stack(columns, axis=1).astype(np.int32), weights))
        return marginals

    def histograms(self, boxes: Sequence[RankRange]) -> tuple[Entries, ...]:
        """Count each value of each attribute in each part; each part is an item."""
        histograms = []
        for name, domain in zip(self.attributes, self.domains, strict=True):
            part, code, records = self._by_number(boxes, name)
            histograms.append(entries(part, code, records, len(boxes), domain))
        return tuple(histograms)

    def _by_number(self, boxes: Sequence[RankRange], name: str) -> list[NDArray[np.int64]]:
        """Return part, number and records for each number of a column that occurs in a part, in order."""
        table, part = self._rows_of_boxes(boxes, [name])
        number = f"{self.tag}_number"
        cell = self.lookups[name].cell(table, "n").cast("int64")
        groups = self._count_rows(table.select(**{part: table[part], number: cell}), [part, number])
        order = np.lexsort(groups[1::-1])
        return [each[order] for each in groups]

    def combinations(self, boxes: Sequence[RankRange]) -> NDArray[np.int64]:
        """Count the combinations of quasi-identifiers and attributes in each part."""
        table, part = self._rows_of_boxes(boxes, [*self.names, *self.attributes])
        cells = {part: table[part], **self.keys.words(table), **self._values.words(table)}
        parts, counts = self._count_rows(table.select(**cells).distinct(), [part])
        return count_codes(parts, len(boxes), counts)

    def fetch(self, box: RankRange, *, by_row: bool = False) -> Combinations:
        """Count the combinations in a part; `by_row` makes each of them an item, always in the same order."""
        names = [*self.names, *self.attributes]
        table = self.join_numbers(self.relation.table.select(names), names)
        table = table.filter(self.inside(table, box))
        table = table.select(**self.keys.words(table), **self._values.words(table))
        *packed, weights = self._count_rows(table, table.columns)
        split = len(self.keys.names)
        packings: tuple[Packing, ...] = (self.keys,)
        if by_row:
            order = np.lexsort(packed)
            packed, weights = [each[order] for each in packed], weights[order]
            packings = (self.keys, self._values)
            words, item_of_row = np.stack(packed), np.arange(weights.size)
        else:
            words, item_of_row = _distinct(np.stack(packed[:split]))
        codes = self._values.unpack(packed[split:])
        items = words.shape[1]
        histograms = tuple(
            entries(item_of_row, code, weights, items, domain)
            for code, domain in zip(codes, self.domains, strict=True)
        )
        ranks = np.stack(self.keys.unpack(list(words[:split])), axis=1)
        work = self.work.some(ranks, count_codes(item_of_row, items, weights), histograms)
        return Combinations(words, packings, work, item_of_row, codes, weights)


def _distinct(words: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different columns of an array, and which of them each column is."""
    if len(words) == 1:
        flat, number = np.unique(words[0], return_inverse=True)
        return flat[None, :], number
    different, number = np.unique(words, axis=1, return_inverse=True)
    return different, number.reshape(-1)


def entries(
    items: NDArray[np.int64],
    values: NDArray[np.integer[Any]],
    counts: NDArray[np.int64],
    number: int,
    domain: int,
) -> Entries:
    """Collect the values of an attribute item by item."""
    pairs, place = np.unique(items * domain + values, return_inverse=True)
    of_item, value = np.divmod(pairs, domain)
    starts = np.searchsorted(of_item, np.arange(number + 1))
    return Entries(starts, value.astype(np.int32), count_codes(place, pairs.size, counts), domain)
