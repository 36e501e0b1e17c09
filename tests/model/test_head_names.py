from functools import partial

import numpy as np
import pytest

from bertlook_course.analyses.anatomy import head_matrices
from bertlook_course.analyses.syntax import head_predictor
from bertlook_teach import extract_attention, head_label, parse_head_label


def test_tensor_index_7_9_is_the_papers_head_8_10():
    assert head_label(7, 9) == "8-10"
    assert parse_head_label("8-10") == (7, 9)


@pytest.mark.parametrize("layer, head", [(0, 0), (11, 11), (23, 15)])
def test_there_and_back(layer, head):
    assert parse_head_label(head_label(layer, head)) == (layer, head)


@pytest.mark.parametrize("head", [True, "0", None, 1.5, [0]])
def test_what_is_no_whole_number_is_no_head(head, specimen):
    attention = extract_attention(specimen, "The cat sat.")
    for ask in (
        head_label,
        attention.head,
        partial(head_matrices, specimen),
        partial(head_predictor, specimen),
    ):
        with pytest.raises(TypeError, match=r"head is a whole number from 0 on; got"):
            ask(0, head)
    with pytest.raises(TypeError, match=r"layer is a whole number"):
        attention.head(head, 0)
    assert attention.head(np.int64(1), np.uint8(2)).shape == (attention.n_tokens,) * 2
