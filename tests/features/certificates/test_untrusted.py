"""A certificate comes from anybody: it opens no file, and says nothing of where files of the data holder are."""

from __future__ import annotations

import copy
import json
import secrets
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pydantic import TypeAdapter

import veil
from support import cli
from support.untrusted import SECRET, canaries, variants, watch
from veil import KAnonymity, KMap
from veil import hierarchies as h
from veil.errors import InputError
from veil.models import TCloseness
from veil.recipe.parts import ModelSpec
from veil.report import certificate_of, check_certificate
from veil.report.certificate.promises import read_model

PEOPLE = pa.table(
    {
        "name": ["Ann", "Bob", "Cem", "Dan", "Eve", "Flo"],
        "age": ["21", "23", "34", "38", "35", "39"],
        "illness": ["flu", "cold", "flu", "gout", "cold", "flu"],
    }
)


def test_no_model_of_a_certificate_opens_what_it_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names, opened = canaries(tmp_path), watch()
    documents = [json.dumps(each) for _, each in variants(TypeAdapter(ModelSpec).json_schema(), "CANARY")]
    reasons = set()
    for number, text in enumerate(documents):
        spec = json.loads(text.replace('"CANARY"', json.dumps(names[number % len(names)])))
        try:
            found = read_model(spec)
        except ValueError as error:
            found = str(error)
        if isinstance(found, str):
            assert SECRET not in found
            reasons.add(found)
    assert "that takes a file, which is not part of the certificate" in reasons
    assert not opened


def test_a_path_in_any_place_of_a_certificate_is_not_opened(tmp_path: Path) -> None:
    release = veil.anonymize(
        PEOPLE,
        quasi_identifiers={"age": h.redaction()},
        identifying="name",
        sensitive="illness",
        models=[KAnonymity(2), TCloseness("illness", 0.9)],
        person=None,
    )
    genuine, file = certificate_of(release), tmp_path / "certificate.json"
    names, opened = canaries(tmp_path), watch()
    planted = copy.deepcopy(genuine)
    planted["promises"]["models"][1] |= {"distance": "hierarchical", "hierarchy": names[0]}
    documents = [planted] + [
        _with(genuine, place, names[number % len(names)]) for number, place in enumerate(_texts(genuine))
    ]
    assert len(documents) > 20
    for document in documents:
        file.write_text(json.dumps(document))
        opened.clear()
        try:
            said = str(check_certificate(file, release.arrow))
        except InputError as error:
            said = str(error)
        assert SECRET not in said
        assert not opened
    file.write_text(json.dumps(planted))
    release.save(tmp_path / "release.csv")
    opened.clear()
    told = cli.veil("verify", str(tmp_path / "release.csv"), "--certificate", str(file))
    assert told.code != 0
    assert SECRET not in told.out + told.err
    assert not opened


def _texts(value: Any, at: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [at] * isinstance(value, str) + [
        place for key, each in items for place in _texts(each, (*at, key))
    ]


def _with(value: Any, place: tuple[Any, ...], text: str) -> Any:
    made = copy.deepcopy(value)
    here = made
    for key in place[:-1]:
        here = here[key]
    here[place[-1]] = text
    return made


def test_a_certificate_names_no_folder(tmp_path: Path) -> None:
    folder = tmp_path / "of-the-data-holder"
    folder.mkdir()
    (folder / "age.csv").write_text("".join(f"{age};{age[0]}*;*\n" for age in PEOPLE["age"].to_pylist()))
    (folder / "illness.csv").write_text("flu;*\ncold;*\ngout;*\n")
    (folder / "who.csv").write_text("age\n21\n34\n35\n38\n39\n23\n")
    (folder / "pseudonyms.key").write_text(secrets.token_hex(32))
    veil.tables.write(PEOPLE, folder / "people.csv")
    closeness = TCloseness("illness", 0.9, "hierarchical", str(folder / "illness.csv"))
    release = veil.anonymize(
        folder / "people.csv",
        quasi_identifiers={"age": h.file(str(folder / "age.csv"))},
        identifying={"name": "pseudonym"},
        person="name",
        knows="all rows",
        pseudonym_key=str(folder / "pseudonyms.key"),
        sensitive="illness",
        models=[KAnonymity(2), closeness],
    )
    subset = veil.anonymize(
        folder / "people.csv",
        quasi_identifiers={"age": h.file(str(folder / "age.csv"))},
        identifying="name",
        insensitive="illness",
        person=None,
        models=KMap(2, str(folder / "who.csv")),
    )
    masked = veil.mask(
        folder / "people.csv",
        [
            veil.masking.KeyedPseudonyms("name", key_file=str(folder / "pseudonyms.key")),
            veil.masking.Mondrian({"age": h.file(str(folder / "age.csv"))}, [KAnonymity(2), closeness]),
        ],
        person=None,
    )
    for number, each in enumerate((release, subset, masked)):
        file = each.certificate(tmp_path / f"certificate{number}.json")
        report = each.report(tmp_path / f"report{number}.json")
        page = each.report(tmp_path / f"report{number}.html")
        for made in (file, report, page):
            assert "of-the-data-holder" not in made.read_text("utf-8"), (number, made)
