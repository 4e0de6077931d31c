// Risk: what could still go wrong, before and after, in words a board understands.

import { attempt, run, running, state, stop } from "../server.js";
import { Gauge, Heading, html, NotYet, number, percent, Running, Scrolling, t, useEffect, useState } from "../parts.js";

function Line({ name, before, after, limit, onLimit }) {
  const beyond = limit !== undefined && after > limit;
  return html`<tr class=${beyond ? "beyond" : ""}>
    <th scope="row">${t(`risk.${name}`)}<p class="quiet">${t(`risk.about.${name}`)}</p></th>
    <td><${Gauge} share=${before} label=${t("before")} /> ${percent(before)}</td>
    <td><${Gauge} share=${after} limit=${limit} label=${t("after")} /> ${percent(after)}</td>
    <td>${limit === undefined ? "–" : html`<label><span class="hidden">${t("risk.threshold")} ${t(`risk.${name}`)}</span>≤ <input type="number" min="1" max="100" step="1" value=${Math.round(100 * limit)} onChange=${(event) => onLimit(Number(event.target.value) / 100)} /> %</label>
      <span>${beyond ? `✗ ${t("risk.beyond")}` : `✓ ${t("risk.within")}`}</span>`}</td>
  </tr>`;
}

/** How large the classes are, as bars that lie beside each other. */
function Sizes({ before, after }) {
  const steps = [[1, 1], [2, 4], [5, 9], [10, 19], [20, 49], [50, Infinity]];
  const share = (sizes, [low, high]) =>
    sizes.histogram.filter(([size]) => size >= low && size <= high).reduce((sum, [size, number_]) => sum + size * number_, 0) / Math.max(1, sizes.records);
  return html`<table class="plain"><caption>${t("risk.sizes")}</caption>
    <thead><tr><th scope="col">${t("risk.size")}</th><th scope="col">${t("before")}</th><th scope="col">${t("after")}</th></tr></thead>
    <tbody>${steps.map((range) => html`<tr><th scope="row">${range[0] === range[1] ? t("risk.alone") : range[1] === Infinity ? `≥ ${range[0]}` : `${range[0]} – ${range[1]}`}</th>
      ${[before, after].map((sizes) => html`<td><${Gauge} share=${share(sizes, range)} label=${t("risk.records")} /> ${percent(share(sizes, range))}</td>`)}</tr>`)}</tbody></table>`;
}

/** People who are singled out by few columns, and which columns do it; values are not shown. */
function Special({ before, after }) {
  const names = Object.keys(before.attribute_contributions ?? {}).sort((a, b) => before.attribute_contributions[b] - before.attribute_contributions[a]);
  return html`<section class="card"><table class="plain"><caption>${t("risk.suda")}</caption>
    <thead><tr><th scope="col">${t("roles.column")}</th><th scope="col">${t("before")}</th><th scope="col">${t("after")}</th></tr></thead>
    <tbody><tr><th scope="row">${t("risk.suda.records")}</th><td>${number(before.records)}</td><td>${number(after.records)}</td></tr>
    ${names.map((name) => html`<tr><th scope="row">${name}</th><td>${percent(before.attribute_contributions[name] / 100)}</td><td>${after.records ? percent(after.attribute_contributions[name] / 100) : "–"}</td></tr>`)}</tbody></table>
    <p class="quiet">${t("risk.suda.about")}</p></section>`;
}

/** An attack that is really tried: each person of the input is looked for in the release. */
function Attack() {
  const [found, setFound] = useState(null);
  const id = state.release.id;
  useEffect(() => setFound(null), [id]);
  if (state.release.engine) return null;
  const go = () => attempt(async () => setFound((await run(`/releases/${id}/attack`, {})).linkage));
  return html`<section class="card attack"><h2>${t("risk.attack")}</h2><p class="quiet">${t("risk.attack.about")}</p>
    <${Running} job=${running("attack")[0]} onStop=${stop} />
    ${found
      ? html`<ul class="figures"><li>${t("risk.attack.forward")} <b>${percent(found.forward)}</b></li><li>${t("risk.attack.backward")} <b>${percent(found.backward)}</b></li></ul>
          <p class="quiet">${t("risk.attack.looked", { number: number(found.looked_up), all: number(found.records) })}</p>`
      : html`<button onClick=${go} disabled=${running("attack").length > 0}>${t("risk.attack.go")}</button>`}</section>`;
}

