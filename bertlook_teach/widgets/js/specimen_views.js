// One run of the specimen as the traits of the views, as Python would have set them: HeadMap and HeadView ask for nothing else.
// A classic script: playground and exported decks stand it before their own.
globalThis.bertlookSpecimenViews = (() => {
  "use strict";
  const SPECIAL = new Set(["[CLS]", "[SEP]"]);
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

  // What one weight adds to a measure, as bertlook_teach/measures/surface.py takes it; a mean over the tokens in the end.
  const MEASURES = {
    "to the previous token": (share, i, j) => (j === i - 1 ? share : 0),
    "to the next token": (share, i, j) => (j === i + 1 ? share : 0),
    "to itself": (share, i, j) => (j === i ? share : 0),
    "to [CLS]": (share, i, j, tokens) => (tokens[j] === "[CLS]" ? share : 0),
    "to [SEP]": (share, i, j, tokens) => (tokens[j] === "[SEP]" ? share : 0),
    "entropy (nats)": (share) => (share > 0 ? -share * Math.log(share) : 0),
  };

  function measure(name, { attention, tokens, n }) {
    const values = new Float32Array(attention.length / (n * n));
    for (let at = 0; at < values.length; at++) {
      let sum = 0;
      for (let i = 0, k = at * n * n; i < n; i++) for (let j = 0; j < n; j++, k++) sum += MEASURES[name](attention[k], i, j, tokens);
      values[at] = sum / n;
    }
    return values;
  }

  // Measures that do not depend on the text (numbers of a corpus, say) stay as they are: `kept` is the map's model.
  function mapTraits(run, names, [layers, heads], kept = null) {
    const size = layers * heads, numbers = new Float32Array(names.length * size), ranges = [];
    const before = kept?.get("data");
    names.forEach((name, k) => {
      if (MEASURES[name]) {
        const values = measure(name, run);
        numbers.set(values, k * size);
        ranges.push([Math.min(0, ...values), Math.max(...values)]);
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
      texts: levels(run),
      shape: [layers, heads, run.n],
      bits: 16,
      packing: "plain",
      data: new DataView(Uint16Array.from(run.attention, round).buffer),
      ...(run.norms ? { norms: new DataView(run.norms.buffer) } : {}),
    };
  }

  return { MEASURES, mapTraits, viewTraits };
})();
