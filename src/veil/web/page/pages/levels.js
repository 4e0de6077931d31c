// Levels: for each quasi-identifier, how it may become coarser.

import { attempt, catalogue, change, columnsOf, post, state } from "../server.js";
import { go, Heading, html, NotYet, number, percent, Problem, Scrolling, Spark, t, under, useEffect, useState } from "../parts.js";

/** A hierarchy as a mapping; recipes may write its kind alone. */
const spelled = (builder) => (typeof builder === "string" ? { kind: builder } : { ...builder });

const groupsToText = (tree) =>
  Object.entries(tree ?? {}).map(([name, values]) => `${name}: ${Array.isArray(values) ? values.join(", ") : JSON.stringify(values)}`).join("\n");

const textToGroups = (text) =>
  Object.fromEntries(
    text.split("\n").filter((line) => line.includes(":")).map((line) => {
      const [name, ...rest] = line.split(":");
      return [name.trim(), rest.join(":").split(",").map((each) => each.trim()).filter(Boolean)];
    }),
  );

/** The parameters that a page asks for; the others are written in the recipe. */
const ASKED = {
  intervals: ["widths"],
  ordering: ["groups", "order"],
  redaction: ["align", "start", "character"],
  dates: ["units", "root"],
  priority: ["order", "first", "levels"],
  auto: ["few"],
};

function Parameter({ parameter, value, onChange }) {
  const schema = parameter.schema;
  const label = html`<span title=${parameter.about}>${parameter.name.replaceAll("_", " ")}</span>`;
  if (schema.enum) {
    return html`<label>${label} <select value=${value ?? schema.default} onChange=${(event) => onChange(event.target.value)}>${schema.enum.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>`;
  }
  if (schema.type === "boolean") {
    return html`<label><input type="checkbox" checked=${value ?? schema.default ?? false} onChange=${(event) => onChange(event.target.checked)} /> ${label}</label>`;
  }
  if (schema.type === "integer" || schema.type === "number") {
    return html`<label>${label} <input type="number" value=${value ?? schema.default ?? ""} onChange=${(event) => onChange(event.target.value === "" ? undefined : Number(event.target.value))} /></label>`;
  }
  if (schema.type === "array") {
    const read = (text) => text.split(",").map((each) => each.trim()).filter(Boolean).map((each) => (Number.isNaN(Number(each)) ? each : Number(each)));
    return html`<label>${label} <input value=${(value ?? schema.default ?? []).join(", ")} onChange=${(event) => onChange(read(event.target.value))} /></label>`;
  }
  if (schema.type === "string") {
    return html`<label>${label} <input value=${value ?? schema.default ?? ""} maxlength="50" onChange=${(event) => onChange(event.target.value)} /></label>`;
  }
  return null;
}

