"""The hierarchy files that people use with ARX load as they are."""

from __future__ import annotations

import csv
import warnings

import pyarrow as pa
import pytest

from support.realdata import SHARED, needs_data
from veil import hierarchies as h

DATA = SHARED / "data"

pytestmark = [pytest.mark.realdata, needs_data]

FILES = sorted(DATA.glob("*/*_hierarchy_*.csv"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_file_loads_and_agrees_with_its_text(path, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the repeated row of iage has its own test
        made = h.read(path)
        rows = [line.split(";") for line in path.read_text().splitlines()]
        assert sorted(map(list, made.to_rows())) == sorted(rows)
        assert made.domain_size == len(rows)
        for level, names in enumerate(made.labels):
            column = [row[level] for row in rows]
            assert made.shares[level].tolist() == [column.count(name) / len(rows) for name in names]
        made.save(tmp_path / "again.csv")
        assert h.read(tmp_path / "again.csv") == made


@pytest.mark.parametrize("name", ["adult/adult", "fars/fars_int"])
def test_files_cover_the_data(name):
    with open(DATA / f"{name}.csv", newline="") as file:
        records = list(csv.DictReader(file, delimiter=";"))
    for column in records[0]:
        path = DATA / f"{name}_hierarchy_{column}.csv"
        if path.exists():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = h.read(path)
            values = sorted({record[column] for record in records})
            assert len(made.encode(pa.array(values), column)) == len(values)


def test_the_repeated_row_is_noticed():
    with pytest.warns(UserWarning, match="'99'.*rows 99"):
        made = h.read(DATA / "fars" / "fars_int_hierarchy_iage.csv")
    assert made.size == 99
    assert made.domain_size == 100


def test_the_age_hierarchy_is_what_the_builder_makes():
    """Its intervals begin with 1: the file puts the age 5 into "0-4"."""
    ages = h.read(DATA / "adult" / "adult_hierarchy_age.csv")
    builder = h.intervals(listed=[(1, 6)], upper=h.Bounds(101), groups=[2, 2])
    built = builder.build(pa.array(range(1, 101)), [1] * 100, "age")
    assert [level.tolist() for level in built.maps] == [level.tolist() for level in ages.maps]
    assert [level.tolist() for level in built.shares] == [level.tolist() for level in ages.shares]
