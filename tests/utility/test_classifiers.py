"""Classification and regression: the protocol against a classifier in plain Python, figures by their definitions."""

from __future__ import annotations

import builtins
import itertools
import math
import statistics
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from support.utility.example import E1, e1
from support.utility.people import generalized
from veil import hierarchies as h
from veil.errors import InputError, MissingDependencyError, ParameterError, PlanError
from veil.utility import Comparison, classification, regression
from veil.utility.classifiers import CLASSIFIERS


def bernoulli_bayes(
    examples: list[tuple], answers: list[str], question: tuple, values: list[list]
) -> dict[str, float]:
    """Naive Bayes on one indicator for each value of each feature, with one added to each count."""
    logs = {}
    for answer in sorted(set(answers)):
        own = [example for example, each in zip(examples, answers, strict=True) if each == answer]
        log = math.log(len(own) / len(examples))
        for j, options in enumerate(values):
            for value in options:
                share = (sum(example[j] == value for example in own) + 1) / (len(own) + 2)
                log += math.log(share if question[j] == value else 1 - share)
        logs[answer] = log
    total = math.log(sum(math.exp(log - max(logs.values())) for log in logs.values())) + max(logs.values())
    return {answer: math.exp(log - total) for answer, log in logs.items()}


def slow_protocol(
    before: list[tuple],
    after: list[tuple],
    seen: list[tuple],
    target: list[str],
    gone: list[bool],
    folds: int,
    seed: int,
):
    """Accuracy and Brier score of naive Bayes on both sides, and the accuracy of ZeroR."""
    n = len(target)
    order = np.random.default_rng(seed).permutation(n).tolist()
    k = min(folds, n)
    starts = [n // k * fold for fold in range(k)] + [n]
    classes = sorted(set(target), key=lambda t: (t.endswith("gone"), t))
    found = {}
    for side, shown, asked in (("original", before, before), ("released", after, seen)):
        accuracies, scores = [], []
        for first, last in itertools.pairwise(starts):
            test = order[first:last]
            train = [i for i in order if i not in test and not (side == "released" and gone[i])]
            values = [sorted({shown[t][j] for t in train}) for j in range(len(shown[0]))]
            for i in test:
                answers = [target[t] for t in train]
                if len(set(answers)) < 2:
                    chances = dict.fromkeys(set(answers) or classes, 1 / len(set(answers) or classes))
                else:
                    chances = bernoulli_bayes([shown[t] for t in train], answers, asked[i], values)
                best = [
                    c
                    for c in classes
                    if math.isclose(chances.get(c, 0), max(chances.values()), rel_tol=1e-12)
                ]
                accuracies.append((target[i] in best) / len(best))
                scores.append(sum((chances.get(c, 0) - (c == target[i])) ** 2 for c in classes))
        found[side] = statistics.fmean(accuracies), statistics.fmean(scores)
    right = 0
    for first, last in itertools.pairwise(starts):
        test = order[first:last]
        counts = Counter(target[i] for i in order if i not in test)
        majority = min(classes, key=lambda c: (-counts[c], classes.index(c)))
        right += sum(target[i] == majority for i in test)
    return found, right / n


AGES = [["21", "20s", "*"], ["23", "20s", "*"], ["35", "30s", "*"], ["38", "30s", "*"]]


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["21", "23", "35", "38"]),
            st.sampled_from("fm"),
            st.sampled_from("xyz"),
            st.booleans(),
        ),
        min_size=2,
        max_size=25,
    ),
    st.integers(2, 5),
    st.integers(0, 3),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_naive_bayes_agrees_with_the_protocol_in_plain_python(rows, folds, seed, dropped):
    label = {row[0]: row[1] for row in AGES}
    gone = [row[3] for row in rows]
    before = [row[:2] for row in rows]
    after = [("*", "*") if hidden else (label[age], sex) for age, sex, _, hidden in rows]
    # What a suppressed record would show: the label of its value, if anybody shows it.
    ages = {age for age, _, _, hidden in rows if not hidden}
    sexes = {sex for _, sex, _, hidden in rows if not hidden}
    seen = [
        (label[age] if age in ages else object(), sex if sex in sexes else object())
        for age, sex, _, _ in rows
    ]
    target = [row[2] for row in rows]
    original = pa.table({"age": [r[0] for r in before], "sex": [r[1] for r in before], "t": target})
    kept = [i for i, hidden in enumerate(gone) if not (hidden and dropped)]
    released = pa.table(
        {
            "age": pa.array([after[i][0] for i in kept], pa.string()),
            "sex": pa.array([after[i][1] for i in kept], pa.string()),
            "t": pa.array([target[i] for i in kept], pa.string()),
        }
    )
    comparison = Comparison(original, released, {"age": h.table(AGES), "sex": h.suppression()}, rows=kept)
    if dropped:
        # The target of a record that is not there is what others with its value show; a value that nobody shows comes
        # after all others.
        known = {t for t, hidden in zip(target, gone, strict=True) if not hidden}
        target = [t if t in known else f"{t} is gone" for t in target]
    found = classification(comparison, "t", methods=["naive bayes"], folds=folds, seed=seed, threads=1)[0]
    both, zero_r = slow_protocol(before, after, seen, target, gone, folds, seed)
    assert found.zero_r.accuracy == pytest.approx(zero_r)
    for side in ("original", "released"):
        got = getattr(found, side)
        assert got.brier == pytest.approx(both[side][1], abs=1e-9)
        assert got.accuracy == pytest.approx(both[side][0], abs=1e-9)


