"""Top and bottom coding: the tail of a column, in which people stand out, becomes one value."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import Field, model_validator

from veil.base.arrays import Integers, Mask
from veil.base.declare import declared
from veil.base.exact import least_count
from veil.base.randomness import Randomness
from veil.errors import InputError, PlanError, did_you_mean
from veil.outcome.method import MaskedTable, Method, SingleColumnMethod
from veil.tables.arrow import has_ordered_categories
from veil.tables.canonical import widened
from veil.tables.columns import column_of, encode_values, is_number, is_text, replace_column
from veil.tables.rows import Rows
from veil.tables.text import canonical_text, sorted_places

_LEAST = 3
"""Least number of records whose mean or median may be released: of two, each learns the other's value."""

_Value = int | Annotated[float, Field(allow_inf_nan=False)] | str


@declared
class _Coding(SingleColumnMethod):
    """Common part of top and bottom coding, which differ in `sign`."""

    column: Annotated[str, Field(description="column to code")]
    threshold: Annotated[_Value | None, Field(description="values at or beyond it are replaced")] = None
    quantile: Annotated[
        float | None, Field(gt=0, lt=1, description="share of the values at or below the threshold")
    ] = None
    replacement: Annotated[
        Literal["threshold", "mean", "median"],
        Field(
            description="what to show for the tail: the threshold itself, or the mean or median of the tail"
        ),
    ] = "threshold"
    value: Annotated[_Value | None, Field(description="what to show for the tail instead, such as '90+'")] = (
        None
    )
    order: Annotated[
        tuple[str, ...],
        Field(description="values of a column of text, lowest first; ordered categories have theirs"),
    ] = ()

    sign: ClassVar[int]

    @model_validator(mode="after")
    def _check(self) -> Self:
        name = type(self).__name__
        if (self.threshold is None) == (self.quantile is None):
            raise ValueError(f"{name} needs `threshold` or `quantile`, one of the two")
        if self.value is not None and self.replacement != "threshold":
            raise ValueError(f"{name} takes `value` or the {self.replacement} of the tail, not both")
        if self.order and self.threshold is not None and str(self.threshold) not in self.order:
            hint = did_you_mean(str(self.threshold), self.order)
            raise ValueError(f"`threshold` of {name} is {self.threshold!r}, which is not in `order`.{hint}")
        return self

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        table = rows.table
        values, codes = encode_values(column_of(table, self.column, self))
        counts = np.bincount(codes, minlength=len(values))
        missing = np.array(widened(values).is_null(nan_is_null=True), dtype=np.bool_)
        order = self.order
        if not order and has_ordered_categories(table[self.column].type):
            categories = table[self.column].unify_dictionaries().chunk(0).dictionary
            order = tuple(str(each) for each in canonical_text(categories, column=self.column))
        place = self._places(values, order)
        threshold = self._threshold(values, place, counts, missing)
        coded = self._at_or_beyond(values, place, threshold, order) & ~missing
        people = rows.people_in(coded[codes])
        new = self._replacement(values, np.where(coded, counts, 0), threshold, people)
        new_values = _replace_coded(values, coded, new, self.column)
        facts = {
            "threshold": threshold.as_py(),
            "value instead": new.as_py(),
            "cells": int(counts[coded].sum()),
        }
        return MaskedTable(replace_column(table, self.column, new_values.take(pa.array(codes))), facts=facts)

    def _places(self, values: pa.Array, order: tuple[str, ...]) -> Integers:
        """Return the place of each value in the order of the column."""
        if order:
            place_of = {each: at for at, each in enumerate(order)}
            texts = canonical_text(values, column=self.column)
            for each in texts:
                if each is not None and each not in place_of:
                    raise PlanError(
                        f"{self}: column {self.column!r} holds {each!r}, which is not in `order`. Add it where it "
                        "belongs"
                    )
            return np.array([-1 if each is None else place_of[each] for each in texts])
        if is_text(values.type) or pa.types.is_boolean(values.type):
            raise PlanError(
                f"{self}: column {self.column!r} holds values of type {values.type}, whose order is not known. List "
                "its values from the lowest to the highest in `order`"
            )
        place = np.empty(len(values), np.int64)
        place[sorted_places(values)] = np.arange(len(values))
        return place

    def _threshold(self, values: pa.Array, place: Integers, counts: Integers, missing: Mask) -> Any:
        if self.quantile is None:
            return self._as_value(values.type, self.threshold)
        if missing.all():
            raise InputError(f"{self}: column {self.column!r} has no values, so it has no quantiles")
        order = np.argsort(place, kind="stable")
        order = order[~missing[order]]
        if order.size == 1:
            raise InputError(
                f"{self}: column {self.column!r} has the same value in every row, so it has no tail. Give "
                "`threshold`, or leave it out"
            )
        total = np.cumsum(counts[order])
        at = int(np.searchsorted(total, max(1, least_count(self.quantile, int(total[-1])))))
        # The outermost value, which may be one person's, is never the threshold.
        return values[int(order[min(at, order.size - 2) if self.sign > 0 else max(at, 1)])]

    def _as_value(self, kind: pa.DataType, threshold: Any) -> Any:
        """Return the threshold as a value of the column; a decimal one of integers stays a decimal."""
        if is_number(kind):
            if isinstance(threshold, str):
                raise PlanError(
                    f"{self}: column {self.column!r} holds numbers, and {threshold!r} is not a number"
                )
            if not pa.types.is_integer(kind) or float(threshold).is_integer():
                return (
                    pa.scalar(threshold).cast(kind) if not pa.types.is_decimal(kind) else pa.scalar(threshold)
                )
            return pa.scalar(float(threshold))
        try:
            return pa.scalar(str(threshold)).cast(kind)
        except pa.ArrowInvalid:
            raise PlanError(
                f"{self}: column {self.column!r} holds values of type {kind}, and {threshold!r} is not one"
            ) from None

    def _at_or_beyond(
        self, values: pa.Array, place: Integers, threshold: Any, order: tuple[str, ...]
    ) -> Mask:
        if order:
            text = canonical_text(pa.array([threshold.as_py()], threshold.type))[0]
            if text not in order:
                raise PlanError(
                    f"{self}: column {self.column!r} has no category {text!r}.{did_you_mean(str(text), order)}"
                )
            limit = order.index(str(text))
            return place >= limit if self.sign > 0 else place <= limit
        compare = pc.greater_equal if self.sign > 0 else pc.less_equal
        return np.array(pc.fill_null(compare(widened(values), widened(threshold)), False), dtype=np.bool_)

    def _replacement(self, values: pa.Array, tail_counts: Integers, threshold: Any, people: int) -> Any:
        if self.value is not None:
            return pa.scalar(self.value)
        if self.replacement == "threshold":
            return threshold
        if not is_number(values.type):
            raise PlanError(
                f"{self}: values of type {values.type} have no {self.replacement}. Give `value`, or leave it out"
            )
        tail = np.repeat(np.array(values.cast(pa.float64(), safe=False)), tail_counts)
        if np.isinf(tail).any():
            raise InputError(
                f"{self}: column {self.column!r} holds infinite numbers, which have no {self.replacement}. Give "
                "`value` instead"
            )
        if people < _LEAST:
            return threshold
        return pa.scalar(float(tail.mean() if self.replacement == "mean" else np.median(tail)))


