// One head and one sentence under several lenses: a column per lens, the tokens written once, one query for all.
// The same picture and sentence as bertlook_course/render/heads/lenses.py.

const LENS_STYLES = ["bars", "grids"];
const LITTLE = 0.1;
const LENS_KEYS =
  "Left and right arrows change the head, up and down the layer. Shift with up or down chooses the query. " +
  "Digits choose a lens to read about. G changes between bars and grids.";

function twoDigits(value) {
  if (value === 1 || value === 0) return value.toFixed(0);
  const power = Math.floor(Math.log10(value));
  if (power < -4) return `${(Math.floor((value / 10 ** power) * 10 + 0.5) / 10).toFixed(1)}e${power}`;
  const decimals = Math.max(0, 1 - power);
  const scale = 10 ** decimals;
  return (Math.floor(value * scale + 0.5) / scale).toFixed(decimals);
}

const joined = (names) => (names.length === 1 ? names[0] : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`);

// `maps` is one {title, full, values} per lens, values a flat n x n array.
function describeLenses(maps, { tokens, special }, layer, head, query) {
  const n = tokens.length;
  const first = new Map();
  const little = [];
  for (const { title, full, values } of maps) {
    let best = 0;
    for (let j = 1; j < n; j++) if (values[query * n + j] > values[query * n + best]) best = j;
    if (full === 0 || values[query * n + best] / full < LITTLE) little.push(title);
    else first.set(best, [...(first.get(best) ?? []), title]);
  }
  const places = [...first].map(([key, names]) => {
    const named = key === query ? worded("itself") : quoted(tokens[key], special[key]);
    return worded("most at", { key: named, lenses: joined(names) });
  });
  const parts = places.length ? [worded("most", { places: places.join(", ") })] : [];
  if (little.length) parts.push(worded("little", { share: Math.round(100 * LITTLE), lenses: joined(little) }));
  const who = worded("head and query", { head: headName(layer, head), query: quoted(tokens[query], special[query]) });
  return worded("lenses", { who, said: parts.join("; ") });
}

function createSixLenses(host, get, emit) {
  const root = element("div", "bertlook bertlook-view bertlook-lenses");
  const sheet = element("div", "bl-lens-sheet", { "aria-hidden": "true" });
  const label = `One head under several lenses. ${LENS_KEYS}`;
  const scroller = control("div", "bl-scroller bl-lens-scroller", { tabindex: "0", role: "application", "aria-label": label }, sheet);
  const caption = element("p", "bl-caption", { "aria-live": "polite" });
  const about = element("p", "bl-about", { "aria-live": "polite" });
  const table = element("table", "bl-unseen");
  root.append(scroller, caption, about, table);
  host.append(root);

  let steps = null; // of all lenses and heads
  let maps = []; // the head in view: one {title, sentence, full, values} per lens
  let cells = []; // [lens][row] of the bars
  let canvases = []; // [lens] of the grids
  let labels = [];
  let scales = [];
  let builtFor = "";
  let tableTimer = 0;
  let gone = false;

  // -- data --

  const load = dataReader(get, accept, () => update());

  function accept(plain) {
    const [layers, heads, n] = get("shape");
    const size = get("bits") / 8;
    const complete = plain.byteLength === get("names").length * layers * heads * n * n * size;
    // Two-byte numbers must start at an even address, which a message does not promise: copy.
    steps = !complete ? null : size === 1 ? plain : new Uint16Array(plain.slice().buffer);
    return steps !== null;
  }

  function choose() {
    const [layers, heads, n] = get("shape");
    const top = 2 ** get("bits") - 1;
    const bytes = bytesOf(get("full"));
    const full = new DataView(bytes.buffer, bytes.byteOffset);
    maps = get("names").map((name, lens) => {
      const map = (lens * layers + get("layer")) * heads + get("head");
      const scale = full.getFloat32(map * 4, true);
      const values = new Float64Array(n * n);
      for (let i = 0; i < n * n; i++) values[i] = (steps[map * n * n + i] / top) * scale;
      return { title: get("titles")[lens], sentence: get("sentences")[lens], full: scale, values };
    });
  }

  const style = () => LENS_STYLES[get("style_index")];
  const query = () => Math.max(0, Math.min(get("shape")[2] - 1, get("query")));

  // -- layout: when the text, the lenses, the style, the width or the type size change --

  function build() {
    const em = parseFloat(getComputedStyle(root).fontSize);
    const width = Math.floor(root.clientWidth);
    if (!width) return false; // hidden: the observer calls again once there is room
    const { tokens } = get("text");
    const n = tokens.length;
    const key = JSON.stringify([em, width, window.innerHeight, style(), get("height"), tokens, get("titles")]);
    if (key === builtFor) return true;
    builtFor = key;
    const shown = tokens.map(visibleToken);
    const widest = Math.max(3 * em, ...shown.map((label) => textWidth(root, label, true)));
    const aside = Math.min(widest, Math.max(4 * em, 0.22 * width)) + 1.7 * em;
    const across = Math.max(3.6 * em, (width - aside) / maps.length);
    const twoLines = maps.some(({ title }) => title.includes(" ") && textWidth(root, title, true) > across - 0.5 * em);
    const header = (twoLines ? 2.45 : 1.35) * em;
    const foot = 1.4 * em;
    const room = (get("height") * enlarged(host) || 0.9 * tallest(host, em)) - header - foot;
    const pitch = Math.max(1.2 * em, Math.min(1.5 * em, room / n));
    const body = Math.min(room, n * pitch);
    scroller.style.height = `${Math.ceil(header + Math.max(body, 2.4 * em) + foot)}px`;
    caption.style.minHeight = `${2.5 * em}px`;
    sheet.style.gridTemplateColumns = `${aside}px repeat(${maps.length}, ${across}px)`;
    sheet.style.gridTemplateRows = `${header}px repeat(${n}, ${pitch}px) ${foot}px`;
    const corner = element("span", "bl-lens-corner", {}, style() === "bars" ? "key" : "query");
    const titled = `bl-lens-title${twoLines ? " bl-two-lines" : ""}`;
    const titles = maps.map(({ title }, lens) => element("span", titled, { "data-lens": lens }, title));
    labels = shown.map((label, i) => {
      const node = element("span", "bl-token bl-query bl-lens-token", { dir: "auto", "data-index": i, title: label }, label);
      node.style.gridRow = i + 2;
      return node;
    });
    cells = [];
    canvases = [];
    const panels = [];
    maps.forEach((_, lens) => {
      if (style() === "grids") {
        const canvas = element("canvas", "bl-lens-canvas", { "data-lens": lens });
        canvas.style.gridArea = `2 / ${lens + 2} / span ${n} / span 1`;
        canvases.push(canvas);
        panels.push(canvas);
        return;
      }
      cells.push(
        shown.map((_, i) => {
          const [bar, value] = [element("span", "bl-lens-bar"), element("span", "bl-lens-value")];
          const cell = element("span", "bl-lens-cell", {}, bar, value);
          cell.style.gridArea = `${i + 2} / ${lens + 2}`;
          panels.push(cell);
          return { bar, value };
        }),
      );
    });
    const hundred = element("span", "bl-lens-foot bl-lens-hundred", {}, "100 is");
    scales = maps.map((_, lens) => {
      const node = element("span", "bl-lens-foot");
      node.style.gridArea = `${n + 2} / ${lens + 2}`;
      return node;
    });
    hundred.style.gridArea = `${n + 2} / 1`;
    sheet.replaceChildren(corner, ...titles, ...labels, ...panels, hundred, ...scales);
    sheet.dataset.longest = Math.max(0, across - 2.6 * em); // room for the number behind the bar
    sheet.dataset.em = em;
    return true;
  }

  // -- drawing --

  function draw() {
    const { tokens } = get("text");
    const n = tokens.length;
    const chosen = query();
    labels.forEach((node, i) => node.classList.toggle("bl-lit", i === chosen));
    sheet.querySelectorAll(".bl-lens-title").forEach((node, i) => node.classList.toggle("bl-lens-chosen", i === get("lens")));
    maps.forEach(({ full, values }, lens) => {
      scales[lens].textContent = twoDigits(full);
      if (style() === "grids") return drawGrid(canvases[lens], values, full, n, chosen);
      const row = values.subarray(chosen * n, chosen * n + n);
      const first = row.indexOf(Math.max(...row));
      for (let j = 0; j < n; j++) {
        const share = full > 0 ? row[j] / full : 0;
        cells[lens][j].bar.style.background = j === first ? PALETTE.selected : "";
        cells[lens][j].bar.style.width = `${share * Number(sheet.dataset.longest)}px`;
        cells[lens][j].value.textContent = Math.floor(100 * share + 0.5);
      }
    });
  }

  function drawGrid(canvas, values, full, n, chosen) {
    const box = canvas.getBoundingClientRect();
    const scale = sizeCanvas(canvas, canvas.clientWidth || box.width, canvas.clientHeight || box.height);
    const brush = canvas.getContext("2d");
    const [across, down] = [canvas.width / n, canvas.height / n];
    for (let i = 0; i < n; i++) {
      for (let j = 0; j < n; j++) {
        brush.fillStyle = PALETTE.magnitude[magnitudeStep(full > 0 ? values[i * n + j] / full : 0)];
        const [x, y] = [Math.round(j * across), Math.round(i * down)];
        brush.fillRect(x, y, Math.round((j + 1) * across) - x, Math.round((i + 1) * down) - y);
      }
    }
    const edge = Math.max(2, 0.12 * Number(sheet.dataset.em)) * scale;
    brush.strokeStyle = PALETTE.selected;
    brush.lineWidth = edge;
    brush.strokeRect(edge / 2, chosen * down + edge / 2, canvas.width - edge, down - edge);
  }

  function speak() {
    const text = get("text");
    setSentence(caption, describeLenses(maps, text, get("layer"), get("head"), query()));
    const lens = maps[get("lens")];
    about.textContent = lens ? `${lens.title}: ${lens.sentence}` : "";
    clearTimeout(tableTimer);
    tableTimer = setTimeout(tabulate, 250); // for screen readers; not while heads are run through
  }

  function tabulate() {
    if (gone) return;
    const { tokens } = get("text");
    const n = tokens.length;
    const share = ({ full, values }, j) => Math.floor(full > 0 ? (100 * values[query() * n + j]) / full + 0.5 : 0);
    const rows = tokens.map((token, j) => [visibleToken(token), ...maps.map((map) => share(map, j))]);
    const last = ["100 is", ...maps.map((map) => twoDigits(map.full))];
    fillTable(table, caption.textContent, ["key", ...maps.map((map) => map.title)], [...rows, last]);
  }

  function update() {
    if (gone || !load()) return;
    setType(root, get("font_size"));
    choose();
    if (build()) draw();
    speak();
  }

  // -- pointer and keys --

  function onClick(event) {
    const token = event.target.closest?.(".bl-lens-token");
    if (token) return emit({ query: Number(token.dataset.index) });
    const titled = event.target.closest?.("[data-lens]");
    if (!titled) return;
    const change = { lens: Number(titled.dataset.lens) };
    if (titled.tagName === "CANVAS") {
      const box = titled.getBoundingClientRect();
      const row = Math.floor(((event.clientY - box.top) / box.height) * get("shape")[2]);
      change.query = Math.max(0, Math.min(get("shape")[2] - 1, row));
    }
    emit(change);
  }
  onKeys(scroller, emit, (key, event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    const page = { PageDown: 1, PageUp: -1 }[key]; // a presenter's remote owns these on a slide
    const by = page ?? (event.shiftKey ? step : undefined);
    if (by !== undefined) {
      const next = Math.max(0, Math.min(labels.length - 1, query() + by));
      labels[next]?.scrollIntoView({ block: "nearest" });
      return { query: next };
    }
    if (/^[1-9]$/.test(key) && Number(key) <= maps.length) return { lens: Number(key) - 1 };
    return key.toLowerCase() === "g" ? { style_index: 1 - get("style_index") } : movedHead(key, get);
  });
  scroller.addEventListener("click", onClick);

  return hosted(root, update, [root], () => {
    if (steps && maps.length && build()) draw();
  }, () => {
    gone = true;
    clearTimeout(tableTimer);
  });
}

export default { render: (context) => mount(context, createSixLenses) };
