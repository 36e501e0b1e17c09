"""Documents with coreference: CoNLL-U with GUM's entities, or JSON lines."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby, islice, pairwise
from pathlib import Path

from .texts import from_json, json_lines, json_span, json_words
from .treebank import ENTITY_PARTS, ON_ERROR, PrintsWhatIsThere, iter_conllu

KINDS = ("pronoun", "proper", "nominal")

# number, gender, person of the pronouns; - agrees with everything
_PRONOUNS = {
    word: tuple(value.replace("-", "") for value in line.split(":")[0].split())
    for line in """
    singular person 1: i me my mine myself
    plural person 1: we us our ours ourselves
    - person 2: you your yours yourself yourselves
    singular masculine 3: he him his himself
    singular feminine 3: she her hers herself
    singular thing 3: it its itself
    - - 3: they them their theirs themselves
    singular - 3: this that
    plural - 3: these those
    - - 3: who whom whose which one someone somebody everyone everybody nobody
    - - 3: anyone anybody something everything anything nothing ones
    """.strip().splitlines()
    for word in line.split(":")[1].split()
}

_FEMININE = set(
    """
    woman girl mother sister daughter wife aunt queen lady grandmother mrs mrs. miss ms ms. madam
    mum mom niece granddaughter widow princess actress
    """.split()
)

_MASCULINE = set(
    """
    man boy father brother son husband uncle king gentleman grandfather mr mr. sir dad nephew
    grandson widower prince actor lord
    """.split()
)

_PERSON_TYPES = {"person", "per"}


@dataclass(frozen=True, repr=False)
class Mention(PrintsWhatIsThere):
    """A phrase that refers to something.

    ``start`` and ``end`` are words of the document (half-open), ``head`` is its head word, ``cluster`` names what it refers
    to, ``kind`` is one of `KINDS`. ``number``, ``gender`` and ``person`` are what the rules compare; "" is unknown. A mention with
    gaps has the spans of its ``parts``; without gaps there are none.
    """

    start: int
    end: int
    head: int
    cluster: str
    kind: str
    number: str = ""
    gender: str = ""
    person: str = "3"
    parts: tuple[tuple[int, int], ...] = ()

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        return self.parts or ((self.start, self.end),)

    def moved(self, by: int) -> Mention:
        """The same mention where its document begins elsewhere."""
        parts = tuple((a + by, b + by) for a, b in self.parts)
        return replace(self, start=self.start + by, end=self.end + by, head=self.head + by, parts=parts)


@dataclass(frozen=True)
class CorefDocument:
    """A text with its mentions, in order of their beginning (the longer first)."""

    doc_id: str
    words: tuple[str, ...]
    sentences: tuple[tuple[int, int], ...]
    mentions: tuple[Mention, ...] = field(default=())

    def text(self, mention: Mention) -> str:
        return " ".join(word for start, end in mention.spans for word in self.words[start:end])


# --- reading -------------------------------------------------------------------------------------------
def read_coreference(path: str | Path, **options) -> list[CorefDocument]:
    """All documents of a file; see :func:`iter_coreference`."""
    return list(iter_coreference(path, **options))


def iter_coreference(
    path: str | Path, *, limit: int | None = None, on_error: str = "stop", skipped: list[str] | None = None
) -> Iterator[CorefDocument]:
    """Documents with mentions, one at a time, from CoNLL-U with ``Entity=`` (as in GUM) or from JSONL.

    A JSONL line holds ``doc_id``, ``tokens``, ``sentences`` (spans of tokens) and ``mentions`` (objects with ``span`` and
    ``cluster``; ``head``, ``type`` and ``pronoun`` are used where they are there). Spans are half-open, counted from 0. In CoNLL-U
    the sentences of a document stand one after the other. A mention in parts, ``e1[1/2]`` and ``e1[2/2]``, is one mention; what a
    mention has of empty nodes is left out, and one of empty nodes alone is none, since no model reads them.

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
        With file and place, if something is broken, or at the end if no document has two mentions of one thing.
    """
    if on_error not in ON_ERROR:
        raise ValueError(f"on_error must be 'stop' or 'skip'; got {on_error!r}.")
    path, left_out = Path(path), [] if skipped is None else skipped

    def broken(error: ValueError) -> None:
        if on_error == "stop":
            raise error
        left_out.append(str(error))

    if path.name.removesuffix(".gz").endswith((".jsonl", ".json")):
        documents = _read_jsonl(path, broken)
    else:
        documents = _read_entities(path, broken, on_error, left_out)
    linked = False
    for document in islice(documents, limit):
        linked = linked or _has_link(document)
        yield document
    if not linked:
        raise ValueError(
            f"{path} holds no two mentions of one thing. Expected CoNLL-U with Entity= in the last column, or JSONL with "
            "clustered mentions; `bertlook coref --help` describes both."
        )


def _has_link(document: CorefDocument) -> bool:
    clusters = [mention.cluster for mention in document.mentions]
    return len(set(clusters)) < len(clusters)


def _read_entities(
    path: Path, broken: Callable, on_error: str, left_out: list[str]
) -> Iterator[CorefDocument]:
    sentences_left_out: list = []
    sentences = iter_conllu(path, on_error=on_error, skipped=sentences_left_out)
    for document in _documents(sentences, f"{path}, ", broken):
        left_out += map(str, sentences_left_out)
        sentences_left_out.clear()
        yield document
    left_out += map(str, sentences_left_out)


def coreference_documents(sentences: Iterable) -> list[CorefDocument]:
    """Documents of a treebank that is read already: sentences with ``Entity=``, grouped by their ``doc_id``.

    Head words come from the tree.

    Parameters
    ----------
    sentences : iterable of TreebankSentence
        For example `bertlook_course.corpora.load_treebank()`.

    Raises
    ------
    ValueError
        If brackets do not match; naming the sentence.
    """

    def broken(error: ValueError) -> None:
        raise error

    numbers: dict[str, int] = {}
    grouped = sorted(sentences, key=lambda sentence: numbers.setdefault(sentence.doc_id, len(numbers)))
    return list(_documents(grouped, "", broken))


def _documents(sentences, place: str, broken: Callable) -> Iterator[CorefDocument]:
    for doc_id, members in groupby(sentences, key=lambda sentence: sentence.doc_id):
        words, spans, mentions = [], [], []
        for sentence in members:
            start = len(words)
            try:
                found = list(entity_spans(sentence, f"{place}{sentence.sent_id or doc_id}"))
            except ValueError as error:
                broken(error)
                continue
            mentions += (_in_sentence(sentence, *one).moved(start) for one in found)
            words += sentence.words
            spans.append((start, len(words)))
        yield CorefDocument(doc_id, tuple(words), tuple(spans), _in_order(mentions))


def _in_sentence(sentence, parts: Sequence[tuple[int, int]], values: dict[str, str]) -> Mention:
    """A mention of a sentence; its places count from the sentence's beginning."""
    places = [word for first, last in parts for word in range(first, last)]
    at = _head_in_tree(sentence.governors, places, values.get("minspan", ""))
    mention = _mention(
        start=places[0],
        end=places[-1] + 1,
        head=places[at],
        cluster=values["GRP"],
        span=[sentence.words[word] for word in places],
        head_at=at,
        upos=sentence.upos[places[at]],
        xpos=sentence.xpos[places[at]],
        etype=values.get("etype", ""),
    )
    return replace(mention, parts=parts) if len(parts) > 1 else mention


