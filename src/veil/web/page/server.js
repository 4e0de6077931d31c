// Talking to the server: one state for the whole page, requests, and tasks that are followed until they end.

/** All that the page knows. Components read it; `update` changes it and draws again. */
export const state = {
  step: "table", // the page that is open
  session: null, // what GET /session has told
  plan: null, // what GET /plan has told
  table: null, // the table of the plan
  profile: null, // its profile
  filters: null, // what the grid of the table is asked to show
  release: null, // the newest release
  tasks: new Map(), // by id, in the order in which they began
  drawer: null, // "code", "tasks" or "help"
  place: null, // the page of the documentation that the help shows, and where in it
  problem: null, // what no page has shown beside its cause
  spellings: null, // what can be said of spellings of the same people, once it has to be
  words: {},
  language: "en",
  catalogues: {}, // models, qualities, … as they were told once
};

let draw = () => {};
let isWaiting = false;

export function onChange(function_) {
  draw = function_;
}

export function update(changes) {
  Object.assign(state, changes);
  if (isWaiting) return;
  isWaiting = true;
  // Once for all changes of a moment, and never in the midst of drawing.
  queueMicrotask(() => {
    isWaiting = false;
    draw();
  });
}

/** A refusal of the server: its sentence, and the column that it names. */
export class Refusal extends Error {
  constructor(problem) {
    super(problem.detail);
    this.problem = problem;
    if (problem.spellings) update({ spellings: problem.spellings }); // which the page asks about, wherever it was noticed
  }
}

export async function ask(method, path, body, headers = {}) {
  const plain = body === undefined || body instanceof Blob;
  const answer = await fetch(`/api/v1${path}`, {
    method,
    headers: plain ? headers : { "Content-Type": "application/json", ...headers },
    body: plain ? body : JSON.stringify(body),
  });
  const told = await answer.json();
  if (!answer.ok) throw new Refusal(told);
  return told;
}

export const get = (path) => ask("GET", path);
export const post = (path, body = {}) => ask("POST", path, body);

/** Do something, and show what goes wrong where nobody else does. */
export async function attempt(action) {
  try {
    if (state.problem) update({ problem: null });
    return await action();
  } catch (error) {
    if (error.problem?.type === "Cancelled") return undefined;
    update({ problem: error.message });
    return undefined;
  }
}

// Tasks

/** Follow a task to its end; the browser asks again by itself if the connection is lost. Resolves with its result. */
export function follow(task) {
  state.tasks.set(task.id, task);
  update({});
  if (task.state !== "running") return ended(task);
  return new Promise((resolve, reject) => {
    const events = new EventSource(`/api/v1/tasks/${task.id}/events`);
    events.onmessage = (event) => {
      const now = JSON.parse(event.data);
      state.tasks.set(now.id, now);
      update({});
      if (now.state !== "running") {
        events.close();
        ended(now).then(resolve, reject);
      }
    };
  });
}

async function ended(task) {
  if (task.state === "done") return task.result;
  throw new Refusal(task.problem ?? { type: "Cancelled", detail: "" });
}

/** Start a task and wait for its result. */
export async function run(path, body = {}, method = "POST", headers = {}) {
  return follow(await ask(method, path, body, headers));
}

export const stop = (task) => attempt(async () => ask("DELETE", `/tasks/${task.id}`));

export function running(kind) {
  return [...state.tasks.values()].filter((task) => task.state === "running" && (!kind || task.kind === kind));
}

// The plan

let last = Promise.resolve();

/**
 * Change the plan. One change waits for the one before it: only those of another window are in the way. What depends on what
 * there is already, such as one model more, is a function of the draft as the change before it left it.
 */
export function change(words, set) {
  const made = last.then(async () => {
    const changes = typeof set === "function" ? set(state.plan.draft) : set;
    update({ plan: await ask("PATCH", "/plan", { version: state.plan.version, words, set: changes }) });
    await refreshRelease();
  });
  last = made.catch(() => {});
  return made;
}

export async function step(direction) {
  update({ plan: await post(`/plan/${direction}`) });
  await loadTable();
  await refreshRelease();
}

/** The column that tells people apart, with what was said of spellings, as recipes write it; null if none does. */
export function whom() {
  const { person, spelling } = state.plan?.draft ?? {};
  return !person || person === "ask" ? null : spelling ? `${person}=${spelling}` : person;
}

/** The columns that have a role. */
export function columnsOf(role) {
  return Object.entries(state.plan?.draft.roles ?? {})
    .filter(([, each]) => each === role)
    .map(([name]) => name);
}

// What belongs together

export async function loadTable() {
  const id = state.plan?.draft.table;
  if (!id) return update({ table: null, profile: null });
  if (state.table?.id === id) return undefined;
  const [table, profile] = await Promise.all([get(`/tables/${id}`), get(`/tables/${id}/profile`)]);
  return update({ table, profile });
}

export async function opened() {
  update({ plan: await get("/plan") });
  await loadTable();
  await refreshRelease();
}

export async function loadRelease(id) {
  update({ release: await get(`/releases/${id}`) });
}

async function refreshRelease() {
  if (state.release) await loadRelease(state.release.id).catch(() => update({ release: null }));
}

/** A catalogue of the server in the language of the reader, fetched once. */
export async function catalogue(name) {
  if (!state.catalogues[name]) await fetchCatalogue(name);
  return state.catalogues[name];
}

async function fetchCatalogue(name) {
  state.catalogues[name] = await get(`/${name}?language=${state.language}`);
  update({});
}

/** Fetch what is known already again, in the language that was chosen. */
export const translateCatalogues = () => Promise.all(Object.keys(state.catalogues).map(fetchCatalogue));
