// What a class, a reader and a screen reader would meet on the slide that is shown. tests/browser/looking.py puts this into
// every page that it walks through; `bertlookTests.look()` answers with lists of complaints, each a short sentence.
"use strict";

window.bertlookTests = (() => {
  const SMALLEST = 23.5; // pixels of type; 24 less what a browser rounds away
  const CONTRAST = 4.5; // to 1, whatever the size: a projector takes away half of it
  const RING = 3; // to 1, for what is not text: the mark of the focus

  const present = () => document.querySelector(".reveal .slides section section.present");
  const said = (node) => (node?.textContent ?? "").replace(/\s+/g, " ").trim().slice(0, 40);
  const frames = (count = 2) =>
    new Promise((resolve) => {
      const next = () => (count-- > 0 ? requestAnimationFrame(next) : resolve());
      next();
    });

  // Fragments fade in; what is half there is neither missing nor faint.
  function settle() {
    for (const motion of document.getAnimations()) {
      if (motion.effect?.getComputedTiming().endTime !== Infinity) motion.finish();
    }
  }

  function seen(node) {
    if (!node.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
    const box = node.getBoundingClientRect();
    return box.width >= 2 && box.height >= 2; // smaller is for screen readers only
  }

  // ---- room ----

  function outside(slide) {
    const found = [];
    const frame = slide.getBoundingClientRect();
    if (slide.scrollHeight > slide.clientHeight + 1) found.push(`height ${slide.scrollHeight} of ${slide.clientHeight}`);
    if (slide.scrollWidth > slide.clientWidth + 1) found.push(`width ${slide.scrollWidth} of ${slide.clientWidth}`);
    if (frame.bottom > innerHeight + 1) found.push(`bottom ${frame.bottom} of ${innerHeight}`);
    for (const box of slide.querySelectorAll(".cm-scroller, .jp-RenderedText pre")) {
      if (box.scrollWidth > box.clientWidth + 1) found.push(`line cut: ${said(box).slice(0, 30)}`);
    }
    return found;
  }

  // What a frame around an output or inside it cuts off at the right: nobody scrolls a projected slide sideways.
  function cut(slide) {
    const found = [];
    for (const box of slide.querySelectorAll(".jp-OutputArea, .jp-OutputArea *, .jp-RenderedMarkdown, .jp-RenderedMarkdown *, .output_subarea, .output_subarea *")) {
      if (box.scrollWidth <= box.clientWidth + 1 || !(box instanceof HTMLElement) || !seen(box)) continue;
      const style = getComputedStyle(box);
      if (style.overflowX === "visible" || style.textOverflow === "ellipsis" || style.display === "inline") continue;
      if (box.matches("select, input, textarea, .cm-scroller")) continue;
      const edge = box.getBoundingClientRect().left + box.clientLeft + box.clientWidth;
      const beyond = [...box.querySelectorAll("td, th, p, li, span, div, svg, img, canvas, iframe")].find((part) => {
        if (part.closest(".bl-unseen") || part.getBoundingClientRect().right < edge + 3) return false;
        return seen(part) && (said(part) || part.matches(PICTURES));
      });
      if (beyond) found.push(`${Math.round(beyond.getBoundingClientRect().right - edge)} px cut in ${box.tagName.toLowerCase()}.${[...box.classList].join(".")}: ${said(box)}`);
    }
    return found;
  }

  // ---- text ----

  function* texts(slide) {
    const walker = document.createTreeWalker(slide, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    while (walker.nextNode()) {
      const owner = walker.currentNode.parentElement;
      const text = walker.currentNode.textContent.trim();
      if (!text || owner.closest("script, style, title, desc, option, textarea") || !seen(owner)) continue;
      range.selectNodeContents(walker.currentNode);
      yield { text, owner, box: range.getBoundingClientRect() };
    }
    for (const control of slide.querySelectorAll("select, textarea, input:not([type=range], [type=checkbox], [type=radio])")) {
      const text = (control.matches("select") ? control.selectedOptions[0]?.text : control.value)?.trim();
      if (text && seen(control)) yield { text, owner: control, box: control.getBoundingClientRect() };
    }
  }

  function small(items) {
    const found = [];
    for (const { text, owner } of items) {
      const svg = owner.closest("svg");
      const view = svg?.viewBox.baseVal;
      const frame = svg?.getBoundingClientRect(); // a picture is as large as the narrower of its frame's two sides lets it be
      const scale = view?.width ? Math.min(frame.width / view.width, frame.height / view.height) : 1;
      const size = parseFloat(getComputedStyle(owner).fontSize) * scale;
      if (size < SMALLEST) found.push(`${size.toFixed(1)} px: ${text.slice(0, 30)}`);
    }
    return found;
  }

  // ---- colours: [red, green, blue, alpha], each from 0 to 1 ----

  const CLEAR = [0, 0, 0, 0];
  const known = new Map();
  let dye = null;

  function colour(text) {
    if (!text || text === "none" || text === "transparent") return CLEAR;
    if (known.has(text)) return known.get(text);
    const numbers = (text.match(/-?[\d.]+(?:e-?\d+)?/g) ?? []).map(Number);
    let found = null;
    if (/^rgba?\(/.test(text)) found = [numbers[0] / 255, numbers[1] / 255, numbers[2] / 255, numbers[3] ?? 1];
    else if (text.startsWith("color(srgb ")) found = [numbers[0], numbers[1], numbers[2], numbers[3] ?? 1];
    else {
      dye ??= new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
      dye.clearRect(0, 0, 1, 1);
      dye.fillStyle = text;
      dye.fillRect(0, 0, 1, 1);
      found = [...dye.getImageData(0, 0, 1, 1).data].map((part) => part / 255);
    }
    known.set(text, found);
    return found;
  }

  function over(above, below) {
    const alpha = above[3] + below[3] * (1 - above[3]);
    if (!alpha) return CLEAR;
    return [0, 1, 2].map((i) => (above[i] * above[3] + below[i] * below[3] * (1 - above[3])) / alpha).concat(alpha);
  }

  const thinned = (paint, share) => [paint[0], paint[1], paint[2], paint[3] * share];

  function contrast(one, other) {
    const [high, low] = [one, other]
      .map(([red, green, blue]) => {
        const [r, g, b] = [red, green, blue].map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      })
      .sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  }

  // The colours of a picture of colours between which text may stand: the ends of a gradient.
  const stops = (image) => (image === "none" ? [] : (image.match(/(?:rgba?|color)\([^()]*\)/g) ?? []).map(colour));

  // What is painted in an SVG below a point, the last first: shapes that come before the text in the document.
  function* shapesBelow(text, x, y) {
    const root = text.ownerSVGElement ?? text;
    const shapes = [...root.querySelectorAll("rect, circle, ellipse, path, polygon, use")];
    for (const shape of shapes.reverse()) {
      if (!(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING) || shape.closest("defs, clipPath, mask, pattern, symbol")) continue;
      const fill = colour(getComputedStyle(shape).fill);
      const box = shape.getBoundingClientRect();
      if (!fill[3] || x < box.left || x > box.right || y < box.top || y > box.bottom) continue;
      const there = shape.getScreenCTM?.();
      if (!there) continue;
      const point = new DOMPoint(x, y).matrixTransform(there.inverse());
      if (shape.isPointInFill && !shape.isPointInFill(point)) continue;
      let share = Number(getComputedStyle(shape).fillOpacity);
      for (let node = shape; node && node !== root; node = node.parentElement) share *= Number(getComputedStyle(node).opacity);
      yield thinned(fill, share);
    }
  }

  // What a canvas shows below a point; clear where it shows nothing.
  function inked(canvas, x, y) {
    const box = canvas.getBoundingClientRect();
    if (x < box.left || x >= box.right || y < box.top || y >= box.bottom || !canvas.width) return CLEAR;
    const pen = canvas.getContext("2d");
    if (!pen) return CLEAR;
    const [i, j] = [((x - box.left) / box.width) * canvas.width, ((y - box.top) / box.height) * canvas.height].map(Math.floor);
    return [...pen.getImageData(i, j, 1, 1).data].map((part) => part / 255);
  }

  // The colours of a text and of its ground, at one point of it; a ground of several colours gives several pairs.
  function painted(owner, x, y, canvases) {
    const style = getComputedStyle(owner);
    const vector = owner instanceof SVGElement;
    let ink = vector ? thinned(colour(style.fill), Number(style.fillOpacity)) : colour(style.color);
    let grounds = [CLEAR];
    const lay = (below) => {
      ink = over(ink, below);
      grounds = grounds.map((ground) => over(ground, below));
    };
    if (vector) {
      if (style.paintOrder.startsWith("stroke") && parseFloat(style.strokeWidth) >= 1) lay(colour(style.stroke)); // a halo
      for (const shape of shapesBelow(owner, x, y)) lay(shape);
    }
    for (const canvas of canvases) lay(inked(canvas, x, y));
    for (let node = owner; node; node = node.parentElement ?? node.getRootNode().host) {
      const here = getComputedStyle(node);
      const ends = stops(here.backgroundImage);
      if (ends.length) grounds = ends.flatMap((end) => grounds.map((ground) => over(ground, end)));
      if (!(node instanceof SVGElement) || node instanceof SVGSVGElement) lay(colour(here.backgroundColor));
      const share = Number(here.opacity);
      if (share < 1) {
        ink = thinned(ink, share);
        grounds = grounds.map((ground) => thinned(ground, share));
      }
      if (grounds.every((ground) => ground[3] > 0.999)) break;
    }
    const paper = [1, 1, 1, 1];
    return grounds.map((ground) => [over(ink, ground[3] > 0.999 ? ground : over(ground, paper)), over(ground, paper)]);
  }

  const hex = (paint) => `#${paint.slice(0, 3).map((part) => Math.round(255 * part).toString(16).padStart(2, "0")).join("")}`;

  function faint(slide, items) {
    const found = new Set();
    const canvases = [...slide.querySelectorAll("canvas")].filter(seen);
    for (const { text, owner, box } of items) {
      if (owner.closest(":disabled, [aria-disabled='true']")) continue;
      for (const share of [0.2, 0.5, 0.8]) {
        const pairs = painted(owner, box.left + share * box.width, box.top + box.height / 2, canvases);
        const worst = pairs.map(([ink, ground]) => [contrast(ink, ground), ink, ground]).sort((a, b) => a[0] - b[0])[0];
        if (worst[0] < CONTRAST) {
          found.add(`contrast ${worst[0].toFixed(1)}, ${hex(worst[1])} on ${hex(worst[2])}: ${text.slice(0, 30)}`);
          break;
        }
      }
    }
    return [...found];
  }

  // Pictures that a cell shows as images are drawings too: their text is looked at in a copy of the same size.
  function* drawings(slide) {
    for (const image of slide.querySelectorAll("img[src^='data:image/svg+xml']")) {
      if (!seen(image)) continue;
      const [head, ...rest] = image.src.split(",");
      const bytes = head.endsWith(";base64") ? Uint8Array.from(atob(rest.join(",")), (letter) => letter.charCodeAt(0)) : null;
      const source = bytes ? new TextDecoder().decode(bytes) : decodeURIComponent(rest.join(","));
      const svg = document.importNode(new DOMParser().parseFromString(source, "image/svg+xml").documentElement, true);
      const box = image.getBoundingClientRect();
      const host = document.createElement("div");
      host.style.cssText = `position: fixed; left: ${box.left}px; top: ${box.top}px; background: #fff; color: #000; font-size: 16px; line-height: normal`;
      svg.style.cssText += `; display: block; max-width: none; max-height: none; width: ${box.width}px; height: ${box.height}px`;
      const root = host.attachShadow({ mode: "open" });
      root.append(svg);
      document.body.append(host);
      yield svg;
      host.remove();
    }
  }

  // ---- pictures ----

  const PICTURES = "svg, canvas, img, iframe, object, video, [role='img']";

  function named(node) {
    const by = (attribute) => (node.getAttribute(attribute) ?? "").split(/\s+/).filter(Boolean).map((id) => said(document.getElementById(id))).join(" ");
    return [by("aria-labelledby"), node.getAttribute("aria-label"), by("aria-describedby"), node.getAttribute("title")].some((text) => text?.trim());
  }

  // A sentence of its own, of a figure around it, or of the view that it is a part of. What matplotlib or a file calls itself is none.
  function told(picture) {
    const alt = picture.getAttribute("alt")?.trim();
    if (alt && !/^<.*>$|\.(png|svg|jpe?g)$|^picture$/i.test(alt)) return true;
    if (named(picture) || said(picture.querySelector(":scope > title"))) return true;
    for (let node = picture.parentElement; node && !node.matches("section, .jp-OutputArea, .output_subarea"); node = node.parentElement) {
      if (node.matches("figure") && said(node.querySelector("figcaption"))) return true;
      if (node.matches("[role]") && named(node)) return true;
      if (node.matches("button, a, label, [role='gridcell']") && said(node)) return true;
    }
    // A sample beside its word in a legend says nothing that the word does not.
    return picture.getAttribute("aria-hidden") === "true" && Boolean(said(picture.parentElement));
  }

  function mute(slide) {
    const found = [];
    for (const picture of slide.querySelectorAll(PICTURES)) {
      if (picture.parentElement.closest("svg") || !seen(picture) || told(picture)) continue;
      found.push(`no words for the ${picture.tagName.toLowerCase()} in ${picture.parentElement.className || picture.parentElement.tagName}`);
    }
    return found;
  }

  // ---- all of it ----

  async function look(everything = true) {
    await frames();
    settle();
    const slide = present();
    const found = { outside: outside(slide), cut: cut(slide), small: [], faint: [], mute: [] };
    const items = [...texts(slide)];
    found.small = small(items);
    if (everything) {
      found.faint = faint(slide, items);
      found.mute = mute(slide);
    }
    for (const drawing of drawings(slide)) {
      const inside = [...texts(drawing)];
      found.small.push(...small(inside).map((what) => `picture, ${what}`));
      if (everything) found.faint.push(...faint(drawing, inside).map((what) => `picture, ${what}`));
    }
    return found;
  }

  // All slides one after another, with nothing between but the looking: asked slide by slide from outside, the asking takes longer.
  async function round(slides, turn, patience) {
    const found = [];
    for (const id of slides) {
      for (const code of document.querySelectorAll(".bertlook-folded")) code.classList.remove("bertlook-folded"); // a slide is fullest with its code
      turn(id);
      const given_up = performance.now() + 60_000;
      while (present()?.id !== `slide-${id}` || getComputedStyle(present()).visibility !== "visible") {
        if (performance.now() > given_up) throw new Error(`slide ${id} never came`);
        await frames(1);
      }
      for (const one of present().querySelectorAll(".fragment")) one.classList.add("visible");
      const late = performance.now() + 1000 * patience;
      let seen = await look(false);
      while (seen.outside.length + seen.cut.length + seen.small.length && performance.now() < late) {
        await new Promise((resolve) => setTimeout(resolve, 120));
        seen = await look(false);
      }
      found.push(seen);
    }
    return found;
  }

  // ---- keys ----

  const CONTROLS = [
    "a[href]", "button", "input", "select", "textarea", "summary", "iframe", "[tabindex]", "[contenteditable='true']",
    ...["slider", "listbox", "button", "grid", "application", "combobox", "checkbox", "radio", "tab", "switch", "spinbutton", "menuitem", "option"].map((role) => `[role='${role}']`),
  ].join(", ");
  const OUTPUT = ".jp-OutputArea-output, .output_subarea";
  const outputs = () => (present() ? [...present().querySelectorAll(OUTPUT)] : [document.body]); // a frame is all output
  // The number beside a slider can be clicked and typed into; by key the slider itself sets it.
  const COPIES = ".widget-readout";
  const usable = (node) => seen(node) && !node.matches(COPIES) && !node.matches(":disabled, [aria-disabled='true']") && !node.closest("[inert]");
  let stops_ = [];
  let plain = new Map();

  const name = (node) =>
    `${node.tagName.toLowerCase()}${node.type ? `[${node.type}]` : ""}.${[...node.classList].join(".")} "${(node.getAttribute("aria-label") ?? said(node)).slice(0, 30)}"`;

  // How a control, what is in it and what is around it are drawn, as far as a focus shows.
  function drawn(node) {
    const parts = [node, ...[...node.querySelectorAll("*")].slice(0, 400)];
    for (let up = node.parentElement, n = 0; up && n < 2; up = up.parentElement, n++) parts.push(up);
    return parts.map((part) => {
      const style = getComputedStyle(part);
      const ring = style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1 ? "" : `${style.outlineStyle} ${style.outlineWidth} ${style.outlineColor}`;
      return [ring, style.boxShadow, style.borderTopColor + style.borderTopWidth, style.backgroundColor, style.stroke, style.strokeWidth].join("|");
    });
  }

  // A ring as pale as the paper is none.
  function ringSeen(node) {
    const style = getComputedStyle(node);
    if (style.outlineStyle === "none" || parseFloat(style.outlineWidth) < 1) return true; // another mark
    if (style.outlineStyle === "auto") return true; // the browser's own has two colours
    const [[, ground]] = painted(node.parentElement, 0, 0, []);
    return contrast(over(colour(style.outlineColor), ground), ground) >= RING;
  }

  // Controls that Tab must reach, and those that no key can.
  function prepare() {
    stops_ = [];
    plain = new Map();
    const mouseOnly = [];
    for (const output of outputs()) {
      for (const node of output.querySelectorAll(CONTROLS)) {
        if (!usable(node)) continue;
        if (node.tabIndex >= 0 && !(node.matches("input[type=radio]") && !node.checked)) stops_.push(node);
        else if (!node.matches("[tabindex='-1']:not([role])") && !node.parentElement.closest("[tabindex='0'], [role='listbox'], [role='radiogroup'], [role='tablist'], [role='toolbar']")) {
          if (!node.matches("input[type=radio]")) mouseOnly.push(name(node));
        }
      }
      for (const node of output.querySelectorAll("*")) {
        // Marked as something to click: it must be a part of a control that takes keys.
        if (getComputedStyle(node).cursor !== "pointer" || !seen(node)) continue;
        const root = node.closest("[tabindex='0'], a[href], button, input, select, textarea, summary, label");
        const group = node.closest(".bertlook, .jupyter-widgets, body");
        if (!root && (group === document.body || !group.querySelector("[tabindex='0']"))) mouseOnly.push(`${name(node)} (a click alone)`);
      }
    }
    for (const node of stops_) plain.set(node, drawn(node));
    document.activeElement?.blur();
    return { stops: stops_.map(name), mouseOnly: [...new Set(mouseOnly)] };
  }

  // Where the focus is put before the first Tab: at the head of the first output with a control, from where the reader tabs on.
  function enter() {
    const first = stops_[0].closest(OUTPUT);
    const gate = document.createElement("span");
    gate.id = "bertlook-gate";
    gate.tabIndex = -1;
    first.before(gate);
    gate.focus();
  }

  const heard = [];
  let changed = 0;
  const watcher = new MutationObserver((records) => (changed += records.length));

  // What the focus is on, and which keys should do something there.
  function arrived() {
    const node = document.activeElement;
    const i = stops_.indexOf(node);
    if (i < 0) {
      const slide = node?.closest(".slides section section");
      return { i, nowhere: !node || node === document.body, left: !slide, hidden: slide && slide !== present() ? name(node) : null };
    }
    if (node.matches("iframe")) return { i, frame: true, name: name(node), keys: [], marked: true };
    const now = drawn(node), before = plain.get(node);
    const marked = now.some((part, k) => part !== before[k]) && ringSeen(node);
    let keys = [];
    if (node.matches("button, summary, [role='button'], input[type=checkbox], [role='checkbox'], [role='switch']")) keys = ["Space"];
    else if (node.matches("a[href], [role='link']")) keys = [];
    else if (node.matches("select, [role='listbox'], [role='combobox']")) keys = ["ArrowDown", "ArrowUp"];
    else if (node.matches("input[type=range], [role='slider'], input[type=radio], [role='spinbutton'], input[type=number]")) keys = ["ArrowRight", "ArrowLeft"];
    else if (node.matches("input, textarea, [contenteditable='true']")) keys = ["x"];
    else if (node.matches("[role='region']")) keys = [];
    else keys = ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowUp", "Enter"];
    if (node.readOnly || (node.matches("select") && node.options.length < 2)) keys = []; // it says why, or there is no choice
    heard.length = changed = 0;
    watcher.disconnect();
    watcher.observe(node.closest(OUTPUT) ?? document.body, { subtree: true, childList: true, attributes: true, characterData: true });
    guard = node;
    held = node.matches("select") ? node.selectedIndex : node.matches("input[type=checkbox]") ? node.checked : node.value;
    return { i, marked, keys, name: name(node) };
  }

  // A button that is pressed is heard here and goes no further, so that trying the keys starts no computation and changes
  // no answer; a view of ours gets its keys, and the picture must change.
  let guard = null;
  let held;
  for (const type of ["click", "input", "change"]) {
    window.addEventListener(
      type,
      (event) => {
        if (!guard || !(event.target instanceof Node) || !(guard === event.target || guard.contains(event.target))) return;
        if (!guard.matches("button, select, input, textarea, summary, [role='button']")) return;
        heard.push(type);
        event.stopImmediatePropagation();
        if (type === "click" && !guard.matches("input")) event.preventDefault();
      },
      { capture: true },
    );
  }

  function answered() {
    const pending = watcher.takeRecords().length;
    const node = guard;
    guard = null;
    watcher.disconnect();
    if (node.matches("select")) node.selectedIndex = held;
    else if (node.matches("input[type=checkbox]")) node.checked = held;
    else if (node.matches("input, textarea") && node.value !== held) node.value = held;
    return heard.length + changed + pending > 0;
  }

  // After the last: what is drawn without the focus again.
  // A slide that a key turns is shown two frames later at most.
  async function leave() {
    document.getElementById("bertlook-gate")?.remove();
    document.activeElement?.blur();
    for (let frame = 0; frame < 2; frame++) await new Promise((done) => requestAnimationFrame(done));
  }

  const heading = () => said(present().querySelector("h1, h2, h3")).replace(/¶$/, "");

  return { look, round, heading, frames, prepare, enter, arrived, answered, leave, contrast, colour };
})();
