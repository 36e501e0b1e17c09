"""What fine-tuning changes."""

from ... import hand_on

_HOMES = {
    "batches": "Batch",
    "checkpoints": "CURVES CheckpointComparison Matching compare_checkpoints match_heads require_comparable",
    "classifier": "Classifier fine_tune load_classifier",
    "checkpoint_reports": "report_checkpoints",
    "reports": "report",
    "tagger": "Tagger fine_tune_tagger word_type_labels",
    "task_scores": "BagOfWords TaskScore baselines fit_bag_of_words majority score units_of",
    "training": "learning_rate_for",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
