"""Whatever is sent to the workbench, it opens nothing of the machine that it runs on."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from support.recipes import common_documents, generalize_data, step_documents
from support.untrusted import SECRET, canaries, variants, watch
from support.workbench import Client, workbench
from veil.hierarchies import AnyBuilder
from veil.masking import METHODS

PEOPLE = "age,sex,illness\n" + "".join(
    f"{20 + row},{'fm'[row % 2]},{('flu', 'gout')[row % 2]}\n" for row in range(8)
)
PLAIN: dict[str, Any] = {
    "quasi_identifiers": {"age": "suppression"},
    "sensitive": ["illness"],
    "models": [{"kind": "KAnonymity", "k": 2}],
    "others": "drop",
    "person": None,
}


_MASKS: dict[str, Any] = {"person": None, "without": [], "quasi_identifiers": ["age"], "order": "random"}


@pytest.fixture
def client():
    with workbench() as bench:
        yield Client(bench)


def _documents(documents: Iterable[tuple[str, Any]], names: list[str], number: int) -> list[dict[str, Any]]:
    """Return documents with a canary in places of a schema: all of them if there is time."""
    made = list(dict.fromkeys(json.dumps(each) for _, each in documents))
    chosen = made if "VEIL_FUZZ" in os.environ else random.sample(made, min(number, len(made)))
    return [
        json.loads(text.replace('"CANARY"', json.dumps(names[at % len(names)])))
        for at, text in enumerate(chosen)
    ]


def test_no_request_opens_what_it_names(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VEIL_CANARY", SECRET)
    table = client.open(PEOPLE)
    names, opened = canaries(tmp_path), watch()

    def check(answer: Any) -> None:
        task = client.done(answer) if answer.status_code == 202 else answer.json()
        assert SECRET not in json.dumps(task)
        assert not opened, (answer.request.content, opened)

    recipes = [*common_documents("CANARY"), *step_documents("GeneralizeSpec", "CANARY")]
    for recipe in _documents(recipes, names, 40):
        check(client.post("/api/v1/releases", json={"table": table, "recipe": recipe}))
        check(client.put("/api/v1/plan/recipe", json={"text": json.dumps(recipe)}))
        check(client.post("/api/v1/verify", json={"table": table, "recipe": recipe}))
    masks = [each for method in METHODS.values() for each in step_documents(method.__name__, "CANARY")]
    for recipe in _documents(masks, names, 40):
        check(
            client.post(
                "/api/v1/releases", json={"table": table, "masks": _MASKS | {"steps": recipe["steps"]}}
            )
        )
    for builder in _documents(variants(TypeAdapter(AnyBuilder).json_schema(), "CANARY"), names, 20) + names:
        asked = {"table": table, "column": "illness", "builder": builder}
        for route in ("preview", "coverage", "groups", "rows"):
            check(client.post(f"/api/v1/hierarchies/{route}", json=asked))
    for name in names:
        check(client.post("/api/v1/tables/from", json={"path": name}))
        check(client.put("/api/v1/plan/key", json={"key": name}))


_CLOSENESS = {"kind": "TCloseness", "attribute": "illness", "t": 0.9, "distance": "hierarchical"}


def test_the_reported_ways_to_a_file_are_closed(client: Client, tmp_path: Path) -> None:
    table = client.open(PEOPLE)
    names, opened = canaries(tmp_path), watch()
    for name in (names[0], str(tmp_path / "canary-pipe.csv"), str(tmp_path / "none.csv")):
        closeness = _CLOSENESS | {"hierarchy": name}
        partition = {
            "quasi_identifiers": {"age": None},
            "models": [{"kind": "KAnonymity", "k": 2}, closeness],
        }
        wishes: list[dict[str, Any]] = [
            {"recipe": generalize_data(**PLAIN | {"models": [closeness]})},
            {"recipe": generalize_data(**PLAIN | {"items": {"illness": name}})},
            {"masks": _MASKS | {"steps": [{"kind": "Mondrian", **partition}]}},
            {"masks": _MASKS | {"steps": [{"kind": "TopDownSpecialization", **partition}]}},
        ]
        for wish in wishes:
            answer = client.post("/api/v1/releases", json={"table": table, **wish})
            assert answer.status_code == 422, answer.text
            assert "machine cannot be" in answer.json()["detail"]
        project = io.BytesIO()
        with zipfile.ZipFile(project, "w") as archive:
            about = {"format": "veil project", "version": 1}
            archive.writestr("project.json", json.dumps(about))
            archive.writestr("recipe.yaml", json.dumps(PLAIN | {"models": [closeness]}))
        headers = {"Veil-File-Name": "x.veil"}
        client.result(client.post("/api/v1/projects", content=project.getvalue(), headers=headers))
        client.change(roles={"sex": "drop"})
        told = client.get("/api/v1/plan").json()
        assert told["code"] is None
        assert "machine cannot be" in told["problem"]
        assert client.post("/api/v1/releases", json={"table": table}).status_code == 422
        certificate = {"veil_certificate": 1, "promises": {"models": [closeness]}, "tables": {name: {}}}
        task = client.done(client.post("/api/v1/verify", json={"table": table, "certificate": certificate}))
        assert task["state"] == "failed"
        assert "veil-workbench" not in task["problem"]["detail"]
    assert not opened
