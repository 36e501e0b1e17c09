"""What one thread does to a model, no other thread sees: hooks, modes, a torch model that is still being made, a text that is cut."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from tiny import save_tiny_model
from transformers import BertForMaskedLM

from bertlook_course.analyses.ablation import ablated
from bertlook_teach import extract_attention, load_encoder
from bertlook_teach.measures import attention_gradients, value_zeroing
from bertlook_teach.model import devices, read

TEXT, OTHER = "the cat sat on the mat", "a dog was tired"
WAIT = 0.4  # seconds in which the other thread could do harm


@pytest.fixture
def encoder(tmp_path):
    return load_encoder(save_tiny_model(tmp_path / "tiny"), device="cpu")


def in_the_middle(encoder, change, monkeypatch):
    """Let ``change`` stop once within its first pass; what another thread reads meanwhile, and what ``change`` gives."""
    inside, done, own = threading.Event(), threading.Event(), threading.get_ident()
    forward = encoder.model.forward

    def stopping(*given, **options):
        if threading.get_ident() != own and not inside.is_set():
            inside.set()
            done.wait(WAIT)
        return forward(*given, **options)

    monkeypatch.setattr(encoder.model, "forward", stopping)
    with ThreadPoolExecutor(1) as pool:
        changed = pool.submit(change)
        assert inside.wait(10)
        read_meanwhile = extract_attention(encoder, OTHER).weights
        done.set()
        return read_meanwhile, changed.result()


def with_a_head_off(encoder):
    with ablated(encoder, "1-1 2-2", allow_all=True):
        return extract_attention(encoder, TEXT).weights


CHANGES = {
    "a head off": with_a_head_off,
    "vectors": lambda encoder: extract_attention(encoder, TEXT, vectors=True).values,
    "value zeroing": lambda encoder: value_zeroing(read(encoder, TEXT)),
    "gradients": lambda encoder: attention_gradients(read(encoder, TEXT)).signed,
}


@pytest.mark.parametrize("name", CHANGES)
def test_no_thread_meets_what_another_does_to_the_model(name, encoder, monkeypatch):
    if name == "gradients":
        encoder = load_encoder(BertForMaskedLM(encoder.model.config), encoder.tokenizer)
    alone = CHANGES[name](encoder)
    clean = extract_attention(encoder, OTHER).weights
    meanwhile, changed = in_the_middle(encoder, lambda: CHANGES[name](encoder), monkeypatch)
    assert (meanwhile == clean).all() and changed == pytest.approx(alone, abs=1e-6)


def test_a_thread_that_would_wait_for_ever_is_told_why(encoder, monkeypatch):
    monkeypatch.setattr(devices, "LONGEST_WAIT", 0.1)
    with (
        ablated(encoder, "1-1"),
        ThreadPoolExecutor(1) as pool,
        pytest.raises(
            RuntimeError, match=r"another thread has kept .* start no threads inside 'with ablated"
        ),
    ):
        pool.submit(extract_attention, encoder, TEXT).result()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(extract_attention, encoder, TEXT).result().n_tokens > 2, "and goes on afterwards"


def test_threads_that_ask_for_torch_get_one_model(tmp_path, monkeypatch):
    encoder = load_encoder(save_tiny_model(tmp_path / "tiny"))
    assert encoder.engine is not None
    both = threading.Barrier(8)

    def ask():
        both.wait()
        return encoder.model

    with ThreadPoolExecutor(8) as pool:
        assert len({id(asked.result()) for asked in [pool.submit(ask) for _ in range(8)]}) == 1


def test_dropout_does_not_come_back_while_another_thread_reads(encoder, monkeypatch):
    encoder.model.train()
    clean = extract_attention(encoder, OTHER).weights
    left, forward = threading.Event(), encoder.model.forward

    def stopping(*given, **options):
        left.wait(2 * WAIT)
        return forward(*given, **options)

    monkeypatch.setattr(encoder.model, "forward", stopping)
    with ThreadPoolExecutor(1) as pool:
        with encoder.evaluating():
            reading = pool.submit(extract_attention, encoder, OTHER)
            time.sleep(WAIT)  # it would be in the middle now, and then dropout comes back
        left.set()
        assert (reading.result().weights == clean).all() and encoder.model.training


def test_no_text_is_cut_because_another_thread_cuts_one(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / "tiny"))
    tokenizer, inside, done = encoder.tokenizer, threading.Event(), threading.Event()
    backend, long = tokenizer.backend_tokenizer, "cat " * 100

    class Stopping:
        def encode(self, *given, **options):
            if threading.get_ident() != own and not inside.is_set():
                inside.set()
                done.wait(WAIT)
            return backend.encode(*given, **options)

        def __getattr__(self, name):
            return getattr(backend, name)

    own, tokenizer.backend_tokenizer = threading.get_ident(), Stopping()
    with ThreadPoolExecutor(1) as pool:
        cut = pool.submit(tokenizer, long, truncation="longest_first", max_length=10)
        assert inside.wait(10)
        assert len(tokenizer(long)["input_ids"]) == 102
        done.set()
        assert len(cut.result()["input_ids"]) == 10


def test_nor_by_a_tokenizer_of_transformers(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / "tiny", "roberta"))

    def lengths(text):
        return {read(encoder, text, truncate=True).n_tokens for _ in range(200)}

    expected = lengths(TEXT)
    with ThreadPoolExecutor(4) as pool:
        found = [[pool.submit(lengths, text) for text in ("cat " * 300, TEXT)] for _ in range(3)]
        assert all(long.result() == {encoder.max_tokens} for long, _ in found)
        assert all(short.result() == expected for _, short in found)
