// The shared half of every view: numbers, sentences, decoding, and small pieces of page.
// Plain JavaScript with no dependency and no request. Python puts the colours (PALETTE) and the words (CAPTIONS) in front and one view
// behind, so that a widget, a slide and a saved page run the same lines. Tokens reach the page as text only.

// ---- numbers and sentences: the same as bertlook_teach/views/drawing/sentences.py, held together by a test ----

const TURNS = /[\u0590-\u08ff\u200e\u200f\u202a-\u202e\u2066-\u2069\ufb1d-\ufdff\ufe70-\ufefc]/;
const UNWRITABLE = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]/gu;
const CLEAR_HABIT = 0.3;

function headLabel(layer, head) {
  return `${layer + 1}-${head + 1}`;
}

// A sentence, or a part of one, with its parts put in; its words are Python's (bertlook_teach/views/drawing/captions.py).
function worded(name, parts = {}) {
  return CAPTIONS[name].replace(/\{(\w+)\}/g, (_, part) => parts[part]);
}

function headName(layer, head) {
  return worded("head", { label: headLabel(layer, head) });
}

function visibleToken(token) {
  if (token === "") return "∅";
  if (token.trim() === "") return "␣".repeat(token.length);
  return token.replace(UNWRITABLE, "\ufffd");
}

function quoted(token, special) {
  let shown = visibleToken(token);
  if (TURNS.test(shown)) shown = `\u2068${shown}\u2069`;
  return special ? shown : `“${shown}”`;
}

function percent(share) {
  if (share > 0 && share < 0.005) return "under 1 %";
  if (share >= 0.995 && share < 0.9999) return "over 99 %";
  return `${Math.floor(share * 100 + 0.5)} %`;
}

function number(value) {
  const size = Math.abs(value);
  const decimals = size < 10 ? 3 : size < 100 ? 2 : 0;
  const scale = 10 ** decimals;
  const rounded = Math.floor(size * scale + 0.5) / scale;
  return (value < 0 && rounded ? "-" : "") + rounded.toFixed(decimals);
}

// As drawn: with a minus sign.
function shortNumber(value) {
  const sign = value < 0 ? "\u2212" : "";
  const size = Math.abs(value);
  if (size < 0.995) {
    const hundredths = Math.floor(size * 100 + 0.5);
    return hundredths ? `${sign}.${String(hundredths).padStart(2, "0")}` : "0";
  }
  if (size < 9.95) return sign + (Math.floor(size * 10 + 0.5) / 10).toFixed(1);
  return sign + Math.floor(size + 0.5).toFixed(0);
}

// A difference: a plus where it is above 0 in print.
function signedNumber(value) {
  const text = number(value);
  return value > 0 && Number(text) > 0 ? `+${text}` : text;
}

function shortSigned(value) {
  const text = shortNumber(value);
  return value > 0 && text !== "0" ? `+${text}` : text;
}

// `text` is {tokens, special, segments, unit}, in cross attention with {keys: {tokens, special}}; `shown` and `columns` are the
// queries and keys in view; `weights` a flat array, a row a query.
function describeHead(weights, text, shown, layer, head, columns = shown) {
  const { tokens, special } = text;
  const keys = text.keys ?? text;
  const n = keys.tokens.length;
  const name = headName(layer, head);
  if (!shown.length || !columns.length) return worded("all hidden", { head: name });
  let query = shown[0];
  let key = columns[0];
  for (const i of shown) for (const j of columns) if (weights[i * n + j] > weights[query * n + key]) [query, key] = [i, j];
  const target = query === key && !text.keys ? worded("itself") : quoted(keys.tokens[key], keys.special[key]);
  const share = percent(weights[query * n + key]);
  const sentences = [
    worded("largest weight", { head: name, share, query: quoted(tokens[query], special[query]), key: target }),
    habit(weights, text, shown, columns),
  ];
  if (columns.length < n) {
    const visible = new Set(columns);
    let mass = 0;
    for (const i of shown) for (let j = 0; j < n; j++) if (!visible.has(j)) mass += weights[i * n + j];
    sentences.push(worded("hidden hold", { share: percent(mass / shown.length) }));
  }
  return sentences.join(" ");
}

