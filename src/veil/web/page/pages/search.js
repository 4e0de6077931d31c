// Search: run it, see it improve, stop it.

import { attempt, catalogue, change, columnsOf, loadRelease, run, running, state, stop } from "../server.js";
import { go, Heading, html, Info, NotYet, number, percent, Problem, Running, t, Typed, under, useEffect, useState } from "../parts.js";
import { hasStrategy, kindOf, lossOf, Proven, Recoding } from "./recoding.js";
import { Ways } from "./ways.js";

function Sentence() {
  const release = state.release;
  const search = release.search;
  if (state.release.steps?.length) return html`<p class="verdict"><b>${t("search.masked", { number: state.release.steps.length })}</b></p>`;
  if (release.recoding) return html`<${Proven} release=${release} />`;
  if (!search) return html`<p class="verdict">${t("search.local", { share: percent(release.suppressed / Math.max(1, release.records)) })}</p>`;
  const how = search.ending === "cancelled" ? "search.stopped" : search.proven_optimal ? "search.proven" : search.gap === null ? "search.found" : "search.gap";
  return html`<p class="verdict"><b>${t(search.is_optimum ? how : "search.other", { gap: percent(search.gap) })}</b>${" "}
    ${t(search.proven_optimal ? "search.seen.all" : "search.seen", { number: number(search.evaluated), size: number(search.size) })}
    ${search.ending === "time limit" ? ` ${t("search.time")}` : ""}</p>`;
}

/** Quality over time, with the proven bound as the lower line; a text says the same. */
function Curve({ curve, live }) {
  const known = curve.filter(([, best]) => best !== null);
  if (!known.length) return null;
  const begin = curve[0][0], end = Math.max(curve.at(-1)[0], begin + 0.001);
  const scores = curve.flatMap(([, best, bound]) => [best, bound]).filter((each) => each !== null);
  const most = Math.max(...scores) || 1, least = Math.min(...scores, most * 0.9);
  const x = (seconds) => 40 + ((seconds - begin) / (end - begin)) * 340;
  const y = (score) => 104 - ((score - least) / (most - least || 1)) * 90;
  const steps = (at) => curve.filter((each) => each[at] !== null).flatMap((each, index, all) => [...(index ? [[each[0], all[index - 1][at]]] : []), [each[0], each[at]]]).concat([[end, curve.findLast((each) => each[at] !== null)?.[at]]]).filter((each) => each[1] !== undefined);
  const line = (at) => steps(at).map(([seconds, score]) => `${x(seconds).toFixed(1)},${y(score).toFixed(1)}`).join(" ");
  const last = known.at(-1), bound = curve.at(-1)[2] ?? null;
  const said = t(bound === null ? "search.curve" : "search.curve.bound", { first: number(known[0][1], 3), last: number(last[1], 3), seconds: number(end - begin, 2), bound: number(bound, 3) });
  return html`<figure class="quality"><svg class="curve" viewBox="0 0 390 124" role="img" aria-label=${said}>
      <text x="36" y="18" text-anchor="end">${number(most, 2)}</text><text x="36" y="108" text-anchor="end">${number(least, 2)}</text><text x="380" y="120" text-anchor="end">${number(end - begin, 2)} s</text>
      <polyline class="lower" points=${line(2)} /><polyline points=${line(1)} /></svg>
    <figcaption class="quiet">${said}${live && bound !== null && last[1] > 0 ? `. ${t("search.atmost", { gap: percent(Math.max(0, 1 - bound / last[1])) })}` : ""}</figcaption></figure>`;
}

/** A curve that goes on, as far as its task has come. */
const untilNow = (task) => [...task.curve, [task.elapsed, ...task.curve.at(-1).slice(1)]];

/** The curve of the search that made a release: with its bound, if this page has seen it. */
function curveOf(release) {
  const task = [...state.tasks.values()].find((each) => each.result?.release === release.id && each.curve?.length);
  if (task) return release.recoding ? untilNow(task) : task.curve; // which uses all of the time it has
  return (release.search ?? release.recoding).curve.map(([seconds, , score]) => [seconds, score, null]);
}

/** A search while it runs. */
function Live({ task }) {
  if (!task?.curve?.length) return null;
  return html`<${Curve} curve=${untilNow(task)} live=${true} />`;
}

