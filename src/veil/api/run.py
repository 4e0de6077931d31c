"""The verb `run`: a recipe of either kind, carried out. What it asks for is written together or not at all.

Targets are checked before the work begins, and written after the result has been verified. What an engine holds, it
writes itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from veil.api.anonymize import anonymize
from veil.api.deliver import check_key, file_name, refuse_key, write_key
from veil.api.mask import mask
from veil.api.open import Engine, Place, check_people, find_relation, place_of, target_place
from veil.api.policy import apply
from veil.api.release import Release
from veil.api.targets import (
    Together,
    check_ending,
    check_output,
    check_target,
    check_targets,
    goes_along,
    require,
    written_format,
)
from veil.base.progress import ProgressLike, following
from veil.dp.accountant import Accountant
from veil.engines.database import Database
from veil.engines.relation import Relation
from veil.errors import OutputError, PlanError, Say
from veil.outcome.written import Written
from veil.recipe import Recipe
from veil.recipe.base import Located
from veil.recipe.document import document_text
from veil.recipe.masking import MaskingRecipe, read_recipe
from veil.recipe.places import CERTIFICATES, REPORTS
from veil.recipe.policy import PolicyRecipe
from veil.tables import Format, output_format, read
from veil.tables.formats import similar_format

AnyPlace = str | os.PathLike[str] | Database
AnyPath = str | os.PathLike[str]


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
    acknowledge: Iterable[str] = (),
    overwrite: bool = False,
    engine: Engine | None = None,
    threads: int | None = None,
    progress: ProgressLike = None,
    accountant: Accountant | None = None,
) -> Release:
    r"""Carry out a recipe, and write all that it asks for: table, report, certificate, or nothing.

    Parameters
    ----------
    recipe
        A `veil.Recipe` or a masking recipe, or the path of one.
    input, format, output, report, certificate, sign, apart, key, engine
        Instead of what the recipe says. Paths start at the working directory, those of the recipe at its folder.
    save_recipe
        Where to write down, with the rest, the recipe of all this.
    acknowledge
        Concerns about the release that are known and accepted, beside those of the recipe: see `Release.concerns`.
    overwrite
        Whether files that are there already are replaced, also if the recipe does not say so. What is read never is.
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
    if isinstance(recipe, Recipe) and recipe.tables is not None:
        given = {
            "input": input, "format": format, "report": report, "certificate": certificate, "sign": sign, "key": key,
            "save_recipe": save_recipe, "engine": engine, "accountant": accountant,
        }  # fmt: skip
        return run_tables(
            recipe, output, apart, given, acknowledge, overwrite=overwrite, threads=threads, progress=progress
        )
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
        acknowledge=acknowledge,
        overwrite=overwrite,
        engine=engine,
    )
    return carry_out(job, threads=threads, progress=progress, accountant=accountant).release


def run_tables(
    recipe: Recipe,
    output: AnyPlace | None,
    apart: AnyPath | None,
    given: Mapping[str, Any],
    acknowledge: Iterable[str] = (),
    *,
    overwrite: bool,
    threads: int | None,
    progress: ProgressLike,
) -> Release:
    """Carry out a recipe of several tables; `given` is what goes with one table alone."""
    assert recipe.tables is not None
    beside = {name: getattr(recipe, name, None) for name in ("input", "report", "certificate", "sign", "key")}
    for name, value in {**beside, **{name: each for name, each in given.items() if each is not None}}.items():
        if value is not None:
            raise PlanError(Say(name), " goes with one table, and the recipe has several: leave it out")
    target = recipe.target if output is None else output
    if target is None or isinstance(target, Database):
        raise PlanError(f"{recipe.name} should say into which folder the tables go: add `output`")
    with recipe.own_words():
        made = anonymize(
            {name: recipe.locate(path) for name, path in recipe.tables.items()},
            recipe.plan_of_several(),
            threads=threads,
            progress=progress,
        )
        keys = [*recipe.acknowledge, *acknowledge]
        if keys:
            raise PlanError(
                Say("acknowledge"), " goes with one table, and the recipe has several: leave it out"
            )
    made.save(Path(os.fspath(target)), apart=apart, overwrite=overwrite or recipe.overwrite)
    return made


