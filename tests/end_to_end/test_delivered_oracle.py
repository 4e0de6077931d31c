"""What is delivered, against an oracle that reads nothing but that: random plans, masks and engines, in every form.

A short run of fixed seeds. `VEIL_FUZZ=20000` asks for that many of each; `python -m support.delivered.run` for more still.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import veil
from support import oracle
from support.delivered.draw import Case, draw
from support.delivered.engines import check_engine
from support.delivered.judge import Given, Wrong, check_forms, judge
from support.delivered.masks import check_mask
from support.delivered.recodings import check_recoding
from support.delivered.run import check_bytes, check_order, check_plan, delivered, run

MORE = int(os.environ.get("VEIL_FUZZ", "0"))


@pytest.mark.parametrize("start", range(0, 160, 40))
def test_plans(start: int, capsys: pytest.CaptureFixture[str]) -> None:
    agrees(check_plan, 40, start, capsys)


@pytest.mark.parametrize("start", range(0, 120, 40))
def test_masks(start: int, capsys: pytest.CaptureFixture[str]) -> None:
    agrees(check_mask, 40, start, capsys)


@pytest.mark.parametrize("start", range(0, 160, 40))
def test_recodings(start: int, capsys: pytest.CaptureFixture[str]) -> None:
    agrees(check_recoding, 40, start, capsys)


def test_engines(capsys: pytest.CaptureFixture[str]) -> None:
    agrees(check_engine, 20, 0, capsys)


def agrees(check: Callable[[int, Path], str], count: int, start: int, capsys: Any) -> None:
    tally = run(check, MORE if MORE and start == 0 else count, start)
    assert tally["WRONG"] == 0, capsys.readouterr().out
    told = tally.total() - tally["zoned"]
    assert sum(count for what, count in tally.items() if what.startswith("judged")) >= told / 3


def test_a_number_that_a_file_spells_otherwise_than_python(tmp_path: Path) -> None:
    """1e-7 in a CSV file, k-map: people outside of the release have the value of those inside."""
    assert check_plan(526375, tmp_path) == "judged, csv"


def test_the_oracle_notices_a_number_in_two_spellings() -> None:
    check_forms(spelled("1e-7", "1e-7"))
    with pytest.raises(Wrong, match="several forms"):
        check_forms(spelled("1e-7", "1e-07"))


def spelled(*cells: str) -> Given:
    rows = [{"x": cell} for cell in cells]
    return Given(rows, range(len(rows)), frozenset("x"), None, None, spelled=True)


# --- the oracle notices ----------------------------------------------------------------------------


def found(wanted: Callable[[Case, Given], bool]) -> tuple[Case, Given, bytes]:
    """The first of the random releases, as frames, that has something to break."""
    for seed in range(300):
        case = draw(seed)
        case.options["recoding"], case.going_out = "full-domain", "frame"
        try:
            release = veil.anonymize(case.source, **case.options, progress=False)
        except veil.errors.VeilError:
            continue
        given, content = delivered(release, case, Path())
        if wanted(case, given):
            judge(case.asked, given)
            return case, given, content
    raise AssertionError("no such release")


def blank_rows(case: Case, given: Given) -> list[int]:
    return [number for number, row in enumerate(given.rows) if not str(row["K"]).startswith("token")]


def some_blank(case: Case, given: Given) -> bool:
    return case.asked.suppressed_rows == "blank" and 0 < len(blank_rows(case, given)) < len(given.rows)


def shows(name: str) -> Callable[[Case, Given], None]:
    def plant(case: Case, given: Given) -> None:
        number = blank_rows(case, given)[0]
        given.rows[number][name] = case.asked.rows[given.origin[number]][name]

    return plant


def another_cell(case: Case, given: Given) -> None:
    row = next(row for row in given.rows if str(row["K"]).startswith("token"))
    row["L"] += 1


def another_form(case: Case, given: Given) -> None:
    row = next(row for row in given.rows if row["L"] is not None)
    row["L"] = float(row["L"])


def another_label(case: Case, given: Given) -> None:
    row = next(row for row in given.rows if str(row["K"]).startswith("token"))
    row["q0"] = "another"


def a_row_less(case: Case, given: Given) -> None:
    given.rows.pop()
    given.origin = given.origin[:-1]


def wrong_key(case: Case, given: Given) -> None:
    given.origin = [*given.origin[1:], given.origin[0]]


def a_column_more(case: Case, given: Given) -> None:
    for row, origin in zip(given.rows, given.origin, strict=True):
        row["patient"] = case.asked.rows[origin]["name"]


FAULTS: dict[str, Callable[[Case, Given], None]] = {
    "a suppressed record shows a kept cell": shows("K"),
    "a suppressed record shows a sensitive cell": shows("I"),
    "another cell": another_cell,
    "another form": another_form,
    "another label": another_label,
    "a row less": a_row_less,
    "a wrong key": wrong_key,
    "a column more": a_column_more,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_oracle_notices(fault: str) -> None:
    case, given, _ = found(some_blank)
    broken = copy.deepcopy(given)
    FAULTS[fault](case, broken)
    with pytest.raises(Wrong):
        judge(case.asked, broken)


def test_the_oracle_notices_a_promise_that_is_broken() -> None:
    """Asked for more than was promised, it finds a class that is too small."""
    case, given, _ = found(lambda case, given: len(given.rows) > 5)
    case.asked.models = [oracle.KAnonymity(len(given.rows) + 1)]
    with pytest.raises(Wrong, match="not fulfil"):
        judge(case.asked, given)


def test_the_oracle_notices_bytes_and_order() -> None:
    case, given, content = found(lambda case, given: some_blank(case, given) and len(given.rows) > 14)
    check_bytes(case, given, content)
    hidden = given.origin[blank_rows(case, given)[0]]
    with pytest.raises(Wrong, match="bytes"):
        check_bytes(case, given, content + case.asked.rows[hidden]["K"].encode())
    with pytest.raises(Wrong, match="bytes"):
        check_bytes(case, given, content + case.asked.rows[given.origin[0]]["name"].encode())
    case.order = "random"
    given.origin = sorted(given.origin)
    with pytest.raises(Wrong, match="the input"):
        check_order(case, given)
    case.order = "input"
    given.origin = [*given.origin[1:], given.origin[0]]
    with pytest.raises(Wrong, match="the input"):
        check_order(case, given)
