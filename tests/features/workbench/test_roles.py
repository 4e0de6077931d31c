"""What a column may be besides its role: weight, household, pseudonyms with a key, linked to another, to be predicted."""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pytest

import veil
from support.recipes import generalize_data
from support.workbench import Client, workbench
from veil.masking import KeyedPseudonyms, LocalSuppression
from veil.tables import read

KEY = "9f2c71e05ad84b36c1f7a40d2e8b9563"
VISITS = "patient,age,sex,region,zip,weight,home,ill\n" + "".join(
    f"p{i % 50:03},{20 + 10 * (i % 3)},{'fm'[i % 2]},r{i % 4},{8000 + i % 4},{1 + i % 7}.5,h{i % 20},{'xyz'[i % 3]}\n"
    for i in range(150)
)
ROLES = {
    "patient": "identifying",
    "age": "quasi-identifying",
    "sex": "quasi-identifying",
    "region": "insensitive",
    "zip": "quasi-identifying",
    "weight": "drop",
    "home": "drop",
    "ill": "sensitive",
}
HIERARCHIES = {"age": "suppression", "sex": "suppression", "zip": "redaction"}


@pytest.fixture(scope="module")
def bench():
    with workbench() as made:
        yield made


@pytest.fixture
def client(bench):
    made = Client(bench)
    made.open(VISITS, "visits.csv")
    made.change(
        roles=ROLES,
        hierarchies=HIERARCHIES,
        models=[{"kind": "KAnonymity", "k": 2}],
        suppression_limit=1.0,
    )
    return made


def everything_told(client, release):
    """All that can be fetched of a session and of a release, as one text."""
    places = ["session", "plan", "project", "tasks", f"releases/{release}"]
    places += [
        f"releases/{release}/{each}"
        for each in ("report.html", "report.json", "certificate", "recipe", "table.csv")
    ]
    return b"".join(client.get(f"/api/v1/{each}").content for each in places)


def test_pseudonyms_of_people_are_those_of_the_library_and_the_key_is_told_once(client, tmp_path):
    told = client.change(person="patient", treatments={"patient": "pseudonym"}, keyed=True)
    assert [each["what"] for each in told["missing"]] == ["no key"]
    refused = client.post("/api/v1/releases", json={})
    assert refused.status_code == 422
    assert "give it again" in refused.json()["detail"]
    made = client.put("/api/v1/plan/key", json={}).json()
    assert re.fullmatch("[0-9a-f]{64}", made["key"])
    plan = client.get("/api/v1/plan").json()
    assert (plan["missing"], plan["problem"], plan["has_key"]) == ([], None, True)
    assert "pseudonym_key: pseudonyms.key" in plan["code"]["recipe"]
    release = client.result(client.post("/api/v1/releases", json={}))["release"]
    assert made["key"].encode() not in everything_told(client, release)

    table = client.get(f"/api/v1/releases/{release}/table.csv")
    (tmp_path / "release.csv").write_bytes(table.content)
    shown = {each for each in read(tmp_path / "release.csv").table["patient"].to_pylist() if each != "*"}
    people = pa.table({"patient": [f"p{i:03}" for i in range(50)]})
    method = KeyedPseudonyms("patient", key=made["key"], length=16)
    assert shown
    assert shown <= set(veil.mask(people, [method], person=None).arrow["patient"].to_pylist())


@pytest.mark.slow
def test_the_same_key_given_again_makes_the_same_pseudonyms(client):
    client.change(person="patient", treatments={"patient": "pseudonym"}, keyed=True)
    assert client.put("/api/v1/plan/key", json={"key": KEY}).json()["key"] is None
    found = []
    for _ in range(2):
        release = client.result(client.post("/api/v1/releases", json={}))["release"]
        pages = [
            client.post(f"/api/v1/releases/{release}/rows", json={"start": at}).json() for at in (0, 100)
        ]
        found.append({row[page["columns"].index("patient")] for page in pages for row in page["rows"]})
        assert KEY.encode() not in everything_told(client, release)
    assert found[0] == found[1]
    assert client.delete("/api/v1/plan/key").json() == {"forgotten": True}
    assert client.get("/api/v1/plan").json()["has_key"] is False


