"""What `veil doctor` tells, and `veil verify` as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from support.cli import veil
from veil.base import compiled
from veil.base.version import __version__
from veil.cli.demo import RECIPE
from veil.synthetic import patients
from veil.tables import write


def test_versions_extras_and_the_place_of_compiled_parts() -> None:
    ran = veil("doctor")
    assert ran.code == 0
    assert __version__ in ran.out
    for told in ("pyarrow", "numba", "excel", "openpyxl", "ready"):
        assert told in ran.out


def test_nothing_can_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "caching", False)
    assert "NUMBA_CACHE_DIR" in veil("doctor").out


def test_what_was_verified_as_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(patients(300), "patients.csv")
    Path("recipe.yaml").write_text(RECIPE)
    assert veil("anonymize", "recipe.yaml", "-q").code == 0
    release = next(path for path in Path().glob("*.csv") if path.name != "patients.csv")
    good = veil("verify", str(release), "--recipe", "recipe.yaml", "--json")
    told = json.loads(good.out)
    assert (good.code, told["holds"]) == (0, True)
    assert {each["verdict"] for each in told["findings"]} == {"holds"}
    bad = veil("verify", "patients.csv", "--recipe", "recipe.yaml", "--json")
    assert (bad.code, json.loads(bad.out)["holds"]) == (1, False)