def _path(given: AnyPath | None) -> Path | None:
    return None if given is None else Path(given)


@dataclass(frozen=True)
class Job:
    """A recipe with all places settled."""

    recipe: Recipe | MaskingRecipe | PolicyRecipe
    input: Place
    format: Format | None
    output: str | Database
    report: Path | None = None
    certificate: Path | None = None
    sign: Path | None = None
    apart: Path | None = None
    key: Path | None = None
    save_recipe: Path | None = None
    acknowledge: tuple[str, ...] = ()
    overwrite: bool = False
    engine: Engine = "auto"

    @property
    def targets(self) -> dict[str, Path]:
        """Files to write, and maybe a folder, but for those that go apart."""
        named = {
            "release": None if isinstance(self.output, Database) else Path(self.output),
            "report": self.report,
            "certificate": self.certificate,
            "key": self.key,
            "recipe": self.save_recipe,
        }
        return {what: path for what, path in named.items() if path is not None}

    @property
    def files_read(self) -> list[Path]:
        """Files that are read, and must not be written over; what an engine reads, it looks after itself."""
        places = (self.input, self.recipe.file, self.sign)
        return [place for place in places if isinstance(place, Path) and not place.is_dir()]


class Done(NamedTuple):
    """What has become of a job."""

    release: Release
    relation: Relation | None
    """The table that an engine holds."""
    written: Written
    apart: list[Path]
    """Where the tables are that do not belong into the release."""


def settle(
    recipe: Recipe | MaskingRecipe | PolicyRecipe,
    *,
    input: Place | None = None,
    format: Format | None = None,
    output: str | Database | None = None,
    report: Path | None = None,
    certificate: Path | None = None,
    sign: Path | None = None,
    apart: Path | None = None,
    key: Path | None = None,
    save_recipe: Path | None = None,
    acknowledge: Iterable[str] = (),
    overwrite: bool = False,
    engine: Engine | None = None,
) -> Job:
    """Settle all places of a recipe; what is said beside it comes first."""
    is_mask = isinstance(recipe, MaskingRecipe)
    table, chosen = table_of(recipe, input=input, format=format)
    target = output or recipe.target
    if target is None:
        what = "table" if is_mask else "release"
        raise PlanError(
            f"{recipe.name} does not say where to write the {what}: add `output`, or give ", Say("output")
        )
    if isinstance(recipe, MaskingRecipe | PolicyRecipe):
        if save_recipe is not None:
            raise PlanError(
                Say("save_recipe"), " goes with recipes of a plan, not of masking methods or policies"
            )
        apart = apart or recipe.apart_path
    else:
        if apart is not None and "pseudonym" not in recipe.plan().identifying.values():
            raise PlanError(
                Say("apart"), " goes with masking methods and with pseudonyms: this plan makes one table"
            )
        engine = engine or recipe.reading
    return Job(
        recipe,
        table,
        chosen,
        target,
        report=report or recipe.report_path,
        certificate=certificate or recipe.certificate_path,
        sign=sign or recipe.sign_path,
        apart=apart,
        key=key or recipe.key_path,
        save_recipe=save_recipe,
        acknowledge=tuple(dict.fromkeys([*recipe.acknowledge, *acknowledge])),
        overwrite=overwrite or recipe.overwrite,
        engine=engine or "auto",
    )


def table_of(
    recipe: Located, *, input: Place | None = None, format: Format | None = None
) -> tuple[Place, Format | None]:
    """Settle the table of a recipe, and how to read it."""
    table = input or recipe.source
    if table is None:
        raise PlanError(f"{recipe.name} names no table: add `input`, or give ", Say("input"))
    chosen = format or recipe.input_format
    if input is not None and chosen is not None and format is None:
        # What the recipe knows about such files, if it is one.
        chosen = similar_format(input, chosen) if isinstance(input, Path) and not input.is_dir() else None
    return table, chosen


