"""Heads removed for good: the answers of the masked model, fewer parameters, and folders that nobody can misread."""

import json
import shutil

import numpy as np
import pytest
import torch
from tiny import FAMILIES, HEAD_SIZE, HEADS, LAYERS, WIDTH, save_tiny_model

from bertlook_teach import load_encoder
from bertlook_teach.analyses.ablation import (
    RECORD,
    WEIGHTS,
    ablated,
    all_heads,
    folder_size,
    load_pruned,
    parameter_count,
    parameters_per_head,
    prune,
    prune_classifier,
    save_pruned,
)
from bertlook_teach.model import PrunedEncoder

TOLERANCE = 1e-5
PRUNABLE = tuple(family for family in FAMILIES if family != "albert")
SETS = ("1-1", "1-2", "2-*", "1-1 2-* 3-2", "1-* 2-* 3-1")  # of 3 layers x 2 heads: also layers without any


@pytest.fixture(scope="module")
def bert(encoders):
    return encoders["bert"]


@pytest.fixture
def saved(bert, tmp_path):
    return save_pruned(prune(bert, "1-1 2-*"), tmp_path / "pruned")


def make_batch(tokens=7):
    ids = torch.randint(5, 30, (3, tokens), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, tokens - tokens // 3 :] = 0
    return {"input_ids": ids, "attention_mask": mask}


def hidden(encoder, batch):
    with torch.no_grad():
        return encoder.model(**batch).last_hidden_state


# ---- the key test ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("heads", SETS)
@pytest.mark.parametrize("family", PRUNABLE)
def test_a_pruned_model_answers_as_the_masked_one(encoders, family, heads):
    encoder = encoders[family]
    pruned = prune(encoder, heads)
    for tokens in (7, 1):
        batch = make_batch(tokens)
        with ablated(encoder, heads):
            masked = hidden(encoder, batch)
        assert (hidden(pruned, batch) - masked).abs().max() < TOLERANCE
    assert (hidden(encoder, make_batch()) - hidden(pruned, make_batch())).abs().max() > 1e-3


def test_pruning_one_head_is_not_pruning_the_other(bert):
    one, other = (hidden(prune(bert, head), make_batch()) for head in ("2-1", "2-2"))
    assert (one - other).abs().max() > 1e-2


def test_the_encoder_given_stays_as_it_is(encoders):
    for family in PRUNABLE:
        encoder = encoders[family]
        before = {name: tensor.clone() for name, tensor in encoder.model.state_dict().items()}
        fingerprint, output = encoder.fingerprint, hidden(encoder, make_batch())
        pruned = prune(encoder, "1-1 3-*")
        with torch.no_grad():
            for parameter in pruned.model.parameters():
                parameter.zero_()
        after = encoder.model.state_dict()
        assert (
            all(torch.equal(before[name], after[name]) for name in before) and before.keys() == after.keys()
        )
        assert torch.equal(hidden(encoder, make_batch()), output) and encoder.fingerprint == fingerprint


def test_no_head_left_anywhere(bert):
    with pytest.raises(ValueError, match="all 6 heads .* allow_all=True"):
        prune(bert, all_heads(bert))
    pruned = prune(bert, all_heads(bert), allow_all=True)
    with ablated(bert, all_heads(bert), allow_all=True):
        masked = hidden(bert, make_batch())
    assert (hidden(pruned, make_batch()) - masked).abs().max() < TOLERANCE


def test_one_layer_and_one_head(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path / "least", num_hidden_layers=1, num_attention_heads=1))
    pruned = prune(encoder, "1-1", allow_all=True)
    with ablated(encoder, "1-1", allow_all=True):
        masked = hidden(encoder, make_batch())
    assert (hidden(pruned, make_batch()) - masked).abs().max() < TOLERANCE
    again = load_pruned(save_pruned(pruned, tmp_path / "pruned"))
    assert torch.equal(hidden(again, make_batch()), hidden(pruned, make_batch()))


def test_in_two_steps_as_in_one_and_heads_keep_their_names(bert):
    at_once, step = prune(bert, "1-1 2-1 2-2"), prune(prune(bert, "1-1 2-1"), "2-2")
    assert step.off == at_once.off == ((0, 0), (1, 0), (1, 1)) and step.kept == [[1], [], [0, 1]]
    assert torch.equal(hidden(step, make_batch()), hidden(at_once, make_batch()))
    assert step.original == at_once.original == bert.name and step.name == f"{bert.name} pruned"


