// What the first page of the report says: whoever signs it fills this in.

import { attempt, change, state } from "../server.js";
import { html, t, Typed } from "../parts.js";

const LINES = ["title", "data_set", "purpose", "recipient", "legal_basis", "version", "prepared_by", "approved_by"];

export function About() {
  const { about } = state.plan.draft;
  const set = (name, value) => attempt(() => change(`${t("first")}: ${t(`first.${name}`)}`, { about: { [name]: value || null } }));
  return html`<details class="card about"><summary><h2>${t("first")}</h2></summary><p class="quiet">${t("first.about")}</p>
    <div class="fields">${LINES.map((name) => html`<label key=${name}>${t(`first.${name}`)} <${Typed} value=${about[name] ?? ""} maxlength="500" placeholder=${t(`first.${name}.such`)} onTake=${(value) => set(name, value.trim())} /></label>`)}
      <label>${t("first.language")} <select value=${about.language ?? state.language} onChange=${(event) => set("language", event.target.value)}><option value="en">English</option><option value="de">Deutsch</option></select></label></div>
  </details>`;
}
