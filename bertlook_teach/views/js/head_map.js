// One number per head: a row per layer, a column per head, counted from 1.

function createHeadMap(host, get, emit) {
  const root = element("div", "bertlook bertlook-map");
  const title = element("div", "bl-title");
  const heading = element("span", "bl-heading");
  const select = element("select", "bl-select", {
    "aria-label": "measure shown in the map",
    "data-lm-suppress-shortcuts": "true",
  });
  const grid = element("div", "bl-heads", { role: "grid", tabindex: "0", "data-lm-suppress-shortcuts": "true" });
  const foot = element("div", "bl-foot");
  const readout = element("p", "bl-readout", { "aria-live": "polite" });
  const legend = element("span", "bl-legend", { "aria-hidden": "true" });
  const [low, bar, high] = [element("span"), element("span", "bl-bar"), element("span")];
  const tip = element("div", "bl-tip", { "aria-hidden": "true" });
  legend.append(low, bar, high);
  foot.append(readout, legend);
  const badge = element("span", "bl-badge");
  title.append(badge, heading, select);
  root.append(title, grid, foot, tip);
  host.append(root);
  const prefix = `bl-map-${(createHeadMap.count = (createHeadMap.count || 0) + 1)}`;

  let cells = [];
  let built = "";
  let laidOut = "";
  let numbers = true;

  const shape = () => get("shape");
  const index = () => Math.max(0, get("measures").indexOf(get("measure")));
  function value(layer, head) {
    const [layers, heads] = shape();
    const bytes = bytesOf(get("data"));
    const at = ((index() * layers + layer) * heads + head) * 4;
    if (at + 4 > bytes.byteLength) return NaN;
    return new DataView(bytes.buffer, bytes.byteOffset).getFloat32(at, true);
  }

  // A head may not be there yet: the film of a training run begins with fewer layers.
  const said = (v) => (Number.isNaN(v) ? "not there yet" : get("difference") ? signedNumber(v) : number(v));

  function build() {
    const [layers, heads] = shape();
    const names = get("measures");
    const key = JSON.stringify([layers, heads, names]);
    if (key === built) return;
    built = key;
    laidOut = "";
    select.replaceChildren(
      ...names.map((name) => {
        const option = element("option");
        option.value = option.textContent = name;
        return option;
      }),
    );
    select.hidden = names.length < 2;
    heading.hidden = names.length > 1;
    const top = element("div", "bl-row", { role: "row" });
    const corner = element("span", "bl-corner", { role: "columnheader" });
    corner.textContent = "head";
    top.append(corner);
    for (let h = 0; h < heads; h++) {
      const label = element("span", "bl-column", { role: "columnheader", "aria-label": `head ${h + 1}` });
      label.textContent = h + 1;
      top.append(label);
    }
    cells = [];
    const rows = Array.from({ length: layers }, (_, l) => {
      const row = element("div", "bl-row", { role: "row" });
      const label = element("span", "bl-layer", { role: "rowheader", "aria-label": `layer ${l + 1}` });
      label.textContent = l + 1;
      row.append(label);
      for (let h = 0; h < heads; h++) {
        const cell = element("span", "bl-cell", { role: "gridcell", id: `${prefix}-${l}-${h}` });
        cell.dataset.layer = l;
        cell.dataset.head = h;
        cells.push(cell);
        row.append(cell);
      }
      return row;
    });
    const side = element("div", "bl-row", { "aria-hidden": "true" });
    const layerTitle = element("span", "bl-side");
    layerTitle.textContent = "layer";
    side.append(layerTitle);
    grid.replaceChildren(top, ...rows, side);
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
    const [bottom, top] = get("ranges")[index()] ?? [0, 1];
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
      cell.setAttribute("aria-label", `head ${headLabel(l, h)}: ${said(v)}`);
    }
    showBadge(badge, get("badge") ?? "");
    heading.textContent = (difference ? "Change: " : "") + get("measures")[index()];
    select.value = get("measure");
    low.textContent = (difference ? "less " : "") + short(bottom);
    high.textContent = short(top) + (difference ? " more" : "");
    bar.style.background = `linear-gradient(to right, ${colours.filter((_, i) => i % 15 === 0).join(",")})`;
    grid.setAttribute("aria-label", `${get("measures")[index()]}${difference ? ", after minus before" : ""}, one number per head. Arrows choose a head.`);
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
    tip.textContent = `Head ${headLabel(l, h)}: ${said(value(l, h))}`;
    tip.classList.add("bl-open");
    const [box, outer] = [cell.getBoundingClientRect(), root.getBoundingClientRect()];
    const left = box.left - outer.left + box.width / 2 - tip.offsetWidth / 2;
    const top = box.top - outer.top - tip.offsetHeight - 4;
    place(tip, Math.max(0, Math.min(left, outer.width - tip.offsetWidth)), top);
  }
  function onLeave() {
    tip.classList.remove("bl-open");
  }
  function onClick(event) {
    const cell = cellOf(event);
    if (cell) emit({ layer: Number(cell.dataset.layer), head: Number(cell.dataset.head) });
  }
  function onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const next = moved(event.key, get("layer"), get("head"), ...shape());
    if (!next) return;
    keep(event);
    emit({ layer: next[0], head: next[1] });
  }
  grid.addEventListener("pointermove", onMove);
  grid.addEventListener("pointerleave", onLeave);
  grid.addEventListener("click", onClick);
  grid.addEventListener("keydown", onKey);
  select.addEventListener("keydown", (event) => event.stopPropagation());
  select.addEventListener("change", () => emit({ measure: select.value }));

  return hosted(root, update, [host, root, foot], () => {
    const before = numbers;
    if (layOut() && numbers !== before) paint();
  });
}

const HEAD_MAP_TRAITS = [
  "data", "shape", "measures", "measure", "ranges", "layer", "head", "font_size", "height",
  "difference", "badge",
];

export default {
  render: (context) => mount(context, HEAD_MAP_TRAITS, createHeadMap),
};
