"""Heads that find antecedents: coreference data, antecedent selection by heads, and the rules they must beat.

Clark et al. (2019), section 4.3: of the mentions that refer to something mentioned before, how many look most at an
earlier mention of the same thing? A head and a rule are both *predictors*: they answer with one earlier word, and meet the
same judge. The paper does not say among which words a head chooses, nor how the head word of a mention is found, and its code
was never released; both are stated here (`CANDIDATES`, `head_word`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from .attention import check_reading
from .corpora import ON_ERROR, iter_conllu, open_text
from .intervals import unit_interval
from .labels import head_label

__all__ = [
    "BASELINES",
    "CANDIDATES",
    "KINDS",
    "AntecedentGain",
    "AntecedentLinks",
    "Antecedents",
    "CorefDocument",
    "Mention",
    "anaphors",
    "antecedent_gains",
    "antecedent_links",
    "antecedent_table",
    "coreference_documents",
    "cut_documents",
    "excerpts",
    "find_antecedents",
    "head_word",
    "named_words",
    "read_coreference",
]

CANDIDATES = ("mentions", "open")
KINDS = ("pronoun", "proper", "nominal")

# number, gender, person of the pronouns; an empty string agrees with everything
_PRONOUNS = {
    **dict.fromkeys(("i", "me", "my", "mine", "myself"), ("singular", "person", "1")),
    **dict.fromkeys(("we", "us", "our", "ours", "ourselves"), ("plural", "person", "1")),
    **dict.fromkeys(("you", "your", "yours", "yourself", "yourselves"), ("", "person", "2")),
    **dict.fromkeys(("he", "him", "his", "himself"), ("singular", "masculine", "3")),
    **dict.fromkeys(("she", "her", "hers", "herself"), ("singular", "feminine", "3")),
    **dict.fromkeys(("it", "its", "itself"), ("singular", "thing", "3")),
    **dict.fromkeys(("they", "them", "their", "theirs", "themselves"), ("", "", "3")),
    **dict.fromkeys(("this", "that"), ("singular", "", "3")),
    **dict.fromkeys(("these", "those"), ("plural", "", "3")),
    **dict.fromkeys(("who", "whom", "whose", "which", "one", "someone", "somebody", "everyone", "everybody",
                     "nobody", "anyone", "anybody", "something", "everything", "anything", "nothing", "ones"), ("", "", "3")),
}  # fmt: skip
_FEMININE = {"woman", "girl", "mother", "sister", "daughter", "wife", "aunt", "queen", "lady", "grandmother", "mrs", "mrs.",
             "miss", "ms", "ms.", "madam", "mum", "mom", "niece", "granddaughter", "widow", "princess", "actress"}  # fmt: skip
_MASCULINE = {"man", "boy", "father", "brother", "son", "husband", "uncle", "king", "gentleman", "grandfather", "mr", "mr.",
              "sir", "dad", "nephew", "grandson", "widower", "prince", "actor", "lord"}  # fmt: skip
_PERSON_TYPES = {"person", "per"}


@dataclass(frozen=True)
class Mention:
    """A phrase that refers to something.

    ``start`` and ``end`` are words of the document (half-open), ``head`` is its head word, ``cluster`` names what it refers
    to, ``kind`` is one of `KINDS`. ``number``, ``gender`` and ``person`` are what the rules compare; "" is unknown.
    """

    start: int
    end: int
    head: int
    cluster: str
    kind: str
    number: str = ""
    gender: str = ""
    person: str = "3"


@dataclass(frozen=True)
class CorefDocument:
    """A text with its mentions, in order of their beginning (the longer first)."""

    doc_id: str
    words: tuple[str, ...]
    sentences: tuple[tuple[int, int], ...]
    mentions: tuple[Mention, ...] = field(default=())

    def text(self, mention: Mention) -> str:
        return " ".join(self.words[mention.start : mention.end])


# --- reading -------------------------------------------------------------------------------------------


def read_coreference(
    path: str | Path, *, limit: int | None = None, on_error: str = "stop", skipped: list[str] | None = None
) -> list[CorefDocument]:
    """Documents with mentions, from CoNLL-U with ``Entity=`` (as in GUM) or from JSONL.

    A JSONL line holds ``doc_id``, ``tokens``, ``sentences`` (spans of tokens) and ``mentions`` (objects with ``span`` and
    ``cluster``; ``head``, ``type`` and ``pronoun`` are used where they are there). Spans are half-open, counted from 0.

    Parameters
    ----------
    path : path
    limit : int, optional
        Use only the first documents.
    on_error : {"stop", "skip"}
        What to do with a broken sentence (CoNLL-U) or line (JSONL).
    skipped : list, optional
        Takes the message of each one left out.

    Raises
    ------
    ValueError
        With file and place, if something is broken, or if no document has two mentions of one thing.
    """
    if on_error not in ON_ERROR:
        raise ValueError(f"on_error must be 'stop' or 'skip'; got {on_error!r}.")
    path, left_out = Path(path), [] if skipped is None else skipped

    def broken(error: ValueError) -> None:
        if on_error == "stop":
            raise error
        left_out.append(str(error))

    name = path.name.removesuffix(".gz")
    if name.endswith((".jsonl", ".json")):
        documents = _read_jsonl(path, broken)
    else:
        documents = _read_entities(path, broken, on_error, left_out)
    documents = documents[:limit]
    if not any(_has_link(document) for document in documents):
        raise ValueError(
            f"{path} holds no two mentions of one thing. Expected CoNLL-U with Entity= in the last column, or JSONL with "
            "clustered mentions; `bertlook coref --help` says how they look."
        )
    return documents


def _has_link(document: CorefDocument) -> bool:
    clusters = [mention.cluster for mention in document.mentions]
    return len(set(clusters)) < len(clusters)


def _read_entities(path: Path, broken: Callable, on_error: str, left_out: list[str]) -> list[CorefDocument]:
    sentences_left_out: list = []
    sentences = list(iter_conllu(path, on_error=on_error, skipped=sentences_left_out))
    left_out += map(str, sentences_left_out)
    return _documents(sentences, _entity_fields(path), f"{path}, ", broken)


def coreference_documents(sentences: Iterable) -> list[CorefDocument]:
    """Documents of a treebank that is read already: sentences with ``Entity=``, grouped by their ``doc_id``.

    The names of an Entity's parts stand in the file and not in its sentences; their usual order is assumed, cluster and kind of
    thing first. Head words come from the tree.

    Parameters
    ----------
    sentences : iterable of TreebankSentence
        For example `bertlook_teach.corpora.load_treebank()`.

    Raises
    ------
    ValueError
        If brackets do not match; naming the sentence.
    """

    def broken(error: ValueError) -> None:
        raise error

    return _documents(sentences, ["GRP", "etype", "minspan"], "", broken)


def _documents(sentences, fields: list[str], place: str, broken: Callable) -> list[CorefDocument]:
    by_document: dict[str, list] = {}
    for sentence in sentences:
        by_document.setdefault(sentence.doc_id, []).append(sentence)
    documents = []
    for doc_id, members in by_document.items():
        words, spans, mentions = [], [], []
        for sentence in members:
            start = len(words)
            try:
                found = list(_entity_spans(sentence, fields, f"{place}{sentence.sent_id or doc_id}"))
            except ValueError as error:
                broken(error)
                continue
            for first, last, values in found:
                head = _head_in_tree(sentence.governors, first, last, values.get("minspan", ""))
                mentions.append(
                    _mention(
                        start + first, start + last, start + head, values["GRP"], sentence.words[first:last],
                        head - first, sentence.upos[head], sentence.xpos[head], values.get("etype", ""),
                    )
                )  # fmt: skip
            words += sentence.words
            spans.append((start, len(words)))
        documents.append(CorefDocument(doc_id, tuple(words), tuple(spans), _in_order(mentions)))
    return documents


def _entity_fields(path: Path) -> list[str]:
    """Names of the parts of an Entity value, from the file's own header; the usual order where there is none."""
    with open_text(path) as file:
        for line in file:
            if match := re.match(r"#\s*global\.Entity\s*=\s*(\S+)", line):
                # The cluster is called GRP in GUM and eid in CorefUD.
                fields = ["GRP" if name == "eid" else name for name in match.group(1).split("-")]
                if "GRP" not in fields:
                    raise ValueError(
                        f"{path}: global.Entity = {match.group(1)} names no cluster; expected GRP (GUM) or eid (CorefUD)."
                    )
                return fields
    return ["GRP", "etype"]


