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
from veil import hierarchies as h
from veil.errors import InputError, MissingDependencyError, ParameterError, PlanError
from veil.utility import Comparison, classification, regression
from veil.utility.classifiers import CLASSIFIERS
from veil.utility.features import folds_of, released_codes, sides
from veil.utility.forest import Forest
from veil.utility.performance import curve, performance

# --- figures ----------------------------------------------------------------------------------------------


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


def test_folds_are_stretches_and_the_last_takes_the_rest():
    assert [(f.start, f.stop) for f in folds_of(23, 10)][-2:] == [(16, 18), (18, 23)]
    assert [(f.start, f.stop) for f in folds_of(3, 10)] == [(0, 1), (1, 2), (2, 3)]
    assert [(f.start, f.stop) for f in folds_of(1, 10)] == [(0, 1)]


# --- protocol ---------------------------------------------------------------------------------------------


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


@pytest.fixture(scope="module")
def people() -> pa.Table:
    """Who earns much depends on age and job, with some noise."""
    draws = np.random.default_rng(1)
    age, job = draws.integers(20, 60, 600), draws.integers(0, 4, 600)
    pay = 10 * (age > 40) + 5 * job + draws.normal(0, 3, 600)
    return pa.table(
        {
            "age": age,
            "job": [f"job {j}" for j in job],
            "pay": pay,
            "rich": ["yes" if p > 12 else "no" for p in pay],
        }
    )


def generalized(people: pa.Table, hidden: int = 0, flag: bool = False) -> Comparison:
    ages = [
        "*" if i < hidden else "young" if a <= 40 else "old" for i, a in enumerate(people["age"].to_pylist())
    ]
    jobs = ["*" if i < hidden else job for i, job in enumerate(people["job"].to_pylist())]
    table = [[str(a), "young" if a <= 40 else "old", "*"] for a in range(20, 60)]
    after = people.set_column(0, "age", pa.array(ages)).set_column(1, "job", pa.array(jobs))
    return Comparison(people, after, {"age": h.table(table), "job": h.suppression()})


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


def test_a_forest_of_collapsed_records_is_as_good_as_one_of_all():
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    draws = np.random.default_rng(3)
    examples = draws.integers(0, 3, (2000, 3)).astype(np.float32)
    answers = ((examples.sum(axis=1) + draws.normal(0, 1, 2000)) > 3).astype(int)
    joined, times = np.unique(np.column_stack([examples, answers]), axis=0, return_counts=True)
    ours = Forest(
        lambda random_state: DecisionTreeClassifier(max_features="sqrt", random_state=random_state), 100, 0
    )
    ours.fit(joined[:, :3], joined[:, 3].astype(int), sample_weight=times.astype(float))
    theirs = RandomForestClassifier(100, random_state=0).fit(examples, answers)
    questions = np.unique(examples, axis=0)
    assert np.abs(ours.predict_proba(questions) - theirs.predict_proba(questions)).max() < 0.06


# --- at the edge ------------------------------------------------------------------------------------------


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


# --- regression -------------------------------------------------------------------------------------------


def slow_means(
    groups: list[str], shown: list[str], numbers: list[float], gone: list[bool], folds: int, seed: int
):
    """With one categorical feature, least squares predict the mean of the group."""
    n = len(numbers)
    order = np.random.default_rng(seed).permutation(n).tolist()
    starts = [n // folds * fold for fold in range(folds)] + [n]
    squares = {"original": [], "released": [], "mean": []}
    for first, last in itertools.pairwise(starts):
        test = order[first:last]
        train = [i for i in order if i not in test]
        for i in test:
            for side, labels, rows in (
                ("original", groups, train),
                ("released", shown, [t for t in train if not gone[t]]),
            ):
                own = [numbers[t] for t in rows if labels[t] == labels[i]]
                squares[side].append((numbers[i] - statistics.fmean(own)) ** 2)
            squares["mean"].append((numbers[i] - statistics.fmean(numbers[t] for t in train)) ** 2)
    return {side: math.sqrt(statistics.fmean(each)) for side, each in squares.items()}


def test_linear_regression_on_one_category_predicts_the_mean_of_the_group(people):
    table = people.select(["job", "pay"])
    shown = ["low" if job in ("job 0", "job 1") else "high" for job in table["job"].to_pylist()]
    jobs = [[f"job {j}", "low" if j < 2 else "high", "*"] for j in range(4)]
    after = table.set_column(0, "job", pa.array(shown))
    found = regression(
        Comparison(table, after, {"job": h.table(jobs)}), "pay", methods=["linear"], folds=4, seed=2
    )[0]
    expected = slow_means(table["job"].to_pylist(), shown, table["pay"].to_pylist(), [False] * 600, 4, 2)
    assert found.rmse == pytest.approx((expected["original"], expected["released"]), rel=1e-4)
    assert found.baseline == pytest.approx(expected["mean"])
    spread = statistics.pvariance(table["pay"].to_pylist())
    assert found.r2[0] == pytest.approx(1 - expected["original"] ** 2 / spread, abs=1e-4)
    assert found.relative_rmse == pytest.approx(
        (expected["mean"] - expected["released"]) / (expected["mean"] - expected["original"]), abs=1e-3
    )
    assert found.rmse_ratio == pytest.approx(expected["released"] / expected["original"], abs=1e-3)


def test_every_regression_learns_and_does_not_depend_on_threads(people):
    comparison = generalized(people, hidden=20)
    found = regression(comparison, "pay", folds=3, trees=10, threads=2)
    assert found == regression(comparison, "pay", folds=3, trees=10, threads=1)
    for each in found:
        assert each.trained == 580
        assert 0.6 < each.r2[1] <= each.r2[0] + 0.05
        assert each.rmse[0] < each.baseline


def test_a_generalized_target_is_learned_from_the_middle_of_its_labels(people):
    found = regression(generalized(people), "age", methods=["ridge"], features=["rich"], folds=3)[0]
    assert found.rmse[1] < found.baseline


def test_regression_at_the_edge(people):
    blank = Comparison(people, people.slice(0, 0), ["age", "job"], rows=[])
    for each in regression(blank, "pay", folds=2, trees=2):
        assert (each.trained, each.rmse[1], each.r2[1], each.relative_rmse) == (0, None, None, None)
        assert "nothing to learn" in str(each)
    constant = pa.table({"x": ["a", "b", "a"], "y": [1.0, 1.0, 1.0]})
    found = regression(Comparison(constant, constant, "x"), "y", methods=["ridge"], folds=2)[0]
    assert (found.r2, found.baseline) == ((None, None), 0.0)
    with refused(InputError, "'job'", "no numbers"):
        regression(generalized(people), "job")
    with refused(InputError, "1 numbers", "at least two"):
        regression(Comparison(constant.slice(0, 1), constant.slice(0, 1), "x"), "y")
    with refused(ParameterError, "`methods`", "'linear'"):
        regression(generalized(people), "pay", methods=["magic"])
