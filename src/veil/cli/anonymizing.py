"""`veil anonymize`: from a recipe, or from options that say the same, to files.

Targets are checked before the work begins, and written after it has been verified: table and report both, or
neither.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer

from veil.cli import failures, grammar
from veil.errors import OutputError, PlanError
from veil.plan import Plan
from veil.recipe import Recipe
from veil.recipe._parts import input_of
from veil.tables import Format, atomic, output_format

if TYPE_CHECKING:
    from veil.anonymized import Anonymized
    from veil.local_recoding.modes import Mode
    from veil.release import Release

RECIPES = (".yaml", ".yml", ".json")


@dataclass(frozen=True)
class Job:
    """One anonymization with all paths settled."""

    plan: Plan
    input: Path
    format: Format | None
    output: Path
    report: Path | None = None
    recipe: Recipe | None = None
    save_recipe: Path | None = None
    overwrite: bool = False
    local_recoding: Mode | None = None
    keep: tuple[Path, ...] = field(default=())
    """Files that must not be written over, whatever else may be."""

    @property
    def targets(self) -> dict[str, Path]:
        """Files to write."""
        named = {"release": self.output, "report": self.report, "recipe": self.save_recipe}
        return {what: path for what, path in named.items() if path is not None}


def job_of(
    source: Path,
    options: Mapping[str, Any],
    *,
    input: Path | None,
    format: str | None,
    output: Path | None,
    report: Path | None,
    save_recipe: Path | None,
    overwrite: bool,
) -> Job:
    """Settle what to do. `options` are the plan's parameters that were given on the command line."""
    if source.suffix.lower() in RECIPES:
        return _job_of_recipe(source, options, input, format, output, report, save_recipe, overwrite)
    if input is not None:
        raise PlanError(f"--input goes with a recipe; {source} is the table already")
    if output is None:
        raise PlanError("say where to write the release: --output release.csv")
    described = input_of(str(source), grammar.format(format) if format else None)
    recipe = Recipe(
        input=described,
        output=str(output),
        report=None if report is None else str(report),
        overwrite=overwrite,
        **_fields(options),
    )
    return Job(
        recipe.plan(),
        source,
        recipe.input_format,
        output,
        report,
        recipe,
        save_recipe,
        overwrite,
        recipe.local_recoding,
        (source,),
    )


def _job_of_recipe(
    source: Path,
    options: Mapping[str, Any],
    input: Path | None,
    format: str | None,
    output: Path | None,
    report: Path | None,
    save_recipe: Path | None,
    overwrite: bool,
) -> Job:
    given = ["--" + name.replace("_", "-") for name, value in options.items() if value]
    if given or save_recipe is not None:
        raise PlanError(
            f"{', '.join(given) or '--save-recipe'} goes with a table, not with a recipe: "
            f"change {source} instead"
        )
    recipe = Recipe.read(source)
    table = input or recipe.input_path
    target = output or recipe.output_path
    if table is None:
        raise PlanError(f"{source} names no table: add `input`, or give --input")
    if target is None:
        raise PlanError(f"{source} does not say where to write the release: add `output`, or give --output")
    chosen = grammar.format(format) if format else recipe.input_format
    if input is not None and chosen is not None and not format:
        chosen = output_format(input, chosen)  # what the recipe knows about such files, if it is one
    return Job(
        recipe.plan(),
        table,
        chosen,
        target,
        report or recipe.report_path,
        overwrite=overwrite or recipe.overwrite,
        local_recoding=recipe.local_recoding,
        keep=(table, source),
    )


def _fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """Read the options that make up a plan; what was not given is left to the plan."""
    readers: dict[str, tuple[str, Callable[[Any], Any]]] = {
        "qi": ("quasi_identifiers", grammar.hierarchies),
        "model": ("models", lambda texts: [grammar.model(text) for text in texts]),
        "sensitive": ("sensitive", grammar.names),
        "insensitive": ("insensitive", grammar.names),
        "identifying": ("identifying", grammar.treatments),
        "microaggregate": ("microaggregated", grammar.aggregations),
        "quality": ("quality", grammar.quality),
        "strategy": ("strategy", grammar.strategy),
        "local_recoding": ("local_recoding", grammar.local_recoding),
        "minimum_level": ("minimum_levels", lambda texts: grammar.levels(texts, "--minimum-level")),
        "maximum_level": ("maximum_levels", lambda texts: grammar.levels(texts, "--maximum-level")),
    }
    fields: dict[str, Any] = {}
    for option, value in options.items():
        if value is not None and value != []:
            name, read = readers.get(option, (option, lambda value: value))
            fields[name] = read(value)
    if "quasi_identifiers" not in fields:
        raise PlanError(
            "the plan has no quasi-identifier: name at least one column an attacker may know, such as "
            "--qi age=intervals:5,10"
        )
    if "models" not in fields:
        raise PlanError("the plan has no privacy model: say what must hold, such as --model k-anonymity:5")
    return fields


