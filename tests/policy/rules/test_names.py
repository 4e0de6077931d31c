"""The names of models, and what they ask for."""

from __future__ import annotations

import pytest

from support.policies import model
from support.refusals import refused
from veil.errors import PlanError
from veil.policy.rules.names import requirements, titles

TABLE_2_1 = {
    "k-Anonymity": {"k": 3},
    "k-Map": {"k": 3},
    "Distinct-l-Diversity": {"l": 3},
    "Entropy-l-Diversity": {"l": 2.5},
    "Recursive (c, l)-Diversity": {"c": 3, "l": 2},
    "Ordered Distance t-Closeness": {"t": 0.2},
    "Equal Distance t-Closeness": {"t": 0.2},
    "Hierarchical Distance t-Closeness": {"t": 0.2},
    "delta-Disclosure Privacy": {"delta": 1},
    "Basic beta-Likeness": {"beta": 1},
    "Enhanced beta-Likeness": {"beta": 1},
    "delta-Presence": {"dMin": 0.1, "dMax": 0.5},
    "Inclusion": {},
    "Profitability Prosecutor": {},
    "Profitability Journalist": {},
    "Profitability Prosecutor No Attack": {"gain": 300, "cost": 4},
    "Profitability Journalist No Attack": {},
    "(e, d)-differential Privacy": {"e": 1, "d": 1e-6},
    "Average Risk": {"average": 0.1},
    "Population Uniqueness": {"threshold": 0.01, "population": 1000},
    "Sample Uniqueness": {"threshold": 0.01},
}


@pytest.mark.parametrize("name", TABLE_2_1)
def test_every_name_of_table_2_1_is_known_in_any_spelling(name: str) -> None:
    for spelled in (name, name.upper(), name.replace("-", " "), name.replace(" ", "_")):
        found = requirements(model(spelled, **TABLE_2_1[name]), ("ill",))
        assert found == requirements(model(name, **TABLE_2_1[name]), ("ill",))


def test_bare_names_are_read_as_said() -> None:
    (diverse,) = requirements(model("L-diversity", l=3), ("ill",))
    (close,) = requirements(model("t-Closeness", t=0.2), ("ill",))
    assert (diverse.kind, "distinct" in diverse.note) == ("DistinctLDiversity", True)
    assert (dict(close.parameters)["distance"], "implies" in close.note) == ("equal", True)
    assert len(titles()) == 25


def test_a_model_without_a_column_speaks_of_all_that_are_sensitive() -> None:
    assert [each.attribute for each in requirements(model("l-Diversity", l=2), ("a", "b"))] == ["a", "b"]
    assert [each.attribute for each in requirements(model("l-Diversity", "c", l=2), ("a", "b"))] == ["c"]
    with refused(PlanError, "sensitive column", "none"):
        requirements(model("l-Diversity", l=2), ())