def test_every_method_learns_and_nothing_is_lost_where_nothing_changes(people):
    for each in classification(Comparison(people, people, ["age", "job"]), "rich", folds=3, trees=10):
        assert each.original == each.released
        assert each.original.accuracy > each.zero_r.accuracy + 0.1
        assert (each.relative_accuracy, each.accuracy_ratio, each.brier_skill) == (1.0, 1.0, 0.0)
        assert each.original.auc > 0.85


def test_labels_that_keep_what_matters_keep_the_accuracy(people):
    """Only whether people are older than 40 matters, and that is what the labels say."""
    for each in classification(generalized(people, hidden=30), "rich", folds=3, trees=10):
        assert each.trained == 570
        assert each.released.accuracy > each.original.accuracy - 0.03


def test_results_depend_on_the_seed_and_not_on_threads(people):
    comparison = generalized(people)
    one, two = (classification(comparison, "rich", folds=3, trees=5, threads=threads) for threads in (1, 2))
    assert one == two
    assert classification(comparison, "rich", folds=3, trees=5, seed=1) != one
    assert [each.method for each in one] == list(CLASSIFIERS)


def test_fewer_records_are_used_if_asked(people):
    found = classification(generalized(people), "rich", methods=["naive bayes"], max_records=100)[0]
    assert (found.records, found.folds) == (100, 10)


def test_a_generalized_target_is_predicted_as_it_was_released(people):
    found = classification(generalized(people, hidden=10), "age", methods=["naive bayes"], folds=3)[0]
    assert [each.value for each in found.released.classes] == ["young", "old"]
    assert found.records == 600  # also the ten whose age is suppressed: others of their age show it
    assert found.features == ("job",)


@pytest.mark.parametrize("way", ["dropped", "marked", "blank"])
def test_all_records_of_the_input_count_even_if_their_class_is_gone(way):
    """Half the records and one of two classes are gone: who learned from the rest is right in half the cases."""
    before = pa.table({"job": ["a", "b"] * 50, "ill": ["no", "yes"] * 50})
    kept = list(range(0, 100, 2))
    if way == "dropped":
        comparison = Comparison(before, before.take(kept), "job", rows=kept)
    else:
        nothing = "*" if way == "marked" else None
        after = {"job": ["a", "*"] * 50, "ill": ["no", nothing] * 50}
        comparison = Comparison(before, pa.table(after), "job")
    for each in classification(comparison, "ill", folds=5, trees=5):
        assert (each.records, each.trained) == (100, 50)
        assert (each.original.accuracy, each.released.accuracy) == (1.0, 0.5)
        assert each.zero_r.accuracy <= 0.5
        assert [one.value for one in each.released.classes] == ["no", "yes"]


@given(
    st.lists(
        st.tuples(st.sampled_from("abc"), st.sampled_from("wxyz"), st.booleans()), min_size=4, max_size=30
    )
)
@settings(max_examples=30, deadline=None)
def test_nobody_is_right_about_more_than_the_release_can_tell(rows):
    """Records of classes that are gone are wrong guesses, whoever guesses."""
    before = pa.table({"job": [row[0] for row in rows], "ill": [row[1] for row in rows]})
    kept = [i for i, row in enumerate(rows) if row[2]]
    if not kept:
        return
    left = {rows[i][1] for i in kept}
    possible = sum(row[1] in left for row in rows) / len(rows)
    comparison = Comparison(before, before.take(kept), "job", rows=kept)
    for each in classification(comparison, "ill", methods=["naive bayes", "decision tree"], folds=3):
        assert each.records == len(rows)
        assert each.released.accuracy <= possible + 1e-9


