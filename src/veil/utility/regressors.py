"""Regression performance: the error of predicting a number by models trained on the release.

The protocol is that of `veil.utility.classifiers`. The original numbers are predicted; the baseline is the
mean of the training numbers.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from veil.errors import InputError
from veil.utility.comparison import Comparison
from veil.utility.forest import Forest
from veil.utility.numeric import numbers
from veil.utility.training import (
    TableSide,
    collapse_rows,
    features_of,
    folds_of,
    one_thread,
    predict_folds,
    sides,
)

Regressor = Literal["linear", "ridge", "forest"]
REGRESSORS: tuple[Regressor, ...] = get_args(Regressor)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Regression:
    """The performance of a regression model on a column, trained on the original and on the release.

    Attributes
    ----------
    rmse, r2
        Root mean squared error and coefficient of determination of models of the original and of the release;
        None for the release if there was nothing to learn from, and for R² if the target is constant.
    baseline
        Root mean squared error of the mean.
    """

    target: str
    method: Regressor
    features: tuple[str, ...]
    records: int
    trained: int
    folds: int
    seed: int
    rmse: tuple[float, float | None]
    r2: tuple[float | None, float | None]
    baseline: float

    @property
    def rmse_ratio(self) -> float | None:
        """Error divided by that of the original; None if either is missing."""
        return self.rmse[1] / self.rmse[0] if self.rmse[1] is not None and self.rmse[0] else None

    @property
    def relative_rmse(self) -> float | None:
        """Error on a scale from the mean (0) to the original (1); None if these are equal."""
        gained = self.baseline - self.rmse[0]
        return (self.baseline - self.rmse[1]) / gained if self.rmse[1] is not None and gained else None

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {**asdict(self), "rmse_ratio": self.rmse_ratio, "relative_rmse": self.relative_rmse}

    def __str__(self) -> str:
        after = "nothing to learn from" if self.rmse[1] is None else f"{self.rmse[1]:.4g}"
        text = f"{self.target} by {self.method}: RMSE {self.rmse[0]:.4g} -> {after}, mean {self.baseline:.4g}"
        if self.r2[0] is not None and self.r2[1] is not None:
            text += f", R² {self.r2[0]:z.4f} -> {self.r2[1]:z.4f}"
        return text


def regression(
    comparison: Comparison,
    target: str,
    *,
    features: Sequence[str] | None = None,
    numeric: Sequence[str] = (),
    methods: Sequence[Regressor] = REGRESSORS,
    folds: int = 10,
    trees: int = 30,
    max_records: int = 100_000,
    seed: int = 0,
    threads: int | None = None,
) -> tuple[Regression, ...]:
    """Train regression models on the original and on the release, and compare their errors.

    Parameters are those of `classification`. A label of the target counts as the middle of its numbers.

    >>> import pyarrow as pa
    >>> table = pa.table({"size": ["s", "l"] * 20, "pay": [10.0, 30.0] * 20})
    >>> scores = regression(Comparison(table, table, "size"), "pay", methods=["linear"])[0]
    >>> round(scores.r2[0], 6), round(scores.r2[1], 6)
    (1.0, 1.0)
    """
    limits = {"folds": folds, "trees": trees, "max_records": max_records}
    names = features_of(comparison, target, features, methods, REGRESSORS, **limits)
    pair = numbers(comparison, target)
    if pair is None:
        raise InputError(
            f"column {target!r} has no numbers in both tables. Choose another target, or use `classification`"
        )
    truth, released_numbers = pair
    usable = np.flatnonzero(~np.isnan(truth))
    if usable.size < 2:
        raise InputError(
            f"column {target!r} holds {usable.size} numbers, and at least two are needed to learn"
        )
    rows = np.random.default_rng(seed).permutation(usable)[:max_records]
    truth, released_numbers = truth[rows], released_numbers[rows]
    training_mask = ~comparison.suppressed[rows] & ~np.isnan(released_numbers)
    parts = folds_of(rows.size, folds)
    before, after = sides(comparison, names, numeric)
    all_mask = np.ones(rows.size, np.bool_)
    tables = [(before, truth, all_mask), (after, released_numbers, training_mask)]

    def predict(method: Regressor, side: int, fold: slice) -> Floats:
        return _predict_fold(method, *tables[side], rows, fold, trees, seed)

    baseline = _rmse(truth, np.concatenate([_others_mean(truth, fold) for fold in parts]))
    spread = float(np.square(truth - truth.mean()).sum())
    scores = []
    for method, *predictions in predict_folds(methods, parts, predict, threads):
        errors = [_rmse(truth, each) for each in predictions]
        explained = [
            None if error is None or spread == 0 else 1.0 - error**2 * truth.size / spread for error in errors
        ]
        assert errors[0] is not None
        assert baseline is not None
        scores.append(
            Regression(
                target, method, tuple(names), rows.size, int(training_mask.sum()), len(parts), seed,
                rmse=(errors[0], errors[1]), r2=(explained[0], explained[1]), baseline=baseline,
            )
        )  # fmt: skip
    return tuple(scores)


def _predict_fold(
    method: Regressor,
    side: TableSide,
    answers: Floats,
    use: NDArray[np.bool_],
    rows: NDArray[np.int64],
    fold: slice,
    trees: int,
    seed: int,
) -> Floats:
    """Train on all other folds and predict this one; NaN if there is nothing to train on."""
    use = use.copy()
    use[fold] = False
    examples, questions = side.training[rows[use]], side.prediction[rows[fold]]
    if not len(examples):
        return np.full(len(questions), np.nan)
    prepare = side.dense if method == "forest" else side.one_hot
    model = _model(method, len(examples), trees, seed)
    learned, weights = answers[use], np.ones(len(examples))
    if method != "forest":  # least squares depend on the mean of equal records only
        place, member = collapse_rows(examples, side.sizes)
        examples, weights = examples[member], np.bincount(place).astype(np.float64)
        learned = np.bincount(place, weights=learned) / weights
    with one_thread():
        model.fit(prepare(examples), learned, sample_weight=weights)
        prediction: Floats = model.predict(prepare(questions))
    return prediction


def _model(method: Regressor, records: int, trees: int, seed: int) -> Any:
    from sklearn.linear_model import LinearRegression, Ridge
    from sklearn.tree import DecisionTreeRegressor

    if method == "linear":
        return LinearRegression()
    if method == "ridge":
        return Ridge(alpha=1.0)
    tree = functools.partial(
        DecisionTreeRegressor, max_leaf_nodes=100, min_weight_fraction_leaf=min(0.5, 5.0 / records),
        max_features=1 / 3,
    )  # fmt: skip
    return Forest(tree, trees, seed)


def _others_mean(truth: Floats, fold: slice) -> Floats:
    others = np.delete(truth, np.arange(truth.size)[fold])
    return np.full(truth[fold].size, others.mean())


def _rmse(truth: Floats, predicted: Floats) -> float | None:
    error = math.sqrt(float(np.square(truth - predicted).mean()))
    return None if math.isnan(error) else error
