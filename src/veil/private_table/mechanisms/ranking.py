"""Individual ranking: each column is sorted and cut into blocks, and each block becomes one noisy value.

Let s_1 <= … <= s_n be a sorted column. If one record changes from x to y > x, no s_i gets smaller, and all of
them together grow by exactly y - x: so the sums of all blocks together change by at most the range of the
column, for any number of blocks. Laplace noise of scale range / epsilon on each sum keeps epsilon for all of
them; divided by the size of the block, it is noise of scale range / (k epsilon) on its mean. Sums are whole
numbers of steps, and so is the noise: nothing is rounded.

The same is true of a walk v_1, …, v_m through the leaves of a hierarchy: a change moves at most one record
across each edge of the walk. The marginality of any concept changes, over all blocks together, by at most
L = sum of max_c |δ(v_i, c) - δ(v_(i+1), c)|, and weights e^(-epsilon m / 2L) keep epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.dp.mechanisms import ExponentialChoice
from veil.dp.noise import Laplace
from veil.dp.privacy_loss import PrivacyLoss
from veil.dp.symbolic import Symbolic
from veil.errors import ParameterError
from veil.private_table.mechanisms.columns import CategoricalColumn, Column, Numbers
from veil.private_table.mechanisms.published import published_concepts, published_numbers
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
from veil.private_table.mechanisms.taxonomy import ConceptTaxonomy


@declared(kind_of=TableMechanism)
class IndividualRanking(BlockMechanism):
    """Each column sorted and cut into blocks of k, each block replaced by one noisy mean or drawn concept.

    Parameters
    ----------
    k
        Number of records in a block, up to 2k - 1 in the last one; or "auto": from the number of records,
        epsilon, bounds and `spread`, never from the data.
    shares
        Part of epsilon for each column, in proportion; equal parts by default.
    as_published
        Noise for each record and column of scale range / (k epsilon); for categories, a draw for each record
        as if its block were the only one, by algorithm 6.3 of the thesis. That is NOT differentially private.
    spread
        For k = "auto": a public guess of the standard deviation of columns of numbers; by default that of a
        uniform distribution between the bounds.
    """

    k: Size = "auto"
    shares: Shares = None
    spread: Annotated[
        dict[str, float] | None,
        Field(description="for k = auto: a public guess of the standard deviation of columns of numbers"),
    ] = None
    as_published: AsPublished = False
    kind: Literal["IndividualRanking"] = Field(default="IndividualRanking", repr=False, kw_only=True)

    title: ClassVar[str] = "individual ranking"

    def check(self, columns: Sequence[Column], loss: PrivacyLoss, hidden: Neighbourhood) -> None:
        super().check(columns, loss, hidden)
        block_sizes(_records(columns), self.block(columns, loss))
        self._shares(columns)
        for column in columns:
            if isinstance(column, CategoricalColumn) and column.hierarchy is None:
                raise ParameterError(
                    f"column {column.name!r} has a list of values, but blocks are cut along a hierarchy: "
                    "give a hierarchy as its domain, or ask for a histogram (veil.questions.Session), or use MarginalTree()"
                )

    def block(self, columns: Sequence[Column], loss: PrivacyLoss) -> int:
        """Return the size of a block."""
        records = _records(columns)
        if self.k != "auto":
            return self.k
        shares, ratios = self._shares(columns), []
        for column in columns:
            if isinstance(column, Numbers):
                reach = float(column.bounds.high - column.bounds.low)
                spread = float((self.spread or {}).get(column.name, reach / math.sqrt(12)))
                if not 0 < spread < math.inf:
                    raise ParameterError(
                        f"the spread of {column.name!r} should be a number above 0, not {spread!r}"
                    )
                ratios.append(reach / (spread * float(shares[column.name]) * float(loss.epsilon)))
        # Noise costs 2 (range / k epsilon)^2 for each record, and a block of uniform numbers has the variance
        # (spread k / n)^2: the sum is least where both are equal.
        ratio = max(ratios, default=2 / float(loss.epsilon))
        return max(1, min(records, round(math.sqrt(records * math.sqrt(2) * ratio))))

    def make(
        self, columns: Sequence[Column], loss: PrivacyLoss, hidden: Neighbourhood, randomness: Randomness
    ) -> DrawnTable:
        k, shares = self.block(columns, loss), self._shares(columns)
        sizes = block_sizes(_records(columns), k)
        if self.as_published:
            return _make_as_published(columns, sizes, k, float(loss.epsilon), randomness)
        arrays: dict[str, pa.Array] = {}
        notes = [
            "Rows are not records: each column is in a random order of its own, and says nothing about another."
        ]
        for column in columns:
            share = loss.epsilon * shares[column.name]
            order = randomness.permutation(int(sizes.sum()))
            if isinstance(column, Numbers):
                arrays[column.name] = pa.array(
                    np.repeat(noisy_means(column, sizes, share, randomness), sizes)[order]
                )
                continue
            taxonomy = taxonomy_of(column)
            concepts = draw_concepts(column, taxonomy, sizes, share, randomness)
            arrays[column.name] = pa.array(taxonomy.labels, pa.string()).take(
                pa.array(np.repeat(concepts, sizes)[order])
            )
            if len(taxonomy.walk) < len(sizes):  # counts have less noise than that many draws
                notes.append(
                    f"{column.name!r} has {len(taxonomy.walk)} values, fewer than blocks: a histogram (veil.questions.Session) tells "
                    "their frequencies much better for the same privacy loss."
                )
        proof = (
            f"Each column was sorted and cut into {len(sizes)} blocks of {k} (the last one of {sizes[-1]}). Changing one record "
            "moves the sums of all blocks of a column together by no more than the range of the column (of categories: their "
            "marginalities by no more than the length of a fixed walk through the hierarchy). One draw for each block, for that "
            "change, hides it with the share of epsilon that the column has; shares add up to epsilon. The number of records is "
            "public."
        )
        return DrawnTable(pa.table(arrays), proof, tuple(notes))

    def _shares(self, columns: Sequence[Column]) -> dict[str, Fraction]:
        return shares_of(
            [column.name for column in columns], None if self.shares is None else dict(self.shares)
        )


def _make_as_published(
    columns: Sequence[Column], sizes: NDArray[np.int64], k: int, epsilon: float, randomness: Randomness
) -> DrawnTable:
    order = randomness.permutation(int(sizes.sum()))
    arrays: dict[str, pa.Array] = {}
    for column in columns:
        if isinstance(column, Numbers):
            blocks = blocks_of(column.steps, sizes)
            values = published_numbers(column, blocks, k, epsilon, randomness)
            arrays[column.name] = pa.array(values[order])
            continue
        taxonomy = taxonomy_of(column)
        blocks = blocks_of(np.argsort(taxonomy.walk)[column.codes], sizes)
        concepts = published_concepts(column, taxonomy, blocks, epsilon, randomness)
        arrays[column.name] = pa.array(taxonomy.labels, pa.string()).take(pa.array(concepts[order]))
    proof = (
        "NOT DIFFERENTIALLY PRIVATE. Noise is as published: for each record, and for each column with the whole epsilon, as if "
        "one record could change one block alone. It can change all of them, noise averages out over the records of a block, and "
        "columns add up: a record's mean can move by .98 of the range where .2 is claimed."
    )
    return DrawnTable(pa.table(arrays), proof)


def blocks_of(ranks: NDArray[np.int64], sizes: NDArray[np.int64]) -> list[NDArray[np.int64]]:
    """Return the rows of each block of a column, sorted by rank.

    >>> [rows.tolist() for rows in blocks_of(np.array([5, 1, 4, 2]), np.array([2, 2]))]
    [[1, 3], [2, 0]]
    """
    return np.split(np.argsort(ranks, kind="stable"), np.cumsum(sizes)[:-1])


def noisy_means(
    column: Numbers, sizes: NDArray[np.int64], epsilon: Symbolic, randomness: Randomness
) -> NDArray[np.float64]:
    """Return the noisy mean of each block, clipped to the bounds."""
    noise = Laplace(column.reach, epsilon, whole=True)
    sums = [total + noise.draw(randomness) for total in block_sums(column.steps, sizes).tolist()]
    return column.values(
        np.array([float(Fraction(total, size)) for total, size in zip(sums, sizes.tolist(), strict=True)])
    )


def block_sums(steps: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of each block of a sorted column.

    >>> block_sums(np.array([5, 1, 4, 2]), np.array([2, 2]))
    array([3, 9])
    """
    return np.asarray(np.add.reduceat(np.sort(steps), np.cumsum(sizes) - sizes), np.int64)


