"""Reports and certificates: written with the release or not at all, and checked by those who get the table."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from support.cli import PATIENTS, PLAN, RECIPE, contents, process, veil
from veil.errors import OutputError
from veil.synthetic import patients
from veil.tables import write

FILES = {"patients.csv", "recipe.yaml"}
STARTS = {"report.html": b"<!doctype html", "report.pdf": b"%PDF", "report.json": b"{"}


@pytest.fixture
def quick_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports that take no time, where only their place matters."""

    def report(made: object, path: Path, **_: object) -> Path:
        path.write_text("the report")
        return path

    monkeypatch.setattr("veil.report.write_report", report)


@pytest.mark.slow
@pytest.mark.parametrize("name", STARTS)
def test_a_report_in_each_format(folder: Path, name: str) -> None:
    if name.endswith("pdf"):
        pytest.importorskip("reportlab")
    ran = veil("anonymize", "recipe.yaml", "--report", name)
    assert (ran.code, ran.err) == (0, "")
    assert (folder / name).read_bytes().lower().startswith(STARTS[name].lower())
    assert name in ran.out
    assert contents(folder).keys() == FILES | {"release.csv", name}
    if not name.endswith("pdf"):  # the others hold the certificate
        assert veil("verify", "release.csv", "--certificate", name).code == 0


def test_a_report_names_the_files_that_are_written_with_it(folder: Path) -> None:
    ran = veil(
        "anonymize", "recipe.yaml", "-o", "b.csv", "--report", "report.json", "--certificate", "c.json"
    )
    assert (ran.code, ran.err) == (0, "")
    told = json.loads((folder / "report.json").read_text())
    assert (told["table_file"], told["certificate_file"]) == ("b.csv", "c.json")


@pytest.mark.usefixtures("quick_reports")
def test_the_recipe_may_ask_for_both(folder: Path) -> None:
    (folder / "out").mkdir()
    (folder / "recipe.yaml").write_text(
        RECIPE + "report: out/report.json\ncertificate: out/certificate.json\n"
    )
    ran = veil("anonymize", "recipe.yaml")
    assert (ran.code, ran.err) == (0, "")
    assert (folder / "out" / "report.json").read_text() == "the report"
    assert "certificate: out/certificate.json" in ran.out
    assert veil("verify", "release.csv", "--certificate", "out/certificate.json").code == 0
    # What the command line says comes first.
    ran = veil("anonymize", "recipe.yaml", "-o", "b.csv", "--report", "b1.json", "--certificate", "b.json")
    assert ran.code == 0, ran.err
    assert {"b.csv", "b1.json", "b.json"} < contents(folder).keys()


@pytest.mark.usefixtures("quick_reports")
def test_options_are_saved_with_report_and_certificate(folder: Path) -> None:
    (folder / "recipes").mkdir()
    options = (
        "--report",
        "report.json",
        "--certificate",
        "certificate.json",
        "--save-recipe",
        "recipes/saved.yaml",
    )
    ran = veil("anonymize", "patients.csv", *PLAN, "-o", "release.csv", *options)
    assert ran.code == 0, ran.err
    saved = (folder / "recipes" / "saved.yaml").read_text()
    assert "report: ../report.json" in saved
    assert "certificate: ../certificate.json" in saved
    before = contents(folder)
    assert veil("anonymize", "recipes/saved.yaml", "--overwrite", "-q").code == 0
    assert contents(folder).keys() == before.keys()