// Simple places where a head may look: the token itself, its neighbours, each kind of special token in view.
function placesOf({ tokens: own, special: ownSpecial, unit, keys, in_line: inLine = !keys }, shown) {
  const { tokens, special } = keys ?? { tokens: own, special: ownSpecial };
  const n = tokens.length;
  const places = new Map(keys ? [] : [[worded("place itself", { unit }), (i) => [i]]]);
  if (inLine) places.set(worded("place before", { unit }), (i) => (i > 0 ? [i - 1] : []));
  if (inLine) places.set(worded("place after", { unit }), (i) => (i + 1 < n ? [i + 1] : []));
  const spots = new Map();
  for (const j of shown) {
    if (!special[j]) continue;
    const label = quoted(tokens[j], true);
    if (!spots.has(label)) spots.set(label, []);
    spots.get(label).push(j);
  }
  for (const [label, keys] of spots) places.set(label, () => keys);
  return places;
}

function habit(weights, text, shown, columns) {
  const { unit } = text;
  const n = (text.keys ?? text).tokens.length;
  const visible = new Set(columns);
  let best = null;
  let bestShare = -1;
  for (const [place, keys] of placesOf(text, columns)) {
    let share = 0;
    for (const i of shown) for (const j of keys(i)) if (visible.has(j)) share += weights[i * n + j];
    share /= shown.length;
    if (share > bestShare) [best, bestShare] = [place, share];
  }
  if (bestShare >= CLEAR_HABIT && columns.length > 1) return worded("goes on average", { share: percent(bestShare), place: best });
  let peak = 0;
  for (const i of shown) peak += columns.reduce((most, j) => Math.max(most, weights[i * n + j]), 0);
  return worded("goes nowhere", { unit, share: percent(peak / shown.length) });
}

function describeToken(weights, text, position, side, top = 3) {
  const keys = text.keys ?? text;
  const [own, others] = side === "query" ? [text, keys] : [keys, text];
  const n = keys.tokens.length;
  const line = others.tokens.map((_, j) => weights[side === "query" ? position * n + j : j * n + position]);
  const order = line.map((_, j) => j).sort((a, b) => line[b] - line[a] || a - b);
  const named = order
    .slice(0, top)
    .map((j) => `${j === position && !text.keys ? worded("itself") : quoted(others.tokens[j], others.special[j])} ${percent(line[j])}`);
  const rest = line.length - named.length;
  if (rest && side === "query") {
    const mass = order.slice(top).reduce((sum, j) => sum + line[j], 0);
    named.push(otherTokens(rest, percent(mass)));
  }
  const token = quoted(own.tokens[position], own.special[position]);
  return worded(side === "query" ? "looks" : "is looked at", { token, others: named.join(", ") });
}

// The tokens that a list does not name, and what they hold together.
function otherTokens(count, amount) {
  return worded(count > 1 ? "others" : "another", { count, amount });
}

// ---- the same for a difference, after minus before: bertlook_teach/views/drawing/difference.py ----

function points(change) {
  return (Math.floor(Math.abs(change) * 1000 + 0.5) / 10).toFixed(1);
}

function signedPoints(change) {
  const size = points(change);
  return size === "0.0" ? size : (change > 0 ? "+" : "-") + size;
}

function describeDifference(changes, text, shown, layer, head) {
  const { tokens, special, unit } = text;
  const n = tokens.length;
  const name = worded("changed head", { head: headName(layer, head) });
  if (!shown.length) return worded("all hidden", { head: name });
  let [up, down] = [[shown[0], shown[0]], [shown[0], shown[0]]];
  const at = ([i, j]) => changes[i * n + j];
  for (const i of shown) {
    for (const j of shown) {
      if (at([i, j]) > at(up)) up = [i, j];
      if (at([i, j]) < at(down)) down = [i, j];
    }
  }
  const parts = [[up, "gives more", at(up) > 0], [down, "gives less", at(down) < 0]]
    .filter(([, , counts]) => counts)
    .map(([[i, j], gives]) => {
      const key = i === j ? worded("itself") : quoted(tokens[j], special[j]);
      return worded(gives, { query: quoted(tokens[i], special[i]), size: points(at([i, j])), key });
    });
  if (!parts.length) return worded(shown.length < n ? "no change in view" : "no change", { head: name });
  const visible = new Set(shown);
  let [moved, mass] = [0, 0];
  for (const i of shown) {
    for (let j = 0; j < n; j++) {
      moved += Math.abs(at([i, j]));
      if (!visible.has(j)) mass += at([i, j]);
    }
  }
  const said = [worded("changes", { head: name, changes: parts.join("; ") }), worded("moved", { share: percent(moved / 2 / shown.length), unit })];
  if (shown.length < n) said.push(worded("hidden change", { size: signedPoints(mass / shown.length) }));
  return said.join(" ");
}

