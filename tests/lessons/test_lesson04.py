"""Lesson 04's ledger: its statistics on numbers made by hand, its collectors on texts, its published values on the tables."""

import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from made import renamed, words_of
from tiny import save_tiny_model

from bertlook_course.checks import lesson04 as checks
from bertlook_course.claims import Evidence, Resources, ledger
from bertlook_course.claims.lessons import lesson04
from bertlook_course.claims.lessons.lesson04 import EVIDENCE
from bertlook_course.decks import lesson04 as slides
from bertlook_course.decks.pictures import lesson04 as pictures
from bertlook_course.metrics import CannotDecide
from bertlook_course.published import published_gradients, published_layers, published_norms, published_number
from bertlook_teach import extract_attention, load_encoder, random_twin, read
from bertlook_teach.measures import attention_gradients, token_masks, value_norms, value_zeroing
from bertlook_teach.model import output_projection

PAIRS = [
    ("The cat sat on the mat, and slept.", "It was tired."),
    ("A dog barks.", "Nobody hears the dog, or cares."),
]


def test_the_published_figures_hold_what_their_papers_say():
    ratio = published_gradients("sep") / published_gradients("all")
    assert (np.flatnonzero(ratio < 0.1) + 1).tolist() == [5, 6, 7, 8, 9, 10]
    # Kobayashi's weights are Clark's shares, read off another figure, with other segment ids.
    assert published_norms("sep", weights=True)[:10] == pytest.approx(published_layers("sep")[:10], abs=0.03)
    sums = sum(published_norms(kind, weights=True) for kind in ("cls", "sep", "punct", "other"))
    assert sums == pytest.approx(np.ones(12), abs=0.04)
    with pytest.raises(KeyError, match="there is: sep, punct, all"):
        published_gradients("cls")
    with pytest.raises(KeyError, match="has 0 rows for 'nothing'; one was expected"):
        published_number("kobayashi_tables", "nothing")


# ---- evidence ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVIDENCE)
def test_evidence_is_finite_and_of_one_shape_on_the_specimen(specimen, name):
    rows = list(EVIDENCE[name](specimen, Resources(pairs=PAIRS)))
    assert len(rows) == len(PAIRS)
    for quantity in rows[0]:
        assert np.isfinite([row[quantity] for row in rows]).all(), quantity
        assert np.shape(rows[0][quantity]) == np.shape(rows[1][quantity])


def test_every_claim_finds_its_quantities_in_its_evidence(specimen):
    from bertlook_course.claims.lessons.lesson03 import EVIDENCE as surface

    resources = Resources(pairs=PAIRS)
    means = {}
    for name, collect in {**EVIDENCE, **surface}.items():
        rows = list(collect(specimen, resources))
        means[name] = {key: np.mean([row[key] for row in rows], axis=0) for key in rows[0]}
    for c in ledger("04"):
        if c.statistic is not None:
            assert np.isfinite(c.statistic(means[c.evidence], means[c.evidence])), c.key


def test_gradient_quantities_leave_out_what_was_masked_and_obey_the_bound(specimen):
    found = attention_gradients(read(specimen, *PAIRS[0]), masked=[1, 2])
    quantities = lesson04.gradient_quantities(found)
    shown = [i for i in range(found.attention.n_tokens) if i not in (1, 2)]
    assert quantities["grad_all"] == pytest.approx(found.importance[..., shown].mean(axis=(-2, -1)))
    assert 0 < quantities["over_bound"] <= 1 + 1e-4


def test_norm_quantities_equal_the_long_way(specimen):
    attention = extract_attention(specimen, *PAIRS[0], vectors=True)
    projection = output_projection(specimen)
    found = lesson04.norm_quantities(
        attention, projection, {token: 1 + i for i, token in enumerate(attention.tokens)}
    )
    f = attention.values @ projection
    n = attention.n_tokens
    own = np.stack([(attention.weights[:, :, i, i, None] * f[:, :, i]).sum(axis=1) for i in range(n)], axis=1)
    total = np.einsum("lhij,lhjw->liw", attention.weights, f)
    others = np.linalg.norm(total - own, axis=-1)
    assert found["mixed_by_norm"] == pytest.approx(
        (others / (others + np.linalg.norm(own, axis=-1))).mean(), abs=1e-4
    )
    assert found["norm"] == pytest.approx(value_norms(attention, projection).mean(axis=-1))
    assert found["sep_tokens"] == 2 / n


