"""k-anonymity for attackers who know some quasi-identifiers: engine, verifier and oracle agree."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import oracle, strategies
from support.judging import often, publish, refused
from support.models import asked
from support.samples import E1, names_of, sample_of
from veil.classes.table import roll_up
from veil.lattice.evaluator import Evaluator
from veil.models import KAnonymity
from veil.models.attribute_subsets import SubsetKAnonymity
from veil.models.base import PrivacyModel
from veil.published.table import Published
from veil.quality import Loss
from veil.tables.rows import Rows

FOUR = oracle.Problem(
    [("a", "a", "a"), ("a", "b", "b"), ("b", "a", "b"), ("b", "b", "a")], [[[v, "*"] for v in "ab"]] * 3
)
"""Any one column is twice two; any two columns tell all four apart."""


def kept_rows(
    problem: oracle.Problem, levels: oracle.Node, models: list[PrivacyModel]
) -> tuple[set[int], bool]:
    """The relevant rows that the engine keeps, and whether it is satisfied with them."""
    evaluator = Evaluator(sample_of(problem), models, Loss(), 1.0)
    node, satisfied, *_ = evaluator.judge(levels, evaluator.sample.table)
    found = oracle.classes(problem, levels)
    kept = {row for cls, mark in zip(found, node.rejected, strict=True) if not mark for row in cls}
    return kept & problem.relevant, satisfied


# --- worked values --------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "k", "kept"), [(1, 2, 4), (1, 3, 0), (2, 1, 4), (2, 2, 0), (3, 2, 0)])
def test_any_m_of_three_columns(m: int, k: int, kept: int) -> None:
    assert len(kept_rows(FOUR, (0, 0, 0), [SubsetKAnonymity(k, m)])[0]) == kept


def test_suppression_is_repeated_until_nothing_changes() -> None:
    """a-b is alone; without it the other a is, and so on: a chain that ends with nothing."""
    rows = [("a", "b"), ("c", "b"), ("c", "d"), ("e", "d"), ("e", "f"), ("g", "f"), ("g", "h"), ("g", "h")]
    tables = [[[v, "*"] for v in "aceg"], [[v, "*"] for v in "bdfh"]]
    problem = oracle.Problem(rows, tables)
    assert kept_rows(problem, (0, 0), [SubsetKAnonymity(2, 1)]) == ({6, 7}, True)
    assert kept_rows(problem, (1, 0), [SubsetKAnonymity(2, 1)]) == (set(range(8)), True)
    assert kept_rows(problem, (0, 0), [SubsetKAnonymity(3, 1)]) == (set(), True)


def test_listed_sets_may_overlap() -> None:
    """In the reference's example at (1, 0, 1): age and sex are twenty or thirty something, f or m."""
    assert kept_rows(E1, (1, 0, 1), [SubsetKAnonymity(2, subsets=[["q0", "q1"], ["q2"]])])[0] == set(
        range(10)
    )
    kept = kept_rows(E1, (1, 0, 1), [SubsetKAnonymity(2, subsets=[["q0", "q2"], ["q1"]])])[0]
    assert kept == set(range(10)) - {3}


def test_knowing_all_columns_is_k_anonymity() -> None:
    sample = sample_of(E1)
    model = SubsetKAnonymity(3, 7)
    assert model.minimal_class_size(sample) == 3
    assert model.bind(sample) is None
    assert SubsetKAnonymity(3, subsets=[["q0"], ["q2", "q1", "q0"]]).minimal_class_size(sample) == 3
    assert SubsetKAnonymity(3, 2).minimal_class_size(sample) == 1


# --- against the oracle ---------------------------------------------------------------------------


@often
@given(st.data())
def test_keeps_what_the_oracle_keeps(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems())
    theirs, ours = data.draw(asked(problem.width))
    levels = data.draw(strategies.nodes(problem))
    k = data.draw(st.sampled_from([None, 2, 3]))
    more = [] if k is None else [oracle.KAnonymity(k)]
    expected = oracle.evaluate(problem, [theirs, *more], levels, 1)
    kept, satisfied = kept_rows(problem, levels, [ours, *([] if k is None else [KAnonymity(k)])])
    assert satisfied
    assert expected.anonymous
    assert kept == problem.relevant - expected.suppressed


