"""The client that the documentation prints, against a real server."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

import veil
from support.workbench import process
from veil.synthetic import patients
from veil.tables import write

DOCS = Path(__file__).parents[3] / "docs"


def the_client():
    spec = importlib.util.spec_from_file_location("workbench_client", DOCS / "workbench_client.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Workbench


@pytest.mark.slow
def test_every_verb_of_the_worked_example(tmp_path):
    """The block of the page is run as it stands, but for the address."""
    page = (DOCS / "workbench.md").read_text("utf-8")
    (example,) = re.findall(r"```text\nfrom workbench_client import Workbench\n(.*?)```", page, re.DOTALL)
    write(patients(300), tmp_path / "patients.csv")
    with process(temporary=tmp_path) as (_, address):
        place, token = re.fullmatch(r"(http://[^#]+)/#token=(.+)", address).groups()
        code = example.replace("http://127.0.0.1:8080", place).replace('"…"', repr(token))
        code = re.sub(
            r'"(patients\.csv|release\.csv|certificate\.json)"', lambda m: repr(str(tmp_path / m[1])), code
        )
        said = {"Workbench": the_client(), "print": lambda *given: None}
        exec(code, said)
        with pytest.raises(RuntimeError, match="such table"):
            said["workbench"].ask("GET", "/tables/x/roles")
    checked = veil.verify(tmp_path / "release.csv", certificate=tmp_path / "certificate.json")
    assert not checked.broken
    assert said["risk"]["after"]["attackers"]["prosecutor"]["highest"] <= 0.2


def test_it_is_about_fifty_lines():
    lines = [line for line in (DOCS / "workbench_client.py").read_text().splitlines() if line.strip()]
    assert len(lines) <= 50
