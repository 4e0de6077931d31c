"""Checks of methods that replace cells one by one: each different pair of cells is checked once."""

from __future__ import annotations

import functools
import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.base.exact import decimal_fraction
from veil.base.wording import Phrase, plural
from veil.published.finding import Finding
from veil.tables.arrow import categories, decode_column
from veil.tables.columns import as_numbers, encode_values, is_number, ranks, whole_numbers
from veil.tables.text import canonical_text
from veil.verification.release import labels_at
from veil.verification.steps.rows import MaskStep

_FEW = 3
"""People with a cell in a tail below whom its mean or median would reveal a value."""

_LIKELY_OWN = 8
"""Hexadecimal digits from which on no random pseudonym equals its value."""


def _finding(promise: str, wrong: int, what: str = "cell") -> Finding:
    return Finding(promise, not wrong, f"{plural(wrong, what)} of another kind" if wrong else "every cell")


# --- global recoding, top and bottom coding, rounding ---------------------------------------------


def _recoding(step: MaskStep) -> Iterator[Finding]:
    method, name = step.method, step.method.column
    if method.hierarchy is not None:
        values, codes = encode_values(decode_column(step.source[name]))
        counts = np.bincount(codes, minlength=len(values))
        hierarchy = method.hierarchy.build(values, counts, name)
        new_texts = labels_at(values, hierarchy, method.level).to_pylist()
        labels = dict(zip(canonical_text(values, column=name), new_texts, strict=True))
    elif method.mapping is not None:
        labels = {old: method.mapping.get(old, old) for old, _ in step.texts(name) if old is not None}
    else:
        labels = _cut(step, method.breaks, method.labels)
    wrong = sum(labels.get(old) != new for old, new in step.texts(name))
    yield _finding(Phrase("every cell of {column!r} is recoded as declared", column=name), wrong)


def _cut(
    step: MaskStep, breaks: Sequence[float], names: Sequence[str] | None
) -> dict[str | None, str | None]:
    """Return the interval of each value, by its text."""
    bounds = canonical_text(pa.array(breaks, pa.float64()), column="breaks")
    between = [f"[{low}, {high}[" for low, high in pairwise(bounds)]
    labels = names or [f"<{bounds[0]}", *between, f">={bounds[-1]}"]
    old, _ = step.pairs(step.method.column)
    return {
        text: None if number != number else labels[sum(number >= each for each in breaks)]
        for text, number in zip(
            canonical_text(old), as_numbers(pa.chunked_array([old])).tolist(), strict=True
        )
    }


def _coding(step: MaskStep) -> Iterator[Finding]:
    """Check that the tail shows one value, the declared one, and that all other cells are unchanged."""
    method, name = step.method, step.method.column
    tail, threshold = _tail(step)
    codes = encode_values(decode_column(step.source[name]))[1]
    beyond_mask = step.origins.pick(tail[codes])
    old, new = step.old(name), step.new(name)
    tail_values = new.filter(pa.array(beyond_mask)).unique()
    side = "above" if method.kind == "TopCoding" else "below"
    yield Finding(
        f"all values of {name!r} at or {side} the threshold show the same",
        len(tail_values) <= 1
        and all(map(_is_one_of, tail_values.to_pylist(), [_tail_value(step, tail, threshold)])),
        "one value" if len(tail_values) <= 1 else f"{len(tail_values)} values",
    )
    rest = pa.array(~beyond_mask)
    wrong = _different(old.filter(rest), new.filter(rest))
    yield _finding(f"all other values of {name!r} are unchanged", wrong)


def _tail(step: MaskStep) -> tuple[NDArray[np.bool_], Any]:
    """Return a mask of the values at or beyond the threshold, and the threshold as a value or text."""
    method, source = step.method, step.source[step.method.column]
    values, codes = encode_values(decode_column(source))
    order: list[Any] = list(method.order)
    if not order and pa.types.is_dictionary(source.type) and source.type.ordered:
        order = canonical_text(categories(source))
    missing = np.array(values.is_null(nan_is_null=True) if is_number(values.type) else values.is_null())
    if order:
        places = np.array([-1 if each is None else order.index(each) for each in canonical_text(values)])
    else:
        places = ranks(pa.chunked_array([values]))[0]
    if method.quantile is not None:
        rows = np.sort(places[codes][~missing[codes]])
        limit = int(rows[max(1, math.ceil(decimal_fraction(method.quantile) * rows.size)) - 1])
        inner = rows[rows < rows[-1]][-1:] if method.kind == "TopCoding" else rows[rows > rows[0]][:1]
        # The outermost value is never shown itself.
        limit = min(limit, *inner.tolist()) if method.kind == "TopCoding" else max(limit, *inner.tolist())
        threshold = values[int(np.flatnonzero((places == limit) & ~missing)[0])]
    elif order:
        limit, threshold = order.index(str(method.threshold)), pa.scalar(method.threshold)
    else:
        places, limit, threshold = _as_comparable(values, method.threshold)
    beyond_mask = places >= limit if method.kind == "TopCoding" else places <= limit
    return np.asarray(beyond_mask & ~missing, np.bool_), threshold


