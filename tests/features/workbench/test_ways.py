"""The other ways to a release: masking methods, differential privacy with a budget, tables that an engine holds."""

from __future__ import annotations

import json
import shutil

import pytest

import veil
from support.recipes import generalize_data
from support.workbench import Client, workbench
from veil.synthetic import patients
from veil.tables import read, write

QUASI = ["age", "sex", "zip"]


RECIPE = {
    "quasi_identifiers": {"age": {"kind": "intervals", "widths": [5, 10, 20]}, "sex": "suppression", "zip": "redaction"},
    "sensitive": ["diagnosis"],
    "others": "drop",
    "person": None,
    "models": [{"kind": "KAnonymity", "k": 5}],
    "suppression_limit": 0.05,
}  # fmt: skip


@pytest.fixture(scope="module")
def bench():
    with workbench(allow_paths=True) as made:
        yield made


@pytest.fixture
def client(bench):
    return Client(bench)


@pytest.fixture
def table(client):
    return client.result(client.post("/api/v1/tables/example"))["table"]


def masks(*steps, **further):
    return {
        "masks": {
            "steps": list(steps),
            "quasi_identifiers": QUASI,
            "without": ["name"],
            "person": None,
            **further,
        }
    }


def test_masking_methods_make_a_release_that_is_looked_at_like_any_other(client, table):
    steps = [
        {"kind": "Mondrian", "quasi_identifiers": ["age", "zip"], "models": [{"kind": "KAnonymity", "k": 5}]},
        {"kind": "RankSwapping", "columns": ["cost"], "p": 10},
    ]
    made = client.result(client.post("/api/v1/releases", json={"table": table, **masks(*steps)}))["release"]
    told = client.get(f"/api/v1/releases/{made}").json()
    assert told["holds"]
    assert [each["name"].split("(")[0] for each in told["steps"]] == ["Mondrian", "RankSwapping"]
    assert told["search"] is None
    risk = client.result(client.post(f"/api/v1/releases/{made}/risk", json={}))
    assert risk["before"]["quasi_identifiers"] == QUASI
    assert client.result(client.post(f"/api/v1/releases/{made}/utility", json={}))["utility"]
    content = client.get(f"/api/v1/releases/{made}/table.csv").text
    assert "name" not in content.splitlines()[0].split(",")
    assert client.get(f"/api/v1/releases/{made}/report.html").status_code == 200
    assert (
        client.get(f"/api/v1/releases/{made}/recipe").status_code == 422
    )  # which would not leave the names out


def test_masks_of_a_plan_are_told_as_code_that_leaves_the_same_columns_out(client, table):
    columns = client.get(f"/api/v1/tables/{table}").json()["columns"]
    roles = dict.fromkeys(columns, "insensitive") | {"name": "identifying", "age": "quasi-identifying"}
    told = client.change(way="masks", roles=roles, person=None)
    assert told["missing"] == [{"step": "search", "what": "no method"}]
    told = client.change(masks=[{"kind": "RankSwapping", "columns": ["age"], "p": 10}])
    assert (told["missing"], told["problem"]) == ([], None)
    assert "drop_columns(['name'])" in told["code"]["python"]
    assert told["code"]["recipe"] == ""
    made = client.result(client.post("/api/v1/releases", json={}))["release"]
    assert not client.get(f"/api/v1/releases/{made}").json()["outdated"]
    client.change(masks=[{"kind": "RankSwapping", "columns": ["age"], "p": 11}])
    assert client.get(f"/api/v1/releases/{made}").json()["outdated"]
    told = client.change(masks=[{"kind": "RankSwapping", "columns": ["age"], "p": 101}])
    assert "0 to 100" in told["problem"]


