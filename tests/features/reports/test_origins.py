"""Every number and every hash in what is as public as a release has an origin: released, declared or noisy.

What a private release, answers to questions, a check and a file say beside their cells is walked, with a twin that was made
from other people by the same declarations. What the twin says as well was declared. Anything else has to follow from the
released cells or answers. Certificates have rules for each of their places: `tests/report/certificate/test_origins.py`.
"""

from __future__ import annotations

import itertools
import json
import re
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import veil.risk
from support.cli import veil as run
from support.origins import leaves, tokens
from support.recipes import generalize
from veil.report import content_digest
from veil.report.certificate.digest import column_digests
from veil.report.content.measured import grouped_sizes
from veil.tables import read

CLOCK = re.compile(r"date|veil|checksum|.*\.date|.*\.veil|.*\.checksum|files\..*")
"""What the clock, the version, the other places of the document or the person who runs it decide, and no cell."""
SAFEPUB = "{kind: SafePub, epsilon: 1.25, delta: 1.0e-4, generalization: {age: 1, sex: 0}}"
AGE = json.dumps([[str(age), f"{age // 10}0s", "*"] for age in range(120)])
RECIPE = generalize(f"""\
input: people.csv
output: release.csv
certificate: certificate.json
person: null
identifying: [patient]
quasi_identifiers: {{age: {{kind: table, rows: {AGE}}}, sex: {{kind: table, rows: [[f, '*'], [m, '*']]}}}}
""")


class Said(NamedTuple):
    """What leaves beside the cells, as documents, and what follows from released cells or answers."""

    documents: dict[str, Any]
    released: set[str]


