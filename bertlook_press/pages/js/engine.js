// A shipped BERT in the page: tokenizer and forward pass in plain JavaScript. The same numbers as model/numpy_bert.py to what 16 bits of
// a weight leave. A classic script, so that it runs from file:// and in a worker made of its text.
const bertlookMakeEngine = () => {
  const FORMAT = "bertlook weights", VERSION = 1;
  const SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"];
  const LONGEST_WORD = 100; // characters; a longer word is [UNK]

  // --- text to wordpieces, as BertNormalizer, BertPreTokenizer and WordPiece of `tokenizers` do ---------------------------
  const CHINESE = /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/u;
  const PUNCTUATION = /[!-\/:-@\[-`{-~\p{P}]/u;
  const LEFT_OUT = /[\0\ufffd\p{Cc}\p{Cf}\p{Co}]/u; // \t, \n and \r are blanks, and were seen before
  const BLANK = /\s|\u0085/u;

  // [as the model reads it, as it stands in the text]: an accent that is dropped still belongs to its word there.
  function words(text) {
    const found = [];
    let word = "", last = null; // last: where the newest word stands in the text, [from, to]
    const end = () => {
      if (word) found.push([word, last]);
      word = "";
    };
    const grow = (letters, from, to) => {
      if (word) last[1] = to; else last = [from, to];
      word += letters;
    };
    let at = 0;
    for (const c of text) {
      const from = at, to = (at += c.length);
      if (c === "\t" || c === "\n" || c === "\r") end();
      else if (LEFT_OUT.test(c)) continue;
      else if (BLANK.test(c)) end();
      else if (CHINESE.test(c)) { end(); grow(c.normalize("NFD"), from, to); end(); }
      else {
        for (const part of c.normalize("NFD")) {
          if (/\p{Mn}/u.test(part)) {
            if (last && last[1] === from && !/[\ufe00-\ufe0f]/.test(part)) last[1] = to;
            continue;
          }
          for (const letter of part.toLowerCase()) {
            if (BLANK.test(letter)) end();
            else if (PUNCTUATION.test(letter)) { end(); grow(letter, from, to); end(); } else grow(letter, from, to);
          }
        }
      }
    }
    end();
    return found.map(([read, [from, to]]) => [read, text.slice(from, to)]);
  }

  function pieces(word, vocabulary) {
    const letters = [...word];
    if (letters.length > LONGEST_WORD) return ["[UNK]"];
    const found = [];
    for (let start = 0; start < letters.length;) {
      let stop = letters.length, piece;
      for (; stop > start; stop--) {
        piece = (start ? "##" : "") + letters.slice(start, stop).join("");
        if (vocabulary.has(piece)) break;
      }
      if (stop === start) return ["[UNK]"];
      found.push(piece);
      start = stop;
    }
    return found;
  }

  // Wordpieces of one text, each with the number of its word and the word as it stands there; no more words are read than can be of use.
  function cut(text, vocabulary, enough) {
    const found = [];
    let number = 0;
    const marks = new RegExp(`(${SPECIAL.map((one) => one.replace(/[[\]]/g, "\\$&")).join("|")})`);
    for (const part of text.split(marks)) {
      if (found.length > enough) break;
      if (SPECIAL.includes(part)) { found.push([part, number++, part]); continue; }
      for (const [word, source] of words(part)) {
        for (const piece of pieces(word, vocabulary)) found.push([piece, number, source]);
        number++;
        if (found.length > enough) break;
      }
    }
    return found;
  }

  // --- weights -----------------------------------------------------------------------------------------------------------
  function half(bits) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 31) return fraction ? NaN : sign * Infinity;
    return exponent ? sign * 2 ** (exponent - 15) * (1 + fraction / 1024) : sign * 2 ** -14 * (fraction / 1024);
  }
  let halves = null;
  function floats(bits) {
    if (!halves) {
      halves = new Float32Array(65536);
      for (let i = 0; i < 65536; i++) halves[i] = half(i);
    }
    const out = new Float32Array(bits.length);
    for (let i = 0; i < bits.length; i++) out[i] = halves[bits[i]];
    return out;
  }

  // A row of 8-bit integers is cut into groups of neighbours, and each group has one scale.
  function scaled(integers, scales) {
    const out = new Float32Array(integers.length), group = integers.length / scales.length;
    for (let at = 0, k = 0; k < scales.length; k++) for (const end = at + group; at < end; at++) out[at] = integers[at] * scales[k];
    return out;
  }

  // A safetensors file: the length of its header, the header, the numbers. `order` names its tensors as BERT makes them, one after another.
  function tensorsOf(bytes, start, order) {
    const length = new DataView(bytes).getUint32(start, true), from = start + 8 + length;
    const listed = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, start + 8, length)));
    const said = (name) => listed[name] ?? listed[`bert.${name}`];
    const halved = ({ data_offsets: [first, last] }) => floats(new Uint16Array(bytes, from + first, (last - first) / 2));
    const tensors = {}, shapes = {};
    for (const name of order) {
      const { dtype, shape, data_offsets: [first, last] } = said(name);
      tensors[name] = dtype === "I8" ? scaled(new Int8Array(bytes, from + first, last - first), halved(said(`${name}.scale`))) : halved(said(name));
      shapes[name] = shape;
    }
    return { tensors, shapes };
  }

  // CRC-32, as zlib has it.
  function checksum(bytes) {
    const table = new Int32Array(256).map((_, i) => {
      for (let bit = 0; bit < 8; bit++) i = i & 1 ? (i >>> 1) ^ 0xedb88320 : i >>> 1;
      return i;
    });
    let sum = -1;
    for (let i = 0; i < bytes.length; i++) sum = table[(sum ^ bytes[i]) & 255] ^ (sum >>> 8);
    return ~sum >>> 0;
  }

  function read(bytes) {
    const wrong = (what) => new Error(`The file with the model's weights ${what}. Make the page again with bertlook export or bertlook site.`);
    if (!(bytes instanceof ArrayBuffer) || bytes.byteLength < 8) throw wrong("is missing or empty");
    const [length, sum] = [0, 4].map((at) => new DataView(bytes).getUint32(at, true));
    let about;
    try {
      about = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array(bytes, 8, length)));
    } catch {
      throw wrong("is damaged, or no such file");
    }
    if (about?.format !== FORMAT) throw wrong("is another kind of file");
    if (about.version !== VERSION) throw wrong(`is of version ${about.version}, and this page reads version ${VERSION}`);
    const start = 8 + Math.ceil(length / 8) * 8;
    if (bytes.byteLength !== start + about.bytes) throw wrong("was cut short");
    if (checksum(new Uint8Array(bytes, 8)) !== sum) throw wrong("is damaged: its checksum is another one");
    return { about, ...tensorsOf(bytes, start, about.order) };
  }

  // --- the random twin: what torch draws after manual_seed, as draw_bert of numpy_bert.py has it ---------------------------
  function twister(seed) { // each call: 32 bits of the Mersenne Twister
    const state = new Uint32Array(624).fill(seed);
    for (let i = 1; i < 624; i++) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
    let at = 624;
    return () => {
      for (let i = 0; at === 624 && i < 624; i++) {
        const y = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7fffffff);
        state[i] = state[(i + 397) % 624] ^ (y >>> 1) ^ (y & 1 ? 0x9908b0df : 0);
      }
      let y = state[(at %= 624)];
      at += 1;
      y ^= y >>> 11;
      y ^= (y << 7) & 0x9d2c5680;
      y ^= (y << 15) & 0xefc60000;
      return y ^ (y >>> 18);
    };
  }

  // Box and Muller on blocks of 16; every matrix of a shipped model is made of whole blocks.
  function gaussian(next, out, std) {
    for (let i = 0; i < out.length; i += 16) {
      for (let k = i; k < i + 16; k++) out[k] = (next() & 0xffffff) * 2 ** -24;
      for (let k = i; k < i + 8; k++) {
        const radius = std * Math.sqrt(-2 * Math.log(1 - out[k])), angle = 2 * Math.PI * out[k + 8];
        out[k] = radius * Math.cos(angle);
        out[k + 8] = radius * Math.sin(angle);
      }
    }
  }

  // Modules draw weights when they are made, and BERT's rule draws the matrices again. The head that guesses is drawn elsewhere: it comes along.
  function drawn(about, shapes, { seed, std, transform }) {
    const tensors = {}, next = twister(seed), matrices = [];
    for (const [name, shape] of Object.entries(shapes)) {
      tensors[name] = new Float32Array(shape.reduce((a, b) => a * b, 1)).fill(name.endsWith("LayerNorm.weight") ? 1 : 0);
      if (name.startsWith("cls.")) continue;
      if (shape.length === 2) matrices.push(tensors[name]);
      if (!name.includes("LayerNorm")) for (let i = 0; i < tensors[name].length; i++) next();
    }
    for (const matrix of matrices) gaussian(next, matrix, std);
    const width = about.config.hidden_size, padding = about.vocabulary.indexOf("[PAD]");
    matrices[0].fill(0, padding * width, (padding + 1) * width);
    const bytes = Uint8Array.from(atob(transform), (letter) => letter.charCodeAt(0));
    tensors["cls.predictions.transform.dense.weight"] = floats(new Uint16Array(bytes.buffer));
    return tensors;
  }

  // --- the forward pass --------------------------------------------------------------------------------------------------
  // out (n, to) = x (n, of) times the transposed matrix (to, of), plus bias; four rows and four columns at a time, which asks memory half as
  // often as two columns do. Columns outside, so that a large matrix is read once; where fewer than four rows are left, the last one is repeated.
  function linear(x, n, of, matrix, bias, to, out) {
    const whole = to - (to % 4);
    for (let j = 0; j < whole; j += 4) {
      const p = j * of, q = p + of, r = q + of, s = r + of;
      const u0 = bias[j], u1 = bias[j + 1], u2 = bias[j + 2], u3 = bias[j + 3];
      for (let i = 0; i < n; i += 4) {
        const second = Math.min(i + 1, n - 1), third = Math.min(i + 2, n - 1), fourth = Math.min(i + 3, n - 1);
        const a = i * of, b = second * of, c = third * of, d = fourth * of;
        let a0 = 0, b0 = 0, c0 = 0, d0 = 0, a1 = 0, b1 = 0, c1 = 0, d1 = 0;
        let a2 = 0, b2 = 0, c2 = 0, d2 = 0, a3 = 0, b3 = 0, c3 = 0, d3 = 0;
        for (let k = 0; k < of; k++) {
          const xa = x[a + k], xb = x[b + k], xc = x[c + k], xd = x[d + k];
          let u = matrix[p + k];
          a0 += xa * u; b0 += xb * u; c0 += xc * u; d0 += xd * u;
          u = matrix[q + k];
          a1 += xa * u; b1 += xb * u; c1 += xc * u; d1 += xd * u;
          u = matrix[r + k];
          a2 += xa * u; b2 += xb * u; c2 += xc * u; d2 += xd * u;
          u = matrix[s + k];
          a3 += xa * u; b3 += xb * u; c3 += xc * u; d3 += xd * u;
        }
        let o = i * to + j;
        out[o] = a0 + u0; out[o + 1] = a1 + u1; out[o + 2] = a2 + u2; out[o + 3] = a3 + u3;
        o = second * to + j;
        out[o] = b0 + u0; out[o + 1] = b1 + u1; out[o + 2] = b2 + u2; out[o + 3] = b3 + u3;
        o = third * to + j;
        out[o] = c0 + u0; out[o + 1] = c1 + u1; out[o + 2] = c2 + u2; out[o + 3] = c3 + u3;
        o = fourth * to + j;
        out[o] = d0 + u0; out[o + 1] = d1 + u1; out[o + 2] = d2 + u2; out[o + 3] = d3 + u3;
      }
    }
    for (let i = 0; i < n; i++) {
      for (let j = whole; j < to; j++) {
        let sum = 0;
        for (let k = 0, a = i * of, p = j * of; k < of; k++) sum += x[a + k] * matrix[p + k];
        out[i * to + j] = sum + bias[j];
      }
    }
    return out;
  }

  function norm(x, n, width, weight, bias, epsilon) { // in place
    for (let i = 0; i < n; i++) {
      const at = i * width;
      let mean = 0, square = 0;
      for (let k = 0; k < width; k++) mean += x[at + k];
      mean /= width;
      for (let k = 0; k < width; k++) square += (x[at + k] - mean) ** 2;
      const scale = 1 / Math.sqrt(square / width + epsilon);
      for (let k = 0; k < width; k++) x[at + k] = (x[at + k] - mean) * scale * weight[k] + bias[k];
    }
    return x;
  }

  // x times the share of a normal distribution below x; erf to 2e-7, the quotient of numpy_bert.py.
  const ABOVE = [-2.72614225801306e-10, 2.77068142495902e-08, -2.10102402082508e-06, -5.69250639462346e-05, -7.34990630326855e-04, -2.95459980854025e-03, -1.60960333262415e-02];
  const BELOW = [-1.45660718464996e-05, -2.13374055278905e-04, -1.68282697438203e-03, -7.37332916720468e-03, -1.42647390514189e-02];
  function gelu(x, size) {
    const [a0, a1, a2, a3, a4, a5, a6] = ABOVE, [b0, b1, b2, b3, b4] = BELOW;
    for (let i = 0; i < size; i++) {
      const t = Math.max(-4, Math.min(4, x[i] * Math.SQRT1_2)), s = t * t;
      const above = (((((a0 * s + a1) * s + a2) * s + a3) * s + a4) * s + a5) * s + a6;
      const below = (((b0 * s + b1) * s + b2) * s + b3) * s + b4;
      x[i] = 0.5 * x[i] * (1 + t * above / below);
    }
    return x;
  }

  function softmax(x, from, to) { // in place
    let top = -Infinity, sum = 0;
    for (let i = from; i < to; i++) if (x[i] > top) top = x[i];
    for (let i = from; i < to; i++) sum += x[i] = Math.exp(x[i] - top);
    for (let i = from; i < to; i++) x[i] /= sum;
  }

  const EMBED = "embeddings";

  function open(bytes) {
    const { about, tensors, shapes } = read(bytes);
    return { ...running(about, tensors), twin: (given) => running(about, drawn(about, shapes, given)) };
  }

  function running(about, tensors) {
    const { hidden_size: width, intermediate_size: inner, num_attention_heads: heads, num_hidden_layers: layers, layer_norm_eps: epsilon } = about.config;
    const size = width / heads, longest = about.config.max_position_embeddings;
    const vocabulary = new Map(about.vocabulary.map((piece, number) => [piece, number]));
    const w = (name) => tensors[name];
    const dense = (name, x, n, of, to, out) => linear(x, n, of, w(`${name}.weight`), w(`${name}.bias`), to, out);
    const normed = (name, x, n) => norm(x, n, width, w(`${name}.weight`), w(`${name}.bias`), epsilon);
    // Room for the longest text, made once: nothing is allocated while a text is read but what is given back.
    const room = (columns) => new Float32Array(longest * columns);
    const [stream, update, queries, keys, values, joined, wide] = [width, width, width, width, width, width, inner].map(room);

    function tokenize(text, pair = null) {
      if (typeof text !== "string" || (pair !== null && typeof pair !== "string")) throw new TypeError("a text, or two texts");
      const empty = (which) => new Error(`The ${which} is empty; the model needs at least one word to look at.`);
      if (!text.trim()) throw empty(pair === null ? "text" : "first text");
      if (pair !== null && !pair.trim()) throw empty("second text");
      const texts = pair === null ? [text] : [text, pair];
      const parts = texts.map((part) => cut(part, vocabulary, pair === null ? longest : Infinity));
      if (parts.some((part) => !part.length)) throw new Error("Nothing is left of this text after the tokenizer has cleaned it.");
      if (parts.flat().every(([piece]) => piece === "[UNK]")) throw new Error("The tokenizer knows nothing in this text: every piece becomes [UNK].");
      const most = longest - 1 - parts.length;
      const isCut = parts.reduce((sum, part) => sum + part.length, 0) > most;
      if (isCut && pair === null) parts[0].length = most;
      else if (isCut) { // the longer text gives its end first, as `tokenizers` does it
        const [short, long] = parts[0].length > parts[1].length ? [parts[1], parts[0]] : parts;
        let first = short.length, second = first > most ? first : Math.max(first, most - first);
        if (first + second > most) { first = Math.floor(most / 2); second = first + (most % 2); }
        short.length = Math.min(first, short.length);
        long.length = Math.min(second, long.length);
      }
      const found = { tokens: ["[CLS]"], words: [-1], segments: [0], special: [true], spelt: [], cut: isCut };
      let before = 0;
      parts.forEach((part, side) => {
        for (const [piece, word, source] of part) {
          found.tokens.push(piece);
          found.words.push(before + word);
          found.spelt[before + word] = source;
          found.segments.push(side);
          found.special.push(false);
        }
        before += part.length ? part[part.length - 1][1] + 1 : 0;
        found.tokens.push("[SEP]");
        found.words.push(-1);
        found.segments.push(side);
        found.special.push(true);
      });
      return { ...found, ids: found.tokens.map((piece) => vocabulary.get(piece)) };
    }

    // mask: the place of a token to be masked. off: heads that hand nothing on, or (how: "uniform") the mean of all values.
    function run(text, pair = null, { off = [], how = "zero", mask = -1, vectors = false, norms = false } = {}) {
      const read = tokenize(text, pair);
      if (mask >= 0) read.ids[mask] = vocabulary.get("[MASK]");
      return forward(read, { off, how, vectors, norms });
    }

    function forward(read, { off = [], how = "zero", vectors = false, norms = false }) {
      const n = read.ids.length, silent = new Set();
      for (const [layer, head] of off) {
        if (!(layer >= 0 && layer < layers && head >= 0 && head < heads)) throw new Error(`There is no head ${layer + 1}-${head + 1}.`);
        silent.add(layer * heads + head);
      }
      const attention = new Float32Array(layers * heads * n * n);
      const lengths = norms ? new Float32Array(layers * heads * n) : null;
      const kept = vectors ? [0, 1, 2].map(() => new Float32Array(layers * heads * n * size)) : null;
      const [tokens, places, kinds] = ["word", "position", "token_type"].map((name) => w(`${EMBED}.${name}_embeddings.weight`));
      for (let i = 0; i < n; i++)
        for (let k = 0; k < width; k++)
          stream[i * width + k] = tokens[read.ids[i] * width + k] + kinds[read.segments[i] * width + k] + places[i * width + k];
      normed(`${EMBED}.LayerNorm`, stream, n);
      for (let layer = 0; layer < layers; layer++) {
        const block = `encoder.layer.${layer}`, self = `${block}.attention.self`;
        dense(`${self}.query`, stream, n, width, width, queries);
        dense(`${self}.key`, stream, n, width, width, keys);
        dense(`${self}.value`, stream, n, width, width, values);
        joined.fill(0, 0, n * width);
        for (let head = 0; head < heads; head++) {
          const first = head * size, map = (layer * heads + head) * n * n;
          for (let i = 0; i < n; i++) {
            for (let j = 0; j < n; j++) {
              let score = 0;
              for (let k = first; k < first + size; k++) score += queries[i * width + k] * keys[j * width + k];
              attention[map + i * n + j] = score / Math.sqrt(size);
            }
            softmax(attention, map + i * n, map + (i + 1) * n);
            const even = silent.has(layer * heads + head);
            if (even && how === "zero") continue; // what it would hand on is nothing
            for (let j = 0; j < n; j++) {
              const weight = even ? 1 / n : attention[map + i * n + j];
              for (let k = first; k < first + size; k++) joined[i * width + k] += weight * values[j * width + k];
            }
          }
          if (lengths) {
            const out = w(`${block}.attention.output.dense.weight`);
            for (let j = 0; j < n; j++) {
              let squares = 0;
              for (let row = 0; row < width; row++) {
                let sum = 0;
                for (let k = first; k < first + size; k++) sum += out[row * width + k] * values[j * width + k];
                squares += sum * sum;
              }
              lengths[(layer * heads + head) * n + j] = Math.sqrt(squares);
            }
          }
          if (kept) {
            [queries, keys, values].forEach((one, part) => {
              for (let i = 0; i < n; i++)
                for (let k = 0; k < size; k++) kept[part][((layer * heads + head) * n + i) * size + k] = one[i * width + first + k];
            });
          }
        }
        dense(`${block}.attention.output.dense`, joined, n, width, width, update);
        for (let i = 0; i < n * width; i++) stream[i] += update[i];
        normed(`${block}.attention.output.LayerNorm`, stream, n);
        dense(`${block}.intermediate.dense`, stream, n, width, inner, wide);
        gelu(wide, n * inner);
        dense(`${block}.output.dense`, wide, n, inner, width, update);
        for (let i = 0; i < n * width; i++) stream[i] += update[i];
        normed(`${block}.output.LayerNorm`, stream, n);
      }
      const found = { ...read, n, attention, last: stream.slice(0, n * width) };
      if (lengths) found.norms = lengths; // of what each head would take from each token, as measures/norms.py has it
      if (kept) [found.queries, found.keys, found.values] = kept;
      return found;
    }

    // One score for each wordpiece of the vocabulary at each of some places.
    function scoresAt(found, places) {
      if (!said.masked_lm) throw new Error(`${about.title} guesses no words: it has no masked-LM head.`);
      const top = "cls.predictions.transform", n = places.length, count = about.vocabulary.length, rows = new Float32Array(n * width);
      places.forEach((place, i) => rows.set(found.last.subarray(place * width, (place + 1) * width), i * width));
      const hidden = gelu(dense(`${top}.dense`, rows, n, width, width, new Float32Array(n * width)), n * width);
      normed(`${top}.LayerNorm`, hidden, n);
      return linear(hidden, n, width, w(`${EMBED}.word_embeddings.weight`), w("cls.predictions.bias"), count, new Float32Array(n * count));
    }

    function shares(found, position) {
      if (!(position >= 0 && position < found.n)) throw new Error(`The text has tokens 0 to ${found.n - 1}; there is no token ${position}.`);
      const scores = scoresAt(found, [position]);
      softmax(scores, 0, scores.length);
      return scores;
    }

    // The k wordpieces that fit best at a place, with their probability.
    function guesses(found, position, k = 5) {
      const p = shares(found, position), order = [...p.keys()].sort((a, b) => p[b] - p[a] || a - b).slice(0, k);
      return order.map((number) => ({ token: about.vocabulary[number], p: p[number] }));
    }

    // The probability that a wordpiece has at a place.
    function probability(found, position, piece) {
      const number = vocabulary.get(piece);
      if (number === undefined) throw new Error(`${piece} is not a wordpiece of this model.`);
      return shares(found, position)[number];
    }

    // The masked-LM loss, in nats, of each piece to guess in a text that comes as vocabulary numbers, masked already.
    function losses({ ids, places, truths }, { off = [], how = "zero" } = {}) {
      const scores = scoresAt(forward({ ids, segments: ids.map(() => 0) }, { off, how }), places), count = about.vocabulary.length;
      return truths.map((truth, i) => {
        const row = scores.subarray(i * count, (i + 1) * count), top = row.reduce((a, b) => Math.max(a, b));
        return top + Math.log(row.reduce((sum, score) => sum + Math.exp(score - top), 0)) - row[truth];
      });
    }

    // The probability that the second text goes on where the first ends.
    function next_sentence(found) {
      if (!said.next_sentence) throw new Error(`${about.title} has no head for the next sentence.`);
      const pooled = dense("pooler.dense", found.last, 1, width, width, new Float32Array(width)).map(Math.tanh);
      const scores = dense("cls.seq_relationship", pooled, 1, width, 2, new Float32Array(2));
      softmax(scores, 0, 2);
      return scores[0];
    }

    const said = {
      name: about.name, title: about.title, fingerprint: about.fingerprint, n_layers: layers, n_heads: heads,
      masked_lm: "cls.predictions.bias" in tensors, next_sentence: "cls.seq_relationship.weight" in tensors,
    };
    return { about: said, tokenize, run, guesses, probability, losses, next_sentence };
  }

  // --- the same in a worker, so that a page never stutters ---------------------------------------------------------------
  const CALLS = ["tokenize", "run", "guesses", "probability", "losses", "next_sentence"];

  // Base64 as it stands in a file of weights.
  function decoded(text) {
    let letters;
    try {
      letters = atob(text.slice(0, text.length - (text.length % 4))); // it may have been cut anywhere
    } catch {
      letters = text; // what is no base64 is no model either: read() says so
    }
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
    return bytes.buffer;
  }

  // What a worker runs: it opens what it is sent first, then answers one call after another. The twin is its second model.
  function serve(scope) {
    const models = [];
    const answer = (call, given, which) => {
      if (call === "open") return (models[0] = open(decoded(given[0]))).about;
      if (call === "twin") return models.push(models[0].twin(given[0])) - 1;
      return models[which][call](...given);
    };
    scope.onmessage = ({ data: { number, call, given, which } }) => {
      try {
        scope.postMessage({ number, result: answer(call, given, which) });
      } catch (error) {
        scope.postMessage({ number, error: error.message });
      }
    };
  }

  // Every call gives a Promise. Without workers (an old browser, a policy) the page computes itself, and `inPage` says so.
  async function worker(text) {
    let remote = null;
    try {
      const source = `const bertlookMakeEngine = ${bertlookMakeEngine}; bertlookMakeEngine().serve(self);`;
      remote = new Worker(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
    } catch {
      remote = null;
    }
    const calling = (about, ask, more) => Object.assign({ about, ...more }, ...CALLS.map((call) => ({ [call]: (...given) => ask(call, given) })));
    if (remote) {
      const waiting = new Map();
      let last = 0;
      const ask = (call, given, which = 0) => new Promise((done, failed) => {
        waiting.set(++last, [done, failed]);
        remote.postMessage({ number: last, call, given, which });
      });
      remote.onmessage = ({ data }) => {
        const [done, failed] = waiting.get(data.number);
        waiting.delete(data.number);
        if (data.error === undefined) done(data.result); else failed(new Error(data.error));
      };
      const broken = new Promise((done) => { remote.onerror = (event) => { event.preventDefault(); done(null); }; });
      const about = await Promise.race([ask("open", [text]), broken]);
      const twin = async (given) => {
        const which = await ask("twin", [given]);
        return calling(about, (call, more) => ask(call, more, which));
      };
      if (about) return calling(about, ask, { twin, inPage: false, close: () => remote.terminate() });
      remote.terminate(); // a policy refused it after it was made
    }
    const here = (model, more) => calling(model.about, async (call, given) => model[call](...given), more);
    const model = open(decoded(text));
    return here(model, { twin: async (given) => here(model.twin(given)), inPage: true, close: () => {} });
  }

  // --- the file of a model, by what a page was told of it (page_models.py) ------------------------------------------------
  // Its text between the quotation marks. A page carries it, or it lies beside the page, which fetches it, or runs it where it is on a disk.
  async function textOf({ name, file, missing, instead }, hear) {
    const held = (globalThis.bertlookWeights ??= {}), lost = () => new Error(`${missing} ${instead}`);
    if (name in held) return held[name];
    if (location.protocol === "file:") {
      await new Promise((done, failed) => {
        const script = Object.assign(document.createElement("script"), { src: file, onload: done, onerror: () => failed(lost()) });
        document.head.append(script);
      });
      const text = held[name] ?? "";
      delete held[name]; // the worker has it then
      return text;
    }
    const reply = await fetch(file).catch(() => null), decoder = new TextDecoder(), parts = [];
    if (!reply?.ok) throw lost();
    for (const reader = reply.body.getReader(); ; ) {
      const { done, value } = await reader.read().catch(() => { throw lost(); });
      if (done) return parts.join("").split('"')[1] ?? "";
      parts.push(decoder.decode(value, { stream: true }));
      hear(value.length);
    }
  }

  const loading = new Map(); // by fingerprint: a Promise of the model, and those who hear of it while it is read

  async function brought(told, entry) {
    let came = 0;
    const size = `${told.title} is being read: ${Math.round(told.size / 1e6)} MB`;
    const clock = setInterval(() => {
      const share = came ? ` value="${Math.min(1, came / told.size)}"` : "";
      for (const hear of entry.hearing) hear(`${size} <progress aria-label="${size}"${share}></progress>`);
    }, 250);
    try {
      const model = await worker(await textOf(told, (length) => (came += length)));
      if (model.about.fingerprint === told.fingerprint) return model;
      model.close();
      throw new Error(`${told.file} holds another model than this page was made with. ${told.instead}`);
    } catch (error) {
      loading.delete(told.fingerprint); // who asks again looks again
      throw error;
    } finally {
      clearInterval(clock);
    }
  }

  // A Promise of the model in its worker, read once; `hear` gets a line of markup, again and again while that takes long.
  function load(told, hear) {
    let entry = loading.get(told.fingerprint);
    if (!entry) {
      loading.set(told.fingerprint, (entry = { hearing: [] }));
      entry.model = brought(told, entry);
    }
    entry.hearing.push(hear);
    return entry.model;
  }

  // The share of a normal distribution below x, to 2e-7.
  const shareBelow = (x) => gelu([x], 1)[0] / x;

  return { open, decoded, worker, load, serve, shareBelow };
};
globalThis.bertlookEngine = bertlookMakeEngine();
