"""t-closeness: worked values of the papers, the oracle, the smallest class, and what is lost for good."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

import veil
from support import oracle, refusals, strategies
from support.closeness import asked, ours, sample_of_counts
from support.judging import (
    often,
    problem_of,
    publish,
    refused,
    rejected_classes,
    strongest_is_the_boundary,
    suppressed_rows,
    table_of,
)
from support.samples import E1, sample_of
from veil import hierarchies as h
from veil.classes.encoding import Encoding
from veil.classes.sample import Sample, SampleAttribute
from veil.classes.table import roll_up
from veil.errors import HierarchyError, ParameterError, PlanError
from veil.models.closeness import distance as distances
from veil.models.closeness.criteria import ByGroups, Ordered
from veil.models.closeness.model import TCloseness
from veil.models.value_counts import count
from veil.published.table import Published
from veil.report import check_certificate
from veil.tables.rows import Rows

RESPIRATORY = [["flu", "resp", "*"], ["cold", "resp", "*"], ["gout", "other", "*"]]

DISEASES = [
    *(
        [disease, "respiratory infection", "respiratory", "*"]
        for disease in ("flu", "pneumonia", "bronchitis")
    ),
    *(
        [disease, "vascular lung", "respiratory", "*"]
        for disease in ("pulmonary edema", "pulmonary embolism")
    ),
    *([disease, "stomach", "digestive", "*"] for disease in ("gastric ulcer", "gastritis", "stomach cancer")),
    *([disease, "colon", "digestive", "*"] for disease in ("colitis", "colon cancer")),
]
"""The taxonomy of Li et al., figure 1."""


def engine_distance(model: TCloseness, sample: Sample, levels: oracle.Node) -> list[Fraction]:
    """Distances of all classes, by what the engine has for classes too large for its kernels."""
    criterion = model._criterion(sample)
    histogram = sample.histogram(roll_up(sample.encoding, sample.table, levels, sample.workspace()), "S")
    found = []
    for i in range(int(histogram.classes.max()) + 1):
        counts = np.array(
            [
                sum(histogram.counts[e] for e in range(a, b) if histogram.classes[e] == i)
                for a, b in zip(histogram.starts, histogram.starts[1:], strict=False)
            ]
        )
        found.append(Fraction(criterion.distance_sum(counts), criterion.scale * int(counts.sum())))
    return found


# --- worked values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("distance", "t", "rows"),
    [
        ("equal", 0.09, set(range(10))),
        ("equal", 0.1, {3, 4, 5, 6, 8}),
        ("equal", 0.2, {3}),
        ("equal", 0.6, set()),
        ("ordered", 0.1, {3, 4, 5, 6, 8}),
        ("ordered", 0.19, {3}),
        ("ordered", 0.59, set()),
        ("hierarchical", 0.1, {3, 4, 5, 6, 8}),
        ("hierarchical", 0.19, {3}),
        ("hierarchical", 0.59, set()),
    ],
)
def test_the_example(distance, t, rows):
    hierarchy = RESPIRATORY if distance == "hierarchical" else None
    assert suppressed_rows(TCloseness("S", t, distance, hierarchy)) == rows


def thousands(*salaries: int) -> dict[str, int]:
    return {f"{salary:02}k": 1 for salary in salaries}


def test_salaries_of_li_et_al():
    """{3k, 4k, 5k} is 0.375 from the nine salaries, {6k, 8k, 11k} is 0.167."""
    problem = problem_of(thousands(3, 4, 5), thousands(6, 8, 11), thousands(7, 9, 10))
    found = engine_distance(TCloseness("S", 0.2, "ordered"), sample_of(problem), (0,))
    assert found[:2] == [Fraction(3, 8), Fraction(1, 6)]
    assert rejected_classes(TCloseness("S", 0.375, "ordered"), sample_of(problem), (0,)) == [False] * 3
    assert rejected_classes(TCloseness("S", 0.374, "ordered"), sample_of(problem), (0,)) == [
        True,
        False,
        False,
    ]


def test_table_of_li_et_al_for_salary():
    """0.167-closeness with respect to salary (their table 5)."""
    published = table_of(thousands(3, 5, 9), thousands(6, 11, 8), thousands(4, 7, 10))
    equal, ordered = TCloseness.strongest(published, ["S"])
    assert (ordered.parameter, equal.parameter) == ("t (ordered)", "t (equal)")
    assert ordered.value == pytest.approx(1 / 6)
    assert equal.value == pytest.approx(2 / 3)
    assert TCloseness("S", 0.167, "ordered").verify(published).holds
    assert not TCloseness("S", 0.166, "ordered").verify(published).holds


def test_table_of_li_et_al_for_disease():
    """0.278-closeness with respect to disease, with their taxonomy (their table 5).

    All three classes are 5/18 from a table in which every disease occurs once. That is what was printed,
    though three of the six occur twice in the table, from which the classes are at most 8/27.
    """
    classes = [
        dict.fromkeys(["gastric ulcer", "stomach cancer", "pneumonia"], 1),
        dict.fromkeys(["gastritis", "flu", "bronchitis"], 1),
        dict.fromkeys(["gastritis", "bronchitis", "stomach cancer"], 1),
    ]
    once = dict.fromkeys(
        ["gastric ulcer", "gastritis", "stomach cancer", "pneumonia", "flu", "bronchitis"], 1
    )
    model = TCloseness("S", 0.278, "hierarchical", DISEASES)
    for cls in classes:
        finding = model.verify(table_of(cls, baseline=once))
        assert finding.holds
        assert finding.measured == "t = 0.277778"
        assert not TCloseness("S", 0.277, "hierarchical", DISEASES).verify(table_of(cls, baseline=once)).holds

    problem = problem_of(*classes)
    found = engine_distance(model, sample_of(problem), (0,))
    assert found == [Fraction(7, 27), Fraction(8, 27), Fraction(5, 27)]
    asked = oracle.TCloseness("S", 0.278, "hierarchical", hierarchy=DISEASES)
    assert found == [oracle.distance(asked, problem, cls) for cls in oracle.classes(problem, (0,))]
    assert model.verify(table_of(*classes)).measured == "t = 0.296296"


@pytest.mark.parametrize(
    ("other", "far"), [("bronchitis", 1), ("pulmonary embolism", 2), ("stomach cancer", 3)]
)
def test_distances_between_diseases(other, far):
    """Flu is 1/3 from bronchitis, 2/3 from pulmonary embolism, 1 from stomach cancer: half of each moves."""
    problem = problem_of({"flu": 1}, {other: 1})
    found = engine_distance(TCloseness("S", 0.5, "hierarchical", DISEASES), sample_of(problem), (0,))
    assert found == [Fraction(far, 6)] * 2


def test_charges_of_bild_et_al():
    """1/4 and 1/6, so 0.25-closeness (Ref. 2 of the thesis, figure 1)."""
    problem = problem_of({"50.000": 1, "60.000": 1}, {"60.000": 2, "70.000": 1})
    model = TCloseness("S", 0.25, "ordered")
    assert engine_distance(model, sample_of(problem), (0,)) == [Fraction(1, 4), Fraction(1, 6)]
    assert rejected_classes(model, sample_of(problem), (0,)) == [False, False]
    assert rejected_classes(TCloseness("S", 0.2499999, "ordered"), sample_of(problem), (0,)) == [True, False]


@pytest.mark.parametrize("t", [0.05, 0.1, 0.15, 0.35, 0.55, 0.7, 0.9])
@pytest.mark.parametrize("distance", ["equal", "ordered"])
def test_ties_are_fulfilled(t, distance):
    """A class of twenty of which exactly a share t is too much is accepted; one more record is too many."""
    k = round(20 * t / 2)
    classes = {"a": 10 + k, "b": 10 - k}, {"a": 10 - k, "b": 10 + k}
    sample = sample_of(problem_of(*classes))
    exactly = float(Fraction(k, 20))
    assert rejected_classes(TCloseness("S", exactly, distance), sample, (0,)) == [False, False]
    if k:
        assert rejected_classes(TCloseness("S", np.nextafter(exactly, 0), distance), sample, (0,)) == [
            True,
            True,
        ]


def test_not_monotone_under_suppression():
    """A rejected class can have acceptable parts, and rejected classes can be acceptable together."""
    whole = problem_of({"a": 10, "b": 2}, {"a": 2, "b": 2}, {"b": 8})
    model = TCloseness("S", 0.4)
    assert not model.monotone_suppression
    assert rejected_classes(TCloseness("S", 0.3), sample_of(whole), (0,)) == [True, False, True]
    assert rejected_classes(TCloseness("S", 0.3), sample_of(whole), (1,)) == [False]


def published_with_everybody(problem: oracle.Problem, levels: oracle.Node, hidden: set[int]) -> Published:
    """Publish; the values of those who are not in the research subset are known as well."""
    published = publish(problem, levels, hidden)
    everybody = {name: pa.array(column, pa.string()) for name, column in problem.sensitive.items()}
    published.population = Rows.of(pa.table(everybody))
    return published


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_agrees_with_the_oracle(distance):
    """Engine and verifier; also where sums do not fit 64 bits and are made in Python."""

    @settings(often, max_examples=200)
    @given(st.data())
    def check(data):
        problem = data.draw(strategies.problems(sensitive=True))
        theirs = data.draw(asked(problem, distance))
        model = ours(theirs)
        levels = data.draw(strategies.nodes(problem))
        found = oracle.classes(problem, levels)
        truth = [oracle.rejects(theirs, problem, levels, cls) for cls in found]
        sample = sample_of(problem)
        assert rejected_classes(model, sample, levels) == truth

        criterion = model.bind(sample)
        if criterion is not None:
            getattr(criterion, "criterion", criterion).room = data.draw(st.sampled_from([0, 3]))
            table = roll_up(sample.encoding, sample.table, levels, sample.workspace())
            marks = np.zeros(len(table), np.uint8)
            criterion.reject(table, marks)
            assert marks.tolist() == truth

        for hide in (truth, [data.draw(st.booleans()) for _ in found]):
            hidden = {row for cls, hide_it in zip(found, hide, strict=True) if hide_it for row in cls}
            holds = not any(bad and not gone for bad, gone in zip(truth, hide, strict=True))
            assert model.verify(published_with_everybody(problem, levels, hidden)).holds == holds

    check()


def test_strongest():
    def at(strength, t):
        return oracle.TCloseness("S", t, strength.parameter[3:-1])

    strongest_is_the_boundary(TCloseness, "S", at, lambda t: t * (1 - 1e-12) if t > 0 else None)


def test_distances_with_integers_of_any_size():
    """What does not fit 64 bits is added up as Python's integers."""
    published = table_of({"a": 5, "b": 1}, {"b": 3, "c": 4}, {"a": 1, "c": 2})
    counted = count(published, "S", ordered=True)
    wide = counted._replace(counts=counted.counts.astype(object), sizes=counted.sizes.astype(object))
    levels = [np.array([0, 1, 2]), np.array([0, 0, 1]), np.array([0, 0, 0])]
    for distance, details in (
        (distances.equal, ()),
        (distances.ordered, ()),
        (distances.hierarchical, (levels,)),
    ):
        narrow, scale = distance(counted, *details)
        assert (narrow.tolist(), scale) == (distance(wide, *details)[0].tolist(), scale)
    million = counted._replace(
        **{name: getattr(counted, name) * 10**12 for name in ("masses", "counts", "sizes")}
    )
    assert distances.largest(distances.ordered, million) == distances.largest(distances.ordered, counted)


