"""Pronoun cases: GAP, Winogender, WinoBias, and the shipped minimal pairs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bertlook_teach.disk import data_path

from .texts import from_json, json_lines, json_span, open_text

_GAP_SPANS = {"pronoun": "Pronoun", "a": "A", "b": "B"}
_GAP_COLUMNS = (
    "ID",
    "Text",
    "A-coref",
    "B-coref",
    *_GAP_SPANS.values(),
    *(f"{name}-offset" for name in _GAP_SPANS.values()),
)

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
    """Cases of a JSONL file, or of GAP's own TSV, and how many lines were left out because neither candidate is the answer.

    Three kinds of object are read, each with an ``id``. GAP: ``text``, ``pronoun``, ``a``, ``b``, ``a_coref``, ``b_coref``. Winogender: ``text``, ``pronoun``,
    ``occupation``, ``participant``, ``answer``. WinoBias: ``text``, ``mention`` (the antecedent), ``pronoun``; the wrong
    candidate is the other occupation of the sentence, one that is an antecedent elsewhere in the file. Spans are characters, [start, end).

    Raises
    ------
    ValueError
        With file and line, if a line is none of these or a span names no word.
    """
    items = list(_gap_rows(path) if is_gap_table(path) else _json_rows(path))
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


def is_gap_table(path: str | Path) -> bool:
    """Whether a file is GAP as it is published: a table with tabs, and its columns."""
    if not str(path).removesuffix(".gz").endswith(".tsv"):
        return False
    with open_text(path) as file:
        return set(_GAP_COLUMNS) <= set(file.readline().rstrip("\r\n").split("\t"))


def _json_rows(path: str | Path) -> Iterator[tuple[str, object]]:
    for _, where, line in json_lines(path):
        try:
            yield where, from_json(line)
        except ValueError as error:
            raise ValueError(f"{where}: not JSON: {error}.") from None


def _gap_rows(path: str | Path) -> Iterator[tuple[str, dict]]:
    with open_text(path) as file:
        names = next(file).rstrip("\r\n").split("\t")
        for number, line in enumerate(file, 2):
            cells, where = line.rstrip("\r\n").split("\t"), f"{path}, line {number}"
            row = dict(zip(names, cells))
            spans = {
                key: (row.get(name, ""), row.get(f"{name}-offset", "")) for key, name in _GAP_SPANS.items()
            }
            if len(cells) != len(names) or not all(at.isdigit() for _, at in spans.values()):
                raise ValueError(
                    f"{where}: expected {len(names)} columns, and offsets in whole numbers; got {line!r:.80}."
                )
            places = {key: [int(at), int(at) + len(word)] for key, (word, at) in spans.items()}
            yield (
                where,
                {
                    "id": row["ID"],
                    "text": row["Text"],
                    "a_coref": row["A-coref"],
                    "b_coref": row["B-coref"],
                    **places,
                },
            )


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
    answers = tuple(
        {"TRUE": True, "FALSE": False}.get(str(one).upper(), one) for one in answers
    )  # GAP's own spelling
    if not all(isinstance(one, bool) for one in answers):
        raise ValueError(f"{where}: whether a candidate is right is true or false; got {answers!r:.60}.")
    if sum(answers) != 1:
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
