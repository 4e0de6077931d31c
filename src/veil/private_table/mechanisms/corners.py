"""Whole records by insensitive microaggregation: with sufficient noise, or as published.

A changed record replaces at most one record in each cluster: the sums of a column move by no more than
clusters * range_j together. Laplace noise for that costs epsilon_j; with shares in proportion to the ranges
it has the scale clusters * (range_1 + … + range_d) / (k epsilon) on the mean of a cluster, in each column.

The published version assumes that only one cluster moves, adds noise to each record, and gives each column
the whole epsilon. This is not private: 40 points in a square have a log-ratio of 76 for epsilon = 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.dp.noise import Laplace
from veil.dp.privacy_loss import PrivacyLoss
from veil.errors import ParameterError
from veil.private_table.mechanisms.clusters import cluster_sums, clusters
from veil.private_table.mechanisms.columns import CategoricalColumn, Column, Numbers
from veil.private_table.mechanisms.published import published_numbers
from veil.private_table.mechanisms.table_mechanism import (
    AsPublished,
    BlockMechanism,
    DrawnTable,
    Neighbourhood,
    Shares,
    Size,
    TableMechanism,
    block_sizes,
    shares_of,
)

_MOST_COLUMNS = 12


@declared(kind_of=TableMechanism)
class Corners(BlockMechanism):
    """Records in clusters of k, cut off from the corners of the domain; each becomes k times its noisy mean.

    Parameters
    ----------
    k
        Number of records in a cluster, up to 2k - 1 in the last one; useful from about the square root of the
        number of records on. Or "auto": from the number of records, epsilon and bounds, never from the data.
    shares
        Part of epsilon for each column, in proportion; by default to the ranges, for equal noise in all.
    as_published
        Noise of scale range / (k epsilon) for each record and column, as in the thesis: NOT private.
    """

    k: Size = "auto"
    shares: Shares = None
    as_published: AsPublished = False
    kind: Literal["Corners"] = Field(default="Corners", repr=False, kw_only=True)

    title: ClassVar[str] = "corners"

    def check(self, columns: Sequence[Column], loss: PrivacyLoss, hidden: Neighbourhood) -> None:
        super().check(columns, loss, hidden)
        if len(columns) > _MOST_COLUMNS:
            raise ParameterError(f"Corners takes up to {_MOST_COLUMNS} columns, not {len(columns)}")
        numbers = _numbers(columns)
        block_sizes(len(numbers[0].steps), self.size(numbers, loss))
        self._shares(numbers)

    def size(self, columns: Sequence[Numbers], loss: PrivacyLoss) -> int:
        """Return the size of a cluster."""
        if self.k != "auto":
            return self.k
        # For a uniform distribution: the noise on a mean, and the variance within one of n / k equal boxes.
        records, ranges = (
            len(columns[0].steps),
            [float(each.bounds.high - each.bounds.low) for each in columns],
        )
        budget, squares = float(loss.epsilon), math.fsum(each**2 for each in ranges)

        def error(k: int) -> float:
            scale = (records // k) * sum(ranges) / (k * budget)
            return 2 * len(ranges) * scale**2 + squares / 12 * math.pow(k / records, 2 / len(ranges))

        return min({round(math.pow(records, part / 200)) for part in range(201)}, key=error)

    def make(
        self, columns: Sequence[Column], loss: PrivacyLoss, hidden: Neighbourhood, randomness: Randomness
    ) -> DrawnTable:
        numbers = _numbers(columns)
        k, records = self.size(numbers, loss), len(numbers[0].steps)
        rows = clusters(numbers, k)
        if self.as_published:
            epsilon = float(loss.epsilon)
            values = np.column_stack(
                [published_numbers(each, rows, k, epsilon, randomness) for each in numbers]
            )
            proof = (
                "NOT DIFFERENTIALLY PRIVATE. Noise is as published, for one cluster that changes by one record, for each record and "
                "for each column. One record can change all clusters, noise averages out over the records of a cluster, and columns "
                "add up: for 40 records and epsilon = 1, a log-ratio of 76 is known."
            )
            notes: tuple[str, ...] = ()
        else:
            values = self._noisy(numbers, rows, loss, randomness)
            proof = (
                f"Records were put in {len(rows)} clusters of {k} (the last one of {len(rows[-1])}) by orders that do not depend on "
                "them, so that changing one record replaces at most one in each cluster. Noise on the sums of all clusters is for "
                "all of them changing by the whole range, with shares of epsilon for columns that add up to epsilon. The number of "
                "records is public."
            )
            short = k < math.isqrt(records)
            notes = (_TOO_SMALL.format(k=k, root=math.isqrt(records)),) if short else ()
        order = randomness.permutation(records)
        table = {column.name: pa.array(values[order, place]) for place, column in enumerate(numbers)}
        return DrawnTable(pa.table(table), proof, notes)

    def _noisy(
        self,
        columns: Sequence[Numbers],
        rows: Sequence[NDArray[np.int64]],
        loss: PrivacyLoss,
        randomness: Randomness,
    ) -> NDArray[np.float64]:
        shares, sums = self._shares(columns), cluster_sums(columns, rows)
        values = np.empty((len(columns[0].steps), len(columns)))
        for place, column in enumerate(columns):
            noise = Laplace(len(rows) * column.reach, loss.epsilon * shares[column.name], whole=True)
            for number, each in enumerate(rows):
                total = int(sums[number, place]) + noise.draw(randomness)
                values[each, place] = float(Fraction(total, len(each)))
            values[:, place] = column.values(values[:, place])
        return values

    def _shares(self, columns: Sequence[Numbers]) -> dict[str, Fraction]:
        ranges = {each.name: each.bounds.high - each.bounds.low for each in columns}
        return shares_of(list(ranges), ranges if self.shares is None else dict(self.shares))


_TOO_SMALL: str = (
    "k = {k} is less than about {root}, the square root of the number of records: there are more clusters than records in "
    "one, and noise for all of them is more than that for single records would be. Choose a larger k, or IndividualRanking."
)


def _numbers(columns: Sequence[Column]) -> list[Numbers]:
    for column in columns:
        if isinstance(column, CategoricalColumn):
            raise ParameterError(
                f"column {column.name!r} has a domain, but Corners only takes numbers: use "
                "IndividualRanking or MarginalTree"
            )
    return [column for column in columns if isinstance(column, Numbers)]
