"""Items of sets become groups or go: what is delivered keeps the promise, and nothing better would have."""

from __future__ import annotations

import os
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil
from support import items as twin
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.cli.steps import read_step
from veil.errors import HierarchyError, InputError, NoSolutionError, ParameterError, PlanError
from veil.masking import ItemGeneralization, Mondrian
from veil.models.item_sets import KMAnonymity
from veil.published.table import Published
from veil.tables.rows import Rows

OFTEN = int(os.environ.get("VEIL_ITEM_EXAMPLES", "60"))

TREE = h.table(twin.TREE)


def delivered(table: Any, *steps: Any, order: str = "input") -> list[frozenset[str]]:
    """The sets of the table that a person receives."""
    made = veil.mask(table, steps, order=order).table  # type: ignore[arg-type]
    return [frozenset(each) for each in made["items"].to_pylist()]


def lists(sets: list[list[str]]) -> pa.Table:
    return pa.table({"items": pa.array(sets, pa.list_(pa.string()))})


# --- worked examples ------------------------------------------------------------------------------


def test_example_of_terrovitis_mamoulis_and_kalnis_2008() -> None:
    """Generalizing a1 and a2 alone is enough, and exactly that is found."""
    release = veil.mask(lists(twin.PAPER), ItemGeneralization("items", 2, 2, TREE), order="input")
    assert release.table["items"].to_pylist() == [
        ["A", "b1", "b2"],
        ["A", "b1"],
        ["A", "b1", "b2"],
        ["A", "b2"],
    ]
    facts = release.steps[0].facts
    assert facts["optimum"] == "proven"
    assert facts["loss"] == 5 * 2 / 4 / 11  # five of eleven items become one of two in four
    assert facts["items generalized"] == 2
    assert facts["items left out everywhere"] == 0


def test_leaving_out_is_chosen_where_it_is_cheaper() -> None:
    """Of the same sets a1 is left out if that costs no more than a group of everything: 2 items instead of 5 halves."""
    step = ItemGeneralization("items", 2, 2, TREE, left_out=1)
    assert delivered(lists(twin.PAPER), step) == [
        {"b1", "b2"},
        {"a2", "b1"},
        {"a2", "b1", "b2"},
        {"a2", "b2"},
    ]


def test_without_a_hierarchy_items_stay_or_go() -> None:
    numbers = pa.table({"items": [[1, 2], [1, 3], [1, 2, 3], None, [], [3, 1, 1]]})
    made = veil.mask(numbers, ItemGeneralization("items", 2, 2), order="input").table
    assert made["items"].to_pylist() == [[1], [1, 3], [1, 3], [], [], [1, 3]]
    assert made.schema == pa.schema({"items": pa.list_(pa.int64())})


# --- the promise, and the least loss --------------------------------------------------------------


@twin.examples(OFTEN)
@given(
    sets=twin.baskets,
    tree=st.sampled_from(twin.TREES),
    k=st.integers(2, 4),
    m=st.integers(1, 3),
    left_out=st.sampled_from([None, 1.0, 2.0, 2.5]),
)
def test_optimum_equals_brute_force(
    sets: list[list[str]], tree: twin.Tree, k: int, m: int, left_out: float | None
) -> None:
    cost = None if left_out is None else Fraction(str(left_out))
    if k > len(sets):
        return
    best = twin.least_loss(sets, tree, k, m, left_out=cost)
    losses = {}
    for strategy in ("optimal", "apriori", "auto"):
        step = ItemGeneralization("items", k, m, h.table(tree), left_out=left_out, strategy=strategy)
        if best is None:
            with refused(NoSolutionError, "top level"):
                veil.mask(lists(sets), step)
            continue
        release = veil.mask(lists(sets), step, order="input")
        published = [frozenset(each) for each in release.table["items"].to_pylist()]
        recoding = twin.recoding_behind(sets, published, tree)
        assert recoding is not None
        assert twin.rarest(published, m) >= k
        assert twin.attack(sets, published, recoding, m) >= k
        losses[strategy] = release.steps[0].facts["loss"]
        if release.steps[0].facts["optimum"] == "proven":
            assert losses[strategy] == pytest.approx(float(best), abs=1e-12)
    if best is not None:
        assert losses["optimal"] == pytest.approx(float(best), abs=1e-12)
        assert losses["auto"] >= float(best) - 1e-12
        assert losses["apriori"] >= float(best) - 1e-12


