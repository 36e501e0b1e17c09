// Brings the views of an exported deck to life: no kernel, no request, no library. It stands in for the widget manager
// of Jupyter (3.6 MB) and knows the few kinds of widgets that our decks have; export/state.py refuses the others before
// they get here. Choices that only Python can draw were recorded by the exporter and are looked up. What cannot be
// looked up stands still: a line of text or a slider that nothing answers is left out, a view keeps its saved picture.

const parts = JSON.parse(document.getElementById("bertlook-widgets").textContent);
const models = new Map();
const modules = new Map();

// ---- models: those of ../../../pages/js/model.js, which stands before this, with what a widget is ----

class Model extends SavedModel {
  constructor(id, { kind, state, bytes = {}, module = null }) {
    super({ ...state, ...Object.fromEntries(Object.entries(bytes).map(([name, base64]) => [name, { base64 }])) });
    Object.assign(this, { id, kind, module });
    this.widget_manager = { get_model: async (name) => modelOf(name) };
  }
  save_changes() {} // what a change means in the page has happened in set()
  send() {}
}

function modelOf(reference) {
  const model = models.get(String(reference).replace(/^IPY_MODEL_/, ""));
  if (!model) throw new Error(`the saved state has no model ${reference}`);
  return model;
}

// Two traits that were linked in the page stay linked.
function link(model) {
  const [source, target] = [model.get("source"), model.get("target")].map(([reference, trait]) => [modelOf(reference), trait]);
  const pass = ([from, trait], [to, name]) => from.on(`change:${trait}`, () => to.set(name, from.get(trait)));
  pass(source, target);
  if (model.kind === "LinkModel") pass(target, source);
  target[0].set(target[1], source[0].get(source[1]));
}

// What Python answered to every choice when the deck was exported.
function replay({ inputs, rows, outputs, answers, values }) {
  const places = (list) => list.map(([id, trait]) => [modelOf(id), trait]);
  const [asked, told] = [places(inputs), places(outputs)];
  const found = new Map(rows.map((row, i) => [JSON.stringify(row), i]));
  const content = values.map(decoded);
  const answer = () => {
    const row = found.get(JSON.stringify(asked.map(([model, trait]) => model.get(trait))));
    if (row === undefined) return;
    told.forEach(([model, trait], i) => model.set(trait, content[answers[row][i]]));
  };
  let waiting = false; // layer and head change together: one answer
  for (const [model, trait] of asked) {
    model.on(`change:${trait}`, () => {
      if (waiting) return;
      waiting = true;
      queueMicrotask(() => {
        waiting = false;
        answer();
      });
    });
  }
}

// ---- pieces of page ----

function make(tag, className = "", attributes = {}) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) node.setAttribute(name, value);
  return node;
}

function follow(model, names, update) {
  model.on(names.map((name) => `change:${name}`).join(" "), update);
  update();
}

function dress(node, model) {
  for (const name of model.get("_dom_classes") ?? []) node.classList.add(name);
  const layout = model.get("layout");
  if (layout) {
    for (const [name, value] of Object.entries(modelOf(layout).state)) {
      if (typeof value === "string" && value && !name.startsWith("_")) node.style.setProperty(name.replaceAll("_", "-"), value);
    }
  }
  return node;
}

const named = (count => (prefix) => `${prefix}-${(count += 1)}`)(0);

// A labelled control, in the boxes that the style sheet of the views expects.
function labelled(model, kind, control) {
  const box = dress(make("div", `jupyter-widgets widget-inline-hbox widget-${kind}`), model);
  const description = model.get("description");
  control.id = named("control");
  if (description) {
    const label = make("label", "widget-label", { for: control.id });
    label.textContent = description;
    box.append(label);
  } else if (!control.getAttribute("aria-label")) {
    control.setAttribute("aria-label", model.get("placeholder") || kind);
  }
  box.append(control);
  return box;
}

// ---- views ----

