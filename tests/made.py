"""What tests are made of: maps, attention, trees, a tiny encoder, a command's answer, from a few given numbers.

Sizes differ from one another (3 layers, 2 heads, 5 or more tokens), so that a swapped axis cannot hide.
"""

from __future__ import annotations

import copy
import csv
import gzip
import inspect
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from bertlook_course.corpora import TreebankSentence
from bertlook_course.published import MeasuredTable
from bertlook_teach.model import Attention

LAYERS, HEADS = 3, 2
TOKENS = ("[CLS]", "yes", ",", "we", "[SEP]", "can", "[SEP]")
SPECIAL = ("[CLS]", "[SEP]")


def random_maps(*shape, seed: int = 0, spread: float = 1.0) -> np.ndarray:
    """Attention of shape (..., token, token) whose rows sum to 1; a small ``spread`` makes a few keys get nearly all."""
    return np.random.default_rng(seed).dirichlet(np.full(shape[-1], spread), size=shape[:-1])


def looks_back(n: int = 5) -> np.ndarray:
    """One head, shape (query, key): every token looks at the one before it, the first at itself."""
    weights = np.eye(n, k=-1)
    weights[0, 0] = 1
    return weights


def softmax(scores) -> np.ndarray:
    powers = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def attention(
    tokens=TOKENS,
    layers: int = LAYERS,
    heads: int = HEADS,
    *,
    weights=None,
    seed: int = 0,
    spread: float = 1.0,
    **about,
) -> Attention:
    """Random attention over given tokens. ``about`` replaces what is derived from them: word_ids, words, segment_ids, level, ...

    By default [CLS] and [SEP] are special, and every other token is a word of its own.
    """
    n = len(tokens)
    if weights is None:
        weights = random_maps(layers, heads, n, n, seed=seed, spread=spread)
    special = tuple(token in SPECIAL for token in tokens)
    number = iter(range(n))
    derived = {
        "word_ids": tuple(None if flag else next(number) for flag in special),
        "segment_ids": (0,) * n,
        "special": special,
        "words": tuple(token for token, flag in zip(tokens, special) if not flag),
        "text": "",
    }
    return Attention(np.asarray(weights, dtype=np.float32), tuple(tokens), **(derived | about))


def vector_attention(
    tokens=("[CLS]", "cat", "sat", "[SEP]"),
    layers=LAYERS,
    heads=HEADS,
    *,
    dim: int = 6,
    seed: int = 5,
    **about,
) -> Attention:
    """Attention with its queries and keys: weights made from them, as a model makes them."""
    queries, keys = np.random.default_rng(seed).normal(0, 1.5, size=(2, layers, heads, len(tokens), dim))
    weights = softmax(queries @ keys.swapaxes(-1, -2) / np.sqrt(dim))
    vectors = {"queries": queries.astype(np.float32), "keys": keys.astype(np.float32)}
    return attention(tokens, weights=weights, **vectors, **about)


def renamed(encoder, name: str = "models/somebody"):
    """The same model, so that what ships of it is found, under another name: what a deck says of it must not name the first."""
    other = copy.copy(encoder)
    vars(other)["name"] = name
    return other


def words_of(*shown) -> str:
    """What is said by sentences, pictures, menus of pictures and tables, one after the other."""
    said = []
    for one in shown:
        if isinstance(one, dict):
            said += [*one, words_of(*one.values())]
        elif hasattr(one, "svg"):
            said += [one.sentence, one.caption, *re.findall(r">([^<>]*[A-Za-z][^<>]*)<", one.svg)]
        else:
            said.append(str(one))
    return "\n".join(said)


def tree(words: str, governors, relations: str, upos: str = "", **fields) -> TreebankSentence:
    """A parsed sentence; governors are counted from 0, -1 for the root."""
    n = len(governors)
    blank = ("_",) * n
    about = {"upos": tuple(upos.split()) or blank, "xpos": blank, "lemmas": blank, "misc": ({},) * n}
    return TreebankSentence(
        tuple(words.split()), tuple(governors), tuple(relations.split()), **(about | fields)
    )


def arrows(svg: str, n_words: int) -> list[tuple[int, int]]:
    """(from, to) of each arc over a sentence: the words nearest to where its line begins and to the tip of its arrow."""
    feet = [
        float(x) for x in re.findall(r'<path d="M([-\d.]+) ', svg)
    ]  # a line, its arrow, the next line, ...
    middles = np.array([float(x) for x in re.findall(r'<text x="([-\d.]+)"', svg)][-n_words:])
    words = [int(np.abs(middles - x).argmin()) for x in feet]
    return list(zip(words[::2], words[1::2]))


def run(capsys, command: str, *arguments):
    """What ``bertlook command ...`` returns and prints: (exit code, captured output)."""
    from bertlook_bench.line import main

    code = main([command, *map(str, arguments)])
    return code, capsys.readouterr()


def read_rows(path: Path) -> list[dict[str, str]]:
    """The rows of a CSV file."""
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def tiny_encoder(folder: Path, family: str = "bert", **changes):
    """A tiny model of a family, saved and loaded, on the processor; ``changes`` go into its config (see tests/tiny.py)."""
    from tiny import save_tiny_model

    from bertlook_teach.model import load_encoder

    return load_encoder(save_tiny_model(folder, family, **changes), device="cpu")


