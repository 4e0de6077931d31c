"""`veil mask`: masking methods from a recipe or options to files, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from veil.api.resolve import Run, resolve
from veil.api.run import Done, carry_out
from veil.cli import files, grammar, show
from veil.cli.steps import read_step
from veil.errors import PlanError
from veil.recipe import Recipe

if TYPE_CHECKING:
    from rich.console import Console

    from veil.utility.step import StepSummary


def mask_and_show(
    source: Path,
    steps: Sequence[str],
    *,
    input: Path | None,
    format: str | None,
    output: Path | None,
    order: str | None,
    person: str | None,
    quiet: bool,
    **places: Any,
) -> None:
    """Mask, write, and show a summary. `places` are those of `veil.run`."""
    places["about"] = grammar.about(places["about"])
    files.no_databases(source, input, output)
    reading = grammar.format(format)
    target = None if output is None else str(output)
    if files.is_recipe(source):
        if steps or order or person:
            flag = "--step" if steps else "--order" if order else "--person"
            raise PlanError(f"{flag} is only for a table, not for a recipe: change {source} instead")
        run = resolve(files.read_recipe(source, "mask"), input=input, format=reading, output=target, **places)
    else:
        if input is not None:
            raise PlanError(f"--input is only for recipes; {source} is already the table")
        if target is None:
            raise PlanError("say where to write the masked table: --output masked.csv")
        if not steps:
            raise PlanError(
                'say how to mask, such as --step "rank-swapping:age,p=10"; `veil list masks` lists methods'
            )
        recipe = Recipe(
            steps=[read_step(each) for each in steps],
            order=cast("Any", order or "random"),
            person=grammar.person(person),
        )
        run = resolve(recipe, input=source, format=reading, output=target, **places)
    with files.track_outputs(run.targets.values()):
        done = carry_out(run, progress=False if quiet else None)
        if not quiet:
            _show(done, run)


def _show(done: Done, run: Run) -> None:
    console = show.output()
    for number, each in enumerate(done.release.steps, start=1):
        _show_step(console, number, each)
    show.concerns(console, done.release)
    show.files(console, [*run.targets.items(), *(("apart", path) for path in done.apart)])


def _show_step(console: Console, number: int, step: StepSummary) -> None:

    summary = step.summary
    rows = [
        (
            each.column,
            f"{each.changed:.2%}",
            "" if each.error is None else f"{each.error:.4g}",
            _change(each.means),
            _change(each.variances),
            "" if each.total_variation is None else f"{each.total_variation:.4g}",
        )
        for each in summary.columns
    ]
    headings = ("column", "changed", "SSE/SST", "mean", "variance", "total variation")
    console.print(show.table(f"Step {number}: {step.method}", headings, rows, right=range(1, 6)))
    (k, new_k), (alone, new_alone) = summary.smallest_class, summary.uniques
    risks = [
        ("records", f"{summary.records[0]:,} -> {summary.records[1]:,}"),
        ("linked by distance, of the input", f"{summary.linkage.forward:.2%}"),
        ("linked by distance, of the release", f"{summary.linkage.backward:.2%}"),
        ("looked up", summary.linkage.basis),
        ("smallest class over these columns", f"{k:,} -> {new_k:,}"),
        ("unique records", f"{alone:.2%} -> {new_alone:.2%}"),
    ]
    if summary.correlation is not None:
        risks.insert(1, ("greatest change of a correlation", f"{summary.correlation:.4g}"))
    console.print(show.table("", ("", ""), [*risks, *((name, _plain(v)) for name, v in step.facts.items())]))
    show.verification(console, step.verification, f"step {number}")


def _change(pair: tuple[float, float] | None) -> str:
    return "" if pair is None else f"{pair[0]:.6g} -> {pair[1]:.6g}"


def _plain(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
