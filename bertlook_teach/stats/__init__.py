"""Intervals, a fair choice of a head, paired tests, metrics, maps of distances."""

from .. import hand_on

_HOMES = {
    "agreement": "Agreement FEWEST_FOR_INTERVAL agree",
    "best_head": "BestHead FairChoice LEAST_CASES Packed best_index choose_head fair_choice",
    "bootstrap": """
        CONFIDENCE REPLICATES draws mean_interval percentile_interval ratio_interval
        resampled resampled_interval sample_interval unit_interval unit_weights widening
    """,
    "correlation": "partial_rank_correlation rank_correlation",
    "errors": "CannotDecide NotConverged",
    "logistic": "logistic_regression",
    "mds": """
        MDSMap average_linkage checked_distances classical_mds cut kruskal_stress leaf_order
        metric_mds procrustes
    """,
    "metrics": """
        METRICS accuracy auc checked_word_scores class_f1 cohen_kappa confusion_matrix macro_f1
        metric_value micro_f1 ratio_parts
    """,
    "minimize": "minimized one_blas_thread softmax_loss",
    "paired_tests": """
        exact_sign_flip holm mcnemar monte_carlo_p paired_interval paired_p sign_flip_p wilcoxon_p
    """,
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
