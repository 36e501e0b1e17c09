"""Heads switched off and on again by hand: what one masked word is taken for, and what it costs over a fixed batch.

A click must be answered at once, so nothing is computed twice: a run starts at the lowest layer whose heads are not as they
were in a run before, from the hidden vectors kept there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from bertlook_teach.model import (
    as_array,
    attention_blocks,
    choose_masked,
    chosen_masked,
    import_torch,
    mask_id,
    masked_lm_scorer,
    pieces_of,
    read,
)

from ...syllabus import worded
from .heads_off import at_contexts, check_way, heads_changed, positive_control, read_heads, uniform_context

if TYPE_CHECKING:
    from bertlook_teach.model import Encoder

N_TEXTS = 24  # of the shipped sentences: half a second of reading for a class, some 20 ms for the specimen

TOP = 5

_KEPT = 64  # outcomes: switching back and forth costs nothing


@dataclass(frozen=True)
class MaskedSentence:
    """A sentence with one piece to guess.

    Attributes
    ----------
    ids : tuple of int
        What the model reads, the mask token included.
    tokens : tuple of str
        The sentence as it was; where the mask was typed, the mask token.
    special : tuple of bool
    masked : int
        Position of the piece to guess.
    truth : int or None
        Its vocabulary number; None where the mask was typed, and nobody knows.
    """

    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    special: tuple[bool, ...]
    masked: int
    truth: int | None


@dataclass(frozen=True, eq=False)
class Outcome:
    """What came out with some heads off.

    Attributes
    ----------
    off : tuple of (layer, head)
        Counted from 0.
    how : {"zero", "uniform"}
    guesses : tuple of (piece, probability)
        The likeliest pieces for the masked one, best first.
    truth : float or None
        Probability of the right piece, where it is known.
    losses : ndarray of shape (piece,)
        Masked-LM loss of each piece to guess in the batch, in nats.
    hits : bool ndarray of shape (piece,)
        Whether it was the likeliest piece of all.
    right : ndarray of shape (example,), or None
        1 where a classifier was right, 0 where not, where there is one; 1/2 for a tie.
    """

    off: tuple[tuple[int, int], ...]
    how: str
    guesses: tuple[tuple[str, float], ...]
    truth: float | None
    losses: np.ndarray
    hits: np.ndarray
    right: np.ndarray | None = None


def read_masked(encoder: Encoder, text: str, masked: int | None = None) -> MaskedSentence:
    """A sentence made ready: with one [MASK] typed in it, or with one of its pieces masked.

    Parameters
    ----------
    encoder : Encoder
    text : str
        May hold one mask token of the encoder ("[MASK]").
    masked : int, optional
        Position of the piece to mask, counted from 0 with the special tokens. By default the last piece that is a word of
        letters by itself.

    Raises
    ------
    ValueError
        If two masks were typed, one was typed and another position is asked for, or the position is not a piece of the text.
    """
    reading, mask = read(encoder, text), mask_id(encoder)
    ids, tokens, special = reading.ids, reading.tokens, reading.special
    typed = [i for i, (number, s) in enumerate(zip(ids, special)) if number == mask and not s]
    name = encoder.tokenizer.mask_token
    if other := next((mark for mark in ("[MASK]", "<mask>") if mark != name and mark in text), ""):
        raise ValueError(
            f"{other} is the mask of another model and would be read as a text; {encoder.name}'s is {name}."
        )
    if len(typed) > 1:
        raise ValueError(worded("several masks", count=len(typed), mask=name))
    if typed:
        if masked not in (None, typed[0]):
            raise ValueError(worded("mask typed", mask=name, place=typed[0]))
        return MaskedSentence(ids, tokens, special, typed[0], None)
    if masked is None:
        masked = _last_word(tokens, special, reading.word_ids)
    position = chosen_masked(encoder, [masked], special).positions[0]
    shown = (*ids[:position], mask, *ids[position + 1 :])
    return MaskedSentence(shown, tokens, special, position, ids[position])


def guess_masked(
    encoder: Encoder, text: str, masked: int | None = None, *, n: int = TOP
) -> tuple[MaskedSentence, tuple[tuple[str, float], ...]]:
    """What the model takes a masked piece for: the sentence as it was read, and the ``n`` likeliest pieces with their probabilities.

    Parameters
    ----------
    encoder : Encoder
        With a masked-LM head.
    text : str
    masked : int, optional
        See :func:`read_masked`.
    n : int
        At least 1, at most the size of the vocabulary.
    """
    if not 1 <= n <= len(encoder.tokenizer):
        raise ValueError(f"n is how many guesses to give, from 1 to {len(encoder.tokenizer)}; got {n}.")
    sentence = read_masked(encoder, text, masked)
    _, guesses = _guesses(encoder, masked_lm_scores(encoder, sentence.ids, sentence.masked), n)
    return sentence, guesses


def _guesses(encoder, scores, n: int) -> tuple[np.ndarray, tuple[tuple[str, float], ...]]:
    """The share of every piece, and the likeliest pieces with theirs."""
    from scipy.special import softmax

    shares = softmax(scores)
    best = np.argsort(-shares, kind="stable")[:n]
    names = [pieces_of(encoder, [piece])[0] for piece in best]
    return shares, tuple(zip(names, shares[best].tolist()))


def masked_lm_scores(encoder: Encoder, ids: Sequence[int], position: int) -> np.ndarray:
    """One score for each wordpiece of the vocabulary at one position of an input, float32.

    Raises
    ------
    NoMaskedLMHead
        If the folder holds no masked-LM head.
    """
    rows, score = np.array([ids]), masked_lm_scorer(encoder)
    if encoder.engine is not None:
        return score(encoder.engine.run(rows).states[-1][0, position])
    torch = import_torch()

    with torch.inference_mode(), encoder.evaluating():
        vectors = encoder.model(**encoder.inputs(rows, np.ones_like(rows))).last_hidden_state
    return score(vectors[0, position])


def _last_word(tokens, special, word_ids) -> int:
    """The last word of letters that is one piece; failing that, the last piece that is not special."""
    counts = {word: word_ids.count(word) for word in set(word_ids)}
    pieces = [i for i, s in enumerate(special) if not s]
    words = [i for i in pieces if counts[word_ids[i]] == 1 and tokens[i].strip("Ġ▁").isalpha()]
    return (words or pieces)[-1]


class Replay:
    """One batch that is run again and again, from the lowest layer where something has changed.

    Parameters
    ----------
    encoder : Encoder
        Its blocks are run one by one, as the model ran them.
    ids, mask : integer arrays of shape (batch, token)
        ``mask`` is 1 for real tokens and 0 for padding.
    segments : integer array of the same shape, optional
    """

    def __init__(self, encoder: Encoder, ids, mask, segments=None):
        self.encoder, self.engine, self.mask = encoder, encoder.engine, mask
        self.shared = False
        if self.engine is not None:
            self.on = self.engine.run(ids, mask, segments).states
        else:
            self._note_calls(ids, mask, segments)
        self.last: tuple[dict[int, tuple], list] = ({}, self.on)
        self.layers_run = 0  # of the last run: what the kept vectors did not save

    def _note_calls(self, ids, mask, segments) -> None:
        """What torch called each block with, and what each read."""
        torch = import_torch()

        encoder = self.encoder
        self.blocks = attention_blocks(encoder)
        # ALBERT runs one block for all layers, and a hook can only count its calls: always from the first.
        self.shared = len({id(block.module) for block in self.blocks}) < len(self.blocks)
        calls = []

        def keep(module, given, options, output):
            calls.append((given, options, output[0] if isinstance(output, tuple) else output))

        hooks = [(module, "forward", keep) for module in {block.module: None for block in self.blocks}]
        with encoder.hooked(hooks, with_kwargs=True):
            encoder.attend(
                *(
                    torch.as_tensor(rows)
                    for rows in (ids, mask, np.zeros_like(ids) if segments is None else segments)
                )
            )
        self.calls = [(given[1:], options) for given, options, _ in calls]
        self.on = [given[0] for given, _, _ in calls] + [
            calls[-1][2]
        ]  # the input of each layer, and the output

    @property
    def outdated(self) -> bool:
        """Whether torch has taken over since, so that a change of its model would be passed by."""
        return self.engine is not self.encoder.engine

    def run(self, off: Sequence[tuple[int, int]] = (), how: str = "zero") -> np.ndarray:
        """The last layer's output with these heads off, of shape (batch, token, width)."""
        changes = {}
        for layer, head in off:
            changes.setdefault(layer, []).append(head)
        changes = {layer: (how, *sorted(heads)) for layer, heads in changes.items()}
        start, vectors = self._best_start(changes)
        vectors = list(vectors[: start + 1])
        if self.engine is not None:
            by_layer = {layer: heads for layer, (_, *heads) in changes.items()}
            change = heads_changed(by_layer, how, self.mask)
            vectors += self.engine.run(
                None, self.mask, change=change, start=start, stream=vectors[-1]
            ).states[1:]
        else:
            self._run_blocks(changes, start, vectors)
        self.layers_run = len(self.on) - 1 - start
        self.last = (changes, vectors)
        return as_array(vectors[-1])

    def _run_blocks(self, changes, start: int, vectors: list) -> None:
        """Append what each layer from ``start`` on gives, as torch computes it."""
        torch = import_torch()

        with (
            torch.inference_mode(),
            self.encoder.evaluating(),
            at_contexts(
                self.encoder,
                self._change(changes),
                values=any(way == "uniform" for way, *_ in changes.values()),
            ),
        ):
            for layer in range(start, len(self.blocks)):
                rest, options = self.calls[layer]
                output = self.blocks[layer].module(vectors[layer], *rest, **options)
                vectors.append(output[0] if isinstance(output, tuple) else output)

    def _best_start(self, changes) -> tuple[int, list]:
        """The layer to start from, and the kept vectors to start with."""
        found = [(self._agrees(changes, before), kept) for before, kept in (({}, self.on), self.last)]
        return max(found, key=lambda item: item[0])

    def _agrees(self, changes, before) -> int:
        """Below which layer two runs are the same."""
        n_layers = len(self.on) - 1
        first = min((l for l in range(n_layers) if changes.get(l) != before.get(l)), default=n_layers)
        return 0 if self.shared and first < n_layers else first

    def _change(self, changes) -> Callable:
        torch = import_torch()

        encoder, parts = self.encoder, {}
        mask = torch.as_tensor(self.mask, device=encoder.device)
        for layer, (_, *heads) in changes.items():
            part = torch.zeros(encoder.n_heads, dtype=torch.bool, device=encoder.device)
            part[heads] = True
            parts[layer] = part.repeat_interleave(encoder.head_size)

        def change(layer, context, values, _):  # the model itself is not called, so the mask is ours
            if layer not in parts:
                return None
            if changes[layer][0] == "zero":
                return context.masked_fill(parts[layer], 0)
            return uniform_context(values, mask).where(parts[layer], context)

        return change


