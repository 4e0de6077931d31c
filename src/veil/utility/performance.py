"""Figures of classifiers: accuracy, Brier score, sensitivity, specificity and ROC curves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

CURVE = 100
"""Largest number of points of a ROC curve."""

ROUNDING = 1e-12
"""Probabilities that differ by less count as equal, so that rounding has no effect."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class ClassPerformance:
    """The performance on one class against all others; None where undefined.

    Attributes
    ----------
    sensitivity, specificity
        Share of the records of the class, and of the others, that are predicted correctly. Records with
        several most likely classes do not count.
    brier
        Mean squared difference between the predicted probability of the class and the truth (0 or 1).
    auc
        Area under the ROC curve: the chance that a record of the class has a higher probability than another.
    roc
        False and true positive rates by falling probability. Records with the same probability are one point
        (in ARX they are many, in arbitrary order); the curve has up to 100 points, the area uses all of them.
    """

    value: str
    records: int
    sensitivity: float | None
    specificity: float | None
    brier: float
    auc: float | None
    roc: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Performance:
    """The performance of a classifier.

    Attributes
    ----------
    accuracy
        Share of correct predictions; ties between most likely classes count in part.
    average_error
        Mean of 1 - probability of the true class.
    brier
        Mean squared distance between the predicted distribution and the truth.
    auc
        Mean over the classes that have one.
    """

    accuracy: float
    average_error: float
    brier: float
    auc: float | None
    classes: tuple[ClassPerformance, ...] = ()


def performance(truth: Integers, predicted: Floats, classes: Sequence[str]) -> Performance:
    """Compare predicted probabilities (one row a record, one column a class) with the true classes.

    >>> result = performance(np.array([0, 1]), np.array([[0.9, 0.1], [0.6, 0.4]]), ["no", "yes"])
    >>> result.accuracy, round(result.brier, 2), result.classes[1].auc
    (0.5, 0.37, 1.0)
    """
    records = np.arange(truth.size)
    own = predicted[records, truth]
    most = predicted >= predicted.max(axis=1, keepdims=True) - ROUNDING
    ties = most.sum(axis=1)
    wrong = predicted.copy()
    wrong[records, truth] -= 1.0
    clear, choice = ties == 1, predicted.argmax(axis=1)
    per_class = []
    for code, value in enumerate(classes):
        positive = truth == code
        right = clear & ((choice == code) == positive)
        auc, roc = curve(predicted[:, code], positive)
        per_class.append(
            ClassPerformance(
                value,
                int(positive.sum()),
                _share(right, clear & positive),
                _share(right, clear & ~positive),
                float(np.square(wrong[:, code]).mean()),
                auc,
                roc,
            )
        )
    areas = [each.auc for each in per_class if each.auc is not None]
    return Performance(
        accuracy=float((most[records, truth] / ties).mean()),
        average_error=float(1.0 - own.mean()),
        brier=float(np.square(wrong).sum(axis=1).mean()),
        auc=float(np.mean(areas)) if areas else None,
        classes=tuple(per_class),
    )


def _share(right: NDArray[np.bool_], among: NDArray[np.bool_]) -> float | None:
    return float(right[among].mean()) if among.any() else None


def curve(
    confidence: Floats, positive: NDArray[np.bool_]
) -> tuple[float | None, tuple[tuple[float, float], ...]]:
    """Return the area under the ROC curve, and up to 100 of its points.

    >>> curve(np.array([0.9, 0.8, 0.8, 0.1]), np.array([True, True, False, False]))
    (0.875, ((0.0, 0.5), (0.5, 1.0), (1.0, 1.0)))
    """
    positives = int(positive.sum())
    negatives = positive.size - positives
    if not positives or not negatives:
        return None, ()
    order = np.argsort(-confidence, kind="stable")
    ends = np.flatnonzero(np.diff(confidence[order], append=-np.inf) < -ROUNDING)
    hits = np.cumsum(positive[order])[ends]
    true = hits / positives
    false = (ends + 1 - hits) / negatives
    area = float(np.trapezoid(np.concatenate([[0.0], true]), np.concatenate([[0.0], false])))
    some = np.unique(np.linspace(0, true.size - 1, min(CURVE, true.size)).round().astype(np.int64))
    return area, tuple(zip(false[some].tolist(), true[some].tolist(), strict=True))
