// Columns that name people: whether spellings of a value are one person, and what becomes of them: removed, blanked, or replaced
// by pseudonyms with a key that is shown once.

import { ask, attempt, change, columnsOf, get, state, update } from "./server.js";
import { copy, html, Problem, t, under, useState } from "./parts.js";

const spell = (spelling) => attempt(async () => {
  await change(`${state.plan.draft.person}: ${t(`spelling.${spelling ?? "ask"}`)}`, { spelling });
  update({ spellings: null });
});

/** Whether values that differ in blanks, case or Unicode form only are one person. */
export function Spelling() {
  const { person, spelling } = state.plan.draft;
  return html`<label class="choice">${t("spelling", { column: person })} <select value=${spelling ?? ""} onChange=${(event) => spell(event.target.value || null)}>
    <option value="">${t("spelling.ask")}</option>${["folded", "as written"].map((each) => html`<option value=${each}>${t(`spelling.${each}`)}</option>`)}</select></label>`;
}

/** The same as a question, once something was refused because nobody has said so. */
export function SpellingQuestion() {
  const person = state.plan?.draft.person;
  if (!state.spellings?.includes(`${person}=folded`) || state.plan.draft.spelling) return null;
  return html`<section class="card ask" aria-label=${t("spelling.question", { column: person })}><p><b>${t("spelling.question", { column: person })}</b></p>
    <p class="row">${["folded", "as written"].map((each) => html`<button onClick=${() => spell(each)}>${t(`spelling.${each}`)}</button>`)}</p></section>`;
}

/** How an identifying column is treated. In a search, pseudonyms are for the column that tells people apart. */
export function Treatment({ column }) {
  const draft = state.plan.draft;
  const isPerson = draft.person === column;
  const other = draft.way === "search" && !isPerson && draft.person && draft.person !== "ask";
  const now = under(draft.treatments, column) ?? "remove";
  const set = (how) => {
    const made = { treatments: { [column]: how } };
    if (how === "pseudonym" && draft.way === "search" && !isPerson) made.person = column;
    attempt(() => change(`${column}: ${t(`treat.${how}`)}`, made));
  };
  return html`<label class="treat">${t("roles.treat")} <select aria-label=${`${column}: ${t("roles.treat")}`} value=${now === "mask" && isPerson ? "remove" : now} onChange=${(event) => set(event.target.value)}>
    <option value="remove">${t("treat.remove")}</option>
    ${isPerson ? null : html`<option value="mask">${t("treat.mask")}</option>`}
    <option value="pseudonym" disabled=${other}>${t(other ? "treat.pseudonym.other" : "treat.pseudonym", { column: draft.person })}</option></select></label>`;
}

/** The key of pseudonyms: given or made here, shown once, and kept in the session alone. */
export function Pseudonyms() {
  const [shown, setShown] = useState(null);
  const [given, setGiven] = useState("");
  const [problem, setProblem] = useState(null);
  const draft = state.plan.draft;
  const columns = columnsOf("identifying").filter((name) => under(draft.treatments, name) === "pseudonym" && (draft.way === "masks" || name === draft.person));
  if (!columns.length) return null;
  const keep = async (body) => {
    try {
      const told = await ask("PUT", "/plan/key", body);
      setShown(told.key);
      setGiven("");
      setProblem(null);
      update({ plan: await get("/plan") });
    } catch (error) {
      setProblem(error.message);
    }
  };
  const forget = () => attempt(async () => { await ask("DELETE", "/plan/key"); setShown(null); update({ plan: await get("/plan") }); });
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([`${shown}\n`], { type: "text/plain" }));
    link.download = "pseudonyms.key";
    link.click();
    URL.revokeObjectURL(link.href);
  };
  const way = (keyed) => attempt(() => change(t(keyed ? "key.with" : "key.random"), { keyed }));
  return html`<section class="card ask key" aria-label=${t("key")}><h2>${t("key.of", { columns: columns.join(", ") })}</h2>
    <div role="radiogroup" aria-label=${t("key")}>${[false, true].map((keyed) => html`<label class="choice"><input type="radio" name="keyed" checked=${draft.keyed === keyed} onChange=${() => way(keyed)} /> <b>${t(keyed ? "key.with" : "key.random")}</b> <span class="quiet">${t(keyed ? "key.with.about" : "key.random.about")}</span></label>`)}</div>
    ${draft.way === "search" ? html`<p class="quiet">${t("key.knows")}</p>` : null}
    ${!draft.keyed
      ? null
      : shown
        ? html`<p><b>${t("key.once")}</b></p><p class="row"><code class="secret">${shown}</code>
            <button onClick=${() => copy(shown)}>${t("copy")}</button><button onClick=${save}>${t("key.save")}</button>
            <button class="primary" onClick=${() => setShown(null)}>${t("key.kept")}</button></p>`
        : state.plan.has_key
          ? html`<p>✓ ${t("key.there")} <button onClick=${forget}>${t("key.forget")}</button></p>`
          : html`<p class="row"><button class="primary" onClick=${() => keep({})}>${t("key.make")}</button>
              <form class="row" onSubmit=${(event) => { event.preventDefault(); keep({ key: given.trim() }); }}>
                <label>${t("key.give")} <input type="password" autocomplete="off" spellcheck="false" size="30" value=${given} onInput=${(event) => setGiven(event.target.value)} /></label>
                <button disabled=${!given.trim()}>${t("key.take")}</button></form></p>`}
    <${Problem} message=${problem} />
  </section>`;
}
