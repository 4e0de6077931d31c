// Elements from templates, kept up to date. What a component returns describes what should be there. It is compared with what is
// there, and only what differs is changed: all other nodes stay, and with them focus, selection and where they are scrolled to.

// Templates, such as html`<p class=${name}>${text}</p>`. Every element is closed, by </p>, <//> or />; line breaks at the ends of
// texts are for whoever reads the source; a value is a whole attribute or stands between elements, and is never read as markup.

const MADE = Symbol("made"); // on every description, so that nothing a server answers can pass for one
const HOLE = "\0"; // stands for a value
const TOKEN = /\0|[^<\0]+|<\/[^>]*>|<(\0|[^\s\0/>]+)((?:"[^"]*"|[^">])*?)(\/?)>/g;
const ATTRIBUTE = /([^\s=\0]+)(?:=?(\0)|="([^"\0]*)")?/g;
const parsed = new WeakMap(); // by the texts of a template, which are the same object each time
const single = (list) => (list.length > 1 ? list : list[0]);

/** The texts of a template as a tree, in which numbers are the places of values. */
function parse(texts) {
  const source = texts.join(HOLE), open = [{ children: [] }];
  let holes = 0;
  const close = () => { const element = open.pop(); element.isFixed = element.from === holes; };
  for (const [token, tag, attributes, end] of source.matchAll(TOKEN)) {
    const { children } = open.at(-1);
    if (token === HOLE) children.push(holes++);
    else if (tag) {
      const element = { from: holes, tag: tag === HOLE ? holes++ : tag, props: [], children: [] };
      for (const [, name, hole, text = true] of attributes.matchAll(ATTRIBUTE)) element.props.push([name, hole ? holes++ : text]);
      children.push(element);
      open.push(element);
      if (end) close();
    } else if (token.startsWith("</")) close();
    else children.push(...[token.replace(/^\s*\n\s*|\s*\n\s*$/g, "")].filter(Boolean));
  }
  if (open.length !== 1 || holes !== texts.length - 1 || source.replace(TOKEN, "")) throw new SyntaxError(`Not a template: ${source}`);
  return parsed.set(texts, open[0].children).get(texts);
}

/** A part of a template with its values. What has none is described once, and not compared again. */
function fill(part, values) {
  if (typeof part === "number") return values[part];
  if (typeof part === "string" || part.made) return part.made ?? part;
  const { tag, children } = part, props = {};
  const made = { kind: MADE, type: typeof tag === "number" ? values[tag] : tag, props, key: undefined, ref: undefined };
  for (const [name, given] of part.props) {
    const value = typeof given === "number" ? values[given] : given;
    if (name === "...") Object.assign(props, value);
    else (name === "key" || name === "ref" ? made : props)[name] = value;
  }
  if (children.length) props.children = single(children.map((each) => fill(each, values)));
  if (part.isFixed) part.made = made;
  return made;
}

export const html = (texts, ...values) => single((parsed.get(texts) ?? parse(texts)).map((each) => fill(each, values)));

// What is there: texts, elements, lists and components, each with its parts. Texts and elements have a node.

const TEXT = Symbol("text"), LIST = Symbol("list");
// Asked of the browser, as nothing that looks like an address stands in the files of the page.
const SVG = new DOMParser().parseFromString("<svg></svg>", "text/html").body.firstChild.namespaceURI;
const typeOf = (value) => (typeof value === "string" ? TEXT : Array.isArray(value) ? LIST : value.type);
const listed = (value) => (Array.isArray(value) ? value : [value]);
const isField = (type) => type === "input" || type === "select" || type === "textarea";
const isShown = (value) => typeof value === "string" || Array.isArray(value) || value?.kind === MADE;
const visible = (value) => (isShown(value) ? value : typeof value === "number" || typeof value === "bigint" ? String(value) : null);

// An instance listens itself, so that handlers, which are other functions after each drawing, need not be added again.
function handleEvent(event) { this.handlers[event.type]?.call(event.currentTarget, event); }

