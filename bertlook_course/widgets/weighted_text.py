"""A text whose words are weighted by any head, or by a learnt mix of heads: what a head would mark with a pen."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

import anywidget
import numpy as np
import traitlets

from bertlook_teach.model import head_label
from bertlook_teach.views import ChosenHead, Picture, as_array, checked_tokens, style_source

from ..render import checked_darkest, checked_key, checked_scores, describe_words, render_words, word_table
from .assets import module_source, view_style

SHOWS = ("head", "mix")

_FIELDS = ("words", "scores", "key", "mix", "title")

_PLAIN_UP_TO = 500_000  # bytes: above it the data are deflated


class WeightedText(ChosenHead, anywidget.AnyWidget):
    """Words with the weights of one head as their background, dark for much; key words stand over a line.

    Arrow keys run through the heads: left and right change the head, up and down the layer, Home and End go to the first and the last
    head of the layer. Page Up and Page Down change the text, M changes between a head and the learnt mix. Pointing at a word says its
    number; a table with the words that have most is there for screen readers. No kernel is needed.

    Parameters
    ----------
    words : sequence of str
    scores : array of shape (layer, head, word)
        Not negative; for example the mean weight each word receives.
    key : sequence of bool, optional
        Which words belong to a key phrase.
    mix : array of shape (word,), optional
        A score learnt from all heads, offered beside the heads.
    layer, head : int
        The head in view, counted from 0.
    title : str
        Of the text.
    minus : array of shape (layer, head, word), or WeightedText, optional
        The same text before a change: the view then shows ``scores`` less ``minus``. A mix needs a `WeightedText` with a mix. With
        several texts: a sequence with an entry a text, or a `WeightedText` of the same texts.
    show : {"head", "mix"}
    document : int
        The text in view, counted from 0.
    documents : sequence of mappings, optional
        Several texts instead of one: each with ``words`` and ``scores``, and perhaps ``key``, ``mix`` and ``title``.
    unit, mix_name, mix_unit : str
        What the numbers are, what the mix is called, and what its numbers are (by default ``unit``).
    darkest : float
        Darkest is this many times what a word has on average in the text and head in view, and whatever is more; 0: the largest. With
        it a head that prefers no word is evenly pale, and heads can be compared.
    font_size, height : float
        In pixels; 0 follows the page's text size, and the length of the text up to what a slide has room for (then it scrolls).

    Raises
    ------
    ValueError
        If scores, key or mix do not fit the words, hold NaN or are negative; if texts differ in layers and heads; if what is
        subtracted has other words or another shape; if ``darkest`` is negative, or given with a difference.
    traitlets.TraitError
        If a layer, head or text is set that is not there, or a mix is asked for and there is none.

    Notes
    -----
    Unless ``darkest`` is given, the darkest word is the one with most in the text in view, so colours are compared within a text and not between heads; the numbers
    in the sentence can be compared. Differences are drawn from minus to plus the largest size, blue for more and brown for less, and
    from a tenth of it on with the sign before the word.
    """

    _esm = module_source("weighted_text")
    _css = style_source() + view_style("weighted_text")

    # The choice: in the page and in Python.
    document = traitlets.Int(0).tag(sync=True)
    show_index = traitlets.Int(0, min=0, max=len(SHOWS) - 1).tag(sync=True)

    # float32, little-endian: the texts one after the other, each (layer, head, word), then its mix if there is one.
    data = traitlets.Bytes(b"").tag(sync=True)
    packing = traitlets.Enum(("plain", "deflate"), "plain").tag(sync=True)
    shape = traitlets.List(traitlets.Int(), [1, 1]).tag(sync=True)
    texts = traitlets.List(
        []
    ).tag(
        sync=True
    )  # [{"words", "key" (null: not said), "title", "mix" (is there one?), "said" (of each head, then of the mix)}, ...]
    difference = traitlets.Bool(False).tag(sync=True)
    unit = traitlets.Unicode("weight").tag(sync=True)
    mix_name = traitlets.Unicode("learnt mix").tag(sync=True)
    mix_unit = traitlets.Unicode("").tag(sync=True)
    darkest = traitlets.Float(0).tag(sync=True)
    height = traitlets.Float(0).tag(sync=True)

    def __init__(
        self,
        words: Sequence[str] | None = None,
        scores=None,
        key=None,
        mix=None,
        *,
        layer: int = 0,
        head: int = 0,
        title: str = "",
        minus=None,
        show: str = "head",
        document: int = 0,
        documents: Sequence[Mapping] | None = None,
        unit: str = "weight",
        mix_name: str = "learnt mix",
        mix_unit: str = "",
        darkest: float = 0,
        font_size: float = 0,
        height: float = 0,
        **options,
    ):
        if (documents is None) == (words is None):
            raise ValueError(
                "give words and scores of one text, or documents=[...] of several; not both, and not neither."
            )
        if documents is None:
            documents = [{"words": words, "scores": scores, "key": key, "mix": mix, "title": title}]
            minus = minus if minus is None or isinstance(minus, WeightedText) else [minus]
        if show not in SHOWS:
            raise ValueError(f"a view shows one of {', '.join(SHOWS)}; got {show!r}.")
        darkest = checked_darkest(darkest, minus is not None)
        self._scores, self._mixes, texts = _checked(documents)
        if minus is not None:
            self._subtract(texts, *_before(minus, texts))
        self._tell(texts, unit, (mix_name, mix_unit or unit), minus is not None)
        numbers = [
            part.astype("<f4").tobytes()
            for scores, mix in zip(self._scores, self._mixes)
            for part in (scores, mix)
            if part is not None
        ]
        packed = b"".join(numbers)
        packing = "deflate" if len(packed) > _PLAIN_UP_TO else "plain"
        # The texts first: what may be chosen depends on them.
        super().__init__(
            data=zlib.compress(packed, 6) if packing == "deflate" else packed,
            packing=packing,
            shape=list(self._scores[0].shape[:2]),
            texts=texts,
            difference=minus is not None,
            unit=unit,
            mix_name=mix_name,
            mix_unit=mix_unit or unit,
            darkest=darkest,
            font_size=font_size,
            height=height,
            **options,
        )
        self.document, self.layer, self.head, self.show_index = document, layer, head, SHOWS.index(show)

    def _subtract(self, texts, scores, mixes) -> None:
        for number, (text, before, mix) in enumerate(zip(texts, scores, mixes)):
            name = f"text {number}: " if len(texts) > 1 else ""
            before = checked_scores(before, text["words"])
            if before.shape != self._scores[number].shape:
                raise ValueError(
                    f"{name}a difference needs scores of the same shape (layer, head, word); got {self._scores[number].shape} minus {before.shape}."
                )
            if (mix is None) != (self._mixes[number] is None):
                raise ValueError(
                    f"{name}one side of the difference has a learnt mix and the other has none. Leave the mix out, or pass "
                    "minus=WeightedText(words, scores, mix=...)."
                )
            self._scores[number] = self._scores[number] - before
            if mix is not None:
                self._mixes[number] = self._mixes[number] - checked_scores(mix, text["words"])

    def _tell(self, texts, unit: str, mix: tuple[str, str], difference: bool) -> None:
        """The caption of every head, and of the mix, into the texts: the page says it, and no second program words it."""
        for text, scores, learnt in zip(texts, self._scores, self._mixes):
            rows = [
                (f"Head {head_label(*head)}", unit, scores[head]) for head in np.ndindex(scores.shape[:2])
            ]
            rows += [] if learnt is None else [(f"{mix[0][:1].upper()}{mix[0][1:]}", mix[1], learnt)]
            text["said"] = [
                describe_words(
                    values.astype("<f4"),  # as the page has them, so that the same digits are rounded
                    text["words"],
                    key=text["key"],
                    name=f"{name}, after minus before" if difference else name,
                    unit=unit,
                    difference=difference,
                )
                for name, unit, values in rows
            ]

    def limits(self) -> dict[str, int]:
        return super().limits() | {"document": max(1, len(self.texts))}

    _inside = traitlets.validate("document")(ChosenHead.check_choice)

    @traitlets.validate("show_index")
    def _has_a_mix(self, proposal):
        if proposal["value"] and not any(text["mix"] for text in self.texts):
            raise traitlets.TraitError("there is no learnt mix to show; give mix=, one number for each word.")
        return proposal["value"]

    @property
    def show(self) -> str:
        """What is in view: ``"head"`` or ``"mix"``; a text without a mix shows the head."""
        return SHOWS[self.show_index if self.texts[self.document]["mix"] else 0]

    @show.setter
    def show(self, show: str) -> None:
        if show not in SHOWS:
            raise traitlets.TraitError(f"a view shows one of {', '.join(SHOWS)}; got {show!r}.")
        self.show_index = SHOWS.index(show)

    def weights(self) -> np.ndarray:
        """The numbers in view as the page has them, shape (word,)."""
        seen = (
            self._mixes[self.document]
            if self.show == "mix"
            else self._scores[self.document][self.layer, self.head]
        )
        return seen.astype("<f4").astype(np.float64)

    @property
    def name(self) -> str:
        """Whose numbers are in view."""
        name = f"Head {head_label(self.layer, self.head)}" if self.show == "head" else self.mix_name
        return f"{name}, after minus before" if self.difference else name

    def _about(self) -> dict:
        return {
            "key": self.texts[self.document]["key"],
            "unit": self.mix_unit if self.show == "mix" else self.unit,
            "difference": self.difference,
        }

    @property
    def sentence(self) -> str:
        """The caption in view."""
        row = -1 if self.show == "mix" else self.layer * self.shape[1] + self.head
        return self.texts[self.document]["said"][row]

    def picture(self) -> Picture:
        """The view as it stands now: a standalone SVG and its sentence."""
        text = self.texts[self.document]
        drawn = render_words(
            self.weights(),
            text["words"],
            name=self.name,
            title=text["title"],
            darkest=self.darkest,
            **self._about(),
        )
        return replace(drawn, caption=self.sentence)

    def table(self):
        """The numbers in view, one row for each word."""
        return word_table(self.weights(), self.texts[self.document]["words"], **self._about())

    def __repr__(self) -> str:
        layers, heads = self.shape
        count = len(self.texts)
        words = len(self.texts[self.document]["words"])
        return (
            f"WeightedText({count} text{'s' * (count != 1)}, {layers} x {heads} heads, {self.name}, "
            f"{words} word{'s' * (words != 1)})"
        )


def _checked(documents) -> tuple[list, list, list]:
    """Scores, mixes, and what the page is told of each text."""
    documents = list(documents)
    if not documents:
        raise ValueError("a weighted text needs at least one text; got none.")
    found, mixes, texts = [], [], []
    for number, document in enumerate(documents):
        unknown = set(document) - set(_FIELDS)
        if unknown or not {"words", "scores"} <= set(document):
            raise ValueError(
                f"text {number} needs words and scores, and may have key, mix and title; got {', '.join(map(str, document))}."
            )
        try:
            words = checked_tokens(document["words"])
            scores, mix, key = (document.get(name) for name in ("scores", "mix", "key"))
            if scores is None or np.ndim(scores) != 3:
                raise ValueError(
                    f"scores need shape (layer, head, word) with {len(words)} words; got "
                    f"{'none' if scores is None else as_array(scores).shape}."
                )
            found.append(checked_scores(scores, words))
            if mix is not None and np.ndim(mix) != 1:
                raise ValueError(
                    f"a mix has one number for each word, shape ({len(words)},); got {as_array(mix).shape}."
                )
            mixes.append(None if mix is None else checked_scores(mix, words))
            key = None if key is None else list(checked_key(key, words))
        except (ValueError, TypeError) as error:
            if len(documents) == 1:
                raise
            raise type(error)(f"text {number}: {error}") from error
        if found[-1].shape[:2] != found[0].shape[:2]:
            raise ValueError(
                f"all texts need the same layers and heads; text 0 has {found[0].shape[:2]}, text {number} {found[-1].shape[:2]}."
            )
        title = str(document.get("title") or "")
        texts.append({"words": list(words), "key": key, "title": title, "mix": mix is not None})
    return found, mixes, texts


def _before(minus, texts) -> tuple[list, list]:
    """Scores and mixes to be subtracted, one for each text."""
    if isinstance(minus, WeightedText):
        if minus.difference:
            raise ValueError(
                "what is subtracted is a difference itself; pass the view of the scores before the change."
            )
        if [text["words"] for text in minus.texts] != [text["words"] for text in texts]:
            raise ValueError("a difference needs the same texts on both sides; the words are not the same.")
        return minus._scores, minus._mixes
    minus = list(minus)
    if len(minus) != len(texts):
        raise ValueError(f"minus needs an entry a text: {len(texts)} expected, got {len(minus)}.")
    return minus, [None] * len(texts)
