"""Routes of questions before a release."""

from __future__ import annotations

import json

import veil
from support.answers import RECIPE
from support.recipes import generalize_data
from veil.recipe import Recipe


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


def test_what_a_table_fulfils_is_said_in_a_line_for_each_model(client, table, csv_file):
    asked = {"table": table, "quasi_identifiers": ["age", "sex"], "sensitive": ["diagnosis"]}
    told = client.result(client.post("/api/v1/assess", json=asked))["assessment"]
    expected = veil.assess(csv_file, quasi_identifiers=["age", "sex"], sensitive="diagnosis", person=None)
    assert [each["said"] for each in told["strengths"]] == [str(each) for each in expected]
