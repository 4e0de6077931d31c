from __future__ import annotations

import pytest

from support.answers import RECIPE
from support.recipes import generalize_data
from support.workbench import Client, workbench
from veil.synthetic import patients
from veil.tables import write


@pytest.fixture(scope="module")
def bench():
    with workbench(apart=False) as made:
        yield made


@pytest.fixture
def client(bench):
    return Client(bench)


@pytest.fixture(scope="module")
def csv_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("web") / "patients.csv"
    write(patients(400), path)
    return path


@pytest.fixture
def table(client, csv_file):
    return client.result(client.send_table("patients.csv", csv_file.read_bytes()))["table"]


@pytest.fixture
def release(client, table):
    return client.result(
        client.post("/api/v1/releases", json={"table": table, "recipe": generalize_data(**RECIPE)})
    )["release"]
