"""t-closeness through microaggregation: groups of similar records, joined until each is close to the table.

Every method of `microaggregation` that groups records by all their columns together gives k-anonymity. Groups
by the confidential attribute, which leave the quasi-identifiers unchanged, are in `confidential_groups`.
"""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from veil.base.arrays import Integers
from veil.base.compiled import kernel
from veil.base.declare import declared
from veil.base.exact import decimal_fraction
from veil.base.randomness import Randomness
from veil.errors import InputError, PlanError
from veil.masking.microaggregation.mdav import maximum_distance_to_average_vector
from veil.masking.microaggregation.merging import join_groups
from veil.masking.microaggregation.methods import Multivariate
from veil.masking.microaggregation.records import Coordinates
from veil.outcome.method import Method
from veil.published.blank import MARKER, shows_no_value
from veil.tables.columns import Groups, column_of, encode_values, ranks


@declared(kind_of=Method)
class TClosenessThroughMicroaggregation(Multivariate):
    """Microaggregation whose groups are joined until a confidential attribute is t-close in each.

    MDAV makes groups of k by the quasi-identifiers. As long as the confidential attribute of some group is
    too far from the table's distribution, the worst group is joined to the one with the nearest mean. This
    ends at the latest with a single group, whose distribution is the table's. Missing confidential values are
    left out of both, and a group without any value is close. Soria-Comas, Domingo-Ferrer, Sánchez and
    Martínez (2015), Algorithm 1. Decisions are exact.

    >>> from veil.tables.rows import Rows
    >>> table = pa.table({"age": [20, 21, 30, 31], "income": [1, 2, 3, 4]})
    >>> method = TClosenessThroughMicroaggregation("age", 2, "income", 0.2)
    >>> method.mask(Rows.of(table), Randomness()).table["age"].to_pylist()
    [25.5, 25.5, 25.5, 25.5]
    """

    confidential: Annotated[str, Field(description="confidential column, whose distribution is compared")]
    t: Annotated[float, Field(ge=0, le=1, description="largest distance allowed; 0.1 to 0.3 is usual")]
    closeness: Annotated[
        Literal["ordered", "equal"],
        Field(description="how far apart two confidential values are: by their order, or all alike"),
    ] = "ordered"
    kind: Literal["TClosenessThroughMicroaggregation"] = Field(
        default="TClosenessThroughMicroaggregation", repr=False, kw_only=True
    )

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage", "attribute linkage")
    counts_owners: ClassVar[bool] = False
    why_not_owners: ClassVar[str] = (
        "groups are joined until confidential values are distributed in their rows as in all rows, and somebody with many "
        "rows has a large share of both"
    )

    def _partition(self, table: pa.Table, records: Coordinates, randomness: Randomness) -> Groups:
        if self.confidential in self.columns:
            raise PlanError(
                f"{self}: column {self.confidential!r} cannot be both confidential and aggregated"
            )
        column = column_of(table, self.confidential, self)
        different, codes = encode_values(column)
        value_mask = ~shows_no_value(different, MARKER)[codes]
        values = np.full(table.num_rows, -1, np.int64)
        values[value_mask] = np.unique(ranks(column)[0][value_mask], return_inverse=True)[1]
        groups = maximum_distance_to_average_vector(records, self.k)
        return join_groups(records.coordinates(), groups, _Distances(values, self.t, self.closeness, self))


class _Distances:
    """Distances of the confidential values of groups from those of the table, as integers; -1 is no value."""

    def __init__(self, values: Integers, t: float, closeness: str, method: object) -> None:
        self.values = values
        self.totals = np.bincount(values[values >= 0])
        self.records = int(self.totals.sum())
        self.ordered = closeness == "ordered"
        self.limit = decimal_fraction(t)
        # The distance of a group is an integer over this many times its size.
        self.scale = self.records * (max(1, self.totals.size - 1) if self.ordered else 1)
        if values.size**2 * self.totals.size >= 2**62:
            raise InputError(
                f"{method}: {values.size} records with {self.totals.size} distinct confidential values are "
                "too many to compare exactly. Round the values, or sample the records"
            )

    def __call__(self, rows: Integers) -> float:
        """Return the distance of some rows if it is too large, else a number below 0."""
        values = self.values[rows]
        values = values[values >= 0]
        work = _scaled_earth_movers_distance(values, self.totals, self.records, self.ordered)
        most = self.limit * self.scale * values.size
        return work / (self.scale * values.size) if work > most else -1.0


@kernel
def _scaled_earth_movers_distance(values: Integers, totals: Integers, records: int, ordered: bool) -> int:
    """Return the earth mover's distance of a group's values from the table's, times `records` and its size.

    `totals` are the counts of the values in the table. Ordered values: the sum of absolute cumulative
    differences (not divided by their number); others: the sum of positive differences.
    """
    extra = -values.size * totals
    for value in values:
        extra[value] += records
    work = running = 0
    for value in range(totals.size):
        running += extra[value]
        work += abs(running) if ordered else max(extra[value], 0)
    return work
