"""Conversion of trees to policies and back: both shapes of LPL are read, the first one is written.

The first has lists with their elements in them (`purposeList: {purpose: […]}`); the second has bare lists
(`purposeList: […]`), and as XML it is a dump with `root` and `item`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from veil.base.untrusted import TEXT, scalar_text
from veil.errors import InputError
from veil.policy.documents.elements import ELEMENTS, Policy, Spelling, Text, spellings

ROOT = "layeredPrivacyPolicy"

Reader = Callable[[Any, str], Any]


def from_tree(tree: Any, place: str = "") -> Policy:
    """Return the policy that a tree spells.

    >>> from_tree({"layeredPrivacyPolicy": {"purposeList": [{"name": "research"}]}}).purposes[0].name
    'research'
    """
    tree = _unwrap_policy(tree, place)
    policy = _build("Policy", tree, place or ROOT)
    assert isinstance(policy, Policy)
    return policy


def to_tree(policy: Policy) -> dict[str, Any]:
    """Return the tree of a policy in the canonical shape, without the root around it."""
    return _plain("Policy", policy)


def spell(element: Any) -> dict[str, Any]:
    """Return the tree of any element of a policy in the canonical shape."""
    return _plain(type(element).__name__, element)


def _unwrap_policy(tree: Any, place: str) -> Any:
    while isinstance(tree, dict) and len(tree) == 1 and next(iter(tree)) in (ROOT, "root", "item"):
        tree = next(iter(tree.values()))
    if isinstance(tree, list) and len(tree) == 1:
        return _unwrap_policy(tree[0], place)
    if not isinstance(tree, dict):
        raise InputError(
            f"{place or ROOT}: a policy should be an element with parts, not {_show(tree)}. See "
            "docs/policies.md"
        )
    return tree


# Reading

_SHARED = frozenset({"Data", "Entity", "PolicyModel", "PseudonymizationMethod", "Retention"})
_MOST = 100_000
_shared_parts: dict[tuple[str, str], Any] = {}
"""Equal parts of many policies, by their spelling: each is built once."""


def _build_shared(element: str, tree: Any, place: str) -> Any:
    key = element, repr(tree)
    part = _shared_parts.get(key)
    if part is None:
        part = _build(element, tree, place)
        if len(_shared_parts) >= _MOST:
            _shared_parts.clear()
        _shared_parts[key] = part
    return part


def _build(element: str, tree: Any, place: str) -> Any:
    if not isinstance(tree, dict):
        raise InputError(f"{place}: should be an element with parts, not {_show(tree)}")
    fields = _FIELDS[element]
    values: dict[str, Any] = {}
    extra: dict[str, Any] = {}
    for key, value in tree.items():
        field = fields.get(key) or fields.get(key.lower())
        if field is None:
            extra[key] = value
            continue
        name, reader = field
        parsed = reader(value, f"{place}.{key}")
        if name in values and values[name] != parsed:
            if not isinstance(parsed, tuple):
                raise InputError(
                    f"{place}.{key}: appears twice, as {_show(values[name])} and {_show(parsed)}. Write it once"
                )
            parsed = values[name] + parsed
        values[name] = parsed
    return ELEMENTS[element](**values, extra=extra) if extra else ELEMENTS[element](**values)


def _read_text(value: Any, place: str) -> str | None:
    if isinstance(value, str) or value is None:
        return value
    if isinstance(value, bool | int | float):
        return scalar_text(value)
    if isinstance(value, dict):
        if not value:
            return ""
        if set(value) == {TEXT}:
            return str(value[TEXT])
        if set(value) == {"type", "value"}:
            return _duration(value, place)
    raise InputError(f"{place}: should be text, not {_show(value)}")


def _duration(value: dict[str, Any], place: str) -> str:
    """Read a point in time that is a number of days, months or years."""
    unit = str(_read_text(value["type"], place)).lower()
    number = str(_read_text(value["value"], place))
    if unit not in ("day", "month", "year") or not (number.isascii() and number.isdigit()):
        raise InputError(f"{place}: should be a number of days, months or years, not {_show(value)}")
    return f"P{number}{unit[0].upper()}"


_FLAGS = {"true": True, "false": False, "1": True, "0": False}


def _read_flag(value: Any, place: str) -> bool | None:
    if isinstance(value, bool) or value is None:
        return value
    text = _read_text(value, place)
    flag = _FLAGS.get(str(text).strip().lower())
    if flag is None:
        raise InputError(f"{place}: should be true or false, not {_show(text)}")
    return flag


def _items(value: Any, names: frozenset[str]) -> list[Any]:
    """Return the elements of a list without their wrappers."""
    if value is None or value == "":
        return []
    if isinstance(value, list):
        # In a dump, an item may have its element around it.
        return [
            inner
            for each in value
            for inner in (
                _items(each, names) if isinstance(each, dict) and _is_wrapper(each, names) else [each]
            )
        ]
    if isinstance(value, dict):
        if not value:
            return []
        if _is_wrapper(value, names):
            return [each for inner in value.values() for each in _items(inner, names)]
    return [value]


def _is_wrapper(value: dict[str, Any], names: frozenset[str]) -> bool:
    for key in value:
        if key.lower() not in names:
            return False
    return bool(value)


def _reader(field: Spelling) -> Reader:
    if field.kind == "text":
        return _read_text
    if field.kind == "flag":
        return _read_flag
    names = _wrappers(field)
    if field.kind == "one":
        return lambda value, place: _read_one(field, value, place)
    if field.kind == "texts":
        return lambda value, place: tuple(
            _read_name(each, field, f"{place}[{at}]") for at, each in enumerate(_items(value, names))
        )
    if field.element == "Policy":
        return lambda value, place: tuple(
            _build("Policy", _unwrap_policy(each, place), f"{place}[{at}]")
            for at, each in enumerate(_items(value, names))
        )
    build = _build_shared if field.element in _SHARED else _build
    return lambda value, place: tuple(
        build(field.element, each, f"{place}[{at}]") for at, each in enumerate(_items(value, names))
    )


def _read_one(field: Spelling, value: Any, place: str) -> Any:
    if isinstance(value, list):
        if len(value) > 1:
            raise InputError(f"{place}: appears {len(value)} times. Write it once")
        value = value[0] if value else None
    if value is None or value == {} or value == "":
        return None
    build = _build_shared if field.element in _SHARED else _build
    return build(field.element, value, place)


def _read_name(value: Any, field: Spelling, place: str) -> str:
    """Read an element that is only a name or a value."""
    if not isinstance(value, dict):
        return str(_read_text(value, place))
    for key in (field.element, "name", "value", TEXT):
        if key in value:
            text = str(_read_text(value[key], f"{place}.{key}"))
            extra = {other: each for other, each in value.items() if other != key}
            return Text(text, extra) if extra else text
    raise InputError(f"{place}: has no {field.element!r}, only {_show(sorted(value))}")


def _wrappers(field: Spelling) -> frozenset[str]:
    names = {name.lower() for name in (field.name, *field.aliases)} | {"item"}
    if field.element == "Label":
        names.add("label")
    if field.element == "Policy":
        names = {"item"}
    if field.element == "Attribute":
        names |= {"attribute"}
    return frozenset(names | {f"{name}list" for name in names})


def _fields(element: str) -> dict[str, tuple[str, Reader]]:
    fields: dict[str, tuple[str, Reader]] = {}
    for name, field in spellings(ELEMENTS[element]).items():
        reader = _reader(field)
        for key in (field.name, *field.aliases):
            variants = {key, key.lower()}
            if field.kind in ("many", "texts"):
                variants |= {f"{key}List", f"{key.lower()}list", f"{key}s"}
            for variant in variants:
                fields.setdefault(variant, (name, reader))
    return fields


_FIELDS = {element: _fields(element) for element in ELEMENTS}


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}…"


# Writing


def _plain(element: str, value: Any) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for name, field in spellings(ELEMENTS[element]).items():
        content = getattr(value, name)
        if content is None or content == ():
            continue
        if field.kind in ("text", "flag"):
            tree[field.name] = content
        elif field.kind == "one":
            tree[field.name] = _plain(field.element, content)
        else:
            tree |= _list(field, content)
    tree.update(value.extra)
    return tree


def _list(field: Spelling, members: tuple[Any, ...]) -> dict[str, Any]:
    if field.kind == "texts":
        items = [{field.element: str(each), **getattr(each, "extra", {})} for each in members]
    elif field.element == "Policy":
        items = [{ROOT: _plain("Policy", each)} for each in members]
    else:
        items = [_plain(field.element, each) for each in members]
    if not field.wrapped:
        return {field.name: items}
    return {f"{field.name}List": {"label" if field.element == "Label" else field.name: items}}
