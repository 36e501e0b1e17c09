"""Arcs over a sentence, live: the treebank's above the words, any head's choice below; all answers are in the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anywidget
import numpy as np
import traitlets

from bertlook_teach.model import head_label
from bertlook_teach.views import ChosenHead, Picture, style_source

from ..render import EVERY, READINGS, arcs_of, describe_arcs, render_arcs
from .assets import module_source


class ArcView(ChosenHead, anywidget.AnyWidget):
    """See which governors a head finds. Menus choose sentence, relation and reading; arrow keys run through the heads.

    Left and right change the head, up and down the layer, Home and End go to the first and last head of the layer, Page Up
    and Page Down change the sentence; no kernel is needed.

    Parameters
    ----------
    sentences : sequence of TreebankSentence
        Short ones fit a slide; a long one can be scrolled.
    answers : sequence of int arrays of shape (direction, layer, head, word)
        For each sentence the governors every head names: `predicted_governors(attention)`, or ``Answers.of(number)``; or what `collect_answers` returned for them.
    layer, head : int
        The head in view, counted from 0.
    relation : str
        A relation that occurs, or `EVERY`.
    direction : {0, 1}
        0: the dependent looks at its governor. 1: the governor looks at its dependent.
    sentence : int
        The sentence in view, counted from 0.
    font_size : float
        In pixels; 0 follows the page.

    Raises
    ------
    ValueError
        If there is no sentence, or answers do not fit the sentences.
    traitlets.TraitError
        If a layer, head, relation or sentence is set that is not there.
    """

    _every = EVERY  # the first entry of the menu of relations
    _esm = module_source("arc_view")
    _css = style_source()

    direction = traitlets.Int(0).tag(sync=True)
    relation = traitlets.Unicode(EVERY).tag(sync=True)
    sentence = traitlets.Int(0).tag(sync=True)

    # int16, little-endian: the sentences one after the other, each (direction, layer, head, word).
    data = traitlets.Bytes(b"").tag(sync=True)
    shape = traitlets.List(traitlets.Int(), [1, 1]).tag(sync=True)
    trees = traitlets.List([]).tag(sync=True)  # [{"words", "governors", "relations"}, ...]
    relations = traitlets.List(traitlets.Unicode(), [EVERY]).tag(sync=True)
    readings = traitlets.List(traitlets.Unicode(), list(READINGS)).tag(sync=True)
    # What the menu of relations is called, and in which readings the word named is the one that looks.
    relation_name = traitlets.Unicode("relation").tag(sync=True)
    turned = traitlets.List(traitlets.Bool(), [False, True]).tag(sync=True)

    def __init__(
        self,
        sentences: Sequence,
        answers: Sequence[np.ndarray],
        *,
        layer: int = 0,
        head: int = 0,
        relation: str = EVERY,
        direction: int = 0,
        sentence: int = 0,
        font_size: float = 0,
        **options,
    ):
        sentences = list(sentences)
        if hasattr(answers, "of"):  # what collect_answers returns
            answers = [answers.of(number) for number in range(len(sentences))]
        answers = [np.asarray(a) for a in answers]
        if not sentences or len(sentences) != len(answers):
            raise ValueError(
                f"as many answers as sentences, at least one; got {len(sentences)} and {len(answers)}."
            )
        heads = answers[0].shape[1:3]
        for number, (one, answer) in enumerate(zip(sentences, answers)):
            if answer.shape != (2, *heads, len(one.words)):
                raise ValueError(
                    f"sentence {number} needs answers of shape (direction, layer, head, word) = {(2, *heads, len(one.words))}; "
                    f"got {answer.shape}."
                )
            if not np.issubdtype(answer.dtype, np.integer) or (
                answer.size and answer.max() >= len(one.words)
            ):
                raise ValueError(
                    f"answers are positions of words from 0 to {len(one.words) - 1}, or below 0 for none; sentence {number} has "
                    f"{answer.dtype} up to {answer.max()}. Pass what predicted_governors returned for it."
                )
        self._sentences, self._answers = sentences, answers
        names = {r for s in sentences for g, r in zip(s.governors, s.relations) if g >= 0}
        super().__init__(
            data=b"".join(answer.astype("<i2").tobytes() for answer in answers),
            shape=[int(n) for n in heads],
            trees=[_tree(s) for s in sentences],
            relations=[self._every, *sorted(names)],
            layer=layer,
            head=head,
            relation=relation,
            direction=direction,
            sentence=sentence,
            font_size=font_size,
            **options,
        )

    def limits(self) -> dict[str, int]:
        return super().limits() | {"direction": 2, "sentence": len(self.trees)}

    _inside = traitlets.validate("direction", "sentence")(ChosenHead.check_choice)

    @traitlets.validate("relation")
    def _known(self, proposal):
        if proposal["value"] not in self.relations:
            raise traitlets.TraitError(
                f"no relation {proposal['value']!r} in these sentences; there are {', '.join(self.relations)}."
            )
        return proposal["value"]

    def arcs(self) -> dict:
        """What is in view, as `arcs_of` gives it."""
        answers = self._answers[self.sentence][self.direction, self.layer, self.head]
        relation = EVERY if self.relation == self._every else self.relation
        return arcs_of(self._sentences[self.sentence], answers, relation)

    @property
    def caption(self) -> str:
        """The sentence under the picture, computed from the data."""
        reading = self.readings[self.direction]
        return describe_arcs(self.arcs(), head=(self.layer, self.head), reading=reading)

    def picture(self) -> Picture:
        """The view as it stands now: a standalone SVG and its sentence."""
        reading, turned = self.readings[self.direction], int(self.turned[self.direction])
        drawn = render_arcs(self.arcs(), head=(self.layer, self.head), direction=turned, reading=reading)
        return replace(drawn, caption=self.caption)

    def __repr__(self) -> str:
        layers, heads = self.shape
        return (
            f"{type(self).__name__}({len(self.trees)} sentences, {layers} x {heads} heads, head {head_label(self.layer, self.head)}, "
            f"{self.relation})"
        )


def _tree(sentence) -> dict:
    """What the browser needs of a sentence; ``others`` only where several words count as right."""
    tree = {
        "words": list(sentence.words),
        "governors": list(map(int, sentence.governors)),
        "relations": list(sentence.relations),
    }
    others = getattr(sentence, "others", None)
    return tree if others is None else {**tree, "others": [list(map(int, o)) for o in others]}