@often
@given(st.data())
def test_fulfilled_is_what_the_oracle_would_not_touch(data: st.DataObject) -> None:
    """For any classes marked already, and without changing a mark."""
    problem = data.draw(strategies.problems())
    theirs, ours = data.draw(asked(problem.width))
    levels = data.draw(strategies.nodes(problem))
    sample = sample_of(problem)
    criterion = ours.bind(sample)
    if criterion is None:
        return
    table = roll_up(sample.encoding, sample.table, levels, sample.workspace())
    marks = np.array([data.draw(st.booleans()) for _ in range(len(table))], np.uint8)
    before = marks.copy()
    found = oracle.classes(problem, levels)
    kept = [cls for cls, mark in zip(found, marks, strict=True) if not mark and oracle.members(problem, cls)]
    rest = oracle.suppression.without_small_groups(problem, [theirs], levels, kept)
    assert criterion.fulfilled(table, marks) == (rest == kept)
    assert (marks == before).all()
    criterion.suppress(table, marks, None)
    assert criterion.fulfilled(table, marks)
    assert [cls for cls, mark in zip(found, marks, strict=True) if not mark and cls in kept] == rest
    assert (marks[before == 1] == 1).all()


@often
@given(st.data())
def test_monotone_both_ways(data: st.DataObject) -> None:
    """What a node suppresses every more specific node suppresses; also next to k-anonymity."""
    problem = data.draw(strategies.problems())
    models: list[PrivacyModel] = [
        data.draw(asked(problem.width))[1],
        KAnonymity(data.draw(st.integers(1, 3))),
    ]
    upper = data.draw(strategies.nodes(problem))
    lower = tuple(data.draw(st.integers(0, level)) for level in upper)
    general, specific = kept_rows(problem, upper, models)[0], kept_rows(problem, lower, models)[0]
    assert specific <= general