function describeTokenDifference(changes, { tokens, special }, position, side, top = 2) {
  const n = tokens.length;
  const line = Array.from({ length: n }, (_, j) => changes[side === "query" ? position * n + j : j * n + position]);
  const does = side === "query" ? "looks" : "is looked at";
  const parts = [];
  for (const [sign, word] of [[1, "more"], [-1, "less"]]) {
    const order = line.map((_, j) => j).filter((j) => sign * line[j] > 0).sort((a, b) => sign * (line[b] - line[a]) || a - b);
    if (!order.length) continue;
    const named = order.slice(0, top).map((j, i) => {
      const other = j === position ? worded("itself") : quoted(tokens[j], special[j]);
      return worded(parts.length || i ? "change" : "first change", { token: other, size: signedPoints(line[j]) });
    });
    parts.push(worded(`${does} ${word}`, { others: named.join(", ") }));
  }
  const token = quoted(tokens[position], special[position]);
  if (!parts.length) return worded(`${does} unchanged`, { token });
  const both = parts.length === 1 ? parts[0] : worded("two changes", { first: parts[0], second: parts[1] });
  return worded(`${does} changed`, { token, changes: both });
}

// ---- the same for weighted norms: bertlook_teach/views/drawing/norms.py ----

// `norms` is a flat n x n array; `longest` the length that is drawn at full strength.
function describeHeadNorms(norms, text, shown, layer, head, longest) {
  const { tokens, special } = text;
  const n = tokens.length;
  const name = worded("norms of head", { head: headName(layer, head) });
  if (!shown.length) return worded("all hidden", { head: name });
  let [query, key] = [shown[0], shown[0]];
  for (const i of shown) for (const j of shown) if (norms[i * n + j] > norms[query * n + key]) [query, key] = [i, j];
  const largest = norms[query * n + key];
  if (largest === 0) return worded("no norms", { head: name });
  const source = query === key ? worded("itself") : quoted(tokens[key], special[key]);
  const sums = Array.from({ length: n }, (_, i) => norms.slice(i * n, (i + 1) * n).reduce((sum, x) => sum + x, 0));
  const counted = shown.filter((i) => sums[i] > 0);
  const share = (i, j) => norms[i * n + j] / sums[i];
  const sentences = [
    worded("largest norm", { head: name, length: number(largest), query: quoted(tokens[query], special[query]), key: source }),
    sourceOf(share, counted, text, shown),
  ];
  if (shown.length < n) {
    const visible = new Set(shown);
    let mass = 0;
    for (const i of counted) for (let j = 0; j < n; j++) if (!visible.has(j)) mass += share(i, j);
    sentences.push(worded("hidden give", { share: percent(mass / counted.length) }));
  }
  sentences.push(worded("longest", { length: number(longest) }));
  return sentences.join(" ");
}

function sourceOf(share, counted, text, shown) {
  const visible = new Set(shown);
  let [best, bestShare] = [null, -1];
  for (const [place, keys] of placesOf(text, shown)) {
    let mean = 0;
    for (const i of counted) for (const j of keys(i)) if (visible.has(j)) mean += share(i, j);
    mean /= counted.length;
    if (mean > bestShare) [best, bestShare] = [place, mean];
  }
  if (bestShare >= CLEAR_HABIT && shown.length > 1) return worded("comes on average", { share: percent(bestShare), place: best });
  let peak = 0;
  for (const i of counted) peak += shown.reduce((most, j) => Math.max(most, share(i, j)), 0);
  return worded("comes from nowhere", { unit: text.unit, share: percent(peak / counted.length) });
}

