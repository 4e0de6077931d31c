"""Global recoding: one function for a whole column, from its values to coarser ones."""

from __future__ import annotations

import itertools
from typing import Annotated, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from veil.base.arrays import Integers
from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.errors import PlanError
from veil.hierarchies._labels import Text
from veil.masking.parameters import OneHierarchy
from veil.outcome.method import MaskedTable, Method, SingleColumnMethod
from veil.tables.canonical import widened
from veil.tables.columns import column_of, encode_values, numbers, replace_column, require_numbers, texts
from veil.tables.rows import Rows
from veil.tables.text import canonical_text


def _ascending(values: tuple[float, ...] | None) -> tuple[float, ...] | None:
    if values is not None and any(low >= high for low, high in itertools.pairwise(values)):
        raise ValueError(f"`breaks` of GlobalRecoding should ascend, not {list(values)}")
    return values


@declared(kind_of=Method)
class GlobalRecoding(SingleColumnMethod):
    """All values of a column are replaced by coarser ones, everywhere in the same way.

    By a level of a hierarchy (see `veil.hierarchies`); by `mapping`, from values to replacements (others
    stay); or by `breaks`, at which a column of numbers is cut into intervals that include their lower end.
    The column becomes text. Missing values stay missing, unless a hierarchy replaces them.

    >>> from veil import hierarchies as h
    >>> ages = pa.table({"age": [23, 27, 35, 71]})
    >>> GlobalRecoding("age", h.intervals(10)).mask(Rows.of(ages), Randomness()).table["age"].to_pylist()
    ['[20, 30[', '[20, 30[', '[30, 40[', '[70, 80[']
    >>> GlobalRecoding("age", breaks=[30, 65]).mask(Rows.of(ages), Randomness()).table["age"].to_pylist()
    ['<30', '<30', '[30, 65[', '>=65']
    """

    column: Annotated[str, Field(description="column to recode")]
    hierarchy: Annotated[OneHierarchy, Field(description="hierarchy that generalizes the values")] = None
    level: Annotated[int, Field(ge=0, description="level of the hierarchy")] = 1
    mapping: Annotated[
        dict[Text, Text] | None, Field(min_length=1, description="replacement of each value")
    ] = None
    breaks: Annotated[
        tuple[Annotated[float, Field(allow_inf_nan=False)], ...] | None,
        Field(min_length=1, description="where numbers are cut into intervals, ascending"),
    ] = None
    labels: Annotated[
        tuple[str, ...] | None, Field(description="names of the intervals, one more than there are breaks")
    ] = None
    kind: Literal["GlobalRecoding"] = Field(default="GlobalRecoding", repr=False, kw_only=True)

    @model_validator(mode="after")
    def _one_of_three(self) -> GlobalRecoding:
        if sum(each is not None for each in (self.hierarchy, self.mapping, self.breaks)) != 1:
            raise ValueError("GlobalRecoding needs `hierarchy`, `mapping` or `breaks`, one of the three")
        _ascending(self.breaks)
        if self.labels is not None and (self.breaks is None or len(self.labels) != len(self.breaks) + 1):
            raise ValueError(
                "`labels` of GlobalRecoding need `breaks`, with one more label than breaks, not "
                f"{len(self.labels)}"
            )
        return self

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        column = column_of(table, self.column, self)
        if self.hierarchy is not None:
            recoded = self._generalize(column)
        elif self.mapping is not None:
            recoded = self._map_values(column, self.mapping)
        else:
            recoded = self._cut(column)
        before, after = (len(encode_values(each)[0]) for each in (column, recoded))
        return MaskedTable(
            replace_column(table, self.column, recoded),
            facts={"values before": before, "values after": after},
        )

    def _generalize(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        if self.level == 0:
            return column
        values, codes = encode_values(column)
        hierarchy = self.hierarchy.build(values, np.bincount(codes, minlength=len(values)), self.column)
        if self.level > hierarchy.height:
            raise PlanError(
                f"{self}: level {self.level} does not exist, the hierarchy of column {self.column!r} has levels 0 "
                f"to {hierarchy.height}"
            )
        coarser = hierarchy.label_map(self.level)[hierarchy.encode(values, self.column)]
        labels = pa.array(hierarchy.labels[self.level], pa.string())
        return pa.chunked_array([labels.take(pa.array(coarser[codes]))])

    def _map_values(self, column: pa.ChunkedArray, mapping: dict[str, str]) -> pa.ChunkedArray:
        values, codes = encode_values(column)
        texts = canonical_text(values, column=self.column)
        labels = [each if each is None else mapping.get(each, each) for each in texts]
        if not set(texts) & set(mapping):
            raise PlanError(
                f"{self}: none of the values of `mapping` occurs in column {self.column!r}, which holds "
                f"{', '.join(repr(each) for each in texts[:5])}"
            )
        return pa.chunked_array([pa.array(labels, pa.string()).take(pa.array(codes))])

    def _cut(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        require_numbers(column, self.column, self)
        breaks = np.array(self.breaks)
        limits = texts(pa.chunked_array([pa.array(breaks)]), self.column).to_pylist()
        between = [f"[{low}, {high}[" for low, high in itertools.pairwise(limits)]
        labels = self.labels or (f"<{limits[0]}", *between, f">={limits[-1]}")
        missing = np.array(widened(column).is_null(nan_is_null=True), dtype=np.bool_)
        places: Integers = np.zeros(len(column), np.int64)
        present = pa.table({self.column: column}).filter(pa.array(~missing))
        places[~missing] = np.searchsorted(breaks, numbers(present, self.column, self), side="right")
        return pa.chunked_array([pa.array(labels, pa.string()).take(pa.array(places, mask=missing))])
