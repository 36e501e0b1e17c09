"""What the steps by hand, the names of heads, merging and recordings refuse, and the words that say what was expected.

Each case is a call with a tiny encoder, words of its message, and the error where it is no ValueError. What is wrong in a folder or a
file stands in test_encoder.py, test_attention.py and test_recording.py, beside the files it is tried on.
"""

from __future__ import annotations

import numpy as np
import pytest
from made import random_maps

from bertlook_course.analyses.anatomy import (
    attention_scores,
    embedding_parts,
    head_matrices,
    softmax,
    weighted_values,
)
from bertlook_teach import extract_attention, head_label, load_recording, parse_head_label
from bertlook_teach.model import NotRecorded, merge_weights

RECORDING = load_recording("bert-base-uncased")
EXACTLY_ONCE = "each of the 3 positions exactly once"

CASES = [
    # one head by hand
    (lambda tiny: attention_scores(np.ones((3, 5)), np.ones((5, 3))), r"same dim; got \(3, 5\) and \(5, 3\)\. Was one of them transposed already\?"),
    (lambda tiny: softmax([[]]), "at least one key in each row; got shape"),
    (lambda tiny: softmax([[np.nan, 1.0]]), "a score is NaN"),
    (lambda tiny: weighted_values(np.full((2, 2), 0.5), np.ones((3, 5))), r"as many keys in both; got \(2, 2\) and \(3, 5\)"),
    (lambda tiny: head_matrices(tiny, 3, 2), r"no head \[3, 2\]: layers go from 0 to 2, heads from 0 to 1\. A printed name", IndexError),
    (lambda tiny: embedding_parts(tiny, " "), "the text is empty"),
    # what is read
    (lambda tiny: extract_attention(tiny, "the", words=["the"]), "not both"),
    (lambda tiny: extract_attention(tiny, None, "the", words=["the"]), "text_pair goes with a text"),
    (lambda tiny: extract_attention(tiny, "the", segments="none"), "segments must be one of standard, zeros; got 'none'"),
    # merging
    *((lambda tiny, groups=groups: merge_weights(random_maps(3, 3), groups), EXACTLY_ONCE)
      for groups in ([[0, 1]], [[0], [1], [2], [2]], [[0], [1, 2], []], [[0], [1], [3]])),
    (lambda tiny: merge_weights(random_maps(3, 3), [[0], [1], [2]], "sum"), "query must be one of mean, first, max; got 'sum'"),
    (lambda tiny: merge_weights(random_maps(2, 3), [[0], [1]]), r"as many queries as keys; got \(2, 3\)"),
    # names of heads
    *((lambda tiny, label=label: parse_head_label(label), "for example '8-10'") for label in ("0-3", "3-0", "3", "3-", "-3", "a-b", "3-4-5", "")),
    *((lambda tiny, label=label: parse_head_label(label), "a head is named by a text such as '8-10'", TypeError) for label in (None, 3, ["1-1"])),
    (lambda tiny: head_label(-1, 0), "cannot be negative"),
    # recordings
    *((lambda tiny, name=name: load_recording(name), "a recording needs a name: 'bert-base-uncased'") for name in ("", "  ")),
    (lambda tiny: RECORDING.recall(3), "a text, a pair of texts or a list of words; got int", TypeError),
    (lambda tiny: RECORDING.recall("the cat", segments="one"), "segments must be one of standard, zeros"),
    (lambda tiny: extract_attention(RECORDING, words="thecat sat on the mat".split()), "not among the 12 inputs", NotRecorded),
    (lambda tiny: extract_attention(RECORDING, words="the cat sat  on the mat".split(" ")), "cut the recorded input elsewhere", NotRecorded),
    (lambda tiny: RECORDING.anything, "no attribute 'anything'", AttributeError),
]  # fmt: skip


@pytest.mark.parametrize(("call", "words", "error"), [(*case[:2], *(case[2:] or (ValueError,))) for case in CASES], ids=[case[1] for case in CASES])  # fmt: skip
def test_what_is_asked_wrongly_is_refused_in_words(call, words, error, tiny):
    with pytest.raises(error, match=words):
        call(tiny)
