"""All measures of utility of a release in one call."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from veil.base.keywords import own_keywords
from veil.errors import PlanError, did_you_mean
from veil.outcome.outcome import outcome_of
from veil.tables.columns import is_number
from veil.utility.classifiers import ClassifierScores, classification
from veil.utility.comparison import Comparison, sampling_fraction_of
from veil.utility.distributions import Distribution, Frequencies, distribution
from veil.utility.numeric import Preservation, preservation
from veil.utility.quality import Quality, class_sizes, quality_measures
from veil.utility.queries import QueryError, query_error
from veil.utility.regressors import Regression, regression
from veil.utility.statistics import ColumnStatistics, is_spelled, summary_statistics


@dataclass(frozen=True)
class ClassSummary:
    """Numbers and sizes of classes; suppressed records belong to none."""

    number: int
    average: float
    smallest: int
    largest: int
    records: int
    suppressed: int


@dataclass(frozen=True)
class Utility:
    """The utility of a release.

    Attributes
    ----------
    records, suppressed
        Number of original records, and of those that are suppressed or not released at all.
    quality
        Information left in the quasi-identifiers.
    classes
        Classes before and after.
    statistics
        Summary statistics of each column before and after.
    distributions
        Frequencies of the values of each column before and after, unless there are too many values.
    preservation
        Means, variances, correlations and errors of columns of numbers; None if there are none.
    queries
        Errors of random count queries; None if none were requested.
    classification, regression
        Performance of predicting the targets.
    """

    records: int
    suppressed: int
    quality: Quality
    classes: tuple[ClassSummary, ClassSummary]
    statistics: tuple[ColumnStatistics, ...]
    distributions: tuple[Distribution, ...]
    preservation: Preservation | None
    queries: QueryError | None
    classification: tuple[ClassifierScores, ...]
    regression: tuple[Regression, ...]

    def without_original_values(self) -> Utility:
        """Return the utility without original values: frequencies, modes, medians and extremes before.

        Counts, means, variances and the like stay, and so do all figures of the release.
        """
        return dataclasses.replace(
            self,
            statistics=tuple(
                dataclasses.replace(each, before=each.before.without_values()) for each in self.statistics
            ),
            distributions=tuple(
                dataclasses.replace(each, before=Frequencies((), ())) for each in self.distributions
            ),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON. They include original values; see `without_original_values`."""
        return {
            "records": self.records,
            "suppressed": self.suppressed,
            "quality": self.quality.to_dict(),
            "classes": {
                name: dataclasses.asdict(each)
                for name, each in zip(("before", "after"), self.classes, strict=True)
            },
            "statistics": [each.to_dict() for each in self.statistics],
            "distributions": [each.to_dict() for each in self.distributions],
            "preservation": None if self.preservation is None else self.preservation.to_dict(),
            "queries": None if self.queries is None else self.queries.to_dict(),
            "classification": [each.to_dict() for each in self.classification],
            "regression": [each.to_dict() for each in self.regression],
        }

    def __str__(self) -> str:
        share = self.suppressed / self.records
        before, after = self.classes
        lines = [
            f"{self.records:,} records, {self.suppressed:,} suppressed ({share:.2%})",
            f"classes {before.number:,} -> {after.number:,}, of {before.average:.2f} -> {after.average:.2f} records",
            "",
            "information left (1 = all)",
            str(self.quality),
        ]
        if self.preservation is not None:
            lines += ["", "numbers", str(self.preservation)]
        if self.queries is not None:
            lines += ["", "queries", str(self.queries)]
        if self.classification or self.regression:
            lines += ["", "predictions", *map(str, self.classification), *map(str, self.regression)]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from veil.base.html import html_table, html_text

        names = ("granularity", "intensity", "entropy", "squared_error")
        rows = [
            (
                each.column,
                *(
                    "–" if (value := getattr(each, name)) is None else f"{value.quality:.1%}"
                    for name in names
                ),
            )
            for each in self.quality.attributes
        ]
        before, after = self.classes
        share = self.suppressed / self.records
        whole = [
            ("records", f"{self.records:,}"),
            ("suppressed", f"{self.suppressed:,} ({share:.2%})"),
            ("classes", f"{before.number:,} → {after.number:,}"),
        ]
        headings = ("Column", *(name.replace("_", " ").capitalize() for name in names))
        rest = [str(each) for each in (self.preservation, self.queries) if each is not None]
        rest += [str(each) for each in (*self.classification, *self.regression)]
        return (
            html_table(("", ""), whole, "Utility")
            + html_table(headings, rows, "Information left")
            + (html_text("\n\n".join(rest)) if rest else "")
        )