# --- the smallest class ---------------------------------------------------------------------------


@pytest.mark.parametrize("distance", ["equal", "ordered", "hierarchical"])
def test_the_smallest_class(distance):
    """No smaller class fulfils the model; one of that size does (where distances are not hierarchical)."""

    @settings(often, max_examples=100)
    @given(st.data())
    def check(data):
        masses = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
        table = {"abcd"[v]: n for v, n in enumerate(masses)}
        problem = problem_of(table)
        rows = data.draw(strategies.taxonomies(list(table))) if distance == "hierarchical" else None
        t = data.draw(st.sampled_from([0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75]))
        smallest = TCloseness("S", t, distance, rows).minimal_class_size(sample_of(problem))
        theirs = oracle.TCloseness("S", t, distance, hierarchy=rows)
        values = problem.sensitive["S"]

        def possible(size):
            for chosen in combinations_with_replacement(list(table), size):
                if all(chosen.count(value) <= n for value, n in table.items()):
                    pool = {value: [row for row, v in enumerate(values) if v == value] for value in table}
                    if not oracle.rejects(theirs, problem, (0,), [pool[value].pop() for value in chosen]):
                        return True
            return False

        assert 1 <= smallest <= len(values)
        assert not any(possible(size) for size in range(1, min(smallest, 9)))
        if distance != "hierarchical" and smallest < 9:
            assert possible(smallest)

    check()


