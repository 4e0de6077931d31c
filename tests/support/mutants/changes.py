"""The ways in which one sign of a module can be wrong. Each is a piece of the text and what stands there instead."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass
from itertools import pairwise

_OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.FloorDiv: ("//", "*"),
    ast.BitAnd: ("&", "|"),
    ast.BitOr: ("|", "&"),
}
_CALLS = {
    "any": "all",
    "all": "any",
    "min": "max",
    "max": "min",
    "floor": "ceil",
    "ceil": "floor",
    "sum": "max",
}


@dataclass(frozen=True)
class Change:
    """A piece of a text, from one place up to another, and what it is replaced by."""

    line: int
    start: int
    end: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        """Return the text with the change."""
        return text[: self.start] + self.new + text[self.end :]

    def __str__(self) -> str:
        return f"line {self.line}: {_short(self.old)} → {_short(self.new)}"


def _short(text: str) -> str:
    return re.sub(r"\s+", " ", text)[:70]


def changes(text: str) -> list[Change]:
    """Return every change of a module, in the order of its lines."""
    found = _Finder(text)
    found.visit(ast.parse(text))
    return sorted(set(found.changes), key=lambda each: (each.start, each.end, each.new))


class _Finder(ast.NodeVisitor):
    def __init__(self, text: str) -> None:
        self.text = text
        self.changes: list[Change] = []
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))

    def _place(self, line: int, column: int) -> int:
        begin, end = self._starts[line - 1], self._starts[line]
        return begin + len(self.text[begin:end].encode()[:column].decode())

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self._place(node.lineno, node.col_offset), self._place(node.end_lineno, node.end_col_offset)

    def _add(self, node: ast.expr | ast.stmt, start: int, end: int, new: str) -> None:
        self.changes.append(Change(node.lineno, start, end, self.text[start:end], new))

    def _between(self, left: ast.expr, right: ast.expr, operator: ast.AST) -> None:
        if type(operator) not in _OPERATORS:
            return
        old, new = _OPERATORS[type(operator)]
        start, end = self._span(left)[1], self._span(right)[0]
        sign = r"\s+".join(map(re.escape, old.split()))
        for found in re.finditer(rf"\b{sign}\b" if old[0].isalpha() else sign, self.text[start:end]):
            self._add(left, start + found.start(), start + found.end(), new)
            return

    # What follows is named by `ast`.

    def visit_Raise(self, node: ast.Raise) -> None:
        """Leave messages alone: tests of their wording are none of right and wrong."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave messages alone."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave types alone."""
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        """Leave types alone, and decorators."""
        for default in (*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)):
            self.visit(default)
        returned = ast.unparse(node.returns) if node.returns is not None else ""
        for statement in node.body:
            self.visit(statement)
        for each in ast.walk(node):
            if isinstance(each, ast.Return) and each.value is not None:
                start, end = self._span(each.value)
                if returned == "bool":
                    self._add(each, start, end, f"not ({self.text[start:end]})")
                elif returned in {"int", "float"}:
                    self._add(each, start, end, f"({self.text[start:end]}) + 1")

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        """Leave decorators alone: what is frozen, say, guards against code that nobody has written."""
        for statement in node.body:
            self.visit(statement)

    def visit_If(self, node: ast.If) -> None:
        """Drop what is refused, or done by the way."""
        start, end = self._span(node.test)
        if "TYPE_CHECKING" in self.text[start:end]:
            return
        if not node.orelse:
            self._add(node, start, end, "False")
        self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> None:
        """Change a comparison."""
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            self._between(left, right, operator)
            left = right
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        """Change `and` and `or`."""
        for left, right in pairwise(node.values):
            self._between(left, right, node.op)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        """Change sums and the like; texts and types that are put together would fail at once."""
        if not any(isinstance(each, ast.Constant) and isinstance(each.value, str) for each in ast.walk(node)):
            self._between(node.left, node.right, node.op)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        """Drop a negation."""
        if isinstance(node.op, ast.Not | ast.Invert):
            start, end = self._span(node)
            inner = slice(*self._span(node.operand))
            self._add(node, start, end, f"({self.text[inner]})")
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        """Leave `strict` of `zip` alone: it is a check of the code by itself."""
        if node.arg != "strict":
            self.visit(node.value)

    def visit_Constant(self, node: ast.Constant) -> None:
        """Be off by one; say yes for no."""
        start, end = self._span(node)
        if isinstance(node.value, bool):
            self._add(node, start, end, str(not node.value))
        elif isinstance(node.value, int):
            self._add(node, start, end, str(node.value + 1))

    def visit_Call(self, node: ast.Call) -> None:
        """Change one function for another."""
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _CALLS:
            end = self._span(node.func)[1]
            self._add(node, end - len(name), end, _CALLS[name])
        self.generic_visit(node)
