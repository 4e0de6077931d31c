"""Delivery of an outcome: a frame of the input's kind, and files."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa

from veil.api.targets import check_targets, goes_along
from veil.base.paths import usable
from veil.base.progress import ProgressLike, following
from veil.engines.database import Database, is_url
from veil.engines.engine_source import EngineSource
from veil.engines.fetch import Fetched
from veil.errors import OutputError, PlanError, Say
from veil.outcome.linked_tables import ONLY, TableOut
from veil.outcome.outcome import Outcome
from veil.outcome.result import UsedRows
from veil.outcome.written import Written
from veil.plan.linked_tables import Stacked
from veil.recipe.places import is_folder
from veil.tables import Csv, Source, output_format, write
from veil.tables.arrow import only_used_categories
from veil.tables.atomic import AtomicWrite
from veil.tables.csv.writer import write_csv
from veil.tables.writing import file_name
from veil.verification.delivered import check_frame
from veil.verification.files import check_file


def as_frames(outcome: Outcome) -> dict[str, Any]:
    """Return each table as a frame of its input's kind, checked; if it is in an engine, as an expression."""
    frames = {}
    for name, each in outcome.tables.items():
        if isinstance(each.source, EngineSource):
            frames[name] = each.source.expression(outcome)
            continue
        frames[name] = _frame(outcome, each)
        check_frame(frames[name], each.table)
    return frames


def _frame(outcome: Outcome, output: TableOut) -> Any:
    source, table, origins = output
    if outcome.statement is None:
        costly = [method for method in outcome.methods if method.local_epsilon is not None]
        randomized = [name for method in costly for name in method.column_names]
        return source.restore(table, origins.rows, random_columns=randomized)
    # Differential privacy: an unchanged column or its type would reveal something about the records left out.
    if source.frame is None:
        return only_used_categories(table)
    return source.frame.from_arrow(table, None)


def origins_of(outcome: Outcome) -> dict[str, Any]:
    """Return the input row of each row of each table, as a frame of the input's kind, by table."""
    if outcome.is_condensed:
        refuse_origins()
    frames = {name: each.source.frame for name, each in outcome.tables.items()}
    return {
        name: each if (frame := frames[name]) is None else frame.from_arrow(each, frozenset())
        for name, each in _rows_of_input(outcome).items()
    }


def rows_beside(outcome: Outcome, rows: int) -> Any:
    """Return the first rows of the release next to those of the input, as a frame of the input's kind.

    Columns with the same cells are shown once.
    """
    if outcome.is_condensed:
        refuse_origins()
    if isinstance(outcome.source, Stacked) or outcome.statement is not None:
        raise PlanError(
            "`beside` needs a single table whose rows correspond to those of the input; for "
            "this release, see `release.origins`"
        )
    source, table, origins = outcome.tables[ONLY]
    places = origins.array[:rows]
    before, after = source.table.take(pa.array(places)), table.slice(0, rows)
    columns: dict[str, Any] = {"row": pa.array(places)}
    for name in dict.fromkeys([*before.column_names, *after.column_names]):
        versions = {
            when: table[name]
            for when, table in (("before", before), ("after", after))
            if name in table.column_names
        }
        if len(versions) == 2 and versions["before"].to_pylist() == versions["after"].to_pylist():
            columns[name] = versions["after"]
            continue
        for when, column in versions.items():
            columns[f"{name} {when}"] = column
    table_beside, frame = pa.table(columns), source.frame
    return table_beside if frame is None else frame.from_arrow(table_beside, frozenset())


def refuse_origins() -> NoReturn:
    """Refuse the origins of a table in an engine."""
    raise PlanError(
        "an engine holds this table, and its rows have no numbers: keep a column of pseudonyms to join by, "
        "or use ",
        Say("order", "input"),
    )


def check_origins(origins: Path, target: Path) -> None:
    """Refuse a file of origins in the folder of the release, or below it."""
    if goes_along(origins.resolve().parent, target):
        raise OutputError(
            f"{origins}: the release is written to this folder or one above it, and the origins of its rows must not be "
            "published with it. Choose a folder next to that of the release"
        )


def write_origins(outcome: Outcome, path: Path) -> None:
    """Write the input row of each row of the release."""
    with path.open("wb") as file:
        write_csv(origins_table(outcome), file, Csv())


def origins_table(outcome: Outcome) -> pa.Table:
    """Return the input row of each row of all tables, with the name of its table if there are several."""
    keys = _rows_of_input(outcome)
    if not isinstance(outcome.source, Stacked):
        return keys[ONLY]
    named = (
        each.add_column(0, "table", pa.array([name] * each.num_rows, pa.string()))
        for name, each in keys.items()
    )
    return pa.concat_tables(named)


def _rows_of_input(outcome: Outcome) -> dict[str, pa.Table]:
    """Return the input row of each row of each table; refuse where that is secret, or rows were merged."""
    if outcome.statement is not None:
        raise PlanError(
            "a differentially private release has no origins: the promise relies on nobody knowing who was "
            "sampled. Leave `origins` out"
        )
    if outcome.plan is not None and outcome.plan.items and outcome.plan.person_column is not None:
        raise PlanError(
            "the rows of a person have been merged into one, which matches no single row of the input. To be able to link them, make pseudonyms of "
            f"{outcome.plan.person_column!r} with ",
            Say("identifying"),
        )
    used = outcome.trace(UsedRows)
    return {
        name: pa.table(
            {
                "release row": np.arange(each.rows.size),
                "input row": each.rows if used is None else used.rows[each.rows],
            }
        )
        for name, each in outcome.tables.items()
    }


