// Attacks that are really tried, on people who are in the release and on people who were held out.

import { attempt, columnsOf, run, running, state, stop } from "../server.js";
import { html, number, percent, Running, Scrolling, t, useState } from "../parts.js";
import { How, listed } from "./beside.js";

const between = (rate) => t("attacks.interval", { low: percent(rate.low), high: percent(rate.high) });

/** One attack as a row: how often it works with people who are in the release, with others, and by guessing. */
function Tried({ attack }) {
  const name = attack.column === null ? t(`attacks.${attack.kind}`) : t("attacks.inference", { column: attack.column });
  return html`<tr class=${attack.is_seen ? "beyond" : ""}><th scope="row">${name}<p class="quiet">${t(`attacks.about.${attack.kind}`)}</p></th>
    ${["members", "outsiders", "naive"].map((side) => html`<td>${percent(attack[side].share)} <span class="quiet">${between(attack[side])}</span></td>`)}
    <td><b>${percent(attack.excess.value)}</b> <span class="quiet">${between(attack.excess)}</span></td>
    <td>${attack.is_seen ? `✗ ${t("attacks.seen")}` : `✓ ${t("attacks.unseen")}`}</td></tr>`;
}

/** Some of the columns that are offered. */
function Choice({ legend, chosen, set, offered }) {
  return html`<fieldset class="knows"><legend>${legend}</legend>
    ${offered.map((name) => html`<label class="inline"><input type="checkbox" checked=${chosen.includes(name)} onChange=${(event) => set(event.target.checked ? [...chosen, name] : chosen.filter((each) => each !== name))} /> ${name}</label>`)}</fieldset>`;
}

/** What the attacker is assumed to know and wants to learn; then the attacks. */
export function Attacks({ label, release }) {
  const [found, setFound] = useState(null);
  const there = state.table?.columns ?? [];
  const quasi = Object.keys(release.search?.transformation ?? {});
  const start = quasi.length ? quasi : columnsOf("quasi-identifying");
  const [known, setKnown] = useState(start);
  const [secrets, setSecrets] = useState(columnsOf("sensitive"));
  if (release.engine) return null;
  const go = () => attempt(async () => { setFound(null); setFound(await run(`/releases/${release.id}/attack`, { known, secrets })); });
  const others = there.filter((name) => columnsOf("sensitive").includes(name) || columnsOf("insensitive").includes(name));
  const code = [`tried = release.attacks(known=${listed(known)}, secrets=${listed(secrets)})`, "print(tried)"];
  return html`<section class="card attack"><h2>${t("attacks")}${label ? ` · ${label}` : ""}</h2>
    <p class="quiet">${t("attacks.how")}</p>
    <div class="sides equal"><${Choice} legend=${t("attacks.known")} chosen=${known} set=${setKnown} offered=${[...start, ...others.filter((name) => !start.includes(name))]} />
      <${Choice} legend=${t("attacks.secrets")} chosen=${secrets} set=${setSecrets} offered=${others} /></div>
    <p class="row"><button class="primary" onClick=${go} disabled=${!known.length || running("attack").length > 0}>${t("attacks.go")}</button></p>
    <${Running} task=${running("attack")[0]} onStop=${stop} />
    ${found
      ? html`<div aria-live="polite"><${Scrolling} label=${t("attacks")}><table class="risks attacks">
          <thead><tr><td></td><th scope="col">${t("attacks.members", { number: number(found.tried.members) })}</th><th scope="col">${t("attacks.outsiders", { number: number(found.tried.outsiders) })}</th><th scope="col">${t("attacks.naive")}</th><th scope="col">${t("attacks.excess")}</th><th scope="col">${t("attacks.verdict")}</th></tr></thead>
          <tbody>${found.tried.attacks.map((attack) => html`<${Tried} attack=${attack} />`)}</tbody></table><//></div>
        ${found.tried.files.length ? html`<p class="quiet">${t("attacks.files", { a: found.tried.files[0].join(", "), b: found.tried.files[1].join(", ") })}</p>` : null}
        <p>${t("attacks.nearest", { forward: percent(found.linkage.forward), backward: percent(found.linkage.backward), number: number(found.linkage.looked_up), all: number(found.linkage.records) })}</p>`
      : null}
    <${How} name="attacks" code=${code} /></section>`;
}

/** The combinations by which people are found most easily. Values are personal data, and shown only to who says so twice. */
export function Riskiest({ release }) {
  const [found, setFound] = useState(null);
  const [asking, setAsking] = useState(false);
  const load = (of, values) => attempt(async () => { setAsking(false); setFound(await run(`/releases/${release.id}/riskiest`, { of, values })); });
  const shown = found?.combinations.some((each) => each.values !== null);
  const names = shown ? Object.keys(found.combinations[0].values) : [];
  return html`<section class="card riskiest"><h2>${t("riskiest")}</h2><p class="quiet">${t("riskiest.about")}</p>
    <p class="row">${["before", "after"].map((of) => html`<button aria-pressed=${found?.of === of} onClick=${() => load(of, false)} disabled=${running("riskiest").length > 0}>${t(`riskiest.${of}`)}</button>`)}
      ${found?.combinations.length && !shown ? html`<button onClick=${() => setAsking(true)}>${t("riskiest.values")}</button>` : null}
      ${shown ? html`<button onClick=${() => load(found.of, false)}>${t("riskiest.hide")}</button>` : null}</p>
    ${asking ? html`<div class="ask card" role="group" aria-label=${t("riskiest.values")}><p>${t("riskiest.sure")}</p><p class="row"><button class="primary" onClick=${() => load(found.of, true)}>${t("riskiest.yes")}</button><button onClick=${() => setAsking(false)}>${t("riskiest.no")}</button></p></div>` : null}
    <${Running} task=${running("riskiest")[0]} onStop=${stop} />
    ${found
      ? html`<${Scrolling} label=${t("riskiest")}><table class="plain"><caption>${t(`riskiest.${found.of}`)}</caption>
          <thead><tr><th scope="col">${t("riskiest.rank")}</th><th scope="col">${t("riskiest.people")}</th><th scope="col">${t("riskiest.risk")}</th><th scope="col">${t("riskiest.columns")}</th>${names.map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
          <tbody>${found.combinations.map((each, at) => html`<tr><th scope="row">${at + 1}</th><td>${number(each.records)}</td><td>${percent(each.risk)}</td><td>${each.columns.length ? each.columns.join(" + ") : "–"}</td>${names.map((name) => html`<td dir="auto">${each.values[name] ?? html`<span class="none">${t("cell.missing")}</span>`}</td>`)}</tr>`)}</tbody></table><//>`
      : null}
    <${How} name="riskiest" code=${[`print(veil.risk.riskiest(release))`]} /></section>`;
}
