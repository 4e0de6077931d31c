// The map of transformations: loss against suppressed records. A drawn frame filters the list behind it; T opens that list.

import { attempt, post, state } from "../server.js";
import { html, number, percent, Scrolling, t, useEffect, useRef, useState } from "../parts.js";

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [720, 300, 52, 700, 14, 262];

/** Levels in words: what each column looks like. */
export function inWords(levels) {
  const { search } = state.release;
  return Object.keys(search.transformation).map((name, at) => `${name}: ${search.levels[name][levels[at]]}`).join(" · ");
}

export const asLevels = (node) => Object.fromEntries(Object.keys(state.release.search.transformation).map((name, at) => [name, node.levels[at]]));

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

/** Where a transformation lies on the canvas, and what lies at a place of it. */
function scale(nodes, limit) {
  const scores = nodes.map((each) => each.score ?? each.bound);
  const low = Math.min(...scores), high = Math.max(...scores);
  const most = Math.max(1, limit, ...nodes.map((each) => each.suppressed));
  return {
    low, high, most,
    x: (score) => LEFT + ((RIGHT - LEFT) * (score - low)) / (high - low || 1),
    y: (suppressed) => BOTTOM - ((BOTTOM - TOP) * suppressed) / most,
  };
}

function paint(canvas, nodes, at, { limit, records, frame, pins, chosen }) {
  const draw = canvas.getContext("2d");
  const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name);
  draw.clearRect(0, 0, WIDTH, HEIGHT);
  draw.font = "12px system-ui";
  draw.fillStyle = draw.strokeStyle = colour("--quiet");
  draw.lineWidth = 1;
  draw.beginPath();
  draw.moveTo(LEFT - 6, TOP); draw.lineTo(LEFT - 6, BOTTOM + 6); draw.lineTo(RIGHT + 6, BOTTOM + 6);
  draw.stroke();
  draw.textAlign = "right";
  for (const part of [0, 0.5, 1]) draw.fillText(percent((part * at.most) / records, 0), LEFT - 10, at.y(part * at.most) + 4);
  draw.textAlign = "center";
  for (const part of [0, 0.5, 1]) draw.fillText(number(at.low + part * (at.high - at.low), 2), LEFT + part * (RIGHT - LEFT) - (part === 1 ? 12 : 0), BOTTOM + 20);
  draw.textAlign = "left";
  draw.fillText(t("explore.suppressed"), LEFT, TOP - 3);
  draw.fillText(t("explore.loss"), (LEFT + RIGHT) / 2 + 30, BOTTOM + 34);
  draw.setLineDash([5, 4]);
  draw.beginPath(); draw.moveTo(LEFT - 6, at.y(limit)); draw.lineTo(RIGHT, at.y(limit)); draw.stroke();
  draw.setLineDash([]);
  draw.textAlign = "right";
  draw.fillText(t("explore.limit"), RIGHT, at.y(limit) + (at.y(limit) < TOP + 12 ? 14 : -4));
  draw.textAlign = "left";
  const dot = (each) => {
    const [x, y] = [at.x(each.score ?? each.bound), at.y(each.suppressed)];
    draw.beginPath();
    if (each.state === "anonymous") { draw.fillStyle = colour("--good"); draw.arc(x, y, 3, 0, 7); draw.fill(); }
    else if (each.evaluated) { draw.fillStyle = colour("--bad"); draw.rect(x - 2, y - 2, 4, 4); draw.fill(); }
    else { draw.strokeStyle = colour("--quiet"); draw.arc(x, y, 2.5, 0, 7); draw.stroke(); }
  };
  nodes.forEach(dot);
  const same = (levels) => nodes.find((each) => each.levels.join() === levels.join());
  draw.strokeStyle = colour("--ink");
  draw.lineWidth = 2;
  pins.forEach((pin, index) => {
    const node = same(pin);
    if (!node) return;
    const [x, y] = [at.x(node.score ?? node.bound), at.y(node.suppressed)];
    draw.beginPath(); draw.moveTo(x, y - 8); draw.lineTo(x + 8, y); draw.lineTo(x, y + 8); draw.lineTo(x - 8, y); draw.closePath(); draw.stroke();
    draw.fillStyle = colour("--ink");
    draw.fillText(String.fromCharCode(65 + index), x + 10, y - 6);
  });
  const taken = state.release.search;
  draw.strokeRect(at.x(taken.score) - 7, at.y(state.release.suppressed) - 7, 14, 14);
  if (chosen) { draw.strokeStyle = colour("--accent"); draw.lineWidth = 3; draw.beginPath(); draw.arc(at.x(chosen.score ?? chosen.bound), at.y(chosen.suppressed), 8, 0, 7); draw.stroke(); }
  if (frame) { draw.strokeStyle = colour("--accent"); draw.lineWidth = 1.5; draw.strokeRect(Math.min(frame[0], frame[2]), Math.min(frame[1], frame[3]), Math.abs(frame[2] - frame[0]), Math.abs(frame[3] - frame[1])); }
}

