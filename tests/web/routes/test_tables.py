"""Routes of tables: profiles, rows, roles and formats are those of the library."""

from __future__ import annotations

import json

import veil
from veil.tables import read


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


def test_closing_a_table_forgets_what_was_made_from_it(client, table, release):
    assert client.delete(f"/api/v1/tables/{table}").status_code == 200
    assert client.get(f"/api/v1/releases/{release}").status_code == 404
    assert client.get("/api/v1/plan").json()["draft"]["table"] is None


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
