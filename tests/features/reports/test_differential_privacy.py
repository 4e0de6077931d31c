"""The report of a differentially private release tells no more about the input than the table does."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pyarrow as pa
import pytest

from support.publishing import publish
from support.report import FORMATS, everything_in, squeezed, words_of_html
from veil import hierarchies as h
from veil.api.release import Release
from veil.base.randomness import Randomness
from veil.dp import SafePub
from veil.outcome.generalize import Choice
from veil.outcome.result import SuppressedRows
from veil.plan.plan import Plan
from veil.report import certificate_of, check_certificate, collect_facts, content_digest
from veil.report.pages.html import html
from veil.tables import read
from veil.tables.rows import Rows

N = 4321


def people(n: int = N) -> pa.Table:
    return pa.table({"sex": ["f", "m"] * (n // 2) + ["f"] * (n % 2), "age": [str(i % 7) for i in range(n)]})


def released(table: pa.Table | None = None) -> Release:
    ages = h.table([[str(i), "low" if i < 3 else "high", "*"] for i in range(7)])
    sexes = h.table([["f", "*"], ["m", "*"]])
    plan = Plan({"sex": sexes, "age": ages}, SafePub(1.0, 1e-5), others="drop", person=None)
    return publish(read(people() if table is None else table), plan, randomness=Randomness.for_testing(5))


@pytest.fixture(scope="module")
def release() -> Release:
    return released()


@pytest.mark.parametrize("format", FORMATS)
def test_no_exact_figure_of_the_input_is_told(release: Release, format: str, tmp_path: Path) -> None:
    path = release.report(tmp_path / f"report.{format}")
    told = squeezed(words_of_html(path) if format == "html" else everything_in(path))
    assert content_digest(people()) not in told
    assert str(N) not in told
    assert "everyexactfigureabouttheoriginalrecordswouldweakenit" in told


def test_the_data_holder_gets_them(release: Release, tmp_path: Path) -> None:
    path = release.report(tmp_path / "report.json", for_the_data_holder=True)
    found = json.loads(path.read_text())
    assert found["input"]["sha256"] == content_digest(people())
    assert found["risks"]["before"] is not None
    assert "for the data holder alone" in found["notice"]
    assert "for the data holder alone" in html(found)


def test_the_facts_are_a_function_of_the_table_and_the_plan(release: Release) -> None:
    """Two inputs that lead to the same release lead to the same report."""
    found = collect_facts(release)
    outcome, source = release.outcome, read(people(10))
    choice = dataclasses.replace(outcome.trace(Choice), score=-1.0)
    changed = outcome.changed(
        traces=(outcome.prepared, choice), suppression=SuppressedRows(~release.suppressed_rows, 7)
    )
    other = collect_facts(dataclasses.replace(changed, source=source, before=Rows.of(source.table)))
    for each in (found, other):
        each["date"] = each["certificate"]["date"] = each["certificate"]["checksum"] = ""
    assert found == other


def test_only_the_release_is_drawn_and_counted(release: Release) -> None:
    found = collect_facts(released())
    assert found["risks"]["before"] is None
    assert found["space"] is None
    assert found["curve"] == []
    assert found["associations"]["before"] is None
    assert all(each["before"] is None for each in found["distributions"])
    assert found["utility"]["quality"] is None
    assert set(found["summary"]) == {"released_rows", "classes", "smallest_class", "holds"}


def test_the_certificate_can_be_checked(tmp_path: Path) -> None:
    release = released()
    path = release.certificate(tmp_path / "certificate.json")
    assert check_certificate(path, release.table).holds
    assert str(N) not in path.read_text()
    assert certificate_of(release)["promises"]["models"][0]["kind"] == "SafePub"


def test_notebooks_show_nothing_else(release: Release) -> None:
    assert str(N) not in released()._repr_html_().replace(",", "")
