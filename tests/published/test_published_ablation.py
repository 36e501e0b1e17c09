"""The published tables as arrays: no cell missing, and the sentences that the papers state can be read off them."""

import numpy as np
import pytest

from bertlook_course.published import (
    KOVALEVA_TASKS,
    published_baseline,
    published_disabled_heads,
    published_prunable,
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
    heads = published_disabled_heads(task)
    assert heads.shape == (12, 12) and np.isfinite(heads).all() and 0.5 < heads.min() < heads.max() < 1


def test_the_papers_sentences():
    heads = published_disabled_heads("MRPC")
    best, worst = (np.unravel_index(i, heads.shape) for i in (heads.argmax(), heads.argmin()))
    assert best == (4, 2) and worst == (0, 8)  # 5-3 and 1-9
    assert published_prunable() == {
        "WMT": 0.2,
        "BERT MNLI": 0.4,
        "BERT SST-2": 0.6,
        "BERT CoLA": 0.5,
        "BERT MRPC": 0.5,
    }
    marked = published_wmt_significant()
    assert (
        marked.sum() == 8 and (published_wmt_heads()[marked] > 0).sum() == 4
    )  # four are better without the head


def test_what_was_not_published():
    with pytest.raises(KeyError, match="report MRPC, .*got 'CoLA'"):
        published_disabled_heads("CoLA")
    with pytest.raises(KeyError, match="no baseline follows .* MRPC, RTE and STS-B"):
        published_baseline("QNLI")
