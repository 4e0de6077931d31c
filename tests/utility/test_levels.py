"""Columns on one level: what becomes of finer and coarser cells, and of the promises."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.errors import ParameterError, PlanError
from veil.models import DistinctLDiversity, Profitability, TCloseness
from veil.published.table import Published
from veil.quality import Loss
from veil.recoding import FastIterative
from veil.tables.rows import Rows
from veil.utility import at_levels

AGES = h.table([[str(age), f"{age // 5 * 5}+", f"{age // 10}x", "*"] for age in range(20, 60)])
JOBS = h.table([[job, "white" if job < "d" else "blue", "*"] for job in "abcdef"])
ROWS = st.lists(
    st.tuples(st.integers(20, 59), st.sampled_from("abcdef"), st.sampled_from(["flu", "cold", "gout"])),
    min_size=6,
    max_size=40,
)


def recoded(rows, *models, **options):
    table = pa.table(
        {
            "age": [age for age, _, _ in rows],
            "job": [job for _, job, _ in rows],
            "illness": [each for _, _, each in rows],
        }
    )
    return veil.anonymize(
        table,
        quasi_identifiers={"age": AGES, "job": JOBS},
        sensitive="illness",
        models=models,
        suppression_limit=0.9,
        person=None,
        order="input",
        **options,
    ).local_recoding(FastIterative())


def covered(name: str, text: str) -> set[str]:
    rows = {"age": AGES, "job": JOBS}[name].to_rows()
    return {row[0] for row in rows if text in row}


def expected(name: str, text: str, level: int) -> str:
    """The label of a cell on a level, looked up value by value."""
    rows = {"age": AGES, "job": JOBS}[name].to_rows()
    above = {row[level] for row in rows if row[0] in covered(name, text)}
    return above.pop() if len(above) == 1 else "*"


@given(ROWS, st.integers(0, 3), st.integers(0, 2))
@settings(max_examples=60)
def test_cells_are_generalized_or_blanked_and_every_promise_is_kept(rows, age, job):
    models = KAnonymity(2), DistinctLDiversity("illness", 2)
    try:
        release = recoded(rows, *models)
    except (veil.errors.NoSolutionError, veil.errors.ImpossibleError):
        return
    result = release.at_levels({"age": age, "job": job})
    before, levels = release.outcome.table, {"age": age, "job": job}
    suppressed = release.outcome.suppressed_mask
    for name, column in zip(levels, result.columns, strict=True):
        old, new = (table[name].cast(pa.string()).to_pylist() for table in (before, result.table))
        wanted = [expected(name, text, levels[name]) for text in old]
        assert ["*" if text is None else text for text in new] == [
            "*" if hidden else text for text, hidden in zip(wanted, suppressed, strict=True)
        ]
        visible = [(a, b) for a, b, hidden in zip(old, wanted, suppressed, strict=True) if not hidden]
        roots = levels[name] == (3 if name == "age" else 2)
        assert column.coarser == (0 if roots else sum(b == "*" for _, b in visible))
        assert column.generalized == sum(a != b for a, b in visible if b != "*" or roots)
        assert column.records == len(visible)
    assert result.table["illness"].equals(before["illness"])
    published = Published(Rows.of(pa.table(result.table)), ["age", "job"], flag=release.outcome.flag)
    for model in models:
        assert model.verify(published).holds
    assert not result.not_promised


def test_coarser_cells_may_stay():
    after = pa.table({"age": ["20+", "2x", "31", "*"]})
    result = at_levels(after, {"age": 1}, coarser="keep", hierarchies={"age": AGES})
    assert result.table["age"].to_pylist() == ["20+", "2x", "30+", "*"]
    assert (result.columns[0].generalized, result.columns[0].coarser) == (1, 1)
    assert "1 of 3 cells generalized, 1 coarser" in str(result)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_frames_stay_frames_and_values_keep_their_type(kind):
    draws = np.random.default_rng(3)
    ages = np.minimum(20 + draws.geometric(0.2, 200), 59)
    frame = kind({"age": ages, "job": draws.choice(list("abcdef"), 200, p=[0.5, 0.3, 0.1, 0.05, 0.03, 0.02])})
    release = veil.anonymize(
        frame, quasi_identifiers={"age": AGES, "job": JOBS}, models=KAnonymity(2), suppression_limit=0.95,
        quality=Loss(factor=0.0), person=None, order="input",
    ).local_recoding(FastIterative())  # fmt: skip
    table = release.at_levels({"age": 0}).table
    assert isinstance(table, kind)
    numbers = pa.table({"age": release.at_levels({"age": 0}).table["age"]})["age"]
    assert pa.types.is_integer(numbers.type) or pa.types.is_floating(numbers.type)
    ages, seen = (
        list(frame["age"]),
        [None if each is None or each != each else each for each in numbers.to_pylist()],
    )
    assert all(each is None or each == age for each, age in zip(seen, ages, strict=True))
    assert any(each is not None for each in seen)
    assert seen.count(None) == release.at_levels({"age": 0}).columns[0].coarser + release.suppressed


def test_labels_from_the_data_name_published_values_only():
    draws = np.random.default_rng(4)
    table = pa.table({"age": draws.integers(20, 60, 80), "job": draws.choice(list("abcdef"), 80)})
    release = veil.anonymize(
        table, quasi_identifiers={"age": h.ordering(3, 9, label="interval"), "job": JOBS}, models=KAnonymity(4),
        suppression_limit=0.9, person=None, order="input",
    ).local_recoding(FastIterative())  # fmt: skip
    for level in range(3):
        result = release.at_levels({"age": level})
        assert "(not published)" not in set(map(str, result.table["age"].to_pylist()))


def test_models_that_a_union_may_break_are_named():
    rows = [(age, "a", illness) for age in (21, 23, 41, 43) for illness in ("flu", "cold", "gout")]
    release = recoded(rows, KAnonymity(2), TCloseness("illness", 0.5))
    assert release.at_levels({"age": 1}).not_promised == ()
    game = Profitability(no_attack=True, adversary_gain=8.0, cost=4.0)  # it reads labels
    result = recoded(rows, KAnonymity(2), game).at_levels({"age": 1})
    assert result.not_promised == (game,)
    assert "no longer promised: Profitability" in str(result)


def test_unusable_levels_are_refused():
    after = pa.table({"age": ["20+"], "job": ["a"]})
    with refused(ParameterError, "'age'", "from 0 to 3"):
        at_levels(after, {"age": 4}, hierarchies={"age": AGES})
    with refused(PlanError, "'job'", "no hierarchy"):
        at_levels(after, {"job": 1}, hierarchies={"age": AGES})
    with refused(ParameterError, "'drop'"):
        at_levels(after, {"age": 1}, coarser="drop", hierarchies={"age": AGES})
