"""SafePub from file to file: what a person gets is no likelier with one record more than the promise allows.

The attacker knows every record but one, and sees all that was delivered: columns, types, rows in their order, the bytes
of files. For small tables the operating system's coins are replaced by every way they can fall, so that probabilities
are exact (e^ε is 2, and the coins of the sample are fair); a run with a private search is tested by drawing.

Faults are planted to see that the test can fail.
"""

from __future__ import annotations

import itertools
import os
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import veil
from support.dp.stochastic import find_violation, neighbouring_pairs
from veil import SafePub
from veil import hierarchies as h
from veil.base.randomness import Randomness
from veil.dp import publish, safepub
from veil.tables import read

Table = tuple[str, ...]
Distribution = dict[Hashable, Fraction]

FACTOR, DELTA = 2, Fraction(1, 4)  # e^ε and δ: k is 2, and a class of two uses up all of δ
MODEL = SafePub("ln(2)", "1/4", generalization={"value": 0})
DOMAIN = h.table([["7", "*"], ["8", "*"], ["odd", "*"]])
COINS = (0, 1 << 62, 2 << 62, 3 << 62)
"""Places of a draw that are equally likely: one in four is below a quarter."""


class Coins(Randomness):
    """The operating system's coins, written down: how they fall for the sample, and for the order of what is drawn."""

    def __init__(self, sample: tuple[int, ...], order: tuple[int, ...] | None = None) -> None:
        self.sample, self.order = sample, order
        self.drawn = -1  # asked for nothing yet

    def bits(self, size: int) -> Any:
        if self.drawn < 0:
            self.drawn = 0
            return np.array(self.sample, np.uint64)
        self.drawn = size
        return np.array(range(size) if self.order is None else self.order, np.uint64)


@pytest.fixture
def person(tmp_path, monkeypatch) -> Callable[..., Hashable]:
    """What a person sees of a release of a CSV file."""
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)  # quicker, and no disk fails here

    def sees(table: Table, coins: Randomness | None = None, model: SafePub = MODEL) -> Hashable:
        source, target = tmp_path / "people.csv", tmp_path / "release.feather"
        source.write_text("id,value\n" + "".join(f"{at},{each}\n" for at, each in enumerate(table)))
        if coins is not None:
            monkeypatch.setattr("veil.api.anonymize.Randomness", lambda: coins)
        release = veil.anonymize(
            source,
            quasi_identifiers={"value": DOMAIN},
            others="drop",
            models=model,
            person=None,
            progress=False,
        )
        release.save(target, overwrite=True)
        frame = release.table
        shown = tuple(zip(*frame.to_pydict().values(), strict=True))
        return str(frame.schema), frame["value"].num_chunks, shown, target.read_bytes()

    return sees


def distribution(
    person: Callable[..., Hashable],
    table: Table,
    *,
    places: tuple[int, ...] = COINS[::2],
    orders: bool = True,
) -> Distribution:
    """How likely each view of a release is, over all ways the coins can fall and all orders of what is drawn."""
    found: Distribution = defaultdict(Fraction)
    for fallen in itertools.product(places, repeat=len(table)):
        coins = Coins(fallen)
        views = [person(table, coins)]
        if orders:
            _, *others = itertools.permutations(range(coins.drawn))
            views += [person(table, Coins(fallen, order)) for order in others]
        for view in views:
            found[view] += Fraction(1, len(places) ** len(table) * len(views))
    assert sum(found.values()) == 1
    return found


def excess(one: Distribution, other: Distribution) -> Fraction:
    """The least δ for which no event is likelier on one table by more than e^ε and δ: exactly."""
    return sum((max(Fraction(0), p - FACTOR * other.get(view, 0)) for view, p in one.items()), Fraction(0))


def worst(one: Distribution, other: Distribution) -> Fraction:
    return max(excess(one, other), excess(other, one))


def test_no_view_is_likelier_by_more_than_epsilon_and_delta(person):
    """All neighbours among tables of up to three records, one of which makes a text of the column."""
    known: dict[Table, Distribution] = {}
    found = []
    for pair in neighbouring_pairs(["7", "8", "odd"], 3):
        if () not in pair:
            for table in pair:
                if table not in known:
                    known[table] = distribution(person, table)
            found.append(worst(known[pair[0]], known[pair[1]]))
    assert max(found) == DELTA  # reached where a second record lets a class be shown


# --- planted faults -----------------------------------------------------------------------------------


def with_parameters(monkeypatch: pytest.MonkeyPatch, **wrong: Any) -> None:
    right = safepub.parameters
    monkeypatch.setattr(safepub, "parameters", lambda *given: replace(right(*given), **wrong))


def test_a_sample_that_is_too_large_is_found(person, monkeypatch):
    with_parameters(monkeypatch, beta=Fraction(3, 4))
    one, other = (distribution(person, ("7",) * n, places=COINS) for n in (2, 1))
    assert worst(one, other) == Fraction(9, 16) > DELTA


def test_classes_that_are_too_small_are_found(person, monkeypatch):
    with_parameters(monkeypatch, k=1)
    one, other = (distribution(person, table) for table in (("7", "odd"), ("7",)))
    assert worst(one, other) == Fraction(1, 2) > DELTA


ORDERED = ("7", "8", "8", "8", "8", "7", "7")
"""Where places are kept, a seven above all eights is the first record, for sure."""


def test_rows_in_the_order_of_the_input_are_found(person, monkeypatch):
    draw = publish.draw_sample
    monkeypatch.setattr(publish, "draw_sample", lambda *given: np.sort(draw(*given)))
    one, other = (distribution(person, table, orders=False) for table in (ORDERED, ORDERED[1:]))
    assert worst(one, other) > DELTA


def test_types_that_follow_from_the_data_are_found(person, monkeypatch):
    monkeypatch.setattr(publish, "in_domain", lambda source, hierarchies: source)
    monkeypatch.setattr(
        "veil.engines.questions.read_cells", lambda source, **_: replace(read(source), is_cells=True)
    )
    monkeypatch.setattr(publish, "_rebuild", lambda table: table)
    one, other = (distribution(person, table) for table in (("7", "7", "odd"), ("7", "7")))
    assert worst(one, other) == 1


# --- by drawing, with a search ------------------------------------------------------------------------


def test_a_release_with_a_search_is_tested_by_drawing(person):
    model = SafePub("1.5", "0.4", search_epsilon="0.5", steps=1)
    tables = [("7", "7", "odd"), ("7", "7"), ("7",)]
    coins = Randomness.for_testing(5)
    views = {table: [person(table, coins, model) for _ in range(120)] for table in tables}

    def tell(table: Table) -> Hashable:
        views[table].append(views[table].pop(0))
        return views[table][-1]

    pairs = list(itertools.pairwise(tables))
    assert find_violation(tell, pairs, "1.5", "0.4", runs=120) is None
    # It would notice a tenth of the budget.
    assert find_violation(tell, pairs, "0.15", "0.04", runs=120, alarm=1e-3) is not None