function Levels() {
  const search = state.release.search;
  if (!search) return null;
  return html`<table class="plain"><caption>${t("search.levels")}</caption>
    <thead><tr><th scope="col">${t("roles.column")}</th><th scope="col">${t("search.level")}</th></tr></thead>
    <tbody>${Object.entries(search.transformation).map(([column, level]) => html`<tr><th scope="row">${column}</th><td>${level} <span class="quiet">${t("search.of", { top: search.levels[column].length - 1 })}</span> · ${search.level_names[column]}</td></tr>`)}</tbody></table>`;
}

/** Nothing fulfils all promises: what to relax, the cheapest first. What gives up detail stands before what gives up protection. */
function Relax({ ways, onTake }) {
  if (!ways) return null;
  const said = (each) =>
    t(`relax.${each.kind}`, {
      name: each.kind === "promise" || each.kind === "without" ? (state.words[`model.${each.name}`] ?? each.name) : each.name,
      parameter: each.parameter,
      before: each.kind === "suppression" ? percent(each.before) : number(each.before, 3),
      after: each.kind === "suppression" ? percent(each.after) : number(each.after, 3),
    });
  const group = (title, about, listed) =>
    listed.length
      ? html`<h3>${t(title)}</h3><p class="quiet">${t(about)}</p>
          <ul class="concerns">${listed.map((each) => html`<li><span>${said(each)}${each.proven ? "" : ` ${t("relax.unproven")}`}</span><button onClick=${() => onTake(each, said(each))}>${t("relax.take")}</button></li>`)}</ul>`
      : null;
  return html`<section class="card relax" aria-label=${t("relax")}><h2>${t("relax")}</h2>
    ${ways.length ? null : html`<p>${t("relax.none")}</p>`}
    ${group("relax.detail", "relax.detail.about", ways.filter((each) => each.keeps_promises))}
    ${group("relax.protection", "relax.protection.about", ways.filter((each) => !each.keeps_promises))}
  </section>`;
}

/** Masking methods that a page can ask for: those whose parameters are columns, numbers and choices. */
const COLUMNS = ["columns", "column", "confidential", "attribute", "person"];
const START = { k: 5, l: 2, p: 10, share: 0.2, alpha: 0.1, base: 10, days: 30, t: 0.3, m: 2, fraction: 0.5, probability: 0.5, retention: 0.8, although_values_can_be_guessed: null };
const offered = (declared) =>
  declared.parameters.every((each) => !each.required || COLUMNS.includes(each.name) || each.name === "quasi_identifiers" || each.name === "models" || (each.name in START && START[each.name] !== null));

