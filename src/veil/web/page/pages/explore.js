// Explore: understand the alternatives and take another one, with reasons.

import { attempt, change, get, loadRelease, post, run, running, state, stop, update } from "../server.js";
import { go, Heading, html, NotYet, number, percent, Running, Scrolling, t, useEffect, useState } from "../parts.js";
import { asLevels, inWords, MapOf } from "./map.js";

/** What each choice costs: a row a column, a cell a level. */
function Prices({ fixed, setFixed }) {
  const [prices, setPrices] = useState(null);
  const { id, search } = state.release;
  const task = running("prices")[0];
  const sofar = task?.result?.prices;
  useEffect(() => { if (sofar) setPrices(sofar); }, [sofar?.length]);
  useEffect(() => {
    let wanted = true;
    attempt(async () => { const told = await run(`/releases/${id}/prices`, { levels: Object.fromEntries(fixed) }); if (wanted) setPrices(told.prices); });
    return () => { wanted = false; };
  }, [id, JSON.stringify([...fixed])]);
  const fix = (column, level) => {
    const next = new Map(fixed);
    if (next.get(column) === level) next.delete(column);
    else next.set(column, level);
    setFixed(next);
  };
  const at = new Map((prices ?? []).map((each) => [JSON.stringify([each.column, each.level]), each]));
  const scores = (prices ?? []).map((each) => each.score).filter((each) => each !== null);
  const [least, most] = [Math.min(...scores), Math.max(...scores)];
  const columns = Object.keys(search.levels);
  const width = Math.max(...columns.map((column) => search.levels[column].length));
  return html`<section class="card"><h2>${t("explore.prices")}</h2><p class="quiet">${t("explore.prices.about")}</p>
    <${Running} task=${task} onStop=${stop} />
    <${Scrolling} label=${t("explore.prices")}><table class="prices">
      <thead><tr><th scope="col">${t("roles.column")}</th><th scope="col" colspan=${width}>${t("explore.exact")} → ${t("explore.gone")}</th></tr></thead>
      <tbody>${columns.map((column) => html`<tr><th scope="row">${column}</th>${search.levels[column].map((name, level) => {
        const price = at.get(JSON.stringify([column, level]));
        const chosen = search.transformation[column] === level;
        if (!price && fixed.has(column)) return html`<td><button class="cell" onClick=${() => fix(column, level)} title=${name}>·</button></td>`;
        if (!price) return html`<td class="quiet">${task || !prices ? "…" : "–"}</td>`;
        const heat = price.score === null || most === least ? 0 : Math.round((4 * (price.score - least)) / (most - least));
        return html`<td><button class=${`cell heat${heat} ${price.score === null ? "none" : ""}`} aria-pressed=${fixed.get(column) === level} title=${name} onClick=${() => fix(column, level)}
            aria-label=${`${column}, ${name}: ${price.score === null ? t("explore.impossible") : number(price.score, 3)}${chosen ? `, ${t("explore.chosen")}` : ""}`}>
          ${price.score === null ? "✗" : chosen ? `[${number(price.score, 3)}]` : number(price.score, 3)}${price.proven ? "" : "?"}</button></td>`;
      })}</tr>`)}</tbody></table><//>
    ${prices?.some((each) => !each.proven) ? html`<p class="quiet">${t("explore.prices.unproven")}</p>` : null}
    ${fixed.size && prices && !task ? html`<${Offer} prices=${prices} fixed=${fixed} />` : null}</section>`;
}

/** The best release with the levels that were fixed: to be taken. */
function Offer({ prices, fixed }) {
  const best = prices.filter((each) => [...fixed].every(([column, level]) => each.transformation?.[column] === level)).sort((a, b) => a.score - b.score)[0];
  if (!best) return html`<p>${t("explore.impossible")}</p>`;
  return html`<p class="row"><span>${t("explore.offer", { score: number(best.score, 4), levels: Object.entries(best.transformation).map(([name, level]) => `${name} ${level}`).join(", ") })}</span>
    <${Take} levels=${best.transformation} /></p>`;
}

function Take({ levels }) {
  const take = () =>
    attempt(async () => {
      const { release } = await run(`/releases/${state.release.id}/apply`, { levels });
      await loadRelease(release);
    });
  return html`<button class="primary" disabled=${running("apply").length > 0} onClick=${take}>${t("explore.take")}</button>`;
}

