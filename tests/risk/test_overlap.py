"""Several releases together: the lecture's John, Adult, and what a slow twin finds."""

from __future__ import annotations

import itertools
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from support.realdata import QUASI_IDENTIFIERS, hierarchies, needs_data, source
from support.refusals import refused
from veil import DistinctLDiversity, KAnonymity, TCloseness
from veil.errors import InputError, PlanError
from veil.hierarchies import Hierarchy
from veil.published.table import Published
from veil.risk import intersection
from veil.risk.overlap import Intersection
from veil.tables.rows import Rows

FIRST = pa.table(
    {
        "zip": ["940**"] * 9,
        "age": ["<30"] * 3 + ["3*"] * 3 + [">39"] * 3,
        "ill": ["HIV", "Heart disease", "Cancer", "Cancer", "Lung oedema", "Pelvic fracture", "HIV", "Hepatitis", "Common cold"],
    }
)  # fmt: skip
SECOND = pa.table(
    {
        "zip": ["940**"] * 10,
        "age": ["<40"] * 5 + ["4*"] * 5,
        "ill": ["HIV", "Common cold", "Lung oedema", "Common cold", "Lung oedema", "Irritation", "Pelvic fracture", "HIV",
                "Common cold", "Common cold"],
    }
)  # fmt: skip


def test_john() -> None:
    found = intersection(FIRST, SECOND, sensitive="ill")
    told = {
        tuple(labels["age"] for labels in overlap.classes): overlap.candidates for overlap in found.overlaps
    }
    assert told == {
        ("<30", "<40"): ("HIV",),
        ("3*", "<40"): ("Lung oedema",),
        (">39", "4*"): ("Common cold", "HIV"),
    }
    assert found.worst == 1
    assert found.counts == {1: 2, 2: 1}
    assert found.people is None


def strongest(table: pa.Table, model: type[Any]) -> dict[str, float]:
    published = Published(Rows.of(table), ["zip", "age"])
    return {each.parameter: each.value for each in model.strongest(published, ["ill"])}


def test_the_lecture_says_4_diverse_and_the_table_is_3_diverse() -> None:
    assert strongest(FIRST, DistinctLDiversity)["l"] == 3
    assert strongest(SECOND, DistinctLDiversity)["l"] == 3
    assert strongest(SECOND, KAnonymity)["k"] == 5


def test_closeness_does_not_help_john() -> None:
    for table, t in ((FIRST, 0.556), (SECOND, 0.2)):
        found = TCloseness("ill", t).verify(Published(Rows.of(table), ["zip", "age"]))
        assert found.holds
        assert not TCloseness("ill", t - 0.01).verify(Published(Rows.of(table), ["zip", "age"])).holds


@needs_data
def test_adult() -> None:
    names = QUASI_IDENTIFIERS["adult"]
    table = source("adult").table.select([*names, "occupation"])
    releases = []
    for levels, suppressed in (((0, 4, 0, 1, 0, 1, 1, 0), 1367), ((0, 2, 0, 0, 3, 1, 1, 0), 1247)):
        at = dict(zip(names, levels, strict=True))
        release = veil.anonymize(
            table,
            quasi_identifiers=hierarchies("adult", names),
            sensitive=["occupation"],
            models=[KAnonymity(5), DistinctLDiversity("occupation", 3)],
            minimum_levels=at,
            maximum_levels=at,
            suppression_limit=1.0,
        )
        assert release.suppressed == suppressed
        releases.append(release)
    found = intersection(*releases, sensitive="occupation")
    assert found.people == 28_171
    assert found.worst == 1
    assert (found.counts[1], found.counts[2]) == (9, 118)
    assert sum(found.counts.values()) == 28_171
    # Without the key, the tables alone show the same worst case.
    blind = intersection(
        *(each.arrow for each in releases),
        sensitive="occupation",
        quasi_identifiers=names,
        hierarchies=hierarchies("adult", names),
    )
    assert blind.worst == 1


A_RELEASE = st.lists(
    st.tuples(st.sampled_from(["1*", "2*", "**", "<15", ">=15", "12", "21"]), st.sampled_from("xyz"), st.sampled_from(["a", "b", "c", None, "", "*"])),
    min_size=1,
    max_size=6,
)  # fmt: skip

MEANING = {
    "1*": set(range(10, 20)), "2*": set(range(20, 30)), "**": set(range(10, 30)), "<15": set(range(10, 15)),
    ">=15": set(range(15, 30)), "12": {12}, "21": {21},
}  # fmt: skip

BLANKS: set[Any] = {None, "", "*"}


def slow(releases: list[list[tuple[str, str, str | None]]]) -> dict[int, int]:
    """Every combination of classes, by the sets that labels mean; a blank is no value, and may hide any.

    A blank leaves nobody a further value, unless nobody could be in all classes without it.
    """
    domain = {row[2] for rows in releases for row in rows} - BLANKS
    classes = [
        {key: {row[2] for row in rows if row[:2] == key} for key in {row[:2] for row in rows}}
        for rows in releases
    ]
    counts: dict[int, int] = {}
    for keys in itertools.product(*classes):
        ages = all(MEANING[a[0]] & MEANING[b[0]] for a, b in itertools.combinations(keys, 2))
        if ages and len({key[1] for key in keys}) == 1:
            held = [each[key] for each, key in zip(classes, keys, strict=True)]
            left = set.intersection(*((each - BLANKS) or domain for each in held))
            left = left or set.intersection(*(domain if each & BLANKS else each for each in held))
            if left:
                counts[len(left)] = counts.get(len(left), 0) + 1
    return counts


