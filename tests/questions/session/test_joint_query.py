"""Several questions for one price."""

from __future__ import annotations

from support.dp.sessions import NoNoise, open_session
from support.refusals import refused
from veil.dp.symbolic import Symbolic
from veil.errors import BudgetError


def test_questions_with_a_joint_sensitivity_are_paid_once() -> None:
    """Protocol 1: counts of groups that exclude each other are one histogram, of which one record changes one number."""
    session = open_session(budget=1, randomness=NoNoise())
    joint = session.jointly(sensitivity=2, epsilon=1)
    assert joint.histogram("sex").value == {"f": 3, "m": 1}
    assert joint.count("sex = 'm'").value == 1
    assert session.accountant.remaining.epsilon == Symbolic.read(0)
    with refused(BudgetError, "'sum of age'", "by 120", "0 is left"):
        joint.sum("age")
    wider = open_session(budget=1, randomness=NoNoise()).jointly(sensitivity=121, epsilon=1)
    assert wider.sum("age").value == 318
    assert wider.count().interval(0.95)[1] > 6 + 300  # noise of scale 121


def test_joint_questions_are_refused_once_the_sensitivity_is_used_up_and_ever_after() -> None:
    """Asked 4,000 times for one price, a count of 43 was known to a tenth."""
    joint = open_session(budget=1).jointly(sensitivity=3, epsilon="1/10")
    for _ in range(3):
        joint.count()
    for fact in ("0 is left", "refused", "refused"):
        with refused(BudgetError, fact):
            joint.count()
    people = open_session(budget=1, person="id", rows_per_person=3).jointly(sensitivity=5, epsilon=1)
    people.histogram("sex")
    with refused(BudgetError, "by 3", "2 is left", "joint sensitivity, 5"):
        people.count()
    with refused(BudgetError, "'count' was refused"):
        people.histogram("sex")