def _as_comparable(values: pa.Array, threshold: Any) -> tuple[NDArray[Any], Any, Any]:
    """Return values and a declared threshold as comparable numbers, and the threshold as a value."""
    if is_number(values.type):
        numbers = [0 if each is None else each for each in values.to_pylist()]
        return np.array(numbers, object), threshold, pa.scalar(threshold)
    bound = pa.scalar(str(threshold)).cast(values.type)
    both = whole_numbers(pa.chunked_array([values, pa.array([bound.as_py()], values.type)]))
    counts = np.array(both.fill_null(0), dtype=np.int64)
    return counts[:-1], counts[-1], bound


def _tail_value(step: MaskStep, tail: NDArray[np.bool_], threshold: Any) -> Any:
    """Return the value that the tail must show."""
    method = step.method
    if method.value is not None:
        return method.value
    column = decode_column(step.source[method.column])
    if method.replacement == "threshold" or not is_number(column.type):
        return threshold.as_py()
    tail_mask = tail[encode_values(column)[1]]
    if step.before.people_in(tail_mask) < _FEW:
        return threshold.as_py()
    numbers = as_numbers(column)[tail_mask]
    return float(np.mean(numbers) if method.replacement == "mean" else np.median(numbers))


def _is_one_of(cell: Any, expected: Any) -> bool:
    """Whether a cell shows a value, as number, text or date."""
    if isinstance(cell, int | float) and isinstance(expected, int | float):
        return math.isclose(cell, expected, rel_tol=1e-9, abs_tol=1e-300)
    if cell == expected or str(cell) == str(expected):
        return True
    return canonical_text(pa.array([cell])) == canonical_text(pa.array([expected]))


def _different(old: pa.ChunkedArray, new: pa.ChunkedArray) -> int:
    """Count the cells that have changed, disregarding their type."""
    if is_number(old.type) and is_number(new.type):
        before, after = as_numbers(old), as_numbers(new)
        return int(np.count_nonzero((before != after) & ~(np.isnan(before) & np.isnan(after))))
    before, after = (np.array(_texts(each), object) for each in (old, new))
    return int(np.count_nonzero(before != after))


def _texts(column: pa.ChunkedArray) -> list[str | None]:
    values, codes = encode_values(column)
    return np.array(canonical_text(values), object)[codes].tolist() if len(values) else []


def _rounding(step: MaskStep) -> Iterator[Finding]:
    method, base = step.method, decimal_fraction(step.method.base)
    for name in method.columns:
        old, new = step.pairs(name)
        wrong = int(np.count_nonzero(_wrongly_rounded(old, new, base, nearest=method.method == "nearest")))
        which = "the nearest" if method.method == "nearest" else "a neighbouring"
        template = f"every number of {{column!r}} is rounded to {which} multiple of {{base}}"
        yield _finding(Phrase(template, column=name, base=str(base)), wrong)


def _wrongly_rounded(old: pa.Array, new: pa.Array, base: Fraction, *, nearest: bool) -> NDArray[np.bool_]:
    """Return a mask of the numbers that are no multiple of a base, or not one next to the original."""
    missing, gone = (np.array(pc.is_null(each, nan_is_null=True), np.bool_) for each in (old, new))
    wrong: NDArray[np.bool_]
    if pa.types.is_integer(new.type) and base.denominator == 1:
        before, after = (np.array(each.cast(pa.int64()).fill_null(0)) for each in (old, new))
        far = np.abs(after - before)
        wrong = (after % base.numerator != 0) | (
            2 * far > base.numerator if nearest else far >= base.numerator
        )
    else:
        multiples, numbers = (as_numbers(pa.chunked_array([each])) / float(base) for each in (new, old))
        slack = 1e-9 * np.maximum(1, np.maximum(np.abs(multiples), np.abs(numbers)))
        away = np.abs(multiples - numbers)
        wrong = (np.abs(multiples - np.rint(multiples)) > slack) | (away > (0.5 if nearest else 1) + slack)
    result: NDArray[np.bool_] = np.where(missing | gone, missing != gone, wrong)
    return result


# --- noise and chance -----------------------------------------------------------------------------


def _noise(step: MaskStep) -> Iterator[Finding]:
    for name in step.method.columns:
        old, new = (as_numbers(each) for each in (step.old(name), step.new(name)))
        noisy = bool(np.isfinite(new).all() and not np.array_equal(old, new))
        yield Finding(f"the numbers of {name!r} carry noise", noisy, "they do" if noisy else "none")


