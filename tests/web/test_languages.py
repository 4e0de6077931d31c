"""Somebody works in German: what the library says of models and columns is German, too."""

from __future__ import annotations

import json
import re
from datetime import date
from importlib import resources

import pyarrow as pa
import pytest

from support.workbench import Client, workbench
from veil.base.wording import Phrase
from veil.risk import propose_roles
from veil.risk.identify.content import content_hits
from veil.risk.identify.detection import _MANY
from veil.synthetic import patients
from veil.web.languages import paragraphs, translate
from veil.web.routes import catalogue

WORDS = json.loads(resources.files("veil.web").joinpath("words", "de.json").read_text("utf-8"))


def test_all_that_a_model_says_of_itself_is_german():
    left = {
        (model.kind, each["text"])
        for model in catalogue.models("de")
        for each in model.paragraphs
        if each["language"] != "de"
    }
    assert left == set()
    assert [each["language"] for each in catalogue.models()[0].paragraphs] == ["en", "en"]


@pytest.mark.parametrize("family", ["masks", "qualities", "hierarchies", "strategies"])
def test_definitions_are_german(family):
    told = getattr(catalogue, family)("de")
    assert len(told) > 5
    assert {each.kind for each in told if each.paragraphs[0]["language"] != "de"} == set()
    assert {each.definition for each in told} & {each.definition for each in getattr(catalogue, family)()} == set()  # fmt: skip


def test_parameters_of_models_and_hierarchies_are_german():
    for family in (catalogue.models, catalogue.hierarchies):
        english = {each.about for kind in family() for each in kind.parameters}
        german = {each.about for kind in family("de") for each in kind.parameters}
        assert english & german - {""} == set()


def column(*values: object, rows: int = 200) -> list[object]:
    return [values[at % len(values)] for at in range(rows)]


SENTENCES = [f"The patient of room {at} was seen again this morning" for at in range(200)]
REASONS = {
    "PatNr": (list(range(200)), "number that tells people apart"),
    "telefon": (column("x"), "column name matches"),
    "c1": (column("J45.0", "E11", "I10"), "diagnosis codes"),
    "c2": (column("03601", "82101", "69201"), "US areas"),
    "c3": (column("a@example.org", "b@example.org"), "e-mail addresses"),
    "c4": ([f"k{at}" for at in range(200)], "a value of their own"),
    "c5": ([at + 0.37 for at in range(200)], "as is usual for measurements"),
    "sample_weight": ([100.5 + at / 7 for at in range(200)], "survey weight"),
    "c6": (column("p"), "nothing in its name"),
    "c7": (SENTENCES, "five words or more"),
    "c8": ([f"call Anna Huber {at}" for at in range(200)], "contain a name, number or address"),
}
"""A column for each sentence of reasons, and a part of that."""


def test_every_reason_for_a_role_is_german():
    table = pa.table({name: values for name, (values, _) in REASONS.items()})
    told = {each.column: each.reasons for each in propose_roles(table)}
    for name, (_, part) in REASONS.items():
        assert any(part in each for each in told[name]), (name, told[name])
    reasons = [*told.values(), *(each.reasons for each in propose_roles(patients(500)))]
    english = {each for some in reasons for each in some}
    assert {each for each in english if translate(each, "de") == each} == set()
    assert {
        each for each in english if re.search(r"\b(of|values|column|look)\b", translate(each, "de"))
    } == set()


def test_every_kind_of_content_has_a_german_name():
    kinds = content_hits(pa.array(["x"]), pa.string(), date.today())
    template = "{count:,} of {all:,} distinct values look like {category}"
    for kind in kinds:
        many = _MANY.get(kind, kind)
        reason = Phrase(template, count=1234, all=2000, category=many)
        assert translate(reason, "de").startswith("1.234 von 2.000 ")
        assert translate(many, "de") != many, many


def test_holes_are_filled_and_nothing_else_is_invented():
    for english, german in WORDS.items():
        assert set(re.findall(r"\{.*?\}", german)) == set(re.findall(r"\{.*?\}", english)), english


def test_what_nobody_has_translated_is_said_to_be_english():
    assert paragraphs("Nobody has\ntranslated `this`.", "de") == [
        {"text": "Nobody has translated this.", "language": "en"}
    ]


def test_proposals_are_told_in_the_language_that_is_asked_for():
    with workbench() as bench:
        client = Client(bench)
        table = client.open("zip,age\n" + "".join(f"{81000 + at},{at % 80}\n" for at in range(200)))
        told = client.get(f"/api/v1/tables/{table}/roles?language=de").json()
        assert told[0]["reasons"][0] == "der Spaltenname gleicht 'zip'"
        assert client.get(f"/api/v1/tables/{table}/roles?language=fr").status_code == 422
