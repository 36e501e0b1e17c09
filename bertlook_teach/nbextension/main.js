// The fallback's half of ../labextension: in classic RISE under nbclassic everything shows its widgets
// by itself, but nothing runs the deck's cells on opening, and not every widget keeps its keys. Elsewhere it does nothing.
define(["base/js/namespace", "base/js/events", "base/js/utils", "services/config"], function (Jupyter, events, utils, configuration) {
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

  // The widget manager takes its place a moment after it appears; cells run before that show empty areas.
  async function widgetManager() {
    await until(() => Jupyter.notebook.kernel && Jupyter.notebook.kernel.widget_manager, 10000);
    await pause(2000);
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

  // RISE's own autolaunch comes too early now and then: it looks for slides before the notebook is loaded.
  async function slideshow() {
    const settings = new configuration.ConfigSection("rise", { base_url: utils.get_body_data("baseUrl") });
    settings.load();
    await settings.loaded;
    const { autolaunch } = { ...settings.data, ...Jupyter.notebook.metadata.rise };
    if (!autolaunch || !Jupyter.notebook.metadata.rise) return;
    await until(() => document.getElementById("RISE"), 10000); // its button: added just before it launches by itself
    await pause(100);
    const running = document.getElementById("maintoolbar").classList.contains("reveal_tagging");
    if (!running) Jupyter.notebook.keyboard_manager.actions.call("RISE:slideshow");
  }

  async function bringToLife() {
    await slideshow();
    const preview = /[?&]receiver\b/i.test(window.location.search);
    const cells = preview ? [] : cellsToRun();
    if (cells.length) {
      Jupyter.notebook.set_autosave_interval(0); // a lecture must not rewrite the file on disk
      await widgetManager();
    }
    let failed = false;
    for (const cell of cells) {
      await finished(cell);
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

  async function load_ipython_extension() {
    guardKeys();
    await until(loaded, 60000);
    await bringToLife();
  }

  return { load_ipython_extension };
});
