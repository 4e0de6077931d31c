"""Results show themselves in notebooks: as tables, with a bar while one waits."""

from __future__ import annotations

import nbformat
import pyarrow as pa
import pytest
from nbclient import NotebookClient

import veil
from support.refusals import refused
from veil import KAnonymity, Release
from veil import hierarchies as h
from veil.errors import ParameterError, PlanError
from veil.synthetic import patients

TABLE = pa.table({"age": [21, 22, 23, 34, 35, 61], "<i>": list("ffmmff"), "ill": list("ababab")})


@pytest.fixture(scope="module")
def release() -> Release:
    return veil.anonymize(
        TABLE,
        quasi_identifiers={"age": h.intervals(20, 40), "<i>": "suppression"},
        sensitive="ill",
        models=KAnonymity(2),
        suppression_limit=0.2,
    )


def test_results_are_tables(release: Release) -> None:
    assert release.search is not None
    for result, told in (
        (release.risk(), '<td style="text-align:left">uniques</td>'),
        (release.utility(), "Information left"),
        (release.search.nodes(), "suppressed"),
        (release.search.level_costs(), "proven"),
        (veil.risk.propose_roles(TABLE), "Proposed role"),
        (veil.risk.analyze(TABLE, ["age"]), "prosecutor"),
        (veil.risk.individual_risk(TABLE, ["age"]), "highest risk of a record"),
        (release.concerns, "no model"),
        (
            veil.frontier(
                TABLE,
                quasi_identifiers={"age": "auto"},
                others="keep",
                models=KAnonymity(2),
                over={"k": [2, 9]},
            ),
            "needs classes of 9 records",
        ),
        (release.advice(time_limit=5), "kept"),
    ):
        shown = result._repr_html_()  # type: ignore[attr-defined]
        assert "<table>" in shown
        assert told in shown
        assert "<i>" not in shown
    assert release.risk() == tuple(release.risk())
    assert release.search.nodes()[:1] == [release.search.nodes()[0]]


def test_notes_quote_the_input_only_when_they_are_asked_for() -> None:
    jobs = pa.table({"job": ["nurse", "baker", "judge", "tailor", "farmer", "Baker"] + ["cook"] * 3})
    release = veil.anonymize(
        jobs, quasi_identifiers={"job": "auto"}, models=KAnonymity(3), suppression_limit=1
    )
    spelling, crude = release.notes
    assert "'Baker' and 'baker'" in spelling
    assert "known structure" in crude
    assert "release.notes" in release._repr_html_()
    assert "Baker" not in release._repr_html_() + repr(release)


def test_no_column_is_left_out_without_a_word() -> None:
    wide = pa.table({"age": [1, 1, 2, 2], **{f"q{i}": [1, 2, 1, 2] for i in range(40)}})
    made = veil.anonymize(
        wide, quasi_identifiers={"age": "suppression"}, others="keep", models=KAnonymity(2), person=None
    )
    shown = made._repr_html_()
    for told in (
        "40 more: &#x27;q0&#x27;, &#x27;q1&#x27;, &#x27;q2&#x27;, &#x27;q3&#x27;, &#x27;q4&#x27; and 35 more",
        "First rows of 4, first 20 columns of 41",
    ):
        assert told in shown


def test_roles_become_a_plan() -> None:
    table = patients(300)
    plan = veil.risk.propose_roles(table).plan()
    named = [name for columns in plan.values() for name in columns]
    assert sorted(named) == sorted(table.column_names)
    made = veil.anonymize(table, **plan, models=KAnonymity(5), suppression_limit=0.2, person=None)
    assert made.verification.holds


def test_pictures_say_their_names(release: Release) -> None:
    assert "class_sizes()" in repr(release.plot)
    with refused(ParameterError, "plot.risks()", "plot.class_sizes()"):
        release.plot()


def test_rows_stand_beside_what_they_were(release: Release) -> None:
    shown = release.beside(4)
    assert shown.column_names[:3] == ["row", "age before", "age after"]
    for name in ("<i>", "ill"):  # which stand there once where nothing has changed
        before = TABLE[name].take(shown["row"]).to_pylist()
        after = release.arrow[name].to_pylist()[:4]
        if before == after:
            assert shown[name].to_pylist() == after
        else:
            assert [shown[f"{name} {when}"].to_pylist() for when in ("before", "after")] == [before, after]
    frame = veil.anonymize(
        TABLE.to_pandas(), quasi_identifiers={"age": "suppression"}, others="keep", models=KAnonymity(2)
    ).beside(2)
    assert list(frame.columns) == ["row", "age before", "age after", "<i>", "ill"]
    for row in shown.to_pylist():
        assert row["age before"] == TABLE["age"][row["row"]].as_py()
    assert shown["age after"].to_pylist() == release.arrow["age"].to_pylist()[:4]
    private = pa.table({"id": [1, 1], "age": [3, 3]})
    several = veil.anonymize(
        {"a": private, "b": private},
        person="id",
        quasi_identifiers={"age": "suppression"},
        models=KAnonymity(1),
    )
    with pytest.raises(PlanError, match=r"release\.origins"):
        several.beside()


def test_errors_show_the_line_that_called_and_the_message() -> None:
    cell = "import veil\nchosen = 0\nveil.KAnonymity(chosen)"
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell)])
    NotebookClient(notebook, timeout=60, kernel_name="python3", allow_errors=True).execute()
    (shown,) = notebook.cells[0].outputs
    place, line, told = "\n".join(shown.traceback).splitlines()
    assert "line 3" in place
    assert line.strip() == "veil.KAnonymity(chosen)"
    assert told == "ParameterError: `k` of KAnonymity should be greater than or equal to 1, not 0"
