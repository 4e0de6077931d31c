"""A condensed table: each combination of cells once, with the number of records that have it.

Everything that Veil finds on it is what it finds on the rows themselves.
"""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, reject, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import veil
from support import oracle, strategies
from support.models import ours
from support.plans import MEMBERS, WITH_SUBSET, any_models, drawn_plan, modes, table_of
from support.samples import hierarchy_of, names_of
from veil import hierarchies as h
from veil import models as m
from veil.api.anonymize import anonymize
from veil.api.release import Release
from veil.models.query import Query
from veil.models.subset import Where
from veil.plan.plan import Plan
from veil.plan.prepare import columns_read
from veil.published.table import Published
from veil.recoding import FastIterative
from veil.tables import Source
from veil.tables.arrow import dictionary_encoded, used_categories
from veil.tables.columns import count_codes
from veil.tables.rows import Rows

often = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

OF_THE_TABLE = (
    "rows, as planned",
    "combinations of cells as planned",
    "every row that stays",
    "columns of the plan",
)
"""Findings that speak of the table at hand, which has fewer rows and columns, and not of records."""


# --- the twins: rows, and rows condensed -----------------------------------------------------------


def condensed(table: pa.Table, columns: Sequence[str], rng: random.Random) -> Source:
    """Count combinations one by one. The rows come in any order, and a combination may be there twice."""
    chosen = table.select(list(columns))
    counts = Counter(zip(*(column.to_pylist() for column in chosen.columns), strict=True))
    rows = []
    for row, count in counts.items():
        first = rng.randint(1, count) if rng.random() < 0.2 else count
        rows += [(row, part) for part in (first, count - first) if part]
    rng.shuffle(rows)
    cells = list(zip(*(row for row, _ in rows), strict=True))
    made = {
        field.name: as_category(values, field.type, rng)
        if rng.random() < 0.8
        else pa.array(values, field.type)
        for field, values in zip(chosen.schema, cells, strict=True)
    }
    weights = np.array([count for _, count in rows], np.int64)
    return Source(pa.table(made), "engine", weights=weights, columns=tuple(table.column_names))


def as_category(values: Sequence[Any], kind: pa.DataType, rng: random.Random) -> pa.Array:
    """Spell cells as a dictionary that may list values twice, values that do not occur, and missing ones."""
    listed = list(dict.fromkeys(values))
    if None in listed and rng.random() < 0.5:
        listed.remove(None)  # a missing cell is then one without a number
    listed += [rng.choice(listed)] if listed and rng.random() < 0.5 else []
    listed += ["never"] if rng.random() < 0.5 else []
    rng.shuffle(listed)
    places: dict[Any, list[int | None]] = {None: [None]} if None not in listed else {}
    for place, value in enumerate(listed):
        places.setdefault(value, []).append(place)
    indices = [rng.choice(places[value]) for value in values]
    return pa.DictionaryArray.from_arrays(pa.array(indices, pa.int32()), pa.array(listed, kind))


def columns_of(plan: Plan, table: pa.Table) -> list[str]:
    """The columns that decide anything under a plan, those of its research subset among them."""
    queries = [Query(model.subset.query) for model in plan.models if isinstance(model.subset, Where)]
    return list(
        dict.fromkeys([*columns_read(plan, table.column_names), *(n for q in queries for n in q.columns)])
    )


def released(release: Release, names: Sequence[str]) -> Counter[tuple[Any, ...]]:
    """The released records, each as often as it is there."""
    weights = release.outcome.after.weights.array
    rows = zip(*(release.arrow[name].to_pylist() for name in names), strict=True)
    found: Counter[tuple[Any, ...]] = Counter()
    for place, row in enumerate(rows):
        found[row] += 1 if weights is None else int(weights[place])
    return found


def findings(release: Release, names: Sequence[str]) -> list[str]:
    """What the verifier found, in any order, without what it says of the rows and columns at hand."""
    silent = [f"column {name!r} " for name in release.arrow.column_names if name not in names]
    told = [str(each) for each in release.verification.findings]
    return sorted(text for text in told if not any(each in text for each in (*OF_THE_TABLE, *silent)))


