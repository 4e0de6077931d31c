// Risk: what could still go wrong, before and after, in words a board understands.

import { attempt, run, running, state, stop } from "../server.js";
import { Gauge, Heading, html, NotYet, number, percent, Running, Scrolling, t, Typed, useEffect, useState } from "../parts.js";
import { Attacks, Riskiest } from "./attacks.js";
import { Compared, How, listed, shownReleases, tableName } from "./beside.js";

/** A share as a bar, with the threshold as a handle on it that can be drawn. */
function Handle({ share, limit, onLimit, label }) {
  return html`<span class=${`gauge handled ${share > limit ? "beyond" : ""}`}><i style=${{ width: `${Math.min(100, 100 * share)}%` }}></i>
    <${Typed} type="range" min="1" max="100" step="1" value=${Math.round(100 * limit)} aria-label=${label} onTake=${(text) => onLimit(Number(text) / 100)} /></span>`;
}

/** One figure: what it says in a sentence, before and after, against a threshold; and how it is computed. */
function Line({ name, words = {}, before, after, limit, onLimit, code }) {
  const beyond = limit !== undefined && after.some((share) => share > limit);
  const title = t(`risk.${name}`, words);
  return html`<tr class=${beyond ? "beyond" : ""}>
    <th scope="row">${title}<p class="quiet">${t(`risk.about.${name}`, words)}</p><${How} name=${name} code=${code} /></th>
    <td><${Gauge} share=${before} label=${t("before")} /> <span>${percent(before)}${once(name, before)}</span></td>
    ${after.map((share, at) => html`<td>${limit === undefined || at ? html`<${Gauge} share=${share} limit=${limit} label=${t("after")} />` : html`<${Handle} share=${share} limit=${limit} onLimit=${onLimit} label=${`${t("risk.threshold")} ${title}`} />`} <span>${above(share, limit)}${once(name, share)}</span></td>`)}
    <td>${limit === undefined ? "–" : html`<label><span class="hidden">${t("risk.threshold")} ${title}, ${t("risk.percent")}</span>≤ <${Typed} type="number" min="1" max="100" step="1" value=${Math.round(100 * limit)} onTake=${(text) => onLimit(Number(text) / 100)} /> %</label>
      <span>${beyond ? `✗ ${t("risk.beyond")}` : `✓ ${t("risk.within")}`}</span>`}</td>
  </tr>`;
}

/** A share, with as many digits as tell it from a threshold that it is above. */
const above = (share, limit) => percent(share, share > limit ? [1, 2, 3, 4].find((digits) => Number((100 * share).toFixed(digits)) > 100 * limit) ?? 5 : 1);

/** "One in five", where a share is the chance to pick the right person. */
const once = (name, share) => (["highest", "journalist"].includes(name) && share > 0 ? ` (${t("risk.once", { number: number(1 / share, 1) })})` : "");

