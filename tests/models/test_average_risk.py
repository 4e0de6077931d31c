"""Average re-identification risk: worked values, the oracle, bounds on what has to be suppressed."""

from __future__ import annotations

from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from support import oracle, strategies
from support.judging import publish, refused, table_of
from support.oracle.suppression import sizes_of
from support.samples import E1, sample_of
from support.whole_sample import (
    agrees,
    evaluated,
    least_is_sound,
    least_of,
    often,
    priority_problem,
    problems,
    sometimes,
    suppressed_rows,
)
from veil.errors import NoSolutionError
from veil.models.average_risk import AverageReidentificationRisk, smallest_safe_size
from veil.models.uniqueness import SampleUniqueness
from veil.published.table import Published
from veil.tables.rows import Rows

RISKS = st.one_of(
    st.sampled_from([0, 0.05, 0.1, 0.2, 0.25, 0.34, 0.3333, 0.5, 0.999, 1, 1e-9, 1 / 3]),
    st.integers(30, 99).map(lambda percent: percent / 100),
)


def pairs():
    asked = st.one_of(
        st.builds(oracle.AverageReidentificationRisk, RISKS),
        st.builds(oracle.AverageReidentificationRisk, RISKS, RISKS),
        st.builds(oracle.AverageReidentificationRisk, RISKS, RISKS, RISKS),
    )
    return asked.map(lambda m: (m, AverageReidentificationRisk(m.average, m.highest, m.at_risk)))


@pytest.mark.parametrize(
    ("parameters", "kept"),
    [((0.34,), {0, 1, 9}), ((0.5, 0.5, 0), set(range(10)) - {3}), ((0.5, 0.34, 0.5), {0, 1, 4, 8, 9})],
)
def test_the_example(parameters, kept):
    """In the last one, ARX would keep rows 5 and 6 instead of the class of equal size that comes first in the table."""
    assert suppressed_rows(AverageReidentificationRisk(*parameters)) == set(range(10)) - kept


@pytest.mark.parametrize(
    ("risk", "size"),
    [(0.34, 3), (0.3, 4), (0.2, 5), (0.15, 7), (0.051, 20), (1, 1), (0.99, 2), (0.995, 1), (0, None)],
)
def test_smallest_safe_size(risk, size):
    assert smallest_safe_size(risk) == size


@given(st.integers(1, 10**6).map(lambda n: n / 10**6))
@often
def test_smallest_safe_size_agrees(risk):
    assert smallest_safe_size(risk) == oracle.smallest_safe_size(risk)


@given(st.data())
@often
def test_evaluation_agrees(data):
    agrees(data, pairs)


@given(st.data())
@often
def test_least_is_sound(data):
    least_is_sound(data, *data.draw(pairs()))


def test_least_counts_records():
    """Two pairs and two single records must be one class for every two records, with at most a fifth alone."""
    sample = sample_of(priority_problem(1, 1, 2, 2, hidden=0))
    assert least_of(AverageReidentificationRisk(0.5), sample, (0,)) == 2
    assert least_of(AverageReidentificationRisk(0.6), sample, (0,)) == 1
    assert least_of(AverageReidentificationRisk(1, 0.5, 0.2), sample, (0,)) == 1
    assert least_of(AverageReidentificationRisk(1, 0.5, 0.19), sample, (0,)) == 2
    assert least_of(AverageReidentificationRisk(0.4), sample, (0,)) == 6


def test_records_behind_stars_count():
    """Nine records lower the average at the bottom, and still do where they are `*`."""
    problem = priority_problem(1, 9, hidden=1)
    for levels in ((0,), (1,)):
        assert suppressed_rows(AverageReidentificationRisk(0.2), levels, problem) == set()
        assert suppressed_rows(AverageReidentificationRisk(0.19), levels, problem) == {0}
    assert least_of(AverageReidentificationRisk(0.19), sample_of(problem), (1,)) == 1


@given(st.data())
@sometimes
def test_verify_agrees(data):
    problem = data.draw(problems(subset=None))
    levels = data.draw(strategies.nodes(problem))
    theirs, ours = data.draw(pairs())
    found = oracle.classes(problem, levels)
    for hide in ([False] * len(found), [data.draw(st.booleans()) for _ in found]):
        kept = [cls for cls, gone in zip(found, hide, strict=True) if not gone]
        rows = {row for cls, gone in zip(found, hide, strict=True) if gone for row in cls}
        sizes = [size for size in sizes_of(problem, kept) if size]
        assert ours.verify(publish(problem, levels, rows)).holds == oracle.fulfils(theirs, sizes)