_BRACKET = re.compile(r"\(([^()]+)\)|\(([^()]+)|([^()]+)\)")


def _entity_spans(sentence, fields, where):
    """(first, last + 1, values) of each mention of a sentence; brackets close by name, so they may nest and cross."""
    opened: dict[str, list] = {}
    found = []
    for word, misc in enumerate(sentence.misc):
        value = misc.get("Entity")
        if not value:
            continue
        for single, begin, end in _BRACKET.findall(value):
            if single or begin:
                parts = (single or begin).split("-", len(fields) - 1)
                values = dict(zip(fields, parts))
                group = values["GRP"] = values["GRP"].partition("[")[0]
                if single:
                    found.append((word, word + 1, values))
                else:
                    opened.setdefault(group, []).append((word, values))
            else:
                group = end.partition("-")[0].partition("[")[0]
                if not opened.get(group):
                    raise ValueError(
                        f"{where}, word {word + 1}: Entity={value} closes {group!r}, which is not open."
                    )
                first, values = opened[group].pop()
                found.append((first, word + 1, values))
    left = sorted(group for group, stack in opened.items() if stack)
    if left:
        raise ValueError(
            f"{where}: the mentions {', '.join(left)} are opened and not closed in their sentence."
        )
    return found


def _head_in_tree(governors: Sequence[int], first: int, last: int, minspan: str) -> int:
    """The word of the span whose governor lies outside it; of several, the first within the minimal span."""
    outside = [i for i in range(first, last) if not first <= governors[i] < last]
    if match := re.match(r"(\d+)(?:-(\d+))?", minspan):
        low, high = int(match[1]), int(match[2] or match[1])
        within = [i for i in outside if low <= i - first + 1 <= high]
        outside = within or outside
    return outside[0]


