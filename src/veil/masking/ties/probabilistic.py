"""Probabilistic k-anonymity: values change places within groups, so that no link has a probability above 1/k.

Each confidential column is permuted within groups of at least k records, all permutations of a group equally
likely. An attacker who knows everything but that column then finds the value of a person only among those of
the group, each with the same probability. Soria-Comas (2013), chapter 3; Soria-Comas and Domingo-Ferrer
(2012).

All permutations have to be possible, also those that leave a value in place: if every value had to move, one
of three would be found with probability 1/2.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import BeforeValidator, Field

from veil.base.declare import declared
from veil.base.exact import Number, decimal_fraction
from veil.base.randomness import Randomness
from veil.errors import ParameterError, PlanError
from veil.masking.microaggregation.distance import Measuring, check_named
from veil.masking.microaggregation.mdav import maximum_distance_to_average_vector
from veil.masking.microaggregation.records import group_facts, quantities
from veil.masking.microaggregation.univariate import from_both_ends
from veil.masking.parameters import Columns, Names, redistribute
from veil.masking.ties.anatomy import ROWS_ARE_FOUND
from veil.outcome.method import ColumnMethod, MaskedTable, Method
from veil.tables.columns import Groups, replace_column
from veil.tables.rows import Rows

LARGEST_AUDIT = 16
"""Most people whose linkage can be audited: the audit considers every subset of them."""


def _sizes(value: Any) -> Any:
    # Checked here, as pydantic's message would list the errors of each allowed form.
    for each in value.values() if isinstance(value, dict) else [value]:
        if not isinstance(each, int) or isinstance(each, bool) or each < 1:
            raise ValueError(f"`k` should be a whole number from 1 on, or one by column, not {each!r}")
    return value


@declared
class _Swapping(ColumnMethod):
    """Parameters and draw of both kinds of swapping."""

    columns: Annotated[Columns, Field(description="confidential columns, whose values change places")]
    k: Annotated[
        int | dict[str, int],
        BeforeValidator(_sizes),
        Field(
            description="least number of records among which a value may move, for all columns or by column"
        ),
    ]

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage", "attribute linkage")
    why_not_owners: ClassVar[str] = ROWS_ARE_FOUND

    @property
    def by_construction(self) -> tuple[str, ...]:
        """The promise of the draw, as groups are not published."""
        sizes = self.k if isinstance(self.k, dict) else dict.fromkeys(self.columns, self.k)
        return tuple(moves_among(k, name) for name, k in sizes.items())

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        if isinstance(self.k, dict):
            check_named(self, "k", self.k, self.columns)
        for name in self.columns:
            self.check_size(self._size(name), rows)
        # Each column has a partition of its own, and reads the input only.
        with ThreadPoolExecutor() as pool:
            partitions = list(pool.map(lambda name: self._partition(table, name), self.columns))
        masked = table
        for name, groups in zip(self.columns, partitions, strict=True):
            order = redistribute(groups, randomness)
            masked = replace_column(masked, name, table[name].take(pa.array(order)))
        return MaskedTable(masked, facts=group_facts(*partitions))

    def _size(self, name: str) -> int:
        if not isinstance(self.k, dict):
            return self.k
        if name not in self.k:
            raise PlanError(
                f"{self}: `k` has no entry for column {name!r}. Add one, or give one k for all columns"
            )
        return self.k[name]

    @abstractmethod
    def _partition(self, table: pa.Table, name: str) -> Groups:
        """Return the groups within which the values of a column change places."""


@declared(kind_of=Method)
class IndividualRankingSwapping(_Swapping):
    """IR-SWAP: values of a confidential column change places with values next to them.

    The column is sorted and cut from both ends into groups of k. The release differs little from the input,
    and so an attacker still learns a person's value approximately: it is hidden only among its neighbours.
    Choose a k much larger than for k-anonymity. Columns have to be numbers, dates or times.

    >>> table = pa.table({"age": [30, 41, 52], "income": [900, 100, 5000]})
    >>> masked = IndividualRankingSwapping("income", 3).mask(Rows.of(table), Randomness()).table
    >>> masked["age"].to_pylist(), sorted(masked["income"].to_pylist())
    ([30, 41, 52], [100, 900, 5000])
    """

    kind: Literal["IndividualRankingSwapping"] = Field(
        default="IndividualRankingSwapping", repr=False, kw_only=True
    )

    def _partition(self, table: pa.Table, name: str) -> Groups:
        return from_both_ends(np.argsort(quantities(table, name, self), kind="stable"), self._size(name))


@declared(kind_of=Method)
class MDAVSwapping(Measuring, _Swapping):
    """MDAV-SWAP: values of a confidential column change places among records that are otherwise alike.

    For each confidential column, MDAV groups the records by all other columns, so that a value moves to a
    record that it might have come from.

    >>> table = pa.table({"age": [30, 31, 52, 53], "income": [900, 100, 5000, 7000]})
    >>> masked = MDAVSwapping("income", 2).mask(Rows.of(table), Randomness()).table
    >>> sorted(masked["income"].to_pylist()[:2])
    [100, 900]
    """

    others: Annotated[
        Names | None,
        Field(description="other columns that an attacker may know and records are compared by; None: all"),
    ] = None
    kind: Literal["MDAVSwapping"] = Field(default="MDAVSwapping", repr=False, kw_only=True)

    def _partition(self, table: pa.Table, name: str) -> Groups:
        others = table.column_names if self.others is None else (*self.others, *self.columns)
        compared = [each for each in dict.fromkeys(others) if each != name]
        if not compared:
            raise PlanError(
                f"{self}: the table has no other column than {name!r} to compare records by. Use "
                "IndividualRankingSwapping"
            )
        return maximum_distance_to_average_vector(self.records(table, compared, [name]), self._size(name))


def swap_together(
    table: pa.Table, columns: Sequence[str], groups: Groups, randomness: Randomness
) -> MaskedTable:
    """Exchange the values of columns within groups, by one permutation: those of a record stay together."""
    order, masked = pa.array(redistribute(groups, randomness)), table
    for name in columns:
        masked = replace_column(masked, name, table[name].take(order))
    return MaskedTable(masked, facts=group_facts(groups))


def moves_among(k: int, name: str) -> str:
    """Describe the promise of swapping a column within groups of k."""
    return f"probabilistic {k}-anonymity of {name!r}: values change places among at least {k} records"


# --- audit of linkage -----------------------------------------------------------------------------


def linkage_probabilities(likelihoods: Sequence[Sequence[Number]]) -> list[list[Fraction]]:
    """Return how likely each released record comes from each person, if no two come from the same one.

    `likelihoods[i][j]` is the probability that the method makes released record j of the record of person i.
    The result is exact: the weight of all assignments of released records to people in which i has j, over
    the weight of all; an assignment weighs the product of its likelihoods (Soria-Comas 2013, examples 1 to
    3). All sets of people are considered, so there may be only a few.

    >>> linkage_probabilities([[0.9, 0.1], [0.1, 0.9]])[0]
    [Fraction(81, 82), Fraction(1, 82)]
    """
    people, record_count = len(likelihoods), len(likelihoods[0]) if likelihoods else 0
    if not 0 < people <= LARGEST_AUDIT or not 0 < record_count <= people:
        raise ParameterError(
            f"`likelihoods` should have 1 to {LARGEST_AUDIT} rows, one a person, and no more columns than rows, not "
            f"{people} rows and {record_count} columns"
        )
    table = [[decimal_fraction(each) for each in row] for row in likelihoods]
    if any(len(row) != record_count or min(row) < 0 for row in table):
        raise ParameterError("`likelihoods` should be rows of equal length with numbers from 0 on")
    # Every assignment takes one entry of each column, so columns may be scaled to integers.
    scales = [math.lcm(*(row[j].denominator for row in table)) for j in range(record_count)]
    weights = [[int(each * scale) for each, scale in zip(row, scales, strict=True)] for row in table]
    # For each set of people that has the first records: the weight of ways to it, and of ways on from it.
    ways_to, ways_on = [0] * (1 << people), [0] * (1 << people)
    ways_to[0] = 1
    for subset, i, j in _steps(people, record_count):
        ways_to[subset | 1 << i] += ways_to[subset] * weights[i][j]
    for subset in range(1 << people):
        ways_on[subset] = int(subset.bit_count() == record_count)
    for subset, i, j in reversed(list(_steps(people, record_count))):
        ways_on[subset] += weights[i][j] * ways_on[subset | 1 << i]
    if not ways_on[0]:
        raise ParameterError("`likelihoods` should allow at least one assignment of all records to people")
    links = [[0] * record_count for _ in range(people)]
    for subset, i, j in _steps(people, record_count):
        links[i][j] += ways_to[subset] * weights[i][j] * ways_on[subset | 1 << i]
    return [[Fraction(link, ways_on[0]) for link in row] for row in links]


def _steps(people: int, record_count: int) -> Iterator[tuple[int, int, int]]:
    """Yield each set of people, as bits, with a further person and their record, smaller sets first."""
    for subset in range(1 << people):
        j = subset.bit_count()
        for i in range(people) if j < record_count else ():
            if not subset >> i & 1:
                yield subset, i, j


def swapping_likelihoods(groups: Groups) -> list[list[Fraction]]:
    """Return the probability that swapping within groups moves the values of each record to each other.

    >>> max(map(max, linkage_probabilities(swapping_likelihoods(np.array([0, 1, 0, 1, 1])))))
    Fraction(1, 2)
    """
    sizes = np.bincount(groups)
    return [
        [Fraction(int(mine == other), int(sizes[mine])) for other in groups.tolist()]
        for mine in groups.tolist()
    ]
