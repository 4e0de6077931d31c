"""One quasi-identifier before and after. Cells are looked at once for each pair of values that occurs together.

A released text is read with the hierarchy. It may be a label of the value it stands for; then its level is the first
on which that value has this label, and what it covers is what the label covers on the last such level. It may be a
label of other values only, as after swapping or post-randomization; then the same holds with its levels in the whole
hierarchy. It may be blank, which says nothing and covers everything. Or the hierarchy does not know it.
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

_FEW = 1 << 22
"""Keys that are counted in an array with room for all of them."""

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
    """The cells of a column in both tables as codes: `base` into the hierarchy, `shown` into the released texts."""

    def __init__(
        self,
        name: str,
        original: pa.ChunkedArray,
        released: pa.ChunkedArray,
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

        self.released, shown = encode_values(released)
        self.texts = canonical_text(self.released, column=name)
        self.shown = np.where(place >= 0, shown[place], -1) if shown.size else np.full(place.size, -1)
        nothing = {None, marker if is_text(self.released.type) else None}
        self.is_blank = np.array([*(text in nothing for text in self.texts), True], np.bool_)

    @property
    def blank(self) -> Flags:
        """For each record, whether its cell shows nothing."""
        return self.is_blank[self.shown]

    @property
    def unchanged(self) -> Flags:
        """For each record, whether its cell is spelled as it was."""
        code_of = {text: code for code, text in enumerate(self.texts)}
        same = np.array([code_of.get(text, -2) for text in self.hierarchy.labels[0]], np.int64)
        unchanged: Flags = same[self.base] == self.shown
        return unchanged


class Column:
    """A quasi-identifier by the pairs of an original value and what is shown of it. Suppressed records are pairs, too.

    Attributes
    ----------
    hierarchy : Hierarchy
        With a last level of a single label.
    pair : array
        For each original record, the number of its pair; the other arrays have one entry for each pair.
    count : array
        Number of records.
    base : array
        Code of the original value in the hierarchy.
    text : array
        Code of the released text in `texts`; one beyond the last for suppressed records.
    level : array
        Level of the released text; the highest if it is blank, -1 if the hierarchy does not know it.
    """

    def __init__(self, cells: CellPairs, suppressed: Flags) -> None:
        self.cells, self.name, self.hierarchy = cells, cells.name, cells.hierarchy
        self.texts = (*cells.texts, None)
        width = len(self.texts)
        keys = cells.base * width + np.where(suppressed, width - 1, cells.shown)
        found, self.pair, self.count = number_keys(keys, self.hierarchy.size * width)
        self.base, self.text = np.divmod(found, width)
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
        # What tells nothing has lost everything, on whatever level a value gets such a label.
        nothing = self.missing & ~self.unchanged
        self.level[nothing] = self._top[nothing] = height
        self._code[nothing] = 0
        if self.untouched:  # even where labels of higher levels are spelled like values
            self._top[:], self._code = 0, self.base

    @property
    def untouched(self) -> bool:
        """Whether every cell is as it was."""
        return bool(self.unchanged.all())

    # --- what a label covers --------------------------------------------------------------------------

    def covering(self, by_level: Any, unknown: float) -> Floats:
        """For each pair, the entry of its label in arrays of numbers, one array a level and one number a label."""
        found = np.full(self.base.size, unknown, np.float64)
        for level, numbers in enumerate(by_level):
            here = self._top == level
            found[here] = numbers[self._code[here]]
        return found

    @functools.cached_property
    def leaves(self) -> tuple[Integers, Integers]:
        """Domain values that the texts cover, as a list: number of the text, and code of a value below it.

        A text that is not in the list may stand for any value. One that means different things in different records
        means the widest of them.
        """
        hierarchy = self.hierarchy
        width = self.covering([rows.astype(np.float64) for rows in hierarchy.rows], float(hierarchy.size))
        pairs = np.full(len(self.texts), -1, np.int64)
        order = np.argsort(width, kind="stable")
        pairs[self.text[order]] = order  # the widest pair stays
        texts = np.flatnonzero(pairs >= 0)
        pairs = pairs[texts]
        found: list[tuple[Integers, Integers]] = []
        for level in range(hierarchy.height):
            here = self._top[pairs] == level
            text_of = np.full(len(hierarchy.labels[level]), -1, np.int64)
            text_of[self._code[pairs[here]]] = texts[here]
            text = text_of[hierarchy.label_map(level)]
            found.append((text[text >= 0], np.flatnonzero(text >= 0)))
        return np.concatenate([text for text, _ in found]), np.concatenate([leaf for _, leaf in found])

    @property
    def missing(self) -> Flags:
        """Pairs that show nothing: blank or missing cells, the marker, and the root of the hierarchy."""
        empty = np.array([text is None or text == ROOT for text in self.texts])
        found: Flags = self.blank | empty[self.text] | (self._is_root & ~self.unchanged)
        return found

    @property
    def _is_root(self) -> Flags:
        found: Flags = self._top == self.hierarchy.height
        return found

    @property
    def missing_before(self) -> Flags:
        """Pairs whose original value is missing or the marker."""
        empty = np.array([text is None or text == ROOT for text in self.hierarchy.labels[0]])
        found: Flags = empty[self.base]
        return found

    # --- numbers ----------------------------------------------------------------------------------------

    @property
    def is_numeric(self) -> bool:
        """Whether the original values have distances of their own: numbers, dates and times."""
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
        seen = self.number[~np.isnan(self.number)]
        return (float(seen.min()), float(seen.max())) if seen.size else (0.0, 0.0)

    @functools.cached_property
    def bounds(self) -> tuple[Floats, Floats]:
        """Least and greatest number that the released text may stand for.

        A number stands for itself. A label of numbers stands for those between the least and the greatest that got
        it, a label of anything else for its positions in the hierarchy, and what is blank for everything.
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
        """Numbers that the texts are; NaN for labels, even for labels that look like numbers."""
        released, original = self.cells.released.type, self.cells.values.type
        if is_measured(released) and (released == original or (is_number(released) and is_number(original))):
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
    """Return the different keys in ascending order, the place of each key among them, and how often each occurs.

    Keys run from 0 to below `size`.
    """
    if size > _FEW:
        found, place, count = np.unique(keys, return_inverse=True, return_counts=True)
        return found, place.astype(np.int64), count.astype(np.int64)
    counts = np.bincount(keys, minlength=size)
    found = np.flatnonzero(counts)
    places = np.empty(size, np.int64)
    places[found] = np.arange(found.size)
    return found, places[keys], counts[found].astype(np.int64)


def as_number(text: str | None) -> float:
    """Read a text as a finite number; NaN if it is none."""
    try:
        found = float(text or "")
    except ValueError:
        return float("nan")
    return found if np.isfinite(found) else float("nan")
