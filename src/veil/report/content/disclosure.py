"""Which figures of the original table a report may show, and with how many digits.

A mean of two people tells each of them about the other, a range that begins at zero is somebody's value, and whoever
has the release can subtract what it shows from a figure of the whole. So a figure in the units of an original column
is shown only if the release shows all of its values anyway, or if of those that it does not show

- there are at least ten (threshold rule),
- all but the two largest add up to at least a tenth of the largest (p % rule, p = 10), by their distance from zero
  and by that from the median, so that nobody dominates, and
- none makes up nine tenths of them or more;

and it is shown with three digits. Counts of the input by label follow the first and the last rule. Where they are
shown, they tell values that the release hides, and whoever subtracts these too has fewer unknown ones left: so the
rules must hold for what is left as well. Minima, maxima, medians and modes are somebody's value and are never shown.
The first two rules are those of statistical offices (Hundepool et al. 2012, "Statistical Disclosure Control", 5.2).

Of columns that are published as they are, the release shows every value but those of suppressed records, which no model
lets anybody learn. So where there are such records, figures of these columns are computed from what is published, or are
not shown: no figure changes with what a suppressed record held. The same goes for what a search that looks at such
columns found out on its way.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.outcome.outcome import Outcome
from veil.tables.columns import as_numbers, encode_values, is_measured
from veil.tables.text import canonical_text
from veil.utility import Comparison

FEWEST = 10
"""Values that a figure must be made of."""

DOMINANCE = 0.1
"""Share of the largest value that all but the two largest must reach together."""

COMMONEST = 0.9
"""Share of one value from which on a figure tells it."""

DIGITS = 3
"""Digits of a figure of the original table."""

Told = Callable[[pa.Array], tuple[NDArray[np.bool_], NDArray[np.bool_]]]


def hides_records(outcome: Outcome) -> bool:
    """Whether there are records of the input of which the table shows no cell."""
    prepared, published = outcome.prepared, outcome.by_records
    records = outcome.records if prepared is None else prepared.records(prepared.subset)
    return bool(published.suppressed_records) or published.records < records


def shown_rows(outcome: Outcome) -> NDArray[np.int64]:
    """Return the rows of the input that the table shows cells of, in their order."""
    return np.sort(outcome.origins[~outcome.by_records.suppressed])


def is_treated(outcome: Outcome, name: str) -> bool:
    """Whether a column is published otherwise than it was."""
    if outcome.plan is None:
        return any(name in method.column_names for method in outcome.methods)
    return name in outcome.by_records.names or name in outcome.plan.identifying


def is_safe(values: NDArray[np.float64], counts: NDArray[np.int64]) -> bool:
    """Whether figures such as the mean of values that occur `counts` times tell of nobody.

    >>> is_safe(np.arange(20.0), np.ones(20, np.int64))
    True
    >>> is_safe(np.array([0.0, 734512.25]), np.array([19, 1]))
    False
    """
    known = np.isfinite(values) & (counts > 0)
    values, counts = values[known], counts[known]
    total = int(counts.sum())
    if total < FEWEST or counts.max() >= COMMONEST * total:
        return False
    order = np.argsort(values)
    median = values[order][np.searchsorted(np.cumsum(counts[order]), (total + 1) // 2)]
    return not any(_is_dominated(np.abs(values - centre), counts) for centre in (0.0, median))


def _is_dominated(sizes: NDArray[np.float64], counts: NDArray[np.int64]) -> bool:
    order = np.argsort(sizes)[::-1]
    largest = float(sizes[order[0]])
    second = largest if counts[order[0]] > 1 else float(sizes[order[1]]) if order.size > 1 else 0.0
    return float(counts @ sizes) - largest - second < DOMINANCE * largest


def are_safe_counts(hidden: NDArray[np.int64]) -> bool:
    """Whether counts of records that the release does not show, label by label, tell of nobody.

    >>> are_safe_counts(np.array([6, 7])), are_safe_counts(np.array([0, 1])), are_safe_counts(np.array([0, 40]))
    (True, False, False)
    """
    total = int(hidden.sum())
    return total == 0 or (total >= FEWEST and int(hidden.max()) < COMMONEST * total)


def is_safe_column(
    comparison: Comparison, name: str, *, aggregated: bool = False, told: Told | None = None
) -> bool:
    """Whether figures of an original column tell of nobody; of texts, whose places are figures at most, by their counts.

    What the release shows everybody knows. Cells that are `aggregated` look like values and are none. `told` says of
    different values which of them have a label that the input is counted by, and which of these labels are the value
    itself; without it the input is not counted.
    """
    values, codes = encode_values(comparison.original[name])
    if not len(values):
        return False
    hidden = np.ones(codes.size, np.bool_) if aggregated else _differs(comparison, name, values, codes)
    counts = np.bincount(codes[hidden], minlength=len(values))
    unknown = [counts]
    if told is not None:
        labelled, itself = told(values)
        unknown += [np.where(itself, 0, counts), np.where(labelled, 0, counts)]
    if not is_measured(values.type):
        return all(are_safe_counts(left) for left in unknown)
    numbers = as_numbers(pa.chunked_array([values]))
    known = np.isfinite(numbers)
    return all(not left[known].any() or is_safe(numbers, left) for left in unknown)


def _differs(
    comparison: Comparison, name: str, values: pa.Array, codes: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Tell for each original record whether the release shows something else, or nothing, in its place."""
    released, released_codes = encode_values(comparison.released[name])
    known = {text: code for code, text in enumerate(canonical_text(values, column=name))}
    texts = canonical_text(released, column=name)
    same = np.array([known.get(text, -1) for text in texts] or [-1], np.int64)
    shown = np.full(codes.size, -1, np.int64)
    present = comparison.place >= 0
    if len(released):
        shown[present] = same[released_codes[comparison.place[present]]]
    if name in comparison.columns:
        shown[comparison.suppressed] = -1
    return np.asarray(shown != codes)


def change(before: float | None, after: float | None) -> float | None:
    """Return how much a figure changes, by its three digits; None if these do not tell.

    >>> change(45.04, 44.21), change(45.04, 45.03), change(0.0, 1.0)
    (0.0178, None, None)
    """
    old, new = round_significant(before), round_significant(after)
    if not old or new is None or old == new:
        return None
    return round_significant(abs(new - old) / abs(old))


def round_significant(value: float | None, digits: int = DIGITS) -> float | None:
    """Return a number with so many significant digits; None for none, and for what is not finite.

    >>> round_significant(734512.25), round_significant(0.0123456), round_significant(None)
    (735000.0, 0.0123, None)
    """
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{digits - 1}e}")
