"""Make the three tasks in ``data/tasks`` from the project's own texts and from grammars and word lists written for it.

    python training/make_tasks.py            # write data/tasks/*/
    python training/make_tasks.py --check    # compare with what is there, write nothing

What is drawn by lot is drawn by SHA-256, so the files come out the same, byte for byte, with every version of Python.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import task_agreement
import task_sentiment

ROOT = Path(__file__).resolve().parent.parent
TASKS = ROOT / "data" / "tasks"
SPLITS = ("train", "dev", "test")
SAME, DIFFERENT = "same text", "different texts"
DOCUMENT_SHARES = (0.56, 0.14, 0.30)
MOST_WORDS = 40  # in two sentences, so that a pair fits into 128 wordpieces
# A full stop after a title ends no sentence; the rule of tests/corpora/test_texts.py.
_SENTENCE_END = re.compile(r'(?<!\bMr\.)(?<!\bMrs\.)(?<=[.?!"]) +(?=["A-Z])')


def lot(*key) -> int:
    """A number drawn by the key, and the same whenever the key is."""
    return int.from_bytes(hashlib.sha256("\t".join(map(str, key)).encode()).digest()[:8], "big")


def pick(items: Sequence, *key):
    """One of the items."""
    return items[lot(*key) % len(items)]


def shuffled(items: Sequence, *key) -> list:
    """The items in an order drawn by the key and by what they are."""
    return sorted(items, key=lambda item: lot(*key, item))


def row(first: str, second: str | None, label: str, group: str, kind: str = "") -> dict:
    """A line of a task's file."""
    fields = {"s1": first, "s2": second, "label": label, "group": group, "kind": kind}
    return {key: value for key, value in fields.items() if value}


# --- same topic ----------------------------------------------------------------------------------------


def documents() -> list[tuple[str, str, str, list[str]]]:
    """The project's texts and the documents of its treebank: source, name, topic, sentences."""
    found = []
    for block in (ROOT / "data/texts/paragraphs.txt").read_text(encoding="utf-8").strip().split("\n\n"):
        name, topic, *paragraphs = block.strip().split("\n")
        sentences = [s for paragraph in paragraphs for s in _SENTENCE_END.split(paragraph)]
        found.append(("texts", name.removeprefix("# id = "), topic.removeprefix("# topic = "), sentences))
    by_document: dict[str, list[str]] = {}
    for line in (ROOT / "data/treebank/treebank.conllu").read_text(encoding="utf-8").splitlines():
        if line.startswith("# newdoc id = "):
            sentences = by_document[line.removeprefix("# newdoc id = ")] = []
        elif line.startswith("# text = "):
            sentences.append(line.removeprefix("# text = "))
    # A document of the treebank has a genre and no topic: each counts as one of its own.
    return found + [("treebank", name, name, sentences) for name, sentences in by_document.items()]


def same_topic() -> dict[str, list[dict]]:
    """Two sentences and two more, from later in the same document or from another one of the same split and source."""
    splits: dict[str, list[dict]] = {split: [] for split in SPLITS}
    everything = documents()
    for source in ("texts", "treebank"):
        ordered = shuffled([d[1] for d in everything if d[0] == source], "documents")
        ends = [round(sum(DOCUMENT_SHARES[:k]) * len(ordered)) for k in range(4)]
        for split, start, end in zip(SPLITS, ends, ends[1:]):
            chosen = set(ordered[start:end])
            pairs = [
                (name, topic, first, second)
                for kind, name, topic, sentences in everything
                if kind == source and name in chosen
                for i in range(len(sentences) - 3)
                for j in range(i + 2, len(sentences) - 1)
                for first, second in [(" ".join(sentences[i : i + 2]), " ".join(sentences[j : j + 2]))]
                if max(len(first.split()), len(second.split())) <= MOST_WORDS
            ]
            for (name, _, first, second), (_, _, _, other) in zip(pairs, _others(pairs), strict=True):
                splits[split].append(row(first, second, SAME, name))
                splits[split].append(row(first, other, DIFFERENT, name))
    return {split: shuffled_rows(rows) for split, rows in splits.items()}


