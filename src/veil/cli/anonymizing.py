"""`veil anonymize`: from a recipe, or from options that say the same, to files.

Targets are checked before the work begins, and written after it has been verified: table and report both, or
neither. What an engine holds, it writes itself.
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from veil.base.progress import following
from veil.cli import failures, files, grammar
from veil.cli import places as engines
from veil.engines.database import Database
from veil.engines.relation import Engine, Relation
from veil.engines.settings import Settings
from veil.errors import OutputError, PlanError
from veil.hierarchies.notes import notes
from veil.plan.plan import Plan
from veil.recipe import Recipe
from veil.recipe.places import CERTIFICATES, REPORTS, source_of, without_password
from veil.tables import Format, atomic, output_format

if TYPE_CHECKING:
    from veil.api.release import Release
    from veil.local_recoding.modes import Mode
    from veil.outcome.written import Written


@dataclass(frozen=True)
class Job:
    """One anonymization with all places settled."""

    plan: Plan
    input: Path | Database
    format: Format | None
    output: str | Database
    report: Path | None = None
    certificate: Path | None = None
    recipe: Recipe | None = None
    save_recipe: Path | None = None
    overwrite: bool = False
    local_recoding: Mode | None = None
    engine: Engine | Settings = "auto"
    keep: tuple[Path, ...] = field(default=())
    """Files that must not be written over, whatever else may be."""

    @property
    def targets(self) -> dict[str, Path]:
        """Files to write, and maybe a folder."""
        named = {
            "release": None if isinstance(self.output, Database) else Path(self.output),
            "report": self.report,
            "certificate": self.certificate,
            "recipe": self.save_recipe,
        }
        return {what: path for what, path in named.items() if path is not None}

    @property
    def by_options(self) -> bool:
        """Whether the plan came by options, which `recipe` then says in its own words."""
        return self.recipe is not None


def job_of(
    text: str,
    options: Mapping[str, Any],
    *,
    input: str | None,
    format: str | None,
    output: str | None,
    report: Path | None,
    certificate: Path | None,
    save_recipe: Path | None,
    overwrite: bool,
    engine: Engine | Settings | None = None,
) -> Job:
    """Settle what to do. `options` are the plan's parameters that were given on the command line."""
    source, target = engines.place_of(text), None if output is None else engines.target_place(output)
    table = None if input is None else engines.place_of(input)
    engines.warn_about_passwords(source, target, table)
    if isinstance(source, Path) and files.is_recipe(source):
        job = _job_of_recipe(source, options, table, format, target, save_recipe, overwrite)
        return replace(
            job,
            report=report or job.report,
            certificate=certificate or job.certificate,
            engine=engine or job.engine,
        )
    if input is not None:
        raise PlanError(f"--input goes with a recipe; {source} is the table already")
    if target is None:
        raise PlanError("say where to write the release: --output release.csv")
    _check_endings(report, certificate)
    recipe = Recipe(
        input=source_of(source, grammar.format(format) if format else None),
        output=without_password(target) if isinstance(target, Database) else target,
        report=None if report is None else str(report),
        certificate=None if certificate is None else str(certificate),
        overwrite=overwrite,
        engine=engine or "auto",
        **_fields(options),
    )
    with failures.in_options():
        plan = recipe.plan()
    return Job(
        plan,
        source,
        recipe.input_format,
        target,
        report=report,
        certificate=certificate,
        recipe=recipe,
        save_recipe=save_recipe,
        overwrite=overwrite,
        local_recoding=recipe.local_recoding,
        engine=recipe.engine,
        keep=_kept(source),
    )


def _kept(*places: Path | Database) -> tuple[Path, ...]:
    """Files that are read; what an engine reads, it looks after itself."""
    return tuple(place for place in places if isinstance(place, Path) and not place.is_dir())


