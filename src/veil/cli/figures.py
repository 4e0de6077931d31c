"""Figures as tables: what `veil risk`, `veil identify`, `veil utility` and `veil frontier` print."""

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
    from veil.risk import Proposal, Repeated, RiskAnalysis
    from veil.utility import Utility

_ROLES = {
    "identifying": "bold red",
    "quasi-identifying": "yellow",
    "sensitive": "magenta",
    "insensitive": "dim",
}


_MOST_SHOWN = 5
"""Columns of an alternative that fit beside each other on a terminal."""


def advice(console: Console, found: Advice) -> None:
    """Show what a release lost most by, and what would keep more."""
    for line in found.said():
        console.print(Text(show.printable(line)))
    kept = found.released.kept
    shown = sorted(kept, key=kept.__getitem__)[:_MOST_SHOWN]
    shown = [name for name in kept if name in shown]
    rows = [
        (
            "" if not number else str(number),
            each.what + (" (promises less)" if each.promises_less else ""),
            f"{each.kept_on_average:.1%}",
            *(f"{each.kept.get(name, 0.0):.0%}" for name in shown),
            f"{each.suppressed:,}",
        )
        for number, each in enumerate((found.released, *found.alternatives))
    ]
    headings = ("", "release", "kept", *shown, "suppressed")
    console.print(
        show.table("How much of each column is kept", headings, rows, right=range(2, len(headings)))
    )
    if len(shown) < len(kept):
        console.print(Text(f"Shown are the {len(shown)} columns that keep least; --json has all of them."))
    console.print(Text("In the recipe, with `veil anonymize` afterwards:"))
    for number, each in enumerate(found.alternatives, 1):
        lines = [f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in each.recipe.items()]
        console.print(Text(show.printable(f"{number}. {each.what}")), soft_wrap=True)
        for line in lines:
            console.print(Text(f"   {show.printable(line)}", style="cyan"), soft_wrap=True)
    if not found.complete:
        console.print("There was not enough time to try everything: allow more with --time-limit SECONDS.")


def risk(console: Console, found: RiskAnalysis, *, untouched: bool) -> None:
    """Show what a table reveals about the people in it."""
    by, wild = found.attackers, found.wildcards
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
    console.print(show.table("The table", ("", ""), _about(found)))
    single = [each for each in found.attributes if len(each.columns) == 1]
    shares = found.suda.attribute_contributions
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
    if found.class_sizes.suppressed and not untouched:
        console.print(
            plural(
                found.class_sizes.suppressed,
                "record shows nothing in these columns and counts",
                "records show nothing in these columns and count",
            )
            + " as suppressed. If the table is as it was collected, say --untouched."
        )


