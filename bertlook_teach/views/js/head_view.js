// One head's attention over one text: lines or a grid, the sentence beneath, keys and pointer.

const LEVELS = 32; // steps of weight a drawing tells apart, as in render/attention.py
const STYLE_NAMES = ["lines", "grid", "rows"];
const LEVEL_NAMES = ["wordpiece", "word"];
const QUANTITY_NAMES = ["weight", "norm"];
const CURVE_LIMIT = 32; // above so many tokens lines are straight: faster, and curves can no longer be followed

const lineWidth = (weight) => 0.06 + 0.3 * weight;
const lineOpacity = (weight) => Math.min(1, 0.04 + 0.9 * Math.sqrt(weight));

const alike = (one, other) => JSON.stringify(one) === JSON.stringify(other);

const KEYS_HELP =
  "Left and right arrows change the head, up and down the layer. " +
  "Shift with up or down chooses a token, then with left or right a second one, Escape lets them go.";

function createHeadView(host, get, emit) {
  const root = element("div", "bertlook bertlook-view");
  const header = element("div", "bl-header", { "aria-hidden": "true" });
  const queryTitle = element("span", "bl-axis");
  const name = element("span", "bl-name");
  const keyTitle = element("span", "bl-axis");
  const stage = element("div", "bl-stage");
  const canvas = element("canvas", "", { "aria-hidden": "true" });
  const scroller = control("div", "bl-scroller", { tabindex: "0", role: "application" });
  const sheet = element("div", "bl-sheet", { "aria-hidden": "true" });
  const strongest = element("span", "bl-change-full");
  const ways = ["more", "less"].map((way) => element("span", `bl-change-${way}`, {}, way));
  const changeKey = element("div", "bl-change-key", { "aria-hidden": "true" }, ...ways, strongest);
  const caption = element("p", "bl-caption", { "aria-live": "polite" });
  const badge = element("span", "bl-badge");
  const said = element("span");
  const gap = document.createTextNode("");
  caption.append(badge, gap, said);
  const table = element("table", "bl-unseen");
  header.append(queryTitle, name, keyTitle);
  scroller.append(sheet);
  stage.append(canvas, scroller);
  root.append(header, stage, changeKey, caption, table);
  host.append(root);

  let all = null; // Weights of every head
  let weights = null; // the head in view, at the level in view: what is drawn, from 0 to 1
  let changes = null; // its changes, if a difference is in view; then `weights` are from -1 to 1
  let norms = null; // its weighted norms, if these are in view
  let longest = 0; // the norm drawn at full strength
  let text = null; // its tokens
  let shown = []; // queries in view
  let columns = []; // keys in view: the same, but for cross attention
  let hover = null; // {side, position} under the pointer
  let layout = null;
  let laidOut = ""; // what the layout was made for
  let lastLevel = "";
  let ownPair = null; // the pair of tokens that this view told
  let mostTokens = 0; // of the longest text shown so far
  let tableTimer = 0;
  let gone = false;

  // -- data --

  const load = dataReader(get, accept, () => update());

  function accept(plain) {
    const read = new Weights(plain, get("shape"), get("bits"), get("difference"));
    all = read.complete ? read : null;
    return all !== null;
  }

  function choose() {
    const level = LEVEL_NAMES[get("level_index")];
    if (lastLevel && level !== lastLevel && get("query") >= 0) emit({ query: -1, key: -1 }); // positions mean something else
    lastLevel = level;
    const texts = get("texts");
    text = { ...(texts[level] ?? Object.values(texts)[0]), unit: level === "word" ? "word" : "token" };
    const whole = all.head(get("layer"), get("head"));
    const lengths = QUANTITY_NAMES[get("quantity_index")] === "norm" ? keyNorms() : null;
    longest = lengths ? Math.max(...lengths) : 1;
    if (lengths) for (let i = 0; i < whole.length; i++) whole[i] *= lengths[i % lengths.length];
    weights = text.groups ? toWords(whole, all.tokens, text.groups) : whole;
    changes = get("difference") ? weights : null;
    changeKey.hidden = !changes;
    changeKey.classList.toggle("bl-change-cells", STYLE_NAMES[get("style_index")] === "grid");
    if (changes) strongest.textContent = `full: ${points(text.largest)} points`;
    if (changes) weights = changes.map((change) => Math.max(-1, Math.min(1, change / (text.largest || 1))));
    for (let i = 0; i < weights.length; i++) weights[i] = Math.min(weights[i], longest); // rounded pieces may add up to a little more
    norms = lengths ? weights : null;
    if (norms) weights = norms.map((norm) => norm / (longest || 1));
    const hide = get("hide_special");
    const inView = ({ tokens, special }) => tokens.map((_, i) => i).filter((i) => !(hide && special[i]));
    shown = inView(text);
    columns = text.keys ? inView(text.keys) : shown;
    tellPair();
  }

  // What all heads give from the query kept in view to the key chosen beside it: a map that is linked with this view shows it. Where
  // another pair is told, or none, the key is let go here.
  function tellPair() {
    const [query, key, told, keys] = [get("query"), get("key"), get("pair"), text.keys ?? text];
    if (told === undefined) return; // a part of a view that has no pairs
    if (ownPair && !alike(told, ownPair)) {
      ownPair = null;
      if (key >= 0) emit({ key: -1 });
    } else if (query >= 0 && key >= 0 && query < text.tokens.length && key < keys.tokens.length) {
      const pieces = (i) => text.groups?.[i] ?? [i];
      const name = `from ${quoted(text.tokens[query], text.special[query])} to ${quoted(keys.tokens[key], keys.special[key])}`;
      ownPair = { name, values: all.between(pieces(query), pieces(key), get("shape")) };
      if (!alike(told, ownPair)) emit({ pair: ownPair });
    } else if (ownPair) {
      ownPair = null;
      emit({ pair: {} });
    }
  }

  // Length of each key's transformed vector in the head in view; null if the view has none.
  function keyNorms() {
    const bytes = bytesOf(get("norms"));
    const [layers, heads, tokens] = get("shape");
    if (bytes.byteLength !== layers * heads * tokens * 4) return null;
    const read = new DataView(bytes.buffer, bytes.byteOffset);
    const start = (get("layer") * heads + get("head")) * tokens;
    return Array.from({ length: tokens }, (_, j) => read.getFloat32((start + j) * 4, true));
  }

  // -- layout: only when the text, the style, the width or the type size changes --

  function layOut() {
    const em = parseFloat(getComputedStyle(root).fontSize);
    const width = Math.floor(root.clientWidth);
    if (!width) return false; // hidden: the observer calls again once there is room
    const [, , pieces] = get("shape");
    const style = STYLE_NAMES[get("style_index")];
    const key = JSON.stringify([em, width, tallest(host, em), style, get("height"), Boolean(norms), Boolean(changes), pieces, shown, text.tokens, text.segments, columns, text.keys]);
    if (key === laidOut) return true;
    laidOut = key;
    const n = Math.max(shown.length, columns.length);
    const headerHeight = 1.3 * em;
    // The height depends on the text alone, not on the head, the level or the style: nothing jumps.
    // A shorter text leaves room below rather than pull the slide up.
    mostTokens = Math.max(mostTokens, pieces, columns.length);
    const natural = Math.max((style === "rows" ? 13 : 8) * em, (mostTokens + 0.4) * 1.5 * em);
    const height = (get("height") * enlarged(host) || Math.min(natural, tallest(host, em))) - headerHeight - (changes ? 1.4 * em : 0);
    stage.style.height = `${height}px`;
    header.style.height = `${headerHeight}px`;
    caption.style.minHeight = `${(1.25 * captionLines(width) + 0.2) * em}px`;
    const keys = text.keys ?? text;
    const labels = [shown.map((i) => visibleToken(text.tokens[i])), columns.map((j) => visibleToken(keys.tokens[j]))];
    const widest = 1.08 * Math.max(em, ...labels.flat().map((label) => textWidth(root, label))); // bold is wider
    const pair = !text.keys && new Set(shown.map((i) => text.segments[i])).size > 1;
    layout = { em, width, height, n, style, pair };
    sheet.replaceChildren();
    sheet.style.width = "";
    scroller.classList.toggle("bl-sideways", style === "rows");
    if (style === "grid") layOutGrid(labels, widest);
    else if (style === "rows") layOutRows(labels);
    else layOutLines(labels, widest);
    layout.scale = sizeCanvas(canvas, width, height);
    return true;
  }

  // Room for a sentence of the usual length, so that the page does not move from head to head.
  function captionLines(width) {
    const pair = { query: quoted("something", false), key: quoted("somebody", false) };
    const largest = worded("largest weight", { head: headName(11, 11), share: percent(0.998), ...pair });
    const habit = worded("goes on average", { share: percent(0.99), place: worded("place before", { unit: "token" }) });
    const usual = [get("badge") ?? "", largest, habit].join(" ");
    return Math.max(1, Math.min(4, Math.ceil((1.06 * textWidth(root, usual)) / width)));
  }

  function token(side, index, label) {
    const node = element("span", `bl-token bl-${side}`, { dir: "auto", "data-side": side, "data-index": index }, label);
    node.title = side === "query" || !text.keys ? visibleToken(text.tokens[shown[index]]) : label;
    if (layout.pair) node.classList.add(text.segments[shown[index]] ? "bl-segment-b" : "bl-segment-a");
    return node;
  }

  function layOutLines(labels, widest) {
    const { em, width, height, n } = layout;
    const numbers = width >= 24 * em ? 3.4 * em : 0; // room for the weights of a chosen token
    const column = Math.min(widest + 1.1 * em, Math.max(3 * em, (width - numbers) * 0.34));
    const spread = Math.min(width - numbers - 2 * column, 26 * em);
    const left = Math.max(0, Math.min((width - numbers - 2 * column - spread) / 2, 6 * em));
    const pad = 0.16 * em; // letters may be taller than their row
    let pitch = (height - 2 * pad) / Math.max(1, n);
    if (pitch < 0.7 * em) pitch = 1.3 * em; // then the tokens scroll
    pitch = Math.min(pitch, 2 * em);
    // Lines closer than their letters are tall: smaller letters, as far as they can still be read from the last row.
    const least = Math.min(1, onSlide(host) ? Math.max(24 / em, 0.88) : 0.85);
    const type = `${Math.max(least, Math.min(1, pitch / (1.1 * em)))}em`;
    Object.assign(layout, { pad, pitch, column, left, x0: left + column, x1: left + column + spread });
    sheet.style.height = `${Math.floor(n * pitch + 2 * pad)}px`;
    makeTokens(labels);
    layout.numbers = layout.keys.map(() => element("span", "bl-number"));
    for (let i = 0; i < n; i++) {
      const nodes = [layout.queries[i], layout.keys[i], layout.numbers[i]];
      const places = [[left, column], [layout.x1, column], [layout.x1 + column, numbers]];
      nodes.forEach((node, k) => {
        if (!node) return; // cross attention: fewer queries than keys, or fewer keys
        node.style.height = node.style.lineHeight = `${pitch}px`;
        node.style.fontSize = type;
        place(node, places[k][0], pad + i * pitch, places[k][1]);
        sheet.append(node);
      });
      if (!numbers && nodes[2]) nodes[2].style.display = "none";
    }
    const titles = fitTitles(["query (looks)", "query"], ["key (is looked at)", "key"], left, layout.x1 + 0.45 * em);
    // The titles may reach over the lines, as long as the name of the head keeps its place.
    place(queryTitle, Math.max(left, layout.x0 - 0.45 * em - titles.query), 0);
    placeName((layout.x0 + layout.x1 - titles.name) / 2, Math.max(left + titles.query, layout.x0 - 0.45 * em), titles);
  }

  function makeTokens([queries, keys]) {
    layout.queries = queries.map((label, i) => token("query", i, label));
    layout.keys = keys.map((label, j) => token("key", j, label));
  }

  // Queries in a row above, keys in a row below: for short tokens.
  function layOutRows(labels) {
    const { em, width, height, n } = layout;
    makeTokens(labels);
    const widths = Array.from({ length: n }, (_, i) => 1.08 * Math.max(0.9 * em, ...labels.map((side) => textWidth(root, side[i] ?? ""))) + 0.5 * em);
    const total = widths.reduce((sum, one) => sum + one, 0);
    const more = Math.max(0, Math.min(1.2 * em, (width - total) / Math.max(1, n)));
    const numbers = 1.3 * em; // below the keys, room for the weights of a chosen token
    const row = 1.5 * em;
    const tall = Math.min(height, 2 * row + numbers + 13 * em);
    let at = Math.max(0, (width - total - more * n) / 2);
    layout.centres = widths.map((one) => {
      at += one + more;
      return at - (one + more) / 2;
    });
    Object.assign(layout, { y0: 1.4 * em + row, y1: tall - numbers - row, left: 0 });
    sheet.style.height = `${Math.floor(tall)}px`;
    sheet.style.width = `${Math.max(width, Math.ceil(at))}px`;
    layout.numbers = layout.keys.map(() => element("span", "bl-number"));
    const put = (node, i, top, tallness) => {
      node.classList.add("bl-upright");
      node.style.height = node.style.lineHeight = `${tallness}px`;
      place(node, layout.centres[i] - (widths[i] + more) / 2, top, widths[i] + more);
      sheet.append(node);
    };
    layout.queries.forEach((node, i) => put(node, i, layout.y0 - row, row));
    layout.keys.forEach((node, j) => put(node, j, layout.y1, row));
    layout.numbers.forEach((node, j) => put(node, j, layout.y1 + row, numbers));
    const titles = fitTitles(["query (looks) ↓", "query ↓"], ["key (is looked at) ↑", "key ↑"], 0, width);
    place(queryTitle, 0, 0);
    placeName((width - titles.name) / 2, titles.query, titles);
  }

  function layOutGrid(labels, widest) {
    const { em, width, height, n } = layout;
    const [rows, across] = [shown.length, columns.length];
    const column = Math.min(widest + 1.1 * em, Math.max(3 * em, width * 0.3));
    const rise = Math.min(widest * 0.68 + 0.85 * em, height * 0.32); // room for the slanted key labels
    const room = width - column - Math.min(rise, 0.2 * width);
    const rowHeight = Math.min((height - rise - 2) / Math.max(1, rows), 2.2 * em);
    const cellWidth = Math.min(room / Math.max(1, across), 1.5 * rowHeight);
    Object.assign(layout, { pitch: rowHeight, cellWidth, column, rise, left: column });
    sheet.style.height = `${Math.floor(height)}px`;
    const everyRow = Math.max(1, Math.ceil((0.82 * em) / rowHeight));
    const everyColumn = Math.max(1, Math.ceil((0.9 * em) / cellWidth));
    makeTokens(labels);
    layout.numbers = [];
    const longestKey = Math.max(2 * em, rise / 0.72);
    for (let i = 0; i < n; i++) {
      const [query, key] = [layout.queries[i], layout.keys[i]];
      if (query) {
        query.style.height = query.style.lineHeight = `${rowHeight}px`;
        place(query, 0, rise + i * rowHeight, column);
        if (i % everyRow === 0) sheet.append(query);
      }
      if (key) {
        key.classList.add("bl-slanted");
        key.style.maxWidth = `${longestKey}px`;
        place(key, column + (i + 0.5) * cellWidth + 0.3 * em, rise - 1.35 * em);
        if (i % everyColumn === 0) sheet.append(key);
      }
    }
    const surface = element("div", "bl-surface");
    place(surface, column, rise, cellWidth * across);
    surface.style.height = `${rowHeight * rows}px`;
    sheet.append(surface);
    const titles = fitTitles(["query (looks) ↓", "query ↓"], ["key (is looked at) →", "key →"], 0, column);
    place(queryTitle, Math.max(0, column - 0.45 * em - titles.query), 0);
    placeName(titles.keyAt + titles.key + 1.5 * em, 0, titles);
  }

  // Axis titles, long where there is room and short where not; the key's stays inside the view.
  function fitTitles(query, key, queryAt, keyAt) {
    const { em, width, style } = layout;
    const middle = style === "rows" ? width / 2 : (layout.x0 + layout.x1) / 2;
    const roomForQuery = style === "grid" ? keyAt - queryAt : middle - 4 * em - queryAt;
    queryTitle.textContent = query.find((title) => textWidth(root, title) <= roomForQuery) ?? query[1];
    const latest = style === "grid" ? keyAt : middle + 4 * em;
    keyTitle.textContent = key.find((title) => Math.min(keyAt, width - textWidth(root, title)) >= latest) ?? key[1];
    const keyWidth = textWidth(root, keyTitle.textContent);
    const at = Math.min(keyAt, width - keyWidth);
    place(keyTitle, at, 0);
    return { query: textWidth(root, queryTitle.textContent), key: keyWidth, keyAt: at, name: 1.1 * textWidth(root, norms ? "Head 12-12, norms" : "Head 12-12") };
  }

  // The head's name where there is room for it; the caption says it in any case.
  function placeName(at, after, titles) {
    const before = layout.style === "grid" ? layout.width : titles.keyAt;
    place(name, at, 0, titles.name);
    name.style.visibility = at < after || at + titles.name > before ? "hidden" : "";
  }

  // -- drawing --

  function focusOf() {
    if (hover) return hover;
    const pinned = shown.indexOf(get("query"));
    return pinned < 0 ? null : { side: "query", position: pinned };
  }

  function draw() {
    const focus = focusOf();
    const pen = canvas.getContext("2d");
    pen.setTransform(layout.scale, 0, 0, layout.scale, 0, 0);
    pen.clearRect(0, 0, layout.width, layout.height);
    if (layout.style === "grid") drawGrid(pen, focus);
    else drawLines(pen, focus, layout.style === "rows");
    layout.queries.forEach((node, i) => mark(node, focus, "query", i));
    layout.keys.forEach((node, j) => {
      mark(node, focus, "key", j);
      if (focus?.side === "query" && get("query") === shown[focus.position] && get("key") === columns[j]) node.classList.add("bl-lit");
    });
    const lit = focus && focus.side === "query" && layout.style !== "grid";
    layout.numbers.forEach((node, j) => {
      const at = lit ? shown[focus.position] * keyCount() + columns[j] : -1;
      const amount = () => (changes ? signedPoints(changes[at]) : norms ? number(norms[at]) : rowShare(percent(weights[at])));
      node.textContent = lit && Math.abs((changes ?? weights)[at]) >= 0.005 ? amount() : "";
    });
  }

  // In a row there is no room for the sign of per cent; the caption has it.
  const rowShare = (share) => (layout.style === "rows" ? share.replace(" %", "").replace("over ", ">") : share);

  function mark(node, focus, side, index) {
    node.classList.toggle("bl-lit", Boolean(focus) && focus.side === side && focus.position === index);
    node.classList.toggle("bl-dim", Boolean(focus) && focus.side === side && focus.position !== index);
  }

  const keyCount = () => (text.keys ?? text).tokens.length;

  function drawLines(pen, focus, rows) {
    const { em, pad, pitch, n } = layout;
    const total = keyCount();
    const floor = Math.min(0.01, 0.5 / Math.max(1, columns.length));
    const ends = Array.from({ length: 2 * (LEVELS + 1) }, () => []); // of the lines of each level, faint ones first; odd ones are losses
    const straight = n > CURVE_LIMIT;
    // Across the lines run from the queries to the keys, along them lie the tokens: x and y, in rows y and x.
    const [from, to] = rows ? [layout.y0, layout.y1] : [layout.x0 + 0.15 * em, layout.x1 - 0.15 * em];
    const middle = (from + to) / 2;
    const [scrolled, length] = rows ? [scroller.scrollLeft, layout.width] : [scroller.scrollTop, layout.height];
    const along = (i) => (rows ? layout.centres[i] : pad + (i + 0.5) * pitch) - scrolled;
    const visible = (y) => y > -2 * em && y < length + 2 * em;
    for (let i = 0; i < shown.length; i++) {
      if (focus && focus.side === "query" && focus.position !== i) continue;
      const y0 = along(i);
      for (let j = 0; j < columns.length; j++) {
        if (focus && focus.side === "key" && focus.position !== j) continue;
        const weight = weights[shown[i] * total + columns[j]];
        if (Math.abs(weight) < floor) continue;
        const y1 = along(j);
        if (!visible(y0) && !visible(y1)) continue;
        const level = Math.round(Math.min(1, Math.abs(weight)) * LEVELS);
        ends[2 * level + (weight < 0 ? 1 : 0)].push(y0, y1);
      }
    }
    pen.lineCap = "butt";
    ends.forEach((pairs, i) => {
      const weight = Math.max(Math.floor(i / 2), 0.5) / LEVELS;
      pen.strokeStyle = i % 2 ? PALETTE.less : PALETTE.line;
      pen.setLineDash(i % 2 ? [0.5 * em, 0.3 * em] : []);
      pen.lineWidth = lineWidth(weight) * em;
      pen.globalAlpha = lineOpacity(weight);
      // One stroke a line: three times faster than one long path of many.
      for (let k = 0; k < pairs.length; k += 2) {
        const [y0, y1] = [pairs[k], pairs[k + 1]];
        pen.beginPath();
        pen.moveTo(...(rows ? [y0, from] : [from, y0]));
        if (straight) pen.lineTo(...(rows ? [y1, to] : [to, y1]));
        else if (rows) pen.bezierCurveTo(y0, middle, y1, middle, y1, to);
        else pen.bezierCurveTo(middle, y0, middle, y1, to, y1);
        pen.stroke();
      }
    });
    pen.globalAlpha = 1;
    pen.setLineDash([]);
  }

  function drawGrid(pen, focus) {
    const { em, pitch, cellWidth, left, rise } = layout;
    const [rows, across, total] = [shown.length, columns.length, keyCount()];
    if (!rows || !across) return;
    const gap = Math.min(pitch, cellWidth) >= 0.7 * em ? 1 : 0;
    if (gap) {
      for (let i = 0; i < rows; i++) {
        for (let j = 0; j < across; j++) {
          const weight = weights[shown[i] * total + columns[j]];
          pen.fillStyle = changes ? PALETTE.difference[differenceStep(weight)] : PALETTE.magnitude[magnitudeStep(weight)];
          pen.fillRect(left + j * cellWidth + 0.5, rise + i * pitch + 0.5, cellWidth - gap, pitch - gap);
          if (changes && Math.abs(weight) >= 0.1) drawSign(pen, left + (j + 0.5) * cellWidth, rise + (i + 0.5) * pitch, weight);
        }
      }
    } else {
      // One pixel per cell, scaled up: as fast for 500 tokens as for 50.
      const picture = new ImageData(across, rows);
      for (let i = 0; i < rows; i++) {
        for (let j = 0; j < across; j++) {
          const weight = weights[shown[i] * total + columns[j]];
          const [r, g, b] = changes ? DIFFERENCE_RGB[differenceStep(weight)] : MAGNITUDE_RGB[magnitudeStep(weight)];
          picture.data.set([r, g, b, 255], (i * across + j) * 4);
        }
      }
      const small = new OffscreenCanvas(across, rows);
      small.getContext("2d").putImageData(picture, 0, 0);
      pen.imageSmoothingEnabled = Math.min(pitch, cellWidth) < 1;
      pen.drawImage(small, left, rise, across * cellWidth, rows * pitch);
    }
    pen.strokeStyle = PALETTE.rule;
    pen.lineWidth = 1;
    pen.strokeRect(left + 0.5, rise + 0.5, across * cellWidth - 1, rows * pitch - 1);
    if (!focus) return;
    pen.strokeStyle = PALETTE.selected;
    pen.lineWidth = Math.max(2, 0.12 * em);
    if (focus.side === "query") pen.strokeRect(left, rise + focus.position * pitch, across * cellWidth, pitch);
    else pen.strokeRect(left + focus.position * cellWidth, rise, cellWidth, rows * pitch);
  }

  // Which way a cell has changed, without colour.
  function drawSign(pen, x, y, weight) {
    const arm = 0.24 * Math.min(layout.pitch, layout.cellWidth);
    pen.fillStyle = PALETTE.onDifference[differenceStep(weight)];
    const thick = Math.max(1.5, 0.09 * layout.em);
    pen.fillRect(x - arm, y - thick / 2, 2 * arm, thick);
    if (weight > 0) pen.fillRect(x - thick / 2, y - arm, thick, 2 * arm);
  }

  function speak() {
    const focus = focusOf();
    const [layer, head] = [get("layer"), get("head")];
    showBadge(badge, get("badge") ?? "");
    gap.data = badge.hidden ? "" : " ";
    name.textContent = `Head ${headLabel(layer, head)}${norms ? ", norms" : ""}`;
    const position = focus && (focus.side === "key" ? columns : shown)[focus.position];
    if (changes && focus) setSentence(said, describeTokenDifference(changes, text, position, focus.side));
    else if (changes) setSentence(said, describeDifference(changes, text, shown, layer, head));
    else if (norms && focus) setSentence(said, describeTokenNorms(norms, text, position, focus.side));
    else if (norms) setSentence(said, describeHeadNorms(norms, text, shown, layer, head, longest));
    else if (focus) setSentence(said, describeToken(weights, text, position, focus.side));
    else setSentence(said, describeHead(weights, text, shown, layer, head, columns));
    const more = keyNorms() ? " N changes between weights and norms." : "";
    scroller.setAttribute("aria-label", `${changes ? "Change of attention" : "Attention"} of one head. ${KEYS_HELP}${more}`);
    clearTimeout(tableTimer);
    tableTimer = setTimeout(tabulate, 250); // for screen readers; not while heads are run through
  }

  // The picture as a table: where each token looks most.
  function tabulate() {
    if (gone) return;
    if (changes) return tabulateChanges();
    const n = keyCount();
    const what = norms ? "where most of each token's norm comes from" : "where each token looks most";
    const quantity = norms ? "norm" : "weight";
    const rows = shown.map((i) => {
      let best = columns[0];
      for (const j of columns) if (weights[i * n + j] > weights[i * n + best]) best = j;
      const key = best === i && !text.keys ? "itself" : visibleToken((text.keys ?? text).tokens[best]);
      return [visibleToken(text.tokens[i]), key, norms ? number(norms[i * n + best]) : percent(weights[i * n + best])];
    });
    const title = `Head ${headLabel(get("layer"), get("head"))}: ${what}`;
    fillTable(table, title, ["query", `key with the largest ${quantity}`, quantity], rows);
  }

  function tabulateChanges() {
    const n = text.tokens.length;
    const rows = shown.map((i) => {
      const order = [...shown].sort((a, b) => changes[i * n + b] - changes[i * n + a]);
      const end = (j) => [j === i ? "itself" : visibleToken(text.tokens[j]), signedPoints(changes[i * n + j])];
      return [visibleToken(text.tokens[i]), ...end(order[0]), ...end(order[order.length - 1])];
    });
    const title = `Head ${headLabel(get("layer"), get("head"))}, after minus before, in points`;
    fillTable(table, title, ["query", "looks most more at", "points", "looks most less at", "points"], rows);
  }

  function update() {
    if (gone || !load()) return;
    setType(root, get("font_size"));
    choose();
    if (hover && hover.position >= (hover.side === "key" ? columns : shown).length) hover = null;
    if (layOut()) draw();
    speak();
  }

  function refocus(next) {
    if (next === hover || (next && hover && next.side === hover.side && next.position === hover.position)) return;
    hover = next;
    if (!layout) return;
    draw();
    speak();
  }

  // -- pointer and keys --

  function under(event) {
    const node = event.target.closest?.(".bl-token");
    if (node) return { side: node.dataset.side, position: Number(node.dataset.index) };
    if (layout && event.target.classList?.contains("bl-surface")) {
      const box = event.target.getBoundingClientRect();
      const row = Math.floor(((event.clientY - box.top) / box.height) * shown.length);
      return { side: "query", position: Math.max(0, Math.min(shown.length - 1, row)) };
    }
    return null;
  }

  function onClick(event) {
    const spot = under(event);
    if (!spot) return;
    const [side, place] = [spot.side, (spot.side === "key" ? columns : shown)[spot.position]];
    const chosen = get(side) === place ? -1 : place;
    if (side === "query") emit(chosen < 0 ? { query: -1, key: -1 } : { query: chosen });
    else if (get("query") >= 0 && get("pair")) emit({ key: chosen });
  }
  function onKey(pressed, event) {
    const tokenKey = { ArrowDown: "PageDown", ArrowUp: "PageUp" }; // a presenter's remote owns the page keys on a slide
    const key = event.shiftKey ? (tokenKey[pressed] ?? pressed) : pressed;
    if (key.toLowerCase() === "n" && keyNorms()) return { quantity_index: 1 - get("quantity_index") };
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (event.shiftKey && step && get("query") >= 0 && get("pair")) {
      const next = columns.indexOf(get("key")) + step;
      return columns[next] === undefined ? {} : { key: columns[next] };
    }
    const next = movedHead(key, get);
    const at = shown.indexOf(get("query"));
    // Without a query to let go, Escape is the slides'.
    if (next || !["PageDown", "PageUp", "Escape"].includes(key) || (key === "Escape" && at < 0)) return next;
    hover = null;
    if (key === "Escape") return { query: -1, key: -1 };
    const last = shown.length - 1;
    const to = key === "PageDown" ? (at < 0 ? 0 : Math.min(last, at + 1)) : at < 0 ? last : Math.max(0, at - 1);
    layout?.queries[to]?.scrollIntoView({ block: "nearest" });
    return { query: shown[to] ?? -1 };
  }
  function onScroll() {
    if (layout && layout.style !== "grid") draw();
  }

  scroller.addEventListener("pointermove", (event) => refocus(under(event)));
  scroller.addEventListener("pointerleave", () => refocus(null));
  scroller.addEventListener("click", onClick);
  scroller.addEventListener("scroll", onScroll, { passive: true });
  onKeys(scroller, emit, onKey);

  const stop = () => {
    gone = true;
    clearTimeout(tableTimer);
  };
  const resized = () => all && weights && layOut() && draw();
  // The head in view, a row a query, as it is drawn.
  function numbers() {
    const [n, amounts] = [keyCount(), changes ?? norms ?? weights];
    const rows = shown.map((i) => [text.tokens[i], ...columns.map((j) => Number(amounts[i * n + j].toFixed(6)))]);
    return [["query \\ key", ...columns.map((j) => (text.keys ?? text).tokens[j])], ...rows];
  }
  return { ...hosted(root, update, [root], resized, stop), numbers, name: () => `head-${headLabel(get("layer"), get("head"))}` };
}

const rgb = (colour) => [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
const [MAGNITUDE_RGB, DIFFERENCE_RGB] = [PALETTE.magnitude.map(rgb), PALETTE.difference.map(rgb)];

export default { render: (context) => mount(context, createHeadView) };
