"""The languages of a report. English is what the pages are written in; another language is a catalogue of its texts.

A catalogue (`words/de.json`) holds each English text with its translation. A text with something in it that differs from
report to report has a hole there: `{0}` is taken over as it is, but numbers and the words between them are written as the language does; `{#0}` holds
a number and nothing else, and what fills `{=0}` is translated itself. What no catalogue knows stays English, and what comes from a table or from whoever made the
release (`Verbatim`) stays as it is. To add a language, add a file and its name to `About.language`.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import re
from collections.abc import Iterable
from importlib import resources

from veil.report.pages.blocks import Section, Verbatim
from veil.report.pictures.shapes import Scene, TextShape

_HOLE = re.compile(r"\{([=#]?)(\d)\}")
_FILLS = {"": "(.+?)", "=": "(.+?)", "#": r"([\d.,\s%<>≤–−-]+)"}
_MORE = re.compile(r" and ([0-9.,]+) more$")
_JOIN = re.compile(r"(?<=') (and|or) (?=')|, (then) (?=[A-Z])")
_PARTED = re.compile(r"(?<=\d) (?=%)|(?<=[<>≤≥]) (?=\d)|(?<=[εδk]) [=−-] (?=\d)")
_NUMBER = re.compile(r"(?<![\w.,])(?:\d+(?:,\d{3})*(?:\.\d+)?|\.\d+)(?![\w.,]*\d)")


class Translator:
    """Puts texts into a language.

    >>> Translator("de").of("Of 30,162 records, 30,000 are released and 162 suppressed.")
    'Von 30.162 Datensätzen werden 30.000 freigegeben und 162 unterdrückt.'
    >>> Translator("en").of("Purpose"), Translator("de").of("Purpose"), Translator("de").of(Verbatim("Purpose"))
    ('Purpose', 'Zweck', 'Purpose')
    """

    def __init__(self, language: str, package: str = "veil.report") -> None:
        """Take the catalogue of a language, by default that of reports."""
        self.language, self.package = language, package

    def of(self, text: str) -> str:
        """Return a text in the language."""
        if self.language == "en" or isinstance(text, Verbatim) or not text:
            return text
        exact, patterns = _catalogue(self.language, self.package)
        if text in exact:
            return exact[text]
        for pattern, holes, translation in patterns:
            if found := pattern.fullmatch(text):
                filled = (
                    self.of(each) if translated else self._joined(self._numbers(each))
                    for translated, each in zip(holes, found.groups(), strict=True)
                )
                return _fill(translation, list(filled))
        for separator in ("; ", ", "):
            parts = text.split(separator)
            if len(parts) > 1 and all(self.of(each) != each for each in parts):
                return separator.join(map(self.of, parts))
        return text if any(map(str.isalpha, text)) else self._numbers(text)

    def _joined(self, text: str) -> str:
        """Put the words between the entries of a list into the language, and leave the entries as they are.

        >>> Translator("de")._joined("age, 'sex' and 'zip' and 3 more"), Translator("de")._joined("Rounding, then Shuffling")
        ("age, 'sex' und 'zip' und 3 weitere", 'Rounding, dann Shuffling')
        >>> Translator("de")._joined("'zip' or 'diagnosis'")
        "'zip' oder 'diagnosis'"
        """
        text = _MORE.sub(lambda found: f" {self.of('and')} {found[1]} {self.of('more')}", text)
        return _JOIN.sub(
            lambda found: found[0].replace(found[1] or found[2], self.of(found[1] or found[2])), text
        )

    def _numbers(self, text: str) -> str:
        """Write numbers as the language does: where English has a comma, German has a point, and the other way round."""
        if "'" in text or "`" in text:
            return text  # names of columns
        return _NUMBER.sub(lambda found: found[0].translate(str.maketrans(",.", ".,")), text)

    def of_sections(self, sections: Iterable[Section]) -> list[Section]:
        """Return sections in the language, as they are set on a page."""
        return [
            each.put(lambda text: text if isinstance(text, Verbatim) else unparted(self.of(text)))
            for each in sections
        ]

    def of_scene(self, scene: Scene) -> Scene:
        """Return a picture in the language."""
        if self.language == "en":
            return scene
        shapes = [
            dataclasses.replace(each, text=self.of(each.text)) if isinstance(each, TextShape) else each
            for each in scene.shapes
        ]
        return dataclasses.replace(scene, title=self.of(scene.title), shapes=shapes)


def unparted(text: str) -> str:
    """Keep a number and its sign on one line.

    >>> unparted("at most 5 % (k = 3), < 0.01 %") == "at most 5\u00a0% (k\u00a0=\u00a03), <\u00a00.01\u00a0%"
    True
    """
    return _PARTED.sub(lambda found: found[0].replace(" ", "\u00a0"), text)


def _fill(text: str, holes: list[str]) -> str:
    return _HOLE.sub(lambda hole: holes[int(hole[2])], text)


@functools.cache
def _catalogue(
    language: str, package: str
) -> tuple[dict[str, str], list[tuple[re.Pattern[str], list[bool], str]]]:
    """Read a catalogue: the texts without holes, and the others as patterns, those with the most letters first."""
    text = resources.files(package).joinpath("words", f"{language}.json").read_text(encoding="utf-8")
    known: dict[str, str] = json.loads(text)
    exact = {each: translation for each, translation in known.items() if not _HOLE.search(each)}
    rest = sorted(
        (each for each in known if each not in exact),
        # What is said of a whole sentence at its end is taken off first.
        key=lambda each: (not each.startswith("{=0}"), -len(_HOLE.sub("", each)), each),
    )
    return exact, [
        (_pattern(each), [mark == "=" for mark, _ in _HOLE.findall(each)], known[each]) for each in rest
    ]


def _pattern(text: str) -> re.Pattern[str]:
    literal, *rest = _HOLE.split(text)
    made = re.escape(literal)
    for mark, literal in zip(rest[::3], rest[2::3], strict=True):
        made += _FILLS[mark] + re.escape(literal)
    return re.compile(made, re.DOTALL)