def _job_of_recipe(
    source: Path,
    options: Mapping[str, Any],
    input: Path | Database | None,
    format: str | None,
    output: str | Database | None,
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
    settled = files.tables_of(source, recipe, input=input, format=format, output=output, what="release")
    return Job(
        recipe.plan(),
        *settled,
        report=recipe.report_path,
        certificate=recipe.certificate_path,
        overwrite=overwrite or recipe.overwrite,
        local_recoding=recipe.local_recoding,
        engine=recipe.reading,
        keep=_kept(settled.input, source),
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
            "--qi age=intervals:5,10. `veil identify` proposes which those are, with a command to go on"
        )
    if "models" not in fields:
        raise PlanError("the plan has no privacy model: say what must hold, such as --model k-anonymity:5")
    return fields


def run(job: Job, *, threads: int | None = None, quiet: bool = False, budget: Path | None = None) -> Release:
    """Anonymize, write, and show what was done."""
    from veil.api.anonymize import anonymize

    progress = False if quiet else None
    relation = engines.opened(job.input, job.format, job.engine, threads=threads, output=job.output)
    check_targets(job, relation)
    accountant = None if budget is None else _account(job.input, budget)
    with files.honest_about(job.targets.values()) as done:
        with failures.in_options() if job.by_options else nullcontext():
            made: Release = anonymize(
                job.input if relation is None else _condensed(relation, job.plan, progress),
                job.plan,
                format=job.format if relation is None else None,
                engine="memory",  # what an engine should read has been opened already
                threads=threads,
                progress=progress,
                accountant=accountant,
            )
        if job.local_recoding is not None and made.suppressed:
            made = made.local_recoding(job.local_recoding, threads=threads, progress=progress)
        written = write(made, job, relation, progress=progress)
        done += [str(job.output)] if isinstance(job.output, Database) else []
        if not quiet:
            _show(made, job, relation, written)
            if relation is None:
                source = made.outcome.source
                for note in notes(source.table, job.plan.quasi_identifiers, source.format):
                    failures.say(f"note: {note}")
    return made


def _account(data: Path | Database, budget: Path) -> Any:
    from veil.cli.budget import opened

    if isinstance(data, Database) or not data.is_file():
        raise PlanError(
            f"--budget: a budget belongs to one file, which it knows by its content, and {data} is none. Keep the account "
            "in Python (`accountant=`), or give one file"
        )
    return opened(data, budget)


def _condensed(relation: Relation, plan: Plan, progress: bool | None) -> Any:
    """Let the engine count the combinations of cells that the plan looks at."""
    from veil.engines.source import for_plan

    with following(progress) as told:
        told.phase(f"counting combinations ({relation.kind})")
        return for_plan(relation, plan, told)


def check_targets(job: Job, relation: Relation | None = None) -> None:
    """Refuse targets that cannot be written to, before hours are spent on what goes there."""
    targets, keep = job.targets, list(job.keep)
    if relation is None:
        _check_format(Path(str(job.output)), job.format)
    else:
        release = targets.pop("release", None)
        keep += [] if release is None else [release]
        engines.check_output(job.output, relation, overwrite=job.overwrite)
        for what, path in targets.items():
            if release is not None and release.resolve() in path.resolve().parents:
                raise OutputError(
                    f"{path}: the {what} would lie in the folder of the release. Choose another path"
                )
    files.check_targets(targets, keep=keep, overwrite=job.overwrite)
    _check_endings(job.report, job.certificate)


def _check_format(output: Path, format: Format | None) -> None:
    """Refuse a name that stands for no format."""
    try:
        output_format(output, format)
    except OutputError as error:
        folder = "" if output.suffix else "; or end it with / for a folder of Parquet files"
        raise OutputError(f"{error}{folder}") from None


def _check_endings(report: Path | None, certificate: Path | None) -> None:
    for path, what, endings in (
        (report, "report", REPORTS),
        (certificate, "certificate", CERTIFICATES),
    ):
        if path is not None:
            files.check_ending(path, what, endings)
    if report is not None and report.suffix.lower() == ".pdf":
        files.require("Reports as PDF", "reportlab", "matplotlib", extra="report")


def write(
    made: Release, job: Job, relation: Relation | None = None, *, progress: bool | None = None
) -> Written | None:
    """Write the table, and with it the report, the certificate and the recipe: all of them, or none."""
    beside: dict[Path, bytes] = {}
    if job.report is not None:
        from veil.report import write_report

        make = functools.partial(
            write_report,
            made.outcome,
            progress=progress,
            table=Path(job.output).name if isinstance(job.output, str) else None,
            certificate=None if job.certificate is None else job.certificate.name,
        )
        beside[job.report] = _content(make, job.report)
    if job.certificate is not None:
        beside[job.certificate] = _content(made.certificate, job.certificate)
    with ExitStack() as all_or_none:
        for path, content in beside.items():
            # Safely on the disk before the table is, so that little is left to go wrong after it.
            with all_or_none.enter_context(atomic(path)).open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
        if job.save_recipe is not None and job.recipe is not None:
            job.recipe.save(all_or_none.enter_context(atomic(job.save_recipe)))
        if relation is None:
            made.save(job.output, overwrite=job.overwrite)
            return None
        written: Written = made.save(
            job.output,
            overwrite=job.overwrite,
            format=engines.written_format(job.output, relation),
            progress=progress,
        )
        return written


def _content(make: Callable[[Path], Path], path: Path) -> bytes:
    """Make a file under its own name in a folder of its own, and return what it holds."""
    try:
        with tempfile.TemporaryDirectory(prefix=".veil-", dir=path.resolve().parent) as folder:
            try:
                return make(Path(folder, path.name)).read_bytes()
            except OutputError as error:
                raise OutputError(str(error).replace(str(Path(folder, path.name)), str(path))) from None
    except OSError as error:
        raise OutputError(
            f"{path}: cannot be written: {error.strerror or error}. Nothing was written"
        ) from None


def _show(made: Release, job: Job, relation: Relation | None, written: Written | None) -> None:
    from veil.cli import show

    console = show.output()
    show.release(console, made)
    rows = "the output" if relation is None else "the different rows, before writing"
    show.verification(console, made.verification, rows)
    before, after = made.risk()
    show.risks(console, ("before", before), ("after", after))
    show.statement(console, made)
    targets = job.targets
    if relation is not None and written is not None:
        show.written(console, made, written, relation)
        targets.pop("release", None)
    show.files(console, targets.items())
