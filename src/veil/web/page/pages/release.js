// Release: sign and hand over.

import { attempt, change, loadRelease, post, run, running, state, step, stop, update } from "../server.js";
import { About } from "./about.js";
import { copy, download, hand, Heading, html, NotYet, number, Running, t, useState } from "../parts.js";
import { Proven } from "./recoding.js";

function Findings() {
  const { findings, holds, open_questions: open } = state.release;
  const kept = findings.filter((each) => each.holds).length;
  return html`<section class=${`card ${holds ? "good" : "bad"}`}>
    <p class="verdict"><b>${holds ? "✓" : "✗"} ${t(holds ? "release.verified" : kept === findings.length ? "release.over" : "release.broken", { kept: number(kept), all: number(findings.length) })}</b></p>
    <${Proven} release=${state.release} />
    <details><summary>${t("release.details")}</summary>
      <ul>${findings.map((each) => html`<li>${each.holds ? "✓" : each.checked ? "✗" : "?"} ${each.promise} <span class="quiet">${each.measured}</span></li>`)}
      ${open.map((each) => html`<li>? ${each}</li>`)}</ul></details>
  </section>`;
}

function Concerns() {
  const concerns = state.release.concerns;
  const accept = (key) => attempt(async () => update({ release: await post(`/releases/${state.release.id}/acknowledge`, { concerns: [key] }) }));
  if (!concerns.length) return null;
  return html`<section class="card"><h2>${t("release.concerns")}</h2><p class="quiet">${t("release.concerns.about")}</p>
    <ul class="concerns">${concerns.map((each) => html`<li class=${each.acknowledged ? "known" : ""}>
      <span>${each.acknowledged ? "✓" : "!"} ${each.statement} ${each.step}</span>
      ${each.acknowledged ? html`<span class="tag">${t("release.known")}</span>` : html`<button onClick=${() => accept(each.key)}>${t("release.accept")}</button>`}
    </li>`)}</ul></section>`;
}

/** Everything that was decided, as one file: to go on with later, or for a colleague. */
function SaveProject() {
  const [table, setTable] = useState(false);
  return html`<section class="card"><h2>${t("project.save")}</h2><p class="quiet">${t("project.about")}</p>
    <p class="row"><label><input type="checkbox" checked=${table} onChange=${(event) => setTable(event.target.checked)} /> ${t("project.table")}</label>
      <button onClick=${() => attempt(() => download(`/project?table=${table}`, "project.veil"))}>${t("project.download")}</button></p></section>`;
}

/** Vouch for the release: a key of one's own signs the certificate. It is sent for that one signature, and kept nowhere. */
function Sign({ stem, onSigned }) {
  const [key, setKey] = useState(null);
  const [passphrase, setPassphrase] = useState("");
  const [told, setTold] = useState(null);
  const choose = async (event) => { const [file] = event.target.files; setTold(null); setKey(file ? { name: file.name, text: await file.text() } : null); };
  const make = () =>
    attempt(async () => {
      const made = await post("/keys", { passphrase: passphrase || null });
      hand(new Blob([made.private], { type: "application/x-pem-file" }), "veil.key");
      hand(new Blob([made.public], { type: "application/x-pem-file" }), "veil.key.pub");
      setKey({ name: "veil.key", text: made.private });
      setTold(t("sign.made", { fingerprint: made.fingerprint }));
    });
  const sign = () =>
    attempt(async () => {
      const answer = await fetch(`/api/v1/releases/${state.release.id}/certificate`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ key: key.text, passphrase: passphrase || null }) });
      if (!answer.ok) throw new Error((await answer.json()).detail);
      hand(await answer.blob(), `${stem}-certificate.json`);
      onSigned(`${key.name}.pub`);
      setTold(t("sign.done", { fingerprint: answer.headers.get("Veil-Key-Fingerprint") }));
      setKey(null);
      setPassphrase("");
    });
  const locked = key?.text.split("\n")[0].includes("ENCRYPTED");
  return html`<section class="card sign"><h2>${t("sign")}</h2><p class="quiet">${t("sign.about")}</p>
    <p class="row"><span class="button"><label>${t("sign.file")} <input class="hidden" type="file" onChange=${choose} /></label></span><span>${key ? key.name : html`<span class="quiet">${t("sign.nokey")}</span>`}</span>
      <label>${t("sign.passphrase")} <input type="password" autocomplete="off" value=${passphrase} onInput=${(event) => setPassphrase(event.target.value)} /></label></p>
    <p class="row"><button class="primary" disabled=${!key || !state.release.holds || (locked && !passphrase)} onClick=${sign}>${t("sign.go")}</button><button onClick=${make}>${t("sign.new")}</button></p>
    <p role="status" class="fingerprint">${told}</p></section>`;
}

/** Change the plan in what leaves the transformation as it is, and make the release again; if that is refused, the plan stays. */
const again = (words, set) =>
  attempt(async () => {
    const { search } = state.release;
    await change(words, set);
    try {
      if (state.plan.problem) throw new Error(state.plan.problem);
      const made = await run("/releases", {});
      const taken = !search || search.is_optimum ? made : await run(`/releases/${made.release}/apply`, { levels: search.transformation });
      await loadRelease(taken.release);
    } catch (error) {
      await step("undo");
      throw error;
    }
  });

/** What becomes of suppressed rows. */
function Suppressed() {
  const { search, suppressed } = state.release;
  if (!search || !suppressed || state.release.outdated) return null;
  const set = (value) => again(`${t("promises.rows")}: ${t(`suppressed.${value}`)}`, { suppressed_rows: value });
  return html`<label>${t("release.suppressed", { number: number(suppressed) })} <select value=${state.plan.draft.suppressed_rows} disabled=${running("anonymize").length > 0} onChange=${(event) => set(event.target.value)}>${["blank", "drop"].map((each) => html`<option value=${each}>${t(`suppressed.${each}`)}</option>`)}</select></label>`;
}

