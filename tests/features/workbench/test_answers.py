"""What the server answers is what the library says; what one session has, no other one sees."""

from __future__ import annotations

import csv
import gc
import io
import json
import threading
import time
import zipfile

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import veil
from support.amount import tables
from support.recipes import generalize_data
from support.report import everything_in
from support.workbench import Client, workbench
from veil import hierarchies as h
from veil.recipe import Recipe
from veil.recipe.as_code import python_code
from veil.synthetic import patients
from veil.tables import read, write
from veil.web import jobs as web_jobs
from veil.web.problems import sentence
from veil.web.uploads import READING

QUASI = {"age": {"kind": "intervals", "widths": [5, 10, 20]}, "sex": "suppression", "zip": "redaction"}
RECIPE = {
    "quasi_identifiers": QUASI,
    "sensitive": ["diagnosis"],
    "others": "drop",
    "models": [{"kind": "KAnonymity", "k": 5}],
    "suppression_limit": 0.05,
}


@pytest.fixture(scope="module")
def bench():
    with workbench(apart=False) as made:
        yield made


@pytest.fixture
def client(bench):
    return Client(bench)


@pytest.fixture(scope="module")
def csv_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("web") / "patients.csv"
    write(patients(400), path)
    return path


@pytest.fixture
def table(client, csv_file):
    return client.result(client.send_table("patients.csv", csv_file.read_bytes()))["table"]


@pytest.fixture
def release(client, table):
    return client.result(
        client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**RECIPE)})
    )["release"]


def by_library(recipe, source):
    return veil.anonymize(source, Recipe(**generalize_data(**recipe)).plan())


# --- the same answer


def test_profile_and_rows_are_those_of_the_table(client, table, csv_file):
    source = read(csv_file).table
    told = client.get(f"/api/v1/tables/{table}/profile").json()
    assert told["columns"] == json.loads(json.dumps([each.to_dict() for each in veil.profile(source)]))
    page = client.post(f"/api/v1/tables/{table}/rows", json={"start": 3, "count": 2}).json()
    expected = [
        [None if each is None else str(each) for each in row.values()]
        for row in source.slice(3, 2).to_pylist()
    ]
    assert page["rows"] == expected
    ages = client.post(
        f"/api/v1/tables/{table}/rows", json={"sort": "age", "descending": True, "count": 9}
    ).json()
    column = ages["columns"].index("age")
    oldest = sorted((each for each in source["age"].to_pylist() if each is not None), reverse=True)[:9]
    assert [int(row[column]) for row in ages["rows"]] == oldest


def test_roles_and_singling_out_are_those_of_the_library(client, table, csv_file):
    source = read(csv_file).table
    roles = client.get(f"/api/v1/tables/{table}/roles").json()
    assert [(each["column"], each["role"]) for each in roles] == [
        (each.column, each.role) for each in veil.risk.propose_roles(source)
    ]
    told = client.post(f"/api/v1/tables/{table}/singling-out", json={"columns": ["age", "zip"]}).json()
    alone = source.group_by(["age", "zip"]).aggregate([([], "count_all")])["count_all"].to_pylist().count(1)
    assert (told["records"], told["share"]) == (alone, alone / source.num_rows)


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
    job = client.done(
        client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**recipe)})
    )
    if job["state"] == "failed":
        with pytest.raises(veil.VeilError) as caught:
            by_library(recipe, csv_file)
        assert job["problem"]["detail"] in sentence(caught.value)
        return
    expected = by_library(recipe, csv_file)
    told = client.get(f"/api/v1/releases/{job['result']['release']}").json()
    assert told["search"]["transformation"] == expected.transformation
    assert told["search"]["score"] == expected.score
    assert told["suppressed"] == expected.suppressed
    assert told["measures"] == json.loads(json.dumps(expected.measures()))


