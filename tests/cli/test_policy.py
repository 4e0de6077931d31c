"""`veil policy`, on files, as a person runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import veil
from support.policies import PEOPLE, datum, lecture, model, policy
from veil.cli.app import app
from veil.policy import write
from veil.policy.documents.elements import Retention


def run(*words: str | Path) -> tuple[int, str]:
    found = CliRunner().invoke(app, list(map(str, words)))
    return found.exit_code, found.output


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    (tmp_path / "policies").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "secret").mkdir()
    for name, each in lecture().items():
        write(each, tmp_path / "policies" / f"{name}.xml")
    lines = [f"{name},{age},{code},{ill},{name}" for name, (age, code, ill) in PEOPLE.items()]
    (tmp_path / "patients.csv").write_text("\n".join(["Name,Age,Zipcode,Disease,policy_id", *lines]) + "\n")
    return tmp_path


def test_check(clinic: Path) -> None:
    code, told = run("policy", "check", clinic / "policies")
    assert code == 0
    assert "gap" in told
    broken = policy("broken", (datum("age", "XX"),))
    write(broken, clinic / "broken.json")
    code, told = run("policy", "check", clinic / "broken.json", "--json")
    assert code == 1
    assert any("XX" in each["text"] for each in json.loads(told)["broken"])
    code, told = run("policy", "check", clinic / "nothing.xml")
    assert (code, "no such file" in told) == (2, True)


def test_check_under(clinic: Path) -> None:
    wider = policy("wider", (datum("Age", "QID"), datum("Job", "NSD")), (model("k-Anonymity", k=2),))
    write(wider, clinic / "wider.xml")
    code, told = run("policy", "check", clinic / "wider.xml", "--under", clinic / "policies" / "Bob.xml")
    assert code == 1
    assert "no datum 'Job'" in told


def test_explain(clinic: Path) -> None:
    data = (datum("age", "QID"), datum("ill", "SD"))
    write(policy("p", data, (model("l-Diversity", l=4), model("k-Anonymity", k=3))), clinic / "p.xml")
    code, told = run("policy", "explain", clinic / "p.xml")
    assert code == 0
    assert "distinct l-diversity" in told
    assert "follows from" not in told  # a class in which nobody shows a value may be of any size
    assert "record linkage" in told


def recipe(
    clinic: Path, places: str = "", step: str = "", table: str = "patients", policies: str = "policies"
) -> Path:
    path = clinic / "recipe.yaml"
    path.write_text(
        f"input: {table}.csv\noutput: out/release.csv\n{places}"
        f"steps: [{{kind: ByPolicies, policies: {policies}, purpose: research, recipient: lab{step}}}]\n"
    )
    return path


def test_apply(clinic: Path) -> None:
    output = clinic / "out" / "release.csv"
    path = recipe(clinic, "apart: secret\nreport: out/report.html\ncertificate: out/certificate.json\n")
    code, told = run("run", path)
    assert code == 0, told
    assert set(output.read_text().splitlines()) == {
        "Age,Zipcode,Disease", "20-30,537**,Flu", "20-30,537**,Hepatitis", "20-30,537**,Bronchitis",
    }  # fmt: skip
    assert "Alice" in (clinic / "secret" / "pseudonyms.csv").read_text()
    page = (clinic / "out" / "report.html").read_text()
    assert "What each policy" in page
    assert "Alice" not in page
    certificate = json.loads((clinic / "out" / "certificate.json").read_text())
    assert "policies" not in certificate
    assert veil.verify(output, certificate=clinic / "out" / "certificate.json").broken == ()
    code, told = run("run", path)
    assert (code, "already exists" in told) == (2, True)


def test_apply_says_what_no_model_judges_and_that_it_was_acknowledged(clinic: Path) -> None:
    asked = ("run", recipe(clinic, "apart: secret\ncertificate: out/certificate.json\n"), "--overwrite")
    code, told = run(*asked)
    assert code == 0, told
    assert "Before you sign" in told
    (key, *more) = re.findall(r"--acknowledge ('[^']+'|\S+)", told)
    words = [word for each in (key, *more) for word in ("--acknowledge", each.strip("'"))]
    code, told = run(*asked, "-o", clinic / "out" / "other.csv", *words)
    assert code == 0, told
    assert "Before you sign" not in told
    certificate = json.loads((clinic / "out" / "certificate.json").read_text())
    assert certificate["acknowledged"] == words[1::2]


def test_several_records_under_one_policy_are_one_persons(clinic: Path) -> None:
    lines = (clinic / "patients.csv").read_text().splitlines()
    (clinic / "patients.csv").write_text("\n".join([*lines, *lines[1:]]) + "\n")
    for person in ("", "person: null\n", "person: Name\n"):
        code, _ = run("run", recipe(clinic, f"apart: secret\n{person}"), "--overwrite")
        assert code == 0
        assert "Name" not in (clinic / "out" / "release.csv").read_text()
    code, told = run("run", recipe(clinic, "apart: secret\nperson: Nam\n"), "--overwrite")
    assert (code, "mean 'Name'" in told) == (2, True)


def test_a_recipe_spells_the_same(clinic: Path) -> None:
    (clinic / "recipe.yaml").write_text(
        "input: patients.csv\noutput: out/release.csv\napart: secret\n"
        "steps: [{kind: ByPolicies, policies: policies, purpose: research, recipient: lab}]\n"
    )
    release = veil.run(clinic / "recipe.yaml")
    assert release.transformation == {"Age": 1, "Zipcode": 2}
    assert (clinic / "out" / "release.csv").exists()
    (clinic / "wrong.yaml").write_text(
        "input: patients.csv\noutput: o.csv\nsteps: [{kind: ByPolicies, policies: policies, purpse: research, recipient: lab}]\n"
    )
    with pytest.raises(veil.VeilError, match="purpse"):
        veil.run(clinic / "wrong.yaml")


def test_another_command_says_which_one_it_is(clinic: Path) -> None:
    code, told = run("anonymize", recipe(clinic))
    assert (code, "veil run" in told) == (2, True)
    masks = clinic / "masks.yaml"
    masks.write_text("input: a.csv\noutput: b.csv\nsteps: [{kind: TopCoding, column: age, threshold: 90}]\n")
    code, told = run("anonymize", masks)
    assert (code, "veil mask" in told) == (2, True)


def test_due(clinic: Path) -> None:
    data = (datum("age", "QID"),)
    folder = clinic / "kept"
    folder.mkdir()
    write(policy("Ada", data, retention=Retention("fixedDate", "2026-12-31")), folder / "Ada.xml")
    write(policy("Bob", data, retention=Retention("afterPurpose", "P2Y")), folder / "Bob.xml")
    code, told = run("policy", "due", folder, "--on", "2026-12-30")
    assert (code, told.strip()) == (0, "nothing is due")
    code, told = run(
        "policy", "due", folder, "--on", "2026-12-31", "--ended", "research=2024-12-31", "--json"
    )
    assert [each["policy"] for each in json.loads(told)] == ["Ada", "Bob"]
    code, told = run("policy", "due", folder, "--on", "2026-01-01", "--withdrawn", "Bob=2025-12-01")
    assert "withdrawn since 2025-12-01" in told
    assert "earlier releases" in told
    assert run("policy", "due", folder, "--on", "soon")[0] == 2
    assert run("policy", "due", folder, "--ended", "research")[0] == 2


def test_compare(clinic: Path) -> None:
    bob, alice = clinic / "policies" / "Bob.xml", clinic / "policies" / "Alice.xml"
    assert run("policy", "compare", bob, bob)[0] == 0
    code, told = run("policy", "compare", bob, alice)
    assert (code, all(fact in told for fact in ("min of 'Age'", "below the 1"))) == (1, True)
    (clinic / "controller.owl").write_text("ObjectSomeValuesFrom(spl:hasData svd:Health)")
    (clinic / "consent.owl").write_text("ObjectSomeValuesFrom(spl:hasData svd:AnyData)")
    assert run("policy", "compare", clinic / "controller.owl", clinic / "consent.owl")[0] == 0
    assert run("policy", "compare", clinic / "consent.owl", clinic / "controller.owl")[0] == 1


def test_a_statement_for_the_record_of_processing(clinic: Path) -> None:
    out = clinic / "out"
    code, told = run("run", recipe(clinic, "apart: secret\n", ", processing_record: out/record.json"))
    assert (code, ".jsonld or .ttl" in told) == (2, True)
    assert list(out.iterdir()) == []
    code, told = run("run", recipe(clinic, "apart: secret\n", ", processing_record: out/record.jsonld"))
    assert (code, "record.jsonld" in told) == (0, True)
    assert json.loads((out / "record.jsonld").read_text())["dpv:hasRecipient"]["dct:title"] == "lab"


def test_a_credential_that_is_not_there(clinic: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recipe(clinic, "apart: secret\n", ", credential_variable: NO_CREDENTIAL")
    for text in (None, ""):
        if text is not None:
            monkeypatch.setenv("NO_CREDENTIAL", text)
        code, told = run("run", path)
        assert (code, "NO_CREDENTIAL" in told) == (2, True)
    assert list((clinic / "out").iterdir()) == []


def test_a_population(clinic: Path) -> None:
    data = (datum("age", "QID"), datum("ill", "SD"))
    (clinic / "two").mkdir()
    for name in ("a", "b"):
        write(policy(name, data, (model("k-Map", k=2),)), clinic / "two" / f"{name}.json")
    (clinic / "two.csv").write_text("age,ill,policy_id\n1,flu,a\n2,cold,b\n")
    (clinic / "all.csv").write_text("age\n1\n1\n2\n2\n2\n")
    code, told = run("run", recipe(clinic, table="two", policies="two"))
    assert (code, "population" in told) == (2, True)
    path = recipe(clinic, "", ", population: all.csv", table="two", policies="two")
    code, told = run("run", path, "-o", clinic / "all.csv", "--overwrite")
    assert (code, "own input" in told) == (2, True)
    code, told = run("run", path)
    assert code == 0
    assert sorted((clinic / "out" / "release.csv").read_text().split()[1:]) == ["1,flu", "2,cold"]
