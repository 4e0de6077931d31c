// Table: get the right table, with the right types.

import { attempt, ask, change, follow, opened, post, run, running, state, stop, update } from "../server.js";
import { go, Heading, html, number, percent, Problem, Running, Scrolling, Spark, t, Typed, useEffect, useRef, useState } from "../parts.js";
import { Spelling } from "../pseudonyms.js";

const PAGE = 100;

/** Send a file; how to read it is said only where Veil has not understood it by itself. */
async function send(file, how) {
  if (/\.(veil|deid)$/i.test(file.name)) return sendProject(file);
  const headers = { "Veil-File-Name": encodeURIComponent(file.name) };
  if (how) headers["Veil-Format"] = JSON.stringify(how);
  await follow(await ask("POST", "/tables", file, headers));
  await opened();
}

/** Open a project. What another program's project says and Veil cannot do is told. */
async function sendProject(file) {
  const told = await follow(await ask("POST", "/projects", file, { "Veil-File-Name": encodeURIComponent(file.name) }));
  await opened();
  update({ leftOut: { name: file.name, listed: told.left_out } });
}

const example = () =>
  attempt(async () => {
    await run("/tables/example");
    await opened();
  });

/** How to read a file: asked where it was not understood (told at each key then), and shown where it was. */
function HowToRead({ format, onChange, live }) {
  const set = (name) => (event) => onChange({ ...format, [name]: event.target.value });
  const skip = (text) => onChange({ ...format, skip: Number(text) });
  return html`<p class="row">
    <label>${t("table.separator")} <select value=${format.separator ?? ","} onChange=${set("separator")}>
      ${[[",", ","], [";", ";"], ["\t", "⇥"], ["|", "|"]].map(([value, name]) => html`<option value=${value}>${name}</option>`)}</select></label>
    <label>${t("table.encoding")} <select value=${format.encoding ?? "utf-8"} onChange=${set("encoding")}>
      ${[...new Set([format.encoding ?? "utf-8", "utf-8", "latin-1", "cp1252", "utf-16"])].map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
    <label>${t("table.decimal")} <select value=${format.decimal ?? "."} onChange=${set("decimal")}><option value=".">.</option><option value=",">,</option></select></label>
    <label>${t("table.thousands")} <select value=${format.thousands ?? ""} onChange=${(event) => onChange({ ...format, thousands: event.target.value || null })}>
      ${[["", t("table.thousands.none")], [".", "."], [",", ","], ["'", "'"], [" ", t("table.thousands.space")]].map(([value, name]) => html`<option value=${value}>${name}</option>`)}</select></label>
    <label>${t("table.skip")} <${Typed} type="number" min="0" max="1000" value=${format.skip ?? 0} onTry=${live ? skip : undefined} onTake=${skip} /></label>
  </p>`;
}

const LOOKED_AT = 1 << 17;

/** What to do about a file that was not understood: the importer's sentence, and a proposal how to read it, to be confirmed. */
function NotUnderstood({ file, message, onSend }) {
  const [format, setFormat] = useState(null);
  const [lines, setLines] = useState([]);
  const isText = /\.(csv|txt|tsv|tab)$/i.test(file.name);
  useEffect(() => {
    if (isText) ask("POST", "/tables/look", file.slice(0, LOOKED_AT)).then((told) => { setFormat(told.format); setLines(told.lines); }, () => setFormat({}));
  }, [file]);
  return html`<div class="card bad"><${Problem} message=${message} />
    ${isText && format ? html`<p>${t("table.proposal")}</p>
      <form onSubmit=${(event) => { event.preventDefault(); onSend(file, format); }}>
        <${HowToRead} format=${format} onChange=${setFormat} live /><button class="primary">${t("table.again")}</button></form>
      <h3>${t("table.raw")}</h3><ol class="raw" tabindex="0" aria-label=${t("table.raw")}>${lines.map((line, place) => html`<li class=${place < (format.skip ?? 0) ? "quiet" : ""}>${line}</li>`)}</ol>` : null}</div>`;
}

