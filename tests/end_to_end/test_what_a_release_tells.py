"""The page about what a release tells names tests that are there; and some channels that are nobody else's."""

from __future__ import annotations

import re
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import veil
from veil import KAnonymity
from veil import hierarchies as h

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "what-a-release-tells.md").read_text(encoding="utf-8")


def test_every_test_that_the_page_names_is_there() -> None:
    named = set(re.findall(r"`(tests/[^`]*)`", PAGE))
    assert len(named) > 20
    assert [each for each in sorted(named) if not (ROOT / each).is_file()] == []


def test_every_channel_says_what_is_tried_what_is_done_and_what_holds_it() -> None:
    channels = re.split(r"\n### ", PAGE)[1:]
    assert len(channels) >= 20
    for each in channels:
        name = each.partition("\n")[0]
        assert "- *Attack:*" in each, name
        assert "*Veil" in each, name
        assert "- *Tests:*" in each or name == "Timing", name


@pytest.mark.parametrize("order", ["random", "input"])
def test_neighbours_in_a_sorted_file_tell_the_day_only_if_its_order_is_kept(
    order: Literal["random", "input"],
) -> None:
    """Whoever has the file reads the hidden day off the rows beside it; by chance they are off by ten days."""
    days = np.sort(np.random.default_rng(4).integers(0, 700, 3000))
    table = pa.table({"admission": [date(2020, 1, 1) + timedelta(days=int(each)) for each in days]})
    release = veil.anonymize(
        table,
        quasi_identifiers={"admission": h.dates("month", "year")},
        minimum_levels={"admission": 1},
        models=KAnonymity(5),
        order=order,
    )
    months, hidden = release.table["admission"].to_pylist(), days[release.outcome.origins].tolist()
    assert release.transformation == {"admission": 1}
    beside = [abs(a - b) for (a, m), (b, n) in pairwise(zip(hidden, months, strict=True)) if m == n]
    assert len(beside) > 50
    assert np.mean(beside) < 1 if order == "input" else np.mean(beside) > 7


def test_a_certificate_names_no_file(tmp_path: Path) -> None:
    source = tmp_path / "hiv_clinic.parquet"
    pyarrow.parquet.write_table(pa.table({"age": [30, 31] * 10}), source)
    release = veil.anonymize(source, quasi_identifiers={"age": h.intervals(10)}, models=KAnonymity(5))
    release.certificate(tmp_path / "certificate.json")
    assert "hiv_clinic" not in (tmp_path / "certificate.json").read_text()
    release.report(tmp_path / "report.json")
    assert "hiv_clinic" in (tmp_path / "report.json").read_text()  # which is for the data holder
