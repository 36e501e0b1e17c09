"""Heads that find antecedents: coreference data, antecedent selection by heads, and the rules they must beat.

Clark et al. (2019), section 4.3: of the mentions that refer to something mentioned before, how many look most at an
earlier mention of the same thing? A head and a rule are both *predictors*: they answer with one earlier word, and meet the
same judge. The paper does not say among which words a head chooses, nor how the head word of a mention is found, and its code
was never released; both are stated here (`CANDIDATES`, `head_word`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from bertlook_teach.disk import Table
from bertlook_teach.model import head_label
from bertlook_teach.stats import unit_interval

from ...corpora import KINDS, CorefDocument, Mention, anaphors, cut_documents
from ...metrics import fair_choice

CANDIDATES = ("mentions", "open")


# --- rules ---------------------------------------------------------------------------------------------
def nearest(document: CorefDocument, mention: Mention, before: Sequence[Mention]) -> Mention | None:
    """The mention whose head word stands nearest before."""
    return max(before, key=lambda m: (m.head < mention.head, m.head), default=None)


def head_match(document: CorefDocument, mention: Mention, before: Sequence[Mention]) -> Mention | None:
    """The nearest mention with the same head word; none is a wrong answer."""
    word = document.words[mention.head].lower()
    return nearest(document, mention, [m for m in before if document.words[m.head].lower() == word])


def four_sieves(document: CorefDocument, mention: Mention, before: Sequence[Mention]) -> Mention | None:
    """The nearest mention of the first sieve that holds any: same string, same head word, agreement, any."""
    text = document.text(mention).lower()
    same_text = [m for m in before if document.text(m).lower() == text]
    if same_text:
        return nearest(document, mention, same_text)
    return (
        head_match(document, mention, before)
        or nearest(document, mention, [m for m in before if _agree(mention, m)])
        or nearest(document, mention, before)
    )


def _agree(a: Mention, b: Mention) -> bool:
    def fits(x, y):
        return not x or not y or x == y

    people = {"masculine", "feminine", "person"}
    gender = fits(a.gender, b.gender) or ("person" in (a.gender, b.gender) and {a.gender, b.gender} <= people)
    return fits(a.number, b.number) and gender and fits(a.person, b.person)


BASELINES: dict[str, Callable] = {"nearest": nearest, "head match": head_match, "four sieves": four_sieves}


# --- heads ---------------------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Antecedents(Table):
    """Right and wrong answers for every anaphor of a corpus.

    Attributes
    ----------
    heads : dict of candidates -> bool ndarray of shape (anaphor, layer, head), or `metrics.Packed`
    rules : dict of baseline -> bool ndarray of shape (anaphor,)
    kinds : tuple (or array) of str, one of `KINDS` per anaphor
    documents : int ndarray of shape (anaphor,)
        The document each anaphor stands in; documents are the unit of the halves and of the bootstrap.
    n_documents, n_skipped : int
        Documents (before cutting), and sentences left out because the model cannot read them whole.
    """

    heads: dict[str, np.ndarray]
    rules: dict[str, np.ndarray]
    kinds: tuple[str, ...]
    documents: np.ndarray
    n_documents: int
    n_skipped: int

    def __len__(self) -> int:
        return len(self.kinds)

    def rows(self, **which) -> list[AntecedentRow]:
        """What `antecedent_table` makes of them."""
        return antecedent_table(self, **which)


def find_antecedents(
    encoder,
    documents: Sequence[CorefDocument],
    *,
    first_only: bool = False,
    max_tokens: int | None = None,
    batch_size: int = 8,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> Antecedents:
    """Ask every head, and every rule, for the antecedent of every anaphor.

    A head answers with the word that the anaphor's head word looks at most: among the head words of the mentions before it
    (``"mentions"``, what the rules choose from too), or among all other words of the input (``"open"``). It is right if that word is the head
    word of an earlier mention of the same thing. Pieces of the anaphor are averaged, pieces of a candidate added up.
    """
    from bertlook_teach.model import iter_attention

    parts, unread = cut_documents(encoder, documents, first_only=first_only, max_tokens=max_tokens)
    parts = [part for part in parts if anaphors(part)]
    if not parts:
        raise ValueError(
            f"no mention refers back to another within one input of {encoder.name} (at most {encoder.max_tokens} wordpieces)."
        )
    stream = iter_attention(encoder, (list(part.words) for part in parts), batch_size=batch_size)
    heads: dict[str, list] = {name: [] for name in CANDIDATES}
    rules: dict[str, list] = {name: [] for name in BASELINES}
    kinds, where = [], []
    numbers = {id_: i for i, id_ in enumerate(dict.fromkeys(document.doc_id for document in documents))}
    for part, attention in zip(parts, stream if progress is None else progress(stream), strict=True):
        merged = attention.to_words()
        words = np.flatnonzero(~np.array(merged.special))
        for mention, before in anaphors(part):
            right = {m.head for m in before if m.cluster == mention.cluster}
            row = merged.weights[:, :, words[mention.head], :][..., words]
            for name, chosen in _named_words(row, mention, before).items():
                heads[name].append(np.isin(chosen, list(right)))
            for name, rule in BASELINES.items():
                answer = rule(part, mention, before)
                rules[name].append(answer is not None and answer.head in right)  # the same judge as for heads
            kinds.append(mention.kind)
            where.append(numbers[part.doc_id])
    return Antecedents(
        {name: np.array(values) for name, values in heads.items()},
        {name: np.array(values) for name, values in rules.items()},
        tuple(kinds),
        np.array(where),
        len(documents),
        unread,
    )


def _named_words(row: np.ndarray, mention: Mention, before: Sequence[Mention]) -> dict[str, np.ndarray]:
    """The word every head names, shape (layer, head), among each of the `CANDIDATES`; ``row`` has shape (layer, head, word)."""
    candidates = np.array(sorted({m.head for m in before}))
    others = row.copy()
    others[..., mention.head] = -1
    return {"mentions": candidates[row[..., candidates].argmax(axis=-1)], "open": others.argmax(axis=-1)}


# --- one text, to look at --------------------------------------------------------------------------------
@dataclass(frozen=True)
class AntecedentLinks:
    """A short text as arcs: for each word that is the head word of an anaphor, its nearest antecedent; -1 for the others.

    ``relations`` holds the kinds of mention, ``others`` the head words of further antecedents.
    """

    words: tuple[str, ...]
    governors: tuple[int, ...]
    relations: tuple[str, ...]
    others: tuple[tuple[int, ...], ...]


def antecedent_links(document: CorefDocument) -> AntecedentLinks:
    """What a head has to find in a document, in the form in which arcs are drawn.

    >>> mentions = tuple(Mention(i, i + 1, i, c, "proper") for i, c in enumerate("aba"))
    >>> antecedent_links(CorefDocument("d", ("Ann", "Mary", "Ann"), ((0, 3),), mentions)).governors
    (-1, -1, 0)
    """
    n = len(document.words)
    governors, kinds, others = [-1] * n, ["_"] * n, [()] * n
    for mention, before in anaphors(document):
        same = [m for m in before if m.cluster == mention.cluster]
        found = nearest(document, mention, same).head
        governors[mention.head], kinds[mention.head] = found, mention.kind
        others[mention.head] = tuple(sorted({m.head for m in same} - {found}))
    return AntecedentLinks(document.words, tuple(governors), tuple(kinds), tuple(others))


def named_words(document: CorefDocument, attention) -> np.ndarray:
    """The words that every head names in a document: int array of shape (candidates, layer, head, word), -1 where none is asked for.

    Parameters
    ----------
    document : CorefDocument
    attention : Attention
        At word level, over the words of the document.

    Raises
    ------
    ValueError
        If there are not as many words as in the document.
    """
    words = np.flatnonzero(~np.array(attention.special))
    if len(words) != len(document.words) or attention.level != "word":
        raise ValueError(
            f"attention at word level over the document's {len(document.words)} words is needed; got {len(words)} at "
            f"{attention.level} level."
        )
    weights = attention.weights[:, :, words][..., words]
    named = np.full((len(CANDIDATES), *weights.shape[:2], len(words)), -1)
    for mention, before in anaphors(document):
        found = _named_words(weights[:, :, mention.head], mention, before)
        for i, name in enumerate(CANDIDATES):
            named[i, :, :, mention.head] = found[name]
    return named


# --- the table -----------------------------------------------------------------------------------------
@dataclass(frozen=True)
class AntecedentRow:
    """One predictor on one kind of mention: accuracy with its 95 % interval, n, and which heads the halves chose."""

    predictor: str
    kind: str
    accuracy: float
    low: float
    high: float
    n: int
    heads: tuple[str, ...] = ()


def antecedent_table(
    found: Antecedents, *, candidates: str = "mentions", one_head: bool = False, seed: int = 0
) -> list[AntecedentRow]:
    """Heads and rules, for all mentions and by kind.

    The best head is chosen on one half of the documents and scored on the other, both ways; the rules need no choice. Intervals
    are bootstrapped over documents.

    Parameters
    ----------
    found : Antecedents
    candidates : str
        One of `CANDIDATES`.
    one_head : bool
        Take the head that is best for all mentions for each kind too, as Table 2 of Clark et al. shows one head; by default
        each kind chooses its own.
    seed : int

    Raises
    ------
    ValueError
        If fewer than two documents hold anaphors.
    """
    documents, n_documents = _numbered_documents(found, candidates)
    kinds = np.array(found.kinds)
    rows = []
    for kind in ("all", *KINDS):
        of_kind = np.ones(len(kinds), bool) if kind == "all" else kinds == kind
        if not of_kind.any():
            continue
        answers = {name: (right, ()) for name, right in found.rules.items()}
        chooses = np.ones(len(kinds), bool) if one_head else of_kind
        answers[f"best head, {candidates}"] = _best_head(found.heads[candidates], documents % 2, chooses)
        for name, (right, labels) in answers.items():
            low, high = unit_interval(right[of_kind], documents[of_kind], n_documents, seed=seed)
            accuracy, n = float(right[of_kind].mean()), int(of_kind.sum())
            rows.append(AntecedentRow(name, kind, accuracy, low, high, n, labels))
    return rows


@dataclass(frozen=True)
class AntecedentGain:
    """How much the best head finds more than a rule: a difference of accuracies with its 95 % interval over documents."""

    rule: str
    kind: str
    gain: float
    low: float
    high: float
    n: int


def antecedent_gains(found: Antecedents, *, seed: int = 0) -> list[AntecedentGain]:
    """Best head minus each rule on the same mentions, with mentions as candidates, for all mentions and by kind; positive where the head finds more.

    The head is chosen as in ``antecedent_table(..., one_head=True)``. Each resample draws whole documents, for head and rule alike, so that
    hard documents weigh on both.
    """
    documents, n_documents = _numbered_documents(found, "mentions")
    kinds = np.array(found.kinds)
    ours, _ = _best_head(found.heads["mentions"], documents % 2, np.ones(len(kinds), bool))
    gains = []
    for kind in ("all", *KINDS):
        of_kind = (kinds == kind) | (kind == "all")
        for rule, theirs in found.rules.items():
            if of_kind.any():
                difference = ours[of_kind].astype(float) - theirs[of_kind]
                low, high = unit_interval(
                    difference, documents[of_kind], n_documents, seed=seed, within=(-1, 1)
                )
                gains.append(AntecedentGain(rule, kind, float(difference.mean()), low, high, len(difference)))
    return gains


def _numbered_documents(found: Antecedents, candidates: str) -> tuple[np.ndarray, int]:
    """Documents of the anaphors, counted from 0 without gaps, and how many there are."""
    if candidates not in CANDIDATES:
        raise ValueError(f"candidates must be one of {', '.join(CANDIDATES)}; got {candidates!r}.")
    named, numbers = np.unique(found.documents, return_inverse=True)
    if len(named) < 2:
        raise ValueError(
            f"halves need two documents with anaphors; got {len(named)}. Was one long document given as one?"
        )
    return numbers, len(named)


def _best_head(right: np.ndarray, half: np.ndarray, of_kind: np.ndarray):
    """Answers of the head chosen on the other half, on mentions of a kind if it has any there, and the heads' names."""
    choice = fair_choice(right, half, both_ways=True, choosing=of_kind)
    return choice.reported, tuple(head_label(*head) for head in choice.chosen)
