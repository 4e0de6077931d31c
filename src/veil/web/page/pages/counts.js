// Counts: how far off random ones are, and one that the reader types in.

import { attempt, post, state } from "../server.js";
import { Gauge, html, number, percent, t, useState } from "../parts.js";
import { How, shownReleases } from "./beside.js";

/** How far off counts are that somebody reads from the release. */
export function Errors({ found, shown }) {
  const all = found.map((each) => each.queries).filter(Boolean);
  if (all.length < found.length) return null;
  const range = (at, bounds) => (bounds[at][0] === null ? `> ${percent(bounds[at - 1][0], 0)}` : `≤ ${percent(bounds[at][0], 0)}`);
  return html`<section class="card errors"><h2>${t("use.queries")}</h2><p>${t("use.queries.sentence", { number: number(all[0].queries), median: all.map((each) => percent(each.median)).join(", ") })}</p>
    <table class="plain"><caption class="hidden">${t("use.queries")}</caption><thead><tr><th scope="col">${t("use.queries.off")}</th>${shown.map((each) => html`<th scope="col">${each.label}</th>`)}</tr></thead>
    <tbody>${all[0].histogram.map((_, at) => html`<tr><th scope="row">${range(at, all[0].histogram)}</th>${all.map((each) => { const share = each.histogram[at][1] / Math.max(1, each.queries); return html`<td><${Gauge} share=${share} label=${t("use.queries.share")} /> ${percent(share)}</td>`; })}</tr>`)}</tbody></table>
    <p class="quiet">${t("use.queries.about")}</p><${How} name="queries" code=${["print(release.utility().queries)"]} /></section>`;
}

const NUMBERS = ["integer", "decimal", "float", "date", "timestamp"];
const EMPTY = { column: "", first: "", last: "" };

/** A count of one's own: the true one, what readers of the release would answer, and how far off that is. */
export function OwnCount() {
  const [conditions, setConditions] = useState([EMPTY]);
  const [found, setFound] = useState(null);
  const columns = state.profile?.columns.filter((each) => !["identifying", "drop", undefined].includes(state.plan.draft.roles[each.name])) ?? [];
  const measured = (name) => NUMBERS.includes(columns.find((each) => each.name === name)?.type);
  const set = (at, changes) => { setFound(null); setConditions(conditions.map((each, index) => (index === at ? { ...each, ...changes } : each))); };
  const asked = conditions.filter((each) => each.column && each.first !== "");
  const go = (event) => {
    event.preventDefault();
    return attempt(async () => {
      const sent = Object.fromEntries(asked.map((each) => [each.column, measured(each.column) ? { first: each.first, last: each.last === "" ? each.first : each.last } : { values: each.first.split(";").map((one) => one.trim()) }]));
      const told = [];
      for (const each of shownReleases()) told.push({ label: each.label, ...(await post(`/releases/${each.release.id}/count`, { conditions: sent })) });
      setFound(told);
    });
  };
  return html`<section class="card own"><h2>${t("use.own")}</h2><p class="quiet">${t("use.own.about")}</p>
    <form onSubmit=${go}>${conditions.map((each, at) => html`<p class="row">
      <label>${t("roles.column")} <select value=${each.column} onChange=${(event) => set(at, { column: event.target.value, first: "", last: "" })}><option value="">…</option>${columns.map((one) => html`<option value=${one.name}>${one.name}</option>`)}</select></label>
      ${!each.column ? null : measured(each.column)
        ? html`<label>${t("use.own.from")} <input size="10" value=${each.first} onInput=${(event) => set(at, { first: event.target.value })} /></label><label>${t("use.own.to")} <input size="10" value=${each.last} onInput=${(event) => set(at, { last: event.target.value })} /></label>`
        : html`<label>${t("use.own.values")} <input size="28" value=${each.first} list=${`values-${at}`} onInput=${(event) => set(at, { first: event.target.value })} /></label><datalist id=${`values-${at}`}>${(columns.find((one) => one.name === each.column)?.bars ?? []).slice(0, 50).map((bar) => html`<option value=${bar.first}></option>`)}</datalist>`}
    </p>`)}
    <p class="row">${conditions.length < 5 ? html`<button type="button" onClick=${() => setConditions([...conditions, EMPTY])}>${t("use.own.and")}</button>` : null}<button class="primary" disabled=${!asked.length}>${t("use.own.go")}</button></p></form>
    <div aria-live="polite">${found
      ? html`<ul class="figures answer"><li>${t("use.own.true")} <b>${number(found[0].count)}</b></li>${found.map((each) => html`<li>${each.label} <b>${number(each.answer, 1)}</b> ${t("use.own.error", { error: each.error === null ? "–" : percent(each.error) })}</li>`)}</ul>`
      : null}</div>
    <${How} name="own" code=${["from veil.utility import Comparison, count_query", "compared = Comparison.of(release)", `print(count_query(compared, {${asked.map((each) => `${JSON.stringify(each.column)}: ${measured(each.column) ? `(${JSON.stringify(each.first)}, ${JSON.stringify(each.last === "" ? each.first : each.last)})` : `[${each.first.split(";").map((one) => JSON.stringify(one.trim())).join(", ")}]`}`).join(", ")}}))`]} /></section>`;
}
