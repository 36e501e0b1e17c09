"""Readers of texts, pairs, treebanks, JSON lines: whatever is in the file, it is read or refused in words that name it."""

import json
import random

import pytest
from fuzzing import CASES, broken_bytes, broken_value, refused_or_read

from bertlook_course.corpora import (
    iter_pairs,
    iter_texts,
    load_treebank,
    read_coreference,
    read_edges,
    read_examples,
    read_keyphrases,
    read_negation,
    read_pronoun_cases,
)
from bertlook_course.corpora.treebank import read_conllu
from bertlook_teach.disk import data_path

COREF = {
    "doc_id": "d1",
    "tokens": ["The", "cat", "slept", "because", "it", "was", "tired", "."],
    "sentences": [[0, 8]],
    "upos": ["DET", "NOUN", "VERB", "SCONJ", "PRON", "AUX", "ADJ", "PUNCT"],
    "mentions": [{"span": [0, 2], "cluster": 1, "head": 1, "type": "animal"}, {"span": [4, 5], "cluster": 1, "pronoun": True}],
}  # fmt: skip
EDGES = {
    "id": "a-1",
    "tokens": ["The", "cat", "sat"],
    "targets": [{"span1": [1, 2], "label": "NOUN"}, {"span1": [2, 3], "label": "VERB"}],
}
PAIRED = {**EDGES, "targets": [{"span1": [1, 2], "span2": [2, 3], "label": 1}]}
GAP = {"id": "1", "text": "Ada met Eve when she was ten.", "pronoun": [17, 20], "a": [0, 3], "b": [8, 11], "a_coref": True, "b_coref": False}  # fmt: skip
WINOBIAS = {
    "id": "pro-1",
    "text": "The cook paid the nurse.",
    "mention": [0, 8],
    "pronoun": [18, 23],
    "type": 1,
}
EXAMPLE = {"s1": "a cat", "s2": "a dog", "label": "same", "group": "g", "kind": "k"}

READERS = {
    "texts": lambda path: list(iter_texts(path)),
    "pairs": lambda path: list(iter_pairs(path)),
    "tsv": read_examples,
    "conllu": read_conllu,
    "entities": read_coreference,
    "skipping": lambda path: read_conllu(path, on_error="skip", skipped=[]),
}


def shipped(*parts):
    """The first lines of a shipped file."""
    return [json.loads(line) for line in data_path(*parts).read_text(encoding="utf-8").splitlines()[:2]]


JSON_READERS = {
    "coref": (read_coreference, [COREF]),
    "skipping": (lambda path: read_coreference(path, on_error="skip"), [COREF, COREF]),
    "edges": (read_edges, [EDGES]),
    "pairs of spans": (read_edges, [PAIRED]),
    "pronouns": (read_pronoun_cases, [GAP]),
    "winobias": (read_pronoun_cases, [WINOBIAS, {**WINOBIAS, "id": "anti-1", "mention": [14, 23]}]),
    "tasks": (read_examples, [EXAMPLE, {**EXAMPLE, "label": 1}]),
    "numbers": (read_examples, [{**EXAMPLE, "label": 4}, {**EXAMPLE, "label": 0.5}]),
    "keyphrases": (read_keyphrases, shipped("keyphrases", "texts.jsonl")),
    "negation": (read_negation, shipped("negation", "sentences.jsonl")),
    "winogender": (read_pronoun_cases, shipped("texts", "minimal_pairs.jsonl")),
}


def sentences(n):
    """The first sentences of the shipped treebank, as text."""
    return "\n\n".join(data_path("treebank", "treebank.conllu").read_text(encoding="utf-8").split("\n\n")[:n])


def each(kinds):
    """The cases of a test are shared among its readers."""
    return max(1, CASES // len(kinds))


@pytest.mark.parametrize("kind", READERS)
def test_a_file_with_changed_bytes_is_read_or_refused_in_words(kind, memory_folder):
    generator = random.Random(kind)
    whole = {
        "texts": "The cat sat.\n# id = two\nIt slept.\n",
        "pairs": "The cat sat.\nIt slept.\n\nA dog came.\nIt barked.\n",
        "tsv": "sentence1\tsentence2\tlabel\na cat\ta dog\tno\na cat\tthe cat\tyes\n",
    }.get(kind) or sentences(2)
    path = memory_folder / ("a.tsv" if kind == "tsv" else "a.conllu")
    for _ in range(each(READERS)):
        content = broken_bytes(generator, whole.encode())
        path.write_bytes(content)
        found = refused_or_read(READERS[kind], path, content)
        assert found is None or found


@pytest.mark.parametrize("kind", JSON_READERS)
def test_lines_with_other_values_are_read_or_refused_in_words(kind, memory_folder):
    generator = random.Random(kind)
    read, rows = JSON_READERS[kind]
    path = memory_folder / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    assert kind in ("skipping",) or read(path)  # what is broken below is whole here
    for number in range(each(JSON_READERS)):
        lines = [json.dumps(broken_value(generator, row)) for row in rows]
        content = "\n".join(lines).encode()
        if number % 4 == 0:
            content = broken_bytes(generator, content)
        path.write_bytes(content)
        found = refused_or_read(read, path, content)
        assert found is None or found


def test_a_treebank_that_is_written_out_is_read_as_it_was(memory_folder):
    """2,000 sentences with odd words: what is written in CoNLL-U comes back."""
    generator = random.Random(0)
    odd = (
        "a",
        "n't",
        "ß",
        "二",
        "👍",
        "e\u0301",
        "#",
        "1-2",
        "_x",
        "=",
        "<b>",
        "\u200b.",
        "’",
        "#1",
        "\u0663",
    )
    expected = [[generator.choice(odd) for _ in range(generator.randint(1, 7))] for _ in range(CASES)]
    row = "{}\t{}\t_\tX\t_\t_\t{}\tdep\t_\t_".format
    blocks = ["\n".join(row(i, word, i - 1) for i, word in enumerate(words, 1)) for words in expected]
    path = memory_folder / "t.conllu"
    path.write_text("\n\n".join(blocks) + "\n\n", encoding="utf-8")
    assert [list(sentence.words) for sentence in read_conllu(path)] == expected


def test_texts_that_are_written_out_are_read_as_they_were(memory_folder):
    """But for the spaces around them and empty lines; none of these letters make a comment."""
    generator = random.Random(0)
    letters = "ab cä é\u0301二👍<&>\"'\\\t#\u00a0\u2028\x0b\x0c\x85\u200f"
    lines = ["".join(generator.choices(letters, k=generator.randint(0, 12))) for _ in range(CASES)]
    path = memory_folder / "t.txt"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")
    kept = [line.strip(" ") for line in lines]
    assert list(iter_texts(path)) == [line for line in kept if line]


def test_the_shipped_treebank_is_whole():
    assert len(load_treebank()) > 600
