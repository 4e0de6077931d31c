from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import veil.tables
from support.refusals import refused
from veil.errors import InputError, ParameterError
from veil.tables import Csv, read
from veil.tables.csv.proposal import decoded, propose_format

ROWS = [("Jörg Weiß", "61", "1.664,71"), ("Käthe", "34", "770,27"), ("Anna", "28", "12.408,00")]


def written(separator: str, titles: list[str]) -> str:
    lines = [*titles, separator.join(["Name", "Alter", "Kosten"])]
    return "\n".join([*lines, *(separator.join(row) for row in ROWS), ""])


@given(
    separator=st.sampled_from(["\t", ";", "|"]),
    encoding=st.sampled_from(["utf-8", "cp1252", "utf-16", "utf-16-le", "utf-16-be", "utf-8-sig"]),
    titles=st.lists(st.sampled_from(["Klinikum", "", "Stand: 2024;;", "Aufnahmen 2023|2024"]), max_size=3),
)
def test_what_is_proposed_reads_the_table(
    separator: str, encoding: str, titles: list[str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("proposal") / "table.csv"
    path.write_bytes(written(separator, titles).encode(encoding))
    table = veil.tables.read(path, format=propose_format(path.read_bytes())).table
    assert table.column_names == ["Name", "Alter", "Kosten"]
    assert table.column("Name").to_pylist() == [row[0] for row in ROWS]
    assert [float(cost) for cost in table.column("Kosten").to_pylist()] == [1664.71, 770.27, 12408.0]


def test_a_plain_file_is_proposed_as_the_reader_takes_it_anyway() -> None:
    proposal = propose_format(b"age,cost\n34,1.5\n51,22.25\n")
    assert proposal == Csv(separator=",")


def test_bytes_that_no_code_page_knows_are_latin_1() -> None:
    assert propose_format(b"name;n\n\x81\x8d;1\n").encoding == "latin-1"


@given(st.binary(max_size=400))
def test_any_bytes_get_a_proposal(head: bytes) -> None:
    assert isinstance(decoded(head, propose_format(head).encoding), str)


def test_a_character_cut_in_two_by_the_end_of_the_look_is_no_reason_for_another_encoding() -> None:
    assert propose_format("name;ort\nJörg;Köln\nKäthe;Mö".encode()[:-1]).encoding is None


@pytest.mark.parametrize(("encoding", "lost"), [("utf-16", 1), ("utf-16", 3), ("utf-32", 1), ("utf-32", 3)])
def test_a_marked_file_that_is_cut_in_a_character(tmp_path: Path, encoding: str, lost: int) -> None:
    file = tmp_path / "cut.csv"
    file.write_bytes("name,age\nJörg,34\nAda,7ß".encode(encoding)[:-lost])
    with refused(InputError, "cut off"):
        read(file)
    assert propose_format(file.read_bytes()).encoding is None


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_an_encoding_without_a_mark_is_proposed(encoding: str) -> None:
    assert propose_format("name,age\nAda,34\nBob,7\n".encode(encoding)).encoding == encoding


@pytest.mark.parametrize("encoding", ["idna", "punycode", "unicode_escape", "rot13", "base64"])
def test_codecs_that_are_not_for_files_are_refused(encoding: str) -> None:
    with pytest.raises(ParameterError, match="known encoding"):
        Csv(encoding=encoding)