export default function Risk({ needs }) {
  const [found, setFound] = useState(null);
  const [population, setPopulation] = useState("");
  const [limits, setLimits] = useState({ highest: 0.2, at_risk: 0.05, average: 0.05 });
  const id = state.release?.id;
  useEffect(() => {
    let wanted = true;
    setFound(null);
    if (id) attempt(async () => { const told = await run(`/releases/${id}/risk`, { threshold: limits.highest, weights: state.plan.draft.weights, household: state.plan.draft.household, population: population === "" ? null : /^\d+$/.test(population) ? Number(population) : population }); if (wanted) setFound(told); });
    return () => { wanted = false; };
  }, [id, limits.highest, population]);
  if (needs) return html`<${Heading}>${t("step.risk")}<//><${NotYet} step="search">${t("release.none")}<//>`;
  const set = (name) => (value) => value > 0 && value <= 1 && setLimits({ ...limits, [name]: value });
  const before = found?.before.attackers, after = found?.after.attackers;
  const most = (analysis) => analysis.attributes.filter((each) => each.columns.length <= 2).sort((a, b) => b.distinction - a.distinction).slice(0, 8);
  return html`<${Heading} intro=${t("intro.risk")}>${t("step.risk")}<//>
    ${state.release.outdated ? html`<p class="problem">⟳ ${t("outdated")}</p>` : null}
    <p class="row"><label>${t("risk.population")} <input value=${population} list="regions" placeholder=${t("risk.population.none")} onChange=${(event) => setPopulation(event.target.value.trim())} /></label>
      <datalist id="regions">${["EUROPE", "USA", "GERMANY", "FRANCE", "UK", "CANADA"].map((each) => html`<option value=${each}></option>`)}</datalist></p>
    <${Running} job=${running("risk")[0]} onStop=${stop} />
    ${found
      ? html`<section class="card"><${Scrolling} label=${t("step.risk")}><table class="risks">
          <thead><tr><td></td><th scope="col">${t("before")}</th><th scope="col">${t("after")}</th><th scope="col">${t("risk.threshold")}</th></tr></thead>
          <tbody>
            <${Line} name="highest" before=${before.prosecutor.highest} after=${after.prosecutor.highest} limit=${limits.highest} onLimit=${set("highest")} />
            <${Line} name="at_risk" before=${before.prosecutor.at_risk} after=${after.prosecutor.at_risk} limit=${limits.at_risk} onLimit=${set("at_risk")} />
            <${Line} name="average" before=${before.marketer.success_rate} after=${after.marketer.success_rate} limit=${limits.average} onLimit=${set("average")} />
            <${Line} name="unique" before=${found.before.sample_uniques.share} after=${found.after.sample_uniques.share} />
          </tbody></table><//>
          <p class="quiet">${t("risk.suppressed", { number: number(found.after.class_sizes.suppressed) })}</p></section>
        <div class="sides equal">
          <section class="card"><${Sizes} before=${found.before.class_sizes} after=${found.after.class_sizes} /></section>
          <section class="card"><table class="plain"><caption>${t("risk.columns")}</caption>
            <thead><tr><th scope="col">${t("roles.column")}</th><th scope="col">${t("before")}</th><th scope="col">${t("after")}</th></tr></thead>
            <tbody>${most(found.before).map((each) => {
              const now = found.after.attributes.find((one) => one.columns.join("\n") === each.columns.join("\n"));
              return html`<tr><th scope="row">${each.columns.join(" + ")}</th><td>${percent(each.distinction)}</td><td>${now ? percent(now.distinction) : "–"}</td></tr>`;
            })}</tbody></table><p class="quiet">${t("risk.distinction")}</p></section>
        </div>
        ${found.after.population_uniques ? html`<section class="card"><table class="plain"><caption>${t("risk.unique.population")}</caption>
          <thead><tr><th scope="col">${t("risk.model")}</th><th scope="col">${t("before")}</th><th scope="col">${t("after")}</th></tr></thead>
          <tbody>${["zayatz", "snb", "pitman", "dankar"].map((model) => html`<tr><th scope="row">${model}</th>${[found.before, found.after].map((each) => html`<td>${percent(each.population_uniques?.[model]?.share ?? null)}</td>`)}</tr>`)}</tbody></table>
          <p class="quiet">${t("risk.unique.about")}</p></section>` : null}
        <div class="sides equal">${found.before.suda ? html`<${Special} before=${found.before.suda} after=${found.after.suda ?? { records: 0, attribute_contributions: {} }} />` : null}<${Attack} /></div>`
      : null}`;
}
