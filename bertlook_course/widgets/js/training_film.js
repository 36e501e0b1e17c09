// The film of a training run: a map of all heads at a checkpoint, a curve of the chosen one, a slider over time. The map is that of
// head_map.js, which stands before this; the sentence is that of bertlook_course/render/heads/film.py.

const FILM_STEP = 700; // milliseconds a checkpoint while it plays
const HARDLY = 0.05;

function halfWay(curve) {
  const first = curve.find((value) => !Number.isNaN(value)); // before it the head is not there
  const way = curve[curve.length - 1] - first;
  if (Math.abs(way) < HARDLY) return -1;
  return curve.findIndex((value) => (value - first) * Math.sign(way) >= Math.abs(way) / 2);
}

function createFilm(host, get, emit) {
  const root = element("div", "bertlook bertlook-film");
  const mapHost = element("div", "bl-film-map");
  const curveHost = element("div", "bl-film-curve");
  const body = element("div", "bl-film-body", {}, mapHost, curveHost);
  const play = button("", "", onPlay);
  const slider = control("input", "", { type: "range", step: "1", min: "0", "aria-label": "checkpoint" });
  const reached = element("output");
  const time = element("div", "bl-film-time", {}, play, slider, reached);
  const caption = element("p", "bl-caption bl-near", { "aria-live": "polite" });
  const table = element("table", "bl-unseen");
  root.append(body, time, caption, table);
  host.append(root);
  const still = window.matchMedia("(prefers-reduced-motion: reduce)");
  let timer = 0;
  let tableTimer = 0;

  const last = () => get("tokens").length - 1;
  const index = () => Math.max(0, get("measures").indexOf(get("measure")));
  const cellsOf = () => get("shape")[0] * get("shape")[1];

  // -- the map at the checkpoint in view, with words for measures --

  function ofPoint(name) {
    if (name === "data") {
      const size = 4 * cellsOf() * get("measures").length;
      return bytesOf(get("data")).slice(get("point") * size, (get("point") + 1) * size).buffer;
    }
    if (name === "measures") return get("labels");
    if (name === "measure") return get("labels")[index()];
    if (name === "font_size") return 0; // of the whole view
    if (name === "height") return mapHeight();
    return get(name);
  }
  function fromMap(changes) {
    if ("measure" in changes) emit({ measure: get("measures")[get("labels").indexOf(changes.measure)] });
    else emit(changes);
  }
  // What the slider and the sentence leave of a slide, in the pixels that are asked for.
  function mapHeight() {
    const em = parseFloat(getComputedStyle(root).fontSize);
    return get("height") || Math.max(10 * em, tallest(host, em) - 2.2 * em) / enlarged(host);
  }
  const map = createHeadMap(mapHost, ofPoint, fromMap);

  // -- the curve --

  let [source, all] = [null, null]; // the data as they came, and read
  function curveOf(head) {
    const [cells, count] = [cellsOf(), get("measures").length];
    if (source !== get("data")) {
      source = get("data");
      all = floatsAt(bytesOf(source), 0, get("tokens").length * count * cells);
    }
    return get("tokens").map((_, i) => all[(i * count + index()) * cells + head]);
  }

  function drawCurve() {
    const em = parseFloat(getComputedStyle(root).fontSize);
    const width = curveHost.clientWidth;
    if (!width || !(em > 0)) return;
    const height = Math.max(9 * em, Math.min(mapHeight(), 0.8 * width));
    const whose = `head ${headLabel(get("layer"), get("head"))}`;
    const words = `Curve of ${whose}, ${get("labels")[index()]}, from ${get("reached")[0]} to ${get("reached")[last()]} tokens; numbers in the sentence and the table below.`;
    const svg = drawn("svg", { viewBox: `0 0 ${width} ${height}`, height, role: "img", "aria-label": words });
    const baseline = get("baselines")[index()];
    const [low, most] = get("ranges")[index()];
    const high = Math.max(most, baseline ? baseline[1] : most);
    const [left, top, right, bottom] = [2.9 * em, (baseline ? 3.2 : 2) * em, width - 0.6 * em, height - 2.7 * em];
    const logs = get("tokens").map(Math.log);
    const x = (i) => left + ((logs[i] - logs[0]) / (logs[last()] - logs[0])) * (right - left);
    const y = (value) => top + (1 - (value - low) / (high - low)) * (bottom - top);
    const track = (curve) => {
      const places = curve.map((value, i) => [x(i), y(value)]).filter((at) => !Number.isNaN(at[1]));
      return `M${places.map((at) => `${at[0].toFixed(1)} ${at[1].toFixed(1)}`).join("L")}`;
    };
    const line = (d, attributes) => svg.append(drawn("path", { d, fill: "none", ...attributes }));
    const label = (x, y, words, anchor, name = "") =>
      svg.append(drawn("text", { x, y, dy: ".35em", "text-anchor": anchor, class: name }, words));
    label(left, 0.8 * em, `${whose}; other heads grey`, "start", "bl-film-name");
    for (const value of [low, high]) {
      svg.append(drawn("path", { d: `M${left} ${y(value)}H${right}`, stroke: PALETTE.rule }));
      label(left - 0.3 * em, y(value), shortNumber(value), "end");
    }
    const chosen = get("layer") * get("shape")[1] + get("head");
    const others = Array.from({ length: cellsOf() }, (_, i) => i).filter((i) => i !== chosen);
    line(others.map((i) => track(curveOf(i))).join(""), { stroke: PALETTE.muted, "stroke-width": 1, opacity: 0.3 }); // one for all: faster
    if (baseline) {
      const at = y(baseline[1]);
      svg.append(drawn("path", { d: `M${left} ${at}H${right}`, stroke: PALETTE.muted, "stroke-width": 2, "stroke-dasharray": "6 5" }));
      label(left, 2 * em, `dashed: ${baseline[0]}`, "start");
    }
    const curve = curveOf(chosen);
    line(track(curve), { stroke: PALETTE.line, "stroke-width": em / 8 });
    const here = x(get("point"));
    svg.append(drawn("path", { d: `M${here} ${top}V${bottom}`, stroke: PALETTE.selected, "stroke-width": 2 }));
    const now = curve[get("point")];
    if (!Number.isNaN(now)) svg.append(drawn("circle", { cx: here, cy: y(now), r: 0.34 * em, fill: PALETTE.selected }));
    const short = (words) => words.replace("thousand", "k").replace("million", "M").replace("billion", "G");
    label(left, bottom + 0.9 * em, short(get("reached")[0]), "start");
    label(right, bottom + 0.9 * em, short(get("reached")[last()]), "end");
    for (let power = 1; power < 13; power += 1) {
      const at = left + ((power * Math.LN10 - logs[0]) / (logs[last()] - logs[0])) * (right - left);
      if (at < left + 3 * em || at > right - 4 * em) continue;
      svg.append(drawn("path", { d: `M${at} ${bottom}v${0.4 * em}`, stroke: PALETTE.muted }));
      label(at, bottom + 0.9 * em, `${10 ** (power % 3)} ${["", "k", "M", "G", "T"][Math.floor(power / 3)]}`.trim(), "middle");
    }
    label((left + right) / 2, bottom + 2 * em, "tokens read (log scale)", "middle");
    curveHost.replaceChildren(svg);
  }

  // -- words --

  function say() {
    const [, heads] = get("shape");
    const [i, point] = [get("layer") * heads + get("head"), get("point")];
    const name = (at) => headLabel(Math.floor(at / heads), at % heads);
    const curves = Array.from({ length: cellsOf() }, (_, at) => curveOf(at));
    const best = (at) => curves.reduce((most, curve, head) => (curve[at] > curves[most][at] ? head : most), 0); // layer 1 is always there
    const curve = curves[i];
    const half = halfWay(curve);
    const baseline = get("baselines")[index()];
    const here = { tokens: get("reached")[point], measure: get("labels")[index()] };
    const said = [worded("best head", { ...here, head: name(best(point)), value: number(curves[best(point)][point]) })];
    if (point !== last() || best(point) !== i) {
      const state = Number.isNaN(curve[point]) ? "not there" : point === last() ? "at its end" : "on its way";
      said.push(worded(state, { head: name(i), value: number(curve[point]), end: number(curve[last()]) }));
    }
    said.push(half < 0 ? worded("no way") : worded("half way", { tokens: get("reached")[half] }));
    if (baseline) said.push(worded("baseline", { name: `${baseline[0][0].toUpperCase()}${baseline[0].slice(1)}`, value: number(baseline[1]) }));
    setSentence(caption, said.join(" "));
    reached.textContent = `${get("reached")[point]} tokens read`;
    slider.max = last();
    slider.value = point;
    slider.setAttribute("aria-valuetext", reached.textContent);
    clearTimeout(tableTimer); // for screen readers, once the film rests
    const rows = curve.map((value, at) => {
      const shown = Number.isNaN(value) ? "-" : number(value);
      return [get("reached")[at], shown, `${number(curves[best(at)][at])} (${name(best(at))})`];
    });
    tableTimer = setTimeout(() => fillTable(table, "", ["tokens read", `head ${name(i)}`, "best head"], rows), 150);
  }

  function update() {
    setType(root, get("font_size"));
    map.update();
    say();
    drawCurve();
  }

  // -- time --

  function showButton() {
    play.textContent = still.matches ? "Next ▸" : timer ? "❚❚ Pause" : "▶ Play";
    caption.setAttribute("aria-live", timer ? "off" : "polite"); // a film is not read out frame by frame
  }
  function stop() {
    clearTimeout(timer);
    timer = 0;
    showButton();
  }
  function advance() {
    if (get("point") < last()) emit({ point: get("point") + 1 });
    if (get("point") >= last()) stop();
    else timer = setTimeout(advance, FILM_STEP);
  }
  function onPlay() {
    if (timer) return stop();
    const next = get("point") >= last() ? 0 : get("point") + 1;
    emit({ point: next });
    if (!still.matches) {
      timer = setTimeout(advance, FILM_STEP);
      showButton();
    }
  }
  const onMotion = () => stop();
  still.addEventListener("change", onMotion);
  slider.addEventListener("input", () => {
    stop();
    emit({ point: Number(slider.value) });
  });
  keepKeys(slider, play);
  onKeys(root, emit, (key) => {
    const turn = { PageUp: -1, PageDown: 1 }[key];
    if (!turn) return null;
    stop();
    return { point: Math.max(0, Math.min(last(), get("point") + turn)) };
  });
  showButton();

  return hosted(root, update, [curveHost], drawCurve, () => {
    clearTimeout(timer);
    clearTimeout(tableTimer);
    still.removeEventListener("change", onMotion);
    map.destroy();
  });
}

export default { render: (context) => mount(context, createFilm) };