function describeTokenNorms(norms, { tokens, special }, position, side, top = 3) {
  const n = tokens.length;
  const line = Array.from({ length: n }, (_, j) => norms[side === "query" ? position * n + j : j * n + position]);
  const token = quoted(tokens[position], special[position]);
  const total = line.reduce((sum, x) => sum + x, 0);
  if (total === 0) return worded(side === "query" ? "gets nothing" : "gives nothing", { token });
  const amount = (value) => number(value) + (side === "query" ? ` (${percent(value / total)})` : "");
  const order = line.map((_, j) => j).sort((a, b) => line[b] - line[a] || a - b);
  const named = order
    .slice(0, top)
    .map((j) => `${j === position ? worded("itself") : quoted(tokens[j], special[j])} ${amount(line[j])}`);
  const rest = n - named.length;
  if (rest && side === "query") {
    const others = order.slice(top).reduce((sum, j) => sum + line[j], 0);
    named.push(otherTokens(rest, amount(others)));
  }
  return worded(side === "query" ? "gets norms" : "gives norms", { token, others: named.join(", ") });
}

// ---- data ----

// A host hands bytes over as a DataView into a larger message: the offset matters.
function bytesOf(value) {
  if (!value) return new Uint8Array(0);
  if (value instanceof ArrayBuffer) return new Uint8Array(value);
  return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

// Small data come plain and are read at once; large data come deflated, and a promise is returned.
function unpack(value, packing) {
  const bytes = bytesOf(value);
  if (packing !== "deflate") return bytes;
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer().then((buffer) => new Uint8Array(buffer));
}

// A function that says whether a view's data are there, and hands new ones to `accept` (true: they are complete) when
// they have changed. Deflated data come a moment later; `update` is then called.
function dataReader(get, accept, update) {
  let source = null; // the bytes that were accepted last
  let complete = false;
  return () => {
    const bytes = get("data");
    if (bytes === source) return complete;
    const take = (plain) => {
      complete = accept(plain);
      source = bytes;
    };
    const unpacked = unpack(bytes, get("packing"));
    if (!(unpacked instanceof Promise)) {
      take(unpacked);
      return complete;
    }
    unpacked.then((plain) => {
      if (get("data") !== bytes) return; // newer ones have come
      take(plain);
      update();
    });
    return false;
  };
}

// All heads of one text; a head is decoded when it is shown.
class Weights {
  constructor(bytes, [layers, heads, tokens, keys = tokens], bits, difference = false) {
    this.heads = heads;
    this.tokens = tokens;
    this.size = tokens * keys;
    this.complete = bytes.byteLength === (layers * heads * this.size * bits) / 8;
    this.zero = difference ? 2 ** (bits - 1) - 1 : 0; // the step of no change
    this.top = difference ? this.zero : 2 ** bits - 1;
    // Two-byte numbers must start at an even address, which a message does not promise: copy.
    this.steps = bits === 8 ? bytes : this.complete ? new Uint16Array(bytes.slice().buffer) : null;
  }

  head(layer, head) {
    const size = this.size;
    const start = (layer * this.heads + head) * size;
    const weights = new Float64Array(size);
    for (let i = 0; i < size; i++) weights[i] = (this.steps[start + i] - this.zero) / this.top;
    return weights;
  }

  // What each head gives from a query to a key, a row a layer; a word is several pieces, as in toWords.
  between(queries, keys, [layers]) {
    const across = this.size / this.tokens;
    const given = (start) => queries.reduce((sum, i) => sum + keys.reduce((part, j) => part + this.steps[start + i * across + j] - this.zero, 0), 0);
    const row = (l) => Array.from({ length: this.heads }, (_, h) => given((l * this.heads + h) * this.size) / this.top / queries.length);
    return Array.from({ length: layers }, (_, l) => row(l));
  }
}

// Pieces looked at are added up, pieces that look are averaged: bertlook_teach/model/words.py.
function toWords(weights, n, groups) {
  const m = groups.length;
  const words = new Float64Array(m * m);
  groups.forEach((queries, a) => {
    groups.forEach((keys, b) => {
      let sum = 0;
      for (const i of queries) for (const j of keys) sum += weights[i * n + j];
      words[a * m + b] = sum / queries.length;
    });
  });
  return words;
}

// ---- page ----

// An element with its class, its attributes, and what is in it: nodes, and strings, which become text.
function element(tag, className = "", attributes = {}, ...content) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...content);
  return node;
}

// A part of a drawing.
function drawn(tag, attributes = {}, ...content) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...content);
  return node;
}

