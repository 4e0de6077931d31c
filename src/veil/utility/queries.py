"""Count query error: the relative error of counts estimated from a release.

A query counts the records in a window of consecutive values of some quasi-identifiers, such as "age from 30
to 39 and wards C to E". On the release, a record counts with the probability that it lies in the window if
all original values below its label are equally likely, independently on each quasi-identifier (LeFevre,
DeWitt and Ramakrishnan 2006; Xiao and Tao 2006). Counts in a sample are divided by the sampling fraction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.errors import ParameterError
from veil.tables.columns import as_numbers, is_number
from veil.utility.column import Column, as_number, number_keys
from veil.utility.comparison import Comparison
from veil.utility.distributions import domain_ranks

_TRIES = 50
"""Queries drawn for each requested one, before fewer are accepted."""

BOUNDS = (0.01, 0.05, 0.1, 0.25, 0.5, 1.0)
"""Relative errors that limit the bins of the histogram."""

_HOPELESS = 5
"""The same, if not one of them fits."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class QueryError:
    """Relative errors of random count queries.

    Attributes
    ----------
    queries
        Number of queries: fewer than requested if hardly any has a selectivity in the range.
    predicates, selectivity, sanity_bound, seed
        As requested.
    mean, median, largest
        Of |answer - count| / max(count, sanity bound * records); None if there was no query.
    histogram
        Upper bounds in ascending order, each with the number of queries with an error up to it and above the
        one before. The last bound is None: all others.
    """

    queries: int
    predicates: int
    selectivity: tuple[float, float]
    sanity_bound: float
    seed: int
    mean: float | None
    median: float | None
    largest: float | None
    histogram: tuple[tuple[float | None, int], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers."""
        return {**asdict(self), "histogram": [list(each) for each in self.histogram]}

    def __str__(self) -> str:
        what = (
            f"{self.queries:,} counts with {self.predicates} condition{'' if self.predicates == 1 else 's'}, from "
            f"{self.selectivity[0]:.1%} to {self.selectivity[1]:.1%} of the records"
        )
        if self.mean is None:
            return f"{what}: no such query found"
        return f"{what}: off by {self.median:.2%} (median), {self.mean:.2%} on average"


@dataclass(frozen=True)
class CountQuery:
    """Windows of ranks of original values by column: the first and the last rank."""

    windows: tuple[tuple[str, int, int], ...]


def query_error(
    comparison: Comparison,
    *,
    queries: int = 1000,
    predicates: int = 2,
    selectivity: tuple[float, float] = (0.01, 0.1),
    sanity_bound: float = 0.001,
    seed: int = 0,
) -> QueryError:
    """Compare the answers of both tables to random count queries.

    Parameters
    ----------
    queries
        Number of queries.
    predicates
        Number of quasi-identifiers that each query restricts to a range; all of them if there are fewer.
    selectivity
        Smallest and largest share of the original records that a query may count.
    sanity_bound
        Share of the records that is the least divisor of an error, so that tiny counts do not dominate.
    seed
        Seed of the queries; the same seed gives the same queries for every release of a table.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": list(range(20, 60)), "ward": list("ABCD") * 10})
    >>> query_error(Comparison(table, table, ["age", "ward"]), queries=50).mean
    0.0
    """
    least, most = selectivity
    if not 0 <= least <= most <= 1:
        raise ParameterError(f"`selectivity` should be two shares from 0 to 1, not {selectivity}")
    if not 0 < sanity_bound <= 1:
        raise ParameterError(f"`sanity_bound` should be above 0 and at most 1, not {sanity_bound}")
    for name, number in (("queries", queries), ("predicates", predicates)):
        if number < 1:
            raise ParameterError(f"`{name}` should be 1 or more, not {number}")
    predicates = min(predicates, len(comparison.columns))
    query_comparison = QueryComparison(comparison)
    sample, counts = query_comparison.draw(queries, predicates, selectivity, np.random.default_rng(seed))
    answers = query_comparison.answers(sample)
    errors = np.abs(answers - counts) / np.maximum(counts, sanity_bound * comparison.records)
    mean, median, largest = (
        float(each(errors)) if errors.size else None for each in (np.mean, np.median, np.max)
    )
    places = np.bincount(np.searchsorted(BOUNDS, errors), minlength=len(BOUNDS) + 1)
    histogram = tuple(zip((*BOUNDS, None), places.tolist(), strict=True))
    return QueryError(
        len(sample), predicates, (least, most), sanity_bound, seed, mean, median, largest, histogram
    )


class QueryComparison:
    """Count queries on a comparison. Records are collapsed once for each set of columns."""

    def __init__(self, comparison: Comparison) -> None:
        self.comparison = comparison
        self.names = list(comparison.columns)
        self.ranks = {
            name: domain_ranks(column.hierarchy, comparison.original[name])
            for name, column in comparison.columns.items()
        }
        self.combinations: dict[tuple[tuple[str, ...], bool], tuple[list[Integers], Floats]] = {}
        self.readers = {name: _LabelReader(column) for name, column in comparison.columns.items()}
        self.masses: dict[str, Integers] = {}
        for name, column in comparison.columns.items():
            times = np.bincount(column.base, weights=column.count, minlength=column.hierarchy.size)
            mass = np.zeros(column.hierarchy.size, np.int64)
            mass[self.ranks[name]] = times
            self.masses[name] = np.concatenate([[0], np.cumsum(mass)])

    def draw(
        self, size: int, predicates: int, selectivity: tuple[float, float], chance: np.random.Generator
    ) -> tuple[list[CountQuery], Floats]:
        """Draw queries whose count on the original lies in the range; return them with their counts."""
        records = self.comparison.records
        sample: list[CountQuery] = []
        counts: list[float] = []
        for tried in range(_TRIES):
            if tried == _HOPELESS and not sample:
                break
            candidates = [self._query(predicates, selectivity, chance) for _ in range(size)]
            sizes = self.counts(candidates)
            fits = (sizes >= selectivity[0] * records) & (sizes <= selectivity[1] * records)
            sample += [query for query, fit in zip(candidates, fits.tolist(), strict=True) if fit]
            counts += sizes[fits].tolist()
            if len(sample) >= size:
                break
        return sample[:size], np.array(counts[:size], np.float64)

    def _query(
        self, predicates: int, selectivity: tuple[float, float], chance: np.random.Generator
    ) -> CountQuery:
        """Draw windows around the values of a record, as wide as needed for independent columns."""
        records = self.comparison.records
        names = [self.names[j] for j in chance.permutation(len(self.names))[:predicates]]
        share = chance.uniform(*selectivity) ** (1 / predicates)
        row = int(chance.integers(records))
        windows = []
        for name in names:
            column, mass = self.comparison.columns[name], self.masses[name]
            own = int(self.ranks[name][column.base[column.pair[row]]])
            # A window of ordered records, placed at random around those with the same value.
            length = max(1, round(share * records))
            begin = int(chance.integers(max(0, mass[own] - length + 1), mass[own + 1]))
            begin = min(begin, records - min(length, records))
            first = int(np.searchsorted(mass, begin, side="right")) - 1
            last = int(np.searchsorted(mass, begin + length, side="left")) - 1
            windows.append((name, min(first, own), max(last, own)))
        return CountQuery(tuple(sorted(windows)))

    def counts(self, queries: Sequence[CountQuery]) -> Floats:
        """Count on the original table."""
        return self._sum_counts(queries, from_release=False)

    def answers(self, queries: Sequence[CountQuery]) -> Floats:
        """Estimate the counts from the released table."""
        return self._sum_counts(queries, from_release=True)

    def count_inside(self, inside: Mapping[str, NDArray[np.bool_]], *, from_release: bool) -> float:
        """Count the records with values in masks of the domains, in one of the tables."""
        codes, count = self._collapse_columns(tuple(inside), from_release)
        chances = count
        for (name, values), code in zip(inside.items(), codes, strict=True):
            chances = chances * (self.readers[name].chances(values) if from_release else values)[code]
        return float(chances.sum())

    def _sum_counts(self, queries: Sequence[CountQuery], *, from_release: bool) -> Floats:
        sums = np.zeros(len(queries))
        by_columns: dict[tuple[str, ...], list[int]] = {}
        for at, query in enumerate(queries):
            by_columns.setdefault(tuple(name for name, _, _ in query.windows), []).append(at)
        for names, places in by_columns.items():
            codes, count = self._collapse_columns(names, from_release)
            for at in places:
                chances = count
                for (name, first, last), code in zip(queries[at].windows, codes, strict=True):
                    inside = (self.ranks[name] >= first) & (self.ranks[name] <= last)
                    chances = chances * (self.readers[name].chances(inside) if from_release else inside)[code]
                sums[at] = chances.sum()
        return sums

    def _collapse_columns(self, names: tuple[str, ...], from_release: bool) -> tuple[list[Integers], Floats]:
        """Return the distinct combinations of values in some columns, column by column, and their counts."""
        if (names, from_release) not in self.combinations:
            self.combinations[names, from_release] = self._combine(names, from_release)
        return self.combinations[names, from_release]

    def _combine(self, names: tuple[str, ...], from_release: bool) -> tuple[list[Integers], Floats]:
        columns = [self.comparison.columns[name] for name in names]
        sizes = [len(column.texts) if from_release else column.hierarchy.size for column in columns]
        keys, possible = np.zeros(self.comparison.records, np.int64), 1
        firsts = [column.text if from_release else column.base for column in columns]
        for column, codes, size in zip(columns, firsts, sizes, strict=True):
            keys = keys * size + codes[column.pair]
            possible *= size
            if possible > 2**31:  # renumber: at most as many keys as records
                _, keys, _ = number_keys(keys, possible)
                possible = int(keys.max()) + 1
        _, place, count = number_keys(keys, possible)
        member = np.empty(count.size, np.int64)
        member[place] = np.arange(place.size)
        column_codes = [codes[column.pair[member]] for column, codes in zip(columns, firsts, strict=True)]
        fraction = self.comparison.sampling_fraction
        if from_release and fraction < 1:
            return column_codes, np.bincount(place, self.comparison.place >= 0, count.size) / fraction
        return column_codes, count.astype(np.float64)


class _LabelReader:
    """Probabilities that the released texts of a column lie in a window of values."""

    def __init__(self, column: Column) -> None:
        self.texts, self.leaves = column.leaves
        self.size = len(column.texts)
        self.covered = np.bincount(self.texts, minlength=self.size).astype(np.float64)
        self.strange, self.numbers, self.domain = np.empty(0, np.int64), np.empty(0), np.empty(0)
        value_type, released_values = column.cells.values.type, column.cells.released
        if is_number(value_type) and is_number(released_values.type):
            # Numbers outside the domain, such as means, lie inside a window or not.
            numbers = as_numbers(released_values)
            self.strange = np.setdiff1d(np.flatnonzero(np.isfinite(numbers)), self.texts)
            self.numbers = numbers[self.strange]
            self.domain = np.array([as_number(text) for text in column.hierarchy.labels[0]])

    def chances(self, inside: NDArray[np.bool_]) -> Floats:
        """Return for each text the probability that its value is inside."""
        hit = np.bincount(self.texts, weights=inside[self.leaves], minlength=self.size)
        probabilities = np.where(self.covered > 0, hit / np.maximum(self.covered, 1), inside.mean())
        if self.strange.size:
            window = self.domain[inside]
            window = window[~np.isnan(window)]
            least, most = window.min(initial=np.inf), window.max(initial=-np.inf)
            probabilities[self.strange] = (self.numbers >= least) & (self.numbers <= most)
        return probabilities