def _about(found: RiskAnalysis) -> list[tuple[str, str]]:
    sizes, alone, scores = found.class_sizes, found.sample_uniques, found.suda.to_dict()
    spread = "" if sizes.smallest == sizes.largest else f"{sizes.smallest:,} to "
    rows = [
        ("records", f"{sizes.records:,}, and {sizes.suppressed:,} suppressed"),
        ("classes", f"{sizes.classes:,} of {spread}{plural(sizes.largest, 'record')}"),
        ("unique records", f"{alone.records:,} ({alone.share:.2%})"),
    ]
    if (rule := found.population_uniques) is not None:
        people = f"about {rule.dankar.uniques:,.0f} of {rule.population:,} ({rule.dankar.share:.2%})"
        rows.append(("unique people in the population", f"{people}, as {rule.chosen} estimates"))
    special = f"{plural(scores['records'], 'record')}, highest score {scores['highest_score']:g}, DIS {scores['dis']:.2%}"
    rows.append((f"special uniques (SUDA, up to {plural(found.largest_subset, 'column')})", special))
    if (individual := found.individual) is not None:
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
    """Show what columns look like and which roles that speaks for, and how to go on."""
    rows = [
        (
            each.column,
            ", ".join(each.looks_like),
            Text(each.role, _ROLES[each.role]),
            "; ".join(each.reasons),
        )
        for each in proposed
    ]
    console.print(show.table(f"Columns of {place}", ("column", "looks like", "proposed role", "why"), rows))
    console.print(Text("These are suggestions from names and values. Please review every role."))
    for again in repeated:
        told = f"Rows seem to be about the same people: {again}."
        console.print(Text(show.printable(told), style="yellow"))
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

    `codes` are columns such as postal codes, of which the digits count, also where they are read as numbers, and
    `person` one that tells people apart.
    """
    named: dict[str, list[str]] = {role: [] for role in _ROLES}
    for each in proposed:
        named[each.role].append(each.column)
    table = url_with_table(place) if isinstance(place, Database) else str(place)
    words = ["veil", "anonymize", table, "-o", release_for(place)]
    words += ["--format", format] if format else []
    for column in named["quasi-identifying"]:
        words += ["--qi", f"{column}={'redaction' if column in codes else 'auto'}"]
    for role in ("sensitive", "identifying"):
        words += [f"--{role}", _list_names(named[role])] if named[role] else []
    words += ["--person", person] if person is not None else []
    return shlex.join([*words, "--others", "drop", "--model", "k-anonymity:5", "--suppression-limit", "0.05"])


def person_of(repeated: Sequence[Repeated]) -> str | None:
    """The column that tells people apart, if rows are about the same ones and one column does."""
    return next((each.columns[0] for each in repeated if len(each.columns) == 1), None)


def _list_names(names: Sequence[str]) -> str:
    """Write names so that `grammar.names` reads them again."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def utility(console: Console, found: Utility) -> None:
    """Show what a released table is still good for."""
    from veil.utility.attributes import ATTRIBUTE_MEASURES

    before, after = found.classes
    rows = [
        ("records", f"{found.records:,}"),
        ("suppressed", f"{found.suppressed:,} ({found.suppressed / found.records:.2%})"),
        ("classes", f"{before.number:,} -> {after.number:,}"),
        ("records in a class", f"{before.average:.2f} -> {after.average:.2f}"),
    ]
    if found.queries is not None and found.queries.mean is not None:
        asked = f"off by {found.queries.median:.2%} (median), {found.queries.mean:.2%} on average"
        rows.append((f"{found.queries.queries:,} random counts", asked))
    console.print(show.table("The release", ("", ""), rows))
    quality = found.quality
    left = [
        (
            each.column,
            *(f"{getattr(each, measure).quality:.2%}" for measure in ATTRIBUTE_MEASURES),
            f"{each.missings:.2%}",
        )
        for each in quality.attributes
    ]
    left.append(("together", *(f"{quality.aggregate(measure):.2%}" for measure in ATTRIBUTE_MEASURES), ""))
    headings = ("column", *map(_spoken, ATTRIBUTE_MEASURES), "blank cells")
    console.print(show.table("Information left", headings, left, right=range(1, 6)))
    whole = [
        (_spoken(name), f"{share:.2%}")
        for name, share in quality.overall.items()
        if name not in ATTRIBUTE_MEASURES
    ]
    console.print(show.table("Of the whole", ("", ""), whole, right=(1,)))
    _numbers(console, found)
    _predictions(console, found)


def _numbers(console: Console, found: Utility) -> None:
    if found.preservation is None:
        return
    rows = [
        (
            each.column,
            f"{each.compared:.2%}",
            _change(*each.means),
            _change(*each.variances),
            "" if each.sse_sst is None else f"{each.sse_sst:.4g}",
        )
        for each in found.preservation.columns
    ]
    headings = ("column", "released", "mean", "variance", "SSE/SST")
    console.print(show.table("Numbers", headings, rows, right=range(1, 5)))
    if found.preservation.correlation_change is not None:
        average, most = (
            found.preservation.correlation_change,
            found.preservation.largest_correlation_change,
        )
        console.print(f"Correlations change by {average:.4g} on average, {most:.4g} at most.")


def _predictions(console: Console, found: Utility) -> None:
    rows: list[tuple[str, ...]] = [
        (
            f"{each.target}, {each.method}",
            "accuracy",
            f"{each.original.accuracy:.4f}",
            f"{each.released.accuracy:.4f}",
            f"{each.zero_r.accuracy:.4f}",
        )
        for each in found.classification
    ]
    for model in found.regression:
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


def frontier(console: Console, found: Frontier) -> None:
    """Show all releases, those that no other beats, and those that do not exist."""
    front = found.pareto()
    names = list(found.points[0].parameters)
    rows: list[Sequence[Any]] = []
    problems: list[Sequence[Any]] = []
    for point in found.points:
        values = [str(point.parameters[name]) for name in names]
        if point.problem is not None:
            problems.append((*values, point.problem))
            continue
        levels = point.transformation or {}
        rows.append(
            (
                Text("best", "green") if point in front else "",
                *values,
                f"{point.risks[found.risk]:.2%}",
                f"{point.utilities[found.utility]:.2%}",
                f"{1 - point.utilities['released']:.2%}",
                ", ".join(f"{name} {level}" for name, level in levels.items()),
            )
        )
    if rows:
        risk, utility = f"risk ({_spoken(found.risk)})", f"utility ({_spoken(found.utility)})"
        headings = ("", *map(_spoken, names), risk, utility, "suppressed", "levels")
        console.print(show.table("Releases", headings, rows, right=range(1, len(names) + 4)))
        console.print(
            "best: no other release has less risk and as much utility, or more utility at as little risk"
        )
    if problems:
        console.print(show.table("No release", (*map(_spoken, names), "why"), problems))


def _change(before: Any, after: Any) -> str:
    return "" if before is None or after is None else f"{before:.6g} -> {after:.6g}"


def _spoken(name: str) -> str:
    return {"sse_sst": "1 - SSE/SST"}.get(name, name.replace("_", " "))
