"""Projects: what is saved is opened again, what strangers send is looked at first, and ARX's are taken over as far as they go."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import stat
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from support.cli import veil as invoke
from support.projects import deid, packed
from support.recipes import generalize, generalize_data
from support.refusals import refused
from veil.errors import InputError, OutputError, PlanError
from veil.recipe import Project, Recipe
from veil.recipe.project import Attached

ROWS = [["f", "*"], ["m", "*"], [None, "*"]]
STEP = {
    "quasi_identifiers": {
        "sex": {"kind": "table", "rows": ROWS},
        "age": {"kind": "intervals", "widths": [5, 10]},
    },
    "sensitive": ["ill"],
    "models": [{"kind": "KAnonymity", "k": 2}],
}
RECIPE = generalize_data(**STEP)
WHOLE = Project(
    RECIPE,
    "ward 3",
    ("table patients.csv", "k = 2"),
    {"table": {"records": 4}},
    Attached("patients.csv", b"sex,age,ill\nf,30,x\nm,31,y\n"),
    {"pins": [{"note": "for the registry"}]},
)


def parts_of(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_what_is_saved_is_opened_again(tmp_path):
    path = WHOLE.save(tmp_path / "study.veil")
    assert Project.read(path) == WHOLE
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    parts = parts_of(path)
    assert parts["hierarchies/1.csv"].decode().splitlines() == ["f;*", "m;*", "NULL;*"]
    assert "rows" not in parts["recipe.yaml"].decode()


def test_a_project_without_its_table_has_no_row_of_it(tmp_path):
    path = Project(RECIPE).save(tmp_path / "study.veil")
    assert not any(name.startswith("table/") for name in parts_of(path))


labels = st.text(st.characters(exclude_characters="\0"), max_size=4) | st.sampled_from(
    ["NULL", "null", "", ";", '"', "a\nb", "true", "1", "\x85", "ä"]
)


@given(rows=st.lists(st.lists(labels | st.none(), min_size=2, max_size=2), min_size=1, max_size=4))
def test_any_hierarchy_comes_back_as_it_was(tmp_path_factory, rows):
    made = Project(generalize_data(**STEP | {"quasi_identifiers": {"sex": {"kind": "table", "rows": rows}}}))
    path = made.save(tmp_path_factory.mktemp("p") / "x.veil")
    assert Project.read(path).recipe == made.recipe


def test_a_hierarchy_that_could_not_be_read_again_is_not_saved(tmp_path):
    """A label NULL keeps the rows in the recipe, which cannot hold the other label."""
    builder = {"kind": "table", "rows": [["NULL", "a\0"]]}
    with refused(PlanError, "NUL"):
        Project(generalize_data(**STEP | {"quasi_identifiers": {"sex": builder}})).save(tmp_path / "x.veil")
    assert not list(tmp_path.iterdir())


@given(cut=st.integers(0, 2000), flip=st.integers(0, 2000), by=st.integers(1, 255))
def test_whatever_happens_to_a_file_is_an_error_in_words(tmp_path_factory, cut, flip, by):
    path = WHOLE.save(tmp_path_factory.mktemp("p") / "x.veil")
    content = bytearray(path.read_bytes())
    content[flip % len(content)] ^= by
    path.write_bytes(content[: len(content) - cut % len(content)] if cut % 3 == 0 else content)
    with contextlib.suppress(veil.VeilError):
        Project.read(path)


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ({"../evil": b""}, "points outside"),
        ({"/etc/passwd": b""}, "points outside"),
        ({"a\\b": b""}, "points outside"),
        ({"project.json": b"{}", "PROJECT.JSON": b"{}"}, "appears twice"),
        ({f"hierarchies/{i}.csv": b"" for i in range(1001)}, "may have at most 1,000"),
        ({"project.json": pickle.dumps({"format": "veil project"}), "recipe.yaml": b""}, "project.json"),
        ({"project.json": b'{"format": "veil project", "version": 2}', "recipe.yaml": b""}, "Update Veil"),
        ({"recipe.yaml": b"{}"}, "no part 'project.json'"),
        (
            {"project.json": b'{"format": "veil project", "version": 1}', "recipe.yaml": b"steps: [{kind: Generalize, quasi_identifiers: {a: hierarchies/9.csv}}]"},
            "'hierarchies/9.csv' is not in it",
        ),
    ],
)  # fmt: skip
def test_what_is_no_project_is_refused(tmp_path, parts, told):
    with pytest.raises(veil.VeilError, match=told):
        Project.read(packed(parts, tmp_path / "x.veil"))


def test_a_bomb_is_not_unpacked(tmp_path):
    parts = {"project.json": b'{"format": "veil project", "version": 1}', "recipe.yaml": b" " * 50_000_000}
    path = packed(parts, tmp_path / "x.veil", method=zipfile.ZIP_DEFLATED)
    assert path.stat().st_size < 100_000
    with refused(InputError, "its size"):
        Project.read(path)


def test_a_project_is_not_written_over(tmp_path):
    WHOLE.save(tmp_path / "x.veil")
    with pytest.raises(OutputError, match="already exists"):
        WHOLE.save(tmp_path / "x.veil")
    with refused(OutputError, ".veil: x.veil"):
        WHOLE.save(tmp_path / "x.zip")


def test_packed_and_unpacked_recipes_make_the_same_release(tmp_path):
    (tmp_path / "sex.csv").write_text("f;*\nm;*\n")
    (tmp_path / "patients.csv").write_text("sex,age,ill\n" + "f,30,x\nm,31,y\nf,33,x\nm,34,y\n" * 5)
    (tmp_path / "recipe.yaml").write_text(
        generalize(
            "input: patients.csv\noutput: release.csv\nquasi_identifiers: {sex: sex.csv, age: {kind: intervals, widths: [5, 10]}}\n"
            "sensitive: [ill]\nmodels: [{kind: KAnonymity, k: 2}]\nperson: null\n"
        )
    )
    packing = invoke(
        "project", "pack", tmp_path / "recipe.yaml", "-o", tmp_path / "study.veil", "--with-table"
    )
    assert packing.code == 0, packing.err
    taken = invoke("project", "unpack", tmp_path / "study.veil", "-o", tmp_path / "study")
    assert taken.code == 0, taken.err
    made = invoke("anonymize", tmp_path / "study" / "recipe.yaml")
    assert made.code == 0, made.err
    first = veil.anonymize(tmp_path / "patients.csv", Recipe.read(tmp_path / "recipe.yaml").plan())
    again = veil.anonymize(tmp_path / "patients.csv", Project.read(tmp_path / "study.veil").plan())
    assert first.transformation == again.transformation
    assert (tmp_path / "study" / "release.csv").exists()


# --- ARX


def test_a_project_of_arx_makes_a_release(tmp_path):
    made = Project.read(
        deid(tmp_path / "study.deid", criteria=("3-anonymity", "distinct-2-diversity for attribute 'ill'"))
    )
    assert made.notes == "Study\nwards"
    plan = made.plan()
    assert plan.models == (veil.KAnonymity(3), veil.DistinctLDiversity("ill", 2))
    assert plan.maximum_levels == {"age": 1}
    assert plan.suppression_limit == 0.05
    assert plan.quality.weights == {"age": 0.9}
    assert dict(plan.identifying) == {"name": "remove"}
    assert made.left_out == (
        "the form 'dd.MM.yyyy' of the dates of column 'day': Veil finds it out by itself",
    )
    (tmp_path / "input.csv").write_bytes(made.table.content)
    release = veil.anonymize(tmp_path / "input.csv", plan)
    assert release.verification.holds
    assert release.transformation["age"] <= 1


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("5-anonymity", veil.KAnonymity(5)),
        ("distinct-3-diversity for attribute 'ill'", veil.DistinctLDiversity("ill", 3)),
        ("shannon-entropy-2.5-diversity for attribute 'ill'", veil.EntropyLDiversity("ill", 2.5)),
        ("grassberger-entropy-2.5-diversity for attribute 'ill'", veil.EntropyLDiversity("ill", 2.5, "grassberger")),
        ("recursive-(4.0,3)-diversity for attribute 'ill'", veil.RecursiveCLDiversity("ill", 4.0, 3)),
        ("0.2-closeness with equal ground-distance for attribute 'ill'", veil.TCloseness("ill", 0.2)),
        ("1.0E-3-disclosure privacy for attribute 'ill'", veil.DeltaDisclosure("ill", 0.001)),
        ("enhanced-1.5-likeness for attribute 'ill'", veil.BetaLikeness("ill", 1.5, enhanced=True)),
        ("basic-1.5-likeness for attribute 'ill'", veil.BetaLikeness("ill", 1.5)),
        ("(0.05)-avg-reidentification-risk", veil.AverageReidentificationRisk(0.05)),
        ("(0.05, 0.2, 0.1)-avg-reidentification-risk", veil.AverageReidentificationRisk(0.05, 0.2, 0.1)),
        ("(0.01)-sample-uniqueness", veil.SampleUniqueness(0.01)),
    ],
)  # fmt: skip
def test_criteria_as_arx_spells_them(tmp_path, said, meant):
    assert Project.read(deid(tmp_path / "x.deid", criteria=(said,))).plan().models == (meant,)


def test_what_cannot_be_taken_over_is_listed(tmp_path):
    criteria = ("5-anonymity", "(2.0,1.0E-6)-differential privacy", "(0.1,0.5)-presence", "0.1-closeness with hierarchical ground-distance for attribute 'ill'")  # fmt: skip
    made = Project.read(deid(tmp_path / "x.deid", criteria=criteria, extra={"lattice.xml": "<lattice/>", "clipboard.xml": "<clipboard/>"}))  # fmt: skip
    assert [each["kind"] for each in made.generalize["models"]] == ["KAnonymity"]
    told = "\n".join(made.left_out)
    assert all(each in told for each in (*criteria[1:], "the result", "the clipboard"))


def test_dumps_are_never_read(tmp_path, monkeypatch):
    read = []
    opened = zipfile.ZipFile.open
    monkeypatch.setattr(
        zipfile.ZipFile,
        "open",
        lambda self, name, *a, **k: read.append(str(name)) or opened(self, name, *a, **k),
    )
    Project.read(
        deid(tmp_path / "x.deid", extra={"output/config.dat": b"\xac\xed", "infoloss.dat": b"\xac\xed"})
    )
    assert read
    assert not [name for name in read if name.endswith(".dat")]


def test_texts_of_arx_that_would_fetch_or_multiply_are_refused(tmp_path):
    entity = '<!DOCTYPE d [<!ENTITY a SYSTEM "file:///etc/passwd">]><definition>&a;</definition>'
    with pytest.raises(InputError, match="DOCTYPE"):
        Project.read(deid(tmp_path / "x.deid", extra={"input/definition.xml": entity}))


def test_what_is_shown_of_a_project(tmp_path):
    shown = invoke(
        "project", "show", deid(tmp_path / "x.deid", criteria=("3-anonymity", "(0.1,0.5)-presence"))
    )
    assert shown.code == 0
    assert "age, sex" in shown.out
    assert "(0.1,0.5)-presence" in shown.out


def test_project_json_is_text(tmp_path):
    path = WHOLE.save(tmp_path / "x.veil")
    assert json.load(io.BytesIO(parts_of(path)["project.json"]))["version"] == 1
