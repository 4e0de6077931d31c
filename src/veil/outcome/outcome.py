"""What a method made of a table."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.classes.encoding import Levels
from veil.classes.sample import Sample
from veil.plan.prepare import Prepared
from veil.published.finding import Finding


class Part(NamedTuple):
    """Records that are generalized to the same levels: row numbers of the input."""

    levels: Levels
    rows: NDArray[np.int64]


def taken(prepared: Prepared, rows: NDArray[np.int64]) -> Prepared:
    """Return some rows as a table of its own; models go on comparing its classes with the whole one."""
    sample, codes = prepared.sample, tuple(column[rows] for column in prepared.codes)
    weights = None if prepared.weights is None else prepared.weights[rows]
    some = Sample(
        sample.encoding,
        list(codes),
        tuple(dataclasses.replace(each, codes=each.codes[rows]) for each in sample.attributes),
        microaggregated=sample.microaggregated,
        weights=weights,
        squares=prepared.plan.quality.needs_squares,
        baseline=sample,
    )
    return dataclasses.replace(
        prepared,
        table=prepared.table.take(pa.array(rows)),
        codes=codes,
        sample=some,
        subset=None,
        weights=weights,
    )


@dataclass(frozen=True)
class Outcome:
    """What a method made of a table.

    Attributes
    ----------
    table : pyarrow.Table
        The masked table.
    origins : array, optional
        For each row of the masked table, the input row it stands for; None if rows stayed where they were.
    apart : dict
        Further tables by name: the second table of an Anatomy release, the key to pseudonyms.
    findings : tuple
        What the method promises, checked on the masked table.
    facts : dict
        What a person wants to know about the run: numbers and short texts by name.
    """

    table: pa.Table
    origins: NDArray[np.int64] | None = None
    apart: Mapping[str, pa.Table] = field(default_factory=dict)
    findings: tuple[Finding, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Pass:
    """One pass: how the records were transformed, how many of them, and what that costs.

    Attributes
    ----------
    score : float or tuple
        Information loss of the records that were suppressed before the pass; those that it leaves suppressed count.
    factor : float, optional
        Generalization/suppression factor of the quality model; None if it has none.
    proven_optimal : bool
        Whether no transformation of these records has a better score.
    """

    transformation: dict[str, int]
    recoded: int
    score: float | tuple[float, ...]
    factor: float | None
    proven_optimal: bool

    def __str__(self) -> str:
        return f"{self.recoded} records at {self.transformation}, score {self.score}"