function Editor({ column }) {
  const kinds = state.catalogues.hierarchies ?? [];
  const builder = spelled(under(state.plan.draft.hierarchies, column) ?? "auto");
  const [shown, setShown] = useState(null);
  const [problem, setProblem] = useState(null);
  const asked = JSON.stringify(builder);
  useEffect(() => {
    let wanted = true;
    const timer = setTimeout(() => {
      post("/hierarchies/preview", { table: state.table.id, column, builder }).then(
        (told) => { if (wanted) { setShown(told); setProblem(null); } },
        (error) => wanted && (setProblem(error.message), setShown(null)),
      );
    }, 150);
    return () => { wanted = false; clearTimeout(timer); };
  }, [column, asked, state.table.id]);

  const put = (made) => attempt(() => change(`${column}: ${made.kind}`, { hierarchies: { [column]: made }, levels: { [column]: null } }));
  const set = (name, value) => {
    const made = { ...builder, [name]: value };
    if (value === undefined) delete made[name];
    put(made);
  };
  const choose = async (kind) => {
    if (kind === "intervals") return put({ kind, widths: [10, 20, 40] });
    if (kind === "ordering") return put({ kind, groups: [2, 2] });
    if (kind === "dates") return put({ kind, units: ["month", "year", "decade"], root: true });
    if (kind === "categories") {
      const rows = shown?.rows ?? [];
      return put({ kind, tree: { [t("levels.group")]: rows.map((row) => row[0]).filter(Boolean) } });
    }
    return put({ kind });
  };
  const kind = kinds.find((each) => each.kind === builder.kind);
  const height = shown ? shown.levels.length - 1 : 0;
  const bounds = under(state.plan.draft.levels, column) ?? [0, null];
  const [low, high] = [bounds[0], bounds[1] ?? height];
  const bound = (next) => attempt(() => change(`${column}: ${t("levels.allowed")} ${next[0]} … ${next[1]}`, { levels: { [column]: next } }));
  const levels = Array.from({ length: height + 1 }, (_, level) => level);
  return html`<section class="card editor" aria-label=${column}>
    <h2>${column}</h2>
    <p class="row">
      <label>${t("levels.kind")} <select value=${builder.kind} onChange=${(event) => choose(event.target.value)}>
        ${kinds.filter((each) => each.kind !== "table" || builder.kind === "table").map((each) => html`<option value=${each.kind}>${t(`hierarchy.${each.kind}`)}</option>`)}</select></label>
      ${(kind?.parameters ?? []).filter((each) => ASKED[builder.kind]?.includes(each.name)).map((each) => html`<${Parameter} key=${each.name} parameter=${each} value=${builder[each.name]} onChange=${(value) => set(each.name, value)} />`)}
    </p>
    <p class="quiet">${kind?.definition}</p>
    ${builder.kind === "categories"
      ? html`<label>${t("levels.groups")}<textarea rows="6" value=${groupsToText(builder.tree)} onChange=${(event) => set("tree", textToGroups(event.target.value))}></textarea></label>`
      : null}
    <${Files} column=${column} shown=${shown} put=${put} />
    <${Problem} message=${problem} />
    ${state.plan.draft.models.some((model) => model.kind === "SafePub") && builder.kind !== "table" ? html`<${Written} key=${column} column=${column} builder=${builder} put=${put} />` : null}
    ${shown
      ? html`<${Scrolling} label=${`${column}: ${t("step.levels")}`}>
          <table class="levels">
            <thead><tr><td></td>${shown.levels.map((level, index) => html`<th scope="col" class=${index < low || index > high ? "out" : ""}>${index} · ${level.name}</th>`)}</tr></thead>
            <tbody>
              <tr><th scope="row">${t("levels.values")}</th>${shown.levels.map((level) => html`<td>${number(level.labels)}</td>`)}</tr>
              <tr><th scope="row">${t("levels.people")}</th>${shown.levels.map((level) => html`<td><${Spark} bars=${level.bars.map(([label, records]) => ({ first: label, last: label, records }))} label=${level.bars.slice(0, 8).map(([label, records]) => `${label}: ${number(records)}`).join(", ")} /></td>`)}</tr>
              <tr><th scope="row">${t("levels.singled")}</th>${shown.levels.map((level) => html`<td>${percent(level.singled_out)}</td>`)}</tr>
            </tbody>
            <tbody class="values">${shown.rows.map((row, index) => html`<tr><th scope="row">${index === 0 ? t("levels.examples") : html`<span class="hidden">${index + 1}</span>`}</th>${row.map((label) => html`<td dir="auto">${label || html`<span class="none">${t("cell.missing")}</span>`}</td>`)}</tr>`)}</tbody>
          </table>
        <//>
        <p class="row">${t("levels.allowed")}:
          <label>${t("levels.least")} <select value=${low} onChange=${(event) => bound([Number(event.target.value), Math.max(high, Number(event.target.value))])}>${levels.map((level) => html`<option value=${level}>${level}</option>`)}</select></label>
          <label>${t("levels.most")} <select value=${high} onChange=${(event) => bound([Math.min(low, Number(event.target.value)), Number(event.target.value)])}>${levels.map((level) => html`<option value=${level}>${level}</option>`)}</select></label>
        </p>`
      : null}
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
function Files({ column, shown, put }) {
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
function Written({ column, builder, put }) {
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
      ? html`<p class="row">${["first", "last"].map((name) => html`<label>${t(`levels.${name}`)} <input type="number" value=${range[name]} onChange=${(event) => setRange({ ...range, [name]: Number(event.target.value) })} /></label>`)}</p>`
      : html`<label>${t("levels.possible")}<textarea rows="6" value=${values} onChange=${(event) => setValues(event.target.value)}></textarea></label>`}
    <button onClick=${write}>${t("levels.write")}</button></section>`;
}

export default function Levels() {
  const [chosen, setChosen] = useState(null);
  useEffect(() => { catalogue("hierarchies"); }, []);
  const quasi = columnsOf("quasi-identifying");
  if (!quasi.length) return html`<${Heading}>${t("step.levels")}<//><${NotYet} step=${state.table ? "roles" : "table"}>${t(state.table ? "missing.no quasi-identifier" : "missing.no table")}<//>`;
  const without = quasi.filter((name) => !under(state.plan.draft.hierarchies, name));
  const propose = () =>
    attempt(async () => {
      const { hierarchies } = await post("/hierarchies/proposals", { table: state.table.id, columns: without });
      await change(t("levels.proposed", { number: without.length }), { hierarchies });
    });
  const open = quasi.includes(chosen) ? chosen : quasi[0];
  return html`<${Heading} intro=${t("intro.levels")}>${t("step.levels")}<//>
    <p class="row">
      ${without.length
        ? html`<button class="primary" onClick=${propose}>${t("levels.propose", { number: without.length })}</button>`
        : html`<button class="primary" onClick=${() => go("promises")}>${t("next")} ${t("step.promises")}</button>`}
    </p>
    <div class="sides">
      <nav class="card columns" aria-label=${t("levels.columns")}><ul>${quasi.map((name) => html`<li>
        <button aria-pressed=${name === open} onClick=${() => setChosen(name)}>${name}
          <span class="quiet">${under(state.plan.draft.hierarchies, name) ? `✓ ${t(`hierarchy.${spelled(under(state.plan.draft.hierarchies, name)).kind}`)}` : `! ${t("levels.none")}`}</span></button></li>`)}</ul></nav>
      <${Editor} key=${open} column=${open} />
    </div>`;
}
