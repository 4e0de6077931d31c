// Ways side by side: one table under one plan in five ways, on one scale, and the one that is taken.

import { attempt, change, columnsOf, run, running, state, stop } from "../server.js";
import { html, number, percent, Problem, Running, Scrolling, t, Typed, useState } from "../parts.js";
import { kindOf } from "./recoding.js";

const WAYS = ["full-domain", "subtree", "cells", "Mondrian", "microaggregation"];
const FIGURES = ["loss", "gap", "suppressed", "query_error", "accuracy", "attacks", "seconds"];

/** What a comparison depends on, whichever way is taken afterwards. */
const asked = ({ recoding, way, masks, strategy, time_limit, pins, notes, about, order, ...rest }) => JSON.stringify(rest);

/** The plan of the comparison that is shown, and its task: after a reload nobody knows it. */
const comparison = { task: null, asked: null };

const isTaken = ({ way, recoding, masks }, draft) =>
  way === draft.way && (way === "masks" ? JSON.stringify(masks) === JSON.stringify(draft.masks) : (recoding?.kind ?? "FullDomain") === kindOf(draft));

const worst = (attacks) => (attacks && Object.keys(attacks).length ? Math.max(...Object.values(attacks)) : null);

/** Loss as a bar on the scale of all ways; the figure beside it says the same. */
function Bar({ loss, most }) {
  return html`<svg class="lossbar" viewBox="0 0 100 14" aria-hidden="true" preserveAspectRatio="none"><rect class="whole" x="0" y="3" width="100" height="8" /><rect x="0" y="3" width=${Math.max(0.8, (100 * loss) / (most || 1))} height="8" /></svg>`;
}

function Row({ way, most, least, shown }) {
  const draft = state.plan.draft;
  const name = t(`way.${way.name}`);
  const taken = way.set && isTaken(way.set, draft);
  const take = () => attempt(() => change(t("ways.taken", { way: name }), way.set));
  const figures = { loss: html`<${Bar} loss=${way.loss} most=${most} /> ${way.loss?.toLocaleString(state.language, { minimumFractionDigits: 4, maximumFractionDigits: 4 })}`, gap: percent(way.gap), suppressed: number(way.suppressed), query_error: percent(way.query_error), accuracy: percent(way.accuracy), attacks: percent(worst(way.attacks)), seconds: `${number(way.seconds, 1)} s` };
  return html`<tr class=${taken ? "chosen" : ""}><th scope="row">${name}${least ? html` <span class="tag">${t("ways.least")}</span>` : null}</th>
    ${way.problem
      ? html`<td colspan=${shown.length + 1}><span class="reason">✗ ${t("ways.impossible")} <span lang="en">${way.problem}</span></span></td>`
      : html`${shown.map((each) => html`<td>${figures[each]}</td>`)}
        <td><button aria-pressed=${Boolean(taken)} aria-label=${`${t(taken ? "ways.now" : "ways.take")}: ${name}`} onClick=${taken ? null : take}>${taken ? `✓ ${t("ways.now")}` : t("ways.take")}</button></td>`}</tr>`;
}

function Found({ task, under }) {
  const { ways, target, original_accuracy: original } = task.result;
  const losses = ways.map((way) => way.loss).filter((loss) => loss !== null);
  const [most, least] = [Math.max(...losses), Math.min(...losses)];
  const shown = FIGURES.filter((name) => name === "loss" || ways.some((way) => way[name] !== null));
  return html`<div aria-live="polite">
    ${under !== asked(state.plan.draft) ? html`<p class="problem">⟳ ${t("ways.outdated")}</p>` : null}
    <${Scrolling} label=${t("ways")}><table class="plain ways"><thead><tr><th scope="col">${t("search.way")}</th>${shown.map((name) => html`<th scope="col">${t(`ways.${name}`, { target })}</th>`)}<td></td></tr></thead>
      <tbody>${ways.map((way) => html`<${Row} key=${way.name} way=${way} most=${most} least=${losses.length > 1 && way.loss === least} shown=${shown} />`)}</tbody></table><//>
    <p class="quiet">${t("ways.scale")} ${original === null ? "" : t("ways.original", { target, share: percent(original) })} ${t("ways.secret")}</p></div>`;
}

/** The comparison: what to try, how far it is, and what it has found. */
export function Ways() {
  const [ways, setWays] = useState(WAYS);
  const [limit, setLimit] = useState(10);
  const [target, setTarget] = useState(columnsOf("sensitive")[0] ?? "");
  const [attacks, setAttacks] = useState(false);
  const [problem, setProblem] = useState(null);
  const task = running("ways")[0];
  const latest = [...state.tasks.values()].filter((each) => each.kind === "ways" && each.result?.ways?.length).at(-1);
  if (state.table.engine) return html`<section class="card"><h2>${t("ways")}</h2><p class="quiet">${t("ways.engine")}</p></section>`;
  const compare = async () => {
    setProblem(null);
    comparison.task = null;
    comparison.asked = asked(state.plan.draft);
    try {
      await run("/ways", { ways: WAYS.filter((each) => ways.includes(each)), time_limit: limit, target: target || null, attacks });
    } catch (error) {
      if (error.problem?.type !== "Cancelled") setProblem(error.message);
    }
  };
  if (task && comparison.asked) comparison.task ??= task.id;
  return html`<section class="card compare-ways"><h2>${t("ways")}</h2><p class="quiet">${t("ways.about")}</p>
    <fieldset class="row"><legend class="hidden">${t("search.way")}</legend>${WAYS.map((each) => html`<label class="inline"><input type="checkbox" checked=${ways.includes(each)} onChange=${(event) => setWays(event.target.checked ? [...ways, each] : ways.filter((one) => one !== each))} /> ${t(`way.${each}`)}</label>`)}</fieldset>
    <p class="row"><label>${t("ways.limit")} <${Typed} type="number" min="1" max="600" value=${limit} onTake=${(text) => setLimit(Math.min(600, Math.max(1, Number(text) || 10)))} /> s</label>
      <label>${t("ways.target")} <select value=${target} onChange=${(event) => setTarget(event.target.value)}><option value="">${t("risk.none")}</option>${[...columnsOf("sensitive"), ...columnsOf("insensitive")].map((name) => html`<option value=${name}>${name}</option>`)}</select></label>
      <label><input type="checkbox" checked=${attacks} onChange=${(event) => setAttacks(event.target.checked)} /> ${t("ways.try")}</label></p>
    <p class="row"><button disabled=${Boolean(task) || !ways.length} onClick=${compare}>${t("ways.go")}</button></p>
    <${Problem} message=${problem} /><${Running} task=${task} onStop=${stop} />
    ${latest ? html`<${Found} task=${latest} under=${comparison.task === latest.id ? comparison.asked : null} />` : null}</section>`;
}
