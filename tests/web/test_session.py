"""Sessions: none sees what another one has, and what ends leaves nothing."""

from __future__ import annotations

import threading
import time

from support.answers import RECIPE
from support.recipes import generalize_data
from support.workbench import Client, workbench


def test_no_session_sees_what_another_one_has(bench, client, table, release):
    other = Client(bench)
    task = next(iter(client.get("/api/v1/tasks").json()))["id"]
    for method, path in [
        ("GET", f"tables/{table}"),
        ("GET", f"tables/{table}/profile"),
        ("DELETE", f"tables/{table}"),
        ("GET", f"releases/{release}"),
        ("GET", f"releases/{release}/table.csv"),
        ("GET", f"releases/{release}/report.html"),
        ("GET", f"tasks/{task}"),
        ("GET", f"tasks/{task}/events"),
        ("DELETE", f"tasks/{task}"),
    ]:
        answer = other.request(method, f"/api/v1/{path}")
        never = other.request(
            method, f"/api/v1/{path.replace(table, 'x').replace(release, 'x').replace(task, 'x')}"
        )
        assert answer.status_code == 404, path
        assert answer.json() == never.json()  # as if it had never been
    assert other.get("/api/v1/session").json()["tables"] == []
    assert other.get("/api/v1/tasks").json() == []


def test_the_same_file_in_two_sessions_goes_with_each_of_them(bench, csv_file):
    first, second = Client(bench), Client(bench)
    ids = [each.result(each.send_table("p.csv", csv_file.read_bytes()))["table"] for each in (first, second)]
    first.delete("/api/v1/session")
    assert second.get(f"/api/v1/tables/{ids[1]}/profile").status_code == 200
    assert first.get(f"/api/v1/tables/{ids[0]}/profile").status_code == 403


def test_idle_sessions_end_and_leave_nothing(csv_file):
    with workbench(idle=0.0) as short:
        client = Client(short)
        time.sleep(0.01)
        assert client.get("/api/v1/plan").status_code == 403
        assert list(short.folder.iterdir()) == []


def test_nothing_stays_in_the_folder_of_a_workbench_that_was_closed(csv_file):
    with workbench() as made:
        client = Client(made)
        table = client.result(client.send_table("p.csv", csv_file.read_bytes()))["table"]
        client.result(
            client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**RECIPE)})
        )
        assert any(made.folder.rglob("*"))
    assert not made.folder.exists()


def test_too_many_tasks_are_refused(bench, client):
    session = bench._sessions[client.cookies["veil-session"]]
    gate = threading.Event()
    for _ in range(4):
        session.start("anonymize", lambda task: gate.wait(60) and {})
    answer = client.post("/api/v1/tables/example")
    gate.set()
    assert answer.status_code == 429
