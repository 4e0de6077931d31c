"""Every door by which documents of strangers come in: what a good document looks like, how it is damaged, who reads it.

A door runs the command that a person would. The folder `tests/fuzz/corpus` has good documents; those that Veil writes itself
are written anew, so that they are of this version.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

import veil as face
from support.cli import PATIENTS, PLAN, RECIPE, Ran, veil
from support.fuzz.damage import Damage, damage_bytes, damage_json, damage_text, damage_zip
from support.policies import lecture, model
from veil.dp import Accountant
from veil.masking import MInvariance
from veil.policy.documents.documents import to_json, to_xml
from veil.policy.documents.elements import Policy
from veil.tables import write

CORPUS = Path(__file__).parents[2] / "fuzz" / "corpus"
FOUND = CORPUS.parent / "found"
"""Documents that were too much once, by door."""

TABLE = pa.table(
    {
        "name": ["Ada", "Bob", "Cem", "Dia", "Eve", "Fay"],
        "age": pa.array([23, 27, None, 38, 41, 45], pa.int64()),
        "sex": pa.array(["f", "m", "m", "f", "f", "f"]).dictionary_encode(),
        "zip": ["02139", "02138", "02141", "02139", None, "02138"],
        "diagnosis": ["flu", "cold", "flu", "gout", "flu", "cold"],
    }
)
ODD = (
    TABLE.append_column("tags", pa.array([["a", None], None, [], ["b"], ["a"], ["c"]]))
    .append_column("born", pa.array([2932897, -800000, 0, None, 10**6, 1], pa.date32()))
    .append_column("seen", pa.array([{"at": 1, "by": "x"}] * 6))
    .append_column("time", pa.array([0, 1, 2, None, -(10**15), 10**15], pa.timestamp("us", "Europe/Berlin")))
)
"""Lists, structures, days that no calendar has, and times in a zone."""

LINKED = """\
Name,Age,Zipcode,Disease,policy_id
Alice,25,53711,Flu,Alice
Bob,25,53712,Hepatitis,Bob
Axel,26,53711,Bronchitis,Axel
"""
"""The patients of `lecture()`."""

OURS = "Name,Age,Zipcode,Disease,policy_id\n" + "Alice,25,53711,Flu,Alice\n" * 4
"""People who are all under one policy."""

GOOD = (0, 1, 2, 3, 4)
"""How a command may end, whatever it is given."""


class Broken(AssertionError):
    """Veil did not stand a document."""


@dataclass(frozen=True)
class Door:
    """One kind of document: good ones, the file they are put into, and the commands that read it."""

    good: Callable[[], list[bytes]]
    file: str
    commands: tuple[tuple[str, ...], ...]
    damages: tuple[Damage, ...] = (damage_bytes, damage_text)
    seal: Callable[[bytes], bytes] = field(default=lambda content: content)
    """Puts a checksum right, or all damage would end there."""

    def draw(self, seed: int) -> bytes:
        """Return a damaged document."""
        chance = random.Random(seed)
        content = chance.choice(self.good())
        damage = chance.choice(self.damages)
        content = damage(content, chance)
        with contextlib.suppress(ValueError):  # what is no JSON any more cannot be sealed
            return self.seal(content) if chance.random() < 0.8 else content
        return content

    def attempt(self, content: bytes) -> str:
        """Let the commands read a document, and return how they ended; raise `Broken` if one should not have so."""
        ends = []
        with _folder() as folder:
            for command in self.commands:
                (folder / self.file).write_bytes(content)
                ran = veil(*command)
                ends.append(str(ran.code))
                _judge(ran)
        return " ".join(ends)


def _judge(ran: Ran) -> None:
    told = ran.out + ran.err
    if ran.code not in GOOD:
        raise Broken(f"ended with {ran.code}: {told[-600:]}")
    if "Traceback" in told:
        raise Broken(f"shows a traceback: {told[-600:]}")
    if "secretpw" in told:
        raise Broken(f"shows a password: {told[-600:]}")


@contextlib.contextmanager
def _folder() -> Iterator[Path]:
    """A folder with everything that commands need beside the document, as the current one."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="fuzz-") as made:
        folder = Path(made)
        (folder / "patients.csv").write_text(PATIENTS)
        (folder / "published.csv").write_bytes(_made()[0])
        (folder / "linked.csv").write_text(LINKED)
        (folder / "ours.csv").write_text(OURS)
        for ending in ("xml", "json", "ttl", "jsonld"):
            (folder / f"policy.{ending}.yaml").write_text(_POLICY.format(file=f"policy.{ending}"))
        (folder / "policies").mkdir()
        for name, document in _lecture().items():
            (folder / "policies" / f"{name}.json").write_text(document)
        for name in ("out", "secret"):
            (folder / name).mkdir()
        os.chdir(folder)
        try:
            yield folder
        finally:
            os.chdir(before)


