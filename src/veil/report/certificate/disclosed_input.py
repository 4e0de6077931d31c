"""What a certificate tells of the input, so that recipients can check models that compare with its distribution.

t-closeness, δ-disclosure privacy and β-likeness compare each class with the input. Whoever has the table alone can count
the input only if the table shows the sensitive cells of every record. Where records are suppressed, the counts of the
input less those of the table are the counts of the suppressed records. These are never told, not even where they would
be harmless as a class of their own: whether they are depends on what these records hold, so that silence would be an
answer, too.
"""

from __future__ import annotations

from typing import Any

from veil.outcome.outcome import Outcome
from veil.published.table import Published
from veil.report.content.disclosure import hides_records
from veil.verification.without_input import Input


def tellable_input(outcome: Outcome) -> Input:
    """Return what recipients may know of the input of a release."""
    chosen = any(model.subset is not None for model in outcome.models)
    if outcome.statement is not None:
        return Input(chosen=chosen)
    if outcome.plan is None or not hides_records(outcome):
        return Input(whole=True, records=outcome.by_records.records, chosen=chosen)
    if outcome.plan.suppressed_rows != "drop":
        return Input(records=outcome.by_records.records, chosen=chosen)
    return Input(chosen=chosen)


def spell_input(known: Input) -> dict[str, Any]:
    """Return what is known of the input as plain data."""
    return {
        "whole": known.whole,
        "records": known.records,
        "chosen": known.chosen,
    }


def read_input(spec: dict[str, Any], published: Published) -> Input:
    """Return what a certificate tells of the input, as far as the table bears it out.

    No table is whole that has suppressed records, and the input has as many records as the table at least.
    """
    records = spec["records"]
    if records is not None and (not isinstance(records, int) or records < published.records):
        records = None
    return Input(
        whole=spec["whole"] is True and not published.suppressed_records,
        records=records,
        chosen=bool(spec["chosen"]),
    )
