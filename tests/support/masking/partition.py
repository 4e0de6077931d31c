"""Slow twins of partitioning, in plain Python from the definitions, and small tables to try them on.

Nothing in a twin knows of the engine: a class is a list of row numbers, and the oracle judges it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from support import oracle, strategies
from veil import hierarchies as h
from veil import models as m
from veil.masking.partition.mondrian import partition
from veil.masking.partition.partitioning import Partitioning
from veil.models.base import PrivacyModel

often = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))

Rows = list[int]
Judgement = Callable[[Rows], bool]
Pair = tuple[Any, PrivacyModel]


# --- tables ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Column:
    """A quasi-identifier: its cells, and the table of its hierarchy if it has one."""

    cells: list[Any]
    hierarchy: list[list[Any]] | None = None

    @property
    def is_number(self) -> bool:
        return all(
            isinstance(each, int | float) and not isinstance(each, bool)
            for each in self.cells
            if each is not None
        )

    @cached_property
    def domain(self) -> dict[Any, tuple[Any, ...]]:
        """Labels of each value on all levels, the root that holds a forest together included."""
        assert self.hierarchy is not None
        problem = oracle.Problem([(each,) for each in self.cells], [self.hierarchy])
        domain = problem.domains[0]
        forest = len({labels[-1] for labels in domain.values()}) > 1
        return {value: (*labels, "*") if forest else labels for value, labels in domain.items()}

    @cached_property
    def values(self) -> list[Any]:
        """Different values in order, a missing one last."""
        present = sorted({each for each in self.cells if each is not None})
        return present + [None] * (None in self.cells)


@dataclass(frozen=True)
class Case:
    """A table: quasi-identifiers q0, q1, … and the further columns S, T and I."""

    columns: list[Column]
    sensitive: dict[str, list[Any]]

    @property
    def names(self) -> list[str]:
        return [f"q{j}" for j in range(len(self.columns))]

    @property
    def size(self) -> int:
        return len(self.columns[0].cells)

    @property
    def table(self) -> pa.Table:
        cells = {name: pa.array(each.cells) for name, each in zip(self.names, self.columns, strict=True)}
        return pa.table(cells | {name: pa.array(each, pa.string()) for name, each in self.sensitive.items()})

    @property
    def hierarchies(self) -> dict[str, Any]:
        return {
            name: None if each.hierarchy is None else h.table(each.hierarchy)
            for name, each in zip(self.names, self.columns, strict=True)
        }

    def rejects(self, theirs: list[Any]) -> Judgement:
        problem = oracle.Problem([()] * self.size, [], self.sensitive)
        return lambda rows: any(oracle.rejects(model, problem, (), rows) for model in theirs)


@st.composite
def columns(draw: st.DrawFn, size: int, trees: bool | None = None) -> Column:
    kind = draw(st.sampled_from(["tree"] if trees else ["integer", "float", "text", "boolean", "tree"]))
    hierarchy = None
    values: list[Any]
    if kind == "tree":
        hierarchy = draw(strategies.hierarchies(3))
        values = [row[0] for row in hierarchy]
        if len(hierarchy) > 1 and hierarchy[-1][0] is None and draw(st.booleans()):
            hierarchy.pop()  # the missing value is left to the rule for values a hierarchy does not list
    elif kind == "integer":
        values = draw(st.lists(st.integers(-3, 9), min_size=1, max_size=9))
    elif kind == "float":
        values = draw(st.lists(st.sampled_from([-1.5, 0.0, 0.1, 0.2, 0.3, 7.0]), min_size=1, max_size=6))
    else:
        values = list("abcdefg") if kind == "text" else [False, True]
    if draw(st.booleans()) and kind != "tree":
        values = [*values, None]
    cells = draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))
    return Column(cells, hierarchy)


@st.composite
def cases(draw: st.DrawFn, trees: bool | None = None, max_rows: int = 26) -> Case:
    size = draw(st.integers(1, max_rows))
    made = draw(st.lists(columns(size, trees), min_size=1, max_size=3))

    def further(values: list[Any]) -> list[Any]:
        return draw(st.lists(st.sampled_from(values), min_size=size, max_size=size))

    sensitive = {"S": further(strategies.SKEWED), "T": further(["x", "y"]), "I": further(strategies.ITEMSETS)}
    return Case(made, sensitive)


MONOTONE: list[st.SearchStrategy[Pair]] = [
    st.sampled_from([2, 3]).map(lambda l: (oracle.DistinctLDiversity("S", l), m.DistinctLDiversity("S", l))),
    st.sampled_from([1.5, 2]).map(lambda l: (oracle.EntropyLDiversity("S", l), m.EntropyLDiversity("S", l))),
    st.sampled_from([1.5, 4]).map(
        lambda c: (oracle.RecursiveCLDiversity("S", c, 2), m.RecursiveCLDiversity("S", c, 2))
    ),
    st.sampled_from([0.1, 0.3, 0.5]).map(lambda t: (oracle.TCloseness("S", t), m.TCloseness("S", t))),
    st.sampled_from([0.1, 0.3]).map(
        lambda t: (oracle.TCloseness("T", t, "ordered"), m.TCloseness("T", t, "ordered"))
    ),
    st.sampled_from([0.5, 1]).map(lambda b: (oracle.BetaLikeness("S", b), m.BetaLikeness("S", b))),
    st.sampled_from([0.6, 0.8]).map(
        lambda a: (oracle.AlphaKAnonymity("S", a, 2), m.AlphaKAnonymity("S", a, 2))
    ),
    st.sampled_from([1, 2]).map(lambda k: (oracle.KMAnonymity("I", k, 1), m.KMAnonymity("I", k, 1))),
    st.sampled_from([4, 8]).map(
        lambda k: (oracle.KMap(k, 100, 0.1), m.KMap(k, population=100, significance=0.1))
    ),
    st.sampled_from([2.5, 10]).map(
        lambda gain: (oracle.NoAttack(gain, 4), m.Profitability(no_attack=True, adversary_gain=gain, cost=4))
    ),
]
OTHERS: list[st.SearchStrategy[Pair]] = [
    st.sampled_from([1, 1.33, 2, 3]).map(
        lambda d: (oracle.DeltaDisclosure("S", d), m.DeltaDisclosure("S", d))
    ),
    st.sampled_from([1.5, 2]).map(
        lambda l: (
            oracle.EntropyLDiversity("S", l, "Grassberger"),
            m.EntropyLDiversity("S", l, "grassberger"),
        )
    ),
]


@st.composite
def promises(draw: st.DrawFn, monotone: bool | None = None) -> tuple[list[Any], list[PrivacyModel]]:
    """Draw k-anonymity with up to two other models: the oracle's, and the same ones of Veil."""
    k = draw(st.integers(1, 4))
    kinds = MONOTONE if monotone else MONOTONE + OTHERS
    further = draw(st.lists(st.one_of(kinds), max_size=2))
    theirs, ours = [oracle.KAnonymity(k)], [m.KAnonymity(k)]
    return [*theirs, *(a for a, _ in further)], [*ours, *(b for _, b in further)]


