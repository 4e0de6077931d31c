"""Common part of partitioning methods: the table as items, the decision on parts, and the measured outcome.

A partition puts every record into one class, and the records of a class get the same labels. The method
chooses the partition; that every class fulfils every privacy model is decided here, by the criteria of the
lattice search. At the end the models are verified on the cells of the output alone.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.classes import kernels
from veil.classes.encoding import Levels
from veil.classes.owner_sample import OneValueEach, OwnerHistograms, describe_several_values
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, Histogram
from veil.errors import NoSolutionError, PlanError
from veil.masking.partition.columns import (
    Column,
    LineBuilder,
    OrderedColumn,
    Style,
    TreeColumn,
    without_surprises,
)
from veil.masking.partition.kernels import by_item, histogram
from veil.masking.partition.owners import ItemOwners
from veil.models.base import ClassCriterion, PrivacyModel, SampleCriterion, views_of
from veil.outcome.method import Method
from veil.outcome.outcome import Outcome
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.published.table import Published
from veil.quality.figures import quality
from veil.tables.rows import Rows

# --- judging --------------------------------------------------------------------------------------


class Entries(NamedTuple):
    """Values of a further attribute by item: `values[e]` for `counts[e]` records, e from `starts[i]` on."""

    starts: NDArray[np.int64]
    values: NDArray[np.int32]
    counts: NDArray[np.int64]
    domain: int


class _Parts(ClassTable):
    """Classes outside of the lattice: their labels are not on a common level of the hierarchies."""

    def __init__(self, records: NDArray[np.int64], histograms: Sequence[Histogram]) -> None:
        object.__setattr__(self, "measures", (records,))
        object.__setattr__(self, "histograms", histograms)

    def __len__(self) -> int:
        return int(self.count.size)

    @property
    def keys(self) -> kernels.Words:
        raise _Unlabelled

    @property
    def levels(self) -> Levels:
        raise _Unlabelled


class _Unlabelled(Exception):
    """A criterion asked for the labels of a class."""


class PartCriterion:
    """Decides, thread-safe, whether every privacy model accepts classes; none below `smallest`."""

    def __init__(self, models: Sequence[PrivacyModel], sample: Sample, entries: tuple[Entries, ...]) -> None:
        self.smallest = 1
        # A union of classes may break a model that its parts fulfil if people have several values.
        self.monotone = all(
            model.monotone_generalization and (sample.persons is None or not model.attribute_names)
            for model in models
        )
        self._entries = entries
        self._sample = sample
        self._criteria: list[tuple[PrivacyModel, ClassCriterion]] = []
        for model, view, owner_sample in [
            (each, *pair) for each in models for pair in views_of(each, sample)
        ]:
            self.smallest = max(self.smallest, model.minimal_class_size(owner_sample))
            criterion = model.bind(owner_sample)
            if isinstance(criterion, SampleCriterion):
                raise PlanError(
                    f"{model} judges all classes together, but a partition is made class by class: use a "
                    "model that judges single classes, such as KAnonymity, or `veil.anonymize`"
                )
            if criterion is not None:
                self._criteria.append((model, criterion))
                if sample.persons is not None and view == "one value":
                    self._criteria += [
                        (model, OneValueEach(owner_sample, name)) for name in model.attribute_names
                    ]

    def over(self, entries: tuple[Entries, ...]) -> PartCriterion:
        """Return a criterion for other items, by the same models and against the same whole table."""
        criterion = copy.copy(self)
        criterion._entries = entries
        return criterion

    @property
    def looks_at_values(self) -> bool:
        """Whether the decision needs more than sizes."""
        return bool(self._criteria)

    def accept(
        self,
        order: NDArray[np.int64],
        begins: NDArray[np.int64],
        ends: NDArray[np.int64],
        records: NDArray[np.int64],
    ) -> NDArray[np.bool_]:
        """Return a mask of the classes that every model accepts."""
        table = self._table(order, begins, ends, records)
        rejected = (table.count < self.smallest).astype(np.uint8)
        for model, criterion in self._criteria:
            _reject(model, criterion, table, rejected)
        accepted: NDArray[np.bool_] = rejected == 0
        return accepted

    def require_whole(self, order: NDArray[np.int64], records: int) -> None:
        """Refuse a table that is not acceptable even as one class."""
        begins, ends = np.zeros(1, np.int64), np.array([order.size], np.int64)
        table = self._table(order, begins, ends, np.array([records], np.int64))
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

    def _table(
        self,
        order: NDArray[np.int64],
        begins: NDArray[np.int64],
        ends: NDArray[np.int64],
        records: NDArray[np.int64],
    ) -> ClassTable:
        return _Parts(
            records, tuple(Histogram(*histogram(order, begins, ends, *each)) for each in self._entries)
        )


class OwnerPartCriterion(PartCriterion):
    """Decides in people: each counts once in a class, regardless of how many of their items it holds."""

    def __init__(self, models: Sequence[PrivacyModel], sample: Sample, item_owners: ItemOwners) -> None:
        super().__init__(models, sample, ())
        self._item_owners = item_owners

    @property
    def looks_at_values(self) -> bool:
        """Always: the people of a part are not the sum of those of its items."""
        return True

    def _table(
        self,
        order: NDArray[np.int64],
        begins: NDArray[np.int64],
        ends: NDArray[np.int64],
        records: NDArray[np.int64],
    ) -> ClassTable:
        people = self._item_owners.in_parts(order, begins, ends)
        return _Parts(people.counts, OwnerHistograms(people.pairs, people.counts, self._item_owners.persons))


def _reject(
    model: PrivacyModel, criterion: ClassCriterion, table: ClassTable, rejected: NDArray[np.uint8]
) -> None:
    try:
        criterion.reject(table, rejected)
    except _Unlabelled:
        raise PlanError(
            f"{model} reads hierarchy labels of classes, but a partition has its own labels: use another "
            "model, or `veil.anonymize`"
        ) from None


# --- the table as items ---------------------------------------------------------------------------


class Partitioning:
    """A table prepared for partitioning.

    Items are distinct combinations of quasi-identifiers, with their number of records as weight, or single
    records with `rows`. `weights` are the records of each row of the table, if not one, and `person` is the
    column that identifies people, if they may have several rows.
    """

    def __init__(
        self,
        table: pa.Table,
        quasi_identifiers: Mapping[str, Any],
        models: Sequence[PrivacyModel],
        *,
        style: Style = "intervals",
        rows: bool = False,
        weights: NDArray[np.int64] | None = None,
        person: str | None = None,
    ) -> None:
        self.table, self.models, self.person = table, models, person
        lines = {name: LineBuilder() for name, hierarchy in quasi_identifiers.items() if hierarchy is None}
        prepared = _prepare_rows(table, {**quasi_identifiers, **lines}, models, weights, person)
        sample, encoding = prepared.sample, prepared.encoding
        self.sample, self.records, self.attributes = sample, sample.records, sample.attributes
        self.columns: list[Column] = []
        ranks = []
        for name in quasi_identifiers:
            j = encoding.names.index(name)
            hierarchy = encoding.hierarchies[j]
            column: Column
            if name in lines:
                column = OrderedColumn(name, lines[name], hierarchy, style)
            else:
                column = TreeColumn(name, hierarchy)
            self.columns.append(column)
            ranks.append(column.rank_of[prepared.codes[j] if rows else _codes(sample, j)])
        self.ranks: NDArray[np.int32] = np.stack(ranks, axis=1)
        if rows:
            self.weights, self.item_of_row = np.ones(sample.rows, np.int64), np.arange(sample.rows)
            places = np.arange(sample.rows + 1)
            entries = [
                Entries(places, each.codes, self.weights, len(each.values)) for each in sample.attributes
            ]
        else:
            self.weights, self.item_of_row = sample.table.count, sample.row_class.astype(np.int64)
            entries = [
                Entries(*by_item(each.starts, each.classes, each.counts, len(sample.table)), each.domain)
                for each in sample.table.histograms
            ]
        self.item_owners: ItemOwners | None = None
        self.judge = PartCriterion(models, sample, tuple(entries))
        if sample.persons is not None:
            self.item_owners = ItemOwners.of(sample.persons, self.item_of_row, self.weights.size)
            self.judge = OwnerPartCriterion(models, sample, self.item_owners)
        self.judge.require_whole(np.arange(self.weights.size), self.records)

    @property
    def owner_counts(self) -> NDArray[np.int64]:
        """The number of people of each item: its records, if each is a person."""
        return self.weights if self.item_owners is None else self.item_owners.people

    def some(
        self, ranks: NDArray[np.int32], weights: NDArray[np.int64], entries: tuple[Entries, ...]
    ) -> Partitioning:
        """Return a part of the table, given by its items, to be partitioned as within the whole."""
        part = copy.copy(self)
        part.ranks, part.weights, part.judge = ranks, weights, self.judge.over(entries)
        return part

    def outcome(
        self,
        method: Method,
        cells: Mapping[str, pa.Array],
        covered: Sequence[float],
        facts: Mapping[str, Any],
    ) -> Outcome:
        """Replace cells, and measure the quality; `covered` is the mean share of its domain in a cell."""
        masked = self.table
        for name, column in cells.items():
            masked = masked.set_column(masked.column_names.index(name), name, column)
        # Nothing is suppressed here: a row whose every label is the root is in a class like all others.
        published = Published(Rows.of(masked), list(cells), suppressed="none")
        domains = [column.domain_size for column in self.columns]
        measured = quality(published.sizes, covered, domains)
        return method.outcome(self.table, masked, facts={**measured, **facts})


SAME_LABELS = (
    "Classes that got the labels of another became one with it, which the model does not survive: use relaxed=False, "
    "intervals or sets instead of means, or hierarchies in which no label occurs on two levels"
)
"""Advice if a partition breaks its models: as each class fulfils them, only merged ones can be the cause."""


def _prepare_rows(
    table: pa.Table,
    builders: Mapping[str, Any],
    models: Sequence[PrivacyModel],
    weights: NDArray[np.int64] | None,
    person: str | None,
) -> Prepared:
    """Check everything against the table, encode it, and collapse equal rows."""
    for model in models:
        if model.subset is not None:
            raise PlanError(
                f"{model} has a research subset, which partitioning does not support: use `veil.anonymize`, "
                "or partition only the rows of the subset with a model that needs no population"
            )
    for name, builder in builders.items():
        if isinstance(builder, LineBuilder):
            place = table.column_names.index(name)
            table = table.set_column(place, name, without_surprises(table[name], name))
    attributes = dict.fromkeys(name for model in models for name in model.attribute_names)
    plan = Plan(dict(builders), tuple(models), sensitive=tuple(attributes), others="keep", person=person)
    return prepare(table, plan, weights)


def _codes(sample: Sample, j: int) -> NDArray[np.int32]:
    """Return the codes of one quasi-identifier in the distinct rows."""
    word, shift, mask = sample.encoding.layout[j].tolist()
    codes = np.empty(len(sample.table), np.int32)
    kernels.unpack(sample.table.keys[word], shift, mask, codes)
    return codes
