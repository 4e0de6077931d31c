"""Somebody reads the report in German: all of it, and what comes from the table stays as it is."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import veil
from support.report import texts_of_pdf
from veil import DistinctLDiversity, KAnonymity
from veil import hierarchies as h
from veil.report import collect_facts
from veil.report.pages.blocks import (
    Block,
    Cell,
    Folded,
    Grid,
    Heading,
    Picture,
    Section,
    Signatures,
    Text,
    Verbatim,
)
from veil.report.pages.document import sections
from veil.report.pages.language import Words
from veil.synthetic import patients

WORDS = json.loads(resources.files("veil.report").joinpath("words", "de.json").read_text(encoding="utf-8"))

SAME = {"Version", "Parameter", "Separation", "Median", "SSE/SST", "1 − SSE/SST"}
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
        if isinstance(block, Text | Heading):
            found.append(block.text)
        elif isinstance(block, Grid):
            cells = [cell.text if isinstance(cell, Cell) else cell for row in block.rows for cell in row]
            found += [*block.headings, *cells]
        elif isinstance(block, Picture):
            found.append(block.caption)
        elif isinstance(block, Signatures):
            found += [role for role, _ in block.people]
        elif isinstance(block, Folded):
            found += [block.title, *texts(block.blocks)]
    return found


def test_every_sentence_has_a_translation() -> None:
    words, facts = Words("de"), collect_facts(made())
    said = [text for section in sections(facts) for text in (section.title, *texts(section.blocks))]
    sentences = [text for text in said if " " in text and not isinstance(text, Verbatim)]
    technical = re.compile(r"\w+\(.*\)|[kl] = \d+|.*\bnumpy\b.*|[\d\s.,%<>–()→-]+", re.DOTALL)
    left = {text for text in sentences if words.of(text) == text and not technical.fullmatch(text)}
    assert len(sentences) > 100
    assert left - SAME == {"equal, ordered, hierarchical"} & left


def test_holes_are_filled_and_nothing_else_is_invented() -> None:
    for english, german in WORDS.items():
        holes = sorted(re.findall(r"\{[=#]?(\d)\}", english))
        assert holes == [str(at) for at in range(len(holes))], english
        assert set(re.findall(r"\{(\d)\}", german)) <= set(holes), english
        assert "{=" not in german
        assert "{#" not in german
        assert english == english.strip()
        assert german.strip() == german


def test_numbers_are_written_as_germans_do() -> None:
    words = Words("de")
    assert words.of("30,162 rows, 9 columns") == "30.162 Zeilen, 9 Spalten"
    assert words.of("12.5 %") == "12,5 %"
    assert words.of("1,038 (3.44 %; limit 4 %)") == "1.038 (3,44 %; Grenze 4 %)"
    assert words.of("nobody has translated this 1.5") == "nobody has translated this 1.5"


@pytest.mark.parametrize("value", ["holds", "Purpose", "before", "1,234.5"])
def test_what_comes_from_the_table_stays_as_it_is(value: str, tmp_path: Path) -> None:
    table = pa.table({value: [value, "x"] * 20, "n": [1, 2] * 20})
    release = veil.anonymize(
        table, quasi_identifiers={value: "suppression"}, others="keep", models=KAnonymity(2)
    )
    page = release.report(tmp_path / "report.html", about={"language": "de", "title": value}).read_text()
    assert f"<td>{value}</td>" in page
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
    words = Words("de")
    section = Section("x", "Summary", (Text("level of each quasi-identifier, instead of a search"),))
    assert texts(words.of_sections([section])[0].blocks) == [
        "level of each quasi-identifier, instead of a search"
    ]
