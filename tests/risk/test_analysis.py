"""The whole analysis: it agrees with its parts, reads any table, and is right where there is little to say."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from support.realdata import QUASI_IDENTIFIERS, needs_data, source
from support.refusals import refused
from support.risk.tables import (
    E1,
    NAMES,
    generalized,
    published,
    seeded,
    sometimes,
    suppressed,
    table_of,
    tables,
)
from veil import KAnonymity
from veil import hierarchies as h
from veil.errors import InputError, ParameterError, PlanError
from veil.population import Population
from veil.published.table import Published
from veil.risk import (
    analyze,
    attacker_risks,
    attribute_risks,
    class_sizes,
    individual_risk,
    population_uniques,
    suda,
    wildcard_risk,
)
from veil.risk.analysis import RiskAnalysis
from veil.risk.distribution import risk_distribution
from veil.risk.uniques import sample_uniques
from veil.tables.rows import Rows


def same_arrays(some, others):
    return all(
        np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b
        for a, b in zip(vars(some).values(), vars(others).values(), strict=True)
    )


@sometimes
@given(tables(), st.sampled_from([0.1, 0.2, 0.5]), st.booleans())
def test_the_whole_agrees_with_its_parts(table, threshold, untouched):
    rows, width = table
    names = [f"q{j}" for j in range(width)]
    made = table_of(rows, width).append_column(
        "w", pa.array([2.0 + at % 3 for at in range(len(rows))], pa.float64())
    )
    found = analyze(made, names, threshold=threshold, population=1000, weights="w", untouched=untouched)
    seen = Published(Rows.of(made), names, suppressed="none" if untouched else "by cells")
    sizes = seen.sizes
    assert found.quasi_identifiers == tuple(names)
    assert found.attackers == attacker_risks(sizes, threshold)
    assert found.class_sizes == class_sizes(sizes, seen.suppressed_records)
    assert found.distribution == risk_distribution(sizes)
    assert found.sample_uniques == sample_uniques(sizes)
    assert found.population_uniques == population_uniques(sizes, 1000)
    if not untouched:
        assert found.wildcards == wildcard_risk(seen, threshold=threshold)
    assert found.attributes == attribute_risks(made, names, untouched=untouched)
    assert same_arrays(found.individual, individual_risk(made, names, weights="w", untouched=untouched))
    fraction = int(sizes.sum()) / 1000 or 0.01
    special = suda(made, names, sampling_fraction=fraction, untouched=untouched)
    assert found.suda.scores.tolist() == special.scores.tolist()
    assert found.suda.dis_scores.tolist() == special.dis_scores.tolist()


def plain(value):
    return (
        all(isinstance(key, str) and plain(each) for key, each in value.items())
        if isinstance(value, dict)
        else all(map(plain, value))
        if isinstance(value, list)
        else value is None or type(value) in (str, int, float, bool)
    )


def figures(found: RiskAnalysis):
    """All figures, after a trip through JSON, which refuses what is not a number."""
    made = found.to_dict()
    assert plain({key: value for key, value in made.items() if key != "attributes"})
    assert json.loads(json.dumps(made, allow_nan=False)) == made
    assert str(found)
    return made


def test_the_dictionary_holds_all_figures():
    made = figures(analyze(E1, NAMES, population=100, household="G"))
    assert made["attackers"] == asdict(analyze(E1, NAMES).attackers)
    assert made["class_sizes"]["histogram"] == [[1, 8], [2, 1]]
    assert made["class_sizes"]["average"] == 10 / 9
    assert made["population_uniques"]["population"] == 100
    assert made["attributes"][0] == {"columns": ["G"], "distinction": 0.2, "separation": pytest.approx(5 / 9)}
    assert made["suda"]["attribute_contributions"].keys() == {"A", "G", "Z"}
    assert made["individual"]["household"]["households"] > 1.9


def test_the_text_says_the_most_important_figures():
    found = analyze(suppressed(generalized(), {3}), NAMES, population="Germany", household="G")
    lines = str(found).splitlines()
    assert lines[0] == "9 records in 4 classes by A, G, Z; 1 suppressed"
    assert lines[1] == "prosecutor:  highest 50 %, 100 % of the records above 0.2, success 44.4 %"
    assert lines[6] == "population:  0 of 80,767,000 people unique (0 %), as zayatz estimates"
    assert lines[-1].startswith("individual:  4.00 re-identifications")


# --- from anywhere --------------------------------------------------------------------------------


def test_every_kind_of_table_gives_the_same(tmp_path):
    columns = E1.to_pydict()
    path = tmp_path / "people.csv"
    pd.DataFrame(columns).to_csv(path, index=False)
    expected = analyze(E1, NAMES).to_dict()
    for given_as in (
        pd.DataFrame(columns),
        pl.DataFrame(columns),
        path,
        str(path),
        Published(Rows.of(E1), NAMES),
    ):
        names = None if isinstance(given_as, Published) else NAMES
        assert analyze(given_as, names).to_dict() == expected


def test_a_release_can_be_analyzed():
    release = veil.anonymize(
        E1,
        quasi_identifiers={"A": h.intervals(10, 20), "G": h.suppression(), "Z": h.redaction()},
        models=[KAnonymity(2)],
        suppression_limit=0.2,
    )
    found = analyze(release.arrow, NAMES, models=release.plan.models)
    before, after = release.risk()
    attack = found.attackers.prosecutor
    assert (attack.highest, attack.average, attack.at_risk) == (after.highest, after.average, after.at_risk)
    assert attack.estimated <= 0.5
    assert analyze(E1, NAMES, untouched=True).attackers.prosecutor.highest == before.highest


def test_the_flag_of_a_release_tells_missing_from_suppressed():
    table = pa.table({"a": pa.array([1, 1, None, None]), "suppressed": [False, False, False, True]})
    assert analyze(table, "a").class_sizes.histogram == ((1, 1), (2, 1))
    assert analyze(table.drop(["suppressed"]), "a").class_sizes.histogram == ((2, 1),)


def test_a_published_table_brings_population_and_people():
    whole = generalized(sex=True)
    some = whole.take(pa.array([0, 1, 2, 4, 6, 9]))
    seen = Published(Rows.of(some), NAMES, region=Population(size=500), population=Rows.of(whole))
    found = analyze(seen, threshold=0.3)
    assert found.attackers.journalist.highest == 0.25
    assert found.population_uniques.population == 500
    assert analyze(seen, population=600).population_uniques.population == 600


# --- where there is little to say -----------------------------------------------------------------


def zeros(value):
    """Whether every number in a dictionary is 0, but for those that were given."""
    if isinstance(value, dict):
        given_too = {"threshold", "effective_threshold", "upper", "population", "largest", "suppressed"}
        return all(zeros(each) for key, each in value.items() if key not in given_too)
    if isinstance(value, list | tuple):
        return all(map(zeros, value))
    return value is None or isinstance(value, str | bool) or value == 0


@pytest.mark.parametrize(
    "table",
    [
        pa.table({"a": pa.array([], pa.string()), "b": pa.array([], pa.int64())}),
        pa.table({"a": ["*", "*", "*"], "b": pa.array([None] * 3, pa.int64())}),
        pa.table({"a": ["*"], "b": ["*"]}),
    ],
)
def test_no_record_no_risk(table):
    found = analyze(table, ["a", "b"], population=50, household="a")
    made = figures(found)
    assert made["class_sizes"]["suppressed"] == table.num_rows
    counted = made["suda"].pop("dis_scores")
    assert sum(each["records"] for each in counted) == table.num_rows
    made.pop("largest_subset")
    made["suda"].pop("largest")
    assert zeros(made)


def test_a_single_class():
    made = analyze(pa.table({"a": ["x"] * 8, "b": [1] * 8}), ["a", "b"], threshold=0.1, population=80)
    figures(made)
    assert set(vars(made.attackers.prosecutor).values()) == {0.125, 1}
    assert made.attackers.prosecutor.at_risk == made.attackers.prosecutor.affected_by_lowest == 1
    assert [(each.distinction, each.separation) for each in made.attributes] == [(0.125, 0)] * 3
    assert made.population_uniques.dankar.uniques == 0
    assert not made.suda.scores.any()


def test_missing_values_everywhere():
    table = pa.table({"a": pa.array([None] * 4, pa.string()), "b": pa.array([None, None, 1, 2], pa.int64())})
    made = analyze(table, ["a", "b"])
    figures(made)
    assert made.class_sizes.histogram == ((1, 2), (2, 1))  # a text column with a marker can be missing only
    assert made.suda.scores.tolist() == [0, 0, 1, 1]
    assert made.wildcards.highest == pytest.approx(1 / 3)  # two match everybody but each other
    assert analyze(table, ["a", "b"], marker=None).class_sizes.suppressed == 2
    assert analyze(table, ["a", "b"], untouched=True).wildcards.highest == 1


def test_one_record_and_one_column():
    made = analyze(pa.table({"a": [1]}), "a", population=1)
    figures(made)
    assert made.attackers.marketer.success_rate == 1
    assert made.attributes[0].separation == 0  # there is no pair
    assert made.suda.scores.tolist() == [1]
    assert made.suda.dis_scores.tolist() == [1]


# --- limits and errors ----------------------------------------------------------------------------


def test_many_columns_are_looked_at_in_small_subsets():
    table = seeded(50, 20, 3, 1)
    found = analyze(table, table.column_names)
    assert found.largest_subset == found.suda.largest == 3
    assert max(len(each.columns) for each in found.attributes) == 3
    assert analyze(table, table.column_names, largest_subset=1).largest_subset == 1
    eleven = analyze(table, table.column_names[:11])
    assert (eleven.largest_subset, len(eleven.attributes)) == (11, 2047)


def test_parameters_are_checked():
    with refused(PlanError, "one column", "attacker"):
        analyze(E1)
    with refused(PlanError, "no column 'X'"):
        analyze(E1, ["X"])
    with refused(PlanError, "no column 'w'"):
        analyze(E1, NAMES, weights="w")
    with refused(ParameterError, "`threshold`", "0 to 1"):
        analyze(E1, NAMES, threshold=2)
    with refused(PlanError, "`subset`", "left out"):
        analyze(E1, NAMES, subset=[0], population=E1)
    with refused(PlanError, "`population`", "region"):
        analyze(Published(Rows.of(E1), NAMES), population=E1)
    with refused(InputError, "not a table"):
        analyze(object(), NAMES)
    with pytest.raises(InputError, match="lacks records"):
        analyze(published([("a",), ("a",)], 1).table, ["q0"], population=pa.table({"q0": ["a"]}))


@needs_data
@pytest.mark.realdata
def test_adult():
    table, names = source("adult").table, QUASI_IDENTIFIERS["adult"]
    found = analyze(table, names, population="USA")
    figures(found)
    assert found.class_sizes.records == 30_162
    assert found.attackers.prosecutor.average == pytest.approx(found.class_sizes.classes / 30_162)
    assert found.class_sizes.classes == len(
        set(zip(*(table[name].to_pylist() for name in names), strict=True))
    )
    assert len(found.attributes) == 255


def test_weights_and_households_of_a_release_may_be_columns_of_its_input_only():
    table = pa.table({"age": [20, 20, 30, 30], "w": [4.0, 6.0, 2.0, 8.0], "home": ["a", "b", "a", "b"]})
    plan = {"quasi_identifiers": {"age": h.identity()}, "models": KAnonymity(2), "person": None}
    kept = veil.anonymize(table, **plan, insensitive=["w", "home"])
    left = veil.anonymize(table, **plan, others="drop")
    expected = analyze(kept, weights="w", household="home").to_dict()["individual"]
    found = analyze(left, weights="w", household="home").to_dict()["individual"]
    for part in (lambda each: each, lambda each: each["household"]):
        numbers = {name: value for name, value in part(expected).items() if name != "household"}
        assert {name: part(found)[name] for name in numbers} == pytest.approx(numbers)
