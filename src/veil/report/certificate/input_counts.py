"""What a certificate tells of the input, so that recipients can check models that compare with its distribution.

t-closeness, δ-disclosure privacy and β-likeness compare each class with the input. Whoever has the table alone can count
the input only if the table shows the sensitive cells of every record. Where records are suppressed, the counts of the
input less those of the table are the counts of the suppressed records. So they are told only where these records, taken
as one class of their own with their sensitive values, fulfil every model of the plan: then the counts tell no more about
anybody than a class of the release does, and less than such a class would show, which has all its cells side by side. On
top of that, every value has to be one that the table shows anyway, so that a certificate names no other.

Nothing is told

- of a differentially private release: exact counts of the input are not covered by its promise,
- where a model compares with a population or with hierarchies: a class without labels cannot be judged by these,
- where Veil has not had the rows of the input in memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from veil.errors import VeilError
from veil.outcome.outcome import Outcome
from veil.published.table import Published
from veil.report.content.disclosure import hides_records
from veil.tables.columns import count_codes, encode_comparable, is_text
from veil.tables.text import canonical_text
from veil.verification.outside import Input


def tellable_input(outcome: Outcome) -> Input:
    """Return what recipients may know of the input of a release."""
    chosen = any(model.subset is not None for model in outcome.models)
    if outcome.statement is not None:
        return Input(chosen=chosen)
    if outcome.plan is None or not hides_records(outcome):
        return Input(whole=True, records=outcome.published.records, chosen=chosen)
    if outcome.plan.suppressed_rows != "drop":
        known = Input(records=outcome.published.records, chosen=chosen)
    else:
        known = Input(chosen=chosen)
    names = {
        name
        for model in outcome.models
        if "distribution" in model.compares_with
        for name in model.attribute_names
    }
    try:
        counts = _counts(outcome, sorted(names)) if names or known.records is None else None
    except VeilError:  # lists and the like, which cannot be spelled
        counts = None
    if counts is None:
        return known
    return Input(records=_records(outcome), counts=counts, chosen=chosen)


def _records(outcome: Outcome) -> int:
    """Number of records that could have been released."""
    prepared = outcome.prepared
    return outcome.records if prepared is None else prepared.records(prepared.subset)


def _counts(outcome: Outcome, names: list[str]) -> dict[str, dict[str | None, int]] | None:
    """Count the values of some columns in the input; None if that would tell of suppressed records."""
    prepared, hidden = outcome.prepared, outcome.hidden
    if prepared is None or hidden is None:
        return None
    if any({"population", "hierarchies"} & set(model.compares_with) for model in outcome.models):
        return None
    rows = np.arange(hidden.size) if prepared.subset is None else np.flatnonzero(prepared.subset)
    whole = _beside_suppressed(outcome, rows)
    if not all(model.verify(whole).holds for model in outcome.models):
        return None
    found = {}
    for name in names:
        values, codes = encode_comparable(prepared.table[name].take(pa.array(rows)), name)
        counts = count_codes(codes, len(values), prepared.weights_of(rows))
        shown = count_codes(codes[~hidden[rows]], len(values), None)
        if not shown.all():
            return None
        found[name] = dict(zip(canonical_text(values, column=name), counts.tolist(), strict=True))
    return found


def _beside_suppressed(outcome: Outcome, rows: Any) -> Published:
    """See the release as if suppressed records were a class of their own, which shows their sensitive values."""
    prepared, hidden, published = outcome.prepared, outcome.hidden, outcome.published
    assert prepared is not None
    assert hidden is not None
    sensitive = [name for name in prepared.plan.sensitive if name in prepared.table.column_names]
    shown = np.flatnonzero(~published.suppressed)
    blank = rows[hidden[rows]]
    order = np.concatenate([outcome.origins[shown], blank])
    labels = {}
    for name in published.names:
        values, codes = published.encode(name)
        texts = pa.array(canonical_text(values, column=name), pa.string()).take(pa.array(codes[shown]))
        marker = published.marker if is_text(values.type) else None
        labels[name] = pa.chunked_array([texts, pa.array([marker] * blank.size, pa.string())])
    cells = prepared.table.select(sensitive).take(pa.array(order))
    return Published(
        pa.table({**labels, **{name: cells[name] for name in sensitive}}),
        published.names,
        marker=published.marker,
        untouched=True,
        weights=prepared.weights_of(order),
        baseline=prepared.table.select(sensitive).take(pa.array(rows)),
        baseline_weights=prepared.weights_of(rows),
    )


def spell_input(known: Input) -> dict[str, Any]:
    """Return what is known of the input as plain data."""
    return {
        "whole": known.whole,
        "records": known.records,
        "counts": {
            name: {"values": list(counts), "records": list(counts.values())}
            for name, counts in known.counts.items()
        },
        "chosen": known.chosen,
    }


def read_input(spec: dict[str, Any], published: Published) -> Input:
    """Return what a certificate tells of the input, as far as the table bears it out.

    No table is whole that has suppressed records, and the input has as many records as the table at least.
    """
    records, counts = spec["records"], {}
    if records is not None and (not isinstance(records, int) or records < published.records):
        records = None
    for name, told in spec["counts"].items():
        found = dict(zip(told["values"], told["records"], strict=True))
        if records is not None and sum(found.values()) == records:
            counts[name] = found
    return Input(
        whole=spec["whole"] is True and not published.suppressed_records,
        records=records,
        counts=counts,
        chosen=bool(spec["chosen"]),
    )
