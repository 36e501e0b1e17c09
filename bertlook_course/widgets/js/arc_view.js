// Arcs over one sentence: the treebank's above the words, the chosen head's below. The same geometry and the same
// sentence as bertlook_course/render/texts/arcs.py.

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
  if (!arcs.length) return worded("no arc");
  const answered = arcs.filter((arc) => arc.answer >= 0);
  if (!answered.length) return arcs.length === 1 ? worded("one arc") : worded("arcs", { count: arcs.length });
  const right = answered.filter(isRight).length;
  const who = worded("head as read", { head: headName(layer, head), reading });
  const said = [worded("right arcs", { who, right, count: arcs.length })];
  const wrong = answered.find((arc) => !isRight(arc));
  if (wrong) {
    const [dependent, answer, governor] = [wrong.dependent, wrong.answer, wrong.governor].map((i) => quoted(words[i], false));
    said.push(worded("wrong arc", { dependent, answer, governor }));
  }
  return said.join(" ");
}

function createArcView(host, get, emit) {
  const root = element("div", "bertlook bertlook-arcs");
  const menus = {};
  for (const [name, label] of [["sentence", "sentence"], ["relation", get("relation_name")], ["layer", "layer"], ["head", "head"], ["direction", "reading"]]) {
    menus[name] = menuNamed(label, (value) => emit({ [name]: value }));
  }
  const bar = element("div", "bl-arc-bar", {}, ...Object.values(menus).map(({ box }) => box));
  const label = "Arcs. Arrows choose a head, Page Up and Page Down a sentence.";
  const stage = control("div", "bl-arc-stage", { tabindex: "0", role: "group", "aria-label": label });
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

  function draw() {
    const tree = get("trees")[get("sentence")];
    const found = arcs();
    const said = describeArcs(tree.words, found, get("layer"), get("head"), get("readings")[get("direction")]);
    setSentence(caption, said);
    const em = parseFloat(getComputedStyle(root).fontSize);
    if (!root.isConnected || !(em > 0)) return; // not on the page yet: the observer draws when it is
    const svg = drawn("svg", { role: "img", "font-size": em });
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
      const path = drawn("path", { d, fill: "none", stroke: colour, "stroke-width": em / 11 });
      if (dashed) path.setAttribute("stroke-dasharray", `${0.3 * em} ${0.22 * em}`);
      const tip = 0.34 * em * (rise < 0 ? 1 : -1);
      const arrow = `M${end} ${y}L${end - 0.16 * em} ${y - tip}L${end + 0.16 * em} ${y - tip}Z`;
      svg.append(path, drawn("path", { d: arrow, fill: colour }));
      labels.push(
        drawn("text", { x: (start + end) / 2, y: top, dy: ".35em", class: "bl-arc-label", fill: ink }, label),
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
      svg.append(drawn("text", { x: middles[i], y: line, dy: ".35em", class: "bl-arc-word" }, word));
    });
    svg.setAttribute("aria-label", said);
    stage.replaceChildren(svg);
  }

  function update() {
    setType(root, get("font_size"));
    const [layers, heads] = get("shape");
    menus.sentence.fill(counted(get("trees").length), get("sentence"));
    menus.relation.fill(get("relations").map((name) => [name, name]), get("relation"));
    menus.layer.fill(counted(layers), get("layer"));
    menus.head.fill(counted(heads), get("head"));
    menus.direction.fill(get("readings").map((name, i) => [i, name]), get("direction"));
    draw();
  }

  onKeys(stage, emit, (key) => {
    const turn = { PageUp: -1, PageDown: 1 }[key];
    if (turn) return { sentence: Math.max(0, Math.min(get("trees").length - 1, get("sentence") + turn)) };
    return movedHead(key, get);
  });
  let lastSize = "";

  const resized = () => {
    const size = `${root.clientWidth} ${getComputedStyle(root).fontSize}`;
    if (size !== lastSize && root.clientWidth) draw();
    lastSize = size;
  };
  function numbers() {
    const { words } = get("trees")[get("sentence")];
    const rows = arcs().map(({ dependent, relation, governor, answer }) => [words[dependent], relation, words[governor], words[answer] ?? ""]);
    return [["dependent", "relation", "governor", `head ${headLabel(get("layer"), get("head"))} names`], ...rows];
  }
  return { ...hosted(root, update, [root], resized), numbers };
}

export default { render: (context) => mount(context, createArcView) };