def test_a_text_without_commas_or_sep_leaves_things_out(specimen):
    attention = extract_attention(specimen, "cats sleep", vectors=True)
    found = lesson04.norm_quantities(attention, output_projection(specimen), Counter())
    assert "norm_punct" not in found and "weight_punct" not in found and "rho_rank_norm" not in found
    bare = replace(attention, tokens=tuple("x" if t == "[SEP]" else t for t in attention.tokens))
    found = lesson04.norm_quantities(bare, output_projection(specimen), Counter())
    assert "norm_sep" not in found and "rollout_sep" not in found


def test_a_model_without_the_masked_lm_head_cannot_decide_on_gradients(tmp_path):
    encoder = load_encoder(save_tiny_model(tmp_path, "bert"))
    with pytest.raises(CannotDecide, match="has no masked-LM head"):
        list(EVIDENCE["importance"](encoder, Resources(pairs=[("a cat", "a dog")])))


def test_every_kind_of_token_is_zeroed_and_measured_on_the_others(specimen):
    (found,) = EVIDENCE["value zeroing"](specimen, Resources(pairs=PAIRS[:1]))
    reading = read(specimen, PAIRS[0])
    turns = np.arccos(1 - value_zeroing(reading, normalized=False))
    masks = token_masks(reading.attention())
    for kind in ("cls", "sep", "punct"):
        keys = np.flatnonzero(masks[kind])
        assert 0 < len(keys) <= lesson04.MOST_ZEROED
        others = [np.delete(turns[:, :, key], key, axis=1).mean(axis=1) for key in keys]
        assert found[f"angle_{kind}"] == pytest.approx(np.mean(others, axis=0), rel=1e-3)
    spaced = lesson04._evenly_spaced(np.arange(100))
    assert spaced.tolist() == [0, 20, 40, 59, 79, 99]


# ---- the deck ------------------------------------------------------------------------------------------------


@pytest.fixture
def on_few_pairs(monkeypatch):
    collect = slides.collect_evidence
    few = Resources(limit=3)
    for module in (slides, pictures):
        monkeypatch.setattr(
            module, "collect_evidence", lambda name, model, resources: collect(name, model, few)
        )


def shown_in(deck) -> str:
    shown = [
        deck.sep_picture(),
        deck.ratio_picture(),
        pictures.second_sink_picture(deck),
        deck.share_picture(),
    ]
    tables = [deck.answer_table(), deck.left_table(), deck.rollout_table()]
    said = [*(deck.voted(k).sentence for k in (1, 2, 3, 4)), deck.said_answer(), deck.answer().sentence]
    return words_of(*shown, *tables, *said, deck.said_left(), deck.said_rollout())


def test_the_deck_speaks_of_the_model_it_is_given(specimen, on_few_pairs):
    deck = slides.Deck(renamed(specimen), load_encoder("specimen-random"))
    said = shown_in(deck)
    assert "specimen" not in said.lower() and said.count("somebody") >= 12 and not deck.stands_in


def test_where_there_is_no_loss_the_specimen_lends_its_gradients_and_no_row_of_the_answer(
    tmp_path, on_few_pairs
):
    encoder = load_encoder(save_tiny_model(tmp_path / "somebody", "bert"))
    deck = slides.Deck(encoder, random_twin(encoder))
    assert deck.stands_in == "somebody has no masked-LM head, and so no such loss; the specimen has. "
    assert deck.voted(2).caption.startswith(f"{deck.stands_in}The specimen: ")
    assert deck.left_table().caption.startswith(deck.stands_in) and "In the specimen " in deck.said_left()
    assert "specimen" not in words_of(
        *(deck.voted(k).sentence for k in (1, 3, 4)), deck.answer().sentence, deck.rollout_table()
    )
    (gradient,) = [row for row in deck.answer_table().rows if row[1] == "gradient"]
    assert [str(cell) for cell in gradient[-3:]] == ["-", "-", "not measured"] and len(deck.rests) == 3
    assert "independent" not in deck.said_answer()


