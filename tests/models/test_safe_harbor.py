"""Safe Harbor: which levels of ages, ZIP codes and dates fit."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import veil
from support.judging import often
from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError, PlanError
from veil.models import Profitability, safe_harbor_levels


def levels(values: Any, hierarchy: Any, **what: str) -> int:
    return safe_harbor_levels(pa.table({"x": values}), {"x": hierarchy}, **what)["x"]


def test_ages_above_89_share_a_label():
    tens = h.table([[age, f"{age // 10}0s", "80+" if age >= 80 else "-80", "*"] for age in range(110)])
    assert levels([30, 40], tens, ages="x") == 2  # the hierarchy lists 90 to 109
    assert levels([30, 89], h.table([[30, "*"], [89, "*"]]), ages="x") == 0
    assert (
        levels([30, 90], h.table([[30, "*"], [90, "*"]]), ages="x") == 1
    )  # perhaps a top code, perhaps an age
    assert levels([30, 95], h.table([[30, "*"], [95, "*"]]), ages="x") == 1
    assert levels([30, 95], h.table([[30, "-89", "*"], [95, "90+", "*"]]), ages="x") == 1
    assert (
        levels([30, 95, 97], h.table([[30, "-94", "*"], [95, "95+", "*"], [97, "95+", "*"]]), ages="x") == 2
    )
    assert levels([30, None, 95, 97], h.table([[30, "*"], [95, "*"], [97, "*"]]), ages="x") == 1
    assert levels([30, 95], h.table([[30, "30", "*"], [95, "NULL", "*"]]), ages="x") == 1


def test_labels_that_end_too_soon_tell_too_much():
    assert levels([88, 90, 91], h.intervals(2, 50), ages="x") == 3
    assert levels([30, 92], h.intervals(5, 20), ages="x") == 3
    assert levels([30, 92], h.intervals(5, 20, top=90), ages="x") == 1
    assert levels([30, 92], h.intervals(5, 20, top=95), ages="x") == 3
    assert levels([30, 92], h.intervals(30, 120), ages="x") == 1  # [90, 120[
    assert levels([30, 95], h.redaction(), ages="x") == 2  # not 9*
    assert levels([30, 95, 101], h.redaction(), ages="x") == 3
    assert levels([30, 92, 95], h.ordering(2), ages="x") == 2  # not {92, 95}


def test_words_tell_what_is_listed_below_them():
    few = [[30, "young", "*"], [95, "old", "*"], [97, "old", "*"]]
    assert levels([30, 95, 97], h.table(few), ages="x") == 2
    many = [[age, "old" if age > 64 else "young", "*"] for age in range(121)]
    assert levels([30, 95, 97], h.table(many), ages="x") == 1
    assert levels([30, 95, 97], h.table(many[:-1]), ages="x") == 2
    above = [[30, "-89", "young", "*"], [95, "90+", "old", "*"]]
    assert levels([30, 95], h.table(above), ages="x") == 1


def test_levels_above_tell_no_more():
    """A search may take any level from the least on."""
    assert (
        levels([30, 95], h.table([[30, "-89", "[0, 90[", "*"], [95, "90+", "[80, 100[", "*"]]), ages="x") == 3
    )
    with refused(HierarchyError, "'x'", "not general enough"):
        levels([30, 95], h.table([[30, "-89", "[0, 90["], [95, "90+", "[80, 100["]]), ages="x")


SPELLINGS = {
    "closed": ("[{0}, {1}[", "[{0}, {1})", "{0}-{1}", "{0} to {1}", "{0} – {1} years", "Age {0}-{1}"),
    "open": (
        ">={0}",
        ">= {0}",
        "≥{0}",
        "{0}+",
        "{0} or older",
        "{0} and over",
        "from {0}",
        "aged {0} years or more",
    ),
}


@st.composite
def spelled_hierarchies(
    draw: st.DrawFn,
) -> tuple[list[int], list[list[str]], list[list[tuple[float, float]]]]:
    """Draw ages, the rows of their hierarchy, and from which to which age each label tells."""
    ages = sorted(draw(st.sets(st.integers(60, 119), min_size=1, max_size=8)))
    cuts = [60, 70, 80, 85, 89, 90, 91, 95, 100, 110, 119, 120, 150]
    rows, told = [[str(age)] for age in ages], [[(age, age + 1)] for age in ages]
    while cuts:
        cuts = sorted(draw(st.sets(st.sampled_from(cuts), max_size=len(cuts) - 1)))
        last = draw(st.sampled_from([math.inf, 150, 120, 119])) if cuts else math.inf
        closed, opened = (draw(st.sampled_from(SPELLINGS[kind])) for kind in ("closed", "open"))
        for age, row, meant in zip(ages, rows, told, strict=True):
            low = max((cut for cut in cuts if cut <= age), default=0)
            high = min((cut for cut in cuts if cut > age), default=last)
            row.append(
                "*" if not cuts else opened.format(low) if high == math.inf else closed.format(low, high)
            )
            meant.append((low, high))
    return ages, rows, told


@often
@given(spelled_hierarchies())
def test_ages_agree_with_what_labels_mean(drawn):
    """All that tell of 90 and more are one label, which rules no age from 90 to 119 out, here and above."""
    ages, rows, told = drawn
    fits = []
    for level in range(len(rows[0])):
        old = [i for i, age in enumerate(ages) if age >= 90]
        alike = len({rows[i][level] for i in old}) < 2
        fits.append(alike and all(low <= 90 and high >= 120 for low, high in (told[i][level] for i in old)))
    least = next(level for level in range(len(fits)) if all(fits[level:]))
    assert levels(ages, h.table(rows), ages="x") == least


@often
@given(
    st.lists(st.one_of(st.integers(0, 119), st.integers(84, 96)), min_size=1, max_size=8),
    st.sampled_from([(1,), (2, 50), (5, 20), (5, 10, 30), (30, 60), (3, 30, 120), (7,), (45, 90)]),
    st.sampled_from([None, 80, 90, 91, 100]),
)
def test_ages_agree_with_widths(ages, widths, top):
    """The same of intervals by width, whose ends follow from the width."""

    def told(age: int, width: int) -> tuple[float, float]:
        if top is not None and age >= top:
            return top, math.inf
        low = age // width * width
        return low, min(low + width, top or math.inf)

    old = [age for age in ages if age >= 90]
    meant = [{(age, age) for age in old}, *({told(age, width) for age in old} for width in widths), set()]
    fits = [len(each) < 2 and all(low <= 90 and high >= 120 for low, high in each) for each in meant]
    least = next(level for level in range(len(fits)) if all(fits[level:]))
    assert levels(ages, h.intervals(*widths, top=top), ages="x") == least


def test_zip_codes_keep_three_digits():
    assert levels(["02139", "02142", "94305"], h.redaction(), zip_codes="x") == 2
    assert levels(["02139", "94305"], h.redaction(), zip_codes="x") == 2
    assert levels(["02139-1234", "02139-9999", "94305-0001"], h.redaction(), zip_codes="x") == 7
    assert levels([2139, 2142, 94305], h.redaction(), zip_codes="x") == 3  # 213** would tell of 0213
    east = h.table([["02139", "east", "*"], ["10001", "east", "*"], ["94305", "94305", "*"]])
    assert levels(["02139", "10001", "94305"], east, zip_codes="x") == 2
    places = h.table(
        [["03612", "Bellows Falls", "036 Bellows", "*"], ["94305", "Stanford", "943 Stanford", "*"]]
    )
    assert levels(["03612", "94305"], places, zip_codes="x") == 3
    split = h.table([["02139", "021a", "*"], ["02142", "021b", "*"]])
    assert levels(["02139", "02142"], split, zip_codes="x") == 2


def test_small_areas_are_not_told():
    """830, 831 and 036 have few people."""
    assert levels(["83001", "83201"], h.redaction(), zip_codes="x") == 3
    assert levels(["83001", "94305"], h.redaction(), zip_codes="x") == 3
    assert levels(["83001", "83101", "94305"], h.redaction(), zip_codes="x") == 3
    assert levels([3601, 94305], h.redaction(), zip_codes="x") == 4  # 36*** would tell of 036
    zeros = h.table([["83001", "000", "*"], ["03601", "000", "*"], ["94305", "943", "*"]])
    assert levels(["83001", "03601", "94305"], zeros, zip_codes="x") == 1
    pairs = h.table([["83001", "830 831", "*"], ["83101", "830 831", "*"], ["03601", "000", "*"]])
    assert levels(["83001", "83101", "03601"], pairs, zip_codes="x") == 2


def test_dates_keep_the_year():
    days = [datetime.date(2020, 1, 31), datetime.date(2020, 12, 1), datetime.date(2021, 5, 5)]
    table = h.table([[str(day), f"{day:%Y-%m}", f"{day:%Y}", "*"] for day in days])
    assert levels(days, table, dates="x") == 2
    assert levels(days[1:], table, dates="x") == 2  # one day of each year: still a day
    named = h.table(
        [["31.01.2020", "Jan 2020", "[2020, 2021[", "*"], ["01.02.2021", "Feb 2021", "[2021, 2022[", "*"]]
    )
    assert levels(["31.01.2020", "01.02.2021"], named, dates="x") == 2
    assert levels(days, h.dates("month", "year"), dates="x") == 2
    short = ["2001-0615", "2002-0301"]
    assert levels(short, h.redaction(), dates="x") == 4
    hidden = h.table([["2001-06-15", "0615", "Ⅵ 2001", "*"], ["2002-03-01", "0301", "Ⅲ 2002", "*"]])
    assert levels(["2001-06-15", "2002-03-01"], hidden, dates="x") == 3


def test_what_cannot_be_helped():
    people = pa.table({"age": [30, 91, 95], "zip": ["x", "y", "z"]})
    builders = {"age": h.table([[30, "-"], [91, "91"], [95, "95"]]), "zip": h.suppression()}
    with refused(HierarchyError, "'age'", "not general enough"):
        safe_harbor_levels(people, builders, ages="age")
    with refused(PlanError, "'zip'", "'x'", "ZIP code"):
        safe_harbor_levels(people, builders, zip_codes=["zip"])
    with refused(PlanError, "'zip'", "'x'", "age in years"):
        safe_harbor_levels(people, builders, ages=["zip"])
    with refused(PlanError, "'zip'", "'x'", "show a year"):
        safe_harbor_levels(people, builders, dates=["zip"])
    with refused(PlanError, "mean 'age'", "'agee'", "not a quasi-identifier"):
        safe_harbor_levels(people, builders, ages="agee")
    with refused(HierarchyError, "'age'", "needs a hierarchy"):
        safe_harbor_levels(people, {"age": "auto"}, ages="age")


def test_levels_go_into_a_plan():
    people = pa.table({"age": [30, 30, 91, 95], "sex": ["f", "f", "m", "m"]})
    builders = {"age": h.suppression(), "sex": h.suppression()}
    least = safe_harbor_levels(people, builders, ages="age")
    assert least == {"age": 1}
    release = veil.anonymize(
        people,
        quasi_identifiers=builders,
        models=Profitability(no_attack=True, adversary_gain=1, cost=1),
        minimum_levels=least,
    )
    assert release.transformation == {"age": 1, "sex": 0}
