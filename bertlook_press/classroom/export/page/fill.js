// A slide fills its room: its one picture takes what the words leave, and words alone grow. A live view fits itself.
// Below: what every host of a deck does alike, how it looks, which keys are whose, which cells run. The exported page holds this file,
// and the extensions for the two RISEs load it.
"use strict";

// The part of the course gives the deck its colour, the lesson its place in the strip at the foot (rise.part, rise.lesson).
// A deck without the style sheet beside it may ask for it by name (rise.stylesheet); `base` is the address of the server that has it.
function showPlace(rise, base = "") {
  if (rise.stylesheet === "bertlook" && base) {
    const link = { rel: "stylesheet", href: `${base}bertlook/theme.css`, onload: () => fillSlide() };
    document.head.append(Object.assign(document.createElement("link"), link));
  }
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

function fillSlide(page = document) {
  const slide = page.querySelector(".reveal:not(.overview) .slides > section > section.present");
  if (!slide) return;
  for (const name of ["picture", "grow", "air", "drop"]) slide.style.removeProperty(`--slide-${name}`);
  slide.classList.remove("bertlook-fills", "bertlook-beside");
  const live = slide.querySelector(".bertlook, .bertlook-course, .bertlook-explorer:not(:has(figure)), iframe, canvas");
  const pictures = live ? [] : [...slide.querySelectorAll("figure > svg, figure > img")].filter((one) => one.checkVisibility());
  const several = slide.querySelector(".bertlook-static:has(> figure + figure)");
  if (pictures.length === 1) fillPicture(slide, pictures[0]);
  else if (pictures.length && several) fillPictures(slide, several);
  growWords(slide, live || pictures.length ? [1.2, 1.1] : [1.5, 1.4, 1.3, 1.2, 1.1], live ? 0.12 * roomOf(slide) : 0);
  lowerBody(slide);
  letKeysScroll(slide);
}

// What has to be scrolled, on a telephone or where the page is enlarged, is reached by key; an output also by what is inside it.
function letKeysScroll(slide) {
  for (const box of [slide, ...slide.querySelectorAll(".jp-OutputArea-output, .output_subarea, .cm-scroller")]) {
    const scrolls = roomToScroll(box).some((room) => room > 1) && (box === slide || !box.querySelector("a[href], button, input, select, textarea, [tabindex='0']"));
    if (scrolls) box.setAttribute("tabindex", "0");
    else if (box.dataset.scrolls) box.removeAttribute("tabindex");
    if (scrolls) box.dataset.scrolls = "yes";
    else delete box.dataset.scrolls;
  }
}

// How far a box can be scrolled: to the right and down.
function roomToScroll(box) {
  const { overflowX, overflowY } = getComputedStyle(box);
  const may = (overflow) => /auto|scroll/.test(overflow);
  return [may(overflowX) ? box.scrollWidth - box.clientWidth : 0, may(overflowY) ? box.scrollHeight - box.clientHeight : 0];
}

// The height of the window that shows the slide: the room's, or that of a picture of it in the speaker's window.
function roomOf(slide) {
  return slide.ownerDocument.defaultView.innerHeight;
}

// The height that is left above the footer.
function restOf(slide) {
  return 0.93 * roomOf(slide) - slide.scrollHeight - 4;
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
  for (; height >= 0.25 * roomOf(slide); height *= 0.95) {
    slide.style.setProperty("--slide-picture", `${Math.floor(height)}px`);
    if (restOf(slide) >= 0) return;
  }
  slide.style.removeProperty("--slide-picture");
  slide.classList.remove("bertlook-fills", "bertlook-beside");
}

// Pictures that stand in for a live view are side by side, and as high as the room that is left.
function fillPictures(slide, group) {
  const heights = [...group.querySelectorAll("img")].map((one) => (one.parentElement.clientWidth * one.naturalHeight) / (one.naturalWidth || 1));
  for (let height = Math.min(Math.max(...heights), 0.8 * roomOf(slide)); height >= 0.25 * roomOf(slide); height *= 0.95) {
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
  const air = Math.min(0.03 * roomOf(slide), (0.4 * restOf(slide)) / (blocks + 1));
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

// Where a letter is typed, or is a view's.
const TYPED = "input, textarea, select, [contenteditable='true'], .cm-editor, .CodeMirror, .jp-OutputArea-output, .output_subarea";

function turnCode(event) {
  if (event.key?.toLowerCase() !== "c" || event.ctrlKey || event.metaKey || event.altKey) return;
  const slide = document.querySelector(".reveal:not(.overview) .slides > section > section.present");
  if (!slide || event.target?.closest?.(TYPED)) return;
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

// Words are set as in print: a minus before a number is a minus sign, and no line ends between a number and its unit, beside an
// equals sign or in the name of a head.
function setLikePrint(page = document) {
  const slide = page.querySelector(".reveal .slides > section > section.present");
  for (const words of slide?.querySelectorAll(".jp-RenderedMarkdown, .text_cell_render, .output_markdown, figcaption") ?? []) {
    const texts = page.createTreeWalker(words, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      if (text.data.includes("$") || text.parentElement.closest("code, pre, script, .MathJax, .MathJax_Preview, mjx-container")) continue; // formulas are MathJax's
      const set = text.data
        .replace(/(?<![\w\u2212-])-(?=\.?\d)/g, "\u2212")
        .replace(/(?<=\b\d{1,2})-(?=\d{1,2}\b)/g, "-\u2060")
        .replace(/(?<=\d) (?=%|nats\b|points?\b)|(?<=\w) (?=[=<>≥≤])|(?<=[=<>≥≤]) (?=[\u2212.\w])|(?<=\[[\u2212+.\d]+,) (?=[\u2212+.\d]+\])/g, "\u00a0");
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
  const fill = () => (setLikePrint(), hangDoors(present()), fillSlide(), (left = state()));
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
  for (const type of ["click", "keydown"]) window.addEventListener(type, openDoors, { capture: true });
  keepSpeaker();
  window.addEventListener("resize", fill);
  document.addEventListener("load", () => ((left = null), soon()), { capture: true }); // a picture inside a slide; the window never hears of it
  new MutationObserver(soon).observe(document.body, { childList: true, subtree: true });
}

// A part of a picture opens the slide whose title begins with its words (data-opens): by a click, or by Enter where it has the focus.
function openDoors(event) {
  const door = event.target instanceof Element && event.target.closest(".reveal section.present [data-opens]");
  if (!door || (event.type === "keydown" && event.key !== "Enter")) return;
  const slides = [...document.querySelectorAll(".reveal .slides > section")];
  const place = slides.findIndex((one) => one.querySelector("h2")?.textContent.startsWith(door.dataset.opens));
  if (place < 0) return; // a route may leave it out
  event.preventDefault();
  event.stopImmediatePropagation();
  document.activeElement?.blur();
  window.location.hash = `#/${place}`;
}

// Such a part is a link only where it leads somewhere: in a show. A picture that holds links is no single image to a screen reader.
function hangDoors(slide) {
  for (const door of slide?.querySelectorAll("[data-opens]:not([role])") ?? []) {
    door.closest("svg").setAttribute("role", "group");
    for (const [name, value] of [["role", "link"], ["tabindex", "0"], ["aria-label", `opens: ${door.dataset.opens}`]]) door.setAttribute(name, value);
    door.style.cursor = "pointer";
  }
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

// ---- the speaker's window (key T): what the room sees, what comes next, the notes, the room's number, a clock ----
// Both previews are copies of the room's own page, at its size, made smaller. No deck is loaded a second time: a copy looks as it does in the room,
// whatever was typed or clicked there, and can neither run nor turn anything. Keys pressed in the window go to the show.

const SPEAKER = `<!DOCTYPE html><meta charset="utf-8"><title>Speaker</title><style>
  body { display: grid; grid-template: auto minmax(0, 1fr) / 58fr 42fr; gap: 10px 16px; height: 100vh; box-sizing: border-box; margin: 0; padding: 12px 16px; background: #fff; color: #1b1f24; font: 20px/1.4 "Source Sans Pro", system-ui, sans-serif }
  figure { margin: 0 } figcaption { display: flex; justify-content: space-between; color: #595959 } figure > div { position: relative; overflow: hidden; border: 1px solid #8a929b }
  iframe { position: absolute; border: 0; transform-origin: 0 0; pointer-events: none } #number, #clock { color: #1b1f24; font-variant-numeric: tabular-nums } #clock { border: 0; background: none; font-size: 34px }
  #notes { grid-column: 1 / 3; overflow: auto; font-size: 22px } #notes p { margin: 0 0 0.5em } .jp-InternalAnchorLink, .anchor-link { display: none }
</style><figure><figcaption>The room sees<b id="number" aria-label="Slide"></b></figcaption><div><iframe tabindex="-1" title="What the room sees"></iframe></div></figure>
<figure><figcaption id="next"></figcaption><div><iframe tabindex="-1" title="What comes next"></iframe></div><button id="clock" title="Since the window was opened; a click begins anew"></button></figure>
<div id="notes" role="region" aria-label="Notes" tabindex="0"></div>`;

let speaker = null;
let drawing = 0;

function writePage(page, text) {
  page.open();
  page.write(text);
  page.close();
}

function openSpeaker() {
  if (speaker && !speaker.closed) return speaker.focus();
  speaker = window.open("", "", "width=1200,height=860");
  if (!speaker) return window.alert("The browser keeps the speaker's window shut. Allow this page to open windows, then press T again.");
  const page = speaker.document;
  writePage(page, SPEAKER);
  for (const frame of page.querySelectorAll("iframe")) writePage(frame.contentDocument, "<!DOCTYPE html><body></body>");
  speaker.began = Date.now();
  page.getElementById("clock").addEventListener("click", () => (speaker.began = Date.now()));
  speaker.addEventListener("resize", drawSoon);
  page.addEventListener("keydown", (event) => {
    const { key, code, keyCode, shiftKey } = event;
    if (!/^( |Page(Up|Down)|Arrow(Left|Right)|Home|End|[b.])$/.test(key) || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (document.activeElement?.closest(TYPED)) document.activeElement.blur();
    const deck = document.querySelector(".jp-Notebook.slides") ?? document.body;
    deck.dispatchEvent(new KeyboardEvent("keydown", { key, code, keyCode, which: keyCode, shiftKey, bubbles: true, cancelable: true }));
  });
  drawSpeaker();
}

// A copy of a part of the page. What other slides hold is left out, and what would run, or was said to the speaker alone.
function copyPart(page, part, slide) {
  const made = page.importNode(part, false);
  const other = part.matches?.(".slides section") && part !== slide && !part.contains(slide);
  for (const child of other ? [] : part.childNodes) if (!child.matches?.("script, noscript, style, link, aside.notes")) made.append(copyPart(page, child, slide));
  for (const name of ["value", "checked"]) if (name in part && part.matches?.("input, select, textarea")) made[name] = part[name];
  if (part.width && part.matches?.("canvas")) made.getContext("2d").drawImage(part, 0, 0);
  return made;
}

// The rules of a style sheet and of those it imports, with full addresses.
function rulesOf(sheet) {
  const full = (_, address) => `url("${new URL(address, sheet.href ?? document.baseURI)}")`;
  try {
    return [...sheet.cssRules].map((rule) => (rule.styleSheet ? rulesOf(rule.styleSheet) : rule.cssText.replace(/url\("(?!data:|#)([^"]+)"\)/g, full))).join("\n");
  } catch {
    return ""; // a sheet that the server did not give
  }
}

function drawSlide(frame, slide) {
  const page = frame.contentDocument;
  const scale = frame.parentElement.clientWidth / window.innerWidth;
  frame.parentElement.style.height = `${scale * window.innerHeight}px`;
  Object.assign(frame.style, { width: `${window.innerWidth}px`, height: `${window.innerHeight}px`, transform: `scale(${scale})` });
  frame.hidden = !slide;
  if (!slide) return;
  const sheets = [...document.styleSheets, ...document.adoptedStyleSheets];
  if (frame.dataset.sheets !== String(sheets.length)) { // views bring theirs when they come
    frame.dataset.sheets = sheets.length;
    const texts = [...sheets.map(rulesOf), "* { transition: none !important; animation: none !important }"];
    page.head.replaceChildren(...texts.map((textContent) => Object.assign(page.createElement("style"), { textContent })));
  }
  for (const { name, value } of document.documentElement.attributes) page.documentElement.setAttribute(name, value);
  page.body.replaceWith(copyPart(page, document.body, slide));
  if (slide.matches(".present > .present")) return;
  for (const one of page.querySelectorAll(".slide-number, .progress")) one.remove(); // they are those of the slide before
  for (const one of page.querySelectorAll("section.present")) one.classList.replace("present", "past");
  const shown = page.querySelector(".slides > section > section:not(:empty)");
  for (const one of [shown, shown.parentElement]) {
    one.classList.remove("future", "past");
    one.classList.add("present");
    one.removeAttribute("hidden");
    one.style.display = "block";
  }
  setLikePrint(page);
  fillSlide(page);
}

function drawSpeaker() {
  drawing = 0;
  const slides = [...document.querySelectorAll(".reveal .slides > section > section")];
  const place = slides.findIndex((one) => one.matches(".present > .present"));
  if (!speaker || speaker.closed || place < 0) return;
  const page = speaker.document;
  const [now, next] = page.querySelectorAll("iframe");
  const steps = [...slides[place].querySelectorAll(".fragment:not(.visible)")].map((one) => Number(one.dataset.fragmentIndex));
  drawSlide(now, slides[place]);
  drawSlide(next, steps.length ? slides[place] : slides[place + 1]);
  if (steps.length) for (const one of next.contentDocument.querySelectorAll(`[data-fragment-index="${Math.min(...steps)}"]`)) one.classList.add("visible");
  page.title = `Speaker: ${document.title}`;
  page.getElementById("next").textContent = steps.length ? "Next, on this slide" : next.hidden ? "The last slide" : "Next";
  page.getElementById("number").textContent = document.querySelector(".reveal .slide-number")?.textContent.replace(/\s+/g, " ").trim() ?? "";
  // Jupyter keeps a note as it was written beside the note as it is set. "Say:" begins a line.
  const asides = [...slides[place].querySelectorAll("aside.notes")];
  const set = asides.flatMap((aside) => (aside.querySelector(".jp-Cell, .cell") ? [...aside.querySelectorAll(".jp-RenderedMarkdown, .text_cell_render")] : aside));
  const text = set.map((one) => one.innerHTML).join("").replace(/\n(?=<strong>[^<]*<\/strong>)/g, "<br>");
  const notes = page.getElementById("notes");
  if (speaker.said !== text) [speaker.said, notes.innerHTML, notes.scrollTop] = [text, text, 0];
}

function drawSoon() {
  if (speaker) drawing ||= setTimeout(drawSpeaker, 250);
}

function tellTime() {
  const clock = speaker?.document?.getElementById("clock");
  const seconds = Math.floor((Date.now() - speaker?.began) / 1000);
  if (clock) clock.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} · ${new Date().toLocaleTimeString([], { timeStyle: "short" })}`;
}

function keepSpeaker() {
  const slide = () => document.querySelector(".reveal .slides > section > section.present");
  guardLetters({ t: openSpeaker }, (target) => !slide() || target.closest(TYPED));
  new MutationObserver(drawSoon).observe(document.body, { childList: true, subtree: true, attributes: true, characterData: true });
  for (const name of ["input", "change", "resize"]) window.addEventListener(name, drawSoon);
  setInterval(tellTime, 1000);
  window.addEventListener("pagehide", () => speaker?.close()); // a page that is loaded again, as by R on another route, could not reach it
}
