"""The claims of lesson 05: statistics on paper, evidence on a tiny model, the published numbers, the twin."""

import re
from types import SimpleNamespace

import numpy as np
import pytest
from tiny import HEADS, LAYERS

from bertlook_teach.claims import OPEN, Resources, collect_evidence, decide_lesson, ledger
from bertlook_teach.claims.collectors import lesson05 as collectors
from bertlook_teach.claims.lessons import lesson05
from bertlook_teach.measures import BLOCK, BOTH, CLASSES, HETEROGENEOUS, VERTICAL
from bertlook_teach.model import Attention
from bertlook_teach.stats import CannotDecide

SHAPE = (2, 3)


def classes(**shares):
    """Class means of a model of 2 x 3 heads: each head draws the classes with these shares."""
    means = np.zeros((len(CLASSES), *SHAPE))
    for name, share in shares.items():
        means[CLASSES.index(name.replace("_", "+"))] = share
    return means


def claim(key):
    return next(c for c in lesson05.CLAIMS if c.key == f"05-{key}")


def statistic(key, values, choice=None):
    return claim(key).statistic(values, values if choice is None else choice)


# --- statistics ------------------------------------------------------------------------------------------


def test_shares_and_leads_on_paper():
    values = {
        "pair": classes(vertical=0.3, diagonal=0.1, vertical_diagonal=0.15, block=0.05, heterogeneous=0.4)
    }
    assert statistic("vertical-third", values) == pytest.approx(0.3)
    assert statistic("heterogeneous-largest", values) == pytest.approx(0.1)
    assert statistic("diagonal-few", values) == pytest.approx(-0.1)
    assert statistic("both-more-than-diagonal", values) == pytest.approx(0.05)
    assert statistic("block-exists", values) == -statistic("block-rare", values) == pytest.approx(0.05)
    assert statistic("useful-range", values) == pytest.approx(0.45 - 0.32)  # inside .32 to .61
    outside = {"pair": classes(vertical=0.8, heterogeneous=0.2)}
    assert statistic("useful-range", outside) == pytest.approx(0.2 - 0.32)


def test_bert_base_as_published_passes_the_claims_that_its_means_decide():
    from bertlook_teach.measures import published_fractions

    mean = published_fractions()["mean"]
    values = {"pair": np.tile(mean[:, None, None], (1, *SHAPE))}
    for key in ("vertical-third", "heterogeneous-largest", "diagonal-few", "both-more-than-diagonal", "block-rare", "block-exists", "useful-range"):  # fmt: skip
        assert statistic(key, values) > claim(key).threshold, key


def test_errata_are_true_of_the_published_table():
    from bertlook_teach.measures import published_fractions

    table = published_fractions()
    tasks = [task for task in table if task != "mean"]
    assert {t for t in tasks if table[t][VERTICAL] > table[t][HETEROGENEOUS]} == {"MRPC", "RTE"}
    assert [t for t in tasks if table[t][BOTH] < table[t][1]] == ["QQP"]
    assert table["SST-2"][BLOCK] > 0
    layers = {task: values.mean(axis=1) for task, values in lesson05.cosines().items()}
    lowest = {task: set(np.argsort(v)[:2].tolist()) for task, v in layers.items()}
    assert [task for task in lowest if lowest[task] != {10, 11}] == ["QQP"]


def test_columns_are_asked_only_where_maps_are_vertical():
    stands = np.zeros(SHAPE)
    with pytest.raises(CannotDecide, match="no map is vertical"):
        statistic("vertical-special", {"stands": stands, "stands on special tokens": stands})
    stands[0, 1] = 0.5
    assert statistic(
        "vertical-special", {"stands": stands, "stands on special tokens": stands * 0.8}
    ) == pytest.approx(0.8)


