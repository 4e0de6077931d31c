// Small parts that several pages share, and the words in which they speak.

import { html, useEffect, useLayoutEffect, useRef, useState } from "./render.js";
import { state, update } from "./server.js";

export { html, useEffect, useLayoutEffect, useRef, useState };

/** The text of a name in the language of the reader; {name} is replaced. */
export function t(name, values = {}) {
  const text = state.words[name] ?? name;
  return text.replace(/\{(\w+)\}/g, (_, key) => values[key] ?? "");
}

const formats = new Map();

function formatter(options) {
  const key = state.language + JSON.stringify(options);
  if (!formats.has(key)) formats.set(key, new Intl.NumberFormat(state.language, options));
  return formats.get(key);
}

export const number = (value, digits = 0) =>
  value === null || value === undefined ? "–" : formatter({ maximumFractionDigits: digits, signDisplay: "negative" }).format(value);

/** A share in percent. What is not nothing never looks like nothing. */
export function percent(share, digits = 1) {
  if (share === null || share === undefined) return "–";
  const least = 10 ** -(digits + 2);
  if (share > 0 && share < least) return `< ${formatter({ style: "percent", maximumFractionDigits: digits }).format(least)}`;
  return formatter({ style: "percent", maximumFractionDigits: digits }).format(share);
}

/** What stands under a name that the table has chosen: a column may be called like something that every object has. */
export const under = (object, name) => (Object.hasOwn(object, name) ? object[name] : undefined);

export const go = (step) => {
  location.hash = `#${step}`;
};

export function Problem({ message }) {
  return message ? html`<p class="problem" role="alert"><span aria-hidden="true">✗ </span>${message}</p>` : null;
}

/** What a page says that cannot work yet: what is missing, and the way there. */
export function NotYet({ step, children }) {
  return html`<div class="card notyet">
    <p>${children}</p>
    <button class="primary" onClick=${() => go(step)}>${t("goto")} ${t(`step.${step}`)}</button>
  </div>`;
}

/** Bars in the head of a column or under a level, with a text that says the same. */
export function Spark({ bars, label, onPick }) {
  const most = Math.max(1, ...bars.map((bar) => bar.records));
  return html`<span class="spark" role="img" aria-label=${label}>
    ${bars.map((bar) => html`<i class=${onPick ? "pick" : ""} onClick=${onPick ? () => onPick(bar) : null} style=${{ height: `${Math.max(6, (100 * bar.records) / most)}%` }}></i>`)}
  </span>`;
}

/** A share as a bar. */
export function Gauge({ share, limit, label }) {
  const beyond = limit !== undefined && share > limit;
  return html`<span class=${`gauge ${beyond ? "beyond" : ""}`} role="img" aria-label=${`${label}: ${percent(share)}`}>
    <i style=${{ width: `${Math.min(100, 100 * share)}%` }}></i>
    ${limit === undefined ? null : html`<b style=${{ left: `${100 * limit}%` }}></b>`}
  </span>`;
}

/** A task that is under way: what it does, how far it is, and a button that stops it. */
export function Running({ task, onStop }) {
  if (!task || task.state !== "running") return null;
  return html`<div class="running" role="group" aria-label=${t(`task.${task.kind}`)}>
    <span>${[...new Set([t(`task.${task.kind}`), capital(phase(task.phase))])].filter(Boolean).join(" · ")}</span>
    <progress max=${task.total || 1} value=${task.total ? task.done : undefined} aria-label=${phase(task.phase)}></progress>
    <span class="quiet">${[noted(task.note), `${number(task.elapsed, 1)} s`].filter(Boolean).join(" · ")}</span>
    <button onClick=${() => onStop(task)}>${t("stop")}</button>
  </div>`;
}

const noted = (note) => note.replace(/^loss (.*)/, (_, loss) => `${t("explore.loss")} ${number(Number(loss), 4)}`);

const capital = (text) => text.charAt(0).toUpperCase() + text.slice(1);

export const phase = (name) => state.words[`phase.${name}`] ?? name.replace(/^recoding, pass (\d+)$/, (_, pass) => t("phase.pass", { pass }));

const ATTACKS = ["record linkage", "attribute linkage", "table linkage", "probabilistic"];

/** The term of the literature behind plain words: definition, argument, what it is not against, and where to read on. */
export function Info({ title, paragraphs, attacks, place }) {
  const [open, setOpen] = useState(false);
  const others = attacks?.length ? ATTACKS.filter((each) => !attacks.includes(each)) : [];
  return html`<span class="info">
    <button class="ring" aria-expanded=${open} aria-label=${`${t("about")} ${title}`} onClick=${() => setOpen(!open)}>i</button>
    ${open
      ? html`<span class="told" role="note">${paragraphs.map(({ text, language }, at) => html`<span class="paragraph" lang=${language}>${at ? text : html`<b>${text}</b>`}</span>`)}
          ${others.length ? html`<span class="paragraph">${t("info.not", { attacks: others.map((each) => t(`attack.${each}`)).join("; ") })}</span>` : null}
          ${place ? html`<a href=${`#help:${place}`}>${t("info.more")}</a>` : null}</span>`
      : null}
  </span>`;
}

/** A field that keeps what is being typed or dragged, whatever is drawn anew meanwhile, until the value behind it changes. */
export function Typed({ tag = "input", value, onTry, onTake, ...rest }) {
  const [text, setText] = useState(null);
  useEffect(() => setText(null), [value]);
  return html`<${tag} ...${rest} value=${text ?? value} onInput=${(event) => { setText(event.target.value); onTry?.(event.target.value); }} onChange=${(event) => onTake(event.target.value)} />`;
}

/** A heading that takes the focus when its page opens, so that a reader begins there. */
export function Heading({ children, intro }) {
  const heading = useRef();
  useEffect(() => {
    if (!document.activeElement?.closest("main")) heading.current.focus();
  }, []);
  return html`<header><h1 tabindex="-1" ref=${heading}>${children}</h1>${intro ? html`<p class="intro">${intro}</p>` : null}</header>`;
}

/** A table that scrolls sideways in a region of its own. */
export function Scrolling({ label, children }) {
  return html`<div class="scrolling" tabindex="0" role="region" aria-label=${label}>${children}</div>`;
}

export function copy(text) {
  navigator.clipboard?.writeText(text).then(() => update({ copied: true }));
}

export function hand(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Fetch a file, if asked for with a body by POST, and hand it to the person. What is refused is told in the page, and not as a page of the browser. */
export async function download(path, otherwise, body) {
  const answer = await fetch(`/api/v1${path}`, body && { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error((await answer.json()).detail);
  hand(await answer.blob(), /filename="([^"]+)"/.exec(answer.headers.get("Content-Disposition") ?? "")?.[1] ?? otherwise);
}
