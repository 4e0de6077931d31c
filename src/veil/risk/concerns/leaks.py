"""Hidden values that unchanged columns, or the order of the rows, reveal.

The measure compares pairs of records that an attacker can see to be related, because they agree in an
unchanged column, are adjacent in it, or are adjacent in the file: how much less do their hidden values differ
than those of any two records that look alike in the release? No difference reveals everything, the usual
difference nothing. A city reveals its ZIP code, a birth date the age, a file sorted by admission its day.
Ordered values differ by their ranks, or by whether they are equal, whichever reveals more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.wording import Phrase
from veil.risk.concerns.concern import Concern, percent
from veil.risk.concerns.context import SAMPLE, Codes, ReleaseContext, Rows, can_be_compared, whole_groups
from veil.risk.refinement import Refinement, refinements
from veil.tables.columns import encode_values, is_quantity, is_text, ranks

REVEALS = 0.5
"""Share of hidden information from which on it counts as revealed: more than stays hidden."""

_LEAST_PAIRS = 20
"""Minimum number of related pairs of records, and of pairs that look alike but differ."""

_LEAST_SHARE = 0.05
"""Minimum number of related pairs, as a share of the records."""

_NOT_BY_CHANCE = 8
"""Number of rows that a random order leaves sorted once in 40,320 times."""

_FEW_VALUES = SAMPLE // 10
"""Number of different values of which a sample has several records each."""

_EXCLUDED = 0.01
"""Share of generalized cells, or of records, from which on what labels exclude is worth a word."""

_PAIRS = 200_000_000
"""Pairs of classes, or of rows and classes, that are compared to find what labels exclude: in about a second."""

Pairs = tuple[Rows, Rows]


@dataclass(frozen=True, eq=False)
class HiddenDifferences:
    """Hidden values as numbers, and the usual difference of two records that look alike, by their look."""

    numbers: NDArray[np.integer]
    by_rank: bool
    usual: NDArray[np.float64]

    def distance(self, left: Rows, right: Rows) -> NDArray[np.float64]:
        """Return the differences of the values of pairs of records."""
        return _distance(self.numbers, self.by_rank, left, right)


@dataclass(frozen=True, eq=False)
class HiddenColumn:
    """A column of the input that the release does not show unchanged.

    `same` are the codes of its published cells; records with the same code look alike.
    """

    name: str
    same: Codes
    measures: tuple[HiddenDifferences, ...]


def revealing_columns(context: ReleaseContext) -> Iterator[Concern]:
    """Find columns that are published unchanged and reveal others that are not."""
    if not context.has_input:
        return
    sample, role_of = context.sample, context.outcome.role_of
    hidden = _hidden_columns(context, context.visible_rows[sample], sample)
    for name in context.unchanged:
        rows, columns = sample, hidden
        if context.sampled(name).different < 2:
            continue
        if _has_small_groups(context, name):
            column = context.column(name)
            rows = whole_groups(column.codes, column.counts, SAMPLE)
            columns = _hidden_columns(context, context.visible_rows[rows], rows)
        pairs = _neighbours_in(context, name, rows)
        # An attacker knows neither of two sensitive columns.
        shares = {
            each.name: share
            for each in columns
            if each.name != name and not "sensitive" == role_of(each.name) == role_of(name)
            if (share := share_revealed(each, pairs)) >= REVEALS
        }
        if shares:
            yield _concern_about_column(context, name, shares)


def _has_small_groups(context: ReleaseContext, name: str) -> bool:
    """Whether too few records of a sample agree in a column, although records of the table may."""
    if (
        context.visible_rows.size <= SAMPLE
        or not context.weights.are_one
        or is_quantity(context.outcome.table[name].type)
    ):
        return False
    return context.sampled(name).different > _FEW_VALUES


def _concern_about_column(context: ReleaseContext, name: str, shares: dict[str, float]) -> Concern:
    names = sorted(shares, key=lambda each: -shares[each])
    leading = ", ".join(f"{each!r} ({percent(shares[each])})" for each in names[:5])
    if len(names) > 5:
        leading = Phrase(
            "{names} and {last}", names=leading, last=Phrase("{count} more", count=len(names) - 5)
        )
    return Concern(
        "reveals another column",
        (name, *names),
        Phrase(
            "{column!r} is published unchanged and reveals what is hidden in {columns}.",
            column=name,
            columns=leading,
        ),
        context.remedy(repr(name), "it"),
    )


def revealing_order(context: ReleaseContext) -> Iterator[Concern]:
    """Find that the rows are in the order of the input, and the columns that this reveals."""
    outcome = context.outcome
    if not keeps_order(context) or outcome.table.num_rows < 2:
        return
    shares = _shares_revealed_by_order(context) if context.has_single_rows else {}
    names = tuple(sorted(shares, key=lambda each: -shares[each]))
    if names:
        leading = ", ".join(f"{each!r} ({percent(shares[each])})" for each in names[:5])
        statement = Phrase(
            "The rows are in the order of the input, which reveals what is hidden in {columns}.",
            columns=leading,
        )
    else:
        statement = Phrase(
            "The rows are in the order of the input: anyone with a list in the same order can match the two row by row."
        )
    yield Concern(
        "row order",
        names,
        statement,
        Phrase("Use a random order, which is the default: {option}.", option='order="random"'),
    )


def keeps_order(context: ReleaseContext) -> bool:
    """Whether the rows of the release are in the order of the input, and not by chance."""
    outcome = context.outcome
    if outcome.plan is not None:
        return outcome.plan.order == "input"
    if outcome.is_condensed:
        return False
    rows = outcome.link.rows
    return rows is None or (rows.size >= _NOT_BY_CHANCE and bool((np.diff(rows) > 0).all()))


def _shares_revealed_by_order(context: ReleaseContext) -> dict[str, float]:
    """Return the columns that the row order reveals, in visible or suppressed rows, and the shares."""
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
    """Return a random sample of rows that, with a neighbour of each, has the size of a sample."""
    most = SAMPLE // 2
    return rows if rows.size <= most else np.random.default_rng(0).choice(rows, most, replace=False)


def _hidden_columns(
    context: ReleaseContext, rows: Rows, positions: Rows | None, *, by_order: bool = False
) -> list[HiddenColumn]:
    """Return the columns that are hidden in some rows of the release; with `by_order`, given the whole row.

    `positions` are those of the rows among the visible ones; None if the rows are suppressed.
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
                continue  # not protected by the plan
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
    """Measure how much hidden values of records that look alike differ; `places` are ranks, if ordered."""
    mixed = np.random.default_rng(0).permutation(same.size)  # neighbours in the file may be related
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
    """Return by which share related pairs of records differ less than any two that look alike."""
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
    """Return pairs of rows that are adjacent in an order: with `nearby` all, else those of the same group.

    >>> [each.tolist() for each in neighbours(np.array([0, 2, 1]), np.array([5, 7, 5], np.int32), False)]
    [[0], [2]]
    """
    left, right = order[:-1], order[1:]
    if nearby:
        return left, right
    agree = groups[left] == groups[right]
    return left[agree], right[agree]


