// What a reader types or clicks, answered by a shipped model in the page in Python's place. A classic script, for exported decks and for
// Jupyter. `host` is the page that asks: `modelOf(id)` a model with get, set and on; `weights(given)` what is known of the model's file, or a Promise of it;
// `mine(model)` whether the page is to answer now, and `alone(model)` whether nobody else will: always, where there is no kernel.
globalThis.bertlookPageAnswers = (host) => {
  "use strict";
  const { modelOf, weights, mine, alone } = host;
  let telling = 0; // what changes now was said by the page, and not by Python
  const panels = new Map(), held = new Map(); // by model: those of its panel, and of what the page said over it what Python had said

  // In Jupyter as if Python had sent it: set() alone would send it all to the kernel with the reader's next click.
  function tell(model, traits) {
    if (!model) return;
    telling += 1;
    try {
      if (!model.set_state) return model.set(traits);
      const before = Object.fromEntries(Object.keys(traits).map((name) => [name, model.get(name)]));
      held.set(model, { ...before, ...held.get(model) });
      model.set_state(traits);
    } finally {
      telling -= 1;
    }
  }

  // Python sends what has changed for it. So where it answers, what the page has said in its place is taken back first, in the whole panel.
  function listen(model, names, heard) {
    if (!model?.set_state) return;
    const take = model.set_state;
    model.set_state = (state) => {
      if (telling || !names.some((name) => name in state)) return take.call(model, state);
      heard();
      const back = new Map(panels.get(model).map((one) => [one, held.get(one)]));
      for (const one of back.keys()) held.delete(one);
      for (const [one, traits] of back) if (traits && one !== model) one.set_state(traits);
      return take.call(model, { ...back.get(model), ...state });
    };
    model.on("change", () => {
      if (!telling) for (const name of Object.keys(model.changed ?? {})) delete held.get(model)?.[name]; // the reader's choice, or Python's
    });
  }

  // What a reader changes is asked of the model: `ask` gives what shows the answer, `refuse` shows an error. Late answers are dropped, also
  // where Python answered in the meantime: `heard` names the traits that it sends then. `ask` is told whether its own still counts.
  function answering(text, heard, ask, refuse) {
    let turn = 0;
    for (const [model, ...names] of heard) listen(model, names, () => (turn += 1));
    return async () => {
      if (!mine(text)) return;
      const own = (turn += 1);
      try {
        const show = await ask(() => own === turn);
        if (own === turn) show();
      } catch (error) {
        if (own === turn && alone(text)) refuse(String(error.message ?? error));
      }
      if (own === turn) globalThis.bertlookAnswers = (globalThis.bertlookAnswers ?? 0) + 1; // tests wait for it
    };
  }

  // A line of text as the markup that Python would have set; every sign of it is text.
  function lined(words, attributes) {
    const escaped = words.replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`);
    return `<div ${attributes} dir="auto">${escaped}</div>`;
  }

  // What is said beside a line; an empty text takes no room.
  const speak = (place, words) => tell(place, { value: words ? lined(words, 'role="alert"') : "" });
  const refused = (error) => `${error} The picture still shows the last text.`;
  const pairOf = (pair) => (pair?.get("value").trim() ? pair.get("value") : null);

  function answer(given) {
    const { norms, most, note, places, rules } = given;
    const { text, pair, message, map, view, neurons, lenses, bench, hidden, pattern, wrong, said } = Object.fromEntries(Object.entries(places).map(([name, id]) => [name, modelOf(id)]));
    const say = (words) => speak(message, words), panel = [...new Set([map, view, neurons, lenses, bench, hidden, message, wrong, said])].filter(Boolean);
    for (const model of panel) panels.set(model, panel);
    // The model that the view speaks of, and no other; what its reading says stands beside the line until it is there. What was refused,
    // by Python perhaps in the meantime, is neither written over nor wiped out.
    const load = async () => {
      let spoken = false;
      const shows = (what) => (message?.get("value") ?? "").includes(what);
      const hear = (line) => shows('role="alert"') || ((spoken = true), tell(message, { value: `<div class="bertlook-reading">${line}</div>` }));
      return globalThis.bertlookEngine.load(await weights(given), hear).finally(() => spoken && shows("bertlook-reading") && say(""));
    };
    if (bench) return switchHeads({ ...given, load, text, bench });
    if (hidden) return hideWord({ load, text, hidden, message, say });
    if (pattern) return tryPattern({ ...given, load, text, pair, message, pattern, wrong, map, said });
    const read = answering(
      text,
      [[map, "data"], [view, "data"], [neurons, "data"], [lenses, "data"], [message, "value"]],
      async () => {
        const model = await load();
        const run = await model.run(text.get("value"), pairOf(pair), { norms: norms || Boolean(lenses), vectors: Boolean(neurons) });
        if (run.n > most) throw new Error(`The text is ${run.n} wordpieces long; the lenses are computed for at most ${most}.`);
        const shape = (map ?? neurons ?? lenses).get("shape"), { mapTraits, viewTraits, neuronTraits, lensTraits } = globalThis.bertlookTraits;
        return () => {
          if (map) tell(map, mapTraits(run, map.get("measures"), rules, shape, map));
          if (view) tell(view, viewTraits(run, shape));
          if (neurons) tell(neurons, neuronTraits(run, shape));
          if (lenses) tell(lenses, lensTraits(run, note, lenses));
          say(run.cut ? `The model reads ${run.n} wordpieces at most; the rest was cut.` : "");
        };
      },
      (error) => say(refused(error)),
    );
    for (const box of [text, pair]) box?.on("change:value", read);
  }

  // A pattern and a sentence, both typed: where each head is right, and what is said of it. An error stands beside the line that was changed.
  function tryPattern({ load, conditions, text, pair, message, pattern, wrong, map, said }) {
    const { capital, percent } = globalThis.bertlookTraits;
    let changed = message;
    const read = answering(
      text,
      [[map, "data"], [said, "value"], [message, "value"], [wrong, "value"]],
      async () => {
        const model = await load(), run = await model.run(text.get("value"), pairOf(pair));
        if (run.cut) throw new Error(`The model reads ${run.n} wordpieces at most, and this text has more.`);
        const { shares, sentence } = globalThis.bertlookPatterns.score(pattern.get("value"), run, conditions, percent);
        return () => {
          tell(map, { data: new DataView(shares.buffer) });
          tell(said, { value: lined(sentence, 'aria-live="polite"') });
          for (const place of [message, wrong]) speak(place, "");
        };
      },
      (error) => speak(changed, refused(capital(error))),
    );
    for (const [box, place] of [[text, message], [pair, message], [pattern, wrong]]) {
      box?.on("change:value", () => {
        changed = place;
        read();
      });
    }
  }

  // A masked word with heads off: its guesses at once, then the loss over the bench's batch. What else it scores stays Python's.
  function switchHeads({ load, batch, interval, twin, scores, text, bench }) {
    const { benchTraits, lossLine, lossCost, capital } = globalThis.bertlookTraits;
    let wanted = bench.get("text").masked; // the token to be masked; -1: the last word of a new sentence
    const asked = () => ({ off: bench.get("off"), how: bench.get("how"), shape: bench.get("shape"), which: bench.get("model_index") });
    const kept = new Map(); // losses of each text, by model and heads
    let random = null; // the twin, drawn when it is first asked for
    async function losses(model, { off, how, which }, wants) {
      const key = JSON.stringify([which, off, off.length && how]), found = [];
      if (kept.has(key)) return kept.get(key);
      for (const one of batch) {
        found.push(await model.losses(one, { off, how }));
        if (!wants()) return null; // another click waits for the worker
      }
      kept.set(key, found);
      return found;
    }
    const read = answering(
      text,
      [[bench, "result"]],
      async (wants) => {
        const now = asked();
        if (now.which && !twin) throw new Error(`${bench.get("models")[now.which]} is not in this page; it needs Python.`);
        const model = await load(), asks = now.which ? await (random ??= model.twin(twin)) : model;
        const traits = await benchTraits(asks, text.get("value"), { ...now, whose: bench.get("models")[now.which], wanted, scores: ["Masked-LM loss: computing …", ...scores] });
        if (wants()) tell(bench, traits);
        const before = await losses(asks, { ...now, off: [] }, wants), after = before && (await losses(asks, now, wants));
        return () => tell(bench, { result: { ...traits.result, scores: [lossLine(before, after, interval), ...scores], cost: lossCost(before, after) } });
      },
      (error) => {
        const { off, how, which } = asked(), place = { off, how, model: which, masked: bench.get("text").masked };
        tell(bench, { result: { ...bench.get("result"), message: capital(error), ...place } });
      },
    );
    bench.on("change:off change:how change:model_index", read);
    bench.on("change:text", () => telling || (wanted = bench.get("text").masked)); // Python's
    bench.on("change:chosen", (_, chosen) => {
      if (chosen < 0 || !mine(text)) return;
      wanted = chosen;
      tell(bench, { chosen: -1 });
      read();
    });
    text.on("change:value", () => {
      if (mine(text)) wanted = -1;
      read();
    });
  }

  // The masked word: one piece is hidden, a reader says which it was.
  function hideWord({ load, text, hidden, message, say }) {
    const { hiddenTraits, capital } = globalThis.bertlookTraits;
    let wanted = hidden.get("text").masked, found = null;
    const hide = async () => hiddenTraits(await load(), text.get("value"), wanted);
    const heard = [[hidden, "guesses", "reply", "message"], [message, "value"]];
    const answer = (refuse) =>
      answering(
        text,
        heard,
        async () => {
          const now = await hide();
          return () => {
            found = now;
            tell(hidden, now.traits);
            say("");
          };
        },
        refuse,
      );
    const read = answer((error) => say(refused(error)));
    const choose = answer((error) => {
      wanted = hidden.get("text").masked;
      tell(hidden, { message: capital(error) });
    });
    const reply = answering(
      text,
      heard,
      async () => {
        found ??= await hide();
        const said = await (await load()).tokenize(hidden.get("answer")).catch(() => null); // nothing in it is known
        const pieces = said?.tokens.filter((_, i) => !said.special[i]) ?? [];
        return () => tell(hidden, { message: "", reply: pieces.length === 1 ? found.placed(pieces[0]) : [pieces.length] });
      },
      (error) => tell(hidden, { message: capital(error) }),
    );
    hidden.on("change:answer", (_, said) => said.trim() && reply());
    hidden.on("change:text", () => {
      if (telling) return;
      [wanted, found] = [hidden.get("text").masked, null]; // Python's
    });
    hidden.on("change:chosen", (_, chosen) => {
      if (chosen < 0 || !mine(text)) return;
      wanted = chosen;
      tell(hidden, { chosen: -1 });
      choose();
    });
    text.on("change:value", () => {
      if (mine(text)) wanted = -1;
      read();
    });
  }

  return answer;
};
