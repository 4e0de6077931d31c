"""Concerns, where they are said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from rich.console import Console

import veil
from support.report import FORMATS, everything_in, squeezed
from veil import KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.cli import show
from veil.risk.concerns import collect
from veil.risk.concerns.concern import KINDS, Concern


def people() -> pa.Table:
    chance = np.random.default_rng(8)
    return pa.table(
        {
            "age": chance.integers(20, 80, 600),
            "income": [f"{each}000" for each in chance.integers(20, 40, 600)],
            "weight": 1 + chance.random(600).round(6),
        }
    )


def released() -> Release:
    return veil.anonymize(
        people(),
        quasi_identifiers={"age": h.intervals(10, 20)},
        sensitive="income",
        insensitive="weight",
        models=KAnonymity(5),
    )


def test_a_notebook_shows_it() -> None:
    page = released()._repr_html_()
    assert "Before you sign" in page
    assert "no other record" in page


def test_every_kind_is_said_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Planted, as no release has all of them; what finds each has tests of its own."""
    release = released()
    planted = [Concern(kind, (), f"Found: {kind}.", f"Mend: {kind}.") for kind in KINDS]
    collect._CACHE[release.outcome] = tuple(planted)
    show.concerns(Console(width=300), release)  # wide, so that each cell stays in one line
    shown = {"terminal": capsys.readouterr().out, "notebook": release._repr_html_()}
    for kind in FORMATS:
        release.report(tmp_path / f"report.{kind}")
        shown[kind] = everything_in(tmp_path / f"report.{kind}")
    for place, text in shown.items():
        for each in planted:
            assert squeezed(each.statement) in squeezed(text), (place, each.kind)
            assert squeezed(each.step) in squeezed(text), (place, each.kind)