const VIEWS = {
  BoxModel: (model) => box(model, "box"),
  HBoxModel: (model) => box(model, "hbox"),
  VBoxModel: (model) => box(model, "vbox"),
  GridBoxModel: (model) => box(model, "gridbox"),

  HTMLModel: html,
  HTMLMathModel: html,
  LabelModel(model) {
    const node = dress(make("div", "jupyter-widgets widget-label"), model);
    follow(model, ["value"], () => (node.textContent = model.get("value")));
    return node;
  },

  DropdownModel(model) {
    const select = make("select");
    follow(model, ["_options_labels"], () => {
      select.replaceChildren(...model.get("_options_labels").map((text) => Object.assign(make("option"), { textContent: text })));
    });
    follow(model, ["index", "_options_labels"], () => (select.selectedIndex = model.get("index") ?? -1));
    select.addEventListener("change", () => model.set("index", select.selectedIndex));
    return labelled(model, "dropdown", select);
  },
  SelectModel(model) {
    const node = VIEWS.DropdownModel(model);
    node.querySelector("select").size = model.get("rows") ?? 5;
    return node;
  },
  ToggleButtonsModel: (model) => oneOf(model, "togglebuttons"),
  RadioButtonsModel: (model) => oneOf(model, "radio"),
  SelectionSliderModel(model) {
    const names = model.get("_options_labels");
    return slider(model, "index", 0, names.length - 1, 1, (value) => names[value] ?? "");
  },
  IntSliderModel: (model) => slider(model, "value", model.get("min"), model.get("max"), model.get("step"), String),
  FloatSliderModel(model) {
    const digits = Number(/\.(\d+)f/.exec(model.get("readout_format"))?.[1] ?? 2);
    return slider(model, "value", model.get("min"), model.get("max"), model.get("step"), (value) => value.toFixed(digits));
  },

  CheckboxModel(model) {
    const input = make("input", "", { type: "checkbox" });
    const outer = dress(make("div", "jupyter-widgets widget-inline-hbox widget-checkbox"), model);
    const label = make("label", "widget-label-basic");
    const text = make("span");
    label.append(input, text);
    outer.append(label);
    follow(model, ["description"], () => (text.textContent = model.get("description")));
    follow(model, ["value"], () => (input.checked = Boolean(model.get("value"))));
    input.addEventListener("change", () => model.set("value", input.checked));
    return outer;
  },
  ToggleButtonModel(model) {
    const button = dress(make("button", "jupyter-widgets jupyter-button widget-toggle-button", { type: "button" }), model);
    button.textContent = model.get("description");
    follow(model, ["value"], () => button.setAttribute("aria-pressed", String(Boolean(model.get("value")))));
    button.addEventListener("click", () => model.set("value", !model.get("value")));
    return button;
  },
  ButtonModel(model) {
    const button = dress(make("button", "jupyter-widgets jupyter-button widget-button", { type: "button" }), model);
    button.textContent = model.get("description");
    if (model.get("tooltip")) button.title = model.get("tooltip");
    return button;
  },

  TextModel: (model) => typed(model, make("input", "", { type: "text" }), "text"),
  TextareaModel: (model) => typed(model, make("textarea", "", { rows: model.get("rows") ?? 3 }), "textarea"),

  async AnyModel(model) {
    const node = dress(make("div", "jupyter-widgets"), model);
    const widget = await moduleOf(model);
    const experimental = { invoke: async () => Promise.reject(new Error("there is no kernel behind this page")) };
    if (!model.initialised) {
      model.initialised = true;
      await widget.initialize?.({ model, experimental });
    }
    const inside = make("div");
    node.append(inside);
    await widget.render?.({ model, el: inside, experimental });
    return node;
  },
};

const childrenOf = (model) => (model.get("children") ?? []).map(modelOf);
const partsOf = (model) => [model, ...childrenOf(model).flatMap(partsOf)];

async function box(model, kind) {
  const node = dress(make("div", `jupyter-widgets widget-container widget-${kind}`), model);
  node.append(...(await Promise.all(childrenOf(model).filter(({ id }) => !parts.silent[id]).map(view))));
  return node;
}

