"""A part of a table whose classes are decided: what each row gets, as look-ups that the engine joins."""

from __future__ import annotations

import functools
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
from veil.plan.plan import Plan

if TYPE_CHECKING:
    import ibis


class Labelled:
    """The classes of a part with their labels. Called with rows of the table, it labels those in the part.

    A row finds its class by its ranks and its labels by its class. One that turned up after the table was counted finds
    nothing; the check of the output sees that, and withholds it. Rows of `hidden` classes show nothing in any column.
    """

    def __init__(
        self,
        numbered: RankedRelation,
        box: RankRange,
        found: Combinations | None,
        named: LabelledPartition,
        plan: Plan | None = None,
        hidden: NDArray[np.bool_] | None = None,
    ) -> None:
        self.numbered, self.box, self.found, self.named, self.plan = numbered, box, found, named, plan
        self.hidden = np.zeros(named.records.size, np.bool_) if hidden is None else hidden

    @classmethod
    def by_mondrian(cls, numbered: RankedRelation, part: Block) -> Labelled:
        """Let Mondrian make the classes; of a part that it would not cut, only the values of each column are needed."""
        found = None if part.final else numbered.fetch(part.box)
        classes = partition(found.work) if found else _one_class(part.final)
        return cls(numbered, part.box, found, LabelledPartition.of(numbered.work.columns, classes))

    # --- in memory ----------------------------------------------------------------------------------

    def classes(self) -> pa.Table:
        """The labels of the classes, one row each."""
        return self._labels_of_classes(np.arange(self.named.records.size))

    def rows(self, chosen: NDArray[np.bool_] | None = None) -> tuple[pa.Table, NDArray[np.int64]]:
        """The cells that models look at, each combination once, and its number of records; of all or some classes."""
        numbered = self.numbered
        if self.found is None:
            return self._whole_class()
        class_of_row = self.named.class_of_item[self.found.item_of_row]
        kept = slice(None) if chosen is None else chosen[class_of_row]
        made = self._labels_of_classes(class_of_row[kept])
        for name, codes in zip(numbered.attributes, self.found.codes, strict=True):
            cells = numbered.cells(name, codes[kept])
            if self.plan is not None and self.hidden.any():
                cells = blank_cells(cells, self.hidden[class_of_row[kept]], self.plan.marker)
            made = made.append_column(name, cells)
        return made, self.found.weights[kept]

    def _whole_class(self) -> tuple[pa.Table, NDArray[np.int64]]:
        """One class, in which every attribute has its values as often as it should; no model looks at two at once."""
        held = self.numbered.histograms([self.box])
        places, weights = couple_columns([each.counts for each in held] or [self.named.records])
        made = self._labels_of_classes(np.zeros(weights.size, np.int64))
        for name, each, place in zip(self.numbered.attributes, held, places, strict=False):
            made = made.append_column(name, self.numbered.cells(name, each.values[place]))
        return made, weights

    def _labels_of_classes(self, classes: NDArray[np.int64]) -> pa.Table:
        columns = {}
        for name, each in zip(self.numbered.names, self.named.labels, strict=True):
            codes = pa.array(each.of_class[classes].astype(np.int32))
            columns[name] = pa.DictionaryArray.from_arrays(codes, each.labels)
        return pa.table(columns)

    # --- on the engine ------------------------------------------------------------------------------

    def __call__(self, table: ibis.Table) -> ibis.Table:
        import ibis

        numbered, tag = self.numbered, self.numbered.tag
        names = [name for name in table.columns if self._is_released(name)]
        table = numbered.join_numbers(table, numbered.names)
        if self.box != numbered.whole:
            table = table.filter(numbered.inside(table, self.box))
        cells: dict[str, Any] = {}
        several = self._labels_that_differ
        is_hidden: Any = ibis.literal(bool(self.hidden.all()))
        if several:
            table = table.mutate(**numbered.keys.words(table))
            table = table.left_join(self._classes, [(key, f"{key}_of") for key in numbered.keys.names])
            if self.hidden.any():
                is_hidden = table[f"{tag}_hidden"] == 1
        for j, texts in several.items():
            table = table.left_join(texts, [(f"{tag}_c{j}", f"{tag}_c{j}_of")])
        for j, name in enumerate(numbered.names):
            each = self.named.labels[j]
            if j in several:
                cells[name] = table[f"{tag}_l{j}"]
            else:
                # Spelled out, a number is a decimal to Spark.
                kind = "string" if pa.types.is_string(each.labels.type) else "float64"
                label = each.labels[int(each.of_class[0])].as_py()
                spelled = label if label is None else str(label)
                cells[name] = ibis.literal(spelled, type="string").cast(kind)
        for name in names:
            if name not in cells:
                cells[name] = as_released(table[name])
                if self.plan is not None and self.hidden.any():
                    cells[name] = blanked(cells[name], is_hidden, self.plan.marker)
        return table.select(**{name: cells[name] for name in names})

    def _is_released(self, name: str) -> bool:
        return self.plan is None or self.plan.role_of(name) not in ("dropped", "identifying")

    @functools.cached_property
    def _classes(self) -> ibis.Table:
        """The numbers of the labels of each combination."""
        assert self.found is not None
        tag, keys = self.numbered.tag, self.numbered.keys.names
        columns = dict(zip([f"{key}_of" for key in keys], self.found.words, strict=True))
        for j in self._labels_that_differ:
            columns[f"{tag}_c{j}"] = self.named.labels[j].of_class[self.named.class_of_item].astype(np.int32)
        if self.hidden.any():
            columns[f"{tag}_hidden"] = self.hidden[self.named.class_of_item].astype(np.int32)
        keys = [f"{key}_of" for key in keys]
        return hand_over(self.numbered.relation.backend, pa.table(columns), keys)

    @functools.cached_property
    def _labels_that_differ(self) -> dict[int, ibis.Table]:
        """The labels of each column in which classes have different ones, by number."""
        tag, made = self.numbered.tag, {}
        for j, each in enumerate(self.named.labels):
            used = np.unique(each.of_class)
            if used.size > 1:
                # A missing label stays away: it is what a row gets that finds none, and Spark would take it for text.
                used = used[np.array(each.labels.take(pa.array(used)).is_valid(), dtype=np.bool_)]
                labels = each.labels.take(pa.array(used))
                known = pa.table({f"{tag}_c{j}_of": used.astype(np.int32), f"{tag}_l{j}": labels})
                made[j] = hand_over(self.numbered.relation.backend, known, [f"{tag}_c{j}_of"])
        return made


def _one_class(marginals: Marginals | None) -> Classes:
    assert marginals is not None
    items = marginals.weights.size
    begins, ends = np.zeros(1, np.int64), np.array([items], np.int64)
    return Classes(marginals.ranks, marginals.weights, np.arange(items), begins, ends)
