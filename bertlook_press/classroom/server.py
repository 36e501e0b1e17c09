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
from pathlib import Path

from bertlook_teach.disk import install_command

from .jupyter_home import TRANSPORT, isolate, kernel_specs, socket_folder

HOST = "127.0.0.1"

DEFAULT_PORT = 8888


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


def announce(what: str, address: str, page: str, token: str, folder: Path) -> None:
    """Print where the server is; by now it has written all that lies in its folder, the token too."""
    for file in folder.iterdir():
        file.chmod(0o600)
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

        from .contents import contents_manager
        from .policy import protect
    except ModuleNotFoundError as error:
        raise OSError(
            f"{error.name}, which slides need, is not installed. Start with `python3 start.py`, or install it: "
            f"{install_command('slides')}"
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
    config.ServerApp.contents_manager_class = contents_manager()
    config.ServerApp.kernel_spec_manager_class = kernel_specs()
    config.LabApp.default_url = page
    config.LabApp.news_url = None
    config.LabApp.extension_manager = "readonly"  # the other one looks for extensions on the network
    config.LanguageServerManager.autodetect = False  # it would run npm, which writes into the home folder
    config.ConnectionFileMixin.transport = TRANSPORT
    with socket_folder() as folder:
        os.environ["JUPYTER_RUNTIME_DIR"] = str(folder)
        # nbclassic prints a banner that advises against nbclassic
        with contextlib.redirect_stdout(io.StringIO()):
            server = LabApp.initialize_server(argv=[], config=config)
        protect(server.web_app, server.port, token)
        for handler in server.log.handlers:
            handler.addFilter(is_news)
        address = f"http://{HOST}:{server.port}"
        server.io_loop.add_callback(announce, what, address, page, token, folder)  # once it listens
        server.start()
    return 0
