"""The verdict of the privacy models on a cut: its classes, as the full-domain search judges those of a node.

To the models, a cut is the only node of a lattice with one level above the values of each column.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from veil.base.arrays import Codes, Floats, Integers, Mask
from veil.classes import kernels
from veil.classes.encoding import Encoding
from veil.classes.sample import Sample
from veil.classes.table import ClassTable
from veil.errors import PlanError, Say
from veil.hierarchies import Hierarchy
from veil.lattice.evaluator import Evaluator
from veil.lattice.evaluator import Verdict as NodeVerdict
from veil.models.base import PrivacyModel
from veil.plan.prepare import Prepared
from veil.quality.base import Measure, QualityModel
from veil.recoding.problem import UNIT, CellProblem


class CutVerdict(NamedTuple):
    """What a cut costs, and whether it may be published.

    `least` bounds the records that every finer cut suppresses, and `possible` is false if none may be published.
    """

    cost: int
    suppressed: int
    allowed: bool
    least: int
    possible: bool


class CutJudge:
    """The models of a plan, applied to cuts: to the level of each domain value, by column."""

    def __init__(self, prepared: Prepared, models: Sequence[PrivacyModel]) -> None:
        _refuse(prepared, models)
        self.models, self.limit = models, prepared.plan.suppression_limit
        self.sample, self.hierarchies = prepared.sample, prepared.encoding.hierarchies
        self.problem = CellProblem.of(prepared, 1)
        self.costs = self.problem.costs
        self.measure = _CellCosts()
        self.evaluator = self._evaluator(
            self._encoding([np.zeros(hierarchy.size, np.int32) for hierarchy in self.hierarchies])
        )
        # Labels and what they stand for differ from cut to cut.
        self.reads_labels = any(model.reads in ("labels", "levels") for model in models)

    @property
    def by_size(self) -> bool:
        """Whether nothing but the number of records of a class decides."""
        return (
            self.sample.persons.are_records
            and self.by_class
            and not self.evaluator.forbidding
            and not (self.evaluator.steady or self.evaluator.monotone or self.evaluator.others)
        )

    @property
    def by_class(self) -> bool:
        """Whether each class is judged by itself."""
        return not self.evaluator.on_sample and not self.evaluator.settling

    def verdict(self, levels: Sequence[Codes]) -> CutVerdict:
        """Return the cost of a cut, and whether all models hold with the suppression that the plan allows."""
        verdict = self._judge(levels)
        table, suppressed = verdict.node.table, verdict.node.tally.suppressed
        costs = np.where(verdict.node.rejected, UNIT, self.measure.of_classes(table))
        within = (
            suppressed <= self.evaluator.allowed
            if verdict.lost is None
            else verdict.lost <= self.evaluator.allowed_people
        )
        cost = int((table.count * costs).sum())
        return CutVerdict(cost, suppressed, verdict.satisfied and within, verdict.least, verdict.possible)

    def suppressed_rows(self, levels: Sequence[Codes]) -> Mask:
        """Return which rows of the table are suppressed."""
        rejected = self._judge(levels).node.rejected.astype(np.bool_)
        mask: Mask = rejected[self.evaluator.work.groups[self.sample.row_class]]
        return mask

    def _judge(self, levels: Sequence[Codes]) -> NodeVerdict:
        encoding = self._encoding(levels)
        if self.reads_labels:
            self.evaluator = self._evaluator(encoding)
        self.evaluator.encoding = encoding
        return self.evaluator.judge((1,) * len(self.hierarchies), self.evaluator.table)

    def _encoding(self, levels: Sequence[Codes]) -> Encoding:
        """Return the encoding in which level 1 of each column is the cut, and set the costs of its labels."""
        hierarchies, costs = [], []
        for hierarchy, column_levels, by_level in zip(self.hierarchies, levels, self.costs, strict=True):
            cut, pairs = cut_hierarchy(hierarchy, column_levels)
            hierarchies.append(cut)
            costs.append(np.array([by_level[level][code] for level, code in pairs], np.int64))
        encoding = Encoding(self.sample.encoding.names, hierarchies)
        self.measure.layout, self.measure.costs = encoding.layout, costs
        return encoding

    def _evaluator(self, encoding: Encoding) -> Evaluator:
        sample = copy.copy(self.sample)
        sample.encoding = encoding
        for name in ("frequencies", "value_totals"):  # those of the levels of the hierarchies
            vars(sample).pop(name, None)
        return Evaluator(sample, self.models, self.measure, self.limit)


def cut_hierarchy(hierarchy: Hierarchy, levels: Codes) -> tuple[Hierarchy, list[tuple[int, int]]]:
    """Return a hierarchy with one level, the cut, and the level and code of each of its labels.

    >>> age = Hierarchy.from_rows([["21", "2*", "*"], ["23", "2*", "*"], ["35", "3*", "*"]])
    >>> cut_hierarchy(age, np.array([1, 1, 0]))[0].labels
    (('21', '23', '35'), ('35', '2*'))
    """
    codes = np.stack([hierarchy.label_map(level) for level in range(hierarchy.height + 1)])[
        levels, np.arange(hierarchy.size)
    ]
    _, first, map_ = np.unique(
        levels * np.int64(hierarchy.size) + codes, return_index=True, return_inverse=True
    )
    pairs = list(zip(levels[first].tolist(), codes[first].tolist(), strict=True))
    cut = Hierarchy(
        (hierarchy.labels[0], tuple(hierarchy.labels[level][code] for level, code in pairs)),
        (map_.astype(np.int32),),
        (hierarchy.rows[0], np.array([hierarchy.rows[level][code] for level, code in pairs], np.int64)),
        (hierarchy.shares[0], np.array([hierarchy.shares[level][code] for level, code in pairs])),
        hierarchy.domain_size,
        ("value", "cut"),
        hierarchy.listed,
    )
    return cut, pairs


class _CellCosts(QualityModel, Measure):
    """The cost of the cells of each class, which breaks ties between classes of equal size."""

    counts_classes = True  # so that the class of each row is known
    layout: Integers
    costs: Sequence[Integers]

    def bind(self, sample: Sample) -> Measure:
        return self

    def of_classes(self, table: ClassTable) -> Integers:
        """Return the cost of a record of each class."""
        total, codes = np.zeros(len(table), np.int64), np.empty(len(table), np.int32)
        for (word, shift, mask), costs in zip(self.layout.tolist(), self.costs, strict=True):
            kernels.unpack(table.keys[word], shift, mask, codes)
            total += costs[codes]
        return total

    def class_losses(self, table: ClassTable) -> Floats:
        return (table.count * self.of_classes(table)).astype(np.float64)


def _refuse(prepared: Prepared, models: Sequence[PrivacyModel]) -> None:
    """Refuse plans whose releases are more, or less, than one cut."""
    for model in models:
        if model.subset is not None:
            raise PlanError(
                f"subtree recoding cannot protect {model}: the population outside its research subset is counted on "
                "one level. Anonymize only the rows of the subset, or choose ", Say("recoding", "full-domain"),
            )  # fmt: skip
        if model.over_neighbours:
            raise PlanError(
                f"{model} chooses its transformation privately, but a cut is chosen by looking at the data: choose ",
                Say("recoding", "full-domain"),
            )
    if prepared.plan.aggregated:
        raise PlanError(
            f"microaggregated columns have no labels to choose from: {', '.join(prepared.plan.aggregated)}. Add them "
            "to ", Say("quasi_identifiers"), " alone, or choose ", Say("recoding", "full-domain"),
        )  # fmt: skip
    if prepared.plan.choose_by != "all columns":
        raise PlanError(
            "subtree recoding chooses by all columns: give ", Say("choose_by", "all columns"), ", or choose ",
            Say("recoding", "full-domain"),
        )  # fmt: skip
