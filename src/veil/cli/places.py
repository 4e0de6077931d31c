"""Tables that an engine holds, on the command line: which places are meant, who reads them, where the release may go.

What an engine cannot do is refused here, before it has begun.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from veil.cli import failures, files
from veil.engines.database import Database, is_url
from veil.engines.relation import Engine, Relation, relation_of
from veil.engines.scan.files import is_pattern
from veil.engines.settings import Settings
from veil.errors import InputError, OutputError, PlanError, VeilError
from veil.recipe.places import is_folder
from veil.tables import Csv, Format, Parquet, output_format
from veil.tables.formats import format_of

if TYPE_CHECKING:
    from veil.published.table import Published

Place = Path | Database
"""Where a table is."""


def place_of(text: str) -> Place:
    """Read where a table is: a path or a URL.

    >>> place_of("data/patients.csv").name, place_of("postgres://veil@host/clinic#patients").table
    ('patients.csv', 'patients')
    """
    return Database(text) if is_url(text) else Path(text)


def target_place(text: str) -> str | Database:
    """Read where a release goes: a path, which keeps the / at its end, or a URL."""
    return Database(text) if is_url(text) else text


def warn_about_passwords(*places: object) -> None:
    """Tell users who give a password where others can see it."""
    if any(isinstance(place, Database) and place.has_password for place in places):
        failures.say(
            "note: others on this machine can see a password on the command line. Leave it to the driver (PGPASSWORD, "
            "~/.pgpass), or name a variable in a recipe with `password_variable`"
        )


def engine_of(engine: str | None, memory: str | None, temporary: Path | None) -> Engine | Settings | None:
    """Settle who reads files, if anything is said about it. Limits are those of DuckDB, and ask for it."""
    if memory is None and temporary is None:
        return cast("Engine | None", engine)
    if engine == "memory":
        raise PlanError("--memory and --temporary are limits of DuckDB: leave them out, or --engine memory")
    return Settings(memory, None, temporary)


def needs_engine(output: str | Database) -> bool:
    """Whether only an engine can write there."""
    return isinstance(output, Database) or is_folder(output)


def opened(
    place: Place,
    format: Format | None,
    engine: Engine | Settings | None,
    *,
    threads: int | None = None,
    output: str | Database | None = None,
) -> Relation | None:
    """Open what an engine holds or should read; ``None`` is for what is best read into memory."""
    settings = engine if isinstance(engine, Settings) else Settings()
    name: Engine = "duckdb" if isinstance(engine, Settings) else engine or "auto"
    if name == "memory" and isinstance(place, Path) and (place.is_dir() or is_pattern(str(place))):
        raise InputError(
            f"{place}: folders and patterns are read by DuckDB. Leave --engine memory out, or give one file"
        )
    if output is not None and needs_engine(output):
        name = _reader(place, format, name, output)
    if threads is not None and settings.threads is None:
        settings = replace(settings, threads=threads)
    return relation_of(place, format=format, engine=name, settings=settings)


def _reader(place: Place, format: Format | None, engine: Engine, output: str | Database) -> Engine:
    """Have files read by DuckDB where the release goes to a place that only an engine can write to."""
    if isinstance(place, Database):
        return engine
    where = f"{output}: folders and databases are written by an engine"
    if engine == "memory":
        raise OutputError(f"{where}. Leave `engine` out, or write a file")
    try:
        chosen = format if format is not None or place.is_dir() else format_of(place)
    except VeilError:
        chosen = None
    if chosen is not None and not isinstance(chosen, Csv | Parquet):
        raise OutputError(
            f"{where}, and {place} can only be read into memory. Convert it to CSV or Parquet, or write a file"
        )
    return "duckdb"


def check_output(output: str | Database, relation: Relation, *, overwrite: bool) -> None:
    """Refuse a place that the engine cannot write to, before hours are spent on what goes there."""
    from veil.engines.write.open import target_of

    if isinstance(output, Database):
        if output.file is not None and output.table is not None and not output.file.exists():
            files.check_target(output.file, overwrite=overwrite)
            return
    elif (folder := Path(os.path.realpath(output)).parent).is_dir() and not os.access(folder, os.W_OK):
        raise OutputError(f"{output}: the directory cannot be written to. Choose another path")
    target = target_of(
        output, relation, token="", overwrite=overwrite, format=written_format(output, relation)
    )
    with target.told():
        there = target.exists()
    if there and not overwrite and not _left_by_a_run(output):
        raise OutputError(f"{target.name}: exists already. Choose another place, or say --overwrite")


def _left_by_a_run(output: str | Database) -> bool:
    """Whether a run was stopped so late that its release may be in place: the same command finds out."""
    if isinstance(output, Database):
        return False
    place = Path(os.path.realpath(output))
    pattern = re.compile(re.escape(f".{place.name}.veil-") + "[0-9a-f]{12}")
    return any(pattern.fullmatch(each.name) for each in place.parent.iterdir())


def written_format(output: str | Database, relation: Relation) -> Format | None:
    """Return how to write a file: as what was read, if that was the same kind of file."""
    if isinstance(output, Database) or is_folder(output):
        return None
    path = Path(output)
    if path.is_dir() or not path.suffix:
        return None
    return output_format(path, None if relation.scan is None else relation.scan.format)


def check_options(relation: Relation, refused: dict[str, Any]) -> None:
    """Refuse options that need single records, which an engine keeps to itself."""
    for option, value in refused.items():
        if value is not None:
            raise PlanError(
                f"{option} tells of single records, and of {relation.name} only combinations of cells and their numbers "
                f"are looked at. Leave {option} out, or give one file and --engine memory"
            )


def condensed(
    relation: Relation, columns: Sequence[str], people: Any, *, marker: str, untouched: bool
) -> tuple[Published, Any]:
    """Let the engine count the combinations of some columns, for `veil risk`.

    Also return the people they were drawn from, if these are no table: that becomes part of the first.
    """
    import pyarrow as pa

    from veil.engines.source import of_release
    from veil.published.flag import flags_among
    from veil.published.table import Published

    source = of_release(relation, columns)
    flags = [
        name
        for name in flags_among(source.table.column_names, columns)
        if pa.types.is_boolean(source.dictionary(name).type)
    ]
    everybody = people if isinstance(people, pa.Table) else None
    published = Published(
        source.table,
        list(columns),
        marker=marker,
        flag=flags[0] if flags else None,
        untouched=untouched,
        weights=source.weights,
        population=everybody,
    )
    return published, None if everybody is not None else people


def read_into_memory(
    place: Place, format: Format | None, engine: Engine | Settings | None, instead: str
) -> Path:
    """Return the path of what can be read into memory, or refuse what an engine holds."""
    if isinstance(place, Path) and opened(place, format, engine) is None:
        return place
    raise InputError(f"{place}: an engine holds it, and this needs all rows in memory. {instead}")
