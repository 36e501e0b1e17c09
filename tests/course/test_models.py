"""Which model a deck reads with, what it is called, and how one name changes it everywhere."""

import json
import os

import pytest
import tiny
from transformers import BertConfig, BertForMaskedLM

from bertlook_course.claims import find_misconceptions
from bertlook_course.decks import (
    LessonDeck,
    choose_model,
    live_models,
    pretrained,
    short_title,
    stand_in_line,
    subject,
)
from bertlook_course.options import model_from_anywhere
from bertlook_course.syllabus import copy_course
from bertlook_teach import extract_attention, load_encoder, random_twin
from bertlook_teach.model import model_title
from bertlook_teach.views import HeadView


@pytest.fixture
def unset(monkeypatch):
    monkeypatch.delenv("BERTLOOK_MODEL", raising=False)


def test_a_deck_reads_with_its_own_model_and_a_twin_of_its_shape(unset):
    encoder, twin = live_models("specimen")
    assert (encoder.name, twin.name) == ("specimen", "specimen-random")
    assert twin.fingerprint == load_encoder("specimen-random").fingerprint


def test_one_name_puts_another_model_in_its_place(unset, monkeypatch):
    monkeypatch.setattr(os, "environ", dict(os.environ))
    choose_model("specimen-random")
    encoder, twin = live_models("minilm")
    assert encoder.name == "specimen-random" and twin is encoder  # a twin's twin is itself
    choose_model(None)  # changes nothing
    assert live_models("minilm")[0].name == "specimen-random"


def test_a_model_that_is_not_there_is_refused_before_anything_starts(unset, monkeypatch):
    monkeypatch.setattr(os, "environ", dict(os.environ))
    with pytest.raises(FileNotFoundError, match="there is no model folder"):
        choose_model("./no-such-model")
    assert "BERTLOOK_MODEL" not in os.environ


def test_a_folder_is_found_from_wherever_a_kernel_starts(unset, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "environ", dict(os.environ))
    tiny.save_tiny_model(tmp_path / "mine")
    monkeypatch.chdir(tmp_path)
    choose_model("mine")
    monkeypatch.chdir("/")
    encoder, twin = live_models("specimen")
    assert short_title(encoder) == "mine" and twin.title == "mine, random twin"


@pytest.mark.parametrize(
    ("name", "title", "short", "said"),
    [
        ("specimen", "specimen", "specimen", "the specimen"),
        ("specimen-random", "specimen, random twin", "specimen's twin", "the specimen's random twin"),
        ("minilm", "MiniLM, 8 bits", "MiniLM", "MiniLM"),
        ("minilm-random", "MiniLM, random twin", "MiniLM's twin", "MiniLM's random twin"),
        ("owner/model", "model", "model", "model"),
        (r"C:\models\tiny-random", "tiny, random twin", "tiny's twin", "tiny's random twin"),
    ],
)
def test_each_model_has_its_own_name(name, title, short, said):
    class Named:
        pass

    Named.name, Named.title = name, model_title(name)
    assert model_title(name) == title
    assert short_title(Named) == short and subject(Named) == said


def test_a_deck_speaks_of_the_model_that_it_was_given():
    minilm = load_encoder("minilm")
    deck = LessonDeck(minilm, random_twin(minilm))
    assert list(deck.models) == ["MiniLM", "random twin"]
    assert (deck.name, deck.subject, deck.Subject) == ("MiniLM", "MiniLM", "MiniLM")
    ours = LessonDeck(load_encoder("specimen"), load_encoder("specimen-random"))
    assert (ours.name, ours.subject, ours.Subject) == ("specimen", "the specimen", "The specimen")


def test_a_view_of_another_model_than_the_specimen_says_which_it_is():
    badges = {
        name: HeadView(extract_attention(load_encoder(name), "It rains.")).badge
        for name in ("specimen", "specimen-random", "minilm")
    }
    assert badges == {
        "specimen": "",
        "specimen-random": "specimen, random twin",
        "minilm": "MiniLM, 8 bits",
    }


