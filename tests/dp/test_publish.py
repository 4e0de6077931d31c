"""Releases by SafePub: what is in them, what is not, and what is refused."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.stats import binomtest

import veil
from support.dp import definitions
from support.publishing import publish
from support.realdata import hierarchies as real_hierarchies
from support.realdata import needs_data, source
from support.refusals import refused
from veil import quality
from veil.api.release import Release
from veil.base.randomness import Randomness
from veil.dp.accountant import Accountant, fingerprint
from veil.dp.publish import safepub_of
from veil.dp.safepub import SafePub
from veil.errors import BudgetError, HierarchyError, InputError, NoSolutionError, PlanError
from veil.hierarchies import (
    auto,
    categories,
    identity,
    intervals,
    ordering,
    priority,
    redaction,
    suppression,
)
from veil.hierarchies import table as listed
from veil.models import DeltaPresence, DistinctLDiversity, KAnonymity
from veil.plan.plan import Plan
from veil.tables import read

AGE = listed([[str(age), f"{age // 20 * 20}-{age // 20 * 20 + 19}", "*"] for age in range(100)])
SEX = listed([["f", "*"], ["m", "*"]])
SEED = Randomness.for_testing


def people(rows: int = 3000) -> pa.Table:
    rng = np.random.default_rng(5)
    ages = np.minimum(99, rng.integers(0, 60, rows) + rng.integers(0, 60, rows))
    return pa.table({"age": ages, "sex": pa.array(["f", "m"]).take(pa.array(rng.integers(0, 2, rows)))})


def plan_with(*models: Any, **options: Any) -> Plan:
    return Plan({"age": AGE, "sex": SEX}, models or (SafePub(1.0, 1e-4),), **options, person=None)


def released(table: Any, *models: Any, seed: int | None = 3, **options: Any) -> Release:
    randomness = None if seed is None else SEED(seed)
    return publish(read(table), plan_with(*models, **options), randomness=randomness)


def test_a_release_holds_only_generalized_records_of_large_classes():
    table = people()
    release = released(table)
    k = release.search.model.parameters().k
    assert release.search.model.delta == 1e-4
    times = Counter(zip(*(column.to_pylist() for column in release.arrow.columns), strict=True))
    assert min(times.values()) >= k
    assert release.verification.holds
    assert release.arrow.num_rows == release.records - release.suppressed < table.num_rows
    assert release.transformation["age"] in (1, 2)
    levels = tuple(release.transformation.values())
    assert levels in release.search.walk.scores
    # Every row is the generalization of a record, no more often than there are such records.
    rows = list(zip(*(map(str, column.to_pylist()) for column in table.columns), strict=True))
    all_ = Counter(definitions.generalize(rows, [AGE.to_rows(), SEX.to_rows()], levels))
    assert not times - all_


def test_rows_come_in_random_order_and_without_an_index():
    """Otherwise the place of a row would tell who it is."""
    frame = people().to_pandas().sort_values(["age", "sex"])
    assert not frame.index.equals(pd.RangeIndex(len(frame)))
    release = released(frame, SafePub(1.0, 1e-4, generalization={"age": 1, "sex": 0}))
    assert isinstance(release.table, pd.DataFrame)
    assert release.table.index.equals(pd.RangeIndex(len(release.table)))
    shown = release.table["age"].tolist()
    assert shown != sorted(shown)
    again = (
        released(frame, SafePub(1.0, 1e-4, generalization={"age": 1, "sex": 0}), seed=4).table["age"].tolist()
    )
    assert again[:100] != shown[:100]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "file"])
def test_the_release_is_the_kind_of_table_that_came_in(kind, tmp_path):
    table = people()
    given: Any = table
    if kind == "pandas":
        given = table.to_pandas()
    elif kind == "polars":
        given = pl.from_arrow(table)
    elif kind == "file":
        given = tmp_path / "people.csv"
        pl.from_arrow(table).write_csv(given)  # type: ignore[union-attr]
    release = released(given, SafePub(1.0, 1e-4, generalization={"age": 1, "sex": 0}))
    expected = {"pandas": pd.DataFrame, "polars": pl.DataFrame}.get(kind, pa.Table)
    assert isinstance(release.table, expected)
    assert len(release.table) == release.arrow.num_rows
    release.save(tmp_path / "release.csv")
    assert read(tmp_path / "release.csv").table.num_rows == release.arrow.num_rows


def test_categories_that_are_not_released_do_not_show():
    """A dtype that lists all values of the table would tell which of them occur."""
    table = people()
    rare = table["sex"].combine_chunks().to_pylist()
    rare[7] = "x"
    sex = listed([["f", "*"], ["m", "*"], ["x", "*"]])
    frame = pd.DataFrame({"sex": pd.Categorical(rare)})
    polars = pl.DataFrame({"sex": pl.Series(rare, dtype=pl.Categorical)})
    arrow = pa.table({"sex": pa.array(rare).dictionary_encode()})
    plan = Plan({"sex": sex}, SafePub(1.0, 1e-4, generalization={"sex": 0}), person=None)
    for each in (frame, polars, arrow):
        shown = publish(read(each), plan, randomness=SEED(1)).table
        assert "x" not in repr(getattr(shown["sex"], "dtype", getattr(shown["sex"], "type", "")))
        if isinstance(shown, pl.DataFrame) and shown["sex"].dtype == pl.Categorical:
            assert "x" not in shown["sex"].cat.get_categories().to_list()


def test_suppressed_rows_go_whatever_the_plan_says():
    """Blank rows would tell how many records were drawn."""
    release = released(
        people(), SafePub(1.0, 1e-4, generalization={"age": 0, "sex": 0}), suppressed_rows="blank"
    )
    assert release.suppressed > 0
    assert release.arrow.num_rows == release.records - release.suppressed
    assert release.arrow.column_names == ["age", "sex"]
    assert release.arrow.schema.metadata is None


def test_a_table_of_which_nothing_can_be_shown_gives_an_empty_release():
    """Not an error: that would tell how many records were drawn."""
    model = SafePub(1.0, 1e-4, generalization={"age": 0, "sex": 0})
    k = model.parameters().k
    release = released(people(k), model)
    assert release.records < k
    assert release.table.num_rows == 0
    assert release.verification.holds
    none = SafePub("0.001", "0.99", generalization={"age": 0, "sex": 0})
    assert released(people(3), none).table.num_rows == 0  # nobody is drawn at all
    few = released(people(k - 1), model)  # nor is it an error that there are fewer than k
    assert few.table.num_rows == 0
    assert few.verification.holds


def test_everything_suppressed_is_still_a_release():
    release = released(people(), SafePub(1.0, 1e-4, generalization={"age": 2, "sex": 1}))
    assert set(release.arrow["age"].to_pylist()) == {"*"}
    assert release.arrow.num_rows == release.records
    assert release.verification.holds


def test_identifying_columns_go_and_others_may_be_dropped():
    table = people().append_column("name", pa.array([str(i) for i in range(3000)]))
    assert released(table, identifying=["name"]).arrow.column_names == ["age", "sex"]
    assert released(table, others="drop").arrow.column_names == ["age", "sex"]


def test_a_seed_marks_the_release_as_not_private():
    release = released(people())
    assert not release.is_private
    assert release.statement.startswith("NOT PRIVATE: drawn from a seed")
    assert released(people()).arrow.equals(release.arrow)
    private = released(people(), seed=None)
    assert private.is_private
    assert private.statement == SafePub(1.0, 1e-4).statement()
    published = released(people(), SafePub(1.0, 1e-4, final="as_published"), seed=None)
    assert not published.is_private
    assert "NOT PROVEN" in published.statement
    fixed = released(
        people(), SafePub(1.0, 1e-4, generalization={"age": 1, "sex": 0}, final="as_published"), seed=None
    )
    assert fixed.is_private
    assert fixed.search.walk is None


def test_an_accountant_pays_before_anything_is_drawn():
    account = Accountant(1.5, 1e-3)
    plan, table = plan_with(SafePub(1.0, 1e-4)), read(people())
    publish(table, plan, accountant=account)
    assert str(account.remaining) == "epsilon = 0.5, delta = 0.0009"
    with refused(BudgetError, "cost epsilon = 1"):
        publish(table, plan, accountant=account)
    with refused(PlanError, "privacy cost", "unknown"):
        publish(table, plan_with(SafePub(0.2, 1e-4, final="as_published")), accountant=account)
    with refused(PlanError, "no score function"):
        publish(table, plan_with(SafePub(0.2, 1e-4), quality="height"), accountant=account)
    assert len(account.ledger) == 1


def test_the_account_of_another_data_set_is_refused(tmp_path):
    """Nothing is drawn, and nothing spent."""
    file, other = tmp_path / "people.csv", tmp_path / "other.csv"
    pl.from_arrow(people()).write_csv(file)  # type: ignore[union-attr]
    pl.from_arrow(people(2999)).write_csv(other)  # type: ignore[union-attr]
    account = Accountant.create(tmp_path / "b.json", 3, 1e-3, fingerprint=fingerprint(file))
    options: dict[str, Any] = {"plan": plan_with(), "accountant": account}
    for given in (other, pl.read_csv(file)):
        with refused(PlanError, "budget", "the data set", "file or frame"):
            veil.anonymize(given, **options)
    with refused(PlanError, "budget", "the data set"):
        veil.anonymize(other, engine="duckdb", **options)
    assert not account.ledger
    veil.anonymize(file, **options)
    veil.anonymize(file, engine="duckdb", **options)
    assert len(account.ledger) == 2
    frame = pl.read_csv(file)
    account = Accountant.create(tmp_path / "f.json", 3, 1e-3, fingerprint=fingerprint(frame))
    veil.anonymize(frame, plan_with(), accountant=account)
    veil.anonymize(frame.to_arrow(), plan_with(), accountant=account)
    assert len(account.ledger) == 2


def test_a_sample_that_was_drawn_before_is_declared(tmp_path):
    """Everybody is published who is in a class of k, and the release is the only one."""
    model = SafePub(1, 1e-6, generalization={"age": 1, "sex": 0}, acquisition_sampling=0.1)
    table = people(400)
    account = Accountant(5, 1e-3)
    release = publish(read(table), plan_with(model), accountant=account)
    assert release.is_private
    assert release.records == 400  # nothing needs to be drawn
    rows = list(zip(*(map(str, column.to_pylist()) for column in table.columns), strict=True))
    times = Counter(definitions.generalize(rows, [AGE.to_rows(), SEX.to_rows()], (1, 0)))
    shown = Counter(zip(*(column.to_pylist() for column in release.arrow.columns), strict=True))
    assert shown == Counter({record: n for record, n in times.items() if n >= 9})
    assert release.arrow["age"].to_pylist() != sorted(release.arrow["age"].to_pylist())
    with refused(BudgetError, "the only one"):
        publish(read(table), plan_with(SafePub(1, 1e-6)), accountant=account)
    said = "everybody came into it with a probability of 0.1, by a draw of their own, nobody knows who did"
    assert said in release.statement
    certificate = json.loads(release.certificate(tmp_path / "c.json").read_text())
    assert certificate["promises"]["models"][0]["acquisition_sampling"] == 0.1
    assert certificate["found"][0]["promise"].endswith("random sample with a rate of 0.1, as declared")
    assert said in release.report(tmp_path / "r.html").read_text()


def test_a_large_sample_is_drawn_from_once_more():
    model = SafePub("ln(2)", 1e-6, generalization={"age": 1, "sex": 0}, acquisition_sampling="5/8")
    drawn = [publish(read(people()), plan_with(model)).records for _ in range(5)]
    assert model.parameters().drawn == Fraction(4, 5)
    assert binomtest(sum(drawn), 15_000, 0.8).pvalue > 1e-9


def test_there_is_no_order_of_the_input_and_no_key(tmp_path):
    with refused(PlanError, "SafePub", "random order"):
        released(people(), order="input")
    release = released(people())
    with refused(PlanError, "private release", "no origins"):
        _ = release.origins
    for folder in ("apart", "published"):
        (tmp_path / folder).mkdir()
    with refused(PlanError, "private release", "no origins"):
        release.save(tmp_path / "published" / "release.csv", origins=tmp_path / "apart" / "key.csv")
    assert not (tmp_path / "published" / "release.csv").exists()


def test_the_transformation_cannot_be_changed_afterwards():
    release = released(people())
    with refused(PlanError, "changed afterwards"):
        release.search.apply({"age": 0})
    with refused(PlanError, "changed afterwards"):
        release.local_recoding()


def test_microaggregated_columns_are_refused():
    """Their cells are means of the exact values of a class."""
    plan = Plan({"sex": SEX}, SafePub(1.0, 1e-4), microaggregated={"age": "mean"}, person=None)
    with refused(PlanError, "'age'", "microaggregated", "SafePub"):
        publish(read(people()), plan)


def test_bounds_on_levels_hold():
    release = released(people(), minimum_levels={"age": 1}, maximum_levels={"sex": 0})
    assert all(levels[0] >= 1 and levels[1] == 0 for levels in release.search.walk.scores)


def test_k_anonymity_can_be_asked_for_as_well():
    release = released(people(), SafePub(1.0, 1e-4), KAnonymity(150))
    times = Counter(zip(*(column.to_pylist() for column in release.arrow.columns), strict=True))
    assert min(times.values()) >= 150


def test_a_report_can_be_written(tmp_path):
    assert released(people()).report(tmp_path / "report.html").exists()


# --- what is refused ----------------------------------------------------------------------------------


def test_models_that_do_not_go_together_are_refused():
    subset = DeltaPresence(0.1, 0.5, subset=[0, 1, 2])
    with refused(PlanError, "DeltaPresence", "cannot be combined"):
        safepub_of(plan_with(SafePub(1.0, 1e-4), subset))
    with refused(PlanError, "only one SafePub"):
        safepub_of(plan_with(SafePub(1.0, 1e-4), SafePub(2.0, 1e-4)))
    diverse = Plan(
        {"age": AGE}, (SafePub(1.0, 1e-4), DistinctLDiversity("sex", 2)), sensitive=["sex"], person=None
    )
    with refused(PlanError, "DistinctLDiversity", "cannot be combined"):
        safepub_of(diverse)
    assert safepub_of(plan_with(KAnonymity(2))) is None
    with refused(PlanError, "no SafePub model"):
        released(people(), KAnonymity(2))


@pytest.mark.parametrize("role", [{"sensitive": ["sex"]}, {"insensitive": ["sex"]}, {"others": "keep"}])
def test_columns_without_a_hierarchy_are_refused(role):
    plan = Plan({"age": AGE}, SafePub(1.0, 1e-4), **role, person=None)
    with refused(PlanError, "'sex'", "published unchanged"):
        publish(read(people()), plan)
    with refused(HierarchyError, "needs a hierarchy", "not None"):
        Plan({"age": None}, SafePub(1.0, 1e-4), person=None)


@pytest.mark.parametrize(
    "builder",
    [intervals(5, 10), ordering(2, 3), redaction(), priority(), suppression(), identity(), auto(),
     categories({"0": "x"}, other="y")],
    ids=lambda each: type(each).__name__,
)  # fmt: skip
def test_hierarchies_that_are_made_from_the_data_are_refused(builder):
    plan = Plan({"age": builder, "sex": SEX}, SafePub(1.0, 1e-4), person=None)
    with refused(PlanError, "'age'", "from the data"):
        publish(read(people()), plan)


def test_hierarchies_that_are_written_down_are_taken(tmp_path):
    AGE.save(tmp_path / "age.csv")
    built = intervals(20).build(pa.array(range(100)), [1] * 100, "age")
    sex = categories({"f": "woman", "m": "man"})
    for age in (built, str(tmp_path / "age.csv"), {"kind": "table", "rows": AGE.to_rows()}):
        plan = Plan({"age": age, "sex": sex}, SafePub(1.0, 1e-4), person=None)
        assert publish(read(people()), plan, randomness=SEED(1)).arrow.num_rows > 0


@pytest.mark.parametrize("strange", [None, "?", "F ", ""])
def test_what_a_hierarchy_does_not_list_counts_as_missing(strange):
    """A refusal would tell of one record, and so would a hierarchy that grows by a value if somebody's is missing."""
    table = people()
    with_one = table.set_column(1, "sex", pa.array([strange, *table["sex"].to_pylist()[1:]]))
    with_many = table.set_column(1, "sex", pa.array([strange] * 1500 + table["sex"].to_pylist()[1500:]))
    fixed = SafePub(1.0, 1e-4, generalization={"age": 2, "sex": 0})
    assert set(released(with_one, fixed).arrow["sex"].to_pylist()) == {"f", "m"}
    assert set(released(with_many, fixed).arrow["sex"].to_pylist()) == {"f", "m", None}


