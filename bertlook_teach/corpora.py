"""Texts to look at: the shipped ones, the user's own files, and treebanks in CoNLL-U.

Every reader takes plain or ``.gz`` files in UTF-8 (with or without a byte-order mark, any line ends), streams
them, and names file and line when something is wrong.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

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


def iter_conllu(path: str | Path) -> Iterator[TreebankSentence]:
    """The sentences of a CoNLL-U file, one at a time.

    Raises
    ------
    ValueError
        With file and line, if a line has not ten columns, ids are not in order, a governor is out of range,
        or the arcs are no tree (no root, two roots, a cycle); also if the file holds no sentence.
    """
    doc_id, found = "", False
    for start, lines in _conllu_blocks(path):
        sentence = _parse_block(lines, f"{path}, line {start}", doc_id)
        doc_id, found = sentence.doc_id, True
        yield sentence
    if not found:
        raise ValueError(f"{path} holds no sentence in CoNLL-U.")


def read_conllu(path: str | Path) -> list[TreebankSentence]:
    """All sentences of a CoNLL-U file; see :func:`iter_conllu`."""
    return list(iter_conllu(path))


def _conllu_blocks(path: str | Path) -> Iterator[tuple[int, list[str]]]:
    block: list[str] = []
    start = 1
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            line = line.rstrip("\r\n")
            if line.strip():
                if not block:
                    start = number
                columns = line.count("\t") + 1
                if not line.startswith("#") and columns != 10:
                    raise ValueError(
                        f"{path}, line {number}: CoNLL-U has 10 columns with tabs between them; got {columns}: {line[:60]!r}."
                    )
                block.append(line)
            elif block:
                yield start, block
                block = []
    if block:
        yield start, block


def _parse_block(lines: list[str], where: str, doc_id: str) -> TreebankSentence:
    import conllu  # here, so that reading plain texts does not need it

    try:
        [tokens] = conllu.parse("\n".join(lines) + "\n\n")
    except (conllu.exceptions.ParseException, ValueError) as error:
        raise ValueError(f"{where}: not readable as CoNLL-U: {error}.") from error
    rows = [token for token in tokens if isinstance(token["id"], int)]
    if [row["id"] for row in rows] != list(range(1, len(rows) + 1)) or not rows:
        raise ValueError(f"{where}: word ids must be 1, 2, 3 ...; got {[row['id'] for row in rows][:12]}.")
    heads = [row["head"] for row in rows]
    for row, head in zip(rows, heads):
        if head is None or not 0 <= head <= len(rows):
            raise ValueError(
                f"{where}: word {row['id']} ({row['form']}) has head {head}; it must be 0 (root) to {len(rows)}."
            )
    governors = tuple(head - 1 for head in heads)
    _require_tree(governors, where)
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
        doc_id=about.get("newdoc id") or doc_id,
    )


def _require_tree(governors: tuple[int, ...], where: str) -> None:
    roots = [word + 1 for word, governor in enumerate(governors) if governor == -1]
    if len(roots) != 1:
        raise ValueError(
            f"{where}: a sentence has exactly one root (head 0); got {len(roots)}: words {roots}."
        )
    for word in range(len(governors)):
        seen, node = set(), word
        while node != -1:
            if node in seen:
                raise ValueError(f"{where}: the arcs run in a cycle through word {node + 1}.")
            seen.add(node)
            node = governors[node]
