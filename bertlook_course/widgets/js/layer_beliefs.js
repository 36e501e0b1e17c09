// What each layer believes of one question: the sentence with its spans, a row a label, a cell a layer.
// The sentence below is that of bertlook_course/render/results/layers.py; a test holds the two together.

function createBeliefs(host, get, emit) {
  const root = element("div", "bertlook bertlook-beliefs");
  const bar = element("div", "bl-belief-bar");
  const label = element("label", "bl-by");
  const select = element("select", "bl-select", { "data-lm-suppress-shortcuts": "true", "aria-label": "which sentence" });
  const place = element("span", "bl-belief-place");
  const stage = element("div", "bl-belief-stage", { role: "application", tabindex: "0", "data-lm-suppress-shortcuts": "true" });
  const words = element("div", "bl-belief-words");
  const scroller = element("div", "bl-belief-scroller");
  const table = element("table", "bl-belief-table");
  const caption = element("p", "bl-caption bl-near", { "aria-live": "polite" });
  label.append("sentence ", select);
  bar.append(label, place);
  scroller.append(table);
  stage.append(words, scroller);
  root.append(bar, stage, caption);
  host.append(root);
  let listed = null;

  const current = () => get("cases")[get("sentence")];
  const question = () => current().targets[get("target")];
  const within = (span, at) => span && span[0] <= at && at < span[1];

  function sentence() {
    const about = question();
    const { labels, beliefs, gold } = about;
    const last = beliefs[0].length - 1;
    const text = (span) => quoted(current().words.slice(span[0], span[1]).join(" "), false);
    const name = [about.span1, about.span2].filter(Boolean).map(text).join(" and ") + (gold ? ` (treebank: ${gold})` : "");
    if (labels.length === 1)
      return `${name}: belief in “${labels[0]}” goes from ${percent(beliefs[0][0])} with the embeddings to ${percent(beliefs[0][last])} with layer ${last}.`;
    const leader = (layer) => labels.reduce((best, _, i) => (beliefs[i][layer] > beliefs[best][layer] ? i : best), 0);
    const leaders = beliefs[0].map((_, layer) => leader(layer));
    const final = leaders[last];
    let start = last;
    while (start > 0 && leaders[start - 1] === final) start -= 1;
    const end = percent(beliefs[final][last]);
    const since = start === last ? `only with layer ${last}` : `from layer ${start} on`;
    const story = start === 0
      ? `${labels[final]} leads at every depth, ${percent(beliefs[final][0])} with the embeddings, ${end} with layer ${last}.`
      : `the embeddings lean to ${labels[leaders[0]]} (${percent(beliefs[leaders[0]][0])}); ${since} ${labels[final]} leads, ${end}${start === last ? "" : ` with layer ${last}`}.`;
    return `${name}: ${story}`;
  }

  function paintWords() {
    const about = question();
    words.replaceChildren(
      ...current().words.flatMap((word, at) => {
        const node = element("span", "bl-belief-word", { "data-word": at, dir: "auto" });
        node.textContent = visibleToken(word);
        if (within(about.span1, at)) node.classList.add("bl-span-one");
        if (within(about.span2, at)) node.classList.add("bl-span-two");
        return [node, " "];
      }),
    );
  }

  function paintTable() {
    const { labels, beliefs, gold } = question();
    const row = (cells) => {
      const line = element("tr");
      line.append(...cells);
      return line;
    };
    const cell = (tag, words, attributes = {}) => {
      const node = element(tag, "", attributes);
      node.textContent = words;
      return node;
    };
    const head = [cell("th", "layer", { scope: "col" }), ...beliefs[0].map((_, l) => cell("th", String(l), { scope: "col" }))];
    table.replaceChildren(
      row(head),
      ...labels.map((name, i) => {
        const title = cell("th", name === gold ? `${name} ✓` : name, { scope: "row" });
        if (name === gold) title.title = "the treebank's label";
        const shares = beliefs[i].map((share) => {
          const node = cell("td", String(Math.floor(share * 100 + 0.5)));
          const step = magnitudeStep(share);
          node.style.background = PALETTE.magnitude[step];
          node.style.color = PALETTE.onMagnitude[step];
          return node;
        });
        return row([title, ...shares]);
      }),
    );
  }

  function update() {
    setType(root, get("font_size"));
    const cases = get("cases");
    if (listed !== cases) {
      listed = cases;
      select.replaceChildren(
        ...cases.map((one, i) => {
          const option = element("option");
          const all = one.words.map(visibleToken).join(" ");
          option.value = String(i);
          option.textContent = `${i + 1}: ${all.length > 30 ? `${all.slice(0, 29).trimEnd()} …` : all}`;
          return option;
        }),
      );
      label.hidden = cases.length < 2;
    }
    select.value = String(get("sentence"));
    place.textContent = `question ${get("target") + 1} of ${current().targets.length}`;
    paintWords();
    paintTable();
    setSentence(caption, sentence());
    stage.setAttribute("aria-label", `Beliefs by layer. Left and Right choose the question, Up and Down the sentence. ${sentence()}`);
  }

  // -- pointer and keys --

  function choose(number, target) {
    const at = Math.max(0, Math.min(get("cases").length - 1, number));
    const limit = get("cases")[at].targets.length - 1;
    const next = Math.max(0, Math.min(limit, target));
    if (at === get("sentence")) {
      if (next !== get("target")) emit({ target: next });
    } else emit({ target: 0, sentence: at });
  }

  function onKey(event) {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const [number, target] = [get("sentence"), get("target")];
    const moves = {
      ArrowLeft: [number, target - 1], ArrowRight: [number, target + 1], ArrowUp: [number - 1, 0], ArrowDown: [number + 1, 0],
      Home: [number, 0], End: [number, Infinity],
    };
    if (!(event.key in moves)) return;
    keep(event);
    const [to, next] = moves[event.key];
    choose(to, next);
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
  stage.addEventListener("keydown", onKey);
  words.addEventListener("click", onClick);
  select.addEventListener("keydown", (event) => event.stopPropagation());
  select.addEventListener("change", () => choose(Number(select.value), 0));

  return {
    update,
    destroy() {
      root.remove();
    },
  };
}

export default {
  render: (context) => mount(context, ["cases", "sentence", "target", "font_size"], createBeliefs),
};
