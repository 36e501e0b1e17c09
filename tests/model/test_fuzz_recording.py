"""A recording: what was written is read as it was, and a file that was changed is refused or changes nothing."""

import copy
import io
import json
import random
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from fuzzing import CASES, broken_bytes, broken_value, refused_or_read

from bertlook_course.storage import write_recording
from bertlook_teach import Attention, load_recording
from bertlook_teach.model.recording import checksum_of

WORDS = ("the", "cat", "é", "e\u0301", "<b>", "二", "👍", "'", "\u200b", "a b", "\ud83d", "\n", "\x00", '"')


def some_attention(generator, number):
    """Any attention a model might give, with rows from uneven to all on one token."""
    n, layers, heads = generator.randint(1, 6), 2, 3
    rng = np.random.default_rng(generator.randrange(2**32))
    weights = rng.dirichlet(np.full(n, generator.choice((0.01, 1, 100))), size=(layers, heads, n))
    tokens = tuple(generator.choice(WORDS) for _ in range(n))
    special = tuple(generator.random() < 0.3 for _ in range(n))
    ids = tuple(None if one else i for i, one in enumerate(special))
    text = f"{number} {' '.join(tokens)}"
    vectors = {}
    if generator.random() < 0.3:
        drawn = rng.normal(size=(3, layers, heads, n, 2)).astype("f4") * generator.choice((0, 1, 1e6))
        vectors = dict(zip(("queries", "keys", "values"), drawn))
    pair = "b" if generator.random() < 0.3 else None
    fields = (weights.astype("f4"), tokens, ids, (0,) * n, special, tokens, text, pair)
    return Attention(*fields, model="m", **vectors)


def test_what_was_written_is_read_as_it_was(memory_folder):
    """2,000 inputs in files of 50: weights to a part of 65,535, vectors to a part of 32,767 of their head's largest, the rest exactly."""
    generator = random.Random(0)
    path = memory_folder / "a.bertlook"
    for start in range(0, CASES, 50):
        written = [some_attention(generator, start + i) for i in range(50)]
        about = generator.choice(WORDS)
        said = refused_or_read(partial(write_recording, path, about=about), written)
        found = load_recording(path)
        assert said.fingerprint == found.fingerprint
        for one, other in zip(written, found.values(), strict=True):
            assert np.abs(one.weights - other.weights).max() < 1.01 / 65535
            assert np.allclose(other.weights.sum(-1), 1, atol=1e-6)
            for name in ("tokens", "word_ids", "segment_ids", "special", "words", "text", "text_pair"):
                assert getattr(one, name) == getattr(other, name)
            assert (one.queries is None) == (other.queries is None)
            if one.queries is not None:
                largest = np.abs(one.keys).max((-1, -2), keepdims=True)
                assert (np.abs(one.keys - other.keys) <= largest / 32767 + 1e-12).all()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    generator = random.Random(5)
    path = tmp_path_factory.mktemp("fuzz") / "whole.bertlook"
    write_recording(path, [replace(some_attention(generator, i), values=None) for i in range(2)], label="M")
    return path


def test_a_file_with_changed_bytes_is_refused_or_the_same(file, memory_folder):
    generator, content = random.Random(1), file.read_bytes()
    whole, path = load_recording(file).fingerprint, memory_folder / "a.bertlook"
    for _ in range(CASES):
        path.write_bytes(broken_bytes(generator, content))
        found = refused_or_read(load_recording, path, path.read_bytes())
        assert found is None or found.fingerprint == whole


def test_a_header_that_somebody_else_wrote_is_refused_or_can_be_shown(file, memory_folder):
    """With a checksum that fits: whoever makes such a file on purpose can have that too."""
    generator, path = random.Random(2), memory_folder / "a.bertlook"
    with np.load(file) as archive:
        members = dict(archive)
    header = json.loads(members.pop("about").tobytes())
    whole = load_recording(file)
    arrays = [one.arrays for one in whole.inputs]
    for _ in range(CASES):
        changed = broken_value(generator, {k: v for k, v in header.items() if k != "checksum"})
        kept = dict(members)
        if generator.random() < 0.2:
            name = generator.choice(sorted(kept))
            kept[name] = generator.choice(
                [kept[name][..., :1], kept[name].astype("f8"), np.zeros(3), np.array("x")]
            )
        if isinstance(changed, dict):
            changed["checksum"] = checksum_of(copy.deepcopy(changed), arrays)
        about = np.frombuffer(json.dumps(changed).encode(), np.uint8)
        memory = io.BytesIO()
        np.savez(memory, about=about, **kept)
        path.write_bytes(memory.getvalue())
        found = refused_or_read(load_recording, path, changed)
        if found is not None:
            assert all(np.allclose(one.weights.sum(-1), 1, atol=1e-6) for one in found.values()), changed
            assert all(one.to_words("mean").weights.ndim == 4 for one in found.values()), changed
