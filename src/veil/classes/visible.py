"""The sample as models of a sensitive attribute read it: the records that show a value.

A cell is a value, missing, or withheld. Records with the last two are left out of the distributions of the
class and the table, and a class in which no record shows a value has nothing to judge. If owners may have
several rows, an owner shows the values of those rows that have one.

At worst, a blank cell has the value of the table that breaks the model. The classes then keep their sizes,
and `fill` is a function of the values they show and of the number of their blank cells.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from veil.base.arrays import Integers
from veil.base.views import FillingRule
from veil.classes.owner_sample import OwnerHistograms, OwnerSample
from veil.classes.owners import ClassMembers
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, Histogram


class Visible:
    """The records of a sample that show a value of one attribute.

    Attributes
    ----------
    sample
        A sample of those records and of that attribute alone, with its visible values.
    is_whole
        Whether all records show a value.
    to_fill
        A sample of all records, whose classes are compared with the distribution of visible values.
    """

    def __init__(self, sample: Sample, name: str) -> None:
        attribute = sample.attribute(name)
        self._place, self._hidden = sample.attributes.index(attribute), attribute.hidden
        self._code = np.where(self._hidden, -1, np.cumsum(~self._hidden) - 1).astype(np.int32)
        self.sample = copy.copy(sample)
        values = tuple(
            value for value, blank in zip(attribute.values, self._hidden, strict=True) if not blank
        )
        codes = self._code[attribute.codes]
        self.sample.attributes = (
            dataclasses.replace(attribute, codes=codes, values=values, hidden=self._hidden[:0]),
        )
        self.sample._index = {name: 0}
        if isinstance(sample, OwnerSample):
            assert isinstance(self.sample, OwnerSample)
            owners = copy.copy(sample.owners)
            pair_values = self._code[owners.pair_values[self._place]]
            visible_mask = pair_values >= 0
            owners.pair_values = [pair_values[visible_mask]]
            owners.pair_owners = [owners.pair_owners[self._place][visible_mask]]
            owners.domains, owners.pairs = [len(values)], []
            self._pair = np.where(visible_mask, np.cumsum(visible_mask) - 1, -1).astype(np.int32)
            self.is_whole = bool(visible_mask.all())
            owners.number = int(np.unique(owners.pair_owners[0]).size)
            self.sample.owners = owners
        self.sample.table = self.see(sample.table)
        if isinstance(self.sample, OwnerSample):
            self.sample.records = self.sample.population_size = self.sample.owners.number
        else:
            self.sample.records = self.sample.population_size = int(self.sample.table.count.sum())
            self.is_whole = self.sample.records == sample.records
        if sample.baseline is not None:
            self.sample.baseline = Visible(sample.baseline, name).sample
        self.to_fill = copy.copy(self.sample)
        self.to_fill.records = self.to_fill.population_size = sample.records
        self.to_fill.baseline = self.sample.baseline or self.sample

    def see(self, table: ClassTable) -> ClassTable:
        """Return the same classes, without labels, with only the records or owners that show a value."""
        if isinstance(self.sample, OwnerSample):
            assert isinstance(table.histograms, OwnerHistograms)
            return self._count_owners(table.histograms, len(table))
        starts, classes, counts = table.histograms[self._place]
        blank = np.repeat(self._hidden, np.diff(starts))
        left = table.count.copy()
        np.subtract.at(left, classes[blank], counts[blank])
        begins = np.concatenate([[0], np.cumsum(np.diff(starts)[~self._hidden])]).astype(np.int64)
        return _unlabelled(left, (Histogram(begins, classes[~blank], counts[~blank]),))

    def _count_owners(self, histograms: OwnerHistograms, number: int) -> ClassTable:
        """Return the classes with only the owners who show a value there."""
        assert isinstance(self.sample, OwnerSample)
        owners, pairs = self.sample.owners, histograms.pairs[self._place]
        things = self._pair[pairs.things]
        visible = ClassMembers(things[things >= 0], pairs.classes[things >= 0])
        bound = owners.code_bound
        places = visible.classes.astype(np.int64) * bound + owners.pair_owners[0][visible.things]
        sizes = np.bincount(np.unique(places) // bound, minlength=number).astype(np.int64)
        return _unlabelled(sizes, OwnerHistograms((visible,), sizes, owners))


def _unlabelled(counts: Integers, histograms: Sequence[Histogram]) -> ClassTable:
    """Return a class table of sizes and values only; its keys are numbers."""
    return ClassTable((), (np.arange(counts.size, dtype=np.uint64),), (counts,), histograms)


Filling = tuple[int, int] | None
"""A value for one blank cell of a class, and one for the others; None: the commonest value of the class."""


def fillings(values: Integers, rule: FillingRule) -> Iterator[Filling]:
    """Yield the fillings with some values among which is a worst one."""
    if rule == "commonest":
        yield None
        return
    for value in values.tolist():
        yield value, value
        if rule == "each or one":
            yield from ((value, other) for other in values[values != value][:1].tolist())


def fill(visible: ClassTable, sizes: Integers, filling: Filling) -> ClassTable:
    """Return classes of the given sizes, whose blank cells have the values of a filling."""
    starts, classes, counts = visible.histograms[0]
    number = len(visible)
    codes = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    blank = np.flatnonzero(sizes > visible.count)
    first = others = np.zeros(blank.size, np.int64)
    if filling is None:
        commonest, order = np.zeros(number, np.int64), np.argsort(counts, kind="stable")
        commonest[classes[order]] = codes[order]  # the last one stays
        first = others = commonest[blank]
    else:
        first, others = first + filling[0], others + filling[1]
    keys = np.concatenate([codes * number + classes, first * number + blank, others * number + blank])
    more = np.concatenate([counts, np.ones(blank.size, np.int64), (sizes - visible.count)[blank] - 1])
    order = np.argsort(keys, kind="stable")
    order = order[more[order] > 0]
    keys = keys[order]
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    sums = np.add.reduceat(more[order], begins) if begins.size else more[:0]
    keys = keys[begins]
    ends = np.searchsorted(keys, np.arange(starts.size) * number).astype(np.int64)
    return _unlabelled(sizes, (Histogram(ends, (keys % max(1, number)).astype(np.int32), sums),))
