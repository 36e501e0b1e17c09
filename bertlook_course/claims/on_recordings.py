"""Claims on recorded attention: what attention alone can decide, on the inputs that were recorded.

A recording has no weights, no vectors of every input, and no random twin unless one was recorded beside it. So a claim for which the twin is the control
can fail here, and cannot hold without that second recording; a claim about anything but attention cannot be decided, for a reason that is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from bertlook_teach.model import Recording, iter_attention

from ..corpora import TreebankSentence
from ..metrics import CannotDecide
from .claim import Claim, Verdict
from .course_claims import evidence_table
from .evidence import Resources
from .verdicts import iter_verdicts

NO_TWIN = "no random twin was recorded on these inputs (`bertlook record --random-twin`, then --twin)"

# Evidence that the lessons' own collectors find in a treebank, as far as its sentences were recorded.
_FROM_TREES = ("relations", "13 insiders", "13 relations")

_NEEDS = {
    "scores": "queries and keys of every input",
    "norms": "value vectors and the output projection",
    "importance": "gradients of the loss",
    "value zeroing": "the layers run again without some values",
    "head effects": "the model run again without each head",
    "pruning curves": "the model run again without many heads",
    "layers": "the vectors of every layer",
    "word-probes": "probes, fitted on attention and on the model's word vectors",
    "attention-probes": "probes, which are fitted only beside those on the model's word vectors",
    "pair-probes": "probes, which are fitted only beside those on the model's word vectors",
    "antecedents": "documents, read several sentences at once",
    "05-maps": "each pair read again as one text",
    "13 clauses": "the first text of each pair read alone",
    "13 phases": "probes, fitted on the vectors of every layer",
    "13 zeroed losses": "the model run again without some values",
    "13 drifters": "gradients of the loss",
    "cues before and after": "the model before and after fine-tuning",
    "key scores": "a corpus with key words, read by the model",
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


def attention_evidence() -> dict[str, Callable]:
    """Name -> collector of what attention alone gives, on all inputs of a recording, be they single texts or pairs."""
    from bertlook_teach.measures import measure_patterns

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
        return found

    return {
        "surface": of_each(surface_quantities),
        "families": of_each(family_quantities),
        "patterns": of_each(pattern_quantities),
    }


def recorded_trees(recording: Recording, trees: Iterable[TreebankSentence]) -> list[TreebankSentence]:
    """The sentences of a treebank that were recorded, with its own words."""
    from bertlook_teach.model import check_reading

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
    names = (*_FROM_TREES, *filter(_is_pattern, evidence))
    from_trees = {name: _on_trees(own[name], found) for name in names if name in own}
    for name, collector in (attention_evidence() | from_trees).items():
        if name in evidence:
            evidence[name] = _of_recordings(collector)
    yield from iter_verdicts(
        claims,
        recording,
        twin=_NoTwin(recording) if twin is None else twin,
        resources=Resources(pairs=[], texts=[], treebank=found),
        progress=progress,
        evidence=evidence,
        strict=False,
    )


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
