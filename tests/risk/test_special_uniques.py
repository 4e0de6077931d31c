"""SUDA2: the examples that sdcMicro is tested with, and brute force."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from support.risk import twins
from support.risk.tables import E1, NAMES, often, published, seeded, tables
from veil.errors import ParameterError
from veil.risk import suda


def test_sdcmicro_guidelines_example():
    """Ten people by residence, gender, education and labour, from the SDC Practice Guide's chapter on SUDA."""
    education = ["si", "si", "pi", "sc", "sc", "sc", "pc", "ps", "si", "si"]
    labor = ["e", "e", "n", "e", "u", "e", "n", "u", "n", "n"]
    table = pa.table(
        {
            "residence": list("uuuuruuuuu"),
            "gender": list("fffmfmfmff"),
            "education": education,
            "labor": labor,
        }
    )
    found = suda(table, table.column_names)
    assert found.scores.tolist() == [0, 0, 6, 0, 12, 0, 6, 10, 0, 0]


def test_sdcmicro_book_example():
    """Eight people by age, gender, income and education, from Templ's book on statistical disclosure control."""
    table = pa.table(
        {
            "age": ["20s"] * 7 + ["60s"],
            "gender": ["m"] * 4 + ["f"] * 3 + ["m"],
            "income": ["50k+"] * 2 + ["50k-"] * 6,
            "education": ["high"] * 4 + ["university", "high", "middle", "university"],
        }
    )
    assert suda(table, table.column_names).scores.tolist() == [0, 0, 0, 0, 4, 2, 6, 8]


@pytest.mark.parametrize("order", ["abc", "acb", "cab", "cba"])
def test_sdcmicro_contributions_do_not_depend_on_the_order_of_columns(order):
    table = pa.table({"a": [2, 1, 1], "b": [0, 3, 0], "c": [0, 6, 0]}).select(list(order))
    found = suda(table, list(order))
    assert found.attribute_contributions == {name: {"a": 0.5, "b": 0.375, "c": 0.375}[name] for name in order}
    assert found.scores.tolist() == [2, 4, 2]
    assert found.contributions[:, list(order).index("a")].tolist() == [1, 0, 1]


def columns_of(found, row):
    return [tuple(int(name[1:]) for name in each) for each in found.minimal_uniques(row)]


@often
@given(tables(max_width=5, max_rows=12), st.sampled_from([None, 1, 2, 3]))
def test_minimal_sample_uniques_agree_with_brute_force(table, largest):
    rows, width = table
    found = suda(published(rows, width), largest=largest)
    kept = [row if twins.shown([row]) else ("*",) * width for row in rows]
    expected = twins.minimal_uniques(kept, largest)
    for at, uniques in enumerate(expected):
        assert sorted(columns_of(found, at)) == sorted(uniques)
    assert sum(found.sizes.values()) == sum(map(len, expected))
    assert found.largest == min(width, largest or width)


@often
@given(tables(max_width=4, max_rows=12), st.sampled_from([0.01, 0.1, 0.5, 1]), st.booleans())
def test_scores_agree_with_brute_force(table, fraction, ihsn):
    rows, width = table
    found = suda(published(rows, width), sampling_fraction=fraction, scoring="ihsn" if ihsn else "elliot")
    scores, chances, parts = twins.suda(rows, fraction, ihsn)
    assert found.scores.tolist() == pytest.approx(scores, rel=1e-12)
    assert found.dis_scores.tolist() == pytest.approx(chances, rel=1e-12)
    assert found.contributions.ravel().tolist() == pytest.approx([each for row in parts for each in row])
    total = sum(scores)
    for j, share in enumerate(found.attribute_contributions.values()):
        mine = sum(score * part[j] for score, part in zip(scores, parts, strict=True))
        assert share == pytest.approx(mine / total if total else 0)


def test_a_limit_leaves_out_large_ones_only():
    whole, part = suda(E1, NAMES), suda(E1, NAMES, largest=2)
    assert {columns: rows.tolist() for columns, rows in part.minimal.items()} == {
        columns: rows.tolist() for columns, rows in whole.minimal.items() if len(columns) <= 2
    }
    assert (part.scores <= whole.scores).all()


def test_what_has_no_value_singles_out_nobody():
    table = pa.table({"a": ["x", "x", None, "*"], "b": ["1", "2", "3", "3"]})
    found = suda(table, ["a", "b"])
    assert [found.minimal_uniques(row) for row in range(4)] == [[("b",)], [("b",)], [], []]
    assert found.scores.tolist() == [1, 1, 0, 0]


def test_the_summary_counts_records_as_sdcmicro_prints_them():
    found = suda(seeded(200, 4, 6, 2), [f"q{j}" for j in range(4)], sampling_fraction=0.3)
    summary = found.to_dict()
    assert sum(each["records"] for each in summary["dis_scores"]) == 200
    assert summary["dis_scores"][0] == {"upper": 0.0, "records": int((found.dis_scores == 0).sum())}
    inside = (found.dis_scores > 0.2) & (found.dis_scores <= 0.3)
    assert summary["dis_scores"][3] == {"upper": 0.3, "records": int(inside.sum())}
    assert summary["records"] == int((found.scores > 0).sum())
    assert {int(size): count for size, count in summary["sizes"].items()} == found.sizes


def test_without_uniques_there_are_no_scores():
    for rows in ([("a", "b")] * 3, [("*", "*")] * 2, []):
        found = suda(published(rows, 2))
        assert not found.scores.any()
        assert not found.dis_scores.any()
        assert (found.dis, found.minimal, found.sizes) == (0, {}, {})
        assert found.contributions.shape == (len(rows), 2)
        assert set(found.attribute_contributions.values()) == {0}


def test_parameters_are_checked():
    with refused(ParameterError, "`sampling_fraction`", "above 0", "most 1", "not 2"):
        suda(E1, NAMES, sampling_fraction=2)
    with refused(ParameterError, "`scoring`", "'elliot'", "'ihsn'", "not 'x'"):
        suda(E1, NAMES, scoring="x")
    with refused(ParameterError, "too many", "`largest`"):
        suda(seeded(5, 30, 2, 1), [f"q{j}" for j in range(30)])


def test_many_records_of_eight_columns():
    """Three thousand records, some of which are looked at one by one."""
    rng = np.random.default_rng(0)
    cells = (rng.random((3000, 8)) ** 3 * 9).astype(np.int64)
    table = pa.table({f"q{j}": cells[:, j] for j in range(8)})
    found = suda(table, table.column_names)
    alone = np.flatnonzero(found.scores)
    for row in [*alone[:: len(alone) // 15].tolist(), 0, 1, 2]:
        same = cells == cells[row]
        unique = {frozenset(each) for each in twins.subsets(8) if same[:, each].all(axis=1).sum() == 1}
        minimal = [each for each in unique if not any(each - {j} in unique for j in each)]
        assert {frozenset(each) for each in columns_of(found, row)} == set(minimal)
