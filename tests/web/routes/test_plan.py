"""Routes of the plan: changes step by step, hierarchies, and code that makes the same plan."""

from __future__ import annotations

import veil
from support.answers import QUASI, RECIPE, by_library
from support.recipes import generalize_data
from veil import hierarchies as h
from veil.recipe import Recipe
from veil.recipe.as_code import python_code


def test_a_preview_is_what_a_release_shows(client, table):
    told = client.post(
        "/api/v1/hierarchies/preview", json={"table": table, "column": "age", "builder": QUASI["age"]}
    ).json()
    levels = {"minimum_levels": {"age": 2}, "maximum_levels": {"age": 2}}
    recipe = {
        **RECIPE,
        "models": [{"kind": "KAnonymity", "k": 1}],
        "quasi_identifiers": {"age": QUASI["age"]},
        **levels,
    }
    made = client.result(
        client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**recipe)})
    )["release"]
    rows = client.post(f"/api/v1/releases/{made}/rows", json={}).json()
    shown = {row[rows["columns"].index("age")] for row in rows["rows"]}
    assert shown - {None} <= {label for label, _ in told["levels"][2]["bars"]}
    assert sum(records for _, records in told["levels"][2]["bars"]) == 400


def test_python_code_makes_the_same_plan(monkeypatch):
    """The drawer shows code; whoever runs it gets what was chosen."""
    recipe = Recipe(
        **generalize_data(
            **RECIPE,
            minimum_levels={"age": 1},
            quality={"kind": "Loss"},
            recoding={"kind": "FastIterative"},
        )
    )
    taken = {}
    monkeypatch.setattr(
        veil, "anonymize", lambda table, **given: taken.update(table=table, **given) or _Saved()
    )
    exec(python_code(recipe, "patients.csv"), {})
    assert taken.pop("table") == "patients.csv"
    assert veil.Plan(**taken) == recipe.plan()


class _Saved:
    def save(self, path):
        pass

    certificate = save


def test_rows_of_a_hierarchy_are_those_that_are_searched_with(client, table, csv_file):
    asked = {"table": table, "column": "age", "builder": QUASI["age"]}
    rows = client.post("/api/v1/hierarchies/rows", json=asked).json()["rows"]
    recipe = {**RECIPE, "quasi_identifiers": {**QUASI, "age": {"kind": "table", "rows": rows}}}
    assert by_library(recipe, csv_file).transformation == by_library(RECIPE, csv_file).transformation


def test_a_plan_step_by_step(client, table):
    missing = client.get("/api/v1/plan").json()["missing"]
    assert missing[0]["what"] == "undecided"
    roles = {each["column"]: each["role"] for each in client.get(f"/api/v1/tables/{table}/roles").json()}
    told = client.change(roles=roles, person=None)
    quasi = [name for name, role in roles.items() if role == "quasi-identifying"]
    assert told["missing"][0] == {"step": "levels", "what": "no hierarchy", "columns": ", ".join(quasi)}
    proposed = client.post("/api/v1/hierarchies/proposals", json={"table": table, "columns": quasi}).json()
    told = client.change(hierarchies=proposed["hierarchies"])
    assert [each["step"] for each in told["missing"]] == ["promises"]
    told = client.change(models=[{"kind": "KAnonymity", "k": 3}], suppression_limit=0.1)
    assert (told["missing"], told["problem"]) == ([], None)
    again = client.put("/api/v1/plan/recipe", json={"text": told["code"]["recipe"]}).json()
    assert again["draft"]["roles"] == told["draft"]["roles"]
    assert again["code"] == told["code"]
    made = client.result(client.post("/api/v1/releases", json={}))["release"]
    assert not client.get(f"/api/v1/releases/{made}").json()["outdated"]
    client.change(suppression_limit=0.2)
    assert client.get(f"/api/v1/releases/{made}").json()["outdated"]
    client.post("/api/v1/plan/undo")
    assert not client.get(f"/api/v1/releases/{made}").json()["outdated"]


