"""Which heads matter: switch them off, rank them, prune them."""

from ... import hand_on

_HOMES = {
    "bench": "Bench MaskedSentence Outcome Replay guess_masked read_masked",
    "gate_importance": "HeadImportance VERSIONS disagreement gate_gradients head_importance importance_versions",
    "heads_off": "WAYS ablated all_heads at_contexts layer_heads positive_control read_heads uniform_context",
    "next_sentence": "NextSentence NoNextSentenceHead adjoining_sentences next_sentence_head",
    "pruning": "parameter_count prune",
    "removal_curves": """
        ORDERS RemovalCurve STEPS mean_parts pruning_curve random_removal removal_curve remove_one
        worst_first
    """,
    "replay": "Layer Trace layers_of trace",
    "reports": "effects_chunk report",
    "scorers": "ClassifierScorer MaskedLM Scorer as_scorer batch_outputs on_device score_batches",
    "single_heads": "HeadEffects LayerEffects head_logits keep_one_effects layer_effects single_head_effects",
    "which_heads_matter": "HeadsThatMatter LEVEL best_gain_by_chance best_gain_p heads_that_matter",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
