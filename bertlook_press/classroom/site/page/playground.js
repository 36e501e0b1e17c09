// The playground: what is typed goes to the worker that holds the specimen, what comes back goes to the views of the page.
(() => {
  const byId = (name) => document.getElementById(name);
  const texts = JSON.parse(byId("recorded-texts").textContent);
  const say = (words) => (byId("said").textContent = words);
  const make = (tag, words, name = "") => Object.assign(document.createElement(tag), { textContent: words, className: name });
  const label = ([layer, head]) => `${layer + 1}-${head + 1}`;
  let map, view, recorded, neurons, engine; // models of the views; the worker
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
    const { mapTraits, viewTraits, neuronTraits } = globalThis.bertlookSpecimenViews, shape = map.get("shape");
    const all = [[map, mapTraits(run, map.get("measures"), shape)], [view, viewTraits(run, shape)], [neurons, neuronTraits(run, shape)]];
    for (const [model, traits] of all) {
      for (const [name, value] of Object.entries(traits)) model.set(name, value);
    }
    markOff();
  }

  // -- asking the worker --
  async function compute() {
    keepAddress();
    sameSentence();
    listWords();
    if (!engine) return;
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
  async function play(mine, run) {
    const [text, pair] = asked();
    const sides = off.length ? [["All heads", []], [`Without ${off.map(label).join(", ")}`, off]] : [["", []]];
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
    const next = [];
    if (pair) for (const [title, without] of sides) next.push([title, await engine.next_sentence(without.length === off.length ? run : await engine.run(text, pair, { off: without }))]);
    if (mine !== turn) return;
    drawGuesses(lists);
    drawNext(next);
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
        Object.assign(button, { type: "button", disabled: !engine, dir: "auto" });
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
  function markOff() {
    byId("switch").disabled = !engine;
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
    byId("example").value = String(at);
    if (at >= 0) recorded.set("sentence", at);
    byId("same").textContent = at >= 0 ? "The same sentence." : "Another sentence: BERT-base was recorded on those of its menu, and cannot read yours here.";
  }

  // -- the address --
  const names = (list) => list.map(label).join(",");
  const heads = (value) => (value ?? "").split(",").filter((one) => /^\d+-\d+$/.test(one)).map((one) => one.split("-").map((x) => Number(x) - 1));
  const inside = ([layer, head]) => layer >= 0 && head >= 0 && layer < map.get("shape")[0] && head < map.get("shape")[1];
  let own = ""; // the address as it was written here
  function keepAddress() {
    const [text, pair] = asked();
    const state = new URLSearchParams({ text, head: label(chosen()), view: String(view.get("style_index")) });
    if (pair) state.set("pair", pair);
    if (off.length) state.set("off", names(off));
    if (masked >= 0) state.set("mask", String(masked + 1));
    if (map.get("measure") !== map.get("measures")[0]) state.set("map", map.get("measure"));
    own = `#${state}`;
    if (text.length < 2000) history.replaceState(null, "", own);
  }
  function readAddress() {
    const state = new URLSearchParams(location.hash.slice(1));
    if (state.has("text")) byId("first").value = state.get("text");
    byId("second").value = state.get("pair") ?? "";
    const [head] = heads(state.get("head")).filter(inside);
    if (head) {
      map.set("layer", head[0]);
      map.set("head", head[1]);
    }
    if (["0", "1", "2"].includes(state.get("view"))) view.set("style_index", Number(state.get("view")));
    if (map.get("measures").includes(state.get("map"))) map.set("measure", state.get("map"));
    off = heads(state.get("off")).filter(inside);
    masked = /^\d{1,3}$/.test(state.get("mask") ?? "") ? Number(state.get("mask")) - 1 : -1;
  }

  // The views' modules run after this script: begin when they are there.
  addEventListener("DOMContentLoaded", async () => {
    [map, view, recorded, neurons] = globalThis.bertlookModels;
    byId("inside").append(byId("bertlook-views").lastElementChild);
    byId("recorded").append(byId("bertlook-views").lastElementChild);
    byId("bertlook-views").classList.remove("bertlook-two");
    byId("bertlook-views").removeAttribute("data-shows");
    const start = () => (readAddress(), compute());
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
      const [text, pair] = texts[byId("example").value] ?? both();
      [byId("first").value, byId("second").value, masked] = [text, pair, -1];
      compute();
    });
    byId("switch").addEventListener("click", () => {
      off = isOff(chosen()) ? off.filter(([l, h]) => label([l, h]) !== label(chosen())) : [...off, chosen()];
      compute();
    });
    for (const model of [map, view]) for (const trait of ["layer", "head", "style_index", "measure"]) model.on(`change:${trait}`, () => (keepAddress(), markOff()));
    addEventListener("hashchange", () => location.hash !== own && start());
    readAddress();
    listWords();
    markOff();
    sameSentence();
    if (!globalThis.bertlookSpecimenData) return say("The weights of the specimen, specimen.js, are not beside this page, so it shows this one sentence.");
    say("The specimen is being read …");
    try {
      engine = await globalThis.bertlookSpecimen.worker(Uint8Array.from(atob(globalThis.bertlookSpecimenData), (letter) => letter.charCodeAt(0)).buffer);
    } catch (error) {
      return say(`The specimen could not be read: ${error.message ?? error}`);
    }
    await compute();
    document.body.dataset.ready = "yes";
  });
})();