def carry_out(
    job: Job,
    *,
    threads: int | None = None,
    progress: ProgressLike = None,
    accountant: Accountant | None = None,
) -> Done:
    """Check the targets, do the work, write."""
    relation = find_relation(job.input, job.format, job.engine, threads=threads, output=job.output)
    _check(job, relation)
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
    job: Job,
    recipe: Recipe,
    relation: Relation | None,
    threads: int | None,
    progress: ProgressLike,
    accountant: Accountant | None,
) -> Release:
    plan = recipe.plan()
    return anonymize(
        job.input if relation is None else _condense_relation(relation, plan, progress),
        plan,
        local=recipe.local_recoding,
        format=job.format if relation is None else None,
        engine="memory",  # what an engine should read has been opened already
        threads=threads,
        progress=progress,
        accountant=accountant,
    )


def _condense_relation(relation: Relation, plan: Any, progress: ProgressLike) -> Any:
    """Let the engine count the combinations of cells that the plan looks at."""
    from veil.engines.source import for_plan

    with following(progress) as shown:
        shown.phase(f"counting combinations ({relation.kind})")
        check_people(relation, plan)
        return for_plan(relation, plan, shown)


def _mask(job: Job, recipe: MaskingRecipe, progress: ProgressLike, accountant: Accountant | None) -> Release:
    return mask(
        job.input,
        recipe.methods(),
        format=job.format,
        engine=job.engine,
        order=recipe.order,
        accountant=accountant,
        progress=progress,
    )


def _by_policies(job: Job, recipe: PolicyRecipe, threads: int | None, progress: ProgressLike) -> Release:
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
        if_impossible=asked.if_impossible,
        suppression_limit=recipe.suppression_limit,
        threads=threads,
        progress=progress,
    )


# Where it may go


def _check(job: Job, relation: Relation | None) -> None:
    """Refuse targets that cannot be written to, before hours are spent on what goes there."""
    targets, release = job.targets, None
    if relation is None:
        _check_format(Path(str(job.output)), job.format)
    else:
        check_output(job.output, relation, overwrite=job.overwrite)
        release = targets.pop("release", None)
    check_targets(targets, keep=job.files_read, overwrite=job.overwrite)
    if job.report is not None:
        check_ending(job.report, "report", REPORTS)
        if job.report.suffix.lower() == ".pdf":
            require("Reports as PDF", "reportlab", "matplotlib", extra="report")
    if job.certificate is not None:
        check_ending(job.certificate, "certificate", CERTIFICATES)
    if job.sign is not None:
        if job.certificate is None and job.report is None:
            raise PlanError(
                "there is nothing to sign: ",
                Say("sign"),
                " goes with ",
                Say("certificate"),
                " or ",
                Say("report"),
            )
        _signing_key(job)  # which may be lacking, or locked
    if job.key is not None:
        check_ending(job.key, "key", (".csv",))
        if relation is not None:
            refuse_key()
        check_key(job.key, Path(str(job.output)))
    if release is not None:
        _check_beside(release.resolve(), targets)
    if isinstance(job.recipe, MaskingRecipe) or job.apart is not None:
        _check_apart(job, _keeping_apart(job.recipe))


def _keeping_apart(recipe: Recipe | MaskingRecipe | PolicyRecipe) -> list[str]:
    """What makes a table that must not go with the release."""
    if isinstance(recipe, Recipe):
        return ["the plan"]
    if isinstance(recipe, PolicyRecipe):
        return ["the policy"]
    return [type(each).__name__ for each in recipe.steps if each.apart_is_secret]


def _check_beside(release: Path, targets: Mapping[str, Path]) -> None:
    """Refuse files in the place of what an engine writes."""
    for what, path in targets.items():
        if release == path.resolve():
            raise OutputError(
                f"{path}: the {what} would replace another file of the same run. Choose another path"
            )
        if release in path.resolve().parents:
            raise OutputError(
                f"{path}: the {what} would lie in the folder of the release. Choose another path"
            )


