from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import PATIENTS, RECIPE


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table and a recipe, in which commands run."""
    (tmp_path / "patients.csv").write_text(PATIENTS)
    (tmp_path / "recipe.yaml").write_text(RECIPE)
    monkeypatch.chdir(tmp_path)
    return tmp_path
