"""The small grammar of options."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.cli import grammar
from veil.errors import ParameterError
from veil.models import (
    AlphaKAnonymity,
    Inclusion,
    KMap,
    PopulationUniqueness,
    PrivacyModel,
    SubsetKAnonymity,
)
from veil.models.subset import Random
from veil.population import Population
from veil.quality import AverageClassSize, Loss
from veil.tables import Csv, Excel, Parquet


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("suppression", h.suppression()),
        ("Suppression", h.suppression()),
        ("intervals:5,10,20", h.intervals(5, 10, 20)),
        ("intervals:0.5,1", h.intervals(0.5, 1)),
        ("intervals:widths=5|10", h.intervals(5, 10)),
        ("intervals:5,shares=rows", h.intervals(5)),
        ("redaction", h.redaction()),
        ("redaction:start=left,character=x", h.redaction(start="left", character="x")),
        ("redaction:right", h.redaction(align="right")),
        ("redaction:character=','", h.redaction(character=",")),
        ("dates:month,year,root=true", h.dates("month", "year", root=True)),
        ("dates:year,format=%d.%m.%Y", h.dates("year", format="%d.%m.%Y")),
        ("ordering:2,3", h.ordering(2, 3)),
        ("ordering:2,order=low|mid|high", h.ordering(2, order=["low", "mid", "high"])),
        ("priority:levels=4", h.priority(levels=4)),
        ("auto", h.auto()),
        ("job.csv", h.file("job.csv")),
        ("folder/job", h.file("folder/job")),
        ("C:\\data\\job.csv", h.file("C:\\data\\job.csv")),
        ("file:job.txt,header=true", h.file("job.txt", header=True)),
    ],
)
def test_hierarchies(text: str, expected: object) -> None:
    assert grammar.hierarchy(text) == expected


@pytest.mark.parametrize("text", ["k-anonymity:5", "KAnonymity:5", "k_anonymity:k=5", "K anonymity: 5"])
def test_models(text: str) -> None:
    assert grammar.model(text) == KAnonymity(5)


def test_qualities() -> None:
    assert grammar.quality("loss") == Loss()
    assert grammar.quality("loss:factor=0.3,aggregate=sum") == Loss("sum", 0.3)
    assert grammar.quality("average-class-size:0.25") == AverageClassSize(0.25)


def test_formats() -> None:
    assert grammar.format("csv:separator=;,encoding=latin-1") == Csv(separator=";", encoding="latin-1")
    assert grammar.format("csv:separator=','") == Csv(separator=",")
    assert grammar.format("csv:separator=\\t,header=false") == Csv(separator="\t", header=False)
    assert grammar.format("csv:missing=|NA,columns=a|b") == Csv(missing=("", "NA"), columns=("a", "b"))
    assert grammar.format("excel:Sheet1") == Excel("Sheet1")
    assert grammar.format("parquet") == Parquet()


@pytest.mark.parametrize(
    "text", ["k-anonymity", "k-anonymity:x", "k-anonymity:true", "k-anonymity:2.5", "k-anonymity:", "x:5", ""]
)
def test_what_is_no_model(text: str) -> None:
    with pytest.raises(ParameterError, match="--model"):
        grammar.model(text)


@given(st.lists(st.text(st.characters(exclude_characters='\r\n\0"', codec="utf-8"), min_size=1), min_size=1))
def test_quoted_names_are_taken_as_they_are(names: list[str]) -> None:
    assert grammar.names([",".join(f'"{name}"' for name in names)]) == names


@given(st.text())
def test_whatever_is_typed_gives_a_model_or_an_error_of_ours(text: str) -> None:
    try:
        found = grammar.model(text)
    except ParameterError as error:
        found = str(error)
    assert isinstance(found, PrivacyModel) or "--model" in found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("inclusion:0|1|2|3", Inclusion([0, 1, 2, 3])),
        ("inclusion:subset=0|1|2|3", Inclusion([0, 1, 2, 3])),
        ("inclusion:5", Inclusion([5])),
        ("inclusion:random:0.1", Inclusion(Random(0.1))),
        ("k-map:3,subset=random: 0.1", KMap(3, Random(0.1))),
        ("k-map:3,age > 25 and sex = 'f'", KMap(3, "age > 25 and sex = 'f'")),
        ("k-map:3,subset='some.csv'", KMap(3, "some.csv")),
        ("k-map:3,population=0.01", KMap(3, population=Population(sampling_fraction=0.01))),
        ("k-map:3,population=80000", KMap(3, population=80_000)),
        ("population-uniqueness:0.05,0.01", PopulationUniqueness(0.05, Population(sampling_fraction=0.01))),
        ("population-uniqueness:0.05,USA,zayatz", PopulationUniqueness(0.05, "USA", "zayatz")),
        ("subset-k-anonymity:2,subsets=age+sex|zip", SubsetKAnonymity(2, subsets=[["age", "sex"], ["zip"]])),
        ("subset-k-anonymity:2,subsets='a+b|c'+d", SubsetKAnonymity(2, subsets=[["a+b|c", "d"]])),
        ("alpha-k-anonymity:job,0.5,2,values=1|'1'", AlphaKAnonymity("job", 0.5, 2, (1, "1"))),
    ],
)
def test_all_that_a_recipe_can_say_of_people_and_columns(text: str, expected: PrivacyModel) -> None:
    assert grammar.model(text) == expected


@pytest.mark.parametrize("text", ["inclusion:random:1.5", "inclusion:random:", "k-map:3,population=1.5"])
def test_chances_and_shares_that_are_none(text: str) -> None:
    with refused(ParameterError, "--model", "should be"):
        grammar.model(text)
