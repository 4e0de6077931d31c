// Use: what the release is still good for.

import { attempt, columnsOf, post, run, running, state, stop } from "../server.js";
import { Gauge, Heading, html, NotYet, number, percent, Running, Scrolling, t, under, useEffect, useState } from "../parts.js";
import { Compared, How, shownReleases } from "./beside.js";
import { Errors, OwnCount } from "./counts.js";
import { Rows } from "./rows.js";

const NONE = { values: [], shares: [] };
const different = (side) => side.different ?? side.values.length;

/** One column: a sentence, and its values before and after. Where labels differ, before is shown on request: as it was, or by the labels of the release. */
function Card({ column, all, shown }) {
  const [own, setOwn] = useState(false);
  const [coarser, setCoarser] = useState(null);
  const plain = all[0].distributions.find((each) => each.column === column);
  const first = coarser?.[0] ?? plain;
  const asked = (coarsened) => Promise.all(shown.map((each) => post(`/releases/${each.release.id}/distribution`, { column, coarsened })));
  const coarsen = (wanted) => attempt(async () => setCoarser(wanted ? await asked(true) : null));
  useEffect(() => { if (!plain) coarsen(true); }, []); // too many values to be told as they were
  if (!first) return html`<article class="card"><h3>${column}</h3></article>`;
  const values = first.after.values.slice(0, 12);
  const shares = ({ values: names, shares: each }) => new Map(names.map((value, index) => [value, each[index]]));
  const before = shares(first.before);
  const comparable = first.after.values.some((value) => before.has(value));
  const after = all.map((each, at) => shares((coarser?.[at] ?? each.distributions.find((one) => one.column === column))?.after ?? NONE));
  const quality = all.map((each) => each.quality.attributes.find((one) => one.column === column));
  const level = under(state.release.search?.level_names ?? {}, column);
  const sentence = !quality[0]
    ? t("use.card.kept", { apart: percent(plain.distance) })
    : under(state.release.search?.transformation ?? {}, column) === 0
    ? t("use.card.exact", { left: percent(Math.max(0, quality[0].granularity.quality ?? 0)) })
    : level === undefined
    ? t(state.release.steps?.length ? "use.card.masked" : "use.card.several", { left: percent(Math.max(0, quality[0].granularity.quality ?? 0)), before: number(state.profile?.columns.find((each) => each.name === column)?.distinct), after: number(different(first.after)) })
    : t("use.card.coarser", { level, left: percent(Math.max(0, quality[0].granularity.quality ?? 0)), before: number(state.profile?.columns.find((each) => each.name === column)?.distinct), after: number(different(first.after)) });
  return html`<article class="card"><h3>${column}</h3><p>${sentence}</p>
    ${quality[0] ? html`<p>${all.map((_, at) => html`<span class="inline">${shown.length > 1 ? shown[at].label : t("use.left")} <${Gauge} share=${Math.max(0, quality[at]?.granularity.quality ?? 0)} label=${t("use.left")} /> <b>${percent(quality[at]?.granularity.quality)}</b></span>`)}</p>` : null}
    ${quality[0] ? html`<p><label><input type="checkbox" checked=${coarser !== null} disabled=${!plain} onChange=${(event) => coarsen(event.target.checked)} /> ${t("use.card.coarsen")}</label></p>${coarser ? html`<p role="status">${t("use.card.apart", { apart: percent(coarser[0].distance) })}</p>` : null}` : null}
    <table class="plain"><caption class="hidden">${column}</caption><thead><tr><th scope="col">${t("use.value")}</th>${comparable ? html`<th scope="col">${t("before")}</th>` : null}${shown.map((each) => html`<th scope="col">${each.label}</th>`)}</tr></thead>
    <tbody>${values.map((value) => html`<tr><th scope="row" dir="auto">${value ?? t("cell.missing")}</th>
      ${comparable ? html`<td>${before.has(value) ? percent(before.get(value)) : "–"}</td>` : null}
      ${after.map((each) => html`<td><${Gauge} share=${each.get(value) ?? 0} label=${String(value)} /> ${percent(each.get(value) ?? null)}</td>`)}</tr>`)}</tbody></table>
    ${different(first.after) > 12 ? html`<p class="quiet">${t("use.more", { number: number(different(first.after) - 12) })}</p>` : null}
    ${comparable ? null : html`<button aria-expanded=${own} onClick=${() => setOwn(!own)}>${t("use.card.before")}</button>${own ? html`<table class="plain"><caption>${t("before")}</caption><tbody>${first.before.values.slice(0, 12).map((value, index) => html`<tr><th scope="row" dir="auto">${value ?? t("cell.missing")}</th><td><${Gauge} share=${first.before.shares[index]} label=${String(value)} /> ${percent(first.before.shares[index])}</td></tr>`)}</tbody></table>${first.before.values.length > 12 ? html`<p class="quiet">${t("use.more", { number: number(first.before.values.length - 12) })}</p>` : null}` : null}`}
    <${How} name="card" code=${["from veil.utility import Comparison, distribution", `print(distribution(Comparison.of(release), ${JSON.stringify(column)}${coarser ? ", coarsened=True" : ""}))`]} />
  </article>`;
}

