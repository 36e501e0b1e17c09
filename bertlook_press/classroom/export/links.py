"""Links of an exported page: to the decks that lie beside it, and to nothing that does not."""

from __future__ import annotations

import re
from collections.abc import Collection
from html import escape, unescape
from pathlib import PurePosixPath
from urllib.parse import unquote

_ADDRESS = re.compile(r"""(<a\b[^>]*?)\shref=(?:"([^"]*)"|'([^']*)')""")


def page_links(markup: str, beside: Collection[str], ending: str = ".html") -> str:
    """Markup whose links lead somewhere from an exported page.

    A link to a deck leads to its exported page if that lies beside this one; addresses on the network and anchors stay; any
    other link (an exercise notebook, a page of the repository) loses its address, and says instead what it named.

    Parameters
    ----------
    markup : str
    beside : collection of str
        Names of the decks exported into the same folder, without ending.
    ending : str
        What an exported deck's file name ends in.

    Examples
    --------
    >>> page_links('<a href="02_b.ipynb">2</a> <a href="../README.md">read</a>', {"02_b"})
    '<a href="02_b.html">2</a> <a title="in the course: README.md">read</a>'
    """

    def led(found: re.Match) -> str:
        opening, address = found[1], unescape(found[2] or found[3] or "")
        place = address.partition("#")[0]
        if not place or re.match(r"[a-zA-Z][\w+.-]*:|//", place):
            return found[0]
        path = PurePosixPath(unquote(place))
        if path.name == place and path.suffix == ".ipynb" and path.stem in beside:
            return f'{opening} href="{escape(path.stem + ending)}"'
        named = "/".join(part for part in path.parts if part not in ("..", "."))
        if re.search(r"\btitle=", opening + markup[found.end() : markup.find(">", found.end())]):
            return opening
        return f'{opening} title="{escape(f"in the course: {named}", quote=True)}"'

    return _ADDRESS.sub(led, markup)
