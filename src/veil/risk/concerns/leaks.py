"""What a kept column, or the order of the rows, tells of what the release hides.

The measure is one and the same: take two records that an attacker can see to belong together, because they agree in a
kept column, lie next to each other in it, or stand next to each other in the file. How much less do their hidden values
differ than those of any two records that look alike in the release? If they differ not at all, everything is told, if
they differ as much as any, nothing. A city tells its ZIP code, a birth date tells the age, a file sorted by admission tells
the day of it. Values that have an order differ by ranks, or are the same or not, whichever tells more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.risk.concerns.concern import Concern, percent
from veil.risk.concerns.context import SAMPLE, Codes, ReleaseContext, Rows, can_be_compared, whole_groups
from veil.tables.columns import encode_values, is_quantity, is_text, ranks

REVEALS = 0.5
"""Share of what is hidden from which on a column tells it: more is told than stays hidden."""

_LEAST_PAIRS = 20
"""Pairs of records that are needed to say anything, and among those that look alike, pairs that differ."""

_LEAST_SHARE = 0.05
"""Share of the records that such pairs must be found for."""

_NOT_BY_CHANCE = 8
"""Rows that chance leaves in their order once in 40,320 times."""

_FEW_VALUES = SAMPLE // 10
"""Different values of which a sample has several records each."""

Pairs = tuple[Rows, Rows]


@dataclass(frozen=True, eq=False)
class HiddenDifferences:
    """Hidden values as numbers, and how much those of any two records differ that look alike, by what these look like."""

    numbers: NDArray[np.integer]
    by_rank: bool
    usual: NDArray[np.float64]

    def distance(self, left: Rows, right: Rows) -> NDArray[np.float64]:
        """Return how much the values of pairs of records differ."""
        return _distance(self.numbers, self.by_rank, left, right)


@dataclass(frozen=True, eq=False)
class HiddenColumn:
    """A column of the input that the release does not show as it was.

    `same` numbers what the release shows of it; records with the same number look alike.
    """

    name: str
    same: Codes
    measures: tuple[HiddenDifferences, ...]


def revealing_columns(context: ReleaseContext) -> list[Concern]:
    """Find columns that are published as they are and tell others, which are not."""
    if not context.has_input:
        return []
    sample, role_of = context.sample, context.outcome.role_of
    hidden = _hidden_columns(context, context.visible_rows[sample], sample)
    concerns = []
    for name in context.unchanged:
        rows, columns = sample, hidden
        if context.sampled_column(name).different < 2:
            continue
        if _has_small_groups(context, name):
            column = context.column(name)
            rows = whole_groups(column.codes, column.counts, SAMPLE)
            columns = _hidden_columns(context, context.visible_rows[rows], rows)
        pairs = _neighbours_in(context, name, rows)
        # Of two sensitive columns, an attacker knows neither.
        shares = {
            each.name: share
            for each in columns
            if each.name != name and not "sensitive" == role_of(each.name) == role_of(name)
            if (share := share_revealed(each, pairs)) >= REVEALS
        }
        if shares:
            concerns.append(_concern_about_column(context, name, shares))
    return concerns


def _has_small_groups(context: ReleaseContext, name: str) -> bool:
    """Whether too few records of a sample agree in a column, although records of the table do."""
    if (
        context.visible_rows.size <= SAMPLE
        or context.weights is not None
        or is_quantity(context.outcome.table[name].type)
    ):
        return False
    return context.sampled_column(name).different > _FEW_VALUES


def _concern_about_column(context: ReleaseContext, name: str, shares: dict[str, float]) -> Concern:
    names = sorted(shares, key=lambda each: -shares[each])
    leading = ", ".join(f"{each!r} ({percent(shares[each])})" for each in names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    return Concern(
        "reveals another column",
        (name, *names),
        f"{name!r} is published unchanged and reveals what is hidden in {leading}{more}.",
        context.remedy(f"Remove {name!r}", "it"),
    )


def revealing_order(context: ReleaseContext) -> list[Concern]:
    """Say that the rows stand in the order of the input, and what that tells."""
    outcome = context.outcome
    if not keeps_order(context) or outcome.table.num_rows < 2:
        return []
    shares = _shares_revealed_by_order(context) if context.has_input and context.weights is None else {}
    names = tuple(sorted(shares, key=lambda each: -shares[each]))
    if names:
        leading = ", ".join(f"{each!r} ({percent(shares[each])})" for each in names[:5])
        what = f", which reveals what is hidden in {leading}"
    else:
        what = ": anyone with a list in the same order can match the two row by row"
    return [
        Concern(
            "row order",
            names,
            f"The rows are in the order of the input{what}.",
            'Use a random order, which is the default: order="random".',
        )
    ]


def keeps_order(context: ReleaseContext) -> bool:
    """Whether the rows of the release stand in the order of the input, and not by chance."""
    outcome = context.outcome
    if outcome.plan is not None:
        return outcome.plan.order == "input"
    if outcome.is_condensed:
        return False
    return outcome.rows is None or (
        outcome.rows.size >= _NOT_BY_CHANCE and bool((np.diff(outcome.rows) > 0).all())
    )


def _shares_revealed_by_order(context: ReleaseContext) -> dict[str, float]:
    """Return the columns that the order of the rows tells, and how much, in rows that are shown and in suppressed ones."""
    visible_rows, suppressed = context.visible_rows, np.flatnonzero(context.published.suppressed)
    at = _some(np.arange(visible_rows.size - 1))
    both = np.concatenate([at, at + 1])
    parts = [(_hidden_columns(context, visible_rows[both], both, by_order=True), at.size)]
    at = _some(suppressed)
    beside = np.where(at > 0, at - 1, at + 1)
    parts.append((_hidden_columns(context, np.concatenate([at, beside]), None, by_order=True), at.size))
    shares: dict[str, float] = {}
    for columns, size in parts:
        pairs = np.arange(size), np.arange(size, 2 * size)
        for each in columns:
            if (share := share_revealed(each, pairs)) >= REVEALS:
                shares[each.name] = max(share, shares.get(each.name, 0.0))
    return shares


def _some(rows: Rows) -> Rows:
    """Return rows enough to look at, each with its neighbour, from everywhere."""
    most = SAMPLE // 2
    return rows if rows.size <= most else np.random.default_rng(0).choice(rows, most, replace=False)


def _hidden_columns(
    context: ReleaseContext, rows: Rows, positions: Rows | None, *, by_order: bool = False
) -> list[HiddenColumn]:
    """Return what is hidden in some rows of the release: from everybody, or `by_order` from whoever sees the whole row.

    `shown` are their positions among the rows that show something, None if they show nothing.
    """
    outcome = context.outcome
    nothing = np.zeros(rows.size, np.int32)
    columns = []
    for name in outcome.original.column_names:
        role, same = outcome.role_of(name), nothing
        if name in context.pseudonyms or (name in context.unchanged and by_order and positions is not None):
            continue
        if name in context.unchanged and role != "sensitive" and positions is not None:
            continue
        if name not in outcome.table.column_names:
            if role == "dropped" and outcome.plan is not None and not by_order:
                continue  # nobody minds it
        elif outcome.plan is None and name not in context.changed:
            continue
        elif outcome.plan is not None and role == "quasi-identifying" and positions is not None:
            same = context.cells(name, positions).codes
        column = context.original(name, rows)
        if not can_be_compared(column.type):
            continue
        has_order = is_quantity(column.type) or (by_order and is_text(column.type))
        places = _ranks(ranks(column)[0]) if has_order else None
        columns.append(hide(name, encode_values(column)[1], places, same))
    return columns


def hide(name: str, values: Codes, places: NDArray[np.int64] | None, same: Codes) -> HiddenColumn:
    """Measure how much hidden values of records differ that look alike; `places` are those that have an order."""
    mixed = np.random.default_rng(0).permutation(same.size)  # neighbours in the file are not any two records
    order = mixed[np.argsort(same[mixed], kind="stable")]
    left, right = neighbours(order, same, nearby=False)
    groups, measures = same[left], []
    for numbers, by_rank in ((values, False), (places, True)):
        if numbers is None:
            continue
        expected = _distance(numbers, by_rank, left, right)
        if np.count_nonzero(expected) >= _LEAST_PAIRS:
            size = int(same.max(initial=0)) + 1
            pairs = np.bincount(groups, minlength=size)
            usual = np.bincount(groups, expected, size) / np.maximum(1, pairs)
            measures.append(HiddenDifferences(numbers, by_rank, usual))
    return HiddenColumn(name, same, tuple(measures))


def share_revealed(hidden: HiddenColumn, pairs: Pairs) -> float:
    """Return which share of what is hidden pairs of records tell: how much less these differ than any that look alike."""
    left, right = pairs
    alike = hidden.same[left] == hidden.same[right]
    left, right = left[alike], right[alike]
    if not hidden.measures or left.size < max(_LEAST_PAIRS, _LEAST_SHARE * hidden.same.size):
        return 0.0
    best = 0.0
    for measure in hidden.measures:
        usual = float(measure.usual[hidden.same[left]].sum())
        if usual > 0:
            best = max(best, 1 - float(measure.distance(left, right).sum()) / usual)
    return best


def _distance(numbers: NDArray[np.integer], by_rank: bool, left: Rows, right: Rows) -> NDArray[np.float64]:
    differ = np.abs(numbers[left] - numbers[right]) if by_rank else numbers[left] != numbers[right]
    distance: NDArray[np.float64] = differ.astype(np.float64)
    return distance


def neighbours(order: Rows, groups: Codes, nearby: bool) -> Pairs:
    """Return rows that follow each other in an order: all of them, or those of the same group.

    >>> [each.tolist() for each in neighbours(np.array([0, 2, 1]), np.array([5, 7, 5], np.int32), False)]
    [[0], [2]]
    """
    left, right = order[:-1], order[1:]
    if nearby:
        return left, right
    agree = groups[left] == groups[right]
    return left[agree], right[agree]


def _neighbours_in(context: ReleaseContext, name: str, rows: Rows) -> Pairs:
    """Return records that agree in a column; of numbers and dates, also those that come next."""
    column = context.outcome.table[name]
    codes = context.cells(name, rows).codes
    if not is_quantity(column.type):
        return neighbours(np.argsort(codes, kind="stable"), codes, nearby=False)
    places = ranks(column.take(pa.array(context.visible_rows[rows])))[0]
    return neighbours(np.argsort(places, kind="stable"), codes, nearby=True)


def _ranks(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return how many of all values are smaller, so that values which nobody has make no distance."""
    return np.searchsorted(np.sort(places), places).astype(np.int64)
