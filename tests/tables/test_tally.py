"""Counts of combinations, against counting one by one."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from veil.tables.tally import PLACEHOLDERS, MemoryTally

_CELLS = st.sampled_from(["Ada Jones", "ada jones", "Bob Smith", "Bob", " x  y ", None, *PLACEHOLDERS, "N/A"])
_ROWS = st.lists(st.tuples(_CELLS, st.sampled_from([1, 2, None])), min_size=1, max_size=12)


def _there(cell: object) -> bool:
    return cell is not None and str(cell).strip().lower() not in PLACEHOLDERS


def _folded(rows: list[tuple[str | None, int | None]]) -> list[tuple[str | None, int | None]]:
    """Give texts that differ in blanks and case only the spelling that comes first."""
    first: dict[str, str] = {}
    return [
        (a if a is None else first.setdefault("".join(a.split()).lower(), a), b) if _there(a) else (a, b)
        for a, b in rows
    ]


def _slow(rows: list[tuple[object, ...]]) -> tuple[int, int, int, int]:
    counts = Counter(rows)
    pairs = sum(a == b for a, b in combinations(rows, 2))
    return len(rows), len(counts), pairs, max(counts.values(), default=0)


@given(_ROWS)
def test_combinations_are_counted_as_one_by_one(rows: list[tuple[str | None, int | None]]) -> None:
    table = MemoryTally(
        pa.table({"a": pa.array([a for a, _ in rows], pa.string()), "b": [b for _, b in rows]})
    )
    rows = _folded(rows)
    assert table.tally(["a"]) == _slow([(a,) for a, _ in rows if _there(a)])
    assert table.tally(["a", "b"]) == _slow([row for row in rows if all(map(_there, row))])
    assert table.tally(["b", "a"]) == table.tally(["a", "b"])


@given(_ROWS)
def test_words_are_counted_as_one_by_one(rows: list[tuple[str | None, int | None]]) -> None:
    table = MemoryTally(pa.table({"a": pa.array([a for a, _ in rows], pa.string())}))
    texts = [a.strip() for a, _ in _folded(rows) if a is not None and _there(a)]
    last, before = table.words("a")
    assert last == _slow([(text.split()[-1],) for text in texts])
    assert before == _slow([(text[: -len(text.split()[-1])].rstrip(),) for text in texts])


def test_not_a_number_is_no_value() -> None:
    assert MemoryTally(pa.table({"a": [float("nan"), float("nan"), 1.0]})).tally(["a"]).rows == 1
