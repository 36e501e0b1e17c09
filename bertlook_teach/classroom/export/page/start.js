// Starts the slideshow, with the keys and the looks that a deck has in Jupyter (../../labextension).
"use strict";

const rise = JSON.parse(document.getElementById("bertlook-settings").textContent);
const { look, ...settings } = rise;

Reveal.initialize({
  ...settings,
  width: "100%", height: "100%", margin: 0, minScale: 1, maxScale: 1, // the style sheet gives every size, as in RISE
  hash: true, history: false, fragmentInURL: false, plugins: [RevealNotes],
  keyboard: { 84: () => Reveal.getPlugin("notes").open(), 87: () => Reveal.toggleOverview() }, // t and w
});

// ?look=dark|projector, else the deck's own; the key D goes on to the next.
const LOOKS = ["", "dark", "projector"];
function wear(chosen) {
  for (const name of LOOKS.slice(1)) document.body.classList.toggle(`bertlook-${name}`, name === chosen);
}
wear(new URLSearchParams(window.location.search).get("look") ?? look);
window.addEventListener("keydown", (event) => {
  if (event.key.toLowerCase() !== "d" || event.ctrlKey || event.metaKey || event.altKey) return;
  if (!(event.target instanceof Element) || event.target.closest(".bertlook-live, textarea, select, input")) return;
  event.stopImmediatePropagation();
  event.preventDefault();
  const now = LOOKS.findIndex((name) => name && document.body.classList.contains(`bertlook-${name}`));
  wear(LOOKS[(Math.max(0, now) + 1) % LOOKS.length]);
}, { capture: true });
