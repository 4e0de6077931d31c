"""Answers take as long whatever the data are."""

from __future__ import annotations

import pytest

from support.dp.sessions import open_session
from veil.errors import BudgetError
from veil.questions.session import constant_time


@pytest.mark.parametrize(("took", "waits"), [(0.01, 0.24), (0.26, 0.24), (0.5, 0.25), (0.0, 0.25)])
def test_answers_take_a_multiple_of_a_step(monkeypatch, took, waits) -> None:
    slept: list[float] = []
    moments = iter([100.0, 100.0 + took])
    monkeypatch.setattr(constant_time.time, "monotonic", lambda: next(moments))
    monkeypatch.setattr(constant_time.time, "sleep", slept.append)
    with pytest.raises(BudgetError), constant_time.pad_time():
        raise BudgetError("also what is refused")
    assert slept == [pytest.approx(waits)]


def test_answers_take_constant_time_by_default(monkeypatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr(constant_time.time, "sleep", slept.append)
    open_session(constant_time=True).count(epsilon=1)
    open_session(constant_time=False).count(epsilon=1)
    assert len(slept) == 1
    assert 0 < slept[0] <= constant_time.STEP
