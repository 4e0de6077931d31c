"""Tables that a search keeps: the smallest that is fine enough, within memory."""

from __future__ import annotations

from support.surveys import survey
from veil.lattice.cache import TableCache
from veil.lattice.search import Search


def test_the_smallest_table_that_is_fine_enough_is_the_source():
    evaluator, low, high = survey()
    search = Search(evaluator, low, high)
    half = (2,) * 10 + (0,) * 2
    search.check([half, high])
    tables = search.tables
    assert tables.source(low) is tables.finest
    assert tables.source(half).levels == half
    assert tables.source((2,) * 10 + (1, 0)).levels == half
    assert tables.source((2,) * 9 + (1, 0, 0)) is tables.finest
    assert tables.source(high).levels == high


def test_old_tables_make_room(monkeypatch):
    evaluator, low, high = survey()
    monkeypatch.setattr("veil.lattice.cache.MOST", 3)
    search = Search(evaluator, low, high)
    tables = TableCache(evaluator.sample.table)
    search.tables = tables
    for j in range(8):
        search.check([tuple(0 if i == j else 2 for i in range(12))])
    assert len(tables.kept) == 3
    assert tables.bytes == sum(tables.slots[slot].nbytes for slot in tables.kept.values())
    assert set(tables.kept) == {tuple(0 if i == j else 2 for i in range(12)) for j in (5, 6, 7)}


def test_tables_are_kept_once_and_within_memory(monkeypatch):
    evaluator, low, high = survey()
    search = Search(evaluator, low, high)
    search.check([tuple(0 if i == j else 2 for i in range(12)) for j in range(8)])
    made = [search.tables.slots[slot] for slot in search.tables.kept.values()]
    largest = max(table.nbytes for table in made)
    monkeypatch.setattr("veil.lattice.cache.MEMORY", 4 * largest)  # a table may have a quarter of it
    tables = TableCache(evaluator.sample.table)
    for table in made:
        tables.add(table)
        tables.add(table)
        assert tables.source(table.levels) is table
        assert tables.bytes == sum(tables.slots[slot].nbytes for slot in tables.kept.values()) <= 4 * largest
    assert list(tables.kept) == [table.levels for table in made][-len(tables.kept) :]
    assert tables.bytes + made[-len(tables.kept) - 1].nbytes > 4 * largest  # none went without need
    assert tables.source(made[0].levels) is tables.finest
    monkeypatch.setattr("veil.lattice.cache.MEMORY", 4 * largest - 1)
    tables = TableCache(evaluator.sample.table)
    for table in made:
        tables.add(table)
        assert (table.levels in tables.kept) == (table.nbytes < largest)
