"""Declared values: small immutable objects whose parameters state their own range.

Privacy models, quality models, hierarchy builders and strategies are declared as classes with annotated
fields. The declaration is the single source for the constructor, the range checks, the recipe file format and
its JSON schema.

A field for a number takes numbers only: True is not 1, and in Python "5" is not 5. Recipes and the command
line consist of text, so there "5" is read as 5. Numbers are finite unless a declaration sets `allow_inf_nan`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast, dataclass_transform, overload

import numpy as np
import pydantic
import pydantic.dataclasses
from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import ArgsKwargs, PydanticCustomError, PydanticKnownError, core_schema

from veil.base.as_text import text_is_taken
from veil.base.keywords import EXAMPLES, hint
from veil.base.registry import register
from veil.errors import ParameterError, did_you_mean

T = TypeVar("T")
Place = tuple[str | int, ...]
"""The location of a value: keys and positions from the top."""

_CONFIG = pydantic.ConfigDict(extra="forbid", arbitrary_types_allowed=True)
_IN_PYTHON = object()


@overload
def declared(cls: type[T], /) -> type[T]: ...


@overload
def declared(*, kind_of: type[Any]) -> Callable[[type[T]], type[T]]: ...


@dataclass_transform(frozen_default=True, field_specifiers=(Field,))
def declared(cls: type[Any] | None = None, /, *, kind_of: type[Any] | None = None) -> Any:
    """Make a class a frozen value object that refuses parameters outside their declared range.

    With `kind_of`, it is registered in a family: `@declared(kind_of=PrivacyModel)`.

    >>> from veil.models import KAnonymity
    >>> KAnonymity(5)
    KAnonymity(k=5)
    >>> KAnonymity(0)
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `k` of KAnonymity should be greater than or equal to 1, not 0
    >>> KAnonymity(True)
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: `k` of KAnonymity should be a valid integer, not True
    """

    def declare(cls: type[Any]) -> type[Any]:
        value_class = _frozen(cls)
        if kind_of is not None:
            register(value_class, kind_of)
        return value_class

    return declare if cls is None else declare(cls)


def _frozen(cls: type[Any]) -> type[Any]:
    spells_itself = "__repr__" in cls.__dict__
    cls.__get_pydantic_core_schema__ = classmethod(_schema)
    value_class = pydantic.dataclasses.dataclass(frozen=True, config=_CONFIG)(cls)
    positional = [field.name for field in dataclasses.fields(cast("Any", value_class)) if not field.kw_only]

    @wraps(cast("Callable[..., None]", value_class.__init__))
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        # By name, so that a message names the parameter and not its position.
        arguments = dict(zip(positional, args, strict=False))
        try:
            if len(args) > len(positional):
                raise TypeError(f"takes at most {len(positional)} positional arguments, not {len(args)}")
            for name in arguments.keys() & kwargs.keys():
                raise TypeError(f"`{name}` is given twice")
            arguments |= kwargs
            for name in (name for name, value in arguments.items() if _is_endless(value)):
                raise TypeError(f"`{name}` is too long a number; 4,300 digits are the most")
            self.__pydantic_validator__.validate_python(
                ArgsKwargs((), arguments),
                self_instance=self,
                context=None if text_is_taken.get() else _IN_PYTHON,
            )
        except pydantic.ValidationError as error:
            raise ParameterError(explain(error, f"of {cls.__name__} ", arguments)) from None
        except TypeError as error:
            raise ParameterError(f"{cls.__name__}: {error}") from None

    value_class.__init__ = __init__  # type: ignore[method-assign]
    if not spells_itself:
        value_class.__repr__ = _spell  # type: ignore[method-assign]
    return value_class


def _is_endless(value: Any) -> bool:
    """Whether an integer, or one in a list, has more digits than Python writes."""
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_is_endless, value))
    return isinstance(value, int) and value.bit_length() > _MOST_BITS


_MOST_BITS = 14_000


def _spell(self: Any) -> str:
    """Write a value as a call; keyword-only parameters are left out at their defaults."""
    fields = [
        f"{each.name}={getattr(self, each.name)!r}"
        for each in dataclasses.fields(self)
        if each.repr
        and not (each.kw_only and getattr(self, each.name) == getattr(each.default, "default", None))
    ]
    return f"{type(self).__qualname__}({', '.join(fields)})"


# Numbers


def _schema(cls: type[Any], source: Any, handler: GetCoreSchemaHandler) -> Any:
    return with_careful_numbers(handler(source))


def with_careful_numbers(schema: Any, finite: bool = True) -> Any:
    """Return a schema of pydantic whose numbers accept numbers only and report their whole range."""
    if isinstance(schema, list | tuple):
        return type(schema)(with_careful_numbers(each, finite) for each in schema)
    if not isinstance(schema, dict):
        return schema
    kind = schema.get("type")
    if kind in ("int", "float", "decimal"):
        # Strict integers refuse all else without a call of Python for each of a million row numbers.
        is_strict = kind == "int" and schema.get("strict") and _range(schema) is None
        return schema if is_strict else _careful(schema, finite)
    if kind == "function-wrap" and getattr(schema["function"]["function"], "is_careful", False):
        return schema
    if kind == "union":
        kinds = {each["type"] for each in schema["choices"] if isinstance(each, dict)}
        if "bool" in kinds:
            return schema  # where True is allowed, it is not taken for 1
        # A field that also takes text has its own validator, with better messages.
        finite = "str" not in kinds
    return {
        key: each if key in _NO_SCHEMAS else with_careful_numbers(each, finite)
        for key, each in schema.items()
    }


_NO_SCHEMAS = ("default", "metadata", "serialization", "json_schema_input_schema")


def _careful(schema: dict[str, Any], finite: bool) -> Any:
    whole = schema["type"] == "int"
    if schema["type"] == "float" and finite:
        schema = {"allow_inf_nan": False, **schema}
    allowed_range = _range(schema)

    def number(value: Any, validate: Callable[[Any], Any], info: pydantic.ValidationInfo) -> Any:
        is_text = isinstance(value, bytes) or (isinstance(value, str) and info.context is _IN_PYTHON)
        try:
            if is_text or isinstance(value, bool | np.bool_):
                raise PydanticKnownError("int_type" if whole else "float_type")
            return validate(value)
        except pydantic.ValidationError as error:
            if allowed_range is None or error.errors()[0]["type"] not in _OUTSIDE:
                raise
        except PydanticKnownError:
            if allowed_range is None:
                raise
        a_number = "" if isinstance(value, int | float) and not isinstance(value, bool) else "a number "
        raise PydanticCustomError(
            "out_of_range", "Input should be {range}", {"range": a_number + allowed_range}
        )

    number.is_careful = True  # type: ignore[attr-defined]
    return core_schema.with_info_wrap_validator_function(number, cast("Any", schema))


_OUTSIDE = (
    *("greater_than", "greater_than_equal", "less_than", "less_than_equal", "finite_number"),
    *("int_type", "int_parsing", "float_type", "float_parsing"),
)


def _range(schema: Mapping[str, Any]) -> str | None:
    """Describe the range of a number that is bounded on both sides; None for others.

    >>> _range({"ge": 0, "le": 1}), _range({"gt": 0, "le": 1}), _range({"ge": 1})
    ('from 0 to 1', 'more than 0 and at most 1', None)
    """
    above, least, below, most = (schema.get(each) for each in ("gt", "ge", "lt", "le"))
    if (above is None and least is None) or (below is None and most is None):
        return None
    is_open = above is not None and (least is None or above >= least)
    if not is_open and below is None:
        return f"from {least} to {most}"
    lower = f"more than {above}" if is_open else f"at least {least}"
    return f"{lower} and " + (f"at most {most}" if below is None else f"less than {below}")


# Messages


def explain(error: pydantic.ValidationError, owner: str = "", data: Any = None) -> str:
    """Return a message of one line: parameter in backticks, the rule, then the value.

    With `data`, the validated input, alternatives of a parameter are reported as one.
    """
    rules_by_name: dict[str, list[str]] = {}
    values: dict[str, Any] = {}
    lines = []
    for problem in problems(error):
        place = problem["loc"] if data is None else follow_location(problem["loc"], data)[0]
        name = ".".join(map(str, place))
        kind = problem["type"]
        if kind == "value_error":
            lines.append(str(problem["ctx"]["error"]))
        elif kind in ("missing", "missing_argument"):
            name = ".".join(map(str, problem["loc"]))
            example = EXAMPLES.get(name) if owner == "of Plan " else None
            lines.append(f"`{name}` {owner}is required" + (f", for example {example}" if example else ""))
        elif kind in ("extra_forbidden", "unexpected_keyword_argument"):
            elsewhere = hint(name) if owner == "of Plan " else ""  # survey weights are tried there
            lines.append(f"`{name}` {owner}is not a parameter" + (elsewhere and f".{elsewhere}"))
        elif kind in ("union_tag_invalid", "union_tag_not_found"):
            lines.append(f"`{name}` {owner}".rstrip() + f": {rule(problem)}" if name else rule(problem))
        elif kind in ("too_short", "too_long"):
            lines.append(f"`{name}` {owner}{rule(problem)}")
        else:
            rules_by_name.setdefault(name, []).append(rule(problem))
            values.setdefault(name, problem["input"])
    lines += [
        f"`{name}` {owner}{either(rules)}, not {show_value(values[name])}"
        for name, rules in rules_by_name.items()
    ]
    return "; ".join(lines)


def problems(error: pydantic.ValidationError) -> list[Any]:
    """List the errors, without lists that are too short only because their items are wrong."""
    details = error.errors()
    inner = {problem["loc"][:end] for problem in details for end in range(len(problem["loc"]))}
    return [each for each in details if each["type"] != "too_short" or each["loc"] not in inner]


def follow_location(location: Place, data: Any) -> tuple[Place, str]:
    """Return a location of pydantic without the parts that name an alternative instead of a part of the data.

    Also return the kind of the mapping that holds the value: its own `kind`, or the alternative tried.

    >>> follow_location(("models", 0, "KAnonymity", "k"), {"models": [{"kind": "KAnonymity", "k": 0}]})
    (('models', 0, 'k'), 'KAnonymity')
    """
    place: list[str | int] = []
    here, owner, kind = data, "", ""
    for part in location:
        if isinstance(here, Mapping) and part in here:
            kind = str(here.get("kind", kind))
            here = here[part]
        elif isinstance(here, list | tuple) and isinstance(part, int) and part < len(here):
            here = here[part]
        else:
            kind = str(part)
            continue
        place.append(part)
        owner, kind = kind, "?"
    return tuple(place), owner


def rule(problem: Any) -> str:
    """Describe what a value should be, in words of users instead of pydantic's."""
    kind, context = problem["type"], problem.get("ctx", {})
    if kind in ("too_short", "too_long"):
        least, most = context.get("min_length"), context.get("max_length")
        count = f"at least {least}" if kind == "too_short" else f"at most {most}"
        items = "item" if (least if kind == "too_short" else most) == 1 else "items"
        return f"should have {count} {items}, not {context['actual_length']}"
    if kind == "union_tag_invalid":
        kinds = [each.strip("' ") for each in context["expected_tags"].split(",")]
        return f"there is no kind {context['tag']!r}.{did_you_mean(context['tag'], kinds)}"
    if kind == "union_tag_not_found":
        return "`kind` is required"
    if kind == "path_type":
        return "should be a path"
    if kind == "is_instance_of":
        return f"should be a {context['class']}"
    if kind == "dataclass_type":
        return f"should be {context['class_name']}(...)"
    message: str = problem["msg"].removeprefix("Input ").split(", unable to ")[0]
    for theirs, ours in _WORDS.items():
        message = message.replace(theirs, ours)
    return message


_WORDS = {
    "a valid dictionary or object to extract fields from": "a mapping of names to values",
    "a valid dictionary": "a mapping of names to values",
    "an object": "a mapping of names to values",
    "a valid array": "a list",
    "a valid tuple": "a list",
    "a valid list": "a list",
    "a valid string": "text",
    "String should": "should",
}


def either(rules: list[str]) -> str:
    """Join the rules of alternatives into one.

    >>> either(["should be a valid number", "should be text", "should be text"])
    'should be a valid number or text'
    """
    first, *others = dict.fromkeys(rules)
    return " or ".join([first, *(each.strip().removeprefix("should be ") for each in others)])


def show_value(value: Any) -> str:
    """Return an invalid value as text, with a hint if parentheses are missing.

    >>> from veil.models import KAnonymity
    >>> show_value(5), show_value(KAnonymity)
    ('5', 'the class KAnonymity itself: write KAnonymity(...)')
    """
    if (
        callable(value)
        and getattr(value, "__module__", "").startswith("veil.")
        and hasattr(value, "__name__")
    ):
        kind = "class" if isinstance(value, type) else "function"
        return f"the {kind} {value.__name__} itself: write {value.__name__}(...)"
    text = repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


_LONGEST = 200
