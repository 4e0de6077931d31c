// Release: sign and hand over.

import { attempt, post, run, running, state, stop, update } from "../server.js";
import { copy, download, Heading, html, NotYet, number, Running, t, useState } from "../parts.js";

function Findings() {
  const { findings, holds, open_questions: open } = state.release;
  const kept = findings.filter((each) => each.holds).length;
  return html`<section class=${`card ${holds ? "good" : "bad"}`}>
    <p class="verdict"><b>${holds ? "✓" : "✗"} ${t(holds ? "release.verified" : kept === findings.length ? "release.over" : "release.broken", { kept: number(kept), all: number(findings.length) })}</b></p>
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

/** What keeps not every promise is taken only under that name, and with a reason. */
function Anyway() {
  const [reason, setReason] = useState("");
  const take = () =>
    attempt(async () => {
      const answer = await fetch(`/api/v1/releases/${state.release.id}/anyway`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ reason }) });
      if (!answer.ok) throw new Error((await answer.json()).detail);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await answer.blob());
      link.download = "table-NOT-ANONYMOUS.csv";
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
    });
  return html`<section class="card bad anyway"><h2>${t("anyway")}</h2><p>${t("anyway.about")}</p>
    <p class="row"><label>${t("anyway.reason")} <input size="50" maxlength="1000" value=${reason} onInput=${(event) => setReason(event.target.value)} /></label>
      <button disabled=${reason.trim().length < 10} onClick=${take}>${t("anyway.take")}</button></p></section>`;
}

export default function Release({ needs }) {
  const [format, setFormat] = useState("csv");
  const [busy, setBusy] = useState(null);
  const [shown, setShown] = useState(false);
  if (needs) return html`<${Heading}>${t("step.release")}<//><${NotYet} step="search">${t("release.none")}<//>${state.table ? html`<${SaveProject} />` : null}`;
  const release = state.release;
  const take = (path) =>
    attempt(async () => {
      setBusy(path);
      try {
        await download(`/releases/${state.release.id}/${path}`, path.replace("/", "-"));
      } finally {
        setBusy(null);
      }
    });
  const stem = release.name.replace(/\.[^.]*$/, "").replace(/[^A-Za-z0-9._-]+/g, "-") || "table";
  const command = `veil verify ${stem}-release.${format} --certificate ${stem}-certificate.json`;
  const files = [["certificate", "release.certificate"], ["report.html", "release.report"], ["report.pdf", "release.pdf"], ["recipe", "release.recipe"], ["criteria.wp216", "release.wp216"], ["criteria.sp800-188", "release.sp800188"]];
  return html`<${Heading} intro=${t("intro.release")}>${t("step.release")}<//>
    ${release.outdated ? html`<p class="problem">⟳ ${t("outdated")}</p>` : null}
    <${Findings} />
    ${release.holds ? null : html`<${Anyway} />`}
    <${Concerns} />
    <section class="card"><h2>${t("release.take")}</h2>
      <p class="row">
        <label>${t("release.format")} <select value=${format} onChange=${(event) => setFormat(event.target.value)}>${["csv", "parquet", "feather", "xlsx"].map((each) => html`<option value=${each}>${each}</option>`)}</select></label>
        <button class="primary" disabled=${!release.holds || busy} onClick=${() => take(`table.${format}`)}>${busy === `table.${format}` ? "…" : t("release.table")}</button>
        ${files.map(([path, name]) => html`<button disabled=${busy || (/^c/.test(path) && !release.holds)} onClick=${() => take(path)}>${busy === path ? "…" : t(name)}</button>`)}
      </p>
      <p>${t("release.check")}</p>
      <p class="row"><code>${command}</code><button onClick=${() => copy(command)}>${t("copy")}</button></p>
    </section>
    <${SaveProject} />
    <section class="card"><h2>${t("release.before")}</h2>
      <ul class="checks">${["overlap", "text", "key"].map((each) => html`<li><label><input type="checkbox" /> ${t(`release.before.${each}`)}</label></li>`)}</ul>
    </section>
    <section class="card"><h2>${t("release.report")}</h2>
      ${shown ? html`<iframe sandbox="" title=${t("release.report")} src=${`/api/v1/releases/${release.id}/report.html`}></iframe>` : html`<${Running} job=${running("report")[0]} onStop=${stop} /><button disabled=${running("report").length > 0} onClick=${() => attempt(async () => { await run(`/releases/${release.id}/report`, {}); setShown(true); })}>${t("release.show")}</button>`}
    </section>`;
}
