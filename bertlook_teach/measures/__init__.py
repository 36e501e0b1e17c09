"""One attention map in, one number for each head out."""

from .. import hand_on

_HOMES = {
    "bases": "Basis change_basis position_correlation position_keys query_key_matrices random_rotations svd_basis",
    "distances": "GroupTest HeadDistances SMOOTHING THRESHOLDS UNLABELLED behaviour_labels checked_distances group_test head_distances js_between js_distances",
    "gradients": "Gradients attention_gradients each_masked gradient_importance",
    "kovaleva_classes": "BLOCK BOTH CLASSES DEFAULT_THRESHOLDS DIAGONAL HETEROGENEOUS MapScores SCORES Thresholds VERTICAL class_codes highest_scores map_classes map_scores stack_scores",
    "kovaleva_fractions": "Fractions Robustness class_fractions class_rates class_shares input_kinds published_fractions sample_maps threshold_robustness threshold_sweep",
    "maxima": "CORE NEGATION OBJECTS SUBJECTS argument_pairs chance_maxima chance_pair_maxima column_maxima feature_masks feature_maxima pair_maxima token_mask",
    "neurons": "BasisComparison HeadNeurons compare_bases dimensions_used margin_contributions margin_dimensions neuron_view participation_ratio",
    "norms": "summed_norms value_norms weighted_norms",
    "pair_shares": "UndefinedPattern bag_of_words closing_sep_pairs expected_at_offsets looks_alike next_word_pairs pair_share same_word_pairs text_groups within_segment_entropy within_segment_mass within_word_pairs",
    "profile": "FILES Profile layer_difference profile_heads",
    "rollout": "FLOW_TOKENS attention_flow attention_rollout mixing_matrices",
    "segments": "FairHead Interval SegmentSwitch SwitchReport fair_head iter_switch segment_switch zeros_quantities",
    "six_lenses": "CURVES LENSES Lens attention_against_importance lenses weight_norm_correlation",
    "surface": "CLARK_ENTROPY_SMOOTHING CLS_TOKENS OFFSETS PUNCT_TOKENS SEP_TOKENS attention_entropy attention_share attention_weights cls_entropy offset_attention offset_r_squared other_to_sep sep_to_sep special_token_attention surface_measures token_masks uniform_baseline",
    "token_kinds": "category_means category_sums kinds_present maps_of",
    "training_film": "Baseline Film half_way measure_label read_film tokens_in_words",
    "vig_patterns": "PATTERNS PatternShare VigPattern measure_patterns missing_patterns pattern_measures sep_to_cls",
    "zeroing": "losses_without output_zeroing_work value_zeroing value_zeroing_to_output",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
