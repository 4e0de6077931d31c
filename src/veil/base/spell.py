"""Declared values as recipes write them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter


def spell_value(value: Any) -> Any:
    """Write a declared value as a mapping that begins with its kind and leaves out defaults.

    >>> from veil.models import KAnonymity
    >>> spell_value(KAnonymity(5))
    {'kind': 'KAnonymity', 'k': 5}
    """
    dumped = TypeAdapter(type(value)).dump_python(value, exclude_defaults=True)
    dumped.pop("kind", None)
    return {"kind": value.kind, **_plain(dumped)}


def _plain(value: Any) -> Any:
    """Convert values to types of YAML, without losing a digit."""
    if isinstance(value, Mapping):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, Decimal):
        return float(value) if Decimal(repr(float(value))) == value else str(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Path):
        return value.as_posix()
    if isinstance(value, timedelta):
        return TypeAdapter(timedelta).dump_python(value, mode="json")
    return value


def leaves(value: Any, *, keys: bool = False) -> Iterator[str]:
    """Yield every scalar in nested lists and mappings as text, with or without the keys of mappings.

    >>> list(leaves({"upper": {"coding": 90}, "listed": [["a", None]]}))
    ['90', 'a']
    """
    if isinstance(value, Mapping):
        value = [*(value if keys else ()), *value.values()]
    if isinstance(value, list | tuple):
        for each in value:
            yield from leaves(each, keys=keys)
    elif value is not None:
        yield str(value)