// An element that takes keys: JupyterLab's shortcuts leave it alone.
function control(tag, className = "", attributes = {}, ...content) {
  return element(tag, className, { "data-lm-suppress-shortcuts": "true", ...attributes }, ...content);
}

// Space and Enter press the button, and turn no slide.
function button(className, words, press) {
  const node = control("button", className, { type: "button" }, words);
  node.addEventListener("click", press);
  node.addEventListener("keydown", (event) => [" ", "Enter"].includes(event.key) && event.stopPropagation());
  return node;
}

// The first cell of a row says what the row is about; in the row at the top every cell heads its column.
function tableRow(cells, top = false) {
  const cell = (content, i) => (top || !i ? element("th", "", { scope: top ? "col" : "row" }, content) : element("td", "", {}, content));
  return element("tr", "", {}, ...cells.map(cell));
}

function fillTable(table, title, top, rows) {
  const caption = title ? [element("caption", "", {}, title)] : [];
  table.replaceChildren(...caption, tableRow(top, true), ...rows.map((cells) => tableRow(cells)));
}

// A sentence whose numbers keep their unit on their line, and heads their name; its text, which is read and copied, stays as it is.
function setSentence(node, sentence) {
  if (node.textContent === sentence) return; // a reader of the screen would say it again
  const parts = sentence.split(/(\S+ (?:%|(?:nats|points?)\b)|\b\d+-\d+\b|\[[-+.\d]+, [-+.\d]+\])/);
  node.replaceChildren(...parts.map((part, i) => (i % 2 ? element("span", "bl-glued", {}, part) : part)));
}

function place(node, left, top, width) {
  node.style.left = `${left}px`;
  node.style.top = `${top}px`;
  if (width !== undefined) node.style.width = `${width}px`;
}

function magnitudeStep(share) {
  return Math.max(0, Math.min(255, Math.round(share * 255)));
}

// 0 to 254, 127 for no difference.
function differenceStep(share) {
  return 127 + Math.max(-127, Math.min(127, Math.round(share * 127)));
}

// A labelled menu. `fill` takes [value, label] pairs and the chosen value; `choose` gets the value that a reader takes.
function menuNamed(label, choose) {
  const select = control("select", "bl-select");
  const box = element("label", "bl-menu", {}, element("span", "", {}, label), select);
  let options = [];
  function fill(wanted, chosen) {
    if (JSON.stringify(wanted) !== JSON.stringify(options)) {
      select.replaceChildren(...wanted.map(([value, words]) => element("option", "", { value }, String(words))));
    }
    options = wanted;
    select.value = String(chosen);
  }
  keepKeys(select);
  select.addEventListener("change", () => choose(options[select.selectedIndex][0]));
  return { box, select, fill };
}

// Layers or heads as the options of a menu.
const counted = (n) => Array.from({ length: n }, (_, i) => [i, i + 1]);

// Float32, little-endian, from byte `start` on: copied, because such numbers must start at a multiple of four.
function floatsAt(bytes, start, count) {
  return new Float32Array(bytes.slice(start, start + 4 * count).buffer);
}

// How tall a view grows by itself: 17 tokens in the size of the text; on a slide, what a title, the controls of the
// explorer and two lines of caption leave.
function tallest(host, em) {
  return onSlide(host) ? Math.max(12 * em, 0.54 * window.innerHeight) : Math.max(18.6 * em, 420);
}

const onSlide = (host) => Boolean(document.body.classList.contains("rise-enabled") || host.closest(".reveal"));

// A height that was asked for is in pixels of a slide of 1280 x 720: how much larger this slide is.
const enlarged = (host) => (onSlide(host) ? Math.max(1, Math.min(window.innerWidth / 1280, window.innerHeight / 720)) : 1);

// Which model a view shows, in the colour that the model has in every picture.
function showBadge(node, text) {
  node.textContent = text;
  node.hidden = !text;
  const [, fill, edge, ink] = PALETTE.badges.find(([words]) => new RegExp(words).test(text)) ?? [];
  Object.assign(node.style, fill ? { background: fill, color: ink, boxShadow: `inset 0 0 0 0.1em ${edge}` } : { background: "", color: "", boxShadow: "" });
}

