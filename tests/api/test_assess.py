"""What `veil.assess` says a table fulfils, printed and promised again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import veil
from support.cli import veil as command
from support.refusals import refused
from veil import hierarchies as h
from veil import models as M
from veil.errors import PlanError
from veil.models.base import PrivacyModel

TREE = h.table([["v", "left", "*"], ["w", "left", "*"], ["x", "right", "*"], ["y", "right", "*"]])
PEOPLE = 10_000

tables = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("pq"), st.sampled_from("vwxy")), min_size=1, max_size=40
)


def promised(
    model: str, parameter: str, value: str, attribute: str | None, subset: list[int] | None
) -> PrivacyModel:
    """Make the model that a line of an assessment speaks of."""
    number = float(value) if "." in value or "e" in value else int(value)
    name, form = re.fullmatch(r"([^(]+?)(?: \((.*)\))?", parameter).groups()  # type: ignore[union-attr]
    known = dict(re.findall(r"(\w+) = ([\d.]+)", form or ""))
    match model:
        case "KAnonymity" | "DistinctLDiversity" | "SampleUniqueness":
            given: dict[str, Any] = {}
        case "SubsetKAnonymity" | "KMAnonymity":
            given = {"m": int(known["m"])}
        case "KMap" if form is None:
            given = {"subset": subset}
        case "KMap":
            given = {"population": PEOPLE, "estimator": form}
        case "EntropyLDiversity":
            given = {"estimator": form or "shannon"}
        case "RecursiveCLDiversity":
            given = {"l": int(known["l"])}
        case "AlphaKAnonymity":
            given = {"k": int(known["k"])}
        case "TCloseness":
            given = {"distance": form, "hierarchy": TREE if form == "hierarchical" else None}
        case "DeltaDisclosure" | "RatioDistance":
            given = {}
        case "BetaLikeness":
            given = {"enhanced": form == "enhanced"}
        case "DeltaPresence":
            given = {"minimum": 0, "maximum": 1, "subset": subset}
        case "AverageReidentificationRisk":
            given = {"average": 1, "highest": float(known["highest"]) if known else None}
        case "PopulationUniqueness":
            given = {"population": PEOPLE, "model": form}
        case "Profitability":
            attacker = "journalist" if "journalist" in str(form) else "prosecutor"
            given = {"no_attack": True, "attacker": attacker, "cost": 1, "subset": subset}
            name = "adversary_gain"
    if attribute:
        given["attribute"] = attribute
    return getattr(M, model)(**{**given, name: number})  # type: ignore[no-any-return]


def lines_of(text: str) -> list[tuple[str, str, str, str | None]]:
    """Read what an assessment prints: model, parameter, value and attribute of each line."""
    found = [re.fullmatch(r"(\w+)(?:\((\w+)\))?: (.*) = (\S+)", line) for line in text.splitlines()]
    return [(each[1], each[3], each[4], each[2]) for each in found]  # type: ignore[index]


def test_every_model_that_can_be_assessed_is_covered_below() -> None:
    rows = [("a", "p", "v"), ("a", "p", "w"), ("b", "q", "v"), ("b", "q", "w"), ("c", "q", "x")]
    found = assessed(rows, [0, 1, 2, 3])
    models = {model for model, *_ in lines_of(str(found))} | {"KMAnonymity", "Inclusion"}
    assert models == {model.__name__ for model in M.MODELS.values()}


def assessed(rows: list[tuple[str, str, str]], subset: list[int] | None) -> veil.api.assess.Assessment:
    return veil.assess(
        table_of(rows),
        quasi_identifiers=["q", "r"],
        sensitive="s",
        hierarchies={"s": TREE},
        population=PEOPLE,
        subset=subset,
    )


def table_of(rows: list[tuple[str, str, str]]) -> pa.Table:
    return pa.table(dict(zip("qrs", zip(*rows, strict=True), strict=True)))


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables)
def test_what_is_printed_holds_when_promised(rows: list[tuple[str, str, str]]) -> None:
    hierarchies: dict[str, Any] = {"q": h.identity(), "r": h.identity()}
    for line in lines_of(str(assessed(rows, None))):
        model = promised(*line, None)
        sensitive = ["s"] if model.attribute_names else []
        found = veil.verify(table_of(rows), veil.Plan(hierarchies, model, sensitive=sensitive, others="keep"))
        assert found.holds, (line, str(found))


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(tables, st.data())
def test_what_is_printed_of_a_research_subset_holds_when_promised(
    rows: list[tuple[str, str, str]], data: st.DataObject
) -> None:
    subset = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, unique=True))
    for line in lines_of(str(assessed(rows, subset))):
        if line[0] in ("KMap", "DeltaPresence", "Profitability") and "poisson" not in line[1]:
            veil.anonymize(  # refuses what does not hold, and verifies the rest
                table_of(rows),
                quasi_identifiers={"q": h.identity(), "r": h.identity()},
                models=[promised(*line, subset), M.Inclusion(subset)],
                others="keep",
            )


@pytest.mark.parametrize("subset", [[], "s = 'nobody'"])
def test_an_empty_subset_is_refused(subset: Any) -> None:
    with refused(PlanError, "research subset", "empty"):
        veil.assess(table_of([("a", "p", "v")]), quasi_identifiers="q", subset=subset)


def test_the_command_prints_what_holds_and_json_has_all_digits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    q = ["a"] * 3 + ["b"] * 4 + ["c"] * 7
    Path("t.csv").write_text(
        "q,s\n" + "".join(f"{a},{b}\n" for a, b in zip(q, "xyzxxyzxyyzwwx", strict=True))
    )
    arguments = ("assess", "t.csv", "--qi", "q", "--sensitive", "s")
    shown = command(*arguments).out
    for expected in ("c (l = 2) = 1.00001", "t (equal) = 0.178572", "l = 2.82842 ", "delta = 1.00001"):
        assert expected in shown
    ran = command(*arguments, "--json", "--output", "figures.json")
    found = json.loads(ran.out)
    assert json.loads(Path("figures.json").read_text()) == found
    values = {(each["model"], each["parameter"]): each["value"] for each in found["strengths"]}
    assert values["TCloseness", "t (equal)"] == 0.17857142857142858
    assert found["risk"]["classes"] == 3
    assert found["suppressed"] == 0
    assert command(*arguments, "--output", "figures.json").code == 2