function instanceOf(described, above) {
  const type = typeOf(described), isSvg = type === "svg" || Boolean(above?.isSvg && above.type !== "foreignObject");
  const made = { type, key: described.key, above, depth: above ? above.depth + 1 : 0, isSvg, value: null, node: null, parts: [], handlers: null, handleEvent };
  if (type === TEXT) made.node = document.createTextNode((made.value = described));
  else if (typeof type === "string") made.node = isSvg ? document.createElementNS(SVG, type) : document.createElement(type);
  else if (type !== LIST) Object.assign(made, { hooks: [], effects: [], layoutEffects: [], isDirty: false, isGone: false });
  return made;
}

/** Let an instance show a value of its type. */
function show(instance, value) {
  const before = instance.value;
  if (before === value) return instance;
  instance.value = value;
  if (instance.type === TEXT) instance.node.data = value;
  else if (instance.type === LIST) match(instance, value);
  else if (instance.node) showElement(instance, value, before ?? { props: {} });
  else draw(instance);
  return instance;
}

function showElement(instance, { props, ref }, { props: before, ref: oldRef }) {
  const { node, type } = instance, { value, checked } = props;
  for (const name in before) if (!(name in props)) set(instance, name, null, before[name]);
  for (const name in props) if (props[name] !== before[name]) set(instance, name, props[name], before[name]);
  match(instance, listed(props.children));
  place(instance);
  // Last, as a choice needs its options and a range its ends; and each time, as people have changed them meanwhile.
  if (isField(type) && value !== undefined && node.value !== String(value ?? "")) node.value = value ?? "";
  if (checked !== undefined && node.checked !== Boolean(checked)) node.checked = checked;
  if (oldRef && oldRef !== ref) oldRef.current = null;
  if (ref) ref.current = node;
}

/** Set a style (by script, as the policy of the page demands), a handler, or an attribute. */
function set(instance, name, value, before) {
  const { node, type } = instance;
  if (name === "children" || name === "checked" || (name === "value" && isField(type))) return;
  if (name === "style") {
    for (const each in { ...before, ...value }) if (before?.[each] !== value?.[each]) node.style[each] = value?.[each] ?? "";
  } else if (name.startsWith("on")) {
    const event = name.slice(2).toLowerCase();
    (instance.handlers ??= {})[event] = value;
    if (value && !before) node.addEventListener(event, instance);
  } else if (name === "selected") node.selected = Boolean(value);
  else if (value === null || value === undefined || (value === false && !name.startsWith("aria-"))) node.removeAttribute(name);
  else node.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
}

/** Let parts follow values: those with a key wherever it has gone, all others in their places. */
function match(above, values) {
  const old = above.parts;
  let byKey;
  const take = (at, value) => {
    const found = old[at];
    if (!found || found.type !== typeOf(value) || found.key !== value.key) return null;
    old[at] = null;
    return show(found, value);
  };
  const placeOf = (key) => (byKey ??= new Map(old.map((part, at) => [part?.key, at]))).get(key);
  above.parts = values.map((each, at) => {
    const value = visible(each);
    if (value === null) return null;
    return take(at, value) ?? (value.key === undefined ? null : take(placeOf(value.key), value)) ?? show(instanceOf(value, above), value);
  });
  for (const each of old) if (each) drop(each, true);
}

/** End an instance and what is in it. The outermost nodes leave the page, and take the others along. */
function drop(instance, isOutermost) {
  const { node, hooks, parts, value: { ref } } = instance;
  instance.isGone = true;
  hooks?.forEach(clean);
  if (ref?.current === node) ref.current = null;
  for (const each of parts) if (each) drop(each, isOutermost && !node);
  if (isOutermost) node?.remove();
}

const hostOf = ({ above }) => (above.node ? above : hostOf(above));
const nodesIn = (parts) => parts.flatMap((each) => each?.node ?? (each ? nodesIn(each.parts) : []));

