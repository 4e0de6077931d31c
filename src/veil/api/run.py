"""The verb `run`: carry out a recipe of any kind. Its results are written together or not at all.

Targets are checked before the work begins, and written after the verification. Engines write their tables.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from veil.api.anonymize import anonymize
from veil.api.deliver import goes_to_engine, make_apart, write_key
from veil.api.job import Run, check_job, relation_of, settle, signing_key
from veil.api.open import Engine, condense_relation, place_of, target_place
from veil.api.release import Release
from veil.api.targets import check_target, written_format
from veil.base.keywords import own_keywords
from veil.base.progress import ProgressLike, following
from veil.dp.accountant import Accountant
from veil.engines.database import Database
from veil.engines.engine_source import EngineSource
from veil.engines.relation import Relation
from veil.errors import OutputError, Say
from veil.outcome.written import Written
from veil.plan.plan import Plan
from veil.recipe import Recipe
from veil.recipe.base import Located
from veil.recipe.document import file_text
from veil.recipe.masking import MaskingRecipe, read_recipe
from veil.recipe.policy import PolicyRecipe
from veil.tables import Format, Source, read
from veil.tables.atomic import Together
from veil.tables.writing import file_name

AnyPlace = str | os.PathLike[str] | Database
AnyPath = str | os.PathLike[str]


@own_keywords
def run(
    recipe: Recipe | MaskingRecipe | PolicyRecipe | AnyPath,
    *,
    input: AnyPlace | None = None,
    format: Format | None = None,
    output: AnyPlace | None = None,
    report: AnyPath | None = None,
    certificate: AnyPath | None = None,
    sign: AnyPath | None = None,
    apart: AnyPath | None = None,
    key: AnyPath | None = None,
    save_recipe: AnyPath | None = None,
    about: Mapping[str, Any] | None = None,
    acknowledge: Iterable[str] = (),
    overwrite: bool = False,
    engine: Engine | None = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    accountant: Accountant | None = None,
) -> Release:
    r"""Run a recipe, and write its table, report and certificate: all of them, or nothing.

    Parameters
    ----------
    recipe
        A `veil.Recipe` or a masking recipe, or the path of one.
    input, format, output, report, certificate, sign, apart, key, engine
        Override the recipe. Here paths are relative to the working directory, in the recipe to its folder.
    save_recipe
        Where to save the complete recipe of this run, along with the other files.
    about
        Content of the report's first page; overrides the recipe field by field: see `Release.report`.
    acknowledge
        Concerns that are accepted, in addition to those of the recipe: see `Release.concerns`.
    overwrite
        Whether existing files are replaced, even if the recipe does not allow it. Input files never are.
    threads, progress, accountant
        As for `veil.anonymize`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "people.csv").write_text("age\n34\n35\n61\n62\n")
    ...     _ = Path(folder, "recipe.yaml").write_text(
    ...         "input: people.csv\noutput: release.csv\norder: input\n"
    ...         "quasi_identifiers: {age: {kind: intervals, widths: [10]}}\n"
    ...         "models: [{kind: KAnonymity, k: 2}]\n"
    ...     )
    ...     release = run(Path(folder, "recipe.yaml"))
    ...     print(Path(folder, "release.csv").read_text(), end="")
    age
    "[30, 40["
    "[30, 40["
    "[60, 70["
    "[60, 70["
    """
    recipe = recipe if isinstance(recipe, Located) else read_recipe(recipe)
    job = settle(
        recipe,
        input=place_of(os.fspath(input)) if isinstance(input, str | os.PathLike) else input,
        format=format,
        output=target_place(os.fspath(output)) if isinstance(output, str | os.PathLike) else output,
        report=_path(report),
        certificate=_path(certificate),
        sign=_path(sign),
        apart=_path(apart),
        key=_path(key),
        save_recipe=_path(save_recipe),
        about=about,
        acknowledge=acknowledge,
        overwrite=overwrite,
        engine=engine,
    )
    return carry_out(job, threads=threads, progress=progress, accountant=accountant).release


def _path(path: AnyPath | None) -> Path | None:
    return None if path is None else Path(path)


class Done(NamedTuple):
    """The result of a run."""

    release: Release
    relation: Relation | None
    """The table in an engine."""
    written: Written
    apart: list[Path]
    """Paths of the tables that are kept apart."""


def carry_out(
    job: Run,
    *,
    threads: int | None = None,
    progress: ProgressLike = None,
    accountant: Accountant | None = None,
) -> Done:
    """Check the targets, do the work, and write the results."""
    relation = relation_of(job, threads)
    check_job(job, relation)
    with job.recipe.own_words():
        if isinstance(job.recipe, MaskingRecipe):
            release = _mask(job, job.recipe, progress, accountant)
        elif isinstance(job.recipe, PolicyRecipe):
            release = _by_policies(job, job.recipe, threads, progress)
        else:
            release = _anonymize(job, job.recipe, relation, threads, progress, accountant)
        if job.acknowledge:
            release = release.acknowledge(*job.acknowledge)
    return _write(release, job, relation, progress)


def _anonymize(
    job: Run,
    recipe: Recipe,
    relation: Relation | None,
    threads: int | None,
    progress: ProgressLike,
    accountant: Accountant | None,
) -> Release:
    plan = recipe.plan()
    return anonymize(
        job.input if relation is None else _open_relation(relation, plan, progress),
        plan,
        local=recipe.local_recoding,
        format=recipe.table_formats or (job.format if relation is None else None),
        engine="memory",  # a table that an engine reads is open already
        threads=threads,
        progress=progress,
        accountant=accountant,
    )


def _open_relation(relation: Relation, plan: Plan, progress: ProgressLike) -> Source:
    """Have the engine count the combinations of cells that the plan reads, or fetch all rows."""
    with following(progress) as tracker:
        tracker.phase(f"counting combinations ({relation.kind})")
        return condense_relation(relation, plan, tracker)


def _mask(job: Run, recipe: MaskingRecipe, progress: ProgressLike, accountant: Accountant | None) -> Release:
    from veil.api.mask import mask  # imported late, for a faster start

    return mask(
        job.input,
        recipe.methods(),
        format=job.format,
        engine=job.engine,
        order=recipe.order,
        person=recipe.person,
        accountant=accountant,
        progress=progress,
    )


def _by_policies(job: Run, recipe: PolicyRecipe, threads: int | None, progress: ProgressLike) -> Release:
    from veil.api.policy import apply

    request = recipe.policy
    variable = request.credential_variable
    return apply(
        read(job.input, format=job.format) if isinstance(job.input, Path) else job.input,
        recipe.locate(request.policies),
        purpose=request.purpose,
        recipient=request.recipient,
        link=request.link,
        person=request.person,
        credential=None if variable is None else os.environ.get(variable),
        on=request.on,
        ended=request.ended,
        withdrawn=request.withdrawn,
        keys=recipe.keys,
        population=recipe.population_path,
        if_impossible=request.if_impossible,
        suppression_limit=recipe.suppression_limit,
        threads=threads,
        progress=progress,
    )


def _apart_files(release: Release, job: Run) -> list[Path]:
    """Return the paths of the tables that are kept apart."""
    names = list(release.apart)
    if not names or (job.apart is None and release.plan is not None):
        return []  # pseudonyms without a key cannot be reversed
    if job.apart is None:
        raise OutputError(
            f"the run makes more than one table: {', '.join(names)}. Say where these go: ",
            Say("apart", "FOLDER"),
            ". Nothing was written",
        )
    protected = {path.resolve() for path in (*job.files_read, *job.targets.values())}
    paths = [job.apart / file_name(name) for name in names]
    for path in paths:
        if path.resolve() in protected:
            raise OutputError(f"{path}: would replace its own input. Choose another folder")
        check_target(path, overwrite=job.overwrite)
    return paths


# Writing


def _write(release: Release, job: Run, relation: Relation | None, progress: ProgressLike) -> Done:
    """Write the table and all other files: together or not at all.

    Files are put in place in this order: the key of pseudonyms is safe before the pseudonyms are published.
    """
    apart = _apart_files(release, job)
    with Together(overwrite=job.overwrite) as files:
        make_apart(release.outcome, apart, files)
        if job.key is not None and not isinstance(job.input, Mapping):
            with files.making(job.key, 0o600) as path:
                write_key(release.outcome, path)
        if job.report is not None:
            with files.making(job.report) as path:
                _write_report(release, job, path, progress)
        if job.certificate is not None:
            with files.making(job.certificate) as path:
                release.certificate(path, sign=signing_key(job))
        if job.processing_record is not None:
            with files.making(job.processing_record) as path:
                release.processing_record(path)
        if job.save_recipe is not None:
            with files.making(job.save_recipe) as path:
                path.write_text(
                    file_text(_recipe_of(job).spell(job.save_recipe.parent), job.save_recipe),
                    encoding="utf-8",
                )
        if isinstance(job.input, Mapping):
            delivery = release.save(
                job.output, key=job.key, overwrite=job.overwrite, progress=progress, beside=files
            )
        elif relation is None or not (
            isinstance(release.outcome.source, EngineSource) or goes_to_engine(job.output)
        ):
            with files.making(Path(str(job.output))) as path:
                delivery = release.save(path, progress=progress)
        else:
            delivery = release.save(
                job.output,
                overwrite=job.overwrite,
                format=written_format(job.output, relation),
                progress=progress,
                placing=files.placing,
            )
    return Done(release, relation, delivery, apart)


def _write_report(release: Release, job: Run, path: Path, progress: ProgressLike) -> None:
    from veil import report
    from veil.api.advice import advice_for_report

    report.write_report(
        release.outcome,
        path,
        progress=progress,
        table=Path(job.output).name if isinstance(job.output, str) else None,
        certificate=None if job.certificate is None else job.certificate.name,
        sign=signing_key(job),
        about=job.about,
        advice=advice_for_report(release),
    )


def _recipe_of(job: Run) -> Recipe:
    """Return the recipe of this run, with all places."""
    assert isinstance(job.recipe, Recipe)
    return Recipe.of(
        job.recipe.plan(),
        input=None if isinstance(job.input, Mapping) else job.input,
        tables=job.input if isinstance(job.input, Mapping) else None,
        format=job.format,
        output=job.output,
        report=job.report,
        certificate=job.certificate,
        sign=job.sign,
        key=job.key,
        overwrite=job.overwrite,
        engine=job.engine,
        local_recoding=job.recipe.local_recoding,
        about=job.about,
        acknowledge=job.acknowledge,
    )
