"""The engine for tables from the options, and checks of options for tables of an engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, cast

from veil.cli import failures
from veil.engines.database import Database
from veil.engines.relation import Engine, Relation
from veil.engines.settings import Settings
from veil.errors import PlanError

if TYPE_CHECKING:
    from veil.cli.base import Engines


def warn_about_passwords(*places: object) -> None:
    """Warn about a password on the command line, which others can see."""
    if any(isinstance(place, Database) and place.has_password for place in places):
        failures.print_note(
            "note: others on this machine can see a password on the command line. Leave it to the driver (PGPASSWORD, "
            "~/.pgpass), or name a variable in a recipe with `password_variable`"
        )


def release_for(place: Path | Database) -> str:
    """Propose the name of a release: a file like that of the table; Parquet for folders and databases.

    >>> release_for(Path("data/patients.csv.gz")), release_for(Path("data/*.parquet")), release_for(Path("data"))
    ('release.csv.gz', 'release.parquet', 'release.parquet')
    """
    ending = "" if isinstance(place, Database) or place.is_dir() else "".join(place.suffixes[-2:])
    return f"release{ending or '.parquet'}"


def engine_of(options: Engines) -> Engine | Settings | None:
    """Return the engine that reads files; None without options. Limits of memory imply DuckDB."""
    return reader(options.engine and options.engine.value, options.memory, options.temporary)


def reader(engine: str | None, memory: str | None, temporary: Path | None) -> Engine | Settings | None:
    """Return an engine with its limits."""
    if memory is None and temporary is None:
        return cast("Engine | None", engine)
    if engine == "memory":
        raise PlanError(
            "--memory and --temporary are settings of DuckDB: leave them out, or leave out --engine memory"
        )
    return Settings(memory, None, temporary)


def check_options(relation: Relation, options: object, *names: str) -> None:
    """Refuse options that need single records, which an engine does not return."""
    for name in names:
        if getattr(options, name) is not None:
            raise PlanError(
                f"--{name} needs single records, but {relation.name} is only read as combinations of cells "
                f"with their counts. Leave --{name} out, or give one file and --engine memory"
            )
