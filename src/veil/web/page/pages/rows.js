// Input and output row by row.

import { post, state } from "../server.js";
import { html, number, Scrolling, t, useEffect, useState } from "../parts.js";

const PAGE = 25;

/** How much of a cell is lost, from 0 to 4: by the level of its column, all of it where nothing is shown. */
function lost(column, cell) {
  const search = state.release.search;
  if (cell === null || cell === "*") return 4;
  const levels = search?.levels[column];
  return levels && levels.length > 1 ? Math.min(4, Math.round((4 * search.transformation[column]) / (levels.length - 1))) : 2;
}

/** What was changed is marked by its shape as well as by its colour; suppressed rows are hatched, classes can be banded. */
export function Rows() {
  const [page, setPage] = useState(null);
  const [start, setStart] = useState(0);
  const [changed, setChanged] = useState(false);
  const [banded, setBanded] = useState(false);
  const id = state.release.id;
  useEffect(() => {
    let wanted = true;
    post(`/releases/${id}/rows`, { start, count: PAGE, by_class: banded }).then((told) => wanted && setPage(told), () => {});
    return () => { wanted = false; };
  }, [id, start, banded]);
  if (!page) return null;
  const place = new Map(page.input_columns.map((name, index) => [name, index]));
  const before = (row, name) => (place.has(name) && page.input.length ? page.input[row][place.get(name)] : undefined);
  const isChanged = (row, at) => { const was = before(row, page.columns[at]); return was !== undefined && was !== page.rows[row][at]; };
  const columns = page.columns.map((_, at) => at).filter((at) => !changed || page.rows.some((_, row) => isChanged(row, at)));
  const rows = page.rows.map((_, row) => row).filter((row) => !changed || columns.some((at) => isChanged(row, at)));
  const bands = new Map();
  for (const each of page.classes) if (!bands.has(each)) bands.set(each, bands.size % 2);
  const cellOf = (row, at) => {
    const cell = page.rows[row][at], name = page.columns[at], was = before(row, name);
    if (!isChanged(row, at)) return html`<td dir="auto">${cell ?? html`<span class="none">${t("cell.missing")}</span>`}</td>`;
    return html`<td dir="auto" class=${`changed heat${lost(name, cell)}`}>${cell ?? html`<span class="none">${t("cell.missing")}</span>`}<del>${was === null ? t("cell.missing") : was.slice(0, 60)}</del></td>`;
  };
  return html`<section class="card rows"><h2>${t("use.rows")}</h2><p class="quiet">${t(state.release.engine ? "use.rows.engine" : "use.rows.about")} ${state.release.engine ? null : t(`use.rows.order.${state.release.order}`)}</p>
    ${state.release.engine ? null : html`<p class="row"><label><input type="checkbox" checked=${changed} onChange=${(event) => setChanged(event.target.checked)} /> ${t("use.rows.changed")}</label>
      <label><input type="checkbox" checked=${banded} onChange=${(event) => { setStart(0); setBanded(event.target.checked); }} /> ${t("use.rows.classes")}</label></p>`}
    <${Scrolling} label=${t("use.rows")}><table class="grid pairs">
      <thead><tr>${banded ? html`<th scope="col">${t("use.rows.class")}</th>` : null}${columns.map((at) => html`<th scope="col">${page.columns[at]}</th>`)}</tr></thead>
      <tbody>${rows.map((row) => html`<tr class=${page.suppressed[row] ? "gone" : banded ? `band${bands.get(page.classes[row])}` : ""}>${banded ? html`<th scope="row">${page.classes[row] === null ? t("use.rows.gone") : number(page.classes[row] + 1)}</th>` : null}${columns.map((at) => cellOf(row, at))}</tr>`)}</tbody></table><//>
    <p class="row pager"><button disabled=${start === 0} aria-label=${t("pager.previous")} onClick=${() => setStart(Math.max(0, start - PAGE))}>←</button>
      <span>${t("pager", { first: number(start + 1), last: number(Math.min(start + PAGE, page.total)), total: number(page.total) })}</span>
      <button disabled=${start + PAGE >= page.total} aria-label=${t("pager.next")} onClick=${() => setStart(start + PAGE)}>→</button></p></section>`;
}
