"""Reports are right: their numbers are those of the tables, also where the tables are odd."""

from __future__ import annotations

import functools
import hashlib
import json
import re
import sys
from collections import Counter
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.realdata import hierarchies, needs_data, source
from support.refusals import refused
from support.report import everything_in, squeezed, texts_of_pdf
from veil import KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.base.spell import spell_value
from veil.errors import OutputError
from veil.models import DistinctLDiversity, Inclusion, PopulationUniqueness
from veil.recipe import Recipe
from veil.report import check_certificate, collect_facts, content_digest, write_report
from veil.report.content.association import associations, codes_of, cramers_v
from veil.report.content.disclosure import change, is_safe
from veil.report.content.measured import Findings
from veil.report.content.utility import _two_digits
from veil.report.pages.blocks import Folded, Paragraph, Picture, TableBlock, number
from veil.report.pages.document import sections
from veil.report.pages.html import html
from veil.report.pages.measured import MOST_PICTURES, _predictions
from veil.report.pages.pdf import pdf
from veil.report.pictures.by_name import scenes
from veil.report.pictures.shapes import svg
from veil.synthetic import patients
from veil.tables import Csv, write


def demo(**changes: Any) -> Release:
    given: dict[str, Any] = {
        "quasi_identifiers": {
            "age": h.intervals(5, 10, 20, 40),
            "sex": "suppression",
            "zip": "redaction",
            "education": h.categories(
                {
                    "low": ["none", "primary"],
                    "high": ["secondary", "vocational", "bachelor", "master", "doctorate"],
                }
            ),
        },
        "sensitive": ["diagnosis"],
        "insensitive": ["occupation", "stay", "cost"],
        "identifying": ["name", "admission"],
        "models": [KAnonymity(5)],
        "suppression_limit": 0.05,
        "order": "input",
    }
    return veil.anonymize(patients(600), **{**given, **changes})


@pytest.fixture(scope="module")
def release() -> Release:
    return demo()


@pytest.fixture(scope="module")
def found(release: Release) -> dict[str, Any]:
    return collect_facts(release)


# --- the numbers, counted by hand ---------------------------------------------------------------------


def classes(table: pa.Table, names: list[str]) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(table[name].to_pylist() for name in names), strict=True))


def test_risks_are_those_of_the_tables(release: Release, found: dict[str, Any]) -> None:
    names = list(release.plan.quasi_identifiers)
    before = classes(patients(600), names)
    shown = release.arrow.filter(pa.array(~release.suppressed_rows))
    after = classes(shown, names)
    for which, sizes in (("before", before), ("after", after)):
        risk = found["risks"][which]
        records = sum(sizes.values())
        assert risk["attackers"]["prosecutor"]["highest"] == 1 / min(sizes.values())
        assert risk["attackers"]["prosecutor"]["average"] == pytest.approx(len(sizes) / records)
        assert risk["attackers"]["marketer"]["success_rate"] == pytest.approx(len(sizes) / records)
        at_risk = sum(size for size in sizes.values() if size < 5) / records
        assert risk["attackers"]["prosecutor"]["at_risk"] == pytest.approx(at_risk)
        assert risk["sample_uniques"]["records"] == sum(size == 1 for size in sizes.values())
        groups = risk["class_sizes"]["groups"]
        assert sum(each["classes"] for each in groups) == len(sizes)
        for each in groups:
            counted = [size for size in sizes.values() if each["from"] <= size <= each["to"]]
            assert (each["classes"], each["records"]) == (len(counted), sum(counted))


def test_the_summary_is_that_of_the_release(release: Release, found: dict[str, Any]) -> None:
    summary = found["summary"]
    assert summary["records"] == 600
    assert summary["suppressed"] == int(release.suppressed_rows.sum()) > 0
    assert summary["score"] == release.score  # type: ignore[attr-defined]
    assert summary["nodes"]["checked"] == len(release.search.explored.evaluated)  # type: ignore[attr-defined]
    page = html(found)
    told = (
        f"Of 600 records, {600 - summary['suppressed']} are released and {summary['suppressed']} suppressed."
    )
    assert told in page
    assert f"{release.score:.6g}" in page  # type: ignore[attr-defined]


def test_distributions_are_those_of_the_tables(release: Release, found: dict[str, Any]) -> None:
    by_name = {each["column"]: each for each in found["distributions"]}
    shown = release.arrow.filter(pa.array(~release.suppressed_rows))
    assert dict(zip(by_name["sex"]["values"], by_name["sex"]["after"], strict=True)) == Counter(
        shown["sex"].to_pylist()
    )
    sexes = Counter(patients(600)["sex"].to_pylist())
    assert release.suppressed >= 10
    assert by_name["sex"]["before"] == [sexes[value] for value in by_name["sex"]["values"]]
    assert by_name["sex"]["hidden_after"] == release.suppressed
    illnesses = Counter(shown["diagnosis"].to_pylist())
    assert dict(zip(by_name["diagnosis"]["values"], by_name["diagnosis"]["after"], strict=True)) == illnesses
    for each in found["distributions"]:
        assert sum(each["after"]) + each["others_after"] + each["hidden_after"] == 600
        if each["before"] is not None:
            assert sum(each["before"]) + each["others_before"] + each["hidden_before"] == 600


