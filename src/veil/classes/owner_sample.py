"""The sample counted in owners, as privacy models read it where an owner may have several rows.

An owner counts once in each class, for any of their values of a sensitive attribute there: a view of a class
takes one value of each owner, and a class is safe only if no view of it breaks the model. Models read
histograms that bound all views (`View`):

* "worst": a histogram that every view is at least as even as. With c_v owners who show value v, in descending
  order, and n owners in all, it is (c_1, min(c_2, n - c_1), …). The largest i counts of a view have at most
  as many owners as show one of its i values, so their sum is at most the sum of these. A model that only gets
  harder to fulfil as counts move from rare to frequent values holds for all views if it holds for this one.
* "most": all owners who show a value, its largest count in any view, for models that only get harder to
  fulfil as a count grows while the size of the class stays.
* "sure": the owners who show no other value, its smallest count in any view. "fewest" is the same, but at
  least one: the smallest count in the views with the value. Both are for models that bound counts from below.
* "lowest", "highest": first or last values of owners, whose cumulative counts enclose those of any view.
* "one value": the histogram of classes in which no owner shows two values. Other classes are rejected.

If each owner has one value, all of them are the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Integers, Marks
from veil.base.compiled import kernel
from veil.base.views import View
from veil.base.wording import plural
from veil.classes.owners import ClassMembers, OwnersByClass, OwnersBySignature, Persons, RecordPersons
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, Histogram


class OwnerSample(Sample):
    """A sample whose records are owners. It reads the tables of `count_owners`."""

    def __init__(self, sample: Sample, persons: Persons, view: View = "one value") -> None:
        self.sample, self.persons, self.view = sample, RecordPersons(), view
        self.owners = persons
        self.encoding = sample.encoding
        self.attributes = sample.attributes
        self.microaggregated = ()
        self.has_subset = False
        self.baseline = None if sample.baseline is None else by_owner(sample.baseline, view)
        self.records = self.population_size = persons.number
        self.rows = sample.rows
        self.table = count_owners(sample.table, persons)
        self.row_class = sample.row_class
        self._index = sample._index

    @property
    def entries(self) -> int:
        """Bound on the sum of all class sizes: an owner counts in every class that has a row of theirs."""
        return max(self.records, self.rows)

    @property
    def shows_one_value(self) -> bool:
        """Whether histograms are right only for classes in which no owner shows two values."""
        return self.view == "one value"

    def histogram(self, table: ClassTable, name: str) -> Histogram:
        """Histogram of owners in the view of this sample."""
        return self.read(table, name, self.view)

    def read(self, table: ClassTable, name: str, view: View) -> Histogram:
        """Histogram of owners in any view."""
        histogram: Histogram = table.histograms[len(_VIEWS) * self._position(name) + _VIEWS.index(view)]
        return histogram

    def distribution(self, name: str) -> Integers:
        """Number of owners in the whole input who show each value; owners with two values count for both."""
        if self.baseline is not None:
            return self.baseline.distribution(name)
        place = self._position(name)
        values, domain = self.owners.pair_values[place], self.owners.domains[place]
        return np.bincount(values, minlength=domain).astype(np.int64)

    def whole_of(self, name: str) -> int:
        """Sum of the distribution."""
        return int(self.distribution(name).sum())


def by_owner(sample: Sample, view: View = "one value") -> Sample:
    """Return the sample counted in owners: itself, if every record has an owner of its own."""
    return OwnerSample(sample, sample.persons, view) if isinstance(sample.persons, Persons) else sample


def count_owners(table: ClassTable, persons: Persons, *, ordered: bool = False) -> ClassTable:
    """Return a class table counted in owners: of the same classes, or of signatures if all rows are known.

    Signatures have no labels. With `ordered`, the key of each follows from the labels of its rows.
    """
    people = table.people
    if isinstance(people, OwnersBySignature):
        nothing = np.zeros(people.people.size, np.uint64)
        keys = (
            _keys_of_signatures(table, people) if ordered else nothing,
            *([nothing] * (len(table.keys) - 1)),
        )
        return ClassTable(
            table.levels, keys, (people.people,), OwnerHistograms(people.pairs, people.people, persons)
        )
    assert isinstance(people, OwnersByClass)
    return ClassTable(
        table.levels, table.keys, (people.counts,), OwnerHistograms(people.pairs, people.counts, persons)
    )


def _keys_of_signatures(table: ClassTable, people: OwnersBySignature) -> NDArray[np.uint64]:
    """Hash the labels of each signature and how often each occurs, independently of the order of rows.

    Two signatures with the same hash, which hardly happens, rank as equal.
    """
    mixed = np.zeros(len(table), np.uint64)
    for word in table.keys:
        mixed = (mixed ^ word) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
        mixed *= np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(32)
    times = (table.count // people.people[people.signatures]).astype(np.uint64)
    keys = np.zeros(people.people.size, np.uint64)
    np.add.at(keys, people.signatures, times * mixed)
    return keys


class OwnerHistograms(Sequence[Histogram]):
    """The histograms of each attribute in each view, computed when first read."""

    def __init__(self, pairs: tuple[ClassMembers, ...], sizes: Integers, persons: Persons) -> None:
        self.pairs, self.sizes, self.persons = pairs, sizes, persons
        self._histograms: dict[int, Histogram] = {}

    def __len__(self) -> int:
        return len(_VIEWS) * len(self.pairs)

    def __getitem__(self, i: Any) -> Any:
        if i not in self._histograms:
            place, how = divmod(i, len(_VIEWS))
            self._histograms[i] = self._histogram(place, _VIEWS[how])
        return self._histograms[i]

    def _histogram(self, place: int, view: View) -> Histogram:
        pairs = self.pairs[place]
        if view == "most":
            return self._count(place, pairs)
        most: Histogram = self[len(_VIEWS) * place + _VIEWS.index("most")]
        if view == "one value":
            return most
        if view == "worst":
            return worst_view(most, self.sizes)
        if view in ("lowest", "highest"):
            return self._count(place, self._extreme_values(place, pairs, last=view == "highest"))
        sure = self._count(place, self._sole_values(place, pairs))
        return sure if view == "sure" else at_least_one(most, sure, self.sizes.size)

    def _count(self, place: int, pairs: ClassMembers) -> Histogram:
        values, domain = self.persons.pair_values[place], self.persons.domains[place]
        return Histogram(*count_values(pairs.things, pairs.classes, values, domain, self.sizes.size))

    def _number_owners(self, place: int, pairs: ClassMembers) -> Integers:
        """Number the owner and class of each pair."""
        owners = self.persons.pair_owners[place][pairs.things]
        return pairs.classes.astype(np.int64) * self.persons.code_bound + owners

    def _extreme_values(self, place: int, pairs: ClassMembers, *, last: bool) -> ClassMembers:
        """Return the first or the last pair of each owner in a class. Pairs are in the order of values."""
        pair_owners = self._number_owners(place, pairs)
        _, first = np.unique(pair_owners[::-1] if last else pair_owners, return_index=True)
        positions = np.sort(pair_owners.size - 1 - first if last else first)
        return ClassMembers(pairs.things[positions], pairs.classes[positions])

    def _sole_values(self, place: int, pairs: ClassMembers) -> ClassMembers:
        """Return the pairs of owners who show no other value in the class."""
        pair_owners = self._number_owners(place, pairs)
        _, at, times = np.unique(pair_owners, return_inverse=True, return_counts=True)
        only = times[at] == 1
        return ClassMembers(pairs.things[only], pairs.classes[only])


_VIEWS: tuple[View, ...] = ("most", "worst", "sure", "fewest", "lowest", "highest", "one value")
"""The order of the histograms of an attribute."""


def at_least_one(most: Histogram, sure: Histogram, classes: int) -> Histogram:
    """Return the counts of `sure`, and one where an owner shows a value but none shows it alone."""
    counts = np.ones_like(most.counts)
    value_of = [np.repeat(np.arange(each.starts.size - 1), np.diff(each.starts)) for each in (most, sure)]
    places, sure_places = (v * classes + each.classes for v, each in zip(value_of, (most, sure), strict=True))
    order = np.argsort(places)
    counts[order[np.searchsorted(places[order], sure_places)]] = sure.counts
    return Histogram(most.starts, most.classes, counts)


def worst_view(histogram: Histogram, sizes: Integers) -> Histogram:
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
    nonzero_mask = capped > 0
    kept_before = np.concatenate([[0], np.cumsum(nonzero_mask)])
    return Histogram(kept_before[starts].astype(np.int64), classes[nonzero_mask], capped[nonzero_mask])


@kernel
def fill_up(classes: Codes, counts: Integers, sizes: Integers, places: Integers, out: Integers) -> None:
    """Give each value as many owners as show it, until all owners of the class are used up."""
    left = 0
    for t in range(classes.size):
        if t == 0 or classes[t] != classes[t - 1]:
            left = sizes[classes[t]]
        out[places[t]] = min(counts[t], left)
        left -= out[places[t]]


@kernel
def count_values(
    pairs: Codes, classes: Codes, values: Codes, domain: int, number: int
) -> tuple[Integers, Codes, Integers]:
    """Count the pairs of each value in each class. Pairs are in the order of values."""
    starts = np.zeros(domain + 1, np.int64)
    out_classes = np.empty(pairs.size, np.int32)
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
            out_classes[filled] = i
            counts[filled] = 0
            filled += 1
        counts[newest[i]] += 1
    while value < domain:
        value += 1
        starts[value] = filled
    return starts, out_classes[:filled].copy(), counts[:filled].copy()


def describe_several_values(sample: Sample, names: Iterable[str]) -> str:
    """Describe how many owners show several values, which makes models hard to fulfil; "" if none does."""
    message = ""
    for name in dict.fromkeys(names):
        several = sample.persons.several_values(sample.attributes.index(sample.attribute(name)))
        if several:
            message += (
                f". {several} of {plural(by_owner(sample).records, 'person', 'people')} show several values of {name!r}, and a "
                "class has to be safe whichever of them counts: coarser values or one row of each person would help"
            )
    return message


def one_value_each(sample: Sample, names: Iterable[str]) -> list[OneValueEach]:
    """Return what rejects classes in which an owner shows two values; nothing if the sample shows all views."""
    return [OneValueEach(sample, name) for name in names] if sample.shows_one_value else []


class OneValueEach:
    """Rejection of classes in which an owner shows two values, for models that read one of each."""

    def __init__(self, sample: Sample, attribute: str) -> None:
        self.sample, self.attribute = sample, attribute

    def reject(self, table: ClassTable, rejected: Marks) -> None:
        """Reject classes with more pairs of owner and value than owners."""
        histogram = self.sample.histogram(table, self.attribute)
        pair_counts = np.zeros(len(table), np.int64)
        np.add.at(pair_counts, histogram.classes, histogram.counts)
        rejected[pair_counts > table.count] = 1
