"""One gate in front of every verb: whose rows they are is asked, and any answer is taken, on every surface."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import veil
import veil.policy
import veil.risk
from support.refusals import refused
from veil import KAnonymity, Plan
from veil.cli.app import app
from veil.errors import InputError, PlanError, VeilError
from veil.masking import LocalSuppression, Mondrian
from veil.plan.plan import ASK
from veil.risk.singling_out import SinglingOut
from veil.tables.spelling import Person, encode_people, fold_text, read_person

SPELLINGS = ["A17", "A17 ", " A17", "a17", "Ａ17"]
OTHERS = [f"B{number}" for number in range(7)]


def visits(keys: list[Any]) -> pa.Table:
    """A table with a row for each key; all rows look alike."""
    rows = len(keys)
    return pa.table(
        {"patient": keys, "age": [40] * rows, "ill": [("flu", "cold")[row % 2] for row in range(rows)]}
    )


SAME_KEY = visits(["A17"] * 5 + OTHERS)
"""Somebody has five rows."""
SPELLED = visits([*SPELLINGS, *OTHERS])
"""The same, typed in five ways."""

PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": "suppression"},
    "models": KAnonymity(2),
    "sensitive": ["ill"],
}


def _plan(person: str | None) -> Plan:
    return Plan(**PLAN, identifying=["patient"] if person in (None, ASK) else (), person=person)


def _anonymize(table: Any, person: str | None, **more: Any) -> Any:
    return veil.anonymize(
        table, **PLAN, identifying=["patient"] if person in (None, ASK) else (), person=person, **more
    )


def _on_duckdb(table: pa.Table, person: str | None) -> Any:
    import ibis

    return _anonymize(ibis.duckdb.connect().create_table("visits", table), person)


VERBS: dict[str, Callable[[pa.Table, str | None], Any]] = {
    "anonymize": _anonymize,
    "anonymize on DuckDB": _on_duckdb,
    "Mondrian": lambda table, person: veil.mask(table, Mondrian(["age"], [KAnonymity(2)]), person=person),
    "LocalSuppression": lambda table, person: veil.mask(table, LocalSuppression(["age"], k=2), person=person),
    "frontier": lambda table, person: veil.frontier(table, _plan(person), over={"k": [2]}),
    "relax": lambda table, person: veil.relax(table, _plan(person)),
    "promises": lambda table, person: veil.promises(table, _plan(person)),
    "analyze": lambda table, person: veil.risk.analyze(table, ["age"], person=person),
    "riskiest": lambda table, person: veil.risk.riskiest(table, ["age"], person=person),
    "certain_values": lambda table, person: veil.risk.certain_values(table, ["age"], ["ill"], person=person),
    "singled_out": lambda table, person: veil.risk.singled_out(table, ["age"], person=person),
    "SinglingOut": lambda table, person: SinglingOut(table)(["age"], person=person),
    "wildcard_risk": lambda table, person: veil.risk.wildcard_risk(table, ["age"], person=person),
    "attribute_risks": lambda table, person: veil.risk.attribute_risks(table, ["age"], person=person),
    "suda": lambda table, person: veil.risk.suda(table, ["age"], person=person),
    "try_attacks": lambda table, person: veil.risk.try_attacks(
        table, table, table.drop_columns(["patient"]), ["age"], person=person
    ),
}
"""What counts people, if it is told who they are."""

ROWS_ONLY: dict[str, Callable[[pa.Table, str | None], Any]] = {
    "individual_risk": lambda table, person: veil.risk.individual_risk(table, ["age"], person=person),
    "linkage_experiment": lambda table, person: veil.risk.linkage_experiment(
        table, table, ["age"], person=person
    ),
}
"""What can only speak of tables in which every row is a person."""


@pytest.mark.parametrize("table", [SAME_KEY, SPELLED], ids=["same key", "spellings"])
@pytest.mark.parametrize("verb", [*VERBS, *ROWS_ONLY])
def test_no_verb_takes_several_rows_of_a_person_without_a_word(verb: str, table: pa.Table) -> None:
    with refused(PlanError, "the same people", "5 rows"):
        (VERBS | ROWS_ONLY)[verb](table, ASK)


@pytest.mark.parametrize("verb", [*VERBS, *ROWS_ONLY])
def test_every_verb_believes_that_rows_are_different_people(verb: str) -> None:
    (VERBS | ROWS_ONLY)[verb](SPELLED, None)


@pytest.mark.parametrize("verb", VERBS)
def test_with_a_column_of_people_spellings_are_a_question_with_two_answers(verb: str) -> None:
    with refused(InputError, "'A17'", "in blanks", "=folded", "=as written"):
        VERBS[verb](SPELLED, "patient")
    VERBS[verb](SPELLED, "patient=as written")
    VERBS[verb](SPELLED, "patient=folded")


@pytest.mark.parametrize("verb", ["anonymize", "anonymize on DuckDB", "Mondrian"])
def test_five_spellings_are_one_person_or_five(verb: str) -> None:
    table = visits(SPELLINGS)
    VERBS[verb](table, "patient=as written")
    with pytest.raises(VeilError):  # of one person there is no 2-anonymous release
        VERBS[verb](table, "patient=folded")
    assert veil.risk.analyze(table, ["age"], person="patient=folded").attackers.prosecutor.highest == 1
    assert veil.risk.analyze(table, ["age"], person="patient=as written").attackers.prosecutor.highest == 0.2


@pytest.mark.parametrize("table", [SAME_KEY, SPELLED], ids=["same key", "spellings"])
def test_assess_and_identify_tell_the_data_holder(table: pa.Table, tmp_path: Path) -> None:
    found = veil.assess(table, quasi_identifiers="age")
    assert "5 rows share" in found.notes[0]
    assert ("'A17 '" in found.notes[0]) == (table is SPELLED)
    assert not veil.assess(table, quasi_identifiers="age", person=None).notes
    pa.csv.write_csv(table, tmp_path / "visits.csv")
    shown = CliRunner().invoke(app, ["identify", str(tmp_path / "visits.csv"), "--json"])
    assert '"most": 5' in shown.stdout


@pytest.mark.parametrize("table", [SAME_KEY, SPELLED], ids=["same key", "spellings"])
@pytest.mark.parametrize("engine", ["memory", "duckdb"])
@pytest.mark.parametrize("verb", ["anonymize", "risk", "mask"])
def test_the_command_line_asks_and_takes_answers(
    table: pa.Table, engine: str, verb: str, tmp_path: Path
) -> None:
    path, out = tmp_path / "visits.csv", tmp_path / "out.csv"
    pa.csv.write_csv(table, path)
    told = {
        "anonymize": [
            "--qi",
            "age=suppression",
            "--model",
            "k-anonymity:2",
            "--others",
            "drop",
            "-o",
            str(out),
        ],
        "risk": ["--qi", "age"],
        "mask": ["--step", "local-suppression:age,k=2", "-o", str(out)],
    }[verb]
    words = [verb, str(path), *told, *([] if verb == "mask" else ["--engine", engine])]

    def run(*more: str) -> Any:
        out.unlink(missing_ok=True)
        return CliRunner().invoke(app, [*words, *more])

    asked = run()
    assert asked.exit_code
    assert "the same people" in " ".join(asked.output.split())
    assert run("--person", "null").exit_code == 0
    again = run("--person", "patient")
    if table is SPELLED:
        assert "differ in blanks" in " ".join(again.output.split())
        assert run("--person", "patient=as written").exit_code == 0
    assert run("--person", "patient=folded").exit_code == 0


def test_every_parameter_that_names_people_asks_by_default() -> None:
    """Whoever adds a verb and forgets the gate is told here."""
    verbs = [getattr(room, name) for room in (veil, veil.risk) for name in room.__all__] + [veil.policy.apply]
    exempt = {
        "Session",
        "private_table",
        "intersection",
    }  # private ones declare people; overlaps compare releases
    taken = 0
    for verb in verbs:
        if not inspect.isfunction(verb) or verb.__name__ in exempt:
            continue
        person = inspect.signature(verb).parameters.get("person")
        if person is not None:
            assert person.default == ASK, verb.__name__
            taken += 1
    assert taken >= 12


def test_an_answer_survives_recipes_and_code(tmp_path: Path) -> None:
    from veil.recipe import Recipe

    plan = _plan("patient=folded")
    Recipe.of(plan).save(tmp_path / "recipe.yaml")
    again = Recipe.read(tmp_path / "recipe.yaml").plan()
    for each in (plan, again):
        assert isinstance(each.person, Person)
        assert each.person == "patient"
        assert each.person.spelling == "folded"
    assert "person='patient=folded'" in repr(plan)


def test_pseudonyms_go_with_people_and_not_with_spellings() -> None:
    keys = [*SPELLINGS, "B1", "B1 ", "C1", "C2"]
    for place in ("memory", "duckdb"):
        table: Any = visits(keys)
        if place == "duckdb":
            import ibis

            table = ibis.duckdb.connect().create_table("visits", table)
        release = veil.anonymize(
            table,
            quasi_identifiers={"age": "suppression"},
            models=KAnonymity(1),
            sensitive=["ill"],
            person="patient=folded",
            knows="all rows",
            identifying={"patient": "pseudonym"},
        )
        assert veil.verify(release).holds
        shown = release.table if place == "memory" else release.table.to_pyarrow()
        counts = sorted(np.unique(shown["patient"].to_pylist(), return_counts=True)[1].tolist())
        assert counts == [1, 1, 2, 5]


def test_several_tables_meet_by_folded_keys() -> None:
    people = pa.table({"patient": ["A17", "B1", "C2"], "age": [40, 40, 40]})
    more = pa.table({"patient": ["a17 ", "b1", "C2"], "ill": ["flu", "cold", "flu"]})
    plan: dict[str, Any] = {
        "quasi_identifiers": {"age": "suppression"},
        "models": KAnonymity(3),
        "sensitive": ["ill"],
    }
    with refused(InputError, "'A17'", "'a17 '"):
        veil.anonymize({"people": people, "more": more}, **plan, person="patient")
    release = veil.anonymize({"people": people, "more": more}, **plan, person="patient=folded")
    assert veil.verify(release).holds
    shown = [sorted(set(table["patient"].to_pylist())) for table in release.tables.values()]
    assert shown[0] == shown[1]


@settings(max_examples=300)
@given(
    st.lists(
        st.builds(
            lambda key, before, after, change: before + change(key) + after,
            st.sampled_from(["a1", "b2", "ß3", "é4"]),
            st.sampled_from(["", " ", "\u00a0", "\ufeff"]),
            st.sampled_from(["", " ", "\u200b", "\t"]),
            st.sampled_from([str, str.upper, str.title, lambda key: key.replace("1", "１")]),
        ),
        min_size=1,
        max_size=12,
    )
)
def test_people_are_counted_as_a_slow_count_does(keys: list[str]) -> None:
    column = pa.chunked_array([keys])
    different, people = len(set(keys)), len({fold_text(key) for key in keys})
    assert len(encode_people(column, Person("id", "as written"))[0]) == different
    values, codes = encode_people(column, Person("id", "folded"))
    assert len(values) == people
    assert all(
        (fold_text(a) == fold_text(b)) == (i == j)
        for a, i in zip(keys, codes, strict=True)
        for b, j in zip(keys, codes, strict=True)
    )
    if people < different:
        with refused(InputError, "differ in blanks"):
            encode_people(column, "id")
    else:
        assert encode_people(column, "id")[1].tolist() == codes.tolist()
    repeated = veil.risk.find_repeats(pa.table({"patient_id": keys}))
    assert bool(repeated) == (people < len(keys))
    if repeated:
        assert (repeated[0].people, repeated[0].rows) == (people, len(keys))


def test_what_is_no_answer_is_a_name() -> None:
    assert read_person("a=b") == "a=b"
    assert not isinstance(read_person("a=b"), Person)
