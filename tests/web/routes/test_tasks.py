"""Routes of tasks: their events to the end."""

from __future__ import annotations

import json


def test_a_task_is_followed_to_its_end(client):
    answer = client.post("/api/v1/tables/example")
    events = client.get(f"/api/v1/tasks/{answer.json()['id']}/events")
    assert events.headers["content-type"].startswith("text/event-stream")
    told = [
        json.loads(line.removeprefix("data: "))
        for line in events.text.splitlines()
        if line.startswith("data: ")
    ]
    assert told[-1]["state"] == "done"
    assert {each["phase"] for each in told} <= {"", "reading the table", "looking at the columns"}
