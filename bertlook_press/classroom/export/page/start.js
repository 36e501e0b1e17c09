// Starts the slideshow, with the keys and the looks that a deck has in Jupyter (../../labextension).
"use strict";

const rise = JSON.parse(document.getElementById("bertlook-settings").textContent);
const { look, routes, part, lesson, ...settings } = rise;

// ?route=20|50|90 (minutes): the other slides are taken out before the show begins. A menu at the foot and the key R lead to the others.
const asked = new URLSearchParams(window.location.search).get("route");
const route = routes.find((minutes) => String(minutes) === asked);
if (asked !== null && !route) {
  const said = document.createElement("span");
  said.id = "bertlook-route";
  said.setAttribute("role", "status");
  said.textContent = `No route “${asked}”; there is: ${routes.join(", ")}. All slides are shown.`;
  document.body.append(said);
} else if (routes.length > 1) {
  const menu = document.createElement("nav");
  menu.id = "bertlook-routes";
  menu.setAttribute("aria-label", "Routes through the deck, in minutes (key R)");
  for (const minutes of routes) {
    const link = document.createElement("a");
    link.textContent = minutes;
    link.href = routeAddress(minutes);
    link.addEventListener("click", (event) => {
      event.preventDefault();
      window.location.assign(routeAddress(minutes)); // with the slide that is shown now
    });
    if (minutes === (route ?? routes.at(-1))) link.setAttribute("aria-current", "true");
    menu.append(link);
  }
  menu.append("min");
  document.body.append(menu);
}
function routeAddress(minutes) {
  const address = new URL(window.location.href);
  address.searchParams.set("route", minutes);
  return address.href; // the hash names the slide; if the route leaves it out, the show begins anew
}
if (route) {
  const all = [...document.querySelectorAll(".slides section section")];
  const shown = (slide) => slide.dataset.routes.split(" ").includes(String(route));
  rise.slides = all.length;
  rise.numbers = all.flatMap((slide, i) => (shown(slide) ? [i + 1] : []));
  for (const slide of all) {
    if (shown(slide)) continue;
    const stack = slide.parentElement;
    slide.remove();
    if (!stack.querySelector("section")) stack.remove();
  }
}
const { pieces, frames } = JSON.parse(document.getElementById("bertlook-frames").textContent); // ../frames.py
for (const frame of document.querySelectorAll("iframe[data-frame]")) frame.srcdoc = frames[frame.dataset.frame].map((i) => pieces[i]).join("");
function nextRoute() {
  window.location.assign(routeAddress(routes[(routes.indexOf(route ?? routes.at(-1)) + 1) % routes.length]));
}

Reveal.initialize({
  ...settings,
  width: "100%", height: "100%", margin: 0, minScale: 1, maxScale: 1, // the style sheet gives every size, as in RISE
  hash: true, history: false, fragmentInURL: false,
  keyboard: { 87: () => Reveal.toggleOverview() }, // w; t is in fill.js
});

// The deck's own look, or what the reader chose on the site that holds it, or what the reader's system has.
function ownLook() {
  let kept = null;
  try {
    kept = localStorage.getItem("bertlook-look");
  } catch {} // a browser that keeps nothing
  const dark = kept ? kept === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
  return look ?? (dark ? "dark" : "");
}

wearFirst(ownLook());
showPlace(rise);
keepFilled();

// Arrows scroll what has more to show; where it ends they are the deck's.
const ARROWS = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };

window.addEventListener("keydown", (event) => {
  const slide = document.querySelector(".reveal:not(.overview) .slides > section > section.present");
  const [x, y] = ARROWS[event.key] ?? [0, 0];
  if (!slide || !(x || y) || event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || event.target.closest?.(".bertlook-live, textarea, select, input")) return;
  const box = event.target.closest?.("[data-scrolls]") ?? slide;
  const [right, down] = roomToScroll(box);
  const left = x ? (x > 0 ? right - box.scrollLeft : box.scrollLeft) : y > 0 ? down - box.scrollTop : box.scrollTop;
  if (left < 2) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  box.scrollBy({ left: 0.4 * x * box.clientWidth, top: 0.4 * y * box.clientHeight });
}, { capture: true });

if (Reveal.isReady()) fillSlide();
const letters = routes.length > 1 ? { d: wearNext, r: nextRoute } : { d: wearNext };
guardLetters(letters, (target) => target.closest(".bertlook-live, textarea, select, input"));
