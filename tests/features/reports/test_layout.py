"""How pages are set: nothing is torn apart at the end of a line, squeezed into a column or left empty."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa

import veil
from support.report import texts_of_pdf
from veil import KAnonymity
from veil.base.wording import Phrase
from veil.masking import MDAV, RankSwapping, UncorrelatedNoise
from veil.report import collect_facts
from veil.report.pages.blocks import Code, Heading, Paragraph, Section, TableBlock
from veil.report.pages.html import page
from veil.report.pages.language import Translator
from veil.report.pages.pdf import bind
from veil.report.pages.steps import request
from veil.synthetic import patients

FACTS = {"date": "2026-01-01T00:00:00+00:00", "versions": {"veil": "1"}}
NAMES = ("marital-status", "native-country", "occupation", "education", "workclass", "age", "sex")


def masked() -> veil.Release:
    table = patients(300).select(["age", "stay", "cost", "zip", "diagnosis"]).drop_null()
    return veil.mask(table, [MDAV(["age", "stay"], 5), UncorrelatedNoise("cost", alpha=0.1)])


def test_a_number_keeps_its_sign(tmp_path: Path) -> None:
    made = [Section("a", "Summary", (Paragraph("At most 5 % of them, k = 3, < 0.01 %: 5-anonymity."),))]
    told = page(made, FACTS, title="t")
    assert "5\u00a0% of them, k\u00a0=\u00a03, &lt;\u00a00.01\u00a0%" in told
    assert '<span class="whole">5-anonymity</span>' in told
    path = tmp_path / "report.pdf"
    path.write_bytes(bind(made, FACTS, title="t"))
    assert "\N{REPLACEMENT CHARACTER}" not in texts_of_pdf(path)


def test_wide_tables_of_a_pdf_break_no_word_and_no_number(tmp_path: Path) -> None:
    row = ("suppression limit 0.1 instead of 0.05", *["77.23 %"] * len(NAMES), "1,346")
    grid = TableBlock(("", *NAMES, "Suppressed"), (row,) * 3, right=tuple(range(1, 9)))
    path = tmp_path / "report.pdf"
    path.write_bytes(bind([Section("a", "Alternatives", (grid,))], FACTS, title="t", words=Translator("de")))
    told = texts_of_pdf(path).replace("\u00a0", " ")
    assert all(name in told for name in NAMES)
    assert told.count("77,23 %") == 3 * len(NAMES)


def test_a_long_table_begins_below_its_heading_and_not_on_the_next_page(tmp_path: Path) -> None:
    def pages(*blocks: Paragraph | Heading | TableBlock | Code) -> int:
        path = tmp_path / "report.pdf"
        path.write_bytes(bind([Section("a", "Summary", blocks)], FACTS, title="t"))
        return len(re.findall(r"\b\d+ / \d+", texts_of_pdf(path)))

    rows = tuple((str(at), "x") for at in range(45))
    short = tuple(Paragraph("A line.") for _ in range(12))
    assert pages(*short, Heading("Table"), TableBlock(("a", "b"), rows)) == 2


def test_sentences_of_a_table_stand_below_each_other_on_a_phone() -> None:
    said = TableBlock(
        ("", "What was found", "How to fix it"), (("nearly unique", "x" * 60, "Remove 'income' or 'q5'."),)
    )
    told = page([Section("a", "Summary", (said,))], FACTS, title="t")
    assert '<div class="wide told"' in told
    assert 'data-is="What was found"' in told


def test_a_report_of_a_mask_says_its_promise_plainly_and_claims_no_more(tmp_path: Path) -> None:
    told = masked().report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert (
        "After this step, every combination of &#39;age&#39;, &#39;stay&#39; occurs at least 5 times." in told
    )
    assert "Independent verification" not in told
    assert "Promises of the methods" in told
    assert not re.search(r"<tbody>\s*</tbody>", told)


def test_a_german_report_has_german_numbers_and_words_everywhere(tmp_path: Path) -> None:
    release = masked()
    told = release.report(tmp_path / "report.html", about={"language": "de"}).read_text(encoding="utf-8")
    labels = re.findall(r"<text[^>]*>([^<]*)</text>", told)
    assert any(re.fullmatch(r"0,\d\d", each) for each in labels)
    assert any(re.fullmatch(r"−?[\d.]+ bis &lt;−?[\d.]+", each) for each in labels)
    assert not [each for each in labels if re.search(r"(?<![\d.])\.\d|\bto\b", each)]
    cells = re.findall(r"<td[^>]*>([^<]*)</td>", told.split('id="utility"')[1].split('id="distributions"')[0])
    assert not [each for each in cells if re.fullmatch(r"\d+\.\d{1,2}", each)]
    assert (
        Translator("de").of(
            Phrase(
                "Remove {columns}, or mask both.",
                columns=Phrase("{names} or {last}", names="'a'", last="'b'"),
            )
        )
        == "'a' oder 'b' entfernen, oder beide maskieren."
    )


def test_each_changed_column_of_a_step_has_a_row() -> None:
    facts = collect_facts(veil.mask(patients(200), RankSwapping(["age", "cost"], p=5)))
    grid = next(
        each for each in request(facts) if isinstance(each, TableBlock) and "Changed cells" in each.headings
    )
    assert [row[:2] for row in grid.rows] == [("1", "age"), ("", "cost")]


def test_a_report_says_nothing_about_what_is_not_there(tmp_path: Path) -> None:
    table = pa.table({"job": ["nurse", "clerk"] * 10})
    release = veil.anonymize(table, quasi_identifiers={"job": "suppression"}, models=KAnonymity(2))
    told = release.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Predicting sensitive columns" not in told
    assert "Values before" in told
    assert "Mean before" not in told


def test_a_pdf_says_that_copying_may_lose_the_indentation_of_the_recipe(tmp_path: Path) -> None:
    told = texts_of_pdf(masked().report(tmp_path / "report.pdf", about={"language": "de"}))
    assert "ihre Einrückung verlieren" in told.replace("\n", " ")
    assert "indentation" not in masked().report(tmp_path / "report.html").read_text(encoding="utf-8")
