"""People with several rows, judged by what is delivered: by an oracle that reads the frame, and the key to know whose it is.

A short run of fixed seeds; `VEIL_FUZZ=5000` asks for that many.
"""

from __future__ import annotations

import os
import random
from collections import Counter

import pyarrow as pa
import pytest

import veil
from support.longitudinal import anonymized, draw, owners, wrongs
from support.oracle.people import Longitudinal
from support.refusals import refused
from veil import DistinctLDiversity, KAnonymity, masking
from veil import hierarchies as h
from veil.errors import NoSolutionError

MANY = int(os.environ.get("VEIL_FUZZ", "0")) or 150


def test_random_tables_models_and_limits() -> None:
    judged = shown = recoded = 0
    for seed in range(MANY):
        case = draw(seed)
        release = anonymized(case)
        if release is None:
            continue
        judged += 1
        recoded += len(release.passes)
        shown += release.suppressed < release.records
        assert wrongs(case, release) == [], f"seed {seed}: {case.options}"
        assert release.within_limit
        assert release.verification.holds
    assert judged > MANY / 2
    assert shown > MANY / 4
    assert recoded > MANY / 100


def visits() -> pa.Table:
    """Twenty patients with six visits each, as different as people are."""
    chance = random.Random(1)
    rows = []
    for patient in range(20):
        age, sex, zip_code = chance.randint(20, 80), chance.choice("fm"), str(chance.randint(10000, 99999))
        rows += [
            (f"P{patient}", age, sex, zip_code, chance.choice(["flu", "cold", "gout"])) for _ in range(6)
        ]
    columns = map(list, zip(*rows, strict=True))
    return pa.table(dict(zip(("who", "age", "sex", "zip", "dx"), columns, strict=True)))


PLAN = {
    "quasi_identifiers": {"age": h.intervals(5, 10, 20, 40), "sex": h.suppression(), "zip": h.redaction()},
    "models": KAnonymity(5),
    "sensitive": "dx",
}


def smallest(release: veil.api.release.Release, table: pa.Table, *, all_rows: bool) -> int:
    delivered = Longitudinal(release.table.to_pylist(), owners(release, table), ["age", "sex", "zip"])
    return min(len(group) for group in delivered.groups(all_rows=all_rows))


@pytest.mark.parametrize("knows", ["one row", "all rows"])
def test_twenty_patients_with_six_visits(knows: str) -> None:
    table = visits()
    rows = veil.anonymize(table, **PLAN, identifying="who", person=None)
    assert rows.score == 0  # nothing has to be done: everybody's six rows hide each other
    assert smallest(rows, table, all_rows=False) == 1
    release = veil.anonymize(table, **PLAN, person="who", knows=knows)
    assert "who" not in release.table.column_names
    assert smallest(release, table, all_rows=knows == "all rows") >= 5
    assert any("counting people" in finding.promise for finding in release.verification.findings)


def test_no_release_of_people_is_better_than_one_of_rows() -> None:
    compared = 0
    for seed in range(60):
        case = draw(seed)
        case.options |= {
            "models": KAnonymity(2),
            "suppression_limit": 0.0,
            "quality": "loss",
            "recoding": "full-domain",
        }
        people = anonymized(case)
        if people is None:
            continue
        case.options |= {"person": None, "knows": "one row"}
        rows = anonymized(case)
        assert rows is not None
        assert rows.score <= people.score
        compared += rows.score < people.score
    assert compared > 5


def test_somebody_in_every_class_and_somebody_with_ten_thousand_rows() -> None:
    ages = [21, 34, 45, 58] * 6
    who = [f"p{i}" for i in range(24)] + ["everywhere"] * 4 + ["often"] * 10_000
    table = pa.table({"who": who, "age": ages + [21, 34, 45, 58] + [21] * 10_000})
    release = veil.anonymize(
        table, quasi_identifiers={"age": h.intervals(20, 40)}, models=KAnonymity(8), person="who"
    )
    # Six people of each age, the one who is everywhere, and the one who is often 21 years old.
    counted = Longitudinal(release.table.to_pylist(), owners(release, table), ["age"])
    sizes = Counter(len(group) for group in counted.groups(all_rows=False))
    assert release.transformation == {"age": 1}
    assert sizes == Counter([14, 13])
    apart = veil.anonymize(
        table,
        quasi_identifiers={"age": h.intervals(20, 40)},
        models=KAnonymity(8),
        person="who",
        knows="all rows",
        suppression_limit=2 / 26,
    )
    # Nobody else has ten thousand rows, or four.
    assert apart.suppressed == 10_004
    assert apart.within_limit


def test_a_limit_is_a_share_of_people() -> None:
    """One of ten people has half of all rows, and is alone in what they show."""
    table = pa.table({"who": [f"p{i}" for i in range(9)] + ["x"] * 9, "sex": ["f"] * 9 + ["m"] * 9})
    plan = {"quasi_identifiers": {"sex": h.suppression()}, "models": KAnonymity(2), "person": "who"}
    assert veil.anonymize(table, **plan, suppression_limit=0.1).suppressed == 9
    tight = veil.anonymize(table, **plan, suppression_limit=0.09)
    assert (tight.suppressed, tight.transformation) == (0, {"sex": 1})


def test_the_oracle_notices() -> None:
    """What is fine for rows is not for people: the oracle that is asked above says so."""
    noticed: Counter[str] = Counter()
    for seed in range(120):
        case = draw(seed)
        case.options |= {"person": None, "knows": "one row"}
        release = anonymized(case)
        if release is not None:
            noticed.update({each.split("(")[0] for each in wrongs(case, release)})
    assert {"KAnonymity", "DistinctLDiversity", "RecursiveCLDiversity", "TCloseness"} <= set(noticed)


def test_who_asks_for_diversity_is_told_that_people_show_several_values() -> None:
    """Everybody shows both diagnoses, so that all of a class could be counted for one."""
    table = pa.table({"who": [0, 0, 1, 1, 2, 2], "age": [30] * 6, "dx": ["flu", "HIV"] * 3})
    plan = {"quasi_identifiers": {"age": h.intervals(10)}, "sensitive": "dx", "person": "who"}
    with refused(NoSolutionError, "3 of 3", "people", "'dx'"):
        veil.anonymize(table, **plan, models=DistinctLDiversity("dx", 2))
    with refused(NoSolutionError, "3 of 3", "people", "'dx'"):
        veil.mask(table, masking.Mondrian(["age"], DistinctLDiversity("dx", 2)), person="who")
