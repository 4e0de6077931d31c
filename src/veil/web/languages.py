"""The languages of the workbench: what the library says of itself, as the page says everything else.

The words of the page are in `page/words`. What comes from the library is English, and another language is a catalogue in
`words` beside this file, in the form of that of reports, which is asked for whatever is not in it.
"""

from __future__ import annotations

import re
from typing import Literal

Language = Literal["en", "de"]


def say(text: str, language: Language) -> str:
    """Return a text of the library in a language; what no catalogue knows stays English.

    >>> say("column name matches 'zip'", "de")
    "der Spaltenname gleicht 'zip'"
    """
    if language == "en":
        return text
    from veil.report.pages.language import Translator  # here, so that the workbench starts without it

    plain = text.replace("`", "")
    said = Translator(language, "veil.web").of(plain)
    return said if said != plain else Translator(language).of(plain)


def paragraphs(text: str, language: Language) -> list[dict[str, str]]:
    r"""Return the paragraphs of a docstring, each with the language that it is in.

    >>> paragraphs("Two levels: the value, and `*`.\n\nNobody has translated this.", "de")
    [{'text': 'Zwei Stufen: der Wert und *.', 'language': 'de'}, {'text': 'Nobody has translated this.', 'language': 'en'}]
    """
    plain = [re.sub(r"\s+", " ", each.replace("`", "")).strip() for each in re.split(r"\n\s*\n", text)]
    told = [(each, say(each, language)) for each in plain if each]
    return [{"text": said, "language": language if said != each else "en"} for each, said in told]
