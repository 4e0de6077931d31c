"""Tasks: stopped at once in any phase, with what is known so far."""

from __future__ import annotations

import threading

import pytest

from support.answers import RECIPE
from support.recipes import generalize_data
from veil.web import tasks as web_tasks


def test_a_task_that_is_stopped_is_over_at_once_and_leaves_nothing():
    begun, go_on = threading.Event(), threading.Event()

    def work(task):
        task.report_progress("reading the table", 0, 0, "")
        begun.set()
        go_on.wait(60)
        task.report_progress("verifying", 0, 0, "")
        raise AssertionError("nobody waits for this any more")

    task = web_tasks.Task("anonymize", work).start()
    begun.wait(60)
    task.cancel()
    assert task.status().state == "cancelled"  # while the thread is still in its step
    go_on.set()
    task.wait(60)
    assert (task.state, task.result) == ("cancelled", None)


@pytest.mark.parametrize("phase", ["searching", "recoding cells", "recoding, pass 3", "improving cells"])
def test_a_search_that_is_stopped_keeps_the_best_so_far(phase):
    begun, go_on = threading.Event(), threading.Event()

    def work(task):
        task.report_progress(phase, 0, 0, "")
        begun.set()
        go_on.wait(60)
        assert task.is_stopped()
        task.report_progress("applying", 0, 0, "")
        return {"release": "best so far"}

    task = web_tasks.Task("anonymize", work).start()
    begun.wait(60)
    task.cancel()
    go_on.set()
    task.wait(60)
    assert (task.state, task.result, task.status().stopped) == ("done", {"release": "best so far"}, True)


def test_what_is_known_is_shown_while_the_task_runs_and_stays_when_it_is_stopped():
    shown, go_on = threading.Semaphore(0), threading.Event()

    def work(task):
        task.show({"prices": [1]})
        shown.release()
        go_on.wait(60)
        task.show({"prices": [1, 2]})
        return {"prices": [1, 2, 3]}

    stopped, finished = web_tasks.Task("prices", work).start(), web_tasks.Task("prices", work).start()
    assert shown.acquire(timeout=300)
    assert shown.acquire(timeout=300)
    assert stopped.status().result == {"prices": [1]}
    stopped.cancel()
    go_on.set()
    stopped.wait(60)
    finished.wait(60)
    assert (stopped.state, stopped.result) == ("cancelled", {"prices": [1]})
    assert (finished.state, finished.result) == ("done", {"prices": [1, 2, 3]})


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("tables/example", {}),
        ("releases", {"recipe": generalize_data(**RECIPE)}),
        ("releases/relax", {"recipe": generalize_data(**RECIPE)}),
        ("releases/{id}/prices", {"levels": {}}),
        ("releases/{id}/apply", {"levels": {"age": 3}}),
        ("releases/{id}/risk", {}),
        ("releases/{id}/utility", {}),
        ("releases/{id}/attack", {}),
        ("releases/{id}/report", {}),
    ],
)
def test_every_kind_of_task_is_stopped_at_once_in_any_phase(bench, client, table, release, path, body):
    """Whoever stops a task hears so in the answer, unless a search keeps its best; nothing half-made is left."""
    session = bench._sessions[client.cookies["veil-session"]]
    known = {*session.tables, *session.releases}
    files = {each for each in session.folder.rglob("*") if each.is_file()}
    sent = {"table": table, **body} if path.startswith("releases") and "{" not in path else body
    task = client.post(f"/api/v1/{path.replace('{id}', release)}", json=sent).json()
    told = client.delete(f"/api/v1/tasks/{task['id']}").json()
    assert told["state"] != "running" or told["phase"] == "searching"
    session.task(task["id"]).wait(300)
    ended = client.get(f"/api/v1/tasks/{task['id']}").json()
    if ended["state"] == "cancelled":
        assert ended["result"] is None or "prices" in ended["result"]  # those that were known
        assert {*session.tables, *session.releases} == known
    assert {each for each in session.folder.rglob("*") if each.is_file()} == files