/** A card for each column; those that are published as they are fold away where there are many. */
function Cards({ all, shown }) {
  const cards = (which) => html`<div class="cards">${which.map((column) => html`<${Card} key=${column} column=${column} all=${all} shown=${shown} />`)}</div>`;
  const quasi = all[0].quality.attributes.map((each) => each.column);
  const others = all[0].distributions.filter((each) => !quasi.includes(each.column));
  const named = others.map((each) => each.column);
  return html`${cards(quasi)}${others.length > 6
    ? html`<details class="card"><summary>${t("use.others", { number: number(others.length), apart: percent(Math.max(...others.map((each) => apart(each.before, each.after)))) })}</summary>${cards(named)}</details>`
    : cards(named)}`;
}

const several = (values) => {
  const named = values.map((each) => each ?? t("cell.missing"));
  return named.length > 2 ? `${named[0]} … ${named.at(-1)}` : named.join(", ");
};

function Half({ table, title }) {
  return html`<table class="plain pair"><caption>${title}</caption><thead><tr><td></td>${table.columns.map((each) => html`<th scope="col" dir="auto">${several(each)}</th>`)}</tr></thead>
    <tbody>${table.rows.map((each, at) => html`<tr><th scope="row" dir="auto">${several(each)}</th>${table.shares[at].map((share) => html`<td class=${`heat${share === 0 ? 0 : Math.min(4, 1 + Math.floor(12 * share))}`}>${percent(share)}</td>`)}</tr>`)}</tbody></table>`;
}

/** How strongly columns go together: above the diagonal before, below after. A click opens how often values occur together. */
function Pairs({ id, label }) {
  const [matrix, setMatrix] = useState(null);
  const [pair, setPair] = useState(null);
  const [found, setFound] = useState(null);
  useEffect(() => {
    let wanted = true;
    run(`/releases/${id}/associations`).then((told) => wanted && setMatrix(told), () => {});
    return () => { wanted = false; };
  }, [id]);
  const choose = (row, column) => attempt(async () => { setPair({ row, column }); setFound(null); setFound(await post(`/releases/${id}/pairs`, { row, column })); });
  if (!matrix || !matrix.before) return null;
  const names = matrix.columns;
  const cellOf = (i, j) => {
    if (i === j) return html`<td class="quiet">–</td>`;
    const value = (i < j ? matrix.before : matrix.after)[i][j];
    const title = `${names[i]} + ${names[j]}, ${t(i < j ? "before" : "after")}: ${value === null ? "–" : number(value, 2)}`;
    return html`<td><button class=${`cell heat${value === null ? 0 : Math.min(4, Math.round(4 * value))}`} aria-pressed=${pair?.row === names[i] && pair?.column === names[j]} aria-label=${title} onClick=${() => choose(names[i], names[j])}>${value === null ? "–" : number(value, 2)}</button></td>`;
  };
  return html`<section class="card pairs-card"><h2>${t("use.pairs")}${label ? ` · ${label}` : ""}</h2><p class="quiet">${t("use.pairs.about")}</p>
    <${Scrolling} label=${t("use.pairs")}><table class="prices"><thead><tr><td></td>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${names.map((name, i) => html`<tr><th scope="row">${name}</th>${names.map((_, j) => cellOf(i, j))}</tr>`)}</tbody></table><//>
    <${How} name="pairs" code=${["from veil.utility import Comparison, contingency", `print(contingency(Comparison.of(release), ${JSON.stringify(pair?.row ?? names[0])}, ${JSON.stringify(pair?.column ?? names[1] ?? names[0])}, at_most=12))`]} />
    ${found ? html`<h3>${pair.row} + ${pair.column}</h3><${Scrolling} label=${`${t("use.pairs")} ${t("before")}`}><${Half} table=${found.before} title=${t("before")} /><//><${Scrolling} label=${`${t("use.pairs")} ${t("after")}`}><${Half} table=${found.after} title=${t("after")} /><//>` : null}</section>`;
}

