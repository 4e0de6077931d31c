"""Routes of the catalogue: presets and models."""

from __future__ import annotations

from support.answers import RECIPE
from support.recipes import generalize_data
from veil.recipe import Recipe


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
