"""Top-down specialization: from a table without information, one label at a time becomes more specific."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from pydantic import Field

from veil.base.arrays import Codes, Integers
from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.errors import PlanError
from veil.masking.partition.columns import TreeColumn
from veil.masking.partition.partitioning import Arrangement, Partitioning, PartitioningMethod
from veil.masking.partition.specialization_kernels import divide, least_of_steps, smallest_part
from veil.outcome.method import MaskedTable, Method
from veil.plan.parameters import Columns, Models
from veil.tables.columns import column_of, encode_values
from veil.tables.rows import Rows


@declared(kind_of=Method)
class TopDownSpecialization(PartitioningMethod):
    """Replace labels by their children in the hierarchy, the most useful first, while every model is
    fulfilled.

    At first every column holds the roots of its hierarchy. One step replaces a label by its children, in all
    records that hold it (subtree generalization: other labels of the column may stay on another level). Among
    steps after which every class fulfils every privacy model, that with the highest score is taken, until
    there is none; of equal scores, that of the column named first, and there of the label whose values are
    first. The score is gain / (1 + anonymity lost): the records by which the smallest class shrinks, and as
    gain

    - without `target`, by how much the loss of the column falls (see `veil.quality.Loss`),
    - with `target`, the information gain: the entropy of the target among the records with the label, less
      its mean among those with each child.

    Fung, Wang and Yu (2005, 2007). Differences: a step without gain is made too, as it costs nothing; and any
    model that judges classes will do. One that is not monotone under generalization may refuse a step and
    accept it later, so it is tried again.

    >>> from veil import hierarchies as h
    >>> from veil.models import KAnonymity
    >>> people = pa.table({"town": ["Graz", "Linz", "Rome", "Rome", "Rome"]})
    >>> towns = h.categories({"Austria": ["Graz", "Linz"], "Italy": ["Rome"]})
    >>> outcome = TopDownSpecialization({"town": towns}, KAnonymity(2)).mask(Rows.of(people), Randomness())
    >>> outcome.table["town"].to_pylist()
    ['Austria', 'Austria', 'Rome', 'Rome', 'Rome']
    """

    quasi_identifiers: Annotated[
        Columns, Field(description="columns that an attacker may know, each with its hierarchy")
    ]
    models: Models
    target: Annotated[
        str | None, Field(description="column that the result should still tell about; None: no special one")
    ] = None
    kind: Literal["TopDownSpecialization"] = Field(default="TopDownSpecialization", repr=False, kw_only=True)

    def __post_init__(self) -> None:
        for name, hierarchy in self.quasi_identifiers.items():
            if hierarchy is None:
                raise PlanError(
                    f"`quasi_identifiers` of TopDownSpecialization should give column {name!r} a hierarchy, "
                    f'for example {{"{name}": h.auto()}}; without hierarchies, use Mondrian'
                )
        if self.target in self.quasi_identifiers:
            raise PlanError(f"column {self.target!r} cannot be both target and quasi-identifier")

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        """Specialize while classes have enough people, who count once for each combination of cells. Nothing is random."""
        target = None if self.target is None else encode_values(column_of(rows.table, self.target, self))[1]
        work = Partitioning(rows, self.quasi_identifiers, self.models)
        search = _Search(work, target)
        steps = search.run()
        cells, covered = {}, []
        for j, column in enumerate(search.columns):
            levels = search.levels[search.starts[j] : search.starts[j + 1]]
            places = column.places[levels, np.arange(column.size)]
            labels = places[work.ranks[:, j]][work.item_of_row]
            cells[column.name] = column.labels.take(pa.array(labels))
            covered.append(float(np.mean(column.shares[labels])))
        return work.show(cells, covered, {"specializations": steps})


@dataclass(frozen=True)
class _Step:
    """Replace a label, which covers the ranks from `first` to `last - 1` of a column, by its children."""

    column: int
    level: int
    first: int
    last: int
    gain: float


class _Split(NamedTuple):
    """The parts of the classes that hold the label of a step."""

    step: _Step
    classes: Integers
    begins: Integers
    ends: Integers
    records: Integers


class _Search:
    """Greedy search: a step splits the classes that hold its label, which are contiguous in `order`.

    `least[p, j]` is the smallest part of class p if its label in column j were replaced. The gain of a step
    does not depend on other columns, as it concerns all records with the label.
    """

    def __init__(self, work: Partitioning, target: Codes | None) -> None:
        self.judge = work.judge
        self.arrangement = Arrangement(work)
        self.items = self.arrangement.items
        self.columns = [column for column in work.columns if isinstance(column, TreeColumn)]
        self.starts = np.cumsum([0, *(column.size for column in self.columns)])
        self.levels = np.concatenate([np.full(column.size, column.levels - 1) for column in self.columns])
        self.nodes = [column.nodes for column in self.columns]
        self.tables = [_contingency(work, j, target) for j in range(len(self.columns))]
        self.by_target = target is not None
        self.begins, self.ends = np.zeros(1, np.int64), np.array([self.items.weights.size], np.int64)
        self.records = self.items.weights.sum(keepdims=True)
        self.least = self._smallest_parts(self.begins, self.ends)
        self.steps: list[_Step] = []
        for j, column in enumerate(self.columns):
            self._add_steps(j, column.levels - 1, 0, column.size)

    def run(self) -> int:
        """Specialize until no step is left. Return the number of steps."""
        count = 0
        while (split := self._best()) is not None:
            self._make(split)
            count += 1
        return count

    def _best(self) -> _Split | None:
        """Find the best step that every model accepts. Drop steps that will never be accepted."""
        smallest = int(self.records.min())
        step_of = np.full(self.starts[-1], -1, np.int64)
        for number, step in enumerate(self.steps):
            step_of[self.starts[step.column] + step.first : self.starts[step.column] + step.last] = number
        least = np.full(len(self.steps), smallest, np.int64)
        least_of_steps(self.items, self.begins, self.least, self.starts, step_of, least)
        # Parts only get smaller, and a monotone model that refuses parts refuses their parts.
        possible = [
            (step, left)
            for step, left in zip(self.steps, least.tolist(), strict=True)
            if left >= self.judge.smallest
        ]
        self.steps = [step for step, _ in possible]
        possible.sort(
            key=lambda each: (-each[0].gain / (1 + smallest - each[1]), each[0].column, each[0].first)
        )
        for step, _ in possible:
            split = self._split(step)
            if self.judge.accept(self.arrangement.arranged, split.begins, split.ends, split.records).all():
                return split
            if self.judge.monotone:
                self.steps.remove(step)
        return None

    def _split(self, step: _Step) -> _Split:
        """Arrange the parts of all classes with the label of a step."""
        ranks = self.items.ranks[self.items.order[self.begins], step.column]
        classes = np.flatnonzero((ranks >= step.first) & (ranks < step.last))
        old = self.begins[classes], self.ends[classes]
        parts = np.empty(classes.size, np.int64)
        nodes = self.nodes[step.column][step.level - 1]
        divide(self.items, *old, step.column, nodes, self.arrangement.part, parts)
        return _Split(step, classes, *self.arrangement.divide(*old, parts))

    def _make(self, split: _Split) -> None:
        step, classes, begins, ends, records = split
        self.arrangement.accept(self.begins[classes], self.ends[classes])
        self.levels[self.starts[step.column] + step.first : self.starts[step.column] + step.last] -= 1
        stay = np.ones(self.begins.size, np.bool_)
        stay[classes] = False
        self.begins = np.concatenate([self.begins[stay], begins])
        self.ends = np.concatenate([self.ends[stay], ends])
        self.records = np.concatenate([self.records[stay], records])
        self.least = np.concatenate([self.least[stay], self._smallest_parts(begins, ends)])
        self.steps.remove(step)
        self._add_steps(step.column, step.level - 1, step.first, step.last)

    def _smallest_parts(self, begins: Integers, ends: Integers) -> Integers:
        least = np.empty((begins.size, len(self.columns)), np.int64)
        for j, nodes in enumerate(self.nodes):
            levels = self.levels[self.starts[j] : self.starts[j + 1]]
            smallest_part(self.items, begins, ends, j, nodes, levels, least)
        return least

    def _add_steps(self, j: int, level: int, first: int, last: int) -> None:
        """Add the steps of all labels on a level, within a range of ranks, that some record holds."""
        if level == 0:
            return
        for begin, end in _stretches(self.nodes[j][level], first, last):
            if self.tables[j][begin:end].any():
                self.steps.append(_Step(j, level, begin, end, self._gain(j, level, begin, end)))

    def _gain(self, j: int, level: int, first: int, last: int) -> float:
        """Return the gain of replacing a label by its children."""
        column, table = self.columns[j], self.tables[j]
        children = _stretches(self.nodes[j][level - 1], first, last)
        counts = [table[begin:end].sum(axis=0) for begin, end in children]
        if self.by_target:
            whole = int(sum(each.sum() for each in counts))
            left = math.fsum(int(each.sum()) / whole * _entropy(each) for each in counts)
            return _entropy(sum(counts, np.zeros_like(counts[0]))) - left
        if column.domain_size <= 1:
            return 0.0
        share = column.shares[column.places[level, first]]
        saved = math.fsum(
            int(each.sum()) * (share - column.shares[column.places[level - 1, begin]])
            for each, (begin, _) in zip(counts, children, strict=True)
        )
        return saved / int(table.sum()) / (1 - 1 / column.domain_size)


def _contingency(work: Partitioning, j: int, target: Codes | None) -> Integers:
    """Count the records with each rank of a column (row) and each value of the target, if any (column)."""
    ranks = work.ranks[work.item_of_row, j].astype(np.int64)
    width = 1 if target is None else int(target.max()) + 1
    keys = ranks if target is None else ranks * width + target
    counts = np.bincount(keys, minlength=work.columns[j].size * width)
    return counts.reshape(-1, width).astype(np.int64)


def _entropy(counts: Integers) -> float:
    """Return the entropy of a distribution, in bits.

    >>> _entropy(np.array([2, 1, 1]))
    1.5
    """
    total = int(counts.sum())
    return -math.fsum(count / total * math.log2(count / total) for count in counts.tolist() if count)


def _stretches(nodes: Codes, first: int, last: int) -> list[tuple[int, int]]:
    """Return where each node begins and ends, within a range of ranks.

    >>> _stretches(np.array([0, 0, 1, 2, 2], np.int32), 1, 5)
    [(1, 2), (2, 3), (3, 5)]
    """
    bounds = [first, *(first + 1 + np.flatnonzero(np.diff(nodes[first:last]))).tolist(), last]
    return list(pairwise(bounds))
