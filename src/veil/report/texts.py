"""The texts of pages by name, in every language: a file each, with the same names and the same holes."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from typing import Any

from veil.base.wording import Phrase


def text(name: str, /, **values: object) -> Phrase:
    """Return a text of a page by its name; with `count`, in the singular if that is one.

    >>> text("first.approval"), text("annex.further_columns", count=1)
    ('Approval', '1 further column left out.')
    """
    english = in_language("en")
    if name not in english:
        name += ".one" if values.get("count") == 1 else ".many"
    return Phrase(english[name], name, **values)


def has_text(name: str) -> bool:
    """Whether there is a text of this name."""
    return name in in_language("en")


def texts(names: str) -> tuple[Phrase, ...]:
    """Return several texts, such as the headings of a table; without a page, a name is of the page before.

    >>> texts("common.column annex.mean median")
    ('Column', 'Mean', 'Median')
    """
    return tuple(map(text, in_full(names)))


def methods_in_order(kinds: Sequence[str]) -> str:
    """Return methods in the order in which they were applied."""
    return functools.reduce(lambda before, after: text("mask.then", before=before, after=after), kinds)


def in_full(names: str) -> list[str]:
    """Return names with their pages."""
    result, page = [], ""
    for above, _, name in (each.rpartition(".") for each in names.split()):
        page = above or page
        result.append(f"{page}.{name}")
    return result


@functools.cache
def in_language(language: str) -> dict[str, str]:
    """Return the texts of a language by name."""
    file = resources.files("veil.report").joinpath("words", f"{language}.toml")
    return dict(_flat(tomllib.loads(file.read_text(encoding="utf-8"))))


@functools.cache
def names_by_english() -> dict[str, str]:
    """Return the names of texts by their English template, by which those of other rooms are found."""
    return {english: name for name, english in in_language("en").items()}


def _flat(tree: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    for name, each in tree.items():
        if isinstance(each, Mapping):
            yield from _flat(each, f"{above}{name}.")
        else:
            yield above + name, each
