// A text whose words are weighted by a head or by a learnt mix.

const STRONG = 0.1; // of the largest: from here on a difference gets its sign written before the word
const TABLE_ROWS = 12;

function createWeightedText(host, get, emit) {
  const root = element("div", "bertlook bertlook-weighted");
  const menus = {
    document: menuNamed("text", (value) => emit({ document: value })),
    show: menuNamed("weighted by", (value) => emit({ show_index: value })),
    layer: menuNamed("layer", (value) => emit({ layer: value, show_index: 0 })),
    head: menuNamed("head", (value) => emit({ head: value, show_index: 0 })),
  };
  const bar = element("div", "bl-arc-bar", {}, ...Object.values(menus).map(({ box }) => box));
  const title = element("div", "bl-weighted-title", { dir: "auto" });
  const stage = control("div", "bl-weighted-stage", { tabindex: "0", role: "application" });
  const [low, scale, high] = [element("span"), element("span", "bl-bar"), element("span")];
  const swatch = element("span", "bl-key-swatch", {}, "key word");
  const legend = element("span", "bl-legend", {}, low, scale, high);
  const foot = element("div", "bl-weighted-foot", { "aria-hidden": "true" }, legend, swatch);
  const caption = element("p", "bl-caption bl-near", { "aria-live": "polite" });
  const table = element("table", "bl-unseen");
  const tip = element("div", "bl-tip", { "aria-hidden": "true" });
  root.append(bar, title, stage, foot, caption, table, tip);
  host.append(root);

  let plain = null; // the bytes of all texts
  let starts = []; // of each text in them
  let built = null; // the words in the page
  let spans = [];
  let values = [];

  const load = dataReader(get, accept, () => update());
  function accept(bytes) {
    const [layers, heads] = get("shape");
    let at = 0;
    starts = get("texts").map(({ words, mix }) => {
      const start = at;
      at += 4 * words.length * (layers * heads + (mix ? 1 : 0));
      return start;
    });
    plain = bytes.byteLength === at ? bytes : null;
    return plain !== null;
  }

  const text = () => get("texts")[get("document")];
  const mixed = () => text().mix && get("show_index") === 1;
  const unit = () => get(mixed() ? "mix_unit" : "unit");

  // The place of what is in view among the rows of its text: the heads, then the mix.
  function row() {
    const [layers, heads] = get("shape");
    return mixed() ? layers * heads : get("layer") * heads + get("head");
  }
  function read() {
    const n = text().words.length;
    values = Array.from(floatsAt(plain, starts[get("document")] + 4 * row() * n, n));
  }

  function build() {
    const { words, key } = text();
    if (built === words) return;
    built = words;
    const look = (i) => `bl-weighted-word${key && key[i] ? " bl-key-word" : ""}`;
    spans = words.map((_, i) => element("span", look(i), { dir: "auto", "data-word": i }));
    stage.replaceChildren(...spans.flatMap((span) => [span, " "]));
    stage.scrollTop = 0;
  }

  function paint() {
    const { words, key } = text();
    const difference = get("difference");
    const times = get("darkest"); // the average; 0: the largest is darkest
    const mean = values.reduce((sum, x) => sum + x, 0) / values.length;
    const top = times * mean || Math.max(...values.map(Math.abs)) || 1;
    const [colours, inks] = difference
      ? [PALETTE.difference, PALETTE.onDifference]
      : [PALETTE.magnitude, PALETTE.onMagnitude];
    spans.forEach((span, i) => {
      const share = values[i] / top;
      const step = difference ? differenceStep(share) : magnitudeStep(share);
      span.style.backgroundColor = colours[step];
      span.style.color = inks[step];
      const sign = difference && Math.abs(share) >= STRONG ? (share > 0 ? "+" : "-") : "";
      const label = sign + visibleToken(words[i]);
      if (span.textContent !== label) span.textContent = label;
    });
    low.textContent = difference ? `less ${signedNumber(-top)}` : "0";
    high.textContent = difference ? `${signedNumber(top)} more` : `${number(top)} ${unit()}${times ? ` or more: ${times} times the average` : ""}`;
    scale.style.background = gradient(colours);
    swatch.hidden = !key;
  }

  function say() {
    const { words, key } = text();
    const difference = get("difference");
    const said = text().said[row()];
    setSentence(caption, said);
    stage.setAttribute("aria-label", `Weighted text. Arrows choose a head, Page Up and Page Down a text${text().mix ? ", M the mix" : ""}. ${said}`);
    const write = difference ? signedNumber : number;
    const size = (i) => Math.abs(values[i]);
    const most = values.map((_, i) => i).sort((i, j) => size(j) - size(i) || i - j).slice(0, TABLE_ROWS);
    const rows = most.map((i) => [visibleToken(words[i]), write(values[i]), ...(key ? [key[i] ? "yes" : "no"] : [])]);
    fillTable(table, "", ["word", unit(), ...(key ? ["key word"] : [])], rows);
  }

  function fit() {
    const em = parseFloat(getComputedStyle(root).fontSize);
    if (em > 0) stage.style.maxHeight = `${get("height") * enlarged(host) || 0.74 * tallest(host, em)}px`;
  }

  function update() {
    setType(root, get("font_size"));
    if (!load()) return;
    const [layers, heads] = get("shape");
    const texts = get("texts");
    const titles = texts.map((one, i) => {
      const name = one.title || one.words.slice(0, 5).map(visibleToken).join(" ");
      return [i, `${i + 1}: ${name.length > 36 ? `${name.slice(0, 35).trimEnd()} …` : name}`];
    });
    menus.document.fill(titles, get("document"));
    menus.show.fill([[0, "a head"], [1, get("mix_name")]], mixed() ? 1 : 0);
    menus.layer.fill(counted(layers), get("layer"));
    menus.head.fill(counted(heads), get("head"));
    menus.document.box.hidden = texts.length < 2;
    menus.show.box.hidden = !text().mix;
    title.textContent = texts.length < 2 ? visibleToken(text().title) : "";
    title.hidden = !text().title || texts.length > 1;
    hideTip();
    read();
    build();
    paint();
    say();
    fit();
  }

  // -- pointer and keys --

  function hideTip() {
    tip.classList.remove("bl-open");
  }
  stage.addEventListener("pointermove", (event) => {
    const span = event.target.closest?.(".bl-weighted-word");
    if (!span) return hideTip();
    const i = Number(span.dataset.word);
    showTip(tip, root, span, (get("difference") ? signedNumber : number)(values[i]));
  });
  stage.addEventListener("pointerleave", hideTip);
  stage.addEventListener("scroll", hideTip);
  onKeys(stage, emit, (key) => {
    const turn = { PageUp: -1, PageDown: 1 }[key];
    if (turn) return { document: Math.max(0, Math.min(get("texts").length - 1, get("document") + turn)) };
    if (key.toLowerCase() === "m" && text().mix) return { show_index: mixed() ? 0 : 1 };
    const head = movedHead(key, get);
    return head && { ...head, show_index: 0 };
  });

  return hosted(root, update, [host], fit);
}

export default { render: (context) => mount(context, createWeightedText) };
