"""Lesson 14: what its deck shows and its claims are decided on: models before and after fine-tuning.

Fine-tuned models do not ship with the course, so the evidence makes them: the model learns negation scopes from half of the shipped
sentences, and a control task on the same sentences, three times each; the other half is what the claims are tried on. The random
twin goes the same way, once. What was tuned is kept for this process, and a lesson that tunes takes it from there. Tuned weights are too
many to ship; what a lesson and the claims read off them (`measured`, the evidence) ships with the course.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from bertlook_teach.model import Attention, check_reading

from ...analyses.finetuning import CheckpointComparison, Matching, compare_checkpoints
from ...analyses.negation import CueScores, negated, random_cue, score_heads
from ...corpora import NegationSentence, load_negation
from ...metrics import CannotDecide
from ...storage import Memory, cached
from ..evidence import evidence

# Without the table of words, of which a batch trains a few rows: MiniLM has 11 million, and is tuned six times in some minutes on
# two cores; BERT-base has 86 million.
MOST_PARAMETERS = 20_000_000

FEWEST = 20  # sentences of either half that the model can read whole


def taggers(encoder) -> dict[str, list]:
    """The models tuned on "negation" and on "control": three seeds each; one for a random twin.

    Raises
    ------
    CannotDecide
        If the model is too large to be tuned here, or its family has no head for words.
    """
    from ...analyses.negation import SEEDS, TASKS, tuned

    table = encoder.model.get_input_embeddings().weight
    parameters = sum(p.numel() for p in encoder.model.parameters()) - table.numel()
    if parameters > MOST_PARAMETERS and encoder.device.type == "cpu":
        raise CannotDecide(
            f"{encoder.name} has {parameters / 1e6:.0f} million parameters without its word table, too many to tune six times on a CPU; tune it elsewhere "
            "and use bertlook compare"
        )
    obstacles = [bool(check_reading(encoder, s.words).obstacle) for s in load_negation("train")]
    if any(obstacles):
        raise CannotDecide(f"{sum(obstacles)} sentences to tune on cannot be read whole by {encoder.name}")
    seeds = SEEDS if encoder.seed is None else SEEDS[:1]
    try:
        return {task: [tuned(encoder, task, seed=seed) for seed in seeds] for task in TASKS}
    except ValueError as error:
        raise CannotDecide(str(error)) from None


def sentences(encoder, resources, *, negated: bool) -> list:
    """The half that reports, as far as the model can read it and the limit goes."""
    found = [s for s in load_negation("test") if not check_reading(encoder, s.words).obstacle]
    if negated:
        found = [s for s in found if any(n.scope for n in s.negations)]
    if len(found) < FEWEST:
        raise CannotDecide(f"{encoder.name} can read only {len(found)} of the sentences whole")
    return found[: resources.limit]


@dataclass(frozen=True, eq=False)
class Tuned:
    """What a lesson shows of a model before and after it learnt each task; the sentences are the shipped ones with a negation.

    Attributes
    ----------
    moved : dict of task -> CheckpointComparison
        The model beside what its first seed became, on the half that reports; without the divergences of all pairs of heads.
    matched : dict of task -> Matching
        Heads before paired off with heads after, of the same two.
    before : dict of half -> CueScores
        Of the model, on the half that chooses ("train") and the one that reports ("test").
    habit : CueScores
        Of the model, with another word as the cue, on the half that reports.
    after : dict of task -> list of CueScores
        One a seed, on the half that reports.
    chosen_on : list of CueScores
        Tuned on negation, one a seed, on the half that chooses.
    shown : Attention
        Of the example, tuned on negation, between words.
    """

    moved: dict[str, CheckpointComparison]
    matched: dict[str, Matching]
    before: dict[str, CueScores]
    habit: CueScores
    after: dict[str, list[CueScores]]
    chosen_on: list[CueScores]
    shown: Attention

    @property
    def n_seeds(self) -> int:
        return len(self.chosen_on)


def example() -> NegationSentence:
    """A sentence short enough for a slide, of the half that reports, with one negation."""
    fits = (s for s in negated(load_negation("test")) if 8 <= len(s) <= 11 and len(s.negations) == 1)
    return next(fits)


def measured(encoder) -> Tuned:
    """What tuning does to a model, as a lesson shows it; shipped for the specimen and its twin.

    Raises
    ------
    CannotDecide
        As `taggers` does.
    """
    return _known.once(
        ("tuned", encoder.fingerprint),
        lambda: cached("before and after", (encoder,), lambda: _measure(encoder), version=1),
    )


def against(encoder, other) -> tuple[CheckpointComparison, Matching]:
    """Two models of one shape on the same sentences, as far as the lesson shows it: for comparison, a model that is not a descendant."""
    return _known.once(
        ("against", encoder.fingerprint, other.fingerprint),
        lambda: cached("against", (encoder, other), lambda: _compared(encoder, other), version=1),
    )


_known = Memory(8)


def _measure(encoder) -> Tuned:
    from bertlook_teach.model import extract_attention

    tuned = taggers(encoder)
    half = {name: negated(load_negation(name)) for name in ("train", "test")}
    pairs = {task: _compared(encoder, own[0].encoder) for task, own in tuned.items()}
    first = tuned["negation"][0].encoder
    return Tuned(
        {task: comparison for task, (comparison, _) in pairs.items()},
        {task: matching for task, (_, matching) in pairs.items()},
        {name: score_heads(encoder, sentences) for name, sentences in half.items()},
        random_cue(encoder, half["test"]),
        {task: [score_heads(t.encoder, half["test"]) for t in own] for task, own in tuned.items()},
        [score_heads(t.encoder, half["train"]) for t in tuned["negation"]],
        extract_attention(first, words=list(example().words)).to_words(),
    )


def _compared(encoder, other) -> tuple[CheckpointComparison, Matching]:
    texts = [list(sentence.words) for sentence in negated(load_negation("test"))]
    found = compare_checkpoints(encoder, other, texts, measures=("sep",))
    return replace(found, cross=None), found.matching()


@evidence("cues before and after", version=1, unit="sentences")
def cues(encoder, resources) -> Iterator[dict[str, np.ndarray]]:
    """For each sentence with a negation: hits and words pointing at the cue of every head, before, tuned on negation, tuned on control
    (a first axis for the seed), and the same with another word as the cue; words in a scope; words told to be in or out."""
    from ...analyses.negation import IN, scope_labels

    tuned = taggers(encoder)
    chosen = sentences(encoder, resources, negated=True)
    scored = {"before": [score_heads(encoder, chosen)], "another": [random_cue(encoder, chosen)]}
    scored |= {task: [score_heads(t.encoder, chosen) for t in own] for task, own in tuned.items()}
    gold = scope_labels(chosen)
    told = [tagger.predict([s.words for s in chosen]) for tagger in tuned["negation"]]
    for i in range(len(chosen)):
        row = {"scope": scored["before"][0].scope[i], "another_scope": scored["another"][0].scope[i]}
        for name, runs in scored.items():
            row[f"{name}_hits"] = np.stack([run.hits[i] for run in runs])
            row[f"{name}_pointing"] = np.stack([run.pointing[i] for run in runs])
        row["told_hits"] = np.array([sum(a == b == IN for a, b in zip(t[i], gold[i])) for t in told])
        row["told_in"] = np.array([t[i].count(IN) for t in told])
        row["words"] = len(gold[i])
        yield row


EVIDENCE = {"cues before and after": cues}


def largest(values) -> tuple[int, int]:
    """Layer and head of the largest number; of equals the first."""
    return np.unravel_index(int(np.argmax(values)), np.shape(values))