@pytest.mark.usefixtures("quick_reports")
@pytest.mark.parametrize(
    "what",
    ["veil.report.write_report", "veil.api.release.Release.certificate", "veil.api.release.Release.save"],
)
def test_all_files_are_written_or_none(folder: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    (folder / "report.json").write_text("the old report")
    before = contents(folder)

    def full(*_: object, **__: object) -> None:
        raise OutputError("the disk is full")

    command = shlex.split(
        "anonymize recipe.yaml --overwrite --report report.json --certificate certificate.json"
    )
    with monkeypatch.context() as patched:
        patched.setattr(what, full)
        ran = veil(*command)
    assert (ran.code, ran.err) == (2, "error: the disk is full\n")
    assert contents(folder) == before
    assert veil(*command).code == 0
    assert contents(folder).keys() == FILES | {"release.csv", "report.json", "certificate.json"}
    assert contents(folder)["report.json"] != before["report.json"]


@pytest.mark.parametrize(
    ("option", "told"),
    [
        ("--report report.txt", "report.txt: the name of a report should end in .html or .pdf or .json, not '.txt'"),
        ("--report report", "should end in .html or .pdf or .json, and it has none"),
        ("--certificate certificate.html", "the name of a certificate should end in .json, not '.html'"),
        ("--report a.json --certificate a.json", "would replace another file of the same run"),
        ("--certificate nowhere/a.json", "nowhere/a.json: the directory does not exist"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("source", ["recipe.yaml", "patients.csv"])
def test_a_wrong_name_is_refused_before_any_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch, option: str, told: str, source: str
) -> None:
    monkeypatch.setattr("veil.api.open.read", None)  # not called, so it may be anything
    plan = (*PLAN, "-o", "release.csv") if source == "patients.csv" else ()
    before = contents(folder)
    ran = veil("anonymize", source, *plan, *shlex.split(option))
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert contents(folder) == before


def test_a_library_that_is_missing_is_noticed_before_any_work(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("veil.api.open.read", None)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    ran = veil("anonymize", "recipe.yaml", "--report", "report.pdf")
    assert ran.code == 2
    assert "reportlab" in ran.err
    assert "pip install" in ran.err
    ran = veil("frontier", "recipe.yaml", "--over", "k=2", "--plot", "front.svg")
    assert (ran.code, "Pictures need matplotlib" in ran.err) == (2, True)


def test_wrong_names_in_a_recipe_are_told_with_their_line(folder: Path) -> None:
    (folder / "recipe.yaml").write_text(RECIPE + "report: report.doc\ncertificate: c.txt\n")
    ran = veil("anonymize", "recipe.yaml")
    assert ran.code == 2
    assert "recipe.yaml, line 14" in ran.err
    assert "`report`" in ran.err
    assert "'report.doc'" in ran.err
    assert "recipe.yaml, line 15" in ran.err
    assert "`certificate`" in ran.err
    assert "'c.txt'" in ran.err


def test_reports_and_certificates_of_locally_recoded_releases(folder: Path) -> None:
    write(patients(200).select(["age", "zip", "stay"]), folder / "stays.csv")
    plan = shlex.split(
        "--qi age=intervals:10,20 --qi zip=redaction --others keep --model k-anonymity:5 --suppression-limit 0.9 "
        "--quality loss:factor=0 --recoding fast-iterative:0.2 -o x.csv --certificate c.json"
    )
    ran = veil("anonymize", "stays.csv", *plan, "--report", "x.html")
    assert (ran.code, ran.err) == (0, "")
    assert "Local recoding" in ran.out
    assert "<html" in (folder / "x.html").read_text()
    ran = veil("verify", "x.csv", "--certificate", "c.json")
    assert (ran.code, ran.err) == (0, "")


# --- verify ---------------------------------------------------------------------------------------


@pytest.fixture
def certified(folder: Path) -> Path:
    ran = veil("anonymize", "recipe.yaml", "--certificate", "certificate.json")
    assert (ran.code, ran.err) == (0, "")
    return folder


def test_a_recipient_needs_table_and_certificate_only(certified: Path) -> None:
    for name in ("patients.csv", "recipe.yaml"):
        (certified / name).unlink()
    ran = veil("verify", "release.csv", "--certificate", "certificate.json")
    assert (ran.code, ran.err) == (0, "")
    assert "2-anonymity" in ran.out
    assert "BROKEN" not in ran.out


def test_a_changed_table_or_certificate_is_noticed(certified: Path) -> None:
    released = (certified / "release.csv").read_text()
    (certified / "release.csv").write_text(released.replace("gout", "flu"))
    ran = veil("verify", "release.csv", "--certificate", "certificate.json")
    assert (ran.code, ran.err) == (1, "")
    assert "BROKEN" in ran.out
    (certified / "release.csv").write_text(released)
    text = (certified / "certificate.json").read_text()
    (certified / "certificate.json").write_text(text.replace('"k": 2', '"k": 1'))
    assert veil("verify", "release.csv", "--certificate", "certificate.json").code == 1


def test_a_certified_table_in_another_dialect(folder: Path) -> None:
    (folder / "latin.csv").write_bytes(
        PATIENTS.replace(",", ";").replace("gout", "Grützbeutel").encode("latin-1")
    )
    latin = ("--format", "csv:separator=;,encoding=latin-1")
    ran = veil("anonymize", "latin.csv", *PLAN, *latin, "-o", "release.csv", "--certificate", "c.json")
    assert (ran.code, ran.err) == (0, "")
    ran = veil("verify", "release.csv", "--certificate", "c.json")
    assert (ran.code, "csv:encoding=cp1252" in ran.err) == (2, True)
    ran = veil("verify", "release.csv", "--certificate", "c.json", *latin)
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("", "either --recipe FILE or --certificate FILE"),
        ("--recipe recipe.yaml --certificate certificate.json", "either --recipe FILE or --certificate FILE"),
        ("--certificate nowhere.json", "nowhere.json: no such file"),
        ("--certificate release.csv", "contains no certificate"),
    ],
)
def test_what_verify_refuses(certified: Path, options: str, told: str) -> None:
    before = contents(certified)
    ran = veil("verify", "release.csv", *shlex.split(options))
    assert (ran.code, ran.out) == (2, "")
    assert told in ran.err
    assert contents(certified) == before


@pytest.mark.slow
def test_in_processes_of_their_own(folder: Path) -> None:
    for command in (
        "anonymize recipe.yaml --certificate certificate.json --quiet",
        "verify release.csv --certificate certificate.json",
    ):
        running = process(*shlex.split(command), cwd=folder)
        out, err = running.communicate(timeout=300)
        assert (running.returncode, err) == (0, "")
        assert ("2-anonymity" in out) == command.startswith("verify")
