"""Local suppression: single cells are suppressed, as few and as unimportant ones as possible."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.errors import did_you_mean
from veil.masking.parameters import Columns
from veil.masking.suppression.cells import alike_cells, few_cells
from veil.masking.suppression.owners import few_cells_of_owners
from veil.outcome.method import MaskedTable, Method
from veil.published.matching import Codes
from veil.tables.columns import column_of, encode_values, replace_column
from veil.tables.rows import Rows


@declared(kind_of=Method)
class LocalSuppression(Method):
    """Cells are left out until every record looks like at least k - 1 others.

    Which records look alike, and what is promised, depends on the meaning of a missing cell:

    * "matches_everything": a record matches another if both agree wherever neither has a missing cell. Every
      record matches at least k. This is k-anonymity after local suppression as in sdcMicro and μ-Argus, and
      takes the fewest cells. It is weaker than k-anonymity: an attacker who knows the left-out value of a
      person can rule out matching records that show another one.
    * "own_value": a missing cell is like other missing cells only. Every record shows the same as at least
      k - 1 others. This is k-anonymity against any knowledge of these columns.

    Cells that are missing from the start count like those that are left out. `importance` weighs the columns:
    the sum of the weights of all cells left out is kept small (by a heuristic; the least possible is NP-hard
    to find). Among equally important columns, one with more different values goes first, then one named
    later. With "matches_everything", no single cell could be shown again.

    A column that implies another one, such as the region of a postal code, is linked to it: where the cell of
    one is left out, so is that of the other. It is ignored otherwise, so it should not be a quasi-identifier.

    >>> people = pa.table({"sex": ["f", "m", "m", "f", "f"], "school": ["high", "high", "high", "low", "low"]})
    >>> LocalSuppression(["sex", "school"], 2).mask(Rows.of(people), Randomness()).table["school"].to_pylist()
    [None, 'high', 'high', 'low', 'low']
    """

    columns: Annotated[Columns, Field(description="columns that an attacker may know")]
    k: Annotated[int, Field(ge=2, description="records that look alike, at least")]
    importance: Annotated[
        dict[str, Annotated[float, Field(gt=0, allow_inf_nan=False)]],
        Field(description="weight of a cell, by column; 1 for columns not named"),
    ] = Field(default_factory=dict)
    missing: Annotated[
        Literal["matches_everything", "own_value"], Field(description="what a missing cell looks like")
    ] = "matches_everything"
    linked: Annotated[
        dict[str, str],
        Field(
            description="columns that lose their cell wherever another one, of `columns`, does: which one, by column"
        ),
    ] = Field(default_factory=dict)
    kind: Literal["LocalSuppression"] = Field(default="LocalSuppression", repr=False, kw_only=True)

    attacks: ClassVar[tuple[str, ...]] = ("identity linkage",)
    counts_owners: ClassVar[bool] = True

    @model_validator(mode="after")
    def _weighs_its_columns(self) -> LocalSuppression:
        for name in self.importance:
            if name not in self.columns:
                hint = did_you_mean(name, self.columns)
                raise ValueError(
                    f"`importance` of LocalSuppression names {name!r}, which is not in `columns`.{hint}"
                )
        for name, to in self.linked.items():
            if name in self.columns:
                raise ValueError(
                    f"`linked` of LocalSuppression names {name!r}, which is also in `columns`: remove it "
                    "from one of them"
                )
            if to not in self.columns:
                raise ValueError(
                    f"`linked` of LocalSuppression links {name!r} to {to!r}, which is not in `columns`."
                    f"{did_you_mean(to, self.columns)}"
                )
        return self

    @property
    def column_names(self) -> tuple[str, ...]:
        return (*self.columns, *self.linked)

    @property
    def known_columns(self) -> tuple[str, ...]:
        return self.columns

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        """Leave cells out until every record looks like records of at least k - 1 other people."""
        table = rows.table
        self.check_size(self.k, rows)
        codes = _codes(table, self.columns, self)
        weights = np.array([self.importance.get(name, 1.0) for name in self.columns])
        if self.missing == "own_value":
            hidden = alike_cells(codes, self.k, weights, rows.owners)
        elif rows.owners.are_records:
            hidden = few_cells(codes, self.k, weights)
        else:
            hidden = few_cells_of_owners(codes, self.k, weights, rows.owners)
        of = {name: at for at, name in enumerate(self.columns)}
        for name, at in {**of, **{name: of[to] for name, to in self.linked.items()}}.items():
            column = column_of(table, name, self)
            origins = pa.array(np.where(hidden[:, at], -1, np.arange(len(column))), mask=hidden[:, at])
            table = replace_column(table, name, column.take(origins))
        facts = {
            "cells left out": int(hidden.sum()),
            "share of the cells": float(hidden.mean()),
            **{f"left out of {name}": int(hidden[:, at].sum()) for name, at in of.items()},
        }
        return MaskedTable(table, facts=facts)


def _codes(table: pa.Table, columns: tuple[str, ...], method: object) -> Codes:
    result = np.empty((table.num_rows, len(columns)), np.int32)
    for at, name in enumerate(columns):
        values, codes = encode_values(column_of(table, name, method))
        valid = np.array(values.is_valid(), dtype=np.bool_)
        result[:, at] = np.where(valid, np.cumsum(valid) - 1, -1)[codes]
    return result
