"""Routes of releases: each is that of the library."""

from __future__ import annotations

import csv
import io
import json

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import veil
from support.amount import tables
from support.answers import QUASI, RECIPE, by_library
from support.recipes import generalize_data
from support.workbench import Client
from veil.recipe import Recipe
from veil.web.problems import sentence


def test_a_release_is_that_of_the_library(client, release, csv_file):
    expected = by_library(RECIPE, csv_file)
    told = client.get(f"/api/v1/releases/{release}").json()
    before, after = expected.risk()
    assert told["search"]["transformation"] == expected.transformation
    assert told["search"]["score"] == expected.score
    assert (told["suppressed"], told["classes"]) == (expected.suppressed, expected.classes)
    assert (told["risk"]["before"]["uniques"], told["risk"]["after"]["highest"]) == (
        before.uniques,
        after.highest,
    )
    assert told["holds"]
    assert len(told["findings"]) == len(expected.verification.findings)
    assert [each["key"] for each in told["concerns"]] == [each.key for each in expected.concerns]


@settings(
    max_examples=tables(5), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(
    k=st.integers(1, 8),
    limit=st.sampled_from([0.0, 0.05, 0.2, 1.0]),
    quality=st.sampled_from(["loss", "discernibility", "average_class_size"]),
    columns=st.sets(st.sampled_from(sorted(QUASI)), min_size=1),
    sensitive=st.sampled_from([[], [{"kind": "DistinctLDiversity", "attribute": "diagnosis", "l": 2}]]),
)
def test_random_plans_have_the_answer_of_the_library(bench, csv_file, k, limit, quality, columns, sensitive):
    client = Client(bench)
    table = client.result(client.send_table("patients.csv", csv_file.read_bytes()))["table"]
    recipe = {
        **RECIPE,
        "quasi_identifiers": {name: QUASI[name] for name in columns},
        "models": [{"kind": "KAnonymity", "k": k}, *sensitive],
        "suppression_limit": limit,
        "quality": quality,
    }
    task = client.done(
        client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**recipe)})
    )
    if task["state"] == "failed":
        with pytest.raises(veil.VeilError) as caught:
            by_library(recipe, csv_file)
        assert task["problem"]["detail"] in sentence(caught.value)
        return
    expected = by_library(recipe, csv_file)
    told = client.get(f"/api/v1/releases/{task['result']['release']}").json()
    assert told["search"]["transformation"] == expected.transformation
    assert told["search"]["score"] == expected.score
    assert told["suppressed"] == expected.suppressed
    assert told["measures"] == json.loads(json.dumps(expected.measures()))


def test_rows_stay_in_their_order_if_the_plan_says_so_and_code_recipe_and_release_agree(
    client, table, csv_file, tmp_path, monkeypatch
):
    client.put(
        "/api/v1/plan/recipe", json={"text": json.dumps(generalize_data(**{**RECIPE, "person": None}))}
    )
    told = client.change(order="input")
    assert "order: input" in told["code"]["recipe"]
    assert "order='input'" in told["code"]["python"]
    again = client.put("/api/v1/plan/recipe", json={"text": told["code"]["recipe"]}).json()
    assert again["draft"]["order"] == "input"
    made = client.result(client.post("/api/v1/releases", json={}))["release"]
    shown = client.get(f"/api/v1/releases/{made}").json()
    assert (shown["order"], shown["outdated"]) == ("input", False)
    assert "row order" in {each["kind"] for each in shown["concerns"]}  # which has to be accepted
    assert "order: input" in client.get(f"/api/v1/releases/{made}/recipe").text
    handed = client.get(f"/api/v1/releases/{made}/table.csv").text
    by_page = list(csv.DictReader(io.StringIO(handed)))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "patients.csv").write_bytes(csv_file.read_bytes())
    exec(told["code"]["python"], {})
    assert (tmp_path / "release.csv").read_text("utf-8") == handed
    was = list(csv.DictReader(io.StringIO(csv_file.read_text("utf-8"))))
    pairs = [(now["diagnosis"], each["diagnosis"]) for now, each in zip(by_page, was, strict=True)]
    assert all(now in ("*", each) for now, each in pairs)  # "*": suppressed
    client.change(order="random")
    assert client.get(f"/api/v1/releases/{made}").json()["outdated"]
    assert "order" not in client.get("/api/v1/plan").json()["code"]["recipe"]


