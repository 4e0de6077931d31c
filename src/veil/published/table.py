"""A published table seen from outside: plain group-bys on its cells, nothing from the engine.

The verifier and `veil.assess` look at tables this way, so that a mistake in the engine cannot hide itself.
Columns become numbers by Arrow's own dictionary encoding, rows become numbers by mixing those, and classes are
the different numbers. That is all, and it takes about half a second for a million rows.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.views import View
from veil.errors import InputError
from veil.hierarchies.hierarchy import Hierarchy
from veil.published.blank import never_blank, shows_no_value, shows_nothing
from veil.published.owners import People, worst_counts
from veil.tables.columns import (
    Encoded,
    check_comparable,
    count_codes,
    encode_columns,
    encode_comparable,
    encode_values,
    freeze,
    number_rows,
)

Histograms = tuple[NDArray[np.int64], pa.Array, NDArray[np.int64]]


class Published:
    """Records of a published table, grouped by their quasi-identifiers.

    A record is suppressed if every one of its cells holds the marker (or nothing, where the marker cannot
    stand) and the flag column, if there is one, says so too. Suppressed records say nothing about anybody and belong
    to no class; a record that shows anything belongs to one, even if its quasi-identifiers are blank. `hidden` says
    which records were suppressed, where that is known: the others are people of whom everything is missing. Classes are numbered in order of first appearance, the same
    way for everything that speaks of them. Missing values are values like others; `visible` leaves them out.

    `baseline` holds the sensitive columns of all records that could have been released (by default those of
    the table itself), and `population` the generalized quasi-identifiers, as text, of everybody that the
    released records were chosen from (None if that is nobody else). `members` tells which of the population
    those are that could have been released, where that is known. `weights`, `baseline_weights` and
    `population_weights` tell how many records each row of a table stands for, if not one. `hierarchies` (with `levels`, the levels of
    the quasi-identifiers) and `people`, the population that the records are a sample of, are there for models
    that need them and None where nobody knows.

    `persons` tells whose row each row is, where somebody may have several, and `baseline_persons` the same of the
    baseline. Sizes and histograms then count people: each once in a class, as `view` says.

    >>> table = pa.table({"age": ["20-29", "20-29", "*"], "zip": ["1**", "1**", "*"]})
    >>> Published(table, ["age", "zip"]).sizes.tolist()
    [2]
    """

    def __init__(
        self,
        table: pa.Table,
        quasi_identifiers: Sequence[str],
        *,
        marker: str | None = "*",
        flag: str | None = None,
        untouched: bool = False,
        hidden: NDArray[np.bool_] | None = None,
        weights: NDArray[np.int64] | None = None,
        baseline: pa.Table | None = None,
        baseline_weights: NDArray[np.int64] | None = None,
        population: pa.Table | None = None,
        population_weights: NDArray[np.int64] | None = None,
        members: NDArray[np.bool_] | None = None,
        hierarchies: Mapping[str, Hierarchy] | None = None,
        levels: Mapping[str, int] | None = None,
        people: object | None = None,
        persons: People | None = None,
        baseline_persons: People | None = None,
    ) -> None:
        self.table = table
        self.hierarchies = hierarchies
        self.levels = levels
        self.people = people
        self.weights = weights
        self.persons = persons
        self.baseline_persons = persons if baseline is None else baseline_persons
        self.view: View = "one value"
        self.baseline = table if baseline is None else baseline
        self.baseline_weights = weights if baseline is None else baseline_weights
        self.population = population
        self.population_weights = population_weights
        self.members = members
        self.names = list(quasi_identifiers)
        self.records = _total(table, weights)
        self.marker = marker
        self.flag = flag
        for name in self.names:
            check_comparable(table[name], name)
        self._encoded: dict[str, Encoded] = dict(
            zip(self.names, encode_columns([table[name] for name in self.names]), strict=True)
        )
        self._histograms: dict[tuple[str, View], Histograms] = {}
        self._compared: dict[tuple[str, bool], Encoded] = {}
        if untouched or not self.names:
            self.suppressed = np.zeros(table.num_rows, np.bool_)
        else:
            self.suppressed = self._blank_rows()
            # To be called so hides nothing: a row that shows a value belongs to a class.
            if hidden is not None:
                self.suppressed &= hidden
            elif flag is not None:
                self.suppressed &= self.flags

    @functools.cached_property
    def flags(self) -> NDArray[np.bool_]:
        """What the flag column says of each record."""
        assert self.flag is not None
        column = self.table[self.flag]
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        what = "missing values" if pa.types.is_boolean(column.type) else f"values of type {column.type}"
        if column.null_count or not pa.types.is_boolean(column.type):
            raise InputError(
                f"column {self.flag!r} should tell of every row whether it is suppressed, true or false, but holds "
                f"{what}; if it means something else, rename it"
            )
        return np.array(column.combine_chunks(), dtype=np.bool_)

    @property
    def suppressed_records(self) -> int:
        """Number of suppressed records."""
        return int(self.suppressed.sum() if self.weights is None else self.weights[self.suppressed].sum())

    @property
    def baseline_records(self) -> int:
        """Number of records that could have been released; of people, where they are counted."""
        if self.baseline_persons is not None:
            return self.baseline_persons.number
        return _total(self.baseline, self.baseline_weights)

    @property
    def population_records(self) -> int:
        """Number of records of the population."""
        assert self.population is not None
        return _total(self.population, self.population_weights)

    # --- classes ----------------------------------------------------------------------------------

    @functools.cached_property
    def classes(self) -> NDArray[np.int32]:
        """Number of the class of each row that is not suppressed: of what it shows, or of all that its person shows."""
        kept = self._kept_rows
        mixed = np.zeros(kept.size, np.int64)
        possible = 1
        for name in self.names:
            values, codes = self.encode(name)
            if possible * len(values) >= 2**62:  # too many to tell apart in one integer: renumber
                mixed, possible = number_rows(mixed).astype(np.int64), mixed.size + 1
            mixed = mixed * len(values) + codes[kept]
            possible *= len(values)
        found = number_rows(mixed)
        if self.persons is not None and self.persons.all_rows:
            return self.persons.take(kept).signatures(found, self._kept_weights)
        return found

    @functools.cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of records in each class; of people, where they are counted."""
        if self.persons is not None:
            return freeze(self.persons.take(self._kept_rows).sizes(self.classes))
        return freeze(count_codes(self.classes, 0, self._kept_weights))

    @functools.cached_property
    def labels(self) -> pa.Table:
        """The quasi-identifiers that the records of each class share: one row a class."""
        member = np.empty(self.sizes.size, np.int64)
        member[self.classes] = self._kept_rows  # one record of each class, whichever
        columns = {}
        for name in self.names:
            values, codes = self.encode(name)
            columns[name] = values.take(pa.array(codes[member]))
        return pa.table(columns)

    def histograms(self, attribute: str) -> Histograms:
        """Class number, value and record count of each value of an attribute in each class.

        The entries of a class stand together, classes in ascending order. Only what occurs is listed.

        >>> table = pa.table({"age": ["20", "20", "30", "20"], "disease": ["flu", "cold", "flu", "flu"]})
        >>> number, value, count = Published(table, ["age"]).histograms("disease")
        >>> list(zip(number.tolist(), value.to_pylist(), count.tolist()))
        [(0, 'flu', 2), (0, 'cold', 1), (1, 'flu', 1)]
        """
        asked = (attribute, self.view)
        if asked not in self._histograms and self.persons is not None:
            self._histograms[asked] = self._by_people(attribute)
        if asked not in self._histograms:
            values, codes = self.compare(attribute)
            width = max(1, len(values))
            pairs = self.classes.astype(np.int64) * width + codes[self._kept_rows]
            weights = self._kept_weights
            if weights is None:
                pairs.sort()
            else:
                order = np.argsort(pairs, kind="stable")
                pairs, weights = pairs[order], weights[order]
            first = np.flatnonzero(np.diff(pairs, prepend=-1))
            number, code = np.divmod(pairs[first], width)
            if weights is None:
                count = np.diff(first, append=pairs.size)
            else:
                count = np.add.reduceat(weights, first) if first.size else weights
            self._histograms[asked] = freeze(number), values.take(pa.array(code)), freeze(count)
        return self._histograms[asked]

    def compare(self, attribute: str, *, baseline: bool = False) -> Encoded:
        """Different values of a sensitive column, one for all that are equal, and where each record's is; of the baseline."""
        asked = (attribute, baseline and self.baseline is not self.table)
        if asked not in self._compared:
            table = self.baseline if baseline else self.table
            self._compared[asked] = encode_comparable(table[attribute], attribute)
        return self._compared[asked]

    def visible(self, attribute: str) -> Published:
        """The same table without the records that show no value of an attribute, which may be in no class then.

        Nor are they in the baseline. Whose rows are whose, and which class a row is in, is known of all of them.

        >>> table = pa.table({"age": ["20", "20", "20", "30"], "disease": ["flu", None, "flu", None]})
        >>> Published(table, ["age"]).visible("disease").sizes.tolist()
        [2]
        """
        if never_blank(self.table[attribute]) and never_blank(self.baseline[attribute]):
            return self
        columns = [self.compare(attribute), self.compare(attribute, baseline=True)]
        here, before = (shows_no_value(values, self.marker)[codes] for values, codes in columns)
        there = None
        if self.population is not None and attribute in self.population.column_names:
            values, codes = encode_comparable(self.population[attribute], attribute)
            there = ~shows_no_value(values, self.marker)[codes]
        if not (before.any() or here[self._kept_rows].any() or (there is not None and not there.all())):
            return self
        made = copy.copy(self)
        for derived in ("classes", "sizes", "labels", "_kept_rows"):
            made.__dict__.pop(derived, None)
        made._histograms = {}
        made._compared = {
            (name, False): each for (name, of_all), each in self._compared.items() if not of_all
        }
        made.suppressed = self.suppressed | here
        made.classes = number_rows(self.classes[~here[self._kept_rows]].astype(np.int64))
        made.baseline = self.baseline.select([attribute]).filter(pa.array(~before))
        made.baseline_weights = None if self.baseline_weights is None else self.baseline_weights[~before]
        made.baseline_persons = None if self.baseline_persons is None else self.baseline_persons.take(~before)
        if self.population is not None and there is not None:
            made.population = self.population.filter(pa.array(there))
            made.population_weights = (
                None if self.population_weights is None else self.population_weights[there]
            )
            made.members = None
        return made

    # --- people -----------------------------------------------------------------------------------

    def with_view(self, view: View) -> Published:
        """The same table, whose histograms read several values of a person in another way."""
        made = copy.copy(self)
        made.view = view
        return made

    def by_one_row(self) -> Published:
        """The same table as somebody sees it who knows one row of a person only."""
        if self.persons is None or not self.persons.all_rows:
            return self
        return self.counting(People(self.persons.codes))

    def counting(self, persons: People) -> Published:
        """The same table, of which people are counted."""
        made = copy.copy(self)
        made.persons, made._histograms = persons, {}
        made.baseline_persons = persons if made.baseline is made.table else made.baseline_persons
        for derived in ("classes", "sizes", "labels"):
            made.__dict__.pop(derived, None)
        return made

    def choices(
        self, attribute: str
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], pa.Array, NDArray[np.int64]]:
        """Return what people show in classes, each once: number of the class, person, and value, by its place in an array."""
        assert self.persons is not None
        values, codes = self.compare(attribute)
        width = max(1, len(values))
        shown = self.classes.astype(np.int64) * width + codes[self._kept_rows]
        person, pairs = self.persons.take(self._kept_rows).pairs(shown)
        return pairs // width, person, values, pairs % width

    def _by_people(self, attribute: str) -> Histograms:
        """Count the people of each class who are taken to show each value, as the view says."""
        classes, person, values, codes = self.choices(attribute)
        width = max(1, len(values))
        pairs = classes * width + codes
        found, count = np.unique(pairs, return_counts=True)
        if self.view in ("sure", "fewest"):
            whose = person * (self.sizes.size + 1) + classes
            _, first, times = np.unique(whose, return_index=True, return_counts=True)
            alone, sure = np.unique(pairs[first[times == 1]], return_counts=True)
            count = np.full(found.size, int(self.view == "fewest"))
            count[np.searchsorted(found, alone)] = sure
            found, count = found[count > 0], count[count > 0]
        number, code = np.divmod(found, width)
        if self.view == "worst":
            count = worst_counts(number, count, self.sizes)
            number, code, count = number[count > 0], code[count > 0], count[count > 0]
        return freeze(number), values.take(pa.array(code)), freeze(count.astype(np.int64))

    def undecided(self, attribute: str) -> int:
        """Count the classes in which somebody shows two values of an attribute."""
        if self.persons is None:
            return 0
        number, _, count = self.with_view("most").histograms(attribute)
        return int(np.count_nonzero(count_codes(number, self.sizes.size, count) > self.sizes))

    def count_baseline(self, codes: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """Count how often each code occurs in the baseline, given those of its rows; or how many people have it."""
        if self.baseline_persons is not None:
            return count_codes(self.baseline_persons.pairs(codes)[1], size, None)
        return count_codes(codes, size, self.baseline_weights)

    @functools.cached_property
    def _kept_rows(self) -> NDArray[np.int64]:
        return np.flatnonzero(~self.suppressed)

    @property
    def _kept_weights(self) -> NDArray[np.int64] | None:
        return None if self.weights is None else self.weights[self._kept_rows]

    # --- cells ------------------------------------------------------------------------------------

    def encode(self, column: str) -> Encoded:
        """Different values of a column of the table, and for each record the position of its value there."""
        if column not in self._encoded:
            check_comparable(self.table[column], column)
            self._encoded[column] = encode_values(self.table[column])
        return self._encoded[column]

    def blank(self, column: str) -> NDArray[np.bool_]:
        """Tell for each record whether a column shows what suppressed cells show: the marker, or nothing."""
        values, codes = self.encode(column)
        found: NDArray[np.bool_] = shows_nothing(values, self.marker)[codes]
        return found

    def _blank_rows(self) -> NDArray[np.bool_]:
        """Tell for each record whether all its cells are blank."""
        found: NDArray[np.bool_] = np.logical_and.reduce([self.blank(name) for name in self.names])
        for name in self.table.column_names:
            if name in self.names or name == self.flag or self.table[name].null_count == self.table.num_rows:
                continue
            if found.any():
                column, rows = self.table[name], np.flatnonzero(found)
                if pa.types.is_string_view(column.type):  # of which Arrow takes no rows
                    column = column.cast(pa.string())
                found[rows] = shows_nothing(column.take(pa.array(rows)), self.marker)
        return found


def _total(table: pa.Table, weights: NDArray[np.int64] | None) -> int:
    return int(table.num_rows if weights is None else weights.sum())
