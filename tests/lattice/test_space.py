"""What a search says about every node, also of one that was stopped early."""

from __future__ import annotations

import pytest

from support.refusals import refused
from veil.errors import PlanError
from veil.lattice import space as space_module
from veil.lattice.space import Box, NodeRecord, Space
from veil.quality.base import NO_BOUND, ClassSums, Evaluation


def seen(levels, suppressed, score=None, base=(0.5,)):
    tally = ClassSums(3, 10 - suppressed, suppressed, 20, 20)
    return Evaluation(levels, score is not None, tally, score, base, suppressed)


@pytest.fixture
def stopped() -> Space:
    """Nine nodes: two were looked at, five were ruled out, and of the last two nothing is known."""
    evaluated = [seen((2, 0), 1, score=(3.0,)), seen((3, 0), 7)]
    boxes = [
        Box((1, 0), (1, 1), (5.0,), 3, True),  # must suppress more than the two records that are allowed
        Box((2, 1), (3, 1), (4.0,), 2, True),  # may be anonymous, but is no better than 4
        Box((1, 2), (1, 2), (0.0,), 0, False),  # out of the question
    ]
    return Space((1, 0), (3, 2), 2, {each.levels: each for each in evaluated}, boxes)


EXPECTED = [
    NodeRecord((1, 0), "not anonymous", None, (5.0,), 3, False),
    NodeRecord((1, 1), "not anonymous", None, (5.0,), 3, False),
    NodeRecord((1, 2), "not anonymous", None, (0.0,), 0, False),
    NodeRecord((2, 0), "anonymous", (3.0,), (3.0,), 1, True),
    NodeRecord((2, 1), "pruned", None, (4.0,), 2, False),
    NodeRecord((2, 2), "unseen", None, NO_BOUND, 0, False),
    NodeRecord((3, 0), "not anonymous", None, (0.5,), 7, True),
    NodeRecord((3, 1), "pruned", None, (4.0,), 2, False),
    NodeRecord((3, 2), "unseen", None, NO_BOUND, 0, False),
]


def test_every_node_is_listed_and_can_be_asked_for(stopped) -> None:
    assert list(stopped) == EXPECTED
    assert [stopped[each.levels] for each in EXPECTED] == EXPECTED
    assert stopped.size == 9
    assert stopped.counts() == {"anonymous": 1, "not anonymous": 4, "pruned": 2, "unseen": 2}


def test_what_several_boxes_say_holds_together(stopped) -> None:
    """The higher bound and the larger number, and out of the question if one says so, whatever comes after it."""
    stopped.ruled_out[:] = [
        Box((2, 1), (3, 2), (1.0,), 2, True),
        Box((1, 1), (3, 1), (4.0,), 0, True),
        Box((2, 2), (2, 2), (0.0,), 0, False),
        Box((2, 1), (2, 2), (0.0,), 1, True),
    ]
    assert stopped[2, 1] == NodeRecord((2, 1), "pruned", None, (4.0,), 2, False)
    assert stopped[2, 2] == NodeRecord((2, 2), "not anonymous", None, (1.0,), 2, False)
    assert stopped[3, 2] == NodeRecord((3, 2), "pruned", None, (1.0,), 2, False)


def test_neighbours_are_within_the_space(stopped) -> None:
    assert stopped.successors((3, 1)) == [(1, (3, 2))]
    assert stopped.successors((1, 2)) == [(0, (2, 2))]
    assert stopped.predecessors((1, 1)) == [(1, (1, 0))]
    assert stopped.predecessors((2, 0)) == [(0, (1, 0))]


@pytest.mark.parametrize("levels", [(0, 0), (4, 0), (1, 3), (1,), (1, 0, 0)])
def test_what_is_no_node(stopped, levels) -> None:
    assert levels not in stopped
    with refused(PlanError, "not a node", "(1, 0)", "(3, 2)"):
        stopped[levels]


def test_too_many_nodes_are_counted_without_listing_them(stopped, monkeypatch) -> None:
    monkeypatch.setattr(space_module, "LARGEST_LISTING", 9)
    assert list(stopped) == EXPECTED
    monkeypatch.setattr(space_module, "LARGEST_LISTING", 8)
    with refused(PlanError, "9 nodes", "too many"):
        list(stopped)
    assert stopped.counts() == {"anonymous": 1, "not anonymous": 1, "pruned": 0, "unseen": 7}
