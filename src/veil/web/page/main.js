// The shell: rail, promise bar, drawers, keys; and the page that is open inside it.

import { render } from "./render.js";
import { attempt, get, loadRelease, loadTable, follow, onChange, opened, ask, run, running, state, step, stop, translateCatalogues, update } from "./server.js";
import { copy, go, html, number, percent, phase, Problem, t, useEffect, useRef, useState } from "./parts.js";
import { SpellingQuestion } from "./pseudonyms.js";

const STEPS = ["table", "roles", "levels", "promises", "search", "explore", "risk", "use", "release"];
const NEEDS_RELEASE = ["explore", "risk", "use", "release"];
const pages = new Map();

// How each step stands

function standing(name) {
  const missing = state.plan?.missing ?? [];
  const here = missing.find((each) => each.step === name);
  if (name === "table") return state.table ? ["done"] : ["empty"];
  if (!state.table) return ["empty"];
  if (here && missing[0] === here) return ["attention", t(`missing.${here.what}`, { columns: here.columns })];
  if (missing.some((each) => STEPS.indexOf(each.step) < STEPS.indexOf(name))) return ["empty"];
  if (name === "roles" || name === "levels") return ["done"];
  const refused = Object.keys(state.plan.refused).length > 0 && state.plan.draft.recoding; // the rest of the plan is all right
  if (name === "promises") return state.plan.problem && !refused ? ["attention", state.plan.problem] : ["done"];
  if (name === "search" && state.plan.problem && refused) return ["attention", state.plan.problem];
  if (!state.release) return ["empty"];
  if (state.release.outdated) return ["outdated", t("outdated")];
  if (name === "release" && !state.release.holds) return ["attention", t("release.broken")];
  return name === "search" || name === "release" ? ["done"] : ["empty"];
}

const SIGNS = { done: "✓", attention: "!", outdated: "⟳", empty: "" };

function Rail() {
  return html`<nav class="rail" aria-label=${t("steps")}>
    <ol>
      ${STEPS.map((name, index) => {
        const [how, why] = standing(name);
        return html`<li>
          <a href=${`#${name}`} class=${how} aria-current=${state.step === name ? "step" : null} title=${why ?? t(`step.${name}`)}>
            <span class="digit">${index + 1}</span><span class="name">${t(`step.${name}`)}</span>
            <span class="sign" aria-hidden="true">${SIGNS[how]}</span>
            <span class="hidden">${how === "empty" ? "" : `${t(`state.${how}`)} ${why ?? ""}`}</span>
          </a>
        </li>`;
      })}
    </ol>
  </nav>`;
}

// The promise bar

function PromiseBar() {
  const release = state.release;
  const asked = state.plan?.draft.models.find((model) => model.kind === "KAnonymity")?.k;
  const class_ = (risk) => (risk ? Math.round(1 / risk) : 0);
  const figures = release
    ? [
        ["bar.k", class_(release.risk.before.highest), class_(release.risk.after.highest), "promises", (x) => number(x)],
        ["bar.highest", release.risk.before.highest, release.risk.after.highest, "risk", percent],
        ["bar.unique", release.risk.before.uniques, release.risk.after.uniques, "risk", percent],
        ["bar.lost", 0, release.recoding?.score ?? release.measures.loss, "use", percent],
        ["bar.suppressed", 0, release.suppressed / Math.max(1, release.records), "use", percent],
      ]
    : [];
  return html`<footer class=${`bar ${release?.outdated ? "stale" : ""}`}><div role="status" aria-label=${t("bar")}>
    ${!release
      ? html`<span>${asked ? t("bar.asked", { k: asked }) : t("bar.nothing")}</span>`
      : figures.map(
          ([name, before, after, to, write]) =>
            html`<a href=${`#${to}`}><span>${t(name)}</span> <b>${write(before)} → ${write(after)}</b></a>`,
        )}
    ${release?.outdated ? html`<span class="why">${t("outdated")}</span>` : null}
    ${release?.people === null && state.plan?.draft.person === "ask" ? html`<span class="quiet">${t("bar.rows")}</span>` : null}
  </div></footer>`;
}

// Drawers

function Drawer({ title, children }) {
  const close = useRef();
  useEffect(() => close.current.focus(), []);
  return html`<aside class=${`drawer ${state.drawer}`} aria-label=${title}>
    <header>
      <h2>${title}</h2>
      <button ref=${close} class="icon" aria-label=${t("close")} onClick=${() => update({ drawer: null })}>×</button>
    </header>
    ${children}
  </aside>`;
}