def test_prices_nodes_and_another_transformation(client, release, csv_file):
    expected = by_library(RECIPE, csv_file)
    found = client.result(client.post(f"/api/v1/releases/{release}/prices", json={"levels": {}}))["prices"]
    assert [(each["column"], each["level"], each["score"]) for each in found] == [
        (each.column, each.level, each.score) for each in expected.search.prices()
    ]
    cheap = min(
        (each for each in found if each["column"] == "age" and each["level"] == 1),
        key=lambda each: each["score"],
    )
    made = client.result(
        client.post(f"/api/v1/releases/{release}/apply", json={"levels": cheap["transformation"]})
    )
    told = client.get(f"/api/v1/releases/{made['release']}").json()
    assert told["search"]["score"] == cheap["score"]
    assert not told["search"]["is_optimum"]
    assert told["holds"]
    around = client.post(f"/api/v1/releases/{release}/nodes/evaluate", json={"levels": {}}).json()["nodes"]
    assert around[0]["levels"] == list(expected.transformation.values())


def test_risk_and_utility_are_those_of_the_library(client, release, csv_file):
    expected = by_library(RECIPE, csv_file)
    risk = client.result(client.post(f"/api/v1/releases/{release}/risk", json={"threshold": 0.1}))
    assert risk["after"]["attackers"] == veil.risk.analyze(expected, threshold=0.1).to_dict()["attackers"]
    use = client.result(client.post(f"/api/v1/releases/{release}/utility", json={}))["utility"]
    assert use["quality"] == json.loads(json.dumps(expected.utility().to_dict()["quality"]))


def test_the_files_that_are_handed_over_can_be_checked(client, release, tmp_path):
    for path, name in (("table.csv", "r.csv"), ("certificate", "c.json"), ("table.parquet", "r.parquet")):
        answer = client.get(f"/api/v1/releases/{release}/{path}")
        assert answer.status_code == 200
        (tmp_path / name).write_bytes(answer.content)
    for name in ("r.csv", "r.parquet"):
        assert not veil.verify(tmp_path / name, certificate=tmp_path / "c.json").broken
    rows = list(csv.reader(io.StringIO((tmp_path / "r.csv").read_text())))
    assert "name" not in rows[0]
    rows[1][0] = "17"
    with (tmp_path / "forged.csv").open("w", newline="") as file:
        csv.writer(file).writerows(rows)
    assert veil.verify(tmp_path / "forged.csv", certificate=tmp_path / "c.json").broken


def test_the_recipe_that_is_handed_over_makes_the_same_release(client, release, csv_file, tmp_path):
    text = client.get(f"/api/v1/releases/{release}/recipe").text
    (tmp_path / "recipe.yaml").write_text(text)
    recipe = Recipe.read(tmp_path / "recipe.yaml")
    told = client.get(f"/api/v1/releases/{release}").json()
    assert veil.anonymize(csv_file, recipe.plan()).transformation == told["search"]["transformation"]


def test_python_code_makes_the_same_plan(monkeypatch):
    """The drawer shows code; whoever runs it gets what was chosen."""
    fields = {**RECIPE, "minimum_levels": {"age": 1}, "quality": {"kind": "Loss"}}
    recipe = Recipe(**generalize_data(**fields, local={"kind": "FastIterative"}))
    taken = {}
    monkeypatch.setattr(
        veil, "anonymize", lambda table, **given: taken.update(table=table, **given) or _Saved()
    )
    exec(python_code(recipe, "patients.csv"), {})
    assert taken.pop("table") == "patients.csv"
    assert taken.pop("local") == recipe.recoding
    assert veil.Plan(**taken) == recipe.plan()


class _Saved:
    def save(self, path):
        pass

    certificate = save


def test_the_report_is_shown_in_a_frame_in_which_nothing_runs(client, release):
    answer = client.get(f"/api/v1/releases/{release}/report.html")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("sandbox;")
    assert "script-src" not in policy
    assert "default-src 'none'" in policy
    assert "<h1" in answer.text


