"""The part of the verifier that computes aggregates again, class by class, in plain Python."""

from __future__ import annotations

import datetime as dt
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

from veil.plan.plan import Plan
from veil.published.finding import Finding
from veil.published.table import Published
from veil.tables.columns import encode_values
from veil.tables.rows import Rows
from veil.tables.text import canonical_text

Weighted = list[tuple[Any, int]]
"""The different values of a class, missing ones left out, with how often each occurs."""


_SHORT: dict[pa.DataType, Callable[[Any], Any]] = {pa.float16(): np.float16, pa.float32(): np.float32}
"""Floats that have fewer digits than those of Python."""


def verify_aggregates(
    before: pa.Table, labels: pa.Table, published: Published, plan: Plan, hidden: NDArray[np.bool_]
) -> list[Finding]:
    """Check for every microaggregated column that each class shows the aggregate of its records.

    `labels` are the generalized quasi-identifiers that form the classes, row by row.
    """
    shown = pa.array(~hidden)
    classes = Published(Rows.of(labels.filter(shown)), labels.column_names, suppressed="none").classes
    findings = []
    for name, how in plan.microaggregated.items():
        wrong = _wrong_classes(
            before[name].filter(shown), published.table[name].filter(shown), classes, how, name
        )
        promise = f"column {name!r} holds the {how} of its class"
        measured = f"{wrong} classes differ" if wrong else "every class"
        findings.append(Finding(promise, wrong == 0, measured))
    return findings


def _wrong_classes(
    original: pa.ChunkedArray,
    released: pa.ChunkedArray,
    classes: np.ndarray[Any, Any],
    how: str,
    name: str,
) -> int:
    values, texts = _by_class(original, classes, name)
    found, _ = _by_class(released, classes, name)
    short = _SHORT.get(released.type)
    wrong = 0
    for number, weighted in values.items():
        if len(found[number]) != 1:
            wrong += 1
            continue
        ((shown, _),) = found[number]
        if short is not None and shown is not None:
            shown = short(shown)
        known = [(value, count) for value, count in weighted if value is not None]
        people = sum(count for _, count in known)
        # Of one person alone, an aggregate would be the value.
        fits = _FITS[how](known, shown, texts) if people > 1 else shown is None
        wrong += not fits
    return wrong


def _by_class(
    column: pa.ChunkedArray, classes: np.ndarray[Any, Any], name: str
) -> tuple[dict[int, Weighted], dict[Any, str]]:
    """Different values of each class with their counts, and the text of each value."""
    values, codes = encode_values(column)
    pairs, counts = np.unique(classes.astype(np.int64) * len(values) + codes, return_counts=True)
    plain = [_instant(value) for value in values.to_pylist()]
    grouped: dict[int, Weighted] = defaultdict(list)
    for pair, count in zip(pairs.tolist(), counts.tolist(), strict=True):
        number, code = divmod(pair, len(values))
        grouped[number].append((plain[code], count))
    return grouped, dict(zip(plain, canonical_text(values, column=name), strict=True))


def _instant(value: Any) -> Any:
    """A time in UTC: of the hour in which clocks go back, Python takes two of one zone for the same."""
    return value.astimezone(dt.UTC) if isinstance(value, dt.datetime) and value.tzinfo is not None else value


def _near(exact: Fraction | float, shown: Any) -> bool:
    """Whether a shown number is an exact one, rounded as its type asks."""
    if isinstance(shown, Decimal):
        unit = Fraction(10) ** int(shown.as_tuple().exponent)
        slack = 0 if isinstance(exact, Fraction) else Fraction(abs(exact)) / 10**9
        return abs(Fraction(shown) - Fraction(exact)) <= unit / 2 + slack
    if isinstance(shown, int):
        return abs(shown - exact) <= 0.5 + 1e-9 * abs(float(exact))
    if isinstance(shown, np.floating):
        return bool(abs(float(exact) - float(shown)) <= float(np.spacing(abs(shown))))
    return math.isclose(float(exact), float(shown), rel_tol=1e-9, abs_tol=1e-12)


def _between(weighted: Weighted, shown: Any) -> bool:
    return shown is not None and min(weighted)[0] <= shown <= max(weighted)[0]


def _is_mean(weighted: Weighted, shown: Any, texts: dict[Any, str]) -> bool:
    if not _is_number(weighted):
        return _between(weighted, shown)
    total = sum(Fraction(value) * count for value, count in weighted)
    return shown is not None and _near(total / sum(count for _, count in weighted), shown)


def _is_geometric_mean(weighted: Weighted, shown: Any, texts: dict[Any, str]) -> bool:
    total = math.fsum(math.log1p(value) * count for value, count in weighted)
    return shown is not None and _near(math.expm1(total / sum(count for _, count in weighted)), shown)


def _is_median(weighted: Weighted, shown: Any, texts: dict[Any, str]) -> bool:
    if not _is_number(weighted):
        # Categories and dates: in between, or missing where the two in the middle differ.
        return shown is None or isinstance(shown, str) or _between(weighted, shown)
    flat = [Fraction(value) for value, count in weighted for _ in range(count)]
    return shown is not None and _near(statistics.median(flat), shown)


def _is_mode(weighted: Weighted, shown: Any, texts: dict[Any, str]) -> bool:
    most = max(count for _, count in weighted)
    return any(value == shown and count == most for value, count in weighted)


def _is_interval(weighted: Weighted, shown: Any, texts: dict[Any, str]) -> bool:
    ends = {texts[value] for value, _ in weighted}
    if not isinstance(weighted[0][0], str):
        return bool(shown == f"[{texts[min(weighted)[0]]}, {texts[max(weighted)[0]]}]")
    # Ordered categories have an order that their texts do not tell.
    return shown in {f"[{a}, {b}]" for a in ends for b in ends}


def _is_set(weighted: Weighted, shown: Any, texts: dict[Any, str]) -> bool:
    # In the order of the values: any other would tell which row has which.
    return bool(
        shown == "{" + ", ".join(texts[value] for value in sorted(value for value, _ in weighted)) + "}"
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
