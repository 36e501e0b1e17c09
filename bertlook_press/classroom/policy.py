"""What pages of the server may load, and what may be asked of the server by something that a page shows."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

from jupyter_server.base.handlers import JupyterHandler
from tornado.routing import Matcher, PathMatches, Rule
from tornado.web import Application, ErrorHandler, OutputTransform, authenticated

# The server's own scripts, styles, fonts and pictures; nobody's notebook or file is among them.
_ASSETS = re.compile(
    r"/(?:static|custom|kernelspecs|nbextensions|bertlook|lab/extensions|lab/api/themes|favicon\.ico)(?:/|$)"
)

# What an element of a page may ask for beside them (`Sec-Fetch-Dest`): a picture or a style sheet that lies beside the notebook, and
# the slideshow in JupyterLab's panel. What is not named here, an element may ask for assets only. Pages and their own scripts
# ("document", "empty", "websocket") are not elements, nor is a program that is no browser; they need the token or its cookie.
# The classic page asks for a file as if it were a notebook, and is sent on.
_BESIDE = re.compile(r"/files/|/nbclassic/notebooks/(?!.*\.ipynb$)")
_ELEMENTS = {
    "image": _BESIDE,
    "audio": _BESIDE,
    "video": _BESIDE,
    "track": _BESIDE,
    "font": _BESIDE,
    "style": _BESIDE,
    "iframe": re.compile(r"/(?:rise|files)/"),
}
_NO_ELEMENTS = ("", "document", "empty", "websocket")


def content_policy(port: int) -> str:
    """The Content-Security-Policy of every answer: nothing is loaded from another host, and nothing is sent to one.

    Jupyter's templates hold inline scripts and what a kernel shows may too; attributes such as ``onerror`` run nothing.
    """
    sockets = " ".join(f"ws://{host}:{port}" for host in ("127.0.0.1", "localhost"))
    return "; ".join(
        [
            "default-src 'self'",
            "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",  # JupyterLab compiles its settings' schemas; views are blobs
            "script-src-attr 'none'",
            f"connect-src 'self' {sockets}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "media-src 'self' data: blob:",
            "font-src 'self' data:",
            "frame-src 'self' data: blob:",
            "worker-src 'self' blob:",
            "object-src blob:",  # JupyterLab's view of a PDF
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        ]
    )


def is_asked_by_an_element(request) -> bool:
    """Whether something shown in a page asks for what only pages and programs may have, the interface of the server say."""
    wanted_as = request.headers.get("Sec-Fetch-Dest", "")
    if wanted_as in _NO_ELEMENTS or _ASSETS.match(request.path):
        return False
    beside = _ELEMENTS.get(wanted_as)
    return beside is None or not beside.match(request.path)


class _Front(JupyterHandler):
    """Leads to the open deck; whoever has no cookie does not learn its name."""

    @authenticated
    def get(self):
        self.redirect(self.default_url)


class _NoSheet(JupyterHandler):
    """An empty style sheet. Both slideshows load ``rise.css`` and one named like the deck, which a deck need not have; a page that says so would be
    an error in their console."""

    @authenticated
    def get(self):
        self.set_header("Content-Type", "text/css")
        self.finish("")


class _Asked(Matcher):
    def match(self, request):
        return {} if is_asked_by_an_element(request) else None


class _MissingSheet(Matcher):
    """A style sheet that a slideshow asks for and that is not there."""

    def __init__(self, root: Path):
        self.root = root

    def match(self, request):
        place = re.fullmatch(r"/(?:files|nbclassic/notebooks)/(.+\.css)", unquote(request.path))
        sheet = self.root / place[1] if place else None
        asked = sheet and (sheet.name == "rise.css" or sheet.with_suffix(".ipynb").is_file())
        return {} if asked and not sheet.exists() else None


def protect(app: Application, port: int, token: str) -> None:
    """Put the policy on every answer of a server that is about to start, and take the token out of each.

    Whoever opens the address with the token gets a cookie, which no other origin has, and pages need no more.
    """
    headers = {"Content-Security-Policy": content_policy(port), "Referrer-Policy": "same-origin"}
    secret = token.encode()

    class Protected(OutputTransform):
        def transform_first_chunk(self, status_code, answered, chunk, finishing):
            for name, value in headers.items():
                answered.setdefault(name, value)
            if secret in chunk:
                chunk = chunk.replace(secret, b"")
                if "Content-Length" in answered:
                    answered["Content-Length"] = str(len(chunk))
            return status_code, answered, chunk

    app.settings["headers"] = headers
    app.add_transform(Protected)
    refused = Rule(_Asked(), ErrorHandler, {"status_code": 403})
    no_sheet = Rule(_MissingSheet(Path(app.settings["contents_manager"].root_dir)), _NoSheet)
    app.default_router.rules[:0] = [refused, no_sheet, Rule(PathMatches("/?"), _Front)]
