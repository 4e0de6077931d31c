"""The steps of a recipe: every kind of step, from the room that declares it.

A step is a declared value with a `kind`. Masking methods are steps where they are declared. An annex (policies, private tables, questions) stands above the verbs that it calls: it declares
its step with `@declared(kind_of=Annex)` in a module that `veil/__init__.py` lists, or that another package names
as an entry point of the group `veil.steps`. Without that module, its step is unknown.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Union

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationInfo
from pydantic_core import core_schema

from veil.base.annexes import ANNEXES
from veil.base.registry import REGISTRY, load_entry_points
from veil.base.spell import spell_value
from veil.plan.plan import Plan
from veil.recipe.generalize import GeneralizeSpec, spell_generalize, step_of
from veil.recipe.parts import with_kind

if TYPE_CHECKING:
    from veil.recipe.recipe import Recipe


class Annex:
    """A step that is no part of anonymizing a table, and carries itself out."""

    is_step: ClassVar[bool] = True
    """Whether it is listed under `steps`."""

    makes_release: ClassVar[bool] = True
    """Whether it makes a release, which is written with a report and a certificate."""

    command: ClassVar[str]
    """The command that carries it out."""

    unused: ClassVar[tuple[str, ...]] = ()
    """Fields of a recipe that have no effect on it, and are refused."""

    def check(self, recipe: Recipe) -> None:
        """Refuse a recipe whose other fields do not fit."""
        recipe.refuse_fields(self.unused)

    def carry_out(self, run: Any, **options: Any) -> Any:
        """Do the work of a resolved run (`veil.api.resolve.Run`)."""
        raise NotImplementedError

    def write_record(self, release: Any, path: Path) -> None:
        """Write the record of processing of a release, if it has a place for one."""
        raise NotImplementedError


def annexes() -> dict[str, type[Annex]]:
    """Return the steps of annexes, and the questions, by their kind."""
    for module in ANNEXES:
        if importlib.util.find_spec(module.rpartition(".")[0]) is not None:
            importlib.import_module(module)
    load_entry_points("veil.steps", Annex)
    # In the order of the list, whichever was imported first.
    places = {module: at for at, module in enumerate(ANNEXES)}
    kinds = REGISTRY.get(Annex, {}).items()
    return dict(sorted(kinds, key=lambda kind: places.get(kind[1].__module__, len(places))))


def _masks() -> Mapping[str, type[Any]]:
    from veil.masking import METHODS  # imported late, for a faster start

    return METHODS


def _annex_steps() -> dict[str, type[Annex]]:
    return {kind: each for kind, each in annexes().items() if each.is_step}


class _Steps(Mapping[str, type[Any]]):
    """All kinds of steps; those of a room are imported once a kind is looked up that no room before it has."""

    rooms: tuple[Callable[[], Mapping[str, type[Any]]], ...] = (
        lambda: {"Generalize": GeneralizeSpec},
        _masks,
        _annex_steps,
    )

    def __getitem__(self, kind: str) -> type[Any]:
        for room in self.rooms:
            if kind in room():
                return room()[kind]
        raise KeyError(kind)

    def __iter__(self) -> Iterator[str]:
        return iter([kind for room in self.rooms for kind in room()])

    def __len__(self) -> int:
        return len(list(iter(self)))

    def __contains__(self, kind: object) -> bool:
        return any(kind in room() for room in self.rooms)

    # Compared by identity, as an annotation.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return core_schema.with_info_plain_validator_function(_read_step)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> Any:
        union: Any = Annotated[Union[tuple(self.values())], Field(discriminator="kind")]  # noqa: UP007
        return handler(TypeAdapter(union).core_schema)


STEPS = _Steps()

_EXPECTED = "a step, such as {kind: Generalize, …} or {kind: RankSwapping, columns: [age], p: 10},"


def _read_step(value: Any, info: ValidationInfo) -> Any:
    if isinstance(value, Plan):
        return step_of(value)
    value = with_kind(value, STEPS, _EXPECTED)
    if not isinstance(value, Mapping):
        return value
    if value.get("key") is not None:
        raise ValueError("a key does not belong in a recipe: name a `key_file` or a `key_variable` instead")
    return _validate(STEPS[value["kind"]], value, info)


class _Questions:
    """Questions to a table, which an annex declares."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return core_schema.with_info_plain_validator_function(_read_questions)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> Any:
        return handler(TypeAdapter(annexes()["Questions"]).core_schema)


def _read_questions(value: Any, info: ValidationInfo) -> Any:
    if value is None:
        return None
    if (questions := annexes().get("Questions")) is None:
        raise ValueError("this installation has no questions")
    return _validate(questions, value, info)


def _validate(cls: Any, value: Any, info: ValidationInfo) -> Any:
    return cls.__pydantic_validator__.validate_python(value, context=info.context)


StepSpec = Annotated[Any, STEPS]
QuestionsSpec = Annotated[Any, _Questions()]


def spell_step(step: Any) -> dict[str, Any]:
    """Return a step as a file spells it, without defaults."""
    return spell_generalize(step) if isinstance(step, GeneralizeSpec) else spell_value(step)
