"""Ways to anonymize one table under one plan, side by side on one scale.

    found = compare_ways("patients.csv", plan, target="diagnosis")
    print(found)
    found["cells"].release.save("release.csv")

The scale is loss: the arithmetic mean over all cells of quasi-identifiers of (values below the label - 1) / (values of
the column - 1), by the hierarchies and the column weights of the plan; a cell of a suppressed record loses 1. (The
score of a search is another figure: by default a geometric mean over columns.) A mean or mode stands for the values of
its class: numbers for all values from the least to the greatest, categories for those that occur.

The gap of every way is its distance to one bound: to the loss that no recoding with labels of these hierarchies is
below.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from veil.api.anonymize import anonymize
from veil.api.mask import mask
from veil.api.open import open_for_plan
from veil.api.release import Release
from veil.api.trial import plan_from
from veil.base.html import html_table
from veil.base.progress import Progress, ProgressLike, following
from veil.errors import ParameterError, PlanError, VeilError, did_you_mean
from veil.lattice.optimality import gap_to_optimum
from veil.masking.microaggregation.methods import MDAV
from veil.masking.partition.mondrian import Mondrian
from veil.models.k_anonymity import KAnonymity
from veil.outcome.cell_trace import CellTrace
from veil.outcome.lower_bound import LowerBound, describe_claim
from veil.outcome.method import Method
from veil.outcome.outcome import Outcome
from veil.plan.plan import Plan
from veil.plan.prepare import prepare
from veil.plan.recoding import by_name
from veil.recoding.lower_bound import search_bound
from veil.tables import Format
from veil.tables.columns import groups
from veil.utility.classifiers import Classifier, classification
from veil.utility.column import Column
from veil.utility.comparison import Comparison
from veil.utility.queries import query_error
from veil.verification.cell_costs import column_weights

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
        The largest share of the loss by which that of any recoding with labels of these hierarchies may lie below it.
    why_no_gap
        Why there is no gap, where there is a release.
    proven_optimal
        Whether no release of the same way has a better score, by its own search; None without one.
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
    why_no_gap: str | None = None
    proven_optimal: bool | None = None
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
    """Ways in the order in which they were asked for, the bound on all of them, and the accuracy of the original.

    Attributes
    ----------
    bound
        A loss that no recoding with labels of these hierarchies is below; None if nothing is proven.
    """

    ways: tuple[Way, ...]
    target: str | None = None
    original_accuracy: float | None = None
    bound: float | None = None

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
            "bound": self.bound,
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
        return "\n".join([*lines, *self.notes()])

    def notes(self) -> list[str]:
        """Return the bound, and what has no figure, and why."""
        bound = [] if self.bound is None else [str(describe_claim(Fraction(self.bound)))]
        problems = [f"{way.name}: {way.problem}" for way in self.ways if way.problem]
        reasons: dict[str, list[str]] = {}
        for way in self.ways:
            if way.why_no_gap:
                reasons.setdefault(way.why_no_gap, []).append(way.name)
        return [
            *bound,
            *problems,
            *(f"{', '.join(names)}: no gap, as {reason}" for reason, names in reasons.items()),
        ]

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
        Seconds for each search, and for a bound if the search for cells proves none.

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
                    loss_of_cells(
                        comparison,
                        column_weights(plan, list(comparison.columns)),
                        by_label=name != "microaggregation",
                    ),
                    None,
                    None,
                    None if release.search is None else release.search.proven_optimal,
                    release.suppressed,
                    query_error(comparison).median,
                    accuracy,
                    excess,
                    seconds,
                    release,
                )
            )
        tracker.phase("proving a lower bound")
        outcomes = [way.release.outcome for way in results if way.release is not None and way.release.plan]
        bound, has_roots = _bound(source, plan, outcomes, format, time_limit, cancel, tracker)
    least = float(bound.score) if isinstance(bound, LowerBound) else None
    return Ways(
        tuple(_with_gap(way, plan, bound, has_roots) for way in results),
        target,
        original[0] if original else None,
        least,
    )


def _bound(
    source: Any,
    plan: Plan,
    outcomes: Sequence[Outcome],
    format: Format | None,
    seconds: float,
    cancel: Callable[[], bool] | None,
    progress: Progress,
) -> tuple[LowerBound | str, bool]:
    """Return a bound on every recoding under the plan, or why there is none, and whether all hierarchies have a root.

    The bound is that of a search for cells, if there is one.
    """
    try:
        if outcomes:
            prepared = outcomes[0].searched
        else:
            table = open_for_plan(source, plan, format, "memory", progress)
            prepared = prepare(table.table, plan, table.weights, table.columns)
    except VeilError as error:
        return str(error), False
    has_roots = all(len(hierarchy.labels[-1]) == 1 for hierarchy in prepared.encoding.hierarchies)
    traces = [each.trace(CellTrace) for each in outcomes]
    proofs = [trace.proof for trace in traces if trace and trace.proof and not trace.measure]
    bound = (
        proofs[0]
        if proofs
        else search_bound(prepared, seconds=seconds, cancel=cancel or (lambda: False), progress=progress)
    )
    if isinstance(bound, LowerBound) and bound.score > 1:
        return "no recoding keeps to the plan", has_roots
    return bound, has_roots


def _with_gap(way: Way, plan: Plan, bound: LowerBound | str, has_roots: bool) -> Way:
    """Return a way with its distance to a bound on the recodings that it is one of."""
    if way.loss is None:
        return way
    reason = "" if isinstance(bound, LowerBound) else bound
    if way.name == "microaggregation":
        reason = "means and modes of classes are no labels of the hierarchies"
    elif way.name == "Mondrian" and (plan.minimum_levels or plan.maximum_levels or not has_roots):
        reason = "its labels are on any level, or `*` above all, and the bound is one of those that the plan allows"
    if reason or not isinstance(bound, LowerBound):
        return replace(way, why_no_gap=reason)
    return replace(way, gap=max(0.0, gap_to_optimum(way.loss, float(bound.score)) or 0.0))


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
    recoding = by_name(name)
    if type(plan.recoding) is type(recoding):
        recoding = plan.recoding  # with its settings
    changed = replace(plan, recoding=recoding, time_limit=time_limit)
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


def loss_of_cells(
    comparison: Comparison, weights: Mapping[str, Fraction] | None = None, *, by_label: bool = True
) -> float:
    """Return the arithmetic mean of loss over all cells of quasi-identifiers; suppressed records lose everything.

    The values that a cell stands for are those below its label, as the hierarchy counts them; or, unless `by_label`,
    those of its class. `weights` are those of the columns, by default equal ones.

    >>> import pyarrow as pa
    >>> from veil import hierarchies as h
    >>> before, after = pa.table({"age": [21, 23, 35, 38]}), pa.table({"age": ["[20, 30[", "[20, 30[", "35", "*"]})
    >>> round(loss_of_cells(Comparison(before, after, {"age": h.intervals(10)})), 6)  # (1 + 1 + 0 + 3) / 3 / 4
    0.416667
    """
    columns = list(comparison.columns.values())
    losses = [_below_labels(column) for column in columns] if by_label else _in_classes(comparison, columns)
    means = [np.where(comparison.suppressed, 1.0, loss).mean() for loss in losses]
    shares = None if weights is None else [float(weights[column.name]) for column in columns]
    return float(np.average(means, weights=shares))


def _below_labels(column: Column) -> Floats:
    """Return for each record the share of the other values of the domain that are below its label."""
    size = column.hierarchy.domain_size
    below: Floats = column.covering(column.hierarchy.shares, 1.0)[column.pair] * size
    return np.clip((below - 1) / (size - 1), 0, 1) if size > 1 else np.zeros_like(below)


def _in_classes(comparison: Comparison, columns: list[Column]) -> list[Floats]:
    """Return for each record and column the share of the other values in its class: of numbers, all between the extremes."""
    released = comparison.released
    numbers = groups(released, tuple(column.name for column in columns), "compare_ways")
    class_of_record = np.where(comparison.place >= 0, numbers[comparison.place], 0)
    losses = []
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
        losses.append((of_class[class_of_record] - 1) / max(1, column.hierarchy.size - 1))
    return losses