def _post_randomization(step: MaskStep) -> Iterator[Finding]:
    """Check that no value became one of probability 0."""
    method, name = step.method, step.method.column
    domain = set(canonical_text(decode_column(step.source[name]).unique(), column=name))

    @functools.cache
    def reached(value: str) -> set[str | None]:
        """Return the values that a value may become in one draw."""
        if method.matrix is not None:
            row = method.matrix.get(value, {value: "1"})
            return {other for other, chance in row.items() if Fraction(chance)}
        others: set[str | None] = set() if method.retention == 1 else domain - {value, None}
        return others | {value} if method.retention else others

    def allows(old: str | None, new: str | None) -> bool:
        if old is None or new is None:
            return old is new
        if not method.invariant:
            return new in reached(old)
        return new in domain and not reached(old).isdisjoint(reached(new))

    wrong = sum(not allows(old, new) for old, new in step.texts(name))
    yield _finding(f"every value of {name!r} is one that it can turn into", wrong)


def _randomized_response(step: MaskStep) -> Iterator[Finding]:
    method, name = step.method, step.method.column
    categories = set(step.new(name).unique().to_pylist())
    chances = zip(*method.matrix, strict=True) if method.matrix else [["1"]] * len(method.categories)
    possible = {
        each for each, column in zip(method.categories, chances, strict=True) if any(map(Fraction, column))
    }
    fits = pa.types.is_string(step.after[name].type) and categories <= possible
    measured = "others"
    if fits:
        measured = Phrase("{some} of {all}", some=len(categories & possible), all=len(method.categories))
    yield Finding(f"column {name!r} shows declared categories only, as text", fits, measured)


# --- pseudonyms -----------------------------------------------------------------------------------


def _pseudonyms(step: MaskStep) -> Iterator[Finding]:
    """Check that each value has one pseudonym, of the declared form, not shared and not the value itself."""
    method = step.method
    pairs = {pair for name in method.columns for pair in step.texts(name)}
    blank = sum((old is None) != (new is None) for old, new in pairs)
    named_pairs = {(old, new) for old, new in pairs if old is not None and new is not None}
    values, pseudonyms = {old for old, _ in named_pairs}, {new for _, new in named_pairs}
    columns = ", ".join(map(repr, method.columns))
    yield Finding(
        f"each value of {columns} has one pseudonym, which no other has",
        not blank and len(named_pairs) == len(values) == len(pseudonyms),
        plural(len(pseudonyms), "pseudonym"),
    )
    strange = sum(not _has_form(method, old, new) for old, new in named_pairs)
    own = sum(old == new for old, new in named_pairs)
    chance = method.kind != "FormatPreservingPseudonyms" and getattr(method, "length", 64) >= _LIKELY_OWN
    shows = own > (0 if chance else 3 + len(named_pairs) // 1000)
    measured = (
        plural(strange, "is no pseudonym", "are no pseudonyms") if strange else f"{own} show the value itself"
    )
    yield Finding(
        f"what {columns} shows are pseudonyms, and not the values",
        not strange and not shows,
        measured if strange or shows else "every one",
    )
    if method.kind == "RandomPseudonyms":
        key = step.apart["pseudonyms"]
        same = set(zip(key["value"].to_pylist(), key["pseudonym"].to_pylist(), strict=True)) == named_pairs
        yield Finding("the table kept apart turns them back", same, "every one" if same else "not all")


def _has_form(method: Any, old: str, new: str) -> bool:
    if method.kind == "UnkeyedHash":
        return new == hashlib.new(method.algorithm, old.encode(), usedforsecurity=False).hexdigest()
    if method.kind == "FormatPreservingPseudonyms":
        return _form(old) == _form(new)
    return bool(re.fullmatch(f"[0-9a-f]{{{method.length}}}", new))


def _form(text: str) -> str:
    return re.sub("[A-Z]", "A", re.sub("[a-z]", "a", re.sub("[0-9]", "9", text)))


CHECKS: Mapping[str, Callable[[MaskStep], Iterator[Finding]]] = {
    "BottomCoding": _coding,
    "CorrelatedNoise": _noise,
    "FormatPreservingPseudonyms": _pseudonyms,
    "GlobalRecoding": _recoding,
    "KeyedPseudonyms": _pseudonyms,
    "PRAM": _post_randomization,
    "RandomPseudonyms": _pseudonyms,
    "RandomizedResponse": _randomized_response,
    "Rounding": _rounding,
    "TopCoding": _coding,
    "UncorrelatedNoise": _noise,
    "UnkeyedHash": _pseudonyms,
}
