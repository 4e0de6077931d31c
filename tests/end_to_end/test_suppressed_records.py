"""What a recipient sees of suppressed records: nothing, or what is protected as a class of its own."""

from __future__ import annotations

import datetime as dt
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import veil
from support import realdata
from support.refusals import refused
from veil import KAnonymity, Plan, TCloseness, synthetic
from veil import hierarchies as h
from veil.errors import InputError, NoSolutionError, OutputError
from veil.models import BetaLikeness, DistinctLDiversity
from veil.recoding import FastIterative

SEVEN = {
    "age": [23, 24, 25, 31, 32, 33, 77],
    "zip": ["1", "1", "1", "2", "2", "2", "3"],
    "disease": ["flu", "cold", "gout", "flu", "cold", "gout", "HIV"],
    "visits": [1, 2, 3, 4, 5, 6, 7777],
}
PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": h.intervals(10), "zip": h.suppression()},
    "sensitive": ["disease"],
    "insensitive": ["visits"],
    "models": [KAnonymity(3), DistinctLDiversity("disease", 3)],
    "suppression_limit": 0.2,
}


@pytest.mark.parametrize("ending", ["csv", "parquet", "feather", "xlsx"])
def test_the_one_suppressed_record_shows_nothing_in_any_file(tmp_path: Path, ending: str) -> None:
    release = veil.anonymize(pd.DataFrame(SEVEN), **PLAN)
    path = tmp_path / f"release.{ending}"
    release.save(path)
    assert b"HIV" not in path.read_bytes()
    read = {"csv": pd.read_csv, "parquet": pd.read_parquet, "feather": pd.read_feather, "xlsx": pd.read_excel}
    table = read[ending](path)
    blank = table[table["age"] == "*"]
    assert len(blank) == release.suppressed == 1
    assert blank[["age", "zip", "disease"]].to_numpy().tolist() == [["*", "*", "*"]]
    assert blank["visits"].isna().all()
    assert 7777 not in set(table["visits"])


def test_local_recoding_blanks_the_same() -> None:
    made = veil.anonymize(pa.table(SEVEN), **PLAN).local_recoding(FastIterative(0.1))
    assert made.suppressed == 1
    assert [row for row in made.table.to_pylist() if row["age"] == "*"] == [
        {"age": "*", "zip": "*", "disease": "*", "visits": None}
    ]


def test_cells_that_would_tell_are_not_kept() -> None:
    with pytest.raises(NoSolutionError) as caught:
        veil.anonymize(pa.table(SEVEN), **PLAN, suppressed_rows="keep cells")
    assert "1 record" in str(caught.value)
    assert 'suppressed_rows="blank"' in str(caught.value)
    assert "HIV" not in str(caught.value)


def test_cells_that_are_protected_as_a_class_are_kept() -> None:
    more = {name: [*values, *values[-1:] * 2] for name, values in SEVEN.items()}
    more |= {"age": [*SEVEN["age"], 88, 99], "disease": [*SEVEN["disease"], "flu", "cold"]}
    release = veil.anonymize(
        pa.table(more), **PLAN | {"suppression_limit": 0.4}, suppressed_rows="keep cells"
    )
    assert release.suppressed == 3
    blank = [row for row in release.table.to_pylist() if row["age"] == "*"]
    assert {row["disease"] for row in blank} == {"HIV", "flu", "cold"}
    assert veil.verify(release.table, release.plan).holds
    recoded = release.local_recoding(FastIterative(0.1))
    assert veil.verify(recoded.table, recoded.plan).holds


def test_a_table_with_a_lone_blank_row_that_shows_a_diagnosis_is_broken() -> None:
    table = pa.table(SEVEN).set_column(0, "age", pa.array(["[20, 30["] * 3 + ["[30, 40["] * 3 + ["*"]))
    table = table.set_column(1, "zip", pa.array(["1"] * 3 + ["2"] * 3 + ["*"]))
    found = veil.verify(table, Plan(**PLAN))
    assert [each.holds for each in found.findings[:2]] == [False, False]
    assert veil.assess(table, quasi_identifiers=["age", "zip"], sensitive=["disease"]).risk.highest == 1


def test_a_lone_record_of_which_everything_is_missing_is_a_person() -> None:
    """The search and the check of the output count it alike, and nobody has to be suppressed for it at k = 1."""
    table = pa.table({"age": pa.array([30, 30, None], pa.int64())})
    one = veil.anonymize(table, quasi_identifiers={"age": h.suppression()}, models=KAnonymity(1))
    assert (one.classes, one.suppressed) == (2, 0)
    two = veil.anonymize(
        table,
        quasi_identifiers={"age": h.suppression()},
        models=KAnonymity(2),
        suppression_limit=0.4,
        maximum_levels={"age": 0},
    )
    assert (two.classes, two.suppressed) == (1, 1)


