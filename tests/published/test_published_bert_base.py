"""What others released about BERT-base: no cell missing, nothing swapped, and the sentences that can be read off it."""

import numpy as np
import pytest

from bertlook_course import published
from bertlook_teach.model import parse_head_label


@pytest.mark.parametrize("relation", published.GUM_RELATIONS)
def test_every_head_has_a_count_and_no_share_is_above_one(relation):
    found = published.published_gum_arcs(relation)
    assert found.correct.shape == (12, 12) and found.correct.min() >= 0
    if found.n is None:
        with pytest.raises(ValueError, match=f"how many cases of '{relation}' there were is not known"):
            found.accuracy  # noqa: B018
    else:
        assert 0 <= found.accuracy.min() < found.accuracy.max() < 1


@pytest.mark.parametrize(
    "relation, head, accuracy",
    [
        ("det", "8-11", 0.921),
        ("case", "8-11", 0.739),
        ("amod", "1-11", 0.775),
        ("nmod:poss", "4-10", 0.717),
        ("aux", "4-10", 0.649),
        ("nsubj", "6-10", 0.417),
    ],
)
def test_the_best_head_of_a_relation(relation, head, accuracy):
    found = published.published_gum_arcs(relation).accuracy
    assert np.unravel_index(found.argmax(), found.shape) == parse_head_label(head)
    assert found.max() == pytest.approx(accuracy, abs=0.0005)


@pytest.mark.parametrize("task", published.MASKED_TASKS)
def test_every_score_without_heads(task):
    found = published.published_masking(task)
    for values, shape in ((found.one_off, (12, 12)), (found.one_left, (12, 12)), (found.layer_off, (12,))):
        assert (
            values.shape == shape and np.isfinite(values).all() and (0 < values).all() and (values < 1).all()
        )
    if found.metric == "accuracy":  # then every score is a whole number of items
        items = np.array([found.base, found.layer_base, *found.layer_off, *found.one_off.ravel()]) * found.n
        assert np.abs(items - items.round()).max() < 1e-6 * found.n


def test_the_heads_that_matter_most_on_mnli():
    found = published.published_masking("MNLI")
    loss = found.one_off - found.base
    worst = np.argsort(loss.ravel())[:2]
    assert [divmod(int(i), 12) for i in worst] == [(6, 0), (4, 3)]  # 7-1 and 5-4
    assert loss.min() == pytest.approx(-0.0175, abs=0.0001)
    row = next(
        r
        for r in published.read_published("bert_base_head_ablation")
        if (r.quantity, r.layer, r.head) == ("MNLI: one head off", "7", "1")
    )
    assert found.one_off[6, 0] == float(row.value) != found.one_off[0, 6]


def test_shuffling_words_changes_the_entropy():
    plain, shuffled = (published.published_sst2_entropy(of) for of in ("sentences", "words shuffled"))
    assert plain.n == shuffled.n == 2000 and plain.mean[0] == pytest.approx(2.28006)
    assert (plain.deviation > 0).all() and (shuffled.mean > plain.mean).sum() == 8
    assert {published.published_sst2_entropy(of).mean.shape for of in published.SHUFFLES} == {(12,)}


def test_what_was_not_published_lists_what_was():
    with pytest.raises(KeyError, match="relation 'root'; there is: acl:relcl, advmod"):
        published.published_gum_arcs("root")
    with pytest.raises(KeyError, match="masked for CoLA, MNLI, MRPC, SST-2; got 'RTE'"):
        published.published_masking("RTE")
    with pytest.raises(KeyError, match="published of sentences, noun phrases shuffled"):
        published.published_sst2_entropy("letters")