def test_masked_rows_stay_in_their_order_if_asked(client):
    table = client.open("age,wage\n" + "".join(f"{20 + at % 50},{at}\n" for at in range(300)))
    client.change(way="masks", roles={"age": "quasi-identifying", "wage": "insensitive"}, person=None)
    step = {"kind": "RankSwapping", "columns": ["age"], "p": 10}
    told = client.change(masks=[step], order="input")
    assert "order: input" in told["code"]["recipe"]
    assert "order='input'" in told["code"]["python"]
    made = client.result(client.post("/api/v1/releases", json={"table": table}))["release"]
    assert "order: input" in client.get(f"/api/v1/releases/{made}/recipe").text
    rows = client.get(f"/api/v1/releases/{made}/table.csv").text.splitlines()[1:]
    assert [row.split(",")[1] for row in rows] == [str(at) for at in range(300)]
    client.change(order="random")
    made = client.result(client.post("/api/v1/releases", json={"table": table}))["release"]
    rows = client.get(f"/api/v1/releases/{made}/table.csv").text.splitlines()[1:]
    assert [row.split(",")[1] for row in rows] != [str(at) for at in range(300)]
    assert "order" not in client.get(f"/api/v1/releases/{made}/recipe").text


@pytest.mark.parametrize(
    "step",
    [
        {"kind": "KeyedPseudonyms", "columns": ["name"], "key_file": "/etc/hostname"},
        {"kind": "KeyedPseudonyms", "columns": ["name"], "key_variable": "HOME"},
        {"kind": "MInvariance", "attribute": "a", "m": 2, "quasi_identifiers": ["b"], "person": "p", "history": "/tmp/x"},
        {"kind": "GlobalRecoding", "column": "age", "hierarchy": "/etc/hostname"},
    ],
)  # fmt: skip
def test_masks_read_and_write_no_file_of_this_machine(client, table, step):
    answer = client.post("/api/v1/releases", json={"table": table, **masks(step)})
    assert answer.status_code == 422
    assert "of this machine" in answer.json()["detail"]


def test_levels_are_written_down_over_all_possible_values(client, table):
    asked = {"table": table, "column": "age", "builder": {"kind": "intervals", "widths": [50, 100]}}
    told = client.post("/api/v1/hierarchies/written", json={**asked, "first": 0, "last": 99}).json()
    rows = told["builder"]["rows"]
    assert [row[0] for row in rows] == [*(str(age) for age in range(100)), None]
    assert {row[1] for row in rows[:-1]} == {"[0, 50[", "[50, 100["}
    assert client.post("/api/v1/hierarchies/written", json={**asked, "values": ["old"]}).status_code == 422
    assert client.post("/api/v1/hierarchies/written", json=asked).status_code == 422


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("parts")
    for part in range(3):
        write(patients(700, seed=part), place / f"part-{part}.parquet")
    return place


def test_a_folder_is_released_by_its_engine_as_by_the_library(client, folder, tmp_path):
    pytest.importorskip("ibis")
    opened = client.result(client.post("/api/v1/tables/from", json={"path": str(folder)}))
    told = client.get(f"/api/v1/tables/{opened['table']}").json()
    assert (told["rows"], told["shown"], told["engine"]) == (2100, 2100, "duckdb")
    alone = client.post(f"/api/v1/tables/{opened['table']}/singling-out", json={"columns": QUASI}).json()
    whole = read(patients(1)).table
    assert set(told["columns"]) == set(whole.column_names)
    made = client.result(
        client.post("/api/v1/releases", json={"table": opened["table"], "recipe": generalize_data(**RECIPE)})
    )
    release = client.get(f"/api/v1/releases/{made['release']}").json()
    expected = veil.anonymize(str(folder), veil.Recipe(**generalize_data(**RECIPE)).plan())
    assert release["search"]["transformation"] == expected.transformation
    assert release["suppressed"] == expected.suppressed
    assert alone["share"] == release["risk"]["before"]["uniques"]
    rows = client.post(f"/api/v1/releases/{made['release']}/rows", json={"count": 5}).json()
    assert len(rows["rows"]) == 5
    assert client.result(client.post(f"/api/v1/releases/{made['release']}/risk", json={}))["after"]
    for path, name in (("table.parquet", "r.parquet"), ("certificate", "c.json")):
        answer = client.get(f"/api/v1/releases/{made['release']}/{path}")
        assert answer.status_code == 200, answer.text
        (tmp_path / name).write_bytes(answer.content)
    assert not veil.verify(tmp_path / "r.parquet", certificate=tmp_path / "c.json").broken
    task = client.done(client.post(f"/api/v1/releases/{made['release']}/utility", json={}))
    assert "in memory" in task["problem"]["detail"]


