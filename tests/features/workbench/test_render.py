"""The renderer of the page, in a real browser: what stays, what follows, and in which order things happen."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.browser import needs_chromium
from veil.web.app import PAGE

pytestmark = needs_chromium

ORIGIN = "http://localhost:1"
# Nothing of the page itself: a place to render into, and what the tests use.
START = """async () => {
  Object.assign(window, await import("/render.js"));
  window.root = document.getElementById("root");
  window.show = (value) => render(value, root);
  window.moment = () => new Promise((resolve) => setTimeout(resolve));
  window.painted = () => new Promise((resolve) => requestAnimationFrame(() => setTimeout(() => setTimeout(resolve, 20))));
  window.rows = (names) => html`<ul>${names.map((name) => html`<li key=${name} id=${name}><input value=${name} /></li>`)}</ul>`;
  window.order = () => [...root.querySelectorAll("li")].map((each) => each.id).join("");
}"""


@pytest.fixture
def page(browser):
    """An empty page with the policy of the workbench. Errors that a test does not expect fail it."""
    from veil.web.guard import HEADERS

    made = browser.new_page()
    made.wrong = []
    made.on("pageerror", lambda error: made.wrong.append(error.message))
    made.on("console", lambda said: said.type == "error" and made.wrong.append(said.text))

    def answer(route):
        if route.request.url == f"{ORIGIN}/render.js":
            body, kind = Path(PAGE / "render.js").read_text("utf-8"), "text/javascript"
        else:
            body, kind = '<!doctype html><link rel="icon" href="data:,"><div id="root"></div>', "text/html"
        route.fulfill(body=body, content_type=kind, headers={**HEADERS, "Content-Type": kind})

    made.route("**/*", answer)
    made.goto(f"{ORIGIN}/")
    made.evaluate(START)
    yield made
    made.close()
    assert made.wrong == []


def test_templates_say_what_they_seem_to(page):
    page.evaluate("""() => {
      const Box = ({ title, children }) => html`<section title=${title}>${children}</section>`;
      const rest = { id: "a", "data-many": 3 };
      show(html`
        <p class="one  two" hidden>  a <b>b</b>
          c ${"<i>d</i>"}${0}${null}${false}${true}${undefined}${10n}${""}
        </p>
        <${Box} title="x > y"><${Box} ...${rest} title=${"second"} /><//>
        <${"em"} ...${rest}>${[1, [2, html`<u>3</u>`, null]]}${html`<s /><s></s>`}</em>`);
    }""")
    assert page.evaluate("root.innerHTML") == (
        '<p class="one  two" hidden="">  a <b>b</b>c &lt;i&gt;d&lt;/i&gt;010</p>'
        '<section title="x &gt; y"><section title="second"></section></section>'
        '<em id="a" data-many="3">12<u>3</u><s></s><s></s></em>'
    )


@pytest.mark.parametrize("wrong", ["<p>", "</p>", "<p></p></p>", "a < b", '<p class="a ${1}"></p>'])
def test_what_is_no_template_is_refused(page, wrong):
    assert page.evaluate(
        f"() => {{ try {{ html`{wrong}`; return null; }} catch (error) {{ return error.name; }} }}"
    ) in ("SyntaxError", "TypeError")


def test_data_never_becomes_an_element(page):
    """Objects that look like a description, as an answer of a server might, and functions show nothing."""
    page.evaluate(
        """() => show(html`<p>${JSON.parse('{"kind": "made", "type": "b", "props": {"children": "x"}}')}${() => "x"}${{}}</p>`)"""
    )
    assert page.evaluate("root.innerHTML") == "<p></p>"


def test_attributes_come_change_and_go(page):
    told = page.evaluate("""() => {
      const list = [];
      const take = (props) => { show(html`<button ...${props}>x</button>`); list.push(root.innerHTML); };
      take({ class: "a", disabled: true, "aria-pressed": false, "aria-current": null, title: undefined, tabindex: 0, lang: "" });
      take({ class: "b", disabled: false, "aria-pressed": true, draggable: "false", spellcheck: "false" });
      take({ style: { paddingLeft: "2px", width: "5%" } });
      take({ style: { width: "6%" } });
      take({});
      return list;
    }""")
    assert told == [
        '<button class="a" disabled="" aria-pressed="false" tabindex="0" lang="">x</button>',
        '<button class="b" aria-pressed="true" draggable="false" spellcheck="false">x</button>',
        '<button style="padding-left: 2px; width: 5%;">x</button>',
        '<button style="width: 6%;">x</button>',
        '<button style="">x</button>',
    ]


def test_handlers_are_replaced_and_removed(page):
    told = page.evaluate("""() => {
      const heard = [];
      const click = () => root.firstChild.click();
      for (const onClick of [() => heard.push(1), () => heard.push(2), null, undefined, () => heard.push(3)]) {
        show(html`<button onClick=${onClick} onDblClick=${() => heard.push("twice")}>x</button>`);
        click();
      }
      show(html`<button>x</button>`);
      click();
      root.firstChild.dispatchEvent(new Event("dblclick"));
      show(html`<button onClick=${function (event) { heard.push(this === event.currentTarget); }}>x</button>`);
      click();
      return heard;
    }""")
    assert told == [1, 2, 3, True]


ORDERS = ["abcdef", "fabcde", "bcdefa", "fedcba", "cafe", "xcyazfe", "", "edxab", "bxade"]


@pytest.mark.parametrize("moves", [True, False], ids=["moves", "only inserts"])
def test_lists_with_keys_keep_nodes_focus_and_selection(page, moves):
    """Whichever row has the focus, and wherever it goes; also where a browser can only take nodes out and put them in."""
    told = page.evaluate(
        """async ([orders, moves]) => {
      if (!moves) delete Element.prototype.moveBefore;
      const wrong = [];
      for (const held of "abcdef") {
        show(rows([..."abcdef"]));
        let input = root.querySelector(`#${held} input`), lost = 0;
        input.addEventListener("blur", () => { lost += 1; });
        for (const wanted of orders) {
          if (!wanted.includes(held)) continue;
          input.focus(); input.setSelectionRange(0, 1);
          const before = new Map([...root.querySelectorAll("li")].map((each) => [each.id, each]));
          show(rows([...wanted]));
          if (order() !== wanted) wrong.push([held, wanted, order()]);
          for (const each of root.querySelectorAll("li")) if (before.has(each.id) && before.get(each.id) !== each) wrong.push([held, wanted, "another node"]);
          if (document.activeElement !== input || lost || input.selectionEnd !== 1) wrong.push([held, wanted, "focus lost"]);
        }
        show(rows([]));
      }
      return wrong;
    }""",
        [ORDERS, moves],
    )
    assert told == []


def test_lists_come_into_any_order_by_few_moves(page):
    told = page.evaluate("""() => {
      const names = Array.from({ length: 200 }, (_, at) => `n${at}`);
      let seed = 1;
      const random = (below) => (seed = (seed * 48271) % 2147483647) % below;
      const wrong = [], moves = [];
      const count = () => { const seen = watch.takeRecords(); return new Set(seen.flatMap((each) => [...each.addedNodes])).size; };
      const watch = new MutationObserver(() => {});
      show(rows(names));
      watch.observe(root.firstChild, { childList: true });
      const go = (list) => { show(rows(list)); if (order() !== list.join("")) wrong.push(list.length); moves.push(count()); };
      go([...names.slice(1), names[0]]);
      go(names);
      go([names.at(-1), ...names.slice(0, -1)]);
      go([...names.slice(0, 50), ...names.slice(100)]);
      go(names);
      for (let round = 0; round < 30; round += 1) go(names.filter(() => random(3)).sort(() => random(3) - 1));
      return { wrong, moves: moves.slice(0, 5) };
    }""")
    assert told == {"wrong": [], "moves": [1, 1, 1, 1, 50]}


def test_where_a_row_is_scrolled_to_stays(page):
    page.evaluate("""() => {
      window.boxes = (names) => show(html`<div>${names.map((name) => html`<pre key=${name} id=${name} style=${{ height: "20px", overflow: "auto" }}>${"x\\n".repeat(50)}</pre>`)}</div>`);
      boxes(["a", "b", "c"]);
      for (const each of root.querySelectorAll("pre")) each.scrollTop = 100;
    }""")
    for names in (["c", "a", "b"], ["b", "new", "a", "c"], ["a", "b", "c"]):
        kept = page.evaluate(
            """(names) => { boxes(names); return [...root.querySelectorAll("pre")].map((each) => [each.id, each.scrollTop]); }""",
            names,
        )
        assert [name for name, _ in kept] == names
        assert all(top == 100 for name, top in kept if name != "new")


def test_keys_that_occur_twice_break_nothing(page):
    told = page.evaluate(
        """() => ["aab", "baa", "aaaa", "ab", ""].map((names) => { show(rows([...names])); return order(); })"""
    )
    assert told == ["aab", "baa", "aaaa", "ab", ""]


def test_what_has_no_key_keeps_its_place(page):
    """Something that appears before it makes nothing of it anew; another kind of thing in its place does."""
    told = page.evaluate("""() => {
      const view = (is) => html`<div>${is ? html`<p>now</p>` : null}<input id="x" />${is ? [html`<i>a</i>`, html`<i>b</i>`] : []}<b>end</b></div>`;
      show(view(false));
      const input = root.querySelector("#x");
      const kept = [true, false, true].map((is) => { show(view(is)); return root.querySelector("#x") === input; });
      show(html`<div><p>1</p></div>`);
      const p = root.querySelector("p");
      show(html`<div key="other"><p>1</p></div>`);
      return [...kept, root.innerHTML, root.querySelector("p") !== p];
    }""")
    assert told == [True, True, True, "<div><p>1</p></div>", True]


def test_components_may_show_several_things_or_none(page):
    """In order with what stands around them, also when they change by themselves."""
    told = page.evaluate("""async () => {
      let set;
      const Many = ({ name }) => { const [count, setCount] = useState(1); set = setCount; return Array.from({ length: count }, (_, at) => html`<i>${name}${at}</i>`); };
      const Inner = () => html`<${Many} name="m" />`;
      show(html`<b>1</b><${Inner} /><b>2</b>`);
      const list = [root.textContent];
      for (const count of [3, 0, 2]) { set(count); await moment(); list.push(root.textContent); }
      show(html`<b>1</b>${null}<b>2</b>`);
      set(5);
      await moment();
      return [...list, root.textContent];
    }""")
    assert told == ["1m02", "1m0m1m22", "12", "1m0m12", "12"]


def test_changes_of_a_moment_are_drawn_once(page):
    told = page.evaluate("""async () => {
      const drawn = [];
      let above, below;
      const Below = ({ given }) => { const [own, set] = useState(() => "begun"); below = set; drawn.push(`below ${given} ${own}`); return own; };
      const Above = () => { const [count, set] = useState(0); above = set; drawn.push(`above ${count}`); return html`<${Below} given=${count} />`; };
      show(html`<${Above} />`);
      below("x"); above((count) => count + 1); above((count) => count + 1); below("y");
      const before = drawn.length;
      await moment();
      above(2); below((same) => same); below(NaN);
      await moment();
      below(NaN);
      await moment();
      return [before, ...drawn, root.textContent];
    }""")
    assert told == [2, "above 0", "below 0 begun", "above 2", "below 2 y", "below 2 NaN", "NaN"]


def test_effects_begin_and_end_in_order(page):
    told = page.evaluate("""async () => {
      const said = [], list = () => said.splice(0);
      const Part = ({ name, need, children }) => {
        const ref = useRef();
        useEffect(() => { said.push(`+${name}${need}`); return () => said.push(`-${name}${need}`); }, [need]);
        useLayoutEffect(() => { said.push(`layout ${name}${need} ${ref.current.isConnected}`); return () => said.push(`end ${name}${need}`); }, [need]);
        useEffect(() => { said.push(`always ${name}`); });
        useEffect(() => { said.push(`once ${name}`); return () => said.push(`last ${name}`); }, []);
        return html`<p ref=${ref}>${children}</p>`;
      };
      const view = (outer, inner) => html`<${Part} name="o" need=${outer}>${inner === null ? null : html`<${Part} name="i" need=${inner} />`}<//>`;
      const told = {};
      show(view(1, 1)); told.at_once = list();
      await painted(); told.painted = list();
      show(view(1, 2)); told.inner = list();
      await painted(); told.inner_painted = list();
      show(view(2, 2)); show(view(3, 2)); told.early = list();
      await painted(); told.early_painted = list();
      show(view(3, null)); told.gone = list();
      await painted(); list();
      show(view(4, 4)); show(null); told.never = list();
      await painted(); told.later = list();
      return told;
    }""")
    assert told == {
        "at_once": ["layout i1 true", "layout o1 true"],
        "painted": ["+i1", "always i", "once i", "+o1", "always o", "once o"],
        "inner": ["end i1", "layout i2 true"],
        "inner_painted": ["-i1", "+i2", "always i", "always o"],
        # What is due is begun before the same component is drawn again.
        "early": [
            "end o1",
            "layout o2 true",
            *("-o1", "+o2", "always o", "always i"),
            "end o2",
            "layout o3 true",
        ],
        "early_painted": ["always i", "-o2", "+o3", "always o"],
        "gone": ["-i2", "end i2", "last i"],
        # Effects that have not begun when their component goes never do.
        "never": ["layout i4 true", "end o3", "layout o4 true", "-o3", "end o4", "last o", "end i4"],
        "later": [],
    }


def test_effects_that_change_state_come_to_rest(page):
    told = page.evaluate("""async () => {
      const seen = [];
      const Part = ({ value }) => {
        const [text, setText] = useState(null);
        useEffect(() => setText(`effect ${value}`), [value]);
        useLayoutEffect(() => setText(`layout ${value}`), [value]);
        seen.push(text);
        return text;
      };
      show(html`<${Part} value=${1} />`);
      await painted(); await painted();
      show(html`<${Part} value=${2} />`);
      await painted(); await painted();
      return [...seen, root.textContent];
    }""")
    assert told == [None, "effect 1", "effect 1", "effect 2", "effect 2"]


def test_refs_hold_nodes_while_they_are_there(page):
    told = page.evaluate("""() => {
      let ref;
      const Part = ({ tag }) => { ref = useRef("none"); return tag ? html`<${tag} ref=${ref}>x<//>` : null; };
      return ["b", "i", null, "b"].map((tag) => { show(html`<${Part} tag=${tag} />`); return ref.current?.localName ?? ref.current; });
    }""")
    assert told == ["b", "i", None, "b"]
    told = page.evaluate("""() => {
      const one = { current: 1 }, other = { current: 2 };
      return [one, other, null].map((ref) => { show(html`<p ref=${ref}></p>`); return [one.current, other.current].map((each) => each?.localName ?? each); });
    }""")
    assert told == [["p", 2], [None, "p"], [None, None]]


def test_fields_say_what_the_state_says(page):
    """At each drawing, whatever was typed or chosen meanwhile; and not before there is something to choose from."""
    told = page.evaluate("""() => {
      const view = ({ text, on, choice, options, level }) => html`<form>
        <input id="text" value=${text} /><textarea id="area" value=${text}></textarea><input type="checkbox" id="on" checked=${on} />
        <input type="radio" name="r" id="yes" checked=${on} /><input type="radio" name="r" id="no" checked=${!on} />
        <input type="range" id="level" value=${level} min="0" max="500" step="5" /><input id="free" />
        <select id="choice" value=${choice}>${options.map((each) => html`<option value=${each}>Option ${each}</option>`)}</select>
        <select id="other">${options.map((each) => html`<option value=${each} selected=${each === choice}>${each}</option>`)}</select></form>`;
      const look = () => ["text", "area", "level", "free", "choice", "other"].map((id) => root.querySelector(`#${id}`).value).join() + ["on", "yes", "no"].map((id) => ` ${root.querySelector(`#${id}`).checked}`).join("");
      const list = [];
      const take = (given) => { show(view(given)); list.push(look()); };
      take({ text: "a", on: true, choice: "2", options: ["1", "2", "3"], level: 300 });
      for (const id of ["text", "area", "free"]) root.querySelector(`#${id}`).value = "typed";
      root.querySelector("#on").click(); root.querySelector("#no").click(); root.querySelector("#choice").value = "1";
      list.push(look());
      take({ text: "a", on: true, choice: "2", options: ["1", "2", "3"], level: 300 });
      take({ text: null, on: false, choice: "7", options: ["7", "2"], level: 0 });
      take({ text: 5, on: false, choice: "", options: ["", "2"], level: 15 });
      return list;
    }""")
    assert told == [
        "a,a,300,,2,2 true true false",
        "typed,typed,300,typed,1,2 false false true",
        "a,a,300,typed,2,2 true true false",
        ",,0,typed,7,7 false false true",
        "5,5,15,typed,, false false true",
    ]


def test_typing_into_a_field_that_is_drawn_at_each_key_keeps_the_caret(page):
    page.evaluate("""() => {
      const Field = () => { const [text, set] = useState("ac"); return html`<input value=${text} onInput=${(event) => set(event.target.value)} /><output>${text}</output>`; };
      show(html`<${Field} />`);
    }""")
    page.locator("input").focus()
    page.evaluate("document.querySelector('input').setSelectionRange(1, 1)")
    page.keyboard.type("xyz")
    assert page.locator("output").inner_text() == "axyzc"
    assert page.evaluate("document.querySelector('input').selectionStart") == 4


def test_progress_may_become_unknown_again(page):
    told = page.evaluate(
        """() => [undefined, 3, undefined].map((value) => { show(html`<progress max=${6} value=${value}></progress>`); return root.firstChild.position; })"""
    )
    assert told == [-1, 0.5, -1]


def test_pictures_are_of_their_own_kind(page):
    told = page.evaluate("""() => {
      const Dot = ({ at }) => html`<circle cx=${at} cy="5" r="2" class="dot" onClick=${() => { window.hit = at; }} />`;
      const view = (dots) => html`<figure><svg viewBox="0 0 20 10" width="200">${dots.map((at) => html`<${Dot} key=${at} at=${at} />`)}<text text-anchor="end">t</text>
        <foreignObject><p>html</p></foreignObject></svg><p>after</p></figure>`;
      show(view([5]));
      const first = root.querySelector("circle");
      show(view([15, 5]));
      root.querySelector("circle").dispatchEvent(new Event("click"));
      const kinds = [...root.querySelectorAll("*")].map((each) => `${each.localName} ${each.constructor.name}`);
      return { kinds, kept: root.querySelectorAll("circle")[1] === first, box: root.querySelector("svg").viewBox.baseVal.width, hit };
    }""")
    assert told["kinds"] == [
        *("figure HTMLElement", "svg SVGSVGElement", "circle SVGCircleElement", "circle SVGCircleElement"),
        *("text SVGTextElement", "foreignObject SVGForeignObjectElement", "p HTMLParagraphElement"),
        "p HTMLParagraphElement",
    ]
    assert (told["kept"], told["box"], told["hit"]) == (True, 20, 15)


def test_what_fails_is_told_and_the_rest_goes_on(page):
    told = page.evaluate("""async () => {
      let set;
      const Bad = ({ fails }) => { useEffect(() => { if (fails) throw new Error("effect"); }); if (fails) throw new Error("drawing"); return html`<p>good</p>`; };
      const Good = () => { const [text, change] = useState("a"); set = change; useEffect(() => () => { throw new Error("end"); }, []); return html`<b>${text}</b>`; };
      const view = (fails) => html`<${Bad} fails=${fails} />${fails === null ? null : html`<${Good} />`}<i>${String(fails)}</i>`;
      const list = [];
      for (const fails of [true, false, true]) { show(view(fails)); await painted(); set(`${fails}!`); await moment(); list.push(root.innerHTML); }
      show(view(null));
      return [...list, root.innerHTML];
    }""")
    assert told == [
        "<b>true!</b><i>true</i>",
        "<p>good</p><b>false!</b><i>false</i>",
        "<p>good</p><b>true!</b><i>true</i>",  # as it was when it last could be drawn
        "<p>good</p><i>null</i>",
    ]
    assert sorted(page.wrong) == ["drawing", "drawing", "effect", "effect", "end"]
    page.wrong.clear()


def test_nodes_that_others_put_into_an_element_stay(page):
    told = page.evaluate("""() => {
      const view = (name) => html`<article class=${name}></article>`;
      show(view("a"));
      root.firstChild.append("by others");
      show(view("b"));
      return root.innerHTML;
    }""")
    assert told == '<article class="b">by others</article>'


def test_a_thousand_rows_are_drawn_again_without_touching_what_is_the_same(page):
    told = page.evaluate("""async () => {
      const table = (picked, by = 0) => html`<table><tbody>${Array.from({ length: 1000 }, (_, row) => row + by).map((row) => html`<tr key=${row} class=${row === picked ? "picked" : ""} onClick=${() => row}>
        <th scope="row">${row}</th>${[1, 2, 3, 4, 5].map((column) => html`<td tabindex=${row === picked ? 0 : -1}>${row * column}</td>`)}</tr>`)}</tbody></table>`;
      show(table(3));
      const watch = new MutationObserver(() => {});
      watch.observe(root, { subtree: true, childList: true, attributes: true, characterData: true });
      const count = () => watch.takeRecords().length;
      const again = (show(table(3)), count()), other = (show(table(5)), count()), further = (show(table(5, 10)), count());
      return { again, other, further, rows: root.querySelectorAll("tr").length, last: root.querySelector("tr:last-child").textContent };
    }""")
    # Two classes and ten cells; then ten rows less and ten more, each put in once.
    assert told == {"again": 0, "other": 12, "further": 20, "rows": 1000, "last": "100910092018302740365045"}
