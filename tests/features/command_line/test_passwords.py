"""Passwords of databases are in no message, whatever it is about and wherever the address stood."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from support.cli import veil as command
from support.recipes import generalize
from veil.errors import PlanError, Say, VeilError, without_passwords
from veil.recipe import Recipe

PASSWORD = "s3cret-Zwirbel"
ADDRESS = f"postgres://ann:{PASSWORD}@db.example:5432/clinic#patients"

RECIPES = {
    "a column": generalize(
        f"input: t.csv\nquasi_identifiers: {{'{ADDRESS}': suppression}}\nmodels: [{{kind: KAnonymity, k: 2}}]"
    ),
    "a hierarchy": generalize(
        f"input: t.csv\nquasi_identifiers: {{age: '{ADDRESS}'}}\nmodels: [{{kind: KAnonymity, k: 2}}]"
    ),
    "a model": generalize(f"input: t.csv\nquasi_identifiers: {{age: suppression}}\nmodels: ['{ADDRESS}']"),
    "a kind": generalize(
        f"input: t.csv\nquasi_identifiers: {{age: suppression}}\nmodels: [{{kind: '{ADDRESS}'}}]"
    ),
    "a parameter": generalize(
        f"input: t.csv\nquasi_identifiers: {{age: suppression}}\nmodels: [{{kind: KAnonymity, k: '{ADDRESS}'}}]"
    ),
    "a field": generalize(
        f"input: t.csv\n'{ADDRESS}': 1\nquasi_identifiers: {{age: suppression}}\nmodels: [{{kind: KAnonymity, k: 2}}]"
    ),
    "a report": generalize(
        f"input: t.csv\nreport: '{ADDRESS}'\nquasi_identifiers: {{age: suppression}}\nmodels: [{{kind: KAnonymity, k: 2}}]"
    ),
    "no mapping": f"'{ADDRESS}'",
}


@pytest.mark.parametrize("place", RECIPES)
def test_an_address_in_the_wrong_place_of_a_recipe(place: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n30\n30\n")
    (tmp_path / "recipe.yaml").write_text(RECIPES[place])
    with pytest.raises(VeilError) as caught:
        veil.run(Recipe.read(tmp_path / "recipe.yaml"), output=tmp_path / "out.csv")
    assert PASSWORD not in str(caught.value)
    ran = command("anonymize", str(tmp_path / "recipe.yaml"), "-o", str(tmp_path / "out.csv"))
    assert ran.code != 0
    assert PASSWORD not in ran.out + ran.err


@pytest.mark.parametrize("option", ["--qi", "--sensitive", "--model", "--quality", "--report", "--strategy"])
def test_an_address_in_the_wrong_option(option: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age\n30\n30\n")
    asked = ["--qi", "age=suppression", "--model", "k-anonymity:2", "-o", str(tmp_path / "out.csv")]
    ran = command("anonymize", str(tmp_path / "t.csv"), *asked, option, ADDRESS)
    assert ran.code != 0
    assert PASSWORD not in ran.out + ran.err


@given(
    st.text(
        st.characters(blacklist_categories=("Cs", "Cc", "Zs", "Zl", "Zp"), blacklist_characters="'\""),
        min_size=1,
    )
)
def test_no_password_is_left(password: str) -> None:
    """As it is, and as addresses should spell it; with a mark of its own, so that it is not found by chance."""
    for each in (f"‹{password}›", quote(f"‹{password}›", safe="")):
        text = f"no table 'mysql://ann:{each}@host/db', or pwd={quote(each, safe='')}, try again"
        assert each not in without_passwords(text)
        assert quote(each, safe="") not in without_passwords(text)
        assert "try again" in without_passwords(text)


def test_ways_out_and_plain_text_stay() -> None:
    error = PlanError("name a variable with `password_variable`, or say ", Say("others", "keep"))
    assert str(error) == 'name a variable with `password_variable`, or say others="keep"'
    assert without_passwords("postgres://ann@host/db at 10:30") == "postgres://ann@host/db at 10:30"
