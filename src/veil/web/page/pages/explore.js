// Explore: understand the alternatives and take another one, with reasons.

import { attempt, change, loadRelease, post, run, running, state, stop } from "../server.js";
import { Heading, html, NotYet, number, percent, Running, Scrolling, t, useEffect, useRef, useState } from "../parts.js";

/** What each choice costs: a row a column, a cell a level. */
function Prices({ fixed, setFixed }) {
  const [prices, setPrices] = useState(null);
  const { id, search } = state.release;
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
    <${Running} job=${running("prices")[0]} onStop=${stop} />
    <${Scrolling} label=${t("explore.prices")}><table class="prices">
      <thead><tr><th scope="col">${t("roles.column")}</th><th scope="col" colspan=${width}>${t("explore.exact")} → ${t("explore.gone")}</th></tr></thead>
      <tbody>${columns.map((column) => html`<tr><th scope="row">${column}</th>${search.levels[column].map((name, level) => {
        const price = at.get(JSON.stringify([column, level]));
        const chosen = search.transformation[column] === level;
        if (!price && fixed.has(column)) return html`<td><button class="cell" onClick=${() => fix(column, level)} title=${name}>·</button></td>`;
        if (!price) return html`<td class="quiet">${prices ? "" : "…"}</td>`;
        const heat = price.score === null || most === least ? 0 : Math.round((4 * (price.score - least)) / (most - least));
        return html`<td><button class=${`cell heat${heat} ${price.score === null ? "none" : ""}`} aria-pressed=${fixed.get(column) === level} title=${name} onClick=${() => fix(column, level)}
            aria-label=${`${column}, ${name}: ${price.score === null ? t("explore.impossible") : number(price.score, 3)}${chosen ? `, ${t("explore.chosen")}` : ""}`}>
          ${price.score === null ? "✗" : chosen ? `[${number(price.score, 3)}]` : number(price.score, 3)}${price.proven ? "" : "?"}</button></td>`;
      })}</tr>`)}</tbody></table><//>
    ${fixed.size && prices ? html`<${Offer} prices=${prices} fixed=${fixed} />` : null}</section>`;
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
function Pins() {
  const [note, setNote] = useState("");
  const [known, setKnown] = useState(new Map());
  const { id, search, records, suppressed } = state.release;
  const pins = state.plan.draft.pins.filter((pin) => Object.keys(search.transformation).every((name) => Object.hasOwn(pin.levels, name)));
  const put = (words, made) => attempt(() => change(words, { pins: made }));
  const pin = () => { put(t("pins.added"), [...state.plan.draft.pins, { levels: search.transformation, note }]); setNote(""); };
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
  return html`<section class="card pins"><h2>${t("pins")}</h2><p class="quiet">${t("pins.about")}</p>
    <p class="row"><label>${t("pins.note")} <input value=${note} onInput=${(event) => setNote(event.target.value)} maxlength="500" size="36" /></label><button onClick=${pin}>${t("pins.add")}</button></p>
    ${pins.length ? html`<${Scrolling} label=${t("pins")}><table class="plain"><thead><tr><th scope="col">${t("pins.note")}</th><th scope="col">${t("search.levels")}</th><th scope="col">${t("explore.loss")}</th><th scope="col">${t("bar.suppressed")}</th><th scope="col">${t("explore.state")}</th><td></td></tr></thead>
      <tbody>${pins.map((each, at) => {
        const node = known.get(JSON.stringify(each.levels));
        return html`<tr><th scope="row">${String.fromCharCode(65 + at)} · ${each.note || "–"}</th><td>${spell(each.levels)}</td><td>${node ? number(node.score ?? node.bound, 4) : "…"}</td><td>${node ? percent(node.suppressed / Math.max(1, records)) : "…"}</td>
          <td>${node ? `${node.state === "anonymous" ? "✓" : "✗"} ${t(`node.${node.state}`)}` : ""}</td>
          <td class="row"><${Take} levels=${each.levels} /><button class="icon" aria-label=${`${t("remove")} ${each.note}`} onClick=${() => put(t("pins.removed"), state.plan.draft.pins.filter((one) => one !== each))}>×</button></td></tr>`;
      })}</tbody></table><//>` : null}</section>`;
}

/** The list as a file, made in the page: nobody else is told. */
function saveList(nodes) {
  const columns = Object.keys(state.release.search.transformation);
  const cell = (text) => `"${String(text ?? "").replaceAll('"', '""').replace(/^([=+\-@])/, "'$1")}"`;
  const lines = [[...columns, "state", "score", "bound", "suppressed"], ...nodes.map((each) => [...each.levels, each.state, each.score, each.bound, each.suppressed])];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.map((line) => line.map(cell).join(",")).join("\n") + "\n"], { type: "text/csv" }));
  link.download = "transformations.csv";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}

/** Loss against suppressed records: every transformation that was evaluated. The table beside says the same. */
function Map_({ nodes, records }) {
  const canvas = useRef();
  const [only, setOnly] = useState("");
  const [at, setAt] = useState({ column: "", level: 0 });
  const names = Object.keys(state.release.search.transformation);
  const scored = nodes.filter((each) => each.evaluated && each.score !== null);
  const listed = scored.filter((each) => (!only || each.state === only) && (!at.column || each.levels[names.indexOf(at.column)] === at.level));
  useEffect(() => {
    const draw = canvas.current?.getContext("2d");
    if (!draw || !scored.length) return;
    const style = getComputedStyle(document.documentElement);
    const [low, high] = [Math.min(...scored.map((each) => each.score)), Math.max(...scored.map((each) => each.score))];
    const most = Math.max(1, ...scored.map((each) => each.suppressed));
    draw.clearRect(0, 0, 640, 260);
    draw.font = "12px system-ui";
    draw.fillStyle = style.getPropertyValue("--quiet");
    draw.fillText(t("explore.suppressed"), 4, 14);
    draw.fillText(t("explore.loss"), 600 - draw.measureText(t("explore.loss")).width, 254);
    for (const each of scored) {
      const x = 30 + (570 * (each.score - low)) / (high - low || 1);
      const y = 230 - (200 * each.suppressed) / most;
      draw.fillStyle = style.getPropertyValue(each.state === "anonymous" ? "--good" : "--bad");
      draw.beginPath();
      if (each.state === "anonymous") draw.arc(x, y, 3, 0, 7);
      else draw.rect(x - 2, y - 2, 4, 4);
      draw.fill();
    }
    const best = state.release.search;
    draw.strokeStyle = style.getPropertyValue("--ink");
    draw.lineWidth = 2;
    draw.strokeRect(30 + (570 * (best.score - low)) / (high - low || 1) - 6, 230 - (200 * state.release.suppressed) / most - 6, 12, 12);
  }, [nodes, state.release.id]);
  return html`<section class="card"><h2>${t("explore.map")}</h2>
    <canvas ref=${canvas} width="640" height="260" role="img" aria-label=${t("explore.map.said", { number: number(scored.length) })}></canvas>
    <p class="quiet">${t("explore.map.about")}</p>
    <details><summary>${t("explore.list")}</summary>
      <p class="row"><label>${t("explore.state")} <select value=${only} onChange=${(event) => setOnly(event.target.value)}><option value="">${t("explore.all")}</option>${["anonymous", "not anonymous"].map((each) => html`<option value=${each}>${t(`node.${each}`)}</option>`)}</select></label>
        <label>${t("roles.column")} <select value=${at.column} onChange=${(event) => setAt({ column: event.target.value, level: 0 })}><option value="">${t("explore.all")}</option>${names.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
        ${at.column ? html`<label>${t("search.level")} <select value=${at.level} onChange=${(event) => setAt({ ...at, level: Number(event.target.value) })}>${state.release.search.levels[at.column].map((name, level) => html`<option value=${level}>${level} · ${name}</option>`)}</select></label>` : null}
        <button onClick=${() => saveList(listed)}>${t("explore.csv")}</button></p><${Scrolling} label=${t("explore.list")}><table class="plain">
      <thead><tr><th scope="col">${t("search.levels")}</th><th scope="col">${t("explore.loss")}</th><th scope="col">${t("bar.suppressed")}</th><th scope="col">${t("explore.state")}</th></tr></thead>
      <tbody>${listed.slice(0, 200).map((each) => html`<tr><td>${each.levels.join(", ")}</td><td>${number(each.score, 4)}</td><td>${number(each.suppressed)} (${percent(each.suppressed / records)})</td><td>${each.state === "anonymous" ? "✓" : "✗"} ${t(`node.${each.state}`)}</td></tr>`)}</tbody></table><//></details></section>`;
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
  const [nodes, setNodes] = useState([]);
  const [around, setAround] = useState({ of: null, nodes: [] });
  const id = state.release?.id;
  const searched = Boolean(state.release?.search);
  useEffect(() => {
    let wanted = true;
    if (id && searched) {
      attempt(async () => {
        const near = await post(`/releases/${id}/nodes/evaluate`, { levels: {} });
        if (wanted) setAround({ of: id, nodes: near.nodes });
        const all = await post(`/releases/${id}/nodes`, { limit: 2000 });
        if (wanted) setNodes(all.nodes);
      });
    }
    return () => { wanted = false; };
  }, [id]);
  if (needs) return html`<${Heading}>${t("step.explore")}<//><${NotYet} step="search">${t("release.none")}<//>`;
  if (!searched) return html`<${Heading}>${t("step.explore")}<//><p class="card">${t(state.release.steps?.length ? "explore.masked" : "explore.local")}</p>`;
  return html`<${Heading} intro=${t("intro.explore")}>${t("step.explore")}<//>
    ${state.release.outdated ? html`<p class="problem">⟳ ${t("outdated")}</p>` : null}
    ${state.release.search.is_optimum ? null : html`<p class="card">${t("search.other")}</p>`}
    <${Running} job=${running("apply")[0]} onStop=${stop} />
    <${Prices} key=${id} fixed=${fixed} setFixed=${setFixed} />
    ${around.of === id ? html`<${Neighbours} around=${around.nodes} />` : null}
    <${Pins} />
    <${Map_} nodes=${nodes} records=${Math.max(1, state.release.records)} />`;
}
