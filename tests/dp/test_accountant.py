"""The accountant adds up exactly, exceeds no budget and forgets nothing, in a race or in a crash."""

from __future__ import annotations

import copy
import hashlib
import json
import multiprocessing
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import refusals
from veil.dp.accountant import Accountant, Amount, beside, fingerprint
from veil.dp.symbolic import Symbolic
from veil.errors import BudgetError, InputError, OutputError, ParameterError, PlanError

DATA = "ab" * 32
OTHER = "cd" * 32
read = Symbolic.read


def amount(epsilon: object, delta: object = 0) -> Amount:
    return Amount(read(epsilon), read(delta).rational)  # type: ignore[arg-type]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return beside(tmp_path / "patients.csv")


# --- composition ----------------------------------------------------------------------------------


def test_tenths_add_up_to_one_and_thirds_of_a_logarithm_to_all_of_it():
    accountant = Accountant(1)
    for _ in range(10):
        accountant.spend("a tenth", 0.1)
    assert accountant.remaining == amount(0)
    with refusals.refused(BudgetError, "'crumb'", "epsilon = 1e-40", "epsilon = 0 is", "of epsilon = 1."):
        accountant.spend("crumb", "1e-40")
    accountant = Accountant("ln(3)")
    for _ in range(3):
        accountant.spend("a third", "ln(3)/3")
    assert accountant.remaining == amount(0)


def test_delta_is_a_budget_of_its_own():
    accountant = Accountant(10, "1e-5")
    accountant.spend("first", 1, "6e-6")
    with refusals.refused(BudgetError, "'second'", "delta = 5e-06", "epsilon = 9", "delta = 4e-06 is"):
        accountant.spend("second", 1, "5e-6")
    assert accountant.remaining == amount(9, "4e-6")  # a refusal costs nothing
    accountant.spend("pure", 9)
    assert accountant.remaining == amount(0, "4e-6")
    accountant.spend("delta alone", 0, "4e-6")


def test_of_disjoint_parts_the_most_expensive_counts():
    accountant = Accountant(1, "1e-3")
    accountant.spend("north", 0.5, partition="region", part="north")
    accountant.spend("south", 0.3, "1e-4", partition="region", part="south")
    assert accountant.spent == amount(0.5, "1e-4")
    accountant.spend("all", 0.2)
    accountant.spend(
        "young", 0.1, partition="age", part="young"
    )  # another partition: its parts overlap the regions
    assert accountant.remaining == amount(0.2, "9e-4")
    assert accountant.remaining_for("region", "south") == amount(0.4, "9e-4")
    assert accountant.remaining_for("region", "east") == amount(0.7, "1e-3")
    with refusals.refused(BudgetError, "'more'", "epsilon = 0.41", "epsilon = 0.4,", "delta = 0.0009 is"):
        accountant.spend("more", 0.41, partition="region", part="south")
    accountant.spend("more", 0.4, partition="region", part="south")
    assert accountant.remaining.epsilon == read(0)
    accountant.spend("north again", 0.2, partition="region", part="north")  # free: the south has cost as much


def composed(entries: list[tuple[Fraction, Fraction, str | None, str | None]]) -> tuple[Fraction, Fraction]:
    """What the worst record costs: it lies in one part of every partition; all choices are tried."""
    partitions = sorted({partition for _, _, partition, _ in entries if partition})
    worlds: list[dict[str | None, str | None]] = [{None: None}]
    for partition in partitions:
        parts = {part for _, _, name, part in entries if name == partition}
        worlds = [{**world, partition: part} for world in worlds for part in parts]
    sums = [[e for e in entries if world[e[2]] == e[3]] for world in worlds]
    return max(sum(e[0] for e in each) for each in sums), max(sum(e[1] for e in each) for each in sums)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.fractions(Fraction(1, 50), 1, max_denominator=50),
            st.fractions(0, Fraction(1, 100), max_denominator=500),
            *[st.sampled_from([None, "x", "y"]), st.sampled_from(["1", "2", "3"])],
        ),
        max_size=10,
    )
)
def test_the_total_is_what_the_worst_record_costs(drawn):
    entries = [(e, d, partition, part if partition else None) for e, d, partition, part in drawn]
    accountant, accepted = Accountant(2, "1/30"), []
    for e, d, partition, part in entries:
        cost = composed([*accepted, (e, d, partition, part)])
        if cost[0] <= 2 and cost[1] <= Fraction(1, 30):
            accountant.spend("x", e, d, partition=partition, part=part)
            accepted.append((e, d, partition, part))
        else:
            with pytest.raises(BudgetError):
                accountant.spend("x", e, d, partition=partition, part=part)
    total = composed(accepted)
    assert accountant.spent == amount(*total)
    assert len(accountant.ledger) == len(accepted)