function html(model) {
  const node = dress(make("div", "jupyter-widgets widget-inline-hbox widget-html"), model);
  const content = make("div", "widget-html-content");
  node.append(content);
  follow(model, ["value"], () => (content.innerHTML = model.get("value"))); // made and escaped by the package
  return node;
}

function oneOf(model, kind) {
  const group = make("div", "bertlook-choices", { role: "group" });
  const buttons = model.get("_options_labels").map((text, i) => {
    const button = make("button", "jupyter-button widget-toggle-button", { type: "button" });
    button.textContent = text;
    button.addEventListener("click", () => model.set("index", i));
    button.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (!step) return;
      buttons[(i + step + buttons.length) % buttons.length].focus();
      event.preventDefault();
    });
    group.append(button);
    return button;
  });
  follow(model, ["index"], () => buttons.forEach((button, i) => button.setAttribute("aria-pressed", String(i === model.get("index")))));
  return labelled(model, kind, group);
}

function slider(model, trait, low, high, step, shown) {
  const input = make("input", "", { type: "range", min: low, max: high, step });
  const readout = make("output", "widget-readout");
  const place = () => {
    input.value = model.get(trait);
    readout.textContent = shown(model.get(trait));
  };
  const outer = labelled(model, "slider", input);
  outer.append(readout);
  follow(model, [trait], place);
  input.addEventListener("input", () => model.set(trait, Number(input.value)));
  return outer;
}

function typed(model, input, kind) {
  input.placeholder = model.get("placeholder") ?? "";
  const outer = labelled(model, kind, input);
  follow(model, ["value"], () => (input.value = model.get("value")));
  input.addEventListener("change", () => model.set("value", input.value));
  return outer;
}

function moduleOf(model) {
  if (!modules.has(model.module)) {
    const address = URL.createObjectURL(new Blob([parts.shared, parts.modules[model.module]], { type: "text/javascript" }));
    modules.set(
      model.module,
      import(address).then(async (found) => {
        const widget = found.default ?? found;
        return typeof widget === "function" ? widget() : widget;
      }),
    );
  }
  return modules.get(model.module);
}

async function view(model) {
  if (!VIEWS[model.kind]) throw new Error(`no view for a ${model.kind}`);
  const node = await VIEWS[model.kind](model);
  if (model.kind !== "AnyModel" && model.get("disabled")) for (const one of [node, ...node.querySelectorAll("input, select, textarea, button")]) one.disabled = true;
  return node;
}

// ---- start ----

async function bringToLife() {
  for (const [id, saved] of Object.entries(parts.models)) models.set(id, new Model(id, saved));
  for (const model of models.values()) if (/^(Directional)?LinkModel$/.test(model.kind)) link(model);
  for (const recording of parts.recordings) replay(recording);
  if (parts.computed.length) {
    const always = () => true; // texts are answered by the page itself (../../../pages/js/page_answers.js)
    const weights = ({ fingerprint }) => parts.weights.find((told) => told.fingerprint === fingerprint);
    parts.computed.forEach(globalThis.bertlookPageAnswers({ modelOf, weights, mine: always, alone: always }));
  }
  guardWidgets((target) => target.closest(".bertlook-live"), () => document.body);
  let failed = false;
  for (const place of document.querySelectorAll("[data-model]")) {
    try {
      const model = modelOf(place.dataset.model);
      const silent = partsOf(model).filter(({ id }) => parts.silent[id]);
      if (silent.length) place.after(Object.assign(make("p", "bertlook-needs-jupyter", { title: parts.silent[silent[0].id] }), { textContent: "live in Jupyter only" }));
      if (silent.some((part) => part === model || part.kind === "AnyModel")) continue;
      place.replaceChildren(await view(model)); // the saved picture goes
      place.classList.add("bertlook-live");
    } catch (error) {
      failed = true;
      console.error(error); // the saved picture stays
    }
  }
  document.body.classList.add(failed ? "bertlook-failed" : "bertlook-ready");
}
