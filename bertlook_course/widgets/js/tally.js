// Votes of a room: codes are typed or pasted here, counted here, and sent nowhere. What counts as a vote is said in
// bertlook_course/syllabus/tally.py; a test in a browser holds the two together.

const CODE = /(?<![\w.-])0*(\d{1,2})[-.]0*(\d{1,2})[ \t]*[-:.)=]?[ \t]*([A-Za-z])(?:[ \t]*[x×][ \t]*(\d{1,3}))?(?![\w'’-])/g;
const LETTER = /^([A-Za-z])(?:[x×]?(\d{1,3}))?$/;

function countVotes(text, lesson, question, letters) {
  const counts = Object.fromEntries(letters.map((letter) => [letter, 0]));
  const refused = [];
  let elsewhere = 0;
  const plain = text.normalize("NFKC").replace(/[‐-―−]/g, "-"); // full-width digits, and the dashes that phones put in
  for (const line of plain.split(/\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]/)) {
    let found = [...line.matchAll(CODE)].map(([, a, b, letter, n]) => [Number(a), Number(b), letter, n]);
    const words = line.trim().split(/[\s,;]+/).map((word) => LETTER.exec(word));
    if (!found.length && words.every(Boolean)) found = words.map(([, letter, n]) => [lesson, question, letter, n]);
    const alone = line.split(/[,;:\t]/).map((part) => LETTER.exec(part.replace(/^[ "']+|[ "']+$/g, ""))).filter(Boolean);
    if (!found.length && alone.length === 1) found = [[lesson, question, alone[0][1], alone[0][2]]];
    else if (!found.length && alone.length) {
      refused.push(worded("several letters", { line: line.trim().slice(0, 40), code: `${lesson}-${question}A` }));
    }
    for (const [itsLesson, itsQuestion, written, times] of found) {
      const letter = written.toUpperCase();
      const n = Number(times || 1);
      const code = `${itsLesson}-${itsQuestion}${letter}`;
      if (itsLesson !== lesson) refused.push(worded("other lesson", { code, its_lesson: itsLesson, lesson }));
      else if (itsQuestion !== question) elsewhere += n;
      else if (!(letter in counts)) refused.push(worded("no choice", { code, letters: letters.join(", ") }));
      else counts[letter] += n;
    }
  }
  return { counts, elsewhere, refused };
}

function describeVotes({ counts, elsewhere, refused }, answer, shown) {
  const n = Object.values(counts).reduce((sum, x) => sum + x, 0);
  const votes = `${n} vote${n === 1 ? "" : "s"}`;
  const said = [];
  if (!shown) said.push(`${votes}; drawn when you say so.`);
  else if (!n) said.push("No votes yet.");
  else {
    said.push(`${votes}: ${Object.entries(counts).map(([letter, votes]) => `${letter} ${votes}`).join(", ")}.`);
    if (answer) said.push(`Computed: ${answer}, which ${percent(counts[answer] / n)} of the room predicted.`);
  }
  if (elsewhere) said.push(`${elsewhere} for other questions of this lesson.`);
  if (refused.length) {
    said.push(`Not counted: ${refused.slice(0, 2).join("; ")}${refused.length > 2 ? `; and ${refused.length - 2} more` : ""}.`);
  }
  return said.join(" ");
}

function createTally(host, get, emit) {
  const root = element("div", "bertlook bl-tally", { role: "group", "aria-label": "Tally of the room's predictions" });
  const words = element("span");
  const input = control("textarea", "", { rows: "1", spellcheck: "false" });
  const show = button("bl-tally-show", "", () => emit({ shown: !get("shown") }));
  const bars = element("table", "bl-tally-bars");
  const caption = element("p", "bl-caption", { "aria-live": "polite" });
  root.append(bars, element("div", "bl-tally-side", {}, element("label", "", {}, words, input), show, caption));
  host.append(root);

  const letters = () => get("choices").map(([letter]) => letter);
  const rows = new Map();

  function update() {
    setType(root, get("font_size"));
    const [lesson, question, shown] = [get("lesson"), get("question"), get("shown")];
    words.textContent = `Predict: votes such as ${letters().slice(0, 2).join(" ")}`;
    if (input.value !== get("votes")) input.value = get("votes");
    show.textContent = shown ? "hide" : "show the room";
    show.setAttribute("aria-pressed", String(shown));
    bars.classList.toggle("bl-tally-shown", shown);
    const found = countVotes(get("votes"), lesson, question, letters());
    const most = Math.max(1, ...Object.values(found.counts));
    const answer = shown ? get("answer") : "";
    for (const [letter, meaning] of get("choices")) {
      if (!rows.has(letter)) {
        const [bar, count] = [element("span"), element("td")];
        // A hand that goes up, or a reader's own commitment, is one press.
        const press = button("bl-tally-choice", "", () => {
          const before = get("votes").trimEnd();
          emit({ votes: `${before}${before && "\n"}${get("lesson")}-${get("question")}${letter}\n` });
        });
        const name = element("th", "", { scope: "row" }, press);
        const row = element("tr", "", {}, name, element("td", "bl-tally-track", {}, bar), count);
        bars.append(row);
        rows.set(letter, { row, press, bar, count });
      }
      const { row, press, bar, count } = rows.get(letter);
      const right = letter === answer;
      press.textContent = `${right ? "✓ " : ""}${letter} ${meaning}`;
      row.classList.toggle("bl-tally-right", right);
      bar.style.width = shown ? `${(100 * found.counts[letter]) / most}%` : "0";
      count.textContent = shown ? String(found.counts[letter]) : "";
    }
    setSentence(caption, describeVotes(found, answer, shown));
  }

  input.addEventListener("input", () => emit({ votes: input.value }));
  keepKeys(input); // letters and Enter are votes here, no keys of the slides
  return hosted(root, update, [], () => {});
}

export default { render: (context) => mount(context, createTally) };
