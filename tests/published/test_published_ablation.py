"""The published tables as arrays: no cell missing, and the sentences that the papers state can be read off them."""

import numpy as np
import pytest

from bertlook_teach.published import (
    KOVALEVA_TASKS,
    published_baseline,
    published_disabled_heads,
    published_disabled_layers,
    published_keep_one,
    published_prunable,
    published_speed,
    published_wmt_heads,
    published_wmt_significant,
    read_published,
)


def test_the_translation_model_has_its_96_heads():
    values = published_wmt_heads()
    assert values.shape == (6, 16) and np.isfinite(values).all()
    rows = [r for r in read_published("michel_table1_wmt_single_head") if (r.layer, r.head) == ("2", "3")]
    assert values[1, 2] == float(rows[0].value) and values[1, 2] != values[2, 1]  # layer and head not swapped


@pytest.mark.parametrize("task", KOVALEVA_TASKS)
def test_every_cell_of_every_task(task):
    heads, layers = published_disabled_heads(task), published_disabled_layers(task)
    assert heads.shape == (12, 12) and layers.shape == (12,)
    assert np.isfinite(heads).all() and np.isfinite(layers).all() and 0.5 < heads.min() < heads.max() < 1


def test_the_papers_sentences():
    heads = published_disabled_heads("MRPC")
    best, worst = (np.unravel_index(i, heads.shape) for i in (heads.argmax(), heads.argmin()))
    assert best == (4, 2) and worst == (0, 8)  # 5-3 and 1-9
    gain = published_disabled_layers("RTE") - published_baseline("RTE")
    assert gain.argmax() == 0 and gain[0] == pytest.approx(0.032, abs=0.001)
    assert published_disabled_layers("QNLI").argmin() == 9
    kept = published_keep_one()
    assert kept.shape == (12,) and kept.argmin() == 8 and kept[8] == -0.96 and (kept > 0).sum() == 3
    assert published_prunable() == {
        "WMT": 0.2,
        "BERT MNLI": 0.4,
        "BERT SST-2": 0.6,
        "BERT CoLA": 0.5,
        "BERT MRPC": 0.5,
    }
    again = published_keep_one(chosen_on_train=True)
    assert np.abs(again - kept).max() < 0.5 and not (again == kept).all()
    marked = published_wmt_significant()
    assert (
        marked.sum() == 8 and (published_wmt_heads()[marked] > 0).sum() == 4
    )  # four are better without the head
    speed = published_speed()
    assert [s.batch_size for s in speed] == [1, 4, 16, 64]
    assert [round(100 * (s.ratio - 1), 1) for s in speed] == pytest.approx([1.9, 2.7, 17.5, 17.5], abs=0.2)


def test_what_was_not_published():
    with pytest.raises(KeyError, match="report MRPC, .*got 'CoLA'"):
        published_disabled_heads("CoLA")
    with pytest.raises(KeyError, match="no baseline follows .* MRPC, RTE and STS-B"):
        published_baseline("QNLI")
