"""The labels of a part whose classes are decided, as look-ups that the engine joins to its rows."""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.engines.blank import blanked
from veil.engines.lookups import as_released, hand_over
from veil.engines.parts.divide import Block
from veil.engines.parts.ranked import Combinations, Marginals, RankedRelation, RankRange, couple_columns
from veil.masking.partition.columns import Classes
from veil.masking.partition.mondrian import LabelledPartition, partition
from veil.outcome.apply import blank_cells

if TYPE_CHECKING:
    import ibis


class Labelled:
    """The classes of a part with their labels. Called with rows of the table, it labels those in the part.

    A row finds its class by its ranks and its labels by its class. A row that was added after the table was
    counted finds nothing; the check of the output withholds it. Rows of `suppressed` classes are blank.
    """

    def __init__(
        self,
        numbered: RankedRelation,
        box: RankRange,
        combinations: Combinations | None,
        partition: LabelledPartition,
        suppressed: NDArray[np.bool_],
        *,
        marker: str | None = None,
        dropped: Collection[str] = (),
    ) -> None:
        self.numbered, self.box, self.combinations, self.partition = numbered, box, combinations, partition
        self.suppressed, self.marker, self.dropped = suppressed, marker, dropped

    @classmethod
    def by_mondrian(cls, numbered: RankedRelation, part: Block) -> Labelled:
        """Make the classes by Mondrian; a part that it would not cut needs the values of each column only."""
        combinations = None if part.final else numbered.fetch(part.box)
        classes = partition(combinations.work) if combinations else _one_class(part.final)
        labels = LabelledPartition.of(numbered.work.columns, classes)
        return cls(numbered, part.box, combinations, labels, np.zeros(labels.records.size, np.bool_))

    # --- in memory ----------------------------------------------------------------------------------

    def classes(self) -> pa.Table:
        """Return the labels of the classes, one row each."""
        return self._labels_of_classes(np.arange(self.partition.records.size))

    def rows(self, class_mask: NDArray[np.bool_] | None = None) -> tuple[pa.Table, NDArray[np.int64]]:
        """Return each combination of the cells of models, with its records; of all or some classes."""
        numbered = self.numbered
        if self.combinations is None:
            return self._whole_class()
        class_of_row = self.partition.class_of_item[self.combinations.item_of_row]
        selection = slice(None) if class_mask is None else class_mask[class_of_row]
        table = self._labels_of_classes(class_of_row[selection])
        for name, codes in zip(numbered.attributes, self.combinations.codes, strict=True):
            cells = numbered.cells(name, codes[selection])
            if self.suppressed.any():
                cells = blank_cells(cells, self.suppressed[class_of_row[selection]], self.marker)
            table = table.append_column(name, cells)
        return table, self.combinations.weights[selection]

    def _whole_class(self) -> tuple[pa.Table, NDArray[np.int64]]:
        """Return one class with the right frequencies of each attribute; no model looks at two at once."""
        histograms = self.numbered.histograms([self.box])
        places, weights = couple_columns([each.counts for each in histograms] or [self.partition.records])
        table = self._labels_of_classes(np.zeros(weights.size, np.int64))
        for name, each, place in zip(self.numbered.attributes, histograms, places, strict=False):
            table = table.append_column(name, self.numbered.cells(name, each.values[place]))
        return table, weights

    def _labels_of_classes(self, classes: NDArray[np.int64]) -> pa.Table:
        columns = {}
        for name, each in zip(self.numbered.names, self.partition.labels, strict=True):
            codes = pa.array(each.of_class[classes].astype(np.int32))
            columns[name] = pa.DictionaryArray.from_arrays(codes, each.labels)
        return pa.table(columns)

    # --- on the engine ------------------------------------------------------------------------------

    def __call__(self, table: ibis.Table) -> ibis.Table:
        import ibis

        numbered, tag = self.numbered, self.numbered.tag
        names = [name for name in table.columns if name not in self.dropped]
        packings = self.combinations.packings if self.combinations else ()
        by_row = len(packings) > 1
        table = numbered.join_numbers(table, [*numbered.names, *(numbered.attributes if by_row else ())])
        if self.box != numbered.whole:
            table = table.filter(numbered.inside(table, self.box))
        cells: dict[str, Any] = {}
        several = self._labels_that_differ
        is_suppressed: Any = ibis.literal(bool(self.suppressed.all()))
        if several:
            words: dict[str, Any] = {}
            for packing in packings:
                words |= packing.words(table)
            table = table.mutate(**words)
            table = table.left_join(self._classes, [(key, f"{key}_of") for key in words])
            if self.suppressed.any():
                is_suppressed = table[f"{tag}_suppressed"] == 1
        for j, texts in several.items():
            table = table.left_join(texts, [(f"{tag}_c{j}", f"{tag}_c{j}_of")])
        for j, name in enumerate(numbered.names):
            each = self.partition.labels[j]
            if j in several:
                cells[name] = table[f"{tag}_l{j}"]
            else:
                # As a number, the literal would be a decimal to Spark.
                kind = "string" if pa.types.is_string(each.labels.type) else "float64"
                label = each.labels[int(each.of_class[0])].as_py()
                text = label if label is None else str(label)
                cells[name] = ibis.literal(text, type="string").cast(kind)
        for name in names:
            if name not in cells:
                cells[name] = as_released(table[name])
                if self.suppressed.any():
                    cells[name] = blanked(cells[name], is_suppressed, self.marker)
        return table.select(**{name: cells[name] for name in names})

    @functools.cached_property
    def _classes(self) -> ibis.Table:
        """The numbers of the labels of each combination, for the engine."""
        assert self.combinations is not None
        tag, keys = self.numbered.tag, [key for each in self.combinations.packings for key in each.names]
        columns = dict(zip([f"{key}_of" for key in keys], self.combinations.words, strict=True))
        class_of_item = self.partition.class_of_item
        for j in self._labels_that_differ:
            columns[f"{tag}_c{j}"] = self.partition.labels[j].of_class[class_of_item].astype(np.int32)
        if self.suppressed.any():
            columns[f"{tag}_suppressed"] = self.suppressed[class_of_item].astype(np.int32)
        keys = [f"{key}_of" for key in keys]
        return hand_over(self.numbered.relation.backend, pa.table(columns), keys)

    @functools.cached_property
    def _labels_that_differ(self) -> dict[int, ibis.Table]:
        """The labels of each column in which the classes differ, by number."""
        tag, tables = self.numbered.tag, {}
        for j, each in enumerate(self.partition.labels):
            used = np.unique(each.of_class)
            if used.size > 1:
                # A missing label is left out: rows that find none get it, and Spark would take it for text.
                used = used[np.array(each.labels.take(pa.array(used)).is_valid(), dtype=np.bool_)]
                labels = each.labels.take(pa.array(used))
                lookup = pa.table({f"{tag}_c{j}_of": used.astype(np.int32), f"{tag}_l{j}": labels})
                tables[j] = hand_over(self.numbered.relation.backend, lookup, [f"{tag}_c{j}_of"])
        return tables


def _one_class(marginals: Marginals | None) -> Classes:
    assert marginals is not None
    items = marginals.weights.size
    begins, ends = np.zeros(1, np.int64), np.array([items], np.int64)
    return Classes(marginals.ranks, marginals.weights, np.arange(items), begins, ends)
