"""One quasi-identifier before and after, by distinct pairs of an original and a released value.

A released text is interpreted by the hierarchy. If it is a label of the original value, its level is the
first one on which that value has this label, and it covers the values below the label on the last such level.
If it is a label of other values only, as after swapping or PRAM, the same holds with its levels in the whole
hierarchy. A blank text covers everything. Any other text is unknown to the hierarchy; intervals and sets are
read as such where values are counted.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.hierarchies import Hierarchy, suppression
from veil.hierarchies.hierarchy import ROOT
from veil.plan.parameters import hierarchy_builder
from veil.tables.columns import as_numbers, encode_values, is_measured, is_number, is_text
from veil.tables.text import canonical_text
from veil.utility.ranges import ValueRanges

_FEW = 1 << 22
"""Largest number of keys that are counted in a dense array."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Flags = NDArray[np.bool_]


def add_root(hierarchy: Hierarchy) -> Hierarchy:
    """Return the hierarchy with one more level `*`, unless its last level is a single label already.

    >>> add_root(Hierarchy.from_rows([["a"], ["b"]])).labels
    (('a', 'b'), ('*',))
    """
    if hierarchy.height and len(hierarchy.labels[-1]) == 1:
        return hierarchy
    return Hierarchy(
        labels=(*hierarchy.labels, (ROOT,)),
        maps=(*hierarchy.maps, np.zeros(len(hierarchy.labels[-1]), np.int32)),
        rows=(*hierarchy.rows, np.array([hierarchy.size], np.int64)),
        shares=(*hierarchy.shares, np.ones(1)),
        domain_size=hierarchy.domain_size,
        level_names=(*hierarchy.level_names, "all"),
        listed=hierarchy.listed,
    )


class CellPairs:
    """The cells of a column in both tables as codes: `base` in the hierarchy, `shown` in released texts."""

    def __init__(
        self,
        name: str,
        original: pa.ChunkedArray,
        released_cells: pa.ChunkedArray,
        place: Integers,
        hierarchy: Any,
        marker: str | None,
    ) -> None:
        self.name = name
        self.values, codes = encode_values(original)
        counts = np.bincount(codes, minlength=len(self.values))
        builder = suppression() if hierarchy is None else hierarchy_builder(hierarchy)
        self.hierarchy = add_root(builder.build(self.values, counts, name))
        self.value_codes = self.hierarchy.encode(self.values, name)
        self.base = self.value_codes[codes].astype(np.int64)

        self.released, after = encode_values(released_cells)
        self.texts = canonical_text(self.released, column=name)
        self.shown = np.where(place >= 0, after[place], -1) if after.size else np.full(place.size, -1)
        nothing = {None, marker if is_text(self.released.type) else None}
        self.is_blank = np.array([*(text in nothing for text in self.texts), True], np.bool_)

    @property
    def blank(self) -> Flags:
        """Mask of the records whose cell is blank."""
        return self.is_blank[self.shown]

    @property
    def unchanged(self) -> Flags:
        """Mask of the records whose cell is spelled as before."""
        code_of = {text: code for code, text in enumerate(self.texts)}
        same = np.array([code_of.get(text, -2) for text in self.hierarchy.labels[0]], np.int64)
        unchanged: Flags = same[self.base] == self.shown
        return unchanged


