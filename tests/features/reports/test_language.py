"""Somebody reads the report in German: all of it, and what comes from the table stays as it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import veil
from support.report import texts_of_pdf
from veil import DistinctLDiversity, KAnonymity, SafePub
from veil import hierarchies as h
from veil.base.wording import Phrase, joined, plural
from veil.masking import RandomPseudonyms, RankSwapping
from veil.report import collect_facts
from veil.report.pages.blocks import (
    Block,
    Cell,
    Folded,
    Heading,
    Paragraph,
    Picture,
    Points,
    Section,
    Signatures,
    TableBlock,
    Verbatim,
)
from veil.report.pages.document import sections
from veil.report.pages.language import Translator
from veil.report.texts import text
from veil.synthetic import patients

SAME = {"In Python", "Version", "Parameter", "Separation", "Median", "SSE/SST", "1 − SSE/SST"}
"""Words that are the same in both languages."""


def made() -> Any:
    return veil.anonymize(
        patients(300),
        quasi_identifiers={"age": h.intervals(10, 20), "sex": "suppression"},
        sensitive=["diagnosis"],
        identifying=["name"],
        others="keep",
        models=[KAnonymity(5), DistinctLDiversity("diagnosis", 2)],
        suppression_limit=0.05,
    )


def texts(blocks: tuple[Block, ...]) -> list[str]:
    found: list[str] = []
    for block in blocks:
        if isinstance(block, Paragraph | Heading):
            found.append(block.text)
        elif isinstance(block, TableBlock):
            cells = [cell.text if isinstance(cell, Cell) else cell for row in block.rows for cell in row]
            found += [*block.headings, *cells]
        elif isinstance(block, Picture):
            found.append(block.caption)
        elif isinstance(block, Points):
            found += block.texts
        elif isinstance(block, Signatures):
            found += [role for role, _ in block.people]
        elif isinstance(block, Folded):
            found += [block.title, *texts(block.blocks)]
    return found


def masked() -> Any:
    return veil.mask(patients(200), [RandomPseudonyms("name"), RankSwapping(["age", "cost"], p=5)])


def of_people() -> Any:
    table = pa.concat_tables([patients(300), patients(300).slice(0, 100)])
    return veil.anonymize(
        table,
        quasi_identifiers={"age": h.intervals(10, 20), "sex": "suppression"},
        sensitive=["diagnosis"],
        person="name",
        others="drop",
        minimum_levels={"age": 1},
        models=[KAnonymity(5), DistinctLDiversity("diagnosis", 2)],
        suppression_limit=0.1,
    )


def private() -> Any:
    ages = [[str(age), f"{age // 10 * 10}s", "*"] for age in range(120)]
    return veil.anonymize(
        patients(2000).select(["age"]),
        quasi_identifiers={"age": h.table(ages).with_missing()},
        models=SafePub(1.0, 1e-4),
        person=None,
    )


@pytest.mark.parametrize("release", [made, masked, of_people, private])
def test_every_sentence_has_a_translation(release: Callable[[], Any]) -> None:
    words, facts = Translator("de"), collect_facts(release())
    said = [text for section in sections(facts) for text in (section.title, *texts(section.blocks))]
    sentences = [text for text in said if " " in text and not isinstance(text, Verbatim)]
    technical = re.compile(r"\w+\(.*\)|\w+ = .*|.*\bnumpy\b.*|[\d\s.,%<>–()/→-]+|\w+(, \w+)+", re.DOTALL)
    left = {text for text in sentences if words.of(text) == text and not technical.fullmatch(text)}
    assert len(sentences) > 50
    assert left - SAME == set(), left


def test_numbers_are_written_as_germans_do() -> None:
    words = Translator("de")
    assert words.of(joined([plural(30162, "row"), plural(9, "column")], ", ")) == "30.162 Zeilen, 9 Spalten"
    assert words.of("12.5 %") == "12,5 %"
    shares = {"count": "1,038", "share": "3.44 %", "limit": "4 %"}
    assert words.of(text("summary.share_and_limit", **shares)) == "1.038 (3,44 %; Grenze 4 %)"
    assert words.of(".04") == ",04"  # as correlations are drawn
    assert words.of("nobody has translated this 1.5") == "nobody has translated this 1.5"


def test_medians_and_modes_have_the_marks_of_the_language(tmp_path: Path) -> None:
    table = pa.table({"sex": ["f", "m"] * 20, "cost": [1250.5, 1777.0, 1777.0, 2400.0] * 10})
    release = veil.anonymize(
        table, quasi_identifiers={"sex": "suppression"}, others="keep", models=KAnonymity(2)
    )
    for language, median in (("de", "1.777"), ("en", "1,777")):
        page = release.report(tmp_path / f"{language}.html", about={"language": language}).read_text()
        assert len(re.findall(rf"<td[^>]*>{re.escape(median)}</td>", page)) == 2


@pytest.mark.parametrize(
    ("concern", "german"),
    [
        (
            Phrase(
                "{column!r} is published unchanged and reveals what is hidden in {columns}.",
                column="a",
                columns=Phrase(
                    "{names} and {last}", names="'b' (51 %), 'c' (50 %)", last=Phrase("{count} more", count=2)
                ),
            ),
            "'a' wird unverändert veröffentlicht und verrät, was in 'b' (51 %), 'c' (50 %) und 2 weitere verborgen ist.",
        ),
        (
            Phrase(
                "The rows are in the order of the input, which reveals what is hidden in {columns}.",
                columns="'b' (51 %)",
            ),
            "Die Zeilen stehen in der Reihenfolge der Eingabe; das verrät, was in 'b' (51 %) verborgen ist.",
        ),
        (
            Phrase(
                "{columns} are published by the engine as stored: Veil has read no value of them, so nothing here is "
                "about them.",
                columns="'a', 'b'",
            ),
            "'a', 'b' werden von der Engine veröffentlicht, wie sie gespeichert sind: Veil hat keinen Wert gelesen, und nichts hier handelt davon.",
        ),
    ],
)
def test_concerns_about_several_columns_have_a_translation(concern: Phrase, german: str) -> None:
    assert Translator("de").of(concern) == german


@pytest.mark.parametrize("value", ["holds", "Purpose", "before", "1,234.5"])
def test_what_comes_from_the_table_stays_as_it_is(value: str, tmp_path: Path) -> None:
    table = pa.table({value: [value, "x"] * 20, "n": [1, 2] * 20})
    release = veil.anonymize(
        table, quasi_identifiers={value: "suppression"}, others="keep", models=KAnonymity(2)
    )
    page = release.report(tmp_path / "report.html", about={"language": "de", "title": value}).read_text()
    assert re.search(rf"<td[^>]*>{re.escape(value)}</td>", page)
    assert f"<th>{value}</th>" in page
    assert f">{value}</text>" in page
    assert f"<h1>{value}</h1>" in page


def test_pages_say_which_language_they_are_in(tmp_path: Path) -> None:
    page = made().report(tmp_path / "report.html", about={"language": "de"}).read_text()
    assert '<html lang="de">' in page
    assert "Was zugesichert wird" in page
    assert "What is promised" not in page
    told = texts_of_pdf(made().report(tmp_path / "report.pdf", about={"language": "de"}))
    assert "Datum und Unterschrift" in told
    assert "vorher" in told


def test_a_translation_does_not_eat_another_sentence() -> None:
    words = Translator("de")
    section = Section("x", "Summary", (Paragraph("level of each column, instead of a search"),))
    assert texts(words.of_sections([section])[0].blocks) == ["level of each column, instead of a search"]
