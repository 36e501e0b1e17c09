"""Click a head off: the bench that computes, the texts and the picture, and the live view without a browser."""

import base64
import re
from types import SimpleNamespace
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
import traitlets
from made import refusals, tiny_encoder, with_random_head
from tiny import HEADS, LAYERS

from bertlook_course.analyses.ablation import Bench, NextSentence, Replay, guess_masked, read_masked
from bertlook_course.analyses.ablation import bench as module
from bertlook_course.analyses.ablation import heads_off as ablation
from bertlook_course.render import bench_result, describe_change, describe_off, render_bench
from bertlook_course.widgets import AblationBench
from bertlook_teach.model import NoMaskedLMHead, load_encoder, masked_lm_head
from bertlook_teach.stats import unit_interval

TEXTS = ["The cat sat on the mat.", "A dog chased it, really.", "It was tired."]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return with_random_head(tiny_encoder(tmp_path_factory.mktemp("tiny") / "bert"))


@pytest.fixture
def bench(encoder):
    return Bench(encoder, "The cat sat on the mat.", 2, texts=TEXTS)


def naive(bench, off, how):
    """The whole model, from the words up, with the hooks of the package: (vector of the masked piece, losses)."""
    encoder, head = bench.encoder, masked_lm_head(bench.encoder)
    vectors = []
    with torch.no_grad(), ablation.ablated(encoder, off, how, allow_all=True):
        for ids, mask in (
            (torch.tensor([bench.sentence.ids]), None),
            (torch.tensor(bench.padded), torch.tensor(bench._batch.mask)),
        ):
            mask = torch.ones_like(ids) if mask is None else mask
            vectors.append(encoder.model(input_ids=ids, attention_mask=mask).last_hidden_state)
    scores = head(vectors[1][bench._rows, bench._positions])
    losses = -torch.log_softmax(scores, dim=-1)[range(len(scores)), bench._truths]
    return torch.softmax(head(vectors[0][0, bench.sentence.masked]), dim=-1), losses.numpy()


# ---- the sentence ---------------------------------------------------------------------------------------------


def test_the_word_to_guess_is_masked_and_remembered(encoder):
    found = read_masked(encoder, "The cat sat.", 2)
    mask = encoder.tokenizer.mask_token_id
    assert found.tokens == ("[CLS]", "the", "cat", "sat", ".", "[SEP]") and found.masked == 2
    assert found.ids[2] == mask and found.ids.count(mask) == 1
    assert found.truth == encoder.tokenizer.convert_tokens_to_ids("cat")


def test_a_typed_mask_is_taken_and_has_no_right_answer(encoder):
    found = read_masked(encoder, "The [MASK] sat.")
    assert (found.masked, found.truth) == (2, None)


def test_by_default_the_last_word_of_one_piece_is_masked(encoder):
    assert (
        read_masked(encoder, "The cat sat, really.").masked == 3
    )  # "really" is more than one piece, "." no word
    assert read_masked(encoder, "?").masked == 1


# ---- the bench ------------------------------------------------------------------------------------------------

OFFS = ([], [(0, 1)], [(1, 0), (2, 1)], [(2, 0)], [(layer, head) for layer in range(3) for head in range(2)])


@pytest.mark.parametrize("how", ablation.WAYS)
@pytest.mark.parametrize("off", OFFS, ids=len)
def test_what_is_reused_gives_what_a_whole_pass_gives(bench, off, how):
    for before in OFFS:  # whatever was run before
        bench.run(before, how)
        bench._outcomes.clear()
        found = bench.run(off, how)
        share, losses = naive(bench, off, how)
        assert found.losses == pytest.approx(losses, abs=1e-4)
        assert found.truth == pytest.approx(float(share[bench.sentence.truth]), abs=1e-5)
        assert found.guesses[0][1] == pytest.approx(float(share.max()), abs=1e-5)


def test_only_the_layers_from_the_lowest_change_up_are_run(bench):
    bench.run([(2, 0)])
    assert bench._batch.layers_run == 1
    bench.run([(1, 0), (2, 0)])
    assert bench._batch.layers_run == 2
    bench.run([(1, 0), (2, 1)])  # layer 2 is as it was in the last run
    assert bench._batch.layers_run == 1
    bench.run([(0, 0)])
    assert bench._batch.layers_run == 3


