// Promises: what must hold, and how much may be lost.

import { ask, attempt, catalogue, change, columnsOf, get, run, running, state, stop } from "../server.js";
import { go, Heading, html, Info, NotYet, number, percent, Problem, Running, t, under, useEffect, useState } from "../parts.js";

/** The models of a preset for the columns of this table: those of sensitive values once for each sensitive column. */
const modelsOf = (preset) => [
  ...preset.models,
  ...columnsOf("sensitive").flatMap((attribute) => preset.sensitive_models.map((model) => ({ ...model, attribute }))),
];

function Field({ parameter, value, onChange }) {
  const { name, schema } = parameter;
  const label = html`<span title=${parameter.about}>${name.replaceAll("_", " ")}</span>`;
  if (name === "attribute") {
    return html`<label>${label} <select value=${value ?? ""} onChange=${(event) => onChange(event.target.value)}>
      ${value && columnsOf("sensitive").includes(value) ? null : html`<option value="">…</option>`}
      ${columnsOf("sensitive").map((each) => html`<option value=${each}>${each}</option>`)}</select></label>`;
  }
  if (schema.enum) return html`<label>${label} <select value=${value ?? schema.default} onChange=${(event) => onChange(event.target.value)}>${schema.enum.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>`;
  if (name === "epsilon" || name === "delta") return html`<label>${label} <input size="8" value=${value ?? ""} onChange=${(event) => onChange(event.target.value === "" ? undefined : Number.isFinite(Number(event.target.value)) ? Number(event.target.value) : event.target.value)} /></label>`;
  if (schema.type === "integer" || schema.type === "number") {
    return html`<label>${label} <input type="number" step=${schema.type === "integer" ? 1 : "any"} min=${schema.minimum ?? schema.exclusiveMinimum} max=${schema.maximum ?? schema.exclusiveMaximum}
      value=${value ?? schema.default ?? ""} onChange=${(event) => onChange(event.target.value === "" ? undefined : Number(event.target.value))} /></label>`;
  }
  return null;
}

function Line({ model, index, models, strengths }) {
  const declared = (state.catalogues.models ?? []).find((each) => each.kind === model.kind);
  if (!declared) return null;
  const set = (name, value) => {
    const made = { ...model, [name]: value };
    if (value === undefined) delete made[name];
    attempt(() => change(`${model.kind}: ${name} ${value ?? ""}`, { models: models.map((each, at) => (at === index ? made : each)), preset: null }));
  };
  const remove = () => attempt(() => change(t("promises.removed", { model: model.kind }), { models: models.filter((_, at) => at !== index), preset: null }));
  const now = strengths.filter((each) => each.model === model.kind && (!each.attribute || each.attribute === model.attribute));
  return html`<li class="promise">
    <b>${words(model.kind)}</b> <${Info} title=${words(model.kind)} text=${declared.about} attacks=${declared.attacks} place=${declared.help} />
    ${declared.parameters.filter((each) => each.required || ["k", "l", "t", "distance", "beta", "delta", "threshold", "epsilon", "average", "highest", "at_risk", "alpha", "c", "m"].includes(each.name)).map((each) => html`<${Field} key=${each.name} parameter=${each} value=${model[each.name]} onChange=${(value) => set(each.name, value)} />`)}
    <button class="icon" aria-label=${`${t("remove")} ${model.kind}`} onClick=${remove}>×</button>
    <p class="quiet">${declared.definition} ${declared.attacks?.length ? t("promises.against", { attacks: declared.attacks.map((each) => t(`attack.${each}`)).join(", ") }) : ""}
      ${now.length ? html` <span class="now">${t("promises.now", { found: now[0].said })}</span>` : null}</p>
  </li>`;
}

/** A name of a model as people write it: KAnonymity, k-anonymity. */
const words = (kind) => state.words[`model.${kind}`] ?? kind;

const START = { k: 5, l: 2, t: 0.3, c: 3, beta: 1, delta: 1, threshold: 0.05, alpha: 0.5, m: 2, epsilon: 1, average: 0.05 };
const STARTS = { SafePub: { delta: 1e-6 } };

/** The budget of differential privacy: said once for a table, and spent by each release. */
function Budget() {
  const [told, setTold] = useState(null);
  const [asked, setAsked] = useState({ epsilon: 2, delta: 0.00001 });
  const id = state.table.id;
  useEffect(() => { get(`/tables/${id}/budget`).then(setTold, () => {}); }, [id, state.release?.id]);
  if (!told) return null;
  return html`<section class="card budget"><h2>${t("budget")}</h2><p class="quiet">${t("budget.about")}</p>
    ${told.budget
      ? html`<ul class="figures"><li>${t("budget.whole")} <b>${told.budget}</b></li><li>${t("budget.left")} <b>${told.remaining}</b></li></ul>
          <ul>${told.ledger.map((each) => html`<li lang="en">${each.label}: epsilon = ${each.epsilon}, delta = ${each.delta}</li>`)}</ul>`
      : html`<p class="row">${["epsilon", "delta"].map((name) => html`<label>${name} <input type="number" step="any" min="0" value=${asked[name]} onChange=${(event) => setAsked({ ...asked, [name]: Number(event.target.value) })} /></label>`)}
          <button onClick=${() => attempt(async () => setTold(await ask("PUT", `/tables/${id}/budget`, asked)))}>${t("budget.set")}</button></p>`}
  </section>`;
}

