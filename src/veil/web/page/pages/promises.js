// Promises: what must hold, and how much may be lost.

import { ask, attempt, catalogue, change, columnsOf, follow, get, run, running, state, stop, whom } from "../server.js";
import { go, Heading, html, Info, NotYet, number, percent, Problem, Running, t, Typed, under, useEffect, useState } from "../parts.js";

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
  if (name === "population") {
    const read = (text) => (text === "" ? undefined : /^\d+$/.test(text) ? Number(text) : text);
    return html`<label>${label} <${Typed} list="regions-of-promises" value=${typeof value === "object" ? value?.region ?? value?.size ?? "" : value ?? ""} onTake=${(text) => onChange(read(text.trim()))} />
      <datalist id="regions-of-promises">${REGIONS.map((each) => html`<option value=${each}></option>`)}</datalist></label>`;
  }
  if (name === "subset") {
    return html`<label>${label} <${Typed} size="28" placeholder="age >= 30 and sex = 'f'" value=${typeof value === "object" ? value?.query ?? "" : value ?? ""} onTake=${(text) => onChange(text.trim() || undefined)} /></label>`;
  }
  if (schema.type === "boolean") return html`<label><input type="checkbox" checked=${value ?? schema.default ?? false} onChange=${(event) => onChange(event.target.checked)} /> ${label}</label>`;
  if (schema.enum) return html`<label>${label} <select value=${value ?? schema.default} onChange=${(event) => onChange(event.target.value)}>${schema.enum.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>`;
  if (name === "epsilon" || name === "delta") return html`<label>${label} <${Typed} size="8" value=${value ?? ""} onTake=${(text) => onChange(text === "" ? undefined : Number.isFinite(Number(text)) ? Number(text) : text)} /></label>`;
  if (schema.type === "integer" || schema.type === "number") {
    return html`<label>${label} <${Typed} type="number" step=${schema.type === "integer" ? 1 : "any"} min=${schema.minimum ?? schema.exclusiveMinimum} max=${schema.maximum ?? schema.exclusiveMaximum}
      value=${value ?? schema.default ?? ""} onTake=${(text) => onChange(text === "" ? undefined : Number(text))} /></label>`;
  }
  return null;
}

const REGIONS = ["Europe", "European Union", "Germany", "France", "UK", "USA", "Canada", "Brazil", "India", "China (PRC)", "Australia", "Africa", "North America", "South America"];

/** What is asked beside what has to be: population, subset, costs and benefits only where a promise reads them. */
const ASKED = ["k", "l", "t", "distance", "beta", "delta", "threshold", "epsilon", "average", "highest", "at_risk", "alpha", "c", "m", "minimum", "maximum", "population", "subset", "attacker", "no_attack", "benefit", "publisher_loss", "adversary_gain", "cost", "enhanced"];

/** How a promise stands: kept already, implied by others, impossible. */
function Standing({ told }) {
  if (!told) return null;
  const { finding, follows, impossible } = told;
  const why = follows.length ? follows.filter((each) => each.why !== "the same model with a weaker parameter") : [];
  return html`${impossible ? html`<p class="standing bad">✗ ${t("promises.impossible")} <span lang="en">${impossible}</span></p>` : null}
    ${finding.checked ? html`<p class=${`standing ${finding.holds ? "good" : ""}`}>${finding.holds ? `✓ ${t("promises.kept")}` : `○ ${t("promises.notkept")}`} <span lang="en">${finding.measured}</span></p>` : null}
    ${follows.length ? html`<p class="standing">⊂ ${t("promises.implied", { from: [...new Set(follows[0].from)].map(plain).join(", ") })} ${why.length ? html`<span class="quiet" lang="en">${why.map((each) => each.why).join(" ")}</span>` : null}</p>` : null}`;
}

/** A model as its own text, KAnonymity(k=5), in the words of the page. */
const plain = (text) => text.replace(/^(\w+)\((.*)\)$/, (_, kind, inside) => `${words(kind)} (${inside.replace(/attribute='([^']*)'(, )?/, "$1$2").replaceAll("=", " = ")})`);