@settings(max_examples=80, deadline=None)
@given(st.lists(A_RELEASE, min_size=2, max_size=3))
def test_tables_agree_with_the_slow_twin(releases: list[list[tuple[str, str, str | None]]]) -> None:
    tables = [
        pa.table({"age": [r[0] for r in rows], "sex": [r[1] for r in rows], "ill": [r[2] for r in rows]})
        for rows in releases
    ]
    assert intersection(*tables, sensitive="ill", quasi_identifiers=["age", "sex"]).counts == slow(releases)


def test_hierarchies_say_what_labels_cover() -> None:
    job = Hierarchy.from_rows([["nurse", "health", "*"], ["vet", "health", "*"], ["clerk", "office", "*"]])
    first = pa.table({"job": ["health", "office"], "ill": ["flu", "gout"]})
    second = pa.table({"job": ["nurse", "clerk"], "ill": ["flu", "flu"]})
    found = intersection(first, second, sensitive="ill", hierarchies={"job": job})
    assert [[each["job"] for each in overlap.classes] for overlap in found.overlaps] == [["health", "nurse"]]


def test_columns_that_only_one_release_has_exclude_nobody() -> None:
    found = intersection(FIRST.drop_columns("zip"), SECOND, sensitive="ill")
    assert found.counts == {1: 2, 2: 1}
    with refused(PlanError, "no column 'il'"):
        intersection(FIRST, SECOND, sensitive="il")
    with refused(InputError, "only for releases"):
        intersection(FIRST, SECOND, sensitive="ill", person="name")


def released(table: pa.Table, k: int = 2) -> Any:
    return veil.anonymize(
        table,
        quasi_identifiers={"age": veil.hierarchies.intervals(10, 20)},
        sensitive=["ill"],
        identifying=["who"],
        models=[KAnonymity(k)],
    )


def test_people_are_followed_through_releases_of_different_tables() -> None:
    first = pa.table({"who": list("ABCD"), "age": [21, 22, 23, 24], "ill": ["flu", "gout", "flu", "cold"]})
    second = pa.table({"who": list("ADX"), "age": [21, 24, 25], "ill": ["flu", "cold", "gout"]})
    found = intersection(released(first), released(second), sensitive="ill", person="who")
    assert (found.people, found.counts) == (2, {3: 2})


def test_a_blank_leaves_nobody_a_further_value() -> None:
    def found(*classes: list[str | None]) -> Intersection:
        tables = [pa.table({"age": ["2*"] * len(ill), "ill": pa.array(ill, pa.string())}) for ill in classes]
        return intersection(*tables, sensitive="ill")

    assert found(["flu", None], ["flu", None]).overlaps[0].candidates == ("flu",)
    assert found(["gout", None], ["flu", "flu"]).overlaps[0].candidates == (
        "flu",
    )  # theirs is the blank cell
    assert found([None, "*"], ["flu", "gout"]).worst == 2  # the first tells nothing
    assert found(["gout"], ["flu"]).worst == 0
    assert found([None], [None]).worst == 0


# People with several rows


def visits(table: pa.Table, k: int = 2, **options: Any) -> Any:
    return veil.anonymize(
        table,
        quasi_identifiers={"age": veil.hierarchies.intervals(10, 20)},
        sensitive=["ill"],
        identifying=["who"],
        models=[KAnonymity(k)],
        person="who",
        **options,
    )


VISITS = pa.table(
    {"who": list("AAAABBCC"), "age": [21] * 8, "ill": ["flu"] * 3 + ["gout"] + ["cold"] * 2 + ["flu", "flu"]}
)


def test_people_with_several_rows_count_once() -> None:
    found = intersection(visits(VISITS), visits(VISITS), sensitive="ill")
    assert (found.people, found.counts) == (3, {3: 3})
    assert found.overlaps[0].people == 3
    found = intersection(visits(VISITS), visits(VISITS.slice(1)), sensitive="ill", person="who")
    assert (found.people, found.counts) == (3, {3: 3})


def test_one_release_that_knows_people_is_enough() -> None:
    rows = veil.anonymize(
        VISITS,
        quasi_identifiers={"age": veil.hierarchies.intervals(10, 20)},
        sensitive=["ill"],
        identifying=["who"],
        models=[KAnonymity(2)],
        person=None,
    )
    assert intersection(rows, rows, sensitive="ill").people == 8
    assert intersection(rows, visits(VISITS), sensitive="ill").people == 3
    assert intersection(visits(VISITS), rows, sensitive="ill").people == 3


def test_of_several_rows_the_worst_one_counts() -> None:
    """B has a row in a class that shows cold alone, and another one in a class of two values."""
    table = pa.table({"who": list("ABBC"), "age": [21, 21, 41, 41], "ill": ["cold", "cold", "flu", "gout"]})
    other = pa.concat_tables([table, pa.table({"who": ["D"], "age": [61], "ill": ["flu"]})])
    releases = (visits(each, 1, knows="all rows", order="input") for each in (table, other))
    found = intersection(*releases, sensitive="ill", person="who")
    assert (found.people, found.counts) == (3, {1: 2, 2: 1})
