"""Frequencies of values and of pairs of values, before and after.

Values come in the order of their type, a missing value after all others. Labels of a hierarchy come in the
order of the original values below them. Suppressed cells are counted as `*`, which comes last.

Labels of several levels, as after local recoding, are compared with the input as equal shares of the values that
they cover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.errors import ParameterError
from veil.hierarchies.hierarchy import ROOT, Hierarchy
from veil.tables.columns import encode_values, is_number
from veil.tables.text import canonical_text
from veil.utility.column import Column, as_number, number_keys
from veil.utility.comparison import Comparison
from veil.utility.labels import LabelledColumn


@dataclass(frozen=True)
class Frequencies:
    """Values of a column in order, with their numbers and shares of records.

    Values are texts; None is the missing value, and `*` are suppressed cells.
    """

    values: tuple[str | None, ...]
    counts: tuple[int, ...]

    @property
    def shares(self) -> tuple[float, ...]:
        """Relative frequencies."""
        records = max(1, sum(self.counts))
        return tuple(count / records for count in self.counts)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"values": list(self.values), "counts": list(self.counts), "shares": list(self.shares)}


@dataclass(frozen=True)
class Distribution:
    """The values of a column before and after.

    If labels are of several levels, `estimate` has the shares of the values before, and of `*` for cells that show
    nothing: a label counts as equal shares of the values that it covers.
    """

    column: str
    before: Frequencies
    after: Frequencies
    estimate: tuple[float, ...] | None = None

    @property
    def distance(self) -> float:
        """Total variation distance, from 0 to 1: half the sum of absolute differences between shares."""
        was = dict(zip(self.before.values, self.before.shares, strict=True))
        now = dict(zip(self.after.values, self.after.shares, strict=True))
        if self.estimate is not None:
            now = dict(zip((*self.before.values, ROOT), self.estimate, strict=True))
        return sum(abs(was.get(value, 0.0) - now.get(value, 0.0)) for value in was.keys() | now.keys()) / 2

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        is_comparable = bool(self.before.values and self.after.values)
        sides = {"before": self.before.to_dict(), "after": self.after.to_dict()}
        if is_comparable and self.estimate is not None:
            sides["after"]["estimate"] = list(self.estimate)
        return {"column": self.column, **sides, "distance": self.distance if is_comparable else None}


@dataclass(frozen=True)
class Contingency:
    """Joint frequencies of pairs of values, as shares of all records.

    `shares[i][j]` is the share of row `rows[i]` and column `columns[j]`; in a compressed table each of these
    is a list of values.
    """

    rows: tuple[tuple[str | None, ...], ...]
    columns: tuple[tuple[str | None, ...], ...]
    shares: tuple[tuple[float, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "rows": [list(each) for each in self.rows],
            "columns": [list(each) for each in self.columns],
            "shares": [list(each) for each in self.shares],
        }


def distribution(comparison: Comparison, column: str, *, coarsened: bool = False) -> Distribution:
    """Count the values of a column before and after.

    Parameters
    ----------
    coarsened
        Count the original values by their labels at the released level, so that both sides have the same
        labels and differ by suppression or swapping only. A suppressed record counts at the highest released
        level of its value, or of any value if there is none.

    >>> before = pa.table({"age": [35, 8, 9]})
    >>> ages = [["8", "0-9", "*"], ["9", "0-9", "*"], ["35", "30-39", "*"]]
    >>> from veil import hierarchies as h
    >>> after = pa.table({"age": ["30-39", "0-9", "0-9"]})
    >>> result = distribution(Comparison(before, after, {"age": h.table(ages)}), "age")
    >>> result.before.values, result.after.values, result.after.counts
    (('8', '9', '35'), ('0-9', '30-39'), (2, 1))
    >>> result = distribution(Comparison(before, after, {"age": h.table(ages)}), "age", coarsened=True)
    >>> result.before.values, result.before.counts, result.distance
    (('0-9', '30-39'), (2, 1), 0.0)
    """
    comparison.require(column)
    before, after = order_values(comparison, column)
    estimate = None
    if coarsened and column in comparison.columns:
        before = _coarsened(comparison.columns[column], comparison.original[column])
    elif mixed := _shares_or_blank(comparison, column):
        _, codes, shares = mixed
        estimate = tuple((np.bincount(codes, minlength=len(shares)) @ shares / codes.size).tolist())
    return Distribution(column, _frequencies(*before), _frequencies(*after), estimate)


def _coarsened(column: Column, original: pa.ChunkedArray) -> Coded:
    """Return the labels of original values at the released level, in order, and each record's rank."""
    hierarchy, visible_mask = column.hierarchy, ~(column.suppressed | column.blank | column.unknown)
    level = np.full(hierarchy.size, -1, np.int64)
    np.maximum.at(level, column.base[visible_mask], column.level[visible_mask])
    most = int(level.max(initial=-1))
    if most < 0:
        most = 0 if column.unknown.any() else hierarchy.height
    level[level < 0] = most
    levels = np.where(visible_mask, column.level, level[column.base])
    number: dict[str | None, int] = {}
    labels = np.empty(column.base.size, np.int64)
    for each in np.unique(levels).tolist():
        here = levels == each
        codes = hierarchy.label_map(each)[column.base[here]]
        labels[here] = [
            number.setdefault(hierarchy.labels[each][code], len(number)) for code in codes.tolist()
        ]
    texts = list(number)
    ranks = label_ranks(column, original, texts, np.zeros(len(texts)))
    return _sort_texts(texts, labels[column.pair], ranks)