ADULT = ["sex", "age", "race", "marital-status", "education", "native-country", "workclass", "salary-class"]


@realdata.needs_data
@pytest.mark.parametrize("model", [TCloseness("occupation", 0.2), BetaLikeness("occupation", 1)], ids=str)
def test_nobody_who_was_suppressed_is_left_with_a_gain(model: Any) -> None:
    """Counted on the frame alone: all classes that show an occupation, those of blank rows among them."""
    adult = realdata.source("adult")
    release = veil.anonymize(
        adult,
        quasi_identifiers=realdata.hierarchies("adult", ADULT),
        sensitive=["occupation"],
        models=[KAnonymity(5), model],
        suppression_limit=0.1,
    )
    frame = release.table.to_pandas()
    assert release.suppressed > 0
    blank = frame[(frame[ADULT] == "*").all(axis=1)]
    assert len(blank) == release.suppressed
    assert (blank["occupation"] == "*").all()
    classes: dict[tuple[Any, ...], Counter[Any]] = defaultdict(Counter)
    for *labels, occupation in frame[[*ADULT, "occupation"]].drop(blank.index).itertuples(index=False):
        classes[tuple(labels)][occupation] += 1
    everybody = Counter(release.outcome.original["occupation"].to_pylist())
    total = everybody.total()
    for counts in classes.values():
        size = counts.total()
        assert size >= 5
        if isinstance(model, TCloseness):
            distance = sum(abs(counts[each] / size - many / total) for each, many in everybody.items()) / 2
            assert distance <= 0.2 + 1e-12
        else:
            assert all(many / size <= 2 * everybody[each] / total + 1e-12 for each, many in counts.items())


def test_few_suppressed_patients_are_blank_rows_and_nothing_else() -> None:
    """Of 20 hospitals, each with its own patients: fewer than k blank rows show nothing, so there is nothing to protect."""
    fewer = 0
    for seed in range(20):
        patients = synthetic.patients(100 + 45 * seed, seed=seed)
        release = veil.anonymize(
            patients,
            quasi_identifiers={"age": h.intervals(10, 20), "sex": h.suppression()},
            sensitive=["diagnosis"],
            others="drop",
            models=KAnonymity(5),
            suppression_limit=0.1,
        )
        frame = release.table.to_pandas()
        blank = frame[(frame[["age", "sex"]] == "*").all(axis=1)]
        assert (blank == "*").all(axis=None)
        fewer += 0 < len(blank) < 5
        shown = frame.drop(blank.index)
        assert shown.groupby(["age", "sex"]).size().min() >= 5
    assert fewer > 0


def test_cells_that_were_missing_stay_in_the_class_of_blank_rows(tmp_path: Path) -> None:
    table = pa.table({"q": [1] * 6 + [2, 3, 4], "o": [5] * 6 + [None, None, 7]})
    asked: dict[str, Any] = {
        "quasi_identifiers": {"q": h.suppression()},
        "insensitive": "o",
        "maximum_levels": {"q": 0},
    }
    release = veil.anonymize(
        table, **asked, models=KAnonymity(3), suppression_limit=0.5, suppressed_rows="keep cells"
    )
    assert not veil.verify(release.table, release.plan).broken
    assert not veil.verify(release.table, certificate=release.certificate(tmp_path / "c.json")).broken


def test_a_column_without_any_value_does_not_make_a_person_of_a_blank_row(tmp_path: Path) -> None:
    """A file does not keep the type of such a column."""
    table = pa.table({"q": ["a"] * 6 + ["b"], "died": pa.array([None] * 6 + [dt.date(2000, 1, 1)])})
    asked: dict[str, Any] = {"quasi_identifiers": {"q": h.suppression()}, "insensitive": "died"}
    release = veil.anonymize(table, **asked, models=KAnonymity(3), suppression_limit=0.5)
    release.save(tmp_path / "x.csv")
    certificate = release.certificate(tmp_path / "c.json")
    assert not veil.verify(tmp_path / "x.csv", certificate=certificate).broken
    assert not veil.verify(tmp_path / "x.csv", release.plan).broken


def test_an_index_is_part_of_what_is_checked() -> None:
    plan = Plan({"q": h.suppression()}, KAnonymity(2))
    with pytest.raises(InputError, match="index"):
        veil.verify(pd.DataFrame({"q": ["a", "a"]}, index=["Ann", "Bob"]), plan)


def test_neither_input_nor_key_is_written_over(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("q\n1\n1\n")
    release = veil.anonymize(
        tmp_path / "in.csv", quasi_identifiers={"q": h.suppression()}, models=KAnonymity(2)
    )
    for write in (release.certificate, release.report):
        with refused(OutputError, "its own input"):
            write(tmp_path / "in.csv")
    assert (tmp_path / "in.csv").read_text() == "q\n1\n1\n"
