"""Show views with VS Code's own widget manager in Chromium, talking to a real kernel: as far as VS Code's renderer goes outside VS Code.

    npm pack @vscode/jupyter-ipywidgets8 && tar xzf vscode-jupyter-ipywidgets8-*.tgz
    python tools/try_vscode.py package --out DIR

``package`` is the folder with ``dist/ipywidgets.js``, the manager that VS Code's Jupyter extension loads (8 for ipywidgets 8). As there,
anywidget comes from ``share/jupyter/nbextensions`` of this Python through require.js, and the views' own scripts through the kernel. Stands in
for VS Code: the page, its require.js, and the kernel connection, which hands messages on. Every address but the page's own is refused, and counted.
Prints what each view did and exits with 1 if one did not; the pictures are for the eye. Not tried here: VS Code's list of outputs, its trust, its themes.
"""

from __future__ import annotations

import argparse
import json
import mimetypes
import sys
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlparse

ROOT = Path(__file__).resolve().parent.parent
HOME = "https://vscode-resource.test"
PAGE = """<!doctype html><meta charset="utf-8"><script src="/require.js"></script><body><div id="outputs"></div><script type="module">
import { activate } from "/ipywidgets.js";
activate();
window.vscIPyWidgets8.load();
const signal = () => ({ connect: () => true, disconnect: () => true });
const targets = {}, comms = {}, futures = {};
const bytes = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
const future = (id) => (futures[id] = { msg: { header: { msg_id: id } }, done: Promise.resolve(), dispose() {} });
const post = (type, content) => {
  const id = crypto.randomUUID();
  window.toKernel(type, content, id);
  return future(id);
};
const channel = (id, name) => (comms[id] = {
  commId: id, targetName: name, isDisposed: false, dispose() {},
  open: (data) => post("comm_open", { comm_id: id, target_name: name, data: data || {} }),
  send: (data) => post("comm_msg", { comm_id: id, data }),
  close: (data) => post("comm_close", { comm_id: id, data: data || {} }),
});
const kernel = {
  id: "one", name: "python3", clientId: "page", username: "page", status: "idle", model: { id: "one", name: "python3" },
  statusChanged: signal(), connectionStatusChanged: signal(), iopubMessage: signal(), unhandledMessage: signal(), anyMessage: signal(),
  disposed: signal(), registerCommTarget: (name, open) => { targets[name] = open; }, removeCommTarget() {}, dispose() {},
  createComm: (name, id) => channel(id || crypto.randomUUID(), name),
  requestCommInfo: async () => ({ content: { status: "ok", comms: {} } }),
  registerMessageHook() {}, removeMessageHook() {}, handleComms: true, hasComm: (id) => id in comms,
};
let order = Promise.resolve();
const take = async (message) => {
  message.buffers = message.buffers.map(bytes);
  const { comm_id: id } = message.content, type = message.header.msg_type;
  if (type === "comm_open") await targets[message.content.target_name]?.(channel(id, message.content.target_name), message);
  else if (type === "comm_msg") await comms[id]?.onMsg?.(message);
  else if (type === "comm_close") await comms[id]?.onClose?.(message);
  await futures[message.parent_header.msg_id]?.onIOPub?.(message);
};
window.fromKernel = (message) => { order = order.then(() => take(message)).catch((error) => console.error(String(error.stack))); return order; };
const scripts = {
  widgetsRegisteredInRequireJs: new Set(),
  async loadWidgetScript(name) { requirejs.config({ paths: { [name]: `/nbextensions/${name}/index` } }); this.widgetsRegisteredInRequireJs.add(name); },
  successHandler() {}, errorHandler: (cls, name, version, error) => console.error(`${cls} of ${name} ${version}: ${error}`),
};
const manager = new window.vscIPyWidgets.WidgetManager(kernel, document.body, scripts, () => {});
window.show = async (model) => {
  const place = document.querySelector("#outputs").appendChild(document.createElement("div"));
  place.className = "output";
  const view = await manager.create_view(await manager.get_model(model), { el: place });
  await manager.display_view(null, view, { node: place });
};
window.ready = true;
</script>"""

SET_UP = "from bertlook_teach import extract_attention, load_encoder, widgets\nencoder = load_encoder('specimen')\n"
VIEWS = {
    "HeadView": "view = widgets.HeadView(extract_attention(encoder, 'The cat saw a bird.'), layer=0, head=5)",
    "HeadExplorer": "view = widgets.HeadExplorer(encoder, 'The old man saw a bird.', measure='to the next token')",
    "AblationBench": "view = widgets.AblationBench(encoder, 'He opened the door and walked into the room.', masked=7)",
    "NeuronView": "view = widgets.NeuronView(extract_attention(encoder, 'The cat saw a bird.', vectors=True), layer=0, head=5)",
}


