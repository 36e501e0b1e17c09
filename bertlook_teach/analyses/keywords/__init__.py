"""Do heads find key words?"""

from ... import hand_on

_HOMES = {
    "comparison": """
        ALL_HEADS BEST_HEAD BEST_MAX BOTH Comparison MIX RULES_TOGETHER compare head_table
        without_heads
    """,
    "key_tagger": "KeyTagger fine_tune_key_tagger",
    "models": """
        LogisticModel MixModel WordScore best_cutoff choose_l2 cross_entropies cross_validated
        f1_parts fit_logistic fit_mix fit_singles folds_by_text judge prior_entropy
    """,
    "reports": "report",
    "rules": "RULES STOP_WORDS document_frequencies rake rule_scores texts_of tf_idf",
    "scores": """
        COLUMNS KeywordData ONE_WORD auc_by_text mean_with_interval read_keywords relative_attention
        relative_by_text slides_score token_scores unnormalised_entropy
    """,
}
__all__, __getattr__, __dir__ = hand_on(__name__, _HOMES)
