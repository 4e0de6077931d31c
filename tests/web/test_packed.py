"""Files of the page are packed, and answers are not."""

from __future__ import annotations

from support.workbench import Client, workbench


def test_files_of_the_page_are_packed_and_answers_are_not():
    with workbench() as made:
        client = Client(made)
        asking = {"Accept-Encoding": "gzip"}
        assert client.get("/page/main.js", headers=asking).headers.get("content-encoding") == "gzip"
        assert "content-encoding" not in client.get("/api/v1/models", headers=asking).headers
