"""Figures as tables: the output of `veil risk`, `identify`, `utility` and `frontier`."""

from __future__ import annotations

import csv
import io
import json
import shlex
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

from rich.text import Text

from veil.base.wording import plural
from veil.cli import show
from veil.cli.places import release_for
from veil.engines.database import Database
from veil.recipe.places import url_with_table

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from veil.api.advice import Advice
    from veil.api.frontier import Frontier
    from veil.api.ways import Ways
    from veil.risk.analysis import RiskAnalysis
    from veil.risk.identify.repeats import Repeated
    from veil.risk.identify.roles import Proposal
    from veil.utility.summary import Utility

_ROLES = {
    "identifying": "bold red",
    "quasi-identifying": "yellow",
    "sensitive": "magenta",
    "insensitive": "dim",
}


_MOST_SHOWN = 5
"""Columns of an alternative that fit on a terminal."""


def advice(console: Console, advice: Advice) -> None:
    """Show the largest losses of a release, and alternatives that would keep more."""
    for line in advice.said():
        console.print(Text(show.printable(line)))
    shares = advice.released.kept
    columns = sorted(shares, key=shares.__getitem__)[:_MOST_SHOWN]
    columns = [name for name in shares if name in columns]
    rows = [
        (
            "" if not number else str(number),
            each.what + (" (promises less)" if each.promises_less else ""),
            f"{each.kept_on_average:.1%}",
            *(f"{each.kept.get(name, 0.0):.0%}" for name in columns),
            f"{each.suppressed:,}",
        )
        for number, each in enumerate((advice.released, *advice.alternatives))
    ]
    headings = ("", "release", "kept", *columns, "suppressed")
    console.print(
        show.table("How much of each column is kept", headings, rows, right=range(2, len(headings)))
    )
    if len(columns) < len(shares):
        console.print(Text(f"Shown are the {len(columns)} columns that keep least; --json has all of them."))
    console.print(Text("In the recipe, with `veil anonymize` afterwards:"))
    for number, each in enumerate(advice.alternatives, 1):
        lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in each.recipe.items()]
        console.print(Text(show.printable(f"{number}. {each.what}")), soft_wrap=True)
        for line in lines:
            console.print(Text(f"   {show.printable(line)}", style="cyan"), soft_wrap=True)
    if not advice.complete:
        console.print("There was not enough time to try everything: allow more with --time-limit SECONDS.")


def risk(console: Console, analysis: RiskAnalysis, *, untouched: bool) -> None:
    """Show the risks of the people in a table."""
    by, wild = analysis.attackers, analysis.wildcards
    attacks = [
        (name, f"{each.highest:.2%}", f"{each.average:.2%}", f"{each.at_risk:.2%}", f"{each.success_rate:.2%}")
        for name, each in (("prosecutor: knows who is in it", by.prosecutor),
                           ("journalist: knows who may be in it", by.journalist))
    ]  # fmt: skip
    attacks.append(("marketer: links everybody", "", "", "", f"{by.marketer.success_rate:.2%}"))
    attacks.append(
        (
            "prosecutor, if blank cells match all",
            f"{wild.highest:.2%}",
            f"{wild.average:.2%}",
            f"{wild.at_risk:.2%}",
            "",
        )
    )
    headings: tuple[str, ...] = (
        "attacker",
        "highest risk",
        "average",
        f"records above {by.threshold:.0%}",
        "success rate",
    )
    console.print(show.table("Risks by attacker", headings, attacks, right=range(1, 5)))
    console.print(show.table("The table", ("", ""), _about(analysis)))
    single = [each for each in analysis.attributes if len(each.columns) == 1]
    shares = analysis.suda.attribute_contributions
    rows = [
        (
            each.columns[0],
            f"{each.distinction:.2%}",
            f"{each.separation:.2%}",
            f"{shares[each.columns[0]]:.2%}",
        )
        for each in sorted(single, key=lambda each: -shares[each.columns[0]])
    ]
    headings = ("column", "distinction", "separation", "part in what is special")
    console.print(show.table("What singles people out", headings, rows, right=range(1, 4)))
    if analysis.class_sizes.suppressed and not untouched:
        console.print(
            plural(
                analysis.class_sizes.suppressed,
                "record shows nothing in these columns and counts",
                "records show nothing in these columns and count",
            )
            + " as suppressed. If the table is as it was collected, say --untouched."
        )


