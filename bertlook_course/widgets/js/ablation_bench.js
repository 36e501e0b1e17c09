// Heads as switches: a row per layer, a column per head; beside it the masked word's guesses with all heads on, and now.
// What heads do when they are off is computed by the kernel; this half shows switches at once, and says while it waits.

// A sentence with one token masked; a click, or arrows and Enter, ask for another one (`chosen`).
function maskableSentence(get, emit) {
  const node = control("div", "bl-switch-sentence", { role: "group", tabindex: "0" });
  let word = -1; // the token the keys are on

  function paint() {
    const { tokens, special, masked, mask } = get("text");
    node.replaceChildren(
      ...tokens.map((token, i) => {
        const one = element("span", "bl-switch-word", { "data-index": i }, i === masked ? mask : visibleToken(token));
        if (i === masked) one.classList.add("bl-masked");
        else if (special[i]) one.classList.add("bl-dim");
        if (i === word) one.classList.add("bl-cursor");
        return one;
      }),
    );
    node.setAttribute(
      "aria-label",
      `Sentence: ${tokens.map((token, i) => (i === masked ? mask : visibleToken(token))).join(" ")}. Left and right choose a word, Enter masks it.`,
    );
  }

  function maskWord(index) {
    const { special, masked } = get("text");
    return index === masked || special[index] ? {} : { chosen: index };
  }
  node.addEventListener("click", (event) => {
    const one = event.target.closest?.(".bl-switch-word");
    const changes = one ? maskWord(Number(one.dataset.index)) : {};
    if ("chosen" in changes) emit(changes);
  });
  onKeys(node, emit, (key) => {
    const { tokens, special, masked } = get("text");
    const step = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (key === " " || key === "Enter") return word >= 0 ? maskWord(word) : {};
    if (!step) return null;
    let next = (word < 0 ? masked : word) + step;
    while (next >= 0 && next < tokens.length && special[next]) next += step;
    if (next >= 0 && next < tokens.length) word = next;
    paint();
    return {};
  });
  node.addEventListener("blur", () => {
    word = -1;
    paint();
  });
  return { node, paint };
}

// ".15", and "−.02" for what rises when a head is gone.
const signedHundredths = (x) => (Math.abs(x) < 0.005 ? "0" : x.toFixed(2).replace("-", "−").replace(/^(−?)0\./, "$1."));

// Bars of both lists share one scale; the number says the share itself. `was`: the shares before, framed behind the bars.
function guessList(title, guesses, marked, largest, was = []) {
  const wide = (share) => `${((1.9 * share) / largest).toFixed(3)}em`, old = new Map(was);
  const rows = guesses.map(([piece, share, said]) => {
    const bar = element("span", "bl-lens-bar"), bars = element("span", "bl-switch-bars", {}, bar);
    bar.style.width = wide(share);
    if (old.has(piece)) {
      const ghost = element("span", "bl-switch-ghost", { "aria-hidden": "true" });
      ghost.style.width = wide(old.get(piece));
      bars.append(ghost);
    }
    bars.style.minWidth = wide(Math.max(share, old.get(piece) ?? 0));
    return element(
      "tr", "", {},
      element("th", marked.includes(piece) ? "bl-lit" : "", { scope: "row", dir: "auto" }, visibleToken(piece)),
      element("td", "", {}, bars, element("span", "bl-switch-share", {}, said)),
    );
  });
  return element("table", "bl-switch-list", {}, element("caption", "", {}, title), ...rows);
}

const DEAR = 0.3; // nats: a head that costs so much has the darkest cell