function Code() {
  const [tab, setTab] = useState("recipe");
  const [problem, setProblem] = useState(null);
  const [text, setText] = useState(null); // what is being written, until it is taken
  const code = state.plan?.code;
  useEffect(() => setText(null), [code?.recipe]);
  if (!code) return html`<${Drawer} title=${t("code")}><p>${state.plan?.problem ?? t("code.notyet")}</p><//>`;
  const take = async (event) => {
    if (event.target.value === code.recipe) return;
    try {
      update({ plan: await ask("PUT", "/plan/recipe", { text: event.target.value }) });
      setProblem(null);
    } catch (error) {
      setProblem(error.message);
    }
  };
  return html`<${Drawer} title=${t("code")}>
    <div role="tablist" aria-label=${t("code")} class="tabs">
      ${["recipe", "python", "command"].map(
        (name) =>
          html`<button role="tab" id=${`tab-${name}`} aria-selected=${tab === name} aria-controls="code" onClick=${() => setTab(name)}>${t(`code.${name}`)}</button>`,
      )}
    </div>
    <div role="tabpanel" id="code" aria-labelledby=${`tab-${tab}`}>
      <p class="quiet">${t(`code.about.${tab}`)}</p>
      <textarea spellcheck="false" aria-label=${t(`code.${tab}`)} readonly=${tab !== "recipe"} value=${tab === "recipe" ? text ?? code.recipe : code[tab]} onInput=${(event) => setText(event.target.value)} onBlur=${take}></textarea>
      <${Problem} message=${problem} />
      <button onClick=${() => copy(code[tab])}>${t("copy")}</button>
    </div>
  <//>`;
}

function Tasks() {
  const tasks = [...state.tasks.values()].reverse();
  return html`<${Drawer} title=${t("tasks")}>
    ${tasks.length ? null : html`<p>${t("tasks.none")}</p>`}
    <ul class="tasks">
      ${tasks.map(
        (task) => html`<li>
          <b>${t(`task.${task.kind}`)}</b> <span class="quiet">${t(`taskstate.${task.state}`)} · ${phase(task.phase)} · ${number(task.elapsed, 1)} s</span>
          ${task.state === "running" ? html`<button onClick=${() => stop(task)}>${t("stop")}</button>` : null}
          ${task.result?.release ? html`<button onClick=${() => attempt(async () => { await loadRelease(task.result.release); go("release"); })}>${t("tasks.show")}</button>` : null}
          ${task.problem ? html`<p class="quiet">${task.problem.detail}</p>` : null}
        </li>`,
      )}
    </ul>
  <//>`;
}

/** What is loaded once somebody asks for help. */
function Help() {
  const Inside = pages.get("help");
  useEffect(() => {
    if (!Inside) attempt(async () => { pages.set("help", (await import("./help.js")).default); update({}); });
  }, []);
  return html`<${Drawer} title=${t("help")}>${Inside ? html`<${Inside} steps=${STEPS} />` : html`<p class="quiet">…</p>`}<//>`;
}

function Top() {
  const busy = running().length;
  const table = state.table;
  return html`<header class="top">
    <a class="brand" href="#table">Veil</a>
    <span class="which">${table ? t("top.table", { name: table.name, rows: number(table.rows) }) : ""}</span>
    <span class="tools">
      <button class="icon" disabled=${!state.plan?.undo} title=${state.plan?.undo ?? ""} aria-label=${`${t("undo")} ${state.plan?.undo ?? ""}`} onClick=${() => attempt(() => step("undo"))}>↶</button>
      <button class="icon" disabled=${!state.plan?.redo} title=${state.plan?.redo ?? ""} aria-label=${`${t("redo")} ${state.plan?.redo ?? ""}`} onClick=${() => attempt(() => step("redo"))}>↷</button>
      <button aria-expanded=${state.drawer === "code"} onClick=${() => toggle("code")}>${t("code")}</button>
      <button aria-expanded=${state.drawer === "tasks"} onClick=${() => toggle("tasks")}>${busy ? t("top.busy", { number: busy }) : t("tasks")}</button>
      <button aria-expanded=${state.drawer === "help"} onClick=${() => toggle("help")}>${t("help")}</button>
      <label class="hidden" for="language">Language</label>
      <select id="language" value=${state.language} onChange=${(event) => speak(event.target.value)}>
        <option value="en">EN</option><option value="de">DE</option>
      </select>
    </span>
  </header>`;
}

const toggle = (drawer) => update({ drawer: state.drawer === drawer ? null : drawer, place: null });

// The whole

