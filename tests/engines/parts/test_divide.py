"""Cutting on an engine: the cuts are those that Mondrian makes in memory, and the engine counts what it should."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.engines.counting import Rows
from support.masking.partition import Case, cases, classes_of, promises
from support.refusals import refused
from veil import models as m
from veil.engines import relation_of
from veil.engines.parts.divide import divide_table
from veil.engines.parts.labels import Labelled
from veil.engines.parts.ranked import RankedRelation, RankRange, couple_columns
from veil.errors import InputError, VeilError
from veil.masking import Mondrian
from veil.tables.arrow import normalize

often = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
seldom = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@given(st.integers(1, 40), st.lists(st.lists(st.integers(1, 39), max_size=6), min_size=1, max_size=4))
def test_made_up_rows_have_the_counts_they_should(total: int, bounds: list[list[int]]) -> None:
    counts = [np.diff([0, *sorted({each for each in some if each < total}), total]) for some in bounds]
    places, weights = couple_columns(counts)
    assert weights.min() > 0
    assert weights.size <= sum(map(len, counts))
    for place, expected in zip(places, counts, strict=True):
        assert np.bincount(place, weights).tolist() == expected.tolist()


@often
@given(cases(max_rows=40), promises(), st.integers(1, 12))
def test_the_first_cuts_are_those_of_mondrian(case: Case, models: Any, most: int) -> None:
    """Cut on the engine as far as needed and finished part by part, the classes are those of the whole table."""
    method = Mondrian(case.hierarchies, models[1])
    try:
        numbered: Any = Rows(case.table, method)
    except VeilError:
        return
    made: list[frozenset[int]] = []
    for part in divide_table(numbered, most):
        rows = numbered.rows(part.box)
        assert part.records == len(rows)
        if part.final is None:
            assert numbered.combinations([part.box])[0] <= most
            made += numbered.classes(part.box)
        else:
            made.append(frozenset(rows))
            assert numbered.classes(part.box) == [frozenset(rows)]
    assert len(made) == len(set(made))
    assert set(made) == classes_of(numbered.work)


def test_a_table_that_fits_is_not_cut() -> None:
    table = pa.table({"a": [1, 2, 3, 4], "b": [1, 1, 2, 2]})
    numbered: Any = Rows(table, Mondrian(["a", "b"], m.KAnonymity(1)))
    assert [part.box for part in divide_table(numbered, 4)] == [numbered.whole]
    assert numbered.asked == 0
    assert len(divide_table(numbered, 3)) == 2


def test_few_combinations_fit_however_many_records_there_are() -> None:
    table = pa.table({"a": [1, 1, 1, 2] * 10, "b": [1, 1, 2, 2] * 10})
    numbered: Any = Rows(table, Mondrian(["a", "b"], m.KAnonymity(1)))
    assert len(divide_table(numbered, 3)) == 1


# --- what the engine counts -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def connection() -> Any:
    import ibis

    return ibis.duckdb.connect()


@st.composite
def boxes(draw: st.DrawFn, sizes: list[int]) -> RankRange:
    pairs = [sorted(draw(st.tuples(*[st.integers(0, size - 1)] * 2))) for size in sizes]
    return RankRange(tuple(low for low, _ in pairs), tuple(high for _, high in pairs))


@seldom
@given(cases(), st.data())
def test_the_engine_counts_what_is_in_a_part(connection: Any, case: Case, data: st.DataObject) -> None:
    table = normalize(case.table)
    method = Mondrian(
        case.hierarchies, [m.KAnonymity(1), m.DistinctLDiversity("S", 1), m.DistinctLDiversity("T", 1)]
    )
    rows = Rows(table, method)
    relation = relation_of(connection.create_table("counted", table, overwrite=True))
    assert relation is not None
    numbered = RankedRelation(relation, method)
    box = data.draw(boxes(numbered.sizes))
    inside = rows.rows(box)
    if not inside:
        return
    (found,) = numbered.marginals([box])
    for j in range(len(numbered.sizes)):
        expected = Counter(rows.ranks[row][j] for row in inside)
        counts = np.bincount(found.ranks[:, j], found.weights)
        assert {rank: int(count) for rank, count in enumerate(counts) if count} == expected
    for ours, theirs in zip(numbered.histograms([box]), rows.histograms([box]), strict=True):
        assert [each.tolist() for each in ours[:3]] == [each.tolist() for each in theirs[:3]]
    assert numbered.combinations([box]).tolist() == rows.combinations([box]).tolist()
    held = numbered.fetch(box)
    fetched: Counter[tuple[int, ...]] = Counter()
    for row, (item, weight) in enumerate(zip(held.item_of_row.tolist(), held.weights.tolist(), strict=True)):
        cells = (*held.work.ranks[item].tolist(), *(int(codes[row]) for codes in held.codes))
        fetched[cells] += weight
    assert fetched == Counter(rows.cells(row) for row in inside)


def test_only_rows_of_a_part_get_its_labels(connection: Any) -> None:
    table = pa.table({"a": [1, 2, 3, 4], "b": ["x", "x", "y", None]})
    relation = relation_of(connection.create_table("parts", table, overwrite=True))
    assert relation is not None
    numbered = RankedRelation(relation, Mondrian(["a", "b"], m.KAnonymity(2), labels="intervals"))
    parts = divide_table(numbered, 2)
    shown = [Labelled.by_mondrian(numbered, part)(relation.table).to_pyarrow().to_pylist() for part in parts]
    assert shown == [
        [{"a": "[1, 2]", "b": "x"}] * 2,
        [{"a": "[3, 4]", "b": "{y, NULL}"}] * 2,
    ]


def test_a_table_that_changes_meanwhile_is_noticed(connection: Any) -> None:
    connection.create_table("changing", pa.table({"a": [1, 2, 3, 4]}), overwrite=True)
    relation = relation_of(connection.table("changing"))
    assert relation is not None
    numbered = RankedRelation(relation, Mondrian(["a"], m.KAnonymity(2)))
    connection.raw_sql("INSERT INTO changing VALUES (7)")
    for ask in (numbered.fetch, lambda box: numbered.marginals([box])):
        with refused(InputError, "changed", "being read"):
            ask(numbered.whole)
