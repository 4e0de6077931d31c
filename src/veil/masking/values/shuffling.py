"""Shuffling: the values of a column are redistributed among the records."""

from __future__ import annotations

from statistics import NormalDist
from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from veil.base.arrays import Floats
from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.errors import InputError, PlanError
from veil.masking.parameters import Columns, Names, redistribute
from veil.outcome.method import ColumnMethod, MaskedTable, Method
from veil.tables.columns import column_of, groups, numbers, refuse_constant, replace_column
from veil.tables.rows import Rows


@declared(kind_of=Method)
class ColumnShuffling(ColumnMethod):
    """The values of some columns are handed out anew, every way equally likely.

    By default each column by itself, which breaks all relations; `together` moves the values of a record
    jointly. Within strata (`within`), the relation to their columns stays. Every column keeps its values.

    >>> table = pa.table({"sex": ["f", "m"], "income": [10, 20]})
    >>> ColumnShuffling("income", within="sex").mask(Rows.of(table), Randomness()).table["income"].to_pylist()
    [10, 20]
    """

    columns: Annotated[Columns, Field(description="columns whose values are shuffled")]
    together: Annotated[bool, Field(description="whether the values of a record stay together")] = False
    within: Annotated[Names, Field(description="columns that make strata; values stay inside them")] = ()
    kind: Literal["ColumnShuffling"] = Field(default="ColumnShuffling", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage", "attribute linkage")

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        _refuse_overlap(self.columns, self.within, self)
        strata = groups(table, self.within, self)
        source = redistribute(strata, randomness)
        for name in self.columns:
            refuse_constant(groups(table, (name,), self), name, self)
            table = replace_column(table, name, column_of(table, name, self).take(pa.array(source)))
            if not self.together:
                source = redistribute(strata, randomness)
        return MaskedTable(table)


@declared(kind_of=Method)
class Shuffling(ColumnMethod):
    """Values are handed out anew so that ranks still depend on each other as before.

    The ranks of all columns become normal scores, with an assumed normal distribution that has the rank
    correlations ρ of the table: its correlations are 2 sin(π ρ / 6). New scores of the masked columns are
    drawn given those of the columns in `given`, independently of the masked values; the record with the r-th
    smallest new score gets the r-th smallest value. Columns keep their values, and rank correlations about
    stay, while a masked value reveals no more about its record than `given` does. Muralidhar and Sarathy,
    Data Shuffling (2006).

    >>> table = pa.table({"age": [20, 30, 40, 50], "income": [1, 2, 4, 3]})
    >>> sorted(Shuffling("income", given="age").mask(Rows.of(table), Randomness()).table["income"].to_pylist())
    [1, 2, 3, 4]
    """

    columns: Annotated[Columns, Field(description="columns whose values are shuffled")]
    given: Annotated[Names, Field(description="columns that stay and that the new values depend on")] = ()
    kind: Literal["Shuffling"] = Field(default="Shuffling", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage", "attribute linkage")

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        _refuse_overlap(self.columns, self.given, self)
        if table.num_rows < 3:
            raise InputError(
                f"{self}: {table.num_rows} records are too few for correlations. At least 3 are needed"
            )
        everything = (*self.columns, *self.given)
        for name in everything:
            refuse_constant(numbers(table, name, self), name, self)
        ranked = np.column_stack([_ranks(numbers(table, name, self)) for name in everything])
        masked = len(self.columns)
        scores = np.array([_normal_scores(each) for each in ranked.T[masked:]]).reshape(-1, len(ranked)).T
        new = _conditional(_normal_correlations(ranked), masked, scores, randomness)
        for at, name in enumerate(self.columns):
            order = np.argsort(numbers(table, name, self), kind="stable")
            source = np.empty(order.size, np.int64)
            source[np.argsort(new[:, at], kind="stable")] = order
            table = replace_column(table, name, column_of(table, name, self).take(pa.array(source)))
        return MaskedTable(table)


def _refuse_overlap(columns: tuple[str, ...], others: tuple[str, ...], method: object) -> None:
    for name in columns:
        if name in others:
            raise PlanError(f"{method}: column {name!r} cannot be both shuffled and kept in place")


def _ranks(values: Floats) -> Floats:
    """Return ranks from 1; equal values share the mean of theirs."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    middle: Floats = np.cumsum(counts) - (counts - 1) / 2
    return middle[place]


def _normal_scores(ranks: Floats) -> Floats:
    """Return the normal quantile of each rank."""
    distinct, place = np.unique(ranks, return_inverse=True)
    quantile = NormalDist().inv_cdf
    return np.array([quantile(rank / (ranks.size + 1)) for rank in distinct.tolist()])[place]


def _normal_correlations(ranked: Floats) -> Floats:
    """Return the correlations of a normal distribution with the rank correlations of the columns."""
    spearman = np.corrcoef(ranked, rowvar=False).reshape(ranked.shape[1], -1)
    values, vectors = np.linalg.eigh(2 * np.sin(np.pi / 6 * spearman))
    # Such a distribution need not exist: set negative eigenvalues to 0, and rescale the diagonal to 1.
    nearest = (vectors * np.clip(values, 0, None)) @ vectors.T
    scale = np.sqrt(np.diag(nearest))
    correlations: Floats = nearest / np.outer(scale, scale)
    return correlations


def _conditional(correlations: Floats, masked: int, scores: Floats, randomness: Randomness) -> Floats:
    """Draw scores of the masked columns from the normal distribution given the scores of the others."""
    inner, cross = correlations[:masked, :masked], correlations[:masked, masked:]
    # Columns that determine each other make the matrix singular, hence the pseudoinverse.
    weights = cross @ np.linalg.pinv(correlations[masked:, masked:], hermitian=True)
    values, vectors = np.linalg.eigh(inner - weights @ cross.T)
    root = vectors * np.sqrt(np.clip(values, 0, None))
    noise = randomness.normal(scores.shape[0] * masked).reshape(-1, masked)
    new_scores: Floats = scores @ weights.T + noise @ root.T
    return new_scores
