// Beside the editor of levels: files in and out, values that are not covered, and levels written down for private releases.

import { attempt, columnsOf, post, state } from "./server.js";
import { html, number, t, Typed, under, useState } from "./parts.js";
import { groupsOf, treeOf } from "./tree.js";

/** What to do about values that a written hierarchy does not have: add them under a label, or as labels of their own. */
export function Uncovered({ column, builder, standing, put }) {
  const { uncovered, number: many } = standing;
  const rows = builder.kind === "table" ? builder.rows : null;
  const groups = rows ? null : groupsOf(builder.tree);
  const labels = rows ? [...new Set(rows.map((row) => row[1] ?? row[0]))].slice(0, 200) : groups.map((each) => each.name);
  const under_ = (label) => {
    const words = t("levels.added", { number: many, label });
    if (rows) {
      const like = rows.find((row) => (row[1] ?? row[0]) === label);
      return put({ ...builder, rows: [...rows, ...uncovered.map((value) => [value, ...like.slice(1)])] }, words);
    }
    return put({ ...builder, tree: treeOf(groups.map((each) => (each.name === label ? { ...each, values: [...each.values, ...uncovered] } : each))) }, words);
  };
  const own = () => {
    const words = t("levels.owned", { number: many });
    if (rows) return put({ ...builder, rows: [...rows, ...uncovered.map((value) => rows[0].map((label, at) => (at && at === rows[0].length - 1 ? label : value)))] }, words);
    return put({ ...builder, tree: treeOf([...groups, ...uncovered.map((value) => ({ name: value, groups: [], values: [value] }))]) }, words);
  };
  return html`<section class="card ask uncovered" aria-label=${t("levels.uncovered", { number: number(many) })}>
    <p><b>${t("levels.uncovered", { number: number(many) })}:</b> <span dir="auto">${uncovered.slice(0, 8).join(", ")}${many > 8 ? " …" : ""}</span></p>
    <p class="row"><label>${t("levels.under")} <select value="" onChange=${(event) => { if (event.target.value) under_(event.target.value); event.target.value = ""; }}><option value="">…</option>${labels.map((label) => html`<option value=${label}>${label}</option>`)}</select></label>
      <button onClick=${own}>${t("levels.own")}</button></p>
  </section>`;
}

/** Rows of a hierarchy file: a value and its labels, separated by semicolons as ARX writes them, or by commas or tabs. */
function rowsOf(text) {
  const separator = [";", "\t", ","].find((each) => text.split("\n")[0].includes(each)) ?? ";";
  const rows = [];
  let row = [], cell = "", quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at];
    if (quoted) {
      if (sign === '"' && text[at + 1] === '"') { cell += '"'; at += 1; }
      else if (sign === '"') quoted = false;
      else cell += sign;
    } else if (sign === '"') quoted = true;
    else if (sign === separator) { row.push(cell); cell = ""; }
    else if (sign === "\n") { row.push(cell); if (row.length > 1 || cell) rows.push(row); row = []; cell = ""; }
    else if (sign !== "\r") cell += sign;
  }
  if (cell || row.length) rows.push([...row, cell]);
  return rows.map((each) => each.map((label) => (label === "NULL" ? null : label)));
}

/** A hierarchy from a file, or of another column; and out again. */
export function Files({ column, shown, put }) {
  const take = async (file) => put({ kind: "table", rows: rowsOf((await file.text()).replace(/^\ufeff/, "")) });
  const others = columnsOf("quasi-identifying").filter((name) => name !== column && under(state.plan.draft.hierarchies, name));
  const save = () =>
    attempt(async () => {
      const told = await post("/hierarchies/rows", { table: state.table.id, column, builder: shown.builder });
      const cell = (label) => (label === null ? "NULL" : /[;"\n\r]/.test(label) ? `"${label.replaceAll('"', '""')}"` : label);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([told.rows.map((row) => row.map(cell).join(";")).join("\n") + "\n"], { type: "text/csv" }));
      link.download = `${column.replace(/[^A-Za-z0-9._-]+/g, "-")}.csv`;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    });
  return html`<p class="row"><label class="button">${t("levels.file")}<input type="file" class="hidden" accept=".csv,.txt" onChange=${(event) => { if (event.target.files[0]) attempt(() => take(event.target.files[0])); event.target.value = ""; }} /></label>
    ${others.length ? html`<label>${t("levels.over")} <select value="" onChange=${(event) => { if (event.target.value) put(under(state.plan.draft.hierarchies, event.target.value)); event.target.value = ""; }}><option value="">…</option>${others.map((name) => html`<option value=${name}>${name}</option>`)}</select></label>` : null}
    ${shown ? html`<button onClick=${save}>${t("levels.save")}</button>` : null}</p>`;
}

/** Differential privacy wants levels over all values that are possible, not over those that occur. */
export function Written({ column, builder, put }) {
  const profile = state.profile.columns.find((each) => each.name === column);
  const isNumber = profile?.type === "integer";
  const [range, setRange] = useState({ first: 0, last: 120 });
  const [values, setValues] = useState(profile && profile.distinct <= 200 ? profile.bars.map((bar) => bar.first).join("\n") : "");
  const write = () =>
    attempt(async () => {
      const domain = isNumber ? range : { values: values.split("\n").map((each) => each.trim()).filter(Boolean) };
      put((await post("/hierarchies/written", { table: state.table.id, column, builder, ...domain })).builder);
    });
  return html`<section class="ask card written" aria-label=${t("levels.written")}><p><b>${t("levels.written")}</b> ${t("levels.written.about")}</p>
    ${isNumber
      ? html`<p class="row">${["first", "last"].map((name) => html`<label>${t(`levels.${name}`)} <${Typed} type="number" value=${range[name]} onTake=${(text) => setRange({ ...range, [name]: Number(text) })} /></label>`)}</p>`
      : html`<label>${t("levels.possible")}<${Typed} tag="textarea" rows="6" value=${values} onTake=${setValues} /></label>`}
    <button onClick=${write}>${t("levels.write")}</button></section>`;
}