def contingency(
    comparison: Comparison, row: str, column: str, *, at_most: int | None = None
) -> tuple[Contingency, Contingency]:
    """Count the pairs of values of two columns, before and after.

    Parameters
    ----------
    at_most
        Largest number of rows, and of columns; more values are merged with their neighbours.

    Labels of several levels count as equal shares of the values that they cover, and as `*` if these are all.

    >>> table = pa.table({"sex": ["f", "m", "m", "f"], "smokes": [True, False, True, True]})
    >>> contingency(Comparison(table, table, "sex"), "sex", "smokes")[1].shares
    ((0.0, 0.5), (0.25, 0.25))
    """
    if at_most is not None and at_most < 1:
        raise ParameterError(f"`at_most` should be 1 or more, not {at_most}")
    comparison.require(row)
    comparison.require(column)
    first, second = order_values(comparison, row), order_values(comparison, column)
    before, after = (_contingency(*a, *b, at_most) for a, b in zip(first, second, strict=True))
    mixed = [_shares_or_blank(comparison, name) for name in (row, column)]
    if any(mixed):
        sides = [
            shares or _own_shares(comparison, *coded[1])
            for shares, coded in zip(mixed, (first, second), strict=True)
        ]
        after = _shared_contingency(sides[0], sides[1], at_most)
    return before, after


Shared = tuple[list[str | None], NDArray[np.int64], NDArray[np.float64]]
"""Values in order, the label of each original record, and the shares of values in each label."""


def _own_shares(comparison: Comparison, values: list[str | None], codes: NDArray[np.int64]) -> Shared:
    """Return the labels of one level as shares of themselves; records that are not released are `*`."""
    names = values if ROOT in values else [*values, ROOT]
    place, present = np.full(comparison.records, names.index(ROOT), np.int64), comparison.place >= 0
    place[present] = codes[comparison.place[present]]
    return names, place, np.eye(len(names))


def _shared_contingency(row: Shared, column: Shared, at_most: int | None) -> Contingency:
    (rows, row_codes, row_shares), (columns, column_codes, column_shares) = row, column
    shape = len(row_shares), len(column_shares)
    joint = np.bincount(row_codes * shape[1] + column_codes, minlength=shape[0] * shape[1]).reshape(shape)
    row_place, row_names = _compress_values(rows, at_most)
    column_place, column_names = _compress_values(columns, at_most)
    shares = np.zeros((len(row_names), len(column_names)))
    np.add.at(
        shares,
        (row_place[:, None], column_place[None, :]),
        row_shares.T @ joint @ column_shares / row_codes.size,
    )
    return Contingency(row_names, column_names, tuple(map(tuple, shares.tolist())))


