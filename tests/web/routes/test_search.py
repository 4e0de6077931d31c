"""Routes of the search space: level costs, nodes and another transformation."""

from __future__ import annotations

from support.answers import RECIPE, by_library


def test_prices_nodes_and_another_transformation(client, release, csv_file):
    expected = by_library(RECIPE, csv_file)
    found = client.result(client.post(f"/api/v1/releases/{release}/prices", json={"levels": {}}))["prices"]
    assert [(each["column"], each["level"], each["score"]) for each in found] == [
        (each.column, each.level, each.score) for each in expected.search.level_costs()
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
