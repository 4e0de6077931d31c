"""Features of models: codes of values for each record, before and after, for training and for prediction.

Labels of one level are categories, as in ARX. Where a column shows labels of several levels, they are no
categories: a label counts as equal shares of the values that it covers, and models predict from original values.

Equal records are collapsed to one with a weight, so that models are trained on distinct records.
"""

from __future__ import annotations

import importlib
import itertools
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from veil.errors import InputError, MissingDependencyError, ParameterError, PlanError
from veil.hierarchies.hierarchy import ROOT
from veil.tables.columns import is_number
from veil.utility.column import number_keys
from veil.utility.comparison import Comparison
from veil.utility.distributions import label_shares, order_values
from veil.utility.numeric import numbers

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
MethodName = TypeVar("MethodName", bound=str)

NEVER_SEEN = -1
"""Code of a suppressed value that no record shows."""


def one_thread() -> AbstractContextManager[Any]:
    """Limit linear algebra to one thread: the matrices are small, and threads would wait for each other."""
    from threadpoolctl import threadpool_limits  # a dependency of scikit-learn

    limited: AbstractContextManager[Any] = threadpool_limits(1)
    return limited


@dataclass(frozen=True, eq=False)
class TableSide:
    """The features of one table.

    Attributes
    ----------
    training, prediction : arrays (records, features)
        Codes of the values that models are trained with, and of those that they predict from.
    sizes : tuple
        Number of codes of each feature.
    scales : tuple
        For features that are used as numbers, the number of each code; None for categories.
    members : tuple
        For columns with labels of several levels, the share of each value in each code; None for others.
    """

    training: Integers
    prediction: Integers
    sizes: tuple[int, ...]
    scales: tuple[Floats | None, ...]
    members: tuple[Floats | None, ...]

    def dense(self, codes: Integers) -> NDArray[np.float32]:
        """Return one column for each feature: its number, or the rank of its category, on average."""
        matrix = np.empty(codes.shape, np.float32)
        for j, (scale, member) in enumerate(zip(self.scales, self.members, strict=True)):
            numbers = scale if member is None else member @ np.arange(member.shape[1])
            matrix[:, j] = codes[:, j] if numbers is None else numbers[codes[:, j]]
        return matrix

    def one_hot(self, codes: Integers, *, binary: bool = False) -> Any:
        """Return one column for each category and each number, as a sparse matrix; with `binary`, 1 for high numbers."""
        sparse: Any = importlib.import_module("scipy.sparse")
        if any(member is not None for member in self.members):
            blocks = [
                TableSide(codes, codes, (size,), (scale,), (None,)).one_hot(codes[:, [j]], binary=binary)
                if member is None
                else sparse.csr_array(member)[codes[:, j]]
                for j, (size, scale, member) in enumerate(
                    zip(self.sizes, self.scales, self.members, strict=True)
                )
            ]
            return sparse.hstack(blocks, format="csr")
        offsets = np.cumsum(
            [0, *(size if scale is None else 1 for size, scale in zip(self.sizes, self.scales, strict=True))]
        )
        columns = np.empty(codes.shape, np.int64)
        entries = np.ones(codes.shape)
        for j, scale in enumerate(self.scales):
            code = codes[:, j]
            entries[:, j] = code >= 0 if scale is None else scale[code] > 0 if binary else scale[code]
            columns[:, j] = offsets[j] + (np.maximum(code, 0) if scale is None else 0)
        starts = np.arange(0, codes.size + 1, max(1, codes.shape[1]))
        matrix = sparse.csr_array(
            (entries.ravel(), columns.ravel(), starts), shape=(len(codes), int(offsets[-1]))
        )
        matrix.eliminate_zeros()
        return matrix


def sides(
    comparison: Comparison, features: Sequence[str], numeric: Iterable[str]
) -> tuple[TableSide, TableSide]:
    """Return the features before and after."""
    as_numbers = set(numeric)
    for name in as_numbers - set(features):
        raise PlanError(f"`numeric` names {name!r}, which is not a feature")
    parts = [
        _numeric(comparison, name) if name in as_numbers else _categorical(comparison, name)
        for name in features
    ]
    before, after = ([part[which] for part in parts] for which in (0, 1))
    return _side(before), _side(after)


Part = tuple[Integers, Integers, int, Floats | None, Floats | None]


def _side(parts: list[Part]) -> TableSide:
    return TableSide(
        np.column_stack([part[0] for part in parts]),
        np.column_stack([part[1] for part in parts]),
        tuple(part[2] for part in parts),
        tuple(part[3] for part in parts),
        tuple(part[4] for part in parts),
    )


