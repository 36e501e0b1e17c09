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
saved.controls.forEach((one) => controls.append(controlFor(models[one.view], one)));
models.forEach((model, i) => {
  const el = document.createElement("div");
  el.className = `saved-view ${saved.views[i].module}`;
  if (saved.alone.includes(i)) el.classList.add("bertlook-switch");
  stage.append(el);
  globalThis.bertlookViews[saved.views[i].module].render({ model, el });
});
globalThis.bertlookModels = models;
