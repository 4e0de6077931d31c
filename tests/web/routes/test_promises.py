"""Routes of promises: they stand as the library says."""

from __future__ import annotations

import pytest

import veil
from support.recipes import generalize_data
from support.workbench import Client, workbench
from veil.recipe.recipe import Recipe
from veil.synthetic import patients
from veil.tables import read, write


@pytest.fixture(scope="module")
def bench():
    with workbench() as made:
        yield made


@pytest.fixture
def client(bench):
    return Client(bench)


def test_promises_stand_as_the_library_says(client, tmp_path):
    path = tmp_path / "patients.csv"
    write(patients(400), path)
    client.result(client.send_table("patients.csv", path.read_bytes()))
    models = [
        {"kind": "KAnonymity", "k": 3},
        {"kind": "SampleUniqueness", "threshold": 0.1},
        {"kind": "DistinctLDiversity", "attribute": "diagnosis", "l": 300},
    ]
    client.change(
        roles={
            "age": "quasi-identifying",
            "sex": "quasi-identifying",
            "diagnosis": "sensitive",
            "zip": "drop",
        },
        hierarchies={"age": "auto", "sex": "suppression"},
        models=models,
        person=None,
    )
    told = client.result(client.post("/api/v1/plan/promises"))["promises"]
    recipe = Recipe(
        **generalize_data(
            quasi_identifiers={"age": "auto", "sex": "suppression"},
            sensitive=["diagnosis"],
            others="drop",
            models=models,
            person=None,
        )
    )
    expected = veil.promises(read(path).table, recipe.plan())
    assert [each["finding"]["measured"] for each in told] == [each.finding.measured for each in expected]
    assert [each["impossible"] for each in told] == [each.impossible for each in expected]
    assert [[step["said"] for step in each["follows"]] for each in told] == [
        [str(step) for step in each.follows] for each in expected
    ]
    assert told[1]["follows"]
    assert told[2]["impossible"] is not None
