"""A run: a recipe of any kind with all places resolved, and checked before hours are spent on the results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veil.api.deliver import check_key, refuse_key
from veil.api.deliver_several import check_tables_target, place_of_tables, release_in
from veil.api.open import Engine, Place, find_relation
from veil.api.targets import check_ending, check_output, check_targets, goes_along, require
from veil.base.paths import usable
from veil.engines.database import Database
from veil.engines.relation import Relation
from veil.errors import OutputError, PlanError, Say
from veil.recipe import Recipe
from veil.recipe.about import NOTHING, About, read_about, spell_about
from veil.recipe.base import Located
from veil.recipe.masking import MaskingRecipe
from veil.recipe.places import CERTIFICATES, PROCESSING_RECORDS, REPORTS
from veil.recipe.policy import PolicyRecipe
from veil.tables import Format, output_format
from veil.tables.formats import similar_format


@dataclass(frozen=True)
class Run:
    """A recipe with all places resolved."""

    recipe: Recipe | MaskingRecipe | PolicyRecipe
    input: Place | Mapping[str, Place]
    """The table; or several, by name."""
    format: Format | None
    output: str | Database
    report: Path | None = None
    certificate: Path | None = None
    sign: Path | None = None
    apart: Path | None = None
    key: Path | None = None
    processing_record: Path | None = None
    save_recipe: Path | None = None
    about: About = NOTHING
    acknowledge: tuple[str, ...] = ()
    overwrite: bool = False
    engine: Engine = "auto"

    @property
    def targets(self) -> dict[str, Path]:
        """Files to write, and possibly a folder, without those that are kept apart."""
        paths = {
            "release": None if isinstance(self.output, Database) else Path(self.output),
            "report": self.report,
            "certificate": self.certificate,
            "key": self.key,
            "record of processing": self.processing_record,
            "recipe": self.save_recipe,
        }
        return {what: path for what, path in paths.items() if path is not None}

    @property
    def files_read(self) -> list[Path]:
        """Files that are read, and must not be overwritten; engines protect their own."""
        tables = self.input.values() if isinstance(self.input, Mapping) else [self.input]
        population = self.recipe.population_path if isinstance(self.recipe, PolicyRecipe) else None
        places = (*tables, self.recipe.file, self.sign, population)
        return [place for place in places if isinstance(place, Path) and not os.path.isdir(place)]


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
    processing_record: Path | None = None,
    save_recipe: Path | None = None,
    about: Mapping[str, Any] | None = None,
    acknowledge: Iterable[str] = (),
    overwrite: bool = False,
    engine: Engine | None = None,
) -> Run:
    """Resolve all places of a recipe; arguments override it."""
    is_mask = isinstance(recipe, MaskingRecipe)
    table: Place | Mapping[str, Place]
    if isinstance(recipe, Recipe) and recipe.tables is not None:
        _refuse_beside_several(input=input or recipe.input, format=format, engine=engine)
        table, input_format = recipe.table_places, None
    else:
        table, input_format = table_of(recipe, input=input, format=format)
    target = output or recipe.target
    if target is None:
        what = "table" if is_mask else "release"
        raise PlanError(
            f"{recipe.name} does not say where to write the {what}: add `output`, or give ", Say("output")
        )
    if isinstance(recipe, MaskingRecipe | PolicyRecipe):
        if save_recipe is not None:
            raise PlanError(
                Say("save_recipe"), " is only for recipes of plans, not of masking methods or policies"
            )
        apart = apart or recipe.apart_path
        if isinstance(recipe, PolicyRecipe):
            processing_record = processing_record or recipe.processing_record_path
    else:
        if apart is not None and "pseudonym" not in recipe.plan().identifying.values():
            raise PlanError(
                Say("apart"), " is only for masking methods and pseudonyms: this plan makes no secret table"
            )
        engine = engine or recipe.reading
    return Run(
        recipe,
        table,
        input_format,
        target,
        report=report or recipe.report_path,
        certificate=certificate or recipe.certificate_path,
        sign=sign or recipe.sign_path,
        apart=apart,
        key=key or recipe.key_path,
        processing_record=processing_record,
        save_recipe=save_recipe,
        about=read_about(spell_about(recipe.about or NOTHING) | dict(about or {})),
        acknowledge=tuple(dict.fromkeys([*recipe.acknowledge, *acknowledge])),
        overwrite=overwrite or recipe.overwrite,
        engine=engine or "auto",
    )


def _refuse_beside_several(**options: Any) -> None:
    """Refuse options that are for one table only."""
    for name, value in options.items():
        if value is not None:
            raise PlanError(
                Say(name), " is only for a single table, and the recipe has several: leave it out"
            )


def table_of(
    recipe: Located, *, input: Place | None = None, format: Format | None = None
) -> tuple[Place, Format | None]:
    """Return the table of a recipe, and its format."""
    table = input or recipe.source
    if table is None:
        raise PlanError(f"{recipe.name} names no table: add `input`, or give ", Say("input"))
    input_format = format or recipe.input_format
    if input is not None and input_format is not None and format is None:
        # Keep the recipe's knowledge of such files, if this is one.
        if not isinstance(input, Path) or os.path.isdir(input):
            return table, None
        return table, similar_format(input, input_format)
    return table, input_format


def relation_of(job: Run, threads: int | None) -> Relation | None:
    """Return the table of a run, if it is in an engine or is to be read by one."""
    if isinstance(job.input, Mapping):
        return None
    models = job.recipe.models if isinstance(job.recipe, Recipe) else ()
    return find_relation(
        job.input,
        job.format,
        job.engine,
        threads=threads,
        output=job.output,
        over_neighbours=any(model.over_neighbours for model in models),
    )


def check_job(job: Run, relation: Relation | None) -> None:
    """Refuse targets that cannot be written to, before hours are spent on the results."""
    targets, release = job.targets, None
    if isinstance(job.input, Mapping):
        check_tables_target(
            place_of_tables(job.output),
            list(job.input),
            overwrite=job.overwrite,
            beside=[path for what, path in targets.items() if what != "release"],
        )
        release = targets.pop("release", None)
    elif relation is None:
        _check_format(Path(str(job.output)), job.format)
    else:
        check_output(
            job.output,
            relation,
            overwrite=job.overwrite,
            beside=[path for what, path in targets.items() if what != "release"],
        )
        release = targets.pop("release", None)
    check_targets(targets, keep=job.files_read, overwrite=job.overwrite)
    if job.report is not None:
        check_ending(job.report, "report", REPORTS)
        if job.report.suffix.lower() == ".pdf":
            require("Reports as PDF", "reportlab", "matplotlib", extra="report")
    if job.certificate is not None:
        check_ending(job.certificate, "certificate", CERTIFICATES)
    if job.processing_record is not None:
        check_ending(job.processing_record, "record of processing", PROCESSING_RECORDS)
        if job.processing_record.suffix.lower() == ".ttl":
            require("Records of processing as Turtle", "rdflib", extra="policy")
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
        signing_key(job)  # refuses one that is missing or locked
    if job.key is not None:
        check_ending(job.key, "key", (".csv",))
        if relation is not None:
            refuse_key()
        if not isinstance(job.output, Database):
            check_key(job.key, release_in(job.output) if isinstance(job.input, Mapping) else Path(job.output))
    if release is not None:
        _check_beside(release.resolve(), targets)
    if isinstance(job.recipe, MaskingRecipe) or job.apart is not None:
        _check_apart(job, _steps_with_secret_table(job.recipe))


def _steps_with_secret_table(recipe: Recipe | MaskingRecipe | PolicyRecipe) -> list[str]:
    """Return the names of the steps that make a secret table."""
    if isinstance(recipe, Recipe):
        return ["the plan"]
    if isinstance(recipe, PolicyRecipe):
        return ["the policy"]
    return [type(each).__name__ for each in recipe.steps if each.apart_is_secret]


def _check_beside(release: Path, targets: Mapping[str, Path]) -> None:
    """Refuse files in the place where an engine writes the release."""
    for what, path in targets.items():
        if release == path.resolve():
            raise OutputError(
                f"{path}: the {what} would replace another file of the same run. Choose another path"
            )
        if release in path.resolve().parents:
            raise OutputError(
                f"{path}: the {what} would be in the folder of the release. Choose another path"
            )


def _check_format(output: Path, format: Format | None) -> None:
    """Refuse a file name whose ending is no known format."""
    try:
        output_format(output, format)
    except OutputError as error:
        folder = "" if output.suffix else "; or end it with / for a folder of Parquet files"
        raise OutputError(*error.words, folder) from None


def _check_apart(job: Run, secret: list[str]) -> None:
    """Refuse to keep a secret table nowhere, or with the release."""
    if job.apart is None:
        if secret:
            raise OutputError(
                f"{', '.join(secret)} makes a table with which it can be reversed. Say where to keep that "
                "table, away from the release: ",
                Say("apart", "FOLDER"),
            )
        return
    if not usable(job.apart, OutputError).is_dir():
        raise OutputError(
            f"{job.apart}: is not a folder. Create it, beside that of the release, or choose another one"
        )
    place = place_of_tables(job.output) if isinstance(job.input, Mapping) else job.output
    if secret and goes_along(job.apart, release_in(place) if isinstance(place, Path) else place):
        raise OutputError(
            f"{job.apart}: the release is written there or to a folder above it, and what "
            f"{', '.join(secret)} keeps apart must not be published with it. Choose a folder next to that "
            "of the release"
        )


def signing_key(job: Run) -> Any:
    """Return the key that signs the certificate, if there is one."""
    if job.sign is None:
        return None
    from veil.report import PrivateKey

    return PrivateKey.read(job.sign)
