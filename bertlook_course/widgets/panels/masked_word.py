"""The masked word as a game: say what is hidden, then see what the model says, and for any sentence that is typed."""

from __future__ import annotations

import html

import anywidget
import ipywidgets
import traitlets

from bertlook_teach.model import read
from bertlook_teach.views import InPage, TextBox, model_of, page_bundle, percent, quoted, style_source

from ...analyses.ablation import guess_masked
from ...render import Estimate, TextTable, table_bars
from ...syllabus import worded
from ..assets import module_source, view_style

TOP = 5


class MaskedWordView(InPage, anywidget.AnyWidget):
    """A sentence with a hidden word, a line for a guess, and the model's guesses when they are asked for; `MaskedWord` computes for it.

    Attributes
    ----------
    guesses : list of [piece, probability]
        The model's likeliest, best first.
    truth : list
        [piece, probability, place among all guesses]; empty where [MASK] was typed, and nobody knows.
    answer : str
        What the reader says.
    reply : list
        The same three of it; [number of pieces] if it is not one, [0] if none is known; empty before.
    """

    _esm = module_source("masked_word")
    _css = style_source() + view_style("ablation_bench") + view_style("masked_word")

    text = traitlets.Dict({"tokens": [], "special": [], "masked": 0, "mask": "[MASK]"}).tag(sync=True)
    guesses = traitlets.List([]).tag(sync=True)
    truth = traitlets.List([]).tag(sync=True)
    reply = traitlets.List([]).tag(sync=True)
    count = traitlets.Int(0).tag(sync=True)
    answer = traitlets.Unicode("").tag(sync=True)
    message = traitlets.Unicode("").tag(sync=True)  # why another word could not be hidden
    shown = traitlets.Bool(False).tag(sync=True)
    chosen = traitlets.Int(-1).tag(sync=True)  # the piece that the page asks to mask
    font_size = traitlets.Float(0).tag(sync=True)

    @property
    def sentence(self) -> str:
        """What is said beneath the guesses."""

        def placed(piece, share, rank):
            return {"piece": quoted(piece), "share": percent(share), "rank": rank, "count": self.count}

        said = []
        if self.reply == [0]:
            said.append(worded("nothing known"))
        elif len(self.reply) == 1:
            said.append(worded("several pieces", count=self.reply[0]))
        elif self.reply:
            said.append(worded("your guess", **placed(*self.reply)))
        if self.truth:
            said.append(worded("right word", **placed(*self.truth)))
        piece, share = self.guesses[0]
        return " ".join([*said, worded("first guess", piece=quoted(piece), share=percent(share))])


class MaskedWord(ipywidgets.VBox):
    """Type a sentence, hide one of its words by a click, guess it, and compare with the model.

    Parameters
    ----------
    encoder : Encoder
        With a masked-LM head.
    text : str
        A sentence; it may hold one [MASK].
    masked : int, optional
        Position of the piece to hide, with special tokens, from 0; by default the last word.
    font_size : float
        In pixels; 0 follows the page.

    Attributes
    ----------
    view : MaskedWordView
    text_box : TextBox

    Raises
    ------
    ValueError
        If the sentence cannot be read, or the model guesses no words.
    """

    _ipython_display_ = None  # ipywidgets 7 would leave out the picture for saved pages

    def __init__(self, encoder, text: str, *, masked: int | None = None, font_size: float = 0):
        self.encoder = encoder
        self.view = MaskedWordView(font_size=font_size)
        self._hide(text, masked)
        self.text_box = TextBox(lambda text, pair: self._hide(text), text)
        self.view.observe(self._answered, names="answer")
        self.view.observe(self._chosen, names="chosen")
        super().__init__([self.text_box, self.view])
        self.add_class("bertlook-explorer")
        self.view._in_page = self.in_page()

    def _hide(self, text: str, masked: int | None = None) -> None:
        tokenizer = self.encoder.tokenizer
        sentence, guesses = guess_masked(self.encoder, text, masked, n=len(tokenizer))
        self._places = {piece: [piece, share, i] for i, (piece, share) in enumerate(guesses, 1)}
        view, shown = self.view, list(sentence.tokens)
        with view.hold_sync():
            view.text = {
                "tokens": shown,
                "special": list(sentence.special),
                "masked": sentence.masked,
                "mask": tokenizer.mask_token,
            }
            view.guesses = [list(guess) for guess in guesses[:TOP]]
            view.truth = [] if sentence.truth is None else self._places[shown[sentence.masked]]
            view.count, view.answer, view.reply, view.shown, view.message = len(guesses), "", [], False, ""
        self._text = text

    def _answered(self, change) -> None:
        if not change["new"].strip():
            return
        self.view.message = ""
        try:
            reading = read(self.encoder, change["new"], truncate=True)
        except ValueError:  # nothing in it is known
            self.view.reply = [0]
            return
        pieces = [piece for piece, special in zip(reading.tokens, reading.special) if not special]
        self.view.reply = self._places[pieces[0]] if len(pieces) == 1 else [len(pieces)]

    def _chosen(self, change) -> None:
        if change["new"] < 0:
            return
        try:
            self._hide(self._text, change["new"])
        except ValueError as error:
            self.view.message = f"{str(error)[0].upper()}{str(error)[1:]}"
        self.view.chosen = -1

    def in_page(self) -> dict[str, object]:
        """What a page that holds the same model needs to answer in Python's place."""
        return self.text_box.page_request(self.encoder, {"hidden": self.view})

    def _repr_mimebundle_(self, **kwargs):
        text = self.view.text
        tokens = [*text["tokens"]]
        tokens[text["masked"]] = text["mask"]
        rows = [[quoted(piece), Estimate(100 * share, form=".0f")] for piece, share in self.view.guesses]
        table = TextTable(["guess", "%"], rows, self.view.sentence)
        bars = table_bars(
            table, axis="probability of a piece, in per cent", model=model_of(self.encoder.title)
        )
        said = html.escape(" ".join(tokens))
        return page_bundle(self, f'<div class="bertlook-static"><p>{said}</p>{bars._repr_html_()}</div>')

    def __repr__(self) -> str:
        return f"MaskedWord({self.encoder.title}, {self._text!r})"
