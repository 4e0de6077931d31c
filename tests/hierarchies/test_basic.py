"""Tables and files as builders: coverage is checked."""

from __future__ import annotations

from support.refusals import refused
from veil import hierarchies as h
from veil.errors import HierarchyError


def test_file_and_table_check_coverage(tmp_path, build):
    path = tmp_path / "sex.csv"
    path.write_text("f;*\nm;*\n")
    for builder in (h.file(str(path)), h.Table([["f", "*"], ["m", "*"]])):
        assert build(builder, ["f", None]).to_rows() == [("f", "*"), ("m", "*"), (None, "*")]
        with refused(HierarchyError, "'x'", "1 of its 2"):
            build(builder, ["f", "x"])