def test_switching_back_costs_nothing(bench, monkeypatch):
    first = bench.run([(0, 0)])
    monkeypatch.setattr(Replay, "run", lambda *_: pytest.fail("computed twice"))
    assert bench.run("1-1") is first


@pytest.mark.parametrize("family", ["albert", "distilbert", "electra", "roberta"])
def test_other_families_give_what_a_whole_pass_gives(tmp_path, family):
    encoder = with_random_head(tiny_encoder(tmp_path, family))
    found = Bench(encoder, "the cat sat", 2, texts=TEXTS[:2])
    for how in ablation.WAYS:
        off = [(1, 0), (2, 1)]
        share, losses = naive(found, off, how)
        assert found.run(off, how).losses == pytest.approx(losses, abs=1e-4)
        assert found.run(off, how).truth == pytest.approx(float(share[found.sentence.truth]), abs=1e-5)


def test_padding_takes_no_part(encoder):
    """The loss of a short text is the same beside a long one, also where heads look at all real tokens equally."""
    alone = Bench(encoder, "the cat", texts=[TEXTS[2]])
    beside = Bench(encoder, "the cat", texts=[TEXTS[2], TEXTS[1]])
    for how in ablation.WAYS:
        together = beside.run([(0, 0), (1, 1)], how)
        assert together.losses[beside.units == 0] == pytest.approx(
            alone.run([(0, 0), (1, 1)], how).losses, abs=1e-4
        )


def test_the_losses_are_of_the_pieces_that_were_hidden(bench):
    assert len(bench.units) == len(bench.run().losses) == len(bench.run().hits)
    assert set(bench.units) == {0, 1, 2}
    assert bench.run().losses.min() >= 0


def test_a_model_on_which_hooks_do_not_act_is_not_played_with(encoder, monkeypatch):
    found = Bench(encoder, "the cat", texts=TEXTS)

    def fails(*_):
        raise RuntimeError("the positive control failed")

    monkeypatch.setattr(module, "positive_control", fails)
    with pytest.raises(RuntimeError, match="positive control"):
        found.run([(0, 0)])
    found.run()  # nothing off needs no control


def test_a_classifier_is_asked_with_the_same_heads_off(encoder):
    asked = []

    def classify(heads, how):
        asked.append((heads, how))
        return [True, False, not heads, True]

    found = Bench(encoder, "the cat", texts=TEXTS, classify=classify)
    before, after = found.run(), found.run([(1, 1)], "uniform")
    assert asked == [((), "zero"), (((1, 1),), "uniform")]
    said = bench_result(found, before, after)["scores"]
    assert said[1].startswith("Task, share right: 0.75 → 0.50, change −0.25 [") and said[1].endswith(
        "(4 examples)."
    )


# ---- in words -------------------------------------------------------------------------------------------------


def test_a_change_comes_with_the_interval_over_texts():
    before, after, units = [1.0, 2.0, 3.0], [2.0, 2.0, 1.0], [0, 0, 1]
    low, high = unit_interval(np.subtract(after, before), units)
    said = describe_change(before, after, units)
    assert said.startswith("2.00 → 1.67, change −0.33 [") and f"{low:+.2f}".replace("-", "−") in said
    assert f"{high:+.2f}]" in said
    assert describe_change(before, before, units) == "2.00 → 2.00, change 0.00 [0.00, 0.00]"


def test_which_heads_are_off_is_named_or_counted():
    shape = (4, 3)
    assert describe_off([(3, 2)], shape) == "head 4-3 off"
    assert describe_off([(0, h) for h in range(3)], shape) == "layer 1 off"
    assert describe_off([(0, 0), (0, 1), (1, 0), (2, 0), (3, 0)], shape) == "5 of 12 heads off"
    assert describe_off([(l, h) for l in range(4) for h in range(3)], shape) == "all 12 heads off"