def test_threads_do_not_spend_the_same_part_twice():
    accountant, refused = Accountant(50), []

    def work() -> None:
        for _ in range(30):
            try:
                accountant.spend("x", 1)
            except BudgetError:
                refused.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(accountant.ledger) == 50
    assert len(refused) == 70


# --- the file -------------------------------------------------------------------------------------


def test_a_budget_in_a_file_is_taken_up_again(file):
    first = Accountant.create(file, "2*ln(3)/3", "1e-5", fingerprint=DATA)
    spent = first.spend("release für 2024", "ln(3)/3", "1e-6")
    first.spend("north", "1/7", partition="region", part="north")
    second = Accountant.open(file, fingerprint=DATA.upper())
    assert second.budget == first.budget == amount("2*ln(3)/3", "1e-5")
    assert second.ledger == first.ledger
    assert second.ledger[0] == spent
    assert second.remaining == amount(read("ln(3)/3") - read("1/7"), "9e-6")
    first.spend("meanwhile", "1/8")  # the other one knows at once
    assert second.remaining.epsilon == read("ln(3)/3") - read("1/7") - read("1/8")
    with pytest.raises(BudgetError):
        second.spend("too much", "1/4")
    assert len(first.ledger) == 3
    content = json.loads(file.read_text())
    assert content["fingerprint"] == DATA
    assert [each["label"] for each in content["spent"]] == ["release für 2024", "north", "meanwhile"]
    assert content["spent"][0]["epsilon"] == "1/3*ln(3)"


def test_a_budget_is_not_started_twice(file):
    Accountant.create(file, 1, fingerprint=DATA).spend("x", 1)
    with refusals.refused(OutputError, "budget already exists"):
        Accountant.create(file, 1, fingerprint=DATA)
    assert Accountant.open(file, fingerprint=DATA).remaining == amount(0)


def test_a_missing_budget_is_not_a_fresh_one(file):
    with refusals.refused(InputError, "no budget"):
        Accountant.open(file, fingerprint=DATA)
    accountant = Accountant.create(file, 1, fingerprint=DATA)
    file.unlink()
    with refusals.refused(InputError, "no budget"):
        accountant.spend("x", 0.1)
    assert not file.exists()


def test_the_budget_of_another_data_set_is_refused(file):
    Accountant.create(file, 1, fingerprint=DATA)
    with refusals.refused(PlanError, "another data set"):
        Accountant.open(file, fingerprint=OTHER)
    opened = Accountant.open(file, fingerprint=DATA)
    file.unlink()
    Accountant.create(file, 1, fingerprint=OTHER)
    with refusals.refused(InputError, "replaced", "another budget"):
        opened.spend("x", 0.1)


