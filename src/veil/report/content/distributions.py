"""How often the values of a released column occur, in the release and in the input.

Only values that the release shows are named. The input is counted by the labels of the release; what is not shown
there, because all its records are suppressed or were not chosen, is one number without a name. Where few records are
not shown, or nearly all of them have one label, the difference would tell it: then the input is not counted. Numbers that are
released as numbers are counted in intervals with round limits, if there are many of them.
"""

from __future__ import annotations

import math
import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.hierarchies import Hierarchy
from veil.outcome.outcome import Outcome
from veil.report.content.disclosure import are_safe_counts
from veil.tables.columns import as_numbers, count_codes, encode_values, is_number
from veil.tables.text import canonical_text
from veil.utility.distributions import domain_ranks, natural_ranks

MOST_VALUES = 200
"""Values of a column that are listed; the others are counted together."""

MOST_NUMBERS = 20
"""Different numbers that are listed one by one."""

INTERVALS = 10
"""Intervals that numbers are counted in, about."""

Counts = NDArray[np.int64]


class _Counted(NamedTuple):
    """The different values of a column as texts, how often each occurs, and the number of all records."""

    texts: list[str | None]
    counts: Counts
    total: int


def frequencies(
    outcome: Outcome, name: str, *, private: bool = False, withheld: bool = False
) -> dict[str, Any]:
    """Count the released values of a column in the release and, unless that is `private` or `withheld`, in the input."""
    shown = outcome.by_records
    column = outcome.table[name]
    values, codes = encode_values(column)
    kept, weights = ~shown.suppressed, shown.rows.weights
    counts = weights.take(kept).count_by(codes[kept], len(values))
    hidden = weights.sum_of(~kept)
    texts = canonical_text(values, column=name)
    before = None if private or withheld else _of_input(outcome, name)
    ranks = _ranks(outcome, name, values, texts)
    after = _Counted(texts, counts, int(counts.sum()))
    limits: list[float] | None = None
    numbers = as_numbers(pa.chunked_array([values])) if is_number(values.type) and len(values) else None
    if numbers is not None and np.count_nonzero(np.isfinite(numbers) & (counts > 0)) > MOST_NUMBERS:
        after, before, limits = _in_intervals(after, numbers, before)
        ranks = np.arange(len(after.texts), dtype=np.float64)
    order = [code for code in np.argsort(ranks, kind="stable").tolist() if after.counts[code]]
    most = order
    if len(order) > MOST_VALUES:
        frequent = set(sorted(order, key=lambda code: -after.counts[code])[:MOST_VALUES])
        most = [code for code in order if code in frequent]
    rest = [code for code in order if code not in set(most)]
    role = "flag" if name == outcome.flag else outcome.role_of(name)
    made: dict[str, Any] = {
        "column": name,
        "role": role,
        "values": [after.texts[code] for code in most],
        "limits": limits,
        "before": None,
        "after": [int(after.counts[code]) for code in most],
        "others": len(rest),
        "others_before": None,
        "others_after": int(after.counts[rest].sum()) if rest else 0,
        "hidden_before": None,
        "hidden_after": hidden,
        "withheld": withheld,
    }
    if before is not None:
        known = dict(zip(before.texts, before.counts.tolist(), strict=True))
        old = np.array([known.get(after.texts[code], 0) for code in [*most, *rest]], np.int64)
        not_shown = before.total - int(old.sum())
        if not are_safe_counts(np.append(old - after.counts[[*most, *rest]], not_shown)):
            return {**made, "withheld": True}
        made["before"] = old[: len(most)].tolist()
        made["others_before"] = int(old[len(most) :].sum())
        made["hidden_before"] = not_shown
    return made


