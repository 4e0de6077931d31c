"""Ways to anonymize one table under one plan, side by side on one scale.

    found = compare_ways("patients.csv", plan, target="diagnosis")
    print(found)
    found["cells"].release.save("release.csv")

The scale is loss: the arithmetic mean over all cells of quasi-identifiers of (values below the label - 1) / (values of
the column - 1), by the hierarchies of the plan; a cell of a suppressed record loses 1. (The score of a search is
another figure: by default a geometric mean over columns.) A mean or mode stands for the values of its class: numbers
for all values from the least to the greatest, categories for those that occur.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from veil.api.anonymize import anonymize
from veil.api.mask import mask
from veil.api.release import Release
from veil.api.trial import plan_from
from veil.base.html import html_table
from veil.base.progress import Progress, ProgressLike, following
from veil.errors import ParameterError, PlanError, VeilError, did_you_mean
from veil.masking.microaggregation.methods import MDAV
from veil.masking.partition.mondrian import Mondrian
from veil.models.k_anonymity import KAnonymity
from veil.outcome.method import Method
from veil.plan.plan import Plan
from veil.plan.recoding import by_name
from veil.tables import Format
from veil.tables.columns import groups
from veil.utility.classifiers import Classifier, classification
from veil.utility.column import Column
from veil.utility.comparison import Comparison
from veil.utility.queries import query_error

Floats = NDArray[np.float64]
WayName = Literal["full-domain", "subtree", "cells", "Mondrian", "microaggregation"]
WAYS: tuple[WayName, ...] = get_args(WayName)
HEADINGS = ("way", "loss", "gap", "suppressed", "query error", "accuracy", "attack", "CPU")


@dataclass(frozen=True)
class Way:
    """One way to anonymize the table, and its figures; None where there is none.

    Attributes
    ----------
    name
        "full-domain": one level a column. "subtree": one label a value. "cells": each record by itself. "Mondrian":
        classes by cuts, with labels of the hierarchies. "microaggregation": means and modes of classes by MDAV.
    problem
        Why there is no release; None if there is one.
    loss
        From 0 (the original) to 1 (no information), see `veil.api.ways`.
    gap
        How far the score of the release may be above the best one of the same way, as a share.
    suppressed
        Number of suppressed records.
    query_error
        Median relative error of random count queries, see `veil.utility.query_error`.
    accuracy
        Accuracy of predicting the target from the quasi-identifiers, as `veil.utility.classification` measures it.
    attacks
        Excess success by kind of attack, see `Release.attacks`.
    seconds
        CPU time of the release, without its figures.
    release
        The verified release.
    """

    name: WayName
    problem: str | None = None
    loss: float | None = None
    gap: float | None = None
    suppressed: int | None = None
    query_error: float | None = None
    accuracy: float | None = None
    attacks: Mapping[str, float] | None = None
    seconds: float | None = None
    release: Release | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        figures = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "release"}
        return {**figures, "attacks": None if self.attacks is None else dict(self.attacks)}

    def row(self) -> tuple[str, ...]:
        """Return the figures as texts, in the order of `HEADINGS`."""
        worst = max(self.attacks.values(), default=None) if self.attacks else None
        shares = (self.query_error, self.accuracy, worst)
        return (
            self.name,
            "" if self.loss is None else f"{self.loss:.4f}",
            "" if self.gap is None else f"{self.gap:.1%}",
            "" if self.suppressed is None else f"{self.suppressed:,}",
            *("" if share is None else f"{share:.1%}" for share in shares),
            "" if self.seconds is None else f"{self.seconds:.1f} s",
        )


@dataclass(frozen=True)
class Ways:
    """Ways in the order in which they were asked for, and the accuracy that the original allows."""

    ways: tuple[Way, ...]
    target: str | None = None
    original_accuracy: float | None = None

    def __getitem__(self, name: WayName) -> Way:
        return next(way for way in self.ways if way.name == name)

    @property
    def least_loss(self) -> Way | None:
        """The way that loses least; None if there is no release."""
        released = [way for way in self.ways if way.loss is not None]
        return min(released, key=lambda way: way.loss or 0.0, default=None)

    def to_dict(self) -> dict[str, Any]:
        """Return the figures as plain data."""
        return {
            "target": self.target,
            "original_accuracy": self.original_accuracy,
            "ways": [way.to_dict() for way in self.ways],
        }

    def __str__(self) -> str:
        rows = [HEADINGS, *(way.row() for way in self.ways)]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = [
            "  ".join(
                text.rjust(width) if at else text.ljust(width)
                for at, (text, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, *(f"{way.name}: {way.problem}" for way in self.ways if way.problem)])

    def _repr_html_(self) -> str:
        return html_table(HEADINGS, [way.row() for way in self.ways])


def compare_ways(
    source: Any,
    plan: Plan | None = None,
    *,
    ways: Iterable[WayName] = WAYS,
    target: str | None = None,
    method: Classifier = "naive bayes",
    attacks: bool = False,
    time_limit: float = 10.0,
    format: Format | None = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    cancel: Callable[[], bool] | None = None,
    **options: Any,
) -> Ways:
    """Anonymize a table in several ways under one plan, and measure every release in the same manner.

    Nothing is published. The figures are exact ones of the input.

    Parameters
    ----------
    source
        A table in memory, or a file.
    plan
        The plan, or its fields as keywords. Its `recoding` is replaced by each way.
    ways
        The ways, by default all of them.
    target
        Column to be predicted; by default the first sensitive one.
    method
        The model that predicts it.
    attacks
        Whether to try attacks on each way, which takes as long as its release.
    time_limit
        Seconds for each search.

    >>> import veil
    >>> from veil.synthetic import patients
    >>> found = compare_ways(patients(400), quasi_identifiers={"age": "auto", "zip": "redaction"},
    ...     models=veil.KAnonymity(5), sensitive="diagnosis", others="drop", person=None, suppression_limit=0.1,
    ...     ways=["full-domain", "cells", "Mondrian"], time_limit=2)
    >>> found["cells"].loss < found["full-domain"].loss
    True
    """
    plan = plan_from("compare_ways", plan, options)
    names = list(ways)
    for name in names:
        if name not in WAYS:
            raise ParameterError(f"there is no way {name!r}.{did_you_mean(name, WAYS)}")
    target = target or next(iter(plan.sensitive), None)
    results: list[Way] = []
    original: list[float] = []
    with following(progress) as tracker:
        for name in names:
            tracker.phase(name)
            start = time.process_time()
            try:
                release = _release(source, plan, name, format, threads, time_limit, tracker, cancel)
            except VeilError as error:
                results.append(Way(name, problem=str(error)))
                continue
            seconds = time.process_time() - start
            comparison = _compare(release, plan)
            accuracy = None
            if target is not None and target in comparison.shared:
                scores = classification(comparison, target, methods=[method], threads=threads)[0]
                accuracy = scores.released.accuracy
                original.append(scores.original.accuracy)
            excess: dict[str, float] | None = None
            if attacks:
                tried = release.attacks(cancel=cancel)
                excess = {attack.kind: attack.excess[0] for attack in tried.attacks}
            results.append(
                Way(
                    name,
                    None,
                    loss_of_cells(comparison, by_label=name != "microaggregation"),
                    _gap(release),
                    release.suppressed,
                    query_error(comparison).median,
                    accuracy,
                    excess,
                    seconds,
                    release,
                )
            )
    return Ways(tuple(results), target, original[0] if original else None)


def _release(
    source: Any,
    plan: Plan,
    name: WayName,
    format: Format | None,
    threads: int | None,
    time_limit: float,
    progress: Progress,
    cancel: Callable[[], bool] | None,
) -> Release:
    if name in ("Mondrian", "microaggregation"):
        return mask(source, _method(plan, name), person=plan.person, format=format, progress=progress)
    changed = replace(plan, recoding=by_name(name), time_limit=time_limit)
    return anonymize(
        source, changed, format=format, engine="memory", threads=threads, progress=progress, cancel=cancel
    )


def _method(plan: Plan, name: WayName) -> Method:
    """Return the masking method that keeps the models of the plan."""
    if name == "Mondrian":
        return Mondrian(dict(plan.quasi_identifiers), plan.models)
    others = [model for model in plan.models if not isinstance(model, KAnonymity)]
    if others:
        raise PlanError(f"microaggregation makes groups of k, which need not satisfy {others[0]}")
    k = max(model.k for model in plan.models if isinstance(model, KAnonymity))
    return MDAV(tuple(plan.quasi_identifiers), k, keep_type=True)


def _compare(release: Release, plan: Plan) -> Comparison:
    """Compare a release with its input, by the hierarchies of the plan."""
    outcome = release.outcome
    if outcome.plan is not None:
        return Comparison.of(outcome)
    return Comparison(
        outcome.original, outcome.table, plan.quasi_identifiers, rows=outcome.origins, marker=outcome.marker
    )


def _gap(release: Release) -> float | None:
    """Return how far the score may be above the best one, where a search says so."""
    gap = None if release.search is None else release.search.gap
    return None if gap is None or not np.isfinite(gap) else float(gap)


def loss_of_cells(comparison: Comparison, *, by_label: bool = True) -> float:
    """Return the arithmetic mean of loss over all cells of quasi-identifiers; suppressed records lose everything.

    The values that a cell stands for are those below its label; or, unless `by_label`, those of its class.

    >>> import pyarrow as pa
    >>> from veil import hierarchies as h
    >>> before, after = pa.table({"age": [21, 23, 35, 38]}), pa.table({"age": ["[20, 30[", "[20, 30[", "35", "*"]})
    >>> loss_of_cells(Comparison(before, after, {"age": h.intervals(10)}))  # (1 + 1 + 0 + 3) / 3 / 4
    0.4166666666666667
    """
    columns = list(comparison.columns.values())
    widths = [_below_labels(column) for column in columns] if by_label else _in_classes(comparison, columns)
    losses = []
    for column, width in zip(columns, widths, strict=True):
        loss = (width - 1) / max(1, column.hierarchy.size - 1)
        losses.append(np.where(comparison.suppressed, 1.0, loss).mean())
    return float(np.mean(losses))


def _below_labels(column: Column) -> Floats:
    """Return for each record the number of values below its label."""
    size = float(column.hierarchy.size)
    width: Floats = column.covering([rows.astype(np.float64) for rows in column.hierarchy.rows], size)
    return width[column.pair]


def _in_classes(comparison: Comparison, columns: list[Column]) -> list[Floats]:
    """Return for each record and column the values of its class: of numbers, all between the extremes."""
    released = comparison.released
    numbers = groups(released, tuple(column.name for column in columns), "compare_ways")
    class_of_record = np.where(comparison.place >= 0, numbers[comparison.place], 0)
    widths = []
    for column in columns:
        codes = column.base[column.pair]
        # Values in their order as numbers; categories need none.
        _, ranks = np.unique(column.number if column.is_numeric else column.base, return_inverse=True)
        rank = ranks[column.pair]
        if column.is_numeric:
            order = np.lexsort((rank, class_of_record))
            sorted_class, sorted_rank = class_of_record[order], rank[order]
            starts = np.flatnonzero(np.diff(sorted_class, prepend=-1))
            ends = np.append(starts[1:], sorted_class.size) - 1
            of_class = np.zeros(int(class_of_record.max()) + 1)
            of_class[sorted_class[starts]] = sorted_rank[ends] - sorted_rank[starts] + 1
        else:
            pairs = np.unique(class_of_record.astype(np.int64) * column.hierarchy.size + codes)
            of_class = np.bincount(pairs // column.hierarchy.size).astype(np.float64)
        widths.append(of_class[class_of_record])
    return widths