// What is said of a part of a view, above it and inside the view.
function showTip(tip, root, part, words) {
  tip.textContent = words;
  tip.classList.add("bl-open");
  const [box, outer] = [part.getBoundingClientRect(), root.getBoundingClientRect()];
  const left = box.left - outer.left + (box.width - tip.offsetWidth) / 2;
  place(tip, Math.max(0, Math.min(left, outer.width - tip.offsetWidth)), box.top - outer.top - tip.offsetHeight - 4);
}

// The colours of a scale from left to right.
const gradient = (colours) => `linear-gradient(to right, ${colours.filter((_, i) => i % 15 === 0).join(",")})`;

// A canvas as sharp as the screen; returns how many of its pixels are one of the page.
function sizeCanvas(canvas, width, height) {
  const scale = Math.min(3, window.devicePixelRatio || 1);
  canvas.width = Math.max(1, Math.round(width * scale));
  canvas.height = Math.max(1, Math.round(height * scale));
  return scale;
}

// How wide a text is in the type of a view.
function textWidth(root, words, bold = false) {
  const { fontWeight, fontSize, fontFamily } = getComputedStyle(root);
  const pen = (textWidth.pen ??= document.createElement("canvas").getContext("2d"));
  pen.font = `${bold ? "600" : fontWeight} ${fontSize} ${fontFamily}`;
  return pen.measureText(words).width;
}

// Keys that a view uses must reach neither the notebook nor the slides.
function keep(event) {
  event.preventDefault();
  event.stopPropagation();
}

// What is typed into a control reaches neither the view around it nor the slides.
function keepKeys(...nodes) {
  for (const node of nodes) for (const kind of ["keydown", "keypress", "keyup"]) node.addEventListener(kind, (event) => event.stopPropagation());
}

// The keys of a view. `meaning` gives the changes that a key asks for, none if it changes nothing, or null if the view has no use for it.
function onKeys(node, emit, meaning) {
  node.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const changes = meaning(event.key, event);
    if (!changes) return;
    keep(event);
    if (Object.keys(changes).length) emit(changes);
  });
}

// Arrows through the heads, the same in every view. Returns the new place, or null if the key means nothing.
function moved(key, layer, head, layers, heads) {
  const within = (value, limit) => Math.max(0, Math.min(limit - 1, value));
  if (key === "ArrowLeft") return [layer, within(head - 1, heads)];
  if (key === "ArrowRight") return [layer, within(head + 1, heads)];
  if (key === "ArrowUp") return [within(layer - 1, layers), head];
  if (key === "ArrowDown") return [within(layer + 1, layers), head];
  if (key === "Home") return [layer, 0];
  if (key === "End") return [layer, heads - 1];
  return null;
}

function movedHead(key, get) {
  const place = moved(key, get("layer"), get("head"), ...get("shape"));
  return place && { layer: place[0], head: place[1] };
}

// Call `draw` once after any number of changes, in the same turn of the event loop.
function oncePerTurn(draw) {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    queueMicrotask(() => {
      waiting = false;
      draw();
    });
  };
}

// The type of a view: as large as asked for in pixels, or as the page's.
function setType(root, pixels) {
  if (pixels) root.style.setProperty("--bertlook-font-size", `${pixels}px`);
  else root.style.removeProperty("--bertlook-font-size");
}

// What a view hands its host: `resized` is called when one of `watched` changes its size, `stop` when the view goes.
function hosted(root, update, watched, resized, stop = () => {}) {
  const observer = new ResizeObserver(resized);
  for (const node of watched) observer.observe(node);
  return {
    update,
    destroy() {
      stop();
      observer.disconnect();
      root.remove();
    },
  };
}

// A host keeps its view in step with a model (anywidget's, or a plain stand-in on a saved page):
// `create` gets the page element, how to read a trait, to set some and to send Python a message, and returns {update, destroy}.
function mount({ model, el }, create) {
  const emit = (changes) => {
    for (const [name, value] of Object.entries(changes)) model.set(name, value);
    model.save_changes();
  };
  const view = create(el, (name) => model.get(name), emit, (message) => model.send(message));
  saveButton(el.firstElementChild, view);
  const redraw = oncePerTurn(view.update);
  model.on("change", redraw);
  view.update();
  globalThis.bertlookMounted?.(model); // in Jupyter, our extension: it answers where Python does not
  return () => {
    model.off("change", redraw);
    view.destroy();
  };
}