def test_many_numbers_are_counted_in_intervals(release: Release, found: dict[str, Any]) -> None:
    cost = next(each for each in found["distributions"] if each["column"] == "cost")
    values = release.arrow.filter(pa.array(~release.suppressed_rows))["cost"].to_pylist()
    assert len(cost["values"]) < 15
    for text, count in zip(cost["values"], cost["after"], strict=True):
        if text is None:
            assert count == values.count(None)
            continue
        low, high = (float(part.replace(",", "")) for part in text.split(" to <"))
        assert count == sum(value is not None and low <= value < high for value in values)


def test_the_transformation_is_told_with_its_names(release: Release, found: dict[str, Any]) -> None:
    rows = {each["column"]: each for each in found["done"]["columns"]}
    for name, level in release.transformation.items():  # type: ignore[attr-defined]
        assert (rows[name]["level"], rows[name]["of"]) == (
            level,
            release.search.explored.maximum[list(release.transformation).index(name)],
        )  # type: ignore[attr-defined]
        assert rows[name]["name"] == release.search.level_names[name]  # type: ignore[attr-defined]
    assert rows["name"]["treatment"] == "removed"
    assert rows["cost"]["treatment"] == "published as it is"


def test_what_hierarchies_take_from_the_data_is_listed(tmp_path: Path) -> None:
    table = pa.table(
        {"age": [*range(30, 40)] * 3, "town": ["Ulm", "Bonn", "Köln"] * 10, "sex": ["f", "m"] * 15}
    )
    plan = {"age": h.ordering(5, label="interval"), "town": h.priority(), "sex": h.suppression()}
    made = veil.anonymize(table, quasi_identifiers=plan, models=KAnonymity(2))
    made.report(tmp_path / "report.html")
    page = unescape((tmp_path / "report.html").read_text())
    told = [name for name in plan if f"Labels of column '{name}' were made from the data" in page]
    assert told == ["age", "town"]
    assert collect_facts(made)["done"]["from_data"].keys() == {"age", "town"}


def test_models_speak_for_themselves(found: dict[str, Any]) -> None:
    model = found["asked"]["models"][0]
    assert model["definition"] == (
        "Every record is indistinguishable from at least k - 1 others by its quasi-identifiers."
    )
    assert model["attacks"] == ["record linkage"]
    assert model["monotone"] == {"generalization": "yes", "suppression": "yes"}
    (k,) = model["parameters"]
    assert (k["name"], k["values"]) == ("k", "integer, 1 or more")
    assert "5 to 20 is usual" in k["about"]


def test_pages_tell_what_is_known_of_each_model(tmp_path: Path) -> None:
    people = pa.table({"sex": ["f", "f", "m", "m"], "job": ["a", "b", "a", "b"]})
    release = veil.anonymize(
        people,
        quasi_identifiers={"sex": "suppression"},
        sensitive="job",
        models=[
            KAnonymity(2),
            veil.EntropyLDiversity("job", 2),
            veil.EntropyLDiversity("job", 1.5, "grassberger"),
        ],
    )
    page = release.report(tmp_path / "report.html").read_text()
    cells = [
        re.sub(r"<[^>]+>", "", cell).strip()
        for cell in re.findall(r"<t[dh][^>]*>.*?</t[dh]>", page, re.DOTALL)
    ]
    for told, times in {"integer, 1 or more": 1, "number, 1 or more": 2, "1.5": 1}.items():
        assert cells.count(told) == times, told
    assert "onotone" not in page  # that is for readers of the code
    assert any("5 to 20 is usual" in cell for cell in cells)


