"""Pictures of every page of the workbench, for the documentation: a real server, a real browser, the made-up table.

    python docs/make_screenshots.py              # into docs/_static/workbench

Needs the extra `workbench`, Playwright's Python package and Debian's chromium.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent / "_static" / "workbench"
SIZE = {"width": 1280, "height": 900}

SIGNS = {
    "table": "table.grid tbody tr",
    "roles": "table.roles .share .gauge",
    "levels": "table.levels",
    "promises": ".promise",
    "search": ".verdict",
    "explore": ".cell",
    "risk": "table.risks",
    "use": "article h3",
    "release": ".card.good",
}
"""What is there once a page has been drawn."""


def release(page: Any) -> None:
    """Go from the made-up table to a release, as a newcomer does."""

    def press(name: str) -> None:
        page.get_by_role("button", name=re.compile(name)).first.click()

    press("Try a made-up table")
    page.locator(SIGNS["table"]).first.wait_for()
    press("Next: Roles")
    press("Accept the")
    press("Drop the")
    press("Next: Levels")
    press("Suggest levels")
    press("Next: Promises")
    page.locator("input[name=preset]").nth(1).click()
    press("Next: Search")
    press("Anonymize")
    page.locator(".verdict").wait_for()


def main() -> None:
    """Take all pictures."""
    chromium = os.environ.get("VEIL_CHROMIUM") or shutil.which("chromium")
    server = subprocess.Popen(
        [sys.executable, "-m", "veil.cli", "workbench", "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        address = re.search(r"http://\S+", server.stdout.readline())
        assert address is not None
        FOLDER.mkdir(parents=True, exist_ok=True)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport=SIZE, locale="en", color_scheme="light")  # type: ignore[arg-type]
            page.set_default_timeout(120_000)
            page.goto(address.group())
            release(page)
            for step, sign in SIGNS.items():
                page.evaluate("step => { location.hash = step; }", step)
                page.locator(sign).first.wait_for()
                page.wait_for_timeout(1500)  # shares and pictures come in one by one
                page.wait_for_function("() => !document.querySelector('main .running')")
                page.screenshot(path=FOLDER / f"{step}.png")
            browser.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
