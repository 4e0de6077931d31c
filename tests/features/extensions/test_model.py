"""A privacy model is one file: the example of CONTRIBUTING.md, in a package of its own and in the room."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from support.extension import ROOT, example, install, python, run, veil
from veil import hierarchies, lattice, masking, models, quality
from veil.base.declare import declared
from veil.base.registry import REGISTRY
from veil.errors import ExtensionError
from veil.models.base import PrivacyModel

PATIENTS = """\
name,age,diagnosis
Ada,23,flu
Bob,27,cold
Cem,34,flu
Dia,38,gout
Eve,41,flu
Fay,45,cold
"""

PROMISE = "no value of 'diagnosis' above one half"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    install(folder, "veil.models", "AtMostHalf", example())
    (folder / "patients.csv").write_text(PATIENTS)
    return folder


def test_a_recipe_names_it_and_its_schema_describes_it(site: Path) -> None:
    (site / "recipe.yaml").write_text(
        "steps: [{kind: Generalize, quasi_identifiers: {age: auto}, sensitive: diagnosis, "
        "models: [{kind: AtMostHalf, attribute: diagnosis}]}]\n"
    )
    (site / "wrong.yaml").write_text(
        "steps: [{kind: Generalize, quasi_identifiers: {age: auto}, models: [{kind: AtMostHalf, atribute: diagnosis}]}]\n"
    )
    found = run(
        site,
        """
        import json, veil
        from veil.recipe import Recipe, schema
        recipe = Recipe.read("recipe.yaml")
        recipe.save("written.yaml")
        assert Recipe.read("written.yaml").plan() == recipe.plan()
        assert recipe.plan().models == (veil.AtMostHalf("diagnosis"),)
        assert veil.AtMostHalf is veil.models.AtMostHalf and "AtMostHalf" in dir(veil)
        try:
            Recipe.read("wrong.yaml")
        except veil.VeilError as error:
            print(error)
        made = schema()
        print(json.dumps([made["$defs"]["AtMostHalf"], made["$defs"]["GeneralizeSpec"]["properties"]["models"]["items"]["discriminator"]]))
        """,
    )
    *refusal, schemas = found.splitlines()
    assert any("mean 'attribute'?" in line for line in refusal)
    described, discriminator = json.loads(schemas)
    assert described["required"] == ["kind", "attribute"]
    assert described["properties"]["attribute"]["description"] == "sensitive column"
    assert discriminator["mapping"]["AtMostHalf"] == "#/$defs/AtMostHalf"
    assert "{kind: AtMostHalf, attribute: diagnosis}" in (site / "written.yaml").read_text()


@pytest.mark.slow
def test_the_command_line_the_report_and_the_certificate_know_it(site: Path) -> None:
    listed = veil(site, "list", "models", "at-most-half")
    assert "more than half" in listed
    assert "generalization: yes" in listed
    assert "--model at-most-half:ATTRIBUTE" in listed
    files = ("--output", "release.csv", "--report", "report.html", "--certificate", "certificate.json")
    roles = ("--qi", "age=intervals:10,100", "--sensitive", "diagnosis", "--identifying", "name")
    veil(site, "anonymize", "patients.csv", *files, *roles, "--model", "at-most-half:diagnosis")
    assert "[20, 30[" in (site / "release.csv").read_text()
    assert "above one half" in (site / "report.html").read_text()
    checked = veil(site, "verify", "release.csv", "--certificate", "certificate.json")
    assert f"holds {PROMISE} 0 are" in " ".join(checked.split())
    released = (site / "release.csv").read_text()
    (site / "forged.csv").write_text(released.replace("cold", "flu"))
    ran = python(site, "-m", "veil.cli", "verify", "forged.csv", "--certificate", "certificate.json")
    assert ran.returncode == 1
    assert f"BROKEN {PROMISE} 2 are" in " ".join(ran.stdout.split())


def test_local_recoding_parts_and_assessments_know_it(site: Path) -> None:
    run(
        site,
        f"""
        import ibis, pyarrow as pa, veil
        from veil import hierarchies as h
        from veil.recoding import FastIterative
        from veil.models import Strength

        rows = {{"age": [23, 23, 34, 38], "diagnosis": ["flu", "cold", "flu", "gout"]}}
        asked = dict(
            quasi_identifiers={{"age": h.intervals(10, 20)}},
            models=veil.AtMostHalf("diagnosis"),
            sensitive=["diagnosis"],
            suppression_limit=0.5,
            quality=veil.quality.Loss(factor=0),
            order="input",
        )
        release = veil.anonymize(pa.table(rows), **asked)
        assert release.table["age"].to_pylist() == [23, 23, None, None]
        recoded = veil.anonymize(pa.table(rows), **asked, recoding=FastIterative(0.5))
        assert recoded.table["age"].to_pylist() == ["23", "23", "[30, 40[", "[30, 40["]
        assert {PROMISE!r} in str(recoded.verification)

        by_part = veil.anonymize(ibis.memtable(rows), veil.Plan(**asked), parts=2)
        assert len(by_part.passes) == 2
        assert {PROMISE!r} in str(by_part.verification)

        veil.AtMostHalf.strongest = classmethod(
            lambda cls, published, sensitive: [Strength("AtMostHalf", "share", 0.5, sensitive[0])]
        )
        assessed = veil.assess(pa.table(rows), quasi_identifiers=["age"], sensitive="diagnosis")
        assert "AtMostHalf(diagnosis): share = 0.5" in str(assessed)
        """,
    )


def test_a_new_file_in_the_room_is_enough(tmp_path: Path) -> None:
    copy = tmp_path / "veil"
    shutil.copytree(ROOT / "src" / "veil", copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "models" / "frequency.py").write_text(example())
    found = run(
        tmp_path,
        """
        import veil, veil.models.frequency
        from veil.recipe import schema
        from veil.recipe.parts import MODELS
        assert veil.AtMostHalf is veil.models.frequency.AtMostHalf
        assert "AtMostHalf" in schema()["$defs"]
        print(*MODELS)
        """,
        sources=tmp_path,
    )
    assert found.split() == [*models.MODELS, "SafePub", "AtMostHalf"]


def test_an_entry_point_that_cannot_be_loaded_is_named(tmp_path: Path) -> None:
    install(tmp_path, "veil.models", "Broken", "raise ImportError('no such thing')")
    ran = python(tmp_path, "-m", "veil.cli", "list", "models")
    assert ran.returncode == 2
    told = " ".join(ran.stderr.split())
    assert "'Broken'" in told
    assert "'veil.models'" in told
    assert "broken 1.0" in told
    assert "'broken:Broken'" in told
    assert "cannot be loaded" in told
    assert "ImportError" in told
    run(
        tmp_path, "import veil; assert veil.KAnonymity(5).k == 5"
    )  # who asks for nothing else is not disturbed


def test_an_entry_point_that_is_no_model_is_refused(tmp_path: Path) -> None:
    install(tmp_path, "veil.models", "Half", "class Half: pass")
    ran = python(tmp_path, "-m", "veil.cli", "list", "models")
    assert ran.returncode == 2
    assert "not a PrivacyModel" in " ".join(ran.stderr.split())


def test_what_cannot_be_registered_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(REGISTRY, PrivacyModel, dict(REGISTRY[PrivacyModel]))

    class Nameless(PrivacyModel):
        """A model that recipes could not name."""

    class Stranger:
        """Something else."""

    class Twin(PrivacyModel):
        """A model with the kind of another one."""

        kind: str = "KAnonymity"

    for cls, told in {
        Nameless: "Nameless needs a field `kind`, by which recipes name it",
        Stranger: "Stranger is declared as a kind of PrivacyModel: derive it from that",
        Twin: "has the kind 'KAnonymity', which already belongs to veil.models.k_anonymity.KAnonymity",
    }.items():
        with pytest.raises(ExtensionError, match=told):
            declared(kind_of=PrivacyModel)(cls)


@pytest.mark.parametrize(
    "family",
    [models.MODELS, quality.QUALITIES, lattice.STRATEGIES, masking.METHODS, hierarchies.BUILDERS],
    ids=lambda family: family.group,
)
def test_the_order_of_lists_names_nothing_that_is_not_there(family) -> None:
    assert set(family.order) <= set(family)
    assert list(family)[: len(family.order)] == list(family.order)


@pytest.mark.parametrize(
    "room", [models, quality, lattice, masking, hierarchies], ids=lambda room: room.__name__
)
def test_every_public_name_of_a_room_is_there(room) -> None:
    assert len(set(room.__all__)) == len(room.__all__)
    for name in room.__all__:
        assert getattr(room, name) is not None
    with pytest.raises(AttributeError, match="'Nonsense'"):
        room.Nonsense  # noqa: B018
