"""Folders of one run: what is in use stays, and what a killed run has left goes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli import python
from veil.tables.staging import Staging, is_staged, left_behind, remove_left_behind

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

HOLDS = """
import sys, time
from pathlib import Path
from veil.tables.staging import Staging
made = Staging(Path(sys.argv[1]), "veil-")
(made.files / "rows.csv").write_text("age")
print(made.folder, flush=True)
time.sleep(3600)
"""


def held(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    running = python("-c", HOLDS, folder)
    assert running.stdout is not None
    return running, Path(running.stdout.readline().strip())


def test_of_a_running_process_it_stays_and_of_a_killed_one_it_goes(tmp_path: Path) -> None:
    running, folder = held(tmp_path)
    assert folder.stat().st_mode & 0o077 == 0
    remove_left_behind(tmp_path, "veil-")
    assert (folder / "new" / "rows.csv").exists()
    running.kill()
    running.communicate()
    assert running.returncode == -signal.SIGKILL
    assert left_behind(tmp_path, "veil-") == [folder]
    remove_left_behind(tmp_path, "veil-")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_ours_stays(tmp_path: Path) -> None:
    (tmp_path / "veil-abcdefgh").mkdir()
    (tmp_path / "veil-abcdefgh" / "mine.txt").write_text("no lock here")
    (tmp_path / "veil-pg-12345678").mkdir()
    (tmp_path / "veil-file_123").write_text("a file")
    before = sorted(tmp_path.rglob("*"))
    remove_left_behind(tmp_path, "veil-")
    assert sorted(tmp_path.rglob("*")) == before
    (tmp_path / "veil-abcdefgh" / "mine.txt").unlink()
    remove_left_behind(tmp_path, "veil-")  # killed before there was a lock: empty
    assert not (tmp_path / "veil-abcdefgh").exists()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_what_another_user_has_made_stays(tmp_path: Path) -> None:
    running, folder = held(tmp_path)
    running.kill()
    running.communicate()
    os.chown(folder, 12345, 12345)
    remove_left_behind(tmp_path, "veil-")
    assert (folder / "new" / "rows.csv").exists()


def test_a_lock_that_leads_elsewhere_is_none(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").touch()
    (tmp_path / "veil-abcdefgh" / "new").mkdir(parents=True)
    (tmp_path / "veil-abcdefgh" / "lock").symlink_to(tmp_path / "elsewhere")
    before = sorted(tmp_path.rglob("*"))
    remove_left_behind(tmp_path, "veil-")
    assert sorted(tmp_path.rglob("*")) == before


def test_a_fork_does_not_tidy_up_for_its_parent(tmp_path: Path) -> None:
    made = Staging(tmp_path, "veil-")
    child = os.fork()
    if not child:
        made.remove()
        os._exit(0)
    os.waitpid(child, 0)
    assert made.files.is_dir()
    assert is_staged(made.files / "rows.csv")
    made.remove()
    assert list(tmp_path.iterdir()) == []
