"""The output of commands: tables for a terminal or a file."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from veil.base.wording import plural
from veil.errors import without_passwords

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

    from veil.api.assess import Assessment
    from veil.api.cell_search import CellSearch
    from veil.api.release import Release
    from veil.api.search import SearchResult
    from veil.engines.relation import Relation
    from veil.outcome.written import Written
    from veil.published.finding import Verification
    from veil.risk.reidentification import Risk

WIDTH = 110
"""Columns without a terminal, as in a log."""


def output() -> Console:
    """Return the console for results."""
    return Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def errors() -> Console:
    """Return the console for messages."""
    return Console(stderr=True, highlight=False)


def printable(text: str) -> str:
    r"""Replace control characters, which could command a terminal, and passwords in URLs.

    >>> printable("a\x1b[31mb\nc")
    'a�[31mb\nc'
    """
    return "".join(
        each if each.isprintable() or each == "\n" else "\N{REPLACEMENT CHARACTER}"
        for each in without_passwords(text)
    )


def table(
    title: str, headings: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Sequence[int] = ()
) -> Table:
    """Return a table; cells are shown without markup."""
    result = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_header=any(headings),
    )
    for at, heading in enumerate(headings):
        result.add_column(Text(heading), justify="right" if at in right else "left", overflow="fold")
    for row in rows:
        result.add_row(*(cell if isinstance(cell, Text) else Text(printable(str(cell))) for cell in row))
    return result


def passes(console: Console, release: Release) -> None:
    """Show the passes of local recoding."""
    rows = [
        (at, f"{each.recoded:,}", ", ".join(f"{name} {level}" for name, level in each.transformation.items()))
        for at, each in enumerate(release.passes, 1)
    ]
    console.print(table("Local recoding", ("pass", "records", "levels"), rows, right=(0, 1)))
    measures = {name: f"{value:,.6g}" for name, value in release.measures().items()}
    share = f"{release.suppressed:,} of {release.records:,} ({release.suppressed / release.records:.2%})"
    console.print(table("Result", ("", ""), [("suppressed", share), *measures.items()]))


def cells(console: Console, release: Release, search: CellSearch) -> None:
    """Show the figures of a release whose records have labels of their own."""
    limit = 0.0 if release.plan is None else release.plan.suppression_limit
    rows = [
        ("records", f"{release.records:,}"),
        *_suppressed(release, limit, release.suppressed / release.records),
        ("classes", f"{release.classes:,}"),
        (search.measure or "loss, mean over cells", f"{search.score:.6g}"),
    ]
    console.print(table("Result", ("", ""), rows))
    console.print(Text(search.sentence))


def _suppressed(release: Release, allowed: float, share: float) -> list[tuple[str, str]]:
    """Return the rows about suppression and its limit: a share of records or of people."""
    limit = f"limit {allowed:.2%}"
    if release.people is None or release.people_suppressed is None:
        return [("suppressed", f"{release.suppressed:,} ({share:.2%}; {limit})")]
    share_of_people = release.people_suppressed / release.people
    return [
        ("suppressed", f"{release.suppressed:,} ({share:.2%})"),
        ("people", f"{release.people:,}"),
        ("people who lose a row", f"{release.people_suppressed:,} ({share_of_people:.2%}; {limit})"),
    ]


def release(console: Console, release: Release) -> None:
    """Show the transformation and the figures of a release."""
    plan, search = release.plan, release.lattice
    if search is None and release.search is not None:
        cells(console, release, cast("CellSearch", release.search))
        return
    if plan is None or search is None:
        passes(console, release)
        return
    levels, names = search.transformation, search.level_names
    highest = dict(zip(levels, search.explored.maximum, strict=True))
    console.print(
        table(
            "Transformation",
            ("column", "level", "of", "meaning"),
            [
                (name, level, highest[name], names[name] if level else "unchanged")
                for name, level in levels.items()
            ],
            right=(1, 2),
        )
    )
    if release.statement is not None:  # exact figures of the input are for the data holder only
        rows = release.outcome.by_records.records
        console.print(table("Result", ("", ""), [("rows", f"{rows:,}"), ("classes", f"{release.classes:,}")]))
        return
    share = release.suppressed / release.records
    score = search.score if isinstance(search.score, tuple) else (search.score,)
    kind = getattr(plan.quality, "kind", "")
    console.print(
        table(
            "Result",
            ("", ""),
            [
                ("records", f"{release.records:,}"),
                *_suppressed(release, plan.suppression_limit, share),
                ("classes", f"{release.classes:,}"),
                (f"score ({kind})", ", ".join(f"{each:.10g}" for each in score)),
                ("proven optimal", "yes" if search.proven_optimal else _distance(search)),
                (
                    "transformations",
                    f"{len(search.explored.evaluated):,} of {search.explored.size:,} checked",
                ),
            ],
        )
    )


def statement(console: Console, release: Release) -> None:
    """Show the statement of a private release, if there is one."""
    if release.statement is not None:
        console.print(Text(release.statement))


def concerns(console: Console, release: Release) -> None:
    """Show the open concerns with the options that acknowledge them, and the acknowledged ones."""
    concerns = release.concerns
    open_ones = [each for each in concerns if not each.acknowledged]
    if open_ones:
        rows = [(Text(each.kind, "yellow"), each.statement, each.step) for each in open_ones]
        console.print(table("Before you sign: no model judges this", ("", "found", "how to fix it"), rows))
        keys = [f"--acknowledge {shlex.quote(each.key)}" for each in open_ones]
        console.print(Text("If it is known and accepted: " + printable(" ".join(keys))), soft_wrap=True)
    if len(open_ones) < len(concerns):
        acknowledged = "; ".join(each.key for each in concerns if each.acknowledged)
        console.print(Text(f"Acknowledged: {printable(acknowledged)}"), soft_wrap=True)


def _distance(search: SearchResult) -> str:
    """Return the gap of a transformation that is not proven optimal, in words."""
    from veil.lattice.optimality import gap_in_words

    distance = "no" if search.gap is None else f"no; {gap_in_words(search.gap)}"
    return distance if search.ending == "finished" else f"{distance} ({search.ending})"


def verification(console: Console, verification: Verification, of: str = "the output") -> None:
    """Show the checks left out and the finding for every promise."""
    if verification.not_checked:
        message = Text(f"NOT CHECKED: {printable('; '.join(verification.not_checked))}", "yellow")
        console.print(message, soft_wrap=True)
    styles = {"holds": "green", "BROKEN": "bold red", "not checked": "yellow"}
    findings = verification.findings
    rows = [(Text(each.verdict, styles[each.verdict]), each.promise, each.measured) for each in findings]
    console.print(table(f"Verification of {of}", ("", "promise", "found"), rows))


def verdict(console: Console, verification: Verification) -> None:
    """Show the verdict of a verification in one sentence."""
    open_ones = sum(not each.checked for each in verification.findings)
    if verification.broken:
        message = Text(f"{plural(len(verification.broken), 'promise')} BROKEN", "bold red")
    elif open_ones:
        message = Text(
            f"No promise is broken; for {plural(open_ones, 'promise')} the table alone is not enough, and the word of "
            "whoever made the release stands for it",
            "yellow",
        )
    else:
        message = Text("Every promise holds", "green")
    console.print(message)


def risks(console: Console, *columns: tuple[str, Risk]) -> None:
    """Show re-identification risks, one column for each table."""
    threshold = columns[0][1].threshold
    lines = [
        ("highest risk of a record", [f"{risk.highest:.2%}" for _, risk in columns]),
        ("average risk (success rate of an attack on all)", [f"{risk.average:.2%}" for _, risk in columns]),
        (f"records with a risk above {threshold:.0%}", [f"{risk.at_risk:.2%}" for _, risk in columns]),
        ("unique records", [f"{risk.uniques:.2%}" for _, risk in columns]),
        ("classes", [f"{risk.classes:,}" for _, risk in columns]),
    ]
    headings = ("", *(name for name, _ in columns))
    rows = [(name, *values) for name, values in lines]
    console.print(table("Re-identification risks", headings, rows, right=range(1, len(headings))))


def assessment(console: Console, assessment: Assessment) -> None:
    """Show the models that a table fulfils."""
    rows = [(each.model, each.attribute or "", str(each)) for each in assessment.strengths]
    console.print(
        table("Guarantees that the table meets", ("model", "attribute", "strongest parameter"), rows)
    )
    if assessment.suppressed:
        console.print(
            f"{plural(assessment.suppressed, 'suppressed record is', 'suppressed records are')} left out."
        )
    risks(console, ("risk", assessment.risk))
    for note in assessment.notes:
        console.print(Text(printable(note), style="yellow"))


def release_of_engine(console: Console, release: Release, done: Written, relation: Relation) -> None:
    """Show the place of a release written by an engine, and the checks there."""
    before = f", {done.continued} of them by a run before" if done.continued else ""
    promise_count = 0 if done.verification is None else len(done.verification.findings)
    promises = f" ({plural(promise_count, 'promise holds', 'promises hold')})" if promise_count else ""
    checked = f"every promise, and the number of every combination of cells, on the rows as written{promises}"
    rows = [
        ("from", relation.name),
        ("to", done.name),
        *([] if done.note is None else [("on the way", done.note)]),
        ("rows", f"{release.outcome.by_records.records:,}"),
        ("pieces", f"{done.pieces:,}{before}"),
        ("checked there", checked),
    ]
    title = f"Written by {relation.kind}" if done.note is None else "Written"
    console.print(table(title, ("", ""), rows))


def first_rows(console: Console, title: str, arrow: pa.Table, number: int = 6) -> None:
    """Show the first rows of a table; a missing value is shown as a dot."""
    rows = [
        ["·" if value is None else value for value in row.values()]
        for row in arrow.slice(0, number).to_pylist()
    ]
    console.print(table(title, arrow.column_names, rows))


def files(console: Console, places: Iterable[tuple[str, Path]]) -> None:
    """Show the paths of files, each on its own line for copying."""
    for what, path in places:
        console.print(Text(f"{what + ':':12} ") + Text(printable(str(path)), style="bold"), soft_wrap=True)