def test_the_smallest_class_is_found_or_proven_in_time():
    """A hundred thousand values that occur once: a class must have 80 % of them, or two next to quartiles."""
    sample = single_column(np.arange(100_000))
    assert TCloseness("S", 0.2).minimal_class_size(sample) == 80_000
    assert TCloseness("S", 0.2, "ordered").minimal_class_size(sample) == 2
    assert TCloseness("S", 0.2, "ordered").minimal_class_size(single_column(np.arange(3))) == 2
    assert TCloseness("S", 0).minimal_class_size(single_column(np.repeat([0, 1], [30, 60]))) == 3


def single_column(codes: np.ndarray, keys: np.ndarray | None = None) -> Sample:
    """A sample with a sensitive attribute S and one quasi-identifier, the same for all if not given."""
    names = np.zeros(codes.size, np.int64) if keys is None else keys
    hierarchy = h.Hierarchy.from_rows([[str(i), "*"] for i in range(int(names.max()) + 1)])
    attribute = SampleAttribute("S", codes.astype(np.int32), tuple(range(int(codes.max()) + 1)))
    return Sample(Encoding(["q"], [hierarchy]), [names.astype(np.int32)], (attribute,))


# --- many values ----------------------------------------------------------------------------------


@pytest.mark.parametrize("values", [1, 2, 50, 3000])
def test_ordered_distance_over_many_values(values):
    """Against the sum over all values, on classes of all sizes, skewed; with and without leaving early."""
    rng = np.random.default_rng(values)
    rows = 6000
    codes = (values * rng.random(rows) ** 2).astype(np.int64)
    codes[0] = values - 1
    keys = np.sort((300 * rng.random(rows) ** 3).astype(np.int64))
    codes = np.where(keys % 3 == 0, np.sort(codes)[rng.permutation(rows) // 2], codes)
    codes[0] = values - 1
    sample = single_column(codes, keys)
    table = sample.table
    share = np.cumsum(np.bincount(codes, minlength=values))
    truth = []
    for key in range(300):
        mine = np.cumsum(np.bincount(codes[keys == key], minlength=values))
        if mine[-1]:
            truth.append((int(np.abs(mine * rows - share * mine[-1]).sum()), int(mine[-1])))
    for t in (0.02, 0.07, 0.15, 0.3):
        criterion = TCloseness("S", t, "ordered")._criterion(sample)
        expected = [total > Fraction(str(t)) * rows * (values - 1) * size for total, size in truth]
        found = np.zeros(len(table), np.uint8)
        criterion.reject(table, found)
        assert found.tolist() == expected
        left = table.count.copy()
        criterion.keepable(table, left, table, np.arange(len(table), dtype=np.int32))
        assert (left < table.count).tolist() == expected


# --- the order of values --------------------------------------------------------------------------

ORDER = ["low", "mid", "high", "never"]
LEVELS = ["low"] * 2 + ["mid"] * 4 + ["high"] * 2


def in_categories(library: str) -> Any:
    if library == "pandas":
        values = pd.Categorical(LEVELS, categories=ORDER, ordered=True)
        return pd.DataFrame({"q": list("aaaabbbb"), "s": values})
    return pl.DataFrame({"q": list("aaaabbbb"), "s": LEVELS}, schema_overrides={"s": pl.Enum(ORDER)})


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_categories_have_the_order_they_were_made_with(library, tmp_path):
    """By alphabet, both halves would be at a distance of 1/8; they are at 1/4, in the table and in its file."""
    frame = in_categories(library)
    plan = {"quasi_identifiers": {"q": h.suppression()}, "sensitive": "s", "suppression_limit": 1.0}
    found = {each.parameter: each.value for each in veil.assess(frame, quasi_identifiers="q", sensitive="s")}
    assert found["t (ordered)"] == 0.25
    with refusals.refused(PlanError, "order=['low', 'mid', 'high', 'never']"):
        veil.anonymize(frame, models=TCloseness("s", 0.2, "ordered"), **plan, order="input")
    published = Published(Rows.of(veil.tables.read(frame).table), ["q"])
    assert not TCloseness("s", 0.9, "ordered").verify(published).holds
    strict = veil.anonymize(frame, models=TCloseness("s", 0.2, "ordered", order=ORDER), **plan, order="input")
    assert set(strict.arrow["q"].to_pylist()) == {"*"}
    release = veil.anonymize(
        frame, models=TCloseness("s", 0.25, "ordered", order=ORDER), **plan, order="input"
    )
    assert release.arrow["q"].to_pylist() == list("aaaabbbb")
    release.save(tmp_path / "release.csv")
    release.certificate(tmp_path / "certificate.json")
    checked = check_certificate(tmp_path / "certificate.json", tmp_path / "release.csv")
    assert "t = 0.25" in str(checked)
    assert checked.holds


@pytest.mark.parametrize("engine", ["memory", "duckdb"])
def test_categories_in_files(engine, tmp_path):
    """DuckDB makes text of them, which has another order."""
    in_categories("pandas").to_parquet(tmp_path / "table.parquet")
    plan = {"quasi_identifiers": {"q": h.suppression()}, "sensitive": "s", "suppression_limit": 1.0}
    with refusals.refused(PlanError, "'s'", "have an order"):
        veil.anonymize(
            tmp_path / "table.parquet",
            engine=engine,
            models=TCloseness("s", 0.2, "ordered"),
            **plan,
            order="input",
        )
    model = TCloseness("s", 0.25, "ordered", order=ORDER)
    release = veil.anonymize(tmp_path / "table.parquet", engine=engine, models=model, **plan, order="input")
    assert release.suppressed == 0
    assert "t = 0.25" in str(release.verification)


def test_chunks_with_other_categories_have_no_order():
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), known, ordered=True)
        for codes, known in (([0, 1], ["low", "high"]), ([0, 1], ["low", "mid"]))
    ]
    table = pa.table({"q": list("aabb"), "s": pa.chunked_array(chunks)})
    found = [each.parameter for each in veil.assess(table, quasi_identifiers="q", sensitive="s")]
    assert "t (equal)" in found
    assert "t (ordered)" not in found
    with pytest.raises(PlanError, match=r"order=\[…\]"):
        TCloseness("s", 0.2, "ordered").check_table(table)