def _about(analysis: RiskAnalysis) -> list[tuple[str, str]]:
    sizes, alone, scores = analysis.class_sizes, analysis.sample_uniques, analysis.suda.to_dict()
    spread = "" if sizes.smallest == sizes.largest else f"{sizes.smallest:,} to "
    rows = [
        ("records", f"{sizes.records:,}, and {sizes.suppressed:,} suppressed"),
        ("classes", f"{sizes.classes:,} of {spread}{plural(sizes.largest, 'record')}"),
        ("unique records", f"{alone.records:,} ({alone.share:.2%})"),
    ]
    if (rule := analysis.population_uniques) is not None:
        people = f"about {rule.dankar.uniques:,.0f} of {rule.population:,} ({rule.dankar.share:.2%})"
        rows.append(("unique people in the population", f"{people}, as {rule.chosen} estimates"))
    special = f"{plural(scores['records'], 'record')}, highest score {scores['highest_score']:g}, DIS {scores['dis']:.2%}"
    rows.append((f"special uniques (SUDA, up to {plural(analysis.largest_subset, 'column')})", special))
    if (individual := analysis.individual) is not None:
        expected = f"{individual.expected:,.2f} ({individual.rate:.2%} of the records)"
        rows.append(("re-identifications to expect", expected))
        if individual.household is not None:
            rows.append(("households to expect", f"{individual.household.households:,.2f}"))
    return rows


def roles(
    console: Console,
    proposed: Sequence[Proposal],
    repeated: Sequence[Repeated],
    place: Path | Database,
    format: str | None,
) -> None:
    """Show the proposed roles of columns with the reasons, and a command to continue with."""
    rows = [
        (each.column, ", ".join(each.looks_like), Text(each.role, _ROLES[each.role]), "; ".join(each.reasons))
        for each in proposed
    ]
    console.print(show.table(f"Columns of {place}", ("column", "looks like", "proposed role", "why"), rows))
    console.print(Text("These are suggestions from names and values. Please review every role."))
    for again in repeated:
        message = f"Rows seem to be about the same people: {again}."
        console.print(Text(show.printable(message), style="yellow"))
    if repeated:
        console.print(
            Text(
                "Say which column tells people apart (--person COLUMN), or that every row is one (--person null)."
            )
        )
    if any(each.role == "quasi-identifying" for each in proposed):
        codes = {each.column for each in proposed if "zip" in each.looks_like}
        console.print(
            Text("To continue, adjust this command and run it; columns that are not named are dropped:")
        )
        console.print(
            Text(
                show.printable(next_command(proposed, place, format, codes, person_of(repeated))),
                style="cyan",
            ),
            soft_wrap=True,
        )
    else:
        console.print(
            Text(
                "No column looks like something others could know about a person. Name those that are: --qi COLUMN=auto"
            )
        )


def next_command(
    proposed: Sequence[Proposal],
    place: Path | Database,
    format: str | None,
    codes: Collection[str] = (),
    person: str | None = None,
) -> str:
    """Return a command that anonymizes a table with the proposed roles.

    `codes` are columns such as postal codes, which are redacted by digit even if they are read as numbers.
    """
    columns: dict[str, list[str]] = {role: [] for role in _ROLES}
    for each in proposed:
        columns[each.role].append(each.column)
    table = url_with_table(place) if isinstance(place, Database) else str(place)
    words = ["veil", "anonymize", table, "-o", release_for(place)]
    words += ["--format", format] if format else []
    for column in columns["quasi-identifying"]:
        words += ["--qi", f"{column}={'redaction' if column in codes else 'auto'}"]
    for role in ("sensitive", "identifying"):
        words += [f"--{role}", _list_names(columns[role])] if columns[role] else []
    words += ["--person", person] if person is not None else []
    return shlex.join([*words, "--others", "drop", "--model", "k-anonymity:5", "--suppression-limit", "0.05"])


def person_of(repeated: Sequence[Repeated]) -> str | None:
    """Return the column that identifies the person of each row, if people have several rows."""
    return next((each.columns[0] for each in repeated if len(each.columns) == 1), None)


