"""All risk measures of one table, from one grouping of its records."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from veil.base.keywords import own_keywords
from veil.errors import PlanError
from veil.models import PrivacyModel
from veil.models.presence import sizes_in_population
from veil.models.subset import subset_of
from veil.outcome.outcome import outcome_of
from veil.plan.plan import ASK
from veil.population import REGIONS, Population
from veil.population.size import population_of
from veil.published.table import Published
from veil.risk.attackers import Attackers, attacker_risks
from veil.risk.column_sets import AttributeRisk, affordable_size, attribute_risk, check_size, rank_subsets
from veil.risk.distribution import ClassSizes, RiskBin, class_sizes, risk_distribution
from veil.risk.grouping import (
    Grouped,
    check_columns,
    column_names,
    group_records,
    published_of,
    require_single_records,
    rows_of,
    table_of,
)
from veil.risk.individual import IndividualRisk, class_weights, individual_risk_from
from veil.risk.limits import risk_limits
from veil.risk.projections import projections
from veil.risk.special_uniques import Suda, UniqueSearch, most_subsets
from veil.risk.uniques import PopulationUniques, SampleUniques, population_uniques, sample_uniques
from veil.risk.wildcards import WildcardRisk, sum_matches, wildcard_risk_of
from veil.tables.rows import Knows

USUAL_SUBSETS = 2**11 - 1
"""Default number of subsets of the quasi-identifiers to examine: all those of eleven."""


@dataclass(frozen=True, eq=False)
class RiskAnalysis:
    """The risks of a table.

    Attributes
    ----------
    quasi_identifiers
        Columns that attackers are assumed to know.
    attackers
        Risks by prosecutor, journalist and marketer.
    class_sizes, distribution
        Number of classes of each size, and number of records by risk.
    sample_uniques, population_uniques
        Records that are alone in their class, here and by estimate in the population; the latter is None if
        the population is unknown.
    wildcards
        Risks if suppressed cells match everything.
    attributes
        Distinction and separation of subsets of at most `largest_subset` quasi-identifiers.
    suda
        Minimal sample uniques and scores of each record.
    individual
        Risks of each record by its sampling weight, and of households; None without weights and households.
    """

    quasi_identifiers: tuple[str, ...]
    attackers: Attackers
    class_sizes: ClassSizes
    distribution: tuple[RiskBin, ...]
    sample_uniques: SampleUniques
    population_uniques: PopulationUniques | None
    wildcards: WildcardRisk
    attributes: tuple[AttributeRisk, ...]
    largest_subset: int
    suda: Suda
    individual: IndividualRisk | None

    def to_dict(self) -> dict[str, Any]:
        """Return all figures as plain data, ready for JSON; no value of a record is among them."""
        sizes, uniques, individual = self.class_sizes, self.population_uniques, self.individual
        return {
            "quasi_identifiers": list(self.quasi_identifiers),
            "attackers": asdict(self.attackers),
            "class_sizes": {
                **asdict(sizes),
                "histogram": [list(pair) for pair in sizes.histogram],
                "average": sizes.average,
                "smallest": sizes.smallest,
                "largest": sizes.largest,
            },
            "distribution": [asdict(each) for each in self.distribution],
            "sample_uniques": asdict(self.sample_uniques),
            "population_uniques": None if uniques is None else asdict(uniques),
            "wildcards": asdict(self.wildcards),
            "attributes": [{**asdict(each), "columns": list(each.columns)} for each in self.attributes],
            "largest_subset": self.largest_subset,
            "suda": self.suda.to_dict(),
            "individual": None if individual is None else individual.to_dict(self.attackers.threshold),
        }

    def __str__(self) -> str:
        """Return the most important figures in a few lines."""
        sizes, by, wild, scores = self.class_sizes, self.attackers, self.wildcards, self.suda.scores
        names, above = ", ".join(self.quasi_identifiers), f"of the records above {by.threshold:g}"
        lines = [
            f"{sizes.records:,} records in {sizes.classes:,} classes by {names}; {sizes.suppressed:,} suppressed"
        ]
        for name, attack in (("prosecutor", by.prosecutor), ("journalist", by.journalist)):
            risks = f"highest {_share(attack.highest)}, {_share(attack.at_risk)} {above}"
            lines.append(f"{name}:  {risks}, success {_share(attack.success_rate)}")
        lines.append(f"marketer:    success {_share(by.marketer.success_rate)}")
        risks = f"highest {_share(wild.highest)}, {_share(wild.at_risk)} {above}"
        lines.append(f"wildcards:   {risks}, average {_share(wild.average)}")
        alone = self.sample_uniques
        lines.append(f"uniques:     {alone.records:,} records ({_share(alone.share)})")
        if (rule := self.population_uniques) is not None:
            people = f"{rule.dankar.uniques:,.0f} of {rule.population:,} people unique ({_share(rule.dankar.share)})"
            lines.append(f"population:  {people}, as {rule.chosen} estimates")
        scored = f"{np.count_nonzero(scores):,} records with a score, highest {scores.max(initial=0):g}"
        lines.append(f"SUDA:        {scored}, DIS {_share(self.suda.dis)}")
        if self.individual is not None:
            lines.append(f"individual:  {self.individual.expected:,.2f} re-identifications expected")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from veil.base.html import html_table

        lines = [line.partition(":") for line in str(self).splitlines() if ":" in line]
        return html_table(("", ""), [(name.strip(), figures.strip()) for name, _, figures in lines], "Risks")


@own_keywords
def analyze(
    source: Any,
    quasi_identifiers: str | Iterable[str] | None = None,
    *,
    population: Any = None,
    subset: Any = None,
    weights: str | None = None,
    household: str | None = None,
    threshold: float = 0.2,
    models: Iterable[PrivacyModel] = (),
    largest_subset: int | None = None,
    sampling_fraction: float | None = None,
    person: str | None = ASK,
    knows: Knows = "one row",
    marker: str | None = "*",
    untouched: bool = False,
) -> RiskAnalysis:
    """Analyze the risks of a table.

    Parameters
    ----------
    source
        A pandas, polars or pyarrow table, the path of a file, a release, a published table, or a table in an
        engine (see `veil.engines`), of which only the quasi-identifiers are read.
    quasi_identifiers
        Columns that an attacker may know; a release and a published table have their own.
    population
        The population the records were sampled from: its size, a region or a `Population`, for estimates of
        population uniques; or a table of all of it, generalized like the source, for the journalist, too. If
        people are counted, it needs their column.
    subset
        The rows of the source that are released, if not all; the whole source is then the population.
    weights, household
        Columns with the sampling weight and the household of each record. With a release, columns of its
        input are accepted, whether they are published or not.
    threshold
        Risk above which a record is at risk.
    models
        Privacy models that the table is known to fulfil, which bound the estimated risks.
    largest_subset
        Largest subset of the quasi-identifiers to examine, for attribute risks and SUDA. By default there is
        no limit for up to eleven of them, and above it is the size that some 2,000 subsets allow.
    sampling_fraction
        Share of the population in the table, for DIS-SUDA; by default that of `population`, or 0.01.
    person, knows
        The column that identifies people, and whether attackers know "one row" of a person or "all rows";
        None if every row is a different person. A release has its own. By default, a table in which people
        seem to have several rows is refused. A record is then a person in a class; subsets of columns,
        wildcards and single records count a person once for each combination. Population uniques are
        estimated with "all rows" only, as estimators need a sample of people, not of rows.
    marker
        Text of suppressed cells.
    untouched
        Whether the table is as it was collected, so that a cell without a value was not suppressed.

    >>> table = pa.table({"age": [20, 20, 30, 30], "sex": ["f", "f", "m", "f"]})
    >>> print(analyze(table, ["age", "sex"]))
    4 records in 3 classes by age, sex; 0 suppressed
    prosecutor:  highest 100 %, 100 % of the records above 0.2, success 75 %
    journalist:  highest 100 %, 100 % of the records above 0.2, success 75 %
    marketer:    success 75 %
    wildcards:   highest 100 %, 100 % of the records above 0.2, average 75 %
    uniques:     2 records (50 %)
    SUDA:        2 records with a score, highest 1, DIS 1 %
    """
    published, region = _open_table(
        source, quasi_identifiers, population, subset, marker, untouched, person, knows
    )
    individuals = [each for each in (weights, household) if each is not None]
    if individuals:
        require_single_records(published.rows)
    grouped = group_records(published, untouched=untouched)
    sizes, columns = published.sizes, len(grouped.names)
    everybody = None if published.population is None else sizes_in_population(published)
    limits = risk_limits(models, published.records)
    attackers = attacker_risks(sizes, threshold, everybody=everybody, limits=limits)
    uniques = None
    # Estimators need a sample of people: it is one if classes are of people who have the same rows.
    owners = published.rows.owners
    if region is not None and (owners.are_records or owners.know_all_rows):
        uniques = population_uniques(sizes, region.size_for(published.rows.people))
    if sampling_fraction is None:
        sampling_fraction = 0.01 if uniques is None else uniques.sampling_fraction or 0.01
    largest = affordable_size(columns, USUAL_SUBSETS) if largest_subset is None else largest_subset
    largest = check_size(largest, columns, most_subsets(grouped))
    attributes, special = _subsets(grouped, largest, untouched or published.flag is not None)
    table = _with_columns_of_input(published.table, source, individuals)
    check_columns(table, individuals)
    weight_sums = None if weights is None else class_weights(grouped, table, weights)
    matched, stands_for = sum_matches(grouped, weight_sums)
    individual = None
    if weights is not None or household is not None:
        living = None if household is None else table[household]
        individual = individual_risk_from(grouped, matched, stands_for, living)
    return RiskAnalysis(
        grouped.names,
        attackers,
        class_sizes(sizes, published.suppressed_records),
        risk_distribution(sizes),
        sample_uniques(sizes),
        uniques,
        wildcard_risk_of(grouped, matched, threshold),
        attributes,
        largest,
        special.score(sampling_fraction),
        individual,
    )


def _with_columns_of_input(table: pa.Table, source: Any, names: Iterable[str]) -> pa.Table:
    """Add columns that a release lacks, from the rows of its input."""
    outcome = outcome_of(source)
    if outcome is None:
        return table
    for name in names:
        if name not in table.column_names and name in outcome.source.table.column_names:
            table = table.append_column(name, outcome.source.table[name].take(pa.array(outcome.origins)))
    return table


def _subsets(grouped: Grouped, largest: int, counted: bool) -> tuple[tuple[AttributeRisk, ...], UniqueSearch]:
    """Compute attribute risks and SUDA in one pass over the subsets of the quasi-identifiers."""
    special = UniqueSearch(grouped, largest)
    risks = []
    for each in projections(grouped, largest):
        special.add(each)
        risks.append(attribute_risk(grouped, each, counted))
    return rank_subsets(risks), special


def _open_table(
    source: Any,
    quasi_identifiers: Any,
    population: Any,
    subset: Any,
    marker: str | None,
    untouched: bool,
    person: str | None,
    knows: Knows,
) -> tuple[Published, Population | None]:
    """Return the published table and its population, if that is known."""
    everybody: pa.Table | None = None
    region: Population | None = None
    if isinstance(population, int | Population | Mapping) or (
        isinstance(population, str) and population in REGIONS
    ):
        region = population_of(population)
    elif population is not None:
        if isinstance(source, Published):
            raise PlanError("`population` should be a number or a region for a published table")
        everybody = table_of(population)
        check_columns(everybody, column_names(quasi_identifiers))
    if subset is not None:
        if isinstance(source, Published) or everybody is not None:
            raise PlanError("`subset` should be left out if the population is given as a table")
        names = column_names(quasi_identifiers)
        rows = rows_of(source, names, person)
        require_single_records(rows)
        check_columns(rows.table, names)
        mask = subset_of(subset).mask(rows.table)
        everybody, source, person = rows.table.select(names), rows.table.filter(pa.array(mask)), None
    published = published_of(
        source,
        quasi_identifiers,
        marker=marker,
        untouched=untouched,
        population=everybody,
        person=person,
        knows=knows,
    )
    if region is None and isinstance(published.region, Population):
        region = published.region
    if region is None and published.population is not None:
        region = Population(size=max(1, published.population.people))
    return published, region


def _share(value: float) -> str:
    return f"{100 * value:.3g} %"