def test_heads_are_chosen_on_other_inputs_than_they_are_reported_on():
    lucky, fresh = np.full(SHAPE, 0.1), np.full(SHAPE, 0.1)
    lucky[1, 2], fresh[0, 0] = 0.9, 0.9
    for key, names in (
        ("block-segments", ("kept and spread", "kept, two segments", "kept, one segment")),
        ("diagonal-neighbour", ("diagonal score", "diagonal score", "self diagonal")),
        ("negation-head", ("negation", "negation", "negation, chance")),
        ("linked-over-distance", ("linked", "linked", "linked, chance")),
    ):
        values = {names[0]: fresh, names[1]: fresh, names[2]: np.zeros(SHAPE)}
        choice = {names[0]: lucky, names[1]: lucky, names[2]: np.zeros(SHAPE)}
        assert statistic(key, values, choice) == pytest.approx(0.1), key


def test_the_last_row_of_cls_is_of_the_last_layer_against_the_strongest_rival():
    rows = {kind: np.full(SHAPE, 0.1) for kind in ("cls", "sep", "punct", "other")}
    rows["sep"] = np.array([[0.9] * 3, [0.3] * 3])
    rows["punct"] = np.array([[0.0] * 3, [0.4] * 3])
    values = {f"from [CLS] to {kind}": value for kind, value in rows.items()}
    assert statistic("last-cls-row", values) == pytest.approx(-0.1)


def test_unrelated_texts_may_have_more_or_fewer_blocks_and_both_count():
    values = {"pair": classes(block=0.2), "unrelated": classes(block=0.26)}
    swapped = {"pair": values["unrelated"], "unrelated": values["pair"]}
    assert (
        statistic("block-unrelated", values) == statistic("block-unrelated", swapped) == pytest.approx(-0.06)
    )


def test_the_smaller_of_looser_and_stricter_decides_how_firm_classes_are():
    values = {"kept, looser": np.full(SHAPE, 0.95), "kept, stricter": np.full(SHAPE, 0.8)}
    assert statistic("robust", values) == pytest.approx(0.8)


# --- evidence --------------------------------------------------------------------------------------------


def made(weights, tokens, segments, truncated=False):
    special = tuple(t in ("[CLS]", "[SEP]") for t in tokens)
    ids = iter(range(len(tokens)))
    word_ids = tuple(None if s else next(ids) for s in special)
    words = tuple(t for t, s in zip(tokens, special) if not s)
    return Attention(
        weights[None, None], tokens, word_ids, segments, special, words, "a", "b", truncated=truncated
    )


PAIR = ("[CLS]", "a", "b", "[SEP]", "c", "d", "e", "[SEP]")
JOINED = ("[CLS]", "a", "b", "c", "d", "e", "[SEP]")


def test_a_head_that_knows_segments_loses_them_when_the_words_are_one_text():
    same = np.equal.outer((0, 0, 0, 0, 1, 1, 1, 1), (0, 0, 0, 0, 1, 1, 1, 1)).astype(float)
    pair = made(same / same.sum(axis=1, keepdims=True), PAIR, (0,) * 4 + (1,) * 4)
    joined = made(np.full((7, 7), 1 / 7), JOINED, (0,) * 7)
    found = collectors.segment_quantities(pair, joined)
    chance = (2 / 5) ** 2 + (3 / 5) ** 2
    assert found["kept, two segments"] == pytest.approx(1 - chance) and found[
        "kept, one segment"
    ] == pytest.approx(0)
    assert found["kept and spread"] == pytest.approx(1 - chance)


def test_a_head_that_merely_looks_back_is_at_home_both_times_and_no_block():
    def back(n):
        weights = np.eye(n, k=-1) * 0.999 + 0.001 / n
        weights[0] = 1 / n
        return weights

    found = collectors.segment_quantities(
        made(back(8), PAIR, (0,) * 4 + (1,) * 4), made(back(7), JOINED, (0,) * 7)
    )
    assert (
        found["kept and spread"] == 0 and abs(found["kept, two segments"] - found["kept, one segment"]) < 0.35
    )


def test_a_truncated_pair_or_one_segment_gives_no_comparison():
    flat = made(np.full((8, 8), 1 / 8), PAIR, (0,) * 4 + (1,) * 4, truncated=True)
    assert collectors.segment_quantities(flat, flat) == {}
    single = made(np.full((7, 7), 1 / 7), JOINED, (0,) * 7)
    assert collectors.segment_quantities(single, single) == {}