/** Loss against suppressed records: every transformation that was evaluated. The table behind it says the same. */
export function MapOf({ nodes, counts, records, pins, chosen, onChoose, children }) {
  const canvas = useRef(), dragging = useRef(null), list = useRef();
  const [frame, setFrame] = useState(null);
  const [hovered, setHovered] = useState(null);
  const [more, setMore] = useState([]);
  const [only, setOnly] = useState("");
  const [level, setLevel] = useState({ column: "", level: 0 });
  const [open, setOpen] = useState(false);
  const names = Object.keys(state.release.search.transformation);
  const limit = (state.plan?.draft.suppression_limit ?? 0) * records;
  const dots = [...nodes.filter((each) => each.evaluated && (each.score ?? each.bound) !== null), ...more];
  const at = dots.length ? scale(dots, limit) : null;
  const place = (each) => [at.x(each.score ?? each.bound), at.y(each.suppressed)];
  const inFrame = (each) => {
    if (!frame) return true;
    const [x, y] = place(each);
    return x >= Math.min(frame[0], frame[2]) && x <= Math.max(frame[0], frame[2]) && y >= Math.min(frame[1], frame[3]) && y <= Math.max(frame[1], frame[3]);
  };
  const listed = dots.filter((each) => (!only || each.state === only) && (!level.column || each.levels[names.indexOf(level.column)] === level.level) && inFrame(each));
  useEffect(() => {
    if (canvas.current && at) paint(canvas.current, dots, at, { limit, records, frame, pins, chosen });
  });
  useEffect(() => {
    const key = (event) => {
      if (event.key.toLowerCase() !== "t" || event.ctrlKey || event.altKey || event.metaKey || ["INPUT", "SELECT", "TEXTAREA"].includes(event.target.tagName)) return;
      setOpen((before) => !before);
      setTimeout(() => list.current?.querySelector("summary").focus(), 0);
    };
    document.addEventListener("keydown", key);
    return () => document.removeEventListener("keydown", key);
  }, []);
  if (!at) return null;
  const point = (event) => { const box = canvas.current.getBoundingClientRect(); return [((event.clientX - box.left) * WIDTH) / box.width, ((event.clientY - box.top) * HEIGHT) / box.height]; };
  const nearest = ([x, y]) => dots.map((each) => [Math.hypot(place(each)[0] - x, place(each)[1] - y), each]).filter(([far]) => far < 12).sort((a, b) => a[0] - b[0])[0]?.[1] ?? null;
  const down = (event) => { dragging.current = point(event); canvas.current.setPointerCapture(event.pointerId); };
  const move = (event) => {
    const here = point(event);
    if (dragging.current && Math.hypot(here[0] - dragging.current[0], here[1] - dragging.current[1]) > 6) setFrame([...dragging.current, ...here]);
    else if (!dragging.current) { const found = nearest(here); if (found !== hovered) setHovered(found); }
  };
  const up = (event) => {
    const from = dragging.current, here = point(event);
    dragging.current = null;
    if (from && Math.hypot(here[0] - from[0], here[1] - from[1]) > 6) return setOpen(true);
    const found = nearest(here);
    if (found) onChoose(found);
    else setFrame(null);
    return undefined;
  };
  const ruledOut = () => attempt(async () => setMore(more.length ? [] : (await post(`/releases/${state.release.id}/nodes`, { state: "pruned", limit: 2000 })).nodes.filter((each) => each.bound !== null)));
  const told = hovered ?? chosen;
  return html`<section class="card map"><h2>${t("explore.map")}</h2><p class="quiet">${t("explore.map.about")}</p>
    <canvas ref=${canvas} width=${WIDTH} height=${HEIGHT} role="img" aria-label=${t("explore.map.said", { number: number(dots.length) })} onPointerDown=${down} onPointerMove=${move} onPointerUp=${up} onPointerLeave=${() => setHovered(null)}></canvas>
    <p class="hovered" data-hovered=${Boolean(hovered)}>${told ? html`<b>${told.state === "anonymous" ? "✓" : "✗"} ${t(`node.${told.state}`)}</b> ${inWords(told.levels)} · ${t("explore.loss")} ${number(told.score ?? told.bound, 4)} · ${t("bar.suppressed")} ${number(told.suppressed)}` : html`<span class="quiet">${t("explore.map.hint")}</span>`}</p>
    ${children}
    <p class="row">${frame ? html`<button class="chip" onClick=${() => setFrame(null)}>${t("explore.frame", { number: number(listed.length) })} ×</button>` : null}
      ${counts?.pruned ? html`<button aria-pressed=${more.length > 0} onClick=${ruledOut}>${t("explore.pruned", { number: number(counts.pruned) })}</button>` : null}</p>
    <details ref=${list} open=${open} onToggle=${(event) => setOpen(event.target.open)}><summary>${t("explore.list")} <kbd>T</kbd></summary>
      <p class="row"><label>${t("explore.state")} <select value=${only} onChange=${(event) => setOnly(event.target.value)}><option value="">${t("explore.all")}</option>${["anonymous", "not anonymous"].map((each) => html`<option value=${each}>${t(`node.${each}`)}</option>`)}</select></label>
        <label>${t("roles.column")} <select value=${level.column} onChange=${(event) => setLevel({ column: event.target.value, level: 0 })}><option value="">${t("explore.all")}</option>${names.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
        ${level.column ? html`<label>${t("search.level")} <select value=${level.level} onChange=${(event) => setLevel({ ...level, level: Number(event.target.value) })}>${state.release.search.levels[level.column].map((name, each) => html`<option value=${each}>${each} · ${name}</option>`)}</select></label>` : null}
        <button onClick=${() => saveList(listed)}>${t("explore.csv")}</button></p>
      <${Scrolling} label=${t("explore.list")}><table class="plain nodes">
        <thead><tr><th scope="col">${t("search.levels")}</th><th scope="col">${t("explore.loss")}</th><th scope="col">${t("bar.suppressed")}</th><th scope="col">${t("explore.state")}</th><td></td></tr></thead>
        <tbody>${listed.slice(0, 200).map((each) => html`<tr class=${chosen === each ? "chosen" : ""}><td>${inWords(each.levels)}</td><td>${number(each.score ?? each.bound, 4)}</td><td>${number(each.suppressed)} (${percent(each.suppressed / records)})</td><td>${each.state === "anonymous" ? "✓" : "✗"} ${t(`node.${each.state}`)}</td><td><button onClick=${() => onChoose(each)}>${t("explore.choose")}</button></td></tr>`)}</tbody></table><//>
      ${listed.length > 200 ? html`<p class="quiet">${t("explore.first", { number: number(listed.length) })}</p>` : null}</details></section>`;
}
