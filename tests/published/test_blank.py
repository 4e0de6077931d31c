"""One home decides what a cell is: nothing else compares a text with the marker."""

from __future__ import annotations

import ast
from pathlib import Path

import pyarrow as pa
import pytest

from veil.published.blank import is_blank, is_masked, shows_no_value, shows_nothing

SOURCE = Path(__file__).parents[2] / "src" / "veil"
HOME = SOURCE / "published" / "blank.py"
ROOMS = (
    "models",
    "classes",
    "published",
    "verification",
    "policy",
    "outcome",
    "engines",
    "report/certificate",
)


def comparisons(source: str) -> list[str]:
    """List what compares something with a marker, or puts it into a set to compare with."""
    found = []
    for node in ast.walk(ast.parse(source)):
        parts: list[ast.AST] = []
        if isinstance(node, ast.Compare) and not any(isinstance(op, ast.Is | ast.IsNot) for op in node.ops):
            parts = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            parts = list(node.args) if node.func.attr in ("equal", "not_equal", "is_in", "isin") else []
        elif isinstance(node, ast.Set):
            parts = list(node.elts)
        names = {getattr(each, "id", getattr(each, "attr", "")) for part in parts for each in ast.walk(part)}
        texts = {each.value for part in parts for each in ast.walk(part) if isinstance(each, ast.Constant)}
        if "marker" in names | texts:
            found.append(ast.unparse(node))
    return found


@pytest.mark.parametrize(
    "source",
    [
        "value != marker",
        "set(values) - {None, plan.marker}",
        "pc.equal(column, self.marker)",
        "text not in (None, marker)",
        "values <= {promises['marker']}",
    ],
)
def test_a_comparison_is_noticed(source: str) -> None:
    assert comparisons(source)
    assert not comparisons("marker is None or shows_nothing(column, marker)")


def test_nothing_else_compares_a_text_with_the_marker() -> None:
    files = [path for room in ROOMS for path in (SOURCE / room).rglob("*.py") if path != HOME]
    assert len(files) > 100
    assert {path.name: found for path in files if (found := comparisons(path.read_text("utf-8")))} == {}
    assert comparisons(HOME.read_text("utf-8"))


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())]
)
def test_texts_of_all_kinds(kind: pa.DataType) -> None:
    column = pa.chunked_array([pa.array(["*", None, "a", ""], pa.string()).cast(kind)])
    assert shows_nothing(column, "*").tolist() == [True, False, False, False]
    assert is_blank(column, "*").tolist() == [True, True, False, False]
    assert is_blank(column, None).tolist() == [False, True, False, False]
    assert not is_masked(column.unique(), "*")
    if not pa.types.is_dictionary(kind):
        assert shows_no_value(column.combine_chunks(), "*").tolist() == [True, True, False, True]
