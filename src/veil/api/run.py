"""The verb `run`: a recipe of either kind, carried out. What it asks for is written together or not at all.

Targets are checked before the work begins, and written after the result has been verified. What an engine holds, it
writes itself.
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
from veil.recipe.document import document_text
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
        Used instead of what the recipe says. These paths are relative to the working directory, those in the recipe to its folder.
    save_recipe
        Where to save the complete recipe of this run, along with the other files.
    about
        What the first page of the report says, field by field instead of what the recipe says: see `Release.report`.
    acknowledge
        Concerns about the release that are known and accepted, in addition to those of the recipe: see `Release.concerns`.
    overwrite
        Whether existing files are replaced, even if the recipe does not say so. Input files never are.
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


def _path(given: AnyPath | None) -> Path | None:
    return None if given is None else Path(given)


class Done(NamedTuple):
    """What has become of a job."""

    release: Release
    relation: Relation | None
    """The table that an engine holds."""
    written: Written
    apart: list[Path]
    """Where the tables are that do not belong into the release."""


def carry_out(
    job: Run,
    *,
    threads: int | None = None,
    progress: ProgressLike = None,
    accountant: Accountant | None = None,
) -> Done:
    """Check the targets, do the work, write."""
    relation = relation_of(job, threads)
    check_job(job, relation)
    with job.recipe.own_words():
        if isinstance(job.recipe, MaskingRecipe):
            made = _mask(job, job.recipe, progress, accountant)
        elif isinstance(job.recipe, PolicyRecipe):
            made = _by_policies(job, job.recipe, threads, progress)
        else:
            made = _anonymize(job, job.recipe, relation, threads, progress, accountant)
        if job.acknowledge:
            made = made.acknowledge(*job.acknowledge)
    return _write(made, job, relation, progress)


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
        engine="memory",  # what an engine should read has been opened already
        threads=threads,
        progress=progress,
        accountant=accountant,
    )


def _open_relation(relation: Relation, plan: Plan, progress: ProgressLike) -> Source:
    """Let the engine count the combinations of cells that the plan looks at, or read the rows if it looks at whole ones."""
    with following(progress) as shown:
        shown.phase(f"counting combinations ({relation.kind})")
        return condense_relation(relation, plan, shown)


def _mask(job: Run, recipe: MaskingRecipe, progress: ProgressLike, accountant: Accountant | None) -> Release:
    from veil.api.mask import mask  # only here: a start should not wait for what it does not need

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

    asked = recipe.policy
    variable = asked.credential_variable
    return apply(
        read(job.input, format=job.format) if isinstance(job.input, Path) else job.input,
        recipe.locate(asked.policies),
        purpose=asked.purpose,
        recipient=asked.recipient,
        link=asked.link,
        person=asked.person,
        credential=None if variable is None else os.environ.get(variable),
        on=asked.on,
        ended=asked.ended,
        withdrawn=asked.withdrawn,
        keys=recipe.keys,
        population=recipe.population_path,
        if_impossible=asked.if_impossible,
        suppression_limit=recipe.suppression_limit,
        threads=threads,
        progress=progress,
    )


def _apart_files(made: Release, job: Run) -> list[Path]:
    """Return where the tables go that do not belong into the release."""
    names = list(made.apart)
    if not names or (job.apart is None and made.plan is not None):
        return []  # nobody can turn pseudonyms back whose key nobody keeps
    if job.apart is None:
        raise OutputError(
            f"the run makes more than one table: {', '.join(names)}. Say where these go: ",
            Say("apart", "FOLDER"),
            ". Nothing was written",
        )
    kept = {path.resolve() for path in (*job.files_read, *job.targets.values())}
    paths = [job.apart / file_name(name) for name in names]
    for path in paths:
        if path.resolve() in kept:
            raise OutputError(f"{path}: would replace its own input. Choose another folder")
        check_target(path, overwrite=job.overwrite)
    return paths


# Writing


def _write(made: Release, job: Run, relation: Relation | None, progress: ProgressLike) -> Done:
    """Write the table, and with it all else: together or not at all.

    The files are put in place in their order here: what turns pseudonyms back is safe before there are any.
    """
    apart = _apart_files(made, job)
    with Together(overwrite=job.overwrite) as files:
        make_apart(made.outcome, apart, files)
        if job.key is not None and not isinstance(job.input, Mapping):
            with files.making(job.key, 0o600) as path:
                write_key(made.outcome, path)
        if job.report is not None:
            with files.making(job.report) as path:
                _write_report(made, job, path, progress)
        if job.certificate is not None:
            with files.making(job.certificate) as path:
                made.certificate(path, sign=signing_key(job))
        if job.processing_record is not None:
            with files.making(job.processing_record) as path:
                made.processing_record(path)
        if job.save_recipe is not None:
            with files.making(job.save_recipe) as path:
                path.write_text(
                    document_text(_recipe_of(job).spell(job.save_recipe.parent)), encoding="utf-8"
                )
        if isinstance(job.input, Mapping):
            written = made.save(
                job.output, key=job.key, overwrite=job.overwrite, progress=progress, beside=files
            )
        elif relation is None or not (
            isinstance(made.outcome.source, EngineSource) or goes_to_engine(job.output)
        ):
            with files.making(Path(str(job.output))) as path:
                written = made.save(path, progress=progress)
        else:
            written = made.save(
                job.output,
                overwrite=job.overwrite,
                format=written_format(job.output, relation),
                progress=progress,
                placing=files.placing,
            )
    return Done(made, relation, written, apart)


def _write_report(made: Release, job: Run, path: Path, progress: ProgressLike) -> None:
    from veil import report

    report.write_report(
        made.outcome,
        path,
        progress=progress,
        table=Path(job.output).name if isinstance(job.output, str) else None,
        certificate=None if job.certificate is None else job.certificate.name,
        sign=signing_key(job),
        about=job.about,
        advise=made._advice_for_report,
    )


def _recipe_of(job: Run) -> Recipe:
    """Write down what is done, seen from here."""
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