Coded = tuple[list[str | None], NDArray[np.int64]]
"""Values in order, and for each record the rank of its value."""


def order_values(comparison: Comparison, name: str) -> tuple[Coded, Coded]:
    """Return the values of a column in order, before and after, and the rank of each record's value."""
    values, codes = encode_values(comparison.original[name])
    before = _sort_texts(
        canonical_text(values, column=name), codes, natural_ranks(values, comparison.original[name])
    )
    values, codes = encode_values(comparison.released[name])
    texts, ranks = canonical_text(values, column=name), natural_ranks(values, comparison.released[name])
    if name in comparison.columns:
        ranks = label_ranks(comparison.columns[name], comparison.original[name], texts, ranks)
    codes = codes.astype(np.int64)
    if name in comparison.columns:
        if ROOT not in texts:
            texts, ranks = [*texts, ROOT], np.append(ranks, np.inf)
        codes[comparison.released_suppressed] = texts.index(ROOT)
    return before, _sort_texts(texts, codes, ranks)


def label_shares(comparison: Comparison, name: str) -> tuple[NDArray[np.int64], NDArray[np.float64]] | None:
    """Return the label of each record, and the share of each original value in each label.

    Values are those of the input, in order. None unless the column shows labels of several levels.
    """
    if name not in comparison.columns:
        return None
    labels = LabelledColumn.of(
        name,
        comparison.released[name],
        comparison.columns[name].hierarchy,
        comparison.released_suppressed,
        original=comparison.original[name],
        marker=comparison.marker,
    )
    if not labels.is_mixed:
        return None
    (values, _), _ = order_values(comparison, name)
    place = {value: code for code, value in enumerate(values)}
    shares = np.zeros((len(labels.labels), len(values)))
    places = np.array([place.get(value, -1) for value in labels.values], np.int64)
    # Values of the hierarchy that no record has are left out.
    shares[:, places[places >= 0]] = labels.membership()[:, places >= 0]
    codes = np.full(comparison.records, len(labels.labels) - 1, np.int64)
    present = comparison.place >= 0
    codes[present] = labels.codes[comparison.place[present]]
    return codes, shares


def _shares_or_blank(
    comparison: Comparison, name: str
) -> tuple[list[str | None], NDArray[np.int64], NDArray[np.float64]] | None:
    """Return the values of a column and `*`, each released row's label, and the shares of these in each label.

    Labels that cover every value are `*`. None unless labels are of several levels.
    """
    mixed = label_shares(comparison, name)
    if mixed is None:
        return None
    codes, shares = mixed
    values = [*order_values(comparison, name)[0][0], ROOT]
    blank: NDArray[np.bool_] = np.logical_and.reduce(shares > 0, axis=1)
    shares = np.column_stack([np.where(blank[:, None], 0.0, shares), blank])
    return values, codes, shares


def natural_ranks(values: pa.Array, column: pa.ChunkedArray) -> NDArray[np.float64]:
    """Return the ranks of distinct values in the order of their type; a missing value comes last."""
    if pa.types.is_dictionary(column.type) and column.type.ordered:
        categories = column.unify_dictionaries().chunk(0).dictionary if column.num_chunks else values
        ranks = np.array(
            pc.index_in(values, categories).cast(pa.float64()).fill_null(np.inf), dtype=np.float64
        )
        return ranks
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    order = np.array(pc.array_sort_indices(values, null_placement="at_end"), dtype=np.int64)
    ranks = np.empty(order.size)
    ranks[order] = np.arange(order.size)
    ranks[np.array(pc.is_null(values), dtype=np.bool_)] = np.inf
    return ranks


