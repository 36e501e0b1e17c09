// A slide fills its room: its one picture takes what the words leave, and words alone grow. A live view fits itself.
// Below: what every host of a deck does alike, how it looks, which keys are whose, which cells run. The exported page holds this file,
// and the extensions for the two RISEs load it.
"use strict";

// The part of the course gives the deck its colour, the lesson its place in the strip at the foot (rise.part, rise.lesson).
function showPlace(rise) {
  if (rise.numbers) keepNumbers(rise.numbers, rise.slides);
  if (rise.part) document.body.dataset.part = rise.part;
  if (!rise.lesson) return;
  document.body.dataset.lesson = rise.lesson;
  document.body.style.setProperty("--lesson", rise.lesson);
}

// On a route a slide keeps the number that it has in the whole deck: slides, notes and the teaching guide name it (rise.numbers, rise.slides).
function keepNumbers(numbers, all) {
  const write = () => {
    const slides = [...document.querySelectorAll(".reveal .slides > section > section")];
    const own = numbers[slides.findIndex((one) => one.matches(".present > .present"))];
    for (const [part, text] of own ? [["a", `${own}`], ["b", `${all}`]] : []) {
      const place = document.querySelector(`.reveal .slide-number-${part}`);
      if (place && place.textContent !== text) place.textContent = text;
    }
  };
  new MutationObserver(write).observe(document.body, { childList: true, subtree: true });
  write();
}

function fillSlide() {
  const slide = document.querySelector(".reveal:not(.overview) .slides > section > section.present");
  if (!slide) return;
  for (const name of ["picture", "grow", "air", "drop"]) slide.style.removeProperty(`--slide-${name}`);
  slide.classList.remove("bertlook-fills", "bertlook-beside");
  const live = slide.querySelector(".bertlook, .bertlook-course, .bertlook-explorer:not(:has(figure)), iframe, canvas");
  const pictures = live ? [] : [...slide.querySelectorAll("figure > svg, figure > img")].filter((one) => one.checkVisibility());
  const several = slide.querySelector(".bertlook-static:has(> figure + figure)");
  if (pictures.length === 1) fillPicture(slide, pictures[0]);
  else if (pictures.length && several) fillPictures(slide, several);
  growWords(slide, live || pictures.length ? [1.2, 1.1] : [1.5, 1.4, 1.3, 1.2, 1.1], live ? 0.12 * window.innerHeight : 0);
  lowerBody(slide);
}

// The height that is left above the footer.
function restOf(slide) {
  return 0.93 * window.innerHeight - slide.scrollHeight - 4;
}

// The one picture takes the room that is left; where it is narrow, its caption stands beside it.
function fillPicture(slide, picture) {
  const box = picture.viewBox?.baseVal;
  const [w, h] = box ? [box.width, box.height] : [picture.naturalWidth, picture.naturalHeight];
  if (!w || !h) return;
  const figure = picture.parentElement;
  const caption = figure.querySelector("figcaption");
  const beside = caption?.textContent.trim() && w < 1.4 * h && figure.clientWidth > 900;
  const free = restOf(slide) + (beside ? caption.offsetHeight : 0);
  const widest = (beside ? 0.62 : 1) * figure.clientWidth;
  let height = Math.min(picture.getBoundingClientRect().height + free, (widest * h) / w);
  slide.classList.add("bertlook-fills");
  slide.classList.toggle("bertlook-beside", Boolean(beside));
  for (; height >= 0.25 * window.innerHeight; height *= 0.95) {
    slide.style.setProperty("--slide-picture", `${Math.floor(height)}px`);
    if (restOf(slide) >= 0) return;
  }
  slide.style.removeProperty("--slide-picture");
  slide.classList.remove("bertlook-fills", "bertlook-beside");
}

// Pictures that stand in for a live view are side by side, and as high as the room that is left.
function fillPictures(slide, group) {
  const heights = [...group.querySelectorAll("img")].map((one) => (one.parentElement.clientWidth * one.naturalHeight) / (one.naturalWidth || 1));
  for (let height = Math.min(Math.max(...heights), 0.8 * window.innerHeight); height >= 0.25 * window.innerHeight; height *= 0.95) {
    slide.style.setProperty("--slide-picture", `${Math.floor(height)}px`);
    if (restOf(slide) >= 0) return;
  }
}