@pytest.mark.parametrize(
    ("generalization", "message"),
    [
        ({"age": 1}, "should also give a level for column 'sex'"),
        ({"age": 1, "sxe": 0}, "names 'sxe', which is not a quasi-identifier. Did you mean 'sex'"),
        ({"age": 3, "sex": 0}, "should give column 'age' a level from 0 to 2, not 3"),
    ],
)
def test_a_fixed_scheme_that_does_not_fit_is_refused(generalization, message):
    with pytest.raises(PlanError, match=message):
        released(people(), SafePub(1.0, 1e-4, generalization=generalization))


def test_quality_models_without_a_score_function_are_refused():
    with refused(PlanError, "no score function", "Height"):
        released(people(), quality="height")
    # Nothing is searched: any will do.
    fixed, table = SafePub(1.0, 1e-4, generalization={"age": 1, "sex": 0}), people()
    table = table.append_column("ward", pa.array(["A", "B", "C"] * 1000))
    for measure in ("height", "kullback_leibler", quality.Classification(["ward"])):
        release = released(table, fixed, quality=measure, others="drop")
        assert release.arrow.column_names == ["age", "sex"]


def test_an_empty_table_is_refused_as_always():
    with pytest.raises(InputError, match="no rows"):
        released(people().slice(0, 0))


