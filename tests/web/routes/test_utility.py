"""Routes of utility: figures before and after are those of the library."""

from __future__ import annotations

import json

import veil
from support.answers import RECIPE, by_library


def test_risk_and_utility_are_those_of_the_library(client, release, csv_file):
    expected = by_library(RECIPE, csv_file)
    risk = client.result(client.post(f"/api/v1/releases/{release}/risk", json={"threshold": 0.1}))
    assert risk["after"]["attackers"] == veil.risk.analyze(expected, threshold=0.1).to_dict()["attackers"]
    use = client.result(client.post(f"/api/v1/releases/{release}/utility", json={}))["utility"]
    assert use["quality"] == json.loads(json.dumps(expected.utility().to_dict()["quality"]))


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