def _read_jsonl(path: Path, broken: Callable) -> list[CorefDocument]:
    documents = []
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                try:
                    documents.append(_json_document(line, f"{path}, line {number}", number))
                except ValueError as error:
                    broken(error)
    return documents


def _json_document(line: str, where: str, number: int) -> CorefDocument:
    try:
        item = json.loads(line)
        words, raw = tuple(item["tokens"]), list(item["mentions"])
        sentences = tuple((int(a), int(b)) for a, b in item.get("sentences") or [(0, len(words))])
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{where}: expected an object with doc_id, tokens, sentences and mentions; {type(error).__name__}: {error}."
        ) from None
    mentions = [_json_mention(m, words, item.get("upos"), where) for m in raw]
    return CorefDocument(str(item.get("doc_id", number)), words, sentences, _in_order(mentions))


def _json_mention(m, words, upos, where) -> Mention:
    try:
        start, end = (int(x) for x in m["span"])
        cluster = str(m["cluster"])
    except (KeyError, TypeError, ValueError):
        raise ValueError(f"{where}: a mention needs span [start, end) and cluster; got {m}.") from None
    if not 0 <= start < end <= len(words):
        raise ValueError(f"{where}: span {start} to {end} is not within the {len(words)} tokens.")
    span = words[start:end]
    head = m.get("head")
    if isinstance(head, list):  # GUM names each word of a minimal span
        head = head[0] if head else None
    head = start + head_word(span) if head is None else int(head)
    if not start <= head < end:
        raise ValueError(f"{where}: head {head} is not within the span {start} to {end}.")
    tag = upos[head] if upos else ("PRON" if m.get("pronoun") else "")
    return _mention(start, end, head, cluster, span, head - start, tag, "", str(m.get("type", "")))


def head_word(span: Sequence[str]) -> int:
    """Index of the head word of an English noun phrase without a tree: the last word before "of", a comma, "who" ...

    >>> head_word(["the", "old", "keeper", "of", "the", "light"])
    2
    """
    stops = {"of", "in", "on", "at", "for", "with", "from", "to", "by", "who", "which", "that", "whose", ",", "(", "and", "'s", "as"}  # fmt: skip
    for i, word in enumerate(span):
        if i and word.lower() in stops:
            if word == "'s" and i + 1 < len(span):  # "the keeper 's lamp": the owner is not the head
                return i + 1 + head_word(span[i + 1 :])
            return i - 1
    return len(span) - 1


