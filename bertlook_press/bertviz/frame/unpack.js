// The rest of what BertViz's Python would send, made in the page: a pair of texts is its whole matrix and four cuts of it.
const whole = (x) => (Array.isArray(x) ? x.map(whole) : x / STEPS);
const sides = {"": [0, Infinity], A: [0, data.boundary], B: [data.boundary, Infinity]};
const cut = ([name, query, key]) => {
  const [i, j] = [sides[query], sides[key]];
  const part = {
    name,
    attn: whole(data.attention.map((layer) => layer.map((head) => head.slice(...i).map((row) => row.slice(...j))))),
    left_text: data.tokens.slice(...i),
    right_text: data.tokens.slice(...j),
  };
  const vectors = (all, side) => whole(all.map((layer) => layer.map((head) => head.slice(...side))));
  if (data.queries) Object.assign(part, {queries: vectors(data.queries, i), keys: vectors(data.keys, j)});
  return part;
};
const parts = FILTERS.slice(0, data.boundary === null ? 1 : FILTERS.length).map(cut);
window.bertvizParams = {...data, attention: data.queries ? Object.fromEntries(parts.map((part, i) => [NEURON_FILTERS[i], part])) : parts};
