// Arcs over one sentence: the treebank's above the words, the chosen head's below. The same geometry and the same
// sentence as bertlook_course/render/texts/arcs.py.

const SVG = "http://www.w3.org/2000/svg";
const [RIGHT, WRONG, GOLD, MARK] = ["#009E73", "#D55E00", "#565d66", "#1b1f24"]; // a mark is text: it needs more contrast than its arc

function arcLevels(spans) {
  const ends = spans.map(([a, b]) => [Math.min(a, b), Math.max(a, b)]);
  const levels = ends.map(() => 0);
  const order = ends.map((_, i) => i).sort((i, j) => ends[i][1] - ends[i][0] - (ends[j][1] - ends[j][0]) || i - j);
  for (const i of order) {
    let most = 0;
    ends.forEach(([a, b], j) => {
      if (levels[j] && a < ends[i][1] && ends[i][0] < b) most = Math.max(most, levels[j]);
    });
    levels[i] = most + 1;
  }
  return levels;
}

function isRight(arc) {
  return arc.answer === arc.governor || arc.others.includes(arc.answer);
}

function describeArcs(words, arcs, layer, head, reading) {
  if (!arcs.length) return "This sentence has no such arc.";
  const answered = arcs.filter((arc) => arc.answer >= 0);
  if (!answered.length) return `The treebank: ${arcs.length} arc${arcs.length === 1 ? "" : "s"}.`;
  const right = answered.filter(isRight).length;
  let said = `Head ${headLabel(layer, head)}, read as “${reading}”: ${right} of ${arcs.length} right.`;
  const wrong = answered.find((arc) => !isRight(arc));
  if (wrong) {
    const [a, b, c] = [wrong.dependent, wrong.answer, wrong.governor].map((i) => quoted(words[i], false));
    said += ` For ${a} it names ${b}, not ${c}.`;
  }
  return said;
}

