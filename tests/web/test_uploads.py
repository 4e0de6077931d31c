"""Uploads: a file that is not read to its end leaves nothing."""

from __future__ import annotations

import gc
import threading
import time

from veil.web.uploads import READING


def test_a_file_that_is_being_read_when_somebody_stops_leaves_nothing(bench, client):
    session = bench._sessions[client.cookies["veil-session"]]
    before = set(bench.folder.rglob("*"))
    for attempt in range(5):  # a machine may be so quick that the reading is over
        rows = "".join(f"{at},{at * 7 % 1000},text {at}\n" for at in range(attempt, 200_000))
        sent = client.send_table("large.csv", f"a,b,c\n{rows}".encode())
        task = session.task(sent.json()["id"])
        while task.state == "running" and task.phase in ("", READING):
            if task.phase == READING:
                break
            time.sleep(0.0005)
        told = client.delete(f"/api/v1/tasks/{task.id}").json()
        task.wait(60)  # until the thread has come to its next step
        if told["phase"] == READING:
            break
    assert (told["phase"], told["state"]) == (READING, "cancelled")
    assert (task.state, task.result) == ("cancelled", None)
    assert session.tables == {}
    gc.collect()
    assert set(bench.folder.rglob("*")) == before


def test_a_file_for_which_no_task_can_begin_leaves_nothing(bench, client):
    session, go_on = bench._sessions[client.cookies["veil-session"]], threading.Event()
    before = set(bench.folder.rglob("*"))
    begun = [session.start("anonymize", lambda task: {"waited": go_on.wait(60)}) for _ in range(4)]
    try:
        assert client.send_table("t.csv", b"a\n1\n").status_code == 429
        assert set(bench.folder.rglob("*")) == before
    finally:
        go_on.set()
        for each in begun:
            session.task(each.id).wait(60)
