"""Preparation of a table for a plan: columns become codes, hierarchies become maps, rows become classes."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.classes.encoding import Encoding, Levels
from veil.classes.owner_sample import by_owner
from veil.classes.sample import Sample, SampleAttribute
from veil.errors import ImpossibleError, InputError, PlanError, Say
from veil.hierarchies import Hierarchy
from veil.plan.owners import check_models_of_people, rows_of_people
from veil.plan.plan import Plan
from veil.published.blank import shows_no_value
from veil.tables.arrow import dictionary_encoded, with_one_zero
from veil.tables.columns import check_comparable, count_codes, is_list
from veil.tables.rows import Rows, Selection, Weights
from veil.tables.text import canonical_text, python_values, sorted_places


@dataclass(frozen=True, eq=False)
class Prepared:
    """The collapsed sample, with its table and plan."""

    rows: Rows
    plan: Plan
    sample: Sample
    codes: tuple[NDArray[np.int32], ...]
    minimum: Levels
    maximum: Levels
    subset: NDArray[np.bool_] | None

    @property
    def table(self) -> pa.Table:
        """The cells of the rows."""
        return self.rows.table

    @property
    def encoding(self) -> Encoding:
        """How the quasi-identifiers are coded."""
        return self.sample.encoding

    def records(self, selection: Selection | None = None) -> int:
        """Return the number of records of some rows; of all by default."""
        return self.rows.records if selection is None else self.rows.weights.sum_of(selection)

    def weights_of(self, selection: Selection | None) -> NDArray[np.int64] | None:
        """Return the weights of some rows (None: of all rows); None if all are 1."""
        weights = self.rows.weights
        return (weights if selection is None else weights.take(selection)).counts

    def named_by(self, levels: NDArray[np.uint8], released_mask: NDArray[np.bool_]) -> Prepared:
        """Return a copy whose labels derive from published values only: those of some rows, on the levels of each.

        Only labels that were derived from the values of the data differ; see `Hierarchy.named_by`.
        """
        if all(hierarchy.naming is None for hierarchy in self.encoding.hierarchies):
            return self
        hierarchies = []
        for j, hierarchy in enumerate(self.encoding.hierarchies):
            masks: dict[int, NDArray[np.bool_]] = {}  # of the published values, by level
            for level in np.unique(levels[:, j]).tolist():
                masks[level] = np.zeros(hierarchy.size, np.bool_)
                masks[level][self.codes[j][released_mask & (levels[:, j] == level)]] = True
            hierarchies.append(hierarchy.named_by(masks))
        # Maps, and so codes and classes, are the same: only texts differ, which are not read below.
        sample, encoding = copy.copy(self.sample), copy.copy(self.encoding)
        encoding.hierarchies = tuple(hierarchies)
        sample.encoding = encoding
        return replace(self, sample=sample)


def columns_read(plan: Plan, columns: Iterable[str]) -> list[str]:
    """Return the columns of a table that the search reads, quasi-identifiers first."""
    names = [name for name in columns if name in plan.quasi_identifiers]
    further = [
        *plan.quality.attribute_names,
        *(n for model in plan.searched_models for n in model.attribute_names),
    ]
    person = [] if plan.person_column is None else [plan.person_column]
    return list(dict.fromkeys([*names, *further, *plan.aggregated, *person]))


def prepare(
    table: pa.Table,
    plan: Plan,
    weights: NDArray[np.int64] | None = None,
    columns: Sequence[str] | None = None,
    hierarchies_of_all: Mapping[str, Hierarchy] | None = None,
    *,
    may_be_empty: bool = False,
) -> Prepared:
    """Check the table against the plan, build the hierarchies, encode and collapse.

    `weights` are the numbers of records of the rows of a condensed table, `columns` all columns of its
    engine's table, and `hierarchies_of_all` the hierarchies of the whole table if this is a part.
    """
    plan.check_columns(table.column_names if columns is None else columns)
    rows = rows_of_people(table, plan.person_column, weights, plan.knows)
    return prepare_rows(rows, plan, hierarchies_of_all, may_be_empty=may_be_empty)


def prepare_rows(
    rows: Rows,
    plan: Plan,
    hierarchies_of_all: Mapping[str, Hierarchy] | None = None,
    *,
    may_be_empty: bool = False,
) -> Prepared:
    """Prepare rows whose owners are known, whether or not the plan has their column."""
    table = rows.table
    plan.check_items()
    if not rows.owners.are_records:
        check_models_of_people(plan.models, rows.owners.knows)
    for model in plan.models:
        model.check_table(table)
    if table.num_rows == 0 and not may_be_empty:
        raise InputError("the table has no rows: there is nothing to anonymize")
    names = [name for name in table.column_names if name in plan.quasi_identifiers]
    hierarchies, codes = [], []
    for name in names:
        of_all = None if hierarchies_of_all is None else hierarchies_of_all[name]
        hierarchy, column_codes = encode(
            table[name], plan.quasi_identifiers[name], name, rows.weights, of_all
        )
        hierarchies.append(hierarchy)
        codes.append(column_codes)
    minimum, maximum = level_range(plan, names, hierarchies)
    if plan.items and not rows.reduced().owners.are_records:
        raise PlanError(
            "items can only be counted if everybody has one row in one table: give one table with all "
            "items of a person, or leave ",
            Say("items"),
            " out",
        )
    further = [name for name in columns_read(plan, names) if name not in (*names, plan.person_column)]
    for name in further:
        if name not in table.column_names:
            raise PlanError(f"{plan.quality} reads column {name!r}, which the table does not have")
    attributes = tuple(_attribute(table[name], name, _order(plan, name), plan.marker) for name in further)
    subset = _subset(table, plan)
    encoding = Encoding(names, hierarchies)
    sample = Sample(
        encoding,
        codes,
        attributes,
        subset,
        microaggregated=plan.aggregated,
        weights=rows.weights,
        squares=plan.quality.needs_squares,
        owners=rows.owners,
    )
    for model in plan.searched_models:
        owner_sample = by_owner(sample, model.views[0])
        smallest = model.minimal_class_size(owner_sample)
        if smallest > owner_sample.records and not may_be_empty:
            raise ImpossibleError(
                f"{model} needs classes of {rows.spell(smallest)}, but the table has only {owner_sample.records:,}: "
                "no release with any information can satisfy it"
            )
    return Prepared(rows, plan, sample, tuple(codes), minimum, maximum, subset)


def distinct_values(
    column: pa.ChunkedArray, weights: NDArray[np.int64] | None = None
) -> tuple[pa.Array, NDArray[np.int64]]:
    """Return the distinct values of a column, a missing one included, and how often each occurs."""
    values, indices = dictionary_encoded(column)
    return values, count_codes(indices, len(values), weights)


def encode(
    column: pa.ChunkedArray,
    builder: Any,
    name: str,
    weights: Weights,
    hierarchy_of_all: Hierarchy | None = None,
) -> tuple[Hierarchy, NDArray[np.int32]]:
    """Build the hierarchy of a column, unless it is given, and code the cells by it."""
    canonical_text(pa.nulls(0, column.type), column=name)  # refuses types without a text form
    values, indices = dictionary_encoded(column)
    counts = weights.count_by(indices, len(values))
    hierarchy = builder.build(values, counts, name) if hierarchy_of_all is None else hierarchy_of_all
    return hierarchy, np.ascontiguousarray(hierarchy.encode(values, name)[indices], dtype=np.int32)


def _attribute(
    column: pa.ChunkedArray, name: str, order: Sequence[str] | None, marker: str | None
) -> SampleAttribute:
    """Code a sensitive column or response variable in the order of its values, a missing value last."""
    check_comparable(column, name)
    if is_list(column.type):
        return _sets(column, name)
    values, indices = dictionary_encoded(with_one_zero(column))
    first_to_last = sorted_places(values, order, name)
    rank = np.empty(len(first_to_last), np.int32)
    rank[first_to_last] = np.arange(len(first_to_last), dtype=np.int32)
    values = values.take(pa.array(first_to_last))
    blank_mask = shows_no_value(values, marker)
    return SampleAttribute(name, rank[indices], tuple(python_values(values)), blank_mask)


def _order(plan: Plan, name: str) -> Sequence[str] | None:
    """Return the order that models give to the values of a column; all must agree."""
    orders = [order for model in plan.models if (order := model.order_of(name)) is not None]
    if any(order != orders[0] for order in orders):
        raise PlanError(
            f"models give different orders to the values of column {name!r}: give all of them the same `order`"
        )
    return (orders[0] or None) if orders else None


def _sets(column: pa.ChunkedArray, name: str) -> SampleAttribute:
    """Code a column of lists, which Arrow can neither encode nor sort, by first appearance."""
    places: dict[tuple[object, ...] | None, int] = {}
    rows = (None if row is None else tuple(row) for row in column.to_pylist())
    codes = np.array([places.setdefault(row, len(places)) for row in rows], np.int32)
    values = tuple(None if each is None else list(each) for each in places)
    return SampleAttribute(name, codes, values, np.array([each is None for each in values], np.bool_))


def _subset(table: pa.Table, plan: Plan) -> NDArray[np.bool_] | None:
    """Return the rows to release; all models that define a research subset must agree."""
    masks = [(model, model.subset.mask(table)) for model in plan.models if model.subset is not None]
    if not masks:
        return None
    first, mask = masks[0]
    for model, other in masks[1:]:
        if not np.array_equal(mask, other):
            raise PlanError(f"{first} and {model} have different research subsets: all models must share one")
    if not mask.any():
        raise PlanError(f"the research subset of {first} is empty")
    return mask


def level_range(plan: Plan, names: list[str], hierarchies: list[Hierarchy]) -> tuple[Levels, Levels]:
    """Return the lowest and the highest level of each column that the plan allows."""
    minimum, maximum = [], []
    for name, hierarchy in zip(names, hierarchies, strict=True):
        low = plan.minimum_levels.get(name, 0)
        high = plan.maximum_levels.get(name, hierarchy.height)
        if high > hierarchy.height or low > high:
            level = high if high > hierarchy.height else low
            raise PlanError(
                f"level {level} of column {name!r} does not exist: its hierarchy has levels 0 to {hierarchy.height}"
            )
        minimum.append(low)
        maximum.append(high)
    return tuple(minimum), tuple(maximum)