def _mention(start, end, head, cluster, span, head_at, upos, xpos, etype) -> Mention:
    lower = [word.lower() for word in span]
    word = lower[head_at]
    if word in _PRONOUNS and (upos in ("PRON", "DET") or (not upos and end - start == 1)):
        return Mention(start, end, head, cluster, "pronoun", *_PRONOUNS[word])
    proper = upos == "PROPN" or (not upos and span[head_at][:1].isupper() and (start > 0 or end - start > 1))
    kind = "pronoun" if upos == "PRON" else "proper" if proper else "nominal"
    number = (
        "plural"
        if xpos.endswith("S") and xpos.startswith("NN")
        else "singular"
        if xpos.startswith("NN")
        else ""
    )
    if not xpos and kind == "nominal":
        number = "plural" if word.endswith("s") and not word.endswith(("ss", "us", "is")) else "singular"
    gender = "feminine" if _FEMININE & set(lower) else "masculine" if _MASCULINE & set(lower) else ""
    if not gender and etype:
        gender = "person" if etype.lower() in _PERSON_TYPES else "thing"
    return Mention(start, end, head, cluster, kind, number, gender)


def _in_order(mentions: Iterable[Mention]) -> tuple[Mention, ...]:
    return tuple(sorted(mentions, key=lambda m: (m.start, -m.end)))


# --- inputs the model can read whole -------------------------------------------------------------------


def cut_documents(
    encoder, documents: Iterable[CorefDocument], *, first_only: bool = False
) -> tuple[list[CorefDocument], int]:
    """Each document as consecutive runs of whole sentences that fit the model, and how many sentences the model cannot read.

    Clark et al. cut each document to its first 128 tokens (``first_only=True``); here every part is used by default. A mention
    whose antecedent lies in an earlier part has none in its own.
    """
    pieces, unread = [], 0
    for document in documents:
        run: list[tuple[int, int]] = []
        size, parts = 0, []
        for start, end in document.sentences:
            n_pieces, obstacle = check_reading(encoder, document.words[start:end])
            length = n_pieces - 2  # without [CLS] and [SEP], which a run of sentences has once
            if obstacle:
                unread += 1
                parts, run, size = parts + [run], [], 0
                continue
            if size + length > encoder.max_tokens - 2:
                parts, run, size = parts + [run], [], 0
            run.append((start, end))
            size += length
        parts = [part for part in [*parts, run] if part]
        pieces += [_part(document, part) for part in parts[: 1 if first_only else None]]
    return pieces, unread


def _part(document: CorefDocument, sentences) -> CorefDocument:
    first, last = sentences[0][0], sentences[-1][1]
    mentions = tuple(
        replace(m, start=m.start - first, end=m.end - first, head=m.head - first)
        for m in document.mentions
        if first <= m.start and m.end <= last
    )
    moved = tuple((a - first, b - first) for a, b in sentences)
    return CorefDocument(document.doc_id, document.words[first:last], moved, mentions)


def anaphors(document: CorefDocument) -> list[tuple[Mention, list[Mention]]]:
    """Each mention that refers back, with all the mentions before it.

    A mention that shares its head word with an earlier one of the same thing (nested, "[her] [mother]" apart) is no anaphor
    of it: the pair would be one and the same word.
    """
    found = []
    for i, mention in enumerate(document.mentions):
        before = [m for m in document.mentions[:i] if m.head != mention.head]
        if any(m.cluster == mention.cluster for m in before):
            found.append((mention, before))
    return found


