"""The files of a command: which ones are meant, which ones may be written, and what is there after Ctrl-C."""

from __future__ import annotations

import importlib.util
import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

from veil.cli import failures, grammar
from veil.engines.database import Database
from veil.errors import InputError, MissingDependencyError, OutputError, PlanError
from veil.tables import Format
from veil.tables.formats import similar_format

if TYPE_CHECKING:
    from veil.recipe.base import Located


def is_recipe(path: Path) -> bool:
    """Whether a file is a recipe by its name.

    >>> is_recipe(Path("recipe.yaml")), is_recipe(Path("patients.csv"))
    (True, False)
    """
    return path.suffix.lower() in (".yaml", ".yml", ".json")


_DATABASE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:[/\\\\#]")  # what becomes of the URL of a database as a path


def no_databases(*paths: Path | None) -> None:
    """Refuse URLs where a file is needed. They are not repeated, as they may hold a password."""
    for path in paths:
        if path is not None and _DATABASE.match(str(path)):
            raise InputError(
                "this command works on files, not on databases. `veil anonymize`, `assess`, `risk` and `verify` work on "
                "both; for the others, write the table to a file first"
            )


class Tables(NamedTuple):
    """The table to read, how to read it, and where to write."""

    input: Path | Database
    format: Format | None
    output: str | Database


def tables_of(
    source: Path,
    recipe: Located,
    *,
    input: Path | Database | None,
    format: str | None,
    output: str | Database | None,
    what: str,
) -> Tables:
    """Settle the tables of a recipe; what the command line says about them comes first."""
    target = output or recipe.target
    table, chosen = table_of(source, recipe, input=input, format=format)
    if target is None:
        raise PlanError(f"{source} does not say where to write the {what}: add `output`, or give --output")
    return Tables(table, chosen, target)


def table_of(
    source: Path, recipe: Located, *, input: Path | Database | None, format: str | None
) -> tuple[Path | Database, Format | None]:
    """Settle the table of a recipe, and how to read it."""
    table = input or recipe.source
    if table is None:
        raise PlanError(f"{source} names no table: add `input`, or give --input")
    chosen = grammar.format(format) if format else recipe.input_format
    if input is not None and chosen is not None and not format:
        # What the recipe knows about such files, if it is one.
        chosen = similar_format(input, chosen) if isinstance(input, Path) and not input.is_dir() else None
    return table, chosen


def check_targets(targets: Mapping[str, Path], *, keep: Collection[Path], overwrite: bool) -> None:
    """Refuse targets that cannot be written to, before hours are spent on what goes there.

    Files to `keep` must not be written over, whatever else may be.
    """
    kept = {path.resolve() for path in keep}
    taken: set[Path] = set()
    for what, path in targets.items():
        if path.resolve() in kept:
            raise OutputError(f"{path}: the {what} would replace what it is made from. Choose another path")
        if path.resolve() in taken:
            raise OutputError(
                f"{path}: the {what} would replace another file of the same run. Choose another path"
            )
        taken.add(path.resolve())
        check_target(path, overwrite=overwrite)


def check_target(path: Path, *, overwrite: bool) -> None:
    """Refuse a path to which nothing can be written, or at which there is something already."""
    no_databases(path)
    folder = path.resolve().parent
    if path.is_dir():
        raise OutputError(f"{path}: is a directory. Give the path of a file in it")
    if path.exists() and not overwrite:
        raise OutputError(f"{path}: exists already. Choose another path, or say --overwrite")
    if not folder.is_dir():
        raise OutputError(f"{path}: the directory does not exist. Create it, or choose another path")
    if not os.access(folder, os.W_OK):
        raise OutputError(f"{path}: the directory cannot be written to. Choose another path")


def check_ending(path: Path, what: str, endings: Collection[str]) -> None:
    """Refuse a name whose ending stands for nothing that can be made."""
    if path.suffix.lower() not in endings:
        found = f"not {path.suffix!r}" if path.suffix else "and it has none"
        raise OutputError(f"{path}: the name of a {what} should end in {' or '.join(endings)}, {found}")


def require(what: str, *modules: str, extra: str) -> None:
    """Refuse to begin what would fail at its end for want of a library."""
    if any(importlib.util.find_spec(module) is None for module in modules):
        raise MissingDependencyError(
            f"{what} need {' and '.join(modules)}. Install them with: pip install 'veil-anonymizer[{extra}]'"
        )


@contextmanager
def honest_about(targets: Collection[Path]) -> Iterator[list[str]]:
    """On Ctrl-C, say what is there; in all likelihood nothing. Places that are no files are added when they are done."""
    before = {path: _identity(path) for path in targets}
    done: list[str] = []
    try:
        yield done
    except BaseException as error:
        kept = [each.replace(_AGAIN, "the same command goes on from there") for each in _notes(error)]
        if isinstance(error, SystemExit) and kept:  # a scheduler has lost patience
            failures.say(f"stopped; {kept[0]}")
        if not failures.is_stop(error):
            raise
        there = [str(path) for path, found in before.items() if _identity(path) != found] + done
        told = f"{', '.join(there)} is complete" if there else "nothing was written"
        failures.say(f"stopped; {kept[0] if kept else told}")
        raise typer.Exit(failures.STOPPED) from None


_AGAIN = "the same call continues there"


def _notes(error: BaseException) -> list[str]:
    return [each for each in getattr(error, "__notes__", ()) if _AGAIN in each]


def _identity(path: Path) -> tuple[int, int] | None:
    """Tell a file from another of the same name."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns
