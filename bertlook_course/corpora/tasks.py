"""Small classification tasks: a text or a pair of texts, and what is to be said about it.

Three ship with the course (``data/tasks``); the files of GLUE, as JSON lines or TSV, are read too. A `Task` that exists is a
sound one: the labels are there, there are two classes or more, and no example stands in two of its splits.
"""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bertlook_teach.disk import data_path

from ..metrics import METRICS
from .texts import cells_of, from_json, json_lines, open_text

SHIPPED = ("same-topic", "agreement", "sentiment")
SPLITS = ("train", "dev", "test")
OVERLAP = ("refuse", "drop")
HELD_OUT = 0.1  # of train, where no test is given

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)

# The columns of GLUE's TSV files, in lower case; the first that is there counts.
_FIRST = ("sentence1", "#1 string", "question1", "question", "premise", "sentence", "s1", "text")

_SECOND = ("sentence2", "#2 string", "question2", "hypothesis", "s2", "text_pair")

# What data sets write where nobody gave a label: GLUE -1, SNLI -, others a word. Not "none", which is a class in some.
_NO_LABEL = {"", "-1", "-", "--", "?", "hidden", "n/a", "na", "nan", "null", "unlabeled", "unlabelled"}

_LABEL = ("label", "quality", "score", "is_duplicate", "gold_label")


@dataclass(frozen=True)
class Example:
    """One case of a task.

    Attributes
    ----------
    text : str
    text_pair : str or None
        The second text of a pair.
    label : str or float
        The name of a class, or a number where the task is to predict one.
    group : str
        What the case was made from, where several were made from one thing (a minimal pair, a document). Intervals draw whole
        groups, and a group stays within one split. Empty: the case stands alone.
    kind : str
        What sort of case it is, for scores by kind. Empty if there are no sorts.
    """

    text: str
    text_pair: str | None
    label: str | float
    group: str = ""
    kind: str = ""


@dataclass(frozen=True)
class Task:
    """Examples to learn from, to choose on and to report on.

    Attributes
    ----------
    name : str
    labels : tuple of str
        The classes; empty for a regression.
    train, dev, test : tuple of Example
    metric : {"accuracy", "matthews", "spearman", "pearson"}
    description : str

    Raises
    ------
    ValueError
        If a split is empty, a label is missing or unknown, there is one class only, some examples are pairs and others not,
        or an example (or a group) stands in two splits.
    """

    name: str
    labels: tuple[str, ...]
    train: tuple[Example, ...]
    dev: tuple[Example, ...]
    test: tuple[Example, ...]
    metric: str = "accuracy"
    description: str = ""

    def __post_init__(self):
        for field in ("labels", *SPLITS):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if self.metric not in METRICS:
            raise ValueError(f"the metric of a task is one of {', '.join(METRICS)}; got {self.metric!r}.")
        if self.is_regression != (self.metric in ("spearman", "pearson")):
            raise ValueError(
                f"{self.name}: {self.metric} does not fit {'a regression (no labels)' if self.is_regression else 'classes'}; use "
                f"{'spearman or pearson' if self.is_regression else 'accuracy or matthews'}."
            )
        for split in SPLITS:
            self._check(split)
        if not self.is_regression:
            _require_classes(self.name, self.labels, self.train)
        for one, other in (("train", "dev"), ("train", "test"), ("dev", "test")):
            _refuse_overlap(self.name, one, getattr(self, one), other, getattr(self, other))

    @property
    def is_regression(self) -> bool:
        return not self.labels

    @property
    def is_pair(self) -> bool:
        return self.train[0].text_pair is not None

    def __len__(self) -> int:
        return sum(len(getattr(self, split)) for split in SPLITS)

    def __repr__(self) -> str:
        sizes = " + ".join(str(len(getattr(self, split))) for split in SPLITS)
        kind = "a number" if self.is_regression else " / ".join(self.labels)
        return f"Task({self.name!r}: {kind}, {'pairs' if self.is_pair else 'texts'}, {sizes})"

    def _check(self, split: str) -> None:
        examples = getattr(self, split)
        if not examples:
            raise ValueError(
                f"{self.name}: the split {split} is empty; every task needs train, dev and test."
            )
        for number, example in enumerate(examples):
            place = f"{self.name}, example {number} of {split}"
            if (example.text_pair is None) == self.is_pair:
                raise ValueError(
                    f"{place} is {'one text' if self.is_pair else 'a pair'}, unlike the first one."
                )
            texts = [example.text] if example.text_pair is None else [example.text, example.text_pair]
            if not all(isinstance(text, str) and text.strip() for text in texts):
                raise ValueError(f"{place}: a text is empty.")
            _check_label(place, example.label, self.labels)


