// One map at a time, five buttons, five keys. All state is in Python; this draws it and reports what is pressed.
function make(tag, className, parent) {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (parent) parent.append(node);
  return node;
}

function render({ model, el }) {
  const root = make("div", "bertlook bl-game", el);
  root.setAttribute("role", "group");
  root.setAttribute("aria-label", "Labelling game: choose one of five classes for each map. Keys 1 to 5 choose, u takes back, arrow keys turn pages.");
  const stage = make("div", "bl-game-stage", root);
  const side = make("div", "bl-game-side", root);
  const status = make("p", "bl-game-status", side);
  status.setAttribute("aria-live", "polite");
  const send = (kind, value) => model.send({ kind, value });
  const button = (label, action, parent) => {
    const node = make("button", "bl-game-button", parent);
    node.type = "button";
    node.textContent = label;
    node.dataset.lmSuppressShortcuts = "true";
    node.addEventListener("click", action);
    return node;
  };
  const choices = model.get("names").map((name, i) => button(`${i + 1} ${name}`, () => send("label", i), side));
  const tools = make("div", "bl-game-tools", side);
  button("undo", () => send("undo"), tools);
  button("back", () => send("turn", -1), tools);
  button("next", () => send("turn", 1), tools);
  const result = button("result", () => send("result"), tools);
  const words = make("details", "bl-game-words", side);
  make("summary", "", words).textContent = "this map in words";
  const said = make("p", "", words);
  const more = make("details", "bl-game-more", side);
  make("summary", "", more).textContent = "partner, saving";
  const field = (label, kind, trait) => {
    const line = make("label", "", more);
    line.append(label);
    const input = make(kind, "", line);
    input.dataset.lmSuppressShortcuts = "true";
    if (trait) input.readOnly = true;
    return input;
  };
  const code = field("your code", "input", "code");
  const partner = field("partner's code or CSV", "textarea");
  button("compare", () => send("partner", partner.value), more);
  const path = field("save as", "input");
  path.placeholder = "labels.csv";
  button("save", () => send("save", path.value), more);
  const message = make("p", "bl-game-message", side);
  message.setAttribute("role", "alert");

  const draw = () => {
    const showing = model.get("result");
    stage.innerHTML = showing || model.get("picture"); // made and escaped by the package
    status.textContent = model.get("status");
    said.textContent = model.get("words");
    message.textContent = model.get("message");
    code.value = model.get("code");
    result.textContent = showing ? "maps" : "result";
    result.setAttribute("aria-pressed", String(Boolean(showing)));
    const chosen = model.get("chosen");
    choices.forEach((node, i) => node.setAttribute("aria-pressed", String(i === chosen)));
  };
  const pressed = (event) => {
    if (/^(INPUT|TEXTAREA)$/.test(event.target.tagName)) {
      event.stopPropagation();
      return;
    }
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const turn = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (/^[1-9]$/.test(event.key) && Number(event.key) <= choices.length) send("label", Number(event.key) - 1);
    else if (event.key === "u" || event.key === "Backspace") send("undo");
    else if (turn) send("turn", turn);
    else {
      if (event.key === "Enter" || event.key === " ") event.stopPropagation(); // presses the button, does not turn the slide
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  };
  root.tabIndex = 0;
  root.dataset.lmSuppressShortcuts = "true";
  root.addEventListener("keydown", pressed);
  model.on("change", draw);
  draw();
  return () => model.off("change", draw);
}

export default { render };
