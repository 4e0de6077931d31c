"""Mondrian: the same partition as the slow twin, no cut left undone, every model kept, bad input refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

import veil
from support import oracle, refusals
from support.masking import partition as twin
from support.masking.partition import Case, Column, classes_of, often
from veil import hierarchies as h
from veil import models as m
from veil.base.randomness import Randomness
from veil.base.references import relocate
from veil.errors import (
    HierarchyError,
    InputError,
    NoSolutionError,
    ParameterError,
    PlanError,
    VeilError,
    VerificationError,
)
from veil.masking.partition import mondrian
from veil.masking.partition.mondrian import Mondrian, partition
from veil.masking.partition.partitioning import Partitioning
from veil.models.subset import RowNumbers
from veil.outcome.outcome import Outcome
from veil.tables.rows import Rows
from veil.verification.outcome import verify_outcome

PATIENTS = pa.table(
    {
        "Age": [25, 25, 26, 27, 27, 28],
        "Sex": ["M", "F", "M", "M", "F", "M"],
        "Zipcode": [53711, 53712, 53711, 53710, 53712, 53711],
        "Disease": ["Flu", "Hepatitis", "Bronchitis", "Broken Arm", "AIDS", "Hang Nail"],
    }
)


def masked(table: pa.Table, *args: Any, **options: Any) -> Outcome:
    """Mask with the labels of the literature, unless others are asked for."""
    return Mondrian(*args, **{"labels": "intervals", **options}).mask(Rows.of(table), Randomness())


# --- worked example -------------------------------------------------------------------------------


def test_six_patients_of_lefevre_dewitt_and_ramakrishnan_2006() -> None:
    outcome = masked(PATIENTS, ["Zipcode", "Age"], m.KAnonymity(2))
    assert outcome.table["Age"].to_pylist() == [
        "[25, 26]", "[25, 27]", "[25, 26]", "[27, 28]", "[25, 27]", "[27, 28]",
    ]  # fmt: skip
    assert outcome.table["Zipcode"].to_pylist() == [
        "53711", "53712", "53711", "[53710, 53711]", "53712", "[53710, 53711]",
    ]  # fmt: skip
    assert outcome.table.column_names == PATIENTS.column_names
    assert outcome.table.select(["Sex", "Disease"]) == PATIENTS.select(["Sex", "Disease"])
    assert outcome.facts["classes"] == outcome.facts["partitions"] == 3
    assert outcome.facts["average class size"] == 2.0
    assert outcome.facts["discernibility"] == 12
    # Ages: two intervals of 2 and one of 3 of the 4 ages. Zip codes: 1, 1 and 2 of 3.
    age, zipcode = ((2 + 3 + 2) / 3 / 4 - 1 / 4) / (3 / 4), ((1 + 1 + 2) / 3 / 3 - 1 / 3) / (2 / 3)
    assert outcome.facts["loss"] == pytest.approx(((1 + age) * (1 + zipcode)) ** 0.5 - 1)
    assert [str(finding) for finding in verify_outcome(outcome).findings[:1]] == [
        "holds: 2-anonymity (found: k = 2)"
    ]


# --- against the twin -----------------------------------------------------------------------------


@settings(often, max_examples=300)
@given(twin.cases(), twin.promises(), st.booleans())
def test_the_partition_is_that_of_the_twin(case: Case, promise: Any, relaxed: bool) -> None:
    theirs, ours = promise
    rejects = case.rejects(theirs)
    try:
        work = Partitioning(Rows.of(case.table), case.hierarchies, ours, by_record=relaxed)
    except (NoSolutionError, PlanError):
        assert rejects(list(range(case.size)))
        return
    assert not rejects(list(range(case.size)))
    assert classes_of(work, relaxed) == set(map(frozenset, twin.mondrian(case, rejects, relaxed)))


@often
@given(twin.cases(), twin.promises(), st.booleans(), st.sampled_from(["intervals", "sets"]))
def test_every_model_holds_on_the_output_and_cells_cover_their_values(
    case: Case, promise: Any, relaxed: bool, numbers: Any
) -> None:
    theirs, ours = promise
    rejects = case.rejects(theirs)
    try:
        outcome = masked(case.table, case.hierarchies, ours, relaxed, labels=numbers)
    except VerificationError:
        assert relaxed or any(each.hierarchy is not None for each in case.columns)
        assert not all(model.monotone_generalization for model in ours)
        return
    except VeilError:
        assert rejects(list(range(case.size)))
        return
    found = twin.published_classes(outcome.table, case.names)
    assert not any(map(rejects, found))
    assert outcome.facts["classes"] == len(found)
    assert outcome.facts["discernibility"] == sum(len(rows) ** 2 for rows in found)
    expected = twin.mondrian(case, rejects, relaxed)
    for name, column in zip(case.names, case.columns, strict=True):
        cells = outcome.table[name].to_pylist()
        for rows in expected:
            assert {cells[row] for row in rows} == {label(column, rows, numbers)}


def label(column: Column, rows: list[int], numbers: str) -> str | None:
    if column.hierarchy is not None:
        found = twin.node(column, rows)[1]
        assert found is None or isinstance(found, str)
        return found
    values = [each for each in column.values if each in {column.cells[row] for row in rows}]
    texts = [
        h.identity().build(pa.array([each]), np.ones(1), "").labels[0][0]
        for each in values
        if each is not None
    ]
    if column.is_number and numbers == "intervals" and len(texts) > 1:
        texts = [f"[{texts[0]}, {texts[-1]}]"]
    texts += ["NULL"] * (None in values)
    return (
        (texts[0] if values != [None] else None) if len(texts) == 1 else f"{{{', '.join(map(str, texts))}}}"
    )


@often
@given(twin.cases(), st.integers(1, 4), st.booleans())
def test_no_allowable_cut_is_left(case: Case, k: int, relaxed: bool) -> None:
    if k > case.size:
        return
    work = Partitioning(Rows.of(case.table), case.hierarchies, [m.KAnonymity(k)], by_record=relaxed)
    for rows in map(sorted, classes_of(work, relaxed)):
        for column in case.columns:
            if len({column.cells[row] for row in rows}) == 1:
                continue
            if column.hierarchy is not None:
                assert min(map(len, twin.cut(column, rows, relaxed))) < k
            elif relaxed:
                assert len(rows) < 2 * k
            else:  # not only the median cut
                assert all(min(map(len, parts)) < k for parts in twin.cuts(column, rows))


@often
@given(twin.cases(), twin.promises(monotone=True))
def test_strict_classes_have_labels_of_their_own(case: Case, promise: Any) -> None:
    lines = Case([Column(each.cells) for each in case.columns], case.sensitive)
    try:
        outcome = masked(lines.table, lines.names, promise[1])
    except VeilError:
        return
    assert outcome.facts["classes"] == outcome.facts["partitions"]


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("models", [[m.KAnonymity(3)], [m.KAnonymity(2), m.TCloseness("s", 0.4)]])
def test_the_number_of_threads_does_not_matter(
    monkeypatch: pytest.MonkeyPatch, relaxed: bool, models: list[m.PrivacyModel]
) -> None:
    monkeypatch.setattr(mondrian, "WORTH_A_THREAD", 0)
    rng = np.random.default_rng(5)
    columns = {f"q{j}": rng.geometric(0.1, 3000) for j in range(3)} | {"s": rng.integers(0, 4, 3000)}
    columns["q3"] = rng.random(3000)  # more values than records in any class: several looks for a median
    table = pa.table(columns)
    names = dict.fromkeys(["q0", "q1", "q2", "q3"])
    alone, *others = (
        partition(
            Partitioning(Rows.of(table), names, models, by_record=relaxed), relaxed=relaxed, threads=threads
        )
        for threads in (1, 2, 3)
    )
    assert alone.begins.size > 50
    assert alone.ends[-1] == alone.order.size
    assert (alone.begins[1:] == alone.ends[:-1]).all()
    for each in others:
        assert all(map(np.array_equal, each, alone))


# --- merging of labels ----------------------------------------------------------------------------


def test_relaxed_classes_with_equal_labels_become_one() -> None:
    table = pa.table({"x": [1, 1, 1, 1, 1, 1, 1, 2]})
    outcome = masked(table, "x", m.KAnonymity(2), relaxed=True)
    assert outcome.table["x"].to_pylist() == ["1"] * 6 + ["[1, 2]"] * 2
    assert (outcome.facts["partitions"], outcome.facts["classes"]) == (3, 2)


def test_a_merged_class_that_violates_a_model_is_not_handed_out() -> None:
    # Of the ones, 32 hold four "a", which is enough, and 16 from the other half hold none, which is fine too. In all
    # 48 together they are too rare.
    values = [1] * 48 + [2] * 16
    secret = ["a"] * 4 + ["b"] * 44 + ["a"] * 16
    case = Case([Column(values)], {"S": secret})
    rejects = case.rejects([oracle.KAnonymity(16), oracle.DeltaDisclosure("S", 1.7)])
    parts = sorted(twin.mondrian(case, rejects, relaxed=True))
    assert parts == [list(range(32)), list(range(32, 48)), list(range(48, 64))]
    assert not any(map(rejects, parts))
    assert rejects(list(range(48)))
    models = [m.KAnonymity(16), m.DeltaDisclosure("S", 1.7)]
    assert not models[1].monotone_generalization
    with refusals.refused(VerificationError, "disclosure", "became one", "relaxed=False"):
        veil.mask(case.table, Mondrian("q0", models, relaxed=True, labels="intervals"), person=None)
    assert masked(case.table, "q0", models).facts["classes"] == 1


def test_loss_is_that_of_the_quality_model() -> None:
    rows = [("a", "x"), ("b", "x"), ("a", "y"), ("b", "y"), ("c", "x"), ("d", "y")]
    tables = [[["a", "A", "*"], ["b", "A", "*"], ["c", "C", "*"], ["d", "C", "*"]], [["x", "*"], ["y", "*"]]]
    case = Case([Column([row[j] for row in rows], tables[j]) for j in range(2)], {})
    outcome = masked(case.table, case.hierarchies, m.KAnonymity(6))
    problem = oracle.Problem(rows, tables)
    assert oracle.score(problem, oracle.Quality("Loss"), (2, 1)) == pytest.approx(outcome.facts["loss"]) == 1
    untouched = masked(case.table, case.hierarchies, m.KAnonymity(1))
    assert untouched.facts["loss"] == oracle.score(problem, oracle.Quality("Loss"), (0, 0)) == 0
    # Labels of one level only: the class of the quality model's node.
    column = Case([Column(["a", "b", "c", "d"] * 2, tables[0])], {})
    outcome = masked(column.table, column.hierarchies, m.KAnonymity(4))
    assert set(outcome.table["q0"].to_pylist()) == {"A", "C"}
    problem = oracle.Problem([(value,) for value in column.columns[0].cells], tables[:1])
    for name, fact in {
        "Loss": "loss",
        "AverageClassSize": "average class size",
        "Discernibility": "discernibility",
    }.items():
        assert outcome.facts[fact] == pytest.approx(oracle.score(problem, oracle.Quality(name), (1,)))


# --- bad input ------------------------------------------------------------------------------------


def refused(error: type[Exception], match: str, table: pa.Table, *args: Any, **options: Any) -> None:
    with pytest.raises(error, match=match):
        masked(table, *args, **options)


def test_bad_input_is_refused() -> None:
    refused(PlanError, "classes of 7 records, but the table has only 6", PATIENTS, ["Age"], m.KAnonymity(7))
    refused(PlanError, "no column 'age'. Did you mean 'Age'", PATIENTS, ["age"], m.KAnonymity(2))
    refused(InputError, "no rows", PATIENTS.slice(0, 0), ["Age"], m.KAnonymity(2))
    endless = pa.table({"x": [1.0, float("-inf")]})
    refused(InputError, "column 'x' holds -inf in row 2", endless, ["x"], m.KAnonymity(2))
    lists = pa.table({"x": [[1], [2]]})
    refused(InputError, "column 'x' holds values of type list", lists, ["x"], m.KAnonymity(2))
    several = [m.KAnonymity(2), m.DistinctLDiversity("Age", 2)]
    refused(PlanError, "'Age' cannot be both", PATIENTS, ["Age"], several)
    refused(PlanError, "no column 'Ill'", PATIENTS, ["Age"], m.DistinctLDiversity("Ill", 2))


def test_bad_parameters_are_refused() -> None:
    good = m.KAnonymity(2)
    bad: list[tuple[tuple[Any, ...], str]] = [
        ((), "`quasi_identifiers` of Mondrian is required"),
        ((["a"],), "`models` of Mondrian is required"),
        ((["a"], ()), "`models` of Mondrian .*at least 1 item"),
        (((), good), "`quasi_identifiers` of Mondrian .*at least 1 item"),
        ((["a", "a"], good), "names column 'a' twice"),
        ((5, good), "should be column names.*not 5"),
        (("a", 5), "models"),
        (("a", good, False, "median"), "`labels` of Mondrian should be 'public'"),
    ]
    for arguments, match in bad:
        with pytest.raises(ParameterError, match=match):
            Mondrian(*arguments)
    with refusals.refused(ParameterError, "`KAnonymity.k`", "not 0"):
        Mondrian("a", [{"kind": "KAnonymity", "k": 0}])  # type: ignore[list-item]
    with refusals.refused(HierarchyError, "not 5", "needs a hierarchy"):
        Mondrian({"a": 5}, m.KAnonymity(2))


@pytest.mark.parametrize(
    ("model", "match"),
    [
        (m.AverageReidentificationRisk(0.2), "judges all classes together"),
        (m.SampleUniqueness(0.2), "judges all classes together"),
        (m.PopulationUniqueness(0.1, 1000), "judges all classes together"),
        (m.SubsetKAnonymity(2, 1), "judges all classes together"),
        (m.Profitability(), "reads hierarchy labels of classes"),
        (m.Profitability("journalist"), "reads hierarchy labels of classes"),
        (m.DeltaPresence(0, 0.5, RowNumbers([0, 1])), "research subset"),
        (m.Inclusion(RowNumbers([0, 1])), "research subset"),
        (m.KMap(2, RowNumbers([0, 1])), "research subset"),
        (m.KMap(2), "subset"),
    ],
    ids=lambda each: type(each).__name__ if isinstance(each, m.PrivacyModel) else "",
)
def test_models_that_partitions_cannot_promise_are_refused(model: m.PrivacyModel, match: str) -> None:
    refused(PlanError, match, PATIENTS, ["Zipcode", "Age"], [m.KAnonymity(2), model])


def test_a_model_that_fails_on_the_whole_table_is_named() -> None:
    models = [m.KAnonymity(2), m.DistinctLDiversity("Sex", 2), m.RecursiveCLDiversity("Sex", 1.5, 2)]
    with refusals.refused(NoSolutionError, "one class", "RecursiveCLDiversity", "Sex") as caught:
        masked(PATIENTS, ["Age"], models)
    assert "DistinctLDiversity" not in str(caught.value)
    assert "KAnonymity" not in str(caught.value)


# --- recipes --------------------------------------------------------------------------------------


def test_what_is_written_down_is_read_back() -> None:
    hierarchy = h.table([["M", "*"], ["F", "*"]])
    method = Mondrian(
        {"Age": None, "Sex": hierarchy, "Zipcode": h.redaction()},
        [m.KAnonymity(2), m.TCloseness("Disease", 0.5)],
        relaxed=True,
    )
    adapter = TypeAdapter(Mondrian)
    written = adapter.dump_python(method, exclude_defaults=True, mode="json")
    assert written == {
        "quasi_identifiers": {
            "Age": None,
            "Sex": {"kind": "table", "rows": [["M", "*"], ["F", "*"]]},
            "Zipcode": {"kind": "redaction"},
        },
        "models": [{"kind": "KAnonymity", "k": 2}, {"kind": "TCloseness", "attribute": "Disease", "t": 0.5}],
        "relaxed": True,
    }
    again = adapter.validate_python(written)
    assert again.models == method.models
    table = PATIENTS.set_column(2, "Zipcode", PATIENTS["Zipcode"].cast(pa.string()))
    assert again.mask(Rows.of(table), Randomness()).table == method.mask(Rows.of(table), Randomness()).table
    assert adapter.json_schema()["properties"]["models"]["minItems"] == 1
    moved = relocate(
        Mondrian({"x": h.file("a.csv"), "y": None}, m.KAnonymity(2)), lambda path: f"folder/{path}"
    )
    assert moved.quasi_identifiers == {"x": h.file("folder/a.csv"), "y": None}
