"""Mondrian: classes by cutting the table recursively, each part where it is widest."""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Annotated, Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from veil.base.arrays import Codes, Integers, Mask
from veil.base.declare import declared
from veil.base.randomness import Randomness
from veil.errors import PlanError, did_you_mean
from veil.hierarchies.grid import GridInput
from veil.masking.partition.columns import Classes, Column, Labels, OrderedColumn, Scheme, Style
from veil.masking.partition.mondrian_kernels import propose, survey
from veil.masking.partition.partitioning import Arrangement, Partitioning, PartitioningMethod
from veil.outcome.method import MaskedTable, Method
from veil.plan.parameters import Columns, Models
from veil.tables.columns import count_codes
from veil.tables.rows import Rows

WORTH_A_THREAD = 20_000
"""Items from which on parts of the table are processed by threads."""

_SHARES = 8
"""Pieces of work for each thread, as they take different times."""


@declared(kind_of=Method)
class Mondrian(PartitioningMethod):
    """Cut the table into classes, as long as every part fulfils every privacy model.

    The table is one class at first. A class is cut in the column in which it is widest, compared with the
    table: a column without a hierarchy at the median, one with a hierarchy into the children of the lowest
    node above all values of the class. If a part would violate a model, the next widest column is tried; a
    class that cannot be cut is final. So a value may get different labels in different classes.
    LeFevre, DeWitt and Ramakrishnan (2006).

    - With labels="public", labels come from outside of the class. Numbers and dates without a hierarchy lie on a
      grid: cuts are at its lines, and intervals begin and end there, such as `[20, 35[`. A grid that `grids` does
      not declare has round lines, which follow from the order of magnitude of the range. Other columns without a
      hierarchy, and numbers with at most 5 different values, get one of pairs of neighbours, pairs of pairs and so
      on: `{a, b, c, d}` does not say which of them occur in the class.
    - The other labels are those of the literature: "intervals" from the least to the greatest number or date of the
      class and "sets" of its values. Each end, and each value of a set, is an exact value of somebody in the
      class, so whoever knows the others learns it.
    - The median cut is before or after the median value, where the smaller part is larger; after it, if both
      are alike. For k-anonymity this finds a cut if there is one. Other models may refuse it and would accept
      another in the same column, which is not tried.
    - Equally wide columns are tried as they are named.
    - With `relaxed`, records with the median value may go to either side, in the order of rows, so that both
      get half. Labels then overlap, and classes with equal labels become one: no harm with models that are
      monotone under generalization. Another model may be violated then: an error, and no output.
    - A missing value is a value of its own, after the largest: `{[20, 30[, NULL}` are numbers and missing.
      Not-a-number is a missing value.
    - If people have several rows, parts are judged by the people in them, as by `veil.anonymize`.
    - A model that judges all classes together, needs a population or reads labels is refused.
    - The mean of a class, with labels="means", is that of the numbers that are not missing.

    A cut looks a few times at each record of its class, and a median halves it: n log n for n records.

    >>> patients = pa.table({"zip": [11, 11, 12, 12], "age": [25, 28, 27, 39], "ill": ["flu", "gout", "flu", "cold"]})
    >>> from veil.models import KAnonymity
    >>> outcome = Mondrian(["zip", "age"], KAnonymity(2), grids={"age": 5}).mask(Rows.of(patients), Randomness())
    >>> outcome.table["zip"].to_pylist(), outcome.table["age"].to_pylist()
    (['11', '11', '12', '12'], ['[25, 30[', '[25, 30[', '[25, 40[', '[25, 40['])
    >>> outcome = Mondrian(["zip", "age"], KAnonymity(2), labels="intervals").mask(Rows.of(patients), Randomness())
    >>> outcome.table["age"].to_pylist()
    ['[25, 28]', '[25, 28]', '[27, 39]', '[27, 39]']
    """

    quasi_identifiers: Annotated[
        Columns,
        Field(description="columns that an attacker may know; as a mapping, each with its hierarchy or None"),
    ]
    models: Models
    relaxed: Annotated[
        bool, Field(description="allow records with the median value on either side of a cut")
    ] = False
    labels: Annotated[
        Style,
        Field(
            description="labels of columns without a hierarchy: public ones, or intervals, sets or means of the values "
            "of a class, which show exact values of somebody (dates become intervals with means too)"
        ),
    ] = "public"
    grids: Annotated[
        dict[str, GridInput],
        Field(
            description="where public intervals of a column may end: a width, a list of edges, or a unit such as month; "
            "by default a round width that follows from the range",
        ),
    ] = Field(default_factory=dict)
    kind: Literal["Mondrian"] = Field(default="Mondrian", repr=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in self.grids:
            if name not in self.quasi_identifiers:
                hint = did_you_mean(name, self.quasi_identifiers)
                raise PlanError(
                    f"`grids` of Mondrian names column {name!r}, which is no quasi-identifier.{hint}"
                )
            if self.quasi_identifiers[name] is not None:
                raise PlanError(
                    f"`grids` of Mondrian names column {name!r}, which has a hierarchy: leave one of them out"
                )
            if self.labels != "public":
                raise PlanError(
                    f'`grids` of Mondrian go with labels="public", but labels={self.labels!r} takes the ends of intervals '
                    "from the data: leave one of them out"
                )

    @property
    def columns_of_exact_values(self) -> tuple[str, ...]:
        if self.labels == "public":
            return ()
        return tuple(name for name, hierarchy in self.quasi_identifiers.items() if hierarchy is None)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        """Partition the table into classes of enough people, who count once for each combination of cells. Nothing is random."""
        work = Partitioning(
            rows,
            self.quasi_identifiers,
            self.models,
            style=self.labels,
            grids=self.grids,
            by_record=self.relaxed,
        )
        classes = partition(work, relaxed=self.relaxed)
        labelled = LabelledPartition.of(work.columns, classes)
        class_of_row = labelled.class_of_item[work.item_of_row]
        cells, covered = {}, []
        for column, each in zip(work.columns, labelled.labels, strict=True):
            cells[column.name] = each.labels.take(pa.array(each.of_class[class_of_row]))
            covered.append(float(each.shares @ labelled.records) / work.records)
        return work.show(cells, covered, {"partitions": labelled.records.size, **work.grids})


class LabelledPartition(NamedTuple):
    """The classes of a partition: the class of each item, and the records and labels of each class."""

    class_of_item: Integers
    records: Integers
    labels: list[Labels]

    @staticmethod
    def of(columns: list[Column], classes: Classes) -> LabelledPartition:
        """Number and label the classes."""
        class_of_item = np.empty(classes.order.size, np.int64)
        lengths = classes.ends - classes.begins
        class_of_item[classes.order] = np.repeat(np.arange(lengths.size), lengths)
        records = np.add.reduceat(classes.weights[classes.order], classes.begins)
        labels = []
        for j, column in enumerate(columns):
            if isinstance(column, OrderedColumn) and column.style == "means":
                labels.append(column.describe(_of_column(classes, class_of_item, j, column.size), 0))
            else:
                labels.append(column.describe(classes, j))
        return LabelledPartition(class_of_item, records, labels)


def _of_column(classes: Classes, class_of_item: Integers, column: int, size: int) -> Classes:
    """Return one column of the classes, sorted, so that no sum depends on the order of the items."""
    pairs, place = np.unique(class_of_item * size + classes.ranks[:, column], return_inverse=True)
    of_class, ranks = np.divmod(pairs, size)
    begins = np.searchsorted(of_class, np.arange(classes.begins.size))
    weights = count_codes(place, pairs.size, classes.weights)
    return Classes(
        ranks.astype(np.int32)[:, None],
        weights,
        np.arange(pairs.size),
        begins,
        np.append(begins[1:], pairs.size),
    )


class _Open(NamedTuple):
    """Classes that may still be cut: their places, how they are spread, and which column is next."""

    begins: Integers
    ends: Integers
    lows: Codes
    highs: Codes
    turns: NDArray[np.int16]
    tried: Integers

    def choose(self, which: Mask | slice) -> _Open:
        return _Open._make(each[which] for each in self)


_Ranges = tuple[Integers, Integers]


def partition(work: Partitioning, *, relaxed: bool = False, threads: int | None = None) -> Classes:
    """Cut until no class can be cut. The result does not depend on the number of threads."""
    return _Cutting(work, relaxed).run(threads or os.cpu_count() or 1)


class _Cutting:
    """Classes are cut in rounds: one cut is proposed for each, and all parts of a round are judged at once.

    The items of a class are contiguous in `order` and stay within their places when it is cut, so classes are
    independent of each other.
    """

    def __init__(self, work: Partitioning, relaxed: bool) -> None:
        self.judge, self.records, self.relaxed = work.judge, work.weights, relaxed
        self.scheme = Scheme.of(work.columns)
        self.arrangement = Arrangement(work)
        self.items = self.arrangement.items

    def run(self, threads: int) -> Classes:
        done: list[_Ranges] = []
        items = self.items.order.size
        waiting = self._survey(np.zeros(1, np.int64), np.array([items], np.int64))
        enough = _SHARES * threads if threads > 1 and items > WORTH_A_THREAD else items
        while 0 < waiting.begins.size <= enough:
            waiting = self._round(waiting, done)
        if waiting.begins.size:
            with ThreadPoolExecutor(threads) as pool:
                for each in pool.map(self._finish, _pieces(waiting, enough)):
                    done += each
        begins = np.concatenate([each for each, _ in done])
        ends = np.concatenate([each for _, each in done])
        places = np.argsort(begins)
        return Classes(self.items.ranks, self.records, self.items.order, begins[places], ends[places])

    def _finish(self, waiting: _Open) -> list[_Ranges]:
        done: list[_Ranges] = []
        while waiting.begins.size:
            waiting = self._round(waiting, done)
        return done

    def _survey(self, begins: Integers, ends: Integers) -> _Open:
        shape = begins.size, self.items.ranks.shape[1]
        lows, highs = np.empty(shape, np.int32), np.empty(shape, np.int32)
        turns, tried = np.empty(shape, np.int16), np.zeros(begins.size, np.int64)
        survey(self.items, begins, ends, self.scheme, lows, highs, turns)
        return _Open(begins, ends, lows, highs, turns, tried)

    def _round(self, waiting: _Open, done: list[_Ranges]) -> _Open:
        """Propose a cut of each class, and make the accepted ones. Return the classes still to be cut."""
        parts = np.empty(waiting.begins.size, np.int64)
        arrangement = self.arrangement
        propose(self.items, *waiting, self.scheme, self.judge.smallest, self.relaxed, arrangement.part, parts)
        final = parts == 0
        done.append((waiting.begins[final], waiting.ends[final]))
        waiting, parts = waiting.choose(~final), parts[~final]
        if not parts.size:
            return waiting
        begins, ends, records = arrangement.divide(waiting.begins, waiting.ends, parts)
        accepted = np.ones(parts.size, np.bool_)
        if self.judge.looks_at_values:
            fine = self.judge.accept(arrangement.arranged, begins, ends, records)
            accepted = np.logical_and.reduceat(fine, np.cumsum(parts) - parts)
        arrangement.accept(waiting.begins[accepted], waiting.ends[accepted])
        part_mask = np.repeat(accepted, parts)
        new = self._survey(begins[part_mask], ends[part_mask])
        again = waiting.choose(~accepted)
        again.tried[:] += 1
        both: Iterable[Any] = zip(again, new, strict=True)
        return _Open._make(np.concatenate(each) for each in both)


def _pieces(waiting: _Open, number: int) -> Iterable[_Open]:
    """Split the classes into pieces with about as many items each."""
    reached = np.cumsum(waiting.ends - waiting.begins)
    piece = (reached - 1) * number // reached[-1]
    bounds = np.flatnonzero(np.diff(piece, prepend=-1, append=number))
    for begin, end in pairwise(bounds.tolist()):
        yield waiting.choose(slice(begin, end))
