"""Checks of methods that sample records or swap values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from veil.base.exact import decimal_fraction
from veil.base.wording import Phrase, plural
from veil.published.finding import Finding
from veil.tables.arrow import decode_column
from veil.tables.columns import as_numbers, ranks
from veil.verification.steps.rows import Integers, MaskStep, groups_of


def verify_same_values(
    step: MaskStep, names: Sequence[str], strata: Integers | None = None, where: str = ""
) -> Finding:
    """Check that columns hold the same values, in each stratum as often, and jointly if there are several."""
    old, new = step.records(names)
    width = int(max(old.max(initial=0), new.max(initial=0))) + 1
    base = 0 if strata is None else strata * width
    different = int(np.count_nonzero(np.sort(base + old) != np.sort(base + new)))
    column_list = ", ".join(map(repr, names))
    holds = "holds" if len(names) == 1 else "hold together"
    promise: str = Phrase(f"{{columns}} {holds} the values of the input, each as often", columns=column_list)
    promise = f"{promise}{where}" if where else promise
    return Finding(promise, not different, "others" if different else "the same")


def _shuffled(step: MaskStep) -> Iterator[Finding]:
    method = step.method
    within = getattr(method, "within", ())
    strata = groups_of([step.old(name) for name in within], step.after.num_rows) if within else None
    where = f" where {', '.join(map(repr, within))} agree" if within else ""
    together = getattr(method, "together", method.kind == "DataSwapping")
    for names in [method.columns] if together else [(name,) for name in method.columns]:
        yield verify_same_values(step, names, strata, where)


def _whole_records(step: MaskStep) -> Iterator[Finding]:
    yield verify_same_values(step, step.method.columns)


def _neighbours(step: MaskStep) -> Iterator[Finding]:
    """Check values that are swapped within runs of the sorted column, cut from both ends."""
    method = step.method
    for name in method.columns:
        k = method.k[name] if isinstance(method.k, dict) else method.k
        numbers = as_numbers(decode_column(step.source[name]))
        runs = np.empty(numbers.size, np.int64)
        runs[np.argsort(numbers, kind="stable")] = _runs(numbers.size, k)
        runs = step.origins.pick(runs)
        yield verify_same_values(
            step, (name,), runs, f" among the {k} or more records next to each other in its order"
        )


def _runs(rows: int, k: int) -> list[int]:
    """Number the places of a sorted column by run: k from either end in turns, the rest in the middle.

    >>> _runs(7, 2)
    [0, 0, 2, 2, 2, 1, 1]
    """
    low: list[int] = []
    high: list[int] = []
    number = 0
    while rows - len(low) - len(high) >= 3 * k:
        low += [number] * k
        high += [number + 1] * k
        number += 2
    if rows - len(low) - len(high) >= 2 * k:
        low += [number] * k
        number += 2
    return [*low, *[number] * (rows - len(low) - len(high)), *reversed(high)]


def _each_column(step: MaskStep) -> Iterator[Finding]:
    for name in step.method.columns:
        yield verify_same_values(step, (name,))


def _ranks(step: MaskStep) -> Iterator[Finding]:
    """Check that no value moved by more ranks than declared; equal values share a block of ranks."""
    method = step.method
    window = int(decimal_fraction(method.p) * step.source.num_rows // 100)
    farthest = 0
    for names in [(name,) for name in method.columns] if method.by is None else [method.columns]:
        yield verify_same_values(step, names)
        place, _ = ranks(step.source[method.by or names[0]])
        ends = np.cumsum(np.bincount(place))
        starts = ends - np.bincount(place)
        place = step.origins.pick(place)
        old, new = step.records(names)
        # No assignment of equal values has a smaller largest distance than the one that keeps their order.
        before, after = (place[np.lexsort((place, numbers))] for numbers in (old, new))
        apart = np.maximum(starts[after] - ends[before] + 1, starts[before] - ends[after] + 1)
        farthest = max(farthest, int(np.maximum(apart, 0).max(initial=0)))
    yield Finding(
        Phrase("no value moved by more than {ranks} ranks", ranks=window), farthest <= window, f"{farthest}"
    )


def _sample(step: MaskStep) -> Iterator[Finding]:
    method, records = step.method, step.source.num_rows
    promise = "the sample has the size asked for"
    if method.kind == "RandomSampling":
        sample_size = method.size or max(1, _half_up(decimal_fraction(method.fraction) * records))
        yield Finding(promise, step.after.num_rows == sample_size, plural(step.after.num_rows, "record"))
        return
    columns = [step.source[name] for name in method.columns]
    strata = groups_of(columns, records)
    sizes = np.bincount(strata).tolist()
    counts = np.bincount(step.origins.pick(strata), minlength=len(sizes)).tolist()
    share = None if method.size is not None else decimal_fraction(method.fraction)
    wrong = sum(
        number != method.size
        if share is None
        else not math.floor(share * size) <= number <= math.ceil(share * size)
        for number, size in zip(counts, sizes, strict=True)
    )
    if share is not None and sum(counts) != max(1, _half_up(share * records)):
        wrong += 1
    measured = f"{plural(wrong, 'stratum has', 'strata have')} another" if wrong else "every stratum"
    yield Finding(f"{promise}, in every stratum", not wrong, measured)


def _half_up(number: Fraction) -> int:
    return math.floor(number + Fraction(1, 2))


def _nothing_more(step: MaskStep) -> Iterator[Finding]:
    """Check nothing besides rows and columns: the number of records is random."""
    return iter(())


CHECKS: Mapping[str, Callable[[MaskStep], Iterator[Finding]]] = {
    "BernoulliSampling": _nothing_more,
    "ColumnShuffling": _shuffled,
    "DataSwapping": _shuffled,
    "IndividualRankingSwapping": _neighbours,
    "MDAVSwapping": _each_column,
    "RandomSampling": _sample,
    "RankSwapping": _ranks,
    "Shuffling": _each_column,
    "StratifiedSampling": _sample,
    "WholeRecordSwapping": _whole_records,
}
