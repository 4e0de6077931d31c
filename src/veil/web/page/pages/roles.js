// Roles: what an attacker may know, and what must be protected.

import { attempt, change, columnsOf, get, post, state, whom } from "../server.js";
import { Gauge, go, Heading, html, NotYet, number, percent, Scrolling, t, under, useEffect, useState } from "../parts.js";
import { Pseudonyms, Spelling, Treatment } from "../pseudonyms.js";

const ROLES = [["identifying", "i"], ["quasi-identifying", "q"], ["sensitive", "s"], ["insensitive", "n"], ["drop", "d"]];

/** Give columns a role. */
const give = (columns, role) =>
  attempt(() => change(`${columns.join(", ")}: ${t(`role.${role}`)}`, { roles: Object.fromEntries(columns.map((name) => [name, role])) }));

// What a column may be besides its role

/** Which further things a column is, by their names. */
function furtherOf(column) {
  const draft = state.plan.draft;
  const found = ["person", "weights", "household", "response"].filter((what) => draft[what] === column);
  return under(draft.linked, column) ? [...found, "linked"] : found;
}

/** The role that a column gets along with something else, if nobody has decided on one. */
const ALONG = { weights: "insensitive", household: "drop" };

function Further({ column, role }) {
  const draft = state.plan.draft;
  const choose = (what, on) => {
    const along = what === "person" && on ? "identifying" : role ? null : ALONG[what];
    const set = { [what]: on ? column : what === "person" ? "ask" : null };
    if (along && on) set.roles = { [column]: along };
    attempt(() => change(`${column}: ${t(`further.${what}`)}${on ? "" : " ×"}${along && on ? `, ${t(`role.${along}`)}` : ""}`, set));
  };
  const link = (to) => attempt(() => change(`${column}: ${t("further.linked")} ${to || "×"}`, { linked: { [column]: to || null } }));
  const others = columnsOf("quasi-identifying").filter((name) => name !== column);
  return html`<fieldset class="further"><legend class="hidden">${t("further", { column })}</legend>
    ${["person", "weights", "household", "response"].map((what) => html`<label class="choice"><input type="checkbox" checked=${draft[what] === column} onChange=${(event) => choose(what, event.target.checked)} /> ${t(`further.${what}`)} <span class="quiet">${t(`further.about.${what}`)}</span></label>`)}
    ${draft.person === column ? html`<${Spelling} />` : null}
    ${role === "quasi-identifying" || !others.length ? null : html`<label class="choice">${t("further.linked")} <select value=${under(draft.linked, column) ?? ""} onChange=${(event) => link(event.target.value)}><option value="">–</option>${others.map((name) => html`<option value=${name}>${name}</option>`)}</select> <span class="quiet">${t("further.about.linked")}</span></label>`}
  </fieldset>`;
}

// A row

function Row({ column, at, proposal, found, chosen, onKey, onPick }) {
  const [open, setOpen] = useState(false);
  const role = under(state.plan.draft.roles, column);
  const undecided = proposal && proposal.confidence === 0;
  const proposed = !role && !undecided && proposal ? proposal.role : null;
  const why = proposal ? proposal.reasons.join("; ") : "";
  const further = furtherOf(column);
  return html`<tr class=${chosen ? "picked" : ""} onKeyDown=${(event) => onKey(event, at)}>
    <th scope="row" onClick=${(event) => event.shiftKey && onPick(at)}>${column}
      ${further.map((what) => html` <span class="tag">${t(`further.${what}`)}${what === "linked" ? ` ${under(state.plan.draft.linked, column)}` : ""}</span>`)}</th>
    <td>
      <div class="group" role="radiogroup" aria-label=${`${column}, ${t("roles.role")}${role ? "" : `, ${t(proposed ? "roles.proposed" : "roles.undecided")}`}`} aria-describedby=${`why-${at}`}>
        ${ROLES.map(([name, letter]) => html`<label class=${`choice ${role === name ? "chosen" : ""} ${proposed === name ? "proposed" : ""}`} title=${letter.toUpperCase()}>
          <input type="radio" name=${`role of ${column}`} checked=${role === name} onChange=${() => give([column], name)} />
          ${t(`role.${name}`)}${proposed === name ? html`<span class="hidden">, ${t("roles.proposed")}</span>` : null}
        </label>`)}
      </div>
      ${open ? html`<${Further} column=${column} role=${role} />` : null}
    </td>
    <td class="why"><span id=${`why-${at}`}>${role ? "" : html`<b>${undecided ? `⚠ ${t("roles.undecided")}` : t("roles.proposed")}</b>: `}${why}</span>
      ${role === "identifying" ? html`<${Treatment} column=${column} />` : null}</td>
    <td class="share">${found === undefined ? "…" : html`<span title=${t("roles.apart", { distinction: percent(found.distinction), separation: percent(found.separation) })}><${Gauge} share=${found.share} label=${t("roles.singles")} /> ${percent(found.share)}</span>`}</td>
    <td><button class="icon" aria-expanded=${open} aria-label=${t("further", { column })} title=${t("further", { column })} onClick=${() => setOpen(!open)}>⋯</button></td>
  </tr>`;
}

