"""What nobody can read is no sign of safety: it is refused, with the reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import veil
import veil.risk
from support import refusals
from veil import KAnonymity
from veil import hierarchies as h
from veil.errors import HierarchyError, InputError, OutputError
from veil.tables import Csv


def _release() -> tuple[pa.Table, pa.Table, veil.Release]:
    rng = np.random.default_rng(1)
    table = pa.table({"age": rng.integers(0, 100, 400), "zip": rng.integers(0, 100, 400)})
    plan = {"age": h.intervals(5, 20), "zip": h.intervals(5, 20)}
    release = veil.anonymize(
        table[:200], quasi_identifiers=plan, models=KAnonymity(2), suppression_limit=1, suppressed_rows="drop"
    )
    return table[:200], table[200:], release


def test_attacks_that_cannot_read_labels_do_not_report_that_nobody_was_found() -> None:
    members, outsiders, release = _release()
    with refusals.refused(InputError, "'age'", "nothing tells"):
        veil.risk.try_attacks(members, outsiders, release.arrow, ["age", "zip"])
    outcome = release.outcome
    read = veil.risk.try_attacks(
        members,
        outsiders,
        release.arrow,
        ["age", "zip"],
        origins=outcome.origins,
        hierarchies=outcome.hierarchies,
    )
    assert read["singling out"].members.attempts > 0


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("types", [{}, {"pay": "string"}])
def test_a_point_that_may_mark_thousands_is_asked_about(
    engine: str, types: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / "pay.csv"
    path.write_text("pay;sex\n" + "".join(f"{pay};f\n" for pay in ["1.200", "950", "850", "1.100"] * 2))
    with pytest.raises(HierarchyError, match="1[12]00 or 1.[12]00"):
        veil.anonymize(
            path,
            format=Csv(decimal=",", types=types),
            quasi_identifiers={"pay": h.intervals(1000)},
            models=KAnonymity(2),
            others="drop",
            engine=engine,
        )
    release = veil.anonymize(
        path,
        format=Csv(decimal=",", thousands="."),
        quasi_identifiers={"pay": h.intervals(1000)},
        minimum_levels={"pay": 1},
        models=KAnonymity(2),
        others="drop",
    )
    assert set(release.arrow["pay"].to_pylist()) == {"[0, 1000[", "[1000, 2000["}


@pytest.mark.parametrize(
    ("text", "refused"),
    [
        ("1.200", True),
        ("-1.200", True),
        ("12.345.678", True),
        (" 1.200", True),
        ("0.125", False),
        ("1.25", False),
        ("1200.5", False),
    ],
)
def test_only_whole_groups_of_three_are_in_doubt(text: str, refused: bool) -> None:
    for other in ("7", "1e2"):
        values = pa.array([text, other])
        if refused:
            with refusals.refused(HierarchyError, "thousands or decimals"):
                h.intervals(10).build(values, [1, 1], "pay")
        else:
            h.intervals(10).build(values, [1, 1], "pay")
    assert h.intervals(10).build(pa.array([1.2, 7.0]), [1, 1], "pay").height == 2


@pytest.mark.parametrize("sign", ["\ufffe", "\uffff", "\x01", "\x0b"])
def test_a_workbook_cannot_hold_every_character(sign: str, tmp_path: Path) -> None:
    table = pa.table({"age": [40, 40], "note": [f"a{sign}b", "c"]})
    release = veil.anonymize(
        table, quasi_identifiers={"age": "suppression"}, models=KAnonymity(2), insensitive=["note"]
    )
    with refusals.refused(OutputError, "'note'", "Excel"):
        release.save(tmp_path / "release.xlsx")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "values",
    [
        [{"email": f"p{n}@x.org"} for n in range(4)],
        pa.array([[("email", f"p{n}@x.org")] for n in range(4)], pa.map_(pa.string(), pa.string())),
        [[{"email": f"p{n}@x.org"}] for n in range(4)],
        [[[n]] for n in range(4)],
    ],
    ids=["struct", "map", "list of structs", "list of lists"],
)
def test_what_is_inside_of_structures_is_a_concern(values: object) -> None:
    table = pa.table({"age": [40] * 4, "more": pa.array(values)})
    release = veil.anonymize(
        table, quasi_identifiers={"age": "suppression"}, models=KAnonymity(2), insensitive=["more"]
    )
    found = [each for each in release.concerns if "more" in each.columns]
    assert [each.kind for each in found] == ["not looked at"]
