"""The statement for the record of processing activities: what it says, and that it says nothing of anybody."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import veil
from support.policies import PEOPLE, datum, lecture, model, policy
from support.refusals import refused
from veil import DistinctLDiversity, KAnonymity, TCloseness
from veil.errors import OutputError, ParameterError
from veil.hierarchies import Suppression
from veil.models import MODELS
from veil.policy import apply, processing_record, read, unmapped
from veil.policy.linked.reading import model_of_text, text_of_model
from veil.policy.rules.names import element_of, requirements

PATIENTS = pa.table(
    {
        "Name": list(PEOPLE),
        "Age": [int(each[0]) for each in PEOPLE.values()],
        "Zipcode": [each[1] for each in PEOPLE.values()],
        "Disease": [each[2] for each in PEOPLE.values()],
        "policy_id": list(PEOPLE),
    }
)


def written(tmp_path: Path, release: veil.Release, **said: Any) -> dict[str, Any]:
    path = processing_record(release, tmp_path / "record.jsonld", **said)
    made = json.loads(path.read_text(encoding="utf-8"))
    assert isinstance(made, dict)
    return made


def test_under_policies_it_says_what_was_asked(tmp_path: Path) -> None:
    release = apply(PATIENTS, lecture(), purpose="research", recipient="lab", on=date(2026, 6, 1))
    found = written(tmp_path, release)
    assert found["@type"] == "dpv:Process"
    assert found["dct:issued"]["@value"] == "2026-06-01"
    assert found["dpv:hasPurpose"] == {"@type": "dpv:Purpose", "dct:title": "research"}
    assert found["dpv:hasRecipient"]["dct:title"] == "lab"
    assert found["dpv:hasLegalBasis"] == [{"@id": "dpv:Consent"}]
    assert [each["dct:title"] for each in found["dpv:hasPersonalData"]] == ["Age", "Zipcode", "Disease"]
    assert "dpv:SensitivePersonalData" in found["dpv:hasPersonalData"][2]["@type"]
    assert found["dpv:hasTechnicalMeasure"] == [
        {"@type": "dpv:Anonymisation", "dct:title": "k-Anonymity (k = 3)"},
        {"@id": "dpv:Pseudonymisation"},
    ]
    assert "dct:source" not in found


def test_it_tells_of_nobody(tmp_path: Path) -> None:
    release = apply(PATIENTS, lecture(), purpose="research", recipient="lab")
    text = json.dumps(written(tmp_path, release))
    for name, (age, code, ill) in PEOPLE.items():
        assert not [each for each in (name, f'"{age}"', code, ill) if each in text]
    for pseudonym in release.apart["pseudonyms"]["pseudonym"].to_pylist():
        assert pseudonym not in text


def test_without_policies_somebody_has_to_say_it(tmp_path: Path) -> None:
    table = pa.table({"age": [1, 1, 2, 2], "ill": ["a", "b", "a", "b"]})
    release = veil.anonymize(
        table,
        quasi_identifiers={"age": Suppression()},
        sensitive=["ill"],
        models=[KAnonymity(2), DistinctLDiversity("ill", 2)],
    )
    with refused(ParameterError, "`purpose`", "`recipient`", "needs"):
        processing_record(release, tmp_path / "record.jsonld")
    with refused(ParameterError, "mean 'consent'", "legal basis"):
        processing_record(
            release, tmp_path / "record.jsonld", purpose="x", recipient="y", legal_basis="consnt"
        )
    assert list(tmp_path.iterdir()) == []
    said = {
        "purpose": "AcademicResearch",
        "recipient": "lab",
        "controller": "clinic",
        "legal_basis": "publicTask",
    }
    found = written(tmp_path, release, **said)
    assert found["dpv:hasPurpose"] == {"@id": "dpv:AcademicResearch"}
    assert found["dpv:hasLegalBasis"] == [{"@id": "dpv:OfficialAuthorityOfController"}]
    assert found["dpv:hasDataController"]["dct:title"] == "clinic"
    assert [each["dct:title"] for each in found["dpv:hasTechnicalMeasure"]] == [
        "k-Anonymity (k = 2)",
        "Distinct-l-Diversity of ill (l = 2)",
    ]


@pytest.mark.parametrize("ending", ["jsonld", "ttl"])
def test_it_can_be_read_again(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("rdflib")
    policies = {
        name: policy(
            name,
            (datum("age", "QID"), datum("ill", "SD")),
            (model("k-Anonymity", k=2), model("t-Closeness", t=0.5)),
        )
        for name in ("ada", "bob")
    }
    table = pa.table({"age": [1, 1], "ill": ["a", "b"], "policy_id": ["ada", "bob"]})
    release = apply(table, policies, purpose="research", recipient="lab", on=date(2026, 6, 1))
    found = read(processing_record(release, tmp_path / f"record.{ending}"))
    purpose = found.purposes[0]
    assert (purpose.name, purpose.legal_bases) == ("research", ("consent",))
    assert [each.name for each in purpose.recipients] == ["lab"]
    assert {each.name for each in purpose.data} == {"age", "ill"}
    asked = {each for each in purpose.models for each in requirements(each, ("ill",))}
    assert {each.model() for each in asked} == {KAnonymity(2), TCloseness("ill", 0.5, distance="equal")}
    assert not [each for each in unmapped(found) if each.narrows]


def test_names_of_files(tmp_path: Path) -> None:
    release = apply(PATIENTS, lecture(), purpose="research", recipient="lab")
    with refused(OutputError, ".ttl", "'.json'"):
        processing_record(release, tmp_path / "record.json")
    processing_record(release, tmp_path / "record.jsonld")
    with pytest.raises(OutputError, match="already exists"):
        processing_record(release, tmp_path / "record.jsonld")
    processing_record(release, tmp_path / "record.jsonld", overwrite=True)


def test_models_are_written_as_policies_read_them() -> None:
    models = [
        KAnonymity(5),
        DistinctLDiversity("ill", 3),
        veil.EntropyLDiversity("ill", 2.5),
        veil.RecursiveCLDiversity("ill", 3, 2),
        TCloseness("ill", 0.2, distance="equal"),
        veil.BetaLikeness("ill", 1.5, enhanced=True),
        veil.DeltaDisclosure("ill", 1.0),
        veil.SampleUniqueness(0.1),
    ]
    for each in models:
        element = element_of(each)
        assert element is not None
        again = model_of_text(text_of_model(element))
        assert again == element
        assert [one.model() for one in requirements(again, ())] == [each]
    assert len(MODELS) > len(models)
