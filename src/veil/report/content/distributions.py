"""Frequencies of the values of a released column, in the release and in the input.

Only values that the release shows are named. The input is counted by the labels of the release; values that
it does not show, because all their records are suppressed or outside the subset, are counted as one number.
If few records are not shown, or nearly all of them have one label, the difference would reveal it: then the
input is not counted. Released numbers are counted in intervals with round limits, if there are many of them.

A column with labels of several levels is counted on one level: cells with coarser labels count as equal shares of
the labels below. The input is counted on that level for the data holder only: anybody else could subtract.
"""

from __future__ import annotations

import itertools
import math
import re
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.hierarchies import Hierarchy
from veil.hierarchies.hierarchy import ROOT
from veil.outcome.outcome import Outcome
from veil.report.content.disclosure import are_safe_counts
from veil.report.texts import text
from veil.tables.columns import as_numbers, count_codes, encode_values, is_number
from veil.tables.text import canonical_text
from veil.utility.distributions import domain_ranks, natural_ranks
from veil.utility.labels import LabelledColumn

MOST_VALUES = 200
"""Values of a column that are listed; the others are counted together."""

MOST_NUMBERS = 20
"""Different numbers that are listed one by one."""

INTERVALS = 10
"""Approximate number of intervals for numbers."""

Counts = NDArray[np.int64]


class _Counted(NamedTuple):
    """The distinct values of a column as texts, their counts, and the number of all records."""

    texts: list[str | None]
    counts: Counts
    total: int


def frequencies(
    outcome: Outcome,
    name: str,
    *,
    private: bool = False,
    withheld: bool = False,
    labels: LabelledColumn | None = None,
    exact: bool = False,
) -> dict[str, Any]:
    """Count the released values of a column in the release and, unless private or withheld, in the input.

    `labels` are those of a column with several levels; `exact` figures are for the data holder only.
    """
    if labels is not None:
        return _on_one_level(outcome, name, labels, exact=exact)
    published = outcome.by_records
    column = outcome.table[name]
    values, codes = encode_values(column)
    visible_mask, weights = ~published.suppressed, published.rows.weights
    counts = weights.take(visible_mask).count_by(codes[visible_mask], len(values))
    hidden = weights.sum_of(~visible_mask)
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
    facts: dict[str, Any] = {
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
        "level": None,
        "estimated": 0,
    }
    if before is not None:
        counts_by_text = dict(zip(before.texts, before.counts.tolist(), strict=True))
        old = np.array([counts_by_text.get(after.texts[code], 0) for code in [*most, *rest]], np.int64)
        not_shown = before.total - int(old.sum())
        if not are_safe_counts(np.append(old - after.counts[[*most, *rest]], not_shown)):
            return {**facts, "withheld": True}
        facts["before"] = old[: len(most)].tolist()
        facts["others_before"] = int(old[len(most) :].sum())
        facts["hidden_before"] = not_shown
    return facts


def _on_one_level(outcome: Outcome, name: str, labels: LabelledColumn, *, exact: bool) -> dict[str, Any]:
    """Count a column with labels of several levels on the finest level with few labels."""
    hierarchy, published = outcome.hierarchies[name], outcome.by_records
    levels = [level for level, each in enumerate(hierarchy.labels) if 1 < len(each) <= MOST_NUMBERS]
    level = min(levels, default=max(0, hierarchy.height - 1))
    nodes = np.zeros((hierarchy.size, len(hierarchy.labels[level])))
    nodes[np.arange(hierarchy.size), hierarchy.label_map(level)] = 1.0
    shares = labels.membership() @ nodes
    visible_mask = ~published.suppressed
    weights = published.rows.weights
    counts = weights.take(visible_mask).count_by(labels.codes[visible_mask], len(labels.labels))
    blank = labels.sizes == len(labels.values)
    certain = (shares == 1.0) & ~blank[:, None]
    after = np.where(blank, 0, counts) @ shares
    # Only labels that the release shows, or that are above such, are named.
    named = counts @ certain > 0
    first = np.full(named.size, np.inf)
    np.minimum.at(first, hierarchy.label_map(level), domain_ranks(hierarchy, outcome.original[name]))
    order = np.argsort(first, kind="stable")
    order = np.concatenate([order[named[order]], order[~named[order]]])
    rounded = np.diff(np.rint(np.cumsum(after[order])), prepend=0.0).astype(np.int64)
    most, everything = int(named.sum()), int(counts[blank].sum())
    facts: dict[str, Any] = {
        "column": name,
        "role": outcome.role_of(name),
        "values": [hierarchy.labels[level][code] for code in order[:most]] + [ROOT] * (everything > 0),
        "limits": None,
        "before": None,
        "after": [*rounded[:most].tolist(), *[everything] * (everything > 0)],
        "others": int(np.count_nonzero(after[order[most:]])),
        "others_before": None,
        "others_after": int(rounded[most:].sum()),
        "hidden_before": None,
        "hidden_after": weights.sum_of(~visible_mask),
        "withheld": False,
        "level": level,
        "estimated": int(counts[~certain.any(axis=1) & ~blank].sum()),
    }
    prepared = outcome.prepared
    if exact and prepared is not None:
        rows = np.arange(prepared.table.num_rows)
        if prepared.subset is not None:
            rows = rows[prepared.subset]
        codes = prepared.codes[prepared.encoding.names.index(name)][rows]
        old = count_codes(hierarchy.label_map(level)[codes], named.size, prepared.weights_of(rows))[order]
        facts["before"] = [*old[:most].tolist(), *[0] * (everything > 0)]
        facts["others_before"], facts["hidden_before"] = int(old[most:].sum()), 0
    return facts