def test_the_specimen_stands_in_for_a_model_without_a_head_and_a_line_says_which(tmp_path):
    minilm, specimen = load_encoder("minilm"), load_encoder("specimen")
    assert pretrained(specimen, None) == (specimen, None) and stand_in_line(specimen) is None
    stand_ins = pretrained(minilm, random_twin(minilm))
    assert [model.name for model in stand_ins] == ["specimen", "specimen-random"]
    said = stand_in_line(minilm).data
    assert (
        said
        == "*MiniLM has no head that guesses words or knows whether a sentence follows: here the specimen answers.*"
    )
    folder = tiny.save_tiny_model(tmp_path)
    BertForMaskedLM(BertConfig.from_pretrained(folder)).save_pretrained(folder)
    assert (
        " has no head that knows whether a sentence follows: here" in stand_in_line(load_encoder(folder)).data
    )


def test_misconceptions_are_tried_on_the_model_that_is_named():
    minilm = load_encoder("minilm")
    bank = {entry.key: entry for entry in find_misconceptions()}
    pieces = [
        bank["one-word-one-token"].refute_on(model, None).value
        for model in (load_encoder("specimen"), minilm)
    ]
    assert pieces[0] > pieces[1]  # another vocabulary cuts the same words otherwise
    gradients = bank["two-methods-two-proofs"].refute_on(minilm, random_twin(minilm))
    assert gradients.sentence.startswith("The specimen (MiniLM has no masked-LM head): ")
    twin = bank["random-means-wild"].refute_on(load_encoder("specimen"), minilm)
    assert not twin.refuted  # given in the twin's place, a trained model is sharp


def test_a_copy_of_the_course_reads_with_the_model_that_is_named(tmp_path):
    source = tmp_path / "shipped"
    (source / "slides").mkdir(parents=True)
    (source / "notebooks" / "exercises").mkdir(parents=True)
    cell = {"cell_type": "code", "metadata": {}, "execution_count": 1, "outputs": [{"output_type": "stream"}]}
    deck = {"cells": [{**cell, "source": ['encoder, twin = live_models("specimen")\n', 'say("specimen")']}]}
    exercise = {"cells": [{**cell, "source": ['NAME = "specimen"']}]}
    other = {"cells": [{**cell, "source": ['load_encoder("specimen")']}]}
    for path, content in (
        ("slides/01_a.ipynb", deck),
        ("notebooks/exercises/01_a.ipynb", exercise),
        ("slides/02_b.ipynb", other),
    ):
        (source / path).write_text(json.dumps(content))
    copy_course(tmp_path / "mine", model='a"b', source=source)

    def first(path):
        return json.loads((tmp_path / "mine" / path).read_text())["cells"][0]

    changed = first("slides/01_a.ipynb")
    assert changed["source"] == ['encoder, twin = live_models("a\\"b")\n', 'say("specimen")']
    assert changed["outputs"] == [] and changed["execution_count"] is None
    assert first("notebooks/exercises/01_a.ipynb")["source"] == ['NAME = "a\\"b"']
    assert first("slides/02_b.ipynb") == other["cells"][0]  # untouched, with its outputs
    again = copy_course(tmp_path / "mine", update=True, source=source)
    assert not again.written and not again.kept  # an update keeps the model of the copy


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"is_decoder": True}, "decoder"),
        ({"vocab_size": 7}, "cannot be loaded"),
    ],
)
def test_a_model_that_cannot_read_is_refused_before_anything_starts(
    changes, words, tmp_path, unset, monkeypatch
):
    monkeypatch.setattr(os, "environ", dict(os.environ))
    folder = tiny.save_tiny_model(tmp_path / "odd")
    tiny.change_config(folder, **changes)
    with pytest.raises(ValueError, match=words):
        choose_model(str(folder))
    assert "BERTLOOK_MODEL" not in os.environ


def test_a_model_in_a_folder_is_found_from_every_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    assert model_from_anywhere("./mine") == str(tmp_path / "mine")
    assert model_from_anywhere("mine-random") == f"{tmp_path / 'mine'}-random"
    assert [model_from_anywhere(name) for name in ("specimen", "a/b-random")] == ["specimen", "a/b-random"]