// Type grows as far as all of the slide, hidden fragments too, keeps its room and no line of code breaks; then lines move apart.
// A live view may still grow a little: some room is spared for it.
function growWords(slide, sizes, spare) {
  const boxes = [slide, ...slide.querySelectorAll("pre, table, .jp-RenderedHTMLCommon, .rendered_html, .cm-content, .jp-OutputArea-output")];
  const wide = () => boxes.filter((box) => box.scrollWidth > box.clientWidth + 1).length;
  const lines = () => codes.reduce((sum, code) => sum + Math.round(code.offsetHeight / parseFloat(getComputedStyle(code).lineHeight)), 0);
  const codes = [...slide.querySelectorAll("pre, div.cm-content, .CodeMirror-code")];
  const before = [wide(), lines()];
  const set = (grow) => slide.style.setProperty("--slide-grow", grow);
  if (!sizes.some((grow) => (set(grow), restOf(slide) >= spare && wide() <= before[0] && lines() <= before[1]))) slide.style.removeProperty("--slide-grow");
  const blocks = slide.querySelectorAll(":is(.jp-RenderedMarkdown, .text_cell_render) :is(p, li)").length;
  const air = Math.min(0.03 * window.innerHeight, (0.4 * restOf(slide)) / (blocks + 1));
  if (air > 2) slide.style.setProperty("--slide-air", `${Math.floor(air)}px`);
  if (restOf(slide) < 0) slide.style.removeProperty("--slide-air");
}

// What is below the heading stands in the middle of the room that is left.
function lowerBody(slide) {
  const free = restOf(slide);
  if (free > 8) slide.style.setProperty("--slide-drop", `${Math.floor(0.45 * free)}px`);
}

// Code is looked at once: after its slide has been left it is one line, and a click, Enter or the key C shows it again. What the
// class is to change stays, and what has no result.
function foldCode(slide, folded) {
  if (!slide.querySelector(":is(.jp-OutputArea-output, .output_subarea):not(:empty)")) return;
  for (const cell of slide.querySelectorAll(".jp-CodeCell, .code_cell")) {
    const code = cell.querySelector(":scope > :is(.jp-Cell-inputWrapper, .input)");
    if (!code || (folded && (!code.offsetHeight || code.textContent.includes("# change me")))) continue;
    if (folded && !cell.querySelector(":scope > .bertlook-unfold")) {
      const lines = code.querySelectorAll(".cm-line, .CodeMirror-line").length || code.textContent.trim().split("\n").length;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "bertlook-unfold";
      button.textContent = `code: ${lines} line${lines === 1 ? "" : "s"} (C)`;
      button.addEventListener("click", () => (foldCode(slide, false), fillSlide()));
      code.before(button);
    }
    cell.classList.toggle("bertlook-folded", folded);
  }
}

function turnCode(event) {
  if (event.key?.toLowerCase() !== "c" || event.ctrlKey || event.metaKey || event.altKey) return;
  const typed = "input, textarea, select, [contenteditable='true'], .cm-editor, .CodeMirror, .jp-OutputArea-output, .output_subarea";
  const slide = document.querySelector(".reveal:not(.overview) .slides > section > section.present");
  if (!slide || event.target?.closest?.(typed)) return;
  foldCode(slide, !slide.querySelector(".bertlook-folded"));
  fillSlide();
  event.preventDefault();
  event.stopImmediatePropagation();
}

// A picture that is an image cannot use the page's typeface: the slides' own is put into it.
async function dressPictures() {
  const bare = () => document.querySelectorAll(".reveal figure > img[src^='data:image/svg+xml;base64,']:not([data-dressed])");
  if (!bare().length) return;
  window.bertlookType ??= pageType();
  const faces = await window.bertlookType;
  if (!faces.length) return setTimeout(() => (window.bertlookType = null), 500); // the slideshow's own sheet may come later: it is looked for again
  for (const image of bare()) {
    image.dataset.dressed = "";
    const [head, body] = image.src.split(",");
    const svg = atob(body);
    const used = faces.filter(({ weight }) => weight === 400 || svg.includes("font-weight"));
    const rules = used.map(({ weight, data }) => `@font-face{font-family:SlideType;font-weight:${weight};src:url(${data})}`).join("");
    const dress = `<style>${rules}svg,text,tspan{font-family:SlideType,sans-serif!important}</style>`;
    image.src = `${head},${btoa(svg.replace(/<svg\b[^>]*>/, (tag) => tag + dress))}`;
  }
}