function createArcView(host, get, emit) {
  const root = element("div", "bertlook bertlook-arcs");
  const bar = element("div", "bl-arc-bar");
  const menus = {};
  for (const [name, label] of [["sentence", "sentence"], ["relation", "relation"], ["layer", "layer"], ["head", "head"], ["direction", "reading"]]) {
    const box = element("label", "bl-arc-menu");
    const title = element("span", "");
    title.textContent = name === "relation" ? get("relation_name") : label;
    const select = element("select", "bl-select", { "data-lm-suppress-shortcuts": "true" });
    box.append(title, select);
    bar.append(box);
    menus[name] = select;
    select.addEventListener("keydown", (event) => event.stopPropagation());
    select.addEventListener("change", () => emit({ [name]: name === "relation" ? select.value : Number(select.value) }));
  }
  const stage = element("div", "bl-arc-stage", {
    tabindex: "0",
    role: "group",
    "aria-label": "Arcs. Arrows choose a head, Page Up and Page Down a sentence.",
    "data-lm-suppress-shortcuts": "true",
  });
  const caption = element("p", "bl-caption", { "aria-live": "polite" });
  root.append(bar, stage, caption);
  host.append(root);

  const starts = () => {
    const [layers, heads] = get("shape");
    let at = 0;
    return get("trees").map((tree) => {
      const here = at;
      at += 2 * layers * heads * tree.words.length;
      return here;
    });
  };

  function arcs() {
    const tree = get("trees")[get("sentence")];
    const [layers, heads] = get("shape");
    const n = tree.words.length;
    const bytes = bytesOf(get("data"));
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const row = ((get("direction") * layers + get("layer")) * heads + get("head")) * n + starts()[get("sentence")];
    const relation = get("relation");
    const found = [];
    tree.governors.forEach((governor, dependent) => {
      if (governor < 0 || (relation !== get("relations")[0] && relation !== tree.relations[dependent])) return;
      const answer = view.getInt16((row + dependent) * 2, true);
      // Where several words count as right, as the earlier mentions of one thing do, the others are listed.
      const others = tree.others ? tree.others[dependent] : [];
      found.push({ dependent, governor, others, relation: tree.relations[dependent], answer: answer < 0 ? -1 : answer });
    });
    return found;
  }

  function fill(select, options, chosen) {
    const key = JSON.stringify(options);
    if (select.dataset.key !== key) {
      select.dataset.key = key;
      select.replaceChildren(
        ...options.map(([value, label]) => {
          const option = element("option", "");
          option.value = value;
          option.textContent = label;
          return option;
        }),
      );
    }
    select.value = String(chosen);
  }

  function node(tag, attributes, content) {
    const made = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    if (content !== undefined) made.textContent = content;
    return made;
  }

  function draw() {
    const tree = get("trees")[get("sentence")];
    const found = arcs();
    const said = describeArcs(tree.words, found, get("layer"), get("head"), get("readings")[get("direction")]);
    setSentence(caption, said);
    const em = parseFloat(getComputedStyle(root).fontSize);
    if (!root.isConnected || !(em > 0)) return; // not on the page yet: the observer draws when it is
    const svg = node("svg", { role: "img", "font-size": em });
    const measure = element("span", "bl-arc-measure");
    root.append(measure);
    const shown = tree.words.map(visibleToken);
    const widths = shown.map((word) => {
      measure.textContent = word;
      return Math.max(measure.getBoundingClientRect().width, 1.2 * em);
    });
    measure.remove();
    let x = 0.4 * em;
    const middles = widths.map((width) => {
      const middle = x + width / 2;
      x += width + 0.7 * em;
      return middle;
    });
    const width = x;
    const named = found.filter((arc) => arc.answer >= 0);
    const above = arcLevels(found.map((arc) => [arc.dependent, arc.governor]));
    const below = arcLevels(named.map((arc) => [arc.dependent, arc.answer]));
    const deepest = Math.max(0, ...above) + Math.max(0, ...below);
    // Many levels share the room there is; few use a comfortable step.
    const room = Math.max(10 * em, tallest(host, em) - 4.6 * em);
    const step = Math.max(0.62 * em, Math.min(1.35 * em, room / Math.max(1, deepest)));
    const line = 0.9 * em + step * Math.max(0, ...above) + 0.9 * em;
    const height = line + 0.8 * em + step * Math.max(0, ...below) + 0.8 * em;
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    const labels = [];
    function arc(source, target, y, rise, colour, dashed, label, ink) {
      const aside = target > source ? 0.22 * em : -0.22 * em;
      const [start, end] = [middles[source] + aside, middles[target] - aside];
      const bend = Math.min(Math.abs(end - start) / 2, 0.9 * em);
      const turn = end > start ? bend : -bend;
      const top = y + rise;
      const d = `M${start} ${y}C${start} ${top} ${start} ${top} ${start + turn} ${top}L${end - turn} ${top}C${end} ${top} ${end} ${top} ${end} ${y}`;
      const path = node("path", { d, fill: "none", stroke: colour, "stroke-width": em / 11 });
      if (dashed) path.setAttribute("stroke-dasharray", `${0.3 * em} ${0.22 * em}`);
      const tip = 0.34 * em * (rise < 0 ? 1 : -1);
      const arrow = `M${end} ${y}L${end - 0.16 * em} ${y - tip}L${end + 0.16 * em} ${y - tip}Z`;
      svg.append(path, node("path", { d: arrow, fill: colour }));
      labels.push(
        node("text", { x: (start + end) / 2, y: top, dy: ".35em", class: "bl-arc-label", fill: ink }, label),
      );
    }
    found.forEach((one, i) => arc(one.governor, one.dependent, line - 0.75 * em, -step * above[i], GOLD, false, one.relation, "#1b1f24"));
    named.forEach((one, i) => {
      const right = isRight(one);
      const [source, target] = !get("turned")[get("direction")] ? [one.dependent, one.answer] : [one.answer, one.dependent];
      arc(source, target, line + 0.75 * em, step * below[i], right ? RIGHT : WRONG, !right, right ? "✓" : "✗", MARK);
    });
    svg.append(...labels);
    shown.forEach((word, i) => {
      svg.append(node("text", { x: middles[i], y: line, dy: ".35em", class: "bl-arc-word" }, word));
    });
    svg.setAttribute("aria-label", said);
    stage.replaceChildren(svg);
  }

  function update() {
    setType(root, get("font_size"));
    const [layers, heads] = get("shape");
    const count = (n) => Array.from({ length: n }, (_, i) => [i, String(i + 1)]);
    fill(menus.sentence, count(get("trees").length), get("sentence"));
    fill(menus.relation, get("relations").map((name) => [name, name]), get("relation"));
    fill(menus.layer, count(layers), get("layer"));
    fill(menus.head, count(heads), get("head"));
    fill(menus.direction, get("readings").map((name, i) => [i, name]), get("direction"));
    draw();
  }

  stage.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const turn = { PageUp: -1, PageDown: 1 }[event.key];
    if (turn) {
      keep(event);
      emit({ sentence: Math.max(0, Math.min(get("trees").length - 1, get("sentence") + turn)) });
      return;
    }
    const next = moved(event.key, get("layer"), get("head"), ...get("shape"));
    if (!next) return;
    keep(event);
    emit({ layer: next[0], head: next[1] });
  });
  let lastSize = "";

  return hosted(root, update, [root], () => {
    const size = `${root.clientWidth} ${getComputedStyle(root).fontSize}`;
    if (size !== lastSize && root.clientWidth) draw();
    lastSize = size;
  });
}

const ARC_VIEW_TRAITS = [
  "data", "shape", "trees", "relations", "readings", "layer", "head", "direction", "relation", "sentence", "font_size",
  "relation_name", "turned",
];

export default {
  render: (context) => mount(context, ARC_VIEW_TRAITS, createArcView),
};