# --- questions beside the way


def test_filters_keep_the_rows_that_the_library_would_keep(client, table, csv_file):
    source = read(csv_file).table
    asked = {
        "filters": [
            {"column": "age", "first": "30", "last": "50"},
            {"column": "sex", "first": "female", "last": "female"},
        ]
    }
    told = client.post(f"/api/v1/tables/{table}/rows", json=asked | {"sort": "age"}).json()
    kept = [
        row
        for row in source.to_pylist()
        if row["age"] is not None and 30 <= row["age"] <= 50 and row["sex"] == "female"
    ]
    assert told["total"] == len(kept)
    ages = [int(row[told["columns"].index("age")]) for row in told["rows"]]
    assert ages == sorted(row["age"] for row in kept)[:100]
    none = client.post(
        f"/api/v1/tables/{table}/rows", json={"filters": [{"column": "age", "missing": True}]}
    ).json()
    assert none["total"] == source["age"].null_count
    wrong = client.post(
        f"/api/v1/tables/{table}/rows", json={"filters": [{"column": "age", "first": "a", "last": "b"}]}
    )
    assert wrong.status_code == 422
    for bars in client.get(f"/api/v1/tables/{table}/profile").json()["columns"]:
        for bar in bars["bars"][:3]:
            asked = {"filters": [{"column": bars["name"], "first": bar["first"], "last": bar["last"]}]}
            assert (
                client.post(f"/api/v1/tables/{table}/rows", json=asked).json()["total"] == bar["records"]
            ), (bars["name"], bar)


def test_a_column_is_read_again_with_another_type(client, table):
    how = client.get(f"/api/v1/tables/{table}").json()["format"]
    del how["kind"]
    again = client.result(
        client.patch(f"/api/v1/tables/{table}/format", json={**how, "types": {"age": "string"}})
    )
    types = {
        each["name"]: each["type"]
        for each in client.get(f"/api/v1/tables/{again['table']}/profile").json()["columns"]
    }
    assert types["age"] == "string"


def test_an_estimate_is_the_frontier_of_the_library(client, table, csv_file):
    client.put("/api/v1/plan/recipe", json={"text": json.dumps(generalize_data(**RECIPE, person=None))})
    told = client.result(client.post("/api/v1/frontier", json={"k": [10, 2]}))["frontier"]
    plan = Recipe(**generalize_data(**RECIPE, person=None)).plan()
    expected = veil.frontier(csv_file, plan, over={"KAnonymity.k": [2, 10]}).to_dict()
    for mine, theirs in zip(told["points"], expected["points"], strict=True):
        assert (mine["risks"], mine["utilities"]) == (
            theirs["risks"],
            json.loads(json.dumps(theirs["utilities"])),
        )


def test_attack_population_and_pairs_are_those_of_the_library(client, release, csv_file):
    expected = by_library(RECIPE, csv_file)
    found = client.result(client.post(f"/api/v1/releases/{release}/attack", json={}))["linkage"]
    linked = veil.risk.linkage_experiment(
        read(csv_file).table,
        expected.arrow,
        list(QUASI),
        hierarchies=expected.outcome.hierarchies,
        origins=expected.outcome.origins,
    )
    assert found["forward"] == pytest.approx(linked.forward)
    risk = client.result(client.post(f"/api/v1/releases/{release}/risk", json={"population": 100_000}))
    assert risk["before"]["population_uniques"]["population"] == 100_000
    pair = client.post(f"/api/v1/releases/{release}/pairs", json={"row": "age", "column": "sex"}).json()
    assert sum(map(sum, pair["before"]["shares"])) == pytest.approx(1)


