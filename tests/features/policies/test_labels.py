"""Sensitive cells that policies release as labels above others: such a label is no further value."""

from __future__ import annotations

import math
import random
from collections import Counter
from itertools import product
from typing import Any

import pyarrow as pa
import pytest

from support.policies import datum, model, policy
from support.refusals import refused
from veil.errors import ImpossibleError, NoSolutionError, PlanError
from veil.policy import apply
from veil.policy.release.chains import Chains

ASKED: dict[str, Any] = {"purpose": "research", "recipient": "lab", "suppression_limit": 0.5}
ABOVE = {"flu": "lungs", "cold": "lungs", "gout": "joints", "sprain": "joints"}
BELOW = {label: [each for each in ABOVE if ABOVE[each] == label] for label in set(ABOVE.values())}


def asking(cells: list[tuple[str, str, int]], *asked: Any) -> tuple[pa.Table, dict[str, Any]]:
    """Return rows of an age and an illness, each with the level that its policy releases the illness on."""
    policies = {
        str(at): policy(
            str(at),
            (
                datum("age", "QID", (age, "*"), 0, 1),
                datum("illness", "SD", (ill, ABOVE[ill], "any"), least, 2),
            ),
            asked,
        )
        for at, (age, ill, least) in enumerate(cells)
    }
    columns = [[cell[at] for cell in cells] for at in range(2)]
    return pa.table({"age": columns[0], "illness": columns[1], "policy_id": list(policies)}), policies


DISTINCT = model("Distinct-l-Diversity", "illness", l=2)


def test_a_label_above_a_value_is_no_second_value() -> None:
    cells = [("30", "flu", 0), ("30", "cold", 1), ("30", "flu", 0)]
    with pytest.raises((ImpossibleError, NoSolutionError)):
        apply(*asking(cells, DISTINCT), **{**ASKED, "suppression_limit": 0.0})
    release = apply(*asking([*cells, ("30", "gout", 0)], DISTINCT), **ASKED)
    assert Counter(release.table["illness"].to_pylist()) == {"flu": 2, "lungs": 1, "gout": 1}
    told = str(release.account)
    assert "'illness'" in told
    assert "labels above" in told
    assert "stricter form" in told
    assert release.table.column_names == ["age", "illness"]
    assert release.verification.holds


def test_labels_that_nothing_is_below_are_values() -> None:
    cells = [("30", "flu", 1), ("30", "gout", 0), ("30", "cold", 1)]
    release = apply(*asking(cells, DISTINCT), **{**ASKED, "suppression_limit": 0.0})
    assert Counter(release.table["illness"].to_pylist()) == {"lungs": 2, "gout": 1}
    assert "above other values" not in str(release.account)


def test_people_with_several_records_are_refused() -> None:
    table, policies = asking([("30", "flu", 0), ("30", "cold", 1), ("30", "gout", 0)], DISTINCT)
    with refused(PlanError, "'illness'", "labels"):
        apply(pa.concat_tables([table, table]), policies, **ASKED)


def exposed(table: Any, l: float) -> bool:
    """Say whether some filling of the labels in a class has an entropy below ln l."""
    rows = list(zip(table["age"].to_pylist(), table["illness"].to_pylist(), strict=True))
    for age in {age for age, ill in rows if (age, ill) != ("*", "*")}:
        cells = [ill for its, ill in rows if its == age and ill != "*"]
        everything = list(ABOVE)
        for filling in product(*(BELOW.get(ill, everything if ill == "any" else [ill]) for ill in cells)):
            counts = Counter(filling).values()
            entropy = math.log(len(filling)) - sum(n * math.log(n) for n in counts) / len(filling)
            if entropy < math.log(l) - 1e-9:
                return True
    return False


def releases(asked: Any, l: float) -> tuple[int, int]:
    """Count releases of random tables, and those in which somebody is exposed."""
    chance = random.Random(4)
    made = broken = 0
    for _ in range(25):
        cells = [
            (chance.choice(["30", "40"]), chance.choice(list(ABOVE)), chance.choice([0, 0, 0, 1, 2]))
            for _ in range(chance.randint(4, 8))
        ]
        try:
            release = apply(*asking(cells, asked), **ASKED)
        except (ImpossibleError, NoSolutionError):
            continue
        made, broken = made + 1, broken + exposed(release.table, l)
    return made, broken


@pytest.mark.parametrize(
    ("asked", "l"), [(DISTINCT, 1 + 1e-6), (model("Entropy-l-Diversity", "illness", l=1.6), 1.6)]
)
def test_no_filling_of_labels_exposes_anybody(asked: Any, l: float, monkeypatch: pytest.MonkeyPatch) -> None:
    made, broken = releases(asked, l)
    assert made > 5
    assert broken == 0
    monkeypatch.setattr(Chains, "above", lambda *_: set())  # each label is a value
    assert releases(asked, l)[1]
