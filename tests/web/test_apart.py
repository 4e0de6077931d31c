"""Sessions are processes: one may crash or take memory without end, and nobody else notices."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from support import crashing_work
from support.workbench import Client, workbench
from veil.web import apart
from veil.web.apart import SessionProcess
from veil.web.child import CAN_FORK
from veil.web.examples import RECIPE

pytestmark = pytest.mark.skipif(not CAN_FORK, reason="sessions are processes where processes can fork")

TABLE = "age,sex,diagnosis\n" + "".join(f"{30 + at % 20},{'mf'[at % 2]},d{at % 3}\n" for at in range(200))


@pytest.fixture
def bench():
    with workbench(memory=1 << 30) as made:
        yield made


def process_of(bench: Any, client: Client) -> SessionProcess:
    """Return the process of a session, as the server sees it."""
    return bench._sessions[client.cookies["veil-session"]]


def plant(monkeypatch: pytest.MonkeyPatch, fault: Any) -> None:
    """Let the next processes live in another way."""
    monkeypatch.setattr(apart, "live", fault)


def planned(client: Client) -> tuple[str, str]:
    """Open a table, make a plan and a release."""
    table = client.open(TABLE)
    client.change(suppression_limit=0.07, roles={"age": "quasi-identifying"})
    release = client.result(client.post("/api/v1/releases", json={"table": table, "recipe": RECIPE}))[
        "release"
    ]
    return table, release


@pytest.mark.parametrize(
    "fault", [crashing_work.live_until_segfault, crashing_work.live_until_abort], ids=["SIGSEGV", "SIGABRT"]
)
def test_a_task_that_crashes_is_a_sentence_and_everybody_else_goes_on(bench, monkeypatch, fault):
    plant(monkeypatch, fault)
    client, other = Client(bench), Client(bench)
    table, release = planned(client)
    theirs, before = planned(other)
    task = client.done(client.post(f"/api/v1/releases/{release}/risk", json={}))
    assert (task["state"], task["kind"]) == ("failed", "risk")
    assert task["problem"]["type"] == "Crashed"
    assert "are kept" in task["problem"]["detail"]
    assert other.get(f"/api/v1/releases/{before}").status_code == 200
    assert other.get(f"/api/v1/tables/{theirs}/profile").status_code == 200
    # The session goes on: table, plan and the task that crashed are there, releases are made again.
    assert client.get(f"/api/v1/tables/{table}").json()["rows"] == 200
    draft = client.get("/api/v1/plan").json()["draft"]
    assert (draft["table"], draft["suppression_limit"]) == (table, 0.07)
    assert draft["roles"] == {"age": "quasi-identifying"}
    assert client.get(f"/api/v1/releases/{release}").status_code == 404
    assert planned(client)


def test_a_crash_ends_the_stream_and_who_asks_again_hears_why(bench, monkeypatch):
    plant(monkeypatch, crashing_work.live_until_segfault)
    client = Client(bench)
    _, release = planned(client)
    task = client.post(f"/api/v1/releases/{release}/risk", json={}).json()
    said = ""
    while "Crashed" not in said:  # as a browser does
        said += client.get(f"/api/v1/tasks/{task['id']}/events").text
    assert "retry: " in said
    assert json.loads(said.strip().splitlines()[-1].removeprefix("data: "))["state"] == "failed"


def test_a_task_that_takes_memory_without_end_is_a_sentence_and_its_session_stays(bench, monkeypatch):
    plant(monkeypatch, crashing_work.live_until_memory_is_gone)
    client = Client(bench)
    _, release = planned(client)
    task = client.done(client.post(f"/api/v1/releases/{release}/risk", json={}))
    assert task["problem"]["type"] == "MemoryError"
    assert "more memory" in task["problem"]["detail"]
    assert client.get(f"/api/v1/releases/{release}").status_code == 200


def test_sessions_begin_although_the_helper_was_killed_while_others_are_open(bench):
    """Sessions are its forks: as long as one of them held its end of the connection, nobody noticed that it was gone."""
    client = Client(bench)
    table = client.open(TABLE)
    helper = int(
        Path(f"/proc/{process_of(bench, client)._process}/stat").read_text().rsplit(")", 1)[1].split()[1]
    )
    os.kill(helper, signal.SIGKILL)
    answers = list[str]()
    threading.Thread(target=lambda: answers.append(Client(bench).open(TABLE)), daemon=True).start()
    end = time.monotonic() + 30
    while not answers and time.monotonic() < end:
        time.sleep(0.05)
    assert answers
    assert client.get(f"/api/v1/tables/{table}").json()["rows"] == 200


@pytest.mark.parametrize(("method", "path", "code"), [("POST", "plan/undo", 500), ("GET", "plan", 200)])
def test_a_request_whose_process_crashes_is_a_sentence_or_what_only_looks_asked_again(
    bench, method, path, code
):
    client, answers = Client(bench), list[Any]()
    client.get("/api/v1/plan")
    number = process_of(bench, client)._process
    os.kill(number, signal.SIGSTOP)  # so that the request is on its way when the process ends
    asking = threading.Thread(target=lambda: answers.append(client.request(method, f"/api/v1/{path}")))
    asking.start()
    time.sleep(0.2)
    os.kill(number, signal.SIGKILL)
    asking.join(60)
    assert answers[0].status_code == code
    assert answers[0].json().get("type") == (None if code == 200 else "Crashed")


def test_budgets_and_keys_outlive_a_crash(bench):
    client = Client(bench)
    table = client.open(TABLE)
    assert client.put(f"/api/v1/tables/{table}/budget", json={"epsilon": 1}).status_code == 200
    assert client.put("/api/v1/plan/key", json={}).status_code == 200
    os.kill(process_of(bench, client)._process, signal.SIGKILL)
    assert client.get("/api/v1/plan").status_code == 200
    assert client.put(f"/api/v1/tables/{table}/budget", json={"epsilon": 2}).status_code == 409
    assert client.get("/api/v1/plan").json()["has_key"]


def test_a_session_that_works_is_not_idle_and_one_that_ends_takes_all_along(bench, monkeypatch):
    plant(monkeypatch, crashing_work.live_slowly)
    client = Client(bench)
    _, release = planned(client)
    session = process_of(bench, client)
    assert not session.is_busy
    client.post(f"/api/v1/releases/{release}/risk", json={})
    assert session.is_busy
    number, bench.idle = session._process, 0.0
    bench.end_idle()
    assert client.cookies["veil-session"] in bench._sessions
    client.delete("/api/v1/session")
    assert not session.folder.exists()
    end = time.monotonic() + 60
    while Path(f"/proc/{number}").exists():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_body_that_is_too_large_and_a_request_that_is_wrong_are_refused_as_ever():
    with workbench(largest_table=100_000) as bench:
        client = Client(bench)

        def pieces():
            for _ in range(200):
                yield b"x" * 1000

        answer = client.post("/api/v1/tables", content=pieces(), headers={"Veil-File-Name": "t.csv"})
        assert (answer.status_code, answer.json()["type"]) == (413, "RequestError")
        assert client.get("/api/v1/nothing").status_code == 404
        answer = client.post("/api/v1/tables", content=b"x" * 90_000, headers={"Veil-File-Name": "../t.csv"})
        assert answer.status_code == 422
        assert client.get("/api/v1/plan").status_code == 200


def test_a_session_knows_neither_the_token_nor_its_cookie(bench, monkeypatch):
    plant(monkeypatch, crashing_work.live_and_tell_headers)
    client = Client(bench)
    told = client.get("/api/v1/plan", headers={"Authorization": f"Bearer {bench.token}"}).json()
    assert {"host", "user-agent"} <= {*told}
    assert not {"cookie", "authorization"} & {*told}


def test_the_helper_has_no_thread_that_a_fork_would_lose():
    """But that of jemalloc, which takes care of forks itself."""
    code = (
        "import importlib, os; from pathlib import Path; from veil.web import apart, child; "
        "[child._load(each) for each in (*child._LOADED, *child._LATER)]; apart.api(); "
        "print({Path(f'/proc/self/task/{each}/comm').read_text().strip() for each in os.listdir('/proc/self/task') "
        "if each != str(os.getpid())})"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert eval(said.stdout) <= {"jemalloc_bg_thd"}
