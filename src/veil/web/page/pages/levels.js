// Levels: for each quasi-identifier, how it may become coarser.

import { attempt, catalogue, change, columnsOf, post, state } from "../server.js";
import { go, Heading, html, NotYet, number, percent, Problem, Scrolling, Spark, t, Typed, under, useEffect, useState } from "../parts.js";
import { Tree } from "../tree.js";
import { Files, Uncovered, Written } from "../levels.js";

/** A hierarchy as a mapping; recipes may write its kind alone. */
const spelled = (builder) => (typeof builder === "string" ? { kind: builder } : { ...builder });

/** The parameters that a page asks for; the others are written in the recipe. */
const ASKED = {
  intervals: ["widths"],
  ordering: ["groups", "order"],
  redaction: ["align", "start", "character"],
  dates: ["units", "root"],
  priority: ["order", "first", "levels"],
  auto: ["few"],
};

/** A parameter: what is typed is tried at once (`onTry`), and taken once it is left (`onChange`). */
function Parameter({ parameter, value, onTry, onChange }) {
  const schema = parameter.schema;
  const label = html`<span title=${parameter.about}>${t(`parameter.${parameter.name}`)}</span>`;
  const field = (read) => ({ onTry: (text) => onTry(read(text)), onTake: (text) => onChange(read(text)) });
  if (schema.enum) {
    return html`<label>${label} <select value=${value ?? schema.default} onChange=${(event) => onChange(event.target.value)}>${schema.enum.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>`;
  }
  if (schema.type === "boolean") {
    return html`<label><input type="checkbox" checked=${value ?? schema.default ?? false} onChange=${(event) => onChange(event.target.checked)} /> ${label}</label>`;
  }
  if (schema.type === "integer" || schema.type === "number") {
    return html`<label>${label} <${Typed} type="number" value=${value ?? schema.default ?? ""} ...${field((text) => (text === "" ? undefined : Number(text)))} /></label>`;
  }
  if (schema.type === "array") {
    const read = (text) => text.split(",").map((each) => each.trim()).filter(Boolean).map((each) => (Number.isNaN(Number(each)) ? each : Number(each)));
    const shown = (value ?? schema.default ?? []).map((each) => (Array.isArray(each) ? each.map((one) => one.size ?? one).join(" ") : each?.size ?? each));
    return html`<label>${label} <${Typed} value=${shown.join(", ")} ...${field(read)} /></label>`;
  }
  if (schema.type === "string") {
    return html`<label>${label} <${Typed} value=${value ?? schema.default ?? ""} maxlength="50" size="6" ...${field((text) => text)} /></label>`;
  }
  return null;
}

/** Values beyond an end that are one group: under 18, or 90 and more. */
function Ends({ builder, onTry, onChange }) {
  const set = (end, text, take) => {
    const made = { ...builder };
    const rest = { ...made[end] };
    delete rest.coding;
    if (text !== "") rest.coding = Number(text);
    if (Object.keys(rest).length) made[end] = rest;
    else delete made[end];
    take(made);
  };
  return ["lower", "upper"].map((end) => html`<label>${t(`levels.${end}`)} <${Typed} type="number" value=${builder[end]?.coding ?? ""} onTry=${(text) => set(end, text, onTry)} onTake=${(text) => set(end, text, onChange)} /></label>`);
}

/** Two or three hierarchies that suit a column, each with why. */
function Proposals({ column, builder, put }) {
  const [choices, setChoices] = useState([]);
  useEffect(() => {
    let wanted = true;
    post("/hierarchies/proposals", { table: state.table.id, columns: [column] }).then((told) => wanted && setChoices(told.choices[column]), () => {});
    return () => { wanted = false; };
  }, [column, state.table.id]);
  const same = (one, other) => JSON.stringify(spelled(one)) === JSON.stringify(spelled(other));
  return html`<ul class="proposals" aria-label=${t("levels.proposals")}>${choices.map((each) => html`<li><button aria-pressed=${same(each.builder, builder)} onClick=${() => put(spelled(each.builder))}>
    <b>${t(`hierarchy.${spelled(each.builder).kind}`)}</b> <span>${state.words[`proposal.${each.name}`] ?? each.reason}</span></button></li>`)}</ul>`;
}

