"""Classification performance: the accuracy of predicting a column by models trained on the release.

Records are shuffled and cut into folds. For each fold, models are trained on the other folds: one on original
features, one on released features without suppressed records. Both predict the target as released; features
and target of a suppressed record are the most frequent labels of other records with its values. A value that
no record shows is a class that cannot be learned from the release: its records are wrong guesses. ZeroR
always predicts the most frequent class. Figures cover all records of the input with a value to predict.

Labels of several levels, as after local recoding, count as equal shares of the values below them: models of
such features predict from original values, and models of such a target predict those.

Values are categories unless they are in `numeric`, as in ARX. Its classifiers are different, so that figures
have the same meaning but not the same digits.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from veil.errors import InputError
from veil.utility.comparison import Comparison
from veil.utility.forest import Forest
from veil.utility.performance import Performance, performance
from veil.utility.training import (
    NEVER_SEEN,
    TableSide,
    collapse_rows,
    features_of,
    folds_of,
    one_thread,
    predict_folds,
    sides,
    target_of,
)

Classifier = Literal["logistic regression", "naive bayes", "random forest", "decision tree"]
CLASSIFIERS: tuple[Classifier, ...] = get_args(Classifier)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ClassifierScores:
    """The performance of a classifier on a column, trained on the original and on the release.

    Attributes
    ----------
    records, trained
        Number of predicted records, and of those among them that a model of the release was trained with.
    """

    target: str
    method: Classifier
    features: tuple[str, ...]
    records: int
    trained: int
    folds: int
    seed: int
    original: Performance
    released: Performance
    zero_r: Performance

    @property
    def relative_accuracy(self) -> float:
        """Accuracy on a scale from ZeroR (0) to the original (1); over that of ZeroR if these are equal."""
        return _relative(self.released.accuracy, self.original.accuracy, self.zero_r.accuracy)

    @property
    def accuracy_ratio(self) -> float | None:
        """Accuracy divided by that of the original."""
        return self.released.accuracy / self.original.accuracy if self.original.accuracy else None

    @property
    def relative_auc(self) -> float | None:
        """Area under the curve on a scale from guessing (0) to the original (1)."""
        if self.released.auc is None or self.original.auc is None:
            return None
        return _relative(self.released.auc, self.original.auc, 0.5)

    @property
    def brier_skill(self) -> float | None:
        """1 - Brier score / that of the original: 0 is as good, below 0 worse; None if that is perfect."""
        return 1.0 - self.released.brier / self.original.brier if self.original.brier else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            **asdict(self),
            "relative_accuracy": self.relative_accuracy,
            "accuracy_ratio": self.accuracy_ratio,
            "relative_auc": self.relative_auc,
            "brier_skill": self.brier_skill,
        }

    def __str__(self) -> str:
        return (
            f"{self.target} by {self.method}: accuracy {self.original.accuracy:.4f} -> {self.released.accuracy:.4f}, "
            f"ZeroR {self.zero_r.accuracy:.4f} ({self._describe_gain()}), Brier score "
            f"{self.original.brier:.4f} -> {self.released.brier:.4f}"
        )

    def _describe_gain(self) -> str:
        if self.released.accuracy < self.zero_r.accuracy:
            return "worse than that"
        if self.original.accuracy <= self.zero_r.accuracy:
            return "nothing was to be gained"
        return f"{self.relative_accuracy:.1%} of the gain kept"


def _relative(score: float, original: float, baseline: float) -> float:
    if original == baseline:
        return score / baseline if baseline else 1.0
    return (score - baseline) / (original - baseline)


def classification(
    comparison: Comparison,
    target: str,
    *,
    features: Sequence[str] | None = None,
    numeric: Sequence[str] = (),
    methods: Sequence[Classifier] = CLASSIFIERS,
    folds: int = 10,
    trees: int = 30,
    max_records: int = 100_000,
    seed: int = 0,
    threads: int | None = None,
) -> tuple[ClassifierScores, ...]:
    """Train classifiers on the original and on the release, and compare their performance.

    Parameters
    ----------
    target
        The column to predict.
    features
        The columns to predict it from; by default the quasi-identifiers.
    numeric
        Features that are used as numbers; all others are categories.
    methods
        Kinds of models.
    folds
        Number of parts of the records; each is predicted by models trained on the others.
    trees
        Trees of a random forest.
    max_records
        Largest number of records to use, drawn at random.
    seed
        Seed of all random draws. The result does not depend on `threads`.

    >>> import pyarrow as pa
    >>> table = pa.table({"sex": ["f", "m"] * 50, "smokes": ["no", "yes"] * 50})
    >>> blank = pa.table({"sex": ["*"] * 100, "smokes": ["no", "yes"] * 50})
    >>> scores = classification(Comparison(table, blank, "sex"), "smokes", methods=["naive bayes"])[0]
    >>> scores.original.accuracy, scores.released.accuracy
    (1.0, 0.5)
    """
    limits = {"folds": folds, "trees": trees, "max_records": max_records}
    names = features_of(comparison, target, features, methods, CLASSIFIERS, **limits)
    column = target_of(comparison, target)
    usable = np.flatnonzero(column.truth != NEVER_SEEN)
    if not usable.size:
        raise InputError(f"column {target!r} holds no value: there is nothing to predict")
    rows = np.random.default_rng(seed).permutation(usable)[:max_records]
    codes, truth = np.unique(column.truth[rows], return_inverse=True)
    classes, parts = [column.classes[code] for code in codes], folds_of(rows.size, folds)
    training_mask = (column.visible & ~comparison.suppressed)[rows]
    before, after = sides(comparison, names, numeric)
    sparse: Any = importlib.import_module("scipy.sparse")
    exact = truth.astype(np.int64), sparse.csr_array(sparse.identity(len(classes)))
    learned = exact
    if column.shown is not None and column.shares is not None:
        learned = column.shown[rows], sparse.csr_array(column.shares[:, codes])
    learners = [
        _Learner(before, rows, *exact, np.ones(rows.size, np.bool_)),
        _Learner(after, rows, *learned, training_mask),
    ]

    def predict(method: Classifier, side: int, fold: slice) -> Floats:
        return learners[side].predict(method, fold, trees, seed)

    zero_r = _zero_r(truth, parts, len(classes))
    return tuple(
        ClassifierScores(
            target, method, tuple(names), rows.size, int(training_mask.sum()), len(parts), seed,
            performance(truth, before, classes), performance(truth, after, classes), zero_r,
        )
        for method, before, after in predict_folds(methods, parts, predict, threads)
    )  # fmt: skip


def _zero_r(truth: Integers, folds: list[slice], classes: int) -> Performance:
    total = np.bincount(truth, minlength=classes)
    parts = [np.bincount(truth[fold], minlength=classes) for fold in folds]
    accuracy = sum(int(part[(total - part).argmax()]) for part in parts) / truth.size
    return Performance(accuracy, 1.0 - accuracy, 2.0 * (1.0 - accuracy), 0.5)


class _Learner:
    """Training data of one table: equal records are collapsed once, and weighted for each fold.

    `shown` is what each record shows of the target, and `shares` how much of each class that is.
    """

    def __init__(
        self, side: TableSide, rows: Integers, shown: Integers, shares: Any, use: NDArray[np.bool_]
    ) -> None:
        self.side, self.classes, self.use = side, shares.shape[1], use
        training, prediction = side.training[rows], side.prediction[rows]
        joined = np.column_stack([training, shown])
        self.example, member = collapse_rows(joined, [*side.sizes, shares.shape[0]])
        # An example counts for each class that its label may be.
        answers = shares[shown[member]].tocoo()
        self.place, self.answers, self.share = answers.row, answers.col, answers.data
        self.examples = training[member][self.place]
        self.question, member = collapse_rows(prediction, side.sizes)
        self.questions = prediction[member]

    def predict(self, method: Classifier, fold: slice, trees: int, seed: int) -> Floats:
        """Train on all other folds, and return the class probabilities of the records of this one."""
        use = self.use.copy()
        use[fold] = False
        times = np.bincount(self.example[use], minlength=self.example.size)[self.place] * self.share
        some = np.flatnonzero(times)
        distinct_questions, place = np.unique(self.question[fold], return_inverse=True)
        present = np.unique(self.answers[some])
        probabilities = np.zeros((distinct_questions.size, self.classes))
        if present.size < 2:  # no example, or a single class
            if present.size:
                probabilities[:, present] = 1.0
            else:
                probabilities[:] = 1.0 / self.classes
            return probabilities[place]
        one_hot = method in ("logistic regression", "naive bayes")
        prepare: Any = self.side.dense
        if one_hot:  # naive Bayes takes numbers as high or low, and shares as they are
            prepare = functools.partial(self.side.one_hot, binary=method == "naive bayes")
        examples, questions = prepare(self.examples[some]), prepare(self.questions[distinct_questions])
        if one_hot:  # values that do not occur in training are no evidence, not even by their absence
            used_columns = np.bincount(examples.indices, minlength=examples.shape[1]) > 0
            examples, questions = examples[:, used_columns], questions[:, used_columns]
        model = _model(method, round(times.sum()), trees, seed)
        with one_thread():
            model.fit(examples, self.answers[some], sample_weight=times[some])
            probabilities[:, model.classes_] = model.predict_proba(questions)
        return probabilities[place]


def _model(method: Classifier, records: int, trees: int, seed: int) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import BernoulliNB
    from sklearn.tree import DecisionTreeClassifier

    if method == "logistic regression":
        return LogisticRegression(C=10.0, solver="newton-cg", max_iter=200)
    if method == "naive bayes":
        return BernoulliNB(binarize=None)
    # Leaves of five records and a hundred leaves, as in ARX.
    tree = functools.partial(
        DecisionTreeClassifier, max_leaf_nodes=100, min_weight_fraction_leaf=min(0.5, 5.0 / records)
    )
    if method == "decision tree":
        return tree(random_state=seed)
    return Forest(functools.partial(tree, max_features="sqrt"), trees, seed)