def assert_same(whole: Release, small: Release) -> None:
    names = [name for name in small.arrow.column_names if name in whole.arrow.column_names]
    if small.outcome.flag != whole.outcome.flag:
        # Records of which the cells that decide are missing look suppressed, and other columns, which show that they are
        # not, have not been brought along: so the condensed table needs a flag, and the rows do not.
        assert (small.outcome.flag, whole.outcome.flag) == ("suppressed", None)
        assert (None,) * len(names) in released(small, names)
    assert released(small, names) == released(whole, names)
    assert small.records == whole.records
    assert small.suppressed == whole.suppressed
    assert small.risk() == whole.risk()
    assert small.measures() == pytest.approx(whole.measures())
    assert findings(small, names) == findings(whole, names)


def assert_same_release(whole: Release, small: Release) -> None:
    assert small.transformation == whole.transformation
    assert small.score == whole.score
    assert small.classes == whole.classes
    assert (small.within_limit, small.search.proven_optimal) == (
        whole.within_limit,
        whole.search.proven_optimal,
    )
    assert sorted(map(str, small.search.mapping().to_pylist())) == sorted(
        map(str, whole.search.mapping().to_pylist())
    )
    assert_same(whole, small)


def both(plan: Plan, table: pa.Table, rng: random.Random) -> tuple[Release, Release]:
    """Carry out a plan on the rows and on the condensed table; either both are refused, or none."""
    small = condensed(table, columns_of(plan, table), rng)
    refused = None
    try:
        whole = anonymize(Source(table, "pyarrow"), plan, progress=False, threads=1)
    except veil.VeilError as error:
        refused = error
    if refused is not None:
        with pytest.raises(type(refused), match=re.escape(str(refused))):
            anonymize(small, plan, progress=False, threads=1)
        reject()
    return whole, anonymize(small, plan, progress=False, threads=1)


# --- plans ----------------------------------------------------------------------------------------


def shuffled() -> st.SearchStrategy[random.Random]:
    return st.integers(0, 10**9).map(random.Random)


@often
@given(st.data())
def test_every_quality_model_and_every_model_of_a_class_finds_the_same(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, subset=False))
    models = data.draw(st.lists(strategies.models(problem), min_size=1, max_size=2))
    plan = drawn_plan(data, problem, models, data.draw(strategies.qualities(problem)))
    assert_same_release(*both(plan, table_of(problem), data.draw(shuffled())))


@pytest.mark.slow
@pytest.mark.parametrize("name", [*oracle.VECTOR_MODELS, *oracle.SINGLE_MODELS])
@settings(often, max_examples=12)
@given(st.data())
def test_each_quality_model_finds_the_same(name: str, data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, subset=False))
    plan = drawn_plan(
        data, problem, [oracle.KAnonymity(2)], data.draw(strategies.qualities(problem, (name,)))
    )
    assert_same_release(*both(plan, table_of(problem), data.draw(shuffled())))


@settings(often, max_examples=100)
@given(st.data())
def test_research_subsets_given_by_a_query_find_the_same(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, subset=False))
    size = len(problem.rows)
    member = data.draw(st.lists(st.sampled_from(["yes", "no", None]), min_size=size, max_size=size))
    table = table_of(problem).append_column("member", pa.array(member, pa.string()))
    first = data.draw(st.sampled_from(WITH_SUBSET))
    models = [first, *data.draw(st.lists(strategies.models(problem), max_size=1))]
    quality = data.draw(strategies.qualities(problem))
    plan = drawn_plan(data, problem, models, quality, insensitive=("member",))
    assert_same_release(*both(plan, table, data.draw(shuffled())))


@settings(often, max_examples=80)
@given(st.data())
def test_local_recoding_makes_the_same_passes(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, subset=False))
    models = data.draw(st.lists(any_models(problem), min_size=1, max_size=2))
    quality = data.draw(strategies.qualities(problem))
    plan = drawn_plan(data, problem, models, quality, suppression_limit=1.0)
    whole, small = both(plan, table_of(problem), data.draw(shuffled()))
    worst = max(
        (node for node in whole.search.nodes(state="anonymous") if node.suppressed is not None),
        key=lambda node: node.suppressed,
        default=None,
    )
    if worst is not None:
        whole, small = whole.search.apply(worst.levels), small.search.apply(worst.levels)
    mode = data.draw(modes())
    recoded, again = (each.local_recoding(mode, threads=1) for each in (whole, small))
    assert again.passes == recoded.passes
    assert again.ending == recoded.ending
    assert [(part.levels, again.outcome.prepared.records(part.rows)) for part in again.outcome.parts] == [
        (part.levels, part.rows.size) for part in recoded.outcome.parts
    ]
    assert_same(recoded, again)


