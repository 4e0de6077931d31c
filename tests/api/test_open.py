"""Places that are given to public functions and cannot be one: an error of Veil's, which says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import veil
from support.cli import PATIENTS, RECIPE
from veil.dp import Accountant
from veil.errors import VeilError
from veil.hierarchies import Hierarchy
from veil.masking import RandomPseudonyms
from veil.report.certificate.keys import PrivateKey

PLAN = veil.Plan(quasi_identifiers={"age": "suppression"}, models=veil.KAnonymity(2), others="drop")
MARK = "0" * 64

FUNCTIONS: dict[str, Callable[[str], Any]] = {
    "anonymize": lambda name: veil.anonymize(f"{name}.csv", PLAN),
    "anonymize by an engine": lambda name: veil.anonymize(f"{name}.csv", PLAN, engine="duckdb"),
    "anonymize in memory": lambda name: veil.anonymize(Path(f"{name}.csv"), PLAN, engine="memory"),
    "anonymize a database": lambda name: veil.anonymize(f"duckdb://{name}.db#t", PLAN),
    "save": lambda name: veil.anonymize("patients.csv", PLAN).save(f"{name}.csv"),
    "save into a database": lambda name: veil.anonymize("patients.csv", PLAN, engine="duckdb").save(
        f"duckdb://{name}.db#t"
    ),
    "report": lambda name: veil.anonymize("patients.csv", PLAN).report(f"{name}.html"),
    "certificate": lambda name: veil.anonymize("patients.csv", PLAN).certificate(f"{name}.json"),
    "assess": lambda name: veil.assess(f"{name}.csv", quasi_identifiers="age"),
    "analyze": lambda name: veil.risk.analyze(f"{name}.csv", quasi_identifiers=["age"]),
    "mask": lambda name: veil.mask(f"{name}.csv", RandomPseudonyms("name")),
    "verify": lambda name: veil.verify(f"{name}.csv", PLAN),
    "verify by a certificate": lambda name: veil.verify("patients.csv", certificate=f"{name}.json"),
    "profile": lambda name: veil.profile(f"{name}.csv"),
    "run": lambda name: veil.run(f"{name}.yaml"),
    "run with an input": lambda name: veil.run("recipe.yaml", input=f"{name}.csv"),
    "run with an output": lambda name: veil.run("recipe.yaml", output=f"{name}.csv"),
    "run with a report": lambda name: veil.run("recipe.yaml", report=f"{name}.html"),
    "keep apart": lambda name: veil.mask("patients.csv", RandomPseudonyms("name")).save("m.csv", apart=name),
    "run with a key": lambda name: veil.run("recipe.yaml", certificate="c.json", sign=f"{name}.pem"),
    "read a recipe": lambda name: veil.Recipe.read(f"{name}.yaml"),
    "read a project": lambda name: veil.Project.read(f"{name}.veil"),
    "save a project": lambda name: veil.Project().save(f"{name}.veil"),
    "start a budget": lambda name: Accountant.create(f"{name}.json", 1, fingerprint=MARK),
    "open a budget": lambda name: Accountant.open(f"{name}.json", fingerprint=MARK),
    "read a hierarchy": lambda name: Hierarchy.read(f"{name}.csv"),
    "read a policy": lambda name: veil.policy.read(f"{name}.json"),
    "read policies": lambda name: veil.policy.read_all(f"{name}.json"),
    "read a key": lambda name: PrivateKey.read(f"{name}.pem"),
    "save a key": lambda name: PrivateKey.new().save(f"{name}.pem"),
}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_path_that_cannot_be_one(function: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "patients.csv").write_text(PATIENTS)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    (tmp_path / "loop").symlink_to("loop")
    monkeypatch.chdir(tmp_path)
    told = {
        "x" * 5000: "too long",
        "d/" * 2500 + "x": "too long",
        "a\0b": "NUL",
        "loop/x": "leads back to itself",
    }
    for name, problem in told.items():
        with pytest.raises(VeilError, match=problem):
            FUNCTIONS[function](name)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["loop", "patients.csv", "recipe.yaml"]
