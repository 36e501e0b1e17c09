"""Treebanks in Universal Dependencies (CoNLL-U)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import NamedTuple

from bertlook_teach.disk import data_path

from .texts import open_text


class PrintsWhatIsThere:
    """A data class that prints a field whose default is ``()`` only if it is not empty.

    What is kept of a computation is found by how its inputs print: a field that came later makes nothing stale that has none of it.
    """

    def __repr__(self) -> str:
        shown = [one.name for one in fields(self) if one.default != () or getattr(self, one.name)]
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


# --- treebanks -----------------------------------------------------------------------------------------
@dataclass(frozen=True, repr=False)
class TreebankSentence(PrintsWhatIsThere):
    """One annotated sentence.

    ``governors`` are zero-based, -1 for the root: CoNLL-U counts from 1 with 0 for the root, and is converted
    here, once. Multi-word tokens are represented by their syntactic words; enhanced dependencies are not read, and of an empty
    node only the last column with its place, (words before it, what it says) in ``empty``: mentions may begin or end there.
    ``entity_parts`` names the parts of an Entity in the last column where they are not those of GUM (`ENTITY_PARTS`).
    """

    words: tuple[str, ...]
    governors: tuple[int, ...]
    relations: tuple[str, ...]
    upos: tuple[str, ...]
    xpos: tuple[str, ...]
    lemmas: tuple[str, ...]
    misc: tuple[dict[str, str], ...]
    text: str = ""
    sent_id: str = ""
    doc_id: str = ""
    empty: tuple[tuple[int, dict[str, str]], ...] = ()
    entity_parts: tuple[str, ...] = ()

    def __post_init__(self):
        n = len(self.words)
        short = [
            name
            for name in ("governors", "relations", "upos", "xpos", "lemmas", "misc")
            if len(getattr(self, name)) != n
        ]
        if short:
            raise ValueError(
                f"a sentence of {n} words has {n} {short[0]}; got {len(getattr(self, short[0]))}."
            )
        for word, governor in enumerate(self.governors):
            if not -1 <= governor < n or governor == word:
                raise ValueError(
                    f"governors count from 0, and -1 is the root; word {word} of {n} ({self.words[word]!r}) has {governor}."
                )

    def __len__(self) -> int:
        return len(self.words)


ENTITY_PARTS = ("GRP", "etype", "minspan")

ON_ERROR = ("stop", "skip")

# Of one sentence with its comments; the longest of any treebank has some thousand words.
MOST_LINES, MOST_CHARACTERS = 20_000, 1_000_000


class SkippedSentence(NamedTuple):
    """A sentence that was left out, and why."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}, line {self.line}: {self.reason}"


class _BrokenSentence(ValueError):
    """What is wrong with one sentence; the reader adds the file."""

    def __init__(self, line: int, reason: str):
        self.line, self.reason = line, reason
        super().__init__(reason)


def iter_conllu(
    path: str | Path, *, on_error: str = "stop", skipped: list[SkippedSentence] | None = None
) -> Iterator[TreebankSentence]:
    """The sentences of a CoNLL-U file, one at a time.

    Parameters
    ----------
    path : str or Path
        UTF-8, plain or ``.gz``; any line ends, with or without a byte-order mark and a last line end.
    on_error : {"stop", "skip"}
        What to do with a broken sentence: raise, or leave it out and count it.
    skipped : list, optional
        Gets one `SkippedSentence` for each sentence left out. Without a list, a warning says how many there were.

    Raises
    ------
    ValueError
        With file and line, if a line does not have ten columns, ids are not in order, a governor is out of range,
        or the arcs are not a tree (no root, two roots, a cycle); if a sentence has more than 20,000 lines or 1,000,000 characters,
        as where the empty lines between sentences are missing; also if the file holds no sentence, or none that could be read.
    """
    if on_error not in ON_ERROR:
        raise ValueError(f"on_error must be 'stop' or 'skip'; got {on_error!r}.")
    left_out = [] if skipped is None else skipped
    before = len(left_out)
    doc_id, found, columns, parts = "", False, None, ()
    for start, lines in _conllu_blocks(path):
        columns = _columns(lines) or columns
        parts = _entity_parts(lines, parts) or parts
        doc_id = _document(
            lines, doc_id, f"{Path(path).name}, line {start}"
        )  # also of one that will be left out
        try:
            sentence = _parse_block(lines, start, doc_id, columns)
            sentence = replace(sentence, entity_parts=parts) if parts not in ((), ENTITY_PARTS) else sentence
        except _BrokenSentence as error:
            broken = SkippedSentence(str(path), error.line, error.reason)
            if on_error == "stop":
                raise ValueError(str(broken)) from error.__cause__
            left_out.append(broken)
            continue
        found = True
        yield sentence
    bad = left_out[before:]
    if not found:
        why = f"; {len(bad)} were broken, the first at line {bad[0].line}: {bad[0].reason}" if bad else "."
        raise ValueError(f"{path} holds no sentence in CoNLL-U{why}")
    if bad and skipped is None:
        warnings.warn(f"{len(bad)} broken sentences were left out, the first: {bad[0]}", stacklevel=2)


