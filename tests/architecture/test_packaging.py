"""What is said about the package in several places is the same everywhere."""

from __future__ import annotations

import re
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from veil.base.version import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def recipe() -> dict[str, object]:
    """The conda recipe, with its one variable filled in."""
    text = (ROOT / "packaging/conda/meta.yaml").read_text()
    text = re.sub(r"^{%.*%}$", "", text, flags=re.MULTILINE)
    text = text.replace("{{ version }}", PROJECT["version"]).replace("{{ PYTHON }}", "python")
    found: dict[str, object] = yaml.safe_load(text)
    return found


def test_the_version_is_the_same_everywhere() -> None:
    version = PROJECT["version"]
    assert __version__ == version
    assert f'{{% set version = "{version}" %}}' in (ROOT / "packaging/conda/meta.yaml").read_text()
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == version


def test_conda_needs_what_pip_needs() -> None:
    run = recipe()["requirements"]["run"]  # type: ignore[index]
    needed = {each.replace(">=", " >=") for each in PROJECT["dependencies"]}
    assert set(run) == needed | {f"python {PROJECT['requires-python']}"}


def test_the_container_installs_extras_that_exist_and_runs_a_command_that_does() -> None:
    text = (ROOT / "Containerfile").read_text()
    extras = re.search(r"/src\[([\w,]+)\]", text)
    assert extras is not None
    assert set(extras[1].split(",")) <= PROJECT["optional-dependencies"].keys()
    assert '"veil", "workbench", "--port"' in text


def test_the_wheel_says_what_it_is() -> None:
    assert PROJECT["license"] == "Apache-2.0"
    assert len(PROJECT["classifiers"]) == len(set(PROJECT["classifiers"])) > 10
    assert "Operating System :: OS Independent" in PROJECT["classifiers"]


def test_relative_links_of_the_readme_lead_somewhere() -> None:
    for link in re.findall(r"\]\((?!http)([^)#]+)", (ROOT / "README.md").read_text()):
        assert (ROOT / link).exists(), link


def test_the_wheel_has_the_pages_of_the_documentation(tmp_path: Path) -> None:
    wheel = pytest.importorskip("hatchling.builders.wheel")
    (built,) = wheel.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    names = set(zipfile.ZipFile(built).namelist())
    description = (
        zipfile.ZipFile(built).read(f"veil_anonymizer-{PROJECT['version']}.dist-info/METADATA").decode()
    )
    assert "Description-Content-Type: text/markdown" in description
    assert "Open the workbench and go from a table to a signed release" in description
    assert "](docs/" not in description  # where only the package is, such links and pictures lead nowhere
    pages = {
        f"veil/web/docs/{path.relative_to(ROOT / 'docs').as_posix()}"
        for path in (ROOT / "docs").rglob("*.md")
    }
    assert {each for each in pages if "/_" not in each} <= names
    assert {
        "veil/web/page/main.js",
        "veil/web/templates/api.html",
        "veil/web/docs/_static/classes.svg",
    } <= names
    assert not any(each.endswith((".schema.json", "conf.py", ".nbi")) for each in names)
