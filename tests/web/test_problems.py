"""Problems: an unexpected error tells no value."""

from __future__ import annotations

import json

from veil.web import jobs as web_jobs


def test_an_unexpected_error_tells_no_value():
    def work(job):
        raise KeyError("Ada Lovelace has the plague")

    job = web_jobs.Task("anonymize", work).start()
    job.wait(60)
    assert job.state == "failed"
    assert "Ada" not in json.dumps(job.status())
