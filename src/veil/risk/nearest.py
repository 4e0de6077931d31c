"""Distance-based record linkage: an attacker links a known record to the nearest released one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.compiled import kernel
from veil.risk.distances import inverse_square_range
from veil.tables.columns import as_numbers, column_of, encode_values, is_measured, texts

PAIRS = 25_000_000
"""Maximum number of pairs of records to compare: all pairs of 5,000 and 5,000."""

FEWEST = 250
"""Minimum number of records to look up, however long the table is."""


@dataclass(frozen=True)
class Linkage:
    """Shares of records that are re-identified by distance.

    Attributes
    ----------
    forward
        Share of the input records whose nearest released record is their own: the success of an attacker who
        knows the input.
    backward
        Share of the released records whose nearest input record is the one they come from: the measure RL of
        the literature.
    looked_up, records
        Number of records that were looked up in each direction at most, and of all records. The candidates
        are always all records.

    A tie among t nearest records, the own one among them, counts 1/t.
    """

    forward: float
    backward: float
    looked_up: int
    records: int

    @property
    def basis(self) -> str:
        """The records that were looked up, in words."""
        if self.looked_up == self.records:
            return f"all {self.records:,} records"
        return f"{self.looked_up:,} of {self.records:,} records, drawn at random"


def record_linkage(
    before: pa.Table,
    after: pa.Table,
    columns: Sequence[str],
    origins: NDArray[np.int64] | None = None,
    pairs: int = PAIRS,
) -> Linkage:
    """Measure distance-based record linkage between an input and a released table.

    Numbers and dates differ by their distance over the range of the input, other values by 0 or 1, a missing
    value from any other by 1; the differences add up to a Euclidean distance. A column that is a number in
    one table only is compared as text. If more than `pairs` comparisons were needed, a random sample of the
    records is looked up among all.

    >>> before = pa.table({"age": [20, 30, 40, 50]})
    >>> record_linkage(before, pa.table({"age": [25.0, 25.0, 45.0, 45.0]}), ["age"]).backward
    0.5
    """
    owners = np.arange(before.num_rows) if origins is None else origins
    old, new, weights = _comparable(before, after, columns)
    identities = np.arange(before.num_rows)
    looked_up = max(before.num_rows, after.num_rows)
    if before.num_rows * after.num_rows > pairs:
        looked_up = max(FEWEST, pairs // max(before.num_rows, after.num_rows))
    forward = _shares(old, identities, new, owners, weights, looked_up)
    backward = _shares(new, owners, old, identities, weights, looked_up)
    return Linkage(forward, backward, looked_up, max(before.num_rows, after.num_rows))


_Cells = tuple[NDArray[np.float64], NDArray[np.int64]]


def _shares(
    targets: _Cells,
    identities: NDArray[np.int64],
    candidates: _Cells,
    owners: NDArray[np.int64],
    weights: NDArray[np.float64],
    looked_up: int,
) -> float:
    size = identities.size
    # Not a secret, and the same records for every method, so that methods can be compared.
    rows = np.arange(size) if looked_up >= size else np.random.default_rng(0).choice(size, looked_up, False)
    shares = _own_among_nearest(
        targets[0][rows], targets[1][rows], identities[rows], candidates[0], candidates[1], owners, weights
    )
    return float(shares.mean())


def _comparable(
    before: pa.Table, after: pa.Table, columns: Sequence[str]
) -> tuple[_Cells, _Cells, NDArray[np.float64]]:
    """Return both tables as numbers and codes that can be compared, and the weight of each number."""
    numbers: list[tuple[NDArray[np.float64], NDArray[np.float64]]] = []
    codes: list[NDArray[np.int64]] = []
    for name in columns:
        old, new = column_of(before, name, "record linkage"), column_of(after, name, "record linkage")
        if is_measured(old.type) and is_measured(new.type):
            numbers.append((as_numbers(old), as_numbers(new)))
        else:
            old, new = (old, new) if old.type == new.type else (texts(old, name), texts(new, name))
            codes.append(
                encode_values(pa.chunked_array([*old.chunks, *new.chunks], old.type))[1].astype(np.int64)
            )
    weights = np.array([inverse_square_range(values) for values, _ in numbers])
    rows = before.num_rows
    stacked = np.array(codes, np.int64).reshape(len(codes), rows + after.num_rows).T
    old_numbers = np.array([old for old, _ in numbers]).reshape(len(numbers), rows).T
    new_numbers = np.array([new for _, new in numbers]).reshape(len(numbers), after.num_rows).T
    return (
        (np.ascontiguousarray(old_numbers), np.ascontiguousarray(stacked[:rows])),
        (np.ascontiguousarray(new_numbers), np.ascontiguousarray(stacked[rows:])),
        weights,
    )


@kernel
def _own_among_nearest(
    numbers: NDArray[np.float64],
    codes: NDArray[np.int64],
    identities: NDArray[np.int64],
    other_numbers: NDArray[np.float64],
    other_codes: NDArray[np.int64],
    owners: NDArray[np.int64],
    weights: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return for each target the share of its nearest candidates that are its own.

    Distances that differ by rounding only are ties.
    """
    shares = np.empty(identities.size)
    slack = 1e-12
    for i in range(identities.size):
        least = np.inf
        ties = 0
        own = 0
        for j in range(owners.size):
            distance = 0.0
            for c in range(codes.shape[1]):
                if codes[i, c] != other_codes[j, c]:
                    distance += 1.0
            for c in range(numbers.shape[1]):
                difference = numbers[i, c] - other_numbers[j, c]
                if difference == difference:
                    distance += difference * difference * weights[c]
                elif (numbers[i, c] == numbers[i, c]) or (other_numbers[j, c] == other_numbers[j, c]):
                    distance += 1.0
                if distance > least * (1 + slack):
                    break
            if distance < least * (1 - slack):
                least, ties, own = distance, 0, 0
            if distance <= least * (1 + slack):
                ties += 1
                if owners[j] == identities[i]:
                    own += 1
        shares[i] = own / ties if ties else 0.0
    return shares
