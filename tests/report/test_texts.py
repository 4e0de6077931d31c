"""The texts of pages: every language has the same, each is used, and what other rooms say is found by its template."""

from __future__ import annotations

import ast
import functools
import re
import string
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import veil
from veil.base.describe import definition, help_on, parameters
from veil.dp import SafePub
from veil.models.base import PrivacyModel
from veil.outcome.method import Method
from veil.quality.base import QualityModel
from veil.report.pages.language import Translator
from veil.report.texts import in_full, in_language, text, texts

SOURCE = Path(veil.__file__).parent
ENGLISH, GERMAN = in_language("en"), in_language("de")
OF_DECLARATIONS = {name for name in GERMAN if name.startswith("help.")}
OF_OTHER_ROOMS = (
    "alternatives", "attack", "concern", "figure", "finding", "hierarchy", "kind", "learner", "private", "promise",
    "remedy", "role", "search", "words",
)  # fmt: skip
"""Sections of texts that other rooms word in English."""


def declarations() -> Iterator[tuple[str, type[Any]]]:
    yield "SafePub", SafePub
    for room, family in ((veil.models, PrivacyModel), (veil.masking, Method), (veil.quality, QualityModel)):
        for name in room.__all__:
            kind = getattr(room, name)
            if isinstance(kind, type) and issubclass(kind, family) and kind is not family:
                yield name, kind


def holes(template: str) -> set[tuple[str | None, str | None, str | None]]:
    return {
        (name, spec, conversion) for _, name, spec, conversion in string.Formatter().parse(template) if name
    }


@functools.cache
def spelled(folder: Path) -> tuple[set[str], list[re.Pattern[str]]]:
    """All texts in the code of a folder, and patterns of those with holes."""
    constants, patterns = set[str](), list[re.Pattern[str]]()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                constants.add(node.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [
                    re.escape(str(each.value)) if isinstance(each, ast.Constant) else ".*"
                    for each in node.values
                ]
                if any(part != "(.*)" for part in parts):
                    patterns.append(re.compile("".join(parts), re.DOTALL))
    return constants, patterns


def test_languages_have_the_same_names_and_holes() -> None:
    assert set(GERMAN) - OF_DECLARATIONS == set(ENGLISH)
    for name, english in ENGLISH.items():
        german = GERMAN[name]
        assert {each[0] for each in holes(german)} <= {each[0] for each in holes(english)}, name
        assert holes(german) <= holes(english), name
        assert english == english.strip(), name
        assert german == german.strip(), name


def test_each_name_is_used() -> None:
    constants, patterns = spelled(SOURCE / "report")
    names = {
        name for each in constants if re.fullmatch(r"[\w. -]+", each) for name in in_full(each)
    } | constants
    page = (SOURCE / "report" / "templates" / "report.html").read_text(encoding="utf-8")
    names |= {f"page.{name}" for name in re.findall(r'_\("(\w+)"\)', page)}
    dotted = [each for each in patterns if re.match(r"[a-z_]+\\\.", each.pattern)]
    everywhere = spelled(SOURCE)[0]
    own = {name.removesuffix(".one").removesuffix(".many") for name in ENGLISH if is_of_a_page(name)}
    matches = [(name, each.fullmatch(name)) for name in own - names for each in dotted]
    chosen = {name for name, match in matches if match and everywhere.issuperset(match.groups())}
    composed = {"summary.groups_of_records", "summary.smallest_group_of_records"}
    composed |= {each.replace("records", "people") for each in composed}  # by the unit that is counted
    assert own - names - chosen - composed == set()


def is_of_a_page(name: str) -> bool:
    return name.partition(".")[0] not in (*OF_OTHER_ROOMS, "counts", "values")


def test_what_other_rooms_say_is_what_they_say() -> None:
    """A text whose English has changed in its room is found here: it would stay English."""
    constants, patterns = spelled(SOURCE)
    constants |= {each.replace("_", " ") for each in constants}
    left = {ENGLISH[name] for name in ENGLISH if name.partition(".")[0] in OF_OTHER_ROOMS} - constants
    left = {each for each in left if not any(each[at:] in constants for at in starts(each, constants))}
    left = {
        each for each in left if not any(pattern.fullmatch(each) for pattern in patterns if is_long(pattern))
    }
    assert left == set()
    values = {each.values for _, kind in declarations() for each in parameters(kind)}
    assert {english for name, english in ENGLISH.items() if name.startswith("values.")} <= values
    nouns = {english.split(" ", 1)[1] for name, english in ENGLISH.items() if name.startswith("counts.")}
    assert {
        noun for noun in nouns if noun not in constants and noun.removesuffix("s") not in constants
    } == set()


def starts(english: str, constants: set[str]) -> Iterator[int]:
    return (at for at in range(1, len(english)) if english[:at] in constants)


def is_long(pattern: re.Pattern[str]) -> bool:
    return len(pattern.pattern.replace("(.*)", "")) > 8


def test_what_declarations_say_is_translated() -> None:
    """Models, masking methods and quality models, and the parameters of models, by their place."""
    words, places = Translator("de"), set()
    for name, kind in declarations():
        says = {"definition": definition(kind)}
        says |= {each.name: each.about for each in parameters(kind) if each.about}
        for part, english in says.items():
            places.add(f"help.{name}.{part}")
            if part == "definition" or issubclass(kind, PrivacyModel):
                assert words.of(help_on(name, part, english)) != english.replace("`", ""), (name, part)
    assert places >= OF_DECLARATIONS


def test_forms_of_values_are_translated() -> None:
    words = Translator("de")
    said = {
        each.values
        for _, kind in declarations()
        if issubclass(kind, PrivacyModel)
        for each in parameters(kind)
    }
    left = {each for each in said if words.of(each) == each}
    assert {each for each in left if not re.fullmatch(r"\w+(, \w+)*", each)} == set()  # choices stay


def test_one_is_singular() -> None:
    assert text("annex.further_columns", count=1) == "1 further column left out."
    assert text("annex.further_columns", count=1200) == "1,200 further columns left out."
    assert (
        Translator("de").of(text("annex.further_columns", count=1200)) == "1.200 weitere Spalten weggelassen."
    )


def test_names_continue_on_their_page() -> None:
    assert in_full("common.column annex.mean median") == ["common.column", "annex.mean", "annex.median"]
    assert texts("common.column annex.mean") == ("Column", "Mean")
    with pytest.raises(KeyError):
        text("annex.no_such_text")