def block_marginalities(
    codes: NDArray[np.int64], taxonomy: ConceptTaxonomy, sizes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the distance of each block from each concept, in steps."""
    rank = np.argsort(taxonomy.walk)[codes]
    block = np.repeat(np.arange(len(sizes)), sizes)
    counts = np.zeros((len(sizes), len(taxonomy.walk)), np.int64)
    np.add.at(counts, (block, np.sort(rank)), 1)
    return np.asarray(counts @ taxonomy.steps, np.int64)


def draw_concepts(
    column: CategoricalColumn,
    taxonomy: ConceptTaxonomy,
    sizes: NDArray[np.int64],
    epsilon: Symbolic,
    randomness: Randomness,
) -> NDArray[np.int64]:
    """Draw a concept for each block."""
    concepts = []
    for away in block_marginalities(column.codes, taxonomy, sizes).tolist():
        choice: ExponentialChoice[int] = ExponentialChoice(epsilon, max(1, taxonomy.length), randomness)
        for concept, steps in enumerate(away):
            choice.add(concept, -steps)
        concepts.append(choice.draw())
    return np.array(concepts, np.int64)


def taxonomy_of(column: CategoricalColumn) -> ConceptTaxonomy:
    """Return the concepts of a column that has a hierarchy."""
    assert column.hierarchy is not None  # guaranteed by `check`
    return ConceptTaxonomy(column.hierarchy)


def _records(columns: Sequence[Column]) -> int:
    first = columns[0]
    return len(first.steps if isinstance(first, Numbers) else first.codes)
