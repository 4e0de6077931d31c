// Help: the steps, the keys, and the pages of the documentation, which are searched and read here without a network.

import { attempt, get, post, state, update } from "./server.js";
import { html, t, useEffect, useRef, useState } from "./parts.js";

const KEYS = [["Alt+1 … 9", "key.steps"], ["Ctrl+Z", "key.undo"], ["Ctrl+Shift+Z", "key.redo"], ["F6", "key.f6"], ["Esc", "key.esc"], ["?", "key.help"], ["/", "key.find"], ["I Q S N D", "key.roles"], ["Shift+↑ ↓", "key.select"], ["T", "key.table"]];

const link = (page, anchor = "") => `#help:${page}:${anchor}`;

function Start({ steps, pages }) {
  return html`<p>${t("help.about")}</p>
    <h3>${t("help.path")}</h3>
    <ol>${steps.map((name) => html`<li><b>${t(`step.${name}`)}</b>: ${t(`intro.${name}`)}</li>`)}</ol>
    <h3>${t("help.keys")}</h3>
    <dl class="keys">${KEYS.map(([key, what]) => html`<dt><kbd>${key}</kbd></dt><dd>${t(what)}</dd>`)}</dl>
    ${pages.length ? html`<h3>${t("help.pages")}</h3><ul lang="en">${pages.map((each) => html`<li><a href=${link(each.name)}>${each.title}</a></li>`)}</ul>` : html`<p class="quiet">${t("help.none")}</p>`}
    <p><a href="/api/v1">${t("help.api")}</a></p>`;
}

/** A page. What the server has rendered holds no markup but its own, and the policy of the page lets nothing in it run. */
function Document({ place }) {
  const [page, setPage] = useState(null);
  const shown = useRef();
  useEffect(() => {
    let wanted = true;
    attempt(async () => { const told = await get(`/help/pages/${place.page}`); if (wanted) setPage(told); });
    return () => { wanted = false; };
  }, [place.page]);
  useEffect(() => {
    if (page?.name !== place.page) return shown.current.replaceChildren();
    // Parsed, not assigned as markup: no script in what is parsed ever runs.
    shown.current.replaceChildren(...new DOMParser().parseFromString(page.html, "text/html").body.childNodes);
    const target = place.anchor ? shown.current.querySelector(`#${CSS.escape(`doc-${place.anchor}`)}`) : null;
    if (target) target.scrollIntoView();
    else shown.current.closest(".drawer").scrollTop = 0;
  }, [page, place]);
  return html`<p><button onClick=${() => update({ place: null })}>← ${t("help.all")}</button></p>
    <article class="doc" lang="en" ref=${shown}></article>`;
}

export default function Help({ steps }) {
  const [pages, setPages] = useState([]);
  const [search, setSearch] = useState({ text: "" });
  const [found, setFound] = useState(null);
  const { place } = state;
  // A text is of the place where it was typed: elsewhere there is none, and one that is typed at once is not taken away.
  const text = search.place === place ? search.text : "", setText = (typed) => setSearch({ text: typed, place });
  useEffect(() => { attempt(async () => setPages(await get("/help"))); }, []);
  useEffect(() => {
    let wanted = true;
    if (text.trim().length < 2) return void setFound(null);
    const timer = setTimeout(() => attempt(async () => { const told = await post("/help/search", { text }); if (wanted) setFound(told); }), 150);
    return () => { wanted = false; clearTimeout(timer); };
  }, [text]);
  return html`<p><label>${t("help.find")} <input type="search" id="find-help" maxlength="200" value=${text} onInput=${(event) => setText(event.target.value)} /></label></p>
    <p class="hidden" role="status">${found ? t("help.found", { number: found.length }) : ""}</p>
    ${found
      ? html`<ul class="found" lang="en">${found.map((each) => html`<li><a href=${link(each.page, each.anchor)} onClick=${() => setText("")}>${each.title}${each.section !== each.title ? ` › ${each.section}` : ""}</a><span class="quiet">${each.excerpt}</span></li>`)}</ul>
          ${found.length ? null : html`<p>${t("help.nothing")}</p>`}`
      : place
        ? html`<${Document} place=${place} />`
        : html`<${Start} steps=${steps} pages=${pages} />`}`;
}
