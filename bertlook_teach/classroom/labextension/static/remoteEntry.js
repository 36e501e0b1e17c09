// A prebuilt JupyterLab extension, written by hand: no build step, no dependency. README.md in the
// folder above says why it exists and when it may go. In plain JupyterLab it does nothing.
"use strict";

(() => {
  const NAME = "bertlook-rise";
  const CONSOLE = "@jupyterlab/console";
  const TEXT_FIELDS = "textarea, select, [contenteditable], input:not([type=range], [type=checkbox], [type=radio], [type=button])";
  let scope = null; // webpack's table of modules shared between extensions

  // 1. The module that jupyterlab-rise does not ship. ipywidgets' manager imports one optional token
  //    from it and does not load without the module, so a token that nobody provides is enough.
  function init(sharedScope) {
    scope = sharedScope;
    if (scope[CONSOLE]) return;
    const module = { IConsoleTracker: { name: CONSOLE + ":IConsoleTracker" } };
    scope[CONSOLE] = {
      "4.0.0": { get: () => Promise.resolve(() => module), from: NAME, eager: false, loaded: 1 },
    };
  }

  async function shared(name) {
    return (await Object.values(scope[name])[0].get())();
  }

  async function until(condition, milliseconds) {
    const end = Date.now() + milliseconds;
    for (;;) {
      const value = condition();
      if (value) return value;
      if (Date.now() > end) throw new Error(`${NAME}: still waiting after ${milliseconds / 1000} s for ${condition}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  // 2. Run the deck's cells on opening, because a saved widget is only a picture of itself.
  //    Which cells: ?run=all|init|none in the address, else the notebook's metadata rise.autorun
  //    (true means "all"). An "init" cell is one tagged "init" or with metadata init_cell: true.
  function cellsToRun(panel) {
    const asked = new URLSearchParams(window.location.search).get("run");
    const setting = asked ?? (panel.content.model.getMetadata("rise") || {}).autorun;
    const which = setting === true ? "all" : setting;
    if (which !== "all" && which !== "init") return [];
    return panel.content.widgets.filter((cell) => {
      if (cell.model.type !== "code" || !cell.model.sharedModel.getSource().trim()) return false;
      if (which === "all") return true;
      return cell.model.getMetadata("init_cell") === true || (cell.model.getMetadata("tags") || []).includes("init");
    });
  }

  function mayFail(cell) {
    return (cell.model.getMetadata("tags") || []).includes("raises-exception");
  }

  async function runCells(panel, note) {
    const cells = cellsToRun(panel);
    if (!cells.length) return true;
    const { CodeCell } = await shared("@jupyterlab/cells");
    let allWell = true;
    for (const [i, cell] of cells.entries()) {
      note(`running cell ${i + 1} of ${cells.length}`);
      // Not the command notebook:run-all-cells: it moves the active cell, and the slides follow it.
      const reply = await CodeCell.execute(cell, panel.sessionContext);
      const failed = reply && reply.content.status !== "ok" && !mayFail(cell);
      if (failed) {
        allWell = false;
        console.error(`${NAME}: cell ${i + 1} failed: ${reply.content.ename}: ${reply.content.evalue}`);
      }
    }
    return allWell;
  }

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

  // The server marks a notebook that is not trusted, and keeps back what could run, fetch or read (../../trust.py). Nothing of it is run
  // here either, whatever the address asks for, until the reader says so.
  function isTrusted(panel) {
    return panel.content.model?.getMetadata("bertlook") === undefined;
  }

  function offerTrust(app, panel) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Trust it";
    button.addEventListener("click", async () => {
      if (!window.confirm("Trust this notebook? Its cells run when it is opened, with all that you may do on this computer.")) return;
      const { ServerConnection } = await shared("@jupyterlab/services");
      const settings = app.serviceManager.serverSettings;
      const path = panel.context.path.split("/").map(encodeURIComponent).join("/");
      const reply = await ServerConnection.makeRequest(`${settings.baseUrl}api/contents/${path}/trust`, { method: "POST" }, settings);
      if (reply.ok) window.location.reload();
      else button.textContent = `It could not be trusted: ${reply.statusText}`;
    });
    document.getElementById("bertlook-status").append(" ", button);
  }

  // A lecture must not rewrite the deck on disk: what stands open for two minutes would be saved, with all its outputs.
  // The settings put this back when they come, so it is said at the start and at the end. Saving by hand (Ctrl+S) stays.
  function saveByHandOnly(documents) {
    if (documents) documents.autosave = false;
  }

  async function bringToLife(app, documents) {
    const note = statusLine();
    try {
      await until(() => document.querySelector(".reveal.ready"), 60000);
      const panel = await until(() => app.shell.currentWidget, 60000);
      const rise = panel.content.model?.getMetadata("rise") || {};
      wear(new URLSearchParams(window.location.search).get("look") ?? rise.look);
      showPlace(rise);
      fillSlide();
      saveByHandOnly(documents);
      panel.content.node.focus({ preventScroll: true }); // or Home, End, w and t would work only after a click
      if (!isTrusted(panel)) {
        note("This notebook is not trusted: nothing was run.");
        offerTrust(app, panel);
        document.body.classList.add("bertlook-ready");
        return;
      }
      note("starting the kernel");
      await panel.sessionContext.ready;
      await until(() => panel.sessionContext.session && panel.sessionContext.session.kernel, 60000);
      const allWell = await runCells(panel, note);
      saveByHandOnly(documents);
      note(allWell ? "" : "a cell failed: see the slide with the red box");
      document.body.classList.add(allWell ? "bertlook-ready" : "bertlook-failed");
    } catch (error) {
      console.error(error);
      note("the deck could not be started: " + error.message);
      document.body.classList.add("bertlook-failed");
    }
  }

  // 3. Keys. JupyterLab's shortcuts listen on the document before a widget, Reveal after it; so a
  //    focused slider would turn the slides. Inside a widget every key belongs to the widget, but
  //    for PageUp and PageDown, the keys of a presenter's remote control, and Escape, the way out.
  function widgetAround(target) {
    return target instanceof Element && target.closest(".jp-OutputArea-output"); // not .jupyter-widgets: anywidget has no such class
  }

  function guardKeys() {
    const remote = ["PageUp", "PageDown"];
    const deck = () => document.querySelector(".jp-Notebook.slides") || document.body;

    window.addEventListener("keydown", (event) => {
      if (!widgetAround(event.target)) return;
      if (remote.includes(event.key) && !event.target.closest(TEXT_FIELDS)) {
        event.stopImmediatePropagation();
        event.preventDefault();
        const { key, code, keyCode } = event;
        deck().dispatchEvent(new KeyboardEvent("keydown", { key, code, keyCode, which: keyCode, bubbles: true, cancelable: true }));
        return;
      }
      event.target.setAttribute("data-lm-suppress-shortcuts", "true");
    }, { capture: true });

    for (const type of ["keydown", "keypress"]) {
      document.body.addEventListener(type, (event) => {
        if (!widgetAround(event.target)) return;
        event.stopPropagation();
        if (event.key === "Escape" && !event.defaultPrevented) {
          event.target.blur();
          deck().focus({ preventScroll: true });
        }
      });
    }
  }

  // 4. How the slides look (slides/theme/looks.css): ?look=dark or ?look=projector in the address, else the notebook's
  //    metadata rise.look. The key D goes on to the next; in JupyterLab, D twice would delete the cell.
  const LOOKS = ["", "dark", "projector"];

  function wear(look) {
    for (const name of LOOKS.slice(1)) document.body.classList.toggle(`bertlook-${name}`, name === look);
  }

  function guardLook() {
    window.addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() !== "d" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (widgetAround(event.target) || (event.target instanceof Element && event.target.closest(TEXT_FIELDS))) return;
      event.stopImmediatePropagation();
      event.preventDefault();
      const now = LOOKS.findIndex((name) => name && document.body.classList.contains(`bertlook-${name}`));
      wear(LOOKS[(Math.max(0, now) + 1) % LOOKS.length]);
    }, { capture: true });
  }

  // 5. The part of the course gives the deck its colour, the lesson its place in the strip at the foot (rise.part, rise.lesson).
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

  // 6. A slide fills its room; fillSlide, keepFilled and showPlace are those of ../../export/page/fill.js.
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
  // equals sign. As render/drawing/svg.py sets the captions of pictures.
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

  // 7. Links to notebooks and pages of text. JupyterLab turns a relative link into the address of the bare file, which a browser
  //    shows as it is typed or saves, and the command that would open it does not exist here. A deck beside this one opens as
  //    a slideshow, what else there is in JupyterLab (which shows Markdown as a page: launch.py).
  function guideLink(event) {
    const link = event.target instanceof Element && event.target.closest("a[href]");
    const here = window.location.pathname.match(/^(.*?\/)rise\/(.*\/)?[^/]*$/);
    const there = link && here && link.origin === window.location.origin && link.pathname.match(/^(.*?\/)files\/((.*\/)?[^/]+\.(?:ipynb|md))$/);
    if (!there || there[1] !== here[1]) return;
    const isDeck = there[3] === here[2] && /^\d\d_.*\.ipynb$/.test(there[2].slice((there[3] || "").length));
    link.href = here[1] + (isDeck ? "rise/" : "lab/tree/") + there[2] + link.hash;
    for (const name of ["data-commandlinker-command", "data-commandlinker-args"]) link.removeAttribute(name);
  }

  function guideLinks() {
    for (const type of ["pointerover", "focusin", "click", "auxclick"]) window.addEventListener(type, guideLink, { capture: true });
  }

  // 8. A text that is typed while the kernel is busy, dead or not there is answered by the specimen in the page
  //    (../../../widgets/js/page_answers.js), with scripts and weights from this server. Every view of ours calls bertlookMounted.
  function answerWithoutKernel() {
    const base = JSON.parse(document.getElementById("jupyter-config-data").textContent).baseUrl;
    const gone = "Python does not answer. Start the kernel, and run the cell again.";
    const seen = new WeakSet();
    let scripts = null, weights = null;

    const loaded = () => (scripts ??= new Promise((done) => {
      const script = Object.assign(document.createElement("script"), { src: base + "bertlook/specimen_page.js", onload: () => done(true) });
      script.onerror = () => (script.remove(), done(false)); // a server without our extension: all is as it was
      document.head.append(script);
    }));

    async function readWeights() {
      const reply = await fetch(base + globalThis.bertlookServed.weights).catch(() => null);
      if (!reply?.ok) {
        weights = null; // the next text asks again
        throw new Error(gone);
      }
      return globalThis.bertlookSpecimen.worker(await reply.arrayBuffer());
    }

    globalThis.bertlookMounted = async (view) => {
      const given = view.get("_in_page"), manager = view.widget_manager;
      if (!given?.places || !manager) return;
      const found = new Map();
      for (const id of Object.values(given.places)) found.set(id, await manager.get_model(id));
      const text = found.get(given.places.text), before = text.get("value");
      if (seen.has(text)) return;
      seen.add(text);
      if (!(await loaded()) || given.fingerprint !== globalThis.bertlookServed.fingerprint) return;
      const cut = (model) => !model.comm_live || !manager.kernel || manager.kernel.connectionStatus !== "connected" || /dead|terminating|unknown/.test(manager.kernel.status);
      globalThis.bertlookPageAnswers({
        modelOf: (id) => found.get(id),
        specimen: () => (weights ??= readWeights()),
        mine: (model) => cut(model) || manager.kernel.status !== "idle",
        alone: cut,
      })(given);
      if (text.get("value") !== before) text.trigger("change:value", text, text.get("value")); // typed while the scripts were on their way
    };
  }

  const plugin = {
    id: NAME + ":plugin",
    description: "Brings the widgets of a RISE deck to life.",
    autoStart: true,
    activate: (app, documents) => {
      answerWithoutKernel();
      const speakerPreview = /[?&]receiver\b/i.test(window.location.search);
      if (app.name !== "Rise" || speakerPreview) return;
      guardKeys();
      guardLook();
      keepFilled();
      guideLinks();
      void bringToLife(app, documents);
    },
  };

  async function get() {
    const documents = scope["@jupyterlab/docmanager"] ? (await shared("@jupyterlab/docmanager")).IDocumentManager : null;
    return () => ({ __esModule: true, default: [{ ...plugin, optional: documents ? [documents] : [] }] });
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB[NAME] = { init, get };
})();
