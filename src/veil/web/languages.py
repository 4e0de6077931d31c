"""The languages of the workbench, for texts of the library.

Texts of the page are in `page/words`. Texts of the library are English; translations are in the catalogue
`words` beside this file, in the same form as the catalogue of reports, which is consulted second.
"""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["en", "de"]


def translate(text: str, language: Language) -> str:
    """Return a text of the library in a language; English if no catalogue has it.

    >>> translate("column name matches 'zip'", "de")
    "der Spaltenname gleicht 'zip'"
    """
    if language == "en":
        return text
    from veil.report.pages.language import Translator  # here, so that the workbench starts without it

    plain = text.replace("`", "")
    translation = Translator(language, "veil.web").of(plain)
    return translation if translation != plain else Translator(language).of(plain)


def paragraphs(text: str, language: Language) -> list[dict[str, str]]:
    r"""Return the translated paragraphs of a docstring, each with its language.

    >>> paragraphs("Two levels: the value, and `*`.\n\nThis is not translated.", "de")
    [{'text': 'Zwei Stufen: der Wert und *.', 'language': 'de'}, {'text': 'This is not translated.', 'language': 'en'}]
    """
    plain = [re.sub(r"\s+", " ", each.replace("`", "")).strip() for each in re.split(r"\n\s*\n", text)]
    pairs = [(each, translate(each, language)) for each in plain if each]
    return [{"text": text, "language": language if text != each else "en"} for each, text in pairs]