// The two weights of the slides' typeface, as addresses that carry them.
async function pageType() {
  const found = [];
  for (const sheet of document.styleSheets) {
    let rules = [];
    try {
      rules = [...sheet.cssRules].filter((rule) => rule instanceof CSSFontFaceRule);
    } catch {} // of another host
    for (const { style } of rules) {
      const weight = { normal: 400, 400: 400, bold: 600, 600: 600 }[style.getPropertyValue("font-weight") || "normal"];
      const address = style.getPropertyValue("src").match(/url\("?(data:[^")]+|[^")]+\.woff)"?\)/)?.[1];
      if (!/Source Sans Pro/.test(style.getPropertyValue("font-family")) || /italic/.test(style.getPropertyValue("font-style"))) continue;
      if (!address || !weight || found.some((one) => one.weight === weight)) continue;
      const file = address.startsWith("data:") ? null : await fetch(new URL(address, sheet.href ?? document.baseURI)).catch(() => null);
      if (!address.startsWith("data:") && !file?.ok) continue;
      const bytes = file && new Uint8Array(await file.arrayBuffer());
      found.push({ weight, data: bytes ? `data:font/woff;base64,${btoa(bytes.reduce((text, byte) => text + String.fromCharCode(byte), ""))}` : address });
    }
  }
  return found;
}

// Words are set as in print: a minus before a number is a minus sign, and no line ends between a number and its unit or beside an
// equals sign. As views/drawing/svg.py sets the captions of pictures.
function setLikePrint() {
  const slide = document.querySelector(".reveal .slides > section > section.present");
  for (const words of slide?.querySelectorAll(".jp-RenderedMarkdown, .text_cell_render, .output_markdown") ?? []) {
    const texts = document.createTreeWalker(words, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      if (text.data.includes("$") || text.parentElement.closest("code, pre, script, .MathJax, .MathJax_Preview, mjx-container")) continue; // formulas are MathJax's
      const set = text.data
        .replace(/(?<![\w\u2212-])-(?=\.?\d)/g, "\u2212")
        .replace(/(?<=\d) (?=%|nats\b|points?\b)|(?<=\w) (?=[=<>])|(?<=[=<>]) (?=[\u2212.\w])/g, "\u00a0");
      if (set !== text.data) text.data = set;
    }
  }
}

// Whenever another slide comes, the window changes, or a cell has shown something or taken another size. Filling measures the slide
// many times over: one that is as the last filling left it is not filled again.
function keepFilled() {
  let waiting = false;
  let shown = null;
  let left = null;
  const PARTS = ".jp-Cell, .cell, .bertlook, .jupyter-widgets, figure";
  const present = () => document.querySelector(".reveal .slides > section > section.present");
  const state = (slide = present()) => `${slide?.getElementsByTagName("*").length} ${[...(slide?.querySelectorAll(PARTS) ?? [])].map((part) => [part.offsetWidth, part.offsetHeight])}`;
  const fill = () => (setLikePrint(), fillSlide(), (left = state()));
  const soon = () => {
    if (!waiting) requestAnimationFrame(() => ((waiting = false), state() === left || fill(), dressPictures()));
    waiting = true;
  };
  const sizes = new ResizeObserver(soon);
  const turned = () => {
    const slide = present();
    if (shown && shown !== slide) foldCode(shown, true);
    shown = slide;
    sizes.disconnect();
    for (const part of slide?.querySelectorAll(PARTS) ?? []) sizes.observe(part);
    fill();
    dressPictures();
  };
  for (const name of ["ready", "slidechanged", "overviewhidden"]) document.addEventListener(name, turned);
  window.addEventListener("keydown", turnCode, { capture: true });
  window.addEventListener("resize", fill);
  document.addEventListener("load", () => ((left = null), soon()), { capture: true }); // a picture inside a slide; the window never hears of it
  new MutationObserver(soon).observe(document.body, { childList: true, subtree: true });
}

// How the slides look (slides/theme/looks.css): ?look=dark or ?look=projector in the address, else the deck's own (rise.look).
const LOOKS = ["", "dark", "projector"];

function wear(chosen) {
  for (const name of LOOKS.slice(1)) document.body.classList.toggle(`bertlook-${name}`, name === chosen);
}

const wearFirst = (own) => wear(new URLSearchParams(window.location.search).get("look") ?? own);

function wearNext() {
  const now = LOOKS.findIndex((name) => name && document.body.classList.contains(`bertlook-${name}`));
  wear(LOOKS[(Math.max(0, now) + 1) % LOOKS.length]);
}

// Letters that mean something on every slide, such as D for the next look; `busy` says where a letter is typed, or is a widget's.
function guardLetters(letters, busy) {
  window.addEventListener("keydown", (event) => {
    const meant = letters[event.key.toLowerCase()];
    if (!meant || event.ctrlKey || event.metaKey || event.altKey) return;
    if (!(event.target instanceof Element) || busy(event.target)) return;
    event.stopImmediatePropagation();
    event.preventDefault();
    meant();
  }, { capture: true });
}