class Column:
    """A quasi-identifier by pairs of an original and a released value. Suppressed records are pairs, too.

    Attributes
    ----------
    hierarchy : Hierarchy
        The last level has a single label.
    pair : array
        For each original record, the number of its pair; the other arrays have one entry for each pair.
    count : array
        Number of records.
    base : array
        Code of the original value in the hierarchy.
    text : array
        Code of the released text in `texts`; one beyond the last for suppressed records.
    level : array
        Level of the released text; the highest if it is blank, -1 if it is unknown to the hierarchy.
    """

    def __init__(self, cells: CellPairs, suppressed: Flags) -> None:
        self.cells, self.name, self.hierarchy = cells, cells.name, cells.hierarchy
        self.texts = (*cells.texts, None)
        width = len(self.texts)
        keys = cells.base * width + np.where(suppressed, width - 1, cells.shown)
        distinct, self.pair, self.count = number_keys(keys, self.hierarchy.size * width)
        self.base, self.text = np.divmod(distinct, width)
        self.suppressed: Flags = self.text == width - 1
        self._find()

    def _find(self) -> None:
        hierarchy = self.hierarchy
        ids: dict[str | None, int] = {}
        paths: list[Integers] = []
        first_levels: dict[int, int] = {}
        last_levels: dict[int, int] = {}
        codes: dict[int, int] = {}
        for level, labels in enumerate(hierarchy.labels):
            numbers = np.array([ids.setdefault(label, len(ids)) for label in labels], np.int64)
            paths.append(numbers[hierarchy.label_map(level)[self.base]])
            for code, number in enumerate(numbers.tolist()):
                first_levels.setdefault(number, level)
                last_levels[number], codes[number] = level, code
        text = np.array([ids.get(text, -1) for text in self.texts], np.int64)
        text[-1] = -2
        own = np.array(paths) == text[self.text]
        on_path = own.any(axis=0)
        self.unchanged: Flags = own[0]
        self.blank: Flags = ~on_path & self.cells.is_blank[self.text]
        elsewhere = ~on_path & ~self.blank

        def look_up(of: dict[int, int]) -> Integers:
            return np.array([of.get(number, -1) for number in text.tolist()], np.int64)[self.text]

        height = hierarchy.height
        self.level: Integers = np.where(on_path, own.argmax(axis=0), height)
        self.level[elsewhere] = look_up(first_levels)[elsewhere]
        self._top: Integers = np.where(on_path, height - own[::-1].argmax(axis=0), height)
        self._top[elsewhere] = look_up(last_levels)[elsewhere]
        self.unknown: Flags = self._top < 0
        self._code = np.zeros(self.base.size, np.int64)
        for level in range(height + 1):
            here = on_path & (self._top == level)
            self._code[here] = hierarchy.label_map(level)[self.base[here]]
        self._code[elsewhere] = look_up(codes)[elsewhere]
        # A text without information has lost everything, on any level.
        nothing = self.missing & ~self.unchanged
        self.level[nothing] = self._top[nothing] = height
        self._code[nothing] = 0
        if self.untouched:  # even where labels of higher levels are spelled like values
            self._top[:], self._code = 0, self.base

    @property
    def untouched(self) -> bool:
        """Whether no cell is changed."""
        return bool(self.unchanged.all())

    # --- coverage of labels ---------------------------------------------------------------------------

    def covering(self, by_level: Any, unknown: float) -> Floats:
        """Return for each pair the number of its label, given one array of numbers a level."""
        entries = np.full(self.base.size, unknown, np.float64)
        for level, numbers in enumerate(by_level):
            here = self._top == level
            entries[here] = numbers[self._code[here]]
        return entries

    @functools.cached_property
    def leaves(self) -> tuple[Integers, Integers]:
        """Domain values that the texts cover: codes of the texts, and codes of the values below them.

        A text without an entry covers every value. One with different meanings has the widest of them.
        """
        hierarchy = self.hierarchy
        width = self.covering([rows.astype(np.float64) for rows in hierarchy.rows], float(hierarchy.size))
        pairs = np.full(len(self.texts), -1, np.int64)
        order = np.argsort(width, kind="stable")
        pairs[self.text[order]] = order  # the widest pair stays
        texts = np.flatnonzero(pairs >= 0)
        pairs = pairs[texts]
        covered: list[tuple[Integers, Integers]] = self._ranges
        for level in range(hierarchy.height):
            here = self._top[pairs] == level
            text_of = np.full(len(hierarchy.labels[level]), -1, np.int64)
            text_of[self._code[pairs[here]]] = texts[here]
            text = text_of[hierarchy.label_map(level)]
            covered.append((text[text >= 0], np.flatnonzero(text >= 0)))
        return np.concatenate([text for text, _ in covered]), np.concatenate([leaf for _, leaf in covered])

    @property
    def _ranges(self) -> list[tuple[Integers, Integers]]:
        """Texts that are unknown to the hierarchy, but are intervals or sets, and the values in them."""
        ranges = ValueRanges(self.hierarchy.labels[0], self.cells.values.type)
        covered = []
        for text in np.unique(self.text[self.unknown & ~self.blank]).tolist():
            codes = ranges.codes_in(self.texts[text] or "")
            if codes is not None:
                covered.append((np.full(codes.size, text, np.int64), codes))
        return covered

    @property
    def missing(self) -> Flags:
        """Mask of pairs without information: blank or missing cells, the marker, and the hierarchy's root."""
        empty = np.array([text is None or text == ROOT for text in self.texts])
        mask: Flags = self.blank | empty[self.text] | (self._is_root & ~self.unchanged)
        return mask

    @property
    def _is_root(self) -> Flags:
        mask: Flags = self._top == self.hierarchy.height
        return mask

    @property
    def missing_before(self) -> Flags:
        """Mask of pairs whose original value is missing or the marker."""
        empty = np.array([text is None or text == ROOT for text in self.hierarchy.labels[0]])
        mask: Flags = empty[self.base]
        return mask

    # --- numbers ----------------------------------------------------------------------------------------

    @property
    def is_numeric(self) -> bool:
        """Whether the original values have distances: numbers, dates and times."""
        return is_measured(self.cells.values.type)

    @functools.cached_property
    def number(self) -> Floats:
        """Original value as a number, or its position in the hierarchy; NaN if it is missing."""
        if not self.is_numeric:
            return self.base.astype(np.float64)
        numbers = np.full(self.hierarchy.size, np.nan)
        values = as_numbers(self.cells.values)
        numbers[self.cells.value_codes] = np.where(np.isfinite(values), values, np.nan)
        return numbers[self.base]

    @functools.cached_property
    def extent(self) -> tuple[float, float]:
        """Least and greatest number; positions may be any in the hierarchy."""
        if not self.is_numeric:
            return 0.0, float(self.hierarchy.size - 1)
        numbers = self.number[~np.isnan(self.number)]
        return (float(numbers.min()), float(numbers.max())) if numbers.size else (0.0, 0.0)

    @functools.cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """Least and greatest number that the released text covers.

        A number covers itself, a label of numbers the range of original numbers with this label, a label of
        other values its positions in the hierarchy, and a blank cell everything.
        """
        if not self.is_numeric:
            ends = [_ends(self.hierarchy, level) for level in range(self.hierarchy.height + 1)]
            first, last = self.extent
            return self.covering([each[0] for each in ends], first), self.covering(
                [each[1] for each in ends], last
            )
        low, high = (np.full(self.base.size, end) for end in self.extent)
        everything = self.blank | (self._is_root & ~self.unchanged)
        numbers = self._released_numbers()[self.text]
        least, most = (np.full(len(self.texts), end) for end in (np.inf, -np.inf))
        sharing = ~everything & ~np.isnan(self.number)
        np.minimum.at(least, self.text[sharing], self.number[sharing])
        np.maximum.at(most, self.text[sharing], self.number[sharing])
        by_label = sharing & np.isnan(numbers)
        low[by_label], high[by_label] = least[self.text[by_label]], most[self.text[by_label]]
        itself = ~everything & ~np.isnan(numbers)
        low[itself] = high[itself] = numbers[itself]
        low[self.unchanged] = high[self.unchanged] = self.number[self.unchanged]
        return low, high

    def _released_numbers(self) -> Floats:
        """Return the texts as numbers; NaN for labels, even for labels that look like numbers."""
        new, old = self.cells.released.type, self.cells.values.type
        if is_measured(new) and (new == old or (is_number(new) and is_number(old))):
            return np.append(as_numbers(self.cells.released), np.nan)
        labels = {label for level in self.hierarchy.labels[1:] for label in level}
        return np.array([np.nan if text in labels else as_number(text) for text in self.texts])


