// One map at a time, five buttons, five keys. All state is in Python; this draws it and reports what is pressed.

function createGame(host, get, emit, send) {
  const label = "Labelling game: choose one of five classes for each map. Keys 1 to 5 choose, u takes back, arrow keys turn pages.";
  const root = control("div", "bertlook bl-game", { role: "group", tabindex: "0", "aria-label": label });
  const stage = element("div", "bl-game-stage");
  const status = element("p", "bl-game-status", { "aria-live": "polite" });
  const press = (words, kind, value = () => undefined) => button("bl-game-button", words, () => send({ kind, value: value() }));
  const choices = get("names").map((name, i) => press(`${i + 1} ${name}`, "label", () => i));
  const result = press("result", "result");
  const tools = [press("undo", "undo"), press("back", "turn", () => -1), press("next", "turn", () => 1), result];
  const said = element("p");
  const [code, partner, path] = [control("input"), control("textarea"), control("input", "", { placeholder: "labels.csv" })];
  code.readOnly = true;
  const message = element("p", "bl-game-message", { role: "alert" });
  const more = element(
    "details", "bl-game-more", {},
    element("summary", "", {}, "partner, saving"),
    element("label", "", {}, "your code", code),
    element("label", "", {}, "partner's code or CSV", partner),
    press("compare", "partner", () => partner.value),
    element("label", "", {}, "save as", path),
    press("save", "save", () => path.value),
  );
  const words = element("details", "bl-game-words", {}, element("summary", "", {}, "this map in words"), said);
  root.append(stage, element("div", "bl-game-side", {}, status, ...choices, element("div", "bl-game-tools", {}, ...tools), words, more, message));
  host.append(root);

  function update() {
    const showing = get("result");
    stage.innerHTML = showing || get("picture"); // made and escaped by the package
    status.textContent = get("status");
    said.textContent = get("words");
    message.textContent = get("message");
    code.value = get("code");
    result.textContent = showing ? "maps" : "result";
    result.setAttribute("aria-pressed", String(Boolean(showing)));
    choices.forEach((node, i) => node.setAttribute("aria-pressed", String(i === get("chosen"))));
  }

  keepKeys(code, partner, path);
  onKeys(root, emit, (key) => {
    const turn = { ArrowLeft: -1, ArrowRight: 1 }[key];
    if (/^[1-9]$/.test(key) && Number(key) <= choices.length) send({ kind: "label", value: Number(key) - 1 });
    else if (key === "u" || key === "Backspace") send({ kind: "undo" });
    else if (turn) send({ kind: "turn", value: turn });
    else return null;
    return {};
  });
  return hosted(root, update, [], () => {});
}

export default { render: (context) => mount(context, createGame) };