def damage(text: str) -> list[tuple[str, str]]:
    content = json.loads(text)
    unknown = json.dumps({**content, "format": "veil-budget-9"})
    without = json.dumps({key: value for key, value in content.items() if key != "digest"})
    return [
        ("empty", ""),
        ("half", text[: len(text) // 2]),
        ("a smaller price", text.replace('"0.75"', '"0.05"')),
        ("a larger budget", text.replace('"epsilon": "1"', '"epsilon": "9"')),
        ("an entry less", json.dumps({**content, "spent": []})),
        ("no digest", without),
        ("format", unknown),
        ("list", "[]"),
        ("number", "3"),
        ("null", "null"),
        ("no text", "\udcff"),
    ]


def test_a_damaged_file_is_an_error_and_stays_as_it_is(file):
    accountant = Accountant.create(file, 1, fingerprint=DATA)
    accountant.spend("x", 0.75)
    for name, text in damage(file.read_text()):
        written = text.encode("utf-8", "surrogateescape")
        file.write_bytes(written)
        with refusals.refused(InputError, "damaged", "backup"):
            Accountant.open(file, fingerprint=DATA)
        with pytest.raises(InputError, match="is damaged"):
            accountant.spend("y", 0.1)
        with pytest.raises(InputError, match="is damaged"):
            _ = accountant.remaining
        with refusals.refused(OutputError, "budget already exists"):
            Accountant.create(file, 1, fingerprint=DATA)
        assert file.read_bytes() == written, name


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_changed_byte_is_overlooked(tmp_path_factory, data):
    file = tmp_path_factory.mktemp("budget") / "b.json"
    Accountant.create(file, 1, "1e-3", fingerprint=DATA).spend("x", "1/3", "1e-4", partition="p", part="q")
    before = Accountant.open(file, fingerprint=DATA).ledger
    content = bytearray(file.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    file.write_bytes(bytes(content))
    try:
        opened = Accountant.open(file, fingerprint=DATA)
    except InputError:
        return
    assert opened.ledger == before  # only white space was changed, or nothing
    assert opened.budget == amount(1, "1e-3")


# --- processes ------------------------------------------------------------------------------------

SPENDER = textwrap.dedent(
    """
    import sys
    from veil.dp.accountant import Accountant
    from veil.errors import BudgetError
    accountant = Accountant.open(sys.argv[1], fingerprint=sys.argv[2])
    print("ready", flush=True)
    sys.stdin.readline()
    for i in range(int(sys.argv[3])):
        try:
            accountant.spend(f"{sys.argv[4]} {i}", 1)
            print("spent", flush=True)
        except BudgetError:
            print("refused", flush=True)
    sys.stdin.readline()  # stays until it is told to go, so that a late kill finds it alive
    """
)


def spender(file: Path, times: int, name: str) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", SPENDER, str(file), DATA, str(times), name],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


def test_two_processes_spend_a_budget_once(file):
    Accountant.create(file, 40, fingerprint=DATA)
    processes = [spender(file, 30, name) for name in ("one", "other")]
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    said = [process.communicate(timeout=300)[0].split() for process in processes]
    assert sum(each.count("spent") for each in said) == 40
    assert sum(each.count("refused") for each in said) == 20
    accountant = Accountant.open(file, fingerprint=DATA)
    labels = [entry.label for entry in accountant.ledger]
    assert len(set(labels)) == 40
    for name, lines in zip(("one", "other"), said, strict=True):
        assert sum(label.startswith(name) for label in labels) == lines.count("spent")
    assert accountant.remaining == amount(0)


def killed(process: subprocess.Popen[str]) -> str:
    process.send_signal(signal.SIGKILL)
    assert process.stdout is not None
    rest = process.stdout.read()  # also what was read ahead with lines before
    process.communicate(timeout=300)
    assert process.returncode == -signal.SIGKILL
    return rest


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_what_a_killed_process_reserved_is_spent(file):
    """It dies after `spend`, before its mechanism has told anything."""
    Accountant.create(file, 2, fingerprint=DATA)
    code = SPENDER.replace('print("spent", flush=True)', 'print("spent", flush=True); sys.stdin.readline()')
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(file), DATA, "1", "victim"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": ":".join(sys.path)},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("go\n")
    process.stdin.flush()
    assert [process.stdout.readline() for _ in range(2)] == ["ready\n", "spent\n"]
    killed(process)
    accountant = Accountant.open(file, fingerprint=DATA)
    assert [entry.label for entry in accountant.ledger] == ["victim 0"]
    accountant.spend("after", 1)  # its lock is gone with it
    assert accountant.remaining == amount(0)


@pytest.mark.skipif(os.name == "nt", reason="no SIGKILL")
def test_a_kill_at_any_moment_loses_nothing_that_was_reported(file):
    Accountant.create(file, 10_000, fingerprint=DATA)
    reported = 0
    for round_ in range(4):
        process = spender(file, 2000, f"round {round_}")
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
        assert process.stdout is not None
        said = "".join(process.stdout.readline() for _ in range(2 + 5 * round_)) + killed(process)
        reported += said.split("\n")[:-1].count("spent")
        ledger = Accountant.open(file, fingerprint=DATA).ledger
        assert reported <= len(ledger) <= reported + 1
        reported = len(ledger)  # one may have been on the disk before it could be reported
    assert reported >= 2 + 7 + 12 + 17


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Accountant(0), "`epsilon` should be greater than 0, not 0"),
        (lambda: Accountant(-1), "`epsilon` should be at least 0, not -1"),
        (lambda: Accountant("lots"), "`epsilon` should be a number such as .*, not 'lots'"),
        (lambda: Accountant(1, 1), "`delta` should be a number from 0 to below 1, not 1"),
        (lambda: Accountant(1, -0.5), "`delta` should be a number from 0 to below 1, not -0.5"),
        (lambda: Accountant(1).spend("x", -1), "`epsilon` should be at least 0"),
        (lambda: Accountant(1).spend("x", 0), "there is nothing to spend"),
        (lambda: Accountant(1).spend("x", 1, partition="p"), "`partition` and `part` go together"),
    ],
)
def test_budgets_and_prices_are_checked(call, message):
    with pytest.raises(ParameterError, match=message):
        call()


def test_a_fingerprint_is_a_sha_256(file):
    with refusals.refused(ParameterError, "`fingerprint`", "SHA-256", "'abc'"):
        Accountant.create(file, 1, fingerprint="abc")
    assert not file.exists()


def test_where_nothing_can_be_written_nothing_is_spent(tmp_path):
    with refusals.refused(OutputError, "locked", "No such file", "Nothing was spent"):
        Accountant.create(tmp_path / "absent" / "b.json", 1, fingerprint=DATA)


