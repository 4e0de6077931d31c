"""`veil mask` and `veil list masks`: what they write, print and refuse; that nothing is half-written, and no secret beside."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

import pytest
from pyarrow import csv as arrow_csv

from support.cli import contents, veil
from support.refusals import refused
from veil.cli.steps import read_step
from veil.errors import ParameterError
from veil.masking import PRAM, GlobalRecoding, LocalSuppression, RankSwapping, TopCoding
from veil.recipe import schema

STEPS = """\
input: patients.csv
output: out/masked.csv
apart: secret
steps:
  - {kind: RandomPseudonyms, columns: name}
  - {kind: RankSwapping, columns: [age], p: 50}
"""

SWAP = ("--step", "rank-swapping:age,p=50")


def test_a_recipe_is_carried_out(folder: Path) -> None:
    (folder / "steps.yaml").write_text(STEPS)
    (folder / "secret").mkdir()
    (folder / "out").mkdir()
    ran = veil("mask", "steps.yaml")
    assert (ran.code, ran.err) == (0, "")
    made = arrow_csv.read_csv(folder / "out" / "masked.csv")
    assert made.column_names == ["name", "age", "sex", "zip", "diagnosis"]
    assert sorted(made["age"].to_pylist()) == [23, 27, 34, 38, 41, 45]
    mapping = folder / "secret" / "pseudonyms.csv"
    assert mapping.read_text().startswith("value,pseudonym\nAda,")
    assert stat.S_IMODE(mapping.stat().st_mode) == 0o600
    for told in ("Step 1: RandomPseudonyms", "Step 2: RankSwapping", "linked by distance", "SSE/SST", "masked.csv",
                 "no value moved by more than 3 ranks", "secret/pseudonyms.csv"):  # fmt: skip
        assert told in ran.out


def test_options_say_the_same(folder: Path) -> None:
    ran = veil(
        "mask", "patients.csv", "-o", "o.csv", *SWAP, "--step", "top_coding:age,40,value=40+", "--quiet"
    )
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    assert (folder / "o.csv").read_text().count("40+") == 2
    assert veil("mask", "patients.csv", "-o", "o.csv", *SWAP).code == 2
    assert veil("mask", "patients.csv", "-o", "o.csv", *SWAP, "--overwrite").code == 0


def test_files_of_a_recipe_can_be_replaced(folder: Path) -> None:
    (folder / "steps.yaml").write_text(STEPS)
    (folder / "elsewhere").mkdir()
    (folder / "out").mkdir()
    (folder / "other.csv").write_text("name,age\nZoe,1\nYan,2\n")
    ran = veil("mask", "steps.yaml", "--input", "other.csv", "-o", "out/o.parquet", "--apart", "elsewhere")
    assert ran.code == 0, ran.err
    assert {"out/o.parquet", "elsewhere/pseudonyms.csv"} <= set(contents(folder))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("patients.csv", *SWAP), "say where to write the masked table: --output"),
        (("patients.csv", "-o", "o.csv"), "say how to mask, such as --step"),
        (("patients.csv", "-o", "patients.csv", *SWAP, "--overwrite"), "would replace its own input"),
        (("patients.csv", "-o", "o.doc", *SWAP), "the ending '.doc' is unknown"),
        (("patients.csv", "-o", "nowhere/o.csv", *SWAP), "the directory does not exist"),
        (("patients.csv", "-o", "o.csv", "--step", "random-pseudonyms:name"),
         "RandomPseudonyms makes a table with which it can be reversed. Say where to keep"),
        (("patients.csv", "-o", "o.csv", "--step", "random-pseudonyms:name", "--apart", "."),
         "and what RandomPseudonyms keeps apart must not be published with it"),
        (("patients.csv", "-o", "o.csv", "--step", "random-pseudonyms:name", "--apart", "nowhere"), "is not a folder"),
        (("patients.csv", "-o", "o.csv", "--step", "rank-swaping:age,p=5"), "Did you mean 'rank-swapping'?"),
        (("patients.csv", "-o", "o.csv", "--step", "rank-swapping:age,p=130"), "from 0 to 100, not 130"),
        (("patients.csv", "-o", "o.csv", "--step", "rank-swapping:age,q=1"), "`q` is not a parameter"),
        (("patients.csv", "-o", "o.csv", "--step", "keyed-pseudonyms:name,key=00112233445566778899aabbccddeeff"),
         "others can see a key on the command line"),
        (("patients.csv", "-o", "o.csv", "--step", "keyed-pseudonyms:name,key_variable=NO_SUCH_KEY"),
         "NO_SUCH_KEY is not set or empty. To make one: python -c"),
        (("patients.csv", "-o", "o.csv", "--step", "rounding:sex,base=5"), "numbers are needed"),
        (("patients.csv", "-o", "o.csv", "--step", "local-suppression:sex,k=7"), "the table has 6 records, too few for a group of 7"),
        (("patients.csv", "-o", "o.csv", *SWAP, "--input", "x.csv"), "--input is only for recipes"),
        (("recipe.yaml",), "Run `veil anonymize recipe.yaml`"),
        (("steps.yaml", *SWAP), "--step is only for a table, not for a recipe"),
        (("steps.yaml",), "secret: is not a folder"),
        (("least.yaml", "-o", "o.csv"), "least.yaml names no table: add `input`"),
        (("least.yaml", "--input", "patients.csv"), "does not say where to write the release"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_said_and_nothing_is_written(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    (folder / "steps.yaml").write_text(STEPS)
    (folder / "out").mkdir()
    (folder / "least.yaml").write_text("steps: [{kind: RankSwapping, columns: age, p: 50}]")
    before = contents(folder)
    ran = veil("mask", *arguments)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())
    assert contents(folder) == before


def test_an_existing_table_of_pseudonyms_is_not_lost(folder: Path) -> None:
    (folder / "secret").mkdir()
    (folder / "out").mkdir()
    (folder / "secret" / "pseudonyms.csv").write_text("value,pseudonym\n")
    before = contents(folder)
    arguments = (
        "mask",
        "patients.csv",
        "-o",
        "out/o.csv",
        "--step",
        "random-pseudonyms:name",
        "--apart",
        "secret",
    )
    ran = veil(*arguments)
    assert ran.code == 2
    assert "already exists" in ran.err
    assert contents(folder) == before
    assert veil(*arguments, "--overwrite").code == 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_to(folder: Path) -> None:
    (folder / "secret").mkdir(mode=0o500)
    (folder / "out").mkdir()
    before = contents(folder)
    ran = veil(
        "mask", "patients.csv", "-o", "out/o.csv", "--step", "random-pseudonyms:name", "--apart", "secret"
    )
    assert ran.code == 2
    assert contents(folder) == before


def test_a_plain_hash_is_warned_about(folder: Path) -> None:
    hashed = "unkeyed-hash:name,although_values_can_be_guessed=true"
    ran = veil("mask", "patients.csv", "-o", "o.csv", "--step", hashed, "--quiet")
    assert (ran.code, ran.out) == (0, "")
    assert all(fact in " ".join(ran.err.split()) for fact in ("warning:", "unkeyed hash", "protect name"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("rank-swapping:age,income,p=10", RankSwapping(["age", "income"], 10)),
        ("RankSwapping:columns=age|income,p=10", RankSwapping(["age", "income"], 10)),
        ("top-coding:age,90,value='90+'", TopCoding("age", 90, value="90+")),
        ("global-recoding:zip,redaction,level=2", GlobalRecoding("zip", "redaction", 2)),
        ("global-recoding:x,mapping=a:b|c:d", GlobalRecoding("x", mapping={"a": "b", "c": "d"})),
        ("global-recoding:x,breaks=18|65", GlobalRecoding("x", breaks=[18, 65])),
        ("local-suppression:a,b,k=2,importance=a:2", LocalSuppression(["a", "b"], 2, {"a": 2})),
        ("pram:sex,0.9,invariant=true", PRAM("sex", 0.9, invariant=True)),
    ],
)
def test_steps_on_the_command_line(text: str, expected: object) -> None:
    assert read_step(text) == expected


def test_steps_that_cannot_be_read() -> None:
    with refused(ParameterError, "--step 'nothing'", "'random-sampling'"):
        read_step("nothing")


def test_methods_are_listed(folder: Path) -> None:
    ran = veil("list", "masks")
    assert ran.code == 0
    for told in ("rank-swapping", "local-suppression", "--step", "number, 0 to 100"):
        assert told in ran.out
    assert "Moore" in veil("list", "masks", "rank-swapping").out
    assert veil("list", "masks", "nothing").code == 2
    assert json.loads(veil("schema", "portable").out) == schema(paths=False)