/** Bring the nodes in an element into order by as few moves as can be. One that has the focus stays: moving would take it away. */
function place({ node: parent, parts }) {
  const wanted = nodesIn(parts);
  let next = parent.firstChild, isAfter = false;
  if (!next) { for (const node of wanted) parent.appendChild(node); return; }
  if (wanted.every((node) => node === next && ((next = node.nextSibling), true))) return;
  const places = new Map(Array.from(parent.childNodes, (node, at) => [node, at]));
  const focused = places.get(wanted.find((node) => node.contains(document.activeElement)));
  // The longest row that is in order already: at which nodes rows of one, two, … end soonest, and what precedes a node there.
  const ends = [], before = new Map(), staying = new Set();
  for (const node of wanted) {
    const at = places.get(node);
    isAfter ||= at === focused;
    if (at === undefined || (isAfter ? at < focused : at > focused)) continue;
    const length = ends.findLastIndex((end) => places.get(end) < at) + 1;
    before.set(node, ends[length - 1]);
    ends[length] = node;
  }
  for (let node = ends.at(-1); node; node = before.get(node)) staying.add(node);
  wanted.reduceRight((after, node) => {
    // A browser that can move a node without taking it out of the page leaves it scrolled as it was.
    if (!staying.has(node)) parent[node.parentNode === parent && parent.moveBefore ? "moveBefore" : "insertBefore"](node, after);
    return node;
  }, null);
}

// Components: functions from properties to what should be there, with state and effects. What fails in one leaves the others be.

let current, calls; // the component that is being drawn, and how many hooks it has called
const roots = new WeakMap(); // by the elements of the page that something is shown in
const dirty = [], drawn = [], painted = []; // components that are to be drawn; and that were, and have effects

const guarded = (action) => { try { return action(); } catch (error) { return reportError(error); } }; // told as any other error
const clean = (hook) => { if (typeof hook.end === "function") guarded(hook.end); hook.end = null; };

function begin(component, which) {
  const due = component[which].splice(0).filter(() => !component.isGone);
  due.forEach(clean);
  for (const hook of due) hook.end = guarded(hook.begin);
}

function draw(component) {
  begin(component, "effects"); // which are due since the last time
  component.isDirty = false;
  [current, calls] = [component, 0];
  const made = guarded(() => [component.type(component.value.props)]);
  if (made) match(component, listed(made[0])); // and else it stays as it was
  if (component.layoutEffects.length) drawn.push(component);
  if (component.effects.length && painted.push(component) === 1) afterPainting();
}

/** Begin effects once what was drawn can be seen; in the background nothing is painted, and a moment has to do. */
function afterPainting() {
  const go = () => { clearTimeout(timer); cancelAnimationFrame(frame); setTimeout(() => painted.splice(0).forEach((each) => begin(each, "effects"))); };
  const timer = setTimeout(go, 100), frame = requestAnimationFrame(go);
}

/** Draw what has changed, beginning above, as that may draw what is below as well. */
function redraw() {
  const now = dirty.splice(0).sort((one, other) => one.depth - other.depth), hosts = new Set();
  for (const each of now) if (each.isDirty && !each.isGone) { draw(each); hosts.add(hostOf(each)); }
  finish(hosts);
}

function finish(hosts) {
  hosts.forEach(place);
  for (const each of drawn.splice(0)) begin(each, "layoutEffects");
}

const hookOf = (first) => (current.hooks[calls++] ??= first());

/** A value that is kept, and a function that changes it: the component is drawn again, once for all changes of a moment. */
export function useState(initial) {
  const component = current, hook = hookOf(() => ({ value: typeof initial === "function" ? initial() : initial }));
  hook.change ??= (next) => {
    const value = typeof next === "function" ? next(hook.value) : next;
    if (Object.is(value, hook.value)) return;
    hook.value = value;
    if (!component.isDirty && dirty.push(component) === 1) queueMicrotask(redraw);
    component.isDirty = true;
  };
  return [hook.value, hook.change];
}

/** Something that is kept, and draws nothing when it changes. Given to an element as `ref`, it holds its node. */
export const useRef = (initial) => hookOf(() => ({ current: initial }));

const effect = (which) => (action, needs) => {
  const hook = hookOf(() => ({}));
  if (needs?.length === hook.needs?.length && needs?.every((each, at) => Object.is(each, hook.needs[at]))) return;
  current[which].push(Object.assign(hook, { begin: action, needs }));
};

/** Do something whenever one of its needs has changed, or at each drawing without any; what it returns ends it. */
export const useEffect = effect("effects"); // once it can be seen
export const useLayoutEffect = effect("layoutEffects"); // before

/** Show something in an element of the page. */
export function render(value, node) {
  if (!roots.has(node)) roots.set(node, Object.assign(instanceOf([], null), { node }));
  match(roots.get(node), [value]);
  finish([roots.get(node)]);
}
