"""What an analyst gets from releases of a table that were made in different ways.

    python bench/analyst.py adult                              # every way, k = 5
    python bench/analyst.py fars --k 20 --ways full-domain FromTheStart
    python bench/analyst.py fair                               # tables of the package statsmodels: fair, randhie
    python bench/analyst.py my.csv --columns age sex town --target job

For each release: the loss (arithmetic mean over cells of (leaves under the label - 1) / (leaves - 1), a suppressed
record 1), the median and the 90 % quantile of the relative errors of 14 count queries on each pair of columns
(values below a label alike), and how well logistic regression predicts two columns: its accuracy for one that was not
changed, and its area under the curve for the last quasi-identifier. It is trained on the features of the release
(`veil.utility.features`), without suppressed records, and on the values of the input for the target, joined by row;
it predicts the records of other folds from their original features. Seconds are those of the processor.
"""

from __future__ import annotations

import argparse
import importlib
import itertools
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

import veil
from veil import KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.errors import VeilError
from veil.masking import Mondrian, TopDownSpecialization
from veil.quality import Loss
from veil.recoding import FromTheStart
from veil.tables import read
from veil.tables.columns import encode_values
from veil.utility import Comparison, features
from veil.utility.labelled import LabelledTable
from veil.utility.queries import QueryComparison
from veil.utility.training import one_thread

SHARED = Path(os.environ.get("VEIL_SHARED", Path(__file__).resolve().parents[2] / "shared"))
QUERIES = 14
"""Queries for each pair of columns."""

FOLDS = 3
MOST_RECORDS = 15_000
"""Records that models are trained with; all of them are counted."""


class Task(NamedTuple):
    """A table, the hierarchies of its quasi-identifiers, and a further column to predict."""

    table: pa.Table
    hierarchies: dict[str, Any]
    target: str | None

    @property
    def last(self) -> str:
        """The last quasi-identifier, whose area under the curve is measured."""
        return list(self.hierarchies)[-1]


def _from_shared(name: str) -> Task:
    folder = SHARED / "data" / name
    prefix = "adult_hierarchy_" if name == "adult" else "fars_int_hierarchy_"
    table = read(folder / ("adult.csv" if name == "adult" else "fars_int.csv")).table
    if name == "adult":
        columns = [
            "sex",
            "age",
            "race",
            "marital-status",
            "education",
            "native-country",
            "workclass",
            "salary-class",
        ]
    else:
        columns = ["iage", "irace", "ideathmon", "ideathday", "isex", "ihispanic", "iinjury"]
    target = "occupation" if name == "adult" else None
    return Task(table, {column: h.read(folder / f"{prefix}{column}.csv") for column in columns}, target)


def _from_statsmodels(name: str) -> Task:
    data = importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data
    table = pa.Table.from_pandas(data, preserve_index=False)
    columns, target = {
        "fair": (["age", "yrs_married", "children", "religious", "educ", "occupation_husb", "rate_marriage"], "occupation"),
        "randhie": (["mdvis", "disea", "lncoins", "idp", "hlthf", "hlthp"], "hlthg"),
    }[name]  # fmt: skip
    if name == "randhie":
        whole = {each: np.round(np.array(table[each])).astype(np.int64) for each in ("disea", "lncoins")}
        table = pa.table({**{each: table[each] for each in (*columns, target)}, **whole})
    return Task(
        table.select([*columns, target]), {column: _halved(table[column]) for column in columns}, target
    )


def _halved(column: pa.ChunkedArray) -> h.Hierarchy:
    """Return a hierarchy of neighbouring values: pairs of pairs, up to all."""
    values = sorted(column.unique().to_pylist())
    rows = [[each] for each in values]
    width = 2
    while width < 2 * len(values):
        for at, row in enumerate(rows):
            first = at // width * width
            last = min(first + width, len(values)) - 1
            row.append("*" if width >= len(values) else f"[{values[first]}, {values[last]}]")
        width *= 2
    return h.Hierarchy.from_rows(rows)


