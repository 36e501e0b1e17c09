// The fallback's half of ../labextension: in classic RISE under nbclassic everything shows its widgets
// by itself, but nothing runs the deck's cells on opening. In any other classic notebook it does nothing.
define(["base/js/namespace", "base/js/events"], function (Jupyter, events) {
  "use strict";

  const pause = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

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
    for (let i = 0; i < 200 && !(Jupyter.notebook.kernel && Jupyter.notebook.kernel.widget_manager); i++) await pause(50);
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

  async function bringToLife() {
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

  function load_ipython_extension() {
    const start = () => Jupyter.notebook.kernel && Jupyter.notebook.kernel.is_connected() && Jupyter.notebook._fully_loaded;
    (async () => {
      for (let i = 0; i < 1200 && !start(); i++) await pause(50);
      await bringToLife();
    })();
  }

  return { load_ipython_extension };
});