@given(st.data())
@sometimes
def test_what_is_released_is_verified(data):
    problem = data.draw(problems(subset=None))
    levels = data.draw(strategies.nodes(problem))
    _, model = data.draw(pairs())
    outcome = evaluated(problem, [model], levels)
    assert outcome.anonymous
    assert model.verify(publish(problem, levels, outcome.suppressed)).holds


def test_verify_says_what_it_found():
    published = table_of({"x": 3}, {"x": 1})
    finding = AverageReidentificationRisk(0.5, 0.34, 0.2).verify(published)
    assert not finding.holds
    assert finding.measured == "0.5, 0.25 of the records"
    assert AverageReidentificationRisk(0.5, 0.34, 0.25).verify(published).holds
    assert not AverageReidentificationRisk(0.49).verify(published).holds


@given(st.data())
@sometimes
def test_strongest(data):
    problem = data.draw(problems())
    levels = data.draw(strategies.nodes(problem))
    sizes = sizes_of(problem, oracle.classes(problem, levels))
    average, highest, exposed = AverageReidentificationRisk.strongest(publish(problem, levels), [])
    assert [each.parameter for each in (average, highest, exposed)] == [
        "average", "highest", "at_risk (highest = 0.2)",
    ]  # fmt: skip

    def holds(*parameters):
        return oracle.fulfils(oracle.AverageReidentificationRisk(*parameters), sizes)

    assert holds(average.value)
    assert holds(1, highest.value, 0)
    assert holds(1, 0.2, exposed.value)
    if sizes:
        assert not holds(average.value * (1 - 1e-12))
        assert not holds(1, highest.value * 0.99, 0)  # what is within one percent counts as equal
        assert Fraction(1, min(sizes)) == pytest.approx(highest.value)
    if exposed.value:
        assert not holds(1, 0.2, exposed.value * (1 - 1e-12))


def test_strongest_of_nothing():
    published = publish(E1, (1, 0, 1), range(10))
    assert [each.value for each in AverageReidentificationRisk.strongest(published, [])] == [0, 0, 0]
    assert AverageReidentificationRisk(0).verify(published).holds


def test_invalid_parameters():
    with refused("`average` of AverageReidentificationRisk .*from 0 to 1, not 1.5"):
        AverageReidentificationRisk(1.5)
    with refused("`highest` of AverageReidentificationRisk .*from 0 to 1, not -0.1"):
        AverageReidentificationRisk(0.5, -0.1)
    with refused("`at_risk` of AverageReidentificationRisk needs `highest`.* not 0.1 alone"):
        AverageReidentificationRisk(0.5, at_risk=0.1)


def test_a_lone_record_without_labels_is_a_person() -> None:
    """Everything that is known of it is `*`, and its diagnosis is shown: it can be told from all others."""
    labels = pa.table({"age": ["*", *["20"] * 9], "illness": ["HIV", *["flu"] * 9]})
    published = Published(Rows.of(labels), ["age"])
    assert published.sizes.tolist() == [1, 9]
    assert not AverageReidentificationRisk(0.1).verify(published).holds  # two classes of ten records
    assert not SampleUniqueness(0.05).verify(published).holds
    assert SampleUniqueness(0.1).verify(published).holds
    hierarchy = veil.hierarchies.table([["103", "*"], *([str(age), "20"] for age in range(20, 29))])
    plan = {"quasi_identifiers": {"age": hierarchy}, "sensitive": ["illness"], "minimum_levels": {"age": 1}}
    table = pa.table({"age": ["103", *(str(age) for age in range(20, 29))], "illness": ["HIV", *["flu"] * 9]})
    with pytest.raises(NoSolutionError):
        veil.anonymize(table, **plan, models=SampleUniqueness(0.05))
    release = veil.anonymize(table, **plan, models=SampleUniqueness(0.05), suppression_limit=0.1)
    assert release.suppressed == 1
    assert "HIV" not in str(release.table.to_pydict())