def test_distributions_are_those_of_the_library_with_what_was_before_made_coarser_on_request(
    client, release, csv_file
):
    comparison = veil.utility.Comparison.of(by_library(RECIPE, csv_file))
    for column in comparison.shared:
        for coarsened in (False, True):
            asked = {"column": column, "coarsened": coarsened}
            told = client.post(f"/api/v1/releases/{release}/distribution", json=asked).json()
            found = veil.utility.distribution(comparison, column, coarsened=coarsened).to_dict()
            assert told["distance"] == found["distance"]
            for side in ("before", "after"):
                assert told[side].pop("different") == len(found[side]["values"])
                assert told[side] == {name: values[:500] for name, values in found[side].items()}
    told = client.post(
        f"/api/v1/releases/{release}/distribution", json={"column": "age", "coarsened": True}
    ).json()
    shown = {*told["after"]["values"], None}  # missing ages are suppressed, all of them
    assert {"[20, 40["} <= set(told["before"]["values"]) <= shown
    missing = client.post(f"/api/v1/releases/{release}/distribution", json={"column": "nothing"})
    assert missing.status_code == 404


def test_rows_stay_in_their_order_if_the_plan_says_so_and_code_recipe_and_release_agree(
    client, table, csv_file, tmp_path, monkeypatch
):
    client.put("/api/v1/plan/recipe", json={"text": json.dumps(generalize_data(**RECIPE, person=None))})
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


@pytest.mark.slow
def test_a_release_that_suppresses_too_much_is_handed_over_only_as_what_it_is(client, release, tmp_path):
    levels = dict.fromkeys(QUASI, 0)
    made = client.result(client.post(f"/api/v1/releases/{release}/apply", json={"levels": levels}))["release"]
    assert not client.get(f"/api/v1/releases/{made}").json()["holds"]
    for path in ("table.csv", "table.parquet", "certificate"):
        answer = client.get(f"/api/v1/releases/{made}/{path}")
        assert (answer.status_code, answer.json()["type"]) == (422, "VerificationError")
    assert client.post(f"/api/v1/releases/{made}/anyway", json={"reason": "short"}).status_code == 422
    taken = client.post(f"/api/v1/releases/{made}/anyway", json={"reason": "needed for an audit"})
    assert "-NOT-ANONYMOUS-needed-for-an-audit.csv" in taken.headers["content-disposition"]
    rows = list(csv.reader(io.StringIO(taken.text)))
    assert rows[0][0] == "NOT ANONYMOUS"
    assert {row[0] for row in rows[1:]} == {"needed for an audit"}
    assert client.get(f"/api/v1/releases/{made}").json()["not_anonymous"] == "needed for an audit"
    client.result(client.post(f"/api/v1/releases/{made}/report"))  # the one that the page shows
    for ending in ("html", "pdf", "json"):
        answer = client.get(f"/api/v1/releases/{made}/report.{ending}")
        german = client.get(f"/api/v1/releases/{made}/report.{ending}?language=de")
        if ending == "html":
            assert '<html lang="en">' in answer.text
            assert '<html lang="de">' in german.text
        assert f"-NOT-ANONYMOUS-report.{ending}" in answer.headers["content-disposition"]
        (tmp_path / f"report.{ending}").write_bytes(answer.content)
        assert "needed for an audit" in everything_in(tmp_path / f"report.{ending}")
    assert (
        client.post(f"/api/v1/releases/{release}/anyway", json={"reason": "needed for an audit"}).status_code
        == 409
    )