function WhereFrom() {
  const [over, setOver] = useState(false);
  const [path, setPath] = useState("");
  const [failed, setFailed] = useState(null);
  const take = async (file, how) => {
    try {
      await send(file, how);
      setFailed(null);
    } catch (error) {
      if (error.problem?.type !== "Cancelled") setFailed({ file, message: error.message });
    }
  };
  const drop = (event) => {
    event.preventDefault();
    setOver(false);
    const file = event.dataTransfer.files[0];
    if (file) take(file);
  };
  const ways = html`<p><b>${t("table.drop")}</b> <span class="quiet">CSV · Excel · Parquet · Feather · ${t("table.projects")}</span></p>
    <p class="row">
      <label class="button primary">${t("table.choose")}
        <input type="file" class="hidden" accept=".veil,.deid,.csv,.tsv,.txt,.gz,.xlsx,.parquet,.feather,.arrow"
          onChange=${(event) => { if (event.target.files[0]) take(event.target.files[0]); event.target.value = ""; }} /></label>
      <button onClick=${example}>${t("table.example")}</button>
    </p>
    ${state.session?.allow_paths
      ? html`<form class="row" onSubmit=${(event) => { event.preventDefault(); attempt(async () => { await run("/tables/from", { path }); await opened(); }); }}>
          <label>${t("table.path")} <input size="40" value=${path} onInput=${(event) => setPath(event.target.value)} /></label>
          <button>${t("table.open")}</button>
        </form>`
      : null}
    ${failed ? html`<${NotUnderstood} file=${failed.file} message=${failed.message} onSend=${take} />` : null}
    <p class="quiet">${t("table.stays")}</p>`;
  return html`<section class=${`card drop ${over ? "over" : ""}`} aria-label=${t("table.from")}
      onDragOver=${(event) => { event.preventDefault(); setOver(true); }} onDragLeave=${() => setOver(false)} onDrop=${drop}>
    ${state.table ? html`<details open=${Boolean(failed)}><summary>${t("table.another")}</summary>${ways}</details>` : ways}
  </section>`;
}

/** What a project of another program says and could not be taken over. */
function LeftOut() {
  const told = state.leftOut;
  if (!told?.listed.length) return null;
  return html`<section class="card ask left-out" aria-label=${t("project.left")}><h2>${t("project.left")}</h2>
    <p>${t("project.left.about", { name: told.name })}</p>
    <ul>${told.listed.map((each) => html`<li lang="en">${each}</li>`)}</ul>
    <button onClick=${() => update({ leftOut: null })}>${t("project.read")}</button></section>`;
}

/** Which column tells people apart: asked at once where one seems to. */
function Person() {
  const repeated = state.profile.repeated.find((each) => each.columns.length === 1);
  const person = state.plan.draft.person;
  if (!repeated && person === "ask") return null;
  const name = repeated?.columns[0];
  const answer = (value, words) => attempt(() => change(words, { person: value, roles: value ? { [value]: "identifying" } : {} }));
  return html`<section class="card ask" aria-label=${t("person")}>
    ${person === "ask"
      ? html`<p><b>${t("person.question", { column: name })}</b> ${t("person.why", { column: name, times: number(repeated.rows / repeated.people, 1) })}</p>
          <p class="row"><button class="primary" onClick=${() => answer(name, t("person.yes"))}>${t("person.yes")}</button>
          <button onClick=${() => answer(null, t("person.no"))}>${t("person.no")}</button></p>`
      : html`<p>${person ? t("person.counted", { column: person }) : t("person.rows")}
          <button onClick=${() => answer("ask", t("person.again"))}>${t("person.again")}</button></p>
          ${person ? html`<p><label>${t("person.knows")} <select value=${state.plan.draft.knows} onChange=${(event) => attempt(() => change(`${t("person.knows")}: ${t(`person.knows.${event.target.value}`)}`, { knows: event.target.value }))}>
            ${["one row", "all rows"].map((each) => html`<option value=${each}>${t(`person.knows.${each}`)}</option>`)}</select></label></p>
            <p><${Spelling} /></p>` : null}`}
  </section>`;
}

function Understood() {
  const format = state.table.format;
  if (format?.kind !== "csv") return null;
  const again = (changed) =>
    attempt(async () => {
      const { separator, encoding, decimal, thousands, skip, header } = changed;
      await run(`/tables/${state.table.id}/format`, { separator, encoding, decimal, thousands, skip, header }, "PATCH");
      await opened();
    });
  return html`<section class="card" aria-label=${t("table.understood")}>
    <h2>${t("table.understood")}</h2>
    <${HowToRead} format=${format} onChange=${again} />
    <${Mistakes} />
  </section>`;
}

