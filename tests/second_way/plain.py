"""What the second way stands on: transformers, NumPy, SciPy, scikit-learn and the shipped files, and nothing of the package.

Printed numbers are read where a reader finds them: in the saved outputs of a deck, or in the model card.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
DATA, MODEL = ROOT / "data", ROOT / "data" / "model"


# --- what is printed -------------------------------------------------------------------------------------
def number(text: str) -> float:
    """A number as it is printed: a percentage as a share, a minus sign or a hyphen."""
    value = float(text.replace("−", "-").replace(",", "").rstrip(" %"))
    return value / 100 if text.endswith("%") else value


@cache
def deck_text(lesson: str) -> str:
    """Everything that a deck's saved outputs say, and the sentences of their pictures, without emphasis."""
    [path] = (ROOT / "slides").glob(f"{lesson}_*.ipynb")
    said = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            said += [data.get("text/markdown") or output.get("text") or data.get("text/plain") or ""]
            for drawn in re.findall('svg.xml;base64,([^"]*)', "".join(data.get("text/html", ""))):
                said += re.findall('aria-label="([^"]*)"', html.unescape(base64.b64decode(drawn).decode()))[
                    :1
                ]
    return "\n".join("".join(part) for part in said).replace("**", "").replace("`", "")


def on_slide(lesson: str, pattern: str) -> tuple[float, ...]:
    """The numbers that a pattern's groups catch on the slides of a lesson; it must fit, and everywhere alike."""
    found = set(re.findall(pattern, deck_text(lesson)))
    assert len(found) == 1, f"slides of lesson {lesson}: {pattern!r} fits {sorted(found)}"
    [groups] = found
    return tuple(map(number, (groups,) if isinstance(groups, str) else groups))


def card_row(first: str, table: int = 0) -> list[str]:
    """The cells after the first of a row of the model card; ``table`` counts the rows that begin so."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in (MODEL / "MODEL_CARD.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    return [row[1:] for row in rows if row[0].strip("*`") == first][table]


# --- the model -------------------------------------------------------------------------------------------
@cache
def loaded():
    """The shipped model in single precision, plain attention, and its tokenizer."""
    import torch
    from transformers import BertForPreTraining, BertTokenizerFast

    torch.set_num_threads(1)
    model = BertForPreTraining.from_pretrained(MODEL, attn_implementation="eager", dtype=torch.float32)
    return model.eval(), BertTokenizerFast.from_pretrained(MODEL)


class Read(NamedTuple):
    """One input as the model reads it."""

    maps: np.ndarray  # (layer, head, query, key)
    tokens: list[str]
    words: list[int | None]  # of each piece
    segments: list[int]
    hidden: list[np.ndarray]  # the embeddings, then each layer: (piece, width)


def read(first, second=None) -> Read:
    """Maps of a text, a pair of texts, or a list of words."""
    import torch

    model, tokenizer = loaded()
    split = not isinstance(first, str)
    encoded = tokenizer(
        first, second, is_split_into_words=split, return_tensors="pt", truncation=True, max_length=128
    )
    with torch.inference_mode():
        out = model.bert(**encoded, output_attentions=True, output_hidden_states=True)
    return Read(
        torch.cat(out.attentions).numpy(),
        tokenizer.convert_ids_to_tokens(encoded["input_ids"][0]),
        encoded.word_ids(),
        encoded["token_type_ids"][0].tolist(),
        [h[0].numpy() for h in out.hidden_states],
    )


def between_words(text: Read) -> tuple[np.ndarray, np.ndarray]:
    """Maps between words, (layer, head, word, word), and between all units with [CLS] first and [SEP] last: pieces looked at are added up,
    pieces that look averaged."""
    units = np.array([0] + [w + 1 for w in text.words[1:-1]] + [max(w for w in text.words[1:-1]) + 2])
    member = (units[:, None] == np.arange(units[-1] + 1)).astype(np.float64)
    whole = np.einsum(
        "pu,lhpk,kv->lhuv", member / member.sum(axis=0), text.maps.astype(float), member, optimize=True
    )
    return whole[:, :, 1:-1, 1:-1], whole


# --- the texts -------------------------------------------------------------------------------------------
def paragraphs() -> list[tuple[str, str]]:
    """The two-paragraph texts."""
    lines = (DATA / "texts" / "paragraphs.txt").read_text(encoding="utf-8").split("\n\n")
    blocks = ([line for line in block.splitlines() if line and not line.startswith("# ")] for block in lines)
    return [(block[0], block[1]) for block in blocks if block]


@cache
def paragraph_maps() -> list[Read]:
    return [read(*pair)._replace(hidden=[]) for pair in paragraphs()]


def sentences() -> list[str]:
    lines = (DATA / "texts" / "sentences.txt").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("# ")]


class Sentence(NamedTuple):
    """A sentence of the treebank; governors from 0, -1 for the root."""

    document: str
    words: list[str]
    governors: list[int]
    relations: list[str]
    upos: list[str]
    entities: list[str]


@cache
def treebank() -> tuple[Sentence, ...]:
    return tuple(_sentences())


def _sentences() -> Iterator[Sentence]:
    document = ""
    for block in (DATA / "treebank" / "treebank.conllu").read_text(encoding="utf-8").strip().split("\n\n"):
        lines = block.splitlines()
        for line in lines:
            if line.startswith("# newdoc id = "):
                document = line.removeprefix("# newdoc id = ")
        rows = [line.split("\t") for line in lines if line[:1].isdigit() and line.split("\t")[0].isdigit()]
        misc = [dict(part.split("=", 1) for part in row[9].split("|") if "=" in part) for row in rows]
        yield Sentence(
            document,
            [row[1] for row in rows],
            [int(row[6]) - 1 for row in rows],
            [row[7] for row in rows],
            [row[3] for row in rows],
            [fields.get("Entity", "") for fields in misc],
        )


def half_of(document: str) -> int:
    """0 for the first, third, ... document of the treebank, 1 for the others."""
    return list(dict.fromkeys(s.document for s in treebank())).index(document) % 2
