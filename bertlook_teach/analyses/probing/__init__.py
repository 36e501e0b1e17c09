"""What heads and layers know together: probes and their controls."""

from ... import hand_on

_HOMES = {
    "attention_probes": """
        AttachmentLead AttachmentScore AttentionProbe DistanceProbe L2_CHOICES SEEDS WORD_L2_CHOICES WordProbe choose_l2
        control_task evaluate evaluate_lead fit_attention_probe fit_distance_probe fit_word_probe
        learning_curve right_branching
    """,
    "beliefs": "sentence_beliefs typed_beliefs",
    "layer_baselines": "control_labels form_baseline majority_baseline",
    "layer_fits": "EVEN LayerProbe MAX_ITERATIONS PENALTIES TOLERANCE fit_layer_probe fit_mix_probe fit_path",
    "layer_probes": """
        Counts DepthCurve LayerScores MixScores best_so_far choose_mix_penalties count_answers
        cumulative_probes fit_mixes layer_scores
    """,
    "layer_reports": "report_layers summarise summarise_mix",
    "pairwise": "NEGATIVES PairScore Pairs distance_rule fit_pair_probe pair_accuracy sample_pairs",
    "probe_inputs": """
        NOT_CONVERGED ProbeSentence attention_features how_it_ended input_vectors leave_documents_out read_features
        read_word_vectors
    """,
    "reports": "report",
    "structural": """
        StructuralProbe TreeSentence UndirectedScore chain_edges evaluate_edges fit_structural_probe
        gold_edges read_hidden_states spanning_edges tree_distances
    """,
    "vectors": "SpanVectors draw_cases four_fifths span_vectors",
    "where": "centre_of_gravity delta_bits expected_layer mixing_bits scalar_mix",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
