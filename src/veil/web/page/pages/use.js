// Use: what the release is still good for.

import { attempt, columnsOf, post, run, running, state, stop } from "../server.js";
import { Gauge, Heading, html, NotYet, number, percent, Running, Scrolling, t, useEffect, useState } from "../parts.js";

const PAGE = 25;

/** Input and output side by side; what was changed is marked by its shape as well as by its colour. */
function Rows() {
  const [page, setPage] = useState(null);
  const [start, setStart] = useState(0);
  const id = state.release.id;
  useEffect(() => {
    let wanted = true;
    post(`/releases/${id}/rows`, { start, count: PAGE }).then((told) => wanted && setPage(told), () => {});
    return () => { wanted = false; };
  }, [id, start]);
  if (!page) return null;
  const place = new Map(page.input_columns.map((name, index) => [name, index]));
  return html`<section class="card"><h2>${t("use.rows")}</h2><p class="quiet">${t(state.release.engine ? "use.rows.engine" : "use.rows.about")}</p>
    <${Scrolling} label=${t("use.rows")}><table class="grid pairs">
      <thead><tr>${page.columns.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${page.rows.map((row, index) => html`<tr class=${page.suppressed[index] ? "gone" : ""}>${row.map((cell, at) => {
        const was = place.has(page.columns[at]) && page.input.length ? page.input[index][place.get(page.columns[at])] : undefined;
        const changed = was !== undefined && was !== cell;
        return html`<td dir="auto" class=${changed ? "changed" : ""}>${cell ?? html`<span class="none">${t("cell.missing")}</span>`}${changed ? html`<del>${was === null ? t("cell.missing") : was.slice(0, 60)}</del>` : null}</td>`;
      })}</tr>`)}</tbody></table><//>
    <p class="row pager"><button disabled=${start === 0} aria-label=${t("pager.previous")} onClick=${() => setStart(start - PAGE)}>←</button>
      <span>${t("pager", { first: number(start + 1), last: number(Math.min(start + PAGE, page.total)), total: number(page.total) })}</span>
      <button disabled=${start + PAGE >= page.total} aria-label=${t("pager.next")} onClick=${() => setStart(start + PAGE)}>→</button></p></section>`;
}

function Card({ distribution, quality }) {
  const values = distribution.after.values.slice(0, 12);
  const before = new Map(distribution.before.values.map((value, index) => [value, distribution.before.shares[index]]));
  const comparable = values.some((value) => before.has(value));
  return html`<article class="card"><h3>${distribution.column}</h3>
    ${quality ? html`<p>${t("use.left")} <${Gauge} share=${Math.max(0, quality.granularity.quality ?? 0)} label=${t("use.left")} /> <b>${percent(quality.granularity.quality)}</b></p>` : html`<p class="quiet">${t("use.untouched")}</p>`}
    <table class="plain"><caption class="hidden">${distribution.column}</caption><thead><tr><th scope="col">${t("use.value")}</th>${comparable ? html`<th scope="col">${t("before")}</th>` : null}<th scope="col">${t("after")}</th></tr></thead>
    <tbody>${values.map((value, index) => html`<tr><th scope="row" dir="auto">${value ?? t("cell.missing")}</th>
      ${comparable ? html`<td>${before.has(value) ? percent(before.get(value)) : "–"}</td>` : null}
      <td><${Gauge} share=${distribution.after.shares[index]} label=${String(value)} /> ${percent(distribution.after.shares[index])}</td></tr>`)}</tbody></table>
    ${distribution.after.values.length > 12 ? html`<p class="quiet">${t("use.more", { number: number(distribution.after.values.length - 12) })}</p>` : null}
  </article>`;
}

