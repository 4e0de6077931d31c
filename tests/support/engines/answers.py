"""One plan on a table in memory and on the same table elsewhere: the answers, compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import veil
from support.engines.people import TYPED, plan, records
from veil import models as m
from veil.api.release import Release
from veil.engines.dialects import collect
from veil.models.subset import Where
from veil.quality import Loss
from veil.recoding import FastIterative

Source = Any
Holder = Callable[[pa.Table], Source]


def shown(release: Release) -> pa.Table:
    """What a release of any source shows, in memory."""
    frame = release.table
    if isinstance(frame, pa.Table):
        return frame
    if hasattr(frame, "toArrow"):
        return frame.toArrow()
    return collect(frame._find_backend(), frame)


def assert_same(held: Release, memory: Release) -> None:
    table = shown(held)
    assert sorted(table.column_names) == sorted(memory.arrow.column_names)
    assert records(table.select(memory.arrow.column_names)) == records(memory.arrow)
    assert (held.records, held.suppressed) == (memory.records, memory.suppressed)
    assert held.risk() == memory.risk()
    assert held.measures() == pytest.approx(memory.measures())
    assert held.verification.holds


def compared(holder: Holder, table: pa.Table, options: dict[str, Any]) -> tuple[Any, Any]:
    memory = veil.anonymize(table, **options)
    held = veil.anonymize(holder(table), **options)
    assert held.transformation == memory.transformation
    assert held.score == memory.score
    assert held.classes == memory.classes
    assert_same(held, memory)
    return held, memory


def all_types(*generalized: str) -> dict[str, Any]:
    levels = {name: int(name in generalized) for name in TYPED}
    return plan(TYPED, minimum_levels=levels, maximum_levels=levels)


TRAPS = {
    "suppressed": pa.array(["x", None] * 10),
    "Veil_suppressed": pa.array(["x", "y"] * 10),
    "veil_part": pa.array(range(20)),
    "veil_0": pa.array(range(20)),
    "veil_0_l1": pa.array(["y"] * 20),
    "veil_k0_hit": pa.array(range(20)),
    "veil_records": pa.array(range(20)),
    "Order by": pa.array(range(20)),
    "veil_0_right": pa.array(range(20)),
}
LEVELS = {"maximum_levels": {"age": 0, "city": 0}}
SUBSET = Where("smoker = true or (`age` is missing and diagnosis != 'gout') or city = 'Zürich'")
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "suppressed rows stay": ({}, LEVELS),
    "suppressed rows go": ({}, LEVELS | {"suppressed_rows": "drop"}),
    "no marker": ({}, LEVELS | {"marker": None}),
    "another marker": ({}, LEVELS | {"marker": 'it\'s "hidden"'}),
    "identifying column removed": ({}, LEVELS | {"identifying": {"name": "remove"}}),
    "masked without a marker": ({}, LEVELS | {"marker": None, "suppressed_rows": "drop"}),
    "others dropped": ({}, LEVELS | {"others": "drop"}),
    "others dropped and generalized": ({}, {"others": "drop", "minimum_levels": {"age": 1}}),
    "columns with names of ours": (TRAPS, LEVELS),
    "columns with names of ours, generalized": (TRAPS, {"minimum_levels": {"age": 1}}),
    "all suppressed": ({}, LEVELS | {"models": m.KAnonymity(20)}),
    "all suppressed and gone": ({}, LEVELS | {"models": m.KAnonymity(20), "suppressed_rows": "drop"}),
    "nothing suppressed": ({}, {"suppression_limit": 0.0}),
    "one class": ({}, {"minimum_levels": {"age": 3, "city": 1}}),
    "diversity": ({}, {"models": [m.KAnonymity(2), m.DistinctLDiversity("diagnosis", 2)]}),
    "closeness": ({}, {"models": m.TCloseness("diagnosis", 0.4)}),
    "a research subset": ({}, LEVELS | {"models": m.KMap(3, subset=SUBSET)}),
    "a research subset, generalized": (
        {},
        {"models": [m.KAnonymity(2), m.DeltaPresence(0, 0.8, subset=SUBSET)]},
    ),
    "a research subset, rows gone": (TRAPS, {"models": m.KMap(3, subset=SUBSET), "suppressed_rows": "drop"}),
}


def recoded(holder: Holder, table: pa.Table, options: dict[str, Any]) -> Any:
    memory = veil.anonymize(table, **options).local_recoding(FastIterative(0.05))
    held = veil.anonymize(holder(table), **options).local_recoding(FastIterative(0.05))
    assert held.passes == memory.passes
    assert_same(held, memory)
    return held


RECODING = {"quality": Loss(factor=0), "models": m.KAnonymity(3)}
