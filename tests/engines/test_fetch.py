"""Items of tables that an engine holds: the rows are brought into memory, and give the same as there."""

from __future__ import annotations

from pathlib import Path

import ibis
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import veil
from support import items as twin
from support.refusals import refused
from veil import KAnonymity
from veil import hierarchies as h
from veil.errors import PlanError
from veil.masking import ItemGeneralization, Mondrian, RankSwapping

STEP = ItemGeneralization("items", 2, 2, h.table(twin.TREE))
EXPECTED = sorted([["A", "b1", "b2"], ["A", "b1"], ["A", "b1", "b2"], ["A", "b2"]])


def test_sets_of_a_folder_of_parquet_files(tmp_path: Path) -> None:
    folder = tmp_path / "baskets"
    folder.mkdir()
    for number in (0, 2):
        pq.write_table(pa.table({"items": twin.PAPER[number : number + 2]}), folder / f"{number}.parquet")
    release = veil.mask(str(folder), STEP)
    assert isinstance(release.table, pa.Table)
    assert sorted(release.table["items"].to_pylist()) == EXPECTED
    release.save(tmp_path / "out.parquet")
    assert sorted(pq.read_table(tmp_path / "out.parquet")["items"].to_pylist()) == EXPECTED


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_text_of_a_database(kind: str, tmp_path: Path) -> None:
    """A file of a database, opened by its URL; items as text, as SQLite has no lists."""
    path = tmp_path / f"shop.{kind}"
    driver = getattr(ibis, kind).connect(path)
    driver.create_table("baskets", pa.table({"items": [",".join(each) for each in twin.PAPER]}))
    driver.disconnect()
    release = veil.mask(f"{kind}://{path}#baskets", STEP)
    assert sorted(release.table["items"].to_pylist()) == sorted(",".join(each) for each in EXPECTED)


def test_one_item_in_each_row_of_a_csv_file(tmp_path: Path) -> None:
    rows = [(who, item) for who, each in enumerate(twin.PAPER) for item in each]
    (tmp_path / "long.csv").write_text("who,item\n" + "".join(f"{who},{item}\n" for who, item in rows))
    step = ItemGeneralization("item", 2, 2, h.table(twin.TREE), person="who")
    made = veil.mask(tmp_path / "long.csv", step, engine="duckdb").table.to_pydict()
    sets: dict[int, list[str]] = {}
    for who, item in zip(made["who"], made["item"], strict=True):
        sets.setdefault(who, []).append(item)
    assert sorted(map(sorted, sets.values())) == EXPECTED


def test_classes_and_items_in_one_run() -> None:
    held = ibis.memtable(pa.table({"age": [*range(8)], "items": [["a1"], ["a2"]] * 4}))
    steps = [
        Mondrian(["age"], KAnonymity(4)),
        ItemGeneralization("items", 4, 1, h.table(twin.TREE), within="age"),
    ]
    assert veil.mask(held, steps).table["items"].to_pylist() == [["A"]] * 8


def test_other_methods_are_still_refused() -> None:
    with refused(PlanError, "in memory"):
        veil.mask(ibis.memtable(pa.table({"age": [1, 2]})), RankSwapping("age", p=10))
