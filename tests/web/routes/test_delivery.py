"""Routes of downloads: table, certificate, report, recipe and hierarchies."""

from __future__ import annotations

import csv
import io
import zipfile

import pytest

import veil
from support.answers import QUASI, RECIPE, by_library
from support.report import everything_in
from veil import hierarchies as h
from veil.recipe import Recipe


def test_the_files_that_are_handed_over_can_be_checked(client, release, tmp_path):
    for path, name in (("table.csv", "r.csv"), ("certificate", "c.json"), ("table.parquet", "r.parquet")):
        answer = client.get(f"/api/v1/releases/{release}/{path}")
        assert answer.status_code == 200
        (tmp_path / name).write_bytes(answer.content)
    for name in ("r.csv", "r.parquet"):
        assert not veil.verify(tmp_path / name, certificate=tmp_path / "c.json").broken
    rows = list(csv.reader(io.StringIO((tmp_path / "r.csv").read_text())))
    assert "name" not in rows[0]
    rows[1][0] = "17"
    with (tmp_path / "forged.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert veil.verify(tmp_path / "forged.csv", certificate=tmp_path / "c.json").broken


def test_the_recipe_that_is_handed_over_makes_the_same_release(client, release, csv_file, tmp_path):
    text = client.get(f"/api/v1/releases/{release}/recipe").text
    (tmp_path / "recipe.yaml").write_text(text)
    recipe = Recipe.read(tmp_path / "recipe.yaml")
    told = client.get(f"/api/v1/releases/{release}").json()
    assert veil.anonymize(csv_file, recipe.plan()).transformation == told["search"]["transformation"]


def test_the_report_is_shown_in_a_frame_in_which_nothing_runs(client, release):
    answer = client.get(f"/api/v1/releases/{release}/report.html")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox;")
    assert "script-src" not in policy
    assert "default-src 'none'" in policy
    assert "<h1" in answer.text


@pytest.mark.slow
def test_a_release_that_suppresses_too_much_is_handed_over_only_as_what_it_is(client, release, tmp_path):
    levels = dict.fromkeys(QUASI, 0)
    made = client.result(client.post(f"/api/v1/releases/{release}/apply", json={"levels": levels}))["release"]
    assert not client.get(f"/api/v1/releases/{made}").json()["holds"]
    for path in ("table.csv", "table.parquet", "certificate"):
        answer = client.get(f"/api/v1/releases/{made}/{path}")
        assert (answer.status_code, answer.json()["type"]) == (422, "VerificationError")
    assert client.post(f"/api/v1/releases/{made}/anyway", json={"reason": "short"}).status_code == 422
    taken = client.post(f"/api/v1/releases/{made}/anyway", json={"reason": "needed for an audit"})
    assert "-NOT-ANONYMOUS-needed-for-an-audit.csv" in taken.headers["content-disposition"]
    rows = list(csv.reader(io.StringIO(taken.text)))
    assert rows[0][0] == "NOT ANONYMOUS"
    assert {row[0] for row in rows[1:]} == {"needed for an audit"}
    assert client.get(f"/api/v1/releases/{made}").json()["not_anonymous"] == "needed for an audit"
    client.result(client.post(f"/api/v1/releases/{made}/report"))  # the one that the page shows
    for ending in ("html", "pdf", "json"):
        answer = client.get(f"/api/v1/releases/{made}/report.{ending}")
        german = client.get(f"/api/v1/releases/{made}/report.{ending}?language=de")
        if ending == "html":
            assert '<html lang="en">' in answer.text
            assert '<html lang="de">' in german.text
        assert f"-NOT-ANONYMOUS-report.{ending}" in answer.headers["content-disposition"]
        (tmp_path / f"report.{ending}").write_bytes(answer.content)
        assert "needed for an audit" in everything_in(tmp_path / f"report.{ending}")
    assert (
        client.post(f"/api/v1/releases/{release}/anyway", json={"reason": "needed for an audit"}).status_code
        == 409
    )


@pytest.mark.slow
def test_the_first_page_of_the_report_says_what_was_filled_in(client, release, tmp_path):
    client.change(about={"purpose": "waiting times", "recipient": "Ulm"})
    client.change(about={"recipient": None, "approved_by": "Dr. Roth"})
    for ending in ("html", "pdf", "json"):
        (tmp_path / f"report.{ending}").write_bytes(
            client.get(f"/api/v1/releases/{release}/report.{ending}").content
        )
        told = everything_in(tmp_path / f"report.{ending}")
        assert "waiting times" in told
        assert "Dr. Roth" in told
        assert "patients.csv" in told
        assert "Ulm" not in told
    assert (
        "about: {purpose: waiting times, approved_by: Dr. Roth}"
        in client.get(f"/api/v1/releases/{release}/recipe").text
    )
    client.result(client.post(f"/api/v1/releases/{release}/report?language=de", json={}))
    assert "Zweck" in client.get(f"/api/v1/releases/{release}/report.html?language=de").text
    assert "Zweck" not in client.get(f"/api/v1/releases/{release}/report.html?language=en").text
    wrong = client.patch("/api/v1/plan", json={"words": "test", "set": {"about": {"purpos": "x"}}})
    assert wrong.status_code == 422
    assert "mean 'purpose'?" in wrong.json()["detail"]


def test_hierarchies_are_handed_over_as_files_that_can_be_used_again(client, release, csv_file):
    answer = client.get(f"/api/v1/releases/{release}/hierarchies.zip")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as files:
        assert [name[3:-4] for name in files.namelist()] == list(QUASI)
        rows = {
            name[3:-4]: list(csv.reader(files.read(name).decode().splitlines())) for name in files.namelist()
        }
    written = {name: h.table(each) for name, each in rows.items()}
    given = {**RECIPE, "quasi_identifiers": written, "models": veil.KAnonymity(5)}
    assert veil.anonymize(csv_file, **given).transformation == by_library(RECIPE, csv_file).transformation


def test_a_report_is_written_by_a_task_and_then_there(client, release):
    client.result(client.post(f"/api/v1/releases/{release}/report", json={}))
    first = client.get(f"/api/v1/releases/{release}/report.html")
    assert first.headers["content-security-policy"].startswith("sandbox;")
    assert first.text == client.get(f"/api/v1/releases/{release}/report.html").text