def find_counted_values(
    outcome: Outcome, found: dict[str, Any], values: pa.Array
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell of original values which have a label that `found` counts, and for which of them it is the value itself."""
    name, limits = found["column"], found["limits"]
    texts = canonical_text(values, column=name)
    if limits is not None:
        numbers = as_numbers(pa.chunked_array([values]))
        inside = (numbers >= limits[0]) & (numbers < limits[-1])
        return inside, np.zeros(len(values), np.bool_)
    labels: dict[str | None, str | None] = {text: text for text in texts}
    if name in outcome.levels:
        hierarchy, level = outcome.hierarchies[name], outcome.levels[name]
        places = hierarchy.label_map(level).tolist()
        labels = {
            text: hierarchy.labels[level][place]
            for text, place in zip(hierarchy.labels[0], places, strict=True)
        }
    shown = set(found["values"])
    labelled = [text in labels and labels[text] in shown for text in texts]
    itself = [each and labels[text] == text for text, each in zip(texts, labelled, strict=True)]
    return np.array(labelled, np.bool_), np.array(itself, np.bool_)


def _of_input(outcome: Outcome, name: str) -> _Counted | None:
    """Count the records of the input by the labels of the release; None where they have several, or none."""
    prepared, plan, parts = outcome.prepared, outcome.plan, outcome.parts
    if plan is None or prepared is None:
        return _of_input_of_mask(outcome, name)
    if name in plan.microaggregated or name in plan.identifying or name == outcome.flag:
        return None
    rows = np.arange(prepared.table.num_rows)
    if prepared.subset is not None:
        rows = rows[prepared.subset]
    weights = prepared.weights_of(rows)
    names = list(prepared.encoding.names)
    if name in names:
        if len(parts) != 1:
            return None
        j = names.index(name)
        hierarchy, level = prepared.encoding.hierarchies[j], parts[0].levels[j]
        texts = list(hierarchy.labels[level])
        codes = hierarchy.label_map(level)[prepared.codes[j][rows]]
    else:
        values, every = encode_values(prepared.table[name])
        texts, codes = canonical_text(values, column=name), every[rows]
    return _Counted(texts, count_codes(codes, len(texts), weights), prepared.records(rows))


def _of_input_of_mask(outcome: Outcome, name: str) -> _Counted | None:
    """Count the records of the input by their values, where the same values may stand in the output."""
    original = outcome.original
    if outcome.is_condensed or name not in original.column_names:
        return None
    if original[name].type != outcome.table[name].type:
        return None
    values, codes = encode_values(original[name])
    return _Counted(canonical_text(values, column=name), count_codes(codes, len(values), None), len(codes))


def _in_intervals(
    after: _Counted, numbers: NDArray[np.float64], before: _Counted | None
) -> tuple[_Counted, _Counted | None, list[float]]:
    """Count numbers in intervals that are made from the released ones alone; return the limits of these, too."""
    there = np.isfinite(numbers) & (after.counts > 0)
    low, high = float(numbers[there].min()), float(numbers[there].max())
    step = _round_step((high - low) / INTERVALS)
    first = math.floor(low / step)
    number = math.floor(high / step) - first + 1
    texts = [f"{(first + at) * step:,.10g} to <{(first + at + 1) * step:,.10g}" for at in range(number)]

    def put(found: _Counted, values: NDArray[np.float64]) -> _Counted:
        known = np.isfinite(values)
        place = np.floor(values[known] / step).astype(np.int64) - first
        inside = (place >= 0) & (place < number)
        counts = np.zeros(number + 1, np.int64)
        np.add.at(counts, place[inside], found.counts[known][inside])
        missing = np.array([text is None for text in found.texts], np.bool_)
        counts[number] = found.counts[missing].sum()
        return _Counted([*texts, None], counts, found.total)

    old = None
    if before is not None:
        spelled = [np.nan if text is None else float(text) for text in before.texts]
        old = put(before, np.array(spelled, np.float64))
    return put(after, numbers), old, [(first + at) * step for at in range(number + 1)]


def _round_step(width: float) -> float:
    """Return the next larger width of the form 1, 2 or 5 times a power of ten.

    >>> _round_step(0.3), _round_step(734.0)
    (0.5, 1000.0)
    """
    power = 10.0 ** math.floor(math.log10(width))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= width)


def _ranks(outcome: Outcome, name: str, values: pa.Array, texts: list[str | None]) -> NDArray[np.float64]:
    """Return the place of each released value: in the order of its type, or of the values below a label."""
    natural = natural_ranks(values, outcome.table[name])
    if name not in outcome.hierarchies or (outcome.plan and name in outcome.plan.microaggregated):
        return natural
    hierarchy = outcome.hierarchies[name]
    first = _first_values(hierarchy, outcome.original[name])
    begins: dict[str | None, float] = {
        text: float(found[1]) for text in texts if text is not None and (found := _INTERVAL.match(text))
    }
    if len(begins) > 1:  # values below may be in no order, as dates that are text
        first = begins
    unknown = max(float(hierarchy.size), *first.values(), 0.0)
    keys = [
        (first.get(text, unknown) if text is not None else np.inf, rank)
        for text, rank in zip(texts, natural.tolist(), strict=True)
    ]
    places = {key: at for at, key in enumerate(sorted(set(keys)))}
    return np.array([places[key] for key in keys], np.float64)


_INTERVAL = re.compile(r"\[(-?[0-9]+(?:\.[0-9]+)?), ")
"""How an interval begins."""


def _first_values(hierarchy: Hierarchy, original: pa.ChunkedArray) -> dict[str | None, float]:
    """Return for each label of a hierarchy the place of the first value below it."""
    base = domain_ranks(hierarchy, original).astype(np.float64)
    found: dict[str | None, float] = {}
    for level, labels in enumerate(hierarchy.labels):
        least = np.full(len(labels), np.inf)
        np.minimum.at(least, hierarchy.label_map(level), base)
        for label, rank in zip(labels, least.tolist(), strict=True):
            found.setdefault(label, rank)
    return found