def test_fingerprints_are_those_of_tables_and_file(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    write(pa.table({"sex": ["f", "f", "m", "m"]}), path)
    release = veil.anonymize(path, quasi_identifiers={"sex": "suppression"}, models=KAnonymity(2))
    assert "sha" not in json.dumps(collect_facts(release)["input"])
    found = collect_facts(release, exact=True)
    assert found["input"]["file_sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()
    assert found["input"]["sha256"] == content_digest(pa.table({"sex": ["f", "f", "m", "m"]}))
    assert found["output"]["sha256"] == content_digest(release.arrow)


def test_a_recipe_without_values_does_it_again(tmp_path: Path) -> None:
    write(patients(300), tmp_path / "people.csv")
    release = veil.anonymize(
        tmp_path / "people.csv",
        quasi_identifiers={"age": h.intervals(10, 20), "sex": "suppression"},
        models=KAnonymity(3),
        others="drop",
        suppression_limit=0.1,
    )
    (tmp_path / "recipe.yaml").write_text(collect_facts(release)["recipe_text"])
    assert Recipe.read(tmp_path / "recipe.yaml").plan() == release.plan


def test_the_recipe_tells_how_to_read_the_input(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes("Straße;sex\nÖ;f\nÖ;f\n".encode("latin-1"))
    release = veil.anonymize(
        path,
        quasi_identifiers={"Straße": "suppression", "sex": "suppression"},
        models=KAnonymity(2),
        format=Csv(separator=";", encoding="latin-1"),
    )
    (tmp_path / "recipe.yaml").write_text(collect_facts(release)["recipe_text"], encoding="utf-8")
    read = Recipe.read(tmp_path / "recipe.yaml").input
    assert (read.separator, read.encoding) == (";", "iso8859-1")  # type: ignore[union-attr]


def test_columns_kept_without_a_role_are_listed() -> None:
    table = patients(100).select(["sex", "stay", "cost"])
    release = veil.anonymize(
        table,
        quasi_identifiers={"sex": "suppression"},
        insensitive="cost",
        models=KAnonymity(2),
        others="keep",
    )
    found = collect_facts(release)
    roles = {"quasi-identifying": ["sex"], "insensitive": ["cost", "stay"]}
    assert found["asked"]["roles"] == found["certificate"]["promises"]["roles"] == roles


def test_a_mode_is_exact_and_alone() -> None:
    table = pa.table({"a": ["x"] * 5, "pay": [1234567.25, 1234567.25, 2.0, 3.0, 4.0], "tie": [1, 1, 2, 2, 3]})
    release = veil.anonymize(
        table, quasi_identifiers={"a": "identity"}, insensitive=["pay", "tie"], models=KAnonymity(5)
    )
    found = collect_facts(release)
    after = {each["column"]: each["after"] for each in found["utility"]["statistics"]}
    assert after["pay"]["mode"] == 1234567.25
    assert "mode" not in after["tie"]
    assert "1,234,567.25" in html(found)


def test_what_stays_of_suppressed_rows_is_told(found: dict[str, Any]) -> None:
    page = html(found)
    assert "every cell blanked" in page
    assert "without their values" not in page


def test_the_page_names_its_own_file(release: Release, tmp_path: Path) -> None:
    path = release.report(tmp_path / "for the board.html")
    assert "--certificate 'for the board.html'" in everything_in(path)


def test_a_pdf_names_no_file_that_was_not_written(release: Release, tmp_path: Path) -> None:
    page = " ".join(everything_in(release.report(tmp_path / "board.pdf")).split())
    assert "board.html" not in page
    assert "A PDF contains no certificate." in page
    assert "veil verify release.csv --certificate certificate.json" in page


@pytest.mark.parametrize("name", ["board.pdf", "board.html"])
def test_the_page_names_what_is_written_along_with_it(release: Release, tmp_path: Path, name: str) -> None:
    path = write_report(release, tmp_path / name, table="the people.csv", certificate="proof.json")
    page = " ".join(everything_in(path).split())
    assert "A certificate was written along with this report" in page
    assert "veil verify 'the people.csv' --certificate proof.json" in page
    assert "--certificate board" not in page


def test_a_hierarchy_file_is_named_without_a_fingerprint(tmp_path: Path) -> None:
    path = tmp_path / "sex.csv"
    path.write_text("f;*\nm;*\n")
    release = veil.anonymize(
        pa.table({"sex": ["f", "m", "m"]}), quasi_identifiers={"sex": h.file(str(path))}, models=KAnonymity(2)
    )
    spec = collect_facts(release)["recipe"]["steps"][0]["quasi_identifiers"]["sex"]
    assert spec == path.name


def test_listed_hierarchies_are_withheld(found: dict[str, Any]) -> None:
    spec = found["recipe"]["steps"][0]["quasi_identifiers"]["education"]
    assert spec["withheld"] == {"values": 7}
    assert "doctorate" not in found["recipe_text"]


# --- which figures are shown --------------------------------------------------------------------------


def hiding(hidden: list[int]) -> Release:
    """A release at level 0 of a hundred ages, and of some that are suppressed because nobody shares them."""
    table = pa.table({"age": [20, 21, 22, 23] * 25 + hidden})
    options: dict[str, Any] = {"maximum_levels": {"age": 0}, "suppression_limit": 0.5}
    return veil.anonymize(table, quasi_identifiers={"age": h.intervals(5)}, models=KAnonymity(5), **options)


@pytest.mark.parametrize(
    ("hidden", "told"),
    [
        ([], True),
        ([77], False),  # the mean of all less that of the release is one value
        ([50, 51, 52, 53, 54, 55, 56, 57, 58], False),
        ([50, 51, 52, 53, 54, 55, 56, 57, 58, 59], True),
        ([50, 51, 52, 53, 54, 55, 56, 57, 58, 99999], False),
    ],
)
def test_what_a_difference_would_tell_is_withheld(hidden: list[int], told: bool) -> None:
    found = collect_facts(hiding(hidden))
    before = found["utility"]["statistics"][0]["before"]
    assert ("mean" in before) is told
    assert bool(found["utility"]["preservation"]["columns"]) is told


def crossed(shared: list[int], alone: list[int]) -> Release:
    """A release at level 0 of a hundred ages in Ulm; further people are suppressed, as nobody lives where they do.

    Ages in `shared` and `alone` are those of the suppressed.
    """
    hidden = shared + alone
    table = pa.table(
        {
            "age": [20, 21, 22, 23] * 25 + hidden,
            "town": ["Ulm"] * 100 + [f"town {i}" for i in range(len(hidden))],
        }
    )
    return veil.anonymize(
        table,
        quasi_identifiers={"age": h.intervals(5), "town": "suppression"},
        maximum_levels={"age": 0, "town": 0},
        models=KAnonymity(5),
        suppression_limit=0.5,
        order="input",
    )


SHARED = [20, 21, 22, 23] * 5


@pytest.mark.parametrize(
    ("alone", "told"),
    [
        ([], True),
        ([97], False),  # twenty-one are hidden, the counts tell twenty, and the mean would tell the last one
        ([97, 31], False),
        ([50, 51, 52, 53, 54, 55, 56, 57, 58], False),
        ([50, 51, 52, 53, 54, 55, 56, 57, 58, 59], True),
        ([1, 1, 1, 1, 1, 1, 1, 1, 1, 95], False),
    ],
)
def test_counts_and_means_together_tell_no_value(alone: list[int], told: bool) -> None:
    found = collect_facts(crossed(SHARED, alone))
    age, numbers = found["distributions"][0], found["utility"]["preservation"]
    before = found["utility"]["statistics"][0]["before"]
    counts = dict(zip(age["values"], age["before"], strict=True))
    assert counts == {"20": 30, "21": 30, "22": 30, "23": 30}
    assert age["hidden_before"] == len(alone)
    assert ("mean" in before) is ("standard_deviation" in before) is told
    assert [each["column"] for each in numbers["columns"]] == (["age"] if told else [])
    assert numbers["withheld"] == ([] if told else ["age"])
    assert numbers["correlations"]["before"] == ([[1.0]] if told else [])


def test_a_report_is_the_same_whatever_the_last_hidden_value_is() -> None:
    """Nobody can compute from figures what they do not depend on."""

    def told(value: int) -> dict[str, Any]:
        found = collect_facts(crossed(SHARED, [value]))
        left_out = ("date", "certificate", "curve")
        return {key: each for key, each in found.items() if key not in left_out}

    assert told(97) == told(61) == told(24)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.sampled_from([20, 21, 22, 23]), max_size=24),
    st.lists(st.integers(1, 99).filter(lambda age: not 20 <= age <= 23), max_size=14),
)
def test_what_is_left_when_the_counts_are_subtracted_is_many_values(
    shared: list[int], alone: list[int]
) -> None:
    found = Findings(crossed(shared, alone).outcome)
    if "mean" not in found.utility.statistics[0]["before"]:
        return
    unknown = sorted(alone if found.distributions[0]["before"] is not None else shared + alone, reverse=True)
    assert not unknown or (len(unknown) >= 10 and sum(unknown[2:]) >= 0.0999 * unknown[0])


def test_counts_in_intervals_and_means_together_tell_no_value() -> None:
    ages = [*range(20, 60)] * 5
    hidden = [*range(20, 60), 9999]
    towns = ["Ulm"] * 200 + [f"town {i}" for i in range(41)]
    release = veil.anonymize(
        pa.table({"age": ages + hidden, "town": towns}),
        quasi_identifiers={"age": "identity", "town": "identity"},
        models=KAnonymity(5),
        suppression_limit=0.5,
    )
    found = collect_facts(release)
    age = found["distributions"][0]
    assert (age["limits"][0], age["limits"][-1], sum(age["before"]), age["hidden_before"]) == (20, 60, 240, 1)
    assert "mean" not in found["utility"]["statistics"][0]["before"]


def test_means_before_and_after_have_as_many_digits() -> None:
    """A column that nobody touched had a mean of 1,000 before and of 1,002 after."""
    pay = [900 + i for i in range(205)]
    table = pa.table({"sex": ["f", "m"] * 102 + ["f"], "pay": pay, "age": [20, 30, 40, 50, 60] * 41})
    release = veil.anonymize(
        table,
        quasi_identifiers={"sex": "suppression"},
        insensitive=["pay", "age"],
        models=KAnonymity(2),
    )
    for each in collect_facts(release)["utility"]["statistics"][1:]:
        assert each["before"]["mean"] == each["after"]["mean"]
        assert each["before"]["standard_deviation"] == each["after"]["standard_deviation"]
    assert collect_facts(release)["utility"]["statistics"][1]["after"]["mean"] == 1002.0


def test_gains_that_are_none_and_correlations_of_nothing_read_like_that() -> None:
    """Rather than "-94.3 %" and "-0"."""
    lost = {"target": "ill", "method": "naive bayes", "original": 0.9, "released": 0.4, "zero_r": 0.6}
    predictions = {"classification": [{**lost, "relative": -0.943}], "regression": [], "notes": []}
    [_, grid] = _predictions(predictions)
    assert grid.rows[0][-1] == "none"
    assert number(_two_digits(-0.0012)) == "0"
    assert str(_two_digits(-0.0012)) == "0.0"


def test_changes_tell_no_more_than_the_means() -> None:
    found = collect_facts(crossed(SHARED, list(range(50, 62))))["utility"]
    before, after = found["statistics"][0]["before"], found["statistics"][0]["after"]
    column = found["preservation"]["columns"][0]
    mean = float(f"{after['mean']:.3g}")
    assert column["mean_change"] == float(f"{abs(mean - before['mean']) / before['mean']:.3g}")
    assert (
        change(21.5, 21.5000001) is None
    )  # equal means, to three digits, are no reason to say that nothing changed
    assert "ned" not in column  # with SSE/SST it tells the range of the input


@pytest.mark.parametrize(
    ("common", "rare", "drawn"),
    [(0, 0, True), (1, 0, False), (4, 5, False), (5, 5, True), (20, 1, False), (20, 4, True)],
)
def test_counts_that_tell_the_label_of_suppressed_records_are_withheld(
    common: int, rare: int, drawn: bool
) -> None:
    towns = ["Ulm"] * 50 + ["Bonn"] * 50 + ["Ulm"] * common + ["Bonn"] * rare
    # Everybody is told apart by the number, but for a hundred people who share one.
    numbers = [0] * 50 + [1] * 50 + list(range(2, 2 + common + rare))
    release = veil.anonymize(
        pa.table({"town": towns, "number": numbers}),
        quasi_identifiers={"town": "identity", "number": "identity"},
        models=KAnonymity(5),
        suppression_limit=0.5,
    )
    town = collect_facts(release)["distributions"][0]
    assert town["after"] == [50, 50]
    assert (town["before"] is not None) is drawn
    assert town["withheld"] is not drawn


@pytest.mark.parametrize(
    ("values", "safe"),
    [
        (range(9), False),  # too few
        (range(10), True),
        ([0] * 19 + [1000], False),  # one value is all there is
        ([5] * 18 + [6, 7], False),  # nearly everybody has the same
        ([5] * 17 + [6, 7, 8], True),
        ([1] * 8 + [2] * 8 + [10**6], False),  # one dominates
        ([10**6 + i for i in range(19)] + [2 * 10**6], False),  # one is far from all others
    ],
)
def test_rules_of_statistical_offices(values: Any, safe: bool) -> None:
    numbers, counts = np.unique(np.array(list(values), np.float64), return_counts=True)
    assert is_safe(numbers, counts) is safe


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-1e6, 1e6), min_size=0, max_size=30))
def test_what_is_safe_does_not_rest_on_one_value(values: list[float]) -> None:
    numbers, counts = np.unique(np.array(values, np.float64), return_counts=True)
    if values and is_safe(numbers, counts):
        assert len(values) >= 10
        sizes = sorted((abs(value) for value in values), reverse=True)
        assert sum(sizes[2:]) >= 0.0999 * sizes[0]


