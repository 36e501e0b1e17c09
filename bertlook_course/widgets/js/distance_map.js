// Heads as points on a map; the chosen one is tied to its nearest heads, by their distance and not by their place.
// The same drawing as bertlook_course/render/heads/distance_map.py; the sentences come from there.

const SIDES = [
  [1, 0, "start"], [-1, 0, "end"], [0, -1.05, "middle"], [0, 1.05, "middle"],
  [0.7, -0.8, "start"], [-0.7, -0.8, "end"], [0.7, 0.8, "start"], [-0.7, 0.8, "end"],
];

function overlap(a, b) {
  return Math.max(0, Math.min(a[2], b[2]) - Math.max(a[0], b[0])) * Math.max(0, Math.min(a[3], b[3]) - Math.max(a[1], b[1]));
}

function createDistanceMap(host, get, emit) {
  const root = element("div", "bertlook bertlook-distances");
  const menu = menuNamed("shown by", (value) => emit({ by_index: value }));
  const picture = drawn("svg", { "aria-hidden": "true" });
  const tip = element("div", "bl-tip", { "aria-hidden": "true" });
  const stage = control("div", "bl-points", { role: "application", tabindex: "0" }, picture, tip);
  const legend = element("div", "bl-groups");
  const caption = element("p", "bl-caption bl-near", { "aria-live": "polite" });
  root.append(element("div", "bl-title", {}, menu.box), stage, legend, caption);
  host.append(root);

  let places = [];
  let laidOut = "";
  let pointed = -1;

  const heads = () => get("shape")[1];
  const count = () => get("shape")[0] * heads();
  const chosen = () => get("layer") * heads() + get("head");
  const nameOf = (i) => headLabel(Math.floor(i / heads()), i % heads());
  const byLayer = () => get("by_index") === 1;
  const em = () => parseFloat(getComputedStyle(root).fontSize);
  const radius = () => em() * (byLayer() ? 0.5 : 0.36) * (count() <= 72 ? 1 : 0.8);

  const nearest = () => get("nearest")[chosen()];
  const sentence = () => get("sentences")[chosen()];

  function layOut() {
    const width = root.clientWidth;
    if (!width) return false;
    const size = em();
    const height = get("height") * enlarged(host) || Math.min(tallest(host, size) * 0.86, width * 0.86);
    const key = JSON.stringify([size, width, height]);
    if (key !== laidOut) {
      laidOut = key;
      stage.style.height = `${height}px`;
      picture.setAttribute("width", width);
      picture.setAttribute("height", height);
      picture.setAttribute("viewBox", `0 0 ${width} ${height}`);
    }
    const n = count();
    const points = floatsAt(bytesOf(get("points")), 0, 2 * n);
    const [left, top, right, bottom] = [1.1 * size, 0.9 * size, width - 1.1 * size, height - 0.9 * size];
    const range = [0, 1].map((axis) => {
      const values = Array.from({ length: n }, (_, i) => points[2 * i + axis]);
      return [Math.min(...values), Math.max(...values)];
    });
    const wide = range.map(([low, high]) => Math.max(high - low, 1e-12));
    let scale = Math.min((right - left) / wide[0], (bottom - top) / wide[1]);
    if (range.every(([low, high]) => low === high)) scale = 0;
    places = Array.from({ length: n }, (_, i) => [
      (left + right) / 2 + (points[2 * i] - (range[0][0] + range[0][1]) / 2) * scale,
      (top + bottom) / 2 - (points[2 * i + 1] - (range[1][0] + range[1][1]) / 2) * scale,
    ]);
    return true;
  }

  function layerStep(layer) {
    return magnitudeStep(0.15 + (0.85 * layer) / Math.max(1, get("shape")[0] - 1));
  }

  function marker(i, r) {
    const [x, y] = places[i];
    const layer = Math.floor(i / heads());
    const group = drawn("g", { class: "bl-point", "data-index": i });
    const move = `translate(${x} ${y}) scale(${r})`;
    if (byLayer()) {
      const step = layerStep(layer);
      group.append(drawn("path", { d: get("disc"), transform: move, fill: PALETTE.magnitude[step], stroke: PALETTE.ink, "stroke-width": 0.06 }));
      group.append(drawn("text", { x, y, dy: ".35em", "text-anchor": "middle", "font-size": r * 1.3, fill: PALETTE.onMagnitude[step] }, layer + 1));
    } else {
      const [, colour, path] = get("styles").find(([name]) => name === get("groups")[i]);
      group.append(drawn("path", { d: path, transform: move, fill: colour, stroke: PALETTE.paper, "stroke-width": 0.12 }));
    }
    return group;
  }

  function nameTags(which, r) {
    const size = em();
    const [width, height] = [root.clientWidth, stage.clientHeight];
    const taken = [];
    return which.map((i, rank) => {
      const [x, y] = places[i];
      const tag = drawn("text", { class: rank ? "bl-tag" : "bl-tag bl-tag-chosen", dy: ".35em" }, nameOf(i));
      picture.append(tag);
      const wide = tag.getBBox().width || 2.2 * size;
      let best = null;
      for (const [dx, dy, anchor] of SIDES) {
        const cx = x + dx * (r + 0.25 * size);
        const cy = y + dy * (r + 0.55 * size);
        const left = cx - { start: 0, middle: wide / 2, end: wide }[anchor];
        const box = [left, cy - 0.55 * size, left + wide, cy + 0.55 * size];
        let cost = 4 * taken.reduce((sum, other) => sum + overlap(box, other), 0);
        for (const [px, py] of places) cost += overlap(box, [px - r, py - r, px + r, py + r]);
        if (box[0] < 0 || box[2] > width || box[1] < 0 || box[3] > height) cost += 1e6;
        if (!best || cost < best.cost - 1e-9) best = { cost, cx, cy, anchor, box };
      }
      taken.push(best.box);
      tag.setAttribute("x", best.cx);
      tag.setAttribute("y", best.cy);
      tag.setAttribute("text-anchor", best.anchor);
      return tag;
    });
  }

  function paint() {
    if (!layOut()) return;
    const r = radius();
    const at = chosen();
    const near = nearest();
    const [x, y] = places[at];
    picture.replaceChildren();
    for (const i of near)
      picture.append(drawn("line", { x1: x, y1: y, x2: places[i][0], y2: places[i][1], class: "bl-tie" }));
    const front = (i) => (i === at ? 2 : near.includes(i) ? 1 : 0);
    const order = places.map((_, i) => i).sort((a, b) => front(a) - front(b) || a - b);
    for (const i of order) picture.append(marker(i, r));
    picture.append(drawn("circle", { cx: x, cy: y, r: r + 0.22 * em(), class: "bl-ring" }));
    nameTags([at, ...near], r);
    stage.setAttribute("aria-label", `Map of ${count()} heads. Arrows go to the head in that direction, Page Down and Page Up through all. ${sentence()}`);
    setSentence(caption, sentence());
    menu.fill([[0, "behaviour"], [1, "layer"]], get("by_index"));
    const groups = get("groups");
    const key = (path, colour, words) => {
      const mark = drawn("svg", { viewBox: "-1.5 -1.5 3 3", "aria-hidden": "true" }, drawn("path", { d: path, fill: colour }));
      return element("span", "bl-group", {}, mark, words);
    };
    legend.replaceChildren(
      ...(byLayer()
        ? [key(get("disc"), PALETTE.magnitude[128], "number in a disc: its layer")]
        : get("styles").map(([name, colour, path]) => key(path, colour, `${name} ${groups.filter((g) => g === name).length}`))),
    );
  }

  function update() {
    setType(root, get("font_size"));
    onLeave();
    paint();
  }

  // -- pointer and keys --

  const headOf = (i) => ({ layer: Math.floor(i / heads()), head: i % heads() });

  // The point under the pointer, or the nearest one within a finger's width.
  function under(event) {
    const box = picture.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    let best = -1;
    let least = (1.4 * radius()) ** 2;
    places.forEach(([px, py], i) => {
      const away = (px - x) ** 2 + (py - y) ** 2;
      if (away < least) [best, least] = [i, away];
    });
    return best;
  }

  // The next head in a direction: near, and not far off the straight line.
  function towards(key) {
    const [ux, uy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    const at = chosen();
    let best = at;
    let least = Infinity;
    places.forEach(([x, y], i) => {
      const [dx, dy] = [x - places[at][0], y - places[at][1]];
      const along = dx * ux + dy * uy;
      const aside = Math.abs(dx * uy - dy * ux);
      if (i === at || along < 0.5 || aside > 1.8 * along) return;
      const cost = along + 1.5 * aside;
      if (cost < least) [best, least] = [i, cost];
    });
    return best;
  }

  function onKey(key) {
    const [at, last] = [chosen(), count() - 1];
    const steps = { PageDown: Math.min(last, at + 1), PageUp: Math.max(0, at - 1), Home: 0, End: last };
    const next = key.startsWith("Arrow") ? towards(key) : steps[key];
    if (next === undefined) return null;
    return next === at ? {} : headOf(next);
  }

  function onMove(event) {
    const i = under(event);
    if (i === pointed) return;
    pointed = i;
    tip.classList.toggle("bl-open", i >= 0);
    if (i < 0) return;
    tip.textContent = `Head ${nameOf(i)}: ${get("groups")[i]}`;
    const [x, y] = places[i];
    const left = Math.max(0, Math.min(x - tip.offsetWidth / 2, stage.clientWidth - tip.offsetWidth));
    const above = y - radius() - tip.offsetHeight - 4;
    place(tip, left, above >= 0 ? above : y + radius() + 4);
  }
  function onLeave() {
    pointed = -1;
    tip.classList.remove("bl-open");
  }
  function onClick(event) {
    const i = under(event);
    if (i >= 0) emit(headOf(i));
  }
  stage.addEventListener("pointermove", onMove);
  stage.addEventListener("pointerleave", onLeave);
  stage.addEventListener("click", onClick);
  onKeys(stage, emit, onKey);
  let seen = "";

  const resized = () => {
    const now = `${root.clientWidth} ${em()}`;
    if (now === seen) return;
    seen = now;
    paint();
  };
  function numbers() {
    const points = floatsAt(bytesOf(get("points")), 0, 2 * count());
    return [["head", "x", "y"], ...Array.from({ length: count() }, (_, i) => [nameOf(i), points[2 * i], points[2 * i + 1]])];
  }
  return { ...hosted(root, update, [host, root], resized), numbers };
}

export default { render: (context) => mount(context, createDistanceMap) };
