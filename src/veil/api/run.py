"""The verb `run`: carry out a recipe. Its results are written together or not at all.

Targets are checked before the work begins, and written after the verification. Engines write their tables.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from veil.api.budget import account_of
from veil.api.deliver import goes_to_engine, make_apart, write_origins
from veil.api.open import Engine, condense_relation, place_of, target_place
from veil.api.release import Release
from veil.api.resolve import Run, check_run, relation_of, resolve, signing_key
from veil.api.steps import release as make_release
from veil.api.targets import check_target, written_format
from veil.base.keywords import own_keywords
from veil.base.progress import ProgressLike, following
from veil.dp.accountant import Accountant
from veil.engines.database import Database
from veil.engines.engine_source import EngineSource
from veil.engines.relation import Relation
from veil.errors import OutputError, PlanError, Say
from veil.outcome.written import Written
from veil.plan.plan import Plan
from veil.recipe import Recipe
from veil.recipe.document import file_text
from veil.recipe.generalize import COMMON, GeneralizeSpec
from veil.recipe.steps import Annex
from veil.tables import Format, Source
from veil.tables.atomic import AtomicWrite
from veil.tables.writing import file_name

AnyPlace = str | os.PathLike[str] | Database
AnyPath = str | os.PathLike[str]


@own_keywords
def run(
    recipe: Recipe | AnyPath,
    *,
    input: AnyPlace | None = None,
    format: Format | None = None,
    output: AnyPlace | None = None,
    report: AnyPath | None = None,
    certificate: AnyPath | None = None,
    sign: AnyPath | None = None,
    apart: AnyPath | None = None,
    origins: AnyPath | None = None,
    save_recipe: AnyPath | None = None,
    about: Mapping[str, Any] | None = None,
    acknowledge: Iterable[str] = (),
    overwrite: bool = False,
    engine: Engine | None = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    accountant: Accountant | None = None,
) -> Any:
    r"""Run a recipe, and write its table, report and certificate: all of them, or nothing.

    Returns a `Release`; a private table or the answers to questions, if the recipe asks for these.

    Parameters
    ----------
    recipe
        A `veil.Recipe`, or the path of one.
    input, format, output, report, certificate, sign, apart, origins, engine
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
        As for `veil.anonymize`. Without an accountant, the budget of the recipe is charged, if it names one.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "people.csv").write_text("age\n34\n35\n61\n62\n")
    ...     _ = Path(folder, "recipe.yaml").write_text(
    ...         "input: people.csv\noutput: release.csv\norder: input\n"
    ...         "steps:\n  - kind: Generalize\n"
    ...         "    quasi_identifiers: {age: {kind: intervals, widths: [10]}}\n"
    ...         "    models: [{kind: KAnonymity, k: 2}]\n"
    ...     )
    ...     release = run(Path(folder, "recipe.yaml"))
    ...     print(Path(folder, "release.csv").read_text(), end="")
    age
    "[30, 40["
    "[30, 40["
    "[60, 70["
    "[60, 70["
    """
    files = {"report": report, "certificate": certificate, "sign": sign, "apart": apart, "origins": origins}
    resolved = resolve(
        recipe if isinstance(recipe, Recipe) else Recipe.read(os.fspath(recipe)),
        input=place_of(os.fspath(input)) if isinstance(input, str | os.PathLike) else input,
        format=format,
        output=target_place(os.fspath(output)) if isinstance(output, str | os.PathLike) else output,
        save_recipe=None if save_recipe is None else Path(save_recipe),
        about=about,
        acknowledge=acknowledge,
        overwrite=overwrite,
        engine=engine,
        **{name: None if path is None else Path(path) for name, path in files.items()},
    )
    annex = resolved.recipe.annex
    if annex is not None and not annex.makes_release:
        return apply_steps(resolved, None, threads=threads, progress=progress, accountant=accountant)
    return carry_out(resolved, threads=threads, progress=progress, accountant=accountant).release


class Done(NamedTuple):
    """The result of a run."""

    release: Release
    relation: Relation | None
    """The table in an engine."""
    written: Written
    apart: list[Path]
    """Paths of the tables that are kept apart."""


def carry_out(
    run: Run,
    *,
    threads: int | None = None,
    progress: ProgressLike = None,
    accountant: Accountant | None = None,
) -> Done:
    """Check the targets, do the work, and write the results."""
    relation = relation_of(run, threads)
    check_run(run, relation)
    release = apply_steps(run, relation, threads=threads, progress=progress, accountant=accountant)
    return _write(release, run, relation, progress)


def apply_steps(
    run: Run,
    relation: Relation | None,
    *,
    threads: int | None,
    progress: ProgressLike,
    accountant: Accountant | None,
) -> Any:
    """Carry out the steps of a run, without writing a release; refuse steps that cannot be combined."""
    recipe = run.recipe
    options: dict[str, Any] = {"threads": threads, "progress": progress, "accountant": accountant}
    if accountant is None and recipe.annex is None:
        options["accountant"] = account_of(run.input, run.budget)
    with recipe.own_words():
        if recipe.annex is not None and len(recipe.steps) <= 1:
            release = _carry_out_annex(recipe.annex, run, options)
        else:
            release = _release(run, relation, options)
        return release.acknowledge(*run.acknowledge) if run.acknowledge else release


def _carry_out_annex(annex: Annex, run: Run, options: dict[str, Any]) -> Any:
    for name in annex.unused:
        if name not in ("about", "engine") and getattr(run, name, None):
            raise PlanError(Say(name), f" has no effect on {run.recipe.kinds}; leave it out")
    return annex.carry_out(run, **options)


def _release(run: Run, relation: Relation | None, options: dict[str, Any]) -> Release:
    recipe, engine = run.recipe, run.engine
    source: Any = run.input
    if recipe.command == "mask":
        recipe.refuse_fields(("tables", "knows"))
        options |= {"order": recipe.order, "person": recipe.person}  # which a plan has
    elif isinstance(source, Mapping) or isinstance(recipe.steps[0], GeneralizeSpec):
        engine = "memory"  # a table that an engine reads is opened here
        source = source if relation is None else _open_relation(relation, recipe.plan(), options["progress"])
    return make_release(
        source,
        recipe.located_steps(),
        format=recipe.table_formats or (run.format if isinstance(source, Path | Mapping) else None),
        engine=engine,
        **options,
    )


def _open_relation(relation: Relation, plan: Plan, progress: ProgressLike) -> Source:
    """Have the engine count the combinations of cells that the plan reads, or fetch all rows."""
    with following(progress) as tracker:
        tracker.phase(f"counting combinations ({relation.kind})")
        return condense_relation(relation, plan, tracker)


def _apart_files(release: Release, run: Run) -> list[Path]:
    """Return the paths of the tables that are kept apart."""
    names = list(release.apart)
    if not names or (run.apart is None and release.plan is not None):
        return []  # pseudonyms without a key cannot be reversed
    if run.apart is None:
        raise OutputError(
            f"the run makes more than one table: {', '.join(names)}. Say where these go: ",
            Say("apart", "FOLDER"),
            ". Nothing was written",
        )
    protected = {path.resolve() for path in (*run.files_read, *run.targets.values())}
    paths = [run.apart / file_name(name) for name in names]
    for path in paths:
        if path.resolve() in protected:
            raise OutputError(f"{path}: would replace its own input. Choose another folder")
        check_target(path, overwrite=run.overwrite)
    return paths


# Writing


def _write(release: Release, run: Run, relation: Relation | None, progress: ProgressLike) -> Done:
    """Write the table and all other files: together or not at all.

    Files are put in place in this order: the key of pseudonyms is safe before the pseudonyms are published.
    """
    apart = _apart_files(release, run)
    with AtomicWrite(overwrite=run.overwrite) as files:
        make_apart(release.outcome, apart, files)
        if run.origins is not None and not isinstance(run.input, Mapping):
            with files.making(run.origins, 0o600) as path:
                write_origins(release.outcome, path)
        if run.report is not None:
            with files.making(run.report) as path:
                _write_report(release, run, path, progress)
        if run.certificate is not None:
            with files.making(run.certificate) as path:
                release.certificate(path, sign=signing_key(run))
        if run.processing_record is not None:
            assert run.recipe.annex is not None  # only the step of policies has a place for it
            with files.making(run.processing_record) as path:
                run.recipe.annex.write_record(release, path)
        if run.save_recipe is not None:
            with files.making(run.save_recipe) as path:
                path.write_text(
                    file_text(_recipe_of(run).spell(run.save_recipe.parent), run.save_recipe),
                    encoding="utf-8",
                )
        if isinstance(run.input, Mapping):
            delivery = release.save(
                run.output, origins=run.origins, overwrite=run.overwrite, progress=progress, beside=files
            )
        elif relation is None or not (
            isinstance(release.outcome.source, EngineSource) or goes_to_engine(run.output)
        ):
            with files.making(Path(str(run.output))) as path:
                delivery = release.save(path, progress=progress)
        else:
            delivery = release.save(
                run.output,
                overwrite=run.overwrite,
                format=written_format(run.output, relation),
                progress=progress,
                placing=files.placing,
            )
    return Done(release, relation, delivery, apart)


def _write_report(release: Release, run: Run, path: Path, progress: ProgressLike) -> None:
    from veil import report
    from veil.api.advice import advice_for_report

    report.write_report(
        release.outcome,
        path,
        progress=progress,
        table=Path(run.output).name if isinstance(run.output, str) else None,
        certificate=None if run.certificate is None else run.certificate.name,
        sign=signing_key(run),
        about=run.about,
        advice=advice_for_report(release),
    )


def _recipe_of(run: Run) -> Recipe:
    """Return the recipe of this run, with all places."""
    fields = {name: getattr(run.recipe, name) for name in COMMON} | {
        name: getattr(run, name) for name in ("report", "certificate", "sign", "apart", "origins", "budget")
    }
    return Recipe.of(
        *run.recipe.located_steps(),
        input=None if isinstance(run.input, Mapping) else run.input,
        tables=run.input if isinstance(run.input, Mapping) else None,
        format=run.format,
        output=run.output,
        overwrite=run.overwrite,
        engine=run.engine,
        about=run.about,
        acknowledge=run.acknowledge,
        **fields,
    )
