"""Recoding cell by cell under any model that judges classes: rounds of many small moves, judged together.

A move opens a label, or widens one, and pulls records there that gain by it; what is left of a class that
becomes too small goes to other classes. The moves of a round touch no class in common, so that one call of each
criterion decides on all of them: a move is carried out if every class that it touches is acceptable. Moves that
cost something are taken now and then, ever more rarely (simulated annealing: Kirkpatrick, Gelatt and Vecchi
1983); the cheapest recoding of all rounds is returned, or the start if it is no worse.

Classes are judged as readers see them: labels with the same texts are one class, on whichever levels they are,
except by models that read levels, which judge the records of each node by themselves. A criterion is exact, and
sees the whole of a class, so no promise depends on how a class came about.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Integers, Marks, Mask
from veil.base.compiled import compiling_seconds
from veil.base.progress import Progress, ProgressLike, following
from veil.classes import kernels
from veil.classes.groups import table_of_groups
from veil.classes.owner_sample import by_owner, count_owners, one_value_each
from veil.classes.owners import Persons
from veil.classes.table import ClassTable
from veil.hierarchies import Hierarchy
from veil.models.base import ClassCriterion, HasMinimalSize, PrivacyModel, SampleCriterion, views_of
from veil.plan.prepare import Prepared
from veil.recoding.cells import judged_kernels as moves
from veil.recoding.cells.judged_labels import (
    Knobs,
    Round,
    TextSpace,
    TextState,
    number_labels,
    prepare_round,
    read_levels,
    unusual,
)
from veil.recoding.cells.recoding import CellRecoding
from veil.recoding.problem import UNIT, CellProblem

_WARM = 0.02
"""Temperature at the beginning, as a share of what a suppressed record costs."""

_COLD = 0.0005
"""Temperature at the end of annealing, before the last rounds without any."""

_MANY = 2**62
"""More than any number of values."""

_LARGEST_COUNTS = 1 << 26
"""Classes times sensitive values for which counts of all classes fit in memory easily."""


def why_not(prepared: Prepared, models: Sequence[PrivacyModel]) -> str | None:
    """Return why records cannot be recoded cell by cell under these models, and what to take instead; None if they can."""
    sample = prepared.sample
    for model in models:
        if model.subset is not None:
            return (
                f"{model} defines a research subset, and nobody could tell which label applies to people outside it. "
                "Anonymize only the rows of the subset"
            )
        views = list(views_of(model, sample))
        if any(isinstance(model.bind(view), SampleCriterion) for view in views) or model.reads == "unions":
            return (
                f"{model} judges all classes together, not each by itself. Use a model that judges classes, such as "
                "KAnonymity, or recode with one level for each column"
            )
    if prepared.sample.microaggregated:
        names = ", ".join(map(repr, prepared.sample.microaggregated))
        return (
            f"the values of {names} are aggregated by class, and what that loses cannot be said of single cells. "
            "Leave microaggregation out, or recode with one level for each column"
        )
    return None


def improve(
    prepared: Prepared,
    models: Sequence[PrivacyModel],
    start: CellRecoding,
    *,
    seconds: float,
    threads: int | None = None,
    cancel: Callable[[], bool] | None = None,
    progress: ProgressLike | Progress = None,
    seed: int = 0,
    clock: Callable[[], float] = time.perf_counter,
) -> CellRecoding:
    """Return a recoding that costs no more than the start, and under which every model holds if it holds there.

    The start is returned unchanged if an attacker may know all rows of people with several rows: moving one row
    changes the class of every row of its owner, and of those who had the same.
    """
    sample = prepared.sample
    if sample.rows < 2 or (isinstance(sample.persons, Persons) and sample.persons.all_rows):
        return start
    search = _Search(prepared, models, start, seed)
    with following(progress) as tracker:
        tracker.phase("improving cells")
        search.run(_Budget(seconds, clock, cancel or (lambda: False)), tracker)
    return search.result()


class _Budget:
    """The time that is left, without that of compilation, and whether somebody has cancelled."""

    def __init__(self, seconds: float, clock: Callable[[], float], cancelled: Callable[[], bool]) -> None:
        self.seconds, self.clock, self.cancelled = seconds, clock, cancelled
        self.start = clock() - compiling_seconds()

    @property
    def share(self) -> float:
        """Share of the time that has passed."""
        passed = self.clock() - compiling_seconds() - self.start
        return max(0.0, passed / self.seconds) if self.seconds > 0 else 1.0

    @property
    def over(self) -> bool:
        """Whether to stop."""
        return self.share >= 1 or self.cancelled()


class ClassJudge:
    """Decides which groups of rows are acceptable classes."""

    def __init__(self, prepared: Prepared, models: Sequence[PrivacyModel]) -> None:
        self.prepared, self.sample = prepared, prepared.sample
        self.weights = prepared.rows.weights.array
        self.smallest = 1
        self.by_class: list[ClassCriterion] = []
        self.by_node: list[ClassCriterion] = []
        for model in models:
            part = model.for_part(by_owner(self.sample, model.views[0]))
            for view in views_of(part, self.sample):
                criterion = part.bind(view)
                known: object = criterion
                size = known.smallest if isinstance(known, HasMinimalSize) else part.minimal_class_size(view)
                self.smallest = max(self.smallest, size)
                if criterion is None:
                    continue
                assert not isinstance(criterion, SampleCriterion)
                if isinstance(self.sample.persons, Persons):
                    self.by_class += one_value_each(view, part.attribute_names)
                (self.by_node if part.reads == "levels" else self.by_class).append(criterion)

    @property
    def reads_sizes_only(self) -> bool:
        """Whether a class is acceptable if it has enough records."""
        return not self.by_class and not self.by_node and not isinstance(self.sample.persons, Persons)

    def reject(
        self, rows: Integers, groups: Codes, number: int, levels_of: Callable[[Integers], NDArray[np.uint8]]
    ) -> Marks:
        """Return marks of the groups that a model rejects, given the group of each of some rows.

        `levels_of` returns the levels of rows, which few models read.
        """
        table = self._counted(table_of_groups(self.sample, self.weights, rows, groups, number))
        rejected = (table.count < self.smallest).astype(np.uint8)
        for criterion in self.by_class:
            criterion.reject(table, rejected)
        if self.by_node:
            self._reject_nodes(rows, groups, levels_of(rows), rejected)
        return rejected

    def _counted(self, table: ClassTable) -> ClassTable:
        persons = self.sample.persons
        return count_owners(table, persons) if isinstance(persons, Persons) else table

    def _reject_nodes(
        self, rows: Integers, groups: Codes, levels: NDArray[np.uint8], rejected: Marks
    ) -> None:
        """Judge the rows of each group that are on the same levels by themselves."""
        encoding = self.sample.encoding
        nodes, of_row = np.unique(levels, axis=0, return_inverse=True)
        for number, node in enumerate(nodes.tolist()):
            here = of_row.reshape(-1) == number
            names, part = np.unique(groups[here], return_inverse=True)
            there, codes = rows[here], part.reshape(-1).astype(np.int32)
            plain = table_of_groups(self.sample, self.weights, there, codes, names.size)
            keys = tuple(np.zeros(names.size, np.uint64) for _ in range(encoding.words))
            first = np.unique(codes, return_index=True)[1]
            for j, hierarchy in enumerate(encoding.hierarchies):
                word, shift, _ = encoding.layout[j]
                labels = hierarchy.label_map(node[j])[self.prepared.codes[j][there[first]]]
                kernels.pack(labels, int(shift), keys[word])
            table = self._counted(
                ClassTable(tuple(node), keys, plain.measures, plain.histograms, plain.people)
            )
            marks = (table.count < self.smallest).astype(np.uint8) * 0
            for criterion in self.by_node:
                criterion.reject(table, marks)
            rejected[names[marks != 0]] = 1


@dataclass(frozen=True)
class Texts:
    """The texts of all labels as numbers, with the costs of cells; see `judged_labels`."""

    starts: Integers
    heights: Integers
    flat: Codes
    costs: Integers
    cheapest: NDArray[np.uint8]
    lowest: Codes
    highest: Codes
    columns: tuple[range, ...]

    @staticmethod
    def of(problem: CellProblem) -> Texts:
        """Number the texts that the plan allows."""
        columns = len(problem.hierarchies)
        heights = np.array([hierarchy.height + 1 for hierarchy in problem.hierarchies])
        starts = np.zeros((columns, int(heights.max(initial=1))), np.int64)
        flat: list[Codes] = []
        costs: list[Integers] = []
        cheapest: list[NDArray[np.uint8]] = []
        lowest: list[int] = []
        highest: list[int] = []
        ranges, filled = [], 0
        for j, hierarchy in enumerate(problem.hierarchies):
            first = len(lowest)
            numbers: dict[object, int] = {}
            texts = np.full((hierarchy.height + 1, hierarchy.size), -1, np.int32)
            cells = np.zeros(texts.shape, np.int64)
            for level in range(hierarchy.height + 1):
                starts[j, level] = filled + level * hierarchy.size
                map_ = hierarchy.label_map(level)
                cells[level] = problem.costs[j][level][map_]
                if not problem.minimum[j] <= level <= problem.maximum[j]:
                    continue
                codes = np.empty(len(hierarchy.labels[level]), np.int32)
                for code, key in enumerate(_keys(hierarchy, level)):
                    number = numbers.setdefault(key, first + len(numbers))
                    if number == len(lowest):
                        lowest.append(level)
                        highest.append(level)
                    highest[number] = level
                    codes[code] = number
                texts[level] = codes[map_]
            # A text is as good as it is on its cheapest level.
            levels = np.repeat(np.arange(len(texts), dtype=np.uint8)[:, None], hierarchy.size, axis=1)
            for level in range(len(texts)):
                for other in range(len(texts)):
                    better = (texts[other] == texts[level]) & (cells[other] < cells[level])
                    cells[level][better] = cells[other][better]
                    levels[level][better] = other
            flat.append(texts.reshape(-1))
            costs.append(cells.reshape(-1))
            cheapest.append(levels.reshape(-1))
            filled += texts.size
            ranges.append(range(first, len(lowest)))
        return Texts(
            starts, heights, np.concatenate(flat), np.concatenate(costs), np.concatenate(cheapest),
            np.array(lowest, np.int32), np.array(highest, np.int32), tuple(ranges),
        )  # fmt: skip


def _keys(hierarchy: Hierarchy, level: int) -> list[object]:
    """Return what tells the labels of a level apart: their texts.

    Texts that derive from published values may change with these. They stay apart where their values differ, so they
    are told apart by these as well.
    """
    labels: list[object] = list(hierarchy.labels[level])
    if hierarchy.naming is None or level == 0:
        return labels
    map_ = hierarchy.label_map(level)
    return [(label, np.packbits(map_ == code).tobytes()) for code, label in enumerate(labels)]


class _Search:
    """The rounds, and the cheapest recoding so far."""

    def __init__(
        self, prepared: Prepared, models: Sequence[PrivacyModel], start: CellRecoding, seed: int
    ) -> None:
        self.start, self.judge = start, ClassJudge(prepared, models)
        self.problem = problem = CellProblem.of(prepared, self.judge.smallest)
        self.random = np.array([seed * 2 + 0x9E3779B97F4A7C15], np.uint64)
        self.texts = texts = Texts.of(problem)
        rows, columns = problem.codes.shape
        self.space = _space(prepared, models, problem, texts)
        self.most = max(16, min(4096, rows // (4 * self.judge.smallest)))
        room = rows + self.most + 1
        self.state = TextState(
            np.empty(rows, np.int32), np.empty(rows, np.int64), np.empty((room, columns), np.int32),
            np.empty(room, np.int64),
        )  # fmt: skip
        self.classes = number_labels(self.space, start.levels, start.suppressed, self.state)
        self.work = _round(self.space, room)
        people = isinstance(prepared.sample.persons, Persons)
        self.allowed = 0 if people else problem.allowed
        self.cost = int((self.state.paid * problem.counts).sum())
        self.first = self.best = self.cost
        self.groups = self.state.groups
        self.labels = self.state.labels[: self.classes]
        self.nodes = 8
        self.least_values, self.largest_distance = _MANY, 0.0
        if self.work.class_counts.size:
            there = np.flatnonzero(self.state.groups >= 0)
            accepted = np.ones(self.classes, np.bool_)
            self._learn(there, self.state.groups[there], self.classes, accepted)
        self.tally = np.zeros(6, np.int64)
        self.rounds = self.proposed = self.accepted = 0

    def run(self, budget: _Budget, progress: Progress) -> None:
        """Make rounds until the time is over."""
        idle, whole = 0, UNIT * max(1, self.problem.records)
        progress.better(self.best / whole, None)
        attempts = 8
        while not budget.over and idle < 50:
            share = budget.share
            temperature = UNIT * _WARM * (_COLD / _WARM) ** (share / 0.9) if share < 0.9 else 0.0
            changed = self.round(temperature, attempts)
            idle = 0 if changed else idle + 1
            attempts = 8 if changed else min(2 * attempts, 1 << 10)
            if self.cost < self.best:
                self.best = self.cost
                self.groups, self.labels = self.state.groups.copy(), self.state.labels[: self.classes].copy()
                progress.better(self.best / whole, None)
            progress.advance(int(1000 * min(1.0, share)), 1000, f"loss {self.best / whole:.6g}")

    def round(self, temperature: float, attempts: int) -> int:
        """Propose moves, judge them, and carry out those that are accepted. Return how many."""
        space, state, work = self.space, self.state, self.work
        count = prepare_round(space, state, self.classes, work)
        suppressed = int(self.problem.counts[state.groups < 0].sum())
        knobs = Knobs(
            self.nodes, attempts, self.most, temperature, 1 << 15, max(0, self.allowed - suppressed),
            space.shares.size > 1, self.least_values, self.largest_distance,
        )  # fmt: skip
        number, self.classes = moves.propose(space, state, work, count, knobs, self.random, self.tally)
        self.rounds += 1
        if not number:
            return 0
        bad = np.zeros(number, np.uint8)
        touched = np.flatnonzero(work.locks[: self.classes] >= 0)
        places = np.full(self.classes + 1, -1, np.int32)  # the last one is that of suppressed rows
        places[touched] = np.arange(touched.size, dtype=np.int32)
        of_row = places[work.after]
        rows = np.flatnonzero(of_row >= 0)
        groups, there = of_row[rows], np.zeros(touched.size, np.bool_)
        there[groups] = True
        if not there.all():  # classes that all rows have left
            closed = np.cumsum(there, dtype=np.int32) - 1
            groups, touched = closed[groups].astype(np.int32), touched[there]
        rejected = self.judge.reject(rows, groups, touched.size, self._levels_after)
        bad[work.locks[touched[rejected != 0]]] = 1
        if work.class_counts.size:
            self._learn(rows, groups, touched.size, rejected == 0)
        self.cost += int(moves.commit(space, state, work, bad))
        accepted = int(number - bad.sum())
        self.proposed += number
        self.accepted += accepted
        return accepted

    def _learn(self, rows: Integers, groups: Codes, number: int, accepted: Mask) -> None:
        """Note the most unusual classes that were accepted: moves to even more unusual ones are hardly worth a try."""
        different, distances = unusual(self.space.values[rows], self.space.shares, groups, number)
        self.least_values = min(self.least_values, int(different[accepted].min(initial=_MANY)))
        self.largest_distance = max(self.largest_distance, float(distances[accepted].max(initial=0.0)))

    def _levels_after(self, rows: Integers) -> NDArray[np.uint8]:
        levels = np.zeros(self.problem.codes.shape, np.uint8)
        state = self.state._replace(groups=self.work.after)
        read_levels(self.space, state, self.texts.cheapest, levels)
        return levels[rows]

    def result(self) -> CellRecoding:
        """Return the cheapest recoding, after all its classes were judged once more."""
        levels = self.start.levels.copy()
        suppressed: Mask = self.groups < 0
        state = self.state._replace(groups=self.groups, labels=self.labels)
        read_levels(self.space, state, self.texts.cheapest, levels)
        rows = np.flatnonzero(~suppressed)
        if self.best >= self.first or not rows.size:
            return self.start
        names, groups = np.unique(self.groups[rows], return_inverse=True)
        rejected = self.judge.reject(
            rows, groups.reshape(-1).astype(np.int32), names.size, lambda some: levels[some]
        )
        return self.start if rejected.any() else CellRecoding(levels, suppressed)


def _space(
    prepared: Prepared, models: Sequence[PrivacyModel], problem: CellProblem, texts: Texts
) -> TextSpace:
    """Return what the kernels read, with the rows of each text."""
    rows = len(problem.codes)
    starts, listed, filled = np.zeros(texts.lowest.size + 1, np.int64), [], 0
    for j, numbers in enumerate(texts.columns):
        levels = range(problem.minimum[j], problem.maximum[j] + 1)
        shown = [texts.flat[texts.starts[j, level] + problem.codes[:, j]] for level in levels]
        row_texts, row_numbers = [], []
        for place, here in enumerate(shown):
            new = np.logical_and.reduce([here != other for other in shown[:place]], axis=0)
            new = np.broadcast_to(new, here.shape)
            row_texts.append(here[new])
            row_numbers.append(np.flatnonzero(new))
        all_texts, all_rows = np.concatenate(row_texts), np.concatenate(row_numbers)
        listed.append(all_rows[np.argsort(all_texts, kind="stable")].astype(np.int32))
        counts = np.bincount(all_texts, minlength=numbers.stop)[numbers.start :]
        starts[numbers.start + 1 : numbers.stop + 1] = filled + np.cumsum(counts)
        filled += all_rows.size
    names = [name for model in models for name in model.attribute_names]
    values, shares = np.zeros(rows, np.int32), np.ones(1)
    if names:
        attribute = prepared.sample.attribute(names[0])
        values = attribute.codes
        records = np.bincount(values, weights=problem.counts, minlength=len(attribute.values))
        shares = records / records.sum()
    return TextSpace(
        problem.codes, problem.counts, texts.starts, texts.heights, texts.flat, texts.costs, texts.lowest,
        texts.highest, starts, np.concatenate(listed), values, shares, problem.smallest, prepared.rows.weights.are_one, UNIT,
    )  # fmt: skip


def _round(space: TextSpace, room: int) -> Round:
    """Return the memory of rounds."""
    rows = space.leaves.shape[0]
    size = 2
    while size < 2 * room:
        size *= 2
    guided = space.shares.size > 1 and room * space.shares.size <= _LARGEST_COUNTS
    node_size = 2
    while node_size < 2 * rows:
        node_size *= 2
    return Round(
        member_starts=np.empty(room + 1, np.int64),
        members=np.empty(rows, np.int32),
        slots=np.empty(size, np.int32),
        column=np.zeros(1, np.int64),
        text_starts=np.empty(space.lowest.size + 1, np.int64),
        text_classes=np.empty(room, np.int32),
        after=np.empty(rows, np.int32),
        after_paid=np.empty(rows, np.int64),
        locks=np.empty(room, np.int32),
        scratch=np.empty(rows + 1, np.int32),
        gains=np.empty(rows + 1, np.int64),
        tally=np.zeros(room, np.int64),
        met=np.empty(room, np.int32),
        worth=np.empty(room, np.int64),
        closed=np.empty(room, np.bool_),
        targets=np.empty(rows + 1, np.int32),
        others=np.empty(rows, np.int32),
        other_paid=np.empty(rows, np.int64),
        value_counts=np.empty(space.shares.size, np.int64),
        class_counts=np.empty((room, space.shares.size) if guided else (0, 1), np.int32),
        node_slots=np.empty(node_size, np.int32),
        firsts=np.empty(rows, np.int32),
        counts=np.empty(rows, np.int32),
        ranks=np.empty(rows, np.int32),
        batch=np.empty(rows, np.int32),
        sorted=np.empty(rows, np.int32),
    )
