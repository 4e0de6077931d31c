"""Releases in a notebook: small HTML tables, with all values escaped."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from veil.base.html import html_table
from veil.base.wording import plural
from veil.outcome.outcome import Outcome
from veil.report.content.facts import MOST_EXAMPLES, treatment_of_columns
from veil.report.pages.blocks import percent
from veil.risk.concerns.collect import concerns_of
from veil.risk.concerns.concern import quoted
from veil.risk.reidentification import sample_risk

HEAD = 5
"""Rows of the table in a notebook."""

MOST_COLUMNS = 20
"""Columns with a line each; if there are more, unchanged columns share one."""

AS_IT_IS = "published as it is"


def html_outcome(outcome: Outcome) -> str:
    """Return the treatment, the promises, the remaining risk and the first rows of the released table."""
    private = outcome.statement is not None
    columns = treatment_of_columns(outcome, private)["columns"]
    folded = [each["column"] for each in columns if each["treatment"] == AS_IT_IS]
    if len(columns) <= MOST_COLUMNS or len(folded) < 2:
        folded = []
    shown_one_by_one = [each for each in columns if each["column"] not in folded]
    done = [
        (
            each["column"],
            each["treatment"],
            f"{each['level']} of {each['of']}" if each.get("level") == each.get("highest_level", "") else "",
            ", ".join(_examples(outcome, each["column"])) if each.get("level") else "",
        )
        for each in shown_one_by_one
    ]
    if folded:
        done.append((f"{len(folded)} more: {quoted(folded)}", AS_IT_IS, "", ""))
    findings = outcome.verification.findings
    models = findings[: len(outcome.models)] if outcome.plan is not None else findings
    promises = [(each.promise, each.measured, "holds" if each.holds else "BROKEN") for each in models]
    after = sample_risk(outcome.by_records.sizes)
    risks = [
        ("highest risk of a record", percent(after.highest)),
        ("average risk", percent(after.average)),
        ("unique records", percent(after.uniques)),
        ("classes", f"{after.classes:,}"),
    ]
    concerns = [
        (each.statement, "acknowledged" if each.acknowledged else each.step) for each in concerns_of(outcome)
    ]
    table = outcome.table
    first_rows = table.select(table.column_names[:MOST_COLUMNS]).slice(0, HEAD)
    rows = [list(row.values()) for row in first_rows.to_pylist()]
    first_columns = (
        f", first {MOST_COLUMNS} columns of {table.num_columns}" if table.num_columns > MOST_COLUMNS else ""
    )
    if private:
        head = f"{plural(table.num_rows, 'row')} released privately"
    elif outcome.plan is None:
        head = f"{plural(outcome.records, 'record')}, {outcome.by_records.records:,} released"
    else:
        head = f"{plural(outcome.records, 'record')}, {outcome.suppressed:,} suppressed"
    return (
        f"<h4>Release: {head}</h4>"
        + html_table(("Column", "Treatment", "Level", "Looks like"), done, "What was done")
        + (html_table(("Promise", "Found", ""), promises, "Guarantees") if promises else "")
        + (html_table(("Found", "How to fix it"), concerns, "Before you sign") if concerns else "")
        + html_table(("", ""), risks, "Risks of the released table")
        + html_table(first_rows.column_names, rows, f"First rows of {table.num_rows:,}{first_columns}")
    )


def _examples(outcome: Outcome, name: str) -> list[str]:
    """Return a few of the most frequent released values of a column, as examples of its level."""
    visible_cells = outcome.table[name].filter(pa.array(~outcome.by_records.suppressed))
    counts = sorted(pc.value_counts(visible_cells).to_pylist(), key=lambda each: -each["counts"])
    return sorted(str(each["values"]) for each in counts[:MOST_EXAMPLES])
