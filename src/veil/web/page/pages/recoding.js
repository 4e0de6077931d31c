// How labels are chosen: one choice with three answers; passes are settings of the last.

import { attempt, change, state } from "../server.js";
import { html, percent, t, Typed } from "../parts.js";

/** The ways that recode cells in passes, each with the settings that a page asks for and their usual values. */
const PASSES = { FromTheStart: { iterations: 100 }, FastIterative: { share: 0.01 }, Iterative: { iterations: 100, factor: 0.05, adaptation: 0.05 }, SinglePass: { factor: 0.5 } };
const WAYS = { FullDomain: ["FullDomain"], Subtree: ["Subtree"], Cells: ["Cells", ...Object.keys(PASSES)] };
const NAMES = { "full-domain": "FullDomain", subtree: "Subtree", cells: "Cells" };

/** The kind of recoding of a draft, however it was written. */
export const kindOf = ({ recoding }) => recoding?.kind ?? NAMES[recoding] ?? recoding ?? "FullDomain";

/** Whether a strategy searches for levels of whole columns, at first at least. */
export const hasStrategy = (draft) => !["Subtree", "Cells"].includes(kindOf(draft));

export const setOf = (kind, settings) => ({ recoding: kind === "FullDomain" ? null : { kind, ...settings } });

/** The choice; what the rest of the plan does not allow says why. */
export function Recoding() {
  const { draft, refused } = state.plan;
  const now = kindOf(draft);
  const set = (kind, settings) => attempt(() => change(`${t("recoding")}: ${t(`recoding.${kind}`)}`, setOf(kind, settings)));
  const settings = (kind) => Object.entries(PASSES[kind] ?? {}).map(([name, usual]) => html`<label>${t(`passes.${name}`)} <${Typed} type="number" step="any" min="0" value=${draft.recoding?.[name] ?? usual} onTake=${(text) => set(kind, { ...draft.recoding, kind, [name]: text === "" ? usual : Number(text) })} /></label>`);
  return html`<fieldset class="options"><legend>${t("recoding")}</legend>
    ${Object.entries(WAYS).map(([way, kinds]) => {
      const chosen = kinds.includes(now);
      const possible = kinds.find((kind) => !Object.hasOwn(refused, kind));
      const reason = refused[way];
      return html`<div class=${chosen ? "option chosen" : "option"}>
        <label class="choice"><input type="radio" name="recoding" checked=${chosen} disabled=${!possible && !chosen} onChange=${() => set(possible)} /> <b>${t(`recoding.${way}`)}</b> <span class="quiet">${t(`recoding.about.${way}`)}</span></label>
        ${reason && !(chosen && state.plan.problem) ? html`<p class="quiet"><span aria-hidden="true">✗ </span>${t(kinds.length > 1 && possible ? "recoding.passes.only" : "recoding.refused")} <span lang="en">${reason}</span></p>` : null}
        ${chosen && kinds.length > 1
          ? html`<p class="row settings"><label>${t("recoding.how")} <select value=${now} onChange=${(event) => set(event.target.value)}>
              <option value="Cells" disabled=${Object.hasOwn(refused, "Cells")}>${t("recoding.each")}</option>
              <optgroup label=${t("recoding.passes")}>${Object.keys(PASSES).map((kind) => html`<option value=${kind} disabled=${Object.hasOwn(refused, kind)} title=${refused[kind] ?? ""}>${t(`recoding.${kind}`)}</option>`)}</optgroup></select></label>${settings(now)}</p>`
          : null}</div>`;
    })}</fieldset>`;
}

/** What is lost, on the scale on which the release was searched for. */
export const lossOf = (release) => release.recoding?.score ?? release.measures.loss;

/** What is proven of a release whose values or records have labels of their own. */
export function Proven({ release }) {
  const { recoding } = release;
  if (!recoding) return null;
  const said = recoding.sentence[state.language];
  return html`<p class="verdict proven"><b>${said.charAt(0).toUpperCase()}${said.slice(1)}.</b>${" "}
    ${recoding.kind === "Subtree" && recoding.gap > 0 && recoding.gap < 1 ? t("recoding.gap", { gap: percent(Math.ceil(1000 * recoding.gap) / 1000) }) : ""}</p>
    <p class="quiet">${t(`recoding.end.${recoding.ending}`)} ${recoding.ending === "time limit" ? t(recoding.lower_bound === null ? "recoding.more" : "recoding.more.bound") : ""} ${t("recoding.secret")}</p>`;
}
