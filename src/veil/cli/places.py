"""Who reads tables, as options say it; and what they cannot ask of tables that an engine holds."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

from veil.cli import failures
from veil.engines.database import Database
from veil.engines.relation import Engine, Relation
from veil.engines.settings import Settings
from veil.errors import PlanError


def warn_about_passwords(*places: object) -> None:
    """Tell users who give a password where others can see it."""
    if any(isinstance(place, Database) and place.has_password for place in places):
        failures.say(
            "note: others on this machine can see a password on the command line. Leave it to the driver (PGPASSWORD, "
            "~/.pgpass), or name a variable in a recipe with `password_variable`"
        )


def release_for(place: Path | Database) -> str:
    """Propose what a release is called: a file like that of the table, and of many files or a database one for all.

    >>> release_for(Path("data/patients.csv.gz")), release_for(Path("data/*.parquet")), release_for(Path("data"))
    ('release.csv.gz', 'release.parquet', 'release.parquet')
    """
    ending = "" if isinstance(place, Database) or place.is_dir() else "".join(place.suffixes[-2:])
    return f"release{ending or '.parquet'}"


def engine_of(engine: str | None, memory: str | None, temporary: Path | None) -> Engine | Settings | None:
    """Settle who reads files, if anything is said about it. Limits are those of DuckDB, and ask for it."""
    if memory is None and temporary is None:
        return cast("Engine | None", engine)
    if engine == "memory":
        raise PlanError(
            "--memory and --temporary are settings of DuckDB: leave them out, or leave out --engine memory"
        )
    return Settings(memory, None, temporary)


def check_options(relation: Relation, refused: dict[str, Any]) -> None:
    """Refuse options that need single records, which an engine keeps to itself."""
    for option, value in refused.items():
        if value is not None:
            raise PlanError(
                f"{option} needs single records, but {relation.name} is only read as combinations of cells "
                f"with their counts. Leave {option} out, or give one file and --engine memory"
            )