/** Cells that keep a column from being numbers or dates: counted, with where the first ones are and what can be done. */
function Mistakes() {
  const [kept, setKept] = useState([]);
  const found = (state.profile.mistakes ?? []).filter((each) => !kept.includes(each.column));
  const asMissing = (each) => reread({ missing: [...new Set([...(state.table.format.missing ?? [""]), ...each.texts])], types: { ...state.table.format.types, [each.column]: each.type } });
  return html`<ul class="mistakes">${found.map((each) => html`<li>
    <p>! ${t(`mistakes.${each.type}`, { number: number(each.cells), column: each.column, rows: each.rows.map((row) => number(row)).join(", ") })} <span dir="auto" class="quiet">${each.texts.slice(0, 5).map((text) => text.slice(0, 40)).join(" · ")}${each.texts.length > 5 ? " …" : ""}</span></p>
    <p class="row"><button onClick=${() => asMissing(each)} title=${t("mistakes.missing.about")}>${t("mistakes.missing")}</button>
      <button onClick=${() => setKept([...kept, each.column])}>${t("mistakes.keep")}</button>
      <button onClick=${() => update({ filters: [{ column: each.column, first: each.texts[0], last: each.texts[0] }] })}>${t("mistakes.show")}</button></p></li>`)}</ul>`;
}

const TYPES = ["string", "integer", "decimal", "float", "date", "timestamp", "boolean"];

/** Read the file again, with some things otherwise. */
const reread = (otherwise) =>
  attempt(async () => {
    const { separator, encoding, decimal, thousands, skip, header, missing, types } = state.table.format;
    await run(`/tables/${state.table.id}/format`, { separator, encoding, decimal, thousands, skip, header, missing, types, ...otherwise }, "PATCH");
    await opened();
  });

/** Read the file again with another type of a column. */
const retype = (column, type) => reread({ types: { ...state.table.format.types, [column]: type } });

/** What a filter keeps, in words. */
const range = (each) => (each.missing ? t("cell.missing") : each.first === each.last ? each.first : `${each.first} … ${each.last}`);

function Head({ column, sort, onSort, onFilter }) {
  const bars = column.bars;
  const said = bars.map((bar) => `${bar.first === bar.last ? bar.first : `${bar.first} … ${bar.last}`}: ${number(bar.records)}`).join(", ");
  const direction = sort.column !== column.name ? "none" : sort.descending ? "descending" : "ascending";
  return html`<th scope="col" aria-sort=${direction}>
    <button class="sort" onClick=${() => onSort(column.name)}>${column.name} <span aria-hidden="true">${{ none: "", ascending: "↑", descending: "↓" }[direction]}</span></button>
    <${Spark} bars=${bars} label=${said} onPick=${(bar) => onFilter({ column: column.name, first: bar.first, last: bar.last })} />
    <span class="quiet">${state.table.format?.kind === "csv" && TYPES.includes(column.type)
      ? html`<select class="type" aria-label=${t("table.type", { column: column.name })} value=${column.type} onChange=${(event) => retype(column.name, event.target.value)}>${TYPES.map((each) => html`<option value=${each}>${t(`type.${each}`)}</option>`)}</select>`
      : t(`type.${column.type}`)} · ${t("table.distinct", { number: number(column.distinct) })}</span>
    <span class="quiet">${column.missing ? t("table.missing", { share: percent(column.missing / Math.max(1, state.profile.rows)) }) : t("table.complete")}</span>
    <details class="filter"><summary>${t("table.filter")}</summary><ul>
      ${bars.map((bar) => html`<li><button onClick=${() => onFilter({ column: column.name, first: bar.first, last: bar.last })}>${range(bar)} <span class="quiet">${number(bar.records)}</span></button></li>`)}
      ${column.missing ? html`<li><button onClick=${() => onFilter({ column: column.name, missing: true })}>${t("cell.missing")} <span class="quiet">${number(column.missing)}</span></button></li>` : null}</ul></details>
  </th>`;
}