@own_keywords
def compare(
    original: Any,
    released: Any = None,
    quasi_identifiers: str | Iterable[str] | Mapping[str, Any] | None = None,
    *,
    rows: Any = None,
    marker: str | None = "*",
    sampling_fraction: float | None = None,
    targets: str | Iterable[str] = (),
    categories: str | Iterable[str] = (),
    queries: int = 1000,
    folds: int = 10,
    trees: int = 30,
    listwise: bool = False,
    max_values: int = 500,
    seed: int = 0,
    threads: int | None = None,
) -> Utility:
    """Compare an original table with its release.

    Parameters
    ----------
    original, released
        Tables, as for `veil.anonymize`, or releases. A release alone is compared with its input.
    quasi_identifiers
        The columns that were changed: their names, or each with its hierarchy. Without a hierarchy only the
        values themselves and `*` are known.
    rows
        For each released row its row in the original, counted from 0. Optional if both tables have the same
        rows in the same order.
    marker
        Text of suppressed cells.
    sampling_fraction
        Probability that an original record is in the released table, if that is a random sample: counts are
        divided by it. Known for a release.
    targets
        Columns to predict from the quasi-identifiers: numbers by regression, other values by classification.
        Needs scikit-learn.
    categories
        Targets whose numbers are codes of categories, which are classified.
    queries
        Number of random count queries; 0 for none.
    folds, trees, seed, threads
        As for `classification`; the seed is also that of the queries.
    listwise
        Leave suppressed records and records with a missing value out of the statistics.
    max_values
        Largest number of distinct values of a column with a distribution.

    Examples
    --------
    >>> import pyarrow as pa
    >>> before = pa.table({"age": [21, 23, 35, 38], "sex": ["f", "f", "m", "f"]})
    >>> after = pa.table({"age": ["20-29", "20-29", "*", "*"], "sex": ["f", "f", "*", "*"]})
    >>> utility = compare(before, after, ["age", "sex"])
    >>> utility.suppressed, utility.quality.discernibility.value
    (2, 12.0)
    """
    if released is None:
        if outcome_of(original) is None:
            raise PlanError(
                "there is nothing to compare with: give the released table as well, or only a release"
            )
        comparison = Comparison.of(original, None if quasi_identifiers is None else list(quasi_identifiers))
    else:
        outcome = outcome_of(released)
        if quasi_identifiers is None:
            quasi_identifiers = () if outcome is None else outcome.quasi_identifiers
        if outcome is not None:
            rows = outcome.link.rows if rows is None else rows
            if sampling_fraction is None:
                sampling_fraction = sampling_fraction_of(outcome)
        comparison = Comparison(
            original,
            released,
            quasi_identifiers,
            rows=rows,
            marker=marker,
            sampling_fraction=1.0 if sampling_fraction is None else sampling_fraction,
        )
    return measure_utility(
        comparison, targets=targets, categories=categories, queries=queries, folds=folds, trees=trees, listwise=listwise,
        max_values=max_values, seed=seed, threads=threads,
    )  # fmt: skip


def utility_of(release: object, **options: Any) -> Utility:
    """Compare a release with its input; further keywords are those of `compare`.

    >>> import pyarrow as pa
    >>> import veil
    >>> people = pa.table({"sex": ["f", "f", "m"]})
    >>> release = veil.anonymize(
    ...     people, quasi_identifiers={"sex": "suppression"}, models=veil.KAnonymity(2), suppression_limit=0.5
    ... )
    >>> utility_of(release).suppressed
    1
    """
    return measure_utility(Comparison.of(release), **options)


def measure_utility(
    comparison: Comparison,
    *,
    targets: str | Iterable[str] = (),
    categories: str | Iterable[str] = (),
    queries: int = 1000,
    folds: int = 10,
    trees: int = 30,
    listwise: bool = False,
    max_values: int = 500,
    seed: int = 0,
    threads: int | None = None,
) -> Utility:
    """Return all measures of a comparison; parameters are those of `compare`."""
    categorical: list[ClassifierScores] = []
    numeric: list[Regression] = []
    training: dict[str, Any] = {"folds": folds, "trees": trees, "seed": seed, "threads": threads}
    target_names = [targets] if isinstance(targets, str) else list(targets)
    coded = [categories] if isinstance(categories, str) else list(categories)
    for name in coded:
        if name not in target_names:
            raise PlanError(
                f"`categories` names {name!r}, which is not one of the targets.{did_you_mean(name, target_names)}"
            )
    for target in target_names:
        comparison.require(target)
        if is_number(comparison.original[target].type) and target not in coded:
            numeric += regression(comparison, target, **training)
        else:
            categorical += classification(comparison, target, **training)
    before, after = class_sizes(comparison)
    suppressed = int(comparison.suppressed.sum())
    return Utility(
        records=comparison.records,
        suppressed=suppressed,
        quality=quality_measures(comparison),
        classes=(_sizes(before, 0), _sizes(after, suppressed)),
        statistics=summary_statistics(comparison, listwise=listwise),
        distributions=_distributions(comparison, max_values),
        preservation=preservation(comparison),
        queries=query_error(comparison, queries=queries, seed=seed) if queries else None,
        classification=tuple(categorical),
        regression=tuple(numeric),
    )


def _sizes(sizes: NDArray[np.int64], suppressed: int) -> ClassSummary:
    if not sizes.size:
        return ClassSummary(0, 0.0, 0, 0, 0, suppressed)
    return ClassSummary(
        number=int(sizes.size),
        average=float(sizes.mean()),
        smallest=int(sizes.min()),
        largest=int(sizes.max()),
        records=int(sizes.sum()),
        suppressed=suppressed,
    )


def _distributions(comparison: Comparison, max_values: int) -> tuple[Distribution, ...]:
    names = [name for name in comparison.shared if is_spelled(comparison, name)]
    every = (distribution(comparison, name) for name in names)
    return tuple(each for each in every if max(len(each.before.values), len(each.after.values)) <= max_values)
