"""The sample as models of a sensitive attribute see it: the records that show a value of it.

A cell is a value, missing, or withheld. The last two show nothing: such records are left out of the class's and of the
table's distribution, and a class in which nobody shows a value holds nothing to judge. Where people may have several rows,
a person shows the values of those rows that have one.

At worst, a cell that shows nothing is whichever value of the table breaks the model. The classes then keep their sizes, and
`fill` is a function of what they show and of how many of their cells are blank.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

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
        A sample of those records and of that attribute alone, with the values that can be seen.
    is_whole
        Whether all records show a value.
    to_fill
        A sample of all records, whose classes are compared with the distribution of those that show a value.
    """

    def __init__(self, sample: Sample, name: str) -> None:
        attribute = sample.attribute(name)
        assert attribute.hidden is not None
        self._place, self._hidden = sample.attributes.index(attribute), attribute.hidden
        self._code = np.where(self._hidden, -1, np.cumsum(~self._hidden) - 1).astype(np.int32)
        self.sample = copy.copy(sample)
        values = tuple(
            value for value, blank in zip(attribute.values, self._hidden, strict=True) if not blank
        )
        codes = self._code[attribute.codes]
        self.sample.attributes = (dataclasses.replace(attribute, codes=codes, values=values, hidden=None),)
        self.sample._index = {name: 0}
        if isinstance(sample, OwnerSample):
            assert isinstance(self.sample, OwnerSample)
            everybody = copy.copy(sample.voters)
            shown = self._code[everybody.values[self._place]]
            everybody.values, everybody.owners = (
                [shown[shown >= 0]],
                [everybody.owners[self._place][shown >= 0]],
            )
            everybody.domains, everybody.pairs = [len(values)], []
            self._pair = np.where(shown >= 0, np.cumsum(shown >= 0) - 1, -1).astype(np.int32)
            self.is_whole = bool((shown >= 0).all())
            everybody.number = int(np.unique(everybody.owners[0]).size)
            self.sample.voters = everybody
        self.sample.table = self.see(sample.table)
        if isinstance(self.sample, OwnerSample):
            self.sample.records = self.sample.everybody = self.sample.voters.number
        else:
            self.sample.records = self.sample.everybody = int(self.sample.table.count.sum())
            self.is_whole = self.sample.records == sample.records
        if sample.baseline is not None:
            self.sample.baseline = Visible(sample.baseline, name).sample
        self.to_fill = copy.copy(self.sample)
        self.to_fill.records = self.to_fill.everybody = sample.records
        self.to_fill.baseline = self.sample.baseline or self.sample

    def see(self, table: ClassTable) -> ClassTable:
        """Return the same classes with the records, or people, that show a value; their labels are not there."""
        if isinstance(self.sample, OwnerSample):
            assert isinstance(table.histograms, OwnerHistograms)
            counts, histograms = self._people(table.histograms, len(table))
            return _seen(counts, histograms)
        starts, classes, counts = table.histograms[self._place]
        blank = np.repeat(self._hidden, np.diff(starts))
        left = table.count.copy()
        np.subtract.at(left, classes[blank], counts[blank])
        begins = np.concatenate([[0], np.cumsum(np.diff(starts)[~self._hidden])]).astype(np.int64)
        return _seen(left, (Histogram(begins, classes[~blank], counts[~blank]),))

    def _people(self, votes: OwnerHistograms, number: int) -> tuple[NDArray[np.int64], OwnerHistograms]:
        """Count the people of each class who show a value there."""
        assert isinstance(self.sample, OwnerSample)
        everybody, shown = self.sample.voters, votes.shown[self._place]
        things = self._pair[shown.things]
        visible = ClassMembers(things[things >= 0], shown.classes[things >= 0])
        whose = visible.classes.astype(np.int64) * everybody.everybody + everybody.owners[0][visible.things]
        sizes = np.bincount(np.unique(whose) // everybody.everybody, minlength=number).astype(np.int64)
        return sizes, OwnerHistograms((visible,), sizes, everybody)


def _seen(counts: NDArray[np.int64], histograms: tuple[Histogram, ...] | OwnerHistograms) -> ClassTable:
    """Return a class table of which nothing is known but sizes and values: its keys are numbers."""
    return ClassTable((), (np.arange(counts.size, dtype=np.uint64),), (counts,), histograms)


Filling = tuple[int, int] | None
"""A value for one blank cell of a class, and one for its others; None: all are the commonest value of the class."""


def fillings(values: NDArray[np.int64], rule: FillingRule) -> Iterator[Filling]:
    """Return the fillings that have to be tried with some values, so that none is worse."""
    if rule == "commonest":
        yield None
        return
    for value in values.tolist():
        yield value, value
        if rule == "each or one":
            yield from ((value, other) for other in values[values != value][:1].tolist())


def fill(seen: ClassTable, sizes: NDArray[np.int64], filling: Filling) -> ClassTable:
    """Return classes of the sizes given, whose cells that are not seen have the values of a filling."""
    starts, classes, counts = seen.histograms[0]
    number = len(seen)
    codes = np.repeat(np.arange(starts.size - 1), np.diff(starts))
    blank = np.flatnonzero(sizes > seen.count)
    first = others = np.zeros(blank.size, np.int64)
    if filling is None:
        commonest, order = np.zeros(number, np.int64), np.argsort(counts, kind="stable")
        commonest[classes[order]] = codes[order]  # the last one stays
        first = others = commonest[blank]
    else:
        first, others = first + filling[0], others + filling[1]
    keys = np.concatenate([codes * number + classes, first * number + blank, others * number + blank])
    more = np.concatenate([counts, np.ones(blank.size, np.int64), (sizes - seen.count)[blank] - 1])
    order = np.argsort(keys, kind="stable")
    order = order[more[order] > 0]
    keys = keys[order]
    begins = np.flatnonzero(np.diff(keys, prepend=-1))
    sums = np.add.reduceat(more[order], begins) if begins.size else more[:0]
    keys = keys[begins]
    ends = np.searchsorted(keys, np.arange(starts.size) * number).astype(np.int64)
    return _seen(sizes, (Histogram(ends, (keys % max(1, number)).astype(np.int32), sums),))