def excerpts(
    documents: Iterable[CorefDocument], *, most_words: int, most_letters: int
) -> list[CorefDocument]:
    """One or two neighbouring sentences of each document, short enough for a slide, with an anaphor: of each document the first.

    A mention whose antecedent lies outside the excerpt has none in it.
    """
    found = []
    for document in documents:
        spans = [
            document.sentences[i : i + n] for n in (2, 1) for i in range(len(document.sentences) + 1 - n)
        ]
        for span in spans:
            words = document.words[span[0][0] : span[-1][1]]
            if len(words) <= most_words and sum(map(len, words)) <= most_letters:
                part = _part(document, span)
                if anaphors(part):
                    found.append(part)
                    break
    return found


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
class Antecedents:
    """Right and wrong answers for every anaphor of a corpus.

    Attributes
    ----------
    heads : dict of candidates -> bool ndarray of shape (anaphor, layer, head)
    rules : dict of baseline -> bool ndarray of shape (anaphor,)
    kinds : tuple of str, one of `KINDS` per anaphor
    documents : int ndarray of shape (anaphor,)
        The document each anaphor stands in; documents are the unit of the halves and of the bootstrap.
    n_documents, n_unread : int
        Documents (before cutting), and sentences left out because the model cannot read them whole.
    """

    heads: dict[str, np.ndarray]
    rules: dict[str, np.ndarray]
    kinds: tuple[str, ...]
    documents: np.ndarray
    n_documents: int
    n_unread: int

    def __len__(self) -> int:
        return len(self.kinds)


def find_antecedents(
    encoder,
    documents: Sequence[CorefDocument],
    *,
    first_only: bool = False,
    batch_size: int = 8,
    progress: Callable[[Iterable], Iterable] | None = None,
) -> Antecedents:
    """Ask every head, and every rule, for the antecedent of every anaphor.

    A head answers with the word that the anaphor's head word looks at most: among the head words of the mentions before it
    (``"mentions"``, what the rules choose from too), or among all other words of the input (``"open"``). It is right if that word is the head
    word of an earlier mention of the same thing. Pieces of the anaphor are averaged, pieces of a candidate added up.
    """
    from .attention import iter_attention

    parts, unread = cut_documents(encoder, documents, first_only=first_only)
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


def antecedent_gains(
    found: Antecedents, *, candidates: str = "mentions", seed: int = 0
) -> list[AntecedentGain]:
    """Best head minus each rule on the same mentions, for all mentions and by kind; positive where the head finds more.

    The head is chosen as in ``antecedent_table(..., one_head=True)``. Each resample draws whole documents, for head and rule alike, so that
    hard documents weigh on both.
    """
    documents, n_documents = _numbered_documents(found, candidates)
    kinds = np.array(found.kinds)
    ours, _ = _best_head(found.heads[candidates], documents % 2, np.ones(len(kinds), bool))
    gains = []
    for kind in ("all", *KINDS):
        of_kind = (kinds == kind) | (kind == "all")
        for rule, theirs in found.rules.items():
            if of_kind.any():
                difference = ours[of_kind].astype(float) - theirs[of_kind]
                low, high = unit_interval(difference, documents[of_kind], n_documents, seed=seed)
                gains.append(AntecedentGain(rule, kind, float(difference.mean()), low, high, len(difference)))
    return gains


def _numbered_documents(found: Antecedents, candidates: str) -> tuple[np.ndarray, int]:
    """Documents of the anaphors, counted from 0 without gaps, and how many there are."""
    if candidates not in CANDIDATES:
        raise ValueError(f"candidates must be one of {', '.join(CANDIDATES)}; got {candidates!r}.")
    order = {document: i for i, document in enumerate(np.unique(found.documents))}
    if len(order) < 2:
        raise ValueError(
            f"halves need two documents with anaphors; got {len(order)}. Was one long document given as one?"
        )
    return np.array([order[d] for d in found.documents]), len(order)


def _best_head(right: np.ndarray, half: np.ndarray, of_kind: np.ndarray):
    """Answers of the head chosen on the other half, and the heads' names."""
    answers, labels = np.zeros(len(right), bool), []
    for reporting in (1, 0):
        choose = (half != reporting) & of_kind
        if not choose.any():  # this kind stands in one half only: choose on all kinds of the other
            choose = half != reporting
        rate = right[choose].mean(axis=0)
        layer, head = (int(i) for i in np.unravel_index(rate.argmax(), rate.shape))
        answers[half == reporting] = right[half == reporting, layer, head]
        labels.append(head_label(layer, head))
    return answers, tuple(labels)
