"""Projects in the workbench: saved, opened, refused; and those of ARX."""

from __future__ import annotations

import io
import json
import zipfile

import pytest

from support.projects import deid, packed
from support.recipes import generalize
from support.workbench import Client, workbench
from veil.recipe import Project


@pytest.fixture(scope="module")
def bench():
    with workbench() as made:
        yield made


@pytest.fixture
def client(bench):
    return Client(bench)


def send(client, path, name=None):
    return client.post(
        "/api/v1/projects", content=path.read_bytes(), headers={"Veil-File-Name": name or path.name}
    )


def decide(client):
    """Decide everything, and make a release."""
    client.result(client.post("/api/v1/tables/example"))
    table = client.get("/api/v1/plan").json()["draft"]["table"]
    roles = {each["column"]: each["role"] for each in client.get(f"/api/v1/tables/{table}/roles").json()}
    quasi = [name for name, role in roles.items() if role == "quasi-identifying"]
    found = client.post("/api/v1/hierarchies/proposals", json={"table": table, "columns": quasi}).json()
    client.change(
        roles=roles,
        person=None,
        hierarchies=found["hierarchies"],
        models=[{"kind": "KAnonymity", "k": 3}],
        suppression_limit=0.1,
        levels={quasi[0]: [0, 2]},
        notes="ward <3>",
        pins=[{"levels": {quasi[0]: 1}, "note": "for the registry"}],
    )
    return client.result(client.post("/api/v1/releases", json={}))["release"]


@pytest.mark.parametrize("table", [False, True])
def test_what_is_saved_is_opened_in_another_session(bench, client, tmp_path, table):
    decide(client)
    saved = client.get(f"/api/v1/project?table={str(table).lower()}")
    assert saved.status_code == 200
    path = tmp_path / "patients.veil"
    path.write_bytes(saved.content)
    assert any(name.startswith("table/") for name in zipfile.ZipFile(path).namelist()) is table
    project = Project.read(path)
    assert project.notes == "ward <3>"
    assert project.certificate is not None
    other = Client(bench)
    if not table:
        other.result(other.post("/api/v1/tables/example"))
    other.result(send(other, path))
    mine, theirs = (each.get("/api/v1/plan").json() for each in (client, other))
    assert {**mine["draft"], "table": None} == {**theirs["draft"], "table": None}
    assert (theirs["missing"], theirs["problem"]) == ([], None)
    releases = [each.result(each.post("/api/v1/releases", json={}))["release"] for each in (client, other)]
    scores = [
        each.get(f"/api/v1/releases/{made}").json()["search"]["score"]
        for each, made in zip((client, other), releases, strict=True)
    ]
    assert scores[0] == scores[1]
    assert other.post("/api/v1/plan/undo").json()["draft"]["models"] == []


def test_a_project_of_arx_leads_to_a_release_and_says_what_it_lacks(client, tmp_path):
    told = client.result(
        send(client, deid(tmp_path / "study.deid", criteria=("3-anonymity", "(0.1,0.5)-presence")))
    )
    assert "the criterion '(0.1,0.5)-presence'" in told["left_out"]
    plan = client.get("/api/v1/plan").json()
    assert (plan["missing"], plan["problem"]) == ([], None)
    assert plan["draft"]["levels"]["age"] == [0, 1]
    made = client.result(client.post("/api/v1/releases", json={}))["release"]
    assert client.get(f"/api/v1/releases/{made}").json()["holds"]


def test_what_is_no_project_is_refused_in_one_sentence_and_leaves_nothing(bench, client, tmp_path):
    bomb = packed(
        {"project.json": b'{"format": "veil project", "version": 1}', "recipe.yaml": b" " * 30_000_000},
        tmp_path / "bomb.veil",
        method=zipfile.ZIP_DEFLATED,
    )
    outside = packed({"../evil": b""}, tmp_path / "outside.veil")
    (tmp_path / "cut.veil").write_bytes(outside.read_bytes()[:40])
    strange = packed(
        {"project.json": json.dumps({"format": "veil project", "version": 1, "page": {"roles": 7}}), "recipe.yaml": ""},
        tmp_path / "strange.veil",
    )  # fmt: skip
    before = client.get("/api/v1/plan").json()["draft"]
    files = {path for path in bench.folder.rglob("*") if path.is_file()}
    for path in (bomb, outside, tmp_path / "cut.veil", strange):
        task = client.done(send(client, path))
        assert task["state"] == "failed"
        assert task["problem"]["status"] == 422, task
        assert str(bench.folder) not in task["problem"]["detail"]
    assert send(client, bomb, "evil.zip").status_code == 415
    assert send(client, bomb, "..%2Fevil.veil").status_code == 422
    assert client.get("/api/v1/plan").json()["draft"] == before
    assert {path for path in bench.folder.rglob("*") if path.is_file()} <= files


def test_files_of_this_machine_are_not_read_for_a_project(client, tmp_path):
    secret = tmp_path / "secret.csv"
    secret.write_text("f;*\nm;*\n")
    about = {"format": "veil project", "version": 1}
    recipe = generalize(f"quasi_identifiers: {{sex: '{secret}'}}\nmodels: [{{kind: KAnonymity, k: 2}}]\n")
    client.result(client.post("/api/v1/tables/example"))
    client.result(
        send(client, packed({"project.json": json.dumps(about), "recipe.yaml": recipe}, tmp_path / "x.veil"))
    )
    client.change(
        roles={
            name: "drop"
            for name in client.get("/api/v1/session").json()["tables"][0]["columns"]
            if name != "sex"
        }
    )
    told = client.get("/api/v1/plan").json()
    assert told["code"] is None
    answer = client.post("/api/v1/releases", json={})
    assert answer.status_code == 422
    assert "hierarchy file" in answer.json()["detail"]


def test_a_workbench_that_begins_with_a_project(tmp_path):
    with workbench(table=deid(tmp_path / "study.deid")) as made:
        client = Client(made)
        client.result(client.post("/api/v1/tables/from", json={}))
        assert client.get("/api/v1/plan").json()["missing"] == []


def test_a_saved_project_is_a_zip_of_texts(client):
    decide(client)
    archive = zipfile.ZipFile(io.BytesIO(client.get("/api/v1/project").content))
    for name in archive.namelist():
        archive.read(name).decode("utf-8")
