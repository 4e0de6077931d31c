"""Evaluate one node of the lattice: its classes, the privacy models' verdict, its score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from veil.base.arrays import Marks
from veil.base.exact import largest_count
from veil.classes import kernels
from veil.classes.encoding import Levels
from veil.classes.owner_sample import count_owners, one_value_each
from veil.classes.owners import OwnersByClass, OwnersByRecord, Persons
from veil.classes.sample import Sample
from veil.classes.table import ClassTable, roll_up
from veil.models.base import (
    BoundsKeptRecords,
    BoundsSuppression,
    ClassCriterion,
    HasLargestRemainder,
    HasMinimalSize,
    PrivacyModel,
    RulesOutNodes,
    SampleCriterion,
    views_of,
)
from veil.models.sensitive import OfVisible
from veil.quality.base import ClassSums, Evaluation, Node, QualityModel


class Verdict(NamedTuple):
    """The verdict of the privacy models on a node.

    `satisfied` is False where suppression cannot repair the node. `least` is a number of records that must be
    suppressed at this node and at every more specific one down to the source it was judged from. `possible`
    is False where this node and every more specific one cannot be anonymous. `lost` is the number of
    people who lose a row, where people may have several.
    """

    node: Node
    satisfied: bool
    least: int
    possible: bool
    lost: int | None = None


class Evaluator:
    """Models, quality and suppression limit bound to a sample, for evaluating nodes."""

    def __new__(cls, sample: Sample, *options: Any) -> Evaluator:
        """Choose once how people are counted: by records, if each has one."""
        return object.__new__(Evaluator if sample.persons.are_records else _OwnerEvaluator)

    def __init__(
        self, sample: Sample, models: Sequence[PrivacyModel], quality: QualityModel, limit: float
    ) -> None:
        self.sample = sample
        self.encoding = sample.encoding
        self.smallest = 1
        self.sensitive = {name for model in models for name in model.attribute_names}
        self.allowed = largest_count(limit, sample.records)
        self.allowed_people = 0
        self.measure = quality.bind(sample)
        self.scores_histograms = bool(quality.attribute_names or sample.microaggregated)
        self.work = sample.workspace()
        # By class: criteria whose rejected records stay rejected at more specific nodes, then the others.
        self.steady: list[ClassCriterion] = []
        self.monotone: list[ClassCriterion] = []
        self.others: list[ClassCriterion] = []
        # On the whole sample.
        self.on_sample: list[SampleCriterion] = []
        # Criteria that leave the same largest remainder in any order: they are applied first, together.
        self.settling: list[HasLargestRemainder] = []
        views = [(model, each) for model in models for each in views_of(model, sample)]
        for model, view_sample in views:
            criterion = model.bind(view_sample)
            self.smallest = max(self.smallest, _smallest(model, criterion, view_sample))
            if criterion is None:
                continue
            self._add(model, criterion, view_sample)
        by_class = [*self.steady, *self.monotone, *self.others]
        # Each with whether an impossible node proves that every more specific one is impossible, too.
        self.forbidding = [
            (criterion, criterion not in self.others)
            for criterion in by_class
            if isinstance(criterion, RulesOutNodes)
        ]
        self.keeping = [criterion for criterion in by_class if isinstance(criterion, BoundsKeptRecords)]
        self.table = sample.table

    def _add(self, model: PrivacyModel, criterion: ClassCriterion | SampleCriterion, sample: Sample) -> None:
        """Add a criterion to those that are used as it may be."""
        if isinstance(criterion, HasLargestRemainder):
            self.settling.append(criterion)
        elif isinstance(criterion, SampleCriterion):
            self.on_sample.append(criterion)
        elif model.monotone_suppression and not isinstance(criterion, OfVisible):
            self.steady.append(criterion)
        elif model.monotone_generalization:
            self.monotone.append(criterion)
        else:
            self.others.append(criterion)

    def allow(self, number: int) -> None:
        """Allow so many suppressed records, or people who lose a row, whose rows then limit the records."""
        self.allowed_people = number
        self.allowed = self.sample.persons.most_records(number)

    def evaluate(
        self, levels: Levels, source: ClassTable, *, score: bool = False, high: bool = False
    ) -> tuple[Evaluation, ClassTable]:
        """Evaluate a node from the class table of any node at or below it.

        Without `score`, only anonymous nodes are scored. With `high`, an effort is made to bound the records
        that every node between the source and this one must suppress. The class table returned is scratch
        memory of the calling thread until its next evaluation.
        """
        node, satisfied, least, possible, affected = self.judge(levels, source, high=high)
        within = (
            node.tally.suppressed <= self.allowed if affected is None else affected <= self.allowed_people
        )
        anonymous = satisfied and within
        value = self.measure.score(node) if anonymous or score else None
        base = self.measure.base(node)
        return Evaluation(levels, anonymous, node.tally, value, base, least, possible, affected), node.table

    def judge(self, levels: Levels, source: ClassTable, *, high: bool = False) -> Verdict:
        """Group a node and apply the privacy models."""
        work = self.work
        groups = self.measure.counts_classes or (high and bool(self.keeping))
        # Nothing is rolled up from a high corner, and privacy models do not read rejected classes.
        smallest = self.smallest if high and not self.scores_histograms else 0
        table = roll_up(self.encoding, source, levels, work, groups=groups, smallest=smallest)
        rejected = work.rejected[: len(table)]
        kernels.below(table.count, self.smallest, rejected, work.tally)
        tally = ClassSums(*work.tally.tolist())
        if self.steady or self.settling:
            # Records that settling criteria reject are rejected at more specific nodes, where less is left.
            tally = self._reject([*self.steady, *self.settling], table, rejected)
        least = tally.suppressed
        if high and self.keeping:
            left = work.left[: len(table)]
            kernels.kept_records(table.count, rejected, left)
            for keeping in self.keeping:
                keeping.keepable(table, left, source, work.groups[: len(source)])
            least = self.sample.records - kernels.total(left)
        if self.monotone:
            # If every class of a more specific node were acceptable to these models, so would these be.
            tally = self._reject(self.monotone, table, rejected)
            least = max(least, 1 if tally.suppressed else 0)
        if self.others:
            tally = self._reject(self.others, table, rejected)
        satisfied = possible = True
        for forbidding, monotone in self.forbidding:
            if forbidding.forbids(table):
                satisfied = False
                possible &= not monotone
        if self.settling and (self.monotone or self.others or len(self.settling) > 1):
            tally = self._settle(table, rejected)
        if self.on_sample:
            losses = self.measure.class_losses(table)
            for criterion in self.on_sample:
                if high and isinstance(criterion, BoundsSuppression):
                    least = max(least, criterion.least(table))
                criterion.suppress(table, rejected, losses)
            # Checked again: one criterion may suppress records that another one needs.
            criteria = [*self.settling, *self.on_sample]
            satisfied &= all(criterion.fulfilled(table, rejected) for criterion in criteria)
            tally = self._reject([], table, rejected)
        return Verdict(Node(levels, table, rejected, tally, work), satisfied, least, possible)

    def _settle(self, table: ClassTable, rejected: Marks) -> ClassSums:
        """Apply the settling criteria in turn until none rejects anything."""
        before = -1
        while (tally := self._reject(self.settling, table, rejected)).suppressed != before:
            before = tally.suppressed
        return tally

    def _reject(self, criteria: Sequence[ClassCriterion], table: ClassTable, rejected: Marks) -> ClassSums:
        for criterion in criteria:
            criterion.reject(table, rejected)
        kernels.tally(table.count, rejected, self.work.tally)
        return ClassSums(*self.work.tally.tolist())

    def room(self, source: ClassTable, classes: int) -> int:
        """Bound the kept classes of any node between `source` and the node last evaluated from it."""
        work = self.work
        groups = work.groups[: len(source)]
        return int(kernels.room(source.count, groups, classes, self.smallest, work.sums, work.parts))


class _OwnerEvaluator(Evaluator):
    """An evaluator for people who may have several rows.

    Only the minimal size is used as a bound. The people of a union of classes are not the sum of those of
    its parts, and a union may break a model that its parts fulfil: with {p: flu, q: HIV} in one class and
    {p: HIV, q: flu} in another, each has two values, and a view of the union flu alone.
    """

    def __init__(
        self, sample: Sample, models: Sequence[PrivacyModel], quality: QualityModel, limit: float
    ) -> None:
        super().__init__(sample, models, quality, limit)
        assert isinstance(sample.persons, Persons)
        self.persons = sample.persons
        # Nodes that are impossible for one criterion may be possible at more specific ones.
        self.keeping, self.forbidding = [], [(criterion, False) for criterion, _ in self.forbidding]
        self.allow(largest_count(limit, self.persons.number))
        if isinstance(self.table.people, OwnersByClass) and not (self.others or self.on_sample):
            enough = self.table.people.sufficient(self.smallest)
            self.table = replace(self.table, people=enough)

    def _add(self, model: PrivacyModel, criterion: ClassCriterion | SampleCriterion, sample: Sample) -> None:
        if isinstance(criterion, SampleCriterion):
            self.on_sample.append(criterion)
        else:
            self.others += [*one_value_each(sample, model.attribute_names), criterion]

    def judge(self, levels: Levels, source: ClassTable, *, high: bool = False) -> Verdict:
        """Group a node and apply the privacy models to its people: each counts once in a class."""
        work = self.work
        smallest = self.smallest if high and not self.scores_histograms else 0
        groups = self.measure.counts_classes
        table = roll_up(self.encoding, source, levels, work, groups=groups, smallest=smallest)
        people = table.people
        assert not isinstance(people, OwnersByRecord)
        by_owner = count_owners(table, self.persons, ordered=bool(self.on_sample))
        unsafe = (by_owner.count < self.smallest).astype(np.uint8)
        rejected = work.rejected[: len(table)]
        rejected[:] = people.spread(unsafe)
        # Parts of a class with too few people have too few: who loses a row here also does at finer nodes.
        tally, affected = self._reject([], table, rejected), people.rejected_owners(unsafe)
        least, possible, satisfied = tally.suppressed, affected <= self.allowed_people, True
        if self.others or self.on_sample:
            for criterion in self.others:
                criterion.reject(by_owner, unsafe)
            satisfied = not any(forbidding.forbids(by_owner) for forbidding, _ in self.forbidding)
            if self.on_sample:
                # With all rows known, classes of people are not classes of rows, which have these losses.
                losses = self.measure.class_losses(table) if isinstance(people, OwnersByClass) else None
                for each in self.on_sample:
                    each.suppress(by_owner, unsafe, losses)
                satisfied &= all(each.fulfilled(by_owner, unsafe) for each in self.on_sample)
            rejected[:] = people.spread(unsafe)
            tally, affected = self._reject([], table, rejected), people.rejected_owners(unsafe)
        return Verdict(Node(levels, table, rejected, tally, work), satisfied, least, possible, affected)


def _smallest(model: PrivacyModel, criterion: object, sample: Sample) -> int:
    return criterion.smallest if isinstance(criterion, HasMinimalSize) else model.minimal_class_size(sample)
