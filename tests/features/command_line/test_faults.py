"""What a file system can hold in the place of a release, and what others do meanwhile: a sentence, and nothing lost."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.cli import PATIENTS, PLAN, contents, veil

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of POSIX")

ENGINES = ["memory", "duckdb"]


def release(*more: str, engine: str = "memory") -> Any:
    return veil("anonymize", "patients.csv", *PLAN, "-o", "release.csv", "-q", "--engine", engine, *more)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_pipe_is_not_replaced(folder: Path, engine: str) -> None:
    os.mkfifo("release.csv")
    ran = release("--overwrite", engine=engine)
    assert (ran.code, ran.err) == (
        2,
        "error: release.csv: is not an ordinary file, and would be replaced by one. Choose another path\n",
    )
    assert Path("release.csv").is_fifo()


def test_a_report_does_not_replace_a_pipe_either(folder: Path) -> None:
    os.mkfifo("report.html")
    ran = release("--overwrite", "--report", "report.html")
    assert ran.code == 2
    assert "report.html:" in ran.err
    assert "not an ordinary" in ran.err
    assert not Path("release.csv").exists()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_device_is_not_replaced(folder: Path, engine: str) -> None:
    Path("release.csv").symlink_to("/dev/null")
    ran = release("--overwrite", engine=engine)
    assert ran.code == 2
    assert "release.csv:" in ran.err
    assert "not an ordinary" in ran.err
    assert not Path("/dev/null").is_file()


@pytest.mark.parametrize("engine", ENGINES)
def test_behind_a_symbolic_link_the_file_is_replaced(folder: Path, engine: str) -> None:
    Path("elsewhere").mkdir()
    Path("elsewhere/real.csv").write_text("old")
    Path("release.csv").symlink_to("elsewhere/real.csv")
    assert release(engine=engine).code == 2  # already exists
    assert release("--overwrite", engine=engine).code == 0
    assert Path("release.csv").is_symlink()
    assert Path("elsewhere/real.csv").read_text().startswith("age,")
    assert [each.name for each in Path("elsewhere").iterdir()] == ["real.csv"]


@pytest.mark.parametrize("engine", ENGINES)
def test_the_other_name_of_a_hard_link_keeps_what_it_had(folder: Path, engine: str) -> None:
    Path("other.csv").write_text("old")
    os.link("other.csv", "release.csv")
    assert release("--overwrite", engine=engine).code == 0
    assert Path("other.csv").read_text() == "old"
    assert Path("release.csv").read_text().startswith("age,")


def during_the_run(monkeypatch: pytest.MonkeyPatch, happens: Callable[[], object]) -> None:
    """Let something happen while a table is being anonymized, once."""
    import veil.api.run as run

    work, left = run.make_release, [happens]

    def anonymize(*args: Any, **options: Any) -> Any:
        made = work(*args, **options)
        if left:
            left.pop()()
        return made

    monkeypatch.setattr("veil.api.run.make_release", anonymize)


def test_a_source_that_changes_in_memory_is_released_as_it_was_read(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert release("--order", "input").code == 0
    whole = Path("release.csv").read_bytes()
    during_the_run(monkeypatch, lambda: Path("patients.csv").write_text(PATIENTS * 2))
    assert release("--order", "input", "--overwrite").code == 0
    assert Path("release.csv").read_bytes() == whole


def test_a_source_that_changes_under_an_engine_is_not_released(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = PATIENTS + PATIENTS.split("\n", 1)[1]
    during_the_run(monkeypatch, lambda: Path("patients.csv").write_text(more))
    ran = release("--report", "report.html", engine="duckdb")
    assert ran.code == 2
    assert "patients.csv:" in ran.err
    assert "was changed" in ran.err
    assert "Nothing was written" in ran.err
    Path("patients.csv").write_text(PATIENTS)
    assert {name for name in contents(folder) if "release" in name or "report" in name} == set()


@pytest.mark.parametrize("engine", ENGINES)
def test_two_runs_with_one_target(folder: Path, monkeypatch: pytest.MonkeyPatch, engine: str) -> None:
    seen = {}

    def another() -> None:
        assert release("--report", "report.html", engine=engine).code == 0
        seen.update(contents(folder))

    during_the_run(monkeypatch, another)
    ran = release("--report", "report.html", engine=engine)
    assert ran.code == 2
    assert "in the meantime" in ran.err or "already exists" in ran.err
    assert contents(folder) == seen


def test_two_runs_that_may_replace_each_other(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    during_the_run(monkeypatch, lambda: release("--report", "report.html", "--overwrite"))
    assert release("--report", "report.html", "--overwrite").code == 0
    assert sorted(name for name in contents(folder) if "re" in name and "recipe" not in name) == [
        "release.csv",
        "report.html",
    ]
