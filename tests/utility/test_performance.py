"""Figures of predictions, against their definitions in plain Python."""

from __future__ import annotations

import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from veil.utility.performance import curve, performance


@st.composite
def predictions(draw: st.DrawFn) -> tuple[list[int], list[list[float]]]:
    classes, records = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    truth = draw(st.lists(st.integers(0, classes - 1), min_size=records, max_size=records))
    rows = []
    for _ in range(records):
        parts = draw(st.lists(st.integers(0, 4), min_size=classes, max_size=classes))
        parts[0] += not sum(parts)
        rows.append([part / sum(parts) for part in parts])
    return truth, rows


@given(predictions())
@settings(max_examples=120)
def test_figures_agree_with_the_slow_twin(drawn):
    truth, rows = drawn
    names = [f"c{j}" for j in range(len(rows[0]))]
    found = performance(np.array(truth), np.array(rows), names)
    ties = [[j for j, p in enumerate(row) if p == max(row)] for row in rows]
    right = [(t in tie) / len(tie) for t, tie in zip(truth, ties, strict=True)]
    assert found.accuracy == pytest.approx(statistics.fmean(right))
    assert found.average_error == pytest.approx(
        statistics.fmean(1 - row[t] for t, row in zip(truth, rows, strict=True)), abs=1e-12
    )
    brier = [sum((p - (j == t)) ** 2 for j, p in enumerate(row)) for t, row in zip(truth, rows, strict=True)]
    assert found.brier == pytest.approx(statistics.fmean(brier))
    for j, each in enumerate(found.classes):
        clear = [(t == j, tie == [j]) for t, tie in zip(truth, ties, strict=True) if len(tie) == 1]
        inside = [predicted for own, predicted in clear if own]
        outside = [not predicted for own, predicted in clear if not own]
        assert each.sensitivity == (pytest.approx(statistics.fmean(inside)) if inside else None)
        assert each.specificity == (pytest.approx(statistics.fmean(outside)) if outside else None)
        assert each.brier == pytest.approx(
            statistics.fmean((row[j] - (t == j)) ** 2 for t, row in zip(truth, rows, strict=True)), abs=1e-12
        )
        own = [row[j] for t, row in zip(truth, rows, strict=True) if t == j]
        other = [row[j] for t, row in zip(truth, rows, strict=True) if t != j]
        if own and other:
            # The chance that a record of the class is ranked above another one (Mann and Whitney).
            wins = [(a > b) + (a == b) / 2 for a in own for b in other]
            assert each.auc == pytest.approx(statistics.fmean(wins))
            assert each.roc[-1] == (1.0, 1.0)
            assert list(each.roc) == sorted(each.roc)
        else:
            assert each.auc is None


def test_long_curves_are_thinned_and_keep_their_area():
    draws = np.random.default_rng(0)
    confidence, positive = draws.uniform(size=5000), draws.uniform(size=5000) < 0.3
    area, points = curve(confidence, positive)
    assert len(points) == 100
    xs, ys = zip((0.0, 0.0), *points, strict=True)
    assert area == pytest.approx(np.trapezoid(ys, xs), abs=0.01)
