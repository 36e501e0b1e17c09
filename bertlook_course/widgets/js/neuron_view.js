// How one token's row of weights comes about: query, keys, products, scores, softmax. A table of bars, computed here.

const NEURON_KEYS_HELP =
  "Left and right arrows change the head, up and down the layer. Page Up and Page Down choose the query. " +
  "Shift with up and down arrow chooses a key, Escape lets it go. The letter A shows all dimensions, or the largest.";

// The same numbers and sentences as bertlook_course/render/heads/neurons.py.
function signed(value) {
  const rounded = Math.floor(Math.abs(value) * 100 + 0.5) / 100;
  return rounded ? `${value > 0 ? "+" : "-"}${rounded.toFixed(2)}` : "0.00";
}

function neuronsOf(queries, keys, query) {
  const size = queries[0].length;
  const vector = queries[query];
  const products = keys.map((key) => key.map((value, d) => vector[d] * value));
  const scores = products.map((row) => row.reduce((sum, value) => sum + value, 0) / Math.sqrt(size));
  const top = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - top));
  const total = powers.reduce((sum, value) => sum + value, 0);
  return { vector, keys, products, scores, weights: powers.map((value) => value / total), size, query };
}

function splitDimensions(products, most) {
  const size = products[0].length;
  const does = Array.from({ length: size }, (_, d) => products.reduce((sum, row) => sum + Math.abs(row[d]), 0));
  const order = does.map((_, d) => d).sort((a, b) => does[b] - does[a] || a - b);
  return size - most <= 1 ? { own: order, rest: [] } : { own: order.slice(0, most), rest: order.slice(most) };
}

const sum = (values) => values.reduce((total, value) => total + value, 0);
const argmax = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

function describeNeurons(view, { tokens, special }, { own, rest }, key, layer, head) {
  const at = key < 0 ? argmax(view.weights) : key;
  const products = view.products[at];
  const most = own.reduce((best, d) => (Math.abs(products[d]) > Math.abs(products[best]) ? d : best), own[0]);
  const plain = (value) => signed(Math.abs(value)).replace("+", "");
  const first = worded("one weight", {
    head: headName(layer, head),
    query: quoted(tokens[view.query], special[view.query]),
    key: at === view.query ? worded("itself") : quoted(tokens[at], special[at]),
    share: percent(view.weights[at]),
    score: signed(view.scores[at]),
  });
  const parts = { count: view.size, sum: signed(sum(products)), root: plain(Math.sqrt(view.size)) };
  const second = worded(view.size === 1 ? "one product" : "products", parts);
  const third = [worded(products[most] >= 0 ? "adds most" : "takes most", { dimension: most + 1, amount: plain(products[most]) })];
  if (rest.length) third.push(worded("not drawn", { count: rest.length, sum: signed(sum(rest.map((d) => products[d]))) }));
  return `${first} ${second} ${third.join("; ")}.`;
}