def slow_cramers_v(first: list[int], second: list[int]) -> float | None:
    """Bergsma (2013), from the definition."""
    n, rows, columns = len(first), Counter(first), Counter(second)
    r, k = len(rows), len(columns)
    if min(r, k) < 2:
        return None
    cells = Counter(zip(first, second, strict=True))
    chi = sum(
        (cells[a, b] - rows[a] * columns[b] / n) ** 2 / (rows[a] * columns[b] / n)
        for a in rows
        for b in columns
    )
    phi = max(0.0, chi / n - (r - 1) * (k - 1) / (n - 1))
    smaller = min(r - (r - 1) ** 2 / (n - 1), k - (k - 1) ** 2 / (n - 1)) - 1
    return min(1.0, (phi / smaller) ** 0.5) if smaller > 1e-9 else None


pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=40)


@settings(max_examples=100, deadline=None)
@given(pairs, st.integers(1, 3))
def test_associations_agree_with_the_definition(rows: list[tuple[int, int]], times: int) -> None:
    first, second = (list(column) for column in zip(*rows, strict=True))
    expected = slow_cramers_v(first * times, second * times)
    weights = np.full(len(rows), times)
    for found in (
        cramers_v(np.array(first * times), np.array(second * times)),
        cramers_v(np.array(first), np.array(second), weights),
    ):
        assert (found is None) == (expected is None)
        if found is not None:
            assert found == pytest.approx(expected, abs=1e-6)


