"""One pronoun, two candidates: GAP and the minimal pairs of Winogender and WinoBias, put to every head.

A head answers with the candidate whose words its pronoun looks at more (pieces and words of a candidate added up; the
other direction, candidate to pronoun, is offered too). The rules it must beat know only places: the nearer candidate, the
first, the second.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ._paths import data_path
from .corpora import open_text
from .intervals import unit_interval
from .labels import head_label

__all__ = [
    "PRONOUN_BASELINES",
    "PronounCase",
    "PronounScore",
    "ask_heads",
    "both_right",
    "load_minimal_pairs",
    "pronoun_table",
    "read_pronoun_cases",
]

DIRECTIONS = ("pronoun looks at candidate", "candidate looks at pronoun")
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True)
class PronounCase:
    """A text, its pronoun and two candidates, as word positions.

    ``answer`` is 0 or 1, the candidate the pronoun refers to. ``pair`` names the minimal pair the case belongs to (the same sentence
    with another pronoun or another stereotype), and is what the halves and the bootstrap go by; ``group`` is what results are told apart by.
    """

    id: str
    words: tuple[str, ...]
    pronoun: int
    candidates: tuple[tuple[int, int], tuple[int, int]]
    answer: int
    pair: str
    group: str = ""


@dataclass(frozen=True)
class PronounScore:
    """Accuracy of one predictor (chance is .5), its 95 % interval over pairs, n, and the heads chosen."""

    predictor: str
    group: str
    accuracy: float
    low: float
    high: float
    n: int
    heads: tuple[str, ...] = ()


def read_pronoun_cases(path: str | Path, *, limit: int | None = None) -> tuple[list[PronounCase], int]:
    """Cases of a JSONL file, and how many lines were left out because neither candidate is the answer.

    Three kinds of object are read. GAP: ``text``, ``pronoun``, ``a``, ``b``, ``a_coref``, ``b_coref``. Winogender: ``text``, ``pronoun``,
    ``occupation``, ``participant``, ``answer``. WinoBias: ``text``, ``mention`` (the antecedent), ``pronoun``; the wrong
    candidate is the other occupation of the sentence, one that is an antecedent elsewhere in the file. Spans are characters, [start, end).

    Raises
    ------
    ValueError
        With file and line, if a line is none of these or a span names no word.
    """
    items = []
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    items.append((f"{path}, line {number}", json.loads(line)))
                except ValueError as error:
                    raise ValueError(f"{path}, line {number}: not JSON: {error}.") from None
    occupations = _occupations(items)
    cases, left_out = [], 0
    for where, item in items:
        case = _case(item, where, occupations)
        if case is None:
            left_out += 1
        else:
            cases.append(case)
    if not cases:
        raise ValueError(f"{path} holds no pronoun with two candidates of which one is right.")
    return cases[:limit], left_out


def load_minimal_pairs() -> list[PronounCase]:
    """The shipped minimal pairs: ten sentences, two endings that turn the answer round, each with *she* and *he*."""
    return read_pronoun_cases(data_path("texts", "minimal_pairs.jsonl"))[0]


def _occupations(items) -> set[str]:
    """WinoBias names only the right candidate: the wrong one is another of the occupations that the file names somewhere."""
    return {
        _bare(item["text"][slice(*item["mention"])])
        for _, item in items
        if "mention" in item and "text" in item
    }


def _case(item, where, occupations) -> PronounCase | None:
    try:
        text = item["text"]
        if "a_coref" in item:
            spans, answers = (item["a"], item["b"]), (item["a_coref"], item["b_coref"])
            pair, group = str(item["id"]), str(item.get("gender", ""))
        elif "answer" in item:
            spans = (item["occupation"], item["participant"])
            answers = tuple(item["answer"] == name for name in ("occupation", "participant"))
            pair, group = ".".join(str(item["id"]).split(".")[:2]), str(item.get("gender", ""))
        elif "mention" in item:
            other = _other_person(item, occupations)
            if other is None:
                return None
            start, end = item["mention"]  # without its article, like the other one
            spans, answers = ((end - len(_bare(text[start:end])), end), other), (True, False)
            pair = re.sub(r"^(pro|anti)-", "", str(item["id"]))
            group = f"type {item.get('type', '')} {item.get('stereotype', '')}".strip()
        else:
            raise KeyError("a_coref, answer or mention")
        pronoun = item["pronoun"]
    except (KeyError, TypeError) as error:
        raise ValueError(f"{where}: expected GAP, Winogender or WinoBias fields; missing {error}.") from None
    if sum(map(bool, answers)) != 1:
        return None
    found = list(_WORD.finditer(text))
    places = [_words_of(found, span, where, text) for span in (pronoun, *spans)]
    order = sorted(
        (0, 1), key=lambda i: places[1 + i]
    )  # first candidate first, so that no order gives the answer away
    candidates = tuple(places[1 + i] for i in order)
    answer = [bool(answers[i]) for i in order].index(True)
    words = tuple(match.group() for match in found)
    return PronounCase(str(item["id"]), words, places[0][0], candidates, answer, pair, group)


def _other_person(item, occupations: set[str]) -> tuple[int, int] | None:
    """Where the sentence names another occupation than its antecedent."""
    own = _bare(item["text"][slice(*item["mention"])])
    for match in re.finditer(r"\b(?:the|a|an) (\w+(?: \w+)?)", item["text"].lower()):
        for name in (match.group(1), match.group(1).partition(" ")[0]):
            if name in occupations and name != own:
                return match.start(1), match.start(1) + len(name)
    return None


def _bare(phrase: str) -> str:
    return re.sub(r"^(the|a|an) ", "", phrase.lower())


def _words_of(found, span, where, text) -> tuple[int, int]:
    start, end = (int(x) for x in span)
    inside = [i for i, match in enumerate(found) if match.start() < end and match.end() > start]
    if not inside:
        raise ValueError(f"{where}: the span {start} to {end} names no word of {text[:60]!r}.")
    return inside[0], inside[-1] + 1


# --- predictors ----------------------------------------------------------------------------------------


def _nearer(case: PronounCase) -> int:
    distances = [
        min(abs(case.pronoun - start), abs(case.pronoun - (end - 1))) for start, end in case.candidates
    ]
    return int(distances[1] < distances[0])


PRONOUN_BASELINES: dict[str, Callable[[PronounCase], int]] = {
    "nearer": _nearer,
    "first": lambda case: 0,
    "second": lambda case: 1,
}


def ask_heads(
    encoder,
    cases: Sequence[PronounCase],
    *,
    batch_size: int = 16,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> tuple[np.ndarray, list[PronounCase]]:
    """Whether each head answers each case rightly.

    Returns
    -------
    right : bool array of shape (case, direction, layer, head)
        Directions as in ``DIRECTIONS``.
    cases : list of PronounCase
        Those the model can read whole, in order.
    """
    from .attention import check_reading, iter_attention

    cases = [case for case in cases if not check_reading(encoder, case.words).obstacle]
    if not cases:
        raise ValueError(
            f"{encoder.name} can read none of the texts whole (at most {encoder.max_tokens} wordpieces)."
        )
    stream = iter_attention(encoder, (list(case.words) for case in cases), batch_size=batch_size)
    right = []
    for case, attention in zip(cases, stream if progress is None else progress(stream), strict=True):
        merged = attention.to_words()
        words = np.flatnonzero(~np.array(merged.special))
        pronoun = words[case.pronoun]
        looks = [merged.weights[:, :, pronoun, words[a:b]].sum(-1) for a, b in case.candidates]
        looked = [merged.weights[:, :, words[a:b], pronoun].mean(-1) for a, b in case.candidates]
        right.append([(second > first) == bool(case.answer) for first, second in (looks, looked)])
    return np.array(right), cases


def pronoun_table(right: np.ndarray, cases: Sequence[PronounCase], *, seed: int = 0) -> list[PronounScore]:
    """The best head (chosen on one half of the pairs, scored on the other, both ways) beside the rules, for all and by group.

    Halves are drawn by lot: in files of minimal pairs every second sentence often has the first candidate for its answer, so
    that halves by turns would be two different tasks.
    """
    pairs = {pair: i for i, pair in enumerate(dict.fromkeys(case.pair for case in cases))}
    if len(pairs) < 4:
        raise ValueError(f"halves need four pairs or more; got {len(pairs)}.")
    unit = np.array([pairs[case.pair] for case in cases])
    answers = {
        name: np.array([rule(c) == c.answer for c in cases]) for name, rule in PRONOUN_BASELINES.items()
    }
    best, labels = np.zeros(len(cases), bool), []
    half = (np.random.default_rng(seed).permutation(len(pairs)) % 2)[unit]
    for reporting in (1, 0):
        rate = right[half != reporting].mean(axis=0)
        direction, layer, head = (int(i) for i in np.unravel_index(rate.argmax(), rate.shape))
        chosen = half == reporting
        best[chosen] = right[chosen, direction, layer, head]
        labels.append(f"{head_label(layer, head)}, {DIRECTIONS[direction]}")
    answers["best head"] = best
    rows = []
    groups = np.array([case.group for case in cases])
    for group in ["all", *sorted({case.group for case in cases} - {""})]:
        of_group = np.ones(len(cases), bool) if group == "all" else groups == group
        for name, correct in answers.items():
            low, high = unit_interval(correct[of_group], unit[of_group], len(pairs), seed=seed)
            heads = tuple(labels) if name == "best head" else ()
            accuracy, n = float(correct[of_group].mean()), int(of_group.sum())
            rows.append(PronounScore(name, group, accuracy, low, high, n, heads))
    return rows


def both_right(right: np.ndarray, cases: Sequence[PronounCase]) -> tuple[np.ndarray, int]:
    """How often both members of a minimal pair are right, and how many pairs there are.

    Two cases are a pair if they share ``pair`` and ``group`` and have different answers. Who always names the same place is right in
    exactly one of them, and scores 0 here; who guesses, a quarter.

    Parameters
    ----------
    right : bool array of shape (case, ...)
        From `ask_heads`, or a rule's answers.
    cases : sequence of PronounCase

    Returns
    -------
    share : ndarray of shape (...)
    n : int

    Raises
    ------
    ValueError
        If no two cases are such a pair.
    """
    right, members = np.asarray(right), {}
    if len(right) != len(cases):
        raise ValueError(
            f"one row of answers for each of the {len(cases)} cases is needed; got {len(right)}."
        )
    for i, case in enumerate(cases):
        members.setdefault((case.pair, case.group), []).append(i)
    pairs = [m for m in members.values() if len(m) == 2 and cases[m[0]].answer != cases[m[1]].answer]
    if not pairs:
        raise ValueError(
            "no two cases share pair and group and have different answers: there are no minimal pairs."
        )
    return np.mean([right[pair].all(axis=0) for pair in pairs], axis=0), len(pairs)
