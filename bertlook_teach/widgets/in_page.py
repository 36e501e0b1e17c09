"""How a live view tells its page that the page can answer a new text itself, with the specimen, where Python does not."""

from __future__ import annotations

import traitlets


class InPage(traitlets.HasTraits):
    """A view that carries what its panel's ``in_page()`` gives, for ``js/page_answers.js`` to find it in Jupyter; empty where a page cannot answer."""

    _in_page = traitlets.Dict().tag(sync=True)