def published_classes(table: pa.Table, names: list[str]) -> list[Rows]:
    """Group rows by the cells of some columns."""
    found: dict[tuple[Any, ...], Rows] = {}
    for row, cells in enumerate(zip(*(table[name].to_pylist() for name in names), strict=True)):
        found.setdefault(cells, []).append(row)
    return list(found.values())


def classes_of(work: Partitioning, relaxed: bool = False) -> set[frozenset[int]]:
    """Rows of each class that the engine makes."""
    found = partition(work, relaxed=relaxed)
    rows: dict[int, Rows] = {}
    for row, item in enumerate(work.item_of_row.tolist()):
        rows.setdefault(item, []).append(row)
    return {
        frozenset(row for item in found.order[begin:end].tolist() for row in rows[item])
        for begin, end in zip(found.begins, found.ends, strict=True)
    }


# --- Mondrian -------------------------------------------------------------------------------------


def mondrian(case: Case, rejects: Judgement, relaxed: bool = False) -> list[Rows]:
    """Cut until nothing can be cut."""
    final: list[Rows] = []
    waiting = [list(range(case.size))]
    while waiting:
        rows = waiting.pop()
        cut = next((parts for parts in proposals(case, rows, relaxed) if not any(map(rejects, parts))), None)
        if cut is None:
            final.append(rows)
        else:
            waiting += cut
    return final


def proposals(case: Case, rows: Rows, relaxed: bool) -> list[list[Rows]]:
    """The cut of each column in which the rows differ, widest column first."""
    order = sorted(range(len(case.columns)), key=lambda j: (-width(case.columns[j], rows), j))
    different = [j for j in order if len({case.columns[j].cells[row] for row in rows}) > 1]
    return [cut(case.columns[j], rows, relaxed) for j in different]


def node(column: Column, rows: Rows) -> tuple[int, Any]:
    """Level and label of the lowest node above all values."""
    domain = column.domain
    for level in range(len(next(iter(domain.values())))):
        labels = {domain[column.cells[row]][level] for row in rows}
        if len(labels) == 1:
            return level, labels.pop()
    raise AssertionError


def width(column: Column, rows: Rows) -> float:
    if column.hierarchy is not None:
        level, label = node(column, rows)
        below = sum(labels[level] == label for labels in column.domain.values())
        return (below - 1) / max(1, len(column.domain) - 1)
    values = column.values
    if column.is_number:
        largest = max((float(each) for each in values if each is not None), default=0.0)
        place = {each: largest if each is None else float(each) for each in values}
    else:
        place = {each: float(rank) for rank, each in enumerate(values)}
    here = [place[column.cells[row]] for row in rows]
    whole = max(place.values()) - min(place.values())
    return (max(here) - min(here)) / whole if whole else 0.0