function Grid() {
  const [page, setPage] = useState(null);
  const [start, setStart] = useState(0);
  const [sort, setSort] = useState({ column: null, descending: false });
  const [problem, setProblem] = useState(null);
  const [filters, setFilters] = useState([]);
  useEffect(() => {
    let wanted = true;
    post(`/tables/${state.table.id}/rows`, { start, count: PAGE, sort: sort.column, descending: sort.descending, filters }).then(
      (told) => { if (wanted) { setPage(told); setProblem(null); } },
      (error) => wanted && setProblem(error.message),
    );
    return () => { wanted = false; };
  }, [state.table.id, start, sort, filters]);
  const by = (column) => { setStart(0); setSort({ column, descending: sort.column === column && !sort.descending }); };
  const total = page?.total ?? state.table.shown;
  const last = Math.max(0, Math.floor((total - 1) / PAGE) * PAGE);
  const filter = (list) => { setStart(0); setFilters(list); };
  useEffect(() => { if (state.filters) { filter(state.filters); update({ filters: null }); } }, [state.filters]);
  // One cell has the focus, and keys lead from one to the next, over the ends of pages too.
  const [cell, setCell] = useState([0, 0]);
  const grid = useRef();
  const rows = page?.rows ?? [], columns = state.profile.columns.length;
  const to = (row, column) => {
    const next = [Math.max(0, Math.min(rows.length - 1, row)), Math.max(0, Math.min(columns - 1, column))];
    setCell(next);
    grid.current.querySelector(`tbody tr:nth-child(${next[0] + 1}) td:nth-child(${next[1] + 1})`)?.focus();
  };
  const key = (event) => {
    const [row, column] = cell, far = event.ctrlKey || event.metaKey;
    if (event.key === "ArrowDown") { if (row < rows.length - 1) to(row + 1, column); else if (start < last) { setStart(start + PAGE); to(0, column); } }
    else if (event.key === "ArrowUp") { if (row > 0) to(row - 1, column); else if (start > 0) { setStart(start - PAGE); to(PAGE - 1, column); } }
    else if (event.key === "ArrowRight") to(row, column + 1);
    else if (event.key === "ArrowLeft") to(row, column - 1);
    else if (event.key === "PageDown") setStart(Math.min(last, start + PAGE));
    else if (event.key === "PageUp") setStart(Math.max(0, start - PAGE));
    else if (event.key === "Home") { if (far) setStart(0); to(far ? 0 : row, 0); }
    else if (event.key === "End") { if (far) setStart(last); to(far ? rows.length - 1 : row, columns - 1); }
    else return;
    event.preventDefault();
  };
  return html`<div>
    <${Problem} message=${problem} />
    ${filters.length ? html`<p class="row chips" role="group" aria-label=${t("table.filter")}>${filters.map((each) => html`<button class="chip" aria-label=${`${t("remove")} ${each.column}: ${range(each)}`} onClick=${() => filter(filters.filter((one) => one !== each))}>${each.column}: ${range(each)} ×</button>`)}</p>` : null}
    <${Scrolling} label=${t("table.rows")}>
      <table class="grid" role="grid" aria-rowcount=${total + 1} aria-colcount=${columns} ref=${grid}>
        <caption class="hidden">${state.table.name}</caption>
        <thead><tr>${state.profile.columns.map((column) => html`<${Head} column=${column} sort=${sort} onSort=${by} onFilter=${(each) => filter([...filters.filter((one) => one.column !== each.column), each])} />`)}</tr></thead>
        <tbody onKeyDown=${key}>${rows.map((row, at) => html`<tr aria-rowindex=${start + at + 2}>${row.map((text, index) => html`<td role="gridcell" dir="auto" tabindex=${cell[0] === at && cell[1] === index ? 0 : -1} onFocus=${() => setCell([at, index])}>${text === null ? html`<span class="none">${t("cell.missing")}</span>` : text.slice(0, 200)}</td>`)}</tr>`)}</tbody>
      </table>
    <//>
    <p class="row pager">
      <button disabled=${start === 0} onClick=${() => setStart(0)} aria-label=${t("pager.first")}>⇤</button>
      <button disabled=${start === 0} onClick=${() => setStart(start - PAGE)} aria-label=${t("pager.previous")}>←</button>
      <span>${t("pager", { first: number(start + 1), last: number(Math.min(start + PAGE, total)), total: number(total) })}</span>
      <button disabled=${start >= last} onClick=${() => setStart(start + PAGE)} aria-label=${t("pager.next")}>→</button>
      ${last ? html`<label>${t("pager.jump")} <${Typed} type="number" min="1" max=${total} value=${start + 1} onTake=${(text) => setStart(Math.min(last, Math.max(0, Math.floor((Number(text) - 1) / PAGE) * PAGE)))} /></label>` : null}
      <button disabled=${start >= last} onClick=${() => setStart(last)} aria-label=${t("pager.last")}>⇥</button>
    </p>
  </div>`;
}

export default function Table() {
  const task = running("read table")[0];
  return html`<${Heading} intro=${t("intro.table")}>${t("step.table")}<//>
    <${WhereFrom} />
    <${LeftOut} />
    <${Running} task=${running("open project")[0]} onStop=${stop} />
    <${Running} task=${task} onStop=${stop} />
    ${state.table && state.profile
      ? html`<${Person} /><${Understood} />
          ${state.table.engine ? html`<p class="card ask engine">${t("table.engine", { shown: number(state.table.shown), rows: number(state.table.rows), engine: state.table.engine })}</p>` : null}
          ${state.table.notes.map((note) => html`<p class="card ask" lang="en">! ${note}</p>`)}
          <p><button class="primary" onClick=${() => go("roles")}>${t("next")} ${t("step.roles")}</button></p>
          <${Grid} key=${state.table.id} />`
      : null}`;
}
