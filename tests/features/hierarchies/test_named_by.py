"""Labels that are made of the data name what is published, and nothing that only a suppressed record has."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import veil
from veil import KAnonymity
from veil import hierarchies as h
from veil.hierarchies import BUILDERS, LabelFunction
from veil.recoding import SinglePass

AGES = [*range(91, 98)] * 3 + [103]
PLAN: dict[str, Any] = {"models": KAnonymity(3), "suppression_limit": 0.1, "others": "keep"}


def texts_of(release: Any) -> str:
    return " ".join(str(each) for column in release.arrow.columns for each in column.to_pylist())


@pytest.mark.parametrize(
    "label",
    [
        "interval",
        "bounds",
        "set",
        "mean",
        "geometric_mean",
        "prefix",
        "prefixes",
        LabelFunction("prefix", fill="+"),
    ],
)
@pytest.mark.parametrize("rows", [{}, {"suppressed_rows": "drop"}])
def test_no_label_tells_the_oldest_whose_record_is_suppressed(label: Any, rows: dict[str, Any]) -> None:
    """One person of 103 in a ward of her own: nothing of the release may depend on her age."""
    wards = ["a"] * 21 + ["b"]
    builder = h.ordering(20, label=label)
    tables = []
    for oldest in (103, 98, 119):
        release = veil.anonymize(
            pa.table({"age": [*AGES[:-1], oldest], "ward": wards}),
            quasi_identifiers={"age": builder, "ward": h.identity()},
            **PLAN | rows | {"minimum_levels": {"age": 1}, "maximum_levels": {"age": 1}},
        )
        assert release.suppressed == 1
        tables.append(sorted(map(str, release.arrow.to_pylist())))
    assert tables[0] == tables[1] == tables[2]
    (with_her,) = builder.build(pa.array(sorted({*AGES})), np.ones(8), "age").labels[1]
    assert repr(with_her) not in str(tables[0])  # the control: she would show


@pytest.mark.parametrize("align", ["left", "right"])
@pytest.mark.parametrize("start", ["left", "right"])
def test_the_length_of_labels_is_that_of_published_values(align: Any, start: Any) -> None:
    names = ["anna", "anne", "anni"] * 4 + ["wolfeschlegelsteinhausen"]
    for character in ("*", "#"):
        builder = h.redaction(align=align, start=start, character=character, padding="_")
        release = veil.anonymize(pa.table({"name": names}), quasi_identifiers={"name": builder}, **PLAN)
        assert release.suppressed == 1
        shown = {each for each in release.arrow["name"].to_pylist() if each != "*"}
        assert {len(each) for each in shown} == {4}
        long = builder.build(pa.array(sorted(set(names))), np.ones(4), "name")
        assert {len(label) for label in long.labels[1]} == {24}  # the control


def test_a_hierarchy_that_was_built_before_has_the_labels_of_its_owner() -> None:
    built = h.ordering(40, 200, label="interval").build(pa.array(range(120)), np.ones(120), "age")
    release = veil.anonymize(
        pa.table({"age": AGES}), quasi_identifiers={"age": built}, **PLAN | {"minimum_levels": {"age": 1}}
    )
    assert {*release.arrow["age"].to_pylist()} == {"[80, 119]"}


def test_local_recoding_names_what_each_part_publishes() -> None:
    """Also where labels of two levels are made of the same values: they are different labels, of different classes."""
    ages = [20, 21, 22] * 4 + [30, 31, 39]
    wards = ["a"] * 12 + ["b"] * 3
    release = veil.anonymize(
        pa.table({"age": ages, "ward": wards}),
        quasi_identifiers={"age": h.ordering(3, 2, label="interval"), "ward": h.identity()},
        **PLAN | {"suppression_limit": 0.9, "models": KAnonymity(4), "minimum_levels": {"age": 1}},
        recoding=SinglePass(),
    )
    assert release.verification.holds
    assert "30" not in texts_of(release)
    assert "39" not in texts_of(release)


def test_the_same_on_an_engine() -> None:
    ibis = pytest.importorskip("ibis")
    held = ibis.duckdb.connect().create_table("people", pa.table({"age": AGES, "ward": ["a"] * 21 + ["b"]}))
    quasi = {"age": h.ordering(20, label="interval"), "ward": h.identity()}
    release = veil.anonymize(
        held, quasi_identifiers=quasi, **PLAN | {"suppressed_rows": "drop", "minimum_levels": {"age": 1}}
    )
    assert release.suppressed == 1
    assert {*release.table.to_pyarrow()["age"].to_pylist()} == {"[91, 97]"}


# --- the function itself, against the definition ----------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.integers(0, 60), min_size=1, max_size=25, unique=True),
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.sampled_from(["set", "interval", "mean", "prefix"]),
    st.data(),
)
def test_labels_are_those_of_the_values_alone(
    values: list[int], sizes: list[int], label: Any, data: st.DataObject
) -> None:
    built = h.ordering(*sizes, label=label).build(pa.array(values), np.ones(len(values)), "x")
    shown = {
        level: np.array(data.draw(st.lists(st.booleans(), min_size=built.size, max_size=built.size)))
        for level in range(built.height + 1)
    }
    named = built.named_by(shown)
    rows, old = named.to_rows(), built.to_rows()
    assert named.named_by(shown).to_rows() == rows
    assert [row[0] for row in rows] == [row[0] for row in old]
    groups: dict[str, set[frozenset[str | None]]] = {}
    for level in range(1, built.height + 1):
        for label_before in {row[level] for row in old}:
            members = [at for at, row in enumerate(old) if row[level] == label_before]
            (text,) = {rows[at][level] for at in members}
            groups.setdefault(str(text), set()).add(frozenset(old[at][0] for at in members))
            seen = [int(old[at][0] or 0) for at in members if shown[level][at]]
            if label_before == "*":
                assert text == "*"
            elif not seen:
                assert str(text).startswith("(not published)")
            else:
                (alone,) = (
                    h.ordering(99, label=label).build(pa.array(seen), np.ones(len(seen)), "x").labels[1]
                )
                assert text == alone or str(text).startswith(f"{alone}-")
    assert all(len(found) == 1 for text, found in groups.items() if text != "*")


def test_every_builder_says_what_it_reads() -> None:
    read = {kind: BUILDERS[kind].reads_data for kind in BUILDERS}
    assert {kind for kind, what in read.items() if what} == {"ordering", "redaction", "priority", "auto"}
    assert h.Builder.reads_data