/** Put the focus on a row: on its role, or where that would be chosen. */
function focusRow(at) {
  const row = document.querySelectorAll("table.roles > tbody > tr")[at];
  (row?.querySelector("input[type=radio]:checked") ?? row?.querySelector("input[type=radio]"))?.focus();
}

/** Pairs of columns, and whom they single out together: for whoever looks for what an attacker would use. */
function WhatIf({ single }) {
  const [open, setOpen] = useState(false);
  const [found, setFound] = useState(new Map());
  const columns = state.table.columns.filter((name) => !["identifying", "drop"].includes(under(state.plan.draft.roles, name))).slice(0, 10);
  useEffect(() => {
    let wanted = open;
    (async () => {
      const told = new Map();
      for (const [at, first] of columns.entries()) {
        for (const second of columns.slice(at + 1)) {
          if (!wanted) return;
          told.set(JSON.stringify([first, second]), (await single([first, second]).catch(() => undefined))?.share);
          if (wanted) setFound(new Map(told));
        }
      }
    })();
    return () => { wanted = false; };
  }, [open, state.table.id, columns.join("\n")]);
  return html`<details class="card whatif" onToggle=${(event) => setOpen(event.target.open)}><summary>${t("roles.whatif")}</summary>
    <p class="quiet">${t("roles.whatif.about")}</p>
    ${open ? html`<${Scrolling} label=${t("roles.whatif")}><table class="plain"><thead><tr><td></td>${columns.slice(1).map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${columns.slice(0, -1).map((first, at) => html`<tr><th scope="row">${first}</th>${columns.slice(1).map((second, index) => {
        if (index < at) return html`<td></td>`;
        const share = found.get(JSON.stringify([first, second]));
        return html`<td>${share === undefined ? "…" : html`<button class=${`cell heat${Math.min(4, Math.round(4 * share))}`} title=${t("roles.whatif.take")} onClick=${() => give([first, second], "quasi-identifying")}>${percent(share)}</button>`}</td>`;
      })}</tr>`)}</tbody></table><//>` : null}</details>`;
}

export default function Roles() {
  const [proposals, setProposals] = useState([]);
  const [shares, setShares] = useState(new Map());
  const [together, setTogether] = useState(null);
  const [picked, setPicked] = useState(null); // rows from one to another, by keys
  const id = state.table?.id;
  const unit = whom();
  const quasi = columnsOf("quasi-identifying");
  const single = (columns) => post(`/tables/${id}/singling-out`, { columns, person: unit });

  useEffect(() => {
    if (id) attempt(async () => setProposals(await get(`/tables/${id}/roles?language=${state.language}`)));
  }, [id, state.language]);
  useEffect(() => {
    let wanted = Boolean(id);
    (async () => {
      const found = new Map();
      for (const column of state.table?.columns ?? []) {
        if (!wanted) return;
        found.set(column, await single([column]).catch(() => undefined));
        if (wanted) setShares(new Map(found));
      }
    })();
    return () => { wanted = false; };
  }, [id, unit]);
  useEffect(() => {
    let wanted = true;
    setTogether(null);
    if (id && quasi.length) single(quasi).then((told) => wanted && setTogether(told.share), () => {});
    return () => { wanted = false; };
  }, [id, unit, quasi.join("\n")]);

  if (!state.table) return html`<${Heading}>${t("step.roles")}<//><${NotYet} step="table">${t("missing.no table")}<//>`;
  const { columns } = state.table;
  const roles = state.plan.draft.roles;
  const open = proposals.filter((each) => !under(roles, each.column) && each.confidence > 0);
  const undecided = columns.filter((name) => !under(roles, name));
  const accept = () =>
    attempt(() => change(t("roles.accepted", { number: open.length }), { roles: Object.fromEntries(open.map((each) => [each.column, each.role])) }));
  const decide = (role) =>
    attempt(() => change(t("roles.decided", { role: t(`role.${role}`) }), { roles: Object.fromEntries(undecided.map((name) => [name, role])) }));
  const byColumn = new Map(proposals.map((each) => [each.column, each]));
  const isPicked = (at) => picked !== null && at >= Math.min(...picked) && at <= Math.max(...picked);
  const key = (event, at) => {
    if (["SELECT", "INPUT"].includes(event.target.tagName) && event.target.type !== "radio") return;
    const meant = ROLES.find(([, letter]) => letter === event.key.toLowerCase());
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by && event.shiftKey) {
      const to = Math.min(columns.length - 1, Math.max(0, at + by));
      setPicked([picked?.[0] ?? at, to]);
      focusRow(to);
    } else if (event.key === "Escape" && picked) setPicked(null);
    else if (meant && !event.ctrlKey && !event.altKey && !event.metaKey) give(isPicked(at) ? columns.filter((_, each) => isPicked(each)) : [columns[at]], meant[0]);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return html`<${Heading} intro=${t("intro.roles")}>${t("step.roles")}<//>
    <p class="row">
      ${open.length ? html`<button class="primary" onClick=${accept}>${t("roles.accept", { number: open.length })}</button>` : null}
      ${undecided.length && !open.length ? html`<button onClick=${() => decide("drop")}>${t("roles.drop", { number: undecided.length })}</button>
        ${["sensitive", "insensitive"].map((role) => html`<button onClick=${() => decide(role)}>${t("roles.all", { role: t(`role.${role}`) })}</button>`)}` : null}
      ${undecided.length ? null : html`<button class="primary" onClick=${() => go("levels")}>${t("next")} ${t("step.levels")}</button>`}
    </p>
    <p class="together" role="status">${quasi.length
      ? t("roles.together", { number: number(quasi.length), share: together === null ? "…" : percent(together) })
      : t("missing.no quasi-identifier")}
      ${picked ? html` <span class="quiet">${t("roles.picked", { number: Math.abs(picked[1] - picked[0]) + 1 })}</span>` : null}</p>
    <${Pseudonyms} />
    <${Scrolling} label=${t("step.roles")}>
      <table class="roles">
        <thead><tr><th scope="col">${t("roles.column")}</th><th scope="col">${t("roles.role")}</th><th scope="col">${t("roles.why")}</th><th scope="col">${t("roles.singles")}</th><td></td></tr></thead>
        <tbody>${columns.map((column, at) => html`<${Row} key=${column} column=${column} at=${at} proposal=${byColumn.get(column)} found=${shares.get(column)}
          chosen=${isPicked(at)} onKey=${key} onPick=${(to) => setPicked([picked?.[0] ?? to, to])} />`)}</tbody>
      </table>
    <//>
    <${WhatIf} single=${single} />
    <details class="card"><summary>${t("roles.what")}</summary><dl>${ROLES.map(([name, letter]) => html`<dt>${t(`role.${name}`)} <kbd>${letter.toUpperCase()}</kbd></dt><dd>${t(`role.about.${name}`)}</dd>`)}</dl></details>`;
}
