// What Risk and Use share: releases laid beside each other, and how a figure is computed, as words and as code.

import { state, update } from "../server.js";
import { copy, html, t } from "../parts.js";

/** The releases that a page shows after "before": the one that was taken, or the two pins that are compared. */
export function shownReleases() {
  if (state.compared?.some((each) => each.release.id === state.release.id)) return state.compared;
  return [{ label: t("after"), release: state.release }];
}

/** Says that two releases are compared, and ends it. */
export function Compared() {
  const shown = shownReleases();
  if (shown.length < 2) return null;
  return html`<p class="card compared"><span>${t("compare.now", { a: shown[0].label, b: shown[1].label })}</span>
    <button onClick=${() => update({ compared: null })}>${t("compare.end")}</button></p>`;
}

const quoted = (text) => JSON.stringify(text).replace(/[\u007f-\uffff]/g, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, "0")}`);
export const listed = (names) => `[${names.map(quoted).join(", ")}]`;

/** Python that makes the release that is shown, and then computes a figure of it. */
export function asCode(lines) {
  const made = state.plan?.code?.python?.split("\n").filter((line) => !/^release\.(save|certificate)\(/.test(line)).join("\n").trim();
  const search = state.release.search;
  const other = search && !search.is_optimum ? [`release = release.search.apply({${Object.entries(search.transformation).map(([name, level]) => `${quoted(name)}: ${level}`).join(", ")}})`] : [];
  return [made ?? "import veil", ...other, ...lines, ""].join("\n");
}

export const tableName = () => quoted(state.release.name);

/** How a figure is computed, and the code that computes it. */
export function How({ name, code }) {
  return html`<details class="how"><summary>${t("how")}</summary><p>${t(`how.${name}`)}</p>
    ${state.release.outdated ? null : html`<pre tabindex="0" aria-label=${t("how.code")}>${code.join("\n")}</pre><button onClick=${() => copy(asCode(code))}>${t("how.copy")}</button>`}</details>`;
}
