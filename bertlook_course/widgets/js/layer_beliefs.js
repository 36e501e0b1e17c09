// What each layer believes of one question: the sentence with its spans, a row a label, a cell a layer.

function createBeliefs(host, get, emit) {
  const root = element("div", "bertlook bertlook-beliefs");
  const menu = menuNamed("sentence", (value) => choose(value, 0));
  const place = element("span", "bl-belief-place");
  const words = element("div", "bl-belief-words");
  const table = element("table", "bl-belief-table");
  const scroller = element("div", "bl-belief-scroller", {}, table);
  const stage = control("div", "bl-belief-stage", { role: "application", tabindex: "0" }, words, scroller);
  const caption = element("p", "bl-caption bl-near", { "aria-live": "polite" });
  menu.select.setAttribute("aria-label", "which sentence");
  root.append(element("div", "bl-belief-bar", {}, menu.box, place), stage, caption);
  host.append(root);

  const current = () => get("cases")[get("sentence")];
  const question = () => current().targets[get("target")];
  const within = (span, at) => span && span[0] <= at && at < span[1];

  function paintWords() {
    const about = question();
    words.replaceChildren(
      ...current().words.flatMap((word, at) => {
        const node = element("span", "bl-belief-word", { "data-word": at, dir: "auto" }, visibleToken(word));
        if (within(about.span1, at)) node.classList.add("bl-span-one");
        if (within(about.span2, at)) node.classList.add("bl-span-two");
        return [node, " "];
      }),
    );
  }

  function paintTable() {
    const { labels, beliefs, gold } = question();
    const cell = (share) => {
      const node = element("td", "", {}, String(Math.floor(share * 100 + 0.5)));
      const step = magnitudeStep(share);
      node.style.background = PALETTE.magnitude[step];
      node.style.color = PALETTE.onMagnitude[step];
      return node;
    };
    const name = (label) => element("th", "", { scope: "row", ...(label === gold ? { title: "the treebank's label" } : {}) }, label === gold ? `${label} ✓` : label);
    const rows = labels.map((label, i) => element("tr", "", {}, name(label), ...beliefs[i].map(cell)));
    table.replaceChildren(tableRow(["layer", ...beliefs[0].keys()], true), ...rows);
  }

  function update() {
    setType(root, get("font_size"));
    const cases = get("cases");
    const titles = cases.map(({ words }, i) => {
      const all = words.map(visibleToken).join(" ");
      return [i, `${i + 1}: ${all.length > 30 ? `${all.slice(0, 29).trimEnd()} …` : all}`];
    });
    menu.fill(titles, get("sentence"));
    menu.box.hidden = cases.length < 2;
    place.textContent = `question ${get("target") + 1} of ${current().targets.length}`;
    paintWords();
    paintTable();
    setSentence(caption, question().said);
    stage.setAttribute("aria-label", `Beliefs by layer. Left and Right choose the question, Up and Down the sentence. ${question().said}`);
  }

  // -- pointer and keys --

  // What changes on the way to another question; in another sentence its first one is shown.
  function changesTo(number, target) {
    const at = Math.max(0, Math.min(get("cases").length - 1, number));
    if (at !== get("sentence")) return { target: 0, sentence: at };
    const next = Math.max(0, Math.min(get("cases")[at].targets.length - 1, target));
    return next === get("target") ? {} : { target: next };
  }
  function choose(number, target) {
    const changes = changesTo(number, target);
    if ("target" in changes) emit(changes);
  }

  function onKey(key) {
    const [number, target] = [get("sentence"), get("target")];
    const moves = {
      ArrowLeft: [number, target - 1], ArrowRight: [number, target + 1], ArrowUp: [number - 1, 0], ArrowDown: [number + 1, 0],
      Home: [number, 0], End: [number, Infinity],
    };
    return key in moves ? changesTo(...moves[key]) : null;
  }

  function onClick(event) {
    const node = event.target.closest(".bl-belief-word");
    if (!node) return;
    const at = Number(node.dataset.word);
    const { targets } = current();
    const n = targets.length;
    // The next question whose first span holds the word, or, if there is none, whose second does.
    for (const name of ["span1", "span2"])
      for (let step = 1; step <= n; step++) {
        const next = (get("target") + step) % n;
        if (within(targets[next][name], at)) return choose(get("sentence"), next);
      }
  }
  onKeys(stage, emit, onKey);
  words.addEventListener("click", onClick);

  return hosted(root, update, [], () => {});
}

export default { render: (context) => mount(context, createBeliefs) };
