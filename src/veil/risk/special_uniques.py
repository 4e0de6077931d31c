"""SUDA2: records that few of their values single out are likelier to be unique in the population as well.

A *minimal sample unique* of a record is a minimal set of columns in which the record is unique. Records with
small ones, or many, are special uniques: an attacker needs to know little about them.

A set of k of the M columns counts (M - k)!, which is the number of orders in which the other columns can be
added; the *SUDA score* of a record is the sum over its minimal sample uniques (Elliot, Manning and Ford,
2002). ``scoring="ihsn"`` counts (2^(M-k) - 1) k! (M - k)! / M! instead, as the first implementation in
sdcMicro did.

*DIS-SUDA* scales scores to probabilities. DIS (Skinner and Elliot, 2002) estimates the probability that a
match with a unique record is correct, from the numbers u of unique records and p of records in pairs, and the
sampling fraction f:

    DIS = u f / (u f + p (1 - f))

and a record with the score s gets 1 / (1 + (u / DIS - u) / (s^q a)) with q = 1 + (8 - M) / 20 and a, the sum
of s^-q over all records with a score, as sdcMicro computes it. Records without a minimal sample unique get 0.

A missing or suppressed cell is in no minimal sample unique, and equals no value.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from veil.errors import ParameterError
from veil.plan.plan import ASK
from veil.risk.column_sets import check_size
from veil.risk.grouping import Grouped, group_records, published_of
from veil.risk.projections import Projection, projections

Scoring = Literal["elliot", "ihsn"]

MOST_BITS = 2**33
"""Maximum number of bits for the unique records of all subsets: a gigabyte."""


@dataclass(frozen=True, eq=False)
class Suda:
    """Minimal sample uniques and the scores that follow from them.

    Attributes
    ----------
    names
        The quasi-identifiers.
    minimal
        The rows of the table that have each set of columns as a minimal sample unique; small sets first.
    scores, dis_scores
        SUDA and DIS-SUDA score of each row.
    contributions
        One row a record, one column a quasi-identifier: share of the score due to minimal sample uniques with
        this column. A set counts for each of its columns, so the shares of a record add up to 1 or more.
    attribute_contributions
        For each quasi-identifier the share of the sum of all scores.
    dis
        Estimated probability that a match with a unique record is correct; 0 if no record is unique.
    largest
        Size up to which minimal sample uniques were searched for.
    records
        Number of records. In a table of an engine, a row is a combination of cells of one or more records.
    """

    names: tuple[str, ...]
    minimal: dict[tuple[str, ...], NDArray[np.int64]]
    scores: NDArray[np.float64]
    dis_scores: NDArray[np.float64]
    attribute_contributions: dict[str, float]
    dis: float
    largest: int
    records: int
    _parts: tuple[NDArray[np.int64], NDArray[np.float64]]

    @functools.cached_property
    def contributions(self) -> NDArray[np.float64]:
        """Share of each record's score that is due to each quasi-identifier."""
        rows, parts = self._parts
        shares = np.zeros((self.scores.size, len(self.names)))
        shares[rows] = parts / self.scores[rows, None]
        return shares

    @property
    def sizes(self) -> dict[int, int]:
        """Number of minimal sample uniques of each size that occurs."""
        counts: dict[int, int] = {}
        for columns, rows in self.minimal.items():
            counts[len(columns)] = counts.get(len(columns), 0) + rows.size
        return counts

    def to_dict(self) -> dict[str, Any]:
        """Return a summary in plain numbers.

        The records are counted by DIS-SUDA score in the bins of sdcMicro: 0, up to 0.1, up to 0.2, ... above
        0.7.
        """
        ends = np.arange(8) / 10
        counts = np.bincount(np.searchsorted(ends, self.dis_scores), minlength=9)
        counts[0] = self.records - counts[1:].sum()
        return {
            "largest": self.largest,
            "dis": self.dis,
            "records": int(np.count_nonzero(self.scores)),
            "highest_score": float(self.scores.max(initial=0.0)),
            "highest_dis_score": float(self.dis_scores.max(initial=0.0)),
            "sizes": {str(size): count for size, count in self.sizes.items()},
            "attribute_contributions": self.attribute_contributions,
            "dis_scores": [
                {"upper": upper, "records": count}
                for upper, count in zip([*ends.tolist(), 1.0], counts.tolist(), strict=True)
            ],
        }

    def minimal_uniques(self, row: int) -> list[tuple[str, ...]]:
        """Return the minimal sample uniques of a row, small ones first."""
        return [columns for columns, rows in self.minimal.items() if (rows == row).any()]


def suda(
    source: Any,
    quasi_identifiers: str | Iterable[str] | None = None,
    *,
    largest: int | None = None,
    sampling_fraction: float = 0.01,
    scoring: Scoring = "elliot",
    marker: str | None = "*",
    untouched: bool = False,
    person: str | None = ASK,
) -> Suda:
    """Find the minimal sample uniques of a table and score its records by them.

    Parameters
    ----------
    source, quasi_identifiers, marker, untouched, person
        As for `analyze`.
    largest
        Size up to which minimal sample uniques are searched for; by default there is no limit. Scores are
        lower with a limit, as larger ones do not count.
    sampling_fraction
        Share of the population that is in the table, for DIS-SUDA.
    scoring
        The score of a minimal sample unique.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 20, 20, 60], "sex": ["f", "f", "m", "m"], "job": ["a", "a", "b", "b"]})
    >>> scored = suda(table, ["age", "sex", "job"])
    >>> scored.scores.tolist(), scored.minimal_uniques(2)
    ([0.0, 0.0, 2.0, 2.0], [('age', 'sex'), ('age', 'job')])
    """
    published = published_of(source, quasi_identifiers, marker=marker, untouched=untouched, person=person)
    grouped = group_records(published, untouched=untouched)
    search = UniqueSearch(grouped, check_size(largest, len(grouped.names), most_subsets(grouped)))
    for each in projections(grouped, search.largest):
        search.add(each)
    return search.score(sampling_fraction, scoring)


