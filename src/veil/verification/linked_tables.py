"""The check of several tables as they leave: put together by whose rows they are, as an attacker who knows all of them does."""

from __future__ import annotations

import dataclasses

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from veil.base.wording import plural
from veil.outcome.linked_tables import TableOut
from veil.outcome.outcome import Outcome
from veil.plan.linked_tables import Stacked
from veil.published.blank import is_blank
from veil.published.finding import Finding
from veil.published.linked_tables import stack_texts
from veil.published.table import Published
from veil.tables.columns import encode_values
from veil.tables.rows import Owners, Rows
from veil.verification.release import verify_models


def verify_tables(outcome: Outcome) -> list[Finding]:
    """Check the promises on all tables together, and of each table that it shows no more than it should."""
    stacked = outcome.source
    assert isinstance(stacked, Stacked)
    assert outcome.hidden is not None
    hidden = {name: outcome.hidden[span][outcome.tables[name].rows] for name, span in stacked.spans.items()}
    models = [model for model in stacked.asked.models if not model.reads_levels]
    found = verify_models(_joined(outcome, stacked, hidden), models)
    together = [dataclasses.replace(each, promise=f"all tables together: {each.promise}") for each in found]
    return together + [
        _verify_cells(stacked, name, made, hidden[name]) for name, made in outcome.tables.items()
    ]


def _joined(outcome: Outcome, stacked: Stacked, hidden: dict[str, NDArray[np.bool_]]) -> Published:
    """See the rows that are shown as rows of people: by their pseudonyms, or by who they are where the tables do not tell."""
    plan, person = stacked.asked, stacked.person
    shown = {
        name: each.table.take(pa.array(np.flatnonzero(~hidden[name])))
        for name, each in outcome.tables.items()
    }
    by_pseudonym = plan.identifying[person] == "pseudonym"
    together = stack_texts(
        shown,
        stacked.label,
        known=plan.quasi_identifiers,
        judged=stacked.plan.sensitive,
        kept=[person] if by_pseudonym else [],
    )
    if not by_pseudonym:
        _, people = encode_values(stacked.table[person])
        whose = [
            people[span][outcome.tables[name].rows][~hidden[name]] for name, span in stacked.spans.items()
        ]
        together = together.append_column(person, pa.array(np.concatenate(whose)))
    return Published(
        Rows.of(together, owners=Owners.of(together, person, "all rows")),
        [stacked.label, *plan.quasi_identifiers],
        marker=plan.marker,
        suppressed="none",
        baseline=Rows.of(stacked.table, owners=Owners.of(stacked.table, person, "all rows")),
    )


def _verify_cells(stacked: Stacked, name: str, made: TableOut, hidden: NDArray[np.bool_]) -> Finding:
    """Check that suppressed people show nothing, and that what no hierarchy generalizes is what it was."""
    plan, wrong = stacked.asked, []
    gone, kept = pa.array(np.flatnonzero(hidden)), pa.array(np.flatnonzero(~hidden))
    before = made.source.table.take(pa.array(made.rows[~hidden]))
    for column in made.table.column_names:
        cells = made.table[column]
        if not is_blank(cells.take(gone), plan.marker).all():
            wrong.append(f"{column!r} shows suppressed people")
        treated = column in plan.quasi_identifiers or column in plan.identifying
        if not treated and not _same(before[column], cells.take(kept)):
            wrong.append(f"{column!r} differs")
    promise = (
        f"table {name!r} shows nothing of suppressed people, and otherwise keeps what is not generalized"
    )
    return Finding(promise, not wrong, "; ".join(wrong) or plural(made.table.num_rows, "row"))


def _same(old: pa.ChunkedArray, new: pa.ChunkedArray) -> bool:
    return bool(new.combine_chunks().equals(old.combine_chunks())) or new.to_pylist() == old.to_pylist()