function Line({ model, index, models, told }) {
  const declared = (state.catalogues.models ?? []).find((each) => each.kind === model.kind);
  if (!declared) return null;
  const set = (name, value) => {
    const changed = (each) => {
      const made = { ...each, [name]: value };
      if (value === undefined) delete made[name];
      return made;
    };
    attempt(() => change(`${model.kind}: ${name} ${value ?? ""}`, (draft) => ({ models: draft.models.map((each, at) => (at === index ? changed(each) : each)), preset: null })));
  };
  const keep = (wanted) => attempt(() => change(t("promises.removed", { model: model.kind }), (draft) => ({ models: draft.models.filter(wanted), preset: null })));
  const alike = models.filter((each) => each.kind === model.kind).length;
  const again = models[index - 1]?.kind === model.kind; // a survey has one line for each answer: explained once
  return html`<li class=${again ? "promise again" : "promise"}>
    <b>${words(model.kind)}</b> <${Info} title=${words(model.kind)} paragraphs=${declared.paragraphs} attacks=${declared.attacks} place=${declared.help} />
    ${declared.parameters.filter((each) => each.required || ASKED.includes(each.name)).map((each) => html`<${Field} key=${each.name} parameter=${each} value=${model[each.name]} onChange=${(value) => set(each.name, value)} />`)}
    <button class="icon" aria-label=${`${t("remove")} ${model.kind}`} onClick=${() => keep((_, at) => at !== index)}>×</button>
    ${again || alike < 4 ? null : html`<button onClick=${() => keep((each) => each.kind !== model.kind)}>${t("promises.removeall", { number: number(alike) })}</button>`}
    ${again ? null : html`<p class="quiet"><span lang=${declared.paragraphs[0].language}>${declared.paragraphs[0].text}</span> ${declared.attacks?.length ? t("promises.against", { attacks: declared.attacks.map((each) => t(`attack.${each}`)).join(", ") }) : ""}</p>`}
    <${Standing} told=${told} />
  </li>`;
}

/** A name of a model as people write it: KAnonymity, k-anonymity. */
const words = (kind) => state.words[`model.${kind}`] ?? kind;

const START = { population: "Europe", minimum: 0, maximum: 0.5, k: 5, l: 2, t: 0.3, c: 3, beta: 1, delta: 1, threshold: 0.05, alpha: 0.5, m: 2, epsilon: 1, average: 0.05 };
const STARTS = { SafePub: { delta: 1e-6 }, RatioDistance: { t: 2 } };

/** The budget of differential privacy: said once for a table, and spent by each release. */
function Budget() {
  const [told, setTold] = useState(null);
  const [asked, setAsked] = useState({ epsilon: 2, delta: 0.00001 });
  const id = state.table.id;
  useEffect(() => { get(`/tables/${id}/budget`).then(setTold, () => {}); }, [id, state.release?.id]);
  const person = state.plan.draft.person;
  if (!told) return null;
  return html`<section class="card budget"><h2>${t("budget")}</h2><p class="quiet">${t("budget.about")}</p>
    ${person === "ask"
      ? html`<p>${t("budget.unit")} <button onClick=${() => attempt(() => change(t("person.rows"), { person: null }))}>${t("budget.each")}</button></p>`
      : html`<p>${person ? t("person.counted", { column: person }) : t("person.rows")}</p>`}
    ${told.budget
      ? html`<ul class="figures"><li>${t("budget.whole")} <b>${told.budget}</b></li><li>${t("budget.left")} <b>${told.remaining}</b></li></ul>
          <ul>${told.ledger.map((each) => html`<li lang="en">${each.label}: epsilon = ${each.epsilon}, delta = ${each.delta}</li>`)}</ul>`
      : html`<p class="row">${["epsilon", "delta"].map((name) => html`<label>${name} <${Typed} type="number" step="any" min="0" value=${asked[name]} onTake=${(text) => setAsked({ ...asked, [name]: Number(text) })} /></label>`)}
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
    return attempt(() => change(t("promises.added", { model: kind }), (draft) => ({ models: [...draft.models, model], preset: null })));
  };
  return html`<label>${t("promises.add")} <select value="" onChange=${(event) => { add(event.target.value); event.target.value = ""; }}>
    <option value="">…</option>
    ${[...groups].map(([attack, each]) => html`<optgroup label=${t(`attack.${attack}`)}>${each.map((one) => html`<option value=${one.kind}>${words(one.kind)}</option>`)}</optgroup>`)}
  </select></label>`;
}

