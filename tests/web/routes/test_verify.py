"""Routes of verification: a published table against its certificate."""

from __future__ import annotations

from support.recipes import generalize_data
from support.workbench import Client, workbench


def test_a_published_table_is_checked_against_its_certificate():
    with workbench() as made:
        client = Client(made)
        text = "age,ill\n" + "".join(f"{30 + 10 * (i % 2)},{'xy'[i // 2 % 2]}\n" for i in range(40))
        table = client.open(text)
        recipe = {
            "quasi_identifiers": {"age": "suppression"},
            "sensitive": ["ill"],
            "person": None,
            "models": [{"kind": "KAnonymity", "k": 5}],
        }
        release = client.result(
            client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**recipe)})
        )["release"]
        certificate = client.get(f"/api/v1/releases/{release}/certificate").json()
        published = client.get(f"/api/v1/releases/{release}/table.csv").text
        for content, holds in ((published, True), (published.replace("40", "41", 1), False)):
            sent = client.open(content, "published.csv")
            told = client.result(
                client.post("/api/v1/verify", json={"table": sent, "certificate": certificate})
            )
            assert told["holds"] is holds, told
            assert "veil-workbench" not in str(told)  # where files are is nobody's business
        refused = client.post("/api/v1/verify", json={"table": table})
        assert refused.status_code == 422
