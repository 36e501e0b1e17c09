// A saved page: one view, or a few that show the same head, without a kernel, a widget manager or a request.
// Before this stand the views' modules, which put themselves into `bertlookViews`, and the saved state as JSON.

class SavedModel {
  constructor(state) {
    this.state = state;
    this.listeners = new Map();
  }
  get(name) {
    return this.state[name];
  }
  set(name, value) {
    if (this.state[name] === value) return;
    this.state[name] = value;
    for (const call of [...(this.listeners.get(`change:${name}`) ?? [])]) call();
  }
  save_changes() {} // there is nobody to tell
  on(event, call) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), call]);
  }
  off(event, call) {
    this.listeners.set(event, (this.listeners.get(event) ?? []).filter((one) => one !== call));
  }
}

function bytesOf(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) bytes[i] = letters.charCodeAt(i);
  return bytes;
}

function restored(state) {
  for (const [name, value] of Object.entries(state)) {
    if (value && typeof value.base64 === "string") {
      const bytes = bytesOf(value.base64);
      state[name] = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    }
  }
  return state;
}

// Menus and boxes for what ipywidgets set where there is a kernel.
function controlFor(model, { trait, label, options }) {
  const box = document.createElement("label");
  const field = document.createElement(options ? "select" : "input");
  field.name = trait;
  if (options) {
    options.forEach((name, i) => {
      const option = document.createElement("option");
      option.value = i;
      option.textContent = name;
      field.append(option);
    });
    box.append(`${label} `, field);
  } else {
    field.type = "checkbox";
    box.append(field, ` ${label}`);
  }
  const show = () => {
    if (options) field.value = model.get(trait);
    else field.checked = model.get(trait);
  };
  field.addEventListener("change", () => model.set(trait, options ? Number(field.value) : field.checked));
  model.on(`change:${trait}`, show);
  show();
  return box;
}

const saved = JSON.parse(document.getElementById("bertlook-saved").textContent);
const models = saved.views.map(({ state }) => new SavedModel(restored(state)));
for (const trait of saved.shared) {
  const tied = models.filter((_, i) => !saved.alone.includes(i)); // a recorded model has heads of its own
  for (const model of tied) model.on(`change:${trait}`, () => tied.forEach((other) => other.set(trait, model.get(trait))));
}
const controls = document.getElementById("bertlook-controls");
const stage = document.getElementById("bertlook-views");
stage.classList.toggle("bertlook-two", saved.alone.length > 0 && models.length > 1);
saved.controls.forEach((one) => controls.append(controlFor(models[one.view], one)));
models.forEach((model, i) => {
  const el = document.createElement("div");
  el.className = `saved-view ${saved.views[i].module}`;
  if (saved.alone.includes(i)) el.classList.add("bertlook-switch");
  stage.append(el);
  globalThis.bertlookViews[saved.views[i].module].render({ model, el });
});
globalThis.bertlookModels = models;
