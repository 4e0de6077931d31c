"""How labels are chosen, in a real browser: a choice that says why not, releases of cells on every page, and ways side by side."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from support.browser import DESKTOP, PATIENCE, PHONE, Person, needs_chromium, violations

pytestmark = needs_chromium
expect.set_options(timeout=PATIENCE)
LOOKS = (("light", DESKTOP), ("dark", PHONE))


def change(person, **fields):
    """Change the plan beside the page, and load it again."""
    person.page.evaluate(
        "set => fetch('/api/v1/plan', {method: 'PATCH', headers: {'Content-Type': 'application/json'}, body: JSON.stringify({words: 'test', set})})",
        fields,
    )
    person.page.reload()
    person.heading("search")


def choose(person, kind, seconds):
    option = person.page.get_by_role("radio", name=re.compile(f"^{person.say(f'recoding.{kind}')} "))
    option.click()
    expect(option).to_be_checked()
    limit = person.page.get_by_label(person.say("search.limit"))
    limit.fill(str(seconds))
    limit.press("Tab")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "language"), [("Cells", "en"), ("Subtree", "de")])
def test_a_release_of_labels_of_their_own_is_shown_on_every_page(browser, address, tmp_path, kind, language):
    person = Person(browser, address, language=language)
    page = person.page
    person.plan(2)
    change(person, roles=dict.fromkeys(["education", "occupation", "admission"], "insensitive"))
    choose(person, kind, 4)
    person.press("search.go")
    page.locator(".running + .quality, .running ~ .quality").first.wait_for()  # the curve, while it runs
    page.locator(".verdict.proven").wait_for()
    assert re.search(r"0[.,]\d", page.locator(".verdict.proven").inner_text())
    assert not violations(person, LOOKS)
    person.open("explore")
    expect(page.locator(".notyet")).to_contain_text(person.say(f"explore.own.{kind}"))
    assert not violations(person, LOOKS)
    person.open("levels")
    page.locator("table.levels").wait_for()
    person.open("risk")
    page.locator("table.risks").first.wait_for()
    person.open("use")
    page.locator("article h3").first.wait_for()
    assert "–" not in page.locator("article", has_text="age").first.locator("p").first.inner_text()
    person.open("release")
    expect(page.locator(".card.good .proven")).to_be_visible()
    person.press("release.show")
    page.frame_locator("iframe").locator("h1").first.wait_for()
    page.once("download", lambda download: download.save_as(tmp_path / "p.veil"))
    with page.expect_download():
        person.press("project.download")
    person.open("table")
    page.locator("input[type=file]").first.set_input_files(tmp_path / "p.veil")
    page.wait_for_function("() => !document.querySelector('main .running')")
    person.close()


@pytest.mark.slow
def test_a_search_for_cells_is_stopped_with_what_it_has_found(person):
    page = person.page
    person.plan(2)
    choose(person, "Cells", 300)
    person.press("search.go")
    page.locator(".quality").wait_for()
    page.get_by_role("button", name=person.say("stop"), exact=True).click()
    page.locator(".verdict.proven").wait_for(timeout=20_000)
    expect(page.get_by_text(person.say("recoding.end.cancelled"))).to_be_visible()


def test_what_the_plan_does_not_allow_says_why_where_it_is_chosen(person):
    page = person.page
    person.plan(2)
    change(person, quality="ambiguity", recoding={"kind": "Cells"})
    expect(page.locator(".problem[role=alert]")).to_contain_text("Ambiguity")
    expect(page.get_by_role("button", name=person.say("search.go"))).to_be_disabled()
    option = page.locator(".option", has_text=person.say("recoding.about.Subtree"))
    expect(option.get_by_role("radio")).to_be_disabled()
    expect(option).to_contain_text(person.say("recoding.refused"))
    assert not violations(person, LOOKS)
    page.get_by_role("radio", name=re.compile(f"^{person.say('recoding.FullDomain')} ")).click()
    expect(page.locator(".problem[role=alert]")).to_have_count(0)
    page.get_by_role("radio", name=re.compile(f"^{person.say('recoding.Cells')} ")).click()  # in passes
    expect(page.locator(".settings select")).to_have_value("FastIterative")
    expect(page.locator(".problem[role=alert]")).to_have_count(0)
    expect(page.get_by_label(person.say("search.strategy"))).to_be_visible()


@pytest.mark.slow
def test_ways_are_compared_and_one_is_taken_and_given_back(person):
    page = person.page
    person.plan(2)
    limit = page.get_by_label(person.say("ways.limit"))
    limit.fill("1")
    limit.press("Tab")
    page.get_by_role("button", name=person.say("ways.go"), exact=True).click()
    rows = page.locator("table.ways tbody tr")
    expect(rows).to_have_count(5)
    expect(page.locator("main .running")).to_have_count(0)
    expect(rows.filter(has_text=person.say("ways.least"))).to_have_count(1)
    expect(rows.nth(4)).to_contain_text(person.say("ways.impossible"))  # some ages are missing
    assert not violations(person, LOOKS)
    taking = f"{person.say('ways.take')}: {person.say('way.Mondrian')}"
    page.get_by_role("button", name=taking).click()
    page.locator(".promise", has_text="Mondrian").wait_for()
    expect(rows.filter(has_text=person.say("ways.now"))).to_contain_text(person.say("way.Mondrian"))
    page.locator("h1").click()
    page.keyboard.press("Control+z")
    expect(page.get_by_role("button", name=taking)).to_be_visible()
    page.reload()
    expect(rows).to_have_count(5)  # what was found is still there


@pytest.mark.slow
def test_a_comparison_that_is_stopped_keeps_the_ways_that_are_done(person):
    page = person.page
    person.plan(2)
    limit = page.get_by_label(person.say("ways.limit"))
    limit.fill("300")
    limit.press("Tab")
    page.get_by_role("button", name=person.say("ways.go"), exact=True).click()
    page.locator("table.ways tbody tr").first.wait_for()
    page.get_by_role("button", name=person.say("stop"), exact=True).click()
    expect(page.locator("main .running")).to_have_count(0)
    expect(page.locator("table.ways tbody tr")).not_to_have_count(5)
    expect(page.locator("table.ways tbody tr").first).to_contain_text(person.say("way.full-domain"))