# --- a table as it is ------------------------------------------------------------------------------


@settings(often, max_examples=80)
@given(st.data())
def test_every_model_is_assessed_to_be_as_strong(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, subset=False))
    size = len(problem.rows)
    member = data.draw(st.lists(st.sampled_from(["yes", "yes", "no", None]), min_size=size, max_size=size))
    table = table_of(problem).append_column("member", pa.array(member, pa.string()))
    names = names_of(problem)
    options: dict[str, Any] = {
        "sensitive": data.draw(st.sampled_from([["S"], ["T"], ["S", "T"], []])),
        "subset": data.draw(st.sampled_from([None, MEMBERS])),
        "population": data.draw(st.sampled_from([None, 1000])),
        "hierarchies": {},
    }
    if "T" in options["sensitive"]:
        options["hierarchies"]["T"] = h.table([["x", "all"], ["y", "all"]])
    assume(options["subset"] is None or MEMBERS.mask(table).any())
    small = condensed(table, table.column_names, data.draw(shuffled()))
    found = veil.assess(small, quasi_identifiers=names, **options)
    expected = veil.assess(Source(table, "pyarrow"), quasi_identifiers=names, **options)
    assert found == expected


@settings(often, max_examples=60)
@given(st.data())
def test_a_table_is_verified_alike(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, subset=False))
    models = data.draw(st.lists(strategies.models(problem), min_size=1, max_size=3))
    found = [model for model in map(ours, models) if model is not None]
    assume(found)
    assume(not any(model.subset is not None for model in found))
    table = table_of(problem)
    plan = Plan(
        {name: hierarchy_of(problem, j) for j, name in enumerate(names_of(problem))},
        found,
        sensitive=tuple(problem.sensitive),
    )
    small = condensed(table, table.column_names, data.draw(shuffled()))
    assert str(veil.verify(small, plan)) == str(veil.verify(Source(table, "pyarrow"), plan))


@often
@given(st.data())
def test_published_groups_alike(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, subset=False))
    table, names = table_of(problem), names_of(problem)
    small = condensed(table, table.column_names, data.draw(shuffled()))
    one, other = Published(Rows.of(table), names), Published(Rows.of(small.table, small.weights), names)
    assert (one.records, one.suppressed_records) == (other.records, other.suppressed_records)
    assert classes_of(one, "S") == classes_of(other, "S")


def classes_of(published: Published, attribute: str) -> Counter[Any]:
    """The classes by their labels: how large, and how often each value is in them."""
    labels = [tuple(row.values()) for row in published.labels.to_pylist()]
    number, values, counts = published.histograms(attribute)
    inside: list[Counter[Any]] = [Counter() for _ in labels]
    for each, value, count in zip(number.tolist(), values.to_pylist(), counts.tolist(), strict=True):
        inside[each][value] += count
    return Counter(
        (label, int(size), frozenset(values.items()))
        for label, size, values in zip(labels, published.sizes, inside, strict=True)
    )


# --- the order of rows ------------------------------------------------------------------------------


@often
@given(st.data())
def test_the_order_of_rows_changes_nothing(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems(sensitive=True, subset=False))
    models = data.draw(st.lists(strategies.models(problem), min_size=1, max_size=2))
    plan = drawn_plan(data, problem, models, data.draw(strategies.qualities(problem)))
    table = table_of(problem)
    order = data.draw(st.permutations(range(table.num_rows)))
    whole, _ = both(plan, table, random.Random(0))
    moved = anonymize(Source(table.take(pa.array(order)), "pyarrow"), plan, progress=False, threads=1)
    assert_same_release(whole, moved)


def test_of_equally_small_classes_those_go_that_come_first_in_the_hierarchy() -> None:
    """A model of the whole sample has to choose, and neither size nor loss tells them apart."""
    plan = Plan(
        {"age": h.table([[age] for age in "abcde"])},
        m.SampleUniqueness(0.3),
        suppression_limit=1,
        marker=None,
    )
    for order in ("abccc", "baccc", "cbcac"):
        release = anonymize(Source(pa.table({"age": list(order)}), "pyarrow"), plan, progress=False)
        assert release.suppressed == 1
        assert set(order) - set(release.arrow["age"].to_pylist()) == {"a"}