@twin.examples(OFTEN // 2)
@given(
    sets=st.lists(
        st.tuples(st.sampled_from("xy"), st.lists(st.sampled_from(["a1", "a2", "b1", "b2"]), max_size=4)),
        min_size=4,
        max_size=20,
    ),
    recoding=st.sampled_from(["global", "local"]),
    k=st.integers(2, 3),
    m=st.integers(1, 2),
)
def test_the_promise_holds_among_those_who_look_alike(
    sets: list[tuple[str, list[str]]], recoding: Any, k: int, m: int
) -> None:
    """(k, k^m)-anonymity, counted on what is delivered."""
    table = pa.table(
        {
            "zip": [each for each, _ in sets],
            "items": pa.array([each for _, each in sets], pa.list_(pa.string())),
        }
    )
    step = ItemGeneralization("items", k, m, TREE, within="zip", recoding=recoding)
    small = any(0 < sum(zip_ == each for each, _ in sets) < k for zip_ in "xy")
    if small:
        with refused(NoSolutionError, "agree in 'zip'"):
            veil.mask(table, step)
        return
    made = veil.mask(table, step).table.to_pydict()
    for value in set(made["zip"]):
        assert (
            twin.rarest(
                [frozenset(i) for z, i in zip(made["zip"], made["items"], strict=True) if z == value], m
            )
            >= k
        )


@twin.examples(OFTEN // 2)
@given(
    sets=st.lists(st.lists(st.sampled_from(["a1", "a2", "b1", "b2"]), max_size=4), min_size=4, max_size=24),
    k=st.integers(2, 3),
)
def test_local_recoding_loses_no_more_and_keeps_the_promise(sets: list[list[str]], k: int) -> None:
    both = [
        veil.mask(lists(sets), ItemGeneralization("items", k, 2, TREE, recoding=recoding), order="input")
        for recoding in ("global", "local")
    ]
    assert both[1].steps[0].facts["loss"] <= both[0].steps[0].facts["loss"]
    published = [frozenset(each) for each in both[1].table["items"].to_pylist()]
    assert twin.rarest(published, 2) >= k
    assert all(each.holds for each in both[1].verification.findings)
    above = {row[0]: set(row) for row in twin.TREE}
    for before, after in zip(sets, published, strict=True):
        assert all(any(label in above[item] for item in before) for label in after)


def test_local_recoding_gains_where_parts_differ() -> None:
    """Two kinds of people, and two who hold what both do: local recoding changes no more than what these hold."""
    sets = [["a1"]] * 20 + [["a1", "a2"]] * 20 + [["b1", "b2"]] * 40 + [["a1", "b1", "b2"]] * 2
    losses = [
        veil.mask(lists(sets), ItemGeneralization("items", 3, 2, TREE, recoding=recoding))
        .steps[0]
        .facts["loss"]
        for recoding in ("global", "local")
    ]
    assert losses[1] < losses[0]


# --- forms ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "large", "text", "csv", "parquet"])
def test_every_form_gives_the_same_sets(kind: str, tmp_path: Path) -> None:
    step = ItemGeneralization("items", 2, 2, TREE)
    expected = [["A", "b1", "b2"], ["A", "b1"], ["A", "b1", "b2"], ["A", "b2"]]
    spelled = [",".join(each) for each in expected]
    if kind == "pandas":
        made = veil.mask(pd.DataFrame({"items": twin.PAPER}), step, order="input").table
        assert isinstance(made, pd.DataFrame)
        assert [list(each) for each in made["items"]] == expected
    elif kind == "polars":
        made = veil.mask(pl.DataFrame({"items": twin.PAPER}), step, order="input").table
        assert made.schema == {"items": pl.List(pl.String)}
        assert made["items"].to_list() == expected
    elif kind in ("pyarrow", "large"):
        type_ = pa.list_(pa.string()) if kind == "pyarrow" else pa.large_list(pa.string())
        made = veil.mask(pa.table({"items": pa.array(twin.PAPER, type_)}), step, order="input").table
        assert made.schema.field("items").type == type_
        assert made["items"].to_pylist() == expected
    elif kind == "text":
        table = pa.table({"items": [",".join(each) for each in twin.PAPER]})
        assert veil.mask(table, step, order="input").table["items"].to_pylist() == spelled
    elif kind == "csv":
        path = tmp_path / "baskets.csv"
        path.write_text("items\n" + "".join(f'"{",".join(each)}"\n' for each in twin.PAPER))
        veil.mask(path, step, order="input").save(tmp_path / "out.csv")
        assert (tmp_path / "out.csv").read_text().splitlines()[1:] == [f'"{each}"' for each in spelled]
    else:
        pl.DataFrame({"items": twin.PAPER}).write_parquet(tmp_path / "baskets.parquet")
        veil.mask(tmp_path / "baskets.parquet", step, order="input").save(tmp_path / "out.parquet")
        assert pl.read_parquet(tmp_path / "out.parquet")["items"].to_list() == expected


def test_one_item_in_each_row() -> None:
    rows = [(name, item) for name, each in zip("wxyz", twin.PAPER, strict=True) for item in each]
    table = pa.table({"who": [name for name, _ in rows], "item": [item for _, item in rows]})
    release = veil.mask(table, ItemGeneralization("item", 2, 2, TREE, person="who"))
    sets: dict[int, list[str]] = {}
    for who, item in zip(*release.table.to_pydict().values(), strict=True):
        sets.setdefault(who, []).append(item)
    assert set(sets) == {1, 2, 3, 4}
    assert sorted(map(sorted, sets.values())) == sorted(
        [["A", "b1", "b2"], ["A", "b1"], ["A", "b1", "b2"], ["A", "b2"]]
    )
    assert release.verification.holds


def test_people_who_have_nothing_left_keep_a_row() -> None:
    """Otherwise those who are left would be fewer than k."""
    table = pa.table({"who": ["v", "w", "x", "y"], "zip": [1, 1, 1, 1], "item": ["a", "a", "a", "b"]})
    made = veil.mask(table, ItemGeneralization("item", 3, 1, person="who", within="zip")).table
    assert sorted(made["item"].to_pylist(), key=str) == [None, "a", "a", "a"]
    assert sorted(made["who"].to_pylist()) == [1, 2, 3, 4]


def test_the_numbers_of_people_are_drawn() -> None:
    table = pa.table({"who": [*range(40)], "item": ["a"] * 40})
    step = ItemGeneralization("item", 2, 1, person="who")
    seen = [tuple(veil.mask(table, step, order="input").table["who"].to_pylist()) for _ in range(3)]
    assert len(set(seen)) == 3


def test_missing_and_empty_sets_are_published_in_one_form() -> None:
    text = pa.table({"items": ["a", None, "", "a,", ",a"]})
    made = veil.mask(text, ItemGeneralization("items", 2, 2), order="input").table
    assert made["items"].to_pylist() == ["a", "", "", "a", "a"]
    sets = pa.table({"items": [["a"], None, [], [None], ["a", None]]})
    made = veil.mask(sets, ItemGeneralization("items", 2, 2), order="input").table
    assert made["items"].to_pylist() == [["a"], [], [], [], ["a"]]


@given(st.permutations(["a1", "a2", "b1", "b2"]), st.permutations(range(4)))
@twin.examples(10)
def test_the_order_of_items_follows_from_their_names(items: list[str], rows: list[int]) -> None:
    sets = [[item for item in items if item in twin.PAPER[row]] for row in rows]
    made = veil.mask(lists(sets), ItemGeneralization("items", 2, 2, TREE), order="input").table
    assert all(each == sorted(each) for each in made["items"].to_pylist())


def test_categories_and_memory_do_not_tell_what_was_left_out() -> None:
    sets = [["a", "planted-item"], ["a"], ["a", "b"], ["a", "b"]]
    for table in (
        pl.DataFrame({"items": sets}, schema={"items": pl.List(pl.Categorical)}),
        pd.DataFrame({"items": pd.Categorical([",".join(each) for each in sets])}),
        pa.table({"items": sets}),
    ):
        made = veil.mask(table, ItemGeneralization("items", 2, 2)).table
        arrow = (
            made
            if isinstance(made, pa.Table)
            else pa.Table.from_pandas(made)
            if isinstance(made, pd.DataFrame)
            else made.to_arrow()
        )
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, arrow.schema) as stream:
            stream.write_table(arrow)
        assert b"planted" not in sink.getvalue().to_pybytes()


# --- in company -----------------------------------------------------------------------------------


def people(n: int = 300) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sets = [list(rng.choice(["a1", "a2", "b1", "b2"], rng.integers(0, 4), replace=False)) for _ in range(n)]
    return pd.DataFrame({"age": rng.integers(20, 60, n), "items": sets})


def test_after_mondrian_in_one_run(tmp_path: Path) -> None:
    """(k, k^m)-anonymity: classes first, then their items; report, risk, concerns and certificate know it."""
    steps = [
        Mondrian(["age"], KAnonymity(20)),
        ItemGeneralization("items", 5, 2, TREE, within="age", recoding="local"),
    ]
    release = veil.mask(people(), steps)
    classes: dict[str, list[frozenset[str]]] = {}
    for age, items in zip(release.table["age"], release.table["items"], strict=True):
        classes.setdefault(age, []).append(frozenset(items))
    assert all(twin.rarest(each, 2) >= 5 for each in classes.values())
    assert release.report(tmp_path / "report.html").exists()
    assert release.risk() is not None
    release.save(tmp_path / "out.parquet")
    release.certificate(tmp_path / "certificate.json")
    checked = veil.verify(tmp_path / "out.parquet", certificate=tmp_path / "certificate.json")
    assert any("5^2-anonymity" in str(each.promise) and each.holds for each in checked.findings)
    assert not checked.broken


def test_after_anonymize_suppressed_rows_go() -> None:
    release = veil.anonymize(
        people(),
        quasi_identifiers={"age": h.intervals(5, 40)},
        insensitive=["items"],
        models=[KAnonymity(30)],
        suppression_limit=0.5,
        maximum_levels={"age": 1},
    )
    assert release.suppressed
    made = veil.mask(release, ItemGeneralization("items", 5, 2, TREE, within="age", recoding="local")).table
    assert len(made) == 300 - release.suppressed
    for _, each in made.groupby("age"):
        assert twin.rarest([frozenset(items) for items in each["items"]], 2) >= 5


def test_a_certificate_of_sets_alone_can_be_checked(tmp_path: Path) -> None:
    release = veil.mask(lists(twin.PAPER), ItemGeneralization("items", 2, 2, TREE))
    release.save(tmp_path / "out.parquet")
    release.certificate(tmp_path / "certificate.json")
    checked = veil.verify(tmp_path / "out.parquet", certificate=tmp_path / "certificate.json")
    assert any("2^2-anonymity" in each.promise and each.holds for each in checked.findings)
    assert checked.holds
    release.report(tmp_path / "report.html")
    assert "planted" not in (tmp_path / "report.html").read_text()


def test_the_check_of_a_mask_finds_what_is_broken() -> None:
    """The model reads some of the items as known, even if the column of sets is among what is known."""
    model = KMAnonymity("items", 2, 2)
    for names in ([], ["items"]):
        assert not model.verify(Published(Rows.of(lists(twin.PAPER)), names, suppressed="none")).holds
    fine = lists([["A", "b1", "b2"], ["A", "b1"], ["A", "b1", "b2"], ["A", "b2"]])
    assert model.verify(Published(Rows.of(fine), ["items"], suppressed="none")).holds


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "match", "make"),
    [
        (
            ParameterError,
            "`k` of ItemGeneralization should be greater than or equal to 2",
            lambda: ItemGeneralization("items", 1, 2),
        ),
        (
            ParameterError,
            "`hierarchy`, or to be allowed",
            lambda: ItemGeneralization("items", 2, 2, left_out=None),
        ),
        (
            ParameterError,
            "should not name 'items'",
            lambda: ItemGeneralization("items", 2, 2, within="items"),
        ),
        (ParameterError, "another column", lambda: ItemGeneralization("items", 2, 2, person="items")),
    ],
)
def test_bad_parameters(error: type[Exception], match: str, make: Any) -> None:
    with pytest.raises(error, match=match):
        make()