def test_the_texts_are_those_of_the_outcomes(bench):
    before, after = bench.run(), bench.run([(0, 1)])
    said = bench_result(bench, before, after)
    assert [piece for piece, *_ in said["after"]] == [piece for piece, _ in after.guesses]
    assert said["truth"] == "cat" and said["sentence"].startswith("bert: head 1-2 off (its output is 0)")
    assert f"{before.losses.mean():.2f} → {after.losses.mean():.2f}" in said["scores"][0]
    assert said["cost"] == pytest.approx(after.losses.mean() - before.losses.mean(), abs=1e-4)
    assert "of 3 texts" in said["scores"][0]
    every = bench.run(ablation.all_heads(bench.encoder))
    assert "positive control" in bench_result(bench, before, every)["sentence"]
    assert bench_result(bench, before, before)["sentence"].startswith("bert: all heads on. Right word “cat”")


def test_the_picture_shows_each_switch_and_escapes_tokens():
    result = {
        "before": [["<b>", 0.5, "50 %"]], "after": [["cat", 0.2, "20 %"]], "truth": "cat", "title": "now",
        "scores": ["Loss: 1 → 2."], "sentence": "Head 1-3 off & more.",
    }  # fmt: skip
    svg = render_bench((2, 3), [(0, 2)], ["[CLS]", "<img>", "[SEP]"], 1, "[MASK]", result).svg
    titles = [t.text for t in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}title")]
    assert titles[1:] == [f"Head {l}-{h}: {'off' if (l, h) == (1, 3) else 'on'}" for l in (1, 2) for h in (1, 2, 3)]  # fmt: skip
    assert svg.count("✕") == 1 and "<img" not in svg and "&lt;b&gt;" in svg and "[MASK]" in svg
    assert 'stroke-width="1.2"' not in svg  # "cat" was not among the guesses before
    again = render_bench(
        (2, 3), [(0, 2)], ["[CLS]", "a", "[SEP]"], 1, "[MASK]", result | {"after": [["<b>", 0.2, "20 %"]]}
    ).svg
    wide = re.findall(r'height="14.7" fill="none" stroke="#565d66" stroke-width="1.2"', again)
    assert len(wide) == 1  # what "<b>" was, framed behind what it is


# ---- the view -------------------------------------------------------------------------------------------------


@pytest.fixture
def shown(encoder):
    return AblationBench(encoder, "The cat sat on the mat.", masked=2, off="2-1", texts=TEXTS)


def test_a_switch_is_answered_at_once_and_the_answer_says_to_what(shown):
    assert shown.off == ((1, 0),) and shown.view.result["off"] == [[1, 0]]
    shown.view.off = [[2, 1], [0, 0]]  # as the page sends it
    assert shown.off == ((0, 0), (2, 1)) and shown.view.result["off"] == [[0, 0], [2, 1]]
    expected = shown.bench.run("1-1 3-2")
    assert [piece for piece, *_ in shown.view.result["after"]] == [piece for piece, _ in expected.guesses]
    shown.view.how = "uniform"
    assert shown.view.result["how"] == "uniform"
    assert shown.outcome.how == "uniform" and shown.baseline.off == ()
    shown.off = ""
    assert shown.view.result["sentence"].startswith("bert: all heads on")


def test_another_word_is_masked_by_a_click_and_another_sentence_by_typing(shown):
    shown.view.chosen = 3
    assert shown.view.text["masked"] == 3 and shown.view.chosen == -1
    assert shown.view.result["truth"] == "sat" and shown.view.result["masked"] == 3
    shown.text_box.text.value = "A dog was [MASK]."
    assert shown.view.result["truth"] is None and shown.off == ((1, 0),)
    shown.text_box.text.value = "[MASK] [MASK]"
    assert "one word is guessed at a time" in shown.text_box.message.value
    shown.view.chosen = 2  # a mask is there already: said in the view, nothing lost
    assert "already" in shown.view.result["message"] and shown.view.result["truth"] is None
    shown.read("It was tired.")
    assert shown.text_box.texts == ("It was tired.", None)


def test_a_failed_control_is_said_and_not_passed_off_as_a_result(shown, monkeypatch):
    def fails(*_):
        raise RuntimeError("the positive control failed: nothing changes")

    monkeypatch.setattr(module, "positive_control", fails)
    shown.off = "1-2"
    assert shown.view.result["message"] == "The positive control failed: nothing changes"


