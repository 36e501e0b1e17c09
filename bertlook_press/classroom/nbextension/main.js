// The fallback's half of ../labextension: in classic RISE under nbclassic everything shows its widgets
// by itself, but nothing runs the deck's cells on opening, not every widget keeps its keys, and hidden sources show.
define(["require", "base/js/namespace", "base/js/events"], function (require, Jupyter, events) {
  "use strict";

  const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

  async function until(condition, milliseconds) {
    const end = Date.now() + milliseconds;
    while (!condition() && Date.now() < end) await pause(50);
  }

  function ownCells() {
    const { notebook } = Jupyter;
    return cellsToRun(notebook.get_cells(), (notebook.metadata.rise || {}).autorun, (cell) => ({
      code: cell.cell_type === "code" && cell.get_text().trim(),
      init: cell.metadata.init_cell,
      tags: cell.metadata.tags,
    }));
  }

  // As in ../labextension: nothing of a notebook that is not trusted is run, until the reader says so.
  function isTrusted() {
    const said = Jupyter.notebook.metadata.bertlook;
    return said ? said.trusted === true : Jupyter.notebook.get_cells().every((cell) => cell.cell_type !== "code" || cell.output_area.trusted);
  }

  function trust() {
    const path = Jupyter.notebook.notebook_path.split("/").map(encodeURIComponent).join("/");
    const secret = document.cookie.match(/\b_xsrf=([^;]*)/)?.[1] ?? "";
    return fetch(`${Jupyter.notebook.base_url}api/contents/${path}/trust`, { method: "POST", headers: { "X-XSRFToken": secret } });
  }

  // The widget manager takes its place a moment after it appears; cells run before that show empty areas.
  async function widgetManager() {
    await until(() => Jupyter.notebook.kernel && Jupyter.notebook.kernel.widget_manager, 60000);
    await pause(2000);
  }

  const VIEW = "application/vnd.jupyter.widget-view+json";

  // Whether every widget that a cell shows has been drawn.
  function drawn(cell) {
    const shown = cell.output_area.outputs.filter(({ data }) => data && data[VIEW]).length;
    return [...cell.element[0].querySelectorAll(".jupyter-widgets-view")].filter((view) => view.childElementCount).length >= shown;
  }

  function finished(cell) {
    return new Promise((resolve) => {
      const check = (event, data) => {
        if (data.cell !== cell) return;
        events.off("finished_execute.CodeCell", check);
        resolve();
      };
      events.on("finished_execute.CodeCell", check);
      cell.execute(false);
    });
  }

  // When the manager has asked the kernel what was there before, it has all cells with widgets drawn anew, on a busy computer after
  // they have run; their views go away with that, and do not come back. What has run here shows what it should, and is left alone.
  function keepViews() {
    const kind = Object.getPrototypeOf(Jupyter.notebook); // the notebook itself takes no new properties
    const drawAnew = kind.render_cell_output;
    const ran = new WeakSet();
    events.on("execute.CodeCell", (event, { cell }) => ran.add(cell));
    kind.render_cell_output = function (cell) {
      if (!ran.has(cell)) drawAnew.call(this, cell);
    };
  }

  // RISE reads its settings from the notebook as soon as it is loaded, now and then before the notebook is there; then
  // theme, footer and autolaunch are lost. So notebook.json switches it off, and it is loaded from here, in time.
  function loadRise() {
    return new Promise((resolve) => {
      require(["nbextensions/rise/main"], (rise) => {
        rise.load_ipython_extension();
        resolve();
      }, resolve);
    });
  }

  // JupyterLab's way to hide a cell's source, which the classic application does not know; rise.css hides it on slides.
  function hideSources() {
    for (const cell of Jupyter.notebook.get_cells()) {
      if ((cell.metadata.jupyter || {}).source_hidden) cell.element.addClass("bertlook-source-hidden");
    }
  }

  async function bringToLife() {
    hideSources();
    await loadRise();
    await until(() => document.getElementById("RISE"), 10000); // its button: added when it has its settings
    const preview = /[?&]receiver\b/i.test(window.location.search);
    if (!isTrusted() && !preview) offerTrust(statusLine(), trust);
    const cells = preview || !isTrusted() ? [] : ownCells();
    if (cells.length) {
      Jupyter.notebook.set_autosave_interval(0); // a lecture must not rewrite the file on disk
      await widgetManager();
    }
    let failed = false;
    for (const cell of cells) {
      await finished(cell);
      // On a busy computer the manager may take its place later than after its pause, and has then missed what a cell opened.
      for (let again = 0; again < 2 && !drawn(cell); again += 1) {
        await until(() => drawn(cell), 15000);
        if (!drawn(cell)) await finished(cell);
      }
      const mayFail = (cell.metadata.tags || []).includes("raises-exception");
      if (!mayFail && cell.output_area.outputs.some((output) => output.output_type === "error")) failed = true;
    }
    document.body.classList.add(failed ? "bertlook-failed" : "bertlook-ready");
  }

  function loaded() {
    const { notebook } = Jupyter;
    return notebook._fully_loaded && notebook.kernel && notebook.kernel.is_connected();
  }

  // As in ../labextension, while slides are shown: keys of widgets, and D for the next look.
  function guardKeys() {
    const presenting = () => document.body.classList.contains("rise-enabled");
    guardWidgets((target) => target.closest(".output_subarea"), () => document.body);
    guardLetters({ d: wearNext }, (target) => !presenting() || target.closest(".output_subarea, textarea, select, input, [contenteditable]"));
  }

  // How a slide fills its room, and what else every host does alike (../export/page/fill.js): JupyterLab's extension brings the file.
  function loadFill() {
    return new Promise((done, failed) => require([`${Jupyter.notebook.base_url}lab/extensions/bertlook-rise/static/fill.js`], done, failed));
  }

  async function load_ipython_extension() {
    await until(loaded, 60000);
    keepViews();
    const rise = Jupyter.notebook.metadata.rise || {};
    await loadFill();
    guardKeys();
    wearFirst(rise.look);
    showPlace(rise, Jupyter.notebook.base_url);
    keepFilled();
    await bringToLife();
  }

  return { load_ipython_extension };
});
