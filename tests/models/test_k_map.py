"""k-map, counted in a population and estimated: worked values, the oracle, the search."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

import veil
from support import oracle, refusals, strategies
from support.judging import often, refused, rejected_classes, suppressed_rows, table_of
from support.presence import nodes_agree, publish, search_is_exhaustive, subset_of
from support.samples import E1, E1_SUBSET, sample_of
from veil.errors import ParameterError
from veil.models.k_map import KMap
from veil.models.presence import Inclusion
from veil.population.size import Population
from veil.published.table import Published
from veil.tables.rows import Rows

NAMES = {"poisson": "Poisson", "zero_truncated_poisson": "ZeroTruncatedPoisson"}


def twin(model: KMap) -> oracle.KMap:
    size = None if model.population is None else model.population.size
    return oracle.KMap(model.k, size, model.significance, NAMES[model.estimator])


def estimated(records: int) -> st.SearchStrategy[KMap]:
    """Draw an estimated k-map for a table of some records."""
    return st.builds(
        KMap,
        st.integers(1, 40),
        population=st.integers(records, 40 * records + 9),
        significance=st.sampled_from([0.01, 0.05, 0.1, 0.5, 0.9, 1e-9]),
        estimator=st.sampled_from(list(NAMES)),
    )


@pytest.mark.parametrize(
    ("k", "population", "significance", "expected"),
    [(10, 50, 0.01, (8, 7)), (10, 50, 0.1, (6, 5)), (5, 1000, 0.05, (2, 2))],
)
def test_worked_values(k, population, significance, expected):
    for estimator, size in zip(NAMES, expected, strict=True):
        model = KMap(k, population=population, significance=significance, estimator=estimator)
        assert model.derived_class_size(10) == size
        assert model.minimal_class_size(sample_of(E1)) == size
        assert model.bind(sample_of(E1)) is None


def test_the_example():
    """At (1, 1, 1) the classes have 5, 1 and 4 people; of the subset, class {3} holds nobody."""
    assert suppressed_rows(KMap(5), E1_SUBSET) & E1_SUBSET.subset == {4, 6}
    assert suppressed_rows(KMap(4), E1_SUBSET) == set()
    assert suppressed_rows(KMap(6), E1_SUBSET) & E1_SUBSET.subset == E1_SUBSET.subset


@settings(often, max_examples=500)
@given(st.data())
def test_derived_sizes_agree(data):
    records = data.draw(st.integers(1, 200))
    model = data.draw(estimated(records))
    size = model.derived_class_size(records)
    assert size == oracle.estimated_k(twin(model), records)
    assert 1 <= size <= model.k


def test_rates_far_beyond_doubles():
    """e^-2000 is no double. The distribution function is 0.98984 at 2104 and 0.99042 at 2105 (scipy)."""
    model = KMap(4000, population=2 * 10**6)
    assert model.derived_class_size(10**6) == 2105 + 2
    truncated = dataclasses.replace(model, estimator="zero_truncated_poisson")
    assert truncated.derived_class_size(10**6) == 2105 + 1


def test_a_close_call():
    """The chance of no record, e^-1, against decimal numbers on both sides of it."""
    few, many = (
        KMap(10, population=100, significance=s).derived_class_size(10)
        for s in (0.63212055882855770, 0.6321205588285576)
    )
    assert (few, many) == (2, 3)


def test_populations():
    assert KMap(5, population="USA").population == Population(region="USA")
    assert KMap(1000, population="USA", estimator="zero_truncated_poisson").derived_class_size(30_162) == 3
    sampled = KMap(10, population=Population(sampling_fraction=0.2))
    assert sampled.derived_class_size(10) == KMap(10, population=50).derived_class_size(10) == 8


@often
@given(st.data())
def test_agrees(data):
    problem = data.draw(strategies.problems(max_rows=25, subset=True))
    counted = st.integers(1, 8).map(lambda k: KMap(k, subset_of(problem)))
    model = data.draw(st.one_of(counted, estimated(len(problem.rows))))
    levels = data.draw(strategies.nodes(problem))
    found = oracle.classes(problem, levels)
    truth = [oracle.rejects(twin(model), problem, levels, cls) for cls in found]
    assert rejected_classes(model, sample_of(problem), levels) == truth
    for hide in (truth, [data.draw(st.booleans()) for _ in found]):
        hidden = {row for cls, gone in zip(found, hide, strict=True) if gone for row in cls}
        holds = not any(bad and not gone for bad, gone in zip(truth, hide, strict=True))
        assert model.verify(publish(problem, levels, hidden)).holds == holds
    nodes_agree(problem, twin(model), model, data)
    (strength,) = KMap.strongest(publish(problem, levels), [])
    for k, holds in ((strength.value, True), (strength.value + 1, False)):
        bad = any(oracle.rejects(oracle.KMap(k), problem, levels, cls) for cls in found)
        assert bad != holds


@settings(often, max_examples=150)
@given(st.lists(st.integers(1, 12), min_size=1, max_size=8), st.integers(0, 400), st.data())
def test_the_largest_estimated_k_holds(sizes, others, data):
    """And the next one does not, but for a table of one class, whose size k' never exceeds."""
    records = sum(sizes)
    published = table_of(*({"x": size} for size in sizes))
    people = data.draw(
        st.sampled_from([Population(size=records + others), Population(sampling_fraction=0.3)])
    )
    published.region = people
    found = {each.parameter: each.value for each in KMap.strongest(published, [])}
    assert list(found) == [f"k ({estimator})" for estimator in NAMES]
    for estimator in NAMES:
        k = found[f"k ({estimator})"]
        assert k >= min(sizes)
        assert KMap(k, population=people, estimator=estimator).verify(published).holds
        further = KMap(k + 1, population=people, estimator=estimator)
        assert not further.verify(published).holds or len(sizes) == 1
        size = people.size_for(records)
        assert oracle.estimated_k(oracle.KMap(k, size, 0.01, NAMES[estimator]), records) <= min(sizes)


