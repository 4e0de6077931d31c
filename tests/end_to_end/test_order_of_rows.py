"""The order in which rows leave, read by somebody who knows how the input was sorted."""

from __future__ import annotations

import itertools
import stat
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import veil
from support import realdata
from support.cli import veil as command
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.dp import SafePub
from veil.errors import OutputError, ParameterError, PlanError
from veil.masking import Rounding
from veil.recoding import FastIterative

FRAMES: dict[str, Any] = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": h.intervals(100)},
    "insensitive": ["number"],
    "models": KAnonymity(1),
    "minimum_levels": {"age": 1},
}


def numbers(frame: Any) -> list[int]:
    return frame["number"].to_pylist() if isinstance(frame, pa.Table) else list(frame["number"])


@pytest.mark.slow
@pytest.mark.parametrize("way", ["anonymize", "local recoding", "mask"])
def test_every_order_is_as_likely(way: str) -> None:
    """All 6 orders of three rows, 600 times: each about 100 times (chi-squared below its 1 - 1e-9 quantile)."""
    people = pa.table({"age": [30, 41, 52], "number": [1, 2, 3]})
    release = veil.anonymize(people, **PLAN)
    found: Counter[tuple[int, ...]] = Counter()
    for _ in range(600):
        if way == "anonymize":
            made = release.search.apply(release.transformation)
        elif way == "local recoding":
            made = release.local_recoding(FastIterative(0.1))
        else:
            made = veil.mask(people, Rounding("age", 10))
        found[tuple(numbers(made.table))] += 1
    orders = list(itertools.permutations((1, 2, 3)))
    assert sum((found[each] - 100) ** 2 / 100 for each in orders) < 50
    assert set(found) == set(orders)


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("rows", ["blank", "drop"])
def test_the_key_leads_back_and_is_not_in_the_release(kind: str, rows: str) -> None:
    people = FRAMES[kind]({"age": [30, 31, 52, 99, 33, 34], "number": [1, 2, 3, 4, 5, 6]})
    release = veil.anonymize(
        people,
        **PLAN | {"quasi_identifiers": {"age": h.intervals(20)}, "models": KAnonymity(2)},
        suppression_limit=0.5,
        maximum_levels={"age": 1},
        suppressed_rows=rows,
    )
    key = release.origins
    assert type(key) is type(people)
    key = (
        key if isinstance(key, pa.Table) else pa.table(key if kind == "polars" else pa.Table.from_pandas(key))
    )
    assert key.column_names == ["release row", "input row"]
    shown = numbers(release.table)
    assert key["release row"].to_pylist() == list(range(len(shown)))
    for number, origin in zip(shown, key["input row"].to_pylist(), strict=True):
        assert release.suppressed_rows[origin] or number == origin + 1
    columns = release.table.column_names if kind == "pyarrow" else list(release.table.columns)
    assert columns == ["age", "number"]


def test_the_input_order_is_kept_on_request() -> None:
    people = pa.table({"age": list(range(90)), "number": list(range(90))})
    assert numbers(veil.anonymize(people, **PLAN, order="input").table) == list(range(90))
    assert numbers(veil.mask(people, Rounding("age", 10), order="input").table) == list(range(90))
    with refused(ParameterError, "`order`", "Plan", "'random' or 'input'"):
        veil.anonymize(people, **PLAN, order="sorted")
    with refused(ParameterError, "`order`", '"random" or "input"'):
        veil.mask(people, Rounding("age", 10), order="sorted")