// Inside a widget a key belongs to the widget, but nothing holds the keyboard. Page Up and Page Down turn the slide from anywhere, and `b` and
// the full stop make the screen black where no letters are typed: a presenter's remote has these keys. Escape leaves what has no use of its
// own for it, and Enter a line of text, which is then computed. `deck` gives the element that hears the deck's keys.
const TEXT_FIELDS = "textarea, [contenteditable], input:not([type=range], [type=checkbox], [type=radio], [type=button])";
const PAUSE = { key: ".", code: "Period", keyCode: 190 };

function guardWidgets(inside, deck) {
  const presenting = () => document.body.classList.contains("rise-enabled");
  const around = (target) => target instanceof Element && presenting() && inside(target);
  const leave = () => {
    document.activeElement?.blur();
    deck().focus({ preventScroll: true });
  };
  const press = ({ key, code, keyCode }) => {
    leave();
    deck().dispatchEvent(new KeyboardEvent("keydown", { key, code, keyCode, which: keyCode, bubbles: true, cancelable: true }));
  };
  // What a key means to the deck wherever it is pressed, in a frame too.
  const meant = (event, types) => {
    if (["PageUp", "PageDown"].includes(event.key)) return () => press(event);
    return ["b", "."].includes(event.key) && !types ? () => press(PAUSE) : null;
  };
  let entered = null;
  window.addEventListener("keydown", (event) => {
    const { target, key } = event;
    if (!(target instanceof Element) || !presenting()) return;
    const [widget, types] = [around(target), target.closest(TEXT_FIELDS)];
    const act = event.ctrlKey || event.metaKey || event.altKey || event.shiftKey ? null : meant(event, types);
    if (act && (widget || types || key === "b")) {
      event.stopImmediatePropagation();
      event.preventDefault();
      act();
    } else if (widget) {
      target.setAttribute("data-lm-suppress-shortcuts", "true"); // JupyterLab's shortcuts listen before the widget
      entered = key === "Enter" && target.matches("input") && types && !event.isComposing ? target : null;
      if (key === "Escape") setTimeout(() => event.defaultPrevented || leave()); // by then the widget has said whether it had a use for it
    }
  }, { capture: true });
  window.addEventListener("keyup", ({ target, key }) => {
    if (key === "Enter" && target === entered) leave(); // the field has told its view what was typed
    entered = null;
  }, { capture: true });
  for (const type of ["keydown", "keypress"]) {
    document.body.addEventListener(type, (event) => around(event.target) && event.stopPropagation());
  }
  // A frame is another page: what is pressed there comes as a message (bertviz/frame/keys.js).
  window.addEventListener("message", ({ source, data }) => {
    const frames = [...document.querySelectorAll(".reveal section.present iframe")];
    if (!data?.bertlookKey || !frames.some((frame) => frame.contentWindow === source)) return;
    (meant(data.bertlookKey, false) ?? leave)();
  });
}

// Which cells run when a deck is opened: "all", or "init" (tagged so), as ?run=all|init|none says, else the notebook's metadata
// rise.autorun (true means "all"). `own` gives a cell's metadata and whether it holds code.
function cellsToRun(cells, autorun, own) {
  const setting = new URLSearchParams(window.location.search).get("run") ?? autorun;
  const which = setting === true ? "all" : setting;
  if (which !== "all" && which !== "init") return [];
  return cells.filter((cell) => {
    const { code, init, tags } = own(cell);
    return code && (which === "all" || init === true || (tags ?? []).includes("init"));
  });
}

// A line at the top for what is going on.
function statusLine() {
  const node = document.createElement("div");
  node.id = "bertlook-status";
  node.setAttribute("role", "status");
  node.style.cssText =
    "position: fixed; right: 12px; top: 8px; z-index: 40; font: 18px system-ui, sans-serif;" +
    " color: #333; background: rgb(255 255 255 / 85%); padding: 2px 8px; border-radius: 4px";
  document.body.append(node);
  return (text) => {
    node.textContent = text;
    node.hidden = !text;
  };
}

// Of a notebook that is not trusted nothing is run until the reader says so; `trust` tells the server.
function offerTrust(note, trust) {
  note("This notebook is not trusted: nothing was run. ");
  const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Trust it" });
  button.addEventListener("click", async () => {
    if (!window.confirm("Trust this notebook? Its cells run when it is opened, with all that you may do on this computer.")) return;
    const reply = await trust();
    if (reply.ok) window.location.reload();
    else button.textContent = `It could not be trusted: ${reply.statusText}`;
  });
  document.getElementById("bertlook-status").append(button);
}
