// A text whose words are weighted by a head or by a learnt mix. The sentence is that of bertlook_course/render/texts/weighted_text.py;
// a test holds the two together.

const TOP_WORDS = 3;
const STRONG = 0.1; // of the largest: from here on a difference gets its sign written before the word
const TABLE_ROWS = 12;

function mostFirst(values) {
  return values.map((_, i) => i).sort((i, j) => values[j] - values[i] || i - j);
}

function describeWords(values, words, { key, name, unit, difference }) {
  const write = difference ? signedNumber : number;
  const n = values.length;
  const mean = write(values.reduce((sum, x) => sum + x, 0) / n);
  const named = (places) => places.map((i) => `${quoted(words[i], false)} ${write(values[i])}`).join(", ");
  const order = mostFirst(values);
  let said;
  if (!values.some((x) => x !== 0)) said = `${name}: ${unit} ${difference ? "changes nowhere" : "is 0 everywhere"}.`;
  else if (difference) {
    const up = order.slice(0, TOP_WORDS).filter((i) => values[i] > 0);
    const down = mostFirst(values.map((x) => -x)).slice(0, TOP_WORDS).filter((i) => values[i] < 0);
    said = `${name}: ${unit} ${up.length ? `rises most on ${named(up)}` : "rises nowhere"}; ${down.length ? `falls most on ${named(down)}` : "falls nowhere"}; on average a word changes by ${mean}.`;
  } else said = `${name}: most ${unit} is on ${named(order.slice(0, TOP_WORDS))}; on average a word has ${mean}.`;
  return key ? `${said} ${keySentence(values, key, difference)}` : said;
}

function keySentence(values, key, difference) {
  const inside = values.filter((_, i) => key[i]);
  const outside = values.filter((_, i) => !key[i]);
  if (!inside.length) return "No word of this text is a key word.";
  if (!outside.length) return "Every word of this text is a key word.";
  let wins = 0;
  for (const a of inside) for (const b of outside) wins += a > b ? 1 : a === b ? 0.5 : 0;
  const write = difference ? signedNumber : number;
  const average = (list) => write(list.reduce((sum, x) => sum + x, 0) / list.length);
  const one = inside.length === 1;
  const verb = difference ? (one ? "changes by" : "change by") : one ? "has" : "have";
  return (
    `The ${inside.length} key word${one ? "" : "s"} ${verb} ${average(inside)} on average, ` +
    `the ${outside.length} other${outside.length === 1 ? "" : "s"} ${average(outside)}; ` +
    `key words ${difference ? "gain" : "have"} more in ${percent(wins / (inside.length * outside.length))} of pairs (chance: 50 %).`
  );
}

