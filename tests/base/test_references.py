"""No document from elsewhere names a file of this machine, whatever field it uses."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from support import refusals
from support.untrusted import SECRET, canaries, variants, watch
from veil import hierarchies as h
from veil import models as m
from veil.base.references import file_name, relocate, trusted, untrusted
from veil.errors import ParameterError, VeilError
from veil.masking import KeyedPseudonyms, MInvariance, Mondrian
from veil.models.subset import Matching
from veil.recipe.asking import AskingRecipe
from veil.recipe.base import Located, schema_of
from veil.recipe.masking import MaskingRecipe
from veil.recipe.policy import PolicyRecipe
from veil.recipe.private_table import PrivateTableRecipe
from veil.recipe.recipe import Recipe

RECIPES: list[type[Located]] = [Recipe, MaskingRecipe, PolicyRecipe, AskingRecipe, PrivateTableRecipe]

FILES = {
    Recipe: {".input", ".output", ".report", ".key", ".certificate", ".sign", ".pseudonym_key", ".tables.*"},
    MaskingRecipe: {".input", ".output", ".apart", ".steps[].key_file", ".steps[].history"},
    PolicyRecipe: {
        ".policy.policies",
        ".policy.population",
        ".policy.keys.*.key_file",
        ".policy.credential_variable",
    },
    AskingRecipe: {".budget", ".input"},
    PrivateTableRecipe: {".budget", ".output", ".domains.*"},
}
"""Some of the places that must have been refused, so that the test is about what it says."""


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_canary_in_any_field_of_any_recipe_is_not_touched(
    recipe: type[Located], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VEIL_CANARY", SECRET)
    names, schema = canaries(tmp_path), schema_of(recipe, secret="key")
    places = list({json.dumps(each): (place, each) for place, each in variants(schema, "CANARY")}.items())
    assert len(places) > 20
    if "VEIL_FUZZ" not in os.environ:
        must = [each for each in places if each[1][0] in FILES[recipe]]
        places = [*must, *random.sample(places, min(len(places), 300))]
    opened, refused_places = watch(), set()
    for number, (text, (place, _)) in enumerate(places):
        canary = names[number % len(names)]
        told, refused = _read(recipe, json.loads(text.replace('"CANARY"', json.dumps(canary))))
        assert SECRET not in told, place
        if refused:
            refused_places.add(place)
        # Whether something is there is not told either.
        absent = canary.replace(
            "canary", "canarx"
        )  # as long and alike, as messages quote the beginning of texts
        other, _ = _read(recipe, json.loads(text.replace('"CANARY"', json.dumps(absent))))
        assert "…" in told or told.replace("canary", "canarx") == other, place
    assert not opened
    assert refused_places >= FILES[recipe]
    print(recipe.__name__, len(places), "documents,", len(refused_places), "places refused")


def _read(recipe: type[Located], document: dict[str, Any]) -> tuple[str, bool]:
    """Return what is said of a document, and whether a file was refused. What is read is used as well, as far as that goes."""
    if "rows_per_person" in recipe.model_fields and document.get("person") is not None:
        document.setdefault("rows_per_person", 2)
    with untrusted() as refused:
        try:
            made = recipe.model_validate(document)
            for use in ("plan", "methods", "known_domains"):
                if hasattr(made, use):
                    getattr(made, use)()
        except (VeilError, ValidationError) as error:
            return str(error), bool(refused)
    return "", bool(refused)


def test_references_are_refused_however_deep_they_are(tmp_path: Path) -> None:
    path = str(tmp_path / "job.csv")
    nested = {
        "kind": "TCloseness",
        "attribute": "job",
        "t": 0.2,
        "distance": "hierarchical",
        "hierarchy": path,
    }
    with untrusted() as refused:
        for number, make in enumerate(
            (
                lambda: h.file(path),
                lambda: Matching(path),
                lambda: m.KMap(2, path),
                lambda: m.TCloseness("job", 0.2, "hierarchical", path),
                lambda: Mondrian({"age": None}, [nested]),
                lambda: Mondrian({"age": path}, m.KAnonymity(2)),
                lambda: KeyedPseudonyms("name", key_file=path),
                lambda: KeyedPseudonyms("name", key_variable="HOME"),
                lambda: MInvariance("job", 2, "age", "name", path),
            ),
            1,
        ):
            with refusals.refused(ParameterError, "this machine", "named here"):
                make()
            assert len(refused) == number
        with trusted():
            assert h.file(path).path == path
    assert h.file(path).path == path


def test_only_a_key_may_be_named_under_the_name_of_the_key() -> None:
    with untrusted(["pseudonyms.key"]):
        assert KeyedPseudonyms("name", key_file="pseudonyms.key").key_file == "pseudonyms.key"
        for make in (lambda: h.file("pseudonyms.key"), lambda: KeyedPseudonyms("name", key_file="other.key")):
            with refusals.refused(ParameterError, "cannot be named"):
                make()


def test_every_path_inside_a_value_is_found() -> None:
    closeness = m.TCloseness("job", 0.2, "hierarchical", h.file("a/job.csv"))
    value = Mondrian({"age": h.file("a/age.csv"), "sex": None}, [closeness, m.KMap(2, "a/who.csv")])
    moved = relocate(value, file_name)
    assert moved == Mondrian(
        {"age": h.file("age.csv"), "sex": None},
        [m.TCloseness("job", 0.2, "hierarchical", h.file("job.csv")), m.KMap(2, "who.csv")],
    )
    assert relocate(m.KAnonymity(2), file_name) == m.KAnonymity(2)
    variable = KeyedPseudonyms("name", key_variable="a/b")
    assert relocate(variable, file_name) is variable
