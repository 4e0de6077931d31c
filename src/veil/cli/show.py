"""What the commands print: tables for people, on a terminal or not."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

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
    from veil.api.release import Release
    from veil.api.search import SearchResult
    from veil.engines.relation import Relation
    from veil.outcome.written import Written
    from veil.published.finding import Verification
    from veil.risk import Risk

WIDTH = 110
"""Columns where there is no terminal to ask, as in a log."""


def output() -> Console:
    """Return the console for results."""
    return Console(width=None if sys.stdout.isatty() else WIDTH, highlight=False)


def errors() -> Console:
    """Return the console for messages."""
    return Console(stderr=True, highlight=False)


def printable(text: str) -> str:
    r"""Replace what could command a terminal, and passwords in addresses: names, values and documents may hold anything.

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
    """Make a table; cells are shown as they are, without markup."""
    made = Table(
        title=title or None,
        title_justify="left",
        title_style="bold",
        box=box.SIMPLE_HEAD,
        show_header=any(headings),
    )
    for at, heading in enumerate(headings):
        made.add_column(Text(heading), justify="right" if at in right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(cell if isinstance(cell, Text) else Text(printable(str(cell))) for cell in row))
    return made


def passes(console: Console, made: Release) -> None:
    """Show what was done to the table, pass by pass."""
    rows = [
        (at, f"{each.recoded:,}", ", ".join(f"{name} {level}" for name, level in each.transformation.items()))
        for at, each in enumerate(made.passes, 1)
    ]
    console.print(table("Local recoding", ("pass", "records", "levels"), rows, right=(0, 1)))
    measures = {name: f"{value:,.6g}" for name, value in made.measures().items()}
    share = f"{made.suppressed:,} of {made.records:,} ({made.suppressed / made.records:.2%})"
    console.print(table("Result", ("", ""), [("suppressed", share), *measures.items()]))


def _suppressed(made: Release, allowed: float, share: float) -> list[tuple[str, str]]:
    """What is suppressed, beside the limit: a share of records, or of people who may have several."""
    limit = f"limit {allowed:.2%}"
    if made.people is None or made.people_suppressed is None:
        return [("suppressed", f"{made.suppressed:,} ({share:.2%}; {limit})")]
    lost = made.people_suppressed
    return [
        ("suppressed", f"{made.suppressed:,} ({share:.2%})"),
        ("people", f"{made.people:,}"),
        ("people who lose a row", f"{lost:,} ({lost / made.people:.2%}; {limit})"),
    ]


def release(console: Console, made: Release) -> None:
    """Show what was done to the table."""
    plan, search = made.plan, made.search
    if plan is None or search is None:
        passes(console, made)
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
    if made.statement is not None:  # of the input, exact figures are for the data holder alone
        rows = made.outcome.by_records.records
        console.print(table("Result", ("", ""), [("rows", f"{rows:,}"), ("classes", f"{made.classes:,}")]))
        return
    share = made.suppressed / made.records
    score = search.score if isinstance(search.score, tuple) else (search.score,)
    kind = getattr(plan.quality, "kind", "")
    console.print(
        table(
            "Result",
            ("", ""),
            [
                ("records", f"{made.records:,}"),
                *_suppressed(made, plan.suppression_limit, share),
                ("classes", f"{made.classes:,}"),
                (f"score ({kind})", ", ".join(f"{each:.10g}" for each in score)),
                ("proven optimal", "yes" if search.proven_optimal else _distance(search)),
                (
                    "transformations",
                    f"{len(search.explored.evaluated):,} of {search.explored.size:,} checked",
                ),
            ],
        )
    )


def statement(console: Console, made: Release) -> None:
    """Show the promise in plain words, if there is one."""
    if made.statement is not None:
        console.print(Text(made.statement))