const spell = (levels) => Object.entries(levels).map(([name, level]) => `${name} ${level}`).join(", ");

/** Keep the transformation that was taken, with a note; take it up again, or lay two beside each other. */
function Pins({ pins }) {
  const [note, setNote] = useState("");
  const [known, setKnown] = useState(new Map());
  const [pair, setPair] = useState([]);
  const { id, search, records } = state.release;
  const put = (words, changed) => attempt(() => change(words, (draft) => ({ pins: changed(draft.pins) })));
  const pin = () => { put(t("pins.added"), (all) => [...all, { levels: search.transformation, note }]); setNote(""); };
  useEffect(() => {
    let wanted = true;
    (async () => {
      const found = new Map();
      for (const each of pins) {
        const told = await post(`/releases/${id}/nodes/evaluate`, { levels: each.levels }).catch(() => null);
        if (told) found.set(JSON.stringify(each.levels), told.nodes[0]);
      }
      if (wanted) setKnown(found);
    })();
    return () => { wanted = false; };
  }, [id, JSON.stringify(pins)]);
  const letter = (at) => String.fromCharCode(65 + at);
  const choose = (at, on) => setPair(on ? [...pair, at].slice(-2).sort() : pair.filter((each) => each !== at));
  const compare = (step) =>
    attempt(async () => {
      const compared = [];
      for (const at of pair) {
        const { release } = await run(`/releases/${id}/apply`, { levels: pins[at].levels });
        compared.push({ label: `${letter(at)}${pins[at].note ? ` · ${pins[at].note}` : ""}`, release: await get(`/releases/${release}`) });
      }
      update({ compared, release: compared[0].release });
      go(step);
    });
  return html`<section class="card pins"><h2>${t("pins")}</h2><p class="quiet">${t("pins.about")}</p>
    <p class="row"><label>${t("pins.note")} <input value=${note} onInput=${(event) => setNote(event.target.value)} maxlength="500" size="36" /></label><button onClick=${pin}>${t("pins.add")}</button></p>
    ${pins.length ? html`<${Scrolling} label=${t("pins")}><table class="plain"><thead><tr><th scope="col">${t("compare")}</th><th scope="col">${t("pins.note")}</th><th scope="col">${t("search.levels")}</th><th scope="col">${t("explore.loss")}</th><th scope="col">${t("bar.suppressed")}</th><th scope="col">${t("explore.state")}</th><td></td></tr></thead>
      <tbody>${pins.map((each, at) => {
        const node = known.get(JSON.stringify(each.levels));
        return html`<tr><td><label><input type="checkbox" checked=${pair.includes(at)} onChange=${(event) => choose(at, event.target.checked)} /> ${letter(at)}</label></td><th scope="row">${each.note || "–"}</th><td>${spell(each.levels)}</td><td>${node ? number(node.score ?? node.bound, 4) : "…"}</td><td>${node ? percent(node.suppressed / Math.max(1, records)) : "…"}</td>
          <td>${node ? `${node.state === "anonymous" ? "✓" : "✗"} ${t(`node.${node.state}`)}` : ""}</td>
          <td class="row"><${Take} levels=${each.levels} /><button class="icon" aria-label=${`${t("remove")} ${letter(at)} ${each.note}`} onClick=${() => { setPair([]); put(t("pins.removed"), (all) => all.filter((one) => JSON.stringify(one) !== JSON.stringify(each))); }}>×</button></td></tr>`;
      })}</tbody></table><//>
    <p class="row">${pair.length === 2 ? html`<span>${t("compare.pair", { a: letter(pair[0]), b: letter(pair[1]) })}</span>
      ${["risk", "use"].map((step) => html`<button disabled=${running("apply").length > 0} onClick=${() => compare(step)}>${t(`step.${step}`)}</button>`)}` : html`<span class="quiet">${t("compare.choose")}</span>`}</p>` : null}</section>`;
}

/** A transformation that was chosen on the map or in the list: to be taken, or pinned. */
function Chosen({ node }) {
  if (!node) return null;
  const levels = asLevels(node);
  return html`<p class="card compared"><span><b>${t("explore.chosen.now")}</b> ${inWords(node.levels)} · ${t("explore.loss")} ${number(node.score ?? node.bound, 4)} · ${node.state === "anonymous" ? "✓" : "✗"} ${t(`node.${node.state}`)}</span>
    <span class="row">${node.state === "anonymous" ? html`<${Take} levels=${levels} />` : null}<button onClick=${() => attempt(() => change(t("pins.added"), (draft) => ({ pins: [...draft.pins, { levels, note: "" }] })))}>${t("pins.one")}</button></span></p>`;
}