def test_the_twin_has_the_same_switches(encoder, tmp_path):
    other = with_random_head(tiny_encoder(tmp_path / "other", seed=11), seed=4)
    shown = AblationBench(encoder, "The cat sat.", masked=2, twin=other, texts=TEXTS)
    first = shown.view.result["before"]
    shown.view.model_index = 1
    assert shown.bench.encoder is other and shown.view.result["before"] != first
    assert shown.view.result["model"] == 1
    wide = tiny_encoder(tmp_path / "wide", num_hidden_layers=2)
    with pytest.raises(ValueError, match=f"{LAYERS} layers of {HEADS} heads; .* has 2 of {HEADS}"):
        AblationBench(encoder, "The cat.", twin=wide)


def test_a_head_that_is_not_there_is_refused(shown):
    with pytest.raises(traitlets.TraitError, match=r"no head \[3, 0\]"):
        shown.view.off = [[3, 0]]
    with pytest.raises(ValueError, match="no head 4-1"):
        shown.off = "4-1"
    assert shown.off == ((1, 0),)


def test_the_saved_output_is_a_picture_a_sentence_and_a_name_and_is_the_same_twice(encoder):
    bundles = []
    for _ in range(2):
        made = AblationBench(encoder, "The cat sat.", masked=2, off="1-1", texts=TEXTS)
        bundle = made._repr_mimebundle_()
        bundle.pop("application/vnd.jupyter.widget-view+json")
        bundles.append(bundle)
    assert bundles[0] == bundles[1]
    html = bundles[0]["text/html"]
    svg = base64.b64decode(re.search(r"base64,([^\"]+)", html).group(1)).decode()
    assert svg.startswith("<svg") and "✕" in svg
    assert set(re.findall(r"<(\w+)", html)) == {"div", "figure", "img", "figcaption"}
    assert "Right word" in html and "Masked-LM loss" in html
    assert bundles[0]["text/plain"].endswith("3 x 2 heads, head 1-1 off)")
    assert AblationBench._ipython_display_ is None


def test_words_for_one_head_and_for_many():
    bench = SimpleNamespace(
        encoder=SimpleNamespace(n_layers=2, n_heads=2, title="specimen"),
        sentence=SimpleNamespace(truth=None, tokens=("a",), masked=0),
        units=np.zeros(2),
    )
    outcome = lambda off: module.Outcome(off, "uniform", (("a", 0.5),), None, np.ones(2), np.ones(2, bool))
    said = bench_result(bench, outcome(()), outcome(((0, 1),)))
    assert (
        said["sentence"]
        == "Specimen: head 1-2 off (it looks at all tokens equally). First guess “a” (50 %), now “a” (50 %)."
    )
    assert "of 1 text)" in said["scores"][0]


def test_a_guess_is_what_the_bench_says_with_all_heads_on(specimen):
    text = "The cat sat [MASK] the mat."
    sentence, guesses = guess_masked(specimen, text)
    whole = Bench(specimen, text, texts=["a cat"]).run()
    assert sentence.tokens[sentence.masked] == "[MASK]" and len(guesses) == 5
    assert [piece for piece, _ in guesses] == [piece for piece, _ in whole.guesses]
    assert [share for _, share in guesses] == pytest.approx([share for _, share in whole.guesses], abs=1e-5)


def test_a_page_gets_the_batch_as_the_bench_masks_it_and_draws_only_a_random_twin():
    specimen, twin = load_encoder("specimen"), load_encoder("specimen-random")
    bench = AblationBench(specimen, "He opened the door.", texts=TEXTS, twin=twin)
    page = bench.in_page()
    padded = bench.bench.padded.tolist()
    assert [row[: len(one["ids"])] for row, one in zip(padded, page["batch"])] == [
        one["ids"] for one in page["batch"]
    ]
    assert [len(one["truths"]) for one in page["batch"]] == np.bincount(bench.bench.units).tolist()
    assert (page["twin"]["seed"], page["twin"]["std"]) == (0, 0.02) and page["scores"] == []
    other = AblationBench(
        specimen, "He opened the door.", texts=TEXTS[:1], twin=specimen, classify=lambda heads, how: [1]
    )
    page = other.in_page()
    assert page["twin"] is None and page["interval"]["widening"] is None
    assert page["scores"] == ["Task, share right: needs Jupyter."]


# ---- what is refused ------------------------------------------------------------------------------------------


