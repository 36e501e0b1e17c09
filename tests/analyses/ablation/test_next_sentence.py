"""Which of two sentences goes on: the bench's task score, beside the whole model run pair by pair."""

import numpy as np
import pytest
import torch
from made import refusals
from tiny import save_tiny_model
from transformers import BertConfig, BertForPreTraining

from bertlook_course.analyses.ablation import (
    Bench,
    NextSentence,
    NoNextSentenceHead,
    ablated,
    adjoining_sentences,
    all_heads,
    next_sentence_head,
)
from bertlook_course.corpora import load_pairs
from bertlook_teach.model import load_encoder

PAIRS = [
    ("The cat sat.", "It was tired."),
    ("A dog chased it.", "Unreally!"),
    ("Was the mat tired?", "The dog sat on it."),
    ("A mat.", "A cat sat on a cat."),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny BERT saved with both heads of pre-training, large weights so that heads matter."""
    place = save_tiny_model(tmp_path_factory.mktemp("tiny") / "bert", "bert")
    torch.manual_seed(5)
    model = BertForPreTraining(BertConfig.from_pretrained(place))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    model.save_pretrained(place)
    return place


@pytest.fixture(scope="module")
def encoder(folder):
    return load_encoder(folder)


def whole_model(encoder, folder, heads, how="zero"):
    """The model as it was saved, one pair at a time: the margin of each, own pairs first, then the others."""
    saved = BertForPreTraining.from_pretrained(folder).eval()
    inputs = PAIRS + [(a, PAIRS[(i + 2) % 4][1]) for i, (a, _) in enumerate(PAIRS)]
    margins = []
    for a, b in inputs:
        read = encoder.tokenizer(a, b, return_tensors="pt", return_token_type_ids=True)
        with torch.no_grad(), ablated(encoder, heads, how, allow_all=True):
            pooled = saved.bert.pooler(encoder.model(**read).last_hidden_state)
            yes, no = saved.cls.seq_relationship(pooled)[0].tolist()
        margins.append(yes - no)
    return np.array(margins)


@pytest.mark.parametrize("heads", [[], [(0, 1)], [(1, 0), (2, 1)]])
@pytest.mark.parametrize("how", ["zero", "uniform"])
def test_the_answers_are_those_of_the_whole_model(encoder, folder, heads, how):
    own, other = np.split(whole_model(encoder, folder, heads, how), 2)
    assert np.abs(own - other).min() > 1e-4  # otherwise this compares rounding
    assert NextSentence(encoder, PAIRS)(heads, how).tolist() == (own > other).astype(float).tolist()


def test_the_head_is_that_of_the_folder(encoder, folder):
    hidden = torch.randn(3, encoder.model.config.hidden_size)
    model = BertForPreTraining.from_pretrained(folder).eval()
    expected = model.cls.seq_relationship(model.bert.pooler(hidden[:, None]))
    np.testing.assert_allclose(next_sentence_head(encoder)(hidden.numpy()), expected.detach(), atol=1e-5)


def test_with_all_heads_off_cls_sees_nothing_and_every_pair_is_a_tie(encoder):
    assert NextSentence(encoder, PAIRS)(all_heads(encoder)).tolist() == [0.5] * 4


def test_own_and_other_sentence_the_other_way_round_turns_every_answer(encoder):
    swapped = [(a, PAIRS[(i + 2) % 4][1]) for i, (a, _) in enumerate(PAIRS)]
    assert (NextSentence(encoder, PAIRS)() + NextSentence(encoder, swapped)()).tolist() == [1.0] * 4


def test_the_second_sentence_is_read_as_the_second_segment(encoder, monkeypatch):
    """All-zero segments would change what the model answers."""
    from bertlook_course.analyses.ablation import next_sentence as module

    kept = {}

    class Spy(module.Replay):
        def __init__(self, encoder, ids, mask, segments=None):
            kept["segments"] = segments
            super().__init__(encoder, ids, mask, segments)

    monkeypatch.setattr(module, "Replay", Spy)
    NextSentence(encoder, PAIRS)
    second = len(encoder.tokenizer(PAIRS[0][1])["input_ids"]) - 1
    assert int(kept["segments"][0].sum()) == second


def test_the_bench_shows_it_by_name(encoder):
    from bertlook_course.render import bench_result

    found = Bench(encoder, "the cat [MASK]", texts=["the cat sat"], classify=NextSentence(encoder, PAIRS))
    before, after = found.run(), found.run(all_heads(encoder))
    said = bench_result(found, before, after)["scores"][1]
    assert said.startswith(f"Next sentence or another, share right: {before.right.mean():.2f} → 0.50")


def test_the_seam_of_two_paragraphs():
    shipped, pairs = adjoining_sentences(), load_pairs()
    assert len(shipped) == 100 == len(pairs)
    for (last, first), (a, b) in zip(shipped, pairs):
        assert 0 < len(last) < len(a) and a.endswith(last) and 0 < len(first) < len(b) and b.startswith(first)


def test_a_random_twin_gets_a_random_head_always_the_same():
    first, second = (next_sentence_head(load_encoder("specimen-random")) for _ in range(2))
    hidden = np.ones((1, load_encoder("specimen-random").config.hidden_size), np.float32)
    assert (first(hidden) == second(hidden)).all()


test_what_has_no_answer_says_so = refusals(
    (lambda encoder: NextSentence(encoder, PAIRS[:1]), "at least two are needed; got 1"),
    (lambda encoders: NextSentence(encoders["bert"], PAIRS), "lacks", NoNextSentenceHead),
    (lambda encoders: NextSentence(encoders["roberta"], PAIRS), "models come without", NoNextSentenceHead),
)