def test_an_order_that_is_given():
    table = pa.table({"q": list("aaaabbbb"), "s": LEVELS})
    published = Published(Rows.of(table), ["q"])
    assert not TCloseness("s", 0.2, "ordered", order=ORDER).verify(published).holds
    assert TCloseness("s", 0.25, "ordered", order=ORDER).verify(published).holds
    assert TCloseness("s", 0.125, "ordered").verify(published).holds
    incomplete = TCloseness("s", 1.0, "ordered", order=ORDER[:2]).verify(published)
    assert not incomplete.holds
    assert "lacks 'high'" in incomplete.measured
    assert TCloseness("s", 0.2, "ordered", order=[1, 2.5, True]).order == ("1", "2.5", "true")


@pytest.mark.parametrize(
    ("distance", "order"),
    [
        ("ordered", ["a", "a"]),
        ("ordered", 5),
        ("ordered", "ab"),
        ("ordered", {"a", "b"}),
        ("equal", ["a", "b"]),
    ],
)
def test_orders_that_are_none(distance, order):
    with refusals.refused(ParameterError, "`order`", "TCloseness"):
        TCloseness("s", 0.2, distance, order=order)


def test_an_order_that_lacks_a_value():
    plan = {"quasi_identifiers": {"q": h.suppression()}, "sensitive": "s"}
    table = pa.table({"q": list("aaaabbbb"), "s": LEVELS})
    with refusals.refused(PlanError, "'s'", "'high'", "lacks"):
        veil.anonymize(
            table, models=TCloseness("s", 0.2, "ordered", order=["low", "mid"]), **plan, order="input"
        )
    for other in (ORDER[::-1], None):
        two = [TCloseness("s", 0.2, "ordered", order=ORDER), TCloseness("s", 0.3, "ordered", order=other)]
        with refusals.refused(PlanError, "'s'", "different orders"):
            veil.anonymize(table, models=two, **plan, order="input")


