// One run of a model as the traits of the views, as Python would have set them: HeadMap and HeadView ask for nothing else.
// A classic script: playground and exported decks stand it before their own, and `engine_source` stands the words that Python says too
// before it (bertlookCaptions, from bertlook_course/syllabus/captions.py).
globalThis.bertlookTraits = (() => {
  "use strict";
  const SPECIAL = new Set(["[CLS]", "[SEP]"]);
  const worded = (name, parts = {}) => globalThis.bertlookCaptions[name].replace(/\{(\w+)\}/g, (_, part) => parts[part]); // as in views/js/core.js
  const round = (share) => Math.round(Math.min(1, Math.max(0, share)) * 65535);

  function groupsOf(words) {
    const groups = [];
    words.forEach((word, i) => {
      if (word >= 0 && i && words[i - 1] === word) groups[groups.length - 1].push(i);
      else groups.push([i]);
    });
    return groups;
  }

  function levels({ tokens, words, segments, spelt }) {
    const special = tokens.map((token, i) => words[i] < 0 && SPECIAL.has(token));
    const groups = groupsOf(words);
    const first = (list) => groups.map((group) => list[group[0]]);
    const whole = groups.map(([i]) => (words[i] < 0 ? tokens[i] : spelt[words[i]])); // a word stands as it was typed
    return {
      wordpiece: { tokens: [...tokens], special, segments: [...segments], groups: null },
      word: { tokens: whole, special: first(special), segments: first([...segments]), groups },
    };
  }

  // What one weight adds to a measure, by the rule of a MenuMeasure in bertlook_teach/views/head_map.py; a mean over the tokens in the end.
  const kindOf = (token, special) => (special ? (token === "[CLS]" ? "cls" : "sep") : token === "." || token === "," ? "punct" : "other");
  function ruleOf([rule, of], { tokens, special }) {
    if (rule === "entropy") return (share) => (share > 0 ? -share * Math.log(share) : 0);
    if (rule === "offset") return (share, i, j) => (j - i === of ? share : 0);
    const wanted = tokens.map((token, j) => kindOf(token, special[j]) === of);
    return (share, i, j) => (wanted[j] ? share : 0);
  }

  function measure(rule, run) {
    const { attention, n } = run, added = ruleOf(rule, run), values = new Float32Array(attention.length / (n * n));
    for (let at = 0; at < values.length; at++) {
      let sum = 0;
      for (let i = 0, k = at * n * n; i < n; i++) for (let j = 0; j < n; j++, k++) sum += added(attention[k], i, j);
      values[at] = sum / n;
    }
    return values;
  }

  // A measure without a rule does not depend on the text (numbers of a corpus, say) and stays as it is: `kept` is the map's model.
  function mapTraits(run, names, rules, [layers, heads], kept = null) {
    const size = layers * heads, numbers = new Float32Array(names.length * size), ranges = [];
    const before = kept?.get("data");
    names.forEach((name, k) => {
      if (rules[name]) {
        const values = measure(rules[name], run);
        numbers.set(values, k * size);
        const low = Math.min(0, ...values), high = Math.max(...values);
        ranges.push([low, high === low ? low + 1 : high]); // as value_range of bertlook_teach has it
      } else {
        for (let i = 0; i < size; i++) numbers[k * size + i] = before.getFloat32(4 * (k * size + i), true);
        ranges.push(kept.get("ranges")[k]);
      }
    });
    return { data: new DataView(numbers.buffer), ranges };
  }

  function viewTraits(run, [layers, heads]) {
    return {
      query: -1,
      key: -1,
      texts: levels(run),
      shape: [layers, heads, run.n],
      bits: 16,
      packing: "plain",
      data: new DataView(Uint16Array.from(run.attention, round).buffer),
      ...(run.norms ? { norms: new DataView(run.norms.buffer) } : {}),
    };
  }

  // Queries and keys of all heads as NeuronView packs them; `run` was asked for with vectors.
  function neuronTraits({ queries, keys, tokens, special, n }, [layers, heads]) {
    const block = queries.length / (layers * heads), data = new Int16Array(2 * queries.length), scales = [];
    for (let at = 0; at < layers * heads; at++) {
      scales.push([queries, keys].map((all, side) => {
        const part = all.subarray(at * block, (at + 1) * block);
        const scale = part.reduce((most, x) => Math.max(most, Math.abs(x)), 0) || 1;
        part.forEach((x, i) => (data[side * queries.length + at * block + i] = Math.round((x / scale) * 32767)));
        return scale;
      }));
    }
    return {
      query: 0, key: -1,
      tokens: [...tokens], special: [...special],
      shape: [layers, heads, n, block / n],
      carried: Array.from({ length: layers }, (_, layer) => layer),
      scales,
      data: new DataView(data.buffer),
    };
  }

  // The lenses that need no gradient and no second pass, as analyses/anatomy/six_lenses.py has them; `kept` is the model of the view, `note` says what
  // of a typed text is left out.
  function lensTraits({ attention, norms, tokens, special, n }, note, kept) {
    const [layers, heads] = kept.get("shape"), size = n * n;
    const names = ["weight", "norm", "rollout"].filter((name) => kept.get("names").includes(name));
    const half = (rows) => rows.map((share, k) => 0.5 * share + (k % (n + 1) ? 0 : 0.5)); // the token itself is half of each mixture
    const product = (a, b) => {
      const out = new Float64Array(size);
      for (let i = 0; i < n; i++) for (let k = 0; k < n; k++) for (let j = 0; j < n; j++) out[i * n + j] += a[i * n + k] * b[k * n + j];
      return out;
    };
    const maps = { weight: attention, norm: attention.map((share, k) => share * norms[Math.floor(k / size) * n + (k % n)]), rollout: new Float64Array(attention.length) };
    let below = half(new Float64Array(size)).map((x) => 2 * x);
    for (let layer = 0; layer < layers; layer++) {
      const mean = new Float64Array(size);
      for (let at = layer * heads; at < (layer + 1) * heads; at++) {
        const own = Float64Array.from(attention.subarray(at * size, (at + 1) * size));
        own.forEach((share, k) => (mean[k] += share / heads));
        maps.rollout.set(product(half(own), below), at * size);
      }
      below = product(half(mean), below);
    }
    const data = new Uint16Array(names.length * attention.length), full = new Float32Array(names.length * layers * heads);
    names.forEach((name, lens) => {
      for (let at = 0; at < layers * heads; at++) {
        const map = maps[name].subarray(at * size, (at + 1) * size), most = name === "norm" ? map.reduce((a, b) => Math.max(a, b)) : 1;
        full[lens * layers * heads + at] = most;
        map.forEach((x, k) => (data[lens * attention.length + at * size + k] = round(most && x / most)));
      }
    });
    const of = (trait) => names.map((name) => kept.get(trait)[kept.get("names").indexOf(name)]);
    return {
      names, titles: of("titles"),
      sentences: of("sentences").map((sentence) => (sentence.endsWith(note) ? sentence : `${sentence} ${note}`)),
      lens: Math.min(kept.get("lens"), names.length - 1),
      query: Math.max(0, [...special].indexOf(false)),
      shape: [layers, heads, n], bits: 16, packing: "plain",
      text: { tokens: [...tokens], special: [...special] },
      data: new DataView(data.buffer), full: new DataView(full.buffer),
    };
  }

  // ---- heads off: what widgets/panels/ablation_bench.py makes of a masked word and of a batch ----
  const WAYS = { zero: ["zero", "zeros"], uniform: ["uniform", "uniforms"] }; // captions: of one head, of several
  const NAMED = 4, TOP = 5; // more heads than this are counted, not named; guesses
  const percent = (p) => (p > 0 && p < 0.005 ? "under 1 %" : p >= 0.995 && p < 0.9999 ? "over 99 %" : `${Math.floor(100 * p + 0.5)} %`);
  const short = (p) => percent(p).replace("under ", "<").replace("over ", ">");
  const quoted = (token) => (SPECIAL.has(token) || token === "[MASK]" || token === "[UNK]" ? token : `“${token}”`);
  const joined = (names) => [names.slice(0, -1).join(", "), names[names.length - 1]].filter(Boolean).join(" and ");
  const capital = (words) => words.charAt(0).toUpperCase() + words.slice(1);

  function describeOff(off, [layers, heads]) {
    const all = layers * heads, rows = [...new Set(off.map(([layer]) => layer))];
    if (!off.length) return worded("all on");
    if (off.length === all) return worded("all off", { count: all });
    if (off.length === rows.length * heads && rows.length <= NAMED) {
      return worded(rows.length > 1 ? "layers off" : "layer off", { names: joined(rows.map((row) => `${row + 1}`)) });
    }
    if (off.length > NAMED) return worded("many off", { count: off.length, all });
    return worded(off.length > 1 ? "heads off" : "head off", { names: joined(off.map(([layer, head]) => `${layer + 1}-${head + 1}`)) });
  }

  // The place of the token to guess, and whether it was typed as [MASK].
  function maskedAt({ tokens, words, special }, wanted) {
    const typed = tokens.flatMap((token, i) => (token === "[MASK]" && !special[i] ? [i] : []));
    if (typed.length > 1) throw new Error(capital(worded("several masks", { count: typed.length, mask: "[MASK]" })));
    if (typed.length && wanted >= 0 && wanted !== typed[0]) throw new Error(capital(worded("mask typed", { mask: "[MASK]", place: typed[0] })));
    if (typed.length) return [typed[0], true];
    if (wanted >= 0) return [wanted, false];
    const pieces = tokens.flatMap((_, i) => (special[i] ? [] : [i]));
    const whole = pieces.filter((i) => words.filter((word) => word === words[i]).length === 1 && /^\p{L}+$/u.test(tokens[i]));
    return [(whole.length ? whole : pieces).at(-1), false];
  }

  async function readMasked(model, text, wanted) {
    const read = await model.tokenize(text);
    if (read.cut) throw new Error(`The model reads ${read.tokens.length} wordpieces at most, and this sentence has more.`);
    const [at, typed] = maskedAt(read, wanted);
    return { at, typed, truth: typed ? null : read.tokens[at], shown: { tokens: read.tokens, special: read.special, masked: at, mask: "[MASK]" } };
  }

  // The masked word as widgets/panels/masked_word.py has it: traits of its view, and `placed`, which says how likely the model finds a piece.
  async function hiddenTraits(model, text, wanted) {
    const { at, truth, shown } = await readMasked(model, text, wanted), run = await model.run(text, null, { mask: at });
    const all = await model.guesses(run, at, Infinity), places = new Map(all.map(({ token, p }, i) => [token, [token, p, i + 1]]));
    const guesses = all.slice(0, TOP).map(({ token, p }) => [token, p]), nothing = { answer: "", reply: [], message: "", shown: false };
    return { placed: (piece) => places.get(piece), traits: { text: shown, guesses, truth: truth === null ? [] : places.get(truth), count: all.length, ...nothing } };
  }

  // Losses of each text before and after as bench_result and stats/bootstrap.py say them: means, and the change with its interval, whole texts
  // drawn as `draws` has it (a string of digits a resample, one for each text).
  function lossLine(before, after, { draws, widening }) {
    const sum = (list) => list.reduce((a, b) => a + b, 0), mean = (lists) => sum(lists.flat()) / lists.flat().length;
    const counts = before.map((one) => one.length), sums = before.map((one, i) => sum(after[i]) - sum(one));
    const weighted = (weights, list) => sum(list.map((x, i) => weights[i] * x));
    const change = sum(sums) / sum(counts), influence = sums.map((x, i) => x - change * counts[i]), spread = sum(influence.map((x) => x * x)) ** 1.5;
    const bend = Math.min(0.25, Math.max(-0.25, spread > 1e-30 ? sum(influence.map((x) => x ** 3)) / (6 * spread) : 0));
    const drawn = draws.map((row) => [...row].map(Number)).filter((row) => weighted(row, counts)).map((row) => weighted(row, sums) / weighted(row, counts));
    drawn.sort((a, b) => a - b);
    const end = (side) => {
      const place = globalThis.bertlookEngine.shareBelow(side / (1 - bend * side)) * (drawn.length - 1), at = Math.min(Math.floor(place), drawn.length - 2);
      return change + (widening ?? NaN) * (1 + Math.abs(bend)) * (drawn[at] + (place - at) * (drawn[at + 1] - drawn[at]) - change);
    };
    const signed = (x) => (Number(x.toFixed(2)) === 0 ? "0.00" : `${x < 0 ? "" : "+"}${x.toFixed(2)}`.replace("-", "−").replace("NaN", "nan"));
    const [low, high] = sums.some((x) => x) ? [end(-1.959963984540054), end(1.959963984540054)] : [0, 0], n = counts.length;
    const means = { before: mean(before).toFixed(2), after: mean(after).toFixed(2) };
    const said = worded("before and after", { ...means, change: signed(change), low: signed(low), high: signed(high) });
    return worded(n > 1 ? "loss" : "loss of a text", { change: said, pieces: sum(counts), count: n });
  }

  // What the loss rises by, in nats: the mean over all pieces.
  function lossCost(before, after) {
    const all = before.flat();
    return after.flat().reduce((sum, loss, i) => sum + loss - all[i], 0) / all.length;
  }

  // `model` answers as the worker of engine.js does; `which`: its number in the menu; `scores`: what is said of the batch.
  async function benchTraits(model, text, { off, how, which, whose, wanted, shape, scores }) {
    const { at, typed, truth, shown } = await readMasked(model, text, wanted);
    const sides = [];
    for (const without of off.length ? [[], off] : [[]]) {
      const run = await model.run(text, null, { off: without, how, mask: at });
      sides.push({ guesses: await model.guesses(run, at, TOP), truth: truth === null ? null : await model.probability(run, at, truth) });
    }
    const [before, after] = [sides[0], sides[sides.length - 1]], listed = ({ guesses }) => guesses.map(({ token, p }) => [token, p, short(p)]);
    const [first, now] = [before.guesses[0], after.guesses[0]], likeliest = { first: quoted(first.token), now: quoted(now.token) };
    const heads = { model: whose.replace(/^specimen/, "Specimen"), off: describeOff(off, shape) };
    const said = [
      off.length ? worded("off so", { ...heads, way: worded(WAYS[how][off.length > 1 ? 1 : 0]) }) : worded("off", heads),
      typed
        ? worded("first and now", { ...likeliest, share: percent(first.p), share_now: percent(now.p) })
        : worded("right and now", { ...likeliest, truth: quoted(truth), share: percent(before.truth), share_now: percent(after.truth) }),
    ];
    if (off.length === shape[0] * shape[1]) said.push(worded("control"));
    return {
      text: shown,
      result: {
        before: listed(before), after: listed(after), truth, title: worded(off.length ? "guesses now" : "guesses alike"), scores,
        sentence: said.join(" "),
        off, how, model: which, masked: at,
      },
    };
  }

  return { mapTraits, viewTraits, neuronTraits, lensTraits, benchTraits, lossLine, lossCost, hiddenTraits, capital, percent, worded };
})();