/** Ask for something that takes a while, a moment after the last change; what nobody waits for any more is stopped. */
function later(path, body, moment, take) {
  let wanted = true, task = null;
  const timer = setTimeout(async () => {
    try {
      task = await ask("POST", path, body);
      const told = wanted ? await follow(task) : await stop(task);
      if (wanted) take(told);
    } catch {
      // refused or stopped: what was asked for is not shown
    }
  }, moment);
  return () => {
    wanted = false;
    clearTimeout(timer);
    if (task && state.tasks.get(task.id)?.state === "running") stop(task);
  };
}

/** Loss over k as a line, with the same figures in the table below. */
function Curve({ points, now }) {
  const known = points.filter((each) => !each.problem).map((each) => ({ k: each.parameters["KAnonymity.k"], lost: 1 - each.utilities.granularity }));
  if (known.length < 2) return null;
  const most = Math.max(0.05, ...known.map((each) => each.lost)), last = Math.max(...known.map((each) => each.k));
  const x = (k) => 50 + (430 * Math.log(k)) / Math.log(Math.max(2, last)), y = (lost) => 130 - (110 * lost) / most;
  return html`<svg class="curve wide" viewBox="0 0 500 165" role="img" aria-label=${t("estimate.curve")}>
    <line x1="50" y1="130" x2="490" y2="130" /><line x1="50" y1="15" x2="50" y2="130" />
    <text x="44" y="24" text-anchor="end">${percent(most, 0)}</text><text x="44" y="132" text-anchor="end">0</text>
    <polyline points=${known.map((each) => `${x(each.k)},${y(each.lost)}`).join(" ")} />
    ${known.map((each) => html`<circle cx=${x(each.k)} cy=${y(each.lost)} r=${each.k === now ? 6 : 3.5} class=${each.k === now ? "now" : ""} /><text x=${x(each.k)} y="148" text-anchor="middle">${each.k}</text>`)}
    <text x="270" y="163" text-anchor="middle">k</text></svg>`;
}

const TRIED = [2, 3, 5, 10, 20, 50];

/** What the plan would cost: searched for two seconds at most whenever it changes; other values of k on a click. */
function Estimate({ draft }) {
  const [found, setFound] = useState(null);
  const [open, setOpen] = useState(false);
  const now = draft.models.find((model) => model.kind === "KAnonymity")?.k;
  const ready = now && !state.plan.problem && !state.plan.missing.length && !state.table.engine && draft.way === "search" && now <= state.table.rows;
  useEffect(() => {
    setFound(null);
    if (!ready) return undefined;
    const k = open ? [...new Set([...TRIED, now])].filter((each) => each <= state.table.rows) : [now];
    return later("/frontier", { k }, 600, (told) => setFound(told.frontier.points));
  }, [state.plan.version, open, Boolean(ready)]);
  if (!ready) return null;
  const here = found?.find((each) => each.parameters["KAnonymity.k"] === now);
  return html`<section class="card estimate"><h2>${t("estimate")}</h2>
    <p class="sentence" role="status">${!here ? t("estimate.wait") : here.problem ? html`✗ ${t("explore.impossible")}` : t("estimate.said", { k: now, lost: percent(1 - here.utilities.granularity), suppressed: percent(1 - here.utilities.released) })}</p>
    <p class="quiet">${t("estimate.about")}</p>
    <${Running} task=${running("estimate")[0]} onStop=${stop} />
    <button aria-expanded=${open} onClick=${() => setOpen(!open)}>${t("estimate.go")}</button>
    ${open && found?.length > 1 ? html`<${Curve} points=${found} now=${now} /><table class="plain"><thead><tr><th scope="col">k</th><th scope="col">${t("bar.lost")}</th><th scope="col">${t("bar.suppressed")}</th><th scope="col">${t("risk.average")}</th></tr></thead>
      <tbody>${found.map((each) => html`<tr class=${each.parameters["KAnonymity.k"] === now ? "chosen" : ""}><th scope="row">${each.parameters["KAnonymity.k"]}${each.parameters["KAnonymity.k"] === now ? ` · ${t("explore.chosen")}` : ""}</th>
        ${each.problem ? html`<td colspan="3">✗ ${t("explore.impossible")}</td>` : html`<td>${percent(1 - each.utilities.granularity)}</td><td>${percent(1 - each.utilities.released)}</td><td>${percent(each.risks.average)}</td>`}</tr>`)}</tbody></table>` : null}</section>`;
}