/** In which order the rows are, and what that tells; the other one makes the release again. */
function Order() {
  const { order, outdated } = state.release;
  const set = (shuffled) => again(t(`release.order.${shuffled ? "random" : "input"}.words`), { order: shuffled ? "random" : "input" });
  return html`<p><label><input type="checkbox" checked=${state.plan.draft.order === "random"} disabled=${outdated || running("anonymize").length > 0} onChange=${(event) => set(event.target.checked)} /> ${t("release.shuffle")}</label></p>
    <p class=${order === "random" ? "quiet" : "problem"}>${t(`release.order.${order}`)}</p>`;
}

/** What no program can check, ticked off by whoever publishes. */
function Before() {
  const [done, setDone] = useState([]);
  const all = ["overlap", "text", "key", "concerns", "contact"];
  return html`<section class="card before"><h2>${t("release.before")}</h2>
    <ul class="checks">${all.map((each) => html`<li><label><input type="checkbox" checked=${done.includes(each)} onChange=${(event) => setDone(event.target.checked ? [...done, each] : done.filter((one) => one !== each))} /> ${t(`release.before.${each}`)}</label></li>`)}</ul>
    <p role="status">${t(done.length === all.length ? "release.before.all" : "release.before.left", { number: number(all.length - done.length) })}</p></section>`;
}

/** What keeps not every promise is taken only under that name, and with a reason. */
function Anyway({ onTaken }) {
  const [reason, setReason] = useState("");
  const take = () =>
    attempt(async () => {
      await download(`/releases/${state.release.id}/anyway`, "NOT-ANONYMOUS.csv", { reason });
      await loadRelease(state.release.id);
      onTaken();
    });
  return html`<section class="card bad anyway"><h2>${t("anyway")}</h2><p>${t("anyway.about")}</p>
    <p class="row"><label>${t("anyway.reason")} <input size="50" maxlength="1000" value=${reason} onInput=${(event) => setReason(event.target.value)} /></label>
      <button disabled=${reason.trim().length < 10} onClick=${take}>${t("anyway.take")}</button></p>
    <p role="status">${state.release.not_anonymous ? t("anyway.taken", { reason: state.release.not_anonymous }) : null}</p></section>`;
}

export default function Release({ needs }) {
  const [format, setFormat] = useState("csv");
  const [busy, setBusy] = useState(null);
  const [shown, setShown] = useState(null);
  const [signedBy, setSignedBy] = useState(null);
  if (needs) return html`<${Heading}>${t("step.release")}<//><${NotYet} step="search">${t("release.none")}<//>${state.table ? html`<${SaveProject} />` : null}`;
  const release = state.release;
  const page = JSON.stringify([release.id, release.not_anonymous, state.language, state.plan.draft.about]); // what the report shows
  const take = (path) =>
    attempt(async () => {
      setBusy(path);
      try {
        await download(`/releases/${state.release.id}/${path}`, path.replace("/", "-").split("?")[0]);
      } finally {
        setBusy(null);
      }
    });
  const { stem } = release;
  const command = `veil verify ${stem}-release.${format} --certificate ${stem}-certificate.json${signedBy ? ` --signed-by ${signedBy}` : ""}`;
  const files = [["certificate", "release.certificate"], [`report.html?language=${state.language}`, "release.report"], [`report.pdf?language=${state.language}`, "release.pdf"], ["recipe", "release.recipe"], ...(release.search && !release.engine ? [["hierarchies.zip", "release.hierarchies"]] : []), ["criteria.wp216", "release.wp216"], ["criteria.sp800-188", "release.sp800188"]];
  return html`<${Heading} intro=${t("intro.release")}>${t("step.release")}<//>
    ${release.outdated ? html`<p class="problem">⟳ ${t("outdated")}</p>` : null}
    <${Findings} />
    ${release.holds ? null : html`<${Anyway} key=${release.id} onTaken=${() => setShown(null)} />`}
    <${Concerns} />
    <section class="card"><h2>${t("release.take")}</h2>
      <${Order} />
      <p class="row"><${Suppressed} />
        <label>${t("release.format")} <select value=${format} onChange=${(event) => setFormat(event.target.value)}>${["csv", "parquet", "feather", "xlsx"].map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
        <button class="primary" disabled=${!release.holds || busy} onClick=${() => take(`table.${format}`)}>${busy === `table.${format}` ? "…" : t("release.table")}</button>
        ${files.map(([path, name]) => html`<button disabled=${busy || (/^c/.test(path) && !release.holds)} onClick=${() => take(path)}>${busy === path ? "…" : t(name)}</button>`)}
      </p>
      <p>${t("release.check")}</p>
      <p class="row"><code>${command}</code><button onClick=${() => copy(command)}>${t("copy")}</button></p>
    </section>
    <${Sign} key=${release.id} stem=${stem} onSigned=${setSignedBy} />
    <${About} />
    <${Before} />
    <${SaveProject} />
    <section class="card"><h2>${t("release.report")}</h2>
      ${shown === page ? html`<iframe sandbox="" title=${t("release.report")} src=${`/api/v1/releases/${release.id}/report.html?language=${state.language}`}></iframe>` : html`<${Running} task=${running("report")[0]} onStop=${stop} /><button disabled=${running("report").length > 0} onClick=${() => attempt(async () => { await run(`/releases/${release.id}/report?language=${state.language}`, {}); setShown(page); })}>${t("release.show")}</button>`}
    </section>`;
}
