// The fallback's half of ../labextension: in classic RISE under nbclassic everything shows its widgets
// by itself, but nothing runs the deck's cells on opening, not every widget keeps its keys, and hidden sources show.
define(["require", "base/js/namespace", "base/js/events"], function (require, Jupyter, events) {
  "use strict";

  const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

  async function until(condition, milliseconds) {
    const end = Date.now() + milliseconds;
    while (!condition() && Date.now() < end) await pause(50);
  }

  // Which cells: ?run=all|init|none in the address, else the notebook's metadata rise.autorun (true means "all").
  function cellsToRun() {
    const asked = new URLSearchParams(window.location.search).get("run");
    const setting = asked ?? (Jupyter.notebook.metadata.rise || {}).autorun;
    const which = setting === true ? "all" : setting;
    if (which !== "all" && which !== "init") return [];
    return Jupyter.notebook.get_cells().filter((cell) => {
      if (cell.cell_type !== "code" || !cell.get_text().trim()) return false;
      return which === "all" || cell.metadata.init_cell === true || (cell.metadata.tags || []).includes("init");
    });
  }

  // As in ../labextension: nothing of a notebook that is not trusted is run, until the reader says so.
  function isTrusted() {
    const said = Jupyter.notebook.metadata.bertlook;
    return said ? said.trusted === true : Jupyter.notebook.get_cells().every((cell) => cell.cell_type !== "code" || cell.output_area.trusted);
  }

  function offerTrust() {
    const line = document.createElement("div");
    line.id = "bertlook-status";
    line.setAttribute("role", "status");
    line.style.cssText =
      "position: fixed; right: 12px; top: 8px; z-index: 40; font: 18px system-ui, sans-serif; color: #333; background: rgb(255 255 255 / 85%); padding: 2px 8px";
    const button = Object.assign(document.createElement("button"), { type: "button", textContent: "Trust it" });
    button.addEventListener("click", async () => {
      if (!window.confirm("Trust this notebook? Its cells run when it is opened, with all that you may do on this computer.")) return;
      const path = Jupyter.notebook.notebook_path.split("/").map(encodeURIComponent).join("/");
      const secret = document.cookie.match(/\b_xsrf=([^;]*)/)?.[1] ?? "";
      const reply = await fetch(`${Jupyter.notebook.base_url}api/contents/${path}/trust`, { method: "POST", headers: { "X-XSRFToken": secret } });
      if (reply.ok) window.location.reload();
      else button.textContent = `It could not be trusted: ${reply.statusText}`;
    });
    line.append("This notebook is not trusted: nothing was run. ", button);
    document.body.append(line);
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
    if (!isTrusted() && !preview) offerTrust();
    const cells = preview || !isTrusted() ? [] : cellsToRun();
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

  // As in ../labextension: inside a widget a key belongs to the widget, but for those of a remote control and Escape.
  function guardKeys() {
    const textFields = "textarea, select, [contenteditable], input:not([type=range], [type=checkbox], [type=radio], [type=button])";
    const inWidget = (target) => target instanceof Element && target.closest(".output_subarea");
    const presenting = () => document.body.classList.contains("rise-enabled");

    window.addEventListener("keydown", (event) => {
      const remote = event.key === "PageUp" || event.key === "PageDown";
      if (!remote || !presenting() || !inWidget(event.target) || event.target.closest(textFields)) return;
      event.stopImmediatePropagation();
      event.preventDefault();
      const { key, code, keyCode } = event;
      document.body.dispatchEvent(new KeyboardEvent("keydown", { key, code, keyCode, which: keyCode, bubbles: true, cancelable: true }));
    }, { capture: true });

    for (const type of ["keydown", "keypress"]) {
      document.body.addEventListener(type, (event) => {
        if (!presenting() || !inWidget(event.target)) return;
        event.stopPropagation();
        if (event.key === "Escape" && !event.defaultPrevented) event.target.blur();
      });
    }
  }

  // How the slides look, as in ../labextension: ?look=dark|projector, else the metadata rise.look; D goes on to the next.
  const LOOKS = ["", "dark", "projector"];

  function wear(look) {
    for (const name of LOOKS.slice(1)) document.body.classList.toggle(`bertlook-${name}`, name === look);
  }

  // How a slide fills its room, and what else every host does alike (../export/page/fill.js): JupyterLab's extension brings the file.
  function loadFill() {
    return new Promise((done, failed) => require([`${Jupyter.notebook.base_url}lab/extensions/bertlook-rise/static/fill.js`], done, failed));
  }

  function guardLook() {
    window.addEventListener("keydown", (event) => {
      if (event.key.toLowerCase() !== "d" || event.ctrlKey || event.metaKey || event.altKey) return;
      if (!document.body.classList.contains("rise-enabled") || !(event.target instanceof Element)) return;
      if (event.target.closest(".output_subarea, textarea, select, input, [contenteditable]")) return;
      event.stopImmediatePropagation();
      event.preventDefault();
      const now = LOOKS.findIndex((name) => name && document.body.classList.contains(`bertlook-${name}`));
      wear(LOOKS[(Math.max(0, now) + 1) % LOOKS.length]);
    }, { capture: true });
  }

  async function load_ipython_extension() {
    guardKeys();
    guardLook();
    await until(loaded, 60000);
    keepViews();
    const rise = Jupyter.notebook.metadata.rise || {};
    wear(new URLSearchParams(window.location.search).get("look") ?? rise.look);
    await loadFill();
    showPlace(rise);
    keepFilled();
    await bringToLife();
  }

  return { load_ipython_extension };
});