function Shell() {
  const Page = pages.get(state.step);
  const needs = NEEDS_RELEASE.includes(state.step) && !state.release;
  return html`<a class="skip" href="#main">${t("skip")}</a>
    <${Top} /><${Rail} />
    <main id="main" tabindex="-1">
      <${Problem} message=${state.problem} /><${SpellingQuestion} />
      ${Page ? html`<${Page} key=${state.step} needs=${needs} />` : html`<p class="waiting">…</p>`}
    </main>
    ${state.drawer === "code" ? html`<${Code} />` : state.drawer === "tasks" ? html`<${Tasks} />` : state.drawer === "help" ? html`<${Help} />` : null}
    <${PromiseBar} />
    <p class="hidden" aria-live="polite">${spoken()}</p>`;
}

/** What is said aloud: phases and ends of tasks, not every percent. */
function spoken() {
  const newest = [...state.tasks.values()].at(-1);
  if (!newest) return "";
  return newest.state === "running" ? phase(newest.phase) : `${t(`task.${newest.kind}`)}: ${t(`taskstate.${newest.state}`)}`;
}

async function open() {
  const wanted = location.hash.slice(1);
  if (wanted === "main") return document.getElementById("main").focus();
  if (wanted.startsWith("help:")) {
    const [, page, anchor] = decodeURIComponent(wanted).split(":");
    history.replaceState(null, "", `#${state.step}`);
    return update({ drawer: "help", place: { page, anchor } });
  }
  const name = STEPS.includes(wanted) ? wanted : "table";
  update({ step: name, drawer: window.innerWidth < 900 ? null : state.drawer });
  if (!pages.has(name)) pages.set(name, (await import(`./pages/${name}.js`)).default);
  return update({});
}

async function speak(language) {
  const words = await (await fetch(`/page/words/${language}.json`)).json();
  localStorage.setItem("language", language);
  document.documentElement.lang = language;
  update({ language, words });
  await attempt(translateCatalogues);
}

function keys(event) {
  const writing = ["INPUT", "TEXTAREA", "SELECT"].includes(event.target.tagName) && !["radio", "checkbox", "range"].includes(event.target.type);
  if (event.altKey && /^[1-9]$/.test(event.key)) go(STEPS[event.key - 1]);
  else if (event.key === "Escape" && state.drawer) update({ drawer: null });
  else if (event.key === "F6") around(event.shiftKey ? -1 : 1);
  else if (!writing && (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "z") attempt(() => step(event.shiftKey ? "redo" : "undo"));
  else if (!writing && event.key === "?") toggle("help");
  else if (!writing && event.key === "/" && !event.ctrlKey && !event.altKey && !event.metaKey) find();
  else return;
  event.preventDefault();
}

/** Go to where something can be looked for: in the page if it has such a place, and else in the help. */
function find() {
  const field = document.querySelector("main input[type=search]") ?? document.getElementById("find-help");
  if (field) field.focus();
  else update({ drawer: "help" });
}

function around(by) {
  const places = [".rail a[aria-current]", "main h1", ".bar a"].map((each) => document.querySelector(each)).filter(Boolean);
  const now = places.findIndex((each) => each.closest("nav, main, footer").contains(document.activeElement));
  places[(now + by + places.length) % places.length].focus();
}

/** The token comes in the address once, as a fragment, and becomes a cookie. */
async function begin() {
  const token = new URLSearchParams(location.hash.slice(1)).get("token");
  if (token) {
    history.replaceState(null, "", "/");
    await ask("POST", "/session", undefined, { Authorization: `Bearer ${token}` });
  }
  const session = await get("/session");
  update({ session });
  for (const task of session.tasks) {
    state.tasks.set(task.id, task);
    if (task.state === "running") goOn(task);
  }
  update({ plan: await get("/plan") });
  await loadTable();
  if (session.release) await loadRelease(session.release);
  if (session.given && !state.table) {
    await run("/tables/from", {});
    await opened();
  }
}

/** Take up a task that was under way before the page was loaded. */
async function goOn(task) {
  await attempt(async () => {
    const result = await follow(task);
    await opened();
    if (result.release) await loadRelease(result.release);
  });
}

async function start() {
  await speak(localStorage.getItem("language") ?? (navigator.language.startsWith("de") ? "de" : "en"));
  const root = document.getElementById("app");
  root.textContent = "";
  onChange(() => render(html`<${Shell} />`, root));
  const fetching = import("./pages/table.js");
  try {
    await begin();
  } catch (error) {
    update({ problem: error.message });
  }
  pages.set("table", (await fetching).default);
  window.addEventListener("hashchange", () => {
    update({ problem: null });
    open();
  });
  document.addEventListener("keydown", keys);
  await open();
}

start();