@pytest.mark.slow
def test_the_first_page_of_the_report_says_what_was_filled_in(client, release, tmp_path):
    client.change(about={"purpose": "waiting times", "recipient": "Ulm"})
    client.change(about={"recipient": None, "approved_by": "Dr. Roth"})
    for ending in ("html", "pdf", "json"):
        (tmp_path / f"report.{ending}").write_bytes(
            client.get(f"/api/v1/releases/{release}/report.{ending}").content
        )
        told = everything_in(tmp_path / f"report.{ending}")
        assert "waiting times" in told
        assert "Dr. Roth" in told
        assert "patients.csv" in told
        assert "Ulm" not in told
    assert (
        "about: {purpose: waiting times, approved_by: Dr. Roth}"
        in client.get(f"/api/v1/releases/{release}/recipe").text
    )
    client.result(client.post(f"/api/v1/releases/{release}/report?language=de", json={}))
    assert "Zweck" in client.get(f"/api/v1/releases/{release}/report.html?language=de").text
    assert "Zweck" not in client.get(f"/api/v1/releases/{release}/report.html?language=en").text
    wrong = client.patch("/api/v1/plan", json={"words": "test", "set": {"about": {"purpos": "x"}}})
    assert wrong.status_code == 422
    assert "mean 'purpose'?" in wrong.json()["detail"]


def test_hierarchies_are_handed_over_as_files_that_can_be_used_again(client, release, csv_file):
    answer = client.get(f"/api/v1/releases/{release}/hierarchies.zip")
    with zipfile.ZipFile(io.BytesIO(answer.content)) as files:
        assert [name[3:-4] for name in files.namelist()] == list(QUASI)
        rows = {
            name[3:-4]: list(csv.reader(files.read(name).decode().splitlines())) for name in files.namelist()
        }
    written = {name: h.table(each) for name, each in rows.items()}
    given = {**RECIPE, "quasi_identifiers": written, "models": veil.KAnonymity(5)}
    assert veil.anonymize(csv_file, **given).transformation == by_library(RECIPE, csv_file).transformation


def test_a_report_is_written_by_a_job_and_then_there(client, release):
    client.result(client.post(f"/api/v1/releases/{release}/report", json={}))
    first = client.get(f"/api/v1/releases/{release}/report.html")
    assert first.headers["content-security-policy"].startswith("sandbox;")
    assert first.text == client.get(f"/api/v1/releases/{release}/report.html").text


def test_rows_of_a_hierarchy_are_those_that_are_searched_with(client, table, csv_file):
    asked = {"table": table, "column": "age", "builder": QUASI["age"]}
    rows = client.post("/api/v1/hierarchies/rows", json=asked).json()["rows"]
    recipe = {**RECIPE, "quasi_identifiers": {**QUASI, "age": {"kind": "table", "rows": rows}}}
    assert by_library(recipe, csv_file).transformation == by_library(RECIPE, csv_file).transformation


# --- the plan


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


def test_nothing_that_fulfils_all_promises_is_a_failure_with_a_way_out(client, table):
    recipe = {**RECIPE, "maximum_levels": {"age": 0, "zip": 0}, "suppression_limit": 0.0}
    job = client.done(
        client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**recipe)})
    )
    assert (job["state"], job["problem"]["type"]) == ("failed", "NoSolutionError")
    assert "Raise `suppression_limit`" in job["problem"]["detail"]


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


# --- sessions


def test_no_session_sees_what_another_one_has(bench, client, table, release):
    other = Client(bench)
    job = next(iter(client.get("/api/v1/jobs").json()))["id"]
    for method, path in [
        ("GET", f"tables/{table}"),
        ("GET", f"tables/{table}/profile"),
        ("DELETE", f"tables/{table}"),
        ("GET", f"releases/{release}"),
        ("GET", f"releases/{release}/table.csv"),
        ("GET", f"releases/{release}/report.html"),
        ("GET", f"jobs/{job}"),
        ("GET", f"jobs/{job}/events"),
        ("DELETE", f"jobs/{job}"),
    ]:
        answer = other.request(method, f"/api/v1/{path}")
        never = other.request(
            method, f"/api/v1/{path.replace(table, 'x').replace(release, 'x').replace(job, 'x')}"
        )
        assert answer.status_code == 404, path
        assert answer.json() == never.json()  # as if it had never been
    assert other.get("/api/v1/session").json()["tables"] == []
    assert other.get("/api/v1/jobs").json() == []