def label_ranks(
    column: Column, original: pa.ChunkedArray, texts: Sequence[str | None], natural: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the rank of each released text in the order of the original values below it.

    Among labels that begin with the same value the more specific one comes first. Texts unknown to the
    hierarchy come last.
    """
    hierarchy = column.hierarchy
    base = domain_ranks(hierarchy, original).astype(np.float64)
    keys: dict[str | None, tuple[float, int]] = {}
    for level, labels in enumerate(hierarchy.labels):
        least = np.full(len(labels), np.inf)
        np.minimum.at(least, hierarchy.label_map(level), base)
        for label, rank in zip(labels, least.tolist(), strict=True):
            keys.setdefault(label, (rank, level))
    unknown = (float(hierarchy.size), hierarchy.height + 1)
    sort_keys = [
        (np.inf, 0, 0.0) if text is None or text == ROOT else (*keys.get(text, unknown), float(rank))
        for text, rank in zip(texts, natural, strict=True)
    ]
    places = {key: float(place) for place, key in enumerate(sorted(set(sort_keys)))}
    return np.array([np.inf if key[0] == np.inf else places[key] for key in sort_keys])


def domain_ranks(hierarchy: Hierarchy, original: pa.ChunkedArray) -> NDArray[np.int64]:
    """Return the ranks of the values of a hierarchy in the order of the column's type; missing comes last."""
    order = np.argsort(natural_ranks(_type_domain(hierarchy.labels[0], original), original), kind="stable")
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.arange(order.size)
    return ranks


def _type_domain(domain: Sequence[str | None], original: pa.ChunkedArray) -> pa.Array:
    """Return the texts of a domain as values that sort like the column."""
    kind = original.type.value_type if pa.types.is_dictionary(original.type) else original.type
    if is_number(kind):
        return pa.array([as_number(text) for text in domain], pa.float64(), from_pandas=True)
    return pa.array(domain, pa.string())  # dates are spelled so that their text sorts like them


def _sort_texts(texts: Sequence[str | None], codes: Any, ranks: NDArray[np.float64]) -> Coded:
    """Return the texts that occur, by rank (missing, then `*` at the end), and codes into them."""
    used = np.bincount(codes, minlength=len(texts)) > 0
    order = sorted(
        np.flatnonzero(used).tolist(),
        key=lambda code: (texts[code] == ROOT, texts[code] is None, ranks[code]),
    )
    place = np.zeros(len(texts), np.int64)
    place[order] = np.arange(len(order))
    return [texts[code] for code in order], place[codes]


def _frequencies(values: Sequence[str | None], codes: NDArray[np.int64]) -> Frequencies:
    return Frequencies(tuple(values), tuple(np.bincount(codes, minlength=len(values)).tolist()))


def _contingency(
    rows: list[str | None],
    row_codes: NDArray[np.int64],
    columns: list[str | None],
    column_codes: NDArray[np.int64],
    at_most: int | None,
) -> Contingency:
    row_place, row_names = _compress_values(rows, at_most)
    column_place, column_names = _compress_values(columns, at_most)
    width, height = len(column_names), len(row_names)
    cells, _, count = number_keys(row_place[row_codes] * width + column_place[column_codes], width * height)
    shares = np.zeros(width * height)
    shares[cells] = count / max(1, row_codes.size)
    return Contingency(row_names, column_names, tuple(map(tuple, shares.reshape(height, width).tolist())))


def _compress_values(
    values: list[str | None], at_most: int | None
) -> tuple[NDArray[np.int64], tuple[tuple[str | None, ...], ...]]:
    """Return the index of each value in a shorter list, and the values of each index."""
    length = len(values)
    if at_most is None or length <= at_most:
        return np.arange(length), tuple((value,) for value in values)
    # Rounded half up, as in ARX.
    place = np.minimum((2 * np.arange(length) * at_most + length) // (2 * length), at_most - 1)
    names: list[list[str | None]] = [[] for _ in range(at_most)]
    for value, where in zip(values, place.tolist(), strict=True):
        names[where].append(value)
    return place, tuple(map(tuple, names))
