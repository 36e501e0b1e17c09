// The masked word as a game: say what is hidden, then see what the model says. Who computes (a kernel, or the page) sets numbers; the words are
// made here. The sentence and the list are those of ablation_bench.js.

// The same sentence as MaskedWordView.sentence in bertlook_course/widgets/panels/masked_word.py.
function describeHidden({ guesses, truth, reply, count }) {
  const placed = ([piece, share, rank]) => ({ piece: quoted(piece), share: percent(share), rank, count });
  const said = [];
  if (reply[0] === 0) said.push(worded("nothing known"));
  else if (reply.length === 1) said.push(worded("several pieces", { count: reply[0] }));
  else if (reply.length) said.push(worded("your guess", placed(reply)));
  if (truth.length) said.push(worded("right word", placed(truth)));
  said.push(worded("first guess", { piece: quoted(guesses[0][0]), share: percent(guesses[0][1]) }));
  return said.join(" ");
}

function createMaskedWord(host, get, emit) {
  const root = element("div", "bertlook bertlook-masked-word");
  const sentence = maskableSentence(get, emit);
  const input = control("input", "bl-select", { type: "text", size: "14", maxlength: "100", spellcheck: "false" });
  const label = element("label", "bl-menu", {}, "your guess ", input);
  const show = button("bl-switch-button", "", () => emit({ shown: !get("shown") }));
  const lists = element("div", "bl-switch-lists");
  const caption = element("p", "bl-caption", { "aria-live": "polite" });
  let answer = "";
  root.append(sentence.node, element("div", "bl-switch-bar", {}, label, show), lists, caption);
  host.append(root);

  function update() {
    setType(root, get("font_size"));
    sentence.paint();
    const [shown, truth, reply, all] = [get("shown"), get("truth"), get("reply"), get("guesses")];
    // Half a word stays while it is typed; an answer that is taken back goes.
    if (document.activeElement !== input || (answer && !get("answer"))) input.value = get("answer");
    answer = get("answer");
    show.textContent = shown ? "hide the model's guesses" : "show the model's guesses";
    const guesses = all.map(([piece, share]) => [piece, share, percent(share).replace("under ", "<").replace("over ", ">")]);
    lists.replaceChildren(guessList("the model's guesses", guesses, [truth[0], reply.length === 3 && reply[0]], guesses[0][1]));
    lists.style.visibility = shown ? "" : "hidden"; // its room is kept, so that nothing moves when they come
    setSentence(caption, get("message") || (shown
      ? describeHidden({ guesses: all, truth, reply, count: get("count") })
      : "Which word is hidden? Type your guess and press Enter, or show the model's."));
  }

  input.addEventListener("change", () => input.value.trim() && emit({ answer: input.value, shown: true }));
  keepKeys(input); // no keys of the slides
  return hosted(root, update, [], () => {});
}

export default { render: (context) => mount(context, createMaskedWord) };