def _from_file(path: str, columns: list[str], target: str | None) -> Task:
    table = read(path).table
    built = {}
    for column in columns:
        values, codes = encode_values(table[column])
        built[column] = h.auto().build(values, np.bincount(codes), column)
    return Task(table, built, target)


def task_of(name: str, columns: list[str], target: str | None) -> Task:
    """Read a table by name or from a file."""
    if name in ("adult", "fars"):
        return _from_shared(name)
    if name in ("fair", "randhie"):
        return _from_statsmodels(name)
    return _from_file(name, columns, target)


Way = Callable[[Task, int], Release]


def _plan(**options: Any) -> Way:
    def run(task: Task, k: int) -> Release:
        return veil.anonymize(
            task.table,
            quasi_identifiers=task.hierarchies,
            models=KAnonymity(k),
            others="keep",
            person=None,
            order="input",
            **{"quality": Loss(aggregate="arithmetic_mean"), **options},
        )

    return run


def _mask(method: Any, *, hierarchies: bool) -> Way:
    def run(task: Task, k: int) -> Release:
        columns = task.hierarchies if hierarchies else list(task.hierarchies)
        return veil.mask(task.table, method(columns, KAnonymity(k)), person=None)

    return run


WAYS: dict[str, Way] = {
    "full-domain": _plan(suppression_limit=0.0),
    "full-domain, suppression": _plan(suppression_limit=1.0),
    "top-down": _mask(TopDownSpecialization, hierarchies=True),
    "Mondrian, hierarchies": _mask(Mondrian, hierarchies=True),
    "Mondrian, intervals": _mask(Mondrian, hierarchies=False),
    "FromTheStart": _plan(recoding=FromTheStart(1000), quality=Loss()),
    "subtree": _plan(recoding="subtree", suppression_limit=1.0),
    "cells": _plan(recoding="cells", time_limit=10),
}


class Figures(NamedTuple):
    """What an analyst gets."""

    seconds: float
    suppressed: int
    loss: float
    median: float
    most: float
    accuracy: float
    auc: float


def measure(task: Task, release: Release | None, seconds: float) -> Figures:
    """Measure a release; None is the original table."""
    outcome = None if release is None else release.outcome
    if outcome is None:
        originals = _features(task, task.table, task.hierarchies)
        predictions = [_predict(task, originals, originals, None, name) for name in (task.target, task.last)]
        return Figures(0.0, 0, 0.0, 0.0, 0.0, predictions[0][0], predictions[1][1])
    labelled = LabelledTable.of(outcome)
    losses = [
        ((labelled[name].sizes - 1) / (len(labelled[name].values) - 1))[labelled[name].codes]
        for name in task.hierarchies
    ]
    rows = outcome.origins
    dropped = task.table.num_rows - rows.size
    loss = (float(np.mean(losses, axis=0).sum()) + dropped) / task.table.num_rows
    errors = _query_errors(task, outcome.table, rows, labelled.hierarchies)
    visible = ~labelled.suppressed
    shown = _features(task, release).filter(pa.array(visible))
    originals = _features(task, task.table, labelled.hierarchies)
    predictions = [_predict(task, originals, shown, rows[visible], name) for name in (task.target, task.last)]
    return Figures(
        seconds,
        int(labelled.suppressed.sum()) + dropped,
        loss,
        float(np.median(errors)),
        float(np.quantile(errors, 0.9)),
        predictions[0][0],
        predictions[1][1],
    )


def _features(task: Task, table: Any, hierarchies: Any = None) -> pa.Table:
    """Return features of the quasi-identifiers: of each column as many as it has values."""
    return features(table, list(task.hierarchies), hierarchies=hierarchies)