/** How much each column matters, and whether to lose detail or records first: parameters of information loss. */
function Matters({ draft, quasi }) {
  const quality = typeof draft.quality === "string" ? { kind: "Loss" } : draft.quality;
  if (draft.quality !== "loss" && quality.kind !== "Loss") return null;
  const put = (words, changed) => attempt(() => change(words, (now) => {
    const before = typeof now.quality === "string" ? {} : now.quality;
    return { quality: { ...before, kind: "Loss", ...changed(before) } };
  }));
  const weights = quality.weights ?? {};
  return html`<fieldset><legend>${t("matters.weights")}</legend><p class="quiet">${t("matters.about")}</p>
      ${quasi.map((name) => html`<label class="slider"><span>${name}</span> <${Typed} type="range" min="0" max="1" step="0.1" value=${under(weights, name) ?? 0.5} onTake=${(text) => put(t("matters.changed", { column: name, value: text }), (before) => ({ weights: { ...before.weights, [name]: Number(text) } }))} /> <output>${number(under(weights, name) ?? 0.5, 1)}</output></label>`)}</fieldset>
    <label class="slider"><span>${t("matters.factor")}</span> <${Typed} type="range" min="0" max="1" step="0.05" value=${1 - (quality.factor ?? 0.5)} onTake=${(text) => put(t("matters.factor"), () => ({ factor: 1 - Number(text) }))} /></label>`;
}

export default function Promises() {
  const [found, setFound] = useState(null);
  const [standing, setStanding] = useState(null);
  useEffect(() => { for (const name of ["models", "presets", "qualities"]) catalogue(name); }, []);
  const quasi = columnsOf("quasi-identifying");
  const sensitive = columnsOf("sensitive");
  const person = whom();
  useEffect(() => {
    let wanted = true;
    if (quasi.length) {
      run("/assess", { table: state.table.id, quasi_identifiers: quasi, sensitive, person }).then((told) => wanted && setFound(told.assessment), () => {});
    }
    return () => { wanted = false; };
  }, [state.table?.id, quasi.join("\n"), sensitive.join("\n"), person]);
  const asked = JSON.stringify([quasi, state.plan?.draft.models, person, state.plan?.draft.knows, state.plan?.draft.way]);
  useEffect(() => {
    setStanding(null);
    const complete = state.plan?.draft.way === "search" && quasi.length && state.plan.draft.models.length && !state.plan.problem && !state.table.engine;
    return complete ? later("/plan/promises", {}, 300, (told) => setStanding(told.promises)) : undefined;
  }, [state.table?.id, asked, Boolean(state.plan?.problem)]);
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
        <${Running} task=${running("assess")[0]} onStop=${stop} />
        ${found ? html`<ul class="figures">
          <li>${t("promises.smallest")} <b>${Math.round(1 / (found.risk.highest || 1))}</b></li>
          <li>${t("bar.unique")} <b>${percent(found.risk.uniques)}</b></li>
          ${found.strengths.filter((each) => ["TCloseness", "DistinctLDiversity"].includes(each.model)).slice(0, 4).map((each) => html`<li>${words(each.model)} ${each.attribute} <b>${each.said}</b></li>`)}
        </ul>` : html`<p class="quiet">…</p>`}</section>
    </div>
    <section class="card"><h2>${t("promises.list")}</h2>
      <ul class="promises">${draft.models.map((model, index) => html`<${Line} key=${index} model=${model} index=${index} models=${draft.models} told=${standing?.[index]?.kind === model.kind ? standing[index] : null} />`)}</ul>
      ${draft.models.length ? null : html`<p>${t("missing.no promise")}</p>`}
      <${Add} models=${draft.models} />
    </section>
    ${draft.models.some((model) => model.kind === "SafePub") ? html`<${Budget} />` : null}
    <div class="sides equal">
      <section class="card"><h2>${t("promises.loss")}</h2>
        <p><label>${t("promises.suppressed")} <${Typed} type="range" min="0" max="0.5" step="0.01" value=${draft.suppression_limit} onTake=${(text) => limit(Number(text))} /> <output>${percent(draft.suppression_limit)}</output></label></p>
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
