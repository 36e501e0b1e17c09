// One number per head: a row per layer, a column per head, counted from 1.

function createHeadMap(host, get, emit) {
  const root = element("div", "bertlook bertlook-map");
  const title = element("div", "bl-title");
  const heading = element("span", "bl-heading");
  const { select, fill } = menuNamed("", (chosen) => chosen !== pair().name && emit({ measure: chosen, ...(pair().name && { pair: {} }) }));
  const grid = control("div", "bl-heads", { role: "grid", tabindex: "0" });
  const readout = element("p", "bl-readout", { "aria-live": "polite" });
  const [low, bar, high] = [element("span"), element("span", "bl-bar"), element("span")];
  const foot = element("div", "bl-foot", {}, readout, element("span", "bl-legend", { "aria-hidden": "true" }, low, bar, high));
  const tip = element("div", "bl-tip", { "aria-hidden": "true" });
  select.setAttribute("aria-label", "measure shown in the map");
  const badge = element("span", "bl-badge");
  title.append(badge, heading, select);
  root.append(title, grid, foot, tip);
  host.append(root);
  const prefix = `bl-map-${(globalThis.bertlookMaps = (globalThis.bertlookMaps || 0) + 1)}`; // views that hold a map are modules of their own

  let cells = [];
  let built = "";
  let laidOut = "";
  let numbers = true;

  const shape = () => get("shape");
  const pair = () => get("pair") ?? {}; // of tokens, chosen in a view beside the map: shown in the measure's place
  const names = () => [...get("measures"), ...(pair().name ? [pair().name] : [])];
  const index = () => (pair().name ? get("measures").length : Math.max(0, get("measures").indexOf(get("measure"))));
  function range() {
    if (!pair().name) return get("ranges")[index()] ?? [0, 1];
    const most = Math.max(...pair().values.flat().map(Math.abs)) || 1;
    return [get("difference") ? -most : 0, most];
  }
  function value(layer, head, k = index()) {
    const [layers, heads] = shape();
    if (k === get("measures").length) return pair().values[layer]?.[head] ?? NaN;
    const bytes = bytesOf(get("data"));
    const at = ((k * layers + layer) * heads + head) * 4;
    if (at + 4 > bytes.byteLength) return NaN;
    return new DataView(bytes.buffer, bytes.byteOffset).getFloat32(at, true);
  }

  // A head may not be there yet: the film of a training run begins with fewer layers.
  const said = (v) => (Number.isNaN(v) ? "not there yet" : get("difference") ? signedNumber(v) : number(v));

  function build() {
    const [layers, heads] = shape();
    const key = JSON.stringify([layers, heads, names()]);
    if (key === built) return;
    built = key;
    laidOut = "";
    select.hidden = names().length < 2;
    heading.hidden = names().length > 1;
    const row = (...content) => element("div", "bl-row", { role: "row" }, ...content);
    const label = (role, name, what, i) => element("span", name, { role, "aria-label": `${what} ${i + 1}` }, String(i + 1));
    const cell = (l, h) => element("span", "bl-cell", { role: "gridcell", id: `${prefix}-${l}-${h}`, "data-layer": l, "data-head": h });
    const rows = Array.from({ length: layers }, (_, l) => Array.from({ length: heads }, (_, h) => cell(l, h)));
    cells = rows.flat();
    grid.replaceChildren(
      row(element("span", "bl-corner", { role: "columnheader" }, "head"), ...rows[0].map((_, h) => label("columnheader", "bl-column", "head", h))),
      ...rows.map((own, l) => row(label("rowheader", "bl-layer", "layer", l), ...own)),
      element("div", "bl-row", { "aria-hidden": "true" }, element("span", "bl-side", {}, "layer")),
    );
  }

  function layOut() {
    const em = parseFloat(getComputedStyle(root).fontSize);
    const [layers, heads] = shape();
    const side = [1.2 * em, 1.8 * em]; // the word layer, and the layers' numbers
    const aside = side[0] + side[1] + 4;
    // A map of few heads that has its slide for itself fills it.
    const slide = onSlide(host);
    const alone = slide && heads < 9 && !host.closest(".bertlook, .bertlook-views, .bertlook-explorer, .widget-hbox");
    const widest = (alone ? 5 : 2.5) * em;
    root.style.width = `${aside + heads * widest}px`;
    const width = root.clientWidth;
    if (!width) return false;
    const key = JSON.stringify([em, width, alone, tallest(host, em), built, get("height")]);
    if (key === laidOut) return true;
    laidOut = key;
    const across = Math.min(widest, (width - aside) / heads);
    const limit = get("height") * enlarged(host) || tallest(host, em);
    const down = Math.max(0.5 * em, Math.min(across, (limit - 4.7 * em) / layers));
    grid.style.gridTemplateColumns = `${side[0]}px ${side[1]}px repeat(${heads}, ${across}px)`;
    grid.style.gridTemplateRows = `${1.3 * em}px repeat(${layers}, ${down}px)`;
    numbers = across >= 1.75 * em && down >= 1.25 * em; // otherwise beneath the map, in the tip and in the label
    const everyHead = Math.max(1, Math.ceil(((heads < 10 ? 0.8 : 1.4) * em) / across));
    const everyLayer = Math.max(1, Math.ceil((1.0 * em) / down));
    grid.querySelectorAll(".bl-column").forEach((node, h) => node.classList.toggle("bl-skip", h % everyHead !== 0));
    grid.querySelectorAll(".bl-layer").forEach((node, l) => node.classList.toggle("bl-skip", l % everyLayer !== 0));
    return true;
  }

  function paint() {
    const [bottom, top] = range();
    const difference = get("difference");
    const [colours, inks] = difference ? [PALETTE.difference, PALETTE.onDifference] : [PALETTE.magnitude, PALETTE.onMagnitude];
    const short = difference ? shortSigned : shortNumber;
    for (const cell of cells) {
      const [l, h] = [Number(cell.dataset.layer), Number(cell.dataset.head)];
      const v = value(l, h);
      const step = difference ? differenceStep(v / top) : magnitudeStep((v - bottom) / (top - bottom));
      const gone = Number.isNaN(v);
      cell.style.background = gone ? PALETTE.missing : colours[step];
      cell.style.color = gone ? PALETTE.muted : inks[step];
      // Where there is no room for numbers, a difference still has its sign.
      const sign = difference && Math.abs(v) >= 0.1 * top ? (v < 0 ? "\u2212" : "+") : "";
      cell.textContent = gone ? "–" : numbers ? short(v) : sign;
      cell.setAttribute("aria-label", `head ${headLabel(l, h)}: ${cell.textContent || said(v)}`); // what is read out is what is seen; the readout has all digits
    }
    showBadge(badge, get("badge") ?? "");
    heading.textContent = (difference ? "Change: " : "") + names()[index()];
    fill(names().map((name) => [name, name]), names()[index()]);
    low.textContent = (difference ? "less " : "") + short(bottom);
    high.textContent = short(top) + (difference ? " more" : "");
    bar.style.background = gradient(colours);
    grid.setAttribute("aria-label", `${names()[index()]}${difference ? ", after minus before" : ""}, one number per head. Arrows choose a head.`);
  }

  function select_() {
    const [layer, head] = [get("layer"), get("head")];
    const [, heads] = shape();
    cells.forEach((cell, i) => {
      const chosen = i === layer * heads + head;
      cell.classList.toggle("bl-chosen", chosen);
      cell.setAttribute("aria-selected", String(chosen));
    });
    grid.setAttribute("aria-activedescendant", `${prefix}-${layer}-${head}`);
    readout.textContent = `Head ${headLabel(layer, head)}: ${said(value(layer, head))}`;
  }

  function update() {
    setType(root, get("font_size"));
    onLeave();
    build();
    layOut();
    paint();
    select_();
  }

  // -- pointer and keys --

  const cellOf = (event) => event.target.closest?.(".bl-cell");

  function onMove(event) {
    const cell = cellOf(event);
    if (!cell) return onLeave();
    const [l, h] = [Number(cell.dataset.layer), Number(cell.dataset.head)];
    showTip(tip, root, cell, `Head ${headLabel(l, h)}: ${said(value(l, h))}`);
  }
  function onLeave() {
    tip.classList.remove("bl-open");
  }
  function onClick(event) {
    const cell = cellOf(event);
    if (cell) emit({ layer: Number(cell.dataset.layer), head: Number(cell.dataset.head) });
  }
  grid.addEventListener("pointermove", onMove);
  grid.addEventListener("pointerleave", onLeave);
  grid.addEventListener("click", onClick);
  onKeys(grid, emit, (key) => movedHead(key, get));

  const resized = () => {
    const before = numbers;
    if (layOut() && numbers !== before) paint();
  };
  // A row a head, a column a measure.
  function table() {
    const rows = cells.map(({ dataset: { layer: l, head: h } }) => [headLabel(Number(l), Number(h)), ...names().map((_, k) => value(Number(l), Number(h), k))]);
    return [["head", ...names()], ...rows];
  }
  return { ...hosted(root, update, [host, root, foot], resized), numbers: table, name: () => "heads" };
}

export default { render: (context) => mount(context, createHeadMap) };
