"""Targets of results, and whether they can be written."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, cast

from veil.base.paths import usable
from veil.engines.database import Database, database_of
from veil.engines.relation import Relation
from veil.errors import MissingDependencyError, OutputError, Say
from veil.recipe.places import is_folder
from veil.tables import Format, output_format
from veil.tables.disk import not_written, replaceable
from veil.tables.journal import recover


def check_targets(targets: Mapping[str, Path], *, keep: Collection[Path], overwrite: bool) -> None:
    """Refuse targets that cannot be written to, before hours are spent on the results.

    Files to `keep` must not be overwritten in any case.
    """
    protected = {usable(path).resolve() for path in keep}
    places: set[Path] = set()
    for what, path in targets.items():
        usable(path, OutputError)
        if path.resolve() in protected:
            raise OutputError(f"{path}: the {what} would replace its own input. Choose another path")
        if path.resolve() in places:
            raise OutputError(
                f"{path}: the {what} would replace another file of the same run. Choose another path"
            )
        places.add(path.resolve())
        check_target(path, overwrite=overwrite)


def check_target(path: Path, *, overwrite: bool) -> None:
    """Refuse a path that cannot be written to, or that exists already."""
    if is_database(path):  # not repeated in the message, as it may contain a password
        raise OutputError("this is written to a file, not to a database. Give the path of a file")
    usable(path, OutputError)
    recover([Path(os.path.realpath(path))])
    folder = usable(path.resolve().parent, OutputError)
    if path.is_dir():
        raise OutputError(f"{path}: is a directory. Give the path of a file in it")
    if path.exists() and not overwrite:
        raise OutputError(f"{path}: already exists. Choose another path, or say ", Say("overwrite", True))
    if not folder.is_dir():
        raise OutputError(f"{path}: the directory does not exist. Create it, or choose another path")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{path}: the directory cannot be written to. Choose another path")
    try:
        replaceable(path, Path(os.path.realpath(path)))
    except OSError as error:
        raise not_written(path, error) from error


def goes_along(folder: Path, release: Any) -> bool:
    """Whether a folder is that of a release or lies below it, and so would be passed on with it.

    A database may be a file as well; one on a server is in no folder.

    >>> goes_along(Path("out/mine"), Path("out/release.csv")), goes_along(Path("mine"), Path("out/release.csv"))
    (True, False)
    >>> goes_along(Path("out"), "duckdb://out/release.db#shown"), goes_along(Path("out"), "postgres://host/out#shown")
    (True, False)
    """
    database = database_of(release)
    place = Path(cast("str", release)) if database is None else database.file
    return place is not None and folder.resolve().is_relative_to(place.resolve().parent)


def is_database(path: Path) -> bool:
    """Whether a path is the URL of a database.

    >>> is_database(Path("postgres://host/clinic#patients")), is_database(Path("C:/patients.csv"))
    (True, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]+:[/\\#]", str(path)) is not None


def check_ending(path: Path, what: str, endings: Collection[str]) -> None:
    """Refuse a name whose ending is no known format."""
    if path.suffix.lower() not in endings:
        ending = f"not {path.suffix!r}" if path.suffix else "and it has none"
        raise OutputError(f"{path}: the name of a {what} should end in {' or '.join(endings)}, {ending}")


def require(what: str, *modules: str, extra: str) -> None:
    """Refuse to begin work that would fail at its end for lack of a library."""
    if any(importlib.util.find_spec(module) is None for module in modules):
        raise MissingDependencyError(
            f"{what} need {' and '.join(modules)}. Install them with: pip install 'veil-anonymizer[{extra}]'"
        )


def check_output(
    output: str | Database, relation: Relation, *, overwrite: bool, beside: Collection[Path] = ()
) -> None:
    """Refuse a place that the engine cannot write to, before hours are spent on the result.

    Files `beside` it that a killed run has put in place alone are restored.
    """
    from veil.engines.write.open import target_of

    if not isinstance(output, Database):
        usable(output, OutputError)
    if isinstance(output, Database):
        if output.file is not None and output.table is not None and not output.file.exists():
            check_target(output.file, overwrite=overwrite)
            return
    elif (folder := Path(os.path.realpath(output)).parent).is_dir() and not os.access(folder, os.W_OK):
        raise OutputError(f"{output}: the directory cannot be written to. Choose another path")
    target = target_of(
        output, relation, token="", overwrite=overwrite, format=written_format(output, relation)
    )
    places = [Path(os.path.realpath(each)) for each in beside]
    if not isinstance(output, Database):
        places.append(Path(os.path.realpath(output)))
    with target.explain_errors():
        recover(places, target.has_taken_place)
        there = target.exists()
    if there and not overwrite and not _left_by_a_run(output):
        raise OutputError(
            f"{target.name}: already exists. Choose another place, or say ", Say("overwrite", True)
        )


def _left_by_a_run(output: str | Database) -> bool:
    """Whether a run was stopped so late that its release may be in place; running it again decides."""
    if isinstance(output, Database):
        return False
    place = Path(os.path.realpath(output))
    pattern = re.compile(re.escape(f".{place.name}.veil-") + "[0-9a-f]{12}")
    return any(pattern.fullmatch(each.name) for each in place.parent.iterdir())


def written_format(output: str | Database, relation: Relation) -> Format | None:
    """Return the format of an output file: that of the input, if it is the same kind of file."""
    if isinstance(output, Database) or is_folder(output):
        return None
    path = Path(output)
    if path.is_dir() or not path.suffix:
        return None
    return output_format(path, relation.scan.format)
