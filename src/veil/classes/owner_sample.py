"""The sample as privacy models see it where a person may have several rows: a record is a person.

A person votes once in each class. Who has several values of a sensitive attribute there could vote for any of them: a
view of a class takes one value of each person, and a class is safe only if no view of it breaks the model. What a model
reads stands for all views (`View`):

* "worst" is a histogram that every view is at least as even as. With the people c_v who show a value v, in descending
  order, and n people in all: (c_1, min(c_2, n - c_1), …). The largest i counts of a view have at most as many people as
  show one of its i values, so that their sum is at most that of these. A model that only gets harder to fulfil as counts
  move from rare values to frequent ones holds for all views if it holds for this.
* "most" counts everybody who shows a value: the largest count that a view has of it, for models that limit that. So it
  is for a model that only gets harder to fulfil as any count grows and the size of the class stays.
* "sure" counts those who show no other value: the smallest count that a view has. "fewest" is the same, but one where there
  is nobody: the smallest of those views that have the value. Both are for models that limit counts from below.
* "lowest" and "highest" take everybody's first or last value: what a view has up to any value lies between the two.
* "one value" is the histogram itself, of classes in which nobody shows two values. The others are rejected.

Where everybody has one value, all are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.base.compiled import kernel
from veil.base.views import View
from veil.base.wording import plural
from veil.classes.owners import ClassMembers, OwnersBySignature, Persons
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, Histogram


class OwnerSample(Sample):
    """A sample whose records are people. It reads tables that `count_owners` makes."""

    def __init__(self, sample: Sample, persons: Persons, view: View = "one value") -> None:
        self.sample, self.persons, self.view = sample, None, view
        self.voters = persons
        self.encoding = sample.encoding
        self.attributes = sample.attributes
        self.microaggregated = ()
        self.has_subset = False
        self.baseline = None if sample.baseline is None else by_owner(sample.baseline, view)
        self.records = self.everybody = persons.number
        self.rows = sample.rows
        self.table = count_owners(sample.table, persons)
        self.row_class = sample.row_class
        self._index = sample._index

    @property
    def entries(self) -> int:
        """People in classes: each counts in every class that they have a row in."""
        return max(self.records, self.rows)

    def histogram(self, table: ClassTable, name: str) -> Histogram:
        """How many people of each class are taken to show each value."""
        return self.read(table, name, self.view)

    def read(self, table: ClassTable, name: str, view: View) -> Histogram:
        """How many people of each class are taken to show each value, in any of the ways to look at them."""
        found: Histogram = table.histograms[len(_READ) * self._position(name) + _READ.index(view)]
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


def by_owner(sample: Sample, view: View = "one value") -> Sample:
    """Return the sample that models are to see: itself, if every record is a person."""
    return sample if sample.persons is None else OwnerSample(sample, sample.persons, view)


def count_owners(table: ClassTable, persons: Persons, *, ordered: bool = False) -> ClassTable:
    """Return a class table counted in people: of the same classes, or with all rows known, of signatures.

    Signatures have no labels. If they are to be `ordered`, each has a key that follows from the labels of its rows.
    """
    people = table.people
    assert people is not None
    if isinstance(people, OwnersBySignature):
        nothing = np.zeros(people.people.size, np.uint64)
        keys = (
            _keys_of_signatures(table, people) if ordered else nothing,
            *([nothing] * (len(table.keys) - 1)),
        )
        return ClassTable(
            table.levels, keys, (people.people,), OwnerHistograms(people.shown, people.people, persons)
        )
    return ClassTable(
        table.levels, table.keys, (people.counts,), OwnerHistograms(people.shown, people.counts, persons)
    )


def _keys_of_signatures(table: ClassTable, people: OwnersBySignature) -> NDArray[np.uint64]:
    """Number signatures by the labels that they hold and how often, so that no order of rows has a say.

    Two that have the same number, which hardly happens, are taken for equally good.
    """
    mixed = np.zeros(len(table), np.uint64)
    for word in table.keys:
        mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    times = (table.count // people.people[people.signatures]).astype(np.uint64)
    made = np.zeros(people.people.size, np.uint64)
    np.add.at(made, people.signatures, times * mixed)
    return made


class OwnerHistograms(Sequence[Histogram]):
    """For each attribute, who shows what, and the worst view of it; each made when it is first asked for."""

    def __init__(self, shown: tuple[ClassMembers, ...], sizes: NDArray[np.int64], persons: Persons) -> None:
        self.shown, self.sizes, self.persons = shown, sizes, persons
        self.made: dict[int, Histogram] = {}

    def __len__(self) -> int:
        return len(_READ) * len(self.shown)

    def __getitem__(self, i: Any) -> Any:
        if i not in self.made:
            place, how = divmod(i, len(_READ))
            self.made[i] = self._read(place, _READ[how])
        return self.made[i]

    def _read(self, place: int, view: View) -> Histogram:
        shown = self.shown[place]
        if view == "most":
            return self._count(place, shown)
        most: Histogram = self[len(_READ) * place + _READ.index("most")]
        if view == "one value":
            return most
        if view == "worst":
            return worst_view(most, self.sizes)
        if view in ("lowest", "highest"):
            return self._count(place, self._at_one_end(place, shown, last=view == "highest"))
        sure = self._count(place, self._without_choice(place, shown))
        return sure if view == "sure" else at_least_one(most, sure, self.sizes.size)

    def _count(self, place: int, shown: ClassMembers) -> Histogram:
        values, domain = self.persons.values[place], self.persons.domains[place]
        return Histogram(*count_values(shown.things, shown.classes, values, domain, self.sizes.size))

    def _whose(self, place: int, shown: ClassMembers) -> NDArray[np.int64]:
        """Number the people of classes, for each of their values there."""
        owners = self.persons.owners[place][shown.things]
        return shown.classes.astype(np.int64) * self.persons.everybody + owners

    def _at_one_end(self, place: int, shown: ClassMembers, *, last: bool) -> ClassMembers:
        """Return the first or the last value that everybody shows in a class. Entries are in the order of values."""
        whose = self._whose(place, shown)
        _, first = np.unique(whose[::-1] if last else whose, return_index=True)
        chosen = np.sort(whose.size - 1 - first if last else first)
        return ClassMembers(shown.things[chosen], shown.classes[chosen])

    def _without_choice(self, place: int, shown: ClassMembers) -> ClassMembers:
        """Return what people show in classes in which they show nothing else."""
        whose = self._whose(place, shown)
        _, at, times = np.unique(whose, return_inverse=True, return_counts=True)
        only = times[at] == 1
        return ClassMembers(shown.things[only], shown.classes[only])


_READ: tuple[View, ...] = ("most", "worst", "sure", "fewest", "lowest", "highest", "one value")
"""In which order the histograms of an attribute stand."""


def at_least_one(most: Histogram, sure: Histogram, classes: int) -> Histogram:
    """Return the counts of those who are sure of a value; one where somebody shows it and nobody is."""
    counts = np.ones_like(most.counts)
    value_of = [np.repeat(np.arange(each.starts.size - 1), np.diff(each.starts)) for each in (most, sure)]
    there, known = (v * classes + each.classes for v, each in zip(value_of, (most, sure), strict=True))
    order = np.argsort(there)
    counts[order[np.searchsorted(there[order], known)]] = sure.counts
    return Histogram(most.starts, most.classes, counts)


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


def tell_several_values(sample: Sample, names: Iterable[str]) -> str:
    """Say how many people show several values of an attribute, which makes models hard to fulfil; "" if nobody does."""
    told = ""
    for name in dict.fromkeys(names):
        if sample.persons is None:
            break
        place = sample.attributes.index(sample.attribute(name))
        shown = np.unique(np.stack([sample.persons.codes, sample.persons.pairs[place]]), axis=1)[0]
        several = int(np.count_nonzero(np.bincount(shown) > 1))
        if several:
            told += (
                f". {several} of {plural(sample.persons.number, 'person', 'people')} show several values of {name!r}, and a "
                "class has to be safe whichever of them counts: coarser values or one row of each person would help"
            )
    return told


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