@dataclass(eq=False)
class Bench:
    """A sentence with one masked piece, and a fixed batch of texts with pieces to guess, for one encoder.

    Parameters
    ----------
    encoder : Encoder
        With a masked-LM head.
    text : str
    masked : int, optional
        See :func:`read_masked`.
    texts : sequence of str, optional
        The batch. By default the first 24 sentences that ship with the course. 15 % of the pieces of each are to be guessed,
        chosen with its number as seed.
    classify : function, optional
        ``classify(heads, how)`` says which of a fixed sample of labelled examples come out right with these heads off: an
        array of shape (example,) of bools, or of 1, 0 and 1/2 for a tie. Its ``name``, if it has one, is shown with the score;
        see :class:`bertlook_course.analyses.ablation.NextSentence`.

    Raises
    ------
    NoMaskedLMHead
        If the encoder cannot guess.
    ValueError
        If a text cannot be read.
    """

    encoder: Encoder
    text: str
    masked: int | None = None
    texts: Sequence[str] | None = None
    classify: Callable[..., np.ndarray] | None = None
    sentence: MaskedSentence = field(init=False)
    units: np.ndarray = field(init=False)

    def __post_init__(self):
        from ...corpora import load_texts

        masked_lm_scorer(self.encoder)
        self.texts = load_texts()[:N_TEXTS] if self.texts is None else list(self.texts)
        if not self.texts:
            raise ValueError("the batch is empty: a loss needs at least one text.")
        self._read_batch()
        self._outcomes: dict = {}
        self.set_text(self.text, self.masked)

    @property
    def n_heads(self) -> int:
        """Of the whole model."""
        return self.encoder.n_layers * self.encoder.n_heads

    def set_text(self, text: str, masked: int | None = None) -> None:
        """Another sentence, or another piece of it; if it cannot be read, nothing changes."""
        self.sentence = read_masked(self.encoder, text, masked)
        self.text, self.masked = text, self.sentence.masked
        ids = np.array([self.sentence.ids])
        self._one = Replay(self.encoder, ids, np.ones_like(ids))
        self._outcomes = {}

    def run(self, off=(), how: str = "zero") -> Outcome:
        """What comes out with these heads off.

        Parameters
        ----------
        off : heads, as :func:`~bertlook_course.analyses.ablation.read_heads` takes them
            All of them is allowed here: that is the positive control.
        how : {"zero", "uniform"}

        Raises
        ------
        RuntimeError
            If switching all heads off changes nothing.
        """
        heads = read_heads(list(off) if not isinstance(off, str) else off, self.encoder)
        check_way(how)
        if self._batch.outdated:
            self._read_batch()
            self.set_text(self.text, self.masked if self.sentence.truth is not None else None)
        key = (heads, how if heads else "")
        if key not in self._outcomes:
            if heads:
                positive_control(self.encoder, how, self._batch.engine)
            while len(self._outcomes) >= _KEPT:
                self._outcomes.pop(next(iter(self._outcomes)))
            self._outcomes[key] = self._compute(heads, how)
        return self._outcomes[key]

    def _compute(self, heads, how) -> Outcome:
        score = masked_lm_scorer(self.encoder)
        shares, guesses = _guesses(
            self.encoder, score(self._one.run(heads, how)[0, self.sentence.masked]), TOP
        )
        truth = None if self.sentence.truth is None else float(shares[self.sentence.truth])
        scores = score(self._batch.run(heads, how)[self._rows, self._positions])
        hits = scores.argmax(axis=-1) == self._truths
        scores = scores - scores.max(axis=-1, keepdims=True)
        losses = np.log(np.exp(scores).sum(axis=-1)) - scores[np.arange(len(scores)), self._truths]
        right = None if self.classify is None else np.asarray(self.classify(heads, how), dtype=float)
        return Outcome(heads, how, guesses, truth, losses.astype(float), hits, right)

    def _read_batch(self) -> None:
        encoder = self.encoder
        rows, places, truths, inputs = [], [], [], []
        for number, text in enumerate(self.texts):
            reading = read(encoder, text, truncate=True)
            chosen = choose_masked(encoder, reading.ids, reading.special, seed=number)
            rows += [number] * len(chosen.positions)
            places += chosen.positions
            truths += [reading.ids[position] for position in chosen.positions]
            inputs.append(chosen.applied(reading.ids))
        longest = max(map(len, inputs))
        pad = encoder.tokenizer.pad_token_id or 0
        self.padded = np.array([[*ids, *[pad] * (longest - len(ids))] for ids in inputs])
        real = np.array([[1] * len(ids) + [0] * (longest - len(ids)) for ids in inputs])
        self._batch = Replay(encoder, self.padded, real)
        self._rows, self._positions, self._truths = map(np.array, (rows, places, truths))
        self.units = np.array(rows)
