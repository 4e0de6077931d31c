"""Facts about the input in a certificate, for models that compare a release with its distribution.

t-closeness, δ-disclosure privacy and β-likeness compare each class with the input. A recipient can count the
input only if the table shows the sensitive cells of every record. Where records are suppressed, the counts of
the input minus those of the table are the counts of the suppressed records. These are never disclosed, not
even where they would be harmless as a class of their own: whether they are depends on the suppressed values,
so that withholding them would be an answer, too.
"""

from __future__ import annotations

from typing import Any

from veil.outcome.outcome import Outcome
from veil.published.table import Published
from veil.report.content.disclosure import hides_records
from veil.verification.without_input import Input


def input_to_disclose(outcome: Outcome) -> Input:
    """Return the facts about the input of a release that recipients may know."""
    has_subset = any(model.subset is not None for model in outcome.models)
    if outcome.statement is not None:
        return Input(chosen=has_subset)
    treatment = outcome.roles.suppressed_rows
    if treatment == "none" or not hides_records(outcome):
        return Input(whole=True, records=outcome.by_records.records, chosen=has_subset)
    if treatment != "drop":
        return Input(records=outcome.by_records.records, chosen=has_subset)
    return Input(chosen=has_subset)


def spell_input(facts: Input) -> dict[str, Any]:
    """Return the disclosed facts as plain data."""
    return {name: getattr(facts, name) for name in ("whole", "records", "chosen")}


def read_input(spec: dict[str, Any], published: Published) -> Input:
    """Return the facts about the input in a certificate, as far as the table confirms them.

    A table with suppressed records is not whole, and the input has at least as many records as the table.
    """
    records = spec["records"]
    if records is not None and (not isinstance(records, int) or records < published.records):
        records = None
    return Input(
        whole=spec["whole"] is True and not published.suppressed_records,
        records=records,
        chosen=bool(spec["chosen"]),
    )