function createWeightedText(host, get, emit) {
  const root = element("div", "bertlook bertlook-weighted");
  const bar = element("div", "bl-arc-bar");
  const menus = {
    document: menuNamed("text", (value) => emit({ document: value })),
    show: menuNamed("weighted by", (value) => emit({ show_index: value })),
    layer: menuNamed("layer", (value) => emit({ layer: value, show_index: 0 })),
    head: menuNamed("head", (value) => emit({ head: value, show_index: 0 })),
  };
  const title = element("div", "bl-weighted-title", { dir: "auto" });
  const stage = element("div", "bl-weighted-stage", { tabindex: "0", role: "application", "data-lm-suppress-shortcuts": "true" });
  const foot = element("div", "bl-weighted-foot", { "aria-hidden": "true" });
  const legend = element("span", "bl-legend");
  const [low, scale, high] = [element("span"), element("span", "bl-bar"), element("span")];
  const swatch = element("span", "bl-key-swatch");
  swatch.textContent = "key word";
  const caption = element("p", "bl-caption bl-near", { "aria-live": "polite" });
  const table = element("table", "bl-unseen");
  const tip = element("div", "bl-tip", { "aria-hidden": "true" });
  bar.append(...Object.values(menus).map(({ box }) => box));
  legend.append(low, scale, high);
  foot.append(legend, swatch);
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

  function read() {
    const [layers, heads] = get("shape");
    const n = text().words.length;
    const row = mixed() ? layers * heads : get("layer") * heads + get("head");
    values = Array.from(floatsAt(plain, starts[get("document")] + 4 * row * n, n));
  }

  function build() {
    const { words, key } = text();
    if (built === words) return;
    built = words;
    spans = words.map((word, i) => {
      const span = element("span", `bl-weighted-word${key && key[i] ? " bl-key-word" : ""}`, { dir: "auto", "data-word": i });
      return span;
    });
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
    high.textContent = difference ? `${signedNumber(top)} more` : `${number(top)} ${get("unit")}${times ? ` or more: ${times} times the average` : ""}`;
    scale.style.background = `linear-gradient(to right, ${colours.filter((_, i) => i % 15 === 0).join(",")})`;
    swatch.hidden = !key;
  }

  function say() {
    const { words, key } = text();
    const difference = get("difference");
    const whose = mixed() ? get("mix_name") : `Head ${headLabel(get("layer"), get("head"))}`;
    const name = difference ? `${whose}, after minus before` : whose;
    const said = describeWords(values, words, { key, name, unit: get("unit"), difference });
    setSentence(caption, said);
    stage.setAttribute("aria-label", `Weighted text. Arrows choose a head, Page Up and Page Down a text${text().mix ? ", M the mix" : ""}. ${said}`);
    const row = (tag, cells) => {
      const line = element("tr");
      line.append(...cells.map((cell) => Object.assign(element(tag), { textContent: cell })));
      return line;
    };
    const write = difference ? signedNumber : number;
    const most = mostFirst(values.map(Math.abs)).slice(0, TABLE_ROWS);
    table.replaceChildren(
      row("th", ["word", get("unit"), ...(key ? ["key word"] : [])]),
      ...most.map((i) => row("td", [visibleToken(words[i]), write(values[i]), ...(key ? [key[i] ? "yes" : "no"] : [])])),
    );
  }

  function fit() {
    const em = parseFloat(getComputedStyle(root).fontSize);
    if (em > 0) stage.style.maxHeight = `${get("height") * enlarged(host) || 0.74 * tallest(host, em)}px`;
  }

  function update() {
    setType(root, get("font_size"));
    if (!load()) return;
    const [layers, heads] = get("shape");
    const count = (n) => Array.from({ length: n }, (_, i) => [i, String(i + 1)]);
    const texts = get("texts");
    const titles = texts.map((one, i) => {
      const name = one.title || one.words.slice(0, 5).map(visibleToken).join(" ");
      return [i, `${i + 1}: ${name.length > 36 ? `${name.slice(0, 35).trimEnd()} …` : name}`];
    });
    fillMenu(menus.document.select, titles, get("document"));
    fillMenu(menus.show.select, [[0, "a head"], [1, get("mix_name")]], mixed() ? 1 : 0);
    fillMenu(menus.layer.select, count(layers), get("layer"));
    fillMenu(menus.head.select, count(heads), get("head"));
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
    tip.textContent = (get("difference") ? signedNumber : number)(values[i]);
    tip.classList.add("bl-open");
    const [box, outer] = [span.getBoundingClientRect(), root.getBoundingClientRect()];
    const left = box.left - outer.left + (box.width - tip.offsetWidth) / 2;
    place(tip, Math.max(0, Math.min(left, outer.width - tip.offsetWidth)), box.top - outer.top - tip.offsetHeight - 2);
  });
  stage.addEventListener("pointerleave", hideTip);
  stage.addEventListener("scroll", hideTip);
  stage.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const turn = { PageUp: -1, PageDown: 1 }[event.key];
    if (turn) {
      keep(event);
      emit({ document: Math.max(0, Math.min(get("texts").length - 1, get("document") + turn)) });
      return;
    }
    if (event.key.toLowerCase() === "m" && text().mix) {
      keep(event);
      emit({ show_index: mixed() ? 0 : 1 });
      return;
    }
    const next = moved(event.key, get("layer"), get("head"), ...get("shape"));
    if (!next) return;
    keep(event);
    emit({ layer: next[0], head: next[1], show_index: 0 });
  });

  return hosted(root, update, [host], fit);
}

const WEIGHTED_TEXT_TRAITS = [
  "data", "shape", "texts", "layer", "head", "document", "show_index", "difference", "unit", "mix_name", "darkest", "font_size", "height",
];

export default {
  render: (context) => mount(context, WEIGHTED_TEXT_TRAITS, createWeightedText),
};