/** The neighbours of the transformation that was taken: one level more or less, column by column. */
function Neighbours({ around }) {
  const { search, records } = state.release;
  const columns = Object.keys(search.transformation);
  const here = columns.map((column) => search.transformation[column]);
  const rows = around.slice(1).map((node) => {
    const at = node.levels.findIndex((level, index) => level !== here[index]);
    return { node, column: columns[at], level: node.levels[at], coarser: node.levels[at] > here[at] };
  });
  return html`<section class="card"><h2>${t("explore.neighbours")}</h2><${Scrolling} label=${t("explore.neighbours")}><table class="plain">
    <thead><tr><th scope="col">${t("roles.column")}</th><th scope="col">${t("search.level")}</th><th scope="col">${t("explore.loss")}</th><th scope="col">${t("bar.suppressed")}</th><th scope="col">${t("explore.state")}</th><td></td></tr></thead>
    <tbody>${rows.map(({ node, column, level, coarser }) => html`<tr><th scope="row">${column}</th><td>${coarser ? `↑ ${t("explore.coarser")}` : `↓ ${t("explore.finer")}`} ${level} · ${search.levels[column][level]}</td>
      <td>${number(node.score ?? node.bound, 4)}</td><td>${percent(node.suppressed / records)}</td><td>${node.state === "anonymous" ? "✓" : "✗"} ${t(`node.${node.state}`)}</td>
      <td>${node.state === "anonymous" ? html`<${Take} levels=${{ ...search.transformation, [column]: level }} />` : null}</td></tr>`)}</tbody></table><//></section>`;
}

export default function Explore({ needs }) {
  const [fixed, setFixed] = useState(new Map());
  const [nodes, setNodes] = useState({ nodes: [], counts: {} });
  const [chosen, setChosen] = useState(null);
  const [around, setAround] = useState({ of: null, nodes: [] });
  const id = state.release?.id;
  const searched = Boolean(state.release?.search);
  useEffect(() => {
    let wanted = true;
    setChosen(null);
    if (id && searched) {
      attempt(async () => {
        const near = await post(`/releases/${id}/nodes/evaluate`, { levels: {} });
        if (wanted) setAround({ of: id, nodes: near.nodes });
        const [kept, broken] = await Promise.all(["anonymous", "not anonymous"].map((each) => post(`/releases/${id}/nodes`, { state: each, limit: 2000 })));
        if (wanted) setNodes({ nodes: [...kept.nodes, ...broken.nodes], counts: kept.counts });
      });
    }
    return () => { wanted = false; };
  }, [id]);
  if (needs) return html`<${Heading}>${t("step.explore")}<//><${NotYet} step="search">${t("release.none")}<//>`;
  if (!searched) return html`<${Heading}>${t("step.explore")}<//><${NotYet} step="search">${state.release.recoding ? t(`explore.own.${state.release.recoding.kind}`) : t(state.release.steps?.length ? "explore.masked" : "explore.local")}<//>`;
  const names = Object.keys(state.release.search.transformation);
  const pins = state.plan.draft.pins.filter((pin) => names.every((name) => Object.hasOwn(pin.levels, name)));
  return html`<${Heading} intro=${t("intro.explore")}>${t("step.explore")}<//>
    ${state.release.outdated ? html`<p class="problem">⟳ ${t("outdated")}</p>` : null}
    ${state.release.search.is_optimum ? null : html`<p class="card">${t("search.other")}</p>`}
    <${Running} task=${running("apply")[0]} onStop=${stop} />
    <${Prices} key=${id} fixed=${fixed} setFixed=${setFixed} />
    ${around.of === id ? html`<${Neighbours} around=${around.nodes} />` : null}
    <${Pins} key=${`pins ${id}`} pins=${pins} />
    <${MapOf} key=${`map ${id}`} nodes=${nodes.nodes} counts=${nodes.counts} records=${Math.max(1, state.release.records)} pins=${pins.map((pin) => names.map((name) => pin.levels[name]))} chosen=${chosen} onChoose=${setChosen}><${Chosen} node=${chosen} /><//>`;
}