def cut(column: Column, rows: Rows, relaxed: bool) -> list[Rows]:
    if column.hierarchy is not None:
        level, _ = node(column, rows)
        children: dict[Any, Rows] = {}
        for row in rows:
            children.setdefault(column.domain[column.cells[row]][level - 1], []).append(row)
        return list(children.values())
    if not relaxed:
        # The most even one; of two, that with more on the left.
        return max(cuts(column, rows), key=lambda parts: (min(map(len, parts)), len(parts[0])))
    rank = {each: place for place, each in enumerate(column.values)}
    ranked = sorted(rows, key=lambda row: (rank[column.cells[row]], row))
    half = (len(rows) + 1) // 2
    return [sorted(ranked[:half]), sorted(ranked[half:])]


def cuts(column: Column, rows: Rows) -> list[list[Rows]]:
    """Every cut between two neighbours that occur."""
    rank = {each: place for place, each in enumerate(column.values)}
    ranks = sorted({rank[column.cells[row]] for row in rows})
    return [
        [
            [row for row in rows if rank[column.cells[row]] <= last],
            [row for row in rows if rank[column.cells[row]] > last],
        ]
        for last in ranks[:-1]
    ]


# --- top-down specialization ----------------------------------------------------------------------


def specialization(case: Case, rejects: Judgement, target: list[Any] | None) -> list[list[Any]]:
    """Specialize label by label; return the final cells, column by column."""
    domains = [column.domain for column in case.columns]
    levels = [dict.fromkeys(domain, len(next(iter(domain.values()))) - 1) for domain in domains]

    def cells(levels: list[dict[Any, int]]) -> list[list[Any]]:
        return [
            [domain[value][level[value]] for value in column.cells]
            for column, domain, level in zip(case.columns, domains, levels, strict=True)
        ]

    def classes(levels: list[dict[Any, int]]) -> list[Rows]:
        # By level and label, as the same text may mean different things on different levels.
        found: dict[tuple[Any, ...], Rows] = {}
        for row in range(case.size):
            values = [column.cells[row] for column in case.columns]
            key = tuple(
                (level[value], domain[value][level[value]])
                for value, domain, level in zip(values, domains, levels, strict=True)
            )
            found.setdefault(key, []).append(row)
        return list(found.values())

    while True:
        smallest = min(map(len, classes(levels)))
        best = None
        for j, column in enumerate(case.columns):
            for place, below in enumerate(labels_of(case.columns[j], domains[j], levels[j])):
                level = levels[j][below[0]]
                held = [row for row in range(case.size) if column.cells[row] in below]
                if level == 0 or not held:
                    continue
                after = [
                    {**each, **dict.fromkeys(below, level - 1)} if i == j else each
                    for i, each in enumerate(levels)
                ]
                made = classes(after)
                if any(map(rejects, made)):
                    continue
                lost = smallest - min(map(len, made))
                score = gain(column, domains[j], below, level, held, target) / (1 + lost)
                if best is None or score > best[0]:
                    best = score, after, (j, place)
        if best is None:
            return cells(levels)
        levels = best[1]


def labels_of(column: Column, domain: dict[Any, Any], levels: dict[Any, int]) -> list[list[Any]]:
    """Values below each label in use, in the order of the hierarchy from the root down."""
    height = len(next(iter(domain.values())))
    first = [
        {
            label: place
            for place, label in reversed(list(enumerate(labels[level] for labels in domain.values())))
        }
        for level in range(height)
    ]
    order = sorted(
        domain, key=lambda value: [first[level][domain[value][level]] for level in reversed(range(height))]
    )
    found: dict[Any, list[Any]] = {}
    for value in order:
        found.setdefault((levels[value], domain[value][levels[value]]), []).append(value)
    return list(found.values())


def gain(
    column: Column, domain: dict[Any, Any], below: list[Any], level: int, held: Rows, target: list[Any] | None
) -> float:
    children: dict[Any, Rows] = {}
    for row in held:
        children.setdefault(domain[column.cells[row]][level - 1], []).append(row)
    if target is not None:
        left = math.fsum(len(each) / len(held) * entropy(each, target) for each in children.values())
        return entropy(held, target) - left
    size = len(domain)
    if size == 1:
        return 0.0

    def share(level: int, label: Any) -> float:
        return sum(labels[level] == label for labels in domain.values()) / size

    whole = share(level, domain[below[0]][level])
    saved = math.fsum(len(each) * (whole - share(level - 1, label)) for label, each in children.items())
    return saved / len(column.cells) / (1 - 1 / size)


def entropy(rows: Rows, target: list[Any]) -> float:
    counts = Counter(target[row] for row in rows).values()
    return -math.fsum(count / len(rows) * math.log2(count / len(rows)) for count in counts)
