"""What heads and layers know together: probes and their controls."""

from ... import hand_on

_HOMES = {
    "attention_probes": """
        AttachmentLead AttachmentScore AttentionProbe DistanceProbe L2_CHOICES SEEDS WORD_L2_CHOICES WordProbe choose_l2
        control_task evaluate evaluate_lead fit_attention_probe fit_distance_probe fit_word_probe
        learning_curve right_branching
    """,
    "beliefs": "sentence_beliefs settles_late typed_beliefs",
    "layer_baselines": "control_labels form_baseline majority_baseline",
    "layer_probes": """
        Counts LayerScores MAX_ITERATIONS MixProbe choose_penalty count_answers cumulative_probes
        fit_mix_probe
    """,
    "pairwise": "NEGATIVES PairScore Pairs distance_rule fit_pair_probe pair_accuracy sample_pairs",
    "probe_inputs": """
        NOT_CONVERGED ProbeSentence attention_features how_it_ended input_vectors leave_documents_out read_features
        read_word_vectors
    """,
    "structural": """
        StructuralProbe TreeSentence UndirectedScore chain_edges evaluate_edges fit_structural_probe
        gold_edges read_hidden_states spanning_edges tree_distances
    """,
    "vectors": "SpanVectors draw_cases four_fifths span_vectors",
    "where": "centre_of_gravity delta_bits expected_layer mixing_bits scalar_mix",
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