def _check_label(place: str, label, labels: Sequence[str]) -> None:
    if label is None or (label not in labels and _is_mark(label)):
        _refuse_no_label(place, label)
    if labels and label not in labels:
        number = isinstance(label, (int, float))
        raise ValueError(
            f"{place} has the label {label!r}, where one of {', '.join(labels)} is expected."
            + (" A number to predict is a regression: a task without labels=." if number else "")
        )
    if not labels and (isinstance(label, (str, bool)) or not math.isfinite(label)):
        raise ValueError(f"{place} has the label {label!r}, where a number is expected (a regression).")


def _is_mark(label) -> bool:
    return isinstance(label, str) and label.lower() in _NO_LABEL


def _refuse_no_label(place: str, label) -> None:
    mark = f" ({label} is how data sets mark a hidden one)" if label else ""
    raise ValueError(
        f"{place} has no label{mark}. Leave it out, or use a file with labels."
        + (" If it is a class, give it a name in letters." if label else "")
    )


def _require_classes(name: str, labels: Sequence[str], train: Sequence[Example]) -> None:
    if len(set(labels)) < len(labels):
        raise ValueError(f"{name}: a class is listed twice among {', '.join(labels)}.")
    used = {example.label for example in train}
    if len(used) < 2:
        raise ValueError(
            f"{name}: every training example is {used.pop()!r}. A task needs two classes or more."
        )
    if unused := [label for label in labels if label not in used]:
        raise ValueError(f"{name}: no training example is {unused[0]!r}, so it could never be learnt.")


def _key(example: Example) -> tuple[str, ...]:
    """What makes two examples the same to a model: their texts, whatever case and spaces."""
    texts = (example.text,) if example.text_pair is None else (example.text, example.text_pair)
    return tuple(" ".join(text.lower().split()) for text in texts)


def _refuse_overlap(name: str, one: str, first, other: str, second) -> None:
    seen = {_key(example) for example in first}
    shared = [example for example in second if _key(example) in seen]
    what = "examples"
    if not shared:
        groups = {example.group for example in first} - {""}
        shared = [example for example in second if example.group in groups]
        what = "examples of the same groups"
    if shared:
        raise ValueError(
            f"{name}: {one} and {other} share {len(shared)} {what}, for instance {shared[0].text[:70]!r}. A score on what was "
            "trained on says nothing; take them out of one of the two (read_glue does it with overlap='drop')."
        )


# --- reading -------------------------------------------------------------------------------------------
def load_task(name: str | Path) -> Task:
    """A task that ships with the course, or a folder of the same form (task.json, train.jsonl, dev.jsonl, test.jsonl).

    Parameters
    ----------
    name : str or path
        ``"same-topic"``, ``"agreement"``, ``"sentiment"``, or a folder.

    Raises
    ------
    FileNotFoundError, ValueError, TypeError
    """
    if not isinstance(name, (str, Path)):
        raise TypeError(f"a task is a name or a folder; got {type(name).__name__}: {name!r:.40}.")
    folder = data_path("tasks", str(name)) if name in SHIPPED else Path(name)
    about = folder / "task.json"
    if not about.is_file():
        raise FileNotFoundError(
            f"there is no task {str(name)!r}: {about} is missing. Use {', '.join(SHIPPED)}, a folder with task.json, train.jsonl, "
            "dev.jsonl and test.jsonl, or read_glue(train, dev)."
        )
    with open_text(about) as file:
        try:
            described = from_json(file.read())
            fields = {key: described[key] for key in ("name", "labels", "metric", "description")}
        except UnicodeDecodeError:
            raise  # open_text says what to do
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"{about}: expected an object with name, labels, metric, description; {error!r}."
            ) from None
    labels = fields["labels"]
    for key in ("name", "metric", "description"):
        if not isinstance(fields[key], str) or (key == "name" and not fields[key].strip()):
            raise ValueError(f"{about}: {key} is a text; got {fields[key]!r:.60}.")
    if not isinstance(labels, list) or not all(isinstance(label, str) and label.strip() for label in labels):
        raise ValueError(
            f'{about}: labels is a list of the names of classes, ["no", "yes"], or empty for a regression; got {labels!r:.60}.'
        )
    return Task(**fields, **{split: tuple(read_examples(folder / f"{split}.jsonl")) for split in SPLITS})