@pytest.mark.parametrize(
    ("error", "match", "table", "step"),
    [
        (PlanError, "no column 'item'. Did you mean", lists(twin.PAPER), ItemGeneralization("item", 2, 2)),
        (PlanError, "only 4 records", lists(twin.PAPER), ItemGeneralization("items", 5, 2)),
        (PlanError, "no column 'zip'", lists(twin.PAPER), ItemGeneralization("items", 2, 2, within="zip")),
        (
            InputError,
            "name the column of `person`",
            pa.table({"items": [1, 2]}),
            ItemGeneralization("items", 2, 2),
        ),
        (
            PlanError,
            "contains the separator",
            pa.table({"items": ["a1", "a2", "a1,a2"]}),
            ItemGeneralization("items", 3, 1, h.table([["a1", "A, all"], ["a2", "A, all"]])),
        ),
        (
            HierarchyError,
            "two groups or items called 'a2'",
            lists([["a1", "b1", "a2"]] * 3),
            ItemGeneralization("items", 2, 1, h.table([["a1", "a2"], ["b1", "a2"], ["a2", "c"]])),
        ),
        (
            InputError,
            "no value in 1 row, the first of them row 2",
            pa.table({"who": [1, None], "item": ["a", "b"]}),
            ItemGeneralization("item", 2, 1, person="who"),
        ),
        (
            PlanError,
            "'price' differs between rows",
            pa.table({"who": [1, 1], "item": ["a", "b"], "price": [1, 2]}),
            ItemGeneralization("item", 2, 1, person="who"),
        ),
    ],
)
def test_bad_tables(error: type[Exception], match: str, table: pa.Table, step: ItemGeneralization) -> None:
    with pytest.raises(error, match=match):
        veil.mask(table, step)


