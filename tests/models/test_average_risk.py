"""Average re-identification risk: worked values, the oracle, bounds on what has to be suppressed."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
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
from veil.classes.table import ClassTable
from veil.errors import NoSolutionError
from veil.models.average_risk import AverageReidentificationRisk, smallest_safe_size
from veil.models.sample_based import _histogram, _mark, _smallest
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


def test_who_goes_first():
    """By size, then loss, then key, its last word first: against sorting, on classes with many ties."""
    for seed in range(200):
        random = np.random.default_rng(seed)
        number = int(random.integers(2, 60))
        sizes = random.integers(0, 4, number) * random.choice([1, 1, 1, 700], number)
        losses = None if random.random() < 0.3 else random.integers(0, 4, number) / 8
        words, base = [(1, 64), (2, 8), (3, 4)][seed % 3]
        numbers = random.permutation(64)[:number]
        # More than 53 bits: keys must not be compared as doubles.
        keys = tuple(
            (numbers // base**word % base).astype(np.uint64) + np.uint64(2**63) for word in range(words)
        )
        marks = (random.random(number) < 0.2).astype(np.uint8) | (sizes == 0)
        left = [i for i in range(number) if not marks[i]]
        sizes_left, counts = np.unique(sizes[left], return_counts=True)
        assert [each.tolist() for each in _histogram(sizes, marks)] == [
            sizes_left.tolist(),
            counts.tolist(),
        ], seed
        table = ClassTable((), keys, (sizes,), ())
        order = sorted(
            left,
            key=lambda i: (sizes[i], 0 if losses is None else losses[i], [word[i] for word in keys[::-1]]),
        )
        for prefix in range(1, len(order) + 1):
            marked = marks.copy()
            _mark(table, marked, losses, sizes_left, counts, prefix)
            assert set(np.flatnonzero(marked != marks).tolist()) == set(order[:prefix]), seed


@pytest.mark.parametrize("number", [1, 2, 7, 500])
def test_the_value_at_a_place(number):
    """In any order of the values, those among them on which simple quickselect is slow."""
    numbers = np.arange(number, dtype=np.uint64) + np.uint64(2**63)
    halves = np.concatenate([numbers[::2], numbers[1::2][::-1]])
    for values in (numbers, numbers[::-1], halves, numbers // np.uint64(100), np.sqrt(halves % np.uint64(7))):
        ordered = np.sort(values)
        for place in {0, number // 3, number // 2, number - 1}:
            assert _smallest(values.copy(), place) == ordered[place]


@pytest.mark.parametrize("seed", range(5))
def test_who_goes_first_among_more_columns_than_fit_in_a_word(seed):
    """Twelve columns of seven bits each, in which most rows differ late or early."""
    random = np.random.default_rng(seed)
    tables = [[[f"v{value}"] for value in random.permutation(70)] for _ in range(12)]
    cells = np.zeros((40, 12), np.int64)
    cells[np.arange(40), random.integers(0, 12, 40)] = random.integers(0, 70, 40)
    cells[np.arange(40), random.choice([0, 8, 9, 11], 40)] = random.integers(0, 3, 40)
    problem = oracle.Problem([tuple(f"v{value}" for value in row) for row in cells.tolist()], tables)
    for share in (0.2, 0.5, 0.8):
        truth = oracle.evaluate(problem, [oracle.AverageReidentificationRisk(share)], (0,) * 12, 1)
        assert evaluated(problem, [AverageReidentificationRisk(share)], (0,) * 12) == truth


def test_how_many_go():
    """The fewest for which the oracle is content, on larger tables than it likes to group itself."""
    for seed in range(200):
        random = np.random.default_rng(seed)
        sizes = np.sort(random.geometric(random.choice([0.2, 0.5, 0.8]), 300)).tolist()
        average, highest, at_risk = (float(random.integers(0, 1001)) / 1000 for _ in range(3))
        theirs = oracle.AverageReidentificationRisk(average, highest, at_risk)
        ours = AverageReidentificationRisk(average, highest, at_risk)
        fewest = next(n for n in range(301) if oracle.fulfils(theirs, sizes[n:]))
        rows = [(str(i),) for i, size in enumerate(sizes) for _ in range(size)]
        sample = sample_of(oracle.Problem(rows, [[[str(i)] for i in range(300)]]))
        assert ours.bind(sample).prefix(*np.unique(sizes, return_counts=True)) == fewest, seed


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
