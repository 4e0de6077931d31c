// Roles: what an attacker may know, and what must be protected.

import { attempt, change, columnsOf, get, post, state } from "../server.js";
import { Gauge, go, Heading, html, NotYet, number, percent, Scrolling, t, under, useEffect, useState } from "../parts.js";

const ROLES = [["identifying", "i"], ["quasi-identifying", "q"], ["sensitive", "s"], ["insensitive", "n"], ["drop", "d"]];

function Row({ column, proposal, share }) {
  const role = under(state.plan.draft.roles, column);
  const undecided = proposal && proposal.confidence === 0;
  const set = (value) => attempt(() => change(`${column}: ${t(`role.${value}`)}`, { roles: { [column]: value } }));
  const key = (event) => {
    const meant = ROLES.find(([, letter]) => letter === event.key.toLowerCase());
    if (!meant || event.ctrlKey || event.altKey || event.metaKey) return;
    event.preventDefault();
    set(meant[0]);
  };
  const why = proposal ? proposal.reasons.join("; ") : "";
  return html`<tr onKeyDown=${key}>
    <th scope="row">${column}</th>
    <td>
      <fieldset>
        <legend class="hidden">${column}, ${t("roles.role")}${role ? "" : `, ${t("roles.undecided")}`}. ${why}</legend>
        ${ROLES.map(([name, letter]) => html`<label class=${`choice ${role === name ? "chosen" : ""} ${!role && !undecided && proposal?.role === name ? "proposed" : ""}`} title=${letter.toUpperCase()}>
          <input type="radio" name=${`role of ${column}`} checked=${role === name} onChange=${() => set(name)} />
          ${t(`role.${name}`)}${!role && !undecided && proposal?.role === name ? html`<span class="hidden">, ${t("roles.proposed")}</span>` : null}
        </label>`)}
      </fieldset>
    </td>
    <td class="why">${role ? "" : html`<b>${undecided ? `⚠ ${t("roles.undecided")}` : t("roles.proposed")}</b>: `}${why}
      ${role === "identifying" && column !== state.plan.draft.person
        ? html`<label class="treat">${t("roles.treat")} <select value=${under(state.plan.draft.treatments, column) ?? "remove"} onChange=${(event) => attempt(() => change(`${column}: ${t(`treat.${event.target.value}`)}`, { treatments: { [column]: event.target.value } }))}>
            ${["remove", "mask"].map((each) => html`<option value=${each}>${t(`treat.${each}`)}</option>`)}</select></label>`
        : null}</td>
    <td class="share">${share === undefined ? "…" : html`<${Gauge} share=${share} label=${t("roles.singles")} /> ${percent(share)}`}</td>
  </tr>`;
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
          told.set(JSON.stringify([first, second]), await single([first, second]).catch(() => undefined));
          if (wanted) setFound(new Map(told));
        }
      }
    })();
    return () => { wanted = false; };
  }, [open, state.table.id, columns.join("\n")]);
  const take = (first, second) => attempt(() => change(`${first}, ${second}: ${t("role.quasi-identifying")}`, { roles: { [first]: "quasi-identifying", [second]: "quasi-identifying" } }));
  return html`<details class="card whatif" onToggle=${(event) => setOpen(event.target.open)}><summary>${t("roles.whatif")}</summary>
    <p class="quiet">${t("roles.whatif.about")}</p>
    ${open ? html`<${Scrolling} label=${t("roles.whatif")}><table class="plain"><thead><tr><td></td>${columns.slice(1).map((name) => html`<th scope="col">${name}</th>`)}</tr></thead>
      <tbody>${columns.slice(0, -1).map((first, at) => html`<tr><th scope="row">${first}</th>${columns.slice(1).map((second, index) => {
        if (index < at) return html`<td></td>`;
        const share = found.get(JSON.stringify([first, second]));
        return html`<td>${share === undefined ? "…" : html`<button class=${`cell heat${Math.min(4, Math.round(4 * share))}`} title=${t("roles.whatif.take")} onClick=${() => take(first, second)}>${percent(share)}</button>`}</td>`;
      })}</tr>`)}</tbody></table><//>` : null}</details>`;
}

export default function Roles() {
  const [proposals, setProposals] = useState([]);
  const [shares, setShares] = useState(new Map());
  const [together, setTogether] = useState(null);
  const id = state.table?.id;
  const person = state.plan?.draft.person;
  const unit = person && person !== "ask" ? person : null;
  const quasi = columnsOf("quasi-identifying");
  const single = async (columns) => (await post(`/tables/${id}/singling-out`, { columns, person: unit })).share;

  useEffect(() => {
    if (id) attempt(async () => setProposals(await get(`/tables/${id}/roles`)));
  }, [id]);
  useEffect(() => {
    let wanted = Boolean(id);
    (async () => {
      const found = new Map();
      for (const column of state.table?.columns ?? []) {
        if (!wanted) return;
        const share = await single([column]).catch(() => undefined);
        found.set(column, share);
        if (wanted) setShares(new Map(found));
      }
    })();
    return () => { wanted = false; };
  }, [id, unit]);
  useEffect(() => {
    let wanted = true;
    setTogether(null);
    if (id && quasi.length) single(quasi).then((share) => wanted && setTogether(share), () => {});
    return () => { wanted = false; };
  }, [id, unit, quasi.join("\n")]);

  if (!state.table) return html`<${Heading}>${t("step.roles")}<//><${NotYet} step="table">${t("missing.no table")}<//>`;
  const roles = state.plan.draft.roles;
  const open = proposals.filter((each) => !under(roles, each.column) && each.confidence > 0);
  const undecided = state.table.columns.filter((name) => !under(roles, name));
  const accept = () =>
    attempt(() => change(t("roles.accepted", { number: open.length }), { roles: Object.fromEntries(open.map((each) => [each.column, each.role])) }));
  const dropAll = () => attempt(() => change(t("roles.dropped"), { roles: Object.fromEntries(undecided.map((name) => [name, "drop"])) }));
  const byColumn = new Map(proposals.map((each) => [each.column, each]));
  return html`<${Heading} intro=${t("intro.roles")}>${t("step.roles")}<//>
    <p class="row">
      ${open.length ? html`<button class="primary" onClick=${accept}>${t("roles.accept", { number: open.length })}</button>` : null}
      ${undecided.length && !open.length ? html`<button onClick=${dropAll}>${t("roles.drop", { number: undecided.length })}</button>` : null}
      ${undecided.length ? null : html`<button class="primary" onClick=${() => go("levels")}>${t("next")} ${t("step.levels")}</button>`}
    </p>
    <p class="together" role="status">${quasi.length
      ? t("roles.together", { number: number(quasi.length), share: together === null ? "…" : percent(together) })
      : t("missing.no quasi-identifier")}</p>
    <${Scrolling} label=${t("step.roles")}>
      <table class="roles">
        <thead><tr><th scope="col">${t("roles.column")}</th><th scope="col">${t("roles.role")}</th><th scope="col">${t("roles.why")}</th><th scope="col">${t("roles.singles")}</th></tr></thead>
        <tbody>${state.table.columns.map((column) => html`<${Row} key=${column} column=${column} proposal=${byColumn.get(column)} share=${shares.get(column)} />`)}</tbody>
      </table>
    <//>
    <${WhatIf} single=${single} />
    <details class="card"><summary>${t("roles.what")}</summary><dl>${ROLES.map(([name, letter]) => html`<dt>${t(`role.${name}`)} <kbd>${letter.toUpperCase()}</kbd></dt><dd>${t(`role.about.${name}`)}</dd>`)}</dl></details>`;
}