def save(
    outcome: Outcome,
    target: Any,
    *,
    apart: str | os.PathLike[str] | None = None,
    origins: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: ProgressLike = None,
    **options: Any,
) -> Written:
    """Write the table, and the tables of `apart` as CSV files into another folder: all of them, or none."""
    source = outcome.tables[ONLY].source
    if isinstance(source, EngineSource):
        if apart is not None and not outcome.apart:
            raise PlanError("this release has no secret table to keep apart: leave `apart` out")
        if origins is not None:
            refuse_origins()
        places = [] if apart is None else places_apart(outcome, Path(apart), target, overwrite=overwrite)
        with AtomicWrite(overwrite=overwrite) as files:
            make_apart(outcome, places, files)
            options.setdefault("placing", files.placing)
            return source.write(outcome, target, overwrite=overwrite, progress=progress, **options)
    if isinstance(source, Fetched) and (options or goes_to_engine(target)):
        return _save_fetched(outcome, source, target, apart, origins, overwrite, progress, options)
    if options:
        raise PlanError(
            f"`{next(iter(options))}` is only for tables written by an engine, and this one is in memory: "
            "leave it out"
        )
    path = Path(target)
    _check_files_apart(outcome, path)
    format = output_format(path, source.format)
    tables = dict(outcome.apart) if apart is not None else {}
    places = [] if apart is None else _places(outcome, Path(apart), path)
    if origins is not None:
        check_origins(Path(origins), path)
        places.append(Path(origins))
        tables["origins"] = origins_table(outcome)
    inputs = files_of(source)
    check_targets(
        {"release": path, **{place.name: place for place in places}}, keep=inputs, overwrite=overwrite
    )
    with AtomicWrite(overwrite=overwrite) as files:
        # What is kept apart first: a release without it cannot be reversed.
        for place, table in zip(places, tables.values(), strict=True):
            with files.making(place, 0o600) as staging_path, staging_path.open("wb") as file:
                write_csv(table, file, Csv())
        with files.making(path) as staging_path:
            write(outcome.table, staging_path, format=format)
            check_file(staging_path, format, outcome.table)
    return Written(str(path), apart=tuple(places), verification=outcome.verification)


def files_of(source: Source) -> list[Path]:
    """Return the files that a table was read from, directly or by an engine."""
    if not isinstance(source, Fetched):
        return [] if source.path is None else [source.path]
    file = source.relation.original.dialect.file()
    return [*map(Path, source.relation.scan.files), *([] if file is None else [file])]


def _save_fetched(
    outcome: Outcome,
    source: Fetched,
    target: Any,
    apart: str | os.PathLike[str] | None,
    origins: str | os.PathLike[str] | None,
    overwrite: bool,
    progress: ProgressLike,
    options: dict[str, Any],
) -> Written:
    """Write rows that were read from an engine to a place that an engine writes to."""
    from veil.engines.write.rows import write_rows  # needs Ibis

    if origins is not None:
        refuse_origins()
    places: list[Path] = []
    if apart is not None:
        places = places_apart(outcome, Path(apart), target, overwrite=overwrite)
    with following(progress) as tracker, AtomicWrite(overwrite=overwrite) as files:
        make_apart(outcome, places, files)
        options.setdefault("placing", files.placing)
        delivery = write_rows(
            outcome.table, source.relation, target, overwrite=overwrite, progress=tracker, **options
        )
    return dataclasses.replace(delivery, apart=tuple(places), verification=outcome.verification)


def goes_to_engine(target: Any) -> bool:
    """Whether a target is a folder or a database, which only engines write to."""
    if isinstance(target, Database):
        return True
    return isinstance(target, str) and (is_url(target) or is_folder(target))


def _check_files_apart(outcome: Outcome, target: Path) -> None:
    """Refuse to put a release next to the secret files of its methods."""
    for method in outcome.methods:
        for file in method.files_apart:
            if Path(file).resolve().parent == target.resolve().parent:
                raise OutputError(
                    f"{target}: {file} is in the same folder, and must not be published with the release. "
                    "Choose another folder"
                )


def make_apart(outcome: Outcome, places: Sequence[Path], files: AtomicWrite) -> None:
    """Write the tables that are kept apart, to files that only their owner may read."""
    for place, table in zip(places, outcome.apart.values() if places else (), strict=True):
        with files.making(place, 0o600) as path, path.open("wb") as file:
            write_csv(table, file, Csv())


def places_apart(outcome: Outcome, folder: Path, target: Any, *, overwrite: bool) -> list[Path]:
    """Return the paths of the tables that are kept apart, or refuse their folder."""
    places = _places(outcome, folder, target)
    check_targets({place.name: place for place in places}, keep=[], overwrite=overwrite)
    return places


def _places(outcome: Outcome, folder: Path, target: Any) -> list[Path]:
    if not usable(folder, OutputError).is_dir():
        raise OutputError(
            f"{folder}: is not a folder. Create it, beside that of the release, or choose another one"
        )
    if outcome.secret and goes_along(folder, target):
        raise OutputError(
            f"{folder}: the release is written there or to a folder above it, and "
            f"{', '.join(sorted(outcome.secret))} must not be published with it. Choose a folder next to "
            "that of the release"
        )
    places = [folder / file_name(name) for name in outcome.apart]
    for place in places:
        if not isinstance(target, Database) and place.resolve() == Path(target).resolve():
            raise OutputError(f"{place}: the release is written there. Choose another folder")
    return places


def unused_name(name: str, tables: Iterable[str]) -> str:
    """Return a name for a table of `apart` whose file no other table has."""
    number, unique = 1, name
    while file_name(unique) in {file_name(each) for each in tables}:
        number += 1
        unique = f"{name} {number}"
    return unique
