// The playground: what is typed goes to the worker that holds the chosen model, what comes back goes to the views of the page.
(() => {
  const byId = (name) => document.getElementById(name);
  const texts = JSON.parse(byId("recorded-texts").textContent);
  const known = JSON.parse(byId("models").textContent); // the models to choose from; one is read when something is asked of it
  const rules = JSON.parse(byId("rules").textContent); // what the map's measures are taken by
  const say = (words) => (byId("said").textContent = words);
  const make = (tag, words, name = "") => Object.assign(document.createElement(tag), { textContent: words, className: name });
  const label = ([layer, head]) => `${layer + 1}-${head + 1}`;
  let map, view, recorded, neurons; // models of the views
  let engine; // the worker, once something was asked that the page does not show already
  let wanted = null; // the head that the address asks for, where the views do not have it yet
  let choice = 0; // of models: what is read for an earlier one is dropped
  let ofFile = new Map(); // sentences of a reader's file, by their place in the menu
  let tokens = {}; // chosen in the view, query and key, where the address names them
  let off = []; // [layer, head] of the heads switched off
  let masked = -1; // a word of the sentence, counted from 0 over both texts
  let turn = 0; // answers to earlier questions are dropped

  // -- what is typed as words, with their places in the text: runs of letters, or one sign, as BERT cuts them --
  const wordsOf = (text) => [...text.matchAll(/\[MASK\]|[\p{L}\p{N}\p{M}]+|[^\s\p{L}\p{N}\p{M}]/gu)].map((found) => ({ word: found[0], at: found.index }));
  const both = () => [byId("first").value, byId("second").value];
  const asked = () => [both()[0], both()[1].trim() ? both()[1] : null];
  function withMask([text, pair]) {
    const first = wordsOf(text);
    const put = (whole, { word, at }) => `${whole.slice(0, at)}[MASK]${whole.slice(at + word.length)}`;
    if (masked < first.length) return [put(text, first[masked]), pair];
    return [text, put(pair, wordsOf(pair)[masked - first.length])];
  }

  // -- one run as the traits of the views --
  function show(run) {
    const { mapTraits, viewTraits, neuronTraits } = globalThis.bertlookTraits, shape = shapeNow();
    const [layer, head] = (wanted ?? chosen()).map((one, i) => Math.min(one, shape[i] - 1)), badge = engine.about.name === known[0].name ? "" : engine.about.title;
    wanted = null;
    map.set({ ...mapTraits(run, map.get("measures"), rules, shape), shape, layer, head });
    view.set({ ...viewTraits(run, shape), ...tokens, layer, head, badge });
    tokens = {};
    neurons.set({ ...neuronTraits(run, shape), layer, head, badge });
    markOff();
  }

  // -- asking the worker --
  async function compute() {
    keepAddress();
    sameSentence();
    listWords();
    if (!engine) return choose(byId("model").value);
    const mine = ++turn;
    const [text, pair] = asked();
    if (!text.trim()) return say("Type a sentence: an empty one has nothing to look at.");
    try {
      const run = await engine.run(text, pair, { off, vectors: true });
      if (mine !== turn) return;
      show(run);
      say(run.cut ? `The model reads ${run.n} wordpieces at most; the rest was cut.` : "");
      await play(mine, run);
    } catch (error) {
      if (mine === turn) say(`${error.message ?? error} The picture still shows the last text.`);
    }
  }
  // What the model has no head for it says itself, where the answer would stand.
  async function play(mine, run) {
    const [text, pair] = asked(), sides = off.length ? [["All heads", []], [`Without ${off.map(label).join(", ")}`, off]] : [["", []]];
    const refused = (place) => ({ message }) => mine === turn && byId(place).replaceChildren(make("p", message));
    await guess(mine, text, pair, sides).catch(refused("guesses"));
    await follow(mine, run, text, pair, sides).catch(refused("next"));
  }
  async function guess(mine, text, pair, sides) {
    const lists = [];
    if (masked >= 0) {
      const [a, b] = withMask([text, pair]);
      for (const [title, without] of sides) {
        const one = await engine.run(a, b, { off: without });
        const at = placeOfMask(one);
        if (at < 0) return byId("guesses").replaceChildren(make("p", "This word was cut off: the model did not read it."));
        lists.push([title, await engine.guesses(one, at, 5)]);
      }
    }
    if (mine === turn) drawGuesses(lists);
  }
  async function follow(mine, run, text, pair, sides) {
    const next = [];
    if (pair) for (const [title, without] of sides) next.push([title, await engine.next_sentence(without.length === off.length ? run : await engine.run(text, pair, { off: without }))]);
    if (mine === turn) drawNext(next);
  }
  // Where the mask that was put stands: others may have been typed before it.
  function placeOfMask({ tokens }) {
    const [text, pair] = asked();
    const before = [...wordsOf(text), ...wordsOf(pair ?? "")].slice(0, masked).filter(({ word }) => word === "[MASK]").length;
    return tokens.map((token, i) => (token === "[MASK]" ? i : -1)).filter((i) => i >= 0)[before] ?? -1;
  }
  const percent = (p) => (p > 0 && p < 0.005 ? "under 1 %" : p >= 0.995 ? "over 99 %" : `${Math.round(100 * p)} %`);
  function drawGuesses(lists) {
    const true_ = masked < 0 ? "" : [...wordsOf(both()[0]), ...wordsOf(both()[1])][masked]?.word.toLowerCase();
    const columns = make("div", "", "pairs");
    for (const [title, guesses] of lists) {
      const column = make("div", "");
      if (title) column.append(make("h3", title));
      for (const { token, p } of guesses) {
        const row = make("div", "", token === true_ ? "guess true" : "guess");
        const bar = make("span", "", "bar");
        bar.style.width = `${100 * p}%`;
        row.append(make("span", token === true_ ? `${token} ✓` : token), bar, make("span", percent(p)));
        column.append(row);
      }
      columns.append(column);
    }
    byId("guesses").replaceChildren(...(lists.length ? [columns] : []));
  }
  function drawNext(next) {
    const said = next.map(([title, p]) => `${title ? `${title}: ` : ""}${percent(p)}`).join("; ");
    byId("next").replaceChildren(...(next.length ? [make("p", `Does the second sentence follow the first? ${said}.`)] : []));
  }
  function listWords() {
    const [text, pair] = asked();
    const words = [...wordsOf(text), ...wordsOf(pair ?? "")].slice(0, 60);
    if (masked >= words.length) masked = -1;
    byId("words").replaceChildren(
      ...words.map(({ word }, i) => {
        const button = make("button", word);
        Object.assign(button, { type: "button", dir: "auto" });
        button.setAttribute("aria-pressed", String(i === masked));
        button.addEventListener("click", () => {
          masked = masked === i ? -1 : i;
          compute();
          byId("words").children[i]?.focus();
        });
        return button;
      }),
    );
  }

  // -- heads switched off --
  const isOff = ([layer, head]) => off.some(([l, h]) => l === layer && h === head);
  const chosen = () => [map.get("layer"), map.get("head")];
  const shapeNow = () => (engine ? [engine.about.n_layers, engine.about.n_heads] : map.get("shape"));
  function markOff() {
    byId("switch").textContent = `Switch head ${label(chosen())} ${isOff(chosen()) ? "on again" : "off"}`;
    for (const cell of document.querySelectorAll("#bertlook-views .head_map .bl-cell")) cell.classList.toggle("off", isOff([Number(cell.dataset.layer), Number(cell.dataset.head)]));
    const all = make("button", "all on");
    all.type = "button";
    all.addEventListener("click", () => ((off = []), compute()));
    byId("offs").replaceChildren(...(off.length ? [make("span", `Off: ${off.map(label).join(", ")} `), all] : []));
  }

  // -- BERT-base beside it --
  function sameSentence() {
    const [text, pair] = both().map((one) => one.trim().toLowerCase());
    const at = texts.findIndex(([a, b]) => a.toLowerCase() === text && b.toLowerCase() === pair);
    if (at >= 0 || !ofFile.has(byId("example").value)) byId("example").value = String(at);
    if (at >= 0) recorded.set("sentence", at);
    byId("same").textContent = at >= 0 ? "The same sentence." : "Another sentence: BERT-base was recorded on those of its menu, and cannot read yours here.";
  }

  // -- the address --
  const names = (list) => list.map(label).join(",");
  const heads = (value) => (value ?? "").split(",").filter((one) => /^\d+-\d+$/.test(one)).map((one) => one.split("-").map((x) => Number(x) - 1));
  const inside = ([layer, head], [layers, heads] = shapeNow()) => layer >= 0 && head >= 0 && layer < layers && head < heads;
  let own = ""; // the address as it was written here
  function keepAddress() {
    const [text, pair] = asked();
    const state = new URLSearchParams({ text, head: label(wanted ?? chosen()), view: String(view.get("style_index")) });
    if (view.get("level_index")) state.set("of", "1");
    if (pair) state.set("pair", pair);
    if (engine && engine.about.name !== known[0].name) state.set("model", engine.about.name);
    if (off.length) state.set("off", names(off));
    if (masked >= 0) state.set("mask", String(masked + 1));
    for (const side of ["query", "key"]) if ((tokens[side] ?? view.get(side)) >= 0) state.set(side, String((tokens[side] ?? view.get(side)) + 1));
    if (map.get("measure") !== map.get("measures")[0]) state.set("map", map.get("measure"));
    own = `#${state}`;
    if (text.length < 2000) history.replaceState(null, "", own);
  }
  function readAddress(hash) {
    const state = new URLSearchParams(hash.slice(1));
    if (state.has("text")) byId("first").value = state.get("text");
    byId("second").value = state.get("pair") ?? "";
    [wanted = null] = heads(state.get("head")).filter((head) => inside(head));
    if (wanted && inside(wanted, map.get("shape"))) {
      map.set({ layer: wanted[0], head: wanted[1] });
      wanted = null;
    }
    view.set("level_index", state.get("of") === "1" ? 1 : 0);
    if (["0", "1", "2"].includes(state.get("view"))) view.set("style_index", Number(state.get("view")));
    if (map.get("measures").includes(state.get("map"))) map.set("measure", state.get("map"));
    off = heads(state.get("off")).filter((head) => inside(head));
    const place = (name) => (/^\d{1,3}$/.test(state.get(name) ?? "") ? Number(state.get(name)) - 1 : -1);
    masked = place("mask");
    tokens = { query: place("query"), key: place("key") };
    if (!asks(hash)) view.set(tokens);
  }

  // Whether an address wants more than the page was made with.
  function asks(hash) {
    const state = new URLSearchParams(hash.slice(1));
    return ["pair", "off", "mask", "model"].some((name) => state.has(name)) || (state.get("text") ?? byId("first").value) !== byId("first").defaultValue;
  }

  // -- which model --
  async function choose(name, then = () => (off = off.filter((head) => inside(head)))) {
    const told = known.find((one) => one.name === name) ?? known[0], mine = ++choice;
    try {
      if (engine?.about.name !== told.name) {
        const read = await globalThis.bertlookEngine.load(told, (line) => mine === choice && (byId("reading").innerHTML = line));
        if (mine !== choice) return;
        engine = read;
      }
      for (const badge of document.querySelectorAll(".badge.own")) badge.textContent = engine.about.title;
      then();
      await compute();
    } catch (error) {
      if (mine === choice) say(error.message ?? error);
    } finally {
      if (mine === choice) {
        byId("reading").textContent = "";
        byId("model").value = (engine?.about ?? known[0]).name;
      }
    }
  }

  // The views' modules run after this script: begin when they are there.
  addEventListener("DOMContentLoaded", async () => {
    [map, view, recorded, neurons] = globalThis.bertlookModels;
    byId("inside").append(byId("bertlook-views").lastElementChild);
    byId("recorded").append(byId("bertlook-views").lastElementChild);
    byId("bertlook-views").classList.remove("bertlook-two");
    byId("bertlook-views").removeAttribute("data-shows");
    const start = (hash) => {
      own = ""; // written again by what a reader chooses while the model is read
      if (!engine && !asks(hash)) return readAddress(hash);
      return choose(new URLSearchParams(hash.slice(1)).get("model"), () => readAddress(own || hash));
    };
    let waiting = 0;
    for (const name of ["first", "second"]) {
      byId(name).addEventListener("input", () => {
        clearTimeout(waiting);
        masked = -1;
        waiting = setTimeout(compute, 250);
      });
    }
    byId("ask").addEventListener("submit", (event) => (event.preventDefault(), compute()));
    byId("example").addEventListener("change", () => {
      const { value } = byId("example"); // a place among the recorded inputs, or a line of a file
      const [text, pair = ""] = ofFile.get(value) ?? texts[value] ?? both();
      [byId("first").value, byId("second").value, masked] = [text, pair, -1];
      compute();
    });
    byId("file").addEventListener("change", async () => {
      const [file] = byId("file").files;
      if (!file) return;
      const lines = (await file.slice(0, 1e6).text()).split(/\r?\n/).map((line) => line.trim()).filter(Boolean);
      if (!lines.length || lines[0].includes("\0")) return say(`${file.name} holds no lines of text; a text file with a sentence on each line is read.`);
      const own = make("optgroup", "");
      own.label = file.name;
      own.append(...lines.slice(0, 500).map((line, i) => Object.assign(make("option", line.replace("\t", " / ")), { value: `line ${i}` })));
      ofFile = new Map(lines.map((line, i) => [`line ${i}`, line.split("\t")]));
      byId("example").querySelector("optgroup")?.remove();
      byId("example").append(own);
      say(lines.length > 500 ? `${file.name}: the first 500 of its lines are in the menu.` : "");
      byId("example").value = "line 0";
      byId("example").dispatchEvent(new Event("change"));
    });
    byId("model").addEventListener("change", () => choose(byId("model").value));
    byId("switch").addEventListener("click", () => {
      off = isOff(chosen()) ? off.filter(([l, h]) => label([l, h]) !== label(chosen())) : [...off, chosen()];
      compute();
    });
    for (const model of [map, view]) for (const trait of ["layer", "head", "style_index", "level_index", "measure", "query", "key"]) model.on(`change:${trait}`, () => (keepAddress(), markOff()));
    addEventListener("hashchange", () => location.hash !== own && start(location.hash));
    const hash = location.hash; // what is chosen below is written into it
    readAddress(hash);
    listWords();
    markOff();
    sameSentence();
    await start(hash);
    document.body.dataset.ready = "yes";
  });
})();
