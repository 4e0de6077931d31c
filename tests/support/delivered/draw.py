"""Plans and tables at random: small, with everything that has hurt before."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa

from support import oracle
from support.delivered.forms import FILES, FRAMES, frame_of, is_missing, text_of
from support.delivered.judge import Asked
from support.models import ours
from veil import models as m
from veil.hierarchies.hierarchy import Hierarchy
from veil.models.subset import RowNumbers as Chosen
from veil.recoding import FastIterative, Iterative, SinglePass

BERLIN = ZoneInfo("Europe/Berlin")
KINDS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (
        pa.string(),
        ["a", "b", "*", "", "Ulm an der Donau, Baden", "A", "a ", "1", "1.0", "a\r\nb", '"', "NA"],
    ),
    "category": (pa.dictionary(pa.int8(), pa.string()), ["a", "b", "Ulm an der Donau", "c"]),
    "integer": (pa.int64(), [1, 2, 3, 77, -5, 0x7766554433]),
    "small": (pa.int16(), [1, 2, 3, 77]),
    "float": (
        pa.float64(),
        [0.0, -0.0, 1.5, 7777.125, float("nan"), float("inf"), 0.3, 0.1 + 0.2, 1e-7, 1e20],
    ),
    "day": (pa.date32(), [dt.date(1901, 7, 7), dt.date(2000, 1, 1), dt.date(2000, 1, 2)]),
    "instant": (pa.timestamp("us"), [dt.datetime(1999, 9, 9, 9, 9, 9), dt.datetime(2000, 1, 1)]),
    "zoned": (
        pa.timestamp("us", "Europe/Berlin"),
        [dt.datetime(2020, 10, 25, 2, 30, tzinfo=BERLIN, fold=fold) for fold in (0, 1)],
    ),
    "seconds": (pa.timestamp("s"), [dt.datetime(2000, 1, 1), dt.datetime(2000, 1, 1, 12)]),
    "truth": (pa.bool_(), [True, False]),
    "decimal": (pa.decimal128(7, 2), [Decimal("1.50"), Decimal("98765.43"), Decimal("0.00")]),
}
ITEMS = ["a", "a,b", "b,a", "a,c", "b", "", None]
MISSING = [None, float("nan"), pd.NA, pd.NaT]


class Spoken(str):
    """A text that carries more than its letters."""


@dataclass
class Case:
    """One run: what goes in, what is asked, and in which form the result is looked at."""

    source: Any
    table: pa.Table
    options: dict[str, Any]
    asked: Asked
    going_out: str
    order: str


def draw(seed: int) -> Case:
    """Draw a plan and a table that it is made for."""
    r = Random(seed)
    n = r.randint(3, 22)
    columns: dict[str, pa.Array] = {}
    labels: dict[str, Any] = {}
    hierarchies: dict[str, Any] = {}
    for number in range(r.randint(1, 3)):
        name = f"q{number}"
        columns[name], values = _column(r, n)
        hierarchies[name], labels[name] = _hierarchy(r, values)
    aggregated: dict[str, str] = {}
    if r.random() < 0.15:
        kind = r.choice(["integer", "float", "day", "small"])
        columns["w"], _ = _column(r, n, kind)
        aggregated["w"] = r.choice(["median", "mode", "interval", "set", "mean"])
    columns["S"] = pa.array(r.choices([*["a"] * 6, *["b"] * 3, "c", "d", "*", None], k=n), pa.string())
    columns["T"] = pa.array(r.choices([1, 2, None], [5, 4, 1], k=n), r.choice([pa.int64(), pa.int8()]))
    columns["I"] = pa.array(r.choices(ITEMS, k=n), pa.string())
    columns["K"] = pa.array([f"token {seed}-{row}-token" for row in range(n)], pa.string())
    columns["L"] = pa.array([0x57 << 42 | seed << 16 | row << 4 | 1 for row in range(n)], pa.int64())
    for number in range(r.randint(0, 2)):
        columns[f"k{number}"], _ = _column(r, n)
    columns["name"] = pa.array([f"person {seed}-{row}-person" for row in range(n)], pa.string())
    columns["x"], _ = _column(r, n)
    order = list(columns)
    r.shuffle(order)
    table = pa.table({name: columns[name] for name in order})

    treatment, others = r.choice(["remove", "mask"]), r.choice(["keep", "drop"])
    chosen = set(r.sample(range(n), r.randint(max(1, n // 2), n))) if r.random() < 0.15 else None
    models, theirs = _models(r, n, chosen, len(hierarchies))
    extra = {name for name in columns if name[0] in "kKL"}
    kept = {*extra, *({"x"} if others == "keep" else ())}
    asked = Asked(
        rows=[plain_row(row) for row in table.to_pylist()],
        labels=labels,
        models=theirs,
        sensitive=["S", "T", "I"],
        kept=[name for name in order if name in kept],
        masked=["name"] if treatment == "mask" else [],
        removed=["name"] if treatment == "remove" else [],
        aggregated=aggregated,
        suppressed_rows=r.choice(["blank", "blank", "keep cells", "drop"]),
        marker=r.choice(["*", "*", None, "gone"]),
        limit=r.choice([0.0, 1.0, 0.1, 0.3, 0.5, 0.7, 0.29, round(r.random(), 3)]),
        members=frozenset(range(n) if chosen is None else chosen),
    )
    options = {
        "quasi_identifiers": hierarchies,
        "microaggregated": aggregated,
        "models": models,
        "sensitive": ["S", "T", "I"],
        "insensitive": sorted(extra),
        "identifying": {"name": treatment},
        "others": others,
        "suppression_limit": asked.limit,
        "suppressed_rows": asked.suppressed_rows,
        "marker": asked.marker,
        "quality": r.choice(["loss", "loss", "average_class_size", "discernibility", "precision", "height"]),
        "order": r.choice(["random", "random", "input"]),
    }
    coming_in = r.choice(FRAMES)
    source = frame_of(table, coming_in)
    if coming_in == "pandas, objects" and r.random() < 0.5:
        source = _varied(r, source)
    if r.random() < 0.2:
        options["recoding"] = r.choice([SinglePass(), Iterative(0.5, 3, 0.1), FastIterative(0.1)])
    elif options["quality"] == "loss" and not aggregated and chosen is None and r.random() < 0.3:
        options |= {"recoding": "cells", "time_limit": 0.1}
    going_out = r.choice([*FRAMES[:1], *FILES]) if r.random() < 0.5 else "frame"
    return Case(source, table, options, asked, going_out, str(options["order"]))


def _column(r: Random, n: int, kind: str | None = None) -> tuple[pa.Array, list[Any]]:
    kind = r.choice([*KINDS]) if kind is None else kind
    type_, pool = KINDS[kind]
    some = r.sample(pool, r.randint(1, min(4, len(pool))))
    some += [None] if r.random() < 0.3 else []
    weights = [r.choice([1, 3, 8]) for _ in some]
    cells = r.choices(some, weights, k=n)
    if kind == "category":
        return pa.array(cells, pa.string()).dictionary_encode().cast(type_), some
    return pa.array(cells, type_), some


def _hierarchy(r: Random, values: list[Any]) -> tuple[Any, dict[Any, Any]]:
    """A forest over the texts of some values, with labels that occur as values, that look blank, and that are kept."""
    texts = list(dict.fromkeys(text_of(value) for value in values))
    known = [text for text in texts if text is not None] or ["nothing"]
    style = r.random()
    if style < 0.15:
        return "identity", {text: (text,) for text in [*known, None]}
    rows = [[text] for text in known]
    groups = list(range(len(known)))
    height = r.randint(1, 3)
    for level in range(1, height + 1):
        distinct = sorted(set(groups))
        rooted = level == height and r.random() < 0.7
        target = {each: 0 if rooted else r.randrange(len(distinct)) for each in distinct}
        groups = [target[each] for each in groups]
        root = r.choice(["*", f"{level}.0"])
        for row, group in zip(rows, groups, strict=True):
            row.append(root if rooted else f"{level}.{group}")
    problem = oracle.Problem([(text,) for text in texts], [rows])
    return Hierarchy.from_rows(rows), dict(problem.domains[0])


def _models(
    r: Random, n: int, chosen: set[int] | None, width: int
) -> tuple[list[m.PrivacyModel], list[oracle.AnyModel]]:
    name, k = r.choice(["S", "T"]), r.randint(1, 4)
    share = r.choice([0.05, 0.2, 0.34, 0.5, 1])
    usual: list[oracle.AnyModel] = [
        oracle.KAnonymity(k),
        oracle.KAnonymity(r.randint(2, 5)),
        oracle.DistinctLDiversity("S", r.randint(1, 3)),
        oracle.EntropyLDiversity(name, r.choice([1, 1.5, 1.89, 2])),
        oracle.EntropyLDiversity(name, r.choice([1, 1.5, 2]), "Grassberger"),
        oracle.RecursiveCLDiversity("S", r.choice([0.5, 1, 2, 4]), r.randint(1, 3)),
        oracle.TCloseness("S", r.choice([0.1, 0.25, 0.3, 0.5, 0.75]), r.choice(["equal", "ordered"])),
        oracle.TCloseness("T", r.choice([0.1, 0.25, 0.3, 0.5]), "ordered"),
        oracle.BetaLikeness(name, r.choice([0.3, 0.5, 1, 2]), r.random() < 0.5),
        oracle.RatioDistance(name, r.choice([1.5, 2, 4, 10])),
        oracle.DeltaDisclosure(name, r.choice([0.5, 1, 1.33, 2, 3])),
        oracle.AlphaKAnonymity(name, r.choice([0.5, 0.6, 0.75, 1]), k),
        oracle.KMAnonymity("I", r.randint(1, 3), r.randint(1, 2)),
        oracle.SubsetKAnonymity(k, r.randint(1, width)),
        oracle.KMap(k, r.choice([40, 1000]), r.choice([0.01, 0.1, 0.5])),
        oracle.NoAttack(r.choice([0, 2.5, 6]), r.choice([1, 2, 2.5])),
        oracle.SampleUniqueness(share),
        oracle.AverageReidentificationRisk(share),
        oracle.AverageReidentificationRisk(share, r.choice([0.2, 0.5, 1]), r.choice([0, 0.2])),
    ]
    if chosen is None:
        theirs = [r.choice(usual) for _ in range(r.randint(1, 2))]
        theirs = theirs if len({type(each) for each in theirs}) == len(theirs) else theirs[:1]
        found = [ours(each) for each in theirs]
        return [each for each in found if each is not None], theirs
    subset = Chosen(sorted(chosen))
    low, high = r.choice([(0, 1), (0, 0.5), (0, 0.9), (0.25, 0.75), (0.5, 1)])
    pairs: list[tuple[m.PrivacyModel, oracle.AnyModel]] = [
        (m.KMap(k, subset=subset), oracle.KMap(k)),
        (m.DeltaPresence(low, high, subset=subset), oracle.DeltaPresence(low, high)),
        (m.Inclusion(subset=subset), oracle.Inclusion()),
        (
            m.Profitability("journalist", subset=subset, no_attack=True, adversary_gain=6, cost=2),
            oracle.NoAttack(6, 2, "journalist"),
        ),
    ]
    one, other = r.choice(pairs)
    further = r.choice(usual[:8])
    also = ours(further)
    assert also is not None
    return ([one, also], [other, further]) if r.random() < 0.5 else ([one], [other])


def plain_row(row: dict[str, Any]) -> dict[str, Any]:
    """Cells as they count: not-a-number is missing, and there is one zero."""
    return {
        name: None if is_missing(value) else 0.0 if isinstance(value, float) and value == 0 else value
        for name, value in row.items()
    }


def _varied(r: Random, frame: Any) -> Any:
    """Put other objects of the same value into some cells of a frame of objects."""
    out = frame.copy()
    for name in frame.columns:
        if r.random() < 0.5:
            continue
        out[name] = pd.Series([_other(r, value) for value in frame[name]], dtype=object)
    return out


def _other(r: Random, value: Any) -> Any:
    if r.random() < 0.5:
        return value
    if value is None:
        return r.choice(MISSING)
    if type(value) is str:
        return Spoken(value)
    if type(value) is int:
        return r.choice([float(value), np.int64(value)]) if abs(value) < 2**50 else np.int64(value)
    if type(value) is float:
        return r.choice([np.float64(value), -0.0 if value == 0 else value])
    if type(value) is Decimal:
        return value.normalize()
    if type(value) is dt.datetime:
        return pd.Timestamp(value)
    return value
