"""The paper itself beside the claim: a PDF that the teacher has put into a folder, shown at its page."""

from __future__ import annotations

from html import escape

import anywidget
import traitlets

from bertlook_teach.views import page_bundle

from ...syllabus import PAPERS, find_paper, papers_folder, short_reference, source, surnames
from ..assets import module_source, view_style

LARGEST = 60_000_000  # bytes that are sent to the browser: a long thesis with pictures


class PaperPage(anywidget.AnyWidget):
    """One line with a source and the place in it; where its PDF is at hand, a button that shows the page beside the slide.

    The PDF lies in the folder ``papers`` beside ``slides`` (or in the one that the variable BERTLOOK_PAPERS names), under its key
    in the bibliography: ``clark2019.pdf``. Nothing is downloaded, and nothing of it is saved: neither the notebook nor an exported
    deck holds a page, so that both are the same with and without it, small, and may be passed on. The browser asks for the
    PDF when the button is pressed, and remembers the page at which it was left.

    Parameters
    ----------
    key : str
        Of `docs/bibliography.bib`.
    place : str
        Where in the source: "section 4.2, Table 1".
    page : int
        At which page of the PDF, counted from 1, it opens the first time. Printings differ, so the course's decks leave it out.

    Raises
    ------
    KeyError
        If the bibliography has no such key.
    ValueError
        If the page is not a whole number from 1.
    """

    _esm = module_source("paper_page")
    _css = view_style("paper_page")
    _ipython_display_ = None  # ipywidgets 7 would leave out the line for saved pages
    # What an exported page says, where no Python answers.
    needs_kernel = "The paper itself is shown where the deck runs in Jupyter and its PDF is at hand."

    reference = traitlets.Unicode("").tag(sync=True)
    full = traitlets.Unicode("").tag(sync=True)
    file = traitlets.Unicode("").tag(sync=True)
    page = traitlets.Int(1).tag(sync=True)

    def __init__(self, key: str, place: str = "", *, page: int = 1):
        if isinstance(page, bool) or not isinstance(page, int) or page < 1:
            raise ValueError(f"a page of a PDF is a whole number from 1; got {page!r}.")
        entry = source(key)
        self.key, self.place = key, place
        who = ", ".join(surnames(entry)) + (" et al." if entry["author"].endswith("and others") else "")
        super().__init__(
            reference=", ".join(filter(None, (short_reference(key), place))),
            full=", ".join(filter(None, (who, entry.get("year", ""), entry.get("title", ""), place))),
            file=f"papers/{key}.pdf",
            page=page,
        )
        self.on_msg(self._answer)

    def _answer(self, widget, content: dict, buffers) -> None:
        """The page asks whether the PDF is there when it is drawn, and for the PDF when the button is pressed."""
        if content.get("ask") == "there":
            self.send({"there": find_paper(self.key) is not None})
        elif content.get("ask") == "pdf":
            try:
                self.send({"pdf": True}, buffers=[read_paper(self.key)])
            except (OSError, ValueError) as error:
                self.send({"trouble": str(error)})

    def _repr_mimebundle_(self, **kwargs):
        html = (
            f'<p class="bertlook-paper" title="{escape(self.full, quote=True)}">{escape(self.reference)}</p>'
        )
        return page_bundle(self, html)

    def __repr__(self) -> str:
        return f"PaperPage({self.key}, {self.place or 'as a whole'})"


def read_paper(key: str) -> bytes:
    """The PDF of a source.

    Raises
    ------
    FileNotFoundError
        If it is not in the folder; the message names the file.
    ValueError
        If the file is not a PDF, or too large to be sent to a browser.
    """
    path = find_paper(key)
    if path is None:
        raise FileNotFoundError(
            f"{papers_folder() / f'{key}.pdf'} is not there. Put the paper's PDF there under that name, or name another folder "
            f"in {PAPERS}. Nothing is downloaded."
        )
    if path.stat().st_size > LARGEST:
        raise ValueError(
            f"{path.name} is larger than {LARGEST // 1_000_000} MB. Take a smaller printing of the paper."
        )
    data = path.read_bytes()
    if b"%PDF-" not in data[:1024]:
        raise ValueError(f"{path.name} is not a PDF. A page saved from a browser is not the paper itself.")
    return data