def test_the_same_file_in_two_sessions_goes_with_each_of_them(bench, csv_file):
    first, second = Client(bench), Client(bench)
    ids = [each.result(each.send_table("p.csv", csv_file.read_bytes()))["table"] for each in (first, second)]
    first.delete("/api/v1/session")
    assert second.get(f"/api/v1/tables/{ids[1]}/profile").status_code == 200
    assert first.get(f"/api/v1/tables/{ids[0]}/profile").status_code == 403


def test_idle_sessions_end_and_leave_nothing(csv_file):
    with workbench(idle=0.0) as short:
        client = Client(short)
        time.sleep(0.01)
        assert client.get("/api/v1/plan").status_code == 403
        assert list(short.folder.iterdir()) == []


def test_closing_a_table_forgets_what_was_made_from_it(client, table, release):
    assert client.delete(f"/api/v1/tables/{table}").status_code == 200
    assert client.get(f"/api/v1/releases/{release}").status_code == 404
    assert client.get("/api/v1/plan").json()["draft"]["table"] is None


def test_nothing_stays_in_the_folder_of_a_workbench_that_was_closed(csv_file):
    with workbench() as made:
        client = Client(made)
        table = client.result(client.send_table("p.csv", csv_file.read_bytes()))["table"]
        client.result(
            client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**RECIPE)})
        )
        assert any(made.folder.rglob("*"))
    assert not made.folder.exists()


# --- jobs


def test_a_job_that_is_stopped_is_over_at_once_and_leaves_nothing():
    begun, go_on = threading.Event(), threading.Event()

    def work(job):
        job.report_progress("reading the table", 0, 0, "")
        begun.set()
        go_on.wait(60)
        job.report_progress("verifying", 0, 0, "")
        raise AssertionError("nobody waits for this any more")

    job = web_jobs.Task("anonymize", work).start()
    begun.wait(60)
    job.cancel()
    assert job.status()["state"] == "cancelled"  # while the thread is still in its step
    go_on.set()
    job.wait(60)
    assert (job.state, job.result) == ("cancelled", None)


def test_a_file_that_is_being_read_when_somebody_stops_leaves_nothing(bench, client):
    session = bench._sessions[client.cookies["veil-session"]]
    before = set(bench.folder.rglob("*"))
    for attempt in range(5):  # a machine may be so quick that the reading is over
        rows = "".join(f"{at},{at * 7 % 1000},text {at}\n" for at in range(attempt, 200_000))
        sent = client.send_table("large.csv", f"a,b,c\n{rows}".encode())
        job = session.job(sent.json()["id"])
        while job.state == "running" and job.phase in ("", READING):
            if job.phase == READING:
                break
            time.sleep(0.0005)
        told = client.delete(f"/api/v1/jobs/{job.id}").json()
        if told["phase"] == READING:
            break
    assert (told["phase"], told["state"]) == (READING, "cancelled")
    job.wait(60)  # until the thread has come to its next step
    assert (job.state, job.result) == ("cancelled", None)
    assert session.tables == {}
    gc.collect()
    assert set(bench.folder.rglob("*")) == before


def test_a_file_for_which_no_job_can_begin_leaves_nothing(bench, client):
    session, go_on = bench._sessions[client.cookies["veil-session"]], threading.Event()
    before = set(bench.folder.rglob("*"))
    jobs = [session.start("anonymize", lambda job: {"waited": go_on.wait(60)}) for _ in range(4)]
    try:
        assert client.send_table("t.csv", b"a\n1\n").status_code == 429
        assert set(bench.folder.rglob("*")) == before
    finally:
        go_on.set()
        for job in jobs:
            job.wait(60)


def test_a_search_that_is_stopped_keeps_the_best_so_far():
    begun, go_on = threading.Event(), threading.Event()

    def work(job):
        job.report_progress(web_jobs.SEARCHING, 0, 0, "")
        begun.set()
        go_on.wait(60)
        assert job.is_stopped()
        job.report_progress("applying", 0, 0, "")
        return {"release": "best so far"}

    job = web_jobs.Task("anonymize", work).start()
    begun.wait(60)
    job.cancel()
    go_on.set()
    job.wait(60)
    assert (job.state, job.result, job.status()["stopped"]) == ("done", {"release": "best so far"}, True)


