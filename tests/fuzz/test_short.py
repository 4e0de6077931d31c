"""A short run of damaged documents, others each time, and every document that was too much once.

`make fuzz` goes on for minutes or hours; VEIL_FUZZ=1000 asks for so many documents of each kind here.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.amount import tables
from support.fuzz.doors import DOORS, FOUND
from support.fuzz.run import Reader

CASES = sorted(FOUND.glob("*/*"))


@pytest.fixture(scope="module")
def reader() -> Iterator[Reader]:
    made = Reader()
    made.warm_up(list(DOORS))
    yield made
    made.close()


@pytest.mark.parametrize("door", DOORS)
def test_good_documents_are_taken(door: str) -> None:
    """Else damage would go no deeper than to what is wrong anyway."""
    for content in DOORS[door].good():
        assert set(DOORS[door].attempt(content).split()) == {"0"}


@pytest.mark.parametrize("door", DOORS)
def test_damaged_documents_end_in_a_sentence(door: str, reader: Reader) -> None:
    first = secrets.randbelow(2**31)
    seeds = range(first, first + tables(8))
    wrong = {seed: told for seed in seeds if (told := reader.attempt(door, seed)) is not None}
    assert not wrong  # by their seeds, which damage alike


@pytest.mark.parametrize("case", CASES, ids=lambda each: f"{each.parent.name}-{each.stem}")
def test_what_was_too_much_once_is_not_any_more(case: Path, reader: Reader) -> None:
    assert reader.read(case.parent.name, case.read_bytes()) is None


def test_a_reader_outlives_what_kills_it(reader: Reader) -> None:
    """The harness itself: a death and a hang are told as such, and the next document is read."""
    process = reader.process.pid
    reader.process.kill()
    reader.process.join()
    assert "kills the process" in str(reader.read("recipe", b"input: x"))
    assert reader.process.pid != process
    assert reader.read("recipe", b"input: x") is None


def test_a_seed_damages_alike() -> None:
    for door in DOORS.values():
        assert [door.draw(seed) for seed in range(20)] == [door.draw(seed) for seed in range(20)]
