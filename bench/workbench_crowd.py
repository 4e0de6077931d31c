"""Many people at one workbench: mixed work from a second process, no error, no value of one session in another, flat memory.

    python bench/workbench_crowd.py              # 20 sessions for 5 minutes
    python bench/workbench_crowd.py 4 20         # 4 sessions for 20 seconds

Every session has a table whose cells carry a mark of its own. Each answer is searched for the marks of all others.
"""

from __future__ import annotations

import json
import random
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

QUASI = {"age": {"kind": "intervals", "widths": [5, 10, 20]}, "city": "suppression"}


class Guest:
    """One session: its cookie, its table, and the mark that nobody else may see."""

    def __init__(self, address: str, token: str, number: int) -> None:
        self.address, self.mark = address, f"mark{number:03d}x"
        self.chance = random.Random(number)
        self.asked: Counter[str] = Counter()
        self.wrong: list[str] = []
        request = urllib.request.Request(
            f"{address}/api/v1/session", headers={"Authorization": f"Bearer {token}"}, method="POST"
        )
        with urllib.request.urlopen(request) as answer:
            self.cookie = answer.headers["Set-Cookie"].split(";")[0]

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> bytes:
        """Send a request and look for marks of others in what comes back."""
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        given = {"Cookie": self.cookie, "Content-Type": "application/json", **headers}
        request = urllib.request.Request(f"{self.address}/api/v1{path}", sent, given, method=method)
        try:
            with urllib.request.urlopen(request, timeout=300) as answer:
                told: bytes = answer.read()
        except urllib.error.HTTPError as error:
            told = error.read()
            if error.code != 429:
                self.wrong.append(f"{method} {path.split('/')[1]}: {error.code} {told[:200]!r}")
        strangers = set(re.findall(rb"mark\d{3}x", told)) - {self.mark.encode()}
        if strangers:
            self.wrong.append(f"{method} {path}: holds {strangers}")
        self.asked[path.split("/")[1]] += 1
        return told

    def job(self, path: str, body: Any, **headers: str) -> dict[str, Any]:
        """Start a job and wait for it."""
        told = json.loads(self.ask("POST", path, body, **headers))
        while told.get("state") == "running":
            time.sleep(0.1)
            told = json.loads(self.ask("GET", f"/tasks/{told['id']}"))
        if told.get("state") != "done":
            self.wrong.append(f"{path}: {str(told)[:300]}")
        return dict(told.get("result") or {})

    def work(self, end: float) -> None:
        """Open a table, decide, release, look; and begin anew until the time is over."""
        while time.monotonic() < end:
            rows = "".join(
                f"{self.mark}{i},{self.chance.randrange(90)},{self.mark}-{i % 7},{'xyz'[i % 3]}\n"
                for i in range(2000)
            )
            content = f"name,age,city,ill\n{rows}".encode()
            table = self.job("/tables", content, **{"Veil-File-Name": f"{self.mark}.csv"}).get("table")
            if table is None:
                return
            self.ask("GET", f"/tables/{table}/profile")
            self.ask("POST", f"/tables/{table}/rows", {"sort": "age"})
            self.ask("GET", f"/tables/{table}/roles")
            self.ask("POST", f"/tables/{table}/singling-out", {"columns": ["age", "city"]})
            step = {
                "kind": "Generalize", "quasi_identifiers": QUASI, "sensitive": ["ill"], "identifying": ["name"],
                "models": [{"kind": "KAnonymity", "k": self.chance.choice([2, 5, 10])}], "suppression_limit": 0.1,
            }  # fmt: skip
            recipe = {"person": None, "steps": [step]}
            release = self.job("/releases", {"table": table, "recipe": recipe}).get("release")
            if release is not None:
                self.ask("GET", f"/releases/{release}")
                self.ask("POST", f"/releases/{release}/rows", {})
                self.job(f"/releases/{release}/prices", {"levels": {}})
                self.job(f"/releases/{release}/risk", {})
                self.ask("GET", f"/releases/{release}/table.csv")
                self.ask("GET", f"/releases/{release}/certificate")
            self.ask("DELETE", f"/tables/{table}")


def memory(process: int) -> float:
    """Return the megabytes that a process has in memory."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found.group(1)) / 1024


def main(sessions: int, seconds: float) -> int:
    """Let them work, and tell what happened."""
    command = [sys.executable, "-m", "veil.cli", "workbench", "--no-browser"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        found = re.search(r"(http://[^#]+)/#token=(\S+)", server.stdout.readline())
        assert found is not None
        guests = [Guest(*found.groups(), number) for number in range(sessions)]
        end = time.monotonic() + seconds
        threads = [threading.Thread(target=each.work, args=(end,)) for each in guests]
        for each in threads:
            each.start()
        used = []
        while any(each.is_alive() for each in threads):
            time.sleep(min(10.0, seconds / 8))
            used.append(memory(server.pid))
        wrong = [said for each in guests for said in each.wrong]
        print(
            f"{sessions} sessions for {seconds:.0f} s: {sum(each.asked.total() for each in guests):,} requests"
        )
        print(f"wrong answers: {len(wrong)}", *wrong[:10], sep="\n  ")
        tenths = [used[len(used) * at // 10 : len(used) * (at + 1) // 10] or used[-1:] for at in range(10)]
        print("memory, MB on average in each tenth:", *(f"{sum(each) / len(each):.0f}" for each in tenths))
        return 1 if wrong else 0
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


if __name__ == "__main__":
    sys.exit(
        main(
            int(sys.argv[1]) if len(sys.argv) > 1 else 20, float(sys.argv[2]) if len(sys.argv) > 2 else 300.0
        )
    )