# --- written down ---------------------------------------------------------------------------------


def test_recipe_and_command_line_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "groups.csv").write_text("".join(";".join(row) + "\n" for row in twin.TREE))
    pl.DataFrame({"items": twin.PAPER}).write_parquet(tmp_path / "in.parquet")
    (tmp_path / "steps.yaml").write_text(
        "input: in.parquet\noutput: out.parquet\norder: input\n"
        "steps:\n  - {kind: ItemGeneralization, column: items, k: 2, m: 2, hierarchy: groups.csv}\n"
    )
    veil.run(tmp_path / "steps.yaml")
    made = pl.read_parquet(tmp_path / "out.parquet")["items"].to_list()
    assert made == [["A", "b1", "b2"], ["A", "b1"], ["A", "b1", "b2"], ["A", "b2"]]
    step = read_step("item-generalization:items,2,2,hierarchy=groups.csv,recoding=local,left_out=3")
    assert (step.column, step.k, step.m, step.recoding, step.left_out) == ("items", 2, 2, "local", 3)  # type: ignore[attr-defined]


def test_suppressed_records_show_no_items() -> None:
    """200 of 200 records suppressed showed all their items once."""
    rng = np.random.default_rng(1)
    sets = [list(rng.choice([f"i{i}" for i in range(30)], 4, replace=False)) for _ in range(200)]
    release = veil.anonymize(
        pa.table({"age": rng.integers(20, 60, 200), "items": sets}),
        quasi_identifiers={"age": h.intervals(20, 40)},
        sensitive=["items"],
        models=[KMAnonymity("items", 5, 2)],
        suppression_limit=1.0,
    )
    assert release.suppressed == 200
    assert release.table["items"].null_count == 200


