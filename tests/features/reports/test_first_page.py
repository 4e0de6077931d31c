"""The officer reads one page and signs it: what stands there is true of the table that is delivered."""

from __future__ import annotations

import csv
import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pyarrow as pa
import pypdf
import pytest

import veil
from support.recipes import generalize
from support.refusals import refused
from support.report import everything_in, texts_of_pdf, words_of_html
from veil import DistinctLDiversity, KAnonymity, Release, SafePub
from veil import hierarchies as h
from veil.errors import ParameterError
from veil.masking import RankSwapping, TopCoding
from veil.recipe.about import About
from veil.report import collect_facts, content_digest
from veil.report.pages.first import explain_model
from veil.synthetic import patients

ABOUT = {
    "title": "Admissions for <the> study",
    "data_set": "Admissions 2025",
    "purpose": "Waiting times",
    "recipient": "University of Ulm",
    "legal_basis": "Art. 9(2)(j) GDPR",
    "version": 1.2,
    "prepared_by": "J. Maier",
    "approved_by": "A. Blum",
}


def made(**changes: Any) -> Release:
    given: dict[str, Any] = {
        "quasi_identifiers": {"age": h.intervals(10, 20), "sex": "suppression"},
        "sensitive": ["diagnosis"],
        "others": "drop",
        "models": [KAnonymity(5)],
        "suppression_limit": 0.05,
    }
    return veil.anonymize(patients(400), **{**given, **changes})


def first_page(path: Path) -> str:
    page = path.read_text(encoding="utf-8")
    start = page.index('<section id="first"')
    head = page[page.index("<header>") : page.index("</header>")]
    return unescape(head + page[start : page.index("</section>", start)])