def test_the_maps_that_are_left_are_those_of_the_heads_kept(bert):
    batch = make_batch()
    maps, _ = prune(bert, "1-1 3-*").attend(**batch)
    whole, _ = bert.attend(**batch)
    assert [m.shape[1] for m in maps] == [1, 2, 0]
    assert torch.allclose(maps[0][:, 0], whole[0][:, 1], atol=1e-6)


# ---- refused --------------------------------------------------------------------------------------------------


def test_heads_that_cannot_be_pruned(bert, encoders):
    pruned = prune(bert, "1-1 2-1")
    with pytest.raises(ValueError, match="head 1-1 .* is pruned already; .* Gone are: 1-1 2-1"):
        prune(pruned, "1-1 3-1")
    with pytest.raises(ValueError, match="all 6 heads .* would be gone"):
        prune(pruned, "1-2 2-2 3-*")
    with pytest.raises(ValueError, match="named twice"):
        prune(bert, "1-1 1-1")
    with pytest.raises(ValueError, match="no head 8-10: .*count from 1"):
        prune(bert, "8-10")
    with pytest.raises(ValueError, match="nothing to prune"):
        prune(bert, [])
    with pytest.raises(ValueError, match=r"\(albert\) share one block.* Mask it instead"):
        prune(encoders["albert"], "1-1")
    with pytest.raises(ValueError, match="has lost 2 heads for good"), ablated(pruned, "1-2"):
        pass


# ---- size -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", PRUNABLE)
def test_parameters_go_with_their_heads(encoders, family, tmp_path):
    encoder, pruned = encoders[family], prune(encoders[family], "1-1 2-* 3-2")
    assert parameter_count(encoder) - parameter_count(pruned) == 4 * parameters_per_head(encoder)
    by_hand = 3 * (WIDTH * HEAD_SIZE + HEAD_SIZE) + HEAD_SIZE * WIDTH  # Q, K, V with biases; W_O without
    assert parameters_per_head(encoder) == by_hand
    smaller = folder_size(encoder.folder) - folder_size(save_pruned(pruned, tmp_path / "pruned"))
    assert smaller == pytest.approx(
        4 * 4 * by_hand, abs=600
    )  # four bytes each; the headers of the files differ


def test_bert_base_s_count_is_the_published_one():
    from types import SimpleNamespace

    base = SimpleNamespace(head_size=64, model=SimpleNamespace(config=SimpleNamespace(hidden_size=768)))
    assert parameters_per_head(base) == 196_800
    assert 196_800 / (4 * (768 * 768 + 768)) == pytest.approx(
        0.0833, abs=1e-4
    )  # of the layer's attention block


def test_a_folder_without_weights_has_no_size(tmp_path):
    with pytest.raises(FileNotFoundError, match="no .*safetensors"):
        folder_size(tmp_path)


# ---- files ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", PRUNABLE)
def test_saved_and_loaded_it_is_the_same(encoders, family, tmp_path):
    pruned = prune(encoders[family], "1-1 2-* 3-2")
    loaded = load_pruned(save_pruned(pruned, tmp_path / "pruned"))
    assert isinstance(loaded, PrunedEncoder) and loaded.off == pruned.off
    assert torch.equal(hidden(loaded, make_batch()), hidden(pruned, make_batch()))
    assert loaded.fingerprint == pruned.fingerprint and not loaded.model.training
    assert loaded.tokenizer("a cat")["input_ids"] == pruned.tokenizer("a cat")["input_ids"]
    assert loaded.max_tokens == pruned.max_tokens and loaded.folder == tmp_path / "pruned"
    with pytest.raises(ValueError, match="pruned already"):
        prune(loaded, "1-1")
    further = prune(loaded, "1-2")
    assert torch.equal(hidden(further, make_batch()), hidden(prune(pruned, "1-2"), make_batch()))


def test_the_record_says_which_heads_are_gone_and_nothing_else_is_executable(saved):
    record = json.loads((saved / RECORD).read_text())
    assert record["pruned heads"] == ["1-1", "2-1", "2-2"] and record["heads left in each layer"] == [1, 0, 2]
    assert {path.suffix for path in saved.iterdir()} <= {".json", ".safetensors", ".txt"}


