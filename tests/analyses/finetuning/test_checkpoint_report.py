"""The report on two checkpoints: every head and every layer, beside the random twin."""

from made import tiny_encoder

from bertlook_course.analyses.finetuning import report_checkpoints
from bertlook_teach.model import random_twin

TEXTS = ["The cat sat on the mat.", "A dog chased it.", "It was tired, the dog."]


def test_two_checkpoints_are_compared_head_by_head_and_layer_by_layer(tmp_path):
    before, after = (tiny_encoder(tmp_path / str(seed), seed=seed) for seed in (7, 8))
    found = report_checkpoints(before, after, TEXTS, twin=random_twin(before))
    assert "3 texts" in str(found) and "random twin" in str(found)
    assert "keeps one head on average" in str(found)
    assert [row["head"] for row in found.rows] == ["1-1", "1-2", "2-1", "2-2", "3-1", "3-2"]
    assert len(found.tables["compare-layers"]) == 3
    assert all(row["cosine_low"] <= row["cosine"] <= row["cosine_high"] for row in found.rows)
    assert found.about["n"] == 3 and found.about["against random twin"]["of"] == 6
    alone = report_checkpoints(before, after, TEXTS, matching=False)
    assert "paired with themselves" not in str(alone) and "against random twin" not in alone.about


def test_a_checkpoint_and_itself_have_nothing_between_them(tmp_path):
    model = tiny_encoder(tmp_path)
    found = report_checkpoints(model, model, TEXTS)
    assert "6 of 6 heads are paired with themselves [6, 6]" in str(found)
    assert all(row["js"] == 0 and row["partner"] == row["head"] for row in found.rows)
