"""Somebody in front of the workbench, in a real browser."""

from __future__ import annotations

import json
import os
import re
import shutil
from importlib.resources import files

import pytest

from veil.web.app import PAGE

CHROMIUM = os.environ.get("VEIL_CHROMIUM") or shutil.which("chromium")
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="needs Debian's chromium (make servers installs it)"
)

WORDS = {path.stem: json.loads(path.read_text("utf-8")) for path in (PAGE / "words").glob("*.json")}
# All other links with a fragment open pages. Axe takes them for skip links if a drawer has to be scrolled to show them.
SKIP_LINK = "axe.configure({rules: [{id: 'skip-link', selector: 'a.skip[href]'}]})"
AXE = f"{(files('axe_playwright_python') / 'axe.min.js').read_text('utf-8')}; {SKIP_LINK}"
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
PATIENCE = 60_000  # how long something takes says how busy the machine is


class Person:
    """Somebody in front of the workbench. Whatever their page does, it asks its own server only, and nothing fails."""

    def __init__(self, browser, address, *, language="en", viewport=DESKTOP, scheme="light"):
        self.words, self.address = WORDS[language], address
        self.origin = re.match(r"http://[^/]+", address).group()
        self.context = browser.new_context(
            viewport=viewport, locale=language, color_scheme=scheme, accept_downloads=True
        )
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.asked, self.wrong = [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: self.wrong.append(f"dialog: {dialog.message}"))
        self.page.on(
            "console",
            lambda message: message.type == "error" and self.wrong.append(f"console: {message.text}"),
        )
        self.page.goto(address)
        self.heading("table")

    def close(self):
        self.context.close()
        strangers = [url for url in self.asked if not url.startswith((self.origin, "blob:", "data:"))]
        assert strangers == []
        assert self.wrong == []

    def say(self, name, **values):
        return re.sub(r"\{(\w+)\}", lambda found: str(values.get(found.group(1), "")), self.words[name])

    def heading(self, step):
        self.page.get_by_role("heading", name=self.say(f"step.{step}"), level=1, exact=True).wait_for()

    def press(self, name, **values):
        self.page.get_by_role("button", name=self.say(name, **values)).first.click()

    def next(self, step):
        self.page.get_by_role("button", name=f"{self.say('next')} {self.say(f'step.{step}')}").click()
        self.heading(step)

    def open(self, step):
        self.page.evaluate("step => { location.hash = step; }", step)
        self.heading(step)

    def rows(self):
        self.page.locator("table.grid tbody tr").first.wait_for()

    def plan(self, preset=1):
        """Go the way of a newcomer from the made-up table to the search."""
        self.press("table.example")
        self.rows()
        self.next("roles")
        self.press("roles.accept", number=9)
        self.page.get_by_role("button", name=self.say("roles.drop", number=1)).click()
        self.next("levels")
        self.press("levels.propose", number=7)
        self.next("promises")
        self.page.locator("input[name=preset]").nth(preset).click()
        self.next("search")

    def release(self, preset=1):
        """Go the way of a newcomer from the made-up table to a release."""
        self.plan(preset)
        self.press("search.go")
        self.page.locator(".verdict").wait_for()


def violations(person, looks=(("light", DESKTOP), ("dark", PHONE))):
    """What axe finds on a page as it stands, on a desk by day and on a phone by night unless `looks` says otherwise."""
    found = []
    for scheme, viewport in looks:
        person.page.emulate_media(color_scheme=scheme)
        person.page.set_viewport_size(viewport)
        told = person.page.evaluate(f"{AXE}; axe.run(document, {{resultTypes: ['violations']}})")
        found += [f"{scheme}: {each['id']} {each['nodes'][0]['html'][:120]}" for each in told["violations"]]
        assert person.page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    person.page.emulate_media(color_scheme="light")
    person.page.set_viewport_size(DESKTOP)
    return found