def rows_of(page: str) -> list[list[str]]:
    """The cells of every table on a page."""
    return [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", page)]


@pytest.mark.parametrize("language", ["en", "de"])
def test_a_table_that_breaks_its_plan_says_so_first_with_the_reason_for_taking_it(
    tmp_path: Path, language: str
) -> None:
    release, reason = made(), "Audit by <the> authority"
    broken = release.search.apply(dict.fromkeys(release.transformation, 0))
    assert not broken.within_limit
    mark = {"en": "NOT ANONYMOUS", "de": "NICHT ANONYM"}[language]
    said = {"about": {"language": language}, "not_anonymous": reason}
    page = first_page(broken.report(tmp_path / "report.html", **said))
    first = pypdf.PdfReader(broken.report(tmp_path / "report.pdf", **said)).pages[0].extract_text()
    for text in (page, first):
        assert text.index(mark) < text.index(reason) < text.index("SHA-256")
    told = json.loads(broken.report(tmp_path / "report.json", **said).read_text())
    assert told["not_anonymous"] == reason
    with refused(ParameterError, "leave it out"):
        release.report(tmp_path / "good.html", not_anonymous=reason)
    assert not (tmp_path / "good.html").exists()
    assert mark not in first_page(release.report(tmp_path / "good.html", about=said["about"]))


def test_all_that_was_said_stands_on_the_first_page(tmp_path: Path) -> None:
    page = first_page(made().report(tmp_path / "report.html", about=ABOUT))
    for text in ABOUT.values():
        assert str(text) in page
    first = pypdf.PdfReader(made().report(tmp_path / "report.pdf", about=ABOUT)).pages[0].extract_text()
    for text in ABOUT.values():
        assert str(text) in first
    told = json.loads(made().report(tmp_path / "report.json", about=ABOUT).read_text())
    assert told["about"]["version"] == "1.2"


def test_what_nobody_said_is_seen_to_be_missing(tmp_path: Path) -> None:
    rows = rows_of(first_page(made().report(tmp_path / "report.html")))
    assert ["Purpose", "not stated"] in rows
    assert ["Legal basis", "not stated"] in rows


def test_the_fingerprint_is_that_of_the_file(tmp_path: Path) -> None:
    release = made()
    release.save(tmp_path / "release.csv")
    page = first_page(release.report(tmp_path / "report.html"))
    assert content_digest(veil.tables.read(tmp_path / "release.csv").table) in page


@pytest.mark.parametrize("rows", [0, 3, 20])
def test_sample_rows_are_the_first_of_the_file(tmp_path: Path, rows: int) -> None:
    release = made(suppressed_rows="drop")
    release.save(tmp_path / "release.csv")
    with (tmp_path / "release.csv").open(newline="") as file:
        delivered = list(csv.reader(file))[1 : rows + 1]
    page = first_page(release.report(tmp_path / "report.html", about={"sample_rows": rows}))
    shown = [[cell if cell != "·" else "" for cell in row] for row in rows_of(page) if len(row) == 3]
    assert [row for row in shown if row in delivered] == delivered
    assert ("Rows of the release" in page) is bool(rows)


def test_samples_show_no_suppressed_row_and_nothing_of_the_input() -> None:
    table = pa.table({"town": ["Jena", "Bonn", "Trier", *["Ulm"] * 9], "ill": ["Zoster77"] * 3 + ["flu"] * 9})
    for kept in ("blank", "drop"):
        release = veil.anonymize(
            table,
            quasi_identifiers={"town": "suppression"},
            sensitive="ill",
            models=KAnonymity(3),
            suppression_limit=0.3,
            suppressed_rows=kept,
            order="input",
        )
        assert release.suppressed == 3
        sample = collect_facts(release)["sample"][0]
        assert sample["rows"] == [["Ulm", "flu"]] * 5


def test_promises_are_told_with_their_own_columns_and_numbers(tmp_path: Path) -> None:
    release = made(models=[KAnonymity(7), DistinctLDiversity("diagnosis", 3)])
    page = first_page(release.report(tmp_path / "report.html"))
    assert "An attacker may know about a person: age, sex." in page
    assert "At least 7 records look the same in what an attacker may know" in page
    assert "have at least 3 different values of diagnosis" in page
    assert "learn diagnosis about a person" in page
    assert "people who look the same may share a secret" not in page


def test_what_is_not_promised_is_told(tmp_path: Path) -> None:
    page = first_page(made().report(tmp_path / "report.html"))
    assert "people who look the same may share a secret" in page
    assert "That nobody can find out whether a person is in the table." in page
    assert "concern that no promise covers" in page


def test_every_model_has_plain_words() -> None:
    for release in (made(), made(models=[KAnonymity(5), veil.TCloseness("diagnosis", 0.5)])):
        found = collect_facts(release)
        for model in found["asked"]["models"]:
            words = explain_model(model, found)
            assert words.endswith(".")
            assert "None" not in words


def test_masks_several_tables_and_private_releases_have_one(tmp_path: Path) -> None:
    table = patients(300).drop_columns(["name"])
    masked = veil.mask(table, RankSwapping(("age", "cost"), 10))
    page = first_page(masked.report(tmp_path / "mask.html"))
    assert "It promises the following, and nothing else:" in page
    assert "no value moved by more than 30 ranks" in page
    coded = veil.mask(table, TopCoding("stay", quantile=0.9))
    assert "It promises the following, and nothing else:" in first_page(coded.report(tmp_path / "coded.html"))
    age = h.intervals(20, 40).build(pa.array(range(120)), [1] * 120, "age")
    people = pa.table({"age": [20 + i % 50 for i in range(500)]})
    private = veil.anonymize(people, quasi_identifiers={"age": age}, models=SafePub(1.0, 1e-4), person=None)
    page = first_page(private.report(tmp_path / "private.html"))
    assert "their ε and δ add up" in page
    assert private.statement is not None
    assert private.statement in page.replace("\u00a0", " ")
    several = veil.anonymize(
        {
            "people": pa.table({"id": range(40), "age": [30, 31] * 20}),
            "visits": pa.table({"id": [i % 40 for i in range(80)], "ward": ["a", "b"] * 40}),
        },
        person="id",
        quasi_identifiers={"age": h.intervals(10)},
        others="keep",
        models=KAnonymity(5),
    )
    page = first_page(several.report(tmp_path / "several.html"))
    assert "2 tables: 120 rows" in page
    assert "3 of 80 rows, as delivered" in page


def test_fields_that_are_not_known_are_refused(tmp_path: Path) -> None:
    with refused(ParameterError, "`about`", "'purpos'", "mean 'purpose'"):
        made().report(tmp_path / "report.html", about={"purpos": "x"})
    with pytest.raises(ParameterError, match="sample_rows"):
        made().report(tmp_path / "report.html", about=About(sample_rows=99))
    assert not list(tmp_path.iterdir())


def test_a_recipe_and_run_say_it_too(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n" + "34\n35\n61\n62\n" * 5)
    (tmp_path / "recipe.yaml").write_text(
        generalize(
            "input: people.csv\noutput: release.csv\nreport: report.html\n"
            "quasi_identifiers: {age: {kind: intervals, widths: [10], upper: {coding: 60}}}\n"
            "models: [{kind: KAnonymity, k: 2}]\n"
            "about: {purpose: Research, recipient: Ulm, version: 1}\n"
        )
    )
    veil.run(tmp_path / "recipe.yaml", about={"recipient": "Bonn"})
    page = first_page(tmp_path / "report.html")
    assert "Research" in page
    assert "Bonn" in page
    assert "Ulm" not in page


def test_the_recipe_of_a_report_can_be_run_again(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text("age\n" + "34\n35\n61\n62\n" * 5)
    plan = {"age": h.intervals(10, lower=h.Bounds(coding=20), upper=h.Bounds(coding=60))}
    release = veil.anonymize(tmp_path / "people.csv", quasi_identifiers=plan, models=KAnonymity(2))
    found = json.loads(release.report(tmp_path / "report.json", about={"purpose": "a study"}).read_text())
    (tmp_path / "again.yaml").write_text(found["recipe_text"])
    again = veil.run(tmp_path / "again.yaml")
    assert (tmp_path / "release.csv").exists()
    assert again.plan == release.plan
    assert again.transformation == release.transformation


def test_pages_are_numbered_of_how_many_there_are(tmp_path: Path) -> None:
    pages = pypdf.PdfReader(made().report(tmp_path / "report.pdf")).pages
    for at, page in enumerate(pages, 1):
        assert f"{at} / {len(pages)}" in page.extract_text()
    assert "counter(page)" in made().report(tmp_path / "report.html").read_text()


def test_columns_that_nobody_changed_are_folded(tmp_path: Path) -> None:
    wide = pa.table({"sex": ["f", "m"] * 50, **{f"q{i}": [1, 2, 3, 4] * 25 for i in range(38)}})
    release = veil.anonymize(
        wide, quasi_identifiers={"sex": "suppression"}, others="keep", models=KAnonymity(2)
    )
    page = release.report(tmp_path / "report.html").read_text()
    opened = re.sub(r"<details>.*?</details>", "", page, flags=re.DOTALL)
    assert page.count('aria-label="q3"') == 1
    assert 'aria-label="q3"' not in opened
    assert "<td>q3</td>" not in opened
    assert "39 columns" in page
    assert "q37" in texts_of_pdf(release.report(tmp_path / "report.pdf"))


def test_levels_are_shown_by_what_they_look_like(tmp_path: Path) -> None:
    path = made().report(tmp_path / "report.html")
    released = set(made().arrow["age"].to_pylist())
    done = path.read_text().partition('<section id="done"')[2].partition("</section>")[0]
    shown = next(row for row in rows_of(unescape(done)) if row[:1] == ["age"])[-1]
    assert {each.strip() for each in re.findall(r"\[[^\[]+\[", shown)} <= released
    assert "Looks like" in words_of_html(path)


def test_what_is_said_cannot_break_the_page(tmp_path: Path) -> None:
    nasty = '"</style></script><script>alert(1)</script>'
    path = made().report(tmp_path / "report.html", about={"title": nasty, "purpose": nasty})
    assert "<script>alert" not in path.read_text()
    assert nasty in everything_in(path)
    made().report(tmp_path / "report.pdf", about={"title": nasty, "purpose": nasty})


def test_sample_rows_have_the_decimal_comma_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "costs.csv").write_text("town;cost\n" + "Ulm;12,5\nUlm;8,25\n" * 5)
    release = veil.anonymize(
        tmp_path / "costs.csv",
        quasi_identifiers={"town": "suppression"},
        others="keep",
        models=KAnonymity(2),
        format=veil.tables.Csv(separator=";", decimal=","),
    )
    (sample,) = collect_facts(release)["sample"]
    assert {cost for _, cost in sample["rows"]} <= {"12,5", "8,25"}


def test_a_mask_says_what_it_makes_harder_and_names_no_changed_column_as_unchanged(tmp_path: Path) -> None:
    mask = veil.mask(
        patients(200), [veil.masking.RandomPseudonyms("name"), veil.masking.Rounding("cost", 100)]
    )
    page = first_page(mask.report(tmp_path / "mask.html"))
    assert "Against whom" not in page
    (unchanged,) = re.findall(r"published unchanged: ([^.]*)\.", page)
    assert "sex" in unchanged.split(", ")
    assert "name" not in unchanged.split(", ")


def test_the_recipe_of_a_private_release_names_its_files(tmp_path: Path) -> None:
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
    release = veil.anonymize(
        pa.table({"sex": ["f", "m"] * 300}),
        quasi_identifiers={"sex": h.File(str(tmp_path / "sex.csv"))},
        models=veil.SafePub(1.0, 1e-4),
        for_testing_seed=1,
        person=None,
    )
    recipe = collect_facts(release)["recipe"]
    assert "sex.csv" in str(recipe["steps"][0]["quasi_identifiers"])
    assert "withheld" not in str(recipe)
