"""Checks of methods that make groups: privacy models on the output, and tables that are linked by groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.base.wording import Phrase, plural
from veil.models import ratio_distance
from veil.models.closeness.model import TCloseness
from veil.models.diversity import DistinctLDiversity
from veil.models.item_sets import KMAnonymity
from veil.models.k_anonymity import KAnonymity
from veil.published.blank import MARKER, shows_no_value
from veil.published.finding import Finding
from veil.published.matching import fewest_matches
from veil.published.table import Published
from veil.tables.arrow import decode_column
from veil.tables.columns import encode_values, ranks
from veil.tables.rows import Rows
from veil.tables.text import canonical_text
from veil.verification.items import other_sets
from veil.verification.release import verify_model, verify_models
from veil.verification.steps.moves import verify_same_values
from veil.verification.steps.partition import verify_partition
from veil.verification.steps.rows import MaskStep, groups_of

ONLY_THEIR_ITEMS = "show only items they had, or groups of these"

SECOND = "confidential"
"""Name of the table with confidential values by group."""


def _models(step: MaskStep) -> Iterator[Finding]:
    yield from verify_models(step.published(step.method.known_columns), step.method.privacy_models)


# --- microaggregation and local suppression -------------------------------------------------------


def _microaggregation(step: MaskStep) -> Iterator[Finding]:
    """Check, on the output alone, k-anonymity in columns that share a partition."""
    method = step.method
    alone = getattr(method, "order", None) == "individual ranking"
    for names in [(name,) for name in method.columns] if alone else [method.columns]:
        finding = verify_model(step.published(names), KAnonymity(method.k))
        alone_too = " alone" if len(names) < len(method.columns) else ""
        promise = Phrase(
            f"{{k}}-anonymity in {{columns}}{alone_too}", k=method.k, columns=", ".join(map(repr, names))
        )
        if not step.before.owners.are_records:
            promise = Phrase("{promise}, counting people", promise=promise)
        yield Finding(promise, finding.holds, finding.measured)


def _close_microaggregation(step: MaskStep) -> Iterator[Finding]:
    method = step.method
    yield from _microaggregation(step)
    yield TCloseness(method.confidential, method.t, method.closeness).verify(step.published(method.columns))


def _local_suppression(step: MaskStep) -> Iterator[Finding]:
    method, published = step.method, step.published(step.method.columns)
    if method.missing == "own_value":
        yield verify_model(published, KAnonymity(method.k))
    else:
        codes = np.stack([_value_codes(step.new(name)) for name in method.columns], axis=1)
        owners = published.rows.owners
        fewest = fewest_matches(codes, method.k, owners)
        promise = (
            f"every record matches at least {method.k} {owners.noun}, where a missing cell matches everything"
        )
        yield Finding(promise, fewest >= method.k, f"at least {fewest}")
    wrong = sum(_count_changed_cells(step, name) for name in (*method.columns, *method.linked))
    wrong += sum(
        int(pc.sum(pc.and_(_left_out(step, to), pc.is_valid(step.new(name)))).as_py() or 0)
        for name, to in method.linked.items()
    )
    yield Finding(
        "cells are left out or unchanged", not wrong, plural(wrong, "is not", "are not") if wrong else "all"
    )


def _value_codes(column: pa.ChunkedArray) -> np.ndarray[tuple[int], np.dtype[np.int32]]:
    """Number the values of a column; -1 where it is missing."""
    _, codes = encode_values(column)
    return np.where(np.array(column.is_null()), -1, codes).astype(np.int32)


def _left_out(step: MaskStep, name: str) -> pa.ChunkedArray:
    return pc.and_(pc.is_valid(step.old(name)), pc.is_null(step.new(name)))


def _count_changed_cells(step: MaskStep, name: str) -> int:
    """Count the cells that show something else than before."""
    old, new = step.records([name])
    visible_mask = np.array(step.new(name).is_valid())
    return int(np.count_nonzero((old != new) & visible_mask))


# --- items ----------------------------------------------------------------------------------------


def _items(step: MaskStep) -> Iterator[Finding]:
    method = step.method
    sets = step.after if method.person is None else _sets_of_people(step)
    model = KMAnonymity(method.column, method.k, method.m, method.separator)
    finding = model.verify(Published(Rows.of(sets), list(method.within), suppressed="none"))
    agree = f" among records that agree in {', '.join(map(repr, method.within))}" if method.within else ""
    promise = f"{finding.promise}{agree}" if agree else finding.promise
    yield Finding(promise, finding.holds, finding.measured)
    old, new = step.old(method.column), step.new(method.column)
    if method.person is not None:  # one item in each row
        old, new = (
            pa.chunked_array([pa.ListArray.from_arrays(np.arange(len(each) + 1), each.combine_chunks())])
            for each in (old, new)
        )
    wrong = other_sets(old, new, method.column, method.hierarchy, method.separator)
    promise = f"sets of {method.column!r} {ONLY_THEIR_ITEMS}"
    yield Finding(promise, not wrong, plural(wrong, "does not", "do not") if wrong else "every set")


def _sets_of_people(step: MaskStep) -> pa.Table:
    """Return the set of items of each person, with the columns in which records have to agree."""
    method, after = step.method, step.after
    people, number = encode_values(decode_column(after[method.person]))
    first = np.full(len(people), -1, np.int64)
    first[number[::-1]] = np.arange(number.size)[::-1]
    sets: list[list[object]] = [[] for _ in range(len(people))]
    for at, item in zip(number.tolist(), after[method.column].to_pylist(), strict=True):
        if item is not None:
            sets[at].append(item)
    columns = {name: after[name].take(pa.array(first)) for name in method.within}
    kind = decode_column(after[method.column]).type
    return pa.table({**columns, method.column: pa.array(sets, pa.list_(kind))})


# --- two tables -----------------------------------------------------------------------------------


def _verify_second_table(step: MaskStep, columns: Sequence[str], group: str) -> Iterator[Finding]:
    """Check that the second table holds the confidential values of each group of the first, sorted."""
    second = step.apart[SECOND]
    place = np.lexsort((*(ranks(second[name])[0] for name in reversed(columns)), np.array(second[group])))
    in_order = all(
        np.array_equal(numbers[place], numbers) for numbers in (ranks(second[name])[0] for name in columns)
    ) and bool((np.diff(np.array(second[group])) >= 0).all())
    first = pa.table({group: step.after[group], **{name: step.old(name) for name in columns}})
    same = second.num_rows == first.num_rows and _same_rows(first, second, [group, *columns])
    yield Finding(
        f"the second table holds the values of each {group!r}, sorted",
        same and in_order,
        "other values" if not same else "every one" if in_order else "in another order",
    )


def _same_rows(one: pa.Table, other: pa.Table, names: Sequence[str]) -> bool:
    """Whether two tables hold the same rows, equally often."""
    columns = []
    for name in names:
        first, second = decode_column(one[name]), decode_column(other[name])
        if first.type != second.type:
            return False
        columns.append(pa.chunked_array([*first.chunks, *second.chunks], first.type))
    numbers = groups_of(columns, one.num_rows + other.num_rows)
    return np.array_equal(np.sort(numbers[: one.num_rows]), np.sort(numbers[one.num_rows :]))


def _group_sizes(step: MaskStep, k: int, group: str) -> Finding:
    """Check that groups are large enough, and the same in both tables."""
    sizes, again = (
        dict(zip(*np.unique(np.array(table[group]), return_counts=True), strict=True))
        for table in (step.after, step.apart[SECOND])
    )
    smallest = int(min([*sizes.values(), *again.values()], default=k))
    promise = f"every group has at least {k} records"
    return Finding(
        promise, sizes == again and smallest >= k, f"at least {smallest}" if sizes == again else "others"
    )


def _anatomy(step: MaskStep) -> Iterator[Finding]:
    method, second = step.method, step.apart[SECOND]
    if method.l is not None:
        encoded = [encode_values(second[name]) for name in method.columns]
        blank_mask = np.logical_and.reduce([shows_no_value(each, MARKER)[codes] for each, codes in encoded])
        # Records without a value do not count, unless there are no others.
        visible = second if blank_mask.all() else second.filter(pa.array(~blank_mask))
        numbers = groups_of([visible[method.group]], visible.num_rows)
        values = groups_of([visible[name] for name in method.columns], visible.num_rows)
        width = int(values.max(initial=0)) + 1
        pairs, counts = np.unique(numbers * width + values, return_counts=True)
        sizes = np.bincount(numbers)[pairs // width]
        worst = int(np.argmax(counts / sizes))
        promise = f"no confidential value in more than 1/{method.l} of a group"
        holds = bool(blank_mask.all() or (counts * method.l <= sizes).all())
        yield Finding(promise, holds, f"at most {counts[worst]} of {sizes[worst]}")
        if len(method.columns) == 1:
            model = DistinctLDiversity(method.columns[0], method.l)
            yield model.verify(Published(Rows.of(second), [method.group], suppressed="none"))
    else:
        old = groups_of([step.old(name) for name in method.by], step.after.num_rows)
        new = groups_of([step.after[method.group]], old.size)
        same = np.unique(np.stack([old, new]), axis=1).shape[1] == old.max() + 1 == new.max() + 1
        names = ", ".join(map(repr, method.by))
        yield Finding(
            f"groups are the records that agree in {names}", bool(same), "all" if same else "others"
        )
    yield from _verify_second_table(step, method.columns, method.group)


def _confidential_groups(step: MaskStep) -> Iterator[Finding]:
    method = step.method
    if method.release == "swapping":
        yield verify_same_values(step, method.columns)
        return
    yield _group_sizes(step, method.k, method.group)
    yield from _verify_second_table(step, method.columns, method.group)


def _buckets(step: MaskStep) -> Iterator[Finding]:
    """Check the ratio of shares, if groups are published, and the number of buckets."""
    method, name = step.method, step.method.confidential
    table = step.apart.get(SECOND, step.after)
    sizes = np.bincount(encode_values(decode_column(table[name]))[1])
    fits = sizes.size <= method.t + 1
    if step.apart:
        yield _group_sizes(step, method.k, method.group)
        ratio = ratio_distance.largest_ratio(
            Published(Rows.of(table), [method.group], suppressed="none"), name
        )
        yield Finding(
            f"ratio distance of {name!r} at most {method.t} ({ratio_distance.LABEL})",
            bool(ratio is not None and ratio <= method.t),
            "a value that a group does not have" if ratio is None else str(ratio),
        )
    yield Finding(f"{name!r} shows at most {method.t + 1} buckets", bool(fits), f"{sizes.size}")


def _invariance(step: MaskStep) -> Iterator[Finding]:
    """Check that groups have m different values, their members' among them, and the declared counterfeits."""
    method = step.method
    second, third = step.apart[SECOND], step.apart["counterfeits"]
    signatures: dict[int, list[str]] = {}
    for group, value in zip(second["group"].to_pylist(), second[method.attribute].to_pylist(), strict=True):
        signatures.setdefault(group, []).append(value)
    fewest = min(map(len, signatures.values()), default=method.m)
    diverse = fewest >= method.m and all(len(set(each)) == len(each) for each in signatures.values())
    yield Finding(f"every group has at least {method.m} values, all different", diverse, f"at least {fewest}")
    members: dict[int, list[str | None]] = {}
    values = canonical_text(step.old(method.attribute), column=method.attribute)
    for group, value in zip(step.after["group"].to_pylist(), values, strict=True):
        members.setdefault(group, []).append(value)
    filled = dict(zip(third["group"].to_pylist(), third["counterfeits"].to_pylist(), strict=True))
    wrong = len(signatures.keys() ^ members.keys()) + sum(
        len(set(each)) != len(each)
        or not set(each) <= set(signatures.get(group, ()))
        or filled.get(group, 0) != len(signatures.get(group, ())) - len(each)
        for group, each in members.items()
    )
    promise = (
        "every group shows the values of its members, all different, and as many counterfeits as are told"
    )
    yield Finding(
        promise, not wrong, plural(wrong, "group does", "groups do") + " not" if wrong else "every group"
    )


CHECKS: Mapping[str, Callable[[MaskStep], Iterator[Finding]]] = {
    "Anatomy": _anatomy,
    "BucketizedTCloseness": _buckets,
    "ConfidentialAttributePartitioning": _confidential_groups,
    "GeneticMicroaggregation": _microaggregation,
    "ItemGeneralization": _items,
    "KWard": _microaggregation,
    "LocalSuppression": _local_suppression,
    "MInvariance": _invariance,
    "MDAV": _microaggregation,
    "Mondrian": verify_partition,
    "TClosenessThroughMicroaggregation": _close_microaggregation,
    "TopDownSpecialization": _models,
    "UnivariateMicroaggregation": _microaggregation,
    "VMDAV": _microaggregation,
}