def test_a_release_whose_key_was_forgotten_says_where_to_give_it_again(client):
    client.change(person="patient", treatments={"patient": "pseudonym"}, keyed=True)
    client.put("/api/v1/plan/key", json={"key": KEY})
    release = client.result(client.post("/api/v1/releases", json={}))["release"]
    client.delete("/api/v1/plan/key")
    levels = {"levels": dict.fromkeys(HIERARCHIES, 1)}
    for what, body in (("apply", levels), ("attack", {})):
        answer = client.post(f"/api/v1/releases/{release}/{what}", json=body)
        assert answer.status_code == 422
        assert "under Roles" in answer.json()["detail"]
        assert "pseudonyms.key" not in answer.text
    for what in ("risk", "utility", "report", "prices", "riskiest"):  # which need no key
        body = {"levels": {}} if what == "prices" else {}
        assert client.done(client.post(f"/api/v1/releases/{release}/{what}", json=body))["problem"] is None, (
            what
        )
    assert client.get(f"/api/v1/releases/{release}/table.csv").status_code == 200
    client.put("/api/v1/plan/key", json={"key": KEY})
    assert client.result(client.post(f"/api/v1/releases/{release}/apply", json=levels))["release"]


@pytest.mark.parametrize(
    ("key", "why"),
    [("00" * 16, "repeating pattern"), ("abcd", "has 2 bytes"), ("mine and dear", "hexadecimal")],
)
def test_a_weak_key_is_refused_and_not_repeated(client, key, why):
    answer = client.put("/api/v1/plan/key", json={"key": key})
    assert answer.status_code == 422
    assert why in answer.json()["detail"]
    assert key not in answer.text


def test_no_key_file_of_the_machine_is_read(client, tmp_path):
    file = tmp_path / "other.key"
    file.write_text(KEY)
    recipe = {
        "quasi_identifiers": HIERARCHIES,
        "others": "drop",
        "person": "patient",
        "knows": "all rows",
        "identifying": {"patient": "pseudonym"},
        "models": [{"kind": "KAnonymity", "k": 2}],
        "pseudonym_key": str(file),
    }
    answer = client.post("/api/v1/releases", json={"recipe": generalize_data(**recipe)})
    assert answer.status_code == 422
    assert all(fact in answer.json()["detail"] for fact in ("a key of", "named here"))


def test_masks_make_pseudonyms_of_any_identifying_column_first(client):
    step = {"kind": "RankSwapping", "columns": ["age"], "p": 5}
    client.change(way="masks", masks=[step], person=None, treatments={"patient": "pseudonym"}, keyed=True)
    client.put("/api/v1/plan/key", json={"key": KEY})
    plan = client.get("/api/v1/plan").json()
    assert "KeyedPseudonyms(columns=('patient',), key_file='pseudonyms.key')" in plan["code"]["python"]
    release = client.result(client.post("/api/v1/releases", json={}))["release"]
    rows = client.post(f"/api/v1/releases/{release}/rows", json={}).json()
    shown = {row[rows["columns"].index("patient")] for row in rows["rows"]}
    people = pa.table({"patient": [f"p{i:03}" for i in range(50)]})
    method = KeyedPseudonyms("patient", key=KEY)
    assert shown <= set(veil.mask(people, [method], person=None).arrow["patient"].to_pylist())
    assert KEY.encode() not in everything_told(client, release)


def test_linked_columns_lose_their_cells_together(client):
    step = {"kind": "LocalSuppression", "columns": ["age", "sex", "zip"], "k": 13}
    client.change(way="masks", masks=[step], person=None, linked={"region": "zip"})
    release = client.result(client.post("/api/v1/releases", json={}))["release"]
    rows = client.post(f"/api/v1/releases/{release}/rows", json={}).json()
    table = read_text(VISITS)
    expected = veil.mask(
        table.drop_columns(["patient", "weight", "home"]),
        [LocalSuppression(["age", "sex", "zip"], 13, linked={"region": "zip"})],
        person=None,
        order="input",
    ).arrow
    assert expected["zip"].null_count
    assert expected["region"].is_null().equals(expected["zip"].is_null())
    at = [rows["columns"].index(name) for name in ("zip", "region")]
    assert all((row[at[0]] is None) == (row[at[1]] is None) for row in rows["rows"])


