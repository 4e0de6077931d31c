// Groups of values as a tree: dragged by their handles, cut and pasted, renamed; values without a group wait in a tray.

import { html, number, Problem, t, useEffect, useLayoutEffect, useRef, useState } from "./parts.js";

const MOST = 200; // values of a group that are shown at a time

/** The tree of a recipe as groups; values beside groups are a group of the same name inside, which the recipe pads with. */
export function groupsOf(tree) {
  return Object.entries(tree ?? {}).map(([name, below]) => {
    if (Array.isArray(below)) return { name, groups: [], values: [...below] };
    const groups = groupsOf(below);
    const own = groups.find((each) => each.name === name && !each.groups.length);
    return { name, groups: groups.filter((each) => each !== own), values: own?.values ?? [] };
  });
}

/** Groups as the tree of a recipe. */
export function treeOf(groups) {
  return Object.fromEntries(
    groups.map((each) => [each.name, each.groups.length ? { ...treeOf(each.groups), ...(each.values.length ? { [each.name]: each.values } : {}) } : each.values]),
  );
}

const clone = (groups) => groups.map((each) => ({ ...each, groups: clone(each.groups), values: [...each.values] }));

/** Find a group by its names from the top. */
function at(groups, path) {
  let found = { groups };
  for (const name of path) found = found?.groups.find((each) => each.name === name);
  return found;
}

/** Every group with its path, from the top down. */
const walk = (groups, path = []) => groups.flatMap((each) => [{ group: each, path: [...path, each.name] }, ...walk(each.groups, [...path, each.name])]);

const keyOf = (item) => JSON.stringify(item.value === undefined ? [item.path] : [item.path, item.value]);

/** The name of a group while it is changed: it has the focus as soon as it is there. */
function Rename({ name, onTake, onLeave }) {
  const input = useRef(), left = useRef(false);
  const [text, setText] = useState(name); // its own, as the rest may be drawn anew while somebody types
  // Before anything can be typed elsewhere.
  useLayoutEffect(() => { input.current.focus(); input.current.select(); }, []);
  const take = (event) => { if (!left.current) { left.current = true; onTake(event.target.value.trim()); } };
  const key = (event) => {
    event.stopPropagation();
    if (event.key === "Enter") take(event);
    if (event.key === "Escape") { left.current = true; onLeave(); }
  };
  return html`<input class="rename" ref=${input} aria-label=${t("tree.rename", { name })} value=${text} maxlength="200" onInput=${(event) => setText(event.target.value)} onKeyDown=${key} onBlur=${take} />`;
}