function Step({ step, at }) {
  const draft = state.plan.draft;
  const declared = (state.catalogues.masks ?? []).find((each) => each.kind === step.kind);
  const put = (words, changed) => attempt(() => change(words, (now) => ({ masks: changed(now.masks) })));
  const set = (name, value) => {
    const changed = (each) => {
      const made = { ...each, [name]: typeof value === "function" ? value(each[name] ?? []) : value };
      if (value === undefined) delete made[name];
      return made;
    };
    put(`${step.kind}: ${name}`, (masks) => masks.map((each, index) => (index === at ? changed(each) : each)));
  };
  const remove = () => put(`${t("remove")} ${step.kind}`, (masks) => masks.filter((_, index) => index !== at));
  const kept = state.table.columns.filter((name) => !["identifying", "drop"].includes(under(draft.roles, name)) || name === draft.person);
  const shown = (declared?.parameters ?? []).filter((each) => COLUMNS.includes(each.name) || (each.required && each.name in START) || each.name in step);
  return html`<li class="promise"><b>${step.kind}</b> <${Info} title=${step.kind} paragraphs=${declared?.paragraphs ?? []} />
    <button class="icon" aria-label=${`${t("remove")} ${step.kind}`} onClick=${remove}>×</button>
    <p class="quiet" lang=${declared?.paragraphs[0].language}>${declared?.paragraphs[0].text}</p>
    <p class="row">${shown.map((each) => {
      const value = step[each.name];
      if (each.name === "columns") {
        return html`<fieldset><legend>${t("search.columns")}</legend>${kept.map((name) => html`<label class="inline"><input type="checkbox" checked=${(value ?? []).includes(name)} onChange=${(event) => { const on = event.target.checked; set("columns", (now) => (on ? [...now, name] : now.filter((one) => one !== name))); }} /> ${name}</label>`)}</fieldset>`;
      }
      if (COLUMNS.includes(each.name)) {
        return html`<label>${each.name} <select value=${value ?? ""} onChange=${(event) => set(each.name, event.target.value || undefined)}><option value="">…</option>${kept.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>`;
      }
      if (each.schema.enum) return html`<label>${each.name} <select value=${value} onChange=${(event) => set(each.name, event.target.value)}>${each.schema.enum.map((one) => html`<option value=${one}>${one}</option>`)}</select></label>`;
      if (typeof value === "number") return html`<label>${each.name} <${Typed} type="number" step="any" value=${value} title=${each.about} onTake=${(text) => set(each.name, Number(text))} /></label>`;
      return null;
    })}</p></li>`;
}

/** Masking methods, one after the other: a way without a search. */
function Masks() {
  useEffect(() => { catalogue("masks"); }, []);
  const draft = state.plan.draft;
  const declared = (state.catalogues.masks ?? []).filter(offered);
  const add = (kind) => {
    const step = { kind };
    for (const each of declared.find((one) => one.kind === kind).parameters) {
      if (each.name === "quasi_identifiers" && each.required) step.quasi_identifiers = columnsOf("quasi-identifying");
      else if (each.name === "models" && each.required) step.models = draft.models.length ? draft.models : [{ kind: "KAnonymity", k: 5 }];
      else if (each.name === "columns") step.columns = columnsOf("quasi-identifying").filter((name) => ["integer", "decimal", "float"].includes(state.profile.columns.find((one) => one.name === name)?.type)).slice(0, 1);
      else if (COLUMNS.includes(each.name) && each.required) step[each.name] = each.name === "person" ? (draft.person && draft.person !== "ask" ? draft.person : columnsOf("quasi-identifying")[0]) : (columnsOf("sensitive")[0] ?? columnsOf("quasi-identifying")[0]);
      else if (each.required && each.name in START) step[each.name] = START[each.name];
    }
    if (!declared.find((one) => one.kind === kind).parameters.some((each) => each.required) && kind === "RandomSampling") step.fraction = START.fraction;
    return attempt(() => change(`${t("search.method")}: ${kind}`, (now) => ({ masks: [...now.masks, step] })));
  };
  return html`<p class="quiet">${t("search.masks.about")}</p>
    <ul class="promises">${draft.masks.map((step, at) => html`<${Step} key=${`${step.kind}${at}`} step=${step} at=${at} />`)}</ul>
    <label>${t("search.method")} <select value="" onChange=${(event) => { if (event.target.value) add(event.target.value); event.target.value = ""; }}><option value="">…</option>
      ${declared.map((each) => html`<option value=${each.kind}>${each.kind}</option>`)}</select></label>`;
}

/** What masking methods did, each in its own words. */
function Steps() {
  const steps = state.release.steps ?? [];
  if (!steps.length) return null;
  return html`<div>${steps.map((each) => html`<pre class="step" lang="en">${each.said}</pre>`)}</div>`;
}

/** When the search ends: what the time limit means for the way that is chosen. */
function Ending({ draft }) {
  const strategy = typeof draft.strategy === "string" ? draft.strategy : draft.strategy.kind;
  const kind = kindOf(draft);
  const about = kind === "FullDomain" ? (strategy === "Optimal" && draft.time_limit === null ? "unlimited" : "strategy") : hasStrategy(draft) ? "passes" : "rows";
  return html`<p class="row"><label>${t("search.limit")} <${Typed} type="number" min="1" max="86400" value=${draft.time_limit ?? ""} placeholder=${about === "unlimited" ? "∞" : "30"} onTake=${(text) => attempt(() => change(`${t("search.limit")} ${text}`, { time_limit: text ? Number(text) : null }))} /> s</label>
    <span class="quiet">${t(`search.limit.${about}`)}</span></p>`;
}

const Back = () => html`<p class="row">${["promises", "levels"].map((step) => html`<button onClick=${() => go(step)}>${t("goto")} ${t(`step.${step}`)}</button>`)}</p>`;

export default function Search() {
  const [problem, setProblem] = useState(null);
  const [ways, setWays] = useState(null);
  const [none, setNone] = useState(false);
  useEffect(() => { catalogue("strategies"); }, []);
  const missing = (state.plan?.missing ?? []).filter((each) => each.step !== "search");
  if (missing.length) {
    const [first] = missing;
    return html`<${Heading}>${t("step.search")}<//><${NotYet} step=${first.step}>${t(`missing.${first.what}`, { columns: first.columns })}<//>`;
  }
  const draft = state.plan.draft;
  const isPrivate = draft.models.some((model) => model.kind === "SafePub");
  const task = running("anonymize")[0];
  const anonymize = async () => {
    setProblem(null);
    setWays(null);
    setNone(false);
    try {
      const { release } = await run("/releases", {});
      await loadRelease(release);
    } catch (error) {
      setProblem(error.problem?.type === "Cancelled" ? t("search.nothing") : error.message);
      setNone(error.problem?.type === "NoSolutionError");
      if (error.problem?.type === "NoSolutionError") await run("/releases/relax", {}).then((told) => setWays(told.relaxations), () => {});
    }
  };
  const take = async (way, words) => {
    await attempt(() => change(words, way.set));
    await anonymize();
  };
  const set = (words, changes) => attempt(() => change(words, changes));
  return html`<${Heading} intro=${t("intro.search")}>${t("step.search")}<//>
    <section class="card">
      <fieldset class="row"><legend class="hidden">${t("search.way")}</legend>
        ${["search", "masks"].map((way) => html`<label><input type="radio" name="way" checked=${draft.way === way} onChange=${() => set(t(`search.way.${way}`), { way })} /> ${t(`search.way.${way}`)}</label>`)}</fieldset>
      ${draft.way === "masks"
        ? html`<${Masks} />`
        : isPrivate
        ? html`<p class="quiet">${t("search.private")}</p>${kindOf(draft) === "FullDomain" ? null : html`<${Recoding} />`}`
        : html`<${Recoding} />
      ${hasStrategy(draft) ? html`<p class="row"><label>${t("search.strategy")} <select value=${typeof draft.strategy === "string" ? draft.strategy : draft.strategy.kind} onChange=${(event) => set(`${t("search.strategy")}: ${event.target.value}`, { strategy: event.target.value === "auto" ? "auto" : { kind: event.target.value } })}>
        <option value="auto">${t("search.auto")}</option>
        ${(state.catalogues.strategies ?? []).filter((each) => each.kind !== "Auto").map((each) => html`<option value=${each.kind} title=${each.definition}>${each.kind}</option>`)}</select></label></p>` : null}
      <${Ending} draft=${draft} />`}
    <${Problem} message=${state.plan.problem} />
    ${state.plan.problem && draft.way === "search" ? html`<${Back} />` : null}
    <p class="row"><button class="primary" disabled=${Boolean(task) || Boolean(state.plan.problem) || (draft.way === "masks" && !draft.masks.length)} onClick=${anonymize}>${t(draft.way === "masks" ? "search.mask" : "search.go")}</button></p>
    <${Running} task=${task} onStop=${stop} /><${Live} task=${task} /></section>
    ${problem && none ? html`<p class="card bad verdict"><b>${t("search.none")}</b></p>` : null}
    <${Problem} message=${problem} />
    <${Running} task=${running("relax")[0]} onStop=${stop} />
    <${Relax} ways=${ways} onTake=${take} />
    ${problem ? html`<${Back} />` : null}
    ${state.release && !task && !problem
      ? html`<section class=${`card ${state.release.outdated ? "stale" : ""}`} aria-live="polite">
          ${state.release.outdated ? html`<p class="problem">⟳ ${t("outdated")}</p>` : null}
          <${Sentence} />
          ${state.release.statement ? html`<p lang="en">${state.release.statement}</p>` : null}
          <${Steps} />
          <div class="sides equal">${state.release.search ? html`<${Levels} />` : null}<div>
            <ul class="figures">
              <li>${t("bar.lost")} <b>${percent(lossOf(state.release))}</b></li>
              <li>${t("bar.suppressed")} <b>${number(state.release.suppressed)} (${percent(state.release.suppressed / Math.max(1, state.release.records))})</b></li>
              <li>${t("search.classes")} <b>${number(state.release.classes)}</b></li>
              <li>${t("bar.highest")} <b>${percent(state.release.risk.after.highest)}</b></li>
            </ul>
            ${state.release.search ? html`<${Curve} curve=${curveOf(state.release)} />` : null}
          </div>${state.release.recoding ? html`<${Curve} curve=${curveOf(state.release)} />` : null}</div>
          <p class="row"><button class="primary" onClick=${() => go("release")}>${t("next")} ${t("step.release")}</button>
            <button onClick=${() => go("explore")}>${t("step.explore")}</button> <button onClick=${() => go("risk")}>${t("step.risk")}</button> <button onClick=${() => go("use")}>${t("step.use")}</button></p>
        </section>`
      : null}
    ${isPrivate ? null : html`<${Ways} />`}`;
}
