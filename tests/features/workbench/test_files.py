"""The files of the page: words in both languages, and nothing from anywhere else."""

from __future__ import annotations

import gzip
import json
import re

from veil.web.app import PAGE

SCRIPTS = [*PAGE.glob("*.js"), *(PAGE / "pages").glob("*.js")]


WORDS = {path.stem: json.loads(path.read_text("utf-8")) for path in (PAGE / "words").glob("*.json")}


def test_both_languages_say_the_same_things():
    english, german = WORDS["en"], WORDS["de"]
    assert english.keys() == german.keys()
    for name in english:
        holes = [set(re.findall(r"\{\w+\}", each[name])) for each in (english, german)]
        assert holes[0] == holes[1], name


def test_every_word_that_a_page_says_is_there_and_every_word_is_said():
    text = "\n".join(path.read_text("utf-8") for path in SCRIPTS)
    said = set(re.findall(r'\bt\(\s*"([^"]+)"', text)) | set(re.findall(r'"((?:\w+\.)+[\w-]+)"', text))
    begun = set(re.findall(r"(?:t\(|words\[)`([\w.]+\.)\$\{", text)) | {"phase.", "model."}
    named = {name for name in said if name in WORDS["en"]}
    assert set(re.findall(r'\bt\(\s*"([^"]+)"', text)) <= WORDS["en"].keys()
    unsaid = {name for name in WORDS["en"].keys() - named if not any(name.startswith(each) for each in begun)}
    assert unsaid == set()


def test_scripts_and_styles_come_from_here_only():
    """No address of anywhere else, no script or style in the page itself, nothing that runs text as code."""
    for path in [*SCRIPTS, PAGE / "index.html", PAGE / "style.css"]:
        text = path.read_text("utf-8")
        assert not re.search(r"https?://|//[a-z]+\.[a-z]+/", text), path
        assert not re.search(
            r"\beval\(|new Function|innerHTML|dangerouslySetInnerHTML|document\.write", text
        ), path
    index = (PAGE / "index.html").read_text("utf-8")
    assert not re.search(r"<script(?![^>]*\bsrc=)|<style| style=| on\w+=", index)


def test_the_page_is_light():
    """All pages together, over the wire, where they are packed: well below the 150 KB that one may have."""
    everything = [*SCRIPTS, PAGE / "index.html", PAGE / "style.css", PAGE / "words" / "en.json"]
    assert sum(len(gzip.compress(path.read_bytes(), 9)) for path in everything) <= 110_000


def test_what_is_typed_survives_what_is_drawn_meanwhile():
    """A field that shows a value of the state and hears of a change at its end only would lose what is being typed."""
    fields = re.compile(r"<(?:input|textarea)\b(?:[^<>$]|\$\{(?:[^{}]|\{[^{}]*\}|\$\{[^}]*\})*\}|=>)*>")
    lost, seen = [], 0
    for path in SCRIPTS:
        for field in fields.findall(path.read_text("utf-8")):
            seen += 1
            if re.search(r"\svalue=\$\{", field) and "onInput=" not in field:
                lost.append(f"{path.name}: {field[:120]}")
    assert seen > 25
    assert lost == []
