"""References: parameters that name a file, a key or a variable of this machine.

Recipes of the data holder, the command line and Python may contain them. Documents from elsewhere may not:
requests to the workbench, projects and certificates are read inside `untrusted`, where no declared value with
a reference can be constructed, at any depth. So there is nothing that could be opened later.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import PurePath
from typing import Any, TypeVar

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

Value = TypeVar("Value")

VARIABLE = "env:"
"""Prefix of a reference to a key in an environment variable instead of a file."""

MARK = "x-names-a-place"
"""Mark of a reference in a JSON schema, by which the schema of documents from elsewhere leaves it out."""

_untrusted: ContextVar[_Untrusted | None] = ContextVar("_untrusted", default=None)


@dataclasses.dataclass(frozen=True)
class _Untrusted:
    keys: Collection[str]
    refused: list[str]


@dataclasses.dataclass(frozen=True)
class Reference:
    """A mark of a parameter: `Annotated[str, Reference("a hierarchy file", …)]`."""

    what: str
    instead: str
    is_key: bool = False
    is_file: bool = True

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return core_schema.no_info_after_validator_function(self._permit, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> Any:
        return {**handler(schema), MARK: True}

    def _permit(self, value: Value) -> Value:
        context = _untrusted.get()
        if context is None or not self.names_place(value) or (self.is_key and value in context.keys):
            return value
        message = (
            f"{self.what} of this machine cannot be named here, as this document comes from elsewhere: "
            f"{self.instead}"
        )
        context.refused.append(message)
        raise ValueError(message)

    def names_place(self, value: Any) -> bool:
        """Whether a value is a reference: text, a path, or the declared place of a table."""
        return isinstance(value, str | PurePath) or hasattr(value, "kind")


@contextmanager
def untrusted(keys: Collection[str] = ()) -> Iterator[list[str]]:
    """Read a document from elsewhere: inside, only references to these keys can be constructed.

    Yields a list of the refusals.

    >>> from veil.hierarchies import File
    >>> with untrusted():
    ...     File("/etc/passwd")
    Traceback (most recent call last):
    ...
    veil.errors.ParameterError: a hierarchy file of this machine cannot be named here, as this document comes from ...
    """
    context = _Untrusted(keys, [])
    before = _untrusted.set(context)
    try:
        yield context.refused
    finally:
        _untrusted.reset(before)


@contextmanager
def trusted() -> Iterator[None]:
    """Allow references in Veil's own code while it reads a document from elsewhere."""
    before = _untrusted.set(None)
    try:
        yield
    finally:
        _untrusted.reset(before)


def relocate(value: Any, move: Callable[[str], str]) -> Any:
    """Return a declared value, or a mapping or sequence of them, with every path inside changed.

    >>> from veil.models import TCloseness
    >>> model = TCloseness("job", 0.2, distance="hierarchical", hierarchy="job.csv")
    >>> relocate(model, lambda path: f"study/{path}").hierarchy
    File(path='study/job.csv', separator=None, header=False, encoding='utf-8')
    """
    if isinstance(value, Mapping) and any(map(_may_refer, value.values())):
        return {name: relocate(each, move) for name, each in value.items()}
    if isinstance(value, list | tuple) and any(map(_may_refer, value[:1])):  # all are declared, or none
        return type(value)(relocate(each, move) for each in value)
    if not _may_refer(value):
        return value
    changes = {}
    for name, field in type(value).__pydantic_fields__.items():
        old = getattr(value, name)
        new = move(old) if _is_path(field.metadata, old) else relocate(old, move)
        if new is not old:
            changes[name] = new
    return dataclasses.replace(value, **changes) if changes else value


def _may_refer(value: Any) -> bool:
    return hasattr(type(value), "__pydantic_fields__")


def _is_path(metadata: list[Any], value: Any) -> bool:
    is_file = any(isinstance(each, Reference) and each.is_file for each in metadata)
    return is_file and isinstance(value, str) and not value.startswith(VARIABLE)


def file_name(path: str) -> str:
    r"""Return the name of a file without its folder, which may be confidential.

    >>> file_name("/home/ada/study/job.csv"), file_name(r"C:\study\job.csv")
    ('job.csv', 'job.csv')
    """
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]
