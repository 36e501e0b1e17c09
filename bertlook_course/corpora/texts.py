"""Plain texts and pairs of texts, read line by line."""

from __future__ import annotations

import gzip
import io
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from bertlook_teach.disk import data_path, parse_json

from ..storage import Gunzipped

_COMMENT = re.compile(r"# [\w-]+ = ")  # as in a treebank; a heading or a tag is a text


# --- plain texts ---------------------------------------------------------------------------------------
def iter_texts(path: str | Path, *, on_error: str = "stop") -> Iterator[str]:
    """The texts of a file, one on each line; empty lines and comments, such as ``# id = tides``, are skipped.

    With ``on_error="skip"`` a line that is not UTF-8 comes with halves of characters in it, which every model refuses: whoever leaves out
    what cannot be read leaves it out too, and counts it.
    """
    _refuse_other_kinds(path, ".tsv")
    found = False
    for _, line in _content_lines(path, on_error):
        if line:
            found = True
            yield line
    if not found:
        raise ValueError(f"{path} holds no text: expected one text a line.")


def _refuse_other_kinds(path: str | Path, *more: str) -> None:
    """Tables and objects, whose braces, names and ids would be read as texts."""
    ending = Path(str(path).removesuffix(".gz")).suffix.lower()
    if ending in (".jsonl", ".json", ".csv", ".conllu", ".conll", ".parquet", ".xml", *more):
        raise ValueError(
            f"{path}: a file of texts has one text on each line, and {ending} holds more than the text. Write the texts into a .txt, such as "
            'open("texts.txt", "w", encoding="utf-8").write("\\n".join(table["text"])).'
        )


def read_texts(path: str | Path) -> list[str]:
    """All texts of a file, one on each line; see :func:`iter_texts`."""
    return list(iter_texts(path))


def cells_of(line: str) -> list[str]:
    """The cells of a line of TSV. Quotes belong to a text, but for those that pandas and csv put around one with quotes in it.

    >>> cells_of('"He said ""hi"" to me."\\t"Yes."')
    ['He said "hi" to me.', '"Yes."']
    """
    cells = line.split("\t")
    quoted = (re.fullmatch(r'"((?:[^"]|"")*)"', cell) for cell in cells)
    return [
        match[1].replace('""', '"') if match and '""' in match[1] else cell
        for match, cell in zip(quoted, cells)
    ]


def iter_pairs(path: str | Path, *, on_error: str = "stop") -> Iterator[tuple[str, str]]:
    """The pairs of texts of a file, in either of two forms.

    Two lines a pair and an empty line between pairs (the form of ``data/texts/paragraphs.txt``), or, if the
    first line with text holds a tab, one pair a line with a tab between the texts. Lines such as ``# id = tides``
    are comments. ``on_error="skip"``: as in `iter_texts`; what is not a pair comes as it is, and no model reads it.

    Raises
    ------
    ValueError
        If a pair is not two texts, or one side is empty; with file and line.
    """
    _refuse_other_kinds(path)
    block: list[str] = []
    tabbed: bool | None = None
    number, found = 0, False
    for number, line in _content_lines(path, on_error):
        if tabbed is None and line:
            tabbed = "\t" in line
        if tabbed and line:
            block = cells_of(line)
        elif line:
            block.append(line)
            continue
        if block:
            yield _pair(block, f"{path}, {'line' if tabbed else 'before line'} {number}", on_error)
            block, found = [], True
    if block:
        yield _pair(block, f"{path}, before line {number + 1}", on_error)
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


def _pair(block: list[str], where: str, on_error: str) -> tuple[str, str]:
    if len(block) != 2 or not all(text.strip() for text in block):
        if on_error == "skip":
            return tuple(map(str.strip, block))  # refused, with the reason, by whoever reads it
        raise ValueError(
            f"{where}: a pair is two texts, none of them empty; got {len(block)}: "
            f"{' / '.join(text[:30] for text in block)!r}."
        )
    return block[0].strip(), block[1].strip()


def _content_lines(path: str | Path, on_error: str = "stop") -> Iterator[tuple[int, str]]:
    """(line number, line without its end and outer spaces); comments are left out, empty lines are kept."""
    with open_text(path, errors="strict" if on_error == "stop" else "surrogateescape") as file:
        for number, line in enumerate(file, 1):
            if not _COMMENT.match(line):
                yield number, line.strip(" \r\n")


SPLITS = ("train", "test")


def json_lines(path: str | Path) -> Iterator[tuple[int, str, str]]:
    """Of each line of a file of JSON lines that is not empty: its number, where it stands, its text."""
    with open_text(path) as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, f"{path}, line {number}", line


