// A line with a source; beside it a button if Python says that its PDF is at hand. The PDF comes when it is asked for, and is
// shown by the browser's own reader over the right half of the slide, so that the claim stays in view.

function rememberedPage(name, first) {
  try {
    return Math.max(1, Number(localStorage.getItem(name)) || first);
  } catch {
    return first; // a browser may forbid it
  }
}

function rememberPage(name, page) {
  try {
    localStorage.setItem(name, page);
  } catch {
    // then it opens at the first page again
  }
}

export default {
  render({ model, el }) {
    const exported = document.getElementById("bertlook-widgets") !== null; // there is no Python to ask
    const root = element("p", "bertlook-paper", { title: model.get("full") }, element("span", "", {}, model.get("reference")));
    el.append(root);
    if (exported) return;

    const memory = `bertlook-paper:${model.get("reference")}`;
    const more = element("span", "", { "aria-live": "polite" });
    root.append(more);
    let panel = null;
    let address = "";
    let opener = null;

    const close = () => {
      if (!panel) return;
      panel.remove();
      panel = null;
      window.removeEventListener("hashchange", close);
      opener?.focus({ preventScroll: true });
    };
    const open = () => {
      close();
      const page = element("input", "", { type: "number", min: "1", "aria-label": "page of the PDF" });
      page.value = rememberedPage(memory, model.get("page"));
      const end = button("", "close", close);
      const bar = element("div", "bertlook-paper-bar", {}, element("strong", "", {}, model.get("reference")), "page ", page, end);
      panel = control("section", "bertlook-paper-panel", { role: "dialog", "aria-label": model.get("full") }, bar);
      const show = () => { // a new frame each time: not every reader follows when only the page in the address changes
        panel.querySelector("iframe")?.remove();
        const at = Math.max(1, Math.floor(Number(page.value)) || 1);
        rememberPage(memory, at);
        panel.append(element("iframe", "", {
          src: `${address}#page=${at}&navpanes=0&toolbar=0&view=FitH`, title: `${model.get("reference")}, page ${at} of the PDF`,
        }));
      };
      page.addEventListener("change", show);
      panel.addEventListener("keydown", (event) => {
        event.stopPropagation(); // digits and arrows are the panel's, not the slides'
        if (event.key === "Escape") close();
      });
      document.body.append(panel);
      show();
      window.addEventListener("hashchange", close); // another slide, another claim
      end.focus({ preventScroll: true });
    };

    const listen = (content, buffers) => {
      if (content.there === true) {
        opener = button("", "show the paper", () => (address ? open() : model.send({ ask: "pdf" })));
        more.replaceChildren(opener);
      } else if (content.there === false && onSlide(el)) {
        root.title = `${model.get("full")} Shown here if it lies in ${model.get("file")}.`; // for the teacher; the class would read it, too
      } else if (content.there === false) {
        more.replaceChildren("shown here if it lies in ", element("code", "", {}, model.get("file")));
      } else if (content.pdf) {
        address = URL.createObjectURL(new Blob([buffers[0]], { type: "application/pdf" }));
        open();
      } else if (content.trouble) {
        more.replaceChildren(content.trouble);
      }
    };
    model.on("msg:custom", listen);
    model.send({ ask: "there" });
    return () => {
      model.off("msg:custom", listen);
      close();
      if (address) URL.revokeObjectURL(address);
    };
  },
};
