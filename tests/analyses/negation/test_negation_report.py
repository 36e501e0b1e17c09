"""The report on cues of negation: rules, the model before and after tuning, its twin; and models that are saved."""

import pytest
from made import tiny_encoder

from bertlook_course.analyses.finetuning import report_checkpoints
from bertlook_course.analyses.negation import report
from bertlook_course.corpora import Negation, NegationSentence
from bertlook_course.storage import Work
from bertlook_teach.model import load_encoder, random_twin

SENTENCES = [
    NegationSentence(f"{split}{i}", tuple(text.split()), (Negation(cue, scope),), split)
    for split in ("train", "test")
    for i, (text, cue, scope) in enumerate(
        [
            ("the cat was no dog .", (3,), (0, 1, 2, 4)),
            ("it sat on no mat", (3,), (0, 1, 2, 4)),
            ("no dog sat on a mat", (0,), (1, 2, 3, 4, 5)),
        ]
    )
]
TASKS = ("negation", "control", "parts-of-speech")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return tiny_encoder(tmp_path_factory.mktemp("model"))


def test_heads_are_scored_before_and_after_tuning(encoder, tmp_path):
    found = report(
        encoder,
        SENTENCES,
        twin=random_twin(encoder),
        seeds=2,
        epochs=1,
        parts_of_speech=True,
        save_models=True,
        work=Work(tmp_path),
    )
    names = [row["answers"] for row in found.rows]
    assert names[0] == "a random word (expected)" and names[1].startswith("the word at ")
    assert names[2:4] == ["the word of most pieces", "the nearest listed cue"]
    assert sum("tuned on negation" in name for name in names) == 4 and found.rows[3]["best"] is None
    assert len(found.tables["negation-heads"]) == 2 * encoder.n_layers * encoder.n_heads
    assert "over 2 seeds, p = " in str(found) and "at best 0.500" in str(found)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"{task}-{seed}" for task in TASKS for seed in (0, 1)
    }
    tuned = load_encoder(str(tmp_path / "negation-0"), device="cpu")
    assert report_checkpoints(encoder, tuned, ["The cat sat.", "A dog chased it."]).about["n"] == 2


def test_models_are_saved_only_where_there_is_a_folder(encoder):
    with pytest.raises(ValueError, match=r"work=Work\(FOLDER\)"):
        report(encoder, SENTENCES, save_models=True)