/** Two handles on one line: the least and the greatest level that the search may use. */
function Handles({ column, height, names }) {
  const bounds = under(state.plan.draft.levels, column) ?? [0, null];
  const [low, high] = [Math.min(bounds[0], height), Math.min(bounds[1] ?? height, height)];
  const put = (next) => attempt(() => change(`${column}: ${t("levels.allowed")} ${next[0]} … ${next[1]}`, { levels: { [column]: next } }));
  const bar = { left: `${(100 * low) / Math.max(1, height)}%`, width: `${(100 * (high - low)) / Math.max(1, height)}%` };
  return html`<fieldset class="handles"><legend>${t("levels.allowed")}: ${t("levels.between", { least: low, most: high })}</legend>
    <div class="line"><i style=${bar}></i>
      <${Typed} type="range" class="least" aria-label=${t("levels.least")} aria-valuetext=${`${low} · ${names[low]}`} min="0" max=${height} step="1" value=${low} disabled=${!height} onTake=${(text) => put([Math.min(Number(text), high), high])} />
      <${Typed} type="range" class="most" aria-label=${t("levels.most")} aria-valuetext=${`${high} · ${names[high]}`} min="0" max=${height} step="1" value=${high} disabled=${!height} onTake=${(text) => put([low, Math.max(Number(text), low)])} /></div>
  </fieldset>`;
}