def _others(pairs: list[tuple]) -> list[tuple]:
    """For each pair one of another topic, every pair once: so each second text is as often right as wrong."""
    others = shuffled(pairs, "others")
    taken = set()
    for i, pair in enumerate(pairs):

        def clashes(a: tuple, b: tuple) -> bool:
            return a[1] == b[1] or (a[2], b[3]) in taken

        if clashes(pair, others[i]):
            # Change places with the first one where both fit.
            j = next(
                j
                for j in sorted(range(len(pairs)), key=lambda j: (j < i, lot("swap", i, j)))
                if j != i and not clashes(pair, others[j]) and (j > i or not clashes(pairs[j], others[i]))
            )
            if j < i:
                taken.discard((pairs[j][2], others[j][3]))
                taken.add((pairs[j][2], others[i][3]))
            others[i], others[j] = others[j], others[i]
        taken.add((pair[2], others[i][3]))
    return others


# --- from grammars -------------------------------------------------------------------------------------


def agreement() -> dict[str, list[dict]]:
    """See `task_agreement`; a group is the four sentences of one frame."""
    splits = {}
    for split in SPLITS:
        rows = [
            row(text, None, label, f"{split} {number}", kind)
            for number, (kind, sentences) in enumerate(task_agreement.frames(split, pick))
            for text, label in sentences
        ]
        splits[split] = shuffled_rows(rows)
    return splits


def sentiment() -> dict[str, list[dict]]:
    """See `task_sentiment`; a group is the two halves of one contrast, in both orders, or a sentence with its negation."""
    made = task_sentiment.sentences(pick, lot)
    return {
        split: shuffled_rows(
            [row(text, None, label, group, kind) for text, label, group, kind in made[split]]
        )
        for split in SPLITS
    }


def shuffled_rows(rows: list[dict]) -> list[dict]:
    """Rows in an order that says nothing about them."""
    return sorted(rows, key=lambda r: lot("rows", r["s1"], r.get("s2", "")))


TASK_MAKERS = {
    "same-topic": (
        same_topic,
        (DIFFERENT, SAME),
        "Do two sentences and two others come from one text? The second ones stand later in the same text, or in another one.",
    ),
    "agreement": (
        agreement,
        (task_agreement.UNACCEPTABLE, task_agreement.ACCEPTABLE),
        "Does the verb agree with its subject, although a noun of the other number is near? Each bag of words has both answers.",
    ),
    "sentiment": (
        sentiment,
        (task_sentiment.NEGATIVE, task_sentiment.POSITIVE),
        "Is the writer pleased or not? Plain, negated and contrasted judgements of films, meals, journeys and the like.",
    ),
}


def files() -> dict[str, str]:
    """Path inside ``data/tasks`` -> content."""
    content = {}
    for name, (make, labels, description) in TASK_MAKERS.items():
        about = {"name": name, "labels": labels, "metric": "accuracy", "description": description}
        content[f"{name}/task.json"] = json.dumps(about, indent=1) + "\n"
        for split, rows in make().items():
            content[f"{name}/{split}.jsonl"] = "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in rows)
    return content


def main(argv: Sequence[str] | None = None) -> int:
    """Write the files, or compare them; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare only; exit code 1 if a file differs")
    args = parser.parse_args(argv)
    different = []
    for name, content in files().items():
        path = TASKS / name
        if path.is_file() and path.read_bytes() == content.encode():
            continue
        different.append(name)
        if not args.check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.encode())
    print(f"{'differ' if args.check else 'written'}: {', '.join(different) or 'none'}")
    return int(args.check and bool(different))


if __name__ == "__main__":
    raise SystemExit(main())
