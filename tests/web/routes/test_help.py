"""Routes of help: pages are listed, read and searched."""

from __future__ import annotations

from support.workbench import Client, workbench


def test_pages_are_listed_read_and_searched():
    with workbench() as made:
        client = Client(made)
        listed = client.get("/api/v1/help").json()
        assert listed[0] == {"name": "index", "title": "Veil"}
        names = [each["name"] for each in listed]
        assert {"reference", "tutorials/hospital", "concepts/promises"} <= set(names)
        page = client.get("/api/v1/help/pages/tutorials/hospital").json()
        assert page["html"].startswith("<h1")
        assert client.get("/api/v1/help/pages/nothing").status_code == 404
        found = client.post("/api/v1/help/search", json={"text": "KAnonymity"}).json()
        assert found[0]["section"] == "KAnonymity"
        assert client.post("/api/v1/help/search", json={"text": "  "}).json() == []
        models = client.get("/api/v1/models").json()
        missing = [each["kind"] for each in models if each["help"] is None]
        assert missing == []