/** A table that lays before and after, or before and two releases, beside each other. */
function Beside({ caption, first, shown, rows, about, how, code }) {
  return html`<section class="card"><${Scrolling} label=${caption}><table class="plain"><caption>${caption}</caption>
    <thead><tr><th scope="col">${first}</th><th scope="col">${t("before")}</th>${shown.map((each) => html`<th scope="col">${each.label}</th>`)}</tr></thead>
    <tbody>${rows.map(([name, ...cells]) => html`<tr><th scope="row">${name}</th>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody></table><//>
    ${about ? html`<p class="quiet">${about}</p>` : null}<${How} name=${how} code=${code} /></section>`;
}

const STEPS = [[1, 1], [2, 4], [5, 9], [10, 19], [20, 49], [50, Infinity]];

function sizeRows(all) {
  const share = (sizes, [low, high]) =>
    sizes.histogram.filter(([size]) => size >= low && size <= high).reduce((sum, [size, times]) => sum + size * times, 0) / Math.max(1, sizes.records);
  return STEPS.map((range) => [
    range[0] === range[1] ? t("risk.alone") : range[1] === Infinity ? `≥ ${range[0]}` : `${range[0]} – ${range[1]}`,
    ...all.map((each) => html`<${Gauge} share=${share(each.class_sizes, range)} label=${t("risk.records")} /> ${percent(share(each.class_sizes, range))}`),
  ]);
}

function columnRows(all) {
  const most = all[0].attributes.filter((each) => each.columns.length <= 2).sort((a, b) => b.distinction - a.distinction).slice(0, 8);
  return most.map((each) => [each.columns.join(" + "), ...all.map((one) => { const same = one.attributes.find((other) => other.columns.join("\n") === each.columns.join("\n")); return same ? percent(same.distinction) : "–"; })]);
}

/** People who are singled out by few columns, and which columns do it; values are not shown. */
function specialRows(all) {
  const before = all[0].suda.attribute_contributions ?? {};
  const names = Object.keys(before).sort((a, b) => before[b] - before[a]);
  return [[t("risk.suda.records"), ...all.map((each) => number(each.suda?.records ?? 0))],
    ...names.map((name) => [name, ...all.map((each) => (each.suda?.records ? percent(each.suda.attribute_contributions[name]) : "–"))])];
}

const MODELS = ["zayatz", "snb", "pitman", "dankar"];

function populationRows(all) {
  return MODELS.map((model) => [
    html`${t(`risk.model.${model}`)}<p class="quiet">${t(`risk.assumes.${model}`)}</p>`,
    ...all.map((each) => { const found = each.population_uniques; return !found ? "–" : found[model].available ? `${percent(found[model].share)}${model === "dankar" ? ` (${t(`risk.model.${found.chosen}`)})` : ""}` : t("risk.model.none"); }),
  ]);
}

function individualRows(all) {
  const at = (each, ...path) => path.reduce((found, name) => found?.[name], each.individual);
  const rows = [["expected", (x) => number(x, 1)], ["rate", percent], ["highest", percent], ["at_risk", percent]].map(([name, write]) => [t(`risk.individual.${name}`), ...all.map((each) => write(at(each, name)))]);
  if (all[0].individual.household) rows.push([t("risk.individual.households"), ...all.map((each) => number(at(each, "household", "households"), 1))], [t("risk.individual.household"), ...all.map((each) => percent(at(each, "household", "highest")))]);
  return rows;
}

/** Who the table stands for: the people it was drawn from, the weight of each record, and who lives together. */
function About({ about, setAbout }) {
  const pick = (name) => html`<label>${t(`risk.${name}`)} <select value=${about[name]} onChange=${(event) => setAbout({ ...about, [name]: event.target.value })}><option value="">${t("risk.none")}</option>${(state.table?.columns ?? []).map((each) => html`<option value=${each}>${each}</option>`)}</select></label>`;
  return html`<p class="row"><label>${t("risk.population")} <${Typed} value=${about.population} list="regions" placeholder=${t("risk.population.none")} onTake=${(text) => setAbout({ ...about, population: text.trim() })} /></label>
    <datalist id="regions">${["EUROPE", "USA", "GERMANY", "FRANCE", "UK", "CANADA"].map((each) => html`<option value=${each}></option>`)}</datalist>
    ${state.release.engine || state.release.people !== null ? null : html`${pick("weights")}${pick("household")}`}</p>`;
}

/** Sensitive columns that are shown at once, those about which most is learned first: a survey has dozens. */
const FEW = 5;

/** The columns that the plan says to hold weights and households, if it does. */
const start = () => ({ population: "", weights: state.plan?.draft.weights ?? "", household: state.plan?.draft.household ?? "" });

export default function Risk({ needs }) {
  const [found, setFound] = useState(null);
  const [about, setAbout] = useState(start);
  const [open, setOpen] = useState(false);
  const [limits, setLimits] = useState({ highest: 0.2, journalist: 0.2, at_risk: 0.05, average: 0.05 });
  const shown = needs ? [] : shownReleases();
  const ids = shown.map((each) => each.release.id).join(" ");
  const asked = { threshold: limits.highest, population: about.population === "" ? null : /^\d+$/.test(about.population) ? Number(about.population) : about.population, weights: about.weights || null, household: about.household || null };
  useEffect(() => {
    let wanted = true;
    setFound(null);
    if (ids) attempt(async () => {
      const told = [];
      for (const id of ids.split(" ")) told.push(await run(`/releases/${id}/risk`, asked));
      if (wanted) setFound({ ids, told });
    });
    return () => { wanted = false; };
  }, [ids, JSON.stringify(asked)]);
  if (needs) return html`<${Heading}>${t("step.risk")}<//><${NotYet} step="search">${t("release.none")}<//>`;
  const set = (name) => (value) => value > 0 && value <= 1 && setLimits({ ...limits, [name]: value });
  const all = found?.ids === ids ? [found.told[0].before, ...found.told.map((each) => each.after)] : null;
  const learned = (at) => Math.max(...found.told.map((one) => one.certain[at].after));
  const certain = all ? found.told[0].certain.map((each, at) => ({ each, at })).sort((a, b) => learned(b.at) - learned(a.at)) : [];
  const quasi = all?.[0].quasi_identifiers ?? [];
  const options = `threshold=${limits.highest}${asked.population === null ? "" : `, population=${JSON.stringify(asked.population)}`}`;
  const code = (...last) => [`before = veil.risk.analyze(${tableName()}, ${listed(quasi)}, untouched=True, ${options})`, `after = veil.risk.analyze(release, ${options})`, ...last.map((each) => `print(before.${each}, after.${each})`)];
  const line = (name, path, read, words) => html`<${Line} name=${name} words=${words} before=${read(all[0])} after=${all.slice(1).map(read)} limit=${limits[name]} onLimit=${set(name)} code=${code(path)} />`;
  return html`<${Heading} intro=${t("intro.risk")}>${t("step.risk")}<//>
    ${state.release.outdated ? html`<p class="problem">⟳ ${t("outdated")}</p>` : null}
    <${Compared} /><${About} about=${about} setAbout=${setAbout} />
    <${Running} task=${running("risk")[0]} onStop=${stop} />
    ${all
      ? html`<section class="card"><${Scrolling} label=${t("step.risk")}><table class="risks">
          <thead><tr><td></td><th scope="col">${t("before")}</th>${shown.map((each) => html`<th scope="col">${each.label}</th>`)}<th scope="col">${t("risk.threshold")}</th></tr></thead>
          <tbody>
            ${line("highest", "attackers.prosecutor.highest", (each) => each.attackers.prosecutor.highest)}
            ${line("journalist", "attackers.journalist.highest", (each) => each.attackers.journalist.highest)}
            ${line("average", "attackers.marketer.success_rate", (each) => each.attackers.marketer.success_rate)}
            ${line("at_risk", "attackers.prosecutor.at_risk", (each) => each.attackers.prosecutor.at_risk)}
            ${line("unique", "sample_uniques.share", (each) => each.sample_uniques.share)}
            ${certain.slice(0, open ? certain.length : FEW).map(({ each, at }) => html`<${Line} name="certain" words=${{ column: each.column }} before=${each.before} after=${found.told.map((one) => one.certain[at].after)} code=${[`print(veil.risk.certain_values(${tableName()}, ${listed(quasi)}, ${JSON.stringify(each.column)}, untouched=True))`, `print(veil.risk.certain_values(release, None, ${JSON.stringify(each.column)}))`]} />`)}
          </tbody></table><//>
          ${certain.length > FEW ? html`<p><button aria-expanded=${open} onClick=${() => setOpen(!open)}>${t("risk.certain.more", { number: number(certain.length - FEW) })}</button></p>` : null}
          <p class="quiet">${t("risk.suppressed", { number: all.slice(1).map((each) => number(each.class_sizes.suppressed)).join(", ") })}</p></section>
        <div class="sides equal">
          <${Beside} caption=${t("risk.sizes")} first=${t("risk.size")} shown=${shown} rows=${sizeRows(all)} how="sizes" code=${code("class_sizes")} />
          <${Beside} caption=${t("risk.columns")} first=${t("roles.column")} shown=${shown} rows=${columnRows(all)} about=${t("risk.distinction")} how="columns" code=${code("attributes")} />
        </div>
        ${shown.map((each) => html`<${Attacks} key=${each.release.id} label=${shown.length > 1 ? each.label : ""} release=${each.release} />`)}
        <${Riskiest} key=${`riskiest ${ids}`} release=${shown[0].release} />
        <div class="sides equal">
          <${Beside} caption=${t("risk.suda")} first=${t("roles.column")} shown=${shown} rows=${specialRows(all)} about=${t("risk.suda.about")} how="suda" code=${code("suda.attribute_contributions")} />
          ${all[1].population_uniques ? html`<${Beside} caption=${t("risk.unique.population")} first=${t("risk.model")} shown=${shown} rows=${populationRows(all)} about=${t("risk.unique.about")} how="population" code=${code("population_uniques")} />` : html`<p class="card quiet">${t("risk.population.ask")}</p>`}
          ${all[0].individual ? html`<${Beside} caption=${t("risk.individual")} first=${t("risk.figure")} shown=${shown} rows=${individualRows(all)} about=${t("risk.individual.about")} how="individual" code=${[`print(veil.risk.individual_risk(${tableName()}, ${listed(quasi)}, ${[["weights", asked.weights], ["household", asked.household]].filter(([, value]) => value).map(([name, value]) => `${name}=${JSON.stringify(value)}`).join(", ")}, untouched=True).to_dict())`]} />` : null}
        </div>`
      : null}`;
}
