"""Top-down specialization: the same labels as the slow twin, nothing left to specialize, bad input refused."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from support import oracle
from support.masking import partition as twin
from support.masking.partition import Case, Column, often
from veil import hierarchies as h
from veil import models as m
from veil.base.randomness import Randomness
from veil.base.references import relocate
from veil.errors import InputError, NoSolutionError, PlanError, VeilError, VerificationError
from veil.masking.partition.specialization import TopDownSpecialization
from veil.outcome.outcome import Outcome
from veil.tables.rows import Rows
from veil.verification.outcome import verify_outcome

JOBS = h.table(
    [
        ["engineer", "professional", "*"],
        ["lawyer", "professional", "*"],
        ["dancer", "artist", "*"],
        ["writer", "artist", "*"],
    ]
)
SEXES = h.table([["f", "*"], ["m", "*"]])


def masked(table: pa.Table, *args: Any, **options: Any) -> Outcome:
    return TopDownSpecialization(*args, **options).mask(Rows.of(table), Randomness())


# --- by hand --------------------------------------------------------------------------------------


def test_labels_of_one_column_may_stand_on_different_levels() -> None:
    jobs = ["engineer"] * 3 + ["lawyer"] * 3 + ["dancer", "writer", "writer"]
    outcome = masked(pa.table({"job": jobs}), {"job": JOBS}, m.KAnonymity(2))
    assert outcome.table["job"].to_pylist() == ["engineer"] * 3 + ["lawyer"] * 3 + ["artist"] * 3
    assert outcome.facts["specializations"] == 2
    assert outcome.facts["classes"] == 3
    assert [str(finding) for finding in verify_outcome(outcome).findings[:1]] == [
        "holds: 2-anonymity (found: k = 3)"
    ]


def test_a_target_decides_what_is_kept() -> None:
    # Only one of the two columns can be told apart. Sexes lose all, jobs a part; but those tell about the target.
    rows = [("engineer", "f", 1), ("lawyer", "m", 1), ("dancer", "f", 0), ("writer", "m", 0)] * 2
    table = pa.table({name: [row[i] for row in rows] for i, name in enumerate(["job", "sex", "well"])})
    columns = {"job": JOBS, "sex": SEXES}
    for_all = masked(table, columns, m.KAnonymity(4)).table
    assert set(for_all["job"].to_pylist()) == {"*"}
    assert set(for_all["sex"].to_pylist()) == {"f", "m"}
    for_target = masked(table, columns, m.KAnonymity(4), target="well").table
    assert set(for_target["job"].to_pylist()) == {"professional", "artist"}
    assert set(for_target["sex"].to_pylist()) == {"*"}


def test_a_step_that_was_refused_is_asked_for_again_if_the_model_is_not_monotone() -> None:
    # At first sexes are refused, as "v" is too rare among the five "f": one, with five in all nine. Once jobs are told
    # apart it is gone from most of their classes.
    jobs = [{"a": "lawyer", "b": "dancer", "c": "writer"}[each] for each in "cabbcaaca"]
    sexes = [{"a": "f", "b": "m"}[each] for each in "abaaabbba"]
    case = Case([Column(sexes, SEXES.to_rows()), Column(jobs, JOBS.to_rows())], {"S": list("vvuuuvvvu")})
    models = [m.KAnonymity(1), m.DeltaDisclosure("S", 1.33)]
    assert masked(case.table, case.hierarchies, models).table["q0"].to_pylist() == sexes


# --- against the twin -----------------------------------------------------------------------------


@settings(often, max_examples=200)
@given(twin.cases(trees=True, max_rows=18), twin.promises(), st.booleans())
def test_the_labels_are_those_of_the_twin(case: Case, promise: Any, targeted: bool) -> None:
    theirs, ours = promise
    rejects = case.rejects(theirs)
    target = case.sensitive["T"] if targeted else None
    whole = list(range(case.size))
    try:
        outcome = masked(case.table, case.hierarchies, ours, "T" if targeted else None)
    except VerificationError:
        assert not all(model.monotone_generalization for model in ours)
        cells = twin.specialization(case, rejects, target)
        assert any(map(rejects, twin.published_classes(pa.table(dict(enumerate_names(cells))), case.names)))
        return
    except VeilError:
        assert rejects(whole)
        return
    assert not rejects(whole)
    assert [outcome.table[name].to_pylist() for name in case.names] == twin.specialization(
        case, rejects, target
    )
    found = twin.published_classes(outcome.table, case.names)
    assert not any(map(rejects, found))
    assert outcome.facts["classes"] == len(found)


def enumerate_names(cells: list[list[Any]]) -> list[tuple[str, Any]]:
    return [(f"q{j}", pa.array(column, pa.string())) for j, column in enumerate(cells)]


@often
@given(twin.cases(trees=True), st.integers(1, 4))
def test_loss_is_that_of_the_quality_model_where_all_labels_stand_on_one_level(case: Case, k: int) -> None:
    # Two levels only, so that a column is either as it was or without information.
    flat = [Column(each.cells, [[row[0], "*"] for row in each.hierarchy or []]) for each in case.columns]
    case = Case(flat, case.sensitive)
    if k > case.size:
        return
    outcome = masked(case.table, case.hierarchies, m.KAnonymity(k))
    rows = list(zip(*(column.cells for column in flat), strict=True))
    problem = oracle.Problem(rows, [column.hierarchy or [] for column in flat])
    levels = tuple(
        int(outcome.table[name].to_pylist() != column.cells)
        for name, column in zip(case.names, flat, strict=True)
    )
    for quality, fact in {"Loss": "loss", "Discernibility": "discernibility"}.items():
        assert outcome.facts[fact] == pytest.approx(
            oracle.score(problem, oracle.Quality(quality), levels), abs=1e-9
        )


# --- bad input ------------------------------------------------------------------------------------


def test_bad_input_is_refused() -> None:
    table = pa.table({"job": ["lawyer", "dancer", "dancer"], "sex": ["f", "f", "m"]})
    jobs = {"job": JOBS}
    bad: list[tuple[type[VeilError], str, tuple[Any, ...]]] = [
        (PlanError, "classes of 4 records, but the table has only 3", (jobs, m.KAnonymity(4))),
        (PlanError, "no column 'jobs'. Did you mean 'job'", ({"jobs": JOBS}, m.KAnonymity(2))),
        (PlanError, "give column 'job' a hierarchy", (["job"], m.KAnonymity(2))),
        (PlanError, "no column 'six'. Did you mean 'sex'", (jobs, m.KAnonymity(2), "six")),
        (PlanError, "'job' cannot be both target and quasi-identifier", (jobs, m.KAnonymity(2), "job")),
        (PlanError, "judges all classes together", (jobs, m.SampleUniqueness(0.5))),
        (PlanError, "reads hierarchy labels", (jobs, m.Profitability())),
        (NoSolutionError, "violates RecursiveCLDiversity", (jobs, m.RecursiveCLDiversity("sex", 1.5, 2))),
        (PlanError, "job.*dancer", ({"job": h.table([["lawyer", "*"]])}, m.KAnonymity(2))),
    ]
    for error, match, arguments in bad:
        with pytest.raises(error, match=match):
            masked(table, *arguments)
    with pytest.raises(InputError, match="no rows"):
        masked(table.slice(0, 0), jobs, m.KAnonymity(2))


def test_a_constant_column_keeps_its_value() -> None:
    table = pa.table({"job": ["dancer"] * 3})
    outcome = masked(table, {"job": JOBS}, m.KAnonymity(3))
    assert outcome.table["job"].to_pylist() == ["dancer"] * 3
    assert outcome.facts["loss"] == 0


def test_what_is_written_down_is_read_back() -> None:
    method = TopDownSpecialization({"sex": SEXES}, [m.KAnonymity(2)], "well")
    adapter = TypeAdapter(TopDownSpecialization)
    written = adapter.dump_python(method, exclude_defaults=True, mode="json")
    assert written == {
        "quasi_identifiers": {"sex": {"kind": "table", "rows": [["f", "*"], ["m", "*"]]}},
        "models": [{"kind": "KAnonymity", "k": 2}],
        "target": "well",
    }
    table = pa.table({"sex": ["f", "f", "m"], "well": [1, 1, 0]})
    assert (
        adapter.validate_python(written).mask(Rows.of(table), Randomness()).table
        == method.mask(Rows.of(table), Randomness()).table
    )
    moved = relocate(
        TopDownSpecialization({"x": h.file("a.csv")}, m.KAnonymity(2)), lambda path: f"folder/{path}"
    )
    assert moved.quasi_identifiers == {"x": h.file("folder/a.csv")}
