"""The pattern language: what is typed is understood or refused in words, and what was understood is written back as itself."""

import random

import numpy as np
from fuzzing import CASES, ODD, refused_or_read

from bertlook_course.analyses.patterns import CONDITIONS, PatternText, key, parse_pattern, query
from bertlook_course.corpora import TreebankSentence

TREE = TreebankSentence(
    ("the", "cat", ",", "it's", "sat"),
    (1, 4, 4, 4, -1),
    ("det", "nsubj", "punct", "expl", "root"),
    ("DET", "NOUN", "PUNCT", "PRON", "VERB"),
    *[("_",) * 5] * 2,
    ({},) * 5,
)
READING = PatternText.of(TREE)
WORDS = (
    "the",
    "cat",
    ",",
    "it's",
    'say "so"',
    "\u200b",
    "é",
    "[SEP]",
    "NOUN",
    "nsubj",
    "",
    "a\nb",
    "\\",
    "first",
    "second",
)
ARGUMENTS = (*WORDS, *ODD, -4, -1, 1, 2, 100, 10**30)
PIECES = ("query", "key", ".", "(", ")", "&", "|", "~", "'", '"', ",", "-", "1", "and", "not", "lambda", "*", " ", "\n", "“", "\x00", "é", "=", "[", "0" * 40, "\ud83d", "pos", "word", "offset", "governor")  # fmt: skip


def some_pattern(generator, depth=0):
    """Any pattern: built by Python's own operators from conditions that take what was drawn for them."""
    way = generator.randrange(6) if depth < 4 else 0
    if way <= 2:
        while True:
            side = generator.choice((query, key))
            drawn = [generator.choice(ARGUMENTS) for _ in range(generator.choice((0, 1, 1, 2)))]
            if depth < 3 and generator.random() < 0.1:
                drawn = [some_pattern(generator, depth + 1)]
            try:
                return getattr(side, generator.choice(sorted(CONDITIONS)))(*drawn)
            except ValueError:
                continue
    left = some_pattern(generator, depth + 1)
    if way == 3:
        return ~left
    return (
        left & some_pattern(generator, depth + 1) if way == 4 else left | some_pattern(generator, depth + 1)
    )


def test_every_pattern_is_read_back_from_what_it_prints():
    generator = random.Random(0)
    for _ in range(CASES):
        pattern = some_pattern(generator)
        written = repr(pattern)
        read = refused_or_read(parse_pattern, written)
        assert read == pattern, written
        assert np.array_equal(read.mask(READING), pattern.mask(READING)), written
        assert read.in_words().endswith(".")


def test_whatever_is_typed_is_a_pattern_or_an_error_that_says_why():
    generator = random.Random(1)
    understood = 0
    for _ in range(CASES):
        typed = repr(some_pattern(generator, 2))
        for _ in range(generator.randint(1, 3)):
            at = generator.randrange(len(typed) + 1)
            typed = typed[:at] + generator.choice(PIECES) + typed[at + generator.randint(0, 3) :]
        read = refused_or_read(parse_pattern, typed)
        if read is not None:
            understood += 1
            assert read.mask(READING).shape == (5, 5) and parse_pattern(repr(read)) == read, typed
    assert 0 < understood < CASES


def test_noise_is_refused():
    generator = random.Random(2)
    for _ in range(CASES):
        typed = "".join(generator.choices(PIECES, k=generator.randint(1, 30)))
        refused_or_read(parse_pattern, typed)