def test_a_folder_without_a_sign_that_its_job_has_finished_is_opened_with_a_note(client, folder, tmp_path):
    pytest.importorskip("ibis")
    shutil.copy(folder / "part-0.parquet", tmp_path / "part-00000-0a1b2c3d-0000.parquet")

    def notes():
        opened = client.result(client.post("/api/v1/tables/from", json={"path": str(tmp_path)}))
        return client.get(f"/api/v1/tables/{opened['table']}").json()["notes"]

    for _ in range(2):  # each time, not only once a process
        (note,) = notes()
        assert "_SUCCESS" in note
    (tmp_path / "_SUCCESS").touch()
    assert notes() == []


def test_a_check_writes_nothing_beside_a_table_of_this_machine(client, tmp_path):
    release = veil.anonymize(patients(400), veil.Recipe(**generalize_data(**RECIPE)).plan())
    place = tmp_path / "read only"
    place.mkdir()
    release.save(place / "release.csv")
    certificate = json.loads(release.certificate(tmp_path / "c.json").read_text("utf-8"))
    opened = client.result(client.post("/api/v1/tables/from", json={"path": str(place / "release.csv")}))
    before = place.stat().st_mtime_ns
    told = client.result(client.post("/api/v1/verify", json={**opened, "certificate": certificate}))
    assert told["holds"]
    assert place.stat().st_mtime_ns == before  # no file came and went


def test_a_table_of_a_database_is_opened_by_its_address(client, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    write(patients(300), tmp_path / "p.parquet")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as base:
        base.execute(f"create table stays as select * from '{tmp_path / 'p.parquet'}'")
    opened = client.result(
        client.post("/api/v1/tables/from", json={"path": f"duckdb://{tmp_path}/clinic.duckdb#stays"})
    )
    assert client.get(f"/api/v1/tables/{opened['table']}").json()["rows"] == 300
    wrong = client.done(
        client.post("/api/v1/tables/from", json={"path": "postgres://ann:s3cret@127.0.0.1:1/x#y"})
    )
    assert wrong["state"] == "failed"
    assert wrong["problem"]["status"] < 500
    assert "s3cret" not in str(wrong)


def test_people_are_looked_for_in_all_rows_that_an_engine_holds(client, tmp_path):
    """Of two rows of a person, hardly any two are among those that are shown."""
    duckdb = pytest.importorskip("duckdb")
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as base:
        base.execute(
            "create table stays as select i // 2 as patient_id, i % 90 as age from range(400000) t(i)"
        )
    opened = client.result(
        client.post("/api/v1/tables/from", json={"path": f"duckdb://{tmp_path}/clinic.duckdb#stays"})
    )
    told = client.get(f"/api/v1/tables/{opened['table']}/profile").json()["repeated"]
    assert [(each["columns"], each["people"], each["rows"]) for each in told] == [
        (["patient_id"], 200_000, 400_000)
    ]


def test_another_table_keeps_what_fits_it_and_asks_for_the_rest(client):
    client.open("patient,age,wage\n1,30,5\n1,40,6\n2,50,7\n")
    client.change(
        person="patient",
        roles={"patient": "identifying", "age": "quasi-identifying", "wage": "sensitive"},
        models=[{"kind": "KAnonymity", "k": 2}, {"kind": "DistinctLDiversity", "attribute": "wage", "l": 2}],
    )
    client.open("age,diagnosis\n30,a\n40,b\n")
    draft = client.get("/api/v1/plan").json()["draft"]
    assert draft["roles"] == {"age": "quasi-identifying"}
    assert draft["models"] == [{"kind": "KAnonymity", "k": 2}]
    assert draft["person"] == "ask"


def test_addresses_are_opened_only_where_paths_are_allowed():
    with workbench() as closed:
        client = Client(closed)
        answer = client.post("/api/v1/tables/from", json={"path": "duckdb:///tmp/x.duckdb#t"})
        assert (answer.status_code, answer.json()["type"]) == (403, "PathsNotAllowed")
