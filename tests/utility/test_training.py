"""Features of models: folds, shown and expected codes, and numbers."""

from __future__ import annotations

import pyarrow as pa

from support.refusals import refused
from support.utility.people import generalized
from veil import hierarchies as h
from veil.errors import InputError, PlanError
from veil.utility import Comparison, classification
from veil.utility.training import folds_of, released_codes, sides


def test_folds_are_stretches_and_the_last_takes_the_rest():
    assert [(f.start, f.stop) for f in folds_of(23, 10)][-2:] == [(16, 18), (18, 23)]
    assert [(f.start, f.stop) for f in folds_of(3, 10)] == [(0, 1), (1, 2), (2, 3)]
    assert [(f.start, f.stop) for f in folds_of(1, 10)] == [(0, 1)]


def test_suppressed_cells_would_show_what_most_others_with_their_value_show():
    """After local recoding one value has several labels; of equally many the first in order is taken."""
    ages = [["21", "20s", "*"], ["23", "20s", "*"], ["35", "30s", "*"]]
    before = pa.table({"age": [21, 21, 21, 21, 23, 23, 23, 35]})
    after = pa.table({"age": ["20s", "21", "20s", "*", "23", "20s", "*", "*"]})
    labels, shown, seen = released_codes(Comparison(before, after, {"age": h.table(ages)}), "age")
    assert labels == ["21", "20s", "23", "*"]
    assert [labels[code] for code in shown] == ["20s", "21", "20s", "*", "23", "20s", "*", "*"]
    told = [labels[code] if code >= 0 else None for code in seen]
    assert told == ["20s", "21", "20s", "20s", "23", "20s", "20s", None]


def test_numbers_can_be_used_as_numbers(people):
    one_hot = classification(generalized(people), "rich", methods=["logistic regression"], folds=3)[0]
    number = classification(
        Comparison(people, people, ["age", "job"]),
        "rich",
        methods=["logistic regression"],
        numeric=["age"],
        folds=3,
    )[0]
    assert number.original.accuracy > one_hot.zero_r.accuracy
    with refused(PlanError, "`numeric`", "'pay'", "not a feature"):
        classification(generalized(people), "rich", numeric=["pay"])
    with refused(InputError, "'job'", "as numbers"):
        classification(generalized(people), "rich", numeric=["job"])


def test_models_of_microaggregated_numbers_are_asked_about_original_ones(people):
    means = people.set_column(
        0, "age", pa.array([30.0 if a <= 40 else 50.0 for a in people["age"].to_pylist()])
    )
    _, after = sides(Comparison(people, means, ["age", "job"]), ["age"], ["age"])
    scale = after.scales[0]
    assert len(set(scale[after.training[:, 0]])) == 2
    assert len(set(scale[after.prediction[:, 0]])) == len(set(people["age"].to_pylist()))
