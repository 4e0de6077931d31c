"""Categories: trees, mappings and the rest."""

from __future__ import annotations

import pytest

from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError, ParameterError


def test_categories_as_a_tree(build):
    made = build(h.categories({"Europe": {"DACH": ("AT", "DE"), "North": {"SE"}}, "Asia": ["JP"]}), ["SE"])
    assert made.to_rows() == [
        ("AT", "DACH", "Europe", "*"),
        ("DE", "DACH", "Europe", "*"),
        ("SE", "North", "Europe", "*"),
        ("JP", "Asia", "Asia", "*"),
    ]


def test_categories_as_mappings(build):
    made = build(h.categories({1: "low", 2: "low", 3: "high"}, {"low": "any", "high": "any"}), [1, 3])
    assert made.to_rows() == [("1", "low", "any"), ("2", "low", "any"), ("3", "high", "any")]


def test_categories_for_the_rest(build):
    made = build(h.categories({"A": ["x"]}, other="rest"), ["x", "y", None])
    assert made.to_rows() == [("x", "A", "*"), ("y", "rest", "*"), (None, None, "*")]
    with refused(HierarchyError, "'y'", "1 of its 2"):
        build(h.categories({"A": ["x"]}), ["x", "y"])


def test_categories_that_list_a_value_twice(build):
    with refused(HierarchyError, "'x'", "twice", "different labels"):
        build(h.categories({"A": ["x"], "B": ["x"]}), ["x"])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: h.categories(), "either a `tree` or `mappings`"),
        (lambda: h.categories({"A": []}), "at least one value"),
        (
            lambda: h.categories({"x": "low"}, {"lwo": "any"}),
            "'low' of level 1 has no name on level 2.*'lwo'",
        ),
        (
            lambda: h.categories({"x": "low"}, {"low": "any", "high": "any"}),
            "'high' gets a name on level 2, but is not a name of level 1",
        ),
        (lambda: h.categories({"A": [["x"]]}), "tree"),
    ],
)
def test_categories_that_cannot_work(make, message):
    with pytest.raises(ParameterError, match=message):
        make()