def test_columns_of_many_numbers_are_cut() -> None:
    numbers = pa.chunked_array([[*range(1000), None]])
    codes = codes_of(numbers)
    assert np.bincount(codes).tolist() == [100] * 10 + [1]
    assert associations([codes, codes_of(pa.chunked_array([["x"] * 1001]))]) == [[1.0, None], [None, None]]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(-500, 500), st.integers(1, 9)),
        min_size=25,
        max_size=60,
        unique_by=lambda x: x[0],
    )
)
def test_condensed_numbers_are_cut_where_all_of_them_are(rows: list[tuple[int, int]]) -> None:
    numbers, times = (np.array(each) for each in zip(*rows, strict=True))
    repeated = np.repeat(numbers, times)
    limits = np.unique(np.quantile(repeated, np.arange(1, 10) / 10))
    found = codes_of(pa.chunked_array([numbers]), times)
    assert np.repeat(found, times).tolist() == codes_of(pa.chunked_array([repeated])).tolist()
    near = np.abs(numbers[:, None] - limits).min(axis=1) < 1e-9  # rounding may put these on either side
    expected = np.searchsorted(limits, numbers, side="right")
    assert found[~near].tolist() == expected[~near].tolist()


# --- odd releases -------------------------------------------------------------------------------------


def few(**columns: Any) -> pa.Table:
    return pa.table(columns)


def anonymized(table: pa.Table, hierarchies: dict[str, Any], **options: Any) -> Release:
    given = {"models": KAnonymity(2), "others": "keep", **options}
    return veil.anonymize(table, quasi_identifiers=hierarchies, **given)


NOTHING = [None] * 4
MANY = {
    f"a very long name of a column, which goes on and on and on, number {i}": ["x", "y"] * 10
    for i in range(40)
}
ODD: dict[str, Any] = {
    "all suppressed": lambda: anonymized(
        few(a=["x", "y", "z"]), {"a": "identity"}, suppression_limit=1.0, models=KAnonymity(3)
    ),
    "all suppressed and dropped": lambda: anonymized(
        few(a=["x", "y", "z"]), {"a": "identity"}, suppression_limit=1.0, suppressed_rows="drop"
    ),
    "a single class": lambda: anonymized(few(a=["x"] * 4, b=[1] * 4), {"a": "suppression", "b": "suppression"}),
    "one attribute": lambda: anonymized(few(a=["x", "x", "y", "y"]), {"a": "suppression"}),
    "nothing at level 0": lambda: anonymized(
        few(a=[1, 2, 3, 4], b=["p", "q", "r", "s"]), {"a": h.intervals(10), "b": "suppression"},
        minimum_levels={"a": 1, "b": 1},
    ),
    "missing values everywhere": lambda: anonymized(
        few(a=pa.array(NOTHING, pa.string()), b=pa.array(NOTHING, pa.int64()), c=pa.array(NOTHING, pa.float64())),
        {"a": "suppression", "b": h.intervals(5)}, sensitive=["c"],
    ),
    "some missing values": lambda: anonymized(
        few(a=["x", None, "x", None, "y"], b=[1, None, None, 2, 2]), {"a": "suppression", "b": h.intervals(5)},
        suppression_limit=0.5,
    ),
    "no number": lambda: anonymized(few(a=["x", "x"], s=["p", "q"]), {"a": "identity"}, sensitive=["s"]),
    "a number to predict": lambda: anonymized(
        few(a=["x", "y"] * 20, s=list(range(40))), {"a": "identity"}, sensitive=["s"]
    ),
    "one row": lambda: anonymized(few(a=["x"]), {"a": "identity"}, models=KAnonymity(1)),
    "microaggregated": lambda: anonymized(
        few(a=["x", "x", "y", "y"], b=[1, 2, 3, 4], c=[1.5, 2.5, 3.5, 4.5]), {"a": "suppression"},
        microaggregated={"b": "mean", "c": "interval"},
    ),
    "over the limit": lambda: anonymized(few(a=["x", "x", "y", "z"]), {"a": "suppression"}).search.apply({"a": 0}),
    "a flag": lambda: anonymized(few(a=["*", "*", "q"]), {"a": "identity"}, suppression_limit=0.5),
    "lists": lambda: anonymized(few(a=["x", "x"], b=[["p"], ["q", "r"]]), {"a": "identity"}, sensitive=["b"]),
    "local recoding": lambda: anonymized(
        few(a=list("xxyyzzuvw"), b=[1, 1, 2, 2, 9, 8, 7, 6, 5], s=list("pqpqpqpqp")),
        {"a": "suppression", "b": h.intervals(2, 10)}, quality=veil.quality.Loss(factor=0.0), suppression_limit=0.9,
    ).local_recoding(),
    "nothing to recode": lambda: anonymized(few(a=["x", "x"]), {"a": "identity"}).local_recoding(),
    "forty columns": lambda: anonymized(few(**MANY), dict.fromkeys(MANY, "suppression"), check_limit=50),
    "markup": lambda: anonymized(
        few(**{"<script>alert(1)</script>": ["</script><b>", "$x^$"] * 2, "a&b $c$": ["\x00", "漢字"] * 2}),
        {"<script>alert(1)</script>": "suppression", "a&b $c$": "suppression"},
    ),
    "a subset": lambda: anonymized(
        few(a=["x", "x", "y", "y", "z"], b=[1, 1, 2, 2, 3]), {"a": "suppression", "b": h.intervals(2)},
        models=[KAnonymity(2), Inclusion([0, 1, 2])], suppression_limit=0.5,
    ),
    "a population": lambda: anonymized(
        few(a=["x", "x", "y", "y", "z"]), {"a": "suppression"},
        models=PopulationUniqueness(0.5, population=1000), suppression_limit=0.5,
    ),
    "rank aggregation": lambda: anonymized(
        few(a=list("xxyyz"), b=[1, 1, 2, 2, 3]), {"a": "suppression", "b": h.intervals(2, 10)},
        quality=veil.quality.Loss(aggregate="rank"), suppression_limit=0.5,
    ),
}  # fmt: skip