# --- real data ----------------------------------------------------------------------------------------

ADULT = [
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
]


@needs_data
@pytest.mark.realdata
@pytest.mark.parametrize(
    "measure",
    [
        "loss",
        "precision",
        "discernibility",
        "non_uniform_entropy",
        "average_class_size",
        quality.Classification(["salary-class"]),
    ],
    ids=str,
)
def test_adult_with_nine_attributes(measure):
    plan = Plan(
        real_hierarchies("adult", ADULT),
        SafePub(1.0, 1e-5, steps=40),
        quality=measure,
        maximum_levels={"salary-class": 0} if isinstance(measure, quality.Classification) else {},
        person=None,
    )
    release = publish(source("adult"), plan, randomness=SEED(1))
    assert release.search.model.parameters().k == 58
    assert len(release.search.walk.pivots) == 41
    assert release.arrow.num_rows > 8000
    assert release.verification.holds


# --- giving up --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"time_limit": 2.5}, "`time_limit` cannot end a private search: how far .* depends on the data"),
        ({"check_limit": 100}, "`check_limit` cannot end a private search.*fewer `steps`.*steps=100"),
    ],
)
def test_a_search_that_ends_by_a_limit_is_refused(options: dict[str, Any], told: str):
    with pytest.raises(PlanError, match=told):
        released(people(), **options)
    fixed = SafePub(
        1.0, 1e-4, generalization={"age": 1, "sex": 0}
    )  # where there is nothing to search, nothing ends it
    assert released(people(), fixed, **options).transformation == {"age": 1, "sex": 0}


