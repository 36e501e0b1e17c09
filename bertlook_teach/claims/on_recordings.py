"""Claims on recorded attention: what attention alone can decide, on the inputs that were recorded.

A recording has no weights, no vectors of every input, and no random twin unless one was recorded beside it. So a claim for which the twin is the control
can fail here, and cannot hold without that second recording; a claim about anything but attention cannot be decided, for a reason that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from ..corpora import TreebankSentence
from ..model import Recording, iter_attention
from ..stats import CannotDecide
from .claim import OPEN, Claim, Verdict
from .course_claims import evidence_table
from .evidence import Resources
from .verdicts import iter_verdicts

# Claims that a share is small: on short inputs a head that looks at all tokens equally is near the line already.
_WANT_LENGTH = {"03-broad-at-most-a-tenth": 20}

NO_TWIN = "no random twin was recorded on these inputs (`bertlook record --random-twin`, then --twin)"

# Evidence that the lessons' own collectors find in a treebank, as far as its sentences were recorded.
_FROM_TREES = ("relations", "13 insiders", "13 relations")

_NEEDS = {
    "scores": "queries and keys of every input",
    "segments": "the same inputs read with other segment ids",
    "segment ids": "the same inputs read with other segment ids",
    "padding": "the same inputs read alone and in batches",
    "reading": "the model's weights before they were rounded to 16 bits so that each row sums to 1",
    "norms": "value vectors and the output projection",
    "importance": "gradients of the loss",
    "value zeroing": "the layers run again without some values",
    "head effects": "the model run again without each head",
    "one head kept": "the model run again with one head in a layer",
    "pruning curves": "the model run again without many heads",
    "layers": "the vectors of every layer",
    "word-probes": "probes, fitted on attention and on the model's word vectors",
    "attention-probes": "probes, which are fitted only beside those on the model's word vectors",
    "pair-probes": "probes, which are fitted only beside those on the model's word vectors",
    "antecedents": "documents, read several sentences at once",
    "05-maps": "each pair read again as one text, and with another partner",
    "13 clauses": "the first text of each pair read alone",
    "13 phases": "probes, fitted on the vectors of every layer",
    "13 zeroed losses": "the model run again without some values",
    "13 drifters": "gradients of the loss",
    "cues before and after": "the model before and after fine-tuning",
    "maps before and after": "the model before and after fine-tuning",
    "key scores": "a corpus with key words, read by the model",
    "key tagging": "training a tagger",
}


@dataclass(frozen=True)
class _NoTwin:
    """Stands where the twin would be: collecting anything of it says that there is none."""

    of: Recording

    @property
    def name(self) -> str:
        return "no random twin"

    @property
    def fingerprint(self) -> str:
        return f"no twin of {self.of.fingerprint}"


def attention_evidence(trees: Sequence[TreebankSentence] = ()) -> dict[str, Callable]:
    """Name -> collector of what attention alone gives, on all inputs of a recording, be they single texts or pairs.

    Parameters
    ----------
    trees : sequence of TreebankSentence
        For the features of lesson 5; those that were not recorded give nothing.
    """
    from ..measures import UndefinedPattern, measure_patterns, sep_to_cls
    from .collectors.lesson05 import features
    from .lessons.lesson03 import surface_quantities
    from .lessons.lesson09 import family_quantities

    def of_each(quantities):
        def collect(model, resources):
            return (quantities(attention) for attention in iter_attention(model, model.texts, truncate=True))

        return collect

    def pattern_quantities(attention) -> dict:
        found = {}
        for key, score in measure_patterns(attention).items():
            found[key], found[f"{key}, excess"] = score.value, score.excess
        for name, last in (("sep to cls", False), ("last sep to cls", True)):
            try:
                found[name] = sep_to_cls(attention, last=last)
            except UndefinedPattern:
                continue
        return found

    resources_with_trees = Resources(pairs=[], texts=[], treebank=trees)

    return {
        "surface": of_each(surface_quantities),
        "families": of_each(family_quantities),
        "patterns": of_each(pattern_quantities),
        "05-features": lambda model, resources: features(model, resources_with_trees),
    }


def recorded_trees(recording: Recording, trees: Iterable[TreebankSentence]) -> list[TreebankSentence]:
    """The sentences of a treebank that were recorded, with its own words."""
    from ..model import check_reading

    return [tree for tree in trees if not check_reading(recording, tree.words).obstacle]


def iter_recorded_verdicts(
    claims: Sequence[Claim],
    recording: Recording,
    *,
    trees: Iterable[TreebankSentence] = (),
    twin: Recording | None = None,
    progress: Callable[[Iterable, str], Iterable] | None = None,
) -> Iterator[Verdict]:
    """Decide claims on a recording: `iter_verdicts` with what was recorded for texts.

    Parameters
    ----------
    claims : sequence of Claim
    recording : Recording
    trees : iterable of TreebankSentence
        Claims about syntax and coreference are decided on those that were recorded.
    twin : Recording, optional
        The random twin, recorded on the same inputs. Without it no claim holds for which the twin is the control.
    progress : function(stream, label), optional

    Raises
    ------
    ValueError
        If the twin was recorded on other inputs, or has another number of heads.
    """
    if twin is not None:
        check_twin(recording, twin)
    found = recorded_trees(recording, trees)
    evidence = {
        claim.evidence: _cannot(_NEEDS.get(claim.evidence, "more than attention on these inputs"))
        for claim in claims
    }
    own = evidence_table()
    attention, names = attention_evidence(found), (*_FROM_TREES, *filter(_is_pattern, evidence))
    from_trees = {name: _on_trees(own[name], found) for name in names if name in own}
    from_trees["05-features"] = _on_trees(attention["05-features"], found)
    for name, collector in (attention | from_trees).items():
        if name in evidence:
            evidence[name] = _of_recordings(collector)
    verdicts = iter_verdicts(
        claims,
        recording,
        twin=_NoTwin(recording) if twin is None else twin,
        resources=Resources(pairs=[], texts=[], treebank=found),
        progress=progress,
        evidence=evidence,
        strict=False,
    )
    for verdict in verdicts:
        yield _if_long(verdict, recording)


def check_twin(recording: Recording, twin: Recording) -> None:
    """Whether it is the model's random twin, with as many heads, on the same tokens; a ValueError says what differs."""
    if (twin.n_layers, twin.n_heads) != (recording.n_layers, recording.n_heads):
        raise ValueError(
            f"a random twin has the heads of its model; {recording.name} has {recording.n_layers} layers of {recording.n_heads}, {twin.name} has "
            f"{twin.n_layers} of {twin.n_heads}."
        )
    if not twin.twin_of:
        raise ValueError(
            f"{twin.name} was not recorded as a random twin, and a trained model is not a control; write one with `bertlook record --random-twin`."
        )
    if recording.model_fingerprint and twin.twin_of != recording.model_fingerprint:
        raise ValueError(
            f"{twin.name} is the random twin of another model ({twin.twin_of}), not of {recording.name} ({recording.model_fingerprint})."
        )
    for text in recording.texts:
        if text not in twin or twin[text].tokens != recording[text].tokens:
            raise ValueError(
                f"the twin was not recorded on {text!r:.80} with the same tokens; record both on one file of texts."
            )


