"""The files of a command, and the report on them after Ctrl-C."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import typer

from veil.api.targets import is_database
from veil.cli import failures
from veil.engines.write.writing import AGAIN, COMPLETE, STANDS
from veil.errors import InputError, PlanError
from veil.recipe import Recipe
from veil.tables.staging import is_staged


def is_recipe(path: Path) -> bool:
    """Return whether a file is a recipe by its name.

    >>> is_recipe(Path("recipe.yaml")), is_recipe(Path("patients.csv"))
    (True, False)
    """
    return path.suffix.lower() in (".yaml", ".yml", ".json")


def read_recipe(path: Path, command: str) -> Recipe:
    """Read a recipe; refuse one whose steps another command carries out."""
    recipe = Recipe.read(path)
    if recipe.command != command:
        raise PlanError(f"{path}: this recipe is for another command. Run `veil {recipe.command} {path}`")
    return recipe


def no_databases(*paths: Path | None) -> None:
    """Refuse URLs where a file is needed. The message does not repeat them: they may contain a password."""
    for path in paths:
        if path is not None and is_database(path):
            raise InputError(
                "this command works on files, not on databases. `veil anonymize`, `assess`, `identify`, `risk` and `verify` "
                "work on both; for the others, write the table to a file first"
            )


@contextmanager
def track_outputs(targets: Collection[Path]) -> Iterator[list[str]]:
    """Report the complete outputs on Ctrl-C. The caller adds outputs other than files when they are done."""
    before = {path: _identity(path) for path in targets}
    done: list[str] = []
    try:
        yield done
    except BaseException as error:
        notes = getattr(error, "__notes__", ())
        resumable = [each for each in notes if AGAIN in each or STANDS in each]
        if not failures.is_stop(error):
            failures.outputs = _complete([*_changed(before), *done])
            raise
        there = _changed(before)
        changed = {Path(each).resolve() for each in there}
        ended = [each.removesuffix(f" {COMPLETE}") for each in notes if each.endswith(COMPLETE)]
        there += done or [each for each in ended if Path(each).resolve() not in changed]
        failures.report_stop(resumable[0] if resumable else _complete(there))
        raise typer.Exit(failures.stopped) from None
    else:
        failures.outputs = _complete([*_changed(before), *done])


def _changed(before: Mapping[Path, tuple[int, int] | None]) -> list[str]:
    return [str(path) for path, old in before.items() if not is_staged(path) and _identity(path) != old]


def _complete(there: Sequence[str]) -> str:
    return f"{', '.join(there)} {'is' if len(there) == 1 else 'are'} complete" if there else ""


def _identity(path: Path) -> tuple[int, int] | None:
    """Return inode and time of a file, which differ from those of another file of the same name."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns
