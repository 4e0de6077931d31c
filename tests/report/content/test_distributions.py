"""Distributions of columns with labels of several levels: on one level, by slow counting."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest

import veil
from veil import KAnonymity
from veil import hierarchies as h
from veil.quality import Loss
from veil.recoding import FastIterative
from veil.report.content.measured import Findings

AGES = h.table([[str(age), f"{age // 5 * 5}+", f"{age // 10}x", "*"] for age in range(20, 60)])


@pytest.fixture(scope="module")
def release():
    draws = np.random.default_rng(6)
    ages = np.minimum(20 + draws.geometric(0.1, 600), 59)
    towns = draws.choice(list("abcd"), 600, p=[0.6, 0.3, 0.07, 0.03])
    return veil.anonymize(
        pa.table({"age": ages, "town": towns}), quasi_identifiers={"age": AGES, "town": h.suppression()},
        models=KAnonymity(5), quality=Loss(factor=0.0), suppression_limit=0.9, person=None,
    ).local_recoding(FastIterative(factor=None))  # fmt: skip


@pytest.mark.parametrize("exact", [False, True])
def test_cells_are_spread_over_one_level_and_the_input_is_for_the_data_holder(release, exact):
    outcome = release.outcome
    facts = {each["column"]: each for each in Findings(outcome, exact=exact).distributions}["age"]
    assert facts["level"] == 1  # eight labels; forty values are too many
    rows = AGES.to_rows()
    expected, certain, blank, estimated = Counter(), set(), 0, 0
    for text, hidden in zip(outcome.table["age"].to_pylist(), outcome.by_records.suppressed, strict=True):
        above = [row[1] for row in rows if text in row]
        if hidden:
            continue
        if len(above) == 40:
            blank += 1
            continue
        estimated += len(set(above)) > 1
        certain |= set(above) if len(set(above)) == 1 else set()
        for label in above:
            expected[label] += 1 / len(above)
    listed = dict(zip(facts["values"], facts["after"], strict=True))
    assert listed.pop("*", 0) == blank
    assert list(listed) == [label for label in dict.fromkeys(row[1] for row in rows) if label in certain]
    assert all(abs(count - expected[label]) <= 1 for label, count in listed.items())
    assert facts["estimated"] == estimated > 0
    assert sum(facts["after"]) + facts["others_after"] + facts["hidden_after"] == release.records
    before = Counter(f"{age // 5 * 5}+" for age in outcome.original["age"].to_pylist())
    if exact:
        assert dict(zip(facts["values"], facts["before"], strict=True)) | {"*": 0} == {
            label: before[label] for label in listed
        } | {"*": 0}
        assert sum(facts["before"]) + facts["others_before"] == release.records
    else:
        assert facts["before"] is None


def test_associations_do_not_come_from_being_generalized_together(release):
    """Age and town are independent; labels of both are coarse in the same records."""
    facts = Findings(release.outcome, exact=True).associations
    assert facts["before"][0][1] <= 0.1
    assert facts["after"][0][1] <= 0.15


def test_reports_say_which_columns_are_estimated(release, tmp_path):
    for language in ("en", "de"):
        page = release.report(tmp_path / f"{language}.html", about={"language": language}).read_text()
        assert ("Labels of several levels" if language == "en" else "Labels mehrerer Stufen") in page
    assert release.plot.distribution("age").axes
    assert release.report(tmp_path / "all.html", for_the_data_holder=True).exists()