MOST_WORDS = 1_000  # of one mention: each is looked through for its head


def _too_long(n: int) -> str:
    return f"a mention has at most {MOST_WORDS:,} words; this one has {n:,}. Does it end where it should?"


_BRACKET = re.compile(r"\(([^()]+)\)|\(([^()]+)|([^()]+)\)")


_PART = re.compile(r"(.*)\[(\d{1,4})/(\d{1,4})\]")


def entity_spans(sentence, where) -> list[tuple[tuple[tuple[int, int], ...], dict[str, str]]]:
    """(spans of its parts, values) of each mention of a sentence that has a word; brackets close by name, so they may nest and cross."""
    opened: dict[str, list] = {}
    fields, found = sentence.entity_parts or ENTITY_PARTS, []
    if "GRP" not in fields:
        raise ValueError(
            f"{where}: global.Entity = {'-'.join(fields)} names no cluster; expected GRP (GUM) or eid (CorefUD)."
        )
    places = [(i, i + 1, misc) for i, misc in enumerate(sentence.misc)] + [
        (n, n, m) for n, m in sentence.empty
    ]
    for first, last, misc in sorted(places, key=lambda place: place[:2]):
        value = misc.get("Entity") or ""
        for single, begin, end in _BRACKET.findall(value):
            if single or begin:
                values = dict(zip(fields, (single or begin).split("-", len(fields) - 1)))
                opened.setdefault(values["GRP"], []).append((first, values))
            if single or end:
                closing = dict(zip(fields, end.split("-", len(fields) - 1))) if "-" in end else {"GRP": end}
                name = values["GRP"] if single else closing.get("GRP", end)
                if not opened.get(name):
                    raise ValueError(
                        f"{where}, word {last}: Entity={value} closes {name!r}, which is not open."
                    )
                start, values = opened[name].pop()
                if last - start > MOST_WORDS:
                    raise ValueError(f"{where}, word {last}: {_too_long(last - start)}")
                found.append(((start, last), values))
    left = sorted(name for name, stack in opened.items() if stack)
    if left:
        raise ValueError(
            f"{where}: the mentions {', '.join(left[:10])} are opened and not closed in their sentence."
        )
    joined = [
        (tuple(part for part in parts if part[0] < part[1]), values)
        for parts, values in _joined(found, where)
    ]
    return [(parts, values) for parts, values in joined if parts]


