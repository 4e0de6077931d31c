"""Opening a source: which places there are, and whether memory or an engine reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from veil.api.items import gathered
from veil.base.paths import usable
from veil.base.progress import Progress
from veil.dp.publish import safepub_of
from veil.dp.source import QuestionSource
from veil.engines.database import Database, is_url
from veil.engines.questions import EngineQuestionSource, csv_files, read_cell_by_cell
from veil.engines.relation import Engine as EngineName
from veil.engines.relation import Relation, relation_of
from veil.engines.scan.files import is_pattern
from veil.engines.settings import Settings
from veil.errors import InputError, OutputError, Say, VeilError
from veil.outcome.outcome import outcome_of
from veil.plan.linked_tables import Stacked, stack
from veil.plan.owners import rows_of_people
from veil.plan.plan import ASK, Plan
from veil.recipe.places import is_folder
from veil.risk.identify import repeats
from veil.tables import Csv, Format, Parquet, Source, read
from veil.tables.formats import format_of, is_small_file
from veil.tables.rows import Knows

if TYPE_CHECKING:
    from veil.published.table import Published

Engine = EngineName | Settings
Place = Path | Database
"""Place of a table."""


def open_source(
    source: Any,
    format: Format | None,
    engine: Engine,
    condense: Callable[[Relation], Source],
    *,
    may_be_empty: bool = False,
    over_neighbours: bool = False,
) -> Source:
    """Read a table into memory, or have its engine condense it; from a release, take the published table.

    For a promise over neighbours it is read cell by cell and may be empty, so that nothing reveals a record.
    """
    if isinstance(source, Source):
        return source
    if isinstance(source, Path):
        usable(source)
    elif (outcome := outcome_of(source)) is not None:
        return Source(outcome.table, "pyarrow", weights=outcome.after.weights.counts)
    relation = find_relation(source, format, engine, over_neighbours=over_neighbours)
    if relation is not None:
        return condense(relation)
    if over_neighbours:
        return read_cell_by_cell(source, format)
    return read(source, format=format, may_be_empty=may_be_empty)


def open_for_plan(
    source: Any, plan: Plan, format: Format | None, engine: Engine, progress: Progress
) -> Source:
    """Open a table for a plan; refuse one with several rows per person if the plan leaves this undecided."""

    def condense(relation: Relation) -> Source:
        return condense_relation(relation, plan, progress)

    private = is_private(plan)
    source = open_source(source, format, engine, condense, over_neighbours=private)
    if not private:  # private releases have no index, and a check would reveal records that were left out
        source.check_index()
    if source.weights is None:
        check_people(source.table, plan)
    return gathered(source, plan)


def is_private(plan: Plan) -> bool:
    """Whether a plan is carried out by SafePub; refuse one that does not fit it."""
    return plan.over_neighbours and safepub_of(plan) is not None


def open_cells(source: Any, format: Format | None = None, engine: Engine = "auto") -> QuestionSource | Source:
    """Return a table for a promise over neighbours, read cell by cell in memory or by an engine."""
    if isinstance(source, QuestionSource | Source):
        return source
    relation = find_relation(source, format, engine, over_neighbours=True)
    return read_cell_by_cell(source, format) if relation is None else EngineQuestionSource(relation)


def condense_relation(relation: Relation, plan: Plan, progress: Progress) -> Source:
    """Have an engine count the combinations that a plan reads; or fetch all rows, if it needs them."""
    from veil.engines.fetch import fetch_rows  # needs Ibis
    from veil.engines.source import for_plan

    check_people(relation, plan)
    private = is_private(plan)
    if not plan.items and not (private and plan.person_column is not None):
        return for_plan(relation, plan, progress)
    plan.check_columns(relation.table.columns)
    columns = [name for name in relation.table.columns if plan.role_of(name) != "dropped"]
    return fetch_rows(relation.cell_by_cell() if private else relation, progress, columns)


def open_tables(sources: Mapping[str, Any], plan: Plan, formats: Mapping[str, Format]) -> Stacked:
    """Read several tables about the same people into memory, also from engines, and stack them."""
    if not sources:
        raise InputError(
            "no tables were given. Pass each by its name, such as {'people': people, 'visits': visits}"
        )
    tables = {}
    for name, each in sources.items():
        if not isinstance(name, str):
            raise InputError(f"{name!r} is not a valid table name. Use text, such as 'visits'")
        try:
            tables[name] = open_source(each, formats.get(name), "auto", fetch_all)
            tables[name].check_index()
        except InputError as error:
            raise InputError(f"table {name!r}: ", *error.words) from error
    return stack(tables, plan)


def fetch_all(relation: Relation) -> Source:
    """Read all rows of a table in an engine."""
    from veil.engines.fetch import fetch_rows  # needs Ibis

    return fetch_rows(relation, Progress())


def check_people(table: pa.Table | Relation, plan: Plan) -> None:
    """Refuse a table in which people seem to have several rows, if the plan leaves this undecided."""
    if plan.person != ASK or is_private(plan):
        return
    plan.check_columns(table.column_names if isinstance(table, pa.Table) else table.original.table.columns)
    repeats.check_people(table, plan.person, plan.identifying)


def find_relation(
    source: Any,
    format: Format | None,
    engine: Engine,
    *,
    threads: int | None = None,
    output: str | Database | None = None,
    over_neighbours: bool = False,
) -> Relation | None:
    """Return the table that is in an engine or is to be read by one; None if memory reads it.

    An engine reads what only an engine can write to `output`. For a promise over neighbours, CSV files, which
    may be empty, are read line by line in memory: an engine rejects a file because of one malformed line.
    """
    if engine == "auto" and (output is None or not needs_engine(output)) and is_small_file(source):
        return None
    if over_neighbours and csv_files(source, format) is not None:
        if output is not None and needs_engine(output):
            raise OutputError(
                f"{output}: folders and databases are written by an engine, but {source} is read line by line, in memory, so that "
                "no record changes how others are read. Write a file"
            )
        return None
    settings = engine if isinstance(engine, Settings) else Settings()
    name: EngineName = "duckdb" if isinstance(engine, Settings) else engine
    if name == "memory" and isinstance(source, Path) and (source.is_dir() or is_pattern(str(source))):
        raise InputError(
            f"{source}: folders and file patterns are read by DuckDB. Leave ",
            Say("engine", "memory"),
            " out, or give one file",
        )
    if output is not None and needs_engine(output):
        name = _reader(source, format, name, output)
    if threads is not None and settings.threads is None:
        settings = replace(settings, threads=threads)
    return relation_of(source, format=format, engine=name, settings=settings, may_be_empty=over_neighbours)


def needs_engine(output: str | Database) -> bool:
    """Whether only an engine can write to a place."""
    return isinstance(output, Database) or is_folder(output)


def _reader(place: Place, format: Format | None, engine: EngineName, output: str | Database) -> EngineName:
    """Have DuckDB read files if only an engine can write the output."""
    if isinstance(place, Database):
        return engine
    where = f"{output}: folders and databases are written by an engine"
    if engine == "memory":
        raise OutputError(f"{where}. Leave ", Say("engine"), " out, or write a file")
    try:
        input_format = format if format is not None or place.is_dir() else format_of(place)
    except VeilError:
        input_format = None
    if input_format is not None and not isinstance(input_format, Csv | Parquet):
        raise OutputError(
            f"{where}, and {place} can only be read into memory. Convert it to CSV or Parquet, or write a file"
        )
    return "duckdb"


def place_of(text: str) -> Place:
    """Return the place of a table: a path or a URL.

    >>> place_of("data/patients.csv").name, place_of("postgres://veil@host/clinic#patients").table
    ('patients.csv', 'patients')
    """
    if not is_url(text):
        return usable(text)
    database = Database(text)
    _ = database.file  # refuses a file that is not usable
    return database


def target_place(text: str) -> str | Database:
    """Return the place of a release: a path, which keeps a final /, or a URL."""
    if is_url(text):
        return Database(text)
    usable(text, OutputError)
    return text


def read_into_memory(place: Place, format: Format | None, instead: str) -> Path:
    """Return the path of a file that is read into memory, or refuse a table in an engine."""
    if isinstance(place, Path) and find_relation(place, format, "auto") is None:
        return place
    raise InputError(f"{place}: an engine holds it, and this needs all rows in memory. {instead}")


def count_combinations(
    relation: Relation,
    columns: Sequence[str],
    population_or_size: Any,
    *,
    marker: str,
    untouched: bool,
    person: str | None,
    knows: Knows,
) -> tuple[Published, Any]:
    """Have the engine count the combinations of some columns, for their risks.

    Also return the population, unless it is a table, which becomes part of the first.
    """
    from veil.engines.source import of_release
    from veil.published.flag import flags_among
    from veil.published.table import Published
    from veil.risk.grouping import rows_of_population

    repeats.check_people(relation, person)
    person_column = None if person in (None, ASK) else person
    source = of_release(relation, [*columns, *([] if person_column is None else [person_column])], marker)
    flags = [
        name
        for name in flags_among(source.table.column_names, columns)
        if pa.types.is_boolean(source.condensed.values(name).type)
    ]
    population = population_or_size if isinstance(population_or_size, pa.Table) else None
    rows = rows_of_people(source.table, person_column, source.weights, knows, published=True)
    published = Published(
        rows,
        list(columns),
        marker=marker,
        flag=flags[0] if flags else None,
        suppressed="none" if untouched else "by cells",
        population=None if population is None else rows_of_population(population, rows, person_column),
    )
    return published, None if population is not None else population_or_size