def find_counted_values(
    outcome: Outcome, distribution: dict[str, Any], values: pa.Array
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return masks of original values: those whose label a distribution lists, and those that equal it."""
    name, limits = distribution["column"], distribution["limits"]
    texts = canonical_text(values, column=name)
    if limits is not None:
        numbers = as_numbers(pa.chunked_array([values]))
        inside = (numbers >= limits[0]) & (numbers < limits[-1])
        return inside, np.zeros(len(values), np.bool_)
    labels: dict[str | None, str | None] = {text: text for text in texts}
    if name in outcome.levels:
        level = outcome.levels[name] if distribution["level"] is None else distribution["level"]
        hierarchy = outcome.hierarchies[name]
        places = hierarchy.label_map(level).tolist()
        labels = {
            text: hierarchy.labels[level][place]
            for text, place in zip(hierarchy.labels[0], places, strict=True)
        }
    listed_values = set(distribution["values"])
    labelled = [text in labels and labels[text] in listed_values for text in texts]
    itself = [each and labels[text] == text for text, each in zip(texts, labelled, strict=True)]
    return np.array(labelled, np.bool_), np.array(itself, np.bool_)


def _of_input(outcome: Outcome, name: str) -> _Counted | None:
    """Count the records of the input by the labels of the release; None if a value has not exactly one."""
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
    """Count the records of the input by their values, if the output has values of the same type."""
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
    """Count numbers in intervals over the range of the released numbers; also return the limits."""
    there = np.isfinite(numbers) & (after.counts > 0)
    low, high = float(numbers[there].min()), float(numbers[there].max())
    step = _round_step((high - low) / INTERVALS)
    first = math.floor(low / step)
    number = math.floor(high / step) - first + 1
    ends = [f"{(first + at) * step:,.10g}" for at in range(number + 1)]
    texts = [text("pictures.interval", low=low, high=high) for low, high in itertools.pairwise(ends)]

    def put(counted: _Counted, values: NDArray[np.float64]) -> _Counted:
        finite_mask = np.isfinite(values)
        place = np.floor(values[finite_mask] / step).astype(np.int64) - first
        inside = (place >= 0) & (place < number)
        counts = np.zeros(number + 1, np.int64)
        np.add.at(counts, place[inside], counted.counts[finite_mask][inside])
        missing = np.array([text is None for text in counted.texts], np.bool_)
        counts[number] = counted.counts[missing].sum()
        return _Counted([*texts, None], counts, counted.total)

    old = None
    if before is not None:
        old_numbers = [np.nan if text is None else float(text) for text in before.texts]
        old = put(before, np.array(old_numbers, np.float64))
    return put(after, numbers), old, [(first + at) * step for at in range(number + 1)]


def _round_step(width: float) -> float:
    """Return the next larger width of the form 1, 2 or 5 times a power of ten.

    >>> _round_step(0.3), _round_step(734.0)
    (0.5, 1000.0)
    """
    power = 10.0 ** math.floor(math.log10(width))
    return next(power * factor for factor in (1, 2, 5, 10) if power * factor >= width)


def _ranks(outcome: Outcome, name: str, values: pa.Array, texts: list[str | None]) -> NDArray[np.float64]:
    """Return the rank of each released value: in the order of its type, or of the values below a label."""
    natural = natural_ranks(values, outcome.table[name])
    if name not in outcome.hierarchies or (outcome.plan and name in outcome.plan.microaggregated):
        return natural
    hierarchy = outcome.hierarchies[name]
    first = _first_values(hierarchy, outcome.original[name])
    begins: dict[str | None, float] = {
        text: float(match[1]) for text in texts if text is not None and (match := _INTERVAL.match(text))
    }
    if len(begins) > 1:  # values below may have no order, such as dates as text
        first = begins
    unknown = max(float(hierarchy.size), *first.values(), 0.0)
    keys = [
        (first.get(text, unknown) if text is not None else np.inf, rank)
        for text, rank in zip(texts, natural.tolist(), strict=True)
    ]
    places = {key: at for at, key in enumerate(sorted(set(keys)))}
    return np.array([places[key] for key in keys], np.float64)


_INTERVAL = re.compile(r"\[(-?[0-9]+(?:\.[0-9]+)?), ")
"""The beginning of an interval."""


def _first_values(hierarchy: Hierarchy, original: pa.ChunkedArray) -> dict[str | None, float]:
    """Return the rank of the first value below each label of a hierarchy."""
    base = domain_ranks(hierarchy, original).astype(np.float64)
    first_ranks: dict[str | None, float] = {}
    for level, labels in enumerate(hierarchy.labels):
        least = np.full(len(labels), np.inf)
        np.minimum.at(least, hierarchy.label_map(level), base)
        for label, rank in zip(labels, least.tolist(), strict=True):
            first_ranks.setdefault(label, rank)
    return first_ranks
