"""The masked word as a game, and the walk through one head for any sentence, without a browser."""

import pytest

from bertlook_course.analyses.ablation import guess_masked
from bertlook_course.widgets import MaskedWord, NeuronExplorer, NeuronView, TypedPattern
from bertlook_teach.model import extract_attention, load_encoder
from bertlook_teach.views import HeadExplorer

TEXT = "He opened the door."


@pytest.fixture(scope="module")
def specimen():
    return load_encoder("specimen")


@pytest.fixture
def game(specimen):
    return MaskedWord(specimen, TEXT, masked=2)


def test_the_guesses_are_the_models_and_hidden_until_they_are_asked_for(specimen, game):
    view = game.view
    assert not view.shown and view.text["tokens"][2] == "opened" and view.text["masked"] == 2
    _, guesses = guess_masked(specimen, TEXT, 2, n=8192)
    assert [tuple(guess) for guess in view.guesses] == list(guesses[:5]) and view.count == 8192
    truth = [piece for piece, _ in guesses].index("opened")
    assert view.truth == ["opened", guesses[truth][1], truth + 1]


def test_a_guess_is_answered_in_numbers_and_words(game):
    view = game.view
    second = view.guesses[1]
    view.answer = f"  {second[0].upper()} "
    assert (
        view.reply == [*second, 2]
        and f"Your guess “{second[0]}”: " in view.sentence
        and "guess 2 of 8192" in view.sentence
    )
    view.answer = "opened wide"
    assert view.reply == [2] and "Your guess is 2 wordpieces" in view.sentence
    view.answer = "日"
    assert view.reply == [0] and "knows nothing in your guess" in view.sentence
    view.answer = " "
    assert view.reply == [0]


def test_another_word_or_sentence_hides_the_guesses_again(game):
    view = game.view
    view.answer, view.shown = "shut", True
    view.chosen = 1
    assert (view.shown, view.answer, view.reply, view.text["masked"], view.chosen) == (False, "", [], 1, -1)
    game.text_box.text.value = "The [MASK] sat."
    assert view.truth == [] and view.text["masked"] == 2 and "Right word" not in view.sentence
    view.chosen = 1
    assert view.message.startswith("The sentence holds [MASK] already") and view.text["masked"] == 2
    game.text_box.text.value = ""
    assert "empty" in game.text_box.message.value.lower() and view.text["masked"] == 2


def test_a_saved_page_shows_the_sentence_without_markup_in_it(specimen):
    game = MaskedWord(specimen, "He saw <b>it</b>.", masked=1)
    page = game._repr_mimebundle_()["text/html"]
    assert "[MASK] saw &lt; b &gt;" in page and game.view.sentence in page and "<b>" not in page


def test_the_walk_follows_the_text_and_stays_with_its_head(specimen):
    walk = NeuronExplorer(specimen, TEXT, layer=2, head=1)
    walk.text_box.text.value = "Rain fell on the old roof."
    attention = extract_attention(specimen, "Rain fell on the old roof.", vectors=True)
    assert walk.neuron_view.sentence == NeuronView(attention, layer=2, head=1).sentence
    walk.text_box.text.value = " "
    assert "empty" in walk.text_box.message.value.lower() and "rain" in walk.neuron_view.tokens
    assert set(walk.in_page()["places"]) == {"text", "message", "neurons"}
    with pytest.raises(TypeError, match="no option 'layr'"):
        NeuronExplorer(specimen, TEXT, layr=1)


def test_a_view_says_which_model_it_shows_and_which_has_to_answer_for_it(specimen):
    def views(encoder):
        explorer, walk = HeadExplorer(encoder, TEXT), NeuronExplorer(encoder, TEXT)
        pattern = TypedPattern(encoder, TEXT)
        asked = [
            (one["model"], one["fingerprint"])
            for one in (view.in_page() for view in (explorer, walk, pattern))
        ]
        return asked, [explorer.head_view.badge, walk.neuron_view.badge, pattern.head_map.badge]

    minilm = load_encoder("minilm")
    title = getattr(minilm, "title", minilm.name)
    assert views(minilm) == ([("minilm", minilm.fingerprint)] * 3, [title] * 3)
    assert views(specimen) == ([("specimen", specimen.fingerprint)] * 3, [""] * 3)
    explorer = HeadExplorer(minilm, TEXT)
    explorer.read("Rain fell on the old roof.")
    assert explorer.head_view.badge == title