def test_a_lock_that_is_not_given_up_ends_in_an_error(file, monkeypatch):
    fcntl = pytest.importorskip("fcntl")
    accountant = Accountant.create(file, 1, fingerprint=DATA)
    monkeypatch.setattr("veil.base.locks.PATIENCE", 0.05)
    with (file.parent / f".{file.name}.lock").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with refusals.refused(OutputError, "another process", "lock"):
            accountant.spend("x", 0.1)
    accountant.spend("x", 0.1)
    assert len(accountant.ledger) == 1


def in_a_fork(spend: Callable[[], object]) -> str:
    """What comes of spending in a child of this process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            spend()
            said = "spent"
        except BudgetError as error:
            said = str(error)
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_does_not_spend_a_copy(file):
    """An account in memory is granted again in every child; one in a file is one for all."""
    accountant = Accountant(1)
    assert "to a copy" in in_a_fork(lambda: accountant.spend("in the child", 1))
    accountant.spend("here", 1)
    kept = Accountant.create(file, 1, fingerprint=DATA)
    assert in_a_fork(lambda: kept.spend("in the child", 0.75)) == "spent"
    with refusals.refused(BudgetError, "epsilon = 0.25 is"):
        kept.spend("here", 0.5)
    assert "0.25 is left" in in_a_fork(lambda: kept.spend("in the child", 0.5))


def spend_there(accountant: Accountant) -> str:
    try:
        return accountant.spend("in another process", 0.75).label
    except BudgetError:
        return "refused"


def test_a_spawned_process_does_not_spend_a_copy(file):
    accountant, context = Accountant(1), multiprocessing.get_context("spawn")
    kept = Accountant.create(file, 1, fingerprint=DATA)
    with context.Pool(1) as pool:
        with refusals.refused(ParameterError, "each copy", "in a file"):
            pool.apply(spend_there, (accountant,))
        assert pool.apply(spend_there, (kept,)) == "in another process"
        assert pool.apply(spend_there, (kept,)) == "refused"
    assert kept.remaining == amount(0.25)


@pytest.mark.parametrize("twice", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))])
def test_a_copy_has_nothing_of_its_own_to_spend(twice, file):
    with refusals.refused(ParameterError, "cannot be copied"):
        twice(Accountant(1))
    kept = Accountant.create(file, 1, fingerprint=DATA)
    twice(kept).spend("by the copy", 1)
    assert kept.remaining == amount(0)


# --- which data, and what goes alone --------------------------------------------------------------


def test_the_fingerprint_of_a_file_is_that_of_its_bytes_and_of_a_frame_that_of_its_cells(tmp_path):
    (tmp_path / "a.csv").write_text("age\n31\n")
    assert fingerprint(tmp_path / "a.csv") == hashlib.sha256(b"age\n31\n").hexdigest()
    table = pa.table({"age": [31, None, 47], "tags": [["x"], None, []], "sex": ["f", "m", "f"]})
    assert fingerprint(table) == fingerprint(pa.concat_tables([table.slice(0, 1), table.slice(1)]))
    plain = table.drop_columns("tags")
    assert fingerprint(plain) == fingerprint(pl.from_arrow(plain))
    others = [table, plain.slice(1), plain.select(["sex", "age"]), plain.rename_columns(["age", "six"])]
    assert len({fingerprint(each) for each in [plain, *others, plain.take([1, 0, 2])]}) == 6


def test_what_goes_alone_is_first_and_last(file):
    for account in (Accountant(2), Accountant.create(file, 2, fingerprint=DATA)):
        account.spend("alone", 1, alone=True)
        assert account.ledger[0].alone
        with refusals.refused(BudgetError, "'one more'", "'alone'", "cannot be combined"):
            account.spend("one more", 0.5)
    account = Accountant(2)
    account.spend("first", 1)
    with refusals.refused(BudgetError, "'alone'", "'first'", "cannot be combined"):
        account.spend("alone", 0.5, alone=True)
    assert account.remaining == amount(1)


@pytest.mark.parametrize(
    "change",
    [
        {"partition": ["a"], "part": "b"},
        {"partition": "a", "part": {}},
        {"partition": "a"},
        {"label": None},
        {"alone": "no"},
        {"time": 7},
        {"epsilon": {}},
        {"rho": []},
    ],
    ids=range(8),
)
def test_entries_of_other_types_are_damage(tmp_path: Path, change: dict[str, object]) -> None:
    """With a digest that fits, as whoever can write the file can make one."""
    file = tmp_path / "budget.json"
    Accountant.create(file, 4, "1e-6", fingerprint=DATA).spend("first", 1)
    content = json.loads(file.read_text())
    content["spent"][0].update(change)
    del content["digest"]
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps({**content, "digest": digest}))
    with pytest.raises(InputError, match="is damaged"):
        Accountant.open(file, fingerprint=DATA)