def norms_of(**weights):
    """Two layers of one head on 20 equal texts: so much of the weight; vectors of [CLS] are a tenth as long as others."""
    rest = 1 - sum(np.array(one) for one in weights.values())
    found = {f"weight_{kind}": np.array([[a], [b]]) for kind, (a, b) in (weights | {"other": rest}).items()}
    for kind in weights | {"other": 0}:
        found[f"norm_{kind}"] = np.full((2, 1), 0.1 if kind == "cls" else 1)
        found[f"added_{kind}"] = found[f"weight_{kind}"] * found[f"norm_{kind}"]
    return Evidence.of("norms", [found] * 20)


def test_the_second_sink_is_each_models_own_with_its_share_by_weight_and_by_norm(specimen, monkeypatch):
    cls, sep = (
        norms_of(cls=(0.1, 0.5), sep=(0.2, 0.1), punct=(0.1, 0.1)),
        norms_of(cls=(0.1, 0.1), sep=(0.6, 0.1), punct=(0.1, 0.1)),
    )
    assert slides.sink_of(cls) == ("cls", 1) and slides.sink_of(sep) == ("sep", 0)
    deck = object.__new__(slides.Deck)
    deck.encoder, deck.beside, deck.ours, deck.n_texts = specimen, renamed(specimen), {"norms": sep}, 20
    deck.resources, deck.chance = None, {"norms": sep}
    deck.name, deck.subject = "specimen", "the specimen"
    assert "gives [" not in words_of(deck.sep_picture())
    monkeypatch.setattr(pictures, "collect_evidence", lambda *_: cls)
    said = words_of(pictures.second_sink_picture(deck))
    assert (
        "in layer 2 of somebody the vector of [CLS] is 0.10 times as long as a word's (0.50 of the weights, 0.09"
        in said
    )
    assert "Not everywhere" in said and "in layer 1 of the specimen the vector of [SEP] is 1.00 times" in said
    assert "somebody: [CLS]" in said and "specimen: [SEP]" in said
    deck.ours = {"norms": cls}
    assert "The specimen gives [CLS] more: 0.50 in layer 2." in words_of(deck.sep_picture())


def test_a_vote_shows_its_axis_first_and_the_answers_letter_afterwards(specimen, on_few_pairs):
    deck = slides.Deck(specimen, load_encoder("specimen-random"))
    for question, (zones, _, what) in enumerate(slides.VOTES, 1):
        axis, voted = deck.axis(question), deck.voted(question)
        assert all(f">{letter}<" in axis.svg for letter in zones) and axis.sentence == what
        assert re.search(r"The specimen: [A-D], in layer \d", voted.caption) and voted.width == axis.width
    assert "figcaption" not in axis._repr_html_()
    drawn = pictures.came_out_picture(deck)
    assert drawn.numbers[0].rows and drawn.svg.count(">yes<") == deck.came_out.count("yes")
    fading = list(pictures.faded_pictures(deck, "We saw the small bird.", *deck.sep_head).values())
    shares = [[int(n) for n in re.findall(r"(\d+) %", one.sentence)] for one in fading]
    assert all(weight >= added for weight, added, _ in shares[:2]) and len(fading) >= 2
    assert shares[0][2] == round(100 * deck.from_sep[1][deck.sep_head])


def test_layers_under_a_line_are_named_in_runs():
    assert slides.layers_under([1, 0, 0, 1, 0], 0.5) == "layers 2 to 3 and 5"


# ---- checks whose message is computed ------------------------------------------------------------------------


def test_the_message_on_the_mechanism_follows_the_numbers():
    random = np.random.default_rng(3)
    norm = random.uniform(size=(6, 8))
    noise = 0.2 * random.normal(size=(2, 6, 8))

    def message(share, gradient):
        sides = [side - side.mean(axis=1, keepdims=True) for side in (share, gradient, norm)]
        rho, given = checks.rank_correlation(*sides[:2]), checks.partial_rank_correlation(*sides)
        found = checks.check_mechanism(rho, given, share, gradient, norm)
        assert found
        return found.message

    assert "part of the relation goes" in message(noise[0] - norm, noise[1] + norm)
    assert "little to explain" in message(noise[0], noise[1] + abs(noise[0]))
    assert "does not account" in message(noise[0], -noise[0] + 0.1 * noise[1])