function createNeuronView(host, get, emit) {
  const root = element("div", "bertlook bertlook-view bertlook-neurons");
  const badge = element("span", "bl-badge");
  const name = element("span", "bl-heading");
  const queries = menuNamed("query", (value) => emit({ query: value }));
  const allBox = control("input", "", { type: "checkbox" });
  const allText = element("span");
  const allLabel = element("label", "bl-all", {}, allBox, allText);
  const legend = element("span", "bl-neuron-legend");
  const controls = element("div", "bl-neuron-controls", {}, badge, name, queries.box, allLabel, legend);
  const table = element("table", "bl-neuron-table");
  const label = `The neurons behind one row of weights. ${NEURON_KEYS_HELP}`;
  const scroller = control("div", "bl-neuron-scroller", { tabindex: "0", role: "group", "aria-label": label }, table);
  const caption = element("p", "bl-caption", { "aria-live": "polite" });
  root.append(controls, scroller, caption);
  host.append(root);

  let vectors = null; // what the bytes hold
  let source = null; // the bytes `vectors` was made from
  let gone = false;

  function load() {
    const bytes = get("data");
    if (bytes === source) return Boolean(vectors);
    const plain = bytesOf(bytes);
    const [, heads, tokens, size] = get("shape");
    const count = get("carried").length * heads * tokens * size;
    source = bytes;
    // Two-byte numbers must start at an even address, which a message does not promise: copy.
    vectors = plain.byteLength === 4 * count ? new Int16Array(plain.slice().buffer) : null;
    return Boolean(vectors);
  }

  // Queries or keys of the head in view, [token][dim].
  function unpacked(which) {
    const [, heads, tokens, size] = get("shape");
    const place = get("carried").indexOf(get("layer")) * heads + get("head");
    const scale = get("scales")[place][which];
    const start = (which * get("carried").length * heads + place) * tokens * size;
    return Array.from({ length: tokens }, (_, i) =>
      Array.from({ length: size }, (_, d) => (vectors[start + i * size + d] / 32767) * scale),
    );
  }

  function strip(values, rest, largest) {
    const slots = values.length + (rest === null ? 0 : 1.8);
    const picture = drawn("svg", { viewBox: `0 -1 ${slots} 2`, preserveAspectRatio: "none", "aria-hidden": "true" });
    const path = (d, className) => picture.append(drawn("path", { d, class: className }));
    path(`M0 0H${slots}`, "bl-zero");
    const wide = values.length > 40 ? 1 : 0.84;
    const bar = (k, value) => `M${k} 0h${wide}v${(-value / largest).toFixed(3)}h${-wide}z`;
    const of = (sign) => values.map((value, k) => (value * sign > 0 ? bar(k, value) : "")).join("");
    path(of(1), "bl-plus");
    path(of(-1), "bl-minus");
    if (rest !== null) path(bar(values.length + 0.8, rest), rest > 0 ? "bl-plus bl-rest" : "bl-minus bl-rest");
    return picture;
  }

  const cell = (tag, className, content, attributes = {}) => element(tag, className, attributes, content);

  function tabulate(view, text, split, key) {
    const head = element("tr");
    for (const [title, className] of [["key", "bl-label"], ["query, keys", ""], ["query × key", ""], ["score", "bl-score"], ["weight", ""]]) {
      head.append(cell("th", className, title, { scope: "col" }));
    }
    const of = (row) => split.own.map((d) => row[d]);
    const sums = view.products.map((row) => (split.rest.length ? split.rest.reduce((sum, d) => sum + row[d], 0) : null));
    const longest = Math.max(...[view.vector, ...view.keys].flatMap((row) => of(row).map(Math.abs))) || 1;
    const largest = Math.max(...view.products.flatMap((row) => of(row).map(Math.abs)), ...sums.map((sum) => Math.abs(sum ?? 0))) || 1;
    const query = element("tr", "bl-query-row");
    const queryName = cell("th", "bl-label", `query: ${visibleToken(text.tokens[view.query])}`, { scope: "row" });
    query.append(queryName, cell("td", "", strip(of(view.vector), null, longest)), element("td"), element("td"), element("td"));
    const rows = text.tokens.map((token, j) => {
      const row = element("tr", j === key ? "bl-key-row bl-chosen-row" : "bl-key-row", { "data-key": j });
      if (j === key) row.setAttribute("aria-current", "true");
      const label = cell("th", "bl-label", visibleToken(token), { scope: "row", dir: "auto" });
      label.title = visibleToken(token);
      const weight = element("td", "bl-weight");
      const bar = element("span", "bl-share", { "aria-hidden": "true" });
      bar.style.width = `${Math.max(0.06, 4.4 * view.weights[j])}em`;
      weight.append(bar, cell("span", "bl-per-cent", percent(view.weights[j])));
      row.append(
        label,
        cell("td", "", strip(of(view.keys[j]), null, longest)),
        cell("td", "", strip(of(view.products[j]), sums[j], largest)),
        cell("td", "bl-score", signed(view.scores[j])),
        weight,
      );
      return row;
    });
    table.replaceChildren(element("thead", "", {}, head, query), element("tbody", "", {}, ...rows));
  }

  function layOut(tokens) {
    const em = parseFloat(getComputedStyle(root).fontSize);
    const slide = onSlide(host);
    const room = get("height") * enlarged(host) || (slide ? 0.55 * window.innerHeight : 26 * em);
    const row = Math.max(1.02, Math.min(1.45, (room / em - 0.1) / (tokens + 2)));
    table.style.setProperty("--bl-row", `${row}em`);
    scroller.style.maxHeight = `${Math.ceil(Math.max(room, 6 * em))}px`;
  }

  function update() {
    if (gone || !load()) return;
    setType(root, get("font_size"));
    const text = { tokens: get("tokens"), special: get("special") };
    const [layer, head, key] = [get("layer"), get("head"), get("key")];
    const [, , tokens, size] = get("shape");
    queries.fill(text.tokens.map((token, i) => [i, `${i}  ${visibleToken(token)}`]), get("query"));
    showBadge(badge, get("badge") ?? "");
    name.textContent = `Head ${headLabel(layer, head)}`;
    allBox.checked = get("all_dimensions");
    allText.textContent = `all ${size} dimensions`;
    allLabel.hidden = size - get("most") <= 1;
    layOut(tokens);
    if (!get("carried").includes(layer)) {
      table.replaceChildren();
      legend.textContent = "";
      const carried = get("carried").map((index) => index + 1).join(", ");
      caption.textContent = `Head ${headLabel(layer, head)}: with this many heads only ${get("carried").length > 1 ? "layers" : "layer"} ${carried} ${get("carried").length > 1 ? "travel" : "travels"} with the view; others need the kernel.`;
      return;
    }
    const view = neuronsOf(unpacked(0), unpacked(1), get("query"));
    const split = splitDimensions(view.products, get("all_dimensions") ? size : get("most"));
    tabulate(view, text, split, key);
    const also = split.rest.length ? `, outlined: ${split.rest.length} others` : "";
    legend.textContent = `up +, down −${also}`;
    setSentence(caption, describeNeurons(view, text, split, key, layer, head));
    if (key >= 0) table.querySelector(".bl-chosen-row")?.scrollIntoView?.({ block: "nearest" });
  }

  function onClick(event) {
    const row = event.target.closest?.(".bl-key-row");
    if (row) emit({ key: Number(row.dataset.key) === get("key") ? -1 : Number(row.dataset.key) });
  }
  function onKey(key, { shiftKey }) {
    const last = get("shape")[2] - 1;
    const within = (value) => Math.max(0, Math.min(last, value));
    const step = { ArrowDown: 1, ArrowUp: -1 }[key];
    const page = { PageDown: 1, PageUp: -1 }[key];
    if (shiftKey && step) return { key: get("key") >= 0 ? within(get("key") + step) : step > 0 ? 0 : last };
    if (page) return { query: within(get("query") + page) };
    if (key === "Escape") return get("key") >= 0 ? { key: -1 } : null;
    return key.toLowerCase() === "a" ? { all_dimensions: !get("all_dimensions") } : movedHead(key, get);
  }
  scroller.addEventListener("click", onClick);
  onKeys(scroller, emit, onKey);
  keepKeys(controls); // a menu's keys are not the slides'
  allBox.addEventListener("change", () => emit({ all_dimensions: allBox.checked }));
  let width = 0;

  return hosted(root, update, [root], () => {
    if (root.clientWidth === width) return;
    width = root.clientWidth;
    if (vectors && width) layOut(get("shape")[2]);
  }, () => {
    gone = true;
  });
}

export default { render: (context) => mount(context, createNeuronView) };
