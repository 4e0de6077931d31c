"""The workbench: what its budgets say, measured.

    python bench/workbench.py            # 1.2 million rows
    python bench/workbench.py 20000      # fewer

Prints how long the server takes to start, how much a page weighs, how long a large table and each question about it take, and
what one more idle session costs. Needs the extra `workbench`.
"""

from __future__ import annotations

import functools
import gzip
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from http.client import HTTPResponse
from json import dumps, loads
from pathlib import Path
from typing import Any

from veil.synthetic import patients
from veil.tables import write
from veil.web.app import PAGE

RECIPE = {
    "person": None,
    "steps": [
        {
            "kind": "Generalize",
            "quasi_identifiers": {
                "age": {"kind": "intervals", "widths": [5, 10, 20]},
                "sex": "suppression",
                "zip": "redaction",
            },
            "sensitive": ["diagnosis"],
            "others": "drop",
            "models": [{"kind": "KAnonymity", "k": 5}],
            "suppression_limit": 0.05,
        }
    ],
}


class Asking:
    """A program that asks the workbench: with the token or, in the session of a browser, with its cookie."""

    def __init__(self, address: str, token: str, cookie: str | None = None) -> None:
        self.address, self.token = address, token
        self.who = {"Authorization": f"Bearer {token}"} if cookie is None else {"Cookie": cookie}

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Any:
        """Send a request, and return what is told."""
        sent = body if body is None or isinstance(body, bytes) else dumps(body).encode()
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        given = {**self.who, "Content-Type": kind, **headers}
        request = urllib.request.Request(f"{self.address}/api/v1{path}", sent, given, method=method)
        answer: HTTPResponse
        with urllib.request.urlopen(request) as answer:
            return loads(answer.read())

    def wait(self, job: Any) -> Any:
        """Wait for a job."""
        while job["state"] == "running":
            time.sleep(0.02)
            job = self.ask("GET", f"/tasks/{job['id']}")
        assert job["state"] == "done", job
        return job["result"]


