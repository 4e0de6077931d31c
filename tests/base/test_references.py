"""No document from elsewhere names a file of this machine, whatever field it uses."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from support import refusals
from support.recipes import common_documents, step_documents
from support.untrusted import SECRET, canaries, watch
from veil import hierarchies as h
from veil import models as m
from veil.base.references import Reference, file_name, relocate, trusted, untrusted
from veil.errors import ParameterError, VeilError
from veil.hierarchies import BUILDERS
from veil.masking import METHODS, KeyedPseudonyms, MInvariance, Mondrian
from veil.models import MODELS
from veil.models.subset import Matching
from veil.recipe import Recipe, schema
from veil.recipe.steps import STEPS, annexes

DOCUMENTS: dict[str, Callable[[], Iterable[tuple[str, Any]]]] = {
    "common fields": lambda: common_documents("CANARY"),
    "Generalize": lambda: step_documents("GeneralizeSpec", "CANARY"),
    "masks": lambda: [each for mask in METHODS.values() for each in step_documents(mask.__name__, "CANARY")],
    "ByPolicies": lambda: step_documents("ByPolicies", "CANARY"),
    "PrivateTable": lambda: step_documents("PrivateTableStep", "CANARY"),
    "questions": lambda: step_documents("Questions", "CANARY"),
}

FILES = {
    "common fields": {
        *(
            ".input",
            ".output",
            ".report",
            ".origins",
            ".certificate",
            ".sign",
            ".apart",
            ".budget",
            ".tables.*",
        ),
    },
    "Generalize": {".pseudonym_key", ".quasi_identifiers.*", ".items.*"},
    "masks": {".key_file", ".key_variable", ".history"},
    "ByPolicies": {
        ".policies",
        ".population",
        ".keys.*.key_file",
        ".credential_variable",
        ".processing_record",
    },
    "PrivateTable": {".domains.*"},
    "questions": set[str](),
}
"""Some of the places that must have been refused, so that the test is about what it says."""


@pytest.mark.parametrize("kind", DOCUMENTS)
def test_a_canary_in_any_field_of_any_recipe_is_not_touched(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("VEIL_CANARY", SECRET)
    names = canaries(tmp_path)
    places = list({json.dumps(each): (place, each) for place, each in DOCUMENTS[kind]()}.items())
    assert len(places) > 5
    if "VEIL_FUZZ" not in os.environ:
        must = [each for each in places if each[1][0] in FILES[kind]]
        places = [*must, *random.sample(places, min(len(places), 300))]
    opened, refused_places = watch(), set()
    for number, (text, (place, _)) in enumerate(places):
        canary = names[number % len(names)]
        told, refused = _read(json.loads(text.replace('"CANARY"', json.dumps(canary))))
        assert SECRET not in told, place
        if refused:
            refused_places.add(place)
        # Whether something is there is not told either.
        absent = canary.replace(
            "canary", "canarx"
        )  # as long and alike, as messages quote the beginning of texts
        other, _ = _read(json.loads(text.replace('"CANARY"', json.dumps(absent))))
        assert "…" in told or told.replace("canary", "canarx") == other, place
    assert not opened
    assert refused_places >= FILES[kind]
    print(kind, len(places), "documents,", len(refused_places), "places refused")


def _read(document: dict[str, Any]) -> tuple[str, bool]:
    """Return what is said of a document, and whether a file was refused. What is read is used as well, as far as that goes."""
    with untrusted() as refused:
        try:
            made = Recipe.model_validate(document)
            for step in made.located_steps():
                if hasattr(step, "known_domains"):
                    step.known_domains()
            made.plan()
        except (VeilError, ValidationError) as error:
            return str(error), bool(refused)
    return "", bool(refused)


def test_the_schema_without_paths_has_no_place_for_one() -> None:
    """Every field that names a file, a key or a variable is left out, with what cannot do without."""
    definitions = schema(paths=False)["$defs"]
    left = {name for name, each in definitions.items() if "properties" in each}
    families = (STEPS, BUILDERS, MODELS, {each.__name__: each for each in (Matching, *annexes().values())})
    classes = {each.__name__: each for family in families for each in family.values()}
    assert len(classes) > 70
    for name, cls in classes.items():
        references = {
            field
            for field, each in cls.__pydantic_fields__.items()
            if any(isinstance(mark, Reference) for mark in each.metadata)
        }
        shown = definitions[name]["properties"] if name in left else {}
        assert not references & set(shown), name
    assert "File" not in left
    assert not {"input", "tables", "output", "engine", "budget"} & set(schema(paths=False)["properties"])


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