def test_a_text_that_cannot_be_read_leaves_the_bench_as_it_was(bench):
    before = bench.sentence
    with pytest.raises(ValueError, match="empty"):
        bench.set_text(" ")
    assert bench.sentence is before


test_what_cannot_be_is_refused = refusals(
    (lambda tiny: read_masked(tiny, "The [MASK] sat on [MASK]."), r"holds 2 times \[MASK\]; one word is guessed at a time"),
    (lambda tiny: read_masked(tiny, "The [MASK] sat.", 3), r"holds \[MASK\] already, at position 2"),
    (lambda tiny: read_masked(tiny, "The cat.", 0), "special token, which is never masked"),
    (lambda tiny: read_masked(tiny, "The cat.", 9), "lies outside the input"),
    (lambda bench: bench.run([(3, 0)]), r"no head \(3, 0\)"),
    (lambda bench: bench.run([(0, 0)], "mask"), "how is 'zero'"),
    (lambda encoder: Bench(encoder, "the cat", texts=[]), "batch is empty"),
    (lambda tiny: Bench(tiny, "the cat"), "masked-LM head", NoMaskedLMHead),
)  # fmt: skip


@pytest.mark.parametrize("how", ["zero", "uniform"])
@pytest.mark.parametrize("name", ["specimen", "specimen-random"])
def test_numpy_and_torch_are_two_ways_to_the_same_outcome(name, how):
    """Neither shares a line with the other: products of arrays here, hooks on the model there."""
    light, heavy = load_encoder(name), load_encoder(name)
    assert heavy.model is not None and heavy.engine is None and light.engine is not None
    for off in ((), "1-1 1-2 3-4", "2-*", ablation.all_heads(light)):
        ours, theirs = (
            Bench(e, "He opened the door.", 2, texts=TEXTS, classify=NextSentence(e)).run(off, how)
            for e in (light, heavy)
        )
        assert ours.truth == pytest.approx(theirs.truth, abs=2e-5)
        assert [word for word, _ in ours.guesses] == [word for word, _ in theirs.guesses]
        np.testing.assert_allclose(ours.losses, theirs.losses, atol=2e-5)
        assert ours.right.tolist() == theirs.right.tolist() and ours.hits.tolist() == theirs.hits.tolist()
    assert light.engine is not None  # torch was not asked


def test_numpy_starts_where_something_changed():
    bench = Bench(load_encoder("specimen"), "He opened the door.", texts=TEXTS)
    replay = bench._batch
    replay.run([(4, 0)])
    assert replay.layers_run == 2
    replay.run([(4, 0), (5, 1)])
    assert replay.layers_run == 1
    alone = Bench(load_encoder("specimen"), "He opened the door.", texts=TEXTS)._batch.run([(4, 0), (5, 1)])
    np.testing.assert_allclose(replay.last[1][-1], alone, atol=1e-6)


def test_the_positive_control_sees_a_numpy_that_switches_nothing_off(monkeypatch):
    encoder = load_encoder("specimen")
    bench = Bench(encoder, "He opened the door.", texts=TEXTS)
    monkeypatch.setattr(ablation, "heads_changed", lambda *_: lambda layer, handed, values: handed)
    with pytest.raises(RuntimeError, match="no ablation can be trusted here"):
        bench.run("1-1")


@pytest.mark.parametrize("how", ["zero", "uniform"])
def test_what_is_done_to_the_model_after_the_bench_was_made_is_not_passed_by(how):
    encoder = load_encoder("specimen")
    bench = Bench(encoder, "He opened the door.", 2, texts=TEXTS, classify=NextSentence(encoder))
    before = bench.run("1-1", how)
    with torch.no_grad():
        for parameter in encoder.model.encoder.parameters():
            parameter.mul_(0.5)
    after = bench.run("1-1", how)
    fresh = Bench(encoder, "He opened the door.", 2, texts=TEXTS, classify=NextSentence(encoder)).run(
        "1-1", how
    )
    assert after.truth == fresh.truth != before.truth
    np.testing.assert_array_equal(after.losses, fresh.losses)
    assert after.right.tolist() == fresh.right.tolist()


def test_the_mask_of_another_model_is_no_text(encoder):
    with pytest.raises(ValueError, match=r"<mask> is the mask of another model .* is \[MASK\]"):
        read_masked(encoder, "the cat sat on the <mask>")