function Add({ models }) {
  const declared = (state.catalogues.models ?? []).filter((each) => each.parameters.filter((one) => one.required).every((one) => one.name === "attribute" || one.name in START));
  const groups = new Map();
  for (const each of declared) {
    const attack = each.attacks?.[0] ?? "other";
    groups.set(attack, [...(groups.get(attack) ?? []), each]);
  }
  const add = (kind) => {
    const model = { kind };
    for (const each of declared.find((one) => one.kind === kind).parameters) {
      if (each.required) model[each.name] = each.name === "attribute" ? columnsOf("sensitive")[0] : (STARTS[kind]?.[each.name] ?? START[each.name]);
    }
    if ("attribute" in model && !model.attribute) return attempt(async () => { throw new Error(t("promises.nosensitive")); });
    return attempt(() => change(t("promises.added", { model: kind }), { models: [...models, model], preset: null }));
  };
  return html`<label>${t("promises.add")} <select value="" onChange=${(event) => { add(event.target.value); event.target.value = ""; }}>
    <option value="">…</option>
    ${[...groups].map(([attack, each]) => html`<optgroup label=${t(`attack.${attack}`)}>${each.map((one) => html`<option value=${one.kind}>${words(one.kind)}</option>`)}</optgroup>`)}
  </select></label>`;
}

/** What other values of k would cost: a search of two seconds at most for each. */
function Estimate({ draft }) {
  const [found, setFound] = useState(null);
  const now = draft.models.find((model) => model.kind === "KAnonymity")?.k;
  useEffect(() => setFound(null), [state.plan.version]);
  if (!now || state.plan.problem || state.plan.missing.length || state.table.engine) return null;
  const go_ = () => attempt(async () => setFound((await run("/frontier", { k: [...new Set([2, 3, 5, 10, 20, 50, now])].filter((k) => k <= state.table.rows) })).frontier));
  return html`<section class="card estimate"><h2>${t("estimate")}</h2><p class="quiet">${t("estimate.about")}</p>
    <p class="row"><button onClick=${go_} disabled=${running("estimate").length > 0}>${t("estimate.go")}</button></p>
    <${Running} job=${running("estimate")[0]} onStop=${stop} />
    ${found ? html`<table class="plain"><thead><tr><th scope="col">k</th><th scope="col">${t("estimate.left")}</th><th scope="col">${t("bar.suppressed")}</th><th scope="col">${t("risk.average")}</th></tr></thead>
      <tbody>${found.points.map((each) => html`<tr class=${each.parameters["KAnonymity.k"] === now ? "chosen" : ""}><th scope="row">${each.parameters["KAnonymity.k"]}${each.parameters["KAnonymity.k"] === now ? ` · ${t("explore.chosen")}` : ""}</th>
        ${each.problem ? html`<td colspan="3">✗ ${t("explore.impossible")}</td>` : html`<td>${percent(each.utilities.granularity)}</td><td>${percent(1 - each.utilities.released)}</td><td>${percent(each.risks.average)}</td>`}</tr>`)}</tbody></table>` : null}</section>`;
}

/** How much each column matters, and whether to lose detail or records first: parameters of information loss. */
function Matters({ draft, quasi }) {
  const quality = typeof draft.quality === "string" ? { kind: "Loss" } : draft.quality;
  if (draft.quality !== "loss" && quality.kind !== "Loss") return null;
  const put = (words, made) => attempt(() => change(words, { quality: { ...quality, kind: "Loss", ...made } }));
  const weights = quality.weights ?? {};
  return html`<fieldset><legend>${t("matters.weights")}</legend><p class="quiet">${t("matters.about")}</p>
      ${quasi.map((name) => html`<label class="slider"><span>${name}</span> <input type="range" min="0" max="1" step="0.1" value=${under(weights, name) ?? 0.5} onChange=${(event) => put(t("matters.changed", { column: name, value: event.target.value }), { weights: { ...weights, [name]: Number(event.target.value) } })} /> <output>${number(under(weights, name) ?? 0.5, 1)}</output></label>`)}</fieldset>
    <label class="slider"><span>${t("matters.factor")}</span> <input type="range" min="0" max="1" step="0.05" value=${1 - (quality.factor ?? 0.5)} onChange=${(event) => put(t("matters.factor"), { factor: 1 - Number(event.target.value) })} /></label>`;
}

