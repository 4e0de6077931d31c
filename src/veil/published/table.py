"""A published table as an outsider sees it: plain group-bys on its cells, nothing from the engine.

The verifier and `veil.assess` read tables this way, so that a mistake in the engine cannot hide itself.
Columns become numbers by Arrow's dictionary encoding, rows become numbers by mixing those, and classes are
the different numbers. This takes about half a second for a million rows.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.views import View
from veil.errors import InputError
from veil.hierarchies.hierarchy import Hierarchy
from veil.published.blank import never_blank, shows_no_value, shows_nothing
from veil.published.owners import classes_of_owners, count_owners, count_values, values_of_owners
from veil.tables.arrow import decode_column
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
from veil.tables.rows import Owners, Rows, Weights

Histograms = tuple[NDArray[np.int64], pa.Array, NDArray[np.int64]]
Suppressed = Literal["by cells", "none"] | NDArray[np.bool_]
"""Which rows may be suppressed: see `Published`."""


class Published:
    """Rows of a published table, grouped by their quasi-identifiers.

    A record is suppressed if each of its cells holds the marker (or nothing, where a column cannot hold the
    marker), and the flag column, if there is one, agrees. Suppressed records belong to no class; a record
    that shows anything belongs to one, even if its quasi-identifiers are blank. Classes are numbered in order
    of first appearance. Missing values are values like others; `visible` leaves them out. Sizes and
    histograms count the owners of the rows: each once in a class, with the values that `view` takes.

    Parameters
    ----------
    rows
        The table, with the weights and owners of its rows.
    quasi_identifiers
        Columns that an attacker may know.
    marker
        Text of suppressed cells.
    flag
        Column that shows which records are suppressed.
    suppressed
        "by cells", as above; "none" in a table whose blank cells are missing values; or a mask of the rows
        that may be suppressed: in the other rows, blank cells are missing values.
    baseline
        The sensitive columns of all records that could have been released; by default those of the table.
    population
        The generalized quasi-identifiers, as text, of everyone from whom the released records were chosen;
        None if they are the population.
    members
        Rows of the population that could have been released, where that is known.
    hierarchies, levels
        Hierarchies and levels of the quasi-identifiers, for models that read them; None if unknown.
    region
        The size of the population that was sampled, for models that estimate; None if unknown.

    >>> table = pa.table({"age": ["20-29", "20-29", "*"], "zip": ["1**", "1**", "*"]})
    >>> Published(Rows.of(table), ["age", "zip"]).sizes.tolist()
    [2]
    """

    def __init__(
        self,
        rows: Rows,
        quasi_identifiers: Sequence[str],
        *,
        marker: str | None = "*",
        flag: str | None = None,
        suppressed: Suppressed = "by cells",
        baseline: Rows | None = None,
        population: Rows | None = None,
        members: NDArray[np.bool_] | None = None,
        hierarchies: Mapping[str, Hierarchy] | None = None,
        levels: Mapping[str, int] | None = None,
        region: object | None = None,
    ) -> None:
        self.rows = rows
        self.names = list(quasi_identifiers)
        self.marker = marker
        self.flag = flag
        self.baseline = rows if baseline is None else baseline
        self.population = population
        self.members = members
        self.hierarchies = hierarchies
        self.levels = levels
        self.region = region
        self.view: View = "one value"
        for name in self.names:
            check_comparable(self.table[name], name)
        self._encoded: dict[str, Encoded] = dict(
            zip(self.names, encode_columns([self.table[name] for name in self.names]), strict=True)
        )
        self._histograms: dict[tuple[str, View], Histograms] = {}
        self._compared: dict[tuple[str, bool], Encoded] = {}
        if not self.names or (isinstance(suppressed, str) and suppressed == "none"):
            self.suppressed = np.zeros(self.table.num_rows, np.bool_)
            return
        self.suppressed = self._blank_rows()
        # A row that shows a value belongs to a class, even if it is marked as suppressed.
        if not isinstance(suppressed, str):
            self.suppressed &= suppressed
        elif flag is not None:
            self.suppressed &= self.flags

    @property
    def table(self) -> pa.Table:
        """The published table."""
        return self.rows.table

    @property
    def records(self) -> int:
        """Number of records, suppressed ones among them."""
        return self.rows.records

    @functools.cached_property
    def flags(self) -> NDArray[np.bool_]:
        """The flag column, as a mask of the suppressed records."""
        assert self.flag is not None
        column = decode_column(self.table[self.flag])
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
        return self.rows.weights.sum_of(self.suppressed)

    # --- classes ----------------------------------------------------------------------------------

    @functools.cached_property
    def classes(self) -> NDArray[np.int32]:
        """Class of each row that is not suppressed: by what it shows, or by the signature of its owner."""
        visible_rows = self._shown_rows
        mixed = np.zeros(visible_rows.size, np.int64)
        possible = 1
        for name in self.names:
            values, codes = self.encode(name)
            if possible * len(values) >= 2**62:  # too many for one integer: renumber
                mixed, possible = number_rows(mixed).astype(np.int64), mixed.size + 1
            mixed = mixed * len(values) + codes[visible_rows]
            possible *= len(values)
        return classes_of_owners(number_rows(mixed), *self._shown)

    @functools.cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of owners in each class."""
        return freeze(count_owners(self.classes, *self._shown))

    @functools.cached_property
    def labels(self) -> pa.Table:
        """The quasi-identifiers that the records of each class share: one row a class."""
        member = np.empty(self.sizes.size, np.int64)
        member[self.classes] = self._shown_rows  # one record of each class, whichever
        columns = {}
        for name in self.names:
            values, codes = self.encode(name)
            columns[name] = values.take(pa.array(codes[member]))
        return pa.table(columns)

    def histograms(self, attribute: str) -> Histograms:
        """Return class number, value and count of each value of an attribute in each class.

        Entries are ordered by class. Only values that occur are listed.
        >>> table = pa.table({"age": ["20", "20", "30", "20"], "disease": ["flu", "cold", "flu", "flu"]})
        >>> number, value, count = Published(Rows.of(table), ["age"]).histograms("disease")
        >>> list(zip(number.tolist(), value.to_pylist(), count.tolist()))
        [(0, 'flu', 2), (0, 'cold', 1), (1, 'flu', 1)]
        """
        key = (attribute, self.view)
        if key not in self._histograms:
            values, codes = self.compare(attribute)
            visible_codes = codes[self._shown_rows]
            number, code, count = count_values(self.classes, visible_codes, *self._shown, self.view)
            self._histograms[key] = freeze(number), values.take(pa.array(code)), freeze(count)
        return self._histograms[key]

    def compare(self, attribute: str, *, baseline: bool = False) -> Encoded:
        """Return the different values of a sensitive column, of rows or baseline, and each row's place."""
        key = (attribute, baseline and self.baseline is not self.rows)
        if key not in self._compared:
            rows = self.baseline if baseline else self.rows
            self._compared[key] = encode_comparable(rows.table[attribute], attribute)
        return self._compared[key]

    def visible(self, attribute: str) -> Published:
        """Return the table without the records that show no value of an attribute; they are in no class.

        The baseline lacks them too. Owners and classes of rows are still those of all rows.

        >>> table = pa.table({"age": ["20", "20", "20", "30"], "disease": ["flu", None, "flu", None]})
        >>> Published(Rows.of(table), ["age"]).visible("disease").sizes.tolist()
        [2]
        """
        if never_blank(self.table[attribute]) and never_blank(self.baseline.table[attribute]):
            return self
        columns = [self.compare(attribute), self.compare(attribute, baseline=True)]
        here, before = (shows_no_value(values, self.marker)[codes] for values, codes in columns)
        there = None
        if self.population is not None and attribute in self.population.table.column_names:
            values, codes = encode_comparable(self.population.table[attribute], attribute)
            there = ~shows_no_value(values, self.marker)[codes]
        if not (before.any() or here[self._shown_rows].any() or (there is not None and not there.all())):
            return self
        result = self._without("classes", "sizes", "labels", "_shown", "_shown_rows")
        result._compared = {
            (name, False): each for (name, of_all), each in self._compared.items() if not of_all
        }
        result.suppressed = self.suppressed | here
        result.classes = number_rows(self.classes[~here[self._shown_rows]].astype(np.int64))
        result.baseline = self.baseline.showing(self.baseline.table.select([attribute])).take(~before)
        if self.population is not None and there is not None:
            result.population, result.members = self.population.take(there), None
        return result

    def _without(self, *derived: str) -> Published:
        """Return a copy without its histograms and some derived values."""
        result = copy.copy(self)
        result._histograms = {}
        for name in derived:
            result.__dict__.pop(name, None)
        return result

    # --- owners -----------------------------------------------------------------------------------

    def with_view(self, view: View) -> Published:
        """Return the table with another view of owners who have several values in a class."""
        result = copy.copy(self)
        result.view = view
        return result

    def by_one_row(self) -> Published:
        """Return the table for an attacker who knows only one row of an owner."""
        if not self.rows.owners.know_all_rows:
            return self
        return self.owned(replace(self.rows.owners, knows="one row"))

    def by_records(self) -> Published:
        """Return the table with every record as a person."""
        return self if self.rows.owners.are_records else self.owned(Owners(self.table.num_rows))

    def owned(self, owners: Owners) -> Published:
        """Return the table with other owners."""
        result = self._without("classes", "sizes", "labels", "_shown")
        result.rows = self.rows.owned(owners)
        result.baseline = result.rows if self.baseline is self.rows else self.baseline
        return result

    def choices(
        self, attribute: str
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], pa.Array, NDArray[np.int64]]:
        """Return each value of an owner in a class once: class, owner, the values, and their places there."""
        values, codes = self.compare(attribute)
        classes, owners, places = values_of_owners(self.classes, codes[self._shown_rows], self._shown[1])
        return classes, owners, values, places

    def undecided(self, attribute: str) -> int:
        """Count the classes in which an owner shows two values of an attribute."""
        if self.rows.owners.are_records:
            return 0
        number, _, count = self.with_view("most").histograms(attribute)
        return int(np.count_nonzero(count_codes(number, self.sizes.size, count) > self.sizes))

    def count_baseline(self, codes: NDArray[np.int64], size: int) -> NDArray[np.int64]:
        """Count the owners of the baseline with each code, given the code of each of its rows."""
        return count_owners(codes, self.baseline.weights, self.baseline.owners, size)

    @functools.cached_property
    def _shown_rows(self) -> NDArray[np.int64]:
        return np.flatnonzero(~self.suppressed)

    @functools.cached_property
    def _shown(self) -> tuple[Weights, Owners]:
        """Weights and owners of the rows that are not suppressed."""
        return self.rows.weights.take(self._shown_rows), self.rows.owners.take(self._shown_rows)

    # --- cells ------------------------------------------------------------------------------------

    def encode(self, column: str) -> Encoded:
        """Return the different values of a column of the table, and the place of each record's value."""
        if column not in self._encoded:
            check_comparable(self.table[column], column)
            self._encoded[column] = encode_values(self.table[column])
        return self._encoded[column]

    def blank(self, column: str) -> NDArray[np.bool_]:
        """Return a mask of the records whose cell of a column is blank: the marker, or missing."""
        values, codes = self.encode(column)
        mask: NDArray[np.bool_] = shows_nothing(values, self.marker)[codes]
        return mask

    def _blank_rows(self) -> NDArray[np.bool_]:
        """Return a mask of the records whose cells are all blank."""
        blank_mask: NDArray[np.bool_] = np.logical_and.reduce([self.blank(name) for name in self.names])
        for name in self.table.column_names:
            if name in self.names or name == self.flag or self.table[name].null_count == self.table.num_rows:
                continue
            if blank_mask.any():
                column, rows = self.table[name], np.flatnonzero(blank_mask)
                if pa.types.is_string_view(column.type):  # of which Arrow takes no rows
                    column = column.cast(pa.string())
                blank_mask[rows] = shows_nothing(column.take(pa.array(rows)), self.marker)
        return blank_mask
