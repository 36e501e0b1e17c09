"""Texts to look at: the shipped ones, the user's own files, and treebanks in CoNLL-U.

Every reader takes plain or ``.gz`` files in UTF-8 (with or without a byte-order mark, any line ends), streams
them, and names file and line when something is wrong.
"""

from __future__ import annotations

import gzip
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from ._paths import data_path

# --- plain texts ---------------------------------------------------------------------------------------


def iter_texts(path: str | Path) -> Iterator[str]:
    """The texts of a file, one a line; empty lines and lines starting with "# " are skipped."""
    found = False
    for _, line in _content_lines(path):
        if line:
            found = True
            yield line
    if not found:
        raise ValueError(f"{path} holds no text: expected one text a line.")


def read_texts(path: str | Path) -> list[str]:
    """All texts of a file, one a line; see :func:`iter_texts`."""
    return list(iter_texts(path))


def iter_pairs(path: str | Path) -> Iterator[tuple[str, str]]:
    """The pairs of texts of a file, in either of two forms.

    Two lines a pair and an empty line between pairs (the form of ``data/texts/paragraphs.txt``), or, if the
    first line with text holds a tab, one pair a line with a tab between the texts. Lines starting with "# "
    are comments.

    Raises
    ------
    ValueError
        If a pair is not two texts, or one side is empty; with file and line.
    """
    block: list[str] = []
    tabbed: bool | None = None
    number, found = 0, False
    for number, line in _content_lines(path):
        if tabbed is None and line:
            tabbed = "\t" in line
        if tabbed and line:
            block = line.split("\t")
        elif line:
            block.append(line)
            continue
        if block:
            yield _pair(block, path, number)
            block, found = [], True
    if block:
        yield _pair(block, path, number + 1)
    elif not found:
        raise ValueError(
            f"{path} holds no pair: expected two lines a pair and an empty line between pairs, or a tab between two texts."
        )


def read_pairs(path: str | Path) -> list[tuple[str, str]]:
    """All pairs of a file; see :func:`iter_pairs`."""
    return list(iter_pairs(path))


def load_pairs() -> list[tuple[str, str]]:
    """The two-paragraph texts that ship with the course."""
    return read_pairs(data_path("texts", "paragraphs.txt"))


def load_texts() -> list[str]:
    """The single sentences that ship with the course."""
    return read_texts(data_path("texts", "sentences.txt"))


def _pair(block: list[str], path: str | Path, line: int) -> tuple[str, str]:
    if len(block) != 2 or not all(text.strip() for text in block):
        raise ValueError(
            f"{path}, before line {line}: a pair is two texts, none of them empty; got {len(block)}: "
            f"{' / '.join(text[:30] for text in block)!r}."
        )
    return block[0].strip(), block[1].strip()


def _content_lines(path: str | Path) -> Iterator[tuple[int, str]]:
    """(line number, line without its end and outer spaces); comment lines are left out, empty ones are kept."""
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            if not line.startswith("# "):
                yield number, line.strip(" \r\n")


@contextmanager
def open_text(path: str | Path) -> Iterator[io.TextIOBase]:
    """Open a UTF-8 text file, gzipped or not, with errors that name the file and what to do.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If the content is not UTF-8 (with the line), or a .gz file is damaged.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; a file was expected.")
    opener = gzip.open if path.suffix == ".gz" else open
    try:
        with opener(path, "rt", encoding="utf-8-sig") as file:
            yield file
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8{_where(path, opener)}. Save it as UTF-8, for example with: iconv -f latin1 -t utf-8."
        ) from error
    except (gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{path} is damaged or not a gzip file: {error}.") from error


def _where(path: Path, opener) -> str:
    """The first line that is not UTF-8; the decoder reads in blocks and only knows the block."""
    with opener(path, "rb") as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f" (line {number}: byte 0x{line[error.start]:02x})"
    return ""


# --- treebanks -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class TreebankSentence:
    """One annotated sentence.

    ``governors`` are zero-based, -1 for the root: CoNLL-U counts from 1 with 0 for the root, and is converted
    here, once. Multi-word tokens are represented by their syntactic words; empty nodes and the enhanced
    dependencies are not read.
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

    def __len__(self) -> int:
        return len(self.words)


ON_ERROR = ("stop", "skip")


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
        With file and line, if a line has not ten columns, ids are not in order, a governor is out of range,
        or the arcs are no tree (no root, two roots, a cycle); also if the file holds no sentence, or none that
        could be read.
    """
    if on_error not in ON_ERROR:
        raise ValueError(f"on_error must be 'stop' or 'skip'; got {on_error!r}.")
    left_out = [] if skipped is None else skipped
    before = len(left_out)
    doc_id, found = "", False
    for start, lines in _conllu_blocks(path):
        doc_id = _document(lines, doc_id)  # also of a sentence that will be left out
        try:
            sentence = _parse_block(lines, start, doc_id)
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
    """(number of the first line, lines) of each block between empty lines."""
    block: list[str] = []
    start = 1
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\r\n")
            if line.strip():
                if not block:
                    start = number
                block.append(line)
            elif block:
                yield start, block
                block = []
    if block:
        yield start, block


def _document(lines: list[str], doc_id: str) -> str:
    """The document these lines belong to: a new one if they name it, else the one before."""
    for line in lines:
        if line.startswith("#") and (name := re.match(r"#\s*newdoc\s+id\s*=\s*(.+?)\s*$", line)):
            return name.group(1)
    return doc_id


def _parse_block(lines: list[str], start: int, doc_id: str) -> TreebankSentence:
    import conllu  # here, so that reading plain texts does not need it

    for number, line in enumerate(lines, start):
        columns = line.count("\t") + 1
        if not line.startswith("#") and columns != 10:
            raise _BrokenSentence(
                number, f"CoNLL-U has 10 columns with tabs between them; got {columns}: {line[:60]!r}."
            )
    try:
        [tokens] = conllu.parse("\n".join(lines) + "\n\n")
    except (conllu.exceptions.ParseException, ValueError) as error:
        raise _BrokenSentence(start, f"not readable as CoNLL-U: {error}.") from error
    rows = [token for token in tokens if isinstance(token["id"], int)]
    if [row["id"] for row in rows] != list(range(1, len(rows) + 1)) or not rows:
        raise _BrokenSentence(start, f"word ids must be 1, 2, 3 ...; got {[row['id'] for row in rows][:12]}.")
    heads = [row["head"] for row in rows]
    for row, head in zip(rows, heads):
        if head is None or not 0 <= head <= len(rows):
            raise _BrokenSentence(
                start,
                f"word {row['id']} ({row['form']}) has head {head}; it must be 0 (root) to {len(rows)}.",
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
    )


def _require_tree(governors: tuple[int, ...], line: int) -> None:
    roots = [word + 1 for word, governor in enumerate(governors) if governor == -1]
    if len(roots) != 1:
        raise _BrokenSentence(
            line, f"a sentence has exactly one root (head 0); got {len(roots)}: words {roots}."
        )
    for word in range(len(governors)):
        seen, node = set(), word
        while node != -1:
            if node in seen:
                raise _BrokenSentence(line, f"the arcs run in a cycle through word {node + 1}.")
            seen.add(node)
            node = governors[node]