def _query_errors(
    task: Task, released: pa.Table, rows: NDArray[np.int64], hierarchies: Any
) -> NDArray[np.float64]:
    """Return the relative errors of random counts on each pair of columns, the same for every release."""
    used = {name: hierarchies.get(name) for name in task.hierarchies}
    chance, errors = np.random.default_rng(0), []
    for pair in itertools.combinations(task.hierarchies, 2):
        comparison = Comparison(task.table, released, {name: used[name] for name in pair}, rows=rows)
        queries = QueryComparison(comparison)
        sample, counts = queries.draw(QUERIES, 2, (0.01, 0.5), chance)
        errors += (np.abs(queries.answers(sample) - counts) / np.maximum(counts, 1)).tolist()
    return np.array(errors)


def _predict(
    task: Task,
    originals: pa.Table,
    shown: pa.Table,
    rows: NDArray[np.int64] | None,
    name: str | None,
) -> tuple[float, float]:
    """Return accuracy and area under the curve of predicting a column, by models of the release."""
    from scipy import sparse
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score

    if name is None:
        return float("nan"), float("nan")
    rows = np.arange(originals.num_rows) if rows is None else rows
    answers = np.unique(np.array(task.table[name].cast(pa.string())).astype(str), return_inverse=True)[1]
    inputs = [each for each in originals.column_names if not each.startswith(f"{name}=")]
    shown, originals = (
        sparse.csr_array(np.array(each.select(inputs), dtype=np.float64)) for each in (shown, originals)
    )
    order = np.random.default_rng(0).permutation(originals.shape[0])[:MOST_RECORDS]
    fold_of = np.full(originals.shape[0], -1)
    fold_of[order] = np.arange(order.size) % FOLDS
    right, areas = 0, []
    for fold in range(FOLDS):
        train = (fold_of[rows] != fold) & (fold_of[rows] >= 0)
        test = np.flatnonzero(fold_of == fold)
        model = LogisticRegression(C=10.0, max_iter=100)
        with warnings.catch_warnings(), one_thread():
            warnings.simplefilter("ignore")
            model.fit(shown[np.flatnonzero(train)], answers[rows[train]])
        probabilities = model.predict_proba(originals[test])
        right += int((model.classes_[probabilities.argmax(axis=1)] == answers[test]).sum())
        if model.classes_.size == 2:
            areas.append(roc_auc_score(answers[test], probabilities[:, 1]))
        else:
            truth = answers[test]
            areas.append(
                np.mean([
                    roc_auc_score(truth == each, probabilities[:, at])
                    for at, each in enumerate(model.classes_) if 0 < (truth == each).sum() < truth.size
                ])
            )  # fmt: skip
    return right / order.size, float(np.mean(areas))


def main() -> None:
    """Print one line for each release."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("table", help="adult, fars, fair, randhie, or a file")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--ways", nargs="*", default=list(WAYS), help=f"some of: {', '.join(WAYS)}")
    parser.add_argument("--columns", nargs="*", default=[], help="quasi-identifiers of a file")
    parser.add_argument("--target", help="column of a file to predict")
    options = parser.parse_args()
    task = task_of(options.table, options.columns, options.target)
    print(f"{options.table}: {task.table.num_rows:,} records, k = {options.k}; {task.target} and {task.last}")
    print(
        f"{'release':26} {'CPU s':>6} {'suppr.':>7} {'loss':>6} {'median':>7} {'90 %':>7} {'accuracy':>8} {'AUC':>6}"
    )
    _show("original", measure(task, None, 0.0))
    for name in options.ways:
        begin = time.process_time()
        try:
            release = WAYS[name](task, options.k)
        except (VeilError, TypeError) as error:
            print(f"{name:26} {error}"[:110])
            continue
        _show(name, measure(task, release, time.process_time() - begin))


def _show(name: str, figures: Figures) -> None:
    seconds, suppressed, loss, median, most, accuracy, auc = figures
    print(
        f"{name:26} {seconds:6.1f} {suppressed:7,} {loss:6.4f} {median:7.3f} {most:7.3f} {accuracy:8.3f} {auc:6.3f}",
        flush=True,
    )


if __name__ == "__main__":
    main()
