"""The pages in a real browser: what a newcomer does, by mouse and by keys, and what nobody should be able to do."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import expect

from support.browser import AXE, DESKTOP, PATIENCE, PHONE, Person, needs_chromium, violations
from support.projects import deid
from support.workbench import process
from veil import KAnonymity, verify
from veil.recipe import Project
from veil.synthetic import patients
from veil.tables import read, write

pytestmark = needs_chromium
expect.set_options(timeout=PATIENCE)
VERIFY = [sys.executable, "-m", "veil.cli", "verify"]


def download(person, name, folder):
    with person.page.expect_download() as started:
        person.page.get_by_role("button", name=person.say(name), exact=True).click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


@pytest.mark.slow
def test_a_newcomer_makes_a_release_that_others_can_check(person, tmp_path):
    assert "token" not in person.page.url
    assert len(person.asked) <= 12
    person.release()
    person.open("explore")
    taken = person.page.get_by_role("button", name=person.say("explore.take")).first
    taken.click()  # a neighbour that keeps all promises
    person.page.get_by_text(person.say("search.other")).wait_for()
    person.open("risk")
    person.page.locator("table.risks").wait_for()
    person.open("use")
    person.page.locator("article h3").first.wait_for()
    person.open("release")
    person.page.locator(".card.good").wait_for()
    table = download(person, "release.table", tmp_path)
    certificate = download(person, "release.certificate", tmp_path)
    checked = subprocess.run(
        [*VERIFY, table, "--certificate", certificate],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "BROKEN" not in checked.stdout
    assert checked.returncode in (0, 3), checked.stdout  # 3: what no table answers, such as who made it
    assert "name" not in table.read_text().splitlines()[0].split(",")


@pytest.mark.slow
def test_the_same_by_keys_alone_on_a_phone_in_german(browser, address, tmp_path):
    person = Person(browser, address, language="de", viewport=PHONE)
    page = person.page

    def focus(name, **values):
        """Move on by Tab until something with this name has the focus."""
        wanted = person.say(name, **values) if name in person.words else name
        for _ in range(400):
            page.keyboard.press("Tab")
            here = page.evaluate(
                "() => { const at = document.activeElement; return at.labels?.[0]?.innerText ?? at.innerText ?? ''; }"
            )
            if here.strip().startswith(wanted):
                return
        raise AssertionError(f"no key leads to {wanted!r}")

    def enter(name, **values):
        focus(name, **values)
        page.keyboard.press("Enter")

    def go(digit, step):
        """Open a step by its key: a reader begins at its heading."""
        page.keyboard.press(f"Alt+{digit}")
        person.heading(step)
        expect(page.locator("main h1")).to_be_focused()

    def take(name):
        with page.expect_download() as started:
            enter(name)
        path = tmp_path / started.value.suggested_filename
        started.value.save_as(path)
        return path

    enter("table.example")
    person.rows()
    go(2, "roles")
    page.get_by_role("button", name=person.say("roles.accept", number=9)).wait_for()
    expect(page.locator("td.why", has_text="der Spaltenname gleicht").first).to_be_visible()
    enter("roles.accept", number=9)
    page.get_by_role("button", name=person.say("roles.drop", number=1)).wait_for()
    undecided = page.locator("tr", has=page.locator("input[type=radio]")).filter(
        has_not=page.locator("label.chosen")
    )
    name = undecided.locator("th").inner_text().strip()
    for _ in range(100):  # to the one row that nobody has decided on, where a letter gives the role
        page.keyboard.press("Tab")
        group = "document.activeElement.closest('[role=radiogroup]')?.getAttribute('aria-label') ?? ''"
        if page.evaluate(group).startswith(f"{name}, "):
            break
    page.keyboard.press("d")
    page.get_by_role("button", name=f"{person.say('next')} {person.say('step.levels')}").wait_for()
    go(3, "levels")
    enter("levels.propose", number=7)
    page.get_by_role("button", name=f"{person.say('next')} {person.say('step.promises')}").wait_for()
    go(4, "promises")
    page.locator("input[name=preset]").first.wait_for()
    focus("preset.open data")
    page.keyboard.press("ArrowDown")
    page.get_by_role("button", name=f"{person.say('next')} {person.say('step.search')}").wait_for()
    focus("i")  # what stands behind the first promise
    page.keyboard.press("Enter")
    expect(page.locator(".told .paragraph[lang=de]").first).to_be_visible()
    assert page.locator(".told [lang=en]").count() == 0
    page.keyboard.press("Enter")
    go(5, "search")
    enter("search.go")
    page.locator(".verdict").wait_for()
    go(6, "explore")
    page.get_by_role("button", name=person.say("explore.take")).first.wait_for()
    enter("explore.take")
    page.get_by_text(person.say("search.other")).wait_for()
    go(7, "risk")
    page.locator("table.risks").wait_for()
    go(8, "use")
    page.locator("article h3").first.wait_for()
    go(9, "release")
    page.locator(".card.good").wait_for()
    table, certificate = take("release.table"), take("release.certificate")
    assert not verify(table, certificate=certificate).broken
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    person.close()


EVERY_LOOK = [(scheme, viewport) for scheme in ("light", "dark") for viewport in (DESKTOP, PHONE)]


@pytest.mark.slow
def test_nothing_keeps_people_from_using_a_page(browser, address):
    """Axe on every page, empty and with a release, light and dark, large and small: all four with VEIL_FUZZ, else two."""
    person = Person(browser, address)
    page = person.page
    found = []
    looks = EVERY_LOOK if "VEIL_FUZZ" in os.environ else [("light", DESKTOP), ("dark", PHONE)]

    def look(step):
        for scheme, viewport in looks:
            page.emulate_media(color_scheme=scheme)
            page.set_viewport_size(viewport)
            told = page.evaluate(f"{AXE}; axe.run(document, {{resultTypes: ['violations']}})")
            found.extend(
                f"{step} {scheme} {viewport['width']}: {each['id']} {each['nodes'][0]['html'][:120]}"
                for each in told["violations"]
            )

    for step in ("table", "roles", "search"):
        person.open(step)
        look(f"empty {step}")
    page.set_viewport_size(DESKTOP)
    person.open("table")
    person.release()
    for step, sign in {
        "table": "table.grid tbody tr",
        "roles": "table.roles tbody tr",
        "levels": "table.levels",
        "promises": ".promise",
        "search": ".verdict",
        "explore": ".cell",
        "risk": "table.risks",
        "use": "article h3",
        "release": ".card.good",
    }.items():
        page.set_viewport_size(DESKTOP)
        person.open(step)
        page.locator(sign).first.wait_for()
        look(step)
    for drawer in ("code", "tasks", "help"):
        page.set_viewport_size(DESKTOP)
        page.get_by_role("button", name=person.say(drawer), exact=True).click()
        if drawer == "help":
            look(drawer)
            page.set_viewport_size(DESKTOP)
            page.get_by_role("link", name="How it works", exact=True).click()
            page.locator("article.doc h1").wait_for()
        look(drawer)
        page.keyboard.press("Escape")
    assert not found, "\n".join(found)
    person.close()


HOSTILE = [
    "<script>window.harmed = 1</script>",
    "<img src=x onerror='window.harmed = 1'>",
    "{{constructor.constructor('window.harmed = 1')()}}",
    "javascript:window.harmed=1",
    "\u202eright to left",
    "x" * 100_000,
]


def test_values_and_names_are_shown_as_text(person, tmp_path):
    columns = ["__proto__", "<b>bold</b>", "constructor", "age"]
    rows = [[value, value, str(at), str(20 + at % 5)] for at, value in enumerate(HOSTILE * 5)]
    quoted = "\n".join(
        ",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in [columns, *rows]
    )
    (tmp_path / "hostile <i>.csv").write_text(quoted, encoding="utf-8")
    person.page.locator("input[type=file]").set_input_files(tmp_path / "hostile <i>.csv")
    person.rows()
    shown = person.page.locator("table.grid").inner_text()
    assert HOSTILE[0] in shown
    assert all(name in shown for name in columns)
    assert person.page.locator("main b, main i:not(.spark i)", has_text="bold").count() == 0
    person.next("roles")
    for column in columns:
        row = person.page.get_by_role("row").filter(
            has=person.page.get_by_role("rowheader", name=column, exact=True)
        )
        row.locator("label", has_text=re.compile("^quasi" if column != "constructor" else "^drop")).click()
        row.locator("label.chosen").wait_for()
    person.next("levels")
    person.press("levels.propose", number=3)
    person.next("promises")
    person.page.locator("input[name=preset]").nth(2).click()
    person.next("search")
    person.press("search.go")
    person.page.locator(".verdict").wait_for()
    for step in ("use", "explore", "risk", "release"):
        person.open(step)
    assert person.page.evaluate("window.harmed") is None
    assert person.page.evaluate("Object.prototype.hasOwnProperty.call(Object.prototype, 'kind')") is False
    assert person.page.evaluate("document.documentElement.scrollWidth") <= DESKTOP["width"]


def test_a_messy_file_takes_one_more_click(person, tmp_path):
    """Title lines, an old encoding and German numbers: proposed, shown, and read once somebody has said yes."""
    rows = "".join(f"Jörg {i};{i % 70};1.{i:03d},50\n" for i in range(60))
    (tmp_path / "t.csv").write_bytes(f"Klinikum\nStand;;\nName;Alter;Kosten\n{rows}".encode("cp1252"))
    person.page.set_input_files("input[type=file]", tmp_path / "t.csv")
    expect(person.page.get_by_label(person.say("table.encoding"))).to_have_value("cp1252")
    expect(person.page.get_by_label(person.say("table.skip"))).to_have_value("2")
    person.page.get_by_role("button", name=person.say("table.again")).click()
    expect(person.page.get_by_role("gridcell", name="Jörg 0", exact=True)).to_be_visible()
    expect(person.page.get_by_role("gridcell", name="1000.50", exact=True)).to_be_visible()


def test_a_job_outlives_a_reload_and_a_lost_connection(person):
    person.plan()
    with person.page.expect_response(lambda answer: answer.url.endswith("/releases")):
        person.press("search.go")
    person.context.set_offline(True)
    person.page.wait_for_timeout(500)
    person.context.set_offline(False)

    def still_running(route):
        """Tell the page what it would be told a moment earlier, however quick the search was."""
        answer = route.fetch()
        told = answer.json()
        for task in told["tasks"]:
            task["state"] = "running" if task["kind"] == "anonymize" else task["state"]
        route.fulfill(response=answer, json={**told, "release": None})

    person.page.route("**/api/v1/session", still_running)
    person.page.reload()
    person.heading("search")
    person.page.locator(".verdict").wait_for()
    person.wrong = [each for each in person.wrong if "ERR_INTERNET_DISCONNECTED" not in each]


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks for the process of a session")
def test_a_session_that_crashes_is_a_sentence_in_the_panel_and_goes_on(browser, tmp_path):
    with process(temporary=tmp_path) as (server, address):
        person = Person(browser, address)
        person.plan()
        (helper,) = children(*children(server.pid))
        (session,) = children(helper)
        os.kill(session, signal.SIGSTOP)
        person.press("search.go")
        person.page.wait_for_timeout(300)
        os.kill(session, signal.SIGKILL)
        person.page.locator(".problem", has_text="The table and the plan are kept").wait_for()
        person.press("search.go")
        person.page.locator(".verdict").wait_for()
        person.wrong = [each for each in person.wrong if "Failed to load resource" not in each]
        person.close()


def children(*parents):
    """Return the processes that these have started."""
    found = [(each.parent.name, each.read_text()) for each in Path("/proc").glob("[0-9]*/stat")]
    return [int(name) for name, stat in found if int(stat.rpartition(")")[2].split()[1]) in parents]


def test_where_nothing_fulfils_all_promises_the_page_says_what_would(person):
    person.press("table.example")
    person.rows()
    person.next("roles")
    person.press("roles.accept", number=9)
    person.page.get_by_role("button", name=person.say("roles.drop", number=1)).click()
    person.next("levels")
    person.press("levels.propose", number=7)
    person.page.locator("table.levels").wait_for()
    person.page.get_by_label(person.say("levels.most"), exact=True).fill("0")
    person.page.locator("table.levels th.out").first.wait_for()
    person.next("promises")
    person.page.locator("input[name=preset]").nth(1).click()
    person.page.get_by_label(person.say("promises.suppressed")).fill("0")
    person.next("search")
    person.press("search.go")
    ways = person.page.locator(".relax li")
    ways.first.wait_for()
    assert "instead of" in ways.first.inner_text()
    ways.first.get_by_role("button").click()
    person.page.locator(".verdict").wait_for()


def test_a_project_of_arx_is_opened_and_saved_as_one_of_veil(person, tmp_path):
    study = deid(tmp_path / "study.deid", criteria=("3-anonymity", "(0.1,0.5)-presence"))
    person.page.locator("input[type=file]").set_input_files(study)
    person.page.locator(".left-out li").first.wait_for()
    assert "(0.1,0.5)-presence" in person.page.locator(".left-out").inner_text()
    person.open("search")
    person.press("search.go")
    person.page.locator(".verdict").wait_for()
    person.open("release")
    saved = download(person, "project.download", tmp_path)
    project = Project.read(saved)
    assert project.plan().models == (KAnonymity(3),)
    assert project.table is None
    assert project.certificate is not None
    person.open("table")
    person.page.locator("input[type=file]").set_input_files(saved)
    person.page.locator(".which", has_text="input.csv").wait_for()


def test_masks_and_differential_privacy_are_on_the_same_pages(person):
    person.plan()
    person.page.get_by_label(person.say("search.way.masks")).click()
    person.page.get_by_label(person.say("search.method")).select_option("RankSwapping")
    person.page.locator(".promise input[type=checkbox]").nth(0).wait_for()
    person.press("search.mask")
    person.page.get_by_text(person.say("search.masked", number=1)).wait_for()
    person.open("risk")
    person.page.locator("table.risks").wait_for()
    person.open("explore")
    person.page.get_by_text(person.say("explore.masked")).wait_for()
    # Every published column is a quasi-identifier then, whose levels are written down; and a budget can be set.
    person.open("roles")
    for column in ("diagnosis", "admission", "education", "occupation", "cost", "zip"):
        row = person.page.get_by_role("row").filter(
            has=person.page.get_by_role("rowheader", name=column, exact=True)
        )
        row.locator("label", has_text=re.compile("^drop")).click()
        row.locator("label.chosen", has_text=re.compile("^drop")).wait_for()
    person.open("promises")
    for left in (1, 0):
        person.page.get_by_role("button", name=re.compile("^Remove")).first.click()
        expect(person.page.locator("li.promise")).to_have_count(left)
    person.page.get_by_text(person.say("missing.no promise")).first.wait_for()
    person.page.get_by_label(person.say("promises.add")).select_option("SafePub")
    person.press("budget.each")
    person.page.locator(".budget", has_text=person.say("person.rows")).wait_for()
    person.press("budget.set")
    person.page.locator(".budget", has_text="epsilon = 2").wait_for()
    person.open("levels")
    person.press("levels.write")
    person.page.locator(".written").wait_for(state="detached")
    person.page.locator("nav.columns button", has_text="sex").click()
    person.page.locator(".editor h2", has_text="sex").wait_for()
    person.press("levels.write")
    person.page.locator(".written").wait_for(state="detached")
    person.open("search")
    person.page.get_by_label(person.say("search.way.search")).click()
    person.press("search.go")
    person.page.get_by_text("your record").wait_for()
    person.open("promises")
    person.page.locator(".budget li", has_text="epsilon = 1").first.wait_for()


VISITS = "patient_id,age,sex,zip,job,ill,weight\n" + "".join(
    f"P{i // 3:03},{20 + i % 40},{'fm'[i % 2]},{80_000 + i % 6},{('nurse', 'clerk', 'farmer', 'cook')[i % 4]},{'xyz'[i % 3]},{1 + i % 5}.5\n"
    for i in range(120)
)


def test_roles_by_keys_with_a_weight_and_pseudonyms_whose_key_is_shown_once(person, tmp_path):
    page = person.page
    (tmp_path / "visits.csv").write_text(VISITS)
    page.locator("input[type=file]").set_input_files(tmp_path / "visits.csv")
    person.rows()
    person.next("roles")
    first = page.get_by_role("radiogroup", name=re.compile("^patient_id, Role"))
    first.get_by_role("radio").first.focus()
    page.keyboard.press("i")
    first.locator("label.chosen", has_text="identifying").wait_for()
    page.get_by_role("radiogroup", name=re.compile("^age, Role")).get_by_role("radio").first.focus()
    for _ in range(3):
        page.keyboard.press("Shift+ArrowDown")
    page.get_by_text(person.say("roles.picked", number=4)).wait_for()
    page.keyboard.press("q")
    expect(page.locator("label.chosen", has_text="quasi-identifying")).to_have_count(4)
    page.keyboard.press("Escape")
    zip_ = page.get_by_role("radiogroup", name="zip, Role", exact=True)
    assert "zip" in page.locator(f"#{zip_.get_attribute('aria-describedby')}").inner_text()
    page.get_by_role("radiogroup", name=re.compile("^ill, Role")).get_by_role("radio").first.focus()
    page.keyboard.press("s")
    page.get_by_role("button", name=person.say("further", column="weight")).click()
    page.get_by_label(person.say("further.weights")).click()
    page.locator("tr", has_text="weight").locator(".tag").wait_for()
    page.get_by_role("button", name=person.say("further", column="ill")).click()
    expect(page.locator("fieldset.further")).to_have_count(2)  # one of them offers links, too
    assert violations(person, EVERY_LOOK) == []
    page.get_by_label(f"patient_id: {person.say('roles.treat')}").select_option("pseudonym")
    page.get_by_label(person.say("key.with"), exact=False).click()
    person.press("key.make")
    key = page.locator("code.secret").inner_text()
    assert re.fullmatch("[0-9a-f]{64}", key)
    person.press("key.kept")
    page.get_by_text(person.say("key.there")).wait_for()
    assert key not in page.content()
    page.reload()
    person.heading("roles")
    page.get_by_text(person.say("key.there")).wait_for()
    assert key not in page.content()
    # The plan is then about people, whose rows stay together under pseudonyms.
    person.open("levels")
    person.press("levels.propose", number=4)
    person.next("promises")
    page.locator("input[name=preset]").nth(2).click()
    person.next("search")
    person.press("search.go")
    page.locator(".verdict").wait_for()
    person.open("release")
    page.locator(".card.good").wait_for()
    table = download(person, "release.table", tmp_path).read_text()
    shown = {line.split(",")[0] for line in table.splitlines()[1:]} - {"*", ""}
    assert shown
    assert all(re.fullmatch("[0-9a-f]{16}", each) for each in shown)


def levels_of_job(person, tmp_path):
    """Open visits, call job quasi-identifying, and go to its levels."""
    page = person.page
    (tmp_path / "visits.csv").write_text(VISITS)
    page.locator("input[type=file]").set_input_files(tmp_path / "visits.csv")
    person.rows()
    person.next("roles")
    page.get_by_role("radiogroup", name=re.compile("^job, Role")).get_by_role("radio").first.focus()
    page.keyboard.press("q")
    page.locator("label.chosen").wait_for()
    person.open("levels")
    return page


@pytest.mark.parametrize("language", ["en", "de"])
def test_spellings_of_people_are_said_where_they_are_refused_and_where_the_column_is(
    browser, address, tmp_path, language
):
    person = Person(browser, address, language=language)
    file = tmp_path / "visits.csv"
    file.write_text(VISITS.replace("P001", "p001 ", 1))
    person.page.set_input_files("input[type=file]", file)
    person.rows()
    person.press("person.yes")
    person.open("roles")
    question = person.page.get_by_label(person.say("spelling.question", column="patient_id"))
    question.get_by_role("button", name=person.say("spelling.folded")).click()
    question.wait_for(state="detached")
    person.open("table")
    chosen = person.page.get_by_label(person.say("spelling", column="patient_id"))
    expect(chosen).to_have_value("folded")
    with person.page.expect_response(lambda answer: answer.request.method != "GET"):
        chosen.select_option("as written")  # which the server has heard of before it is taken back
    expect(chosen).to_have_value("as written")
    person.page.get_by_role("button", name=person.say("undo")).first.click()
    expect(chosen).to_have_value("folded")
    # What a browser itself says of refusals, some time later.
    person.wrong = [each for each in person.wrong if "422" not in each]
    person.close()


def test_groups_of_values_are_made_by_keys_and_by_dragging(person, tmp_path):
    page = levels_of_job(person, tmp_path)
    assert page.locator(".proposals li").count() in (0, 2, 3)
    page.get_by_label(person.say("levels.kind")).select_option("categories")

    def item(name):
        return page.locator(".tree li", has_text=re.compile(rf"\b{name}\b"))

    item("nurse").wait_for()
    page.get_by_label(person.say("tree.filter")).fill("nu")
    expect(item("clerk")).to_have_count(0)
    item("nurse").click()
    page.get_by_label(person.say("tree.filter")).fill("")
    item("nurse").focus()
    page.keyboard.press("Insert")
    rename = page.locator("input.rename")
    expect(rename).to_be_focused()
    page.keyboard.type("care")
    page.keyboard.press("Enter")
    item("care").wait_for()
    # What has no group waits in the tray, and keeps the step from being done.
    item("group").focus()
    page.keyboard.press("Delete")
    page.locator(".tray", has_text="3").wait_for()
    page.locator("nav.columns", has_text=person.say("levels.uncovered", number=3)).wait_for()
    item("cook").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Control+x")
    item("care").focus()
    page.keyboard.press("Control+v")
    page.locator(".tray", has_text="2").wait_for()
    item("clerk").drag_to(item("care"))
    page.locator(".tray", has_text="1").wait_for()
    page.get_by_label(person.say("levels.under")).select_option("care")
    expect(page.locator(".tray")).to_have_count(0)
    item("care").focus()
    page.keyboard.press("F2")
    expect(rename).to_be_focused()
    page.keyboard.type("work")
    page.keyboard.press("Enter")
    item("work").wait_for()
    page.get_by_label(person.say("levels.most"), exact=True).fill("0")
    page.get_by_text(person.say("levels.between", least=0, most=0)).wait_for()
    page.keyboard.press("Control+z")
    page.get_by_text(person.say("levels.between", least=0, most=1)).wait_for()


def test_a_hierarchy_file_that_misses_values_names_them_and_can_be_changed(person, tmp_path):
    page = levels_of_job(person, tmp_path)
    (tmp_path / "job.csv").write_text("nurse;care;*\nclerk;office;*\nfarmer;land;*\n")
    page.locator("main input[type=file]").set_input_files(tmp_path / "job.csv")
    missing = page.locator(".uncovered")
    missing.wait_for()
    assert "cook" in missing.inner_text()
    missing.get_by_role("button", name=person.say("levels.own")).click()
    missing.wait_for(state="detached")
    person.press("levels.edit")
    page.get_by_role("treeitem", name=re.compile("office")).wait_for()
    page.locator("table.levels td", has_text="care").first.wait_for()


def test_help_is_read_and_searched_offline_and_every_sign_opens_its_place(person):
    page = person.page
    page.keyboard.press("/")
    find = page.get_by_label(person.say("help.find"))
    find.fill("local suppression")
    page.locator(".found a").first.click()
    page.locator("article.doc h1").wait_for()
    page.keyboard.press("Escape")
    person.plan()
    person.open("promises")
    page.get_by_role("button", name=f"{person.say('about')} {person.say('model.KAnonymity')}").click()
    page.get_by_role("link", name=person.say("info.more")).click()
    page.locator("#doc-kanonymity").wait_for()
    assert page.url.endswith("#promises")
    page.locator(".standing").first.wait_for()
    page.get_by_label(person.say("promises.add")).select_option("SampleUniqueness")
    page.locator(".standing", has_text="⊂").wait_for()
    page.get_by_role("button", name=person.say("help.all")).click()
    page.get_by_role("link", name=person.say("help.api")).click()
    page.get_by_role("heading", name="For programs").wait_for()
    told = page.evaluate(f"{AXE}; axe.run(document, {{resultTypes: ['violations']}})")
    assert [each["id"] for each in told["violations"]] == []


def test_two_changes_at_once_are_both_kept(person):
    """The second is of the plan as the first leaves it, although the answer to that one is still to come."""
    person.plan()
    person.open("promises")
    page, add = person.page, person.page.get_by_label(person.say("promises.add"))
    promises = page.locator("li.promise")
    promises.first.wait_for()
    before = promises.count()

    def slowly(route):
        if route.request.method == "PATCH":
            page.wait_for_timeout(700)
        route.continue_()

    page.route("**/api/v1/plan", slowly)
    for kind in ("SampleUniqueness", "AverageReidentificationRisk"):
        add.select_option(kind)
    expect(promises).to_have_count(before + 2)


def test_typing_errors_are_counted_and_the_grid_is_walked_by_keys(person, tmp_path):
    page = person.page
    lines = [f"{20 + i % 50 if i % 50 else 'n/a'},{i}" for i in range(250)]
    (tmp_path / "typed.csv").write_text("age,number\n" + "\n".join(lines) + "\n")
    page.locator("input[type=file]").set_input_files(tmp_path / "typed.csv")
    person.rows()
    told = page.locator(".mistakes li")
    told.wait_for()
    assert "5" in told.inner_text()
    assert "1, 51, 101" in told.inner_text()
    person.press("mistakes.show")
    page.locator(".chips").wait_for()
    expect(page.locator("table.grid tbody tr")).to_have_count(5)
    page.locator(".chips button").click()
    expect(page.locator("table.grid tbody tr")).to_have_count(100)
    page.locator("table.grid tbody td").first.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.innerText") == "1"
    page.keyboard.press("Control+End")
    page.locator("table.grid tbody tr", has_text="249").wait_for()
    person.press("mistakes.missing")
    told.wait_for(state="detached")
    expect(page.get_by_label(person.say("table.type", column="age"))).to_have_value("integer")


def test_attacks_are_tried_and_a_threshold_turns_the_text(person, tmp_path, monkeypatch):
    person.release()
    expect(person.page.locator("figure.quality .lower")).to_be_attached()  # the proven bound
    person.open("risk")
    line = person.page.locator("table.risks tbody tr").first
    line.wait_for()
    assert person.say("risk.within") in line.inner_text()
    line.locator("input[type=range]").press("Home")
    person.page.locator("table.risks tbody tr.beyond", has_text=person.say("risk.highest")).first.wait_for()
    assert person.say("risk.beyond") in line.inner_text()
    # Attacks, with what the attacker is taken to know.
    person.page.locator(".knows").get_by_label("cost").first.uncheck()
    person.press("attacks.go")
    attacks = person.page.locator("table.attacks tbody tr")
    attacks.first.wait_for()
    assert attacks.count() == 3
    assert person.say("attacks.inference", column="diagnosis") in attacks.nth(2).inner_text()
    # Values only if asked for twice.
    person.press("riskiest.before")
    riskiest = person.page.locator(".riskiest table")
    riskiest.wait_for()
    columns = riskiest.locator("thead th").count()
    person.press("riskiest.values")
    assert riskiest.locator("thead th").count() == columns
    person.press("riskiest.yes")
    expect(riskiest.locator("thead th")).to_have_count(columns + 7)
    assert violations(person) == []
    # The code of a figure computes this figure.
    person.context.grant_permissions(["clipboard-read", "clipboard-write"])
    line.locator("summary").click()
    line.get_by_role("button", name=person.say("how.copy")).click()
    code = person.page.evaluate("navigator.clipboard.readText()")
    write(patients(2000), tmp_path / "patients.csv")
    monkeypatch.chdir(tmp_path)
    told = {}
    exec(code, told)
    after = told["after"].attackers.prosecutor.highest
    assert f"{after:.0%}" in line.locator("td").nth(1).inner_text()


@pytest.mark.slow
def test_the_map_is_brushed_and_two_pins_are_compared(person):
    person.release()
    person.open("explore")
    page = person.page
    page.locator("canvas").scroll_into_view_if_needed()
    box = page.locator("canvas").bounding_box()
    places = [
        (box["x"] + box["width"] * x, box["y"] + box["height"] * y) for x, y in ((0.08, 0.02), (0.5, 0.9))
    ]
    page.mouse.move(*places[0])
    page.mouse.down()
    page.mouse.move(*places[1], steps=4)
    page.mouse.up()
    chip = page.locator(".map .chip")
    chip.wait_for()
    inside = int(re.search(r"[\d,]+", chip.inner_text()).group().replace(",", ""))
    rows = page.locator("table.nodes tbody tr")
    assert rows.count() == min(200, inside) > 0
    chip.click()
    expect(chip).to_have_count(0)
    page.locator("h1").click()
    page.keyboard.press("t")
    expect(page.locator(".map details[open]")).to_have_count(0)
    page.keyboard.press("t")
    rows.first.get_by_role("button").click()
    chosen = page.locator(".map .compared")
    chosen.wait_for()
    assert "age: " in chosen.inner_text()  # levels in words
    # Two pins beside each other.
    page.get_by_label(person.say("pins.note")).fill("the best")
    person.press("pins.add")
    rows.nth(5).get_by_role("button").click()
    chosen.get_by_role("button", name=person.say("pins.one")).click()
    pins = page.locator(".pins tbody tr")
    expect(pins).to_have_count(2)
    for at in (0, 1):
        pins.nth(at).locator("input").check()
    assert violations(person) == []
    page.locator(".pins").get_by_role("button", name=person.say("step.risk")).click()
    person.heading("risk")
    heads = page.locator("table.risks thead th")
    heads.first.wait_for()
    assert heads.all_inner_texts()[:3] == [person.say("before"), "A · the best", "B"]
    page.locator(".attack").nth(1).wait_for()
    person.open("use")
    page.locator("article h3").first.wait_for()
    assert page.locator("article").first.locator("thead th").all_inner_texts()[-2:] == ["A · the best", "B"]
    person.press("compare.end")
    expect(page.locator("article").first.locator("thead th", has_text="B")).to_have_count(0)


@pytest.mark.slow
def test_use_row_by_row_pair_by_pair_and_a_count_of_ones_own(person):
    person.release()
    person.open("use")
    page = person.page
    page.locator("article h3").first.wait_for()
    card = page.locator("article", has=page.get_by_role("heading", name="zip", exact=True))
    labels = card.locator("tbody th").all_inner_texts()
    assert person.say("before") not in card.locator("thead th").all_inner_texts()
    card.get_by_label(person.say("use.card.coarsen")).click()
    expect(card.locator("thead th").nth(1)).to_have_text(person.say("before"))
    assert card.locator("tbody th").all_inner_texts() == labels
    shares = card.locator("tbody tr:first-child td").all_inner_texts()
    assert all("%" in each for each in shares)  # the label is counted before as well as after
    expect(card.get_by_role("status")).to_contain_text("%")
    heads = page.locator("table.pairs thead th")
    # Which columns are changed in these rows follows from their order, which is random: suppressed ones change all.
    changed = [
        name
        for at, name in enumerate(heads.all_inner_texts(), 1)
        if page.locator(f"table.pairs tbody td:nth-child({at}).changed").count()
    ]
    page.get_by_label(person.say("use.rows.changed")).check()
    expect(heads).to_have_text(changed)
    page.get_by_label(person.say("use.rows.changed")).uncheck()
    page.get_by_label(person.say("use.rows.classes")).check()
    page.locator("table.pairs tbody tr.band0").first.wait_for()
    for _ in range(100):  # until the rows by class have come
        classes = page.locator("table.pairs tbody th").all_inner_texts()
        if all(each.isdigit() for each in classes) and classes == sorted(classes, key=int):
            break
        page.wait_for_timeout(100)
    assert classes == sorted(classes, key=int)
    page.locator(".own select").select_option("age")
    page.locator(".own input").nth(0).fill("30")
    page.locator(".own input").nth(1).fill("39")
    person.press("use.own.go")
    ages = [age for age in patients(2000)["age"].to_pylist() if age is not None]
    answer = page.locator(".answer")
    answer.wait_for()
    assert answer.locator("b").first.inner_text() == str(sum(30 <= age <= 39 for age in ages))
    page.locator(".pairs-card .cell").nth(2).click()
    expect(page.locator("table.pair")).to_have_count(2)
    assert violations(person) == []


@pytest.mark.slow
def test_a_certificate_is_signed_in_the_page(person, tmp_path):
    person.release()
    person.open("release")
    page = person.page
    page.locator(".card.good").wait_for()
    page.get_by_label(person.say("sign.passphrase")).fill("correct horse")
    kept = []
    page.on("download", lambda each: kept.append(each))
    person.press("sign.new")
    page.locator(".fingerprint", has_text="SHA256:").wait_for()
    certificate = download(person, "sign.go", tmp_path)
    page.locator(".fingerprint", has_text=person.say("sign.done").split("{")[0].strip()).wait_for()
    assert page.get_by_label(person.say("sign.passphrase")).input_value() == ""
    (public,) = [each for each in kept if each.suggested_filename == "veil.key.pub"]
    public.save_as(tmp_path / "veil.key.pub")
    assert "--signed-by veil.key.pub" in page.locator("code").inner_text()
    table = download(person, "release.table", tmp_path)
    checked = subprocess.run(
        [*VERIFY, table, "--certificate", certificate, "--signed-by", tmp_path / "veil.key.pub"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert "BROKEN" not in checked.stdout
    assert checked.returncode in (0, 3), checked.stdout
    assert violations(person) == []
    # Rows stay in the order of the input, with a warning: the same transformation, made again.
    taken = page.evaluate("async () => (await import('/page/server.js')).state.release.search.transformation")
    shuffle = page.get_by_label(person.say("release.shuffle"))
    expect(shuffle).to_be_checked()
    shuffle.click()
    expect(page.get_by_text(person.say("release.order.input"))).to_be_visible()
    assert taken == page.evaluate(
        "async () => (await import('/page/server.js')).state.release.search.transformation"
    )
    kept = read(download(person, "release.table", tmp_path / "in their order")).table
    pairs = zip(kept["diagnosis"].to_pylist(), patients(2000)["diagnosis"].to_pylist(), strict=True)
    assert all(now in ("*", was) for now, was in pairs)  # "*": suppressed
    expect(shuffle).to_be_enabled()
    shuffle.click()
    expect(page.get_by_text(person.say("release.order.random"))).to_be_visible()
    expect(shuffle).to_be_checked()
    # Rows that are suppressed are left out: the same transformation, made again.
    page.locator("select", has_text=person.say("suppressed.drop")).select_option("drop")
    person.open("use")
    expect(page.locator(".pager").first).to_contain_text(re.compile("of 1,9"))
    expect(page.locator("table.pairs tr.gone")).to_have_count(0)


def test_what_breaks_the_plan_is_taken_under_its_name_and_with_a_reason(person, tmp_path):
    person.release()
    person.page.evaluate(
        """async () => {
          const { state, run } = await import("/page/server.js");
          const levels = Object.fromEntries(Object.keys(state.release.search.transformation).map((name) => [name, 0]));
          await run(`/releases/${state.release.id}/apply`, { levels });
        }"""
    )
    person.page.reload()  # which shows the newest release
    person.open("release")
    person.page.get_by_label(person.say("anyway.reason")).fill("Audit, as the authority asks")
    table = download(person, "anyway.take", tmp_path)
    assert table.name.endswith("-NOT-ANONYMOUS-Audit-as-the-authority-asks.csv")
    assert table.read_text("utf-8").count("Audit, as the authority asks") == 2000
    expect(person.page.locator(".anyway [role=status]")).to_contain_text("Audit, as the authority asks")
    report = download(person, "release.report", tmp_path)
    assert report.name.endswith("-NOT-ANONYMOUS-report.html")
    assert "Audit, as the authority asks" in report.read_text("utf-8")
    person.press("release.show")
    shown = person.page.frame_locator("iframe").locator("body")
    expect(shown).to_contain_text("Audit, as the authority asks")


TYPE = """async () => {
  const { update } = await import("/page/server.js");
  const kinds = ["text", "number", "search", "password", "textarea"];
  const fields = [...document.querySelectorAll("main input, main textarea")].filter((each) => kinds.includes(each.type) && !each.disabled && !each.readOnly);
  const lost = [];
  for (const field of fields) {
    field.focus();
    const typed = `${field.value}7`;
    field.value = typed;
    field.dispatchEvent(new InputEvent("input", { bubbles: true }));
    update({});  // as when a task tells how far it is
    await new Promise((done) => setTimeout(done, 30));
    if (field.value !== typed || !field.isConnected || document.activeElement !== field) lost.push(field.outerHTML);
  }
  return [fields.length, lost];
}"""


def test_what_is_typed_stays_while_tasks_tell_how_far_they_are(person):
    person.release()
    page = person.page
    for step, sign, least in (
        ("table", "table.grid tbody tr", 1),
        ("levels", "table.levels", 2),
        ("promises", ".promise", 2),
        ("search", ".verdict", 1),
        ("explore", ".cell", 1),
        ("risk", "table.risks", 4),
        ("use", ".own", 2),
        ("release", ".card.good", 9),
    ):
        person.open(step)
        page.locator(sign).first.wait_for()
        if step == "use":
            page.locator(".own select").select_option("age")
        if step == "release":
            page.locator(".about summary").click()
        number, lost = page.evaluate(TYPE)
        assert lost == [], step
        assert number >= least, step


def test_undo_takes_back_what_was_chosen(person):
    person.press("table.example")
    person.rows()
    person.next("roles")
    person.press("roles.accept", number=9)
    person.page.locator("label.chosen").first.wait_for()
    person.page.locator("h1").click()
    person.page.keyboard.press("Control+z")
    person.page.locator("label.proposed").first.wait_for()
    assert person.page.locator("label.chosen").count() == 0
    person.page.keyboard.press("Control+Shift+z")
    person.page.locator("label.chosen").first.wait_for()


def test_who_has_no_token_sees_no_table(browser, address):
    context = browser.new_context()
    page = context.new_page()
    page.goto(re.match(r"http://[^#]+", address).group())
    page.get_by_role("alert").wait_for()
    assert "veil workbench" in page.get_by_role("alert").inner_text()
    context.close()


FOCUS = """async () => {
  const { update } = await import("/page/server.js");
  const lost = [];
  const fields = [...document.querySelectorAll("main :is(button, input, select, summary)")].filter((each) => !each.disabled && each.checkVisibility());
  for (const field of fields) {
    field.focus();
    update({});  // as when a task tells how far it is
    await new Promise((done) => setTimeout(done, 5));
    if (!field.isConnected || document.activeElement !== field) lost.push(field.outerHTML);
  }
  return [fields.length, lost];
}"""


def test_the_focus_stays_while_tasks_tell_how_far_they_are(person):
    person.release()
    for step, sign in (("risk", ".attack input"), ("use", ".pairs-card .cell")):
        person.open(step)
        person.page.locator(sign).first.wait_for()
        fields, lost = person.page.evaluate(FOCUS)
        assert fields >= 10
        assert lost == []


def test_a_choice_of_columns_keeps_the_focus(person):
    person.release()
    person.open("risk")
    box = person.page.locator(".attack input[type=checkbox]").first
    box.focus()
    for checked in (False, True):
        person.page.keyboard.press("Space")
        expect(box).to_be_checked(checked=checked)
        expect(box).to_be_focused()
