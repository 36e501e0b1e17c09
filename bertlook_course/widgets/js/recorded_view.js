// A model that was recorded: a menu of the recorded sentences, a map of all heads, and the chosen head's lines; where another model
// can answer too, the switch between the two. Map and view are those of head_map.js and head_view.js, which stand before this.

const RECORDED_BOX = ".bertlook-two"; // around this view and those of the other model

function createRecordedView(host, get, emit) {
  const root = element("div", "bertlook bertlook-recorded");
  const models = element("div", "bl-models", { role: "radiogroup", "aria-label": "model" });
  const mapHost = element("div", "bl-recorded-map");
  const headHost = element("div", "bl-recorded-head");
  // Each view has a module of its own: what they count together stands outside.
  const group = `bl-models-${(globalThis.bertlookSwitches = (globalThis.bertlookSwitches ?? 0) + 1)}`;

  const radios = [0, 1].map((value) => {
    const input = control("input", "", { type: "radio", name: group, value });
    const words = element("span");
    input.addEventListener("change", () => emit({ shows: value }));
    keepKeys(input); // an arrow chooses, and turns no slide
    models.append(element("label", "bl-model", {}, input, words));
    return { input, words };
  });
  const sentences = menuNamed("sentence", (value) => emit({ sentence: value, query: -1, key: -1 }));
  const chosen = menuNamed("show", (value) => {
    const [, sentence, layer, head, query, measure] = get("choices")[value] ?? [];
    if (sentence !== undefined) emit({ sentence, layer, head, query, key: -1, ...(measure && { measure }) });
  });
  const layers = menuNamed("layer", (value) => emit({ layer: value }));
  const heads = menuNamed("head", (value) => emit({ head: value }));
  const styles = menuNamed("view", (value) => emit({ style_index: value }));
  const levels = menuNamed("of", (value) => emit({ level_index: value, query: -1, key: -1 }));
  const hide = control("input", "", { type: "checkbox" });
  const hiding = element("label", "bl-all", {}, hide, "hide special tokens");
  hide.addEventListener("change", () => emit({ hide_special: hide.checked }));
  keepKeys(hide);
  sentences.box.classList.add("bl-sentences");
  chosen.box.classList.add("bl-choices");
  const menus = [chosen, layers, heads, styles, levels].map(({ box }) => box);
  root.append(
    element("div", "bl-recorded-bar", {}, models, sentences.box),
    element("div", "bl-recorded-bar bl-recorded-controls", {}, ...menus, hiding),
    element("div", "bl-recorded-body", {}, mapHost, headHost),
  );
  host.append(root);

  // -- one sentence of the recording, as the map and the view of a single text expect it --

  let source = null; // the data the parts were cut from
  let parts = []; // of each sentence its numbers of the map, and its packed weights
  function part() {
    const data = get("data");
    if (data !== source) {
      source = data;
      const bytes = bytesOf(data);
      parts = get("places").map(([numbers, weights, end]) => ({
        numbers: bytes.slice(numbers, weights).buffer,
        weights: bytes.slice(weights, end).buffer,
      }));
    }
    return parts[get("sentence")];
  }

  const own = { font_size: () => 0, difference: () => false, norms: () => null, quantity_index: () => 0, badge: () => "" };
  // As tall as the view alone would be, less what a second line of controls takes from a slide; in the pixels that are asked for.
  function room(natural) {
    const em = parseFloat(getComputedStyle(root).fontSize);
    return get("height") || Math.max(8 * em, Math.min(natural * em, tallest(host, em) - 0.9 * em)) / enlarged(host);
  }
  const tokens = () => get("texts")[get("sentence")].wordpiece.tokens;
  const ofMap = {
    ...own,
    height: () => room(Infinity),
    data: () => part().numbers,
    ranges: () => get("ranges")[get("sentence")],
  };
  const ofHead = {
    ...own,
    badge: () => get("badge"),
    height: () => room(1.5 * (tokens().length + 0.4)),
    data: () => part().weights,
    packing: () => "deflate",
    texts: () => get("texts")[get("sentence")],
    shape: () => [...get("shape"), tokens().length],
  };
  const through = (own) => (name) => (name in own ? own[name]() : get(name));
  const map = createHeadMap(mapHost, through(ofMap), emit);
  const head = createHeadView(headHost, through(ofHead), emit);

  // -- what is in view --

  function update() {
    const shown = !get("other") || get("shows") === 1;
    setType(root, get("font_size"));
    models.hidden = !get("other");
    [get("other"), get("badge")].forEach((name, i) => {
      radios[i].words.textContent = name;
      radios[i].input.checked = (i === 1) === shown;
    });
    root.classList.toggle("bl-recorded-hidden", !shown);
    const [l, h] = get("shape");
    sentences.fill(get("names").map((name, i) => [i, name]), get("sentence"));
    layers.fill(counted(l), get("layer"));
    heads.fill(counted(h), get("head"));
    styles.fill(STYLE_NAMES.map((name, i) => [i, name]), get("style_index"));
    levels.fill(LEVEL_NAMES.map((name, i) => [i, `${name}s`]), get("level_index"));
    const among = get("choices");
    const is = ([, sentence, layer, head]) => sentence === get("sentence") && layer === get("layer") && head === get("head");
    const none = among.some(is) ? [] : [[-1, "a head of your own"]]; // what no choice names
    chosen.fill([...none, ...among.map(([name], i) => [i, name])], among.findIndex(is));
    for (const menu of [styles, levels]) menu.box.hidden = among.length > 0; // there is no room for them then
    chosen.box.hidden = !among.length;
    hide.checked = get("hide_special");
    mapHost.hidden = !get("with_map");
    tell();
    if (!shown) return;
    if (get("with_map")) map.update();
    head.update();
  }

  // The views of the other model stand beside this one and are shown while it is hidden.
  function tell() {
    const box = root.closest(RECORDED_BOX);
    if (box) box.dataset.shows = get("other") && get("shows") === 0 ? "other" : "recorded";
  }
  // The page may take this in after it was made.
  const stop = () => {
    map.destroy();
    head.destroy();
  };
  return { ...head, ...hosted(root, update, [root], tell, stop) };
}

export default { render: (context) => mount(context, createRecordedView) };
