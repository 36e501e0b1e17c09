"""A pattern and a sentence, both typed, without a browser."""

import numpy as np
import pytest

from bertlook_course.widgets import TypedPattern
from bertlook_teach.model import extract_attention, load_encoder

TEXT = "The old dog chased the unbelievable cat."


@pytest.fixture(scope="module")
def specimen():
    return load_encoder("specimen")


@pytest.fixture
def typed(specimen):
    return TypedPattern(specimen, TEXT, "key.offset(-1)")


def test_the_map_says_in_how_many_cases_a_head_looks_there(specimen, typed):
    """A second way: the word looked at most, from the map itself."""
    words = extract_attention(specimen, TEXT).to_words()
    keep = np.flatnonzero(~np.asarray(words.special))
    weights = words.weights[..., keep, :][..., keep].copy()
    weights[..., np.arange(len(keep)), np.arange(len(keep))] = -1
    before = (weights.argmax(-1)[..., 1:] == np.arange(len(keep) - 1)).mean(-1)
    shown = typed.head_map._values[typed.head_map.measure]
    assert np.allclose(shown, before)
    assert "7 of 8 words and marks have such a key: old → The, dog → old," in typed.sentence
    assert (
        "guessing among the words and marks finds 14 %." in typed.sentence
        and "One text decides nothing" in typed.sentence
    )


def test_both_lines_change_the_picture_and_a_wrong_one_does_not(typed):
    values = typed.head_map.data
    typed.pattern_box.text.value = "key.next('the')"
    assert typed.head_map.data != values and typed.sentence.startswith(
        'The key is the next "the" after the query.'
    )
    typed.text_box.text.value = "The cat saw the dog and the mouse."
    last = typed.sentence, typed.head_map.data
    for box, line, said in (
        (typed.pattern_box, "key.nexxt()", "Did you mean key.next?"),
        (typed.pattern_box, "query.pos(&#x27;DET&#x27;)", "not an expression"),
        (typed.pattern_box, "key.governor()", "can only be asked of a treebank"),
        (typed.pattern_box, "key.segment_other()", "asks for two segments"),
        (typed.pattern_box, "key.word('nowhere')", "Cannot be decided: the pattern matches no pair of words"),
        (typed.text_box, "", "empty"),
    ):
        box.text.value = line
        assert said in box.message.value and (typed.sentence, typed.head_map.data) == last
    typed.pattern_box.text.value = "key.next()"
    assert "empty" in typed.pattern_box.message.value  # of the text, which is still empty
    typed.text_box.text.value = TEXT
    assert not typed.text_box.message.value and not typed.pattern_box.message.value
    assert "the next word after the query" in typed.sentence


def test_a_pair_and_special_tokens(specimen):
    pair = TypedPattern(specimen, "He sat.", "key.segment_other() & ~key.special()", text_pair="She stood.")
    assert "tokens" not in pair.sentence and "6 of 6 words and marks have such a key" in pair.sentence
    assert "pair" in pair.in_page()["places"]
    assert (
        "9 of 9 tokens have such a key"
        in TypedPattern(specimen, "He sat.", "key.special()", text_pair="She stood.").sentence
    )


def test_what_is_typed_is_never_markup(specimen):
    view = TypedPattern(specimen, "<b>x</b> & <script>y</script>", "key.offset(-1)")
    saved = view._repr_mimebundle_()["text/html"]
    assert "<script" not in saved and "<b>x" not in saved and "&lt;" in view._said.value


@pytest.mark.parametrize("text", ["", "Hi"])
def test_a_text_on_which_nothing_can_be_said_is_refused(specimen, text):
    with pytest.raises(ValueError, match="empty|no text has two words"):
        TypedPattern(specimen, text, "key.before()")