@declared(kind_of=Method)
class TopCoding(_Coding):
    """Values at or above a threshold become one value.

    The threshold is given, or is a quantile: the smallest value at or below which that share of the values
    lies, but never the greatest of the column, which may be one person's. Mean and median of fewer than three
    people would reveal their values: they become the threshold. Text as `value` makes the column text, mean
    and median make it decimal. Missing values stay.

    >>> ages = pa.table({"age": [20, 18, 23, 25]})
    >>> TopCoding("age", 21, value="21+").mask(Rows.of(ages), Randomness()).table["age"].to_pylist()
    ['20', '18', '21+', '21+']
    """

    kind: Literal["TopCoding"] = Field(default="TopCoding", repr=False, kw_only=True)

    sign: ClassVar[int] = 1


@declared(kind_of=Method)
class BottomCoding(_Coding):
    """Values at or below a threshold become one value; otherwise like `TopCoding`.

    >>> ages = pa.table({"age": [20, 18, 23, 25]})
    >>> BottomCoding("age", 23, replacement="median").mask(Rows.of(ages), Randomness()).table["age"].to_pylist()
    [20.0, 20.0, 20.0, 25.0]
    """

    kind: Literal["BottomCoding"] = Field(default="BottomCoding", repr=False, kw_only=True)

    sign: ClassVar[int] = -1


def _replace_coded(values: pa.Array, coded: Mask, new: Any, name: str) -> pa.Array:
    """Return the values with the coded ones replaced, in a type that holds both."""
    if is_number(values.type) and is_number(new.type):
        if pa.types.is_integer(values.type) and pa.types.is_integer(new.type):
            kind = values.type
        else:
            kind = values.type if pa.types.is_floating(values.type) else pa.float64()
        one, other = (widened(each.cast(kind, safe=False)) for each in (new, values))
        return pc.if_else(pa.array(coded), one, other).cast(kind)
    if values.type == new.type:
        return pc.if_else(pa.array(coded), new, values)
    texts = pa.array(canonical_text(values, column=name), pa.string())
    text = canonical_text(pa.array([new.as_py()], new.type))[0]
    return pc.if_else(pa.array(coded), pa.scalar(text), texts)
