"""Microaggregation: groups of at least k similar records, each replaced by an aggregate.

Every method makes a partition (`veil.masking.microaggregation`) and replaces the values of each group by an
aggregate (`veil.outcome.aggregates`). Records that are grouped by all their columns together become
k-anonymous in these columns. Numbers, dates and times must be present and finite; a missing category is a
category. A column with a single value has no effect and stays.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
import pyarrow as pa
from pydantic import BeforeValidator, Field, model_validator

from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.masking.microaggregation.distance import Measuring, check_named
from veil.masking.microaggregation.genetic import genetic
from veil.masking.microaggregation.mdav import (
    maximum_distance_to_average_vector,
    variable_maximum_distance_to_average_vector,
)
from veil.masking.microaggregation.merging import hold_people
from veil.masking.microaggregation.records import Coordinates, group_facts, quantities
from veil.masking.microaggregation.sums_of_squares import sums_of_squares
from veil.masking.microaggregation.univariate import fixed_size, principal_component, shortest_path
from veil.masking.microaggregation.ward import k_ward
from veil.masking.parameters import Columns
from veil.outcome.aggregates import Aggregate, aggregate_people
from veil.outcome.method import ColumnMethod, MaskedTable, Method
from veil.tables.columns import Floats, Groups, column_of, is_number, is_quantity, replace_column
from veil.tables.rows import Rows


def _aggregate(value: Any) -> Any:
    # Checked here, as pydantic's message would list the errors of each allowed form.
    for each in value.values() if isinstance(value, Mapping) else [value]:
        if each not in get_args(Aggregate):
            choices = ", ".join(map(repr, get_args(Aggregate)))
            raise ValueError(f"`aggregate` should be one of {choices}, or one by column, not {each!r}")
    return value


@declared
class _Microaggregation(ColumnMethod):
    """Common part of all microaggregations: columns, k, and aggregates."""

    columns: Annotated[Columns, Field(description="columns to aggregate")]
    k: Annotated[int, Field(ge=1, description="least number of records in a group; 3 to 10 is usual")]
    aggregate: Annotated[
        Aggregate | dict[str, Aggregate],
        BeforeValidator(_aggregate),
        Field(
            description="what stands for the values of a group, for all columns or by column; the centroid is the "
            "mean of numbers and dates and the mode of categories"
        ),
    ] = Field(default="centroid", kw_only=True)
    keep_type: Annotated[
        bool, Field(description="round means and medians to what the column holds, such as whole numbers")
    ] = Field(default=False, kw_only=True)

    counts_owners: ClassVar[bool] = True

    @property
    def columns_of_exact_values(self) -> tuple[str, ...]:
        return tuple(name for name in self.columns if self._how(name) in ("interval", "set"))

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        """Group rows, and join groups to the nearest ones until each has k people; aggregate rows."""
        table, owners = rows.table, rows.owners
        self.check_size(self.k, rows)
        if isinstance(self.aggregate, dict):
            check_named(self, "aggregate", self.aggregate, self.columns)
        partitions = self._partitions(table, randomness)
        if not owners.are_records:
            partitions = {
                names: hold_people(self._points(table, names), groups, owners.array, self.k)
                for names, groups in partitions.items()
            }
        masked = table
        for names, groups in partitions.items():
            for name in names:
                how, least = self._how(name), min(2, self.k)
                aggregates = aggregate_people(
                    table[name], groups, owners, how, name, keep_type=self.keep_type, least=least
                )
                masked = replace_column(masked, name, aggregates.take(pa.array(groups)))
        return MaskedTable(masked, facts=self._facts(table, partitions))

    @abstractmethod
    def _partitions(self, table: pa.Table, randomness: Randomness) -> dict[tuple[str, ...], Groups]:
        """Return the group of each row, for columns that share one partition."""

    @abstractmethod
    def _points(self, table: pa.Table, names: tuple[str, ...]) -> Floats:
        """Return the records as points, whose distances define which groups are near."""

    def _how(self, name: str) -> Aggregate:
        if isinstance(self.aggregate, dict):
            return self.aggregate.get(name, "centroid")
        return self.aggregate

    def _facts(self, table: pa.Table, partitions: Mapping[tuple[str, ...], Groups]) -> dict[str, Any]:
        facts: dict[str, Any] = {**group_facts(*partitions.values())}
        kinds = {name: column_of(table, name, self).type for name in self.columns}
        parts = {
            name: sums_of_squares(quantities(table, name, self)[:, None], groups)
            for names, groups in partitions.items()
            for name in names
            if is_quantity(kinds[name])
        }
        # Squares of different units do not add up, and only the shares of dates have a meaning.
        numbers = [part for name, part in parts.items() if is_number(kinds[name])]
        varied = [part for part in parts.values() if part.total]
        if any(part.total for part in numbers):
            facts["SSE"], facts["SSA"], facts["SST"] = (sum(each) for each in zip(*numbers, strict=True))
            facts["L"] = facts["SSE"] / facts["SST"]
        if varied:
            facts["L of standardized columns"] = sum(part.loss for part in varied) / len(varied)
        return facts


@declared(kind_of=Method)
class UnivariateMicroaggregation(_Microaggregation):
    """Records in some order, cut into groups of neighbours.

    Orders:

    - "individual ranking": each column by itself. Keeps the most information, but only the values of single
      columns become k-anonymous, not records, and an attacker who knows a value finds its neighbours.
    - "single axis": by one column, `axis`, that represents the others.
    - "principal component": along the line on which the standardized columns vary most.
    - "sum of z-scores": by the sum of the standardized columns.

    With sizes "fixed" the groups have k records, and the last the remainder as well. With "optimal" they have
    k to 2k - 1 and the least sum of squares that the order allows, which for individual ranking is the least
    there is (Hansen and Mukherjee 2003). Defays and Nanopoulos (1993), Mateo-Sanz and Domingo-Ferrer (1998).

    >>> table = pa.table({"age": [20, 41, 24, 47, 46]})
    >>> UnivariateMicroaggregation("age", 2).mask(Rows.of(table), Randomness()).table["age"].to_pylist()
    [22.0, 44.666666666666664, 22.0, 44.666666666666664, 44.666666666666664]
    """

    order: Annotated[
        Literal["individual ranking", "single axis", "principal component", "sum of z-scores"],
        Field(description="how records are put in order"),
    ] = "individual ranking"
    sizes: Annotated[
        Literal["fixed", "optimal"], Field(description="groups of k, or of k to 2k - 1 where that loses less")
    ] = "fixed"
    axis: Annotated[str | None, Field(description="the column to order by, for a single axis")] = None
    kind: Literal["UnivariateMicroaggregation"] = Field(
        default="UnivariateMicroaggregation", repr=False, kw_only=True
    )

    @model_validator(mode="after")
    def _axis_where_needed(self) -> UnivariateMicroaggregation:
        if (self.order == "single axis") != (self.axis is not None):
            raise ValueError(
                '`axis` of UnivariateMicroaggregation goes with order "single axis", and only with it'
            )
        return self

    def _partitions(self, table: pa.Table, randomness: Randomness) -> dict[tuple[str, ...], Groups]:
        check_named(self, "axis", [self.axis] if self.axis else [], self.columns)
        columns = np.stack([quantities(table, name, self) for name in self.columns], axis=1)
        standardized = _standardize(columns)
        if self.order == "individual ranking":
            return {
                (name,): self._cut(values, values[:, None])
                for name, values in zip(self.columns, columns.T, strict=True)
            }
        if self.axis is not None:
            key = columns[:, self.columns.index(self.axis)]
        elif self.order == "principal component":
            key = principal_component(standardized)
        else:
            key = standardized.sum(axis=1)
        return {self.columns: self._cut(key, standardized)}

    def _points(self, table: pa.Table, names: tuple[str, ...]) -> Floats:
        return _standardize(np.stack([quantities(table, name, self) for name in names], axis=1))

    def _cut(self, key: Floats, points: Floats) -> Groups:
        order = np.argsort(key, kind="stable")
        return fixed_size(order, self.k) if self.sizes == "fixed" else shortest_path(order, points, self.k)


def _standardize(columns: Floats) -> Floats:
    spread = columns.std(axis=0)
    return np.asarray((columns - columns.mean(axis=0)) / np.where(spread > 0, spread, 1), np.float64)


@declared
class Multivariate(Measuring, _Microaggregation):
    """Records grouped by their distances in all columns together."""

    def _partitions(self, table: pa.Table, randomness: Randomness) -> dict[tuple[str, ...], Groups]:
        return {self.columns: self._partition(table, self.records(table, self.columns), randomness)}

    def _points(self, table: pa.Table, names: tuple[str, ...]) -> Floats:
        return self.records(table, names).coordinates()

    @abstractmethod
    def _partition(self, table: pa.Table, records: Coordinates, randomness: Randomness) -> Groups:
        """Group the records."""


@declared(kind_of=Method)
class MDAV(Multivariate):
    """MDAV: groups of k around the records farthest from the average and each other; the rest is the last.

    Domingo-Ferrer and Torra (2005). The partition is found in a shrinking k-d tree, and is the one that
    comparing all distances gives; of records at the same distance the first is taken.

    >>> table = pa.table({"age": [20, 41, 24, 47], "sex": ["f", "m", "f", "m"]})
    >>> MDAV(["age", "sex"], 2).mask(Rows.of(table), Randomness()).table.to_pydict()
    {'age': [22.0, 44.0, 22.0, 44.0], 'sex': ['f', 'm', 'f', 'm']}
    """

    kind: Literal["MDAV"] = Field(default="MDAV", repr=False, kw_only=True)

    def _partition(self, table: pa.Table, records: Coordinates, randomness: Randomness) -> Groups:
        return maximum_distance_to_average_vector(records, self.k)


@declared(kind_of=Method)
class VMDAV(Multivariate):
    """V-MDAV: groups around the records farthest from the average of all that grow if the next one is near.

    A record joins a group of less than 2k - 1 if its distance from the group is below gamma times its
    distance from the nearest other record without a group. Fewer than k records left over go to the nearest
    groups. Solanas and Martínez-Ballesté (2006), who take 0.2 for scattered and 1.1 for clustered data.

    >>> table = pa.table({"age": [20, 21, 22, 47, 48, 49, 50]})
    >>> method = VMDAV("age", 3, aggregate="interval")
    >>> method.mask(Rows.of(table), Randomness()).table["age"].unique().to_pylist()
    ['[20, 22]', '[47, 50]']
    """

    gamma: Annotated[
        float, Field(ge=0, allow_inf_nan=False, description="how readily groups grow; 0 is never")
    ] = 0.2
    kind: Literal["VMDAV"] = Field(default="VMDAV", repr=False, kw_only=True)

    def _partition(self, table: pa.Table, records: Coordinates, randomness: Randomness) -> Groups:
        return variable_maximum_distance_to_average_vector(records, self.k, self.gamma)


@declared(kind_of=Method)
class KWard(Multivariate):
    """k-Ward: hierarchical clustering that stops joining groups of k, and splits again those of 2k and more.

    Groups are joined where that adds least to the sum of squares within groups. Domingo-Ferrer and Mateo-Sanz
    (2002). The time grows with the square of the number of records: seconds for ten thousand.

    >>> table = pa.table({"age": [20, 41, 24, 47, 46]})
    >>> KWard("age", 2, aggregate="set").mask(Rows.of(table), Randomness()).table["age"].to_pylist()
    ['{20, 24}', '{41, 46, 47}', '{20, 24}', '{41, 46, 47}', '{41, 46, 47}']
    """

    kind: Literal["KWard"] = Field(default="KWard", repr=False, kw_only=True)

    def _partition(self, table: pa.Table, records: Coordinates, randomness: Randomness) -> Groups:
        return k_ward(records, self.k)


@declared(kind_of=Method)
class GeneticMicroaggregation(Multivariate):
    """Partitions that are crossed, changed at random and selected for a small sum of squares within groups.

    The population starts from the partition of another method, and the result is never worse than that. See
    `veil.masking.microaggregation.genetic`.

    >>> table = pa.table({"age": [20, 41, 24, 47, 46, 21]})
    >>> GeneticMicroaggregation("age", 3).mask(Rows.of(table), Randomness()).table["age"].unique().to_pylist()
    [21.666666666666668, 44.666666666666664]
    """

    start: Annotated[
        Literal["maximum distance to average vector", "k-Ward"],
        Field(description="what makes the first partition"),
    ] = "maximum distance to average vector"
    generations: Annotated[int, Field(ge=1, description="how long to look; the more, the better")] = 50
    population: Annotated[int, Field(ge=2, description="partitions in each generation")] = 10
    kind: Literal["GeneticMicroaggregation"] = Field(
        default="GeneticMicroaggregation", repr=False, kw_only=True
    )

    def _partition(self, table: pa.Table, records: Coordinates, randomness: Randomness) -> Groups:
        partition = k_ward if self.start == "k-Ward" else maximum_distance_to_average_vector
        return genetic(
            records.coordinates(),
            partition(records, self.k),
            self.k,
            self.generations,
            self.population,
            randomness,
        )
