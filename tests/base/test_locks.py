"""Locks: many threads hold one after the other."""

from __future__ import annotations

import threading
from pathlib import Path

from veil.base.locks import file_lock
from veil.errors import OutputError


def test_many_threads_hold_a_lock_one_after_the_other(tmp_path: Path) -> None:
    inside, most, held = 0, 0, 0
    guard = threading.Lock()

    def run() -> None:
        nonlocal inside, most, held
        for _ in range(200):
            try:
                with file_lock(tmp_path / "lock", "it"):
                    with guard:
                        inside += 1
                        held += 1
                        most = max(most, inside)
                    with guard:
                        inside -= 1
            except OutputError:
                pass

    threads = [threading.Thread(target=run) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert most == 1
    assert held > 0
    assert not (tmp_path / "lock").exists()
