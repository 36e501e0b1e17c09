// A saved page: one view, or a few that show the same head, without a kernel, a widget manager or a request.
// Before this stand model.js, the views' modules, which put themselves into `bertlookViews`, and the saved state as JSON.

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
const models = saved.views.map(({ state }) => new SavedModel(state));
for (const trait of saved.shared) {
  const tied = models.filter((_, i) => !saved.alone.includes(i)); // a recorded model has heads of its own
  for (const model of tied) model.on(`change:${trait}`, () => tied.forEach((other) => other.set(trait, model.get(trait))));
}
const controls = document.getElementById("bertlook-controls");
const stage = document.getElementById("bertlook-views");
stage.classList.toggle("bertlook-two", saved.alone.length > 0 && models.length > 1);
if (saved.kept.length) keepInAddress();
saved.controls.forEach((one) => controls.append(controlFor(models[one.view], one)));
models.forEach((model, i) => {
  const el = document.createElement("div");
  el.className = `saved-view ${saved.views[i].module}`;
  if (saved.alone.includes(i)) el.classList.add("bertlook-switch");
  stage.append(el);
  globalThis.bertlookViews[saved.views[i].module].render({ model, el });
});
globalThis.bertlookModels = models;

// What a reader chooses stands in the address of the page, so that a link reopens it as it stands: 0.layer=2&0.head=3.
function keepInAddress() {
  const kept = models.map(({ state }) => saved.kept.filter((trait) => trait in state));
  const opened = models.map((model, i) => Object.fromEntries(kept[i].map((trait) => [trait, model.get(trait)])));
  const most = (model, trait) => ({ layer: model.get("shape")?.[0], head: model.get("shape")?.[1], sentence: model.get("names")?.length })[trait] ?? 1000;
  function read() {
    const state = new URLSearchParams(location.hash.slice(1));
    models.forEach((model, i) => {
      const asked = kept[i].map((trait) => {
        const [value, plain] = [state.get(`${i}.${trait}`), opened[i][trait]];
        if (typeof plain === "string") return [trait, model.get("measures")?.includes(value) ? value : plain];
        if (typeof plain === "boolean") return [trait, value === null ? plain : value === "true"];
        return [trait, /^-?\d{1,3}$/.test(value ?? "") && Number(value) < most(model, trait) && Number(value) >= (["query", "key"].includes(trait) ? -1 : 0) ? Number(value) : plain];
      });
      model.set(Object.fromEntries(asked));
    });
  }
  function write() {
    const state = new URLSearchParams();
    models.forEach((model, i) => kept[i].forEach((trait) => model.get(trait) !== opened[i][trait] && state.set(`${i}.${trait}`, model.get(trait))));
    history.replaceState(null, "", `#${state}`);
  }
  read();
  for (const model of models) if ("pair" in model.state) model.set("pair", {}); // the view that has one tells it again
  for (const model of models) model.on("change", write);
  addEventListener("hashchange", read);
}
