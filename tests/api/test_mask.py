"""The verb: any frame in, the same kind out; steps in their order; secrets apart."""

from __future__ import annotations

import dataclasses
import stat
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from support.refusals import refused
from veil.api.mask import mask
from veil.api.release import Release
from veil.base.randomness import Randomness
from veil.errors import InputError, OutputError, PlanError, VerificationError
from veil.masking import (
    METHODS,
    KeyedPseudonyms,
    Method,
    Outcome,
    RandomPseudonyms,
    RandomSampling,
    RankSwapping,
    Rounding,
    TopCoding,
)
from veil.models.base import PrivacyModel
from veil.models.k_anonymity import KAnonymity
from veil.outcome.method import MaskedTable
from veil.published.finding import Finding, Verification
from veil.tables.rows import Rows

COLUMNS: dict[str, list[Any]] = {
    "name": ["Ada", "Bob", "Cem", "Dia"],
    "age": [23, 34, 38, 41],
    "income": [1.5, 2.5, 2.0, 9.0],
}


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_the_frame_that_comes_out_is_the_kind_that_went_in(make):
    made = mask(make(COLUMNS), [RankSwapping("age", 50), TopCoding("income", 5)], order="input")
    assert type(made.table) is type(make(COLUMNS))
    assert (
        sorted(made.table["age"].to_list() if make is not pa.table else made.table["age"].to_pylist())
        == COLUMNS["age"]
    )
    assert made.arrow.to_pydict()["income"] == [1.5, 2.5, 2.0, 5.0]


def test_rows_are_found_again_through_samples_and_the_frame_has_a_new_index():
    frame = pd.DataFrame(COLUMNS)
    made = mask(frame, [RandomSampling(size=3), Rounding("age", 10), RandomSampling(size=2)])
    assert made.table.index.tolist() == [0, 1]
    for origin, (_, row) in zip(made.outcome.origins, made.table.iterrows(), strict=True):
        assert row["name"] == frame.loc[origin, "name"]
        assert row["age"] == round(frame.loc[origin, "age"] / 10) * 10
    with refused(InputError, "index", "'name'"):
        mask(frame.set_index("name"), RandomSampling(size=3))


def test_categories_stay_categories():
    levels = pd.Categorical(
        ["low", "high", "mid", "low"], categories=["low", "mid", "high", "top"], ordered=True
    )
    made = mask(pd.DataFrame({"x": levels}), RankSwapping("x", 100)).table["x"]
    assert made.dtype == pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
    assert sorted(made) == ["high", "low", "low", "mid"]


