"""Problems: an unexpected error tells no value."""

from __future__ import annotations

from veil.web import tasks as web_tasks


def test_an_unexpected_error_tells_no_value():
    def work(task):
        raise KeyError("Ada Lovelace has the plague")

    task = web_tasks.Task("anonymize", work).start()
    task.wait(60)
    assert task.state == "failed"
    assert "Ada" not in task.status().model_dump_json()
