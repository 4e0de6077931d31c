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

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/how-to.md")


def test_commands_run_in_their_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(patients(300), "patients.csv")
    Path("recipe.yaml").write_text(RECIPE)
    text = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    commands = dict.fromkeys(re.findall(r"^    veil (.*)$", text, flags=re.MULTILINE))
    assert len(commands) > 8
    for command in commands:
        arguments = shlex.split(command, comments=True)
        ran = veil(*arguments[: arguments.index("|") if "|" in arguments else None])
        assert ran.code == 0, f"{command}: {ran.err}"