# --- sizes that only weights reach ------------------------------------------------------------------


def test_weights_are_records_beyond_what_fits_in_memory() -> None:
    """Nine billion records in three rows: nothing is counted in 32 bits, or in floating point."""
    table = pa.table({"age": [30, 31, 70], "disease": ["flu", "gout", "flu"]})
    weights = np.array([2**33, 2**33 + 1, 1], np.int64)
    plan = Plan(
        {"age": h.intervals(10, 20)},
        [m.KAnonymity(2), m.DistinctLDiversity("disease", 2)],
        sensitive=["disease"],
        suppression_limit=1e-9,
    )
    release = anonymize(Source(table, "engine", weights=weights), plan, progress=False)
    assert (release.records, release.suppressed, release.classes) == (2**34 + 2, 1, 1)
    assert release.transformation == {"age": 1}
    assert "at most 17 records are suppressed (found: 1)" in str(release.verification)
    assert release.outcome.by_records.sizes.tolist() == [2**34 + 1]
    before, after = release.risk()
    assert before.highest == 1
    assert after.highest == 1 / (2**34 + 1)


def test_records_that_stay_suppressed_are_counted_by_weight() -> None:
    table = pa.table({"age": [30, 31, 50, 58, 70], "sex": ["f", "m", "f", "m", "m"]})
    weights = np.array([2, 3, 1, 1, 1], np.int64)
    plan = Plan(
        {"age": h.intervals(10, 20), "sex": h.suppression()},
        m.KAnonymity(2),
        quality=veil.quality.Loss(factor=0),
        suppression_limit=0.5,
    )
    release = anonymize(Source(table, "engine", weights=weights), plan, progress=False)
    assert (release.suppressed, release.transformation) == (3, {"age": 0, "sex": 0})
    recoded = release.local_recoding(FastIterative(0.1))
    assert [each.recoded for each in recoded.passes] == [2]
    assert (recoded.suppressed, recoded.records) == (1, 8)


# --- counting and coding ---------------------------------------------------------------------------


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2**40)), max_size=30), st.integers(0, 12))
def test_counting_is_adding_one_by_one(pairs: list[tuple[int, int]], size: int) -> None:
    codes = np.array([code for code, _ in pairs], np.int64)
    largest = max([size, *(code + 1 for code, _ in pairs)])
    for weights in (None, np.array([weight for _, weight in pairs], np.int64)):
        expected = [0] * largest
        for code, weight in pairs:
            expected[code] += 1 if weights is None else weight
        found = count_codes(codes, size, weights)
        assert found.dtype == np.int64
        assert found.tolist() == expected


def test_counting_does_not_round() -> None:
    weights: NDArray[np.int64] = np.array([2**53, 1, 1], np.int64)
    assert count_codes(np.array([0, 0, 0]), 1, weights).tolist() == [2**53 + 2]


@given(st.lists(st.lists(st.sampled_from(["a", "b", "", "never", None]), max_size=8), max_size=4), shuffled())
def test_coding_numbers_values_by_first_appearance(
    chunks: list[list[str | None]], rng: random.Random
) -> None:
    """Plain and categorical, in one piece and in several with dictionaries of their own."""
    cells = [cell for chunk in chunks for cell in chunk]
    expected = list(dict.fromkeys(cells))
    plain = pa.chunked_array([pa.array(chunk, pa.string()) for chunk in chunks], pa.string())
    coded = pa.chunked_array(
        [as_category(chunk, pa.string(), rng) for chunk in chunks], pa.dictionary(pa.int32(), pa.string())
    )
    for column in (plain, coded):
        values, codes = dictionary_encoded(column)
        assert values.type == pa.string()
        assert values.to_pylist() == expected
        assert codes.dtype == np.int32
        assert codes.tolist() == [expected.index(cell) for cell in cells]
    assert used_categories(coded).to_pylist() == cells


@pytest.mark.parametrize("index", [pa.int8(), pa.uint8(), pa.int64(), pa.uint32()])
def test_coding_reads_every_kind_of_category_number(index: pa.DataType) -> None:
    column = pa.DictionaryArray.from_arrays(pa.array([1, None, 0, 1], index), pa.array(["x", "y", None]))
    values, codes = dictionary_encoded(pa.chunked_array([column]))
    assert (values.to_pylist(), codes.tolist()) == (["y", None, "x"], [0, 1, 2, 0])
