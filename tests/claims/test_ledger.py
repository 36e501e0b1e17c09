"""The claims of lessons 01 and 03: their statistics on numbers made by hand, and BERT-base's own figures put through them."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from made import attention

from bertlook_teach.claims import FEWEST_REPORTING, Resources, collect_evidence, ledger
from bertlook_teach.claims.lessons import lesson01, lesson03, statistics
from bertlook_teach.model import merge_weights
from bertlook_teach.published import published_heads, published_layers
from bertlook_teach.stats import CannotDecide

CLAIMS = {claim.key: claim for lesson in ("01", "03") for claim in ledger(lesson)}


def value(key, values, choice=None):
    return float(CLAIMS[key].statistic(values, values if choice is None else choice))


def passes(key, values, choice=None):
    return value(key, values, choice) > CLAIMS[key].threshold


# --- shared statistics -----------------------------------------------------------------------------------


SIX = {"m": np.array([[0.1, 0.3], [0.5, 0.7], [0.0, 0.2], [0.0, 0.0], [0.1, 0.1], [0.2, 0.2]])}


def test_statistics_by_hand():
    assert statistics.best_layer("m")(SIX, SIX) == pytest.approx(0.6)
    assert statistics.best_head("m")(SIX, SIX) == pytest.approx(0.7)
    assert statistics.early_minus_later("m")(SIX) == pytest.approx(0.4 - 0.1)  # layers 1-2 against 3-6
    assert statistics.share_of_heads_above("m", 0.15)(SIX, SIX) == pytest.approx(6 / 12)
    assert statistics.share_of_heads_below("m", 0.05)(SIX, SIX) == pytest.approx(3 / 12)


def test_a_choice_is_made_on_the_other_inputs():
    other = {"m": SIX["m"][::-1]}
    assert statistics.best_head("m")(SIX, other) == pytest.approx(0.1)  # row 4, column 1 of ours
    assert statistics.best_layer("m")(SIX, other) == pytest.approx(0.1)


@pytest.mark.parametrize("n_layers, early", [(2, 1), (3, 1), (5, 1), (6, 2), (12, 4), (24, 8)])
def test_the_first_third_has_at_least_one_layer(n_layers, early):
    assert statistics.first_third(np.zeros((n_layers, 2))).sum() == early


def test_one_layer_has_no_early_and_late_part():
    with pytest.raises(CannotDecide, match="one layer"):
        statistics.first_third(np.zeros((1, 2)))


def test_layers_named_in_a_paper_need_a_model_as_deep():
    twelve = np.arange(12)
    assert statistics.named_layers(twelve, 6, 10).tolist() == [5, 6, 7, 8, 9]  # counted from 1, both ends in
    with pytest.raises(CannotDecide, match="layers of 12; here 6"):
        statistics.named_layers(np.arange(6), 6, 10)


# --- lesson 03: BERT-base's own figures ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def bert_base():
    """The published numbers as if they had been measured; the entropy from [CLS] is known by layer only."""
    heads = {
        m: published_heads(m) for m in ("cls", "sep", "punct", "sep_to_sep", "other_to_sep", "entropy_clark")
    }
    from_cls = np.repeat(published_layers("entropy_from_cls")[:, None], 12, axis=1)
    log_n = np.log(lesson03.CLARK_LENGTH)
    return {
        **heads,
        "sep_uniform": np.array(2 / 128),
        "special": heads["cls"] + heads["sep"] + heads["punct"],
        "entropy": heads["entropy_clark"],
        "entropy_normalized": heads["entropy_clark"] / log_n,
        "entropy_from_cls": from_cls,
        "entropy_from_cls_normalized": from_cls / log_n,
    }


HELD = [
    *("early-cls", "cls-head", "sep", "sep-heads", "sep-uniform", "sep-to-sep", "punct", "special"),
    *("broad-early", "broad-heads-early", "falls-and-rises", "cls-broad", "cls-nearly-uniform", "cls-close"),
]
ERRATA = ["first-layer-cls", "sep-layers", "sep-to-sep-middle", "sep-even-more", "punct-last-two"]


@pytest.mark.parametrize("key", HELD)
def test_bert_base_passes_what_its_figures_show(key, bert_base):
    assert passes(f"03-{key}", bert_base)


@pytest.mark.parametrize("key", ERRATA)
def test_bert_base_itself_does_not_pass_the_errata(key, bert_base):
    assert not passes(f"03-{key}", bert_base)
    assert CLAIMS[f"03-{key}"].erratum


def test_the_published_values_are_those_of_the_figures(bert_base):
    printed = {key: CLAIMS[f"03-{key}"].published_text() for key in (*HELD, *ERRATA)}
    assert printed["sep"] == f"{value('03-sep', bert_base):.3f}, layer 9"
    assert printed["sep-layers"].startswith(f"{value('03-sep-layers', bert_base):.2f} to ")
    assert printed["sep-even-more"] == f"{value('03-sep-even-more', bert_base):+.2f}, layer 10"
    assert printed["first-layer-cls"] == f"{value('03-first-layer-cls', bert_base):+.2f}"
    assert (
        printed["sep-heads"]
        == f"{value('03-sep-heads', bert_base):.2f}, {round(value('03-sep-heads', bert_base) * 144)} of 144"
        == "0.28, 41 of 144"
    )
    assert (
        printed["special"]
        == f"{value('03-special', bert_base):.2f}, {round(value('03-special', bert_base) * 144)} of 144"
        == "0.52, 75 of 144"
    )
    assert printed["cls-head"] == f"{value('03-cls-head', bert_base):.2f}, 2-7"
    close = value("03-cls-close", bert_base)
    assert printed["cls-close"] == f"{close:.2f}, {round(close * 12)} of 12"
    assert printed["broad-heads-early"] == "1.00, 11 of 11"
    assert CLAIMS["03-falls-and-rises"].published_text() == f"{value('03-falls-and-rises', bert_base):.2f}"
    assert CLAIMS["03-sharpest-neighbour"].published_text() == "0.98, 3-1"
    assert CLAIMS["03-sharpest-neighbour"].original_text() == "3-1 has the lowest entropy, 0.012 nats"
    assert CLAIMS["03-next-early"].original_text() == "heads of layers 1, 2, 3, 3, 6"
    assert CLAIMS["03-previous-layers"].published_text() == "4 layers: 2, 4, 7, 8"


def test_the_previous_token_layers_by_hand():
    shares = np.full((12, 3), 0.1)
    shares[[1, 3, 6], 2] = 0.6
    assert value("03-previous-layers", {"previous": shares}) == 3
    assert value("03-previous-named", {"previous": shares}) == pytest.approx(0.1)  # layer 8 has none
    shares[7, 0] = 0.55
    assert value("03-previous-named", {"previous": shares}) == pytest.approx(0.55)


def test_the_sharpest_head_is_found_on_the_other_inputs():
    values = {
        "entropy_normalized": np.array([[0.5, 0.1]]),
        "previous": np.array([[0.7, 0.2]]),
        "next": np.array([[0.1, 0.3]]),
    }
    choice = {"entropy_normalized": np.array([[0.1, 0.5]])}
    assert value("03-sharpest-neighbour", values) == pytest.approx(0.3)
    assert value("03-sharpest-neighbour", values, choice) == pytest.approx(0.7)


def test_broad_heads_put_at_most_a_tenth_on_a_token_or_there_are_none():
    values = {
        "entropy_normalized": np.array([[0.95, 0.9, 0.2]]),
        "largest_weight": np.array([[0.05, 0.08, 0.9]]),
    }
    assert value("03-broad-at-most-a-tenth", values) == pytest.approx(-0.08)
    assert passes("03-broad-at-most-a-tenth", values)
    with pytest.raises(CannotDecide, match="no head is broad"):
        value("03-broad-at-most-a-tenth", {**values, "entropy_normalized": np.full((1, 3), 0.2)})


def test_what_an_input_lacks_is_left_out():
    whole = lesson03.surface_quantities(attention(("[CLS]", "yes", ",", "we", "[SEP]", "can", "[SEP]")))
    assert whole["sep_uniform"] == pytest.approx(2 / 7)
    assert whole["special"] == pytest.approx(whole["cls"] + whole["sep"] + whole["punct"])
    no_comma = lesson03.surface_quantities(attention(("[CLS]", "yes", "[SEP]")))
    assert whole.keys() - no_comma.keys() == {"punct", "special"}
    bare = lesson03.surface_quantities(attention(("yes", "we", ".")))
    assert bare.keys() & {"cls", "sep", "sep_to_sep", "other_to_sep", "entropy_from_cls", "special"} == set()
    assert "punct" in bare and "entropy" in bare


def test_the_largest_weight_is_that_of_the_row_not_of_the_column():
    looks = attention(("[CLS]", "a", "b", "[SEP]"), layers=1, heads=1)
    expected = np.mean([max(row) for row in looks.weights[0, 0]])
    assert lesson03.surface_quantities(looks)["largest_weight"] == pytest.approx(expected)


# --- lesson 01 ----------------------------------------------------------------------------------------------


def test_the_weights_are_made_again_in_three_ways():
    rng = np.random.default_rng(1)
    queries, keys = rng.normal(size=(2, 3, 2, 5, 7))
    raw = np.einsum("lhid,lhjd->lhij", queries, keys)
    rows = np.exp(raw / np.sqrt(7))
    weights = rows / rows.sum(-1, keepdims=True)
    found = lesson01.score_quantities(weights, queries, keys)
    assert found["softmax_error"] < 1e-12
    assert found["sigmoid_error"] == pytest.approx(
        np.abs(1 / (1 + np.exp(-raw / np.sqrt(7))) - weights).max()
    )
    assert found["unscaled_error"] > 0.1 and found["entropy_lost_unscaled"] > 0.1
    turned = lesson01.score_quantities(weights, keys, queries)
    assert turned["softmax_error"] > 0.1  # queries and keys may not change places


def test_wordpieces_and_words_by_hand():
    looks = attention(
        ("[CLS]", "un", "##real", "cat", "[SEP]"), word_ids=(None, 0, 0, 1, None), words=("unreal", "cat")
    )
    found = lesson01.reading_quantities(looks)
    assert (found["words"], found["split_words"]) == (2, 1)
    assert found["row_error"] < 1e-6 and found["word_row_error"] < 1e-6
    groups = [[0], [1, 2], [3], [4]]
    mean, first = (merge_weights(looks.weights, groups, query) for query in ("mean", "first"))
    assert found["moved_by_first_piece"] == pytest.approx(np.abs(mean - first)[:, :, 1].sum(-1) / 2)
    whole = lesson01.reading_quantities(attention(("[CLS]", "the", "cat", "[SEP]")))
    assert whole["split_words"] == 0 and "moved_by_first_piece" not in whole


def test_a_share_of_split_words_is_held_against_8_per_cent():
    assert value("01-split", {"split_words": 8.0, "words": 100.0}) == pytest.approx(0)
    for split, near in ((6.0, True), (10.0, True), (3.0, False), (20.0, False)):
        assert passes("01-split", {"split_words": split, "words": 100.0}) == near


def test_the_change_by_segment_ids_has_the_direction_that_was_chosen():
    values = {"sep": np.array([[0.2], [0.3]]), "sep_zeros": np.array([[0.2], [0.1]])}
    assert value("01-segments", values) == pytest.approx(0.2)
    turned = {"sep": values["sep_zeros"], "sep_zeros": values["sep"]}
    assert value("01-segments", values, turned) == pytest.approx(-0.2)


def test_a_model_without_segments_is_not_asked(specimen):
    class Single:
        name, fingerprint, has_segments = "single", "single", False

    with pytest.raises(CannotDecide, match="single is not told which text a token belongs to"):
        collect_evidence("segments", Single())


def test_no_deck_asks_for_so_few_inputs_that_nothing_is_decided():
    """Half of them report."""
    decks = [path.read_text(encoding="utf-8") for path in sorted(Path("slides").glob("*.ipynb"))]
    asked = [
        int(n)
        for deck in decks
        for n in re.findall(
            r"(?:decide_lesson\([^)]*\bn|Resources\(limit|N_TEXTS = load_pairs\(\),)[ =]*(\d+)", deck
        )
    ]
    assert asked and min(asked) >= 2 * FEWEST_REPORTING


def test_no_deck_shows_a_verdict_on_fewer_than_twenty_inputs():
    """What is saved: the smallest n of each table of claims that decides one."""
    rule, smallest = "Otherwise it cannot be decided here.", {}
    for path in sorted(Path("slides").glob("*.ipynb")):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            for output in cell.get("outputs", ()):
                text = "".join(output.get("data", {}).get("text/plain", ""))
                if rule in text and re.search(r"  (holds|does not hold)$", text, re.MULTILINE):
                    n = int(re.search(r"\bn = (\d+)", text)[1])
                    smallest[path.stem] = min(n, smallest.get(path.stem, n))
    assert len(smallest) == len(list(Path("slides").glob("*.ipynb")))
    assert min(smallest.values()) >= FEWEST_REPORTING, smallest


# --- on the specimen: only what any BERT would satisfy -----------------------------------------------------------


def test_the_evidence_of_both_lessons_holds_together_on_the_specimen(specimen):
    resources = Resources(limit=2)
    surface = collect_evidence("surface", specimen, resources)
    assert surface.n == 2 and surface.values["sep"].shape == (2, specimen.n_layers, specimen.n_heads)
    assert (surface.values["special"] <= 1).all() and (surface.values["largest_weight"] <= 1).all()
    reading = collect_evidence("reading", specimen, resources)
    assert (reading.values["row_error"] < 1e-4).all()
    assert (collect_evidence("padding", specimen, resources).values["padding_error"] < 1e-4).all()
    segments = collect_evidence("segments", specimen, resources)
    assert segments.values["sep"] == pytest.approx(surface.values["sep"], abs=1e-5)
    assert (segments.values["moved"] > 0).all()