def test_the_largest_k_of_one_class_rests_on_its_records():
    """KMap(1000) would hold as well, as k' is at most the number of records."""

    def largest(*sizes: int) -> list[float]:
        published = table_of(*({"x": size} for size in sizes))
        published.region = Population(size=1000)
        return [each.value for each in KMap.strongest(published, [])]

    assert largest(1) == [1, 1]
    assert largest(10) == [350, 411]
    assert largest(5, 5) == [82, 116]
    assert KMap(1000, population=1000).verify(table_of({"x": 1})).holds


def test_assess_estimates():
    people = pa.table({"q": ["a"] * 5 + ["b"] * 5})
    found = veil.assess(people, quasi_identifiers="q", subset=[0, 1, 5, 6, 7], population=1000)
    values = {each.parameter: each.value for each in found if each.model == "KMap"}
    assert list(values) == ["k", "k (poisson)", "k (zero_truncated_poisson)"]
    assert values["k"] == 5
    assert values["k (poisson)"] == 2  # of two records, one in a hundred people
    with refused("`population` should be at least 10, the records of the sample, not 9"):
        veil.assess(people, quasi_identifiers="q", population=9)


def test_search():
    search_is_exhaustive(st.integers(1, 8).map(KMap), examples=100)


def test_verifying_without_the_population():
    """Classes are never smaller in the population, so large ones are good enough."""
    alone = dataclasses.replace(E1_SUBSET, subset=None)
    assert KMap(4).verify(publish(alone, (1, 1, 1), {3})).holds
    assert not KMap(5).verify(publish(alone, (1, 1, 1), {3})).holds
    assert KMap.strongest(publish(alone, (1, 1, 1)), []) == []


def test_a_tampered_table_is_noticed():
    published = publish(E1_SUBSET, (1, 1, 1))
    assert KMap(4).verify(published).holds
    assert str(KMap(5).verify(published)) == "BROKEN: 5-map (found: k = 4)"
    elsewhere = published.table.set_column(0, "q0", pa.array(["20-29", "40-49"] * 3))
    assert (
        not KMap(1)
        .verify(Published(Rows.of(elsewhere), published.names, population=published.population))
        .holds
    )
    doubled = pa.concat_tables([published.table] * 9)
    assert (
        not KMap(1)
        .verify(Published(Rows.of(doubled), published.names, population=published.population))
        .holds
    )
    model = KMap(10, population=50)
    assert model.verify(publish(E1, (2, 1, 3))).holds
    assert model.verify(publish(E1, (1, 1, 1))).promise.endswith("estimated for 50 people: classes of 8")
    assert not model.verify(publish(E1, (1, 1, 1))).holds


def test_nothing_published_breaks_nothing():
    nothing = publish(E1_SUBSET, (1, 1, 1), E1_SUBSET.subset)
    assert KMap(99).verify(nothing).holds
    assert KMap.strongest(nothing, []) == []


def test_releases():
    people = pa.table({"age": np.repeat(["a", "b", "c"], [5, 5, 2])})
    plan = {"quasi_identifiers": {"age": veil.hierarchies.suppression()}, "suppression_limit": 0.5}
    release = veil.anonymize(people, models=KMap(5, [0, 5, 6, 11]), **plan, order="input")
    assert release.table["age"].to_pylist() == ["a", "b", "b", "*"]
    release = veil.anonymize(people, models=[KMap(5), Inclusion("age = 'a'")], **plan, order="input")
    assert release.table["age"].to_pylist() == ["a"] * 5
    release = veil.anonymize(people, models=KMap(3, population="Germany"), **plan, order="input")
    assert release.suppressed == 0
    with refusals.refused(ParameterError, "`subset`", "KMap", "required"):
        veil.anonymize(people, models=KMap(5), **plan, order="input")


def test_parameters():
    with refused("`k` of KMap should be greater than or equal to 1, not 0"):
        KMap(0)
    with refused("`significance` of KMap should be more than 0 and less than 1, not 1"):
        KMap(5, population=9, significance=1)
    with refused("`estimator` of KMap should be 'poisson' or 'zero_truncated_poisson', not 'Poisson'"):
        KMap(5, population=9, estimator="Poisson")
    with refused("`population` of KMap should be left out if `subset` is given"):
        KMap(5, [1, 2], population=9)
    with refused("`population` of KMap should be at least 10, the number of records, not 9"):
        KMap(5, population=9).minimal_class_size(sample_of(E1))
    with refused("(?s)`population.*Atlantis"):
        KMap(5, population="Atlantis")


def test_written_down_and_read_again():
    adapter = TypeAdapter(KMap)
    for model in (KMap(5, [1, 2]), KMap(5, population="USA"), KMap(5, population=99, significance=0.1)):
        assert adapter.validate_python(adapter.dump_python(model, exclude_defaults=True)) == model
    assert adapter.json_schema()["properties"]["population"]
