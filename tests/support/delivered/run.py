"""Run what was drawn, and let the oracle judge what a person gets of it.

python -m support.delivered.run 20000        # plans; also: masks, engines, recodings. From the folder of the tests
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import veil
from support.delivered.draw import Case, draw
from support.delivered.forms import bytes_of, bytes_of_file, rows_of, rows_of_file
from support.delivered.judge import Given, Wrong, judge
from veil.errors import InputError, NoSolutionError, OutputError, ParameterError, PlanError, VerificationError


def check_plan(seed: int, folder: Path) -> str:
    """Carry out one plan and judge what is delivered. Returns how it went; raises `Wrong`."""
    return check_case(draw(seed), folder)


def check_case(case: Case, folder: Path) -> str:
    """Carry out a plan that was drawn, and judge what is delivered."""
    try:
        release = veil.anonymize(case.source, **case.options, progress=False)
    except NoSolutionError:
        return "no solution"
    except (PlanError, ParameterError):
        return "refused plan"
    except InputError as error:
        if "pandas" in type(case.source).__module__ or "infinite" in str(error):
            return "refused input"
        raise
    except VerificationError as error:
        raise Wrong(f"the search proposes what the verifier refuses: {error}") from error
    try:
        given, content = delivered(release, case, folder)
    except OutputError:
        return "refused file"
    asked = case.asked
    suppressed = judge(asked, given)
    check_order(case, given)
    check_bytes(case, given, content)
    if suppressed != int(release.suppressed):
        raise Wrong(f"{release.suppressed} records are said to be suppressed, {suppressed} are")
    return f"judged, {case.going_out}"


def delivered(release: Any, case: Case, folder: Path) -> tuple[Given, bytes]:
    """Read what a person gets in the form that was drawn, and all bytes of it."""
    key = rows_of(release.origins)
    origin = [int(row["input row"]) for row in key]
    if [int(row["release row"]) for row in key] != [*range(len(origin))]:
        raise Wrong("the key does not number the rows of the release")
    frame = release.table
    rows = rows_of(frame)
    texts = {name for name in (rows[0] if rows else {}) if any(isinstance(row[name], str) for row in rows)}
    levels = None if release.lattice is None else release.transformation
    given = Given(rows, origin, frozenset(texts), levels, release.outcome.flag)
    given.hidden = frozenset(i for i, hidden in enumerate(release.suppressed_rows.tolist()) if hidden)
    if case.going_out in ("frame", "pyarrow"):
        return given, bytes_of(frame)
    path = folder / f"release.{case.going_out}"
    release.save(path, overwrite=True)
    given.rows = rows_of_file(path)
    given.spelled = case.going_out in ("csv", "csv.gz", "tsv")
    given.loose = case.going_out == "xlsx"
    return given, bytes_of_file(path)


def check_order(case: Case, given: Given) -> None:
    """See that rows are in the order that was asked for; fifteen are in that of the input by chance once in 10^12 times."""
    ascending = [*given.origin] == sorted(given.origin)
    if case.order == "input" and not ascending:
        raise Wrong("rows are not in the order of the input")
    if case.order == "random" and ascending and len(given.origin) > 14:
        raise Wrong("rows are in the order of the input")


def check_bytes(case: Case, given: Given, content: bytes) -> None:
    """See that nothing of a record that is not shown is in the bytes, nor the name of anybody."""
    everybody = range(len(case.asked.rows))
    shown = {
        row
        for row, cells in zip(given.origin, given.rows, strict=True)
        if str(cells["K"]).startswith("token")
    }
    for row in everybody:
        cells = case.asked.rows[row]
        told = [cells["name"].encode()]
        if row not in shown:
            told += [cells["K"].encode(), cells["L"].to_bytes(8, "little"), str(cells["L"]).encode()]
        if any(each in content for each in told):
            raise Wrong("something of a record that is not shown is in the bytes")


def run(check: Any, count: int, start: int = 0, *, say: bool = True) -> Counter[str]:
    """Check many; print what is wrong with the seed that shows it."""
    tally: Counter[str] = Counter()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(start, start + count):
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    tally[check(seed, Path(folder))] += 1
            except Exception as error:
                tally["WRONG"] += 1
                if say:
                    print(f"seed {seed}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            if say and seed % 1000 == 999:
                print(f"{seed + 1}: {dict(tally)} in {time.monotonic() - began:.0f} s", flush=True)
    return tally


if __name__ == "__main__":
    from support.delivered.engines import check_engine
    from support.delivered.masks import check_mask
    from support.delivered.recodings import check_recoding

    what = {"plans": check_plan, "masks": check_mask, "engines": check_engine, "recodings": check_recoding}
    chosen = next((name for name in sys.argv[1:] if name in what), "plans")
    numbers = [int(each) for each in sys.argv[1:] if each.isdigit()]
    found = run(what[chosen], *numbers)
    print(dict(found))
    sys.exit(bool(found["WRONG"]))