def test_undo_and_redo_walk_the_changes(client, table):
    drafts = [client.get("/api/v1/plan").json()["draft"]]
    for k in (2, 3, 4):
        drafts.append(client.change(models=[{"kind": "KAnonymity", "k": k}])["draft"])
    for expected in reversed(drafts[:-1]):
        assert client.post("/api/v1/plan/undo").json()["draft"] == expected
    for expected in drafts[1:]:
        assert client.post("/api/v1/plan/redo").json()["draft"] == expected
    assert client.post("/api/v1/plan/redo").status_code == 409


def test_a_plan_that_changed_meanwhile_is_not_written_over(client, table):
    version = client.get("/api/v1/plan").json()["version"]
    client.change(suppression_limit=0.1)
    late = client.patch(
        "/api/v1/plan", json={"version": version, "words": "late", "set": {"suppression_limit": 0.2}}
    )
    assert late.status_code == 409
    assert client.get("/api/v1/plan").json()["draft"]["suppression_limit"] == 0.1


def test_what_the_plan_refuses_is_told_in_its_words(client, table):
    roles = dict.fromkeys(read_columns(client, table), "drop") | {"age": "quasi-identifying"}
    told = client.change(roles=roles, hierarchies={"age": "auto"}, models=[{"kind": "KAnonymity", "k": 0}])
    assert all(fact in told["problem"] for fact in ("models[0].k`", "not 0"))
    answer = client.post("/api/v1/releases", json={})
    assert (answer.status_code, answer.json()["type"]) == (422, "ParameterError")


def read_columns(client, table):
    return client.get(f"/api/v1/tables/{table}").json()["columns"]


def test_levels_single_out_people_where_people_are_counted(client):
    """Two visits of one patient do not hide that nobody else has that date."""
    table = client.open("patient,born\n1,1950\n1,1950\n2,1960\n2,1960\n3,1960\n")
    asked = {"table": table, "column": "born", "builder": "suppression"}
    share = [client.post("/api/v1/hierarchies/preview", json=asked).json()["levels"][0]["singled_out"]]
    client.change(person="patient", roles={"patient": "identifying"})
    share.append(client.post("/api/v1/hierarchies/preview", json=asked).json()["levels"][0]["singled_out"])
    assert share == [0, 1 / 3]


def test_hierarchies_are_shared_with_python():
    """What the page sends is a hierarchy of a recipe."""
    assert Recipe(**generalize_data(**RECIPE)).plan().quasi_identifiers["age"] == h.intervals(5, 10, 20)


def test_the_plan_says_which_ways_of_recoding_it_refuses(client, table):
    columns = client.get(f"/api/v1/tables/{table}").json()["columns"]
    roles = dict.fromkeys(columns, "drop") | dict.fromkeys(QUASI, "quasi-identifying")
    told = client.change(roles=roles, hierarchies=QUASI, person=None, models=RECIPE["models"])
    assert told["refused"] == {}
    told = client.change(suppression_limit=0.05)
    assert told["refused"].keys() == {"FromTheStart"}
    told = client.change(quality="ambiguity", recoding={"kind": "Cells"})
    assert told["refused"].keys() == {"FromTheStart", "Cells", "Subtree"}
    assert told["problem"] == told["refused"]["Cells"]
    assert client.change(recoding=None)["problem"] is None
    told = client.change(recoding={"kind": "FromTheStart"})
    assert told["problem"] == told["refused"]["FromTheStart"]
    subset = {"kind": "DeltaPresence", "minimum": 0, "maximum": 0.5, "subset": "age >= 30"}
    assert len(client.change(recoding=None, models=[subset])["refused"]) == 6  # all but the full domain
    told = client.change(models=[{"kind": "KAnonymity", "k": 0}])
    assert told["problem"]
    assert told["refused"] == {}  # something else is wrong
