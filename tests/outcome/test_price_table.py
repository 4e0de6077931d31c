"""The secret table with the prices of a lower bound, written and read again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.refusals import refused
from veil.errors import InputError
from veil.outcome.lower_bound import LowerBound
from veil.outcome.price_table import BOUND, PRICE, price_table, proof_of_table
from veil.plan.class_size import ForcedSize
from veil.tables import Csv, read
from veil.tables.csv.writer import write_csv
from veil.tables.rows import Rows

SIZE = ForcedSize(2, 1, "S", 2)
CELLS = pa.table({"q": ["01", "1", None, "1", "=a"], "n": [1.5, 2, None, 2, 2], "S": list("xyzyx")})
PROOF = LowerBound(7, 5, 2, 1, np.array([3, 2**70, -1, 2**70, 0], object), 4, "S", 2)


def test_prices_are_listed_once_for_the_same_cells() -> None:
    name, table, is_secret = price_table(PROOF, CELLS, ["q", "n"])
    assert (name, is_secret, table.num_rows) == ("lower bound", True, 4)
    assert set(zip(*(table[each].to_pylist() for each in ("q", "n", "S", PRICE)), strict=True)) == {
        ("01", "1.5", "x", "3"),
        ("1", "2", "y", str(2**70)),
        (None, None, "z", "-1"),
        ("=a", "2", "x", "0"),
    }


@given(st.permutations(range(5)))
def test_a_proof_is_the_same_for_rows_in_any_order(order: list[int]) -> None:
    table = price_table(PROOF, CELLS, ["q", "n"]).table
    again = proof_of_table(table, Rows.of(CELLS.take(pa.array(order))), ["q", "n"], SIZE)
    assert again.prices.tolist() == PROOF.prices[order].tolist()
    assert (again.bound, again.records, again.suppression_price) == (7, 5, 4)
    assert (again.smallest, again.allowed, again.attribute, again.least_values) == (2, 1, "S", 2)


@pytest.mark.filterwarnings("ignore::veil.tables.formulas.FormulaWarning")
def test_a_file_has_the_same_texts(tmp_path: Path) -> None:
    table = price_table(PROOF, CELLS, ["q", "n"]).table
    with (tmp_path / "prices.csv").open("wb") as file:
        write_csv(table, file, Csv())
    again = read(tmp_path / "prices.csv", format=Csv(types=dict.fromkeys(table.column_names, "string"))).table
    assert again.to_pydict() == table.to_pydict()


def test_cells_without_a_price_have_none() -> None:
    table = price_table(PROOF, CELLS, ["q", "n"]).table.slice(0, 1)
    again = proof_of_table(table, Rows.of(CELLS), ["q", "n"], SIZE)
    assert np.count_nonzero(again.prices) == 1


def test_a_table_that_is_no_proof_is_refused() -> None:
    table = price_table(PROOF, CELLS, ["q", "n"]).table
    rows = Rows.of(CELLS)
    with refused(InputError, "lower bound: price", "was kept apart"):
        proof_of_table(CELLS, rows, ["q", "n"], SIZE)
    with refused(InputError, "'S'"):
        proof_of_table(table.drop_columns(["S"]), rows, ["q", "n"], SIZE)
    for name, text in ((PRICE, "1.5"), (PRICE, None), (BOUND, "8")):
        texts = [text, *table[name].to_pylist()[1:]]
        changed = table.set_column(table.column_names.index(name), name, pa.array(texts, pa.string()))
        with refused(InputError, name):
            proof_of_table(changed, rows, ["q", "n"], SIZE)
    different = LowerBound(7, 5, 2, 1, np.arange(5), 4, "S", 2)
    with refused(InputError, "different prices"):
        price_table(different, CELLS, ["q", "n"])