function createBench(host, get, emit) {
  const root = element("div", "bertlook bertlook-bench");
  const how = menuNamed("off", (value) => emit({ how: value }));
  const model = menuNamed("model", (value) => emit({ model_index: value }));
  const bar = element(
    "div", "bl-switch-bar", {},
    how.box,
    model.box,
    button("bl-switch-button", "all on", () => emit({ off: [] })),
    ...suggested(),
    button("bl-switch-button", "all off", () => emit({ off: every(...shape(), () => true) })),
  );
  const grid = control("div", "bl-heads bl-switches", { role: "grid", tabindex: "0" });
  const sentence = maskableSentence(get, emit);
  const lists = element("div", "bl-switch-lists");
  const body = element("div", "bl-switch-body", {}, grid, element("div", "bl-switch-side", {}, sentence.node, lists));
  const scores = element("div", "bl-switch-scores");
  const caption = element("p", "bl-caption", { "aria-live": "polite" });
  const readout = element("p", "bl-readout", { "aria-live": "polite" });
  root.append(bar, body, scores, caption, readout);
  host.append(root);
  const prefix = `bl-switch-${(createBench.count = (createBench.count || 0) + 1)}`;

  let built = "";
  let cells = new Map(); // "layer,head" -> node; -1 is a header
  let cursor = [0, 0]; // where the keys are; -1 is a header

  const costs = new Map(); // "model,way,layer,head" -> nats, of each head that was off alone

  const shape = () => get("shape");
  // What to try: the head that the view opened with off, and its layer.
  function suggested() {
    const [first] = get("off");
    if (!first) return [];
    const [layer, head] = first;
    const choice = (words, off) => {
      const one = button("bl-switch-button", words, () => emit({ off: off() }));
      one.setAttribute("aria-label", `only ${words} off`);
      return one;
    };
    return [
      choice(headLabel(layer, head), () => [first]),
      choice(`layer ${layer + 1}`, () => every(...shape(), (l) => l === layer)),
    ];
  }
  const key = (layer, head) => `${layer},${head}`;
  const offSet = () => new Set(get("off").map(([layer, head]) => key(layer, head)));
  const every = (layers, heads, keep) => {
    const found = [];
    for (let l = 0; l < layers; l++) for (let h = 0; h < heads; h++) if (keep(l, h)) found.push([l, h]);
    return found;
  };

  // One head, a layer, one head number in every layer, or all: off if any of them is on, else on.
  function toggled(layer, head) {
    const [layers, heads] = shape();
    const off = offSet();
    const meant = (l, h) => (layer < 0 || l === layer) && (head < 0 || h === head);
    const turnOff = every(layers, heads, meant).some(([l, h]) => !off.has(key(l, h)));
    return { off: every(layers, heads, (l, h) => (meant(l, h) ? turnOff : off.has(key(l, h)))) };
  }

  function build() {
    const [layers, heads] = shape();
    const now = JSON.stringify([layers, heads]);
    if (now === built) return;
    built = now;
    cells = new Map();
    cursor = [0, 0];
    const rows = [];
    for (let l = -1; l < layers; l++) {
      const row = element("div", "bl-row", { role: "row" });
      for (let h = -1; h < heads; h++) {
        const header = l < 0 || h < 0;
        const role = l < 0 ? "columnheader" : h < 0 ? "rowheader" : "gridcell";
        const words = !header ? "" : l < 0 && h < 0 ? "all" : String((l < 0 ? h : l) + 1);
        const place = { role, id: `${prefix}-${l}-${h}`, "data-layer": l, "data-head": h };
        const cell = element("span", header ? "bl-switch-header" : "bl-switch", place, words);
        cells.set(key(l, h), cell);
        row.append(cell);
      }
      rows.push(row);
    }
    rows[0].append(element("span", "bl-switch-axis", { "aria-hidden": "true" }, "head"));
    const last = element("div", "bl-row", { "aria-hidden": "true" }, element("span", "bl-side", { "aria-hidden": "true" }, "layer"));
    grid.replaceChildren(...rows, last);
  }

  function layOut() {
    const em = parseFloat(getComputedStyle(root).fontSize);
    const width = root.clientWidth;
    if (!width) return;
    const [layers, heads] = shape();
    const aside = [1.2 * em, 1.7 * em, 2.6 * em]; // the word layer, the layers' numbers, the word head
    const spare = 0.52 * width - aside[0] - aside[1] - aside[2];
    const across = Math.max(0.45 * em, Math.min(1.85 * em, spare / heads));
    const limit = get("height") * enlarged(host) || Math.min(tallest(host, em), 15 * em);
    const down = Math.max(0.45 * em, Math.min(1.75 * em, (limit - 1.5 * em) / layers));
    grid.style.gridTemplateColumns = `${aside[0]}px ${aside[1]}px repeat(${heads}, ${across}px) ${aside[2]}px`;
    grid.style.gridTemplateRows = `${1.5 * em}px repeat(${layers}, ${down}px)`;
    root.classList.toggle("bl-switch-small", across < 1.05 * em || down < 1.1 * em);
    const everyHead = Math.max(1, Math.ceil(((heads < 10 ? 0.8 : 1.4) * em) / across));
    const everyLayer = Math.max(1, Math.ceil((1.0 * em) / down));
    for (let h = 0; h < heads; h++) cells.get(key(-1, h)).classList.toggle("bl-skip", h % everyHead !== 0);
    for (let l = 0; l < layers; l++) cells.get(key(l, -1)).classList.toggle("bl-skip", l % everyLayer !== 0);
  }

  function paintSwitches() {
    const [layers, heads] = shape();
    const off = offSet();
    for (const [at, cell] of cells) {
      const [l, h] = at.split(",").map(Number);
      const isOff = off.has(at);
      const header = l < 0 || h < 0;
      cell.classList.toggle("bl-off", isOff);
      cell.classList.toggle("bl-cursor", l === cursor[0] && h === cursor[1]);
      const cost = header || isOff ? undefined : costs.get(`${get("model_index")},${get("how")},${at}`);
      if (!header) cell.textContent = isOff ? "✕" : cost === undefined ? "" : signedHundredths(cost);
      cell.classList.toggle("bl-tried", cost !== undefined);
      const shade = cost === undefined ? -1 : 127 - Math.round(127 * Math.max(-1, Math.min(1, cost / DEAR)));
      cell.style.background = shade < 0 ? "" : PALETTE.difference[shade];
      cell.style.color = shade < 0 ? "" : PALETTE.onDifference[shade];
      if (!header) cell.setAttribute("aria-selected", String(isOff));
      const name = header
        ? l < 0 && h < 0
          ? "all heads"
          : l < 0
            ? `head ${h + 1} of every layer`
            : `all heads of layer ${l + 1}`
        : `head ${headLabel(l, h)}: ${isOff ? "off" : "on"}${cost === undefined ? "" : `, off it cost ${signedHundredths(cost)} nats`}`;
      cell.setAttribute("aria-label", header ? `switch ${name}` : name);
      if (l === cursor[0] && h === cursor[1]) readout.textContent = `At ${name}. Space or a click switches.`;
    }
    grid.setAttribute("aria-activedescendant", `${prefix}-${cursor[0]}-${cursor[1]}`);
    grid.setAttribute(
      "aria-label",
      `${off.size} of ${layers * heads} heads off. A row per layer, a column per head. Arrows move, Space or Enter switches.`,
    );
  }

  // Whether what is shown belongs to the switches as they stand.
  function current() {
    const { off, how: way, model: index, masked } = get("result");
    return (
      JSON.stringify(off) === JSON.stringify(get("off")) &&
      way === get("how") && index === get("model_index") && masked === get("text").masked
    );
  }

  function remember() {
    const { off, how: way, model: index, cost } = get("result");
    if (off?.length === 1 && Number.isFinite(cost)) costs.set(`${index},${way},${key(...off[0])}`, cost);
  }

  function paintResult() {
    const result = get("result");
    const fresh = current();
    root.classList.toggle("bl-waiting", !fresh);
    root.setAttribute("aria-busy", String(!fresh));
    const [before, after] = [result.before ?? [], result.after ?? []];
    const largest = Math.max(...[...before, ...after].map(([, share]) => share)) || 1;
    lists.replaceChildren(
      guessList(worded("all on"), before, [result.truth], largest),
      guessList(result.title ?? worded("guesses now"), after, [result.truth], largest, result.off?.length ? before : []),
    );
    scores.replaceChildren(...(result.scores ?? []).map((line) => element("p", "", {}, line)));
    setSentence(caption, fresh ? (result.message || result.sentence || "") : "Computing … (by a running kernel, or by the page that holds the model)");
    caption.classList.toggle("bl-alert", fresh && Boolean(result.message));
  }

  function update() {
    setType(root, get("font_size"));
    const names = get("models");
    model.fill(names.map((name, i) => [i, name]), get("model_index"));
    model.box.hidden = names.length < 2;
    how.fill([["zero", "output is 0"], ["uniform", "equal weights (1/L)"]], get("how"));
    build();
    layOut();
    remember();
    paintSwitches();
    sentence.paint();
    paintResult();
  }

  // -- pointer and keys --

  const cellOf = (event) => event.target.closest?.(".bl-switch, .bl-switch-header");
  grid.addEventListener("click", (event) => {
    const cell = cellOf(event);
    if (!cell) return;
    cursor = [Number(cell.dataset.layer), Number(cell.dataset.head)];
    emit(toggled(...cursor));
    paintSwitches();
  });
  onKeys(grid, emit, (key) => {
    if (key === " " || key === "Enter") return toggled(...cursor);
    const [layers, heads] = shape();
    // The headers are row and column -1: moved() counts from 0.
    const next = moved(key, cursor[0] + 1, cursor[1] + 1, layers + 1, heads + 1);
    if (!next) return null;
    cursor = [next[0] - 1, next[1] - 1];
    paintSwitches();
    return {};
  });

  return hosted(root, update, [host], layOut);
}

export default { render: (context) => mount(context, createBench) };
