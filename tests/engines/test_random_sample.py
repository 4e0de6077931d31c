"""Random samples that an engine draws with a key of the driver's, and SafePub on top of them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from support.refusals import refused
from veil import hierarchies as h
from veil.base.randomness import Randomness
from veil.dp import SafePub
from veil.dp.accountant import Accountant
from veil.engines.random_sample import draw_rows
from veil.engines.relation import relation_of
from veil.errors import BudgetError, PlanError

ROWS = 2000
PEOPLE = pa.table(
    {
        "number": pa.array(range(ROWS)),
        "sex": ["f" if row % 3 else "m" for row in range(ROWS)],
        "age": [str(row * 7 % 40) for row in range(ROWS)],
    }
)
HIERARCHIES = {
    "sex": h.table([["f", "*"], ["m", "*"]]),
    "age": h.table([[str(age), f"{age // 10}x", "*"] for age in range(40)]),
}


class Recorded(Randomness):
    """The operating system's draws, written down."""

    def __init__(self) -> None:
        self.drawn: list[int] = []

    def bits(self, size: int) -> Any:
        found = super().bits(size)
        self.drawn += found.tolist()
        return found


@pytest.fixture(params=["duckdb", "sqlite"])
def people(request: pytest.FixtureRequest) -> Iterator[Any]:
    """The table in an engine that needs no server."""
    backend = getattr(ibis, request.param).connect()
    yield backend.create_table("people", PEOPLE)
    backend.disconnect()


def numbers(table: Any) -> list[int]:
    return table.to_pyarrow()["number"].to_pylist()


@pytest.mark.parametrize("probability", [Fraction(1, 3), Fraction(9, 10), Fraction(1, 1000), Fraction(1)])
def test_a_sample_is_what_the_digests_say(people: Any, probability: Fraction) -> None:
    chance = Recorded()
    found = numbers(draw_rows(relation_of(people), probability, chance).table)
    key = "".join(f"{word:016x}" for word in chance.drawn)
    assert len(key) == 64
    digests = [int(hashlib.sha256(f"{key}:{row}".encode()).hexdigest(), 16) for row in range(ROWS)]
    assert len(found) == sum(digest < probability * 2**256 for digest in digests)
    assert len(set(found)) == len(found)


def test_every_row_is_as_likely_as_the_others_and_the_order_tells_nothing(people: Any) -> None:
    relation = relation_of(people)
    samples = [numbers(draw_rows(relation, Fraction(1, 4), Randomness()).table) for _ in range(40)]
    assert len({tuple(each) for each in samples}) == 40
    counts = np.bincount(np.concatenate(samples), minlength=ROWS)
    # 40 draws with probability 1/4: mean 10, deviation 2.74; of 2,000 rows none is 6 deviations away.
    assert abs(counts.mean() - 10) < 6 * 2.74 / np.sqrt(ROWS)
    assert counts.min() >= 0
    assert counts.max() <= 26
    pairs = [first < second for each in samples for first, second in pairwise(each)]
    assert 0.45 < np.mean(pairs) < 0.55


def test_a_seed_draws_the_same_again(people: Any) -> None:
    relation = relation_of(people)
    first, second = (
        numbers(draw_rows(relation, Fraction(1, 2), Randomness.for_testing(5)).table) for _ in range(2)
    )
    assert first == second


def test_safepub_of_an_engine(people: Any) -> None:
    plan = {
        "quasi_identifiers": HIERARCHIES,
        "identifying": ["number"],
        "models": SafePub(2, 1e-4),
        "person": None,
    }
    release = veil.anonymize(people, **plan)
    assert release.is_private
    assert release.statement.startswith("With a probability")
    written = release.table.to_pyarrow()
    assert written.column_names == ["sex", "age"]
    kept = Counter(zip(written["sex"].to_pylist(), written["age"].to_pylist(), strict=True))
    smallest = release.search.model.parameters().k
    assert min(kept.values()) >= smallest
    assert written.num_rows == release.records - release.suppressed
    beta = float(release.search.model.parameters().beta)
    deviation = (ROWS * beta * (1 - beta)) ** 0.5
    assert abs(release.records - ROWS * beta) < 6 * deviation
    assert not veil.anonymize(people, **plan, for_testing_seed=1).is_private


def test_a_fixed_scheme_and_a_budget(people: Any) -> None:
    accountant = Accountant(2, 1e-3)
    model = SafePub(2, 1e-4, generalization={"sex": 0, "age": 1})
    plan = {"quasi_identifiers": HIERARCHIES, "identifying": ["number"], "models": model, "person": None}
    release = veil.anonymize(people, **plan, accountant=accountant)
    assert release.transformation == {"sex": 0, "age": 1}
    with refused(BudgetError, "left of epsilon"):
        veil.anonymize(people, **plan, accountant=accountant)


def test_the_search_as_published_needs_the_rows(people: Any) -> None:
    model = SafePub(2, 1e-4, final="as_published")
    with refused(PlanError, "engine", "not return"):
        veil.anonymize(
            people, quasi_identifiers=HIERARCHIES, identifying=["number"], models=model, person=None
        )


def test_a_private_release_is_written_and_checked(people: Any, tmp_path: Any) -> None:
    release = veil.anonymize(
        people, quasi_identifiers=HIERARCHIES, identifying=["number"], models=SafePub(2, 1e-4), person=None
    )
    release.save(tmp_path / "release.parquet")
    written = pq.read_table(tmp_path / "release.parquet")
    assert written.num_rows == release.records - release.suppressed


def test_the_layout_of_files_does_not_tell_how_many_rows_were_suppressed(tmp_path: Any) -> None:
    def sizes(outliers: int) -> list[int]:
        rows = 30_000
        ages = ["1"] * rows + ["39"] * outliers
        backend = ibis.duckdb.connect()
        people = backend.create_table("people", pa.table({"age": ages, "sex": ["f"] * len(ages)}))
        model = SafePub(2, 1e-4, generalization={"sex": 0, "age": 0})
        release = veil.anonymize(people, quasi_identifiers=HIERARCHIES, models=model, person=None)
        release.save(tmp_path / f"release-{outliers}", chunk_rows=5000)
        files = sorted((tmp_path / f"release-{outliers}").glob("*.parquet"))
        found = [pq.read_metadata(file).num_rows for file in files]
        assert sum(found) == release.records - release.suppressed
        return found

    for outliers in (0, 5):
        assert set(sizes(outliers)[:-1]) == {5000}


def test_an_empty_sample_is_an_empty_release() -> None:
    backend = ibis.duckdb.connect()
    people = backend.create_table("people", pa.table({"age": ["1"] * 40, "sex": ["f"] * 40}))
    model = SafePub("0.01", 1e-4, generalization={"sex": 0, "age": 0})  # draws hardly ever
    release = veil.anonymize(people, quasi_identifiers=HIERARCHIES, models=model, person=None)
    assert release.records < 37
    assert release.table.to_pyarrow().num_rows == 0
