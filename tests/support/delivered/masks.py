"""Masking methods at random, each judged from its definition on what is delivered."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa

import veil
from support.delivered.draw import plain_row
from support.delivered.forms import (
    FILES,
    FRAMES,
    Rows,
    bytes_of,
    bytes_of_file,
    frame_of,
    is_missing,
    rows_of,
    rows_of_file,
    text_of,
)
from support.delivered.judge import Given, Wrong, check_forms, same_cell
from veil import KAnonymity, models
from veil import masking as k
from veil.errors import InputError, OutputError, ParameterError, PlanError, VerificationError

Check = Callable[[Rows, Rows], bool]
"""Whether the rows before, as far as they are there, may have become the rows after."""


def check_mask(seed: int, folder: Path) -> str:
    """Carry out one method and judge what is delivered."""
    r = Random(seed)
    n = r.randint(4, 24)
    table = pa.table(
        {
            "a": pa.array(r.choices([1, 2, 3, 40, 77, 78], k=n), pa.int64()),
            "b": pa.array(r.choices([0.0, -0.0, 1.5, 2.5, 7777.125], k=n), pa.float64()),
            "c": pa.array(r.choices(["x", "y", "*", "Ulm an der Donau", None], k=n), pa.string()),
            "d": pa.array([dt.date(2000, 1, r.randint(1, 9)) for _ in range(n)], pa.date32()),
            "e": pa.array(r.choices([1.5, float("nan"), None, 0.0, -0.0], k=n), pa.float64()),
            "name": [f"person {seed}-{row}-person" for row in range(n)],
            "K": [f"token {seed}-{row}-token" for row in range(n)],
        }
    )
    method, changed, check = _method(r, n)
    order, coming_in = r.choice(["random", "random", "input"]), r.choice(FRAMES)
    try:
        release = veil.mask(frame_of(table, coming_in), method, order=order, progress=False)
    except (PlanError, ParameterError, InputError):
        return "refused"
    except VerificationError as error:
        raise Wrong(f"{type(method).__name__}: {error}") from error
    origin = [int(row["input row"]) for row in rows_of(release.origins)]
    frame = release.table
    given = Given(rows_of(frame), origin, frozenset(), None, None)
    content = bytes_of(frame)
    going_out = r.choice([*FILES]) if r.random() < 0.4 else "frame"
    if going_out != "frame":
        path = folder / f"masked.{going_out}"
        try:
            release.save(path, overwrite=True)
        except OutputError:
            return "refused file"
        given.rows, content = rows_of_file(path), bytes_of_file(path)
        given.spelled, given.loose = going_out in ("csv", "csv.gz", "tsv"), going_out == "xlsx"
    before = [plain_row(row) for row in table.to_pylist()]
    _judge(before, given, changed, content)
    ascending = origin == sorted(origin)
    if (order == "input" and not ascending) or (order == "random" and ascending and len(origin) > 14):
        raise Wrong(f"{type(method).__name__}: rows are in another order than was asked")
    if not check([before[row] for row in origin], given.rows):
        raise Wrong(f"{method} {going_out}: the output is not what the method makes")
    return f"judged, {type(method).__name__}"


def _judge(before: Rows, given: Given, changed: set[str], content: bytes) -> None:
    if len(set(given.origin)) != len(given.origin) or len(given.rows) != len(given.origin):
        raise Wrong("rows do not join back")
    for row, origin in zip(given.rows, given.origin, strict=True):
        if list(row) != list(before[origin]):
            raise Wrong("other columns")
        for name in set(row) - changed:
            if not same_cell(given, row[name], before[origin][name]):
                raise Wrong(f"{name} shows another value than the record has")
    check_forms(given)
    for number, row in enumerate(before):
        if number not in given.origin and (row["K"].encode() in content or row["name"].encode() in content):
            raise Wrong("something of a record that is not there is in the bytes")
        if "name" in changed and row["name"].encode() in content:
            raise Wrong("a name is in the bytes")


def _method(r: Random, n: int) -> tuple[Any, set[str], Check]:
    size = r.randint(2, 4)
    known = r.sample(["a", "b", "d"], r.randint(1, 3))
    one = r.choice(["a", "b"])
    sample = r.randint(1, n)
    base = r.choice([1, 5, 10])
    missing = r.choice(["matches_everything", "own_value"])
    l_diverse = [models.DistinctLDiversity("c", 2)] if r.random() < 0.3 else []
    aggregate = r.choice(["mean", "median", "mode", "interval", "set"])
    return r.choice(
        [
            (k.RandomSampling(size=sample), set(), lambda old, new: len(new) == sample),
            (k.BernoulliSampling(r.choice([0.3, 0.9])), set(), lambda old, new: True),
            (k.StratifiedSampling("c", size=1), set(), lambda old, new: _once(new, "c")),
            (
                k.LocalSuppression(["a", "c"], size, missing=missing),
                {"a", "c"},
                lambda old, new: (
                    _left_out(old, new, ["a", "c"])
                    and (_alike if missing == "own_value" else _matching)(new, ["a", "c"], size)
                ),
            ),
            (
                k.Mondrian(known, [KAnonymity(size), *l_diverse]),
                {*known},
                lambda old, new: _alike(new, known, size) and (not l_diverse or _diverse(new, known, "c", 2)),
            ),
            (
                k.UnivariateMicroaggregation(["a"], size, aggregate=aggregate),
                {"a"},
                lambda old, new: _alike(new, ["a"], size) and _aggregated(old, new, "a", aggregate),
            ),
            (
                k.MDAV(known, size),
                {*known},
                lambda old, new: _alike(new, known, size),
            ),
            (k.TopCoding("a", 40), {"a"}, lambda old, new: _each(old, new, "a", lambda v: min(v, 40))),
            (k.BottomCoding("a", 3), {"a"}, lambda old, new: _each(old, new, "a", lambda v: max(v, 3))),
            (
                k.Rounding("a", base),
                {"a"},
                lambda old, new: _each(old, new, "a", lambda v: base * round(Fraction(v, base))),
            ),
            (
                k.GlobalRecoding("a", breaks=[3, 50]),
                {"a"},
                lambda old, new: _each(
                    old, new, "a", lambda v: "<3" if v < 3 else "[3, 50[" if v < 50 else ">=50"
                ),
            ),
            (k.RankSwapping([one], p=20), {one}, lambda old, new: _exchanged(old, new, one)),
            (k.DataSwapping(["c"], 0.5), {"c"}, lambda old, new: _exchanged(old, new, "c")),
            (k.ColumnShuffling(["e", "c"]), {"e", "c"}, lambda old, new: _exchanged(old, new, "e")),
            (
                k.PRAM("c", 0.7),
                {"c"},
                lambda old, new: (
                    {text_of(row["c"]) or None for row in new} <= {"x", "y", "*", "Ulm an der Donau", None}
                ),
            ),
            (
                k.RandomPseudonyms("name"),
                {"name"},
                lambda old, new: len({row["name"] for row in new}) == len(new),
            ),
            (k.UncorrelatedNoise(["a", "b"], 0.1), {"a", "b"}, lambda old, new: True),
        ]
    )


def _keys(rows: Rows, names: list[str]) -> list[tuple[Any, ...]]:
    return [tuple(text_of(row[name]) or None for name in names) for row in rows]


def _alike(rows: Rows, names: list[str], k: int) -> bool:
    return all(count >= min(k, len(rows)) for count in Counter(_keys(rows, names)).values())


def _diverse(rows: Rows, names: list[str], of: str, l: int) -> bool:
    found: dict[Any, set[Any]] = {}
    for key, row in zip(_keys(rows, names), rows, strict=True):
        found.setdefault(key, set()).add(text_of(row[of]) or None)
    return all(len(values) >= l for values in found.values())


def _matching(rows: Rows, names: list[str], k: int) -> bool:
    keys = _keys(rows, names)
    return all(
        sum(all(x is None or y is None or x == y for x, y in zip(one, other, strict=True)) for other in keys)
        >= k
        for one in keys
    )


def _left_out(old: Rows, new: Rows, names: list[str]) -> bool:
    return all(
        is_missing(after[name]) or after[name] == "" or text_of(after[name]) == text_of(before[name])
        for before, after in zip(old, new, strict=True)
        for name in names
    )


def _once(rows: Rows, name: str) -> bool:
    return max(Counter(_keys(rows, [name])).values()) == 1


def _each(old: Rows, new: Rows, name: str, made: Callable[[Any], Any]) -> bool:
    return all(
        text_of(after[name]) == text_of(made(before[name])) for before, after in zip(old, new, strict=True)
    )


def _exchanged(old: Rows, new: Rows, name: str) -> bool:
    """Numbers are compared as such: a file may spell them in another way."""

    def counted(rows: Rows) -> Counter[Any]:
        texts = [text_of(row[name]) or None for row in rows]
        return Counter(float(text) if text and name != "c" else text for text in texts)

    return counted(old) == counted(new)


def _aggregated(old: Rows, new: Rows, name: str, how: str) -> bool:
    groups: dict[Any, list[int]] = {}
    for before, after in zip(old, new, strict=True):
        groups.setdefault(text_of(after[name]), []).append(before[name])
    for shown, values in groups.items():
        texts = [str(value) for value in sorted(set(values))]
        match how:
            case "interval":
                fits = shown == f"[{texts[0]}, {texts[-1]}]"
            case "set":
                fits = shown == "{" + ", ".join(texts) + "}"
            case "mode":
                fits = shown in texts
            case _:
                fits = min(values) <= float(shown) <= max(values)
        if not fits:
            return False
    return True
