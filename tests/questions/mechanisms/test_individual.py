"""Questions about one person."""

from __future__ import annotations

from support.dp.sessions import open_session
from support.refusals import refused
from veil.base.randomness import Randomness
from veil.errors import ParameterError


def test_a_record_is_answered_from_a_prior() -> None:
    session = open_session(person="id", rows_per_person=1, randomness=Randomness.for_testing(3))
    answer = session.record(2, "sex", epsilon=20)
    assert answer.value == "m"
    assert str(answer.loss) == "epsilon = 20"
    assert abs(session.record("2.0", "age", epsilon=20).value - 71) < 0.1
    far = session.record(99, "age", epsilon=20).value  # nobody: a draw from the prior
    assert 0 <= far <= 120
    changed = open_session(neighbours="one changed", person="id", rows_per_person=1)
    assert str(changed.record(1, "sex", epsilon=1).loss) == "epsilon = 2"
    with refused(ParameterError, "refinement", "no interval"):
        answer.interval()


def test_records_are_asked_for_by_name_of_people_with_one_each() -> None:
    for options in ({"person": None}, {"person": "id", "rows_per_person": 2}):
        with refused(ParameterError, "tells people apart", "one record each"):
            open_session(**options).record(0, "age", epsilon=1)
    with refused(ParameterError, "`who`", "'id'", "not ' '"):
        open_session(person="id", rows_per_person=1).record(" ", "age", epsilon=1)