def read_examples(path: str | Path) -> list[Example]:
    """The examples of one file: JSON lines (``.jsonl``: s1, s2 if it is a pair, label, and if any group and kind) or TSV, ``.gz`` too.

    The columns of a TSV file are found by the names that GLUE gives them; without a header it is read as CoLA is
    (source, label, mark, sentence). A label that is a fraction stays a number, any other becomes the name of a class.

    Raises
    ------
    ValueError
        With file and line: a line with another number of columns, no label, an unknown column, broken JSON.
    """
    path = Path(path)
    suffix = (path.with_suffix("") if path.suffix == ".gz" else path).suffix
    if suffix not in (".jsonl", ".tsv"):
        raise ValueError(f"{path}: expected a file that ends in .jsonl or .tsv (.gz may follow).")
    rows = list((_jsonl if suffix == ".jsonl" else _tsv)(path))
    if not rows:
        raise ValueError(f"{path} holds no example.")
    # Scores such as 5.0, 4.75: one fraction makes all of them numbers.
    fraction = next((number for number, example in rows if isinstance(example.label, float)), None)
    start, first = rows[0]
    labels = {example.label for _, example in rows}
    for number, example in rows:
        if labels == {-1.0} or (_is_mark(example.label) and not _is_meant(example.label, labels)):
            _refuse_no_label(f"{path}, line {number}", example.label)
        if (example.text_pair is None) != (first.text_pair is None):
            kind = "one text" if example.text_pair is None else "a pair"
            raise ValueError(
                f"{path}, line {number}: the example is {kind}, unlike the first one (line {start})."
            )
        if fraction is not None and not _is_number(example.label):
            raise ValueError(
                f"{path}, line {number}: the label is {example.label!r}, where a number is expected, since line {fraction} has a fraction "
                "(a regression)."
            )
    if fraction is None:
        return [example for _, example in rows]
    return [replace(example, label=float(example.label)) for _, example in rows]


def _is_meant(label: str, labels: set) -> bool:
    """Whether a mark is more than that beside the other labels of its file: "-" beside "+", -1 among fractions."""
    return (label == "-" and "+" in labels) or (
        label == "-1" and any(isinstance(one, float) for one in labels)
    )