def _list_names(names: Sequence[str]) -> str:
    """Return names in the form that `grammar.names` reads."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def utility(console: Console, utility: Utility) -> None:
    """Show the utility of a released table."""
    from veil.utility.attributes import ATTRIBUTE_MEASURES

    before, after = utility.classes
    rows = [
        ("records", f"{utility.records:,}"),
        ("suppressed", f"{utility.suppressed:,} ({utility.suppressed / utility.records:.2%})"),
        ("classes", f"{before.number:,} -> {after.number:,}"),
        ("records in a class", f"{before.average:.2f} -> {after.average:.2f}"),
    ]
    if utility.queries is not None and utility.queries.mean is not None:
        accuracy = f"off by {utility.queries.median:.2%} (median), {utility.queries.mean:.2%} on average"
        rows.append((f"{utility.queries.queries:,} random counts", accuracy))
    console.print(show.table("The release", ("", ""), rows))
    quality = utility.quality
    left = [
        (
            each.column,
            *(f"{getattr(each, measure).quality:.2%}" for measure in ATTRIBUTE_MEASURES),
            f"{each.missings:.2%}",
        )
        for each in quality.attributes
    ]
    left.append(("together", *(f"{quality.aggregate(measure):.2%}" for measure in ATTRIBUTE_MEASURES), ""))
    headings = ("column", *map(_heading, ATTRIBUTE_MEASURES), "blank cells")
    console.print(show.table("Information left", headings, left, right=range(1, 6)))
    whole = [
        (_heading(name), f"{share:.2%}")
        for name, share in quality.overall.items()
        if name not in ATTRIBUTE_MEASURES
    ]
    console.print(show.table("Of the whole", ("", ""), whole, right=(1,)))
    _numbers(console, utility)
    _predictions(console, utility)


def _numbers(console: Console, utility: Utility) -> None:
    if utility.preservation is None:
        return
    rows = [
        (
            each.column,
            f"{each.compared:.2%}",
            _change(*each.means),
            _change(*each.variances),
            "" if each.sse_sst is None else f"{each.sse_sst:.4g}",
        )
        for each in utility.preservation.columns
    ]
    headings = ("column", "released", "mean", "variance", "SSE/SST")
    console.print(show.table("Numbers", headings, rows, right=range(1, 5)))
    if utility.preservation.correlation_change is not None:
        average, most = (
            utility.preservation.correlation_change,
            utility.preservation.largest_correlation_change,
        )
        console.print(f"Correlations change by {average:.4g} on average, {most:.4g} at most.")


def _predictions(console: Console, utility: Utility) -> None:
    rows: list[tuple[str, ...]] = [
        (
            f"{each.target}, {each.method}",
            "accuracy",
            f"{each.original.accuracy:.4f}",
            f"{each.released.accuracy:.4f}",
            f"{each.zero_r.accuracy:.4f}",
        )
        for each in utility.classification
    ]
    for model in utility.regression:
        after = "" if model.rmse[1] is None else f"{model.rmse[1]:.4g}"
        rows.append(
            (
                f"{model.target}, {model.method}",
                "error",
                f"{model.rmse[0]:.4g}",
                after,
                f"{model.baseline:.4g}",
            )
        )
    if rows:
        headings = ("prediction of", "", "from the original", "from the release", "from nothing")
        console.print(show.table("Predictions", headings, rows, right=(2, 3, 4)))


def ways(console: Console, ways: Ways) -> None:
    """Show ways to anonymize a table side by side, and why some are missing."""
    from veil.api.ways import HEADINGS

    rows = [way.row() for way in ways.ways if way.problem is None]
    if rows:
        console.print(show.table("Ways", HEADINGS, rows, right=range(1, len(HEADINGS))))
        console.print(
            "loss: share of the values of a column that its cells stand for, on average over cells; "
            "gap: by how much any recoding with these hierarchies might lose less, at most; "
            "attack: the most successful one, beyond what works on people who are not in the table"
        )
    if ways.original_accuracy is not None:
        console.print(
            f"{ways.target} is predicted from the original with an accuracy of {ways.original_accuracy:.1%}"
        )
    for note in ways.notes():
        console.print(Text(show.printable(note)), soft_wrap=True)


def frontier(console: Console, frontier: Frontier) -> None:
    """Show all releases, the Pareto-optimal ones, and the parameters without a release."""
    front = frontier.pareto()
    names = list(frontier.points[0].parameters)
    rows: list[Sequence[Any]] = []
    problems: list[Sequence[Any]] = []
    for point in frontier.points:
        values = [str(point.parameters[name]) for name in names]
        if point.problem is not None:
            problems.append((*values, point.problem))
            continue
        levels = point.transformation or {}
        rows.append(
            (
                Text("best", "green") if point in front else "",
                *values,
                f"{point.risks[frontier.risk]:.2%}",
                f"{point.utilities[frontier.utility]:.2%}",
                f"{1 - point.utilities['released']:.2%}",
                ", ".join(f"{name} {level}" for name, level in levels.items()),
            )
        )
    if rows:
        risk, utility = f"risk ({_heading(frontier.risk)})", f"utility ({_heading(frontier.utility)})"
        headings = ("", *map(_heading, names), risk, utility, "suppressed", "levels")
        console.print(show.table("Releases", headings, rows, right=range(1, len(names) + 4)))
        console.print(
            "best: no other release has less risk and as much utility, or more utility at as little risk"
        )
    if problems:
        console.print(show.table("No release", (*map(_heading, names), "why"), problems))


def _change(before: Any, after: Any) -> str:
    return "" if before is None or after is None else f"{before:.6g} -> {after:.6g}"


def _heading(name: str) -> str:
    return {"sse_sst": "1 - SSE/SST"}.get(name, name.replace("_", " "))