def test_plain_transformers_refuses_the_folder(saved):
    from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, BertModel

    for loader in (AutoConfig, AutoModel, AutoModelForSequenceClassification):
        with pytest.raises((ValueError, KeyError), match="bertlook-pruned"):
            loader.from_pretrained(saved, local_files_only=True)
    with pytest.raises(
        OSError, match="no file named model.safetensors"
    ):  # a class of one's choice: no silent random weights
        BertModel.from_pretrained(saved, local_files_only=True)


def test_load_encoder_says_how_to_open_it(saved, bert):
    with pytest.raises(ValueError, match=r"holds a pruned model, .*load_pruned\(folder\)"):
        load_encoder(saved)
    with pytest.raises(
        FileNotFoundError,
        match="not a folder of a pruned model: it holds no bertlook_pruned.json.*load_encoder",
    ):
        load_pruned(bert.folder)
    with pytest.raises(TypeError, match="is not pruned"):
        save_pruned(bert, saved)


def test_files_that_do_not_belong_together(saved, bert, tmp_path):
    record = json.loads((saved / RECORD).read_text())

    def load(**changes):
        (saved / RECORD).write_text(json.dumps({**record, **changes}))
        return load_pruned(saved)

    with pytest.raises(ValueError, match="lists 1-1 2-1 as pruned, and then .* should have shape"):
        load(**{"pruned heads": ["1-1", "2-1"]})
    with pytest.raises(ValueError, match="no head 9-1"):
        load(**{"pruned heads": ["9-1"]})
    with pytest.raises(ValueError, match="reads format 1"):
        load(format=2)
    with pytest.raises(ValueError, match="cannot be read"):
        load(config={"model_type": "no such model"})
    load()
    other = save_pruned(prune(bert, "1-2 2-*"), tmp_path / "other")  # the same shapes, other weights
    shutil.copy(other / WEIGHTS, saved / WEIGHTS)
    with pytest.raises(ValueError, match="says that 1-2 2-1 2-2 was. Copy the folder as a whole"):
        load()
    with pytest.raises(ValueError, match="fingerprint .* Copy the folder as a whole"):
        load(**{"pruned heads": ["1-2", "2-1", "2-2"]})
    (saved / WEIGHTS).write_bytes(b"cut short")
    with pytest.raises(ValueError, match="Is a file damaged"):
        load()
    (saved / RECORD).write_text("{")
    with pytest.raises(ValueError, match="cannot be read: JSONDecodeError"):
        load_pruned(saved)


def test_which_heads_are_gone_is_part_of_what_is_checked(saved):
    """Another head of the same size in the record alone changes neither shapes nor weights."""
    record = json.loads((saved / RECORD).read_text())
    (saved / RECORD).write_text(json.dumps({**record, "pruned heads": ["1-2", "2-1", "2-2"]}))
    with pytest.raises(
        ValueError, match="lists 1-2 2-1 2-2 as pruned, and then .* says that 1-1 2-1 2-2 was"
    ):
        load_pruned(saved)


# ---- classifiers ----------------------------------------------------------------------------------------------


def test_a_classifier_without_heads_answers_as_the_masked_one(bert, tmp_path):
    from bertlook_teach.analyses.ablation import as_scorer, score_batches
    from bertlook_teach.analyses.finetuning import Classifier as Trained
    from bertlook_teach.analyses.finetuning.classifier import _with_new_head
    from bertlook_teach.analyses.finetuning.new_head import as_encoder
    from bertlook_teach.corpora import Example, Task

    examples = [Example("a cat sat", None, "yes"), Example("the dog ran on a mat", None, "no")]
    task = Task("t", ("yes", "no"), examples, [Example("a", None, "yes")], [Example("it", None, "no")])
    model = _with_new_head(bert, task.labels, 0, None).eval()
    classifier = Trained(as_encoder(model, bert, "tuned"), model, task.labels, "t", "accuracy")
    pruned = prune_classifier(classifier, "1-1 2-*")
    with ablated(classifier.encoder, "1-1 2-*"):
        masked = classifier.logits(examples)
    assert np.abs(pruned.logits(examples) - masked).max() < TOLERANCE
    assert np.abs(classifier.logits(examples) - masked).max() > 1e-5 * 10
    losses, _ = score_batches(as_scorer(pruned), pruned.encode(examples))
    wanted, _ = score_batches(classifier, classifier.encode(examples), heads="1-1 2-*")
    np.testing.assert_allclose(losses, wanted, atol=TOLERANCE)
    with pytest.raises(ValueError, match="has lost heads"):
        pruned.save(tmp_path / "no")
    assert LAYERS * HEADS == 6