def memory(process: int) -> float:
    """Return the megabytes that a process has in memory."""
    status = Path(f"/proc/{process}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024  # type: ignore[union-attr]


def processor(process: int) -> float:
    """Return the seconds that a process has kept processors busy."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


IDLE_SESSION, PAGE_MEMORY = 0.5, 25.0
"""Megabytes that one more session may take in the server, and an open table in the page."""


def idle_session(asking: Asking, server: int) -> float:
    """Return the megabytes that one more session costs which nobody uses."""
    before = memory(server)
    for _ in range(50):
        Asking(asking.address, asking.token).ask("POST", "/session")
    return (memory(server) - before) / 50


Question = tuple[str, float, str, str, Any]
"""What it is about, how many seconds it may take, and the request."""


def of_table(table: str) -> list[Question]:
    """What pages ask about a table, jobs apart."""
    at = f"/tables/{table}"
    singled = [
        (f"singled out by {', '.join(columns)}", 0.3, "POST", f"{at}/singling-out", {"columns": columns})
        for columns in (["zip"], ["age", "sex", "zip"])
    ]
    preview = {"table": table, "column": "age", "builder": "auto"}
    return [
        ("first page of rows", 0.3, "POST", f"{at}/rows", {}),
        ("rows in the order of a column", 1, "POST", f"{at}/rows", {"sort": "age"}),
        ("profile", 1, "GET", f"{at}/profile", None),
        ("roles", 1, "GET", f"{at}/roles", None),
        *singled,
        ("proposals of hierarchies", 1, "POST", "/hierarchies/proposals", {"table": table, "columns": ["age", "zip"]}),
        ("preview of a hierarchy", 0.3, "POST", "/hierarchies/preview", preview),
    ]  # fmt: skip


def of_release(release: str) -> list[Question]:
    """What pages ask about a release, jobs apart."""
    at = f"/releases/{release}"
    count = {"conditions": {"age": {"first": "30", "last": "39"}}}
    return [
        ("release", 1, "GET", at, None),
        ("rows of the release", 1, "POST", f"{at}/rows", {"count": 25}),
        ("rows of the release by class", 1, "POST", f"{at}/rows", {"count": 25, "by_class": True}),
        ("transformations", 1, "POST", f"{at}/nodes", {"state": "anonymous", "limit": 2000}),
        ("a transformation and its neighbours", 1, "POST", f"{at}/nodes/evaluate", {"levels": {}}),
        ("a count of one's own", 1, "POST", f"{at}/count", count),
        ("two columns together", 1, "POST", f"{at}/pairs", {"row": "age", "column": "diagnosis"}),
        ("a column, before made coarser", 1, "POST", f"{at}/distribution", {"column": "zip", "coarsened": True}),
    ]  # fmt: skip


def show(what: str, measured: str, budget: str = "") -> None:
    """Print a line."""
    print(f"{what:<58} {measured:>14}   {budget}", flush=True)


def main(rows: int) -> None:
    """Measure everything once."""
    files = [path for path in PAGE.rglob("*") if path.suffix in (".js", ".css", ".html")]
    files.append(PAGE / "words" / "en.json")
    weight = sum(len(gzip.compress(path.read_bytes())) for path in files)
    show("page, all steps, packed", f"{weight / 1000:.0f} KB", "150 KB")
    start = time.perf_counter()
    server = subprocess.Popen(
        [sys.executable, "-m", "veil.cli", "workbench", "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        found = re.search(r"(http://[^#]+)/#token=(\S+)", server.stdout.readline())
        assert found is not None
        asking = Asking(*found.groups())
        asking.ask("GET", "/plan")
        show("server start to first answer", f"{time.perf_counter() - start:.2f} s", "2 s")
        show("  of it busy", f"{processor(server.pid):.2f} s", "2 s")
        measure(asking, rows, server.pid)
        show("a further idle session", f"{idle_session(asking, server.pid):.3f} MB", f"{IDLE_SESSION} MB")
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def measure(asking: Asking, rows: int, server: int) -> None:
    """Open a table, ask about it, anonymize it. The second figure is what the server's processors were busy for: on a busy
    machine only that can be compared.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "patients.csv"
        write(patients(rows), path)
        content = path.read_bytes()

    def clock(what: str, budget: str, work: Any) -> Any:
        start, busy = time.perf_counter(), processor(server)
        result = work()
        seconds, busy = time.perf_counter() - start, processor(server) - busy
        show(what, f"{seconds:.2f} / {busy:.2f} s", budget)
        return result

    named = {"Veil-File-Name": "patients.csv"}
    sent = clock(
        f"send, read and profile {rows:,} rows",
        "",
        lambda: asking.wait(asking.ask("POST", "/tables", content, **named)),
    )
    table = sent["table"]
    for what, budget, *request in of_table(table):
        clock(what, f"{budget} s", functools.partial(asking.ask, *request))
    wish = {"table": table, "recipe": RECIPE}
    release = clock("anonymize", "", lambda: asking.wait(asking.ask("POST", "/releases", wish)))["release"]
    for what, budget, *request in of_release(release):
        clock(what, f"{budget} s", functools.partial(asking.ask, *request))
    at = f"/releases/{release}"
    for what, path, body in (
        ("prices (a job)", "prices", {"levels": {}}),
        ("risks (a job)", "risk", {}),
        ("attacks (a job)", "attack", {}),
        ("riskiest combinations (a job)", "riskiest", {}),
        ("use (a job)", "utility", {}),
        ("associations (a job)", "associations", None),
    ):
        clock(what, "", lambda path=path, body=body: asking.wait(asking.ask("POST", f"{at}/{path}", body)))
    stop_jobs(asking, at, content)
    cancel(asking, wish)
    browse(asking, rows)


def cancel(asking: Asking, wish: Any) -> None:
    """Stop an anonymization in each of its phases."""
    for phase in ("encoding and collapsing", "searching", "applying", "verifying", "looking at the release"):
        stop(asking, phase, functools.partial(asking.ask, "POST", "/releases", wish))


def stop_jobs(asking: Asking, at: str, content: bytes) -> None:
    """Stop what is not an anonymization: reading, exchanging, measuring, trying, and writing the report."""
    named = {"Veil-File-Name": "other.csv"}
    changed = content.replace(b"female", b"Female", 1)  # another table, which nobody has open
    stop(asking, "reading the table", lambda: asking.ask("POST", "/tables", changed, **named))
    for phase, path, body in (
        ("applying and verifying", "apply", {"levels": {"age": 3}}),
        ("measuring the risks of the input", "risk", {}),
        ("singling out", "attack", {}),
        ("comparing before and after", "utility", {}),
        ("", "report", {}),
    ):
        stop(asking, phase, functools.partial(asking.ask, "POST", f"{at}/{path}", body))


def stop(asking: Asking, phase: str, begin: Any) -> None:
    """Stop a job in one of its phases, and tell how long it took until nobody waits for it any more."""
    job = begin()
    while job["state"] == "running" and not (job["phase"] and job["phase"] == (phase or job["phase"])):
        job = asking.ask("GET", f"/tasks/{job['id']}")
    named = f"{job['kind']}: {phase or job['phase']}"
    if job["state"] != "running":
        return show(f"stop {named}", "too quick", "1 s")
    start = time.perf_counter()
    heard = asking.ask("DELETE", f"/tasks/{job['id']}")
    while heard["state"] == "running":
        time.sleep(0.01)
        heard = asking.ask("GET", f"/tasks/{job['id']}")
    return show(f"stop {named} ({heard['state']})", f"{time.perf_counter() - start:.2f} s", "1 s")


def browse(asking: Asking, rows: int) -> None:
    """Open the page as a person does, and measure what a browser says: requests, bytes, first rows, memory."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return show("the page in a browser", "no playwright")
    chromium = shutil.which("chromium")
    if chromium is None:
        return show("the page in a browser", "no chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "patients.csv"
        write(patients(rows), path)
        browser = playwright.chromium.launch(
            executable_path=chromium, args=["--no-sandbox", "--enable-precise-memory-info"]
        )
        page = browser.new_page()
        page.set_default_timeout(600_000)
        asked: list[Any] = []
        page.on("response", lambda answer: asked.append(answer.url))
        page.goto(f"{asking.address}/#token={asking.token}")
        page.locator("input[type=file]").wait_for(state="attached")
        sizes = page.evaluate(
            "performance.getEntriesByType('resource').reduce((sum, each) => sum + each.transferSize, 0)"
        )
        show("requests until the page stands", str(len(asked)), "12")
        show("bytes over the wire until then", f"{sizes / 1000:.0f} KB", "150 KB")
        page.locator("input[type=file]").set_input_files(path)
        page.locator("table.grid tbody tr").first.wait_for()
        start = time.perf_counter()
        page.reload()
        page.locator("table.grid tbody tr").first.wait_for()
        show("first rows after opening again", f"{time.perf_counter() - start:.2f} s", "0.8 s")
        heap = page.evaluate("performance.memory.usedJSHeapSize")
        show(f"memory of the page with {rows:,} rows", f"{heap / 1e6:.1f} MB", f"{PAGE_MEMORY} MB")
        browser.close()
    return None


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_200_000)
