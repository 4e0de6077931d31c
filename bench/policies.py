"""How long policies take, from files to a verified release: `python bench/policies.py`.

100,000 records under 1,000 different policies, and under 100,000, one each; every policy with three models and five
attributes. Policies are JSON, one in each line; with `--xml` the 1,000 are XML files in a folder.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv

from veil.policy import apply, parse, to_xml

RECORDS = 100_000
JOBS = ["clerk", "nurse", "baker", "driver", "teacher", "farmer", "cook", "tailor"]
ILLS = ["flu", "cold", "gout", "asthma", "angina", "colitis", "migraine", "measles", "mumps", "scurvy"]


def datum(name: str, group: str, chain: list[str], least: int) -> dict[str, object]:
    """One attribute, with its list."""
    made: dict[str, object] = {
        "name": name,
        "dataType": "Text",
        "privacyGroup": group,
        "required": True,
        "dataCategory": [{"name": "dc"}],
    }
    if chain:
        made["anonymizationMethod"] = {
            "name": "Generalization",
            "anonymizationMethodAttribute": [
                {"key": "min", "value": str(least)},
                {"key": "max", "value": str(len(chain) - 1)},
            ],
            "HierarchyEntry": [{"value": each} for each in chain],
        }
    return made


def policy(
    name: str, age: int, sex: str, code: int, job: str, chance: np.random.Generator
) -> dict[str, object]:
    """A policy of somebody."""
    low = age // 10 * 10
    least = chance.integers(0, 2, 2).tolist()
    data = [
        datum("age", "QID", [str(age), f"{low}-{low + 9}", "young" if age < 50 else "old", "*"], least[0]),
        datum("sex", "QID", [sex, "*"], 0),
        datum("zip", "QID", [str(code), f"{code // 10}*", f"{code // 100}**", "*"], least[1]),
        datum("job", "QID", [job, "*"], 0),
        datum("ill", "SD", [], 0),
    ]
    models = [
        ("k-Anonymity", {"k": int(chance.integers(2, 11))}),
        ("Distinct-l-Diversity", {"l": int(chance.integers(2, 4))}),
        ("t-Closeness", {"t": [0.5, 0.6, 0.7][int(chance.integers(0, 3))]}),
    ]
    purpose = {
        "name": "research",
        "optOut": False,
        "required": False,
        "pointOfAcceptance": "1735689600",
        "dataRecipientList": {
            "dataRecipient": [{"name": "lab", "classification": "Legal Entity", "type": "DataRecipient"}]
        },
        "retention": {"type": "afterPurpose", "pointInTime": "P2Y"},
        "legalBasisList": {"legalBasis": [{"lbCategory": "consent"}]},
        "privacyModelList": {
            "privacyModel": [
                {
                    "name": each,
                    "privacyModelAttribute": [{"key": k, "value": str(v)} for k, v in given.items()],
                }
                for each, given in models
            ]
        },
        "dataList": {"data": data},
    }
    tree = {"name": name, "version": "1.0", "lang": "en", "purposeList": {"purpose": [purpose]}}
    return {"layeredPrivacyPolicy": tree}


def write(folder: Path, policies: int, as_xml: bool) -> tuple[Path, Path]:
    """Write a table and its policies."""
    chance = np.random.default_rng(19)
    age, sex = chance.integers(18, 90, policies), chance.integers(0, 2, policies)
    code, job = chance.integers(100, 300, policies), chance.integers(0, len(JOBS), policies)
    place = folder / "policies" if as_xml else folder / "policies.jsonl"
    if as_xml:
        place.mkdir()
    lines = []
    for at in range(policies):
        made = json.dumps(policy(f"p{at}", int(age[at]), "fm"[sex[at]], int(code[at]), JOBS[job[at]], chance))
        if as_xml:
            (place / f"p{at}.xml").write_text(to_xml(parse(made)))
        else:
            lines.append(made)
    if not as_xml:
        place.write_text("\n".join(lines))
    who = np.arange(RECORDS) % policies
    table = pa.table(
        {
            "age": age[who],
            "sex": np.array(list("fm"))[sex[who]],
            "zip": code[who],
            "job": np.array(JOBS)[job[who]],
            "ill": np.array(ILLS)[chance.integers(0, len(ILLS), RECORDS)],
            "policy_id": [f"p{at}" for at in who.tolist()],
        }
    )
    pyarrow.csv.write_csv(table, folder / "people.csv")
    return folder / "people.csv", place


def main() -> None:
    """Measure both."""
    as_xml = "--xml" in sys.argv
    for policies in (1_000, 100_000):
        with tempfile.TemporaryDirectory() as name:
            table, place = write(Path(name), policies, as_xml)
            start, cpu = time.perf_counter(), time.process_time()
            release = apply(
                table,
                place,
                purpose="research",
                recipient="lab",
                person=None,
                suppression_limit=0.05,
                progress=False,
            )
            (Path(name) / "out").mkdir()
            release.save(Path(name) / "out" / "release.csv")
            seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
            print(
                f"{RECORDS:,} records, {policies:,} policies ({'XML' if as_xml else 'JSON'}): {seconds:.1f} s "
                f"({cpu:.1f} s of processors), "
                f"{release.transformation}, {release.suppressed} suppressed, verified: {release.verification.holds}"
            )


if __name__ == "__main__":
    main()
