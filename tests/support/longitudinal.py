"""Tables of people with several rows, drawn at random, with plans for them and what was delivered."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

import veil
from support import oracle
from support.models import ours
from support.oracle.people import Longitudinal, breaches
from veil import hierarchies as h
from veil.api.release import Release
from veil.lattice import Optimal
from veil.recoding import FastIterative, FullDomain, Iterative

KNOWN = {"age": h.intervals(10, 20, 40), "sex": h.suppression(), "zip": h.redaction()}
VALUES = ["flu", "cold", "gout", "HIV"]


@dataclass
class Case:
    """A table, what is asked of it, and the same in the oracle's words."""

    table: pa.Table
    options: dict[str, Any]
    models: list[Any]

    @property
    def all_rows(self) -> bool:
        return bool(self.options["knows"] == "all rows")


def draw_table(chance: random.Random) -> pa.Table:
    """Draw people whose rows agree more or less: some have one, some have many."""
    steady = chance.choice([0.0, 0.5, 0.9, 1.0])
    rows = []
    for person in range(chance.randint(1, 14)):
        visits = chance.choice([1, 1, 2, 3, chance.randint(1, 12)])
        usual = _row(chance)
        for _ in range(visits):
            other = _row(chance)
            rows.append(
                (
                    f"p{person}",
                    *(u if chance.random() < steady else o for u, o in zip(usual, other, strict=True)),
                )
            )
    chance.shuffle(rows)
    columns = zip(*rows, strict=True)
    return pa.table(dict(zip(("who", "age", "sex", "zip", "dx"), map(list, columns), strict=True)))


def _row(chance: random.Random) -> tuple[Any, ...]:
    age = chance.choice([21, 25, 34, 38, 61, None])
    return (
        age,
        chance.choice("fm"),
        chance.choice(["110", "112", "241"]),
        chance.choice(VALUES[: chance.randint(1, 4)]),
    )


def draw_model(chance: random.Random) -> Any:
    """Draw a model that counts people."""
    return chance.choice(
        [
            oracle.KAnonymity(chance.randint(1, 4)),
            oracle.KMap(chance.randint(2, 6), chance.choice([20, 60]), 0.1),
            oracle.DistinctLDiversity("dx", chance.randint(1, 3)),
            oracle.EntropyLDiversity("dx", chance.choice([1.5, 2, 2.5]), "Shannon"),
            oracle.EntropyLDiversity("dx", chance.choice([1.5, 2]), "Grassberger"),
            oracle.RecursiveCLDiversity("dx", chance.choice([0.8, 1, 3]), chance.randint(1, 3)),
            oracle.AlphaKAnonymity("dx", chance.choice([0.4, 0.5, 0.7]), chance.randint(1, 3)),
            oracle.BetaLikeness("dx", chance.choice([0.3, 1, 2]), chance.random() < 0.5),
            oracle.DeltaDisclosure("dx", chance.choice([0.8, 1.5, 3])),
            oracle.TCloseness("dx", chance.choice([0.1, 0.3, 0.5]), chance.choice(["equal", "ordered"])),
            oracle.AverageReidentificationRisk(chance.choice([0.2, 0.4]), None, None),
            oracle.AverageReidentificationRisk(0.6, 0.5, 0.2),
            oracle.SampleUniqueness(chance.choice([0, 0.1, 0.3])),
        ]
    )


def draw(seed: int) -> Case:
    """Draw a case that a seed stands for."""
    chance = random.Random(seed)
    table = draw_table(chance)
    asked = [oracle.KAnonymity(chance.randint(1, 4))] + [
        draw_model(chance) for _ in range(chance.choice([0, 0, 1, 1, 2]))
    ]
    found = {type(each): each for each in asked}
    knows = chance.choice(["one row", "one row", "all rows"])
    names = chance.sample(list(KNOWN), chance.randint(1, 3))
    return Case(
        table,
        {
            "quasi_identifiers": {name: KNOWN[name] for name in names},
            "models": [ours(each) for each in found.values()],
            "sensitive": "dx",
            "others": "drop",
            "person": "who",
            "knows": knows,
            "suppression_limit": chance.choice([0.0, 0.1, 0.25, 0.5, 1.0]),
            "suppressed_rows": chance.choice(["blank", "blank", "drop"]),
            "quality": chance.choice(
                ["loss", "loss", "average_class_size", "discernibility", "precision", "entropy"]
            ),
            "strategy": Optimal(),
            "recoding": chance.choice(
                [FullDomain(), FullDomain(), FullDomain(), FastIterative(0.2), Iterative(0.3)]
            ),
        },
        list(found.values()),
    )


def owners(release: Release, table: pa.Table) -> list[Any]:
    """Whose row each delivered row is, by the key that the data holder keeps."""
    rows = pa.table(release.origins).to_pylist()
    whose = table["who"].to_pylist()
    return [whose[row["input row"]] for row in sorted(rows, key=lambda row: row["release row"])]


def wrongs(case: Case, release: Release) -> list[str]:
    """What an oracle finds that reads the delivered frame, and the key."""
    return wrong_rows(case, release.table.to_pylist(), owners(release, case.table))


def wrong_rows(case: Case, rows: list[dict[str, Any]], whose: list[Any]) -> list[str]:
    """What an oracle finds that reads delivered rows, given whose each is; of rows that show nothing it need not be known."""
    assert not rows or "who" not in rows[0]
    blank = [all(cell in ("*", None) for name, cell in row.items()) for row in rows]
    spelled = [{name: None if cell is None else str(cell) for name, cell in row.items()} for row in rows]
    known = list(case.options["quasi_identifiers"])
    shown = [i for i, nothing in enumerate(blank) if not nothing]
    table = Longitudinal([spelled[i] for i in shown], [whose[i] for i in shown], known)
    everybody = [(row["who"], row) for row in case.table.to_pylist()]
    found = [
        each for model in case.models for each in breaches(model, table, everybody, all_rows=case.all_rows)
    ]
    kept: dict[Any, int] = {}
    for i in shown:
        kept[whose[i]] = kept.get(whose[i], 0) + 1
    had: dict[Any, int] = {}
    for person, _ in everybody:
        had[person] = had.get(person, 0) + 1
    lost = [person for person in had if kept.get(person, 0) < had[person]]
    if len(lost) > case.options["suppression_limit"] * len(had) + 1e-9:
        found.append(f"{len(lost)} of {len(had)} people lose a row")
    if case.all_rows and any(kept.get(person, 0) for person in lost):
        found.append("somebody is suppressed in part")
    return found


def anonymized(case: Case) -> Release | None:
    """What Veil makes of a case; None if it says that there is nothing."""
    try:
        return veil.anonymize(case.table, **case.options, progress=False)
    except veil.errors.NoSolutionError:
        return None
    except veil.errors.PlanError as error:
        if "no release with any information" in str(error) or "should be" in str(error):
            return None  # more is asked than so few people can fulfil
        raise
