"""Groups by the confidential attribute: quasi-identifiers and the values of each group stay unchanged.

Only the link between them is broken. Either both are published as two tables (see `anatomy`), or the values
change places within groups that are not published (see `probabilistic`). Soria-Comas (2013), chapter 7.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from veil.base.arrays import Integers
from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.errors import InputError, NoSolutionError, PlanError
from veil.masking.microaggregation.distance import Measuring
from veil.masking.microaggregation.mdav import maximum_distance_to_average_vector
from veil.masking.microaggregation.records import places_in_hierarchy
from veil.masking.microaggregation.univariate import from_both_ends
from veil.masking.parameters import Columns, Names, in_random_order
from veil.masking.ties.anatomy import GROUP, ROWS_ARE_FOUND, in_two_tables
from veil.masking.ties.buckets import bucket_sizes, fitting_counts
from veil.masking.ties.probabilistic import moves_among, swap_together
from veil.models import ratio_distance
from veil.outcome.aggregates import Aggregate, aggregate_groups, ordered_places
from veil.outcome.method import ColumnMethod, MaskedTable, Method
from veil.published.table import Published
from veil.tables.columns import Groups, replace_column
from veil.tables.rows import Rows

Release = Annotated[
    Literal["two tables", "swapping"],
    Field(description="publish groups and their values, or let values change places in groups nobody sees"),
]
GroupName = Annotated[
    str, Field(min_length=1, description="name of the column that ties two tables together")
]


class _ConfidentialGroups(Measuring):
    """Common part of both ways to group."""

    why_not_owners: ClassVar[str] = ROWS_ARE_FOUND

    @property
    def known_columns(self) -> tuple[str, ...]:
        """None: confidential values are what an attacker wants to learn."""
        return ()


@declared(kind_of=Method)
class ConfidentialAttributePartitioning(_ConfidentialGroups, ColumnMethod):
    """Groups of k records with similar confidential values.

    One confidential column is sorted and cut into groups from both ends (Soria-Comas 2013, Algorithm 7.1,
    called optimal there, which holds among groups of a fixed size cut this way only); several are grouped by
    MDAV. An attacker who finds a person's group learns the value as precisely as the group is narrow: choose
    a large k, such as a tenth of the records.

    >>> table = pa.table({"age": [30, 41, 52, 63], "income": [10, 90, 11, 80]})
    >>> outcome = ConfidentialAttributePartitioning("income", 2).mask(Rows.of(table), Randomness.for_testing(1))
    >>> outcome.table.to_pydict()
    {'age': [30, 41, 52, 63], 'group': [1, 2, 1, 2]}
    >>> outcome.apart["confidential"].to_pydict()
    {'group': [1, 1, 2, 2], 'income': [10, 11, 80, 90]}
    """

    columns: Annotated[Columns, Field(description="confidential columns, by which records are grouped")]
    k: Annotated[
        int, Field(ge=1, description="least number of records in a group; a tenth of all is advised")
    ]
    release: Release = "two tables"
    group: GroupName = GROUP
    kind: Literal["ConfidentialAttributePartitioning"] = Field(
        default="ConfidentialAttributePartitioning", repr=False, kw_only=True
    )

    @property
    def by_construction(self) -> tuple[str, ...]:
        """The promise of the draw if groups are not published."""
        return (
            () if self.release == "two tables" else tuple(moves_among(self.k, name) for name in self.columns)
        )

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        self.check_size(self.k, rows)
        if len(self.columns) == 1:
            order = _sort_rows(table, self.columns[0], randomness, self)
            groups = from_both_ends(order, self.k)
        else:
            groups = maximum_distance_to_average_vector(self.records(table, self.columns), self.k)
        return _release_groups(self, table, self.columns, groups, randomness)


@declared(kind_of=Method)
class BucketizedTCloseness(_ConfidentialGroups):
    """Groups in which a confidential attribute, coarsened to t + 1 buckets, is within a factor t of the
    whole.

    Each bucket holds as many neighbouring values as the others and is shown as an interval. Nominal
    attributes take the order of a hierarchy, branch by branch, and their buckets are shown as sets. Every
    group takes more than its share of one bucket and less of the others, within a factor t (Soria-Comas 2013,
    section 7.2). If the printed numbers do not add up, they are repaired, and the distance is checked again
    on the published tables: the largest ratio, either way, between the share of a bucket in a group and in
    the table. Records are drawn into groups at random.

    With `quasi_identifiers`, groups are made of records that are similar in these (MDAV), independently of
    the confidential attribute. If one is not within a factor t then, there is no release. Filling groups with
    the nearest records of each bucket, as printed, would always give one, but excludes people near a group
    from the bucket it needed: of twelve people in groups of four, one's bucket becomes certain in a fifth of
    all cases.

    An attacker who knows only the distribution of the attribute learns at most a factor t about a person, as
    with ln(t)-differential privacy. Proof: to them all ways to spread the buckets over people are equally
    likely. The likelihood of a release depends only on how many records of each bucket each group has: drawn
    groups are equally likely among those with these numbers, and similar ones are released if the numbers are
    within a factor t. So all ways that have the published numbers are equally likely after the release, too,
    and a member of a group is in a bucket with the share that the bucket has there. This is not differential
    privacy: who knows all values of a group but one learns that one. And trying several parameters until one
    works reveals that the others failed, about which nothing is promised.

    >>> table = pa.table({"age": list(range(12)), "income": list(range(100, 1300, 100))})
    >>> outcome = BucketizedTCloseness("income", 2, k=4).mask(Rows.of(table), Randomness())
    >>> outcome.apart["confidential"]["income"].unique().to_pylist()
    ['[100, 400]', '[500, 800]', '[900, 1200]']
    """

    confidential: Annotated[
        str,
        Field(
            description="confidential column of numbers, dates, ordered categories or what has a hierarchy"
        ),
    ]
    t: Annotated[int, Field(ge=2, description="largest ratio of shares; the attribute gets t + 1 buckets")]
    k: Annotated[int, Field(ge=3, description="least number of records in a group, at least t + 1")]
    quasi_identifiers: Annotated[Names, Field(description="columns in which groups are similar")] = ()
    release: Release = "two tables"
    group: GroupName = GROUP
    kind: Literal["BucketizedTCloseness"] = Field(default="BucketizedTCloseness", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("attribute linkage", "probabilistic")

    @property
    def column_names(self) -> tuple[str, ...]:
        return (self.confidential,)

    @property
    def by_construction(self) -> tuple[str, ...]:
        """The promise of the draw if groups are not published."""
        if self.release == "two tables":
            return ()
        ratio = f"ratio distance of {self.confidential!r} at most {self.t} ({ratio_distance.LABEL})"
        return (moves_among(self.k, self.confidential), ratio)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        times = self._times(table.num_rows)
        buckets = np.empty(table.num_rows, np.int64)
        order = _sort_rows(table, self.confidential, randomness, self, self.hierarchies)
        buckets[order] = np.repeat(np.arange(self.t + 1), bucket_sizes(table.num_rows, self.t))
        groups = self._groups(table, buckets, times, randomness)
        aggregate: Aggregate = "set" if self.confidential in self.hierarchies else "interval"
        labels = aggregate_groups(table[self.confidential], buckets, aggregate, self.confidential)
        coarse = replace_column(table, self.confidential, labels.take(pa.array(buckets)))
        return _release_groups(self, coarse, (self.confidential,), groups, randomness)

    def _times(self, records: int) -> int:
        """Return how many groups emphasize each bucket."""
        if self.k <= self.t:
            raise PlanError(
                f"{self}: `k` should be at least t + 1 = {self.t + 1}, one record for each bucket"
            )
        if self.confidential in self.quasi_identifiers:
            raise PlanError(f"{self}: column {self.confidential!r} cannot be both confidential and public")
        times = records // ((self.t + 1) * self.k)
        if not times:
            raise PlanError(
                f"{self}: {self.t + 1} groups of {self.k} need {(self.t + 1) * self.k} records, and the table has "
                f"{records}. Choose a smaller `k` or `t`"
            )
        return times

    def _groups(self, table: pa.Table, buckets: Integers, times: int, randomness: Randomness) -> Groups:
        """Draw groups with the required counts of each bucket, or group by quasi-identifiers alone."""
        if self.quasi_identifiers:
            records = self.records(table, self.quasi_identifiers, [self.confidential])
            groups = maximum_distance_to_average_vector(records, self.k)
            ratio = largest_ratio(pa.chunked_array([buckets]), groups)
            if ratio is None or ratio > self.t:
                problem = "a group without a bucket" if ratio is None else f"a ratio of {ratio}"
                raise NoSolutionError(
                    f"{self}: groups that are similar in {', '.join(map(repr, self.quasi_identifiers))} "
                    f"differ too much in {self.confidential!r}: {problem}, but at most {self.t} is allowed. Choose a "
                    "larger `k` or `t`, or leave `quasi_identifiers` out, so that groups are formed at random"
                )
            return groups
        counts = fitting_counts(table.num_rows, self.t, times)
        groups = np.empty(buckets.size, np.int64)
        groups[in_random_order(buckets, randomness)] = np.concatenate(
            [np.repeat(np.arange(len(counts)), column) for column in counts.T]
        )
        return groups


def largest_ratio(values: pa.ChunkedArray, groups: Groups) -> Fraction | None:
    """Return the largest ratio between shares of a value in a group and in the table; None if infinite.

    Soria-Comas (2013), definition 15 and proposition 10.

    >>> largest_ratio(pa.chunked_array([["low", "high", "low", "low"]]), np.array([1, 1, 2, 2])) is None
    True
    >>> largest_ratio(pa.chunked_array([["low", "high", "low", "high", "low", "low"]]), np.array([1, 1, 2, 2, 1, 2]))
    Fraction(1, 1)
    """
    published = Published(Rows.of(pa.table({"group": groups, "value": values})), ["group"], suppressed="none")
    return ratio_distance.largest_ratio(published, "value")


def _sort_rows(
    table: pa.Table,
    name: str,
    randomness: Randomness,
    method: object,
    hierarchies: Mapping[str, Any] | None = None,
) -> Integers:
    """Return rows in the order of a column; equal values in random order, as the order of rows is public."""
    if name in (hierarchies or {}):
        places = places_in_hierarchy(table[name], (hierarchies or {})[name], name)
    else:
        _, places = ordered_places(table[name], name)
    missing = np.flatnonzero(places < 0)
    if missing.size:
        raise InputError(
            f"{method}: column {name!r} has no value in row {missing[0] + 1}. Drop such rows, or fill them in first"
        )
    return in_random_order(places, randomness)


def _release_groups(
    method: ConfidentialAttributePartitioning | BucketizedTCloseness,
    table: pa.Table,
    columns: tuple[str, ...],
    groups: Groups,
    randomness: Randomness,
) -> MaskedTable:
    if method.release == "two tables":
        return in_two_tables(table, columns, groups, method, randomness, name=method.group)
    return swap_together(table, columns, groups, randomness)
