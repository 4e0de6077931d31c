"""Measurements of a release, computed on first use, without original values.

Reports, pictures and notebooks read them. Everything is plain data: numbers, texts, lists, dictionaries.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.errors import InputError
from veil.outcome.generalize import Choice
from veil.outcome.outcome import Outcome
from veil.population import Population
from veil.published.table import Published
from veil.report.content.association import Shares, associations, codes_of, shares_of
from veil.report.content.disclosure import hides_records, hides_search, is_treated, shown_rows
from veil.report.content.distributions import frequencies
from veil.report.content.utility import UtilityFigures
from veil.risk import analyze
from veil.risk.analysis import RiskAnalysis
from veil.risk.refinement import refine
from veil.tables.rows import Owners, Rows
from veil.tables.text import canonical_text
from veil.utility import Comparison
from veil.utility.comparison import has_values
from veil.utility.labelled import LabelledTable
from veil.utility.labels import LabelledColumn

MOST_COLUMNS = 16
"""Columns whose associations fit on a page."""

MOST_SHARED_VALUES = 1_000
"""Values of a column over which labels are spread."""

MOST_NODES = 2_000
"""Nodes of the solution space that are listed."""

MOST_SUBSETS = 20
"""Sets of columns that are listed with their distinction and separation."""


class Findings:
    """Measurements of a release.

    With `private`, only of the released table itself; with `exact`, also those that depend on cells of
    suppressed records, for the data holder only.
    """

    def __init__(self, outcome: Outcome, *, private: bool = False, exact: bool = False) -> None:
        self.outcome, self.private, self.exact = outcome, private, exact
        self.hides = not exact and hides_records(outcome)

    def _is_withheld(self, name: str) -> bool:
        """Whether figures of an original column would disclose suppressed records."""
        return self.hides and not is_treated(self.outcome, name)

    @functools.cached_property
    def comparison(self) -> Comparison:
        """The input beside the release."""
        return Comparison.of(self.outcome)

    # --- risks ------------------------------------------------------------------------------------

    @functools.cached_property
    def risks(self) -> dict[str, Any]:
        """The re-identification risks of both tables."""
        return {
            "threshold": self.after.attackers.threshold,
            "before": None if self.before is None else _risk(self.before),
            "after": _risk(self.after),
            "refinements": [] if self.private else [each.to_dict() for each in refine(self.outcome)],
        }

    @functools.cached_property
    def before(self) -> RiskAnalysis | None:
        """The risks of the input, as it was collected."""
        if self.private:
            return None
        outcome, names = self.outcome, self.outcome.by_records.names
        if outcome.prepared is None and outcome.is_condensed:
            return None  # the combinations of the input were never in memory at once
        names = [name for name in names if name in outcome.original.column_names]
        rows, prepared, population = outcome.before, outcome.prepared, None
        if prepared is not None and prepared.subset is not None:
            population, rows = rows.showing(rows.table.select(names)), rows.take(prepared.subset)
        published = Published(rows, names, suppressed="none", population=population)
        population_size = None if population is not None else self._people()
        return analyze(published, population=population_size, untouched=True)

    @functools.cached_property
    def after(self) -> RiskAnalysis:
        """The risks of the release."""
        outcome = self.outcome
        population = self._population()
        published = outcome.by_people
        if population is not None and outcome.prepared is not None:
            published = Published(
                outcome.after.owned(Owners(outcome.table.num_rows)),
                published.names,
                marker=outcome.marker,
                flag=outcome.flag,
                population=Rows.of(population, outcome.prepared.rows.weights),
            )
        population_size = None if population is not None else self._people()
        untouched = outcome.plan is None
        return analyze(published, population=population_size, models=outcome.models, untouched=untouched)

    def _people(self) -> Population | None:
        """Return the size of the population in a model of the plan."""
        for model in self.outcome.models:
            population = getattr(model, "population", None)
            if isinstance(population, Population):
                return population
        return None

    def _population(self) -> pa.Table | None:
        """Return the population, generalized like the release, if only a subset is released."""
        prepared, parts = self.outcome.prepared, self.outcome.parts
        if prepared is None or prepared.subset is None or len(parts) != 1:
            return None
        columns = {
            name: pa.array(hierarchy.labels[level], pa.string()).take(
                pa.array(hierarchy.label_map(level)[codes])
            )
            for name, hierarchy, codes, level in zip(
                prepared.encoding.names,
                prepared.encoding.hierarchies,
                prepared.codes,
                parts[0].levels,
                strict=True,
            )
        }
        return pa.table(columns)

    # --- utility ----------------------------------------------------------------------------------

    @functools.cached_property
    def utility(self) -> UtilityFigures:
        """The utility of the release. Tables of an engine are not compared row by row."""
        is_comparable = not self.private and not self.outcome.is_condensed and has_values(self.outcome)
        comparison = self.comparison if is_comparable else None
        return UtilityFigures(self.outcome, comparison, self.distributions, hides=self.hides)

    @functools.cached_property
    def distributions(self) -> list[dict[str, Any]]:
        """The frequencies of the released values, before and after."""
        names = [name for name in self.outcome.table.column_names if self._is_spelled(name)]
        return [
            frequencies(
                self.outcome,
                name,
                private=self.private,
                withheld=self._is_withheld(name),
                labels=self._labels_of_several_levels(name),
                exact=self.exact,
            )
            for name in names
        ]

    @functools.cached_property
    def associations(self) -> dict[str, Any]:
        """The associations of the columns, before and after."""
        table, flag, masked = self.outcome.table, self.outcome.flag, self.outcome.roles.identifying
        names = [
            name
            for name in table.column_names
            if name != flag and name not in masked and self._is_spelled(name)
        ]
        some = names[:MOST_COLUMNS]
        published = self.outcome.by_records
        visible_mask = ~published.suppressed
        counts = published.rows.weights.take(visible_mask).counts
        return {
            "columns": some,
            "left_out": len(names) - len(some),
            "before": None if self.private else self._associations_before(some),
            "after": associations(
                [self._released_column(name, visible_mask, counts) for name in some], counts
            ),
        }

    def _labels_of_several_levels(self, name: str) -> LabelledColumn | None:
        """Return the labels of a column, if they are of several levels; None if they are not, or are too many."""
        outcome = self.outcome
        if len(outcome.parts) < 2 or name not in outcome.hierarchies or name in outcome.roles.microaggregated:
            return None
        column = self._labelled[name]
        return column if column.is_mixed and len(column.values) <= MOST_SHARED_VALUES else None

    @functools.cached_property
    def _labelled(self) -> LabelledTable:
        return LabelledTable.of(self.outcome)

    def _released_column(
        self, name: str, visible_mask: NDArray[np.bool_], weights: NDArray[np.int64] | None
    ) -> NDArray[np.int64] | Shares:
        column = self._labels_of_several_levels(name)
        if column is not None:
            return shares_of(column, visible_mask, weights)
        return codes_of(self.outcome.table[name].filter(pa.array(visible_mask)), weights)

    def _associations_before(self, names: list[str]) -> list[list[float | None]] | None:
        outcome, table, prepared = self.outcome, self.outcome.original, self.outcome.prepared
        if prepared is None and (outcome.is_condensed or not set(names) <= set(table.column_names)):
            return None
        if self.hides:
            rows = shown_rows(outcome)
        elif prepared is None or prepared.subset is None:
            rows = np.arange(table.num_rows)
        else:
            rows = np.flatnonzero(prepared.subset)
        weights = None if prepared is None else prepared.weights_of(rows)
        some = table.select(names).take(pa.array(rows))
        return associations([codes_of(some[name], weights) for name in names], weights)

    def _is_spelled(self, name: str) -> bool:
        try:
            canonical_text(self.outcome.table[name].slice(0, 0), column=name)
        except InputError:
            return False
        return True

    # --- the search -------------------------------------------------------------------------------

    @property
    def hides_search(self) -> bool:
        """Whether the search depends on sensitive values of suppressed records."""
        return self.hides and hides_search(self.outcome)

    @functools.cached_property
    def space(self) -> dict[str, Any] | None:
        """The transformations that the search evaluated; None if there was no search or it is not shown."""
        choice, prepared = self.outcome.trace(Choice), self.outcome.prepared
        if choice is None or prepared is None or self.private or self.hides_search:
            return None
        space, records = choice.found.space, max(1, prepared.sample.records)
        nodes = list(space.evaluated.values())
        sample_nodes = nodes if len(nodes) <= MOST_NODES else nodes[:: math.ceil(len(nodes) / MOST_NODES)]
        sums: dict[int, dict[str, Any]] = {}
        for node in nodes:
            row = sums.setdefault(
                sum(node.levels), {"evaluated": 0, "anonymous": 0, "best": None, "least_suppressed": 1.0}
            )
            row["evaluated"] += 1
            row["anonymous"] += node.anonymous
            row["least_suppressed"] = min(row["least_suppressed"], node.tally.suppressed / records)
            if node.anonymous and node.score is not None:
                score = node.score[0]
                row["best"] = score if row["best"] is None else min(row["best"], score)
        return {
            "size": space.size,
            "evaluated": len(nodes),
            "minimum": list(space.minimum),
            "maximum": list(space.maximum),
            "chosen": list(choice.levels),
            "by_level_sum": [{"level_sum": key, **sums[key]} for key in sorted(sums)],
            "nodes": [
                {
                    "levels": list(node.levels),
                    "anonymous": node.anonymous,
                    "score": None if node.score is None else node.score[0],
                    "suppressed": node.tally.suppressed / records,
                }
                for node in sample_nodes
            ],
        }

    @functools.cached_property
    def curve(self) -> list[dict[str, Any]]:
        """The best scores over the time of the search."""
        choice = self.outcome.trace(Choice)
        if self.private or choice is None or self.hides_search:
            return []
        return [
            {"seconds": seconds, "checked": checked, "score": score[0]}
            for seconds, checked, score in choice.found.curve
        ]


def _risk(analysis: RiskAnalysis) -> dict[str, Any]:
    """Return the figures of an analysis about the whole table, without those of single records."""
    figures = analysis.to_dict()
    figures.pop("individual")
    sizes, scores = figures["class_sizes"], figures["suda"]["dis_scores"]
    # A row of a condensed table is many records; a row with a score is one.
    scores[0]["records"] = (
        sizes["records"] + sizes["suppressed"] - sum(each["records"] for each in scores[1:])
    )
    histogram = sizes.pop("histogram")
    figures["class_sizes"]["groups"] = grouped_sizes(histogram)
    for each in figures["attributes"]:
        each["distinction"], each["separation"] = round(each["distinction"], 4), round(each["separation"], 4)
    singles = [each for each in figures["attributes"] if len(each["columns"]) == 1]
    sets = [each for each in figures["attributes"] if len(each["columns"]) > 1]
    figures["attributes"] = {
        "single": singles,
        "sets": sorted(sets, key=lambda each: (-each["separation"], len(each["columns"])))[:MOST_SUBSETS],
        "sets_in_all": len(sets),
    }
    return figures


def grouped_sizes(histogram: list[Any]) -> list[dict[str, int]]:
    """Count classes and records by class size: sizes up to 10 one by one, then in steps of 1, 2, 5.

    >>> grouped_sizes([(1, 4), (12, 1)])
    [{'from': 1, 'to': 1, 'classes': 4, 'records': 4}, {'from': 11, 'to': 20, 'classes': 1, 'records': 12}]
    """
    ends = list(range(1, 11))
    while histogram and ends[-1] < histogram[-1][0]:
        last = ends[-1]
        ends.append(last * 5 // 2 if str(last)[0] == "2" else last * 2)
    groups = [
        {"from": start + 1, "to": end, "classes": 0, "records": 0}
        for start, end in zip([0, *ends], ends, strict=False)
    ]
    places = np.searchsorted(ends, [size for size, _ in histogram])
    for (size, classes), place in zip(histogram, places.tolist(), strict=True):
        groups[place]["classes"] += classes
        groups[place]["records"] += size * classes
    return [each for each in groups if each["classes"]]
