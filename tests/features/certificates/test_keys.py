"""`veil keys`, `--sign` and `--signed-by`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli import veil

OPTIONS = (
    "--qi age=intervals:20,40 --qi sex=suppression --sensitive illness --identifying id --model k-anonymity:2"
)
TABLE = "id,age,sex,illness\n1,21,f,flu\n2,23,f,cold\n3,34,m,flu\n4,38,m,gout\n5,35,m,cold\n6,36,m,flu\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(TABLE)
    return tmp_path


def test_from_a_new_key_to_a_checked_signature(folder: Path) -> None:
    made = veil("keys", "new", "clinic.pem")
    assert made.code == 0
    fingerprint = next(word for word in made.out.split() if word.startswith("SHA256:"))
    for file in ("clinic.pem", "clinic.pem.pub"):
        assert fingerprint in veil("keys", "show", file).out
    assert (folder / "clinic.pem").read_text().splitlines()[1] not in made.out
    options = [*OPTIONS.split(), "--certificate", "c.json", "--sign", "clinic.pem"]
    assert veil("anonymize", "people.csv", "-o", "release.csv", *options).code == 0
    good = veil("verify", "release.csv", "--certificate", "c.json", "--signed-by", "clinic.pem.pub")
    assert good.code == 0
    assert fingerprint in " ".join(good.out.split())
    assert good.out.startswith("NOT CHECKED: what no model judges: 'illness'")
    veil("keys", "new", "other.pem")
    wrong = veil("verify", "release.csv", "--certificate", "c.json", "--signed-by", "other.pem.pub")
    assert wrong.code == 1


def test_what_cannot_be_checked_has_an_exit_code_of_its_own(folder: Path) -> None:
    options = [*OPTIONS.split(), "--model", "inclusion:0|1|2|3", "--certificate", "c.json"]
    assert veil("anonymize", "people.csv", "-o", "release.csv", *options).code == 0
    ran = veil("verify", "release.csv", "--certificate", "c.json")
    assert ran.code == 3
    assert ran.out.startswith("NOT CHECKED: the certificate states: ")
    data = json.loads((folder / "c.json").read_text())
    data["found"] = data["promises"]["models"] = []
    (folder / "c.json").write_text(json.dumps(data))
    assert veil("verify", "release.csv", "--certificate", "c.json").code == 2


def test_mistakes(folder: Path) -> None:
    assert veil("keys", "show", "none.pem").code == 2
    veil("keys", "new", "clinic.pem")
    again = veil("keys", "new", "clinic.pem")
    assert again.code == 2
    assert "never replaced" in again.err
    ran = veil("anonymize", "people.csv", "-o", "release.csv", *OPTIONS.split(), "--sign", "clinic.pem")
    assert ran.code == 2
    assert all(fact in " ".join(ran.err.split()) for fact in ("nothing to sign", "--certificate or --report"))
    assert not (folder / "release.csv").exists()
    ran = veil("verify", "release.csv", "--recipe", "recipe.yaml", "--signed-by", "clinic.pem.pub")
    assert "--signed-by needs --certificate" in " ".join(ran.err.split())
