"""A ledger is for one relation of neighbours; promises of the other kind are dearer, or none."""

from __future__ import annotations

import hashlib
import itertools
import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.refusals import refused
from veil.dp.accountant import Accountant
from veil.dp.composition import Amount
from veil.dp.symbolic import Symbolic
from veil.errors import BudgetError, ParameterError, PlanError

DATA = "ab" * 32
read = Symbolic.read


def test_one_more_or_less_is_entered_as_twice_epsilon_where_one_is_changed() -> None:
    accountant = Accountant(3, "1/10", neighbours="one changed")
    entry = accountant.spend("release", "ln(3)", "1/100", neighbours="one more or less")
    assert (entry.epsilon, entry.delta) == (read("2*ln(3)"), Fraction(1, 25))  # (1 + 3) / 100
    accountant.spend("its own kind", "1/2", "1/100")
    assert accountant.spent == Amount(read("2*ln(3)") + read("1/2"), Fraction(1, 20))


def test_an_irrational_delta_is_rounded_up() -> None:
    entry = Accountant(3, "1/10", neighbours="one changed").spend(
        "x", 1, "1/100", neighbours="one more or less"
    )
    assert Fraction("0.0371828182845904") < entry.delta < Fraction("0.0371828182845905")
    assert entry.delta > Fraction("0.03718281828459045")  # (1 + e) / 100 = .037182818284590452…


def test_the_reverse_is_refused_and_costs_nothing() -> None:
    accountant = Accountant(1)
    with refused(PlanError, 'neighbours="one changed"', "one record more"):
        accountant.spend("x", "1/2", neighbours="one changed")
    assert accountant.ledger == ()
    with refused(ParameterError, "`neighbours`", '"one changed"', "not None"):
        Accountant(1, neighbours=None)  # type: ignore[arg-type]


def test_a_file_keeps_its_relation_and_older_ones_are_for_one_more_or_less(tmp_path: Path) -> None:
    file = tmp_path / "budget.json"
    Accountant.create(file, 1, fingerprint=DATA, neighbours="one changed").spend("x", "1/2")
    assert Accountant.open(file, fingerprint=DATA).neighbours == "one changed"
    content = json.loads(file.read_text())
    for key in ("neighbours", "zcdp_delta", "digest"):
        del content[key]
    for entry in content["spent"]:
        del entry["rho"], entry["alone"]
    content["digest"] = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    file.write_text(json.dumps(content))
    older = Accountant.open(file, fingerprint=DATA)
    assert older.neighbours == "one more or less"
    assert older.remaining.epsilon == read("1/2")


def test_disjoint_parts_cost_the_two_largest_where_one_is_changed() -> None:
    """A changed record may leave one part and enter another: Proposition 4 of the thesis holds for one more or less only."""
    prices = {"north": "1/2", "south": "3/10", "east": "1/5"}
    for neighbours, cost in (("one more or less", "1/2"), ("one changed", "4/5")):
        accountant = Accountant(1, neighbours=neighbours)  # type: ignore[arg-type]
        for part, price in prices.items():
            accountant.spend("counts", price, partition="region", part=part)
        assert accountant.spent.epsilon == read(cost)
    assert accountant.remaining.epsilon == read("1/5")
    assert accountant.remaining_for("region", "east").epsilon == read(
        "3/10"
    )  # up to 1/2 beside the north's 1/2
    assert accountant.remaining_for("region", "north").epsilon == read("1/5")
    with refused(BudgetError, "epsilon = 0.31", "epsilon = 0.3 is"):
        accountant.spend("more", "0.31", partition="region", part="east")
    accountant.spend("more", "0.3", partition="region", part="east")
    assert accountant.spent.epsilon == read(1)


def worst_change(entries: list[tuple[Fraction, str | None, str | None]]) -> Fraction:
    """What the worst changed record costs: it leaves a part of each partition and enters one; all choices are tried."""
    partitions = sorted({partition for _, partition, _ in entries if partition})
    parts = [sorted({part for _, name, part in entries if name == partition}) for partition in partitions]
    worst = Fraction(0)
    for left, entered in itertools.product(itertools.product(*parts), repeat=2):
        seen = [
            {(name, part) for name, part in zip(partitions, chosen, strict=True)}
            for chosen in (left, entered)
        ]
        cost = sum(
            (price for price, name, part in entries if name is None or (name, part) in seen[0] | seen[1]),
            Fraction(0),
        )
        worst = max(worst, cost)
    return worst


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.fractions(Fraction(1, 20), 1, max_denominator=20),
            st.sampled_from([None, "x", "y"]),
            st.sampled_from(["1", "2", "3"]),
        ),
        max_size=8,
    )
)
def test_the_total_is_what_the_worst_change_costs(drawn) -> None:
    accountant, accepted = Accountant(2, neighbours="one changed"), []
    for price, partition, part in drawn:
        entry = (price, partition, part if partition else None)
        left = (
            accountant.remaining.epsilon
            if partition is None
            else accountant.remaining_for(partition, part).epsilon
        )
        if worst_change([*accepted, entry]) <= 2:
            accountant.spend("x", price, partition=entry[1], part=entry[2])
            accepted.append(entry)
            assert Symbolic(price) <= left
        else:
            assert Symbolic(price) > left
            with pytest.raises(BudgetError):
                accountant.spend("x", price, partition=entry[1], part=entry[2])
    assert accountant.spent.epsilon == Symbolic(worst_change(accepted))