def _ends(hierarchy: Hierarchy, level: int) -> tuple[Floats, Floats]:
    """Return the first and the last position that each label of a level covers."""
    map_ = hierarchy.label_map(level)
    least, most = np.empty(len(hierarchy.labels[level])), np.empty(len(hierarchy.labels[level]))
    most[map_] = np.arange(map_.size)  # the last one stays
    least[map_[::-1]] = np.arange(map_.size)[::-1]
    return least, most


def number_keys(keys: Integers, size: int) -> tuple[Integers, Integers, Integers]:
    """Return the distinct keys in ascending order, the index of each key among them, and their counts.

    Keys run from 0 to below `size`.
    """
    if size > _FEW:
        distinct, place, count = np.unique(keys, return_inverse=True, return_counts=True)
        return distinct, place.astype(np.int64), count.astype(np.int64)
    counts = np.bincount(keys, minlength=size)
    distinct = np.flatnonzero(counts)
    places = np.empty(size, np.int64)
    places[distinct] = np.arange(distinct.size)
    return distinct, places[keys], counts[distinct].astype(np.int64)


def as_number(text: str | None) -> float:
    """Return a text as a finite number; NaN if it is not one."""
    try:
        number = float(text or "")
    except ValueError:
        return float("nan")
    return number if np.isfinite(number) else float("nan")