def most_subsets(grouped: Grouped) -> int:
    """Return the number of subsets whose unique records fit into memory."""
    return MOST_BITS // max(8192, int(np.count_nonzero(grouped.sizes == 1)))


class UniqueSearch:
    """A search for minimal sample uniques that first collects the unique records of each subset.

    A record that is unique in a subset is so in every larger one. So a subset is a minimal sample unique if
    the record is unique in it and in none of those with one column less. Memory is one bit for each subset
    and each record that is unique in all columns.
    """

    def __init__(self, grouped: Grouped, largest: int) -> None:
        self.grouped = grouped
        self.largest = largest
        self.classes = np.flatnonzero(grouped.sizes == 1)
        self.place = np.full(grouped.sizes.size, -1, np.int64)
        self.place[self.classes] = np.arange(self.classes.size)
        self.rows = np.empty(self.classes.size, np.int64)
        alone = np.flatnonzero(grouped.of_record >= 0)
        alone = alone[self.place[grouped.of_record[alone]] >= 0]
        self.rows[self.place[grouped.of_record[alone]]] = alone
        gaps = grouped.missing[self.classes]
        self.gaps: NDArray[np.bool_] | None = gaps if gaps.any() else None
        self.alone: dict[frozenset[int], NDArray[np.uint8]] = {}

    def add(self, projection: Projection) -> None:
        """Add the unique records of a subset."""
        if len(projection.columns) > self.largest:
            return
        alone_mask = np.zeros(self.classes.size, np.bool_)
        alone_mask[self.place[projection.members[projection.sizes == 1]]] = True
        if self.gaps is not None:
            alone_mask &= ~self.gaps[:, projection.columns].any(axis=1)
        self.alone[frozenset(projection.columns)] = np.packbits(alone_mask)

    def score(self, sampling_fraction: float = 0.01, scoring: Scoring = "elliot") -> Suda:
        """Score the records, after all subsets were added."""
        if not 0 < sampling_fraction <= 1:
            raise ParameterError(
                f"`sampling_fraction` should be above 0 and at most 1, not {sampling_fraction:g}"
            )
        grouped, columns = self.grouped, len(self.grouped.names)
        scores, parts = np.zeros(self.classes.size), np.zeros((self.classes.size, columns))
        minimal = {}
        for subset, alone in self._minimal():
            weight = _weight(columns, len(subset), scoring)
            scores[alone] += weight
            for column in subset:
                parts[alone, column] += weight
            minimal[tuple(grouped.names[j] for j in subset)] = self.rows[alone]
        dis, chances = _dis(grouped.sizes, scores, columns, sampling_fraction)
        special, total = scores > 0, scores.sum()
        return Suda(
            grouped.names,
            minimal,
            self._spread(scores),
            self._spread(chances),
            dict(zip(grouped.names, (parts.sum(axis=0) / (total or 1.0)).tolist(), strict=True)),
            dis,
            self.largest,
            grouped.all_records,
            (self.rows[special], parts[special]),
        )

    def _minimal(self) -> Iterator[tuple[tuple[int, ...], NDArray[np.int64]]]:
        """Yield each subset with the places of the records whose minimal sample unique it is."""
        for subset in sorted(self.alone, key=lambda each: (len(each), sorted(each))):
            left = self.alone[subset]
            for column in subset if len(subset) > 1 else ():
                left = left & ~self.alone[subset - {column}]
            places = np.flatnonzero(np.unpackbits(left, count=self.classes.size))
            if places.size:
                yield tuple(sorted(subset)), places

    def _spread(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        spread = np.zeros(self.grouped.of_record.size)
        spread[self.rows] = values
        return spread


def _weight(columns: int, size: int, scoring: Scoring) -> float:
    if scoring == "elliot":
        return float(math.factorial(columns - size))
    if scoring == "ihsn":
        return float((2 ** (columns - size) - 1) / math.comb(columns, size))
    raise ParameterError(f"`scoring` should be 'elliot' or 'ihsn', not {scoring!r}")


def _dis(
    sizes: NDArray[np.int64], scores: NDArray[np.float64], columns: int, fraction: float
) -> tuple[float, NDArray[np.float64]]:
    """Return DIS, and the DIS-SUDA score for each score."""
    alone, paired = int(np.count_nonzero(sizes == 1)), 2 * int(np.count_nonzero(sizes == 2))
    if not alone:
        return 0.0, np.zeros(scores.size)
    dis = alone * fraction / (alone * fraction + paired * (1 - fraction))
    power = 1 + (8 - columns) / 20
    special = scores > 0
    chances = np.zeros(scores.size)
    raised = scores[special] ** power
    chances[special] = 1 / (1 + (alone / dis - alone) / (raised * (1 / raised).sum()))
    return dis, chances
