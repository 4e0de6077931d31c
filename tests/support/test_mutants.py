"""The changes of mutation testing: those that are meant, and code that still can be run."""

from __future__ import annotations

import ast
from pathlib import Path

from support.mutants.changes import changes
from support.mutants.run import ROOT, SOURCES, _compiled_with, about

CODE = """
def accepts(size: int, k: int = 2) -> bool:
    if k > 9:
        raise ValueError(f"k is {k + 1}, more than {9 - 0}")
    é = not dict(zip("a", [size], strict=True))["a"]
    return size >= k and not é


@dataclass(frozen=True)
class Least:
    k: int = 2
"""


def test_each_sign_that_matters_is_changed() -> None:
    found = {(each.line, each.old, each.new) for each in changes(CODE)}
    assert found == {
        (2, "2", "3"),
        (3, ">", ">="),
        (3, "9", "10"),
        (3, "k > 9", "False"),
        (5, 'not dict(zip("a", [size], strict=True))["a"]', '(dict(zip("a", [size], strict=True))["a"])'),
        (6, ">=", ">"),
        (6, "and", "or"),
        (6, "not é", "(é)"),
        (6, "size >= k and not é", "not (size >= k and not é)"),
        (11, "2", "3"),
    }


def test_changed_code_can_be_run() -> None:
    for file in ("models/k_map.py", "verification/memory.py", "lattice/space.py"):
        text = (ROOT / SOURCES / file).read_text(encoding="utf-8")
        for change in changes(text):
            assert change.applied(text) != text
            ast.parse(change.applied(text))


def test_the_tests_about_a_module() -> None:
    assert about(Path("verification/memory.py"))[:2] == [
        "src/veil/verification/memory.py",
        "tests/verification/test_memory.py",
    ]
    assert "tests/models/closeness/test_model.py" in about(Path("models/closeness/bound.py"))


def test_compiled_code_that_holds_that_of_a_module() -> None:
    assert Path("models/closeness/bound.py") in _compiled_with(Path("models/closeness/kernels.py"))
    assert _compiled_with(Path("models/k_anonymity.py")) == ()
