// Patterns over one typed text, as bertlook_course/analyses/patterns has them: a line is read (never run), asked of every pair of words, and each head is
// told in how many cases it looks most at a key that the pattern allows. What only a treebank says is refused. A classic script, like engine.js.
// `conditions` comes from Python: name -> [sentence, what it takes, what it needs].
globalThis.bertlookPatterns = (() => {
  "use strict";
  const LONGEST = 2000, DEEPEST = 200, BRACKETS = 199, LISTED = 4;
  const { worded } = globalThis.bertlookTraits, TREEBANK = worded("a treebank"), PAIRS = worded("pairs of texts"), SEARCH = worded("takes search");

  // ---- reading a line ----
  const PARTS = /\s+|#.*|([A-Za-z_]\w*)|(\d+(?![\w.]))|("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|([&|~().,+-])/uy;
  const ESCAPES = { n: "\n", t: "\t", r: "\r", "\\": "\\", "'": "'", '"': '"' };

  function fail(why, column, text) {
    const said = worded("no expression", { why, column, text: `'${[...text].slice(0, 120).join("")}'` });
    const curly = /[“”„‘’«»]/u.test(text) ? [worded("straight")] : [];
    throw new Error([said, ...curly, worded("expected")].join(" "));
  }

  function partsOf(text) {
    const parts = [];
    PARTS.lastIndex = 0;
    while (PARTS.lastIndex < text.length) {
      const column = PARTS.lastIndex + 1, found = PARTS.exec(text);
      if (!found) fail("what stands there is not a part of a pattern", column, text);
      const [, name, number, quoted, sign] = found;
      if (name) parts.push({ kind: "name", value: name, column });
      if (number) {
        if (/^0\d*[1-9]/.test(number)) fail("a number begins with 0", column, text);
        parts.push({ kind: "value", value: Number(number), column });
      }
      if (sign) parts.push({ kind: sign, value: sign, column });
      if (quoted) {
        const value = quoted.slice(1, -1).replace(/\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|[^])/gu, (all, code) => {
          if (code.length > 1) return String.fromCodePoint(parseInt(code.slice(1), 16));
          return ESCAPES[code] ?? fail(`${all} stands for no letter here`, column, text);
        });
        parts.push({ kind: "value", value, column });
      }
    }
    return parts;
  }

  function parse(line, conditions) {
    if (!line.trim()) throw new Error(worded("empty"));
    const length = [...line].length;
    if (length > LONGEST) throw new Error(worded("too long", { most: LONGEST, count: length }));
    const text = line.split("\n").join(" ").trim(), parts = partsOf(text);
    let at = 0, open = 0;
    const kind = () => parts[at]?.kind, column = () => parts[at]?.column ?? text.length + 1;
    const wanted = (what) => (kind() === what ? parts[at++] : fail(`${what} was expected`, column(), text));
    const deeper = (node, ...inner) => {
      node.depth = 1 + Math.max(0, ...inner.map((one) => one.depth));
      if (node.depth > DEEPEST) throw new Error(worded("too deep", { most: DEEPEST }));
      return node;
    };

    function chain(sign, name, next) {
      let left = next();
      while (kind() === sign) {
        at += 1;
        const right = next();
        left = deeper({ kind: name, left, right }, left, right);
      }
      return left;
    }
    const either = () => chain("|", "either", both), both = () => chain("&", "both", one);

    function one() {
      let turned = 0;
      for (; kind() === "~"; at++) turned += 1;
      let node = kind() === "(" ? bracketed() : condition();
      for (; turned; turned--) node = deeper({ kind: "not", inner: node }, node);
      return node;
    }

    function bracketed() {
      const start = column();
      at += 1;
      if ((open += 1) > BRACKETS) throw new Error(worded("unreadable", { why: worded("brackets") }));
      const node = either();
      if (kind() !== ")") fail("'(' was never closed", start, text);
      at += 1;
      open -= 1;
      return node;
    }

    function condition() {
      const start = column(), side = parts[at], where = (part) => ({ where: worded("where", { part, column: start }) });
      if (["and", "or", "not"].includes(side?.value) && side.kind === "name") {
        throw new Error(worded("in words", where(side.value)));
      }
      if (side?.kind !== "name" || !["query", "key"].includes(side.value)) {
        if (!side) fail("a condition was expected", start, text);
        throw new Error(worded("no condition", where(side.value)));
      }
      at += 1;
      wanted(".");
      const { value: name } = wanted("name");
      if (kind() !== "(") throw new Error(worded("not asked", where(`${side.value}.${name}`)));
      at += 1;
      const given = [];
      while (kind() !== ")") {
        given.push(argument());
        if (kind() !== ")") wanted(",");
      }
      at += 1;
      const node = deeper({ kind: "condition", side: side.value, name, given }, ...given.filter(isPattern));
      const refuse = (said) => {
        throw new Error(worded("in column", { said, column: start }));
      };
      if (!Object.hasOwn(conditions, name)) {
        const known = worded("there are", { names: Object.keys(conditions).sort().join(", ") });
        refuse([worded("unknown", { side: side.value, name: single(name) }), known].join(" "));
      }
      const takes = conditions[name][1];
      if (!FITS[takes](given)) {
        const got = given.map(pythonWritten).join(", ") || worded("takes nothing");
        refuse(worded("takes", { condition: `${side.value}.${name}`, takes, got }));
      }
      return node;
    }

    function argument() {
      if (kind() === "+" || kind() === "-") {
        const sign = parts[at++].kind, found = parts[at++];
        if (typeof found?.value !== "number") fail("a whole number was expected", found?.column ?? text.length + 1, text);
        return sign === "-" ? -found.value : found.value;
      }
      return kind() === "value" ? parts[at++].value : either();
    }

    const node = either();
    if (["and", "or", "not"].includes(parts[at]?.value)) condition();
    if (at < parts.length) fail(`nothing was expected after ${written(node, conditions)}`, column(), text);
    return node;
  }

  const isPattern = (value) => typeof value === "object";
  const whole = (value) => typeof value === "number";
  const texts = (given) => given.length > 0 && given.every((one) => typeof one === "string" && one);
  const FITS = {
    [worded("takes nothing")]: (given) => !given.length,
    [worded("takes texts")]: texts,
    [worded("takes steps")]: (given) => given.length > 0 && given.every((one) => whole(one) && one !== 0),
    [worded("takes numbers")]: (given) => given.length > 0 && given.every(whole),
    [worded("takes count")]: (given) => given.length === 1 && whole(given[0]) && given[0] >= 1,
    [worded("takes segment")]: (given) => given.length === 1 && ["A", "B"].includes(given[0]),
    [SEARCH]: (given) => !given.length || texts(given) || (given.length === 1 && isPattern(given[0])),
  };

  // ---- saying it ----
  const escaped = (text) => text.replace(/[\\\n\t\r]/g, (one) => `\\${{ "\\": "\\", "\n": "n", "\t": "t", "\r": "r" }[one]}`);
  const single = (text) => (text.includes("'") && !text.includes('"') ? `"${escaped(text)}"` : `'${escaped(text).replace(/'/g, "\\'")}'`);
  const literal = (value) => (typeof value !== "string" ? `${value}` : value.includes('"') ? single(value) : `"${escaped(value)}"`);
  const pythonWritten = (value) => (typeof value === "string" ? single(value) : isPattern(value) ? written(value) : `${value}`);

  function written(node) {
    const within = (one, ...kinds) => (kinds.includes(one.kind) ? `(${written(one)})` : written(one));
    if (node.kind === "both") return `${within(node.left, "either")} & ${within(node.right, "both", "either")}`;
    if (node.kind === "either") return `${written(node.left)} | ${within(node.right, "either")}`;
    if (node.kind === "not") return `~${within(node.inner, "both", "either")}`;
    return `${node.side}.${node.name}(${node.given.map((one) => (isPattern(one) ? written(one) : literal(one))).join(", ")})`;
  }

  const counted = (n) => (n === 1 ? worded("one word") : worded("words", { count: n }));

  function said(node, conditions, no = false) {
    const own = (one, not) => said(one, conditions, not);
    const within = (one, kind) => (one.kind === kind ? `(${own(one)})` : own(one));
    const negated = (words) => (no ? worded("not so", { words }) : words);
    if (node.kind === "both") return negated(worded("both", { left: within(node.left, "either"), right: within(node.right, "either") }));
    if (node.kind === "either") return negated(worded("either", { left: within(node.left, "both"), right: within(node.right, "both") }));
    if (node.kind === "not") return no ? negated(own(node)) : own(node.inner, true);
    const { side, name, given } = node, [sentence, takes] = conditions[name], search = takes === SEARCH, or = ` ${worded("or")} `;
    let args = given.map((one) => (["word", "token", "lemma"].includes(name) || search ? literal(one) : `${one}`)).join(or);
    if (name === "offset") args = given.map((n) => worded(n < 0 ? "words before" : "words after", { words: counted(Math.abs(n)) })).join(or);
    if (name === "within") args = counted(given[0]);
    if (search && !given.length) args = worded("word");
    if (search && isPattern(given[0] ?? "")) args = worded("word so", { words: own(given[0]) });
    const the = (one) => worded("the side", { side: one }), other = the(side === "query" ? "key" : "query");
    const filled = { it: the(side), other, no: no ? ` ${worded("not")}` : "", args };
    return sentence.replace(/\{(it|other|no|args)\}/g, (_, place) => filled[place]);
  }

  function inWords(node, conditions) {
    const words = said(node, conditions), first = words.length - words.replace(/^\(+/, "").length;
    return `${words.slice(0, first + 1).toUpperCase()}${words.slice(first + 1)}.`;
  }

  // ---- asking it of a text ----
  const fold = (text) => [...text.normalize("NFC")].map((c) => (c === "ı" ? c : /\p{Script=Cherokee}/u.test(c) ? c.toUpperCase() : c.toUpperCase().toLowerCase())).join("").replace(/ς/g, "σ");

  // A position for every word and for every special token, as PatternText has them.
  function textOf({ tokens, words, segments, special, spelt }) {
    const groups = [];
    words.forEach((word, i) => (word >= 0 && i && words[i - 1] === word ? groups[groups.length - 1].push(i) : groups.push([i])));
    const isWord = groups.map(([i]) => !special[i]), places = [];
    isWord.reduce((before, one, i) => ((places[i] = before), before + one), 0);
    return {
      groups, isWord, places, n: groups.length,
      words: groups.map(([i]) => (words[i] < 0 ? tokens[i] : spelt[words[i]])),
      pieces: groups.map((group) => group.map((i) => tokens[i])),
      segments: groups.map(([i]) => segments[i]),
    };
  }

  // Of one word: a function of its position; of two: of (other, it).
  const ONE = {
    word: ({ words, isWord }, ...wanted) => ((set) => (i) => isWord[i] && set.has(fold(words[i])))(new Set(wanted.map(fold))),
    token: ({ pieces }, ...wanted) => (i) => pieces[i].some((piece) => wanted.includes(piece)),
    split: ({ pieces }) => (i) => pieces[i].length > 1,
    special: ({ isWord }) => (i) => !isWord[i],
    punctuation: ({ words, isWord }) => (i) => isWord[i] && !/[\p{L}\p{N}]/u.test(words[i]),
    position: ({ places, isWord }, ...numbers) => {
      const count = isWord.filter(Boolean).length, wanted = numbers.filter((k) => -count <= k && k < count).map((k) => (k < 0 ? k + count : k));
      return (i) => isWord[i] && wanted.includes(places[i]);
    },
    segment: ({ segments }, name) => (i) => segments[i] === "AB".indexOf(name),
  };
  const TWO = {
    itself: () => (i, j) => i === j,
    offset: (text, ...steps) => (i, j) => text.isWord[i] && text.isWord[j] && steps.includes(text.places[j] - text.places[i]),
    within: (text, most) => (i, j) => i !== j && text.isWord[i] && text.isWord[j] && Math.abs(text.places[j] - text.places[i]) <= most,
    before: (text) => (i, j) => text.isWord[i] && text.isWord[j] && text.places[j] < text.places[i],
    after: (text) => (i, j) => text.isWord[i] && text.isWord[j] && text.places[j] > text.places[i],
    next: (text, wanted) => nearest(text, wanted, 1),
    previous: (text, wanted) => nearest(text, wanted, -1),
    same_word: ({ words, isWord }) => ((forms) => (i, j) => i !== j && isWord[i] && isWord[j] && forms[i] === forms[j])(words.map(fold)),
    segment_same: ({ segments }) => (i, j) => segments[i] === segments[j],
    segment_other: ({ segments }) => (i, j) => segments[i] !== segments[j],
  };

  function nearest(text, wanted, step) {
    const goals = text.words.map((_, i) => {
      if (!text.isWord[i]) return -1;
      for (let j = i + step; j >= 0 && j < text.n; j += step) if (text.isWord[j] && wanted(i, j)) return j;
      return -1;
    });
    return (i, j) => goals[i] === j;
  }

  // Where it holds: a function of (query, key).
  function holds(node, text) {
    if (node.kind === "not") return ((inner) => (q, k) => !inner(q, k))(holds(node.inner, text));
    if (node.kind !== "condition") {
      const [left, right] = [holds(node.left, text), holds(node.right, text)];
      return node.kind === "both" ? (q, k) => left(q, k) && right(q, k) : (q, k) => left(q, k) || right(q, k);
    }
    const { side, name, given } = node, turned = (found) => (side === "key" ? found : (q, k) => found(k, q));
    if (ONE[name]) return ((found) => turned((_, it) => found(it)))(ONE[name](text, ...given));
    if (name !== "next" && name !== "previous") return turned(TWO[name](text, ...given));
    let wanted = () => true; // of (other, it)
    if (isPattern(given[0] ?? "")) wanted = turned(holds(given[0], text));
    else if (given.length) wanted = ((found) => (_, it) => found(it))(ONE.word(text, ...given));
    return turned(TWO[name](text, wanted));
  }

  function* within(node) {
    if (node.kind === "not") yield* within(node.inner);
    else if (node.kind !== "condition") yield* (function* () { yield* within(node.left); yield* within(node.right); })();
    else {
      yield node;
      for (const one of node.given) if (isPattern(one)) yield* within(one);
    }
  }

  // Whether it asks for special tokens or for the query itself.
  function beyondWords(node, wanted = true) {
    if (node.kind === "not") return beyondWords(node.inner, !wanted);
    if (node.kind !== "condition") return beyondWords(node.left, wanted) || beyondWords(node.right, wanted);
    const named = ["special", "itself"].includes(node.name) || (node.name === "token" && node.given.some((one) => [...one].length > 2 && /^(\[.*\]|<.*>)$/su.test(one)));
    return wanted && named;
  }

  function checkNeeds(node, text, conditions) {
    const needs = (one) => [...new Set([...within(one)].map(({ name }) => conditions[name][2]))].filter(Boolean).join();
    const asked = (need) => [...new Set([...within(node)].filter((one) => needs(one) === need).map((one) => written(one)))].join(", ");
    const trees = asked(TREEBANK), pairs = asked(PAIRS);
    if (trees) {
      const plain = Object.keys(conditions).filter((name) => conditions[name][2] !== TREEBANK).sort().join(", ");
      throw new Error(worded("needs a treebank", { conditions: trees, names: plain }));
    }
    if (pairs && !text.segments.some(Boolean)) throw new Error(worded("needs pairs", { conditions: pairs }));
  }

  // `run` is what the model gives for the text, `percent` how shares are said: the share of cases of each head, and the sentence beneath the map.
  function score(line, run, conditions, percent) {
    const node = parse(line, conditions), text = textOf(run), { n, isWord, groups } = text;
    checkNeeds(node, text, conditions);
    const beyond = beyondWords(node), matches = holds(node, text), may = (q, k) => beyond || (q !== k && isWord[q] && isWord[k]);
    const keys = [], asked = [], pairs = [];
    let candidates = 0, found = 0, elsewhere = 0, missing = 0, guessing = 0;
    for (let q = 0; q < n; q++) {
      let own = 0;
      keys.push(new Set());
      for (let k = 0; k < n; k++) {
        const right = matches(q, k);
        if (!may(q, k)) right ? (elsewhere += 1) : (missing += 1);
        else {
          own += 1;
          if (right) keys[q].add(k), pairs.push(`${text.words[q]} → ${text.words[k]}`);
        }
      }
      candidates += own;
      found += keys[q].size;
      if (keys[q].size) asked.push(q), (guessing += keys[q].size / own);
    }
    const undecided = (name, beside, others) => {
      const reason = worded(name);
      throw new Error(worded("undecided", { reason: others ? worded(beside, { reason }) : reason }));
    };
    if (!candidates) undecided("no two words");
    if (!found) undecided("no pair", "matches others", elsewhere);
    if (found === candidates) undecided("every pair", "misses others", missing);
    const size = run.n * run.n, shares = new Float32Array(run.attention.length / size);
    for (let at = 0; at < shares.length; at++) {
      let right = 0;
      for (const q of asked) {
        let best = -1, most = -1;
        for (let k = 0; k < n; k++) {
          if (!may(q, k)) continue;
          let weight = 0;
          for (const i of groups[q]) for (const j of groups[k]) weight += run.attention[at * size + i * run.n + j];
          if (weight > most) [best, most] = [k, weight];
        }
        right += keys[q].has(best);
      }
      shares[at] = right / asked.length;
    }
    const kind = worded(beyond ? "tokens" : "words and marks"), all = beyond ? n : isWord.filter(Boolean).length, count = asked.length;
    const listed = pairs.slice(0, LISTED).join(", "), told = { pattern: inWords(node, conditions), count, all, kind };
    told.pairs = pairs.length > LISTED ? worded("more pairs", { pairs: listed, count: pairs.length - LISTED }) : listed;
    const guess = worded("guessing", { kind, share: percent(guessing / count) });
    return { shares, sentence: [worded(count === 1 ? "one case" : "cases", told), guess, worded("one text")].join(" ") };
  }

  return { parse, score, inWords, fold };
})();
