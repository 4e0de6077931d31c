"""Policies as files: LPL as XML or JSON, DPV and ODRL as JSON-LD or Turtle; one in each file or line."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from veil.base.paths import usable
from veil.base.untrusted import DUMP, MOST_BYTES, parse_json, parse_xml, write_xml
from veil.errors import InputError, OutputError
from veil.policy import linked
from veil.policy.documents.elements import Policy
from veil.policy.documents.form import ROOT, from_tree, to_tree
from veil.tables import atomic

SUFFIXES = (".xml", ".json")
LINKED = (".jsonld", ".ttl")
"""Suffixes of linked data, which is read and not written."""


def read(path: str | os.PathLike[str]) -> Policy:
    """Read a policy from a file. Its references are neither opened nor fetched."""
    return parse(_bytes(Path(path)), str(path))


def parse(content: str | bytes, name: str = "policy") -> Policy:
    """Read a policy from text: LPL as XML or JSON, DPV or ODRL as JSON-LD or Turtle. `name` begins messages.

    Statements of DPV and ODRL that have no place in a policy are listed by `veil.policy.documents.unmapped_parts`.

    >>> parse('<layeredPrivacyPolicy name="clinic"><purposeList/></layeredPrivacyPolicy>').name
    'clinic'
    >>> parse('{"layeredPrivacyPolicy": {"name": "clinic"}}').name
    'clinic'
    """
    content = content.encode() if isinstance(content, str) else content
    start = content.lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start in (b"{", b"["):
        tree = parse_json(content, name)
        if linked.is_linked(tree):
            graph = linked.parse_json_ld(tree, name)
            return _located(lambda: linked.from_graph(graph), name)
        return _located(lambda: from_tree(tree), name)
    if linked.is_turtle(content):
        graph = linked.parse_turtle(content, name)
        return _located(lambda: linked.from_graph(graph), name)
    root, tree = parse_xml(content, name)
    if root not in (ROOT, DUMP):
        raise InputError(
            f"{name}: a policy begins with {ROOT!r}, not {root!r}. Is it another kind of document?"
        )
    return _located(lambda: from_tree(tree), name)


def _located(make: Callable[[], Policy], name: str) -> Policy:
    """Make a policy; errors begin with the name of its document."""
    try:
        return make()
    except InputError as error:
        raise error.after(f"{name}: ") from None


def read_all(path: str | os.PathLike[str]) -> dict[str, Policy]:
    """Read policies by their ids: files of a folder by their names without suffix, lines of a `.jsonl` file
    or a single policy by the name in the policy.
    """
    place = usable(path)
    if not place.is_dir():
        return _by_name(_lines(place) if place.suffix == ".jsonl" else [(str(place), read(place))])
    policies: dict[str, Policy] = {}
    files: dict[str, Path] = {}
    for file in sorted(each for each in place.iterdir() if each.suffix in (*SUFFIXES, *LINKED)):
        if file.stem in policies:
            raise InputError(f"{file}: another policy has this id: {files[file.stem]}. Rename one of them")
        policies[file.stem], files[file.stem] = read(file), file
    if not policies:
        raise InputError(
            f"{path}: contains no policy. Policy files end in {', '.join(SUFFIXES)}, {' or '.join(LINKED)}"
        )
    return policies


def _lines(path: Path) -> Iterator[tuple[str, Policy]]:
    try:
        with path.open("rb") as file:
            number = 0
            while line := file.readline(MOST_BYTES + 1):
                number += 1
                if line.strip():
                    name = f"{path}, line {number}"
                    yield name, parse(line, name)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None


def _by_name(named_policies: Any) -> dict[str, Policy]:
    policies: dict[str, Policy] = {}
    for place, policy in named_policies:
        if not policy.name:
            raise InputError(f"{place}: the policy has no name, so records cannot refer to it. Give it one")
        if policy.name in policies:
            raise InputError(f"{place}: another policy has the name {policy.name!r}. Rename one of them")
        policies[policy.name] = policy
    return policies


def as_policies(policies: Any) -> dict[str, Policy]:
    """Return policies by their ids, from a mapping, a list, one policy, or the path of a file or folder."""
    if isinstance(policies, Policy):
        return _by_name([("the policy", policies)])
    if isinstance(policies, str | os.PathLike):
        return read_all(policies)
    if isinstance(policies, Mapping):
        for key, each in policies.items():
            if not isinstance(each, Policy):
                raise InputError(f"policy {key!r} should be a Policy (see veil.policy.read), not {each!r}")
        return {str(key): each for key, each in policies.items()}
    return _by_name((f"policy {at + 1}", each) for at, each in enumerate(policies))


def to_json(policy: Policy) -> str:
    """Return a policy as JSON, in the canonical shape."""
    return json.dumps({ROOT: to_tree(policy)}, indent=2, ensure_ascii=False) + "\n"


def to_xml(policy: Policy) -> str:
    """Return a policy as XML, in the canonical shape."""
    return write_xml(ROOT, to_tree(policy))


def write(policy: Policy, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Write a policy, as XML or JSON by the suffix: whole, or not at all."""
    target = usable(path, OutputError)
    if target.suffix not in SUFFIXES:
        raise OutputError(f"{path}: a policy is written as {' or '.join(SUFFIXES)}. Choose one of them")
    if target.exists() and not overwrite:
        raise OutputError(f"{path}: already exists. Choose another name, or say overwrite=True")
    text = to_xml(policy) if target.suffix == ".xml" else to_json(policy)
    with atomic(target) as temporary:
        temporary.write_text(text, encoding="utf-8")


def _bytes(path: Path) -> bytes:
    try:
        with usable(path).open("rb") as file:
            return file.read(MOST_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file. Check the path of the policy") from None
    except IsADirectoryError:
        raise InputError(
            f"{path}: is a folder. veil.policy.read_all reads the policies of a folder"
        ) from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from None
