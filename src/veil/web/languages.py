"""The languages of the workbench, for texts of the library.

Texts of the page are in `page/words`. Texts of the library are English; translations are in the catalogue
`words` beside this file, by their English template, or else in that of reports.
"""

from __future__ import annotations

import functools
import json
import re
from importlib import resources
from typing import Literal, get_args

from veil.base.wording import Phrase

Language = Literal["en", "de"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


def translate(text: str, language: Language) -> str:
    """Return a text of the library in a language; English if no catalogue has it.

    >>> translate(Phrase("column name matches {word!r}", word="zip"), "de")
    "der Spaltenname gleicht 'zip'"
    """
    if language == "en":
        return text
    from veil.report.pages.language import Translator  # here, so that the workbench starts without it

    plain = text if isinstance(text, Phrase) else text.replace("`", "")
    return Translator(language, _catalogue(language)).of(plain)


@functools.cache
def _catalogue(language: Language) -> dict[str, str]:
    file = resources.files(__package__).joinpath("words", f"{language}.json")
    catalogue: dict[str, str] = json.loads(file.read_text(encoding="utf-8"))
    return catalogue


def paragraphs(text: str, language: Language, definition: str = "") -> list[dict[str, str]]:
    r"""Return the translated paragraphs of a docstring, each with its language; the first is its `definition`.

    >>> paragraphs("Two levels: the value, and `*`.\n\nThis is not translated.", "de")
    [{'text': 'Zwei Stufen: der Wert und *.', 'language': 'de'}, {'text': 'This is not translated.', 'language': 'en'}]
    """
    plain = [re.sub(r"\s+", " ", each.replace("`", "")).strip() for each in re.split(r"\n\s*\n", text)]
    pairs = [(each, translate(each, language)) for each in [definition or plain[0], *plain[1:]] if each]
    return [{"text": text, "language": language if text != each else "en"} for each, text in pairs]
