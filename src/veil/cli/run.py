"""`veil run`, and what it has in common with other commands: carry a recipe out and show the result."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.main import get_command

from veil.api.open import Place, place_of, target_place
from veil.api.rehearse import Rehearsal, rehearse
from veil.api.resolve import Run, resolve
from veil.api.run import Done, carry_out
from veil.cli import failures, files, grammar, show
from veil.cli.base import Acknowledge, InputAndOutput, Overwrite, Releasing, app
from veil.cli.commands.run import RunCommand
from veil.cli.json_result import as_json, as_text, summary_of
from veil.cli.log import Log, logging
from veil.cli.places import warn_about_passwords
from veil.cli.streams import STREAM, Streams, streams
from veil.engines.database import Database
from veil.errors import PlanError
from veil.recipe import Recipe
from veil.tables import Format

if TYPE_CHECKING:
    from rich.console import Console

    from veil.utility.step import StepSummary


def run(options: RunCommand) -> None:
    """Carry out a recipe of any kind and show the result."""
    recipe = Recipe.read(options.recipe)
    if recipe.annex is not None and not recipe.annex.makes_release:
        get_command(app)([recipe.command, *options.words()], prog_name="veil")  # which knows its own options
        return
    reading = grammar.format(options.format)
    with started(options, "run", reading) as (piped, logged):
        table, target = places_of(options, piped)
        warn_about_passwords(table, target)
        places = {"input": table, "format": reading, "output": target}
        resolved = resolve(recipe, **places, **options.of(Acknowledge, Overwrite))
        carry_out_and_show(resolved, options, piped, logged)


@contextmanager
def started(
    options: Releasing, command: str, format: Format | None, *inputs: str
) -> Iterator[tuple[Streams, Log | None]]:
    """Open the log and the streams of a command."""
    if options.json and options.output == STREAM:
        raise PlanError("--json and --output - both use standard output: write the release to a file")
    with (
        logging(options.log, command, quiet=options.quiet) as logged,
        streams(format, *inputs, options.input, output=options.output) as piped,
    ):
        yield piped, logged


def places_of(options: InputAndOutput, piped: Streams) -> tuple[Place | None, str | Database | None]:
    """Return the places of the table and of the release, if the options name them."""
    source, target = piped.read(options.input), piped.target(options.output)
    return (
        None if source is None else place_of(source),
        None if target is None else target_place(target),
    )


def carry_out_and_show(run: Run, options: Releasing, piped: Streams, logged: Log | None) -> None:
    """Carry out a run, or rehearse it, and show the result."""
    progress = logged or (False if options.quiet else None)
    if options.dry_run:
        rehearsal = rehearse(run, threads=options.threads, progress=progress)
        if options.json:
            typer.echo(as_text(dataclasses.asdict(rehearsal)))
        elif not options.quiet:
            _show_rehearsal(rehearsal)
        return
    with files.track_outputs(run.targets.values()) as outputs:
        done = carry_out(run, threads=options.threads, progress=progress)
        outputs += [str(run.output)] if isinstance(run.output, Database) else []
        if logged is not None:
            logged.end_phase()
            logged.write("released", **summary_of(done))
        piped.send()
        if options.json:
            typer.echo(as_json(done, run))
        elif not options.quiet:
            show_done(done, run, to_stream=piped.sends)


def _show_rehearsal(rehearsal: Rehearsal) -> None:
    console = show.output()
    sizes = {
        "records": rehearsal.records,
        "columns": rehearsal.columns,
        "possible transformations": rehearsal.transformations,
    }
    rows = [(what, f"{size:,}") for what, size in sizes.items() if size is not None]
    subject = "The plan fits the table" if rows else "The places can be used"
    console.print(f"{subject}; nothing was written.")
    console.print(show.table("", ("", ""), rows))
    show.files(console, ((f"would be {what}", Path(path)) for what, path in rehearsal.targets.items()))


def show_done(done: Done, run: Run, *, to_stream: bool = False) -> None:
    """Show what was released: masks step by step, the search, how policies are met, and the files."""
    console, release, relation = show.errors() if to_stream else show.output(), done.release, done.relation
    for number, each in enumerate(release.steps, start=1):
        _show_step(console, number, each)
    if release.plan is not None:
        _show_search(console, done)
    if release.account is not None:
        console.print(show.printable(str(release.account)), markup=False, highlight=False, soft_wrap=True)
    show.concerns(console, release)
    targets = run.targets
    if to_stream:
        targets.pop("release")
    if relation is not None:
        show.release_of_engine(console, release, done.written, relation)
        targets.pop("release", None)
    show.files(console, [*targets.items(), *(("apart", path) for path in done.apart)])
    for note in release.notes if relation is None and release.statement is None else ():
        failures.print_note(f"note: {note}")


def _show_search(console: Console, done: Done) -> None:
    release = done.release
    show.release(console, release)
    rows = "the output" if done.relation is None else "the different rows, before writing"
    show.verification(console, release.verification, rows)
    if release.statement is None:
        before, after = release.risk()
        show.risks(console, ("before", before), ("after", after))
    show.statement(console, release)


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
