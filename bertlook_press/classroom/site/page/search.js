// The search: the words of the site are read when somebody types, and looked through here. Nothing is sent anywhere.
(() => {
  const byId = (name) => document.getElementById(name);
  const MOST = 40; // places shown
  const AROUND = 70; // letters before and after a word
  // Small letters without accents. One letter stays one letter, or a place in the text would be another one.
  const folded = (text) => [...text].map((letter) => letter.normalize("NFD")[0].toLowerCase()[0]).join("");
  const begins = (word) => new RegExp(`(?<![\\p{L}\\p{N}])${word.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")}`, "gu");
  let reading = null;

  function words() {
    reading ??= new Promise((done, failed) => {
      const onerror = () => failed(new Error("The words of this site are not beside this page: search-words.js."));
      const onload = () => {
        const parts = globalThis.bertlookWords.flatMap(([place, title, sections]) => sections.map(([anchor, heading, text]) => ({ place: place + anchor, title, heading, text })));
        done(parts.map((part) => ({ ...part, folds: [part.title, part.heading, part.text].map(folded) })));
      };
      document.head.append(Object.assign(document.createElement("script"), { src: "search-words.js", onload, onerror }));
    });
    reading.catch(() => (reading = null)); // who asks again looks again
    return reading;
  }

  // A word counts where a word begins with it: more in a title and in a heading than in the text.
  function points({ folds }, asked) {
    let sum = 0;
    for (const { pattern } of asked) {
      const [title, heading, text] = folds.map((one) => (one.match(pattern) ?? []).length);
      if (!title && !heading && !text) return 0;
      sum += 4 * Math.min(title, 1) + 6 * Math.min(heading, 1) + Math.min(text, 4) / 2;
    }
    return sum;
  }

  function snippet({ text, folds }, [{ word, pattern }]) {
    const line = document.createElement("p");
    const letters = [...text], at = folds[2].search(pattern);
    const first = Math.max(0, at - AROUND), size = word.length;
    const cut = (from, to) => letters.slice(from, to).join("");
    if (at < 0) line.textContent = cut(0, 2 * AROUND);
    else line.append(first ? "… " : "", cut(first, at), Object.assign(document.createElement("mark"), { textContent: cut(at, at + size) }), cut(at + size, at + AROUND), " …");
    return line;
  }

  async function search() {
    const query = byId("words").value;
    const asked = folded(query).split(/\s+/).filter((word) => /[\p{L}\p{N}]/u.test(word)).sort((a, b) => b.length - a.length).map((word) => ({ word, pattern: begins(word) }));
    history.replaceState(null, "", query ? `#q=${encodeURIComponent(query)}` : "#");
    if (!asked.length) {
      byId("found").replaceChildren();
      byId("said").textContent = "";
      return;
    }
    try {
      const parts = (await words()).map((part) => [points(part, asked), part]).filter(([sum]) => sum);
      if (query !== byId("words").value) return;
      parts.sort(([a], [b]) => b - a);
      byId("said").textContent = parts.length ? `${parts.length} place${parts.length > 1 ? "s" : ""}${parts.length > MOST ? `, the first ${MOST} are shown` : ""}.` : "Nothing has all of these words. Try fewer, or their beginnings.";
      byId("found").replaceChildren(...parts.slice(0, MOST).map(([, part]) => {
        const item = document.createElement("li");
        const name = part.heading && part.heading !== part.title ? `${part.title}: ${part.heading}` : part.title;
        item.append(Object.assign(document.createElement("a"), { href: part.place, textContent: name }), snippet(part, asked));
        return item;
      }));
    } catch (error) {
      byId("said").textContent = error.message;
    }
  }

  let waiting = 0;
  byId("words").addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(search, 150);
  });
  byId("ask").addEventListener("submit", (event) => (event.preventDefault(), search()));
  const asked = new URLSearchParams(location.hash.slice(1)).get("q");
  byId("words").focus();
  if (asked) {
    byId("words").value = asked;
    search();
  }
})();