def _joined(found, where: str) -> list[tuple[list[tuple[int, int]], dict[str, str]]]:
    """Mentions in parts, ``e1[1/2] ... e1[2/2]``, as one each; what is said of a mention stands at its first part."""
    whole, waiting = (
        [],
        defaultdict(deque),
    )  # (name, number of the next part, of how many) -> those that wait for it
    for span, values in found:
        match = _PART.fullmatch(values["GRP"])
        name, number, count = (match[1], int(match[2]), int(match[3])) if match else (values["GRP"], 1, 1)
        if number == 1:
            mention = [], values | {"GRP": name}
            whole.append(mention)
        elif waiting[name, number, count]:
            mention = waiting[name, number, count].popleft()
        else:
            raise ValueError(
                f"{where}: part {number} of {count} of the mention {name} comes without the part before it. {_TOGETHER}"
            )
        mention[0].append(span)
        if number != count:
            waiting[name, number + 1, count].append(mention)
    for (name, number, count), left in waiting.items():
        if left:
            raise ValueError(
                f"{where}: the mention {name} has {count} parts; {number - 1} of them are here. {_TOGETHER}"
            )
    return whole


_TOGETHER = "The parts of a mention must stand in one sentence, in their order."


def _head_in_tree(governors: Sequence[int], places: Sequence[int], minspan: str) -> int:
    """Which of a mention's words has its governor outside of it; of several, the first within the minimal span."""
    inside = set(places)
    outside = [at for at, word in enumerate(places) if governors[word] not in inside]
    if match := re.match(r"(\d+)(?:-(\d+))?", minspan):
        low, high = int(match[1]), int(match[2] or match[1])
        outside = [at for at in outside if low <= at + 1 <= high] or outside
    return outside[0]


def _read_jsonl(path: Path, broken: Callable) -> Iterator[CorefDocument]:
    for number, where, line in json_lines(path):
        try:
            document = _json_document(line, where, number)
        except ValueError as error:
            broken(error)
        else:
            yield document


def _json_document(line: str, where: str, number: int) -> CorefDocument:
    try:
        item = from_json(line)
        words, raw = item["tokens"], item["mentions"]
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{where}: expected an object with doc_id, tokens, sentences and mentions; {type(error).__name__}: {error}."
        ) from None
    words, spans = json_words(words, f"{where}, tokens"), item.get("sentences") or [[0, len(words)]]
    upos = json_words(item["upos"], f"{where}, upos") if item.get("upos") else None
    if not isinstance(raw, list) or not isinstance(spans, list) or (upos and len(upos) != len(words)):
        raise ValueError(
            f"{where}: mentions and sentences are lists, and upos, if it is there, has as many entries as tokens."
        )
    sentences = tuple(json_span(span, len(words), f"{where}, sentences") for span in spans)
    if any(after[0] < before[1] for before, after in pairwise(sentences)):
        raise ValueError(f"{where}: sentences follow each other; got {spans!r:.80}.")
    mentions = [_json_mention(m, words, upos, where) for m in raw]
    return CorefDocument(str(item.get("doc_id", number)), words, sentences, _in_order(mentions))


def _json_mention(m, words, upos, where) -> Mention:
    try:
        span, cluster = m["span"], m["cluster"]
    except (KeyError, TypeError):
        raise ValueError(f"{where}: a mention needs span [start, end) and cluster; got {m!r:.80}.") from None
    if type(cluster) not in (str, int):  # two without a cluster are not one
        raise ValueError(f"{where}: a cluster is a name or a whole number; got {m!r:.80}.")
    start, end = json_span(span, len(words), f"{where}, mention")
    if end - start > MOST_WORDS:
        raise ValueError(f"{where}, mention: {_too_long(end - start)}")
    span = words[start:end]
    head = m.get("head")
    if isinstance(head, list):  # GUM names each word of a minimal span
        head = head[0] if head else None
    head = start + head_word(span) if head is None else head
    if type(head) is not int or not start <= head < end:
        raise ValueError(f"{where}: head {head!r:.40} is not within the span {start} to {end}.")
    tag = upos[head] if upos else ("PRON" if m.get("pronoun") else "")
    return _mention(
        start=start,
        end=end,
        head=head,
        cluster=str(cluster),
        span=span,
        head_at=head - start,
        upos=tag,
        xpos="",
        etype=str(m.get("type", "")),
    )


def head_word(span: Sequence[str]) -> int:
    """Index of the head word of an English noun phrase without a tree: the last word before "of", a comma, "who" ...

    >>> head_word(["the", "old", "keeper", "of", "the", "light"])
    2
    """
    stops = set("of in on at for with from to by who which that whose , ( and 's as".split())
    for i, word in enumerate(span):
        if i and word.lower() in stops:
            if word == "'s" and i + 1 < len(span):  # "the keeper 's lamp": the owner is not the head
                return i + 1 + head_word(span[i + 1 :])
            return i - 1
    return len(span) - 1


def _mention(*, start, end, head, cluster, span, head_at, upos, xpos, etype) -> Mention:
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
