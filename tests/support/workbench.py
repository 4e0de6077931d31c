"""A workbench to ask: in this process, or as `veil workbench` in one of its own."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
from starlette.testclient import TestClient

from veil.web.app import create_app
from veil.web.workbench import Workbench

ADDRESS = "http://127.0.0.1:8000"
TOKEN = "t" * 40


class Client(TestClient):
    """Somebody who asks a workbench of this process, with a session of their own."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__(create_app(workbench), base_url=ADDRESS, raise_server_exceptions=False)
        answer = self.post("/api/v1/session", headers={"Authorization": f"Bearer {workbench.token}"})
        assert answer.status_code == 200, answer.text

    def done(self, answer: httpx.Response) -> dict[str, Any]:
        """Wait for a task that was started, and return it."""
        assert answer.status_code == 202, answer.text
        task = answer.json()
        end = time.monotonic() + 300
        while task["state"] == "running":
            assert time.monotonic() < end
            time.sleep(0.02)
            answer = self.get(f"/api/v1/tasks/{task['id']}")
            task = task if answer.status_code == 500 else answer.json()  # asked while its process crashed
        return task

    def result(self, answer: httpx.Response) -> dict[str, Any]:
        """Wait for a task, which must not fail, and return its result."""
        task = self.done(answer)
        assert task["state"] == "done", task
        return task["result"]

    def send_table(self, name: str, content: bytes) -> httpx.Response:
        """Send a table."""
        return self.post("/api/v1/tables", content=content, headers={"Veil-File-Name": name})

    def open(self, text: str, name: str = "table.csv") -> str:
        """Send a CSV file, and return the number of the table."""
        return str(self.result(self.send_table(name, text.encode()))["table"])

    def change(self, **changes: Any) -> dict[str, Any]:
        """Change the plan."""
        answer = self.patch("/api/v1/plan", json={"words": "test", "set": changes})
        assert answer.status_code == 200, answer.text
        return answer.json()


@contextlib.contextmanager
def workbench(*, apart: bool = True, **options: Any) -> Iterator[Workbench]:
    """A workbench that is gone afterwards; its sessions are processes, unless a test has to look into them."""
    made = Workbench(host="127.0.0.1", port=8000, token=TOKEN, apart=apart, **options)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def process(*arguments: str, temporary: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`veil workbench` as a process whose private folder is made in `temporary`; and its address, token included."""
    server = subprocess.Popen(
        [sys.executable, "-m", "veil.cli", "workbench", "--no-browser", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(temporary)},
    )
    try:
        assert server.stdout is not None
        said = iter(server.stdout.readline, "")
        found = next(filter(None, (re.search(r"http://\S+", line) for line in said)), None)
        assert found is not None, server.stderr and server.stderr.read()
        yield server, found.group()
    finally:
        server.terminate()
        server.communicate(timeout=300)