/** How two columns go together, before and after. */
function Pairs() {
  const [pair, setPair] = useState({ row: "", column: "" });
  const [found, setFound] = useState(null);
  const id = state.release.id;
  const names = Object.keys(state.release.search?.transformation ?? {}).concat(columnsOf("sensitive"), columnsOf("insensitive"));
  const choose = (made) => {
    setPair(made);
    setFound(null);
    if (made.row && made.column && made.row !== made.column) attempt(async () => setFound(await post(`/releases/${id}/pairs`, made)));
  };
  const several = (values) => {
    const named = values.map((each) => each ?? t("cell.missing"));
    return named.length > 2 ? `${named[0]} … ${named.at(-1)}` : named.join(", ");
  };
  const Half = ({ table, title }) => html`<table class="plain pair"><caption>${title}</caption><thead><tr><td></td>${table.columns.map((each) => html`<th scope="col" dir="auto">${several(each)}</th>`)}</tr></thead>
    <tbody>${table.rows.map((each, at) => html`<tr><th scope="row" dir="auto">${several(each)}</th>${table.shares[at].map((share) => html`<td class=${`heat${share === 0 ? 0 : Math.min(4, 1 + Math.floor(12 * share))}`}>${percent(share)}</td>`)}</tr>`)}</tbody></table>`;
  return html`<section class="card pairs-card"><h2>${t("use.pairs")}</h2><p class="row">${["row", "column"].map((which) => html`<label>${t(`use.${which}`)} <select value=${pair[which]} onChange=${(event) => choose({ ...pair, [which]: event.target.value })}><option value="">…</option>${names.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`)}</p>
    ${found ? html`<${Scrolling} label=${t("use.pairs")}><${Half} table=${found.before} title=${t("before")} /><//><${Scrolling} label=${t("after")}><${Half} table=${found.after} title=${t("after")} /><//>` : null}</section>`;
}

/** What a classifier still learns: before, after, and by guessing. */
function Prediction() {
  const [found, setFound] = useState(null);
  const id = state.release.id;
  useEffect(() => setFound(null), [id]);
  const names = [...columnsOf("sensitive"), ...columnsOf("insensitive"), ...columnsOf("quasi-identifying")];
  const go = (target) => attempt(async () => setFound((await run(`/releases/${id}/utility`, { targets: [target] })).utility));
  const told = found?.classification?.[0];
  const number_ = found?.regression?.[0];
  const response = state.plan.draft.response;
  useEffect(() => { if (names.includes(response)) go(response); }, [id, response]);
  return html`<section class="card prediction"><h2>${t("use.predict")}</h2><p class="row"><label>${t("use.target")} <select onChange=${(event) => event.target.value && go(event.target.value)}><option value="">…</option>${names.map((name) => html`<option value=${name} selected=${name === response}>${name}</option>`)}</select></label></p>
    ${told ? html`<table class="plain"><caption>${t("use.accuracy", { target: told.target })}</caption><tbody>${[["before", told.original.accuracy], ["after", told.released.accuracy], ["use.guess", told.zero_r.accuracy]].map(([name, share]) => html`<tr><th scope="row">${t(name)}</th><td><${Gauge} share=${share} label=${t(name)} /> ${percent(share)}</td></tr>`)}</tbody></table>
      <p class="quiet">${t("use.predict.about", { features: told.features.join(", ") })}</p>` : number_ ? html`<p>${t("use.number")}</p>` : null}</section>`;
}

export default function Use({ needs }) {
  const [found, setFound] = useState(null);
  const id = state.release?.id;
  useEffect(() => {
    let wanted = true;
    setFound(null);
    if (id && !state.release.engine) attempt(async () => { const told = await run(`/releases/${id}/utility`, {}); if (wanted) setFound(told.utility); });
    return () => { wanted = false; };
  }, [id]);
  if (needs) return html`<${Heading}>${t("step.use")}<//><${NotYet} step="search">${t("release.none")}<//>`;
  const qualities = new Map((found?.quality.attributes ?? []).map((each) => [each.column, each]));
  return html`<${Heading} intro=${t("intro.use")}>${t("step.use")}<//>
    ${state.release.outdated ? html`<p class="problem">⟳ ${t("outdated")}</p>` : null}
    <${Rows} key=${id} />
    ${state.release.engine ? html`<p class="card">${t("use.engine")}</p>` : null}
    <${Running} job=${running("utility")[0]} onStop=${stop} />
    ${found
      ? html`<section class="card"><ul class="figures">
          <li>${t("bar.suppressed")} <b>${number(found.suppressed)}</b></li>
          <li>${t("search.classes")} <b>${number(found.classes.before.number)} → ${number(found.classes.after.number)}</b></li>
          ${found.queries ? html`<li title=${t("use.queries.about")}>${t("use.queries")} <b>${percent(found.queries.median)}</b></li>` : null}
        </ul><p class="quiet">${t("use.queries.about")}</p></section>
        <div class="cards">${found.distributions.map((each) => html`<${Card} key=${each.column} distribution=${each} quality=${qualities.get(each.column)} />`)}</div>
        <${Pairs} key=${`pairs ${id}`} /><${Prediction} key=${`predict ${id}`} />`
      : null}`;
}