def measured_with(model: str, columns: str, *rows: str):
    """A table of docs/results.md on a made-up page: columns and rows with ``|`` between their cells."""
    first, *names = columns.split("|")
    cells = (row.split("|") for row in rows)
    return MeasuredTable("0" * 16, True, model, (first, *names), {name: tuple(rest) for name, *rest in cells})


def write_lines(path: Path, *lines) -> Path:
    """A file of lines, packed where its name ends in .gz; what is no text becomes JSON."""
    text = "".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)
    return path


def conllu(words: str, heads, relations: str = "") -> str:
    """A sentence in CoNLL-U; heads are counted from 1, 0 for the root, and every relation is dep if none is given."""
    names = relations.split() or ["dep"] * len(heads)
    rows = zip(words.split(), heads, names, strict=True)
    lines = (f"{i}\t{word}\t_\tX\t_\t_\t{head}\t{name}\t_\t_" for i, (word, head, name) in enumerate(rows, 1))
    return "\n".join(lines) + "\n\n"


def printed_by(code: str, **options) -> str:
    """What a few lines print in a new Python that has loaded nothing of ours."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


FORBIDDEN = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function")
REQUESTS = ("fetch(", "XMLHttpRequest", "import(", "http://", "https://", "WebSocket", "sendBeacon")


class Looker:
    """Stands in for an encoder: its one layer has a head that looks where it is told, and one that looks back."""

    name, max_tokens, word_space = "looker", 64, ""

    class tokenizer:
        unk_token_id = None

        def __new__(cls, words, **options):
            class Encoding(dict):
                def word_ids(self):
                    return list(range(len(words)))

            return Encoding(input_ids=list(words))


def refusals(*rows):
    """A test of what is refused, from rows of (call, words of the message) or (call, words, kind of error), ValueError by default.

    The parameters of a call without a default are fixtures: ``(lambda bert: prune(bert, []), "nothing to prune")``. The words are a
    regular expression.
    """
    cases = [(call, words, *(kind or [ValueError])) for call, words, *kind in rows]

    @pytest.mark.parametrize(("call", "words", "kind"), cases, ids=[words for _, words, *_ in rows])
    def test(request, call, words, kind):
        asked = [one.name for one in inspect.signature(call).parameters.values() if one.default is one.empty]
        given = [request.getfixturevalue(name) for name in asked]
        with pytest.raises(kind, match=words):
            call(*given)

    return test


def counted_from_one(words: str, governors, relations: str, upos: str = "", **fields) -> TreebankSentence:
    """As ``tree``, with governors as CoNLL-U counts them: 0 for the root."""
    return tree(words, [governor - 1 for governor in governors], relations, upos, **fields)


def as_conllu(sentences) -> str:
    """Parsed sentences as the text of a CoNLL-U file."""
    blocks = []
    for one in sentences:
        rows = zip(one.words, one.upos, one.governors, one.relations)
        lines = [f"{i}\t{w}\t_\t{u}\t_\t_\t{g + 1}\t{r}\t_\t_" for i, (w, u, g, r) in enumerate(rows, 1)]
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks) + "\n\n"


def framed(words, weights, **about) -> Attention:
    """Attention over [CLS] words [SEP]."""
    return attention(("[CLS]", *words, "[SEP]"), weights=weights, **about)


def random_answers(sentences, layers: int = LAYERS, heads: int = HEADS, seed: int = 0, planted=()):
    """Which governor each head names, at random; ``planted={(direction, layer, head): predictor}`` replaces one head's."""
    from bertlook_course.analyses.syntax import Answers

    generator, parts = np.random.default_rng(seed), []
    for one in sentences:
        governors = generator.integers(0, len(one), (len(one), 2, layers, heads))
        for (direction, layer, head), predict in dict(planted).items():
            governors[:, direction, layer, head] = predict(one)
        parts.append((governors - np.arange(len(one))[:, None, None, None]).astype(np.int16))
    none = np.zeros((layers, heads))
    return Answers(np.concatenate(parts), list(sentences), Counter(), none, {"model": "made up"})


def tiny_masked_lm(folder: Path, **changes):
    """A tiny BERT that was saved with a masked-LM head, both with random weights."""
    import torch
    from tiny import save_tiny_model
    from transformers import BertConfig, BertForMaskedLM

    from bertlook_teach.model import load_encoder

    save_tiny_model(folder, **changes)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        BertForMaskedLM(BertConfig.from_pretrained(folder)).save_pretrained(folder)
    return load_encoder(folder, device="cpu")


def with_random_head(encoder, seed: int = 3):
    """The tiny models are saved without a masked-LM head: a fixed random one will do."""
    import torch

    from bertlook_teach.model import masked_lm

    generator = torch.Generator().manual_seed(seed)
    weight = torch.randn(encoder.model.config.hidden_size, len(encoder.tokenizer), generator=generator)
    masked_lm._HEADS[encoder] = lambda hidden: hidden @ weight
    return encoder


def stand_in(monkeypatch, weights_of) -> None:
    """Whatever model is asked for attention gives that of ``weights_of(number of the text, number of its tokens)``."""
    from bertlook_teach import model

    def read(encoder, corpus, *, batch_size):
        for number, words in enumerate(corpus):
            yield framed(words, weights_of(number, len(words) + 2))

    monkeypatch.setattr(model, "iter_attention", read)
