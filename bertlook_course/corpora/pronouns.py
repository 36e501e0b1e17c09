"""Pronoun cases: GAP, Winogender, WinoBias, and the shipped minimal pairs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from bertlook_teach.disk import data_path

from .texts import from_json, json_lines, json_span

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
    for _, where, line in json_lines(path):
        try:
            items.append((where, from_json(line)))
        except ValueError as error:
            raise ValueError(f"{where}: not JSON: {error}.") from None
    for where, item in items:
        if not isinstance(item, dict) or not isinstance(item.get("text"), str):
            raise ValueError(f"{where}: expected an object with a text; got {item!r:.80}.")  # noqa: TRY004
        if "mention" in item:
            json_span(item["mention"], len(item["text"]), where)
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
    return {_bare(item["text"][slice(*item["mention"])]) for _, item in items if "mention" in item}


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
    start, end = json_span(span, len(text), where)
    inside = [i for i, match in enumerate(found) if match.start() < end and match.end() > start]
    if not inside:
        raise ValueError(f"{where}: the span {start} to {end} names no word of {text[:60]!r}.")
    return inside[0], inside[-1] + 1
