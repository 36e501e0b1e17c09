"""A part of Jupyter's server: the specimen, and the scripts that compute it, for pages whose kernel does not answer."""

from __future__ import annotations

import asyncio
import json
from functools import cache

SCRIPT, WEIGHTS = "bertlook/specimen_page.js", "bertlook/specimen.bin"  # below the server's own address


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server) -> None:
    """Called by Jupyter's server when it starts; nothing is loaded until a page asks."""
    from jupyter_server.base.handlers import JupyterHandler
    from jupyter_server.utils import url_path_join
    from tornado.web import authenticated

    class Given(JupyterHandler):
        def initialize(self, make, kind):
            self.make, self.kind = make, kind

        @authenticated
        async def get(self):
            content = await asyncio.get_running_loop().run_in_executor(None, self.make)
            self.set_header("Content-Type", self.kind)
            self.finish(content)

    def handler(place, make, kind):
        return url_path_join(server.web_app.settings["base_url"], place), Given, {"make": make, "kind": kind}

    server.web_app.add_handlers(
        ".*$",
        [
            handler(SCRIPT, specimen_scripts, "text/javascript; charset=utf-8"),
            handler(WEIGHTS, lambda: _specimen()[1], "application/octet-stream"),
        ],
    )


@cache
def _specimen() -> tuple[str, bytes]:
    """Fingerprint and file."""
    from bertlook_teach.model import load_encoder

    from ..pages import specimen_bytes

    encoder = load_encoder("specimen")
    return encoder.fingerprint, specimen_bytes(encoder)


def specimen_scripts() -> str:
    """What computes in the page, and which model it will find at `WEIGHTS`."""
    from ..pages import specimen_source

    served = json.dumps({"fingerprint": _specimen()[0], "weights": WEIGHTS})
    return f"{specimen_source()}\nglobalThis.bertlookServed = {served};\n"
