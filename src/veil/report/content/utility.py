"""What a release is still good for, as a report may tell it: without original values, and within a few seconds."""

from __future__ import annotations

import functools
import importlib.util
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from veil.base.wording import plural
from veil.errors import InputError
from veil.outcome.outcome import Outcome
from veil.report.content.disclosure import change, is_safe_column, is_treated, round_significant
from veil.report.content.distributions import find_counted_values
from veil.tables.columns import count_codes, encode_values, is_number
from veil.utility import (
    Comparison,
    classification,
    preservation,
    quality_measures,
    query_error,
    regression,
    summary_statistics,
)
from veil.utility.attributes import ATTRIBUTE_MEASURES
from veil.utility.comparison import has_values
from veil.utility.numeric import ColumnPreservation, numbers
from veil.utility.quality import DATA_MEASURES
from veil.utility.statistics import ColumnStatistics, Statistics

LEARNED_RECORDS = 20_000
"""Records that models are trained and tested with."""

FOLDS, TREES, QUERIES, MOST_TARGETS, MOST_CLASSES = 5, 20, 500, 3, 50


NOT_COMPARED = (
    "An engine holds the table, so input and release were not compared row by row: measures of utility that take this "
    "are not in this report."
)


class Worth:
    """Measures of utility. Without a comparison only what the released table itself tells.

    If it `hides` records, columns that are published as they are are compared on those that it shows.
    """

    def __init__(
        self,
        outcome: Outcome,
        comparison: Comparison | None,
        distributions: Sequence[dict[str, Any]],
        *,
        hides: bool = False,
    ) -> None:
        self.outcome, self.comparison, self.hides = outcome, comparison, hides
        self._counted = {each["column"]: each for each in distributions if each["before"] is not None}
        self._safe: dict[str, bool] = {}

    @functools.cached_property
    def quality(self) -> dict[str, Any] | None:
        """What is left of the quasi-identifiers, from 0 (nothing) to 1 (all).

        Squared errors rest on how far values are from each other, so that they tell of them as much as deviations do.
        """
        if self.comparison is None:
            return None
        found = quality_measures(self.comparison)
        withheld = [each.column for each in found.attributes if not self._is_safe(each.column)]
        return {
            "attributes": [
                {
                    "column": each.column,
                    **{
                        name: None
                        if name == "squared_error" and each.column in withheld
                        else round(getattr(each, name).quality, 4)
                        for name in ATTRIBUTE_MEASURES
                    },
                    "missing_before": round(each.missings_before, 4),
                    "missing_after": round(each.missings, 4),
                }
                for each in found.attributes
            ],
            "together": {
                name: None if name == "squared_error" and withheld else round(found.aggregate(name), 4)
                for name in ATTRIBUTE_MEASURES
            },
            "table": {
                **{
                    name: None
                    if name == "record_error" and withheld
                    else round(getattr(found, name).quality, 4)
                    for name in DATA_MEASURES
                },
                "sse_sst": None if withheld else round(found.sse_sst, 4),
            },
            "withheld": withheld,
        }

    @functools.cached_property
    def statistics(self) -> list[dict[str, Any]]:
        """Summary statistics of each column; of the input only what tells of nobody."""
        if self.comparison is None:
            table = self.outcome.table
            if self.outcome.is_condensed or not table.num_rows or not has_values(self.outcome):
                return []
            alone = Comparison(table, table, self.outcome.by_records.names)
            return [
                {"column": each.column, "before": None, "after": self._after(each)}
                for each in summary_statistics(alone)
            ]
        return [
            {"column": each.column, **dict(zip(("before", "after"), self._both(each), strict=True))}
            for each in summary_statistics(self.comparison)
        ]

    def _both(self, found: ColumnStatistics) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the statistics before and after, what stands side by side with as many digits."""
        before, after = self._before(found), self._after(found)
        shown = [
            name for name in ("mean", "standard_deviation") if before.get(name) is not None and name in after
        ]
        if found.before == found.after:  # the release tells all of them
            before |= {name: after[name] for name in shown}
        else:
            after |= {name: _three_digits(after[name]) for name in shown}
        return before, after

    def _before(self, found: ColumnStatistics) -> dict[str, Any]:
        before = found.before
        if self._is_hidden(found.column):
            return {"scale": before.scale, "withheld": True}
        made: dict[str, Any] = {"scale": before.scale, "count": before.count}
        if before.scale not in ("interval", "ratio"):
            return made
        if not self._is_safe(found.column):
            return {**made, "withheld": True}
        made["standard_deviation"] = _three_digits(before.standard_deviation)
        made["mean"] = _three_digits(before.mean)
        return made

    def _after(self, found: ColumnStatistics) -> dict[str, Any]:
        """Return the statistics of a released column; the mode only if there is one alone."""
        made = _plain(found.after)
        values, codes = encode_values(self.outcome.table[found.column])
        shown = codes[~self.outcome.by_records.suppressed]
        counts = np.where(pc.is_valid(values), count_codes(shown, len(values), None), 0)
        if np.count_nonzero(counts == counts.max(initial=0)) > 1:
            made.pop("mode", None)
        return made

    def _is_hidden(self, name: str) -> bool:
        """Whether every figure of an original column would tell of suppressed records."""
        return self.hides and not is_treated(self.outcome, name)

    @functools.cached_property
    def _shown(self) -> Comparison | None:
        """The comparison by which sensitive columns are predicted: of the records that the table shows, if it hides some."""
        whole, outcome = self.comparison, self.outcome
        if whole is None or not self.hides:
            return whole
        kept = np.flatnonzero(whole.place >= 0)
        kept = kept[~outcome.by_records.suppressed[whole.place[kept]]]
        if not kept.size:
            return None
        return Comparison(
            whole.original.take(pa.array(kept)),
            whole.released.take(pa.array(whole.place[kept])),
            {name: outcome.hierarchies.get(name) for name in whole.columns},
            marker=whole.marker,
        )

    def _is_safe(self, name: str) -> bool:
        assert self.comparison is not None
        if name not in self._safe:
            plan = self.outcome.plan
            aggregated = plan is not None and name in plan.microaggregated
            found = self._counted.get(name)
            told = None if found is None else functools.partial(find_counted_values, self.outcome, found)
            self._safe[name] = is_safe_column(self.comparison, name, aggregated=aggregated, told=told)
        return self._safe[name]

    @functools.cached_property
    def preservation(self) -> dict[str, Any] | None:
        """What became of columns of numbers; None if there are none, or too few numbers to tell."""
        if self.comparison is None:
            return None
        shared, hidden = self.comparison.shared, [*filter(self._is_hidden, self.comparison.shared)]
        known = [name for name in shared if name not in hidden and numbers(self.comparison, name) is not None]
        found = preservation(self.comparison, known if hidden else None)
        if found is None:
            return None
        safe = {each.column: self._is_safe(each.column) for each in found.columns}
        columns = [
            {
                "column": each.column,
                "compared": round_significant(each.compared, 4),
                **_changes(each),
                "sse_sst": round_significant(each.sse_sst),
            }
            for each in found.columns
            if safe[each.column]
        ]
        at = [i for i, each in enumerate(found.columns) if safe[each.column]]
        matrices = [[[_two_digits(matrix[i][j]) for j in at] for i in at] for matrix in found.correlations]
        return {
            "columns": columns,
            "withheld": [each.column for each in found.columns if not safe[each.column]],
            "correlations": {"before": matrices[0], "after": matrices[1]},
        }

    @functools.cached_property
    def queries(self) -> dict[str, Any] | None:
        """Errors of random count queries."""
        if self.comparison is None:
            return None
        found = query_error(self.comparison, queries=QUERIES)
        return {
            "queries": found.queries,
            "predicates": found.predicates,
            "selectivity": list(found.selectivity),
            "mean": round_significant(found.mean, 4),
            "median": round_significant(found.median, 4),
            "largest": round_significant(found.largest, 4),
        }

    @functools.cached_property
    def predictions(self) -> dict[str, Any]:
        """How well the sensitive columns can be predicted; `notes` says what was left out and why."""
        made: dict[str, Any] = {"classification": [], "regression": [], "notes": []}
        plan = self.outcome.plan
        sensitive = () if plan is None else plan.sensitive
        targets = [name for name in sensitive if name in self.outcome.table.column_names]
        compared = self._shown
        if compared is None:
            return made
        if not targets:
            made["notes"].append("There is no sensitive column, so nothing was predicted.")
            return made
        if importlib.util.find_spec("sklearn") is None:
            made["notes"].append(
                "Predictions need scikit-learn, which is not installed: pip install 'veil-anonymizer[learn]'."
            )
            return made
        if len(targets) > MOST_TARGETS:
            made["notes"].append(
                f"Only the first {MOST_TARGETS} of {len(targets)} sensitive columns were predicted."
            )
        for name in targets[:MOST_TARGETS]:
            self._predict(compared, name, made)
        used = min(LEARNED_RECORDS, compared.records)
        what = "all" if used == compared.records else f"{used:,} records drawn from"
        shown = " that the release shows" if self.hides else ""
        made["notes"].append(
            f"Models were trained and tested with {what} {compared.records:,} records{shown}, in {FOLDS} folds."
        )
        return made

    def _predict(self, compared: Comparison, name: str, made: dict[str, Any]) -> None:
        column = compared.original[name]
        options: dict[str, Any] = {"folds": FOLDS, "trees": TREES, "max_records": LEARNED_RECORDS}
        if pa.types.is_nested(column.type):
            made["notes"].append(f"Column {name!r} holds lists, which are not predicted.")
            return
        number = is_number(column.type)
        classes = len(encode_values(pc.drop_null(column))[0]) if not number else 2
        present = len(column) - column.null_count
        if present < 2 * FOLDS or not 2 <= classes <= MOST_CLASSES:
            made["notes"].append(
                f"Column {name!r} was not predicted: that takes {2 * FOLDS} values or more, from 2 to {MOST_CLASSES} of "
                f"them different; it has {plural(present, 'value')}, {classes:,} different."
                if not number
                else f"Column {name!r} was not predicted: it has only {plural(present, 'value')}."
            )
            return
        try:
            if number:
                made["regression"] += [
                    {
                        "target": each.target,
                        "method": each.method,
                        "r2": [_two_digits(value) for value in each.r2],
                        "relative": _two_digits(each.relative_rmse),
                    }
                    for each in regression(compared, name, **options)
                ]
                return
            made["classification"] += [
                {
                    "target": each.target,
                    "method": each.method,
                    "records": each.records,
                    "original": round(each.original.accuracy, 4),
                    "released": round(each.released.accuracy, 4),
                    "zero_r": round(each.zero_r.accuracy, 4),
                    "relative": round_significant(each.relative_accuracy),
                    "brier": [round(each.original.brier, 4), round(each.released.brier, 4)],
                    "auc": [round_significant(each.original.auc), round_significant(each.released.auc)],
                }
                for each in classification(compared, name, **options)
            ]
        except InputError:
            made["notes"].append(f"Column {name!r} was not predicted: there is nothing to learn from.")

    def facts(self) -> dict[str, Any]:
        """Return everything together."""
        engine = self.outcome.is_condensed
        return {
            "note": NOT_COMPARED if engine else None,
            "quality": self.quality,
            "statistics": self.statistics,
            "preservation": self.preservation,
            "queries": self.queries,
            "predictions": self.predictions,
        }


def _changes(found: ColumnPreservation) -> dict[str, float | None]:
    """Return how mean and variance change: no more than the figures themselves tell, which have three digits."""
    if found.compared == 1.0 and found.sse == 0.0:
        return {"mean_change": 0.0, "variance_change": 0.0}
    variances = [None if each is None else round_significant(math.sqrt(each)) for each in found.variances]
    squares = [None if each is None else each * each for each in variances]
    return {"mean_change": change(*found.means), "variance_change": change(*squares)}


def _three_digits(value: float | str | None) -> float | str | None:
    return value[:7] if isinstance(value, str) else round_significant(value)  # of a date the month is enough


def _two_digits(value: float | None) -> float | None:
    return None if value is None else round(value, 2) + 0.0  # never -0.0


def _plain(found: Statistics) -> dict[str, Any]:
    kept = ("scale", "count", "mode", "median", "minimum", "maximum", "mean", "standard_deviation")
    made = {name: getattr(found, name) for name in kept if getattr(found, name) is not None}
    return {
        name: round_significant(value, 6) if isinstance(value, float) and name != "mode" else value
        for name, value in made.items()
        if not (isinstance(value, float) and not math.isfinite(value))
    }
