"""Every declared parameter that is a number takes numbers only, within its range, and says so in one way."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import math
import pkgutil
import types
import typing
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal

import annotated_types
import numpy as np
import pytest
from pydantic import Field

import veil
from support.recipes import generalize, generalize_data
from support.refusals import refused
from veil import hierarchies as h
from veil.base.declare import declared
from veil.cli.failures import explain_errors
from veil.errors import ParameterError, VeilError
from veil.masking import PRAM, Mondrian, TopCoding
from veil.models import (
    AlphaKAnonymity,
    KAnonymity,
    KMap,
    RecursiveCLDiversity,
    SubsetKAnonymity,
    TCloseness,
)
from veil.recipe import Recipe

ENDLESS = {("Plan", "time_limit"), ("GeneralizeSpec", "time_limit")}
"""Where infinity means something: a search without an end."""

OTHERS: dict[str, dict[str, Any]] = {"SafePub": {"epsilon": 1, "delta": 1e-6}}
"""What has to be given along, where a class reads its numbers only when it has all of them."""

LOWER = (annotated_types.Ge, annotated_types.Gt)
BOUNDS = (*LOWER, annotated_types.Le, annotated_types.Lt)


def declarations() -> list[type[Any]]:
    """All classes of the package that are made by `declared`, also those that nobody has written yet."""
    names = [each.name for each in pkgutil.walk_packages(veil.__path__, "veil.")]
    modules = [importlib.import_module(name) for name in names if not name.endswith("__main__")]
    return [
        each
        for module in modules
        for each in vars(module).values()
        if inspect.isclass(each) and each.__module__ == module.__name__
        if dataclasses.is_dataclass(each) and hasattr(each, "__pydantic_fields__")
    ]


@dataclasses.dataclass(frozen=True)
class Number:
    """A number somewhere in a parameter: what may stand there, its bounds, and how to get there."""

    cls: type[Any]
    field: str
    takes: tuple[Any, ...]
    bounds: dict[type[Any], float]
    holders: tuple[type[Any], ...]

    def __str__(self) -> str:
        return f"{self.cls.__name__}.{self.field}" + "".join(f"[{each.__name__}]" for each in self.holders)

    def refusal(self, value: Any) -> str:
        """What is said about a value; nothing if it is taken. Parameters that are not given do not matter."""
        for holder in reversed(self.holders):
            value = {"a": value} if holder is dict else [value]
        try:
            self.cls(**(OTHERS.get(self.cls.__name__, {}) | {self.field: value}))
        except VeilError as error:
            return "; ".join(each for each in str(error).split("; ") if not each.endswith("is required"))
        return ""


def numbers(cls: type[Any]) -> Iterator[Number]:
    """All numbers in the parameters of a class, by their annotations."""
    for name, field in cls.__pydantic_fields__.items():
        for takes, marks, holders in _places(field.annotation, list(field.metadata)):
            bounds = {type(mark): getattr(mark, type(mark).__name__.lower()) for mark in marks}
            yield Number(cls, name, takes, bounds, holders)


def _places(hint: Any, marks: list[Any]) -> Iterator[tuple[tuple[Any, ...], list[Any], tuple[Any, ...]]]:
    """Where numbers are in a type: along with what else may stand there, their bounds, and in what they are held."""
    hint, own = _bare(hint)
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    choices = [_bare(each) for each in parts] if origin in (typing.Union, types.UnionType) else [(hint, [])]
    takes = tuple(each for each, _ in choices)
    if {int, float} & set(takes) and bool not in takes:
        inner = [mark for _, more in choices for mark in more]
        yield takes, [mark for mark in (*marks, *own, *inner) if isinstance(mark, BOUNDS)], ()
    for each, _ in choices:
        if typing.get_origin(each) in (dict, tuple, list):
            holder = dict if typing.get_origin(each) is dict else list
            held = typing.get_args(each)[1 if holder is dict else 0]
            yield from ((takes, marks, (holder, *holders)) for takes, marks, holders in _places(held, []))


def _bare(hint: Any) -> tuple[Any, list[Any]]:
    """A type without its annotations, and these."""
    if typing.get_origin(hint) is not Annotated:
        return hint, []
    inner, *more = typing.get_args(hint)
    return inner, [mark for each in more for mark in getattr(each, "metadata", [each])]


NUMBERS = [number for each in declarations() for number in numbers(each)]


def test_all_kinds_of_declarations_are_looked_at() -> None:
    told = {str(number) for number in NUMBERS}
    assert len(told) > 100
    assert told >= {
        "KAnonymity.k",
        "TCloseness.t",
        "Loss.factor",
        "Loss.weights[dict]",
        "Static.losses[dict][list]",
        "Genetic.mutation",
        "Priority.levels",
        "Intervals.widths[list]",
        "RankSwapping.p",
        "TopCoding.threshold",
        "SafePub.steps",
        "SafePub.epsilon",
        "Csv.skip",
        "Settings.threads",
        "Iterative.iterations",
        "Plan.suppression_limit",
        "Plan.minimum_levels[dict]",
        "Population.sampling_fraction",
        "RowNumbers.rows[list]",
        "GlobalRecoding.breaks[list]",
    }


@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_a_number_is_a_number(number: Number) -> None:
    for value in (True, False, np.True_, np.False_):
        assert str(bool(value)) in number.refusal(value), value
    assert number.refusal([])
    if str in number.takes:
        return
    assert "'x'" in number.refusal("x")
    if Decimal not in number.takes:  # these read text, to lose no digit
        assert "'5'" in number.refusal("5")


@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_what_is_not_finite_is_refused(number: Number) -> None:
    assert "nan" in number.refusal(math.nan).lower()
    for endless in (math.inf, -math.inf):
        if (number.cls.__name__, number.field) not in ENDLESS or endless < 0:
            assert "inf" in number.refusal(endless).lower()


@pytest.mark.parametrize("number", [each for each in NUMBERS if each.bounds], ids=str)
def test_what_is_out_of_range_is_refused_with_the_whole_range(number: Number) -> None:
    beyond = {annotated_types.Ge: -1, annotated_types.Gt: 0, annotated_types.Le: 1, annotated_types.Lt: 0}
    has_both = 0 < len(set(LOWER) & set(number.bounds)) < len(number.bounds)
    for kind, bound in number.bounds.items():
        told = number.refusal(bound + beyond[kind])
        assert f"not {bound + beyond[kind]}" in told
        assert not has_both or all(f"{each:.15g}" in told for each in number.bounds.values())
        inside = min(number.bounds.values()) + (0.5 if float in number.takes else 1)
        assert f"not {inside}" not in number.refusal(inside)


@declared
class Ranges:
    closed: Annotated[float, Field(ge=0, le=1)] = 0.5
    half: Annotated[float, Field(gt=0, le=1)] = 0.5
    other: Annotated[int, Field(ge=1, lt=9)] = 5
    open: Annotated[float | None, Field(gt=0, lt=1)] = None
    both: Annotated[float, Field(ge=0, gt=0, le=1)] = 0.5
    one: Annotated[float, Field(gt=0)] = 1
    items: Annotated[tuple[Annotated[float, Field(ge=0, le=1)], ...], Field(max_length=2)] = ()
    either: int | str | None = None
    truth: bool | int = 0
    kind: Literal["Ranges"] = Field(default="Ranges", repr=False, kw_only=True)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"closed": 2}, "`closed` of Ranges should be from 0 to 1, not 2"),
        ({"closed": math.nan}, "`closed` of Ranges should be from 0 to 1, not nan"),
        ({"closed": True}, "`closed` of Ranges should be a number from 0 to 1, not True"),
        ({"closed": "5%"}, "`closed` of Ranges should be a number from 0 to 1, not '5%'"),
        ({"half": 0}, "`half` of Ranges should be more than 0 and at most 1, not 0"),
        ({"other": 9}, "`other` of Ranges should be at least 1 and less than 9, not 9"),
        ({"open": 1}, "`open` of Ranges should be more than 0 and less than 1, not 1"),
        ({"both": 0}, "`both` of Ranges should be more than 0 and at most 1, not 0"),
        ({"one": 0}, "`one` of Ranges should be greater than 0, not 0"),
        ({"one": math.inf}, "`one` of Ranges should be a finite number, not inf"),
        ({"items": [0.5, -1]}, "`items.1` of Ranges should be from 0 to 1, not -1"),
        ({"items": [0, 0, 0]}, "`items` of Ranges should have at most 2 items, not 3"),
        ({"items": 5}, "`items` of Ranges should be a list, not 5"),
        ({"either": True}, "`either` of Ranges should be a valid integer or text, not True"),
        ({"closed": 2, "half": 2}, "`closed` of .* not 2; `half` of .* not 2"),
        ({"wrong": 2}, "`wrong` of Ranges is not a parameter"),
    ],
)
def test_messages(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ParameterError, match=f"^{message}$"):
        Ranges(**given)


def test_numbers_of_every_type_are_taken_as_they_are() -> None:
    assert KAnonymity(np.int64(5)) == KAnonymity(5.0) == KAnonymity(5)  # type: ignore[arg-type]
    assert TCloseness("s", np.float32(0.5)).t == TCloseness("s", Decimal("0.5")).t == 0.5  # type: ignore[arg-type]
    assert (type(Ranges(either=5).either), Ranges(either="5").either) == (int, "5")
    assert [Ranges(truth=each).truth for each in (True, 1)] == [True, 1]
    values = AlphaKAnonymity("s", 0.5, 2, values=(1, True, 0.5, "1")).values
    assert values is not None
    assert [type(each) for each in values] == [int, bool, float, str]


def test_parameters_are_given_once() -> None:
    with refused(ParameterError, "KAnonymity", "`k`", "twice"):
        KAnonymity(5, k=5)  # type: ignore[misc]
    with refused(ParameterError, "KAnonymity", "at most 1", "not 2"):
        KAnonymity(5, 6)  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: SubsetKAnonymity(2, subsets=[]),
            "`subsets` of SubsetKAnonymity should have at least 1 item, not 0",
        ),
        (lambda: KMap(2, population=2.5), r"`population` of KMap should be Population\(...\), not 2.5"),
        (
            lambda: KMap(2, population={"size": True}),
            "`population.size` of KMap should be a valid integer, not True",
        ),
        (lambda: TopCoding("x", threshold=True), "`threshold` of TopCoding should be a valid integer or"),
        (lambda: Mondrian(["a"], [KAnonymity]), r"not the class KAnonymity itself: write KAnonymity\(...\)"),
        (lambda: Mondrian(["a"], [{"k": 2}]), "^privacy model: `kind` is required$"),
        (lambda: PRAM("a", matrix={"x": {"y": True}}), "should be .*, not True"),
        (lambda: h.ordering(True), "`groups.0` of Ordering should be a valid integer, not True"),
        (lambda: h.intervals(True), "a width should be a number or a duration, not True"),
        (
            lambda: RecursiveCLDiversity("s", "3", 2),
            "`c` of RecursiveCLDiversity should be a valid number, not '3'",
        ),
    ],
)
def test_what_is_said_in_words_of_users(make: Any, message: str) -> None:
    with pytest.raises(VeilError, match=message) as found:
        make()
    assert not any(
        each in str(found.value) for each in ("Tuple", "after validation", "Input", "instance of P")
    )


def test_text_is_read_where_there_is_only_text(tmp_path: Path) -> None:
    models = "[{kind: TCloseness, attribute: s, t: .5}, {kind: KAnonymity, k: '5'}]"
    recipe = tmp_path / "recipe.yaml"
    recipe.write_text(generalize(f"quasi_identifiers: {{q: suppression}}\nsensitive: s\nmodels: {models}\n"))
    assert Recipe.read(recipe).plan().models == (TCloseness("s", 0.5), KAnonymity(5))
    with explain_errors():  # as on the command line
        assert TCloseness("s", ".5") == TCloseness("s", 0.5)  # type: ignore[arg-type]
        with refused(ParameterError, "`k`", "KAnonymity", "not 'x'"):
            KAnonymity("x")  # type: ignore[arg-type]
        with refused(ParameterError, "`k`", "KAnonymity", "not True"):
            KAnonymity(True)
    with refused(ParameterError, "`t`", "TCloseness", "from 0", "'.5'"):
        TCloseness("s", ".5")  # type: ignore[arg-type]


def test_recipes_made_in_python_refuse_true_for_a_number() -> None:
    fields: dict[str, Any] = {
        "quasi_identifiers": {"q": "suppression"},
        "models": [{"kind": "KAnonymity", "k": 2}],
    }
    with refused(ParameterError, "`steps[0].models[0].k`", "not True"):
        Recipe(**generalize_data(**(fields | {"models": [{"kind": "KAnonymity", "k": True}]})))
    with refused(ParameterError, "`steps[0].suppression_limit`", "not True"):
        Recipe(**generalize_data(**(fields | {"suppression_limit": True})))
    with refused(ParameterError, "`steps[0].minimum_levels.q`", "not True"):
        Recipe(**generalize_data(**(fields | {"minimum_levels": {"q": True}})))


def test_numbers_that_cannot_be_written_down_are_refused() -> None:
    for value in (10**5000, [1, 10**5000]):
        with refused(ParameterError, "too long"):
            KMap(2, subset=value) if isinstance(value, list) else veil.KAnonymity(value)
