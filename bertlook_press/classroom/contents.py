"""How the server reads and saves notebooks: every page gets a number with its notebook, and is believed by that number alone."""

from __future__ import annotations

import copy
import secrets
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from .trust import PAGE, inert, is_ours, notary_class, put_back

MOST_PAGES = 500  # that are remembered; an older one is asked to open its notebook again


@dataclass(frozen=True)
class _Page:
    path: str
    trusted: bool
    original: Any = None  # of a notebook that was not trusted when the page got it

    @property
    def to_be_run(self) -> set[int]:
        """The cells of the original that a reader has to run, or to trust, before the notebook is trusted."""
        return {
            n for n, cell in enumerate(self.original["cells"] if self.original else ()) if _is_written(cell)
        }


def _is_written(cell: Mapping) -> bool:
    return cell.get("cell_type") == "code" and bool(cell.get("source") or cell.get("outputs"))


class _Contents:
    """What reading and saving a notebook does about trust; `contents_manager` puts it on the server's own way to do both."""

    def __init__(self, **options):
        super().__init__(**options)
        self._pages: OrderedDict[str, _Page] = OrderedDict()

    def mark_trusted_cells(self, nb, path=""):
        trusted = is_ours(Path(self._get_os_path(path))) or self.notary.check_signature(nb)
        number = secrets.token_hex(16)
        page = _Page(path, True) if trusted else _Page(path, False, copy.deepcopy(nb))
        if not trusted:
            try:
                given = inert(nb)
            except RecursionError:
                raise _refused(400, f"{path} is nested too deeply to be a notebook.") from None
            for place, cell in enumerate(given["cells"]):
                cell["metadata"][PAGE] = f"{number}:{place}"
            nb.clear()
            nb.update(_as_nodes(given))
        self._pages[number] = page
        while len(self._pages) > MOST_PAGES:
            self._pages.popitem(last=False)
        nb["metadata"][PAGE] = _as_nodes({"page": number, "trusted": trusted})
        self.notary.mark_cells(nb, trusted)

    def check_and_sign(self, nb, path="", **options):
        said = nb["metadata"].pop(PAGE, None)
        page = self._pages.get(str(said.get("page"))) if isinstance(said, Mapping) else None
        if page is None and said is not None:
            raise _refused(409, "This page is no longer known to the server. Open the notebook again.")
        places = {}
        for number, cell in enumerate(nb["cells"]):
            owner, _, place = str(cell["metadata"].pop(PAGE, "")).partition(":")
            if page is not None and page.original and owner == said["page"] and place.isdecimal():
                places[number] = int(place)
        marked = {n for n, cell in enumerate(nb["cells"]) if cell["metadata"].get("trusted") is True}
        written = {n for n, cell in enumerate(nb["cells"]) if _is_written(cell)}
        if page is not None and page.original:
            put_back(nb, page.original, places)
        for cell in nb["cells"]:
            cell["metadata"].pop("trusted", None)
        if page is None:
            return
        # To run or trust every cell that came with the notebook, and every other one, is to trust it.
        run = {places[n] for n in marked if n in places}
        said_so = bool(page.to_be_run) and page.to_be_run <= run and written <= marked
        if page.path == path and (page.trusted or said_so):
            self.notary.sign(nb)
            self._pages[said["page"]] = _Page(path, True, page.original)
        self._pages.move_to_end(said["page"])

    async def trust_notebook(self, path):
        if not path.endswith(".ipynb"):
            raise _refused(400, f"{path} is not a notebook.")
        found = await self.get(path)
        if found["type"] != "notebook":
            raise _refused(400, f"{path} is not a notebook.")
        page = self._pages.pop(found["content"]["metadata"][PAGE]["page"])
        if not page.trusted:
            self.notary.sign(page.original)

    async def rename_file(self, old_path, new_path):
        await super().rename_file(old_path, new_path)
        for number, page in self._pages.items():
            if (page.path + "/").startswith(old_path.strip("/") + "/"):
                moved = new_path.strip("/") + page.path[len(old_path.strip("/")) :]
                self._pages[number] = replace(page, path=moved)

    async def new(self, model=None, path=""):
        empty = not (model or {}).get("content")
        begun = await super().new(model, path)
        if begun["type"] == "notebook" and empty:
            await self.trust_notebook(begun["path"])
        return begun


def _refused(code: int, why: str) -> Exception:
    from tornado.web import HTTPError

    return HTTPError(code, why)


def contents_manager() -> type:
    """How the server reads and saves notebooks."""
    from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager
    from traitlets import default

    class Contents(_Contents, AsyncLargeFileManager):
        @default("notary")
        def _notary_default(self):
            return notary_class()(parent=self)

    return Contents


def _as_nodes(value):
    from nbformat import from_dict

    return from_dict(value)