/** What a classifier still learns: before, after, and by guessing. */
function Prediction({ shown }) {
  const [found, setFound] = useState(null);
  const names = [...columnsOf("sensitive"), ...columnsOf("insensitive"), ...columnsOf("quasi-identifying")];
  const go = (target) => attempt(async () => {
    const told = [];
    for (const each of shown) told.push((await run(`/releases/${each.release.id}/utility`, { targets: [target] })).utility);
    setFound(told);
  });
  const response = state.plan.draft.response;
  useEffect(() => { if (names.includes(response)) go(response); }, [shown.map((each) => each.release.id).join(), response]);
  const told = found?.map((each) => each.classification[0]);
  const lines = told?.[0] ? [["before", told[0].original.accuracy], ...told.map((each, at) => [shown[at].label, each.released.accuracy]), ["use.guess", told[0].zero_r.accuracy]] : [];
  return html`<section class="card prediction"><h2>${t("use.predict")}</h2><p class="row"><label>${t("use.target")} <select onChange=${(event) => event.target.value && go(event.target.value)}><option value="">…</option>${names.map((name) => html`<option value=${name} selected=${name === response}>${name}</option>`)}</select></label></p>
    ${told?.[0] ? html`<table class="plain"><caption>${t("use.accuracy", { target: told[0].target })}</caption><tbody>${lines.map(([name, share]) => html`<tr><th scope="row">${t(name)}</th><td><${Gauge} share=${share} label=${t(name)} /> ${percent(share)}</td></tr>`)}</tbody></table>
      <p>${t("use.predict.sentence", { target: told[0].target, before: percent(told[0].original.accuracy), after: percent(told[0].released.accuracy), guess: percent(told[0].zero_r.accuracy) })}</p>
      <p class="quiet">${t("use.predict.about", { features: told[0].features.join(", ") })}</p>` : found?.[0].regression[0] ? html`<p>${t("use.number")}</p>` : null}
    <${How} name="prediction" code=${[`print(release.utility(targets=[${JSON.stringify(told?.[0]?.target ?? names[0] ?? "")}]).classification)`]} /></section>`;
}

export default function Use({ needs }) {
  const [found, setFound] = useState(null);
  const shown = needs ? [] : shownReleases();
  const ids = shown.map((each) => each.release.id).join(" ");
  useEffect(() => {
    let wanted = true;
    setFound(null);
    if (ids && !state.release.engine) attempt(async () => {
      const told = [];
      for (const id of ids.split(" ")) told.push((await run(`/releases/${id}/utility`, {})).utility);
      if (wanted) setFound({ ids, told });
    });
    return () => { wanted = false; };
  }, [ids]);
  if (needs) return html`<${Heading}>${t("step.use")}<//><${NotYet} step="search">${t("release.none")}<//>`;
  const all = found?.ids === ids ? found.told : null;
  return html`<${Heading} intro=${t("intro.use")}>${t("step.use")}<//>
    ${state.release.outdated ? html`<p class="problem">⟳ ${t("outdated")}</p>` : null}
    <${Compared} />
    <${Rows} key=${ids} />
    ${state.release.engine ? html`<p class="card">${t("use.engine")}</p>` : null}
    <${Running} task=${running("utility")[0]} onStop=${stop} />
    ${all
      ? html`<section class="card"><ul class="figures">
          <li>${t("bar.suppressed")} <b>${all.map((each) => number(each.suppressed)).join(", ")}</b></li>
          <li>${t("search.classes")} <b>${number(all[0].classes.before.number)} → ${all.map((each) => number(each.classes.after.number)).join(", ")}</b></li>
        </ul></section>
        <${Cards} all=${all} shown=${shown} />
        <div class="sides equal"><${Errors} found=${all} shown=${shown} /><${OwnCount} key=${`own ${ids}`} /></div>
        ${shown.map((each) => html`<${Pairs} key=${`pairs ${each.release.id}`} id=${each.release.id} label=${shown.length > 1 ? each.label : ""} />`)}
        <${Prediction} key=${`predict ${ids}`} shown=${shown} />`
      : null}`;
}
