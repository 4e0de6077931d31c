"""Anonymizing part by part: every part as if it were a table of its own, and the whole keeps every promise."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, Phase, assume, example, given, settings
from hypothesis import strategies as st

from support import refusals
from support.engines.counting import Rows
from support.engines.people import HIERARCHIES, people, records
from support.masking.partition import Case, Column, cases
from veil import hierarchies as h
from veil import models as m
from veil.api.anonymize import anonymize
from veil.api.release import Release
from veil.engines.dialects import collect
from veil.engines.parts.check import check_staged
from veil.errors import InputError, NoSolutionError, PlanError, VeilError
from veil.masking import Mondrian
from veil.plan.plan import Plan
from veil.published.finding import Verification
from veil.tables.arrow import normalize

sometimes = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
QUASI_IDENTIFIERS = {name: HIERARCHIES[name] for name in ("city", "smoker")}


def plan(*models: Any, **options: Any) -> Plan:
    return Plan(
        QUASI_IDENTIFIERS,
        models or (m.KAnonymity(3),),
        **{"sensitive": ("diagnosis",), "others": "keep", "suppression_limit": 0.2} | options,
    )


def shown(result: Any) -> pa.Table:
    return collect(result.table._find_backend(), result.table)


def transformations(result: Release) -> list[dict[str, int]]:
    return [each.transformation for each in result.passes]


def checked(result: Release, staged: Any) -> Verification:
    return check_staged(result.outcome.source.blocks, result.outcome, staged)


@pytest.fixture(scope="module")
def connection() -> Any:
    import ibis

    return ibis.duckdb.connect()


_UNLISTED = Case(
    [
        Column([*"aacaaaaaaaaaaaaa", None, "b"], [["a", "1", "*"], ["b", "1", "*"], ["c", "2", "*"]]),
        Column(list("beacbdbbcaaebdbbba"), [[value] for value in "abcde"]),
    ],
    {"S": ["a"] * 18, "T": list("xxxxxxxxyxxyxyxxyy"), "I": ["a"] * 18},
)


@pytest.mark.slow
@sometimes
@example(_UNLISTED, 2, True, 0.3, 3)
@given(cases(trees=True), st.integers(1, 3), st.booleans(), st.sampled_from([0.0, 0.3]), st.integers(1, 8))
def test_each_part_is_anonymized_as_a_table_of_its_own(
    connection: Any, case: Case, k: int, diverse: bool, limit: float, most: int
) -> None:
    """A part is labelled by the hierarchies of the whole table: a missing value elsewhere counts as a value of its domain."""
    table = normalize(case.table).append_column("person", pa.array(range(case.size)))
    models: Any = (m.KAnonymity(k), *([m.DistinctLDiversity("T", 2)] if diverse else []))
    asked = Plan(case.hierarchies, models, sensitive=("T",), others="keep", suppression_limit=limit)
    held = connection.create_table("random", table, overwrite=True)
    try:
        found = anonymize(held, asked, parts=most or True)
    except (
        VeilError
    ):  # too few records or values; or several trees, which Mondrian holds together, and a plan does not
        assume(False)
    rows = Rows(table, Mondrian(case.hierarchies, models))
    domains = {name: each.build(*_counted(table[name]), name) for name, each in case.hierarchies.items()}
    known = replace(
        asked, quasi_identifiers={name: h.table(each.to_rows()) for name, each in domains.items()}
    )
    expected: Counter[tuple[Any, ...]] = Counter()
    suppressed = 0
    for part, transformation in zip(found.outcome.source.blocks.parts, transformations(found), strict=True):
        alone = anonymize(table.take(pa.array(rows.rows(part.box))), known)
        release = alone.search.apply(transformation)
        assert release.score == alone.score
        suppressed += release.suppressed
        expected += records(release.arrow.select(table.column_names))
    assert found.suppressed == suppressed <= limit * case.size
    assert records(shown(found)) == expected
    classes = Counter(row[: len(case.names)] for row in expected.elements())
    assert all(size >= k for labels, size in classes.items() if set(labels) != {"*"})


@pytest.mark.parametrize("recoding", ["cells", "subtree"])
@settings(sometimes, phases=[Phase.explicit, Phase.generate])
@given(cases(trees=True), st.integers(2, 3), st.booleans(), st.sampled_from([0.0, 0.3]), st.integers(4, 12))
def test_labels_of_rows_by_parts_keep_every_promise(
    connection: Any, recoding: str, case: Case, k: int, diverse: bool, limit: float, most: int
) -> None:
    table = normalize(case.table).append_column("person", pa.array(range(case.size)))
    models: Any = (m.KAnonymity(k), *([m.DistinctLDiversity("T", 2)] if diverse else []))
    asked = Plan(
        case.hierarchies, models, sensitive=("T",), others="keep", suppression_limit=limit,
        recoding=recoding, time_limit=0.1,
    )  # fmt: skip
    held = connection.create_table("random", table, overwrite=True)
    try:
        release = anonymize(held, asked, parts=most)
    except VeilError:  # too few records or values
        assume(False)
    rows = shown(release).to_pylist()
    origins = {row["person"]: row for row in table.to_pylist()}
    visible = [row for row in rows if row["person"] is not None]
    assert release.suppressed == len(rows) - len(visible) <= limit * case.size
    classes: dict[tuple[Any, ...], list[Any]] = {}
    loss, ambiguous = 0.0, False
    for row in visible:
        before = origins[row["person"]]
        classes.setdefault(tuple(row[name] for name in case.names), []).append(row["T"])
        assert row["T"] == before["T"]
        for name, hierarchy in case.hierarchies.items():
            built = hierarchy.build(*_counted(table[name]), name)
            chain = next(each for each in built.to_rows() if each[0] == before[name])
            losses = _losses(built, before[name])
            possible = {each for label, each in zip(chain, losses, strict=True) if label == row[name]}
            ambiguous |= len(possible) > 1  # a text on two levels that do not cover as much
            loss += min(possible)
    assert all(len(values) >= k for values in classes.values())
    assert not diverse or all(len(set(values) - {None}) >= 2 for values in classes.values())
    loss = (loss / len(case.names) + len(rows) - len(visible)) / len(rows)
    assert (
        release.search.score > loss - 1e-6
        if ambiguous
        else release.search.score == pytest.approx(loss, abs=1e-6)
    )
    assert release.search.lower_bound is None or release.search.lower_bound < release.search.score + 1e-9


def _losses(hierarchy: Any, value: Any) -> list[float]:
    """The loss of a value on each level."""
    code, size = hierarchy.labels[0].index(value), hierarchy.domain_size
    return [
        float(shares[hierarchy.label_map(level)[code]] * size - 1) / max(1, size - 1)
        for level, shares in enumerate(hierarchy.shares)
    ]


def _counted(column: pa.ChunkedArray) -> tuple[pa.Array, pa.Array]:
    counts = column.value_counts()
    return counts.field("values"), counts.field("counts")


def test_one_part_is_the_best_transformation_of_the_table(connection: Any) -> None:
    held = connection.create_table("people", people(), overwrite=True)
    whole = anonymize(people(), plan())
    found = anonymize(held, plan(), parts=True)
    assert transformations(found) == [whole.transformation]
    assert found.facts["parts"] == 1
    assert found.facts["cost"].startswith("none")
    measures = whole.measures()
    assert {name: found.facts[name] for name in measures} == pytest.approx(measures)
    assert found.suppressed == whole.suppressed
    assert found.measures() == pytest.approx(anonymize(held, plan()).measures())


def test_parts_gain_and_borders_cost(connection: Any) -> None:
    """The old are few and far between: one transformation for all makes everybody pay for them."""
    ages = [20, 20, 21, 21, 22, 22, 23, 23, 60, 67, 74, 88]
    table = pa.table({"age": ages})
    asked = Plan({"age": h.intervals(10, 50, 100)}, (m.KAnonymity(2),))
    found = anonymize(connection.create_table("ages", table, overwrite=True), asked, parts=4)
    assert sorted(each["age"] for each in transformations(found)) == [0, 2]
    assert found.facts["cost"].startswith("unknown")
    assert found.measures()["loss"] < anonymize(table, asked).measures()["loss"]


def test_distributions_are_compared_with_the_whole_table(connection: Any) -> None:
    """All of a part have the flu, which is no news within the part, but is in the whole table."""
    table = pa.table({"age": [1, 2, 51, 52], "diagnosis": ["flu", "flu", "cold", "cold"]})
    held = connection.create_table("flu", table, overwrite=True)
    columns = {"age": h.intervals(50, 100)}
    loose = Plan(columns, (m.TCloseness("diagnosis", 0.5),), sensitive=("diagnosis",))
    strict = Plan(columns, (m.TCloseness("diagnosis", 0.4),), sensitive=("diagnosis",))
    assert anonymize(held, loose, parts=2).facts["parts"] == 2
    assert set(shown(anonymize(held, strict, parts=2))["age"].to_pylist()) == {"[0, 100["}


@pytest.mark.parametrize("most", [None, 3])
def test_saved_without_the_columns_that_go(connection: Any, tmp_path: Path, most: int | None) -> None:
    held = connection.create_table("people", people(), overwrite=True)
    asked = plan(identifying={"name": "remove"}, insensitive=("cost",), others="drop")
    found = anonymize(held, asked, parts=most or True)
    assert (found.facts["parts"] > 1) == (most is not None)
    found.save(tmp_path / "release.parquet")
    written = pq.read_table(tmp_path / "release.parquet")
    assert written.column_names == ["city", "smoker", "cost", "diagnosis"]
    assert records(written) == records(shown(found))
    hidden = sum(set(row[:2]) == {"*"} for row in records(written).elements())
    assert hidden == found.suppressed


def test_what_was_tampered_with_is_found(connection: Any) -> None:
    found = anonymize(connection.create_table("people", people(), overwrite=True), plan(), parts=3)
    made = shown(found)
    assert checked(found, connection.create_table("staged", made, overwrite=True)).holds
    cities = made["city"].to_pylist()
    cities[0] = "Oslo"
    wrong = made.set_column(made.column_names.index("city"), "city", pa.array(cities))
    assert not checked(found, connection.create_table("staged", wrong, overwrite=True)).holds


def test_a_part_needs_the_class_size_that_the_whole_table_needs(connection: Any) -> None:
    """Of a part alone, k-map would derive classes of 4, which are not enough for the table."""
    table = connection.create_table("for_k_map", pa.table({"age": [20 + i // 2 for i in range(40)]}))
    model = m.KMap(8, population=100, significance=0.1)
    assert (model.derived_class_size(40), model.derived_class_size(10)) == (8, 4)
    made = anonymize(table, Plan({"age": h.intervals(2, 4, 8, 16, 32, 64)}, model), parts=6)
    assert len(made.passes) > 1
    assert made.verification.holds
    assert min(Counter(shown(made)["age"].to_pylist()).values()) >= 8


def test_what_cannot_be_done_part_by_part_is_refused(connection: Any) -> None:
    held = connection.create_table("people", people(), overwrite=True)
    refused = {
        "monotone under generalization": plan(m.DeltaDisclosure("diagnosis", 1)),
        "can only be removed": plan(identifying={"name": "mask"}),
        'say suppressed_rows="blank"': plan(suppressed_rows="drop"),
        "stay and are blank": plan(suppressed_rows="keep cells"),
    }
    for said, asked in refused.items():
        with pytest.raises(PlanError, match=said):
            anonymize(held, asked, parts=True)
    with refusals.refused(InputError, "already in memory"):
        anonymize(people(), plan(), parts=True)
    with refusals.refused(NoSolutionError, "a part of", "no transformation"):
        anonymize(held, plan(maximum_levels={"city": 0, "smoker": 0}, suppression_limit=0.0), parts=True)