def read_text(text):
    from io import BytesIO

    from pyarrow import csv

    return csv.read_csv(BytesIO(text.encode()))


def test_weights_and_households_are_judged_before_and_after(client):
    client.change(weights="weight", household="home", person=None, models=[{"kind": "KAnonymity", "k": 40}])
    release = client.result(client.post("/api/v1/releases", json={}))["release"]
    asked = {"weights": "weight", "household": "home"}
    told = client.result(client.post(f"/api/v1/releases/{release}/risk", json=asked))
    expected = veil.risk.analyze(
        read_text(VISITS), list(HIERARCHIES), person=None, untouched=True, **asked
    ).to_dict()
    assert told["before"]["individual"] == json.loads(json.dumps(expected["individual"]))
    after = told["after"]["individual"]
    assert 0 < after["expected"] < told["before"]["individual"]["expected"]
    assert after["household"]["households"] > 0
    # Whether the release is outdated is a matter of what is carried out, not of what is looked at.
    assert client.get(f"/api/v1/releases/{release}").json()["outdated"] is False


def test_another_table_takes_away_what_was_said_of_columns_that_it_has_not(client):
    client.change(
        person="patient",
        treatments={"patient": "pseudonym"},
        weights="weight",
        household="home",
        response="ill",
        linked={"region": "zip"},
    )
    client.open("age,ill\n" + "30,x\n40,y\n" * 5, "other.csv")
    draft = client.get("/api/v1/plan").json()["draft"]
    assert draft["roles"] == {"age": "quasi-identifying", "ill": "sensitive"}
    assert (draft["person"], draft["treatments"], draft["linked"]) == ("ask", {}, {})
    assert (draft["weights"], draft["household"], draft["response"]) == (None, None, "ill")


SPELLED = "patient,age,sex\n" + "".join(
    f"{'Pp'[i % 2]}{i // 4},{30 + i % 5},{'fm'[i % 2]}\n" for i in range(80)
)


def test_spellings_of_people_are_a_question_that_is_answered_once(client):
    table = client.open(SPELLED)
    roles = {"patient": "identifying", "age": "quasi-identifying", "sex": "drop"}
    models = [{"kind": "KAnonymity", "k": 2}]
    client.change(person="patient", roles=roles, hierarchies={"age": "suppression"}, models=models)
    task = client.done(client.post("/api/v1/releases", json={}))
    assert task["problem"]["spellings"] == ["patient=folded", "patient=as written"]
    asked = {"columns": ["age"], "person": "patient"}
    refused = client.post(f"/api/v1/tables/{table}/singling-out", json=asked)
    assert (refused.status_code, refused.json()["spellings"]) == (422, task["problem"]["spellings"])
    people = {}
    for spelling in ("folded", "as written"):
        plan = client.change(spelling=spelling)
        assert f"person: patient={spelling}" in plan["code"]["recipe"]
        made = client.result(client.post("/api/v1/releases", json={}))["release"]
        people[spelling] = client.get(f"/api/v1/releases/{made}").json()["people"]
        assert client.result(client.post(f"/api/v1/releases/{made}/risk", json={}))
        asked["person"] = f"patient={spelling}"
        assert client.post(f"/api/v1/tables/{table}/singling-out", json=asked).status_code == 200
        hierarchy = {"table": table, "column": "age", "builder": "suppression"}
        assert client.post("/api/v1/hierarchies/preview", json=hierarchy).status_code == 200
    assert people == {"folded": 20, "as written": 40}
    # A recipe says the same as the page, and another column is another question.
    text = plan["code"]["recipe"].replace("as written", "folded")
    draft = client.put("/api/v1/plan/recipe", json={"text": text}).json()["draft"]
    assert (draft["person"], draft["spelling"]) == ("patient", "folded")
    assert client.change(person="sex")["draft"]["spelling"] is None
    masks = {"steps": [{"kind": "RankSwapping", "columns": ["age"], "p": 5}], "quasi_identifiers": ["age"]}
    masks["person"] = "patient=folded"
    assert client.result(client.post("/api/v1/releases", json={"table": table, "masks": masks}))