def _categorical(comparison: Comparison, name: str) -> tuple[Part, Part]:
    (values, before), _ = order_values(comparison, name)
    shares = label_shares(comparison, name)
    if shares is not None:
        codes, members = shares
        # A code for each label, then one for each value; the rows of suppressed records are never used.
        each_value = len(members) + before
        members = np.concatenate([members, np.eye(len(values))])
        return (before, before, len(values), None, None), (codes, each_value, len(members), None, members)
    labels, shown_codes, expected_codes = released_codes(comparison, name)
    return (before, before, len(values), None, None), (shown_codes, expected_codes, len(labels), None, None)


def released_codes(comparison: Comparison, name: str) -> tuple[list[str | None], Integers, Integers]:
    """Return the released values of a column in order, and the shown and the expected code of each record.

    The expected code of a suppressed cell is the most frequent one of other records with the same value.
    """
    (values, before), (labels, codes) = order_values(comparison, name)
    shown_codes = _shown_codes(comparison, codes)
    hidden = comparison.suppressed & (
        (name in comparison.columns) | _lost_mask(comparison, values, before, labels, shown_codes)
    )
    return labels, shown_codes, _expected_codes(values, before, labels, shown_codes, hidden)


@dataclass(frozen=True, eq=False)
class Target:
    """The column that models predict.

    Attributes
    ----------
    classes : list of str
        The name of each class.
    truth : array
        The class of each record; `NEVER_SEEN` without a value in the input.
    visible : array
        Mask of the records that show it.
    shown, shares : array, optional
        For labels of several levels, that of each record, and the share of each class in each label.
    """

    classes: list[str]
    truth: Integers
    visible: NDArray[np.bool_]
    shown: Integers | None = None
    shares: Floats | None = None


def target_of(comparison: Comparison, name: str) -> Target:
    """Return the classes of a column, and of each record.

    A class is a released label; the class of a lost cell is the most frequent one of other records with the
    same value. A value that no record shows is a class of its own, which cannot be learned from the release.
    If the column shows labels of several levels, classes are the original values: a label that covers some of
    them is learned as equal shares, one that covers all as nothing.
    """
    (values, before), (labels, codes) = order_values(comparison, name)
    missing = np.array([value is None for value in values], np.bool_)[before]
    mixed = label_shares(comparison, name)
    if mixed is not None:
        shown, shares = mixed
        blank: NDArray[np.bool_] = np.logical_and.reduce(shares > 0, axis=1)
        visible_mask = ~blank[shown] | (len(values) == 1)
        classes = np.where(missing, NEVER_SEEN, before)
        return Target([str(value) for value in values], classes, visible_mask, shown, shares)
    shown_codes = _shown_codes(comparison, codes)
    lost_mask = _lost_mask(comparison, values, before, labels, shown_codes)
    classes = _expected_codes(values, before, labels, shown_codes, lost_mask)
    gone = classes == NEVER_SEEN
    classes[gone] = len(labels) + before[gone]
    classes[missing] = NEVER_SEEN
    return Target([str(each) for each in (*labels, *values)], classes, ~lost_mask)


def _shown_codes(comparison: Comparison, codes: Integers) -> Integers:
    present = comparison.place >= 0
    shown_codes = np.full(comparison.records, NEVER_SEEN, np.int64)
    shown_codes[present] = codes[comparison.place[present]]
    return shown_codes


def _lost_mask(
    comparison: Comparison,
    values: list[str | None],
    before: Integers,
    labels: list[str | None],
    shown_codes: Integers,
) -> NDArray[np.bool_]:
    """Return a mask of the records whose cell is absent, or blank where it had a value."""
    nothing = {None, ROOT, comparison.marker}
    blank = np.array([*(label in nothing for label in labels), True], np.bool_)[shown_codes]
    was_blank = np.array([value in nothing for value in values], np.bool_)[before]
    mask: NDArray[np.bool_] = (shown_codes == NEVER_SEEN) | (blank & ~was_blank)
    return mask


def _expected_codes(
    values: list[str | None],
    before: Integers,
    labels: list[str | None],
    shown_codes: Integers,
    hidden: NDArray[np.bool_],
) -> Integers:
    """Return the code of each record; if hidden, the most frequent one of records with the same value."""
    width = max(1, len(labels))
    keys, _, count = number_keys(before[~hidden] * width + shown_codes[~hidden], len(values) * width)
    value, label = np.divmod(keys, width)
    order = np.lexsort((-label, count))  # the most frequent last, the first of equals
    usual = np.full(len(values), NEVER_SEEN, np.int64)
    usual[value[order]] = label[order]
    return np.where(hidden, usual[before], shown_codes)


