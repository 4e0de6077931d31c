"""Errors compared by what they say, not by how they say it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from veil.errors import Say, VeilError


@contextmanager
def refused(
    kind: type[VeilError], *named: str | int | float | Say
) -> Iterator[pytest.ExceptionInfo[VeilError]]:
    """Expect an error of exactly this kind, whose message names these things and offers these ways out.

    A text or a number has to stand in the message: a column, a value, a limit. A `Say` has to be among its ways out as
    data, with the same field; its value and parameters count as far as the expected one has some.

    >>> from veil.errors import PlanError
    >>> with refused(PlanError, "note", Say("others", "keep")):
    ...     raise PlanError("column 'note' has no role: name it, or say ", Say("others", "keep"))
    """
    with pytest.raises(kind) as caught:
        yield caught
    error = caught.value
    assert type(error) is kind, f"{type(error).__name__} instead of {kind.__name__}: {error}"
    ways = [word for word in error.words if isinstance(word, Say)]
    for name in named:
        if isinstance(name, Say):
            assert any(_offers(way, name) for way in ways), f"no way out {name} in: {error}"
        else:
            assert str(name) in str(error), f"nothing about {name!r} in: {error}"


def _offers(way: Say, expected: Say) -> bool:
    return (
        way.field == expected.field
        and expected.value in (None, way.value)
        and expected.parameters.items() <= way.parameters.items()
    )