def _jsonl(path: Path) -> Iterator[tuple[int, Example]]:
    for number, where, line in json_lines(path):
        try:
            row = from_json(line)
            first = row["s1"]
        except (ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{where}: expected an object with s1 and label; {error!r}.") from None
        extra = {key: str(row[key]) for key in ("group", "kind") if key in row}
        yield number, _example(path, number, first, row.get("s2"), row.get("label"), **extra)


def _tsv(path: Path) -> Iterator[tuple[int, Example]]:
    with open_text(path) as file:
        lines = (
            (number, cells_of(line.rstrip("\r\n"))) for number, line in enumerate(file, 1) if line.strip()
        )
        header = next(lines, None)
        if header is None:
            return
        names = [name.strip().lower() for name in header[1]]
        if len(names) == 4 and names[1] in ("0", "1"):  # CoLA has no header
            places, rows = {"first": 3, "second": None, "label": 1}, [header, *lines]
        else:
            places, rows = _columns(path, names), lines
        for number, cells in rows:
            if len(cells) != len(names):
                raise ValueError(
                    f"{path}, line {number}: {len(cells)} columns, where the first line has {len(names)}. Is a tab inside a text, or "
                    "a line cut?"
                )
            second = None if places["second"] is None else cells[places["second"]]
            yield number, _example(path, number, cells[places["first"]], second, cells[places["label"]])


def _columns(path: Path, names: list[str]) -> dict[str, int | None]:
    def find(wanted: Iterable[str]) -> int | None:
        name = next((name for name in wanted if name in names), None)
        if name is not None and names.count(name) > 1:
            raise ValueError(
                f"{path}, line 1: {names.count(name)} columns are called {name}; rename the ones that are not meant."
            )
        return None if name is None else names.index(name)

    first, second, label = find(_FIRST), find(_SECOND), find(_LABEL)
    if first is not None and names[first] == "question" and second is None:
        second = find(("sentence",))  # QNLI
    if first is None or label is None:
        hint = " GLUE's test files have no labels; use its dev file." if label is None else ""
        raise ValueError(
            f"{path}, line 1: expected a header with a text ({', '.join(_FIRST)}) and a label ({', '.join(_LABEL)}); got "
            f"{', '.join(names)}.{hint}"
        )
    return {"first": first, "second": second, "label": label}


def _example(path: Path, number: int, first, second, label, **extra: str) -> Example:
    place = f"{path}, line {number}"
    for text in (first, second):
        if (text is not None or text is first) and not (isinstance(text, str) and text.strip()):
            raise ValueError(f"{place}: a text is empty or not a text: {text!r}.")
    if isinstance(label, (bool, list, dict)):
        raise ValueError(f"{place}: a label is a text or a number; got {label!r:.60}.")  # noqa: TRY004 - a file is wrong, not a call
    return Example(first.strip(), None if second is None else second.strip(), _label(label), **extra)


def _label(label) -> str | float:
    """Names of classes are text; a number with a decimal point is a number ("1" is the name of a class)."""
    if label is None:
        return ""
    if isinstance(label, str):
        label = label.strip()
        return float(label) if "." in label and _NUMBER.fullmatch(label) else label
    return label if isinstance(label, float) else str(label)


def _is_number(label: str | float) -> bool:
    return math.isfinite(label) if isinstance(label, float) else bool(_NUMBER.fullmatch(label))


def read_glue(
    train: str | Path,
    dev: str | Path,
    test: str | Path | None = None,
    *,
    name: str | None = None,
    metric: str | None = None,
    overlap: str = "refuse",
    limit: int | None = None,
    seed: int = 0,
) -> Task:
    """A task from the files of GLUE, as JSON lines or TSV (see `read_examples`).

    GLUE hides the labels of its test files. Without ``test``, a tenth of train, drawn with ``seed``, takes the place of dev, and dev
    that of test: what early stopping looks at must not be what is reported.

    Parameters
    ----------
    train, dev, test : path
    name : str, optional
        By default the beginning of the file's name (``mrpc-train.jsonl.gz``: mrpc), or the folder's.
    metric : {"accuracy", "matthews", "spearman", "pearson"}, optional
        By default Matthews' correlation for CoLA, Spearman's for numbers (STS-B), else accuracy.
    overlap : {"refuse", "drop"}
        What to do if train holds examples of dev or test, or dev of test: refuse, or drop them there. The number dropped is part
        of the description.
    limit : int, optional
        Train on so many examples only, drawn with ``seed``.

    Raises
    ------
    ValueError
        If classes are mixed with numbers, train and dev disagree on which it is, or as `Task`.
    """
    if overlap not in OVERLAP:
        raise ValueError(f"overlap must be one of {', '.join(OVERLAP)}; got {overlap!r}.")
    splits = {
        split: read_examples(path) for split, path in (("train", train), ("dev", dev), ("test", test)) if path
    }
    numbers = {split: isinstance(examples[0].label, float) for split, examples in splits.items()}
    if len(set(numbers.values())) > 1:
        said = ", ".join(f"{split} {'numbers' if own else 'classes'}" for split, own in numbers.items())
        raise ValueError(f"{train}: the files disagree on what is to be predicted: {said}.")
    regression = numbers["train"]
    name = name or _name_of(Path(train))
    notes = []
    draw = random.Random(seed)
    if test is None:
        shuffled = list(splits["train"])
        draw.shuffle(shuffled)
        held = max(1, round(HELD_OUT * len(shuffled)))
        splits = {"train": shuffled[held:], "dev": shuffled[:held], "test": splits["dev"]}
        notes.append(f"dev is {held} examples of {Path(train).name}, test is {Path(dev).name}")
    if overlap == "drop":
        dropped = _drop_overlap(splits)
        notes.append(f"{dropped} examples dropped because a later split has them")
    if limit is not None:
        if not 1 <= limit:
            raise ValueError(f"limit is a number of training examples, 1 or more; got {limit}.")
        splits["train"] = draw.sample(splits["train"], min(limit, len(splits["train"])))
        notes.append(f"trained on {len(splits['train'])} examples")
    labels = () if regression else tuple(sorted({str(e.label) for e in splits["train"]}))
    if metric is None:
        metric = "spearman" if regression else "matthews" if name.lower() == "cola" else "accuracy"
    return Task(name, labels, **splits, metric=metric, description="; ".join(notes))


def _drop_overlap(splits: dict[str, list[Example]]) -> int:
    dropped, later = 0, set()
    for split in reversed(SPLITS):
        kept = [example for example in splits[split] if _key(example) not in later]
        dropped += len(splits[split]) - len(kept)
        splits[split] = kept
        later |= {_key(example) for example in kept}
    return dropped


def _name_of(path: Path) -> str:
    stem = path.name.split(".")[0]
    prefix, _, split = stem.rpartition("-")
    return prefix if prefix and split == "train" else path.resolve().parent.name