def _check_format(output: Path, format: Format | None) -> None:
    """Refuse a name that stands for no format."""
    try:
        output_format(output, format)
    except OutputError as error:
        folder = "" if output.suffix else "; or end it with / for a folder of Parquet files"
        raise OutputError(*error.words, folder) from None


def _check_apart(job: Job, secret: list[str]) -> None:
    """Refuse to keep what turns the work back nowhere, or beside the release."""
    if job.apart is None:
        if secret:
            raise OutputError(
                f"{', '.join(secret)} makes a table that turns its work back. Say where to keep it, away from the "
                "release: ",
                Say("apart", "FOLDER"),
            )
        return
    if not job.apart.is_dir():
        raise OutputError(f"{job.apart}: is not a folder. Create it, or choose another one")
    if secret and isinstance(job.output, str) and goes_along(job.apart, Path(job.output)):
        raise OutputError(
            f"{job.apart}: the release goes there or into a folder above, and what {', '.join(secret)} keeps apart must "
            "not go along. Choose a folder beside that of the release"
        )


def _apart_files(made: Release, job: Job) -> list[Path]:
    """Return where the tables go that do not belong into the release."""
    names = list(made.apart)
    if not names or (job.apart is None and made.plan is not None):
        return []  # nobody can turn pseudonyms back whose key nobody keeps
    if job.apart is None:
        raise OutputError(
            f"there is more than one table: {', '.join(names)}. Say where these go: ",
            Say("apart", "FOLDER"),
            ". Nothing was written",
        )
    kept = {path.resolve() for path in (*job.files_read, *job.targets.values())}
    paths = [job.apart / file_name(name) for name in names]
    for path in paths:
        if path.resolve() in kept:
            raise OutputError(f"{path}: would replace what it is made from. Choose another folder")
        check_target(path, overwrite=job.overwrite)
    return paths


# Writing


def _write(made: Release, job: Job, relation: Relation | None, progress: ProgressLike) -> Done:
    """Write the table, and with it all else: together or not at all.

    The files are put in place in their order here: what turns pseudonyms back is safe before there are any.
    """
    apart = _apart_files(made, job)
    with Together() as files:
        kept = files.staging_folder(job.apart) if apart and job.apart is not None else None
        if job.key is not None:
            with files.making(job.key, 0o600) as path:
                write_key(made.outcome, path)
        if job.report is not None:
            with files.making(job.report) as path:
                _write_report(made, job, path, progress)
        if job.certificate is not None:
            with files.making(job.certificate) as path:
                made.certificate(path, sign=_signing_key(job))
        if job.save_recipe is not None:
            with files.making(job.save_recipe) as path:
                path.write_text(
                    document_text(_recipe_of(job).spell(job.save_recipe.parent)), encoding="utf-8"
                )
        if relation is None:
            with files.making(Path(str(job.output))) as path:
                written = made.save(path, apart=kept, progress=progress)
        else:
            written = made.save(
                job.output,
                overwrite=job.overwrite,
                format=written_format(job.output, relation),
                progress=progress,
                before_commit=files.put_in_place,
            )
    return Done(made, relation, written, apart)


def _write_report(made: Release, job: Job, path: Path, progress: ProgressLike) -> None:
    from veil import report

    report.write_report(
        made.outcome,
        path,
        progress=progress,
        table=Path(job.output).name if isinstance(job.output, str) else None,
        certificate=None if job.certificate is None else job.certificate.name,
        sign=_signing_key(job),
    )


def _signing_key(job: Job) -> Any:
    """Read the key that signs the certificate, if one does."""
    if job.sign is None:
        return None
    from veil.report import PrivateKey

    return PrivateKey.read(job.sign)


def _recipe_of(job: Job) -> Recipe:
    """Write down what is done, seen from here."""
    assert isinstance(job.recipe, Recipe)
    return Recipe.of(
        job.recipe.plan(),
        input=job.input,
        format=job.format,
        output=job.output,
        report=job.report,
        certificate=job.certificate,
        sign=job.sign,
        key=job.key,
        overwrite=job.overwrite,
        engine=job.engine,
        local_recoding=job.recipe.local_recoding,
        acknowledge=job.acknowledge,
    )
