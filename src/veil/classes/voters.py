"""The sample as privacy models see it where a person may have several rows: a record is a person.

A person votes once in each class. Who has several values of a sensitive attribute there could vote for any of them: a
view of a class takes one value of each person, and a class is safe only if no view of it breaks the model. What a model
reads stands for all views (`View`):

* "worst" is a histogram that every view is at least as even as. With the people c_v who show a value v, in descending
  order, and n people in all: (c_1, min(c_2, n - c_1), …). The largest i counts of a view have at most as many people as
  show one of its i values, so that their sum is at most that of these. A model that only gets harder to fulfil as counts
  move from rare values to frequent ones holds for all views if it holds for this.
* "most" counts everybody who shows a value: the largest count that a view has of it, for models that limit that.
* "one value" is the histogram itself, of classes in which nobody shows two values. The others are rejected.

Where everybody has one value, the three are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import kernel
from veil.base.views import View
from veil.classes.people import AllRows, OneRow, Persons
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, Histogram


class Voters(Sample):
    """A sample whose records are people. It reads tables that `vote` makes."""

    def __init__(self, sample: Sample, persons: Persons, view: View = "one value") -> None:
        self.sample, self.persons, self.view = sample, None, view
        self.voters = persons
        self.encoding = sample.encoding
        self.attributes = sample.attributes
        self.microaggregated = ()
        self.has_subset = False
        self.baseline = None if sample.baseline is None else seen_by(sample.baseline, view)
        self.records = self.everybody = persons.number
        self.rows = sample.rows
        self.table = vote(sample.table, persons)
        self.row_class = sample.row_class
        self._index = sample._index

    @property
    def entries(self) -> int:
        """People in classes: each counts in every class that they have a row in."""
        return max(self.records, self.rows)

    def histogram(self, table: ClassTable, name: str) -> Histogram:
        """How many people of each class are taken to show each value."""
        place = self._position(name)
        found: Histogram = table.histograms[2 * place + (self.view == "worst")]
        return found

    def distribution(self, name: str) -> NDArray[np.int64]:
        """How many people of the whole input show each value: who has two values counts for both."""
        if self.baseline is not None:
            return self.baseline.distribution(name)
        place = self._position(name)
        values, domain = self.voters.values[place], self.voters.domains[place]
        return np.bincount(values, minlength=domain).astype(np.int64)

    def whole_of(self, name: str) -> int:
        """Sum of the distribution."""
        return int(self.distribution(name).sum())


def seen_by(sample: Sample, view: View = "one value") -> Sample:
    """Return the sample that models are to see: itself, if every record is a person."""
    return sample if sample.persons is None else Voters(sample, sample.persons, view)


def vote(table: ClassTable, persons: Persons) -> ClassTable:
    """Return a class table counted in people: of the same classes, or with all rows known, of signatures."""
    people = table.people
    assert people is not None
    if isinstance(people, AllRows):
        nothing = tuple(np.zeros(people.people.size, np.uint64) for _ in table.keys)
        return ClassTable(table.levels, nothing, (people.people,), _Votes(people, people.people, persons))
    return ClassTable(table.levels, table.keys, (people.counts,), _Votes(people, people.counts, persons))


class _Votes(Sequence[Histogram]):
    """For each attribute, who shows what, and the worst view of it; each made when it is first asked for."""

    def __init__(self, people: OneRow | AllRows, sizes: NDArray[np.int64], persons: Persons) -> None:
        self.people, self.sizes, self.persons = people, sizes, persons
        self.made: dict[int, Histogram] = {}

    def __len__(self) -> int:
        return 2 * len(self.people.shown)

    def __getitem__(self, i: Any) -> Any:
        if i not in self.made:
            place, worst = divmod(i, 2)
            if worst:
                self.made[i] = worst_view(self[i - 1], self.sizes)
            else:
                shown, values = self.people.shown[place], self.persons.values[place]
                domain = self.persons.domains[place]
                counted = count_values(shown.things, shown.classes, values, domain, self.sizes.size)
                self.made[i] = Histogram(*counted)
        return self.made[i]


def worst_view(histogram: Histogram, sizes: NDArray[np.int64]) -> Histogram:
    """Return a histogram that every view of the classes is at least as even as."""
    starts, classes, counts = histogram
    sums = np.zeros(sizes.size, np.int64)
    np.add.at(sums, classes, counts)
    several = sums > sizes
    if not several.any():
        return histogram
    capped = counts.copy()
    entries = np.flatnonzero(several[classes])
    # Class by class, the most frequent value first.
    order = entries[np.lexsort((-counts[entries], classes[entries]))]
    fill_up(classes[order], counts[order], sizes, order, capped)
    left = capped > 0
    gone = np.concatenate([[0], np.cumsum(left)])
    return Histogram(gone[starts].astype(np.int64), classes[left], capped[left])


@kernel
def fill_up(
    classes: NDArray[np.int32],
    counts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    places: NDArray[np.int64],
    out: NDArray[np.int64],
) -> None:
    """Let each value have as many people as show it, as long as there are any left."""
    left = 0
    for t in range(classes.size):
        if t == 0 or classes[t] != classes[t - 1]:
            left = sizes[classes[t]]
        out[places[t]] = min(counts[t], left)
        left -= out[places[t]]


@kernel
def count_values(
    pairs: NDArray[np.int32],
    classes: NDArray[np.int32],
    values: NDArray[np.int32],
    domain: int,
    number: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int64]]:
    """Count the pairs of each value in each class, value by value, as they are ordered."""
    starts = np.zeros(domain + 1, np.int64)
    found = np.empty(pairs.size, np.int32)
    counts = np.empty(pairs.size, np.int64)
    newest = np.full(number, -1, np.int64)
    filled = first = 0
    value = -1
    for e in range(pairs.size):
        while value < values[pairs[e]]:
            value += 1
            starts[value] = filled
            first = filled
        i = classes[e]
        if newest[i] < first:
            newest[i] = filled
            found[filled] = i
            counts[filled] = 0
            filled += 1
        counts[newest[i]] += 1
    while value < domain:
        value += 1
        starts[value] = filled
    return starts, found[:filled].copy(), counts[:filled].copy()


class OneValueEach:
    """Rejects classes in which somebody shows two values of an attribute: for models that read one value each."""

    def __init__(self, sample: Sample, attribute: str) -> None:
        self.sample, self.attribute = sample, attribute

    def reject(self, table: ClassTable, rejected: NDArray[np.uint8]) -> None:
        """Reject classes of which more values are shown than there are people."""
        histogram = self.sample.histogram(table, self.attribute)
        shown = np.zeros(len(table), np.int64)
        np.add.at(shown, histogram.classes, histogram.counts)
        rejected[shown > table.count] = 1