class Kernel:
    """A real kernel, whose messages go to the page and come from it."""

    def __init__(self, page) -> None:
        from jupyter_client.manager import start_new_kernel

        self.page = page
        self.manager, self.client = start_new_kernel(kernel_name="python3")
        page.expose_function("toKernel", self._send)

    def _send(self, kind: str, content: dict, number: str) -> None:
        message = self.client.session.msg(kind, content)
        message["header"]["msg_id"] = message["msg_id"] = number
        self.client.shell_channel.send(message)

    def hand_on(self, until=None, seconds: float = 60) -> None:
        """Hand on what the kernel says until it is idle after the request ``until``, or says nothing for a second."""
        from base64 import b64encode
        from queue import Empty

        while True:
            self.page.wait_for_timeout(20)  # lets the page's own messages out
            try:
                message = self.client.get_iopub_msg(timeout=seconds if until else 1)
            except Empty:
                return
            if message["msg_type"] == "error":
                raise RuntimeError("\n".join(message["content"]["traceback"]))
            sent = {key: message[key] for key in ("header", "parent_header", "metadata", "content")}
            sent["buffers"] = [b64encode(bytes(part)).decode() for part in message["buffers"]]
            self.page.evaluate(
                "(message) => window.fromKernel(message)", json.loads(json.dumps(sent, default=str))
            )
            idle = message["msg_type"] == "status" and message["content"]["execution_state"] == "idle"
            if until and idle and message["parent_header"].get("msg_id") == until:
                return

    def run(self, code: str) -> str:
        """Run code, hand on what comes of it, and return what it printed last as an expression."""
        number = self.client.execute(code, user_expressions={"model": "getattr(view, 'model_id', '')"})
        self.hand_on(number)
        reply = self.client.get_shell_msg(timeout=60)
        while reply["parent_header"].get("msg_id") != number:
            reply = self.client.get_shell_msg(timeout=60)
        return (
            reply["content"]
            .get("user_expressions", {})
            .get("model", {})
            .get("data", {})
            .get("text/plain", "")
            .strip("'")
        )


def main(argv: Sequence[str] | None = None) -> int:
    """Return the exit code."""
    from playwright.sync_api import sync_playwright

    from bertlook_teach.disk import find_chromium

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("package", type=Path, help="the unpacked package of VS Code's widget manager")
    parser.add_argument("--out", type=Path, default=Path("."), help="where the pictures go")
    args = parser.parse_args(argv)
    share = Path(sys.prefix, "share", "jupyter", "nbextensions")
    import nbclassic

    files = {
        "/ipywidgets.js": args.package / "dist" / "ipywidgets.js",
        "/require.js": Path(nbclassic.__file__).parent / "static/components/requirejs/require.js",
    }
    refused, errors, failed = [], [], 0

    def answer(route) -> None:
        address = urlparse(route.request.url)
        file = files.get(address.path, share / address.path.removeprefix("/nbextensions/"))
        if f"{address.scheme}://{address.netloc}" != HOME:
            refused.append(route.request.url)
            route.abort()
        elif address.path == "/":
            route.fulfill(body=PAGE, content_type="text/html")
        elif file.is_file():
            route.fulfill(body=file.read_bytes(), content_type=mimetypes.guess_type(file.name)[0])
        else:
            route.fulfill(status=404, body="")

    args.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1000, "height": 700})
        page.route("**/*", answer)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda line: errors.append(line.text) if line.type == "error" else None)
        kernel = Kernel(page)
        try:
            page.goto(HOME + "/")
            page.wait_for_function("window.ready")
            kernel.run(SET_UP + "view = None")
            for name, code in VIEWS.items():
                errors.clear()
                model = kernel.run(code)
                page.evaluate("document.querySelector('#outputs').replaceChildren()")
                page.evaluate("(model) => window.show(model)", model)
                kernel.hand_on()
                output = page.locator(".output")
                drawn = output.locator("svg, canvas, [role=grid], button, input").count()
                before = output.inner_text()
                grid = output.locator("[role=grid] [tabindex='0'], [tabindex='0']").first
                if grid.count():
                    grid.focus()
                    for _ in range(2):
                        page.keyboard.press("ArrowRight")
                        kernel.hand_on()
                page.screenshot(path=args.out / f"vscode-{name}.png")
                moved = output.inner_text() != before
                text = output.locator("input[type=text]").first
                typed = ""
                if text.count():
                    text.fill("Two birds sang.")
                    text.press("Enter")
                    kernel.hand_on()
                    typed = (
                        ", read a sentence of one's own"
                        if "sang" in output.inner_text()
                        else ", DID NOT READ a typed sentence"
                    )
                    page.screenshot(path=args.out / f"vscode-{name}-typed.png")
                well = drawn and not errors and "NOT" not in typed
                failed += not well
                said = f"{drawn} parts, arrow keys {'moved it' if moved else 'changed no text'}{typed}"
                print(f"{'ok  ' if well else 'FAIL'} {name:14} {said}  {'; '.join(errors)[:600]}", flush=True)
        finally:
            kernel.client.stop_channels()
            kernel.manager.shutdown_kernel(now=True)
            browser.close()
    print(
        f"{len(refused)} addresses outside the page were asked for{': ' + ', '.join(sorted(set(refused))) if refused else ''}"
    )
    return 1 if failed or refused else 0


if __name__ == "__main__":
    sys.exit(main())