export default function Promises() {
  const [found, setFound] = useState(null);
  useEffect(() => { for (const name of ["models", "presets", "qualities"]) catalogue(name); }, []);
  const quasi = columnsOf("quasi-identifying");
  const sensitive = columnsOf("sensitive");
  const person = state.plan?.draft.person;
  useEffect(() => {
    let wanted = true;
    if (quasi.length) {
      run("/assess", { table: state.table.id, quasi_identifiers: quasi, sensitive, person: person === "ask" ? null : person }).then((told) => wanted && setFound(told.assessment), () => {});
    }
    return () => { wanted = false; };
  }, [state.table?.id, quasi.join("\n"), sensitive.join("\n"), person]);
  if (!quasi.length) return html`<${Heading}>${t("step.promises")}<//><${NotYet} step=${state.table ? "roles" : "table"}>${t(state.table ? "missing.no quasi-identifier" : "missing.no table")}<//>`;
  const draft = state.plan.draft;
  const presets = state.catalogues.presets ?? [];
  const start = (preset) =>
    attempt(() => change(t("promises.preset", { preset: t(`preset.${preset.name}`) }), { models: modelsOf(preset), suppression_limit: preset.suppression_limit, preset: preset.name }));
  const chosen = presets.find((each) => each.name === draft.preset);
  const limit = (value) => attempt(() => change(t("promises.limit", { share: percent(value) }), { suppression_limit: value }));
  return html`<${Heading} intro=${t("intro.promises")}>${t("step.promises")}<//>
    <div class="sides equal">
      <section class="card"><fieldset><legend>${t("promises.start")}</legend>
        ${presets.map((preset) => html`<label class="choice"><input type="radio" name="preset" checked=${draft.preset === preset.name} onChange=${() => start(preset)} /> <b>${t(`preset.${preset.name}`)}</b> <span class="quiet">${t(`preset.about.${preset.name}`)}</span></label>`)}
      </fieldset>
      ${chosen ? html`<details><summary>${t("promises.sources")}</summary><dl>${chosen.sources.map((each) => html`<dt>${each.number}</dt><dd lang="en">${each.why}</dd>`)}</dl></details>` : null}</section>
      <section class="card"><h2>${t("promises.fulfils")}</h2>
        <${Running} job=${running("assess")[0]} onStop=${stop} />
        ${found ? html`<ul class="figures">
          <li>${t("promises.smallest")} <b>${Math.round(1 / (found.risk.highest || 1))}</b></li>
          <li>${t("bar.unique")} <b>${percent(found.risk.uniques)}</b></li>
          ${found.strengths.filter((each) => ["TCloseness", "DistinctLDiversity"].includes(each.model)).slice(0, 4).map((each) => html`<li>${words(each.model)} ${each.attribute} <b>${each.said}</b></li>`)}
        </ul>` : html`<p class="quiet">…</p>`}</section>
    </div>
    <section class="card"><h2>${t("promises.list")}</h2>
      <ul class="promises">${draft.models.map((model, index) => html`<${Line} key=${index} model=${model} index=${index} models=${draft.models} strengths=${found?.strengths ?? []} />`)}</ul>
      ${draft.models.length ? null : html`<p>${t("missing.no promise")}</p>`}
      <${Add} models=${draft.models} />
    </section>
    ${draft.models.some((model) => model.kind === "SafePub") ? html`<${Budget} />` : null}
    <div class="sides equal">
      <section class="card"><h2>${t("promises.loss")}</h2>
        <p><label>${t("promises.suppressed")} <input type="range" min="0" max="0.5" step="0.01" value=${draft.suppression_limit} onChange=${(event) => limit(Number(event.target.value))} /> <output>${percent(draft.suppression_limit)}</output></label></p>
        <p><label>${t("promises.rows")} <select value=${draft.suppressed_rows} onChange=${(event) => attempt(() => change(t("promises.rows"), { suppressed_rows: event.target.value }))}>
          ${["blank", "drop"].map((each) => html`<option value=${each}>${t(`suppressed.${each}`)}</option>`)}</select></label></p>
      </section>
      <section class="card"><h2>${t("promises.matters")}</h2>
        <p><label>${t("promises.quality")} <select value=${typeof draft.quality === "string" ? draft.quality : draft.quality.kind.toLowerCase()} onChange=${(event) => attempt(() => change(`${t("promises.quality")}: ${event.target.value}`, { quality: event.target.value }))}>
          ${["loss", "average_class_size", "discernibility", "ambiguity", "precision", "height"].map((each) => html`<option value=${each}>${t(`quality.${each}`)}</option>`)}</select></label></p>
        <${Matters} draft=${draft} quasi=${quasi} />
      </section>
    </div>
    <${Estimate} draft=${draft} />
    <${Problem} message=${state.plan.problem} />
    ${state.plan.missing.length ? html`<p class="quiet">${state.plan.missing.map((each) => t(`missing.${each.what}`, { columns: each.columns })).join(" ")}</p>` : state.plan.problem ? null : html`<p><button class="primary" onClick=${() => go("search")}>${t("next")} ${t("step.search")}</button></p>`}`;
}