def run(
    job: Job, *, threads: int | None = None, quiet: bool = False, budget: Path | None = None
) -> Anonymized:
    """Anonymize, write, and show what was done."""
    from veil.api import carry_out
    from veil.cli.budget import opened

    check_targets(job)
    if job.local_recoding is not None and job.report is not None:
        raise PlanError("there are no reports of locally recoded releases yet: leave out the report")
    with honest_about(job):
        made: Anonymized = carry_out(
            job.plan,
            job.input,
            format=job.format,
            threads=threads,
            progress=False if quiet else None,
            accountant=None if budget is None else opened(job.input, budget),
        )
        if job.local_recoding is not None and made.suppressed:
            made = made.local_recoding(job.local_recoding, threads=threads, progress=False if quiet else None)
        write(made, job)
        if not quiet:
            _show(made, job)
    return made


def check_targets(job: Job) -> None:
    """Refuse targets that cannot be written to, before hours are spent on what goes there."""
    output_format(job.output, job.format)  # an ending that stands for no format is refused
    kept = {path.resolve() for path in job.keep}
    taken: set[Path] = set()
    for what, path in job.targets.items():
        if path.resolve() in kept:
            raise OutputError(f"{path}: the {what} would replace what it is made from. Choose another path")
        if path.resolve() in taken:
            raise OutputError(
                f"{path}: the {what} would replace another file of the same run. Choose another path"
            )
        taken.add(path.resolve())
        check_target(path, overwrite=job.overwrite)


def check_target(path: Path, *, overwrite: bool) -> None:
    """Refuse a path to which nothing can be written, or at which there is something already."""
    folder = path.resolve().parent
    if path.is_dir():
        raise OutputError(f"{path}: is a directory. Give the path of a file in it")
    if path.exists() and not overwrite:
        raise OutputError(f"{path}: exists already. Choose another path, or say --overwrite")
    if not folder.is_dir():
        raise OutputError(f"{path}: the directory does not exist. Create it, or choose another path")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{path}: the directory cannot be written to. Choose another path")


def write(made: Anonymized, job: Job) -> None:
    """Write the table, and with it the report and the recipe: all of them, or none."""
    if job.report is None:
        _write_table(made, job)
        return
    content = _report(cast("Release", made), job.report)
    with atomic(job.report) as temporary:
        # Safely on the disk before the table is, so that little is left to go wrong after it.
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _write_table(made, job)


def _write_table(made: Anonymized, job: Job) -> None:
    if job.save_recipe is not None and job.recipe is not None:
        with atomic(job.save_recipe) as temporary:
            job.recipe.save(temporary)
            made.save(job.output)
    else:
        made.save(job.output)


def _report(made: Release, path: Path) -> bytes:
    """Make the report under its own name in a folder of its own, and return what it holds."""
    try:
        with tempfile.TemporaryDirectory(prefix=".veil-", dir=path.resolve().parent) as folder:
            try:
                return made.report(Path(folder, path.name)).read_bytes()
            except OutputError as error:
                raise OutputError(str(error).replace(str(Path(folder, path.name)), str(path))) from None
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written: {error.strerror or error}. Nothing was written"
        ) from None


@contextmanager
def honest_about(job: Job) -> Iterator[None]:
    """On Ctrl-C, say what is there; in all likelihood nothing."""
    before = {path: _identity(path) for path in job.targets.values()}
    try:
        yield
    except KeyboardInterrupt:
        there = [str(path) for path, found in before.items() if _identity(path) != found]
        failures.say(f"stopped; {', '.join(there) + ' is complete' if there else 'nothing was written'}")
        raise typer.Exit(failures.STOPPED) from None


def _identity(path: Path) -> tuple[int, int] | None:
    """Tell a file from another of the same name."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _show(made: Anonymized, job: Job) -> None:
    from veil.cli import show

    console = show.output()
    show.release(console, made)
    show.verification(console, made.verification)
    before, after = made.risk()
    show.risks(console, ("before", before), ("after", after))
    show.statement(console, made)
    show.files(console, job.targets.items())