def test_what_is_known_is_shown_while_the_job_runs_and_stays_when_it_is_stopped():
    shown, go_on = threading.Semaphore(0), threading.Event()

    def work(job):
        job.show({"prices": [1]})
        shown.release()
        go_on.wait(60)
        job.show({"prices": [1, 2]})
        return {"prices": [1, 2, 3]}

    stopped, finished = web_jobs.Task("prices", work).start(), web_jobs.Task("prices", work).start()
    assert shown.acquire(timeout=300)
    assert shown.acquire(timeout=300)
    assert stopped.status()["result"] == {"prices": [1]}
    stopped.cancel()
    go_on.set()
    stopped.wait(60)
    finished.wait(60)
    assert (stopped.state, stopped.result) == ("cancelled", {"prices": [1]})
    assert (finished.state, finished.result) == ("done", {"prices": [1, 2, 3]})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("tables/example", {}),
        ("releases", {"recipe": generalize_data(**RECIPE)}),
        ("releases/relax", {"recipe": generalize_data(**RECIPE)}),
        ("releases/{id}/prices", {"levels": {}}),
        ("releases/{id}/apply", {"levels": {"age": 3}}),
        ("releases/{id}/risk", {}),
        ("releases/{id}/utility", {}),
        ("releases/{id}/attack", {}),
        ("releases/{id}/report", {}),
    ],
)
def test_every_kind_of_job_is_stopped_at_once_in_any_phase(bench, client, table, release, path, body):
    """Whoever stops a job hears so in the answer, unless a search keeps its best; nothing half-made is left."""
    session = bench._sessions[client.cookies["veil-session"]]
    known = {*session.tables, *session.releases}
    files = {each for each in session.folder.rglob("*") if each.is_file()}
    sent = {"table": table, **body} if path.startswith("releases") and "{" not in path else body
    job = client.post(f"/api/v1/{path.replace('{id}', release)}", json=sent).json()
    told = client.delete(f"/api/v1/jobs/{job['id']}").json()
    assert told["state"] != "running" or told["phase"] == "searching"
    session.job(job["id"]).wait(300)
    ended = client.get(f"/api/v1/jobs/{job['id']}").json()
    if ended["state"] == "cancelled":
        assert ended["result"] is None or "prices" in ended["result"]  # those that were known
        assert {*session.tables, *session.releases} == known
    assert {each for each in session.folder.rglob("*") if each.is_file()} == files


def test_an_unexpected_error_tells_no_value():
    def work(job):
        raise KeyError("Ada Lovelace has the plague")

    job = web_jobs.Task("anonymize", work).start()
    job.wait(60)
    assert job.state == "failed"
    assert "Ada" not in json.dumps(job.status())


def test_a_job_is_followed_to_its_end(client):
    answer = client.post("/api/v1/tables/example")
    events = client.get(f"/api/v1/jobs/{answer.json()['id']}/events")
    assert events.headers["content-type"].startswith("text/event-stream")
    told = [
        json.loads(line.removeprefix("data: "))
        for line in events.text.splitlines()
        if line.startswith("data: ")
    ]
    assert told[-1]["state"] == "done"
    assert {each["phase"] for each in told} <= {"", "reading the table", "looking at the columns"}


def test_too_many_jobs_are_refused(bench, client):
    session = bench._sessions[client.cookies["veil-session"]]
    gate = threading.Event()
    for _ in range(4):
        session.start("anonymize", lambda job: gate.wait(60) and {})
    answer = client.post("/api/v1/tables/example")
    gate.set()
    assert answer.status_code == 429


# --- the catalogue


