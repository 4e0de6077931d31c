"""Sampling: only some of the records are released, unchanged."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from veil.base.arrays import Integers
from veil.base.declare import declared
from veil.base.exact import decimal_fraction
from veil.base.randomness import Randomness
from veil.errors import PlanError
from veil.masking.parameters import Columns, happens, in_random_order, round_half_up
from veil.outcome.method import MaskedTable, Method
from veil.tables.columns import groups
from veil.tables.rows import Rows

_Fraction = Annotated[float | None, Field(gt=0, le=1, description="share of the records to keep")]


class Sampling(Method):
    """Base of methods that keep rows, in their order, and change none."""

    attacks: ClassVar[tuple[str, ...]] = ("table linkage", "identity linkage")

    @property
    def column_names(self) -> tuple[str, ...]:
        return ()


class _SizedSampling(Sampling):
    fraction: float | None
    size: int | None

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if (self.fraction is None) == (self.size is None):
            raise ValueError(f"{type(self).__name__} needs `fraction` or `size`, one of the two")
        return self


@declared(kind_of=Method)
class RandomSampling(_SizedSampling):
    """A simple random sample without replacement: every choice of that many records is equally likely.

    Presence of a person in the sample is uncertain, and a record unique in it need not be unique among all.
    The records that are kept stay as they are: a sample alone promises nothing to the people in it.

    >>> table = pa.table({"age": [30, 41, 52, 63]})
    >>> RandomSampling(0.5).mask(Rows.of(table), Randomness()).table.num_rows
    2
    """

    fraction: _Fraction = None
    size: Annotated[int | None, Field(ge=1, description="number of records to keep")] = None
    kind: Literal["RandomSampling"] = Field(default="RandomSampling", repr=False, kw_only=True)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        size = _number(self.fraction, self.size, table.num_rows, self)
        return _keep_rows(table, np.sort(randomness.permutation(table.num_rows)[:size]))


@declared(kind_of=Method)
class StratifiedSampling(_SizedSampling):
    """A simple random sample within each stratum: the records that agree in the given columns.

    With a fraction, each stratum gives its share, rounded so that the total is right (largest remainders,
    ties by chance). With a size, each stratum gives that many records.

    >>> table = pa.table({"sex": ["f", "f", "f", "f", "m", "m"]})
    >>> StratifiedSampling("sex", 0.5).mask(Rows.of(table), Randomness()).table["sex"].to_pylist()
    ['f', 'f', 'm']
    """

    columns: Annotated[Columns, Field(description="columns whose values make the strata")]
    fraction: _Fraction = None
    size: Annotated[int | None, Field(ge=1, description="number of records to keep of each stratum")] = None
    kind: Literal["StratifiedSampling"] = Field(default="StratifiedSampling", repr=False, kw_only=True)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        strata = groups(table, self.columns, self)
        sizes = np.bincount(strata)
        sample_sizes = self._sample_sizes(table, strata, sizes, randomness)
        # In a random order sorted by stratum, the first records of each stratum are a random choice of it.
        order = in_random_order(strata, randomness)
        place = np.arange(order.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        origins = np.sort(order[place < sample_sizes[strata[order]]])
        return _keep_rows(
            table, origins, {"strata": int(sizes.size), "strata left out": int((sample_sizes == 0).sum())}
        )

    def _sample_sizes(
        self, table: pa.Table, strata: Integers, sizes: Integers, randomness: Randomness
    ) -> Integers:
        if self.size is not None:
            small = np.flatnonzero(sizes < self.size)
            if small.size:
                row = table.select(self.columns).slice(int(np.argmax(strata == small[0])), 1).to_pylist()[0]
                stratum = ", ".join(f"{name} = {value!r}" for name, value in row.items())
                raise PlanError(
                    f"{self}: the stratum {stratum} has only {sizes[small[0]]} records. Choose a smaller "
                    "`size`, a `fraction`, or fewer columns"
                )
            return np.full(sizes.size, self.size)
        share = decimal_fraction(self.fraction or 0)
        # Python integers: a fraction of sixteen digits times a large stratum may exceed 64 bits.
        quotas = sizes.astype(object) * share.numerator
        whole = (quotas // share.denominator).astype(np.int64)
        rest = quotas % share.denominator
        missing = _number(self.fraction, None, table.num_rows, self) - int(whole.sum())
        by_chance = randomness.permutation(sizes.size)
        largest = by_chance[np.argsort(-rest[by_chance], kind="stable")]
        whole[largest[:missing]] += 1
        return whole


@declared(kind_of=Method)
class BernoulliSampling(Sampling):
    """Each record is kept with the same probability, independently of all others.

    >>> BernoulliSampling(1).mask(Rows.of(pa.table({"age": [30, 41]})), Randomness()).origins
    array([0, 1])
    """

    probability: Annotated[float, Field(gt=0, le=1, description="probability that a record is kept")]
    kind: Literal["BernoulliSampling"] = Field(default="BernoulliSampling", repr=False, kw_only=True)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        origins = np.flatnonzero(happens(randomness, self.probability, table.num_rows))
        if not origins.size:
            raise PlanError(f"{self} kept none of the {table.num_rows} records. Try again, or raise it")
        return _keep_rows(table, origins)


def _number(fraction: float | None, size: int | None, records: int, method: object) -> int:
    if size is None:
        return max(1, round_half_up(decimal_fraction(fraction or 0) * records))
    if size > records:
        raise PlanError(f"{method}: the table has only {records} records. Choose at most that many")
    return size


def _keep_rows(table: pa.Table, origins: Integers, facts: dict[str, int] | None = None) -> MaskedTable:
    size = origins.size
    facts_of_all = {"records kept": int(size), "share kept": size / table.num_rows, **(facts or {})}
    return MaskedTable(table.take(pa.array(origins)), origins, facts=facts_of_all)