@functools.cache
def odd(name: str) -> tuple[Release, dict[str, Any]]:
    release = ODD[name]()
    return release, collect_facts(release)


@pytest.mark.parametrize("name", ODD)
def test_odd_releases_have_a_report(name: str) -> None:
    release, found = odd(name)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    page = html(found)
    check_markup(page)
    assert found["summary"]["suppressed"] == release.suppressed
    assert all(each["holds"] for each in found["verification"])
    sizes = release.outcome.by_records.sizes
    assert found["summary"]["classes"] == sizes.size
    assert found["risks"]["after"]["class_sizes"]["records"] == sizes.sum()
    assert not re.search(r"\b(nan|inf|None)\b", re.sub(r"base64,[^\"]+", "", page))
    assert release._repr_html_().count("<table>") == 4 + bool(release.concerns)


def check_markup(page: str) -> None:
    """Nothing of a table is markup, every element is closed, and nothing is loaded."""
    plain = re.sub(r'src="data:[^"]+"', "", page)
    assert "<script>alert" not in plain
    assert re.findall(r"<script[^>]*>", plain) == ['<script type="application/json" id="certificate">']
    assert plain.count("</script>") == 1
    assert not re.search(r"""(?:src|href)=["'](?!#|data:)""", plain)
    assert "http" not in re.sub(r'http-equiv="[^"]+"', "", plain)
    for element in (
        "table",
        "tr",
        "td",
        "th",
        "section",
        "figure",
        "p",
        "h2",
        "h3",
        "pre",
        "dl",
        "div",
        "main",
    ):
        assert len(re.findall(rf"<{element}[ >]", plain)) == plain.count(f"</{element}>"), element


@pytest.mark.parametrize("name", ["forty columns", "markup", "all suppressed and dropped"])
def test_odd_releases_have_a_pdf(name: str, tmp_path: Path) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(pdf(odd(name)[1]))
    told = texts_of_pdf(path)
    assert "Date and signature" in told
    if name == "markup":
        assert "<script>alert(1)</script>" in squeezed(told)


def test_special_signs_are_printed(tmp_path: Path) -> None:
    path = tmp_path / "report.pdf"
    path.write_bytes(pdf({**odd("one row")[1], "notice": "ε ≤ 1 – δ"}))
    assert "ε ≤ 1 – δ" in texts_of_pdf(path).replace("\u00a0", " ")


