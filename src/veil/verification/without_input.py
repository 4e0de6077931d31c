"""The check of a published table without the input. A promise that cannot be checked is not called broken."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from veil.base.wording import Phrase
from veil.errors import VeilError
from veil.models import PrivacyModel
from veil.plan.plan import Plan
from veil.published.finding import Finding
from veil.published.table import Published
from veil.tables.rows import Rows
from veil.verification.release import verify_model


@dataclass(frozen=True)
class Input:
    """Facts about the input that are known from the published table or its certificate.

    Attributes
    ----------
    whole : bool
        Whether the table shows the sensitive cells of every record, and so the distribution of the input.
    records : int, optional
        Number of records; None if unknown.
    chosen : bool
        Whether the records were chosen from a larger population, of which nothing is known.
    several : bool
        Whether people may have several rows, and the table does not show which.
    """

    whole: bool = False
    records: int | None = None
    chosen: bool = False
    several: bool = False

    @classmethod
    def behind(cls, published: Published, plan: Plan) -> Input:
        """Return the facts about the input that follow from a plan and the table made by it."""
        dropped = plan.suppressed_rows == "drop" and plan.suppression_limit > 0
        return cls(
            whole=not dropped and not published.suppressed_records,
            records=None if dropped else published.records,
            chosen=any(model.subset is not None for model in plan.models),
            several=plan.person_column is not None and published.rows.owners.are_records,
        )


def verify_without_input(published: Published, models: Sequence[PrivacyModel], facts: Input) -> list[Finding]:
    """Check each model on a published table alone; those that need the input are reported as not checked."""
    return [_verify_model(published, model, facts) for model in models]


def _verify_model(published: Published, model: PrivacyModel, facts: Input) -> Finding:
    needs = model.compares_with
    if facts.several:
        return _judge_rows(published, model)
    if "population" in needs and facts.chosen:
        return _not_checked(published, model, "that takes the people that the records were chosen from")
    if "hierarchies" in needs:
        return _not_checked(published, model, "that takes the hierarchies")
    if facts.whole:
        return verify_model(published, model)
    if "distribution" in needs:
        names = " and ".join(map(repr, model.attribute_names))
        return _not_checked(
            published,
            model,
            f"that takes how often the input has each value of {names}, and records are suppressed of which nothing is "
            "told",
        )
    if "records" in needs:
        # Suppressed rows do not show whose they are, so that records say nothing of people.
        if facts.records is None or not published.rows.owners.are_records:
            return _not_checked(
                published,
                model,
                "that takes the number of records or people of the input, which may have had more",
            )
        return verify_model(_with_baseline(published, facts.records), model)
    return verify_model(published, model)


def _counting_people(finding: Finding) -> str:
    return Phrase("{promise}, counting people", promise=finding.promise)


def _judge_rows(published: Published, model: PrivacyModel) -> Finding:
    """Check a model on rows of unknown owners: too few rows break it, as there are at most as many owners."""
    if not model.attribute_names and not model.compares_with and model.monotone_suppression:
        finding = model.verify(published)
        if not finding.holds:
            return Finding(_counting_people(finding), False, f"{finding.measured}, even in rows")
    reason = "that takes whose row each row is, which the table does not tell"
    finding = _not_checked(published, model, reason)
    return Finding.not_checked(_counting_people(finding), finding.measured)


def _with_baseline(published: Published, records: int) -> Published:
    """Return the table with a baseline of which only the number of records is known."""
    result = copy.copy(published)
    result.baseline = Rows.of(pa.table({"": [0]}), np.array([records], np.int64))
    return result


def _not_checked(published: Published, model: PrivacyModel, reason: str) -> Finding:
    try:
        promise = model.verify(published).promise
    except (VeilError, KeyError):
        promise = str(model)
    return Finding.not_checked(promise, reason)


def verify_columns(columns: Sequence[str], plan: Plan, flag: str | None) -> Finding:
    """Check that a published table has the columns of a plan, each once, and no others."""
    planned = {name for role, names in plan.roles.items() if role != "identifying" for name in names}
    allowed = {*planned, *plan.identifying, flag}
    lacking = [f"without {name!r}" for name in sorted(planned.difference(columns))]
    further = [f"also has {name!r}" for name in columns if name not in allowed and plan.others != "keep"]
    twice = [f"{name!r} {number} times" for name, number in Counter(columns).items() if number > 1]
    problems = "; ".join([*lacking, *further, *twice])
    promise = "the table has the columns of the plan and no others"
    return Finding(promise, not problems, problems or Phrase("{count} columns", count=len(columns)))


def unjudged_columns(columns: Sequence[str], model_columns: Sequence[str]) -> tuple[str, ...]:
    """Return the open question about columns that no model reads, if there are any."""
    names = [repr(name) for name in columns if name not in model_columns]
    return (f"what no model judges: {', '.join(names)}",) if names else ()
