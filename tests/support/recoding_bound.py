"""The bound of prices and the best recoding of a few records, by trying everything; and a few good prices."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

from support.oracle import Problem
from support.strategies import problems
from veil import hierarchies as h
from veil import models as m
from veil.hierarchies import Hierarchy
from veil.plan.class_size import ForcedSize, forced_size
from veil.plan.plan import Plan
from veil.plan.prepare import Prepared, prepare
from veil.plan.recoding import COSTS_OF_CELLS
from veil.quality import NonUniformEntropy, NormalizedNonUniformEntropy, Precision, QualityModel

UNIT = 2**32
DIGITS = Context(prec=60)
Choice = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class TinyTable:
    """A few records, and the condition that every class of a release fulfils."""

    rows: Sequence[Sequence[str | None]]
    hierarchies: Sequence[Hierarchy]
    minimum: Sequence[int]
    maximum: Sequence[int]
    weights: Sequence[Fraction]
    smallest: int
    allowed: int
    values: Sequence[object]
    least_values: int
    quality: QualityModel

    @functools.cached_property
    def tables(self) -> list[list[tuple[str | None, ...]]]:
        return [hierarchy.to_rows() for hierarchy in self.hierarchies]

    def cost(self, column: int, row: int, level: int) -> Fraction:
        """What a cell costs by the quality model, times the weight: for loss, the share of other values."""
        table, label = self.tables[column], self.label(column, row, level)
        if isinstance(self.quality, Precision):
            return Fraction(level, max(1, len(table[0]) - 1)) * self.weights[column]
        if isinstance(self.quality, NonUniformEntropy | NormalizedNonUniformEntropy):
            together = sum(self.label(column, other, level) == label for other in range(len(self.rows)))
            return self.weights[column] * log_share(together, len(self.rows))
        under = sum(line[level] == label for line in table)
        if len(table) == 1:
            return Fraction(0)
        return Fraction(under - 1, len(table) - 1) * self.weights[column]

    def label(self, column: int, row: int, level: int) -> str | None:
        return next(line[level] for line in self.tables[column] if line[0] == self.rows[row][column])

    def levels(self, column: int) -> range:
        return range(self.minimum[column], self.maximum[column] + 1)

    def accepts(self, records: Sequence[int]) -> bool:
        return len(records) >= self.smallest and len({self.values[i] for i in records}) >= self.least_values

    def allows(self, suppressed: Sequence[int]) -> bool:
        """Say whether some records may be suppressed together."""
        return len(suppressed) <= self.allowed

    def labels(self) -> Iterator[tuple[frozenset[int], Fraction, int]]:
        """The records under each label of each node, its cost, and that cost in whole units."""
        for levels in itertools.product(*(self.levels(j) for j in range(len(self.hierarchies)))):
            classes: dict[tuple[str | None, ...], list[int]] = {}
            for i in range(len(self.rows)):
                key = tuple(self.label(j, i, level) for j, level in enumerate(levels))
                classes.setdefault(key, []).append(i)
            for records in classes.values():
                costs = [self.cost(j, records[0], level) for j, level in enumerate(levels)]
                yield frozenset(records), sum(costs, Fraction(0)), sum(int(cost * UNIT) for cost in costs)

    @functools.cached_property
    def base(self) -> Fraction:
        """What the input costs: nothing but by entropy."""
        if not isinstance(self.quality, NonUniformEntropy | NormalizedNonUniformEntropy):
            return Fraction(0)
        columns, rows = range(len(self.hierarchies)), range(len(self.rows))
        return sum((self.cost(j, i, 0) for j in columns for i in rows), Fraction(0))

    def score(self, cost: Fraction) -> Fraction:
        """The score of a cost of all records."""
        return max(cost - self.base, Fraction(0)) / ((len(self.rows) - self.base) or 1)


def log_share(count: int, records: int) -> Fraction:
    """The logarithm of a count by that of all records, a little too small."""
    if count < 2:
        return Fraction(0)
    return Fraction(Decimal(count).ln(DIGITS)) / Fraction(Decimal(records).ln(DIGITS)) - Fraction(1, 2**94)


@dataclass(frozen=True, eq=False)
class TinyPeople(TinyTable):
    """A few records of people: classes and suppression are counted in these."""

    owners: Sequence[str]
    least_people: int
    allowed_people: int

    def accepts(self, records: Sequence[int]) -> bool:
        return len({self.owners[i] for i in records}) >= self.least_people

    def allows(self, suppressed: Sequence[int]) -> bool:
        return len({self.owners[i] for i in suppressed}) <= self.allowed_people


def prepared_of(problem: Problem, **options: Any) -> Prepared:
    """The problem of the oracle as a table and a plan."""
    names = [f"q{j}" for j in range(problem.width)]
    further = [name for name in ("T", "W") if name in problem.sensitive]
    table = pa.table(
        {name: pa.array([row[j] for row in problem.rows], pa.string()) for j, name in enumerate(names)}
        | {name: problem.sensitive[name] for name in further}
    )
    builders = {name: h.table(rows) for name, rows in zip(names, problem.hierarchies, strict=True)}
    return prepare(table, Plan(builders, sensitive=["T"], others="keep", **options))


@st.composite
def scattered(draw: st.DrawFn, max_rows: int) -> Problem:
    """Draw a few records that hardly agree, so that something has to be lost."""
    tables = []
    for _ in range(draw(st.integers(2, 3))):
        groups = list(range(draw(st.integers(3, 6))))
        rows = [["abcdef"[value]] for value in groups]
        for level in range(1, draw(st.integers(1, 3))):
            target = [draw(st.integers(0, max(1, len(groups) // 2))) for _ in groups]
            groups = [target[group] for group in groups]
            for row, group in zip(rows, groups, strict=True):
                row.append(f"{level}.{group}")
        tables.append([[*row, "*"] for row in rows])
    cells = st.tuples(*(st.sampled_from([row[0] for row in table]) for table in tables))
    records = draw(st.lists(cells, min_size=4, max_size=max_rows))
    values = draw(st.lists(st.sampled_from("xxy"), min_size=len(records), max_size=len(records)))
    return Problem(records, tables, {"T": values})


@st.composite
def bounded(draw: st.DrawFn, max_rows: int) -> tuple[Prepared, ForcedSize]:
    """Draw a plan for a few records that forces some of them into every class."""
    problem = draw(
        problems(max_rows=max_rows, max_width=3, max_height=3, sensitive=True, subset=False)
        | scattered(max_rows)
    )
    number = len(problem.rows)
    assume(number > 1)
    models: list[Any] = [m.KAnonymity(draw(st.integers(1, min(4, number))))]
    if len(set(problem.sensitive["T"])) == 2 and draw(st.booleans()):
        models.append(m.DistinctLDiversity("T", 2))
    levels = {
        f"q{j}": sorted(draw(st.tuples(*[st.integers(0, len(table[0]) - 1)] * 2)))
        for j, table in enumerate(problem.hierarchies)
        if draw(st.integers(0, 3)) == 0
    }
    prepared = prepared_of(
        problem,
        models=models,
        suppression_limit=draw(st.integers(0, number)) / number if draw(st.booleans()) else 0,
        minimum_levels={name: low for name, (low, _) in levels.items()},
        maximum_levels={name: high for name, (_, high) in levels.items()},
        quality=draw(st.sampled_from(COSTS_OF_CELLS))(weights={"q0": draw(st.sampled_from([1, 0.25, 3]))}),
    )
    size = forced_size(prepared)
    assume(isinstance(size, ForcedSize))
    return prepared, size


@st.composite
def bounded_people(draw: st.DrawFn, max_rows: int) -> tuple[Prepared, TinyPeople]:
    """Draw a plan for a few records of even fewer people."""
    problem = draw(scattered(max_rows))
    number = len(problem.rows)
    owners = draw(st.lists(st.sampled_from("pqrstuvw"), min_size=number, max_size=number))
    people = len(set(owners))
    least, limit = draw(st.integers(1, min(3, people))), draw(st.sampled_from([0, 0.2, 0.34, 0.5]))
    prepared = prepared_of(
        replace(problem, sensitive={**problem.sensitive, "W": owners}),
        models=m.KAnonymity(least),
        suppression_limit=limit,
        person="W",
    )
    size = forced_size(prepared)
    assume(isinstance(size, ForcedSize))
    fields = {name: getattr(tiny_table(prepared, size), name) for name in TinyTable.__dataclass_fields__}
    return prepared, TinyPeople(**fields, owners=owners, least_people=least, allowed_people=int(Fraction(str(limit)) * people))  # fmt: skip


def tiny_table(prepared: Prepared, size: ForcedSize) -> TinyTable:
    """The records of a plan, and what it forces into every class."""
    names = prepared.encoding.names
    weights = getattr(prepared.plan.quality, "weights", {})
    shares = [Fraction(weights.get(name, 0.5)) for name in names]
    cells = [prepared.table[name].to_pylist() for name in names]
    if isinstance(prepared.plan.quality, NormalizedNonUniformEntropy):
        entropies = [
            sum(
                (1 - log_share(column.count(cell), len(column)) for cell in column if len(set(column)) > 1),
                Fraction(0),
            )
            for column in cells
        ]
        shares = [share / each if each else each for share, each in zip(shares, entropies, strict=True)]
    values = prepared.table[size.attribute].to_pylist() if size.attribute else [0] * prepared.table.num_rows
    return TinyTable(
        list(zip(*cells, strict=True)),
        prepared.encoding.hierarchies,
        prepared.minimum,
        prepared.maximum,
        [share / sum(shares) if any(shares) else Fraction(1, len(shares)) for share in shares],
        size.smallest,
        size.allowed,
        values,
        size.least_values,
        prepared.plan.quality,
    )


def cheapest_labels(table: TinyTable) -> dict[frozenset[int], int]:
    """The cost in whole units of the cheapest label with just these records under it."""
    cheapest: dict[frozenset[int], int] = {}
    for records, _, cost in table.labels():
        cheapest[records] = min(cost, cheapest.get(records, cost))
    return cheapest


def best_choice(table: TinyTable, records: Sequence[int], gains: Sequence[int]) -> tuple[int, Choice]:
    """The largest total of gains over a choice of records that a class may consist of; 0 for none."""
    best: tuple[int, Choice] = 0, ()
    for size in range(1, len(records) + 1):
        for choice in itertools.combinations(sorted(records), size):
            if table.accepts(choice):
                best = max(best, (sum(gains[i] for i in choice), choice))
    return best


def bound_of(table: TinyTable, prices: Sequence[int], suppression_price: int) -> tuple[int, list[int]]:
    """The bound that prices prove, and how many labels (or suppressions) would take each record."""
    bound, taken = sum(prices), [0] * len(prices)
    for records, cost in cheapest_labels(table).items():
        surplus, choice = best_choice(table, sorted(records), [price - cost for price in prices])
        bound -= surplus
        for i in choice:
            taken[i] += 1
    if table.allowed:
        for i, price in enumerate(prices):
            bound -= max(0, price - UNIT - suppression_price)
            taken[i] += price > UNIT + suppression_price
        bound -= suppression_price * table.allowed
    return bound, taken


def good_prices(table: TinyTable, steps: int) -> list[int]:
    """Prices after some steps up where no label takes a record, and down where several do."""
    cheapest = cheapest_labels(table)
    prices = [
        min(
            (cost for records, cost in cheapest.items() if i in records and table.accepts(sorted(records))),
            default=UNIT,
        )
        for i in range(len(table.rows))
    ]
    best, best_prices, step = bound_of(table, prices, 0)[0], prices, max(prices) // 4
    for _ in range(steps):
        bound, taken = bound_of(table, prices, 0)
        if bound > best:
            best, best_prices = bound, prices
        prices = [max(0, price + step * (1 - times)) for price, times in zip(prices, taken, strict=True)]
        step = step * 2 // 3
    return best_prices


def least_loss(table: TinyTable) -> Fraction | float:
    """The loss of the best recoding, in records: every way to put the records into classes, and to suppress some."""
    number = len(table.rows)
    label_costs = [
        [
            [(table.label(j, i, level), table.cost(j, i, level)) for level in table.levels(j)]
            for i in range(number)
        ]
        for j in range(len(table.hierarchies))
    ]

    def cost_of_class(records: list[int]) -> Fraction | float:
        if not table.accepts(records):
            return math.inf
        total = Fraction(0)
        for of_rows in label_costs:
            shared = [
                of_level[0][1]
                for of_level in zip(*(of_rows[i] for i in records), strict=True)
                if len({label for label, _ in of_level}) == 1
            ]
            if not shared:
                return math.inf
            total += min(shared)
        return total * len(records)

    def members(block: int) -> list[int]:
        return [i for i in range(number) if block >> i & 1]

    exact = [Fraction(0), *(cost_of_class(members(block)) for block in range(1, 1 << number))]
    scale = math.lcm(*(each.denominator for each in exact if isinstance(each, Fraction)))
    of_class = [each if each == math.inf else int(each * scale) for each in exact]
    least: list[int | float] = [0] * (1 << number)
    for left in range(1, 1 << number):
        # The class of the first record that is left, with any others.
        first = left & -left
        others = part = left ^ first
        best = of_class[left]
        while part:
            part = (part - 1) & others
            best = min(best, of_class[first | part] + least[others ^ part])
        least[left] = best
    everybody = (1 << number) - 1
    return min(
        math.inf
        if least[everybody ^ block] == math.inf
        else Fraction(int(least[everybody ^ block]), scale) + block.bit_count()
        for block in range(1 << number)
        if table.allows(members(block))
    )
