"""Encoding: attributes as small integer codes packed into machine words, hierarchies as maps of codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from veil.hierarchies.hierarchy import ROOT, Hierarchy

Words = tuple[NDArray[np.uint64], ...]
Levels = tuple[int, ...]
"""A node of the lattice: the generalization level of each quasi-identifier, in column order."""


class Encoding:
    """Packing of the quasi-identifiers, and the bits that generalizing each of them flips.

    Attributes
    ----------
    layout : int64 array (attributes, 3)
        Word, shift and mask of the bit field of each attribute.
    cardinalities : int64 array (attributes, levels)
        Number of distinct labels of each attribute on each of its levels.
    offsets, changes
        `changes[offsets[j, from, to] + code]` are the bits to flip in the word of attribute j.
    value_starts : int64 array (attributes, levels + 1)
        Position of the first value of an attribute on a level, in an array of all values of all levels.
    """

    def __init__(self, names: Sequence[str], hierarchies: Sequence[Hierarchy]) -> None:
        self.names = tuple(names)
        self.hierarchies = tuple(hierarchies)
        self.heights = tuple(hierarchy.height for hierarchy in hierarchies)
        levels = max(self.heights, default=0) + 1
        attributes = len(self.hierarchies)
        self.layout = np.zeros((attributes, 3), np.int64)
        self.cardinalities = np.ones((attributes, levels), np.int64)
        self.offsets = np.zeros((attributes, levels, levels), np.int64)
        self.value_starts = np.zeros((attributes, levels + 1), np.int64)
        self.words = self._lay_out()
        self.changes = self._compile()

    @property
    def value_count(self) -> int:
        """Number of values of all attributes on all levels."""
        return int(self.value_starts[-1, -1])

    def class_without_information(self, levels: Levels, keys: Words) -> int:
        """Return the class whose every label is `*`, or -1."""
        root_key = [0] * self.words
        for (word, shift, _), hierarchy, level in zip(self.layout, self.hierarchies, levels, strict=True):
            if ROOT not in hierarchy.labels[level]:
                return -1
            root_key[word] |= hierarchy.labels[level].index(ROOT) << int(shift)
        match = np.logical_and.reduce([key == np.uint64(w) for key, w in zip(keys, root_key, strict=True)])
        positions = np.flatnonzero(match)
        return int(positions[0]) if positions.size else -1

    def _lay_out(self) -> int:
        """Assign each attribute a bit field within one word. Return the number of words."""
        word = shift = 0
        for j, hierarchy in enumerate(self.hierarchies):
            # A coarser level never has more labels than a finer one, so level 0 decides the width.
            bits = max(1, (len(hierarchy.labels[0]) - 1).bit_length())
            if shift + bits > 64:
                word, shift = word + 1, 0
            self.layout[j] = word, shift, (1 << bits) - 1
            shift += bits
        return word + 1

    def _compile(self) -> NDArray[np.uint64]:
        parts: list[NDArray[np.uint64]] = [np.empty(0, np.uint64)]
        filled = values = 0
        for j, hierarchy in enumerate(self.hierarchies):
            shift = np.uint64(self.layout[j, 1])
            for level, labels in enumerate(hierarchy.labels):
                self.cardinalities[j, level] = len(labels)
                self.value_starts[j, level] = values
                values += len(labels)
                here = np.arange(len(labels), dtype=np.int32)
                there = here
                for target in range(level + 1, hierarchy.height + 1):
                    there = hierarchy.maps[target - 1][there]
                    self.offsets[j, level, target] = filled
                    parts.append((here ^ there).astype(np.uint64) << shift)
                    filled += here.size
            self.value_starts[j, hierarchy.height + 1 :] = values
        return np.concatenate(parts)