@cache
def _lecture() -> dict[str, str]:
    return {name: to_json(each) for name, each in lecture().items()}


@cache
def _made() -> tuple[bytes, bytes]:
    """A release and its certificate."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        write(TABLE, folder / "patients.csv")
        release = face.anonymize(
            folder / "patients.csv",
            quasi_identifiers={"age": face.hierarchies.intervals(10, 20), "sex": "suppression"},
            sensitive=["diagnosis"],
            others="drop",
            models=[face.KAnonymity(2), face.DistinctLDiversity("diagnosis", 1), face.TCloseness("diagnosis", 0.9)],
            suppression_limit=1.0,
            progress=False,
        )  # fmt: skip
        release.save(folder / "release.csv")
        release.certificate(folder / "certificate.json")
        return (folder / "release.csv").read_bytes(), (folder / "certificate.json").read_bytes()


@cache
def _budget() -> bytes:
    with _folder() as folder:
        made = veil("budget", "patients.csv", "--epsilon", "4", "--delta", "1e-6", "--file", "budget.json")
        assert made.code == 0, made
        tree = json.loads((folder / "budget.json").read_bytes())
        Accountant.open(folder / "budget.json", fingerprint=tree["fingerprint"]).spend("first", 1)
        return (folder / "budget.json").read_bytes()


def _seal_budget(content: bytes) -> bytes:
    tree = json.loads(content)
    if not isinstance(tree, dict):
        return content
    tree.pop("digest", None)
    return json.dumps(
        {**tree, "digest": hashlib.sha256(json.dumps(tree, sort_keys=True).encode()).hexdigest()}
    ).encode()


@cache
def _history() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "history.json"
        table = pa.table(
            {"name": list("ABCD"), "age": [1, 2, 3, 4], "diagnosis": ["flu", "gout", "flu", "cold"]}
        )
        face.mask(table, MInvariance("diagnosis", 2, ["age"], "name", history=str(file)))
        return file.read_bytes()  # fmt: skip


@cache
def _corpus(name: str) -> list[bytes]:
    return [each.read_bytes() for each in sorted((CORPUS / name).iterdir())]


@cache
def _packed(kind: str) -> list[bytes]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / f"table.{kind}"
        made = []
        if kind == "xlsx":
            write(TABLE, file)
            made.append(file.read_bytes())
        elif kind == "parquet":
            for compression in ("zstd", "none"):
                pq.write_table(TABLE, file, compression=compression)
                made.append(file.read_bytes())
        else:
            for compression in ("lz4", "uncompressed"):
                feather.write_feather(TABLE, file, compression=compression)
                made.append(file.read_bytes())
            feather.write_feather(ODD, file, compression="uncompressed")
            made.append(file.read_bytes())
            stream = io.BytesIO()
            with pa.ipc.new_stream(stream, TABLE.schema) as out:
                out.write_table(TABLE)
            made.append(stream.getvalue())
        return made


def _texts() -> list[bytes]:
    """Tables as others write them: with marks, in wide letters, with titles, as databases and spreadsheets export."""
    wide = [PATIENTS.encode(each) for each in ("utf-8-sig", "utf-16", "utf-32")]
    return [PATIENTS.encode(), *wide, PATIENTS.replace("\n", "\r\n").encode(), *_corpus("csv")]


def _policies(spell: Callable[[Policy], str]) -> list[bytes]:
    policy = lecture()["Alice"]
    (purpose,) = policy.purposes
    models = (
        *purpose.models,
        model("l-Diversity", "Disease", l=1),
        model("Hierarchical Distance t-Closeness", "Disease", t=1),
    )
    whole = dataclasses.replace(
        policy,
        purposes=(dataclasses.replace(purpose, name="ScientificResearch", models=models[:2]),),
        underlying=(
            dataclasses.replace(policy, purposes=(dataclasses.replace(purpose, name="ScientificResearch"),)),
        ),
    )
    wide = dataclasses.replace(
        policy, purposes=(dataclasses.replace(purpose, name="ScientificResearch", models=models),)
    )
    return [spell(wide).encode(), spell(whole).encode()]


def _plan(table: str) -> tuple[str, ...]:
    return ("anonymize", table, "--output", "out.csv", *PLAN, "--suppression-limit", "1")


_POLICY = """\
input: ours.csv
output: out/out.csv
apart: secret
person: null
steps: [{{kind: ByPolicies, policies: {file}, purpose: ScientificResearch, recipient: lab, on: 2026-06-01}}]
"""


def _policy_commands(file: str) -> tuple[tuple[str, ...], ...]:
    return (
        ("policy", "check", file),
        ("policy", "explain", file),
        ("run", f"{file}.yaml"),
    )


DOORS: dict[str, Door] = {
    "recipe": Door(lambda: [RECIPE.encode(), *_corpus("recipe")], "recipe.yaml", (("anonymize", "recipe.yaml"),)),
    "mask": Door(lambda: _corpus("mask"), "mask.yaml", (("mask", "mask.yaml"),)),
    "policy-recipe": Door(lambda: _corpus("policy-recipe"), "recipe.yaml", (("run", "recipe.yaml"),)),
    "policy-xml": Door(lambda: _policies(to_xml), "policy.xml", _policy_commands("policy.xml")),
    "policy-json": Door(
        lambda: _policies(to_json),
        "policy.json",
        _policy_commands("policy.json"),
        (damage_bytes, damage_text, damage_json, damage_json),
    ),
    "turtle": Door(lambda: _corpus("turtle"), "policy.ttl", _policy_commands("policy.ttl")),
    "json-ld": Door(
        lambda: _corpus("json-ld"),
        "policy.jsonld",
        _policy_commands("policy.jsonld"),
        (damage_text, damage_json, damage_json),
    ),
    "special": Door(
        lambda: _corpus("special"), "new.ofn", (("policy", "compare", "new.ofn", "new.ofn"),)
    ),
    "history": Door(
        lambda: [_history()],
        "history.json",
        (("mask", "patients.csv", "--output", "out/masked.csv", "--apart", "out", "--step",
          "MInvariance:diagnosis,m=2,quasi_identifiers=age,person=name,history=history.json"),),
        (damage_bytes, damage_json, damage_json, damage_json),
    ),
    "certificate": Door(
        lambda: [_made()[1]],
        "certificate.json",
        (("verify", "published.csv", "--certificate", "certificate.json"),),
        (damage_bytes, damage_json, damage_json, damage_json),
    ),
    "budget": Door(
        lambda: [_budget()],
        "budget.json",
        (("budget", "patients.csv", "--file", "budget.json"),),
        (damage_bytes, damage_json, damage_json, damage_json),
        _seal_budget,
    ),
    "csv": Door(_texts, "table.csv", (_plan("table.csv"), ("identify", "table.csv"))),
    "csv-engine": Door(
        lambda: [PATIENTS.encode(), *_corpus("csv")], "table.csv", ((*_plan("table.csv"), "--engine", "duckdb"),)
    ),
    "hierarchy": Door(
        lambda: _corpus("hierarchy"),
        "zip.csv",
        (("anonymize", "patients.csv", "--output", "out.csv", "--qi", "zip=zip.csv", "--others", "drop",
          "--model", "k-anonymity:2", "--suppression-limit", "1"),),
    ),
    "xlsx": Door(lambda: _packed("xlsx"), "table.xlsx", (_plan("table.xlsx"),), (damage_zip,)),
    "feather": Door(
        lambda: _packed("feather"),
        "table.feather",
        ((*_plan("table.feather"), "--others", "drop"), ("identify", "table.feather")),
        (damage_bytes,),
    ),
    "parquet": Door(lambda: _packed("parquet"), "table.parquet", (_plan("table.parquet"),), (damage_bytes,)),
}  # fmt: skip