def test_a_target_of_which_nothing_is_left_cannot_be_predicted():
    before = pa.table({"job": ["a", "b"] * 20, "ill": ["no", "yes"] * 20})
    after = pa.table({"job": ["a", "b"] * 20, "ill": ["*"] * 40})
    found = classification(Comparison(before, after, ["job", "ill"]), "ill", methods=["naive bayes"])[0]
    assert (found.original.accuracy, found.released.accuracy, found.trained) == (1.0, 0.5, 0)


def test_records_without_a_value_to_predict_are_left_out():
    table = pa.table({"job": ["a", "b"] * 20, "ill": ["no", None] * 20})
    found = classification(Comparison(table, table, "job"), "ill", methods=["naive bayes"])[0]
    assert (found.records, found.released.accuracy) == (20, 1.0)
    table = pa.table({"job": ["a", "b"], "ill": pa.array([None, None], pa.string())})
    with refused(InputError, "'ill'", "no value"):
        classification(Comparison(table, table, "job"), "ill")


def test_what_is_worse_than_guessing_keeps_nothing_of_the_gain():
    """Rather than a share of -94.3 %."""
    before = pa.table({"job": ["a", "b", "b"] * 20, "ill": ["no", "yes", "yes"] * 20})
    kept = [i for i in range(60) if i % 3 == 0]
    found = classification(
        Comparison(before, before.take(kept), "job", rows=kept), "ill", methods=["naive bayes"]
    )[0]
    assert found.relative_accuracy < 0
    assert all(fact in str(found) for fact in ("ZeroR 0.6667", "(worse than"))
    same = classification(Comparison(before, before, "job"), "ill", methods=["naive bayes"])[0]
    assert all(fact in str(same) for fact in ("ZeroR 0.6667", "(100.0% of"))


@pytest.mark.parametrize("dropped", ["blank", "drop"])
def test_nothing_can_be_learned_from_a_release_without_records(dropped):
    table = E1.append_column("S", pa.array(["a", "b"] * 5))
    blank = pa.table({name: ["*"] * 10 for name in "AGZ"}).append_column("S", table["S"])
    for each in classification(Comparison(table, blank, ["A", "G", "Z"]), "S", folds=3, trees=3):
        assert (each.trained, each.released.accuracy, each.released.brier) == (0, 0.5, 0.5)


def test_one_class_and_one_record():
    table = pa.table({"x": ["a", "b", "c"], "t": ["same"] * 3})
    for each in classification(Comparison(table, table, "x"), "t", trees=3):
        assert each.original.accuracy == each.released.accuracy == each.zero_r.accuracy == 1.0
        assert (each.relative_accuracy, each.original.classes[0].auc, each.brier_skill) == (1.0, None, None)
    for each in classification(Comparison(table.slice(0, 1), table.slice(0, 1), "x"), "t", trees=3):
        assert (each.records, each.folds) == (1, 1)


def test_missing_values_are_categories_and_missing_targets_are_left_out():
    table = pa.table({"x": ["a", None, "a", None, "b"] * 6, "t": ["u", "v", None, "v", "u"] * 6})
    for each in classification(Comparison(table, table, "x"), "t", folds=3, trees=3):
        assert each.records == 24
        assert each.original == each.released


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "`folds` should be 2 or more, not 1"),
        ({"trees": 0}, "`trees` should be 1 or more, not 0"),
        ({"max_records": 0}, "`max_records` should be 1 or more, not 0"),
        ({"methods": ["magic"]}, "`methods` should be among 'logistic regression'.*, not 'magic'"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ParameterError, match=message):
        classification(e1((1, 0, 1)), "G", **options)


def test_bad_columns_are_refused():
    with refused(PlanError, "'G'", "the target"):
        classification(e1((1, 0, 1)), "G", features=["G"])
    with refused(PlanError, "no feature", "'A'"):
        classification(e1((1,), "A"), "A")
    with refused(PlanError, "no column 'B'"):
        classification(e1((1, 0, 1)), "B")


def test_without_scikit_learn_the_message_names_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with refused(MissingDependencyError, "veil-anonymizer[learn]"):
        classification(e1((1, 0, 1)), "G")
    with refused(MissingDependencyError, "veil-anonymizer[learn]"):
        regression(e1((1, 0, 1)), "A")