def test_a_huge_space_is_drawn_from_what_was_evaluated(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    table = pa.table({f"c{i}": rng.integers(0, 50, 200) for i in range(20)})
    release = veil.anonymize(
        table,
        quasi_identifiers={name: h.intervals(5, 10, 20) for name in table.column_names},
        models=KAnonymity(3),
        suppression_limit=0.2,
        check_limit=200,
    )
    assert not release.search.explored.is_listable
    found = collect_facts(release)
    assert 0 < len(found["space"]["nodes"]) <= 2000
    assert sum(each["evaluated"] for each in found["space"]["by_level_sum"]) == found["space"]["evaluated"]
    assert found["summary"]["proven_optimal"] is False
    texts = " ".join(
        block.text for section in sections(found) for block in section.blocks if isinstance(block, Paragraph)
    )
    assert "not proven to be the best one" in texts
    assert "ruled out by proof" not in texts
    assert svg(scenes(found, Picture("space", ""))[0]).count("<circle") > 1


def test_wide_tables_are_cut_with_a_note() -> None:
    blocks = [block for section in sections(odd("forty columns")[1]) for block in section.blocks]
    inside = [part for each in blocks if isinstance(each, Folded) for part in each.blocks]
    drawn = [each for each in (*blocks, *inside) if isinstance(each, Picture) and each.columns]
    assert sum(len(each.columns) for each in drawn) == MOST_PICTURES
    notes = [each.text for each in blocks if isinstance(each, Paragraph)]
    assert any("16 further columns" in note for note in notes)
    assert any("24 further columns" in note for note in notes)


def test_every_row_of_a_table_fits_its_headings(found: dict[str, Any]) -> None:
    for each in (found, odd("local recoding")[1], odd("a population")[1]):
        for section in sections(each):
            for block in section.blocks:
                if isinstance(block, TableBlock):
                    assert {len(row) for row in block.rows} <= {len(block.headings)}


# --- writing ------------------------------------------------------------------------------------------


def test_progress_is_told(tmp_path: Path) -> None:
    seen: list[tuple[str, int, int, str]] = []
    release = anonymized(few(a=["x", "x"]), {"a": "identity"})
    release.report(tmp_path / "report.json", progress=lambda *step: seen.append(step))
    assert {step[0] for step in seen} == {"writing the report"}
    assert [step[3] for step in seen if step[3]][:3] == ["certificate", "what no model judges", "risks"]
    assert seen[-1][1] == seen[-1][2] == 8


def test_other_endings_are_refused(release: Release, tmp_path: Path) -> None:
    with refused(OutputError, ".html", ".json", "'.docx'"):
        release.report(tmp_path / "report.docx")
    assert not list(tmp_path.iterdir())


def test_pictures_need_no_library(found: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    expected = html(found)
    for name in [each for each in sys.modules if each.startswith("matplotlib")]:
        monkeypatch.setitem(sys.modules, name, None)
    page = html(found)
    assert page == expected
    assert page.count('<svg class="chart"') >= 8
    assert "matplotlib, which is not installed" not in page


def test_two_reports_of_a_release_differ_in_their_date_only(release: Release) -> None:
    one, other = collect_facts(release), collect_facts(release)
    for each in (one, other):
        each["date"] = each["certificate"]["date"] = each["certificate"]["checksum"] = ""
    assert one == other


def test_classification_is_told_for_sensitive_columns() -> None:
    rng = np.random.default_rng(0)
    sex = rng.choice(["f", "m"], 400)
    table = pa.table({"sex": sex, "illness": np.where(rng.random(400) < 0.9, sex, "x")})
    release = veil.anonymize(
        table,
        quasi_identifiers={"sex": "identity"},
        models=DistinctLDiversity("illness", 2),
        sensitive="illness",
    )
    found = collect_facts(release)["utility"]["predictions"]["classification"]
    assert {each["method"] for each in found} >= {"logistic regression", "random forest"}
    assert all(each["original"] == each["released"] > each["zero_r"] for each in found)


def test_categories_are_told_as_text_is() -> None:
    table = pa.table({"q": ["a", "b"] * 20, "s": pa.array(["x", "y", "y", "z"] * 10)})
    found = []
    for each in (table, table.set_column(1, "s", table["s"].dictionary_encode())):
        release = veil.anonymize(
            each, quasi_identifiers={"q": h.suppression()}, sensitive="s", models=KAnonymity(2)
        )
        found.append(collect_facts(release)["utility"])
    assert found[0]["predictions"]["classification"]
    assert found[0] == found[1]


def test_a_table_that_an_engine_holds_has_the_same_figures(tmp_path: Path) -> None:
    pytest.importorskip("ibis")
    pytest.importorskip("duckdb")
    write(patients(300), tmp_path / "people.parquet")
    given: dict[str, Any] = {
        "quasi_identifiers": {"age": h.intervals(10, 20, 40), "sex": "suppression", "zip": "redaction"},
        "sensitive": ["diagnosis"],
        "identifying": ["name"],
        "others": "keep",
        "models": [KAnonymity(5), DistinctLDiversity("diagnosis", 2)],
        "suppression_limit": 0.1,
    }
    held, here = (
        veil.anonymize(tmp_path / "people.parquet", engine=engine, **given) for engine in ("duckdb", "memory")
    )
    found, expected = collect_facts(held), collect_facts(here)
    for part in ("summary", "asked", "done", "risks"):
        assert found[part] == expected[part], part
    shown = [each for each in expected["distributions"] if each["column"] in held.arrow.column_names]
    assert found["distributions"] == shown
    assert "sha256" not in found["input"]
    columns = found["associations"]["columns"]
    at = [expected["associations"]["columns"].index(name) for name in columns]
    for when in ("before", "after"):
        matrix = expected["associations"][when]
        assert found["associations"][when] == [[matrix[i][j] for j in at] for i in at]
    page = html(found)
    assert "not computed: an engine holds it" in page
    assert "check that they have the right table" not in page
    assert "check that they have the right table" in html(expected)
    assert "checked before writing, on the different rows, by a verifier" in page
    assert "checked on the released table by a verifier" in html(expected)
    utility = next(each for each in sections(found) if each.key == "utility").blocks
    assert isinstance(utility[0], Paragraph)
    assert "not compared row by row" in utility[0].text
    held.save(tmp_path / "release.parquet")
    assert check_certificate(held.certificate(tmp_path / "c.json"), tmp_path / "release.parquet").holds


@needs_data
@pytest.mark.realdata
@pytest.mark.slow
def test_adult(tmp_path: Path) -> None:
    names = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass"]
    release = veil.anonymize(
        source("adult").table,
        quasi_identifiers=hierarchies("adult", names),
        models=KAnonymity(5),
        sensitive=["salary-class"],
        others="drop",
        suppression_limit=0.05,
    )
    for format in ("html", "json"):
        told = squeezed(everything_in(release.report(tmp_path / f"report.{format}")))
        assert "30162" in told
        assert str(release.suppressed) in told


def test_the_recipe_of_a_local_recoding_names_its_mode() -> None:
    from veil.recoding import Iterative

    recoded = demo(suppression_limit=0.5).local_recoding(Iterative(0.5))
    (step,) = collect_facts(recoded)["recipe"]["steps"]
    assert step["recoding"] == spell_value(Iterative(0.5))


def test_a_verification_in_a_notebook() -> None:
    shown = demo().verification._repr_html_()
    assert "5-anonymity" in shown
    assert shown.count("holds") >= 5
