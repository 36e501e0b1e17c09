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

  // 5. What every host of a deck does alike, the exported page too, stands in one file beside this one: how a slide fills its room, which
  //    part of the course it belongs to, how code folds, how numbers are set (../../export/page/fill.js).
  const BESIDE = document.currentScript.src;

  function loadFill() {
    return new Promise((done, failed) => {
      const script = Object.assign(document.createElement("script"), { src: new URL("fill.js", BESIDE).href, onload: done });
      script.onerror = () => failed(new Error(`${NAME}: fill.js could not be loaded`));
      document.head.append(script);
    });
  }

  // 6. Links to notebooks and pages of text. JupyterLab turns a relative link into the address of the bare file, which a browser
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

  // 7. A text that is typed while the kernel is busy, dead or not there is answered by the specimen in the page
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
      if (app.name === "Rise") keepFromCommands();
      if (app.name !== "Rise" || speakerPreview) return;
      guardKeys();
      guardLook();
      guideLinks();
      void loadFill().then(() => keepFilled(), console.error).then(() => bringToLife(app, documents));
    },
  };

  async function get() {
    const documents = scope["@jupyterlab/docmanager"] ? (await shared("@jupyterlab/docmanager")).IDocumentManager : null;
    return () => ({ __esModule: true, default: [{ ...plugin, optional: documents ? [documents] : [] }] });
  }

  window._JUPYTERLAB = window._JUPYTERLAB || {};
  window._JUPYTERLAB[NAME] = { init, get };
})();