@pytest.mark.parametrize("final", ["private", "as_published"])
def test_who_cancels_gets_nothing(final: Any):
    asked = 0

    def cancel() -> bool:
        nonlocal asked
        asked += 1
        return asked > 3

    with refused(NoSolutionError, "`steps`", "cancelled"):
        publish(read(people()), plan_with(SafePub(1.0, 1e-4, final=final)), randomness=SEED(3), cancel=cancel)
    assert asked == 4


def test_what_was_taken_from_the_account_for_a_cancelled_search_stays_taken():
    account = Accountant(2, 1e-3)
    with pytest.raises(NoSolutionError):
        publish(read(people()), plan_with(SafePub(1.5, 1e-4)), accountant=account, cancel=lambda: True)
    with pytest.raises(BudgetError):
        publish(read(people()), plan_with(SafePub(1.5, 1e-4)), accountant=account)


def test_not_cancelling_changes_nothing():
    left = publish(read(people()), plan_with(), randomness=SEED(3), cancel=lambda: False)
    assert left.search.walk == released(people(), seed=3).search.walk


def test_an_interrupted_search_ends_between_its_steps():
    """As by Ctrl-C: a search that would take minutes is over at once."""
    rng = np.random.default_rng(1)
    digits = listed([[str(a), str(a // 2), str(a // 4), str(a // 8), "*"] for a in range(20)])
    names = [f"q{j}" for j in range(10)]
    table = pa.table({name: rng.integers(0, 20, 2000) for name in names})
    plan = Plan(dict.fromkeys(names, digits), SafePub(1.0, 1e-4, steps=100_000), person=None)
    begun = threading.Event()
    asked = at_signal = 0

    def cancel() -> bool:
        nonlocal asked
        asked += 1
        begun.set()
        return False

    def interrupt() -> None:
        nonlocal at_signal
        begun.wait()
        os.kill(os.getpid(), signal.SIGINT)
        at_signal = asked

    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # which a worker may have changed
    other = threading.Thread(target=interrupt)
    try:
        other.start()
        with pytest.raises(KeyboardInterrupt):
            publish(read(table), plan, cancel=cancel)
    finally:
        begun.set()
        other.join()
        signal.signal(signal.SIGINT, before)
    assert 0 < asked <= at_signal + 1 < 100_000  # the step that was under way, and no other