# --- beside Amnesia -------------------------------------------------------------------------------


def test_the_example_of_the_paper_costs_no_more_than_by_apriori_anonymization() -> None:
    theirs = twin.apriori(twin.PAPER, twin.TREE, 2, 2)
    assert theirs == {"a1": "A", "a2": "A", "b1": "b1", "b2": "b2"}
    ours = veil.mask(lists(twin.PAPER), ItemGeneralization("items", 2, 2, TREE, left_out=None))
    assert ours.steps[0].facts["loss"] <= float(twin.loss(twin.PAPER, theirs, twin.TREE, Fraction(1)))


@twin.examples(OFTEN)
@given(
    sets=twin.baskets,
    tree=st.sampled_from(twin.TREES),
    k=st.integers(2, 4),
    m=st.integers(1, 3),
    strategy=st.sampled_from(["auto", "optimal"]),
)
def test_no_more_is_lost_than_by_apriori_anonymization(
    sets: list[list[str]], tree: twin.Tree, k: int, m: int, strategy: Any
) -> None:
    if k > len(sets):
        return
    theirs = twin.apriori(sets, tree, k, m)
    if theirs is None:
        return
    assert twin.rarest(twin.publish(sets, theirs), m) >= k
    for left_out in (None, 2.0):
        step = ItemGeneralization("items", k, m, h.table(tree), left_out=left_out, strategy=strategy)
        ours = veil.mask(lists(sets), step).steps[0].facts["loss"]
        assert ours <= float(twin.loss(sets, theirs, tree, Fraction(1))) + 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_many_baskets_lose_no_more_than_by_apriori_anonymization(seed: int) -> None:
    """Too many for a proof: there the quick way has to hold its own."""
    rng = np.random.default_rng(seed)
    names = [f"i{i:02}" for i in range(24)]
    tree = [[name, f"g{i // 4}", f"h{i // 12}", "*"] for i, name in enumerate(names)]
    weights = rng.permutation(1 / np.arange(1, 25) ** 1.2)
    sets = [
        sorted(set(rng.choice(names, size=1 + rng.poisson(2), p=weights / weights.sum()).tolist()))
        for _ in range(150)
    ]
    theirs = twin.apriori(sets, tree, 4, 2)
    assert theirs is not None
    step = ItemGeneralization("items", 4, 2, h.table(tree), left_out=None)
    ours = veil.mask(lists(sets), step).steps[0].facts["loss"]
    assert ours <= float(twin.loss(sets, theirs, tree, Fraction(1))) + 1e-12