def test_nothing_that_fulfils_all_promises_is_a_failure_with_a_way_out(client, table):
    recipe = {**RECIPE, "maximum_levels": {"age": 0, "zip": 0}, "suppression_limit": 0.0}
    task = client.done(
        client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**recipe)})
    )
    assert (task["state"], task["problem"]["type"]) == ("failed", "NoSolutionError")
    assert "Raise `suppression_limit`" in task["problem"]["detail"]


def test_what_to_relax_is_what_the_library_says_and_is_enough(client, table, csv_file):
    recipe = {**RECIPE, "maximum_levels": {"age": 1, "zip": 2}, "suppression_limit": 0.0}
    found = client.result(
        client.post("/api/v1/releases/relax", json={"table": table, "recipe": generalize_data(**recipe)})
    )
    expected = veil.relax(csv_file, Recipe(**generalize_data(**recipe)).plan())
    assert [each["said"] for each in found["relaxations"]] == [str(each) for each in expected]
    for each in found["relaxations"]:
        change = dict(each["set"])
        change.pop("preset", None)
        for name, (_, high) in change.pop("levels", {}).items():
            change["maximum_levels"] = {**recipe["maximum_levels"], name: high}
        made = client.done(
            client.post(
                "/api/v1/releases", json={"table": table, "recipe": generalize_data(**{**recipe, **change})}
            )
        )
        assert made["state"] == "done", each


def test_a_person_with_several_rows_is_asked_about(client):
    rows = "".join(f"p{i % 50},{20 + i % 40},flu\n" for i in range(300))
    table = client.open("patient_id,age,diagnosis\n" + rows)
    repeated = client.get(f"/api/v1/tables/{table}/profile").json()["repeated"]
    assert repeated[0]["columns"] == ["patient_id"]
    assert repeated[0]["people"] == 50
    told = client.post(
        f"/api/v1/tables/{table}/singling-out", json={"columns": ["age"], "person": "patient_id"}
    ).json()
    assert (
        told["share"]
        == veil.risk.singled_out(
            pa.table(
                {"patient_id": [f"p{i % 50}" for i in range(300)], "age": [20 + i % 40 for i in range(300)]}
            ),
            ["age"],
            person="patient_id",
        ).share
    )


@pytest.mark.parametrize("kind", ["Cells", "Subtree"])
def test_a_release_whose_records_have_labels_of_their_own_is_looked_at_like_any_other(client, table, kind):
    recipe = generalize_data(**{**RECIPE, "person": None, "recoding": {"kind": kind}, "time_limit": 2})
    made = client.result(client.post("/api/v1/releases", json={"table": table, "recipe": recipe}))["release"]
    place = f"/api/v1/releases/{made}"
    told = client.get(place).json()
    assert told["holds"]
    assert told["search"] is None
    recoding = told["recoding"]
    assert (recoding["kind"], recoding["score"] >= recoding["lower_bound"] >= 0) == (kind, True)
    assert recoding["curve"] == sorted(recoding["curve"], key=lambda each: each[0])
    assert recoding["sentence"]["en"] != recoding["sentence"]["de"]
    for path in ("nodes", "nodes/evaluate", "prices", "apply"):  # there are no others
        assert (
            client.post(f"{place}/{path}", json={} if path == "nodes" else {"levels": {}}).status_code == 422
        )
    assert len(client.post(f"{place}/rows", json={"by_class": True}).json()["rows"]) == 100
    assert client.post(f"{place}/distribution", json={"column": "age", "coarsened": True}).status_code == 200
    assert client.post(f"{place}/pairs", json={"row": "age", "column": "diagnosis"}).status_code == 200
    assert client.result(client.post(f"{place}/risk", json={}))["after"]
    assert client.result(client.post(f"{place}/utility", json={}))["utility"]
    assert client.result(client.post(f"{place}/associations"))
    for path in ("table.csv", "report.html", "certificate", "recipe"):
        answer = client.get(f"{place}/{path}")
        assert answer.status_code == 200, answer.text
        if path == "certificate":
            assert "lower_bound" not in answer.text
