"""Noise addition: numbers change a little, and the statistics of the column hardly."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from veil.base.arrays import Floats
from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.errors import InputError
from veil.masking.parameters import Columns
from veil.outcome.method import ColumnMethod, MaskedTable, Method
from veil.tables.columns import numbers, refuse_constant, replace_column
from veil.tables.rows import Rows


@declared
class _Noise(ColumnMethod):
    """Parameters and facts of both kinds of noise."""

    columns: Annotated[Columns, Field(description="columns of numbers")]
    alpha: Annotated[
        float,
        Field(
            gt=0, allow_inf_nan=False, description="variance of the noise, over the variance of the column"
        ),
    ]

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage", "attribute linkage")

    def _values(self, table: pa.Table) -> Floats:
        if table.num_rows < 2:
            raise InputError(f"{self}: noise depends on the spread of a column, and a single record has none")
        for name in self.columns:
            refuse_constant(numbers(table, name, self), name, self)
        return np.column_stack([numbers(table, name, self) for name in self.columns])

    def _outcome(self, table: pa.Table, values: Floats, spread: Floats) -> MaskedTable:
        facts: dict[str, Any] = {}
        for at, name in enumerate(self.columns):
            table = replace_column(table, name, values[:, at])
            facts[f"standard deviation of the noise of {name}"] = float(spread[at])
        return MaskedTable(table, facts=facts)


@declared(kind_of=Method)
class UncorrelatedNoise(_Noise):
    """Each number gets normal noise of its own, with α times the variance of its column.

    Expected means and covariances stay; variances grow by the factor 1 + α and correlations shrink by it
    (Domingo-Ferrer, Sánchez and Soria-Comas, Database Anonymization, 2016). The noise is not forced to sum to
    zero: an attacker who knows all records but one could compute the last. Integers become decimals.

    >>> table = pa.table({"age": [20, 40, 60]})
    >>> UncorrelatedNoise("age", 0.1).mask(Rows.of(table), Randomness()).table.schema.field("age").type
    DataType(double)
    """

    kind: Literal["UncorrelatedNoise"] = Field(default="UncorrelatedNoise", repr=False, kw_only=True)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        values = self._values(table)
        spread = np.sqrt(self.alpha * values.var(axis=0, ddof=1))
        noisy = values + _normals(values.shape, randomness) * spread
        return self._outcome(table, noisy, spread)


@declared(kind_of=Method)
class CorrelatedNoise(_Noise):
    """Each record gets normal noise with α times the covariance matrix of the columns.

    Expected means and correlations stay; variances and covariances grow by the factor 1 + α. With
    `transformed` (Kim, A Method for Limiting Disclosure in Microdata Based on Random Noise and
    Transformation, 1986), columns are then pulled towards their means by the factor 1 / √(1 + α): both stay.

    >>> table = pa.table({"age": [20, 40, 60], "income": [1.0, 3.0, 2.0]})
    >>> CorrelatedNoise(["age", "income"], 0.1, transformed=True).mask(Rows.of(table), Randomness()).table.num_rows
    3
    """

    transformed: Annotated[
        bool, Field(description="whether values are pulled back so that variances and covariances stay")
    ] = False
    kind: Literal["CorrelatedNoise"] = Field(default="CorrelatedNoise", repr=False, kw_only=True)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        values = self._values(table)
        covariance = self.alpha * np.cov(values, rowvar=False).reshape(len(self.columns), -1)
        noisy = values + _normals(values.shape, randomness) @ _root(covariance).T
        if self.transformed:
            centre = values.mean(axis=0)
            noisy = centre + (noisy - centre) / np.sqrt(1 + self.alpha)
        return self._outcome(table, noisy, np.sqrt(np.diag(covariance)))


def _normals(shape: tuple[int, ...], randomness: Randomness) -> Floats:
    return randomness.normal(shape[0] * shape[1]).reshape(shape)


def _root(covariance: Floats) -> Floats:
    """Return a matrix R with R Rᵀ equal to the covariance, which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    root: Floats = vectors * np.sqrt(np.clip(values, 0, None))
    return root