function Editor({ column, standing }) {
  const kinds = state.catalogues.hierarchies ?? [];
  const chosen = spelled(under(state.plan.draft.hierarchies, column) ?? "auto");
  const [trial, setTrial] = useState(null);
  const [shown, setShown] = useState(null);
  const [problem, setProblem] = useState(null);
  const builder = trial ?? chosen;
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

  const put = (made, words) => { setTrial(null); return attempt(() => change(`${column}: ${words ?? t(`hierarchy.${made.kind}`)}`, { hierarchies: { [column]: made }, levels: { [column]: null } })); };
  const with_ = (name, value) => {
    const made = { ...chosen, [name]: value };
    if (value === undefined) delete made[name];
    return made;
  };
  /** Any hierarchy as groups that can be changed by hand: also one from a file. */
  const group = () => attempt(async () => {
    const told = await post("/hierarchies/groups", { table: state.table.id, column, builder: standing?.number ? "suppression" : chosen });
    const { tree } = told.builder;
    const names = Object.keys(tree);
    await put({ kind: "categories", tree: names.length === 1 && names[0] === "*" ? { [t("levels.group")]: tree["*"] } : tree });
  });
  const choose = (kind) => {
    if (kind === "intervals") return put({ kind, widths: [10, 20, 40] });
    if (kind === "ordering") return put({ kind, groups: [2, 2] });
    if (kind === "dates") return put({ kind, units: ["month", "year", "decade"], root: true });
    return kind === "categories" ? group() : put({ kind });
  };
  const kind = kinds.find((each) => each.kind === builder.kind);
  const height = shown ? shown.levels.length - 1 : 0;
  const bounds = under(state.plan.draft.levels, column) ?? [0, null];
  const [low, high] = [bounds[0], bounds[1] ?? height];
  const open = standing?.number ?? 0;
  const decided = under(state.plan.draft.hierarchies, column);
  return html`<section class="card editor" aria-label=${column}>
    <h2>${column}</h2>
    <${Proposals} column=${column} builder=${decided} put=${put} />
    <p class="row">
      <label>${t("levels.kind")} <select value=${builder.kind} onChange=${(event) => choose(event.target.value)}>
        ${kinds.filter((each) => each.kind !== "table" || builder.kind === "table").map((each) => html`<option value=${each.kind}>${t(`hierarchy.${each.kind}`)}</option>`)}</select></label>
      ${(kind?.parameters ?? []).filter((each) => ASKED[builder.kind]?.includes(each.name)).map((each) => html`<${Parameter} key=${each.name} parameter=${each} value=${chosen[each.name]} onTry=${(value) => setTrial(with_(each.name, value))} onChange=${(value) => put(with_(each.name, value))} />`)}
      ${builder.kind === "intervals" ? html`<${Ends} builder=${chosen} onTry=${setTrial} onChange=${put} />` : null}
    </p>
    <p class="quiet" lang=${kind?.paragraphs[0].language}>${kind?.paragraphs[0].text}</p>
    ${decided && open ? html`<${Uncovered} column=${column} builder=${chosen} standing=${standing} put=${put} />` : null}
    ${builder.kind === "categories" ? html`<${Tree} tree=${chosen.tree} tray=${standing?.uncovered ?? []} waiting=${open} onChange=${(tree, words) => put({ ...chosen, tree }, words)} />` : null}
    ${builder.kind === "table" ? html`<p><button onClick=${group}>${t("levels.edit")}</button></p>` : null}
    <${Files} column=${column} shown=${shown} put=${put} />
    ${open ? null : html`<${Problem} message=${problem} />`}
    ${state.plan.draft.models.some((model) => model.kind === "SafePub") && builder.kind !== "table" ? html`<${Written} key=${column} column=${column} builder=${builder} put=${put} />` : null}
    ${shown
      ? html`<${Handles} column=${column} height=${height} names=${shown.levels.map((each) => each.name)} />
        <${Scrolling} label=${`${column}: ${t("step.levels")}`}>
          <table class="levels">
            <thead><tr><td></td>${shown.levels.map((level, index) => html`<th scope="col" class=${index < low || index > high ? "out" : ""}>${index} · ${level.name}</th>`)}</tr></thead>
            <tbody>
              <tr><th scope="row">${t("levels.values")}</th>${shown.levels.map((level) => html`<td>${number(level.labels)}</td>`)}</tr>
              <tr><th scope="row">${t("levels.people")}</th>${shown.levels.map((level) => html`<td><${Spark} bars=${level.bars.map(([label, records]) => ({ first: label, last: label, records }))} label=${level.bars.slice(0, 8).map(([label, records]) => `${label}: ${number(records)}`).join(", ")} /></td>`)}</tr>
              <tr><th scope="row">${t("levels.singled")}</th>${shown.levels.map((level) => html`<td>${percent(level.singled_out)}</td>`)}</tr>
            </tbody>
            <tbody class="values">${shown.rows.map((row, index) => html`<tr><th scope="row">${index === 0 ? t("levels.examples") : html`<span class="hidden">${index + 1}</span>`}</th>${row.map((label) => html`<td dir="auto">${label || html`<span class="none">${t("cell.missing")}</span>`}</td>`)}</tr>`)}</tbody>
          </table>
        <//>`
      : null}
  </section>`;
}

/** How many levels each column has and whether they cover its values, as far as it was asked. */
function useStanding(quasi) {
  const [found, setFound] = useState(new Map());
  const asked = quasi.map((name) => JSON.stringify([name, under(state.plan.draft.hierarchies, name) ?? null]));
  useEffect(() => {
    let wanted = true;
    (async () => {
      for (const [index, name] of quasi.entries()) {
        const builder = under(state.plan.draft.hierarchies, name);
        if (!builder || found.get(name)?.asked === asked[index]) continue;
        const told = await post("/hierarchies/coverage", { table: state.table.id, column: name, builder }).catch(() => null);
        if (!wanted) return;
        setFound((now) => new Map(now).set(name, { ...told, asked: asked[index] }));
      }
    })();
    return () => { wanted = false; };
  }, [state.table?.id, asked.join("\n")]);
  return (name) => { const told = found.get(name); return told?.asked === asked[quasi.indexOf(name)] ? told : null; };
}

export default function Levels() {
  const [chosen, setChosen] = useState(null);
  useEffect(() => { catalogue("hierarchies"); }, []);
  const quasi = columnsOf("quasi-identifying");
  const standing = useStanding(quasi);
  if (!quasi.length) return html`<${Heading}>${t("step.levels")}<//><${NotYet} step=${state.table ? "roles" : "table"}>${t(state.table ? "missing.no quasi-identifier" : "missing.no table")}<//>`;
  const without = quasi.filter((name) => !under(state.plan.draft.hierarchies, name));
  const propose = () =>
    attempt(async () => {
      const { hierarchies } = await post("/hierarchies/proposals", { table: state.table.id, columns: without });
      await change(t("levels.proposed", { number: without.length }), { hierarchies });
    });
  const open = quasi.includes(chosen) ? chosen : quasi[0];
  const told = (name) => {
    const builder = under(state.plan.draft.hierarchies, name);
    if (!builder) return `! ${t("levels.none")}`;
    const found = standing(name);
    if (found?.number) return `! ${t("levels.uncovered", { number: number(found.number) })}`;
    return `${found?.levels ? `✓ ${t("levels.number", { number: found.levels })} · ` : ""}${t(`hierarchy.${spelled(builder).kind}`)}`;
  };
  return html`<${Heading} intro=${t("intro.levels")}>${t("step.levels")}<//>
    <p class="row">
      ${without.length
        ? html`<button class="primary" onClick=${propose}>${t("levels.propose", { number: without.length })}</button>`
        : html`<button class="primary" onClick=${() => go("promises")}>${t("next")} ${t("step.promises")}</button>`}
    </p>
    <div class="sides">
      <nav class="card columns" aria-label=${t("levels.columns")}><ul>${quasi.map((name) => html`<li>
        <button aria-pressed=${name === open} onClick=${() => setChosen(name)}>${name} <span class="quiet">${told(name)}</span></button></li>`)}</ul></nav>
      <${Editor} key=${open} column=${open} standing=${standing(open)} />
    </div>`;
}
