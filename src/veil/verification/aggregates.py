"""The verifier's own computation of aggregates, class by class, in plain Python."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.wording import Phrase, plural
from veil.plan.plan import Plan
from veil.published.finding import Finding
from veil.published.table import Published
from veil.tables.columns import encode_values
from veil.tables.rows import Owners, Rows
from veil.tables.text import canonical_text
from veil.verification.delivered import in_utc

Codes = NDArray[np.int32]
Weighted = list[tuple[Any, int]]
"""The different values of a class, without missing ones, and how often each occurs."""


_SHORT: dict[pa.DataType, Callable[[Any], Any]] = {pa.float16(): np.float16, pa.float32(): np.float32}
"""Floats of lower precision than those of Python."""


def verify_aggregates(
    before: pa.Table, labels: pa.Table, published: Published, plan: Plan, suppressed_mask: NDArray[np.bool_]
) -> list[Finding]:
    """Check for every microaggregated column that each class shows the aggregate of its records.

    `labels` are the generalized quasi-identifiers of each row, which form the classes.
    """
    visible_mask = pa.array(~suppressed_mask)
    classes = Published(Rows.of(labels.filter(visible_mask)), labels.column_names, suppressed="none").classes
    owners = published.rows.owners.take(~suppressed_mask)
    findings = []
    for name, how in plan.microaggregated.items():
        original, aggregates = before[name].filter(visible_mask), published.table[name].filter(visible_mask)
        wrong = _wrong_classes(original, aggregates, classes, owners, how, name)
        promise = Phrase("column {column!r} holds the {aggregate} of its class", column=name, aggregate=how)
        measured = plural(wrong, "class differs", "classes differ") if wrong else "every class"
        findings.append(Finding(promise, wrong == 0, measured))
    return findings


def _wrong_classes(
    original: pa.ChunkedArray,
    published: pa.ChunkedArray,
    classes: Codes,
    owners: Owners,
    how: str,
    name: str,
) -> int:
    values, texts = _by_class(original, classes, name)
    people = _people_with_value(original, classes, owners)
    aggregates, _ = _by_class(published, classes, name)
    short = _SHORT.get(published.type)
    wrong = 0
    for number, weighted in values.items():
        if len(aggregates[number]) != 1:
            wrong += 1
            continue
        ((aggregate, _),) = aggregates[number]
        if short is not None and aggregate is not None:
            aggregate = short(aggregate)
        present = [(value, count) for value, count in weighted if value is not None]
        # The aggregate of one person would be that person's value.
        fits = _FITS[how](present, aggregate, texts) if people[number] > 1 else aggregate is None
        wrong += not fits
    return wrong


def _people_with_value(column: pa.ChunkedArray, classes: Codes, owners: Owners) -> NDArray[np.int64]:
    """Count the different owners of values in each class."""
    valid_mask, width = np.array(column.is_valid(), np.bool_), int(owners.array.max(initial=0)) + 1
    pairs = np.unique(classes[valid_mask].astype(np.int64) * width + owners.array[valid_mask])
    return np.bincount(pairs // width, minlength=int(classes.max(initial=-1)) + 1)


def _by_class(
    column: pa.ChunkedArray, classes: Codes, name: str
) -> tuple[dict[int, Weighted], dict[Any, str]]:
    """Return the different values of each class with their counts, and the text of each value."""
    values, codes = encode_values(column)
    pairs, counts = np.unique(classes.astype(np.int64) * len(values) + codes, return_counts=True)
    plain = [in_utc(value) for value in values.to_pylist()]
    grouped: dict[int, Weighted] = defaultdict(list)
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        number, code = divmod(pair, len(values))
        grouped[number].append((plain[code], count))
    return grouped, dict(zip(plain, canonical_text(values, column=name), strict=True))


def _near(exact: Fraction | float, number: Any) -> bool:
    """Whether a published number is an exact one, rounded to the precision of its type."""
    if isinstance(number, Decimal):
        unit = Fraction(10) ** int(number.as_tuple().exponent)
        slack = 0 if isinstance(exact, Fraction) else Fraction(abs(exact)) / 10**9
        return abs(Fraction(number) - Fraction(exact)) <= unit / 2 + slack
    if isinstance(number, int):
        return abs(number - exact) <= 0.5 + 1e-9 * abs(float(exact))
    if isinstance(number, np.floating):
        return bool(abs(float(exact) - float(number)) <= float(np.spacing(abs(number))))
    return math.isclose(float(exact), float(number), rel_tol=1e-9, abs_tol=1e-12)


def _between(weighted: Weighted, aggregate: Any) -> bool:
    return aggregate is not None and min(weighted)[0] <= aggregate <= max(weighted)[0]


def _is_mean(weighted: Weighted, aggregate: Any, texts: dict[Any, str]) -> bool:
    if not _is_number(weighted):
        return _between(weighted, aggregate)
    total = sum(Fraction(value) * count for value, count in weighted)
    return aggregate is not None and _near(total / sum(count for _, count in weighted), aggregate)


def _is_geometric_mean(weighted: Weighted, aggregate: Any, texts: dict[Any, str]) -> bool:
    total = math.fsum(math.log1p(value) * count for value, count in weighted)
    return aggregate is not None and _near(math.expm1(total / sum(count for _, count in weighted)), aggregate)


def _is_median(weighted: Weighted, aggregate: Any, texts: dict[Any, str]) -> bool:
    if not _is_number(weighted):
        # Categories and dates: between the extremes, or missing if the two middle ones differ.
        return aggregate is None or isinstance(aggregate, str) or _between(weighted, aggregate)
    flat = [Fraction(value) for value, count in weighted for _ in range(count)]
    return aggregate is not None and _near(statistics.median(flat), aggregate)


def _is_mode(weighted: Weighted, aggregate: Any, texts: dict[Any, str]) -> bool:
    most = max(count for _, count in weighted)
    return any(value == aggregate and count == most for value, count in weighted)


def _is_interval(weighted: Weighted, aggregate: Any, texts: dict[Any, str]) -> bool:
    ends = {texts[value] for value, _ in weighted}
    if not isinstance(weighted[0][0], str):
        return bool(aggregate == f"[{texts[min(weighted)[0]]}, {texts[max(weighted)[0]]}]")
    # The order of ordered categories does not follow from their texts.
    return aggregate in {f"[{a}, {b}]" for a in ends for b in ends}


def _is_set(weighted: Weighted, aggregate: Any, texts: dict[Any, str]) -> bool:
    # In the order of the values: any other could reveal which row has which.
    return bool(
        aggregate == "{" + ", ".join(texts[value] for value in sorted(value for value, _ in weighted)) + "}"
    )


def _is_number(weighted: Weighted) -> bool:
    value = weighted[0][0]
    return not isinstance(value, bool) and hasattr(value, "as_integer_ratio")


_FITS: dict[str, Callable[[Weighted, Any, dict[Any, str]], bool]] = {
    "mean": _is_mean,
    "geometric mean": _is_geometric_mean,
    "median": _is_median,
    "mode": _is_mode,
    "interval": _is_interval,
    "set": _is_set,
}