def concerns(console: Console, made: Release) -> None:
    """Show what no model judges, and what of it somebody has acknowledged; with the words to do so."""
    found = made.concerns
    open_ones = [each for each in found if not each.acknowledged]
    if open_ones:
        rows = [(Text(each.kind, "yellow"), each.statement, each.step) for each in open_ones]
        console.print(table("Before you sign: no model judges this", ("", "found", "how to fix it"), rows))
        keys = [f"--acknowledge {shlex.quote(each.key)}" for each in open_ones]
        console.print(Text("If it is known and accepted: " + printable(" ".join(keys))), soft_wrap=True)
    if len(open_ones) < len(found):
        known = "; ".join(each.key for each in found if each.acknowledged)
        console.print(Text(f"Acknowledged: {printable(known)}"), soft_wrap=True)


def _distance(search: SearchResult) -> str:
    """Say what is known about a transformation that is not proven optimal."""
    from veil.lattice.optimality import gap_in_words

    known = "no" if search.gap is None else f"no; {gap_in_words(search.gap)}"
    return known if search.ending == "finished" else f"{known} ({search.ending})"


def verification(console: Console, found: Verification, of: str = "the output") -> None:
    """Show what was not checked, and every promise with what was found."""
    if found.not_checked:
        told = Text(f"NOT CHECKED: {printable('; '.join(found.not_checked))}", "yellow")
        console.print(told, soft_wrap=True)
    styles = {"holds": "green", "BROKEN": "bold red", "not checked": "yellow"}
    rows = [
        (Text(each.verdict, styles[each.verdict]), each.promise, each.measured) for each in found.findings
    ]
    console.print(table(f"Verification of {of}", ("", "promise", "found"), rows))


def verdict(console: Console, found: Verification) -> None:
    """Say in one sentence what a verification comes to."""
    open_ones = sum(not each.checked for each in found.findings)
    if found.broken:
        told = Text(f"{plural(len(found.broken), 'promise')} BROKEN", "bold red")
    elif open_ones:
        told = Text(
            f"No promise is broken; for {plural(open_ones, 'promise')} the table alone is not enough, and the word of "
            "whoever made the release stands for it",
            "yellow",
        )
    else:
        told = Text("Every promise holds", "green")
    console.print(told)


def risks(console: Console, *columns: tuple[str, Risk]) -> None:
    """Show re-identification risks, one column a table."""
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


def assessment(console: Console, found: Assessment) -> None:
    """Show what a table fulfils already."""
    rows = [(each.model, each.attribute or "", str(each)) for each in found.strengths]
    console.print(
        table("Guarantees that the table meets", ("model", "attribute", "strongest parameter"), rows)
    )
    if found.suppressed:
        console.print(
            f"{plural(found.suppressed, 'suppressed record is', 'suppressed records are')} left out."
        )
    risks(console, ("risk", found.risk))
    for note in found.notes:
        console.print(Text(printable(note), style="yellow"))


def release_of_engine(console: Console, made: Release, done: Written, relation: Relation) -> None:
    """Show where an engine has put a release, and what was looked at there."""
    before = f", {done.continued} of them by a run before" if done.continued else ""
    kept = 0 if done.verification is None else len(done.verification.findings)
    promises = f" ({plural(kept, 'promise holds', 'promises hold')})" if kept else ""
    checked = f"every promise, and the number of every combination of cells, on the rows as written{promises}"
    rows = [
        ("from", relation.name),
        ("to", done.name),
        *([] if done.note is None else [("on the way", done.note)]),
        ("rows", f"{made.outcome.by_records.records:,}"),
        ("pieces", f"{done.pieces:,}{before}"),
        ("checked there", checked),
    ]
    title = f"Written by {relation.kind}" if done.note is None else "Written"
    console.print(table(title, ("", ""), rows))


def first_rows(console: Console, title: str, shown: pa.Table, number: int = 6) -> None:
    """Show the first rows of a table; a missing value is shown as a dot."""
    rows = [
        ["·" if value is None else value for value in row.values()]
        for row in shown.slice(0, number).to_pylist()
    ]
    console.print(table(title, shown.column_names, rows))


def files(console: Console, written: Iterable[tuple[str, Path]]) -> None:
    """Say where the files are, each on a line of its own that can be copied."""
    for what, path in written:
        console.print(Text(f"{what + ':':12} ") + Text(printable(str(path)), style="bold"), soft_wrap=True)
