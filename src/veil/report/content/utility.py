"""The utility of a release in a report: without original values, and within a few seconds."""

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
from veil.report.texts import text
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
"""Records for training and testing models."""

FOLDS, TREES, QUERIES, MOST_TARGETS, MOST_CLASSES = 5, 20, 500, 3, 50


class UtilityFigures:
    """Measures of utility. Without a comparison only those of the released table itself.

    If the release `hides` records, unchanged columns are compared on the visible records.
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
        """The information left in the quasi-identifiers, from 0 (nothing) to 1 (all).

        Squared errors depend on distances between values, so they disclose as much as deviations do.
        """
        if self.comparison is None:
            return None
        measures = quality_measures(self.comparison)
        withheld = [each.column for each in measures.attributes if not self._is_safe(each.column)]
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
                for each in measures.attributes
            ],
            "together": {
                name: None if name == "squared_error" and withheld else round(measures.aggregate(name), 4)
                for name in ATTRIBUTE_MEASURES
            },
            "table": {
                **{
                    name: None
                    if name == "record_error" and withheld
                    else round(getattr(measures, name).quality, 4)
                    for name in DATA_MEASURES
                },
                "sse_sst": None if withheld else round(measures.sse_sst, 4),
            },
            "withheld": withheld,
        }

    @functools.cached_property
    def statistics(self) -> list[dict[str, Any]]:
        """Summary statistics of each column; for the input only figures that disclose no person's value."""
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

    def _both(self, statistics: ColumnStatistics) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the statistics before and after, with the same number of digits."""
        before, after = self._before(statistics), self._after(statistics)
        common_names = [
            name for name in ("mean", "standard_deviation") if before.get(name) is not None and name in after
        ]
        if statistics.before == statistics.after:  # the release shows all of them
            before |= {name: after[name] for name in common_names}
        else:
            after |= {name: _three_digits(after[name]) for name in common_names}
        return before, after

    def _before(self, statistics: ColumnStatistics) -> dict[str, Any]:
        before = statistics.before
        if self._is_hidden(statistics.column):
            return {"scale": before.scale, "withheld": True}
        figures: dict[str, Any] = {"scale": before.scale, "count": before.count}
        if before.scale not in ("interval", "ratio"):
            return figures
        if not self._is_safe(statistics.column):
            return {**figures, "withheld": True}
        figures["standard_deviation"] = _three_digits(before.standard_deviation)
        figures["mean"] = _three_digits(before.mean)
        return figures

    def _after(self, statistics: ColumnStatistics) -> dict[str, Any]:
        """Return the statistics of a released column; the mode only if it is unique."""
        figures = _plain(statistics.after)
        values, codes = encode_values(self.outcome.table[statistics.column])
        visible_codes = codes[~self.outcome.by_records.suppressed]
        counts = np.where(pc.is_valid(values), count_codes(visible_codes, len(values), None), 0)
        if np.count_nonzero(counts == counts.max(initial=0)) > 1:
            figures.pop("mode", None)
        return figures

    def _is_hidden(self, name: str) -> bool:
        """Whether every figure of an original column would disclose suppressed records."""
        return self.hides and not is_treated(self.outcome, name)

    @functools.cached_property
    def _visible_comparison(self) -> Comparison | None:
        """The comparison for predicting sensitive columns: on visible records only, if some are hidden."""
        whole, outcome = self.comparison, self.outcome
        if whole is None or not self.hides:
            return whole
        visible_rows = np.flatnonzero(whole.place >= 0)
        visible_rows = visible_rows[~outcome.by_records.suppressed[whole.place[visible_rows]]]
        if not visible_rows.size:
            return None
        return Comparison(
            whole.original.take(pa.array(visible_rows)),
            whole.released.take(pa.array(whole.place[visible_rows])),
            {name: outcome.hierarchies.get(name) for name in whole.columns},
            marker=whole.marker,
        )

    def _is_safe(self, name: str) -> bool:
        assert self.comparison is not None
        if name not in self._safe:
            aggregated = name in self.outcome.roles.microaggregated
            masks = None
            if name in self._counted:
                masks = functools.partial(find_counted_values, self.outcome, self._counted[name])
            self._safe[name] = is_safe_column(self.comparison, name, aggregated=aggregated, label_masks=masks)
        return self._safe[name]

    @functools.cached_property
    def preservation(self) -> dict[str, Any] | None:
        """The preservation of columns of numbers; None if there are too few numbers."""
        if self.comparison is None:
            return None
        shared, hidden = self.comparison.shared, [*filter(self._is_hidden, self.comparison.shared)]
        visible = [name for name in shared if name not in hidden]
        usable = [name for name in visible if numbers(self.comparison, name) is not None]
        measures = preservation(self.comparison, usable if hidden else None)
        if measures is None:
            return None
        safe = {each.column: self._is_safe(each.column) for each in measures.columns}
        columns = [
            {
                "column": each.column,
                "compared": round_significant(each.compared, 4),
                **_changes(each),
                "sse_sst": round_significant(each.sse_sst),
            }
            for each in measures.columns
            if safe[each.column]
        ]
        at = [i for i, each in enumerate(measures.columns) if safe[each.column]]
        matrices = [[[_two_digits(matrix[i][j]) for j in at] for i in at] for matrix in measures.correlations]
        return {
            "columns": columns,
            "withheld": [each.column for each in measures.columns if not safe[each.column]],
            "correlations": {"before": matrices[0], "after": matrices[1]},
        }

    @functools.cached_property
    def queries(self) -> dict[str, Any] | None:
        """Errors of random count queries."""
        if self.comparison is None:
            return None
        errors = query_error(self.comparison, queries=QUERIES)
        return {
            "queries": errors.queries,
            "predicates": errors.predicates,
            "selectivity": list(errors.selectivity),
            "mean": round_significant(errors.mean, 4),
            "median": round_significant(errors.median, 4),
            "largest": round_significant(errors.largest, 4),
        }

    @functools.cached_property
    def predictions(self) -> dict[str, Any]:
        """The accuracy of predicting the sensitive columns; `notes` explains omissions."""
        facts: dict[str, Any] = {"classification": [], "regression": [], "notes": []}
        columns = self.outcome.table.column_names
        targets = [name for name in self.outcome.roles.sensitive if name in columns]
        compared = self._visible_comparison
        if compared is None:
            return facts
        if not targets:
            facts["notes"].append(text("predictions.no_target"))
            return facts
        if importlib.util.find_spec("sklearn") is None:
            facts["notes"].append(text("predictions.no_library"))
            return facts
        if len(targets) > MOST_TARGETS:
            counts = {"predicted": MOST_TARGETS, "all": len(targets)}
            facts["notes"].append(text("predictions.first_targets", **counts))
        for name in targets[:MOST_TARGETS]:
            self._predict(compared, name, facts)
        used = min(LEARNED_RECORDS, compared.records)
        how_many, shown = "all" if used == compared.records else "some", "_shown" if self.hides else ""
        counts = {"used": used, "records": compared.records, "folds": FOLDS}
        facts["notes"].append(text(f"predictions.{how_many}{shown}", **counts))
        return facts

    def _predict(self, compared: Comparison, name: str, facts: dict[str, Any]) -> None:
        column = compared.original[name]
        options: dict[str, Any] = {"folds": FOLDS, "trees": TREES, "max_records": LEARNED_RECORDS}
        if pa.types.is_nested(column.type):
            facts["notes"].append(text("predictions.lists", column=name))
            return
        number = is_number(column.type)
        classes = len(encode_values(pc.drop_null(column))[0]) if not number else 2
        present = len(column) - column.null_count
        if present < 2 * FOLDS or not 2 <= classes <= MOST_CLASSES:
            why = "predictions.too_few_values" if number else "predictions.too_few_or_many_classes"
            counts = {"least": 2 * FOLDS, "most": MOST_CLASSES, "classes": classes}
            facts["notes"].append(text(why, column=name, values=plural(present, "value"), **counts))
            return
        try:
            if number:
                facts["regression"] += [
                    {
                        "target": each.target,
                        "method": each.method,
                        "r2": [_two_digits(value) for value in each.r2],
                        "relative": _two_digits(each.relative_rmse),
                    }
                    for each in regression(compared, name, **options)
                ]
                return
            facts["classification"] += [
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
            facts["notes"].append(text("predictions.nothing_to_learn", column=name))

    def facts(self) -> dict[str, Any]:
        """Return all measures as plain data."""
        outcome, note = self.outcome, None
        if outcome.is_condensed:
            note = text("utility.on_engine")
        elif len(outcome.steps) > len(outcome.results):
            note = text("utility.after_masks")
        return {
            "note": note,
            "quality": self.quality,
            "statistics": self.statistics,
            "preservation": self.preservation,
            "queries": self.queries,
            "predictions": self.predictions,
        }


def _changes(column: ColumnPreservation) -> dict[str, float | None]:
    """Return the changes of mean and variance, computed from figures with three digits."""
    if column.compared == 1.0 and column.sse == 0.0:
        return {"mean_change": 0.0, "variance_change": 0.0}
    variances = [None if each is None else round_significant(math.sqrt(each)) for each in column.variances]
    squares = [None if each is None else each * each for each in variances]
    return {"mean_change": change(*column.means), "variance_change": change(*squares)}


def _three_digits(value: float | str | None) -> float | str | None:
    return value[:7] if isinstance(value, str) else round_significant(value)  # the month of a date


def _two_digits(value: float | None) -> float | None:
    return None if value is None else round(value, 2) + 0.0  # never -0.0


def _plain(statistics: Statistics) -> dict[str, Any]:
    names = ("scale", "count", "mode", "median", "minimum", "maximum", "mean", "standard_deviation")
    figures = {name: getattr(statistics, name) for name in names if getattr(statistics, name) is not None}
    return {
        name: round_significant(value, 6) if isinstance(value, float) and name != "mode" else value
        for name, value in figures.items()
        if not (isinstance(value, float) and not math.isfinite(value))
    }
