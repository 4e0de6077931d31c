"""A run: a recipe with all places resolved, and checked before hours are spent on the results."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from veil.api.deliver import check_origins, refuse_origins
from veil.api.deliver_several import check_tables_target, place_of_tables, release_in
from veil.api.open import Engine, Place, find_relation
from veil.api.targets import check_ending, check_output, check_targets, goes_along, require
from veil.base.paths import usable
from veil.base.references import relocate
from veil.engines.database import Database
from veil.engines.relation import Relation
from veil.errors import OutputError, PlanError, Say
from veil.plan.plan import Plan
from veil.plan.recoding import Cells
from veil.recipe import Recipe
from veil.recipe.about import NOTHING, About, read_about, spell_about
from veil.recipe.generalize import GeneralizeSpec
from veil.recipe.places import CERTIFICATES, PROCESSING_RECORDS, REPORTS
from veil.tables import Format, output_format
from veil.tables.formats import similar_format

_FILES = ("report", "certificate", "sign", "apart", "origins", "budget")


@dataclass(frozen=True)
class Run:
    """A recipe with all places resolved."""

    recipe: Recipe
    input: Place | Mapping[str, Place]
    """The table; or several, by name."""
    format: Format | None
    output: str | Database
    report: Path | None = None
    certificate: Path | None = None
    sign: Path | None = None
    apart: Path | None = None
    origins: Path | None = None
    budget: Path | None = None
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
            "origins": self.origins,
            "record of processing": self.processing_record,
            "recipe": self.save_recipe,
        }
        return {what: path for what, path in paths.items() if path is not None}

    @property
    def files_read(self) -> list[Path]:
        """Files that are read, and must not be overwritten; engines protect their own."""
        tables = self.input.values() if isinstance(self.input, Mapping) else [self.input]
        places = [*tables, self.recipe.file, self.sign, *_files_of(self.recipe.located_steps())]
        return [
            place
            for place in places
            if isinstance(place, Path) and place != self.processing_record and not os.path.isdir(place)
        ]


def _files_of(steps: list[Any]) -> list[Path]:
    """Return the files that steps name, such as hierarchies and keys."""
    paths: list[str] = []

    def collect(path: str) -> str:
        paths.append(path)
        return path

    relocate(steps, collect)
    return [Path(path) for path in paths]


def resolve(
    recipe: Recipe,
    *,
    input: Place | None = None,
    format: Format | None = None,
    output: str | Database | None = None,
    processing_record: Path | None = None,
    save_recipe: Path | None = None,
    about: Mapping[str, Any] | None = None,
    acknowledge: Iterable[str] = (),
    overwrite: bool = False,
    engine: Engine | None = None,
    **files: Path | None,
) -> Run:
    """Resolve all places of a recipe; arguments override it. `files` are those of `Run`."""
    table: Place | Mapping[str, Place]
    if recipe.tables is not None:
        _refuse_beside_several(input=input or recipe.input, format=format, engine=engine)
        table, input_format = recipe.table_places, None
    else:
        table, input_format = table_of(recipe, input=input, format=format)
    target = output or recipe.target
    if target is None and recipe.questions is None:
        raise PlanError(
            f"{recipe.name} does not say where to write the release: add `output`, or give ", Say("output")
        )
    searches_input = bool(recipe.steps) and isinstance(recipe.steps[0], GeneralizeSpec)
    wants_apart = searches_input and (files.get("apart") or recipe.apart)
    if wants_apart and not _makes_secret_table(recipe.plan()):
        raise PlanError(
            Say("apart"),
            " is only for masking methods, pseudonyms and the prices of recoding by cells: this plan makes no secret "
            "table",
        )
    for step in recipe.located_steps():
        path = getattr(step, "processing_record", None)
        processing_record = processing_record or (None if path is None else Path(path))
    return Run(
        recipe,
        table,
        input_format,
        target or "",
        **{name: files.get(name) or recipe.path(name) for name in (*files, *_FILES)},
        processing_record=processing_record,
        save_recipe=save_recipe,
        about=read_about(spell_about(recipe.about or NOTHING) | dict(about or {})),
        acknowledge=tuple(dict.fromkeys([*recipe.acknowledge, *acknowledge])),
        overwrite=overwrite or recipe.overwrite,
        engine=engine or recipe.reading,
    )


def _refuse_beside_several(**options: Any) -> None:
    """Refuse options that are for one table only."""
    for name, value in options.items():
        if value is not None:
            raise PlanError(
                Say(name), " is only for a single table, and the recipe has several: leave it out"
            )


def table_of(
    recipe: Recipe, *, input: Place | None = None, format: Format | None = None
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


def relation_of(run: Run, threads: int | None) -> Relation | None:
    """Return the table of a run, if it is in an engine or is to be read by one."""
    if isinstance(run.input, Mapping):
        return None
    models = [model for step in run.recipe.steps if isinstance(step, GeneralizeSpec) for model in step.models]
    return find_relation(
        run.input,
        run.format,
        run.engine,
        threads=threads,
        output=run.output,
        over_neighbours=any(model.over_neighbours for model in models),
    )


def check_run(run: Run, relation: Relation | None) -> None:
    """Refuse targets that cannot be written to, before hours are spent on the results."""
    targets, release = run.targets, None
    beside = [path for what, path in targets.items() if what != "release"]
    if isinstance(run.input, Mapping):
        place = place_of_tables(run.output)
        check_tables_target(place, list(run.input), overwrite=run.overwrite, beside=beside)
        release = targets.pop("release", None)
    elif relation is None:
        _check_format(Path(str(run.output)), run.format)
    else:
        check_output(run.output, relation, overwrite=run.overwrite, beside=beside)
        release = targets.pop("release", None)
    check_targets(targets, keep=run.files_read, overwrite=run.overwrite)
    if run.report is not None:
        check_ending(run.report, "report", REPORTS)
        if run.report.suffix.lower() == ".pdf":
            require("Reports as PDF", "reportlab", "matplotlib", extra="report")
    if run.certificate is not None:
        check_ending(run.certificate, "certificate", CERTIFICATES)
    if run.processing_record is not None:
        check_ending(run.processing_record, "record of processing", PROCESSING_RECORDS)
        if run.processing_record.suffix.lower() == ".ttl":
            require("Records of processing as Turtle", "rdflib", extra="policy")
    if run.sign is not None:
        if run.certificate is None and run.report is None:
            goes_with = (Say("sign"), " goes with ", Say("certificate"), " or ", Say("report"))
            raise PlanError("there is nothing to sign: ", *goes_with)
        signing_key(run)  # refuses one that is missing or locked
    if run.origins is not None:
        check_ending(run.origins, "file of origins", (".csv",))
        if relation is not None:
            refuse_origins()
        if not isinstance(run.output, Database):
            several = isinstance(run.input, Mapping)
            check_origins(run.origins, release_in(run.output) if several else Path(run.output))
    if release is not None:
        _check_beside(release.resolve(), targets)
    _check_apart(run)


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


def _makes_secret_table(plan: Plan) -> bool:
    """Return whether a release may come with a table to be kept apart: a key of pseudonyms, or prices of a bound."""
    return "pseudonym" in plan.identifying.values() or isinstance(plan.recoding, Cells)


def _check_apart(run: Run) -> None:
    """Refuse to keep a secret table nowhere, or with the release."""
    steps = run.recipe.steps
    secret = ", ".join(step.kind for step in steps if getattr(step, "apart_is_secret", run.apart is not None))
    if run.apart is None:
        if secret:
            raise OutputError(
                f"{secret} makes a table with which it can be reversed. Say where to keep that table, away "
                "from the release: ",
                Say("apart", "FOLDER"),
            )
        return
    if not usable(run.apart, OutputError).is_dir():
        raise OutputError(
            f"{run.apart}: is not a folder. Create it, beside that of the release, or choose another one"
        )
    place = place_of_tables(run.output) if isinstance(run.input, Mapping) else run.output
    if secret and goes_along(run.apart, release_in(place) if isinstance(place, Path) else place):
        raise OutputError(
            f"{run.apart}: the release is written there or to a folder above it, and what {secret} keeps "
            "apart must not be published with it. Choose a folder next to that of the release"
        )


def signing_key(run: Run) -> Any:
    """Return the key that signs the certificate, if there is one."""
    if run.sign is None:
        return None
    from veil.report import PrivateKey

    return PrivateKey.read(run.sign)
