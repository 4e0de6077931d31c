"""Routes of ways side by side: figures of the library, and changes of the plan that make the same release."""

from __future__ import annotations

import time

import pytest

import veil
from support.answers import RECIPE
from support.recipes import generalize_data
from veil.recipe import Recipe
from veil.synthetic import patients
from veil.tables import write

PLAN = {**RECIPE, "person": None}
COMPLETE = PLAN | {"quasi_identifiers": {"stay": {"kind": "intervals", "widths": [5]}, "sex": "suppression"}}


@pytest.fixture
def draft(client, table):
    """The plan of the session."""
    columns = client.get(f"/api/v1/tables/{table}").json()["columns"]
    quasi = PLAN["quasi_identifiers"]
    roles = dict.fromkeys(columns, "drop") | dict.fromkeys(quasi, "quasi-identifying")
    return client.change(
        roles=roles | {"diagnosis": "sensitive"}, hierarchies=quasi, person=None, models=PLAN["models"],
        suppression_limit=PLAN["suppression_limit"],
    )["draft"]  # fmt: skip


def test_figures_are_those_of_the_library_and_each_has_the_change_that_takes_it(client, draft, csv_file):
    names = ["full-domain", "Mondrian"]
    told = client.result(client.post("/api/v1/ways", json={"ways": names}))
    expected = veil.compare_ways(csv_file, Recipe(**generalize_data(**PLAN)).plan(), ways=names)
    assert told["target"] == "diagnosis"
    assert told["original_accuracy"] == expected.original_accuracy
    for way in told["ways"]:
        figures = {**expected[way["name"]].to_dict(), "seconds": way["seconds"]}
        assert way.keys() - figures.keys() == {"set"}
        for name, figure in figures.items():  # rows are in random order, and sums depend on it
            assert way[name] == (pytest.approx(figure) if isinstance(figure, float) else figure)
        client.change(**way["set"])
        assert client.get("/api/v1/plan").json()["problem"] is None
        made = client.result(client.post("/api/v1/releases", json={}))["release"]
        assert client.get(f"/api/v1/releases/{made}").json()["suppressed"] == way["suppressed"]
    client.post("/api/v1/plan/undo")
    assert client.get("/api/v1/plan").json()["draft"]["way"] == "search"


def test_each_way_is_tried_whatever_recoding_the_plan_has(client, draft):
    client.change(quality="ambiguity", recoding={"kind": "Cells"})
    body = {"ways": ["full-domain", "subtree", "cells", "microaggregation"], "time_limit": 1}
    ways = {each["name"]: each for each in client.result(client.post("/api/v1/ways", json=body))["ways"]}
    assert ways["full-domain"]["set"] == {"way": "search", "recoding": None}
    for name in ("subtree", "cells", "microaggregation"):  # of losses only; no age in some rows
        assert ways[name]["problem"]
        assert ways[name]["set"] is None


def test_microaggregation_is_taken_as_a_masking_method(client, table):
    body = {"recipe": generalize_data(**COMPLETE), "ways": ["microaggregation"]}
    (way,) = client.result(client.post("/api/v1/ways", json=body))["ways"]
    (step,) = way["set"]["masks"]
    assert (step["kind"], step["k"], sorted(step["columns"])) == ("MDAV", 5, ["sex", "stay"])


def test_ways_that_are_done_stay_when_the_rest_is_stopped(client, tmp_path):
    write(patients(20_000), tmp_path / "p.csv")
    client.result(client.send_table("p.csv", (tmp_path / "p.csv").read_bytes()))
    body = {"recipe": generalize_data(**PLAN), "ways": ["full-domain", "cells"], "time_limit": 60}
    task = client.post("/api/v1/ways", json=body).json()
    until = time.monotonic() + 120
    while not (task["result"] and task["phase"] == "cells") and time.monotonic() < until:
        time.sleep(0.02)
        task = client.get(f"/api/v1/tasks/{task['id']}").json()
    task = client.delete(f"/api/v1/tasks/{task['id']}").json()
    assert task["state"] == "cancelled"
    assert [each["name"] for each in task["result"]["ways"]] == ["full-domain"]


def test_what_cannot_be_compared_is_refused(client, table):
    private = {**PLAN, "models": [{"kind": "SafePub", "epsilon": 1, "delta": 1e-6}]}
    for body in (
        {"recipe": generalize_data(**{**private, "suppression_limit": 0})},
        {"recipe": generalize_data(**PLAN), "target": "nobody"},
        {"recipe": generalize_data(**PLAN), "ways": ["by hand"]},
        {},  # the draft has no promise
    ):
        assert client.post("/api/v1/ways", json=body).status_code in (404, 422)
