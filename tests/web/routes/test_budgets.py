"""Routes of budgets: set once, spent, and kept for all sessions."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.csv as pcsv
import pytest

from support.recipes import generalize_data
from support.workbench import Client, workbench
from veil.synthetic import patients
from veil.tables import write

RECIPE = {
    "quasi_identifiers": {"age": {"kind": "intervals", "widths": [5, 10, 20]}, "sex": "suppression", "zip": "redaction"},
    "sensitive": ["diagnosis"],
    "others": "drop",
    "person": None,
    "models": [{"kind": "KAnonymity", "k": 5}],
    "suppression_limit": 0.05,
}  # fmt: skip


@pytest.fixture(scope="module")
def bench():
    with workbench(allow_paths=True) as made:
        yield made


@pytest.fixture
def client(bench):
    return Client(bench)


@pytest.fixture
def table(client):
    return client.result(client.post("/api/v1/tables/example"))["table"]


def private(epsilon=1.0):
    rows = [[str(age), f"{age // 20 * 20}+", "*"] for age in range(130)] + [[None, None, "*"]]
    return {
        **RECIPE,
        "sensitive": [],
        "quasi_identifiers": {
            "age": {"kind": "table", "rows": rows},
            "sex": {"kind": "table", "rows": [["female", "*"], ["male", "*"], ["other", "*"], [None, "*"]]},
        },
        "person": None,
        "models": [{"kind": "SafePub", "epsilon": epsilon, "delta": 1e-5}],
        "suppression_limit": 1.0,
    }


def test_a_budget_is_said_once_spent_and_kept_for_all_sessions(bench, tmp_path):
    write(patients(3000, seed=7), tmp_path / "mine.csv")
    client, other = Client(bench), Client(bench)
    content = (tmp_path / "mine.csv").read_bytes()
    tables = [each.result(each.send_table("mine.csv", content))["table"] for each in (client, other)]
    assert client.get(f"/api/v1/tables/{tables[0]}/budget").json()["budget"] is None
    told = client.put(f"/api/v1/tables/{tables[0]}/budget", json={"epsilon": 1.5, "delta": 1e-4}).json()
    assert told["budget"] == told["remaining"] == "epsilon = 1.5, delta = 0.0001"
    again = client.put(f"/api/v1/tables/{tables[0]}/budget", json={"epsilon": 9, "delta": 1e-4})
    assert again.status_code == 409
    made = client.result(
        client.post("/api/v1/releases", json={"table": tables[0], "recipe": generalize_data(**private())})
    )
    release = client.get(f"/api/v1/releases/{made['release']}").json()
    assert "your record" in release["statement"]
    left = other.get(f"/api/v1/tables/{tables[1]}/budget").json()
    assert left["remaining"].startswith("epsilon = 0.5")
    assert len(left["ledger"]) == 1
    task = other.done(
        other.post("/api/v1/releases", json={"table": tables[1], "recipe": generalize_data(**private())})
    )
    assert task["problem"]["type"] == "BudgetError"


def test_the_same_records_have_the_same_budget(bench, tmp_path):
    """A line break more, another order, another format: whoever is in the table is in it still."""
    records = patients(60, seed=7).drop_columns(["name"])
    records = records.append_column("dose", pa.array([None, *(float(each) + 0.5 for each in range(59))]))
    records = records.append_column("smokes", pa.array([each % 3 == 0 for each in range(60)]))
    records = records.append_column("ward", pa.array([None, *"ab" * 29, "c"]))
    write(records, tmp_path / "mine.csv")
    pcsv.write_csv(records, tmp_path / "quoted.csv")
    write(records, tmp_path / "mine.xlsx")
    records.to_pandas().to_csv(tmp_path / "pandas.csv", index=False, na_rep="NA")
    write(records.take(list(reversed(range(60)))), tmp_path / "turned.csv")
    write(records.select(list(reversed(records.column_names))), tmp_path / "mine.parquet")
    content = (tmp_path / "mine.csv").read_bytes()
    client = Client(bench)
    sent = {
        "mine.csv": content,
        "longer.csv": content + b"\n",
        "turned.csv": (tmp_path / "turned.csv").read_bytes(),
        **{
            name: (tmp_path / name).read_bytes()
            for name in ("mine.parquet", "mine.xlsx", "quoted.csv", "pandas.csv")
        },
        "other.csv": content.replace(content.splitlines()[5] + b"\n", b""),
    }
    tables = {name: client.result(client.send_table(name, each))["table"] for name, each in sent.items()}
    client.put(f"/api/v1/tables/{tables['mine.csv']}/budget", json={"epsilon": 1.25, "delta": 0})
    budgets = {
        name: client.get(f"/api/v1/tables/{id}/budget").json()["budget"] for name, id in tables.items()
    }
    assert budgets.pop("other.csv") is None
    assert set(budgets.values()) == {"epsilon = 1.25"}
