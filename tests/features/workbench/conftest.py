from __future__ import annotations

import pytest

from support.browser import CHROMIUM, Person
from support.workbench import process


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    with process(temporary=tmp_path_factory.mktemp("workbench")) as (_, address):
        yield address


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def person(browser, address):
    made = Person(browser, address)
    yield made
    made.close()