def test_with_differential_privacy_the_order_is_always_random() -> None:
    sexes = h.table([["f", "*"], ["m", "*"]])
    people = pa.table({"sex": ["f"] * 500 + ["m"] * 500})
    with refused(PlanError, "SafePub", "random order"):
        veil.anonymize(
            people, quasi_identifiers={"sex": sexes}, models=SafePub(1, 1e-4), order="input", person=None
        )
    fixed = SafePub(1, 1e-4, generalization={"sex": 0})
    found = (
        veil.anonymize(people, quasi_identifiers={"sex": sexes}, models=fixed, person=None)
        .table["sex"]
        .to_pylist()
    )
    changes = sum(one != two for one, two in itertools.pairwise(found))
    assert changes > len(found) / 4  # sorted, there would be one


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "xlsx"])
def test_the_key_goes_to_another_folder_and_only_the_holder_reads_it(tmp_path: Path, ending: str) -> None:
    release = veil.anonymize(pa.table({"age": list(range(20)), "number": list(range(20))}), **PLAN)
    out = tmp_path / "published" / f"out.{ending}"
    for folder in (tmp_path / "mine", out.parent, out.parent / "below"):
        folder.mkdir()
    for beside in (out.parent, out.parent / "below", out.parent / "below" / ".." / "below"):
        with refused(OutputError, "origins", "not be published"):
            release.save(out, origins=beside / "key.csv")
    assert not list(tmp_path.rglob("*.*"))
    release.save(out, origins=tmp_path / "mine" / "key.csv")
    assert stat.S_IMODE((tmp_path / "mine" / "key.csv").stat().st_mode) == 0o600
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "feather": pd.read_feather, "xlsx": pd.read_excel}
    key = pd.read_csv(tmp_path / "mine" / "key.csv")
    assert read[ending](out)["number"].tolist() == key["input row"].tolist()


@pytest.mark.parametrize("verb", ["anonymize", "mask"])
def test_the_key_on_the_command_line(tmp_path: Path, verb: str) -> None:
    pd.DataFrame({"age": range(60), "number": range(60)}).to_csv(tmp_path / "in.csv", index=False)
    for folder in ("mine", "published"):
        (tmp_path / folder).mkdir()
    plan = ["--qi", "age=intervals:100", "--insensitive", "number", "--model", "k-anonymity:1"]
    plan = plan if verb == "anonymize" else ["--step", "rounding:age,base=10"]
    out, key = tmp_path / "published" / "out.csv", tmp_path / "mine" / "key.csv"
    ran = command(verb, tmp_path / "in.csv", *plan, "-o", out, "--origins", key, "-q")
    assert ran.code == 0, ran.err
    shown = pd.read_csv(out)["number"].tolist()
    assert shown == pd.read_csv(key)["input row"].tolist()
    assert shown != sorted(shown)
    ran = command(verb, tmp_path / "in.csv", *plan, "-o", out, "--order", "input", "-q", "--overwrite")
    assert ran.code == 0, ran.err
    assert pd.read_csv(out)["number"].tolist() == list(range(60))
    ran = command(
        verb, tmp_path / "in.csv", *plan, "-o", out, "--origins", out.parent / "key.csv", "-q", "--overwrite"
    )
    assert "origins of its rows" in ran.err


def neighbours_tell(shown: list[Any], truth: list[Any]) -> float:
    """The share of suppressed labels that the label before and the label after, if they agree, tell right."""
    right = guessed = 0
    for place, label in enumerate(shown):
        if label != "*" or not 0 < place < len(shown) - 1:
            continue
        before, after = shown[place - 1], shown[place + 1]
        if before == after != "*":
            guessed += 1
            right += truth[place] == before
    return right / guessed if guessed else 0.0


@realdata.needs_data
def test_neighbours_tell_nothing_of_suppressed_ages() -> None:
    """adult sorted by country and age: read off the neighbours, nearly all suppressed labels were right."""
    adult = (
        realdata.source("adult").table.to_pandas().sort_values(["native-country", "age"], ignore_index=True)
    )
    columns = ["sex", "age", "race"]
    plan = {
        "quasi_identifiers": realdata.hierarchies("adult", columns),
        "others": "drop",
        "models": KAnonymity(50),
        "suppression_limit": 0.2,
        "maximum_levels": {"age": 1},
        "minimum_levels": {"age": 1},
    }
    told = {}
    for order in ("input", "random"):
        release = veil.anonymize(pa.Table.from_pandas(adult, preserve_index=False), **plan, order=order)
        ages = release.outcome.hierarchies["age"]
        label = {row[0]: row[1] for row in ages.to_rows()}
        key = np.array(release.origins["input row"])
        truth = [label[str(age)] for age in adult["age"].to_numpy()[key]]
        told[order] = neighbours_tell(release.table["age"].to_pylist(), truth)
    assert told["input"] > 0.8
    assert told["random"] < 0.4
