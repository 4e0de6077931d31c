"""What strangers send is read in processes of their own: they may crash, and nobody else notices."""

from __future__ import annotations

import gzip
import io
import os
import random
import socket
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest

from support import crashing_work
from support.refusals import refused
from support.workbench import Client, workbench
from veil.errors import InputError, ParameterError, Say
from veil.tables import read, write
from veil.web import child, uploads
from veil.web.child import CHILDREN
from veil.web.problems import problem_of, sentence
from veil.web.reading import read_apart, with_rows
from veil.web.tasks import Cancelled

PEOPLE = pa.table(
    {
        "age": [34, None, 61, 62] * 5,
        "name": ["Ann", "Bob", None, "Ann"] * 5,
        "share": [0.5, 1.25, None, -3.0] * 5,
        "kind": pa.array(["x", "y", "x", None] * 5).dictionary_encode(),
    }
)


def nothing() -> None:
    """Nobody has stopped the task."""


@pytest.fixture
def client():
    with workbench(apart=False) as bench:
        yield Client(bench)


@pytest.mark.parametrize(
    "name", ["people.csv", "people.csv.gz", "people.parquet", "people.feather", "people.xlsx"]
)
def test_a_table_is_the_same_as_if_it_were_read_here(name: str, tmp_path: Path) -> None:
    write(PEOPLE, tmp_path / name)
    told = CHILDREN.run(read_apart, tmp_path / name, None, tmp_path / "t.arrow", name=name, check=nothing)
    source, twin = with_rows(told, tmp_path / "t.arrow"), read(tmp_path / name)
    assert source.table.equals(twin.table, check_metadata=True)
    assert (source.path, source.format, source.declared) == (twin.path, twin.format, twin.declared)


def test_a_crash_is_a_sentence_and_everybody_else_lives(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = client.open("age\n34\n35\n")
    monkeypatch.setattr(uploads, "read_apart", crashing_work.segfault)
    task = client.done(client.send_table("evil.parquet", b"PAR1"))
    assert task["state"] == "failed"
    assert task["problem"]["type"] == "InputError"
    assert all(fact in task["problem"]["detail"] for fact in ("evil.parquet:", "damaged"))
    monkeypatch.undo()
    assert client.get(f"/api/v1/tables/{before}").json()["rows"] == 2
    assert client.open("age\n34\n35\n61\n")


def test_who_takes_too_much_memory_is_refused(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "available_memory", lambda: 1 << 28)
    packed = io.BytesIO()
    pq.write_table(pa.table({"age": pa.array([7] * 1_000_000, pa.int64())}), packed, row_group_size=1_000_000)
    assert client.result(client.send_table("fits.parquet", packed.getvalue()))
    with refused(InputError, "more memory"):
        CHILDREN.run(crashing_work.take_memory, 1 << 30, name="bomb.parquet", check=nothing)


def test_a_process_ends_when_nobody_waits_for_it(tmp_path: Path) -> None:
    file = tmp_path / "process"

    def check() -> None:
        if file.exists() and file.read_text():
            raise Cancelled

    with pytest.raises(Cancelled):
        CHILDREN.run(crashing_work.tell_process_and_sleep, str(file), name="slow.csv", check=check)
    number, end = int(file.read_text()), time.monotonic() + 300
    while Path(f"/proc/{number}").exists() and time.monotonic() < end:
        time.sleep(0.02)
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


def test_a_helper_that_was_ended_is_started_again() -> None:
    assert CHILDREN.run(len, "ab", name="x", check=nothing) == 2
    assert CHILDREN._control is not None
    CHILDREN._control.shutdown(socket.SHUT_RDWR)
    assert CHILDREN.run(len, "abc", name="x", check=nothing) == 3


def test_a_message_has_no_folder_of_the_workbench_and_no_python() -> None:
    with workbench() as bench:
        file = bench.folder / "tmp1" / "table.csv"
        error = InputError(f"{file}: cannot be read; say ", Say("format", "Csv", encoding="latin-1"))
        detail = problem_of(error).detail
    assert detail == 'table.csv: cannot be read; say {kind: Csv, encoding: "latin-1"}'
    with pytest.raises(InputError) as caught:
        CHILDREN.run(crashing_work.refuse, "x.csv", name="x.csv", check=nothing)
    assert caught.value.words[1] == Say("others", "keep")
    assert sentence(caught.value) == "x.csv: say others: keep"


def test_documents_that_are_read_there_name_no_files(tmp_path: Path) -> None:
    with refused(ParameterError, "hierarchy file", "named here"):
        CHILDREN.run(crashing_work.open_file, str(tmp_path / "x.csv"), name="x", check=nothing)


def _files() -> dict[str, bytes]:
    made: dict[str, bytes] = {}
    for name, write_to in {
        "t.parquet": lambda file: pq.write_table(PEOPLE, file),
        "t.feather": lambda file: pyarrow.feather.write_feather(PEOPLE, file, compression="uncompressed"),
    }.items():
        file = io.BytesIO()
        write_to(file)
        made[name] = file.getvalue()
    made["t.csv"] = b"age,name\n34,Ann\n35,\n"
    made["t.csv.gz"] = gzip.compress(made["t.csv"])
    return made


def test_damaged_files_end_in_a_table_or_a_sentence(client: Client) -> None:
    seed = random.randrange(2**32)
    chance, files = random.Random(seed), _files()
    print(f"seed {seed}")
    for number in range(4 * (10 if "VEIL_FUZZ" in os.environ else 3)):
        name = list(files)[number % len(files)]
        content = bytearray(files[name])
        for _ in range(chance.randrange(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        del content[chance.choice([len(content), chance.randrange(1, len(content))]) :]
        task = client.done(client.send_table(name, bytes(content)))
        if task["state"] == "failed":
            assert task["problem"]["status"] == 422, (seed, task)
            assert "veil-workbench" not in task["problem"]["detail"], (seed, task)


def test_of_two_budgets_at_the_same_time_one_is_refused() -> None:
    with workbench() as bench:
        clients = [Client(bench), Client(bench)]
        tables = [each.open("age\n34\n35\n") for each in clients]
        start, codes = threading.Barrier(2), list[Any]()

        def put(at: int) -> None:
            start.wait()
            asked = {"epsilon": 1 + at}
            codes.append(clients[at].put(f"/api/v1/tables/{tables[at]}/budget", json=asked).status_code)

        threads = [threading.Thread(target=put, args=(at,)) for at in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert sorted(codes) == [200, 409]
        told = [
            client.get(f"/api/v1/tables/{id}/budget").json()
            for client, id in zip(clients, tables, strict=True)
        ]
        assert told[0] == told[1]
