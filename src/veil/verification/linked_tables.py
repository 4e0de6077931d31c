"""The check of several tables as released: joined by owner, as an attacker who knows all of them does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.wording import Phrase, plural
from veil.outcome.linked_tables import TableOut
from veil.outcome.outcome import Outcome
from veil.plan.linked_tables import Stacked
from veil.published.blank import is_blank
from veil.published.finding import Finding
from veil.published.linked_tables import stack_texts
from veil.published.table import Published
from veil.tables.rows import Owners, Rows
from veil.verification.release import verify_models


def verify_tables(outcome: Outcome, stacked: Stacked) -> list[Finding]:
    """Check the promises on all tables together, and that each table shows no more than it should."""
    masks = {
        name: outcome.suppressed_mask[span][outcome.tables[name].rows] for name, span in stacked.spans.items()
    }
    models = [model for model in stacked.asked.models if model.reads != "levels"]
    findings = verify_models(_join(outcome, stacked, masks), models)
    together = [
        replace(each, promise=Phrase("all tables together: {promise}", promise=each.promise))
        for each in findings
    ]
    return together + [_verify_cells(stacked, name, out, masks[name]) for name, out in outcome.tables.items()]


def _join(outcome: Outcome, stacked: Stacked, masks: dict[str, NDArray[np.bool_]]) -> Published:
    """Return the visible rows with their owners, by pseudonyms if these are published, else by the input."""
    plan, person = stacked.asked, stacked.person
    baseline = Rows.of(stacked.table, owners=Owners.of(stacked.table, person, "all rows"))
    visible = {name: out.table.filter(pa.array(~masks[name])) for name, out in outcome.tables.items()}
    by_pseudonym = plan.identifying[person] == "pseudonym"
    together = stack_texts(
        visible,
        stacked.label,
        quasi_identifiers=plan.quasi_identifiers,
        sensitive=stacked.plan.sensitive,
        further=[person] if by_pseudonym else [],
    )
    if not by_pseudonym:
        owner_codes = baseline.owners.array
        row_owners = [
            owner_codes[span][outcome.tables[name].rows][~masks[name]] for name, span in stacked.spans.items()
        ]
        together = together.append_column(person, pa.array(np.concatenate(row_owners)))
    return Published(
        Rows.of(together, owners=Owners.of(together, person, "all rows")),
        [stacked.label, *plan.quasi_identifiers],
        marker=plan.marker,
        suppressed="none",
        baseline=baseline,
    )


def _verify_cells(stacked: Stacked, name: str, out: TableOut, mask: NDArray[np.bool_]) -> Finding:
    """Check that suppressed people show nothing, and that columns which are not generalized are unchanged."""
    plan, problems = stacked.asked, []
    before = out.source.table.take(pa.array(out.rows[~mask]))
    for column in out.table.column_names:
        cells = out.table[column]
        if not is_blank(cells.filter(pa.array(mask)), plan.marker).all():
            problems.append(f"{column!r} shows suppressed people")
        treated = column in plan.quasi_identifiers or column in plan.identifying
        if not treated and not _same(before[column], cells.filter(pa.array(~mask))):
            problems.append(f"{column!r} differs")
    promise = Phrase(
        "table {table!r} shows nothing of suppressed people, and otherwise keeps what is not generalized",
        table=name,
    )
    return Finding(promise, not problems, "; ".join(problems) or plural(out.table.num_rows, "row"))


def _same(old: pa.ChunkedArray, new: pa.ChunkedArray) -> bool:
    return bool(new.combine_chunks().equals(old.combine_chunks())) or new.to_pylist() == old.to_pylist()