@settings(often, max_examples=15)
@given(st.data())
def test_keys_of_several_words(data: st.DataObject) -> None:
    """Quasi-identifiers that need more than 64 bits."""
    width, size = 7, 700
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    table = [[str(v), str(v // 100), "*"] for v in range(size)]
    rows = [tuple(str(v) for v in rng.integers(0, size, width)) for _ in range(60)]
    problem = oracle.Problem(rows, [table] * width)
    assert sample_of(problem).encoding.words > 1
    levels = data.draw(strategies.nodes(problem))
    k, m = data.draw(st.integers(2, 6)), data.draw(st.integers(1, 3))
    expected = oracle.evaluate(problem, [oracle.SubsetKAnonymity(k, m)], levels, 1)
    kept, _ = kept_rows(problem, levels, [SubsetKAnonymity(k, m)])
    assert kept == problem.relevant - expected.suppressed


# --- seen from outside ----------------------------------------------------------------------------


@often
@given(st.data())
def test_verify_and_strongest(data: st.DataObject) -> None:
    problem = data.draw(strategies.problems())
    theirs, ours = data.draw(asked(problem.width))
    levels = data.draw(strategies.nodes(problem))
    found = oracle.classes(problem, levels)
    hide = [data.draw(st.booleans()) for _ in found]
    hidden = {row for cls, gone in zip(found, hide, strict=True) if gone for row in cls}
    kept = [c for c, gone in zip(found, hide, strict=True) if not gone and oracle.members(problem, c)]

    def holds(model: oracle.SubsetKAnonymity) -> bool:
        return oracle.suppression.without_small_groups(problem, [model], levels, kept) == kept

    published = publish(problem, levels, hidden)
    assert ours.verify(published).holds == holds(theirs)
    strengths = SubsetKAnonymity.strongest(published, [])
    assert bool(strengths) == bool(kept and problem.width > 1)
    if 0 < len(strengths) < problem.width - 1:  # from here on it is k-anonymity
        assert strengths[-1].value == published.sizes.min()
    for m, strength in enumerate(strengths, 1):
        assert strength.parameter == f"k (m = {m})"
        assert holds(oracle.SubsetKAnonymity(int(strength.value), m))
        assert not holds(oracle.SubsetKAnonymity(int(strength.value) + 1, m))


def test_rows_without_any_value_count_where_nothing_is_known() -> None:
    """The class without information counts for the engine, and looks like suppressed rows afterwards."""
    tables = [[["a", "*"], ["b", "*"], ["c", "x"]], [["p", "*"], ["q", "*"], ["r", "r"]]]
    problem = oracle.Problem([("a", "p"), ("b", "q"), ("c", "p"), ("c", "r"), ("c", "r"), ("a", "r")], tables)
    model = SubsetKAnonymity(2, 1)
    kept, satisfied = kept_rows(problem, (1, 1), [model])
    assert satisfied
    assert kept == set(range(6))
    released = oracle.generalize(problem, (1, 1))
    columns = {f"q{j}": [row[j] for row in released] for j in range(2)}
    assert columns == {"q0": ["*", "*", "x", "x", "x", "*"], "q1": ["*", "*", "*", "r", "r", "r"]}
    assert model.verify(Published(Rows.of(pa.table(columns)), ["q0", "q1"])).holds
    flags = pa.array([True, True, False, False, False, False])
    told = Published(Rows.of(pa.table(columns | {"suppressed": flags})), ["q0", "q1"], flag="suppressed")
    assert model.verify(told).measured == "k = 1 for 'q0'"


def test_a_changed_cell_is_noticed() -> None:
    table = {"age": ["20", "20", "30", "30"], "zip": ["1", "2", "1", "2"]}
    model = SubsetKAnonymity(2, 1)
    finding = model.verify(Published(Rows.of(pa.table(table)), ["age", "zip"]))
    assert finding.holds
    assert finding.promise == "2-anonymity against anyone who knows any 1 of the quasi-identifiers"
    broken = model.verify(Published(Rows.of(pa.table(table | {"zip": ["1", "2", "1", "3"]})), ["age", "zip"]))
    assert not broken.holds
    assert broken.measured == "k = 1 for 'zip'"


def test_many_columns_are_verified_without_overflow() -> None:
    """Records that differ in the first of eight columns only, of 4096 values each."""
    values = np.arange(4096)
    names = [f"c{j}" for j in range(8)]
    table = pa.table({name: np.concatenate([values, values]) for name in names})
    published = Published(Rows.of(table), names)
    assert SubsetKAnonymity(2, 8).verify(published).measured.startswith("k = 2 for")
    shifted = table.set_column(0, "c0", pa.array(np.concatenate([values, np.roll(values, 1)])))
    assert SubsetKAnonymity(2, 8).verify(Published(Rows.of(shifted), names)).measured.startswith("k = 1 for")
    assert SubsetKAnonymity(2, subsets=[names[1:], ["c0"]]).verify(Published(Rows.of(shifted), names)).holds


def test_too_many_sets_are_not_assessed() -> None:
    names = [f"c{j}" for j in range(12)]
    table = pa.table({name: [str(row >> j & 1) for row in range(4096)] for j, name in enumerate(names)})
    found = SubsetKAnonymity.strongest(Published(Rows.of(table), names), [])
    assert [(each.parameter, each.value) for each in found] == [("k (m = 1)", 2048)]
    less = SubsetKAnonymity.strongest(Published(Rows.of(table), names[:8]), [])
    assert [each.value for each in less] == [2048, 1024, 512]


def test_nothing_left_is_safe() -> None:
    published = Published(Rows.of(pa.table({"age": ["*", "*"]})), ["age"])
    assert SubsetKAnonymity(3, 1).verify(published).holds
    assert SubsetKAnonymity.strongest(published, []) == []


# --- parameters -----------------------------------------------------------------------------------


def test_impossible_parameters_are_refused() -> None:
    with refused("`k` of SubsetKAnonymity should be greater than or equal to 1, not 0"):
        SubsetKAnonymity(0, 2)
    with refused("`m` of SubsetKAnonymity should be greater than or equal to 1, not 0"):
        SubsetKAnonymity(2, 0)
    with refused("`m` or `subsets` of SubsetKAnonymity should be given, one of them and not none"):
        SubsetKAnonymity(2)
    with refused("one of them and not both"):
        SubsetKAnonymity(2, 1, [["age"]])
    with refused("`subsets"):
        SubsetKAnonymity(2, subsets=[])
    with refused("`subsets"):
        SubsetKAnonymity(2, subsets=[[]])


def test_unknown_columns_are_named() -> None:
    model = SubsetKAnonymity(2, subsets=[["q0", "q9"]])
    with refused(r"`subsets` of SubsetKAnonymity should name quasi-identifiers \(q0, q1, q2\), not 'q9'"):
        model.minimal_class_size(sample_of(E1))


def test_sets_within_others_do_not_matter() -> None:
    names = names_of(E1)
    assert SubsetKAnonymity(2, 2).known_sets(names) == list(combinations(names, 2))
    assert SubsetKAnonymity(2, subsets=[["q0"], ["q1", "q0"], ["q0", "q1"]]).known_sets(names) == [
        ("q0", "q1")
    ]
