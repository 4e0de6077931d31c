"""Ordering: given orders, groups in turn, and the order of types."""

from __future__ import annotations

from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError
from veil.hierarchies import Group


def test_ordering_by_a_given_order(build):
    made = build(h.ordering(2, order=["low", "mid", "high"]), ["high", "low", "mid"])
    assert made.to_rows() == [("low", "{low, mid}", "*"), ("mid", "{low, mid}", "*"), ("high", "{high}", "*")]
    with refused(HierarchyError, "not list 1", "'huge'"):
        build(h.ordering(2, order=["low"]), ["low", "huge"])


def test_ordering_ends_with_a_single_group_but_a_missing_value_needs_a_root(build):
    assert build(h.ordering(2, 2), ["a", "b"]).to_rows()[0] == ("a", "{a, b}")
    assert build(h.ordering(2, 2), ["a", None, "b"]).to_rows()[2] == (None, None, "*")


def test_ordering_sorts_numbers_by_size_and_keeps_data_order_if_asked(build):
    assert build(h.ordering(2), [10, 9, 100]).labels[1] == ("{9, 10}", "{100}")
    # Groups follow the data, the members of a set do not: their order would tell who came first.
    assert build(h.ordering(2, order="data"), [100, 9, 10]).labels[1] == ("{9, 100}", "{10}")


def test_groups_in_turn(build):
    made = build(h.ordering([1, Group(2, "pair")], 2), list("abcdef"))
    assert made.labels[1] == ("{a}", "pair", "{d}", "pair-1")
    assert made.labels[2] == ("{a, b, c}", "{d, e, f}")