def test_lists_have_no_order():
    table = pa.table({"q": ["a", "b"], "s": [["x"], ["y"]]})
    with refusals.refused(PlanError, "'equal'", "'s'", "not 'ordered'"):
        veil.anonymize(
            table,
            quasi_identifiers={"q": h.suppression()},
            sensitive="s",
            models=TCloseness("s", 0.2, "ordered"),
            order="input",
        )


@settings(often, max_examples=60)
@given(st.permutations("abcd"), st.lists(st.sampled_from("abcd"), min_size=2, max_size=30), st.data())
def test_an_order_is_as_good_as_numbers(order, values, data):
    """Spelled by `order`, texts are as far apart as the numbers of their places."""
    keys = data.draw(st.lists(st.sampled_from("xy"), min_size=len(values), max_size=len(values)))
    known = [each for each in order if each in values]
    texts, numbers = (
        Published(Rows.of(pa.table({"q": keys, "s": column})), ["q"])
        for column in (values, [known.index(value) for value in values])
    )
    found = TCloseness("s", 1.0, "ordered", order=order)._largest_distance(texts)
    assert found == TCloseness("s", 1.0, "ordered")._largest_distance(numbers)
    t = data.draw(st.sampled_from([0.1, 0.25, 0.5]))
    plan = {"quasi_identifiers": {"q": h.suppression()}, "sensitive": "s", "suppression_limit": 1.0}
    spelled = veil.anonymize(
        texts.table, models=TCloseness("s", t, "ordered", order=order), **plan, order="input"
    )
    counted = veil.anonymize(numbers.table, models=TCloseness("s", t, "ordered"), **plan, order="input")
    assert spelled.arrow["q"].equals(counted.arrow["q"])


