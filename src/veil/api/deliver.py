"""What a person gets of an outcome: a frame of the kind that came in, and files."""

from __future__ import annotations

import contextlib
import io
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from veil.base.progress import ProgressLike
from veil.engines.held import EngineHeld
from veil.errors import OutputError, PlanError
from veil.outcome.outcome import Outcome
from veil.outcome.written import Written
from veil.tables import Csv, atomic, output_format, write
from veil.tables.arrow import only_used_categories
from veil.tables.csv.writer import write_csv
from veil.tables.frames import PandasFrame


def as_frame(outcome: Outcome) -> Any:
    """Return the table as the kind of frame that came in; what an engine holds, as an expression of the engine."""
    source = outcome.source
    if isinstance(source, EngineHeld):
        return source.expression(outcome)
    if outcome.statement is None:
        return source.restore(outcome.table, outcome.rows)
    # Differential privacy: neither an index nor a column of the frame that came in tells who was drawn.
    frame = source.frame
    if frame is None:
        return only_used_categories(outcome.table)
    if isinstance(frame, PandasFrame):
        frame = PandasFrame(frame.frame.iloc[: outcome.table.num_rows].reset_index(drop=True))
    return frame.from_arrow(outcome.table, frozenset(), None)


def save(
    outcome: Outcome,
    target: Any,
    *,
    apart: str | os.PathLike[str] | None = None,
    overwrite: bool = False,
    progress: ProgressLike = None,
    **options: Any,
) -> Written:
    """Write the table, and the tables of `apart` as CSV files into a folder of their own: all of them, or none."""
    if isinstance(outcome.source, EngineHeld):
        if apart is not None:
            raise PlanError("an engine keeps nothing apart: leave `apart` out")
        return outcome.source.write(outcome, target, overwrite=overwrite, progress=progress, **options)
    if options:
        raise PlanError(
            f"`{next(iter(options))}` is for tables that an engine writes, and this one is in memory: leave it out"
        )
    path = Path(target)
    format = output_format(path, outcome.source.format)
    check_target(outcome, path, overwrite=overwrite)
    places = [] if apart is None else _places(outcome, Path(apart), path)
    with contextlib.ExitStack() as stack:
        for place, table in zip(places, outcome.apart.values(), strict=False):
            temporary = stack.enter_context(atomic(place))
            temporary.chmod(0o600)  # before anything is in it
            content = io.BytesIO()
            write_csv(table, content, Csv())
            temporary.write_bytes(content.getvalue())
        write(outcome.table, path, format=format)
    return Written(str(path), apart=tuple(places), verification=outcome.verification)


def check_target(outcome: Outcome, path: Path, *, overwrite: bool) -> None:
    """Refuse to write over the input, and over any other file unless that is wanted."""
    given = outcome.source.path
    if given is not None and path.exists() and given.exists() and path.samefile(given):
        raise OutputError(f"{path}: is the input, which would be lost. Choose another name")
    if path.is_file() and not overwrite:
        raise OutputError(f"{path}: is there already. Choose another name, or say overwrite=True")


def _places(outcome: Outcome, folder: Path, target: Path) -> list[Path]:
    if not folder.is_dir():
        raise OutputError(f"{folder}: is not a folder. Create it, or choose another one")
    if outcome.secret and folder.resolve() == target.resolve().parent:
        raise OutputError(
            f"{folder}: the release goes there, and {', '.join(sorted(outcome.secret))} must not. Choose another "
            "folder"
        )
    places = [folder / file_name(name) for name in outcome.apart]
    for place in places:
        if place.resolve() == target.resolve():
            raise OutputError(f"{place}: is where the release goes. Choose another folder")
    return places


def unused_name(name: str, taken: Mapping[str, pa.Table]) -> str:
    """Return a name for a table of `apart` whose file no other table has."""
    number, unique = 1, name
    while file_name(unique) in {file_name(each) for each in taken}:
        number += 1
        unique = f"{name} {number}"
    return unique


def file_name(name: str) -> str:
    """Return the name of the file that a table of `apart` is written to.

    >>> file_name("pseudonyms of name")
    'pseudonyms-of-name.csv'
    """
    return (re.sub(r"[^\w.-]+", "-", name).strip("-.").lower() or "table") + ".csv"
