"""No original value of a suppressed or generalized cell is in a report, in any of its forms.

Rare texts and numbers are put into every kind of column. They are looked for in everything that a report holds:
texts, entities, decoded pictures, PDF pages and properties, keys and values of JSON.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import veil
from support.report import FORMATS, everything_in, squeezed
from veil import KAnonymity
from veil import hierarchies as h
from veil.api.release import Release
from veil.masking import MDAV, GlobalRecoding, RandomPseudonyms
from veil.models import AlphaKAnonymity, DeltaPresence, Inclusion, TCloseness
from veil.report import collect_facts

TEXT, OTHER, NAME, JOB = "Xylomander", "Quorvex", "Ottokar Zwirbelwind", "Schnabelschuster"
NUMBER, INCOME = 734512.25, 918273
DAY = date(1903, 7, 19)
SENTINELS = (TEXT, OTHER, NAME, JOB, "Zwirbelwind", "734512", "918273", "1903-07-19", "1903-07")


def people(n: int = 120) -> pa.Table:
    """A hundred and twenty people, one of whom is rare in every respect."""
    rng = np.random.default_rng(3)
    town = [*rng.choice(["Ulm", "Bonn", "Trier"], n - 2).tolist(), TEXT, OTHER]
    return pa.table(
        {
            "name": [f"person {i}" for i in range(n - 1)] + [NAME],
            "town": town,
            "wealth": [*rng.integers(0, 50, n - 1).astype(float).tolist(), NUMBER],
            "income": [*rng.integers(1000, 1100, n - 1).tolist(), INCOME],
            "born": [date(1960, 1, 1) + timedelta(int(d)) for d in rng.integers(0, 9000, n - 1)] + [DAY],
            "job": [*rng.choice(["nurse", "cook"], n - 1).tolist(), JOB],
            "illness": rng.choice(["flu", "cold", "gout"], n).tolist(),
        }
    )


def plan(**changes: Any) -> dict[str, Any]:
    table = people()
    towns = sorted(set(table["town"].to_pylist()))
    given: dict[str, Any] = {
        "quasi_identifiers": {
            "town": h.table([[town, "*"] for town in towns]),
            "wealth": h.intervals(
                25, 50, lower=h.Bounds(limit=0), upper=h.Bounds(limit=1_000_000, coding=75)
            ),
            "income": h.ordering(50, order=[str(each) for each in sorted(set(table["income"].to_pylist()))]),
            "born": h.dates("year", "decade", root=True),
            "job": h.categories({"care": ["nurse"], "other": ["cook", JOB]}),
        },
        "sensitive": ["illness"],
        "identifying": ["name"],
        "models": [KAnonymity(3)],
        "suppression_limit": 0.6,
    }
    return {**given, **changes}


def anonymized(**changes: Any) -> Release:
    return veil.anonymize(people(), **plan(**changes))


def with_a_subset(subset: Any) -> Release:
    return anonymized(
        models=[KAnonymity(2), Inclusion(subset)], others="drop", sensitive=[], suppression_limit=1.0
    )


def microaggregated(how: str) -> Release:
    hierarchies = {
        name: each for name, each in plan()["quasi_identifiers"].items() if name in ("town", "born")
    }
    return veil.anonymize(
        people(),
        quasi_identifiers=hierarchies,
        microaggregated={"wealth": how, "income": how},
        models=KAnonymity(12),
        suppression_limit=1.0,
        identifying=["name", "job"],
        sensitive=["illness"],
    )


def kept_values() -> Release:
    """Everything at level 0 that can be, so that rare records are suppressed and frequent ones are not."""
    return veil.anonymize(
        people(),
        quasi_identifiers={"town": "suppression", "job": "suppression"},
        maximum_levels={"town": 0, "job": 0},
        identifying={"name": "mask", "wealth": "remove", "income": "remove", "born": "remove"},
        person=None,
        sensitive=["illness"],
        models=[KAnonymity(5)],
        suppression_limit=0.5,
    )


def dropped_sensitive() -> Release:
    """The rare income is sensitive here, and its record is dropped."""
    return veil.anonymize(
        people(),
        quasi_identifiers={"town": "suppression", "job": "suppression"},
        maximum_levels={"town": 0, "job": 0},
        identifying=["name", "born"],
        sensitive=["income", "illness"],
        insensitive=["wealth"],
        models=[AlphaKAnonymity("income", 0.9, 5, values=[str(INCOME)])],
        suppression_limit=0.5,
        suppressed_rows="drop",
    )


def with_a_sensitive_hierarchy() -> Release:
    jobs = h.table([["nurse", "care", "*"], ["cook", "else", "*"], [JOB, "else", "*"]])
    return veil.anonymize(
        people(),
        quasi_identifiers={"town": "suppression"},
        maximum_levels={"town": 0},
        identifying=["name", "born", "wealth", "income", "illness"],
        sensitive=["job"],
        models=[KAnonymity(5), TCloseness("job", 0.9, distance="hierarchical", hierarchy=jobs)],
        suppression_limit=0.5,
        suppressed_rows="drop",
    )


def masked() -> Release:
    """Each rare value is in a parameter or in a cell, and none of them in the output."""
    towns = dict.fromkeys(set(people()["town"].to_pylist()), "south")
    steps = [
        RandomPseudonyms("name"),
        GlobalRecoding("town", mapping=towns),
        GlobalRecoding("born", hierarchy=h.dates("decade"), level=1),
        GlobalRecoding("job", mapping={"nurse": "care", "cook": "other", JOB: "other"}),
        MDAV(["wealth", "income"], 10),
    ]
    return veil.mask(people(), steps)


RELEASES: dict[str, Callable[[], Release]] = {
    "masked": masked,
    "full domain": anonymized,
    "dropped rows": lambda: anonymized(suppressed_rows="drop"),
    "automatic hierarchies": lambda: anonymized(
        quasi_identifiers=dict.fromkeys(plan()["quasi_identifiers"], "auto")
    ),
    "locally recoded": lambda: anonymized(quality=veil.quality.Loss(factor=0.0)).local_recoding(),
    "all suppressed": lambda: veil.anonymize(
        people(),
        **{**plan(), "models": [KAnonymity(119)], "suppression_limit": 1.0},
        maximum_levels={"born": 0},
    ),
    "suppressed at level 0": kept_values,
    "dropped sensitive value": dropped_sensitive,
    "sensitive hierarchy": with_a_sensitive_hierarchy,
    "mean of the class": lambda: microaggregated("mean"),
    "median of the class": lambda: microaggregated("median"),
    "subset by rows": lambda: with_a_subset(list(range(100))),
    "subset by query": lambda: with_a_subset(f"wealth < {NUMBER}"),
    "subset by table": lambda: with_a_subset(people().slice(0, 100)),
    "presence": lambda: anonymized(
        models=[DeltaPresence(0.0, 1.0, subset=f"job != '{JOB}'")], others="drop", suppression_limit=1.0
    ),
}


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> Release:
    return RELEASES[request.param]()


def shown_in(table: pa.Table) -> str:
    return squeezed(
        "\n".join(str(value) for column in table.columns for value in column.unique().to_pylist())
    )


@pytest.fixture(scope="module")
def found(release: Release) -> dict[str, Any]:
    return collect_facts(release)


def test_no_original_value_is_in_the_facts(release: Release, found: dict[str, Any], tmp_path: Path) -> None:
    """Pages and pictures are made of the facts and of nothing else; some of them are read below all the same."""
    path = tmp_path / "report.json"
    path.write_text(json.dumps(found))
    check(release, path)


def check(release: Release, path: Path) -> None:
    told, released = squeezed(everything_in(path)), shown_in(release.arrow)
    hidden = [each for each in map(squeezed, SENTINELS) if each not in released]
    assert len(hidden) >= 5, "the release shows the rare values itself: the test would prove nothing"
    assert [each for each in hidden if each in told] == []


@pytest.mark.parametrize(
    ("kind", "format"),
    [
        ("full domain", "html"),
        ("full domain", "pdf"),
        ("suppressed at level 0", "html"),
        ("dropped sensitive value", "html"),
        ("locally recoded", "html"),
        ("masked", "html"),
        ("masked", "pdf"),
    ],
)
def test_no_original_value_is_in_the_report(kind: str, format: str, tmp_path: Path) -> None:
    release = RELEASES[kind]()
    check(release, release.report(tmp_path / f"report.{format}"))


def test_no_original_value_is_in_the_certificate_or_the_notebook(release: Release, tmp_path: Path) -> None:
    told = squeezed(release.certificate(tmp_path / "certificate.json").read_text() + release._repr_html_())
    released = shown_in(release.arrow)
    assert [each for each in map(squeezed, SENTINELS) if each not in released and each in told] == []


def test_the_test_would_find_a_value(tmp_path: Path) -> None:
    table = pa.table({"town": [TEXT, TEXT, "Ulm"], "wealth": [NUMBER] * 3})
    release = veil.anonymize(
        table, quasi_identifiers={"town": "identity"}, models=KAnonymity(1), others="keep"
    )
    for format in FORMATS:
        told = squeezed(everything_in(release.report(tmp_path / f"report.{format}")))
        assert TEXT in told, format
        assert "734512" in told, format
    assert "Ulm" in squeezed(everything_in(tmp_path / "report.html"))  # in a picture alone


def test_figures_of_few_values_are_withheld(tmp_path: Path) -> None:
    table = pa.table({"wealth": [NUMBER, None, None, None, 0.0, 0.0], "a": ["x"] * 6})
    release = veil.anonymize(
        table, quasi_identifiers={"wealth": h.intervals(1e6), "a": "suppression"}, models=KAnonymity(2),
        suppression_limit=1.0,
    )  # fmt: skip
    for format in ("html", "json"):
        told = squeezed(everything_in(release.report(tmp_path / f"report.{format}")))
        assert "734512" not in told
        assert "735000" not in told  # nor the mean of one value, rounded