@pytest.mark.parametrize("records", [10**6, 9 * 10**9])
def test_classes_too_large_for_64_bits(records):
    """A class of a quarter of the records, all with the first of three values, which two thirds have."""
    counts, size = np.array([records // 4, 0, 0]), records // 4
    masses = [2 * records // 3, records // 6, records - 2 * records // 3 - records // 6]
    sample = sample_of_counts(records, masses)
    equal = ByGroups(sample, "S", Fraction(1, 5), []).distance_sum(counts)
    assert equal == records * size - size * masses[0]
    ordered = Ordered(sample, "S", Fraction(1, 5)).distance_sum(counts)
    assert ordered == 2 * records * size - size * (2 * masses[0] + masses[1])


# --- declaration ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("S", 1.5), "`t` of TCloseness should be from 0 to 1, not 1.5"),
        (("S", -0.1), "`t` of TCloseness should be from 0 to 1, not -0.1"),
        (("S", float("nan")), "`t` of TCloseness should be .*, not nan"),
        (("S", 0.2, "euclidean"), "`distance` of TCloseness should be 'equal', 'ordered' or 'hierarchical'"),
        (("S", 0.2, "hierarchical"), "`hierarchy` of TCloseness is required .* column 'S'"),
        (("S", 0.2, "equal", RESPIRATORY), "`hierarchy` of TCloseness should be None for the equal distance"),
        (("S", 0.2, "hierarchical", 5), "`hierarchy` of TCloseness should be a hierarchy.*, not 5"),
        (("S", 0.2, "hierarchical", "redactoin"), "redactoin"),
    ],
)
def test_refused_parameters(arguments, message):
    with refused(message):
        TCloseness(*arguments)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([["flu", "a"], ["cold", "b"], ["gout", "b"]], "consists of 2 labels \\(a, b"),
        (
            [["flu"], ["cold"], ["gout"]],
            "column 'S' to one root, but its last level consists of the values themselves",
        ),
        ([["flu", "*"], ["cold", "*"]], "gout"),
    ],
)
def test_refused_hierarchies(rows, message):
    model = TCloseness("S", 0.2, "hierarchical", rows)
    with pytest.raises(HierarchyError, match=message):
        model.bind(sample_of(E1))
    finding = model.verify(publish(E1, (1, 1, 1)))
    assert not finding.holds
    assert "S" in finding.promise


