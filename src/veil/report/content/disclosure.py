"""Figures of the original table that a report may show, and their number of digits.

A mean of two people reveals each of them to the other, a minimum is the value of one person, and a recipient
can subtract the released values from a figure of the whole table. So a figure in the units of an original
column is shown only if the release shows all of its values anyway, or if among the values it does not show

- there are at least ten (threshold rule),
- all but the two largest add up to at least a tenth of the largest (p % rule, p = 10), both by distance from
  zero and by distance from the median, so that no person dominates, and
- no value makes up nine tenths of them or more;

and it is shown with three digits. Counts of the input by label follow the first and the last rule. Where they
are shown, they reveal values that the release hides, and fewer unknown values are left after subtracting
these: so the rules must hold for the rest as well. Minima, maxima, medians and modes are values of individual
people and are never shown. The first two rules are those of statistical offices (Hundepool et al. 2012,
"Statistical Disclosure Control", 5.2).

For columns published unchanged, the release shows every value except those of suppressed records, which no
model discloses. So where records are suppressed, figures of these columns are computed from published values,
or not shown: no figure depends on a suppressed value. The same goes for results of a search on such columns.
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
"""Smallest number of values behind a figure."""

DOMINANCE = 0.1
"""Share of the largest value that all but the two largest must reach together."""

COMMONEST = 0.9
"""Share of one value from which on a figure reveals it."""

DIGITS = 3
"""Digits of a figure of the original table."""

LabelMasks = Callable[[pa.Array], tuple[NDArray[np.bool_], NDArray[np.bool_]]]


def hides_records(outcome: Outcome) -> bool:
    """Whether the table shows no cell of some records of the input."""
    prepared, published = outcome.prepared, outcome.by_records
    records = outcome.records if prepared is None else prepared.records(prepared.subset)
    return bool(published.suppressed_records) or published.records < records


def hides_search(outcome: Outcome) -> bool:
    """Whether results of the search depend on sensitive values of suppressed records."""
    if outcome.plan is None or not hides_records(outcome):
        return False
    return any(model.attribute_names for model in outcome.models) or bool(
        outcome.plan.quality.attribute_names
    )


def shown_rows(outcome: Outcome) -> NDArray[np.int64]:
    """Return the rows of the input that the table shows, in their order."""
    return np.sort(outcome.origins[~outcome.by_records.suppressed])


def is_treated(outcome: Outcome, name: str) -> bool:
    """Whether a column is changed by the release."""
    if outcome.plan is None:
        return any(name in method.column_names for method in outcome.methods)
    return name in outcome.by_records.names or name in outcome.plan.identifying


def is_safe(values: NDArray[np.float64], counts: NDArray[np.int64]) -> bool:
    """Whether figures such as the mean of values that occur `counts` times disclose no person's value.

    >>> is_safe(np.arange(20.0), np.ones(20, np.int64))
    True
    >>> is_safe(np.array([0.0, 734512.25]), np.array([19, 1]))
    False
    """
    present_mask = np.isfinite(values) & (counts > 0)
    values, counts = values[present_mask], counts[present_mask]
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
    """Whether counts by label of records that the release does not show disclose no person's value.

    >>> are_safe_counts(np.array([6, 7])), are_safe_counts(np.array([0, 1])), are_safe_counts(np.array([0, 40]))
    (True, False, False)
    """
    total = int(hidden.sum())
    return total == 0 or (total >= FEWEST and int(hidden.max()) < COMMONEST * total)


def is_safe_column(
    comparison: Comparison, name: str, *, aggregated: bool = False, label_masks: LabelMasks | None = None
) -> bool:
    """Whether figures of an original column disclose no person's value; texts are judged by their counts.

    Values that the release shows are known; cells that are `aggregated` show no original value. `label_masks`
    returns masks of the distinct values: which have a label that the input is counted by, and which equal it;
    without it the input is not counted.
    """
    values, codes = encode_values(comparison.original[name])
    if not len(values):
        return False
    hidden = np.ones(codes.size, np.bool_) if aggregated else _differs(comparison, name, values, codes)
    counts = np.bincount(codes[hidden], minlength=len(values))
    unknown = [counts]
    if label_masks is not None:
        labelled, itself = label_masks(values)
        unknown += [np.where(itself, 0, counts), np.where(labelled, 0, counts)]
    if not is_measured(values.type):
        return all(are_safe_counts(left) for left in unknown)
    numbers = as_numbers(pa.chunked_array([values]))
    finite_mask = np.isfinite(numbers)
    return all(not left[finite_mask].any() or is_safe(numbers, left) for left in unknown)


def _differs(
    comparison: Comparison, name: str, values: pa.Array, codes: NDArray[np.int32]
) -> NDArray[np.bool_]:
    """Return a mask of the original records whose released cell is missing or shows another value."""
    released_values, released_codes = encode_values(comparison.released[name])
    codes_by_text = {text: code for code, text in enumerate(canonical_text(values, column=name))}
    texts = canonical_text(released_values, column=name)
    same = np.array([codes_by_text.get(text, -1) for text in texts] or [-1], np.int64)
    shown_codes = np.full(codes.size, -1, np.int64)
    present = comparison.place >= 0
    if len(released_values):
        shown_codes[present] = same[released_codes[comparison.place[present]]]
    if name in comparison.columns:
        shown_codes[comparison.suppressed] = -1
    return np.asarray(shown_codes != codes)


def change(before: float | None, after: float | None) -> float | None:
    """Return the relative change of a figure, by its three digits; None if these are equal or undefined.

    >>> change(45.04, 44.21), change(45.04, 45.03), change(0.0, 1.0)
    (0.0178, None, None)
    """
    old, new = round_significant(before), round_significant(after)
    if not old or new is None or old == new:
        return None
    return round_significant(abs(new - old) / abs(old))


def round_significant(value: float | None, digits: int = DIGITS) -> float | None:
    """Return a number with so many significant digits; None if it is None or not finite.

    >>> round_significant(734512.25), round_significant(0.0123456), round_significant(None)
    (735000.0, 0.0123, None)
    """
    if value is None or not math.isfinite(value):
        return None
    return float(f"{value:.{digits - 1}e}")
