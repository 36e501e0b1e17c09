"""Antecedents in short texts, live: the annotated link above the words, what any head names below them."""

from __future__ import annotations

from collections.abc import Sequence

from ..analyses.coreference import antecedent_links, named_words
from ..corpora import CorefDocument
from .arc_view import ArcView

# In the order of `bertlook_course.analyses.coreference.CANDIDATES`.
READINGS = ("it names an earlier mention", "it names any other word")


class AntecedentView(ArcView):
    """See which antecedents a head finds, among the mentions before or among all words. Menus and keys as in `ArcView`.

    The line above the words leads from the nearest antecedent to the mention; a head that names an earlier mention of the same
    thing is right too.

    Parameters
    ----------
    documents : sequence of CorefDocument
        Short texts with mentions that refer back.
    attentions : sequence of Attention
        One for each, at word level.
    **options
        ``layer``, ``head``, ``sentence`` and ``direction`` (here: which reading), all counted from 0; ``relation`` (here: a kind of
        mention); ``font_size``.

    Raises
    ------
    ValueError
        If there are not as many attentions as documents, or one does not fit.
    """

    _every = "every kind"

    def __init__(self, documents: Sequence[CorefDocument], attentions: Sequence, **options):
        if len(documents) != len(attentions):
            raise ValueError(f"as many attentions as documents; got {len(attentions)} and {len(documents)}.")
        super().__init__(
            [antecedent_links(document) for document in documents],
            [named_words(document, attention) for document, attention in zip(documents, attentions)],
            readings=list(READINGS),
            relation_name="kind",
            turned=[False, False],
            **{"relation": self._every, **options},
        )
