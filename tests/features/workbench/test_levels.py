"""Levels over the API: proposals, what is not covered, and any hierarchy as groups that a person can change."""

from __future__ import annotations

import pytest

from support.recipes import generalize_data
from support.workbench import Client, workbench
from veil import hierarchies as h
from veil.recipe.recipe import Recipe
from veil.synthetic import patients
from veil.tables import read, write

LAND = {"kind": "categories", "tree": {"Europe": {"DACH": ["AT", "DE"], "Europe": ["IT"]}, "Asia": ["JP"]}}


TABLE = (
    "land,age\n" + "".join(f"{('AT', 'DE', 'IT', 'JP')[i % 4]},{i % 60}\n" for i in range(80)) + ",7\nBR,8\n"
)


@pytest.fixture(scope="module")
def bench():
    with workbench() as made:
        yield made


@pytest.fixture
def client(bench):
    return Client(bench)


def ask(client, table, what, builder, column="land"):
    answer = client.post(
        f"/api/v1/hierarchies/{what}", json={"table": table, "column": column, "builder": builder}
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_is_not_covered_is_named_and_keeps_the_plan_from_being_complete(client):
    table = client.open(TABLE)
    told = ask(client, table, "coverage", LAND)
    assert told == {"levels": 4, "values": 6, "uncovered": ["BR"], "number": 1}
    shown = ask(client, table, "preview", LAND)
    assert (shown["uncovered"], shown["values"]) == (["BR"], 5)
    roles = {"land": "quasi-identifying", "age": "quasi-identifying"}
    plan = client.change(
        roles=roles, hierarchies={"land": LAND, "age": "auto"}, models=[{"kind": "KAnonymity", "k": 2}]
    )
    assert plan["missing"] == [{"step": "levels", "what": "not covered", "columns": "land"}]
    tree = {**LAND["tree"], "America": ["BR"]}
    assert client.change(hierarchies={"land": {"kind": "categories", "tree": tree}})["missing"] == []


@pytest.mark.parametrize(
    "builder",
    [
        {
            "kind": "table",
            "rows": [
                ["AT", "DACH", "*"],
                ["DE", "DACH", "*"],
                ["IT", "IT", "*"],
                ["JP", "JP", "*"],
                ["BR", "BR", "*"],
            ],
        },
        "suppression",
        "priority",
        "identity",
    ],
)
def test_any_hierarchy_becomes_groups_that_mean_the_same(client, builder):
    table = client.open(TABLE)
    made = ask(client, table, "groups", builder)["builder"]
    before, after = (ask(client, table, "rows", each)["rows"] for each in (builder, made))
    labels = lambda rows: {row[0]: row[1:] for row in rows if row[0] is not None}  # noqa: E731
    if builder != "identity":  # which has nothing above, and groups have
        assert labels(after) == labels(before)
    assert ask(client, table, "coverage", made)["number"] == 0


def test_proposals_are_those_of_the_library_and_each_can_be_carried_out(client, tmp_path):
    path = tmp_path / "patients.csv"
    write(patients(400), path)
    table = client.result(client.send_table("patients.csv", path.read_bytes()))["table"]
    source = read(path).table
    columns = ["age", "sex", "zip", "admission", "occupation"]
    told = client.post("/api/v1/hierarchies/proposals", json={"table": table, "columns": columns}).json()
    for name in columns:
        expected = h.proposals(source[name].unique(), name)
        assert [each["reason"] for each in told["choices"][name]] == [each.reason for each in expected]
        assert 2 <= len(expected) <= 3
        assert told["hierarchies"][name] == told["choices"][name][0]["builder"]
        for choice, each in zip(told["choices"][name], expected, strict=True):
            recipe = Recipe(
                **generalize_data(
                    quasi_identifiers={name: choice["builder"]}, models=[{"kind": "KAnonymity", "k": 2}]
                )
            )
            assert recipe.generalize.quasi_identifiers[name] == each.builder
            assert ask(client, table, "preview", choice["builder"], name)["number"] == 0