def read_conllu(
    path: str | Path, *, on_error: str = "stop", skipped: list[SkippedSentence] | None = None
) -> list[TreebankSentence]:
    """All sentences of a CoNLL-U file; see :func:`iter_conllu`."""
    return list(iter_conllu(path, on_error=on_error, skipped=skipped))


def load_treebank() -> list[TreebankSentence]:
    """The small treebank that ships with the course: enough to show a measure with, too small to settle a question."""
    return read_conllu(data_path("treebank", "treebank.conllu"))


def _conllu_blocks(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    """(number of the first line, lines) of each block between empty lines; of one that is too long the beginning, which is too long too."""
    block: list[str] = []
    start, size, dropping = 1, 0, False
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\r\n")
            if not line.strip():
                if block:
                    yield start, block
                block, size, dropping = [], 0, False
            elif not dropping:
                if not block:
                    start = number
                block.append(line)
                size += len(line)
                if len(block) > MOST_LINES or size > MOST_CHARACTERS:
                    yield start, block
                    block, dropping = [], True
    if block:
        yield start, block


def _document(lines: list[str], doc_id: str, place: str) -> str:
    """The document these lines belong to: a new one if they say so, by its name or else by where it begins; else the one before."""
    for line in lines:
        if found := re.match(r"#\s*newdoc(?:\s+id\s*=(.*)|\s*$)", line):
            return (found[1] or "").strip() or place
    return doc_id


def _entity_parts(lines: list[str], known: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the parts of an Entity value where these lines name or, as AMALGUM's first mention does, show them."""
    for line in lines:
        if match := re.match(r"#\s*global\.Entity\s*=\s*(\S+)", line):
            # The cluster is called GRP in GUM and eid in CorefUD, the kind of thing entity in older GUM.
            own = {"eid": "GRP", "entity": "etype"}
            return tuple(own.get(name, name) for name in match[1].split("-"))
        if not known and "Entity=(" in line:
            return ("etype", "GRP") if re.search(r"\bEntity=\([a-z]+-\d+\b", line) else ENTITY_PARTS
    return ()


def _columns(lines: list[str]) -> list[str] | None:
    """The order of the columns of the whole file, where these lines name it (CoNLL-U Plus)."""
    named = (re.match(r"#\s*global\.columns\s*=(.*)", line) for line in lines)
    return next((match[1].lower().split() for match in named if match), None)


def _parse_block(lines: list[str], start: int, doc_id: str, columns: list[str] | None) -> TreebankSentence:
    import conllu  # here, so that reading plain texts does not need it

    if not hasattr(conllu, "exceptions"):
        raise ImportError(
            f"{conllu.__file__} stands in the way of the library conllu; take it off PYTHONPATH, or rename it."
        )

    if columns and set(columns) != set(conllu.parser.DEFAULT_FIELDS):
        said = f"global.columns names {' '.join(columns).upper()}; expected the ten columns of CoNLL-U, in any order."
        raise _BrokenSentence(start, said)
    _check_lines(lines, start)
    try:
        [tokens] = conllu.parse("\n".join(lines) + "\n\n", fields=columns)
    except (conllu.exceptions.ParseException, ValueError) as error:
        raise _BrokenSentence(start, f"not readable as CoNLL-U: {error}.") from error
    if len(tokens) != sum(not line.startswith("#") for line in lines) or any(
        len(row) != 10 for row in tokens
    ):
        raise _BrokenSentence(start, "not readable as CoNLL-U: a separator of lines stands inside a line.")
    rows = [token for token in tokens if isinstance(token["id"], int)]
    if [row["id"] for row in rows] != list(range(1, len(rows) + 1)) or not rows:
        raise _BrokenSentence(start, f"word ids must be 1, 2, 3 ...; got {[row['id'] for row in rows][:12]}.")
    for row in rows:
        if not (row["form"] or "").strip():
            raise _BrokenSentence(start, f"word {row['id']} has an empty form.")
    heads = [row["head"] for row in rows]
    for row, head in zip(rows, heads):
        if head is None or not 0 <= head <= len(rows):
            ours = (i for i, one in enumerate(lines) if one.startswith(f"{row['id']}\t"))
            raise _BrokenSentence(
                start + next(ours, 0),
                f"word {row['id']} ({row['form']}) has {'no head' if head is None else f'head {head}'}; it must be 0 (root) to {len(rows)}.",
            )
    governors = tuple(head - 1 for head in heads)
    _require_tree(governors, start)
    about = tokens.metadata
    return TreebankSentence(
        words=tuple(row["form"] for row in rows),
        governors=governors,
        relations=tuple(row["deprel"] or "_" for row in rows),
        upos=tuple(row["upos"] or "_" for row in rows),
        xpos=tuple(row["xpos"] or "_" for row in rows),
        lemmas=tuple(row["lemma"] or "_" for row in rows),
        misc=tuple(row["misc"] or {} for row in rows),
        text=about.get("text", " ".join(row["form"] for row in rows)),
        sent_id=about.get("sent_id", ""),
        doc_id=doc_id,
        empty=tuple((row["id"][0], row["misc"]) for row in tokens if _is_empty_node(row) and row["misc"]),
    )


def _check_lines(lines: list[str], start: int) -> None:
    """Refuse what the library would not refuse, or not say: a sentence without end, other columns than ten, spaces that it takes for their ends."""
    if len(lines) > MOST_LINES or sum(map(len, lines)) > MOST_CHARACTERS:
        raise _BrokenSentence(
            start,
            f"a sentence has at most {MOST_LINES:,} lines and {MOST_CHARACTERS:,} characters, with an empty line behind it; this one has more. "
            "Are the empty lines missing?",
        )
    for number, line in enumerate(lines, start):
        columns = line.count("\t") + 1
        if not line.startswith("#") and columns != 10:
            raise _BrokenSentence(
                number, f"CoNLL-U has 10 columns with tabs between them; got {columns}: {line[:60]!r}."
            )
        if not line.startswith("#") and "  " in line:  # the library would cut the column there
            raise _BrokenSentence(
                number, f"two spaces stand side by side in a column; leave one of them: {line[:60]!r}."
            )


def _is_empty_node(row) -> bool:
    return isinstance(row["id"], tuple) and row["id"][1] == "."


def _require_tree(governors: tuple[int, ...], line: int) -> None:
    roots = [word + 1 for word, governor in enumerate(governors) if governor == -1]
    if len(roots) != 1:
        shown = roots if len(roots) <= 20 else f"{roots[:20]} and more"
        raise _BrokenSentence(
            line, f"a sentence has exactly one root (head 0); got {len(roots)}: words {shown}."
        )
    came_from = [None] * len(governors)  # the word from which the way up to the root first came to each
    for word in range(len(governors)):
        node = word
        while node != -1 and came_from[node] is None:
            came_from[node] = word
            node = governors[node]
        if node != -1 and came_from[node] == word:
            raise _BrokenSentence(line, f"the arcs run in a cycle through word {node + 1}.")