export function Tree({ tree, tray, waiting, onChange }) {
  const [filter, setFilter] = useState("");
  const [chosen, setChosen] = useState(new Set()); // values
  const [closed, setClosed] = useState(new Set());
  const [focus, setFocus] = useState(null);
  const [renaming, setRenaming] = useState(null);
  const [over, setOver] = useState(null);
  const [problem, setProblem] = useState(null);
  const cut = useRef([]);
  const wish = useRef(null); // the row that gets the focus once it is there
  const list = useRef();
  const groups = groupsOf(tree);
  const wanted = filter.trim().toLowerCase();
  const shown = (values) => (wanted ? values.filter((each) => each.toLowerCase().includes(wanted)) : values);

  // The rows that are visible, in their order: the tray first, then groups, each with what is in it.
  const rows = [];
  const addValues = (values, path, level) => {
    const fitting = shown(values);
    for (const value of fitting.slice(0, MOST)) rows.push({ path, value, level });
    if (fitting.length > MOST) rows.push({ path, more: fitting.length - MOST, level });
  };
  if (tray.length) {
    rows.push({ path: null, level: 1, name: t("tree.tray", { number: number(waiting) }), count: waiting });
    addValues(tray, null, 2);
  }
  const addGroups = (found, path) => {
    for (const each of found) {
      const here = [...path, each.name];
      rows.push({ path: here, level: here.length, name: each.name, count: walk([each]).reduce((sum, one) => sum + one.group.values.length, 0), open: !closed.has(keyOf({ path: here })) });
      if (closed.has(keyOf({ path: here }))) continue;
      addGroups(each.groups, here);
      addValues(each.values, here, here.length + 1);
    }
  };
  addGroups(groups, []);
  const keys = rows.map(keyOf);
  const current = keys.includes(focus) ? focus : keys[0];
  useEffect(() => { if (keys.includes(wish.current)) { go(wish.current); wish.current = null; } });
  const go = (key) => { setFocus(key); list.current?.querySelector(`[data-key="${CSS.escape(key)}"]`)?.focus(); };

  // Changes, each of which is one that can be undone
  const commit = (made, words) => { setProblem(null); onChange(treeOf(made), words); };
  const move = (values, path) => {
    const made = clone(groups), going = new Set(values);
    const target = at(made, path);
    if (!target || !values.length) return;
    for (const { group } of walk(made)) group.values = group.values.filter((each) => !going.has(each));
    target.values.push(...values);
    setChosen(new Set());
    cut.current = [];
    commit(made, `${values.slice(0, 3).join(", ")}${values.length > 3 ? " …" : ""} → ${path.join(" › ")}`);
  };
  const add = (path) => {
    const made = clone(groups), place = at(made, path);
    let name = t("levels.group"), count = 2;
    while (place.groups.some((each) => each.name === name)) name = `${t("levels.group")} ${count++}`;
    place.groups.push({ name, groups: [], values: [...chosen] });
    if (chosen.size) for (const { group } of walk(made)) if (group !== place.groups.at(-1)) group.values = group.values.filter((each) => !chosen.has(each));
    setChosen(new Set());
    commit(made, t("tree.added", { name }));
    setRenaming(keyOf({ path: [...path, name] }));
  };
  const rename = (path, name) => {
    setRenaming(null);
    wish.current = keyOf({ path });
    if (!name || name === path.at(-1)) return undefined;
    const made = clone(groups), above = at(made, path.slice(0, -1));
    if (above.groups.some((each) => each.name === name)) return setProblem(t("tree.taken", { name }));
    at(made, path).name = name;
    commit(made, `${path.at(-1)} → ${name}`);
    return (wish.current = keyOf({ path: [...path.slice(0, -1), name] }));
  };
  const dissolve = (path) => {
    const made = clone(groups), above = at(made, path.slice(0, -1));
    const gone = at(made, path);
    above.groups.splice(above.groups.indexOf(gone), 1, ...gone.groups);
    if (path.length > 1) above.values.push(...gone.values);
    if (!walk(made).some((each) => each.group.values.length)) return setProblem(t("tree.last"));
    return commit(made, t("tree.dissolved", { name: path.at(-1) }));
  };
  const nest = (from, to) => {
    if (from.every((name, index) => to[index] === name)) return undefined; // into itself
    const made = clone(groups), moved = at(made, from), target = at(made, to);
    if (target.groups.some((each) => each.name === moved.name)) return setProblem(t("tree.taken", { name: moved.name }));
    const above = at(made, from.slice(0, -1));
    above.groups.splice(above.groups.indexOf(moved), 1);
    target.groups.push(moved);
    return commit(made, `${from.at(-1)} → ${to.join(" › ") || t("tree.top")}`);
  };

  const toggle = (value) => setChosen((now) => { const made = new Set(now); if (!made.delete(value)) made.add(value); return made; });
  const fold = (path, shut) => setClosed((now) => { const made = new Set(now); made[shut ? "add" : "delete"](keyOf({ path })); return made; });
  const key = (event, row) => {
    if (event.target.tagName === "INPUT") return;
    const index = keys.indexOf(keyOf(row)), meta = event.ctrlKey || event.metaKey, letter = event.key.toLowerCase();
    const isGroup = row.value === undefined && row.path;
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      const next = rows[index + (event.key === "ArrowDown" ? 1 : -1)];
      if (next && event.shiftKey) for (const each of [row, next]) if (each.value !== undefined) setChosen((now) => new Set(now).add(each.value));
      if (next) go(keyOf(next));
    } else if (event.key === "Home") go(keys[0]);
    else if (event.key === "End") go(keys.at(-1));
    else if (event.key === "ArrowRight" && isGroup) fold(row.path, false);
    else if (event.key === "ArrowLeft") { if (isGroup && row.open) fold(row.path, true); else if (row.path?.length) go(keyOf({ path: isGroup ? row.path.slice(0, -1) : row.path })); }
    else if (event.key === " " && row.value !== undefined) toggle(row.value);
    else if (meta && letter === "a") setChosen(new Set(rows.filter((each) => each.value !== undefined).map((each) => each.value)));
    else if (meta && letter === "x") cut.current = chosen.size ? [...chosen] : row.value !== undefined ? [row.value] : [];
    else if (meta && letter === "v" && row.path) move(cut.current, row.path);
    else if (event.key === "F2" && isGroup) setRenaming(keyOf(row));
    else if (event.key === "Insert") add(isGroup && event.shiftKey ? row.path : []);
    else if (event.key === "Delete" && isGroup) dissolve(row.path);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  const drag = (event, row) => {
    const values = row.value === undefined ? null : chosen.has(row.value) ? [...chosen] : [row.value];
    event.dataTransfer.setData("application/json", JSON.stringify(values ? { values } : { path: row.path }));
    event.dataTransfer.effectAllowed = "move";
  };
  const drop = (event, row) => {
    event.preventDefault();
    setOver(null);
    if (!row.path) return;
    const told = JSON.parse(event.dataTransfer.getData("application/json") || "{}");
    if (told.values) move(told.values, row.path);
    else if (told.path) nest(told.path, row.path);
  };
  const all = walk(groups);
  const fitting = rows.filter((each) => each.value !== undefined);
  return html`<div class="tree-editor">
    <p class="row"><label>${t("tree.filter")} <input type="search" value=${filter} onInput=${(event) => setFilter(event.target.value)} /></label>
      <button disabled=${!fitting.length} onClick=${() => setChosen(new Set(fitting.map((each) => each.value)))}>${t("tree.all", { number: number(fitting.length) })}</button>
      <button disabled=${!chosen.size} onClick=${() => setChosen(new Set())}>${t("tree.none")}</button></p>
    <p class="row" role="status"><span>${t("tree.chosen", { number: number(chosen.size) })}</span></p>
    <p class="row"><label>${t("tree.move")} <select value="" disabled=${!chosen.size} onChange=${(event) => { if (event.target.value) move([...chosen], JSON.parse(event.target.value)); event.target.value = ""; }}><option value="">…</option>
        ${all.map(({ path }) => html`<option value=${JSON.stringify(path)}>${path.join(" › ")}</option>`)}</select></label>
      <button onClick=${() => add([])}>${t(chosen.size ? "tree.new.chosen" : "tree.new")}</button></p>
    <${Problem} message=${problem} />
    <ul class="tree" role="tree" aria-label=${t("tree")} aria-multiselectable="true" ref=${list}>
      ${rows.map((row) => {
        const name = keyOf(row), isValue = row.value !== undefined;
        if (row.more) return html`<li role="none" class="quiet" style=${{ paddingLeft: `${row.level * 1.4}rem` }}>${t("tree.more", { number: number(row.more) })}</li>`;
        return html`<li role="treeitem" key=${name} data-key=${name} aria-level=${row.level} aria-selected=${isValue ? chosen.has(row.value) : null} aria-expanded=${isValue ? null : row.open ?? true}
            class=${`${isValue ? "leaf" : row.path ? "branch" : "tray"} ${over === name ? "over" : ""}`} style=${{ paddingLeft: `${(row.level - 1) * 1.4 + 0.3}rem` }}
            tabindex=${name === current ? 0 : -1} draggable=${row.path || isValue ? "true" : "false"}
            onFocus=${(event) => event.target === event.currentTarget && setFocus(name)} onKeyDown=${(event) => key(event, row)}
            onClick=${(event) => { if (event.target.tagName === "INPUT") return; if (isValue) toggle(row.value); else if (row.path && event.detail === 1) fold(row.path, row.open); }}
            onDblClick=${() => !isValue && row.path && setRenaming(name)}
            onDragStart=${(event) => drag(event, row)} onDragOver=${(event) => { if (row.path) { event.preventDefault(); setOver(name); } }} onDragLeave=${() => setOver(null)} onDrop=${(event) => drop(event, row)}>
          <span class="handle" aria-hidden="true">⠿</span>
          ${isValue
            ? html`<span class="tick" aria-hidden="true">${chosen.has(row.value) ? "☑" : "☐"}</span> <span dir="auto">${row.value}</span>`
            : renaming === name
              ? html`<${Rename} name=${row.name} onTake=${(made) => { rename(row.path, made); }} onLeave=${() => { setRenaming(null); go(name); }} />`
              : html`<span aria-hidden="true">${row.path ? (row.open ? "▾ " : "▸ ") : "! "}</span><b dir="auto">${row.name}</b> ${row.path ? html`<span class="quiet">${number(row.count)}</span>` : null}`}
        </li>`;
      })}
    </ul>
    <p class="quiet">${t("tree.keys")}</p>
  </div>`;
}
