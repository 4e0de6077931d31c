"""The languages of a report: pages are written in English and translated by a catalogue.

A catalogue (`words/de.json`) maps each English text to its translation. Texts that vary have holes: `{0}` is
copied, with its numbers and conjunctions in the format of the language; `{#0}` is a number; the text in
`{=0}` is translated itself. Texts without translation stay English; texts of a table or of the data holder
(`Verbatim`) are not translated. To add a language, add a file and its name to `About.language`.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
import string
from collections.abc import Iterable
from importlib import resources
from typing import Any

from veil.base.wording import Text
from veil.report.pages.blocks import Section, Verbatim
from veil.report.pictures.shapes import Scene, TextShape
from veil.report.words import in_language, name_of

_HOLE = re.compile(r"\{([=#]?)(\d)\}")
_FILLS = {"": "(.+?)", "=": "(.+?)", "#": r"([\d.,\s%<>≤–−-]+)"}
_MORE = re.compile(r" and ([0-9.,]+) more$")
_JOIN = re.compile(r"(?<=') (and|or) (?=')|, (then) (?=[A-Z])")
_SOFT_SPACE = re.compile(r"(?<=\d) (?=%)|(?<=[<>≤≥]) (?=\d)|(?<=[εδk]) [=−-] (?=\d)")
_NUMBER = re.compile(r"(?<![\w.,])(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?![\w.,]*\d)")


class Translator:
    """Translates texts into a language.

    >>> Translator("de").of("Of 30,162 records, 30,000 are released and 162 suppressed.")
    'Von 30.162 Datensätzen werden 30.000 freigegeben und 162 unterdrückt.'
    >>> Translator("en").of("Purpose"), Translator("de").of("Purpose"), Translator("de").of(Verbatim("Purpose"))
    ('Purpose', 'Zweck', 'Purpose')
    """

    def __init__(self, language: str, package: str = "veil.report") -> None:
        """Use the catalogue of a language, by default that of reports."""
        self.language, self.package = language, package

    def of(self, text: str) -> str:
        """Translate a text."""
        if self.language == "en" or isinstance(text, Verbatim) or not text:
            return text
        template = getattr(text, "template", text)
        name = getattr(text, "name", "") or name_of(template)
        if name and self.package == "veil.report":
            return _Filling(self).vformat(in_language(self.language)[name], (), getattr(text, "values", {}))
        if isinstance(text, Text) and not re.search(r"[^\W\d_]", re.sub(r"\{.*?\}", "", template)):
            return _Filling(self).vformat(template, (), text.values)
        exact, patterns = _catalogue(self.language, self.package)
        if text in exact:
            return exact[text]
        for pattern, holes, translation in patterns:
            if match := pattern.fullmatch(text):
                filled = (
                    self.of(each) if translated else self._joined(self._numbers(each))
                    for translated, each in zip(holes, match.groups(), strict=True)
                )
                return _fill(translation, list(filled))
        for separator in ("; ", ", "):
            parts = text.split(separator)
            if len(parts) > 1 and all(self.of(each) != each for each in parts):
                return separator.join(map(self.of, parts))
        return text if any(map(str.isalpha, text)) else self._numbers(text)

    def _joined(self, text: str) -> str:
        """Translate the conjunctions of a list, but not its entries.

        >>> Translator("de")._joined("age, 'sex' and 'zip' and 3 more"), Translator("de")._joined("Rounding, then Shuffling")
        ("age, 'sex' und 'zip' und 3 weitere", 'Rounding, dann Shuffling')
        >>> Translator("de")._joined("'zip' or 'diagnosis'")
        "'zip' oder 'diagnosis'"
        """
        text = _MORE.sub(lambda match: f" {self.of('and')} {match[1]} {self.of('more')}", text)
        return _JOIN.sub(
            lambda match: match[0].replace(match[1] or match[2], self.of(match[1] or match[2])), text
        )

    def _numbers(self, text: str) -> str:
        """Format numbers in the language: German swaps the decimal point and the comma of thousands."""
        if "'" in text or "`" in text:
            return text  # names of columns
        return _NUMBER.sub(lambda match: match[0].translate(str.maketrans(",.", ".,")), text)

    def of_sections(self, sections: Iterable[Section]) -> list[Section]:
        """Translate sections, with hard spaces."""
        return [
            each.put(lambda text: text if isinstance(text, Verbatim) else with_hard_spaces(self.of(text)))
            for each in sections
        ]

    def of_scene(self, scene: Scene) -> Scene:
        """Translate the texts of a picture."""
        if self.language == "en":
            return scene
        shapes = [
            dataclasses.replace(each, text=self.of(each.text)) if isinstance(each, TextShape) else each
            for each in scene.shapes
        ]
        return dataclasses.replace(scene, title=self.of(scene.title), shapes=shapes)


class _Filling(string.Formatter):
    """Fills holes in a language: texts are translated, and numbers written as there."""

    def __init__(self, words: Translator) -> None:
        self.words = words

    def format_field(self, value: Any, spec: str) -> str:
        return self.words.of(value if isinstance(value, str) else str(super().format_field(value, spec)))


def with_hard_spaces(text: str) -> str:
    """Keep a number and its sign on one line by hard spaces.

    >>> with_hard_spaces("at most 5 % (k = 3), < 0.01 %") == "at most 5\u00a0% (k\u00a0=\u00a03), <\u00a00.01\u00a0%"
    True
    """
    return _SOFT_SPACE.sub(lambda match: match[0].replace(" ", "\u00a0"), text)


def _fill(text: str, holes: list[str]) -> str:
    return _HOLE.sub(lambda hole: holes[int(hole[2])], text)


@functools.cache
def _catalogue(
    language: str, package: str
) -> tuple[dict[str, str], list[tuple[re.Pattern[str], list[bool], str]]]:
    """Read a catalogue: texts without holes, and the others as patterns, longest first."""
    text = resources.files(package).joinpath("words", f"{language}.json").read_text(encoding="utf-8")
    entries: dict[str, str] = json.loads(text)
    exact = {each: translation for each, translation in entries.items() if not _HOLE.search(each)}
    rest = sorted(
        (each for each in entries if each not in exact),
        # Additions at the end of a sentence are split off first.
        key=lambda each: (not each.startswith("{=0}"), -len(_HOLE.sub("", each)), each),
    )
    return exact, [
        (_pattern(each), [mark == "=" for mark, _ in _HOLE.findall(each)], entries[each]) for each in rest
    ]


def _pattern(text: str) -> re.Pattern[str]:
    literal, *rest = _HOLE.split(text)
    pattern = re.escape(literal)
    for mark, literal in zip(rest[::3], rest[2::3], strict=True):
        pattern += _FILLS[mark] + re.escape(literal)
    return re.compile(pattern, re.DOTALL)
