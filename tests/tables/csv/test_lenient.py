from __future__ import annotations

from pathlib import Path

import pytest

from support.refusals import refused
from veil.errors import InputError
from veil.tables import Csv
from veil.tables.csv.lenient import read_leniently

TITLED = "Klinikum;;\nStand 2024\n\nName;Alter;Kosten\nJörg;61;1.664,71\nKäthe;34;770,27\n"


@pytest.mark.parametrize(
    ("content", "format"),
    [
        (TITLED.encode("cp1252"), Csv(encoding="cp1252", skip=3, decimal=",", thousands=".")),
        (TITLED.encode("utf-16-le"), Csv(encoding="utf-16-le", skip=3, decimal=",", thousands=".")),
        (TITLED.encode(), Csv(skip=3, decimal=",", thousands=".")),
        (TITLED.encode("utf-8-sig"), Csv(skip=3, decimal=",", thousands=".")),
        (TITLED.encode("utf-16"), Csv(skip=3, decimal=",", thousands=".")),
    ],
    ids=["cp1252", "utf-16-le", "utf-8", "utf-8-sig", "utf-16"],
)
def test_everything_is_found_out_at_once(content: bytes, format: Csv, tmp_path: Path) -> None:
    (path := tmp_path / "t.csv").write_bytes(content)
    found = read_leniently(path)
    assert found.format == format
    assert found.source.table["Name"].to_pylist() == ["Jörg", "Käthe"]
    assert [float(each) for each in found.source.table["Kosten"].to_pylist()] == [1664.71, 770.27]


def test_nothing_is_guessed_about_a_plain_file(tmp_path: Path) -> None:
    (path := tmp_path / "t.csv").write_text("name,age\nAnn,1.5\n")
    assert read_leniently(path)[1:] == (None, ())


def test_numbers_of_other_columns_are_not_changed(tmp_path: Path) -> None:
    """Under the marks of the costs, a latitude of 48.137 would be 48137."""
    (path := tmp_path / "t.csv").write_text("lat;cost\n48.137;1.664,71\n52.520;770,27\n")
    found = read_leniently(path)
    assert (found.format, found.reasons) == (None, ())
    assert [str(each) for each in found.source.table["lat"].to_pylist()] == ["48.137", "52.520"]


@pytest.mark.parametrize(
    ("content", "fact"),
    [(b"a,b\n1,2\n3,4,5\n", "line 3"), (b'a,b\n1,"2\n', "never closed"), (b"", "is empty")],
    ids=["ragged", "quote", "empty"],
)
def test_a_damaged_file_is_refused_as_ever(content: bytes, fact: str, tmp_path: Path) -> None:
    (path := tmp_path / "t.csv").write_bytes(content)
    with refused(InputError, fact):
        read_leniently(path)
