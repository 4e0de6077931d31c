"""The languages of a report: a page consists of texts that are worded in the language of its reader.

The words are in `report/words`. A text of another room, such as a promise or a concern, is found by its English
template; one without a translation stays English, and `Verbatim` texts, of a table or of the data holder, stay as
they are. To add a language, add a file and its name to `About.language`.
"""

from __future__ import annotations

import dataclasses
import re
import string
from collections.abc import Iterable, Mapping
from typing import Any

from veil.base.wording import Phrase, Verbatim
from veil.report.pages.blocks import Section
from veil.report.pictures.shapes import Scene, TextShape
from veil.report.texts import in_language, names_by_english

_HOLE = re.compile(r"\{[^}]*\}")
_SOFT_SPACE = re.compile(r"(?<=\d) (?=%)|(?<=[<>≤≥]) (?=\d)|(?<=[εδk]) [=−-] (?=\d)")
_NUMBER = re.compile(r"(?<![\w.,])(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?![\w.,]*\d)")


class Translator(string.Formatter):
    """Words texts in a language; `further` are translations of English templates that reports do not have.

    >>> from veil.base.wording import Phrase
    >>> Translator("de").of(Phrase("at most {allowed:,} records are suppressed", allowed=1200))
    'höchstens 1.200 Datensätze sind unterdrückt'
    >>> Translator("en").of("Purpose"), Translator("de").of("Purpose"), Translator("de").of(Verbatim("Purpose"))
    ('Purpose', 'Zweck', 'Purpose')
    """

    def __init__(self, language: str, further: Mapping[str, str] | None = None) -> None:
        self.language, self._further = language, further or {}

    def of(self, text: str) -> str:
        """Return a text in the language."""
        if self.language == "en" or isinstance(text, Verbatim):
            return text
        template, values = (text.template, text.values) if isinstance(text, Phrase) else (text, {})
        name = getattr(text, "name", "") or names_by_english().get(template, "")
        translation = self._further.get(template) or in_language(self.language).get(name)
        if translation is not None:
            return self.vformat(translation, (), values)
        if any(map(str.isalpha, _HOLE.sub("", template))):
            return text
        return self.vformat(template, (), values) if values else _with_german_numbers(text)

    def format_field(self, value: Any, spec: str) -> str:
        """Fill a hole: texts are worded in the language, and numbers written as there."""
        return self.of(value if isinstance(value, str) else str(super().format_field(value, spec)))

    def of_sections(self, sections: Iterable[Section]) -> list[Section]:
        """Return sections in the language, with hard spaces."""
        return [
            each.put(lambda text: text if isinstance(text, Verbatim) else with_hard_spaces(self.of(text)))
            for each in sections
        ]

    def of_scene(self, scene: Scene) -> Scene:
        """Return a picture with its texts in the language."""
        shapes = [
            dataclasses.replace(each, text=self.of(each.text)) if isinstance(each, TextShape) else each
            for each in scene.shapes
        ]
        return dataclasses.replace(scene, title=self.of(scene.title), shapes=shapes)


ENGLISH = Translator("en")


def with_hard_spaces(text: str) -> str:
    """Keep a number and its sign on one line by hard spaces.

    >>> with_hard_spaces("at most 5 % (k = 3), < 0.01 %") == "at most 5\u00a0% (k\u00a0=\u00a03), <\u00a00.01\u00a0%"
    True
    """
    return _SOFT_SPACE.sub(lambda match: match[0].replace(" ", "\u00a0"), text)


def _with_german_numbers(text: str) -> str:
    """Swap the decimal point and the comma of thousands, but not in names of columns."""
    if "'" in text:
        return text
    return _NUMBER.sub(lambda match: match[0].translate(str.maketrans(",.", ".,")), text)
