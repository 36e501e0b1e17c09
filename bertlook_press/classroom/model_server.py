"""A part of Jupyter's server: the shipped models and the scripts that compute them, for pages whose kernel does not answer; the slides' theme."""

from __future__ import annotations

import asyncio
import json

SCRIPT = "bertlook/engine.js"  # below the server's own address
FOLDER = "bertlook/"  # of each model: NAME.json, what is known of its file, and the file itself

THEME = "bertlook/theme.css"  # for a deck that names it (rise.stylesheet), wherever it lies

MISSING, INSTEAD = "Python does not answer.", "Start the kernel, and run the cell again."


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server) -> None:
    """Called by Jupyter's server when it starts; nothing is loaded until a page asks."""
    from jupyter_server.base.handlers import JupyterHandler
    from jupyter_server.utils import url_path_join
    from tornado.web import authenticated

    from bertlook_teach.model import SHIPPED

    class Given(JupyterHandler):
        def initialize(self, make, kind):
            self.make, self.kind = make, kind

        @authenticated
        async def get(self, *asked):
            content = await asyncio.get_running_loop().run_in_executor(None, self.make, *asked)
            self.set_header("Content-Type", self.kind)
            self.finish(content)

    def handler(place, make, kind):
        return url_path_join(server.web_app.settings["base_url"], place), Given, {"make": make, "kind": kind}

    names, script = "|".join(SHIPPED), "text/javascript; charset=utf-8"
    server.web_app.add_handlers(
        ".*$",
        [
            handler(SCRIPT, engine_script, script),
            handler(THEME, theme, "text/css; charset=utf-8"),
            handler(f"{FOLDER}({names})\\.json", model_told, "application/json"),
            handler(f"{FOLDER}({names})\\.js", model_script, script),
        ],
    )


def engine_script() -> str:
    """What computes in the page, and the models that this server has."""
    from bertlook_teach.model import SHIPPED

    from ..pages import engine_source

    return f"{engine_source()}\nglobalThis.bertlookServed = {json.dumps([*SHIPPED])};\n"


def theme() -> str:
    """The style sheet of the course's slides, all its parts in one."""
    from bertlook_course.syllabus import shipped_course

    from .export.deck import deck_look

    return deck_look(shipped_course() / "slides")


def model_told(name: str) -> str:
    """What a page is told of a model before it reads it."""
    from ..pages import page_model

    return json.dumps(page_model(name).told(MISSING, INSTEAD, FOLDER))


def model_script(name: str) -> str:
    """The file of a model."""
    from ..pages import page_model

    return page_model(name).script