def _neighbours_in(context: ReleaseContext, name: str, rows: Rows) -> Pairs:
    """Return pairs of records that agree in a column or, for numbers and dates, are adjacent in it."""
    column = context.outcome.table[name]
    codes = context.cells(name, rows).codes
    if not is_quantity(column.type):
        return neighbours(np.argsort(codes, kind="stable"), codes, nearby=False)
    places = ranks(column.take(pa.array(context.visible_rows[rows])))[0]
    return neighbours(np.argsort(places, kind="stable"), codes, nearby=True)


def _ranks(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of smaller values, so that gaps between values make no distance."""
    return np.searchsorted(np.sort(places), places).astype(np.int64)


def excluding_labels(context: ReleaseContext) -> Iterator[Concern]:
    """Find labels, chosen by record or by value, that say who is not in a class."""
    if context.is_private or len(context.outcome.parts) < 2:
        return
    attack = next(refinements(context.outcome, _PAIRS), None)
    if attack is None:
        return
    narrowed = attack.narrowed_share if attack.is_credible else 0.0
    downcoded = attack.credibly_downcoded / attack.records
    if attack.newly_certain or max(narrowed, downcoded) >= _EXCLUDED:
        yield Concern("labels exclude values", (), _excluded(attack, downcoded), _EXCLUSION_STEP)


_EXCLUSION_STEP = (
    "Recode all records alike, which excludes nothing, or add a model for sensitive columns, such as "
    "DistinctLDiversity: with it, no value becomes certain."
)


def _excluded(attack: Refinement, downcoded: float) -> Phrase:
    """Return what somebody can conclude from labels, and how often that is wrong."""
    if attack.principle == "cut":
        return Phrase(
            "One label was chosen for each value, as fine as possible. No value is excluded from a class, but "
            "{downcoded} of the records could be published more finely.",
            downcoded=percent(downcoded),
        )
    return Phrase(
        "Labels were chosen record by record, as fine as possible, and so say who is not in a class: {narrowed} of "
        "the generalized cells lose values, {downcoded} of the records could be published more finely, and "
        "{certain:,} sensitive values become certain to somebody who knows the quasi-identifiers. True values are "
        "excluded in {wrong} of the records, {ratio} of how often that would happen at random. No class becomes smaller.",
        narrowed=percent(attack.narrowed_share),
        downcoded=percent(downcoded),
        certain=attack.newly_certain,
        wrong=percent(attack.wrong_share),
        ratio=percent(attack.error_ratio),
    )
