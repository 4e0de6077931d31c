"""Individual risk of records drawn with sampling weights, and of their households.

A class of f records with the sum of weights W represents about W people. Their true number F is unknown;
given the sample, it is assumed to be negative binomial with the sampling probability p = f / W:

    P(F = h) = C(h - 1, f - 1) p^f (1 - p)^(h - f)   for h = f, f + 1, ...

and the risk of a record is the expectation of 1/F (Benedetti and Franconi, 1998; Franconi and Polettini,
2004, for µ-Argus). With q = 1 - p that is

    r = p^f/f 2F1(f, f; f + 1; q) = p/f 2F1(1, 1; f + 1; q) = integral from 0 to 1 of y^(f-1) / (1 + y q/p)

The first form is the published one, the second follows by Euler's transformation and has no cancellation: its
series is 1 + q/(f+1) (1 + 2q/(f+2) (1 + ...)). It converges fast for a small q or a large f. Otherwise the
integral gives r = (p/q) ln(1/p) for f = 1, and the recursion (1/f - r) p/q the next f, with errors that
shrink at each step for p <= 1/4. The closed forms for f = 2 and f = 3 in the literature are its first steps.

A household is re-identified if one of its members is: 1 minus the product of 1 - r over its members.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from veil.base.compiled import kernel
from veil.base.html import html_table
from veil.base.keywords import own_keywords
from veil.errors import InputError, ParameterError
from veil.plan.plan import ASK
from veil.risk.grouping import Grouped, check_columns, group_records, published_of, require_single_records
from veil.risk.wildcards import sum_matches
from veil.tables.columns import encode_values, is_number

Method = Literal["exact", "approximate"]


@dataclass(frozen=True, eq=False)
class HouseholdRisk:
    """Probability, for each record, that a member of its household is re-identified.

    `expected` is the expected number of records in households with a re-identified member, `rate` the same
    divided by the number of records, and `households` the expected number of such households.
    """

    risks: NDArray[np.float64]
    expected: float
    rate: float
    households: float


@dataclass(frozen=True, eq=False)
class IndividualRisk:
    """Risk of each record of a sample, and the sums over all records.

    Attributes
    ----------
    risks
        Expectation of 1 / (people of the population who match the record). 0 for suppressed records.
    frequencies, population_frequencies
        Records that match each record, and the sum of their weights.
    expected
        Expected number of re-identifications: the sum of the risks.
    rate
        The same, divided by the number of records.
    household
        Risks of households; None if these are unknown.
    """

    risks: NDArray[np.float64]
    frequencies: NDArray[np.int64]
    population_frequencies: NDArray[np.float64]
    expected: float
    rate: float
    household: HouseholdRisk | None

    def _repr_html_(self) -> str:
        summary = self.to_dict()
        rows = [
            ("re-identifications to be expected", f"{summary['expected']:,.1f} of {self.risks.size:,}"),
            ("average risk of a record", f"{summary['rate']:.2%}"),
            ("highest risk of a record", f"{summary['highest']:.2%}"),
            (f"records with a risk above {summary['threshold']:.0%}", f"{summary['at_risk']:.2%}"),
        ]
        return html_table(("", ""), rows, "Individual risk")

    def to_dict(self, threshold: float = 0.2) -> dict[str, Any]:
        """Return a summary in plain numbers, with the share of the records above a risk."""
        return {
            "expected": self.expected,
            "rate": self.rate,
            "highest": float(self.risks.max(initial=0.0)),
            "at_risk": int(np.count_nonzero(self.risks > threshold)) / max(1, self.risks.size),
            "threshold": threshold,
            "household": None
            if self.household is None
            else {
                "expected": self.household.expected,
                "rate": self.household.rate,
                "highest": float(self.household.risks.max(initial=0.0)),
                "households": self.household.households,
            },
        }


@own_keywords
def individual_risk(
    source: Any,
    quasi_identifiers: str | Iterable[str] | None = None,
    *,
    weights: str | None = None,
    household: str | None = None,
    method: Method = "exact",
    marker: str | None = "*",
    untouched: bool = False,
    person: str | None = ASK,
) -> IndividualRisk:
    """Estimate the risk of each record from its sampling weight.

    Parameters
    ----------
    source, quasi_identifiers, marker, untouched
        As for `analyze`. Suppressed cells match every value.
    person
        None if every row is a different person: otherwise there is no such estimate.
    weights
        Column with the sampling weight of each record: the number of people it represents. Without it the
        table is the whole population, and risks are 1 / frequency.
    household
        Column with the household of each record. A record without a value is a household of its own.
    method
        "exact", or "approximate": p / (f - q) for frequencies above 2, as by default in sdcMicro.

    >>> import pyarrow as pa
    >>> table = pa.table({"age": [20, 20, 30], "weight": [40.0, 60.0, 45.5]})
    >>> individual_risk(table, "age", weights="weight").risks.round(6).tolist()
    [0.018779, 0.018779, 0.085791]
    """
    published = published_of(source, quasi_identifiers, marker=marker, untouched=untouched, person=person)
    require_single_records(published.rows)
    grouped = group_records(published, untouched=untouched)
    return individual_risk_of(grouped, published.table, weights, household, method)


def individual_risk_of(
    grouped: Grouped,
    table: pa.Table,
    weights: str | None,
    household: str | None,
    method: Method = "exact",
) -> IndividualRisk:
    """Estimate the risks of the records of a table that is already grouped."""
    if method not in ("exact", "approximate"):
        raise ParameterError(f"`method` should be 'exact' or 'approximate', not {method!r}")
    check_columns(table, [each for each in (weights, household) if each is not None])
    frequencies, people = sum_matches(
        grouped, None if weights is None else class_weights(grouped, table, weights)
    )
    return individual_risk_from(
        grouped, frequencies, people, None if household is None else table[household], method
    )


def individual_risk_from(
    grouped: Grouped,
    frequencies: NDArray[np.int64],
    people: NDArray[np.float64],
    household: pa.ChunkedArray | None,
    method: Method = "exact",
) -> IndividualRisk:
    """Estimate the risks from the number of records that match each class, and of people they represent."""
    risks = grouped.spread(expected_inverses(frequencies, people, method))
    expected = math.fsum(risks)
    return IndividualRisk(
        risks,
        grouped.spread(frequencies),
        grouped.spread(people),
        expected,
        expected / max(1, risks.size),
        None if household is None else household_risk(risks, _households(household)),
    )


def class_weights(grouped: Grouped, table: pa.Table, weights: str) -> NDArray[np.float64]:
    """Add up the sampling weights of each class."""
    visible_mask = grouped.of_record >= 0
    each = sampling_weights(table, weights)[visible_mask]
    return np.bincount(grouped.of_record[visible_mask], each, grouped.sizes.size).astype(np.float64)


def household_risk(risks: NDArray[np.float64], households: NDArray[np.int64]) -> HouseholdRisk:
    """Combine the risks of the members of each household; households are numbered from 0.

    >>> household_risk(np.array([0.5, 0.5, 0.1]), np.array([0, 0, 1])).risks.round(3).tolist()
    [0.75, 0.75, 0.1]
    """
    safe = np.zeros(int(households.max(initial=-1)) + 1)
    with np.errstate(divide="ignore"):  # a risk of 1 has the logarithm of 0
        np.add.at(safe, households, np.log1p(-risks))
    household_risks = -np.expm1(safe)
    of_record = household_risks[households]
    expected = math.fsum(of_record)
    return HouseholdRisk(of_record, expected, expected / max(1, risks.size), math.fsum(household_risks))


def _households(column: pa.ChunkedArray) -> NDArray[np.int64]:
    """Number the households; a record without a value is a household of its own."""
    values, codes = encode_values(column)
    numbers = codes.astype(np.int64)
    alone = np.array(pc.is_null(values), dtype=np.bool_)[codes]
    numbers[alone] = len(values) + np.arange(np.count_nonzero(alone))
    return numbers


def sampling_weights(table: pa.Table, name: str) -> NDArray[np.float64]:
    """Return the weights of all records, after checking that they are positive numbers."""
    column = table[name]
    if not is_number(column.type):
        raise InputError(
            f"column {name!r} should hold sampling weights, which are numbers, not values of type {column.type}"
        )
    weights: NDArray[np.float64] = np.array(column.cast(pa.float64(), safe=False), dtype=np.float64)
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights > 0)))
    if bad.size:
        what = "no weight" if np.isnan(weights[bad[0]]) else f"the weight {weights[bad[0]]:g}"
        raise InputError(
            f"column {name!r} has {what} in row {bad[0] + 1}. Each record should represent a positive "
            "number of people"
        )
    return weights


# --- the expectation of 1/F -----------------------------------------------------------------------


def expected_inverses(
    frequencies: NDArray[np.int64], people: NDArray[np.float64], method: Method = "exact"
) -> NDArray[np.float64]:
    """Return the expectation of 1/F for classes of f records that represent a number of people.

    Classes that represent no more people than they have records are complete: 1/f.

    >>> expected_inverses(np.array([1, 2, 3]), np.array([45.5, 100.0, 3.0])).round(6).tolist()
    [0.085791, 0.018779, 0.333333]
    """
    inverses = _expected_inverses(frequencies, people)
    if method == "approximate":
        f, q = frequencies.astype(np.float64), 1 - frequencies / people
        many = (f > 2) & (people > f)
        inverses[many] = ((1 - q) / (f - q))[many]
    return inverses


_SERIES_FROM = 40
"""Frequency from which 30 terms of the series are exact to double precision, for any q."""


@kernel
def _expected_inverses(frequencies: NDArray[np.int64], people: NDArray[np.float64]) -> NDArray[np.float64]:
    inverses = np.empty(frequencies.size)
    for k in range(frequencies.size):
        f = frequencies[k]
        if people[k] <= f:
            inverses[k] = 1.0 / f
            continue
        p = f / people[k]
        q = (people[k] - f) / people[k]
        if p > 0.25 or f >= _SERIES_FROM:
            term = total = 1.0
            n = 0
            while term > 1e-17 * total:
                n += 1
                term *= q * n / (f + n)
                total += term
            inverses[k] = p / f * total
        else:
            odds = p / q
            risk = -odds * np.log(p)
            for each in range(1, f):
                risk = (1.0 / each - risk) * odds
            inverses[k] = risk
    return inverses
