"""What `veil ask` and `veil private-table` share: options are fields of their steps, and have no effect beside a recipe."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import veil
from veil.cli.options import option_fields
from veil.private_table.step import PrivateTableStep
from veil.questions.step import Questions, QuestionSpec

RECIPES = {
    "ask": "questions: {neighbours: one more or less, ask: [{ask: count, epsilon: 0.1}]}",
    "private-table": "steps: [{kind: PrivateTable, neighbours: one changed, method: MarginalTree, rho: 0.1}]",
}
FIELDS = {"ask": (Questions, QuestionSpec), "private-table": (PrivateTableStep,)}


@pytest.mark.parametrize("command", RECIPES)
def test_every_field_with_an_option_is_one(command: str) -> None:
    shown = veil(command, "--help").out
    for field in (field for declaration in FIELDS[command] for field in option_fields(declaration)):
        assert f"--{field.replace('_', '-')} " in shown


@pytest.mark.parametrize("command", RECIPES)
def test_no_option_for_a_field_is_ignored_beside_a_recipe(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("people.csv").write_text("age\n34\n")
    Path("recipe.yaml").write_text(f"input: people.csv\nperson: null\n{RECIPES[command]}\n")
    fields = {field for declaration in FIELDS[command] for field in option_fields(declaration)}
    texts = {"bounds": "age=0:120", "keys": "sex=f|m", "domains": "sex=f|m", "missing": "age=40"}
    for field in sorted({*fields, "person"}):
        ran = veil(command, "recipe.yaml", f"--{field.replace('_', '-')}", texts.get(field, "1"))
        assert (ran.code, "change recipe.yaml instead" in " ".join(ran.err.split())) == (2, True), field
