"""Common part of partitioning methods: the table as items, the decision on parts, and the measured outcome.

A partition puts every record into one class, and the records of a class get the same labels. The method
chooses the partition; that every class fulfils every privacy model is decided here, by the criteria of the
lattice search. At the end the models are verified on the cells of the output alone.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from veil.base.arrays import Codes, Integers, Marks, Mask
from veil.classes import kernels
from veil.classes.owner_sample import describe_several_values, one_value_each
from veil.classes.owners import Persons
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, Histogram
from veil.errors import NoSolutionError, PlanError
from veil.hierarchies.grid import LabelGrid
from veil.masking.partition.columns import (
    Column,
    GridColumn,
    LineBuilder,
    Style,
    TreeColumn,
    column_without_hierarchy,
    without_surprises,
)
from veil.masking.partition.items import Entries, Items, OwnerItems, RecordItems, Unlabelled
from veil.masking.partition.kernels import ItemOrder, arrange, copy_order
from veil.models.base import ClassCriterion, PrivacyModel, SampleCriterion, views_of
from veil.outcome.method import MaskedTable, Method
from veil.plan.parameters import Columns, Models
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare_rows
from veil.published.table import Published
from veil.quality.figures import quality
from veil.tables.rows import Rows

# --- judging --------------------------------------------------------------------------------------


class PartCriterion:
    """Decides, thread-safe, whether every privacy model accepts classes; none below `smallest`."""

    def __init__(self, models: Sequence[PrivacyModel], sample: Sample, items: Items) -> None:
        self.smallest = 1
        # A union of classes may break a model that its parts fulfil if people have several values.
        self.monotone = all(
            model.monotone_generalization and (items.add_up or not model.attribute_names) for model in models
        )
        self._items = items
        self._sample = sample
        self._criteria: list[tuple[PrivacyModel, ClassCriterion]] = []
        for model, owner_sample in [(each, view) for each in models for view in views_of(each, sample)]:
            self.smallest = max(self.smallest, model.minimal_class_size(owner_sample))
            criterion = model.bind(owner_sample)
            if isinstance(criterion, SampleCriterion):
                raise PlanError(
                    f"{model} judges all classes together, but a partition is made class by class: use a "
                    "model that judges single classes, such as KAnonymity, or `veil.anonymize`"
                )
            if criterion is not None:
                self._criteria.append((model, criterion))
                self._criteria += [
                    (model, each) for each in one_value_each(owner_sample, model.attribute_names)
                ]

    def over(self, items: Items) -> PartCriterion:
        """Return a criterion for other items, by the same models and against the same whole table."""
        criterion = copy.copy(self)
        criterion._items = items
        return criterion

    @property
    def looks_at_values(self) -> bool:
        """Whether the decision needs more than sums of sizes."""
        return bool(self._criteria) or not self._items.add_up

    def accept(self, order: Integers, begins: Integers, ends: Integers, records: Integers) -> Mask:
        """Return a mask of the classes that every model accepts."""
        table = self._items.parts(order, begins, ends, records)
        rejected = (table.count < self.smallest).astype(np.uint8)
        for model, criterion in self._criteria:
            _reject(model, criterion, table, rejected)
        accepted: Mask = rejected == 0
        return accepted

    def require_whole(self, order: Integers, records: int) -> None:
        """Refuse a table that is not acceptable even as one class."""
        begins, ends = np.zeros(1, np.int64), np.array([order.size], np.int64)
        table = self._items.parts(order, begins, ends, np.array([records], np.int64))
        failing: dict[str, PrivacyModel] = {}
        for model, criterion in self._criteria:
            rejected = np.zeros(1, np.uint8)
            _reject(model, criterion, table, rejected)
            if rejected[0]:
                failing[str(model)] = model
        if failing:
            failing_on = [name for model in failing.values() for name in model.attribute_names]
            raise NoSolutionError(
                f"the whole table as one class, which every partition starts from, violates {' and '.join(failing)}: "
                f"loosen the model{describe_several_values(self._sample, failing_on)}"
            )


def _reject(model: PrivacyModel, criterion: ClassCriterion, table: ClassTable, rejected: Marks) -> None:
    try:
        criterion.reject(table, rejected)
    except Unlabelled:
        raise PlanError(
            f"{model} reads hierarchy labels of classes, but a partition has its own labels: use another "
            "model, or `veil.anonymize`"
        ) from None


# --- the table as items ---------------------------------------------------------------------------


class Partitioning:
    """A table prepared for partitioning.

    Items are distinct combinations of quasi-identifiers, with their number of records as weight, or single
    records if `by_record`.
    """

    def __init__(
        self,
        rows: Rows,
        quasi_identifiers: Mapping[str, Any],
        models: Sequence[PrivacyModel],
        *,
        style: Style = "intervals",
        grids: Mapping[str, LabelGrid] = MappingProxyType({}),
        by_record: bool = False,
    ) -> None:
        self.table = rows.table
        lines = {name: LineBuilder() for name, hierarchy in quasi_identifiers.items() if hierarchy is None}
        prepared = _prepare_rows(rows, {**quasi_identifiers, **lines}, models)
        sample, encoding = prepared.sample, prepared.encoding
        self.sample, self.records, self.attributes = sample, sample.records, sample.attributes
        self.columns: list[Column] = []
        ranks = []
        for name in quasi_identifiers:
            j = encoding.names.index(name)
            hierarchy = encoding.hierarchies[j]
            column: Column = (
                column_without_hierarchy(name, lines[name], hierarchy, style, grids.get(name))
                if name in lines
                else TreeColumn(name, hierarchy)
            )
            self.columns.append(column)
            ranks.append(column.rank_of[prepared.codes[j] if by_record else _codes(sample, j)])
        self.ranks: Codes = np.stack(ranks, axis=1)
        if by_record:
            self.weights, self.item_of_row = np.ones(sample.rows, np.int64), np.arange(sample.rows)
            places = np.arange(sample.rows + 1)
            entries = [
                Entries(places, each.codes, self.weights, len(each.values)) for each in sample.attributes
            ]
        else:
            self.weights, self.item_of_row = sample.table.count, sample.row_class.astype(np.int64)
            entries = [by_item(each, len(sample.table)) for each in sample.table.histograms]
        self.items: Items = RecordItems(self.weights, tuple(entries))
        if isinstance(sample.persons, Persons):
            self.items = OwnerItems(sample.persons, self.item_of_row, self.weights.size)
        self.judge = PartCriterion(models, sample, self.items)
        self.judge.require_whole(np.arange(self.weights.size), self.records)

    def some(self, ranks: Codes, weights: Integers, entries: tuple[Entries, ...]) -> Partitioning:
        """Return a part of the table, given by its items, to be partitioned as within the whole."""
        part = copy.copy(self)
        part.ranks, part.weights, part.items = ranks, weights, RecordItems(weights, entries)
        part.judge = self.judge.over(part.items)
        return part

    @property
    def grids(self) -> dict[str, str]:
        """The grids of columns without a hierarchy, in words, as facts of the run."""
        return {
            f"grid of {each.name}": str(each.grid) for each in self.columns if isinstance(each, GridColumn)
        }

    def show(
        self, cells: Mapping[str, pa.Array], covered: Sequence[float], facts: Mapping[str, Any]
    ) -> MaskedTable:
        """Replace cells, and measure the quality; `covered` is the mean share of its domain in a cell."""
        masked = self.table
        for name, column in cells.items():
            masked = masked.set_column(masked.column_names.index(name), name, column)
        # Nothing is suppressed here: a row whose every label is the root is in a class like all others.
        published = Published(Rows.of(masked), list(cells), suppressed="none")
        domains = [column.domain_size for column in self.columns]
        measured = quality(published.sizes, covered, domains)
        return MaskedTable(masked, facts={**measured, **facts})


class Arrangement:
    """The items in the order of a partition, which starts with one class and is refined by cuts of classes.

    A cut is proposed in `part`: the part of its class to which it moves the item at each place.
    """

    def __init__(self, work: Partitioning) -> None:
        size = work.items.sizes.size
        self.items = ItemOrder(work.ranks, work.items.sizes, np.arange(size))
        self.part = np.empty(size, np.int32)
        self.arranged = np.empty(size, np.int64)

    def divide(
        self, begins: Integers, ends: Integers, parts: Integers
    ) -> tuple[Integers, Integers, Integers]:
        """Arrange classes as proposed, each in so many parts. Return the places of the parts, and their records."""
        firsts = np.concatenate([[0], np.cumsum(parts)])
        part_begins, part_ends, records = (np.empty(firsts[-1], np.int64) for _ in range(3))
        arrange(
            self.items, self.part, begins, ends, firsts, self.arranged, part_begins, part_ends, records
        )  # fmt: skip
        return part_begins, part_ends, records

    def accept(self, begins: Integers, ends: Integers) -> None:
        """Make the proposed cuts of some classes."""
        copy_order(self.items.order, self.arranged, begins, ends)


def by_item(histogram: Histogram, items: int) -> Entries:
    """Return the values of each item, from a histogram that is stored value by value."""
    order = np.argsort(histogram.classes, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(histogram.classes, minlength=items))])
    values = np.repeat(np.arange(histogram.domain, dtype=np.int32), np.diff(histogram.starts))
    return Entries(starts, values[order], histogram.counts[order], histogram.domain)


class PartitioningMethod(Method):
    """A masking method that divides a table into classes, each of which fulfils privacy models."""

    quasi_identifiers: Columns
    models: Models

    counts_owners: ClassVar[bool] = True
    if_broken: ClassVar[str] = (
        "Classes that got the labels of another became one with it, which the model does not survive: use relaxed=False, "
        "intervals or sets instead of means, or hierarchies in which no label occurs on two levels"
    )
    """As each class fulfils the models, only merged ones can break them."""

    @property
    def column_names(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return tuple(self.quasi_identifiers)

    @property
    def privacy_models(self) -> tuple[PrivacyModel, ...]:
        return self.models


def _prepare_rows(rows: Rows, builders: Mapping[str, Any], models: Sequence[PrivacyModel]) -> Prepared:
    """Check everything against the table, encode it, and collapse equal rows."""
    for model in models:
        if model.subset is not None:
            raise PlanError(
                f"{model} has a research subset, which partitioning does not support: use `veil.anonymize`, "
                "or partition only the rows of the subset with a model that needs no population"
            )
    table = rows.table
    for name, builder in builders.items():
        if isinstance(builder, LineBuilder):
            place = table.column_names.index(name)
            table = table.set_column(place, name, without_surprises(table[name], name))
    attributes = dict.fromkeys(name for model in models for name in model.attribute_names)
    plan = Plan(dict(builders), tuple(models), sensitive=tuple(attributes), others="keep", person=None)
    plan.check_columns(table.column_names)
    return prepare_rows(rows.showing(table), plan)


def _codes(sample: Sample, j: int) -> Codes:
    """Return the codes of one quasi-identifier in the distinct rows."""
    word, shift, mask = sample.encoding.layout[j].tolist()
    codes = np.empty(len(sample.table), np.int32)
    kernels.unpack(sample.table.keys[word], shift, mask, codes)
    return codes
