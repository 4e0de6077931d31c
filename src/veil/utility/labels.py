"""The values that the cells of a release may stand for.

A generalized cell may stand for each value below its label in the hierarchy. After full-domain recoding all
labels of a column are on one level; after local recoding a column shows labels of several levels, the values
themselves among them. Nothing here depends on levels: a label is the set of values that it covers.

- A label of a hierarchy covers the values below it. If it occurs in several places, it covers those of all.
- Other texts may be intervals or sets: `[20, 30]` covers the values from 20 to 30, `{a, b}` both members.
- A blank cell, the root and any other text cover every value.

Sets are never too small, so that bounds derived from them hold.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.hierarchies.hierarchy import ROOT, Hierarchy
from veil.tables.columns import encode_values
from veil.tables.text import canonical_text
from veil.utility.ranges import ValueRanges

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Text = str | None


@dataclass(frozen=True, eq=False)
class LabelledColumn:
    """The labels of a released column, and the values that each of them covers.

    Attributes
    ----------
    values : tuple
        All values that a cell may stand for, as texts.
    kind : pyarrow.DataType
        Type of the values.
    labels : tuple
        The different texts of the column; one more, the last, is that of suppressed rows.
    codes : array
        For each released row, its label.
    pairs : tuple of two arrays
        Labels, and values that they cover: sorted by label. A label without a pair covers every value.
    """

    name: str
    values: tuple[Text, ...]
    kind: pa.DataType
    labels: tuple[Text, ...]
    codes: Integers
    pairs: tuple[Integers, Integers]
    marker: str | None

    @staticmethod
    def of(
        name: str,
        column: pa.ChunkedArray,
        hierarchy: Hierarchy | None,
        suppressed_mask: Mask,
        *,
        original: pa.ChunkedArray | None = None,
        marker: str | None = "*",
    ) -> LabelledColumn:
        """Read a released column; without a hierarchy its values are those of the original, or its own."""
        released, codes = encode_values(column)
        texts = (*canonical_text(released, column=name), None)
        labels = np.where(suppressed_mask, len(texts) - 1, codes.astype(np.int64))
        kind = released.type
        if original is not None:
            kind = original.type.value_type if pa.types.is_dictionary(original.type) else original.type
        values: tuple[Text, ...]
        if hierarchy is not None:
            values = hierarchy.labels[0]
        elif original is not None:
            values = tuple(canonical_text(encode_values(original)[0], column=name))
        else:
            values = tuple(dict.fromkeys(text for text in texts[:-1] if text not in (marker, ROOT)))
        pairs = covered_values(texts, values, kind, hierarchy, marker)
        inner = pairs[0] < len(texts) - 1
        return LabelledColumn(name, values, kind, texts, labels, (pairs[0][inner], pairs[1][inner]), marker)

    @functools.cached_property
    def sizes(self) -> Integers:
        """Number of values that each label covers."""
        counts = np.bincount(self.pairs[0], minlength=len(self.labels))
        return np.where(counts == 0, len(self.values), counts).astype(np.int64)

    def shares(self, inside: Mask) -> Floats:
        """Return for each label the share of its values that lie in a mask of the values."""
        label, value = self.pairs
        hits = np.bincount(label, weights=inside[value], minlength=len(self.labels))
        covers_all = np.bincount(label, minlength=len(self.labels)) == 0
        shares: Floats = np.where(covers_all, np.count_nonzero(inside), hits) / np.maximum(self.sizes, 1)
        return shares

    def membership(self) -> Floats:
        """Return for each label (row) how likely it stands for each value (column), all alike.

        >>> ages = Hierarchy.from_rows([["21", "20s", "*"], ["23", "20s", "*"], ["35", "30s", "*"]])
        >>> cells = pa.chunked_array([["20s", "35"]])
        >>> LabelledColumn.of("age", cells, ages, np.zeros(2, np.bool_)).membership()[:2].tolist()
        [[0.5, 0.5, 0.0], [0.0, 0.0, 1.0]]
        """
        matrix = np.zeros((len(self.labels), len(self.values)))
        matrix[self.pairs] = 1.0
        matrix[~matrix.any(axis=1)] = 1.0
        return matrix / self.sizes[:, None]

    @property
    def is_mixed(self) -> bool:
        """Whether labels overlap: a value is shown as itself here and generalized there.

        False if a label is neither blank nor known, as after masking: then nobody knows what it covers.
        """
        used = np.flatnonzero(np.bincount(self.codes, minlength=len(self.labels))[:-1])  # no suppressed rows
        label, value = self.pairs
        bare = used[np.bincount(label, minlength=len(self.labels))[used] == 0]
        if any(self.labels[code] not in (None, ROOT, self.marker) for code in bare.tolist()):
            return False
        is_used = np.isin(label, used)
        overlap = bool((np.bincount(value[is_used]) > 1).any())
        return overlap or (0 < bare.size < used.size)


def covered_values(
    texts: Sequence[Text],
    values: Sequence[Text],
    kind: pa.DataType,
    hierarchy: Hierarchy | None,
    marker: str | None,
) -> tuple[Integers, Integers]:
    """Return pairs of a text and a value that it covers, by their places; none for texts that cover all."""
    place = {text: at for at, text in reversed([*enumerate(texts)]) if text is None or text != marker}
    label, value = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    levels = [values] if hierarchy is None else hierarchy.labels
    for level, names in enumerate(levels):
        labels = np.array([place.get(name, -1) for name in names], np.int64)
        if hierarchy is not None:
            labels = labels[hierarchy.label_map(level)]
        label.append(labels[labels >= 0])
        value.append(np.flatnonzero(labels >= 0))
    known = {name for names in levels for name in names}
    ranges = ValueRanges(values, kind)
    for text in place.keys() - known - {None}:
        codes = ranges.codes_in(str(text))
        if codes is not None:
            label.append(np.full(codes.size, place[text], np.int64))
            value.append(codes)
    keys = np.unique(np.concatenate(label) * len(values) + np.concatenate(value))
    return np.divmod(keys, max(1, len(values)))