def test_files_in_and_out(tmp_path):
    (tmp_path / "in.csv").write_text("age;zip\n23;02139\n34;02138\n")
    made = mask(tmp_path / "in.csv", Rounding("age", 10), order="input")
    made.save(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "age;zip\n20;02139\n30;02138\n"
    made.save(tmp_path / "out.parquet")
    assert pd.read_parquet(tmp_path / "out.parquet")["age"].tolist() == [20, 30]


def test_steps_tell_what_they_did():
    made = mask(pa.table(COLUMNS), [RandomSampling(size=3), RankSwapping("age", 50)])
    first, second = made.steps
    assert (first.method, second.method) == (RandomSampling(size=3), RankSwapping("age", 50))
    assert first.summary.records == (4, 3)
    assert second.summary.records == (3, 3)
    assert second.verification.holds
    assert "records kept: 3" in str(first)
    assert all(fact in str(second) for fact in ("holds:", "1 ranks"))
    assert repr(made) == "Release(4 records, 3 released, 3 classes, by RandomSampling, RankSwapping)"
    assert made.is_private


def test_a_seed_is_for_tests_and_says_so():
    first, second = (mask(pa.table(COLUMNS), RankSwapping("age", 100), for_testing_seed=1) for _ in range(2))
    assert first.arrow.equals(second.arrow)
    assert not first.is_private
    assert "NOT PRIVATE: made with a seed" in repr(first)


def test_secrets_go_into_a_folder_of_their_own(tmp_path):
    made = mask(pa.table(COLUMNS), [RandomPseudonyms("name"), RandomPseudonyms("age")])
    assert set(made.apart) == made.secret == {"pseudonyms", "pseudonyms 2"}
    assert "pseudonyms 2" in repr(made)
    secret, out = tmp_path / "secret", tmp_path / "published" / "out.csv"
    for folder in (secret, out.parent, out.parent / "below"):
        folder.mkdir()
    for beside in (out.parent, out.parent / "below"):
        with refused(OutputError, "pseudonyms", "pseudonyms 2", "not be published"):
            made.save(out, apart=beside)
    with refused(OutputError, "not a folder"):
        made.save(out, apart=tmp_path / "nowhere")
    with pytest.raises(OutputError):
        made.save(tmp_path / "nowhere" / "out.csv", apart=secret)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["below", "published", "secret"]
    written = made.save(out, apart=secret)
    assert written.name == str(out)
    assert [path.name for path in written.apart] == ["pseudonyms.csv", "pseudonyms-2.csv"]
    for path in written.apart:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    mapping = pd.read_csv(written.apart[0], dtype=str).set_index("value")["pseudonym"]
    assert mapping["Ada"] == made.arrow["name"][made.outcome.origins.tolist().index(0)].as_py()


class Broken(Method):
    """Promises what does not hold, and says that it does."""

    @property
    def column_names(self) -> tuple[str, ...]:
        return ("age",)

    @property
    def privacy_models(self) -> tuple[PrivacyModel, ...]:
        return (KAnonymity(2),)

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        return MaskedTable(rows.table)

    def mask(self, rows: Rows, randomness: Randomness) -> Outcome:
        found = Verification((Finding("2-anonymity", True, "k = 2"),))
        return dataclasses.replace(super().mask(rows, randomness), verification=found)


class Companion(Broken):
    """Gives a second table that is no secret, and one of the name of the release."""

    privacy_models = ()  # type: ignore[assignment]

    def _mask(self, rows: Rows, randomness: Randomness) -> MaskedTable:
        return MaskedTable(rows.table, apart={"Sensitive values": rows.table.select(["age"])})


def test_a_broken_promise_hands_out_nothing():
    with pytest.raises(VerificationError, match="BROKEN: 2-anonymity"):
        mask(pa.table(COLUMNS), Broken(), person=None)


def test_what_is_no_secret_may_go_beside_the_release(tmp_path):
    made = mask(pa.table(COLUMNS), Companion())
    assert made.verification.findings == ()
    assert made.verification.open_questions == (
        "what Companion does: Veil checks its privacy models, and nothing else",
    )
    assert made.secret == frozenset()
    made.save(tmp_path / "out.csv", apart=tmp_path)
    assert (tmp_path / "sensitive-values.csv").read_text().startswith("age\n")
    with refused(OutputError, "release is written"):
        made.save(tmp_path / "sensitive-values.csv", apart=tmp_path, overwrite=True)


def test_progress_is_told():
    told = []
    mask(pa.table(COLUMNS), Rounding("age", 10), progress=lambda *each: told.append(each[0]))
    assert told == ["reading the table", "step 1 of 1: Rounding", "step 1 of 1: measuring loss and risk"]


@pytest.mark.parametrize(
    ("source", "steps", "kind", "message"),
    [
        (pa.table(COLUMNS), [], PlanError, "there is no step"),
        (
            pa.table(COLUMNS),
            ["rank"],
            PlanError,
            "a step should be a masking method, such as RankSwapping.*not 'rank'",
        ),
        (
            pa.table(COLUMNS),
            Rounding("aeg", 5),
            PlanError,
            "the table has no column 'aeg'. Did you mean 'age'?",
        ),
        (pa.table({"age": pa.array([], pa.int64())}), Rounding("age", 5), InputError, "has no rows"),
        ([1, 2], Rounding("age", 5), InputError, "a list is not a table"),
    ],
)
def test_bad_input(source, steps, kind, message):
    with pytest.raises(kind, match=message):
        mask(source, steps)


def test_columns_that_cannot_be_compared_are_carried_along():
    table = pa.table({"age": [1, 12], "tags": pa.array([{"a": 1}, {"a": 2}]), "list": [[1], [2]]})
    made = mask(table, [Rounding("age", 10), RandomSampling(size=1)])
    assert made.arrow["tags"].type == table["tags"].type
    assert [each.column for each in made.steps[1].summary.columns] == ["age", "list"]


def test_two_hundred_thousand_records_are_summarized_on_a_sample():
    values = np.random.default_rng(22).normal(size=200_000)
    made = mask(pa.table({"x": values}), RankSwapping("x", 1))
    assert "250 of 200,000" in made.steps[0].summary.linkage.basis


def test_every_method_is_declared_and_documented():
    for method in METHODS.values():
        assert issubclass(method, Method)
        fields = method.__pydantic_fields__  # type: ignore[attr-defined]
        assert fields["kind"].default == method.__name__
        assert all(field.description for name, field in fields.items() if name != "kind"), method
        assert method.__doc__
    assert isinstance(
        mask(pa.table(COLUMNS), KeyedPseudonyms("name", key="9f2c71e05ad84b36c1f7a40d2e8b9563")), Release
    )
