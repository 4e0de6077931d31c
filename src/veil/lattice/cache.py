"""A cache of class tables: a node is rolled up from the smallest one that is fine enough."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from veil.classes.encoding import Levels
from veil.classes.table import ClassTable

MEMORY = 400 * 2**20
"""Bytes of class tables in the cache; the oldest are evicted first."""

MOST = 512
"""Largest number of tables in the cache, as each lookup compares all of them."""


class TableCache:
    """A bounded cache of class tables, in addition to the finest one, which always stays."""

    def __init__(self, finest: ClassTable) -> None:
        self.finest = finest
        self.kept: OrderedDict[Levels, int] = OrderedDict()
        self.slots: list[ClassTable] = [finest]
        self.free: list[int] = []
        self.levels = np.full((MOST + 1, len(finest.levels)), np.iinfo(np.int16).max, np.int16)
        self.sizes = np.zeros(MOST + 1, np.int64)
        self.levels[0] = finest.levels
        self.sizes[0] = len(finest)
        self.bytes = 0

    def source(self, levels: Levels) -> ClassTable:
        """Return the smallest table from which the node can be rolled up."""
        used = len(self.slots)
        fits = (self.levels[:used] <= np.array(levels, np.int16)).all(axis=1)
        able = np.flatnonzero(fits)
        return self.slots[int(able[self.sizes[able].argmin()])]

    def add(self, table: ClassTable) -> None:
        """Add a table, and evict the oldest ones if there are too many."""
        if table.levels in self.kept or table.nbytes > MEMORY // 4:
            return
        while len(self.kept) >= MOST or self.bytes + table.nbytes > MEMORY:
            _, slot = self.kept.popitem(last=False)
            self.bytes -= self.slots[slot].nbytes
            self.levels[slot] = np.iinfo(np.int16).max
            self.slots[slot] = self.finest
            self.free.append(slot)
        if self.free:
            slot = self.free.pop()
            self.slots[slot] = table
        else:
            slot = len(self.slots)
            self.slots.append(table)
        self.kept[table.levels] = slot
        self.levels[slot] = table.levels
        self.sizes[slot] = len(table)
        self.bytes += table.nbytes
