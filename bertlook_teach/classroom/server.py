"""Start JupyterLab at a deck, on this machine only, without touching the reader's own Jupyter configuration."""

from __future__ import annotations

import argparse
import contextlib
import errno
import io
import logging
import os
import secrets
import socket
import sys
import tempfile
from pathlib import Path

from ..disk import write_json

HOST = "127.0.0.1"

DEFAULT_PORT = 8888

# What a page of the server may load: of a stranger's notebook no picture, film, font, style sheet or frame is asked of another host, whether it is
# trusted or not. Scripts are left to Jupyter, which runs none of a notebook that is not trusted but those of saved widgets
# (`contents_manager`); what a kernel runs, no header can bind.
POLICY = (
    "frame-ancestors 'self'; report-uri /api/security/csp-report; img-src 'self' data: blob:; media-src 'self' data: blob:; "
    "font-src 'self' data: about:; style-src 'self' 'unsafe-inline'; frame-src 'self' data: blob:; object-src 'self' blob:"
)

# What Jupyter reads from its configuration folder. Decks carry their own settings in their metadata; here stands only
# what concerns the application: no news or updates fetched from the network, and classic RISE starts by itself.
SETTINGS = {
    "ipython/profile_default/ipython_kernel_config.json": {"IPKernelApp": {"log_level": "ERROR"}},
    "config/labconfig/page_config.json": {
        "disabledExtensions": {
            "@jupyterlab/apputils-extension:announcements": True,
            "@jupyterlite/pyodide-kernel-extension": True,  # of `bertlook site --lite`; it belongs to another page than this server's
        }
    },
    "config/labconfig/default_setting_overrides.json": {
        "@jupyterlab/apputils-extension:notification": {"fetchNews": "false", "checkForUpdates": False},
        "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}},
    },
    "config/nbconfig/rise.json": {"autolaunch": True},
}

# Set by the reader's own Jupyter, these would lead back to his or her configuration.
FOREIGN = (
    "JUPYTER_CONFIG_PATH",
    "JUPYTER_PATH",
    "JUPYTER_NO_CONFIG",
    "JUPYTERLAB_SETTINGS_DIR",
    "JUPYTERLAB_WORKSPACES_DIR",
)

FOREIGN += ("JUPYTERLAB_DIR", "JUPYTER_TOKEN", "JUPYTER_PORT", "JUPYTER_RUNTIME_DIR")


def isolate(environ=os.environ) -> Path:
    """Point Jupyter and IPython to a configuration folder of this installation; return that folder.

    It lies inside the virtual environment, or in a temporary folder where that cannot be written.
    """
    home = Path(sys.prefix) / "bertlook-jupyter"
    try:
        home.mkdir(exist_ok=True)
        tempfile.TemporaryFile(dir=home).close()
    except OSError:
        home = Path(tempfile.mkdtemp(prefix="bertlook-jupyter-"))
    for name in FOREIGN:
        environ.pop(name, None)
    environ["JUPYTER_CONFIG_DIR"] = str(home / "config")
    environ["JUPYTER_DATA_DIR"] = str(home / "data")
    environ["IPYTHONDIR"] = str(home / "ipython")
    environ["JUPYTER_PREFER_ENV_PATH"] = "1"
    for name, settings in SETTINGS.items():
        write_json(home / name, settings, indent=2)
    return home


def contents_manager() -> type:
    """How the server reads notebooks: as Jupyter does, less the saved widgets of one that is not trusted whose script is not ours.

    JupyterLab and the classic notebook start such a script when the notebook is opened, before anything is run or shown.
    """
    from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

    from .export.state import saved_state
    from .export.strangers import forget_foreign_views

    class Contents(AsyncLargeFileManager):
        def mark_trusted_cells(self, nb, path=""):
            if not self.notary.check_signature(nb):
                forget_foreign_views(saved_state(nb))
            super().mark_trusted_cells(nb, path)

    return Contents


def check_port(port: int) -> None:
    """Raise ``OSError`` with advice if the port cannot be listened on."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        if os.name != "nt":  # there the option means that two may share a port
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            reason = "is in use" if error.errno == errno.EADDRINUSE else f"cannot be used ({error.strerror})"
            raise OSError(
                f"port {port} {reason}. Choose another with --port N, for example --port {suggest_port(port)}, "
                "or leave --port out and a free one is chosen."
            ) from None


def suggest_port(port: int) -> int:
    """Another port above 1023, a little higher than the given one."""
    return port + 11 if 1024 <= port + 11 <= 65535 else 8899


def port_number(text: str) -> int:
    """A port from the command line."""
    if not (text.isascii() and text.isdecimal()) or not 1 <= int(text) <= 65535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535, not {text!r}")
    return int(text)


def is_news(record: logging.LogRecord) -> bool:
    """Whether a line of the log is worth showing: nbclassic stumbles over each style sheet it redirects, without harm."""
    return "Cannot write() after finish()" not in str(record.exc_info and record.exc_info[1])


def announce(what: str, address: str, page: str, token: str) -> None:
    """Print where the server is."""
    print(f"\n{what}:  {address}{page}?token={token}")
    if not page.startswith("/lab"):
        print(f"JupyterLab:  {address}/lab?token={token}")
    print("Stop with Ctrl-C, twice.\n", flush=True)


def serve(
    root: Path, page: str, *, port: int | None = None, browser: bool = True, what: str = "Address"
) -> int:
    """Serve ``root`` until interrupted, opening ``page`` (a path under the server's address).

    Raises
    ------
    OSError
        If the port is taken.
    ModuleNotFoundError
        If JupyterLab is not installed.
    """
    if port is not None:
        check_port(port)
    isolate()
    # The server checks no web address against the grammar of RFC 3987; building it would take over a second.
    sys.modules.setdefault("rfc3987_syntax", None)
    try:
        from jupyterlab.labapp import LabApp
        from traitlets.config import Config
    except ModuleNotFoundError as error:
        raise OSError(
            f"{error.name} is not installed; slides need it. Start with `python3 start.py`, "
            'or install with `pip install "bertlook_teach[lab]"`.'
        ) from None

    token = secrets.token_hex(24)
    config = Config()
    config.Application.log_level = (
        "ERROR"  # its warnings are many, none for a teacher, and would bury the address
    )
    config.ServerApp.root_dir = str(root)
    config.ServerApp.ip = HOST
    config.ServerApp.port = DEFAULT_PORT if port is None else port
    config.ServerApp.port_retries = 50 if port is None else 0
    config.ServerApp.open_browser = browser
    config.ServerApp.allow_root = True  # it listens on this machine only, and asks for the token
    config.IdentityProvider.token = token
    config.ServerApp.tornado_settings = {"headers": {"Content-Security-Policy": POLICY}}
    config.ServerApp.contents_manager_class = contents_manager()
    config.LabApp.default_url = page
    config.LabApp.news_url = None
    config.LabApp.extension_manager = "readonly"  # the other one looks for extensions on the network
    config.LanguageServerManager.autodetect = False  # it would run npm, which writes into the home folder
    with contextlib.redirect_stdout(
        io.StringIO()
    ):  # nbclassic prints a banner that advises against nbclassic
        server = LabApp.initialize_server(argv=[], config=config)
    for handler in server.log.handlers:
        handler.addFilter(is_news)
    server.io_loop.add_callback(
        announce, what, f"http://{HOST}:{server.port}", page, token
    )  # once it listens
    server.start()
    return 0
