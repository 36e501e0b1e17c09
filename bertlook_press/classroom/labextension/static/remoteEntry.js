// A prebuilt JupyterLab extension, written by hand: no build step, no dependency. README.md in the
// folder above says why it exists and when it may go. In plain JupyterLab it does nothing.
"use strict";

(() => {
  const NAME = "bertlook-rise";
  const CONSOLE = "@jupyterlab/console";
  const COLOURS = "@jupyter/web-components";
  const config = JSON.parse(document.getElementById("jupyter-config-data").textContent);
  const onSlides = config.appName === "Rise";
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

  // What of others fills the console of a slideshow with errors. A toolbar derives its ground from the colours around it, and these from each
  // other without end; no slide shows one, so its ground stays what it is. And two extensions want modules that the slideshow does not ship;
  // neither does anything there. (Every extension is loaded by the time that the first is asked for its plugins.)
  async function leaveOut() {
    const extensions = window._JUPYTERLAB;
    for (const name of ["@jupyter-notebook/lab-extension", "@jupyterlite/pyodide-kernel-extension"]) {
      if (extensions[name]) extensions[name] = { get: async () => () => ({ __esModule: true, default: [] }) };
    }
    if (scope[COLOURS]) (await shared(COLOURS)).fillColor.setValueFor = () => {};
  }

  // 2. Run the deck's cells on opening, because a saved widget is only a picture of itself.
  function ownCells(panel) {
    const autorun = (panel.content.model.getMetadata("rise") || {}).autorun;
    return cellsToRun(panel.content.widgets, autorun, ({ model }) => ({
      code: model.type === "code" && model.sharedModel.getSource().trim(),
      init: model.getMetadata("init_cell"),
      tags: model.getMetadata("tags"),
    }));
  }

  function mayFail(cell) {
    return (cell.model.getMetadata("tags") || []).includes("raises-exception");
  }

  async function runCells(panel, note) {
    const cells = ownCells(panel);
    if (!cells.length) return true;
    const { CodeCell } = await shared("@jupyterlab/cells");
    // Not the command notebook:run-all-cells: it moves the active cell, and the slides follow it.
    const run = (cell) => cell && CodeCell.execute(cell, panel.sessionContext);
    let allWell = true, next = null;
    for (const [i, cell] of cells.entries()) {
      note(`running cell ${i + 1} of ${cells.length}`);
      const waited = next, running = waited || run(cell);
      next = run(cells[i + 1]); // waits in the kernel, which so has work while the page draws
      let reply = await running;
      if (waited && reply?.content.status === "aborted") { // with the next one: the one before failed
        await next;
        next = null;
        reply = await run(cell);
      }
      const failed = reply && reply.content.status !== "ok" && !mayFail(cell);
      if (failed) {
        allWell = false;
        console.error(`${NAME}: cell ${i + 1} failed: ${reply.content.ename}: ${reply.content.evalue}`);
      }
    }
    return allWell;
  }

  // Our server says whether a notebook is trusted, and of one that is not it gives what is inert (../../trust.py). Nothing of it is run here
  // either, whatever the address asks for or a click on its text would do, until the reader says so. Another server marks the cells.
  function isTrusted(panel) {
    const said = panel.content.model?.getMetadata("bertlook");
    return said ? said.trusted === true : panel.content.widgets.every(({ model }) => model.type !== "code" || model.trusted);
  }

  // JupyterLab runs the command that an element names when it is clicked; it asks first, the slideshow does not. Until the notebook is
  // known to be trusted, and in the speaker's previews, none is run.
  let mayCommand = false;

  function keepFromCommands() {
    for (const type of ["click", "auxclick", "keydown"]) {
      window.addEventListener(type, (event) => {
        if (mayCommand || !(event.target instanceof Element) || !event.target.closest("[data-commandlinker-command]")) return;
        event.preventDefault();
        event.stopImmediatePropagation();
      }, { capture: true });
    }
  }

  async function trust(app, panel) {
    const { ServerConnection } = await shared("@jupyterlab/services");
    const settings = app.serviceManager.serverSettings;
    const path = panel.context.path.split("/").map(encodeURIComponent).join("/");
    return ServerConnection.makeRequest(`${settings.baseUrl}api/contents/${path}/trust`, { method: "POST" }, settings);
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
      wearFirst(rise.look);
      showPlace(rise, config.baseUrl);
      fillSlide();
      saveByHandOnly(documents);
      panel.content.node.focus({ preventScroll: true }); // or Home, End, w and t would work only after a click
      if (!isTrusted(panel)) {
        offerTrust(note, () => trust(app, panel));
        document.body.classList.add("bertlook-ready");
        return;
      }
      mayCommand = true;
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

  // 3. Keys. JupyterLab's shortcuts listen on the document before a widget, Reveal after it; so a focused slider would turn the slides.
  //    The key D goes on to the next look; in JupyterLab, D twice would delete the cell.
  function guardKeys() {
    const widgetAround = (target) => target.closest(".jp-OutputArea-output"); // not .jupyter-widgets: anywidget has no such class
    guardWidgets(widgetAround, () => document.querySelector(".jp-Notebook.slides") || document.body);
    guardLetters({ d: wearNext }, (target) => widgetAround(target) || target.closest(TEXT_FIELDS));
  }

  // 4. What every host of a deck does alike, the exported page too, stands in one file beside this one: how a slide fills its room, which
  //    part of the course it belongs to, how it looks, how code folds, how numbers are set, keys (../../export/page/fill.js).
  const BESIDE = document.currentScript.src;

  function loadFill() {
    return new Promise((done, failed) => {
      const script = Object.assign(document.createElement("script"), { src: new URL("fill.js", BESIDE).href, onload: done });
      script.onerror = () => failed(new Error(`${NAME}: fill.js could not be loaded`));
      document.head.append(script);
    });
  }

  // 5. Links to notebooks and pages of text. JupyterLab turns a relative link into the address of the bare file, which a browser
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

  // 6. A text that is typed while the kernel is busy, dead or not there is answered by the view's own model in the
  //    page (../../../../pages/js/page_answers.js), with scripts and weights from this server. Every view of ours calls bertlookMounted.
  function answerWithoutKernel() {
    const base = config.baseUrl;
    const gone = "Python does not answer. Start the kernel, and run the cell again.";
    const seen = new WeakSet();
    const told = new Map(); // by fingerprint: what the server says of a model's file
    let scripts = null;

    const loaded = () => (scripts ??= new Promise((done) => {
      const script = Object.assign(document.createElement("script"), { src: base + "bertlook/engine.js", onload: () => done(true) });
      script.onerror = () => (script.remove(), done(false)); // a server without our extension: all is as it was
      document.head.append(script);
    }));

    async function weights({ model, fingerprint }) {
      if (!told.has(fingerprint)) {
        const reply = await fetch(`${base}bertlook/${model}.json`).catch(() => null), served = reply?.ok ? await reply.json() : {};
        if (served.fingerprint !== fingerprint) throw new Error(gone); // the next text asks again
        told.set(fingerprint, { ...served, file: base + served.file });
      }
      return told.get(fingerprint);
    }

    globalThis.bertlookMounted = async (view) => {
      const given = view.get("_in_page"), manager = view.widget_manager;
      if (!given?.places || !manager) return;
      const found = new Map();
      for (const id of Object.values(given.places)) found.set(id, await manager.get_model(id));
      const text = found.get(given.places.text), before = text.get("value");
      if (seen.has(text)) return;
      seen.add(text);
      if (!(await loaded()) || !globalThis.bertlookServed.includes(given.model)) return;
      const cut = (model) => !model.comm_live || !manager.kernel || manager.kernel.connectionStatus !== "connected" || /dead|terminating|unknown/.test(manager.kernel.status);
      globalThis.bertlookPageAnswers({
        modelOf: (id) => found.get(id),
        weights,
        mine: (model) => cut(model) || manager.kernel.status !== "idle",
        alone: cut,
      })(given);
      if (text.get("value") !== before) text.trigger("change:value", text, text.get("value")); // typed while the scripts were on their way
    };
  }

  // Without the file beside this one a deck is only its text: that is said to whoever opens it.
  function notStarted(error) {
    console.error(error);
    document.body.append(`The deck could not be started: ${error.message}`);
    document.body.classList.add("bertlook-failed");
  }

  const plugin = {
    id: NAME + ":plugin",
    description: "Brings the widgets of a RISE deck to life.",
    autoStart: true,
    activate: (app, documents) => {
      answerWithoutKernel();
      const speakerPreview = /[?&]receiver\b/i.test(window.location.search);
      if (onSlides) keepFromCommands();
      if (!onSlides || speakerPreview) return;
      guideLinks();
      void loadFill().then(() => (guardKeys(), keepFilled(), bringToLife(app, documents)), notStarted);
    },
  };

  async function get() {
    if (onSlides) await leaveOut();
    const documents = scope["@jupyterlab/docmanager"] ? (await shared("@jupyterlab/docmanager")).IDocumentManager : null;
    return () => ({ __esModule: true, default: [{ ...plugin, optional: documents ? [documents] : [] }] });
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB[NAME] = { init, get };
})();
