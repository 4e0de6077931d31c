"""The verifier runs nothing of the engine: no function of its rooms, and no compiled kernel either."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType, ModuleType
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import veil
from veil import hierarchies as h
from veil import models as m
from veil.classes import kernels
from veil.models.subset import Where
from veil.quality import Loss, factors, summing

ENGINE = {"classes", "lattice", "quality"}
PACKAGE = Path(veil.__file__).parent


def room_of(code: CodeType) -> str | None:
    path = Path(code.co_filename)
    return path.relative_to(PACKAGE).parts[0] if path.is_relative_to(PACKAGE) else None


def is_kernel(value: Any) -> bool:
    return hasattr(value, "py_func") and room_of(value.py_func.__code__) is not None


@dataclass
class Watch:
    """Which functions of the engine are entered while the verifier works, and which while it does not."""

    verifying: set[int] = field(default_factory=set)
    verified: int = 0
    inside: set[str] = field(default_factory=set)
    outside: set[str] = field(default_factory=set)

    def profile(self, frame: FrameType, event: str, _: object) -> None:
        """Listen to the interpreter. Frames are in a set because they come from several threads."""
        room = room_of(frame.f_code) if event in ("call", "return") else None
        if room == "verification":
            self.verified += 1
            (self.verifying.add if event == "call" else self.verifying.discard)(id(frame))
        elif room in ENGINE and event == "call":
            self.note(room, frame.f_code)

    def note(self, room: str, code: CodeType) -> None:
        (self.inside if self.verifying else self.outside).add(f"{room}: {code.co_qualname}")

    def kernel(self, compiled: Any) -> Any:
        """The same kernel, seen when it is called, with every kernel that is compiled into it."""
        reached = [each.py_func.__code__ for each in compiled_into(compiled)]

        def called(*arguments: Any) -> Any:
            for code in reached:
                if (room := room_of(code)) in ENGINE:
                    self.note(room, code)
            return compiled(*arguments)

        return called


def compiled_into(kernel: Any, known: tuple[Any, ...] = ()) -> list[Any]:
    """A kernel and those that it calls, by a name of its module or of one that it imports."""
    names, world = kernel.py_func.__code__.co_names, kernel.py_func.__globals__
    found = [world[name] for name in names if name in world]
    found += [
        getattr(each, name)
        for each in found
        if isinstance(each, ModuleType)
        for name in names
        if hasattr(each, name)
    ]
    reached = [kernel]
    for each in found:
        if is_kernel(each) and all(each is not other for other in (*known, *reached)):
            reached += compiled_into(each, (*known, *reached))
    return reached


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    """Watch all threads that start meanwhile. What is called has to be compiled already."""
    watch = Watch()
    modules = [each for name, each in sys.modules.items() if name.partition(".")[0] == "veil"]
    kernels = [
        (each, name, value) for each in modules for name, value in vars(each).items() if is_kernel(value)
    ]
    instead = {id(value): watch.kernel(value) for *_, value in kernels}
    with monkeypatch.context() as patch:
        for module, name, value in kernels:
            patch.setattr(module, name, instead[id(value)])
        threading.setprofile(watch.profile)
        sys.setprofile(watch.profile)
        try:
            yield watch
        finally:
            sys.setprofile(None)
            threading.setprofile(None)


TABLE = pa.table(
    {
        "age": [20, 21, 35, 36, 50, 51] * 4,
        "sex": list("fm") * 12,
        "ill": ["flu", "cold", "gout", "flu"] * 6,
        "drugs": [["a", "b"], ["a"], ["b"]] * 8,
    }
)
WOMEN = Where("sex = 'f' or age > 40")
MODELS = [
    m.KAnonymity(2),
    m.KMap(2, subset=WOMEN),
    m.KMap(2, population=1000),
    m.SubsetKAnonymity(2, 1),
    m.AlphaKAnonymity("ill", 0.9, 2),
    m.DistinctLDiversity("ill", 2),
    m.EntropyLDiversity("ill", 1.2),
    m.RecursiveCLDiversity("ill", 3, 2),
    m.TCloseness("ill", 0.5),
    m.TCloseness("ill", 0.5, "ordered"),
    m.TCloseness(
        "ill", 0.5, "hierarchical", h.table([["flu", "x", "*"], ["cold", "x", "*"], ["gout", "y", "*"]])
    ),
    m.DeltaDisclosure("ill", 3),
    m.RatioDistance("ill", 9),
    m.BetaLikeness("ill", 3),
    m.KMAnonymity("drugs", 2, 2),
    m.DeltaPresence(0, 1, subset=WOMEN),
    m.Inclusion(subset=WOMEN),
    m.SampleUniqueness(0.5),
    m.PopulationUniqueness(0.5, population=1000),
    m.AverageReidentificationRisk(0.5),
    m.Profitability(),
    m.Profitability("journalist", subset=WOMEN),
]


PLAN: dict[str, Any] = {
    "quasi_identifiers": {"age": h.intervals(10), "sex": h.suppression()},
    "sensitive": ["ill", "drugs"],
    "suppression_limit": 0.9,
}


def test_every_model_is_looked_at() -> None:
    assert {type(model) for model in MODELS} == set(m.MODELS.values())


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_nothing_of_the_engine_runs_while_a_release_is_verified(
    model: m.PrivacyModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    veil.anonymize(TABLE, **PLAN, models=model)
    with watched(monkeypatch) as watch:
        release = veil.anonymize(TABLE, **PLAN, models=model)
    assert release.verification.holds
    assert {each.partition(":")[0] for each in watch.outside} == ENGINE
    assert watch.verified
    assert watch.inside == set()


def test_nor_while_a_recoded_one_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """And one that shows the means of its classes."""

    ages = pa.array([20] * 12 + [*range(30, 42)])
    table = TABLE.set_column(0, "age", ages).append_column("weight", pa.array(range(24)))
    shown = {"microaggregated": {"weight": "mean"}, "quality": Loss(factor=0)}

    def recoded() -> Any:
        return veil.anonymize(table, **PLAN, **shown, models=m.KAnonymity(5)).local_recoding()

    recoded()
    with watched(monkeypatch) as watch:
        release = recoded()
    assert release.passes
    assert release.verification.holds
    assert watch.verified
    assert watch.inside == set()


def test_nor_while_a_table_is_verified_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    released = veil.anonymize(TABLE, **PLAN, models=MODELS[0]).table
    plan = veil.Plan(**PLAN, models=MODELS[0])
    with watched(monkeypatch) as watch:
        assert veil.verify(released, plan).holds
    assert watch.verified
    assert (watch.inside, watch.outside) == (set(), set())


def call_a_function() -> None:
    factors.exact_factors(0.1)


def call_a_kernel() -> None:
    summing._sum(np.ones(3), np.ones(3).view(np.int64))


@pytest.mark.parametrize(
    ("peek", "seen"), [(call_a_function, "quality: exact_factors"), (call_a_kernel, "quality: _sum")]
)
def test_a_verifier_that_asks_the_engine_is_noticed(
    peek: Callable[[], None], seen: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    peek()
    verify = m.KAnonymity.verify
    monkeypatch.setattr(m.KAnonymity, "verify", lambda self, table: peek() or verify(self, table))
    with watched(monkeypatch) as watch:
        veil.verify(TABLE, veil.Plan(**PLAN, models=m.KAnonymity(2)))
    assert watch.inside == {seen}


def test_kernels_inside_kernels_are_known() -> None:
    found = [each.py_func.__name__ for each in compiled_into(kernels.merge_histogram)]
    assert found[0] == "merge_histogram"
    assert "_merge_entries" in found