def test_a_root_is_needed_only_for_what_occurs():
    rows = [*RESPIRATORY, ["broken leg", "leg", "accident"]]
    assert suppressed_rows(TCloseness("S", 0.19, "hierarchical", rows)) == {3}


@pytest.mark.parametrize(
    "given",
    [
        RESPIRATORY,
        h.Hierarchy.from_rows(RESPIRATORY),
        h.table(RESPIRATORY),
        h.Table(RESPIRATORY),
        {"kind": "table", "rows": RESPIRATORY},
    ],
)
def test_forms_of_a_hierarchy(given):
    model = TCloseness("S", 0.2, "hierarchical", given)
    assert model == TCloseness("S", 0.2, "hierarchical", RESPIRATORY)
    assert suppressed_rows(model) == {3}


def test_written_down_and_read_again(tmp_path):
    path = tmp_path / "disease.csv"
    h.Hierarchy.from_rows(RESPIRATORY).save(path)
    kind = TypeAdapter(TCloseness)
    for form in (
        str(path),
        "suppression",
        h.categories({"resp": ["flu", "cold"], "other": ["gout"]}),
        RESPIRATORY,
    ):
        model = TCloseness("S", 0.2, "hierarchical", form)
        dumped = kind.dump_python(model, exclude_defaults=True)
        assert dumped["hierarchy"]["kind"] == model.hierarchy.kind
        assert kind.validate_python(dumped) == model
        assert kind.validate_json(kind.dump_json(model)) == model
        assert model.bind(sample_of(E1)) is not None
    assert kind.dump_python(TCloseness("S", 0.2), exclude_defaults=True) == {"attribute": "S", "t": 0.2}
    assert "oneOf" in str(kind.json_schema())


def test_without_a_difference_to_make():
    assert TCloseness("S", 1).bind(sample_of(E1)) is None
    assert TCloseness("S", 0, "ordered").bind(sample_of(problem_of({"a": 2}, {"a": 1}))) is None
    assert suppressed_rows(TCloseness("S", 0), problem_of({"a": 2}, {"a": 1}), (0,)) == set()


def test_tampering_is_found():
    """The baseline is the input: a value that was changed, or that nobody had, is too much of it."""
    classes = {"a": 5, "b": 5}, {"a": 5, "b": 5}
    whole = {"a": 10, "b": 10}
    for distance in ("equal", "ordered"):
        model = TCloseness("S", 0.15, distance)
        assert model.verify(table_of(*classes, baseline=whole)).holds
        assert not model.verify(table_of({"a": 7, "b": 3}, {"a": 5, "b": 5}, baseline=whole)).holds
        assert not model.verify(table_of({"a": 5, "z": 5}, {"a": 5, "b": 5}, baseline=whole)).holds


def test_nothing_published():
    published = publish(E1, (1, 1, 1), range(10))
    assert TCloseness.strongest(published, ["S"]) == []
    finding = TCloseness("S", 0).verify(published)
    assert finding.holds
    assert finding.measured == "no class"


def test_missing_values_come_last_and_numbers_in_their_order():
    """2 < 10 < missing: with text order the distances would be others."""
    published = Published(Rows.of(pa.table({"Q": ["x", "x", "y", "y"], "S": [2, 10, None, 10]})), ["Q"])
    for t, holds in ((0.25, True), (0.24, False)):
        assert TCloseness("S", t, "ordered", missing="a value").verify(published).holds == holds
    _, ordered = TCloseness.strongest(published, ["S"])  # of 2, 10 and 10
    assert ordered.value == pytest.approx(1 / 3)
    unordered = pa.table({"Q": ["x", "y"], "S": [[1, 2], [3]]})
    assert [s.parameter for s in TCloseness.strongest(Published(Rows.of(unordered), ["Q"]), ["S"])] == [
        "t (equal)"
    ]
