"""Populations by size, region and sampling fraction."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from support.judging import refused
from support.oracle import population as twin
from support.whole_sample import often
from veil.population import REGIONS, Population
from veil.population.size import AnyPopulation, population_of


def test_regions():
    assert REGIONS == twin.REGIONS
    assert {Population(region=region).size_for(10) for region in REGIONS} == set(REGIONS.values())


@given(st.integers(1, 10**6), st.integers(1, 1000).map(lambda n: n / 1000))
@often
def test_sampling_fraction(records, fraction):
    size = Population(sampling_fraction=fraction).size_for(records)
    assert size == twin.population_size(records, fraction)
    assert size >= records


def test_half_is_rounded_up():
    assert Population(sampling_fraction=0.4).size_for(1) == 3


def test_short_forms():
    adapter = TypeAdapter(AnyPopulation)
    assert adapter.validate_python(7) == Population(size=7)
    assert adapter.validate_python("UK") == Population(region="UK")
    assert adapter.validate_python({"sampling_fraction": 0.1}) == Population(sampling_fraction=0.1)
    assert adapter.validate_python(Population(size=7)) == Population(size=7)


def test_words():
    assert str(Population(size=7)) == "7 people"
    assert str(Population(region="UK")) == "the population of UK"
    assert str(Population(sampling_fraction=0.25)) == "a population of which the table is 0.25"


def test_invalid():
    with refused("`size` of Population .*greater than or equal to 1, not 0"):
        Population(size=0)
    with refused("`sampling_fraction` of Population should be more than 0 and at most 1, not 0"):
        Population(sampling_fraction=0)
    with refused("`sampling_fraction` of Population .*more than 0 and at most 1, not 1.5"):
        Population(sampling_fraction=1.5)
    with refused("`region` of Population should be 'Africa', .* or 'USA', not 'Atlantis'"):
        Population(region="Atlantis")
    with refused("Population needs exactly one of `size`, `region` and `sampling_fraction`, not none"):
        Population()
    with refused("not `size` and `region`"):
        Population(size=1, region="UK")


def test_what_stands_for_a_population():
    assert population_of(np.int64(1000)) == population_of({"size": 1000}) == Population(size=1000)
    for strange in (1000.0, True, [1], None):
        with refused("`population` should be a number of people, the name of a region or a Population, not"):
            population_of(strange)
