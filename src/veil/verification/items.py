"""The check of sets whose items are generalized: nothing of suppressed records, and nothing new."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.base.wording import Phrase, plural
from veil.models.item_sets import KMAnonymity
from veil.plan.plan import Plan
from veil.published.blank import shows_nothing
from veil.published.finding import Finding
from veil.tables.columns import is_text
from veil.tables.text import canonical_text


def verify_items(
    before: pa.ChunkedArray, after: pa.ChunkedArray, name: str, plan: Plan, suppressed_mask: NDArray[np.bool_]
) -> Finding:
    """Check that each published item is one of the original set, or a group of one."""
    separator = next(
        (each.separator for each in plan.models if isinstance(each, KMAnonymity) and each.attribute == name),
        ",",
    )
    promise = Phrase(
        "sets of {column!r} show only items they had, or groups of these, and none of suppressed records",
        column=name,
    )
    unprotected = int(np.count_nonzero(~shows_nothing(after, plan.marker)[suppressed_mask]))
    if unprotected:
        return Finding(promise, False, f"{plural(unprotected, 'suppressed record')} shown")
    rows = pa.array(np.flatnonzero(~suppressed_mask))
    wrong = other_sets(before.take(rows), after.take(rows), name, plan.items[name], separator)
    if wrong is None:
        return Finding(promise, True, "labels are made of what is published")
    return Finding(promise, wrong == 0, f"{wrong} do not" if wrong else plural(len(rows), "record"))


def other_sets(
    before: pa.ChunkedArray, after: pa.ChunkedArray, name: str, builder: Any, separator: str
) -> int | None:
    """Count the pairs of sets with an item that is neither one of the original set nor a group of one.

    None if groups are named by published values.
    """
    old, new = (_sets(each, separator) for each in (before, after))
    labels = _labels(builder, name, _items(before, separator))
    if labels is None:
        return None
    return sum(
        not all(any(item in labels[each] for each in had) for item in shows)
        for had, shows in set(zip(old, new, strict=True))
    )


def _sets(column: pa.ChunkedArray, separator: str) -> list[frozenset[str]]:
    """Return the sets as texts."""
    return [frozenset(_texts_of(value, separator)) for value in column.to_pylist()]


def _texts_of(value: str | list[object] | None, separator: str) -> list[str]:
    if value is None or isinstance(value, str):
        return [item for item in (value or "").split(separator) if item]
    texts = canonical_text(pa.array([each for each in value if each is not None]), column="items")
    return [item for item in texts if item]


def _items(column: pa.ChunkedArray, separator: str) -> pa.Array:
    """Return the different items of all sets, in their own type."""
    if is_text(column.type):
        column = pc.split_pattern(column, separator)
    items = pc.unique(pc.list_flatten(column.combine_chunks())).drop_null()
    return items.filter(pc.not_equal(items, "")) if is_text(items.type) else items


def _labels(builder: Any, name: str, items: pa.Array) -> Mapping[str, set[str]] | None:
    """Return the labels that each item may be published as; None if groups are named by published values."""
    texts = [str(item) for item in canonical_text(items, column=name)]
    if builder is None or not texts:
        return {item: {item} for item in texts}
    hierarchy = builder.build(items, np.ones(len(items), np.int64), name)
    if hierarchy.naming is not None:
        return None
    codes, labels_of = hierarchy.encode(items, name), {item: {item} for item in texts}
    for level in range(hierarchy.height + 1):
        label_codes = hierarchy.label_map(level)[codes]
        for item, label in zip(texts, label_codes.tolist(), strict=True):
            labels_of[item].add(str(hierarchy.labels[level][label]))
    return labels_of