def test_words_that_get_nothing_leave_no_nan():
    weights = np.zeros((1, 1, 4, 4))
    weights[..., 0] = 1
    assert collectors.between_words(weights, [1, 2]) == pytest.approx(np.full((1, 1, 2, 2), 0.5))


def test_the_part_of_the_columns_that_is_special_is_a_share_of_attention():
    weights = np.zeros((8, 8))
    weights[:, 0], weights[:, 1] = 0.3, 0.7  # [CLS] and a word
    assert collectors.special_part(made(weights, PAIR, (0,) * 8)) == pytest.approx(0.3)


PAIRS = [("the cat sat .", "it was tired , on a mat ."), ("a dog chased it", "the cat was on the mat"), ("it was a dog", "the dog sat")]  # fmt: skip


def sentence(words, upos, governors, relations):
    return SimpleNamespace(words=words, upos=upos, governors=governors, relations=relations)


BANK = [
    sentence(("the", "cat", "sat"), ("DET", "NOUN", "VERB"), (1, 2, -1), ("det", "nsubj", "root")),
    sentence(
        ("a", "dog", "chased", "the", "cat"),
        ("DET", "NOUN", "VERB", "DET", "NOUN"),
        (1, 2, -1, 4, 2),
        ("det", "nsubj", "root", "det", "obj"),
    ),
    sentence(
        ("a",) * 40, ("DET",) * 40, (-1, *[0] * 39), ("root",) + ("det",) * 39
    ),  # longer than the model reads
]


def test_evidence_leaves_out_what_an_input_does_not_have(tiny):
    found = collect_evidence("05-maps", tiny, Resources(pairs=PAIRS))
    assert found.n == 3 and found.values["pair"].shape == (3, 5, LAYERS, HEADS)
    assert found.values["pair"].sum(axis=1) == pytest.approx(
        np.ones((3, LAYERS, HEADS))
    )  # each map has one class
    assert found.inputs["from [CLS] to punct"].tolist() == [0]  # only the first pair has a full stop
    words = collect_evidence("05-features", tiny, Resources(treebank=BANK))
    assert words.inputs["nouns"].tolist() == [0, 1] and words.inputs["linked"].tolist() == [1]
    assert "negation" not in words.values


def test_one_pair_has_no_unrelated_partner(tiny):
    assert "unrelated" not in collect_evidence("05-maps", tiny, Resources(pairs=PAIRS[:1])).values


def test_every_claim_gets_a_verdict_with_a_reason_and_no_made_up_number(tiny):
    verdicts = decide_lesson("05", tiny, resources=Resources(pairs=PAIRS * 2, treebank=BANK * 2))
    assert len(verdicts) == len(ledger("05")) >= 8
    for verdict in verdicts:
        assert verdict.why and (verdict.claim.statistic is not None or verdict.verdict == OPEN)
        assert np.isnan(verdict.value) <= (verdict.verdict == OPEN)


def test_claims_that_need_a_fine_tuned_model_or_frames_are_not_decided():
    open_ones = {c.key.removeprefix("05-") for c in lesson05.CLAIMS if c.statistic is None}
    assert open_ones == {"block-pairs-only", "frame-heads", "fine-tuning-last", "fine-tuning-cell"}


def test_published_texts_are_computed_from_the_tables():
    texts = {c.key.removeprefix("05-"): c.published_text() for c in lesson05.CLAIMS}
    assert texts["vertical-third"] == ".325 (.22 to .42)" and texts["useful-range"] == ""
    assert claim("useful-range").original_text() == ".32 to .61"
    assert texts["heterogeneous-largest"] == "+0.115"  # .440 minus .325 vertical
    assert texts["both-more-than-diagonal"] == "+0.076"  # .137 minus .061
    assert texts["block-pairs-only"] == ".042 for SST-2" and texts["fine-tuning-cell"] == ".19, 11-11, QQP"
    assert texts["fine-tuning-last"] == "MRPC .37, .41; layer 1 .97" and texts["frame-heads"].startswith(
        ".201, .209"
    )


def test_sentences_that_stand_on_a_slide_are_short():
    assert all(len(re.findall(r"\S+", c.sentence)) <= 12 for c in lesson05.CLAIMS)
