"""Families of declared classes, built in or from other packages: privacy models, quality models, masks.

A class enters its family where it is declared, `@declared(kind_of=PrivacyModel)`. Recipes and their JSON
schema, the command line, the documentation and the public names all read the family, so a new class is one
file, in Veil or in another package, which names it as an entry point:

    [project.entry-points."veil.models"]
    AtMostHalf = "at_most_half:AtMostHalf"
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import re
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, Generic, TypeVar, Union

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler, TypeAdapter, ValidationInfo
from pydantic_core import core_schema

from veil.errors import ExtensionError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

REGISTRY: dict[type[Any], dict[str, type[Any]]] = {}
"""Base classes, each with the classes that are declared to be of its kind, by their `kind`."""

_loaded: set[str] = set()
_loading = threading.RLock()


def register(cls: type[Any], base: type[Any]) -> None:
    """Register a declared class under its `kind`; refuse a kind of another class of the family."""
    if not issubclass(cls, base):
        raise ExtensionError(f"{cls.__name__} is declared as a kind of {base.__name__}: derive it from that")
    kind = kind_of(cls)
    other = REGISTRY.setdefault(base, {}).get(kind)
    if other is not None and (other.__module__, other.__qualname__) != (cls.__module__, cls.__qualname__):
        raise ExtensionError(
            f"{cls.__module__}.{cls.__qualname__} has the kind {kind!r}, which already belongs to "
            f"{other.__module__}.{other.__qualname__}: give it another one"
        )
    REGISTRY[base][kind] = cls


def kind_of(cls: type[Any]) -> str:
    """Return the name of a declared class in recipes."""
    field = cls.__pydantic_fields__.get("kind")
    if field is None or not isinstance(field.default, str):
        raise ExtensionError(
            f"{cls.__name__} needs a field `kind`, by which recipes name it: "
            f'kind: Literal["{cls.__name__}"] = Field(default="{cls.__name__}", repr=False, kw_only=True)'
        )
    return field.default


def import_files(package: str, *, skip: str | None = None) -> None:
    """Import every module of a package but one, so that its declared classes are registered."""
    for each in pkgutil.iter_modules(sys.modules[package].__path__):
        if each.name != skip:
            importlib.import_module(f"{package}.{each.name}")
            if each.ispkg:
                import_files(f"{package}.{each.name}")


def plain(name: str) -> str:
    """Return a name in lower case, without blanks, hyphens and underscores.

    >>> plain("KAnonymity"), plain("k-anonymity"), plain("k anonymity")
    ('kanonymity', 'kanonymity', 'kanonymity')
    """
    return re.sub(r"[\s_-]", "", name).lower()


def find(classes: Mapping[str, type[T]], name: str) -> type[T] | None:
    """Return the class whose kind, or one of its `synonyms`, reads like a name; None if there is none."""
    plain_name = plain(name)
    for kind, each in classes.items():
        if plain_name in map(plain, (kind, *getattr(each, "synonyms", ()))):
            return each
    return None


def snake(kind: str) -> str:
    """Return a kind as a name in Python.

    >>> snake("AverageClassSize")
    'average_class_size'
    """
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind).lower()


class Family(Mapping[str, type[T]], Generic[T]):
    """The declared classes that derive from one base, by their `kind`; as an annotation, any one of them.

    Parameters
    ----------
    base
        The common base class.
    group
        The entry points by which other packages add classes, loaded on the first lookup that needs them.
    order
        Kinds in the order in which they are listed; all others follow by name.
    further
        Classes that belong to this family object only, not to every family with this base.
    package
        The package whose modules declare the classes, if they are imported only on the first lookup.
    """

    def __init__(
        self,
        base: type[T],
        group: str,
        *,
        order: Sequence[str] = (),
        further: Sequence[type[T]] = (),
        package: str | None = None,
    ) -> None:
        self.base, self.group, self.order, self.further = base, group, tuple(order), tuple(further)
        self.package = package

    def plus(self, *further: type[T]) -> Family[T]:
        """Return the family with further classes, at the end of the list."""
        order = (*self.order, *map(kind_of, further))
        further = (*self.further, *further)
        return Family(self.base, self.group, order=order, further=further, package=self.package)

    def registered(self) -> dict[str, type[T]]:
        """Return the registered classes, without loading entry points."""
        if self.package is not None:
            import_files(self.package)
            # Only now: a concurrent lookup imports the modules too, instead of missing classes.
            self.package = None
        classes = REGISTRY.get(self.base, {}) | {kind_of(each): each for each in self.further}
        place = {kind: at for at, kind in enumerate(self.order)}
        return dict(sorted(classes.items(), key=lambda each: (place.get(each[0], len(place)), each[0])))

    def _all(self) -> dict[str, type[T]]:
        load_entry_points(self.group, self.base)
        return self.registered()

    def __getitem__(self, kind: str) -> type[T]:
        return self._all()[kind]

    def __iter__(self) -> Iterator[str]:
        return iter(self._all())

    def __len__(self) -> int:
        return len(self._all())

    # Compared by identity, not by content: a family is used in annotations, which are compared.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def names(self) -> list[str]:
        """The names of the registered classes."""
        return [each.__name__ for each in self.registered().values()]

    def attribute(self, module: str, name: str) -> type[T]:
        """Return the class of this name, for the `__getattr__` of a module."""
        # Entry points are loaded only for a name that can be that of a class.
        for lookup in (self.registered, self._all) if name[:1].isupper() else ():
            for each in lookup().values():
                if each.__name__ == name:
                    return each
        alike = [each for each in self.registered() if len(name) > 3 and name.lower() in each.lower()]
        hint = f". Perhaps one of {', '.join(alike)}?" if alike else ""
        raise AttributeError(f"module {module!r} has no attribute {name!r}{hint}")

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return handler.generate_schema(_AnyOf(self))


class _AnyOf:
    """The union of the classes of a family, looked up whenever a value is read or a schema is made."""

    def __init__(self, family: Family[Any]) -> None:
        self.family = family

    @property
    def union(self) -> TypeAdapter[Any]:
        return _union(tuple(self.family.values()))

    def read(self, value: Any, info: ValidationInfo) -> Any:
        return self.union.validator.validate_python(value, context=info.context)

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> Any:
        return core_schema.with_info_plain_validator_function(self.read)

    def __get_pydantic_json_schema__(self, schema: Any, handler: GetJsonSchemaHandler) -> Any:
        return handler(self.union.core_schema)


@functools.lru_cache(maxsize=32)
def _union(classes: tuple[type[Any], ...]) -> TypeAdapter[Any]:
    union: Any = Annotated[Union[classes], Field(discriminator="kind")]  # noqa: UP007
    return TypeAdapter(union)


def load_entry_points(group: str, base: type[Any]) -> None:
    """Import the classes that other packages add to a family, once."""
    if group in _loaded:
        return
    with _loading:
        if group in _loaded:
            return
        from importlib.metadata import entry_points

        _loaded.add(group)  # before loading: an extension may look up the family itself
        try:
            for point in entry_points(group=group):
                _load(point, base)
        except BaseException:
            _loaded.discard(group)
            raise


def _load(point: EntryPoint, base: type[Any]) -> None:
    owner = f" of {point.dist.name} {point.dist.version}" if point.dist is not None else ""
    subject = f"entry point {point.name!r} in the group {point.group!r}{owner}, {point.value!r},"
    try:
        extension = point.load()
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise ExtensionError(
            f"{subject} cannot be loaded: {why}. Repair or uninstall what it belongs to"
        ) from error
    if not isinstance(extension, ModuleType) and extension not in REGISTRY.get(base, {}).values():
        raise ExtensionError(
            f"{subject} is not a {base.__name__} declared with @declared(kind_of={base.__name__})"
        )