def _numeric(comparison: Comparison, name: str) -> tuple[Part, Part]:
    comparison.require(name)
    pair = numbers(comparison, name)
    if pair is None:
        raise InputError(
            f"column {name!r} cannot be used as numbers: it has no numbers in one of the tables. Leave it "
            "out of `numeric`"
        )
    before, after = pair
    there = before[~np.isnan(before)]
    centre = float(there.mean()) if there.size else 0.0
    scale = float(there.std()) if there.size else 0.0
    # A model of released numbers predicts from original ones, as in practice.
    exact = is_number(comparison.released[name].type)
    used = [np.nan_to_num((each - centre) / (scale or 1.0)) for each in (before, after)]
    levels, codes = np.unique(np.concatenate(used), return_inverse=True)
    old, new = np.split(codes.astype(np.int64), 2)
    exact = exact or label_shares(comparison, name) is not None
    return (old, old, levels.size, levels, None), (new, old if exact else new, levels.size, levels, None)


def collapse_rows(codes: Integers, sizes: Sequence[int]) -> tuple[Integers, Integers]:
    """Number equal rows of codes; return the number of each row, and one row of each number.

    >>> collapse_rows(np.array([[0, 1], [1, 1], [0, 1]]), [2, 2])[0].tolist()
    [0, 1, 0]
    """
    keys, possible = np.zeros(len(codes), np.int64), 1
    for column, size in zip(codes.T, sizes, strict=True):
        keys = keys * (size + 1) + (column - NEVER_SEEN)
        possible *= size + 1
        if possible > 2**31:
            distinct, keys, _ = number_keys(keys, possible)
            possible = max(1, distinct.size)
    distinct, place, _ = number_keys(keys, possible)
    member = np.empty(distinct.size, np.int64)
    member[place] = np.arange(place.size)
    return place, member


def folds_of(records: int, folds: int) -> list[slice]:
    """Cut shuffled records into slices of equal length; the last one takes the remainder.

    >>> folds_of(7, 3)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 7, None)]
    """
    number = min(folds, records)
    ends = [records // number * fold for fold in range(number)] + [records]
    return [slice(first, last) for first, last in itertools.pairwise(ends)]


def predict_folds(
    methods: Sequence[MethodName],
    folds: Sequence[slice],
    predict: Callable[[MethodName, int, slice], Floats],
    threads: int | None,
) -> Iterator[tuple[MethodName, Floats, Floats]]:
    """Yield for each method its predictions of all records, by models of the original and of the release.

    `predict` gets a method, 0 or 1 for the side, and a fold; several folds are predicted at a time.
    """
    jobs = [(method, side, fold) for method in methods for side in (0, 1) for fold in folds]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # on few records, collinear columns or slow convergence
        with ThreadPoolExecutor(threads or os.cpu_count()) as pool:
            parts = iter(list(pool.map(lambda job: predict(*job), jobs)))
    for method in methods:
        before, after = (np.concatenate([next(parts) for _ in folds]) for _ in (0, 1))
        yield method, before, after


def features_of(
    comparison: Comparison,
    target: str,
    features: Sequence[str] | None,
    methods: Sequence[str],
    choices: Sequence[str],
    **limits: int,
) -> list[str]:
    """Return the features of a model, by default the quasi-identifiers; refuse unusable parameters."""
    names = [name for name in comparison.columns if name != target] if features is None else list(features)
    if not names:
        raise PlanError(f"there is no feature to predict {target!r} from: name at least one in `features`")
    if target in names:
        raise PlanError(f"column {target!r} is the target and cannot also be a feature")
    for name, number in limits.items():
        least = 2 if name == "folds" else 1
        if number < least:
            raise ParameterError(f"`{name}` should be {least} or more, not {number}")
    for method in methods:
        if method not in choices:
            raise ParameterError(f"`methods` should be among {', '.join(map(repr, choices))}, not {method!r}")
    for name in (target, *names):
        comparison.require(name)
    try:
        import sklearn  # noqa: F401
    except ImportError:
        raise MissingDependencyError(
            "Training models needs scikit-learn. Install it with: pip install 'veil-anonymizer[learn]'"
        ) from None
    return names
