"""Recoding cell by cell for quality models that judge classes: their sizes, or how well they predict a target.

The search is that of `cells.search`, with what classes cost besides (`ClassCosts`) and with one more move: a label that
may be dearer is filled up to the least size of a class, with the records whose classes can spare them best. What cells
lose is a small share of the objective (`SHARE_OF_LOSS`), so that among equally good classes finer labels win.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from veil.base.arrays import Codes, Floats, Integers
from veil.base.compiled import compiling_seconds, kernel
from veil.base.distinct import distinct_rows
from veil.base.progress import Progress
from veil.errors import PlanError, Say
from veil.plan.prepare import Prepared
from veil.quality import AverageClassSize, Classification, Discernibility
from veil.quality.factors import exact_factors
from veil.recoding.cells.bound import labels_that_matter
from veil.recoding.cells.improve import Items, LocalSearch
from veil.recoding.cells.labels import CellLabels, DistinctRows, cheapest_labels, fallbacks, labels_of
from veil.recoding.cells.recoding import CellRecoding
from veil.recoding.cells.ruin_and_recreate import uniform
from veil.recoding.cells.search import Field, LabelState, MoveScratch, close_label, move, open_label, undo
from veil.recoding.problem import UNIT, CellProblem
from veil.recoding.score import text_numbers

SHARE_OF_LOSS = 0.02
"""Cost of a record that loses everything, if a record of a class of least size costs 1, or one that a vote gets wrong."""

MOST_PAIRS = 4_000_000
"""Pairs of a label and a row under it that are searched."""

MOST_VALUES = 200
"""Different values of a target."""

MOST_COUNTS = 1 << 26
"""Labels times values of the target."""

HOT, COLD = 0.5, 0.0005
"""Temperatures at the start and at the end, in the same units."""

MOVES = 2000
"""Moves between two looks at the clock."""

LOOKS = 300
"""Most items that are looked at to fill a label."""


SQUARES, CLASSES, TARGET = 1, 2, 3
"""Costs of a class: the square of its records, less than none for each class, records that a vote gets wrong."""


class ClassCosts(NamedTuple):
    """What classes cost beside their cells, in `unit`s.

    For a target, `values` are the columns of `counts` for the responses of each item, `starts` the first ones of each
    response, and `counts` the records of each label by value. `minority` is the cost of a record outside of the
    majority of its class, and `tie` that of one without any. `label` and `size` are as in a state, for the items and
    labels that are counted, and `total` is the cost of all classes.
    """

    kind: int
    unit: float
    values: Codes
    starts: Integers
    counts: Codes
    minority: float
    tie: float
    label: Codes
    size: Integers
    total: Floats


@dataclass(frozen=True, eq=False)
class ClassMeasure:
    """A quality model that judges classes, for some rows: see `ClassCosts`.

    `suppressed` is the cost of a suppressed record, `values` has the values of each row by response, and `sizes` is how
    many values each response has.
    """

    kind: int
    suppressed: float
    values: Codes
    sizes: tuple[int, ...] = ()
    minority: float = 0.0
    tie: float = 0.0

    @staticmethod
    def of(prepared: Prepared, problem: CellProblem) -> ClassMeasure:
        """Return the measure of a plan."""
        quality, rows = prepared.plan.quality, len(problem.codes)
        none = np.zeros((rows, 0), np.int32)
        if isinstance(quality, Discernibility):
            return ClassMeasure(SQUARES, problem.records / problem.smallest, none)
        if isinstance(quality, AverageClassSize):
            return ClassMeasure(CLASSES, 0.0, none)
        assert isinstance(quality, Classification)
        responses = [prepared.sample.attribute(name) for name in dict.fromkeys(quality.responses)]
        s, g = map(float, exact_factors(quality.factor))
        return ClassMeasure(
            TARGET,
            quality.factor * len(responses),
            np.stack([each.codes for each in responses], axis=1).astype(np.int32),
            tuple(len(each.values) for each in responses),
            g,
            s,
        )

    def costs(self, items: Items, labels: int, smallest: int) -> ClassCosts:
        """Return the costs of classes without any item."""
        starts = np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)
        return ClassCosts(
            self.kind,
            float(smallest),
            (self.values[items.origin] + starts[:-1]).astype(np.int32),
            starts,
            np.zeros((labels if self.sizes else 0, int(starts[-1])), np.int32),
            self.minority,
            self.tie,
            np.full(len(items.row), -1, np.int32),
            np.zeros(labels, np.int64),
            np.zeros(1),
        )


def check_classes(prepared: Prepared, only_sizes: bool) -> None:
    """Refuse a plan whose classes are judged by more than their sizes, or whose target has too many values."""
    quality = prepared.plan.quality
    if not only_sizes:
        raise PlanError(
            f"{prepared.plan.recoding} minimizes {quality} only if classes need nothing but a number of records, as for "
            "KAnonymity: use no other model, take a quality model of cells such as Loss (",
            Say("quality", "loss"),
            "), or recode the whole domain (",
            Say("recoding", "full-domain"),
            ")",
        )
    for name in quality.attribute_names:
        number = len(prepared.sample.attribute(name).values)
        if number > MOST_VALUES:
            raise PlanError(
                f"{prepared.plan.recoding} predicts targets of up to {MOST_VALUES} values, and {name!r} has {number:,}: "
                "put them into groups, or leave ",
                Say("quality"),
                " out",
            )


class ClassSearch(LocalSearch):
    """A local search in which classes have costs, and every row may move."""

    def __init__(
        self, problem: CellProblem, rows: DistinctRows, labels: CellLabels, measure: ClassMeasure, seed: int
    ) -> None:
        self.measure = measure
        super().__init__(problem, rows, Items(problem, rows, every=True), labels, seed)
        self.pool = np.arange(len(self.items.row), dtype=np.int32)

    def _lay_out(self, labels: CellLabels) -> None:
        super()._lay_out(labels)
        costs = SHARE_OF_LOSS * self.field.costs
        costs[-1] += self.measure.suppressed
        self.field = self.field._replace(costs=costs)
        self.classes = self.measure.costs(self.items, len(costs), self.problem.smallest)

    @property
    def objective(self) -> float:
        """Cost of all classes and cells."""
        return float(self.field.costs @ self.state.size + self.classes.total[0])

    def start_at(self, recoding: CellRecoding) -> None:
        """Start with the labels of a recoding, and count its classes."""
        super().start_at(recoding)
        follow(self.field, self.state, self.classes, self.pool)

    def run(self, moves: int, temperature: float) -> None:
        """Try some moves."""
        anneal_classes(
            self.field, self.state, self.classes, self.scratch, self.pool, self.random, moves, temperature,
            self.problem.smallest, self.problem.allowed,
        )  # fmt: skip


def improve_classes(
    problem: CellProblem,
    measure: ClassMeasure,
    starts: list[CellRecoding],
    *,
    seconds: float,
    cancel: Callable[[], bool],
    progress: Progress,
    seed: int = 0,
) -> tuple[CellRecoding, str]:
    """Return the recoding with the least objective after some seconds, no worse than any start, and why it ended."""
    began = time.perf_counter() - compiling_seconds()

    def elapsed() -> float:
        return time.perf_counter() - compiling_seconds() - began

    def keep() -> bool:
        return not cancel() and elapsed() < seconds

    rows = DistinctRows.of(problem)
    labels = _labels(problem, measure, rows, starts, keep)
    search = ClassSearch(problem, rows, labels, measure, seed)
    objectives = [_objective_at(search, start) for start in starts]
    best = starts[int(np.argmin(objectives))]
    least, state = _objective_at(search, best), None
    while keep():
        share = elapsed() / seconds
        search.run(MOVES, HOT * (COLD / HOT) ** share)
        progress.advance(round(1000 * share), 1000)
        if search.objective < least - 1e-9 and search.suppressed <= problem.allowed:
            least, state = search.objective, search.state.label.copy()
    ending = "cancelled" if cancel() else "time limit"
    return best if state is None else search.recoding(state, labels), ending


def _objective_at(search: ClassSearch, start: CellRecoding) -> float:
    """Return the objective of a start, infinite if the search cannot take it over within the limit of suppression."""
    search.start_at(start)
    return search.objective if search.suppressed <= search.problem.allowed else math.inf


def _labels(
    problem: CellProblem,
    measure: ClassMeasure,
    rows: DistinctRows,
    starts: list[CellRecoding],
    keep: Callable[[], bool],
) -> CellLabels:
    """Return the labels of the starts, and as many of the cheapest as there is room for."""
    further = fallbacks(rows, problem.smallest, problem.maximum)
    for start in starts:
        further += labels_of(rows, start.levels, ~start.suppressed)
    caps = np.full(len(rows), UNIT, np.int64)
    cheapest_labels(rows, problem.smallest, caps, keep)
    room = min(MOST_PAIRS, MOST_COUNTS // max(1, sum(measure.sizes)))
    first = labels_that_matter(problem, rows, caps, np.maximum(caps, UNIT // 2), further, keep, room)
    return one_of_each(problem, rows, CellLabels.of(further) if first is None else first[0])


def one_of_each(problem: CellProblem, rows: DistinctRows, labels: CellLabels) -> CellLabels:
    """Return one label of each text, the last one: records with any of them are one class to a reader."""
    _, row = np.unique(rows.of_row, return_index=True)
    codes, levels = problem.codes[row[labels.rows[labels.starts[:-1]]]], labels.nodes[labels.node]
    texts = [
        text_numbers(hierarchy)[levels[:, j], codes[:, j]] for j, hierarchy in enumerate(problem.hierarchies)
    ]
    chosen = np.zeros(len(labels.costs), np.bool_)
    chosen[distinct_rows(texts, len(chosen))[0]] = True
    return labels.take(chosen)


@kernel
def class_cost(classes: ClassCosts, label: int) -> float:
    """Return the cost of a class."""
    size = classes.size[label]
    if size == 0:
        return 0.0
    if classes.kind == SQUARES:
        return float(size) * float(size) / classes.unit
    if classes.kind == CLASSES:
        return -classes.unit
    cost = 0.0
    for r in range(classes.starts.size - 1):
        first = second = 0
        for v in range(classes.starts[r], classes.starts[r + 1]):
            count = classes.counts[label, v]
            if count > first:
                first, second = count, first
            elif count > second:
                second = count
        cost += (size - first) * classes.minority if first != second else size * classes.tie
    return cost


@kernel
def count_in(classes: ClassCosts, item: int, label: int, weight: int) -> None:
    """Count an item in a label, or out of it with a negative weight; suppressed items are in no class."""
    if label < 0 or label == classes.size.size - 1:
        return
    classes.total[0] -= class_cost(classes, label)
    classes.size[label] += weight
    for r in range(classes.values.shape[1]):
        classes.counts[label, classes.values[item, r]] += weight
    classes.total[0] += class_cost(classes, label)


@kernel
def follow(field: Field, state: LabelState, classes: ClassCosts, items: Codes) -> None:
    """Count items where they are now."""
    for item in items:
        if classes.label[item] != state.label[item]:
            count_in(classes, item, classes.label[item], -field.weights[item])
            count_in(classes, item, state.label[item], field.weights[item])
            classes.label[item] = state.label[item]


@kernel
def fill_label(
    field: Field,
    state: LabelState,
    classes: ClassCosts,
    scratch: MoveScratch,
    random: NDArray[np.uint64],
    item: int,
    label: int,
    smallest: int,
) -> tuple[int, float]:
    """Fill a label with an item and with others that their classes can spare best; return as `close_label`."""
    last = field.costs.size - 1
    need = max(field.weights[item], smallest - state.size[label])
    # The items with the largest gains among some under the label, in falling order.
    room = min(2 * need + 8, scratch.fill.size)
    size = 0
    begin = field.starts[label]
    width = field.starts[label + 1] - begin
    first = int(uniform(random) * width)
    looks = LOOKS
    for d in range(width):
        row = field.rows[begin + (first + d) % width]
        if looks <= 0:
            break
        count = field.item_starts[row + 1] - field.item_starts[row]
        skip = int(uniform(random) * count)
        for c in range(min(count, need + 8)):
            other = field.item_starts[row] + (skip + c) % count
            source = state.label[other]
            weight = field.weights[other]
            looks -= 1
            if (
                other == item
                or source == label
                or (source != last and state.size[source] - weight < smallest)
            ):
                continue
            gain = weight * (field.costs[source] - field.costs[label])
            if classes.kind == SQUARES:
                gain += 2.0 * weight * state.size[source] / classes.unit
            for r in range(classes.values.shape[1]):
                value = classes.values[other, r]
                gain += value == classes.values[item, r]
                # A value that is rare in its class is best elsewhere.
                gain -= float(classes.counts[source, value]) / max(1, state.size[source])
            if size == room and gain <= scratch.losses[size - 1]:
                continue
            p = size if size < room else size - 1
            while p > 0 and scratch.losses[p - 1] < gain:
                scratch.losses[p] = scratch.losses[p - 1]
                scratch.fill[p] = scratch.fill[p - 1]
                p -= 1
            scratch.losses[p] = gain
            scratch.fill[p] = other
            size += size < room
    count = 0
    delta = 0.0
    for p in range(-1, size):
        other = item if p < 0 else scratch.fill[p]
        source = state.label[other]
        if source != last and state.size[source] - field.weights[other] < smallest:
            if p < 0:
                return -1, 0.0
            continue
        scratch.items[count] = other
        scratch.origins[count] = source
        count += 1
        delta += field.weights[other] * (field.costs[label] - field.costs[source])
        move(field, state, other, label)
        need -= field.weights[other]
        if need <= 0:
            return count, delta
    return -1 - count, 0.0


@kernel
def anneal_classes(
    field: Field,
    state: LabelState,
    classes: ClassCosts,
    scratch: MoveScratch,
    pool: Codes,
    random: NDArray[np.uint64],
    moves: int,
    temperature: float,
    smallest: int,
    allowed: int,
) -> None:
    """Fill, open and close labels around random items of a pool, or suppress these."""
    last = field.costs.size - 1
    for _ in range(moves):
        item = pool[int(uniform(random) * pool.size)]
        if state.head[last] >= 0 and uniform(random) < 0.02:
            item = state.head[last]  # a few suppressed items would hardly ever be met
        source = state.label[item]
        weight = field.weights[item]
        row = field.item_row[item]
        begin = field.row_starts[row]
        width = field.row_starts[row + 1] - begin
        if width == 0:
            continue
        # Cheap labels more often than dear ones.
        choice = uniform(random)
        label = field.row_labels[begin + int(width * choice * choice)]
        kind = uniform(random)
        before = classes.total[0]
        if (
            kind < 0.05
            and source != last
            and state.size[source] - weight >= smallest
            and state.size[last] + weight <= allowed
        ):
            scratch.items[0], scratch.origins[0] = item, source
            count, delta = 1, weight * (field.costs[last] - field.costs[source])
            move(field, state, item, last)
        elif label == source or kind < 0.1:
            if source == last:
                continue
            count, delta = close_label(field, state, scratch, source, -1, 0, smallest, allowed)
        elif kind < 0.3 and field.costs[label] < field.costs[source]:
            count, delta = open_label(field, state, scratch, label, smallest, allowed)
        else:
            count, delta = fill_label(field, state, classes, scratch, random, item, label, smallest)
        if count < 0:
            undo(field, state, scratch, -1 - count)
            continue
        follow(field, state, classes, scratch.items[:count])
        if delta + classes.total[0] - before > -temperature * np.log(uniform(random)):
            undo(field, state, scratch, count)
            follow(field, state, classes, scratch.items[:count])
            classes.total[0] = before