def people(folder: Path, number: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    ages, sexes = rng.integers(20, 20 + 10 * (1 + seed), number), rng.choice(["f", "m"], number)
    rows = [f"n{seed}{at},{age},{sex}" for at, (age, sex) in enumerate(zip(ages, sexes, strict=True))]
    (folder / "people.csv").write_text("\n".join(["patient,age,sex", *rows, ""]))


def figures(table: pa.Table) -> set[str]:
    """What anybody can count in a released table: rows, values, classes and their risks, and fingerprints."""
    names = table.column_names
    sizes = table.group_by(names).aggregate([([], "count_all")])["count_all"].to_pylist()
    counts = [table.num_rows, len(sizes), *sizes, *(size - 1 for size in sizes)]
    counts += [
        count
        for name in names
        for count in pc.value_counts(table[name].combine_chunks()).field(1).to_pylist()
    ]
    risk = [
        float(one)
        for one in tokens(json.dumps(veil.risk.analyze(table, names, person=None).to_dict()))
        if len(one) < 40
    ]
    shares = [each / max(1, table.num_rows) for each in counts] + risk + [table.num_rows / max(1, len(sizes))]
    rounded = [
        f"{factor * each:.{places}f}" for each in shares for factor in (1, 100) for places in (1, 2, 3, 4)
    ]
    decimals = {
        one for each in (*shares, *rounded) for one in (str(each), str(each).rstrip("0")) if one[-1] != "."
    }
    texts = [str(each) for column in table.columns for each in pc.unique(column).to_pylist()]
    groups = json.dumps(grouped_sizes(sorted(Counter(sizes).items())))
    even = [int(each) for each in (0, 1, *shares) if float(each).is_integer()]
    whole = {one for each in (*names, *counts, *texts, *even, groups) for one in tokens(each)}
    return (
        whole
        | {each for each in decimals if "." in each}
        | {content_digest(table), *column_digests(table).values()}
    )


def leaks(said: Said, twin: Said) -> list[str]:
    """List the numbers and hashes that neither were declared nor follow from what is released."""
    found = []
    for name, tree in said.documents.items():
        declared: dict[str, set[str]] = {}
        for path, value in leaves(twin.documents[name]):
            declared.setdefault(path, set()).update(tokens(value))
        for path, value in leaves(tree):
            odd = tokens(value) - declared.get(path, set()) - said.released
            if odd and not CLOCK.fullmatch(path):
                found.append(f"{name}, {path}: {sorted(odd)}")
    return found


# --- what leaves ----------------------------------------------------------------------------------


def safepub(engine: str) -> Said:
    Path("recipe.yaml").write_text(f"{RECIPE}    models: [{SAFEPUB}]\nreport: report.json\n")
    shown = run("anonymize", "recipe.yaml", "--json", "--overwrite", "--engine", engine)
    assert shown.code == 0, shown.err
    table = read("release.csv").table
    assert table.num_rows
    documents = {"--json": json.loads(shown.out), "errors": shown.err}
    documents |= {name: json.loads(Path(f"{name}.json").read_text()) for name in ("report", "certificate")}
    return Said(documents, figures(table))


def by_an_engine() -> Said:
    Path("recipe.yaml").write_text(
        f"{RECIPE}    models: [{{kind: KAnonymity, k: 4}}]\n    suppression_limit: 0.1\n"
    )
    assert run("anonymize", "recipe.yaml", "--overwrite", "--engine", "duckdb").code == 0
    return Said(
        {"certificate": json.loads(Path("certificate.json").read_text())}, figures(read("release.csv").table)
    )


def checked() -> Said:
    """What somebody prints who has the table and the certificate, and nothing else."""
    by_an_engine()
    shown = run("verify", "release.csv", "--certificate", "certificate.json", "--json")
    return Said({"--json": json.loads(shown.out)}, figures(read("release.csv").table))


def private_table() -> Said:
    shown = run(
        *("private-table", "people.csv", "-o", "private.csv", "--report", "report.json", "--overwrite"),
        *("--method", "marginal-tree", "--person", "patient", "--rows-per-person", "2", "--rho", "0.5"),
        *("--bounds", "age=0:120", "--domains", "sex=f|m", "--missing", "sex=f"),
        *("--neighbours", "one more or less"),
    )
    assert shown.code == 0, shown.err
    documents = {"terminal": shown.out.splitlines(), "report": json.loads(Path("report.json").read_text())}
    return Said(documents, figures(read("private.csv").table))


def answers() -> Said:
    Path("people.csv.budget.json").unlink(missing_ok=True)
    assert run("budget", "people.csv", "--epsilon", "3").code == 0
    shown = run(
        *(
            "ask",
            "people.csv",
            "--person",
            "null",
            "--count",
            "--mean",
            "age",
            "--histogram",
            "sex",
            "--json",
        ),
        *("--quantiles", "age=0.25,0.5", "--bounds", "age=0:120", "--missing", "age=leave out"),
        *("--keys", "sex=f|m", "--epsilon", "0.5"),
    )
    assert shown.code == 0, shown.err
    tree = json.loads(shown.out)
    drawn = {one for each in tree["answers"] for key in NOISY for one in tokens(json.dumps(each.get(key)))}
    return Said({"--json": tree}, drawn)


NOISY = ("value", "values", "interval", "intervals", "answer")


def workbook() -> Said:
    Path("recipe.yaml").write_text(
        RECIPE.replace("release.csv", "release.xlsx")
        + "    models: [{kind: KAnonymity, k: 4}]\n    suppression_limit: 0.1\n"
    )
    assert run("anonymize", "recipe.yaml", "--overwrite").code == 0
    with zipfile.ZipFile("release.xlsx") as package:
        parts = {each.filename: package.read(each).decode() for each in package.infolist()}
        beside = {
            each.filename: str((each.date_time, each.comment, each.extra)) for each in package.infolist()
        }
    return Said(
        {"parts": parts, "beside": beside},
        figures(read("release.xlsx").table) | set(map(str, range(1, 9999))),
    )


SURFACES: dict[str, Callable[[], Said]] = {
    "SafePub": lambda: safepub("memory"),
    "SafePub on an engine": lambda: safepub("duckdb"),
    "an engine": by_an_engine,
    "a check": checked,
    "a private table": private_table,
    "answers": answers,
    "a workbook": workbook,
}


@pytest.fixture(scope="module", params=SURFACES)
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("out")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        both = []
        for number, seed in ((2741, 3), (3907, 5)):
            people(folder, number, seed)
            both.append(SURFACES[request.param]())
    return both


def test_every_figure_has_an_origin(pair: Any) -> None:
    said, twin = pair
    assert leaks(said, twin) == []
    assert leaks(twin, said) == []


def test_a_planted_leak_is_found(pair: Any) -> None:
    said, twin = pair
    for name, leak in itertools.product(
        said.documents, (2741.517, "ab" * 32, "of 27411 people", {"27411": 1})
    ):
        tree = said.documents[name]
        for planted in ({"planted": leak, "document": tree}, [tree, leak], _with(tree, leak)):
            assert leaks(Said({name: planted}, said.released), twin), (name, leak)


def _with(tree: Any, leak: Any) -> Any:
    """Put a leak in the place of the first text, number or truth value that follows from something else than the clock."""
    if isinstance(tree, dict):
        key = next(key for key in tree if not CLOCK.fullmatch(key) and key != "files")
        return {**tree, key: _with(tree[key], leak)}
    return [_with(tree[0], leak), *tree[1:]] if isinstance(tree, list) and tree else leak