def test_every_preset_names_the_source_of_each_number(client):
    for preset in client.get("/api/v1/presets").json():
        numbers = " ".join(each["number"] for each in preset["sources"])
        for model in [*preset["models"], *preset["sensitive_models"]]:
            for name, value in model.items():
                assert name == "kind" or f"{name} = {value}" in numbers
        assert f"{100 * preset['suppression_limit']:g} %" in numbers
        assert all(each["why"] for each in preset["sources"])
        recipe = {
            **RECIPE,
            "models": [
                *preset["models"],
                *({**each, "attribute": "diagnosis"} for each in preset["sensitive_models"]),
            ],
        }
        Recipe(**generalize_data(**recipe)).plan()


def test_models_declare_their_ranges_and_attacks(client):
    told = {each["kind"]: each for each in client.get("/api/v1/models").json()}
    assert told["KAnonymity"]["parameters"][0]["schema"]["minimum"] == 1
    assert told["TCloseness"]["attacks"] == ["attribute linkage", "probabilistic"]
    assert "file" not in {each["kind"] for each in client.get("/api/v1/hierarchies").json()}


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


def test_levels_single_out_people_where_people_are_counted(client):
    """Two visits of one patient do not hide that nobody else has that date."""
    table = client.open("patient,born\n1,1950\n1,1950\n2,1960\n2,1960\n3,1960\n")
    asked = {"table": table, "column": "born", "builder": "suppression"}
    share = [client.post("/api/v1/hierarchies/preview", json=asked).json()["levels"][0]["singled_out"]]
    client.change(person="patient", roles={"patient": "identifying"})
    share.append(client.post("/api/v1/hierarchies/preview", json=asked).json()["levels"][0]["singled_out"])
    assert share == [0, 1 / 3]


def test_a_file_is_read_again_in_another_way(client):
    table = client.open("age;name\n1,5;x\n2,5;y\n")
    again = client.result(client.patch(f"/api/v1/tables/{table}/format", json={"decimal": ","}))["table"]
    types = [
        [each["type"] for each in client.get(f"/api/v1/tables/{one}/profile").json()["columns"]]
        for one in (table, again)
    ]
    assert types == [["string", "string"], ["decimal", "string"]]


def test_a_file_that_was_not_understood_is_sent_with_how_to_read_it(client):
    content = b"a title\nage;name\n1;x\n2;y\n"
    assert client.done(client.send_table("t.csv", content))["state"] == "failed"
    headers = {"Veil-File-Name": "t.csv", "Veil-Format": '{"separator": ";", "skip": 1}'}
    table = client.result(client.post("/api/v1/tables", content=content, headers=headers))["table"]
    assert client.get(f"/api/v1/tables/{table}").json()["columns"] == ["age", "name"]
    wrong = client.post(
        "/api/v1/tables", content=content, headers={**headers, "Veil-Format": '{"separator": "x"}'}
    )
    assert wrong.status_code == 422


def test_how_to_read_a_file_that_was_not_understood_is_proposed(client):
    content = "Klinikum\nAufnahmen;;\n\nName;Kosten\nJörg;1.664,71\nKäthe;770,27\n".encode("cp1252")
    told = client.post("/api/v1/tables/look", content=content).json()
    assert told["lines"][4] == "Jörg;1.664,71"
    headers = {"Veil-File-Name": "t.csv", "Veil-Format": json.dumps(told["format"])}
    table = client.result(client.post("/api/v1/tables", content=content, headers=headers))["table"]
    assert client.get(f"/api/v1/tables/{table}").json()["columns"] == ["Name", "Kosten"]
    assert client.post("/api/v1/tables/look", content=b"x" * 200_000).status_code == 413


def test_hierarchies_are_shared_with_python():
    """What the page sends is a hierarchy of a recipe."""
    assert Recipe(**generalize_data(**RECIPE)).plan().quasi_identifiers["age"] == h.intervals(5, 10, 20)
