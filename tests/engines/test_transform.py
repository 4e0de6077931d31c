"""A release as an expression: whatever the problem, DuckDB's rows are those of memory."""

from __future__ import annotations

from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import veil
from support import oracle, strategies
from support.engines.people import records
from support.plans import WITH_SUBSET, any_models, drawn_plan, modes, table_of
from support.samples import names_of
from veil import hierarchies as h
from veil.api.anonymize import anonymize
from veil.api.release import Release
from veil.engines.dialects import collect
from veil.engines.verify import verify_output
from veil.recoding import Cells
from veil.recoding.recode import SOLVERS
from veil.recoding.solution import RowRecoding

often = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def connection() -> Any:
    return ibis.duckdb.connect()


def held_and_memory(connection: Any, plan: veil.Plan, table: pa.Table) -> tuple[Any, Any]:
    """Carry out a plan on a table of DuckDB and in memory; either both are refused, or none."""
    connection.create_table("people", table, overwrite=True)
    try:
        memory = anonymize(table, plan, progress=False, threads=1)
    except veil.VeilError as refused:
        with pytest.raises(type(refused)):
            anonymize(connection.table("people"), plan, progress=False, threads=1)
        assume(False)
        raise
    return anonymize(connection.table("people"), plan, progress=False, threads=1), memory


def assert_same(connection: Any, held: Release, memory: Release) -> None:
    shown = collect(connection, held.table)
    assert sorted(shown.column_names) == sorted(memory.arrow.column_names)
    assert records(shown.select(memory.arrow.column_names)) == records(memory.arrow)
    assert (held.records, held.suppressed) == (memory.records, memory.suppressed)
    assert held.risk() == memory.risk()
    connection.create_table("staged", shown, overwrite=True)
    found = verify_output(held.outcome, held.outcome.source, connection.table("staged"))
    assert found.holds, str(found)


@pytest.mark.slow
@often
@given(st.data())
def test_any_problem(connection: Any, data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, subset=False))
    models = data.draw(st.lists(strategies.models(problem), min_size=1, max_size=2))
    plan = drawn_plan(data, problem, models, data.draw(strategies.qualities(problem)))
    held, memory = held_and_memory(connection, plan, table_of(problem))
    assert (held.transformation, held.score) == (memory.transformation, memory.score)
    levels = data.draw(
        st.sampled_from([tuple(memory.transformation.values()), data.draw(strategies.nodes(problem))])
    )
    try:
        memory = memory.search.apply(levels)
    except veil.VeilError:  # no release
        return
    assert_same(connection, held.search.apply(levels), memory)


@pytest.mark.slow
@often
@given(st.data())
def test_any_research_subset_that_a_query_gives(connection: Any, data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, subset=False))
    size = len(problem.rows)
    member = data.draw(st.lists(st.sampled_from(["yes", "no", None]), min_size=size, max_size=size))
    table = table_of(problem).append_column("member", pa.array(member, pa.string()))
    first = data.draw(st.sampled_from(WITH_SUBSET))
    plan = drawn_plan(data, problem, [first], oracle.Quality("Loss"), insensitive=("member",))
    held, memory = held_and_memory(connection, plan, table)
    assert (held.transformation, held.score) == (memory.transformation, memory.score)
    assert_same(connection, held, memory)


@often
@given(st.data())
def test_any_local_recoding(connection: Any, data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, subset=False))
    models = data.draw(st.lists(any_models(problem), min_size=1, max_size=1))
    plan = drawn_plan(data, problem, models, oracle.Quality("Loss"), suppression_limit=1.0)
    held, memory = held_and_memory(connection, plan, table_of(problem))
    bottom = dict.fromkeys(names_of(problem), 0)
    try:
        memory = memory.search.apply(bottom)
    except veil.VeilError:  # no release
        return
    mode = data.draw(modes())
    held, memory = (each.local_recoding(mode, threads=1) for each in (held.search.apply(bottom), memory))
    assert held.passes == memory.passes
    assert_same(connection, held, memory)


def test_cells_suppress_some_records_of_a_class(connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All others have the same levels, and the labels that the suppressed record would have."""

    def solver(prepared: Any, *_: Any, **__: Any) -> RowRecoding:
        suppressed = np.array([text == "gout" for text in prepared.table["ill"].to_pylist()])
        return RowRecoding(np.ones((suppressed.size, 1), np.uint8), suppressed, 0, "finished")

    monkeypatch.setitem(SOLVERS, Cells, solver)
    table = pa.table({"town": list("aabbb"), "ill": ["flu", "cold", "flu", "cold", "gout"]})
    plan = veil.Plan(
        {"town": h.suppression()},
        [veil.KAnonymity(2), veil.DistinctLDiversity("ill", 2)],
        sensitive="ill",
        suppression_limit=0.2,
        recoding="cells",
        marker="-",
    )
    held, memory = held_and_memory(connection, plan, table)
    assert held.suppressed == memory.suppressed == 1
    assert_same(connection, held, memory)
