"""The sample: the encoded, collapsed input that models, quality models and strategies read."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

import numpy as np

from veil.base.arrays import Codes, Integers, Mask
from veil.classes import kernels
from veil.classes.encoding import Encoding, Levels
from veil.classes.owners import Persons, RecordPersons
from veil.classes.table import ClassTable, Histogram, Workspace, collapse, roll_up
from veil.errors import PlanError, did_you_mean
from veil.tables.rows import Owners, Weights


@dataclass(frozen=True, eq=False)
class SampleAttribute:
    """A further column (sensitive, or a response variable) as codes in the order of its values.

    `hidden` marks the entries of `values` that are missing or withheld; it is empty if there are none.
    """

    name: str
    codes: Codes
    values: tuple[object, ...]
    hidden: Mask = field(default_factory=lambda: np.zeros(0, np.bool_))


class Sample:
    """The input of a search: the class table of the bottom node, and facts derived from it once.

    Parameters
    ----------
    encoding
        The quasi-identifiers.
    codes
        Level-0 codes of every row, one array for each quasi-identifier.
    attributes
        Further columns whose histograms the models need.
    subset
        Which rows are in the research subset; None without one, so that every row counts.
    microaggregated
        The further columns that are quasi-identifiers: their values form no classes, and one value is
        published for each class.
    weights
        Number of records of each row; by default one.
    squares
        Whether to sum squared multiplicities of original rows (the Kullback-Leibler model needs them).
    owners
        Owner of each row; by default every record has an owner of its own.
    baseline
        The sample that this one is a part of: models compare classes with the values of all of it.
    """

    def __init__(
        self,
        encoding: Encoding,
        codes: list[Codes],
        attributes: tuple[SampleAttribute, ...] = (),
        subset: Mask | None = None,
        *,
        microaggregated: tuple[str, ...] = (),
        weights: Weights | None = None,
        squares: bool = False,
        owners: Owners | None = None,
        baseline: Sample | None = None,
    ) -> None:
        self.baseline = baseline
        self.encoding = encoding
        self.attributes = attributes
        self.microaggregated = microaggregated
        self.has_subset = subset is not None
        further = [(attribute.codes, len(attribute.values)) for attribute in attributes]
        rows = codes[0].size
        weights, owners = weights or Weights(rows), owners or Owners(rows)
        # A part is counted like the whole.
        one_each = owners.have_one_record(weights) if baseline is None else baseline.persons.are_records
        self.persons: Persons | RecordPersons = (
            RecordPersons() if one_each else Persons(owners, weights, further)
        )
        self.table, self.row_class = collapse(
            encoding, codes, further, subset, weights=weights, squares=squares, persons=self.persons
        )
        self.rows = int(self.row_class.size)
        self.population_size = int(self.table.population.sum())
        self.records = int(self.table.count.sum())
        self._index = {attribute.name: i for i, attribute in enumerate(attributes)}

    @property
    def shows_one_value(self) -> bool:
        """Whether histograms are right only for classes in which no owner shows two values."""
        return False

    def workspace(self) -> Workspace:
        """Return scratch memory for roll-ups of this sample; each thread sees its own."""
        table, encoding = self.table, self.encoding
        return Workspace(
            len(table),
            encoding.words,
            len(table.measures),
            encoding.value_count,
            table.histograms,
            table.people,
        )

    def histogram(self, table: ClassTable, name: str) -> Histogram:
        """Histogram of the named further attribute in a class table."""
        return table.histograms[self._position(name)]

    def attribute(self, name: str) -> SampleAttribute:
        """The named further attribute."""
        return self.attributes[self._position(name)]

    def _position(self, name: str) -> int:
        if name not in self._index:
            raise PlanError(f"column {name!r} is not a sensitive attribute.{did_you_mean(name, self._index)}")
        return self._index[name]

    def distinct_in_classes(self, table: ClassTable) -> Integers:
        """Count the different values of each microaggregated attribute (rows) in each class (columns)."""
        counted = [
            np.bincount(histogram.classes[histogram.counts > 0], minlength=len(table))
            for histogram in (self.histogram(table, name) for name in self.microaggregated)
        ]
        return np.array(counted, np.int64).reshape(len(counted), len(table))

    @property
    def distinct_microaggregated(self) -> Integers:
        """Number of different values of each microaggregated attribute in the whole input."""
        return np.array([len(self.attribute(name).values) for name in self.microaggregated], np.int64)

    @property
    def entries(self) -> int:
        """The largest sum of the sizes of all classes of a node."""
        return self.records

    def whole_of(self, name: str) -> int:
        """Number of relevant records of the whole input: the sum of a distribution."""
        return self.records if self.baseline is None else self.baseline.whole_of(name)

    def largest_size(self, name: str) -> int:
        """Return a bound on the sizes of classes, and on the sum of a distribution."""
        return max(self.whole_of(name), self.records)

    def distribution(self, name: str) -> Integers:
        """Number of relevant records of the whole input with each value of a further attribute."""
        if self.baseline is not None:
            return self.baseline.distribution(name)
        histogram = self.histogram(self.table, name)
        sums = np.concatenate([[0], np.cumsum(histogram.counts)])
        return np.diff(sums[histogram.starts])

    @functools.cached_property
    def frequencies(self) -> tuple[tuple[Integers, ...], ...]:
        """`frequencies[j][level][code]`: relevant records with a generalized value, ignoring suppression."""
        encoding, table = self.encoding, self.table
        everything = np.ones(len(table), np.uint8)
        flat = np.zeros(encoding.value_count, np.int64)
        kernels.value_counts(
            table.keys, table.count, everything, 1, encoding.layout, np.array(table.levels),
            encoding.value_starts, flat,
        )  # fmt: skip
        result = []
        for j, hierarchy in enumerate(encoding.hierarchies):
            start = encoding.value_starts[j, 0]
            levels = [flat[start : start + len(hierarchy.labels[0])].copy()]
            for level, map_ in enumerate(hierarchy.maps):
                sums = np.bincount(map_, weights=levels[-1], minlength=len(hierarchy.labels[level + 1]))
                levels.append(sums.astype(np.int64))
            result.append(tuple(levels))
        return tuple(result)

    @functools.cached_property
    def value_totals(self) -> Integers:
        """The frequencies of all values of all levels, in the order of `Encoding.value_starts`."""
        return np.concatenate([counts for levels in self.frequencies for counts in levels])

    @functools.cached_property
    def distinct(self) -> tuple[tuple[int, ...], ...]:
        """`distinct[j][level]`: number of different generalized values that occur in the data."""
        return tuple(
            tuple(int(np.count_nonzero(frequency)) for frequency in levels) for levels in self.frequencies
        )

    def classes_of_rows(self, levels: Levels) -> tuple[ClassTable, Codes]:
        """Class table of a node together with the class of every row."""
        work = self.workspace()
        table = roll_up(self.encoding, self.table, levels, work, groups=True)
        return table, work.groups[self.row_class]
