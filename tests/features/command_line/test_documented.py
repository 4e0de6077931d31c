"""The commands in the documentation run, in the folder that the demo makes."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from support.cli import veil
from veil.cli.demo import RECIPE
from veil.synthetic import patients
from veil.tables import write

ROOT = Path(__file__).parents[3]
PAGES = ("README.md", "docs/how-to.md")


@pytest.mark.slow
def test_commands_run_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "kept").mkdir()
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write(patients(300), "patients.csv")
    Path("recipe.yaml").write_text(RECIPE)
    assert veil("anonymize", "recipe.yaml", "-q").code == 0
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        commands = dict.fromkeys(re.findall(r"^    ((?:veil|cd) .*)$", text, flags=re.MULTILINE))
        commands = [each for each in commands if not each.startswith("veil workbench")]
        assert len(commands) > 3
        for command in commands:
            program, *arguments = shlex.split(command, comments=True)
            if program == "cd":
                monkeypatch.chdir(arguments[0])
                continue
            ran = veil(*arguments[: arguments.index("|") if "|" in arguments else None])
            assert ran.code == 0, f"{page}: {command}: {ran.err}"
        monkeypatch.chdir(folder)


def test_the_recipe_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(patients(300), "patients.csv")
    (text,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    Path("recipe.yaml").write_text(text)
    ran = veil("anonymize", "recipe.yaml", "-q")
    assert ran.code == 0, ran.err
    assert "waiting times" in Path("report.html").read_text(encoding="utf-8")