def _is_pattern(name: str) -> bool:
    return name.startswith("treebank: ")


def _of_recordings(collector: Callable) -> Callable:
    def collect(model, resources):
        if isinstance(model, _NoTwin):
            raise CannotDecide(NO_TWIN)
        return collector(model, resources)

    return collect


def _on_trees(collector: Callable, trees: Sequence[TreebankSentence]) -> Callable:
    def collect(model, resources):
        if not trees:
            raise CannotDecide(
                "no sentence of the treebank was recorded (`bertlook record --data TREEBANK`, then --data)"
            )
        return collector(model, Resources(pairs=[], texts=[], treebank=trees))

    return collect


def _cannot(what: str) -> Callable:
    def collect(model, resources):
        raise CannotDecide(f"recorded attention alone cannot decide it: it takes {what}")

    return collect


def _if_long(verdict: Verdict, recording: Recording) -> Verdict:
    """Inputs so short that no head could do what the claim says decide nothing."""
    wanted = _WANT_LENGTH.get(verdict.claim.key, 0)
    lengths = [recording[text].n_tokens for text in recording.texts] if wanted else []
    if verdict.verdict == OPEN or not wanted or min(lengths) >= wanted:
        return verdict
    return replace(
        verdict,
        verdict=OPEN,
        why=f"it takes inputs of {wanted} tokens or more, as a head that looks at all tokens equally gives 1/n; the shortest here has {min(lengths)}",
    )
