"""Plans at random for tables that DuckDB holds: judged on what its expression gives, and on what it writes."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import veil
from support.delivered.draw import Case, draw
from support.delivered.forms import bytes_of_file, rows_of, rows_of_file, text_of
from support.delivered.judge import Given, Wrong, is_blank, judge, text_of_cell
from veil.errors import InputError, NoSolutionError, OutputError, ParameterError, PlanError, VerificationError


def check_engine(seed: int, folder: Path) -> str:
    """Carry out one plan where the rows are, and judge what comes out."""
    case = draw(seed)
    case.options["recoding"] = "full-domain"
    return check_held(case, seed, folder)


def check_held(case: Case, seed: int, folder: Path) -> str:
    """Carry out a plan that was drawn where the rows are, and judge what comes out."""
    import ibis

    if any(getattr(each.type, "tz", None) is not None for each in case.table.columns):
        return "zoned"  # of a time zone DuckDB keeps nothing
    connection = ibis.duckdb.connect()
    held = connection.create_table("people", _without_dictionaries(case.table))
    try:
        release = veil.anonymize(held, **case.options, progress=False)
    except NoSolutionError:
        return "no solution"
    except (PlanError, ParameterError, InputError):
        return "refused"
    except VerificationError as error:
        raise Wrong(f"the search proposes what the verifier refuses: {error}") from error
    content = b""
    spelled = False
    if Random(seed).random() < 0.5:
        rows = rows_of(release.table.to_pyarrow())
        going_out = "expression"
    else:
        going_out = Random(seed).choice(["parquet", "csv"])
        path = folder / f"engine-{seed}.{going_out}"
        try:
            release.save(path, overwrite=True)
        except OutputError:
            return "refused file"
        rows, content, spelled = rows_of_file(path), bytes_of_file(path), going_out == "csv"
        path.unlink()
    texts = {name for name in (rows[0] if rows else {}) if any(isinstance(row[name], str) for row in rows)}
    origin = _origin(case, rows)
    levels = release.transformation if case.options["recoding"] == "full-domain" else None
    flag = release.outcome.source.flag_of(release.outcome)  # written only if a row needs it
    given = Given(rows, origin, frozenset(texts), levels, flag, spelled=spelled)
    given.hidden = frozenset(
        row for row, cells in zip(origin, rows, strict=True) if not _has_labels(case, given, row, cells)
    )
    suppressed = judge(case.asked, given)
    if not suppressed <= release.suppressed <= suppressed + _undecided(case, given):
        raise Wrong(f"{release.suppressed} records are said to be suppressed, {suppressed} are")
    shown = {row for row, cells in zip(origin, rows, strict=True) if str(cells["K"]).startswith("token")}
    for number, cells in enumerate(case.asked.rows):
        if cells["name"].encode() in content or (number not in shown and cells["K"].encode() in content):
            raise Wrong("something of a record that is not shown is in the bytes")
    return f"judged, {going_out}"


def _without_dictionaries(table: pa.Table) -> pa.Table:
    return pa.table(
        {
            name: each.cast(pa.string()) if pa.types.is_dictionary(each.type) else each
            for name, each in zip(table.column_names, table.columns, strict=True)
        }
    )


def _origin(case: Case, rows: list[dict[str, Any]]) -> list[int]:
    """The input row of each row: by its token, which nobody else has; those without one get the rows that are left."""
    place = {row["K"]: number for number, row in enumerate(case.asked.rows)}
    found = [place.get(row["K"]) for row in rows]
    left = iter(sorted(case.asked.members - set(found)))
    return [next(left) if each is None else each for each in found]


def _undecided(case: Case, given: Given) -> int:
    """Count rows of which nobody can tell whether they are suppressed: cells are kept, and their labels are blank anyway."""
    if case.asked.suppressed_rows != "keep cells" or given.flag is not None:
        return 0
    return sum(
        given.origin[number] not in given.hidden
        and all(is_blank(case.asked, given, name, row[name]) for name in case.asked.known)
        for number, row in enumerate(given.rows)
    )


def _has_labels(case: Case, given: Given, row: int, cells: dict[str, Any]) -> bool:
    def labels_of(name: str) -> list[Any]:
        labels = case.asked.labels[name][text_of(case.asked.rows[row][name])]
        return [*labels] if given.levels is None else [labels[given.levels[name]]]

    return all(
        (text_of_cell(given, cells[name]) or None) in [label or None for label in labels_of(name)]
        for name in case.asked.labels
    )
