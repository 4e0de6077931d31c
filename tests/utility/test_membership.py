"""Features of releases: shares of values by their definition, and models that learn from them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.errors import InputError, ParameterError, PlanError
from veil.recoding import FastIterative
from veil.utility import Comparison, classification, features, regression

AGES = h.table([[str(age), f"{age // 5 * 5}+", f"{age // 10}x", "*"] for age in range(20, 60)])


@given(
    st.lists(st.sampled_from(["23", "59", "20+", "45+", "2x", "5x", "*"]), min_size=1, max_size=9),
    st.integers(0, 3),
)
def test_a_cell_is_spread_over_what_its_label_covers(cells, level):
    matrix = features(pa.table({"age": cells}), "age", level=level, hierarchies={"age": AGES})
    nodes = list(dict.fromkeys(row[level] for row in AGES.to_rows()))
    assert matrix.column_names == [f"age={node}" for node in nodes]
    for place, text in enumerate(cells):
        covered = [row for row in AGES.to_rows() if text in row]
        shares = [sum(row[level] == node for row in covered) / len(covered) for node in nodes]
        assert [column[place].as_py() for column in matrix.columns] == pytest.approx(shares)


def test_numbers_are_means_of_what_a_label_covers_and_blank_cells_like_the_others():
    table = pa.table({"age": ["20+", "31", "*"]})
    assert features(table, numeric="age", hierarchies={"age": AGES})["age"].to_pylist() == [22.0, 31.0, 26.5]


def test_frames_and_columns(people):
    frame = pd.DataFrame({"age": ["2x", "31"], "job": ["a", None]})
    matrix = features(frame, hierarchies={"age": AGES}, level={"age": 2})
    assert list(matrix.columns) == ["age=2x", "age=3x", "age=4x", "age=5x"]
    assert features(frame, ["job"])["job=a"].tolist()[0] == 1.0
    with refused(PlanError, "`numeric`", "'pay'"):
        features(frame, ["age"], numeric="pay")
    with refused(PlanError, "no column 'wage'"):
        features(frame, ["wage"])
    with refused(ParameterError, "at most 3", "'age'"):
        features(frame, ["age"], level=4, hierarchies={"age": AGES})
    with refused(InputError, "'job'", "no numbers"):
        features(frame, ["job"], numeric="job")


def mixed(size: int = 900):
    draws = np.random.default_rng(5)
    age = np.where(
        draws.random(size) < 0.9, draws.choice([24, 31, 42, 55], size), draws.integers(20, 60, size)
    )
    job = draws.choice(list("abcd"), size)
    pay = 10.0 * (age > 40) + 5.0 * (job > "b") + draws.normal(0, 3, size)
    table = pa.table({"age": age, "job": job, "pay": pay, "rich": np.where(pay > 9, "yes", "no")})
    return veil.anonymize(
        table, quasi_identifiers={"age": AGES, "job": h.suppression()}, models=KAnonymity(8), others="keep",
        suppression_limit=0.95, person=None, order="input",
    ).local_recoding(FastIterative())  # fmt: skip


def test_models_learn_from_labels_of_several_levels_and_predict_from_values():
    comparison = Comparison.of(mixed())
    for scores in classification(comparison, "rich", folds=3):
        assert scores.released.accuracy > scores.zero_r.accuracy
        assert scores.released.accuracy <= scores.original.accuracy + 0.03
    for scores in regression(comparison, "pay", folds=3):
        assert 0 < scores.r2[1] <= scores.r2[0] + 0.03


def test_a_target_of_several_levels_is_predicted_as_it_was():
    comparison = Comparison.of(mixed())
    (scores,) = classification(comparison, "age", features=["rich"], methods=["naive bayes"], folds=3)
    assert {each.value for each in scores.original.classes} == set(
        map(str, comparison.original["age"].to_pylist())
    )
    assert scores.original.classes[0].records == scores.released.classes[0].records
    assert scores.released.accuracy <= scores.original.accuracy + 0.03


def test_three_lines_train_a_model_of_scikit_learn():
    linear_model = pytest.importorskip("sklearn.linear_model")
    release = mixed()
    inputs = features(release, ["age", "job"])
    model = linear_model.LogisticRegression().fit(np.array(inputs), np.array(release.table["rich"]))
    original = features(release.outcome.original, ["age", "job"], hierarchies=release.outcome.hierarchies)
    right = model.predict(np.array(original)) == np.array(release.outcome.original["rich"])
    assert right.mean() > 0.7