def json_row(line: str, where: str, what: str, *fields: str) -> tuple[dict, str, str]:
    """The object in a line of JSON that has these fields, its id, and its split; empty where it names none.

    Raises
    ------
    ValueError
        If it is no such object, has no id for ``what``, or another split than `SPLITS`.
    """
    try:
        row = from_json(line)
        for field in fields:
            row[field]
    except (ValueError, KeyError, TypeError) as error:
        why = f"it has no {error.args[0]}" if isinstance(error, KeyError) else repr(error)
        told = f"{', '.join(['id', *fields[:-1]])} and {fields[-1]}"
        raise ValueError(f"{where}: expected an object with {told}; {why}.") from None
    name, split = row.get("id"), row.get("split") or ""
    if not isinstance(name, (str, int)) or not str(name).strip():
        raise ValueError(f"{where}: id must name the {what}; got {name!r}.")
    if split and split not in SPLITS:
        raise ValueError(f"{where}: split must be 'train' or 'test'; got {split!r}.")
    return row, str(name), split


def note_id(seen: dict[str, int], name: str, number: int, where: str) -> None:
    """Refuse an id that stands in a file a second time."""
    if name in seen:
        raise ValueError(f"{where}: the id {name!r} was used in line {seen[name]}.")
    seen[name] = number


def of_split(items: Iterable, split: str | None) -> list:
    """All items, or the half named by ``split``."""
    if split is not None and split not in SPLITS:
        raise ValueError(f"split must be 'train', 'test' or None; got {split!r}.")
    return [item for item in items if split in (None, item.split)]


def from_json(line: str):
    """The value of a line of JSON.

    Raises
    ------
    ValueError
        If it is none, has more than a million values, or holds half a character (a lone surrogate): JSON can spell it, UTF-8 cannot,
        and no tokenizer reads it.
    """
    value = parse_json(line)
    if "\\u" in line:
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            raise ValueError(f"{half!r} is half of a character (a lone surrogate); take it out") from None
    return value


def json_words(value, where: str) -> tuple[str, ...]:
    """The words of a text in JSON, checked; ``where`` begins the message."""
    if not isinstance(value, list) or not value or not all(isinstance(w, str) and w.strip() for w in value):
        raise ValueError(f"{where}: expected a list of words, none of them empty; got {value!r:.120}.")
    return tuple(value)


def json_span(value, length: int, where: str) -> tuple[int, int]:
    """A span in JSON, [start, end) within a length, checked; ``where`` begins the message."""
    whole = isinstance(value, list | tuple) and len(value) == 2 and all(type(place) is int for place in value)
    if not whole or not 0 <= value[0] < value[1] <= length:
        raise ValueError(
            f"{where}: span {value!r:.60} is not [start, end) within 0 to {length}. Places count from 0, and the end lies behind the last."
        )
    return value[0], value[1]


LONGEST_LINE = 10_000_000  # characters: some twenty novels; /dev/zero is one line that never ends


class _Lines(io.TextIOWrapper):
    """Text whose lines have an end."""

    def __next__(self) -> str:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    def readline(self, size: int = -1) -> str:
        line = super().readline(LONGEST_LINE + 1 if size < 0 else size)
        if len(line) > LONGEST_LINE:
            raise ValueError(
                f"{self.buffer.raw.name} has a line of more than {LONGEST_LINE:,} characters; a text file with one text a line was expected."
            )
        return line


@contextmanager
def open_text(path: str | Path, *, errors: str = "strict") -> Iterator[io.TextIOBase]:
    """Open a UTF-8 text file, gzipped or not, with errors that name the file and what to do; ``errors`` as for `open`.

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If the content is not UTF-8 (with the line), a line has no end, or a .gz file is damaged or unpacks to far more than a text
        does; if what is read from it is JSON that is nested without end.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}.")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; a file was expected.")
    opener = _gunzip if path.suffix == ".gz" else partial(open, mode="rb")
    try:
        with opener(path) as raw, _Lines(raw, encoding="utf-8-sig", errors=errors) as file:
            yield file
    except RecursionError:
        raise ValueError(f"{path} holds JSON that is nested too deeply to be read.") from None
    except (gzip.BadGzipFile, EOFError) as error:
        raise ValueError(f"{path} is damaged or not a gzip file: {error}.") from error
    except OSError as error:
        if error.filename is None:
            raise OSError(error.errno, f"{path} cannot be read: {error.strerror}") from error
        raise
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path} is not UTF-8{_where(path, opener)}. Save it as UTF-8, for example with: iconv -f latin1 -t utf-8."
        ) from error


def _gunzip(path: Path) -> io.BufferedReader:
    return io.BufferedReader(Gunzipped(path))


def _where(path: Path, opener) -> str:
    """The first line that is not UTF-8; the decoder reads in blocks and only knows the block."""
    with opener(path) as file:
        for number, line in enumerate(file, 1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return f" (line {number}: byte 0x{line[error.start]:02x})"
    return ""
