"""Routes of risks: attacks and populations are those of the library."""

from __future__ import annotations

import pytest

import veil
from support.answers import QUASI, RECIPE, by_library
from veil.tables import read


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
